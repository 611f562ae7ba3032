//! What a kernel's code says of the type of one of its parameters.

use super::evidence::Evidence;
use super::scope::Scope;
use super::types::Types;
use crate::facts::{Annotation, ArgKind, BinaryOp, Body, Call, CompareOp, Const, GuardKind, Items, Name, Op, UnaryOp, ValueId};
use crate::program::{FunctionRef, Kernel, Program};

/// Evidence from a kernel's use of a parameter.
pub(super) fn of_param(types: &Types, kernel: &Kernel, param: u16, depth: u32) -> Evidence {
    let pointer = kernel.reads.contains(&param) || kernel.writes.iter().any(|w| w.param == param);
    let by_address = kernel.writes_pointees.iter().any(|w| w.param == param);
    let mut found = of_function(types, kernel.function, param, depth);
    found.used = true;
    found.none |= asks_whether_there(types.program, kernel.function, param);
    if found.other || found.triton_dtype {
        return Evidence {
            other: true,
            triton_dtype: found.triton_dtype && !found.other,
            used: true,
            ..Evidence::default()
        };
    }
    if found.sequence {
        return Evidence {
            sequence: true,
            silent: true,
            used: true,
            ..Evidence::default()
        };
    }
    if pointer && !by_address {
        // A number may be made an address; only the kernel's caller knows which it is then.
        found.silent |= found.number | found.int;
        found.tensor = !(found.number | found.int);
        found.int = false;
        (found.number, found.real, found.vague) = (false, false, false);
    }
    found.silent |= by_address;
    found
}

/// A decorator of the kernel asks whether the argument is there.
pub(super) fn asks_whether_there(program: &Program, kernel: FunctionRef, param: u16) -> bool {
    let function = program.function(kernel);
    let source = &program.file(kernel.file).source;
    let decorators = &source.text[function.span.start as usize..function.header.start as usize];
    let name = program.param_name(kernel, param);
    let asked = [format!("['{name}'] is not None"), format!("[\"{name}\"] is not None")];
    asked.iter().any(|text| decorators.contains(text.as_str()))
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
            "float32" | "float64" | "float16" | "float" => found.is_number(true),
            _ => {}
        }
    }
    let text = |a: Annotation| types.program.file(at.file).source.slice(a.span);
    let device = Device {
        types,
        at,
        body: &function.body,
        fixed: own.annotation.is_some_and(|a| text(a).contains("constexpr")),
    };
    device.scan(param, depth, &mut found);
    found
}

/// Functions of floats. Their arguments are floats too.
const FLOAT_FUNCTIONS: [&str; 12] = [
    "exp", "exp2", "log", "log2", "sqrt", "sqrt_rn", "rsqrt", "sigmoid", "tanh", "erf", "sin", "cos",
];

/// Functions that give back what they are given.
const SELECTING: [&str; 5] = ["maximum", "minimum", "max", "min", "where"];

/// Methods that tensor descriptors have, and pointers do not.
fn of_descriptors(name: &str) -> bool {
    matches!(name, "load" | "store" | "gather" | "scatter") || name.starts_with("atomic_")
}

/// `triton.language.float16`, as imported from triton or through a module of the project (`vllm.triton_utils.tl`).
pub(super) fn is_triton_dtype(dotted: &str) -> bool {
    let Some((module, name)) = dotted.rsplit_once('.') else {
        return false;
    };
    let known = ["float", "bfloat", "int", "uint"];
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_dtype = name.len() > letters.len() && known.contains(&letters) || name.starts_with("float8e");
    is_dtype && (module == "tl" || module.ends_with(".tl") || module.ends_with("triton.language"))
}

/// Functions whose first argument is a tensor descriptor.
fn takes_descriptor(name: &str) -> bool {
    name.contains("descriptor") && !name.contains("make")
}

