//! Puts together what is known of each function of interest.

use super::calls;
use super::conditions::{Condition, contradicts};
use super::host::{Abs, Effect, Host, Root, Summary};
use super::launches::Candidates;
use super::resolve::{ClassRef, Resolver};
use super::types::{Kind, param_kind};
use super::{Options, schema};
use crate::facts::{CompareOp, FunctionKind, MODULE, Op as Code, ValueId};
use crate::knowledge::frameworks::Decorates;
use crate::program::{
    Bypass, Caller, Func, FunctionRef, Inline, KernelId, Launch, Op, OpId, Registration, ReturnPath, ReturnShape, Returned, StateWrite,
    Write,
};
use crate::source::{Place, Span};
use crate::words::Word;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Functions of interest, sorted by place, and the launches that belong to none.
#[derive(Debug)]
pub(crate) struct Linked {
    pub(crate) functions: Vec<Func>,
    pub(crate) loose: Vec<Launch>,
}

/// Runs the candidates and keeps those that matter.
pub(crate) fn assemble(
    host: &Host<'_>,
    options: &Options,
    kernels: &FxHashMap<FunctionRef, KernelId>,
    candidates: Candidates,
    ops: &[Op],
) -> Linked {
    let mut implements: FxHashMap<FunctionRef, OpId> = FxHashMap::default();
    for (i, op) in ops.iter().enumerate() {
        for f in op.implementation.into_iter().chain(op.further.iter().copied()) {
            let slot = implements.entry(f).or_insert(OpId(i as u32));
            if ops[slot.0 as usize].disabled && !op.disabled {
                *slot = OpId(i as u32);
            }
        }
    }
    let run: Vec<(FunctionRef, Option<Arc<Summary>>)> = candidates.functions.par_iter().map(|&f| (f, host.summary(f))).collect();
    let run: Vec<(FunctionRef, Option<Arc<Summary>>)> = run
        .into_iter()
        .filter(|(f, s)| implements.contains_key(f) || s.as_ref().is_none_or(|s| !s.launches.is_empty()))
        .collect();
    let names: Vec<FunctionRef> = run.iter().map(|(f, _)| *f).collect();
    let callers = calls::callers(host, &names);
    let standing = Standing::new(host, options, &callers, &implements, ops);
    let functions: Vec<Func> = run
        .into_par_iter()
        .map(|(f, summary)| {
            let mut func = describe(host, kernels, f, summary.as_deref());
            let mutated: Vec<&str> = func.mutates.iter().map(|w| param_text(host, f, w.param)).collect();
            let (types, schema) = schema::infer_each(host.resolver, f, options.torch);
            func.schema = schema.map(|s| s.text(&mutated));
            func.types = types;
            standing.place(f, &mut func);
            func
        })
        .collect();
    let loose = candidates
        .loose
        .into_iter()
        .map(|(f, value, launched)| Launch {
            function: f,
            call: match host.resolver.body(f).op(value) {
                Code::Call(call) => Some(call),
                _ => None,
            },
            value: Some(value),
            place: Place {
                file: f.file,
                span: host.resolver.body(f).value(value).span,
            },
            kernels: launched.iter().map(|k| kernels[k]).collect(),
            via: None,
        })
        .collect();
    Linked { functions, loose }
}

