//! The `Library` that holds an op may be collected, and the op with it.

use super::registrations::{level, list, title};
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Label, Level};
use crate::program::Op;
use crate::rewrite;
use crate::source::Place;
use std::collections::BTreeMap;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "library-lifetime",
    group: "registration",
    summary: "the `Library` object is collected, and its ops with it",
    level: Level::Error,
    page: include_str!("../../rules/library-lifetime.md"),
    check,
};

fn check(cx: &mut Context) {
    let mut by_library: BTreeMap<Place, Vec<&Op>> = BTreeMap::new();
    for op in cx.program.ops.iter().filter(|op| !op.disabled) {
        if let Some(place) = op.dying_library {
            by_library.entry(place).or_default().push(op);
        }
    }
    for (place, ops) in by_library {
        let names: Vec<&str> = ops.iter().map(|op| title(cx.program, op)).collect();
        let levels = ops.iter().map(|op| level(cx.program, op, RULE.level));
        let once = ops.iter().all(|op| rewrite::at_import(cx.program, op));
        cx.findings.push(Finding {
            rule: RULE.name,
            level: levels.max().unwrap_or(RULE.level),
            certainty: Certainty::Certain,
            message: format!(
                "nothing keeps this `Library`, and {} vanish{} with it",
                list(&names),
                plural(&names)
            ),
            help: Some("keep the `Library` in a global of the module".to_string()),
            place,
            primary: "collected when the code around it is done".to_string(),
            labels: ops
                .iter()
                .take(3)
                .filter(|op| op.place != place)
                .map(|op| Label {
                    place: op.place,
                    message: "registered here".to_string(),
                })
                .collect(),
            notes: vec!["an op lives as long as its `Library`: after that, `torch.ops` does not have it".to_string()],
            fix: rewrite::keep_library(cx.program, place, once),
            heat: 0,
        });
    }
}

fn plural(names: &[&str]) -> &'static str {
    if names.len() == 1 { "es" } else { "" }
}
