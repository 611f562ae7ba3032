"""Writes rules/knowledge/torch.toml from an installed torch and rules/knowledge/torch.overlay.toml.

    pip install torch expecttest
    python scripts/gen_torch_knowledge.py

Three sources, later ones win: torch's operator schemas (which arguments are written, which results alias which arguments),
what the functions do when they run on CPU samples (torch's own operator database, and PROBES below: schemas do not say that
`reshape` may copy), and the overlay, which holds what only a person can say. A public name of torch.Tensor, torch or
torch.nn.functional that none of the three knows is an error.
"""

import collections
import datetime
import inspect
import itertools
import pathlib
import re
import sys
import textwrap
import tomllib
import warnings

import torch
import torch.nn.functional as functional
from torch.utils._pytree import tree_flatten

HERE = pathlib.Path(__file__).resolve().parent.parent / "rules" / "knowledge"
OP_NAMESPACES = ("_c10d_functional", "_c10d_functional_autograd", "inductor", "prims", "symm_mem")
# Modules whose functions take no tensors that they would write or return.
SCALAR_MODULES = ("accelerator", "cuda", "cuda.nvtx", "mps", "xpu")

# Calls that tell a view from a maybe-copy: `x` is contiguous, transposed, strided, or of one element.
PROBES = {
    "reshape": "x.reshape(-1)", "reshape_as": "x.reshape_as(torch.empty(x.numel()))", "flatten": "x.flatten()",
    "ravel": "x.ravel()", "contiguous": "x.contiguous()", "unflatten": "x.unflatten(0, (x.shape[0], 1))",
    "resolve_conj": "x.to(torch.complex64).conj().resolve_conj() if x.dim() == 1 else x.resolve_conj()",
    "resolve_neg": "x.resolve_neg()", "narrow": "x.narrow(0, 0, 1)", "movedim": "x.movedim(0, -1)",
    "moveaxis": "x.moveaxis(0, -1)", "swapaxes": "x.swapaxes(0, -1)", "swapdims": "x.swapdims(0, -1)", "adjoint": "x.adjoint()",
    "view_as": "x.view_as(x)", "expand_as": "x.expand_as(x)", "broadcast_to": "x.broadcast_to(x.shape)", "detach": "x.detach()",
    "alias": "torch.ops.aten.alias(x)", "type_as": "x.type_as(torch.empty(0, dtype=DTYPE))", "cpu": "x.cpu()",
    "to": "x.to(DTYPE)", "type": "x.type(DTYPE)", "float": "x.to(DTYPE).float()", "double": "x.double()", "half": "x.half()",
    "bfloat16": "x.bfloat16()", "int": "x.int()", "long": "x.long()", "short": "x.short()", "char": "x.char()", "byte": "x.byte()",
    "bool": "x.bool()", "cfloat": "x.cfloat()", "cdouble": "x.cdouble()", "chalf": "x.chalf()", "select": "x.select(0, 0)",
    "positive": "x.positive()", "fliplr": "x.t().fliplr()", "clone": "x.clone()", "squeeze": "x.squeeze()", "tile": "x.tile(1)",
    "repeat": "x.repeat(*[1] * x.dim())", "roll": "x.roll(0)", "rot90": "x.rot90(0)", "flip": "x.flip(())", "sum": "x.sum(())",
    "repeat_interleave": "x.repeat_interleave(1, 0)", "index_select": "x.index_select(0, torch.arange(x.shape[0]))",
    "where": "torch.where(torch.tensor(True), x, x)", "cat": "torch.cat([x])", "concat": "torch.concat([x])", "stack": "torch.stack([x])",
    "hstack": "torch.hstack([x])", "vstack": "torch.vstack([x])", "dstack": "torch.dstack([x])",
    "column_stack": "torch.column_stack([x])", "block_diag": "torch.block_diag(x)", "sum_to_size": "x.sum_to_size(x.shape)",
    "nn.functional.pad": "torch.nn.functional.pad(x, (0, 0))", "clamp": "x.clamp(min=-100)", "nan_to_num": "x.nan_to_num()",
    "nn.functional.interpolate": "torch.nn.functional.interpolate(x[None, None].float(), size=tuple(x.shape))", "diff": "x.diff(n=0)",
    "matrix_power": "x.matrix_power(1) if x.dim() == 2 and x.shape[0] == x.shape[1] else x.clone()", "to_dense": "x.to_dense()",
    "dequantize": "x.dequantize()", "tril": "x.tril()", "triu": "x.triu()",
    "chain_matmul": "torch.chain_matmul(x)", "einsum": "torch.einsum('ij->ji', x)",
    "conj_physical": "x.conj_physical()", "permute": "x.permute(*range(x.dim()))", "unsqueeze": "x.unsqueeze(0)",
    "trapezoid": "torch.trapezoid(x)", "cumsum": "x.cumsum(0)", "as_tensor": "torch.as_tensor(x, dtype=DTYPE)",
    "asarray": "torch.asarray(x, dtype=DTYPE)", "nn.functional.normalize": "torch.nn.functional.normalize(x.float())",
    "nn.functional.relu6": "torch.nn.functional.relu6(x)",
    "nn.functional.hardtanh": "torch.nn.functional.hardtanh(x)", "nn.functional.dropout1d": "torch.nn.functional.dropout1d(x.float(), training=False)",
    "combinations": "torch.combinations(x.reshape(-1), 1)", "pixel_shuffle": "torch.pixel_shuffle(x[None], 1)",
    "pixel_unshuffle": "torch.pixel_unshuffle(x[None], 1)", "channel_shuffle": "torch.channel_shuffle(x[None], 1)",
    "nn.functional.channel_shuffle": "torch.nn.functional.channel_shuffle(x[None], 1)",
    "nn.functional.pixel_shuffle": "torch.nn.functional.pixel_shuffle(x[None], 1)",
    "nn.functional.pixel_unshuffle": "torch.nn.functional.pixel_unshuffle(x[None], 1)",
    "nn.functional.upsample": "torch.nn.functional.upsample(x[None, None].float(), size=tuple(x.shape))",
}


