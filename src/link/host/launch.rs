//! Launches: which host values a kernel writes.

use super::super::conditions::{Binding, Condition, Literal, contradicts};
use super::super::kernels::GuardedWrite;
use super::body::Run;
use super::{Abs, Effect, Key, Launched, Return, Root};
use crate::facts::{ArgKind, Call, CallId, Const, Op, ParamKind, ValueId};
use crate::knowledge::frameworks::{Launcher, Passes};
use crate::program::{FunctionRef, Step};
use crate::source::{Place, Span};
use std::sync::Arc;

/// An argument on its way to a parameter.
#[derive(Clone, Debug)]
pub(super) struct Passed {
    pub(super) abs: Abs,
    /// The value that conditions can speak of, when the argument is one value.
    pub(super) value: Option<ValueId>,
    pub(super) span: Span,
}

/// The arguments of a call, stars taken apart where their length is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Arguments {
    pub(super) positional: Vec<Passed>,
    pub(super) keyword: Vec<(Arc<str>, Passed)>,
    /// `*x` of unknown length: the number of positional arguments before each.
    pub(super) open_stars: Vec<(usize, Passed)>,
    /// `**x` with unknown keys.
    pub(super) open_keywords: Vec<Passed>,
}

/// What each parameter of a callee gets.
pub(super) struct Bound {
    pub(super) params: Vec<Option<Passed>>,
    /// Arguments that go to parameters that cannot be told.
    pub(super) loose: Vec<Passed>,
    /// What `*args` takes.
    pub(super) stars: Vec<Passed>,
    /// What `**kwargs` takes.
    pub(super) keywords: Vec<(Arc<str>, Passed)>,
}

impl Run<'_, '_> {
    /// Evaluates the arguments of a call.
    pub(super) fn arguments(&self, call: &Call) -> Arguments {
        let mut out = Arguments::default();
        for arg in &call.args {
            let passed = Passed {
                abs: self.abs(arg.value).clone(),
                value: Some(arg.value),
                span: arg.span,
            };
            match arg.kind {
                ArgKind::Positional => out.positional.push(passed),
                ArgKind::Keyword(name) => out.keyword.push((self.text(name).into(), passed)),
                ArgKind::Star => match &passed.abs.parts {
                    Some(parts) => {
                        let items = self.display_items(arg.value);
                        for (i, part) in parts.iter().enumerate() {
                            let value = items.as_ref().and_then(|items| items.get(i).copied());
                            out.positional.push(Passed {
                                abs: part.clone(),
                                value,
                                span: arg.span,
                            });
                        }
                    }
                    None => out.open_stars.push((out.positional.len(), passed)),
                },
                ArgKind::StarStar => self.keywords_of(passed, &mut out),
            }
        }
        out
    }

    /// The operands of a tuple or list display without stars.
    fn display_items(&self, v: ValueId) -> Option<Vec<ValueId>> {
        match self.body.op(v) {
            Op::Tuple(items) | Op::List(items) => {
                let items = self.body.items(items);
                (!items.iter().any(|&i| matches!(self.body.op(i), Op::Star(_)))).then(|| items.to_vec())
            }
            Op::Star(inner) | Op::Annotated(_, inner) => self.display_items(inner),
            _ => None,
        }
    }

    fn keywords_of(&self, passed: Passed, out: &mut Arguments) {
        if let Some(value) = passed.value
            && let Some(entries) = self.dict_entries(value)
        {
            for (key, value) in entries {
                let abs = self.abs(value).clone();
                out.keyword.push((
                    key,
                    Passed {
                        abs,
                        value: Some(value),
                        span: passed.span,
                    },
                ));
            }
            return;
        }
        let mut open = passed.abs.aliases.is_empty() && passed.value.is_some_and(|v| !matches!(self.body.op(v), Op::Dict(_)));
        for alias in &passed.abs.aliases {
            match self.heap_keys.get(&alias.root) {
                Some(keys) => {
                    for key in keys {
                        let abs = self.load(&alias.root, key).unwrap_or_default();
                        match key {
                            Key::Name(name) => out.keyword.push((
                                name.clone(),
                                Passed {
                                    abs,
                                    value: None,
                                    span: passed.span,
                                },
                            )),
                            Key::Any | Key::Index(_) => out.open_keywords.push(Passed {
                                abs,
                                value: None,
                                span: passed.span,
                            }),
                        }
                    }
                }
                None => open |= !matches!(alias.root, Root::Fresh(..)) || passed.abs.aliases.len() == 1,
            }
        }
        if open {
            out.open_keywords.push(passed);
        }
    }

