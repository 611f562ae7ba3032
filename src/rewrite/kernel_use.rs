//! What a kernel's code says of the type of one of its parameters.

use super::evidence::Evidence;
use super::scope::Scope;
use super::types::Types;
use crate::facts::{ArgKind, BinaryOp, Body, Call, Const, GuardKind, Items, Op, UnaryOp, ValueId};
use crate::program::{FunctionRef, Kernel};

/// Evidence from a kernel's use of a parameter.
pub(super) fn of_param(types: &Types, kernel: &Kernel, param: u16, depth: u32) -> Evidence {
    let pointer = kernel.reads.contains(&param) || kernel.writes.iter().any(|w| w.param == param);
    let by_address = kernel.writes_pointees.iter().any(|w| w.param == param);
    let mut found = of_function(types, kernel.function, param, depth);
    found.used = true;
    if pointer && !by_address {
        // A number may be made an address; only the kernel's caller knows which it is then.
        found.silent |= found.number | found.int;
        found.tensor = !(found.number | found.int);
        found.int = false;
        found.number = false;
    }
    found.silent |= by_address;
    found
}

/// Evidence from any device function.
fn of_function(types: &Types, at: FunctionRef, param: u16, depth: u32) -> Evidence {
    let function = types.program.function(at);
    let mut found = Evidence::default();
    let Some(own) = function.params.get(param as usize) else {
        return Evidence { silent: true, ..found };
    };
    if let Some(annotation) = own.annotation {
        let text = types.program.file(at.file).source.slice(annotation.span);
        match text.trim_matches(['"', '\'']).rsplit('.').next().unwrap_or(text) {
            "int32" | "int64" | "uint32" | "uint64" | "int8" | "int16" | "int" => found.int = true,
            "float32" | "float64" | "float16" | "float" => found.number = true,
            _ => {}
        }
    }
    let device = Device {
        types,
        at,
        body: &function.body,
    };
    device.scan(param, depth, &mut found);
    found
}

struct Device<'a> {
    types: &'a Types<'a>,
    at: FunctionRef,
    body: &'a Body,
}

