use super::super::modules::Modules;
use super::super::resolve::Resolver;
use super::{KernelEffects, kernels};
use crate::extract::extract;
use crate::knowledge::Knowledge;
use crate::link::conditions::{Binding, Condition, Term};
use crate::program::ProgramFile;
use crate::source::Source;
use crate::words::Words;
use std::collections::BTreeMap;
use std::sync::Arc;

const HEAD: &str = "import triton\nimport triton.language as tl\n";

fn files(texts: &[(&str, &str)]) -> Vec<ProgramFile> {
    let file = |(path, text): &(&str, &str)| {
        let source = Arc::new(Source::new(*path, *text));
        ProgramFile {
            facts: extract(&source).into(),
            module: path.trim_end_matches(".py").trim_end_matches("/__init__").replace('/', "."),
            is_package: path.ends_with("__init__.py"),
            vendored: false,
            cold: false,
            named: false,
            words: Arc::new(Words::of(&source.text)),
            source,
        }
    };
    texts.iter().map(file).collect()
}

/// Effects by function name, with the names of its parameters.
fn effects_of(texts: &[(&str, &str)]) -> BTreeMap<String, (KernelEffects, Vec<String>)> {
    let files = files(texts);
    let knowledge = Knowledge::embedded();
    let modules = Modules::new(&files, &[]);
    let resolver = Resolver::new(&files, &modules, &knowledge);
    let found = kernels(&resolver, &knowledge);
    let named = found.into_iter().map(|(kernel, effects)| {
        let function = resolver.function(kernel.function);
        let name = resolver.text(kernel.function.file, function.name).to_owned();
        let params = function
            .params
            .iter()
            .map(|p| resolver.text(kernel.function.file, p.name).to_owned())
            .collect();
        (name, (effects, params))
    });
    named.collect()
}

/// `kernel: writes a b | pointees c | unresolved d`, one line per function, sorted.
fn summary(texts: &[(&str, &str)]) -> String {
    let mut lines = Vec::new();
    for (name, (effects, params)) in effects_of(texts) {
        let names = |indices: &mut dyn Iterator<Item = u16>| indices.map(|i| params[i as usize].clone()).collect::<Vec<_>>().join(" ");
        let mut line = format!("{name}: writes {}", names(&mut effects.writes.iter().map(|w| w.param)));
        if !effects.pointees.is_empty() {
            line += &format!(" | pointees {}", names(&mut effects.pointees.iter().map(|w| w.param)));
        }
        if !effects.unresolved.is_empty() {
            line += &format!(" | unresolved {}", names(&mut effects.unresolved.iter().map(|(p, _)| *p)));
        }
        lines.push(line.trim_end().replace("  ", " "));
    }
    lines.join("\n")
}

/// The same for one file that begins with the usual imports.
fn one(body: &str) -> String {
    summary(&[("m.py", &format!("{HEAD}{body}"))])
}

#[test]
fn the_base_is_written_and_not_the_offsets() {
    let text = "
@triton.jit
def k(x_ptr, idx_ptr, out_ptr, n, stride, B: tl.constexpr):
    offs = tl.program_id(0) * B + tl.arange(0, B)
    rows = tl.load(idx_ptr + offs, mask=offs < n)
    tl.store(out_ptr + rows * stride + offs, tl.load(x_ptr + offs), mask=offs < n)
";
    assert_eq!(one(text), "k: writes out_ptr");
    let (effects, _) = effects_of(&[("m.py", &format!("{HEAD}{text}"))]).remove("k").unwrap();
    assert_eq!(effects.reads, [0, 1]);
    assert_eq!(effects.writes[0].chain[0].what, "stored through `out_ptr`");
}

#[test]
fn every_way_of_storing() {
    let text = "
@triton.jit
def atomic(p, q):
    tl.atomic_add(p, 1)
    q.atomic_max(tl.load(q))
@triton.jit
def blocks(p, q, n, B: tl.constexpr):
    b = tl.make_block_ptr(p, (n,), (1,), (0,), (B,), (0,))
    b = tl.advance(b, (B,))
    tl.store(b, tl.load(tl.make_block_ptr(base=q, shape=(n,), strides=(1,), offsets=(0,), block_shape=(B,), order=(0,))))
@triton.jit
def descriptors(p, q, d, n, B: tl.constexpr):
    out = tl.make_tensor_descriptor(p, shape=[n, n], strides=[n, 1], block_shape=[B, B])
    src = tl.make_tensor_descriptor(q, [n, n], [n, 1], [B, B])
    out.store([0, 0], src.load([0, 0]))
    d.scatter(src.load([0, 0]), 0, 0)
@triton.jit
def keyword(value, pointer):
    tl.store(value=tl.load(value), pointer=pointer)
";
    assert_eq!(
        one(text),
        "atomic: writes p q\nblocks: writes p\ndescriptors: writes p d\nkeyword: writes pointer"
    );
}

