//! The host side's abstract values: whose memory a value may share.

use super::super::conditions::{Condition, contradicts};
use crate::facts::{Name, ValueId};
use crate::source::Place;
use std::cmp::Ordering;
use std::ops::Deref;
use std::sync::Arc;

/// A piece of memory, named by where a function gets it from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Root {
    /// What a parameter held at entry; for a list of tensors, any of them.
    Param(u16),
    /// One argument of a `*args` or `**kwargs` parameter.
    Part(u16, Key),
    /// What is reached through an object or a global: a dotted path.
    State(Arc<str>),
    /// A variable of the enclosing function.
    Capture(Name),
    /// Made in this call of the function, at this value; the number tells the results of one call apart.
    Fresh(ValueId, u16),
}

/// A place in a container or object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Key {
    /// A position.
    Index(u32),
    /// An attribute or a string key.
    Name(Arc<str>),
    /// Any.
    Any,
}

impl Key {
    /// Where what an object was made with may lie, if it keeps it: under no name that is known.
    pub(crate) fn somewhere() -> Self {
        Self::Name("".into())
    }
}

/// Conditions of aliases and effects with more parts than this are given up.
pub(super) const MOST_PARTS: usize = 12;
/// A value that may share more pieces of memory than this is described in short.
pub(super) const MOST_ALIASES: usize = 32;
/// Paths through objects have at most this many parts; what lies deeper is the last part's.
const MOST_PATH_PARTS: usize = 5;

impl Root {
    /// Whether it matters when memory is shared: it does for what a caller hands over, not for state and fresh memory.
    pub(super) fn is_argument(&self) -> bool {
        matches!(self, Self::Param(_) | Self::Part(..) | Self::Capture(_))
    }

    /// Whether the body made it: a tensor, a container or an object.
    pub(super) fn is_object(&self) -> bool {
        matches!(self, Self::Fresh(..))
    }

    /// All that is reached through the object at the head of a path, as one piece of memory.
    fn in_short(&self) -> Option<Self> {
        let Self::State(path) = self else { return None };
        let head = &path[..path.find(['.', '[']).unwrap_or(path.len())];
        Some(Self::State(format!("{head}.*").into()))
    }

    /// Whether it stands for another piece of memory: for all that is reached through one object.
    pub(super) fn stands_for(&self, other: &Self) -> bool {
        let (Self::State(short), Self::State(path)) = (self, other) else {
            return false;
        };
        let rest = short.strip_suffix(".*").and_then(|head| path.strip_prefix(head));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }

    /// What is reached by one more step (`.name`, `[0]`) on a path.
    pub(super) fn below(path: &str, step: &str) -> Self {
        let parts = path.matches(['.', '[']).count();
        if parts >= MOST_PATH_PARTS || path.ends_with('*') {
            Self::State(path.into())
        } else {
            Self::State(format!("{path}{step}").into())
        }
    }
}

/// Memory that a value may share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Alias {
    /// Whose.
    pub(crate) root: Root,
    /// On which paths.
    pub(crate) when: Condition,
    /// The value may be a copy instead, made here.
    pub(crate) maybe: Option<Place>,
    /// False: a callee that is not in view may have handed it on.
    pub(crate) known: bool,
}

impl Alias {
    /// Memory that is surely shared.
    pub(crate) fn of(root: Root) -> Self {
        Self {
            root,
            when: Condition::True,
            maybe: None,
            known: true,
        }
    }

    /// It is shared on other paths too.
    fn join(&mut self, when: &Condition) {
        if self.when != *when {
            self.when = std::mem::replace(&mut self.when, Condition::True)
                .or(when.clone())
                .at_most(MOST_PARTS);
        }
    }

    /// The order of aliases in a value: by root, of one root by kind.
    fn order(&self, other: &Self) -> Ordering {
        let kind = |a: &Self| (a.known, a.maybe.is_some());
        self.root.cmp(&other.root).then_with(|| kind(self).cmp(&kind(other)))
    }
}

/// What a value may share, shared itself: most copies of a value are only looked at.
#[derive(Clone, Debug, Default, Eq)]
pub(crate) struct Aliases(Option<Arc<Vec<Alias>>>);

impl Aliases {
    /// All of them.
    pub(crate) fn as_slice(&self) -> &[Alias] {
        self.0.as_ref().map_or(&[], |all| all)
    }

    /// To be changed: from here on this value's own.
    pub(super) fn to_mut(&mut self) -> &mut Vec<Alias> {
        Arc::make_mut(self.0.get_or_insert_default())
    }
}

impl Deref for Aliases {
    type Target = [Alias];

    fn deref(&self) -> &[Alias] {
        self.as_slice()
    }
}

impl PartialEq for Aliases {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => a == b,
            _ => self.is_empty() && other.is_empty(),
        }
    }
}

impl From<Vec<Alias>> for Aliases {
    fn from(all: Vec<Alias>) -> Self {
        Self(Some(Arc::new(all)))
    }
}

