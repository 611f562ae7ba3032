//! An op writes an argument that its registration does not declare.

use super::ops::{Seen, listed, proofs, seen};
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Level};
use crate::program::{Declared, Write};

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "missing-mutates-arg",
    group: "mutation",
    summary: "an op writes an argument that it does not declare",
    level: Level::Error,
    page: include_str!("../../rules/missing-mutates-arg.md"),
    check,
};

fn check(cx: &mut Context) {
    for seen in seen(cx.program) {
        let Declared::Names(declared) = &seen.op.declared else { continue };
        let mut missing = seen.writes();
        missing.retain(|(name, _)| !declared.iter().any(|d| d == name));
        if !missing.is_empty() {
            cx.findings.push(finding(&seen, declared, &missing));
        }
    }
}

fn finding(seen: &Seen, declared: &[String], missing: &[(&str, &Write)]) -> Finding {
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    let (labels, mut notes) = proofs(seen.program, missing);
    notes.extend(seen.remarks());
    Finding {
        rule: RULE.name,
        level: level(seen),
        certainty: if missing.iter().any(|(_, w)| w.maybe_copy.is_none()) {
            Certainty::Certain
        } else {
            Certainty::Likely
        },
        message: format!(
            "`{}` writes {}, which its registration does not declare",
            seen.title(),
            listed(&names)
        ),
        help: Some(help(seen, &names)),
        place: seen.declaration(),
        primary: match declared {
            [] => "declares that nothing is written".to_string(),
            names => format!("declares {} only", listed(names)),
        },
        labels,
        notes,
        fix: seen.declare(),
        heat: u32::from(seen.func().hot),
    }
}

/// Also where nothing is registered today, the declaration is a promise that is wrong.
fn level(seen: &Seen) -> Level {
    match (seen.func().cold, seen.op.disabled) {
        (true, _) => Level::Note,
        (false, true) => Level::Warning,
        (false, false) => RULE.level,
    }
}

fn help(seen: &Seen, names: &[&str]) -> String {
    let what = if seen.op.schema.is_some() {
        let marked: Vec<String> = names.iter().map(|name| format!("Tensor(a!) {name}")).collect();
        format!("mark it in the schema: {}", listed(&marked))
    } else {
        format!("add {} to `mutates_args`", listed(names))
    };
    format!(
        "{what}\na compiler trusts the list: it may drop the call, move it, or reuse memory around it, and gives wrong numbers without an error"
    )
}
