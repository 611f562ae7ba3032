//! A body with what is around it: what its names refer to and what kind of thing its values are.

use super::origins;
use super::signature::{Base, Promise, Type, WIDTH};
use super::types::Types;
use crate::facts::{
    BinaryOp, Body, CallId, CompareOp, Const, Facts, Function, FunctionId, Import, Items, MODULE, Name, Op, UnaryOp, ValueId,
};
use crate::knowledge::Knowledge;
use crate::knowledge::torch::{Attribute, Effect, Shares};
use crate::program::{FunctionRef, Program};
use crate::source::{FileId, Source, Span};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;

/// What kind of thing a value is, as far as its origin says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Tensor,
    Int,
    Float,
    Bool,
    Text,
    None,
    /// A tuple or list of integers.
    Shape,
    /// No tensor and no number: a dtype, a device, a list, a function.
    Other,
    Unknown,
}

impl Kind {
    fn of(ty: &Type) -> Self {
        match (ty.list, ty.base) {
            (true, Base::Int) => Self::Shape,
            (true, _) => Self::Other,
            (false, Base::Tensor) => Self::Tensor,
            (false, Base::Int) => Self::Int,
            (false, Base::Float) => Self::Float,
            (false, Base::Bool) => Self::Bool,
            (false, Base::Text) => Self::Text,
            (false, Base::Dtype | Base::Device | Base::TritonDtype) => Self::Other,
            (false, Base::None) => Self::None,
            (false, Base::Number | Base::Other) => Self::Unknown,
        }
    }

    /// Two values that one name may have. An absent tensor is still a tensor where it is used.
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::None, x) | (x, Self::None) => x,
            (Self::Int, Self::Float) | (Self::Float, Self::Int) => Self::Float,
            _ => Self::Unknown,
        }
    }
}

/// Values are followed this deep.
const MAX_DEPTH: u32 = 40;
/// Types of parameters are asked for this many calls away.
const MAX_CALLS: u32 = 4;

