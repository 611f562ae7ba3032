//! Inline assembly: text that may store through the addresses that it is given.

use super::bind::Arguments;
use super::flow::Flow;
use super::record::{Touch, doubt};
use super::summary::Summary;
use super::value::Abstract;
use crate::facts::{Const, Op, ValueId};
use crate::link::conditions::Condition;
use crate::link::resolve::ValueRef;
use crate::source::Span;

const TEXT: u16 = 0;
const CONSTRAINTS: u16 = 1;
const OPERANDS: u16 = 2;
const IS_PURE: u16 = 4;

/// First parts of mnemonics that write memory or may do anything: PTX, then AMD.
const WRITING: &[&str] = &[
    "st",
    "red",
    "atom",
    "cp",
    "stmatrix",
    "multimem",
    "tcgen05",
    "call",
    "wgmma",
    "global_store",
    "global_atomic",
    "flat_store",
    "flat_atomic",
    "buffer_store",
    "buffer_atomic",
    "ds_write",
    "ds_store",
    "scratch_store",
];

impl Flow<'_, '_, '_> {
    /// Addresses that go into assembly: those that it stores through are written; where that cannot be told, none is known.
    pub(super) fn record_assembly(&mut self, arguments: &Arguments, when: &Condition, span: Span, out: &mut Summary) {
        let text = arguments.get(TEXT).next().and_then(|v| self.constant_texts(v));
        let pure = arguments
            .get(IS_PURE)
            .next()
            .is_some_and(|v| self.body.op(v) == Op::Const(Const::Bool(true)));
        let stored = match &text {
            Some(texts) => texts
                .iter()
                .map(|t| operands_stored_through(t))
                .collect::<Option<Vec<_>>>()
                .map(|all| all.concat()),
            None if pure => return,
            None => None,
        };
        let results = arguments
            .get(CONSTRAINTS)
            .next()
            .and_then(|v| self.constant_texts(v))
            .map(|texts| count_results(&texts));
        let operands = self.operands(arguments);
        if let (Some(stored), Some(results)) = (&stored, results)
            && stored.iter().all(|&n| n >= results && n - results < operands.len())
        {
            for &n in stored {
                self.touch(&operands[n - results], Touch::Write, when, &[], Some(span), out);
            }
            return;
        }
        for base in operands.iter().flat_map(|v| self.addresses(v)) {
            doubt(out, base, when, "it goes into inline assembly that may store");
        }
    }

    fn operands(&self, arguments: &Arguments) -> Vec<Abstract> {
        let lists: Vec<ValueId> = arguments.get(OPERANDS).collect();
        match lists.as_slice() {
            [list] => match self.body.op(*list) {
                Op::List(items) | Op::Tuple(items) => self.body.items(items).iter().map(|&v| self.value(v).clone()).collect(),
                _ => self.value(*list).items().unwrap_or_else(|| vec![self.value(*list).clone()]),
            },
            lists => lists.iter().map(|&v| self.value(v).clone()).collect(),
        }
    }

    fn constant_texts(&self, value: ValueId) -> Option<Vec<String>> {
        self.resolver().texts(ValueRef { at: self.f, value })
    }
}

/// Numbers of the operands that storing instructions have in brackets; `None` where one has none, or is no plain store.
fn operands_stored_through(text: &str) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    for instruction in text.split([';', '\n', '{', '}']) {
        let mut words = instruction
            .split_whitespace()
            .skip_while(|w| w.starts_with('@') || w.ends_with(':'));
        let first = words.next().unwrap_or_default().to_ascii_lowercase();
        let name = first.split('.').next().unwrap_or_default();
        if !WRITING.iter().any(|w| *w == name || w.contains('_') && name.starts_with(w)) {
            continue;
        }
        if matches!(name, "multimem") && first.contains("ld_reduce") {
            continue;
        }
        let inside = instruction.split_once('[')?.1.trim_start().strip_prefix('$')?;
        let digits = inside.len() - inside.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        found.push(inside[..digits].parse().ok()?);
    }
    Some(found)
}

/// `=r,=r,l` has two results.
fn count_results(constraints: &[String]) -> usize {
    constraints
        .iter()
        .map(|c| c.split(',').filter(|part| part.trim().starts_with('=')).count())
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::operands_stored_through;

    #[test]
    fn stores_are_found_by_mnemonic() {
        assert_eq!(
            operands_stored_through("rcp.approx.f32 r0, $1; ld.global.u32 $0, [$1];"),
            Some(vec![])
        );
        assert_eq!(operands_stored_through("{ @p st.global.release.sys.u32 [$1], 1; }"), Some(vec![1]));
        assert_eq!(operands_stored_through("atom.global.cas.b32 r, [$2 + 4], 0, 1;"), Some(vec![2]));
        assert_eq!(operands_stored_through("mov.u64 a, $1; st.u32 [a], 1;"), None);
        assert_eq!(operands_stored_through("global_store_dword $1, $2, off"), None);
    }
}
