"""Stand-in for the decorator that registers a function and gives back a plain one that calls the op."""

import functools
import inspect

import torch

from sglang.srt.utils.common import direct_register_custom_op

_ABSENT = object()


def register_custom_op(fn=None, *, op_name=None, mutates_args=None, eager=True, out_shape=_ABSENT, fake_impl=_ABSENT):
    if out_shape is not _ABSENT and fake_impl is not _ABSENT:
        raise TypeError("out_shape and fake_impl exclude each other")

    def decorate(function):
        name = op_name or function.__name__
        fake = _like(function, None if out_shape is _ABSENT else out_shape) if fake_impl is _ABSENT else fake_impl
        direct_register_custom_op(name, function, mutates_args or [], fake)
        op = getattr(torch.ops.sglang, name)

        @functools.wraps(function)
        def call(*args, **kwargs):
            return op(*args, **kwargs)

        return call

    return decorate if fn is None else decorate(fn)


def _like(function, argument):
    """A fake implementation: `empty_like` of one argument, by position or name; nothing for None."""
    signature = inspect.signature(function)

    def fake(*args, **kwargs):
        if argument is None:
            return None
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return torch.empty_like(bound.args[argument] if isinstance(argument, int) else bound.arguments[argument])

    return fake