fn describe(host: &Host<'_>, kernels: &FxHashMap<FunctionRef, KernelId>, f: FunctionRef, summary: Option<&Summary>) -> Func {
    let resolver = host.resolver;
    let function = resolver.function(f);
    let kinds: Vec<Kind> = (0..function.params.len()).map(|i| param_kind(resolver, f, i as u16)).collect();
    let mut func = Func {
        function: f,
        launches: Vec::new(),
        registration: Registration::No,
        op: None,
        inline: inline(host, f),
        mutates: Vec::new(),
        mutates_state: Vec::new(),
        state_writes: Vec::new(),
        unresolved: Vec::new(),
        returns: Vec::new(),
        returns_alias_of: Vec::new(),
        schema: Err(Vec::new()),
        types: Vec::new(),
        hot: false,
        cold: resolver.files[f.file.index()].cold,
        callers: Vec::new(),
        without_grad: false,
        bypasses: Vec::new(),
        memory: host.take_memory(f),
    };
    let may_hold_tensor = |i: usize| matches!(kinds[i], Kind::Tensor | Kind::Tensors | Kind::Unknown);
    let Some(summary) = summary else {
        let all = (0..kinds.len()).filter(|&i| may_hold_tensor(i));
        func.unresolved = all.map(|i| (i as u16, "the function is too large to follow".to_owned())).collect();
        return func;
    };
    func.launches = summary
        .launches
        .iter()
        .map(|l| Launch {
            function: f,
            call: l.call,
            value: l.value,
            place: Place {
                file: f.file,
                span: l.span,
            },
            kernels: l.kernels.iter().filter_map(|k| kernels.get(k).copied()).collect(),
            via: l.via,
        })
        .collect();
    let proven = proven_views(resolver, f);
    for effect in &summary.effects {
        let param = match &effect.root {
            Root::Param(p) | Root::Part(p, _) => *p,
            Root::State(path) => {
                if effect.unknown.is_none() {
                    func.state_writes.push(state_write(path.to_string(), effect));
                }
                continue;
            }
            Root::Capture(name) => {
                if effect.unknown.is_none() {
                    func.state_writes.push(state_write(resolver.text(f.file, *name).to_owned(), effect));
                }
                continue;
            }
            Root::Fresh(..) => continue,
        };
        match &effect.unknown {
            None => func.mutates.push(Write {
                param,
                maybe_copy: effect.maybe.filter(|p| p.file != f.file || !proven.contains(&p.span)),
                chain: effect.chain.clone(),
            }),
            Some(reason) if may_hold_tensor(param as usize) => func.unresolved.push((param, reason.to_string())),
            Some(_) => {}
        }
    }
    func.mutates.sort_by_key(|w| (w.param, w.maybe_copy.is_some()));
    func.mutates.dedup_by_key(|w| w.param);
    func.state_writes.sort();
    func.state_writes.dedup_by(|a, b| a.path == b.path);
    func.mutates_state = func.state_writes.iter().map(|w| w.path.clone()).collect();
    func.unresolved.retain(|(p, _)| !func.mutates.iter().any(|w| w.param == *p));
    func.unresolved.sort();
    func.unresolved.dedup_by_key(|(p, _)| *p);
    let mut numbers: Vec<Vec<Root>> = Vec::new();
    let mut alias_of: FxHashSet<u16> = FxHashSet::default();
    let cloned: Vec<ValueId> = summary.returns.iter().filter_map(|r| clone_of(resolver, f, r.value?)).collect();
    for r in &summary.returns {
        if contradicts(&[&r.when]) {
            continue;
        }
        let shape = shape_of(host, f, r.value, &r.abs, &r.when, &mut numbers);
        params_of(&r.abs, &r.when, &mut alias_of, &|p| may_hold_tensor(p as usize));
        func.returns.push(ReturnPath {
            span: r.span,
            value: r.value,
            or_clone: r.value.is_some_and(|v| cloned.contains(&v) || is_clone_or_self(resolver, f, v)),
            shared: returns_memory_twice(host, f, r.value, &r.abs),
            shape,
        });
    }
    func.returns_alias_of = alias_of.into_iter().collect();
    func.returns_alias_of.sort_unstable();
    func
}

fn state_write(path: String, effect: &Effect) -> StateWrite {
    StateWrite {
        path,
        chain: effect.chain.clone(),
    }
}

fn params_of(abs: &Abs, when: &Condition, into: &mut FxHashSet<u16>, tensor: &dyn Fn(u16) -> bool) {
    for alias in &abs.aliases {
        if let Root::Param(p) | Root::Part(p, _) = alias.root
            && tensor(p)
            && alias.known
            && !contradicts(&[&alias.when, when])
        {
            into.insert(p);
        }
    }
}