def shares(a, b):
    try:
        return a.numel() and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return False


class Seen:
    """What running a function showed: how often a result shared memory with the n-th argument, how often that was written."""

    def __init__(self):
        self.runs, self.shared, self.written, self.lengths = 0, collections.Counter(), collections.Counter(), set()

    def add(self, inputs, versions, result):
        outputs = [t for t in tree_flatten(result)[0] if isinstance(t, torch.Tensor)]
        if outputs and not any(t.numel() for t in outputs):
            return
        self.runs += 1
        self.lengths.add(len(result) if isinstance(result, (tuple, list)) else -1 if outputs else -2)
        for index, tensor in inputs:
            self.shared[index] += any(shares(output, tensor) for output in outputs)
            self.written[index] += tensor._version != versions[index]

    def kind(self, index=0):
        hits = self.shared[index]
        return "fresh" if not hits else "view" if hits == self.runs else "maybe"


def run_database():
    """Runs torch's operator database on small CPU samples, contiguous and not."""
    from torch.testing._internal.common_methods_invocations import op_db

    seen = collections.defaultdict(Seen)
    for op, dtype in itertools.product(op_db, (torch.float32, torch.complex64, torch.int64)):
        if dtype not in op.dtypes:
            continue
        try:
            samples = list(itertools.islice(op.sample_inputs("cpu", dtype), 30))
        except Exception:
            continue
        for sample, strided in itertools.product(samples[:12] + samples[-4:], (False, True)):
            try:
                sample = sample.noncontiguous() if strided else sample
                flat = tree_flatten(((sample.input, *sample.args), sample.kwargs))[0]
                inputs = [(i, t) for i, t in enumerate(flat) if isinstance(t, torch.Tensor)]
                versions = {i: t._version for i, t in inputs}
                with torch.no_grad():
                    result = op.op(sample.input, *sample.args, **sample.kwargs)
            except Exception:
                continue
            seen[op.name].add(inputs, versions, result)
    return seen


