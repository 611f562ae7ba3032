//! Why a kernel has no shapes, and what to do: one answer per group.

use super::backward::{EVALUATE, is_backward};
use super::coverage::{Class, Coverage, Group};
use super::frames;

/// A reason and an advice, one sentence each, without a full stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Why {
    pub(super) reason: &'static str,
    pub(super) advice: Option<&'static str>,
}

const fn why(reason: &'static str, advice: &'static str) -> Why {
    Why {
        reason,
        advice: if advice.is_empty() { None } else { Some(advice) },
    }
}

const SHAPES_OFF: Why = why(
    "shapes were not recorded: `record_shapes` was off",
    "record again with `record_shapes=True`",
);
const NO_TENSOR: Why = why("the op takes no tensor: its inputs are numbers, so no shape was lost", "");
const NO_DIMENSION: Why = why("its tensors have no dimension (single numbers), so no shape was lost", "");
const ENGINE: Why = why(
    "an event of the autograd engine, which passes no inputs to the profiler",
    "take the forward op's: `--shapes OUT.json` writes them, where an arrow or the Sequence number leads to it",
);
const COMPILED: Why = why(
    "code that torch.compile generated: inductor's kernels stand under the event of the compiled region, which has no inputs",
    "compile with `TORCHINDUCTOR_UNIQUE_KERNEL_NAMES=1` and read the shapes in the generated file, or profile the eager run",
);
const INDUCTOR: Why = why(
    "inductor's own kernel: the generated code launches it from Python, past the dispatcher",
    "read the shapes in the generated file (`TORCH_LOGS=output_code`), or profile the eager run",
);
const NO_INPUTS: Why = why(
    "the event was recorded without inputs (`record_function`, or a `RecordFunction` in C++ that passes none)",
    "register the function that launches as an op: its event then has its inputs",
);
const FAST_PATH: Why = why(
    "a registered op, called on torch's fast path (2.14 and later), which leaves no event for ops that take and return only tensors",
    "call `torch.ops.ns.name(…)`, the packet, which is recorded",
);
const FLASHINFER: Why = why(
    "FlashInfer launches it: its registration of ops is switched off, so the call does not pass the dispatcher",
    "wrap the call in an op of your own",
);
const TRITON: Why = why(
    "Python launched a Triton kernel: a `@triton.jit` function does not pass the dispatcher",
    "register the function that launches it as an op",
);
const EXTENSION: Why = why(
    "Python called compiled code that launches by itself (pybind11, TVM FFI, ctypes), past the dispatcher",
    "register the function that calls it as an op",
);
const STACKS_OFF: Why = why(
    "no op was running on the launching thread, and the trace has no Python frames to say who launched",
    "record again with `with_stack=True`, or give `--source DIR` to find the kernel by its name",
);
const NO_PYTHON: Why = why(
    "no op and no Python frame was open on the thread that launched: compiled code launched it by itself",
    "",
);
const REPLAY: Why = why(
    "a graph was replayed: its ops ran when it was captured, and a replay runs none",
    "profile the run that captures the graph (with its warm-up) and join it: `--capture FILE`",
);
const LOST: Why = why(
    "the call that launched it is not in the trace: it began before the recording, or the trace was cut off",
    "record one step more before the step of interest (`schedule(wait, warmup, active)`)",
);

/// Kernels that inductor generates have these beginnings.
const GENERATED: &[&str] = &[
    "triton_poi_",
    "triton_red_",
    "triton_per_",
    "triton_tem_",
    "triton_for_",
    "triton_mm_",
];

/// Frames that stand above a registered op's body.
const REGISTERED: &[&str] = &["torch/_library/custom_ops.py", "torch/_ops.py"];

pub(super) fn of(coverage: &Coverage, group: &Group) -> Option<Why> {
    Some(match group.class {
        Class::Shaped => return None,
        Class::UnshapedOp => of_op(coverage, group),
        Class::Bypass => of_bypass(coverage, group),
        Class::Graph => REPLAY,
        Class::Orphan => LOST,
    })
}

fn of_op(coverage: &Coverage, group: &Group) -> Why {
    let recording = coverage.recording;
    let launch = coverage.launches[group.sample as usize];
    let Some(op) = coverage.innermost(launch) else { return NO_INPUTS };
    let event = recording.op(op);
    let name = recording.names.text(event.name);
    if !recording.has_shapes() {
        return SHAPES_OFF;
    }
    if let Some(shape) = recording.shapes.get(event.shape).filter(|shape| !is_list_of_nothing(shape)) {
        return if shape.has_tensor { NO_DIMENSION } else { NO_TENSOR };
    }
    if name.starts_with(EVALUATE) || is_backward(event) {
        return ENGINE;
    }
    let compiled = ["CompiledFunction", "Torch-Compiled Region", "CompiledFxGraph", "TorchDynamo"];
    if compiled.iter().any(|part| name.contains(part)) || is_generated(recording.names.text(group.kernel)) {
        return COMPILED;
    }
    NO_INPUTS
}

/// `[[]]` with one string: what `record_function(name, text)` leaves.
fn is_list_of_nothing(shape: &super::recording::Shape) -> bool {
    let types = shape.types.as_array().map_or(&[][..], |types| types);
    types.iter().all(|kind| kind.as_str().is_none_or(str::is_empty))
}

fn is_generated(kernel: &str) -> bool {
    GENERATED.iter().any(|part| kernel.starts_with(part))
}

fn of_bypass(coverage: &Coverage, group: &Group) -> Why {
    let names = &coverage.recording.names;
    let stack = coverage.sites.stack(coverage.site(coverage.launches[group.sample as usize]));
    if is_generated(names.text(group.kernel)) {
        return INDUCTOR;
    }
    if stack.is_empty() {
        return if coverage.recording.has_frames() { NO_PYTHON } else { STACKS_OFF };
    }
    let mut triton = false;
    for name in stack {
        let Some(frame) = frames::parse(names.text(*name)) else { continue };
        if frame.path.contains("torchinductor_") || frames::at_folder(frame.path, "torch/_inductor/").is_some() {
            return INDUCTOR;
        }
        if REGISTERED.iter().any(|part| frames::at_folder(frame.path, part).is_some()) {
            return FAST_PATH;
        }
        triton |= frames::at_folder(frame.path, "triton/runtime/").is_some();
        if !frames::is_passing(&frame) {
            let flashinfer = frames::at_folder(frame.path, "flashinfer/").is_some();
            return match (flashinfer, triton) {
                (true, _) => FLASHINFER,
                (false, true) => TRITON,
                (false, false) => EXTENSION,
            };
        }
    }
    if triton { TRITON } else { EXTENSION }
}
