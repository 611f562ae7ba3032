//! What a value of a kernel may be: addresses derived from parameters, and tuples and objects of them.

use super::kinds::Kind;
use crate::link::conditions::Condition;
use std::sync::Arc;

/// More alternatives than this are not told apart.
const MOST_ALTERNATIVES: usize = 24;
/// More addends than this are not kept: an address has one base and few offsets that might be one.
const MOST_ADDENDS: usize = 12;
const MOST_PARTS: usize = 64;

/// Where an address comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Base {
    /// A parameter, or a part of it (`[0]`, `.x_ptr`; empty for the whole).
    Param(u16, Arc<str>),
    /// A value read from memory that the parameter points to: an address only if it is used as one.
    Loaded(u16),
    /// An address read from memory that the parameter points to, or made from an integer parameter.
    Pointee(u16),
    /// The parameter as an integer (`x.to(tl.int64)`): an offset, or an address that is made a pointer again.
    Number(u16),
}

impl Base {
    pub(super) fn param(&self) -> u16 {
        match self {
            Self::Param(p, _) | Self::Loaded(p) | Self::Pointee(p) | Self::Number(p) => *p,
        }
    }
}

/// One thing that a value may be: a sum in which one addend is the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alternative {
    /// The addends that might be the base, from left to right.
    pub(super) addends: Vec<Base>,
    /// The value is this one only under this condition.
    pub(super) when: Condition,
    /// No arithmetic has touched it: a tuple, an object, a descriptor or a pointer as it came in.
    pub(super) raw: bool,
}

/// A key of a tuple's or an object's part.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    /// A position.
    Index(u16),
    /// A field or a string key.
    Field(Arc<str>),
}

/// What a value may be. The default is "no address".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Abstract {
    pub(super) alternatives: Vec<Alternative>,
    pub(super) parts: Option<Arc<Vec<(Key, Abstract)>>>,
}

impl Abstract {
    pub(super) fn of(base: Base, raw: bool) -> Self {
        let alternative = Alternative {
            addends: vec![base],
            when: Condition::True,
            raw,
        };
        Self {
            alternatives: vec![alternative],
            parts: None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.alternatives.is_empty() && self.parts.is_none()
    }

    pub(super) fn tuple(items: Vec<Abstract>) -> Self {
        if items.len() > MOST_PARTS {
            return items.iter().fold(Self::default(), |all, item| all.join(item));
        }
        let parts = items
            .into_iter()
            .enumerate()
            .map(|(i, item)| (Key::Index(i as u16), item))
            .collect();
        Self {
            alternatives: Vec::new(),
            parts: Some(Arc::new(parts)),
        }
    }

    pub(super) fn object(fields: Vec<(Key, Abstract)>) -> Self {
        Self {
            alternatives: Vec::new(),
            parts: Some(Arc::new(fields)),
        }
    }

    /// The items of a tuple of known length.
    pub(super) fn items(&self) -> Option<Vec<Abstract>> {
        let parts = self.parts.as_ref()?;
        if !self.alternatives.is_empty() || parts.iter().any(|(k, _)| matches!(k, Key::Field(_))) {
            return None;
        }
        Some(parts.iter().map(|(_, a)| a.clone()).collect())
    }

    /// Either of two.
    pub(super) fn join(mut self, other: &Self) -> Self {
        for alternative in &other.alternatives {
            self.add(alternative.clone());
        }
        self.parts = match (self.parts.take(), &other.parts) {
            (None, parts) => parts.clone(),
            (parts, None) => parts,
            (Some(a), Some(b)) if a == *b => Some(a),
            (Some(a), Some(b)) => {
                let mut all = (*a).clone();
                for (key, value) in b.iter() {
                    match all.iter().position(|(k, _)| k == key) {
                        Some(i) => all[i].1 = std::mem::take(&mut all[i].1).join(value),
                        None if all.len() < MOST_PARTS => all.push((key.clone(), value.clone())),
                        None => {}
                    }
                }
                Some(Arc::new(all))
            }
        };
        self
    }

    fn add(&mut self, alternative: Alternative) {
        if let Some(same) = self.alternatives.iter_mut().find(|a| a.addends == alternative.addends) {
            same.when = std::mem::replace(&mut same.when, Condition::True).or(alternative.when);
            same.raw &= alternative.raw;
        } else if self.alternatives.len() < MOST_ALTERNATIVES {
            self.alternatives.push(alternative);
        } else {
            // too many to tell apart: bases stay, each by itself
            for base in alternative.addends {
                let known = |a: &Alternative| a.addends == [base.clone()];
                match self.alternatives.iter_mut().find(|a| known(a)) {
                    Some(same) => same.when = Condition::Unknown,
                    None => self.alternatives.push(Alternative {
                        addends: vec![base],
                        when: Condition::Unknown,
                        raw: false,
                    }),
                }
            }
        }
    }

    /// The same, under a condition.
    pub(super) fn when(mut self, condition: &Condition) -> Self {
        if *condition == Condition::True {
            return self;
        }
        for alternative in &mut self.alternatives {
            alternative.when = std::mem::replace(&mut alternative.when, Condition::True).and(condition.clone());
        }
        self.alternatives.retain(|a| a.when != Condition::False);
        if let Some(parts) = self.parts.take() {
            self.parts = Some(Arc::new(
                parts.iter().map(|(k, a)| (k.clone(), a.clone().when(condition))).collect(),
            ));
        }
        self
    }

    /// `self + other`
    pub(super) fn plus(&self, other: &Self) -> Self {
        if let (Some(a), Some(b)) = (self.items(), other.items()) {
            return Self::tuple(a.into_iter().chain(b).collect());
        }
        match (self.alternatives.is_empty(), other.alternatives.is_empty()) {
            (_, true) => return self.derived(),
            (true, false) => return other.derived(),
            (false, false) => {}
        }
        let mut sum = Self::default();
        for a in &self.alternatives {
            for b in &other.alternatives {
                let mut addends = a.addends.clone();
                for base in &b.addends {
                    if !addends.contains(base) && addends.len() < MOST_ADDENDS {
                        addends.push(base.clone());
                    }
                }
                let when = a.when.clone().and(b.when.clone());
                if when != Condition::False {
                    sum.add(Alternative { addends, when, raw: false });
                }
            }
        }
        sum
    }

    /// The same address, moved or retyped: no longer a tuple or an object.
    pub(super) fn derived(&self) -> Self {
        let mut alternatives = self.alternatives.clone();
        alternatives.iter_mut().for_each(|a| a.raw = false);
        Self { alternatives, parts: None }
    }

    /// Every address in it, parts included.
    pub(super) fn flat(&self) -> Self {
        let Some(parts) = &self.parts else { return self.clone() };
        let alone = Self {
            alternatives: self.alternatives.clone(),
            parts: None,
        };
        parts.iter().fold(alone, |all, (_, part)| all.join(&part.flat()))
    }

    /// A part by its key; `None` for a position that is not known.
    pub(super) fn part(&self, key: Option<&Key>) -> Self {
        let mut found = Self::default();
        if let Some(parts) = &self.parts {
            match key {
                Some(key) => match parts.iter().find(|(k, _)| k == key) {
                    Some((_, part)) => found = part.clone(),
                    None if matches!(key, Key::Index(_)) => found = parts.iter().fold(found, |all, (_, part)| all.join(part)),
                    None => {}
                },
                None => found = parts.iter().fold(found, |all, (_, part)| all.join(part)),
            }
        }
        for alternative in &self.alternatives {
            let mut part = alternative.clone();
            if let ([Base::Param(p, path)], true) = (alternative.addends.as_slice(), alternative.raw) {
                let path = match key {
                    Some(Key::Index(i)) => format!("{path}[{i}]"),
                    Some(Key::Field(name)) => format!("{path}.{name}"),
                    None => format!("{path}[*]"),
                };
                // a path without end (a loop that unpacks what it unpacked) is cut
                if path.len() < 96 {
                    part.addends = vec![Base::Param(*p, path.into())];
                }
            }
            found.add(part);
        }
        found
    }

    /// What a path of [`Base::Param`] leads to.
    pub(super) fn at_path(&self, path: &str) -> Self {
        let mut here = self.clone();
        let mut rest = path;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('[') {
                let Some((key, tail)) = after.split_once(']') else { return here };
                here = here.part(key.parse().ok().map(Key::Index).as_ref());
                rest = tail;
            } else {
                let after = rest.trim_start_matches('.');
                let end = after.find(['.', '[']).unwrap_or(after.len());
                here = here.part(Some(&Key::Field(after[..end].into())));
                rest = &after[end..];
            }
        }
        here
    }

