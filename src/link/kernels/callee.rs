//! What a call inside a kernel calls.

use super::flow::Flow;
use super::summary::Analysis;
use crate::facts::{Body, Call, Const, Name, Op, StatementKind, ValueId};
use crate::knowledge::triton::{Derived, Effect};
use crate::link::resolve::{ClassRef, Entity};
use crate::program::FunctionRef;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

/// One meaning of a callee.
#[derive(Clone, Debug)]
pub(super) enum Callee<'k> {
    /// Knowledge has its effect.
    Known(&'k Effect),
    /// A method of a tensor, pointer or descriptor: its effect and the object.
    Method(&'k Effect, ValueId),
    /// It computes with numbers: no argument is an address.
    Numbers,
    /// Nothing is written, and the result is no address.
    Pure,
    /// A function of the project, with the object when it is a method of one.
    Project(FunctionRef, Option<ValueId>),
    /// A class of the project: an object of its arguments.
    Class(ClassRef),
    /// A function that is handed in as this parameter.
    Parameter(u16),
    /// Something that cannot be followed, by name.
    Unknown(Arc<str>),
    /// A method that knowledge does not have: its object and name.
    UnknownMethod(ValueId, Arc<str>),
}

/// Methods of one name that an object of unknown class may have.
const MOST_METHODS: usize = 4;

/// Callees of `triton.language` whose arguments may be anything.
const ANYTHING: &[&str] = &[
    "static_print",
    "static_assert",
    "device_print",
    "device_assert",
    "assume",
    "debug_barrier",
    "zeros_like",
    "builtins.",
    "slice",
    "print",
];

impl<'k> Flow<'_, '_, 'k> {
    /// What a call calls.
    pub(super) fn callees(&mut self, id: ValueId, call: &Call) -> Rc<Vec<Callee<'k>>> {
        if let Some(known) = self.called.get(&id) {
            return known.clone();
        }
        let found = Rc::new(self.find_callees(call));
        self.called.insert(id, found.clone());
        found
    }

    /// Whether a call is `tl.constexpr(…)` or `bool(…)`, `int(…)`.
    pub(super) fn is_constexpr(&self, call: ValueId) -> bool {
        let Some(callees) = self.called.get(&call) else { return false };
        matches!(callees.as_slice(), [Callee::Known(e)] if e.params.first().is_some_and(|p| **p == *"value") && e.result == Derived::From(vec![0]))
    }

    fn find_callees(&mut self, call: &Call) -> Vec<Callee<'k>> {
        let body = self.body;
        let mut names = Vec::new();
        let mut root = call.callee;
        while let Op::Attr(object, name) = body.op(root) {
            names.push(name);
            root = object;
        }
        match (body.op(root), body.op(call.callee)) {
            (Op::Param(p), Op::Param(_)) => vec![Callee::Parameter(p)],
            (Op::Free(name), _) => self.by_name(name, &names, call.callee),
            (Op::Import(_), _) | (_, Op::Select(..) | Op::Phi(_) | Op::Or(_) | Op::Function(_)) => {
                let entities = self.resolver().entities(self.f, call.callee);
                self.analysis.meanings(entities, &names_text(self, &names, call.callee))
            }
            (_, Op::Attr(object, name)) => self.method(object, name),
            _ => vec![Callee::Unknown("a computed function".into())],
        }
    }

    /// A callee that is a name outside the function, or an attribute of one: looked up once per module.
    fn by_name(&mut self, root: Name, names: &[Name], callee: ValueId) -> Vec<Callee<'k>> {
        let mut hasher = FxHasher::default();
        (root, names).hash(&mut hasher);
        let key = (self.f.file, self.resolver().function(self.f).parent, hasher.finish());
        if let Some(known) = self.analysis.named.get(&key) {
            return known.clone();
        }
        let entities = self.resolver().entities(self.f, callee);
        let found = self.analysis.meanings(entities, &names_text(self, names, callee));
        self.analysis.named.insert(key, found.clone());
        found
    }

    fn method(&mut self, object: ValueId, name: Name) -> Vec<Callee<'k>> {
        let text = self.text(name);
        let class = self.classes.get(&object).copied();
        let mut members = class.map(|c| self.resolver().members(c, text, true)).unwrap_or_default();
        if class.is_none() && matches!(self.body.op(object), Op::Param(_)) {
            for entity in self.resolver().entities(self.f, object) {
                if let Entity::Instance(class) = entity {
                    members.extend(self.resolver().members(class, text, true));
                }
            }
        }
        let mut found = Vec::new();
        for entity in members {
            match entity {
                Entity::Bound(f) => found.push(self.analysis.function(f, Some(object))),
                Entity::Function(f) => found.push(self.analysis.function(f, None)),
                _ => {}
            }
        }
        if !found.is_empty() {
            return found;
        }
        match self.analysis.triton.method(text) {
            Some(effect) => vec![Callee::Method(effect, object)],
            None => match self.analysis.methods.get(text) {
                // an object whose class is not known: every class that has such a method
                Some(methods) if methods.len() <= MOST_METHODS => methods.iter().map(|&f| Callee::Project(f, Some(object))).collect(),
                Some(_) | None => vec![Callee::UnknownMethod(object, text.into())],
            },
        }
    }
}