impl Device<'_> {
    fn last_name(&self, callee: ValueId) -> &str {
        match self.body.op(callee) {
            Op::Attr(_, name) | Op::Free(name) => self.types.program.name(self.at.file, name),
            _ => "",
        }
    }

    fn call(&self, value: ValueId) -> Option<&Call> {
        match self.body.op(value) {
            Op::Call(call) => Some(self.body.call(call)),
            _ => None,
        }
    }

    /// By value: certainly made of integers.
    fn integers(&self) -> Vec<bool> {
        let mut ints = vec![false; self.body.values.len()];
        for (v, value) in self.body.iter() {
            ints[v.index()] = match value.op {
                Op::Const(Const::Int(_)) => true,
                Op::Binary(BinaryOp::Div, ..) => false,
                // `tl.program_id(0) * BLOCK`: blocks have whole sizes.
                Op::Binary(BinaryOp::Mul, a, b) if self.is_program_id(a) => ints[b.index()] || matches!(self.body.op(b), Op::Param(_)),
                Op::Binary(BinaryOp::Mul, a, b) if self.is_program_id(b) => ints[a.index()] || matches!(self.body.op(a), Op::Param(_)),
                Op::Binary(_, a, b) | Op::Augment(_, a, b) => ints[a.index()] && ints[b.index()],
                Op::Index(object, _) => ints[object.index()],
                Op::Phi(items) => self
                    .body
                    .items(items)
                    .first()
                    .is_some_and(|first| first.index() < v.index() && ints[first.index()]),
                Op::Call(call) => {
                    let call = self.body.call(call);
                    let of_int = |a: ValueId| matches!(self.last_name(a), "int32" | "int64" | "uint32" | "uint64");
                    match self.last_name(call.callee) {
                        "program_id" | "arange" | "num_programs" | "cdiv" => true,
                        "to" | "cast" => call.args.iter().any(|a| of_int(a.value)),
                        _ => false,
                    }
                }
                _ => false,
            };
        }
        ints
    }

    fn is_program_id(&self, value: ValueId) -> bool {
        let Some(call) = self.call(value) else { return false };
        match (self.last_name(call.callee), self.body.op(call.callee)) {
            ("program_id", _) => true,
            ("to", Op::Attr(object, _)) => self.call(object).is_some_and(|c| self.last_name(c.callee) == "program_id"),
            _ => false,
        }
    }

    fn scan(&self, param: u16, depth: u32, found: &mut Evidence) {
        let body = self.body;
        let ints = self.integers();
        let mut is = vec![false; body.values.len()];
        // Sums and products that the parameter is part of: used as an offset, they make it an integer.
        let mut part = vec![false; body.values.len()];
        for (v, value) in body.iter() {
            let any = |items: Items| body.items(items).iter().any(|i| is[i.index()]);
            let here = match value.op {
                Op::Param(p) => p == param,
                Op::Select(_, a, b) => is[a.index()] || is[b.index()],
                Op::Phi(items) | Op::And(items) | Op::Or(items) => any(items),
                _ => false,
            };
            is[v.index()] = here;
            let p = |v: ValueId| is[v.index()] || part[v.index()];
            part[v.index()] = match value.op {
                Op::Binary(BinaryOp::Mul | BinaryOp::Add | BinaryOp::Sub | BinaryOp::FloorDiv | BinaryOp::Mod, a, b) => {
                    (p(a) && (ints[b.index()] || p(b))) || (p(b) && ints[a.index()])
                }
                Op::Index(o, _) => part[o.index()],
                _ => false,
            };
        }
        for guard in &body.guards {
            if let GuardKind::When(condition, _) = guard.kind
                && is[condition.index()]
            {
                found.truth = true;
            }
        }
        for (_, value) in body.iter() {
            self.one(value.op, &is, &part, &ints, depth, found);
        }
    }

    fn one(&self, op: Op, is: &[bool], part: &[bool], ints: &[bool], depth: u32, found: &mut Evidence) {
        let at = |v: ValueId| is[v.index()];
        match op {
            Op::Binary(BinaryOp::FloorDiv | BinaryOp::Mod | BinaryOp::LShift | BinaryOp::RShift | BinaryOp::BitAnd, a, b)
                if at(a) || at(b) =>
            {
                found.int = true;
            }
            Op::Binary(BinaryOp::Add, a, b) if (part[a.index()] && self.pointer(b)) || (part[b.index()] && self.pointer(a)) => {
                found.int = true
            }
            Op::Binary(_, a, b) | Op::Augment(_, a, b) if at(a) || at(b) => found.number |= !self.pointer(a) && !self.pointer(b),
            Op::Unary(UnaryOp::Not, a) if at(a) => found.truth = true,
            Op::Unary(_, a) if at(a) => found.number = true,
            Op::Select(condition, ..) if at(condition) => found.truth = true,
            Op::Compare(_, a, b) if at(a) || at(b) => self.compare(if at(a) { b } else { a }, ints, found),
            Op::Assert(a) if at(a) => found.truth = true,
            Op::Call(call) => self.argument(self.body.call(call), is, depth, found),
            Op::Attr(o, _) if at(o) => {}
            Op::Tuple(items) | Op::List(items) if self.body.items(items).iter().any(|&v| at(v)) => found.silent = true,
            Op::Index(o, _) | Op::Iterate(o) if at(o) => found.silent = true,
            _ => {}
        }
    }

    /// The value is a pointer as far as can be seen: a parameter that is no constexpr, or one with an offset.
    fn pointer(&self, value: ValueId) -> bool {
        let mut at = value;
        for _ in 0..24 {
            match self.body.op(at) {
                Op::Param(p) => return self.is_pointer(p),
                Op::Binary(BinaryOp::Add | BinaryOp::Sub, a, _) => at = a,
                Op::Phi(items) => match self.body.items(items).first() {
                    Some(&first) if first < at => at = first,
                    _ => return false,
                },
                Op::Augment(BinaryOp::Add | BinaryOp::Sub, a, _) | Op::Select(_, a, _) => at = a,
                _ => return false,
            }
        }
        false
    }

    fn is_pointer(&self, param: u16) -> bool {
        self.types
            .kernel(self.at)
            .is_some_and(|kernel| kernel.reads.contains(&param) || kernel.writes.iter().any(|w| w.param == param))
    }

    fn compare(&self, other: ValueId, ints: &[bool], found: &mut Evidence) {
        match self.body.op(other) {
            Op::Const(Const::None) => found.none = true,
            Op::Const(Const::Str(_)) => found.text = true,
            Op::Const(Const::Bool(_)) => found.flag = true,
            Op::Const(Const::Float(_)) => found.number = true,
            // `if softcap > 0` says no more than that it is a number.
            Op::Const(Const::Int(_)) => found.number = true,
            // `offsets < N`
            _ if ints[other.index()] => found.int = true,
            _ => found.silent = true,
        }
    }

    fn argument(&self, call: &Call, is: &[bool], depth: u32, found: &mut Evidence) {
        for (position, arg) in call.args.iter().enumerate() {
            if !is[arg.value.index()] {
                continue;
            }
            let name = self.last_name(call.callee);
            match name {
                "arange" | "range" | "static_range" | "cdiv" => found.int = true,
                "load" | "store" => {}
                "maximum" | "minimum" | "min" | "max" | "exp" | "log" | "sqrt" | "exp2" => found.number |= self.call(arg.value).is_none(),
                "full" if position > 0 => found.number = true,
                "static_assert" | "assume" | "multiple_of" => {}
                _ => match self.callee(call.callee) {
                    Some(helper) if depth > 0 => {
                        let params = &self.types.program.function(helper).params;
                        let param = match arg.kind {
                            ArgKind::Positional => Some(position),
                            ArgKind::Keyword(n) => {
                                let text = self.types.program.name(self.at.file, n);
                                params.iter().position(|p| self.types.program.name(helper.file, p.name) == text)
                            }
                            ArgKind::Star | ArgKind::StarStar => None,
                        };
                        match param.filter(|&p| p < params.len()) {
                            Some(p) => *found = found.with(of_function(self.types, helper, p as u16, depth - 1)),
                            None => found.silent = true,
                        }
                    }
                    _ => found.silent = true,
                },
            }
        }
    }

    fn callee(&self, callee: ValueId) -> Option<FunctionRef> {
        let scope = Scope::new(self.types.program, self.types.knowledge, self.at);
        scope.project_function(callee)
    }
}
