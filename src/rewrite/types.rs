//! Types of parameters that no annotation gives, or one that no schema takes: inferred from use, default, callees and callers.
//!
//! A type is *proven* when every call that works today works with it too, and means the same. A `bool` in a schema takes whatever
//! has a truth; a `Scalar` keeps integers and floats apart; so where only truth is asked, or any number fits, these are proven.

use super::evidence::{self, Evidence};
use super::scope::{Kind, Scope};
use super::signature::{Base, Type, WIDTH};
use super::spread::spread;
use crate::facts::{ArgKind, CallId, Const, MODULE, Name, Op, ParamKind, ValueId};
use crate::knowledge::Knowledge;
use crate::program::{FunctionRef, Kernel, Launch, Program};
use crate::source::FileId;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What is known of a parameter's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inferred {
    pub(super) ty: Type,
    /// Else only callers in view say so.
    pub(super) proven: bool,
    /// Nothing uses it.
    pub(super) unused: bool,
}

/// Callees and callers are asked this many calls away.
const MAX_DEPTH: u32 = 4;

/// Inferred types of a project's parameters, each found once.
pub(super) struct Types<'a> {
    pub(super) program: &'a Program,
    pub(super) knowledge: &'a Knowledge,
    /// Length of lines in new code.
    pub(super) width: usize,
    launches: FxHashMap<(FunctionRef, CallId), &'a Launch>,
    kernels: FxHashMap<FunctionRef, &'a Kernel>,
    /// By parameter and depth of the question.
    known: RefCell<FxHashMap<(FunctionRef, u16, u32), Option<Inferred>>>,
    /// Questions that are being answered.
    open: RefCell<Vec<(FunctionRef, u16)>>,
    /// The outermost of them that came up again: what rests on it is no answer for others.
    circle: Cell<usize>,
    /// By package: `X | None` is what most of its files write.
    pipes: RefCell<FxHashMap<String, bool>>,
}

impl<'a> Types<'a> {
    pub(super) fn new(program: &'a Program, knowledge: &'a Knowledge, width: usize) -> Rc<Self> {
        let mut launches = FxHashMap::default();
        for launch in program.functions.iter().flat_map(|f| &f.launches) {
            launches.extend(launch.call.map(|call| ((launch.function, call), launch)));
        }
        Rc::new(Self {
            program,
            knowledge,
            width: if width == 0 { WIDTH } else { width },
            launches,
            kernels: program.kernels.iter().map(|k| (k.function, k)).collect(),
            known: RefCell::default(),
            open: RefCell::default(),
            circle: Cell::new(usize::MAX),
            pipes: RefCell::default(),
        })
    }

    /// Most files near a file write `X | None` and not `Optional[X]`: those of its package, else those around it.
    pub(super) fn neighbours_write_pipes(&self, file: FileId) -> bool {
        let mut package = self.program.file(file).module.as_str();
        while let Some((outer, _)) = package.rsplit_once('.') {
            package = outer;
            if let Some(&known) = self.pipes.borrow().get(package) {
                return known;
            }
            let inside = |module: &str| module.strip_prefix(package).is_some_and(|rest| rest.starts_with('.'));
            let (mut pipes, mut old) = (0, 0);
            for near in self.program.files.iter().filter(|f| inside(&f.module)) {
                let text = &near.source.text;
                // With postponed evaluation an older Python may be in use, which has no `|` for types.
                pipes += usize::from(text.contains(" | None") && !text.contains("from __future__ import annotations"));
                old += usize::from(text.contains("Optional["));
            }
            if pipes != old {
                self.pipes.borrow_mut().insert(package.to_string(), pipes > old);
                return pipes > old;
            }
        }
        false
    }