/// One body and its surroundings.
pub(super) struct Scope<'a> {
    pub(super) program: &'a Program,
    pub(super) knowledge: &'a Knowledge,
    pub(super) at: FunctionRef,
    kinds: RefCell<FxHashMap<ValueId, Option<Kind>>>,
    /// Types of parameters that are not annotated, and how far calls may be followed for them.
    types: Option<(Rc<Types<'a>>, u32)>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(program: &'a Program, knowledge: &'a Knowledge, at: FunctionRef) -> Self {
        Self {
            program,
            knowledge,
            at,
            kinds: RefCell::default(),
            types: None,
        }
    }

    /// A scope that knows the types of parameters that are not annotated.
    pub(super) fn typed(types: &Rc<Types<'a>>, at: FunctionRef) -> Self {
        Self::typed_at(types, at, MAX_CALLS)
    }

    /// The same, for a question from some calls away; 0: by the body alone.
    pub(super) fn typed_at(types: &Rc<Types<'a>>, at: FunctionRef, calls: u32) -> Self {
        Self {
            types: Some((Rc::clone(types), calls)),
            ..Self::new(types.program, types.knowledge, at)
        }
    }

    /// The types of parameters, where they are looked for.
    pub(super) fn types(&self) -> Option<&Rc<Types<'a>>> {
        self.types.as_ref().map(|(types, _)| types)
    }

    /// Length of lines in new code.
    pub(super) fn width(&self) -> usize {
        self.types.as_ref().map_or(WIDTH, |(types, _)| types.width)
    }

    pub(super) fn function(&self) -> &'a Function {
        self.program.function(self.at)
    }

    pub(super) fn body(&self) -> &'a Body {
        &self.function().body
    }

    pub(super) fn facts(&self) -> &'a Facts {
        &self.program.file(self.at.file).facts
    }

    pub(super) fn source(&self) -> &'a Source {
        &self.program.file(self.at.file).source
    }

    pub(super) fn text(&self, span: Span) -> &'a str {
        self.source().slice(span)
    }

    pub(super) fn name(&self, name: Name) -> &'a str {
        self.facts().name(name)
    }

    fn items(&self, items: Items) -> &'a [ValueId] {
        self.body().items(items)
    }

    /// The qualified name of what a value refers to: `torch.empty`, `pkg.ops.helper`, `len`.
    pub(super) fn dotted(&self, value: ValueId) -> Option<String> {
        dotted(self.program, self.at, value, MAX_DEPTH, &mut Vec::new())
    }

    /// The function of the project that a value refers to.
    pub(super) fn project_function(&self, value: ValueId) -> Option<FunctionRef> {
        let body = self.body();
        if let Op::Function(id) = body.op(value) {
            return Some(FunctionRef {
                file: self.at.file,
                function: id,
            });
        }
        find_function(self.program, &self.dotted(value)?, MAX_DEPTH)
    }

    /// A value refers to a class of the project.
    pub(super) fn is_project_class(&self, value: ValueId) -> bool {
        let module = &self.facts().module();
        match self.body().op(value) {
            Op::Class(_) => return true,
            Op::Free(name) if module.binding(name).is_some_and(|v| matches!(module.body.op(v), Op::Class(_))) => return true,
            _ => {}
        }
        let found = || {
            let dotted = self.dotted(value)?;
            let (module, class) = dotted.rsplit_once('.')?;
            let facts = &self.program.file(*self.program.modules.get(module)?).facts;
            Some(facts.classes.iter().any(|c| facts.name(c.qualname) == class))
        };
        found().unwrap_or(false)
    }

    /// The type of a parameter: its annotation, read, or what was inferred for it.
    pub(super) fn param_type(&self, index: u16) -> Option<Type> {
        let annotation = self.function().params.get(index as usize)?.annotation;
        let written = annotation.map(|a| Type::read(self.text(a.span)));
        if written.is_some_and(|ty| ty.base != Base::Other) {
            return written;
        }
        let inferred = self.types.as_ref().and_then(|(types, calls)| match calls {
            0 => types.shallow(self.at, index),
            _ => types.param_at(self.at, index, *calls),
        });
        inferred.map(|i| i.ty).filter(|ty| ty.base != Base::Other).or(written)
    }

    /// On some path the value is `None`, as far as it can be followed.
    pub(super) fn may_be_none(&self, value: ValueId) -> bool {
        self.may_be_none_at(value, 24, &mut Vec::new())
    }

    fn may_be_none_at(&self, value: ValueId, depth: u32, seen: &mut Vec<ValueId>) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let body = self.body();
        match body.op(value) {
            Op::Const(Const::None) => true,
            Op::Select(..) | Op::Phi(_) if seen.contains(&value) => false,
            Op::Select(_, a, b) => {
                seen.push(value);
                self.may_be_none_at(a, depth, seen) || self.may_be_none_at(b, depth, seen)
            }
            Op::Phi(items) => {
                seen.push(value);
                body.items(items).iter().any(|&v| v < value && self.may_be_none_at(v, depth, seen))
            }
            Op::Annotated(_, v) => self.may_be_none_at(v, depth, seen),
            Op::Param(p) => self.param_type(p).is_some_and(|ty| ty.optional),
            Op::Call(call) => self.may_hand_back_none(call, None),
            Op::Unpack { value, index, rest: false } => match body.op(value) {
                Op::Call(call) => self.may_hand_back_none(call, Some(index)),
                _ => false,
            },
            _ => false,
        }
    }

    fn may_hand_back_none(&self, call: CallId, index: Option<u16>) -> bool {
        let function = self.project_function(self.body().call(call).callee);
        function.is_some_and(|f| self.hands_back_none(f, index))
    }

    /// A function hands back `None` on some path, as a whole or at a place of a tuple.
    pub(super) fn hands_back_none(&self, function: FunctionRef, index: Option<u16>) -> bool {
        let body = &self.program.function(function).body;
        body.iter().any(|(_, v)| match (v.op, index) {
            (Op::Return(given), None) => origins::may_be_none(body, given),
            (Op::Return(given), Some(index)) => match body.op(given) {
                Op::Tuple(items) => {
                    let part = body.items(items).get(usize::from(index));
                    part.is_some_and(|part| origins::may_be_none(body, *part))
                }
                _ => false,
            },
            _ => false,
        })
    }

    /// What kind of thing a value is.
    pub(super) fn kind(&self, value: ValueId) -> Kind {
        self.kind_at(value, MAX_DEPTH)
    }

    /// Takes for granted what a value is, where nothing else tells.
    pub(super) fn assume(&self, value: ValueId, kind: Kind) {
        if self.kind(value) == Kind::Unknown {
            self.kinds.borrow_mut().insert(value, Some(kind));
        }
    }

    fn kind_at(&self, value: ValueId, depth: u32) -> Kind {
        match self.kinds.borrow().get(&value) {
            Some(Some(kind)) => return *kind,
            Some(None) => return Kind::Unknown,
            None if depth == 0 => return Kind::Unknown,
            None => {}
        }
        self.kinds.borrow_mut().insert(value, None);
        let kind = self.kind_of(value, depth - 1);
        self.kinds.borrow_mut().insert(value, Some(kind));
        kind
    }

    fn kind_of(&self, value: ValueId, depth: u32) -> Kind {
        let kind = |v| self.kind_at(v, depth);
        match self.body().op(value) {
            Op::Param(i) => self.param_type(i).map_or(Kind::Unknown, |ty| Kind::of(&ty)),
            Op::Const(constant) => kind_of_const(constant),
            Op::Format(_) => Kind::Text,
            Op::Attr(object, name) => match self.limit(object, self.name(name), 8) {
                Some(kind) => kind,
                None => self.kind_of_attribute(kind(object), self.name(name)),
            },
            Op::Index(object, index) => match (kind(object), self.body().op(index)) {
                (Kind::Tensor, _) => Kind::Tensor,
                (Kind::Shape, Op::Slice(..)) => Kind::Shape,
                (Kind::Shape, _) => Kind::Int,
                (_, Op::Const(Const::Int(i))) => u16::try_from(i).map_or(Kind::Unknown, |i| self.kind_of_part(object, i)),
                _ => Kind::Unknown,
            },
            // An empty list is to be filled with anything.
            Op::List(items) if self.items(items).is_empty() => Kind::Other,
            Op::Tuple(items) | Op::List(items) => {
                let ints = self.items(items).iter().all(|&v| matches!(kind(v), Kind::Int));
                if ints { Kind::Shape } else { Kind::Other }
            }
            Op::Binary(op, a, b) | Op::Augment(op, a, b) => kind_of_binary(op, kind(a), kind(b)),
            Op::Compare(op, a, b) => {
                let by_value = !matches!(op, CompareOp::Is | CompareOp::IsNot | CompareOp::In | CompareOp::NotIn);
                match (kind(a), kind(b)) {
                    _ if !by_value => Kind::Bool,
                    (Kind::Tensor, _) | (_, Kind::Tensor) => Kind::Tensor,
                    // No tensor is compared with a text or a dtype.
                    (Kind::Text | Kind::Other, _) | (_, Kind::Text | Kind::Other) => Kind::Bool,
                    // It is elementwise where what cannot be told is a tensor.
                    (Kind::Unknown, _) | (_, Kind::Unknown) => Kind::Unknown,
                    _ => Kind::Bool,
                }
            }
            Op::Unary(UnaryOp::Not, _) => Kind::Bool,
            Op::Unary(_, a) => kind(a),
            Op::And(items) | Op::Or(items) | Op::Phi(items) => self
                .items(items)
                .iter()
                .map(|&v| kind(v))
                .reduce(Kind::join)
                .unwrap_or(Kind::Unknown),
            Op::Select(_, yes, no) => kind(yes).join(kind(no)),
            Op::Call(call) => self.kind_of_call(call, depth),
            Op::Iterate(of) => match kind(of) {
                Kind::Tensor => Kind::Tensor,
                Kind::Shape => Kind::Int,
                _ => Kind::Unknown,
            },
            Op::Unpack { value, index, rest } => match (kind(value), self.body().op(value)) {
                (Kind::Shape, _) => {
                    if rest {
                        Kind::Shape
                    } else {
                        Kind::Int
                    }
                }
                (_, Op::Tuple(items)) if self.items(items).iter().any(|&v| matches!(self.body().op(v), Op::Star(_))) => {
                    // `B, T, H = *x.shape, n`: all of it are integers, or it cannot be told which part is which.
                    let part = |&v: &ValueId| match self.body().op(v) {
                        Op::Star(inner) => kind(inner) == Kind::Shape,
                        _ => kind(v) == Kind::Int,
                    };
                    match (self.items(items).iter().all(part), rest) {
                        (true, false) => Kind::Int,
                        (true, true) => Kind::Shape,
                        (false, _) => Kind::Unknown,
                    }
                }
                (_, Op::Iterate(call)) if !rest => self.kind_of_enumerated(call, index, depth),
                (_, Op::Tuple(items)) if !rest => self.items(items).get(index as usize).map_or(Kind::Unknown, |&v| kind(v)),
                _ if !rest => self.kind_of_part(value, index),
                _ => Kind::Unknown,
            },
            Op::Annotated(annotation, value) => match kind(value) {
                Kind::Unknown => Kind::of(&Type::read(self.text(self.body().value(annotation).span))),
                kind => kind,
            },
            Op::Free(name) => self.kind_of_global(name, depth),
            Op::Set(_) | Op::Dict(_) | Op::Collect(..) | Op::Function(_) | Op::Class(_) | Op::Import(_) => Kind::Other,
            Op::Undefined
            | Op::Slice(..)
            | Op::Star(_)
            | Op::Enter(_)
            | Op::Exception
            | Op::Suspend(_)
            | Op::SetAttr(..)
            | Op::SetIndex(..)
            | Op::SetOuter(..)
            | Op::Delete(_)
            | Op::Return(_)
            | Op::Raise
            | Op::Assert(_) => Kind::Unknown,
        }
    }

    /// A part of a parameter or of what a function hands back, where the annotation says what each part is.
    fn kind_of_part(&self, value: ValueId, index: u16) -> Kind {
        let promised = match self.body().op(value) {
            Op::Param(param) => {
                let annotation = self.function().params.get(param as usize).and_then(|p| p.annotation);
                annotation.map(|a| Promise::read(self.text(a.span)))
            }
            Op::Call(call) => self.project_function(self.body().call(call).callee).and_then(|function| {
                let returns = self.program.function(function).returns?;
                Some(Promise::read(self.program.file(function.file).source.slice(returns.span)))
            }),
            _ => None,
        };
        match promised {
            // `tuple[Tensor, ...]`
            Some(Promise::Tuple(types)) if matches!(types.as_slice(), [_, Type { base: Base::Other, .. }]) => Kind::Unknown,
            Some(Promise::Tuple(types)) => types.get(index as usize).filter(|ty| !ty.optional).map_or(Kind::Unknown, Kind::of),
            Some(Promise::One(Type {
                base: Base::Tensor,
                list: true,
                ..
            })) => Kind::Tensor,
            _ => Kind::Unknown,
        }
    }

    /// What `torch.finfo` and `torch.iinfo` say of a dtype. `None`: it is neither; one of both: a number of either kind.
    pub(super) fn limit(&self, object: ValueId, name: &str, depth: u32) -> Option<Kind> {
        let depth = depth.checked_sub(1)?;
        match self.body().op(object) {
            Op::Select(_, yes, no) => {
                let (a, b) = (self.limit(yes, name, depth)?, self.limit(no, name, depth)?);
                Some(if a == b { a } else { Kind::Unknown })
            }
            Op::Call(call) => match (self.dotted(self.body().call(call).callee)?.as_str(), name) {
                ("torch.finfo" | "torch.iinfo", "bits") => Some(Kind::Int),
                ("torch.finfo", "max" | "min" | "eps" | "tiny" | "smallest_normal" | "resolution") => Some(Kind::Float),
                ("torch.iinfo", "max" | "min") => Some(Kind::Int),
                _ => None,
            },
            _ => None,
        }
    }

    /// One part of what `enumerate` hands out.
    fn kind_of_enumerated(&self, call: ValueId, index: u16, depth: u32) -> Kind {
        let Op::Call(call) = self.body().op(call) else {
            return Kind::Unknown;
        };
        let call = self.body().call(call);
        if self.dotted(call.callee).as_deref() != Some("enumerate") {
            return Kind::Unknown;
        }
        match (index, call.args.first().map(|a| self.kind_at(a.value, depth))) {
            (0, _) => Kind::Int,
            (1, Some(Kind::Tensor)) => Kind::Tensor,
            (1, Some(Kind::Shape)) => Kind::Int,
            _ => Kind::Unknown,
        }
    }

    fn kind_of_attribute(&self, object: Kind, name: &str) -> Kind {
        match (object, name) {
            (Kind::Tensor, "shape") => Kind::Shape,
            (Kind::Tensor, "ndim" | "itemsize" | "nbytes") => Kind::Int,
            (Kind::Tensor, "is_cuda" | "requires_grad" | "is_cpu" | "is_meta") => Kind::Bool,
            (Kind::Tensor, _) => match self.knowledge.torch.attribute(name) {
                Some(Attribute::View | Attribute::Other) => Kind::Tensor,
                Some(Attribute::Scalar) => Kind::Other,
                None => Kind::Unknown,
            },
            _ => Kind::Unknown,
        }
    }

    fn kind_of_global(&self, name: Name, depth: u32) -> Kind {
        let module = FunctionRef {
            file: self.at.file,
            function: MODULE,
        };
        let Some(value) = self.facts().module().binding(name) else {
            return Kind::Unknown;
        };
        if self.at.function == MODULE {
            return Kind::Unknown;
        }
        Scope::new(self.program, self.knowledge, module).kind_at(value, depth)
    }

    fn kind_of_call(&self, call: CallId, depth: u32) -> Kind {
        let call = self.body().call(call);
        let kind = |v| self.kind_at(v, depth);
        if let Op::Attr(object, method) = self.body().op(call.callee)
            && kind(object) == Kind::Tensor
        {
            return match (self.name(method), call.args.is_empty()) {
                ("size" | "stride", true) => Kind::Shape,
                ("size" | "stride" | "numel" | "nelement" | "dim" | "element_size" | "data_ptr" | "storage_offset" | "get_device", _) => {
                    Kind::Int
                }
                ("tolist", _) => Kind::Other,
                ("item", _) => Kind::Unknown,
                (name, _) => self.knowledge.torch.method(name).map_or(Kind::Unknown, kind_of_effect),
            };
        }
        if matches!(self.body().op(call.callee), Op::Attr(_, method) if self.name(method) == "bit_length") {
            return Kind::Int;
        }
        let Some(name) = self.dotted(call.callee) else {
            return Kind::Unknown;
        };
        if counts(&name) {
            return Kind::Int;
        }
        match name.as_str() {
            "int" | "len" | "math.ceil" | "math.floor" | "torch.distributed.get_world_size" | "torch.distributed.get_rank" => {
                return Kind::Int;
            }
            "float" | "math.sqrt" | "math.log" | "math.log2" | "math.exp" => return Kind::Float,
            "bool" | "isinstance" | "hasattr" | "any" | "all" => return Kind::Bool,
            "str" => return Kind::Text,
            "tuple" | "list" => return call.args.first().map_or(Kind::Other, |a| kind(a.value)),
            "range" => return Kind::Shape,
            "min" | "max" | "abs" | "round" => {
                return call.args.iter().map(|a| kind(a.value)).reduce(Kind::join).unwrap_or(Kind::Unknown);
            }
            _ => {}
        }
        if let Some(effect) = self.knowledge.torch.function(&name) {
            return kind_of_effect(effect);
        }
        let Some(function) = find_function(self.program, &name, MAX_DEPTH) else {
            return Kind::Unknown;
        };
        let Some(returns) = self.program.function(function).returns else {
            return Kind::Unknown;
        };
        Kind::of(&Type::read(self.program.file(function.file).source.slice(returns.span)))
    }
}

