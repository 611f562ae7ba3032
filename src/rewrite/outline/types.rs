//! The schema type of a value, where its origin or its use proves one.

use super::super::kernel_use::is_triton_dtype;
use super::super::object::of_items;
use super::super::origins;
use super::super::scope::{Kind, Scope, find_function};
use super::super::signature::{Base, Type};
use super::evidence::{Evidence, Role};
use super::values;
use crate::facts::{Class, CompareOp, Const, FunctionKind, MODULE, Name, Op, StatementKind, ValueId};
use crate::program::FunctionRef;
use std::collections::BTreeSet;

/// A type, and whether anything but habit speaks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Typed {
    pub(super) ty: Type,
    pub(super) proven: bool,
}

impl Typed {
    pub(super) fn of(base: Base) -> Self {
        Self {
            ty: Type {
                base,
                list: false,
                optional: false,
            },
            proven: true,
        }
    }

    /// Known not to be `None`.
    fn present(self) -> Self {
        let ty = Type {
            optional: false,
            ..self.ty
        };
        Self { ty, ..self }
    }

    /// Either of two.
    fn join(self, other: Self) -> Option<Self> {
        let proven = self.proven && other.proven;
        let (a, b) = (self.ty, other.ty);
        let optional = a.optional || b.optional;
        let number = |t: Type| !t.list && matches!(t.base, Base::Int | Base::Float | Base::Bool | Base::Number);
        let ty = match (a.base, b.base) {
            (Base::None, _) => Type { optional: true, ..b },
            (_, Base::None) => Type { optional: true, ..a },
            (x, y) if x == y && a.list == b.list => Type { optional, ..a },
            _ if number(a) && number(b) => Type {
                base: Base::Number,
                list: false,
                optional,
            },
            _ => return None,
        };
        Some(Self { ty, proven })
    }
}

/// A type that a schema has.
pub(super) fn is_schema_type(ty: Type) -> bool {
    match (ty.base, ty.list) {
        (Base::Other | Base::None, _) => false,
        (Base::Text | Base::Dtype | Base::Device | Base::Number, list) => !list,
        // An absent one has no name.
        (Base::TritonDtype, list) => !list && !ty.optional,
        (Base::Tensor | Base::Int | Base::Float | Base::Bool, list) => !(list && ty.optional),
    }
}

/// Types of the values of one body.
pub(super) struct Types<'s, 'a> {
    pub(super) scope: &'s Scope<'a>,
    pub(super) evidence: &'s Evidence,
}

const MAX_DEPTH: u32 = 24;

impl Types<'_, '_> {
    /// What all of these values are.
    pub(super) fn join(&self, all: &[ValueId]) -> Option<Typed> {
        let mut types = all.iter().map(|&v| self.one(v, MAX_DEPTH));
        let first = types.next()??;
        types.try_fold(first, |a, b| a.join(b?))
    }

