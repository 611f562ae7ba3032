//! Finds the registering calls of the project.

use super::assemble::assemble;
use super::read::{Found, Site, param_of, read, read_applied};
use super::{Registrar, Registry, wrappers};
use crate::facts::{ArgKind, Call, Facts, MODULE, Op as Code, ValueId};
use crate::knowledge::frameworks::{Argument, Form, Register, Role};
use crate::link::reach;
use crate::link::resolve::{Resolver, ValueRef};
use crate::program::{FunctionRef, Op};
use crate::source::FileId;
use crate::words::{Word, Words};
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};

/// All ops of the project, sorted by place; discovered registrars are added to the registry.
pub(crate) fn ops(resolver: &Resolver<'_>, registry: &mut Registry) -> Vec<Op> {
    for f in wrappers::disabled(resolver) {
        registry.add(f);
    }
    let mut found = Vec::new();
    for _round in 0..4 {
        found = scan(resolver, registry);
        let known: FxHashSet<FunctionRef> = registry.registrars.iter().filter_map(|r| r.function).collect();
        let new: Vec<Registrar> = wrappers::discover(resolver, &found)
            .into_iter()
            .filter(|r| r.function.is_none_or(|f| !known.contains(&f)))
            .collect();
        if new.is_empty() {
            break;
        }
        new.into_iter().for_each(|r| registry.add(r));
    }
    // A call inside a registrar registers what its caller hands over: the caller's call is the op.
    let inside: FxHashSet<FunctionRef> = registry.registrars.iter().filter_map(|r| r.function).collect();
    found.retain(|f| !f.handed_on && !within(resolver, registry, f.at, &inside));
    assemble(resolver, found)
}

pub(super) fn within(resolver: &Resolver<'_>, registry: &Registry, mut at: FunctionRef, functions: &FxHashSet<FunctionRef>) -> bool {
    loop {
        if functions.contains(&at) {
            return true;
        }
        if at.function == MODULE {
            return false;
        }
        // The body of what a framework file describes: the project is the framework.
        if registry.is_registrar(&resolver.qualified(at)) {
            return true;
        }
        at = resolver.parent(at);
    }
}

/// Every registering call of the project.
pub(super) fn scan(resolver: &Resolver<'_>, registry: &Registry) -> Vec<Found> {
    let lasts = registry.last_names();
    let mut asked = Asked::new(resolver, registry);
    let derived = derived_names(resolver, &resolver.files_where(|_, words| asked.of(words)), &lasts);
    asked.telling.extend(derived.iter().map(|name| Word::of(name)));
    let per_file: Vec<Vec<Found>> = resolver
        .files_where(|_, words| asked.of(words))
        .into_par_iter()
        .map(|file| scan_file(resolver, registry, &lasts, &derived, file, resolver.facts(file)))
        .collect();
    per_file.into_iter().flatten().collect()
}

/// The words of registering calls.
struct Asked {
    /// `direct_register_custom_op`: nothing else is called so.
    telling: FxHashSet<Word>,
    /// `impl`, `define` and the like, each with what must stand beside it: its owner, or what holds one.
    plain: Vec<(Word, FxHashSet<Word>)>,
}

impl Asked {
    fn new(resolver: &Resolver<'_>, registry: &Registry) -> Self {
        let (mut telling, mut plain) = (FxHashSet::default(), BTreeMap::<&str, BTreeSet<&str>>::new());
        for row in &registry.registrars {
            let mut parts = row.row.call.rsplit('.');
            match (parts.next(), parts.next()) {
                // A function is spoken of by its own name alone, but in torch; a method beside its class.
                (Some(last), Some(owner))
                    if !last.contains('_') && (row.row.call.starts_with("torch.") || owner.starts_with(char::is_uppercase)) =>
                {
                    plain.entry(last).or_default().insert(owner);
                }
                (Some(last), _) => {
                    telling.insert(Word::of(last));
                }
                (None, _) => {}
            }
        }
        reach::read_of(resolver, plain.values().flatten().copied());
        let owners = |names: BTreeSet<&str>| {
            let mut owners = FxHashSet::default();
            for name in names {
                let speakers = reach::speakers_of(resolver, name);
                owners.extend(speakers.classes.iter().chain(&speakers.holders));
            }
            owners
        };
        let plain = plain.into_iter().map(|(last, names)| (Word::of(last), owners(names))).collect();
        Self { telling, plain }
    }

