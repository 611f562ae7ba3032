//! What the use of a value proves about it: kernels, grids and attributes know what they are given.

use super::super::kernel_use;
use super::super::scope::{Kind, Scope, counts};
use super::super::signature::Base;
use super::super::spread::spread;
use super::values;
use crate::facts::{ArgKind, BinaryOp, Call, Const, Name, Op, Param, ParamKind, ValueId};
use crate::program::{Func, FunctionRef, KernelId};
use std::collections::{BTreeMap, BTreeSet};

/// What a kernel does with an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// It loads or stores through it: a tensor.
    Pointer,
    /// A size, or something that a size is computed from.
    Int,
    /// A number that is not known when the kernel is compiled.
    Number,
    /// A part of floats.
    Real,
    /// Compared with strings.
    Text,
    /// What values are converted to.
    TritonDtype,
    /// Only asked whether it is true.
    Flag,
}

/// Roles of values in launches and grids, by value.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    roles: BTreeMap<ValueId, Role>,
    /// Parts of grids: surely integers, whatever a kernel seems to do with them.
    sizes: Vec<ValueId>,
    /// Arguments that a kernel asks whether they are there: `@triton.heuristics({"BIAS": lambda args: args["bias"] is not None})`.
    asked: BTreeSet<ValueId>,
}

/// Attributes and methods that nothing but a tensor has.
const OF_TENSORS: [&str; 16] = [
    "shape",
    "stride",
    "numel",
    "data_ptr",
    "is_contiguous",
    "contiguous",
    "new_empty",
    "new_zeros",
    "new_full",
    "new_ones",
    "element_size",
    "unsqueeze",
    "storage_offset",
    "untyped_storage",
    "is_cuda",
    "nelement",
];

