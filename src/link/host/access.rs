//! Reading from a value: attributes, indices, elements, parts.

use super::super::resolve::Entity;
use super::super::types::Kind;
use super::arguments::{Arguments, Passed};
use super::body::Run;
use super::{Abs, Alias, Key, Root};
use crate::facts::{Const, Name, Op, ParamKind, ValueId};
use crate::knowledge::torch::Attribute;
use crate::program::FunctionRef;
use std::sync::Arc;

impl Run<'_, '_> {
    pub(super) fn attribute(&mut self, v: ValueId, object: ValueId, name: Name) -> Abs {
        let abs = self.abs(object).clone();
        let name: Arc<str> = self.text(name).into();
        if abs.aliases.is_empty() {
            return Abs::default();
        }
        let key = Key::Name(name.clone());
        let held = self.held(&abs);
        let is_field = !held.is_empty() && self.has_field(&abs, &key);
        if !held.is_empty()
            && !is_field
            && let Some(getter) = self.property(object, &name)
        {
            let receiver = Passed {
                abs,
                value: Some(object),
                span: self.body.value(object).span,
            };
            return self.call_function(v, None, getter, Some(receiver), &Arguments::default());
        }
        let of_tensor = self.host.knowledge.torch.attribute(&name);
        let of_call = matches!(self.body.op(object), Op::Call(_));
        let mut all = Abs::default();
        for alias in &abs.aliases {
            let with = |root: Root| Alias { root, ..alias.clone() };
            let path = self.path_of(&alias.root);
            let object = matches!(alias.root, Root::Param(i) if matches!(self.kinds[i as usize], Kind::Object(_) | Kind::Foreign));
            let tensor = matches!(alias.root, Root::Param(i) if matches!(self.kinds[i as usize], Kind::Tensor | Kind::Tensors));
            let inside = held.has(&alias.root) && (is_field || alias.root.is_argument());
            if inside || of_tensor.is_none() && of_call && tensor {
                // Not an attribute of what lies in the object: what the object's own attribute shares is not in view.
                if !is_field && of_tensor != Some(Attribute::Scalar) {
                    all.add(Alias {
                        known: false,
                        ..alias.clone()
                    });
                }
                continue;
            }
            if let Some(inside) = self.load(&alias.root, &key) {
                all.add_all(&inside.when(&alias.when));
                if matches!(alias.root, Root::Fresh(..)) {
                    continue;
                }
            }
            match of_tensor {
                Some(Attribute::Scalar) if !object => {}
                Some(Attribute::View) if !object => all.add(alias.clone()),
                _ => match path {
                    Some(path) => all.add(with(Root::below(&path, &format!(".{name}")))),
                    // What it shares of what lies in the object is said above.
                    None if !held.is_empty() && self.heap.knows(&alias.root) => all.add(with(Root::Fresh(v, 0))),
                    None => all.add(alias.clone()),
                },
            }
        }
        all
    }

    /// What computes `plan.rows`, where the class of `plan` does.
    fn property(&self, object: ValueId, name: &str) -> Option<FunctionRef> {
        let classes = self.host.resolver.entities(self.f, object);
        let class = classes
            .into_iter()
            .find_map(|e| if let Entity::Instance(class) = e { Some(class) } else { None })?;
        self.host.resolver.property(class, name)
    }

    /// The dotted path by which memory outside the function is reached.
    pub(super) fn path_of(&self, root: &Root) -> Option<Arc<str>> {
        match root {
            Root::Param(i) | Root::Part(i, _) => Some(self.text(self.function.params[*i as usize].name).into()),
            Root::State(path) => Some(path.clone()),
            Root::Capture(name) => Some(self.text(*name).into()),
            Root::Fresh(..) => None,
        }
    }

    pub(super) fn is_tensor(&self, v: ValueId) -> bool {
        let abs = self.abs(v);
        !abs.aliases.is_empty()
            && abs.aliases.iter().all(|a| match &a.root {
                Root::Param(i) => self.kinds[*i as usize] == Kind::Tensor,
                Root::Fresh(v, n) => !self.containers.contains(&(*v, *n)),
                Root::Part(..) | Root::State(_) | Root::Capture(_) => false,
            })
    }

