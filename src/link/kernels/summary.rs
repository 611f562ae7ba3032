//! What each function does to its own parameters, and the memory of what was read already.

use super::callee::Callee;
use super::flow::{Flow, declared_kinds};
use super::kinds::Kind;
use super::value::{Abstract, Base};
use super::{GuardedWrite, KernelEffects, at};
use crate::facts::{FunctionId, Op};
use crate::knowledge::triton::Triton;
use crate::link::conditions::Condition;
use crate::link::resolve::{ClassRef, Resolver};
use crate::program::{FunctionRef, Step};
use crate::source::{FileId, Place};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Helpers are followed this deep.
const DEEPEST: usize = 40;
/// A recursive function is read this often before its summary is taken as it is.
const MOST_READINGS: usize = 5;
const MOST_SETTLINGS: usize = 4;

/// Memory that a function touches through one base.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Access {
    pub(super) base: Base,
    pub(super) when: Condition,
    pub(super) chain: Vec<Step>,
}

/// A base of which it cannot be known.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Doubt {
    pub(super) base: Base,
    pub(super) when: Condition,
    pub(super) reason: Arc<str>,
}

/// A call of a function that a parameter holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Deferred {
    pub(super) param: u16,
    pub(super) arguments: Vec<Abstract>,
    pub(super) when: Condition,
    pub(super) place: Place,
}

/// What a function does, over its own parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Summary {
    pub(super) kinds: Vec<Kind>,
    pub(super) reads: Vec<Access>,
    pub(super) writes: Vec<Access>,
    pub(super) doubts: Vec<Doubt>,
    pub(super) deferred: Vec<Deferred>,
    pub(super) returns: Abstract,
    /// It returns an object of this class.
    pub(super) class: Option<ClassRef>,
    /// Some address had several possible bases.
    pub(super) ambiguous: bool,
}

/// Fields of a class: values over the parameters of `__init__`, or in the order of their declaration without one.
type Fields = (Option<FunctionRef>, Vec<(Arc<str>, Abstract)>);

/// What the callers of a function pass for one parameter.
#[derive(Clone, Debug, Default)]
pub(super) struct Votes {
    pub(super) pointer: bool,
    pub(super) scalar: bool,
    /// Something of which the caller does not know it either.
    pub(super) unknown: bool,
    /// A parameter of the caller.
    pub(super) from: Vec<(FunctionRef, u16)>,
}

/// Reads functions, each once.
pub(super) struct Analysis<'a, 'k> {
    pub(super) resolver: &'k Resolver<'a>,
    pub(super) triton: &'k Triton,
    /// Callees by file, scope and a hash of their dotted name.
    pub(super) named: FxHashMap<(FileId, FunctionId, u64), Vec<Callee<'k>>>,
    pub(super) votes: FxHashMap<FunctionRef, Vec<Votes>>,
    /// Methods of classes that are device functions, by name.
    pub(super) methods: FxHashMap<&'k str, Vec<FunctionRef>>,
    /// Packages of others that the project holds, with what stands before their name.
    pub(super) copies: FxHashMap<&'k str, &'k str>,
    known: FxHashMap<FunctionRef, Rc<Summary>>,
    fields: FxHashMap<ClassRef, Option<Rc<Fields>>>,
    callers: FxHashMap<FunctionRef, FxHashSet<FunctionRef>>,
    given: FxHashMap<FunctionRef, Vec<Kind>>,
    /// Functions being read, with what is known of them so far.
    open: Vec<(FunctionRef, Rc<Summary>)>,
    /// The outermost open function that was asked for since.
    reached: usize,
}

impl<'a, 'k> Analysis<'a, 'k> {
    /// `functions`: all kernels and device functions.
    pub(super) fn new(resolver: &'k Resolver<'a>, triton: &'k Triton, functions: impl Iterator<Item = FunctionRef>) -> Self {
        let mut methods: FxHashMap<&str, Vec<FunctionRef>> = FxHashMap::default();
        for f in functions.filter(|&f| resolver.function(f).class.is_some()) {
            methods.entry(resolver.text(f.file, resolver.function(f).name)).or_default().push(f);
        }
        Self {
            methods,
            copies: copies(resolver),
            resolver,
            triton,
            named: FxHashMap::default(),
            votes: FxHashMap::default(),
            known: FxHashMap::default(),
            fields: FxHashMap::default(),
            callers: FxHashMap::default(),
            given: FxHashMap::default(),
            open: Vec::new(),
            reached: usize::MAX,
        }
    }

