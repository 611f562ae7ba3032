//! A file that cannot be read or does not parse: what it says is unknown, and so are the launches in it.

use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Level};
use crate::source::Place;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "syntax-error",
    group: "meta",
    summary: "the file does not parse, so nothing is known of it",
    level: Level::Error,
    page: include_str!("../../rules/syntax-error.md"),
    check,
};

fn check(cx: &mut Context) {
    for &id in &cx.program.read {
        let file = cx.program.file(id);
        let Some(first) = file.facts.syntax_errors.first() else { continue };
        let more = file.facts.syntax_errors.len() - 1;
        let notes = if more == 0 {
            Vec::new()
        } else {
            vec![format!("{more} more in this file, which may follow from this one")]
        };
        cx.findings.push(Finding {
            rule: RULE.name,
            level: RULE.level,
            certainty: Certainty::Certain,
            message: first.message.clone(),
            help: Some("correct the file, or leave it out with `exclude` in the configuration".into()),
            place: Place {
                file: id,
                span: first.span,
            },
            primary: String::new(),
            labels: Vec::new(),
            notes,
            fix: None,
            heat: 0,
        });
    }
}