/// Where values are made that the function asserts to be no copies: `assert y.data_ptr() == x.data_ptr()`.
fn proven_views(resolver: &Resolver<'_>, f: FunctionRef) -> Vec<Span> {
    let body = resolver.body(f);
    let addressed = |v: ValueId| {
        let Code::Call(call) = body.op(v) else { return None };
        let Code::Attr(object, name) = body.op(body.call(call).callee) else {
            return None;
        };
        (resolver.text(f.file, name) == "data_ptr").then(|| body.value(object).span)
    };
    let mut found = Vec::new();
    for (_, value) in body.iter() {
        let Code::Assert(condition) = value.op else { continue };
        let all = match body.op(condition) {
            Code::And(items) => body.items(items),
            _ => std::slice::from_ref(&condition),
        };
        for &one in all {
            if let Code::Compare(CompareOp::Eq, a, b) = body.op(one)
                && let (Some(a), Some(b)) = (addressed(a), addressed(b))
            {
                found.extend([a, b]);
            }
        }
    }
    found
}

/// A function of the project makes it: a list, for all that is known.
fn may_be_list(resolver: &Resolver<'_>, f: FunctionRef, made: ValueId) -> bool {
    let body = resolver.body(f);
    match body.op(made) {
        Code::Call(call) => !resolver.functions(f, body.call(call).callee).is_empty(),
        _ => false,
    }
}

/// `x` in `x.clone()`.
fn clone_of(resolver: &Resolver<'_>, f: FunctionRef, value: ValueId) -> Option<ValueId> {
    let body = resolver.body(f);
    let Code::Call(call) = body.op(value) else { return None };
    let Code::Attr(object, name) = body.op(body.call(call).callee) else {
        return None;
    };
    (resolver.text(f.file, name) == "clone").then_some(object)
}

/// `x.clone() if condition else x`, also as an `if` statement.
fn is_clone_or_self(resolver: &Resolver<'_>, f: FunctionRef, value: ValueId) -> bool {
    match resolver.body(f).op(value) {
        Code::Select(_, a, b) => clone_of(resolver, f, a) == Some(b) || clone_of(resolver, f, b) == Some(a),
        _ => false,
    }
}

/// Whether two parts of a returned display have one root, each of them it alone. Parts of what one call handed back are left out:
/// they may be the items of a list.
fn returns_memory_twice(host: &Host<'_>, f: FunctionRef, value: Option<ValueId>, abs: &Abs) -> bool {
    let body = host.resolver.body(f);
    let items = match value.map(|v| body.op(v)) {
        Some(Code::Tuple(items) | Code::List(items)) => body.items(items),
        _ => return false,
    };
    let Some(parts) = abs.parts.as_deref().filter(|parts| parts.len() == items.len()) else {
        return false;
    };
    let mut roots: Vec<&Root> = Vec::new();
    for (part, &item) in parts.iter().zip(items) {
        let [alias] = part.aliases.as_slice() else { continue };
        let Root::Fresh(made, _) = alias.root else { continue };
        let from_list = match body.op(item) {
            Code::Unpack { value, .. } => value == made,
            Code::Index(value, index) => value == made && may_be_list(host.resolver, f, made) && !matches!(body.op(index), Code::Slice(..)),
            _ => false,
        };
        if alias.known && !from_list {
            roots.push(&alias.root);
        }
    }
    (1..roots.len()).any(|i| roots[..i].contains(&roots[i]))
}

fn shape_of(
    host: &Host<'_>,
    f: FunctionRef,
    value: Option<ValueId>,
    abs: &Abs,
    when: &Condition,
    numbers: &mut Vec<Vec<Root>>,
) -> ReturnShape {
    if abs.none || value.is_none() {
        return ReturnShape::None;
    }
    if abs.mixed {
        return ReturnShape::Unknown;
    }
    let body = host.resolver.body(f);
    if let Some(parts) = &abs.parts {
        return ReturnShape::Tuple(parts.iter().map(|p| returned(host, f, p, when, numbers)).collect());
    }
    match value.map(|v| body.op(v)) {
        Some(Code::Tuple(_) | Code::List(_)) => ReturnShape::Unknown,
        _ => match returned(host, f, abs, when, numbers) {
            Returned::Unknown => ReturnShape::Unknown,
            one => ReturnShape::One(one),
        },
    }
}

