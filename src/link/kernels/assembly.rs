//! Inline assembly: text that may store through the addresses that it is given.

use super::bind::Arguments;
use super::flow::Flow;
use super::record::doubt;
use super::summary::Summary;
use crate::facts::{Const, Op, ValueId};
use crate::link::conditions::Condition;

const TEXT: u16 = 0;
const OPERANDS: u16 = 2;
const IS_PURE: u16 = 4;

/// Mnemonics that write memory, in PTX, SASS-like and AMD texts.
const STORES: &[&str] = &[
    "st.", "red.", "atom.", "cp.", "stmatrix", "multimem", "store", "atomic", "ds_write", "tcgen05", "bulk", "call", "cas",
];

impl Flow<'_, '_, '_> {
    /// Addresses that go into assembly which may store: it cannot be known what is written.
    pub(super) fn record_assembly(&mut self, arguments: &Arguments, when: &Condition, out: &mut Summary) {
        let text = arguments.get(TEXT).next().and_then(|v| self.constant_text(v));
        let pure = arguments
            .get(IS_PURE)
            .next()
            .is_some_and(|v| self.body.op(v) == Op::Const(Const::Bool(true)));
        let stores = match &text {
            Some(text) => STORES.iter().any(|s| text.contains(s)),
            None => !pure,
        };
        if !stores {
            return;
        }
        let operands: Vec<ValueId> = arguments.get(OPERANDS).collect();
        for base in operands.into_iter().flat_map(|v| self.addresses(self.value(v))) {
            doubt(out, base, when, "it goes into inline assembly that may store");
        }
    }

    fn constant_text(&self, value: ValueId) -> Option<String> {
        let texts = self.resolver().texts(crate::link::resolve::ValueRef { at: self.f, value })?;
        Some(texts.join("\n").to_ascii_lowercase())
    }
}
