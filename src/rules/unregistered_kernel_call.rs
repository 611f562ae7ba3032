//! A hot call into a kernel library goes past the dispatcher, outside of every op.

use super::registrations::list;
use super::unregistered_launcher::{bypasses, fix_notes, heat, help};
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Fix, Label, Level};
use crate::program::{Func, KernelCall, Registration};
use crate::rewrite::Assessment;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "unregistered-kernel-call",
    group: "registration",
    summary: "a hot call of a library's kernel outside the dispatcher",
    level: Level::Warning,
    page: include_str!("../../rules/unregistered-kernel-call.md"),
    check,
};

fn check(cx: &mut Context) {
    let program = cx.program;
    for (i, func) in program.functions.iter().enumerate() {
        // A launcher that becomes an op takes its other calls with it.
        let goes_along = bypasses(func) && func.inline.is_none();
        if func.hot && !func.cold && is_outside(func) && !goes_along && !func.kernel_calls.is_empty() {
            cx.findings.push(finding(cx, func, cx.fixer.register(i)));
        }
    }
}

/// Its calls leave no op behind.
fn is_outside(func: &Func) -> bool {
    match func.registration {
        Registration::No | Registration::Recorded => true,
        Registration::Yes | Registration::Disabled | Registration::Covered => false,
    }
}

fn finding(cx: &Context, func: &Func, (assessment, fix): (Assessment, Fix)) -> Finding {
    let program = cx.program;
    let recorded = func.registration == Registration::Recorded;
    let first = &func.kernel_calls[0];
    let mut libraries: Vec<&str> = func.kernel_calls.iter().map(|c| c.library.as_str()).collect();
    libraries.sort_unstable();
    libraries.dedup();
    let mut notes: Vec<String> = libraries.iter().filter_map(|library| note(cx, func, library)).collect();
    notes.extend(fix_notes(&fix));
    if recorded {
        notes.push("it runs inside of an `autograd.Function`, whose `apply` leaves an event with shapes".to_string());
    }
    Finding {
        rule: RULE.name,
        level: if recorded { Level::Note } else { RULE.level },
        certainty: if func.kernel_calls.iter().all(|c| c.certain) {
            Certainty::Certain
        } else {
            Certainty::Likely
        },
        message: format!(
            "`{}` calls {} outside the dispatcher",
            program.qualname(func.function),
            callees(func)
        ),
        help: Some(match help(program, func, &assessment) {
            Some(help) => help,
            None => "put the call into a function and register that as an op: its shapes then show in a profile".to_string(),
        }),
        place: first.place,
        primary: format!("runs a kernel of {}", first.library),
        labels: func.kernel_calls[1..].iter().take(3).map(label).collect(),
        notes,
        fix: Some(fix),
        heat: heat(program, func),
    }
}

/// The callees, each once, in order.
fn callees(func: &Func) -> String {
    let mut names: Vec<&str> = Vec::new();
    for call in &func.kernel_calls {
        if !names.contains(&call.callee.as_str()) {
            names.push(&call.callee);
        }
    }
    list(&names)
}

fn label(call: &KernelCall) -> Label {
    Label {
        place: call.place,
        message: format!("`{}` too", call.callee),
    }
}

/// What a framework file says can be done.
fn note(cx: &Context, func: &Func, library: &str) -> Option<String> {
    let calls = func.kernel_calls.iter().filter(|c| c.library == library);
    let mut rows = calls.filter_map(|c| cx.knowledge.bypass(&c.callee));
    rows.find_map(|known| known.row.instead.clone())
}
