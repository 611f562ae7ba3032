//! Targets: names, attributes, items, and tuples of them.

use super::Extractor;
use super::lower::binary;
use super::names::OUTER;
use super::scope::UNBOUND;
use crate::facts::*;
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange};

/// Where the names of a target are bound.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Binds {
    /// In the body.
    Body,
    /// In the comprehension only.
    Overlay,
}

impl Extractor<'_> {
    /// Gives a name a value.
    pub(super) fn bind(&mut self, name: Name, value: ValueId, range: TextRange) {
        self.scope.defines.push(name);
        let slot = self.local(name);
        if slot == OUTER {
            let span = self.span(range);
            self.scope.frees.push(name);
            self.scope.emit(Op::SetOuter(name, value), span);
            return;
        }
        self.scope.assign(slot, value);
    }

    /// Takes a name's value away.
    pub(super) fn unbind(&mut self, name: Name) {
        let slot = self.local(name);
        if slot != OUTER {
            self.scope.assign(slot, UNBOUND);
        }
    }

    /// Stores a value in a target.
    pub(super) fn target(&mut self, target: &Expr, value: ValueId, binds: Binds) {
        match target {
            Expr::Name(e) => {
                let name = self.names.intern(&e.id);
                match binds {
                    Binds::Body => self.bind(name, value, e.range),
                    Binds::Overlay => self.scope.overlay.push((name, value)),
                }
            }
            Expr::Attribute(e) => {
                let object = self.expr(&e.value);
                let (name, span) = (self.names.intern(&e.attr.id), self.span(e.range));
                self.scope.emit(Op::SetAttr(object, name, value), span);
            }
            Expr::Subscript(e) => {
                let object = self.expr(&e.value);
                let index = self.expr(&e.slice);
                let span = self.span(e.range);
                self.scope.emit(Op::SetIndex(object, index, value), span);
            }
            Expr::Starred(e) => self.target(&e.value, value, binds),
            Expr::Tuple(e) => self.unpack(&e.elts, value, e.range, binds),
            Expr::List(e) => self.unpack(&e.elts, value, e.range, binds),
            // Not a target: the parser said so. What it reads is still read.
            _ => self.evaluate(target),
        }
    }

    fn unpack(&mut self, targets: &[Expr], value: ValueId, range: TextRange, binds: Binds) {
        if !self.descend(range) {
            return;
        }
        let known = self.elements(targets, value);
        for (i, target) in targets.iter().enumerate() {
            let part = match known {
                Some(items) => self.scope.body.pool[items.start as usize + i],
                None => {
                    let index = i.min(u16::MAX as usize) as u16;
                    let span = self.span(target.range());
                    self.scope.emit(
                        Op::Unpack {
                            value,
                            index,
                            rest: target.is_starred_expr(),
                        },
                        span,
                    )
                }
            };
            self.target(target, part, binds);
        }
        self.ascend();
    }

    /// The elements of a display that fit the targets one to one.
    fn elements(&self, targets: &[Expr], value: ValueId) -> Option<Items> {
        // A list may have changed since it was written; one without a name cannot have, and its value is the last made.
        let items = match self.scope.body.op(value) {
            Op::Tuple(items) => items,
            Op::List(items) if value.0 + 1 == self.scope.next().0 => items,
            _ => return None,
        };
        let plain = !targets.iter().any(Expr::is_starred_expr)
            && !self
                .scope
                .body
                .items(items)
                .iter()
                .any(|&i| matches!(self.scope.body.op(i), Op::Star(_)));
        (plain && items.len as usize == targets.len()).then_some(items)
    }

    pub(super) fn assign(&mut self, s: &ast::StmtAssign) {
        let value = self.expr(&s.value);
        for target in &s.targets {
            self.target(target, value, Binds::Body);
        }
    }

    pub(super) fn annotated(&mut self, s: &ast::StmtAnnAssign) {
        let value = s.value.as_deref().map(|v| self.expr(v));
        let annotation = self.annotation(&s.annotation).value;
        let span = self.span(s.range);
        if let Some(value) = value {
            let value = self.scope.emit(Op::Annotated(annotation, value), span);
            return self.target(&s.target, value, Binds::Body);
        }
        let Expr::Name(target) = &*s.target else {
            return self.evaluate(&s.target);
        };
        let undefined = self.scope.undefined();
        let value = self.scope.emit(Op::Annotated(annotation, undefined), span);
        if self.scope.kind == FunctionKind::Class {
            // A field without a default: no binding, yet its type is known.
            let name = self.names.intern(&target.id);
            self.scope.captured.push((name, value));
        }
    }

    pub(super) fn augmented(&mut self, s: &ast::StmtAugAssign) {
        let op = binary(s.op);
        let span = self.span(s.range);
        match &*s.target {
            Expr::Attribute(e) => {
                let object = self.expr(&e.value);
                let (name, at) = (self.names.intern(&e.attr.id), self.span(e.range));
                let old = self.scope.emit(Op::Attr(object, name), at);
                let operand = self.expr(&s.value);
                let new = self.scope.emit(Op::Augment(op, old, operand), span);
                self.scope.emit(Op::SetAttr(object, name, new), at);
            }
            Expr::Subscript(e) => {
                let object = self.expr(&e.value);
                let index = self.expr(&e.slice);
                let at = self.span(e.range);
                let old = self.scope.emit(Op::Index(object, index), at);
                let operand = self.expr(&s.value);
                let new = self.scope.emit(Op::Augment(op, old, operand), span);
                self.scope.emit(Op::SetIndex(object, index, new), at);
            }
            target => {
                let old = self.expr(target);
                let operand = self.expr(&s.value);
                let new = self.scope.emit(Op::Augment(op, old, operand), span);
                self.target(target, new, Binds::Body);
            }
        }
    }

    pub(super) fn delete(&mut self, s: &ast::StmtDelete) {
        let mut todo: Vec<&Expr> = s.targets.iter().rev().collect();
        while let Some(target) = todo.pop() {
            match target {
                Expr::Name(e) => {
                    let name = self.names.intern(&e.id);
                    self.scope.uses.push(name);
                    self.unbind(name);
                }
                Expr::Tuple(e) => todo.extend(e.elts.iter().rev()),
                Expr::List(e) => todo.extend(e.elts.iter().rev()),
                Expr::Attribute(e) => self.delete_part(&e.value, None, e.range),
                Expr::Subscript(e) => self.delete_part(&e.value, Some(&e.slice), e.range),
                _ => self.evaluate(target),
            }
        }
    }

    fn delete_part(&mut self, object: &Expr, index: Option<&Expr>, range: TextRange) {
        let object = self.expr(object);
        if let Some(index) = index {
            self.expr(index);
        }
        let span = self.span(range);
        self.scope.emit(Op::Delete(object), span);
    }
}
