//! Bodies of functions as text.

use super::check;

#[test]
fn branches_join_by_select() {
    let text = r#"
def f(c, d):
    if c:
        x = 1
    elif d:
        x = 2
    y = x
    if c:
        z = 1
    else:
        z = y
"#;
    check(
        text,
        "f",
        r#"
        %0 = param 0
        %1 = param 1
        %4 = undefined
        %5 = select %1 ? 2 : %4
        %6 = select %0 ? 1 : %5
        %8 = select %0 ? 1 : %6
        c: %0
        d: %1
        y: %6
        z: %8
        x: %6
        "#,
    );
}

#[test]
fn code_after_an_early_return_knows_the_condition() {
    let text = r#"
def f(c, d):
    if c:
        return
    elif d:
        raise E
    g()
    if c:
        if d:
            return 1
    h()
"#;
    check(
        text,
        "f",
        r#"
        %0 = param 0
        %1 = param 1
        %3 = return None  @ %0
        %4 = free E  @ not %0, %1
        %5 = raise  @ not %0, %1
        %6 = free g  @ not %0, not %1
        %7 = call %6()  @ not %0, not %1
        %9 = return 1  @ not %0, not %1, %0, %1
        %10 = free h  @ not %0, not %1, maybe
        %11 = call %10()  @ not %0, not %1, maybe
        c: %0
        d: %1
        "#,
    );
}

#[test]
fn only_the_branch_that_goes_on_counts() {
    let text = r#"
def f(c):
    if c:
        x = 1
    else:
        return 2
    return x
"#;
    check(
        text,
        "f",
        r#"
        %0 = param 0
        %3 = return 2  @ not %0
        %4 = return 1  @ %0
        c: %0
        x: 1
        "#,
    );
}

#[test]
fn code_behind_two_ends_is_still_lowered() {
    let text = r#"
def f(c):
    if c:
        return 1
    else:
        return 2
    g(c)
"#;
    check(
        text,
        "f",
        r#"
        %0 = param 0
        %2 = return 1  @ %0
        %4 = return 2  @ not %0
        %5 = free g  @ not %0
        %6 = call %5(%0)  @ not %0
        c: %0
        "#,
    );
}

#[test]
fn a_pointer_walk_is_a_phi_at_the_head() {
    let text = r#"
def kernel(p, n, STEP):
    for i in range(n):
        if i > 3:
            continue
        store(p, i)
        p += STEP
    store(p, 0)
"#;
    check(
        text,
        "kernel",
        r#"
        %0 = param 0
        %1 = param 1
        %2 = param 2
        %3 = free range
        %4 = call %3(%1)
        %5 = undefined
        %6 = phi %0, %13
        %7 = phi %5, %8
        %8 = iterate %4  @ repeats
        %10 = %8 Gt 3  @ repeats
        %11 = free store  @ repeats, not %10
        %12 = call %11(%6, %8)  @ repeats, not %10
        %13 = %6 Add= %2  @ repeats, not %10
        %14 = free store
        %16 = call %14(%6, 0)
        p: %6
        n: %1
        STEP: %2
        i: %7
        "#,
    );
}

#[test]
fn a_loop_is_left_by_its_head_or_a_break() {
    let text = r#"
def f(xs):
    found = None
    for x in xs:
        if x:
            found = x
            break
    else:
        found = 0
    while True:
        if g():
            last = 1
            break
    return found, last
"#;
    check(
        text,
        "f",
        r#"
        %0 = param 0
        %2 = undefined
        %3 = phi None
        %4 = phi %2, %5
        %5 = iterate %0  @ repeats
        %7 = phi 0, %5
        %8 = phi %4, %5
        %9 = phi %2
        %11 = free g  @ repeats, True
        %12 = call %11()  @ repeats, True
        %14 = tuple %7, 1
        %15 = return %14
        xs: %0
        found: %7
        x: %8
        last: 1
        "#,
    );
}

#[test]
fn a_handler_sees_all_that_the_body_may_have_done() {
    let text = r#"
def f():
    x = 1
    try:
        x = g()
        x = h(x)
    except ValueError as e:
        r = x
    else:
        r = 0
    finally:
        z = x
    return r
"#;
    check(
        text,
        "f",
        r#"
        %1 = free g
        %2 = call %1()
        %3 = free h  @ maybe
        %4 = call %3(%2)  @ maybe
        %5 = phi 1, %2, %4
        %6 = free ValueError  @ maybe
        %7 = exception  @ maybe
        %9 = phi %4, %5
        %10 = phi 0, %5
        %11 = phi 1, %2, %4, %9
        %12 = undefined
        %13 = phi %12, %7
        %14 = phi %12, %5, 0, %10
        %15 = return %10
        x: %9
        e: %12
        r: %10
        z: %11
        "#,
    );
}

