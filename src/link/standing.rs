//! How functions stand to the dispatcher, to hot and cold code and to autograd: questions over the callers.
//!
//! *Hot* is asked generously: a call of a method counts for every method that it may be. *Covered* is asked strictly: each call
//! outside of cold code that may well be one of the function has to run inside an op, and one of them is known to be.

use super::Options;
use super::calls::{Callers, Edge, Sure};
use super::host::Host;
use super::resolve::{ClassRef, Entity, Resolver};
use crate::facts::{MODULE, Op as Code, ValueId};
use crate::knowledge::frameworks::Decorates;
use crate::knowledge::outside::{Root, letters};
use crate::program::{Bypass, Caller, Func, FunctionRef, Op, OpId, Registration};
use crate::words::Word;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::RwLock;

/// Callers of callers are looked through up to so many functions.
const MOST: usize = 400;

/// Callers of callers are looked for in at most so many steps.
const ROUNDS: usize = 12;

/// What is known of functions by themselves, before anybody asks who calls them.
pub(crate) struct Places<'s, 'a> {
    host: &'s Host<'a>,
    implements: &'s FxHashMap<FunctionRef, OpId>,
    ops: &'s [Op],
    roots: Vec<&'a Root>,
    hot: Vec<&'s str>,
    cold: Vec<&'s str>,
    cold_names: Vec<&'s str>,
    /// What was asked before.
    colds: Told,
    hot_roots: Told,
    entries: Told,
}

/// Answers about functions.
type Told = RwLock<FxHashMap<FunctionRef, bool>>;

fn told(known: &Told, f: FunctionRef, find: impl FnOnce() -> bool) -> bool {
    let before = known.read().ok().and_then(|known| known.get(&f).copied());
    before.unwrap_or_else(|| {
        let found = find();
        if let Ok(mut known) = known.write() {
            known.insert(f, found);
        }
        found
    })
}

impl<'s, 'a> Places<'s, 'a> {
    pub(crate) fn new(host: &'s Host<'a>, options: &'s Options, implements: &'s FxHashMap<FunctionRef, OpId>, ops: &'s [Op]) -> Self {
        let frameworks = &host.knowledge.frameworks;
        Self {
            host,
            implements,
            ops,
            roots: frameworks.iter().flat_map(|f| &f.root).collect(),
            hot: options
                .hot
                .iter()
                .chain(frameworks.iter().flat_map(|f| &f.hot))
                .map(String::as_str)
                .collect(),
            cold: frameworks.iter().flat_map(|f| &f.cold).map(String::as_str).collect(),
            cold_names: frameworks.iter().flat_map(|f| &f.cold_names).map(String::as_str).collect(),
            colds: Told::default(),
            hot_roots: Told::default(),
            entries: Told::default(),
        }
    }

    /// Nothing is learnt from who calls it: an op, cold code, what a framework calls.
    fn ends(&self, f: FunctionRef) -> bool {
        self.is_op(f).is_some() || self.is_cold(f) || self.is_entry(f)
    }

    fn is_op(&self, f: FunctionRef) -> Option<OpId> {
        self.implements.get(&f).copied().filter(|op| !self.ops[op.0 as usize].disabled)
    }

    /// Cold by its file, its module or its name.
    fn is_cold(&self, f: FunctionRef) -> bool {
        let resolver = self.host.resolver;
        resolver.files[f.file.index()].cold
            || told(&self.colds, f, || {
                let name = resolver.text(f.file, resolver.function(f).name);
                self.cold_names.iter().any(|pattern| letters(pattern, name))
                    || !self.cold.is_empty() && {
                        let qualified = resolver.qualified(f);
                        self.cold.iter().any(|pattern| matches_dotted(pattern, &qualified))
                    }
            })
    }

    /// Torch calls it: `forward` of a module, a method of an `autograd.Function`; or an engine does, outside of every op.
    fn is_entry(&self, f: FunctionRef) -> bool {
        let resolver = self.host.resolver;
        let function = resolver.function(f);
        let Some(class) = function.class else { return false };
        let class = ClassRef { file: f.file, class };
        told(&self.entries, f, || {
            resolver.text(f.file, function.name) == "forward" && resolver.derives_from(class, |b| b == "torch.nn.Module")
                || is_autograd(self.host, class)
                || self.is_root(f, |root| root.outermost)
        })
    }

