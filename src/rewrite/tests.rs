//! Whole diffs of small projects, in each style.

use super::*;
use crate::extract::extract;
use crate::facts::{MODULE, Op};
use crate::program::*;
use crate::source::{FileId, Place, Source, Span};
use std::sync::Arc;

struct Spec<'a>(&'a str, &'a [&'a str], Vec<ReturnShape>, bool);

fn program(text: &str, specs: Vec<Spec>) -> Program {
    let source = Arc::new(Source::new("kernels/ops.py", text));
    let facts = Arc::new(extract(&source));
    assert!(facts.syntax_errors.is_empty(), "{:?}", facts.syntax_errors);
    let file = ProgramFile {
        source,
        facts: facts.clone(),
        module: "kernels.ops".into(),
        is_package: false,
        vendored: false,
        cold: false,
    };
    let mut program = Program {
        files: vec![file],
        ..Program::default()
    };
    program.modules.insert("kernels.ops".into(), FileId(0));
    for Spec(name, mutates, shapes, without_grad) in specs {
        let (id, f) = facts.functions().find(|(_, f)| facts.name(f.qualname) == name).unwrap();
        let function = FunctionRef {
            file: FileId(0),
            function: id,
        };
        let returns: Vec<ValueId> = f
            .body
            .iter()
            .filter_map(|(_, v)| match v.op {
                Op::Return(v) => Some(v),
                _ => None,
            })
            .collect();
        let place = Place {
            file: FileId(0),
            span: Span::at(0),
        };
        let mutates = mutates
            .iter()
            .map(|m| {
                let param = f.params.iter().position(|p| facts.name(p.name) == *m).unwrap() as u16;
                Write {
                    param,
                    maybe_copy: None,
                    chain: vec![],
                }
            })
            .collect();
        let launches = f
            .body
            .iter()
            .filter_map(|(v, value)| match value.op {
                Op::Call(call) if matches!(f.body.op(f.body.call(call).callee), Op::Index(..)) => Some(Launch {
                    function,
                    call: Some(call),
                    value: Some(v),
                    place,
                    kernels: vec![],
                    via: None,
                }),
                _ => None,
            })
            .collect();
        program.functions.push(Func {
            function,
            launches,
            registration: Registration::No,
            op: None,
            inline: None,
            mutates,
            mutates_state: vec![],
            unresolved: vec![],
            returns: shapes
                .into_iter()
                .enumerate()
                .map(|(i, shape)| ReturnPath {
                    span: Span::at(0),
                    value: returns.get(i).copied(),
                    shape,
                })
                .collect(),
            returns_alias_of: vec![],
            schema: Ok(String::new()),
            hot: false,
            cold: false,
            callers: vec![],
            without_grad,
        });
    }
    let _ = MODULE;
    program
}

fn fixed(program: &Program, style: &str) -> String {
    let knowledge = Knowledge::with_overlays(&[("vllm.toml", VLLM), ("sglang.toml", SGLANG)]).unwrap();
    let options = Options {
        style: style.into(),
        ..Options::default()
    };
    let rewrite = Rewrite::new(program, &knowledge, &options);
    let mut edits = Vec::new();
    let mut notes = String::new();
    for i in 0..program.functions.len() {
        let fix = rewrite.register(i).1;
        notes.push_str(&format!("# {} [{:?}] {:?}\n", fix.title, fix.safety, fix.reasons));
        edits.extend(fix.edits.into_iter().map(|e| e.1));
    }
    edits.sort();
    edits.dedup();
    let mut text = program.files[0].source.text.to_string();
    for edit in edits.iter().rev() {
        text.replace_range(edit.span.range(), &edit.content);
    }
    let again = extract(&Source::new("a.py", text.as_str()));
    assert!(again.syntax_errors.is_empty(), "{text}\n{:?}", again.syntax_errors);
    notes + &text
}

const VLLM: &str = r#"
[style]
module = "vllm.utils.torch_utils"
name = "direct_register_custom_op"
form = "call"
namespace = "vllm"
op = "op_name"
implementation = "op_func"
mutated = "mutates_args"
fake = "fake_impl"
one-device = true
"#;
const SGLANG: &str = r#"
[style]
module = "sglang.srt.utils.custom_op"
name = "register_custom_op"
form = "decorator"
namespace = "sglang"
op = "op_name"
mutated = "mutates_args"
fake = "fake_impl"
fake-like = "out_shape"
one-device = true
"#;

const FRESH: &str = r#"import torch
import triton
import triton.language as tl


@triton.jit
def _soft_clip_kernel(src, dst, n, limit, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(dst + i, tl.load(src + i, mask=i < n) * limit, mask=i < n)


# Clips softly.
@torch.no_grad()
def soft_clip(
    signal: torch.Tensor,  # any shape
    limit: float = 3.0,
) -> torch.Tensor:
    """Clip.

    Softly.
    """

    # The output.
    result = torch.empty_like(signal)
    count = signal.numel()
    if count == 0:
        return result
    with torch.cuda.device(signal.device):
        _soft_clip_kernel[(triton.cdiv(count, 256),)](signal, result, count, limit, B=256)
    return result  # done


def pair(x: torch.Tensor, rows: int, *, wide: bool = False):
    M, N = x.shape
    assert M == rows
    if wide:
        N = N * 2
        grid = (M, 2)
    else:
        grid = (M,)
    a = x.new_empty(M, N)
    b = torch.zeros((M,), dtype=torch.float32, device=x.device)
    _soft_clip_kernel[grid](x, a, b, N)
    return a, b


def scale_(x: torch.Tensor, out: torch.Tensor | None = None, eps: float = 1e-6):
    if out is None:
        out = torch.empty_like(x)
    _soft_clip_kernel[(1,)](x, out, 1, eps)
    return out


def tail(x: torch.Tensor) -> None:
    _soft_clip_kernel[(1,)](x, x, 1, 2)
"#;

fn one() -> ReturnShape {
    ReturnShape::One(Returned::Fresh(0))
}

#[test]
fn show() {
    let specs = vec![
        Spec("soft_clip", &[], vec![one(), one()], true),
        Spec(
            "pair",
            &[],
            vec![ReturnShape::Tuple(vec![Returned::Fresh(0), Returned::Fresh(1)])],
            true,
        ),
        Spec(
            "scale_",
            &["out"],
            vec![ReturnShape::One(Returned::Alias {
                params: vec![1],
                or_fresh: true,
                maybe: false,
            })],
            true,
        ),
        Spec("tail", &["x"], vec![ReturnShape::None], true),
    ];
    let program = program(FRESH, specs);
    for style in ["custom-op", "library", "vllm", "sglang"] {
        println!("################ {style}\n{}", fixed(&program, style));
    }
}