    /// The launch that a call is.
    pub(super) fn launch(&self, at: FunctionRef, call: CallId) -> Option<&'a Launch> {
        self.launches.get(&(at, call)).copied()
    }

    /// The kernel or device function that a function is.
    pub(super) fn kernel(&self, function: FunctionRef) -> Option<&'a Kernel> {
        self.kernels.get(&function).copied()
    }

    /// The type of a parameter.
    pub(super) fn param(self: &Rc<Self>, at: FunctionRef, param: u16) -> Option<Inferred> {
        self.param_at(at, param, MAX_DEPTH)
    }

    /// The type of a parameter, for a question from some calls away.
    pub(super) fn param_at(self: &Rc<Self>, at: FunctionRef, param: u16, depth: u32) -> Option<Inferred> {
        let written = Scope::new(self.program, self.knowledge, at).param_type(param);
        if let Some(ty) = written.filter(|ty| ty.base != Base::Other) {
            return Some(Inferred {
                ty,
                proven: true,
                unused: false,
            });
        }
        if let Some(known) = self.known.borrow().get(&(at, param, depth)) {
            return *known;
        }
        if depth == 0 {
            return None;
        }
        if let Some(index) = self.open.borrow().iter().position(|&o| o == (at, param)) {
            self.circle.set(self.circle.get().min(index));
            return None;
        }
        let own = self.open.borrow().len();
        let before = self.circle.replace(usize::MAX);
        self.open.borrow_mut().push((at, param));
        let found = self.infer(at, param, depth - 1);
        self.open.borrow_mut().pop();
        let circle = self.circle.get();
        if circle >= own {
            self.known.borrow_mut().insert((at, param, depth), found);
        }
        self.circle.set(before.min(if circle < own { circle } else { usize::MAX }));
        found
    }

    /// The type of a parameter as its own function shows it, without a look at callers and callees.
    pub(super) fn shallow(self: &Rc<Self>, at: FunctionRef, param: u16) -> Option<Inferred> {
        if let Some(known) = self.known.borrow().get(&(at, param, 0)) {
            return *known;
        }
        let function = self.program.function(at);
        let default = self.default(at, function.params.get(param as usize)?.default);
        let scope = Scope::new(self.program, self.knowledge, at);
        let found = decide(evidence::of_param(self, &scope, param, 0), default, &Callers::default());
        self.known.borrow_mut().insert((at, param, 0), found);
        found
    }

    /// The type of a field, or of an item with a string key, of a parameter.
    pub(super) fn field(self: &Rc<Self>, at: FunctionRef, param: Name, field: Name, key: bool) -> Option<Inferred> {
        let evidence = evidence::of_field(self, at, param, field, key, MAX_DEPTH - 1);
        decide(evidence, None, &Callers::default()).filter(|i| !i.unused)
    }

    fn default(&self, at: FunctionRef, value: Option<ValueId>) -> Option<Op> {
        let function = self.program.function(at);
        value.map(|v| self.program.file(at.file).facts.function(function.parent).body.op(v))
    }

    fn infer(self: &Rc<Self>, at: FunctionRef, param: u16, depth: u32) -> Option<Inferred> {
        let function = self.program.function(at);
        let own = function.params.get(param as usize)?;
        if !matches!(own.kind, ParamKind::Positional | ParamKind::KeywordOnly | ParamKind::PositionalOnly) || at.function == MODULE {
            return None;
        }
        let scope = Scope::typed_at(self, at, 0);
        let evidence = evidence::of_param(self, &scope, param, depth);
        let default = self.default(at, own.default);
        let callers = self.callers(at, param, depth);
        decide(evidence, default, &callers).or_else(|| self.listed(at, own.default, evidence))
    }

    /// `limits=(0.0, 1.0)`, unpacked or indexed: a list of its numbers.
    fn listed(&self, at: FunctionRef, default: Option<ValueId>, evidence: Evidence) -> Option<Inferred> {
        let parent = FunctionRef {
            file: at.file,
            function: self.program.function(at).parent,
        };
        let scope = Scope::new(self.program, self.knowledge, parent);
        let Op::Tuple(items) = scope.body().op(default?) else { return None };
        let kinds: Vec<Kind> = scope.body().items(items).iter().map(|&v| scope.kind(v)).collect();
        let all = |wanted: &[Kind]| !kinds.is_empty() && kinds.iter().all(|k| wanted.contains(k));
        let base = match () {
            () if all(&[Kind::Int]) => Base::Int,
            () if all(&[Kind::Int, Kind::Float]) => Base::Float,
            () => return None,
        };
        let ty = Type {
            base,
            list: true,
            optional: evidence.none,
        };
        (evidence.sequence && !evidence.other && !evidence.tensor).then_some(Inferred {
            ty,
            proven: true,
            unused: false,
        })
    }

    /// What the calls in view pass for a parameter.
    fn callers(self: &Rc<Self>, at: FunctionRef, param: u16, depth: u32) -> Callers {
        let mut callers = Callers::default();
        let Some(func) = self.program.func(at) else { return callers };
        for caller in &func.callers {
            let Some(id) = caller.call else {
                callers.unknown = true;
                continue;
            };
            let outer = Scope::typed_at(self, caller.function, depth);
            let call = &spread(&outer, outer.body().call(id));
            if call.args.iter().any(|a| matches!(a.kind, ArgKind::Star | ArgKind::StarStar)) {
                callers.unknown = true;
                continue;
            }
            let hit = (0..call.args.len()).find(|&i| evidence::bound(self.program, &outer, call, i, at) == Some(param));
            // What is not passed has its default.
            let Some(hit) = hit else { continue };
            let value = call.args[hit].value;
            callers.none |= outer.may_be_none(value);
            match outer.kind(value) {
                Kind::Unknown => callers.unknown = true,
                kind => callers.kinds.push(kind),
            }
        }
        callers
    }
}