    /// The entries of a dict display or `dict(…)` call that is not changed afterwards, when every key is known.
    pub(super) fn dict_entries(&self, v: ValueId) -> Option<Vec<(Arc<str>, ValueId)>> {
        match self.body.op(v) {
            Op::Annotated(_, inner) => self.dict_entries(inner),
            Op::Dict(items) => {
                let entry = |pair: &[ValueId]| match self.body.op(pair[0]) {
                    Op::Const(Const::Str(name)) => Some((self.text(name).into(), pair[1])),
                    _ => None,
                };
                let entries: Vec<(Arc<str>, ValueId)> = self.body.items(items).chunks(2).map(entry).collect::<Option<_>>()?;
                self.unchanged(v, entries)
            }
            Op::Call(call) => {
                let call = self.body.call(call);
                if self.host.resolver.external(self.f, call.callee).as_deref() != Some("builtins.dict") {
                    return None;
                }
                let entry = |a: &crate::facts::Arg| match a.kind {
                    ArgKind::Keyword(name) => Some((self.text(name).into(), a.value)),
                    ArgKind::Positional | ArgKind::Star | ArgKind::StarStar => None,
                };
                let entries = call.args.iter().map(entry).collect::<Option<_>>()?;
                self.unchanged(v, entries)
            }
            _ => None,
        }
    }

    fn unchanged(&self, v: ValueId, entries: Vec<(Arc<str>, ValueId)>) -> Option<Vec<(Arc<str>, ValueId)>> {
        let keys = self.heap_keys.get(&Root::Fresh(v, 0)).map_or(0, Vec::len);
        (keys <= entries.len()).then_some(entries)
    }

    /// Sorts arguments to the parameters of a function. `skip` leading parameters are bound already (`self`).
    pub(super) fn bind(&self, callee: FunctionRef, skip: usize, args: &Arguments) -> Bound {
        let function = self.host.resolver.function(callee);
        let facts = self.host.resolver.facts(callee.file);
        let params = &function.params;
        let mut bound = Bound {
            params: vec![None; params.len()],
            loose: Vec::new(),
            stars: Vec::new(),
            keywords: Vec::new(),
        };
        for (name, passed) in &args.keyword {
            match params
                .iter()
                .position(|p| facts.name(p.name) == &**name && !matches!(p.kind, ParamKind::Star | ParamKind::StarStar))
            {
                Some(i) => bound.params[i] = Some(passed.clone()),
                None => bound.keywords.push((name.clone(), passed.clone())),
            }
        }
        let slots: Vec<usize> = (skip..params.len())
            .filter(|&i| matches!(params[i].kind, ParamKind::Positional | ParamKind::PositionalOnly) && bound.params[i].is_none())
            .collect();
        let takes_stars = params.iter().any(|p| p.kind == ParamKind::Star);
        let put = |bound: &mut Bound, slot: usize, passed: &Passed| match slots.get(slot) {
            Some(&i) => bound.params[i] = Some(passed.clone()),
            None if takes_stars => bound.stars.push(passed.clone()),
            None => bound.loose.push(passed.clone()),
        };
        match args.open_stars.as_slice() {
            [] => args.positional.iter().enumerate().for_each(|(i, p)| put(&mut bound, i, p)),
            [(at, star)] => {
                // One star takes what the others leave, when nothing has a default.
                let rest = args.positional.len() - at;
                args.positional[..*at].iter().enumerate().for_each(|(i, p)| put(&mut bound, i, p));
                let required = slots.iter().filter(|&&i| params[i].default.is_none()).count();
                if rest > 0 && required == slots.len() && !takes_stars && slots.len() >= args.positional.len() {
                    let first = slots.len() - rest;
                    args.positional[*at..]
                        .iter()
                        .enumerate()
                        .for_each(|(i, p)| put(&mut bound, first + i, p));
                    for &slot in &slots[*at..first] {
                        bound.params[slot] = Some(Passed {
                            value: None,
                            ..star.clone()
                        });
                    }
                } else {
                    bound.loose.extend(args.positional[*at..].iter().cloned());
                    bound.loose.push(star.clone());
                }
            }
            several => {
                let first = several[0].0;
                args.positional[..first].iter().enumerate().for_each(|(i, p)| put(&mut bound, i, p));
                bound.loose.extend(args.positional[first..].iter().cloned());
                bound.loose.extend(several.iter().map(|(_, star)| star.clone()));
            }
        }
        bound.loose.extend(args.open_keywords.iter().cloned());
        bound
    }

