//! Calls: what a callee does to its arguments, and what its result shares with them.

use super::super::conditions::{Binding, Condition};
use super::super::registry::Target;
use super::super::resolve::{ClassRef, Entity, ValueRef};
use super::body::{Run, is_container_method};
use super::launch::{Arguments, Bound, Passed};
use super::{Abs, Alias, Context, Key, Launched, Root, Summary};
use crate::facts::{ArgKind, Call, CallId, Const, Op, ParamKind, ValueId};
use crate::knowledge::frameworks::{Callee, Decorates, Passes};
use crate::knowledge::torch::{Effect as TorchEffect, Shares};
use crate::program::{FunctionRef, Step};
use crate::source::Place;
use std::sync::Arc;

impl Run<'_, '_> {
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

    fn callees(&self, call: &Call) -> Vec<Entity> {
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
    fn kernels_at(&self, v: ValueId, depth: u32) -> Vec<FunctionRef> {
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
    fn is_kernel_param(&self, v: ValueId) -> bool {
        super::super::launches::named_like_kernel(self.host, self.f, v, 4)
    }

    fn receiver(&self, call: &Call) -> Passed {
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
    fn call_function(&mut self, v: ValueId, id: Option<CallId>, f: FunctionRef, receiver: Option<Passed>, args: &Arguments) -> Abs {
        let host = self.host;
        if host.is_kernel(f) {
            return Abs::default();
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
        if let Some(row) = host.registry.callee(host.knowledge, &qualified) {
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
    fn context_for(&self, f: FunctionRef, bound: &Bound, args: &Arguments) -> Context {
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
    fn note_passed_kernels(&mut self, v: ValueId, id: Option<CallId>, f: FunctionRef, context: &Context, summary: &Summary) {
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

    /// A callee's effects in the words of this body; its result.
    fn apply(&mut self, v: ValueId, f: FunctionRef, summary: &Summary, bound: &Bound) -> Abs {
        let name = self.host.resolver.text(f.file, self.host.resolver.function(f).name).to_owned();
        let binding = |p: u16| self.param_binding(f, bound, p);
        let planned: Vec<Condition> = summary.effects.iter().map(|e| e.when.substitute(&binding)).collect();
        for (effect, when) in summary.effects.iter().zip(planned) {
            if when.value() == Some(false) {
                continue;
            }
            let (mut target, passed) = self.translate(v, f, bound, &effect.root);
            if let Some(place) = effect.maybe {
                target = target.maybe(place);
            }
            let mut chain = effect.chain.clone();
            if let Some((place, param)) = passed {
                chain.push(Step {
                    place,
                    what: format!("passed to `{name}` as `{param}`"),
                });
            }
            let reason = effect.unknown.clone();
            self.write(&target, v, &when, chain, reason);
            if target.aliases.is_empty()
                && let Root::State(path) = &effect.root
                && path.starts_with('*')
            {
                let guard = self.guard(v);
                self.effect(super::Effect {
                    root: effect.root.clone(),
                    when: Condition::all([guard, when]),
                    ..effect.clone()
                });
            }
        }
        for passed in &bound.loose {
            let hit = summary.effects.iter().any(|e| matches!(e.root, Root::Param(_) | Root::Part(..)));
            if hit {
                let place = Place {
                    file: self.f.file,
                    span: passed.span,
                };
                let chain = vec![Step {
                    place,
                    what: format!("passed to `{name}`"),
                }];
                let reason = "it cannot be told which parameter a starred argument becomes";
                self.write(&passed.abs, v, &Condition::True, chain, Some(reason.into()));
            }
        }
        let mut result: Option<Abs> = None;
        let returns: Vec<(Abs, Condition)> = summary
            .returns
            .iter()
            .map(|r| (r.abs.clone(), r.when.substitute(&|p| self.param_binding(f, bound, p))))
            .collect();
        for (abs, when) in returns {
            if when.value() == Some(false) {
                continue;
            }
            let one = self.translate_abs(v, f, bound, &abs);
            result = Some(match result {
                Some(r) => r.join(&one),
                None => one,
            });
        }
        result.unwrap_or_default()
    }

    fn param_binding(&self, f: FunctionRef, bound: &Bound, p: u16) -> Binding {
        match bound.params.get(p as usize) {
            Some(Some(passed)) => match passed.value {
                _ if passed.abs.none => Binding::literal(super::super::conditions::Literal::None),
                Some(value) => self.binding(value),
                None => Binding::Unknown,
            },
            Some(None) if bound.loose.is_empty() => self.default_binding(f, p),
            Some(None) | None => Binding::Unknown,
        }
    }

    /// A callee's memory as this body names it; for parameters also the argument's place and the parameter's name.
    fn translate(&mut self, v: ValueId, f: FunctionRef, bound: &Bound, root: &Root) -> (Abs, Option<(Place, String)>) {
        let resolver = self.host.resolver;
        let params = &resolver.function(f).params;
        let file = self.f.file;
        match root {
            Root::Param(p) => {
                let name = resolver.text(f.file, params[*p as usize].name).to_owned();
                match params[*p as usize].kind {
                    ParamKind::Star => (
                        self.all_of(bound.stars.iter()),
                        bound.stars.first().map(|s| (Place { file, span: s.span }, name)),
                    ),
                    ParamKind::StarStar => (
                        self.all_of(bound.keywords.iter().map(|(_, k)| k)),
                        bound.keywords.first().map(|(_, s)| (Place { file, span: s.span }, name)),
                    ),
                    ParamKind::Positional | ParamKind::PositionalOnly | ParamKind::KeywordOnly => match &bound.params[*p as usize] {
                        Some(passed) => (passed.abs.clone(), Some((Place { file, span: passed.span }, name))),
                        None => (Abs::default(), None),
                    },
                }
            }
            Root::Part(p, key) => {
                let name = resolver.text(f.file, params[*p as usize].name).to_owned();
                let passed = match key {
                    Key::Index(i) => bound.stars.get(*i as usize),
                    Key::Name(k) => bound.keywords.iter().find(|(n, _)| n == k).map(|(_, p)| p),
                    Key::Any => None,
                };
                match passed {
                    Some(passed) => (passed.abs.clone(), Some((Place { file, span: passed.span }, name))),
                    None => (Abs::default(), None),
                }
            }
            Root::State(path) => (self.translate_path(f, bound, path), None),
            Root::Capture(name) => {
                if resolver.parent(f) == self.f {
                    let mut all = Abs::default();
                    if let Ok(i) = self.function.assigned.binary_search_by_key(name, |a| a.0) {
                        for &value in &self.function.assigned[i].1 {
                            all.add_all(&self.abs(value).clone().anywhere());
                        }
                    }
                    if let Some(p) = self.function.param(*name) {
                        all.add_all(&Abs::of(Root::Param(p)));
                    }
                    (all, None)
                } else if f.file == self.f.file {
                    (Abs::of(Root::Capture(*name)), None)
                } else {
                    (Abs::of(Root::State(resolver.text(f.file, *name).into())), None)
                }
            }
            Root::Fresh(site, n) => (
                Abs::of(Root::Fresh(
                    v,
                    32u16.wrapping_add((site.0 as u16).wrapping_mul(7)).wrapping_add(*n) | 32,
                )),
                None,
            ),
        }
    }

    fn all_of<'x>(&self, passed: impl Iterator<Item = &'x Passed>) -> Abs {
        let mut all = Abs::default();
        passed.for_each(|p| all.add_all(&p.abs));
        all
    }

    /// A callee's `self.cache[0]` in the words of this body.
    fn translate_path(&self, f: FunctionRef, bound: &Bound, path: &str) -> Abs {
        let (star, path) = match path.strip_prefix('*') {
            Some(rest) => ("*", rest),
            None => ("", path),
        };
        let end = path.find(['.', '[']).unwrap_or(path.len());
        let (head, rest) = path.split_at(end);
        let resolver = self.host.resolver;
        let params = &resolver.function(f).params;
        let Some(i) = params.iter().position(|p| resolver.text(f.file, p.name) == head) else {
            return Abs::of(Root::State(format!("{star}{path}").into()));
        };
        let Some(passed) = &bound.params[i] else { return Abs::default() };
        let mut all = Abs::default();
        for alias in &passed.abs.aliases {
            let attribute = rest.strip_prefix('.').map(|r| r.split(['.', '[']).next().unwrap_or(r));
            if star.is_empty()
                && let Some(attribute) = attribute
                && let Some(inside) = self.load(&alias.root, &Key::Name(attribute.into()))
            {
                all.add_all(&inside);
            }
            if let Some(own) = self.path_of(&alias.root) {
                all.add(Alias {
                    root: Root::State(format!("{star}{own}{rest}").into()),
                    ..alias.clone()
                });
            }
        }
        all
    }

    fn translate_abs(&mut self, v: ValueId, f: FunctionRef, bound: &Bound, abs: &Abs) -> Abs {
        let mut out = Abs {
            none: abs.none,
            ..Abs::default()
        };
        let mut whens = Vec::new();
        for alias in &abs.aliases {
            whens.push(alias.when.substitute(&|p| self.param_binding(f, bound, p)));
        }
        for (alias, when) in abs.aliases.iter().zip(whens) {
            if when.value() == Some(false) {
                continue;
            }
            let (mut target, _) = self.translate(v, f, bound, &alias.root);
            if let Some(place) = alias.maybe {
                target = target.maybe(place);
            }
            if !alias.known {
                target = target.unknown();
            }
            out.add_all(&Abs {
                parts: None,
                ..target.when(&when)
            });
        }
        for alias in &abs.pointees {
            let (target, _) = self.translate(v, f, bound, &alias.root);
            for alias in target.aliases {
                if !out.pointees.iter().any(|a| a.root == alias.root) {
                    out.pointees.push(alias);
                }
            }
        }
        out.none = abs.none;
        if let Some(parts) = &abs.parts {
            let parts = parts.iter().map(|p| self.translate_abs(v, f, bound, p)).collect();
            out.parts = Some(Arc::new(parts));
        } else if let [alias] = abs.aliases.as_slice()
            && let Root::Param(p) = alias.root
            && let Some(Some(passed)) = bound.params.get(p as usize)
            && alias.maybe.is_none()
            && alias.known
        {
            out.parts = passed.abs.parts.clone();
        }
        out
    }

    /// A call whose effect cannot be known: every tensor that it gets may be written, and may come back.
    pub(super) fn unknown_call(&mut self, v: ValueId, f: Option<FunctionRef>, args: &Arguments, why: &str) -> Abs {
        let mut all = Abs::default();
        let name = match f {
            Some(f) => self.host.resolver.text(f.file, self.host.resolver.function(f).name).to_owned(),
            None => self.callee_text(v),
        };
        let everything = args.positional.iter().chain(args.keyword.iter().map(|(_, p)| p));
        let open = args.open_stars.iter().map(|(_, p)| p).chain(args.open_keywords.iter());
        for passed in everything.chain(open) {
            self.run_callback(v, passed);
            if passed.abs.aliases.is_empty() {
                continue;
            }
            all.add_all(&passed.abs);
            let chain = vec![Step {
                place: Place {
                    file: self.f.file,
                    span: passed.span,
                },
                what: format!("passed to `{name}`"),
            }];
            let abs = passed.abs.clone();
            self.write(&abs, v, &Condition::True, chain, Some(format!("{why}: `{name}`").into()));
        }
        let mut result = all.unknown().anywhere();
        if !result.aliases.is_empty() {
            result.add_all(&Abs::of(Root::Fresh(v, 0)));
        }
        result
    }

    /// A closure that is handed to something out of view may be called there.
    fn run_callback(&mut self, v: ValueId, passed: &Passed) {
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

    fn callee_text(&self, v: ValueId) -> String {
        match self.body.op(v) {
            Op::Call(call) => {
                let span = self.body.value(self.body.call(call).callee).span;
                let text = self.host.resolver.files[self.f.file.index()].source.slice(span);
                if text.len() <= 60 && !text.contains('\n') {
                    text.to_owned()
                } else {
                    "a call".to_owned()
                }
            }
            _ => "a call".to_owned(),
        }
    }

    // ---- things outside the project

    /// `None`: nothing is known of it, and it is looked up as a method.
    fn call_external(&mut self, v: ValueId, id: CallId, call: &Call, name: &str, args: &Arguments) -> Option<Abs> {
        let host = self.host;
        if let Some(row) = host.registry.callee(host.knowledge, name) {
            return Some(self.call_row(v, row, None, args));
        }
        if let Some(op) = name.strip_prefix("torch.ops.") {
            if let Some(effect) = host.knowledge.torch.function(name) {
                return Some(self.call_torch(v, effect, name, args, None));
            }
            return Some(self.call_op(v, id, op, args));
        }
        if let Some(effect) = host.knowledge.torch.function(name) {
            return Some(self.call_torch(v, effect, name, args, None));
        }
        if name.starts_with("torch.") {
            let last = name.rsplit('.').next().unwrap_or(name);
            if last == "apply"
                && let Op::Attr(object, _) = self.body.op(call.callee)
                && let Some(result) = self.call_autograd(v, object, args)
            {
                return Some(result);
            }
            if name.starts_with("torch.nn.Module.") || name.starts_with("torch.autograd.") {
                return Some(Abs::default());
            }
            if is_tensorless(args) {
                return Some(Abs::default());
            }
            return Some(self.unknown_call(v, None, args, "torch's schemas do not name it"));
        }
        if let Some(plain) = name.strip_prefix("builtins.") {
            return Some(self.call_builtin(v, plain, args));
        }
        if is_tensorless(args) {
            return Some(Abs::default());
        }
        match foreign(name) {
            Foreign::Pure => Some(Abs::of(Root::Fresh(v, 0))),
            Foreign::PassesOn => Some(self.everything(args)),
            Foreign::MaybeView => {
                let place = self.place(v);
                Some(self.everything(args).maybe(place))
            }
            Foreign::Unknown => Some(self.unknown_call(v, None, args, "its source is not in view")),
        }
    }

    fn everything(&self, args: &Arguments) -> Abs {
        let mut all = Abs::default();
        args.positional.iter().for_each(|p| all.add_all(&p.abs));
        args.keyword.iter().for_each(|(_, p)| all.add_all(&p.abs));
        args.open_stars.iter().for_each(|(_, p)| all.add_all(&p.abs));
        all
    }

    /// `F.apply(…)` of an `autograd.Function` of the project.
    fn call_autograd(&mut self, v: ValueId, object: ValueId, args: &Arguments) -> Option<Abs> {
        let classes = self.host.resolver.entities(self.f, object);
        let class = classes
            .into_iter()
            .find_map(|e| if let Entity::Class(c) = e { Some(c) } else { None })?;
        let members = self.host.resolver.members(class, "forward", false);
        let forward = members.into_iter().find_map(|e| match e {
            Entity::Function(f) | Entity::Bound(f) => Some(f),
            _ => None,
        })?;
        let context = Passed {
            abs: Abs::of(self.make_container(v, 1)),
            value: None,
            span: self.body.value(object).span,
        };
        Some(self.call_function(v, None, forward, Some(context), args))
    }

    /// A registered op, by what follows `torch.ops.`.
    fn call_op(&mut self, v: ValueId, id: CallId, path: &str, args: &Arguments) -> Abs {
        let mut parts = path.split('.');
        let (Some(namespace), Some(op)) = (parts.next(), parts.next()) else {
            return Abs::default();
        };
        match self.host.registry.target(namespace, op) {
            Some(Target::Implementation(f)) => {
                let f = *f;
                self.call_function(v, Some(id), f, None, args)
            }
            Some(Target::Schema(schema)) => {
                let schema = schema.clone();
                self.call_row(v, &schema, None, args)
            }
            None => self.unknown_call(v, None, args, "the op's registration is not in view"),
        }
    }

    /// A callee that a framework file describes.
    fn call_row(&mut self, v: ValueId, row: &Callee, receiver: Option<&Passed>, args: &Arguments) -> Abs {
        let find = |param: &str| -> Option<Passed> {
            if param == "self" {
                return receiver.cloned();
            }
            if let Some((_, passed)) = args.keyword.iter().find(|(k, _)| &**k == param) {
                return Some(passed.clone());
            }
            let at = row.params.iter().position(|p| p == param)?;
            args.positional.get(at).cloned()
        };
        for param in &row.writes {
            if let Some(passed) = find(param) {
                let place = Place {
                    file: self.f.file,
                    span: passed.span,
                };
                let name = row.name.rsplit('.').next().unwrap_or(&row.name);
                let chain = vec![Step {
                    place,
                    what: format!("`{name}` writes its `{param}`"),
                }];
                self.write(&passed.abs, v, &Condition::True, chain, None);
            }
        }
        let mut result = Abs::default();
        row.view_of.iter().filter_map(|p| find(p)).for_each(|p| result.add_all(&p.abs));
        let place = self.place(v);
        row.maybe_view_of
            .iter()
            .filter_map(|p| find(p))
            .for_each(|p| result.add_all(&p.abs.maybe(place)));
        if result.aliases.is_empty() && !is_tensorless(args) {
            return Abs::of(Root::Fresh(v, 0));
        }
        result
    }

    /// A function or method of torch.
    fn call_torch(&mut self, v: ValueId, effect: &TorchEffect, name: &str, args: &Arguments, receiver: Option<&Passed>) -> Abs {
        let bound = bind_torch(effect, args, receiver);
        let last = name.rsplit('.').next().unwrap_or(name).to_owned();
        let flag = match effect.flag {
            Some(flag) => bound[flag as usize].as_ref().map_or(Condition::False, |passed| self.is_set(passed)),
            None => Condition::False,
        };
        for &param in &effect.writes {
            let Some(passed) = &bound[param as usize] else { continue };
            let when = if effect.conditional.contains(&param) {
                flag.clone()
            } else {
                Condition::True
            };
            if when.value() == Some(false) {
                continue;
            }
            let (what, place) = match effect.params[param as usize].as_ref() {
                "self" => (format!("changed in place by `{last}`"), self.place(v)),
                "input" => (
                    format!("changed in place by `{last}`"),
                    Place {
                        file: self.f.file,
                        span: passed.span,
                    },
                ),
                param => (
                    format!("written by `{last}` as `{param}`"),
                    Place {
                        file: self.f.file,
                        span: passed.span,
                    },
                ),
            };
            let abs = passed.abs.clone();
            self.write(&abs, v, &when, vec![Step { place, what }], None);
        }
        let results = |run: &mut Self, shares: &[Shares]| -> Vec<Abs> {
            let each = shares.iter().enumerate();
            each.map(|(i, shares)| run.shared(v, i as u16, shares, &bound)).collect()
        };
        let mut parts = match flag.value() {
            Some(true) => results(self, &effect.flagged),
            Some(false) => results(self, &effect.results),
            None => {
                let (plain, flagged) = (results(self, &effect.results), results(self, &effect.flagged));
                if plain.len() == flagged.len() {
                    let pairs = plain.into_iter().zip(flagged);
                    pairs.map(|(a, b)| a.join(&b.when(&flag))).collect()
                } else {
                    let mut all = Abs::default();
                    plain.iter().chain(&flagged).for_each(|p| all.add_all(p));
                    vec![all]
                }
            }
        };
        let copied = effect.copies.and_then(|c| bound[c as usize].as_ref()).and_then(|p| p.value);
        if let Some(value) = copied
            && matches!(self.body.op(value), Op::Const(Const::Bool(true)))
        {
            return Abs::of(Root::Fresh(v, 0));
        }
        let mut pointees = Abs::addresses(bound.iter().flatten().map(|p| &p.abs)).pointees;
        if last == "data_ptr" || last == "untyped_storage" {
            pointees.extend(bound.iter().flatten().flat_map(|p| p.abs.aliases.iter().cloned()));
        }
        if last == "copy_" || last == "fill_" {
            let addresses = Abs {
                pointees: pointees.clone(),
                ..Abs::default()
            };
            for alias in bound
                .first()
                .and_then(Option::as_ref)
                .map(|p| p.abs.aliases.clone())
                .unwrap_or_default()
            {
                self.store(alias.root, Key::Any, addresses.clone());
            }
        }
        let mut result = match parts.len() {
            0 => Abs::default(),
            1 => parts.remove(0),
            _ => {
                let mut all = Abs::default();
                parts.iter().for_each(|p| all.add_all(p));
                Abs {
                    parts: Some(Arc::new(parts)),
                    ..all
                }
            }
        };
        result.pointees = pointees;
        result
    }

    /// Whether an argument is neither `None` nor `False`.
    fn is_set(&self, passed: &Passed) -> Condition {
        match passed.value.map(|value| (value, self.body.op(value))) {
            Some((_, Op::Const(Const::None | Const::Bool(false)))) => Condition::False,
            Some((_, Op::Const(_) | Op::Tuple(_) | Op::List(_))) => Condition::True,
            Some((value, _)) => self.binding(value).truthy(),
            None => Condition::Unknown,
        }
    }

    fn shared(&mut self, v: ValueId, n: u16, shares: &Shares, bound: &[Option<Passed>]) -> Abs {
        let of = |params: &[u16]| {
            let mut all = Abs::default();
            for &p in params {
                if let Some(Some(passed)) = bound.get(p as usize)
                    && !passed.abs.none
                {
                    all.add_all(&passed.abs);
                }
            }
            all
        };
        let fresh = Abs::of(Root::Fresh(v, n));
        match shares {
            Shares::Fresh => fresh,
            Shares::Scalar => Abs::default(),
            Shares::FreshList => {
                self.make_container(v, n);
                fresh
            }
            Shares::View(params) | Shares::Views(params) => {
                let all = self.reach(&of(params));
                if all.aliases.is_empty() { fresh } else { all }
            }
            Shares::Maybe(params) => {
                let all = self.reach(&of(params));
                if all.aliases.is_empty() { fresh } else { all.maybe(self.place(v)) }
            }
        }
    }

    /// A method on a value: of a tensor, a container, or something unknown.
    fn call_method(&mut self, v: ValueId, object: ValueId, name: &str, args: &Arguments) -> Abs {
        let receiver = Passed {
            abs: self.abs(object).clone(),
            value: Some(object),
            span: self.body.value(object).span,
        };
        let container = receiver.abs.parts.is_some()
            || receiver
                .abs
                .aliases
                .iter()
                .any(|a| matches!(&a.root, Root::Fresh(..)) && self.heap_keys.contains_key(&a.root))
            || matches!(self.body.op(object), Op::List(_) | Op::Dict(_) | Op::Set(_) | Op::Collect(..));
        if is_container_method(name) && (container || self.host.knowledge.torch.method(name).is_none()) {
            return self.call_container(&receiver, name, args);
        }
        if receiver.abs.aliases.is_empty() && self.is_text(object) {
            return Abs::default();
        }
        if let Some(effect) = self.host.knowledge.torch.method(name)
            && !(receiver.abs.aliases.is_empty() && is_tensorless(args))
        {
            return self.call_torch(v, effect, name, args, Some(&receiver));
        }
        if is_tensorless(args) && receiver.abs.aliases.is_empty() {
            for passed in args.positional.iter().chain(args.keyword.iter().map(|(_, p)| p)) {
                self.run_callback(v, passed);
            }
            return Abs::default();
        }
        if is_logging(name) {
            return Abs::default();
        }
        if let Op::Param(i) = self.body.op(object)
            && self.context.functions.contains_key(&i)
        {
            self.runs_params = true;
        }
        let mut all = args.clone();
        let object_only = receiver.abs.aliases.iter().all(|a| match &a.root {
            Root::Param(i) => !matches!(
                self.kinds[*i as usize],
                super::super::types::Kind::Tensor | super::super::types::Kind::Tensors
            ),
            Root::State(_) | Root::Capture(_) => true,
            Root::Part(..) | Root::Fresh(..) => false,
        });
        if !object_only {
            all.positional.insert(0, receiver);
        }
        self.unknown_call(v, None, &all, "the method is not in view")
    }

    fn is_text(&self, v: ValueId) -> bool {
        matches!(self.body.op(v), Op::Const(Const::Str(_) | Const::Bytes) | Op::Format(_))
    }

    fn call_container(&mut self, receiver: &Passed, name: &str, args: &Arguments) -> Abs {
        let abs = &receiver.abs;
        let first = args.positional.first();
        match name {
            "append" | "add" | "insert" | "extend" | "update" | "setdefault" => {
                let mut value = self.everything(args);
                let roots = self.container_roots(abs);
                let mut entries = Vec::new();
                if name == "extend" || name == "update" {
                    value = self.element(&value, &Key::Any);
                    entries.extend(
                        args.keyword
                            .iter()
                            .map(|(key, passed)| (Key::Name(key.clone()), passed.abs.clone())),
                    );
                    entries.extend(first.map(|from| self.entries(&from.abs)).unwrap_or_default());
                }
                entries.push((Key::Any, value.clone()));
                for root in &roots {
                    for (key, value) in &entries {
                        self.store(root.clone(), key.clone(), value.clone());
                    }
                }
                if name == "setdefault" { value } else { Abs::default() }
            }
            "get" | "pop" => {
                let key = first.and_then(|p| p.value).map(|value| match self.body.op(value) {
                    Op::Const(Const::Str(text)) => Key::Name(self.text(text).into()),
                    _ => Key::Any,
                });
                let mut found = self.element(abs, &key.unwrap_or(Key::Any));
                if let Some(default) = args.positional.get(1) {
                    found = found.join(&default.abs);
                }
                Abs { none: false, ..found }
            }
            "values" | "items" | "copy" => {
                let mut all = self.element(abs, &Key::Any);
                all.add_all(&Abs {
                    parts: None,
                    ..abs.clone()
                });
                all
            }
            _ => Abs::default(),
        }
    }

    fn call_builtin(&mut self, v: ValueId, name: &str, args: &Arguments) -> Abs {
        match name {
            "list" | "tuple" | "set" | "sorted" | "reversed" | "enumerate" | "zip" | "iter" | "next" | "filter" | "frozenset" => {
                let mut all = self.everything(args);
                all.parts = match (name, args.positional.first()) {
                    ("list" | "tuple", Some(p)) => p.abs.parts.clone(),
                    _ => None,
                };
                if name == "next" {
                    return self.element(&all, &Key::Any);
                }
                if name == "list" || name == "set" {
                    let root = self.make_container(v, 0);
                    if let Some(from) = args.positional.first() {
                        let abs = from.abs.clone();
                        self.spread(&root, &abs);
                    }
                    all.add(Alias {
                        root,
                        when: Condition::True,
                        maybe: None,
                        known: true,
                    });
                }
                all
            }
            "dict" => {
                let root = self.make_container(v, 0);
                let mut all = Abs::of(root.clone());
                for (key, passed) in &args.keyword {
                    all.add_all(&passed.abs);
                    self.store(root.clone(), Key::Name(key.clone()), passed.abs.clone());
                }
                for passed in args.positional.iter().chain(&args.open_keywords) {
                    let abs = passed.abs.clone();
                    self.spread(&root, &abs);
                    all.add_all(&abs);
                }
                all
            }
            "getattr" => match args.positional.first() {
                Some(object) => {
                    let key = args.positional.get(1).and_then(|p| p.value).map(|value| self.body.op(value));
                    let abs = object.abs.clone();
                    match key {
                        Some(Op::Const(Const::Str(name))) => {
                            let name: Arc<str> = self.text(name).into();
                            let mut all = Abs::default();
                            for alias in &abs.aliases {
                                match self.path_of(&alias.root) {
                                    Some(path) => all.add(Alias {
                                        root: Root::below(&path, &format!(".{name}")),
                                        ..alias.clone()
                                    }),
                                    None => all.add(alias.clone()),
                                }
                            }
                            all
                        }
                        _ => abs,
                    }
                }
                None => Abs::default(),
            },
            "map" => {
                let mut args = args.clone();
                let f = (!args.positional.is_empty()).then(|| args.positional.remove(0));
                args.positional.iter_mut().for_each(|p| p.value = None);
                let Some(value) = f.and_then(|f| f.value) else {
                    return self.everything(&args);
                };
                let entities = self.host.resolver.entities(self.f, value);
                let mut out = Abs::default();
                for entity in entities {
                    if let Entity::Function(f) = entity {
                        out.add_all(&self.call_function(v, None, f, None, &args));
                    } else {
                        out.add_all(&self.unknown_call(v, None, &args, "the callee is not in view"));
                    }
                }
                out
            }
            "max" | "min" | "sum" | "abs" | "round" | "divmod" | "pow" => {
                if is_tensorless(args) {
                    Abs::default()
                } else {
                    Abs::of(Root::Fresh(v, 0)).join(&self.everything(args))
                }
            }
            "setattr" | "exec" | "eval" | "globals" | "locals" | "vars" | "super" | "property" | "object" | "slice" => Abs::default(),
            // The other builtins read their arguments and give numbers, texts or nothing.
            _ if is_builtin(name) => Abs::default(),
            _ => self.unknown_call(v, None, args, "its definition is not in view"),
        }
    }

    /// An instance is made: it holds what the constructor gets.
    fn construct(&mut self, v: ValueId, class: ClassRef, args: &Arguments) -> Abs {
        let root = self.make_container(v, 0);
        let mut all = Abs::of(root.clone());
        let init = self
            .host
            .resolver
            .members(class, "__init__", true)
            .into_iter()
            .find_map(|e| match e {
                Entity::Bound(f) | Entity::Function(f) => Some(f),
                _ => None,
            });
        if let Some(init) = init.filter(|_| !is_tensorless(args)) {
            let own = Passed {
                abs: all.clone(),
                value: None,
                span: self.body.value(v).span,
            };
            self.call_function(v, None, init, Some(own), args);
        }
        let fields = self.fields(class);
        for (i, passed) in args.positional.iter().enumerate() {
            let key = fields.get(i).map_or(Key::Any, |name| Key::Name(name.as_str().into()));
            self.store(root.clone(), key, passed.abs.clone());
        }
        for (name, passed) in &args.keyword {
            self.store(root.clone(), Key::Name(name.clone()), passed.abs.clone());
        }
        for (_, open) in &args.open_stars {
            self.store(root.clone(), Key::Any, open.abs.clone());
        }
        all.add_all(&Abs {
            parts: None,
            ..self.everything(args)
        });
        all
    }

    /// Names of a class's annotated fields, in order (dataclasses, named tuples).
    fn fields(&self, class: ClassRef) -> Vec<String> {
        let facts = self.host.resolver.facts(class.file);
        let body = facts.function(facts.classes[class.class.index()].body);
        let mut fields: Vec<(u32, String)> = Vec::new();
        for statement in &body.body.statements {
            if statement.kind == crate::facts::StatementKind::Assign
                && statement.parent.is_none()
                && let Some(name) = statement.defines.first()
            {
                fields.push((statement.span.start, facts.name(*name).to_owned()));
            }
        }
        fields.sort();
        fields.into_iter().map(|(_, name)| name).collect()
    }

    /// `obj(…)` for an instance of a class of the project.
    fn call_instance(&mut self, v: ValueId, id: CallId, class: ClassRef, call: &Call, args: &Arguments) -> Abs {
        let resolver = self.host.resolver;
        for name in ["__call__", "forward"] {
            let found = resolver
                .members(class, name, true)
                .into_iter()
                .find_map(|e| if let Entity::Bound(f) = e { Some(f) } else { None });
            if let Some(f) = found {
                let receiver = Passed {
                    abs: self.abs(call.callee).clone(),
                    value: None,
                    span: self.body.value(call.callee).span,
                };
                return self.call_function(v, Some(id), f, Some(receiver), args);
            }
        }
        self.unknown_call(v, None, args, "the object's `__call__` is not in view")
    }

    /// A call of what a call returned: `functools.partial(f, x)(y)`, a module of torch.
    fn call_made(&mut self, v: ValueId, id: CallId, name: &str, made: ValueRef, args: &Arguments) -> Abs {
        if name == "functools.partial" && made.at == self.f {
            let Op::Call(inner) = self.body.op(made.value) else {
                return Abs::default();
            };
            let mut all = self.arguments(self.body.call(inner));
            let target = self
                .body
                .call(inner)
                .args
                .first()
                .filter(|a| a.kind == ArgKind::Positional)
                .map(|a| a.value);
            if !all.positional.is_empty() {
                all.positional.remove(0);
            }
            all.positional.extend(args.positional.iter().cloned());
            all.keyword.retain(|(k, _)| !args.keyword.iter().any(|(o, _)| o == k));
            all.keyword.extend(args.keyword.iter().cloned());
            all.open_stars.extend(args.open_stars.iter().cloned());
            all.open_keywords.extend(args.open_keywords.iter().cloned());
            let functions = target.map(|t| self.host.resolver.functions(self.f, t)).unwrap_or_default();
            if functions.is_empty() {
                return self.unknown_call(v, None, &all, "the callee is not in view");
            }
            let mut out = Abs::default();
            for f in functions {
                out = out.join(&self.call_function(v, Some(id), f, None, &all));
            }
            return out;
        }
        if is_tensorless(args) {
            return Abs::default();
        }
        if name.starts_with("torch.nn.") {
            let place = self.place(v);
            let mut result = self.everything(args).maybe(place);
            result.add_all(&Abs::of(Root::Fresh(v, 0)));
            return result;
        }
        self.unknown_call(v, None, args, "the callee is not in view")
    }
}

enum Kernels {
    These(Vec<FunctionRef>),
    /// A parameter is launched.
    Unknown,
    /// Compiled, not run.
    Warmup,
}

fn is_tensorless(args: &Arguments) -> bool {
    let all = args.positional.iter().chain(args.keyword.iter().map(|(_, p)| p));
    all.chain(args.open_stars.iter().map(|(_, p)| p))
        .chain(&args.open_keywords)
        .all(|p| p.abs.aliases.is_empty())
}

fn bind_torch(effect: &TorchEffect, args: &Arguments, receiver: Option<&Passed>) -> Vec<Option<Passed>> {
    let mut bound: Vec<Option<Passed>> = vec![None; effect.params.len()];
    let mut next = 0;
    if let Some(receiver) = receiver {
        if let Some(slot) = bound.first_mut() {
            *slot = Some(receiver.clone());
        }
        next = 1;
    }
    for passed in &args.positional {
        if next < effect.keyword_only as usize {
            bound[next] = Some(passed.clone());
            if !(effect.variadic && next + 1 == effect.keyword_only as usize) {
                next += 1;
            } else if let Some(Some(all)) = bound.get_mut(next) {
                all.abs.add_all(&passed.abs);
            }
        }
    }
    for (_, star) in &args.open_stars {
        for slot in bound.iter_mut().take(effect.keyword_only as usize).skip(next) {
            slot.get_or_insert_with(|| star.clone());
        }
    }
    for (name, passed) in &args.keyword {
        let name = if &**name == "self" { "input" } else { &**name };
        if let Some(i) = effect.params.iter().position(|p| &**p == name) {
            bound[i] = Some(passed.clone());
        }
    }
    bound
}

fn is_logging(name: &str) -> bool {
    matches!(
        name,
        "info"
            | "debug"
            | "warning"
            | "error"
            | "critical"
            | "exception"
            | "log"
            | "warning_once"
            | "info_once"
            | "debug_once"
            | "error_once"
    )
}

fn is_builtin(name: &str) -> bool {
    matches!(
        name,
        "len"
            | "int"
            | "float"
            | "bool"
            | "str"
            | "bytes"
            | "complex"
            | "range"
            | "print"
            | "isinstance"
            | "issubclass"
            | "hasattr"
            | "type"
            | "id"
            | "any"
            | "all"
            | "repr"
            | "format"
            | "hash"
            | "callable"
            | "dir"
            | "open"
            | "input"
            | "ord"
            | "chr"
            | "hex"
            | "bin"
            | "oct"
            | "memoryview"
            | "bytearray"
            | "delattr"
            | "staticmethod"
            | "classmethod"
            | "breakpoint"
            | "__import__"
            | "ascii"
            | "compile"
            | "help"
    ) || name.ends_with("Error")
        || name.ends_with("Exception")
        || name.ends_with("Warning")
        || matches!(name, "NotImplemented" | "StopIteration" | "KeyboardInterrupt" | "SystemExit")
}

/// What functions of Python's own modules do.
enum Foreign {
    /// Reads its arguments.
    Pure,
    /// Hands its arguments on.
    PassesOn,
    /// May hand a view on.
    MaybeView,
    Unknown,
}

fn foreign(name: &str) -> Foreign {
    let module = name.split('.').next().unwrap_or(name);
    match module {
        "math" | "os" | "sys" | "time" | "logging" | "warnings" | "re" | "json" | "random" | "inspect" | "typing" | "operator" | "enum"
        | "threading" | "platform" | "hashlib" | "gc" | "struct" | "statistics" | "string" | "textwrap" | "traceback" | "pathlib"
        | "datetime" | "abc" | "packaging" | "weakref" | "contextlib" | "numbers" | "decimal" | "triton" | "nvtx" | "tqdm" => Foreign::Pure,
        "itertools" | "collections" | "functools" | "dataclasses" => Foreign::PassesOn,
        "copy" => {
            if name == "copy.deepcopy" {
                Foreign::Pure
            } else {
                Foreign::PassesOn
            }
        }
        "einops" | "numpy" => Foreign::MaybeView,
        _ => Foreign::Unknown,
    }
}
