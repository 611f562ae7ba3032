//! Puts together what is known of each function of interest.

use super::conditions::{Condition, contradicts};
use super::host::{Abs, Effect, Host, Root, Summary};
use super::launches::Candidates;
use super::outside;
use super::resolve::{ClassRef, Resolver};
use super::standing::{self, Places, is_autograd};
use super::types::{Kind, param_kind};
use super::{Options, schema};
use crate::facts::{CompareOp, FunctionKind, Op as Code, ValueId};
use crate::program::{
    Func, FunctionRef, Inline, KernelCall, KernelId, Launch, Op, OpId, Registration, ReturnPath, ReturnShape, Returned, StateWrite, Write,
};
use crate::source::{Place, Span};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Functions of interest, sorted by place, and the launches that belong to none.
#[derive(Debug)]
pub(crate) struct Linked {
    pub(crate) functions: Vec<Func>,
    pub(crate) loose: Vec<Launch>,
}

/// Runs the candidates and keeps those that matter.
pub(crate) fn assemble(
    host: &Host<'_>,
    options: &Options,
    kernels: &FxHashMap<FunctionRef, KernelId>,
    candidates: Candidates,
    outside: outside::Found,
    ops: &[Op],
) -> Linked {
    let mut outside: FxHashMap<FunctionRef, Vec<KernelCall>> = outside.into_iter().collect();
    let mut implements: FxHashMap<FunctionRef, OpId> = FxHashMap::default();
    for (i, op) in ops.iter().enumerate() {
        for f in op.implementation.into_iter().chain(op.further.iter().copied()) {
            let slot = implements.entry(f).or_insert(OpId(i as u32));
            if ops[slot.0 as usize].disabled && !op.disabled {
                *slot = OpId(i as u32);
            }
        }
    }
    let run: Vec<(FunctionRef, Option<Arc<Summary>>)> = candidates.functions.par_iter().map(|&f| (f, host.summary(f))).collect();
    let run: Vec<(FunctionRef, Option<Arc<Summary>>)> = run
        .into_iter()
        .filter(|(f, s)| implements.contains_key(f) || outside.contains_key(f) || s.as_ref().is_none_or(|s| !s.launches.is_empty()))
        .collect();
    let names: Vec<FunctionRef> = run.iter().map(|(f, _)| *f).collect();
    let places = Places::new(host, options, &implements, ops);
    let stand = standing::stand(&places, options, &names);
    let calls: Vec<Vec<KernelCall>> = names.iter().map(|f| outside.remove(f).unwrap_or_default()).collect();
    let functions: Vec<Func> = run
        .into_par_iter()
        .zip(calls)
        .zip(stand)
        .map(|(((f, summary), kernel_calls), stands)| {
            let mut func = describe(host, kernels, f, summary.as_deref());
            func.kernel_calls = kernel_calls;
            let mutated: Vec<&str> = func.mutates.iter().map(|w| param_text(host, f, w.param)).collect();
            let (types, schema) = schema::infer_each(host.resolver, f, options.torch);
            func.schema = schema.map(|s| s.text(&mutated));
            func.types = types;
            stands.tell(&mut func);
            func
        })
        .collect();
    let loose = candidates
        .loose
        .into_iter()
        .map(|(f, value, launched)| Launch {
            function: f,
            call: match host.resolver.body(f).op(value) {
                Code::Call(call) => Some(call),
                _ => None,
            },
            value: Some(value),
            place: Place {
                file: f.file,
                span: host.resolver.body(f).value(value).span,
            },
            kernels: launched.iter().map(|k| kernels[k]).collect(),
            via: None,
        })
        .collect();
    Linked { functions, loose }
}