    /// A launch of any of `kernels`.
    pub(super) fn launch(&mut self, v: Option<ValueId>, call: Option<CallId>, span: Span, kernels: &[FunctionRef], args: &Arguments) {
        self.launches.push(Launched {
            call,
            value: v,
            span,
            kernels: kernels.to_vec(),
            via: None,
        });
        let at = v.unwrap_or(ValueId(self.body.values.len().saturating_sub(1) as u32));
        if kernels.is_empty() {
            self.unknown_call(at, None, args, "the kernel is not in view");
        }
        for &kernel in kernels {
            self.launch_one(at, kernel, args);
        }
    }

    fn launch_one(&mut self, at: ValueId, kernel: FunctionRef, args: &Arguments) {
        let host = self.host;
        let Some(effects) = host.kernels.get(&kernel) else { return };
        let function = host.resolver.function(kernel);
        let facts = host.resolver.facts(kernel.file);
        let mut bound = self.bind(kernel, 0, args);
        if !bound.loose.is_empty() {
            self.place_loose(&mut bound, kernel, args);
        }
        let name = facts.name(function.name).to_owned();
        let binding = |p: u16| self.kernel_binding(kernel, &bound, p, 4);
        let mut writes: Vec<(GuardedWrite, bool)> = effects.writes.iter().map(|w| (w.clone(), false)).collect();
        writes.extend(effects.pointees.iter().map(|w| (w.clone(), true)));
        let planned: Vec<(GuardedWrite, bool, Condition)> = writes
            .into_iter()
            .map(|(w, pointee)| {
                let when = w.when.substitute(&binding);
                (w, pointee, when)
            })
            .collect();
        for (write, pointee, when) in planned {
            let param = facts.name(function.params[write.param as usize].name);
            let Some(passed) = &bound.params[write.param as usize] else {
                continue;
            };
            let mut chain = write.chain.clone();
            let place = Place {
                file: self.f.file,
                span: passed.span,
            };
            chain.push(Step {
                place,
                what: format!("passed to `{name}` as `{param}`"),
            });
            let abs = passed.abs.clone();
            if pointee {
                self.write_pointees(&abs, at, &when, chain);
            } else {
                self.write(&abs, at, &when, chain, None);
            }
        }
        for (param, reason) in &effects.unresolved {
            let Some(passed) = &bound.params[*param as usize] else { continue };
            let place = Place {
                file: self.f.file,
                span: passed.span,
            };
            let what = format!("passed to `{name}` as `{}`", facts.name(function.params[*param as usize].name));
            let abs = passed.abs.clone();
            self.write(&abs, at, &Condition::True, vec![Step { place, what }], Some(reason.as_str().into()));
        }
        for passed in std::mem::take(&mut bound.loose) {
            let place = Place {
                file: self.f.file,
                span: passed.span,
            };
            let step = Step {
                place,
                what: format!("passed to `{name}`"),
            };
            let reason = "it cannot be told which kernel parameter a starred argument becomes";
            self.write(&passed.abs, at, &Condition::True, vec![step], Some(reason.into()));
        }
    }

    /// The host tensors whose addresses a kernel stores through.
    fn write_pointees(&mut self, table: &Abs, at: ValueId, when: &Condition, chain: Vec<Step>) {
        let mut targets = self.reach(table).pointees;
        for alias in &table.aliases {
            if let Some(inside) = self.load(&alias.root, &Key::Any) {
                targets.extend(inside.pointees);
            }
        }
        if !targets.is_empty() {
            let target = Abs {
                aliases: targets,
                ..Abs::default()
            };
            self.write(&target, at, when, chain, None);
            return;
        }
        for alias in &table.aliases {
            let Some(path) = self.path_of(&alias.root) else { continue };
            let guard = self.guard(at);
            self.effect(Effect {
                root: Root::State(format!("*{path}").into()),
                when: Condition::all([guard, when.clone()]),
                maybe: None,
                unknown: None,
                chain: chain.clone(),
            });
        }
    }

