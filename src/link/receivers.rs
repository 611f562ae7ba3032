//! What an object may be, as far as names, assignments and annotations tell: whose methods a call of one of its methods may run.
//!
//! Unlike the resolver this trusts annotations of results and attributes, and an annotation names a base class as often as
//! the class itself. Good for asking who may call a method; too weak for asking what a call does.

use super::modules::absolute;
use super::resolve::{ClassRef, Entity, Resolver, ValueRef};
use crate::facts::{Const, MODULE, Op, ParamKind, ValueId};
use crate::program::FunctionRef;
use crate::source::FileId;
use std::cell::Cell;
use std::sync::Arc;

/// One thing that a value may be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Object {
    /// An instance of a class of the project, or of one under it.
    Instance(ClassRef),
    /// A class of the project, or one under it.
    Class(ClassRef),
    /// An instance of a class from elsewhere.
    Outside(Arc<str>),
    /// Something that has a meaning, but no methods of the project.
    Other,
}

/// What a value may be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    /// The possibilities that are known.
    pub(crate) known: Vec<Object>,
    /// It may be something else.
    pub(crate) open: bool,
}

/// Values, annotations and callees are followed this deep together.
const DEPTH: u32 = 16;
/// Values looked at for one answer, at most.
const STEPS: u32 = 200;

/// What a value may be.
pub(crate) fn objects(resolver: &Resolver<'_>, at: FunctionRef, value: ValueId) -> Objects {
    let steps = Cell::new(STEPS);
    let mut look = Look {
        resolver,
        steps: &steps,
        found: Objects::default(),
    };
    look.value(ValueRef { at, value }, DEPTH);
    let mut found = look.found;
    found.known.sort_unstable();
    found.known.dedup();
    found
}

struct Look<'r, 'a> {
    resolver: &'r Resolver<'a>,
    /// Values that may still be looked at.
    steps: &'r Cell<u32>,
    found: Objects,
}

impl Look<'_, '_> {
    fn value(&mut self, v: ValueRef, depth: u32) {
        let (Some(depth), Some(steps)) = (depth.checked_sub(1), self.steps.get().checked_sub(1)) else {
            self.found.open = true;
            return;
        };
        self.steps.set(steps);
        let entities = self.resolver.entities(v.at, v.value);
        if self.is_inherited(v, &entities, depth) {
            return self.unnamed(v, depth);
        }
        for entity in entities {
            let object = match entity {
                Entity::Instance(class) => Object::Instance(class),
                Entity::Class(class) => Object::Class(class),
                Entity::Made(path, _) if names_class(&path) => Object::Outside(path),
                Entity::External(_) | Entity::Module(_) | Entity::Namespace(_) | Entity::Function(_) | Entity::Bound(_) => Object::Other,
                Entity::Value(inner) => {
                    self.unnamed(inner, depth);
                    continue;
                }
                Entity::Made(path, made) if &*path == "typing.cast" => {
                    self.unnamed(made, depth);
                    continue;
                }
                Entity::Made(..) => {
                    self.found.open = true;
                    continue;
                }
            };
            self.found.known.push(object);
        }
    }

    /// An attribute of an object of the project that is looked for in a base class from elsewhere, for want of an assignment.
    fn is_inherited(&self, v: ValueRef, entities: &[Entity], depth: u32) -> bool {
        let Op::Attr(object, _) = self.resolver.body(v.at).op(v.value) else {
            return false;
        };
        entities.iter().all(|e| matches!(e, Entity::External(_)))
            && self.inner(v.at, object, depth).iter().any(|o| matches!(o, Object::Instance(_)))
    }

    /// A value that refers to nothing by name.
    fn unnamed(&mut self, v: ValueRef, depth: u32) {
        let resolver = self.resolver;
        let body = resolver.body(v.at);
        match body.op(v.value) {
            Op::Const(_)
            | Op::Format(_)
            | Op::Tuple(_)
            | Op::List(_)
            | Op::Set(_)
            | Op::Dict(_)
            | Op::Collect(..)
            | Op::Compare(..)
            | Op::Slice(..)
            | Op::Undefined => {
                self.found.known.push(Object::Other);
                return;
            }
            _ => {}
        }
        let annotations = self.annotations(v, depth);
        if annotations.is_empty() {
            match body.op(v.value) {
                Op::Call(call) => self.made(v, body.call(call).callee, depth),
                Op::Attr(object, name) => self.assigned(v.at, object, resolver.text(v.at.file, name), depth),
                _ => self.found.open = true,
            }
        }
        for annotation in annotations {
            self.annotated(annotation, depth);
        }
    }

