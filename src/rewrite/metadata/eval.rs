//! Evaluates a function's results to metadata.

mod methods;
mod values;

use super::poly::{Atom, Function as Fun, Poly};
use crate::facts::{ArgKind, CallId, Const, FunctionKind, MODULE, Op, ParamKind, StatementKind, UnaryOp, ValueId};
use crate::knowledge::Knowledge;
use crate::program::{FunctionRef, Program};
use crate::rewrite::scope::Scope;
use crate::rewrite::signature::Base;
use crate::source::Place;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
pub(super) use values::{Dtype, Meta, Piece, Val};
use values::{
    binary, canonical, dtype_of, first_size_unknown, is_dtype, numel, one_of, rank_of, size_at, sizes, slice, transposed, unknown_tensor,
};

/// One way out of a function.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) val: Val,
    pub(super) place: Place,
}

/// What both functions are known to ask of their parameters.
#[derive(Clone, Debug, Default)]
pub(super) struct Premises {
    /// Ranks that unpacking or an assertion settles.
    pub(super) ranks: BTreeMap<u16, usize>,
    /// Parameters whose dtype is compared with something.
    pub(super) dtypes: Vec<u16>,
    /// Number parameters that are compared with something.
    pub(super) numbers: Vec<Atom>,
}

/// What a parameter holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Tensor,
    Whole,
    Dtype,
    Unknown,
}

/// What is bound to a parameter.
#[derive(Clone, Debug)]
enum Bound {
    /// The op's parameter of this index.
    Own(u16, Sort),
    /// A value of the caller.
    Given(Val),
    /// Nothing known.
    Unknown,
}

const MAX_DEPTH: u32 = 48;
const MOST_STEPS: u32 = 2000;

/// One function with what its parameters stand for.
pub(super) struct Frame<'a> {
    scope: Scope<'a>,
    params: Vec<Bound>,
    busy: RefCell<Vec<ValueId>>,
    /// Steps that are left: without it, shared operands would be evaluated over and over.
    steps: Cell<u32>,
    calls: u32,
}

impl<'a> Frame<'a> {
    /// The op's implementation itself.
    pub(super) fn own(program: &'a Program, knowledge: &'a Knowledge, at: FunctionRef) -> Self {
        let scope = Scope::new(program, knowledge, at);
        let params = (0..scope.function().params.len()).map(|i| Bound::Own(i as u16, sort(&scope, i as u16)));
        Self {
            params: params.collect(),
            busy: RefCell::default(),
            steps: Cell::new(MOST_STEPS),
            calls: 0,
            scope,
        }
    }

    /// A fake: its parameters are the implementation's, by position, keyword-only ones by name.
    pub(super) fn fake(program: &'a Program, knowledge: &'a Knowledge, at: FunctionRef, of: &Frame<'a>) -> Self {
        let scope = Scope::new(program, knowledge, at);
        let own = of.scope.function();
        let stars = own.params.iter().any(|p| matches!(p.kind, ParamKind::Star | ParamKind::StarStar));
        let bind = |(i, param): (usize, &crate::facts::Param)| {
            let position = match param.kind {
                _ if stars => return Bound::Unknown,
                ParamKind::Positional | ParamKind::PositionalOnly => {
                    let mut positional = own.params.iter().enumerate().filter(|(_, p)| p.kind != ParamKind::KeywordOnly);
                    positional.nth(i).map(|(i, _)| i)
                }
                ParamKind::KeywordOnly => own.params.iter().position(|p| of.scope.name(p.name) == scope.name(param.name)),
                ParamKind::Star | ParamKind::StarStar => None,
            };
            match position {
                Some(p) => {
                    let own = sort(&of.scope, p as u16);
                    Bound::Own(p as u16, if own == Sort::Unknown { sort(&scope, i as u16) } else { own })
                }
                None => Bound::Unknown,
            }
        };
        let params = scope.function().params.iter().enumerate().map(bind).collect();
        Self {
            params,
            busy: RefCell::default(),
            steps: Cell::new(MOST_STEPS),
            calls: 0,
            scope,
        }
    }

    /// Every way out. `None` when that cannot be told.
    pub(super) fn ways(&self) -> Option<Vec<Way>> {
        let function = self.scope.function();
        let body = &function.body;
        if function.is_generator || function.kind == FunctionKind::AsyncDef {
            return None;
        }
        let place = |span| Place {
            file: self.scope.at.file,
            span,
        };
        let mut ways: Vec<Way> = Vec::new();
        for (_, value) in body.iter() {
            if let Op::Return(result) = value.op {
                ways.push(Way {
                    val: self.eval(result),
                    place: place(value.span),
                });
            }
        }
        let last = body.top.last().map(|&s| body.statements[s.index()].kind);
        let open = |kind| {
            !matches!(
                kind,
                StatementKind::Return | StatementKind::Raise | StatementKind::If | StatementKind::Try | StatementKind::With
            ) && !matches!(kind, StatementKind::For | StatementKind::While | StatementKind::Match)
        };
        let falls_off = function.kind != FunctionKind::Lambda && last.is_none_or(open);
        if falls_off {
            ways.push(Way {
                val: Val::None,
                place: place(function.name_span),
            });
        }
        Some(ways)
    }

