//! A fake implementation reads what a tensor holds, which a fake tensor does not have.

use super::registrations::level;
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Label, Level};
use crate::program::Fake;
use crate::rewrite;
use std::collections::BTreeSet;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "fake-reads-data",
    group: "fake",
    summary: "a fake reads values, which fake tensors do not have",
    level: Level::Error,
    page: include_str!("../../rules/fake-reads-data.md"),
    check,
};

fn check(cx: &mut Context) {
    let program = cx.program;
    let mut seen = BTreeSet::new();
    for op in program.ops.iter().filter(|op| !op.disabled) {
        let Fake::Function(fake) = &op.fake else { continue };
        if !seen.insert(*fake) {
            continue;
        }
        let reads = rewrite::reads(program, cx.knowledge, *fake);
        let Some((place, what)) = reads.first() else { continue };
        cx.findings.push(Finding {
            rule: RULE.name,
            level: level(program, op, RULE.level),
            certainty: Certainty::Certain,
            message: format!("the fake of `{}` {what}", op.name),
            help: Some("compute results from shapes, dtypes and numbers; a size that depends on values is `torch.library.get_ctx().new_dynamic_size()`".to_string()),
            place: *place,
            primary: "a fake tensor holds nothing".to_string(),
            labels: reads[1..]
                .iter()
                .take(2)
                .map(|(place, what)| Label {
                    place: *place,
                    message: format!("{what} too"),
                })
                .collect(),
            notes: Vec::new(),
            fix: None,
            heat: 0,
        });
    }
}
