//! Which names are needed at a place of a body.

use crate::facts::{Facts, Function, FunctionId, Name, Op, Statement, StatementId, StatementKind};
use crate::source::{Source, Span};
use std::collections::BTreeSet;

/// A set of names.
pub(super) type Names = BTreeSet<Name>;

/// Liveness of one body, by name, never too small.
pub(super) struct Liveness<'a> {
    source: &'a Source,
    function: &'a Function,
    everything: Names,
}

/// A run of statements of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Range {
    /// The statement that holds the block; `None` for the body itself.
    pub(super) parent: Option<StatementId>,
    /// The whole block.
    pub(super) block: Vec<StatementId>,
    /// First and last index in the block, both included.
    pub(super) first: usize,
    pub(super) last: usize,
}

impl Range {
    pub(super) fn statements(&self) -> &[StatementId] {
        &self.block[self.first..=self.last]
    }
}

impl<'a> Liveness<'a> {
    pub(super) fn new(source: &'a Source, function: &'a Function) -> Self {
        let everything = function.body.statements.iter().flat_map(|s| s.uses.iter().copied()).collect();
        Self {
            source,
            function,
            everything,
        }
    }

    fn statement(&self, id: StatementId) -> &'a Statement {
        &self.function.body.statements[id.index()]
    }

    /// Names needed right before statements, given those needed right behind them.
    pub(super) fn before(&self, statements: &[StatementId], after: &Names) -> Names {
        let mut live = after.clone();
        for &id in statements.iter().rev() {
            live = self.before_one(self.statement(id), &live);
        }
        live
    }

    fn before_one(&self, statement: &Statement, after: &Names) -> Names {
        let uses = || statement.uses.iter().copied();
        let mut live: Names = uses().collect();
        match statement.kind {
            StatementKind::Return | StatementKind::Raise => {}
            StatementKind::Break | StatementKind::Continue => live.extend(&self.everything),
            StatementKind::If => {
                for block in &statement.blocks {
                    live.extend(self.before(&block.statements, after));
                }
                let otherwise = statement
                    .blocks
                    .last()
                    .is_some_and(|b| self.source.slice(b.header).starts_with("else"));
                if !otherwise {
                    live.extend(after);
                }
            }
            StatementKind::For | StatementKind::While => {
                // One pass is enough: what the body needs at its head, it needs whatever is behind it.
                live.extend(after);
                let behind = live.clone();
                for block in &statement.blocks {
                    let inner = self.before(&block.statements, &behind);
                    live.extend(inner.iter().filter(|n| !statement.defines.contains(n)));
                }
            }
            StatementKind::With => {
                for block in &statement.blocks {
                    let inner = self.before(&block.statements, after);
                    live.extend(inner.iter().filter(|n| !statement.defines.contains(n)));
                }
            }
            StatementKind::Try | StatementKind::Match => {
                live.extend(after);
                self.all_uses(statement, &mut live);
            }
            StatementKind::Assign
            | StatementKind::Augment
            | StatementKind::Expression
            | StatementKind::Text
            | StatementKind::Assert
            | StatementKind::Import
            | StatementKind::Def
            | StatementKind::Class
            | StatementKind::Delete
            | StatementKind::Scope
            | StatementKind::Pass
            | StatementKind::Type => {
                live.extend(after.iter().filter(|n| !statement.defines.contains(n)));
            }
        }
        live
    }

    /// Names read anywhere in a statement.
    fn all_uses(&self, statement: &Statement, into: &mut Names) {
        let mut todo = vec![statement];
        while let Some(statement) = todo.pop() {
            into.extend(&statement.uses);
            todo.extend(statement.blocks.iter().flat_map(|b| &b.statements).map(|&s| self.statement(s)));
        }
    }

    /// Names needed behind a range.
    pub(super) fn after(&self, range: &Range) -> Names {
        self.before(&range.block[range.last + 1..], &self.after_block(range.parent))
    }

    /// Names needed at the end of the blocks of a statement.
    fn after_block(&self, parent: Option<StatementId>) -> Names {
        let Some(id) = parent else { return Names::new() };
        let statement = self.statement(id);
        let block = match statement.parent {
            None => &self.function.body.top,
            Some(outer) => match self.statement(outer).blocks.iter().find(|b| b.statements.contains(&id)) {
                Some(block) => &block.statements,
                None => return self.everything.clone(),
            },
        };
        let at = block.iter().position(|&s| s == id).map_or(block.len(), |at| at + 1);
        let mut live = self.before(&block[at..], &self.after_block(statement.parent));
        match statement.kind {
            StatementKind::For | StatementKind::While => live = self.before_one(statement, &live),
            StatementKind::Try => self.all_uses(statement, &mut live),
            _ => {}
        }
        live
    }
}

/// Names that functions nested in a body read, those defined inside `except` left out.
pub(super) fn captured(facts: &Facts, owner: FunctionId, except: Span) -> Names {
    let mut found = Names::new();
    for (_, nested) in facts.functions().filter(|(id, f)| *id != owner && is_inside(facts, f, owner)) {
        if !except.contains(nested.span) {
            found.extend(nested.body.values.iter().filter_map(|v| match v.op {
                Op::Free(name) => Some(name),
                _ => None,
            }));
        }
    }
    found
}

/// Whether a function lies in another, at any depth.
pub(super) fn is_inside(facts: &Facts, function: &Function, owner: FunctionId) -> bool {
    let mut parent = function.parent;
    loop {
        if parent == owner {
            return true;
        }
        if parent == crate::facts::MODULE {
            return false;
        }
        parent = facts.function(parent).parent;
    }
}
