//! Which functions may launch: a cheap look at every body before any is run.

use super::host::Host;
use super::kernels::KernelEffects;
use super::reach;
use super::registry::argument;
use super::resolve::Entity;
use crate::facts::{ArgKind, FunctionKind, MODULE, Name, Op, ValueId};
use crate::program::FunctionRef;
use crate::source::FileId;
use crate::words::{Word, Words};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

/// What the look found.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// Functions that launch, hand a kernel to another function, or implement an op. Sorted.
    pub(crate) functions: Vec<FunctionRef>,
    /// Launching calls in module and class bodies, with their kernels.
    pub(crate) loose: Vec<(FunctionRef, ValueId, Vec<FunctionRef>)>,
}

impl Candidates {
    /// Adds functions.
    pub(crate) fn add(&mut self, functions: impl Iterator<Item = FunctionRef>) {
        self.functions.extend(functions);
        self.functions.sort_unstable();
        self.functions.dedup();
    }
}

/// Looks at every body.
pub(crate) fn candidates(host: &Host<'_>) -> Candidates {
    let resolver = host.resolver;
    let names = host.kernels.keys().map(|k| resolver.text(k.file, resolver.function(*k).name));
    let names: FxHashSet<&str> = names.collect();
    let names: reach::SoughtNames = names.into_iter().collect();
    let launcher_calls: FxHashSet<&str> = host.registry.launcher_calls().into_iter().collect();
    // A method whose language is not read is launched by its own class.
    let from_outside = |k: FunctionRef, effects: &KernelEffects| !effects.opaque || resolver.function(k).class.is_none();
    let kernels: FxHashSet<FunctionRef> = host.kernels.iter().filter(|(k, e)| from_outside(**k, e)).map(|(k, _)| *k).collect();
    let holders = reach::holders(resolver, &kernels);
    let launchers: FxHashSet<Word> = host.registry.launcher_names().map(Word::of).collect();
    let like = |words: &Words| words.launch_like && words.kernel_like || words.kernel_indexed || words.has_any(&launchers);
    let per_file: Vec<Candidates> = resolver
        .files_where(|id, words| like(words) || holders.is_in(id, words))
        .into_par_iter()
        .map(|file| of_file(host, file, &names, &launcher_calls))
        .collect();
    let mut all = Candidates::default();
    for one in per_file {
        all.functions.extend(one.functions);
        all.loose.extend(one.loose);
    }
    all.functions
        .extend(host.registry.implementations.keys().copied().filter(|f| !host.is_kernel(*f)));
    all.functions.sort_unstable();
    all.functions.dedup();
    all.loose.sort();
    all
}

fn of_file(host: &Host<'_>, file: FileId, kernels: &reach::SoughtNames, launcher_calls: &FxHashSet<&str>) -> Candidates {
    let facts = host.resolver.facts(file);
    let mut out = Candidates::default();
    let kernel_names: FxHashSet<Name> = kernels.of_file(host.resolver, file).collect();
    for (id, function) in facts.functions() {
        let at = FunctionRef { file, function: id };
        if host.is_kernel(at) || inside_kernel(host, at) {
            continue;
        }
        let body = &function.body;
        let in_function = !matches!(function.kind, FunctionKind::Module | FunctionKind::Class);
        let mut is_candidate = in_function
            && function.decorators.iter().any(|d| {
                let parent = host.resolver.parent(at);
                let callee = match host.resolver.body(parent).op(d.value) {
                    Op::Call(c) => host.resolver.body(parent).call(c).callee,
                    _ => d.value,
                };
                host.registry.launcher(host.resolver, parent, callee, true).is_some()
            });
        for (value, v) in body.iter() {
            let Op::Call(call) = v.op else { continue };
            let call = body.call(call);
            let object = match body.op(call.callee) {
                Op::Index(object, _) => Some(object),
                Op::Attr(object, name) if facts.name(name) == "run" => Some(object),
                _ => None,
            };
            if let Some(object) = object {
                let launched = host.kernels_of(at, object);
                if !launched.is_empty() {
                    if in_function {
                        is_candidate = true;
                    } else {
                        out.loose.push((at, value, launched));
                    }
                } else if in_function && matches!(body.op(call.callee), Op::Index(..)) && named_like_kernel(host, at, object, 4) {
                    is_candidate = true;
                }
            }
            if !in_function || is_candidate {
                continue;
            }
            if host.resolver.spoken(at, call.callee).is_some_and(|n| launcher_calls.contains(n))
                && let Some(launcher) = host.registry.launcher(host.resolver, at, call.callee, false)
                && argument(facts, call, &launcher.kernel).is_some()
            {
                is_candidate = true;
            }
            if call.decorates.is_none() && !kernel_names.is_empty() {
                is_candidate |= call
                    .args
                    .iter()
                    .any(|a| a.kind != ArgKind::StarStar && names_kernel(host, at, a.value, &kernel_names, 4));
            }
        }
        if is_candidate {
            out.functions.push(at);
        }
    }
    out
}

/// A function defined inside a kernel, or a lambda of a heuristic, runs on no host.
pub(crate) fn inside_kernel(host: &Host<'_>, mut at: FunctionRef) -> bool {
    while at.function != MODULE {
        at = host.resolver.parent(at);
        if host.is_kernel(at) {
            return true;
        }
    }
    false
}

/// Something of unknown meaning that is called like a kernel: `kernel[grid](…)` in a generic launcher, `self.kernels[key](…)`.
pub(crate) fn named_like_kernel(host: &Host<'_>, at: FunctionRef, value: ValueId, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let body = host.resolver.body(at);
    let like = |name: Name| host.resolver.text(at.file, name).to_ascii_lowercase().contains("kernel");
    let named = match body.op(value) {
        Op::Param(i) => like(host.resolver.function(at).params[i as usize].name),
        Op::Free(name) => like(name),
        Op::Attr(object, name) => like(name) || named_like_kernel(host, at, object, depth),
        Op::Select(_, a, b) => return named_like_kernel(host, at, a, depth) || named_like_kernel(host, at, b, depth),
        Op::Phi(items) => {
            return body
                .items(items)
                .iter()
                .any(|&i| i < value && named_like_kernel(host, at, i, depth));
        }
        _ => false,
    };
    named
        && host.resolver.entities(at, value).iter().all(|e| match e {
            Entity::Value(_) | Entity::Made(..) | Entity::Instance(_) => true,
            Entity::External(name) => !name.starts_with("builtins.") && !name.starts_with("typing."),
            Entity::Function(_) | Entity::Bound(_) | Entity::Class(_) | Entity::Module(_) | Entity::Namespace(_) => false,
        })
}

fn names_kernel(host: &Host<'_>, at: FunctionRef, value: ValueId, names: &FxHashSet<Name>, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let body = host.resolver.body(at);
    match body.op(value) {
        Op::Free(n) | Op::Attr(_, n) if names.contains(&n) => !host.kernels_of(at, value).is_empty(),
        Op::Import(i) => {
            let import = &host.resolver.facts(at.file).imports[i.index()];
            names.contains(&import.member.unwrap_or(import.bound)) && !host.kernels_of(at, value).is_empty()
        }
        Op::Select(_, a, b) => names_kernel(host, at, a, names, depth) || names_kernel(host, at, b, names, depth),
        Op::Phi(items) => body
            .items(items)
            .iter()
            .any(|&i| i < value && names_kernel(host, at, i, names, depth)),
        _ => false,
    }
}
