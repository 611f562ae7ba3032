//! A project's own registrars: functions that forward a name and a callable, and those that only pretend to.

use super::Registrar;
use super::read::{Found, is_def, param_of};
use crate::facts::{BinaryOp, FunctionId, FunctionKind, MODULE, Op, ParamKind, ValueId};
use crate::knowledge::frameworks::{Argument, Form, Missing, Register, Role, Yields};
use crate::link::resolve::{Entity, Resolver, ValueRef};
use crate::program::FunctionRef;
use crate::source::Place;
use crate::words::Word;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Registrars among the functions whose registering calls take name and callable from a parameter.
pub(super) fn discover(resolver: &Resolver<'_>, found: &[Found]) -> Vec<Registrar> {
    let mut by_owner: BTreeMap<FunctionRef, Vec<&Found>> = BTreeMap::new();
    for f in found {
        let named = name_param(resolver, f.name_value).map(|(param, _)| param);
        if let Some((owner, _)) = named.or_else(|| param_of(resolver, f.implementation)) {
            by_owner.entry(outermost(resolver, owner)).or_default().push(f);
        }
    }
    // A fake whose name is put together (`ns + "::" + name`) belongs to the registrar that it stands in.
    for f in found.iter().filter(|f| f.registrar.row.role == Role::Fake) {
        if let Some(calls) = by_owner.get_mut(&outermost(resolver, f.at))
            && !calls.iter().any(|c| (c.at, c.value) == (f.at, f.value))
        {
            calls.push(f);
        }
    }
    let rows = by_owner
        .into_iter()
        .filter_map(|(owner, calls)| registrar_of(resolver, owner, &calls));
    rows.collect()
}

/// The outermost `def` around a function: of a decorator factory, the factory.
fn outermost(resolver: &Resolver<'_>, mut f: FunctionRef) -> FunctionRef {
    loop {
        let parent = resolver.parent(f);
        if parent.function == MODULE || !matches!(resolver.function(parent).kind, FunctionKind::Def) {
            return f;
        }
        f = parent;
    }
}

fn registrar_of(resolver: &Resolver<'_>, owner: FunctionRef, calls: &[&Found]) -> Option<Registrar> {
    if !is_def(resolver, owner) {
        return None;
    }
    let mut row = Register {
        call: resolver.qualified(owner),
        missing: Missing::None,
        ..Register::default()
    };
    let mut dying = None;
    let mut base = None;
    let mut named = false;
    let mut called = false;
    for f in calls {
        let place_of = |v: Option<ValueRef>| param_of(resolver, v);
        if let Some(((at, p), namespace)) = name_param(resolver, f.name_value) {
            if at == owner {
                row.op = as_argument(resolver, owner, p);
                row.namespace = row.namespace.or(namespace);
                named = true;
            }
        } else if f.name_value.is_none() && f.registrar.row.role == Role::Op {
            named = true;
        }
        if f.handed_on {
            // `def op(name): return torch.library.custom_op(name, …)`: applied where it is called.
            called = true;
            row.form = Form::Decorator;
        }
        if let Some((at, p)) = place_of(f.implementation) {
            called = true;
            if at == owner {
                if f.registrar.row.role != Role::Fake {
                    row.implementation = as_argument(resolver, owner, p);
                } else {
                    row.fake = as_argument(resolver, owner, p);
                }
            } else {
                row.form = Form::Decorator;
            }
        }
        if let Some((at, p)) = place_of(f.mutated)
            && at == owner
        {
            row.mutated = as_argument(resolver, owner, p);
        } else if f.mutated.is_none() && f.registrar.row.role != Role::Implement && row.mutated == Argument::default() {
            row.missing = f.registrar.row.missing;
        }
        if let Some((at, p)) = place_of(f.fake)
            && at == owner
        {
            row.fake = as_argument(resolver, owner, p);
        }
        if let Some((at, p)) = place_of(f.library)
            && at == owner
        {
            row.library = as_argument(resolver, owner, p);
        }
        if let Some(library) = f.library {
            row.namespace = row.namespace.or_else(|| namespace(resolver, library));
        } else if row.namespace.is_none() {
            row.namespace = f.registrar.row.namespace.clone();
        }
        dying = dying.or_else(|| dying_library(resolver, f));
        // A fake that is the same for all ops stands in the registrar itself.
        row.fake_generated |= f.registrar.row.role == Role::Fake && place_of(f.implementation).is_none();
        let own_key = |k: &&String| !k.starts_with("Autograd") && *k != "Meta";
        if f.registrar.row.role == Role::Implement && row.default_key.is_none() {
            row.default_key = f.key.as_ref().filter(own_key).cloned();
        }
        if matches!(f.registrar.row.role, Role::Op | Role::Define) {
            base = base.or_else(|| f.registrar.base.clone());
        }
    }
    if row.implementation != Argument::default() && row.form == Form::Decorator {
        row.form = Form::Both;
    }
    if !named || !called || row.op == Argument::default() && row.implementation == Argument::default() && row.form == Form::Call {
        return None;
    }
    let shown = resolver.text(owner.file, resolver.function(owner).name).to_owned();
    Some(Registrar {
        row,
        shown,
        function: Some(owner),
        dying,
        base,
        calls: calls.iter().map(|f| (f.at, f.value)).collect(),
    })
}