    /// What the function asks of its parameters.
    pub(super) fn premises(&self, into: &mut Premises) {
        let body = self.scope.body();
        let mut counts: BTreeMap<ValueId, (usize, bool)> = BTreeMap::new();
        for (_, v) in body.iter() {
            match v.op {
                Op::Unpack { value, index, rest } => {
                    let slot = counts.entry(value).or_insert((0, false));
                    slot.0 = slot.0.max(index as usize + 1);
                    slot.1 |= rest;
                }
                Op::Compare(_, a, b) => self.compared(a, b, into),
                _ => {}
            }
        }
        for (value, (count, rest)) in counts {
            if let (Val::Shape(pieces), false) = (self.eval(value), rest)
                && let [Piece::Rest(p, 0, 0)] = pieces.as_slice()
            {
                into.ranks.entry(*p).or_insert(count);
            }
        }
    }

    fn compared(&self, a: ValueId, b: ValueId, into: &mut Premises) {
        for (v, other) in [(a, b), (b, a)] {
            match self.eval(v) {
                Val::Dtype(Dtype::Of(p) | Dtype::Param(p)) => into.dtypes.push(p),
                Val::Int(poly) => {
                    if let (Val::Int(rank), mut atoms) = (self.eval(other), Vec::new()) {
                        poly.atoms(&mut atoms);
                        match (atoms.as_slice(), rank.as_number()) {
                            ([Atom::Rank(p)], Some(n)) if poly == Poly::atom(Atom::Rank(*p)) && n >= 0 => {
                                into.ranks.entry(*p).or_insert(n as usize);
                            }
                            _ => {}
                        }
                        into.numbers.extend(atoms);
                    }
                }
                _ => {}
            }
        }
    }

    pub(super) fn eval(&self, value: ValueId) -> Val {
        self.steps.set(MOST_STEPS);
        self.at(value, MAX_DEPTH)
    }

    fn at(&self, value: ValueId, depth: u32) -> Val {
        let Some(depth) = depth.checked_sub(1) else { return Val::Unknown };
        let steps = self.steps.get();
        if steps == 0 || self.busy.borrow().contains(&value) {
            return Val::Unknown;
        }
        self.steps.set(steps - 1);
        self.busy.borrow_mut().push(value);
        let val = self.of(value, depth);
        self.busy.borrow_mut().pop();
        val
    }

    fn of(&self, value: ValueId, depth: u32) -> Val {
        let body = self.scope.body();
        let at = |v| self.at(v, depth);
        match body.op(value) {
            Op::Param(i) => self.param(i),
            Op::Const(Const::None) => Val::None,
            Op::Const(Const::Int(n)) => Val::Int(Poly::number(i64::from(n))),
            Op::Const(_) | Op::Format(_) => Val::Other,
            Op::Annotated(_, v) => at(v),
            Op::Tuple(items) | Op::List(items) => self.sequence(body.items(items), depth),
            Op::Select(_, a, b) => one_of(vec![at(a), at(b)]),
            Op::Phi(items) | Op::Or(items) => one_of(body.items(items).iter().map(|&v| at(v)).collect()),
            Op::Unpack { value, index, rest: false } => self.unpacked(value, usize::from(index), depth),
            Op::Index(object, index) => self.indexed(object, index, depth),
            Op::Attr(object, name) => self.attribute(value, object, self.scope.name(name), depth),
            Op::Free(_) | Op::Import(_) => self.global(value),
            Op::Unary(UnaryOp::Minus, v) => match at(v) {
                Val::Int(n) => Poly::default().add(&n, -1).map_or(Val::Unknown, Val::Int),
                _ => Val::Unknown,
            },
            Op::Binary(op, a, b) | Op::Augment(op, a, b) => binary(op, at(a), at(b)),
            Op::Call(call) => self.call(call, depth),
            _ => Val::Unknown,
        }
    }

    fn param(&self, i: u16) -> Val {
        match self.params.get(i as usize) {
            Some(Bound::Given(val)) => val.clone(),
            Some(Bound::Own(p, Sort::Tensor)) => Val::Tensor(Meta {
                shape: Some(vec![Piece::Rest(*p, 0, 0)]),
                dtypes: vec![Dtype::Of(*p)],
            }),
            Some(Bound::Own(p, Sort::Whole)) => Val::Int(Poly::atom(Atom::Param(*p))),
            Some(Bound::Own(p, Sort::Dtype)) => Val::Dtype(Dtype::Param(*p)),
            Some(Bound::Own(..) | Bound::Unknown) | None => Val::Unknown,
        }
    }