    fn one(&self, value: ValueId, depth: u32) -> Option<Typed> {
        let depth = depth.checked_sub(1)?;
        let body = self.scope.body();
        let all = |items: &[ValueId]| {
            let mut types = items
                .iter()
                .filter(|&&v| v < value && body.op(v) != Op::Undefined)
                .map(|&v| self.one(v, depth));
            let first = types.next()??;
            types.try_fold(first, |a, b| a.join(b?))
        };
        match body.op(value) {
            Op::Param(index) => self.param(value, index),
            Op::Const(Const::None) => Some(Typed::of(Base::None)),
            Op::Select(condition, yes, no) => {
                let present = self.known_present(condition);
                // Whoever reads it where it is unbound gets no value of another type.
                match (body.op(yes), body.op(no)) {
                    (Op::Undefined, _) => return self.one(no, depth),
                    (_, Op::Undefined) => return self.one(yes, depth),
                    _ => {}
                }
                let part = |v: ValueId, when: bool| {
                    let typed = self.one(v, depth)?;
                    let there = present == Some((v, when));
                    Some(if there { typed.present() } else { typed })
                };
                part(yes, true)?.join(part(no, false)?)
            }
            Op::Phi(items) => all(body.items(items)),
            Op::Or(items) => {
                let items = body.items(items);
                let last = items.len().checked_sub(1)?;
                let types = items.iter().enumerate().map(|(i, &v)| {
                    let typed = self.one(v, depth)?;
                    Some(if i < last && typed.ty.base != Base::None {
                        typed.present()
                    } else {
                        typed
                    })
                });
                let mut types = types;
                let first = types.next()??;
                types.try_fold(first, |a, b| a.join(b?))
            }
            Op::Annotated(annotation, inner) => self
                .one(inner, depth)
                .filter(|t| t.ty.base != Base::None)
                .or_else(|| read(self.scope.text(body.value(annotation).span))),
            Op::Attr(object, name) => self.attribute(value, object, self.scope.name(name), depth),
            Op::Index(object, key) if matches!(body.op(key), Op::Const(Const::Str(_))) => {
                let mapped = match body.op(object) {
                    Op::Param(index) => self.scope.function().params[index as usize].annotation,
                    _ => None,
                };
                let said = mapped
                    .and_then(|a| of_items(self.scope.text(a.span)))
                    .filter(|ty| is_schema_type(*ty));
                said.map(|ty| Typed { ty, proven: true }).or_else(|| self.by_kind(value))
            }
            Op::Call(call) => self.call(value, body.call(call).callee),
            Op::Unpack {
                value: made,
                index,
                rest: false,
            } => {
                let typed = self.by_kind(value)?;
                let absent = matches!(body.op(made), Op::Call(call) if self.may_give_none(body.call(call).callee, Some(index)));
                Some(if absent { typed.join(Typed::of(Base::None))? } else { typed })
            }
            Op::Free(name) => match self.enclosing(name) {
                Some(outer) => self.captured(name, outer).or_else(|| self.by_use(value)),
                None => self.by_kind(value),
            },
            _ => self.by_kind(value),
        }
    }

    /// The enclosing function that binds a name, if it is not the module.
    pub(super) fn enclosing(&self, name: Name) -> Option<FunctionRef> {
        let facts = self.scope.facts();
        let mut at = self.scope.function().parent;
        while at != MODULE {
            let function = facts.function(at);
            let binds = function.param(name).is_some() || function.assigned.binary_search_by_key(&name, |a| a.0).is_ok();
            if binds && function.kind != FunctionKind::Class {
                return Some(FunctionRef {
                    file: self.scope.at.file,
                    function: at,
                });
            }
            at = function.parent;
        }
        None
    }

    /// The type of a variable of an enclosing function, whatever it is given there.
    fn captured(&self, name: Name, outer: FunctionRef) -> Option<Typed> {
        let scope = Scope::new(self.scope.program, self.scope.knowledge, outer);
        let evidence = match self.scope.program.func(outer) {
            Some(func) => Evidence::gather(&scope, func),
            None => Evidence::default(),
        };
        let inner = Types {
            scope: &scope,
            evidence: &evidence,
        };
        let all: Vec<ValueId> = values::of_name(scope.function(), name).into_iter().collect();
        // Joins are made of what is assigned; `x if ready else None` is assigned itself.
        let assigned = scope.function().assigned.iter().find(|a| a.0 == name);
        let own = |v: ValueId| assigned.is_some_and(|a| a.1.contains(&v));
        let bound: Vec<ValueId> = all
            .into_iter()
            .filter(|&v| own(v) || !matches!(scope.body().op(v), Op::Select(..) | Op::Phi(_)))
            .collect();
        inner.join(&bound)
    }

    /// A variable of an enclosing function that is a tuple, whatever it is given there.
    pub(super) fn is_captured_tuple(&self, name: Name) -> bool {
        let Some(outer) = self.enclosing(name) else { return false };
        let function = self.scope.program.function(outer);
        let assigned = function.assigned.iter().find(|a| a.0 == name);
        function.param(name).is_none() && assigned.is_some_and(|a| a.1.iter().all(|&v| matches!(function.body.op(v), Op::Tuple(_))))
    }

