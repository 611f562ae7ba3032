//! A parameter of an op is annotated with what has no form in a schema, or is of a kind that a schema does not know.

use super::ops::{Seen, listed};
use super::schema::{Tools, Wording, parameters, report};
use super::{Context, Rule};
use crate::finding::{Fix, Level, Safety};
use crate::program::{Refusal, RefusalKind};
use crate::rewrite;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "unsupported-annotation",
    group: "schema",
    summary: "torch cannot put a parameter of an op into a schema",
    level: Level::Error,
    page: include_str!("../../rules/unsupported-annotation.md"),
    check,
};

fn check(cx: &mut Context) {
    let wording = Wording {
        message: |_, names| format!("has no schema: torch refuses its {}", parameters(names)),
        help,
        fix,
    };
    report(cx, &RULE, &[RefusalKind::Annotation, RefusalKind::Kind], &wording);
}

fn help(refusals: &[&Refusal]) -> String {
    let has = |text: &str| refusals.iter().any(|r| r.reason.contains(text));
    let what = if has("not defined at module scope") {
        "import the name at the top of the module, outside of `if TYPE_CHECKING:`"
    } else if has("tuples are not supported") {
        "annotate it as a list (`List[int]`): callers may still pass a tuple"
    } else if has("keyword-only") {
        "let the tensor be positional, or register with `Library.define` and `impl`"
    } else if refusals.iter().any(|r| r.kind == RefusalKind::Kind) {
        "name every parameter, and let it be passed by position or keyword"
    } else {
        "use a type that a schema has, and convert in a plain function around the op"
    };
    format!("{what}\nthe registration reads the signature when the module is imported, and raises")
}

/// Imports at run time what only type checkers see, where nothing else stands in the way.
fn fix(_: Tools, seen: &Seen, refusals: &[&Refusal]) -> Option<Fix> {
    let missing: Option<Vec<&str>> = refusals.iter().map(|r| missing_name(&r.reason)).collect();
    let mut missing = missing?;
    missing.sort_unstable();
    missing.dedup();
    let (edits, doubt) = rewrite::import_at_runtime(seen.program, seen.func().function.file, &missing)?;
    Some(Fix {
        title: format!("import {} when the module runs", listed(&missing)),
        safety: if doubt.is_some() { Safety::Unsafe } else { Safety::Safe },
        reasons: doubt.into_iter().collect(),
        edits,
        claims: Vec::new(),
    })
}

fn missing_name(reason: &str) -> Option<&str> {
    let (before, _) = reason.split_once("` is not defined at module scope")?;
    before.rsplit_once("name `").map(|(_, name)| name)
}