    fn sequence(&self, items: &[ValueId], depth: u32) -> Val {
        let body = self.scope.body();
        let mut out: Vec<Val> = Vec::new();
        let mut pieces: Option<Vec<Piece>> = None;
        for &item in items {
            if let Op::Star(inner) = body.op(item) {
                let Some(starred) = sizes(&self.at(inner, depth)) else {
                    return Val::Unknown;
                };
                let before = pieces.take().or_else(|| {
                    out.iter()
                        .map(|v| sizes(&Val::Items(vec![v.clone()])))
                        .collect::<Option<Vec<_>>>()
                        .map(|v| v.concat())
                });
                let Some(mut all) = before else { return Val::Unknown };
                all.extend(starred);
                pieces = Some(all);
            } else if let Some(pieces) = &mut pieces {
                let Some(more) = sizes(&Val::Items(vec![self.at(item, depth)])) else {
                    return Val::Unknown;
                };
                pieces.extend(more);
            } else {
                out.push(self.at(item, depth));
            }
        }
        pieces.map_or(Val::Items(out), Val::Shape)
    }

    fn unpacked(&self, value: ValueId, index: usize, depth: u32) -> Val {
        match self.at(value, depth) {
            Val::Items(items) => items.get(index).cloned().unwrap_or(Val::Unknown),
            Val::Shape(pieces) => size_at(&pieces, index as i64),
            _ => Val::Unknown,
        }
    }

    fn indexed(&self, object: ValueId, index: ValueId, depth: u32) -> Val {
        let body = self.scope.body();
        let whole = self.at(object, depth);
        if let Op::Slice(lower, upper, step) = body.op(index) {
            if !matches!(body.op(step), Op::Const(Const::None)) {
                return unknown_tensor(&whole);
            }
            let bound = |v: ValueId| match (body.op(v), self.at(v, depth)) {
                (Op::Const(Const::None), _) => Some(None),
                (_, Val::Int(n)) => n.as_number().map(Some),
                _ => None,
            };
            return match (&whole, bound(lower), bound(upper)) {
                (Val::Shape(pieces), Some(lower), Some(upper)) => slice(pieces, lower, upper),
                (Val::Items(items), Some(lower), Some(upper)) => match sizes(&Val::Items(items.clone())) {
                    Some(pieces) => slice(&pieces, lower, upper),
                    None => Val::Unknown,
                },
                (Val::Tensor(meta), _, _) => first_size_unknown(meta),
                _ => Val::Unknown,
            };
        }
        match (&whole, self.at(index, depth)) {
            (Val::Shape(pieces), Val::Int(n)) => n.as_number().map_or(Val::Unknown, |n| size_at(pieces, n)),
            (Val::Items(items), Val::Int(n)) => {
                let n = n.as_number().map(|n| if n < 0 { n + items.len() as i64 } else { n });
                n.and_then(|n| items.get(usize::try_from(n).ok()?)).cloned().unwrap_or(Val::Unknown)
            }
            _ => unknown_tensor(&whole),
        }
    }

    fn attribute(&self, value: ValueId, object: ValueId, name: &str, depth: u32) -> Val {
        match self.at(object, depth) {
            Val::Tensor(meta) => match name {
                "shape" => meta.shape.map_or(Val::Unknown, Val::Shape),
                "dtype" => dtype_of(&meta),
                "ndim" => rank_of(&meta),
                "T" | "mT" => transposed(&meta, &[Val::Int(Poly::number(-1)), Val::Int(Poly::number(-2))]),
                "data" => Val::Tensor(meta),
                _ => Val::Unknown,
            },
            Val::Unknown => self.global(value),
            _ => Val::Unknown,
        }
    }

    /// `torch.float16`, a constant of the module.
    fn global(&self, value: ValueId) -> Val {
        let Some(name) = self.scope.dotted(value) else {
            return self.module_constant(value);
        };
        if let Some(dtype) = name.strip_prefix("torch.").filter(|d| is_dtype(d)) {
            return Val::Dtype(Dtype::Named(canonical(dtype).to_string()));
        }
        self.module_constant(value)
    }

    fn module_constant(&self, value: ValueId) -> Val {
        let Op::Free(name) = self.scope.body().op(value) else {
            return Val::Unknown;
        };
        let facts = self.scope.facts();
        let Some(bound) = facts.module().binding(name) else {
            return Val::Unknown;
        };
        let once = facts.module().assigned.iter().any(|(n, values)| *n == name && values.len() == 1);
        if self.scope.at.function == MODULE || !once || self.calls > 2 {
            return Val::Unknown;
        }
        let module = Frame {
            scope: Scope::new(
                self.scope.program,
                self.scope.knowledge,
                FunctionRef {
                    file: self.scope.at.file,
                    function: MODULE,
                },
            ),
            params: Vec::new(),
            busy: RefCell::default(),
            steps: Cell::new(MOST_STEPS),
            calls: self.calls + 1,
        };
        match module.eval(bound) {
            val @ (Val::Int(_) | Val::Dtype(_)) => val,
            _ => Val::Unknown,
        }
    }

