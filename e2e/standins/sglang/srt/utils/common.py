"""Stand-in for the helper whose guard keeps the first op of a name."""

import torch
from torch.library import Library, infer_schema

_ops = Library("sglang", "FRAGMENT")


def direct_register_custom_op(op_name, op_func, mutates_args, fake_impl=None, target_lib=None):
    library = target_lib or _ops
    if hasattr(getattr(torch.ops, library.ns), op_name):
        return
    library.define(op_name + infer_schema(op_func, mutates_args=mutates_args))
    library.impl(op_name, op_func, "CUDA" if torch.cuda.is_available() else "CPU")
    if fake_impl is not None:
        library._register_fake(op_name, fake_impl)
