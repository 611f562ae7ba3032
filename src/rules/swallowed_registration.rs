//! The failure of a registration is caught and hidden.

use super::registrations::{level, list, title};
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Label, Level};
use crate::rewrite;
use crate::source::Place;
use std::collections::BTreeMap;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "swallowed-registration",
    group: "registration",
    summary: "a failed registration is caught and hidden",
    level: Level::Warning,
    page: include_str!("../../rules/swallowed-registration.md"),
    check,
};

/// What one handler hides.
#[derive(Default)]
struct Hidden<'a> {
    names: Vec<&'a str>,
    places: Vec<Place>,
    level: Option<Level>,
}

fn check(cx: &mut Context) {
    let program = cx.program;
    let mut by_handler: BTreeMap<Place, Hidden> = BTreeMap::new();
    for op in program.ops.iter().filter(|op| !op.disabled) {
        let Some(handler) = rewrite::hidden_by(program, op.call) else {
            continue;
        };
        let hidden = by_handler.entry(handler).or_default();
        hidden.names.push(title(program, op));
        hidden.places.push(op.place);
        hidden.level = hidden.level.max(Some(level(program, op, RULE.level)));
    }
    for registrar in &program.registrars {
        for &call in &registrar.calls {
            let Some(handler) = rewrite::hidden_by(program, call) else {
                continue;
            };
            let hidden = by_handler.entry(handler).or_default();
            let name = program.qualname(registrar.function);
            if !hidden.names.contains(&name) {
                hidden.names.push(name);
            }
            hidden.places.push(program.value_place(call));
            let cold = program.file(call.0.file).cold;
            hidden.level = hidden.level.max(Some(if cold { Level::Note } else { RULE.level }));
        }
    }
    for (place, hidden) in by_handler {
        cx.findings.push(finding(place, &hidden));
    }
}

fn finding(place: Place, hidden: &Hidden) -> Finding {
    Finding {
        rule: RULE.name,
        level: hidden.level.unwrap_or(RULE.level),
        certainty: Certainty::Certain,
        message: format!("when the registration of {} fails, nobody is told", list(&hidden.names)),
        help: Some("let the error through, or catch only what is expected and say what happened".to_string()),
        place,
        primary: "takes the error and goes on".to_string(),
        labels: hidden
            .places
            .iter()
            .take(3)
            .map(|&place| Label {
                place,
                message: "registered here".to_string(),
            })
            .collect(),
        notes: vec!["code that goes on without the op runs past the dispatcher, or fails far from here".to_string()],
        fix: None,
        heat: 0,
    }
}
