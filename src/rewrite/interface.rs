//! How the parameters of the public function become those of the op.
//!
//! The op takes what a schema has a type for. Annotations that are missing or that no schema takes are written anew in the
//! implementation's header; what nothing uses is not handed on.

use super::evidence;
use super::object::{self, Field};
use super::scope::Scope;
use super::signature::{Base, Type};
use super::spelling::Spelling;
use super::styles::Route;
use super::types::Types;
use crate::facts::{CompareOp, Const, Op, Param, ParamKind, ValueId};
use crate::finding::Edit;
use crate::program::{Func, FunctionRef, Refusal, RefusalKind};
use crate::source::Span;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The op's parameters, as far as they differ from the function's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Interface {
    /// Changes of the header, in place.
    pub(super) edits: Vec<Edit>,
    /// The whole list of parameters, where it is written anew.
    pub(super) params: Option<Vec<String>>,
    /// What the public function passes.
    pub(super) arguments: Vec<String>,
    /// Imports that new annotations need.
    pub(super) imports: Vec<Edit>,
    /// Fields that are handed on in place of the objects that hold them.
    pub(super) fields: Vec<Field>,
    /// Statements in front of the implementation's own.
    pub(super) preamble: Vec<String>,
    /// Some argument is not handed on as it is: the function cannot be the op itself.
    pub(super) converts: bool,
    /// What stands in the way.
    pub(super) blockers: Vec<String>,
    /// What is not proven.
    pub(super) doubts: Vec<String>,
}

/// One parameter of the op.
struct Slot<'p> {
    index: u16,
    param: &'p Param,
    /// Its new annotation; `None`: as written.
    annotation: Option<String>,
    /// It stands without its default.
    bare: bool,
    /// The op does not have it.
    dropped: bool,
    /// Its fields stand in its place.
    fields: Vec<Field>,
    /// What the public function passes, when it is not the name.
    passed: Option<String>,
}

/// Decides the op's parameters. `required`: optional ones that the public function fills, by the name of what it passes.
pub(super) fn interface(
    scope: &Scope,
    types: &Rc<Types>,
    func: &Func,
    route: &Route,
    torch: (u32, u32),
    required: &BTreeMap<u16, String>,
) -> Interface {
    let mut made = Interface::default();
    let spelling = Spelling::new(scope, torch);
    let none: &[Refusal] = &[];
    let refusals = func.schema.as_ref().err().map_or(none, |r| r);
    let mut slots = Vec::new();
    for (index, param) in (0u16..).zip(&scope.function().params) {
        let mut own = refusals.iter().filter(|r| r.param == Some(index));
        let refusal = own.next();
        slots.push(slot(
            scope,
            types,
            &spelling,
            (index, param),
            refusal,
            required.contains_key(&index),
            &mut made,
        ));
    }
    bare_before(&mut slots);
    let keyword_tensors = matches!(route, Route::CustomOp) && super::safety::has_keyword_only_tensor(scope);
    let positional_only = slots.iter().any(|s| s.param.kind == ParamKind::PositionalOnly);
    let converted = slots.iter().any(|s| s.dropped || !s.fields.is_empty() || s.passed.is_some());
    // Defaults may go in the op alone: the public function keeps its own.
    let bare = slots.iter().any(|s| s.bare && s.param.default_span.is_some());
    let rebuilt = converted || keyword_tensors || positional_only;
    made.converts = rebuilt || bare;
    if rebuilt {
        rebuild(scope, &spelling, &mut slots, keyword_tensors, &mut made);
    } else {
        made.edits = slots.iter().filter_map(edit).collect();
    }
    let kept = slots.iter().filter(|s| !s.dropped);
    made.arguments = kept
        .flat_map(|slot| {
            let name = scope.name(slot.param.name);
            let keyword = slot.param.kind == ParamKind::KeywordOnly;
            let pass = |name: &str, value: &str| if keyword { format!("{name}={value}") } else { value.to_string() };
            if slot.fields.is_empty() {
                let filled = required.get(&slot.index).map(String::as_str);
                return vec![pass(name, slot.passed.as_deref().or(filled).unwrap_or(name))];
            }
            slot.fields.iter().map(|f| pass(&f.name, &f.text)).collect()
        })
        .collect();
    let fields = slots.iter().flat_map(|s| &s.fields);
    made.fields = fields.cloned().collect();
    let own = slots.iter().filter(|s| !s.dropped).filter_map(|s| s.annotation.clone());
    let texts: Vec<String> = own.chain(made.fields.iter().filter_map(|f| spelling.spell(f.ty))).collect();
    match spelling.imports(&texts) {
        Some(imports) => made.imports = imports,
        None => made
            .blockers
            .push("a name of the typing module is bound to something else".to_string()),
    }
    made
}

