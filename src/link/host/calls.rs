//! Calls: what a callee does to its arguments, and what its result shares with them.

use super::super::conditions::Condition;
use super::super::resolve::Entity;
use super::arguments::{Arguments, Bound, Passed};
use super::body::Run;
use super::writes::Trail;
use super::{Abs, Context, Launched, Root, Summary};
use crate::facts::{Call, CallId, Op, ParamKind, ValueId};
use crate::knowledge::frameworks::{Decorates, Passes};
use crate::program::FunctionRef;
use std::sync::Arc;

impl<'a> Run<'_, 'a> {
    pub(super) fn call(&mut self, v: ValueId, id: CallId) -> Abs {
        let call = self.body.call(id);
        if call.decorates.is_some() {
            return Abs::default();
        }
        let args = self.arguments(call);
        if let Some(kernels) = self.launched_kernels(call) {
            if let Kernels::Unknown = kernels {
                self.runs_params = true;
                self.launches.push(Launched {
                    call: Some(id),
                    value: Some(v),
                    span: self.body.value(v).span,
                    kernels: Vec::new(),
                    via: None,
                });
                self.unknown_call(v, None, &args, "which kernel runs is the caller's choice");
            }
            if let Kernels::These(kernels) = kernels {
                let span = self.body.value(v).span;
                self.launch(Some(v), Some(id), span, &kernels, &args);
            }
            return Abs::default();
        }
        let entities = self.callees(call);
        let mut result: Option<Abs> = None;
        let mut handled = false;
        for entity in &entities {
            let one = match entity {
                Entity::Function(f) => Some(self.call_function(v, Some(id), *f, None, &args)),
                Entity::Bound(f) => {
                    let receiver = self.receiver(call);
                    Some(self.call_function(v, Some(id), *f, Some(receiver), &args))
                }
                Entity::External(name) => self.call_external(v, id, call, name, &args),
                Entity::Class(class) => Some(self.construct(v, *class, &args)),
                Entity::Instance(class) => Some(self.call_instance(v, id, *class, call, &args)),
                Entity::Made(name, made) => Some(self.call_made(v, id, name, *made, &args)),
                Entity::Module(_) | Entity::Namespace(_) | Entity::Value(_) => None,
            };
            if let Some(one) = one {
                handled = true;
                result = Some(match result {
                    Some(r) => r.join(&one),
                    None => one,
                });
            }
        }
        if handled {
            return result.unwrap_or_default();
        }
        if let Op::Attr(object, name) = self.body.op(call.callee) {
            let name = self.text(name).to_owned();
            return self.call_method(v, object, &name, &args);
        }
        if matches!(self.body.op(call.callee), Op::Param(_))
            || !entities.is_empty() && matches!(self.body.op(call.callee), Op::Phi(_) | Op::Select(..))
        {
            self.runs_params = true;
        }
        self.unknown_call(v, None, &args, "the callee is not in view")
    }

    pub(super) fn callees(&self, call: &Call) -> Vec<Entity> {
        if let Op::Param(i) = self.body.op(call.callee)
            && let Some(functions) = self.context.functions.get(&i)
        {
            return functions.iter().map(|f| Entity::Function(*f)).collect();
        }
        self.host.resolver.entities(self.f, call.callee)
    }

    /// The kernels that a call launches; `None` when it is no launch.
    fn launched_kernels(&self, call: &Call) -> Option<Kernels> {
        let object = match self.body.op(call.callee) {
            Op::Index(object, _) => object,
            Op::Attr(object, name) if matches!(self.text(name), "run" | "warmup") => object,
            _ => return None,
        };
        let warmup = matches!(self.body.op(call.callee), Op::Attr(_, name) if self.text(name) == "warmup");
        let kernels = self.kernels_at(object, 6);
        if !kernels.is_empty() {
            return Some(if warmup { Kernels::Warmup } else { Kernels::These(kernels) });
        }
        let unknown = matches!(self.body.op(call.callee), Op::Index(..)) && self.is_kernel_param(object);
        unknown.then_some(Kernels::Unknown)
    }

    /// Kernels that a value may be, those that the caller passes included.
    pub(super) fn kernels_at(&self, v: ValueId, depth: u32) -> Vec<FunctionRef> {
        let mut found = self.host.kernels_of(self.f, v);
        if let Some(depth) = depth.checked_sub(1)
            && !self.context.functions.is_empty()
        {
            match self.body.op(v) {
                Op::Param(i) => found.extend(
                    self.context
                        .functions
                        .get(&i)
                        .into_iter()
                        .flatten()
                        .filter(|f| self.host.is_kernel(**f)),
                ),
                Op::Select(_, a, b) => found.extend([a, b].into_iter().flat_map(|x| self.kernels_at(x, depth))),
                Op::Phi(items) | Op::Or(items) => found.extend(
                    self.body
                        .items(items)
                        .iter()
                        .filter(|&&x| x < v)
                        .flat_map(|&x| self.kernels_at(x, depth)),
                ),
                Op::Attr(object, name) if matches!(self.text(name), "fn") => found.extend(self.kernels_at(object, depth)),
                Op::Annotated(_, x) => found.extend(self.kernels_at(x, depth)),
                Op::Call(call) => found.extend(
                    self.body
                        .call(call)
                        .args
                        .first()
                        .into_iter()
                        .flat_map(|a| self.kernels_at(a.value, depth)),
                ),
                _ => {}
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Something that is called like a kernel, and whose meaning is not known.
    pub(super) fn is_kernel_param(&self, v: ValueId) -> bool {
        super::super::launches::named_like_kernel(self.host, self.f, v, 4)
    }

    pub(super) fn receiver(&self, call: &Call) -> Passed {
        match self.body.op(call.callee) {
            Op::Attr(object, _) => {
                let is_super = matches!(self.body.op(object), Op::Call(c) if matches!(self.body.op(self.body.call(c).callee), Op::Free(n) if self.text(n) == "super"));
                let abs = if is_super {
                    Abs::of(Root::Param(0))
                } else {
                    self.abs(object).clone()
                };
                Passed {
                    abs,
                    value: Some(object),
                    span: self.body.value(object).span,
                }
            }
            _ => Passed {
                abs: Abs::default(),
                value: None,
                span: self.body.value(call.callee).span,
            },
        }
    }

    /// A call of a function of the project.
    pub(super) fn call_function(
        &mut self,
        v: ValueId,
        id: Option<CallId>,
        f: FunctionRef,
        receiver: Option<Passed>,
        args: &Arguments,
    ) -> Abs {
        let host = self.host;
        if let Some(effects) = host.kernels.get(&f) {
            // A kernel of another dialect is called like a function; one of Triton's never is.
            let is_opaque = !effects.unresolved.is_empty() && effects.reads.is_empty() && effects.writes.is_empty();
            return match is_opaque {
                true => self.unknown_call(v, Some(f), args, "it is a kernel of a language that is not read"),
                false => Abs::default(),
            };
        }
        let qualified = host.resolver.qualified(f);
        if let Some(launcher) = host.registry.launcher_named(&qualified, false)
            && let Some(id) = id
        {
            let call = self.body.call(id);
            if let Some(kernel) = super::super::registry::argument(self.facts, call, &launcher.kernel) {
                let kernels = self.kernels_at(kernel, 6);
                if launcher.passes == Passes::Keywords {
                    let mut args = args.clone();
                    args.positional.clear();
                    let span = self.body.value(v).span;
                    self.launch(Some(v), Some(id), span, &kernels, &args);
                    if let Some(last) = self.launches.last_mut() {
                        last.via = Some(f);
                    }
                    return Abs::default();
                }
            }
        }
        if let Some(row) = host.registry.callee(&qualified) {
            return self.call_row(v, row, receiver.as_ref(), args);
        }
        let mut args = args.clone();
        if let Some(receiver) = receiver {
            args.positional.insert(0, receiver);
            args.open_stars.iter_mut().for_each(|(at, _)| *at += 1);
        }
        let does = host.registry.decoration(host, f);
        if does == Decorates::Opaque {
            return self.unknown_call(v, Some(f), &args, "a decorator that cannot be read stands between");
        }
        if does == Decorates::CopiesArguments {
            let place = self.place(v);
            args.positional.iter_mut().for_each(|p| p.abs = p.abs.clone().maybe(place));
            args.keyword.iter_mut().for_each(|(_, p)| p.abs = p.abs.clone().maybe(place));
        }
        let bound = self.bind(f, 0, &args);
        let Some(mut summary) = host.summary(f) else {
            return self.unknown_call(v, Some(f), &args, "it is too large or too deep to follow");
        };
        if summary.runs_params {
            let context = self.context_for(f, &bound, &args);
            if context != Context::default()
                && let Some(better) = host.summary_in(f, context.clone())
            {
                self.note_passed_kernels(v, id, f, &context, &better);
                summary = better;
            }
        }
        self.apply(v, f, &summary, &bound)
    }

    /// What this call tells a callee that calls or launches its parameters.
    pub(super) fn context_for(&self, f: FunctionRef, bound: &Bound, args: &Arguments) -> Context {
        let params = &self.host.resolver.function(f).params;
        let mut context = Context::default();
        for (i, passed) in bound.params.iter().enumerate() {
            let Some(value) = passed.as_ref().and_then(|p| p.value) else {
                continue;
            };
            let mut functions = self.kernels_at(value, 6);
            if functions.is_empty() {
                functions = self.host.resolver.functions(self.f, value);
            }
            if let Op::Param(p) = self.body.op(value) {
                functions.extend(self.context.functions.get(&p).into_iter().flatten());
            }
            if !functions.is_empty() {
                functions.sort_unstable();
                functions.dedup();
                context.functions.insert(i as u16, functions);
            }
        }
        if params.iter().any(|p| p.kind == ParamKind::Star) && args.open_stars.is_empty() {
            context.stars = Some(bound.stars.len() as u16);
        }
        if params.iter().any(|p| p.kind == ParamKind::StarStar) && args.open_keywords.is_empty() {
            let mut names: Vec<Arc<str>> = bound.keywords.iter().map(|(k, _)| k.clone()).collect();
            names.sort();
            context.keywords = Some(names);
        }
        context
    }

    /// Kernels that a callee launches because this call hands them over.
    pub(super) fn note_passed_kernels(&mut self, v: ValueId, id: Option<CallId>, f: FunctionRef, context: &Context, summary: &Summary) {
        let passed: Vec<FunctionRef> = context
            .functions
            .values()
            .flatten()
            .copied()
            .filter(|k| self.host.is_kernel(*k))
            .collect();
        let mut kernels: Vec<FunctionRef> = summary
            .launches
            .iter()
            .flat_map(|l| l.kernels.iter().copied())
            .filter(|k| passed.contains(k))
            .collect();
        kernels.sort_unstable();
        kernels.dedup();
        if !kernels.is_empty() {
            self.launches.push(Launched {
                call: id,
                value: Some(v),
                span: self.body.value(v).span,
                kernels,
                via: Some(f),
            });
        }
    }

    /// A call whose effect cannot be known: every tensor that it gets may be written, and may come back.
    pub(super) fn unknown_call(&mut self, v: ValueId, f: Option<FunctionRef>, args: &Arguments, why: &str) -> Abs {
        let mut all = Abs::default();
        let name = match f {
            Some(f) => self.host.resolver.text(f.file, self.host.resolver.function(f).name),
            None => self.callee_text(v),
        };
        let why: Arc<str> = match is_tensorless(args) {
            true => why.into(),
            false => format!("{why}: `{name}`").into(),
        };
        let everything = args.positional.iter().chain(args.keyword.iter().map(|(_, p)| p));
        let open = args.open_stars.iter().map(|(_, p)| p).chain(args.open_keywords.iter());
        for passed in everything.chain(open) {
            self.run_callback(v, passed);
            if passed.abs.aliases.is_empty() && passed.abs.pointees.is_empty() {
                continue;
            }
            all.add_all(&passed.abs);
            let what = || format!("passed to `{name}`");
            let trail = Trail::at(self.passed_at(passed), &what);
            // An address is as good as the tensor.
            let addressed = Abs {
                aliases: passed.abs.pointees.clone().into(),
                ..Abs::default()
            };
            self.write(&addressed, v, &Condition::True, &trail, Some(&why));
            self.write(&passed.abs, v, &Condition::True, &trail, Some(&why));
        }
        let addresses = all.pointees.clone();
        let mut result = all.unknown().anywhere();
        result.pointees = addresses;
        if !result.aliases.is_empty() {
            result.add_all(&Abs::of(Root::Fresh(v, 0)));
        }
        result
    }

    /// A closure that is handed to something out of view may be called there.
    pub(super) fn run_callback(&mut self, v: ValueId, passed: &Passed) {
        let Some(value) = passed.value else { return };
        if !matches!(self.body.op(value), Op::Function(_) | Op::Call(_)) {
            return;
        }
        for f in self.host.resolver.functions(self.f, value) {
            if self.host.resolver.parent(f) == self.f
                && !self.host.is_kernel(f)
                && let Some(summary) = self.host.summary(f)
            {
                let bound = Bound {
                    params: vec![None; self.host.resolver.function(f).params.len()],
                    loose: Vec::new(),
                    stars: Vec::new(),
                    keywords: Vec::new(),
                };
                self.apply(v, f, &summary, &bound);
            }
        }
    }

    fn callee_text(&self, v: ValueId) -> &'a str {
        match self.body.op(v) {
            Op::Call(call) => {
                let span = self.body.value(self.body.call(call).callee).span;
                let text = self.host.resolver.files[self.f.file.index()].source.slice(span);
                match text.len() <= 60 && !text.contains('\n') {
                    true => text,
                    false => "a call",
                }
            }
            _ => "a call",
        }
    }

    // ---- things outside the project

    pub(super) fn everything(&self, args: &Arguments) -> Abs {
        let mut all = Abs::default();
        args.positional.iter().for_each(|p| all.add_all(&p.abs));
        args.keyword.iter().for_each(|(_, p)| all.add_all(&p.abs));
        args.open_stars.iter().for_each(|(_, p)| all.add_all(&p.abs));
        all
    }
}

enum Kernels {
    These(Vec<FunctionRef>),
    /// A parameter is launched.
    Unknown,
    /// Compiled, not run.
    Warmup,
}

pub(super) fn is_tensorless(args: &Arguments) -> bool {
    let all = args.positional.iter().chain(args.keyword.iter().map(|(_, p)| p));
    all.chain(args.open_stars.iter().map(|(_, p)| p))
        .chain(&args.open_keywords)
        .all(|p| p.abs.aliases.is_empty() && p.abs.pointees.is_empty())
}