    /// Whether one of the framework files names it as a root of the hot path.
    fn is_root(&self, f: FunctionRef, which: impl Fn(&Root) -> bool) -> bool {
        let resolver = self.host.resolver;
        let function = resolver.function(f);
        let Some(class) = function.class else { return false };
        let class = ClassRef { file: f.file, class };
        let name = resolver.text(f.file, function.name);
        let names = |root: &&Root| which(root) && root.methods.iter().any(|m| letters(m, name));
        self.roots
            .iter()
            .copied()
            .filter(names)
            .any(|root| derives(resolver, class, &root.class))
    }

    fn is_hot_root(&self, f: FunctionRef) -> bool {
        told(&self.hot_roots, f, || self.finds_hot_root(f))
    }

    fn finds_hot_root(&self, f: FunctionRef) -> bool {
        let resolver = self.host.resolver;
        if self.is_op(f).is_some() || self.is_entry(f) || self.is_compiled(f) {
            return true;
        }
        if self.is_root(f, |_| true) {
            return true;
        }
        let qualified = resolver.qualified(f);
        self.hot.iter().any(|pattern| matches_dotted(pattern, &qualified))
    }

    /// `@torch.compile`
    fn is_compiled(&self, f: FunctionRef) -> bool {
        let resolver = self.host.resolver;
        decorated(resolver, f, |parent, callee| {
            resolver.spoken(parent, callee) == Some("compile") && resolver.dotted(parent, callee).iter().any(|n| n == "torch.compile")
        })
    }
}

/// Whether a decorator of a function is one: asked of its callee, a value of the body that the function stands in.
fn decorated(resolver: &Resolver<'_>, f: FunctionRef, is: impl Fn(FunctionRef, ValueId) -> bool) -> bool {
    let parent = resolver.parent(f);
    let body = resolver.body(parent);
    resolver
        .function(f)
        .decorators
        .iter()
        .any(|decorator| match body.op(decorator.value) {
            Code::Call(call) => is(parent, body.call(call).callee),
            _ => is(parent, decorator.value),
        })
}

/// Whether a class is, or derives from, one of this qualified name.
fn derives(resolver: &Resolver<'_>, class: ClassRef, name: &str) -> bool {
    resolver.lineage(class).into_iter().any(|c| {
        resolver.qualified_class(c) == name
            || resolver
                .bases(c)
                .iter()
                .any(|b| matches!(b, Entity::External(path) if **path == *name))
    })
}

/// Whether a class is an `autograd.Function`.
pub(crate) fn is_autograd(host: &Host<'_>, class: ClassRef) -> bool {
    host.resolver.derives_from(class, |b| {
        b == "torch.autograd.Function" || b == "torch.autograd.function.Function" || b == "torch.autograd.function.InplaceFunction"
    })
}

/// Where a function stands.
#[derive(Default)]
pub(crate) struct Stands {
    callers: Vec<Caller>,
    cold: bool,
    hot: bool,
    heat: u32,
    without_grad: bool,
    op: Option<OpId>,
    registration: Registration,
    bypasses: Vec<Bypass>,
}

impl Stands {
    pub(crate) fn tell(self, func: &mut Func) {
        func.callers = self.callers;
        func.cold |= self.cold;
        func.hot = self.hot;
        func.heat = self.heat;
        func.without_grad = self.without_grad;
        func.op = self.op;
        func.registration = self.registration;
        func.bypasses = self.bypasses;
    }
}

/// Where each of the functions stands, in their order. Who calls a function is looked for only where an answer depends on it.
pub(crate) fn stand(places: &Places<'_, '_>, options: &Options, functions: &[FunctionRef]) -> Vec<Stands> {
    let mut standing = Standing::new(places, options);
    let mut wanted: FxHashSet<FunctionRef> = functions.iter().copied().collect();
    let mut found: Vec<Stands> = functions.iter().map(|_| Stands::default()).collect();
    let mut open: Vec<usize> = (0..functions.len()).collect();
    for _ in 0..ROUNDS {
        standing.ask(&wanted);
        let answers: Vec<(usize, Stands, Missing)> = open
            .into_par_iter()
            .map(|i| {
                let mut missing = Missing::default();
                (i, standing.of(functions[i], &mut missing), missing)
            })
            .collect();
        wanted = FxHashSet::default();
        open = Vec::new();
        for (i, stands, missing) in answers {
            found[i] = stands;
            if !missing.is_empty() {
                open.push(i);
                wanted.extend(missing);
            }
        }
        if open.is_empty() {
            break;
        }
    }
    found
}

