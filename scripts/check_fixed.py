#!/usr/bin/env python3
"""Fixes copies of whole projects and checks what a fix promises about a tree.

usage: check_fixed.py OPWRIGHT CORPUS [--projects a,b] [--unsafe] [--keep DIR]

CORPUS holds the projects as folders (scripts/fetch_corpus.py makes it). Per project:

  share     of the functions outside vendored folders that launch and are not registered: safe, unsafe, none
  compile   every touched file compiles
  untouched files that --diff does not name are byte for byte what they were
  again     a second run fixes nothing
  errors    `check` has no error that it had not before
  names     no qualified op name stands twice that did not before
  mutates   the inventory of the fixed tree shows each new op with `mutates` as declared, and no result that is an argument
  cycles    no circle of imports that was not there before (modules of the project, imports that run at import time)
  schemas   each new op's signature is taken by torch.library.infer_schema and Library.define (skipped without torch)

Exit status: 0 all hold, 1 one does not.
"""

import argparse
import ast
import collections
import enum
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROJECTS = "liger-kernel,fla-core,vllm,sglang"
VENDORED = re.compile(r"(^|/)(third_party|3rdparty|vendor|vendored|_vendor|thirdparty)(/|$)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("opwright", type=pathlib.Path)
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("--projects", default=PROJECTS)
    parser.add_argument("--unsafe", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path, help="leave the fixed copies here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = options.keep or pathlib.Path(scratch)
        failures = 0
        for project in options.projects.split(","):
            tree = Tree(options.opwright.resolve(), (options.corpus / project).resolve(), (work / project).resolve(), options.unsafe)
            for check, problems in tree.checks():
                failures += bool(problems)
                print(f"{'FAIL' if problems else 'ok  '}  {project:13}  {check}", flush=True)
                for problem in problems[:20]:
                    print(f"        {problem}")
    return 1 if failures else 0


class Tree:
    """A project and its fixed copy."""

    def __init__(self, opwright, original, copy, unsafe):
        self.opwright, self.original, self.copy = opwright, original, copy
        self.flags = ["--unsafe"] * unsafe
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(original, copy, symlinks=True)

    def run(self, root, *arguments):
        command = [str(self.opwright), *arguments, "--root", ".", "."]
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout

    def check(self, *arguments):
        return self.run(self.copy, "check", "--no-cache", "--exit-zero", *arguments, *self.flags)

    def inventory(self, root):
        return json.loads(self.run(root, "inventory", "--output-format", "json"))

    def errors(self):
        """What `check` calls an error in the copy: a fix must add none."""
        findings = json.loads(self.run(self.copy, "check", "--no-cache", "--exit-zero", "--output-format", "json"))
        return {f"{f['file']}: {f['rule']}: {f['message']}" for f in findings if f["level"] == "error"}

    def checks(self):
        before, errors = self.inventory(self.original), self.errors()
        yield f"share: {share(before)}", []
        named = {line[6:].split("\t")[0].strip() for line in self.check("--diff").splitlines() if line.startswith("+++ b/")}
        self.check("--fix")
        touched = self.touched()
        yield f"compile: {len(touched)} files touched", [p for p in map(self.compile_problem, touched) if p]
        yield "untouched", [f"{file}: not in --diff" for file in touched if file not in named]
        again = self.fixed_again()
        yield "again", again
        yield "errors", [f"new: {error}" for error in sorted(self.errors() - errors)]
        after = self.inventory(self.copy)
        old, new = (collections.Counter(op["op"] for op in inventory["ops"]) for inventory in (before, after))
        yield "names", [f"{op} stands {count} times" for op, count in new.items() if count > max(1, old[op])]
        ops = [op for op in after["ops"] if op["op"] not in old]
        authored = {(op["file"], op["impl"]): op for op in before["ops"] if op["impl"]}
        problems = [renamed_problem(op, authored[at]) if (at := (op["file"], op["impl"])) in authored else mutates_problem(op) for op in ops]
        yield f"mutates: {len(ops)} new ops", [p for p in problems if p]
        yield "cycles", new_cycles(self.original, self.copy)
        try:
            import torch  # noqa: F401
        except ImportError:
            print("skip  schemas: no torch here")
            return
        accepted, problems = self.schemas(ops)
        yield f"schemas: {accepted} of {len(ops)} taken by torch", problems

    def touched(self):
        found = []
        for folder, _, files in os.walk(self.copy):
            for file in files:
                path = pathlib.Path(folder, file)
                if path.is_symlink():
                    continue
                relative = path.relative_to(self.copy)
                original = self.original / relative
                if not original.exists() or original.read_bytes() != path.read_bytes():
                    found.append(str(relative))
        return sorted(found)

    def compile_problem(self, file):
        try:
            compile((self.copy / file).read_bytes(), file, "exec", dont_inherit=True)
        except SyntaxError as error:
            return f"{file}:{error.lineno}: {error.msg}"

    def fixed_again(self):
        stamps = {file: (self.copy / file).read_bytes() for file in self.touched()}
        self.check("--fix")
        return [f"{file} changed again" for file in self.touched() if stamps.get(file) != (self.copy / file).read_bytes()]

    def schemas(self, ops):
        """How many signatures torch takes, and what it says of the others."""
        import torch

        library = torch.library.Library("checked", "FRAGMENT")
        by_file = collections.defaultdict(list)
        for op in ops:
            by_file[op["file"]].append(op)
        accepted, problems, modules = 0, [], {}
        for file, ops in by_file.items():
            module = Signatures(self.copy, self.copy / file, modules=modules)
            for op in ops:
                where = f"{file}:{op['line']} {op['op']}"
                try:
                    function = module.function(op)
                    schema = torch.library.infer_schema(function, mutates_args=op["declared_mutates"] or [])
                    library.define(f"{accepted}_{len(problems)}".join(["op", ""]) + schema)
                    accepted += 1
                except Exception as error:
                    problems.append(f"{where}: {type(error).__name__}: {str(error):.160}")
        return accepted, problems


class Signatures:
    """Functions of a file with their bodies taken out, evaluated where their names are found."""

    def __init__(self, root, path, deep=2, modules=None):
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
        import absent

        self.root, self.path, self.deep, self.modules = root, path, deep, {} if modules is None else modules
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self.names = {"__name__": "signatures"}
        future = any(isinstance(s, ast.ImportFrom) and s.module == "__future__" for s in self.tree.body)
        self.flags = 0x1000000 if future else 0
        for statement in self.statements(self.tree.body):
            if isinstance(statement, (ast.Import, ast.ImportFrom)) and own_import(statement):
                self.run(statement)
            elif isinstance(statement, (ast.Import, ast.ImportFrom)):
                for name in statement.names:
                    bound = name.asname or name.name.split(".")[0]
                    if bound not in self.names:
                        found = self.of_tree(statement, name.name)
                        self.names[bound] = absent.absent(bound) if found is None else found
            elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.ClassDef)):
                self.run(statement)

    def of_tree(self, statement, name):
        """A constant or an enum that another file of the tree holds."""
        if not isinstance(statement, ast.ImportFrom) or not self.deep:
            return None
        folder = self.path.parents[statement.level - 1] if statement.level else self.root
        module = folder.joinpath(*(statement.module or "").split("."))
        for path in (module.with_suffix(".py"), module / "__init__.py"):
            if path not in self.modules and path.is_file():
                self.modules[path] = None  # a circle of imports
                self.modules[path] = Signatures(self.root, path, self.deep - 1, self.modules)
            if self.modules.get(path):
                found = self.modules[path].names.get(name)
                is_enum = isinstance(found, type) and issubclass(found, enum.Enum)
                return found if is_enum or isinstance(found, (bool, int, float, str)) else None
        return None

    def statements(self, body):
        for statement in body:
            if isinstance(statement, ast.Try):
                yield from self.statements(statement.body)
            elif isinstance(statement, ast.If) and "TYPE_CHECKING" not in ast.unparse(statement.test):
                yield from self.statements(statement.body)
                yield from self.statements(statement.orelse)
            else:
                yield statement

    def run(self, *statements):
        try:
            exec(compile(ast.Module(list(statements), []), "signatures", "exec", self.flags, True), self.names)
        except Exception:  # a constant that is not there is missed where it is used
            pass

    def function(self, op):
        found = [n for n in ast.walk(self.tree) if isinstance(n, ast.FunctionDef) and n.name == op["impl"].split(".")[-1]]
        node = min(found, key=lambda n: abs(n.lineno - op["line"]))
        bare = ast.FunctionDef(node.name, node.args, [ast.Pass()], [], node.returns, None)
        if hasattr(node, "type_params"):
            bare.type_params = []
        module = ast.fix_missing_locations(ast.Module([bare], []))
        names = dict(self.names)
        exec(compile(module, "signatures", "exec", self.flags, True), names)
        function = names[node.name]
        function.__globals__.update(names)
        return function


