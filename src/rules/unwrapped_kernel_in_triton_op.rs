//! A kernel is launched in a `triton_op` without `wrap_triton`, or is one that `triton_op` cannot take.

use super::registrations::{implementation, level};
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Label, Level};
use crate::program::{Func, FunctionRef, Launch, Op, Program};
use crate::rewrite::{self, Untraceable};

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "unwrapped-kernel-in-triton-op",
    group: "registration",
    summary: "`triton_op` cannot trace this launch",
    level: Level::Error,
    page: include_str!("../../rules/unwrapped-kernel-in-triton-op.md"),
    check,
};

fn check(cx: &mut Context) {
    let program = cx.program;
    let is_triton_op = |op: &&Op| !op.disabled && op.base.as_deref() == Some("torch.library.triton_op");
    for op in program.ops.iter().filter(is_triton_op) {
        let Some(func) = implementation(program, op) else { continue };
        for launch in launches(program, func) {
            if launch.via.is_some() || launch.kernels.is_empty() {
                continue;
            }
            if let Some(fault) = rewrite::untraceable(program, cx.knowledge, launch) {
                cx.findings.push(finding(program, op, launch, fault));
            }
        }
    }
}

/// Launches of the op's body and of the functions that it calls.
fn launches<'a>(program: &'a Program, func: &'a Func) -> Vec<&'a Launch> {
    let mut functions: Vec<FunctionRef> = vec![func.function];
    let mut found: Vec<&Launch> = func.launches.iter().collect();
    let mut next = 0;
    while next < functions.len() && functions.len() < 64 {
        let at = functions[next];
        next += 1;
        for inner in &program.functions {
            let called = inner.callers.iter().any(|c| c.function == at && c.call.is_some());
            if called && inner.op == func.op && !functions.contains(&inner.function) {
                functions.push(inner.function);
                found.extend(&inner.launches);
            }
        }
    }
    found
}

fn finding(program: &Program, op: &Op, launch: &Launch, fault: Untraceable) -> Finding {
    let kernel = launch.kernels.first().map(|&k| program.kernel(k).function);
    let labels = std::iter::once(Label {
        place: op.place,
        message: format!("`{}` is registered with `triton_op`", op.name),
    });
    let kernel = kernel.map(|kernel| Label {
        place: program.name_place(kernel),
        message: "the kernel".to_string(),
    });
    Finding {
        rule: RULE.name,
        level: level(program, op, RULE.level),
        certainty: Certainty::Certain,
        message: format!("`triton_op` cannot trace `{}`: {}", op.name, fault.why),
        help: Some(fault.help.to_string()),
        place: launch.place,
        primary: String::new(),
        labels: labels.chain(kernel).collect(),
        notes: Vec::new(),
        fix: None,
        heat: 0,
    }
}
