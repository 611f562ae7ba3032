def f(:
    import triton
