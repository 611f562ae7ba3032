//! Classes: members, bases, what methods assign to `self`.

use super::{Attributes, ClassRef, Entities, Entity, MAX_DEPTH, Resolver, ValueRef, remembered};
use crate::facts::{Op, ParamKind, ValueId};
use crate::program::FunctionRef;
use std::cell::RefCell;
use std::sync::Arc;

/// By convention: `torch.library.Library`, not `torch.empty_like`.
fn is_class_name(path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap_or(path);
    last.trim_start_matches('_').starts_with(char::is_uppercase)
}

/// Members are kept for questions that are this near to the first.
const MEMBERS_KEPT: u32 = 5;

thread_local! {
    /// Attributes whose values are being collected on this thread: `self.x = self.x.next` adds nothing.
    static INSIDE: RefCell<Vec<(ClassRef, Box<str>)>> = const { RefCell::new(Vec::new()) };
}

/// While it lives, an attribute is being collected.
struct Inside;

impl Inside {
    fn enter(class: ClassRef, name: &str) -> Option<Self> {
        INSIDE.with_borrow_mut(|inside| {
            if inside.iter().any(|(c, n)| *c == class && **n == *name) {
                return None;
            }
            inside.push((class, name.into()));
            Some(Self)
        })
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.with_borrow_mut(Vec::pop);
    }
}

/// An attribute is being collected: what is found meanwhile may lack it.
pub(super) fn is_inside_attribute() -> bool {
    INSIDE.with_borrow(|inside| !inside.is_empty())
}

