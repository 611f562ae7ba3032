//! Writes a slice out as source text.

use super::scope::Scope;
use super::slice::{Refused, Slicer};
use crate::facts::{Block, Statement, StatementId, StatementKind};
use crate::finding::Edit;
use crate::source::{Source, Span};
use std::collections::BTreeMap;

/// Whether a slice is written with the comments that belong to its statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comments {
    /// Those above and behind statements too: the code is moved.
    Kept,
    /// Only those inside of statements: the code is a copy.
    Dropped,
}

/// Where the comment lines that stand right above a line begin.
pub(super) fn comment_above(source: &Source, line: u32) -> u32 {
    let mut at = line;
    while at > 0 {
        let above = source.line_start(at - 1);
        if !source.text[above as usize..at as usize].trim_start().starts_with('#') {
            break;
        }
        at = above;
    }
    at
}

/// Removes a statement with its lines, the comment above it and the blank lines behind it.
pub(super) fn remove_below(scope: &Scope, statement: &Statement, removed: &[Edit]) -> Edit {
    let source = scope.source();
    let start = comment_above(source, source.line_start(statement.span.start));
    let above = removed
        .iter()
        .find(|e| e.content.is_empty() && e.span.end == start)
        .map_or(start, |e| e.span.start);
    let mut end = source.line_end(statement.span.end);
    let blank_above = above == 0 || source.slice(Span::new(source.line_start(above - 1), above)).trim().is_empty();
    while blank_above && (end as usize) < source.text.len() {
        let next = source.line_end(end);
        if !source.slice(Span::new(end, next)).trim().is_empty() || next == end {
            break;
        }
        end = next;
    }
    Edit::replace(Span::new(start, end), "")
}

/// The header of an `if` with the opposite condition.
fn negated(header: &str) -> String {
    let condition = header.trim_start_matches("if").trim_end_matches(':').trim();
    let simple = |text: &str| text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    match (
        condition.strip_suffix(" is None"),
        condition.strip_suffix(" is not None"),
        condition.strip_prefix("not "),
    ) {
        (Some(name), _, _) if simple(name) => format!("if {name} is not None:"),
        (_, Some(name), _) if simple(name) => format!("if {name} is None:"),
        (_, _, Some(name)) if simple(name) => format!("if {name}:"),
        _ if simple(condition) => format!("if not {condition}:"),
        _ => format!("if not ({condition}):"),
    }
}

/// Writes a slice out, statement by statement.
pub(super) struct Writer<'s, 'a> {
    scope: &'s Scope<'a>,
    kept: &'s [bool],
    returns: &'s BTreeMap<StatementId, String>,
    comments: Comments,
    lines: Vec<String>,
}

impl<'s, 'a> Writer<'s, 'a> {
    /// The text of a slice, each statement on its own line(s), `\n` between them.
    pub(super) fn write(
        slicer: &'s Slicer<'s, 'a>,
        statements: &[StatementId],
        indent: &str,
        comments: Comments,
    ) -> Result<Vec<String>, Refused> {
        let mut writer = Self {
            scope: slicer.scope,
            kept: &slicer.kept,
            returns: &slicer.returns,
            comments,
            lines: Vec::new(),
        };
        writer.block(statements, indent)?;
        Ok(writer.lines)
    }

    fn block(&mut self, statements: &[StatementId], indent: &str) -> Result<(), Refused> {
        for &id in statements {
            if self.kept[id.index()] {
                self.one(id, indent)?;
            }
        }
        Ok(())
    }

    fn one(&mut self, id: StatementId, indent: &str) -> Result<(), Refused> {
        let statement = &self.scope.body().statements[id.index()];
        let own = self.indent_of(statement.span.start);
        self.comment(statement, own, indent)?;
        if statement.blocks.is_empty() {
            let text = match self.returns.get(&id) {
                Some(text) => format!("return {text}"),
                None => self.written(statement),
            };
            return self.push(&text, own, indent);
        }
        if statement.kind == StatementKind::With {
            return statement.blocks.iter().try_for_each(|block| self.block(&block.statements, indent));
        }
        if self.comments == Comments::Kept && self.is_whole(statement) {
            return self.push(&self.written(statement), own, indent);
        }
        let used = |block: &Block| block.statements.iter().any(|s| self.kept[s.index()]);
        let last = statement.blocks.iter().rposition(used);
        let count = last.map_or(1, |last| last + 1);
        let unit = &self.scope.facts().layout.indent;
        let mut blocks = &statement.blocks[..count];
        let mut header = blocks.first().map(|block| self.scope.text(block.header).to_string());
        if let [empty, other] = blocks
            && statement.kind == StatementKind::If
            && !used(empty)
            && self.scope.text(other.header).starts_with("else")
        {
            header = Some(negated(self.scope.text(empty.header)));
            blocks = &blocks[1..];
        }
        for block in blocks {
            let own_header = || self.scope.text(block.header).to_string();
            self.push(&header.take().unwrap_or_else(own_header), own, indent)?;
            let inner = format!("{indent}{unit}");
            let before = self.lines.len();
            self.block(&block.statements, &inner)?;
            if self.lines.len() == before {
                self.lines.push(format!("{inner}pass"));
            }
        }
        Ok(())
    }

    /// Everything in the statement is kept.
    fn is_whole(&self, statement: &Statement) -> bool {
        let inner = statement.blocks.iter().flat_map(|block| &block.statements);
        inner
            .into_iter()
            .all(|s| self.kept[s.index()] && self.is_whole(&self.scope.body().statements[s.index()]))
    }

    /// The comment lines right above a statement that is moved.
    fn comment(&mut self, statement: &Statement, own: &str, indent: &str) -> Result<(), Refused> {
        if self.comments == Comments::Dropped {
            return Ok(());
        }
        let source = self.scope.source();
        let line = source.line_start(statement.span.start);
        let comment = source.slice(Span::new(comment_above(source, line), line)).trim();
        if comment.is_empty() {
            Ok(())
        } else {
            self.push(comment, own, indent)
        }
    }

    /// The statement's text, with the comment behind it when it is moved.
    fn written(&self, statement: &Statement) -> String {
        let source = self.scope.source();
        let rest = source
            .slice(Span::new(statement.span.end, source.line_end(statement.span.end)))
            .trim_end();
        let comment = self.comments == Comments::Kept && rest.trim_start().starts_with('#');
        format!("{}{}", self.scope.text(statement.span), if comment { rest } else { "" })
    }

    fn indent_of(&self, offset: u32) -> &'a str {
        let source = self.scope.source();
        let line = &source.text[source.line_start(offset) as usize..offset as usize];
        &line[..line.len() - line.trim_start().len()]
    }

    /// Adds a text whose lines are indented by `own`, indented by `indent` instead.
    fn push(&mut self, text: &str, own: &str, indent: &str) -> Result<(), Refused> {
        if own != indent && (text.contains("\"\"\"") || text.contains("'''")) {
            return Err("a string over several lines stands in its way".to_string());
        }
        let mut lines = text.lines();
        let mut out = format!("{indent}{}", lines.next().unwrap_or_default());
        for line in lines {
            out.push('\n');
            match line.strip_prefix(own) {
                Some(rest) if own != indent => out.push_str(&format!("{indent}{rest}")),
                _ => out.push_str(line),
            }
        }
        self.lines.push(out);
        Ok(())
    }
}
