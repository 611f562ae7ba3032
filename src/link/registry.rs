//! The registry of ops: which calls register what, a project's own registrars discovered.
//!
//! A function that forwards a name and a callable of its caller to a known registrar is a registrar itself; so is one that
//! takes `mutates_args` and gives its function back unchanged (a disabled one).

mod assemble;
mod declared;
mod decoration;
mod read;
mod scan;
mod wrappers;

pub(crate) use scan::ops;

use super::host::Host;
use super::resolve::{Resolver, ValueRef};
use crate::facts::{ArgKind, Call, Facts, ValueId};
use crate::knowledge::Knowledge;
use crate::knowledge::frameworks::{Argument, ByName, Callee, Decorates, Launcher, Register};
use crate::knowledge::op_schema::OpSchema;
use crate::program::{FunctionRef, Op};
use crate::source::Place;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::RwLock;

/// Registrars, launchers, decorators and op implementations by name.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    pub(crate) registrars: Vec<Registrar>,
    by_key: FxHashMap<String, Vec<usize>>,
    launchers: Vec<Launcher>,
    decorators: ByName<Decorates>,
    callees: ByName<Callee>,
    harmless: FxHashSet<Box<str>>,
    targets: FxHashMap<String, Target>,
    decorations: RwLock<FxHashMap<FunctionRef, Decorates>>,
    /// Functions that implement an op, with its index.
    pub(crate) implementations: FxHashMap<FunctionRef, Vec<usize>>,
}

/// A registrar with where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Registrar {
    /// As a framework file would say it.
    pub(crate) row: Register,
    /// The name to show: `torch.library.custom_op`, `vllm.direct_register_custom_op`, a project's own function.
    pub(crate) shown: String,
    /// The project's function, for discovered ones.
    pub(crate) function: Option<FunctionRef>,
    /// It makes the `Library` object that holds the op, and lets it go.
    pub(crate) dying: Option<Place>,
    /// Torch's registrar that it is, or ends in.
    pub(crate) base: Option<String>,
    /// For discovered ones: the registering calls inside.
    pub(crate) calls: Vec<(FunctionRef, ValueId)>,
}

/// What `torch.ops.ns.name` runs.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// A function of the project.
    Implementation(FunctionRef),
    /// A schema says what it writes.
    Schema(Callee),
}

/// The argument of a call that a framework file names.
pub(crate) fn argument(facts: &Facts, call: &Call, which: &Argument) -> Option<ValueId> {
    if let Some(keyword) = &which.keyword
        && let Some(arg) = call
            .args
            .iter()
            .find(|a| matches!(a.kind, ArgKind::Keyword(n) if facts.name(n) == keyword))
    {
        return Some(arg.value);
    }
    let at = which.arg? as usize;
    let positional = call.args.iter().take(at + 1).take_while(|a| a.kind == ArgKind::Positional);
    positional.clone().count().checked_sub(at + 1)?;
    positional.last().map(|a| a.value)
}

/// Names are compared by top package and last part where the whole does not match: `vllm.utils.f` is a re-export of `vllm.utils.torch_utils.f`.
fn short_key(name: &str) -> String {
    let top = name.split('.').next().unwrap_or(name);
    let last = name.rsplit('.').next().unwrap_or(name);
    format!("{top}:{last}")
}

impl Registry {
    /// The registry of what the framework files say.
    pub(crate) fn new(knowledge: &Knowledge) -> Self {
        let mut registry = Self::default();
        for framework in &knowledge.frameworks {
            for row in &framework.register {
                let last = row.call.rsplit('.').next().unwrap_or(&row.call);
                let shown = if framework.name == "torch" {
                    row.call.clone()
                } else {
                    format!("{}.{last}", framework.name)
                };
                registry.add(Registrar {
                    row: row.clone(),
                    shown,
                    function: None,
                    dying: None,
                    base: (framework.name == "torch").then(|| row.call.clone()),
                    calls: Vec::new(),
                });
            }
            registry.launchers.extend(framework.launcher.iter().cloned());
            for decorator in &framework.decorator {
                registry.decorators.add(&decorator.name, decorator.does);
                if !decorator.name.starts_with("torch.") && !decorator.name.ends_with('*') {
                    registry.decorators.add(&short_key(&decorator.name), decorator.does);
                }
            }
            for callee in framework.callees() {
                let name = callee.name.clone();
                registry.callees.add(&name, callee);
            }
            registry
                .harmless
                .extend(framework.harmless_methods.iter().map(|name| name.as_str().into()));
        }
        registry
    }

