"""Makes Triton's interpreter take more of what real kernels do: its gaps say nothing about a launcher."""

import importlib
import math


def prepare():
    """Call it before anything imports from libdevice."""
    first_configuration_only()
    floats_are_tensors()
    libdevice_in_numpy()
    devices_are_this_one()


def first_configuration_only():
    """Autotuning measures on a device, and there is none."""
    from triton.runtime.autotuner import Autotuner

    make = Autotuner.__init__

    def init(self, fn, arg_names, configs, *args, **kwargs):
        make(self, fn, arg_names, configs[:1], *args, **kwargs)

    Autotuner.__init__ = init


def floats_are_tensors():
    """A float that is given to a kernel is a scalar of type float32 in it, not Python's own."""
    import numpy
    import triton.language as tl
    from triton.runtime import interpreter

    convert = interpreter._implicit_cvt

    def implicit(value):
        if isinstance(value, float):
            return tl.tensor(interpreter.TensorHandle(numpy.array([value], dtype=numpy.float32), tl.float32), tl.float32)
        return convert(value)

    interpreter._implicit_cvt = implicit


def libdevice_in_numpy():
    """These functions are linked into a compiled kernel; the interpreter has only their names."""
    import numpy
    import triton.language as tl
    from triton.runtime.interpreter import TensorHandle

    def wrap(function):
        def call(*args, **_):
            tensors = [a for a in args if isinstance(a, tl.tensor)]
            data = [a.handle.data if isinstance(a, tl.tensor) else a for a in args]
            with numpy.errstate(all="ignore"):
                result = numpy.asarray(function(*data))
            like = tensors[0]
            if result.dtype == numpy.bool_:
                result = result.astype(numpy.int32)
                return tl.tensor(TensorHandle(result, tl.int32), like.type.with_element_ty(tl.int32) if like.type.is_block() else tl.int32)
            return tl.tensor(TensorHandle(result.astype(data[0].dtype), like.handle.dtype), like.type)

        return call

    functions = {name: getattr(numpy, name) for name in "exp exp2 log log2 log10 log1p expm1 sqrt floor ceil trunc rint sin cos tanh abs cosh sinh".split()}
    functions |= {
        "rsqrt": lambda x: 1 / numpy.sqrt(x),
        "rsqrt_rn": lambda x: 1 / numpy.sqrt(x),
        "sqrt_rn": numpy.sqrt,
        "erf": numpy.vectorize(math.erf),
        "pow": numpy.power,
        "div_rn": numpy.divide,
        "div_rz": numpy.divide,
        "fast_dividef": numpy.divide,
        "fast_expf": numpy.exp,
        "fast_logf": numpy.log,
        "fast_tanhf": numpy.tanh,
        "fast_powf": numpy.power,
        "nearbyint": numpy.rint,
        "round": lambda x: numpy.copysign(numpy.floor(numpy.abs(x) + 0.5), x),
        "isnan": numpy.isnan,
        "isinf": numpy.isinf,
        "finitef": numpy.isfinite,
        "llrint": numpy.rint,
        "fma": lambda a, b, c: a * b + c,
    }
    for module in ["triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice"]:
        module = importlib.import_module(module)
        for name, function in functions.items():
            setattr(module, name, wrap(function))


def devices_are_this_one():
    """An op that is registered for a GPU is called with tensors of the CPU here."""
    import torch

    register = torch.library.Library.impl

    def impl(self, op_name, fn, dispatch_key="", **kwargs):
        return register(self, op_name, fn, "CPU" if dispatch_key in ("CUDA", "HIP", "XPU") else dispatch_key, **kwargs)

    torch.library.Library.impl = impl