    /// Starred numbers (`*x.stride()`) shift what follows by an unknown count. Where the tensors among the loose arguments are
    /// as many as the pointers among the open parameters, they go to them in order.
    fn place_loose(&self, bound: &mut Bound, kernel: FunctionRef, args: &Arguments) {
        if args.open_stars.iter().any(|(_, star)| !star.abs.aliases.is_empty()) || !args.open_keywords.is_empty() {
            return;
        }
        let Some(effects) = self.host.kernels.get(&kernel) else { return };
        let tensors: Vec<Passed> = bound.loose.iter().filter(|p| !p.abs.aliases.is_empty()).cloned().collect();
        let pointer = |p: &u16| {
            effects.reads.contains(p) || effects.writes.iter().any(|w| w.param == *p) || effects.unresolved.iter().any(|(u, _)| u == p)
        };
        let open: Vec<u16> = (0..bound.params.len() as u16)
            .filter(|p| bound.params[*p as usize].is_none())
            .filter(pointer)
            .collect();
        if tensors.len() == open.len() {
            for (param, passed) in open.into_iter().zip(tensors) {
                bound.params[param as usize] = Some(passed);
            }
            bound.loose.clear();
        }
    }

    /// What a kernel parameter is at a launch, for the kernel's conditions: the argument, else what a heuristic computes, else the default.
    fn kernel_binding(&self, kernel: FunctionRef, bound: &Bound, param: u16, depth: u32) -> Binding {
        if let Some(passed) = &bound.params[param as usize] {
            if passed.abs.none {
                return Binding::literal(Literal::None);
            }
            return match passed.value {
                Some(value) => self.binding(value),
                None => Binding::Unknown,
            };
        }
        let effects = &self.host.kernels[&kernel];
        if let Some((_, condition)) = effects.heuristics.iter().find(|(p, _)| *p == param)
            && let Some(depth) = depth.checked_sub(1)
        {
            return condition.substitute(&|p| self.kernel_binding(kernel, bound, p, depth));
        }
        self.default_binding(kernel, param)
    }

    /// The default of a parameter.
    pub(super) fn default_binding(&self, callee: FunctionRef, param: u16) -> Binding {
        let resolver = self.host.resolver;
        let Some(default) = resolver.function(callee).params[param as usize].default else {
            return Binding::Unknown;
        };
        let facts = resolver.facts(callee.file);
        match resolver.body(resolver.parent(callee)).op(default) {
            Op::Const(Const::None) => Binding::literal(Literal::None),
            Op::Const(Const::Bool(b)) => Binding::literal(Literal::Bool(b)),
            Op::Const(Const::Int(i)) => Binding::literal(Literal::Int(i.into())),
            Op::Const(Const::Str(s)) => Binding::literal(Literal::Str(facts.name(s).into())),
            _ => Binding::Unknown,
        }
    }

    /// A function under a launcher decorator launches what it returns.
    pub(super) fn launch_by_decorator(&mut self, returns: &[Return]) {
        for (launcher, kernels, span) in self.launcher_decorators() {
            let described = |r: &&Return| r.value.is_some_and(|v| matches!(self.body.op(v), Op::Tuple(_)));
            if launcher.passes != Passes::GridAndDict || returns.iter().filter(described).count() == 0 {
                // What is launched with which argument cannot be read.
                let mut args = Arguments::default();
                self.own_arguments(&mut args);
                self.launch(None, None, span, &[], &args);
                if let Some(last) = self.launches.last_mut() {
                    last.kernels = kernels;
                }
                continue;
            }
            for returned in returns {
                let Some(value) = returned.value else { continue };
                let Op::Tuple(items) = self.body.op(value) else { continue };
                let items = self.body.items(items).to_vec();
                let mut args = Arguments::default();
                if let Some(&dict) = items.get(1) {
                    self.keywords_of(
                        Passed {
                            abs: self.abs(dict).clone(),
                            value: Some(dict),
                            span: self.body.value(dict).span,
                        },
                        &mut args,
                    );
                }
                let mut kernels = kernels.clone();
                if let Some(key) = &launcher.kernel_key
                    && let Some(at) = args.keyword.iter().position(|(k, _)| **k == **key)
                {
                    let (_, other) = args.keyword.remove(at);
                    let others = other.value.map(|v| self.host.kernels_of(self.f, v)).unwrap_or_default();
                    kernels = if others.is_empty() { kernels } else { others };
                }
                self.own_params(&launcher, &kernels, &mut args);
                if contradicts(&[&returned.when]) {
                    continue;
                }
                self.launch(None, None, span, &kernels, &args);
                let last = self.launches.len() - 1;
                self.launches[last].value = None;
            }
        }
        self.launches.sort();
        self.launches.dedup();
    }

