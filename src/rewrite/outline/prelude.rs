//! Cheap definitions that go with the launch: a grid, a dict of options, a function of `meta`.

use super::super::fake::short;
use super::super::scope::counts;
use super::launch::is_descriptor;
use super::live::{Range, is_inside};
use super::region::{Outliner, Region};
use super::values::ids;
use crate::facts::{Function, Name, Op, StatementId, StatementKind, ValueId};
use crate::source::Span;
use std::collections::BTreeSet;

impl Outliner<'_, '_> {
    /// The statements that make a value by this name, if they can as well stand right before the launch.
    pub(super) fn recomputed(&self, name: Name, range: &Range, start: ValueId, doubts: &mut Vec<String>) -> Option<Vec<StatementId>> {
        let function = self.scope.function();
        let body = &function.body;
        if function.param(name).is_some() {
            return None;
        }
        let named = self.bindings.named(name);
        let own = &named.all;
        let everywhere = (ValueId(0), ValueId(u32::MAX));
        let is_set = |&v: &ValueId| {
            let mut users = self.bindings.users(v, everywhere);
            users.any(|u| matches!(body.op(u), Op::SetAttr(object, ..) if object == v))
        };
        // What is set on an object is lost on one that is made anew.
        if own.iter().any(is_set) {
            return None;
        }
        let fillings = self.fillings(own);
        // Outermost statements that give the name a value, or put something into it.
        let makes = |i: usize| body.statements[i].defines.contains(&name) || self.fills(StatementId(i as u32), &fillings);
        let mut found: Vec<StatementId> = Vec::new();
        for i in (0..body.statements.len()).filter(|&i| makes(i)) {
            let mut id = StatementId(i as u32);
            while !self.encloses(body.statements[id.index()].parent, range) {
                id = body.statements[id.index()].parent?;
            }
            if !found.contains(&id) {
                found.push(id);
            }
        }
        let mut calls = Vec::new();
        let good = |&id: &StatementId, calls: &mut Vec<String>| {
            body.statements[id.index()].values.1 <= start && self.is_cheap_statement(id, (own, start), calls, 8)
        };
        if found.is_empty() || !found.iter().all(|id| good(id, &mut calls)) {
            return None;
        }
        let together = |n: &Name| {
            let defining = (0..body.statements.len()).filter(|&i| body.statements[i].defines.contains(n));
            defining.map(|i| StatementId(i as u32)).all(|id| self.lies_in(id, &found))
        };
        for &id in &found {
            let (uses, defines) = self.names_of(id);
            let same = |n: Name, at: ValueId| {
                let named = self.bindings.named(n);
                let here = named.reaching(at);
                here.is_some() && here == named.reaching(start)
            };
            // A function reads names when it is called, which is at the launch.
            let late = self.is_function(id);
            let at = body.statements[id.index()].values.0;
            let steady =
                |n: &Name| late || !self.locals.contains(n) || self.is_constant(*n) || defines.contains(n) || *n == name || same(*n, at);
            if !uses.iter().all(steady) || !defines.iter().all(together) {
                return None;
            }
        }
        doubts.extend(calls);
        Some(found)
    }

    /// The statement defines a function, and nothing else.
    pub(super) fn is_function(&self, id: StatementId) -> bool {
        let body = self.scope.body();
        let statement = &body.statements[id.index()];
        match statement.kind {
            StatementKind::Def => true,
            StatementKind::Assign => ids(statement.values).all(|v| matches!(body.op(v), Op::Function(_))),
            _ => false,
        }
    }

    /// Names that a statement reads and binds, at any depth.
    pub(super) fn names_of(&self, id: StatementId) -> (Vec<Name>, Vec<Name>) {
        let body = self.scope.body();
        let (mut uses, mut defines, mut todo) = (Vec::new(), Vec::new(), vec![id]);
        while let Some(id) = todo.pop() {
            let statement = &body.statements[id.index()];
            uses.extend(&statement.uses);
            defines.extend(&statement.defines);
            todo.extend(statement.blocks.iter().flat_map(|b| &b.statements));
        }
        (uses, defines)
    }

    pub(super) fn lies_in(&self, mut id: StatementId, outer: &[StatementId]) -> bool {
        loop {
            if outer.contains(&id) {
                return true;
            }
            match self.scope.body().statements[id.index()].parent {
                Some(parent) => id = parent,
                None => return false,
            }
        }
    }

