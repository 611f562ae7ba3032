//! The return annotation of an op is missing, or has no form in a schema.

use super::schema::{Wording, no_fix, report};
use super::{Context, Rule};
use crate::finding::Level;
use crate::program::RefusalKind;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "unsupported-return",
    group: "schema",
    summary: "the return annotation of an op is missing or has no schema type",
    level: Level::Error,
    page: include_str!("../../rules/unsupported-return.md"),
    check,
};

fn check(cx: &mut Context) {
    let wording = Wording {
        message: |refusals, _| {
            if refusals[0].reason.starts_with("no return") {
                "has no return annotation".to_string()
            } else {
                "has no schema: torch refuses its return annotation".to_string()
            }
        },
        help: |_| {
            "return `None`, a tensor, a number, a list of tensors, or a flat tuple of these of one length on every path\nthe registration reads it when the module is imported, and raises".to_string()
        },
        fix: no_fix,
    };
    report(cx, &RULE, &[RefusalKind::Return], &wording);
}
