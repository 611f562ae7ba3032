//! Which parameters are pointers and which are numbers: annotations, defaults, and what the body does with them.

use super::at;
use super::callee::Callee;
use super::flow::Flow;
use super::value::{Abstract, Base};
use crate::facts::{BinaryOp, Call, CompareOp, Const, Op, UnaryOp, ValueId};
use crate::knowledge::triton::{Derived, Effect};
use crate::link::resolve::Resolver;
use crate::program::FunctionRef;

/// What a parameter is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Not known.
    #[default]
    Unknown,
    /// A number, a flag, a type, a function: nothing that is written through.
    Scalar,
    /// A pointer, a descriptor, a block pointer.
    Pointer,
}

/// What annotation and default say.
pub(super) fn declared(resolver: &Resolver, f: FunctionRef, param: u16) -> Kind {
    let function = resolver.function(f);
    let Some(p) = function.params.get(param as usize) else {
        return Kind::Unknown;
    };
    let parent = at(f.file, function.parent);
    if let Some(annotation) = p.annotation {
        let text = resolver.files[f.file.index()].source.slice(annotation.span);
        let text = text.trim_matches(['"', '\'']);
        let last = text.split('[').next().unwrap_or(text).rsplit('.').next().unwrap_or(text);
        match last {
            "constexpr" | "int" | "float" | "bool" | "str" | "dtype" | "constexpr_type" => return Kind::Scalar,
            "pointer_type" | "const" | "tensor_descriptor" | "TensorDescriptor" => return Kind::Pointer,
            _ if text.starts_with('*') => return Kind::Pointer,
            _ if is_number_type(last) => return Kind::Scalar,
            _ => {}
        }
    }
    match p.default.map(|d| resolver.body(parent).op(d)) {
        Some(Op::Const(Const::Bool(_) | Const::Int(_) | Const::Float(_) | Const::Str(_))) | Some(Op::Unary(UnaryOp::Minus, _)) => {
            Kind::Scalar
        }
        _ => Kind::Unknown,
    }
}

/// `int32`, `i64`, `uint8`, `fp32`, …
fn is_number_type(name: &str) -> bool {
    is_integer_type(name) || is_sized(name, &["fp", "float", "bf", "bfloat"])
}

/// `int32`, `i64`, `uint8`, …
pub(super) fn is_integer_type(name: &str) -> bool {
    is_sized(name, &["i", "u", "int", "uint"])
}

