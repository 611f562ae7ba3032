//! Patterns of `match`: what they read, and the parts of the subject that they bind.

use super::Extractor;
use crate::facts::*;
use ruff_python_ast::{self as ast, Pattern};
use ruff_text_size::{Ranged, TextRange};

impl Extractor<'_> {
    /// Binds the names of a pattern to parts of `subject`.
    pub(super) fn pattern(&mut self, pattern: &Pattern, subject: ValueId) {
        if !self.descend(pattern.range()) {
            return;
        }
        match pattern {
            Pattern::MatchValue(p) => self.evaluate(&p.value),
            Pattern::MatchSingleton(_) => {}
            Pattern::MatchAs(p) => {
                if let Some(pattern) = &p.pattern {
                    self.pattern(pattern, subject);
                }
                self.capture(p.name.as_ref(), subject);
            }
            // A lone star has no subject of its own: the sequence around it made the rest.
            Pattern::MatchStar(p) => self.capture(p.name.as_ref(), subject),
            Pattern::MatchSequence(p) => {
                for (i, part) in p.patterns.iter().enumerate() {
                    let value = self.part(subject, i, matches!(part, Pattern::MatchStar(_)), part.range());
                    self.pattern(part, value);
                }
            }
            Pattern::MatchMapping(p) => {
                for (key, part) in p.keys.iter().zip(&p.patterns) {
                    let key = self.expr(key);
                    let span = self.span(part.range());
                    let value = self.scope.emit(Op::Index(subject, key), span);
                    self.pattern(part, value);
                }
                if p.rest.is_some() {
                    let value = self.part(subject, p.patterns.len(), true, p.range);
                    self.capture(p.rest.as_ref(), value);
                }
            }
            Pattern::MatchClass(p) => self.class_pattern(p, subject),
            Pattern::MatchOr(p) => {
                let (mark, given) = (self.scope.mark(), self.scope.given.len());
                p.patterns.iter().for_each(|alternative| self.pattern(alternative, subject));
                let span = self.span(p.range);
                self.alternatives(mark, given, span);
            }
        }
        self.ascend();
    }

    fn class_pattern(&mut self, p: &ast::PatternMatchClass, subject: ValueId) {
        self.expr(&p.cls);
        for (i, part) in p.arguments.patterns.iter().enumerate() {
            let value = self.part(subject, i, false, part.range());
            self.pattern(part, value);
        }
        for keyword in &p.arguments.keywords {
            let (name, span) = (self.names.intern(&keyword.attr.id), self.span(keyword.range));
            let value = self.scope.emit(Op::Attr(subject, name), span);
            self.pattern(&keyword.pattern, value);
        }
    }

    fn part(&mut self, value: ValueId, index: usize, rest: bool, range: TextRange) -> ValueId {
        let span = self.span(range);
        let index = index.min(u16::MAX as usize) as u16;
        self.scope.emit(Op::Unpack { value, index, rest }, span)
    }

    fn capture(&mut self, name: Option<&ast::Identifier>, value: ValueId) {
        if let Some(name) = name {
            let id = self.names.intern(&name.id);
            self.bind(id, value, name.range);
        }
    }

    /// All alternatives of an or-pattern bind the same names: each is one of what they gave it.
    fn alternatives(&mut self, mark: usize, given: usize, span: crate::source::Span) {
        for (slot, _) in self.scope.changes(mark) {
            let values: Vec<ValueId> = self.scope.given_since(given, slot).collect();
            let value = self.scope.phi(values, span);
            self.scope.set(slot, value);
        }
    }
}
