//! Names: bindings of the file, imports, star imports, builtins.

use super::classes::is_inside_attribute;
use super::{Entities, Entity, MAX_DEPTH, Resolver, ValueRef};
use crate::facts::{Const, FunctionKind, MODULE, Name, Op};
use crate::link::modules::{Found, absolute};
use crate::program::FunctionRef;
use crate::source::FileId;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What was found from this deep is right for all who ask.
fn is_kept(depth: u32) -> bool {
    depth + 8 > MAX_DEPTH && !is_inside_attribute()
}

impl Resolver<'_> {
    pub(super) fn export_at(&self, file: FileId, name: &str, depth: u32) -> Arc<Entities> {
        if let Some(id) = self.find_name(file, name) {
            return self.export_named(file, id, depth);
        }
        let key = (file, Arc::<str>::from(name));
        if let Some(known) = self.unnamed.read().expect("no panic while locked").get(&key) {
            return known.clone();
        }
        let found = self.find_export(file, None, name, depth);
        if is_kept(depth) {
            self.unnamed.write().expect("no panic while locked").insert(key, found.clone());
        }
        found
    }

    /// What a module exports under a name that stands in it.
    fn export_named(&self, file: FileId, id: Name, depth: u32) -> Arc<Entities> {
        if let Some(known) = self.exports.read().expect("no panic while locked").get(&(file, id)) {
            return known.clone();
        }
        let found = self.find_export(file, Some(id), self.text(file, id), depth);
        if is_kept(depth) {
            self.exports
                .write()
                .expect("no panic while locked")
                .insert((file, id), found.clone());
        }
        found
    }

    fn find_export(&self, file: FileId, id: Option<Name>, name: &str, depth: u32) -> Arc<Entities> {
        let mut found = Vec::new();
        if let Some(depth) = depth.checked_sub(1) {
            self.collect_export(file, id, name, depth, &mut found);
        }
        found.sort_unstable();
        found.dedup();
        Arc::new(found)
    }

    fn collect_export(&self, file: FileId, id: Option<Name>, name: &str, depth: u32, out: &mut Entities) {
        let facts = self.facts(file);
        let at = FunctionRef { file, function: MODULE };
        if facts.functions.is_empty() {
            return;
        }
        if let Some(id) = id {
            let bound = facts.module().binding(id);
            let body = &facts.module().body;
            let is_none = |v| match body.op(v) {
                Op::Annotated(_, value) => body.op(value) == Op::Const(Const::None),
                op => op == Op::Const(Const::None),
            };
            if bound.is_none_or(is_none) {
                // `_lib = None`, and a function with `global _lib` fills it in.
                for &value in self.filled_in(file).get(&id).into_iter().flatten() {
                    self.collect(value, depth, out);
                }
            }
            if let Some(value) = bound {
                self.collect(ValueRef { at, value }, depth, out);
            }
            if bound.is_some() || !out.is_empty() {
                return;
            }
        }
        self.collect_starred(file, name, depth, out);
        if out.is_empty() {
            let module = &self.files[file.index()].module;
            self.collect_module(&format!("{module}.{name}"), false, out);
        }
    }

    /// What functions of a file assign to its globals.
    fn filled_in(&self, file: FileId) -> &FxHashMap<Name, Vec<ValueRef>> {
        self.filled_in[file.index()].get_or_init(|| {
            let mut map: FxHashMap<Name, Vec<ValueRef>> = FxHashMap::default();
            for (function, f) in self.facts(file).functions().filter(|(id, _)| *id != MODULE) {
                let at = FunctionRef { file, function };
                for (_, v) in f.body.iter() {
                    if let Op::SetOuter(name, value) = v.op {
                        map.entry(name).or_default().push(ValueRef { at, value });
                    }
                }
            }
            map
        })
    }

    /// The value that a name was bound to, wherever that stands; other values are their own definition. `None`: it is
    /// bound more than once, or out of view.
    pub(crate) fn definition(&self, v: ValueRef) -> Option<ValueRef> {
        let mut v = v;
        for _ in 0..MAX_DEPTH {
            let file = v.at.file;
            let facts = self.facts(file);
            let in_module = |file: FileId, name: &str| {
                let name = self.find_name(file, name)?;
                let value = self.facts(file).module().binding(name)?;
                let at = FunctionRef { file, function: MODULE };
                Some(ValueRef { at, value })
            };
            v = match self.body(v.at).op(v.value) {
                Op::Annotated(_, value) => ValueRef { at: v.at, value },
                Op::Free(name) => {
                    let mut scope = self.parent(v.at);
                    loop {
                        let f = self.function(scope);
                        if scope.function == MODULE {
                            break in_module(file, facts.name(name))?;
                        }
                        if f.kind != FunctionKind::Class
                            && let Ok(i) = f.assigned.binary_search_by_key(&name, |a| a.0)
                        {
                            let [value] = f.assigned[i].1.as_slice() else { return None };
                            break ValueRef { at: scope, value: *value };
                        }
                        scope = self.parent(scope);
                    }
                }
                Op::Import(import) => {
                    let import = &facts.imports[import.index()];
                    let module = absolute(&self.files[file.index()], import.level, facts.name(import.module))?;
                    in_module(self.modules.file(&module)?, facts.name(import.member?))?
                }
                Op::Attr(object, name) => {
                    let objects = self.entities(v.at, object);
                    let [Entity::Module(other)] = objects.as_slice() else { return None };
                    in_module(*other, facts.name(name))?
                }
                _ => return Some(v),
            };
        }
        None
    }

    /// A name that a star import may bring.
    pub(super) fn collect_starred(&self, file: FileId, name: &str, depth: u32, out: &mut Entities) {
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

    pub(super) fn collect_module(&self, dotted: &str, outside_too: bool, out: &mut Entities) {
        match self.modules.find(dotted) {
            Found::File(file) => out.push(Entity::Module(file)),
            Found::Namespace => out.push(Entity::Namespace(dotted.into())),
            Found::Outside if outside_too => out.push(Entity::External(dotted.into())),
            Found::Outside => {}
        }
    }

    /// A name of an enclosing function, of the module, or of Python itself. `id`: what the file calls it, if it stands there.
    pub(super) fn collect_free(&self, at: FunctionRef, id: Option<Name>, name: &str, depth: u32, out: &mut Entities) {
        let facts = self.facts(at.file);
        let mut scope = at.function;
        if let Some(id) = id {
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
        let found = match id {
            Some(id) => self.export_named(at.file, id, depth),
            None => self.export_at(at.file, name, depth),
        };
        if found.is_empty() {
            out.push(Entity::External(format!("builtins.{name}").into()));
        } else {
            out.extend(found.iter().cloned());
        }
    }

    pub(super) fn collect_import(&self, file: FileId, import: usize, depth: u32, out: &mut Entities) {
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
        let whole = || {
            if base.is_empty() {
                member.to_owned()
            } else {
                [&base, ".", member].concat()
            }
        };
        match self.modules.find(&base) {
            Found::File(other) => {
                let before = out.len();
                if other != file {
                    out.extend(self.export_at(other, member, depth).iter().cloned());
                }
                if out.len() == before {
                    self.collect_module(&whole(), false, out);
                }
            }
            Found::Namespace => self.collect_module(&whole(), true, out),
            Found::Outside => self.collect_module(&whole(), true, out),
        }
    }
}
