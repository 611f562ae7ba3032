//! How files speak of functions of the project.

use super::HANDS;
use super::speakers::{read_of, speakers_of};
use crate::facts::FunctionKind;
use crate::link::resolve::{ClassRef, Resolver};
use crate::program::FunctionRef;
use crate::source::FileId;
use crate::words::{Sought, Word, Words, imports};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// Files that may speak of functions or other names of the project: of what a module binds together with a name of the module, or
/// of one that hands it on (`module.name`, `from module import name`); of a member of a class by its name as an attribute, beside
/// a name of the class or of what holds an instance; of what is local in its own file alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mentioned {
    owners: FxHashMap<Owner, Beside>,
    names: FxHashMap<Word, Vec<Owner>>,
    /// Files that speak of one of the names.
    found: FxHashSet<FileId>,
    attributes: FxHashSet<Word>,
    /// Names like `__init__`, of which one speaks by the class.
    dunder: FxHashSet<Word>,
    files: FxHashSet<FileId>,
}

/// What binds a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Owner {
    Module(FileId),
    Class(ClassRef),
}

/// How an owner of names is spoken of.
#[derive(Clone, Debug, Default)]
struct Beside {
    words: FxHashSet<Word>,
    /// What holds an instance of a class: no reason to speak of its `__init__`.
    holders: FxHashSet<Word>,
    /// Files inside a package that hands the names on: `from . import name` says nothing else.
    inside: FxHashSet<FileId>,
}

