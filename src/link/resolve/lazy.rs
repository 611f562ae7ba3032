//! Imports by name: `importlib.import_module("m")`, `getattr(m, "f")`, and functions of frameworks that do both when needed.

use super::{Entities, Entity, Resolver, ValueRef};
use crate::facts::{Call, Const, Op, ValueId};
use crate::knowledge::outside::Lazy;
use crate::link::registry::argument;
use crate::program::FunctionRef;

impl Resolver<'_> {
    /// What a call of something outside hands back when that imports or looks up by a constant name. False: it does not.
    pub(super) fn collect_named(&self, v: ValueRef, call: &Call, callee: &str, depth: u32, out: &mut Entities) -> bool {
        let before = out.len();
        let text = |at: usize| self.constant(v, call.args.get(at)?.value);
        match callee {
            "importlib.import_module" => {
                if let Some(name) = text(0) {
                    self.collect_outside(name, out);
                }
            }
            "builtins.getattr" => {
                if let (Some(object), Some(name)) = (call.args.first(), text(1)) {
                    self.collect_attribute(v, object.value, name, depth, out);
                    out.retain(|e| *e != Entity::Value(v));
                }
            }
            _ => {}
        }
        out.len() > before
    }

    /// The same for a function of the project that a framework file knows as a lazy import.
    pub(super) fn collect_lazy(&self, v: ValueRef, call: &Call, callee: FunctionRef, out: &mut Entities) -> bool {
        if !self.importers.contains(self.text(callee.file, self.function(callee).name)) {
            return false;
        }
        if let Some(builder) = self.builder(callee) {
            out.push(Entity::Made(builder.into(), v));
            return true;
        }
        let Some(row) = self.lazy_row(callee) else { return false };
        let facts = self.facts(v.at.file);
        let text = |which| self.constant(v, argument(facts, call, which)?);
        match (text(&row.module), text(&row.member)) {
            (Some(module), Some(member)) => self.collect_outside(&format!("{module}.{member}"), out),
            (Some(module), None) if row.member == Default::default() => self.collect_outside(module, out),
            _ => return false,
        }
        true
    }

    fn lazy_row(&self, f: FunctionRef) -> Option<&Lazy> {
        let name = self.text(f.file, self.function(f).name);
        let mut rows = self.knowledge.frameworks.iter().flat_map(|k| &k.lazy);
        rows.find(|row| row.call.rsplit('.').next() == Some(name) && row.call == self.qualified(f))
    }

    /// The name of a function of the project that a framework file knows to build native code.
    fn builder(&self, f: FunctionRef) -> Option<&str> {
        let name = self.text(f.file, self.function(f).name);
        let mut names = self.knowledge.frameworks.iter().flat_map(|k| &k.builders);
        let named = names.find(|n| n.rsplit('.').next() == Some(name) && **n == self.qualified(f));
        named.map(String::as_str)
    }

    /// An installed package by that name, even where the project holds a copy of it in another place.
    fn collect_outside(&self, dotted: &str, out: &mut Entities) {
        let own = self.modules.file(dotted).filter(|f| self.files[f.index()].module == dotted);
        match own {
            Some(file) => out.push(Entity::Module(file)),
            None => out.push(Entity::External(dotted.into())),
        }
    }

    fn constant(&self, v: ValueRef, value: ValueId) -> Option<&str> {
        match self.body(v.at).op(value) {
            Op::Const(Const::Str(text)) => Some(self.text(v.at.file, text)),
            _ => None,
        }
    }
}