    /// A value that is not `None` where a condition has this outcome: `x is None`, `x is not None`.
    fn known_present(&self, condition: ValueId) -> Option<(ValueId, bool)> {
        let body = self.scope.body();
        let Op::Compare(op, a, b) = body.op(condition) else { return None };
        let none = |v: ValueId| body.op(v) == Op::Const(Const::None);
        match op {
            CompareOp::Is if none(b) => Some((a, false)),
            CompareOp::IsNot if none(b) => Some((a, true)),
            _ => None,
        }
    }

    fn by_kind(&self, value: ValueId) -> Option<Typed> {
        let body = self.scope.body();
        let base = match self.scope.kind(value) {
            Kind::Tensor => Base::Tensor,
            Kind::Int => Base::Int,
            Kind::Float => Base::Float,
            Kind::Bool => Base::Bool,
            Kind::Text => Base::Text,
            Kind::None => Base::None,
            Kind::Shape => {
                // A display is a tuple or a list, which may hold starred parts.
                let mut ty = Typed::of(Base::Int);
                ty.ty.list = true;
                return Some(ty);
            }
            Kind::Other | Kind::Unknown => {
                let dotted = self.scope.dotted(value).unwrap_or_default();
                let joined = matches!(body.op(value), Op::Select(..) | Op::Phi(_));
                if is_dtype(&dotted) && !joined {
                    Base::Dtype
                } else if is_triton_dtype(&dotted) && !joined {
                    Base::TritonDtype
                } else {
                    return self.by_use(value);
                }
            }
        };
        Some(Typed::of(base))
    }

    /// What launches and grids say.
    fn by_use(&self, value: ValueId) -> Option<Typed> {
        let base = match self.evidence.role(value)? {
            Role::Pointer => Base::Tensor,
            Role::Int => Base::Int,
            Role::Number => Base::Number,
            Role::Real => Base::Float,
            Role::Text => Base::Text,
            Role::Flag | Role::TritonDtype => {
                let flag = self.evidence.role(value) == Some(Role::Flag);
                return Some(Typed {
                    proven: false,
                    ..Typed::of(if flag { Base::Bool } else { Base::TritonDtype })
                });
            }
        };
        Some(Typed::of(base))
    }

    fn param(&self, value: ValueId, index: u16) -> Option<Typed> {
        let function = self.scope.function();
        let param = function.params.get(index as usize)?;
        let parent = &self.scope.facts().function(function.parent).body;
        let default = param.default.map(|d| parent.op(d));
        let annotated = param.annotation.and_then(|a| read(self.scope.text(a.span)));
        if annotated.is_none() && self.evidence.role(value) == Some(Role::Pointer) && self.asked_what_it_is(value) {
            return None;
        }
        let flag = matches!(default, Some(Op::Const(Const::Bool(_)))) && self.evidence.role(value) == Some(Role::Flag);
        let switched = flag.then(|| Typed::of(Base::Bool));
        let inferred = || {
            let told = self.scope.types()?.param(self.scope.at, index)?;
            let typed = Typed {
                ty: told.ty,
                proven: told.proven,
            };
            (!told.unused && is_schema_type(told.ty)).then_some(typed)
        };
        let typed = annotated
            .or(switched)
            .or_else(|| self.by_use(value))
            .or_else(inferred)
            .or_else(|| {
                let base = match default? {
                    Op::Const(Const::Bool(_)) => Base::Bool,
                    Op::Const(Const::Int(_) | Const::Float(_)) => Base::Number,
                    Op::Const(Const::Str(_)) => Base::Text,
                    _ => return None,
                };
                Some(Typed {
                    proven: false,
                    ..Typed::of(base)
                })
            })?;
        let typed = match self.scope.param_type(index) {
            Some(told) if typed.ty.base == Base::Number && !told.list && matches!(told.base, Base::Int | Base::Float) => Typed {
                ty: Type {
                    base: told.base,
                    ..typed.ty
                },
                ..typed
            },
            _ => typed,
        };
        let absent = |types: &std::rc::Rc<super::super::types::Types>| types.param(self.scope.at, index).is_some_and(|t| t.ty.optional);
        let lacking = default == Some(Op::Const(Const::None))
            || self.compared_with_none(value)
            || self.evidence.may_be_absent(value)
            || annotated.is_none() && self.scope.types().is_some_and(absent);
        let ty = Type {
            optional: typed.ty.optional || lacking,
            ..typed.ty
        };
        Some(Typed { ty, ..typed })
    }

