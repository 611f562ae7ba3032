//! Integer expressions over a function's parameters.

use std::collections::BTreeMap;

/// What an expression is made of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Atom {
    /// A number parameter.
    Param(u16),
    /// `x.shape[i]`; negative from the end.
    Dim(u16, i64),
    /// `x.ndim`
    Rank(u16),
    /// `x.numel()`
    Numel(u16),
    /// `a // b`, …
    Of(Function, Vec<Poly>),
}

/// Functions of whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Function {
    /// `a // b`
    FloorDiv,
    /// `a % b`
    Mod,
    /// `min(…)`
    Min,
    /// `max(…)`
    Max,
    /// `next_power_of_2(a)`
    PowerOfTwo,
}

/// A sum of products of atoms. The empty product is a number.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Poly(BTreeMap<Vec<Atom>, i64>);

/// Larger ones are not followed.
const MOST_TERMS: usize = 24;

impl Poly {
    pub(super) fn number(n: i64) -> Self {
        let mut terms = BTreeMap::new();
        if n != 0 {
            terms.insert(Vec::new(), n);
        }
        Self(terms)
    }

    pub(super) fn atom(atom: Atom) -> Self {
        Self(BTreeMap::from([(vec![atom], 1)]))
    }

    pub(super) fn as_number(&self) -> Option<i64> {
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    pub(super) fn add(&self, other: &Self, sign: i64) -> Option<Self> {
        let mut terms = self.0.clone();
        for (atoms, n) in &other.0 {
            let slot = terms.entry(atoms.clone()).or_insert(0);
            *slot = slot.checked_add(n.checked_mul(sign)?)?;
        }
        terms.retain(|_, n| *n != 0);
        (terms.len() <= MOST_TERMS).then_some(Self(terms))
    }

    pub(super) fn times(&self, other: &Self) -> Option<Self> {
        let mut terms: BTreeMap<Vec<Atom>, i64> = BTreeMap::new();
        for (a, n) in &self.0 {
            for (b, m) in &other.0 {
                let mut atoms: Vec<Atom> = a.iter().chain(b).cloned().collect();
                atoms.sort();
                let slot = terms.entry(atoms).or_insert(0);
                *slot = slot.checked_add(n.checked_mul(*m)?)?;
            }
        }
        terms.retain(|_, n| *n != 0);
        (terms.len() <= MOST_TERMS).then_some(Self(terms))
    }

    pub(super) fn of(function: Function, arguments: Vec<Self>) -> Self {
        Self::atom(Atom::Of(function, arguments))
    }

    /// Every atom, also those inside of functions.
    pub(super) fn atoms(&self, into: &mut Vec<Atom>) {
        for atom in self.0.keys().flatten() {
            match atom {
                Atom::Of(_, arguments) => arguments.iter().for_each(|a| a.atoms(into)),
                _ => into.push(atom.clone()),
            }
        }
    }

    /// With atoms replaced, inside of functions too.
    pub(super) fn map(&self, of: &dyn Fn(&Atom) -> Self) -> Self {
        let mut sum = Self::default();
        for (atoms, n) in &self.0 {
            let mut product = Self::number(*n);
            for atom in atoms {
                let factor = match atom {
                    Atom::Of(function, arguments) => Self::of(*function, arguments.iter().map(|a| a.map(of)).collect()),
                    _ => of(atom),
                };
                match product.times(&factor) {
                    Some(next) => product = next,
                    None => return self.clone(),
                }
            }
            match sum.add(&product, 1) {
                Some(next) => sum = next,
                None => return self.clone(),
            }
        }
        sum
    }

    /// Its value when atoms have these.
    pub(super) fn value(&self, of: &dyn Fn(&Atom) -> Option<i64>) -> Option<i64> {
        let mut sum: i64 = 0;
        for (atoms, n) in &self.0 {
            let mut product = *n;
            for atom in atoms {
                let v = match atom {
                    Atom::Of(function, arguments) => {
                        let values: Option<Vec<i64>> = arguments.iter().map(|a| a.value(of)).collect();
                        apply(*function, &values?)?
                    }
                    _ => of(atom)?,
                };
                product = product.checked_mul(v)?;
            }
            sum = sum.checked_add(product)?;
        }
        Some(sum)
    }

    /// As Python would write it.
    pub(super) fn text(&self, name: &dyn Fn(&Atom) -> String) -> String {
        let mut out = String::new();
        for (atoms, n) in self.0.iter().rev() {
            let factors: Vec<String> = atoms.iter().map(|a| atom_text(a, name)).collect();
            let magnitude = n.unsigned_abs();
            let product = match (factors.is_empty(), magnitude) {
                (true, m) => m.to_string(),
                (false, 1) => factors.join(" * "),
                (false, m) => format!("{m} * {}", factors.join(" * ")),
            };
            match (out.is_empty(), *n < 0) {
                (true, true) => out.push('-'),
                (true, false) => {}
                (false, true) => out.push_str(" - "),
                (false, false) => out.push_str(" + "),
            }
            out.push_str(&product);
        }
        if out.is_empty() { "0".to_string() } else { out }
    }
}

fn atom_text(atom: &Atom, name: &dyn Fn(&Atom) -> String) -> String {
    let Atom::Of(function, arguments) = atom else { return name(atom) };
    let texts: Vec<String> = arguments.iter().map(|a| a.text(name)).collect();
    let wrapped = |t: &String| {
        if t.contains(' ') { format!("({t})") } else { t.clone() }
    };
    match (function, texts.as_slice()) {
        (Function::FloorDiv, [a, b]) => format!("{} // {}", wrapped(a), wrapped(b)),
        (Function::Mod, [a, b]) => format!("{} % {}", wrapped(a), wrapped(b)),
        (Function::Min, _) => format!("min({})", texts.join(", ")),
        (Function::Max, _) => format!("max({})", texts.join(", ")),
        (Function::PowerOfTwo, _) => format!("next_power_of_2({})", texts.join(", ")),
        (Function::FloorDiv | Function::Mod, _) => texts.join(", "),
    }
}

fn apply(function: Function, values: &[i64]) -> Option<i64> {
    match (function, values) {
        (Function::FloorDiv, [a, b]) if *b != 0 => Some(a.div_euclid(*b) - i64::from(*b < 0 && a.rem_euclid(*b) != 0)),
        (Function::Mod, [a, b]) if *b > 0 => Some(a.rem_euclid(*b)),
        (Function::Min, values) => values.iter().min().copied(),
        (Function::Max, values) => values.iter().max().copied(),
        (Function::PowerOfTwo, [a]) if *a >= 0 => u64::try_from(*a).ok()?.checked_next_power_of_two()?.try_into().ok(),
        (Function::FloorDiv | Function::Mod | Function::PowerOfTwo, _) => None,
    }
}