impl Evidence {
    /// Looks at all launches of a function and at how its values are used, and lets the scope know.
    pub(super) fn gather(scope: &Scope, func: &Func) -> Self {
        let mut evidence = Self::default();
        let body = scope.body();
        for launch in &func.launches {
            let Some(call) = launch.call else { continue };
            let call = body.call(call);
            if let Op::Index(_, grid) = body.op(call.callee)
                && launch.via.is_none()
            {
                evidence.grid(scope, grid);
                evidence.made_grid(scope, grid);
            }
            if launch.via.is_none() {
                for &kernel in &launch.kernels {
                    evidence.launch(scope, call, kernel);
                }
            }
        }
        for (_, value) in body.iter() {
            match value.op {
                Op::Attr(object, name) if OF_TENSORS.contains(&scope.name(name)) && !is_self(scope, object) => {
                    evidence.add(object, Role::Pointer);
                }
                Op::Call(call) => evidence.sizes(scope, body.call(call)),
                _ => {}
            }
        }
        let sizes = std::mem::take(&mut evidence.sizes);
        evidence.roles.extend(sizes.into_iter().map(|size| (size, Role::Int)));
        // What holds of a name after two branches holds of what each of them gave it.
        for (id, value) in body.iter().collect::<Vec<_>>().into_iter().rev() {
            let Some(role) = evidence.role(id) else { continue };
            let parts = match value.op {
                Op::Select(_, yes, no) => vec![yes, no],
                Op::Phi(items) | Op::Or(items) => body.items(items).to_vec(),
                // A whole number is made of whole numbers.
                Op::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::FloorDiv | BinaryOp::Mod, a, b)
                    if role == Role::Int =>
                {
                    vec![a, b]
                }
                Op::Call(call) if role == Role::Int => match scope.dotted(body.call(call).callee).as_deref() {
                    Some("max" | "min") => body.call(call).args.iter().map(|a| a.value).collect(),
                    _ => continue,
                },
                _ => continue,
            };
            parts.into_iter().for_each(|v| evidence.add(v, role));
        }
        evidence.share_paths(scope);
        for (&value, &role) in &evidence.roles {
            let kind = match role {
                Role::Pointer => Kind::Tensor,
                Role::Int => Kind::Int,
                Role::Real => Kind::Float,
                Role::Text => Kind::Text,
                Role::Number | Role::Flag | Role::TritonDtype => continue,
            };
            scope.assume(value, kind);
        }
        evidence
    }

    pub(super) fn may_be_absent(&self, value: ValueId) -> bool {
        self.asked.contains(&value)
    }

    pub(super) fn role(&self, value: ValueId) -> Option<Role> {
        self.roles.get(&value).copied()
    }

    fn add(&mut self, value: ValueId, role: Role) {
        let slot = self.roles.entry(value).or_insert(role);
        *slot = (*slot).min(role);
    }

    /// The parts of a grid are integers.
    fn grid(&mut self, scope: &Scope, grid: ValueId) {
        if let Op::Tuple(items) | Op::List(items) = scope.body().op(grid) {
            self.sizes.extend(scope.body().items(items));
        }
    }

    /// The parts of what a function makes the grid of are integers: names that have one value are followed.
    fn made_grid(&mut self, scope: &Scope, grid: ValueId) {
        let Op::Function(id) = scope.body().op(grid) else { return };
        let inner = &scope.facts().function(id).body;
        let results = inner.iter().filter_map(|(_, v)| match v.op {
            Op::Return(result) => Some(result),
            _ => None,
        });
        let mut parts: Vec<ValueId> = Vec::new();
        for result in results {
            if let Op::Tuple(items) = inner.op(result) {
                parts.extend(inner.items(items));
            }
        }
        while let Some(part) = parts.pop() {
            match inner.op(part) {
                Op::Free(name) => {
                    let all = values::of_name(scope.function(), name);
                    if let [one] = all.into_iter().collect::<Vec<_>>()[..] {
                        self.sizes.push(one);
                    }
                }
                // A whole number is made of whole numbers.
                Op::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::FloorDiv | BinaryOp::Mod, a, b) => {
                    parts.extend([a, b])
                }
                _ => {}
            }
        }
    }

    /// Arguments of functions that take sizes.
    fn sizes(&mut self, scope: &Scope, call: &Call) {
        if let Some("torch.empty" | "torch.zeros" | "torch.ones" | "range") = scope.dotted(call.callee).as_deref() {
            for arg in call.args.iter().filter(|a| a.kind == ArgKind::Positional) {
                match scope.body().op(arg.value) {
                    Op::Tuple(items) | Op::List(items) => scope.body().items(items).iter().for_each(|&v| self.size(scope, v)),
                    _ if call.args.iter().filter(|a| a.kind == ArgKind::Positional).count() > 1 => self.size(scope, arg.value),
                    _ => {}
                }
            }
        }
        if scope.dotted(call.callee).is_some_and(|name| counts(&name)) {
            call.args.iter().for_each(|a| self.add(a.value, Role::Int));
        }
    }

    fn size(&mut self, scope: &Scope, value: ValueId) {
        if !matches!(scope.body().op(value), Op::Star(_)) {
            self.add(value, Role::Int);
        }
    }

    fn launch(&mut self, scope: &Scope, call: &Call, kernel: KernelId) {
        for arg in &call.args {
            if let ArgKind::Keyword(name) = arg.kind
                && matches!(scope.name(name), "num_warps" | "num_stages" | "num_ctas")
            {
                self.add(arg.value, Role::Int);
            }
        }
        for (param, value) in bind(scope, &spread(scope, call), kernel) {
            if kernel_use::asks_whether_there(scope.program, scope.program.kernel(kernel).function, param) {
                self.asked.insert(value);
            }
            if let Some(role) = role(scope, kernel, param) {
                self.add(value, role);
            }
        }
    }

    /// What holds of one read of `self.x` holds of every other.
    fn share_paths(&mut self, scope: &Scope) {
        let mut paths: BTreeMap<(ValueId, Vec<Name>), Vec<ValueId>> = BTreeMap::new();
        for (id, value) in scope.body().iter() {
            if matches!(value.op, Op::Attr(..))
                && let Some(path) = path(scope, id)
            {
                paths.entry(path).or_default().push(id);
            }
        }
        for values in paths.values() {
            let role = values.iter().filter_map(|v| self.role(*v)).min();
            if let Some(role) = role {
                values.iter().for_each(|&v| self.add(v, role));
            }
        }
    }
}

