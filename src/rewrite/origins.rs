//! What a value may come from, over all paths.

use crate::facts::{Body, Const, Op, ValueId};
use std::collections::BTreeSet;

/// On some path the value is made by such an operation, as far as it can be followed.
pub(super) fn may_be(body: &Body, value: ValueId, wanted: &dyn Fn(Op) -> bool) -> bool {
    let mut todo = vec![value];
    let mut seen = BTreeSet::new();
    while let Some(v) = todo.pop() {
        if !seen.insert(v) || seen.len() > 200 {
            continue;
        }
        match body.op(v) {
            Op::Select(_, yes, no) => todo.extend([yes, no]),
            Op::Phi(items) | Op::Or(items) | Op::And(items) => todo.extend(body.items(items)),
            Op::Annotated(_, inner) => todo.push(inner),
            op if wanted(op) => return true,
            _ => {}
        }
    }
    false
}

/// On some path the value is `None`, or unbound.
pub(super) fn may_lack(body: &Body, value: ValueId, wanted: Op) -> bool {
    may_be(body, value, &|op| op == wanted)
}

/// The value may be `None`.
pub(super) fn may_be_none(body: &Body, value: ValueId) -> bool {
    may_lack(body, value, Op::Const(Const::None))
}
