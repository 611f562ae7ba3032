//! Which values stand for a name, and what is done with them.

use super::live::Names;
use crate::facts::{Body, Function, Name, Op, Statement, StatementKind, ValueId};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// What the names of a body stand for, and what takes each value: many regions ask the same.
pub(super) struct Bindings<'a> {
    function: &'a Function,
    names: RefCell<FxHashMap<Name, Rc<Named<'a>>>>,
    /// Values, each with the values that are made of it. Sorted.
    uses: Vec<(ValueId, ValueId)>,
    /// Names that the body does not bind, each with the values that read it. Sorted.
    free: Vec<(Name, ValueId)>,
}

/// Values of branches that are not taken where a place is reached.
fn other_branches(body: &Body, start: ValueId) -> Vec<(ValueId, ValueId)> {
    let mut found = Vec::new();
    let mut at = body.statement_of(start);
    while let Some(id) = at {
        let parent = body.statements[id.index()].parent;
        if let Some(outer) = parent.map(|p| &body.statements[p.index()])
            && matches!(outer.kind, StatementKind::If | StatementKind::Match)
        {
            let blocks = outer.blocks.iter().map(|b| &b.statements).filter(|b| !b.contains(&id));
            found.extend(blocks.filter_map(|block| {
                let (first, last) = (block.first()?, block.last()?);
                Some((body.statements[first.index()].values.0, body.statements[last.index()].values.1))
            }));
        }
        at = parent;
    }
    found
}

/// What a name stands for.
pub(super) struct Named<'a> {
    body: &'a Body,
    /// Every value, joins included.
    pub(super) all: BTreeSet<ValueId>,
    /// The statements that bind it, each with the value; `None`: they cannot be told apart.
    bound: Option<Vec<(&'a Statement, ValueId)>>,
    /// Joins that no statement assigns.
    joins: Vec<ValueId>,
    param: Option<ValueId>,
}

impl<'a> Bindings<'a> {
    pub(super) fn new(function: &'a Function) -> Self {
        let body = &function.body;
        let taken = body
            .iter()
            .flat_map(|(id, v)| operands(body, v.op).into_iter().map(move |o| (o, id)));
        let mut uses: Vec<(ValueId, ValueId)> = taken.collect();
        uses.sort_unstable();
        uses.dedup();
        let read = body.iter().filter_map(|(id, v)| match v.op {
            Op::Free(name) => Some((name, id)),
            _ => None,
        });
        let mut free: Vec<(Name, ValueId)> = read.collect();
        free.sort_unstable();
        Self {
            function,
            names: RefCell::default(),
            uses,
            free,
        }
    }

    /// What a name stands for.
    pub(super) fn named(&self, name: Name) -> Rc<Named<'a>> {
        if let Some(known) = self.names.borrow().get(&name) {
            return Rc::clone(known);
        }
        let named = Rc::new(Named::new(self.function, name));
        self.names.borrow_mut().insert(name, Rc::clone(&named));
        named
    }

    /// The values of a range that are made of a value, in order.
    pub(super) fn users(&self, value: ValueId, range: (ValueId, ValueId)) -> impl Iterator<Item = ValueId> {
        between(&self.uses, value, range)
    }

    /// The values of a range that read a name which the body does not bind, in order.
    pub(super) fn free(&self, name: Name, range: (ValueId, ValueId)) -> impl Iterator<Item = ValueId> {
        between(&self.free, name, range)
    }

    /// The value comes from outside of a range, and an operation of the range takes it.
    pub(super) fn is_taken(&self, value: ValueId, range: (ValueId, ValueId)) -> bool {
        value < range.0 && self.users(value, range).next().is_some()
    }
}

/// Of sorted pairs the seconds within a range that stand with a first.
fn between<K: Copy + Ord>(pairs: &[(K, ValueId)], first: K, range: (ValueId, ValueId)) -> impl Iterator<Item = ValueId> {
    let start = pairs.partition_point(|pair| *pair < (first, range.0));
    let own = pairs[start..].iter().take_while(move |pair| **pair < (first, range.1));
    own.map(|pair| pair.1)
}

impl<'a> Named<'a> {
    fn new(function: &'a Function, name: Name) -> Self {
        let body = &function.body;
        let assigned = match function.assigned.binary_search_by_key(&name, |a| a.0) {
            Ok(at) => function.assigned[at].1.as_slice(),
            Err(_) => &[],
        };
        let all = of_name(function, name);
        // A parameter is bound from the start: what may be unbound is another name that shares its value.
        let is_param = function.param(name).is_some();
        let bound = |v: &ValueId| !operands(body, body.op(*v)).iter().any(|part| body.op(*part) == Op::Undefined);
        let is_join = |v: &ValueId| matches!(body.op(*v), Op::Select(..) | Op::Phi(_)) && !assigned.contains(v);
        let join = |v: &ValueId| is_join(v) && (!is_param || bound(v));
        // Two names may share a value: the statements tell which of them comes last, not the values.
        let statements: Vec<&Statement> = body.statements.iter().filter(|s| s.defines.contains(&name)).collect();
        let by_statement = assigned.iter().copied().filter(|v| !matches!(body.op(*v), Op::Param(_)));
        let apart = statements.len() == by_statement.clone().count();
        let param = function.param(name);
        Self {
            body,
            joins: all.iter().copied().filter(join).collect(),
            all,
            bound: apart.then(|| statements.into_iter().zip(by_statement).collect()),
            param: param.and_then(|param| body.iter().find(|(_, v)| v.op == Op::Param(param)).map(|(id, _)| id)),
        }
    }

    /// The value that it has right before a place of the body.
    pub(super) fn reaching(&self, start: ValueId) -> Option<ValueId> {
        let others = other_branches(self.body, start);
        let passed = |v: ValueId| !others.iter().any(|range| range.0 <= v && v < range.1);
        let before = self
            .bound
            .as_ref()?
            .iter()
            .filter(|(s, _)| s.values.0 < start && passed(s.values.0));
        let last = before.max_by_key(|(s, _)| s.values.0);
        let from = last.map_or(ValueId(0), |(s, _)| s.header_values.1);
        let joined = self.joins.iter().copied().rfind(|v| from <= *v && *v < start && passed(*v));
        joined.or(last.map(|(_, v)| *v)).or(self.param)
    }
}

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
    if found.is_empty() {
        return found;
    }
    let unbound = |v: ValueId| body.op(v) == Op::Undefined;
    // Twice, for what is carried around a loop.
    for (id, value) in body.iter().chain(body.iter()) {
        let two;
        let joins = match value.op {
            Op::Select(_, yes, no) => {
                two = [yes, no];
                &two
            }
            Op::Phi(items) => body.items(items),
            _ => continue,
        };
        let own = |v: &ValueId| found.contains(v);
        if joins.iter().any(own) && joins.iter().all(|v| own(v) || unbound(*v)) {
            found.insert(id);
        }
    }
    found
}

/// The values of a range.
pub(super) fn ids(range: (ValueId, ValueId)) -> impl Iterator<Item = ValueId> {
    (range.0.0..range.1.0).map(ValueId)
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