    fn of(&self, words: &Words) -> bool {
        let plain = |(last, owners): &(Word, FxHashSet<Word>)| {
            words.has(*last)
                && (words.has(last.as_attribute()) && words.has_any(owners) || owners.iter().any(|owner| words.has(last.of_owner(*owner))))
        };
        words.has_any(&self.telling) || self.plain.iter().any(plain)
    }
}

fn scan_file(
    resolver: &Resolver<'_>,
    registry: &Registry,
    lasts: &FxHashSet<String>,
    derived: &FxHashSet<&str>,
    file: FileId,
    facts: &Facts,
) -> Vec<Found> {
    let mut found = Vec::new();
    for (id, function) in facts.functions() {
        let at = FunctionRef { file, function: id };
        for (value, v) in function.body.iter() {
            let Code::Call(call_id) = v.op else { continue };
            let call = function.body.call(call_id);
            let site = Site {
                at,
                value,
                id: call_id,
                call,
                partial: None,
            };
            let Some(last) = resolver.spoken(at, call.callee) else {
                // A name of this body that holds what `functools.partial` gave.
                if is_partial(resolver, ValueRef { at, value: call.callee }) {
                    found.extend(read_derived(resolver, registry, site));
                }
                continue;
            };
            let renamed = || matches!(function.body.op(call.callee), Code::Free(n) if is_renamed_import(facts, n, lasts));
            let before = found.len();
            if lasts.contains(last) || renamed() {
                let rows = rows_of(resolver, registry, at, call.callee);
                if !rows.is_empty() {
                    let fitting = rows.iter().find(|r| fits(resolver, &r.row, site)).or(rows.first());
                    found.extend(fitting.into_iter().flat_map(|r| read(resolver, r, site)));
                } else if let Some(extension) = of_op_object(resolver, at, call) {
                    found.extend(read(resolver, &extension, site));
                }
            }
            if found.len() == before && derived.contains(last) {
                found.extend(read_derived(resolver, registry, site));
            }
        }
    }
    found
}

/// The registrars that a value refers to.
fn rows_of<'r>(resolver: &Resolver<'_>, registry: &'r Registry, at: FunctionRef, callee: ValueId) -> Vec<&'r Registrar> {
    let dotted = resolver.dotted(at, callee);
    let known = dotted.iter().find(|n| registry.is_registrar(n));
    known.map(|n| registry.registrars(n).collect()).unwrap_or_default()
}

/// Module-level names that hold what a registrar gave, or a `functools.partial` of one: calls of them register too.
fn derived_names<'a>(resolver: &Resolver<'a>, files: &[FileId], lasts: &FxHashSet<String>) -> FxHashSet<&'a str> {
    let mut names = FxHashSet::default();
    for &file in files {
        let at = FunctionRef { file, function: MODULE };
        let facts = resolver.facts(at.file);
        if facts.functions.is_empty() || !lasts.iter().any(|last| facts.names.find(last).is_some()) {
            continue;
        }
        let is_last = |v: ValueId| resolver.spoken(at, v).is_some_and(|name| lasts.contains(name));
        let body = resolver.body(at);
        for (name, values) in &facts.module().assigned {
            let derived = values.iter().any(|&v| match body.op(v) {
                Code::Call(call) => {
                    let call = body.call(call);
                    let first = call.args.first().filter(|a| a.kind == ArgKind::Positional);
                    call.decorates.is_none()
                        && (is_last(call.callee)
                            || is_partial(resolver, ValueRef { at, value: v }) && first.is_some_and(|a| is_last(a.value)))
                }
                _ => false,
            });
            if derived {
                names.insert(facts.name(*name));
            }
        }
    }
    names
}

