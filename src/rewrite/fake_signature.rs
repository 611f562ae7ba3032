//! Whether a fake can be called as its op is: by position, keyword-only arguments by name, defaults left out.

use crate::facts::{Const, Function, Op as Code, Param, ParamKind};
use crate::program::{FunctionRef, Program};
use crate::source::Place;

/// What keeps a fake from being called as its op is.
pub fn signature_faults(program: &Program, own: FunctionRef, fake: FunctionRef) -> Vec<SignatureFault> {
    Pair { program, own, fake }.faults()
}

/// Star parameters: what the function takes is decided elsewhere.
pub fn takes_stars(program: &Program, f: FunctionRef) -> bool {
    let stars = |p: &Param| matches!(p.kind, ParamKind::Star | ParamKind::StarStar);
    program.function(f).params.iter().any(stars)
}

/// An implementation and its fake.
struct Pair<'a> {
    program: &'a Program,
    own: FunctionRef,
    fake: FunctionRef,
}

/// One thing that keeps a fake from being called as its op is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureFault {
    /// What is wrong, as a clause.
    pub what: String,
    /// A default that is missing: the parameters of the fake and of the implementation.
    pub default: Option<(u16, u16)>,
    /// Where.
    pub place: Place,
}

impl<'a> Pair<'a> {
    fn own(&self) -> &'a Function {
        self.program.function(self.own)
    }

    fn other(&self) -> &'a Function {
        self.program.function(self.fake)
    }

    fn place(&self, param: &Param) -> Place {
        Place {
            file: self.fake.file,
            span: param.span,
        }
    }

    fn faults(&self) -> Vec<SignatureFault> {
        let (own, other) = (self.own(), self.other());
        let stars = |f: &Function, kind| f.params.iter().any(|p| p.kind == kind);
        let bound = other.class.is_some() || own.class.is_some();
        if bound || own.params.iter().any(|p| matches!(p.kind, ParamKind::Star | ParamKind::StarStar)) {
            return Vec::new();
        }
        let (star, keywords) = (stars(other, ParamKind::Star), stars(other, ParamKind::StarStar));
        let mut faults = Vec::new();
        self.missing(star, keywords, &mut faults);
        self.extra(&mut faults);
        self.defaults(&mut faults);
        faults
    }

    /// Parameters of the op that the fake does not take.
    fn missing(&self, star: bool, keywords: bool, faults: &mut Vec<SignatureFault>) {
        let taken = positional(self.other()).count();
        let header = Place {
            file: self.fake.file,
            span: self.other().params_span,
        };
        let name = |p: u16| self.program.param_name(self.own, p);
        if !star {
            let count = positional(self.own()).count().saturating_sub(taken);
            let named = |p: &u16| {
                let mut others = positional(self.other()).map(|(_, q)| self.program.name(self.fake.file, q.name));
                others.any(|other| other == name(*p))
            };
            let unnamed: Vec<u16> = positional(self.own()).map(|(p, _)| p).filter(|p| !named(p)).collect();
            let last = positional(self.own()).map(|(p, _)| p).skip(taken);
            let left: Vec<u16> = if unnamed.len() == count { unnamed } else { last.collect() };
            let left: Vec<String> = left.into_iter().map(|p| format!("`{}`", name(p))).collect();
            if !left.is_empty() {
                faults.push(SignatureFault {
                    what: format!("does not take {}", left.join(", ")),
                    default: None,
                    place: header,
                });
            }
        }
        for (p, _) in keyword_only(self.own()) {
            let there = self
                .other()
                .params
                .iter()
                .any(|q| q.kind != ParamKind::PositionalOnly && self.program.name(self.fake.file, q.name) == name(p));
            if !there && !keywords {
                faults.push(SignatureFault {
                    what: format!("does not take `{}`, which is passed by name", name(p)),
                    default: None,
                    place: header,
                });
            }
        }
    }

    /// Parameters of the fake that nobody passes.
    fn extra(&self, faults: &mut Vec<SignatureFault>) {
        let given = positional(self.own()).count();
        let by_name = |param: &Param| {
            let name = self.program.name(self.fake.file, param.name);
            keyword_only(self.own()).any(|(p, _)| self.program.param_name(self.own, p) == name)
        };
        let more = positional(self.other()).skip(given).chain(keyword_only(self.other()));
        for (_, param) in more {
            if param.default.is_none() && !by_name(param) {
                faults.push(SignatureFault {
                    what: format!(
                        "asks for `{}`, which the op does not have",
                        self.program.name(self.fake.file, param.name)
                    ),
                    default: None,
                    place: self.place(param),
                });
            }
        }
    }

    fn defaults(&self, faults: &mut Vec<SignatureFault>) {
        let by_position = positional(self.own()).zip(positional(self.other()));
        let by_name = keyword_only(self.own()).filter_map(|(p, own)| {
            let name = self.program.param_name(self.own, p);
            let same = |q: &(u16, &Param)| self.program.name(self.fake.file, q.1.name) == name;
            Some(((p, own), keyword_only(self.other()).find(same)?))
        });
        for ((p, own), (q, other)) in by_position.chain(by_name) {
            let name = self.program.param_name(self.own, p);
            match (own.default, other.default) {
                (Some(_), None) => faults.push(SignatureFault {
                    what: format!("has no default for `{name}`, which a call of the op may leave out"),
                    default: Some((q, p)),
                    place: self.place(other),
                }),
                (Some(_), Some(_)) if self.is_used(other) => {
                    if let Some((mine, theirs)) = self.differ(own, other) {
                        faults.push(SignatureFault {
                            what: format!("has the default `{theirs}` for `{name}`, and the op has `{mine}`"),
                            default: None,
                            place: self.place(other),
                        });
                    }
                }
                _ => {}
            }
        }
    }

    /// The fake speaks of the parameter.
    fn is_used(&self, param: &Param) -> bool {
        self.other().body.statements.iter().any(|s| s.uses.contains(&param.name))
    }

    /// Both defaults, where both are literals and differ.
    fn differ(&self, own: &Param, other: &Param) -> Option<(String, String)> {
        let literal = |at: FunctionRef, param: &Param| {
            let parent = &self.program.file(at.file).facts.function(self.program.function(at).parent).body;
            match parent.op(param.default?) {
                Code::Const(constant) => Some((constant, self.program.file(at.file).source.slice(param.default_span?).to_string())),
                _ => None,
            }
        };
        let ((a, mine), (b, theirs)) = (literal(self.own, own)?, literal(self.fake, other)?);
        let text = |constant: Const| match constant {
            Const::Float(_) | Const::BigNumber(_) | Const::Str(_) | Const::Bytes => None,
            other => Some(other),
        };
        let same = match (text(a), text(b)) {
            (Some(a), Some(b)) => a == b,
            _ => {
                mine == theirs
                    || mine
                        .parse::<f64>()
                        .ok()
                        .zip(theirs.parse::<f64>().ok())
                        .is_some_and(|(a, b)| a == b)
            }
        };
        (!same).then_some((mine, theirs))
    }
}

fn positional(function: &Function) -> impl Iterator<Item = (u16, &Param)> {
    let params = function.params.iter().enumerate().map(|(i, p)| (i as u16, p));
    params.filter(|(_, p)| matches!(p.kind, ParamKind::Positional | ParamKind::PositionalOnly))
}

fn keyword_only(function: &Function) -> impl Iterator<Item = (u16, &Param)> {
    let params = function.params.iter().enumerate().map(|(i, p)| (i as u16, p));
    params.filter(|(_, p)| p.kind == ParamKind::KeywordOnly)
}
