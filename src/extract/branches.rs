//! `if` and `match`.

use super::Extractor;
use super::flow::Compound;
use super::functions::extent;
use super::headers;
use super::scope::{End, Scope, UNBOUND};
use crate::facts::*;
use crate::source::Span;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

/// A branch of an `if` chain that has been lowered.
struct Arm {
    /// `None` for `else`.
    condition: Option<ValueId>,
    /// The context of its block.
    yes: GuardId,
    end: End,
}

impl Extractor<'_> {
    pub(super) fn if_statement(&mut self, s: &ast::StmtIf) -> Compound {
        let span = self.span(s.range);
        let (outer, ended, returns, jumps) = (self.scope.guard, self.scope.ended, self.scope.returns, self.scope.jumps);
        let condition = self.expr(&s.test);
        let header_end = Some(self.scope.next());
        let start = s.range.start().to_u32();
        let header = headers::until_colon(self.text, start, s.test.range().end().to_u32());
        let mark = self.scope.mark();
        let mut blocks = Vec::with_capacity(1 + s.elif_else_clauses.len());
        let mut arms = Vec::with_capacity(1 + s.elif_else_clauses.len());

        let type_checking = self.type_checking;
        self.type_checking |= is_type_checking(&s.test);
        arms.push(self.arm(Some(condition), &s.body, header, mark, &mut blocks));
        self.type_checking = type_checking;
        let mut previous = condition;
        let mut no = outer;
        for clause in &s.elif_else_clauses {
            no = self.scope.guard_under(no, GuardKind::When(previous, false));
            self.scope.guard = no;
            self.scope.ended = ended;
            let start = clause.range.start().to_u32();
            let condition = clause.test.as_ref().map(|test| self.expr(test));
            let after = clause
                .test
                .as_ref()
                .map_or(start + "else".len() as u32, |t| t.range().end().to_u32());
            let header = headers::until_colon(self.text, start, after);
            arms.push(self.arm(condition, &clause.body, header, mark, &mut blocks));
            previous = condition.unwrap_or(previous);
        }
        self.scope.roll_back(mark);
        self.scope.guard = outer;
        self.join_arms(&arms, span);
        let total = arms.last().is_some_and(|a| a.condition.is_none());
        let all_ended = total && arms.iter().all(|a| a.end.ended);
        self.scope.guard = self.after_arms(&arms, outer);
        self.scope.ended = ended || all_ended;
        let left = self.scope.returns > returns || self.scope.jumps > jumps;
        if left && self.scope.guard == outer {
            self.scope.narrow(GuardKind::Maybe);
        }
        Compound { header_end, blocks }
    }

    /// Lowers a branch. Only what its block did is undone: an assignment in an `elif` condition is seen by the branches below.
    fn arm(&mut self, condition: Option<ValueId>, body: &[Stmt], header: Span, mark: usize, blocks: &mut Vec<Block>) -> Arm {
        let block = self.scope.mark();
        if let Some(condition) = condition {
            self.scope.narrow(GuardKind::When(condition, true));
        }
        let yes = self.scope.guard;
        let statements = self.block(body);
        blocks.push(Block { header, statements });
        let end = End {
            changes: self.scope.changes(mark),
            ended: self.scope.ended,
        };
        self.scope.roll_back(block);
        Arm { condition, yes, end }
    }

    /// Names after the chain: from the last branch up, each a choice by its condition; branches that end drop out.
    fn join_arms(&mut self, arms: &[Arm], span: Span) {
        let alive = |arm: &&Arm| !arm.end.ended;
        let total = arms.last().is_some_and(|a| a.condition.is_none());
        if total && !arms.iter().any(|a| alive(&a)) {
            let last = arms.last().map(|a| &a.end.changes);
            last.into_iter().flatten().for_each(|&(slot, value)| self.scope.set(slot, value));
            return;
        }
        for slot in Scope::changed(arms.iter().filter(alive).map(|a| &a.end.changes)) {
            let mut joined = (!total).then(|| self.scope.env[slot as usize]);
            for arm in arms.iter().rev().filter(alive) {
                let value = self.scope.at_end(&arm.end.changes, slot);
                joined = Some(match (joined, arm.condition) {
                    (Some(other), Some(condition)) if other != value => {
                        let (yes, no) = (self.scope.known(value), self.scope.known(other));
                        self.scope.emit(Op::Select(condition, yes, no), span)
                    }
                    _ => value,
                });
            }
            self.scope.set(slot, joined.unwrap_or(UNBOUND));
        }
    }

    /// What is known behind the chain: that conditions of branches that ended were false, or that the only one to go on was taken.
    fn after_arms(&mut self, arms: &[Arm], outer: GuardId) -> GuardId {
        let total = arms.last().is_some_and(|a| a.condition.is_none());
        let mut guard = outer;
        for (i, arm) in arms.iter().enumerate() {
            let Some(condition) = arm.condition else { break };
            if arm.end.ended {
                guard = self.scope.guard_under(guard, GuardKind::When(condition, false));
                continue;
            }
            if total && arms[i + 1..].iter().all(|a| a.end.ended) {
                guard = arm.yes;
            }
            break;
        }
        guard
    }

    pub(super) fn match_statement(&mut self, s: &ast::StmtMatch) -> Compound {
        let span = self.span(s.range);
        let (outer, ended, returns, jumps) = (self.scope.guard, self.scope.ended, self.scope.returns, self.scope.jumps);
        let subject = self.expr(&s.subject);
        let header_end = Some(self.scope.next());
        let mark = self.scope.mark();
        let mut blocks = Vec::with_capacity(s.cases.len());
        let mut ends = Vec::with_capacity(s.cases.len() + 1);
        let mut exhaustive = false;
        for case in &s.cases {
            self.scope.guard = self.scope.guard_under(outer, GuardKind::Maybe);
            self.scope.ended = ended;
            self.pattern(&case.pattern, subject);
            let mut after = case.pattern.range().end();
            if let Some(guard) = &case.guard {
                let condition = self.expr(guard);
                self.scope.narrow(GuardKind::When(condition, true));
                after = guard.range().end();
            }
            let header = headers::until_colon(self.text, case.range.start().to_u32(), after.to_u32());
            let statements = self.block(&case.body);
            blocks.push(Block { header, statements });
            ends.push(End {
                ended: self.scope.ended,
                changes: self.scope.take_branch(mark),
            });
            exhaustive |= case.guard.is_none() && matches!(&case.pattern, ast::Pattern::MatchAs(p) if p.pattern.is_none());
        }
        if !exhaustive {
            ends.push(End {
                changes: Vec::new(),
                ended,
            });
        }
        self.scope.guard = outer;
        self.scope.join(&ends, span);
        self.scope.ended = ended || ends.iter().all(|e| e.ended);
        if self.scope.returns > returns || self.scope.jumps > jumps {
            self.scope.narrow(GuardKind::Maybe);
        }
        Compound { header_end, blocks }
    }
}

fn is_type_checking(test: &Expr) -> bool {
    match test {
        Expr::Name(name) => &name.id == "TYPE_CHECKING",
        Expr::Attribute(attribute) => &attribute.attr.id == "TYPE_CHECKING",
        _ => false,
    }
}

/// The header of the `else` of a loop.
pub(super) fn loop_else(text: &str, body: &[Stmt]) -> Span {
    headers::keyword(text, extent(body).end, "else")
}
