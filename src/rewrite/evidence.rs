//! What the uses of a parameter say of its type, and of nothing else: names are no evidence.

use super::kernel_use;
use super::scope::{Kind, Scope};
use super::signature::{Base, Type};
use super::spread::spread;
use super::types::Types;
use crate::facts::{ALWAYS, ArgKind, BinaryOp, Call, CallId, CompareOp, Const, GuardKind, Items, Name, Op, ParamKind, UnaryOp, ValueId};
use crate::knowledge::torch::Shares;
use crate::program::{FunctionRef, KernelId, Launch, Program};
use std::rc::Rc;

/// Marks that uses leave. Several may be set; [`Types`] weighs them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Evidence {
    /// It is used as a tensor is.
    pub(super) tensor: bool,
    /// It is used as only an integer can be.
    pub(super) int: bool,
    /// It is a number.
    pub(super) number: bool,
    /// A kernel takes it for a part of floats.
    pub(super) real: bool,
    /// It is a number, and an integer may mean something else than the float.
    pub(super) vague: bool,
    /// A callee takes a float for it.
    pub(super) float: bool,
    /// Its truth is asked for.
    pub(super) truth: bool,
    /// A callee takes a flag for it.
    pub(super) flag: bool,
    /// It is a string.
    pub(super) text: bool,
    /// It is a dtype.
    pub(super) dtype: bool,
    /// A kernel takes it for a dtype of Triton.
    pub(super) triton_dtype: bool,
    /// It is a device.
    pub(super) device: bool,
    /// It is a list of integers.
    pub(super) shape: bool,
    /// It is a list of tensors.
    pub(super) tensors: bool,
    /// It is compared with `None`.
    pub(super) none: bool,
    /// The body goes on only where it is not `None`.
    pub(super) present: bool,
    /// It is a collection of something.
    pub(super) sequence: bool,
    /// A kernel takes its items for integers.
    pub(super) ints: bool,
    /// Nothing that a schema has a type for.
    pub(super) other: bool,
    /// It is used in a way that says nothing.
    pub(super) silent: bool,
    /// It is used at all.
    pub(super) used: bool,
}

impl Evidence {
    /// Both together.
    pub(super) fn with(self, b: Self) -> Self {
        Self {
            tensor: self.tensor | b.tensor,
            int: self.int | b.int,
            number: self.number | b.number,
            real: self.real | b.real,
            vague: self.vague | b.vague,
            float: self.float | b.float,
            truth: self.truth | b.truth,
            flag: self.flag | b.flag,
            text: self.text | b.text,
            dtype: self.dtype | b.dtype,
            triton_dtype: self.triton_dtype | b.triton_dtype,
            device: self.device | b.device,
            shape: self.shape | b.shape,
            tensors: self.tensors | b.tensors,
            none: self.none | b.none,
            present: self.present | b.present,
            sequence: self.sequence | b.sequence,
            ints: self.ints | b.ints,
            other: self.other | b.other,
            silent: self.silent | b.silent,
            used: self.used | b.used,
        }
    }

    /// It is a number: a part of floats, where an integer means the same, or it cannot be told.
    pub(super) fn is_number(&mut self, real: bool) {
        self.number = true;
        self.real |= real;
        self.vague |= !real;
    }

    fn of_type(&mut self, ty: Type) {
        match (ty.base, ty.list) {
            (Base::Tensor, false) => self.tensor = true,
            (Base::Tensor, true) => self.tensors = true,
            (Base::Int, false) => self.int = true,
            (Base::Int, true) => self.shape = true,
            (Base::Float, false) => self.float = true,
            (Base::Number, false) => (self.number, self.vague) = (true, true),
            (Base::Bool, false) => self.flag = true,
            (Base::Text, false) => self.text = true,
            (Base::Dtype, false) => self.dtype = true,
            (Base::Device, false) => self.device = true,
            (_, true) => self.sequence = true,
            (Base::TritonDtype, false) => self.triton_dtype = true,
            (Base::None | Base::Other, false) => self.silent = true,
        }
    }
}

