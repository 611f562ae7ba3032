//! One body in work: its values, its environment and the log that undoes a branch.

use super::names::Slot;
use crate::facts::*;
use crate::source::Span;

/// The value of a name that is unbound here.
pub(super) const UNBOUND: ValueId = ValueId(u32::MAX);

/// What a branch changed: each slot with its new value, sorted by slot.
pub(super) type Changes = Vec<(Slot, ValueId)>;

/// A body in work.
pub(super) struct Scope {
    pub(super) function: FunctionId,
    pub(super) kind: FunctionKind,
    pub(super) qualname: Name,
    pub(super) class: Option<ClassId>,
    pub(super) body: Body,
    /// Slot → name.
    pub(super) locals: Vec<Name>,
    /// Slot → value now.
    pub(super) env: Vec<ValueId>,
    /// Slots that changed with the value before, oldest first.
    log: Vec<(Slot, ValueId)>,
    /// Every value that a slot was given, in order; [`UNBOUND`] for `del`.
    pub(super) given: Vec<(Slot, ValueId)>,
    /// Every place that binds a name, sorted.
    pub(super) bound: Vec<(u32, Name)>,
    /// Roles that names had in the enclosing bodies.
    pub(super) shadowed: Vec<(Name, super::names::Owner)>,
    pub(super) guard: GuardId,
    /// No execution reaches this point.
    pub(super) ended: bool,
    /// `return` statements so far.
    pub(super) returns: u32,
    /// `break` and `continue` statements so far that leave a loop still open.
    pub(super) jumps: u32,
    pub(super) loops: Vec<Loop>,
    /// Targets of comprehensions and type parameters, innermost last: they shadow and do not leak.
    pub(super) overlay: Vec<(Name, ValueId)>,
    /// Overlaid names that a nested function sees.
    pub(super) captured: Vec<(Name, ValueId)>,
    pub(super) operands: Vec<ValueId>,
    pub(super) uses: Vec<Name>,
    pub(super) defines: Vec<Name>,
    pub(super) frees: Vec<Name>,
    pub(super) statement: Option<StatementId>,
    pub(super) is_generator: bool,
    undefined: Option<ValueId>,
}

/// A loop in work.
pub(super) struct Loop {
    /// Names that the loop assigns.
    pub(super) slots: Vec<Slot>,
    /// Their values at each way back to the head, `slots.len()` at a time.
    pub(super) back: Vec<ValueId>,
    /// Their values at each `break`, likewise.
    pub(super) breaks: Vec<ValueId>,
    /// Number of `break`s.
    pub(super) break_count: usize,
}

impl Scope {
    /// A scope without a body yet.
    pub(super) fn new() -> Self {
        Self {
            function: MODULE,
            kind: FunctionKind::Module,
            qualname: Name(0),
            class: None,
            body: Body::default(),
            locals: Vec::new(),
            env: Vec::new(),
            log: Vec::new(),
            given: Vec::new(),
            bound: Vec::new(),
            shadowed: Vec::new(),
            guard: ALWAYS,
            ended: false,
            returns: 0,
            jumps: 0,
            loops: Vec::new(),
            overlay: Vec::new(),
            captured: Vec::new(),
            operands: Vec::new(),
            uses: Vec::new(),
            defines: Vec::new(),
            frees: Vec::new(),
            statement: None,
            is_generator: false,
            undefined: None,
        }
    }

    /// Makes the scope fit for another body; buffers are kept.
    pub(super) fn reset(&mut self, function: FunctionId, kind: FunctionKind, qualname: Name) {
        let Self {
            body,
            locals,
            env,
            log,
            given,
            bound,
            shadowed,
            loops,
            overlay,
            captured,
            operands,
            uses,
            defines,
            frees,
            ..
        } = self;
        body.values.clear();
        body.pool.clear();
        body.calls.clear();
        body.guards.clear();
        body.statements.clear();
        body.top.clear();
        body.guards.push(Guard {
            parent: ALWAYS,
            kind: GuardKind::Always,
        });
        locals.clear();
        env.clear();
        log.clear();
        given.clear();
        bound.clear();
        shadowed.clear();
        loops.clear();
        overlay.clear();
        captured.clear();
        operands.clear();
        uses.clear();
        defines.clear();
        frees.clear();
        (self.function, self.kind, self.qualname) = (function, kind, qualname);
        (self.class, self.statement, self.undefined) = (None, None, None);
        (self.guard, self.ended, self.is_generator) = (ALWAYS, false, false);
        (self.returns, self.jumps) = (0, 0);
    }

    /// Adds a value.
    pub(super) fn emit(&mut self, op: Op, span: Span) -> ValueId {
        let id = ValueId(self.body.values.len() as u32);
        self.body.values.push(Value {
            op,
            span,
            guard: self.guard,
        });
        id
    }

    /// The index that the next value will have.
    pub(super) fn next(&self) -> ValueId {
        ValueId(self.body.values.len() as u32)
    }

    /// The operands pushed since `mark`, as a list.
    pub(super) fn items(&mut self, mark: usize) -> Items {
        let start = self.body.pool.len() as u32;
        self.body.pool.extend(self.operands.drain(mark..));
        Items {
            start,
            len: self.body.pool.len() as u32 - start,
        }
    }

    /// A branch context below `parent`.
    pub(super) fn guard_under(&mut self, parent: GuardId, kind: GuardKind) -> GuardId {
        self.body.guards.push(Guard { parent, kind });
        GuardId(self.body.guards.len() as u32 - 1)
    }

    /// Adds a condition to the branch context; the old context is given back.
    pub(super) fn narrow(&mut self, kind: GuardKind) -> GuardId {
        let narrowed = self.guard_under(self.guard, kind);
        std::mem::replace(&mut self.guard, narrowed)
    }

