//! What host functions mutate and return (DESIGN §3): the reason stands beside each expectation.

#![allow(clippy::unwrap_used)] // a panic is a failed test

#[path = "support/project.rs"]
mod project;

use opwright::pipeline;
use project::TestProject;

const KERNEL: &str = r#"import functools
import torch
import triton
import triton.language as tl


@triton.jit
def _copy(src, dst, extra, n, HAS: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(dst + i, tl.load(src + i, mask=i < n), mask=i < n)
    if HAS:
        tl.store(extra + i, 0.0, mask=i < n)


"#;

/// `mutates | state | unresolved | aliases` of function `f`.
fn answer(function: &str) -> String {
    answer_in(&[("m.py", &format!("{KERNEL}{function}"))])
}

fn answer_in(files: &[(&str, &str)]) -> String {
    let project = TestProject::of(files.iter().copied(), None);
    let checked = pipeline::check(&project.input(project.files()));
    let program = &checked.program;
    let func = program.functions.iter().find(|f| program.function_name(f.function) == "f").unwrap();
    let name = |p: u16| program.param_name(func.function, p).to_owned();
    let list = |names: Vec<String>| names.join(",");
    format!(
        "{} | {} | {} | {}",
        list(func.mutates.iter().map(|w| name(w.param)).collect()),
        list(func.mutates_state.clone()),
        list(func.unresolved.iter().map(|(p, _)| name(*p)).collect()),
        list(func.returns_alias_of.iter().map(|p| name(*p)).collect()),
    )
}

#[test]
fn writes_pass_through_views_and_not_through_copies() {
    // A view shares storage, a clone does not.
    let code = "def f(x: torch.Tensor, y: torch.Tensor):\n    a = x.view(-1)[1:]\n    b = y.clone()\n    _copy[(1,)](a, a, None, 4, HAS=False, B=4)\n    b.add_(1)\n";
    assert_eq!(answer(code), "x |  |  | ");
}

#[test]
fn a_store_that_a_constexpr_switches_off_writes_nothing() {
    // `HAS=False` compiles the store to `extra` out; under `flag` it is there.
    let off = "def f(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor):\n    _copy[(1,)](x, y, z, 4, HAS=False, B=4)\n";
    assert_eq!(answer(off), "y |  |  | ");
    let flag = "def f(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, flag: bool):\n    _copy[(1,)](x, y, z, 4, HAS=flag, B=4)\n";
    assert_eq!(answer(flag), "y,z |  |  | ");
}

#[test]
fn an_input_that_stands_in_for_an_absent_tensor_is_not_written() {
    // Where `x` stands in, the same condition switches the store off.
    let code = "def f(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor | None = None):\n    has = z is not None\n    extra = z if has else x\n    _copy[(1,)](x, y, extra, 4, HAS=has, B=4)\n";
    assert_eq!(answer(code), "y,z |  |  | ");
    // Another condition proves nothing.
    let other = code.replace("HAS=has", "HAS=True");
    assert_eq!(answer(&other), "x,y,z |  |  | ");
}

#[test]
fn out_given_or_allocated_is_mutated_and_returned() {
    let code = "def f(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:\n    if out is None:\n        out = torch.empty_like(x)\n    _copy[(1,)](x, out, None, 4, HAS=False, B=4)\n    return out\n";
    assert_eq!(answer(code), "out |  |  | out");
}

#[test]
fn containers_hand_on_what_is_put_into_them() {
    // `y` is reached through a list, a dict of kernel arguments and a tuple.
    let code = "def f(x: torch.Tensor, y: torch.Tensor):\n    outs = []\n    outs.append(y)\n    args = dict(src=x, dst=outs[0], extra=None, n=4)\n    _copy[(1,)](**args, HAS=False, B=4)\n";
    assert_eq!(answer(code), "y |  |  | ");
    let tuple = "def f(x: torch.Tensor, y: torch.Tensor):\n    args = (x, y, None)\n    _copy[(1,)](*args, 4, HAS=False, B=4)\n";
    assert_eq!(answer(tuple), "y |  |  | ");
}

#[test]
fn callees_closures_partials_and_recursion_are_followed() {
    let callee = "def g(a, b):\n    _copy[(1,)](a, b, None, 4, HAS=False, B=4)\n    return b\n\n\ndef f(x: torch.Tensor, y: torch.Tensor):\n    return g(x, b=y)\n";
    assert_eq!(answer_callee(callee), "y |  |  | y");
    let closure = "def f(x: torch.Tensor, y: torch.Tensor):\n    def go():\n        y.zero_()\n\n    go()\n    _copy[(1,)](x, torch.empty_like(x), None, 4, HAS=False, B=4)\n";
    assert_eq!(answer(closure), "y |  |  | ");
    let partial = "def g(a, b):\n    b.add_(a)\n\n\ndef f(x: torch.Tensor, y: torch.Tensor):\n    functools.partial(g, x)(y)\n    _copy[(1,)](x, torch.empty_like(x), None, 4, HAS=False, B=4)\n";
    assert_eq!(answer(partial), "y |  |  | ");
    let recursion = "def f(x: torch.Tensor, y: torch.Tensor, n: int):\n    if n > 0:\n        f(y, x, n - 1)\n    _copy[(1,)](x, y, None, 4, HAS=False, B=4)\n";
    assert_eq!(answer(recursion), "x,y |  |  | ");
}

/// As [`answer`], for a function that launches only through a callee: it is made an op to be listed.
fn answer_callee(code: &str) -> String {
    let register = "\n\ntorch.library.custom_op(\"t::f\", f, mutates_args=())\n";
    answer(&format!("{code}{register}"))
}

#[test]
fn what_cannot_be_seen_is_unresolved_and_never_silent() {
    // The callee's source is not there.
    let outside = "import elsewhere\n\n\ndef f(x: torch.Tensor, y: torch.Tensor):\n    elsewhere.run(y)\n    _copy[(1,)](x, torch.empty_like(x), None, 4, HAS=False, B=4)\n";
    assert_eq!(answer(outside), " |  | y | ");
    // Which kernel runs is the caller's choice.
    let chosen = "def f(kernel, x: torch.Tensor, y: torch.Tensor):\n    kernel[(1,)](x, y)\n";
    assert_eq!(answer(chosen), " |  | x,y | ");
    // A kernel that is made elsewhere.
    let made = "from elsewhere import make\n\n_KERNEL = make()\n\n\ndef f(x: torch.Tensor, y: torch.Tensor):\n    _KERNEL[(1,)](x, y)\n";
    assert_eq!(answer(made), " |  | x,y | ");
    // `Tensor.softmax` takes no tensors: this is a function of something native that is called so.
    let native = "from elsewhere import load\n\n_MODULE = load()\n\n\ndef f(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor):\n    _MODULE.softmax(x, y, z)\n    _copy[(1,)](x, torch.empty_like(x), None, 4, HAS=False, B=4)\n";
    assert_eq!(answer(native), " |  | x,y,z | ");
    // What `elsewhere` hands back may be what it was given in a dict: that is no known write of `y`.
    let handed = "import elsewhere\n\n\ndef f(x: torch.Tensor, y: torch.Tensor = None):\n    more = {} if y is None else {\"y\": y}\n    z = elsewhere.run(x, **more)\n    _copy[(1,)](x, z, None, 4, HAS=False, B=4)\n";
    assert_eq!(answer(handed), " |  | x,y | ");
}

#[test]
fn torch_says_what_its_functions_write() {
    let code = "def f(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, w: torch.Tensor):\n    torch.add(x, x, out=y)\n    z[0] = 1\n    w += x\n    _copy[(1,)](x, torch.empty_like(x), None, 4, HAS=False, B=4)\n";
    assert_eq!(answer(code), "y,z,w |  |  | ");
}

#[test]
fn state_is_told_from_arguments() {
    let code = "class C:\n    def f(self, x: torch.Tensor):\n        _copy[(1,)](x, self.buf, None, 4, HAS=False, B=4)\n";
    assert_eq!(answer(code), " | self.buf |  | ");
}

#[test]
fn names_are_followed_through_packages() {
    // Re-exported through `__init__`, renamed, relative, behind `try`.
    let kernels = format!("{KERNEL}launch_copy = _copy\n");
    let files = [
        ("p/__init__.py", "from .k import launch_copy\n"),
        ("p/k.py", kernels.as_str()),
        (
            "p/m.py",
            "import torch\n\ntry:\n    from . import launch_copy as go\nexcept ImportError:\n    go = None\n\n\ndef f(x: torch.Tensor, y: torch.Tensor):\n    go[(1,)](x, y, None, 4, HAS=False, B=4)\n",
        ),
    ];
    assert_eq!(answer_in(&files), "y |  |  | ");
}

#[test]
fn what_a_callee_puts_into_an_object_is_found_in_the_object() {
    let classes = r#"class State:
    def __init__(self, rows, cols):
        self.rows = rows
        self.cols = cols

    @property
    def head(self):
        return self.rows[:4]


def bind(rows, cols):
    return State(rows=rows, cols=cols)


"#;
    let body = |dst: &str| {
        format!(
            "{classes}def f(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor):\n    state = bind(y, z)\n    _copy[(1,)](x, {dst}, None, 4, HAS=False, B=4)\n"
        )
    };
    // A field is what was put there, a property what its function gives; the other field is not touched.
    assert_eq!(answer(&body("state.cols")), "z |  |  | ");
    assert_eq!(answer(&body("state.head")), "y |  |  | ");
    // What else the object has may be either.
    assert_eq!(answer(&body("state.tail")), " |  | y,z | ");
}

#[test]
fn a_plain_namespace_holds_what_it_is_made_with() {
    let code = "import types\n\n\ndef f(x: torch.Tensor, y: torch.Tensor):\n    held = types.SimpleNamespace(dst=y)\n    _copy[(1,)](x, held.dst, None, 4, HAS=False, B=4)\n";
    assert_eq!(answer(code), " |  | y | ");
}

#[test]
fn a_field_that_is_called_is_no_method_of_the_class_that_python_derives_it_from() {
    // `typing.NamedTuple` has no `run`: what the field holds is not in view.
    let code = "import typing\n\n\nclass Launch(typing.NamedTuple):\n    run_it: object\n    grid: int\n\n\ndef f(x: torch.Tensor, y: torch.Tensor, launch: Launch):\n    _copy[(1,)](x, torch.empty_like(x), None, 4, HAS=False, B=4)\n    launch.run_it(x, y)\n";
    assert_eq!(answer(code), " |  | x,y | ");
}

#[test]
fn einsum_of_two_is_new_and_of_one_may_be_the_operand() {
    let code = |call: &str| {
        format!(
            "def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:\n    _copy[(1,)](x, torch.empty_like(x), None, 4, HAS=False, B=4)\n    return {call}\n"
        )
    };
    assert_eq!(answer(&code("torch.einsum(\"ik,kj->ij\", x, y)")), " |  |  | ");
    assert_eq!(answer(&code("torch.einsum(\"ij->ji\", x)")), " |  |  | x");
}

#[test]
fn branches_that_exclude_each_other_do_so_for_callers_too() {
    // `made` holds `saved` on the path on which it is not kept: no caller can know what `mode()` says.
    let code = "def pick(x, saved=None):\n    strict = mode()\n    if saved is not None and strict is None:\n        made = saved\n    else:\n        made = torch.empty_like(x)\n    keep = saved is None or strict is not None\n    return made if keep else torch.empty_like(x)\n\n\ndef f(x: torch.Tensor, y: torch.Tensor):\n    _copy[(1,)](x, pick(x, saved=y), None, 4, HAS=False, B=4)\n";
    assert_eq!(answer(code), " |  |  | ");
    assert_eq!(answer(&code.replace("strict is not None\n", "strict is None\n")), "y |  |  | ");
}

#[test]
fn an_update_of_two_tensors_is_none_of_a_dict() {
    // What comes back may be what was handed in.
    let code = "def f(x: torch.Tensor, y: torch.Tensor, cache):\n    x, y = cache.update(x, y, 3)\n    _copy[(1,)](x, y, None, 4, HAS=False, B=4)\n";
    assert_eq!(answer(code), " |  | x,y | ");
    let dict = "def f(x: torch.Tensor, y: torch.Tensor, cache):\n    cache.update({\"y\": y})\n    _copy[(1,)](x, torch.empty_like(x), None, 4, HAS=False, B=4)\n";
    assert_eq!(answer(dict), " |  |  | ");
}