fn kind_of_const(constant: Const) -> Kind {
    match constant {
        Const::None => Kind::None,
        Const::Bool(_) => Kind::Bool,
        Const::Int(_) => Kind::Int,
        Const::Float(_) => Kind::Float,
        Const::Str(_) => Kind::Text,
        Const::BigNumber(_) | Const::Bytes | Const::Ellipsis => Kind::Unknown,
    }
}

fn kind_of_binary(op: BinaryOp, a: Kind, b: Kind) -> Kind {
    match (op, a, b) {
        (_, Kind::Tensor, _) | (_, _, Kind::Tensor) => Kind::Tensor,
        (BinaryOp::Div, Kind::Int | Kind::Float | Kind::Bool, Kind::Int | Kind::Float | Kind::Bool) => Kind::Float,
        (_, Kind::Int | Kind::Bool, Kind::Int | Kind::Bool) => Kind::Int,
        (_, Kind::Float, Kind::Int | Kind::Float) | (_, Kind::Int, Kind::Float) => Kind::Float,
        (BinaryOp::Add, Kind::Shape, Kind::Shape) | (BinaryOp::Mul, Kind::Shape, Kind::Int) => Kind::Shape,
        _ => Kind::Unknown,
    }
}

fn kind_of_effect(effect: &Effect) -> Kind {
    match effect.results.as_slice() {
        [Shares::Fresh | Shares::View(_) | Shares::Maybe(_)] => Kind::Tensor,
        _ => Kind::Unknown,
    }
}