    /// One value that stands for unbound names in joins.
    pub(super) fn undefined(&mut self) -> ValueId {
        if let Some(value) = self.undefined {
            return value;
        }
        let guard = std::mem::replace(&mut self.guard, ALWAYS);
        let value = self.emit(Op::Undefined, Span::default());
        self.guard = guard;
        self.undefined = Some(value);
        value
    }

    /// The value, or the one that stands for unbound names.
    pub(super) fn known(&mut self, value: ValueId) -> ValueId {
        if value == UNBOUND { self.undefined() } else { value }
    }

    /// Gives a slot a value by an assignment.
    pub(super) fn assign(&mut self, slot: Slot, value: ValueId) {
        self.given.push((slot, value));
        self.set(slot, value);
    }

    /// Gives a slot a value by a join.
    pub(super) fn set(&mut self, slot: Slot, value: ValueId) {
        let old = std::mem::replace(&mut self.env[slot as usize], value);
        if old != value {
            self.log.push((slot, old));
        }
    }

    /// The point to come back to.
    pub(super) fn mark(&self) -> usize {
        self.log.len()
    }

    /// What changed since `mark`.
    pub(super) fn changes(&self, mark: usize) -> Changes {
        let mut changes: Changes = self.log[mark..].iter().map(|&(slot, _)| (slot, self.env[slot as usize])).collect();
        changes.sort_unstable();
        changes.dedup();
        changes
    }

    /// Undoes what happened since `mark`.
    pub(super) fn roll_back(&mut self, mark: usize) {
        while self.log.len() > mark {
            let Some((slot, old)) = self.log.pop() else { return };
            self.env[slot as usize] = old;
        }
    }

    /// Ends a branch: what it changed, undone.
    pub(super) fn take_branch(&mut self, mark: usize) -> Changes {
        let changes = self.changes(mark);
        self.roll_back(mark);
        changes
    }

    /// The value of a slot at the end of a branch.
    pub(super) fn at_end(&self, changes: &Changes, slot: Slot) -> ValueId {
        match changes.binary_search_by_key(&slot, |c| c.0) {
            Ok(i) => changes[i].1,
            Err(_) => self.env[slot as usize],
        }
    }

    /// The slots that any of the branches changed, sorted.
    pub(super) fn changed<'c>(ends: impl Iterator<Item = &'c Changes>) -> Vec<Slot> {
        let mut slots: Vec<Slot> = ends.flat_map(|c| c.iter().map(|&(slot, _)| slot)).collect();
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// One of several values: itself where they are one, else a [`Op::Phi`] of the distinct ones in order.
    pub(super) fn phi(&mut self, values: impl IntoIterator<Item = ValueId>, span: Span) -> ValueId {
        let mark = self.operands.len();
        self.operands.extend(values);
        distinct(&mut self.operands, mark);
        if self.operands.len() == mark + 1 {
            return self.operands.pop().unwrap_or(UNBOUND);
        }
        for i in mark..self.operands.len() {
            self.operands[i] = self.known(self.operands[i]);
        }
        let items = self.items(mark);
        self.emit(Op::Phi(items), span)
    }

    /// Goes on after branches that all may have been taken. When none goes on, the last one's values stay.
    pub(super) fn join(&mut self, ends: &[End], span: Span) {
        let alive: Vec<&Changes> = ends.iter().filter(|e| !e.ended).map(|e| &e.changes).collect();
        if alive.is_empty() {
            if let Some(last) = ends.last() {
                last.changes.iter().for_each(|&(slot, value)| self.set(slot, value));
            }
            return;
        }
        for slot in Self::changed(alive.iter().copied()) {
            let values: Vec<ValueId> = alive.iter().map(|c| self.at_end(c, slot)).collect();
            let value = self.phi(values, span);
            self.set(slot, value);
        }
    }

    /// Names assigned since `given` may or may not have been: each becomes a choice of what it was at `mark` and what it was given.
    pub(super) fn blur(&mut self, mark: usize, given: usize, span: Span) {
        if self.mark() == mark {
            return;
        }
        let after = self.take_branch(mark);
        for (slot, last) in after {
            let before = self.env[slot as usize];
            let between: Vec<ValueId> = self.given_since(given, slot).collect();
            let value = self.phi([before].into_iter().chain(between).chain([last]), span);
            self.set(slot, value);
        }
    }

    /// The values that a slot was given since `given`.
    pub(super) fn given_since(&self, given: usize, slot: Slot) -> impl Iterator<Item = ValueId> {
        self.given[given..].iter().filter(move |g| g.0 == slot).map(|g| g.1)
    }

    /// Values of a loop's slots now.
    pub(super) fn snapshot(&self, slots: &[Slot]) -> Vec<ValueId> {
        slots.iter().map(|&slot| self.env[slot as usize]).collect()
    }
}

/// How a branch ends.
pub(super) struct End {
    /// What it changed.
    pub(super) changes: Changes,
    /// Control does not go on.
    pub(super) ended: bool,
}

/// Keeps the first of equal values from `mark` on.
pub(super) fn distinct(values: &mut Vec<ValueId>, mark: usize) {
    if values.len() > mark + 64 {
        let mut rest = values.split_off(mark + 1);
        rest.sort_unstable();
        rest.dedup();
        rest.retain(|&v| v != values[mark]);
        values.extend(rest);
        return;
    }
    let mut end = mark;
    for i in mark..values.len() {
        if !values[mark..end].contains(&values[i]) {
            values[end] = values[i];
            end += 1;
        }
    }
    values.truncate(end);
}
