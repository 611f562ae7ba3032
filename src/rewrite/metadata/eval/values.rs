//! Values as far as metadata goes, and what operations on them give.

use super::super::poly::{Atom, Function as Fun, Poly};
use crate::facts::BinaryOp;

const MOST_CHOICES: usize = 8;

/// A value, as far as metadata goes.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::rewrite::metadata) enum Val {
    /// Not known.
    Unknown,
    /// `None`
    None,
    /// A whole number.
    Int(Poly),
    /// A dtype.
    Dtype(Dtype),
    /// A tuple or list of known length.
    Items(Vec<Val>),
    /// The sizes of a tensor, or part of them.
    Shape(Vec<Piece>),
    /// A tensor.
    Tensor(Meta),
    /// Some other thing that is no tensor.
    Other,
    /// One of these.
    OneOf(Vec<Val>),
}

/// A dtype.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::rewrite::metadata) enum Dtype {
    /// `torch.float16`
    Named(String),
    /// That of a tensor parameter.
    Of(u16),
    /// A dtype parameter.
    Param(u16),
}

/// One size, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::rewrite::metadata) enum Piece {
    /// One.
    One(Option<Poly>),
    /// The sizes of a tensor parameter, without some at the front and at the back.
    Rest(u16, usize, usize),
}

/// Metadata of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::rewrite::metadata) struct Meta {
    /// `None`: not even the rank is known.
    pub(in crate::rewrite::metadata) shape: Option<Vec<Piece>>,
    /// The possible ones; empty when not known.
    pub(in crate::rewrite::metadata) dtypes: Vec<Dtype>,
}

pub(super) fn one_of(vals: Vec<Val>) -> Val {
    let mut out: Vec<Val> = Vec::new();
    for val in vals {
        match val {
            Val::OneOf(inner) => out.extend(inner),
            val => out.push(val),
        }
    }
    let mut unique: Vec<Val> = Vec::new();
    for val in out {
        if !unique.contains(&val) {
            unique.push(val);
        }
    }
    match unique.len() {
        1 => unique.remove(0),
        n if n > MOST_CHOICES => Val::Unknown,
        _ => Val::OneOf(unique),
    }
}

pub(super) fn binary(op: BinaryOp, a: Val, b: Val) -> Val {
    match (op, a, b) {
        (op, Val::Int(a), Val::Int(b)) => whole(op, &a, &b).map_or(Val::Unknown, Val::Int),
        (BinaryOp::Add, a, b) => match (sizes(&a), sizes(&b)) {
            (Some(mut a), Some(b)) => {
                a.extend(b);
                Val::Shape(a)
            }
            _ => Val::Unknown,
        },
        _ => Val::Unknown,
    }
}

fn whole(op: BinaryOp, a: &Poly, b: &Poly) -> Option<Poly> {
    match op {
        BinaryOp::Add => a.add(b, 1),
        BinaryOp::Sub => a.add(b, -1),
        BinaryOp::Mul => a.times(b),
        BinaryOp::FloorDiv => Some(Poly::of(Fun::FloorDiv, vec![a.clone(), b.clone()])),
        BinaryOp::Mod => Some(Poly::of(Fun::Mod, vec![a.clone(), b.clone()])),
        BinaryOp::Pow | BinaryOp::LShift => match (a.as_number()?, u32::try_from(b.as_number()?).ok()?) {
            (a, b) if op == BinaryOp::Pow => a.checked_pow(b).map(Poly::number),
            (a, b) => a.checked_shl(b).map(Poly::number),
        },
        _ => None,
    }
}

