//! Arguments of calls, sorted to the parameters of callees.

use super::body::Run;
use super::{Abs, Key, Root};
use crate::facts::{ArgKind, Call, Const, Op, ParamKind, ValueId};
use crate::program::FunctionRef;
use crate::source::Span;
use std::sync::Arc;

/// An argument on its way to a parameter.
#[derive(Clone, Debug)]
pub(super) struct Passed {
    pub(super) abs: Abs,
    /// The value that conditions can speak of, when the argument is one value.
    pub(super) value: Option<ValueId>,
    pub(super) span: Span,
}

/// The arguments of a call, stars taken apart where their length is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Arguments {
    pub(super) positional: Vec<Passed>,
    pub(super) keyword: Vec<(Arc<str>, Passed)>,
    /// `*x` of unknown length: the number of positional arguments before each.
    pub(super) open_stars: Vec<(usize, Passed)>,
    /// `**x` with unknown keys.
    pub(super) open_keywords: Vec<Passed>,
}

/// What each parameter of a callee gets.
pub(super) struct Bound {
    pub(super) params: Vec<Option<Passed>>,
    /// Arguments that go to parameters that cannot be told.
    pub(super) loose: Vec<Passed>,
    /// What `*args` takes.
    pub(super) stars: Vec<Passed>,
    /// What `**kwargs` takes.
    pub(super) keywords: Vec<(Arc<str>, Passed)>,
}

impl Run<'_, '_> {
    /// Evaluates the arguments of a call.
    pub(super) fn arguments(&self, call: &Call) -> Arguments {
        let mut out = Arguments::default();
        for arg in &call.args {
            let passed = Passed {
                abs: self.abs(arg.value).clone(),
                value: Some(arg.value),
                span: arg.span,
            };
            match arg.kind {
                ArgKind::Positional => out.positional.push(passed),
                ArgKind::Keyword(name) => out.keyword.push((self.text(name).into(), passed)),
                ArgKind::Star => match &passed.abs.parts {
                    Some(parts) => {
                        let items = self.display_items(arg.value);
                        for (i, part) in parts.iter().enumerate() {
                            let value = items.as_ref().and_then(|items| items.get(i).copied());
                            out.positional.push(Passed {
                                abs: part.clone(),
                                value,
                                span: arg.span,
                            });
                        }
                    }
                    None => out.open_stars.push((out.positional.len(), passed)),
                },
                ArgKind::StarStar => self.keywords_of(passed, &mut out),
            }
        }
        out
    }

    /// The operands of a tuple or list display without stars.
    pub(super) fn display_items(&self, v: ValueId) -> Option<Vec<ValueId>> {
        match self.body.op(v) {
            Op::Tuple(items) | Op::List(items) => {
                let items = self.body.items(items);
                (!items.iter().any(|&i| matches!(self.body.op(i), Op::Star(_)))).then(|| items.to_vec())
            }
            Op::Star(inner) | Op::Annotated(_, inner) => self.display_items(inner),
            _ => None,
        }
    }

    pub(super) fn keywords_of(&self, passed: Passed, out: &mut Arguments) {
        if let Some(value) = passed.value
            && let Some(entries) = self.dict_entries(value)
        {
            for (key, value) in entries {
                let abs = self.abs(value).clone();
                out.keyword.push((
                    key,
                    Passed {
                        abs,
                        value: Some(value),
                        span: passed.span,
                    },
                ));
            }
            return;
        }
        let mut open = passed.abs.aliases.is_empty() && passed.value.is_some_and(|v| !matches!(self.body.op(v), Op::Dict(_)));
        for alias in &passed.abs.aliases {
            match self.heap.inside(&alias.root) {
                Some(inside) => {
                    for (key, _) in inside {
                        let abs = self.load(&alias.root, key).unwrap_or_default();
                        match key {
                            Key::Name(name) => out.keyword.push((
                                name.clone(),
                                Passed {
                                    abs,
                                    value: None,
                                    span: passed.span,
                                },
                            )),
                            Key::Any | Key::Index(_) => out.open_keywords.push(Passed {
                                abs,
                                value: None,
                                span: passed.span,
                            }),
                        }
                    }
                }
                None => open |= !matches!(alias.root, Root::Fresh(..)) || passed.abs.aliases.len() == 1,
            }
        }
        if open {
            out.open_keywords.push(passed);
        }
    }