fn slot<'p>(
    scope: &Scope,
    types: &Rc<Types>,
    spelling: &Spelling,
    (index, param): (u16, &'p Param),
    refusal: Option<&Refusal>,
    required: bool,
    made: &mut Interface,
) -> Slot<'p> {
    let mut slot = Slot {
        index,
        param,
        annotation: None,
        bare: required,
        dropped: false,
        fields: Vec::new(),
        passed: None,
    };
    let written = param.annotation.map(|a| Type::read(scope.text(a.span)));
    let absent = written.is_some_and(|ty| !ty.optional) && default_is_none(scope, param);
    if required {
        slot.annotation = spelling.spell(TENSOR);
        if written.is_some_and(|ty| !ty.is_tensor() || ty.list) {
            made.blockers.push(format!("`{}` is no tensor", scope.name(param.name)));
        }
        return slot;
    }
    let kind = refusal.map(|r| r.kind);
    match kind {
        None if !absent => return slot,
        // A keyword-only tensor is a matter of the style.
        Some(RefusalKind::Kind) if param.kind == ParamKind::KeywordOnly && !absent => return slot,
        Some(RefusalKind::Default) if !absent => {
            slot.bare = true;
            return slot;
        }
        _ => {}
    }
    if let Some(prefix) = triton_dtype(scope, param) {
        let name = scope.name(param.name);
        slot.annotation = Some("str".to_string());
        slot.bare = true;
        slot.passed = Some(format!("{name}.name"));
        made.preamble.push(format!("{name} = {prefix}.dtype({name})"));
        return slot;
    }
    let Some(known) = types.param(scope.at, index) else {
        let plain = matches!(
            param.kind,
            ParamKind::Positional | ParamKind::KeywordOnly | ParamKind::PositionalOnly
        );
        match object::fields(scope, types, param).filter(|_| plain) {
            Some(fields) => as_fields(spelling, fields, &mut slot, made),
            None => made.blockers.push(reason(scope, param, refusal)),
        }
        return slot;
    };
    if known.unused {
        slot.dropped = true;
        return slot;
    }
    if matches!(param.kind, ParamKind::Star | ParamKind::StarStar) {
        made.blockers.push(reason(scope, param, refusal));
        return slot;
    }
    let ty = Type {
        optional: known.ty.optional || default_is_none(scope, param),
        ..known.ty
    };
    if ty.list && !list_will_do(scope, index) {
        let name = scope.name(param.name);
        let new = format!("tuple({name})");
        let is_size = param.annotation.is_some_and(|a| scope.text(a.span).ends_with("Size"));
        let new = if is_size { format!("torch.Size({name})") } else { new };
        let kept = if ty.optional {
            format!("{name} if {name} is None else {new}")
        } else {
            new
        };
        made.preamble.push(format!("{name} = {kept}"));
    }
    match spelling.spell_anew(ty, param.annotation.map(|a| scope.text(a.span))) {
        Some(text) => slot.annotation = Some(text),
        None => made.blockers.push(reason(scope, param, refusal)),
    }
    if kind == Some(RefusalKind::Default) || !default_fits(scope, param) {
        slot.bare = true;
    }
    if !known.proven {
        made.doubts
            .push(format!("the type of `{}` is what its callers in view pass", scope.name(param.name)));
    }
    slot
}

/// The fields take the place of the object.
fn as_fields(spelling: &Spelling, fields: Vec<Field>, slot: &mut Slot, made: &mut Interface) {
    slot.bare = true;
    for field in &fields {
        if spelling.spell(field.ty).is_none() {
            made.blockers.push(format!("`{}`: its type has no schema", field.text));
        }
        if !field.proven {
            made.doubts
                .push(format!("`{}` is read before the call, and on every path", field.text));
        }
    }
    slot.fields = fields;
}

/// `tl` of `x: tl.dtype`.
fn triton_dtype<'a>(scope: &Scope<'a>, param: &Param) -> Option<&'a str> {
    let prefix = scope.text(param.annotation?.span).trim().strip_suffix(".dtype")?;
    (matches!(prefix, "tl" | "triton.language") && param.default.is_none()).then_some(prefix)
}

/// The body does nothing with a tuple that a list does not do too.
pub(super) fn list_will_do(scope: &Scope, param: u16) -> bool {
    let annotation = scope.function().params[param as usize].annotation;
    let text = annotation.map_or("", |a| scope.text(a.span)).to_lowercase();
    if !text.contains("tuple") && !text.contains("size") {
        return true;
    }
    let body = scope.body();
    let is = |v: ValueId| matches!(body.op(v), Op::Param(p) if p == param);
    let any = |items| body.items(items).iter().any(|&v| is(v));
    body.iter().all(|(_, value)| match value.op {
        Op::Call(call) => {
            let call = body.call(call);
            let takes_lists = matches!(
                scope.dotted(call.callee).as_deref(),
                Some("len" | "tuple" | "list" | "enumerate" | "zip" | "sum" | "torch.empty" | "torch.zeros")
            );
            takes_lists || !call.args.iter().any(|a| is(a.value))
        }
        Op::Binary(_, a, b) | Op::Augment(_, a, b) => !is(a) && !is(b),
        Op::Compare(CompareOp::Is | CompareOp::IsNot, ..) => true,
        Op::Compare(_, a, b) => !is(a) && !is(b),
        Op::Select(_, a, b) => !is(a) && !is(b),
        Op::Attr(a, _) => !is(a),
        Op::Tuple(items) | Op::List(items) | Op::Phi(items) | Op::Or(items) | Op::And(items) => !any(items),
        _ => true,
    }) && evidence::inside(scope).len() == 1
}

