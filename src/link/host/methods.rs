//! Methods of tensors, containers and texts; Python's own functions.

use super::super::resolve::Entity;
use super::arguments::{Arguments, Passed};
use super::body::{Run, is_container_method};
use super::calls::is_tensorless;
use super::{Abs, Alias, Key, Root};
use crate::facts::{Const, Op, ValueId};
use std::sync::Arc;

impl Run<'_, '_> {
    /// A method on a value: of a tensor, a container, or something unknown.
    pub(super) fn call_method(&mut self, v: ValueId, object: ValueId, name: &str, args: &Arguments) -> Abs {
        let receiver = Passed {
            abs: self.abs(object).clone(),
            value: Some(object),
            span: self.body.value(object).span,
        };
        let fits = args.positional.len() <= most_arguments(name);
        if is_container_method(name)
            && (fits && self.host.knowledge.torch.method(name).is_none() || self.may_be_container(object, &receiver.abs))
        {
            return self.call_container(&receiver, name, args);
        }
        if receiver.abs.aliases.is_empty() && self.is_text(object) {
            return Abs::default();
        }
        // `module.softmax(workspace, logits, probs, …)`: no method of a tensor that makes a new one takes three more.
        let given = args.positional.iter().filter(|p| !p.abs.aliases.is_empty()).count();
        if let Some(effect) = self.host.knowledge.torch.method(name)
            && !(receiver.abs.aliases.is_empty() && is_tensorless(args))
            && !(given > 2 && effect.params.is_empty())
        {
            return self.call_torch(v, effect, name, args, Some(&receiver));
        }
        if is_tensorless(args) && receiver.abs.aliases.is_empty() {
            for passed in args.positional.iter().chain(args.keyword.iter().map(|(_, p)| p)) {
                self.run_callback(v, passed);
            }
            return Abs::default();
        }
        if self.host.registry.is_harmless(name) {
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

    fn may_be_container(&self, object: ValueId, abs: &Abs) -> bool {
        abs.parts.is_some()
            || matches!(self.body.op(object), Op::List(_) | Op::Dict(_) | Op::Set(_) | Op::Collect(..))
            || abs.objects().any(|root| self.heap.knows(root))
    }

    pub(super) fn is_text(&self, v: ValueId) -> bool {
        matches!(self.body.op(v), Op::Const(Const::Str(_) | Const::Bytes) | Op::Format(_))
    }

    pub(super) fn call_container(&mut self, receiver: &Passed, name: &str, args: &Arguments) -> Abs {
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

    pub(super) fn call_builtin(&mut self, v: ValueId, name: &str, args: &Arguments) -> Abs {
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
                    all.add(Alias::of(root));
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
            // `type(name, bases, attributes)` makes a class that holds them.
            "type" if args.positional.len() == 3 => self.everything(args),
            "type" => Abs::default(),
            "setattr" => {
                if let [object, key, value] = args.positional.as_slice() {
                    let key = match key.value.map(|k| self.body.op(k)) {
                        Some(Op::Const(Const::Str(name))) => Key::Name(self.text(name).into()),
                        _ => Key::Any,
                    };
                    for alias in &object.abs.aliases {
                        self.store(alias.root.clone(), key.clone(), value.abs.clone());
                    }
                }
                Abs::default()
            }
            _ => self.unknown_call(v, None, args, "its definition is not in view"),
        }
    }
}

/// How many positional arguments the method of lists, dicts, sets and texts takes: `cache.update(k, v, layer)` is none of a dict.
fn most_arguments(method: &str) -> usize {
    match method {
        "clear" | "items" | "keys" | "values" | "copy" | "sort" | "reverse" | "lower" | "upper" => 0,
        "append" | "extend" | "remove" | "update" | "add" | "join" | "strip" => 1,
        "insert" | "pop" | "setdefault" | "get" | "split" => 2,
        "index" | "count" | "replace" => 3,
        _ => usize::MAX,
    }
}