fn returned(host: &Host<'_>, f: FunctionRef, abs: &Abs, when: &Condition, numbers: &mut Vec<Vec<Root>>) -> Returned {
    let live: Vec<_> = abs.aliases.iter().filter(|a| !contradicts(&[&a.when, when])).collect();
    if abs.none {
        return Returned::None;
    }
    if abs.parts.is_some() || abs.mixed {
        return Returned::Unknown;
    }
    if live.is_empty() {
        return Returned::Scalar;
    }
    if live.iter().any(|a| !a.known) {
        return Returned::Unknown;
    }
    let mut params: Vec<u16> = live
        .iter()
        .filter_map(|a| {
            if let Root::Param(p) | Root::Part(p, _) = a.root {
                Some(p)
            } else {
                None
            }
        })
        .collect();
    params.dedup();
    if !params.is_empty() {
        let or_fresh = live.iter().any(|a| matches!(a.root, Root::Fresh(..)));
        return Returned::Alias {
            params,
            or_fresh,
            maybe: live.iter().any(|a| a.maybe.is_some()),
        };
    }
    if let Some(state) = live.iter().find_map(|a| match &a.root {
        Root::State(path) => Some(path.to_string()),
        Root::Capture(name) => Some(host.resolver.text(f.file, *name).to_owned()),
        Root::Param(_) | Root::Part(..) | Root::Fresh(..) => None,
    }) {
        return Returned::State(state);
    }
    // One of several pieces of memory: with whatever else one of them is, it may share.
    let fresh: Vec<&Root> = live.iter().map(|a| &a.root).collect();
    let known = numbers.iter().position(|group| group.iter().any(|r| fresh.contains(&r)));
    let number = known.unwrap_or_else(|| {
        numbers.push(Vec::new());
        numbers.len() - 1
    });
    numbers[number].extend(fresh.into_iter().cloned());
    Returned::Fresh(number as u32)
}

fn inline(host: &Host<'_>, f: FunctionRef) -> Option<Inline> {
    let resolver = host.resolver;
    let function = resolver.function(f);
    if let Some(class) = function.class {
        let class = ClassRef { file: f.file, class };
        return Some(if is_autograd(host, class) {
            Inline::Autograd
        } else {
            Inline::Method
        });
    }
    match resolver.function(resolver.parent(f)).kind {
        FunctionKind::Module => None,
        FunctionKind::Class => Some(Inline::Method),
        FunctionKind::Def | FunctionKind::AsyncDef | FunctionKind::Lambda => Some(Inline::Closure),
    }
}

fn is_autograd(host: &Host<'_>, class: ClassRef) -> bool {
    host.resolver.derives_from(class, |b| {
        b == "torch.autograd.Function" || b == "torch.autograd.function.Function" || b == "torch.autograd.function.InplaceFunction"
    })
}

/// How functions stand to the dispatcher, to hot and cold code and to autograd: questions over the callers.
struct Standing<'s, 'a> {
    host: &'s Host<'a>,
    options: &'s Options,
    callers: &'s FxHashMap<FunctionRef, Vec<Caller>>,
    implements: &'s FxHashMap<FunctionRef, OpId>,
    ops: &'s [Op],
    inference_only: Vec<String>,
    exported: FxHashSet<FunctionRef>,
}

impl<'s, 'a> Standing<'s, 'a> {
    fn new(
        host: &'s Host<'a>,
        options: &'s Options,
        callers: &'s FxHashMap<FunctionRef, Vec<Caller>>,
        implements: &'s FxHashMap<FunctionRef, OpId>,
        ops: &'s [Op],
    ) -> Self {
        let frameworks = host.knowledge.frameworks.iter().flat_map(|f| f.inference_only.iter().cloned());
        let inference_only = frameworks.chain(options.inference_only.iter().cloned()).collect();
        Self {
            host,
            options,
            callers,
            implements,
            ops,
            inference_only,
            exported: exported(host, callers),
        }
    }

    fn place(&self, f: FunctionRef, func: &mut Func) {
        func.callers = self.callers.get(&f).cloned().unwrap_or_default();
        func.cold |= self.is_cold(f, &mut Vec::new());
        func.hot = !func.cold && self.is_hot(f);
        func.without_grad = self.without_grad(f, &mut Vec::new());
        if let Some(&op) = self.implements.get(&f) {
            func.op = Some(op);
            func.registration = if self.ops[op.0 as usize].disabled {
                Registration::Disabled
            } else {
                Registration::Yes
            };
            if self.ops[op.0 as usize].plain && !self.ops[op.0 as usize].disabled {
                func.bypasses = self.bypasses(f);
            }
            return;
        }
        if let Some(op) = self.covering(f, &mut Vec::new()) {
            func.op = Some(op);
            func.registration = Registration::Covered;
            return;
        }
        if self.is_recorded(f, &mut Vec::new()) {
            func.registration = Registration::Recorded;
        }
    }