fn is_self(scope: &Scope, value: ValueId) -> bool {
    scope.function().class.is_some() && scope.body().op(value) == Op::Param(0)
}

/// The object and the attributes that a value is read through.
pub(super) fn path(scope: &Scope, mut value: ValueId) -> Option<(ValueId, Vec<Name>)> {
    let mut names = Vec::new();
    while let Op::Attr(object, name) = scope.body().op(value) {
        names.push(name);
        value = object;
    }
    names.reverse();
    (!names.is_empty()).then_some((value, names))
}

/// How many arguments the one star of a call must stand for: every parameter without a default gets one.
/// `named`: whether a keyword gives a parameter its argument.
fn starred(params: &[Param], call: &Call, named: &dyn Fn(&Param) -> bool) -> Option<usize> {
    let of = |wanted: ArgKind| call.args.iter().filter(|a| a.kind == wanted).count();
    let spread = of(ArgKind::Star) == 1 && of(ArgKind::StarStar) == 0;
    let open: Vec<&Param> = params.iter().filter(|p| !named(p)).collect();
    let plain = open.iter().all(|p| p.default.is_none() && p.kind != ParamKind::Star);
    (spread && plain).then(|| open.len().checked_sub(of(ArgKind::Positional)))?
}

/// Which argument each parameter of a kernel gets, as far as the length of stars before it is known.
pub(super) fn bind(scope: &Scope, call: &Call, kernel: KernelId) -> Vec<(u16, ValueId)> {
    let function = scope.program.function(scope.program.kernel(kernel).function);
    let file = scope.program.kernel(kernel).function.file;
    let mut bound = Vec::new();
    let named = |param: &Param| {
        let text = scope.program.name(file, param.name);
        let mut kinds = call.args.iter().map(|a| a.kind);
        kinds.any(|kind| matches!(kind, ArgKind::Keyword(name) if scope.name(name) == text))
    };
    let length = self::starred(&function.params, call, &named);
    let mut starred = false;
    for (position, arg) in call.args.iter().enumerate() {
        let param = match arg.kind {
            ArgKind::Positional if starred => position + length.unwrap_or_default() - 1,
            ArgKind::Positional => position,
            ArgKind::Keyword(name) => {
                let text = scope.name(name);
                let at = function.params.iter().position(|p| scope.program.name(file, p.name) == text);
                let Some(at) = at else { continue };
                at
            }
            ArgKind::Star => {
                starred = true;
                continue;
            }
            ArgKind::StarStar => continue,
        };
        if starred && length.is_none() && arg.kind == ArgKind::Positional {
            continue;
        }
        let takes = function.params.get(param).is_some_and(|p| p.kind != ParamKind::Star);
        if takes {
            bound.push((param as u16, arg.value));
        }
    }
    bound
}

/// The kernel, or a device function that it hands the parameter to, calls it.
pub(super) fn is_called(scope: &Scope, id: KernelId, param: u16, depth: u32) -> bool {
    calls_param(scope, scope.program.kernel(id).function, param, depth)
}

fn calls_param(scope: &Scope, at: FunctionRef, param: u16, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let body = &scope.program.function(at).body;
    let inner = Scope::new(scope.program, scope.knowledge, at);
    let own = |v: ValueId| body.op(v) == Op::Param(param);
    body.calls.iter().any(|call| {
        own(call.callee)
            || call.args.iter().enumerate().any(|(position, arg)| {
                let hit = own(arg.value)
                    .then(|| inner.project_function(call.callee).filter(|&f| f != at))
                    .flatten();
                let to = hit.and_then(|f| Some((f, super::super::evidence::bound(scope.program, &inner, call, position, f)?)));
                to.is_some_and(|(f, param)| calls_param(scope, f, param, depth))
            })
    })
}

