//! Calls that run kernels past the dispatcher without Triton: libraries that framework files name, code that is built at run
//! time, kernels of other dialects called as functions.
//!
//! Only files that import such a library, build code, or speak of a name that one of these hands on are looked at.

use super::host::Host;
use super::launches::inside_kernel;
use super::reach::{Item, Mentioned, SoughtNames, Spoken};
use super::receivers::{self, Object};
use super::resolve::Entity;
use crate::facts::{Arg, ArgKind, Call, Const, Facts, Function, FunctionKind, MODULE, Name, Op, ValueId};
use crate::program::{FunctionRef, Kernel, KernelCall, ProgramFile};
use crate::source::{FileId, Place, Span};
use crate::words::Word;
use memchr::memmem;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Callees of more characters are shortened, in messages.
const LONGEST_CALLEE: usize = 40;

/// Functions with their calls, sorted.
pub(crate) type Found = Vec<(FunctionRef, Vec<KernelCall>)>;

/// Names travel over at most so many files: a lazy wrapper, a re-export of it.
const HANDS: usize = 3;

/// All such calls.
pub(crate) fn calls(host: &Host<'_>, kernels: &[(Kernel, super::kernels::KernelEffects)]) -> Found {
    let others = kernels.iter().filter(|(k, _)| !matches!(k.dialect.as_str(), "triton" | "gluon"));
    let dialects: FxHashMap<FunctionRef, &str> = others.map(|(k, _)| (k.function, k.dialect.as_str())).collect();
    let search = Search::new(host, dialects);
    let called = search.called(kernels);
    let text = |f: FunctionRef| host.resolver.text(f.file, host.resolver.function(f).name);
    let mut names: FxHashSet<String> = called.iter().map(|f| text(*f).to_owned()).collect();
    let homes: FxHashSet<FileId> = search.dialects.keys().map(|k| k.file).collect();
    let mentioned = Mentioned::new(host.resolver, &called);
    let mut files = host
        .resolver
        .files_where(|id, words| search.concerns(&host.resolver.files[id.index()]) || homes.contains(&id) || mentioned.is_in(id, words));
    let mut items: FxHashSet<Item> = FxHashSet::default();
    let mut seen: BTreeMap<FileId, Own> = BTreeMap::new();
    let mut all: Vec<FileId> = files.clone();
    for _ in 0..HANDS {
        let sought: SoughtNames = names.iter().map(String::as_str).collect();
        let looked: Vec<(FileId, Own, Vec<Item>)> = files
            .par_iter()
            .map(|&file| {
                let own = search.own(file, &sought);
                let handed_on = search.handed_on(file, &own, &names);
                (file, own, handed_on)
            })
            .collect();
        let mut new: Vec<Item> = Vec::new();
        for (file, own, handed_on) in looked {
            seen.insert(file, own);
            new.extend(handed_on.into_iter().filter(|item| items.insert(*item)));
        }
        if new.is_empty() {
            break;
        }
        names.extend(new.iter().map(|item| item.name().to_owned()));
        // What was found in a file stands until a later one hands it a name.
        seen.retain(|file, _| !new.iter().any(|item| host.resolver.find_name(*file, item.name()).is_some()));
        let mut mentioned = Mentioned::default();
        mentioned.add(host.resolver, new.into_iter());
        let known: FxHashSet<FileId> = all.iter().copied().collect();
        files = host
            .resolver
            .files_where(|id, words| !known.contains(&id) && mentioned.is_in(id, words));
        all.extend(files.iter().copied());
    }
    all.sort_unstable();
    let sought: SoughtNames = names.iter().map(String::as_str).collect();
    all.into_par_iter()
        .flat_map_iter(|file| match seen.get(&file) {
            Some(own) => search.in_file(file, own),
            None => search.in_file(file, &search.own(file, &sought)),
        })
        .collect()
}

struct Search<'s, 'a> {
    host: &'s Host<'a>,
    /// Kernels of other dialects.
    dialects: FxHashMap<FunctionRef, &'s str>,
    /// Top packages of libraries, each with its word and the ways to import it.
    libraries: Vec<(String, Word, [String; 4])>,
    /// How files speak of builders of native code; of the project's own by the name alone, which others may hand on.
    builders: Vec<Spoken>,
    own_builders: Vec<Word>,
    /// The last parts as texts.
    lasts: SoughtNames<'s>,
}