def run_probes(seen):
    square = torch.arange(9.0).reshape(3, 3)
    samples = [square, square.t(), torch.arange(36.0).reshape(6, 6)[::2, ::2], torch.ones(1, 1)]
    for name, code in PROBES.items():
        for x, dtype in itertools.product(samples, (torch.float32, torch.int32)):
            try:
                result = eval(code, {"torch": torch, "x": x, "DTYPE": dtype})
            except Exception as error:
                sys.exit(f"probe {name}: {error}")
            seen[name].add([(0, x)], {0: x._version}, result)


def dispatcher_schemas():
    """Schemas of real operators by `namespace::name`; TorchScript's own list and dict functions are left out."""
    real = set(torch._C._dispatch_get_all_op_names())
    schemas = collections.defaultdict(list)
    for schema in torch._C._jit_get_all_schemas():
        full = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
        if full in real:
            schemas[schema.name].append(schema)
    return schemas


def is_written(argument):
    return argument.alias_info is not None and argument.alias_info.is_write


def is_out(schema):
    return any(a.kwarg_only and is_written(a) for a in schema.arguments)


def result_of(type_, kind, source):
    """The word for one result of a schema."""
    text = str(type_)
    if "Tensor" not in text:
        return "scalar"
    several = text.startswith(("List", "Tuple")) or "[]" in text
    if kind == "fresh":
        return "list" if several else "fresh"
    return f"views {source}" if several else f"{kind} {source}"


class Effects:
    """Signatures of the operators, united over overloads."""

    def __init__(self, schemas, seen):
        self.schemas, self.seen = schemas, seen

    def signature(self, op, name, first, outs):
        """`op`: `aten::add`; `name`: as Python calls it (`nn.functional.silu`); `first`: Python's name of the first parameter;
        `outs`: "no", "python" (one keyword `out`) or "aten" (as the schemas have them)."""
        plain = [s for s in self.schemas[op] if not is_out(s)]
        written = {a.name for s in plain for a in s.arguments if is_written(a)}
        if written:
            return self.writing(plain, first)
        results = self.results(plain, name, first)
        out = self.outs(op) if outs != "no" else []
        if not out or results in ("scalar", "()"):
            return f"({first}) -> {results}" if first in results.split() else f"() -> {results}"
        if outs == "python":
            out = [["out"] * len(o) for o in out]
        lengths = {len(o) for o in out}
        widest = max(out, key=len)
        params = ", ".join(f"{o}!" for o in dict.fromkeys(widest))
        mixed = len(lengths) > 1 or len(widest) != results.count(",") + 1
        words = results.split(", ")
        shared = ", ".join(f"views {o}" if w == "list" else f"view {o}" for o, w in zip(widest, words))
        shared = f"views {widest[0]}" if mixed else shared
        return f"(*, {params}) -> {shared}"

    def outs(self, op):
        found = [[a.name for a in s.arguments if a.kwarg_only and is_written(a)] for s in self.schemas[op] if is_out(s)]
        return sorted(found)

    def results(self, plain, name, first):
        namespace, base = plain[0].name.split("::")
        seen = (self.seen.get(name) or self.seen.get(base)) if namespace == "aten" else None
        # The database runs `normal` and its like in place.
        seen = None if seen and seen.written[0] else seen
        united = set()
        for schema in plain:
            annotated = any(r.alias_info is not None for r in schema.returns)
            kind = seen.kind() if seen and seen.runs else "view" if annotated else "fresh"
            united.add(tuple(result_of(r.type, kind, first) for r in schema.returns))
        if len(united) == 1:
            return ", ".join(united.pop()) or "()"
        if any("view" in w or "maybe" in w for words in united for w in words):
            return f"views {first}" if any(len(w) > 1 or "views" in w[0] for w in united if w) else f"maybe {first}"
        words = {w for ws in united for w in ws}
        return "scalar" if words == {"scalar"} else "list"

    def writing(self, plain, first):
        """The row of an operator that writes arguments: all parameters, from the overload with the most."""
        widest = max(plain, key=lambda s: (sum(map(is_written, s.arguments)), len(s.arguments)))
        written = {a.name for s in plain for a in s.arguments if is_written(a)}
        params, star = [], False
        for index, argument in enumerate(widest.arguments):
            if argument.kwarg_only and not star:
                params.append("*")
                star = True
            name = first if index == 0 and argument.name == "self" else argument.name
            params.append(name + "!" * (argument.name in written))
        by_set = {tuple(a.alias_info.after_set): a.name for a in widest.arguments if a.alias_info is not None}
        results = []
        for result in widest.returns:
            source = by_set.get(tuple(result.alias_info.after_set)) if result.alias_info is not None else None
            source = first if source == "self" else source
            results.append(result_of(result.type, "view" if source else "fresh", source))
        return f"({', '.join(params)}) -> {', '.join(results) or '()'}"