fn describe(host: &Host<'_>, kernels: &FxHashMap<FunctionRef, KernelId>, f: FunctionRef, summary: Option<&Summary>) -> Func {
    let resolver = host.resolver;
    let function = resolver.function(f);
    let kinds: Vec<Kind> = (0..function.params.len()).map(|i| param_kind(resolver, f, i as u16)).collect();
    let mut func = Func {
        function: f,
        launches: Vec::new(),
        kernel_calls: Vec::new(),
        registration: Registration::No,
        op: None,
        inline: inline(host, f),
        mutates: Vec::new(),
        mutates_state: Vec::new(),
        state_writes: Vec::new(),
        unresolved_state: Vec::new(),
        unresolved: Vec::new(),
        returns: Vec::new(),
        returns_alias_of: Vec::new(),
        schema: Err(Vec::new()),
        types: Vec::new(),
        hot: false,
        heat: 0,
        cold: resolver.files[f.file.index()].cold,
        callers: Vec::new(),
        without_grad: false,
        bypasses: Vec::new(),
        memory: host.take_memory(f),
    };
    let may_hold_tensor = |i: usize| matches!(kinds[i], Kind::Tensor | Kind::Tensors | Kind::Unknown);
    let Some(summary) = summary else {
        let all = (0..kinds.len()).filter(|&i| may_hold_tensor(i));
        func.unresolved = all.map(|i| (i as u16, "the function is too large to follow".to_owned())).collect();
        return func;
    };
    func.launches = summary
        .launches
        .iter()
        .map(|l| Launch {
            function: f,
            call: l.call,
            value: l.value,
            place: Place {
                file: f.file,
                span: l.span,
            },
            kernels: l.kernels.iter().filter_map(|k| kernels.get(k).copied()).collect(),
            via: l.via,
        })
        .collect();
    let proven = proven_views(resolver, f);
    for effect in &summary.effects {
        let param = match &effect.root {
            Root::Param(p) | Root::Part(p, _) => *p,
            Root::State(path) => {
                if effect.unknown.is_none() {
                    func.state_writes.push(state_write(path.to_string(), effect));
                } else {
                    func.unresolved_state.push(path.to_string());
                }
                continue;
            }
            Root::Capture(name) => {
                if effect.unknown.is_none() {
                    func.state_writes.push(state_write(resolver.text(f.file, *name).to_owned(), effect));
                }
                continue;
            }
            Root::Fresh(..) => continue,
        };
        match &effect.unknown {
            None => func.mutates.push(Write {
                param,
                maybe_copy: effect.maybe.filter(|p| p.file != f.file || !proven.contains(&p.span)),
                chain: effect.chain.clone(),
            }),
            Some(reason) if may_hold_tensor(param as usize) => func.unresolved.push((param, reason.to_string())),
            Some(_) => {}
        }
    }
    func.mutates.sort_by_key(|w| (w.param, w.maybe_copy.is_some()));
    func.mutates.dedup_by_key(|w| w.param);
    func.state_writes.sort();
    func.state_writes.dedup_by(|a, b| a.path == b.path);
    func.mutates_state = func.state_writes.iter().map(|w| w.path.clone()).collect();
    func.unresolved_state.retain(|path| !func.mutates_state.contains(path));
    func.unresolved_state.sort();
    func.unresolved_state.dedup();
    func.unresolved.retain(|(p, _)| !func.mutates.iter().any(|w| w.param == *p));
    func.unresolved.sort();
    func.unresolved.dedup_by_key(|(p, _)| *p);
    let mut numbers: Vec<Vec<Root>> = Vec::new();
    let mut alias_of: FxHashSet<u16> = FxHashSet::default();
    let cloned: Vec<ValueId> = summary.returns.iter().filter_map(|r| clone_of(resolver, f, r.value?)).collect();
    for r in &summary.returns {
        if contradicts(&[&r.when]) {
            continue;
        }
        let shape = shape_of(host, f, r.value, &r.abs, &r.when, &mut numbers);
        params_of(&r.abs, &r.when, &mut alias_of, &|p| may_hold_tensor(p as usize));
        func.returns.push(ReturnPath {
            span: r.span,
            value: r.value,
            or_clone: r.value.is_some_and(|v| cloned.contains(&v) || is_clone_or_self(resolver, f, v)),
            shared: returns_memory_twice(host, f, r.value, &r.abs),
            shape,
        });
    }
    func.returns_alias_of = alias_of.into_iter().collect();
    func.returns_alias_of.sort_unstable();
    func
}

