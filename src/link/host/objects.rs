//! Objects: instances that are made or called, what `functools.partial` and the like return.

use super::super::resolve::{ClassRef, Entity, ValueRef};
use super::arguments::{Arguments, Passed};
use super::body::Run;
use super::calls::is_tensorless;
use super::{Abs, Key, Root};
use crate::facts::{ArgKind, Call, CallId, Op, ValueId};
use std::sync::Arc;

impl Run<'_, '_> {
    /// An instance is made: it holds what the constructor gets.
    pub(super) fn construct(&mut self, v: ValueId, class: ClassRef, args: &Arguments) -> Abs {
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
        let everything = Abs {
            parts: None,
            ..self.everything(args)
        };
        if init.is_none() {
            self.fill(&root, class, args);
        }
        if !is_tensorless(args) {
            self.store(root, Key::somewhere(), everything.clone());
            let own = Passed {
                abs: all.clone(),
                value: None,
                span: self.body.value(v).span,
            };
            if let Some(init) = init {
                self.call_function(v, None, init, Some(own), args);
            }
        }
        all.add_all(&everything);
        all
    }

    /// The fields of an instance whose class has no `__init__` in view: a dataclass, a named tuple.
    fn fill(&mut self, root: &Root, class: ClassRef, args: &Arguments) {
        let fields = self.fields(class);
        for (passed, name) in args.positional.iter().zip(fields) {
            self.store(root.clone(), Key::Name(name), passed.abs.clone());
        }
        for (name, passed) in &args.keyword {
            self.store(root.clone(), Key::Name(name.clone()), passed.abs.clone());
        }
    }

    /// Names of a class's annotated fields, in order, those of its bases first.
    fn fields(&self, class: ClassRef) -> Vec<Arc<str>> {
        let mut all: Vec<Arc<str>> = Vec::new();
        for class in self.host.resolver.lineage(class).into_iter().rev() {
            let facts = self.host.resolver.facts(class.file);
            let body = facts.function(facts.classes[class.class.index()].body);
            let annotated = body.assigned.iter().filter_map(|(name, values)| {
                let first = *values.first()?;
                matches!(body.body.op(first), Op::Annotated(..)).then_some((first, *name))
            });
            let mut own: Vec<_> = annotated.collect();
            own.sort_unstable();
            for name in own.into_iter().map(|(_, name)| facts.name(name)) {
                if !all.iter().any(|known| **known == *name) {
                    all.push(name.into());
                }
            }
        }
        all
    }

    /// `obj(…)` for an instance of a class of the project.
    pub(super) fn call_instance(&mut self, v: ValueId, id: CallId, class: ClassRef, call: &Call, args: &Arguments) -> Abs {
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
    pub(super) fn call_made(&mut self, v: ValueId, id: CallId, name: &str, made: ValueRef, args: &Arguments) -> Abs {
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
        let callee = match self.body.op(v) {
            Op::Call(call) => self.body.call(call).callee,
            _ => v,
        };
        let mut held = self.abs(callee).clone();
        held.aliases.to_mut().retain(|a| a.root.is_argument());
        if is_tensorless(args) && held.aliases.is_empty() {
            return Abs::default();
        }
        if name.starts_with("torch.nn.") {
            let place = self.place(v);
            let mut result = self.everything(args).maybe(place);
            result.add_all(&Abs::of(Root::Fresh(v, 0)));
            return result;
        }
        // What it was made with may be written and handed out too.
        let mut all = args.clone();
        if !held.aliases.is_empty() {
            all.positional.push(Passed {
                abs: held,
                value: None,
                span: self.body.value(callee).span,
            });
        }
        self.unknown_call(v, None, &all, "the callee is not in view")
    }
}
