# opwright: ignore-file[syntax-error] not so
import os


def f(x):
    return x  # opwright: ignore[syntax-error] the first


# opwright: ignore[syntax-error, meta] kept for the second
def g(x):
    return x  # noqa  # opwright: ignore[syntax-error] says more


# opwright: ignore[syntax-eror] misspelt
# opwright: ignore[syntax-error]
# opwright: ignroe[syntax-error] no such word
y = 1
