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
use crate::knowledge::frameworks::{Argument, Callee, Decorates, Launcher, Register};
use crate::program::{FunctionRef, Op};
use crate::source::Place;
use rustc_hash::FxHashMap;
use std::sync::RwLock;

/// Registrars, launchers, decorators and op implementations by name.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    pub(crate) registrars: Vec<Registrar>,
    by_key: FxHashMap<String, Vec<usize>>,
    launchers: Vec<Launcher>,
    decorators: FxHashMap<String, Decorates>,
    callees: FxHashMap<String, Callee>,
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
                registry.decorators.insert(decorator.name.clone(), decorator.does);
                if !decorator.name.starts_with("torch.") {
                    registry.decorators.entry(short_key(&decorator.name)).or_insert(decorator.does);
                }
            }
            for callee in &framework.call {
                registry.callees.insert(callee.name.clone(), callee.clone());
            }
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

    /// What a framework file says of a callee.
    pub(crate) fn callee<'s>(&'s self, _knowledge: &'s Knowledge, name: &str) -> Option<&'s Callee> {
        if let Some(row) = self.callees.get(name) {
            return Some(row);
        }
        let mut prefix = name;
        while let Some((parent, _)) = prefix.rsplit_once('.') {
            if let Some(row) = self.callees.get(&format!("{parent}.*")) {
                return Some(row);
            }
            prefix = parent;
        }
        None
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
        self.targets.get(&format!("{namespace}::{name}"))
    }

    /// Makes ops callable by name.
    pub(crate) fn learn_ops(&mut self, knowledge: &Knowledge, ops: &[Op]) {
        for framework in &knowledge.frameworks {
            for schema in &framework.schemas {
                if let Some((name, row)) = schema_row(schema) {
                    self.targets.insert(name, Target::Schema(row));
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
                && let Some((_, row)) = schema_row(&format!("{}{}", op.name, schema.find('(').map_or("", |at| &schema[at..])))
            {
                self.targets.entry(op.name.clone()).or_insert(Target::Schema(row));
            }
        }
    }
}

/// What an op schema says of effects: `ns::name(Tensor(a!) out, Tensor x) -> Tensor(a!)`.
pub(super) fn schema_row(schema: &str) -> Option<(String, Callee)> {
    let open = schema.find('(')?;
    let name = schema[..open].trim().to_owned();
    let (args, returns) = split_schema(&schema[open..])?;
    let mut row = Callee {
        name: name.clone(),
        ..Callee::default()
    };
    let mut sets: Vec<(String, String)> = Vec::new();
    for arg in args.iter().filter(|a| !a.is_empty() && *a != "*") {
        let plain = arg.split('=').next().unwrap_or(arg).trim();
        let (ty, param) = plain.rsplit_once(' ')?;
        row.params.push(param.to_owned());
        if ty.contains('!') {
            row.writes.push(param.to_owned());
        }
        if let Some(set) = alias_set(ty) {
            sets.push((set, param.to_owned()));
        }
    }
    if let Some(set) = alias_set(&returns) {
        row.view_of.extend(sets.into_iter().filter(|(s, _)| *s == set).map(|(_, p)| p));
    }
    row.pure = row.writes.is_empty();
    Some((name, row))
}

fn alias_set(ty: &str) -> Option<String> {
    let at = ty.find("Tensor(")? + "Tensor(".len();
    let set: String = ty[at..].chars().take_while(char::is_ascii_alphanumeric).collect();
    (!set.is_empty()).then_some(set)
}

/// Arguments (at top-level commas) and the returns of `(…) -> …`.
fn split_schema(text: &str) -> Option<(Vec<String>, String)> {
    let mut depth = 0;
    let mut args = Vec::new();
    let mut current = String::new();
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' if depth > 0 => {
                depth += 1;
                current.push(c);
            }
            '(' => depth = 1,
            ')' | ']' if depth > 1 => {
                depth -= 1;
                current.push(c);
            }
            ')' => {
                args.push(current.trim().to_owned());
                return Some((args, text[i + 1..].trim_start_matches([' ', '-', '>']).to_owned()));
            }
            ',' if depth == 1 => args.push(std::mem::take(&mut current).trim().to_owned()),
            _ => current.push(c),
        }
    }
    None
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
