//! Launches: which host values a kernel writes.

use super::super::conditions::{Binding, Condition, Literal, contradicts};
use super::super::kernels::GuardedWrite;
use super::super::types::Kind;
use super::arguments::{Arguments, Bound, Passed};
use super::body::Run;
use super::writes::Trail;
use super::{Abs, Alias, Key, Launched, Return, Root};
use crate::facts::{CallId, Const, Op, ValueId};
use crate::knowledge::frameworks::{Launcher, Passes};
use crate::program::FunctionRef;
use crate::source::Span;

impl Run<'_, '_> {
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

    pub(super) fn launch_one(&mut self, at: ValueId, kernel: FunctionRef, args: &Arguments) {
        let host = self.host;
        let Some(effects) = host.kernels.get(&kernel) else { return };
        let function = host.resolver.function(kernel);
        let facts = host.resolver.facts(kernel.file);
        let mut bound = self.bind(kernel, 0, args);
        if !bound.loose.is_empty() {
            self.place_loose(&mut bound, kernel, args);
        }
        let name = facts.name(function.name);
        let binding = |p: u16| self.kernel_binding(kernel, &bound, p, 4);
        let pointees = effects.pointees.iter().map(|w| (w, true));
        let writes = effects.writes.iter().map(|w| (w, false)).chain(pointees);
        let planned: Vec<(&GuardedWrite, bool, Condition)> = writes.map(|(w, pointee)| (w, pointee, w.when.substitute(&binding))).collect();
        for (write, pointee, when) in planned {
            let param = facts.name(function.params[write.param as usize].name);
            let Some(passed) = &bound.params[write.param as usize] else {
                continue;
            };
            let what = || format!("passed to `{name}` as `{param}`");
            let trail = Trail::after(&write.chain).then(self.passed_at(passed), &what);
            if pointee {
                self.write_pointees(&passed.abs, at, &when, &trail);
            } else {
                self.write(&passed.abs, at, &when, &trail, None);
            }
        }
        for (param, reason) in &effects.unresolved {
            let Some(passed) = &bound.params[*param as usize] else { continue };
            let param = facts.name(function.params[*param as usize].name);
            let what = || format!("passed to `{name}` as `{param}`");
            let trail = Trail::at(self.passed_at(passed), &what);
            self.write(&passed.abs, at, &Condition::True, &trail, Some(&reason.as_str().into()));
        }
        for passed in &bound.loose {
            let what = || format!("passed to `{name}`");
            let reason = "it cannot be told which kernel parameter a starred argument becomes".into();
            self.write(
                &passed.abs,
                at,
                &Condition::True,
                &Trail::at(self.passed_at(passed), &what),
                Some(&reason),
            );
        }
    }

    /// The host tensors whose addresses a kernel stores through.
    pub(super) fn write_pointees(&mut self, table: &Abs, at: ValueId, when: &Condition, trail: &Trail) {
        let mut targets = self.reach(table).pointees;
        for alias in &table.aliases {
            if let Some(inside) = self.load(&alias.root, &Key::Any) {
                targets.extend(inside.pointees);
            }
        }
        // The addresses that a number or a list of them was given as: no tensor to name.
        let given = |alias: &Alias| matches!(alias.root, Root::Param(i) if self.kinds[i as usize] == Kind::Scalar);
        let (given, targets): (Vec<Alias>, Vec<Alias>) = targets.into_iter().partition(given);
        let told = !(given.is_empty() && targets.is_empty());
        for alias in &given {
            let Some(path) = self.path_of(&alias.root) else { continue };
            let when = self.guard(at).and(when.clone());
            self.effect(&Root::State(format!("*{path}").into()), when, None, None, trail);
        }
        if !targets.is_empty() {
            let target = Abs {
                aliases: targets.into(),
                ..Abs::default()
            };
            self.write(&target, at, when, trail, None);
        }
        if told {
            return;
        }
        for alias in &table.aliases {
            let Some(path) = self.path_of(&alias.root) else { continue };
            let when = self.guard(at).and(when.clone());
            self.effect(&Root::State(format!("*{path}").into()), when, None, None, trail);
        }
    }

    /// Starred numbers (`*x.stride()`) shift what follows by an unknown count. Where the tensors among the loose arguments are
    /// as many as the pointers among the open parameters, they go to them in order.
    pub(super) fn place_loose(&self, bound: &mut Bound, kernel: FunctionRef, args: &Arguments) {
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
    pub(super) fn kernel_binding(&self, kernel: FunctionRef, bound: &Bound, param: u16, depth: u32) -> Binding {
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

    /// A function under a launcher decorator launches what it returns. True where all that it returns describes a launch.
    pub(super) fn launch_by_decorator(&mut self, returns: &[Return]) -> bool {
        let mut described_all = false;
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
            described_all = returns.iter().all(|r| described(&r));
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
        described_all
    }

    /// Every parameter that may hold a tensor, by its own name.
    pub(super) fn own_arguments(&self, args: &mut Arguments) {
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
    pub(super) fn own_params(&self, launcher: &Launcher, kernels: &[FunctionRef], args: &mut Arguments) {
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

    pub(super) fn launcher_decorators(&self) -> Vec<(Launcher, Vec<FunctionRef>, Span)> {
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