#[test]
fn pointers_that_join_and_loop_stay_apart() {
    let text = "
@triton.jit
def loops(a, b, n, B: tl.constexpr):
    pa = a + tl.arange(0, B)
    pb = b + tl.arange(0, B)
    for i in range(0, n):
        tl.store(pb, tl.load(pa))
        pa += B
        pb += B
@triton.jit
def rotate(a, b, c, n):
    p, q, r = a, b, c
    for i in range(n):
        tl.store(p, 0)
        p, q, r = q, r, p
@triton.jit
def where(a, b, c, n):
    tl.store(tl.where(n > 0, a, b), tl.load(c))
@triton.jit
def branch(a, b, c, F: tl.constexpr):
    if F:
        p = a
    else:
        p = b
    tl.store(p, tl.load(c))
";
    assert_eq!(
        one(text),
        "branch: writes a b\nloops: writes b\nrotate: writes a b c\nwhere: writes a b"
    );
}

#[test]
fn helpers_pass_addresses_and_conditions() {
    let text = "
@triton.jit
def put(dst, src, DO: tl.constexpr):
    if DO:
        tl.store(dst, tl.load(src))
@triton.jit
def move(p, off):
    return p + off, off
@triton.jit
def k(a, b, c, n, HAS_B: tl.constexpr):
    put(a, c, True)
    put(b, c, DO=HAS_B)
    put(c, a, False)
    p, _ = move(a, n * 2)
    tl.store(p, 0)
@triton.jit
def recursive(p, n):
    if n > 0:
        recursive(p, n - 1)
    tl.store(p, 0)
";
    assert_eq!(one(text), "k: writes a b\nmove: writes\nput: writes dst\nrecursive: writes p");
    let (effects, _) = effects_of(&[("m.py", &format!("{HEAD}{text}"))]).remove("k").unwrap();
    assert_eq!(effects.writes[0].when, Condition::True);
    assert_eq!(effects.writes[1].when, Condition::truthy(Term::Param(4)));
    let whats: Vec<_> = effects.writes[1].chain.iter().map(|s| s.what.as_str()).collect();
    assert_eq!(whats, ["stored through `dst`", "passed to `put` as `dst`"]);
}

#[test]
fn conditions_speak_of_parameters() {
    let text = "
@triton.heuristics({'HAS_Z': lambda args: args['z'] is not None})
@triton.jit
def k(x, y, z, n, HAS_Z: tl.constexpr, MODE: tl.constexpr):
    if y is not None and MODE == 2:
        tl.store(y, 0)
    if not HAS_Z:
        return
    tl.store(z, 1)
";
    let (effects, _) = effects_of(&[("m.py", &format!("{HEAD}{text}"))]).remove("k").unwrap();
    let mode = Condition::equal(Term::Param(5), Term::Literal(crate::link::conditions::Literal::Int(2)));
    assert_eq!(effects.writes[0].when, Condition::is_none(Term::Param(1)).not().and(mode));
    assert_eq!(effects.writes[1].when, Condition::truthy(Term::Param(4)));
    assert_eq!(
        effects.heuristics,
        [(4, Binding::Condition(Condition::is_none(Term::Param(2)).not()))]
    );
}

