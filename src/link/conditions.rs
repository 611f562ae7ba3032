//! When something happens: a small language of conditions over the parameters of one function.
//!
//! Kernel summaries say under which condition a parameter is written, launches and calls substitute what they pass.
//! Three-valued throughout: [`Condition::Unknown`] may be true or false, so it never excludes anything.

mod contradiction;
mod read;
#[cfg(test)]
mod tests;

pub(crate) use contradiction::contradicts;
pub(crate) use read::{binding_of, condition_of, guard_condition};

use std::sync::Arc;

/// Conditions with more parts than this are given up: they become [`Condition::Unknown`].
const MOST_PARTS: usize = 96;

/// A literal value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Literal {
    /// `None`
    None,
    /// `True`, `False`
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float, by its text.
    Float(Box<str>),
    /// A string.
    Str(Box<str>),
}

impl Literal {
    /// Python's `bool(x)`; `None` when the text of a float cannot be read.
    pub(crate) fn truthy(&self) -> Option<bool> {
        match self {
            Self::None => Some(false),
            Self::Bool(b) => Some(*b),
            Self::Int(i) => Some(*i != 0),
            Self::Float(text) => text.replace('_', "").parse::<f64>().ok().map(|x| x != 0.0),
            Self::Str(text) => Some(!text.is_empty()),
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Bool(b) => Some(f64::from(u8::from(*b))),
            Self::Int(i) => Some(*i as f64),
            Self::Float(text) => text.replace('_', "").parse::<f64>().ok(),
            Self::None | Self::Str(_) => None,
        }
    }

    /// Python's `a == b`.
    pub(crate) fn equal(&self, other: &Self) -> bool {
        match (self.number(), other.number()) {
            (Some(a), Some(b)) => a == b,
            _ => self == other,
        }
    }
}

/// Something that a condition speaks of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Term {
    /// A parameter of the function that the condition belongs to, as it came in.
    Param(u16),
    /// A literal.
    Literal(Literal),
    /// An expression of the same function, by a hash that equal expressions share. Lost where the condition is substituted.
    Value(u64),
    /// An expression that means the same everywhere (a module's global), by a hash.
    Global(u64),
}

/// A condition. Built with [`Condition::not`], [`Condition::all`], …, which keep it small: negation stands at leaves only.
/// Copies share their parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Condition {
    /// Always.
    True,
    /// Never.
    False,
    /// Cannot be known.
    Unknown,
    /// `bool(x)`
    Truthy(Term),
    /// `x is None`
    IsNone(Term),
    /// `a == b`
    Equal(Term, Term),
    /// `a < b`
    Less(Term, Term),
    /// `not x`
    Not(Arc<Condition>),
    /// All of them; sorted, at least two.
    All(Arc<[Condition]>),
    /// At least one of them; sorted, at least two.
    Any(Arc<[Condition]>),
}

/// What a caller passes for a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    /// A term of the caller.
    Term(Term),
    /// A boolean that the caller computes.
    Condition(Condition),
    /// Something that is surely not `None` (a tensor).
    NotNone,
    /// One of two, by a condition of the caller: condition, yes, no.
    Choice(Condition, Box<Binding>, Box<Binding>),
    /// Anything.
    Unknown,
}

impl Condition {
    /// `bool(term)`
    pub(crate) fn truthy(term: Term) -> Self {
        match &term {
            Term::Literal(l) => l.truthy().map_or(Self::Unknown, Self::from),
            Term::Param(_) | Term::Value(_) | Term::Global(_) => Self::Truthy(term),
        }
    }

    /// `term is None`
    pub(crate) fn is_none(term: Term) -> Self {
        match &term {
            Term::Literal(l) => Self::from(*l == Literal::None),
            Term::Param(_) | Term::Value(_) | Term::Global(_) => Self::IsNone(term),
        }
    }

    /// `a == b`
    pub(crate) fn equal(a: Term, b: Term) -> Self {
        if a == b {
            return Self::True;
        }
        match (&a, &b) {
            (Term::Literal(x), Term::Literal(y)) => Self::from(x.equal(y)),
            (Term::Literal(Literal::None), _) => Self::IsNone(b),
            (_, Term::Literal(Literal::None)) => Self::IsNone(a),
            // the literal stands last
            (Term::Literal(_), _) => Self::Equal(b, a),
            (_, Term::Literal(_)) => Self::Equal(a, b),
            _ if b < a => Self::Equal(b, a),
            _ => Self::Equal(a, b),
        }
    }