    /// What a function does. Of a function that is being read, what is known so far.
    pub(super) fn summary(&mut self, f: FunctionRef) -> Rc<Summary> {
        if let Some((caller, _)) = self.open.last() {
            self.callers.entry(f).or_default().insert(*caller);
        }
        if let Some(known) = self.known.get(&f) {
            return known.clone();
        }
        if let Some(i) = self.open.iter().position(|(open, _)| *open == f) {
            self.reached = self.reached.min(i);
            return self.open[i].1.clone();
        }
        let kinds = self.header_kinds(f);
        if self.open.len() >= DEEPEST {
            let doubt = |p: usize| Doubt {
                base: Base::Param(p as u16, "".into()),
                when: Condition::True,
                reason: "helpers nest too deep".into(),
            };
            return Rc::new(Summary {
                doubts: (0..kinds.len()).map(doubt).collect(),
                kinds,
                ..Summary::default()
            });
        }
        let depth = self.open.len();
        let outer = std::mem::replace(&mut self.reached, usize::MAX);
        self.open.push((
            f,
            Rc::new(Summary {
                kinds: kinds.clone(),
                ..Summary::default()
            }),
        ));
        let mut summary = Rc::new(Flow::new(self, f, kinds.clone()).read());
        for _ in 1..MOST_READINGS {
            if self.reached > depth || *self.open[depth].1 == *summary {
                break;
            }
            self.open[depth].1 = summary;
            summary = Rc::new(Flow::new(self, f, kinds.clone()).read());
        }
        self.open.pop();
        if self.reached >= depth {
            self.known.insert(f, summary.clone());
            self.reached = outer;
        } else {
            // part of a cycle whose head is still open: read again later
            self.reached = self.reached.min(outer);
        }
        summary
    }

    fn header_kinds(&self, f: FunctionRef) -> Vec<Kind> {
        let mut kinds = declared_kinds(self.resolver, f);
        for (kind, given) in kinds.iter_mut().zip(self.given.get(&f).into_iter().flatten()) {
            if *kind == Kind::Unknown {
                *kind = *given;
            }
        }
        kinds
    }

    /// Where an address had several possible bases, what callers pass may tell which: those functions and their callers are read again.
    pub(super) fn settle_kinds(&mut self) {
        for round in 0..MOST_SETTLINGS {
            if round == 1 {
                self.ask_launches();
            }
            let mut stale = self.ambiguous();
            stale.retain(|&f| self.take_votes(f));
            if stale.is_empty() && round > 0 {
                return;
            }
            let mut gone = FxHashSet::default();
            while let Some(f) = stale.pop() {
                if gone.insert(f) {
                    self.known.remove(&f);
                    stale.extend(self.callers.get(&f).into_iter().flatten());
                }
            }
            let mut again: Vec<FunctionRef> = gone.into_iter().collect();
            again.sort_unstable();
            for f in again {
                self.summary(f);
            }
        }
    }

    /// Functions with an address that has several possible bases, sorted.
    pub(super) fn ambiguous(&self) -> Vec<FunctionRef> {
        let mut found: Vec<FunctionRef> = self.known.iter().filter(|(_, s)| s.ambiguous).map(|(f, _)| *f).collect();
        found.sort_unstable();
        found
    }

    fn take_votes(&mut self, f: FunctionRef) -> bool {
        let Some(summary) = self.known.get(&f).cloned() else { return false };
        let kinds = &summary.kinds;
        let decide = |(p, kind): (usize, &Kind)| match kind {
            Kind::Unknown => self.voted(f, p as u16, &mut Vec::new()),
            Kind::Scalar | Kind::Pointer => *kind,
        };
        let given: Vec<Kind> = kinds.iter().enumerate().map(decide).collect();
        let learnt = given != *kinds;
        if learnt {
            self.given.insert(f, given);
        }
        learnt
    }

