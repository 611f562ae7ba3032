//! What was put where: the insides of containers and objects.

use super::body::Run;
use super::values::MOST_ALIASES;
use super::{Abs, Alias, Handed, Key, Return, Root};
use crate::facts::{Const, Op, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Beyond this many entries of what a function hands back, a caller does not know which part is which.
const MOST_HANDED: usize = 64;

/// What was put where, and what was asked of it in this pass: an answer that a later store would change needs another pass.
#[derive(Default)]
pub(super) struct Heap {
    /// By container or object; of one, by key, sorted.
    insides: FxHashMap<Root, Vec<(Key, Abs)>>,
    asked: RefCell<FxHashMap<Root, Asked>>,
    /// Something was put where it had been looked for before.
    pub(super) stale: bool,
    /// What was reached from values, by where in our memory stands what they share, until something is put anywhere. They are kept
    /// too, so that nothing else can stand there.
    reached: RefCell<FxHashMap<usize, (Abs, Abs)>>,
}

/// What was asked of one container or object.
#[derive(Default)]
struct Asked {
    all: bool,
    keys: Vec<Key>,
}

impl Heap {
    pub(super) fn is_empty(&self) -> bool {
        self.insides.is_empty()
    }

    /// A new pass: nothing was asked yet.
    pub(super) fn start(&mut self) {
        self.stale = false;
        self.asked.get_mut().clear();
        self.reached.get_mut().clear();
    }

    /// All that lies in a container or object, sorted by key; `None` when nothing was put there in view.
    pub(super) fn inside(&self, root: &Root) -> Option<&[(Key, Abs)]> {
        self.asked.borrow_mut().entry(root.clone()).or_default().all = true;
        self.insides.get(root).map(Vec::as_slice)
    }

    /// Whether something was put there in view.
    pub(super) fn knows(&self, root: &Root) -> bool {
        self.insides.contains_key(root) || self.inside(root).is_some()
    }

    /// What lies at a key; `None` when nothing was put there in view.
    fn load(&self, root: &Root, key: &Key) -> Option<Abs> {
        if *key == Key::Any {
            return self.inside(root)?.iter().map(|(_, abs)| abs.clone()).reduce(|a, b| a.join(&b));
        }
        let mut asked = self.asked.borrow_mut();
        let asked = asked.entry(root.clone()).or_default();
        if !asked.keys.contains(key) {
            asked.keys.push(key.clone());
        }
        let inside = self.insides.get(root)?;
        let at = |key: &Key| inside.iter().find(|(k, _)| k == key).map(|(_, abs)| abs.clone());
        match (at(key), at(&Key::Any)) {
            (Some(a), Some(b)) => Some(a.join(&b)),
            (a, b) => a.or(b),
        }
    }

    fn store(&mut self, root: Root, key: Key, value: Abs) {
        let is_asked = |asked: &Asked| asked.all || asked.keys.contains(&key) || key == Key::Any && !asked.keys.is_empty();
        let was_asked = self.asked.get_mut().get(&root).is_some_and(is_asked);
        let inside = self.insides.entry(root).or_default();
        match inside.binary_search_by(|(k, _)| k.cmp(&key)) {
            Ok(at) => {
                let slot = &mut inside[at].1;
                let next = Self::joined(slot.clone(), &value);
                if next != *slot {
                    *slot = next;
                    self.stale |= was_asked;
                    self.reached.get_mut().clear();
                }
            }
            Err(at) => {
                inside.insert(at, (key, Self::joined(Abs::default(), &value)));
                self.stale |= was_asked;
                self.reached.get_mut().clear();
            }
        }
    }

    /// Items are not taken apart: what one of them is says nothing of the others.
    fn joined(slot: Abs, value: &Abs) -> Abs {
        Abs {
            mixed: false,
            ..slot.join(value)
        }
    }
}

impl Run<'_, '_> {
    pub(super) fn store(&mut self, root: Root, key: Key, value: Abs) {
        if value.aliases.is_empty() && value.pointees.is_empty() && value.parts.is_none() && !matches!(key, Key::Name(_)) {
            return;
        }
        self.heap.store(root, key, value.anywhere());
    }

    /// What lies at a key of a piece of memory; `None` when nothing was put there in view.
    pub(super) fn load(&self, root: &Root, key: &Key) -> Option<Abs> {
        self.heap.load(root, key)
    }

    pub(super) fn make_container(&mut self, v: ValueId, n: u16) -> Root {
        self.containers.insert((v, n));
        Root::Fresh(v, n)
    }

    pub(super) fn is_container(&self, root: &Root) -> bool {
        matches!(root, Root::Fresh(v, n) if self.containers.contains(&(*v, *n)))
    }

    /// A value with all that is in it, at any depth. What only something out of view may have taken from there is as unknown as that.
    pub(super) fn reach(&self, abs: &Abs) -> Abs {
        let own = Abs {
            parts: None,
            ..abs.clone()
        };
        if abs.objects().next().is_none() {
            return own;
        }
        let at = abs.aliases.as_ptr() as usize;
        let known = self.heap.reached.borrow().get(&at).map(|(_, reached)| reached.clone());
        let reached = known.unwrap_or_else(|| {
            let reached = self.reach_all(abs);
            self.heap.reached.borrow_mut().insert(at, (abs.clone(), reached.clone()));
            reached
        });
        let mut all = Abs {
            aliases: reached.aliases.clone(),
            none: own.none && reached.none,
            ..own
        };
        all.add_pointees(&reached);
        all
    }

    /// What lies in what a value may share, and that itself.
    fn reach_all(&self, abs: &Abs) -> Abs {
        let mut all = Abs {
            aliases: abs.aliases.clone(),
            none: true,
            ..Abs::default()
        };
        // First what is known to be there.
        let mut next: [BTreeSet<&Root>; 2] = [abs.objects_if(true).collect(), abs.objects_if(false).collect()];
        let mut seen: FxHashSet<&Root> = FxHashSet::default();
        for known in [true, false] {
            while let Some(root) = next[usize::from(!known)].pop_first() {
                if !seen.insert(root) {
                    continue;
                }
                // What lies at each key matters, not as what: nothing is joined on the way.
                for (_, inside) in self.heap.inside(root).unwrap_or_default() {
                    if known {
                        all.add_all(inside);
                        next[0].extend(inside.objects_if(true));
                    } else {
                        all.add_all(&inside.clone().unknown());
                        next[1].extend(inside.objects_if(true));
                    }
                    next[1].extend(inside.objects_if(false));
                }
            }
        }
        all
    }

    pub(super) fn display(&mut self, v: ValueId, items: &[ValueId], list: bool) -> Abs {
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
            all.add(Alias::of(root));
        }
        Abs {
            parts: known.then(|| Arc::new(parts)),
            none: false,
            ..all
        }
    }

    pub(super) fn dict(&mut self, v: ValueId, items: &[ValueId]) -> Abs {
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
            match self.heap.inside(&alias.root) {
                Some(inside) => {
                    for (key, value) in inside {
                        entries.entry(key.clone()).or_default().add_all(value);
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

    /// The insides of the containers and objects that a body made and hands back; of an `__init__`, those of `self`.
    pub(super) fn handed(&self, returns: &[Return]) -> Vec<Handed> {
        if self.heap.is_empty() {
            return Vec::new();
        }
        let is_init = self.text(self.function.name) == "__init__";
        let own = Abs::of(Root::Param(0));
        let mut roots: Vec<&Root> = Vec::new();
        let mut queue: Vec<&Abs> = returns.iter().map(|r| &r.abs).collect();
        queue.extend(is_init.then_some(&own));
        let mut found = Vec::new();
        while let Some(abs) = queue.pop() {
            queue.extend(abs.parts.iter().flat_map(|parts| parts.iter()));
            for alias in &abs.aliases {
                let inner = matches!(alias.root, Root::Fresh(..)) || is_init && alias.root == Root::Param(0);
                let Some(entries) = self.heap.inside(&alias.root).filter(|_| inner) else {
                    continue;
                };
                if roots.contains(&&alias.root) {
                    continue;
                }
                roots.push(&alias.root);
                for (key, inside) in entries {
                    queue.push(inside);
                    found.push((&alias.root, key, inside));
                }
                if found.len() > MOST_HANDED {
                    return Vec::new();
                }
            }
        }
        found.sort_by_key(|(root, key, _)| (*root, *key));
        let own = |(root, key, abs): (&Root, &Key, &Abs)| Handed {
            root: root.clone(),
            key: key.clone(),
            abs: abs.clone(),
        };
        found.into_iter().map(own).collect()
    }

    /// Memory that a value shares only because a container or object among what it may be holds it.
    pub(super) fn held<'x>(&'x self, abs: &'x Abs) -> Held<'x> {
        let mut roots = FxHashSet::default();
        let mut open: Vec<&[(Key, Abs)]> = abs.objects().filter_map(|root| self.heap.inside(root)).collect();
        while let Some(entries) = open.pop() {
            for alias in entries.iter().flat_map(|(_, inside)| &inside.aliases) {
                if roots.insert(&alias.root) && alias.root.is_object() {
                    open.extend(self.heap.inside(&alias.root));
                }
            }
        }
        Held { roots }
    }

    /// Whether an object that the body knows of was given this attribute.
    pub(super) fn has_field(&self, abs: &Abs, key: &Key) -> bool {
        abs.objects().any(|root| self.load(root, key).is_some())
    }
}

/// What the containers and objects among what a value may be hold.
pub(super) struct Held<'x> {
    roots: FxHashSet<&'x Root>,
}

impl Held<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    /// Whether it is held: itself, or much else that it stands for in short.
    pub(super) fn has(&self, root: &Root) -> bool {
        self.roots.contains(root) || self.roots.len() > MOST_ALIASES && self.roots.iter().any(|held| root.stands_for(held))
    }
}
