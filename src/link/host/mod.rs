//! Mutation and aliasing of host functions (DESIGN §3.2–3.7).
//!
//! One abstract run per body over its gated SSA: whose memory may each value share, and which of that is written.
//! Callees are summarised first, on demand; a recursive knot is run until its summary stays.

mod access;
mod apply;
mod arguments;
mod body;
mod calls;
mod ends;
mod guards;
mod kept;
mod launch;
mod memory;
mod methods;
mod objects;
mod outside;
mod values;
mod writes;

pub(crate) use values::{Abs, Alias, Key, Root};

use super::conditions::Condition;
use super::kernels::KernelEffects;
use super::registry::Registry;
use super::resolve::Resolver;
use crate::facts::{CallId, FunctionKind, ValueId};
use crate::knowledge::Knowledge;
use crate::program::{FunctionRef, Memory, Step};
use crate::source::{Place, Span};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

/// Something that a call of a function may do to memory that the caller knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    /// Whose memory is written.
    pub(crate) root: Root,
    /// When.
    pub(crate) when: Condition,
    /// The write goes through a value that may be a copy.
    pub(crate) maybe: Option<Place>,
    /// Why it cannot be known, if so; else it is written.
    pub(crate) unknown: Option<Arc<str>>,
    /// From the store outward.
    pub(crate) chain: Vec<Step>,
}

/// One way a function ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Return {
    /// The statement; empty at the end of the body.
    pub(crate) span: Span,
    /// The value.
    pub(crate) value: Option<ValueId>,
    /// What it may share.
    pub(crate) abs: Abs,
    /// When.
    pub(crate) when: Condition,
}

/// What lies at a key of a container or object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Handed {
    /// The container.
    pub(crate) root: Root,
    /// The key.
    pub(crate) key: Key,
    /// What lies there.
    pub(crate) abs: Abs,
}

/// A launch as the analysis saw it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Launched {
    /// The call in the analysed body.
    pub(crate) call: Option<CallId>,
    /// Its value.
    pub(crate) value: Option<ValueId>,
    /// The call, or the decorator.
    pub(crate) span: Span,
    /// The kernels; empty when they cannot be known.
    pub(crate) kernels: Vec<FunctionRef>,
    /// The function that really launches.
    pub(crate) via: Option<FunctionRef>,
}

/// What calling a function does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Effects on memory that is not the function's own; one per root, maybe-ness and certainty.
    pub(crate) effects: Vec<Effect>,
    /// How it ends.
    pub(crate) returns: Vec<Return>,
    /// What lies in the containers and objects of its own that it hands back.
    pub(crate) handed: Vec<Handed>,
    /// Launches in its body, in order, those in callees that it hands a kernel to included.
    pub(crate) launches: Vec<Launched>,
    /// It calls or launches a parameter: a caller that knows the argument sees more.
    pub(crate) runs_params: bool,
}

/// What a caller knows of the arguments of a function that calls or launches them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Context {
    /// Functions (kernels) passed for parameters.
    pub(crate) functions: BTreeMap<u16, Vec<FunctionRef>>,
    /// Number of arguments that `*args` takes.
    pub(crate) stars: Option<u16>,
    /// Names that `**kwargs` takes.
    pub(crate) keywords: Option<Vec<Arc<str>>>,
}

/// Calls are followed this deep; what lies below is unknown.
const MAX_CALL_DEPTH: usize = 12;
/// Contexts inside contexts, at most.
const MAX_CONTEXTS: usize = 3;
/// Bodies with more values than this are not run: their parameters are unknown.
const MAX_VALUES: usize = 60_000;

/// All that the host analysis asks.
pub(crate) struct Host<'a> {
    pub(crate) resolver: &'a Resolver<'a>,
    pub(crate) knowledge: &'a Knowledge,
    pub(crate) kernels: &'a FxHashMap<FunctionRef, KernelEffects>,
    pub(crate) registry: &'a Registry,
    memo: RwLock<FxHashMap<(FunctionRef, Context), Arc<Summary>>>,
    /// What the last run of a body that launches saw of memory.
    memories: RwLock<FxHashMap<FunctionRef, Memory>>,
}

thread_local! {
    /// The calls being summarised on this thread, each with the summary assumed for it so far and whether it was asked for.
    static RUNNING: RefCell<Vec<Running>> = const { RefCell::new(Vec::new()) };
    /// Summaries inside a recursive knot whose outermost call is still running, with the lowest index on the stack that
    /// they lean on: good until that call is run again.
    static LEANING: RefCell<FxHashMap<Asked, (Arc<Summary>, usize)>> = RefCell::default();
}

/// A function as some call sees it.
type Asked = (FunctionRef, Context);

