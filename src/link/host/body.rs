//! One abstract run over a body.

use super::super::conditions::Condition;
use super::super::resolve::{Entity, ValueRef};
use super::super::types::{Kind, param_kind};
use super::kept::Touched;
use super::memory::Heap;
use super::{Abs, Context, Effect, Host, Key, Launched, Root, Summary};
use crate::facts::{Body, Const, Facts, Function, FunctionKind, GuardId, MODULE, Name, Op, ParamKind, ValueId};
use crate::program::FunctionRef;
use crate::source::Place;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Passes over a body until nothing that was read changes afterwards; beyond it the last answer is kept (sets only grow, so this many
/// are never needed in practice).
const MAX_PASSES: usize = 8;

/// The state of one run.
pub(super) struct Run<'h, 'a> {
    pub(super) host: &'h Host<'a>,
    pub(super) f: FunctionRef,
    pub(super) facts: &'a Facts,
    pub(super) function: &'a Function,
    pub(super) body: &'a Body,
    pub(super) context: &'h Context,
    pub(super) kinds: Vec<Kind>,
    pub(super) values: Vec<Abs>,
    pub(super) heap: Heap,
    /// Values that were read in this pass before they were evaluated in it.
    pub(super) read_early: FxHashSet<ValueId>,
    pub(super) containers: FxHashSet<(ValueId, u16)>,
    pub(super) effects: Vec<Effect>,
    pub(super) launches: Vec<Launched>,
    pub(super) touched: Vec<Touched>,
    pub(super) runs_params: bool,
    pub(super) frees: FxHashMap<Name, Abs>,
    pub(super) guards: FxHashMap<GuardId, Condition>,
    /// Hashes of expressions, each computed once.
    pub(super) fingerprints: std::cell::RefCell<FxHashMap<ValueId, u64>>,
}

/// Runs a body.
pub(super) fn run(host: &Host<'_>, f: FunctionRef, context: &Context) -> Summary {
    let facts = host.resolver.facts(f.file);
    let function = facts.function(f.function);
    let body = &function.body;
    let kinds = refined_kinds(host, f);
    let mut run = Run {
        host,
        f,
        facts,
        function,
        body,
        context,
        kinds,
        values: vec![Abs::default(); body.values.len()],
        heap: Heap::default(),
        read_early: FxHashSet::default(),
        containers: FxHashSet::default(),
        effects: Vec::new(),
        launches: Vec::new(),
        touched: Vec::new(),
        runs_params: false,
        frees: FxHashMap::default(),
        guards: FxHashMap::default(),
        fingerprints: std::cell::RefCell::default(),
    };
    let mut stale = true;
    for _pass in 0..MAX_PASSES {
        if !std::mem::take(&mut stale) {
            break;
        }
        run.heap.start();
        run.read_early.clear();
        run.effects.clear();
        run.launches.clear();
        run.touched.clear();
        run.guards.clear();
        for i in 0..body.values.len() {
            let v = ValueId(i as u32);
            let value = run.eval(v);
            if value != run.values[i] {
                run.values[i] = value;
                stale |= run.read_early.contains(&v);
            }
        }
        stale |= run.heap.stale;
    }
    let mut returns = run.returns();
    if run.launch_by_decorator(&returns) {
        // What it returns is the decorator's to launch, not its caller's to have.
        returns.iter_mut().for_each(|r| r.abs = std::mem::take(&mut r.abs).unknown());
    }
    run.keep_memory();
    Summary {
        handed: run.handed(&returns),
        effects: run.effects,
        returns,
        launches: run.launches,
        runs_params: run.runs_params,
    }
}

/// The kinds of the parameters; without an annotation, use as a tensor tells.
fn refined_kinds(host: &Host<'_>, f: FunctionRef) -> Vec<Kind> {
    let params = host.resolver.function(f).params.len();
    let mut kinds: Vec<Kind> = (0..params).map(|i| param_kind(host.resolver, f, i as u16)).collect();
    if !kinds.contains(&Kind::Unknown) {
        return kinds;
    }
    let body = host.resolver.body(f);
    let of_tensor = |name: Name| {
        let name = host.resolver.text(f.file, name);
        matches!(name, "shape" | "dtype" | "device" | "ndim" | "is_cuda" | "requires_grad")
            || host.knowledge.torch.method(name).is_some() && !is_container_method(name)
    };
    for (_, value) in body.iter() {
        if let Op::Attr(object, name) = value.op
            && let Op::Param(i) = body.op(object)
            && kinds[i as usize] == Kind::Unknown
            && of_tensor(name)
        {
            kinds[i as usize] = Kind::Tensor;
        }
    }
    kinds
}

/// Methods that lists, dicts, sets and strings have too.
pub(super) fn is_container_method(name: &str) -> bool {
    matches!(
        name,
        "append"
            | "extend"
            | "insert"
            | "pop"
            | "remove"
            | "clear"
            | "update"
            | "setdefault"
            | "add"
            | "get"
            | "items"
            | "keys"
            | "values"
            | "copy"
            | "index"
            | "count"
            | "sort"
            | "reverse"
            | "split"
            | "join"
            | "format"
            | "replace"
            | "strip"
            | "lower"
            | "upper"
    )
}

impl Run<'_, '_> {
    pub(super) fn place(&self, v: ValueId) -> Place {
        Place {
            file: self.f.file,
            span: self.body.value(v).span,
        }
    }

    pub(super) fn text(&self, name: Name) -> &str {
        self.facts.name(name)
    }

    pub(super) fn abs(&self, v: ValueId) -> &Abs {
        &self.values[v.index()]
    }

    pub(super) fn eval(&mut self, v: ValueId) -> Abs {
        let body = self.body;
        match body.op(v) {
            Op::Param(i) => self.param(i),
            Op::Free(name) => self.free(name),
            Op::Const(Const::None) => Abs::none(),
            Op::Const(_) | Op::Undefined | Op::Format(_) | Op::Slice(..) | Op::Function(_) | Op::Class(_) | Op::Exception => Abs::default(),
            Op::Import(_) => self.imported(v),
            Op::Attr(object, name) => self.attribute(v, object, name),
            Op::Index(object, index) => self.index(v, object, index),
            Op::Tuple(items) => self.display(v, body.items(items), false),
            Op::List(items) | Op::Set(items) => self.display(v, body.items(items), true),
            Op::Dict(items) => self.dict(v, body.items(items)),
            Op::Collect(_, element) => {
                let mut all = Abs::of(Root::Fresh(v, 0));
                self.containers.insert((v, 0));
                all.add_all(&self.abs(element).clone().anywhere());
                all
            }
            Op::Star(x) | Op::Suspend(x) | Op::Annotated(_, x) => self.abs(x).clone(),
            Op::Unary(crate::facts::UnaryOp::Not, _) => Abs::default(),
            Op::Unary(_, x) => self.arithmetic(v, &[x]),
            Op::Binary(op, a, b) => self.binary(v, op, a, b),
            Op::Compare(op, a, b) => {
                use crate::facts::CompareOp::{In, Is, IsNot, NotIn};
                if matches!(op, Is | IsNot | In | NotIn) {
                    Abs::default()
                } else {
                    self.arithmetic(v, &[a, b])
                }
            }
            Op::And(items) | Op::Or(items) | Op::Phi(items) => {
                let mut all: Option<Abs> = None;
                for &item in body.items(items) {
                    if matches!(body.op(item), Op::Undefined) {
                        continue;
                    }
                    if item >= v {
                        self.read_early.insert(item);
                    }
                    let next = self.abs(item).clone().anywhere();
                    all = Some(match all {
                        Some(a) => a.join(&next),
                        None => next,
                    });
                }
                all.unwrap_or_default()
            }
            Op::Select(condition, yes, no) => self.select(condition, yes, no),
            Op::Call(call) => self.call(v, call),
            Op::Iterate(x) => self.iterate(x),
            Op::Unpack { value, index, rest } => self.unpack(value, index, rest),
            Op::Enter(x) => self.abs(x).clone().anywhere(),
            Op::SetAttr(object, name, value) => self.set_attribute(v, object, name, value),
            Op::SetIndex(object, index, value) => self.set_index(v, object, index, value),
            Op::Augment(_, target, value) => self.augment(v, target, value),
            Op::SetOuter(..) | Op::Delete(_) | Op::Return(_) | Op::Raise | Op::Assert(_) => Abs::default(),
        }
    }

    pub(super) fn param(&mut self, i: u16) -> Abs {
        let param = &self.function.params[i as usize];
        if self.kinds[i as usize] == Kind::Scalar {
            return Abs::default();
        }
        match param.kind {
            ParamKind::Star => match self.context.stars {
                Some(n) => {
                    let parts: Vec<Abs> = (0..n).map(|k| Abs::of(Root::Part(i, Key::Index(k.into())))).collect();
                    let mut all = Abs::default();
                    parts.iter().for_each(|p| all.add_all(p));
                    Abs {
                        parts: Some(Arc::new(parts)),
                        ..all
                    }
                }
                None => Abs::of(Root::Param(i)),
            },
            ParamKind::StarStar => {
                if let Some(keywords) = &self.context.keywords {
                    for k in keywords.clone() {
                        self.store(Root::Param(i), Key::Name(k.clone()), Abs::of(Root::Part(i, Key::Name(k))));
                    }
                }
                Abs::of(Root::Param(i))
            }
            ParamKind::PositionalOnly | ParamKind::Positional | ParamKind::KeywordOnly => Abs::of(Root::Param(i)),
        }
    }

    /// A name that the body does not bind.
    pub(super) fn free(&mut self, name: Name) -> Abs {
        if let Some(known) = self.frees.get(&name) {
            return known.clone();
        }
        let abs = self.free_uncached(name);
        self.frees.insert(name, abs.clone());
        abs
    }

    fn free_uncached(&self, name: Name) -> Abs {
        let mut scope = self.f.function;
        let mut captured = false;
        while scope != MODULE {
            scope = self.facts.function(scope).parent;
            let f = self.facts.function(scope);
            if scope == MODULE || f.kind == FunctionKind::Class {
                continue;
            }
            if f.param(name).is_some() || f.assigned.binary_search_by_key(&name, |a| a.0).is_ok() {
                captured = true;
                break;
            }
        }
        let text = self.text(name);
        let Some(free) = self.body.iter().find(|(_, v)| v.op == Op::Free(name)).map(|(id, _)| id) else {
            return Abs::default();
        };
        let entities = self.host.resolver.entities(self.f, free);
        let named = |e: &Entity| {
            matches!(
                e,
                Entity::External(_) | Entity::Module(_) | Entity::Namespace(_) | Entity::Function(_) | Entity::Bound(_) | Entity::Class(_)
            )
        };
        if entities.iter().all(named) {
            return Abs::default();
        }
        if entities
            .iter()
            .all(|e| named(e) || matches!(e, Entity::Value(v) if self.is_plain(*v)))
        {
            return Abs::default();
        }
        if captured {
            Abs::of(Root::Capture(name))
        } else {
            Abs::of(Root::State(text.into()))
        }
    }

    /// A module-level tensor imported by name.
    fn imported(&self, v: ValueId) -> Abs {
        let plain = self.host.resolver.entities(self.f, v).iter().all(|e| match e {
            Entity::Value(x) => self.is_plain(*x),
            Entity::Instance(_) | Entity::Made(..) => false,
            _ => true,
        });
        if plain {
            Abs::default()
        } else {
            Abs::of(Root::State(self.host.resolver.text(self.f.file, self.import_name(v)).into()))
        }
    }

    fn import_name(&self, v: ValueId) -> Name {
        match self.body.op(v) {
            Op::Import(id) => self.facts.imports[id.index()].bound,
            _ => Name(0),
        }
    }

    /// Whether a value is surely no tensor and holds none: literals and what is computed from them.
    pub(super) fn is_plain(&self, v: ValueRef) -> bool {
        let body = self.host.resolver.body(v.at);
        match body.op(v.value) {
            Op::Const(_) | Op::Format(_) | Op::Function(_) | Op::Class(_) | Op::Exception | Op::Compare(..) => true,
            Op::Unary(_, x) => self.is_plain(ValueRef { at: v.at, value: x }),
            Op::Binary(_, a, b) => self.is_plain(ValueRef { at: v.at, value: a }) && self.is_plain(ValueRef { at: v.at, value: b }),
            Op::Tuple(items) => body.items(items).iter().all(|&i| self.is_plain(ValueRef { at: v.at, value: i })),
            Op::Free(_) => true,
            _ => false,
        }
    }

    pub(super) fn select(&mut self, condition: ValueId, yes: ValueId, no: ValueId) -> Abs {
        let (y, n) = (self.abs(yes), self.abs(no));
        if y.aliases.is_empty() && n.aliases.is_empty() && y.parts.is_none() && n.parts.is_none() {
            return Abs {
                none: y.none && n.none,
                pointees: Abs::addresses([y, n]).pointees,
                ..Abs::default()
            };
        }
        let holds = self.condition(condition);
        match holds.value() {
            Some(true) => return self.abs(yes).clone(),
            Some(false) => return self.abs(no).clone(),
            None => {}
        }
        let y = self.abs(yes).clone().when(&holds);
        y.join(&self.abs(no).clone().when(&holds.not()))
    }

    // ---- containers and attributes

    pub(super) fn arithmetic(&self, v: ValueId, operands: &[ValueId]) -> Abs {
        let mut out = Abs::addresses(operands.iter().map(|&o| self.abs(o)));
        if operands.iter().any(|&o| !self.abs(o).aliases.is_empty()) {
            out.add_all(&Abs::of(Root::Fresh(v, 0)));
        }
        out
    }

    pub(super) fn binary(&mut self, v: ValueId, op: crate::facts::BinaryOp, a: ValueId, b: ValueId) -> Abs {
        use crate::facts::BinaryOp::{Add, BitOr, Mul};
        let container = |run: &Self, x: ValueId| {
            let abs = run.abs(x);
            abs.parts.is_some()
                || abs
                    .aliases
                    .iter()
                    .any(|a| run.is_container(&a.root) || matches!(a.root, Root::Param(i) if run.kinds[i as usize] == Kind::Tensors))
        };
        if !matches!(op, Add | BitOr | Mul) || !(container(self, a) || container(self, b)) {
            return self.arithmetic(v, &[a, b]);
        }
        let (x, y) = (self.abs(a).clone(), self.abs(b).clone());
        let parts = match (&x.parts, &y.parts) {
            (Some(p), Some(q)) if op == Add => Some(Arc::new(p.iter().chain(q.iter()).cloned().collect::<Vec<_>>())),
            _ => None,
        };
        let mut all = x;
        all.add_all(&y);
        all.parts = parts;
        all
    }

    // ---- writes in the body itself

    // ---- ends
}
