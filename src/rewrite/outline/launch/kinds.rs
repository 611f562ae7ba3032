//! What the arguments of a launch are, and which of them mean the same in the module.

use super::super::super::kernel_use;
use super::super::super::origins;
use super::super::super::scope::{Kind, counts, imported};
use super::super::super::signature::{self, Base, Type};
use super::super::super::slice::Refused;
use super::super::super::spread::spread;
use super::super::evidence::{self, Role};
use super::super::region::Outliner;
use super::super::types::{Typed, is_schema_type};
use super::code::names_in;
use super::{Making, Written};
use crate::facts::{ArgKind, Name, Op, ValueId};
use crate::finding::Edit;
use crate::program::KernelId;
use crate::source::{FileId, Span};

impl Outliner<'_, '_> {
    /// A name of the module, or something that one holds.
    pub(super) fn is_of_module(&self, value: ValueId) -> bool {
        match self.scope.body().op(value) {
            Op::Free(name) => !self.locals.contains(&name),
            Op::Attr(object, _) => self.is_of_module(object),
            _ => false,
        }
    }

    pub(super) fn is_local(&self, name: &str) -> bool {
        let facts = self.scope.facts();
        self.locals.iter().any(|n| facts.name(*n) == name)
    }

    /// A dict of options that a module holds: no tensor is in it.
    pub(super) fn holds_constants(&self, value: ValueId) -> bool {
        let Op::Free(name) = self.scope.body().op(value) else {
            return false;
        };
        let own = self.scope.facts().module().binding(name).filter(|_| self.is_of_module(value));
        own.is_some_and(|bound| self.is_options(self.scope.at.file, bound, 4))
    }

    /// The value of a module is a dict of constants, there or where it is imported from.
    fn is_options(&self, file: FileId, bound: ValueId, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let facts = &self.scope.program.file(file).facts;
        let module = &facts.module().body;
        if let Op::Import(id) = module.op(bound) {
            let dotted = imported(self.scope.program, file, &facts.imports[id.index()]);
            let found = || {
                let (module, member) = dotted.rsplit_once('.')?;
                let &file = self.scope.program.modules.get(module)?;
                let facts = &self.scope.program.file(file).facts;
                let name = facts.names.iter().position(|n| &**n == member)?;
                Some((file, facts.module().binding(Name(name as u32))?))
            };
            return found().is_some_and(|(file, bound)| self.is_options(file, bound, depth));
        }
        let constant = |v: ValueId| matches!(module.op(v), Op::Const(_));
        let options = |v: ValueId| match module.op(v) {
            Op::Dict(items) => module.items(items).iter().all(|&v| constant(v)),
            Op::Call(call) => {
                let call = module.call(call);
                matches!(module.op(call.callee), Op::Free(n) if facts.name(n) == "dict") && call.args.iter().all(|a| constant(a.value))
            }
            _ => false,
        };
        match module.op(bound) {
            Op::Select(_, yes, no) => options(yes) && options(no),
            _ => options(bound),
        }
    }

    /// A constant, or something of the module.
    pub(super) fn means_the_same(&self, value: ValueId) -> bool {
        match self.scope.body().op(value) {
            Op::Const(_) => true,
            Op::Unary(_, a) => self.means_the_same(a),
            _ => self.is_of_module(value),
        }
    }

    /// What the kernel calls an argument.
    pub(super) fn param_name(&self, launch: ValueId, value: ValueId) -> Option<String> {
        let bound = self.bound(launch)?;
        let &(kernel, param, _) = bound.iter().find(|b| b.2 == value)?;
        let at = self.scope.program.kernel(kernel).function;
        let name = self.scope.program.param_name(at, param).to_lowercase();
        let name = name.strip_suffix("_ptr").unwrap_or(&name).trim_matches('_').to_string();
        (!name.is_empty()).then_some(name)
    }

    /// Made of what is handed over, by what a tensor says of itself and by numbers: what must be written for the paths in it.
    pub(super) fn derived(&self, written: Written, making: &Making) -> Option<Vec<Edit>> {
        let mut edits = Vec::new();
        if !self.is_plain(written.value, written.span, making, &mut edits, 12) {
            return None;
        }
        edits.sort();
        edits.dedup();
        // Names that stand for something else than their value here cannot be seen among the values.
        let paths: Vec<Edit> = edits.iter().map(|e| Edit::replace(e.span, "")).collect();
        let rest = signature::edited(self.scope, written.span, &paths);
        let names = names_in(&rest);
        let all = names
            .iter()
            .filter(|n| self.is_local(n))
            .all(|n| making.bare.contains_key(n) || making.constants.contains(n));
        all.then_some(edits)
    }

