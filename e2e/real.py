#!/usr/bin/env python3
"""Runs launchers of real projects before and after --fix, on the same inputs, and compares what they do.

usage: real.py OPWRIGHT CORPUS [--only TEXT] [--unsafe] [--keep DIR] [--packages DIR]

CORPUS holds the projects as folders (scripts/fetch_corpus.py makes it). Each is copied and fixed; launchers
named in real_rows.py are then called in a process per tree, with Triton's interpreter, so no GPU is needed.
What a project imports and is not there is stood in for (absent.py), and what needs that to work is not run: some
launchers want packaging and einops, from where torch is or from a folder (pip install --target DIR; --packages DIR).
Per launcher and layout of its tensors (packed, rows of a wider tensor, transposed):

  result    results, or the error, and every argument afterwards are the same, bit for bit, types and strides too
  grad      the same with grad enabled: requires_grad, gradients, version counters. Inputs require grad where the
            project is not declared inference-only
  op        calls reach at least one op that the project did not have
  event     a profiled call leaves a cpu_op under that op's name with non-empty Input Dims
  opcheck   torch.library.opcheck passes for the arguments that reached the op

Launchers that cannot be run are listed with the reason. Exit status: 0 all the same, 1 a difference, 2 bad usage.
"""

import argparse
import ast
import hashlib
import importlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import run
from real_rows import INFERENCE_ONLY, LAYOUTS, ROWS

