//! What each value of one function may be, from the top down, loops to a fixpoint.

use super::bind::Argument;
use super::callee::Callee;
use super::kinds::{self, Kind};
use super::summary::{Analysis, Summary};
use super::value::{Abstract, Alternative, Base, Key};
use crate::facts::{BinaryOp, Body, Call, Const, Facts, GuardId, Name, Op, ValueId};
use crate::knowledge::triton::{Derived, Effect};
use crate::link::conditions::Condition;
use crate::link::resolve::{ClassRef, Resolver};
use crate::program::FunctionRef;
use crate::source::{Place, Span};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Passes over a body with loops after which conditions are no longer told apart, and after which it is enough.
const EXACT_PASSES: usize = 4;
const MOST_PASSES: usize = 64;
const MOST_ROUNDS: usize = 5;

/// One function being read.
pub(super) struct Flow<'s, 'a, 'k> {
    pub(super) analysis: &'s mut Analysis<'a, 'k>,
    pub(super) f: FunctionRef,
    pub(super) facts: &'a Facts,
    pub(super) body: &'a Body,
    pub(super) kinds: Vec<Kind>,
    values: Vec<Abstract>,
    pub(super) guards: FxHashMap<GuardId, Condition>,
    pub(super) called: FxHashMap<ValueId, Rc<Vec<Callee<'k>>>>,
    /// Values that are objects of a class of the project.
    pub(super) classes: FxHashMap<ValueId, ClassRef>,
}

impl<'s, 'a, 'k> Flow<'s, 'a, 'k> {
    pub(super) fn new(analysis: &'s mut Analysis<'a, 'k>, f: FunctionRef, kinds: Vec<Kind>) -> Self {
        let facts = analysis.resolver.facts(f.file);
        let body = analysis.resolver.body(f);
        let values = vec![Abstract::default(); body.values.len()];
        Self {
            analysis,
            f,
            facts,
            body,
            kinds,
            values,
            guards: FxHashMap::default(),
            called: FxHashMap::default(),
            classes: FxHashMap::default(),
        }
    }

    pub(super) fn resolver(&self) -> &'k Resolver<'a> {
        self.analysis.resolver
    }