/// Attributes and methods that tell a tensor from other things.
const OF_TENSORS: [&str; 34] = [
    "shape",
    "stride",
    "dtype",
    "data_ptr",
    "numel",
    "contiguous",
    "is_contiguous",
    "element_size",
    "dim",
    "ndim",
    "view",
    "reshape",
    "new_empty",
    "new_zeros",
    "is_cuda",
    "T",
    "mT",
    "flatten",
    "unsqueeze",
    "squeeze",
    "transpose",
    "permute",
    "zero_",
    "fill_",
    "copy_",
    "requires_grad",
    "expand",
    "clone",
    "nelement",
    "untyped_storage",
    "is_floating_point",
    "detach",
    "device",
    "sum",
];

/// Torch functions whose first argument is no tensor.
const CREATE: [&str; 22] = [
    "empty",
    "zeros",
    "ones",
    "full",
    "empty_strided",
    "arange",
    "tensor",
    "linspace",
    "rand",
    "randn",
    "randint",
    "randperm",
    "eye",
    "Size",
    "device",
    "dtype",
    "finfo",
    "iinfo",
    "cat",
    "stack",
    "as_tensor",
    "concat",
];

/// Torch functions that take sizes.
const SIZED: [&str; 7] = [
    "torch.empty",
    "torch.zeros",
    "torch.ones",
    "torch.full",
    "torch.rand",
    "torch.randn",
    "torch.empty_strided",
];

/// Methods that take sizes or dimensions.
const SIZED_METHODS: [&str; 15] = [
    "view",
    "reshape",
    "expand",
    "new_empty",
    "new_zeros",
    "new_ones",
    "new_full",
    "unsqueeze",
    "squeeze",
    "size",
    "stride",
    "transpose",
    "permute",
    "narrow",
    "select",
];

/// Methods that nothing but a tensor has.
const OF_TENSORS_ALONE: [&str; 4] = ["data_ptr", "element_size", "storage_offset", "untyped_storage"];

/// Evidence for one name or parameter of a body and of the functions inside it.
pub(super) struct Uses<'s, 'a> {
    pub(super) types: &'s Rc<Types<'a>>,
    pub(super) scope: &'s Scope<'a>,
    pub(super) depth: u32,
    /// By value: it is the parameter, or may be.
    carries: Vec<bool>,
    found: Evidence,
}

/// What the uses of a parameter say.
pub(super) fn of_param<'a>(types: &Rc<Types<'a>>, scope: &Scope<'a>, param: u16, depth: u32) -> Evidence {
    let at = scope.at;
    let name = scope.function().params[param as usize].name;
    let mut found = of_seeds(types, scope, depth, |op| matches!(op, Op::Param(p) if p == param));
    let mut todo = vec![at.function];
    let facts = scope.facts();
    // A function inside sees the name, unless it binds it itself.
    while let Some(outer) = todo.pop() {
        for (id, function) in facts.functions() {
            let own = function.assigned.binary_search_by_key(&name, |a| a.0).is_ok() || function.param(name).is_some();
            if function.parent != outer || id == outer || own {
                continue;
            }
            let inner = FunctionRef {
                file: at.file,
                function: id,
            };
            let inner = Scope::typed_at(types, inner, 0);
            found = found.with(of_seeds(types, &inner, depth, |op| matches!(op, Op::Free(n) if n == name)));
            todo.push(id);
        }
    }
    found
}

fn of_seeds<'a>(types: &Rc<Types<'a>>, scope: &Scope<'a>, depth: u32, seed: impl Fn(Op) -> bool) -> Evidence {
    let body = scope.body();
    let mut carries = vec![false; body.values.len()];
    for (v, value) in body.iter() {
        let any = |items: Items| body.items(items).iter().any(|i| i.index() < carries.len() && carries[i.index()]);
        let here = match value.op {
            op if seed(op) => true,
            Op::Select(_, a, b) => carries[a.index()] || carries[b.index()],
            Op::Phi(items) | Op::Or(items) | Op::And(items) => any(items),
            Op::Annotated(_, v) => carries[v.index()],
            _ => false,
        };
        carries[v.index()] = here;
    }
    if !carries.contains(&true) {
        return Evidence::default();
    }
    let mut uses = Uses {
        types,
        scope,
        depth,
        carries,
        found: Evidence::default(),
    };
    uses.scan();
    uses.found
}

