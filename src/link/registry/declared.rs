//! What a registration declares to be mutated.

use super::read::Found;
use crate::facts::{Const, Op as Code, ValueId};
use crate::knowledge::frameworks::Missing;
use crate::knowledge::op_schema::OpSchema;
use crate::link::resolve::{Entity, Resolver, ValueRef};
use crate::program::Declared;

/// The declared mutation of a registration.
pub(super) fn declared(resolver: &Resolver<'_>, f: &Found) -> Declared {
    if let Some(schema) = &f.schema {
        return match OpSchema::parse(schema) {
            Ok(schema) => Declared::Names(super::effects_of(&schema).writes),
            Err(_) => Declared::Unknown,
        };
    }
    match f.mutated {
        Some(v) if f.registrar.row.call.starts_with("torch.library.") && super::assemble::is_none(resolver, v) => {
            Declared::Malformed("None".to_owned())
        }
        Some(v) => declared_value(resolver, v),
        None => match f.registrar.row.missing {
            Missing::None => Declared::Names(Vec::new()),
            Missing::All => Declared::All,
            Missing::Unknown => Declared::Unknown,
        },
    }
}

pub(super) fn declared_value(resolver: &Resolver<'_>, v: ValueRef) -> Declared {
    let body = resolver.body(v.at);
    let strings = |items: &[ValueId]| -> Declared {
        let mut names = Vec::new();
        for &item in items {
            match resolver.texts(ValueRef { at: v.at, value: item }) {
                Some(texts) => names.extend(texts),
                None => return Declared::Unknown,
            }
        }
        Declared::Names(names)
    };
    match body.op(v.value) {
        Code::Tuple(items) | Code::List(items) | Code::Set(items) => strings(body.items(items)),
        Code::Dict(items) => strings(&body.items(items).iter().copied().step_by(2).collect::<Vec<_>>()),
        Code::Const(Const::None) => Declared::Names(Vec::new()),
        Code::Const(Const::Str(text)) => match resolver.text(v.at.file, text) {
            "unknown" => Declared::All,
            text => Declared::Malformed(text.to_owned()),
        },
        Code::Call(call) => {
            let call = body.call(call);
            let empty = call.args.is_empty();
            let builtin = resolver.external(v.at, call.callee);
            match (builtin.as_deref(), call.args.first()) {
                (Some("builtins.set" | "builtins.list" | "builtins.tuple" | "builtins.frozenset"), _) if empty => {
                    Declared::Names(Vec::new())
                }
                (Some("builtins.set" | "builtins.list" | "builtins.tuple" | "builtins.frozenset" | "builtins.sorted"), Some(arg)) => {
                    declared_value(
                        resolver,
                        ValueRef {
                            at: v.at,
                            value: arg.value,
                        },
                    )
                }
                _ => Declared::Unknown,
            }
        }
        _ => {
            let mut all: Vec<Declared> = resolver
                .entities(v.at, v.value)
                .into_iter()
                .map(|e| match e {
                    Entity::Value(other) if other != v => declared_value(resolver, other),
                    _ => Declared::Unknown,
                })
                .collect();
            match (all.pop(), all.is_empty()) {
                (Some(one), true) => one,
                _ => Declared::Unknown,
            }
        }
    }
}