#[test]
fn an_import_with_a_fallback() {
    let text = r#"
try:
    from fast import op
except ImportError:
    op = None
"#;
    check(
        text,
        "<module>",
        r#"
        %0 = import fast op
        %1 = undefined
        %2 = phi %1, %0
        %3 = free ImportError  @ maybe
        %5 = phi %0, None
        op: %5
        "#,
    );
}

#[test]
fn decorators_apply_from_the_inside_out() {
    let text = r#"
@outer
@inner(1)
def f(x=2): ...
@register
class C(Base): ...
"#;
    check(
        text,
        "<module>",
        r#"
        %0 = free outer
        %1 = free inner
        %3 = call %1(1)
        %5 = function f
        %6 = call %3(%5) decorates f
        %7 = call %0(%6) decorates f
        %8 = free register
        %9 = free Base
        %10 = class C
        %11 = call %8(%10)
        f: %7
        C: %11
        "#,
    );
}

#[test]
fn closures_read_free_names() {
    let text = r#"
def f(x):
    y = 1
    def g(z):
        nonlocal y
        y = x + z
        return lambda: y + z
    return g
"#;
    check(
        text,
        "f.<locals>.g",
        r#"
        %0 = param 0
        %1 = free x
        %2 = %1 Add %0
        %3 = outer y = %2
        %4 = function f.<locals>.g.<locals>.<lambda>
        %5 = return %4
        z: %0
        "#,
    );
}

#[test]
fn comprehensions_do_not_leak() {
    let text = r#"
def f(x, rows):
    a = [x * 2 for x in rows if x for y in x]
    b = {k: lambda: k for k in rows}
    return x
"#;
    check(
        text,
        "f",
        r#"
        %0 = param 0
        %1 = param 1
        %2 = iterate %1  @ repeats
        %3 = iterate %2  @ repeats, %2, repeats
        %5 = %2 Mul 2  @ repeats, %2, repeats
        %6 = collect List %5
        %7 = iterate %1  @ repeats
        %8 = function f.<locals>.<lambda>  @ repeats
        %9 = tuple %7, %8  @ repeats
        %10 = collect Dict %9
        %11 = return %0
        x: %0
        rows: %1
        a: %6
        b: %10
        "#,
    );
}

#[test]
fn a_walrus_binds_in_the_body() {
    let text = r#"
def f(xs):
    if (n := g()) and (m := h(n)):
        k(n, m)
    t = [last := x for x in xs]
    while (c := read()):
        use(c)
    return n, m, last, c
"#;
    check(
        text,
        "f",
        r#"
        %0 = param 0
        %1 = free g
        %2 = call %1()
        %3 = free h  @ %2
        %4 = call %3(%2)  @ %2
        %5 = undefined
        %6 = phi %5, %4
        %7 = and %2, %4
        %8 = free k  @ %7
        %9 = call %8(%2, %6)  @ %7
        %10 = iterate %0  @ repeats
        %11 = phi %5, %10
        %12 = collect List %10
        %13 = phi %5, %15
        %14 = free read  @ repeats
        %15 = call %14()  @ repeats
        %16 = free use  @ repeats, %15
        %17 = call %16(%15)  @ repeats, %15
        %18 = tuple %2, %6, %11, %15
        %19 = return %18
        xs: %0
        t: %12
        n: %2
        m: %6
        last: %11
        c: %15
        "#,
    );
}

#[test]
fn a_global_is_set_outside() {
    let text = r#"
def f():
    global cache
    cache = 1
    cache += 2
    return cache
"#;
    check(
        text,
        "f",
        r#"
        %1 = outer cache = 1
        %2 = free cache
        %4 = %2 Add= 2
        %5 = outer cache = %4
        %6 = free cache
        %7 = return %6
        "#,
    );
}

#[test]
fn patterns_bind_parts() {
    let text = r#"
def f(x):
    match x:
        case [a, *rest] if a:
            r = rest
        case {"k": v, **more}:
            r = v
        case P(q, w=s) | Q(q, s):
            r = q
        case None | 1:
            return
        case whole:
            r = whole
    return r
"#;
    check(
        text,
        "f",
        r#"
        %0 = param 0
        %1 = unpack %0 0  @ maybe
        %2 = unpack %0 1 rest  @ maybe
        %4 = %0["k"]  @ maybe
        %5 = unpack %0 1 rest  @ maybe
        %6 = free P  @ maybe
        %7 = unpack %0 0  @ maybe
        %8 = %0.w  @ maybe
        %9 = free Q  @ maybe
        %10 = unpack %0 0  @ maybe
        %11 = unpack %0 1  @ maybe
        %12 = phi %7, %10  @ maybe
        %13 = phi %8, %11  @ maybe
        %16 = return None  @ maybe
        %17 = undefined
        %18 = phi %1, %17
        %19 = phi %2, %17
        %20 = phi %2, %4, %12, %0
        %21 = phi %17, %5
        %22 = phi %17, %4
        %23 = phi %17, %12
        %24 = phi %17, %13
        %25 = phi %17, %0
        %26 = return %20  @ maybe
        x: %0
        rest: %19
        a: %18
        more: %21
        v: %22
        s: %24
        q: %23
        whole: %25
        r: %20
        "#,
    );
}