    /// The entries of a dict display or `dict(…)` call that is not changed afterwards, when every key is known.
    pub(super) fn dict_entries(&self, v: ValueId) -> Option<Vec<(Arc<str>, ValueId)>> {
        match self.body.op(v) {
            Op::Annotated(_, inner) => self.dict_entries(inner),
            Op::Dict(items) => {
                let entry = |pair: &[ValueId]| match self.body.op(pair[0]) {
                    Op::Const(Const::Str(name)) => Some((self.text(name).into(), pair[1])),
                    _ => None,
                };
                let entries: Vec<(Arc<str>, ValueId)> = self.body.items(items).chunks(2).map(entry).collect::<Option<_>>()?;
                self.unchanged(v, entries)
            }
            Op::Call(call) => {
                let call = self.body.call(call);
                if self.host.resolver.external(self.f, call.callee).as_deref() != Some("builtins.dict") {
                    return None;
                }
                let entry = |a: &crate::facts::Arg| match a.kind {
                    ArgKind::Keyword(name) => Some((self.text(name).into(), a.value)),
                    ArgKind::Positional | ArgKind::Star | ArgKind::StarStar => None,
                };
                let entries = call.args.iter().map(entry).collect::<Option<_>>()?;
                self.unchanged(v, entries)
            }
            _ => None,
        }
    }

    pub(super) fn unchanged(&self, v: ValueId, entries: Vec<(Arc<str>, ValueId)>) -> Option<Vec<(Arc<str>, ValueId)>> {
        let keys = self.heap.inside(&Root::Fresh(v, 0)).map_or(0, <[_]>::len);
        (keys <= entries.len()).then_some(entries)
    }

    /// Sorts arguments to the parameters of a function. `skip` leading parameters are bound already (`self`).
    pub(super) fn bind(&self, callee: FunctionRef, skip: usize, args: &Arguments) -> Bound {
        let function = self.host.resolver.function(callee);
        let facts = self.host.resolver.facts(callee.file);
        let params = &function.params;
        let mut bound = Bound {
            params: vec![None; params.len()],
            loose: Vec::new(),
            stars: Vec::new(),
            keywords: Vec::new(),
        };
        for (name, passed) in &args.keyword {
            match params
                .iter()
                .position(|p| facts.name(p.name) == &**name && !matches!(p.kind, ParamKind::Star | ParamKind::StarStar))
            {
                Some(i) => bound.params[i] = Some(passed.clone()),
                None => bound.keywords.push((name.clone(), passed.clone())),
            }
        }
        let slots: Vec<usize> = (skip..params.len())
            .filter(|&i| matches!(params[i].kind, ParamKind::Positional | ParamKind::PositionalOnly) && bound.params[i].is_none())
            .collect();
        let takes_stars = params.iter().any(|p| p.kind == ParamKind::Star);
        let put = |bound: &mut Bound, slot: usize, passed: &Passed| match slots.get(slot) {
            Some(&i) => bound.params[i] = Some(passed.clone()),
            None if takes_stars => bound.stars.push(passed.clone()),
            None => bound.loose.push(passed.clone()),
        };
        match args.open_stars.as_slice() {
            [] => args.positional.iter().enumerate().for_each(|(i, p)| put(&mut bound, i, p)),
            [(at, star)] => {
                // One star takes what the others leave, when nothing has a default.
                let rest = args.positional.len() - at;
                args.positional[..*at].iter().enumerate().for_each(|(i, p)| put(&mut bound, i, p));
                let required = slots.iter().filter(|&&i| params[i].default.is_none()).count();
                if rest > 0 && required == slots.len() && !takes_stars && slots.len() >= args.positional.len() {
                    let first = slots.len() - rest;
                    args.positional[*at..]
                        .iter()
                        .enumerate()
                        .for_each(|(i, p)| put(&mut bound, first + i, p));
                    for &slot in &slots[*at..first] {
                        bound.params[slot] = Some(Passed {
                            value: None,
                            ..star.clone()
                        });
                    }
                } else {
                    bound.loose.extend(args.positional[*at..].iter().cloned());
                    bound.loose.push(star.clone());
                }
            }
            several => {
                let first = several[0].0;
                args.positional[..first].iter().enumerate().for_each(|(i, p)| put(&mut bound, i, p));
                bound.loose.extend(args.positional[first..].iter().cloned());
                bound.loose.extend(several.iter().map(|(_, star)| star.clone()));
            }
        }
        bound.loose.extend(args.open_keywords.iter().cloned());
        bound
    }
}