    /// `a < b`
    pub(crate) fn less(a: Term, b: Term) -> Self {
        if a == b {
            return Self::False;
        }
        if let (Term::Literal(x), Term::Literal(y)) = (&a, &b) {
            return match (x.number(), y.number()) {
                (Some(x), Some(y)) => Self::from(x < y),
                _ => Self::Unknown,
            };
        }
        Self::Less(a, b)
    }

    /// `not self`
    pub(crate) fn not(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
            Self::Not(inner) => Arc::unwrap_or_clone(inner),
            Self::All(parts) => Self::any(parts.iter().cloned().map(Self::not)),
            Self::Any(parts) => Self::all(parts.iter().cloned().map(Self::not)),
            Self::Truthy(_) | Self::IsNone(_) | Self::Equal(..) | Self::Less(..) => Self::Not(Arc::new(self)),
        }
    }

    /// `self and other`
    pub(crate) fn and(self, other: Self) -> Self {
        Self::all([self, other])
    }

    /// `self or other`
    pub(crate) fn or(self, other: Self) -> Self {
        Self::any([self, other])
    }

    /// All of them.
    pub(crate) fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        Self::join(parts, true)
    }

    /// At least one of them.
    pub(crate) fn any(parts: impl IntoIterator<Item = Self>) -> Self {
        Self::join(parts, false)
    }

    /// `yes if self else no`
    pub(crate) fn choose(self, yes: Self, no: Self) -> Self {
        if yes == no {
            return yes;
        }
        Self::any([Self::all([self.clone(), yes]), Self::all([self.not(), no])])
    }

    fn join(parts: impl IntoIterator<Item = Self>, all: bool) -> Self {
        let (neutral, absorbing) = if all {
            (Self::True, Self::False)
        } else {
            (Self::False, Self::True)
        };
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Self::All(inner) if all => flat.extend_from_slice(&inner),
                Self::Any(inner) if !all => flat.extend_from_slice(&inner),
                part if part == absorbing => return absorbing,
                part if part == neutral => {}
                part => flat.push(part),
            }
        }
        if flat.len() < 2 {
            return flat.pop().unwrap_or(neutral);
        }
        flat.sort();
        flat.dedup();
        let opposed = |c: &Self| matches!(c, Self::Not(inner) if flat.binary_search(inner).is_ok());
        if flat.iter().any(opposed) {
            return absorbing;
        }
        // `x and (x or y)` is `x`, `x or (x and y)` is `x`
        let absorbed = |c: &Self| match c {
            Self::Any(inner) if all => inner.iter().any(|i| flat.binary_search(i).is_ok()),
            Self::All(inner) if !all => inner.iter().any(|i| flat.binary_search(i).is_ok()),
            _ => false,
        };
        let keep: Vec<bool> = flat.iter().map(|c| !absorbed(c)).collect();
        let mut kept = keep.iter();
        flat.retain(|_| kept.next() == Some(&true));
        if flat.iter().map(Self::parts).sum::<usize>() > MOST_PARTS {
            return Self::Unknown;
        }
        match flat.len() {
            0 => neutral,
            1 => flat.remove(0),
            _ if all => Self::All(flat.into()),
            _ => Self::Any(flat.into()),
        }
    }

    fn parts(&self) -> usize {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().map(Self::parts).sum(),
            Self::Not(inner) => inner.parts(),
            Self::True | Self::False | Self::Unknown | Self::Truthy(_) | Self::IsNone(_) | Self::Equal(..) | Self::Less(..) => 1,
        }
    }

    /// The condition, or a weaker one with at most `most` parts: what all of its alternatives have in common.
    /// Only for conditions that say when something *may* happen.
    pub(crate) fn at_most(self, most: usize) -> Self {
        if self.parts() <= most {
            return self;
        }
        let mut common = match self {
            Self::Any(alternatives) => {
                let (first, rest) = alternatives.split_first().expect("at least two");
                let everywhere = |c: &&Self| rest.iter().all(|other| other.conjuncts().contains(c));
                first.conjuncts().iter().filter(everywhere).cloned().collect()
            }
            Self::All(parts) => parts.to_vec(),
            Self::True
            | Self::False
            | Self::Unknown
            | Self::Truthy(_)
            | Self::IsNone(_)
            | Self::Equal(..)
            | Self::Less(..)
            | Self::Not(_) => Vec::new(),
        };
        common.sort_by_key(Self::parts);
        let mut room = most;
        common.retain(|c| {
            let fits = c.parts() <= room;
            room -= if fits { c.parts() } else { room };
            fits
        });
        if common.is_empty() { Self::Unknown } else { Self::all(common) }
    }

    fn conjuncts(&self) -> &[Self] {
        match self {
            Self::All(parts) => parts,
            other => std::slice::from_ref(other),
        }
    }

    /// Whether it is surely true or surely false. (A contradiction between parts may go unseen: ask [`contradicts`].)
    pub(crate) fn value(&self) -> Option<bool> {
        match self {
            Self::True => Some(true),
            Self::False => Some(false),
            _ => None,
        }
    }

    /// The condition in the caller's words.
    pub(crate) fn substitute(&self, binding: &dyn Fn(u16) -> Binding) -> Self {
        match self {
            Self::True | Self::False | Self::Unknown => self.clone(),
            Self::Not(inner) => inner.substitute(binding).not(),
            Self::All(parts) => Self::all(parts.iter().map(|p| p.substitute(binding))),
            Self::Any(parts) => Self::any(parts.iter().map(|p| p.substitute(binding))),
            Self::Truthy(t) => Binding::of(t, binding).truthy(),
            Self::IsNone(t) => Binding::of(t, binding).is_none(),
            Self::Equal(a, b) => Binding::of(a, binding).equal(&Binding::of(b, binding)),
            Self::Less(a, b) => Binding::of(a, binding).less(&Binding::of(b, binding)),
        }
    }
}

