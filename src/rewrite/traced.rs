//! Whether `triton_op` can trace a launch.

use super::ops::is_wrapped;
use crate::facts::{ArgKind, Op as Code, ValueId};
use crate::knowledge::Knowledge;
use crate::program::{FunctionRef, KernelId, Launch, Program};

/// Why a launch cannot be traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untraceable {
    /// Why, as a clause.
    pub why: String,
    /// What to do.
    pub help: &'static str,
}

/// Why `triton_op` cannot trace a launch, if it is known that it cannot.
pub fn untraceable(program: &Program, knowledge: &Knowledge, launch: &Launch) -> Option<Untraceable> {
    let body = &program.function(launch.function).body;
    let call = body.call(launch.call?);
    let name = |kernel: KernelId| program.function_name(program.kernel(kernel).function);
    if is_wrapped(program, knowledge, launch) == Some(false) {
        return Some(Untraceable {
            why: format!("`{}` is launched without `wrap_triton`", name(*launch.kernels.first()?)),
            help: "launch `torch.library.wrap_triton(kernel)[grid](…)`: without it the kernel really runs while the op is traced",
        });
    }
    for &kernel in &launch.kernels {
        if let Some(why) = kernel_fault(program, kernel) {
            return Some(Untraceable {
                why: format!("`{}` {why}", name(kernel)),
                help: "register the launcher with `custom_op`, whose body is opaque",
            });
        }
    }
    let keyword = |word: &str| {
        let is = |kind: ArgKind| matches!(kind, ArgKind::Keyword(n) if program.name(launch.function.file, n) == word);
        call.args.iter().any(|a| is(a.kind))
    };
    let grid = match body.op(call.callee) {
        Code::Index(_, grid) => match body.op(grid) {
            Code::Tuple(items) => body.items(items).len(),
            _ => 0,
        },
        _ => 0,
    };
    let why = if keyword("num_ctas") {
        "the launch passes `num_ctas`".to_string()
    } else if grid > 3 {
        format!("the grid has {grid} dimensions, and three is the most")
    } else if launch.value.is_some_and(|v| is_used(program, launch.function, v)) {
        "the launch's result is used, which is None under `wrap_triton`".to_string()
    } else {
        return None;
    };
    Some(Untraceable {
        why,
        help: "register the launcher with `custom_op`, whose body is opaque",
    })
}

/// What `wrap_triton` refuses in a kernel.
fn kernel_fault(program: &Program, kernel: KernelId) -> Option<&'static str> {
    let kernel = program.kernel(kernel);
    let file = program.file(kernel.function.file);
    let function = program.function(kernel.function);
    let count = |wanted: &str| kernel.decorators.iter().filter(|d| *d == wanted).count();
    let hooked = || {
        let texts = function.decorators.iter().map(|d| file.source.slice(d.span));
        texts.into_iter().any(|t| t.contains("pre_hook=") || t.contains("post_hook="))
    };
    if kernel.decorators.first().is_some_and(|d| d == "triton.heuristics") {
        Some("has `heuristics` outermost, which `wrap_triton` refuses")
    } else if count("triton.autotune") > 1 {
        Some("is autotuned twice, which `wrap_triton` refuses")
    } else if hooked() {
        Some("has a `pre_hook` or `post_hook`, which `wrap_triton` refuses")
    } else {
        None
    }
}

/// The value is an operand of something other than an expression statement.
fn is_used(program: &Program, at: FunctionRef, value: ValueId) -> bool {
    let body = &program.function(at).body;
    let in_binding = program.function(at).assigned.iter().any(|(_, values)| values.contains(&value));
    let operand = body.iter().any(|(_, v)| match v.op {
        Code::Return(x) | Code::Attr(x, _) | Code::Unary(_, x) => x == value,
        Code::Index(a, b) | Code::Binary(_, a, b) => a == value || b == value,
        Code::Tuple(items) | Code::List(items) => body.items(items).contains(&value),
        _ => false,
    });
    let passed = body.calls.iter().any(|c| c.args.iter().any(|a| a.value == value));
    in_binding || operand || passed
}
