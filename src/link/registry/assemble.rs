//! Puts definitions, implementations and fakes together.

use super::declared::declared;
use super::read::{Found, applications, function_of, namespaces};
use super::wrappers;
use crate::facts::{ArgKind, Const, Op as Code};
use crate::knowledge::frameworks::{Argument, Role, Yields};
use crate::knowledge::op_schema::OpSchema;
use crate::link::resolve::{Resolver, ValueRef};
use crate::program::{Declared, Fake, FunctionRef, Op, Written};
use crate::source::Place;
use rustc_hash::FxHashMap;

/// Puts definitions, implementations and fakes together.
pub(super) fn assemble(resolver: &Resolver<'_>, found: Vec<Found>) -> Vec<Op> {
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
            Role::Op | Role::Define => {}
            Role::Extend => extend(resolver, f, &mut ops, &by_name, &by_function),
            Role::Implement => implement(resolver, f, &mut ops, &by_name, &mut alone),
            Role::Fake => fake(resolver, f, &mut ops, &by_name, &by_function),
        }
    }
    ops.extend(alone);
    for op in &mut ops {
        op.further.retain(|f| op.implementation != Some(*f));
        op.further.sort_unstable();
        op.further.dedup();
    }
    ops.sort_by(|a, b| (a.place, &a.name).cmp(&(b.place, &b.name)));
    ops
}

pub(super) fn op_of(resolver: &Resolver<'_>, f: &Found, name: String) -> Op {
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
        span: f.mutated_span.unwrap_or_else(|| resolver.body(v.at).value(v.value).span),
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
        name_place: f.name_value.filter(|v| v.at == f.at).and_then(|v| literal(resolver, v)),
        declared_place,
        func: None,
        fake,
        disabled: row.disabled,
        dispatch_key: f.key.clone(),
        dying_library: f.registrar.dying.or_else(|| wrappers::dying_library(resolver, f)),
        schema: f.schema.clone(),
        schema_params: schema_params(f),
        inferred: f.inferred,
        further: Vec::new(),
        unseen: false,
        autograd: false,
        returns_argument: returns_argument(resolver, f),
        written: written(f),
        call: (f.at, f.value),
        base: f.registrar.base.clone(),
        guarded: row.guarded,
        plain: row.yields != Yields::Op || !is_decorator(resolver, f),
        drops_params: row.dropped != Argument::default(),
    }
}

fn schema_params(f: &Found) -> Vec<String> {
    let parsed = f.schema.as_deref().and_then(|schema| OpSchema::parse(schema).ok());
    parsed.map_or_else(Vec::new, |schema| schema.params.into_iter().map(|p| p.name).collect())
}

fn written(f: &Found) -> Written {
    let pair = |v: ValueRef| (v.at, v.value);
    let keyword = f.registrar.row.mutated.keyword.as_deref();
    Written {
        at: f.at,
        call: f.call,
        bare: f.bare,
        mutated: f.mutated.map(pair),
        mutated_span: f.mutated_span,
        schema: f.schema_value.map(pair),
        takes_mutates_args: keyword == Some("mutates_args"),
    }
}

/// `tags=torch.Tag.inplace`, `tags=(torch.Tag.out,)`.
fn returns_argument(resolver: &Resolver<'_>, f: &Found) -> bool {
    let facts = resolver.facts(f.at.file);
    let call = resolver.body(f.at).call(f.call);
    call.args.iter().any(|a| {
        let text = resolver.files[f.at.file.index()].source.slice(a.span);
        matches!(a.kind, ArgKind::Keyword(n) if facts.name(n) == "tags") && (text.contains("Tag.inplace") || text.contains("Tag.out"))
    })
}

/// A further kernel, or an autograd formula.
fn extend(
    resolver: &Resolver<'_>,
    f: &Found,
    ops: &mut [Op],
    by_name: &FxHashMap<String, Vec<usize>>,
    by_function: &FxHashMap<FunctionRef, usize>,
) {
    let mut targets: Vec<usize> = f.names.iter().filter_map(|name| by_name.get(name)).flatten().copied().collect();
    if let Code::Attr(object, _) = resolver.body(f.at).op(resolver.body(f.at).call(f.call).callee) {
        let functions = resolver.functions(f.at, object);
        targets.extend(functions.iter().filter_map(|target| by_function.get(target)));
    }
    let what = f.registrar.row.call.rsplit('.').next().unwrap_or_default();
    let function = function_of(resolver, f.implementation);
    for i in targets {
        match what {
            "register_autograd" => ops[i].autograd = true,
            "register_kernel" => match function {
                Some(function) => ops[i].further.push(function),
                None => ops[i].unseen = true,
            },
            _ => {}
        }
    }
}

fn is_fallthrough(resolver: &Resolver<'_>, v: Option<ValueRef>) -> bool {
    v.and_then(|v| resolver.external(v.at, v.value))
        .is_some_and(|name| name.ends_with(".fallthrough_kernel"))
}

/// The registrar stands above its function.
fn is_decorator(resolver: &Resolver<'_>, f: &Found) -> bool {
    let body = resolver.body(f.at);
    body.call(f.call).decorates.is_some() || applications(body, f.value).iter().any(|(_, function)| function.is_some())
}

/// The place of a string literal.
fn literal(resolver: &Resolver<'_>, v: ValueRef) -> Option<Place> {
    let value = resolver.body(v.at).value(v.value);
    matches!(value.op, Code::Const(Const::Str(_))).then_some(Place {
        file: v.at.file,
        span: value.span,
    })
}

pub(super) fn is_none(resolver: &Resolver<'_>, v: ValueRef) -> bool {
    resolver.body(v.at).op(v.value) == Code::Const(Const::None)
}

pub(super) fn unknown_name(resolver: &Resolver<'_>, f: &Found) -> String {
    let namespace = namespaces(resolver, f).into_iter().next().unwrap_or_else(|| "*".into());
    format!("{namespace}::*")
}

pub(super) fn implement(resolver: &Resolver<'_>, f: &Found, ops: &mut [Op], by_name: &FxHashMap<String, Vec<usize>>, alone: &mut Vec<Op>) {
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
            match function {
                Some(function) if op.implementation.is_some() => op.further.push(function),
                Some(function) => op.implementation = Some(function),
                None => op.unseen |= !is_fallthrough(resolver, f.implementation),
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

pub(super) fn fake(
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