fn is_sized(name: &str, words: &[&str]) -> bool {
    let digits = name.trim_start_matches(|c: char| c.is_ascii_lowercase());
    words.contains(&&name[..name.len() - digits.len()]) && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a name reads like that of a number, or like that of a pointer.
pub(super) fn by_name(name: &str) -> Kind {
    let lower = name.to_ascii_lowercase();
    if lower.contains("ptr") || lower.contains("pointer") || lower.starts_with("p_") {
        return Kind::Pointer;
    }
    let number = |word: &str| {
        matches!(
            word,
            "stride"
                | "strides"
                | "offset"
                | "offsets"
                | "off"
                | "offs"
                | "idx"
                | "index"
                | "id"
                | "pid"
                | "n"
                | "num"
                | "len"
                | "size"
                | "dim"
                | "start"
                | "end"
                | "step"
                | "row"
                | "col"
                | "rows"
                | "cols"
                | "head"
                | "batch"
                | "block"
                | "count"
                | "pos"
                | "base"
                | "i"
                | "j"
                | "k"
                | "m"
                | "t"
        )
    };
    if lower.split('_').any(number) {
        Kind::Scalar
    } else {
        Kind::Unknown
    }
}

impl Flow<'_, '_, '_> {
    /// Learns kinds from what the body does. True when something was learnt.
    pub(super) fn learn_kinds(&mut self) -> bool {
        let before = self.kinds.clone();
        let body = self.body;
        for (id, value) in body.iter() {
            match value.op {
                Op::Binary(op, a, b) | Op::Augment(op, a, b) if op != BinaryOp::Add && op != BinaryOp::Sub => {
                    self.scalar(a);
                    self.scalar(b);
                }
                Op::Unary(UnaryOp::Minus | UnaryOp::Plus | UnaryOp::Invert, a) => self.scalar(a),
                Op::Compare(CompareOp::Lt | CompareOp::LtE | CompareOp::Gt | CompareOp::GtE, a, b) => {
                    self.scalar(a);
                    self.scalar(b);
                }
                Op::Compare(CompareOp::Eq | CompareOp::NotEq, a, b) => {
                    for (x, y) in [(a, b), (b, a)] {
                        if matches!(
                            body.op(x),
                            Op::Const(Const::Int(_) | Const::Bool(_) | Const::Str(_) | Const::Float(_))
                        ) {
                            self.scalar(y);
                        }
                    }
                }
                Op::Slice(a, b, c) => [a, b, c].into_iter().for_each(|x| self.scalar(x)),
                Op::Attr(object, name) if self.text(name) == "element_ty" => {
                    // `ptr.dtype.element_ty`
                    if let Op::Attr(pointer, _) = body.op(object) {
                        self.pointer(pointer);
                    }
                }
                Op::Call(call) => {
                    let call = body.call(call);
                    for callee in self.callees(id, call).iter() {
                        self.learn_from_call(callee, call);
                    }
                }
                _ => {}
            }
        }
        before != self.kinds
    }

    fn learn_from_call(&mut self, callee: &Callee, call: &Call) {
        match callee {
            Callee::Known(effect) => self.learn_from_known(effect, call, None),
            Callee::Method(effect, object) => self.learn_from_known(effect, call, Some(*object)),
            Callee::Numbers => call.args.iter().for_each(|arg| self.scalar(arg.value)),
            Callee::Project(f, object) => {
                let summary = self.analysis.summary(*f);
                let bound = self.bind(*f, call, *object);
                for (i, argument) in bound.iter().enumerate() {
                    match summary.kinds.get(i) {
                        Some(Kind::Scalar) => self.scalar_of(&argument.value),
                        Some(Kind::Pointer) => self.pointer_of(&argument.value),
                        Some(Kind::Unknown) | None => {}
                    }
                }
            }
            Callee::Class(_) | Callee::Parameter(_) | Callee::Pure | Callee::Unknown(_) | Callee::UnknownMethod(..) => {}
        }
    }

    fn learn_from_known(&mut self, effect: &Effect, call: &Call, object: Option<ValueId>) {
        let arguments = self.bind_known(effect, call, object);
        for (i, value) in &arguments.named {
            if effect.reads.contains(i) || effect.writes.contains(i) {
                let address = self.value(*value).clone();
                self.pointer_of(&address);
            }
        }
        if matches!(effect.result, Derived::Descriptor(_)) || effect.params.first().is_some_and(|p| **p == *"pointer") {
            for value in &arguments.rest {
                let number = self.value(*value).flat();
                self.scalar_of(&number);
            }
        }
    }

    fn scalar(&mut self, value: ValueId) {
        let number = self.value(value).clone();
        self.scalar_of(&number);
    }

    fn scalar_of(&mut self, number: &Abstract) {
        for base in number.alternatives.iter().flat_map(|a| &a.addends) {
            if let Base::Param(p, path) = base
                && path.is_empty()
                && self.kinds[*p as usize] == Kind::Unknown
            {
                self.kinds[*p as usize] = Kind::Scalar;
            }
        }
    }

    fn pointer(&mut self, value: ValueId) {
        let address = self.value(value).clone();
        self.pointer_of(&address);
    }

    /// The only base that is left of an address is a pointer.
    fn pointer_of(&mut self, address: &Abstract) {
        for alternative in &address.alternatives {
            let reduced = alternative.reduced(&self.kinds);
            if let [Base::Param(p, path)] = reduced.addends.as_slice()
                && path.is_empty()
                && self.kinds[*p as usize] == Kind::Unknown
            {
                self.kinds[*p as usize] = Kind::Pointer;
            }
        }
    }
}
