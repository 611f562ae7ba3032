//! A function writes through a value that may be a copy of its argument: on that path the result is lost.

use super::unregistered_launcher::chain;
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Level};
use crate::program::Write;
use crate::source::Place;
use std::collections::BTreeMap;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "write-to-maybe-copy",
    group: "mutation",
    summary: "a write goes to what may be a copy of an argument",
    level: Level::Error,
    page: include_str!("../../rules/write-to-maybe-copy.md"),
    check,
};

fn check(cx: &mut Context) {
    for func in &cx.program.functions {
        let mut by_place: BTreeMap<Place, Vec<&Write>> = BTreeMap::new();
        for write in &func.mutates {
            // Where the copy is made in another function, that function has the finding.
            let own = |place: &Place| place.file == func.function.file && cx.program.function(func.function).span.contains(place.span);
            if let Some(place) = write.maybe_copy.filter(own) {
                by_place.entry(place).or_default().push(write);
            }
        }
        let name = cx.program.qualname(func.function);
        for (place, writes) in by_place {
            let params: Vec<String> = writes
                .iter()
                .map(|w| format!("`{}`", cx.program.param_name(func.function, w.param)))
                .collect();
            let params = params.join(", ");
            cx.findings.push(Finding {
                rule: RULE.name,
                level: if func.cold { Level::Note } else { RULE.level },
                certainty: Certainty::Likely,
                message: format!("`{name}` writes {params} through what may be a copy"),
                help: Some("ask for what is needed (`assert x.is_contiguous()`) and use `view`, or copy the result back".to_string()),
                place,
                primary: "the argument itself, or a copy of it".to_string(),
                labels: chain(writes[0]),
                notes: vec!["where it is a copy, the caller's tensor stays as it was".to_string()],
                fix: None,
                heat: u32::from(func.hot),
            });
        }
    }
}
