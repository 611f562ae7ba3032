//! An op exists, but a hot call goes to its implementation and past the dispatcher.

use super::registrations::{implementation, of_torch, title};
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Label, Level};
use crate::program::{Bypass, Op, Program};
use crate::rewrite;
use std::collections::BTreeSet;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "bypassed-op",
    group: "registration",
    summary: "a hot call of an op's implementation instead of the op",
    level: Level::Warning,
    page: include_str!("../../rules/bypassed-op.md"),
    check,
};

fn check(cx: &mut Context) {
    let program = cx.program;
    // An op that is registered at several places is bypassed once.
    let mut told = BTreeSet::new();
    for op in program.ops.iter().filter(|op| op.plain && !op.disabled) {
        let Some(func) = implementation(program, op).filter(|f| !f.launches.is_empty() || !f.mutates.is_empty()) else {
            continue;
        };
        for bypass in &func.bypasses {
            let goes_past = !is_choice(program, op, bypass) && is_there(cx, op, bypass);
            if goes_past && told.insert(bypass.caller.place) {
                cx.findings.push(finding(cx, op, bypass));
            }
        }
    }
}

/// The calling function, or one around it, speaks of the op too: it chooses between the two.
fn is_choice(program: &Program, op: &Op, bypass: &Bypass) -> bool {
    let at = bypass.caller.function;
    let (_, name) = op.name.split_once("::").unwrap_or_default();
    let function = program.function(at);
    let text = program.file(at.file).source.slice(function.span);
    text.contains(&format!(".{name}")) && text.contains("torch.ops") || op.call.0 == at
}

/// The op is registered by the time of the call: with its implementation, or in a module that the caller's module imports.
fn is_there(cx: &Context, op: &Op, bypass: &Bypass) -> bool {
    let registered = op.call.0.file;
    if op.implementation.is_some_and(|f| f.file == registered) {
        return true;
    }
    let caller = bypass.caller.function.file;
    caller == registered || cx.fixer.runs_at_import(caller, registered)
}

fn finding(cx: &Context, op: &Op, bypass: &Bypass) -> Finding {
    let program = cx.program;
    let function = op.implementation.map(|f| program.function_name(f)).unwrap_or_default();
    let by = program.qualname(bypass.caller.function);
    Finding {
        rule: RULE.name,
        level: RULE.level,
        certainty: Certainty::Certain,
        message: format!("`{by}` calls `{function}` itself and not the op `{}`", title(program, op)),
        help: op.name_known.then(|| help(op)),
        place: bypass.caller.place,
        primary: "goes past the dispatcher".to_string(),
        labels: vec![Label {
            place: op.place,
            message: format!("`{function}` is registered here"),
        }],
        notes: Vec::new(),
        fix: if of_torch(op) {
            None
        } else {
            rewrite::call_op(program, cx.knowledge, op, bypass)
        },
        heat: 1,
    }
}

fn help(op: &Op) -> String {
    let name = op.name.replacen("::", ".", 1);
    if of_torch(op) {
        format!("register it as an op of its own too and call that: `torch.ops.{name}` runs it only where it was put in torch's place")
    } else {
        format!("call `torch.ops.{name}`")
    }
}