    /// The body asks with `isinstance`: how it is used on one path says nothing of the others.
    fn asked_what_it_is(&self, value: ValueId) -> bool {
        let body = self.scope.body();
        body.calls.iter().any(|call| {
            call.args.first().is_some_and(|a| a.value == value) && self.scope.dotted(call.callee).as_deref() == Some("isinstance")
        })
    }

    /// The body asks whether the value is `None`.
    fn compared_with_none(&self, value: ValueId) -> bool {
        let body = self.scope.body();
        let none = |v: ValueId| body.op(v) == Op::Const(Const::None);
        body.iter()
            .any(|(_, v)| matches!(v.op, Op::Compare(_, a, b) if a == value && none(b) || b == value && none(a)))
    }

    fn attribute(&self, value: ValueId, object: ValueId, name: &str, depth: u32) -> Option<Typed> {
        if self.scope.kind(object) == Kind::Tensor {
            match name {
                "dtype" => return Some(Typed::of(Base::Dtype)),
                "device" => return Some(Typed::of(Base::Device)),
                _ => {}
            }
            return self.by_kind(value);
        }
        if self.scope.limit(object, name, 8).is_some() {
            let base = match self.scope.kind(value) {
                Kind::Int => Base::Int,
                Kind::Float => Base::Float,
                _ => Base::Number,
            };
            return Some(Typed::of(base));
        }
        let declared = self
            .class_of(object, depth)
            .and_then(|(file, class)| self.field(file, class, name, 4));
        let used = self.by_kind(value);
        match (declared, used) {
            // What a kernel adds to a pointer may look like one.
            (Some(declared), Some(used)) if used.ty.base == Base::Tensor && declared.ty.base != Base::Tensor => {
                let number = matches!(declared.ty.base, Base::Int | Base::Float | Base::Bool) && !declared.ty.list;
                number.then_some(Typed { proven: false, ..declared })
            }
            (Some(declared), _) if is_schema_type(declared.ty) => Some(declared),
            (_, used) => {
                let mut used = used?;
                if used.ty.base == Base::Tensor {
                    used.ty.optional |= self.path_compared_with_none(value);
                }
                Some(used)
            }
        }
    }

    fn path_compared_with_none(&self, value: ValueId) -> bool {
        let path = super::evidence::path(self.scope, value);
        let body = self.scope.body();
        let same = |v: ValueId| matches!(body.op(v), Op::Attr(..)) && super::evidence::path(self.scope, v) == path;
        let none = |v: ValueId| body.op(v) == Op::Const(Const::None);
        body.iter()
            .any(|(_, v)| matches!(v.op, Op::Compare(_, a, b) if same(a) && none(b) || same(b) && none(a)))
    }

    /// The class of the project that an object is of: `self`'s, or the one that its annotation names.
    fn class_of(&self, object: ValueId, depth: u32) -> Option<(FunctionRef, Class)> {
        let scope = self.scope;
        let function = scope.function();
        let Op::Param(index) = scope.body().op(object) else {
            let (Op::Attr(outer, name), Some(depth)) = (scope.body().op(object), depth.checked_sub(1)) else {
                return None;
            };
            let (at, class) = self.class_of(outer, depth)?;
            let annotation = annotated_field(scope, at, &class, scope.name(name))?;
            return find_class(scope, at, &annotation);
        };
        if let (0, Some(class)) = (index, function.class) {
            return Some((scope.at, scope.facts().classes[class.index()].clone()));
        }
        let annotation = function.params.get(index as usize)?.annotation?;
        find_class(scope, scope.at, scope.text(annotation.span))
    }

