//! Which functions are kernels or device functions: under `triton.jit` by any name, or given to it in a call.

use super::at;
use crate::facts::{ArgKind, Call, FunctionKind, Op, ValueId};
use crate::knowledge::Knowledge;
use crate::knowledge::frameworks::KernelDecorator;
use crate::link::reach;
use crate::link::resolve::{Entity, Resolver};
use crate::program::FunctionRef;
use crate::source::FileId;
use crate::words::Word;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

/// A kernel or device function.
pub(super) struct Found {
    pub(super) function: FunctionRef,
    pub(super) dialect: String,
    /// Its language is `triton.language`.
    pub(super) readable: bool,
    /// Outermost first.
    pub(super) decorators: Vec<String>,
}

/// All kernels, sorted by place.
pub(super) fn kernels(resolver: &Resolver, knowledge: &Knowledge) -> Vec<Found> {
    let mut finder = Finder {
        resolver,
        others: knowledge.frameworks.iter().flat_map(|f| &f.kernel).collect(),
        known: FxHashMap::default(),
        makers: FxHashMap::default(),
    };
    let mut found = BTreeMap::new();
    let spoken: Vec<reach::Spoken> = finder.maker_names().map(|name| reach::Spoken::new(resolver, name)).collect();
    let mut carriers: FxHashSet<Word> = FxHashSet::default();
    let mut looked: FxHashSet<FileId> = FxHashSet::default();
    loop {
        let known = carriers.len();
        let files = resolver.files_where(|_, words| spoken.iter().any(|maker| maker.is_in(words)) || words.has_any(&carriers));
        for file in files.into_iter().filter(|f| looked.insert(*f)) {
            finder.decorated(file, &mut found);
            finder.called(file, &mut found);
            carriers.extend(finder.carriers(file));
        }
        if carriers.len() == known {
            return found.into_values().collect();
        }
    }
}

/// The names of what makes kernels of `triton.language`.
const TRITON: &[(&str, &str)] = &[
    ("triton.jit", "triton"),
    ("triton.runtime.jit", "triton"),
    ("triton.runtime.jit.jit", "triton"),
    ("triton.JITFunction", "triton"),
    ("triton.runtime.jit.JITFunction", "triton"),
    ("triton.experimental.gluon.jit", "gluon"),
    ("triton.experimental.gluon._runtime.jit", "gluon"),
];

/// What a decorator makes of a function.
#[derive(Clone, Debug, Default)]
struct Meaning {
    /// Its qualified name.
    name: String,
    /// (dialect, readable) if it makes a kernel.
    dialect: Option<(String, bool)>,
}

struct Finder<'r, 'a> {
    resolver: &'r Resolver<'a>,
    others: Vec<&'r KernelDecorator>,
    /// Meanings of decorators by scope and text.
    known: FxHashMap<(FunctionRef, u64), Meaning>,
    /// Functions of the project that hand their argument to `triton.jit`.
    makers: FxHashMap<FunctionRef, Option<(String, bool)>>,
}

impl Finder<'_, '_> {
    fn decorated(&mut self, file: FileId, found: &mut BTreeMap<FunctionRef, Found>) {
        for (id, function) in self.resolver.facts(file).functions() {
            if function.decorators.is_empty() || !matches!(function.kind, FunctionKind::Def) {
                continue;
            }
            let parent = at(file, function.parent);
            let meanings: Vec<Meaning> = function.decorators.iter().map(|d| self.meaning(parent, d.value)).collect();
            if let Some((dialect, readable)) = meanings.iter().find_map(|m| m.dialect.clone()) {
                let decorators = meanings.into_iter().map(|m| m.name).collect();
                let function = at(file, id);
                found.insert(
                    function,
                    Found {
                        function,
                        dialect,
                        readable,
                        decorators,
                    },
                );
            }
        }
    }

