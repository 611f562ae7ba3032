//! A function writes through a value that may be a copy of its argument: on that path the result is lost.

use super::unregistered_launcher::chain;
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Level};
use crate::program::{Func, ReturnPath, ReturnShape, Returned, Write};
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
            // Who uses the result has it on every path; who looks at the argument has not.
            let returned = writes.iter().all(|write| is_returned(func, write.param));
            let level = if returned { Level::Warning } else { RULE.level };
            cx.findings.push(Finding {
                rule: RULE.name,
                level: if func.cold { Level::Note } else { level },
                certainty: Certainty::Likely,
                message: format!("`{name}` writes {params} through what may be a copy"),
                help: Some(help(returned)),
                place,
                primary: "the argument itself, or a copy of it".to_string(),
                labels: chain(writes[0]),
                notes: vec![note(returned)],
                fix: None,
                heat: u32::from(func.hot),
            });
        }
    }
}

/// Every way out hands back what was written.
fn is_returned(func: &Func, param: u16) -> bool {
    let shares = |item: &Returned| matches!(item, Returned::Alias { params, .. } if params.contains(&param));
    let hands_back = |path: &ReturnPath| match &path.shape {
        ReturnShape::One(one) => shares(one),
        ReturnShape::Tuple(items) => items.iter().any(shares),
        ReturnShape::None | ReturnShape::Unknown => false,
    };
    !func.returns.is_empty() && func.returns.iter().all(hands_back)
}

fn help(returned: bool) -> String {
    let cure = "ask for what is needed (`assert x.is_contiguous()`) and use `view`, or copy the result back";
    if returned {
        format!("{cure}; or always work on a copy, and let callers use what is returned")
    } else {
        cure.to_string()
    }
}

fn note(returned: bool) -> String {
    let stays = "where it is a copy, the caller's tensor stays as it was";
    if returned {
        format!("{stays}, and only what is returned has the result")
    } else {
        stays.to_string()
    }
}
