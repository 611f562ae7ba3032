//! Compares what a fake returns with what the implementation returns.

use super::eval::{Dtype, Frame, Meta, Piece, Premises, Val, Way};
use super::poly::{Atom, Poly};
use crate::knowledge::Knowledge;
use crate::program::{FunctionRef, Program};
use crate::source::Place;

/// One thing in which a fake differs from the implementation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What: "returns 2 results where the body returns 3".
    pub what: String,
    /// It differs whatever the caller passes, or as far as the code shows no contract that makes it the same.
    pub certain: bool,
    /// Where the body returns.
    pub body: Place,
    /// Where the fake returns.
    pub fake: Place,
}

/// How two things stand to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    /// They agree, or nobody can tell.
    Fits,
    /// They differ, unless a contract that is not in view makes them equal.
    Likely(String),
    /// They differ.
    Certain(String),
}

/// In what a fake differs. Empty when it fits, or when either side cannot be known.
pub fn differences(program: &Program, knowledge: &Knowledge, body: FunctionRef, fake: FunctionRef) -> Vec<Difference> {
    let own = Frame::own(program, knowledge, body);
    let other = Frame::fake(program, knowledge, fake, &own);
    let (Some(ways), Some(fakes)) = (own.ways(), other.ways()) else {
        return Vec::new();
    };
    let mut premises = Premises::default();
    own.premises(&mut premises);
    other.premises(&mut premises);
    let judge = Judge { program, body, premises };
    judge.ways(&ways, &fakes).into_iter().collect()
}

struct Judge<'a> {
    program: &'a Program,
    body: FunctionRef,
    premises: Premises,
}

/// Sizes for which expressions are compared: even, odd, and far apart.
const TRIES: [i64; 4] = [96, 1024, 7168, 65537];