#[test]
fn pointer_tables_write_their_pointees() {
    let text = "
@triton.jit
def table(ptrs, x, n):
    p = tl.load(ptrs + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(p + n, tl.load(x))
@triton.jit
def integer(addr: tl.int64, x):
    tl.store(addr.to(tl.pointer_type(tl.float32)), tl.load(x))
@triton.jit
def cast(p, x):
    q = p.to(tl.pointer_type(tl.uint8))
    tl.store(q + 1, tl.load(x))
@triton.jit
def through(ptrs):
    cast(tl.load(ptrs), ptrs)
";
    let expected = "cast: writes p\ninteger: writes | pointees addr\ntable: writes | pointees ptrs\nthrough: writes | pointees ptrs";
    assert_eq!(one(text), expected);
}

#[test]
fn tuples_and_objects_of_pointers() {
    let text = "
from triton.language.core import _aggregate as aggregate
@aggregate
class Pair:
    src: tl.tensor
    dst: tl.tensor
    @triton.constexpr_function
    def __init__(self, src, dst):
        self.src = src
        self.dst = dst
    @triton.jit
    def run(self):
        tl.store(self.dst, tl.load(self.src))
@triton.jit
def object(a, b):
    pair = Pair(a, b)
    pair.run()
@triton.jit
def tuple_in(ptrs, x):
    tl.store(ptrs[1], tl.load(x))
@triton.jit
def tuple_out(a, b, x):
    tuple_in((a, b), x)
";
    assert_eq!(
        one(text),
        "object: writes b\nrun: writes self\ntuple_in: writes ptrs\ntuple_out: writes b"
    );
}

#[test]
fn what_is_not_known_is_said() {
    let text = "
from elsewhere import helper
@triton.jit
def unknown(p, q, n):
    helper(p + n * 4, n)
    tl.store(q, 0)
@triton.jit
def handed(p, FN: tl.constexpr):
    FN(p + 1)
@triton.jit
def store_one(p):
    tl.store(p, 1)
@triton.jit
def hands(p):
    handed(p, store_one)
@triton.jit
def assembly(p, q, x):
    tl.inline_asm_elementwise('st.global.u32 [$1], $2;', '=r,l,r', [p, tl.load(x)], dtype=tl.int32, is_pure=False, pack=1)
    tl.inline_asm_elementwise('mov.u64 a, $1; st.u32 [a], 0;', '=r,l', [q], dtype=tl.int32, is_pure=False, pack=1)
@triton.jit
def ambiguous(a, b):
    tl.store(a + b, 0)
";
    let expected = "ambiguous: writes a | unresolved b\nassembly: writes p | unresolved q\nhanded: writes | unresolved p\nhands: writes p\n\
                    store_one: writes p\nunknown: writes q | unresolved p";
    assert_eq!(one(text), expected);
}

#[test]
fn hooks_of_autotune_write() {
    let text = "
def clear(nargs):
    nargs['c'].zero_()
def configs():
    return [triton.Config({'B': b}, pre_hook=clear) for b in (1, 2)]
@triton.autotune(configs=configs(), key=['n'], reset_to_zero=['a'], restore_value=['b'])
@triton.jit
def k(a, b, c, d, n, B: tl.constexpr):
    tl.store(d, tl.load(a) + tl.load(b) + tl.load(c))
";
    assert_eq!(one(text), "k: writes a b c d");
}

#[test]
fn kernels_under_any_name() {
    let compat = "
try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None
gpu_jit = triton.jit
def my_jit(fn):
    return triton.jit(fn)
";
    let user = "
import functools
from .compat import triton, tl, gpu_jit, my_jit
part = functools.partial(triton.jit, do_not_specialize=['n'])
@gpu_jit
def a(p): tl.store(p, 0)
@my_jit
def b(p): tl.store(p, 0)
@triton.jit(do_not_specialize=['n'])
def c(p, n): tl.store(p, n)
@part
def d(p, n): tl.store(p, n)
def plain(p): tl.store(p, 0)
e = triton.jit(plain)
def factory():
    @triton.jit
    def inner(p): tl.store(p, 0)
    return inner
if True:
    class C:
        @triton.jit
        def method(p): tl.store(p, 0)
def not_a_kernel(p): pass
";
    let found = summary(&[("pkg/__init__.py", ""), ("pkg/compat.py", compat), ("pkg/user.py", user)]);
    let expected = ["a", "b", "c", "d", "inner", "method", "plain"]
        .map(|n| format!("{n}: writes p"))
        .join("\n");
    assert_eq!(found, expected);
}

#[test]
fn an_empty_descriptor_maker_is_the_real_one() {
    let op = "
import triton
import triton.language as tl
if hasattr(tl, 'make_tensor_descriptor'):
    make_tensor_descriptor = tl.make_tensor_descriptor
else:
    @triton.jit
    def make_tensor_descriptor(base, shape, strides, block_shape, _builder=None):
        return None
";
    let user = "
import triton
from .op import make_tensor_descriptor
@triton.jit
def k(p, n):
    d = make_tensor_descriptor(p, (n,), (1,), (16,))
    d.store([0], 0)
";
    assert!(summary(&[("pkg/__init__.py", ""), ("pkg/op.py", op), ("pkg/user.py", user)]).starts_with("k: writes p\n"));
}

#[test]
fn callers_tell_offsets_from_pointers() {
    let text = "
@triton.jit
def put(dst, where, value):
    tl.store(dst + where, value)
@triton.jit
def k(out, n, B: tl.constexpr):
    put(out, tl.program_id(0) * B, n * 2)
    tl.store(out, 0)
";
    assert_eq!(one(text), "k: writes out\nput: writes dst");
}

#[test]
fn launches_tell_offsets_from_pointers() {
    let text = "
@triton.jit
def k(first, second):
    tl.store(first + second, 0)
@triton.jit
def open(first, second):
    tl.store(first + second, 0)
def launch(x: torch.Tensor, y):
    k[(1,)](y.stride(0), x)
    open[(1,)](y, x.data_ptr())
";
    assert_eq!(one(text), "k: writes second\nopen: writes first | unresolved second");
}

#[test]
fn half_written_kernels_do_no_harm() {
    for text in [
        "@triton.jit\ndef k(p:\n",
        "@triton.jit\ndef k(*p, **q):\n    tl.store(*p, **q)\n",
        "@triton.jit\ndef k(p):\n    tl.store()\n    p.store\n",
    ] {
        one(text);
    }
}