#[derive(Default)]
struct Callers {
    kinds: Vec<Kind>,
    none: bool,
    unknown: bool,
}

impl Callers {
    fn all(&self, wanted: &[Kind]) -> bool {
        let mut real = self.kinds.iter().filter(|k| **k != Kind::None).peekable();
        real.peek().is_some() && real.all(|k| wanted.contains(k))
    }

    fn any(&self, wanted: Kind) -> bool {
        self.kinds.contains(&wanted)
    }
}

fn decide(e: Evidence, default: Option<Op>, callers: &Callers) -> Option<Inferred> {
    let default_none = matches!(default, Some(Op::Const(Const::None)));
    // Who passes `None` where the body asserts that there is something gets an error in any case.
    let optional = default_none || !e.present && (e.none || callers.none || callers.any(Kind::None));
    let make = |base, list, proven| {
        Some(Inferred {
            ty: Type { base, list, optional },
            proven,
            unused: false,
        })
    };
    if !e.used && e == Evidence::default() {
        let ty = Type {
            base: Base::Other,
            list: false,
            optional,
        };
        return Some(Inferred {
            ty,
            proven: true,
            unused: true,
        });
    }
    if e.other {
        return None;
    }
    let constant = match default {
        Some(Op::Const(Const::Bool(_))) => Some(Base::Bool),
        Some(Op::Const(Const::Int(_))) => Some(Base::Int),
        Some(Op::Const(Const::Float(_))) => Some(Base::Float),
        Some(Op::Const(Const::Str(_))) => Some(Base::Text),
        _ => None,
    };
    let scalar = e.int | e.number | e.float | e.text | e.dtype;
    if e.tensor {
        // Numbers and tensors in one parameter have no schema.
        let clear = !scalar && !e.tensors && !e.shape && constant.is_none();
        return clear.then(|| make(Base::Tensor, false, true)).flatten();
    }
    let numeric = e.int | e.number | e.float;
    match constant {
        Some(Base::Text) => return make(Base::Text, false, !numeric && !e.truth || e.text),
        Some(Base::Bool) => {
            return if numeric || e.text { None } else { make(Base::Bool, false, true) };
        }
        Some(Base::Float) if !e.text => return make(Base::Float, false, true),
        _ => {}
    }
    if e.text {
        // `impl in ("a", "b")`, and what is no string goes on in another way.
        return (!numeric && !e.flag && !callers.any(Kind::Bool))
            .then(|| make(Base::Text, false, true))
            .flatten();
    }
    if e.dtype && !numeric {
        return make(Base::Dtype, false, true);
    }
    if e.device && !numeric {
        return make(Base::Device, false, true);
    }
    if e.tensors && !numeric {
        return make(Base::Tensor, true, true);
    }
    if e.shape && !numeric {
        return make(Base::Int, true, true);
    }
    if e.ints && !numeric && !callers.any(Kind::Tensor) {
        return make(Base::Int, true, false);
    }
    if numeric && !callers.any(Kind::Tensor) && !callers.any(Kind::Text) {
        return numbers(e, callers).and_then(|base| make(base, false, !e.sequence));
    }
    if constant == Some(Base::Int) && !callers.any(Kind::Tensor) {
        return make(
            if callers.any(Kind::Float) { Base::Number } else { Base::Int },
            false,
            !callers.unknown,
        );
    }
    if (e.flag || e.truth) && !e.sequence && !e.silent && !callers.any(Kind::Text) && !callers.any(Kind::Tensor) {
        return make(Base::Bool, false, true);
    }
    by_callers(callers).and_then(|(base, list)| make(base, list, false))
}

/// Which of the numeric types.
fn numbers(e: Evidence, callers: &Callers) -> Option<Base> {
    if e.int && !callers.any(Kind::Float) {
        return Some(Base::Int);
    }
    let real = e.real && !e.vague && !e.int;
    if real || e.float || callers.all(&[Kind::Float]) && !callers.unknown {
        return Some(Base::Float);
    }
    // Where one gives a float, the code is made for floats, and an integer means the same.
    if callers.any(Kind::Float) && callers.all(&[Kind::Int, Kind::Float]) {
        return Some(Base::Float);
    }
    // Callers that pass integers do not make it one: `Scalar` takes both, and keeps them apart.
    Some(Base::Number)
}

fn by_callers(callers: &Callers) -> Option<(Base, bool)> {
    if callers.unknown {
        return None;
    }
    let base = [
        (Kind::Tensor, Base::Tensor, false),
        (Kind::Int, Base::Int, false),
        (Kind::Float, Base::Float, false),
        (Kind::Bool, Base::Bool, false),
        (Kind::Text, Base::Text, false),
        (Kind::Shape, Base::Int, true),
    ];
    base.iter()
        .find(|(kind, ..)| callers.all(&[*kind]))
        .map(|&(_, base, list)| (base, list))
}
