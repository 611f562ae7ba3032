//! How a body ends: what it returns, and whether control reaches its end.

use super::super::conditions::Condition;
use super::body::Run;
use super::{Abs, Return};
use crate::facts::{Body, Const, FunctionKind, Op, StatementId, StatementKind, ValueId};
use crate::source::{Source, Span};

impl Run<'_, '_> {
    pub(super) fn returns(&mut self) -> Vec<Return> {
        let mut all = Vec::new();
        for (id, value) in self.body.iter() {
            if let Op::Return(result) = value.op {
                let when = self.guard(id);
                all.push(Return {
                    span: value.span,
                    value: Some(result),
                    abs: self.abs(result).clone(),
                    when,
                });
            }
        }
        if self.function.kind != FunctionKind::Lambda
            && falls_through(&self.host.resolver.files[self.f.file.index()].source, self.body, &self.body.top)
        {
            let end = Span::at(self.function.body_span.end);
            all.push(Return {
                span: end,
                value: None,
                abs: Abs::none(),
                when: Condition::Unknown,
            });
        }
        all
    }
}

/// Whether control may reach the end of a block.
pub(crate) fn falls_through(source: &Source, body: &Body, block: &[StatementId]) -> bool {
    !block.iter().any(|&s| ends(source, body, s))
}

/// Whether control never leaves a statement at its end.
pub(super) fn ends(source: &Source, body: &Body, s: StatementId) -> bool {
    let statement = &body.statements[s.index()];
    let block_ends = |b: &crate::facts::Block| !falls_through(source, body, &b.statements);
    let opens = |b: &crate::facts::Block, word: &str| source.slice(b.header).starts_with(word);
    match statement.kind {
        StatementKind::Return | StatementKind::Raise | StatementKind::Break | StatementKind::Continue => true,
        StatementKind::If => statement.blocks.last().is_some_and(|b| opens(b, "else")) && statement.blocks.iter().all(block_ends),
        StatementKind::With => statement.blocks.iter().all(block_ends),
        StatementKind::Try => {
            let finally = statement.blocks.iter().any(|b| opens(b, "finally") && block_ends(b));
            let body_ends = statement
                .blocks
                .iter()
                .any(|b| (opens(b, "try") || opens(b, "else")) && block_ends(b));
            finally || body_ends && statement.blocks.iter().filter(|b| opens(b, "except")).all(block_ends)
        }
        StatementKind::While => loops_forever(body, statement),
        StatementKind::Assign
        | StatementKind::Augment
        | StatementKind::Expression
        | StatementKind::Text
        | StatementKind::For
        | StatementKind::Match
        | StatementKind::Assert
        | StatementKind::Import
        | StatementKind::Def
        | StatementKind::Class
        | StatementKind::Delete
        | StatementKind::Scope
        | StatementKind::Pass
        | StatementKind::Type => false,
    }
}

/// `while True:` without a `break` of its own.
pub(super) fn loops_forever(body: &Body, statement: &crate::facts::Statement) -> bool {
    let endless = (statement.header_values.0.0..statement.header_values.1.0)
        .any(|i| matches!(body.op(ValueId(i)), Op::Const(Const::Bool(true) | Const::Int(1))));
    endless
        && statement.header_values.1.0 - statement.header_values.0.0 <= 64
        && !statement.blocks.iter().any(|b| breaks(body, &b.statements))
}

pub(super) fn breaks(body: &Body, block: &[StatementId]) -> bool {
    block.iter().any(|&s| {
        let statement = &body.statements[s.index()];
        match statement.kind {
            StatementKind::Break => true,
            StatementKind::For | StatementKind::While => false,
            _ => statement.blocks.iter().any(|b| breaks(body, &b.statements)),
        }
    })
}
