//! Reads conditions out of a body: the truth of a value, the branches that a value stands under.

use super::{Binding, Condition, Literal};
use crate::facts::{Body, CompareOp, Const, Facts, GuardId, GuardKind, Op, UnaryOp, ValueId};

/// What a value that is no boolean expression stands for: the kernel side knows parameters and constants, the host side more.
pub(crate) type Leaf<'a> = dyn Fn(ValueId) -> Binding + 'a;

/// Values looked at for one condition, shared values counted each time: bounds the work on hostile input.
const MOST_STEPS: u32 = 400;
const DEEPEST: u32 = 40;

/// `bool(value)` as a condition.
pub(crate) fn condition_of(facts: &Facts, body: &Body, value: ValueId, leaf: &Leaf) -> Condition {
    Reader {
        facts,
        body,
        leaf,
        steps: MOST_STEPS.into(),
    }
    .truth(value, 0)
}

/// What a value is, when it is handed to a parameter that conditions speak of.
pub(crate) fn binding_of(facts: &Facts, body: &Body, value: ValueId, leaf: &Leaf) -> Binding {
    Reader {
        facts,
        body,
        leaf,
        steps: MOST_STEPS.into(),
    }
    .binding(value, 0)
}

/// The condition under which code at `guard` runs.
pub(crate) fn guard_condition(facts: &Facts, body: &Body, guard: GuardId, leaf: &Leaf) -> Condition {
    let mut parts = Vec::new();
    let mut at = guard;
    loop {
        let g = &body.guards[at.index()];
        match g.kind {
            GuardKind::Always => {}
            GuardKind::When(value, true) => parts.push(condition_of(facts, body, value, leaf)),
            GuardKind::When(value, false) => parts.push(condition_of(facts, body, value, leaf).not()),
            GuardKind::Repeats | GuardKind::Maybe => parts.push(Condition::Unknown),
        }
        if g.parent >= at {
            return Condition::all(parts);
        }
        at = g.parent;
    }
}

struct Reader<'a> {
    facts: &'a Facts,
    body: &'a Body,
    leaf: &'a Leaf<'a>,
    steps: std::cell::Cell<u32>,
}

impl Reader<'_> {
    /// False when the value costs too much to read.
    fn step(&self, depth: u32) -> bool {
        let left = self.steps.get();
        self.steps.set(left.saturating_sub(1));
        left > 0 && depth < DEEPEST
    }

    fn truth(&self, value: ValueId, depth: u32) -> Condition {
        if !self.step(depth) {
            return Condition::Unknown;
        }
        match self.body.op(value) {
            Op::Unary(UnaryOp::Not, x) => self.truth(x, depth + 1).not(),
            Op::And(items) => Condition::all(self.body.items(items).iter().map(|&x| self.truth(x, depth + 1))),
            Op::Or(items) => Condition::any(self.body.items(items).iter().map(|&x| self.truth(x, depth + 1))),
            Op::Compare(op, a, b) => self.compare(op, a, b, depth),
            Op::Select(c, yes, no) => {
                let (yes, no) = (self.truth(yes, depth + 1), self.truth(no, depth + 1));
                self.truth(c, depth + 1).choose(yes, no)
            }
            Op::Annotated(_, x) => self.truth(x, depth + 1),
            _ => self.binding(value, depth).truthy(),
        }
    }

    fn binding(&self, value: ValueId, depth: u32) -> Binding {
        if !self.step(depth) {
            return Binding::Unknown;
        }
        match self.body.op(value) {
            Op::Const(c) => self.constant(c),
            Op::Unary(UnaryOp::Not, _) | Op::Compare(..) => Binding::Condition(self.truth(value, depth + 1)),
            Op::Unary(UnaryOp::Minus, x) => match self.binding(x, depth + 1) {
                Binding::Term(super::Term::Literal(Literal::Int(i))) => Binding::literal(Literal::Int(i.wrapping_neg())),
                Binding::Term(super::Term::Literal(Literal::Float(text))) => {
                    Binding::literal(Literal::Float(match text.strip_prefix('-') {
                        Some(rest) => rest.into(),
                        None => format!("-{text}").into(),
                    }))
                }
                _ => (self.leaf)(value),
            },
            Op::And(items) => self.chain(self.body.items(items), false, depth),
            Op::Or(items) => self.chain(self.body.items(items), true, depth),
            Op::Select(c, yes, no) => {
                let (yes, no) = (self.binding(yes, depth + 1), self.binding(no, depth + 1));
                Binding::choose(self.truth(c, depth + 1), yes, no)
            }
            Op::Annotated(_, x) => self.binding(x, depth + 1),
            _ => (self.leaf)(value),
        }
    }

    /// The value of `a or b or …` (`stop` true) or `a and b and …`.
    fn chain(&self, items: &[ValueId], stop: bool, depth: u32) -> Binding {
        let Some((&last, front)) = items.split_last() else {
            return Binding::Unknown;
        };
        let mut result = self.binding(last, depth + 1);
        for &item in front.iter().rev() {
            let (truth, value) = (self.truth(item, depth + 1), self.binding(item, depth + 1));
            result = if stop {
                Binding::choose(truth, value, result)
            } else {
                Binding::choose(truth, result, value)
            };
        }
        result
    }

    fn compare(&self, op: CompareOp, a: ValueId, b: ValueId, depth: u32) -> Condition {
        let both = || (self.binding(a, depth + 1), self.binding(b, depth + 1));
        match op {
            CompareOp::Eq | CompareOp::Is => {
                let (x, y) = both();
                x.equal(&y)
            }
            CompareOp::NotEq | CompareOp::IsNot => {
                let (x, y) = both();
                x.equal(&y).not()
            }
            CompareOp::Lt => {
                let (x, y) = both();
                x.less(&y)
            }
            CompareOp::Gt => {
                let (x, y) = both();
                y.less(&x)
            }
            CompareOp::LtE => {
                let (x, y) = both();
                y.less(&x).not()
            }
            CompareOp::GtE => {
                let (x, y) = both();
                x.less(&y).not()
            }
            CompareOp::In => self.member(a, b, depth),
            CompareOp::NotIn => self.member(a, b, depth).not(),
        }
    }

    /// `a in (x, y)`
    fn member(&self, a: ValueId, b: ValueId, depth: u32) -> Condition {
        let (Op::Tuple(items) | Op::List(items) | Op::Set(items)) = self.body.op(b) else {
            return Condition::Unknown;
        };
        let x = self.binding(a, depth + 1);
        Condition::any(self.body.items(items).iter().map(|&item| x.equal(&self.binding(item, depth + 1))))
    }

    fn constant(&self, constant: Const) -> Binding {
        match constant {
            Const::None => Binding::literal(Literal::None),
            Const::Bool(b) => Binding::literal(Literal::Bool(b)),
            Const::Int(i) => Binding::literal(Literal::Int(i.into())),
            Const::Float(text) => Binding::literal(Literal::Float(self.facts.name(text).into())),
            Const::Str(text) => Binding::literal(Literal::Str(self.facts.name(text).into())),
            Const::BigNumber(_) | Const::Bytes | Const::Ellipsis => Binding::NotNone,
        }
    }
}