    /// Hot calls of an op's implementation from outside of every op.
    fn bypasses(&self, f: FunctionRef) -> Vec<Bypass> {
        let calls = self
            .callers
            .get(&f)
            .into_iter()
            .flatten()
            .filter(|c| c.call.is_some() && c.function != f);
        let bypass = |caller: &Caller| {
            let at = caller.function;
            let inside = self.is_op(at).is_some() || self.covering(at, &mut Vec::new()).is_some();
            let hot = || !self.is_cold(at, &mut Vec::new()) && self.is_hot(at);
            (!inside && hot()).then(|| Bypass {
                caller: caller.clone(),
                without_grad: self.without_grad(at, &mut Vec::new()),
            })
        };
        calls.filter_map(bypass).collect()
    }

    fn is_op(&self, f: FunctionRef) -> Option<OpId> {
        self.implements.get(&f).copied().filter(|op| !self.ops[op.0 as usize].disabled)
    }

    /// The op inside which every known call of a function runs.
    fn covering(&self, f: FunctionRef, seen: &mut Vec<FunctionRef>) -> Option<OpId> {
        if seen.contains(&f) || seen.len() > 12 || self.exported.contains(&f) {
            return None;
        }
        seen.push(f);
        let callers = self.callers.get(&f)?;
        let mut op = None;
        for caller in callers.iter().filter(|c| c.function != f) {
            caller.call?;
            op = Some(match self.is_op(caller.function) {
                Some(op) => op,
                None => self.covering(caller.function, seen)?,
            });
        }
        op
    }

    /// Whether every known call comes from methods of an `autograd.Function`.
    fn is_recorded(&self, f: FunctionRef, seen: &mut Vec<FunctionRef>) -> bool {
        if let Some(class) = self.host.resolver.function(f).class
            && is_autograd(self.host, ClassRef { file: f.file, class })
        {
            return true;
        }
        if seen.contains(&f) || seen.len() > 12 || self.exported.contains(&f) {
            return false;
        }
        seen.push(f);
        let Some(callers) = self.callers.get(&f) else { return false };
        let mut callers = callers.iter().filter(|c| c.function != f).peekable();
        callers.peek().is_some() && callers.all(|c| c.call.is_some() && self.is_recorded(c.function, seen))
    }

    fn is_cold(&self, f: FunctionRef, seen: &mut Vec<FunctionRef>) -> bool {
        if self.host.resolver.files[f.file.index()].cold {
            return true;
        }
        if seen.contains(&f) || seen.len() > 8 {
            return false;
        }
        seen.push(f);
        let Some(callers) = self.callers.get(&f) else { return false };
        !callers.is_empty()
            && callers
                .iter()
                .all(|c| c.function != f && c.function.function != MODULE && self.is_cold(c.function, seen))
    }

    /// Whether a root of hot code leads to a function: `forward` of a module, or what the settings and frameworks name.
    fn is_hot(&self, f: FunctionRef) -> bool {
        let mut seen: FxHashSet<FunctionRef> = FxHashSet::default();
        let mut next = vec![f];
        while let Some(f) = next.pop() {
            if !seen.insert(f) || seen.len() > 400 {
                continue;
            }
            if self.is_hot_root(f) {
                return true;
            }
            next.extend(self.callers.get(&f).into_iter().flatten().map(|c| c.function));
        }
        false
    }

    fn is_hot_root(&self, f: FunctionRef) -> bool {
        let resolver = self.host.resolver;
        let function = resolver.function(f);
        let name = resolver.text(f.file, function.name);
        if let Some(class) = function.class {
            let class = ClassRef { file: f.file, class };
            if name.starts_with("forward") && resolver.derives_from(class, |b| b == "torch.nn.Module") || is_autograd(self.host, class) {
                return true;
            }
        }
        let listed = self
            .options
            .hot
            .iter()
            .chain(self.host.knowledge.frameworks.iter().flat_map(|f| &f.hot));
        let qualified = resolver.qualified(f);
        listed.into_iter().any(|pattern| matches_dotted(pattern, &qualified))
    }

