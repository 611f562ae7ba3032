//! An op needs a fake implementation to be traced, and has none.

use super::registrations::{implementation, level, of_torch};
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Label, Level};
use crate::program::{Declared, Fake, Func, Op, Program, ReturnShape};
use crate::rewrite;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "missing-fake",
    group: "fake",
    summary: "an op that cannot be traced without a fake has none",
    level: Level::Warning,
    page: include_str!("../../rules/missing-fake.md"),
    check,
};

fn check(cx: &mut Context) {
    let program = cx.program;
    for op in program
        .ops
        .iter()
        .filter(|op| !op.disabled && op.fake == Fake::Missing && op.name_known && !of_torch(op))
    {
        let Some(func) = implementation(program, op) else { continue };
        let Some(why) = need(program, op, func) else { continue };
        let fix = cx.fixer.add_fake(op);
        cx.findings.push(Finding {
            rule: RULE.name,
            level: level(program, op, RULE.level),
            certainty: Certainty::Certain,
            message: format!("`{}` has no fake implementation: {}", op.name, why.what),
            help: Some("register a fake that allocates what the implementation returns, and runs nothing".to_string()),
            place: op.place,
            primary: why.primary.to_string(),
            labels: vec![Label {
                place: program.name_place(func.function),
                message: "the implementation".to_string(),
            }],
            notes: Vec::new(),
            fix,
            heat: u32::from(func.hot),
        });
    }
}

/// Why an op needs a fake.
struct Need {
    what: &'static str,
    primary: &'static str,
}

/// How the op's implementation is put under the dispatcher.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    /// The body runs on whatever it is given, fake tensors too.
    Composite,
    /// One or several devices.
    Device,
    Unknown,
}

fn key(op: &Op) -> Key {
    match (op.base.as_deref(), op.dispatch_key.as_deref()) {
        (Some("torch.library.custom_op"), _) => Key::Device,
        (Some("torch.library.triton_op"), _) => Key::Composite,
        (_, Some("CompositeExplicitAutograd" | "CompositeImplicitAutograd" | "CompositeExplicitAutogradNonFunctional" | "")) => {
            Key::Composite
        }
        (_, Some("CPU" | "CUDA" | "XPU" | "HPU" | "PrivateUse1" | "MPS" | "HIP" | "cpu" | "cuda" | "xpu")) => Key::Device,
        // A framework's registrar: those that are known take one device.
        (None, None) if op.registrar.contains('.') => Key::Device,
        _ => Key::Unknown,
    }
}

fn need(program: &Program, op: &Op, func: &Func) -> Option<Need> {
    // Torch makes the fake of an op that is tagged to return its argument.
    if op.returns_argument || rewrite::takes_stars(program, func.function) {
        return None;
    }
    let returns = returns(op, func)?;
    match key(op) {
        Key::Composite if op.base.as_deref() != Some("torch.library.triton_op") => launches(program, func).then_some(Need {
            what: "its body would launch a kernel on fake tensors",
            primary: "the body runs on fake tensors too, under this dispatch key",
        }),
        Key::Device if returns => Some(Need {
            what: "it returns something, and tracing cannot tell what",
            primary: "cannot be traced, by `torch.compile` or `torch.export`",
        }),
        Key::Device if op.declared == Declared::Names(Vec::new()) && func.mutates.is_empty() && func.unresolved.is_empty() => Some(Need {
            what: "it returns nothing and writes nothing that a fake could be made from",
            primary: "cannot be traced, by `torch.compile` or `torch.export`",
        }),
        Key::Device | Key::Composite | Key::Unknown => None,
    }
}

/// Whether the op returns something; `None` when that cannot be told.
fn returns(op: &Op, func: &Func) -> Option<bool> {
    let schema = op.schema.as_deref().or(func.schema.as_deref().ok());
    if let Some((_, returns)) = schema.and_then(|s| s.rsplit_once("->")) {
        return Some(returns.trim() != "()");
    }
    if rewrite::returns_something(func) {
        return Some(true);
    }
    let nothing = func.returns.iter().all(|r| r.shape == ReturnShape::None);
    (nothing && !func.returns.is_empty()).then_some(false)
}

/// The body launches a kernel, or calls what does and runs inside of this op.
fn launches(program: &Program, func: &Func) -> bool {
    if !func.launches.is_empty() {
        return true;
    }
    let mut seen = vec![func.function];
    let mut next = 0;
    while next < seen.len() && seen.len() < 64 {
        let at = seen[next];
        next += 1;
        for inner in &program.functions {
            let called = inner.callers.iter().any(|c| c.function == at && c.call.is_some());
            if called && !seen.contains(&inner.function) && inner.registration != crate::program::Registration::Yes {
                if !inner.launches.is_empty() {
                    return true;
                }
                seen.push(inner.function);
            }
        }
    }
    false
}
