//! What was put where: the insides of containers and objects.

use super::super::conditions::Condition;
use super::body::Run;
use super::{Abs, Alias, Handed, Key, Return, Root};
use crate::facts::{Const, Op, ValueId};
use std::sync::Arc;

/// Beyond this many entries of what a function hands back, a caller does not know which part is which.
const MOST_HANDED: usize = 64;

impl Run<'_, '_> {
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
        let mut next = slot.clone().join(&value.anywhere());
        // Items are not taken apart: what one of them is says nothing of the others.
        next.mixed = false;
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

    pub(super) fn is_container(&self, root: &Root) -> bool {
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
            // What lies at each key matters, not as what: nothing is joined on the way.
            for key in self.heap_keys.get(&root).into_iter().flatten() {
                if let Some(inside) = self.heap.get(&(root.clone(), key.clone())) {
                    all.add_all(inside);
                }
            }
            seen.push(root);
        }
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
                let Some(keys) = self.heap_keys.get(&alias.root).filter(|_| inner) else {
                    continue;
                };
                if roots.contains(&&alias.root) {
                    continue;
                }
                roots.push(&alias.root);
                for key in keys {
                    let Some(inside) = self.heap.get(&(alias.root.clone(), key.clone())) else {
                        continue;
                    };
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
    pub(super) fn held(&self, abs: &Abs) -> Vec<Root> {
        let objects = abs.aliases.iter().map(|a| &a.root);
        let objects = objects.filter(|root| matches!(root, Root::Fresh(..)) && self.heap_keys.contains_key(root));
        let inside = objects.filter_map(|root| self.load(root, &Key::Any));
        let all = inside.flat_map(|inside| self.reach(&inside).aliases);
        all.map(|alias| alias.root).collect()
    }

    /// Whether an object that the body knows of was given this attribute.
    pub(super) fn has_field(&self, abs: &Abs, key: &Key) -> bool {
        let has = |a: &Alias| matches!(a.root, Root::Fresh(..)) && self.load(&a.root, key).is_some();
        abs.aliases.iter().any(has)
    }
}