impl Resolver<'_> {
    pub(super) fn collect_attribute(&self, v: ValueRef, object: ValueId, name: &str, depth: u32, out: &mut Entities) {
        let mut objects = Vec::new();
        self.collect(ValueRef { at: v.at, value: object }, depth, &mut objects);
        let before = out.len();
        for entity in objects {
            match entity {
                Entity::External(path) => out.push(Entity::External([&*path, ".", name].concat().into())),
                // Members of what a class makes are the class's; what a function hands back has members of its own.
                Entity::Made(path, _) if is_class_name(&path) => out.push(Entity::External(format!("{path}.{name}").into())),
                Entity::Made(..) => {}
                Entity::Module(file) => out.extend(self.export_at(file, name, depth).iter().cloned()),
                Entity::Namespace(package) => self.collect_module(&format!("{package}.{name}"), false, out),
                Entity::Class(class) => self.collect_known_member(class, name, false, depth, out),
                Entity::Instance(class) => self.collect_known_member(class, name, true, depth, out),
                // `kernel.fn` of an autotuner, `f.__wrapped__`: the function itself.
                Entity::Function(f) | Entity::Bound(f) if matches!(name, "fn" | "__wrapped__" | "_init_fn") => {
                    out.push(Entity::Function(f))
                }
                Entity::Function(_) | Entity::Bound(_) | Entity::Value(_) => {}
            }
        }
        if out.len() == before {
            out.push(Entity::Value(v));
        }
    }

    /// Members of a class by name, base classes included; on an instance also what its methods assign to `self.name`.
    pub(crate) fn members(&self, class: ClassRef, name: &str, instance: bool) -> Entities {
        let mut out = Vec::new();
        self.collect_member(class, name, instance, MAX_DEPTH, &mut out);
        out.sort_unstable();
        out.dedup();
        out
    }

    /// The same as [`Self::collect_member`]: what is asked from near by is asked again and again, and is kept.
    fn collect_known_member(&self, class: ClassRef, name: &str, instance: bool, depth: u32, out: &mut Entities) {
        if depth + MEMBERS_KEPT < MAX_DEPTH || !out.is_empty() || is_inside_attribute() {
            return self.collect_member(class, name, instance, depth, out);
        }
        let asked = (class, instance, depth);
        let known = self.members.read().expect("no panic while locked");
        if let Some(found) = known.get(&asked).and_then(|members| members.get(name)) {
            out.extend(found.iter().cloned());
            return;
        }
        drop(known);
        self.collect_member(class, name, instance, depth, out);
        let mut known = self.members.write().expect("no panic while locked");
        known.entry(asked).or_default().insert(name.into(), Arc::new(out.clone()));
    }

    pub(super) fn collect_member(&self, class: ClassRef, name: &str, instance: bool, depth: u32, out: &mut Entities) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let facts = self.facts(class.file);
        let info = &facts.classes[class.class.index()];
        let body = FunctionRef {
            file: class.file,
            function: info.body,
        };
        if let Some(value) = self.find_name(class.file, name).and_then(|n| facts.function(info.body).binding(n)) {
            let mut found = Vec::new();
            self.collect(ValueRef { at: body, value }, depth, &mut found);
            for entity in found {
                match entity {
                    Entity::Function(f) if self.is_property(f) => {
                        if instance {
                            self.collect_returns(f, depth, out);
                        }
                    }
                    Entity::Function(f) if self.function(f).class.is_some() && binds_first(self, f, instance) => out.push(Entity::Bound(f)),
                    other => out.push(other),
                }
            }
        }
        if instance
            && let Some(values) = self.instance_values(class).get(name)
            && let Some(_inside) = Inside::enter(class, name)
        {
            for value in values {
                self.collect(*value, depth, out);
            }
        }
        if !out.is_empty() {
            return;
        }
        let parent = FunctionRef {
            file: class.file,
            function: info.parent,
        };
        for &base in &info.bases {
            let mut bases = Vec::new();
            let value = self.plain_base(parent, base);
            self.collect(ValueRef { at: parent, value }, depth, &mut bases);
            for entity in bases {
                match entity {
                    Entity::Class(base) if base != class => self.collect_known_member(base, name, instance, depth, out),
                    Entity::External(path) => out.push(Entity::External(format!("{path}.{name}").into())),
                    _ => {}
                }
                if !out.is_empty() {
                    return;
                }
            }
        }
    }

    /// The function that computes an attribute of a class's instances.
    pub(crate) fn property(&self, class: ClassRef, name: &str) -> Option<FunctionRef> {
        self.lineage(class).into_iter().find_map(|class| {
            let facts = self.facts(class.file);
            let at = FunctionRef {
                file: class.file,
                function: facts.classes[class.class.index()].body,
            };
            let value = self
                .find_name(class.file, name)
                .and_then(|n| facts.function(at.function).binding(n))?;
            self.functions(at, value).into_iter().find(|f| self.is_property(*f))
        })
    }

    pub(super) fn is_property(&self, f: FunctionRef) -> bool {
        let parent = self.parent(f);
        self.function(f).decorators.iter().any(|d| {
            matches!(self.body(parent).op(d.value), Op::Free(n) if self.text(f.file, n) == "property")
                || matches!(self.body(parent).op(d.value), Op::Attr(_, n) if self.text(f.file, n) == "cached_property")
                || matches!(self.body(parent).op(d.value), Op::Free(n) if self.text(f.file, n) == "cached_property")
        })
    }

    /// What the methods of a class assign to attributes of `self`.
    pub(super) fn instance_values(&self, class: ClassRef) -> Arc<Attributes> {
        remembered(&self.attributes, class, || self.assigned_to_self(class))
    }

    fn assigned_to_self(&self, class: ClassRef) -> Attributes {
        let facts = self.facts(class.file);
        let body = facts.classes[class.class.index()].body;
        let mut map = Attributes::default();
        for (id, method) in facts.functions().filter(|(_, f)| f.parent == body && f.class.is_some()) {
            let at = FunctionRef {
                file: class.file,
                function: id,
            };
            for (_, value) in method.body.iter() {
                if let Op::SetAttr(object, name, assigned) = value.op
                    && method.body.op(object) == Op::Param(0)
                {
                    map.entry(facts.name(name).into())
                        .or_default()
                        .push(ValueRef { at, value: assigned });
                }
            }
        }
        map
    }

    /// What the methods of a class assign to one attribute of `self`.
    pub(crate) fn attribute_values(&self, class: ClassRef, name: &str) -> Vec<ValueRef> {
        self.instance_values(class).get(name).cloned().unwrap_or_default()
    }

    /// The classes that a class derives from, itself first, in order of lookup, without those outside the project.
    pub(crate) fn lineage(&self, class: ClassRef) -> Vec<ClassRef> {
        (*self.known_lineage(class)).clone()
    }

    fn known_lineage(&self, class: ClassRef) -> Arc<Vec<ClassRef>> {
        if is_inside_attribute() {
            return Arc::new(self.find_lineage(class));
        }
        remembered(&self.lineages, class, || self.find_lineage(class))
    }

    fn find_lineage(&self, class: ClassRef) -> Vec<ClassRef> {
        let mut line = vec![class];
        let mut next = 0;
        while next < line.len() && line.len() < 64 {
            for base in self.known_bases(line[next]).iter() {
                if let &Entity::Class(base) = base
                    && !line.contains(&base)
                {
                    line.push(base);
                }
            }
            next += 1;
        }
        line
    }

    /// What the bases of a class refer to.
    pub(crate) fn bases(&self, class: ClassRef) -> Entities {
        (*self.known_bases(class)).clone()
    }

    fn known_bases(&self, class: ClassRef) -> Arc<Entities> {
        if is_inside_attribute() {
            return Arc::new(self.find_bases(class));
        }
        remembered(&self.bases, class, || self.find_bases(class))
    }

    fn find_bases(&self, class: ClassRef) -> Entities {
        let info = &self.facts(class.file).classes[class.class.index()];
        let at = FunctionRef {
            file: class.file,
            function: info.parent,
        };
        let bases = info.bases.iter().map(|&base| self.plain_base(at, base));
        bases.flat_map(|base| self.entities(at, base)).collect()
    }

    /// `Base` of `Base[T]`.
    fn plain_base(&self, at: FunctionRef, base: ValueId) -> ValueId {
        match self.body(at).op(base) {
            Op::Index(object, _) => object,
            _ => base,
        }
    }

    /// Whether a class derives, at any depth, from something outside with this dotted name.
    pub(crate) fn derives_from(&self, class: ClassRef, accept: impl Fn(&str) -> bool) -> bool {
        self.known_lineage(class).iter().any(|&c| {
            self.known_bases(c)
                .iter()
                .any(|b| matches!(b, Entity::External(name) if accept(name)))
        })
    }
}

/// Whether looking a function up on an instance (or, without `instance`, on the class) binds its first parameter.
pub(super) fn binds_first(resolver: &Resolver<'_>, f: FunctionRef, instance: bool) -> bool {
    if resolver.has_plain_decorator(f, "staticmethod")
        || resolver.function(f).params.first().is_none_or(|p| p.kind == ParamKind::KeywordOnly)
    {
        return false;
    }
    instance || resolver.has_plain_decorator(f, "classmethod")
}