def own_import(statement):
    module = statement.names[0].name if isinstance(statement, ast.Import) else statement.module or ""
    level = getattr(statement, "level", 0)
    return not level and module.split(".")[0] in ("torch", "typing", "collections", "enum", "__future__", "dataclasses", "math")


def share(inventory):
    functions = [f for f in inventory["functions"] if f["registered"] in ("no", "recorded") and f["launches"] and not VENDORED.search(f["file"])]
    fixes = collections.Counter(f["fix"] for f in functions)
    safe, unsafe = fixes["safe"], fixes["safe"] + fixes["unsafe"]
    of = len(functions) or 1
    return f"{safe} of {len(functions)} safe ({100 * safe / of:.1f} %), {unsafe} with --unsafe ({100 * unsafe / of:.1f} %)"


def renamed_problem(op, was):
    """An op that existed and has a new name only: its list is its author's, and must be as it was."""
    keys = [key for key in ("declared_mutates", "mutates", "returns_alias_of") if was[key] != op[key]]
    keys += ["unresolved"] * bool(set(op["unresolved"] or []) - set(was["unresolved"] or []))
    changed = [f"{key} {was[key]} became {op[key]}" for key in keys]
    if changed:
        return f"{op['op']}, which was {was['op']}, at {op['file']}:{op['line']}: {', '.join(changed)}"