impl<'s, 'a> Search<'s, 'a> {
    fn new(host: &'s Host<'a>, dialects: FxHashMap<FunctionRef, &'s str>) -> Self {
        let rows = host.knowledge.frameworks.iter().flat_map(|k| &k.bypass);
        let mut tops: Vec<&str> = rows.flat_map(|row| &row.calls).filter_map(|p| p.split('.').next()).collect();
        tops.sort_unstable();
        tops.dedup();
        let ways = |top: &str| {
            [
                format!("import {top}"),
                format!("from {top}"),
                format!("\"{top}"),
                format!("'{top}"),
            ]
        };
        let libraries = tops.into_iter().map(|top| (top.to_owned(), Word::of(top), ways(top))).collect();
        let builders = host.knowledge.frameworks.iter().flat_map(|k| &k.builders);
        let own: FxHashSet<&str> = host.resolver.files.iter().filter_map(|f| f.module.split('.').next()).collect();
        let (ours, others): (Vec<&String>, Vec<&String>) = builders
            .clone()
            .partition(|name| name.split('.').next().is_some_and(|top| own.contains(top)));
        let last = |name: &String| Word::of(name.rsplit('.').next().unwrap_or(name));
        Self {
            host,
            dialects,
            libraries,
            lasts: builders.clone().filter_map(|name| name.rsplit('.').next()).collect(),
            builders: others.into_iter().map(|name| Spoken::new(host.resolver, name)).collect(),
            own_builders: ours.into_iter().map(last).collect(),
        }
    }

    /// Kernels of other dialects that the host calls like functions.
    fn called(&self, kernels: &[(Kernel, super::kernels::KernelEffects)]) -> FxHashSet<FunctionRef> {
        let resolver = self.host.resolver;
        let rows = self
            .host
            .knowledge
            .frameworks
            .iter()
            .flat_map(|k| &k.kernel)
            .filter(|row| row.called);
        let rows: FxHashSet<&str> = rows.map(|row| row.name.as_str()).collect();
        let called = kernels.iter().map(|(kernel, _)| kernel).filter(|k| {
            self.dialects.contains_key(&k.function)
                && resolver.parent(k.function).function == MODULE
                && k.decorators.iter().any(|d| rows.contains(d.as_str()))
        });
        called.map(|k| k.function).collect()
    }

    /// The file imports a library, or builds code.
    fn concerns(&self, file: &ProgramFile) -> bool {
        let text = file.source.text.as_bytes();
        let imports = |ways: &[String; 4]| ways.iter().any(|way| memmem::find(text, way.as_bytes()).is_some());
        self.libraries.iter().any(|(_, word, ways)| file.words.has(*word) && imports(ways))
            || self.builders.iter().any(|spoken| spoken.is_in(&file.words))
            || file.words.has_any(&self.own_builders)
    }

    /// Names of a file that stand for such things: imports, bindings, attributes, functions that hand one back.
    fn own(&self, file: FileId, known: &SoughtNames) -> Own {
        let facts = self.host.resolver.facts(file);
        let known = known.flags(self.host.resolver, file);
        let mut own = Own {
            names: known.clone(),
            imported: vec![false; facts.names.len()],
            leads: vec![false; facts.names.len()],
            lasts: self.lasts.flags(self.host.resolver, file),
            importer: self.host.resolver.find_name(file, "importlib"),
            lookup: self.host.resolver.find_name(file, "getattr"),
            annotated: Mutex::default(),
        };
        for import in facts.imports.iter().filter(|i| i.level == 0) {
            let module = facts.name(import.module);
            let top = module.split('.').next().unwrap_or_default();
            if self.libraries.iter().any(|(name, ..)| name == top) {
                own.imported[import.bound.index()] = true;
            }
            match self.leads_to_builder(module, import.member.map(|m| facts.name(m))) {
                Some(true) => own.imported[import.bound.index()] = true,
                Some(false) => own.leads[import.bound.index()] = true,
                None => {}
            }
        }
        for import in facts.imports.iter().filter(|i| i.member.is_some_and(|m| known[m.index()])) {
            own.names[import.bound.index()] = true;
        }
        for _ in 0..3 {
            let mut more = Vec::new();
            for (id, function) in facts.functions() {
                let at = FunctionRef { file, function: id };
                let speaks = speaking(self, at, &own);
                for (_, v) in function.body.iter() {
                    match v.op {
                        Op::SetAttr(_, name, value) | Op::SetOuter(name, value) if !own.has(name) && speaks[value.index()] => {
                            more.push(name)
                        }
                        Op::Return(value) if !own.has(function.name) && speaks[value.index()] => more.push(function.name),
                        _ => {}
                    }
                }
                if matches!(function.kind, FunctionKind::Module | FunctionKind::Class) {
                    for (name, values) in &function.assigned {
                        if !own.has(*name) && values.iter().any(|&v| speaks[v.index()]) {
                            more.push(*name);
                        }
                    }
                }
            }
            if more.is_empty() {
                break;
            }
            more.into_iter().for_each(|name| own.names[name.index()] = true);
        }
        own
    }