    /// What a call of something that is no named function makes: an instance, where the callee may be a class.
    fn made(&mut self, v: ValueRef, callee: ValueId, depth: u32) {
        let mut inner = Look {
            resolver: self.resolver,
            steps: self.steps,
            found: Objects::default(),
        };
        inner.value(ValueRef { at: v.at, value: callee }, depth);
        let mut any = false;
        for object in inner.found.known {
            if let Object::Class(class) = object {
                any = true;
                self.found.known.push(Object::Instance(class));
            }
        }
        self.found.open |= !any || inner.found.open;
    }

    /// What the methods of an object's classes assign to an attribute.
    fn assigned(&mut self, at: FunctionRef, object: ValueId, name: &str, depth: u32) {
        let mut values: Vec<ValueRef> = Vec::new();
        for object in self.inner(at, object, depth) {
            let (Object::Instance(class) | Object::Class(class)) = object else {
                continue;
            };
            let lineage = self.resolver.lineage(class).into_iter();
            values.extend(lineage.flat_map(|class| self.resolver.attribute_values(class, name)));
        }
        self.found.open |= values.is_empty();
        for value in values {
            self.value(value, depth);
        }
    }

    /// Annotations that speak of a value.
    fn annotations(&self, v: ValueRef, depth: u32) -> Vec<ValueRef> {
        let (Some(depth), Some(steps)) = (depth.checked_sub(1), self.steps.get().checked_sub(1)) else {
            return Vec::new();
        };
        self.steps.set(steps);
        let resolver = self.resolver;
        let body = resolver.body(v.at);
        match body.op(v.value) {
            Op::Param(i) => {
                let annotation = resolver.function(v.at).params.get(i as usize).and_then(|p| p.annotation);
                let value = annotation.map(|a| ValueRef {
                    at: resolver.parent(v.at),
                    value: a.value,
                });
                value.into_iter().collect()
            }
            Op::Annotated(value, _) => vec![ValueRef { at: v.at, value }],
            Op::Call(call) => {
                let call = body.call(call);
                let is_cast = resolver.spoken(v.at, call.callee) == Some("cast")
                    && resolver.external(v.at, call.callee).is_some_and(|n| &*n == "typing.cast");
                match call.args.first().filter(|_| is_cast) {
                    Some(arg) => vec![ValueRef {
                        at: v.at,
                        value: arg.value,
                    }],
                    None => self.results(v.at, call.callee, depth),
                }
            }
            Op::Attr(object, name) => self.attributes(v.at, object, resolver.text(v.at.file, name), depth),
            Op::Unpack { value, index, rest: false } => {
                let whole = self.annotations(ValueRef { at: v.at, value }, depth);
                whole.into_iter().filter_map(|a| self.part(a, Some(index))).collect()
            }
            Op::Iterate(value) | Op::Index(value, _) => {
                let whole = self.annotations(ValueRef { at: v.at, value }, depth);
                whole.into_iter().filter_map(|a| self.part(a, None)).collect()
            }
            Op::Suspend(value) | Op::Star(value) | Op::Enter(value) => self.annotations(ValueRef { at: v.at, value }, depth),
            Op::Free(_) | Op::Import(_) => self.bound(v).map(|v| self.annotations(v, depth)).unwrap_or_default(),
            Op::Select(_, a, b) => [a, b]
                .into_iter()
                .flat_map(|value| self.annotations(ValueRef { at: v.at, value }, depth))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The value that a global is bound to, or that an imported name is bound to in its module.
    fn bound(&self, v: ValueRef) -> Option<ValueRef> {
        let resolver = self.resolver;
        let in_module = |file: FileId, name: &str| {
            let value = resolver.facts(file).module().binding(resolver.find_name(file, name)?)?;
            let at = FunctionRef { file, function: MODULE };
            Some(ValueRef { at, value })
        };
        let file = v.at.file;
        match resolver.body(v.at).op(v.value) {
            Op::Free(name) => in_module(file, resolver.text(file, name)).filter(|bound| *bound != v),
            Op::Import(import) => {
                let import = &resolver.facts(file).imports[import.index()];
                let module = absolute(&resolver.files[file.index()], import.level, resolver.text(file, import.module))?;
                let home = resolver.modules.file(&module).filter(|home| *home != file)?;
                in_module(home, resolver.text(file, import.member?))
            }
            _ => None,
        }
    }

    /// Return annotations of what a callee may be.
    fn results(&self, at: FunctionRef, callee: ValueId, depth: u32) -> Vec<ValueRef> {
        let resolver = self.resolver;
        let mut functions = resolver.functions(at, callee);
        if functions.is_empty()
            && let Op::Attr(object, name) = resolver.body(at).op(callee)
        {
            functions = self.methods(at, object, resolver.text(at.file, name), depth);
        }
        let result = |f: FunctionRef| {
            let annotation = resolver.function(f).returns?;
            Some(ValueRef {
                at: resolver.parent(f),
                value: annotation.value,
            })
        };
        functions.into_iter().filter_map(result).collect()
    }

    fn methods(&self, at: FunctionRef, object: ValueId, name: &str, depth: u32) -> Vec<FunctionRef> {
        let mut found = Vec::new();
        for object in self.inner(at, object, depth) {
            let members = match object {
                Object::Instance(class) => self.resolver.members(class, name, true),
                Object::Class(class) => self.resolver.members(class, name, false),
                Object::Outside(_) | Object::Other => continue,
            };
            found.extend(members.into_iter().filter_map(|e| match e {
                Entity::Function(f) | Entity::Bound(f) => Some(f),
                _ => None,
            }));
        }
        found
    }

    fn inner(&self, at: FunctionRef, value: ValueId, depth: u32) -> Vec<Object> {
        let mut look = Look {
            resolver: self.resolver,
            steps: self.steps,
            found: Objects::default(),
        };
        look.value(ValueRef { at, value }, depth);
        look.found.known
    }

    /// Annotations of an attribute: in the class body, or where a method assigns it; and of a property's result.
    fn attributes(&self, at: FunctionRef, object: ValueId, name: &str, depth: u32) -> Vec<ValueRef> {
        let resolver = self.resolver;
        let mut found = Vec::new();
        for object in self.inner(at, object, depth) {
            let (Object::Instance(class) | Object::Class(class)) = object else {
                continue;
            };
            for class in resolver.lineage(class) {
                let body = FunctionRef {
                    file: class.file,
                    function: resolver.facts(class.file).classes[class.class.index()].body,
                };
                let Some(id) = resolver.find_name(class.file, name) else { continue };
                let assigned = &resolver.function(body).assigned;
                if let Ok(i) = assigned.binary_search_by_key(&id, |a| a.0) {
                    for &value in &assigned[i].1 {
                        match resolver.body(body).op(value) {
                            Op::Annotated(value, _) => found.push(ValueRef { at: body, value }),
                            Op::Function(_) | Op::Call(_) => {
                                let functions = resolver.functions(body, value);
                                found.extend(
                                    functions
                                        .into_iter()
                                        .filter(|f| resolver.has_plain_decorator(*f, "property"))
                                        .filter_map(|f| {
                                            let annotation = resolver.function(f).returns?;
                                            Some(ValueRef {
                                                at: resolver.parent(f),
                                                value: annotation.value,
                                            })
                                        }),
                                );
                            }
                            _ => {}
                        }
                    }
                }
                for value in resolver.attribute_values(class, name) {
                    match resolver.body(value.at).op(value.value) {
                        Op::Annotated(annotation, _) => found.push(ValueRef {
                            at: value.at,
                            value: annotation,
                        }),
                        _ => found.extend(self.annotations(value, depth)),
                    }
                }
            }
        }
        found
    }

    /// The annotation of a part: `B` of `tuple[A, B]`, `T` of `list[T]` and `dict[K, T]`.
    fn part(&self, v: ValueRef, index: Option<u16>) -> Option<ValueRef> {
        let body = self.resolver.body(v.at);
        let here = |value| Some(ValueRef { at: v.at, value });
        match body.op(v.value) {
            Op::Index(_, inner) => match body.op(inner) {
                Op::Tuple(items) => {
                    let items = body.items(items);
                    let at = index.map_or(items.len().checked_sub(1)?, usize::from);
                    here(*items.get(at)?)
                }
                _ => here(inner),
            },
            Op::Binary(_, a, b) => self
                .part(ValueRef { at: v.at, value: a }, index)
                .or_else(|| self.part(ValueRef { at: v.at, value: b }, index)),
            _ => None,
        }
    }

    /// What an annotation says.
    fn annotated(&mut self, v: ValueRef, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else {
            self.found.open = true;
            return;
        };
        let resolver = self.resolver;
        let body = resolver.body(v.at);
        let here = |value| ValueRef { at: v.at, value };
        match body.op(v.value) {
            Op::Binary(_, a, b) => {
                self.annotated(here(a), depth);
                self.annotated(here(b), depth);
            }
            Op::Const(Const::None) => self.found.known.push(Object::Other),
            Op::Const(Const::Str(text)) => {
                for name in resolver.text(v.at.file, text).split('|').map(str::trim) {
                    self.named(v.at, name.split('[').next().unwrap_or(name));
                }
            }
            Op::Index(object, inner) => {
                let names = resolver.dotted(v.at, object);
                let is = |last: &[&str]| names.iter().any(|n| last.contains(&n.rsplit('.').next().unwrap_or(n)));
                if is(&["Optional", "Annotated", "ClassVar", "Final", "Union"]) {
                    match body.op(inner) {
                        Op::Tuple(items) => body.items(items).iter().for_each(|&i| self.annotated(here(i), depth)),
                        _ => self.annotated(here(inner), depth),
                    }
                } else if is(&["type", "Type"]) {
                    let before = self.found.known.len();
                    self.annotated(here(inner), depth);
                    for object in &mut self.found.known[before..] {
                        if let Object::Instance(class) = object {
                            *object = Object::Class(*class);
                        }
                    }
                } else {
                    self.annotated(here(object), depth);
                }
            }
            _ => {
                for entity in resolver.entities(v.at, v.value) {
                    self.meant(entity);
                }
            }
        }
    }

    /// A quoted name inside an annotation.
    fn named(&mut self, at: FunctionRef, dotted: &str) {
        let mut parts = dotted.split('.');
        let first = parts.next().unwrap_or(dotted);
        let mut found = (*self.resolver.export(at.file, first)).clone();
        for part in parts {
            let next = found.iter().filter_map(|e| match e {
                Entity::Module(file) => Some((*self.resolver.export(*file, part)).clone()),
                Entity::External(path) => Some(vec![Entity::External(format!("{path}.{part}").into())]),
                _ => None,
            });
            found = next.flatten().collect();
        }
        if found.is_empty() && dotted != "None" {
            self.found.open = true;
        }
        for entity in found {
            self.meant(entity);
        }
    }

    fn meant(&mut self, entity: Entity) {
        match entity {
            Entity::Class(class) if self.is_protocol(class) => self.found.open = true,
            Entity::Class(class) => self.found.known.push(Object::Instance(class)),
            Entity::External(path) if matches!(&*path, "typing.Any" | "builtins.object" | "typing_extensions.Any") => {
                self.found.open = true
            }
            Entity::External(path) => self.found.known.push(Object::Outside(path)),
            _ => self.found.open = true,
        }
    }

    /// Anything with the right methods may stand for it.
    fn is_protocol(&self, class: ClassRef) -> bool {
        let mut bases = self.resolver.bases(class).into_iter();
        bases.any(|b| matches!(b, Entity::External(path) if &*path == "typing.Protocol" || path.starts_with("typing.Protocol.")))
    }
}

/// By convention: `torch.library.Library`, not `torch.empty_like`.
fn names_class(path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap_or(path);
    last.trim_start_matches('_').starts_with(char::is_uppercase)
}

/// Whether a call could be one of this function: as many arguments as it takes, no keyword that it has not. `bound`: the first
/// parameter is the object.
pub(crate) fn fits(resolver: &Resolver<'_>, at: FunctionRef, call: &crate::facts::Call, f: FunctionRef, bound: bool) -> bool {
    use crate::facts::ArgKind;
    let function = resolver.function(f);
    let params = &function.params[usize::from(bound && !function.params.is_empty())..];
    let takes_all = params.iter().any(|p| p.kind == ParamKind::Star);
    let takes_any = params.iter().any(|p| p.kind == ParamKind::StarStar);
    let positional: Vec<_> = params
        .iter()
        .filter(|p| matches!(p.kind, ParamKind::Positional | ParamKind::PositionalOnly))
        .collect();
    let given = call.args.iter().filter(|a| a.kind == ArgKind::Positional).count();
    if given > positional.len() && !takes_all {
        return false;
    }
    let named = |keyword: &str| params.iter().position(|p| resolver.text(f.file, p.name) == keyword);
    let keywords = call.args.iter().filter_map(|a| match a.kind {
        ArgKind::Keyword(name) => Some(resolver.text(at.file, name)),
        _ => None,
    });
    let mut keywords = keywords.collect::<Vec<_>>();
    if keywords.iter().any(|k| named(k).is_none_or(|i| i < given) && !takes_any) {
        return false;
    }
    if call.args.iter().any(|a| matches!(a.kind, ArgKind::Star | ArgKind::StarStar)) {
        return true;
    }
    keywords.sort_unstable();
    let required = params.iter().enumerate().filter(|(i, p)| {
        let by_position = *i < given && matches!(p.kind, ParamKind::Positional | ParamKind::PositionalOnly);
        p.default.is_none() && !by_position && !matches!(p.kind, ParamKind::Star | ParamKind::StarStar)
    });
    required
        .into_iter()
        .all(|(_, p)| keywords.binary_search(&resolver.text(f.file, p.name)).is_ok())
}
