use super::default::float_repr;
use super::*;
use crate::extract::extract;
use crate::facts::MODULE;
use crate::link::modules::Modules;
use crate::program::ProgramFile;
use crate::source::{FileId, Source};
use crate::words::Words;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A row of the table that `scripts/schema_table.py` records: source, then one verdict for each version.
type Row = BTreeMap<String, serde_json::Value>;

fn table() -> Vec<Row> {
    serde_json::from_str(include_str!("../../../tests/data/schemas.json")).unwrap()
}

fn infer_f(text: &str, torch: Torch) -> Result<Schema, Vec<Refusal>> {
    let source = Arc::new(Source::new("row.py", text));
    let facts = extract(&source).into();
    let file = ProgramFile {
        facts,
        module: "row".into(),
        is_package: false,
        vendored: false,
        cold: false,
        named: false,
        words: Arc::new(Words::of(&source.text)),
        source,
    };
    let files = [file];
    let knowledge = crate::knowledge::Knowledge::embedded();
    let modules = Modules::new(&files, &[]);
    let resolver = Resolver::new(&files, &modules, &knowledge);
    let facts = resolver.facts(FileId(0));
    let is_row = |name: &str| matches!(name, "f" | "g" | "<lambda>");
    let (id, _) = facts
        .functions()
        .find(|(id, f)| *id != MODULE && is_row(facts.name(f.name)))
        .unwrap();
    infer_each(
        &resolver,
        FunctionRef {
            file: FileId(0),
            function: id,
        },
        torch,
    )
    .1
}

#[test]
fn schemas_equal_torch() {
    let mut wrong = Vec::new();
    let mut compared = 0;
    for row in table() {
        let source = row["source"].as_str().unwrap();
        for (version, torch) in [("2.15", (2, 15)), ("2.6", (2, 6))] {
            let Some(verdict) = row.get(version) else { continue };
            compared += 1;
            let expected = verdict
                .get("schema")
                .and_then(|s| s.as_str())
                .filter(|_| verdict.get("define").is_none());
            let inferred = infer_f(source, torch);
            let equal = match (&inferred, expected) {
                (Ok(schema), Some(text)) => schema.text(&[]) == text && verdict["mutating"] == schema.text_all_mutated(),
                (Err(_), None) => true,
                // An honest "unknown" is no error.
                (Err(refusals), Some(_)) => refusals.iter().any(|r| !r.certain) && KNOWN_UNKNOWN.iter().any(|k| source.contains(k)),
                (Ok(_), None) => false,
            };
            if !equal {
                let last = source.lines().rev().find(|l| l.contains("def ")).unwrap_or(source);
                wrong.push(format!("{version}: {last}\n    {inferred:?}\n    {verdict}"));
            }
        }
    }
    assert!(compared > 600, "{compared}");
    assert!(wrong.is_empty(), "{} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Defaults that call functions: said to be unknown.
const KNOWN_UNKNOWN: [&str; 3] = ["len(\"abc\")", "max(1, 2)", "torch.iinfo"];

#[test]
fn refusals_name_the_parameter_and_the_reason() {
    let refusals = infer_f(
        "import torch\ndef f(x: torch.Tensor, y, n: int = [1], *args) -> str: ...\n",
        (2, 15),
    )
    .unwrap_err();
    let shown: Vec<(Option<u16>, RefusalKind, &str)> = refusals.iter().map(|r| (r.param, r.kind, &*r.reason)).collect();
    assert_eq!(
        shown,
        [
            (Some(1), RefusalKind::Unannotated, "parameter `y` must have a type annotation"),
            (Some(2), RefusalKind::Default, "unsupported default value type `list`"),
            (Some(3), RefusalKind::Kind, "`*args` is not supported"),
            (None, RefusalKind::Return, "unsupported type `str`"),
        ]
    );
}

#[test]
fn what_comes_from_outside_is_unknown() {
    let refusals = infer_f("from acme import Array\ndef f(x: Array) -> None: ...\n", (2, 15)).unwrap_err();
    assert!(!refusals[0].certain);
}

#[test]
fn floats_are_written_as_python_does() {
    for (f, text) in [
        (1e-6, "1e-06"),
        (0.0001, "0.0001"),
        (1.0, "1.0"),
        (1e16, "1e+16"),
        (123456789.0, "123456789.0"),
        (1e22, "1e+22"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (1.5e300, "1.5e+300"),
        (5e-324, "5e-324"),
        (9007199254740993.0, "9007199254740992.0"),
    ] {
        assert_eq!(float_repr(f), text);
    }
}