/// Functions whose callers an answer depends on, and nobody looked for yet.
type Missing = Vec<FunctionRef>;

/// Answers over the callers that are known.
struct Standing<'s, 'a> {
    host: &'s Host<'a>,
    places: &'s Places<'s, 'a>,
    callers: Callers,
    inference_only: Vec<String>,
    exported: FxHashSet<FunctionRef>,
}

impl<'s, 'a> Standing<'s, 'a> {
    fn new(places: &'s Places<'s, 'a>, options: &Options) -> Self {
        let frameworks = places
            .host
            .knowledge
            .frameworks
            .iter()
            .flat_map(|f| f.inference_only.iter().cloned());
        Self {
            host: places.host,
            places,
            callers: Callers::default(),
            inference_only: frameworks.chain(options.inference_only.iter().cloned()).collect(),
            exported: FxHashSet::default(),
        }
    }

    fn ask(&mut self, functions: &FxHashSet<FunctionRef>) {
        self.callers.ask(self.host, functions, |f| self.places.ends(f));
        self.exported.extend(exported(self.host, functions));
    }

    fn of(&self, f: FunctionRef, missing: &mut Missing) -> Stands {
        let cold = self.host.resolver.files[f.file.index()].cold || self.is_cold(f, missing);
        let distance = if cold { None } else { self.distance(f, missing) };
        let heat = |steps: u32| {
            let callers = self.edges(f).filter(|(c, _)| !self.places.is_cold(c.function)).count();
            1 + 10 * 9u32.saturating_sub(steps) + callers.min(9) as u32
        };
        let stands = Stands {
            callers: self.callers.direct.get(&f).cloned().unwrap_or_default(),
            cold,
            hot: distance.is_some(),
            heat: distance.map_or(0, heat),
            without_grad: self.without_grad(f, missing),
            ..Stands::default()
        };
        if let Some(&op) = self.places.implements.get(&f) {
            let op_is = &self.places.ops[op.0 as usize];
            return Stands {
                op: Some(op),
                registration: if op_is.disabled {
                    Registration::Disabled
                } else {
                    Registration::Yes
                },
                bypasses: if op_is.plain && !op_is.disabled {
                    self.bypasses(f, missing)
                } else {
                    Vec::new()
                },
                ..stands
            };
        }
        if let Some(op) = self.covering(f, missing) {
            return Stands {
                op: Some(op),
                registration: Registration::Covered,
                ..stands
            };
        }
        let registration = if self.is_recorded(f, missing) {
            Registration::Recorded
        } else {
            Registration::No
        };
        Stands { registration, ..stands }
    }

    /// Hot calls of an op's implementation from outside of every op.
    fn bypasses(&self, f: FunctionRef, missing: &mut Missing) -> Vec<Bypass> {
        let calls = self.callers.direct.get(&f).into_iter().flatten();
        let calls = calls.filter(|c| c.call.is_some() && c.function != f);
        let bypass = |caller: &Caller| {
            let at = caller.function;
            let inside = self.places.is_op(at).is_some() || self.covering(at, missing).is_some();
            let hot = !inside && !self.is_cold(at, missing) && self.distance(at, missing).is_some();
            hot.then(|| Bypass {
                caller: caller.clone(),
                without_grad: self.without_grad(at, missing),
            })
        };
        calls.filter_map(bypass).collect()
    }

    /// Nobody looked for the callers of a function, and they may matter.
    fn is_missing(&self, f: FunctionRef) -> bool {
        !self.callers.knows(f) && f.function != MODULE && !self.places.ends(f)
    }