impl Judge<'_> {
    /// Some way of the fake must fit some way of the body.
    fn ways(&self, ways: &[Way], fakes: &[Way]) -> Option<Difference> {
        let mut worst: Option<Difference> = None;
        for way in ways {
            for fake in fakes {
                let (what, certain) = match self.results(&way.val, &fake.val) {
                    Verdict::Fits => return None,
                    Verdict::Likely(what) => (what, false),
                    Verdict::Certain(what) => (what, true),
                };
                let found = Difference {
                    what,
                    certain,
                    body: way.place,
                    fake: fake.place,
                };
                // The mildest is told: it is the pair that is closest.
                if worst.as_ref().is_none_or(|w| w.certain && !certain) {
                    worst = Some(found);
                }
            }
        }
        worst
    }

    fn results(&self, body: &Val, fake: &Val) -> Verdict {
        let choices = |val: &Val| match val {
            Val::OneOf(vals) => vals.clone(),
            val => vec![val.clone()],
        };
        let (bodies, fakes) = (choices(body), choices(fake));
        let mut found: Option<Verdict> = None;
        for body in &bodies {
            for fake in &fakes {
                let verdict = self.one_choice(body, fake);
                match verdict {
                    Verdict::Fits => return Verdict::Fits,
                    Verdict::Likely(_) => found = Some(verdict),
                    Verdict::Certain(_) => found = Some(found.unwrap_or(verdict)),
                }
            }
        }
        found.unwrap_or(Verdict::Fits)
    }

    fn one_choice(&self, body: &Val, fake: &Val) -> Verdict {
        let (Some(n), Some(m)) = (count(body), count(fake)) else {
            return Verdict::Fits;
        };
        if n != m {
            return Verdict::Certain(format!("returns {} where the body returns {}", results(m), results(n)));
        }
        match (body, fake) {
            (Val::Items(bodies), Val::Items(fakes)) => {
                let pairs = bodies.iter().zip(fakes).enumerate();
                let mut likely = Verdict::Fits;
                for (i, (body, fake)) in pairs {
                    match self.results_inside(body, fake, &format!("result {}", i + 1)) {
                        Verdict::Fits => {}
                        certain @ Verdict::Certain(_) => return certain,
                        found @ Verdict::Likely(_) => {
                            if likely == Verdict::Fits {
                                likely = found;
                            }
                        }
                    }
                }
                likely
            }
            (body, fake) => self.results_inside(body, fake, "the result"),
        }
    }

    fn results_inside(&self, body: &Val, fake: &Val, which: &str) -> Verdict {
        match (body, fake) {
            (Val::Tensor(body), Val::Tensor(fake)) => self.tensors(body, fake, which),
            (Val::OneOf(_), _) | (_, Val::OneOf(_)) => match self.results(body, fake) {
                Verdict::Certain(what) => Verdict::Likely(what),
                verdict => verdict,
            },
            _ => Verdict::Fits,
        }
    }

    fn tensors(&self, body: &Meta, fake: &Meta, which: &str) -> Verdict {
        let shape = match (&body.shape, &fake.shape) {
            (Some(body), Some(fake)) => self.shapes(body, fake, which),
            _ => Verdict::Fits,
        };
        if let Verdict::Certain(_) = shape {
            return shape;
        }
        let dtype = self.dtypes(&body.dtypes, &fake.dtypes, which);
        match (shape, dtype) {
            (_, dtype @ Verdict::Certain(_)) => dtype,
            (Verdict::Likely(a), Verdict::Likely(b)) => Verdict::Likely(format!("{a}, and {b}")),
            (Verdict::Likely(a), _) => Verdict::Likely(a),
            (_, dtype) => dtype,
        }
    }

    fn dtypes(&self, body: &[Dtype], fake: &[Dtype], which: &str) -> Verdict {
        let differ = |a: &Dtype, b: &Dtype| match (a, b) {
            (Dtype::Named(a), Dtype::Named(b)) => Some(a != b),
            (Dtype::Named(_), Dtype::Of(p)) | (Dtype::Of(p), Dtype::Named(_)) => (!self.premises.dtypes.contains(p)).then_some(true),
            (Dtype::Param(p), Dtype::Named(_) | Dtype::Of(_)) | (Dtype::Named(_) | Dtype::Of(_), Dtype::Param(p)) => {
                (!self.premises.dtypes.contains(p)).then_some(true)
            }
            _ => None,
        };
        let (Some(a), Some(b)) = (body.first(), fake.first()) else {
            return Verdict::Fits;
        };
        let all = body.iter().all(|a| fake.iter().all(|b| differ(a, b) == Some(true)));
        if !all {
            return Verdict::Fits;
        }
        let what = format!("{which} is {} where the body's is {}", self.dtype_text(b), self.dtype_text(a));
        match (a, b) {
            (Dtype::Named(_), Dtype::Named(_)) => Verdict::Certain(what),
            _ => Verdict::Likely(what),
        }
    }

    fn shapes(&self, body: &[Piece], fake: &[Piece], which: &str) -> Verdict {
        let (body, fake) = (self.spread(body), self.spread(fake));
        let rank = |pieces: &[Piece]| pieces.iter().all(|p| matches!(p, Piece::One(_))).then_some(pieces.len());
        match (rank(&body), rank(&fake)) {
            (Some(n), Some(m)) if n != m => {
                return Verdict::Certain(format!("{which} has {} where the body's has {}", dimensions(m), dimensions(n)));
            }
            (Some(_), Some(_)) => {}
            _ => return self.unranked(&body, &fake, which),
        }
        let mut likely = Verdict::Fits;
        for (i, pair) in body.iter().zip(&fake).enumerate() {
            let (Piece::One(Some(a)), Piece::One(Some(b))) = pair else {
                continue;
            };
            match self.sizes(a, b) {
                Verdict::Fits => {}
                Verdict::Certain(_) => return Verdict::Certain(self.size_text(which, i, a, b)),
                Verdict::Likely(_) => {
                    if likely == Verdict::Fits {
                        likely = Verdict::Likely(self.size_text(which, i, a, b));
                    }
                }
            }
        }
        likely
    }

    /// Shapes of unknown rank: as long as both have the same number of sizes around the same unknown part.
    fn unranked(&self, body: &[Piece], fake: &[Piece], which: &str) -> Verdict {
        let parts = |pieces: &[Piece]| {
            let rest: Vec<(u16, usize)> = pieces
                .iter()
                .filter_map(|p| if let Piece::Rest(p, a, b) = p { Some((*p, a + b)) } else { None })
                .collect();
            let singles = pieces.len() - rest.len();
            match rest.as_slice() {
                [(p, cut)] => Some((*p, singles as i64 - *cut as i64)),
                _ => None,
            }
        };
        let (Some((p, n)), Some((q, m))) = (parts(body), parts(fake)) else {
            return Verdict::Fits;
        };
        if p != q || n == m && body.len() != fake.len() {
            return Verdict::Fits;
        }
        if n != m {
            let name = self.program.param_name(self.body, p);
            let text = |n: i64| match n {
                0 => format!("as many dimensions as `{name}`"),
                n if n > 0 => format!("{n} more dimensions than `{name}`"),
                n => format!("{} fewer dimensions than `{name}`", -n),
            };
            return Verdict::Certain(format!("{which} has {} where the body's has {}", text(m), text(n)));
        }
        for (i, pair) in body.iter().zip(fake).enumerate() {
            match pair {
                (Piece::One(Some(a)), Piece::One(Some(b))) => match self.sizes(a, b) {
                    Verdict::Fits => {}
                    Verdict::Certain(_) => return Verdict::Certain(self.size_text(which, i, a, b)),
                    Verdict::Likely(_) => return Verdict::Likely(self.size_text(which, i, a, b)),
                },
                (a, b) if a == b => {}
                _ => return Verdict::Fits,
            }
        }
        Verdict::Fits
    }

    /// Two sizes: equal for every try, different for every try, or not to be told.
    fn sizes(&self, a: &Poly, b: &Poly) -> Verdict {
        let (a, b) = (self.settled(a), self.settled(b));
        if a == b {
            return Verdict::Fits;
        }
        let (mut left, mut right) = (Vec::new(), Vec::new());
        a.atoms(&mut left);
        b.atoms(&mut right);
        let from_end = |atom: &Atom| matches!(atom, Atom::Dim(_, n) if *n < 0);
        if left.iter().chain(&right).any(from_end) && !left.iter().chain(&right).all(from_end) {
            return Verdict::Fits;
        }
        let mut all: Vec<Atom> = left.iter().chain(&right).cloned().collect();
        all.sort();
        all.dedup();
        for (round, base) in TRIES.iter().enumerate() {
            let of = |atom: &Atom| {
                let at = all.iter().position(|a| a == atom)? as i64;
                Some(base + at * (128 + round as i64))
            };
            match (a.value(&of), b.value(&of)) {
                (Some(x), Some(y)) if x != y => {}
                _ => return Verdict::Fits,
            }
        }
        let only = |mine: &[Atom], theirs: &[Atom]| mine.iter().filter(|a| !theirs.contains(a)).cloned().collect::<Vec<_>>();
        let (mine, theirs) = (only(&left, &right), only(&right, &left));
        if mine.is_empty() && theirs.is_empty() {
            return Verdict::Certain(String::new());
        }
        // Something that only one side uses may be equal to something that only the other uses.
        let is_number = |atom: &Atom| matches!(atom, Atom::Param(_)) && !self.premises.numbers.contains(atom);
        match (mine.is_empty(), theirs.is_empty()) {
            (false, false) if mine.iter().any(is_number) != theirs.iter().any(is_number) => Verdict::Likely(String::new()),
            (false, true) | (true, false) if mine.iter().chain(&theirs).all(is_number) => Verdict::Likely(String::new()),
            _ => Verdict::Fits,
        }
    }

    /// With what the functions ask of their parameters put in.
    fn settled(&self, poly: &Poly) -> Poly {
        poly.map(&|atom| match atom {
            Atom::Dim(p, n) if *n < 0 => match self.premises.ranks.get(p) {
                Some(&rank) => Poly::atom(Atom::Dim(*p, n + rank as i64)),
                None => Poly::atom(atom.clone()),
            },
            Atom::Rank(p) => match self.premises.ranks.get(p) {
                Some(&rank) => Poly::number(rank as i64),
                None => Poly::atom(atom.clone()),
            },
            Atom::Numel(p) => match self.premises.ranks.get(p) {
                Some(&rank) => {
                    let dims = (0..rank as i64).map(|n| Poly::atom(Atom::Dim(*p, n)));
                    dims.fold(Poly::number(1), |all, dim| all.times(&dim).unwrap_or(all))
                }
                None => Poly::atom(atom.clone()),
            },
            _ => Poly::atom(atom.clone()),
        })
    }

    /// Sizes of parameters whose rank is known, one by one.
    fn spread(&self, pieces: &[Piece]) -> Vec<Piece> {
        let mut out = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Rest(p, front, back) => match self.premises.ranks.get(p) {
                    Some(&rank) if front + back <= rank => {
                        let dims = *front..rank - back;
                        out.extend(dims.map(|n| Piece::One(Some(Poly::atom(Atom::Dim(*p, n as i64))))));
                    }
                    _ => out.push(piece.clone()),
                },
                Piece::One(_) => out.push(piece.clone()),
            }
        }
        out
    }

    fn size_text(&self, which: &str, dim: usize, body: &Poly, fake: &Poly) -> String {
        let name = |atom: &Atom| self.atom_text(atom);
        format!(
            "{which} has the size `{}` in dimension {dim} where the body's has `{}`",
            fake.text(&name),
            body.text(&name)
        )
    }

    fn atom_text(&self, atom: &Atom) -> String {
        let param = |p: u16| self.program.param_name(self.body, p);
        match atom {
            Atom::Param(p) => param(*p).to_string(),
            Atom::Dim(p, n) => format!("{}.shape[{n}]", param(*p)),
            Atom::Rank(p) => format!("{}.ndim", param(*p)),
            Atom::Numel(p) => format!("{}.numel()", param(*p)),
            Atom::Of(..) => String::new(),
        }
    }

    fn dtype_text(&self, dtype: &Dtype) -> String {
        let param = |p: u16| self.program.param_name(self.body, p);
        match dtype {
            Dtype::Named(name) => format!("`torch.{name}`"),
            Dtype::Of(p) => format!("of the dtype of `{}`", param(*p)),
            Dtype::Param(p) => format!("of the dtype `{}`", param(*p)),
        }
    }
}

/// How many results; `None` when that cannot be told.
fn count(val: &Val) -> Option<usize> {
    match val {
        Val::None => Some(0),
        Val::Tensor(_) => Some(1),
        Val::Items(items) => Some(items.len()),
        Val::Unknown | Val::Int(_) | Val::Dtype(_) | Val::Shape(_) | Val::Other | Val::OneOf(_) => None,
    }
}

fn results(n: usize) -> String {
    match n {
        0 => "nothing".to_string(),
        1 => "one result".to_string(),
        n => format!("{n} results"),
    }
}

fn dimensions(n: usize) -> String {
    match n {
        1 => "1 dimension".to_string(),
        n => format!("{n} dimensions"),
    }
}