    /// Every parameter that may hold a tensor, by its own name.
    fn own_arguments(&self, args: &mut Arguments) {
        for (i, param) in self.function.params.iter().enumerate() {
            let holds = !matches!(
                self.kinds[i],
                super::super::types::Kind::Scalar | super::super::types::Kind::Object(_)
            );
            if holds {
                let passed = Passed {
                    abs: Abs::of(Root::Param(i as u16)),
                    value: None,
                    span: param.name_span,
                };
                args.keyword.push((self.text(param.name).into(), passed));
            }
        }
    }

    /// The function's own parameters become the kernel's parameters of fitting names that the dict leaves out.
    fn own_params(&self, launcher: &Launcher, kernels: &[FunctionRef], args: &mut Arguments) {
        let resolver = self.host.resolver;
        let plain = ["{}".to_owned()];
        let patterns = if launcher.names.is_empty() {
            &plain[..]
        } else {
            &launcher.names[..]
        };
        let takes = |name: &str| {
            kernels
                .iter()
                .any(|k| resolver.function(*k).params.iter().any(|p| resolver.text(k.file, p.name) == name))
        };
        for (i, param) in self.function.params.iter().enumerate() {
            let own = self.text(param.name);
            let fitting = patterns
                .iter()
                .map(|p| p.replace("{upper}", &own.to_uppercase()).replace("{}", own))
                .find(|n| takes(n));
            let Some(name) = fitting else { continue };
            if args.keyword.iter().any(|(k, _)| **k == *name) {
                continue;
            }
            let value = self.body.iter().find(|(_, v)| v.op == Op::Param(i as u16)).map(|(id, _)| id);
            let passed = Passed {
                abs: Abs::of(Root::Param(i as u16)),
                value,
                span: param.name_span,
            };
            args.keyword.push((name.into(), passed));
        }
    }

    fn launcher_decorators(&self) -> Vec<(Launcher, Vec<FunctionRef>, Span)> {
        let resolver = self.host.resolver;
        let parent = resolver.parent(self.f);
        let mut found = Vec::new();
        for decorator in &self.function.decorators {
            let (callee, call) = match resolver.body(parent).op(decorator.value) {
                Op::Call(call) => (resolver.body(parent).call(call).callee, Some(resolver.body(parent).call(call))),
                _ => (decorator.value, None),
            };
            let Some(launcher) = self.host.registry.launcher(resolver, parent, callee, true) else {
                continue;
            };
            let argument = call.and_then(|call| super::super::registry::argument(self.facts, call, &launcher.kernel));
            let mut kernels = match argument {
                Some(value) => self.host.kernels_of(parent, value),
                None => Vec::new(),
            };
            if kernels.is_empty()
                && let Some(attribute) = &launcher.class_attribute
                && let Some(class) = self.function.class
            {
                let class = super::super::resolve::ClassRef { file: self.f.file, class };
                let members = resolver.members(class, attribute, true);
                kernels.extend(members.into_iter().filter_map(|e| match e {
                    super::super::resolve::Entity::Function(f) | super::super::resolve::Entity::Bound(f) if self.host.is_kernel(f) => {
                        Some(f)
                    }
                    _ => None,
                }));
            }
            found.push((launcher.clone(), kernels, decorator.span));
        }
        found
    }
}
