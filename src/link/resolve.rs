//! What a value refers to: the one place where names are looked up.
//!
//! Answers are sets: a name that a `try`/`except ImportError` or an `if` binds twice has two meanings. An empty set or
//! [`Entity::Value`] means that it is not known to be any named thing.

use super::modules::{Found, Modules, absolute};
use crate::facts::{ArgKind, Body, Call, ClassId, Const, Facts, Function, FunctionKind, MODULE, Name, Op, ParamKind, ValueId};
use crate::program::{FunctionRef, ProgramFile};
use crate::source::FileId;
use rustc_hash::FxHashMap;
use std::sync::{Arc, OnceLock, RwLock};

/// A value of a body of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ValueRef {
    /// The body.
    pub(crate) at: FunctionRef,
    /// The value there.
    pub(crate) value: ValueId,
}

/// A class of the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ClassRef {
    /// Its file.
    pub(crate) file: FileId,
    /// Its index there.
    pub(crate) class: ClassId,
}

/// What a value refers to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Entity {
    /// Something outside the project, by its dotted name as imported: `torch.empty`, `triton.language.store`, `builtins.len`.
    External(Arc<str>),
    /// What a call of something outside returned: the callee's name and the call (`torch.library.Library`, the call).
    Made(Arc<str>, ValueRef),
    /// A module of the project.
    Module(FileId),
    /// A namespace package of the project.
    Namespace(Arc<str>),
    /// A function of the project, whatever decorators stand above it.
    Function(FunctionRef),
    /// A method looked up on an instance or, for class methods, on a class: its first parameter is bound.
    Bound(FunctionRef),
    /// A class of the project.
    Class(ClassRef),
    /// An instance of a class of the project.
    Instance(ClassRef),
    /// Anything else: a parameter, a literal, a display, a call that cannot be followed.
    Value(ValueRef),
}

/// Names are followed this deep; beyond it the answer is "not known".
const MAX_DEPTH: u32 = 24;

/// A set of meanings, sorted, without duplicates.
pub(crate) type Entities = Vec<Entity>;

/// What a class's methods assign to each attribute of `self`.
type Attributes = FxHashMap<Box<str>, Vec<ValueRef>>;

/// Results looked up once, shared between threads.
type Memo<K, V> = RwLock<FxHashMap<K, Arc<V>>>;

/// Looks names up over all files.
#[derive(Debug)]
pub(crate) struct Resolver<'a> {
    pub(crate) files: &'a [ProgramFile],
    pub(crate) modules: &'a Modules,
    /// Name tables by text, made for a file when it is first asked.
    names: Vec<OnceLock<FxHashMap<&'a str, Name>>>,
    exports: Memo<(FileId, Arc<str>), Entities>,
    attributes: Memo<ClassRef, Attributes>,
}

impl<'a> Resolver<'a> {
    /// A resolver over linked modules.
    pub(crate) fn new(files: &'a [ProgramFile], modules: &'a Modules) -> Self {
        let names = files.iter().map(|_| OnceLock::new()).collect();
        Self {
            files,
            modules,
            names,
            exports: RwLock::default(),
            attributes: RwLock::default(),
        }
    }

