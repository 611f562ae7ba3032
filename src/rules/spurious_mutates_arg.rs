//! An op declares an argument as mutated that it never writes.

use super::ops::{Seen, listed, seen};
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Label, Level};
use crate::program::Declared;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "spurious-mutates-arg",
    group: "mutation",
    summary: "an op declares an argument as mutated and never writes it",
    level: Level::Warning,
    page: include_str!("../../rules/spurious-mutates-arg.md"),
    check,
};

fn check(cx: &mut Context) {
    for seen in seen(cx.program) {
        let declared = match &seen.op.declared {
            Declared::Names(names) => names.clone(),
            Declared::All => seen.arguments(),
            Declared::Malformed(_) | Declared::Unknown => continue,
        };
        let mut spurious: Vec<String> = declared.into_iter().filter(|name| seen.is_never_written(name)).collect();
        spurious.dedup();
        if !spurious.is_empty() {
            cx.findings.push(finding(&seen, &spurious));
        }
    }
}

fn finding(seen: &Seen, spurious: &[String]) -> Finding {
    let right = seen.right();
    let keeps_alive = right.names.is_empty() && seen.returns_nothing();
    let ignore = "if it is meant, to keep an order or a buffer alive, say so: `# opwright: ignore[spurious-mutates-arg] reason`";
    let help = if keeps_alive {
        format!(
            "left as it is: an op that returns nothing and declares nothing is dropped by the compiler, so the list keeps the call alive\n{ignore}"
        )
    } else {
        format!(
            "take {} off the list: what is declared is copied or kept in order for nothing, and its version counter moves\n{ignore}",
            listed(spurious)
        )
    };
    let body = match right.names.as_slice() {
        [] => "its body writes none of its arguments".to_string(),
        names if right.proven => format!("its body writes {} only", listed(names)),
        names => format!("its body can write {} only", listed(names)),
    };
    Finding {
        rule: RULE.name,
        level: if keeps_alive { Level::Note } else { seen.level(RULE.level) },
        certainty: Certainty::Certain,
        message: format!(
            "`{}` declares {} as mutated and never writes {}",
            seen.title(),
            listed(spurious),
            it(spurious)
        ),
        help: Some(help),
        place: seen.declaration(),
        primary: match seen.op.declared {
            Declared::All => "declares every tensor".to_string(),
            Declared::Names(_) | Declared::Malformed(_) | Declared::Unknown => String::new(),
        },
        labels: vec![Label {
            place: seen.program.name_place(seen.func().function),
            message: body,
        }],
        notes: seen.remarks(),
        fix: seen.declare(),
        heat: 0,
    }
}

fn it(names: &[String]) -> &'static str {
    if names.len() == 1 { "it" } else { "them" }
}