struct Running {
    key: Asked,
    assumed: Arc<Summary>,
    asked: bool,
    /// Lowest index on the stack whose assumption this run used.
    reaches: usize,
}

impl<'a> Host<'a> {
    /// An analysis without any summary yet.
    pub(crate) fn new(
        resolver: &'a Resolver<'a>,
        knowledge: &'a Knowledge,
        kernels: &'a FxHashMap<FunctionRef, KernelEffects>,
        registry: &'a Registry,
    ) -> Self {
        Self {
            resolver,
            knowledge,
            kernels,
            registry,
            memo: RwLock::default(),
            memories: RwLock::default(),
        }
    }

    /// What calling a function does, whatever the arguments.
    pub(crate) fn summary(&self, f: FunctionRef) -> Option<Arc<Summary>> {
        self.summary_in(f, Context::default())
    }

    /// What calling a function does, given what the caller knows. `None`: too deep, too large, or no body.
    pub(crate) fn summary_in(&self, f: FunctionRef, context: Context) -> Option<Arc<Summary>> {
        let function = self.resolver.function(f);
        if function.body.values.len() > MAX_VALUES || matches!(function.kind, FunctionKind::Module | FunctionKind::Class) {
            return None;
        }
        let key = (f, context);
        if let Some(known) = self.memo.read().expect("no panic while locked").get(&key) {
            return Some(known.clone());
        }
        let again = RUNNING.with_borrow_mut(|running| {
            let at = running.iter().position(|r| r.key == key)?;
            running[at].asked = true;
            let last = running.last_mut().expect("at least the one found");
            last.reaches = last.reaches.min(at);
            Some(running[at].assumed.clone())
        });
        if again.is_some() {
            return again;
        }
        if let Some((summary, reaches)) = LEANING.with_borrow(|l| l.get(&key).cloned()) {
            RUNNING.with_borrow_mut(|r| {
                if let Some(last) = r.last_mut() {
                    last.reaches = last.reaches.min(reaches);
                }
            });
            return Some(summary);
        }
        // A function that is running already is not run in another context: each round could make a new one.
        let nested = |r: &Vec<Running>| {
            r.iter().filter(|r| r.key.1 != Context::default()).count() >= MAX_CONTEXTS || r.iter().any(|r| r.key.0 == key.0)
        };
        if key.1 != Context::default() && RUNNING.with_borrow(nested) {
            return None;
        }
        let depth = RUNNING.with_borrow(Vec::len);
        if depth >= MAX_CALL_DEPTH {
            return None;
        }
        let mut assumed = Arc::new(Summary::default());
        for _round in 0..4 {
            RUNNING.with_borrow_mut(|r| {
                r.push(Running {
                    key: key.clone(),
                    assumed: assumed.clone(),
                    asked: false,
                    reaches: depth,
                })
            });
            let summary = Arc::new(body::run(self, key.0, &key.1));
            let done = RUNNING.with_borrow_mut(|r| r.pop()).expect("pushed above");
            let stable = !done.asked || summary == assumed;
            assumed = summary;
            let inner = done.reaches < depth;
            if inner {
                RUNNING.with_borrow_mut(|r| {
                    if let Some(last) = r.last_mut() {
                        last.reaches = last.reaches.min(done.reaches);
                    }
                });
            }
            if stable || inner {
                // A part of a larger knot is not final: its outermost call is run again and asks anew.
                if inner {
                    LEANING.with_borrow_mut(|l| l.insert(key, (assumed.clone(), done.reaches)));
                } else {
                    LEANING.with_borrow_mut(|l| l.retain(|_, (_, reaches)| *reaches < depth));
                    self.memo.write().expect("no panic while locked").insert(key, assumed.clone());
                }
                return Some(assumed);
            }
            LEANING.with_borrow_mut(|l| l.retain(|_, (_, reaches)| *reaches < depth));
        }
        self.memo.write().expect("no panic while locked").insert(key, assumed.clone());
        Some(assumed)
    }

    /// Takes out what the last run of a function that launches saw of memory.
    pub(crate) fn take_memory(&self, f: FunctionRef) -> Memory {
        self.memories.write().expect("no panic while locked").remove(&f).unwrap_or_default()
    }

    fn keep_memory(&self, f: FunctionRef, memory: Memory) {
        self.memories.write().expect("no panic while locked").insert(f, memory);
    }

    /// Whether a function is a kernel or device function.
    pub(crate) fn is_kernel(&self, f: FunctionRef) -> bool {
        self.kernels.contains_key(&f)
    }

    /// The kernels among what a value refers to.
    pub(crate) fn kernels_of(&self, at: FunctionRef, value: ValueId) -> Vec<FunctionRef> {
        let mut found = self.resolver.functions(at, value);
        found.retain(|f| self.is_kernel(*f));
        found
    }
}
