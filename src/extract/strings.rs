//! f-strings and t-strings.

use super::Extractor;
use crate::facts::*;
use ruff_python_ast::{self as ast, InterpolatedStringElement};
use ruff_text_size::{Ranged, TextRange};

impl Extractor<'_> {
    pub(super) fn f_string(&mut self, e: &ast::ExprFString) -> ValueId {
        let mut parts = Parts::new(self);
        for part in e.value.as_slice() {
            match part {
                ast::FStringPart::Literal(literal) => parts.literal.push_str(literal),
                ast::FStringPart::FString(string) => parts.elements(self, &string.elements),
            }
        }
        parts.finish(self, e.range)
    }

    /// A template is lowered like an f-string: its parts count, not what becomes of them.
    pub(super) fn t_string(&mut self, e: &ast::ExprTString) -> ValueId {
        let mut parts = Parts::new(self);
        e.value.iter().for_each(|string| parts.elements(self, &string.elements));
        parts.finish(self, e.range)
    }
}

/// Parts of a string so far: literal text in a row is one part.
struct Parts {
    literal: String,
    mark: usize,
}

impl Parts {
    fn new(cx: &Extractor) -> Self {
        Self {
            literal: String::new(),
            mark: cx.scope.operands.len(),
        }
    }

    fn elements(&mut self, cx: &mut Extractor, elements: &ast::InterpolatedStringElements) {
        for element in elements {
            match element {
                InterpolatedStringElement::Literal(literal) => self.literal.push_str(literal),
                InterpolatedStringElement::Interpolation(part) => self.interpolation(cx, part),
            }
        }
    }

    fn interpolation(&mut self, cx: &mut Extractor, part: &ast::InterpolatedElement) {
        if let Some(debug) = &part.debug_text {
            self.literal.push_str(debug.leading());
            self.literal.push_str(cx.written(part.expression.range()));
            self.literal.push_str(debug.trailing());
        }
        self.flush(cx, part.range);
        let mut value = cx.expr(&part.expression);
        let plain = part.format_spec.is_none() && part.debug_text.is_none() && part.conversion == ast::ConversionFlag::None;
        if !plain && cx.descend(part.range) {
            // `{x:04d}`, `{x!r}` and `{x=}` do not read like `x`: they are `spec % x`.
            let mut spec = Self::new(cx);
            part.format_spec.iter().for_each(|s| spec.elements(cx, &s.elements));
            let spec = spec.finish(cx, part.range);
            cx.ascend();
            let span = cx.span(part.range);
            value = cx.scope.emit(Op::Binary(BinaryOp::Mod, spec, value), span);
        }
        cx.scope.operands.push(value);
    }

    fn flush(&mut self, cx: &mut Extractor, range: TextRange) {
        if !self.literal.is_empty() {
            let text = cx.intern(&self.literal);
            let value = cx.constant(Const::Str(text), range);
            cx.scope.operands.push(value);
            self.literal.clear();
        }
    }

    fn finish(mut self, cx: &mut Extractor, range: TextRange) -> ValueId {
        if cx.scope.operands.len() == self.mark {
            let text = cx.intern(&self.literal);
            return cx.constant(Const::Str(text), range);
        }
        self.flush(cx, range);
        let items = cx.scope.items(self.mark);
        let span = cx.span(range);
        cx.scope.emit(Op::Format(items), span)
    }
}
