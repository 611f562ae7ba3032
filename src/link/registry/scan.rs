//! Finds the registering calls of the project.

use super::assemble::assemble;
use super::read::{Found, param_of, read};
use super::{Registrar, Registry, argument, wrappers};
use crate::facts::{ArgKind, Call, Facts, MODULE, Op as Code, ValueId};
use crate::knowledge::frameworks::{Form, Register, Role};
use crate::link::resolve::{Resolver, ValueRef};
use crate::program::{FunctionRef, Op};
use crate::source::FileId;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

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
    found.retain(|f| !within(resolver, f.at, &inside));
    assemble(resolver, found)
}

pub(super) fn within(resolver: &Resolver<'_>, mut at: FunctionRef, functions: &FxHashSet<FunctionRef>) -> bool {
    loop {
        if functions.contains(&at) {
            return true;
        }
        if at.function == MODULE {
            return false;
        }
        at = resolver.parent(at);
    }
}

/// Every registering call of the project.
pub(super) fn scan(resolver: &Resolver<'_>, registry: &Registry) -> Vec<Found> {
    let lasts = registry.last_names();
    let per_file: Vec<Vec<Found>> = (0..resolver.files.len())
        .into_par_iter()
        .map(|i| {
            let file = FileId(i as u32);
            let facts = resolver.facts(file);
            let relevant = facts.names.iter().any(|n| lasts.contains(&**n));
            if relevant {
                scan_file(resolver, registry, &lasts, file, facts)
            } else {
                Vec::new()
            }
        })
        .collect();
    per_file.into_iter().flatten().collect()
}

pub(super) fn scan_file(
    resolver: &Resolver<'_>,
    registry: &Registry,
    lasts: &FxHashSet<String>,
    file: FileId,
    facts: &Facts,
) -> Vec<Found> {
    let mut found = Vec::new();
    for (id, function) in facts.functions() {
        let at = FunctionRef { file, function: id };
        for (value, v) in function.body.iter() {
            let Code::Call(call_id) = v.op else { continue };
            let call = function.body.call(call_id);
            let Some(last) = resolver.spoken(at, call.callee) else { continue };
            let renamed = || matches!(function.body.op(call.callee), Code::Free(n) if is_renamed_import(facts, n, lasts));
            if !lasts.contains(last) && !renamed() {
                continue;
            }
            let dotted = resolver.dotted(at, call.callee);
            let rows: Vec<&Registrar> = dotted
                .iter()
                .find(|n| registry.is_registrar(n))
                .map(|n| registry.registrars(n).collect())
                .unwrap_or_default();
            if !rows.is_empty() {
                let fitting = rows.iter().find(|r| fits(resolver, &r.row, at, call)).or(rows.first());
                found.extend(fitting.and_then(|r| read(resolver, r, at, value, call_id, call)));
            } else if let Some(extension) = of_op_object(resolver, at, call) {
                found.extend(read(resolver, &extension, at, value, call_id, call));
            }
        }
    }
    found
}

pub(super) fn is_renamed_import(facts: &Facts, name: crate::facts::Name, lasts: &FxHashSet<String>) -> bool {
    facts
        .imports
        .iter()
        .any(|i| i.bound == name && i.member.is_some_and(|m| m != name && lasts.contains(facts.name(m))))
}

/// Whether the arguments of a call are those of a row: its name is a text where the row has the name, and no `Library` object.
pub(super) fn fits(resolver: &Resolver<'_>, row: &Register, at: FunctionRef, call: &Call) -> bool {
    let facts = resolver.facts(at.file);
    let is_text = |v: ValueId| resolver.texts(ValueRef { at, value: v }).is_some();
    let library_first = row.library.arg == Some(0);
    match call.args.first().filter(|a| a.kind == ArgKind::Positional) {
        Some(first) if library_first => !is_text(first.value),
        Some(first) if row.op.arg == Some(0) => {
            is_text(first.value) || param_of(resolver, Some(ValueRef { at, value: first.value })).is_some()
        }
        Some(_) => true,
        None => row.op.keyword.is_none() || argument(facts, call, &row.op).is_some(),
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