impl<'a> Uses<'_, 'a> {
    fn is(&self, value: ValueId) -> bool {
        self.carries[value.index()]
    }

    /// One of the things that it holds.
    fn is_item(&self, value: ValueId) -> bool {
        let body = self.scope.body();
        match body.op(value) {
            Op::Iterate(all) => self.is(all),
            Op::Index(all, at) => self.is(all) && matches!(body.op(at), Op::Const(Const::Int(_))),
            _ => false,
        }
    }

    fn any(&self, items: Items) -> bool {
        self.scope.body().items(items).iter().any(|&v| self.is(v))
    }

    fn scan(&mut self) {
        let body = self.scope.body();
        for guard in &body.guards {
            if let GuardKind::When(condition, _) = guard.kind
                && self.is(condition)
            {
                self.found.truth = true;
            }
        }
        for (v, value) in body.iter() {
            self.one(v, value.op);
        }
    }

    fn one(&mut self, value: ValueId, op: Op) {
        match op {
            Op::Attr(o, name) if self.is(o) => {
                // `None` has no such attribute.
                let body = self.scope.body();
                self.found.present |= body.value(value).guard == ALWAYS && matches!(body.op(o), Op::Param(_));
                self.attribute(name);
            }
            // `xs[0].element_size()`, `x.data_ptr() for x in xs`
            Op::Attr(item, name) if self.is_item(item) => {
                self.found.tensors |= OF_TENSORS_ALONE.contains(&self.scope.name(name));
            }
            Op::Index(o, i) => self.index(o, i),
            Op::SetIndex(o, i, v) => {
                self.index(o, i);
                self.found.tensor |= self.is(o);
                self.found.silent |= self.is(v);
            }
            Op::Slice(a, b, c) if [a, b, c].iter().any(|&v| self.is(v)) => self.found.int = true,
            Op::Unary(UnaryOp::Not, a) if self.is(a) => self.found.truth = true,
            Op::Unary(_, a) if self.is(a) => {
                self.found.number |= self.scope.kind(a) != Kind::Tensor;
                self.found.vague = true;
            }
            Op::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, a, b)
                if (self.is(a) || self.is(b)) && self.is_part_of_index(value) =>
            {
                self.found.int = true;
            }
            Op::Binary(op, a, b) | Op::Augment(op, a, b) => self.arithmetic(op, a, b),
            Op::Compare(op, a, b) => self.compare(op, a, b),
            Op::Select(condition, ..) if self.is(condition) => self.found.truth = true,
            Op::Assert(a) if self.is(a) => self.found.truth = true,
            Op::Assert(a) if self.scope.body().value(value).guard == ALWAYS => self.found.present |= self.is_there(a),
            Op::Iterate(a) | Op::Star(a) if self.is(a) => self.found.sequence = true,
            Op::Unpack { value, .. } if self.is(value) => self.found.sequence = true,
            Op::SetAttr(o, _, v) => {
                self.found.other |= self.is(o);
                self.found.silent |= self.is(v);
            }
            Op::Enter(a) | Op::Suspend(a) | Op::Delete(a) if self.is(a) => self.found.other = true,
            Op::Return(a) | Op::SetOuter(_, a) if self.is(a) => self.found.silent = true,
            Op::Return(a) => self.returned(a),
            Op::Tuple(items) | Op::List(items) | Op::Set(items) | Op::Dict(items) | Op::Format(items) if self.any(items) => {
                self.found.used = true
            }
            Op::Call(call) => self.call(value, call),
            Op::Param(_) | Op::Free(_) if self.is(value) => {}
            _ => {}
        }
        self.found.used |= self.is(value) && !matches!(op, Op::Param(_) | Op::Free(_)) || self.operands(op);
    }

    fn operands(&self, op: Op) -> bool {
        match op {
            Op::Attr(a, _) | Op::Unary(_, a) | Op::Iterate(a) | Op::Star(a) | Op::Return(a) | Op::Assert(a) => self.is(a),
            Op::Index(a, b) | Op::Binary(_, a, b) | Op::Augment(_, a, b) | Op::Compare(_, a, b) => self.is(a) || self.is(b),
            _ => false,
        }
    }

    /// `kernel[(min(rows, cores),)]`
    fn is_part_of_index(&self, value: ValueId) -> bool {
        let body = self.scope.body();
        let holds = |at: ValueId| matches!(body.op(at), Op::Tuple(items) if body.items(items).contains(&value));
        body.iter().any(|(_, v)| matches!(v.op, Op::Index(_, at) if holds(at)))
    }

    /// `x is not None`, for the parameter itself.
    fn is_there(&self, condition: ValueId) -> bool {
        let body = self.scope.body();
        let none = |v: ValueId| body.op(v) == Op::Const(Const::None);
        let own = |v: ValueId| matches!(body.op(v), Op::Param(_)) && self.is(v);
        match body.op(condition) {
            Op::Compare(CompareOp::IsNot, a, b) => own(a) && none(b),
            Op::And(items) => body.items(items).iter().any(|&v| self.is_there(v)),
            _ => false,
        }
    }

    /// `lambda meta: (n, …)` is a grid.
    fn returned(&mut self, value: ValueId) {
        if let Op::Tuple(items) = self.scope.body().op(value)
            && self.scope.function().kind == crate::facts::FunctionKind::Lambda
            && self.any(items)
        {
            self.found.int = true;
        }
    }

    fn attribute(&mut self, name: Name) {
        let name = self.scope.name(name);
        if OF_TENSORS.contains(&name) {
            self.found.tensor = true;
        } else if self.scope.knowledge.torch.method(name).is_none() && self.scope.knowledge.torch.attribute(name).is_none() {
            self.found.other = true;
        } else {
            self.found.silent = true;
        }
    }

    fn index(&mut self, object: ValueId, index: ValueId) {
        let body = self.scope.body();
        if self.is(object) {
            match body.op(index) {
                Op::Tuple(_) => self.found.tensor = true,
                Op::Const(Const::Str(_)) => self.found.other = true,
                _ => self.found.sequence = true,
            }
        }
        if self.is(index) {
            match self.scope.kind(object) {
                Kind::Shape => self.found.int = true,
                _ => self.found.silent = true,
            }
        }
        if let Op::Tuple(items) = body.op(index)
            && self.any(items)
        {
            // `kernel[(n, m)]`, `x[n, :]`
            self.found.int = true;
        }
    }

    fn arithmetic(&mut self, op: BinaryOp, a: ValueId, b: ValueId) {
        let other = match (self.is(a), self.is(b)) {
            (true, false) => b,
            (false, true) => a,
            (true, true) => a,
            (false, false) => return,
        };
        let body = self.scope.body();
        let collection = matches!(body.op(other), Op::List(_) | Op::Tuple(_));
        match (self.scope.kind(other), op) {
            (Kind::Tensor | Kind::Text, _) => self.found.silent = true,
            _ if collection && op == BinaryOp::Mul => self.found.int = true,
            _ if collection => self.found.sequence = true,
            (
                Kind::Int | Kind::Bool,
                BinaryOp::FloorDiv
                | BinaryOp::Mod
                | BinaryOp::LShift
                | BinaryOp::RShift
                | BinaryOp::BitAnd
                | BinaryOp::BitOr
                | BinaryOp::BitXor,
            ) => self.found.int = true,
            (Kind::Int | Kind::Float | Kind::Bool, _) => (self.found.number, self.found.vague) = (true, true),
            _ => self.found.silent = true,
        }
    }

    fn compare(&mut self, op: CompareOp, a: ValueId, b: ValueId) {
        let (other, left) = match (self.is(a), self.is(b)) {
            (true, _) => (b, true),
            (false, true) => (a, false),
            (false, false) => return,
        };
        let body = self.scope.body();
        let is_none = matches!(body.op(other), Op::Const(Const::None));
        match op {
            CompareOp::Is | CompareOp::IsNot if is_none => self.found.none = true,
            CompareOp::Is | CompareOp::IsNot => self.equal(other),
            CompareOp::Eq | CompareOp::NotEq => self.equal(other),
            CompareOp::In | CompareOp::NotIn if left => match body.op(other) {
                Op::Tuple(items) | Op::List(items) | Op::Set(items) => body.items(items).iter().for_each(|&v| self.equal(v)),
                _ => self.found.silent = true,
            },
            CompareOp::In | CompareOp::NotIn => self.found.sequence = true,
            CompareOp::Lt | CompareOp::LtE | CompareOp::Gt | CompareOp::GtE => match self.scope.kind(other) {
                Kind::Int | Kind::Float => (self.found.number, self.found.vague) = (true, true),
                _ => self.found.silent = true,
            },
        }
    }

    fn equal(&mut self, other: ValueId) {
        match self.scope.kind(other) {
            Kind::Text => self.found.text = true,
            Kind::Int | Kind::Float => (self.found.number, self.found.vague) = (true, true),
            Kind::Shape => self.found.sequence = true,
            Kind::None => self.found.none = true,
            Kind::Bool => self.found.flag = true,
            Kind::Tensor | Kind::Other | Kind::Unknown => match self.scope.dotted(other) {
                Some(name) if is_dtype(&name) => self.found.dtype = true,
                Some(name) if name.starts_with("triton.language.") => self.found.other = true,
                _ if self.is_attribute(other, "dtype") => self.found.dtype = true,
                _ if self.is_attribute(other, "device") => self.found.device = true,
                _ => self.found.silent = true,
            },
        }
    }

    fn is_attribute(&self, value: ValueId, wanted: &str) -> bool {
        matches!(self.scope.body().op(value), Op::Attr(o, n) if self.scope.name(n) == wanted && self.scope.kind(o) == Kind::Tensor)
    }

    fn call(&mut self, value: ValueId, id: CallId) {
        let body = self.scope.body();
        let call = &spread(self.scope, body.call(id));
        // `f(…)`, `kernel[grid](…)`: no tensor is called, nor is an item of one.
        let called = match body.op(call.callee) {
            Op::Index(object, _) => object,
            _ => call.callee,
        };
        if self.is(called) {
            self.found.other = true;
        }
        let grid = match body.op(call.callee) {
            Op::Index(_, grid) => Some(grid),
            _ => None,
        };
        let launch = self.types.launch(self.scope.at, id);
        if launch.is_some() && grid.is_some_and(|g| self.is(g)) {
            self.found.silent = true;
        }
        for (position, arg) in call.args.iter().enumerate() {
            let nested = match body.op(arg.value) {
                Op::Tuple(items) | Op::List(items) => self.any(items),
                _ => false,
            };
            if let (Some(launch), Op::Index(object, at)) = (launch, body.op(arg.value))
                && self.is(object)
                && matches!(body.op(at), Op::Const(Const::Int(_)))
            {
                self.found.ints |= self.taken_for_integer(launch, call, position);
            }
            if !self.is(arg.value) && !nested {
                continue;
            }
            self.found.used = true;
            match launch {
                Some(launch) if !nested => self.launched(launch, call, position),
                Some(_) => self.found.silent = true,
                None => self.argument(value, call, position, nested),
            }
        }
    }

    /// Every kernel that may be launched takes the argument for an integer, and for nothing else.
    fn taken_for_integer(&self, launch: &Launch, call: &Call, position: usize) -> bool {
        let program = self.scope.program;
        let integer = |&id: &KernelId| {
            let kernel = program.kernel(id);
            bound(program, self.scope, call, position, kernel.function).is_some_and(|param| {
                let used = kernel_use::of_param(self.types, kernel, param, 3);
                used.int && !used.tensor && !used.float
            })
        };
        launch.via.is_none() && !launch.kernels.is_empty() && launch.kernels.iter().all(integer)
    }

    fn launched(&mut self, launch: &Launch, call: &Call, position: usize) {
        let program = self.scope.program;
        if launch.kernels.is_empty() || launch.via.is_some() {
            self.found.silent = true;
        }
        for &id in &launch.kernels {
            let kernel = program.kernel(id);
            match bound(program, self.scope, call, position, kernel.function) {
                Some(param) => self.found = self.found.with(kernel_use::of_param(self.types, kernel, param, 3)),
                None => self.found.silent = true,
            }
        }
    }

    /// An argument of a call that is no launch. `nested`: the argument is a display that holds the parameter.
    fn argument(&mut self, value: ValueId, call: &Call, position: usize, nested: bool) {
        let body = self.scope.body();
        let scope = self.scope;
        let keyword = match call.args[position].kind {
            ArgKind::Keyword(name) => Some(scope.name(name)),
            ArgKind::Positional => None,
            ArgKind::Star | ArgKind::StarStar => {
                self.found.sequence = true;
                return;
            }
        };
        if let Op::Attr(object, method) = body.op(call.callee)
            && scope.kind(object) == Kind::Tensor
        {
            let method = scope.name(method);
            match keyword {
                Some("dtype") => self.found.dtype = true,
                Some("device") => self.found.device = true,
                None if SIZED_METHODS.contains(&method) && (nested || call.args.len() > 1 || !takes_shape(method)) => self.found.int = true,
                _ if matches!(method, "copy_" | "index_select" | "type_as" | "expand_as" | "view_as") && !nested => {
                    self.found.tensor = true
                }
                _ => self.found.silent = true,
            }
            return;
        }
        if let Some(function) = scope.project_function(call.callee) {
            if nested {
                self.found.silent = true;
                return;
            }
            return self.handed_on(function, call, position);
        }
        match scope.dotted(call.callee) {
            Some(name) if matches!(name.as_str(), "min" | "max") && !nested && self.is_part_of_index(value) => self.found.int = true,
            Some(name) => self.external(&name, call, position, keyword, nested),
            None => self.found.silent = true,
        }
    }

    fn handed_on(&mut self, function: FunctionRef, call: &Call, position: usize) {
        let param = bound(self.scope.program, self.scope, call, position, function);
        let known = param.and_then(|p| self.types.param_at(function, p, self.depth));
        match known {
            Some(known) => self.found.of_type(known.ty),
            None => self.found.silent = true,
        }
    }

    fn external(&mut self, name: &str, call: &Call, position: usize, keyword: Option<&str>, nested: bool) {
        let last = name.rsplit('.').next().unwrap_or(name);
        match (name, keyword) {
            (_, Some("dtype")) => self.found.dtype = true,
            (_, Some("device")) => self.found.device = true,
            (_, Some("fill_value" | "num_warps" | "num_stages")) => (self.found.number, self.found.vague) = (true, true),
            ("triton.cdiv" | "triton.next_power_of_2" | "range", _) => self.found.int = true,
            ("min" | "max" | "abs" | "float" | "int" | "round", _) => {
                (self.found.number, self.found.vague) = (self.found.number | !nested, true)
            }
            (n, _) if n.starts_with("math.") => (self.found.number, self.found.vague) = (true, true),
            ("len" | "tuple" | "list" | "sum" | "enumerate" | "zip" | "reversed" | "sorted" | "any" | "all", _) => {
                self.found.sequence |= !nested
            }
            ("bool", _) => self.found.truth = true,
            // It may be this or that.
            ("isinstance", _) if position == 0 => self.found.other = true,
            ("torch.finfo" | "torch.iinfo", _) => self.found.dtype = true,
            (n, None | Some("size")) if SIZED.contains(&n) => {
                let size = position == 0 || n != "torch.full";
                let several = call.args.iter().filter(|a| a.kind == ArgKind::Positional).count() > 1 && n != "torch.full";
                self.found.int |= size && (nested || several);
                self.found.silent |= !(size && (nested || several));
            }
            ("torch.arange", None) => (self.found.number, self.found.vague) = (true, true),
            ("torch.cat" | "torch.stack", _) if position == 0 && keyword.is_none() => {
                self.found.tensor |= nested;
                self.found.tensors |= !nested;
            }
            (n, None) if n.starts_with("torch.") && position == 0 && !nested && !CREATE.contains(&last) => {
                // What answers with a scalar may ask of a device or a stream.
                let effect = self.scope.knowledge.torch.function(n);
                let takes_tensor = effect.is_some_and(|e| e.results.iter().any(|r| *r != Shares::Scalar)) && !is_of_device(n);
                self.found.tensor |= takes_tensor;
                self.found.silent |= !takes_tensor;
            }
            _ => self.found.silent = true,
        }
    }
}

