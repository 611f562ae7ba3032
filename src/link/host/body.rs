//! One abstract run over a body.

use super::super::conditions::{Binding, Condition, Term, binding_of, condition_of, contradicts};
use super::super::resolve::{Entity, ValueRef};
use super::super::types::{Kind, param_kind};
use super::{Abs, Alias, Context, Effect, Host, Key, Launched, Return, Root, Summary};
use crate::facts::{
    Body, Const, Facts, Function, FunctionKind, GuardId, GuardKind, MODULE, Name, Op, ParamKind, StatementId, StatementKind, ValueId,
};
use crate::knowledge::torch::Attribute;
use crate::program::{FunctionRef, Step};
use crate::source::{Place, Source, Span};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Passes over a body until nothing changes; beyond it the last answer is kept (sets only grow, so this many are never needed in practice).
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
    heap: FxHashMap<(Root, Key), Abs>,
    pub(super) heap_keys: FxHashMap<Root, Vec<Key>>,
    pub(super) changed: bool,
    containers: FxHashSet<(ValueId, u16)>,
    pub(super) effects: Vec<Effect>,
    pub(super) launches: Vec<Launched>,
    pub(super) runs_params: bool,
    frees: FxHashMap<Name, Abs>,
    guards: FxHashMap<GuardId, Condition>,
    /// Hashes of expressions, each computed once.
    fingerprints: std::cell::RefCell<FxHashMap<ValueId, u64>>,
}

/// Runs a body.
pub(super) fn run(host: &Host<'_>, f: FunctionRef, context: &Context) -> Summary {
    let facts = host.resolver.facts(f.file);
    let function = facts.function(f.function);
    let body = &function.body;
    let kinds = (0..function.params.len()).map(|i| refined_kind(host, f, i as u16)).collect();
    let mut run = Run {
        host,
        f,
        facts,
        function,
        body,
        context,
        kinds,
        values: vec![Abs::default(); body.values.len()],
        heap: FxHashMap::default(),
        heap_keys: FxHashMap::default(),
        changed: false,
        containers: FxHashSet::default(),
        effects: Vec::new(),
        launches: Vec::new(),
        runs_params: false,
        frees: FxHashMap::default(),
        guards: FxHashMap::default(),
        fingerprints: std::cell::RefCell::default(),
    };
    for pass in 0..MAX_PASSES {
        run.changed = false;
        run.effects.clear();
        run.launches.clear();
        run.guards.clear();
        for i in 0..body.values.len() {
            let value = run.eval(ValueId(i as u32));
            if value != run.values[i] {
                run.values[i] = value;
                run.changed |= pass > 0;
            }
        }
        let again = if pass == 0 { run.needs_second_pass() } else { run.changed };
        if !again {
            break;
        }
    }
    let returns = run.returns();
    run.launch_by_decorator(&returns);
    Summary {
        effects: run.effects,
        returns,
        launches: run.launches,
        runs_params: run.runs_params,
    }
}