const TENSOR: Type = Type {
    base: Base::Tensor,
    list: false,
    optional: false,
};

pub(super) fn default_is_none(scope: &Scope, param: &Param) -> bool {
    let parent = &scope.facts().function(scope.function().parent).body;
    param.default.is_some_and(|v| matches!(parent.op(v), Op::Const(Const::None)))
}

/// A schema can hold the default of a parameter that had no type before: the first refusal hides later ones.
pub(super) fn default_fits(scope: &Scope, param: &Param) -> bool {
    let parent = FunctionRef {
        function: scope.function().parent,
        ..scope.at
    };
    let body = &scope.program.function(parent).body;
    let plain = |v: ValueId| match body.op(v) {
        Op::Const(Const::Float(_) | Const::BigNumber(_) | Const::Bytes | Const::Ellipsis) => {
            let text = scope.text(body.value(v).span);
            text.contains(|c: char| c.is_ascii_digit()) && !text.contains(['j', 'J', 'b', '\'', '"'])
        }
        Op::Const(_) => true,
        _ => false,
    };
    param.default.is_none_or(|v| match body.op(v) {
        Op::Unary(_, inner) => plain(inner),
        Op::Attr(..) => scope.text(body.value(v).span).starts_with("torch."),
        Op::Free(name) => scope.facts().module().binding(name).is_some_and(|bound| {
            let module = &scope.facts().module().body;
            matches!(module.op(bound), Op::Const(Const::Int(_) | Const::Bool(_) | Const::None))
        }),
        _ => plain(v),
    })
}

pub(super) fn reason(scope: &Scope, param: &Param, refusal: Option<&Refusal>) -> String {
    let name = scope.name(param.name);
    match refusal {
        Some(refusal) if refusal.kind != RefusalKind::Unannotated => format!("`{name}`: {}", refusal.reason),
        _ => format!("`{name}` has no annotation, and its use does not prove one"),
    }
}

/// A parameter without a default may not stand behind one with a default.
fn bare_before(slots: &mut [Slot]) {
    let last = slots.iter().rposition(|s| s.bare && s.param.kind != ParamKind::KeywordOnly);
    let Some(last) = last else { return };
    for slot in slots.iter_mut().take(last) {
        slot.bare = true;
    }
}

/// The change of one parameter where it stands.
fn edit(slot: &Slot) -> Option<Edit> {
    let param = slot.param;
    let drops = slot.bare && param.default_span.is_some();
    if slot.annotation.is_none() && !drops {
        return None;
    }
    let old_end = param.annotation.map_or(param.name_span.end, |a| a.span.end);
    let (start, new) = match (&slot.annotation, param.annotation) {
        (Some(text), Some(old)) => (old.span.start, text.clone()),
        (Some(text), None) => (param.name_span.end, format!(": {text}")),
        (None, _) => (old_end, String::new()),
    };
    if drops {
        return Some(Edit::replace(Span::new(start, param.span.end), new));
    }
    let Some(default) = param.default_span else {
        return Some(Edit::replace(Span::new(start, old_end), new));
    };
    // `x=None` becomes `x: T = None`.
    let end = if param.annotation.is_none() { default.start } else { old_end };
    let assign = if param.annotation.is_none() { " = " } else { "" };
    Some(Edit::replace(Span::new(start, end), format!("{new}{assign}")))
}

/// An annotation for a parameter that has none.
pub(super) fn annotated(param: &Param, text: &str) -> Edit {
    let assign = if param.default_span.is_some() { " = " } else { "" };
    let end = param.default_span.map_or(param.name_span.end, |d| d.start);
    Edit::replace(Span::new(param.name_span.end, end), format!(": {text}{assign}"))
}

/// Writes the list of parameters anew.
fn rebuild(scope: &Scope, spelling: &Spelling, slots: &mut [Slot], no_star: bool, made: &mut Interface) {
    if no_star {
        slots.iter_mut().for_each(|s| s.bare = true);
    }
    let mut params = Vec::new();
    let mut starred = no_star;
    for slot in slots.iter().filter(|s| !s.dropped) {
        let param = slot.param;
        if param.kind == ParamKind::KeywordOnly && !starred {
            starred = true;
            params.push("*".to_string());
        }
        if !slot.fields.is_empty() {
            let spelled = |f: &Field| Some(format!("{}: {}", f.name, spelling.spell(f.ty)?));
            params.extend(slot.fields.iter().filter_map(spelled));
            continue;
        }
        let annotation = slot
            .annotation
            .clone()
            .or_else(|| param.annotation.map(|a| scope.text(a.span).to_string()))
            .unwrap_or_default();
        let default = param.default_span.filter(|_| !slot.bare);
        let default = default.map_or(String::new(), |d| format!(" = {}", scope.text(d)));
        params.push(format!("{}: {annotation}{default}", scope.name(param.name)));
    }
    made.params = Some(params);
}