impl From<bool> for Condition {
    fn from(b: bool) -> Self {
        if b { Self::True } else { Self::False }
    }
}

impl Binding {
    /// A literal.
    pub(crate) fn literal(literal: Literal) -> Self {
        Self::Term(Term::Literal(literal))
    }

    /// `yes if condition else no`
    pub(crate) fn choose(condition: Condition, yes: Self, no: Self) -> Self {
        match condition.value() {
            Some(true) => yes,
            Some(false) => no,
            None if yes == no => yes,
            None => Self::Choice(condition, Box::new(yes), Box::new(no)),
        }
    }

    fn of(term: &Term, binding: &dyn Fn(u16) -> Binding) -> Self {
        match term {
            Term::Param(p) => binding(*p),
            Term::Literal(_) | Term::Global(_) => Self::Term(term.clone()),
            Term::Value(_) => Self::Unknown,
        }
    }

    /// The value in the caller's words.
    pub(crate) fn substitute(&self, binding: &dyn Fn(u16) -> Binding) -> Self {
        match self {
            Self::Term(t) => Self::of(t, binding),
            Self::Condition(c) => Self::Condition(c.substitute(binding)),
            Self::NotNone | Self::Unknown => self.clone(),
            Self::Choice(c, yes, no) => Self::choose(c.substitute(binding), yes.substitute(binding), no.substitute(binding)),
        }
    }

    /// `bool(self)`
    pub(crate) fn truthy(&self) -> Condition {
        match self {
            Self::Term(t) => Condition::truthy(t.clone()),
            Self::Condition(c) => c.clone(),
            Self::NotNone | Self::Unknown => Condition::Unknown,
            Self::Choice(c, yes, no) => c.clone().choose(yes.truthy(), no.truthy()),
        }
    }

    /// `self is None`
    pub(crate) fn is_none(&self) -> Condition {
        match self {
            Self::Term(t) => Condition::is_none(t.clone()),
            Self::Condition(_) | Self::NotNone => Condition::False,
            Self::Unknown => Condition::Unknown,
            Self::Choice(c, yes, no) => c.clone().choose(yes.is_none(), no.is_none()),
        }
    }

    /// `self == other`
    pub(crate) fn equal(&self, other: &Self) -> Condition {
        match (self, other) {
            (Self::Term(a), Self::Term(b)) => Condition::equal(a.clone(), b.clone()),
            (Self::Choice(c, yes, no), x) | (x, Self::Choice(c, yes, no)) => c.clone().choose(yes.equal(x), no.equal(x)),
            (x, Self::Term(Term::Literal(Literal::None))) | (Self::Term(Term::Literal(Literal::None)), x) => x.is_none(),
            (Self::Condition(c), Self::Term(Term::Literal(l))) | (Self::Term(Term::Literal(l)), Self::Condition(c)) => {
                if l.equal(&Literal::Bool(true)) {
                    c.clone()
                } else if l.equal(&Literal::Bool(false)) {
                    c.clone().not()
                } else {
                    Condition::False
                }
            }
            _ => Condition::Unknown,
        }
    }

    /// `self < other`
    pub(crate) fn less(&self, other: &Self) -> Condition {
        match (self, other) {
            (Self::Term(a), Self::Term(b)) => Condition::less(a.clone(), b.clone()),
            (Self::Choice(c, yes, no), x) => c.clone().choose(yes.less(x), no.less(x)),
            (x, Self::Choice(c, yes, no)) => c.clone().choose(x.less(yes), x.less(no)),
            _ => Condition::Unknown,
        }
    }
}