/// `torch.cuda.get_rng_state(…)`: of a device, not of a tensor.
fn is_of_device(name: &str) -> bool {
    let module = name.split('.').nth(1).unwrap_or_default();
    matches!(module, "cuda" | "accelerator" | "cpu" | "mps" | "xpu" | "distributed" | "backends")
}

fn takes_shape(method: &str) -> bool {
    matches!(method, "view" | "reshape" | "expand" | "permute") || method.starts_with("new_")
}

/// `torch.float16`, `torch.int8`: a dtype by its name.
pub(super) fn is_dtype(name: &str) -> bool {
    let Some(name) = name.strip_prefix("torch.") else { return false };
    let plain = ["half", "float", "double", "int", "long", "short", "bool", "bfloat16"].contains(&name);
    let sized = ["float", "int", "uint", "complex"].iter().any(|stem| {
        name.strip_prefix(stem)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    plain || sized
}

/// The parameter of a function that an argument of a call becomes.
pub(super) fn bound(program: &Program, scope: &Scope, call: &Call, position: usize, function: FunctionRef) -> Option<u16> {
    let params = &program.function(function).params;
    match call.args[position].kind {
        ArgKind::Keyword(name) => {
            let name = scope.name(name);
            let index = params.iter().position(|p| program.name(function.file, p.name) == name)?;
            Some(index as u16)
        }
        ArgKind::Positional => {
            if call.args[..position].iter().any(|a| a.kind != ArgKind::Positional) {
                return None;
            }
            let param = params.get(position)?;
            matches!(param.kind, ParamKind::Positional | ParamKind::PositionalOnly).then_some(position as u16)
        }
        ArgKind::Star | ArgKind::StarStar => None,
    }
}

/// The function itself and those inside of it.
pub(super) fn inside(scope: &Scope) -> Vec<FunctionRef> {
    let mut all = vec![scope.at.function];
    for (id, function) in scope.facts().functions() {
        if id != scope.at.function && all.contains(&function.parent) {
            all.push(id);
        }
    }
    let at = |function| FunctionRef {
        file: scope.at.file,
        function,
    };
    all.into_iter().map(at).collect()
}

/// What the uses of a field (`key`: an item with a string key) of a parameter say.
pub(super) fn of_field(types: &Rc<Types>, at: FunctionRef, param: Name, field: Name, key: bool, depth: u32) -> Evidence {
    let outer = Scope::typed_at(types, at, 0);
    let mut found = Evidence::default();
    for inner in inside(&outer) {
        let scope = Scope::typed_at(types, inner, 0);
        let body = scope.body();
        let is_object = |v: ValueId| match body.op(v) {
            Op::Param(p) => inner == at && scope.function().params[p as usize].name == param,
            Op::Free(n) => inner != at && n == param,
            _ => false,
        };
        let seed = |op: Op| match op {
            Op::Attr(o, n) if !key => n == field && is_object(o),
            Op::Index(o, i) if key => is_object(o) && matches!(body.op(i), Op::Const(Const::Str(n)) if n == field),
            _ => false,
        };
        found = found.with(of_seeds(types, &scope, depth, seed));
    }
    found
}