struct Device<'a> {
    types: &'a Types<'a>,
    at: FunctionRef,
    body: &'a Body,
    /// The parameter is known when the kernel is compiled: no pointer.
    fixed: bool,
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
                // Triton has these for integers alone.
                Op::Binary(BinaryOp::FloorDiv | BinaryOp::LShift | BinaryOp::RShift | BinaryOp::BitAnd, ..) => true,
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
                        "to" | "cast" | "zeros" | "full" => call.args.iter().any(|a| of_int(a.value)),
                        _ => false,
                    }
                }
                _ => false,
            };
        }
        let offsets = self.offsets();
        ints.iter().zip(offsets).map(|(a, b)| *a || b).collect()
    }

    /// By value: it is added to a pointer, or is a part of what is.
    fn offsets(&self) -> Vec<bool> {
        let body = self.body;
        let mut found = vec![false; body.values.len()];
        for (v, value) in body.iter().collect::<Vec<_>>().into_iter().rev() {
            match value.op {
                Op::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) | Op::Augment(BinaryOp::Add | BinaryOp::Sub, a, b) if self.pointer(a) => {
                    found[b.index()] = true;
                }
                Op::Binary(BinaryOp::Add, a, b) if self.pointer(b) => found[a.index()] = true,
                Op::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::FloorDiv | BinaryOp::Mod, a, b)
                    if found[v.index()] =>
                {
                    found[a.index()] = true;
                    found[b.index()] = true;
                }
                Op::Index(object, _) if found[v.index()] => found[object.index()] = true,
                Op::Phi(items) if found[v.index()] => body.items(items).iter().for_each(|i| found[i.index()] = true),
                Op::Call(call) if found[v.index()] && SELECTING.contains(&self.last_name(body.call(call).callee)) => {
                    let condition = usize::from(self.last_name(body.call(call).callee) == "where");
                    body.call(call)
                        .args
                        .iter()
                        .skip(condition)
                        .for_each(|a| found[a.value.index()] = true);
                }
                _ => {}
            }
        }
        found
    }

    /// By value: certainly made of floats, so that nothing it is added to is a pointer.
    fn floats(&self) -> Vec<bool> {
        let mut floats = vec![false; self.body.values.len()];
        for (v, value) in self.body.iter() {
            floats[v.index()] = match value.op {
                Op::Const(Const::Float(_)) | Op::Binary(BinaryOp::Div, ..) => true,
                Op::Binary(_, a, b) | Op::Augment(_, a, b) => floats[a.index()] || floats[b.index()],
                Op::Unary(_, a) | Op::Index(a, _) => floats[a.index()],
                Op::Phi(items) => self.body.items(items).iter().any(|i| i.index() < v.index() && floats[i.index()]),
                Op::Call(call) => {
                    let call = self.body.call(call);
                    let of_float = |a: ValueId| self.last_name(a).contains("float") || floats[a.index()];
                    match self.last_name(call.callee) {
                        name if FLOAT_FUNCTIONS.contains(&name) => true,
                        // Sums of products are floats, if nothing else is asked for.
                        "dot" => !call.args.iter().any(|a| matches!(self.last_name(a.value), "int32" | "int64")),
                        "to" | "cast" | "zeros" | "full" | "sum" | "max" | "min" | "maximum" | "minimum" | "where" => {
                            call.args.iter().any(|a| of_float(a.value))
                        }
                        _ => false,
                    }
                }
                _ => false,
            };
        }
        self.scaled_for_floats(&mut floats);
        floats
    }

    /// Products that functions of floats and `tl.dot` are given, and their factors: `tl.dot((q * scale).to(k.dtype), k)`.
    fn scaled_for_floats(&self, floats: &mut [bool]) {
        let body = self.body;
        let mut wanted = vec![false; body.values.len()];
        for (v, value) in body.iter().collect::<Vec<_>>().into_iter().rev() {
            match value.op {
                Op::Call(call) => {
                    let call = body.call(call);
                    let name = self.last_name(call.callee);
                    if name == "dot" && floats[v.index()] || FLOAT_FUNCTIONS.contains(&name) {
                        call.args.iter().take(2).for_each(|a| wanted[a.value.index()] = true);
                    }
                    // What bounds floats is a float.
                    if matches!(name, "clamp" | "minimum" | "maximum") && call.args.iter().any(|a| floats[a.value.index()]) {
                        for arg in &call.args {
                            wanted[arg.value.index()] = true;
                            if let Op::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) = body.op(arg.value) {
                                (floats[a.index()], floats[b.index()]) = (true, true);
                            }
                        }
                    }
                    if let (true, "to", Op::Attr(object, _)) = (wanted[v.index()], name, body.op(call.callee)) {
                        wanted[object.index()] = true;
                    }
                }
                Op::Binary(BinaryOp::Mul, a, b) | Op::Augment(BinaryOp::Mul, a, b) if wanted[v.index()] => {
                    (floats[a.index()], floats[b.index()]) = (true, true);
                    (wanted[a.index()], wanted[b.index()]) = (true, true);
                }
                _ => {}
            }
        }
    }

    /// `MODE_A = 0` or `MODE_A: tl.constexpr = tl.constexpr(0)` of the module.
    fn is_whole_constant(&self, name: Name) -> bool {
        let module = self.types.program.file(self.at.file).facts.module();
        let mut at = module.binding(name);
        while let Some(value) = at {
            at = match module.body.op(value) {
                Op::Const(Const::Int(_)) => return true,
                Op::Annotated(_, inner) | Op::Unary(UnaryOp::Minus, inner) => Some(inner),
                Op::Call(call) => module.body.call(call).args.first().map(|a| a.value),
                _ => None,
            };
        }
        false
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
        let (ints, floats) = (self.integers(), self.floats());
        let mut is = vec![false; body.values.len()];
        // Sums and products that the parameter is part of: used as an offset, they make it an integer.
        let mut part = vec![false; body.values.len()];
        let mut sum = vec![false; body.values.len()];
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
            let q = |v: ValueId| is[v.index()] || sum[v.index()];
            sum[v.index()] = match value.op {
                Op::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) | Op::Augment(BinaryOp::Add | BinaryOp::Sub, a, b) => q(a) || q(b),
                Op::Index(o, _) => sum[o.index()],
                Op::Phi(items) => body.items(items).iter().any(|i| i.index() < v.index() && sum[i.index()]),
                Op::Call(call) => {
                    let call = body.call(call);
                    let name = self.last_name(call.callee);
                    (SELECTING.contains(&name) || name == "cast") && call.args.iter().any(|a| sum[a.value.index()])
                }
                _ => false,
            };
            part[v.index()] = match value.op {
                // All that makes an offset is whole.
                Op::Binary(BinaryOp::Mul | BinaryOp::Add | BinaryOp::Sub | BinaryOp::FloorDiv | BinaryOp::Mod, a, b) => {
                    (p(a) || p(b)) && !floats[a.index()] && !floats[b.index()]
                }
                Op::Index(o, _) => part[o.index()],
                Op::Phi(items) => body.items(items).iter().any(|i| i.index() < v.index() && part[i.index()]),
                Op::Call(call)
                    if matches!(
                        self.last_name(body.call(call).callee),
                        "maximum" | "minimum" | "max" | "min" | "where"
                    ) =>
                {
                    body.call(call).args.iter().any(|a| p(a.value))
                }
                _ => false,
            };
        }
        // `tl.rsqrt(variance + eps)`, `tl.store(out, first + i)`, `i + first < n`
        let no_pointer = |op: Op| match op {
            Op::Call(call) => {
                let call = body.call(call);
                let (from, real) = match self.last_name(call.callee) {
                    "store" => (1, false),
                    name if FLOAT_FUNCTIONS.contains(&name) => (0, true),
                    _ => return None,
                };
                call.args.iter().skip(from).any(|a| sum[a.value.index()]).then_some(real)
            }
            Op::Compare(_, a, b) | Op::Binary(BinaryOp::Mul | BinaryOp::Div | BinaryOp::Pow | BinaryOp::FloorDiv | BinaryOp::Mod, a, b) => {
                let float = floats[a.index()] || floats[b.index()];
                (sum[a.index()] || sum[b.index()]).then_some(float)
            }
            _ => None,
        };
        for real in body.iter().filter_map(|(_, value)| no_pointer(value.op)) {
            found.is_number(real);
        }
        // `tl.range(first + i, n)`, `(lane + step).to(tl.uint32)`
        let whole = |op: Op| match op {
            Op::Call(call) => {
                let call = body.call(call);
                let of_int = |v: ValueId| self.last_name(v).starts_with("int") || self.last_name(v).starts_with("uint");
                match (self.last_name(call.callee), body.op(call.callee)) {
                    ("range" | "static_range", _) => call.args.iter().any(|a| sum[a.value.index()]),
                    ("to", Op::Attr(object, _)) => sum[object.index()] && call.args.iter().any(|a| of_int(a.value)),
                    _ => false,
                }
            }
            _ => false,
        };
        found.int |= body.iter().any(|(_, value)| whole(value.op));
        for guard in &body.guards {
            if let GuardKind::When(condition, _) = guard.kind
                && is[condition.index()]
            {
                found.truth = true;
            }
        }
        for (_, value) in body.iter() {
            self.one(value.op, &is, &part, (&ints, &floats), depth, found);
        }
    }

    fn one(&self, op: Op, is: &[bool], part: &[bool], (ints, floats): (&[bool], &[bool]), depth: u32, found: &mut Evidence) {
        let at = |v: ValueId| is[v.index()];
        match op {
            Op::Binary(BinaryOp::FloorDiv | BinaryOp::Mod | BinaryOp::LShift | BinaryOp::RShift | BinaryOp::BitAnd, a, b)
                if at(a) || at(b) =>
            {
                found.int = true;
            }
            // Triton has these for integers alone.
            Op::Binary(BinaryOp::FloorDiv | BinaryOp::LShift | BinaryOp::RShift | BinaryOp::BitAnd, a, b)
                if part[a.index()] || part[b.index()] =>
            {
                found.int = true;
            }
            // `i < batch * heads`
            Op::Compare(_, a, b) if part[a.index()] && self.is_index(b, ints) || part[b.index()] && self.is_index(a, ints) => {
                found.int = true;
            }
            Op::Augment(BinaryOp::Add | BinaryOp::Sub, a, b) if part[b.index()] && self.pointer(a) => found.int = true,
            Op::Binary(BinaryOp::Add, a, b) if (part[a.index()] && self.pointer(b)) || (part[b.index()] && self.pointer(a)) => {
                found.int = true
            }
            // What is added to integers may be a pointer that nothing is read through.
            Op::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) | Op::Augment(BinaryOp::Add | BinaryOp::Sub, a, b) if at(a) || at(b) => {
                let subtracted = at(b) && matches!(op, Op::Binary(BinaryOp::Sub, ..) | Op::Augment(BinaryOp::Sub, ..));
                let float = floats[a.index()] || floats[b.index()];
                match float || subtracted || self.fixed {
                    true => found.is_number(float),
                    false => found.silent = true,
                }
            }
            Op::Binary(own, a, b) | Op::Augment(own, a, b) if (at(a) || at(b)) && !self.pointer(a) && !self.pointer(b) => {
                found.is_number(own == BinaryOp::Div || floats[a.index()] || floats[b.index()]);
            }
            Op::Unary(UnaryOp::Not, a) if at(a) => found.truth = true,
            Op::Unary(_, a) if at(a) => found.is_number(false),
            Op::Select(condition, ..) if at(condition) => found.truth = true,
            Op::Compare(_, a, b) if (at(a) || at(b)) && self.is_triton_dtype(if at(a) { b } else { a }) => found.triton_dtype = true,
            Op::Compare(op, a, b) if at(a) || at(b) => self.compare(op, if at(a) { b } else { a }, ints, found),
            Op::Assert(a) if at(a) => found.truth = true,
            // `N.to(tl.int64)`, `eps.to(tl.float32)`
            Op::Call(call) if matches!(self.body.op(self.body.call(call).callee), Op::Attr(o, _) if at(o)) => {
                self.converted(self.body.call(call), found);
            }
            Op::Tuple(items) | Op::List(items) if self.body.items(items).iter().any(|&v| at(v)) => found.silent = true,
            // Pointers and numbers have no parts: it is a tuple.
            Op::Index(o, _) | Op::Iterate(o) if at(o) => found.sequence = true,
            Op::Call(call) => {
                let call = self.body.call(call);
                let counts = matches!(self.last_name(call.callee), "arange" | "range" | "static_range" | "cdiv");
                found.int |= counts && call.args.iter().any(|a| part[a.value.index()]);
                self.argument(call, (is, ints, floats), depth, found);
            }
            Op::Attr(o, name) if at(o) => found.other |= of_descriptors(self.types.program.name(self.at.file, name)),
            _ => {}
        }
    }

    /// An integer that is no constant: numbers of any kind are compared with those.
    fn is_index(&self, value: ValueId, ints: &[bool]) -> bool {
        ints[value.index()] && !matches!(self.body.op(value), Op::Const(_))
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
                // `address.to(tl.pointer_type(tl.int32))`
                Op::Call(call) => {
                    let call = self.body.call(call);
                    let of_type = |v: ValueId| self.call(v).is_some_and(|c| self.last_name(c.callee) == "pointer_type");
                    return matches!(self.last_name(call.callee), "to" | "cast") && call.args.iter().any(|a| of_type(a.value));
                }
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

    fn compare(&self, op: CompareOp, other: ValueId, ints: &[bool], found: &mut Evidence) {
        match self.body.op(other) {
            Op::Const(Const::None) => found.none = true,
            Op::Const(Const::Str(_)) => found.text = true,
            Op::Const(Const::Bool(_)) => found.flag = true,
            Op::Const(Const::Float(_)) => found.is_number(true),
            // `MODE == 2`; `if softcap > 0` says no more than that it is a number.
            Op::Const(Const::Int(2..)) if matches!(op, CompareOp::Eq | CompareOp::NotEq) => found.int = true,
            Op::Const(Const::Int(_)) => found.number = true,
            Op::Free(name) if matches!(op, CompareOp::Eq | CompareOp::NotEq) && self.is_whole_constant(name) => found.int = true,
            // `offsets < N`
            _ if ints[other.index()] => found.int = true,
            // Neither pointers nor strings are compared when a kernel runs.
            _ if !self.fixed => found.is_number(false),
            _ => found.silent = true,
        }
    }

    /// A conversion tells what it was: a float may have been an integer, which means the same.
    fn converted(&self, call: &Call, found: &mut Evidence) {
        for arg in &call.args {
            let name = self.last_name(arg.value);
            found.int |= name.starts_with("int") || name.starts_with("uint");
            if name.starts_with("float") {
                found.is_number(true);
            }
        }
    }

    /// `tl.float16`
    fn is_triton_dtype(&self, value: ValueId) -> bool {
        let scope = Scope::new(self.types.program, self.types.knowledge, self.at);
        scope.dotted(value).is_some_and(|name| is_triton_dtype(&name))
    }

    /// `x.to(DTYPE)`, `tl.cast(x, DTYPE)`, `tl.zeros(…, dtype=DTYPE)`
    fn takes_dtype(&self, name: &str, position: usize, kind: ArgKind) -> bool {
        match kind {
            ArgKind::Keyword(key) => matches!(self.types.program.name(self.at.file, key), "dtype" | "out_dtype"),
            ArgKind::Positional => matches!((name, position), ("to", 0) | ("cast" | "zeros", 1)),
            ArgKind::Star | ArgKind::StarStar => false,
        }
    }

    fn argument(&self, call: &Call, (is, ints, floats): (&[bool], &[bool], &[bool]), depth: u32, found: &mut Evidence) {
        for (position, arg) in call.args.iter().enumerate() {
            if !is[arg.value.index()] {
                continue;
            }
            let name = self.last_name(call.callee);
            if self.callee(call.callee).is_none() && self.takes_dtype(name, position, arg.kind) {
                found.triton_dtype = true;
                continue;
            }
            match name {
                "arange" | "range" | "static_range" | "cdiv" => found.int = true,
                "load" | "store" => {}
                "rand" | "randn" | "randint" | "rand4x" | "randn4x" | "randint4x" | "philox" if position == 0 => found.int = true,
                "len" => found.sequence = true,
                name if position == 0 && takes_descriptor(name) => {
                    found.other = true;
                }
                name if FLOAT_FUNCTIONS.contains(&name) => found.is_number(true),
                "cast" => self.converted(call, found),
                "maximum" | "minimum" | "min" | "max" if call.args.iter().any(|a| !is[a.value.index()] && ints[a.value.index()]) => {
                    found.int = true;
                }
                "maximum" | "minimum" | "min" | "max" if self.call(arg.value).is_none() => {
                    found.is_number(call.args.iter().any(|a| floats[a.value.index()]));
                }
                "maximum" | "minimum" | "min" | "max" => {}
                "full" if position > 0 => found.is_number(false),
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