    fn add(&mut self, registrar: Registrar) {
        let index = self.registrars.len();
        self.by_key.entry(registrar.row.call.clone()).or_default().push(index);
        if !registrar.row.call.starts_with("torch.") && registrar.function.is_none() {
            let key = short_key(&registrar.row.call);
            self.by_key.entry(key).or_default().push(index);
        }
        self.registrars.push(registrar);
    }

    /// The registrars of a dotted name, in order: the first whose arguments fit holds.
    pub(crate) fn registrars(&self, name: &str) -> impl Iterator<Item = &Registrar> {
        let found = self.by_key.get(name).or_else(|| self.by_key.get(&short_key(name)));
        found.into_iter().flatten().map(|&i| &self.registrars[i])
    }

    /// Whether a dotted name is a registrar's.
    pub(crate) fn is_registrar(&self, name: &str) -> bool {
        self.registrars(name).next().is_some()
    }

    /// Last parts of the registrars' names: a cheap test before a callee is resolved.
    pub(crate) fn last_names(&self) -> rustc_hash::FxHashSet<String> {
        self.registrars
            .iter()
            .map(|r| r.row.call.rsplit('.').next().unwrap_or("").to_owned())
            .collect()
    }

    /// The launcher (decorator or call) that a value refers to.
    pub(crate) fn launcher(&self, resolver: &Resolver<'_>, at: FunctionRef, callee: ValueId, decorator: bool) -> Option<&Launcher> {
        if self.launchers.is_empty() {
            return None;
        }
        resolver
            .dotted(at, callee)
            .iter()
            .find_map(|name| self.launcher_named(name, decorator))
    }

    /// The launcher of a dotted name.
    pub(crate) fn launcher_named(&self, name: &str, decorator: bool) -> Option<&Launcher> {
        let key = short_key(name);
        self.launchers
            .iter()
            .find(|l| l.decorator == decorator && (l.call == name || short_key(&l.call) == key))
    }

    /// Last parts of the names of launching calls.
    pub(crate) fn launcher_calls(&self) -> Vec<&str> {
        self.launchers
            .iter()
            .filter(|l| !l.decorator)
            .filter_map(|l| l.call.rsplit('.').next())
            .collect()
    }

    /// The last parts of the names of all launchers, decorators among them.
    pub(crate) fn launcher_names(&self) -> impl Iterator<Item = &str> {
        self.launchers.iter().filter_map(|l| l.call.rsplit('.').next())
    }

    /// What a framework file says of a callee.
    pub(crate) fn callee(&self, name: &str) -> Option<&Callee> {
        self.callees.get(name)
    }

    /// Whether methods of this name write nothing, whatever the object is.
    pub(crate) fn is_harmless(&self, method: &str) -> bool {
        self.harmless.contains(method)
    }

    /// What the decorators above a function do to its calls.
    pub(crate) fn decoration(&self, host: &Host<'_>, f: FunctionRef) -> Decorates {
        if let Some(&known) = self.decorations.read().expect("no panic while locked").get(&f) {
            return known;
        }
        let does = decoration::of_function(self, host.resolver, f);
        self.decorations.write().expect("no panic while locked").insert(f, does);
        does
    }