    pub(super) fn text(&self, name: Name) -> &'a str {
        self.facts.name(name)
    }

    pub(super) fn value(&self, id: ValueId) -> &Abstract {
        &self.values[id.index()]
    }

    pub(super) fn place(&self, span: Span) -> Place {
        Place { file: self.f.file, span }
    }

    pub(super) fn param_name(&self, param: u16) -> &'a str {
        let params = &self.resolver().function(self.f).params;
        params.get(param as usize).map_or("", |p| self.text(p.name))
    }

    /// Values and kinds, each learnt from the other.
    pub(super) fn run(&mut self) {
        let body = self.body;
        let loops = body
            .iter()
            .any(|(id, v)| matches!(v.op, Op::Phi(items) if body.items(items).iter().any(|&i| i >= id)));
        for _ in 0..MOST_ROUNDS {
            for pass in 0..MOST_PASSES {
                if !self.pass(pass >= EXACT_PASSES) || !loops {
                    break;
                }
            }
            if !self.learn_kinds() {
                return;
            }
        }
    }

    /// One pass over all values. True when something changed. `weaken`: forget the conditions of what changes.
    fn pass(&mut self, weaken: bool) -> bool {
        let body = self.body;
        let mut changed = false;
        for (id, value) in body.iter() {
            let mut new = self.evaluate(id, value.op);
            if new == self.values[id.index()] {
                continue;
            }
            if weaken {
                new.alternatives.iter_mut().for_each(|a| a.when = Condition::Unknown);
            }
            changed |= new != self.values[id.index()];
            self.values[id.index()] = new;
        }
        changed
    }

    fn evaluate(&mut self, id: ValueId, op: Op) -> Abstract {
        match op {
            Op::Param(p) => Abstract::of(Base::Param(p, "".into()), true),
            Op::Binary(op, a, b) | Op::Augment(op, a, b) => self.arithmetic(op, a, b),
            Op::Select(c, yes, no) => self.select(c, yes, no),
            Op::Phi(items) | Op::And(items) | Op::Or(items) => self.any(self.body.items(items)),
            Op::Annotated(_, v) | Op::Star(v) | Op::Suspend(v) | Op::Enter(v) | Op::Collect(_, v) => {
                self.carry_class(id, v);
                self.value(v).clone()
            }
            Op::Tuple(items) | Op::List(items) | Op::Set(items) => self.display(self.body.items(items)),
            Op::Dict(items) => self.dict(self.body.items(items)),
            Op::Index(object, index) => self.index(object, index),
            Op::Unpack { value, index, rest: false } => self.value(value).part(Some(&Key::Index(index))),
            Op::Unpack { value, rest: true, .. } | Op::Iterate(value) => self.value(value).part(None),
            Op::Attr(object, name) => self.attribute(object, name),
            Op::Call(call) => self.call(id, self.body.call(call)),
            Op::Undefined
            | Op::Free(_)
            | Op::Const(_)
            | Op::Format(_)
            | Op::Slice(..)
            | Op::Unary(..)
            | Op::Compare(..)
            | Op::Function(_)
            | Op::Class(_)
            | Op::Import(_)
            | Op::Exception
            | Op::SetAttr(..)
            | Op::SetIndex(..)
            | Op::SetOuter(..)
            | Op::Delete(_)
            | Op::Return(_)
            | Op::Raise
            | Op::Assert(_) => Abstract::default(),
        }
    }

    fn arithmetic(&self, op: BinaryOp, a: ValueId, b: ValueId) -> Abstract {
        match op {
            BinaryOp::Add => self.value(a).plus(self.value(b)),
            BinaryOp::Sub => self.value(a).derived(),
            // `(a, b) * 2`
            BinaryOp::Mul if self.value(a).parts.is_some() => self.value(a).clone(),
            _ => Abstract::default(),
        }
    }

    fn select(&self, condition: ValueId, yes: ValueId, no: ValueId) -> Abstract {
        let (yes, no) = (self.value(yes), self.value(no));
        if yes == no {
            return yes.clone();
        }
        let condition = self.truth(condition);
        let otherwise = condition.clone().not();
        yes.clone().when(&condition).join(&no.clone().when(&otherwise))
    }

    fn any(&self, items: &[ValueId]) -> Abstract {
        items.iter().fold(Abstract::default(), |all, &item| all.join(self.value(item)))
    }

    fn display(&self, items: &[ValueId]) -> Abstract {
        if items.iter().all(|&i| self.value(i).is_empty()) {
            return Abstract::default();
        }
        let mut all = Vec::with_capacity(items.len());
        for &item in items {
            match self.body.op(item) {
                Op::Star(inner) => match self.value(inner).items() {
                    Some(inner) => all.extend(inner),
                    None => return self.any(items).flat(),
                },
                _ => all.push(self.value(item).clone()),
            }
        }
        Abstract::tuple(all)
    }

    fn dict(&self, items: &[ValueId]) -> Abstract {
        let mut fields = Vec::new();
        for pair in items.chunks_exact(2) {
            match self.body.op(pair[0]) {
                Op::Const(Const::Str(name)) => fields.push((Key::Field(self.text(name).into()), self.value(pair[1]).clone())),
                _ => return self.any(items).flat(),
            }
        }
        if fields.iter().all(|(_, a)| a.is_empty()) {
            Abstract::default()
        } else {
            Abstract::object(fields)
        }
    }

    fn index(&self, object: ValueId, index: ValueId) -> Abstract {
        let value = self.value(object);
        if value.is_empty() {
            return Abstract::default();
        }
        match self.body.op(index) {
            Op::Const(Const::Int(i)) => match u16::try_from(i) {
                Ok(i) => value.part(Some(&Key::Index(i))),
                Err(_) => self.part_from_end(value, i),
            },
            Op::Const(Const::Str(name)) => value.part(Some(&Key::Field(self.text(name).into()))),
            // `x[:, None]` of a block of pointers
            Op::Tuple(_) | Op::Const(_) => value.clone(),
            Op::Slice(..) => match &value.parts {
                Some(_) => value.part(None),
                None => value.clone(),
            },
            _ => value.part(None),
        }
    }

    /// `x[-1]`
    fn part_from_end(&self, value: &Abstract, i: i32) -> Abstract {
        let count = value.items().map_or(0, |items| items.len() as i32);
        match u16::try_from(count + i) {
            Ok(i) if count > 0 => value.part(Some(&Key::Index(i))),
            _ => value.part(None),
        }
    }

    fn attribute(&self, object: ValueId, name: Name) -> Abstract {
        let value = self.value(object);
        if value.is_empty() {
            return Abstract::default();
        }
        let name = self.text(name);
        let key = Key::Field(name.into());
        if value.parts.as_ref().is_some_and(|parts| parts.iter().any(|(k, _)| *k == key)) {
            return value.part(Some(&key));
        }
        match self.analysis.triton.method(name) {
            Some(effect) if effect.result == Derived::From(vec![0]) => value.derived(),
            Some(_) => Abstract::default(),
            None => value.part(Some(&key)),
        }
    }

    fn carry_class(&mut self, to: ValueId, from: ValueId) {
        if let Some(&class) = self.classes.get(&from) {
            self.classes.insert(to, class);
        }
    }

    fn call(&mut self, id: ValueId, call: &'a Call) -> Abstract {
        let callees = self.callees(id, call);
        let mut result = Abstract::default();
        for callee in callees.iter() {
            let one = match callee {
                Callee::Known(effect) => self.known_result(effect, call, None),
                Callee::Method(effect, object) => self.known_result(effect, call, Some(*object)),
                Callee::Project(f, object) => {
                    let summary = self.analysis.summary(*f);
                    if let Some(class) = summary.class {
                        self.classes.insert(id, class);
                    }
                    let arguments = self.bind(*f, call, *object);
                    self.substitute(&summary, &summary.returns, &arguments)
                }
                Callee::Class(class) => {
                    self.classes.insert(id, *class);
                    self.construct(*class, call)
                }
                Callee::Numbers | Callee::Pure | Callee::Parameter(_) | Callee::Unknown(_) | Callee::UnknownMethod(..) => {
                    Abstract::default()
                }
            };
            result = result.join(&one);
        }
        result
    }

    fn known_result(&self, effect: &Effect, call: &Call, object: Option<ValueId>) -> Abstract {
        let arguments = self.bind_known(effect, call, object);
        let of = |params: &[u16]| {
            let sources = params.iter().flat_map(|&p| arguments.get(p));
            sources.fold(Abstract::default(), |all, v| all.join(self.value(v)))
        };
        match &effect.result {
            Derived::From(params) => {
                let result = of(params);
                if arguments.rest.iter().any(|&v| self.is_number_type(v)) {
                    // a pointer made a number, or a number made another: no use of it says which
                    return result.as_number();
                }
                match arguments
                    .rest
                    .iter()
                    .chain(arguments.named.iter().map(|(_, v)| v))
                    .any(|&v| self.is_pointer_type(v))
                {
                    true => self.retyped(&result),
                    false if result.parts.is_some() => result,
                    false => result.derived(),
                }
            }
            Derived::Descriptor(params) => of(params).derived(),
            Derived::Assembly => arguments
                .get(2)
                .fold(Abstract::default(), |all, v| all.join(&self.value(v).flat().loaded(&self.kinds))),
            Derived::Value => of(&effect.reads).flat().loaded(&self.kinds),
        }
    }

    /// A number made into an address: `addr.to(tl.pointer_type(tl.float32))`.
    fn retyped(&self, value: &Abstract) -> Abstract {
        let mut result = value.derived();
        for alternative in &mut result.alternatives {
            let reduced = alternative.reduced(&self.kinds);
            let is_number = |p: u16| self.kinds[p as usize] == Kind::Scalar;
            alternative.addends = match reduced.addends.as_slice() {
                [] => alternative.addends.iter().take(1).map(|b| Base::Pointee(b.param())).collect(),
                [Base::Loaded(p), ..] => vec![Base::Pointee(*p)],
                [Base::Number(p), ..] if is_number(*p) => vec![Base::Pointee(*p)],
                [Base::Number(p), ..] => vec![Base::Param(*p, "".into())],
                [Base::Param(..) | Base::Pointee(_), ..] => reduced.addends,
            };
        }
        result.alternatives.retain(|a| !a.addends.is_empty());
        result
    }

    /// Whether a value is an integer type: `tl.int64`.
    fn is_number_type(&self, value: ValueId) -> bool {
        match self.body.op(value) {
            Op::Attr(object, name) => {
                matches!(self.body.op(object), Op::Free(_) | Op::Import(_)) && kinds::is_integer_type(self.text(name))
            }
            _ => false,
        }
    }

    /// Whether a value is a pointer type: `tl.pointer_type(…)`, or the type of a parameter that is a pointer.
    fn is_pointer_type(&self, value: ValueId) -> bool {
        match self.body.op(value) {
            Op::Call(call) => {
                let callee = self.body.call(call).callee;
                matches!(self.body.op(callee), Op::Attr(_, n) | Op::Free(n) if matches!(self.text(n), "pointer_type" | "PointerType"))
                    || matches!(self.body.op(callee), Op::Import(_))
                        && self
                            .resolver()
                            .external(self.f, callee)
                            .is_some_and(|n| n.ends_with(".pointer_type"))
            }
            Op::Attr(object, name) => match self.body.op(object) {
                Op::Param(p) => self.text(name) == "dtype" && self.kinds[p as usize] == Kind::Pointer,
                _ => self.text(name) == "pi32_t",
            },
            _ => false,
        }
    }

    /// A callee's value in this function's terms.
    pub(super) fn substitute(&mut self, summary: &Summary, value: &Abstract, arguments: &[Argument]) -> Abstract {
        if value.is_empty() {
            return Abstract::default();
        }
        let needs_conditions = value.alternatives.iter().any(|a| a.when != Condition::True);
        let bindings: Vec<_> = if needs_conditions {
            arguments.iter().map(|a| self.binding_for(a)).collect()
        } else {
            Vec::new()
        };
        let binding = |p: u16| {
            bindings
                .get(p as usize)
                .cloned()
                .unwrap_or(crate::link::conditions::Binding::Unknown)
        };
        let mut result = Abstract::default();
        for alternative in &value.alternatives {
            let when = alternative.when.substitute(&binding);
            if when == Condition::False {
                continue;
            }
            let mut sum: Option<Abstract> = None;
            for base in &alternative.reduced(&summary.kinds).addends {
                let one = self.base_in_caller(base, arguments);
                sum = Some(match sum {
                    Some(sum) => sum.plus(&one),
                    None if alternative.raw => one,
                    None => one.derived(),
                });
            }
            result = result.join(&sum.unwrap_or_default().when(&when));
        }
        if let Some(parts) = &value.parts {
            let parts: Vec<(Key, Abstract)> = parts
                .iter()
                .map(|(k, a)| (k.clone(), self.substitute(summary, a, arguments)))
                .collect();
            if parts.iter().any(|(_, a)| !a.is_empty()) {
                result = result.join(&Abstract::object(parts));
            }
        }
        result
    }

    /// What a base of a callee is here.
    pub(super) fn base_in_caller(&self, base: &Base, arguments: &[Argument]) -> Abstract {
        let Some(argument) = arguments.get(base.param() as usize) else {
            return Abstract::default();
        };
        match base {
            Base::Param(_, path) => argument.value.at_path(path),
            Base::Number(_) => argument.value.as_number(),
            Base::Loaded(_) => argument.value.flat().loaded(&self.kinds),
            Base::Pointee(_) => {
                let value = argument.value.flat();
                let pointee = |a: &Alternative| {
                    let base = a.reduced(&self.kinds).addends.first().or(a.addends.first())?.param();
                    Some(Alternative {
                        addends: vec![Base::Pointee(base)],
                        when: a.when.clone(),
                        raw: false,
                    })
                };
                Abstract {
                    alternatives: value.alternatives.iter().filter_map(pointee).collect(),
                    parts: None,
                }
            }
        }
    }

    /// An object of a class: its fields, from `__init__` or from the order in which they are declared.
    fn construct(&mut self, class: ClassRef, call: &Call) -> Abstract {
        let Some(known) = self.analysis.fields(class) else {
            return call
                .args
                .iter()
                .fold(Abstract::default(), |all, a| all.join(&self.value(a.value).flat()));
        };
        let (init, fields) = &*known;
        let Some(f) = *init else {
            let mut parts = Vec::new();
            let mut position = 0;
            for arg in &call.args {
                let name = match arg.kind {
                    crate::facts::ArgKind::Keyword(name) => self.text(name).into(),
                    crate::facts::ArgKind::Positional if position < fields.len() => fields[position].0.clone(),
                    _ => continue,
                };
                position += 1;
                parts.push((Key::Field(name), self.value(arg.value).clone()));
            }
            return Abstract::object(parts);
        };
        let arguments = self.bind_new(f, call);
        let summary = self.analysis.summary(f);
        let parts = fields
            .iter()
            .map(|(name, value)| (Key::Field(name.clone()), self.substitute(&summary, value, &arguments)))
            .collect();
        Abstract::object(parts)
    }
}

/// Kinds that a function's header gives.
pub(super) fn declared_kinds(resolver: &Resolver, f: FunctionRef) -> Vec<Kind> {
    (0..resolver.function(f).params.len())
        .map(|p| kinds::declared(resolver, f, p as u16))
        .collect()
}
