//! Who may hold a kernel: names travel through containers, attributes and functions.

use super::HANDS;
use super::mentioned::{Item, Mentioned};
use super::sought::SoughtNames;
use crate::facts::{ClassId, FunctionKind, Name, Op, ValueId};
use crate::link::resolve::{ClassRef, Entity, Resolver};
use crate::program::FunctionRef;
use crate::source::FileId;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

/// Files that may speak of kernels, or of whatever may hold one: a container, an attribute, a function that hands one back.
pub(crate) fn holders(resolver: &Resolver, kernels: &FxHashSet<FunctionRef>) -> Mentioned {
    let mut all = Mentioned::new(resolver, kernels);
    let mut functions: FxHashSet<&str> = kernels.iter().map(|k| resolver.text(k.file, resolver.function(*k).name)).collect();
    let mut values: FxHashSet<&str> = FxHashSet::default();
    let mut held: FxHashSet<FunctionRef> = kernels.clone();
    let mut items: FxHashSet<Item> = kernels.iter().map(|k| Item::function(resolver, *k)).collect();
    let mut files = resolver.files_where(|id, words| all.is_in(id, words));
    for _ in 0..HANDS {
        let known = Known {
            functions: functions.iter().copied().collect(),
            values: values.iter().copied().collect(),
            held: &held,
        };
        let found: Vec<Holder> = files
            .into_par_iter()
            .flat_map_iter(|file| holders_in(resolver, file, &known, kernels))
            .collect();
        (functions, values) = (FxHashSet::default(), FxHashSet::default());
        let mut fresh = Vec::new();
        for holder in found {
            let hands_back = holder.function.is_some_and(|f| held.insert(f));
            if hands_back || items.insert(holder.item) {
                fresh.push(holder.item);
                let names = if holder.function.is_some() { &mut functions } else { &mut values };
                names.insert(holder.name);
            }
        }
        if fresh.is_empty() {
            break;
        }
        let mut new = Mentioned::default();
        new.add(resolver, fresh.into_iter());
        files = resolver.files_where(|id, words| new.is_in(id, words));
        all.join(new);
    }
    all
}

/// A name under which a kernel may be had.
struct Holder<'a> {
    name: &'a str,
    item: Item<'a>,
    /// The function that hands one back.
    function: Option<FunctionRef>,
}

/// What the last look found.
struct Known<'k, 'a> {
    /// Their names.
    functions: SoughtNames<'a>,
    /// Names of containers and attributes that hold one.
    values: SoughtNames<'a>,
    /// Kernels, and functions that hand one back.
    held: &'k FxHashSet<FunctionRef>,
}

fn holders_in<'a>(resolver: &Resolver<'a>, file: FileId, known: &Known, kernels: &FxHashSet<FunctionRef>) -> Vec<Holder<'a>> {
    let facts = resolver.facts(file);
    let (functions, values) = (known.functions.flags(resolver, file), known.values.flags(resolver, file));
    let mut found = Vec::new();
    if !functions.contains(&true) && !values.contains(&true) {
        return found;
    }
    for (id, function) in facts.functions() {
        let at = FunctionRef { file, function: id };
        if kernels.contains(&at) {
            continue;
        }
        let look = Mentions {
            resolver,
            at,
            functions: &functions,
            values: &values,
            held: known.held,
        };
        let mut hold = |name: Name, item: Item<'a>, function: Option<FunctionRef>| {
            let name = facts.name(name);
            found.push(Holder { name, item, function });
        };
        let class = match function.kind {
            FunctionKind::Class => facts.classes.iter().position(|class| class.body == id).map(|i| ClassId(i as u32)),
            FunctionKind::Module | FunctionKind::Def | FunctionKind::AsyncDef | FunctionKind::Lambda => function.class,
        };
        let member = |name: Name| match class {
            Some(class) => Item::Member(ClassRef { file, class }, facts.name(name)),
            None => Item::Attribute(facts.name(name)),
        };
        for (name, values) in &function.assigned {
            let holds = || values.iter().any(|&v| look.mentions(v, 6));
            match function.kind {
                FunctionKind::Module if holds() => hold(*name, Item::Global(file, facts.name(*name)), None),
                FunctionKind::Class if holds() => hold(*name, member(*name), None),
                FunctionKind::Module | FunctionKind::Class | FunctionKind::Def | FunctionKind::AsyncDef | FunctionKind::Lambda => {}
            }
        }
        for (_, value) in function.body.iter() {
            match value.op {
                Op::SetAttr(object, name, v) if look.mentions(v, 6) => {
                    let is_own = matches!(function.body.op(object), Op::Param(0));
                    let item = if is_own { member(name) } else { Item::Attribute(facts.name(name)) };
                    hold(name, item, None);
                }
                Op::SetOuter(name, v) if look.mentions(v, 6) => hold(name, Item::Global(file, facts.name(name)), None),
                Op::Return(v) if look.mentions(v, 6) => hold(function.name, Item::function(resolver, at), Some(at)),
                _ => {}
            }
        }
    }
    found
}