/// The parameter that an op's name is, or that stands behind a constant namespace: `name`, `f"acme::{name}"`.
fn name_param(resolver: &Resolver<'_>, name: Option<ValueRef>) -> Option<((FunctionRef, u16), Option<String>)> {
    if let Some(param) = param_of(resolver, name) {
        return Some((param, None));
    }
    let name = name?;
    let body = resolver.body(name.at);
    let here = |value| ValueRef { at: name.at, value };
    let (front, last) = match body.op(name.value) {
        Op::Format(items) => body.items(items).split_last().map(|(last, front)| (front.to_vec(), *last))?,
        Op::Binary(BinaryOp::Add, front, last) => (vec![front], last),
        _ => return None,
    };
    let param = param_of(resolver, Some(here(last)))?;
    let texts = front.iter().map(|&part| resolver.texts(here(part))?.into_iter().next());
    let namespace = texts.collect::<Option<String>>()?.strip_suffix("::")?.to_owned();
    Some((param, Some(namespace)))
}

fn namespace(resolver: &Resolver<'_>, library: ValueRef) -> Option<String> {
    resolver.entities(library.at, library.value).into_iter().find_map(|e| match e {
        Entity::Made(_, made) => super::read::library_name(resolver, made)?.into_iter().next(),
        _ => None,
    })
}

fn as_argument(resolver: &Resolver<'_>, f: FunctionRef, p: u16) -> Argument {
    let param = &resolver.function(f).params[p as usize];
    let bound = resolver.function(f).class.is_some() && !resolver.has_plain_decorator(f, "staticmethod");
    Argument {
        arg: matches!(param.kind, ParamKind::Positional | ParamKind::PositionalOnly).then(|| p - u16::from(bound)),
        keyword: Some(resolver.text(f.file, param.name).to_owned()),
    }
}

/// The place of a `Library(…)` that a body makes for itself and neither keeps nor hands on.
pub(super) fn dying_library(resolver: &Resolver<'_>, f: &Found) -> Option<Place> {
    let library = f.library?;
    let function = resolver.function(f.at);
    let made = resolver.entities(library.at, library.value).into_iter().find_map(|e| match e {
        Entity::Made(name, made) if name.ends_with("Library") => Some(made),
        _ => None,
    })?;
    if made.at != f.at {
        return None;
    }
    let body = &function.body;
    let kept = body.iter().any(|(_, v)| match v.op {
        Op::Return(x) | Op::SetOuter(_, x) | Op::SetAttr(_, _, x) | Op::SetIndex(_, _, x) | Op::Suspend(x) => {
            refers(resolver, f.at, x, made)
        }
        Op::Call(call) => {
            let call = body.call(call);
            call.args.iter().any(|a| refers(resolver, f.at, a.value, made)) && !is_torchs(resolver, f.at, call.callee)
        }
        _ => false,
    });
    let kept = kept
        || match function.kind {
            FunctionKind::Def | FunctionKind::AsyncDef | FunctionKind::Lambda => false,
            FunctionKind::Module => bound_at_the_end(resolver, f.at, made),
            FunctionKind::Class => true,
        };
    (!kept).then(|| Place {
        file: made.at.file,
        span: body.value(made.value).span,
    })
}

