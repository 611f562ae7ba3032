//! Reads one registering call: which op, which function, which arguments.

use super::{Registrar, argument, as_param};
use crate::facts::{ArgKind, BinaryOp, Call, CallId, Facts, FunctionId, FunctionKind, Op as Code, ValueId};
use crate::knowledge::frameworks::{Argument, Form, Role};
use crate::link::resolve::{Entity, Resolver, ValueRef};
use crate::program::FunctionRef;
use crate::source::{Place, Span};

/// One registering call, read.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) registrar: Registrar,
    pub(super) at: FunctionRef,
    pub(super) call: CallId,
    pub(super) value: ValueId,
    /// The op's full names; empty when they cannot be known.
    pub(super) names: Vec<String>,
    /// The value that holds the name.
    pub(super) name_value: Option<ValueRef>,
    /// The implementation (or fake) argument, or the decorated function.
    pub(super) implementation: Option<ValueRef>,
    pub(super) mutated: Option<ValueRef>,
    /// The expression in that argument's place, which may be a name for the value.
    pub(super) mutated_span: Option<Span>,
    pub(super) fake: Option<ValueRef>,
    pub(super) library: Option<ValueRef>,
    pub(super) schema: Option<String>,
    pub(super) place: Place,
    pub(super) key: Option<String>,
    /// The schema's text, where it is an argument.
    pub(super) schema_value: Option<ValueRef>,
    /// torch's `infer_schema` makes the schema.
    pub(super) inferred: bool,
    /// A decorator without a call.
    pub(super) bare: bool,
    /// The decorator is handed to the caller of the function around, for its caller to apply.
    pub(super) handed_on: bool,
}

/// A registering call as it is written.
#[derive(Clone, Copy)]
pub(super) struct Site<'c> {
    pub(super) at: FunctionRef,
    pub(super) value: ValueId,
    pub(super) id: CallId,
    pub(super) call: &'c Call,
    /// The `functools.partial(register, …)` that is called here: it holds arguments too.
    pub(super) partial: Option<(FunctionRef, &'c Call)>,
}

impl Site<'_> {
    /// The argument that a framework file names, here or in the `partial`.
    pub(super) fn argument(&self, resolver: &Resolver<'_>, which: &Argument) -> Option<ValueRef> {
        let in_call = |at: FunctionRef, call: &Call, which: &Argument| {
            argument(resolver.facts(at.file), call, which).map(|value| ValueRef { at, value })
        };
        let Some((there, partial)) = self.partial else {
            return in_call(self.at, self.call, which);
        };
        // The first argument of `partial` is the registrar.
        let positional = partial.args.iter().take_while(|a| a.kind == ArgKind::Positional).count();
        let bound = positional.saturating_sub(1) as u16;
        let keyword = which.keyword.clone();
        let later = Argument {
            arg: which.arg.and_then(|n| n.checked_sub(bound)),
            keyword: keyword.clone(),
        };
        let earlier = Argument {
            arg: which.arg.filter(|n| *n < bound).map(|n| n + 1),
            keyword,
        };
        in_call(self.at, self.call, &later).or_else(|| in_call(there, partial, &earlier))
    }
}

/// Reads one registering call. A decorator factory registers what it is applied to: nothing, or several functions.
pub(super) fn read(resolver: &Resolver<'_>, registrar: &Registrar, site: Site<'_>) -> Vec<Found> {
    let Site { at, value, call, .. } = site;
    let facts = resolver.facts(at.file);
    let body = resolver.body(at);
    let here = |value| ValueRef { at, value };
    let mut place = Place {
        file: at.file,
        span: body.value(value).span,
    };
    let given = site.argument(resolver, &registrar.row.implementation);
    if let Some(function) = call.decorates {
        // `@register` without a call.
        let Some(first) = call.args.first() else { return Vec::new() };
        place.span = decorator_span(facts, function, call.callee).unwrap_or(place.span);
        return vec![read_with(resolver, registrar, site, Some(here(first.value)), place, true)];
    }
    if given.is_some() || registrar.row.form == Form::Call {
        return vec![read_with(resolver, registrar, site, given, place, false)];
    }
    if registrar.row.form != Form::Call && body.iter().any(|(_, v)| v.op == Code::Return(value)) {
        let mut found = read_with(resolver, registrar, site, None, place, false);
        found.handed_on = true;
        return vec![found];
    }
    let applied = applications(body, value).into_iter().map(|(applied, function)| {
        let span = function.and_then(|function| decorator_span(facts, function, value));
        let place = Place {
            span: span.unwrap_or(place.span),
            ..place
        };
        read_with(resolver, registrar, site, Some(here(applied)), place, false)
    });
    applied.collect()
}

/// Reads a call of a decorator that another body made: `register = make_register(lib)` in one module, `@register` in another.
pub(super) fn read_applied(
    resolver: &Resolver<'_>,
    registrar: &Registrar,
    factory: Site<'_>,
    at: FunctionRef,
    value: ValueId,
) -> Option<Found> {
    let Code::Call(id) = resolver.body(at).op(value) else { return None };
    let call = resolver.body(at).call(id);
    let [applied] = call.args.as_slice() else { return None };
    let facts = resolver.facts(at.file);
    let span = call.decorates.and_then(|function| decorator_span(facts, function, call.callee));
    let place = Place {
        file: at.file,
        span: span.unwrap_or(resolver.body(at).value(value).span),
    };
    let applied = ValueRef { at, value: applied.value };
    Some(read_with(resolver, registrar, factory, Some(applied), place, false))
}

