//! Finds registrations: the calls, the ops they make, and what belongs together (define, impl, fake).

use super::{Registrar, Registry, argument, as_param, wrappers};
use crate::facts::{ArgKind, BinaryOp, Call, CallId, Const, Facts, FunctionId, FunctionKind, MODULE, Op as Code, ValueId};
use crate::knowledge::frameworks::{Argument, Form, Missing, Register, Role};
use crate::link::resolve::{Entity, Resolver, ValueRef};
use crate::program::{Declared, Fake, FunctionRef, Op};
use crate::source::{FileId, Place};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// One registering call, read.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) registrar: Registrar,
    pub(super) at: FunctionRef,
    pub(super) call: CallId,
    /// The op's full names; empty when they cannot be known.
    pub(super) names: Vec<String>,
    /// The value that holds the name.
    pub(super) name_value: Option<ValueRef>,
    /// The implementation (or fake) argument, or the decorated function.
    pub(super) implementation: Option<ValueRef>,
    pub(super) mutated: Option<ValueRef>,
    pub(super) fake: Option<ValueRef>,
    pub(super) library: Option<ValueRef>,
    pub(super) schema: Option<String>,
    pub(super) place: Place,
    pub(super) key: Option<String>,
}

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

fn within(resolver: &Resolver<'_>, mut at: FunctionRef, functions: &FxHashSet<FunctionRef>) -> bool {
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
fn scan(resolver: &Resolver<'_>, registry: &Registry) -> Vec<Found> {
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

fn scan_file(resolver: &Resolver<'_>, registry: &Registry, lasts: &FxHashSet<String>, file: FileId, facts: &Facts) -> Vec<Found> {
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

fn is_renamed_import(facts: &Facts, name: crate::facts::Name, lasts: &FxHashSet<String>) -> bool {
    facts
        .imports
        .iter()
        .any(|i| i.bound == name && i.member.is_some_and(|m| m != name && lasts.contains(facts.name(m))))
}

/// Whether the arguments of a call are those of a row: its name is a text where the row has the name, and no `Library` object.
fn fits(resolver: &Resolver<'_>, row: &Register, at: FunctionRef, call: &Call) -> bool {
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
fn of_op_object(resolver: &Resolver<'_>, at: FunctionRef, call: &Call) -> Option<Registrar> {
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
    })
}

/// Reads one registering call. A decorator factory without the call that applies it registers nothing.
fn read(resolver: &Resolver<'_>, registrar: &Registrar, at: FunctionRef, value: ValueId, id: CallId, call: &Call) -> Option<Found> {
    let row = &registrar.row;
    let facts = resolver.facts(at.file);
    let body = resolver.body(at);
    let here = |value| ValueRef { at, value };
    let arg = |which: &Argument| argument(facts, call, which).map(here);
    let given = arg(&row.implementation);
    let mut place = Place {
        file: at.file,
        span: body.value(value).span,
    };
    let mut implementation = given;
    let mut bare = false;
    if let Some(function) = call.decorates {
        // `@register` without a call.
        implementation = Some(here(call.args.first()?.value));
        place.span = decorator_span(facts, function, call.callee).unwrap_or(place.span);
        bare = true;
    } else if given.is_none() && row.form != Form::Call {
        let (applied, function) = application(body, value)?;
        implementation = Some(here(applied));
        if let Some(function) = function {
            place.span = decorator_span(facts, function, value).unwrap_or(place.span);
        }
    }
    let name_value = if bare { None } else { arg(&row.op) };
    let library = if row.call.contains("Library.") {
        match body.op(call.callee) {
            Code::Attr(object, _) => Some(here(object)),
            _ => None,
        }
    } else {
        arg(&row.library)
    };
    let mut found = Found {
        registrar: registrar.clone(),
        at,
        call: id,
        names: Vec::new(),
        name_value,
        implementation,
        mutated: if bare { None } else { arg(&row.mutated) },
        fake: if bare { None } else { arg(&row.fake) },
        library,
        schema: arg(&row.schema).and_then(|v| resolver.texts(v)?.into_iter().next()),
        place,
        key: arg(&row.dispatch_key)
            .and_then(|v| resolver.texts(v)?.into_iter().next())
            .or_else(|| row.default_key.clone()),
    };
    if row.role == Role::Define {
        read_definition(resolver, &mut found);
    }
    name(resolver, &mut found, bare);
    Some(found)
}

/// The value that a decorator factory's result is applied to.
fn application(body: &crate::facts::Body, factory: ValueId) -> Option<(ValueId, Option<FunctionId>)> {
    body.calls
        .iter()
        .find(|c| c.callee == factory && c.args.len() == 1)
        .map(|c| (c.args[0].value, c.decorates))
}

fn decorator_span(facts: &Facts, function: FunctionId, value: ValueId) -> Option<crate::source::Span> {
    facts
        .function(function)
        .decorators
        .iter()
        .find(|d| d.value == value)
        .map(|d| d.span)
}

/// `define("name" + infer_schema(fn, mutates_args=…))`, `define("name(Tensor x) -> Tensor")`.
fn read_definition(resolver: &Resolver<'_>, found: &mut Found) {
    let Some(text) = found.name_value else { return };
    let body = resolver.body(text.at);
    let mut parts = vec![text.value];
    let mut i = 0;
    while i < parts.len() && parts.len() < 32 {
        match body.op(parts[i]) {
            Code::Binary(BinaryOp::Add, a, b) => {
                parts.splice(i..=i, [a, b]);
            }
            Code::Format(items) => {
                parts.splice(i..=i, body.items(items).iter().copied());
            }
            _ => i += 1,
        }
    }
    for &part in &parts {
        let at = match body.op(part) {
            Code::Call(call) => Some((text.at, call)),
            _ => resolver.entities(text.at, part).into_iter().find_map(|e| match e {
                Entity::Made(name, made) if name.ends_with("infer_schema") => match resolver.body(made.at).op(made.value) {
                    Code::Call(call) => Some((made.at, call)),
                    _ => None,
                },
                _ => None,
            }),
        };
        let Some((at, call)) = at else { continue };
        let call = resolver.body(at).call(call);
        if !resolver
            .dotted(at, call.callee)
            .iter()
            .any(|n| n.rsplit('.').next() == Some("infer_schema"))
        {
            continue;
        }
        let facts = resolver.facts(at.file);
        let here = |value| ValueRef { at, value };
        found.implementation = argument(
            facts,
            call,
            &Argument {
                arg: Some(0),
                keyword: Some("prototype_function".into()),
            },
        )
        .map(here);
        found.mutated = argument(
            facts,
            call,
            &Argument {
                arg: None,
                keyword: Some("mutates_args".into()),
            },
        )
        .map(here);
        found.name_value = parts.first().map(|&value| ValueRef { at: text.at, value });
        return;
    }
    if found.schema.is_none() {
        found.schema = resolver.texts(text).and_then(|t| t.into_iter().next());
    }
}

/// Works the op's full names out.
fn name(resolver: &Resolver<'_>, found: &mut Found, bare: bool) {
    let mut names: Vec<String> = match found.name_value {
        Some(v) => resolver.texts(v).unwrap_or_default(),
        None if bare || found.registrar.row.op == Argument::default() || found.registrar.row.form != Form::Call => {
            function_of(resolver, found.implementation)
                .map(|f| resolver.text(f.file, resolver.function(f).name))
                .map(|n| {
                    found
                        .registrar
                        .row
                        .strip_prefix
                        .as_deref()
                        .and_then(|p| n.strip_prefix(p))
                        .unwrap_or(n)
                })
                .map(|n| vec![n.to_owned()])
                .unwrap_or_default()
        }
        None => Vec::new(),
    };
    for name in &mut names {
        if let Some(at) = name.find('(') {
            name.truncate(at);
        }
        *name = name.trim().to_owned();
    }
    if found.registrar.row.call.starts_with("op.") {
        found.names.clear();
        return;
    }
    let namespace = namespaces(resolver, found);
    found.names = names
        .into_iter()
        .flat_map(|n| {
            if n.contains("::") {
                return vec![n];
            }
            namespace.iter().map(|ns| format!("{ns}::{n}")).collect()
        })
        .collect();
    found.names.sort();
    found.names.dedup();
}

fn namespaces(resolver: &Resolver<'_>, found: &Found) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    if let Some(library) = found.library {
        for entity in resolver.entities(library.at, library.value) {
            if let Entity::Made(_, made) = entity
                && let Some(names) = library_name(resolver, made)
            {
                all.extend(names);
            }
        }
    }
    if all.is_empty() {
        all.extend(found.registrar.row.namespace.clone());
    }
    if all.is_empty() {
        all.push("*".to_owned());
    }
    all.sort();
    all.dedup();
    all
}

/// The namespace of a `Library(…)` call.
pub(super) fn library_name(resolver: &Resolver<'_>, made: ValueRef) -> Option<Vec<String>> {
    let Code::Call(call) = resolver.body(made.at).op(made.value) else {
        return None;
    };
    let call = resolver.body(made.at).call(call);
    let first = argument(
        resolver.facts(made.at.file),
        call,
        &Argument {
            arg: Some(0),
            keyword: Some("ns".into()),
        },
    )?;
    resolver.texts(ValueRef { at: made.at, value: first })
}

/// The function that a value is, also wrapped by a call (`torch.no_grad()(f)`, `functools.partial(f, …)`).
pub(super) fn function_of(resolver: &Resolver<'_>, v: Option<ValueRef>) -> Option<FunctionRef> {
    let v = v?;
    for entity in resolver.entities(v.at, v.value) {
        match entity {
            Entity::Function(f) | Entity::Bound(f) => return Some(f),
            Entity::Made(_, made) => {
                let Code::Call(call) = resolver.body(made.at).op(made.value) else {
                    continue;
                };
                let first = resolver.body(made.at).call(call).args.first()?;
                if first.kind == ArgKind::Positional {
                    let inner = resolver.functions(made.at, first.value);
                    if let Some(&f) = inner.first() {
                        return Some(f);
                    }
                }
            }
            _ => {}
        }
    }
    None
}

/// Puts definitions, implementations and fakes together.
fn assemble(resolver: &Resolver<'_>, found: Vec<Found>) -> Vec<Op> {
    let mut ops: Vec<Op> = Vec::new();
    let mut by_name: FxHashMap<String, Vec<usize>> = FxHashMap::default();
    let mut by_function: FxHashMap<FunctionRef, usize> = FxHashMap::default();
    for f in found.iter().filter(|f| matches!(f.registrar.row.role, Role::Op | Role::Define)) {
        let names = if f.names.is_empty() {
            vec![unknown_name(resolver, f)]
        } else {
            f.names.clone()
        };
        for name in names {
            let op = op_of(resolver, f, name);
            by_name.entry(op.name.clone()).or_default().push(ops.len());
            if let Some(function) = op.implementation {
                by_function.entry(function).or_insert(ops.len());
            }
            ops.push(op);
        }
    }
    let mut alone = Vec::new();
    for f in &found {
        match f.registrar.row.role {
            Role::Op | Role::Define | Role::Extend => {}
            Role::Implement => implement(resolver, f, &mut ops, &by_name, &mut alone),
            Role::Fake => fake(resolver, f, &mut ops, &by_name, &by_function),
        }
    }
    ops.extend(alone);
    ops.sort_by(|a, b| (a.place, &a.name).cmp(&(b.place, &b.name)));
    ops
}

fn op_of(resolver: &Resolver<'_>, f: &Found, name: String) -> Op {
    let row = &f.registrar.row;
    // What a native registrar decorates is never run.
    let implementation = if row.native {
        None
    } else {
        function_of(resolver, f.implementation)
    };
    let text = |v: ValueRef| {
        resolver.files[v.at.file.index()]
            .source
            .slice(resolver.body(v.at).value(v.value).span)
            .to_owned()
    };
    let facts = resolver.facts(f.at.file);
    let fake_from = row.fake_from.iter().any(|k| {
        let call = resolver.body(f.at).call(f.call);
        call.args
            .iter()
            .any(|a| matches!(a.kind, ArgKind::Keyword(n) if facts.name(n) == k))
    });
    let fake = match f.fake {
        Some(v) => match function_of(resolver, Some(v)) {
            Some(function) => Fake::Function(function),
            None if is_none(resolver, v) => Fake::Missing,
            None => Fake::Text(text(v)),
        },
        None if fake_from || row.fake_generated => Fake::Generated,
        None => Fake::Missing,
    };
    let declared_place = f.mutated.map(|v| Place {
        file: v.at.file,
        span: resolver.body(v.at).value(v.value).span,
    });
    Op {
        name_known: !name.contains('*'),
        name,
        place: f.place,
        registrar: f.registrar.shown.clone(),
        implementation_text: if implementation.is_none() {
            f.implementation.map(text)
        } else {
            None
        },
        implementation,
        declared: declared(resolver, f),
        declared_place,
        func: None,
        fake,
        disabled: row.disabled,
        dispatch_key: f.key.clone(),
        dying_library: f.registrar.dying.or_else(|| wrappers::dying_library(resolver, f)),
        schema: f.schema.clone(),
    }
}

fn is_none(resolver: &Resolver<'_>, v: ValueRef) -> bool {
    resolver.body(v.at).op(v.value) == Code::Const(Const::None)
}

fn unknown_name(resolver: &Resolver<'_>, f: &Found) -> String {
    let namespace = namespaces(resolver, f).into_iter().next().unwrap_or_else(|| "*".into());
    format!("{namespace}::*")
}

/// The declared mutation of a registration.
fn declared(resolver: &Resolver<'_>, f: &Found) -> Declared {
    if let Some(schema) = &f.schema {
        let text = format!("op{}", schema.find('(').map_or("()", |at| &schema[at..]));
        return match super::schema_row(&text) {
            Some((_, row)) => Declared::Names(row.writes),
            None => Declared::Unknown,
        };
    }
    match f.mutated {
        Some(v) => declared_value(resolver, v),
        None => match f.registrar.row.missing {
            Missing::None => Declared::Names(Vec::new()),
            Missing::All => Declared::All,
            Missing::Unknown => Declared::Unknown,
        },
    }
}

fn declared_value(resolver: &Resolver<'_>, v: ValueRef) -> Declared {
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

fn implement(resolver: &Resolver<'_>, f: &Found, ops: &mut [Op], by_name: &FxHashMap<String, Vec<usize>>, alone: &mut Vec<Op>) {
    let key = f.key.as_deref();
    let is_meta = key == Some("Meta");
    let function = function_of(resolver, f.implementation);
    let mut hit = false;
    for name in &f.names {
        for &i in by_name.get(name).into_iter().flatten() {
            hit = true;
            let op = &mut ops[i];
            if is_meta {
                op.fake = function.map_or(Fake::Unknown, Fake::Function);
                continue;
            }
            if key == Some("Autograd") || key.is_some_and(|k| k.starts_with("Autograd")) {
                continue;
            }
            op.dispatch_key = op.dispatch_key.take().or_else(|| f.key.clone());
            if op.implementation.is_none() {
                op.implementation = function;
            }
        }
    }
    if !hit && function.is_some() {
        let names = if f.names.is_empty() {
            vec![unknown_name(resolver, f)]
        } else {
            f.names.clone()
        };
        for name in names {
            let mut op = op_of(resolver, f, name);
            op.declared = Declared::Unknown;
            if is_meta {
                op.fake = function.map_or(Fake::Unknown, Fake::Function);
            }
            alone.push(op);
        }
    }
}

fn fake(
    resolver: &Resolver<'_>,
    f: &Found,
    ops: &mut [Op],
    by_name: &FxHashMap<String, Vec<usize>>,
    by_function: &FxHashMap<FunctionRef, usize>,
) {
    let function = function_of(resolver, f.implementation);
    let fake = match (function, f.implementation) {
        (Some(function), _) => Fake::Function(function),
        (None, Some(v)) => Fake::Text(
            resolver.files[v.at.file.index()]
                .source
                .slice(resolver.body(v.at).value(v.value).span)
                .to_owned(),
        ),
        (None, None) => Fake::Unknown,
    };
    for name in &f.names {
        for &i in by_name.get(name).into_iter().flatten() {
            ops[i].fake = fake.clone();
        }
    }
    // `@f.register_fake`
    if let Code::Attr(object, _) = resolver.body(f.at).op(resolver.body(f.at).call(f.call).callee) {
        for target in resolver.functions(f.at, object) {
            if let Some(&i) = by_function.get(&target) {
                ops[i].fake = fake.clone();
            }
        }
    }
}

/// The parameter of an enclosing function that a value is.
pub(super) fn param_of(resolver: &Resolver<'_>, v: Option<ValueRef>) -> Option<(FunctionRef, u16)> {
    as_param(resolver, v?)
}

/// Whether a function is a plain `def`.
pub(super) fn is_def(resolver: &Resolver<'_>, f: FunctionRef) -> bool {
    resolver.function(f).kind == FunctionKind::Def
}
