//! Loops. The names that a loop assigns get a [`Op::Phi`] at its head: before the loop, then each way back.

use super::Extractor;
use super::assign::Binds;
use super::branches::loop_else;
use super::flow::Compound;
use super::headers;
use super::scope::{End, Loop, Scope, distinct};
use crate::facts::*;
use crate::source::Span;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

/// The loop as it was entered.
struct Entry {
    span: Span,
    guard: GuardId,
    ended: bool,
    jumps: u32,
    returns: u32,
    slots: Vec<u32>,
    before: Vec<ValueId>,
    phis: Vec<ValueId>,
    mark: usize,
}

impl Extractor<'_> {
    pub(super) fn for_loop(&mut self, s: &ast::StmtFor) -> Compound {
        let iterable = self.expr(&s.iter);
        let entry = self.enter_loop(self.span(s.range), s.target.range().start().to_u32(), &s.body);
        let target = self.span(s.target.range());
        let item = self.scope.emit(Op::Iterate(iterable), target);
        self.target(&s.target, item, Binds::Body);
        let header = headers::until_colon(self.text, s.range.start().to_u32(), s.iter.range().end().to_u32());
        let exit = entry.phis.clone();
        self.loop_body(entry, header, &s.body, &s.orelse, Some(exit))
    }

    pub(super) fn while_loop(&mut self, s: &ast::StmtWhile) -> Compound {
        let entry = self.enter_loop(self.span(s.range), s.test.range().start().to_u32(), &s.body);
        let condition = self.expr(&s.test);
        let header = headers::until_colon(self.text, s.range.start().to_u32(), s.test.range().end().to_u32());
        let endless = matches!(&*s.test, Expr::BooleanLiteral(b) if b.value)
            || matches!(&*s.test, Expr::NumberLiteral(n) if matches!(&n.value, ast::Number::Int(i) if i.as_i32() != Some(0)));
        // The loop is left with what the condition assigned.
        let exit = (!endless).then(|| self.scope.snapshot(&entry.slots));
        self.scope.narrow(GuardKind::When(condition, true));
        self.loop_body(entry, header, &s.body, &s.orelse, exit)
    }

    /// Gives each name that the loop assigns from `start` on its phi.
    fn enter_loop(&mut self, span: Span, start: u32, body: &[Stmt]) -> Entry {
        let end = super::functions::extent(body).end.max(start);
        let slots = self.bound_in(Span::new(start, end));
        let mut before = Vec::with_capacity(slots.len());
        for &slot in &slots {
            before.push(self.scope.known(self.scope.env[slot as usize]));
        }
        let mark = self.scope.mark();
        let mut phis = Vec::with_capacity(slots.len());
        for &slot in &slots {
            let phi = self.scope.emit(Op::Phi(Items { start: 0, len: 0 }), span);
            self.scope.set(slot, phi);
            phis.push(phi);
        }
        let Scope {
            guard,
            ended,
            jumps,
            returns,
            ..
        } = self.scope;
        self.scope.loops.push(Loop {
            slots: slots.clone(),
            back: Vec::new(),
            breaks: Vec::new(),
            break_count: 0,
        });
        self.scope.narrow(GuardKind::Repeats);
        Entry {
            span,
            guard,
            ended,
            jumps,
            returns,
            slots,
            before,
            phis,
            mark,
        }
    }

    /// The rest of a loop whose header is lowered. `exit`: values of its names when it runs out, if it can.
    fn loop_body(&mut self, entry: Entry, header: Span, body: &[Stmt], orelse: &[Stmt], exit: Option<Vec<ValueId>>) -> Compound {
        let header_end = Some(self.scope.next());
        let statements = self.block(body);
        let mut blocks = vec![Block { header, statements }];
        if !self.scope.ended {
            self.way_back();
        }
        self.scope.roll_back(entry.mark);
        let done = self.scope.loops.pop();
        let Some(done) = done else { return Compound { header_end, blocks } };
        self.patch(&entry, &done.back);
        self.scope.jumps = entry.jumps;
        self.scope.guard = entry.guard;
        self.scope.ended = entry.ended || exit.is_none();

        let runs_out = exit.is_some();
        for (&slot, value) in entry.slots.iter().zip(exit.unwrap_or_else(|| entry.phis.clone())) {
            self.scope.set(slot, value);
        }
        let mark = self.scope.mark();
        if !orelse.is_empty() {
            if done.break_count > 0 {
                self.scope.narrow(GuardKind::Maybe);
            }
            let header = loop_else(self.text, body);
            let statements = self.block(orelse);
            blocks.push(Block { header, statements });
        }
        let mut ends = vec![End {
            ended: self.scope.ended || !runs_out,
            changes: self.scope.take_branch(mark),
        }];
        for values in done.breaks.chunks(entry.slots.len().max(1)) {
            let changes = entry.slots.iter().copied().zip(values.iter().copied()).collect();
            ends.push(End { changes, ended: false });
        }
        let breaks = done.break_count > 0;
        self.scope.guard = entry.guard;
        self.scope.join(&ends, entry.span);
        self.scope.ended = entry.ended || (ends[0].ended && !breaks);
        if self.scope.returns > entry.returns || self.scope.jumps > entry.jumps {
            self.scope.narrow(GuardKind::Maybe);
        }
        Compound { header_end, blocks }
    }

    /// Remembers the values with which the innermost loop starts over.
    fn way_back(&mut self) {
        let Scope { loops, env, .. } = &mut self.scope;
        if let Some(innermost) = loops.last_mut() {
            innermost.back.extend(innermost.slots.iter().map(|&slot| env[slot as usize]));
        }
    }

    /// Fills in the phis at the head.
    fn patch(&mut self, entry: &Entry, back: &[ValueId]) {
        let count = entry.slots.len();
        for (i, (&phi, &before)) in entry.phis.iter().zip(&entry.before).enumerate() {
            let mut values = vec![before];
            for &value in back.iter().skip(i).step_by(count) {
                let value = self.scope.known(value);
                if value != phi {
                    values.push(value);
                }
            }
            distinct(&mut values, 0);
            let mark = self.scope.operands.len();
            self.scope.operands.append(&mut values);
            let items = self.scope.items(mark);
            self.scope.body.values[phi.index()].op = Op::Phi(items);
        }
    }

    /// `break`, `continue`
    pub(super) fn jump(&mut self, statement: &Stmt) {
        let breaks = statement.is_break_stmt();
        if self.scope.loops.is_empty() {
            let word = if breaks {
                "`break` outside a loop"
            } else {
                "`continue` outside a loop"
            };
            return self.error(statement.range(), word);
        }
        if !self.scope.ended {
            if breaks {
                self.leave();
            } else {
                self.way_back();
            }
        }
        self.scope.jumps += 1;
        self.scope.ended = true;
    }

    fn leave(&mut self) {
        let Scope { loops, env, .. } = &mut self.scope;
        if let Some(innermost) = loops.last_mut() {
            innermost.breaks.extend(innermost.slots.iter().map(|&slot| env[slot as usize]));
            innermost.break_count += 1;
        }
    }
}