def is_in_place(name):
    return name.endswith("_") and not name.endswith("__")


def regular_in_place(signature):
    """The signature is what the trailing underscore says already."""
    return re.fullmatch(r"\((self|input)!(, (?!\w+!)[\w*]+)*\) -> (view \1|\(\))", signature) is not None


def python_functions(module, prefix=""):
    for name in sorted(dir(module)):
        value = getattr(module, name, None)
        if not name.startswith("__") and callable(value) and not inspect.isclass(value):
            yield prefix + name, name, value


def method_rows(effects):
    for name, _, _ in python_functions(torch.Tensor):
        op = f"aten::{name}"
        if op in effects.schemas:
            yield name, effects.signature(op, name, "self", "no")
        elif (seen := effects.seen.get(name)) and seen.runs:
            kind = seen.kind()
            yield name, "() -> fresh" if kind == "fresh" else f"(self) -> {kind} self"


def torch_rows(effects):
    places = [(torch, "", "aten::"), (torch.linalg, "linalg.", "aten::linalg_"), (torch.fft, "fft.", "aten::fft_"),
              (torch.special, "special.", "aten::special_"), (torch._C._nn, "nn.functional.", "aten::")]
    for module, prefix, ops in places:
        for name, plain, _ in python_functions(module, prefix):
            if ops + plain in effects.schemas:
                yield name, effects.signature(ops + plain, name, "input", "python")
    for name, plain, value in python_functions(functional, "nn.functional."):
        seen = effects.seen.get(name)
        if plain.startswith("_") or is_in_place(plain) or not seen or not seen.runs:
            continue
        yield name, functional_signature(value, seen)


def functional_signature(function, seen):
    try:
        params = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        params = []
    kind = seen.kind()
    result = "list" if len(seen.lengths) > 1 else "fresh" if kind == "fresh" else f"{kind} input"
    if seen.lengths and min(seen.lengths) > 0 and len(seen.lengths) == 1:
        result = ", ".join(["fresh"] * min(seen.lengths))
    if "inplace" in params:
        rest = ", ".join("inplace?" if p == "inplace" else p for p in params[1 : params.index("inplace") + 1])
        return f"(input!?, {rest}) -> {result}; view input"
    return f"(input) -> {result}" if "input" in result else f"() -> {result}"


def op_rows(effects, table, overlay):
    """`torch.ops`: aten where the Python tables do not already say it, and the other namespaces."""
    for op in effects.schemas:
        namespace, name = op.split("::")
        first = effects.schemas[op][0].arguments
        first = first[0].name if first else "self"
        if all(is_out(s) for s in effects.schemas[op]):
            continue
        if namespace == "aten":
            signature = effects.signature(op, name, first, "aten")
            known = table["torch"].get(name) or table["tensor"].get(name)
            said = name in overlay["torch"] or name in overlay["tensor"]
            if known is None or not said and known.replace("input", "self") != signature:
                yield "aten", name, signature
        elif namespace in OP_NAMESPACES:
            yield "ops", f"{namespace}.{name}", effects.signature(op, name, first, "aten")


def scalar_modules():
    for module in SCALAR_MODULES:
        value = torch
        for part in module.split("."):
            value = getattr(value, part)
        for name in dir(value):
            member = getattr(value, name, None)
            own = getattr(member, "__module__", None) or ""
            public = not name.startswith("_") and callable(member) and name not in ("make_graphed_callables", "graph")
            if public and own.startswith("torch") and not own.startswith("torch._utils"):
                yield f"{module}.{name}"