    /// What the callers say of a parameter, each asked for its own parameter if it hands on that.
    fn voted(&self, f: FunctionRef, param: u16, asked: &mut Vec<(FunctionRef, u16)>) -> Kind {
        if asked.contains(&(f, param)) || asked.len() > DEEPEST {
            return Kind::Unknown;
        }
        asked.push((f, param));
        let Some(vote) = self.votes.get(&f).and_then(|v| v.get(param as usize)) else {
            return Kind::Unknown;
        };
        let (mut pointer, mut scalar, mut unknown) = (vote.pointer, vote.scalar, vote.unknown);
        for &(caller, p) in &vote.from {
            let own = self
                .known
                .get(&caller)
                .and_then(|s| s.kinds.get(p as usize))
                .copied()
                .unwrap_or_default();
            match if own == Kind::Unknown { self.voted(caller, p, asked) } else { own } {
                Kind::Pointer => pointer = true,
                Kind::Scalar => scalar = true,
                // a recursive function hands on its own parameter
                Kind::Unknown if caller == f => {}
                Kind::Unknown => unknown = true,
            }
        }
        match (pointer, scalar, unknown) {
            (true, false, _) => Kind::Pointer,
            (false, true, false) => Kind::Scalar,
            _ => Kind::Unknown,
        }
    }

    /// The fields of an object that a class makes; `None` when they cannot be told.
    pub(super) fn fields(&mut self, class: ClassRef) -> Option<Rc<Fields>> {
        if let Some(known) = self.fields.get(&class) {
            return known.clone();
        }
        self.fields.insert(class, None);
        let fields = self.find_fields(class).map(Rc::new);
        self.fields.insert(class, fields.clone());
        fields
    }

    fn find_fields(&mut self, class: ClassRef) -> Option<Fields> {
        let facts = self.resolver.facts(class.file);
        let info = &facts.classes[class.class.index()];
        let init = facts
            .functions()
            .find(|(_, f)| f.parent == info.body && facts.name(f.name) == "__init__");
        if let Some((id, _)) = init {
            let f = at(class.file, id);
            let kinds = self.header_kinds(f);
            return Some((Some(f), Flow::new(self, f, kinds).assigned_fields()));
        }
        let body = facts.function(info.body);
        let mut declared: Vec<_> = body
            .assigned
            .iter()
            .filter_map(|(name, values)| {
                let first = *values.first()?;
                matches!(body.body.op(first), Op::Annotated(..)).then_some((first, Arc::from(facts.name(*name))))
            })
            .collect();
        declared.sort();
        (!declared.is_empty()).then(|| (None, declared.into_iter().map(|(_, name)| (name, Abstract::default())).collect()))
    }

    /// What a kernel does, parts of parameters taken together.
    pub(super) fn effects(&mut self, f: FunctionRef) -> KernelEffects {
        let summary = self.summary(f);
        let mut effects = KernelEffects {
            kinds: summary.kinds.clone(),
            ..KernelEffects::default()
        };
        let mut reads: Vec<u16> = summary.reads.iter().map(|a| a.base.param()).collect();
        reads.sort_unstable();
        reads.dedup();
        effects.reads = reads;
        let mut writes = BTreeMap::new();
        let mut pointees = BTreeMap::new();
        for access in &summary.writes {
            let through = if matches!(access.base, Base::Param(..)) {
                &mut writes
            } else {
                &mut pointees
            };
            let write = GuardedWrite {
                param: access.base.param(),
                when: access.when.clone(),
                chain: access.chain.clone(),
            };
            through
                .entry(write.param)
                .and_modify(|w: &mut GuardedWrite| w.when = std::mem::replace(&mut w.when, Condition::True).or(access.when.clone()))
                .or_insert(write);
        }
        let mut unresolved = BTreeMap::new();
        for doubt in &summary.doubts {
            unresolved.entry(doubt.base.param()).or_insert_with(|| doubt.reason.to_string());
        }
        for deferred in &summary.deferred {
            let flow = Flow::new(self, f, summary.kinds.clone());
            let name = flow.param_name(deferred.param);
            for param in deferred.arguments.iter().flat_map(|a| flow.addresses(a)).map(|b| b.param()) {
                unresolved
                    .entry(param)
                    .or_insert_with(|| format!("passed to the function `{name}`"));
            }
        }
        unresolved.retain(|p, _| !writes.contains_key(p));
        effects.writes = writes.into_values().collect();
        effects.pointees = pointees.into_values().collect();
        effects.unresolved = unresolved.into_iter().collect();
        effects
    }
}

/// Packages below `third_party` and the like, each with the folder that holds it.
fn copies<'k>(resolver: &'k Resolver) -> FxHashMap<&'k str, &'k str> {
    let mut found = FxHashMap::default();
    for (folder, home) in resolver.files.iter().filter_map(|file| resolver.modules.vendored(file)) {
        found.entry(home.split('.').next().unwrap_or(home)).or_insert(folder);
    }
    found
}