    /// Calls and mentions of a function from elsewhere, with how sure each is.
    fn edges(&self, f: FunctionRef) -> impl Iterator<Item = (&Caller, Sure)> {
        let direct = self.callers.direct.get(&f).into_iter().flatten().map(|c| (c, Sure::Known));
        let through = self.callers.through.get(&f).into_iter().flatten();
        direct
            .chain(through.map(|Edge { caller, sure }| (caller, *sure)))
            .filter(move |(c, _)| c.function != f)
    }

    /// Whether every way to a function, but from cold code, leads through one for which `end` holds; with what the first of these gives.
    fn behind<T>(&self, f: FunctionRef, end: impl Fn(FunctionRef) -> Option<T>, missing: &mut Missing) -> Option<T> {
        let mut first = None;
        let mut seen: FxHashSet<FunctionRef> = FxHashSet::default();
        let mut next = vec![f];
        let mut unknown = Missing::new();
        while let Some(f) = next.pop() {
            if !seen.insert(f) {
                continue;
            }
            if seen.len() > MOST || self.exported.contains(&f) || self.callers.open.contains(&f) || self.places.is_entry(f) {
                return None;
            }
            if self.is_missing(f) {
                unknown.push(f);
                continue;
            }
            let mut known = false;
            for (caller, sure) in self.edges(f) {
                if sure == Sure::Passing || self.places.is_cold(caller.function) {
                    continue;
                }
                caller.call?;
                known |= sure == Sure::Known;
                match end(caller.function) {
                    Some(found) => first = Some(first.unwrap_or(found)),
                    None => next.push(caller.function),
                }
            }
            if !known {
                return None;
            }
        }
        missing.extend(unknown);
        first
    }

    /// The op inside which every known call of a function runs.
    fn covering(&self, f: FunctionRef, missing: &mut Missing) -> Option<OpId> {
        self.behind(f, |f| self.places.is_op(f), missing)
    }

    /// Whether every known call comes from methods of an `autograd.Function`.
    fn is_recorded(&self, f: FunctionRef, missing: &mut Missing) -> bool {
        let autograd = |f: FunctionRef| {
            let class = self.host.resolver.function(f).class?;
            is_autograd(self.host, ClassRef { file: f.file, class }).then_some(())
        };
        autograd(f).is_some() || self.behind(f, autograd, missing).is_some()
    }

    /// Cold itself, or called by cold code only.
    fn is_cold(&self, f: FunctionRef, missing: &mut Missing) -> bool {
        if self.places.is_cold(f) {
            return true;
        }
        let mut seen: FxHashSet<FunctionRef> = FxHashSet::default();
        let mut next = vec![f];
        let mut unknown = Missing::new();
        while let Some(f) = next.pop() {
            if !seen.insert(f) {
                continue;
            }
            if seen.len() > MOST || self.callers.open.contains(&f) || self.places.is_hot_root(f) {
                return false;
            }
            if self.is_missing(f) {
                unknown.push(f);
                continue;
            }
            let mut any = false;
            for (caller, _) in self.edges(f) {
                any = true;
                if self.places.is_cold(caller.function) {
                    continue;
                }
                if caller.function.function == MODULE {
                    return false;
                }
                next.push(caller.function);
            }
            if !any {
                return false;
            }
        }
        missing.extend(unknown);
        true
    }

    /// The calls on the shortest way from a root of hot code, other than through cold code.
    fn distance(&self, f: FunctionRef, missing: &mut Missing) -> Option<u32> {
        let mut seen: FxHashSet<FunctionRef> = FxHashSet::from_iter([f]);
        let mut level = vec![f];
        for steps in 0.. {
            level.retain(|f| !self.places.is_cold(*f));
            if level.is_empty() || seen.len() > MOST {
                break;
            }
            if level.iter().any(|f| self.places.is_hot_root(*f)) {
                return Some(steps);
            }
            let unknown = level.iter().copied().filter(|f| self.is_missing(*f));
            missing.extend(unknown);
            let callers: Vec<FunctionRef> = level.iter().flat_map(|f| self.edges(*f).map(|(c, _)| c.function)).collect();
            let host_code = callers.into_iter().filter(|c| !self.is_in_kernel(*c));
            level = host_code.filter(|c| seen.insert(*c)).collect();
        }
        None
    }

    /// What a kernel calls is part of the kernel: it is traced when that is compiled.
    fn is_in_kernel(&self, f: FunctionRef) -> bool {
        let mut at = f;
        while at.function != MODULE && !self.host.is_kernel(at) {
            at = self.host.resolver.parent(at);
        }
        self.host.is_kernel(at)
    }