/// What may be spoken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Item<'a> {
    /// A name that a module binds.
    Global(FileId, &'a str),
    /// A name that a class or its instances have.
    Member(ClassRef, &'a str),
    /// An attribute of an object of unknown class.
    Attribute(&'a str),
    /// Something inside a function.
    Local(FileId),
}

impl<'a> Item<'a> {
    /// The name; nothing for what has none outside its file.
    pub(crate) fn name(&self) -> &'a str {
        match self {
            Self::Global(_, name) | Self::Member(_, name) | Self::Attribute(name) => name,
            Self::Local(_) => "",
        }
    }

    /// The name of a function.
    pub(super) fn function(resolver: &Resolver<'a>, f: FunctionRef) -> Self {
        let function = resolver.function(f);
        let name = resolver.text(f.file, function.name);
        match (function.class, resolver.function(resolver.parent(f)).kind) {
            (Some(class), _) => Self::Member(ClassRef { file: f.file, class }, name),
            (None, FunctionKind::Module | FunctionKind::Class) => Self::Global(f.file, name),
            (None, FunctionKind::Def | FunctionKind::AsyncDef | FunctionKind::Lambda) => Self::Local(f.file),
        }
    }
}

impl Mentioned {
    /// How files speak of functions.
    pub(crate) fn new(resolver: &Resolver<'_>, functions: &FxHashSet<FunctionRef>) -> Self {
        let mut found = Self::default();
        found.add(resolver, functions.iter().map(|f| Item::function(resolver, *f)));
        found
    }

    /// Whether a file may speak of one of these methods, for the few files that are asked about: nobody hands a method on by import.
    pub(crate) fn of_methods(resolver: &Resolver<'_>, methods: &FxHashSet<FunctionRef>) -> impl Fn(FileId, &Words) -> bool + use<> {
        let mut all = Self::default();
        all.put(methods.iter().map(|f| Item::function(resolver, *f)));
        all.find_owners(resolver);
        let names = all.asked();
        move |file, words| all.files.contains(&file) || names.in_text(words).any(|name| name.is_in(file, words))
    }

    /// Adds items, and looks for who hands them on.
    pub(crate) fn add<'a>(&mut self, resolver: &Resolver<'a>, items: impl Iterator<Item = Item<'a>>) {
        let mut fresh = Self::default();
        fresh.put(items);
        fresh.find_owners(resolver);
        self.follow(resolver, fresh);
    }

    fn put<'a>(&mut self, items: impl Iterator<Item = Item<'a>>) {
        for item in items {
            match item {
                Item::Global(file, name) => {
                    self.files.insert(file);
                    self.name(Owner::Module(file), Word::of(name));
                }
                Item::Member(class, name) => {
                    self.files.insert(class.file);
                    let word = Word::of(name).as_attribute();
                    self.name(Owner::Class(class), word);
                    if name.starts_with("__") {
                        self.dunder.insert(word);
                    }
                }
                Item::Attribute(name) => {
                    self.attributes.insert(Word::of(name).as_attribute());
                }
                Item::Local(file) => {
                    self.files.insert(file);
                }
            }
        }
    }

    /// Finds how the owners are spoken of.
    fn find_owners(&mut self, resolver: &Resolver<'_>) {
        let classes = self.owners.keys().filter_map(|owner| match owner {
            Owner::Class(class) => Some(resolver.class_name(*class)),
            Owner::Module(_) => None,
        });
        read_of(resolver, classes);
        self.owners.par_iter_mut().for_each(|(owner, beside)| match owner {
            Owner::Class(class) => {
                let speakers = speakers_of(resolver, resolver.class_name(*class));
                beside.words.extend(&speakers.classes);
                beside.holders.extend(&speakers.holders);
            }
            Owner::Module(module) => *beside = Beside::module(resolver, *module),
        });
    }

    /// Adds a name to an owner.
    fn name(&mut self, owner: Owner, name: Word) {
        self.owners.entry(owner).or_default();
        let owners = self.names.entry(name).or_default();
        if !owners.contains(&owner) {
            owners.push(owner);
        }
    }

    pub(super) fn join(&mut self, other: Self) {
        self.attributes.extend(other.attributes);
        self.files.extend(other.files);
        self.found.extend(other.found);
        self.dunder.extend(other.dunder);
        other.owners.into_iter().for_each(|(owner, beside)| {
            let own = self.owners.entry(owner).or_default();
            own.words.extend(beside.words);
            own.holders.extend(beside.holders);
            own.inside.extend(beside.inside);
        });
        let names = other.names.into_iter();
        let pairs = names.flat_map(|(name, owners)| owners.into_iter().map(move |owner| (owner, name)));
        pairs.for_each(|(owner, name)| self.name(owner, name));
    }

    /// Modules that import a name at module level hand it on, under the name that they give it: their names are as good.
    fn follow(&mut self, resolver: &Resolver<'_>, mut fresh: Self) {
        let (mut looked, mut imports) = (FxHashSet::default(), Vec::new());
        for _ in 0..HANDS {
            let names = fresh.asked();
            let all = resolver.files.par_iter().enumerate().map(|(i, file)| (FileId(i as u32), file));
            let speaking = all.filter_map(|(id, file)| {
                let mut spoken = names.in_text(&file.words).filter(|name| name.is_in(id, &file.words)).peekable();
                spoken.peek().is_some().then(|| (id, spoken.any(|name| name.is_global)))
            });
            let speaking: Vec<(FileId, bool)> = speaking.collect();
            fresh.found.extend(speaking.iter().map(|(id, _)| *id));
            let globals = speaking.into_iter().filter(|(_, speaks_of_global)| *speaks_of_global);
            let files: Vec<FileId> = globals.map(|(id, _)| id).filter(|id| looked.insert(*id)).collect();
            let read = |id: &FileId| imported(*id, &resolver.files[id.index()].source.text);
            imports.par_extend(files.par_iter().flat_map_iter(read));
            self.join(fresh);
            fresh = Self::default();
            for import in &imports {
                self.hands_on(import, &mut fresh);
            }
            if fresh.names.is_empty() {
                return;
            }
            fresh.find_owners(resolver);
        }
    }

    /// What an import hands on to others that could not be asked before.
    fn hands_on(&self, import: &Imported, fresh: &mut Self) {
        let from = |owner: &&Owner| {
            let beside = self.owners.get(*owner).filter(|_| matches!(owner, Owner::Module(_)));
            beside.is_some_and(|beside| match import.module {
                Some(module) => beside.words.contains(&module),
                None => beside.inside.contains(&import.file),
            })
        };
        let own = Owner::Module(import.file);
        let mut hand = |name: Word| {
            if !self.names.get(&name).is_some_and(|owners| owners.contains(&own)) {
                fresh.name(own, name);
            }
        };
        match import.member {
            Some((member, bound)) => {
                if self
                    .names
                    .get(&member)
                    .is_some_and(|owners| owners.iter().any(|owner| from(&owner)))
                {
                    hand(bound);
                }
            }
            None => {
                let all = self.names.iter().filter(|(_, owners)| owners.iter().any(|owner| from(&owner)));
                all.for_each(|(name, _)| hand(*name));
            }
        }
    }

    /// Whether a file may speak of one of them.
    pub(crate) fn is_in(&self, file: FileId, words: &Words) -> bool {
        self.files.contains(&file) || self.found.contains(&file) || words.has_any(&self.attributes)
    }

    /// The questions that are put to each file.
    fn asked(&self) -> Sought<AskedName> {
        let names = self.names.iter();
        Sought::new(names.map(|(name, owners)| (*name, self.asked_name(*name, owners))).collect())
    }

    fn asked_name(&self, name: Word, owners: &[Owner]) -> AskedName {
        let mut asked = AskedName {
            name,
            ..AskedName::default()
        };
        for owner in owners {
            let Some(beside) = self.owners.get(owner) else { continue };
            match owner {
                Owner::Class(_) => {
                    asked.beside.extend(&beside.words);
                    if !self.dunder.contains(&name) {
                        asked.beside.extend(&beside.holders);
                    }
                }
                Owner::Module(_) => {
                    asked.is_global = true;
                    asked.pairs.extend(beside.words.iter().map(|owner| name.of_owner(*owner)));
                    asked.modules.extend(&beside.words);
                    asked.inside.extend(&beside.inside);
                }
            }
        }
        for words in [&mut asked.pairs, &mut asked.modules, &mut asked.beside] {
            words.sort_unstable();
            words.dedup();
        }
        asked
    }
}