struct Mentions<'k, 'a> {
    resolver: &'k Resolver<'a>,
    at: FunctionRef,
    functions: &'k [bool],
    values: &'k [bool],
    held: &'k FxHashSet<FunctionRef>,
}

impl Mentions<'_, '_> {
    /// Whether one of the names is spoken of in what a value is made of. A launch's result holds no kernel.
    fn mentions(&self, value: ValueId, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let facts = self.resolver.facts(self.at.file);
        let body = self.resolver.body(self.at);
        match body.op(value) {
            Op::Free(name) => self.holds(name, value),
            Op::Attr(object, name) => self.holds(name, value) || self.mentions(object, depth),
            Op::Import(id) => {
                let import = &facts.imports[id.index()];
                self.holds(import.member.unwrap_or(import.bound), value)
            }
            Op::Function(f) => self.holds(facts.function(f).name, value),
            Op::Call(call) => {
                let call = body.call(call);
                let launches = matches!(body.op(call.callee), Op::Index(..));
                !launches && self.mentions(call.callee, depth) || call.args.iter().any(|a| self.mentions(a.value, depth))
            }
            Op::Tuple(items) | Op::List(items) | Op::Set(items) | Op::Dict(items) | Op::And(items) | Op::Or(items) | Op::Phi(items) => {
                body.items(items).iter().any(|&v| v < value && self.mentions(v, depth))
            }
            Op::Select(_, a, b) => self.mentions(a, depth) || self.mentions(b, depth),
            Op::Index(v, _) | Op::Collect(_, v) | Op::Star(v) | Op::Annotated(_, v) | Op::Iterate(v) | Op::Unpack { value: v, .. } => {
                self.mentions(v, depth)
            }
            _ => false,
        }
    }

    /// The name stands for a kernel or a function that hands one back, or for something that is no function and may hold one.
    fn holds(&self, name: Name, value: ValueId) -> bool {
        let (is_function, is_value) = (self.functions[name.index()], self.values[name.index()]);
        if !is_function && !is_value {
            return false;
        }
        self.resolver.entities(self.at, value).iter().any(|e| match e {
            Entity::Function(f) | Entity::Bound(f) => self.held.contains(f),
            Entity::Value(v) => {
                let op = self.resolver.body(v.at).op(v.value);
                let may_hold = matches!(
                    op,
                    Op::Dict(_) | Op::List(_) | Op::Tuple(_) | Op::Set(_) | Op::Collect(..) | Op::Call(_) | Op::Index(..)
                );
                is_value && may_hold
            }
            Entity::Made(..) | Entity::Instance(_) => is_value,
            Entity::External(_) | Entity::Module(_) | Entity::Namespace(_) | Entity::Class(_) => false,
        })
    }
}
