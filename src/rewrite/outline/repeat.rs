//! Inputs that need not be handed over: constants, and what tensors that are handed over tell of themselves.

use super::super::evidence::bound;
use super::super::scope::{Kind, Scope};
use super::live::Range;
use super::region::{Input, Outliner};
use super::values::{ids, operands};
use crate::facts::{Name, Names, Op, StatementId, StatementKind, ValueId};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;

/// What a tensor says of itself whether or not an op is around.
const ATTRIBUTES: [&str; 5] = ["shape", "dtype", "device", "ndim", "itemsize"];
const METHODS: [&str; 6] = ["size", "stride", "numel", "nelement", "dim", "element_size"];

/// Those that ask for sizes alone.
const SIZES: [&str; 6] = ["shape", "ndim", "size", "numel", "nelement", "dim"];

/// Methods whose result has the sizes of the tensor.
const KEEPING: [&str; 9] = ["contiguous", "to", "float", "half", "bfloat16", "double", "type", "detach", "clone"];

/// The value that a tensor has its sizes from: `x` for `x.to(dtype).contiguous()`.
fn same_sizes(scope: &Scope, value: ValueId, depth: u32) -> Option<ValueId> {
    let depth = depth.checked_sub(1)?;
    let body = scope.body();
    let all = |parts: &[ValueId]| {
        let mut roots = parts.iter().map(|&v| same_sizes(scope, v, depth));
        let first = roots.next()??;
        roots.all(|root| root == Some(first)).then_some(first)
    };
    match body.op(value) {
        Op::Select(_, a, b) => all(&[a, b]),
        Op::Phi(items) if body.items(items).iter().all(|v| *v < value) => all(body.items(items)),
        Op::Call(call) => match body.op(body.call(call).callee) {
            Op::Attr(object, name) if KEEPING.contains(&scope.name(name)) && scope.dotted(object).is_none() => {
                same_sizes(scope, object, depth)
            }
            _ => through_helper(scope, value, None, depth).or(Some(value)),
        },
        Op::Unpack {
            value: whole,
            index,
            rest: false,
        } => through_helper(scope, whole, Some(usize::from(index)), depth).or(Some(value)),
        _ => Some(value),
    }
}

/// The same for what a function of the project hands back, or a part of it: the argument that it has its sizes from.
fn through_helper(scope: &Scope, value: ValueId, part: Option<usize>, depth: u32) -> Option<ValueId> {
    let body = scope.body();
    let Op::Call(call) = body.op(value) else { return None };
    let call = body.call(call);
    let at = scope.project_function(call.callee)?;
    let inner = Scope::new(scope.program, scope.knowledge, at);
    let returned = inner.body().iter().filter_map(|(_, v)| match v.op {
        Op::Return(result) => Some(result),
        _ => None,
    });
    let mut params = returned.map(|result| {
        let result = match (part, inner.body().op(result)) {
            (None, _) => result,
            (Some(at), Op::Tuple(items)) => *inner.body().items(items).get(at)?,
            (Some(_), _) => return None,
        };
        match inner.body().op(same_sizes(&inner, result, depth)?) {
            Op::Param(param) => Some(param),
            _ => None,
        }
    });
    let first = params.next()??;
    if !params.all(|param| param == Some(first)) {
        return None;
    }
    let given = (0..call.args.len()).find(|&i| bound(scope.program, scope, call, i, at) == Some(first))?;
    same_sizes(scope, call.args[given].value, depth)
}

/// The one statement that makes a name, if it can be written once more: found once for all regions of a function.
#[derive(Default)]
pub(super) struct Definitions {
    by_name: RefCell<FxHashMap<Name, Option<Rc<Definition>>>>,
    /// Somewhere in the function a tensor is made another one in place.
    changes_metadata: RefCell<Option<bool>>,
}

struct Definition {
    id: StatementId,
    uses: Names,
    /// It does nothing but ask tensors.
    asks: bool,
    /// It asks for nothing but their sizes.
    sizes: bool,
    /// Statements that read one of its names.
    readers: Vec<StatementId>,
}

