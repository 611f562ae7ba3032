def f(x):
    return x  # opwright: ignore[meta] because, as it is