/// `triton.cdiv` and its like, as imported from triton or through a module of the project (`vllm.triton_utils`).
pub(super) fn counts(name: &str) -> bool {
    let own = |end: &str| name.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    own("triton.cdiv") || own("triton.next_power_of_2")
}

/// `seen`: joins that were looked into. Joins of joins share what they join, and looking twice doubles with each.
fn dotted(program: &Program, at: FunctionRef, value: ValueId, depth: u32, seen: &mut Vec<(FunctionRef, ValueId)>) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    let file = program.file(at.file);
    let body = &program.function(at).body;
    match body.op(value) {
        Op::Attr(object, name) => Some(format!("{}.{}", dotted(program, at, object, depth, seen)?, file.facts.name(name))),
        Op::Free(name) => {
            let module = FunctionRef {
                file: at.file,
                function: MODULE,
            };
            match file.facts.module().binding(name) {
                Some(value) if at.function != MODULE => dotted(program, module, value, depth, seen),
                Some(_) => None,
                None => Some(file.facts.name(name).to_string()),
            }
        }
        Op::Import(id) => Some(imported(program, at.file, &file.facts.imports[id.index()])),
        Op::Function(id) => Some(join(&file.module, file.facts.name(file.facts.function(id).qualname))),
        Op::Call(call) => {
            let id = body.call(call).decorates?;
            Some(join(&file.module, file.facts.name(file.facts.function(id).qualname)))
        }
        Op::Phi(_) | Op::Select(..) if seen.contains(&(at, value)) => None,
        Op::Phi(items) => {
            seen.push((at, value));
            body.items(items).iter().find_map(|&v| dotted(program, at, v, depth, seen))
        }
        Op::Select(_, yes, no) => {
            seen.push((at, value));
            dotted(program, at, yes, depth, seen).or_else(|| dotted(program, at, no, depth, seen))
        }
        _ => None,
    }
}