    /// `self.scale` that is an argument of its own, too: the parameter, and whether it is a tensor.
    fn handed_path(&self, value: ValueId, span: Span, making: &Making) -> Option<(String, bool)> {
        let own = self.scope.body().value(value).span;
        if !matches!(self.scope.body().op(value), Op::Attr(..)) || !span.contains(own) {
            return None;
        }
        let text = self.scope.text(own);
        let found = making.handed.iter().find(|h| !h.input.text.is_empty() && h.input.text == text)?;
        Some((found.input.param.clone(), found.input.ty.is_tensor()))
    }

    fn is_plain(&self, value: ValueId, span: Span, making: &Making, edits: &mut Vec<Edit>, depth: u32) -> bool {
        const ASKS: [&str; 5] = ["stride", "size", "numel", "element_size", "dim"];
        let Some(depth) = depth.checked_sub(1) else { return false };
        let body = self.scope.body();
        if !span.contains(body.value(value).span) {
            return self.means_the_same(value) || making.bare.values().any(|v| *v == value);
        }
        if let Some((param, _)) = self.handed_path(value, span, making) {
            edits.push(Edit::replace(body.value(value).span, param));
            return true;
        }
        let is_tensor =
            |v: ValueId| self.scope.kind(v) == Kind::Tensor || self.handed_path(v, span, making).is_some_and(|(_, tensor)| tensor);
        let mut plain = |v: ValueId| self.is_plain(v, span, making, edits, depth);
        match body.op(value) {
            Op::Const(_) => true,
            Op::Unary(_, a) => plain(a),
            Op::Binary(_, a, b) | Op::Compare(_, a, b) => plain(a) && plain(b),
            Op::Attr(object, name) => {
                self.is_of_module(value)
                    || is_tensor(object) && matches!(self.scope.name(name), "shape" | "dtype" | "ndim") && plain(object)
            }
            Op::Index(object, at) => {
                let shape = |v: ValueId| matches!(body.op(v), Op::Attr(o, name) if self.scope.name(name) == "shape" && is_tensor(o));
                (self.scope.kind(object) == Kind::Shape || shape(object)) && plain(object) && plain(at)
            }
            Op::Free(name) => self.is_of_module(value) || making.bare.contains_key(self.scope.name(name)),
            Op::Call(call) => {
                let call = body.call(call);
                let name = self.scope.dotted(call.callee).unwrap_or_default();
                let known = counts(&name) || matches!(name.as_str(), "min" | "max" | "len" | "int" | "bool");
                let asks = match body.op(call.callee) {
                    Op::Attr(object, name) => is_tensor(object) && ASKS.contains(&self.scope.name(name)) && plain(object),
                    _ => false,
                };
                (asks || known)
                    && call
                        .args
                        .iter()
                        .all(|a| !matches!(a.kind, ArgKind::Star | ArgKind::StarStar) && plain(a.value))
            }
            _ => false,
        }
    }

    /// What a callee out of view, or one that promises nothing, hands back; or an item of something that is no tensor.
    fn is_opaque(&self, value: ValueId) -> bool {
        let body = self.scope.body();
        match body.op(value) {
            Op::Call(call) => {
                let callee = body.call(call).callee;
                let of_tensor = match body.op(callee) {
                    Op::Attr(object, name) => {
                        self.scope.kind(object) == Kind::Tensor && self.scope.knowledge.torch.method(self.scope.name(name)).is_some()
                    }
                    _ => false,
                };
                let promised = |f| self.scope.program.function(f).returns.is_some();
                let name = self.scope.dotted(callee).unwrap_or_default();
                let known = name.starts_with("torch.")
                    || counts(&name)
                    || matches!(name.as_str(), "min" | "max" | "len" | "int" | "float" | "bool");
                !of_tensor && !known && !self.scope.project_function(callee).is_some_and(promised)
            }
            Op::Index(object, _) => !matches!(self.scope.kind(object), Kind::Tensor | Kind::Shape),
            _ => false,
        }
    }

    /// A collection that is not a display of integers: what is in it cannot be told.
    pub(super) fn is_collection(&self, value: ValueId) -> bool {
        let body = self.scope.body();
        let int = |v: &ValueId| self.scope.kind(*v) == Kind::Int;
        origins::may_be(body, value, &|op| match op {
            Op::Tuple(items) | Op::List(items) => {
                let items = body.items(items);
                items.is_empty() || !items.iter().all(int)
            }
            Op::Dict(_) | Op::Set(_) | Op::Collect(..) => true,
            Op::Call(call) => matches!(
                self.scope.dotted(body.call(call).callee).as_deref(),
                Some("tuple" | "list" | "dict" | "set" | "sorted" | "zip" | "map")
            ),
            _ => false,
        })
    }

    /// `triton.cdiv(…)`, `len(…)`: whatever it is made of.
    pub(super) fn is_count(&self, value: ValueId) -> bool {
        let body = self.scope.body();
        let Op::Call(call) = body.op(value) else { return false };
        let name = self.scope.dotted(body.call(call).callee);
        name.is_some_and(|name| counts(&name) || matches!(name.as_str(), "len" | "int"))
    }