    /// What a class says of an attribute: in its body, or in what its methods assign.
    fn field(&self, at: FunctionRef, class: Class, name: &str, depth: u32) -> Option<Typed> {
        if let Some(annotation) = annotated_field(self.scope, at, &class, name) {
            return read(&annotation);
        }
        if let Some(returns) = property(self.scope, at, &class, name) {
            return read(returns);
        }
        let file = self.scope.program.file(at.file);
        let mut found: Option<Typed> = None;
        let methods = file
            .facts
            .functions()
            .filter(|(_, f)| f.parent == class.body && f.kind == FunctionKind::Def);
        for (id, method) in methods {
            let sets = method.body.iter().filter_map(|(_, v)| match v.op {
                Op::SetAttr(object, attr, value) if method.body.op(object) == Op::Param(0) && file.facts.name(attr) == name => Some(value),
                _ => None,
            });
            let sets: BTreeSet<ValueId> = sets.collect();
            if sets.is_empty() {
                continue;
            }
            if depth == 0 {
                return None;
            }
            let scope = Scope::new(
                self.scope.program,
                self.scope.knowledge,
                FunctionRef {
                    file: at.file,
                    function: id,
                },
            );
            let evidence = Evidence::default();
            let inner = Types {
                scope: &scope,
                evidence: &evidence,
            };
            for value in sets {
                let typed = inner.one(value, depth * 3)?;
                found = Some(match found {
                    Some(before) => before.join(typed)?,
                    None => typed,
                });
            }
        }
        found
    }

    fn call(&self, value: ValueId, callee: ValueId) -> Option<Typed> {
        let dotted = self.scope.dotted(callee);
        if dotted.as_deref() == Some("torch.device") {
            return Some(Typed::of(Base::Device));
        }
        let promised = || {
            let function = self.project_function(callee)?;
            let returns = self.scope.program.function(function).returns?;
            read(self.scope.program.file(function.file).source.slice(returns.span))
        };
        // A kind does not say that a tensor may be absent.
        promised().or_else(|| {
            let typed = self.by_kind(value)?;
            if self.may_give_none(callee, None) {
                typed.join(Typed::of(Base::None))
            } else {
                Some(typed)
            }
        })
    }

    /// A function of the project hands back `None` on some path, as a whole or at a place of a tuple.
    fn may_give_none(&self, callee: ValueId, index: Option<u16>) -> bool {
        let function = self.project_function(callee);
        function.is_some_and(|f| self.scope.hands_back_none(f, index))
    }

    /// The function of the project that a callee is.
    fn project_function(&self, callee: ValueId) -> Option<FunctionRef> {
        match self.scope.dotted(callee) {
            Some(dotted) => find_function(self.scope.program, &dotted, 8),
            None => self.method(callee),
        }
    }

    /// The method that a callee is: `self.tag`, `cache.slots`.
    fn method(&self, callee: ValueId) -> Option<FunctionRef> {
        let Op::Attr(object, name) = self.scope.body().op(callee) else {
            return None;
        };
        let (at, class) = self.class_of(object, MAX_DEPTH)?;
        let facts = &self.scope.program.file(at.file).facts;
        let name = self.scope.name(name);
        let own = |f: &crate::facts::Function| f.parent == class.body && f.kind == FunctionKind::Def && facts.name(f.name) == name;
        let mut found = facts.functions().filter(|(_, f)| own(f));
        let (function, _) = found.next()?;
        // Of several nobody knows which is meant.
        found.next().is_none().then_some(FunctionRef { file: at.file, function })
    }
}

/// Some class of the project that a value may be of has a method of this name.
pub(in super::super) fn is_method_of(scope: &Scope, value: ValueId, name: &str) -> bool {
    let evidence = Evidence::default();
    let types = Types {
        scope,
        evidence: &evidence,
    };
    let body = scope.body();
    let mut todo = vec![value];
    let mut classes = Vec::new();
    for _ in 0..16 {
        match todo.pop().map(|value| (value, body.op(value))) {
            None => break,
            Some((_, Op::Select(_, yes, no))) => todo.extend([yes, no]),
            Some((_, Op::Phi(items))) => todo.extend(body.items(items)),
            Some((value, _)) => classes.extend(types.class_of(value, MAX_DEPTH)),
        }
    }
    classes.iter().any(|(at, class)| {
        let facts = &scope.program.file(at.file).facts;
        let own = |f: &crate::facts::Function| f.parent == class.body && f.kind == FunctionKind::Def && facts.name(f.name) == name;
        facts.functions().any(|(_, f)| own(f))
    })
}

