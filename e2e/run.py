#!/usr/bin/env python3
"""Fixes real launchers in every style and compares them, under real torch, with what they were.

usage: run.py OPWRIGHT [--styles custom-op,library,vllm,sglang] [--keep DIR]

Copies ``fixtures/e2e``, lets OPWRIGHT fix one copy per style, and imports each copy in a process of its own
with Triton's interpreter, so no GPU is needed. Per launcher, called by its old public name:

  op        the call reaches exactly one registered op of the project's or the framework's namespace
  opcheck   ``torch.library.opcheck`` passes for that op with the arguments that reached it
  event     a profiled call leaves a cpu_op with that op's name and non-empty Input Dims
  compile   compiled without graph breaks (aot_eager), results and arguments are the same
  result    results and arguments afterwards equal those of the unfixed launcher on the same inputs
  public    name, signature and docstring are those of the unfixed launcher; a launcher that is decorated
            in place (sglang) may have annotations that it did not have
  autograd  (library) with grad enabled, requires_grad, gradients and version counters are the same too

Needs a Python with torch and triton: run it with that one. Exit status: 0 all pass, 1 a check fails, 2 bad usage.
"""

import argparse
import importlib
import inspect
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import traceback

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE.parent / "fixtures" / "e2e"
STYLES = ["custom-op", "library", "vllm", "sglang"]
# Only `library` leaves autograd alone; the other styles are safe where the project says that nothing needs a gradient.
INFERENCE_ONLY = 'inference-only = ["kernelbox"]\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("opwright", type=pathlib.Path)
    parser.add_argument("--styles", default=",".join(STYLES))
    parser.add_argument("--keep", type=pathlib.Path, help="leave the copies here, to be read")
    options = parser.parse_args()
    styles = options.styles.split(",")
    if unknown := set(styles) - set(STYLES):
        parser.error(f"unknown style {', '.join(sorted(unknown))}; there are {', '.join(STYLES)}")
    if not options.opwright.is_file():
        parser.error(f"no program {options.opwright}")
    with tempfile.TemporaryDirectory() as scratch:
        work = options.keep or pathlib.Path(scratch)
        plain = observe(copy_fixtures(work / "plain"), registered=False)
        failures = sum(check_style(options.opwright.resolve(), work / style, style, plain) for style in styles)
    print(f"{failures} failed" if failures else "all passed")
    return 1 if failures else 0


def copy_fixtures(to):
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(FIXTURES, to, ignore=shutil.ignore_patterns("__pycache__"))
    return to


def check_style(opwright, root, style, plain):
    """Fixes a copy in one style and compares; returns the number of failed checks."""
    copy_fixtures(root)
    if style != "library":
        (root / "opwright.toml").write_text(INFERENCE_ONLY)
    command = [str(opwright), "check", "--fix", "--style", style, "--no-cache", "--exit-zero", "--root", ".", "."]
    fixed = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if fixed.returncode:
        print(f"FAIL  {style}: opwright ended with {fixed.returncode}\n{fixed.stdout}{fixed.stderr}")
        return 1
    seen = observe(root, registered=True)
    failures = 0
    for name, was in plain.items():
        for check, problem in compare(was, seen[name], style):
            failures += problem is not None
            print(f"{'FAIL' if problem else 'ok  '}  {style:9}  {name:32}  {check:8}  {problem or ''}".rstrip())
    return failures


def compare(was, now, style):
    """Yields (check, problem or None)."""
    if "error" in now or "error" in was:
        yield "import", now.get("error") or was["error"]
        return
    yield "op", None if len(now["ops"]) == 1 else f"calls reach {now['ops'] or 'no op'}"
    yield "opcheck", now["opcheck"]
    yield "event", now["event"]
    yield "compile", now["compile"]
    for check in ["public", "result", "autograd"] if style == "library" else ["public", "result"]:
        before, after = was[check], now[check]
        if check == "public" and style == "sglang":
            after = [after[0], without_new_annotations(before[1], after[1]), after[2]]
        yield check, None if before == after else f"was {before!s:.300}, is {after!s:.300}"


def without_new_annotations(was, now):
    """Parameters and the result as (text, annotation): annotations are left out where there was none."""
    if len(was) != len(now):
        return now
    return [[new[0], new[1] if old[1] else old[1]] for old, new in zip(was, now)]


def observe(root, registered):
    """What the launchers below `root` do, seen by a process of its own."""
    environment = dict(os.environ, TRITON_INTERPRET="1", KINETO_LOG_LEVEL="5", PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=f"{root}:{HERE / 'standins'}")
    command = [sys.executable, __file__, "--observe", "ops" if registered else "plain"]
    child = subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True)
    if child.returncode:
        sys.exit(f"run.py: the observer of {root} ended with {child.returncode}")
    return json.loads(child.stdout.splitlines()[-1])


def observe_all(registered):
    from samples import SAMPLES

    print(json.dumps({name: observe_one(name, builders, registered) for name, builders in SAMPLES.items()}))


