//! A parameter of an op has a default that cannot stand in a schema.

use super::schema::{Wording, no_fix, parameters, report};
use super::{Context, Rule};
use crate::finding::Level;
use crate::program::RefusalKind;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "unsupported-default",
    group: "schema",
    summary: "a default of an op's parameter cannot stand in a schema",
    level: Level::Error,
    page: include_str!("../../rules/unsupported-default.md"),
    check,
};

fn check(cx: &mut Context) {
    let wording = Wording {
        message: |refusals, names| {
            let word = if refusals.len() == 1 { "default" } else { "defaults" };
            format!("has no schema: torch refuses the {word} of its {}", parameters(names))
        },
        help: |_| {
            "let the default be None, a number, a bool, a plain string, a dtype or a device, and put the rest into the body\nthe registration writes it into the schema when the module is imported, and raises"
                .to_string()
        },
        fix: no_fix,
    };
    report(cx, &RULE, &[RefusalKind::Default], &wording);
}
