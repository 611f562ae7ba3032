//! Whether conditions can hold together: literals are propagated, alternatives tried one by one within a bound.

use super::{Condition, Literal, Term};

/// Alternatives tried before giving up.
const MOST_SPLITS: u32 = 16;

/// Whether the conditions surely cannot all be true at once. `Unknown` parts are taken as true: they never exclude.
pub(crate) fn contradicts(conditions: &[&Condition]) -> bool {
    let mut splits = MOST_SPLITS;
    let open = conditions.iter().filter(|c| !matches!(c, Condition::True | Condition::Unknown));
    !satisfiable(Known::default(), open.map(|&c| c.clone()).collect(), &mut splits)
}

/// False only when there is surely no way to make all of `open` true under `known`.
fn satisfiable(mut known: Known, mut open: Vec<Condition>, splits: &mut u32) -> bool {
    loop {
        let mut alternatives = Vec::new();
        let mut learned = false;
        while let Some(condition) = open.pop() {
            match known.simplify(&condition) {
                Condition::True | Condition::Unknown => {}
                Condition::False => return false,
                Condition::All(parts) => open.extend_from_slice(&parts),
                Condition::Any(parts) => alternatives.push(parts),
                leaf => {
                    known.learn(&leaf);
                    learned = true;
                }
            }
        }
        if alternatives.is_empty() {
            return true;
        }
        open.extend(alternatives.iter().map(|parts| Condition::Any(parts.clone())));
        if learned {
            continue;
        }
        alternatives.sort_by_key(|parts| parts.len());
        let first = alternatives.swap_remove(0);
        if *splits == 0 || first.contains(&Condition::Unknown) {
            return true;
        }
        *splits -= 1;
        return first.iter().any(|part| {
            let mut rest = open.clone();
            rest.push(part.clone());
            satisfiable(known.clone(), rest, splits)
        });
    }
}

/// What is taken as true.
#[derive(Clone, Default)]
struct Known {
    terms: Vec<(Term, Facet)>,
    leaves: Vec<Condition>,
}

/// What is known of one term.
#[derive(Clone, Default)]
struct Facet {
    value: Option<Literal>,
    truthy: Option<bool>,
    none: Option<bool>,
    not: Vec<Literal>,
}

impl Known {
    fn facet(&self, term: &Term) -> Option<&Facet> {
        self.terms.iter().find(|(t, _)| t == term).map(|(_, f)| f)
    }

    fn facet_mut(&mut self, term: &Term) -> &mut Facet {
        let at = self.terms.iter().position(|(t, _)| t == term).unwrap_or_else(|| {
            self.terms.push((term.clone(), Facet::default()));
            self.terms.len() - 1
        });
        &mut self.terms[at].1
    }

    fn value_of(&self, term: &Term) -> Term {
        match self.facet(term).and_then(|f| f.value.clone()) {
            Some(value) => Term::Literal(value),
            None => term.clone(),
        }
    }

    /// The condition, with what is known put in.
    fn simplify(&self, condition: &Condition) -> Condition {
        match condition {
            Condition::True | Condition::False | Condition::Unknown => condition.clone(),
            Condition::All(parts) => Condition::all(parts.iter().map(|p| self.simplify(p))),
            Condition::Any(parts) => Condition::any(parts.iter().map(|p| self.simplify(p))),
            Condition::Not(inner) => self.simplify(inner).not(),
            Condition::Truthy(t) => match self.facet(t).and_then(|f| f.truthy) {
                Some(b) => Condition::from(b),
                None => Condition::truthy(self.value_of(t)),
            },
            Condition::IsNone(t) => match self.facet(t).and_then(|f| f.none) {
                Some(b) => Condition::from(b),
                None => Condition::is_none(self.value_of(t)),
            },
            Condition::Equal(a, b) => self.simplify_equal(condition, a, b),
            Condition::Less(a, b) => {
                if let Some(known) = self.leaf(condition) {
                    return known;
                }
                // `b < a` is known
                if self.leaves.contains(&Condition::Less(b.clone(), a.clone())) {
                    return Condition::False;
                }
                Condition::less(self.value_of(a), self.value_of(b))
            }
        }
    }

    fn simplify_equal(&self, condition: &Condition, a: &Term, b: &Term) -> Condition {
        if let Some(known) = self.leaf(condition) {
            return known;
        }
        let result = Condition::equal(self.value_of(a), self.value_of(b));
        let Condition::Equal(term, Term::Literal(literal)) = &result else {
            return result;
        };
        let Some(facet) = self.facet(term) else { return result };
        let differs = facet.not.iter().any(|l| l.equal(literal))
            || facet.truthy.is_some_and(|t| literal.truthy().is_some_and(|l| l != t))
            || facet.none == Some(true);
        if differs { Condition::False } else { result }
    }

    fn leaf(&self, condition: &Condition) -> Option<Condition> {
        self.leaves.iter().find_map(|known| match known {
            known if known == condition => Some(Condition::True),
            Condition::Not(inner) if **inner == *condition => Some(Condition::False),
            _ => None,
        })
    }

    fn learn(&mut self, leaf: &Condition) {
        match leaf {
            Condition::Truthy(t) => {
                let facet = self.facet_mut(t);
                facet.truthy = Some(true);
                facet.none = Some(false);
            }
            Condition::IsNone(t) => {
                let facet = self.facet_mut(t);
                facet.value = Some(Literal::None);
                facet.none = Some(true);
                facet.truthy = Some(false);
            }
            Condition::Equal(t, Term::Literal(literal)) => {
                let facet = self.facet_mut(t);
                facet.truthy = facet.truthy.or(literal.truthy());
                facet.none = Some(*literal == Literal::None);
                facet.value = Some(literal.clone());
            }
            Condition::Not(inner) => match &**inner {
                Condition::Truthy(t) => self.facet_mut(t).truthy = Some(false),
                Condition::IsNone(t) => self.facet_mut(t).none = Some(false),
                Condition::Equal(t, Term::Literal(literal)) => self.facet_mut(t).not.push(literal.clone()),
                _ => self.leaves.push(leaf.clone()),
            },
            _ => self.leaves.push(leaf.clone()),
        }
    }
}