def observe_one(name, builders, registered):
    from samples import EAGER_ONLY

    module, _, function = name.rpartition(".")
    try:
        launcher = getattr(importlib.import_module(module), function)
        seen = {"public": [launcher.__name__, signature_of(launcher), inspect.getdoc(launcher)], "result": [], "autograd": []}
        seen["ops"], seen["opcheck"], seen["event"], seen["compile"] = [], None, None, None
        for builder in builders:
            seen["result"].append(result_of(launcher, builder))
            seen["autograd"].append(autograd_of(launcher, builder))
            if registered:
                observe_op(launcher, builder, seen)
                if name not in EAGER_ONLY:
                    seen["compile"] = seen["compile"] or compile_problem(launcher, builder)
        return seen
    except Exception:  # reported as the failure of this launcher's checks
        return {"error": traceback.format_exc(limit=-2)}


def signature_of(launcher):
    """Each parameter, and the result, as text and annotation."""
    signature = inspect.signature(launcher)
    written = lambda annotation: "" if annotation is inspect.Signature.empty else str(annotation)
    parameters = signature.parameters.values()
    return [[f"{p.kind.name} {p.name} {p.default!r}", written(p.annotation)] for p in parameters] + [["->", written(signature.return_annotation)]]


def build(builder):
    import torch

    torch.manual_seed(7)
    return builder()


def tensors_of(tree):
    from torch.utils._pytree import tree_leaves

    import torch

    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def exact(tensor):
    """A tensor as text that differs when a single bit, the shape, the strides or the type differs."""
    return [str(tensor.dtype), list(tensor.shape), list(tensor.stride()), tensor.detach().flatten().tolist()]


def result_of(launcher, builder):
    import torch

    args, kwargs = build(builder)
    with torch.no_grad():
        result = launcher(*args, **kwargs)
    kind = type(result).__name__
    return [kind, [exact(t) for t in tensors_of(result)], [exact(t) for t in tensors_of((args, kwargs))]]


def autograd_of(launcher, builder):
    """requires_grad of the results, version counters after the call, gradients around it. Not defined for every style."""
    import torch

    args, kwargs = build(builder)
    inputs = tensors_of((args, kwargs))
    floats = [t for t in inputs if t.is_floating_point()]
    for t in floats:
        t.requires_grad_(True)
    try:
        results = tensors_of(launcher(*args, **kwargs))
        total = sum((t.float() * 2).sum() for t in results) + sum((t * t).sum() for t in floats)
        versions = [t._version for t in inputs]
        if torch.is_tensor(total) and total.requires_grad:
            total.backward()
    except Exception as error:  # the answer itself, compared like any other
        return f"{type(error).__name__}: {error}"
    return [[t.requires_grad for t in results], versions, [None if t.grad is None else exact(t.grad) for t in floats]]


def observe_op(launcher, builder, seen):
    """Adds the op that a call reaches, and the first problem of opcheck and of the profiler event."""
    import torch

    args, kwargs = build(builder)
    reached = ops_reached(launcher, args, kwargs)
    for op, _, _ in reached:
        if op._schema.name not in seen["ops"]:
            seen["ops"].append(op._schema.name)
    for op, op_args, op_kwargs in reached:
        results = torch.library.opcheck(op, op_args, op_kwargs, raise_exception=False)
        bad = {test: str(outcome).splitlines()[0] for test, outcome in results.items() if outcome != "SUCCESS"}
        if bad and not seen["opcheck"]:
            seen["opcheck"] = str(bad)
        if not seen["event"]:
            seen["event"] = event_problem(launcher, builder, op._schema.name)
    if not reached:
        seen["opcheck"] = seen["event"] = "no op"


def ops_reached(launcher, args, kwargs):
    """(op, args, kwargs) of each call into an op that is not torch's own; the arguments as they came in."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_map

    reached = []

    class Record(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func.namespace not in ("aten", "prim", "prims", "profiler"):
                reached.append((func, *tree_map(keep, (args, kwargs or {}))))
            return func(*args, **(kwargs or {}))

    def keep(leaf):
        if not isinstance(leaf, torch.Tensor):
            return leaf
        storage = leaf.untyped_storage().clone()  # with its gaps: strides stay true
        return torch.empty(0, dtype=leaf.dtype).set_(storage, leaf.storage_offset(), leaf.shape, leaf.stride())

    with torch.no_grad(), Record():
        launcher(*args, **kwargs)
    return reached


def compile_problem(launcher, builder):
    import torch

    torch.compiler.reset()
    try:
        compiled = result_of(torch.compile(launcher, fullgraph=True, backend="aot_eager", dynamic=False), builder)
    except Exception as error:  # the problem itself
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return None if compiled == result_of(launcher, builder) else "compiled, it gives something else"


def event_problem(launcher, builder, op):
    import torch
    from torch.profiler import ProfilerActivity, profile

    args, kwargs = build(builder)
    with torch.no_grad(), profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        launcher(*args, **kwargs)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "trace.json")
        profiler.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    own = [e for e in events if e.get("cat") == "cpu_op" and e["name"] == op]
    if not own:
        return f"no cpu_op named {op}"
    dims = own[0].get("args", {}).get("Input Dims")
    return None if dims and any(dims) else f"{op} has Input Dims {dims}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--observe"]:
        observe_all(registered=sys.argv[2] == "ops")
    else:
        sys.exit(main())