fn state_write(path: String, effect: &Effect) -> StateWrite {
    StateWrite {
        path,
        chain: effect.chain.clone(),
    }
}

fn params_of(abs: &Abs, when: &Condition, into: &mut FxHashSet<u16>, tensor: &dyn Fn(u16) -> bool) {
    for alias in &abs.aliases {
        if let Root::Param(p) | Root::Part(p, _) = alias.root
            && tensor(p)
            && alias.known
            && !contradicts(&[&alias.when, when])
        {
            into.insert(p);
        }
    }
}

/// Where values are made that the function asserts to be no copies: `assert y.data_ptr() == x.data_ptr()`.
fn proven_views(resolver: &Resolver<'_>, f: FunctionRef) -> Vec<Span> {
    let body = resolver.body(f);
    let addressed = |v: ValueId| {
        let Code::Call(call) = body.op(v) else { return None };
        let Code::Attr(object, name) = body.op(body.call(call).callee) else {
            return None;
        };
        (resolver.text(f.file, name) == "data_ptr").then(|| body.value(object).span)
    };
    let mut found = Vec::new();
    for (_, value) in body.iter() {
        let Code::Assert(condition) = value.op else { continue };
        let all = match body.op(condition) {
            Code::And(items) => body.items(items),
            _ => std::slice::from_ref(&condition),
        };
        for &one in all {
            if let Code::Compare(CompareOp::Eq, a, b) = body.op(one)
                && let (Some(a), Some(b)) = (addressed(a), addressed(b))
            {
                found.extend([a, b]);
            }
        }
    }
    found
}

/// A function of the project makes it: a list, for all that is known.
fn may_be_list(resolver: &Resolver<'_>, f: FunctionRef, made: ValueId) -> bool {
    let body = resolver.body(f);
    match body.op(made) {
        Code::Call(call) => !resolver.functions(f, body.call(call).callee).is_empty(),
        _ => false,
    }
}

/// `x` in `x.clone()`.
fn clone_of(resolver: &Resolver<'_>, f: FunctionRef, value: ValueId) -> Option<ValueId> {
    let body = resolver.body(f);
    let Code::Call(call) = body.op(value) else { return None };
    let Code::Attr(object, name) = body.op(body.call(call).callee) else {
        return None;
    };
    (resolver.text(f.file, name) == "clone").then_some(object)
}

/// `x.clone() if condition else x`, also as an `if` statement.
fn is_clone_or_self(resolver: &Resolver<'_>, f: FunctionRef, value: ValueId) -> bool {
    match resolver.body(f).op(value) {
        Code::Select(_, a, b) => clone_of(resolver, f, a) == Some(b) || clone_of(resolver, f, b) == Some(a),
        _ => false,
    }
}

/// Whether two parts of a returned display have one root, each of them it alone. Parts of what one call handed back are left out:
/// they may be the items of a list.
fn returns_memory_twice(host: &Host<'_>, f: FunctionRef, value: Option<ValueId>, abs: &Abs) -> bool {
    let body = host.resolver.body(f);
    let items = match value.map(|v| body.op(v)) {
        Some(Code::Tuple(items) | Code::List(items)) => body.items(items),
        _ => return false,
    };
    let Some(parts) = abs.parts.as_deref().filter(|parts| parts.len() == items.len()) else {
        return false;
    };
    let mut roots: Vec<&Root> = Vec::new();
    for (part, &item) in parts.iter().zip(items) {
        let [alias] = part.aliases.as_slice() else { continue };
        let Root::Fresh(made, _) = alias.root else { continue };
        let from_list = match body.op(item) {
            Code::Unpack { value, .. } => value == made,
            Code::Index(value, index) => value == made && may_be_list(host.resolver, f, made) && !matches!(body.op(index), Code::Slice(..)),
            _ => false,
        };
        if alias.known && !from_list {
            roots.push(&alias.root);
        }
    }
    (1..roots.len()).any(|i| roots[..i].contains(&roots[i]))
}