    /// `k = triton.jit(fn)`
    fn called(&mut self, file: FileId, found: &mut BTreeMap<FunctionRef, Found>) {
        let facts = self.resolver.facts(file);
        if !facts.names.iter().any(|n| names_jit(n)) {
            return;
        }
        for (id, function) in facts.functions() {
            for call in &function.body.calls {
                let [first, ..] = call.args.as_slice() else { continue };
                let may_be_jit = match function.body.op(call.callee) {
                    Op::Attr(_, name) | Op::Free(name) => names_jit(facts.name(name)),
                    Op::Call(_) => true,
                    _ => false,
                };
                if call.decorates.is_some() || first.kind != ArgKind::Positional || !may_be_jit {
                    continue;
                }
                let scope = at(file, id);
                let Some((dialect, readable)) = self.meaning(scope, call.callee).dialect else {
                    continue;
                };
                for kernel in self.resolver.functions(scope, first.value) {
                    let decorators = vec!["triton.jit".to_string()];
                    let new = Found {
                        function: kernel,
                        dialect: dialect.clone(),
                        readable,
                        decorators,
                    };
                    found.entry(kernel).or_insert(new);
                }
            }
        }
    }

    fn meaning(&mut self, scope: FunctionRef, value: ValueId) -> Meaning {
        let key = self.text_of(scope, value).map(|hash| (scope, hash));
        if let Some(known) = key.and_then(|k| self.known.get(&k)) {
            return known.clone();
        }
        let meaning = self.find_meaning(scope, value);
        if let Some(key) = key {
            self.known.insert(key, meaning.clone());
        }
        meaning
    }

    /// A hash of `a.b.c` or of the callee of `a.b.c(…)`; `None` for anything else.
    fn text_of(&self, scope: FunctionRef, value: ValueId) -> Option<u64> {
        let body = self.resolver.body(scope);
        let mut hasher = FxHasher::default();
        let mut here = value;
        loop {
            match body.op(here) {
                Op::Attr(object, name) => {
                    name.hash(&mut hasher);
                    here = object;
                }
                Op::Call(call) if here == value => {
                    "()".hash(&mut hasher);
                    here = body.call(call).callee;
                }
                // one value is one meaning
                Op::Free(_) | Op::Import(_) => {
                    here.hash(&mut hasher);
                    return Some(hasher.finish());
                }
                _ => return None,
            }
        }
    }

    fn find_meaning(&mut self, scope: FunctionRef, value: ValueId) -> Meaning {
        let mut meaning = Meaning::default();
        for entity in self.resolver.entities(scope, value) {
            let dialect = match &entity {
                Entity::External(path) => self.dialect_of(path),
                Entity::Made(path, made) if path.starts_with("functools.partial") => match self.resolver.body(made.at).op(made.value) {
                    Op::Call(call) => self.partial(made.at, call),
                    _ => None,
                },
                Entity::Made(path, _) => self.dialect_of(path.trim_end_matches("()")),
                Entity::Function(f) | Entity::Bound(f) => self.dialect_of(&self.resolver.qualified(*f)).or_else(|| self.maker(*f)),
                Entity::Class(_) | Entity::Instance(_) | Entity::Module(_) | Entity::Namespace(_) | Entity::Value(_) => None,
            };
            let name = match &entity {
                Entity::External(path) | Entity::Made(path, _) => path.trim_end_matches("()").to_string(),
                Entity::Function(f) | Entity::Bound(f) => self.resolver.qualified(*f),
                Entity::Class(c) | Entity::Instance(c) => self.resolver.qualified_class(*c),
                Entity::Module(_) | Entity::Namespace(_) | Entity::Value(_) => String::new(),
            };
            if dialect.is_some() && meaning.dialect.is_none() {
                meaning = Meaning { name, dialect };
            } else if meaning.name.is_empty() {
                meaning.name = name;
            }
        }
        // a decorator made by a call of the project's own function: `@my_jit(…)`
        if meaning.dialect.is_none()
            && let Op::Call(call) = self.resolver.body(scope).op(value)
        {
            let callee = self.resolver.body(scope).call(call).callee;
            for entity in self.resolver.entities(scope, callee) {
                let dialect = match &entity {
                    Entity::Function(f) => self.dialect_of(&self.resolver.qualified(*f)).or_else(|| self.maker(*f)),
                    Entity::External(path) => self.dialect_of(path),
                    _ => None,
                };
                if let Entity::Function(f) = entity
                    && meaning.name.is_empty()
                {
                    meaning.name = self.resolver.qualified(f);
                }
                meaning.dialect = meaning.dialect.or(dialect);
            }
        }
        meaning
    }