#[test]
fn annotations_are_read_in_quotes_too() {
    let text = r#"
def f(a: "torch.Tensor", b: Optional["T"] = None) -> "list[int]": ...
x: int = 1
y: int
"#;
    check(
        text,
        "<module>",
        r#"
        %0 = free torch
        %1 = %0.Tensor
        %2 = free Optional
        %4 = %2["T"]
        %6 = free list
        %7 = free int
        %8 = %6[%7]
        %9 = function f
        %11 = free int
        %12 = annotated %11 1
        %13 = free int
        %14 = undefined
        %15 = annotated %13 %14
        f: %9
        x: %12
        "#,
    );
}

#[test]
fn stores_and_augmented_stores() {
    let text = r#"
def f(a, i, v):
    a.x = v
    a[i, ::2] = v
    a.x += v
    a[i] *= v
    b, (c, *d) = v, a
    c, d = d, c
    del a.x, a[i], b
    return b
"#;
    check(
        text,
        "f",
        r#"
        %0 = param 0
        %1 = param 1
        %2 = param 2
        %3 = %0.x = %2
        %6 = slice None:None:2
        %7 = tuple %1, %6
        %8 = %0[%7] = %2
        %9 = %0.x
        %10 = %9 Add= %2
        %11 = %0.x = %10
        %12 = %0[%1]
        %13 = %12 Mul= %2
        %14 = %0[%1] = %13
        %15 = tuple %2, %0
        %16 = unpack %0 0
        %17 = unpack %0 1 rest
        %18 = tuple %17, %16
        %19 = delete %0
        %20 = delete %0
        %21 = undefined
        %22 = return %21
        %23 = undefined
        a: %0
        i: %1
        v: %2
        d: %16
        c: %17
        b: %23
        "#,
    );
}

#[test]
fn calls_keep_their_arguments_in_order() {
    let text = r#"
def f(k, g, a):
    k[g](a, *a, n=1, **g)
    return k.run(x)(y) if a < 1 < g else not a
"#;
    check(
        text,
        "f",
        r#"
        %0 = param 0
        %1 = param 1
        %2 = param 2
        %3 = %0[%1]
        %5 = call %3(%2, *%2, n=1, **%1)
        %7 = %2 Lt 1
        %8 = 1 Lt %1  @ %7
        %9 = and %7, %8
        %10 = %0.run  @ %9
        %11 = free x  @ %9
        %12 = call %10(%11)  @ %9
        %13 = free y  @ %9
        %14 = call %12(%13)  @ %9
        %15 = Not %2  @ not %9
        %16 = select %9 ? %14 : %15
        %17 = return %16
        k: %0
        g: %1
        a: %2
        "#,
    );
}

#[test]
fn strings_with_parts() {
    let text = r#"
def f(x):
    return f"a{x}b" "c", f"{x:>{w}}", f"{x=}", "a" "b", f"plain"
"#;
    check(
        text,
        "f",
        r#"
        %0 = param 0
        %3 = format "a", %0, "bc"
        %5 = free w
        %6 = format ">", %5
        %7 = %6 Mod %0
        %8 = format %7
        %11 = "" Mod %0
        %12 = format "x=", %11
        %15 = tuple %3, %8, %12, "ab", "plain"
        %16 = return %15
        x: %0
        "#,
    );
}

#[test]
fn with_enters() {
    let text = r#"
def f(x):
    with no_grad(), device(x) as d:
        x = g()
    return x, d
"#;
    check(
        text,
        "f",
        r#"
        %0 = param 0
        %1 = free no_grad
        %2 = call %1()
        %3 = enter %2
        %4 = free device
        %5 = call %4(%0)
        %6 = enter %5
        %7 = free g
        %8 = call %7()
        %9 = tuple %8, %6
        %10 = return %9
        x: %8
        d: %6
        "#,
    );
}

#[test]
fn deleted_and_unassigned_names_are_undefined() {
    let text = r#"
def f():
    a
    a = 1
    del a
    return a
"#;
    check(
        text,
        "f",
        r#"
        %0 = undefined
        %2 = undefined
        %3 = return %2
        %4 = undefined
        a: %4
        "#,
    );
}

#[test]
fn module_and_class_bodies_fall_back() {
    let text = r#"
class C:
    x = x
    y: int
    def m(self): return x
"#;
    check(
        text,
        "C",
        r#"
        %0 = free x
        %1 = free int
        %2 = undefined
        %3 = annotated %1 %2
        %4 = function C.m
        x: %0
        m: %4
        "#,
    );
}