def mutates_problem(op):
    where = f"{op['op']} at {op['file']}:{op['line']}"
    known = set(op["mutates"] or []) | set(op["unresolved"] or [])
    if op["declared_mutates"] is None or known != set(op["declared_mutates"]):
        return f"{where} declares {op['declared_mutates']}, mutates {op['mutates']}, unresolved {op['unresolved']}"
    if op["returns_alias_of"]:
        return f"{where} returns {op['returns_alias_of']}"


def new_cycles(before, after):
    """Groups of modules that import each other and did not."""
    old, new = module_graph(before), module_graph(after)
    known = components(old)
    group = {module: index for index, modules in enumerate(known) for module in modules}
    problems = []
    for modules in components(new):
        of = {group.get(module) for module in modules}
        if len(of) > 1 or None in of:
            added = [f"{a} -> {b}" for a in modules for b in new[a] if b in modules and b not in old.get(a, ())]
            problems.append(f"{len(modules)} modules import each other, by {', '.join(added[:4])}")
    return problems


def module_graph(root):
    files = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        package = parts[-1] == "__init__"
        files[".".join(parts[:-1] if package else parts)] = (path, package)
    graph = {}
    for module, (path, package) in files.items():
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        graph[module] = sorted({target for target in imports(tree.body, module, package, files) if target != module})
    return graph


def imports(body, module, package, files):
    """Modules that are imported when the module is: not those in functions or under TYPE_CHECKING."""
    for statement in body:
        if isinstance(statement, ast.Import):
            yield from (name.name for name in statement.names if name.name in files)
        elif isinstance(statement, ast.ImportFrom):
            base = statement.module or ""
            if statement.level:
                up = module.split(".")[: len(module.split(".")) - statement.level + package]
                base = ".".join(up + ([base] if base else []))
            for name in statement.names:
                yield from (target for target in [f"{base}.{name.name}", base] if target in files)
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        elif not (isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test)):
            for part in ("body", "orelse", "finalbody"):
                inner = getattr(statement, part, None)
                yield from imports(inner if isinstance(inner, list) else [], module, package, files)
            for handler in getattr(statement, "handlers", []):
                yield from imports(handler.body, module, package, files)


def components(graph):
    """Strongly connected groups of more than one module."""
    index, low, stack, on, found, counter = {}, {}, [], set(), [], 0
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = counter
        counter += 1
        stack.append(root)
        on.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in graph:
                    continue
                if target not in index:
                    index[target] = low[target] = counter
                    counter += 1
                    stack.append(target)
                    on.add(target)
                    work.append((target, iter(graph[target])))
                    break
                if target in on:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = set()
                    while not group or stack and group and node not in group:
                        top = stack.pop()
                        on.discard(top)
                        group.add(top)
                    if len(group) > 1:
                        found.append(sorted(group))
    return found


if __name__ == "__main__":
    sys.exit(main())