    fn partial(&mut self, scope: FunctionRef, call: crate::facts::CallId) -> Option<(String, bool)> {
        let first = self.resolver.body(scope).call(call).args.first()?;
        self.resolver.entities(scope, first.value).iter().find_map(|e| match e {
            Entity::External(path) => self.dialect_of(path),
            _ => None,
        })
    }

    fn dialect_of(&self, path: &str) -> Option<(String, bool)> {
        if let Some(other) = self.others.iter().find(|k| k.name == path) {
            return Some((other.dialect.clone(), other.triton));
        }
        let (_, dialect) = TRITON.iter().find(|(name, _)| *name == path)?;
        Some(((*dialect).to_string(), true))
    }

    fn maker_names(&self) -> impl Iterator<Item = &str> {
        let triton = TRITON.iter().map(|(name, _)| *name);
        triton.chain(self.others.iter().map(|k| k.name.as_str()))
    }

    /// Names of this file under which others may make kernels without saying so.
    fn carriers(&mut self, file: FileId) -> Vec<Word> {
        let mut found = reach::carriers(self.resolver, file, &|path| self.dialect_of(path).is_some());
        let facts = self.resolver.facts(file);
        if !facts.names.iter().any(|n| names_jit(n)) {
            return found;
        }
        let mut outer = BTreeSet::new();
        for (id, function) in facts.functions() {
            let scope = at(file, id);
            let makes = |call: &Call| {
                let spoken = self.resolver.spoken(scope, call.callee);
                let gives = call.args.first().is_some_and(|a| self.is_parameter(scope, a.value));
                call.decorates.is_none() && gives && spoken.is_some_and(names_jit)
            };
            if function.body.calls.iter().any(makes) {
                let is_local = facts.function(function.parent).kind == FunctionKind::Def;
                outer.insert(if is_local { function.parent } else { id });
            }
        }
        for id in outer {
            let function = facts.function(id);
            let name = facts.name(function.name);
            if function.kind == FunctionKind::Def && !name.starts_with("__") && self.maker(at(file, id)).is_some() {
                let word = Word::of(name);
                found.push(if function.class.is_some() { word.as_attribute() } else { word });
            }
        }
        found
    }

    /// Whether a function of the project, or one inside it, gives its own parameter to `triton.jit`.
    fn maker(&mut self, f: FunctionRef) -> Option<(String, bool)> {
        if let Some(known) = self.makers.get(&f) {
            return known.clone();
        }
        self.makers.insert(f, None);
        let facts = self.resolver.facts(f.file);
        let inside = |id: crate::facts::FunctionId| id == f.function || facts.function(id).parent == f.function;
        let mut made = None;
        for (id, function) in facts.functions().filter(|(id, _)| inside(*id)) {
            let scope = at(f.file, id);
            for call in &function.body.calls {
                let gives_param = call.args.first().is_some_and(|a| self.is_parameter(scope, a.value));
                if made.is_none() && gives_param && call.decorates.is_none() {
                    made = self.resolver.entities(scope, call.callee).iter().find_map(|e| match e {
                        Entity::External(path) | Entity::Made(path, _) => self.dialect_of(path.trim_end_matches("()")),
                        _ => None,
                    });
                }
            }
        }
        self.makers.insert(f, made.clone());
        made
    }

    fn is_parameter(&self, scope: FunctionRef, value: ValueId) -> bool {
        match self.resolver.body(scope).op(value) {
            Op::Param(_) => true,
            Op::Free(name) => self.resolver.function(self.resolver.parent(scope)).param(name).is_some(),
            _ => false,
        }
    }
}

fn names_jit(name: &str) -> bool {
    name.as_bytes().windows(3).any(|part| matches!(part, b"jit" | b"JIT" | b"Jit"))
}
