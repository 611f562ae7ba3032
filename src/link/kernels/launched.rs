//! What launches say of a kernel's parameters: numbers are numbers, annotated tensors are pointers.

use super::kinds::{self, Kind};
use super::summary::{Analysis, Votes};
use crate::facts::{ArgKind, Call, Const, FunctionId, Op, UnaryOp, ValueId};
use crate::link::reach;
use crate::program::FunctionRef;
use rustc_hash::FxHashSet;

const DEEPEST: u32 = 12;

impl Analysis<'_, '_> {
    /// Asks the launches of kernels whose addresses have several possible bases, and of those that call such functions.
    pub(super) fn ask_launches(&mut self) {
        let wanted = self.open_to_question();
        if wanted.is_empty() {
            return;
        }
        let resolver = self.resolver;
        let holders = reach::holders(resolver, &wanted);
        for file in resolver.files_where(|id, words| holders.is_in(id, words)) {
            for (i, function) in resolver.facts(file).functions.iter().enumerate() {
                let at = super::at(file, FunctionId(i as u32));
                for call in &function.body.calls {
                    if let Op::Index(kernel, _) = function.body.op(call.callee)
                        && matches!(
                            function.body.op(kernel),
                            Op::Free(_) | Op::Import(_) | Op::Attr(..) | Op::Select(..) | Op::Phi(_)
                        )
                    {
                        for launched in resolver.functions(at, kernel) {
                            if wanted.contains(&launched) {
                                self.launched(at, call, launched);
                            }
                        }
                    }
                }
            }
        }
    }

    fn open_to_question(&self) -> FxHashSet<FunctionRef> {
        let mut todo = self.ambiguous();
        let mut wanted = FxHashSet::default();
        while let Some(f) = todo.pop() {
            if wanted.insert(f) {
                let votes = self.votes.get(&f).into_iter().flatten();
                todo.extend(votes.flat_map(|v| &v.from).map(|(caller, _)| *caller));
            }
        }
        wanted
    }

    fn launched(&mut self, at: FunctionRef, call: &Call, kernel: FunctionRef) {
        let params = &self.resolver.function(kernel).params;
        let mut votes = self.votes.remove(&kernel).unwrap_or_default();
        votes.resize(params.len(), Votes::default());
        for (i, arg) in call.args.iter().enumerate() {
            let param = match arg.kind {
                ArgKind::Positional => Some(i),
                ArgKind::Keyword(name) => {
                    let name = self.resolver.text(at.file, name);
                    params.iter().position(|p| self.resolver.text(kernel.file, p.name) == name)
                }
                ArgKind::Star | ArgKind::StarStar => {
                    votes.iter_mut().for_each(|v| v.unknown = true);
                    break;
                }
            };
            let Some(vote) = param.and_then(|p| votes.get_mut(p)) else {
                continue;
            };
            if self.resolver.body(at).op(arg.value) == Op::Const(Const::None) {
                continue;
            }
            match self.host_kind(at, arg.value, DEEPEST) {
                Kind::Scalar => vote.scalar = true,
                Kind::Pointer => vote.pointer = true,
                Kind::Unknown => vote.unknown = true,
            }
        }
        self.votes.insert(kernel, votes);
    }

    /// What a value of host code is.
    fn host_kind(&self, at: FunctionRef, value: ValueId, depth: u32) -> Kind {
        let Some(depth) = depth.checked_sub(1) else { return Kind::Unknown };
        let body = self.resolver.body(at);
        let all_numbers = |values: &[ValueId]| match values.iter().all(|&v| self.host_kind(at, v, depth) == Kind::Scalar) {
            true => Kind::Scalar,
            false => Kind::Unknown,
        };
        match body.op(value) {
            Op::Const(Const::Int(_) | Const::Bool(_) | Const::Float(_) | Const::Str(_)) => Kind::Scalar,
            Op::Unary(UnaryOp::Not, _) => Kind::Scalar,
            Op::Unary(_, a) | Op::Annotated(_, a) => self.host_kind(at, a, depth),
            Op::Binary(_, a, b) | Op::Augment(_, a, b) | Op::Select(_, a, b) => {
                match (self.host_kind(at, a, depth), self.host_kind(at, b, depth)) {
                    (Kind::Scalar, Kind::Scalar) => Kind::Scalar,
                    (Kind::Pointer, _) | (_, Kind::Pointer) => Kind::Pointer,
                    _ => Kind::Unknown,
                }
            }
            Op::Phi(items) | Op::Or(items) => {
                let ahead: Vec<ValueId> = body.items(items).iter().copied().filter(|&v| v < value).collect();
                all_numbers(&ahead)
            }
            Op::Param(p) => match kinds::declared(self.resolver, at, p) {
                Kind::Unknown if self.is_tensor(at, p) => Kind::Pointer,
                kind => kind,
            },
            Op::Index(object, _)
            | Op::Unpack {
                value: object,
                rest: false,
                ..
            } if self.is_shape(at, object) => Kind::Scalar,
            Op::Iterate(object) => match body.op(object) {
                Op::Call(call) => match body.op(body.call(call).callee) {
                    Op::Free(name) if self.resolver.text(at.file, name) == "range" => Kind::Scalar,
                    _ => Kind::Unknown,
                },
                _ => Kind::Unknown,
            },
            Op::Call(call) => match body.op(body.call(call).callee) {
                Op::Free(name) => match self.resolver.text(at.file, name) {
                    "len" | "int" | "float" | "bool" | "round" => Kind::Scalar,
                    "min" | "max" | "abs" => all_numbers(&body.call(call).args.iter().map(|a| a.value).collect::<Vec<_>>()),
                    _ => Kind::Unknown,
                },
                Op::Attr(_, name) => match self.resolver.text(at.file, name) {
                    "stride" | "size" | "numel" | "item" | "dim" | "element_size" | "cdiv" | "next_power_of_2" => Kind::Scalar,
                    _ => Kind::Unknown,
                },
                _ => Kind::Unknown,
            },
            _ if self.bounds_a_slice(at, value) => Kind::Scalar,
            _ => Kind::Unknown,
        }
    }

    /// `x[value:…]`
    fn bounds_a_slice(&self, at: FunctionRef, value: ValueId) -> bool {
        self.resolver
            .body(at)
            .iter()
            .any(|(_, v)| matches!(v.op, Op::Slice(a, b, c) if [a, b, c].contains(&value)))
    }

    /// `x.shape`, `x.size()`, `x.stride()`
    fn is_shape(&self, at: FunctionRef, value: ValueId) -> bool {
        let body = self.resolver.body(at);
        let name = match body.op(value) {
            Op::Attr(_, name) => name,
            Op::Call(call) => match body.op(body.call(call).callee) {
                Op::Attr(_, name) => name,
                _ => return false,
            },
            _ => return false,
        };
        matches!(self.resolver.text(at.file, name), "shape" | "size" | "stride")
    }

    fn is_tensor(&self, at: FunctionRef, param: u16) -> bool {
        let annotation = self.resolver.function(at).params.get(param as usize).and_then(|p| p.annotation);
        annotation.is_some_and(|a| self.resolver.files[at.file.index()].source.slice(a.span).contains("Tensor"))
    }
}