    fn call(&self, call: CallId, depth: u32) -> Val {
        let body = self.scope.body();
        let call = body.call(call);
        if call.args.iter().any(|a| a.kind == ArgKind::StarStar) {
            return Val::Unknown;
        }
        let arguments = Arguments::new(self, call, depth);
        if let Op::Attr(object, method) = body.op(call.callee)
            && let Val::Tensor(meta) = self.at(object, depth)
        {
            return methods::method(&meta, self.scope.name(method), &arguments);
        }
        if let Op::Attr(object, method) = body.op(call.callee)
            && let Val::Shape(pieces) = self.at(object, depth)
            && self.scope.name(method) == "numel"
        {
            return numel(&pieces);
        }
        let Some(name) = self.scope.dotted(call.callee) else {
            return Val::Unknown;
        };
        if let Some(val) = methods::function(&name, &arguments) {
            return val;
        }
        self.helper(call, &arguments)
    }

    /// A function of the project with one way out.
    fn helper(&self, call: &crate::facts::Call, arguments: &Arguments) -> Val {
        if self.calls >= 3 {
            return Val::Unknown;
        }
        let Some(callee) = self.scope.project_function(call.callee) else {
            return Val::Unknown;
        };
        let scope = Scope::new(self.scope.program, self.scope.knowledge, callee);
        let function = scope.function();
        let returns: Vec<ValueId> = function
            .body
            .iter()
            .filter_map(|(_, v)| if let Op::Return(r) = v.op { Some(r) } else { None })
            .collect();
        let [result] = returns.as_slice() else { return Val::Unknown };
        if function.is_generator || function.class.is_some() || !function.decorators.is_empty() || arguments.starred {
            return Val::Unknown;
        }
        let mut params = Vec::new();
        for (i, param) in function.params.iter().enumerate() {
            let given = match arguments.at(i, scope.name(param.name)) {
                Some(val) => Bound::Given(val),
                None => match param.default.map(|d| scope.facts().function(function.parent).body.op(d)) {
                    Some(Op::Const(Const::None)) => Bound::Given(Val::None),
                    Some(Op::Const(Const::Int(n))) => Bound::Given(Val::Int(Poly::number(i64::from(n)))),
                    _ => Bound::Unknown,
                },
            };
            params.push(given);
        }
        let frame = Frame {
            params,
            busy: RefCell::default(),
            steps: Cell::new(MOST_STEPS),
            calls: self.calls + 1,
            scope,
        };
        frame.eval(*result)
    }
}

/// The arguments of a call, evaluated.
pub(super) struct Arguments {
    positional: Vec<Val>,
    keywords: Vec<(String, Val)>,
    starred: bool,
}

impl Arguments {
    fn new(frame: &Frame, call: &crate::facts::Call, depth: u32) -> Self {
        let mut arguments = Self {
            positional: Vec::new(),
            keywords: Vec::new(),
            starred: false,
        };
        for arg in &call.args {
            let val = frame.at(arg.value, depth);
            match arg.kind {
                ArgKind::Positional => arguments.positional.push(val),
                ArgKind::Keyword(name) => arguments.keywords.push((frame.scope.name(name).to_string(), val)),
                ArgKind::Star => {
                    // `torch.empty(*x.shape)`
                    match (sizes(&val), arguments.positional.is_empty()) {
                        (Some(pieces), true) if call.args.iter().filter(|a| a.kind == ArgKind::Positional).count() == 0 => {
                            arguments.positional.push(Val::Shape(pieces));
                        }
                        _ => arguments.starred = true,
                    }
                }
                ArgKind::StarStar => arguments.starred = true,
            }
        }
        arguments
    }

    fn at(&self, position: usize, name: &str) -> Option<Val> {
        let keyword = self.keywords.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
        keyword.or_else(|| self.positional.get(position).cloned())
    }
}

fn sort(scope: &Scope, param: u16) -> Sort {
    let Some(ty) = scope.param_type(param) else { return Sort::Unknown };
    match ty.base {
        _ if ty.list => Sort::Unknown,
        Base::Tensor => Sort::Tensor,
        Base::Int => Sort::Whole,
        Base::Dtype => Sort::Dtype,
        Base::Float | Base::Bool | Base::Number | Base::Text | Base::Device | Base::TritonDtype | Base::None | Base::Other => Sort::Unknown,
    }
}