fn shape_of(
    host: &Host<'_>,
    f: FunctionRef,
    value: Option<ValueId>,
    abs: &Abs,
    when: &Condition,
    numbers: &mut Vec<Vec<Root>>,
) -> ReturnShape {
    if abs.none || value.is_none() {
        return ReturnShape::None;
    }
    if abs.mixed {
        return ReturnShape::Unknown;
    }
    let body = host.resolver.body(f);
    if let Some(parts) = &abs.parts {
        return ReturnShape::Tuple(parts.iter().map(|p| returned(host, f, p, when, numbers)).collect());
    }
    match value.map(|v| body.op(v)) {
        Some(Code::Tuple(_) | Code::List(_)) => ReturnShape::Unknown,
        _ => match returned(host, f, abs, when, numbers) {
            Returned::Unknown => ReturnShape::Unknown,
            one => ReturnShape::One(one),
        },
    }
}

fn returned(host: &Host<'_>, f: FunctionRef, abs: &Abs, when: &Condition, numbers: &mut Vec<Vec<Root>>) -> Returned {
    let live: Vec<_> = abs.aliases.iter().filter(|a| !contradicts(&[&a.when, when])).collect();
    if abs.none {
        return Returned::None;
    }
    if abs.parts.is_some() || abs.mixed {
        return Returned::Unknown;
    }
    if live.is_empty() {
        return Returned::Scalar;
    }
    if live.iter().any(|a| !a.known) {
        return Returned::Unknown;
    }
    let mut params: Vec<u16> = live
        .iter()
        .filter_map(|a| {
            if let Root::Param(p) | Root::Part(p, _) = a.root {
                Some(p)
            } else {
                None
            }
        })
        .collect();
    params.dedup();
    if !params.is_empty() {
        let or_fresh = live.iter().any(|a| matches!(a.root, Root::Fresh(..)));
        return Returned::Alias {
            params,
            or_fresh,
            maybe: live.iter().any(|a| a.maybe.is_some()),
        };
    }
    if let Some(state) = live.iter().find_map(|a| match &a.root {
        Root::State(path) => Some(path.to_string()),
        Root::Capture(name) => Some(host.resolver.text(f.file, *name).to_owned()),
        Root::Param(_) | Root::Part(..) | Root::Fresh(..) => None,
    }) {
        return Returned::State(state);
    }
    // One of several pieces of memory: with whatever else one of them is, it may share.
    let fresh: Vec<&Root> = live.iter().map(|a| &a.root).collect();
    let known = numbers.iter().position(|group| group.iter().any(|r| fresh.contains(&r)));
    let number = known.unwrap_or_else(|| {
        numbers.push(Vec::new());
        numbers.len() - 1
    });
    numbers[number].extend(fresh.into_iter().cloned());
    Returned::Fresh(number as u32)
}

fn inline(host: &Host<'_>, f: FunctionRef) -> Option<Inline> {
    let resolver = host.resolver;
    let function = resolver.function(f);
    if let Some(class) = function.class {
        let class = ClassRef { file: f.file, class };
        return Some(if is_autograd(host, class) {
            Inline::Autograd
        } else {
            Inline::Method
        });
    }
    match resolver.function(resolver.parent(f)).kind {
        FunctionKind::Module => None,
        FunctionKind::Class => Some(Inline::Method),
        FunctionKind::Def | FunctionKind::AsyncDef | FunctionKind::Lambda => Some(Inline::Closure),
    }
}

fn param_text<'a>(host: &Host<'a>, f: FunctionRef, param: u16) -> &'a str {
    host.resolver.text(f.file, host.resolver.function(f).params[param as usize].name)
}
