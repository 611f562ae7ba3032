//! What a value refers to: the one place where names are looked up.
//!
//! Answers are sets: a name that a `try`/`except ImportError` or an `if` binds twice has two meanings. An empty set or
//! [`Entity::Value`] means that it is not known to be any named thing.

mod calls;
mod classes;
mod displays;
mod lazy;
mod names;
mod texts;

use super::modules::Modules;
use super::reach::{Read, Said, Speakers};
use crate::facts::{Body, ClassId, Facts, Function, Name, Op, ValueId};
use crate::knowledge::Knowledge;
use crate::program::{FunctionRef, ProgramFile};
use crate::source::FileId;
use crate::words::Word;
use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::Hash;
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

/// What was found under names.
type ByName = FxHashMap<Box<str>, Arc<Entities>>;

/// Results looked up once, shared between threads.
type Memo<K, V> = RwLock<FxHashMap<K, Arc<V>>>;

/// A result that is known already, or is found now.
fn remembered<K: Copy + Eq + Hash, V>(memo: &Memo<K, V>, key: K, find: impl FnOnce() -> V) -> Arc<V> {
    if let Some(known) = memo.read().expect("no panic while locked").get(&key) {
        return known.clone();
    }
    let found = Arc::new(find());
    memo.write().expect("no panic while locked").insert(key, found.clone());
    found
}

/// What is asked of a class: on an instance or not, and how deep names may be followed.
type Asked = (ClassRef, bool, u32);

/// Looks names up over all files.
#[derive(Debug)]
pub(crate) struct Resolver<'a> {
    pub(crate) files: &'a [ProgramFile],
    pub(crate) modules: &'a Modules,
    knowledge: &'a Knowledge,
    /// Files that a look at all files concerned.
    pub(crate) read: Read,
    /// Other names that some file gives a word.
    renamed: OnceLock<FxHashMap<Word, Vec<Word>>>,
    /// Name tables by text, made for a file when it is first asked.
    /// What functions assign to globals, by file.
    filled_in: Vec<OnceLock<FxHashMap<Name, Vec<ValueRef>>>>,
    /// Plain names of functions that frameworks know to import, or to build, what they hand back.
    importers: FxHashSet<&'a str>,
    exports: Memo<(FileId, Name), Entities>,
    /// Exports by names that do not stand in the file.
    unnamed: Memo<(FileId, Arc<str>), Entities>,
    attributes: Memo<ClassRef, Attributes>,
    /// Members by name.
    members: RwLock<FxHashMap<Asked, ByName>>,
    bases: Memo<ClassRef, Entities>,
    lineages: Memo<ClassRef, Vec<ClassRef>>,
    /// By the name of a class.
    pub(super) speakers: Memo<Box<str>, Speakers>,
    /// What lines say of a class, by its name.
    pub(super) said: Memo<Box<str>, Said>,
}

impl<'a> Resolver<'a> {
    /// A resolver over linked modules.
    pub(crate) fn new(files: &'a [ProgramFile], modules: &'a Modules, knowledge: &'a Knowledge) -> Self {
        let lazy = knowledge.frameworks.iter().flat_map(|k| k.lazy.iter().map(|row| &row.call));
        let builders = knowledge.frameworks.iter().flat_map(|k| &k.builders);
        let importers = lazy.chain(builders).filter_map(|call| call.rsplit('.').next());
        Self {
            files,
            modules,
            knowledge,
            read: Read::new(files.len()),
            renamed: OnceLock::new(),
            filled_in: files.iter().map(|_| OnceLock::new()).collect(),
            importers: importers.collect(),
            exports: RwLock::default(),
            unnamed: RwLock::default(),
            attributes: RwLock::default(),
            members: RwLock::default(),
            bases: RwLock::default(),
            lineages: RwLock::default(),
            speakers: RwLock::default(),
            said: RwLock::default(),
        }
    }

    /// Other names that some file gives a word in an `import … as`.
    pub(crate) fn renamed(&self, word: Word) -> &[Word] {
        let all = self.renamed.get_or_init(|| {
            let mut all = FxHashMap::<Word, Vec<Word>>::default();
            for (old, new) in self.files.iter().flat_map(|file| &*file.words.renamed) {
                all.entry(*old).or_default().push(*new);
            }
            all.values_mut().for_each(|names| {
                names.sort_unstable();
                names.dedup();
            });
            all
        });
        all.get(&word).map_or(&[], Vec::as_slice)
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

    /// The plain name of a class.
    pub(crate) fn class_name(&self, class: ClassRef) -> &'a str {
        let facts = self.facts(class.file);
        facts.name(facts.classes[class.class.index()].name)
    }

    /// The name that a file has for a text, if the text stands there at all.
    pub(crate) fn find_name(&self, file: FileId, text: &str) -> Option<Name> {
        self.facts(file).names.find(text)
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
            Op::Free(name) => self.collect_free(v.at, Some(name), self.text(v.at.file, name), depth, out),
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

    /// Whether a function carries the decorator of this plain name.
    pub(crate) fn has_plain_decorator(&self, f: FunctionRef, name: &str) -> bool {
        let body = self.body(self.parent(f));
        self.function(f)
            .decorators
            .iter()
            .any(|d| matches!(body.op(d.value), Op::Free(n) if self.text(f.file, n) == name))
    }
}
