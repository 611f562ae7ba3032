//! A function that becomes an op has a parameter without an annotation.

use super::schema::{Wording, no_fix, parameters, report};
use super::{Context, Rule};
use crate::finding::Level;
use crate::program::RefusalKind;

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
        fix: no_fix,
    };
    report(cx, &RULE, &[RefusalKind::Unannotated], &wording);
}