    fn without_grad(&self, f: FunctionRef, missing: &mut Missing) -> bool {
        let mut unknown = Missing::new();
        let found = self.runs_without_grad(f, &mut Vec::new(), &mut unknown);
        if found {
            missing.extend(unknown);
        }
        found
    }

    /// An answer of yes holds if it also holds for all callers of what is unknown.
    fn runs_without_grad(&self, f: FunctionRef, seen: &mut Vec<FunctionRef>, unknown: &mut Missing) -> bool {
        let resolver = self.host.resolver;
        if self.places.is_op(f).is_some() || self.runs_no_grad(f) {
            return true;
        }
        let qualified = resolver.qualified(f);
        if self.inference_only.iter().any(|p| matches_dotted(p, &qualified)) {
            return true;
        }
        if let Some(class) = resolver.function(f).class
            && is_autograd(self.host, ClassRef { file: f.file, class })
        {
            return true;
        }
        let private = resolver.text(f.file, resolver.function(f).name).starts_with('_');
        if !private || seen.contains(&f) || seen.len() > 8 || self.exported.contains(&f) || self.callers.open.contains(&f) {
            return false;
        }
        if self.is_missing(f) {
            unknown.push(f);
            return true;
        }
        seen.push(f);
        let mut edges = self.edges(f).peekable();
        edges.peek().is_some() && edges.all(|(c, _)| c.call.is_some() && self.runs_without_grad(c.function, seen, unknown))
    }

    fn runs_no_grad(&self, f: FunctionRef) -> bool {
        let resolver = self.host.resolver;
        decorated(resolver, f, |parent, callee| {
            let names = resolver.dotted(parent, callee);
            names
                .iter()
                .any(|n| matches!(n.as_str(), "torch.no_grad" | "torch.inference_mode" | "torch.autograd.no_grad"))
                || names.iter().any(|n| {
                    self.host
                        .knowledge
                        .frameworks
                        .iter()
                        .any(|k| k.decorator.iter().any(|r| r.does == Decorates::NoGrad && r.name == *n))
                })
        })
    }
}

/// Whether a dotted name lies at or below a pattern; `*` stands for one part.
pub(crate) fn matches_dotted(pattern: &str, name: &str) -> bool {
    let mut name = name.split('.');
    pattern.split('.').all(|p| name.next().is_some_and(|n| p == "*" || p == n))
}

/// Functions that the project shows to the outside: listed in `__all__`, or imported by an `__init__` file.
fn exported(host: &Host<'_>, functions: &FxHashSet<FunctionRef>) -> FxHashSet<FunctionRef> {
    let resolver = host.resolver;
    let mut asked: Vec<FunctionRef> = functions.iter().copied().collect();
    asked.sort_unstable();
    let names: FxHashMap<&str, Vec<FunctionRef>> = asked.iter().fold(FxHashMap::default(), |mut map, &f| {
        map.entry(resolver.text(f.file, resolver.function(f).name))
            .or_insert_with(Vec::new)
            .push(f);
        map
    });
    let mut out = FxHashSet::default();
    for &f in &asked {
        let facts = resolver.facts(f.file);
        let name = resolver.text(f.file, resolver.function(f).name);
        if resolver.parent(f).function == MODULE && facts.layout.all.as_ref().is_some_and(|all| all.iter().any(|n| n == name)) {
            out.insert(f);
        }
    }
    let asked: FxHashSet<Word> = names.keys().map(|n| Word::of(n)).collect();
    for id in resolver.files_where(|id, words| resolver.files[id.index()].is_package && words.has_any(&asked)) {
        let file = &resolver.files[id.index()];
        for import in file.facts.imports.iter().filter(|i| i.function == MODULE) {
            let Some(member) = import.member else { continue };
            let Some(candidates) = names.get(file.facts.name(member)) else {
                continue;
            };
            let Some(id) = resolver.modules.file(&file.module) else { continue };
            let found = resolver.export(id, file.facts.name(import.bound));
            out.extend(candidates.iter().filter(|f| found.contains(&Entity::Function(**f))));
        }
    }
    out
}