    /// What a decorator of a dotted name does, if a framework file says it.
    fn decorator(&self, name: &str) -> Option<Decorates> {
        self.decorators.get(name).or_else(|| self.decorators.get(&short_key(name))).copied()
    }

    /// What `torch.ops.namespace.name` runs.
    pub(crate) fn target(&self, namespace: &str, name: &str) -> Option<&Target> {
        // An op of the project's own sources whose namespace the build gives.
        let anywhere = || self.targets.get(&format!("*::{name}"));
        self.targets.get(&format!("{namespace}::{name}")).or_else(anywhere)
    }

    /// Makes ops callable by name.
    pub(crate) fn learn_ops(&mut self, knowledge: &Knowledge, ops: &[Op]) {
        for framework in &knowledge.frameworks {
            for schema in &framework.schemas {
                let (anywhere, text) = match schema.strip_prefix("*::") {
                    Some(text) => ("*::", text),
                    None => ("", schema.as_str()),
                };
                if let Ok(schema) = OpSchema::parse(text) {
                    let name = format!("{anywhere}{}", schema.qualified());
                    self.targets.insert(name, Target::Schema(effects_of(&schema)));
                }
            }
        }
        for (i, op) in ops.iter().enumerate() {
            for &f in &op.further {
                self.implementations.entry(f).or_default().push(i);
            }
            if let Some(f) = op.implementation {
                self.implementations.entry(f).or_default().push(i);
                if op.name_known {
                    self.targets.insert(op.name.clone(), Target::Implementation(f));
                }
            } else if let (true, Some(schema)) = (op.name_known, &op.schema)
                && let Ok(parsed) = OpSchema::parse(schema)
            {
                self.targets.entry(op.name.clone()).or_insert(Target::Schema(effects_of(&parsed)));
            }
        }
    }
}

/// What an op schema says of effects.
pub(super) fn effects_of(schema: &OpSchema) -> Callee {
    let params: Vec<String> = schema.params.iter().map(|p| p.name.clone()).collect();
    let named = |indices: Vec<u16>| -> Vec<String> { indices.into_iter().map(|i| params[i as usize].clone()).collect() };
    let writes = named(schema.writes().collect());
    let mut shared: Vec<u16> = schema.returns.iter().flat_map(|r| schema.sources(r)).collect();
    shared.sort_unstable();
    shared.dedup();
    Callee {
        name: schema.qualified(),
        pure: writes.is_empty(),
        view_of: named(shared),
        writes,
        params,
        ..Callee::default()
    }
}

/// The parameter of a function that a value is, as it came in (through annotations and `x or default`).
fn as_param(resolver: &Resolver<'_>, v: ValueRef) -> Option<(FunctionRef, u16)> {
    use crate::facts::Op;
    let body = resolver.body(v.at);
    let here = |value| ValueRef { at: v.at, value };
    match body.op(v.value) {
        Op::Param(p) => Some((v.at, p)),
        Op::Annotated(_, x) => as_param(resolver, here(x)),
        Op::Or(items) => body.items(items).iter().find_map(|&i| as_param(resolver, here(i))),
        Op::Select(_, a, b) => as_param(resolver, here(a)).or_else(|| as_param(resolver, here(b))),
        Op::Free(name) => captured_param(resolver, v.at, name),
        _ => None,
    }
}

/// The parameter of an enclosing function that a free name is.
fn captured_param(resolver: &Resolver<'_>, at: FunctionRef, name: crate::facts::Name) -> Option<(FunctionRef, u16)> {
    let facts = resolver.facts(at.file);
    let mut scope = at.function;
    while scope != crate::facts::MODULE {
        scope = facts.function(scope).parent;
        let f = facts.function(scope);
        if let Some(p) = f.param(name) {
            return Some((
                FunctionRef {
                    file: at.file,
                    function: scope,
                },
                p,
            ));
        }
        if f.assigned.binary_search_by_key(&name, |a| a.0).is_ok() && f.kind != crate::facts::FunctionKind::Class {
            return None;
        }
    }
    None
}