fn is_dtype(dotted: &str) -> bool {
    let known = [
        "float", "double", "half", "bfloat", "int", "uint", "long", "short", "bool", "complex",
    ];
    dotted.strip_prefix("torch.").is_some_and(|name| {
        let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
        known.contains(&letters) || name.starts_with("float8_") || name.starts_with("float4_")
    })
}

/// An annotation that a schema has a type for.
fn read(text: &str) -> Option<Typed> {
    if matches!(text.trim().trim_matches(['"', '\'']), "tl.dtype" | "triton.language.dtype") {
        return Some(Typed::of(Base::TritonDtype));
    }
    // Names of tensors of one type: no schema type, yet tensors.
    let plain = [
        "LongTensor",
        "IntTensor",
        "FloatTensor",
        "HalfTensor",
        "BoolTensor",
        "BFloat16Tensor",
        "ByteTensor",
    ]
    .iter()
    .find(|name| text.contains(**name))
    .map(|name| text.replace(name, "Tensor"));
    let ty = Type::read(plain.as_deref().unwrap_or(text));
    is_schema_type(ty).then_some(Typed { ty, proven: true })
}

/// The annotation of an attribute in a class body, as written.
fn annotated_field(scope: &Scope, at: FunctionRef, class: &Class, name: &str) -> Option<String> {
    let file = scope.program.file(at.file);
    let body = &file.facts.function(class.body).body;
    let fields = body
        .statements
        .iter()
        // A field without a default binds nothing.
        .filter(|s| s.parent.is_none() && s.kind == StatementKind::Assign);
    let said = fields.map(|s| file.source.slice(s.span).strip_prefix(name)?.trim_start().strip_prefix(':'));
    let rest = said.flatten().next()?;
    let end = super::super::signature::split(rest, '=');
    Some(end.first()?.trim().to_string())
}

/// What a property of a class promises.
fn property<'a>(scope: &Scope<'a>, at: FunctionRef, class: &Class, name: &str) -> Option<&'a str> {
    let file = scope.program.file(at.file);
    let is_property = |f: &crate::facts::Function| {
        let mut decorators = f.decorators.iter().map(|d| file.source.slice(d.span));
        decorators.any(|text| matches!(text.rsplit(['@', '.']).next(), Some("property" | "cached_property")))
    };
    let own = |f: &crate::facts::Function| f.parent == class.body && file.facts.name(f.name) == name && is_property(f);
    let (_, function) = file.facts.functions().find(|(_, f)| own(f))?;
    Some(file.source.slice(function.returns?.span))
}

/// A class of the project by the name that a file has for it.
fn find_class(scope: &Scope, at: FunctionRef, annotation: &str) -> Option<(FunctionRef, Class)> {
    let name = annotation.trim().trim_matches(['"', '\'']).split('|').next()?.trim();
    if !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let file = scope.program.file(at.file);
    let own = |class: &&Class| file.facts.name(class.qualname) == name;
    if let Some(class) = file.facts.classes.iter().find(own) {
        return Some((at, class.clone()));
    }
    let import = file.facts.imports.iter().find(|i| file.facts.name(i.bound) == name)?;
    let dotted = super::super::scope::imported(scope.program, at.file, import);
    let (module, member) = dotted.rsplit_once('.')?;
    let &target = scope.program.modules.get(module)?;
    let facts = &scope.program.file(target).facts;
    let class = facts.classes.iter().find(|c| facts.name(c.qualname) == member)?;
    let at = FunctionRef {
        file: target,
        function: crate::facts::MODULE,
    };
    Some((at, class.clone()))
}

/// Values that a name surely has at a place: never unbound.
pub(super) fn always_bound(scope: &Scope, all: &[ValueId]) -> bool {
    all.iter().all(|&v| !origins::may_lack(scope.body(), v, Op::Undefined))
}
