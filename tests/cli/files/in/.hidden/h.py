import torch
import triton
import triton.language as tl


@triton.jit
def fill_kernel(out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, 1.0, mask=at < n)


def fill(out: torch.Tensor) -> None:
    fill_kernel[(1,)](out, out.numel(), BLOCK=128)