fn join(module: &str, name: &str) -> String {
    if module.is_empty() {
        name.to_string()
    } else {
        format!("{module}.{name}")
    }
}

/// The qualified name that an import binds.
pub(super) fn imported(program: &Program, file: FileId, import: &Import) -> String {
    let facts = &program.file(file).facts;
    let module = absolute_module(program, file, import.level, facts.name(import.module));
    match import.member {
        Some(member) => join(&module, facts.name(member)),
        None if import.renamed => module,
        None => facts.name(import.bound).to_string(),
    }
}

/// The dotted name of a module as an import statement of a file means it.
pub(super) fn absolute_module(program: &Program, file: FileId, level: u32, module: &str) -> String {
    if level == 0 {
        return module.to_string();
    }
    let file = program.file(file);
    let up = level as usize - usize::from(file.is_package);
    let mut parts: Vec<&str> = file.module.split('.').collect();
    parts.truncate(parts.len().saturating_sub(up));
    if !module.is_empty() {
        parts.push(module);
    }
    parts.join(".")
}

/// A module-level function by its qualified name, through re-exports.
pub(super) fn find_function(program: &Program, name: &str, depth: u32) -> Option<FunctionRef> {
    let depth = depth.checked_sub(1)?;
    let (module, member) = name.rsplit_once('.')?;
    let &file = program.modules.get(module)?;
    let facts = &program.file(file).facts;
    let known = facts.names.iter().position(|n| &**n == member);
    let Some(value) = known.and_then(|name| facts.module().binding(Name(name as u32))) else {
        let mut stars = facts.star_imports.iter();
        return stars.find_map(|i| {
            let module = absolute_module(program, file, i.level, facts.name(i.module));
            find_function(program, &format!("{module}.{member}"), depth)
        });
    };
    match module_function(facts, value) {
        Some(function) => Some(FunctionRef { file, function }),
        None => {
            let at = FunctionRef { file, function: MODULE };
            let target = dotted(program, at, value, depth, &mut Vec::new())?;
            find_function(program, &target, depth)
        }
    }
}

/// The function that a value of the module body is, beneath its decorators.
pub(super) fn module_function(facts: &Facts, value: ValueId) -> Option<FunctionId> {
    let body = &facts.module().body;
    match body.op(value) {
        Op::Function(id) => Some(id),
        Op::Call(call) => body.call(call).decorates,
        _ => None,
    }
}
