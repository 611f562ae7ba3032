//! Types as a file spells them, for the oldest torch that the project supports.

use super::imports;
use super::scope::Scope;
use super::signature::{Base, Type};
use super::slice::mentions;
use crate::facts::{Facts, MODULE, Op};
use crate::finding::Edit;

/// `List` of the typing module is the only list that an older torch takes.
const BUILTIN_LISTS: (u32, u32) = (2, 7);

/// From here on there may be no list of tensors (facts of `infer_schema`: `Tensor[]?`).
const OPTIONAL_TENSOR_LISTS: (u32, u32) = (2, 15);

/// Spells types in one file.
#[derive(Clone, Copy)]
pub(super) struct Spelling<'s, 'a> {
    scope: &'s Scope<'a>,
    pipe: bool,
    builtin_lists: bool,
    short: bool,
    torch: (u32, u32),
}

impl<'s, 'a> Spelling<'s, 'a> {
    pub(super) fn new(scope: &'s Scope<'a>, torch: (u32, u32)) -> Self {
        let facts = scope.facts();
        let annotations = || {
            let all = facts.functions.iter();
            all.flat_map(|f| f.params.iter().filter_map(|p| p.annotation).chain(f.returns))
        };
        let texts = || annotations().map(|a| scope.text(a.span));
        let writes = |word: &'static str| texts().any(move |text| mentions(text, word));
        // Old spellings stay where a file has them; a new annotation needs a Python that can evaluate it.
        let pipe = match (texts().any(|text| text.contains(" | ")), writes("Optional")) {
            (true, true) => annotations().any(|a| !a.quoted && scope.text(a.span).contains(" | ")),
            (false, false) => scope.types().is_some_and(|types| types.neighbours_write_pipes(scope.at.file)),
            (pipe, _) => pipe,
        };
        Self {
            scope,
            pipe,
            builtin_lists: torch >= BUILTIN_LISTS && !writes("List"),
            short: is_short(scope),
            torch,
        }
    }

    /// The type in place of an annotation, which keeps its way of saying what may be absent.
    pub(super) fn spell_anew(&self, ty: Type, written: Option<&str>) -> Option<String> {
        let pipe = match written {
            Some(text) if mentions(text, "Optional") => false,
            Some(text) if text.contains(" | ") => true,
            _ => self.pipe,
        };
        Self { pipe, ..*self }.spell(ty)
    }

    /// The type as an annotation. `None`: no schema has it.
    pub(super) fn spell(&self, ty: Type) -> Option<String> {
        let one = match ty.base {
            Base::Tensor if self.short => "Tensor",
            Base::Tensor => "torch.Tensor",
            Base::Int => "int",
            Base::Float => "float",
            Base::Bool => "bool",
            Base::Number => "torch.types.Number",
            Base::Text | Base::TritonDtype => "str",
            Base::Dtype => "torch.dtype",
            Base::Device => "torch.device",
            Base::None | Base::Other => return None,
        };
        if ty.list && matches!(ty.base, Base::Text | Base::Dtype | Base::Device | Base::TritonDtype) {
            return None;
        }
        let is_refused = match ty.base {
            Base::Tensor => self.torch < OPTIONAL_TENSOR_LISTS,
            Base::Number => true,
            _ => false,
        };
        (!(ty.list && ty.optional && is_refused)).then(|| self.written(one, ty))
    }

    fn written(&self, one: &str, ty: Type) -> String {
        let list = match (ty.list, self.builtin_lists) {
            (false, _) => one.to_string(),
            (true, true) => format!("list[{one}]"),
            (true, false) => format!("List[{one}]"),
        };
        match (ty.optional, self.pipe) {
            (false, _) => list,
            (true, true) => format!("{list} | None"),
            (true, false) => format!("Optional[{list}]"),
        }
    }

    /// The imports that annotations written here need. `None`: a name is taken by something else.
    pub(super) fn imports(&self, texts: &[String]) -> Option<Vec<Edit>> {
        let scope = self.scope;
        let file = scope.program.file(scope.at.file);
        let start = scope.function().span.start;
        let mut edits = Vec::new();
        for name in ["Optional", "List"] {
            if !texts.iter().any(|t| mentions(t, name)) {
                continue;
            }
            let (bound, edit) = imports::member(file, "typing", name, start, |i| {
                super::scope::absolute_module(scope.program, scope.at.file, i.level, scope.name(i.module))
            });
            if bound != name || edit.is_some() && binds(&file.facts, name) {
                return None;
            }
            edits.extend(edit);
        }
        if texts.iter().any(|t| mentions(t, "torch")) {
            edits.extend(imports::module(file, "torch", start));
        }
        Some(edits)
    }
}

fn binds(facts: &Facts, name: &str) -> bool {
    facts.module().bindings.iter().any(|(n, _)| facts.name(*n) == name)
}

/// `Tensor` is how the signature, or else the file, says it, and the module has that name.
pub(super) fn is_short(scope: &Scope) -> bool {
    let facts = scope.facts();
    let imported = facts.module().bindings.iter().any(|&(name, value)| {
        facts.name(name) == "Tensor" && matches!(facts.module().body.op(value), Op::Import(i) if facts.imports[i.index()].function == MODULE && !facts.imports[i.index()].type_checking)
    });
    if !imported {
        return false;
    }
    let function = scope.function();
    let own = function.params.iter().filter_map(|p| p.annotation).chain(function.returns);
    let mut texts = own.map(|a| scope.text(a.span)).filter(|t| t.contains("Tensor")).peekable();
    texts.peek().is_none() || texts.any(|t| mentions(t, "Tensor"))
}