impl<'x> IntoIterator for &'x Aliases {
    type Item = &'x Alias;
    type IntoIter = std::slice::Iter<'x, Alias>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// What is known of a value. The default is a value without tensors: a number, a string, `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Abs {
    /// Memory it may share; for containers, with that of everything in them. Sorted by root.
    pub(crate) aliases: Aliases,
    /// The parts of a tuple or list of known length.
    pub(crate) parts: Option<Arc<Vec<Abs>>>,
    /// It is `None` on every path.
    pub(crate) none: bool,
    /// It is a tuple of one length on one path and something else on another.
    pub(crate) mixed: bool,
    /// Memory whose address it holds (`x.data_ptr()`, a table of addresses).
    pub(crate) pointees: Vec<Alias>,
}

impl Abs {
    /// A value that surely shares one piece of memory.
    pub(crate) fn of(root: Root) -> Self {
        Self {
            aliases: vec![Alias::of(root)].into(),
            ..Self::default()
        }
    }

    /// `None`.
    pub(crate) fn none() -> Self {
        Self {
            none: true,
            ..Self::default()
        }
    }

    /// Adds an alias; of one root and kind the conditions join.
    pub(crate) fn add(&mut self, alias: Alias) {
        self.none = false;
        let at = self.aliases.partition_point(|a| a.order(&alias) == Ordering::Less);
        if let Some(old) = self.aliases.get(at).filter(|a| a.order(&alias) == Ordering::Equal) {
            if old.when != alias.when {
                self.aliases.to_mut()[at].join(&alias.when);
            }
        } else if self.aliases.len() >= MOST_ALIASES && matches!(alias.root, Root::State(_)) {
            self.add_state_in_short(alias);
        } else {
            self.aliases.to_mut().insert(at, alias);
        }
    }

    /// Beyond a bound all that is reached through one object is one piece of memory.
    fn add_state_in_short(&mut self, alias: Alias) {
        let Some(root) = alias.root.in_short() else { return };
        if !self.aliases.iter().any(|a| a.root == root) {
            let short = Alias {
                root,
                when: Condition::True,
                ..alias
            };
            self.aliases.to_mut().push(short);
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.aliases.to_mut().sort_by(Alias::order);
    }

    /// Adds all that another value may share.
    pub(crate) fn add_all(&mut self, other: &Abs) {
        self.none &= other.aliases.is_empty();
        if self.aliases.is_empty() {
            self.aliases = other.aliases.clone();
        } else if !self.has_all(&other.aliases) {
            self.add_sorted(&other.aliases);
        }
        self.add_pointees(other);
    }

    /// Adds aliases that stand in the order of ours. Whether a piece of state is described in short depends on how many there are when
    /// it is added: beyond the bound each is added for itself.
    fn add_sorted(&mut self, others: &[Alias]) {
        let is_state = |alias: &Alias| matches!(alias.root, Root::State(_));
        let few = self.aliases.len() + others.len() <= MOST_ALIASES;
        let first = others.iter().position(is_state).filter(|_| !few).unwrap_or(others.len());
        let last = others.iter().rposition(is_state).map_or(0, |at| at + 1).max(first);
        self.merge(&others[..first]);
        others[first..last].iter().for_each(|alias| self.add(alias.clone()));
        self.merge(&others[last..]);
    }

    /// Adds aliases that stand in the order of ours, all of them.
    fn merge(&mut self, others: &[Alias]) {
        if others.is_empty() {
            return;
        }
        let own = self.aliases.0.take().map(Arc::unwrap_or_clone).unwrap_or_default();
        let mut merged: Vec<Alias> = Vec::with_capacity(own.len() + others.len());
        let mut own = own.into_iter().peekable();
        for other in others {
            merged.extend(std::iter::from_fn(|| own.next_if(|a| a.order(other) == Ordering::Less)));
            let added = merged.last_mut().filter(|a| a.order(other) == Ordering::Equal);
            match added.or_else(|| own.peek_mut().filter(|a| a.order(other) == Ordering::Equal)) {
                Some(old) => old.join(&other.when),
                None => merged.push(other.clone()),
            }
        }
        merged.extend(own);
        self.aliases = merged.into();
        self.none = false;
    }

    /// Whether these aliases are there already.
    fn has_all(&self, others: &Aliases) -> bool {
        if let (Some(a), Some(b)) = (&self.aliases.0, &others.0)
            && Arc::ptr_eq(a, b)
        {
            return true;
        }
        // Both stand in one order: the next one stands behind the last.
        let mut rest = self.aliases.iter();
        others.len() <= self.aliases.len()
            && others.iter().all(|other| {
                let next = rest
                    .by_ref()
                    .map(|a| (a, a.order(other)))
                    .find(|(_, order)| *order != Ordering::Less);
                next.is_some_and(|(a, order)| order == Ordering::Equal && a.when == other.when)
            })
    }

    /// The memory among what it may share that the body made.
    pub(super) fn objects(&self) -> impl Iterator<Item = &Root> {
        self.aliases.iter().map(|a| &a.root).filter(|root| root.is_object())
    }

    /// The same, of what it is known to share, or of what only something out of view may have made it share.
    pub(super) fn objects_if(&self, known: bool) -> impl Iterator<Item = &Root> {
        let aliases = self.aliases.iter().filter(move |a| a.known == known);
        aliases.map(|a| &a.root).filter(|root| root.is_object())
    }

    /// Adds the memory whose addresses another value holds.
    pub(crate) fn add_pointees(&mut self, other: &Abs) {
        for alias in &other.pointees {
            if !self.pointees.iter().any(|a| a.root == alias.root) {
                self.pointees.push(alias.clone());
            }
        }
    }

    /// A number (or table of numbers) that holds the addresses of these values.
    pub(crate) fn addresses<'x>(of: impl IntoIterator<Item = &'x Abs>) -> Self {
        let mut out = Self::default();
        for abs in of {
            out.add_pointees(abs);
        }
        out
    }