/// `functools.partial(…)`, going by the name alone.
fn is_partial(resolver: &Resolver<'_>, v: ValueRef) -> bool {
    match resolver.body(v.at).op(v.value) {
        Code::Call(call) => resolver.spoken(v.at, resolver.body(v.at).call(call).callee) == Some("partial"),
        _ => false,
    }
}

/// A call of what a registrar, or a `functools.partial` of one, gave.
fn read_derived(resolver: &Resolver<'_>, registry: &Registry, site: Site<'_>) -> Vec<Found> {
    let callee = ValueRef {
        at: site.at,
        value: site.call.callee,
    };
    let Some(made) = resolver.definition(callee) else {
        return Vec::new();
    };
    let Code::Call(id) = resolver.body(made.at).op(made.value) else {
        return Vec::new();
    };
    let call = resolver.body(made.at).call(id);
    if !is_partial(resolver, made) {
        let factory = Site {
            at: made.at,
            value: made.value,
            id,
            call,
            partial: None,
        };
        let rows = rows_of(resolver, registry, made.at, call.callee);
        let factories = rows
            .iter()
            .filter(|r| r.row.form != Form::Call && factory.argument(resolver, &r.row.implementation).is_none());
        let row = factories
            .clone()
            .find(|r| fits(resolver, &r.row, factory))
            .or(factories.clone().next());
        return row
            .and_then(|r| read_applied(resolver, r, factory, site.at, site.value))
            .into_iter()
            .collect();
    }
    let Some(first) = call.args.first().filter(|a| a.kind == ArgKind::Positional) else {
        return Vec::new();
    };
    let site = Site {
        partial: Some((made.at, call)),
        ..site
    };
    let rows = rows_of(resolver, registry, made.at, first.value);
    let row = rows.iter().find(|r| fits(resolver, &r.row, site)).or(rows.first());
    row.map(|r| read(resolver, r, site)).unwrap_or_default()
}

pub(super) fn is_renamed_import(facts: &Facts, name: crate::facts::Name, lasts: &FxHashSet<String>) -> bool {
    facts
        .imports
        .iter()
        .any(|i| i.bound == name && i.member.is_some_and(|m| m != name && lasts.contains(facts.name(m))))
}

/// Whether the arguments of a call are those of a row: its name is a text where the row has the name, and no `Library` object.
fn fits(resolver: &Resolver<'_>, row: &Register, site: Site<'_>) -> bool {
    let is_text = |v: ValueRef| resolver.texts(v).is_some();
    let first = Argument {
        arg: Some(0),
        keyword: None,
    };
    match site.argument(resolver, &first) {
        Some(first) if row.library.arg == Some(0) => !is_text(first),
        Some(first) if row.op.arg == Some(0) => is_text(first) || param_of(resolver, Some(first)).is_some(),
        Some(_) => true,
        None => row.op.keyword.is_none() || site.argument(resolver, &row.op).is_some(),
    }
}

/// `@f.register_fake` where `f` is a function that `custom_op` decorates.
pub(super) fn of_op_object(resolver: &Resolver<'_>, at: FunctionRef, call: &Call) -> Option<Registrar> {
    let Code::Attr(object, name) = resolver.body(at).op(call.callee) else {
        return None;
    };
    let name = resolver.text(at.file, name);
    let role = match name {
        "register_fake" | "impl_abstract" => Role::Fake,
        "register_kernel" | "register_autograd" | "register_vmap" | "register_torch_dispatch" => Role::Extend,
        _ => return None,
    };
    let functions = resolver.functions(at, object);
    functions.first()?;
    let row = Register {
        call: format!("op.{name}"),
        role,
        form: Form::Decorator,
        ..Register::default()
    };
    Some(Registrar {
        row,
        shown: format!("torch.library.CustomOpDef.{name}"),
        function: None,
        dying: None,
        base: None,
        calls: Vec::new(),
    })
}
