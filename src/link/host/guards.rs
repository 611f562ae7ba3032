//! The conditions under which values are computed, and what values are to conditions.

use super::super::conditions::{Binding, Condition, Term, binding_of, condition_of};
use super::Root;
use super::body::Run;
use crate::facts::{GuardKind, Op, ValueId};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

impl Run<'_, '_> {
    /// The truth of a value as a condition over the parameters.
    pub(super) fn condition(&self, v: ValueId) -> Condition {
        condition_of(self.facts, self.body, v, &|x| self.leaf(x))
    }

    /// What a value is to a callee's conditions.
    pub(super) fn binding(&self, v: ValueId) -> Binding {
        binding_of(self.facts, self.body, v, &|x| self.leaf(x))
    }

    pub(super) fn leaf(&self, v: ValueId) -> Binding {
        match self.body.op(v) {
            Op::Param(i) => Binding::Term(Term::Param(i)),
            _ => {
                let abs = self.abs(v);
                if abs.none {
                    return Binding::literal(super::super::conditions::Literal::None);
                }
                if !abs.aliases.is_empty() && abs.aliases.iter().all(|a| a.known && matches!(a.root, Root::Fresh(..))) {
                    return Binding::NotNone;
                }
                Binding::Term(Term::Value(self.fingerprint(v, 40)))
            }
        }
    }

    /// A hash of an expression: equal expressions over equal inputs have the same.
    pub(super) fn fingerprint(&self, v: ValueId, depth: u32) -> u64 {
        if let Some(&known) = self.fingerprints.borrow().get(&v) {
            return known;
        }
        let mut hasher = FxHasher::default();
        let Some(depth) = depth.checked_sub(1) else {
            (9u8, v).hash(&mut hasher);
            return hasher.finish();
        };
        let op = self.body.op(v);
        let each = |parts: &[ValueId]| parts.iter().map(|&p| self.fingerprint(p, depth)).collect::<Vec<u64>>();
        match op {
            Op::Param(i) => (1u8, i).hash(&mut hasher),
            Op::Const(c) => (2u8, c).hash(&mut hasher),
            Op::Free(name) => (3u8, name).hash(&mut hasher),
            Op::Attr(object, name) => (4u8, name, each(&[object])).hash(&mut hasher),
            Op::Index(a, b) => (5u8, each(&[a, b])).hash(&mut hasher),
            Op::Unary(u, a) => (6u8, u, each(&[a])).hash(&mut hasher),
            Op::Binary(b, x, y) => (7u8, b, each(&[x, y])).hash(&mut hasher),
            Op::Compare(c, x, y) => (8u8, c, each(&[x, y])).hash(&mut hasher),
            Op::And(items) => (10u8, each(self.body.items(items))).hash(&mut hasher),
            Op::Or(items) => (11u8, each(self.body.items(items))).hash(&mut hasher),
            Op::Tuple(items) => (12u8, each(self.body.items(items))).hash(&mut hasher),
            Op::Call(call) if self.is_steady(self.body.call(call).callee) => {
                let call = self.body.call(call);
                let args: Vec<ValueId> = call.args.iter().map(|a| a.value).collect();
                (13u8, each(&[call.callee]), each(&args)).hash(&mut hasher);
            }
            _ => (9u8, v).hash(&mut hasher),
        }
        let hash = hasher.finish();
        self.fingerprints.borrow_mut().insert(v, hash);
        hash
    }

    /// Whether two calls of this callee with the same arguments give the same answer.
    pub(super) fn is_steady(&self, callee: ValueId) -> bool {
        match self.body.op(callee) {
            Op::Free(name) => matches!(
                self.text(name),
                "len" | "isinstance" | "hasattr" | "bool" | "int" | "max" | "min" | "getattr"
            ),
            Op::Attr(_, name) => {
                let name = self.text(name);
                matches!(
                    name,
                    "numel" | "size" | "stride" | "dim" | "is_contiguous" | "element_size" | "is_floating_point" | "get" | "cdiv"
                )
            }
            _ => false,
        }
    }

    /// The condition under which a value is computed.
    pub(super) fn guard(&mut self, v: ValueId) -> Condition {
        let mut path = vec![self.body.value(v).guard];
        let mut condition = loop {
            let at = *path.last().expect("never empty");
            if let Some(known) = self.guards.get(&at) {
                path.pop();
                break known.clone();
            }
            let parent = self.body.guards[at.index()].parent;
            if parent >= at {
                break Condition::True;
            }
            path.push(parent);
        };
        while let Some(at) = path.pop() {
            let own = match self.body.guards[at.index()].kind {
                GuardKind::Always => Condition::True,
                GuardKind::When(value, true) => self.condition(value),
                GuardKind::When(value, false) => self.condition(value).not(),
                GuardKind::Repeats | GuardKind::Maybe => Condition::Unknown,
            };
            condition = condition.and(own).at_most(super::values::MOST_PARTS);
            self.guards.insert(at, condition.clone());
        }
        condition
    }
}
