//! Calls with their stars written out, where what they spread is a display in view: `args = (a, b)`, `f(*args)`.

use super::scope::Scope;
use crate::facts::{Arg, ArgKind, Args, Body, Call, Const, Op, ValueId};

/// The call as if no stars stood in it, as far as that can be seen. What cannot is left as it stands.
pub(super) fn spread(scope: &Scope, call: &Call) -> Call {
    let body = scope.body();
    let mut args = Args::new();
    for arg in &call.args {
        let parts = match arg.kind {
            ArgKind::Positional | ArgKind::Keyword(_) => None,
            ArgKind::Star => elements(body, arg.value).map(|items| items.into_iter().map(|v| (ArgKind::Positional, v)).collect()),
            ArgKind::StarStar => entries(scope, arg.value),
        };
        let own = |(kind, value): (ArgKind, ValueId)| Arg {
            kind,
            value,
            span: body.value(value).span,
        };
        match parts {
            Some(parts) => args.extend(Vec::into_iter(parts).map(own)),
            None => args.push(*arg),
        }
    }
    Call { args, ..call.clone() }
}

/// The parts of a tuple or list, or of a slice of one.
pub(super) fn elements(body: &Body, value: ValueId) -> Option<Vec<ValueId>> {
    match body.op(value) {
        Op::Tuple(items) | Op::List(items) => {
            let items = body.items(items);
            let plain = items.iter().all(|&v| !matches!(body.op(v), Op::Star(_)));
            (plain && !is_changed(body, value)).then(|| items.to_vec())
        }
        Op::Index(object, at) => {
            let Op::Slice(from, to, step) = body.op(at) else { return None };
            let all = elements(body, object)?;
            let end = |v: ValueId, absent: usize| match body.op(v) {
                Op::Const(Const::None) => Some(absent),
                Op::Const(Const::Int(i)) => usize::try_from(i).ok().map(|i| i.min(all.len())),
                _ => None,
            };
            let (from, to) = (end(from, 0)?, end(to, all.len())?);
            (body.op(step) == Op::Const(Const::None)).then(|| all.get(from..to).map(<[ValueId]>::to_vec))?
        }
        _ => None,
    }
}

/// What a dict of known keys hands on by name: `{"a": x}`, `dict(a=x)`.
pub(super) fn entries(scope: &Scope, value: ValueId) -> Option<Vec<(ArgKind, ValueId)>> {
    let body = scope.body();
    if is_changed(body, value) {
        return None;
    }
    match body.op(value) {
        Op::Dict(items) => body
            .items(items)
            .chunks_exact(2)
            .map(|pair| match body.op(pair[0]) {
                Op::Const(Const::Str(key)) => Some((ArgKind::Keyword(key), pair[1])),
                _ => None,
            })
            .collect(),
        Op::Call(call) if scope.dotted(body.call(call).callee).as_deref() == Some("dict") => {
            let args = body.call(call).args.iter();
            args.map(|a| matches!(a.kind, ArgKind::Keyword(_)).then_some((a.kind, a.value)))
                .collect()
        }
        _ => None,
    }
}

/// Something may be put into the display after it is made.
fn is_changed(body: &Body, display: ValueId) -> bool {
    body.iter().any(|(_, v)| match v.op {
        Op::SetIndex(object, ..) | Op::Delete(object) | Op::Attr(object, _) | Op::Augment(_, object, _) => object == display,
        _ => false,
    })
}
