//! Which ops a project registers, in every form that people write, and what is known of their bodies.

#![allow(clippy::unwrap_used)] // a panic is a failed test

#[path = "support/project.rs"]
mod project;

use opwright::pipeline;
use opwright::program::Declared;
use project::TestProject;

/// Each op as `name | declared | mutates | unresolved`, in order.
fn ops(files: &[(&str, &str)]) -> Vec<String> {
    let project = TestProject::of(files.iter().copied(), None);
    let checked = pipeline::check(&project.input(project.files()));
    let program = &checked.program;
    let row = |op: &opwright::program::Op| {
        let declared = match &op.declared {
            Declared::Names(names) => names.join(","),
            other => format!("{other:?}"),
        };
        let func = op.func.map(|i| &program.functions[i]);
        let name = |p: u16| program.param_name(func.unwrap().function, p).to_owned();
        let list = |params: Vec<u16>| params.into_iter().map(name).collect::<Vec<_>>().join(",");
        let mutates = func.map_or("?".into(), |f| list(f.mutates.iter().map(|w| w.param).collect()));
        let unresolved = func.map_or("?".into(), |f| list(f.unresolved.iter().map(|(p, _)| *p).collect()));
        format!("{} | {declared} | {mutates} | {unresolved}", op.name)
    };
    program.ops.iter().map(row).collect()
}

/// The ops of one file; `f` writes `out`.
fn ops_of(code: &str) -> Vec<String> {
    let text = format!(
        "import functools\nimport torch\nfrom torch.library import Library\n\n\ndef f(x: torch.Tensor, out: torch.Tensor) -> None:\n    out.copy_(x)\n\n\n{code}"
    );
    ops(&[("m.py", &text)])
}

#[test]
fn a_decorator_that_is_kept_in_a_name_registers_all_that_it_is_applied_to() {
    let helper = "import torch\n\n\ndef _register_custom_op(lib):\n    def register(fn):\n        from torch.library import infer_schema\n\n        name = fn.__name__\n        lib.define(name + infer_schema(fn, mutates_args={}))\n        lib.impl(name, fn, \"CUDA\")\n        return fn\n\n    return register\n";
    let lib = "import torch\n\nfrom .utils import _register_custom_op\n\nlib = torch.library.Library(\"acme\", \"FRAGMENT\")\nregister = _register_custom_op(lib)\n\n\n@register\ndef _a(x: torch.Tensor) -> torch.Tensor:\n    return x + 1\n\n\n@register\ndef _b(x: torch.Tensor) -> torch.Tensor:\n    return x + 2\n";
    // In another module the same decorator is known by its name alone.
    let more = "import torch\n\nfrom .lib import register\n\n\n@register\ndef _c(x: torch.Tensor) -> torch.Tensor:\n    x.zero_()\n    return x + 3\n";
    let files = [
        ("torchao/__init__.py", ""),
        ("torchao/utils.py", helper),
        ("torchao/lib.py", lib),
        ("torchao/more.py", more),
    ];
    assert_eq!(ops(&files), ["acme::a |  |  | ", "acme::b |  |  | ", "acme::c |  | x | "]);
}

#[test]
fn a_partial_of_a_registrar_registers() {
    let code = "register = functools.partial(torch.library.custom_op, mutates_args=(\"out\",))\nregister(\"acme::keyword\", f)\nnamed = functools.partial(torch.library.custom_op, \"acme::position\")\nnamed(f, mutates_args=())\n";
    assert_eq!(ops_of(code), ["acme::keyword | out | out | ", "acme::position |  | out | "]);
}

#[test]
fn a_library_that_a_function_keeps_in_a_global_is_a_library() {
    let code = "_lib = None\n\n\ndef enable():\n    global _lib\n    _lib = torch.library.Library(\"aten\", \"IMPL\")\n    _lib.impl(\"aten::foo\", f, \"CUDA\")\n";
    assert_eq!(ops_of(code), ["aten::foo | Unknown | out | "]);
}

