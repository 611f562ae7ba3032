//! A list of mutated arguments that torch refuses: a bare string, a name that is no argument, an argument that is no tensor.

use super::ops::{Seen, listed, seen};
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Fix, Level, Safety};
use crate::program::Declared;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "malformed-mutates-args",
    group: "mutation",
    summary: "torch refuses the list of mutated arguments",
    level: Level::Error,
    page: include_str!("../../rules/malformed-mutates-args.md"),
    check,
};

fn check(cx: &mut Context) {
    for seen in seen(cx.program).into_iter().filter(|seen| seen.op.schema.is_none()) {
        let found = match &seen.op.declared {
            Declared::Malformed(text) => Some(bare_string(&seen, text)),
            Declared::Names(names) if seen.op.inferred => wrong_names(&seen, names),
            Declared::Names(_) | Declared::All | Declared::Unknown => None,
        };
        cx.findings.extend(found);
    }
}

fn bare_string(seen: &Seen, text: &str) -> Finding {
    let (message, help) = if text == "None" {
        (
            format!("`{}` gives None for its mutated arguments", seen.title()),
            "write `()` for an op that mutates nothing, else the names of what it writes",
        )
    } else {
        (
            format!("`{}` gives the string \"{text}\" for its mutated arguments", seen.title()),
            "write a list, also for one name: `[\"x\"]` or `(\"x\",)`; the only string that torch takes is \"unknown\"",
        )
    };
    finding(seen, message, help.to_string())
}

fn wrong_names(seen: &Seen, names: &[String]) -> Option<Finding> {
    let func = seen.func();
    let strange = names.iter().filter(|n| seen.param_of(func, n).is_none());
    let strange: Vec<&str> = strange.map(|n| if n.is_empty() { "\"\"" } else { n }).collect();
    let is_other = |name: &&String| {
        let ty = seen.param_of(func, name).and_then(|p| func.types.get(usize::from(p))?.as_deref());
        ty.is_some_and(|ty| !ty.starts_with("Tensor"))
    };
    let others: Vec<&String> = names.iter().filter(is_other).collect();
    let (what, help) = match (strange.as_slice(), others.as_slice()) {
        ([], []) => return None,
        ([], others) => (
            format!("{}, no tensor", listed(others)),
            "only tensors, and lists of tensors, can be mutated",
        ),
        (strange, []) => (
            format!("{}, no argument of it", listed(strange)),
            "the names are those of the function's parameters",
        ),
        (strange, others) => (
            format!("{}, no argument of it, and {}, no tensor", listed(strange), listed(others)),
            "the names are those of the function's parameters, and only tensors can be mutated",
        ),
    };
    Some(finding(
        seen,
        format!("`{}` declares as mutated {what}", seen.title()),
        help.to_string(),
    ))
}

fn finding(seen: &Seen, message: String, help: String) -> Finding {
    let fix = seen.declare().map(|fix| guessed(seen, fix));
    Finding {
        rule: RULE.name,
        level: seen.level(RULE.level),
        certainty: Certainty::Certain,
        message,
        help: Some(help),
        place: seen.declaration(),
        primary: "torch refuses it when the op is registered".to_string(),
        labels: Vec::new(),
        notes: seen.remarks(),
        fix,
        heat: 0,
    }
}

/// Where something of the list is not proven to be written, the fix is a guess.
fn guessed(seen: &Seen, mut fix: Fix) -> Fix {
    if fix.safety == Safety::Safe && !seen.right().proven {
        fix.safety = Safety::Unsafe;
        fix.reasons.push("it cannot be known whether all of these are written".to_string());
    }
    fix
}
