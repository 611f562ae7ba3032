//! Which values stand for a name, and what is done with them.

use super::live::Names;
use crate::facts::{Body, Const, Function, Name, Op, ValueId};
use std::collections::BTreeSet;

/// The operands of an operation.
pub(super) fn operands(body: &Body, op: Op) -> Vec<ValueId> {
    match op {
        Op::Undefined
        | Op::Param(_)
        | Op::Free(_)
        | Op::Const(_)
        | Op::Function(_)
        | Op::Class(_)
        | Op::Import(_)
        | Op::Exception
        | Op::Raise => Vec::new(),
        Op::Format(items)
        | Op::Tuple(items)
        | Op::List(items)
        | Op::Set(items)
        | Op::Dict(items)
        | Op::And(items)
        | Op::Or(items)
        | Op::Phi(items) => body.items(items).to_vec(),
        Op::Attr(a, _)
        | Op::Collect(_, a)
        | Op::Star(a)
        | Op::Unary(_, a)
        | Op::Iterate(a)
        | Op::Unpack { value: a, .. }
        | Op::Enter(a)
        | Op::Suspend(a)
        | Op::SetOuter(_, a)
        | Op::Delete(a)
        | Op::Return(a)
        | Op::Assert(a) => vec![a],
        Op::Index(a, b)
        | Op::Binary(_, a, b)
        | Op::Compare(_, a, b)
        | Op::SetAttr(a, _, b)
        | Op::Augment(_, a, b)
        | Op::Annotated(a, b) => vec![a, b],
        Op::Slice(a, b, c) | Op::Select(a, b, c) | Op::SetIndex(a, b, c) => vec![a, b, c],
        Op::Call(call) => {
            let call = body.call(call);
            std::iter::once(call.callee).chain(call.args.iter().map(|a| a.value)).collect()
        }
    }
}

/// Every value that a name may stand for, joins included.
pub(super) fn of_name(function: &Function, name: Name) -> BTreeSet<ValueId> {
    let body = &function.body;
    let mut found: BTreeSet<ValueId> = BTreeSet::new();
    if let Some(param) = function.param(name) {
        found.extend(body.iter().filter(|(_, v)| v.op == Op::Param(param)).map(|(id, _)| id));
    }
    if let Ok(at) = function.assigned.binary_search_by_key(&name, |a| a.0) {
        found.extend(&function.assigned[at].1);
    }
    let unbound = |v: ValueId| body.op(v) == Op::Undefined;
    // Twice, for what is carried around a loop.
    for (id, value) in body.iter().chain(body.iter()) {
        let joins = match value.op {
            Op::Select(_, yes, no) => vec![yes, no],
            Op::Phi(items) => body.items(items).to_vec(),
            _ => continue,
        };
        let own = |v: &ValueId| found.contains(v);
        if joins.iter().any(own) && joins.iter().all(|v| own(v) || unbound(*v)) {
            found.insert(id);
        }
    }
    found
}

/// The value that a name has right before a place of the body, given all that it may stand for.
pub(super) fn reaching(function: &Function, name: Name, all: &BTreeSet<ValueId>, start: ValueId) -> Option<ValueId> {
    let body = &function.body;
    let assigned = match function.assigned.binary_search_by_key(&name, |a| a.0) {
        Ok(at) => function.assigned[at].1.as_slice(),
        Err(_) => &[],
    };
    // Two names may share a value: the statements tell which of them comes last, not the values.
    let statements: Vec<_> = body.statements.iter().filter(|s| s.defines.contains(&name)).collect();
    if statements.len() != assigned.len() {
        return None;
    }
    let before = statements.iter().zip(assigned).filter(|(s, _)| s.values.0 < start);
    let last = before.max_by_key(|(s, _)| s.values.0);
    let from = last.map_or(ValueId(0), |(s, _)| s.header_values.1);
    let join = |v: &ValueId| matches!(body.op(*v), Op::Select(..) | Op::Phi(_)) && !assigned.contains(v);
    let joined = all.iter().copied().rfind(|v| from <= *v && *v < start && join(v));
    joined.or(last.map(|(_, v)| *v)).or_else(|| {
        let param = function.param(name)?;
        body.iter().find(|(_, v)| v.op == Op::Param(param)).map(|(id, _)| id)
    })
}

/// The values from outside that operations of a range take.
pub(super) fn taken(body: &Body, range: (ValueId, ValueId)) -> BTreeSet<ValueId> {
    let mut found = BTreeSet::new();
    for v in ids(range) {
        found.extend(operands(body, body.op(v)).into_iter().filter(|&o| o < range.0));
    }
    found
}

/// The values of a range.
pub(super) fn ids(range: (ValueId, ValueId)) -> impl Iterator<Item = ValueId> {
    (range.0.0..range.1.0).map(ValueId)
}

/// On some path the value is made by such an operation, as far as it can be followed.
pub(super) fn may_be(body: &Body, value: ValueId, wanted: &dyn Fn(Op) -> bool) -> bool {
    let mut todo = vec![value];
    let mut seen = BTreeSet::new();
    while let Some(v) = todo.pop() {
        if !seen.insert(v) || seen.len() > 200 {
            continue;
        }
        match body.op(v) {
            Op::Select(_, yes, no) => todo.extend([yes, no]),
            Op::Phi(items) | Op::Or(items) | Op::And(items) => todo.extend(body.items(items)),
            Op::Annotated(_, inner) => todo.push(inner),
            op if wanted(op) => return true,
            _ => {}
        }
    }
    false
}

/// On some path the value is `None`, or unbound.
pub(super) fn may_lack(body: &Body, value: ValueId, wanted: Op) -> bool {
    may_be(body, value, &|op| op == wanted)
}

/// The value may be `None`.
pub(super) fn may_be_none(body: &Body, value: ValueId) -> bool {
    may_lack(body, value, Op::Const(Const::None))
}

/// Names that the body or an enclosing function binds: those that a function of the module does not see.
pub(super) fn locals(facts: &crate::facts::Facts, function: &Function) -> Names {
    let mut found = Names::new();
    let mut at = function;
    loop {
        if at.kind != crate::facts::FunctionKind::Class {
            found.extend(at.params.iter().map(|p| p.name));
            found.extend(at.assigned.iter().map(|a| a.0));
        }
        if at.parent == crate::facts::MODULE {
            return found;
        }
        at = facts.function(at.parent);
    }
}