    /// Facts of a file.
    pub(crate) fn facts(&self, file: FileId) -> &'a Facts {
        &self.files[file.index()].facts
    }

    /// A function.
    pub(crate) fn function(&self, f: FunctionRef) -> &'a Function {
        self.facts(f.file).function(f.function)
    }

    /// The body of a function.
    pub(crate) fn body(&self, f: FunctionRef) -> &'a Body {
        &self.function(f).body
    }

    /// Text of a name.
    pub(crate) fn text(&self, file: FileId, name: Name) -> &'a str {
        self.facts(file).name(name)
    }

    /// The name that a file has for a text, if the text stands there at all.
    pub(crate) fn find_name(&self, file: FileId, text: &str) -> Option<Name> {
        let index = self.names[file.index()].get_or_init(|| {
            let names = self.facts(file).names.iter().enumerate();
            names.map(|(i, text)| (&**text, Name(i as u32))).collect()
        });
        index.get(text).copied()
    }

    /// The plain name by which a value is spoken of, without looking it up: `f` of `f`, `m.f`, an import of `f`, a `def f` above.
    pub(crate) fn spoken(&self, at: FunctionRef, value: ValueId) -> Option<&'a str> {
        let facts = self.facts(at.file);
        let name = match self.body(at).op(value) {
            Op::Free(name) | Op::Attr(_, name) => name,
            Op::Import(import) => {
                let import = &facts.imports[import.index()];
                import.member.unwrap_or(import.bound)
            }
            Op::Function(f) => facts.function(f).name,
            Op::Call(call) => facts.function(self.body(at).call(call).decorates?).name,
            _ => return None,
        };
        Some(facts.name(name))
    }

    /// The body that holds a function's decorators, defaults and annotations.
    pub(crate) fn parent(&self, f: FunctionRef) -> FunctionRef {
        FunctionRef {
            file: f.file,
            function: self.function(f).parent,
        }
    }

    /// What a value refers to.
    pub(crate) fn entities(&self, at: FunctionRef, value: ValueId) -> Entities {
        let mut found = Vec::new();
        self.collect(ValueRef { at, value }, MAX_DEPTH, &mut found);
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The dotted name of a value that refers to something outside the project; of several the first that `accept` takes.
    pub(crate) fn external_where(&self, at: FunctionRef, value: ValueId, accept: impl Fn(&str) -> bool) -> Option<Arc<str>> {
        self.entities(at, value).into_iter().find_map(|e| match e {
            Entity::External(name) if accept(&name) => Some(name),
            _ => None,
        })
    }

    /// The dotted name of a value that refers to something outside the project.
    pub(crate) fn external(&self, at: FunctionRef, value: ValueId) -> Option<Arc<str>> {
        self.external_where(at, value, |_| true)
    }

    /// The functions of the project that a value refers to.
    pub(crate) fn functions(&self, at: FunctionRef, value: ValueId) -> Vec<FunctionRef> {
        self.entities(at, value)
            .into_iter()
            .filter_map(|e| match e {
                Entity::Function(f) | Entity::Bound(f) => Some(f),
                _ => None,
            })
            .collect()
    }

    /// Qualified name of a function or class of the project: `vllm.utils.f`, `vllm.m.Class.method`.
    pub(crate) fn qualified(&self, f: FunctionRef) -> String {
        let file = &self.files[f.file.index()];
        format!(
            "{}.{}",
            file.module,
            file.facts.name(file.facts.function(f.function).qualname).replace(".<locals>", "")
        )
    }

    /// Qualified name of a class.
    pub(crate) fn qualified_class(&self, c: ClassRef) -> String {
        let file = &self.files[c.file.index()];
        format!("{}.{}", file.module, file.facts.name(file.facts.classes[c.class.index()].qualname))
    }

    /// The dotted names under which knowledge may know a value: of outside things their names, of the project's own
    /// functions and classes their qualified names (the project may *be* the framework).
    pub(crate) fn dotted(&self, at: FunctionRef, value: ValueId) -> Vec<String> {
        self.entities(at, value)
            .into_iter()
            .filter_map(|e| match e {
                Entity::External(name) => Some(name.to_string()),
                Entity::Function(f) | Entity::Bound(f) => Some(self.qualified(f)),
                Entity::Class(c) => Some(self.qualified_class(c)),
                Entity::Made(..) | Entity::Module(_) | Entity::Namespace(_) | Entity::Instance(_) | Entity::Value(_) => None,
            })
            .collect()
    }

    /// What a module exports under a name.
    pub(crate) fn export(&self, file: FileId, name: &str) -> Arc<Entities> {
        self.export_at(file, name, MAX_DEPTH)
    }

    fn export_at(&self, file: FileId, name: &str, depth: u32) -> Arc<Entities> {
        let key = (file, Arc::<str>::from(name));
        if let Some(known) = self.exports.read().expect("no panic while locked").get(&key) {
            return known.clone();
        }
        let mut found = Vec::new();
        let mut complete = true;
        if depth > 0 {
            self.collect_export(file, name, depth - 1, &mut found);
        } else {
            complete = false;
        }
        found.sort_unstable();
        found.dedup();
        let found = Arc::new(found);
        if complete && depth + 8 > MAX_DEPTH {
            self.exports.write().expect("no panic while locked").insert(key, found.clone());
        }
        found
    }

    fn collect_export(&self, file: FileId, name: &str, depth: u32, out: &mut Entities) {
        let facts = self.facts(file);
        let at = FunctionRef { file, function: MODULE };
        if facts.functions.is_empty() {
            return;
        }
        if let Some(value) = self.find_name(file, name).and_then(|n| facts.module().binding(n)) {
            self.collect(ValueRef { at, value }, depth, out);
            return;
        }
        self.collect_starred(file, name, depth, out);
        if out.is_empty() {
            let module = &self.files[file.index()].module;
            self.collect_module(&format!("{module}.{name}"), false, out);
        }
    }

    /// A name that a star import may bring.
    fn collect_starred(&self, file: FileId, name: &str, depth: u32, out: &mut Entities) {
        let facts = self.facts(file);
        for star in facts.star_imports.iter().rev() {
            let Some(module) = absolute(&self.files[file.index()], star.level, facts.name(star.module)) else {
                continue;
            };
            match self.modules.find(&module) {
                Found::File(other) if other != file => {
                    let found = self.export_at(other, name, depth);
                    if !found.is_empty() {
                        out.extend(found.iter().cloned());
                        return;
                    }
                }
                Found::Outside => out.push(Entity::External(format!("{module}.{name}").into())),
                Found::File(_) | Found::Namespace => {}
            }
        }
    }

    fn collect_module(&self, dotted: &str, outside_too: bool, out: &mut Entities) {
        match self.modules.find(dotted) {
            Found::File(file) => out.push(Entity::Module(file)),
            Found::Namespace => out.push(Entity::Namespace(dotted.into())),
            Found::Outside if outside_too => out.push(Entity::External(dotted.into())),
            Found::Outside => {}
        }
    }

    fn collect(&self, v: ValueRef, depth: u32, out: &mut Entities) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let body = self.body(v.at);
        let Some(value) = body.values.get(v.value.index()) else { return };
        let each = |items: &[ValueId], out: &mut Entities| {
            for &item in items {
                self.collect(ValueRef { at: v.at, value: item }, depth, out);
            }
        };
        match value.op {
            Op::Free(name) => self.collect_free(v.at, self.text(v.at.file, name), depth, out),
            Op::Import(id) => self.collect_import(v.at.file, id.index(), depth, out),
            Op::Attr(object, name) => self.collect_attribute(v, object, self.text(v.at.file, name), depth, out),
            Op::Call(call) => self.collect_call(v, body.call(call), depth, out),
            Op::Function(function) => out.push(Entity::Function(FunctionRef { file: v.at.file, function })),
            Op::Class(class) => out.push(Entity::Class(ClassRef { file: v.at.file, class })),
            Op::Select(_, yes, no) => each(&[yes, no], out),
            Op::Phi(items) | Op::Or(items) | Op::And(items) => {
                // A back edge of a loop leads here again: the depth ends it, the set stays small.
                let items = body.items(items);
                let ahead: Vec<ValueId> = items.iter().copied().filter(|&i| i < v.value).collect();
                each(if ahead.is_empty() { items } else { &ahead }, out);
                if ahead.len() != items.len() && !ahead.is_empty() && depth > MAX_DEPTH / 2 {
                    for &item in items.iter().filter(|&&i| i > v.value) {
                        self.collect(ValueRef { at: v.at, value: item }, depth / 2, out);
                    }
                }
            }
            Op::Annotated(_, inner) | Op::Star(inner) | Op::Suspend(inner) => each(&[inner], out),
            Op::Param(index) => self.collect_param(v, index, depth, out),
            Op::Index(object, index) => self.collect_index(v, object, index, depth, out),
            Op::Iterate(object) => {
                let before = out.len();
                self.collect_elements(ValueRef { at: v.at, value: object }, None, depth, out);
                if out.len() == before {
                    out.push(Entity::Value(v));
                }
            }
            Op::Unpack {
                value: object,
                index,
                rest: false,
            } => {
                let before = out.len();
                self.collect_elements(ValueRef { at: v.at, value: object }, Some(i64::from(index)), depth, out);
                if out.len() == before {
                    out.push(Entity::Value(v));
                }
            }
            Op::Undefined => {}
            _ => out.push(Entity::Value(v)),
        }
    }

    fn collect_free(&self, at: FunctionRef, name: &str, depth: u32, out: &mut Entities) {
        let facts = self.facts(at.file);
        let mut scope = at.function;
        if let Some(id) = self.find_name(at.file, name) {
            while scope != MODULE {
                scope = facts.function(scope).parent;
                let f = facts.function(scope);
                if scope == MODULE || f.kind == FunctionKind::Class {
                    continue;
                }
                if let Ok(i) = f.assigned.binary_search_by_key(&id, |a| a.0) {
                    for &value in &f.assigned[i].1 {
                        self.collect(
                            ValueRef {
                                at: FunctionRef {
                                    file: at.file,
                                    function: scope,
                                },
                                value,
                            },
                            depth,
                            out,
                        );
                    }
                    return;
                }
                if let Some(param) = f.param(id) {
                    let at = FunctionRef {
                        file: at.file,
                        function: scope,
                    };
                    if let Some((value, _)) = f.body.iter().find(|(_, v)| v.op == Op::Param(param)) {
                        self.collect(ValueRef { at, value }, depth, out);
                    }
                    return;
                }
            }
        }
        // In the module body itself the name is none of the module's own: `range = range`.
        if at.function == MODULE {
            self.collect_starred(at.file, name, depth, out);
            if out.is_empty() {
                out.push(Entity::External(format!("builtins.{name}").into()));
            }
            return;
        }
        let found = self.export_at(at.file, name, depth);
        if found.is_empty() {
            out.push(Entity::External(format!("builtins.{name}").into()));
        } else {
            out.extend(found.iter().cloned());
        }
    }

    fn collect_import(&self, file: FileId, import: usize, depth: u32, out: &mut Entities) {
        let facts = self.facts(file);
        let import = &facts.imports[import];
        let Some(base) = absolute(&self.files[file.index()], import.level, facts.name(import.module)) else {
            return;
        };
        let Some(member) = import.member else {
            let name = if import.renamed {
                base.as_str()
            } else {
                base.split('.').next().unwrap_or(&base)
            };
            self.collect_module(name, true, out);
            return;
        };
        let member = facts.name(member);
        let whole = if base.is_empty() {
            member.to_owned()
        } else {
            format!("{base}.{member}")
        };
        match self.modules.find(&base) {
            Found::File(other) => {
                let before = out.len();
                if other != file {
                    out.extend(self.export_at(other, member, depth).iter().cloned());
                }
                if out.len() == before {
                    self.collect_module(&whole, false, out);
                }
            }
            Found::Namespace => self.collect_module(&whole, true, out),
            Found::Outside => self.collect_module(&whole, true, out),
        }
    }

    fn collect_attribute(&self, v: ValueRef, object: ValueId, name: &str, depth: u32, out: &mut Entities) {
        let mut objects = Vec::new();
        self.collect(ValueRef { at: v.at, value: object }, depth, &mut objects);
        let before = out.len();
        for entity in objects {
            match entity {
                Entity::External(path) => out.push(Entity::External(format!("{path}.{name}").into())),
                Entity::Made(path, _) => out.push(Entity::External(format!("{path}.{name}").into())),
                Entity::Module(file) => out.extend(self.export_at(file, name, depth).iter().cloned()),
                Entity::Namespace(package) => self.collect_module(&format!("{package}.{name}"), false, out),
                Entity::Class(class) => self.collect_member(class, name, false, depth, out),
                Entity::Instance(class) => self.collect_member(class, name, true, depth, out),
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

    fn collect_member(&self, class: ClassRef, name: &str, instance: bool, depth: u32, out: &mut Entities) {
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
        if instance {
            for value in self.instance_values(class).get(name).into_iter().flatten() {
                self.collect(*value, depth, out);
            }
        }
        if !out.is_empty() {
            return;
        }
        for &base in &info.bases {
            let mut bases = Vec::new();
            self.collect(
                ValueRef {
                    at: FunctionRef {
                        file: class.file,
                        function: info.parent,
                    },
                    value: base,
                },
                depth,
                &mut bases,
            );
            for entity in bases {
                match entity {
                    Entity::Class(base) if base != class => self.collect_member(base, name, instance, depth, out),
                    Entity::External(path) => out.push(Entity::External(format!("{path}.{name}").into())),
                    _ => {}
                }
                if !out.is_empty() {
                    return;
                }
            }
        }
    }

    fn is_property(&self, f: FunctionRef) -> bool {
        let parent = self.parent(f);
        self.function(f).decorators.iter().any(|d| {
            matches!(self.body(parent).op(d.value), Op::Free(n) if self.text(f.file, n) == "property")
                || matches!(self.body(parent).op(d.value), Op::Attr(_, n) if self.text(f.file, n) == "cached_property")
                || matches!(self.body(parent).op(d.value), Op::Free(n) if self.text(f.file, n) == "cached_property")
        })
    }

    /// What the methods of a class assign to attributes of `self`.
    fn instance_values(&self, class: ClassRef) -> Arc<FxHashMap<Box<str>, Vec<ValueRef>>> {
        if let Some(known) = self.attributes.read().expect("no panic while locked").get(&class) {
            return known.clone();
        }
        let facts = self.facts(class.file);
        let body = facts.classes[class.class.index()].body;
        let mut map: FxHashMap<Box<str>, Vec<ValueRef>> = FxHashMap::default();
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
        let map = Arc::new(map);
        self.attributes.write().expect("no panic while locked").insert(class, map.clone());
        map
    }

    /// The classes that a class derives from, itself first, in order of lookup, without those outside the project.
    pub(crate) fn lineage(&self, class: ClassRef) -> Vec<ClassRef> {
        let mut line = vec![class];
        let mut next = 0;
        while next < line.len() && line.len() < 64 {
            for base in self.bases(line[next]) {
                if let Entity::Class(base) = base
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
        let info = &self.facts(class.file).classes[class.class.index()];
        let at = FunctionRef {
            file: class.file,
            function: info.parent,
        };
        info.bases.iter().flat_map(|&base| self.entities(at, base)).collect()
    }

    /// Whether a class derives, at any depth, from something outside with this dotted name.
    pub(crate) fn derives_from(&self, class: ClassRef, accept: impl Fn(&str) -> bool) -> bool {
        self.lineage(class)
            .into_iter()
            .any(|c| self.bases(c).iter().any(|b| matches!(b, Entity::External(name) if accept(name))))
    }

    fn collect_call(&self, v: ValueRef, call: &Call, depth: u32, out: &mut Entities) {
        if let Some(function) = call.decorates {
            out.push(Entity::Function(FunctionRef { file: v.at.file, function }));
            return;
        }
        let first = call.args.first().filter(|a| a.kind == ArgKind::Positional);
        let mut callees = Vec::new();
        self.collect(
            ValueRef {
                at: v.at,
                value: call.callee,
            },
            depth,
            &mut callees,
        );
        let before = out.len();
        for callee in callees {
            match callee {
                Entity::Class(class) => out.push(Entity::Instance(class)),
                Entity::External(path) => match first {
                    Some(arg) if keeps_function(&path) => {
                        let mut inner = Vec::new();
                        self.collect(
                            ValueRef {
                                at: v.at,
                                value: arg.value,
                            },
                            depth,
                            &mut inner,
                        );
                        inner.retain(|e| matches!(e, Entity::Function(_) | Entity::Bound(_) | Entity::Class(_)));
                        if inner.is_empty() {
                            out.push(Entity::Made(path, v))
                        } else {
                            out.append(&mut inner)
                        }
                    }
                    _ => out.push(Entity::Made(path, v)),
                },
                // A decorator made by a call and applied by hand: `triton.autotune(…)(fn)`.
                Entity::Made(path, _) if keeps_function(&path) || path.starts_with("triton.") => {
                    if let Some(arg) = first {
                        self.collect(
                            ValueRef {
                                at: v.at,
                                value: arg.value,
                            },
                            depth,
                            out,
                        );
                    }
                }
                Entity::Made(path, _) => out.push(Entity::Made(format!("{path}()").into(), v)),
                Entity::Function(f) | Entity::Bound(f) => self.collect_returns(f, depth, out),
                Entity::Instance(class) => {
                    let mut calls = Vec::new();
                    self.collect_member(class, "__call__", true, depth, &mut calls);
                    for entity in calls {
                        if let Entity::Bound(f) = entity {
                            self.collect_returns(f, depth, out);
                        }
                    }
                }
                Entity::Module(_) | Entity::Namespace(_) | Entity::Value(_) => {}
            }
        }
        if out.len() == before {
            out.push(Entity::Value(v));
        }
    }

    /// What a function hands back that has a name: functions, classes, instances, modules.
    fn collect_returns(&self, f: FunctionRef, depth: u32, out: &mut Entities) {
        let Some(depth) = depth.checked_sub(4) else { return };
        let function = self.function(f);
        if function.is_generator || function.kind == FunctionKind::AsyncDef || function.body.values.len() > 4096 {
            return;
        }
        let mut found = Vec::new();
        for (_, value) in function.body.iter() {
            if let Op::Return(result) = value.op {
                self.collect(ValueRef { at: f, value: result }, depth, &mut found);
            }
        }
        out.extend(found.into_iter().filter(|e| !matches!(e, Entity::Value(_))));
    }

    fn collect_param(&self, v: ValueRef, index: u16, depth: u32, out: &mut Entities) {
        let function = self.function(v.at);
        if index == 0
            && let Some(class) = function.class
        {
            let class = ClassRef { file: v.at.file, class };
            if binds_first(self, v.at, true) {
                let is_class = self.has_plain_decorator(v.at, "classmethod");
                out.push(if is_class { Entity::Class(class) } else { Entity::Instance(class) });
                return;
            }
        }
        let Some(annotation) = function.params.get(index as usize).and_then(|p| p.annotation) else {
            out.push(Entity::Value(v));
            return;
        };
        let before = out.len();
        self.collect_annotated(
            ValueRef {
                at: self.parent(v.at),
                value: annotation.value,
            },
            depth,
            out,
        );
        if out.len() == before {
            out.push(Entity::Value(v));
        }
    }

    /// Instances of the project's classes that an annotation names (through `Optional`, `|` and quotes).
    fn collect_annotated(&self, v: ValueRef, depth: u32, out: &mut Entities) {
        let Some(depth) = depth.checked_sub(1) else { return };
        match self.body(v.at).op(v.value) {
            Op::Binary(_, left, right) => {
                self.collect_annotated(ValueRef { at: v.at, value: left }, depth, out);
                self.collect_annotated(ValueRef { at: v.at, value: right }, depth, out);
            }
            Op::Index(object, index) => {
                if self
                    .external_where(v.at, object, |n| n.ends_with(".Optional") || n.ends_with(".Annotated"))
                    .is_some()
                {
                    self.collect_annotated(ValueRef { at: v.at, value: index }, depth, out);
                }
            }
            Op::Const(Const::Str(name)) => {
                let text = self.text(v.at.file, name);
                if text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && !text.is_empty() {
                    let mut found = Vec::new();
                    self.collect_free(v.at, text, depth, &mut found);
                    out.extend(found.into_iter().filter_map(|e| {
                        if let Entity::Class(c) = e {
                            Some(Entity::Instance(c))
                        } else {
                            None
                        }
                    }));
                }
            }
            _ => {
                let mut found = Vec::new();
                self.collect(v, depth, &mut found);
                out.extend(found.into_iter().filter_map(|e| {
                    if let Entity::Class(c) = e {
                        Some(Entity::Instance(c))
                    } else {
                        None
                    }
                }));
            }
        }
    }

    fn collect_index(&self, v: ValueRef, object: ValueId, index: ValueId, depth: u32, out: &mut Entities) {
        let key = self.body(v.at).op(index);
        let before = out.len();
        let object = ValueRef { at: v.at, value: object };
        if let Op::Const(key) = key {
            match key {
                Const::Int(i) => self.collect_elements(object, Some(i64::from(i)), depth, out),
                Const::Str(text) => self.collect_keyed(object, self.text(v.at.file, text), depth, out),
                _ => {}
            }
        }
        if out.len() == before {
            self.collect_elements(object, None, depth, out);
        }
        if out.len() == before {
            out.push(Entity::Value(v));
        }
    }

    /// Elements of a display that a value refers to: one position, or all.
    fn collect_elements(&self, v: ValueRef, position: Option<i64>, depth: u32, out: &mut Entities) {
        for display in self.displays(v, depth) {
            let body = self.body(display.at);
            match body.op(display.value) {
                Op::Tuple(items) | Op::List(items) | Op::Set(items) => {
                    let items = body.items(items);
                    let one = position.map(|p| if p < 0 { p + items.len() as i64 } else { p });
                    for (i, &item) in items.iter().enumerate() {
                        if one.is_none_or(|p| p == i as i64) {
                            self.collect(
                                ValueRef {
                                    at: display.at,
                                    value: item,
                                },
                                depth.saturating_sub(1),
                                out,
                            );
                        }
                    }
                }
                Op::Dict(items) => {
                    for pair in body.items(items).chunks(2) {
                        self.collect(
                            ValueRef {
                                at: display.at,
                                value: pair[1],
                            },
                            depth.saturating_sub(1),
                            out,
                        );
                    }
                }
                _ => {}
            }
        }
        out.retain(|e| !matches!(e, Entity::Value(x) if *x == v));
    }

    fn collect_keyed(&self, v: ValueRef, key: &str, depth: u32, out: &mut Entities) {
        for display in self.displays(v, depth) {
            let body = self.body(display.at);
            if let Op::Dict(items) = body.op(display.value) {
                for pair in body.items(items).chunks(2) {
                    if matches!(body.op(pair[0]), Op::Const(Const::Str(s)) if self.text(display.at.file, s) == key) {
                        self.collect(
                            ValueRef {
                                at: display.at,
                                value: pair[1],
                            },
                            depth.saturating_sub(1),
                            out,
                        );
                    }
                }
            }
        }
    }

    /// The tuple, list and dict displays that a value may be.
    fn displays(&self, v: ValueRef, depth: u32) -> Vec<ValueRef> {
        let mut found = Vec::new();
        self.collect(v, depth, &mut found);
        found
            .into_iter()
            .filter_map(|e| match e {
                Entity::Value(v) if matches!(self.body(v.at).op(v.value), Op::Tuple(_) | Op::List(_) | Op::Set(_) | Op::Dict(_)) => Some(v),
                _ => None,
            })
            .collect()
    }

    /// Whether a function carries the decorator of this plain name.
    pub(crate) fn has_plain_decorator(&self, f: FunctionRef, name: &str) -> bool {
        let body = self.body(self.parent(f));
        self.function(f)
            .decorators
            .iter()
            .any(|d| matches!(body.op(d.value), Op::Free(n) if self.text(f.file, n) == name))
    }

    /// The texts that a value may be, if it is built from constants: literals, names of constants, f-strings, `+`,
    /// loop variables over constant sequences. `None`: some part is not constant.
    pub(crate) fn texts(&self, v: ValueRef) -> Option<Vec<String>> {
        self.texts_at(v, MAX_DEPTH)
    }

    fn texts_at(&self, v: ValueRef, depth: u32) -> Option<Vec<String>> {
        let depth = depth.checked_sub(1)?;
        let body = self.body(v.at);
        let here = |value| ValueRef { at: v.at, value };
        let joined = |parts: Vec<Vec<String>>| {
            parts.into_iter().try_fold(vec![String::new()], |all, options| {
                let next: Vec<String> = all.iter().flat_map(|a| options.iter().map(move |o| format!("{a}{o}"))).collect();
                (next.len() <= 256).then_some(next)
            })
        };
        match body.op(v.value) {
            Op::Const(Const::Str(text)) => Some(vec![self.text(v.at.file, text).to_owned()]),
            Op::Const(Const::Int(i)) => Some(vec![i.to_string()]),
            Op::Format(items) => joined(
                body.items(items)
                    .iter()
                    .map(|&i| self.texts_at(here(i), depth))
                    .collect::<Option<_>>()?,
            ),
            Op::Binary(crate::facts::BinaryOp::Add, a, b) => joined(vec![self.texts_at(here(a), depth)?, self.texts_at(here(b), depth)?]),
            Op::Select(_, a, b) => {
                let mut all = self.texts_at(here(a), depth)?;
                all.extend(self.texts_at(here(b), depth)?);
                Some(all)
            }
            _ => {
                let entities = self.entities(v.at, v.value);
                if entities.is_empty() {
                    return None;
                }
                let mut all = Vec::new();
                for entity in entities {
                    match entity {
                        Entity::Value(other) if other != v => all.extend(self.texts_at(other, depth)?),
                        _ => return None,
                    }
                }
                Some(all)
            }
        }
    }
}

/// Whether looking a function up on an instance (or, without `instance`, on the class) binds its first parameter.
fn binds_first(resolver: &Resolver<'_>, f: FunctionRef, instance: bool) -> bool {
    if resolver.has_plain_decorator(f, "staticmethod")
        || resolver.function(f).params.first().is_none_or(|p| p.kind == ParamKind::KeywordOnly)
    {
        return false;
    }
    instance || resolver.has_plain_decorator(f, "classmethod")
}

/// Calls that hand back the function they were given, perhaps wrapped.
fn keeps_function(path: &str) -> bool {
    matches!(
        path,
        "functools.lru_cache"
            | "functools.cache"
            | "functools.wraps"
            | "functools.update_wrapper"
            | "builtins.staticmethod"
            | "builtins.classmethod"
    ) || path.starts_with("triton.")
        && matches!(
            path.rsplit('.').next(),
            Some("jit" | "autotune" | "heuristics" | "aggregate" | "_aggregate")
        )
        || path.starts_with("torch.")
            && matches!(
                path.rsplit('.').next(),
                Some("compile" | "wrap_triton" | "no_grad" | "inference_mode" | "disable")
            )
}