fn is_constexpr(scope: &Scope, at: FunctionRef, param: u16) -> bool {
    let annotation = scope.program.function(at).params[param as usize].annotation;
    annotation.is_some_and(|a| scope.program.file(at.file).source.slice(a.span).contains("constexpr"))
}

/// The number that a parameter is: one that the kernel counts with, or what is no pointer and known at the launch only.
pub(super) fn number(scope: &Scope, id: KernelId, param: u16) -> Option<Base> {
    let kernel = scope.program.kernel(id);
    let own = |w: &crate::program::Write| w.param == param;
    let pointer = kernel.reads.contains(&param) || kernel.writes.iter().any(own) || kernel.writes_pointees.iter().any(own);
    if pointer || kernel.unresolved.iter().any(|u| u.0 == param) {
        return None;
    }
    let used = kernel_use::of_param(scope.types()?, kernel, param, 3);
    let unused = crate::rewrite::evidence::Evidence {
        used: true,
        ..Default::default()
    };
    if used == unused && is_constexpr(scope, kernel.function, param) {
        return Some(Base::Number);
    }
    if used.none || used.text || used.tensor || used.sequence || used.other {
        return None;
    }
    match (used.int, used.number, is_constexpr(scope, kernel.function, param)) {
        (true, ..) => Some(Base::Int),
        (_, true, _) => Some(Base::Number),
        // It may be a pointer that nothing is read through.
        (.., false) if !used.silent => Some(Base::Number),
        _ => None,
    }
}