impl Outliner<'_, '_> {
    /// Drops inputs that the moved code can make itself of the others; gives the statements that do.
    pub(super) fn repeat(&self, range: &Range, inputs: &mut Vec<Input>, prelude: &[StatementId]) -> Vec<StatementId> {
        let mut more: Vec<StatementId> = Vec::new();
        if self.changes_metadata() {
            return more;
        }
        let found = |inputs: &[Input], more: &[StatementId]| {
            (0..inputs.len()).find_map(|at| Some((at, self.repeated(range, inputs, at, &[prelude, more].concat())?)))
        };
        while more.len() < 8
            && let Some((at, statements)) = found(inputs, &more)
        {
            inputs.remove(at);
            more.extend(statements);
        }
        more
    }

    /// The statements that make an input.
    fn repeated(&self, range: &Range, inputs: &[Input], at: usize, prelude: &[StatementId]) -> Option<Vec<StatementId>> {
        let input = &inputs[at];
        if input.ty.is_tensor() || input.is_path() {
            return None;
        }
        let start = self.values(range.statements()).0;
        let made = |name: &Name| prelude.iter().any(|id| self.names_of(*id).1.contains(name));
        let given = |name: &Name| inputs.iter().any(|i| i.text != input.text && i.text == self.scope.name(*name));
        let mut found: Vec<Rc<Definition>> = Vec::new();
        let mut todo = vec![self.locals.iter().copied().find(|n| self.scope.name(*n) == input.text)?];
        while let Some(name) = todo.pop() {
            if made(&name) {
                continue;
            }
            let definition = self.definition(name)?;
            if found.iter().any(|d| d.id == definition.id) {
                continue;
            }
            let statement = &self.scope.body().statements[definition.id.index()];
            if statement.values.1 > start || !self.encloses(statement.parent, range) || found.len() > 3 {
                return None;
            }
            for &used in definition.uses.iter().filter(|n| self.locals.contains(n)) {
                let named = self.bindings.named(used);
                let (then, now) = (named.reaching(statement.values.0), named.reaching(start));
                let root = |v: Option<ValueId>| v.and_then(|v| same_sizes(self.scope, v, 12));
                let steady = self.is_constant(used) || then == now || definition.sizes && root(now).is_some() && root(then) == root(now);
                // What has one value, and has it where the definition reads it, has it at the region too: `BT = chunk_size`.
                if !steady || !self.is_constant(used) && named.reaching(start).is_none() {
                    return None;
                }
                if !given(&used) && !made(&used) {
                    todo.push(used);
                }
            }
            found.push(definition);
        }
        let moved: Vec<StatementId> = found.iter().map(|d| d.id).chain(prelude.iter().copied()).collect();
        let moved: Vec<StatementId> = moved.into_iter().chain(range.statements().iter().copied()).collect();
        // A number that is written down twice will not stay the same.
        let captured = |d: &Definition| self.names_of(d.id).1.into_iter().any(|n| self.is_captured_elsewhere(n, &moved));
        let only_here = |d: &Definition| d.readers.iter().all(|id| self.lies_in(*id, &moved)) && !captured(d);
        let good = found.iter().all(|d| d.asks || only_here(d));
        good.then(|| found.iter().map(|d| d.id).collect())
    }

    fn definition(&self, name: Name) -> Option<Rc<Definition>> {
        if let Some(known) = self.definitions.by_name.borrow().get(&name) {
            return known.clone();
        }
        let found = self.find_definition(name).map(Rc::new);
        self.definitions.by_name.borrow_mut().insert(name, found.clone());
        found
    }