    fn without_grad(&self, f: FunctionRef, seen: &mut Vec<FunctionRef>) -> bool {
        let resolver = self.host.resolver;
        if self.is_op(f).is_some() || self.runs_no_grad(f) {
            return true;
        }
        let qualified = resolver.qualified(f);
        if self.inference_only.iter().any(|p| matches_dotted(p, &qualified)) {
            return true;
        }
        if let Some(class) = resolver.function(f).class
            && is_autograd(self.host, ClassRef { file: f.file, class })
        {
            return true;
        }
        let private = resolver.text(f.file, resolver.function(f).name).starts_with('_');
        if !private || seen.contains(&f) || seen.len() > 8 || self.exported.contains(&f) {
            return false;
        }
        seen.push(f);
        let Some(callers) = self.callers.get(&f) else { return false };
        !callers.is_empty()
            && callers
                .iter()
                .all(|c| c.call.is_some() && c.function != f && self.without_grad(c.function, seen))
    }

    fn runs_no_grad(&self, f: FunctionRef) -> bool {
        let resolver = self.host.resolver;
        let parent = resolver.parent(f);
        resolver.function(f).decorators.iter().any(|d| {
            let callee = match resolver.body(parent).op(d.value) {
                Code::Call(call) => resolver.body(parent).call(call).callee,
                _ => d.value,
            };
            let names = resolver.dotted(parent, callee);
            names
                .iter()
                .any(|n| matches!(n.as_str(), "torch.no_grad" | "torch.inference_mode" | "torch.autograd.no_grad"))
                || names.iter().any(|n| {
                    self.host
                        .knowledge
                        .frameworks
                        .iter()
                        .any(|k| k.decorator.iter().any(|r| r.does == Decorates::NoGrad && r.name == *n))
                })
        })
    }
}

fn param_text<'a>(host: &Host<'a>, f: FunctionRef, param: u16) -> &'a str {
    host.resolver.text(f.file, host.resolver.function(f).params[param as usize].name)
}

/// Whether a dotted name lies at or below a pattern; `*` stands for one part.
pub(crate) fn matches_dotted(pattern: &str, name: &str) -> bool {
    let mut name = name.split('.');
    pattern.split('.').all(|p| name.next().is_some_and(|n| p == "*" || p == n))
}

/// Functions that the project shows to the outside: listed in `__all__`, or imported by an `__init__` file.
fn exported(host: &Host<'_>, callers: &FxHashMap<FunctionRef, Vec<Caller>>) -> FxHashSet<FunctionRef> {
    let resolver = host.resolver;
    let mut asked: Vec<FunctionRef> = callers.keys().copied().collect();
    asked.sort_unstable();
    let names: FxHashMap<&str, Vec<FunctionRef>> = asked.iter().fold(FxHashMap::default(), |mut map, &f| {
        map.entry(resolver.text(f.file, resolver.function(f).name))
            .or_insert_with(Vec::new)
            .push(f);
        map
    });
    let mut out = FxHashSet::default();
    for &f in &asked {
        let facts = resolver.facts(f.file);
        let name = resolver.text(f.file, resolver.function(f).name);
        if resolver.parent(f).function == MODULE && facts.layout.all.as_ref().is_some_and(|all| all.iter().any(|n| n == name)) {
            out.insert(f);
        }
    }
    let asked: FxHashSet<Word> = names.keys().map(|n| Word::of(n)).collect();
    for id in resolver.files_where(|id, words| resolver.files[id.index()].is_package && words.has_any(&asked)) {
        let file = &resolver.files[id.index()];
        for import in file.facts.imports.iter().filter(|i| i.function == MODULE) {
            let Some(member) = import.member else { continue };
            let Some(candidates) = names.get(file.facts.name(member)) else {
                continue;
            };
            let Some(id) = resolver.modules.file(&file.module) else { continue };
            let found = resolver.export(id, file.facts.name(import.bound));
            out.extend(candidates.iter().filter(|f| found.contains(&super::resolve::Entity::Function(**f))));
        }
    }
    out
}