    /// Either of two values.
    pub(crate) fn join(mut self, other: &Abs) -> Self {
        let parts = match (&self.parts, &other.parts) {
            (Some(a), Some(b)) if a.len() == b.len() => Some(Arc::new(a.iter().zip(b.iter()).map(|(a, b)| a.clone().join(b)).collect())),
            (Some(a), None) if other.none => Some(a.clone()),
            (None, Some(b)) if self.none => Some(b.clone()),
            _ => None,
        };
        let none = self.none && other.none;
        let lost = parts.is_none() && (self.parts.is_some() || other.parts.is_some());
        self.mixed |= other.mixed || lost;
        self.add_all(other);
        self.parts = parts;
        self.none = none;
        self
    }

    /// The value, on paths where a condition holds.
    pub(crate) fn when(mut self, condition: &Condition) -> Self {
        if *condition == Condition::True {
            return self;
        }
        if self.aliases.iter().any(|a| a.root.is_argument()) {
            self.aliases.to_mut().retain_mut(|alias| {
                if !alias.root.is_argument() {
                    return true;
                }
                let before = std::mem::replace(&mut alias.when, Condition::True);
                let narrowed = before != Condition::True;
                alias.when = before.and(condition.clone()).at_most(MOST_PARTS);
                // Terms of this body are lost in its callers: what they exclude is excluded here.
                !(narrowed && contradicts(&[&alias.when]))
            });
        }
        self.map_parts(|part| part.when(condition))
    }

    /// The value without its conditions: what holds after loops and joins.
    pub(crate) fn anywhere(mut self) -> Self {
        if self.aliases.iter().any(|a| a.when != Condition::True) {
            self.aliases.to_mut().iter_mut().for_each(|alias| alias.when = Condition::True);
        }
        self.map_parts(Self::anywhere)
    }

    /// The value with other parts; the same ones where nothing changes.
    fn map_parts(mut self, change: impl Fn(Self) -> Self) -> Self {
        if let Some(parts) = &self.parts {
            let changed: Vec<Self> = parts.iter().map(|p| change(p.clone())).collect();
            if changed != **parts {
                self.parts = Some(Arc::new(changed));
            }
        }
        self
    }

    /// A value that may be this one or a copy made at `place`.
    pub(crate) fn maybe(mut self, place: Place) -> Self {
        if self.aliases.iter().any(|a| a.maybe.is_none()) {
            for alias in self.aliases.to_mut() {
                alias.maybe.get_or_insert(place);
            }
            self.sort();
        }
        self.parts = None;
        self
    }

    /// A value that something out of view may have derived from this one.
    pub(crate) fn unknown(mut self) -> Self {
        if self.aliases.iter().any(|a| a.known) {
            self.aliases.to_mut().iter_mut().for_each(|alias| alias.known = false);
            self.sort();
        }
        self.parts = None;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::conditions::Term;
    use super::*;

    /// Values with parameters, state and fresh memory, few or many, in every mixture of kinds.
    fn value(seed: u32, many: u32) -> Abs {
        let mut abs = Abs::default();
        let mut next = seed;
        for _ in 0..many {
            next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (what, number) = (next >> 28, (next >> 20 & 31) as u16);
            let root = match what % 4 {
                0 => Root::Param(number),
                1 => Root::State(format!("s{}.f{number}", number % 3).into()),
                _ => Root::Fresh(ValueId(number.into()), 0),
            };
            let alias = Alias {
                known: what < 12,
                when: if what % 3 == 0 {
                    Condition::True
                } else {
                    Condition::Truthy(Term::Global((next >> 24 & 3).into()))
                },
                ..Alias::of(root)
            };
            abs.add(alias);
        }
        abs
    }

    #[test]
    fn together_is_one_by_one() {
        for seed in 0..400 {
            let (mut all, other) = (value(seed, seed % 50), value(seed + 1000, seed / 8));
            let mut each = all.clone();
            other.aliases.iter().for_each(|alias| each.add(alias.clone()));
            all.add_sorted(&other.aliases);
            assert_eq!(all, each, "{seed}");
        }
    }
}