    pub(super) fn index(&mut self, _v: ValueId, object: ValueId, index: ValueId) -> Abs {
        let key = match self.body.op(index) {
            Op::Const(Const::Int(i)) => {
                if let Some(parts) = &self.abs(object).parts {
                    let at = if i < 0 { parts.len() as i64 + i64::from(i) } else { i.into() };
                    if let Some(part) = usize::try_from(at).ok().and_then(|at| parts.get(at)) {
                        return part.clone();
                    }
                }
                u32::try_from(i).map_or(Key::Any, Key::Index)
            }
            Op::Const(Const::Str(name)) => Key::Name(self.text(name).into()),
            _ => Key::Any,
        };
        // Indexing with a tensor copies; with a tuple that holds one, too.
        if self.picks_by_tensor(index) {
            return Abs::of(Root::Fresh(object, 9));
        }
        let abs = self.abs(object).clone();
        let unsure = !self.abs(index).aliases.is_empty();
        let picked = self.element(&abs, &key);
        if unsure { picked.maybe(self.place(index)) } else { picked }
    }

    pub(super) fn picks_by_tensor(&self, index: ValueId) -> bool {
        match self.body.op(index) {
            Op::Tuple(items) => self.body.items(items).iter().any(|&i| self.is_tensor(i)),
            _ => self.is_tensor(index),
        }
    }

    /// What lies in a value at a key.
    pub(super) fn element(&self, abs: &Abs, key: &Key) -> Abs {
        if let (Some(parts), Key::Any) = (&abs.parts, key) {
            return parts.iter().cloned().reduce(|a, b| a.join(&b)).unwrap_or_default();
        }
        let mut all = Abs {
            pointees: abs.pointees.clone(),
            ..Abs::default()
        };
        for alias in &abs.aliases {
            match self.load(&alias.root, key) {
                Some(inside) => {
                    all.add_all(&inside.when(&alias.when));
                    if self.is_container(&alias.root) {
                        continue;
                    }
                }
                None if self.is_container(&alias.root) => continue,
                None => {}
            }
            let object = matches!(alias.root, Root::Param(i) if matches!(self.kinds[i as usize], Kind::Object(_) | Kind::Foreign));
            let root = match (&alias.root, key) {
                (Root::State(path), Key::Index(i)) => Root::below(path, &format!("[{i}]")),
                (Root::Param(p), Key::Index(i)) if self.function.params[*p as usize].kind == ParamKind::Star => {
                    Root::Part(*p, Key::Index(*i))
                }
                (Root::Param(p), Key::Name(k)) if self.function.params[*p as usize].kind == ParamKind::StarStar => {
                    Root::Part(*p, Key::Name(k.clone()))
                }
                (root, _) if object => match self.path_of(root) {
                    Some(path) => Root::below(&path, "[]"),
                    None => root.clone(),
                },
                (root, _) => root.clone(),
            };
            all.add(Alias { root, ..alias.clone() });
        }
        all
    }

    pub(super) fn iterate(&mut self, x: ValueId) -> Abs {
        if let Op::Call(call) = self.body.op(x) {
            let call = self.body.call(call);
            let callee = self.host.resolver.external(self.f, call.callee);
            let each = |run: &Self| {
                call.args
                    .iter()
                    .map(|a| run.element(run.abs(a.value), &Key::Any).anywhere())
                    .collect::<Vec<_>>()
            };
            match callee.as_deref() {
                Some("builtins.zip" | "itertools.zip_longest" | "itertools.product") => return tuple(each(self)),
                Some("builtins.enumerate") => {
                    let mut parts = vec![Abs::default()];
                    parts.extend(each(self).into_iter().take(1));
                    return tuple(parts);
                }
                _ => {}
            }
            if let Op::Attr(object, name) = self.body.op(call.callee)
                && self.text(name) == "items"
            {
                return tuple(vec![Abs::default(), self.element(self.abs(object), &Key::Any).anywhere()]);
            }
        }
        self.element(self.abs(x), &Key::Any).anywhere()
    }

    pub(super) fn unpack(&mut self, value: ValueId, index: u16, rest: bool) -> Abs {
        let abs = self.abs(value);
        if let Some(parts) = &abs.parts {
            if rest {
                return parts
                    .iter()
                    .skip(index as usize)
                    .cloned()
                    .reduce(|a, b| a.join(&b))
                    .unwrap_or_default();
            }
            if let Some(part) = parts.get(index as usize) {
                return part.clone();
            }
        }
        // Parts of a result that was made as a tuple are told apart.
        if let [
            Alias {
                root: Root::Fresh(v, 0), ..
            },
        ] = abs.aliases.as_slice()
            && !self.containers.contains(&(*v, 0))
        {
            return Abs::of(Root::Fresh(*v, index + 16));
        }
        let key = if rest { Key::Any } else { Key::Index(index.into()) };
        self.element(abs, &key)
    }
}

pub(super) fn tuple(parts: Vec<Abs>) -> Abs {
    let mut all = Abs::default();
    parts.iter().for_each(|p| all.add_all(p));
    Abs {
        parts: Some(Arc::new(parts)),
        ..all
    }
}
