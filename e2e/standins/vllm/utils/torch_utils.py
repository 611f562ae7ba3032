"""Stand-in for the helper that defines, implements and fakes an op for one device."""

import torch
from torch.library import Library, infer_schema

_ops = Library("vllm", "FRAGMENT")


def direct_register_custom_op(
    op_name, op_func, mutates_args=None, fake_impl=None, target_lib=None, dispatch_key=None, tags=()
):
    library = target_lib or _ops
    library.define(op_name + infer_schema(op_func, mutates_args=mutates_args or []), tags=tags)
    library.impl(op_name, op_func, dispatch_key=dispatch_key or ("CUDA" if torch.cuda.is_available() else "CPU"))
    if fake_impl is not None:
        library._register_fake(op_name, fake_impl)