fn read_with(
    resolver: &Resolver<'_>,
    registrar: &Registrar,
    site: Site<'_>,
    implementation: Option<ValueRef>,
    place: Place,
    bare: bool,
) -> Found {
    let row = &registrar.row;
    let Site { at, value, id, call, .. } = site;
    let body = resolver.body(at);
    let here = |value| ValueRef { at, value };
    let arg = |which: &Argument| site.argument(resolver, which);
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
        value,
        names: Vec::new(),
        name_value,
        implementation,
        mutated: if bare { None } else { arg(&row.mutated) },
        mutated_span: arg(&row.mutated).and_then(|v| argument_span(resolver, at, call, v.value)),
        fake: if bare { None } else { arg(&row.fake) },
        library,
        schema: arg(&row.schema).and_then(|v| resolver.texts(v)?.into_iter().next()),
        place,
        key: arg(&row.dispatch_key)
            .and_then(|v| resolver.texts(v)?.into_iter().next())
            .or_else(|| row.default_key.clone()),
        schema_value: arg(&row.schema),
        inferred: row.role == Role::Op && !row.own_schema && !row.native && arg(&row.schema).is_none(),
        bare,
        handed_on: false,
    };
    if row.role == Role::Define {
        read_definition(resolver, &mut found);
    }
    name(resolver, &mut found, bare);
    found
}

/// The values that a decorator factory's result is applied to.
pub(super) fn applications(body: &crate::facts::Body, factory: ValueId) -> Vec<(ValueId, Option<FunctionId>)> {
    body.calls
        .iter()
        .filter(|c| c.callee == factory && c.args.len() == 1)
        .map(|c| (c.args[0].value, c.decorates))
        .collect()
}

pub(super) fn decorator_span(facts: &Facts, function: FunctionId, value: ValueId) -> Option<crate::source::Span> {
    facts
        .function(function)
        .decorators
        .iter()
        .find(|d| d.value == value)
        .map(|d| d.span)
}

/// The expression of an argument, its keyword left out.
fn argument_span(resolver: &Resolver<'_>, at: FunctionRef, call: &Call, value: ValueId) -> Option<Span> {
    let arg = call.args.iter().find(|a| a.value == value)?;
    let ArgKind::Keyword(_) = arg.kind else { return Some(arg.span) };
    let text = resolver.files[at.file.index()].source.slice(arg.span);
    let behind = &text[text.find('=')? + 1..];
    let gap = behind.len() - behind.trim_start().len();
    Some(Span::new(arg.span.end - (behind.len() - gap) as u32, arg.span.end))
}

/// `define("name" + infer_schema(fn, mutates_args=…))`, `define("name(Tensor x) -> Tensor")`.
pub(super) fn read_definition(resolver: &Resolver<'_>, found: &mut Found) {
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
        found.mutated_span = found.mutated.and_then(|v| argument_span(resolver, at, call, v.value));
        found.name_value = parts.first().map(|&value| ValueRef { at: text.at, value });
        found.inferred = true;
        return;
    }
    if found.schema.is_none() {
        found.schema = resolver.texts(text).and_then(|t| t.into_iter().next());
        found.schema_value = Some(text);
    }
}

/// Works the op's full names out.
pub(super) fn name(resolver: &Resolver<'_>, found: &mut Found, bare: bool) {
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

pub(super) fn namespaces(resolver: &Resolver<'_>, found: &Found) -> Vec<String> {
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
            Entity::Function(f) | Entity::Bound(f) => return Some(wrapped(resolver, v, f).unwrap_or(f)),
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

/// The function that `decorator(f)` runs, where the decorator's inner function stands for `f` (`functools.wraps(f)`).
fn wrapped(resolver: &Resolver<'_>, v: ValueRef, inner: FunctionRef) -> Option<FunctionRef> {
    let body = resolver.body(v.at);
    let Code::Call(call) = body.op(v.value) else { return None };
    let call = body.call(call);
    let outer = resolver.parent(inner);
    let stands_for = resolver
        .function(inner)
        .decorators
        .iter()
        .any(|d| match resolver.body(outer).op(d.value) {
            Code::Call(wraps) => resolver.external(outer, resolver.body(outer).call(wraps).callee).as_deref() == Some("functools.wraps"),
            _ => false,
        });
    if !stands_for || !resolver.functions(v.at, call.callee).contains(&outer) {
        return None;
    }
    let first = call.args.first().filter(|a| a.kind == ArgKind::Positional)?;
    resolver.functions(v.at, first.value).first().copied()
}

/// The parameter of an enclosing function that a value is.
pub(super) fn param_of(resolver: &Resolver<'_>, v: Option<ValueRef>) -> Option<(FunctionRef, u16)> {
    as_param(resolver, v?)
}

/// Whether a function is a plain `def`.
pub(super) fn is_def(resolver: &Resolver<'_>, f: FunctionRef) -> bool {
    resolver.function(f).kind == FunctionKind::Def
}