fn names_text(flow: &Flow, names: &[Name], callee: ValueId) -> Arc<str> {
    match (names.first(), flow.body.op(callee)) {
        (Some(&last), _) | (None, Op::Free(last)) => flow.text(last).into(),
        _ => "a computed function".into(),
    }
}

impl<'k> Analysis<'_, 'k> {
    /// What the meanings of a name are as callees.
    pub(super) fn meanings(&mut self, entities: Vec<Entity>, name: &Arc<str>) -> Vec<Callee<'k>> {
        let mut found = Vec::new();
        let mut others = false;
        for entity in entities {
            match entity {
                Entity::External(path) => match self.vendored(&path) {
                    Some(inner) => found.extend(self.meanings(inner, name)),
                    None => found.push(self.external(&path)),
                },
                Entity::Function(f) | Entity::Bound(f) => found.push(self.function(f, None)),
                Entity::Class(class) => found.push(Callee::Class(class)),
                // `f = None` where an import fails, a placeholder's attribute
                Entity::Value(v) if matches!(self.resolver.body(v.at).op(v.value), Op::Const(Const::None)) => others = true,
                Entity::Value(_) | Entity::Made(..) | Entity::Instance(_) | Entity::Module(_) | Entity::Namespace(_) => others = true,
            }
        }
        if found.is_empty() && others || found.is_empty() {
            found.push(Callee::Unknown(name.clone()));
        }
        found
    }

    /// A name of a package that the project holds a copy of (`third_party/triton_kernels`) and imports by its own name.
    fn vendored(&self, path: &str) -> Option<Vec<Entity>> {
        let prefix = self.copies.get(path.split('.').next()?)?;
        let (module, member) = path.rsplit_once('.')?;
        let file = self.resolver.modules.file(&format!("{prefix}.{module}"))?;
        let mut found = (*self.resolver.export(file, member)).clone();
        found.retain(|e| !matches!(e, Entity::External(p) if **p == *path));
        Some(found).filter(|f| !f.is_empty())
    }

    fn external(&self, path: &Arc<str>) -> Callee<'k> {
        if path.starts_with("triton.") && path.ends_with(".constexpr_function") {
            return Callee::Pure;
        }
        match self.triton.function(path) {
            None => Callee::Unknown(path.clone()),
            Some(effect) if *effect == Effect::default() => {
                let last = path.rsplit('.').next().unwrap_or(path);
                if ANYTHING.iter().any(|a| *a == last || a.ends_with('.') && path.starts_with(a)) {
                    Callee::Pure
                } else {
                    Callee::Numbers
                }
            }
            Some(effect) => Callee::Known(effect),
        }
    }

    /// A function of the project: constexpr functions compute at compile time, an empty stand-in for a descriptor maker is the real one.
    fn function(&self, f: FunctionRef, object: Option<ValueId>) -> Callee<'k> {
        let function = self.resolver.function(f);
        let parent = super::at(f.file, function.parent);
        let is_constexpr = function.decorators.iter().any(|d| {
            self.resolver
                .external_where(parent, d.value, |n| n.ends_with(".constexpr_function"))
                .is_some()
        });
        if is_constexpr {
            return Callee::Pure;
        }
        if let Some(effect) = self.triton.makes_descriptor(self.resolver.text(f.file, function.name))
            && is_stub(&function.body)
        {
            return Callee::Known(effect);
        }
        Callee::Project(f, object)
    }
}

/// A body that does nothing.
fn is_stub(body: &Body) -> bool {
    body.statements.iter().all(|s| {
        matches!(
            s.kind,
            StatementKind::Pass | StatementKind::Text | StatementKind::Return | StatementKind::Expression
        )
    }) && body.calls.is_empty()
        && body.iter().all(|(_, v)| match v.op {
            Op::Return(x) => matches!(body.op(x), Op::Const(_)),
            _ => true,
        })
}