    fn find_definition(&self, name: Name) -> Option<Definition> {
        let function = self.scope.function();
        let body = &function.body;
        let once = |name: Name| function.param(name).is_none() && self.is_constant(name);
        let all = || body.statements.iter().enumerate().map(|(i, s)| (StatementId(i as u32), s));
        let (id, statement) = all().find(|(_, s)| s.defines.contains(&name)).filter(|_| once(name))?;
        let values = || ids(statement.values);
        let plain = statement.kind == StatementKind::Assign && values().all(|v| self.only_tells(v));
        let apart = |n: &Name| once(*n) || self.scope.name(*n) == "_";
        if !plain || !statement.defines.iter().all(apart) {
            return None;
        }
        let computes = |v: ValueId| matches!(body.op(v), Op::Binary(..) | Op::Select(..) | Op::Phi(_) | Op::And(_) | Op::Or(_));
        Some(Definition {
            id,
            uses: statement.uses.clone(),
            asks: !values().any(computes) && values().any(|v| self.asks(v)),
            sizes: values().all(|v| !self.asks(v) || self.asks_for_sizes(v)),
            readers: all()
                .filter(|(_, s)| s.uses.iter().any(|n| statement.defines.contains(n)))
                .map(|(id, _)| id)
                .collect(),
        })
    }

    /// Arithmetic, and what tensors say of themselves.
    fn only_tells(&self, value: ValueId) -> bool {
        let body = self.scope.body();
        let op = body.op(value);
        match op {
            Op::Attr(object, _) => self.asks(value) || self.scope.dotted(value).is_some() && !self.is_tensor(object),
            Op::Call(_) if self.asks(value) => true,
            Op::Compare(..) | Op::Const(_) | Op::Param(_) | Op::Free(_) | Op::Import(_) | Op::Undefined => true,
            Op::Tuple(_) | Op::Star(_) | Op::Unpack { .. } | Op::Annotated(..) => true,
            Op::Call(call) => {
                let name = self.scope.dotted(body.call(call).callee).unwrap_or_default();
                let known = ["min", "max", "len", "int", "bool", "triton.cdiv", "triton.next_power_of_2"];
                // The length of a tensor is a size of it.
                known.contains(&name.as_str()) && (name == "len" || !body.call(call).args.iter().any(|a| self.is_tensor(a.value)))
            }
            Op::Index(..) | Op::Unary(..) | Op::Binary(..) | Op::And(_) | Op::Or(_) | Op::Select(..) | Op::Phi(_) => {
                !operands(body, op).iter().any(|&v| self.is_tensor(v))
            }
            _ => false,
        }
    }

    fn is_tensor(&self, value: ValueId) -> bool {
        self.scope.kind(value) == Kind::Tensor || self.types.join(&[value]).is_some_and(|t| t.ty.is_tensor())
    }

    /// `x.shape`, `x.stride(0)`, or the `x.stride` in it.
    fn asks(&self, value: ValueId) -> bool {
        let body = self.scope.body();
        match body.op(value) {
            Op::Attr(object, name) => {
                let name = self.scope.name(name);
                (ATTRIBUTES.contains(&name) || METHODS.contains(&name)) && self.is_tensor(object)
            }
            Op::Call(call) => {
                let callee = body.call(call).callee;
                matches!(body.op(callee), Op::Attr(_, name) if METHODS.contains(&self.scope.name(name))) && self.asks(callee)
            }
            _ => false,
        }
    }

    fn asks_for_sizes(&self, value: ValueId) -> bool {
        let body = self.scope.body();
        let asked = |v: ValueId| matches!(body.op(v), Op::Attr(_, name) if SIZES.contains(&self.scope.name(name)));
        match body.op(value) {
            Op::Call(call) => asked(body.call(call).callee),
            _ => asked(value),
        }
    }

    fn changes_metadata(&self) -> bool {
        let body = self.scope.body();
        let changes = |name: Name| {
            let effect = self.scope.knowledge.torch.method(self.scope.name(name));
            effect.is_some_and(|e| e.metadata && !e.writes.is_empty())
        };
        let find = || {
            body.iter().any(|(_, v)| match v.op {
                Op::Attr(_, name) => changes(name),
                Op::SetAttr(_, name, _) => self.scope.name(name) == "data",
                _ => false,
            })
        };
        *self.definitions.changes_metadata.borrow_mut().get_or_insert_with(find)
    }
}
