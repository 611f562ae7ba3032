//! Which argument of a call goes to which parameter.

use super::at;
use super::flow::Flow;
use super::value::Abstract;
use crate::facts::{ArgKind, Call, ParamKind, ValueId};
use crate::knowledge::triton::Effect;
use crate::link::conditions::Binding;
use crate::link::resolve::ValueRef;
use crate::program::FunctionRef;

/// The arguments of a call of something that knowledge has.
#[derive(Default)]
pub(super) struct Arguments {
    /// (parameter, argument)
    pub(super) named: Vec<(u16, ValueId)>,
    /// Arguments of parameters that do not matter.
    pub(super) rest: Vec<ValueId>,
}

impl Arguments {
    pub(super) fn get(&self, param: u16) -> impl Iterator<Item = ValueId> + '_ {
        self.named.iter().filter(move |(p, _)| *p == param).map(|(_, v)| *v)
    }
}

/// What a parameter of a function of the project gets.
#[derive(Clone, Debug, Default)]
pub(super) struct Argument {
    pub(super) value: Abstract,
    pub(super) source: Source,
}

/// Where an argument comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Source {
    /// It is written in the call.
    Value(ValueId),
    /// The parameter's default.
    Default(ValueRef),
    /// It cannot be told.
    #[default]
    Unknown,
}

impl Flow<'_, '_, '_> {
    /// Arguments of a known function or, with an object, a known method.
    pub(super) fn bind_known(&self, effect: &Effect, call: &Call, object: Option<ValueId>) -> Arguments {
        let mut arguments = Arguments::default();
        let last = effect.params.len().wrapping_sub(1) as u16;
        let mut position = 0u16;
        let mut positional = |value: ValueId, arguments: &mut Arguments| {
            if (position as usize) < effect.params.len() && !(effect.keywords && position == last) {
                arguments.named.push((position, value));
            } else if effect.variadic {
                arguments.named.push((last, value));
            } else {
                arguments.rest.push(value);
            }
            position += 1;
        };
        if let Some(object) = object {
            positional(object, &mut arguments);
        }
        let mut spread = None;
        for arg in &call.args {
            match arg.kind {
                ArgKind::Positional if spread.is_none() => positional(arg.value, &mut arguments),
                ArgKind::Positional | ArgKind::Star | ArgKind::StarStar => spread = Some(arg.value),
                ArgKind::Keyword(name) => match effect.param(self.text(name)) {
                    Some(param) => arguments.named.push((param, arg.value)),
                    None if effect.keywords => arguments.named.push((last, arg.value)),
                    None => arguments.rest.push(arg.value),
                },
            }
        }
        if let Some(spread) = spread {
            // `f(*args)`: any parameter from here on may get any part
            for param in position..effect.params.len() as u16 {
                if arguments.get(param).next().is_none() {
                    arguments.named.push((param, spread));
                }
            }
        }
        arguments
    }

    /// Arguments of a function of the project, one for each of its parameters.
    pub(super) fn bind(&self, f: FunctionRef, call: &Call, object: Option<ValueId>) -> Vec<Argument> {
        self.bind_from(f, call, object.map(|o| self.argument(o)))
    }

    /// Arguments of an `__init__`: `self` is the object that the call makes.
    pub(super) fn bind_new(&self, init: FunctionRef, call: &Call) -> Vec<Argument> {
        self.bind_from(init, call, Some(Argument::default()))
    }

    fn bind_from(&self, f: FunctionRef, call: &Call, object: Option<Argument>) -> Vec<Argument> {
        let callee = self.resolver().function(f);
        let parent = at(f.file, callee.parent);
        let mut bound: Vec<Option<Argument>> = vec![None; callee.params.len()];
        let mut extra = Vec::new();
        let mut named = Vec::new();
        let mut spread: Option<Abstract> = None;
        let slots: Vec<usize> = (0..callee.params.len())
            .filter(|&i| matches!(callee.params[i].kind, ParamKind::PositionalOnly | ParamKind::Positional))
            .collect();
        let mut next = 0;
        let mut positional = |argument: Argument| match slots.get(next) {
            Some(&slot) => {
                bound[slot] = Some(argument);
                next += 1;
            }
            None => extra.push(argument.value),
        };
        if let Some(object) = object {
            positional(object);
        }
        for arg in &call.args {
            match arg.kind {
                ArgKind::Positional => positional(self.argument(arg.value)),
                ArgKind::Star => match self.value(arg.value).items() {
                    Some(items) => items.into_iter().for_each(|value| {
                        positional(Argument {
                            value,
                            source: Source::Unknown,
                        })
                    }),
                    None => spread = Some(spread.take().unwrap_or_default().join(&self.value(arg.value).part(None))),
                },
                ArgKind::StarStar => spread = Some(spread.take().unwrap_or_default().join(&self.value(arg.value).flat())),
                ArgKind::Keyword(name) => named.push((self.text(name), arg.value)),
            }
        }
        for (name, value) in named {
            let names = &self.resolver().facts(f.file).names;
            let slot = callee.params.iter().position(|p| &*names[p.name.index()] == name);
            match slot {
                Some(slot) => bound[slot] = Some(self.argument(value)),
                None => extra.push(self.value(value).clone()),
            }
        }
        let fill = |(i, argument): (usize, Option<Argument>)| {
            let param = &callee.params[i];
            match (argument, &spread) {
                (Some(argument), _) => argument,
                (None, _) if matches!(param.kind, ParamKind::Star | ParamKind::StarStar) => {
                    let mut value = Abstract::tuple(extra.clone());
                    if let Some(spread) = &spread {
                        value = value.join(spread);
                    }
                    Argument {
                        value,
                        source: Source::Unknown,
                    }
                }
                (None, Some(spread)) => Argument {
                    value: spread.clone(),
                    source: Source::Unknown,
                },
                (None, None) => {
                    let source = param
                        .default
                        .map_or(Source::Unknown, |value| Source::Default(ValueRef { at: parent, value }));
                    Argument {
                        value: Abstract::default(),
                        source,
                    }
                }
            }
        };
        bound.into_iter().enumerate().map(fill).collect()
    }

    fn argument(&self, value: ValueId) -> Argument {
        Argument {
            value: self.value(value).clone(),
            source: Source::Value(value),
        }
    }

    /// What conditions over a callee's parameters see of an argument.
    pub(super) fn binding_for(&self, argument: &Argument) -> Binding {
        match argument.source {
            Source::Value(value) => self.binding(value),
            Source::Default(v) => {
                let (facts, body) = (self.resolver().facts(v.at.file), self.resolver().body(v.at));
                let leaf = |value| super::terms::global(self.resolver(), ValueRef { at: v.at, value });
                crate::link::conditions::binding_of(facts, body, v.value, &leaf)
            }
            Source::Unknown if argument.value.alternatives.iter().any(|a| !a.raw) => Binding::NotNone,
            Source::Unknown => Binding::Unknown,
        }
    }
}
