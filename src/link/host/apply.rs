//! A callee's summary in the words of the body that calls it.

use super::super::conditions::{Binding, Condition};
use super::arguments::{Bound, Passed};
use super::body::Run;
use super::writes::Trail;
use super::{Abs, Alias, Key, Root, Summary};
use crate::facts::{ParamKind, ValueId};
use crate::program::FunctionRef;
use crate::source::Place;
use std::sync::Arc;

impl<'a> Run<'_, 'a> {
    /// A callee's effects in the words of this body; its result.
    pub(super) fn apply(&mut self, v: ValueId, f: FunctionRef, summary: &Summary, bound: &Bound) -> Abs {
        let name = self.host.resolver.text(f.file, self.host.resolver.function(f).name);
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
            let what;
            let mut trail = Trail::after(&effect.chain);
            if let Some((place, param)) = passed {
                what = move || format!("passed to `{name}` as `{param}`");
                trail = trail.then(place, &what);
            }
            self.write(&target, v, &when, &trail, effect.unknown.as_ref());
            if target.aliases.is_empty()
                && let Root::State(path) = &effect.root
                && path.starts_with('*')
            {
                let when = self.guard(v).and(when);
                let trail = Trail::after(&effect.chain);
                self.effect(&effect.root, when, effect.maybe, effect.unknown.clone(), &trail);
            }
        }
        let hit = summary.effects.iter().any(|e| matches!(e.root, Root::Param(_) | Root::Part(..)));
        for passed in bound.loose.iter().filter(|_| hit) {
            let what = || format!("passed to `{name}`");
            let reason = "it cannot be told which parameter a starred argument becomes".into();
            self.write(
                &passed.abs,
                v,
                &Condition::True,
                &Trail::at(self.passed_at(passed), &what),
                Some(&reason),
            );
        }
        let mut result: Option<Abs> = None;
        for returned in &summary.returns {
            if returned.when.substitute(&|p| self.param_binding(f, bound, p)).value() == Some(false) {
                continue;
            }
            let one = self.translate_abs(v, f, bound, &returned.abs);
            result = Some(match result {
                Some(r) => r.join(&one),
                None => one,
            });
        }
        for handed in &summary.handed {
            let (made, _) = self.translate(v, f, bound, &handed.root);
            let value = self.translate_abs(v, f, bound, &handed.abs);
            for alias in &made.aliases {
                if let Root::Fresh(site, n) = alias.root {
                    // What was made before this call was no container so far.
                    self.heap.stale |= self.containers.insert((site, n)) && site != v;
                }
                self.store(alias.root.clone(), handed.key.clone(), value.clone());
            }
        }
        result.unwrap_or_default()
    }

    pub(super) fn param_binding(&self, f: FunctionRef, bound: &Bound, p: u16) -> Binding {
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
    fn translate(&mut self, v: ValueId, f: FunctionRef, bound: &Bound, root: &Root) -> (Abs, Option<(Place, &'a str)>) {
        let resolver = self.host.resolver;
        let params = &resolver.function(f).params;
        let file = self.f.file;
        match root {
            Root::Param(p) => {
                let name = resolver.text(f.file, params[*p as usize].name);
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
                let name = resolver.text(f.file, params[*p as usize].name);
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
                            if value >= v {
                                self.read_early.insert(value);
                            }
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

    pub(super) fn all_of<'x>(&self, passed: impl Iterator<Item = &'x Passed>) -> Abs {
        let mut all = Abs::default();
        passed.for_each(|p| all.add_all(&p.abs));
        all
    }

    /// A callee's `self.cache[0]` in the words of this body.
    pub(super) fn translate_path(&self, f: FunctionRef, bound: &Bound, path: &str) -> Abs {
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
        let attribute = rest.strip_prefix('.').map(|r| r.split(['.', '[']).next().unwrap_or(r));
        let key = attribute.filter(|_| star.is_empty()).map(|name| Key::Name(name.into()));
        let held = self.held(&passed.abs);
        let is_field = !held.is_empty() && key.as_ref().is_some_and(|key| self.has_field(&passed.abs, key));
        for alias in &passed.abs.aliases {
            if held.has(&alias.root) && (is_field || alias.root.is_argument()) {
                if !is_field {
                    all.add(Alias {
                        known: false,
                        ..alias.clone()
                    });
                }
                continue;
            }
            if let Some(inside) = key.as_ref().and_then(|key| self.load(&alias.root, key)) {
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

    pub(super) fn translate_abs(&mut self, v: ValueId, f: FunctionRef, bound: &Bound, abs: &Abs) -> Abs {
        let mut out = Abs {
            none: abs.none,
            mixed: abs.mixed,
            ..Abs::default()
        };
        for alias in &abs.aliases {
            let when = alias.when.substitute(&|p| self.param_binding(f, bound, p));
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
            let (mut target, _) = self.translate(v, f, bound, &alias.root);
            // A list of addresses stands for what they point to.
            let held = self.reach(&target).pointees;
            if !held.is_empty() {
                target.aliases = held.into();
            }
            for alias in &target.aliases {
                if !out.pointees.iter().any(|a| a.root == alias.root) {
                    out.pointees.push(alias.clone());
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
}