/// The sizes that a value stands for, as an argument of an allocation.
pub(super) fn sizes(val: &Val) -> Option<Vec<Piece>> {
    match val {
        Val::Shape(pieces) => Some(pieces.clone()),
        Val::Items(items) => items
            .iter()
            .map(|item| match item {
                Val::Int(n) => Some(Piece::One(Some(n.clone()))),
                Val::Unknown | Val::OneOf(_) => Some(Piece::One(None)),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

/// One size of a shape; negative from the end.
pub(super) fn size_at(pieces: &[Piece], n: i64) -> Val {
    let dim = |piece: &Piece, n: i64| match piece {
        Piece::One(Some(poly)) => Val::Int(poly.clone()),
        Piece::One(None) => Val::Unknown,
        Piece::Rest(p, front, back) => {
            let at = if n < 0 { n - *back as i64 } else { n + *front as i64 };
            Val::Int(Poly::atom(Atom::Dim(*p, at)))
        }
    };
    if let [only] = pieces {
        return match only {
            Piece::One(_) if n == 0 || n == -1 => dim(only, 0),
            Piece::One(_) => Val::Unknown,
            Piece::Rest(..) => dim(only, n),
        };
    }
    let singles = pieces.iter().all(|p| matches!(p, Piece::One(_)));
    if singles {
        let at = if n < 0 { n + pieces.len() as i64 } else { n };
        return usize::try_from(at)
            .ok()
            .and_then(|at| pieces.get(at))
            .map_or(Val::Unknown, |p| dim(p, 0));
    }
    let mut left = if n < 0 { -n - 1 } else { n };
    let mut ordered: Vec<&Piece> = pieces.iter().collect();
    if n < 0 {
        ordered.reverse();
    }
    for piece in ordered {
        match piece {
            Piece::One(_) if left == 0 => return dim(piece, 0),
            Piece::One(_) => left -= 1,
            Piece::Rest(..) => return Val::Unknown,
        }
    }
    Val::Unknown
}

pub(super) fn slice(pieces: &[Piece], lower: Option<i64>, upper: Option<i64>) -> Val {
    if let [Piece::Rest(p, front, back)] = pieces {
        return match (lower.unwrap_or(0), upper) {
            (lower, None) if lower >= 0 => Val::Shape(vec![Piece::Rest(*p, front + lower as usize, *back)]),
            (lower, Some(upper)) if lower >= 0 && upper < 0 => {
                Val::Shape(vec![Piece::Rest(*p, front + lower as usize, back + upper.unsigned_abs() as usize)])
            }
            (lower, Some(upper)) if lower >= 0 && upper >= lower && *front == 0 => {
                Val::Shape((lower..upper).map(|n| Piece::One(Some(Poly::atom(Atom::Dim(*p, n))))).collect())
            }
            (lower, None) if lower < 0 && *back == 0 => {
                Val::Shape((lower..0).map(|n| Piece::One(Some(Poly::atom(Atom::Dim(*p, n))))).collect())
            }
            _ => Val::Unknown,
        };
    }
    if pieces.iter().any(|p| matches!(p, Piece::Rest(..))) {
        return Val::Unknown;
    }
    let length = pieces.len() as i64;
    let at = |n: i64| (if n < 0 { n + length } else { n }).clamp(0, length) as usize;
    let (from, to) = (at(lower.unwrap_or(0)), upper.map_or(pieces.len(), at));
    Val::Shape(if from < to { pieces[from..to].to_vec() } else { Vec::new() })
}

pub(super) fn dtype_of(meta: &Meta) -> Val {
    match meta.dtypes.as_slice() {
        [] => Val::Unknown,
        [one] => Val::Dtype(one.clone()),
        many => Val::OneOf(many.iter().cloned().map(Val::Dtype).collect()),
    }
}

pub(super) fn rank_of(meta: &Meta) -> Val {
    let Some(shape) = &meta.shape else { return Val::Unknown };
    match shape.as_slice() {
        [Piece::Rest(p, 0, 0)] => Val::Int(Poly::atom(Atom::Rank(*p))),
        pieces if pieces.iter().all(|p| matches!(p, Piece::One(_))) => Val::Int(Poly::number(pieces.len() as i64)),
        _ => Val::Unknown,
    }
}

/// How many elements sizes stand for.
pub(super) fn numel(pieces: &[Piece]) -> Val {
    if let [Piece::Rest(p, 0, 0)] = pieces {
        return Val::Int(Poly::atom(Atom::Numel(*p)));
    }
    let mut product = Poly::number(1);
    for piece in pieces {
        let Piece::One(Some(size)) = piece else { return Val::Unknown };
        let Some(next) = product.times(size) else { return Val::Unknown };
        product = next;
    }
    Val::Int(product)
}

pub(super) fn transposed(meta: &Meta, dims: &[Val]) -> Val {
    let unknown = Val::Tensor(Meta {
        shape: None,
        dtypes: meta.dtypes.clone(),
    });
    let Some(shape) = &meta.shape else { return unknown };
    if shape.iter().any(|p| matches!(p, Piece::Rest(..))) {
        return unknown;
    }
    let at = |v: &Val| match v {
        Val::Int(n) => n.as_number().map(|n| if n < 0 { n + shape.len() as i64 } else { n }),
        _ => None,
    };
    let [Some(a), Some(b)] = [dims.first().and_then(at), dims.get(1).and_then(at)] else {
        return unknown;
    };
    let (Ok(a), Ok(b)) = (usize::try_from(a), usize::try_from(b)) else {
        return unknown;
    };
    let mut shape = shape.clone();
    if a >= shape.len() || b >= shape.len() {
        return unknown;
    }
    shape.swap(a, b);
    Val::Tensor(Meta {
        shape: Some(shape),
        dtypes: meta.dtypes.clone(),
    })
}

/// Part of a tensor: something of its dtype.
pub(super) fn unknown_tensor(val: &Val) -> Val {
    match val {
        Val::Tensor(meta) => Val::Tensor(Meta {
            shape: None,
            dtypes: meta.dtypes.clone(),
        }),
        _ => Val::Unknown,
    }
}

/// `x[a:b]`
pub(super) fn first_size_unknown(meta: &Meta) -> Val {
    let shape = meta.shape.as_ref().map(|pieces| match pieces.as_slice() {
        [Piece::Rest(p, front, back), rest @ ..] => {
            let mut out = vec![Piece::One(None), Piece::Rest(*p, front + 1, *back)];
            out.extend(rest.iter().cloned());
            out
        }
        [_, rest @ ..] => std::iter::once(Piece::One(None)).chain(rest.iter().cloned()).collect(),
        [] => Vec::new(),
    });
    Val::Tensor(Meta {
        shape,
        dtypes: meta.dtypes.clone(),
    })
}

pub(super) fn is_dtype(name: &str) -> bool {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    matches!(
        letters,
        "float" | "int" | "uint" | "bfloat" | "complex" | "bool" | "half" | "double" | "long" | "short"
    ) || name.starts_with("float8_")
        || name.starts_with("float4_")
        || matches!(name, "qint8" | "quint8" | "qint32")
}

/// One name for each dtype.
pub(super) fn canonical(name: &str) -> &str {
    match name {
        "float" => "float32",
        "half" => "float16",
        "double" => "float64",
        "long" => "int64",
        "int" => "int32",
        "short" => "int16",
        name => name,
    }
}