    /// What a load through this address gives.
    pub(super) fn loaded(&self, kinds: &[Kind]) -> Self {
        let mut result = Self::default();
        for alternative in &self.alternatives {
            if let Some(base) = alternative.reduced(kinds).addends.first() {
                let loaded = Base::Loaded(base.param());
                result.add(Alternative {
                    addends: vec![loaded],
                    when: alternative.when.clone(),
                    raw: false,
                });
            }
        }
        result
    }

    /// The same as an integer.
    pub(super) fn as_number(&self) -> Self {
        let mut number = self.derived();
        for base in number.alternatives.iter_mut().flat_map(|a| &mut a.addends) {
            if let Base::Param(p, _) = base {
                *base = Base::Number(*p);
            }
        }
        number
    }

    /// Without the addends that cannot be bases.
    pub(super) fn reduced(mut self, kinds: &[Kind]) -> Self {
        for alternative in &mut self.alternatives {
            *alternative = alternative.reduced(kinds);
        }
        self.alternatives.retain(|a| !a.addends.is_empty());
        self
    }
}

impl Alternative {
    /// Without the addends that cannot be the base; one alone where it is known to be.
    pub(super) fn reduced(&self, kinds: &[Kind]) -> Self {
        let kind = |b: &Base| match b {
            Base::Param(p, path) if path.is_empty() => kinds.get(*p as usize).copied().unwrap_or(Kind::Unknown),
            Base::Param(..) | Base::Loaded(_) | Base::Number(_) => Kind::Unknown,
            Base::Pointee(_) => Kind::Pointer,
        };
        let mut reduced = self.clone();
        reduced.addends.retain(|b| kind(b) != Kind::Scalar);
        if let Some(known) = reduced.addends.iter().find(|b| kind(b) == Kind::Pointer).cloned() {
            reduced.addends = vec![known];
        }
        // a value from memory, or an integer, is an offset where a parameter can be the base
        if reduced.addends.len() > 1 && reduced.addends.iter().any(|b| matches!(b, Base::Param(..))) {
            reduced.addends.retain(|b| !matches!(b, Base::Loaded(_) | Base::Number(_)));
        }
        reduced
    }
}