/// A name, and what tells that it is meant.
#[derive(Default)]
struct AskedName {
    name: Word,
    /// A module binds it: who imports it hands it on.
    is_global: bool,
    /// The name together with that of a module.
    pairs: Vec<Word>,
    /// The modules.
    modules: Vec<Word>,
    inside: FxHashSet<FileId>,
    /// Classes, and what holds an instance.
    beside: Vec<Word>,
}

impl AskedName {
    /// A file that holds the name means it.
    fn is_in(&self, file: FileId, words: &Words) -> bool {
        words.has_any(&self.pairs)
            || !self.inside.is_empty() && self.inside.contains(&file) && words.has(self.name.of_package())
            || words.star_like && words.has_any(&self.modules)
            || words.has_any(&self.beside)
    }
}

/// `from module import member as bound` as a module runs it; without a member, `from module import *`.
struct Imported {
    file: FileId,
    /// The last part of the module's name; none in `from . import member`.
    module: Option<Word>,
    member: Option<(Word, Word)>,
}

fn imported(file: FileId, text: &str) -> impl Iterator<Item = Imported> {
    imports(text).into_iter().filter_map(move |import| {
        let member = import.member?;
        let module = import.module.rsplit('.').next().filter(|last| !last.is_empty()).map(Word::of);
        let bound = import.renamed.unwrap_or(member);
        let member = (member != "*").then(|| (Word::of(member), Word::of(bound)));
        Some(Imported { file, module, member })
    })
}

impl Beside {
    /// A module is spoken of by the last part of its name, or another name for that.
    fn module(resolver: &Resolver<'_>, module: FileId) -> Self {
        let file = &resolver.files[module.index()];
        let last = Word::of(file.module.rsplit('.').next().unwrap_or_default());
        let mut beside = Self::default();
        beside.words.insert(last);
        beside.words.extend(resolver.renamed(last));
        if file.is_package {
            let inside = |other: &str| {
                other
                    .strip_prefix(&file.module)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            let files = resolver.files.iter().enumerate().filter(|(_, f)| inside(&f.module));
            beside.inside.extend(files.map(|(i, _)| FileId(i as u32)));
        }
        beside
    }
}