/// What a kernel does with a parameter.
fn role(scope: &Scope, id: KernelId, param: u16) -> Option<Role> {
    let kernel = scope.program.kernel(id);
    let own = |w: &crate::program::Write| w.param == param;
    // Of a tuple the parts are pointers, not the tuple; a tensor descriptor is no tensor.
    let used = scope.types().map(|types| kernel_use::of_param(types, kernel, param, 3));
    if used.is_some_and(|used| used.triton_dtype) {
        return Some(Role::TritonDtype);
    }
    if used.is_some_and(|used| used.sequence || used.other) {
        return None;
    }
    if kernel.reads.contains(&param) || kernel.writes.iter().any(own) {
        return Some(Role::Pointer);
    }
    if kernel.unresolved.iter().any(|u| u.0 == param) || kernel.writes_pointees.iter().any(own) {
        return None;
    }
    let at = kernel.function;
    let function = scope.program.function(at);
    let constexpr = is_constexpr(scope, at, param);
    if matches!(
        scope.program.name(at.file, function.params[param as usize].name),
        "num_warps" | "num_stages"
    ) {
        return Some(Role::Int);
    }
    let mut uses = BTreeSet::new();
    uses_in_kernel(scope, at, param, 3, &mut uses);
    let has = |u: Use| uses.contains(&u);
    if has(Use::None) {
        None
    } else if has(Use::Text) {
        Some(Role::Text)
    } else if has(Use::Size) {
        Some(Role::Int)
    } else if has(Use::Arithmetic) || has(Use::Sum) {
        let told = scope.types().map(|types| kernel_use::of_param(types, kernel, param, 3));
        let (whole, number) = told.map_or((false, false), |told| (told.int, told.number));
        let real = told.is_some_and(|told| told.real && !told.vague);
        match whole {
            true => Some(Role::Int),
            _ if real => Some(Role::Real),
            // A pointer that nothing is read through may be added to, too.
            false => (number || has(Use::Arithmetic)).then_some(Role::Number),
        }
    } else if constexpr && has(Use::Truth) {
        Some(Role::Flag)
    } else if used.is_some_and(|used| used.int && !used.text && !used.none) {
        Some(Role::Int)
    } else {
        None
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    /// Compared with `None`.
    None,
    Text,
    Size,
    Arithmetic,
    /// A sum or difference: may be that of a pointer.
    Sum,
    Truth,
}

fn uses_in_kernel(scope: &Scope, kernel: FunctionRef, param: u16, depth: u32, found: &mut BTreeSet<Use>) {
    let function = scope.program.function(kernel);
    let body = &function.body;
    let own = |v: ValueId| body.op(v) == Op::Param(param);
    let none = |v: ValueId| body.op(v) == Op::Const(Const::None);
    let text = |v: ValueId| matches!(body.op(v), Op::Const(Const::Str(_)));
    for (_, value) in body.iter() {
        match value.op {
            Op::Compare(_, a, b) if own(a) || own(b) => {
                found.insert(match (a, b) {
                    (a, b) if none(a) || none(b) => Use::None,
                    (a, b) if text(a) || text(b) => Use::Text,
                    _ => Use::Arithmetic,
                });
            }
            Op::Binary(op, a, b) | Op::Augment(op, a, b) if own(a) || own(b) => {
                let whole = matches!(
                    op,
                    BinaryOp::FloorDiv | BinaryOp::Mod | BinaryOp::LShift | BinaryOp::RShift | BinaryOp::BitAnd | BinaryOp::BitOr
                );
                let sum = matches!(op, BinaryOp::Add | BinaryOp::Sub);
                found.insert(match (whole, sum) {
                    (true, _) => Use::Size,
                    (_, true) => Use::Sum,
                    _ => Use::Arithmetic,
                });
            }
            Op::Attr(object, name) if own(object) && scope.program.name(kernel.file, name) == "to" => {
                found.insert(Use::Arithmetic);
            }
            Op::Call(call) => use_in_call(scope, kernel, body.call(call), &own, depth, found),
            _ => {}
        }
    }
    let tested = body.guards.iter().any(|g| match g.kind {
        crate::facts::GuardKind::When(v, _) => own(v) || values::operands(body, body.op(v)).into_iter().any(own),
        _ => false,
    });
    if tested {
        found.insert(Use::Truth);
    }
}

fn use_in_call(scope: &Scope, kernel: FunctionRef, call: &Call, own: &dyn Fn(ValueId) -> bool, depth: u32, found: &mut BTreeSet<Use>) {
    let body = &scope.program.function(kernel).body;
    if let Op::Attr(_, name) | Op::Free(name) = body.op(call.callee) {
        let name = scope.program.name(kernel.file, name);
        let sized = matches!(name, "arange" | "cdiv" | "static_range" | "range" | "zeros" | "full");
        let display = |v: ValueId| matches!(body.op(v), Op::Tuple(_) | Op::List(_));
        let inside = |v: ValueId| own(v) || display(v) && values::operands(body, body.op(v)).into_iter().any(own);
        let mut shape = call.args.iter().take(if name == "full" { 1 } else { 3 });
        if sized && shape.any(|a| inside(a.value)) {
            found.insert(Use::Size);
        }
        let computed = matches!(
            name,
            "minimum" | "maximum" | "where" | "min" | "max" | "fma" | "multiple_of" | "cast"
        );
        if computed && call.args.iter().any(|a| own(a.value)) {
            found.insert(Use::Arithmetic);
        }
    }
    if depth == 0 || !call.args.iter().any(|a| own(a.value)) {
        return;
    }
    let inner = Scope::new(scope.program, scope.knowledge, kernel);
    let Some(callee) = inner.project_function(call.callee).filter(|&c| c != kernel) else {
        return;
    };
    let params = &scope.program.function(callee).params;
    for (position, arg) in call.args.iter().enumerate().filter(|(_, a)| own(a.value)) {
        let at = match arg.kind {
            ArgKind::Positional => Some(position),
            ArgKind::Keyword(name) => {
                let text = scope.program.name(kernel.file, name);
                params.iter().position(|p| scope.program.name(callee.file, p.name) == text)
            }
            ArgKind::Star | ArgKind::StarStar => None,
        };
        if let Some(at) = at.filter(|at| *at < params.len()) {
            uses_in_kernel(scope, callee, at as u16, depth - 1, found);
        }
    }
}
