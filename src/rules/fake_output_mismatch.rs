//! A fake implementation promises other results than the body makes.

use super::registrations::level;
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Label, Level};
use crate::program::Fake;
use crate::rewrite;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "fake-output-mismatch",
    group: "fake",
    summary: "a fake promises other results than the body makes",
    level: Level::Error,
    page: include_str!("../../rules/fake-output-mismatch.md"),
    check,
};

fn check(cx: &mut Context) {
    let program = cx.program;
    for op in program.ops.iter().filter(|op| !op.disabled && !op.drops_params) {
        let (Some(own), Fake::Function(fake)) = (op.implementation, &op.fake) else {
            continue;
        };
        for found in rewrite::differences(program, cx.knowledge, own, *fake) {
            cx.findings.push(Finding {
                rule: RULE.name,
                level: level(program, op, if found.certain { RULE.level } else { Level::Warning }),
                certainty: if found.certain { Certainty::Certain } else { Certainty::Likely },
                message: format!("the fake of `{}` differs: {}", op.name, found.what),
                help: Some("allocate in the fake what the implementation returns".to_string()),
                place: found.fake,
                primary: "the fake".to_string(),
                labels: vec![Label {
                    place: found.body,
                    message: "the implementation".to_string(),
                }],
                notes: vec!["eager code is right; compiled code has the wrong shape, dtype or number of results".to_string()],
                fix: op.func.and_then(|func| cx.fixer.rewrite_fake(func, *fake)),
                heat: 0,
            });
        }
    }
}