/// The kind of a parameter; without an annotation, use as a tensor tells.
fn refined_kind(host: &Host<'_>, f: FunctionRef, param: u16) -> Kind {
    let kind = param_kind(host.resolver, f, param);
    if kind != Kind::Unknown {
        return kind;
    }
    let body = host.resolver.body(f);
    let used_as_tensor = body.iter().any(|(_, v)| match v.op {
        Op::Attr(object, name) if body.op(object) == Op::Param(param) => {
            let name = host.resolver.text(f.file, name);
            matches!(name, "shape" | "dtype" | "device" | "ndim" | "is_cuda" | "requires_grad")
                || host.knowledge.torch.method(name).is_some() && !is_container_method(name)
        }
        _ => false,
    });
    if used_as_tensor { Kind::Tensor } else { Kind::Unknown }
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

    fn needs_second_pass(&self) -> bool {
        self.changed
            || !self.heap.is_empty()
            || self.body.iter().any(|(id, v)| match v.op {
                Op::Phi(items) => self
                    .body
                    .items(items)
                    .iter()
                    .any(|&i| i > id && !self.values[i.index()].aliases.is_empty()),
                _ => false,
            })
    }

    fn eval(&mut self, v: ValueId) -> Abs {
        let body = self.body;
        match body.op(v) {
            Op::Param(i) => self.param(i),
            Op::Free(name) => self.free(name),
            Op::Const(Const::None) => Abs::none(),
            Op::Const(_) | Op::Undefined | Op::Format(_) | Op::Slice(..) | Op::Function(_) | Op::Class(_) | Op::Exception => Abs::default(),
            Op::Import(_) => self.imported(v),
            Op::Attr(object, name) => self.attribute(object, name),
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

    fn param(&mut self, i: u16) -> Abs {
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
    fn free(&mut self, name: Name) -> Abs {
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
    fn is_plain(&self, v: ValueRef) -> bool {
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

    fn select(&mut self, condition: ValueId, yes: ValueId, no: ValueId) -> Abs {
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

    /// The truth of a value as a condition over the parameters.
    pub(super) fn condition(&self, v: ValueId) -> Condition {
        condition_of(self.facts, self.body, v, &|x| self.leaf(x))
    }

    /// What a value is to a callee's conditions.
    pub(super) fn binding(&self, v: ValueId) -> Binding {
        binding_of(self.facts, self.body, v, &|x| self.leaf(x))
    }

    fn leaf(&self, v: ValueId) -> Binding {
        match self.body.op(v) {
            Op::Param(i) => Binding::Term(Term::Param(i)),
            _ => {
                let abs = self.abs(v);
                if abs.none {
                    return Binding::literal(super::super::conditions::Literal::None);
                }
                if !abs.aliases.is_empty() && abs.aliases.iter().all(|a| a.known && matches!(a.root, Root::Fresh(..))) {
                    return Binding::NotNone;
                }
                Binding::Term(Term::Value(self.fingerprint(v, 40)))
            }
        }
    }

    /// A hash of an expression: equal expressions over equal inputs have the same.
    fn fingerprint(&self, v: ValueId, depth: u32) -> u64 {
        if let Some(&known) = self.fingerprints.borrow().get(&v) {
            return known;
        }
        let mut hasher = FxHasher::default();
        let Some(depth) = depth.checked_sub(1) else {
            (9u8, v).hash(&mut hasher);
            return hasher.finish();
        };
        let op = self.body.op(v);
        let each = |parts: &[ValueId]| parts.iter().map(|&p| self.fingerprint(p, depth)).collect::<Vec<u64>>();
        match op {
            Op::Param(i) => (1u8, i).hash(&mut hasher),
            Op::Const(c) => (2u8, c).hash(&mut hasher),
            Op::Free(name) => (3u8, name).hash(&mut hasher),
            Op::Attr(object, name) => (4u8, name, each(&[object])).hash(&mut hasher),
            Op::Index(a, b) => (5u8, each(&[a, b])).hash(&mut hasher),
            Op::Unary(u, a) => (6u8, u, each(&[a])).hash(&mut hasher),
            Op::Binary(b, x, y) => (7u8, b, each(&[x, y])).hash(&mut hasher),
            Op::Compare(c, x, y) => (8u8, c, each(&[x, y])).hash(&mut hasher),
            Op::And(items) => (10u8, each(self.body.items(items))).hash(&mut hasher),
            Op::Or(items) => (11u8, each(self.body.items(items))).hash(&mut hasher),
            Op::Tuple(items) => (12u8, each(self.body.items(items))).hash(&mut hasher),
            Op::Call(call) if self.is_steady(self.body.call(call).callee) => {
                let call = self.body.call(call);
                let args: Vec<ValueId> = call.args.iter().map(|a| a.value).collect();
                (13u8, each(&[call.callee]), each(&args)).hash(&mut hasher);
            }
            _ => (9u8, v).hash(&mut hasher),
        }
        let hash = hasher.finish();
        self.fingerprints.borrow_mut().insert(v, hash);
        hash
    }

    /// Whether two calls of this callee with the same arguments give the same answer.
    fn is_steady(&self, callee: ValueId) -> bool {
        match self.body.op(callee) {
            Op::Free(name) => matches!(
                self.text(name),
                "len" | "isinstance" | "hasattr" | "bool" | "int" | "max" | "min" | "getattr"
            ),
            Op::Attr(_, name) => {
                let name = self.text(name);
                matches!(
                    name,
                    "numel" | "size" | "stride" | "dim" | "is_contiguous" | "element_size" | "is_floating_point" | "get" | "cdiv"
                )
            }
            _ => false,
        }
    }

    /// The condition under which a value is computed.
    pub(super) fn guard(&mut self, v: ValueId) -> Condition {
        let mut path = vec![self.body.value(v).guard];
        let mut condition = loop {
            let at = *path.last().expect("never empty");
            if let Some(known) = self.guards.get(&at) {
                path.pop();
                break known.clone();
            }
            let parent = self.body.guards[at.index()].parent;
            if parent >= at {
                break Condition::True;
            }
            path.push(parent);
        };
        while let Some(at) = path.pop() {
            let own = match self.body.guards[at.index()].kind {
                GuardKind::Always => Condition::True,
                GuardKind::When(value, true) => self.condition(value),
                GuardKind::When(value, false) => self.condition(value).not(),
                GuardKind::Repeats | GuardKind::Maybe => Condition::Unknown,
            };
            condition = condition.and(own).at_most(super::values::MOST_PARTS);
            self.guards.insert(at, condition.clone());
        }
        condition
    }

    // ---- containers and attributes

    pub(super) fn store(&mut self, root: Root, key: Key, value: Abs) {
        if value.aliases.is_empty() && value.pointees.is_empty() && value.parts.is_none() && !matches!(key, Key::Name(_)) {
            return;
        }
        let keys = self.heap_keys.entry(root.clone()).or_default();
        if !keys.contains(&key) {
            keys.push(key.clone());
            keys.sort();
        }
        let slot = self.heap.entry((root, key)).or_default();
        let next = slot.clone().join(&value.anywhere());
        if next != *slot {
            *slot = next;
            self.changed = true;
        }
    }

    /// What lies at a key of a piece of memory; `None` when nothing was put there in view.
    pub(super) fn load(&self, root: &Root, key: &Key) -> Option<Abs> {
        let at = |k: &Key| self.heap.get(&(root.clone(), k.clone())).cloned();
        if *key == Key::Any {
            let keys = self.heap_keys.get(root)?;
            return keys.iter().filter_map(at).reduce(|a, b| a.join(&b));
        }
        match (at(key), at(&Key::Any)) {
            (Some(a), Some(b)) => Some(a.join(&b)),
            (a, b) => a.or(b),
        }
    }

    pub(super) fn make_container(&mut self, v: ValueId, n: u16) -> Root {
        self.containers.insert((v, n));
        Root::Fresh(v, n)
    }

    fn is_container(&self, root: &Root) -> bool {
        matches!(root, Root::Fresh(v, n) if self.containers.contains(&(*v, *n)))
    }

    /// A value with all that is in it, at any depth.
    pub(super) fn reach(&self, abs: &Abs) -> Abs {
        let mut all = Abs {
            parts: None,
            ..abs.clone()
        };
        let mut seen: Vec<Root> = Vec::new();
        loop {
            let next = all
                .aliases
                .iter()
                .find(|a| matches!(a.root, Root::Fresh(..)) && self.heap_keys.contains_key(&a.root) && !seen.contains(&a.root));
            let Some(root) = next.map(|a| a.root.clone()) else { return all };
            if let Some(inside) = self.load(&root, &Key::Any) {
                all.add_all(&inside);
            }
            seen.push(root);
        }
    }

    fn display(&mut self, v: ValueId, items: &[ValueId], list: bool) -> Abs {
        let mut parts = Vec::with_capacity(items.len());
        let mut known = true;
        let mut all = Abs::default();
        for &item in items {
            let abs = self.abs(item).clone();
            all.add_all(&abs);
            if matches!(self.body.op(item), Op::Star(_)) {
                match &abs.parts {
                    Some(inner) => parts.extend(inner.iter().cloned()),
                    None => known = false,
                }
            } else {
                parts.push(abs);
            }
        }
        if list {
            let root = self.make_container(v, 0);
            all.add(Alias {
                root,
                when: Condition::True,
                maybe: None,
                known: true,
            });
        }
        Abs {
            parts: known.then(|| Arc::new(parts)),
            none: false,
            ..all
        }
    }

    fn dict(&mut self, v: ValueId, items: &[ValueId]) -> Abs {
        let root = self.make_container(v, 0);
        let mut all = Abs::of(root.clone());
        for pair in items.chunks(2) {
            let value = self.abs(pair[1]).clone();
            let key = match self.body.op(pair[0]) {
                Op::Undefined => {
                    self.spread(&root, &value);
                    all.add_all(&value);
                    continue;
                }
                Op::Const(Const::Str(name)) => Key::Name(self.text(name).into()),
                _ => Key::Any,
            };
            all.add_all(&value);
            self.store(root.clone(), key, value);
        }
        all
    }

    /// Copies the entries of dicts into another.
    pub(super) fn spread(&mut self, into: &Root, from: &Abs) {
        for (key, value) in self.entries(from) {
            self.store(into.clone(), key, value);
        }
    }

    /// What was put in view into the containers that a value may be, by key.
    pub(super) fn entries(&self, from: &Abs) -> Vec<(Key, Abs)> {
        let mut entries: std::collections::BTreeMap<Key, Abs> = std::collections::BTreeMap::new();
        for alias in &from.aliases {
            match self.heap_keys.get(&alias.root) {
                Some(keys) => {
                    for key in keys {
                        if let Some(value) = self.heap.get(&(alias.root.clone(), key.clone())) {
                            entries.entry(key.clone()).or_default().add_all(value);
                        }
                    }
                }
                None if alias.root.is_argument() || matches!(alias.root, Root::State(_)) => {
                    entries.entry(Key::Any).or_default().add(alias.clone());
                }
                None => {}
            }
        }
        entries.into_iter().collect()
    }

    /// The containers among the memory that a value may be: what is put into the value goes there. Without one, all of it.
    pub(super) fn container_roots(&self, abs: &Abs) -> Vec<Root> {
        let containers: Vec<Root> = abs
            .aliases
            .iter()
            .map(|a| &a.root)
            .filter(|r| self.is_container(r))
            .cloned()
            .collect();
        if containers.is_empty() {
            abs.aliases.iter().map(|a| a.root.clone()).collect()
        } else {
            containers
        }
    }

    fn attribute(&mut self, object: ValueId, name: Name) -> Abs {
        let abs = self.abs(object).clone();
        let name: Arc<str> = self.text(name).into();
        if abs.aliases.is_empty() {
            return Abs::default();
        }
        let of_tensor = self.host.knowledge.torch.attribute(&name);
        let mut all = Abs::default();
        for alias in &abs.aliases {
            let with = |root: Root| Alias { root, ..alias.clone() };
            let path = self.path_of(&alias.root);
            let object = matches!(alias.root, Root::Param(i) if matches!(self.kinds[i as usize], Kind::Object(_) | Kind::Foreign));
            if let Some(inside) = self.load(&alias.root, &Key::Name(name.clone())) {
                all.add_all(&inside.when(&alias.when));
                if matches!(alias.root, Root::Fresh(..)) {
                    continue;
                }
            }
            match of_tensor {
                Some(Attribute::Scalar) if !object => {}
                Some(Attribute::View) if !object => all.add(alias.clone()),
                _ => match path {
                    Some(path) => all.add(with(Root::below(&path, &format!(".{name}")))),
                    None => all.add(alias.clone()),
                },
            }
        }
        all
    }

    /// The dotted path by which memory outside the function is reached.
    pub(super) fn path_of(&self, root: &Root) -> Option<Arc<str>> {
        match root {
            Root::Param(i) | Root::Part(i, _) => Some(self.text(self.function.params[*i as usize].name).into()),
            Root::State(path) => Some(path.clone()),
            Root::Capture(name) => Some(self.text(*name).into()),
            Root::Fresh(..) => None,
        }
    }

    fn is_tensor(&self, v: ValueId) -> bool {
        let abs = self.abs(v);
        !abs.aliases.is_empty()
            && abs.aliases.iter().all(|a| match &a.root {
                Root::Param(i) => self.kinds[*i as usize] == Kind::Tensor,
                Root::Fresh(v, n) => !self.containers.contains(&(*v, *n)),
                Root::Part(..) | Root::State(_) | Root::Capture(_) => false,
            })
    }

    fn index(&mut self, _v: ValueId, object: ValueId, index: ValueId) -> Abs {
        let key = match self.body.op(index) {
            Op::Const(Const::Int(i)) => {
                if let Some(parts) = &self.abs(object).parts {
                    let at = if i < 0 { parts.len() as i64 + i64::from(i) } else { i.into() };
                    if let Some(part) = usize::try_from(at).ok().and_then(|at| parts.get(at)) {
                        return part.clone();
                    }
                }
                u32::try_from(i).map_or(Key::Any, Key::Index)
            }
            Op::Const(Const::Str(name)) => Key::Name(self.text(name).into()),
            _ => Key::Any,
        };
        // Indexing with a tensor copies; with a tuple that holds one, too.
        if self.picks_by_tensor(index) {
            return Abs::of(Root::Fresh(object, 9));
        }
        let abs = self.abs(object).clone();
        let unsure = !self.abs(index).aliases.is_empty();
        let picked = self.element(&abs, &key);
        if unsure { picked.maybe(self.place(index)) } else { picked }
    }

    fn picks_by_tensor(&self, index: ValueId) -> bool {
        match self.body.op(index) {
            Op::Tuple(items) => self.body.items(items).iter().any(|&i| self.is_tensor(i)),
            _ => self.is_tensor(index),
        }
    }

    /// What lies in a value at a key.
    pub(super) fn element(&self, abs: &Abs, key: &Key) -> Abs {
        if let (Some(parts), Key::Any) = (&abs.parts, key) {
            return parts.iter().cloned().reduce(|a, b| a.join(&b)).unwrap_or_default();
        }
        let mut all = Abs {
            pointees: abs.pointees.clone(),
            ..Abs::default()
        };
        for alias in &abs.aliases {
            match self.load(&alias.root, key) {
                Some(inside) => {
                    all.add_all(&inside.when(&alias.when));
                    if self.is_container(&alias.root) {
                        continue;
                    }
                }
                None if self.is_container(&alias.root) => continue,
                None => {}
            }
            let object = matches!(alias.root, Root::Param(i) if matches!(self.kinds[i as usize], Kind::Object(_) | Kind::Foreign));
            let root = match (&alias.root, key) {
                (Root::State(path), Key::Index(i)) => Root::below(path, &format!("[{i}]")),
                (Root::Param(p), Key::Index(i)) if self.function.params[*p as usize].kind == ParamKind::Star => {
                    Root::Part(*p, Key::Index(*i))
                }
                (Root::Param(p), Key::Name(k)) if self.function.params[*p as usize].kind == ParamKind::StarStar => {
                    Root::Part(*p, Key::Name(k.clone()))
                }
                (root, _) if object => match self.path_of(root) {
                    Some(path) => Root::below(&path, "[]"),
                    None => root.clone(),
                },
                (root, _) => root.clone(),
            };
            all.add(Alias { root, ..alias.clone() });
        }
        all
    }

    fn iterate(&mut self, x: ValueId) -> Abs {
        if let Op::Call(call) = self.body.op(x) {
            let call = self.body.call(call);
            let callee = self.host.resolver.external(self.f, call.callee);
            let each = |run: &Self| {
                call.args
                    .iter()
                    .map(|a| run.element(run.abs(a.value), &Key::Any).anywhere())
                    .collect::<Vec<_>>()
            };
            match callee.as_deref() {
                Some("builtins.zip" | "itertools.zip_longest" | "itertools.product") => return tuple(each(self)),
                Some("builtins.enumerate") => {
                    let mut parts = vec![Abs::default()];
                    parts.extend(each(self).into_iter().take(1));
                    return tuple(parts);
                }
                _ => {}
            }
            if let Op::Attr(object, name) = self.body.op(call.callee)
                && self.text(name) == "items"
            {
                return tuple(vec![Abs::default(), self.element(self.abs(object), &Key::Any).anywhere()]);
            }
        }
        self.element(self.abs(x), &Key::Any).anywhere()
    }

    fn unpack(&mut self, value: ValueId, index: u16, rest: bool) -> Abs {
        let abs = self.abs(value);
        if let Some(parts) = &abs.parts {
            if rest {
                return parts
                    .iter()
                    .skip(index as usize)
                    .cloned()
                    .reduce(|a, b| a.join(&b))
                    .unwrap_or_default();
            }
            if let Some(part) = parts.get(index as usize) {
                return part.clone();
            }
        }
        // Parts of a result that was made as a tuple are told apart.
        if let [
            Alias {
                root: Root::Fresh(v, 0), ..
            },
        ] = abs.aliases.as_slice()
            && !self.containers.contains(&(*v, 0))
        {
            return Abs::of(Root::Fresh(*v, index + 16));
        }
        let key = if rest { Key::Any } else { Key::Index(index.into()) };
        self.element(abs, &key)
    }

    fn arithmetic(&self, v: ValueId, operands: &[ValueId]) -> Abs {
        let mut out = Abs::addresses(operands.iter().map(|&o| self.abs(o)));
        if operands.iter().any(|&o| !self.abs(o).aliases.is_empty()) {
            out.add_all(&Abs::of(Root::Fresh(v, 0)));
        }
        out
    }

    fn binary(&mut self, v: ValueId, op: crate::facts::BinaryOp, a: ValueId, b: ValueId) -> Abs {
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

    fn set_attribute(&mut self, v: ValueId, object: ValueId, name: Name, value: ValueId) -> Abs {
        let name: Arc<str> = self.text(name).into();
        let assigned = self.abs(value).clone();
        for alias in self.abs(object).aliases.clone() {
            let tensor = matches!(alias.root, Root::Param(i) if self.kinds[i as usize] == Kind::Tensor);
            if &*name == "data" && (tensor || !matches!(alias.root, Root::Param(_))) {
                let target = Abs {
                    aliases: vec![alias],
                    ..Abs::default()
                };
                self.write(
                    &target,
                    v,
                    &Condition::True,
                    vec![self.step(v, "its `data` is replaced here".into())],
                    None,
                );
                continue;
            }
            self.store(alias.root, Key::Name(name.clone()), assigned.clone());
        }
        Abs::default()
    }

    fn set_index(&mut self, v: ValueId, object: ValueId, index: ValueId, value: ValueId) -> Abs {
        let assigned = self.abs(value).clone();
        let key = match self.body.op(index) {
            Op::Const(Const::Str(name)) => Key::Name(self.text(name).into()),
            Op::Const(Const::Int(i)) => u32::try_from(i).map_or(Key::Any, Key::Index),
            _ => Key::Any,
        };
        let tensor_like = matches!(
            self.body.op(index),
            Op::Slice(..) | Op::Tuple(_) | Op::Const(Const::Ellipsis | Const::None)
        ) || !self.abs(index).aliases.is_empty();
        for alias in self.abs(object).aliases.clone() {
            let of_dict = matches!(key, Key::Name(_))
                || matches!(alias.root, Root::Param(i) if matches!(self.kinds[i as usize], Kind::Tensors | Kind::Object(_) | Kind::Foreign));
            let uncertain_state = matches!(alias.root, Root::State(_) | Root::Capture(_)) && !tensor_like && !assigned.aliases.is_empty();
            if self.is_container(&alias.root) || (of_dict || uncertain_state) && !tensor_like {
                self.store(alias.root, key.clone(), assigned.clone());
                continue;
            }
            // A table of addresses.
            if !assigned.pointees.is_empty() {
                self.store(alias.root.clone(), Key::Any, Abs::addresses([&assigned]));
            }
            let target = Abs {
                aliases: vec![alias],
                ..Abs::default()
            };
            self.write(&target, v, &Condition::True, vec![self.step(v, "assigned into here".into())], None);
        }
        Abs::default()
    }

    fn augment(&mut self, v: ValueId, target: ValueId, value: ValueId) -> Abs {
        let old = self.abs(target).clone();
        if old.aliases.is_empty() {
            return self.arithmetic(v, &[target, value]);
        }
        let assigned = self.abs(value).clone();
        let mut result = Abs {
            parts: None,
            ..old.clone()
        };
        for alias in &old.aliases {
            if self.is_container(&alias.root) {
                self.store(alias.root.clone(), Key::Any, assigned.clone());
                continue;
            }
            let unsure = match alias.root {
                Root::Param(i) => self.kinds[i as usize] != Kind::Tensor,
                // `self.count += 1`: a number as often as a tensor. What is read from a tensor by index is one.
                Root::State(_) | Root::Capture(_) | Root::Part(..) => !matches!(self.body.op(target), Op::Index(..)),
                Root::Fresh(..) => false,
            };
            if unsure {
                continue;
            }
            let target = Abs {
                aliases: vec![alias.clone()],
                ..Abs::default()
            };
            self.write(
                &target,
                v,
                &Condition::True,
                vec![self.step(v, "changed in place here".into())],
                None,
            );
        }
        result.add_pointees(&assigned);
        result
    }

    pub(super) fn step(&self, v: ValueId, what: String) -> Step {
        Step {
            place: self.place(v),
            what,
        }
    }

    /// Records that all that a value may share is (or may be) written at `v`.
    pub(super) fn write(&mut self, target: &Abs, v: ValueId, when: &Condition, chain: Vec<Step>, unknown: Option<Arc<str>>) {
        if target.aliases.is_empty() {
            return;
        }
        let all = self.reach(target);
        let outside = all.aliases.iter().any(|a| !matches!(a.root, Root::Fresh(..)));
        if !outside {
            return;
        }
        let guard = self.guard(v);
        if *when != Condition::True && contradicts(&[&guard, when]) {
            return;
        }
        for alias in &all.aliases {
            if matches!(alias.root, Root::Fresh(..)) {
                continue;
            }
            if alias.when != Condition::True && contradicts(&[&guard, &alias.when, when]) {
                continue;
            }
            let why = unknown
                .clone()
                .or_else(|| (!alias.known).then(|| "a callee that is not in view may have handed it on".into()));
            let when = match alias.root.is_argument() {
                true => Condition::all([guard.clone(), alias.when.clone(), when.clone()]).at_most(super::values::MOST_PARTS),
                false => Condition::Unknown,
            };
            self.effect(Effect {
                root: alias.root.clone(),
                when,
                maybe: alias.maybe,
                unknown: why,
                chain: chain.clone(),
            });
        }
    }

    pub(super) fn effect(&mut self, effect: Effect) {
        let same = |e: &Effect| {
            e.root == effect.root && e.unknown.is_some() == effect.unknown.is_some() && e.maybe.is_some() == effect.maybe.is_some()
        };
        if let Some(old) = self.effects.iter_mut().find(|e| same(e)) {
            if old.when != effect.when {
                old.when = old.when.clone().or(effect.when).at_most(super::values::MOST_PARTS);
            }
            return;
        }
        self.effects.push(effect);
    }

    // ---- ends

    fn returns(&mut self) -> Vec<Return> {
        let mut all = Vec::new();
        for (id, value) in self.body.iter() {
            if let Op::Return(result) = value.op {
                let when = self.guard(id);
                all.push(Return {
                    span: value.span,
                    value: Some(result),
                    abs: self.abs(result).clone(),
                    when,
                });
            }
        }
        if self.function.kind != FunctionKind::Lambda
            && falls_through(&self.host.resolver.files[self.f.file.index()].source, self.body, &self.body.top)
        {
            let end = Span::at(self.function.body_span.end);
            all.push(Return {
                span: end,
                value: None,
                abs: Abs::none(),
                when: Condition::Unknown,
            });
        }
        all
    }
}

fn tuple(parts: Vec<Abs>) -> Abs {
    let mut all = Abs::default();
    parts.iter().for_each(|p| all.add_all(p));
    Abs {
        parts: Some(Arc::new(parts)),
        ..all
    }
}

/// Whether control may reach the end of a block.
pub(crate) fn falls_through(source: &Source, body: &Body, block: &[StatementId]) -> bool {
    !block.iter().any(|&s| ends(source, body, s))
}

/// Whether control never leaves a statement at its end.
fn ends(source: &Source, body: &Body, s: StatementId) -> bool {
    let statement = &body.statements[s.index()];
    let block_ends = |b: &crate::facts::Block| !falls_through(source, body, &b.statements);
    let opens = |b: &crate::facts::Block, word: &str| source.slice(b.header).starts_with(word);
    match statement.kind {
        StatementKind::Return | StatementKind::Raise | StatementKind::Break | StatementKind::Continue => true,
        StatementKind::If => statement.blocks.last().is_some_and(|b| opens(b, "else")) && statement.blocks.iter().all(block_ends),
        StatementKind::With => statement.blocks.iter().all(block_ends),
        StatementKind::Try => {
            let finally = statement.blocks.iter().any(|b| opens(b, "finally") && block_ends(b));
            let body_ends = statement
                .blocks
                .iter()
                .any(|b| (opens(b, "try") || opens(b, "else")) && block_ends(b));
            finally || body_ends && statement.blocks.iter().filter(|b| opens(b, "except")).all(block_ends)
        }
        StatementKind::While => loops_forever(body, statement),
        StatementKind::Assign
        | StatementKind::Augment
        | StatementKind::Expression
        | StatementKind::Text
        | StatementKind::For
        | StatementKind::Match
        | StatementKind::Assert
        | StatementKind::Import
        | StatementKind::Def
        | StatementKind::Class
        | StatementKind::Delete
        | StatementKind::Scope
        | StatementKind::Pass
        | StatementKind::Type => false,
    }
}

/// `while True:` without a `break` of its own.
fn loops_forever(body: &Body, statement: &crate::facts::Statement) -> bool {
    let endless = (statement.header_values.0.0..statement.header_values.1.0)
        .any(|i| matches!(body.op(ValueId(i)), Op::Const(Const::Bool(true) | Const::Int(1))));
    endless
        && statement.header_values.1.0 - statement.header_values.0.0 <= 64
        && !statement.blocks.iter().any(|b| breaks(body, &b.statements))
}

fn breaks(body: &Body, block: &[StatementId]) -> bool {
    block.iter().any(|&s| {
        let statement = &body.statements[s.index()];
        match statement.kind {
            StatementKind::Break => true,
            StatementKind::For | StatementKind::While => false,
            _ => statement.blocks.iter().any(|b| breaks(body, &b.statements)),
        }
    })
}