    /// Operations that put something into one of these values, in order.
    fn fillings(&self, own: &BTreeSet<ValueId>) -> Vec<ValueId> {
        let everywhere = (ValueId(0), ValueId(u32::MAX));
        let users = |&object: &ValueId| {
            let users = self.bindings.users(object, everywhere);
            users.filter(move |&v| self.filled(v) == Some(object))
        };
        let mut found: Vec<ValueId> = own.iter().flat_map(users).collect();
        found.sort_unstable();
        found
    }

    /// The statement itself holds one of these values.
    fn fills(&self, id: StatementId, fillings: &[ValueId]) -> bool {
        let body = self.scope.body();
        let statement = &body.statements[id.index()];
        statement.blocks.is_empty()
            && fillings.iter().any(|&v| statement.values.0 <= v && v < statement.values.1)
            && body.statement_of(statement.values.0) == Some(id)
    }

    /// What an operation puts something into.
    fn filled(&self, value: ValueId) -> Option<ValueId> {
        const CHANGES: [&str; 6] = ["update", "pop", "setdefault", "clear", "append", "extend"];
        match self.scope.body().op(value) {
            Op::SetIndex(object, ..) | Op::Delete(object) => Some(object),
            Op::Attr(object, name) if CHANGES.contains(&self.scope.name(name)) => Some(object),
            _ => None,
        }
    }

