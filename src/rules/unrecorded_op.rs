//! A registered op whose calls leave no event in a profiler trace.

use super::registrations::implementation;
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Label, Level};
use crate::program::{Func, Op, Program};
use crate::rewrite;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "unrecorded-op",
    group: "registration",
    summary: "a registered op whose calls leave no profiler event",
    level: Level::Warning,
    page: include_str!("../../rules/unrecorded-op.md"),
    check,
};

/// The first torch that calls such ops past its own recording.
const SINCE: (u32, u32) = (2, 14);

fn check(cx: &mut Context) {
    if cx.rewrite.newest_torch < SINCE {
        return;
    }
    let program = cx.program;
    for op in program.ops.iter().filter(|op| !op.disabled && !op.plain && is_python_op(op)) {
        let Some(func) = implementation(program, op).filter(|f| !f.cold) else {
            continue;
        };
        let schema = op.schema.as_ref().or(func.schema.as_ref().ok());
        if !schema.is_some_and(|s| only_tensors(s)) || !called_by_name(program, func) {
            continue;
        }
        let level = if cx.is_selected(&RULE) { RULE.level } else { Level::Note };
        cx.findings.push(finding(cx, op, func, level));
    }
}

fn is_python_op(op: &Op) -> bool {
    matches!(op.base.as_deref(), Some("torch.library.custom_op" | "torch.library.triton_op"))
}

/// Each argument is `Tensor` or `Tensor[]`, and so is each result a `Tensor`.
fn only_tensors(schema: &str) -> bool {
    let Some((arguments, returns)) = schema.rsplit_once("->") else {
        return false;
    };
    let arguments = arguments.trim();
    let Some(open) = arguments.find('(') else { return false };
    let inside = arguments[open + 1..].trim_end_matches(')');
    let plain = |text: &str| {
        let mut out = String::new();
        let mut depth = 0;
        for c in text.chars() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ if depth == 0 => out.push(c),
                _ => {}
            }
        }
        out
    };
    let argument = |a: &str| matches!(a.split_whitespace().next(), Some("Tensor" | "Tensor[]" | "*"));
    let result = |r: &str| matches!(r.split_whitespace().next(), None | Some("Tensor"));
    let returns = returns.trim().trim_start_matches('(').trim_end_matches(')');
    let inside = plain(inside);
    let arguments_fit = inside.trim().is_empty() || inside.split(',').all(argument);
    arguments_fit && plain(returns).split(',').all(result)
}

/// Somebody calls it by its decorated name, or may: the name is public.
fn called_by_name(program: &Program, func: &Func) -> bool {
    let name = program.function_name(func.function);
    func.callers.iter().any(|c| c.call.is_some()) || func.inline.is_none() && !name.starts_with('_')
}

fn finding(cx: &Context, op: &Op, func: &Func, level: Level) -> Finding {
    let name = cx.program.function_name(func.function);
    let calls = func.callers.iter().filter(|c| c.call.is_some());
    Finding {
        rule: RULE.name,
        level,
        certainty: Certainty::Certain,
        message: format!("calls of `{name}` leave no event in a profiler trace"),
        help: Some(format!(
            "let a plain function `{name}` call `torch.ops.{}`: such calls are recorded in eager code",
            op.name.replacen("::", ".", 1)
        )),
        place: op.place,
        primary: "takes only tensors: called by name, it skips what records ops".to_string(),
        labels: calls
            .take(3)
            .map(|c| Label {
                place: c.place,
                message: "called by name".to_string(),
            })
            .collect(),
        notes: vec![format!(
            "since torch {}.{}; ops of `Library.define` and `impl` are always recorded",
            SINCE.0, SINCE.1
        )],
        fix: rewrite::record_op(cx.program, cx.knowledge, op, func),
        heat: u32::from(func.hot),
    }
}
