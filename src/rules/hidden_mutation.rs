//! An op writes a tensor that is none of its arguments.

use super::ops::{Seen, listed, seen};
use super::unregistered_launcher::steps;
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Level};

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "hidden-mutation",
    group: "mutation",
    summary: "an op writes a tensor that is none of its arguments",
    level: Level::Error,
    page: include_str!("../../rules/hidden-mutation.md"),
    check,
};

fn check(cx: &mut Context) {
    for seen in seen(cx.program).into_iter().filter(|seen| !seen.op.disabled) {
        cx.findings.extend(finding(&seen));
    }
}

fn finding(seen: &Seen) -> Option<Finding> {
    let func = seen.funcs.iter().find(|func| !func.state_writes.is_empty())?;
    let paths: Vec<&str> = func.state_writes.iter().map(|w| w.path.as_str()).collect();
    let body = seen.program.function(func.function).span;
    let first = &func.state_writes[0];
    let inside = |step: &&crate::program::Step| step.place.file == func.function.file && body.contains(step.place.span);
    let place = first.chain.iter().rev().find(inside).map(|step| step.place);
    let mut labels = steps(&first.chain);
    labels.retain(|label| Some(label.place) != place);
    labels.truncate(3);
    labels.push(seen.registered_here());
    Some(Finding {
        rule: RULE.name,
        level: seen.level(RULE.level),
        certainty: Certainty::Certain,
        message: format!("`{}` writes {}, which is none of its arguments", seen.title(), listed(&paths)),
        help: Some(
            "hand it over as an argument and declare it in `mutates_args`\na compiler sees no link between this call and who reads the tensor: it may move or drop either"
                .to_string(),
        ),
        place: place.unwrap_or_else(|| seen.program.name_place(func.function)),
        primary: format!("{} is written", listed(&paths[..1])),
        labels,
        notes: Vec::new(),
        fix: None,
        heat: u32::from(func.hot),
    })
}
