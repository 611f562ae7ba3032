//! A function that becomes an op has a parameter without an annotation.

use super::ops::Seen;
use super::schema::{Tools, Wording, parameters, report};
use super::{Context, Rule};
use crate::finding::{Fix, Level};
use crate::program::{Refusal, RefusalKind};
use crate::rewrite;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "unannotated-parameter",
    group: "schema",
    summary: "a parameter of an op has no annotation, so torch cannot make a schema",
    level: Level::Error,
    page: include_str!("../../rules/unannotated-parameter.md"),
    check,
};

fn check(cx: &mut Context) {
    let wording = Wording {
        message: |_, names| format!("has no annotation for its {}", parameters(names)),
        help: |_| {
            "annotate every parameter with a type that a schema has (`torch.Tensor`, `int`, `float`, `bool`, `str`, `List[…]`, `Optional[…]`)\nthe registration reads them when the module is imported, and raises".to_string()
        },
        fix,
    };
    report(cx, &RULE, &[RefusalKind::Unannotated], &wording);
}

/// Writes the types that the function's use of its parameters proves.
fn fix((knowledge, options): Tools, seen: &Seen, refusals: &[&Refusal]) -> Option<Fix> {
    let params: Vec<u16> = refusals.iter().filter_map(|r| r.param).collect();
    rewrite::annotate(seen.program, knowledge, options, seen.func().function, &params)
}