#[test]
fn names_are_built_from_constants_and_loops() {
    let code = "NS = \"acme\"\nfor n in range(1, 3):\n    torch.library.custom_op(f\"{NS}::f{n}\", f, mutates_args=(\"out\",))\nfor kind in (\"a\", \"b\"):\n    torch.library.custom_op(NS + \"::\" + kind, f, mutates_args=(\"out\",))\n";
    assert_eq!(
        ops_of(code),
        [
            "acme::f1 | out | out | ",
            "acme::f2 | out | out | ",
            "acme::a | out | out | ",
            "acme::b | out | out | "
        ]
    );
}

#[test]
fn what_native_code_does_is_open() {
    // A module that is built and loaded when it is first asked for, behind classes, caches and dataclasses.
    let jit = "import abc\nimport dataclasses\nimport functools\n\nimport native_loader\n\n\nclass Spec(abc.ABC):\n    def load(self):\n        ...\n\n    def build(self):\n        return self.load()\n\n\n@dataclasses.dataclass\nclass CppSpec(Spec):\n    name: str\n\n    def load(self):\n        return native_loader.load_module(self.name)\n\n\n@functools.cache\ndef module():\n    return CppSpec(\"rope\").build()\n";
    let ops_py = "import torch\n\nfrom .jit import module\n\n\n@torch.library.custom_op(\"acme::rope\", mutates_args=(\"out\",))\ndef rope(x: torch.Tensor, out: torch.Tensor) -> None:\n    module().rope(x, out)\n";
    let files = [("p/__init__.py", ""), ("p/jit.py", jit), ("p/ops.py", ops_py)];
    assert_eq!(ops(&files), ["acme::rope | out |  | x,out"]);
    // An address says as much as a tensor; so does an object that holds one.
    let address = "import elsewhere\n\n\n@torch.library.custom_op(\"acme::a\", mutates_args=())\ndef a(x: torch.Tensor, out: torch.Tensor, n: int) -> None:\n    elsewhere.run(int(out.data_ptr()), n)\n\n\n@torch.library.custom_op(\"acme::b\", mutates_args=())\ndef b(x: torch.Tensor, out: torch.Tensor) -> None:\n    elsewhere.run(type(\"Binding\", (), {\"out\": out})())\n";
    assert_eq!(ops_of(address), ["acme::a |  |  | out", "acme::b |  |  | out"]);
}

#[test]
fn cpp_sources_say_what_their_ops_write() {
    let cpp = "TORCH_LIBRARY_FRAGMENT(acme_C, m) {\n  m.def(\"scale(Tensor! out, \"\n        \"Tensor x) -> ()\");\n}\nTORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) { ops.def(\"late(Tensor x, Tensor! out) -> ()\"); }\n";
    let py = "import torch\n\n\n@torch.library.custom_op(\"acme::f\", mutates_args=(\"out\",))\ndef f(x: torch.Tensor, out: torch.Tensor) -> None:\n    torch.ops.acme_C.scale(out, x)\n\n\n@torch.library.custom_op(\"acme::g\", mutates_args=())\ndef g(x: torch.Tensor, out: torch.Tensor) -> None:\n    torch.ops._C.late(x, out)\n";
    assert_eq!(
        ops(&[("csrc/ops.cu", cpp), ("m.py", py)]),
        ["acme::f | out | out | ", "acme::g |  | out | "]
    );
    // Without the sources nothing is guessed from a name.
    assert_eq!(ops(&[("m.py", py)]), ["acme::f | out |  | x,out", "acme::g |  |  | x,out"]);
}

#[test]
fn a_helper_that_hands_the_decorator_on_is_a_registrar() {
    // The name alone goes through it: torch's decorator comes back, for the caller to apply.
    let code = "def kernel_op(name, *, mutates_args=()):\n    return torch.library.custom_op(name, mutates_args=mutates_args)\n\n\n@kernel_op(\"acme::fill\", mutates_args=(\"out\",))\ndef fill(x: torch.Tensor, out: torch.Tensor) -> None:\n    out.copy_(x)\n";
    assert_eq!(ops_of(code), ["acme::fill | out | out | "]);
    let fixed = "def reg(name):\n    return torch.library.custom_op(f\"acme::{name}\", mutates_args=())\n\n\n@reg(\"fill\")\ndef fill(x: torch.Tensor, out: torch.Tensor) -> None:\n    out.copy_(x)\n";
    assert_eq!(ops_of(fixed), ["acme::fill |  | out | "]);
}
