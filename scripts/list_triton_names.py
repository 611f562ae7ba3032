#!/usr/bin/env python3
"""List the public names of `triton.language` and `triton.experimental.gluon.language`, one a line, on standard output.

usage: list_triton_names.py > tests/data/triton_public_names.txt     in an environment with the pinned Triton

Functions, types and constants by dotted name; methods and properties of the values that a kernel handles as Class.name.
What is left out: private names, names that come from outside Triton (`typing`, `dataclasses`), members of `extra` and of
libdevice modules (knowledge has a prefix rule for them), and the compiler's own helpers."""
import importlib
import inspect
import pkgutil

import triton
import triton.experimental.gluon.language as gluon
import triton.language as language

VALUES = {"tensor", "tensor_descriptor", "shared_memory_descriptor", "tensor_memory_descriptor", "clc_result", "tuple", "warpgroup_mma_accumulator",
          "tensor_descriptor_im2col"}
INTERNAL = {"builtin", "jit", "constexpr_function", "base_type", "base_value", "unflatten_ir_values", "ir", "gluon_ir", "gl", "ttgl", "knobs",
            "semantic", "TYPE_CHECKING"}  # decorators and glue of the implementation


def is_own(value):
    module = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
    return module is None or not isinstance(module, str) or module.split(".")[0] == "triton" or not callable(value)


def names(module):
    for name, value in sorted(vars(module).items()):
        if name.startswith("_") or name in INTERNAL or not is_own(value):
            continue
        if inspect.ismodule(value) and not value.__name__.startswith("triton.") or type(value).__name__ in ("TypeVar", "_Feature"):
            continue
        yield f"{module.__name__}.{name}"
        if inspect.isclass(value) and name in VALUES and value.__module__.startswith(module.__name__):
            members = {m for c in value.__mro__ if c.__module__.startswith("triton.") for m in vars(c)}
            for member in sorted(members):
                if not member.startswith("_"):
                    yield f"{module.__name__}.{name}.{member}"


def main():
    found = set(names(language)) | set(names(language.math)) | set(names(gluon))
    for info in pkgutil.walk_packages(gluon.__path__, gluon.__name__ + "."):
        last = info.name.rsplit(".", 1)[-1]
        if not last.startswith("_") and last != "extra":
            found |= set(names(importlib.import_module(info.name)))
    print(f"# triton {triton.__version__}, by scripts/list_triton_names.py")
    print("\n".join(sorted(found)))


main()