/// A function of `torch.library`, which does not keep the library that it is given.
fn is_torchs(resolver: &Resolver<'_>, at: FunctionRef, callee: ValueId) -> bool {
    let mut names = resolver.dotted(at, callee).into_iter().peekable();
    names.peek().is_some() && names.all(|n| n.starts_with("torch.library."))
}

/// A global still refers to the object when the module body ends.
fn bound_at_the_end(resolver: &Resolver<'_>, at: FunctionRef, made: ValueRef) -> bool {
    resolver
        .function(at)
        .bindings
        .iter()
        .any(|&(_, value)| refers(resolver, at, value, made))
}

fn refers(resolver: &Resolver<'_>, at: FunctionRef, value: ValueId, made: ValueRef) -> bool {
    ValueRef { at, value } == made
        || resolver
            .entities(at, value)
            .iter()
            .any(|e| matches!(e, Entity::Made(_, m) if *m == made))
}

/// Functions that take `mutates_args` and give the function back as it came.
pub(super) fn disabled(resolver: &Resolver<'_>) -> Vec<Registrar> {
    let mut found: Vec<Registrar> = Vec::new();
    let spoken = FxHashSet::from_iter([Word::of("mutates_args")]);
    for file in resolver.files_with(&spoken) {
        let Some(mutates) = resolver.find_name(file, "mutates_args") else {
            continue;
        };
        let mut last: FxHashMap<crate::facts::Name, FunctionId> = FxHashMap::default();
        for (id, function) in resolver.facts(file).functions() {
            if function.kind == FunctionKind::Def && function.param(mutates).is_some() {
                last.insert(function.qualname, id);
                let f = FunctionRef { file, function: id };
                if gives_back(resolver, f) {
                    found.push(disabled_row(resolver, f));
                }
            }
        }
    }
    found
}

fn disabled_row(resolver: &Resolver<'_>, f: FunctionRef) -> Registrar {
    let function = resolver.function(f);
    let at = |wanted: &[&str]| {
        let p = function
            .params
            .iter()
            .position(|p| wanted.contains(&resolver.text(f.file, p.name)))?;
        Some(as_argument(resolver, f, p as u16))
    };
    let row = Register {
        call: resolver.qualified(f),
        form: Form::Both,
        op: at(&["name", "op_name", "op", "opname", "qualname"]).unwrap_or_default(),
        implementation: at(&["fn", "func", "op_func", "function", "impl"]).unwrap_or_default(),
        mutated: at(&["mutates_args"]).unwrap_or_default(),
        fake: at(&["fake_impl", "fake"]).unwrap_or_default(),
        disabled: true,
        yields: Yields::Function,
        ..Register::default()
    };
    let shown = resolver.text(f.file, function.name).to_owned();
    Registrar {
        row,
        shown,
        function: Some(f),
        dying: None,
        base: None,
        calls: Vec::new(),
    }
}

/// Whether every way out hands a function back unchanged: `return lambda f: f`, an inner `def` that returns its parameter, the parameter itself.
fn gives_back(resolver: &Resolver<'_>, f: FunctionRef) -> bool {
    let body = resolver.body(f);
    let mut any = false;
    for (_, value) in body.iter() {
        let Op::Return(result) = value.op else { continue };
        any = true;
        let unchanged = match body.op(result) {
            Op::Param(_) => true,
            _ => {
                let inner = resolver.functions(f, result);
                !inner.is_empty() && inner.iter().all(|g| resolver.parent(*g) == f && returns_own_param(resolver, *g))
            }
        };
        if !unchanged {
            return false;
        }
    }
    any
}

fn returns_own_param(resolver: &Resolver<'_>, f: FunctionRef) -> bool {
    let body = resolver.body(f);
    let mut returns = body
        .iter()
        .filter_map(|(_, v)| if let Op::Return(r) = v.op { Some(r) } else { None })
        .peekable();
    returns.peek().is_some() && returns.all(|r| matches!(body.op(r), Op::Param(0)))
}
