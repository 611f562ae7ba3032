//! What the conditions of a kernel speak of: its parameters, constants of its module, expressions over them.

use super::flow::Flow;
use crate::facts::{ArgKind, Const, Op, ValueId};
use crate::link::conditions::{Binding, Condition, Literal, Term, binding_of, condition_of, guard_condition};
use crate::link::resolve::{Entity, Resolver, ValueRef};
use crate::program::FunctionRef;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

const DEEPEST: u32 = 8;

impl Flow<'_, '_, '_> {
    /// The condition under which a value's code runs.
    pub(super) fn guard(&mut self, value: ValueId) -> Condition {
        let guard = self.body.value(value).guard;
        if let Some(known) = self.guards.get(&guard) {
            return known.clone();
        }
        let condition = guard_condition(self.facts, self.body, guard, &|v| self.leaf(v, DEEPEST));
        self.guards.insert(guard, condition.clone());
        condition
    }

    /// `bool(value)`
    pub(super) fn truth(&self, value: ValueId) -> Condition {
        condition_of(self.facts, self.body, value, &|v| self.leaf(v, DEEPEST))
    }

    /// What a value is where it is handed to a parameter.
    pub(super) fn binding(&self, value: ValueId) -> Binding {
        binding_of(self.facts, self.body, value, &|v| self.leaf(v, DEEPEST))
    }

    fn leaf(&self, value: ValueId, depth: u32) -> Binding {
        let Some(depth) = depth.checked_sub(1) else {
            return Binding::Unknown;
        };
        match self.body.op(value) {
            Op::Param(p) => Binding::Term(Term::Param(p)),
            Op::Free(_) => global(self.resolver(), ValueRef { at: self.f, value }),
            Op::Call(call) => match self.body.call(call).args.as_slice() {
                [arg] if arg.kind == ArgKind::Positional && self.is_constexpr(value) => match self.body.op(arg.value) {
                    Op::Const(_)
                    | Op::Param(_)
                    | Op::Free(_)
                    | Op::Select(..)
                    | Op::Compare(..)
                    | Op::And(_)
                    | Op::Or(_)
                    | Op::Unary(..) => binding_of(self.facts, self.body, arg.value, &|v| self.leaf(v, depth)),
                    _ => Binding::Unknown,
                },
                _ if !self.value(value).alternatives.is_empty() => Binding::NotNone,
                _ => Binding::Unknown,
            },
            Op::Attr(..) | Op::Index(..) | Op::Binary(..) => match self.hash_of(value) {
                Some(hash) => Binding::Term(Term::Value(hash)),
                None if self.value(value).alternatives.iter().any(|a| !a.raw) => Binding::NotNone,
                None => Binding::Unknown,
            },
            Op::Tuple(_) | Op::List(_) | Op::Dict(_) | Op::Function(_) | Op::Format(_) => Binding::NotNone,
            _ => Binding::Unknown,
        }
    }

    /// A hash of an expression over parameters and constants that has one value throughout a launch.
    fn hash_of(&self, value: ValueId) -> Option<u64> {
        let mut hasher = FxHasher::default();
        self.hash_into(value, DEEPEST, &mut hasher)?;
        Some(hasher.finish())
    }

    fn hash_into(&self, value: ValueId, depth: u32, hasher: &mut FxHasher) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let op = self.body.op(value);
        std::mem::discriminant(&op).hash(hasher);
        match op {
            Op::Param(p) => p.hash(hasher),
            Op::Free(name) => self.text(name).hash(hasher),
            Op::Const(c) => c.hash(hasher),
            Op::Attr(object, name) => {
                self.text(name).hash(hasher);
                self.hash_into(object, depth, hasher)?;
            }
            Op::Index(object, index) => {
                self.hash_into(object, depth, hasher)?;
                self.hash_into(index, depth, hasher)?;
            }
            Op::Binary(op, a, b) => {
                op.hash(hasher);
                self.hash_into(a, depth, hasher)?;
                self.hash_into(b, depth, hasher)?;
            }
            _ => return None,
        }
        Some(())
    }
}

/// What a name outside the function stands for: a literal where it is one for good, else itself.
pub(super) fn global(resolver: &Resolver, v: ValueRef) -> Binding {
    let entities = resolver.entities(v.at, v.value);
    if let [Entity::Value(known)] = entities.as_slice()
        && let Op::Const(constant) = resolver.body(known.at).op(known.value)
        && let Some(literal) = literal(resolver, known.at, constant)
    {
        return Binding::literal(literal);
    }
    if let [Entity::Made(path, made)] = entities.as_slice()
        && path.ends_with("language.constexpr")
        && let Op::Call(call) = resolver.body(made.at).op(made.value)
        && let Some(arg) = resolver.body(made.at).call(call).args.first()
        && let Op::Const(constant) = resolver.body(made.at).op(arg.value)
        && let Some(literal) = literal(resolver, made.at, constant)
    {
        return Binding::literal(literal);
    }
    let mut hasher = FxHasher::default();
    entities.hash(&mut hasher);
    Binding::Term(Term::Global(hasher.finish()))
}

/// A constant that nobody rebinds by habit: flags (`True`, `False`, `None`) are switched from outside and stay open.
fn literal(resolver: &Resolver, at: FunctionRef, constant: Const) -> Option<Literal> {
    match constant {
        Const::Int(i) => Some(Literal::Int(i.into())),
        Const::Str(text) => Some(Literal::Str(resolver.text(at.file, text).into())),
        Const::Float(text) => Some(Literal::Float(resolver.text(at.file, text).into())),
        Const::None | Const::Bool(_) | Const::BigNumber(_) | Const::Bytes | Const::Ellipsis => None,
    }
}