    /// An import of a builder (true), or of a module on the way to one: all but the last two parts of its name, or more.
    fn leads_to_builder(&self, module: &str, member: Option<&str>) -> Option<bool> {
        let path = member.map_or(module.to_owned(), |member| format!("{module}.{member}"));
        let leads = |builder: &String| {
            let rest = builder.strip_prefix(&path)?;
            (rest.is_empty() || rest.starts_with('.') && rest.matches('.').count() <= 2).then_some(rest.is_empty())
        };
        let builders = self.host.knowledge.frameworks.iter().flat_map(|k| &k.builders);
        builders.filter_map(leads).max()
    }

    /// Names by which other files may reach what this one holds. Plain imports are not handed on, but by `__init__` files.
    fn handed_on(&self, file: FileId, own: &Own, known: &FxHashSet<String>) -> Vec<Item<'a>> {
        let facts = self.host.resolver.facts(file);
        let module = FunctionRef { file, function: MODULE };
        let mut found = Vec::new();
        for (name, value) in &facts.module().bindings {
            let text = facts.name(*name);
            let import = matches!(facts.module().body.op(*value), Op::Import(_));
            let reexported = own.imported[name.index()] && import && self.host.resolver.files[file.index()].is_package;
            if !(own.names[name.index()] || reexported) || import && known.contains(text) || text.len() < 4 {
                continue;
            }
            let entities = self.host.resolver.entities(module, *value);
            let stands = entities.iter().any(|e| match e {
                Entity::External(path) => self.host.knowledge.bypass(path).is_some(),
                Entity::Made(path, _) => self.is_builder(path) || self.host.knowledge.bypass(path).is_some(),
                Entity::Function(f) => self.makes(*f),
                _ => false,
            });
            if stands {
                found.push(Item::Global(file, text));
            }
        }
        found.extend(self.fields(file, own).filter(|name| !known.contains(*name)).map(Item::Attribute));
        found
    }

    /// Fields of classes that are annotated with a class of a library.
    fn fields<'o>(&'o self, file: FileId, own: &'o Own) -> impl Iterator<Item = &'a str> + 'o {
        let resolver = self.host.resolver;
        let facts = resolver.facts(file);
        let classes = facts.functions().filter(|(_, f)| f.kind == FunctionKind::Class);
        let fields = classes.flat_map(move |(id, class)| class.assigned.iter().map(move |a| (FunctionRef { file, function: id }, a)));
        let annotated = fields.filter(move |(at, (_, values))| {
            values.iter().any(|&v| match resolver.body(*at).op(v) {
                Op::Annotated(annotation, _) => annotates(self, *at, annotation, own, 6),
                _ => false,
            })
        });
        annotated
            .map(move |(_, (name, _))| facts.name(*name))
            .filter(|name| name.len() >= 6)
    }

    /// A class of a library, by its name, but for torch's own, of which few run kernels.
    fn has_class(&self, path: &str) -> bool {
        let knowledge = self.host.knowledge;
        let mut rows = knowledge.frameworks.iter().flat_map(|k| &k.bypass).flat_map(|row| &row.calls);
        let top = path.split('.').next().unwrap_or(path);
        let is_library = top != "torch" && self.libraries.iter().any(|(name, ..)| name == top);
        names_class(path)
            && (is_library
                || knowledge.bypass(&format!("{path}.__call__")).is_some()
                || rows.any(|row| row.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'))))
    }

    /// A function that hands back built code.
    fn makes(&self, f: FunctionRef) -> bool {
        let body = self.host.resolver.body(f);
        body.iter().any(|(_, v)| match v.op {
            Op::Return(value) => self.host.resolver.entities(f, value).iter().any(|e| match e {
                Entity::Made(path, _) => self.is_builder(path),
                Entity::External(path) => self.host.knowledge.bypass(path).is_some(),
                _ => false,
            }),
            _ => false,
        })
    }

    fn is_builder(&self, path: &str) -> bool {
        self.builder(path).is_some()
    }

    /// The framework file that knows a builder.
    fn builder(&self, path: &str) -> Option<&'s str> {
        let path = path.trim_end_matches("()");
        let mut frameworks = self.host.knowledge.frameworks.iter();
        let found = frameworks.find(|k| k.builders.iter().any(|b| b == path))?;
        Some(&found.name)
    }

    fn in_file(&self, file: FileId, own: &Own) -> Found {
        let facts = self.host.resolver.facts(file);
        if !own.names.iter().chain(&own.imported).chain(&own.leads).any(|x| *x) {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (id, function) in facts.functions() {
            let at = FunctionRef { file, function: id };
            if matches!(function.kind, FunctionKind::Module | FunctionKind::Class)
                || self.host.is_kernel(at)
                || inside_kernel(self.host, at)
            {
                continue;
            }
            let speaks = speaking(self, at, own);
            let mut calls = Vec::new();
            for (value, v) in function.body.iter() {
                let Op::Call(id) = v.op else { continue };
                let call = function.body.call(id);
                if call.decorates.is_some() || !speaks[call.callee.index()] {
                    continue;
                }
                // What makes a kernel is given sizes; the kernel, which may be handed on, is given the tensors.
                let goes_on = || is_called(function, value) || has_more_than_constants(function, call) && is_returned(function, value);
                if !has_tensor(facts, function, call) && !goes_on() {
                    continue;
                }
                if let Some((callee, library, certain)) = self.callee(at, value, call) {
                    calls.push(KernelCall {
                        call: id,
                        value,
                        place: Place { file, span: v.span },
                        callee,
                        library,
                        certain,
                    });
                }
            }
            if !calls.is_empty() {
                found.push((at, calls));
            }
        }
        found
    }

    /// What the callee of a call is, and whose.
    fn callee(&self, at: FunctionRef, value: ValueId, call: &Call) -> Option<(String, String, bool)> {
        let host = self.host;
        let body = host.resolver.body(at);
        let callee = call.callee;
        let written = || {
            let source = &host.resolver.files[at.file.index()].source;
            written_callee(source.slice(Span::new(
                body.value(value).span.start,
                call.args.first().map_or(body.value(value).span.end, |a| a.span.start),
            )))
        };
        let library = |path: &str| {
            let known = host.knowledge.bypass(path).filter(|_| !is_inside_instance(path))?;
            Some((path.to_owned(), known.library.to_owned(), false))
        };
        for entity in host.resolver.entities(at, callee) {
            let found = match entity {
                Entity::External(path) if !names_class(&path) => library(&path),
                Entity::Made(path, _) => match self.builder(&path) {
                    Some(name) => Some((written(), name.to_owned(), true)),
                    None if names_class(&path) => library(&format!("{path}.__call__")),
                    None => None,
                },
                Entity::Function(f) => self.dialects.get(&f).filter(|_| !self.is_factory(f)).map(|dialect| {
                    let name = host.resolver.text(f.file, host.resolver.function(f).name);
                    (name.to_owned(), (*dialect).to_owned(), true)
                }),
                _ => None,
            };
            if found.is_some() {
                return found;
            }
        }
        match body.op(callee) {
            Op::Attr(object, name) => {
                let name = host.resolver.text(at.file, name);
                let made = host.resolver.entities(at, object).into_iter().find_map(|e| match e {
                    Entity::Made(path, _) => self.builder(&path),
                    _ => None,
                });
                if let Some(builder) = made {
                    return Some((written(), builder.to_owned(), true));
                }
                let objects = receivers::objects(host.resolver, at, object);
                objects.known.iter().find_map(|object| match object {
                    Object::Outside(path) => library(&format!("{path}.{name}")),
                    _ => None,
                })
            }
            Op::Call(inner) => self.made_by_factory(at, body.call(inner).callee).map(|d| (written(), d, true)),
            Op::Index(table, _) => {
                let text = |v: ValueId| host.resolver.files[at.file.index()].source.slice(body.value(v).span);
                let filled = body.iter().find_map(|(_, v)| match v.op {
                    Op::SetIndex(other, _, value) if text(other) == text(table) => self.built(at, value),
                    _ => None,
                });
                filled.map(|name| (written(), name, true))
            }
            _ => None,
        }
    }

    /// The framework whose builder, or the dialect whose factory, made a value.
    fn built(&self, at: FunctionRef, value: ValueId) -> Option<String> {
        let resolver = self.host.resolver;
        let made = resolver.entities(at, value).into_iter().find_map(|e| match e {
            Entity::Made(path, _) => self.builder(&path).map(str::to_owned),
            _ => None,
        });
        made.or_else(|| match resolver.body(at).op(value) {
            Op::Call(call) => self.made_by_factory(at, resolver.body(at).call(call).callee),
            _ => None,
        })
    }

    /// The dialect of a kernel that is made by calling a function which holds it (TileLang).
    fn made_by_factory(&self, at: FunctionRef, callee: ValueId) -> Option<String> {
        let mut functions = self.host.resolver.functions(at, callee).into_iter();
        functions.find_map(|f| self.dialects.get(&f).filter(|_| self.is_factory(f)).map(|d| (*d).to_owned()))
    }

    /// The kernel is a function inside of it.
    fn is_factory(&self, f: FunctionRef) -> bool {
        self.dialects
            .keys()
            .any(|k| k.file == f.file && self.host.resolver.parent(*k) == f && *k != f)
    }
}

/// Names of a file that stand for outside kernels, by index.
struct Own {
    names: Vec<bool>,
    imported: Vec<bool>,
    /// Imports on the way to a builder.
    leads: Vec<bool>,
    /// Last parts of builders' names.
    lasts: Vec<bool>,
    /// `importlib`
    importer: Option<Name>,
    /// `getattr`
    lookup: Option<Name>,
    /// Whether `name.attribute` is a class of a library, as an annotation: the same ones stand at most parameters.
    annotated: Mutex<FxHashMap<(Name, Name), bool>>,
}

impl Own {
    fn has(&self, name: Name) -> bool {
        self.names[name.index()] || self.imported[name.index()]
    }
}

/// Which values of a body speak of one of the names: a cheap look, in one pass, before anything is resolved.
fn speaking(search: &Search<'_, '_>, at: FunctionRef, own: &Own) -> Vec<bool> {
    let resolver = search.host.resolver;
    let facts = resolver.facts(at.file);
    let body = resolver.body(at);
    let mut flags: Vec<bool> = Vec::with_capacity(body.values.len());
    let mut leads: Vec<bool> = Vec::with_capacity(body.values.len());
    let of = |flags: &[bool], v: ValueId| flags.get(v.index()).copied().unwrap_or(false);
    for (_, value) in body.iter() {
        leads.push(match value.op {
            Op::Free(name) => own.leads[name.index()],
            Op::Import(import) => own.leads[facts.imports[import.index()].bound.index()],
            Op::Attr(object, _) => of(&leads, object),
            _ => false,
        });
        let any = |items: &[ValueId]| items.iter().any(|&v| of(&flags, v));
        let flag = match value.op {
            Op::Free(name) => own.has(name) || own.importer == Some(name),
            Op::Import(import) => own.has(facts.imports[import.index()].bound),
            Op::Function(f) => own.has(facts.function(f).name),
            Op::Attr(object, name) => own.names[name.index()] || of(&flags, object) || own.lasts[name.index()] && of(&leads, object),
            Op::Call(call) => {
                let call = body.call(call);
                let looks_up = matches!(body.op(call.callee), Op::Free(n) if own.lookup == Some(n));
                of(&flags, call.callee) || looks_up && call.args.first().is_some_and(|a| of(&flags, a.value))
            }
            Op::Index(v, _) | Op::Unpack { value: v, .. } | Op::Iterate(v) | Op::Enter(v) | Op::Star(v) | Op::Suspend(v) => of(&flags, v),
            Op::Annotated(a, b) | Op::Select(_, a, b) | Op::Binary(_, a, b) => of(&flags, a) || of(&flags, b),
            Op::Phi(items) | Op::Or(items) | Op::And(items) => any(body.items(items)),
            Op::Param(i) => {
                let param = resolver.function(at).params.get(i as usize);
                let parent = resolver.parent(at);
                param
                    .and_then(|p| p.annotation)
                    .is_some_and(|a| annotates(search, parent, a.value, own, 6))
            }
            _ => false,
        };
        flags.push(flag);
    }
    flags
}

/// Whether an annotation speaks of a class of a library.
fn annotates(search: &Search<'_, '_>, at: FunctionRef, value: ValueId, own: &Own, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let resolver = search.host.resolver;
    let body = resolver.body(at);
    let names_one = || {
        let of_library = |entity: &Entity| matches!(entity, Entity::External(path) if search.has_class(path));
        resolver.entities(at, value).iter().any(of_library)
    };
    match body.op(value) {
        Op::Free(name) => own.has(name) && names_one(),
        Op::Import(import) => own.has(resolver.facts(at.file).imports[import.index()].bound) && names_one(),
        Op::Attr(object, name) => match body.op(object) {
            // `torch.Tensor`: a name of the module means the same wherever it is free.
            Op::Free(owner) => {
                let mut known = own.annotated.lock().unwrap_or_else(PoisonError::into_inner);
                *known.entry((owner, name)).or_insert_with(names_one)
            }
            _ => names_one(),
        },
        Op::Binary(_, a, b) | Op::Index(a, b) => [a, b].into_iter().any(|v| annotates(search, at, v, own, depth)),
        _ => false,
    }
}

/// Some argument may be a tensor: without one no shape is lost.
fn has_tensor(facts: &Facts, function: &Function, call: &Call) -> bool {
    let outer = &facts.function(function.parent).body;
    let is_number = |value: ValueId| match function.body.op(value) {
        Op::Param(param) => function.params[param as usize].annotation.is_some_and(|a| match outer.op(a.value) {
            Op::Free(name) => matches!(facts.name(name), "int" | "float" | "bool" | "str"),
            _ => false,
        }),
        _ => false,
    };
    let starred = |arg: &Arg| matches!(arg.kind, ArgKind::Star | ArgKind::StarStar);
    call.args
        .iter()
        .any(|arg| starred(arg) || !is_constant(function, arg) && !is_number(arg.value))
}

fn has_more_than_constants(function: &Function, call: &Call) -> bool {
    call.args.iter().any(|arg| !is_constant(function, arg))
}

/// What is passed is written down, or no tensor as it is made.
fn is_constant(function: &Function, arg: &Arg) -> bool {
    let plain = matches!(
        function.body.op(arg.value),
        Op::Const(Const::None | Const::Bool(_) | Const::Int(_) | Const::BigNumber(_) | Const::Float(_) | Const::Str(_))
            | Op::Format(_)
            | Op::Compare(..)
            | Op::Function(_)
            | Op::Class(_)
    );
    plain && !matches!(arg.kind, ArgKind::Star | ArgKind::StarStar)
}

fn is_called(function: &Function, value: ValueId) -> bool {
    function.body.calls.iter().any(|call| call.callee == value)
}

fn is_returned(function: &Function, value: ValueId) -> bool {
    function.body.iter().any(|(_, v)| v.op == Op::Return(value))
}

/// A callee as it is written, from the text in front of a call's first argument; what long inner calls are given is left out.
fn written_callee(before: &str) -> String {
    let text: Vec<&str> = before
        .trim_end_matches(|c: char| c == '(' || c.is_whitespace())
        .split_whitespace()
        .collect();
    let text = text.join(" ");
    if text.chars().count() <= LONGEST_CALLEE {
        return text;
    }
    let (mut brief, mut depth) = (String::new(), 0usize);
    let mut left = text.chars().peekable();
    while let Some(c) = left.next() {
        match c {
            ')' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            _ => brief.push(c),
        }
        match c {
            '(' if depth == 0 => {
                brief.push_str(if left.peek() == Some(&')') { ")" } else { "…)" });
                depth = 1;
            }
            '(' => depth += 1,
            _ => {}
        }
    }
    brief
}

/// Whether a name leads into an attribute of a class's instance: of what the instance holds nothing is known.
fn is_inside_instance(path: &str) -> bool {
    let class = path.split('.').position(names_class);
    class.is_some_and(|at| at + 2 < path.split('.').count())
}

/// By convention.
fn names_class(path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap_or(path);
    last.trim_start_matches('_').starts_with(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::{is_inside_instance, written_callee};

    #[test]
    fn callees_are_named_as_they_are_written() {
        for (before, name) in [
            ("compiled(", "compiled"),
            ("_get( x )(\n    ", "_get( x )"),
            ("f((", "f"),
            ("_module(first_argument, g(second), third_argument).run(", "_module(…).run"),
            (
                "_a_module_with_a_rather_long_name().with_a_long_method(",
                "_a_module_with_a_rather_long_name().with_a_long_method",
            ),
            ("_a(first_argument, second_argument)(third_argument, more)(", "_a(…)(…)"),
        ] {
            assert_eq!(written_callee(before), name);
        }
    }

    #[test]
    fn what_an_instance_holds_is_unknown() {
        assert!(is_inside_instance("lib.Wrapper._buffer.copy_") && is_inside_instance("lib.m.Plan.tensor.view"));
        assert!(!is_inside_instance("lib.Wrapper.run") && !is_inside_instance("lib.m.f"));
    }
}