def module_classes():
    """`torch.nn.Linear(…)` makes an object."""
    for name, value in vars(torch.nn).items():
        if inspect.isclass(value) and issubclass(value, torch.nn.Module):
            yield f"nn.{name}"


def read_overlay():
    overlay = tomllib.loads((HERE / "torch.overlay.toml").read_text())
    return {
        table: {name: signature for signature, names in overlay.pop(table).items() for name in names.split()}
        for table in ("tensor", "torch", "aten", "ops", "attribute")
    }, overlay


def unknown_names(table, overlay_rest):
    """Public names without a meaning."""
    ignored = set(overlay_rest["ignored"].split())
    for name, _, _ in python_functions(torch.Tensor):
        if not (name.startswith("_") or is_in_place(name) or name in table["tensor"] or name in ignored):
            yield f"torch.Tensor.{name}"
    for name in dir(torch.Tensor):
        if not callable(getattr(torch.Tensor, name, None)) and not name.startswith("__") and name not in table["attribute"]:
            yield f"torch.Tensor.{name}"
    for module, prefix in ((torch, ""), (functional, "nn.functional.")):
        for name, plain, value in python_functions(module, prefix):
            known = plain.startswith("_") or is_in_place(plain) or name in table["torch"] or plain in ignored
            if not known and not inspect.ismodule(value):
                yield f"torch.{name}"


def write_tables(table, metadata):
    lines = [
        "# Generated by scripts/gen_torch_knowledge.py: do not edit, edit torch.overlay.toml and run the script.",
        "# A table maps an effect to the names that have it. In an effect, `!` marks a parameter that is written, `~` one whose metadata",
        "# is, `?` the flag without which a `!?` parameter is not written (its results stand behind the semicolon), `^` a flag that",
        "# forces a copy. Parameters on which nothing depends are left out. A trailing underscore means in place: no row is needed.",
        "",
        f'checked = {{ package = "torch", version = "{torch.__version__.split("+")[0]}", on = "{datetime.date.today()}" }}',
        'in-place-metadata = """',
        *wrap(metadata),
        '"""',
    ]
    for section in ("tensor", "torch", "aten", "ops", "attribute"):
        lines += ["", f"[{section}]"]
        groups = collections.defaultdict(list)
        for name, signature in table[section].items():
            groups[signature].append(name)
        for signature, names in sorted(groups.items()):
            key = signature if section == "attribute" else f'"{signature}"'
            names = sorted(set(names))
            if len(names) == 1:
                lines.append(f'{key} = "{names[0]}"')
            else:
                lines += [f'{key} = """', *wrap(" ".join(names)), '"""']
    (HERE / "torch.toml").write_text("\n".join(lines) + "\n")


def wrap(names):
    return textwrap.wrap(names, 138, break_long_words=False, break_on_hyphens=False)


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    seen = run_database()
    run_probes(seen)
    effects = Effects(dispatcher_schemas(), seen)
    overlay, rest = read_overlay()
    table = {"tensor": {}, "torch": {}, "aten": {}, "ops": {}, "attribute": {}}
    table["tensor"].update(method_rows(effects))
    table["torch"].update(torch_rows(effects))
    table["torch"].update({name: "() -> scalar" for name in itertools.chain(scalar_modules(), module_classes())})
    for section in ("tensor", "torch", "attribute"):
        table[section].update(overlay[section])
    for section, name, signature in op_rows(effects, table, overlay):
        table[section][name] = signature
    for section in ("aten", "ops"):
        table[section].update(overlay[section])
    for section in ("tensor", "torch", "aten", "ops"):
        explicit = overlay[section]
        table[section] = {
            name: signature
            for name, signature in table[section].items()
            if name in explicit or not (is_in_place(name.rsplit(".")[-1]) and regular_in_place(signature))
        }
    unknown = sorted(unknown_names(table, rest))
    if unknown:
        sys.exit("no meaning for: " + " ".join(unknown))
    write_tables(table, rest["in-place-metadata"])


if __name__ == "__main__":
    main()
