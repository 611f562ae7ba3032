//! The host side's abstract values: whose memory a value may share.

use super::super::conditions::{Condition, contradicts};
use crate::facts::{Name, ValueId};
use crate::source::Place;
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
const MOST_ALIASES: usize = 32;
/// Paths through objects have at most this many parts; what lies deeper is the last part's.
const MOST_PATH_PARTS: usize = 5;

impl Root {
    /// Whether it matters when memory is shared: it does for what a caller hands over, not for state and fresh memory.
    pub(super) fn is_argument(&self) -> bool {
        matches!(self, Self::Param(_) | Self::Part(..) | Self::Capture(_))
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

/// What is known of a value. The default is a value without tensors: a number, a string, `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Abs {
    /// Memory it may share; for containers, with that of everything in them. Sorted by root.
    pub(crate) aliases: Vec<Alias>,
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
            aliases: vec![Alias {
                root,
                when: Condition::True,
                maybe: None,
                known: true,
            }],
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
        let key = |a: &Alias| (a.known, a.maybe.is_some());
        let at = self.aliases.partition_point(|a| (&a.root, key(a)) < (&alias.root, key(&alias)));
        if let Some(old) = self.aliases.get_mut(at).filter(|a| a.root == alias.root && key(a) == key(&alias)) {
            if old.when != alias.when {
                old.when = old.when.clone().or(alias.when).at_most(MOST_PARTS);
            }
            return;
        }
        if self.aliases.len() >= MOST_ALIASES && matches!(alias.root, Root::State(_)) {
            return self.add_state_in_short(alias);
        }
        self.aliases.insert(at, alias);
    }

    /// Beyond a bound all that is reached through one object is one piece of memory.
    fn add_state_in_short(&mut self, alias: Alias) {
        let Root::State(path) = &alias.root else { return };
        let head = &path[..path.find(['.', '[']).unwrap_or(path.len())];
        let root = Root::State(format!("{head}.*").into());
        if !self.aliases.iter().any(|a| a.root == root) {
            let short = Alias {
                root,
                when: Condition::True,
                ..alias
            };
            self.aliases.push(short);
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.aliases
            .sort_by(|a, b| (&a.root, a.known, a.maybe.is_some()).cmp(&(&b.root, b.known, b.maybe.is_some())));
    }

    /// Adds all that another value may share.
    pub(crate) fn add_all(&mut self, other: &Abs) {
        if self.aliases.is_empty() && !other.aliases.is_empty() {
            self.none = false;
            self.aliases.clone_from(&other.aliases);
        } else {
            for alias in &other.aliases {
                self.add(alias.clone());
            }
        }
        self.add_pointees(other);
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
        self.aliases.retain_mut(|alias| {
            if !alias.root.is_argument() {
                return true;
            }
            let before = std::mem::replace(&mut alias.when, Condition::True);
            let narrowed = before != Condition::True;
            alias.when = before.and(condition.clone()).at_most(MOST_PARTS);
            // Terms of this body are lost in its callers: what they exclude is excluded here.
            !(narrowed && contradicts(&[&alias.when]))
        });
        self.parts = self
            .parts
            .map(|parts| Arc::new(parts.iter().map(|p| p.clone().when(condition)).collect()));
        self
    }

    /// The value without its conditions: what holds after loops and joins.
    pub(crate) fn anywhere(mut self) -> Self {
        for alias in &mut self.aliases {
            alias.when = Condition::True;
        }
        self.parts = self
            .parts
            .map(|parts| Arc::new(parts.iter().map(|p| p.clone().anywhere()).collect()));
        self
    }

    /// A value that may be this one or a copy made at `place`.
    pub(crate) fn maybe(mut self, place: Place) -> Self {
        for alias in &mut self.aliases {
            alias.maybe.get_or_insert(place);
        }
        self.parts = None;
        self.sort();
        self
    }

    /// A value that something out of view may have derived from this one.
    pub(crate) fn unknown(mut self) -> Self {
        for alias in &mut self.aliases {
            alias.known = false;
        }
        self.parts = None;
        self.sort();
        self
    }
}
