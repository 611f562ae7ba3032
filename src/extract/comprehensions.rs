//! Comprehensions: lowered where they stand, with targets that do not leak.

use super::Extractor;
use super::assign::Binds;
use crate::facts::*;
use ruff_python_ast::{Comprehension, Expr};
use ruff_text_size::{Ranged, TextRange};

impl Extractor<'_> {
    /// `[element for … in …]`; for dicts `element` is the value and `key` its key.
    pub(super) fn comprehension(
        &mut self,
        kind: Collection,
        generators: &[Comprehension],
        key: Option<&Expr>,
        element: &Expr,
        range: TextRange,
    ) -> ValueId {
        let span = self.span(range);
        let (outer, overlaid) = (self.scope.guard, self.scope.overlay.len());
        let (mark, given) = (self.scope.mark(), self.scope.given.len());
        for generator in generators {
            let iterable = self.expr(&generator.iter);
            self.scope.narrow(GuardKind::Repeats);
            let target = self.span(generator.target.range());
            let item = self.scope.emit(Op::Iterate(iterable), target);
            self.target(&generator.target, item, Binds::Overlay);
            for condition in &generator.ifs {
                let condition = self.expr(condition);
                self.scope.narrow(GuardKind::When(condition, true));
            }
        }
        let key = key.map(|key| self.expr(key));
        let mut collected = self.expr(element);
        if let Some(key) = key {
            let first = self.scope.operands.len();
            self.scope.operands.extend([key, collected]);
            let items = self.scope.items(first);
            collected = self.scope.emit(Op::Tuple(items), span);
        }
        self.scope.guard = outer;
        self.scope.overlay.truncate(overlaid);
        self.scope.blur(mark, given, span);
        self.scope.emit(Op::Collect(kind, collected), span)
    }
}
