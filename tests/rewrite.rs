//! What fixes write: whole files in each style, and what keeps a fix from being written.
//!
//! `INSTA_UPDATE=always` rewrites the snapshots.

#![allow(clippy::unwrap_used)] // a panic is a failed test

#[path = "support/project.rs"]
mod project;

use opwright::finding::{Finding, Safety};
use opwright::fix::diff::unified;
use project::TestProject;

const KERNEL: &str = r#"import torch
import triton
import triton.language as tl


@triton.jit
def _copy_kernel(src, dst, n, factor, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(dst + i, tl.load(src + i, mask=i < n) * factor, mask=i < n)
"#;

/// Launchers of every kind that can be an op as they stand, or by splitting.
const LAUNCHERS: &str = r#"

# Clips softly.
@torch.no_grad()
def soft_clip(
    signal: torch.Tensor,  # any shape
    limit: float = 3.0,
) -> torch.Tensor:
    """Clip.

    Softly.
    """

    # The output.
    result = torch.empty_like(signal)
    count = signal.numel()
    if count == 0:
        return result
    with torch.cuda.device(signal.device):
        _copy_kernel[(triton.cdiv(count, 256),)](signal, result, count, limit, B=256)
    return result  # done


@torch.no_grad()
def pair(x: torch.Tensor, rows: int, *, wide: bool = False):
    M, N = x.shape
    assert M == rows
    if wide:
        N = N * 2
        grid = (M, 2)
    else:
        grid = (M,)
    first = x.new_empty(M, N)
    second = torch.zeros((M,), dtype=torch.float32, device=x.device)
    _copy_kernel[grid](x, first, M, 1, B=16)
    _copy_kernel[grid](x, second, M, 2, B=16)
    return first, second


@torch.no_grad()
def into(x: torch.Tensor, eps: float = 1e-6, out: torch.Tensor | None = None, *, scale: float = 1.0) -> torch.Tensor:
    """Writes to `out`, or to new memory."""
    n = x.numel()

    # Nobody gave one.
    if out is None:
        out = torch.empty(n, dtype=x.dtype, device=x.device)  # flat

    _copy_kernel[(1,)](x, out, n, eps * scale, B=16)
    return out


@torch.no_grad()
def rotate_(heads: torch.Tensor, phase: torch.Tensor) -> torch.Tensor:
    flat = heads.view(-1, heads.shape[-1])
    _copy_kernel[(flat.shape[0],)](phase, flat, 1, 1, B=16)
    return flat.view(heads.shape[0], -1)


@torch.no_grad()
def fill(x: torch.Tensor, value: float) -> None:
    if x.numel() > 0:
        _copy_kernel[(1,)](x, x, 1, value, B=16)
"#;

fn read(files: &[(&str, &str)], settings: &str) -> TestProject {
    TestProject::of(files.iter().copied(), Some(settings))
}

/// The diffs of `--fix`; fixing again must change nothing.
fn diffs(files: &[(&str, &str)], settings: &str) -> String {
    let project = read(files, settings);
    let before = project.files();
    let fixed = project.fix(project.files(), false);
    assert!(fixed.stable && fixed.undone.is_empty());
    let again = project.fix(project.files_after(&fixed), false);
    assert!(again.texts.is_empty(), "a second run changes more");
    let texts = fixed.texts.iter();
    texts
        .map(|(id, after)| unified(&after.path, &before[id.index()].source.text, &after.text))
        .collect()
}

/// The finding about a function.
fn finding(files: &[(&str, &str)], settings: &str, name: &str) -> Finding {
    let checked = read(files, settings).check();
    let of = |f: &&Finding| f.message.starts_with(&format!("`{name}`")) && f.fix.is_some();
    checked
        .findings
        .iter()
        .find(of)
        .unwrap_or_else(|| panic!("no finding about `{name}`"))
        .clone()
}

/// Safety and reasons of the fix of the function `f`, written below the kernel.
fn outcome(function: &str, settings: &str) -> (Safety, Vec<String>) {
    let text = format!("{KERNEL}\n\n{function}");
    let fix = finding(&[("ops/f.py", &text)], settings, "f").fix.expect("the finding has a fix");
    (fix.safety, fix.reasons)
}

/// The function cannot be an op as a whole; a part of it may be.
fn blocked(function: &str, reason: &str) {
    let text = format!("{KERNEL}\n\n{function}");
    let finding = finding(&[("ops/f.py", &text)], "", "f");
    let fix = finding.fix.expect("the finding has a fix");
    assert!(fix.safety == Safety::Shown || fix.title.starts_with("outline"), "{function}");
    let reasons: Vec<String> = fix.reasons.into_iter().chain(finding.notes).collect();
    assert!(
        reasons.iter().any(|r| r.contains(reason)),
        "{reason:?} is not among {reasons:#?}\n{function}"
    );
}

#[test]
fn each_style_writes_what_its_users_write() {
    for style in ["custom-op", "library", "vllm", "sglang"] {
        let text = format!("{KERNEL}{LAUNCHERS}");
        let diff = diffs(&[("ops/kernels.py", &text)], &format!("style = \"{style}\"\n"));
        insta::assert_snapshot!(style, diff);
    }
}

#[test]
fn line_ends_are_kept() {
    let text = format!("{KERNEL}{LAUNCHERS}").replace('\n', "\r\n");
    let project = read(&[("ops/kernels.py", &text)], "");
    let fixed = project.fix(project.files(), false);
    let (_, after) = fixed.texts.iter().next().expect("the file is fixed");
    assert_eq!(after.text.matches('\n').count(), after.text.matches("\r\n").count());
}

#[test]
fn copies_of_a_launcher_get_names_of_their_own() {
    let text = format!("{KERNEL}\n\ndef f(x: torch.Tensor) -> None:\n    _copy_kernel[(1,)](x, x, 1, 1, B=16)\n");
    let files = [("ops/amd/norm.py", text.as_str()), ("ops/nvidia/norm.py", text.as_str())];
    let diff = diffs(&files, "");
    assert!(
        diff.contains("torch.ops.ops.amd_f(x)") && diff.contains("torch.ops.ops.nvidia_f(x)"),
        "{diff}"
    );
}

#[test]
fn a_name_that_an_op_has_is_not_taken_again() {
    let other = "import torch\n\n\n@torch.library.custom_op(\"ops::f\", mutates_args=())\ndef g(x: torch.Tensor) -> torch.Tensor:\n    return x.clone()\n";
    let text = format!("{KERNEL}\n\ndef f(x: torch.Tensor) -> None:\n    _copy_kernel[(1,)](x, x, 1, 1, B=16)\n");
    let diff = diffs(&[("ops/f.py", &text), ("ops/g.py", other)], "");
    assert!(diff.contains("torch.ops.ops.ops_f(x)"), "{diff}");
}

#[test]
fn gradients_decide_between_custom_op_and_library() {
    let function = "def f(x: torch.Tensor) -> None:\n    _copy_kernel[(1,)](x, x, 1, 1, B=16)\n";
    let custom = outcome(function, "style = \"custom-op\"\n");
    assert_eq!(custom.0, Safety::Unsafe, "{custom:?}");
    assert!(custom.1.iter().any(|r| r.contains("gradients")) && custom.1.iter().any(|r| r.contains("version counters")));
    assert_eq!(
        outcome(function, "style = \"custom-op\"\ninference-only = [\"ops\"]\n").0,
        Safety::Safe
    );
    assert_eq!(outcome(function, "style = \"library\"\n").0, Safety::Safe);
    assert_eq!(outcome(function, "").0, Safety::Safe);
}

#[test]
fn a_call_that_contradicts_an_annotation_makes_a_fix_unsafe() {
    let function = "def f(x: torch.Tensor, n: int) -> None:\n    _copy_kernel[(1,)](x, x, n, 1, B=16)\n\n\ndef g(x: torch.Tensor):\n    f(x, x.numel() / 2)\n";
    let (safety, reasons) = outcome(function, "");
    assert_eq!(safety, Safety::Unsafe);
    assert!(reasons[0].contains("`n` is given a float"), "{reasons:?}");
}

#[test]
fn an_attribute_on_a_result_makes_a_fix_unsafe() {
    let function = "def f(x: torch.Tensor) -> torch.Tensor:\n    y = torch.empty_like(x)\n    _copy_kernel[(1,)](x, y, 1, 1, B=16)\n    y.scale = 1\n    return y\n";
    let (safety, reasons) = outcome(function, "");
    assert_eq!(safety, Safety::Unsafe);
    assert!(reasons[0].contains("sets an attribute"), "{reasons:?}");
}

#[test]
fn what_no_schema_can_say_blocks_a_fix() {
    blocked(
        "def f(x: torch.Tensor, n) -> None:\n    n.run()\n    _copy_kernel[(1,)](x, x, 1, 1, B=16)\n",
        "`n` has no annotation, and its use does not prove one",
    );
    blocked(
        "def f(x: torch.Tensor, *n) -> None:\n    _copy_kernel[(1,)](x, x, 1, 1, *n)\n",
        "`n`: `*args` is not supported",
    );
    blocked(
        "async def f(x: torch.Tensor) -> None:\n    _copy_kernel[(1,)](x, x, 1, 1, B=16)\n",
        "coroutine",
    );
    blocked(
        "if triton:\n    def f(x: torch.Tensor) -> None:\n        _copy_kernel[(1,)](x, x, 1, 1, B=16)\nelse:\n    def f(x: torch.Tensor) -> None:\n        pass\n",
        "bound more than once",
    );
    blocked(
        "def f(x: torch.Tensor) -> None:\n    y = torch.empty_like(x)\n    _copy_kernel[(1,)](x, y, 1, 1, B=16)\n",
        "dropped by the compiler",
    );
}

#[test]
fn results_that_an_op_cannot_return_block_a_fix() {
    let launch = "    _copy_kernel[(1,)](x, y, 1, 1, B=16)\n";
    let fresh = "    y = torch.empty_like(x)\n";
    blocked(
        &format!("def f(x: torch.Tensor, both: bool):\n{fresh}{launch}    return (y, x.clone()) if both else y\n"),
        "",
    );
    blocked(
        &format!("def f(x: torch.Tensor, on: bool):\n{fresh}{launch}    z = 1 if on else None\n    return y, z\n"),
        "None on a path",
    );
    blocked(
        &format!("def f(x: torch.Tensor):\n{fresh}{launch}    return y[:1], y[1:]\n"),
        "share memory",
    );
}

/// What a fix writes for a function below the kernel, without the lines in front of it.
fn written(function: &str) -> String {
    let diff = diffs(&[("ops/f.py", &format!("{KERNEL}\n\n{function}"))], "style = \"library\"\n");
    let after = diff.lines().filter(|l| l.starts_with(['+', ' ']) && !l.starts_with("+++"));
    let text: Vec<&str> = after.map(|l| &l[1..]).collect();
    let text = text.join("\n");
    let start = text.find("\ndef _f_impl").unwrap_or_default();
    text[start..].to_string()
}

#[test]
fn types_are_inferred_from_use_default_and_kernel() {
    let function = "def f(x, out, n, scale, eps=1e-6, causal=False, mode=\"a\", bias=None, shape=None, dtype=None, unused=None):
    if mode == \"b\":
        n = triton.cdiv(n, 2)
    if bias is not None:
        assert bias.shape == x.shape
    if causal:
        y = torch.empty(shape[0], dtype=dtype)
        _copy_kernel[(1,)](x, y, n, eps, B=16)
    _copy_kernel[(n,)](x, out, n, scale, B=16)


def g(x):
    f(x.flatten(), x.clone(), 3, 1, shape=(3, 4))
";
    let fix = finding(&[("ops/f.py", &format!("{KERNEL}\n\n{function}"))], "", "f").fix;
    let fix = fix.expect("the finding has a fix");
    assert_eq!(
        (fix.safety, fix.reasons),
        (
            Safety::Unsafe,
            vec!["the type of `shape` is what its callers in view pass".to_string()]
        )
    );
    insta::assert_snapshot!(written(&function.replace("shape[0]", "x.shape")));
}

/// `kernel[grid]` is no item of a tensor, and what `elif` asks a fake asks as well.
#[test]
fn kernels_are_no_tensors_and_no_branch_of_a_fake_reads_data() {
    blocked(
        "def f(kernel, *, x: torch.Tensor, n: int) -> None:\n    kernel[(n, 2)](x, x, n, 1, B=16)\n",
        "`kernel`",
    );
    let function = "@torch.no_grad()
def f(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    if out is None:
        out = torch.empty_like(x)
    elif out.data_ptr() % 16:
        raise ValueError(\"unaligned\")
    _copy_kernel[(1,)](x, out, 1, 1, B=16)
    return out
";
    let text = format!("{KERNEL}\n\n{function}");
    let fix = finding(&[("ops/f.py", &text)], "style = \"custom-op\"\n", "f").fix.unwrap();
    let written: String = fix.edits.iter().map(|(_, edit)| edit.content.as_str()).collect();
    assert!(!written.contains("data_ptr"), "{written}");
}

/// `infer_schema` takes `Optional[List[Tensor]]` from torch 2.15 on.
#[test]
fn a_list_of_tensors_that_may_be_absent_needs_a_new_torch() {
    let function = "from typing import Optional, Tuple


@torch.no_grad()
def f(x: torch.Tensor, pair: Optional[Tuple[torch.Tensor, torch.Tensor]] = None) -> None:
    if pair is not None:
        y, z = pair
        _copy_kernel[(1,)](y, x, 1, 1, B=16)
";
    let text = format!("{KERNEL}\n\n{function}");
    let written = |version: &str| {
        let fix = finding(
            &[("ops/f.py", &text)],
            &format!("style = \"custom-op\"\ntorch = \"{version}\"\n"),
            "f",
        );
        let edits = fix.fix.unwrap().edits.into_iter();
        edits.map(|(_, edit)| edit.content.to_string()).collect::<String>()
    };
    let list = "Optional[list[torch.Tensor]]";
    assert!(written("2.15").contains(list), "{}", written("2.15"));
    // Then the launch alone becomes an op.
    assert!(
        !written("2.14").contains(list) && written("2.14").contains("y: torch.Tensor"),
        "{}",
        written("2.14")
    );
}

/// `topk` may write whatever it is given: a field of an object as well as an argument. A field that no such call sees is not written.
#[test]
fn what_may_be_written_is_declared_for_fields_too() {
    let function = "from dataclasses import dataclass
from elsewhere import topk


@dataclass
class Table:
    pages: torch.Tensor
    rows: torch.Tensor
    size: int


@torch.no_grad()
def f(x: torch.Tensor, lens: torch.Tensor, table: Table) -> None:
    topk(lens, table.pages)
    _copy_kernel[(table.size,)](table.rows, x, 1, 1, B=16)
";
    let text = format!("{KERNEL}\n\n{function}");
    let fix = finding(&[("ops/f.py", &text)], "style = \"custom-op\"\n", "f").fix.unwrap();
    assert_eq!(fix.safety, Safety::Unsafe);
    let written: String = fix.edits.iter().map(|(_, edit)| edit.content.as_str()).collect();
    assert!(written.contains("mutates_args=(\"x\", \"lens\", \"table_pages\")"), "{written}");
}

/// All that the fix of `f` writes.
fn contents(function: &str, settings: &str, name: &str) -> (Safety, String) {
    let text = format!("{KERNEL}\n\n{function}");
    let fix = finding(&[("ops/f.py", &text)], settings, name).fix.unwrap();
    (fix.safety, fix.edits.iter().map(|(_, edit)| edit.content.as_str()).collect())
}

/// A kernel that adds it to a pointer may seem to read through it.
#[test]
fn a_part_of_a_grid_is_an_integer() {
    let function = "@triton.jit
def _ranked_kernel(x_ptr, out_ptr, count, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out_ptr + i, tl.load(x_ptr + count + i))


class Info:
    @property
    def count(self) -> int:
        return 3


@torch.no_grad()
def f(x: torch.Tensor, info: Info, **options):
    check(**options)
    count = info.count
    out = torch.empty_like(x)

    def grid(meta):
        return (1, count)

    _ranked_kernel[grid](x, out, count, B=16)
    return out
";
    let (_, text) = contents(function, "style = \"custom-op\"\n", "f");
    assert!(text.contains("count: int"), "{text}");
}

/// `torch.cuda.stream` takes a stream: that torch has the function does not make what it is given a tensor.
#[test]
fn a_stream_is_no_tensor() {
    let function = "@torch.no_grad()
def f(x: torch.Tensor, stream: torch.cuda.Stream | None = None) -> None:
    with torch.cuda.stream(stream):
        _copy_kernel[(1,)](x, x, 1, 1, B=16)
";
    let (_, written) = contents(function, "style = \"custom-op\"\n", "f");
    assert!(!written.contains("stream:") && written.contains("x: torch.Tensor"), "{written}");
}

/// `temperature == 0.0` is a tensor where the temperature is one: torch compares element by element.
#[test]
fn what_cannot_be_told_is_not_compared_to_a_bool() {
    let function = "@triton.jit
def _greedy_kernel(out_ptr, greedy_ptr, n):
    i = tl.program_id(0)
    greedy = True if greedy_ptr is None else tl.load(greedy_ptr + i)
    if greedy:
        tl.store(out_ptr + i, 0.0)


class Sampler:
    @torch.no_grad()
    def sample(self, probs: torch.Tensor, meta) -> torch.Tensor:
        if meta.all_greedy:
            greedy = None
        else:
            greedy = meta.temperature == 0.0
        self.note(greedy)
        _greedy_kernel[(probs.shape[0],)](probs, greedy, probs.shape[0])
        return probs
";
    let text = format!("{KERNEL}\n\n{function}");
    let found = finding(&[("ops/f.py", &text)], "style = \"custom-op\"\n", "Sampler.sample");
    let fix = found.fix.unwrap();
    let written: String = fix.edits.iter().map(|(_, edit)| edit.content.as_str()).collect();
    // The kernel reads through it.
    assert!(written.contains("greedy: Optional[torch.Tensor]"), "{written}");
}

/// A decorator of the kernel asks whether the gate is there; what a helper hands back for its gradient may be `None`.
#[test]
fn what_may_be_absent_is_optional() {
    let function = "@triton.heuristics({'USE_GATE': lambda args: args['gate'] is not None})
@triton.jit
def _gated_kernel(x, gate, dgate, n, USE_GATE: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i, mask=i < n)
    if USE_GATE:
        value *= tl.load(gate + i, mask=i < n)
        tl.atomic_add(dgate + i, value, mask=i < n)
    tl.store(x + i, value, mask=i < n)


def prepare(x, gate):
    return torch.empty_like(x), torch.empty_like(gate) if gate is not None else None


@torch.no_grad()
def f(x, gate, dgate, n: int):
    _gated_kernel[(1,)](x, gate, dgate, n, B=16)


def backward(x, gate):
    y, dgate = prepare(x, gate)
    f(x=y, gate=gate, dgate=dgate, n=16)
";
    let (_, text) = contents(function, "style = \"custom-op\"\n", "f");
    for name in ["gate", "dgate"] {
        assert!(text.contains(&format!("{name}: Optional[torch.Tensor]")), "{text}");
    }
    assert!(text.contains("x: torch.Tensor,"), "{text}");
}

/// What a kernel adds to an offset and never loads through may still be a tensor.
#[test]
fn a_pointer_that_is_never_used_is_no_number() {
    let kernel = "@triton.jit
def _shift_kernel(x, spare, n, eps, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    spare = spare + tl.program_id(0) * n
    value = tl.load(x + i, mask=i < n)
    tl.store(x + i, value * tl.rsqrt(value * value + eps), mask=i < n)


@torch.no_grad()
def f(x: torch.Tensor, spare, n: int, eps):
    _shift_kernel[(1,)](x, spare, n, eps, B=16)
";
    let text = format!("{KERNEL}\n\n{kernel}");
    let found = finding(&[("ops/f.py", &text)], "style = \"custom-op\"\n", "f");
    let fix = found.fix.unwrap();
    assert_eq!(fix.safety, Safety::Shown);
    let about = |name: &str| fix.reasons.iter().any(|reason| reason.contains(name));
    assert!(about("`spare`") && !about("`eps`"), "{:?}", fix.reasons);
}

/// An op returns tensors: what is put into an object stays outside.
#[test]
fn an_object_is_made_by_the_public_function() {
    let function = "from typing import NamedTuple


class Pair(NamedTuple):
    y: torch.Tensor
    n: int


@torch.no_grad()
def f(x: torch.Tensor, n: int) -> Pair:
    y = torch.empty_like(x)
    _copy_kernel[(1,)](x, y, n, 1, B=16)
    return Pair(y, n)
";
    let (_, written) = contents(function, "style = \"custom-op\"\n", "f");
    assert!(!written.contains("Pair(") && written.contains("y = torch.ops"), "{written}");
}

/// What a tensor says of itself, and constants, are not handed over; what is returned at once has no name.
#[test]
fn an_outlined_op_makes_what_it_can_itself() {
    let class = "class Scaler:
    def __init__(self, factor: float):
        self.factor = factor

    @torch.no_grad()
    def run(self, x: torch.Tensor, label: str) -> torch.Tensor:
        rows, columns = x.shape
        block = 16
        count = rows * columns
        print(label, rows)
        out = torch.empty_like(x)
        grid = (triton.cdiv(count, block), rows, columns)
        _copy_kernel[grid](x, out, count, self.factor, B=block)
        return out
";
    let text = format!("{KERNEL}\n\n{class}");
    insta::assert_snapshot!("outlined_inputs", diffs(&[("ops/f.py", &text)], "style = \"custom-op\"\n"));
}

/// Sizes of a launch are made inside, from another name of an argument too; not from one that has another value by then.
#[test]
fn sizes_are_made_of_what_still_is_what_it_was() {
    let function = "class Scaler:
    @torch.no_grad()
    def run(self, x: torch.Tensor, chunk: int, count: int, label: str):
        block = chunk
        tiles = triton.cdiv(x.shape[0], block)
        twice = count * 2
        count = count + 1
        print(self, label, block, count)
        _copy_kernel[(tiles, twice)](x, x, count, 1, B=block)
";
    let (_, text) = contents(function, "style = \"custom-op\"\n", "Scaler.run");
    assert!(text.contains("tiles = triton.cdiv(x.shape[0], block)"), "{text}");
    assert!(text.contains("twice: int"), "{text}");
}

/// One op makes `device` itself, the other is given it: the statement stays.
#[test]
fn what_one_of_two_ops_is_given_stays() {
    let function = "@torch.no_grad()
def f(x: torch.Tensor, table: torch.Tensor):
    device = x.device
    a = torch.empty(4, device=device)
    _copy_kernel[(1,)](x, a, 4, 1, B=16)
    n = int(a.sum().item())
    b = torch.empty(n, device=device)
    _copy_kernel[(1,)](table, b, n, 1, B=16)
    return a, b
";
    let text = format!("{KERNEL}\n\n{function}");
    let diff = diffs(&[("ops/f.py", &text)], "style = \"custom-op\"\n");
    let kept = "device = x.device\n+    a = torch.ops.ops.f_copy(x)";
    assert!(diff.contains(kept), "{diff}");
    assert!(diff.contains("f_copy_2(table, n, device)"), "{diff}");
}

/// The same launch with other arguments, one of which may be absent: one op for both. Where the kernel takes the two in turn, no.
#[test]
fn launches_that_do_the_same_share_an_op() {
    let class = "class Planner:
    def __init__(self, table: torch.Tensor):
        self.table = table

    @torch.no_grad()
    def plan(self, batch, lengths: torch.Tensor, prefix: torch.Tensor, fast: bool):
        if fast:
            print(batch)
            _copy_kernel[(1,)](lengths, self.table, lengths.numel(), 1, B=16)
            print(batch)
        else:
            print(batch, fast)
            _copy_kernel[(1,)](prefix, self.table, prefix.numel(), 1, B=16)
            print(batch)
            _copy_kernel[(1,)](src=self.table, dst=prefix, n=16, factor=1, B=16)
";
    let text = format!("{KERNEL}\n\n{class}");
    insta::assert_snapshot!("shared_op", diffs(&[("ops/f.py", &text)], "style = \"custom-op\"\n"));
}

/// The public function allocates what stands in for an absent argument, in either spelling; the op writes it.
#[test]
fn what_stands_in_for_an_argument_is_allocated_outside() {
    let function = |chosen: &str| {
        format!(
            "def pick(rows):
    return {{\"num_warps\": 8}} if rows > 16 else {{}}


@torch.no_grad()
def f(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    rows = x.shape[0]
    options = pick(rows)
{chosen}    if len(options) > 3:
        return y
    _copy_kernel[(1,)](x, y, rows, 1, B=16, **options)
    return y
"
        )
    };
    let inline = function("    y = (\n        torch.empty(rows, device=x.device) if out is None else out\n    )\n");
    insta::assert_snapshot!("stand_in", written(&inline));
    let branches = "    if out is not None:\n        y = out\n    else:\n        y = torch.empty(rows, device=x.device)\n";
    insta::assert_snapshot!("stand_in_by_branch", written(&function(branches)));
    let asked = function("    y = torch.empty(rows, device=x.device) if out is None else out\n    print(out is None)\n");
    insta::assert_snapshot!("stand_in_asked_again", written(&asked));
}

#[test]
fn results_by_flag_are_put_together_by_the_public_function() {
    let launch = "    _copy_kernel[(1,)](x, y, 1, 1, B=16)\n";
    let fresh = "    y = torch.empty_like(x)\n";
    insta::assert_snapshot!(
        "arity_by_flag",
        written(&format!(
            "def f(x: torch.Tensor, both: bool):\n{fresh}{launch}    if both:\n        return y, x.clone()\n    return y\n"
        ))
    );
    insta::assert_snapshot!(
        "argument_or_new",
        written(&format!(
            "def f(x: torch.Tensor) -> torch.Tensor:\n    if x.numel() == 0:\n        return x\n{fresh}{launch}    return y\n"
        ))
    );
    insta::assert_snapshot!(
        "given_or_new",
        written(&format!(
            "def f(x: torch.Tensor, out=None):\n    n = x.numel()\n    y = torch.empty_like(x) if out is None else out\n{launch}    return y\n"
        ))
    );
    insta::assert_snapshot!(
        "none_by_flag",
        written(&format!(
            "def f(x: torch.Tensor, on: bool):\n{fresh}{launch}    z = x.clone() if on else None\n    return y, z\n"
        ))
    );
}

#[test]
fn a_fake_reads_no_values() {
    let launch = "    _copy_kernel[(1,)](x, y, 1, 1, B=16)\n    return y\n";
    blocked(
        &format!("def f(x: torch.Tensor) -> torch.Tensor:\n    y = torch.empty(int(x.sum().item()), device=x.device)\n{launch}"),
        "depends on the values of `x.sum()`",
    );
    blocked(
        &format!("def f(x: torch.Tensor) -> torch.Tensor:\n    y = torch.empty(3 if x.max() > 0 else 4, device=x.device)\n{launch}"),
        "depends on the values",
    );
    blocked(
        &format!("def f(x: torch.Tensor) -> torch.Tensor:\n    y = torch.empty_like(x[x > 0])\n{launch}"),
        "depends on the values of `x > 0`",
    );
}

#[test]
fn one_device_styles_take_no_branch_for_another() {
    let cpu = "def f(x: torch.Tensor) -> None:\n    if not x.is_cuda:\n        x.zero_()\n        return\n    _copy_kernel[(1,)](x, x, 1, 1, B=16)\n";
    let text = format!("{KERNEL}\n\n{cpu}");
    let found = finding(&[("ops/f.py", &text)], "style = \"vllm\"\ninference-only = [\"ops\"]\n", "f");
    assert!(found.notes[0].contains("`x.is_cuda`"), "{:?}", found.notes);
    let fix = found.fix.expect("the finding has a fix");
    assert!(fix.safety == Safety::Safe && fix.title.starts_with("outline"), "{fix:?}");
    assert_eq!(outcome(cpu, "").0, Safety::Safe);
    let absent = "def f(x: torch.Tensor | None = None) -> None:\n    _copy_kernel[(1,)](x, x, 1, 1, B=16)\n";
    let (_, reasons) = outcome(absent, "style = \"vllm\"\ninference-only = [\"ops\"]\n");
    assert!(reasons.iter().any(|r| r.contains("no tensor argument")), "{reasons:?}");
}

#[test]
fn a_circle_of_imports_blocks_a_fix() {
    let text = format!("{KERNEL}\n\ndef f(x: torch.Tensor) -> None:\n    _copy_kernel[(1,)](x, x, 1, 1, B=16)\n");
    let helper = "import vllm.ops\n\n\ndef direct_register_custom_op(op_name, op_func, mutates_args=None, fake_impl=None):\n    pass\n";
    let files = [
        ("vllm/__init__.py", ""),
        ("vllm/ops.py", text.as_str()),
        ("vllm/utils/__init__.py", ""),
        ("vllm/utils/torch_utils.py", helper),
    ];
    let fix = finding(&files, "", "f").fix.expect("the finding has a fix");
    assert_eq!(fix.safety, Safety::Shown);
    assert!(fix.reasons.iter().any(|r| r.contains("circle of imports")), "{:?}", fix.reasons);
}

#[test]
fn vendored_code_is_shown_and_not_changed() {
    let text = format!("{KERNEL}\n\ndef f(x: torch.Tensor) -> None:\n    _copy_kernel[(1,)](x, x, 1, 1, B=16)\n");
    let files = [("ops/third_party/f.py", text.as_str())];
    let fix = finding(&files, "", "f").fix.expect("the finding has a fix");
    assert!(fix.safety == Safety::Shown && !fix.edits.is_empty());
    assert!(diffs(&files, "").is_empty());
}

#[test]
fn imports_go_where_the_file_keeps_its_own() {
    let launcher = "\n\ndef f(x: torch.Tensor) -> None:\n    _copy_kernel[(1,)](x, x, 1, 1, B=16)\n";
    let helper = "def direct_register_custom_op(op_name, op_func, mutates_args=None, fake_impl=None):\n    pass\n";
    let with = |import: &str| {
        let text = format!(
            "{}{launcher}",
            KERNEL.replace(
                "import triton.language as tl\n",
                &format!("import triton.language as tl\n\n{import}")
            )
        );
        let files = [
            ("vllm/__init__.py", ""),
            ("vllm/ops.py", text.as_str()),
            ("vllm/utils/__init__.py", ""),
            ("vllm/utils/torch_utils.py", helper),
        ];
        diffs(&files, "")
    };
    let sorted = with("from vllm.platforms import a\nfrom vllm.v1 import b\n");
    assert!(
        sorted.contains(
            " from vllm.platforms import a\n+from vllm.utils.torch_utils import direct_register_custom_op\n from vllm.v1 import b\n"
        ),
        "{sorted}"
    );
    let merged = with("from vllm.utils.torch_utils import aux_stream, weak_ref\n");
    assert!(
        merged.contains("+from vllm.utils.torch_utils import aux_stream, direct_register_custom_op, weak_ref\n"),
        "{merged}"
    );
    let lines = with("from vllm.utils.torch_utils import (\n    aux_stream,\n    weak_ref,\n)\n");
    assert!(
        lines.contains("     aux_stream,\n+    direct_register_custom_op,\n     weak_ref,\n"),
        "{lines}"
    );
}

#[test]
fn a_public_function_keeps_its_defaults() {
    let function = "SIZES = [1, 2]\n\n\ndef f(x: torch.Tensor, n: int = 4, sizes: list[int] = SIZES) -> None:\n    _copy_kernel[(sizes[0],)](x, x, n, 1, B=16)\n";
    let settings = "style = \"sglang\"\ninference-only = [\"ops\"]\n";
    let diff = diffs(&[("ops/f.py", &format!("{KERNEL}\n\n{function}"))], settings);
    assert!(
        diff.contains("+def f(x: torch.Tensor, n: int = 4, sizes: list[int] = SIZES) -> None:"),
        "{diff}"
    );
    assert!(
        diff.contains("+def _f_impl(x: torch.Tensor, n: int, sizes: list[int]) -> None:"),
        "{diff}"
    );
}

#[test]
fn nothing_is_imported_above_future_imports() {
    let method = "class Copier:\n    def run(self, x: torch.Tensor, y=None) -> None:\n        _copy_kernel[(1,)](x if y is None else y, x, 1, 1, B=16)\n";
    let text = format!("from __future__ import annotations\n\n{KERNEL}\n\n{method}");
    let project = read(&[("ops/f.py", &text)], "");
    let fixed = project.fix(project.files(), true);
    let after = &fixed.texts.values().next().expect("the method is fixed").text;
    assert!(after.contains("Optional[torch.Tensor]"), "{after}");
    assert!(after.starts_with("from __future__ import annotations\n"), "{after}");
}
