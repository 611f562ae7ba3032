//! Texts that are built from constants.

use super::{Entity, MAX_DEPTH, Resolver, ValueRef};
use crate::facts::{ArgKind, Const, Op};

impl Resolver<'_> {
    /// The texts that a value may be, if it is built from constants: literals, names of constants, f-strings, `+`,
    /// loop variables over constant sequences. `None`: some part is not constant.
    pub(crate) fn texts(&self, v: ValueRef) -> Option<Vec<String>> {
        self.texts_at(v, MAX_DEPTH)
    }

    pub(super) fn texts_at(&self, v: ValueRef, depth: u32) -> Option<Vec<String>> {
        let depth = depth.checked_sub(1)?;
        let body = self.body(v.at);
        let here = |value| ValueRef { at: v.at, value };
        let joined = |parts: Vec<Vec<String>>| {
            parts.into_iter().try_fold(vec![String::new()], |all, options| {
                let next: Vec<String> = all.iter().flat_map(|a| options.iter().map(move |o| format!("{a}{o}"))).collect();
                (next.len() <= 256).then_some(next)
            })
        };
        match body.op(v.value) {
            Op::Const(Const::Str(text)) => Some(vec![self.text(v.at.file, text).to_owned()]),
            Op::Const(Const::Int(i)) => Some(vec![i.to_string()]),
            Op::Format(items) => joined(
                body.items(items)
                    .iter()
                    .map(|&i| self.texts_at(here(i), depth))
                    .collect::<Option<_>>()?,
            ),
            Op::Binary(crate::facts::BinaryOp::Add, a, b) => joined(vec![self.texts_at(here(a), depth)?, self.texts_at(here(b), depth)?]),
            Op::Iterate(sequence) if let Some(numbers) = self.range(here(sequence)) => Some(numbers.map(|n| n.to_string()).collect()),
            Op::Select(_, a, b) => {
                let mut all = self.texts_at(here(a), depth)?;
                all.extend(self.texts_at(here(b), depth)?);
                Some(all)
            }
            _ => {
                let entities = self.entities(v.at, v.value);
                if entities.is_empty() {
                    return None;
                }
                let mut all = Vec::new();
                for entity in entities {
                    match entity {
                        Entity::Value(other) if other != v => all.extend(self.texts_at(other, depth)?),
                        _ => return None,
                    }
                }
                Some(all)
            }
        }
    }

    /// The numbers of `range(…)` with constant bounds, if they are few.
    fn range(&self, v: ValueRef) -> Option<impl Iterator<Item = i32> + use<>> {
        let body = self.body(v.at);
        let Op::Call(call) = body.op(v.value) else { return None };
        let call = body.call(call);
        let bounds = call.args.iter().map(|a| match (a.kind, body.op(a.value)) {
            (ArgKind::Positional, Op::Const(Const::Int(i))) => Some(i),
            _ => None,
        });
        let (start, end, step) = match bounds.collect::<Option<Vec<_>>>()?.as_slice() {
            [end] => (0, *end, 1),
            [start, end] => (*start, *end, 1),
            [start, end, step] if *step > 0 => (*start, *end, *step),
            _ => return None,
        };
        let is_range = self.external(v.at, call.callee).as_deref() == Some("builtins.range");
        (is_range && end.checked_sub(start)? <= 256).then(|| (start..end).step_by(step as usize))
    }
}