    /// Nothing but cheap values and branches between them.
    fn is_cheap_statement(
        &self,
        id: StatementId,
        (own, start): (&BTreeSet<ValueId>, ValueId),
        calls: &mut Vec<String>,
        depth: u32,
    ) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let statement = &self.scope.body().statements[id.index()];
        let mut cheap = |values: (ValueId, ValueId)| {
            ids(values).all(|v| match self.filled(v) {
                Some(object) => own.contains(&object),
                None => self.is_cheap(v, (v, start)) || self.fills_by_call(v, own) || self.is_question(v, calls),
            })
        };
        match statement.kind {
            StatementKind::Assign | StatementKind::Augment | StatementKind::Expression | StatementKind::Text => cheap(statement.values),
            StatementKind::Pass => true,
            StatementKind::Def => self.scope.text(statement.span).starts_with("def "),
            StatementKind::If => {
                cheap(statement.header_values)
                    && statement
                        .blocks
                        .iter()
                        .flat_map(|b| &b.statements)
                        .all(|&inner| self.is_cheap_statement(inner, (own, start), calls, depth))
            }
            _ => false,
        }
    }

    /// `options.update(…)` of one of these values.
    fn fills_by_call(&self, value: ValueId, own: &BTreeSet<ValueId>) -> bool {
        let body = self.scope.body();
        let Op::Call(call) = body.op(value) else { return false };
        self.filled(body.call(call).callee).is_some_and(|object| own.contains(&object))
    }

    /// A call without arguments of something in the module: it asks what holds of the process.
    fn is_question(&self, value: ValueId, calls: &mut Vec<String>) -> bool {
        let body = self.scope.body();
        let Op::Call(call) = body.op(value) else { return false };
        let call = body.call(call);
        if !call.args.is_empty() || call.decorates.is_some() || self.scope.dotted(call.callee).is_none() {
            return false;
        }
        if self
            .scope
            .project_function(call.callee)
            .is_some_and(|f| self.calls.launches_itself(f))
        {
            return false;
        }
        calls.push(format!("`{}` is called inside of the op", short(self.scope, value)));
        true
    }

    /// Says of the statements that go with regions whether they are needed where they stand, too.
    pub(super) fn settle(&self, regions: &mut [Region]) {
        let statements = |r: &Region| {
            r.range
                .statements()
                .iter()
                .copied()
                .chain(r.prelude.iter().map(|p| p.0))
                .collect::<Vec<_>>()
        };
        let moved: Vec<StatementId> = regions.iter().flat_map(statements).collect();
        // What one op is given, another may make itself.
        let root = |text: &str| text.split(['.', '[']).next().unwrap_or_default().to_string();
        let given: BTreeSet<String> = regions.iter().flat_map(|r| &r.inputs).map(|i| root(&i.text)).collect();
        for (id, stays) in regions.iter_mut().flat_map(|r| &mut r.prelude) {
            let (_, names) = self.names_of(*id);
            *stays = names
                .iter()
                .any(|n| given.contains(self.scope.name(*n)) || self.is_read_elsewhere(*n, &moved));
        }
    }

    /// Some statement that is not moved along reads the name.
    fn is_read_elsewhere(&self, name: Name, moved: &[StatementId]) -> bool {
        let body = self.scope.body();
        let inside = |mut id: StatementId| loop {
            if moved.contains(&id) {
                return true;
            }
            match body.statements[id.index()].parent {
                Some(parent) => id = parent,
                None => return false,
            }
        };
        let all = body.statements.iter().enumerate().map(|(i, s)| (StatementId(i as u32), s));
        all.filter(|(_, s)| s.uses.contains(&name)).any(|(id, _)| !inside(id)) || self.is_captured_elsewhere(name, moved)
    }

    /// Some function that is defined in the body, and not moved along, reads the name when it is called.
    pub(super) fn is_captured_elsewhere(&self, name: Name, moved: &[StatementId]) -> bool {
        if !self.nested.contains(&name) {
            return false;
        }
        let (facts, statements) = (self.scope.facts(), &self.scope.body().statements);
        let stays = |span: Span| !moved.iter().any(|id| statements[id.index()].span.contains(span));
        let reads = |f: &Function| f.body.values.iter().any(|v| v.op == Op::Free(name));
        let inner = facts.functions().filter(|(_, f)| is_inside(facts, f, self.scope.at.function));
        inner.into_iter().any(|(_, f)| stays(f.span) && reads(f))
    }

    /// The name has one value wherever it has one.
    pub(super) fn is_constant(&self, name: Name) -> bool {
        let assigned = &self.scope.function().assigned;
        assigned
            .binary_search_by_key(&name, |a| a.0)
            .is_ok_and(|at| assigned[at].1.len() == 1)
    }

    /// The block of a statement holds a range, at any depth.
    pub(super) fn encloses(&self, parent: Option<StatementId>, range: &Range) -> bool {
        let mut at = range.parent;
        loop {
            if at == parent {
                return true;
            }
            match at {
                Some(id) => at = self.scope.body().statements[id.index()].parent,
                None => return false,
            }
        }
    }

    /// A parameter of which attributes are read between two places, and nothing else is done with it.
    fn is_only_read(&self, object: ValueId, between: (ValueId, ValueId)) -> bool {
        let body = self.scope.body();
        let reads = |v: ValueId| matches!(body.op(v), Op::Attr(o, _) if o == object);
        matches!(body.op(object), Op::Param(_)) && self.bindings.users(object, between).all(reads)
    }

    /// Costs nothing, changes nothing, and gives the same wherever it stands.
    fn is_cheap(&self, value: ValueId, between: (ValueId, ValueId)) -> bool {
        let body = self.scope.body();
        match body.op(value) {
            Op::Param(_)
            | Op::Free(_)
            | Op::Const(_)
            | Op::Tuple(_)
            | Op::List(_)
            | Op::Dict(_)
            | Op::Star(_)
            | Op::Unary(..)
            | Op::Binary(..)
            | Op::Compare(..)
            | Op::And(_)
            | Op::Or(_)
            | Op::Select(..)
            | Op::Function(_)
            | Op::Import(_)
            | Op::Annotated(..)
            | Op::Unpack { .. }
            | Op::Phi(_)
            | Op::Undefined => true,
            Op::Attr(object, _) if self.is_only_read(object, between) => true,
            // What an object holds may change in between; what a tensor or module says of itself does not.
            Op::Attr(object, _) | Op::Index(object, _) => {
                matches!(body.op(object), Op::Free(_) | Op::Import(_) | Op::Attr(..)) && self.scope.dotted(object).is_some()
                    || !matches!(self.scope.kind(object), super::super::scope::Kind::Unknown)
            }
            Op::Call(call) => {
                let name = self.scope.dotted(body.call(call).callee).unwrap_or_default();
                let plain = matches!(name.as_str(), "dict" | "min" | "max" | "len" | "int" | "bool" | "tuple");
                plain || counts(&name) || is_descriptor(&name)
            }
            _ => false,
        }
    }

    /// Something is put into the value after it is made.
    pub(super) fn is_filled(&self, value: ValueId) -> bool {
        let everywhere = (ValueId(0), ValueId(u32::MAX));
        self.bindings.users(value, everywhere).any(|v| self.filled(v) == Some(value))
    }
}