    /// Every kernel takes it for a number.
    pub(super) fn number(&self, launch: ValueId, value: ValueId) -> Option<Base> {
        let bound = self.bound(launch)?;
        let own = bound.iter().filter(|b| b.2 == value);
        let kinds: Option<Vec<Base>> = own.map(|&(kernel, param, _)| evidence::number(self.scope, kernel, param)).collect();
        let kinds = kinds.filter(|kinds| !kinds.is_empty())?;
        let whole = kinds.iter().all(|base| *base == Base::Int);
        Some(if whole { Base::Int } else { Base::Number })
    }

    /// No kernel reads through it, and all call it a pointer.
    fn is_named_pointer(&self, launch: ValueId, value: ValueId) -> bool {
        let bound = self.bound(launch).unwrap_or_default();
        let mut own = bound.iter().filter(|b| b.2 == value).peekable();
        own.peek().is_some()
            && own.all(|&(kernel, param, _)| {
                let at = self.scope.program.kernel(kernel).function;
                let name = self.scope.program.param_name(at, param);
                name.ends_with("_ptr") && self.scope.program.function(at).params[param as usize].annotation.is_none()
            })
    }

    /// Why an argument has no type.
    pub(super) fn untyped(&self, launch: ValueId, value: ValueId, text: &str) -> Refused {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let bound = self.bound(launch).unwrap_or_default();
        let called = |&(kernel, param, _): &(KernelId, u16, ValueId)| evidence::is_called(self.scope, kernel, param, 3);
        if bound.iter().filter(|b| b.2 == value).any(called) {
            return format!("a callable would be handed over: the kernel calls `{text}`");
        }
        let types = self.scope.types();
        let sequence = |&(kernel, param, _): &(KernelId, u16, ValueId)| {
            types.is_some_and(|types| kernel_use::of_param(types, self.scope.program.kernel(kernel), param, 3).sequence)
        };
        if bound.iter().filter(|b| b.2 == value).any(sequence) {
            return format!("`{text}` is of unknown length: the kernel takes a tuple, and what it holds is not known");
        }
        format!("it cannot be told what `{text}` is")
    }

    /// Which parameter of which kernel each argument becomes.
    pub(super) fn bound(&self, launch: ValueId) -> Option<Vec<(KernelId, u16, ValueId)>> {
        let body = self.scope.body();
        let Op::Call(call) = body.op(launch) else { return None };
        let own = self.func.launches.iter().find(|l| l.value == Some(launch))?;
        let spread = spread(self.scope, body.call(call));
        let mut all = Vec::new();
        for &kernel in &own.kernels {
            let bound = evidence::bind(self.scope, &spread, kernel);
            all.extend(bound.into_iter().map(|(param, value)| (kernel, param, value)));
        }
        Some(all)
    }

    /// What an argument is: by itself, else by what the kernels do with it.
    pub(super) fn typed(&self, launch: ValueId, value: ValueId, text: &str) -> Result<Typed, Refused> {
        if self.is_collection(value) {
            return Err(format!("`{text}` is of unknown length: what it holds is not known"));
        }
        let body = self.scope.body();
        let descriptor = |op| match op {
            Op::Call(call) => self.scope.dotted(body.call(call).callee).is_some_and(|n| is_descriptor(&n)),
            _ => false,
        };
        if origins::may_be(body, value, &descriptor) {
            return Err(format!("`{text}` is a tensor descriptor, which no schema has a type for"));
        }
        let own = self.types.join(&[value]).map(|typed| self.behind_test(typed, value, launch));
        if let Some(typed) = own.filter(|t| is_schema_type(t.ty)) {
            let proven = typed.proven && !self.is_opaque(value);
            return Ok(Typed { proven, ..typed });
        }
        let base = match self.types.evidence.role(value) {
            Some(Role::Pointer) => Base::Tensor,
            Some(Role::Int) => Base::Int,
            Some(Role::Number) => Base::Number,
            Some(Role::Real) => Base::Float,
            Some(Role::Text) => Base::Text,
            Some(Role::Flag) => Base::Bool,
            Some(Role::TritonDtype) => Base::TritonDtype,
            None if self.is_count(value) => Base::Int,
            None if self.is_named_pointer(launch, value) => Base::Tensor,
            None => self.number(launch, value).ok_or_else(|| self.untyped(launch, value, text))?,
        };
        let ty = Type {
            base,
            list: false,
            optional: self.scope.may_be_none(value),
        };
        Ok(Typed { ty, proven: false })
    }
}

/// What makes a tensor descriptor: it holds a tensor and how to read it, and is as good made anew.
pub(in super::super) fn is_descriptor(name: &str) -> bool {
    name.strip_suffix(".from_tensor").unwrap_or(name).ends_with(".TensorDescriptor")
}