HERE = pathlib.Path(__file__).resolve().parent
MARK = "observed: "
# A kernel that takes its rows for packed leaves part of a transposed result unwritten, which opcheck takes for a difference.
OPCHECKED = ["packed", "sliced"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("opwright", type=pathlib.Path)
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("--only", default="", help="only launchers whose project or name has this text")
    parser.add_argument("--unsafe", action="store_true", help="fix with --unsafe; grad is not compared then")
    parser.add_argument("--keep", type=pathlib.Path, help="leave the fixed copies here; those already there are not made anew")
    parser.add_argument("--packages", type=pathlib.Path, help="a folder with more packages to import")
    options = parser.parse_args()
    if not options.opwright.is_file() or not options.corpus.is_dir():
        parser.error("no such program or folder")
    with tempfile.TemporaryDirectory() as scratch:
        totals = {project: check_project(project, rows, options, options.keep or pathlib.Path(scratch)) for project, rows in ROWS.items()}
    totals["all"] = tuple(map(sum, zip(*totals.values())))
    for project, (failed, same, changed_shape, not_run) in totals.items():
        split = f"({changed_shape} of them split or outlined)"
        print(f"{project}: {same} launchers the same {split}, {failed} checks of others failed, {not_run} launchers not run")
    return 1 if failed else 0


def check_project(project, rows, options, work):
    rows = [row for row in rows if options.only in f"{project} {row[0]}"]
    if not rows:
        return 0, 0, 0, 0
    original = (options.corpus / project).resolve()
    if not original.is_dir():
        print(f"skip  {project}: not in the corpus")
        return 0, 0, 0, 0
    fixed = (work / project).resolve()
    if not fixed.exists():
        shutil.copytree(original, fixed, symlinks=True)
        command = [str(options.opwright.resolve()), "check", "--fix", "--no-cache", "--exit-zero", "--root", ".", "."]
        subprocess.run(command + ["--unsafe"] * options.unsafe, cwd=fixed, check=True, stdout=subprocess.DEVNULL)
    before = observe(original, project, rows, options, "plain")
    after = observe(fixed, project, rows, options, "ops")
    failed = same = changed_shape = not_run = 0
    for name, arguments in rows:
        was, now = before[key_of(name, arguments)], after[key_of(name, arguments)]
        problems = list(compare(was, now, options))
        file = was.get("file") or ""
        why = cannot(was) or (not now.get("ops") and same_file(file, original, fixed) and "nothing in its file is fixed")
        if why:
            print(f"not run   {project:12}  {name}: {why}", flush=True)
            not_run += 1
            continue
        if problems:
            print(f"FAIL      {project:12}  {name}  {', '.join(check for check, _ in problems)}: {problems[0][1]}", flush=True)
        failed += len(problems)
        if not problems:
            shape = shape_of_fix(name.partition(":")[2], original / file, fixed / file)
            same += 1
            changed_shape += shape in ("split", "outlined")
            print(f"same      {project:12}  {name}  {shape}: {', '.join(now['ops'])}  {layouts_run(was)}", flush=True)
    return failed, same, changed_shape, not_run


def same_file(file, original, fixed):
    return (original / file).read_bytes() == (fixed / file).read_bytes()


def cannot(seen):
    """Why a launcher was not run: it cannot be imported, or fails in every layout before any fix."""
    if "error" in seen:
        return seen["error"]
    errors = [result["error"] for result in seen["result"].values() if "error" in result]
    return errors[0] if len(errors) == len(seen["result"]) else None


def layouts_run(seen):
    return "/".join(layout for layout, result in seen["result"].items() if "error" not in result)


def compare(was, now, options):
    """Yields (check, problem)."""
    if "error" in was:
        return
    if "error" in now:
        yield "import", now["error"]
        return
    for check in ["result"] if options.unsafe else ["result", "grad"]:
        for layout, before in was[check].items():
            if before != now[check][layout]:
                yield f"{check} ({layout})", f"\n    was {before!s:.600}\n    is  {now[check][layout]!s:.600}"
    if not cannot(was) and not now["ops"]:
        yield "op", f"no new op is reached {now['event'] or ''}"
    for check in ["event", "opcheck"]:
        if now[check] and now["ops"]:
            yield check, now[check]


def observe(root, project, rows, options, what):
    environment = dict(os.environ, TRITON_INTERPRET="1", KINETO_LOG_LEVEL="5", PYTHONDONTWRITEBYTECODE="1", CUDA_VISIBLE_DEVICES="")
    command = [sys.executable, __file__, "--observe", what, str(root), project, options.only, str(options.packages or "")]
    child = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = [line for line in child.stdout.splitlines() if line.startswith(MARK)]
    seen = {}
    for line in lines:
        seen.update(json.loads(line[len(MARK) :]))
    for name, arguments in rows:
        seen.setdefault(key_of(name, arguments), {"error": f"the process ended with {child.returncode}: {child.stderr.strip().splitlines()[-1:]}"})
    return seen


def observe_all(what, root, project, only, packages):
    # what torch itself looks for is looked for before anything is stood in for
    for module in "torch torch._dynamo torch._inductor torch._functorch.aot_autograd torch.testing._internal.optests torch.profiler triton triton.testing".split():
        importlib.import_module(module)
    import absent
    import interpreter
    import torch
    import warnings

    warnings.simplefilter("ignore")
    sys.path.append(packages) if packages else None
    interpreter.prepare()
    absent.install(root)
    torch.set_num_threads(1)  # a fork keeps no other thread
    warm_up() if what == "ops" else None
    absent.ASKED_FOR.update(name.partition(":")[0] for name, _ in ROWS[project])
    for name, arguments in ROWS[project]:
        if only in f"{project} {name}":
            seen = observe_one(name, arguments, project, what == "ops")
            # a name may stand for a module that lies elsewhere
            seen["file"] = os.path.relpath(getattr(sys.modules.get(name.partition(":")[0]), "__file__", root), root)
            print(f"{MARK}{json.dumps({key_of(name, arguments): seen})}", flush=True)


def warm_up():
    """What opcheck imports at its first use is imported once, not in every child."""
    import torch

    with torch.library._scoped_library("warm_up", "FRAGMENT") as library:
        library.define("op(Tensor x) -> Tensor")
        library.impl("op", torch.clone, "CompositeExplicitAutograd")
        library._register_fake("op", torch.empty_like)
        torch.library.opcheck(torch.ops.warm_up.op.default, (torch.ones(2),), raise_exception=False)


def key_of(name, arguments):
    return f"{name}({arguments})"


def observe_one(name, arguments, project, registered):
    module, _, path = name.partition(":")
    try:
        launcher = importlib.import_module(module)
        for part in path.split("."):
            launcher = getattr(launcher, part)
    except Exception as error:  # the reason that is listed
        return {"error": f"{type(error).__name__}: {str(error):.200}"}
    # a private function has all its callers in view: its fix is safe if they run without grad
    needs_grad = project not in INFERENCE_ONLY and not path.startswith("_")
    seen = {"ops": [], "event": None, "opcheck": None, "result": {}, "grad": {}}
    for layout in LAYOUTS:
        seen["result"][layout] = in_child(lambda: behaviour(launcher, arguments, layout, grad=False, needs_grad=False))
        seen["grad"][layout] = in_child(lambda: behaviour(launcher, arguments, layout, grad=True, needs_grad=needs_grad))
        if registered and "error" not in seen["result"][layout] and layout in OPCHECKED:
            ops = in_child(lambda: observe_ops(launcher, arguments, layout, needs_grad))
            seen["ops"] += [op for op in ops.get("ops", []) if op not in seen["ops"]]
            for check in ["event", "opcheck"]:
                seen[check] = seen[check] or ops.get(check, ops.get("error"))
    return seen


def in_child(question, seconds=400):
    """The answer of a process of its own: a launcher that reads where nothing is takes only that down."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(readable)
        signal.alarm(seconds)
        with os.fdopen(writable, "w") as pipe:
            pipe.write(json.dumps(question()))
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as pipe:
        answer = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(answer) if status == 0 else {"error": f"ended with {status}: " + (signal.Signals(-status).name if status < 0 else "")}


def build(arguments, layout):
    import real_rows
    import torch

    torch.manual_seed(7)
    return eval(f"pack({arguments})", {**real_rows.builders(layout), "pack": lambda *args, **kwargs: (args, kwargs), "torch": torch})


def behaviour(launcher, arguments, layout, grad, needs_grad):
    """What a call gives and leaves behind, as text that differs when a bit, a shape, a stride or a type does."""
    import torch

    try:
        args, kwargs = build(arguments, layout)
    except Exception as error:
        return {"error": f"these arguments cannot be made: {type(error).__name__}: {error}"}
    inputs = run.tensors_of((args, kwargs))
    floats = [t for t in inputs if t.is_floating_point() and t.dtype.itemsize > 1]
    for t in floats:
        t.requires_grad_(needs_grad)
    torch.use_deterministic_algorithms(True, warn_only=True)  # fills new memory, so that what is not written is the same too
    try:
        with torch.set_grad_enabled(grad):
            result = launcher(*args, **kwargs)
        results = run.tensors_of(result)
        seen = {"kind": outline_of(result), "results": [exact(t) for t in results], "arguments": [exact(t) for t in inputs]}
        seen["versions"] = [t._version for t in inputs]
        seen["requires_grad"] = [t.requires_grad for t in results]
        if grad and needs_grad:
            seen["gradients"] = gradients(results, floats)
        return seen
    except Exception as error:  # the answer itself, compared like any other
        return {"error": f"{type(error).__name__}: {str(error):.300}"}
    finally:
        torch.use_deterministic_algorithms(False)


def gradients(results, floats):
    import torch

    total = sum((t.float() * 2).sum() for t in results if t.is_floating_point()) + sum((t * t).sum() for t in floats)
    if torch.is_tensor(total) and total.requires_grad:
        total.backward()
    return [None if t.grad is None else exact(t.grad) for t in floats]


def outline_of(value):
    import torch

    if isinstance(value, torch.Tensor):
        return "tensor"
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *map(outline_of, value)]
    return f"{type(value).__name__} " + re.sub(r" at 0x[0-9a-f]+", "", str(value))[:80]


def exact(tensor):
    import torch

    plain = tensor.detach().contiguous().flatten()
    digest = hashlib.sha1(plain.view(torch.uint8).numpy().tobytes()).hexdigest()[:12]
    return f"{tensor.dtype} {list(tensor.shape)} {list(tensor.stride())} {digest} {plain[:3].tolist()}"


def observe_ops(launcher, arguments, layout, needs_grad):
    """The ops of the project that a call (and its backward) reaches, and the first problem with their events and with opcheck."""
    import torch

    seen = {"ops": [], "event": None, "opcheck": None}
    try:
        reached, events = reached_ops(launcher, arguments, layout, needs_grad)
    except Exception as error:
        return seen | {"event": f"under the profiler: {type(error).__name__}: {str(error):.200}"}
    for op, args, kwargs in reached:
        name = op._schema.name
        if name not in seen["ops"]:
            seen["ops"].append(name)
        dims = [e["args"].get("Input Dims") for e in events if e["name"] == name]
        if not any(d and any(d) for d in dims):
            seen["event"] = f"{name}: Input Dims {dims}"
        if seen["opcheck"] is None:
            outcomes = torch.library.opcheck(op, args, kwargs, test_utils=opchecks_of(op), raise_exception=False)
            bad = {test: str(outcome).splitlines()[:6] for test, outcome in outcomes.items() if outcome != "SUCCESS"}
            seen["opcheck"] = f"{name}: {bad}" if bad else None
    return seen


def opchecks_of(op):
    """All of opcheck, but for test_schema of an op with a device: torch cannot look into one ("Cannot inspect value of type Device")."""
    with_device = any(str(argument.type) in ("Device", "Optional[Device]", "Device?") for argument in op._schema.arguments)
    tests = ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]
    return tests[with_device:]


def reached_ops(launcher, arguments, layout, needs_grad):
    """([(op, args, kwargs)], cpu_op events) of a profiled call: some helpers use the dispatcher only then."""
    import torch
    from torch.profiler import ProfilerActivity, profile
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_map

    reached = []

    class Record(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func.namespace not in ("aten", "prim", "prims", "profiler") and not any(func is op for op, _, _ in reached):
                reached.append((func, *tree_map(keep, (args, kwargs or {}))))
            return func(*args, **(kwargs or {}))

    def keep(leaf):
        if not isinstance(leaf, torch.Tensor):
            return leaf
        storage = leaf.untyped_storage().clone()  # with its gaps: strides stay true
        return torch.empty(0, dtype=leaf.dtype).set_(storage, leaf.storage_offset(), leaf.shape, leaf.stride())

    def call(*modes):
        args, kwargs = build(arguments, layout)
        floats = [t for t in run.tensors_of((args, kwargs)) if t.is_floating_point() and t.dtype.itemsize > 1]
        function = needs_grad and getattr(launcher, "__name__", "") == "apply"
        for t in floats:
            t.requires_grad_(function)
        with torch.set_grad_enabled(function):
            results = run.tensors_of(launcher(*args, **kwargs))
            if function:
                gradients(results, floats)

    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        call()
    with profile(activities=[ProfilerActivity.CPU]), Record():
        call()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "trace.json")
        profiler.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    return reached, [e for e in events if e.get("cat") == "cpu_op" and e.get("args")]


def shape_of_fix(path, original, fixed):
    """What a fix did to a launcher: `outlined` (a method calls a new op), `split` (a function does, and more than that),
    `whole` (the function is the op's body, or does nothing but call it), `callees` (only what it calls was changed)."""
    before, after = (ast.parse(file.read_text()) for file in (original, fixed))
    new = {node.name for node in after.body if isinstance(node, ast.FunctionDef)} - {getattr(node, "name", "") for node in before.body}
    top = path.partition(".")[0]
    was, now = ([node for node in tree.body if getattr(node, "name", "") == top] for tree in (before, after))
    calls = [node for top in now for node in ast.walk(top) if isinstance(node, ast.Call) and ast.unparse(node.func) in new | ops_of(node)]
    if not calls:
        return "callees" if list(map(ast.dump, was)) == list(map(ast.dump, now)) else "whole"
    if "." in path:
        return "outlined"
    body = now[-1].body[bool(ast.get_docstring(now[-1])) :]
    return "whole" if len(body) == 1 and isinstance(body[0], (ast.Return, ast.Expr)) and body[0].value in calls else "split"


def ops_of(call):
    text = ast.unparse(call.func)
    return {text} if text.startswith("torch.ops.") else set()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--observe"]:
        observe_all(*sys.argv[2:])
    else:
        sys.exit(main())
