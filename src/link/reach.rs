//! Which files can matter: the sound prefilter. The others are read, searched for words, and never parsed.
//!
//! A file matters when it speaks of kernels or registrations, when a function that matters calls into it, when its names are
//! used in such a function's signature, or when it mentions a launcher. What a file left out would say is unknown to `link`.

use super::modules::{Found, Modules, absolute};
use crate::facts::{Facts, FunctionId, FunctionKind, ImportId, MODULE, Name, Op, ValueId};
use crate::program::ProgramFile;
use crate::source::FileId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Words one of which a file must hold to matter by itself. Registrars and launchers of framework files are added by the caller.
pub const WORDS: &[&str] = &[
    "triton",
    "gluon",
    "torch.library",
    "custom_op",
    "register_fake",
    "infer_schema",
    "mutates_args",
    "tilelang",
    "cutlass",
    "cute",
    "Library(",
    "opwright:",
];

/// Callers of callers are searched for this many steps out.
const CALLER_STEPS: usize = 3;

/// Files that have not been parsed and are needed by those that have. Sorted.
pub fn needed(files: &[ProgramFile]) -> Vec<FileId> {
    let modules = Modules::new(files);
    let mut reach = Reach {
        files,
        modules: &modules,
        active: FxHashSet::default(),
        work: Vec::new(),
        waiting: FxHashMap::default(),
        indexes: FxHashMap::default(),
        seen: FxHashSet::default(),
        names: Vec::new(),
        methods: FxHashSet::default(),
        classes: FxHashSet::default(),
        needed: FxHashSet::default(),
    };
    reach.start();
    reach.follow();
    reach.search();
    let mut needed: Vec<FileId> = reach.needed.into_iter().collect();
    needed.sort_unstable();
    needed
}

/// What is looked for in one file, by name.
#[derive(Default)]
struct Index<'a> {
    names: FxHashMap<&'a str, Name>,
    /// Functions inside functions.
    nested: FxHashMap<Name, Vec<FunctionId>>,
    methods: FxHashMap<u32, Vec<FunctionId>>,
}

impl<'a> Index<'a> {
    fn new(facts: &'a Facts) -> Self {
        let mut index = Self::default();
        index
            .names
            .extend(facts.names.iter().enumerate().map(|(i, n)| (&**n, Name(i as u32))));
        for (id, function) in facts.functions() {
            match function.class {
                Some(class) => index.methods.entry(class.0).or_default().push(id),
                None if function.parent != MODULE && matches!(function.kind, FunctionKind::Def | FunctionKind::AsyncDef) => {
                    index.nested.entry(function.name).or_default().push(id);
                }
                None => {}
            }
        }
        index
    }
}

struct Reach<'a> {
    files: &'a [ProgramFile],
    modules: &'a Modules,
    active: FxHashSet<(FileId, FunctionId)>,
    work: Vec<(FileId, FunctionId)>,
    /// Module-level names that are reached, and those of them still to look up.
    seen: FxHashSet<(FileId, Name)>,
    names: Vec<(FileId, Name)>,
    /// Attribute names that active functions use: methods of reached classes with such a name are active.
    methods: FxHashSet<&'a str>,
    classes: FxHashSet<(FileId, u32)>,
    /// Methods of reached classes that nothing has named so far.
    waiting: FxHashMap<&'a str, Vec<(FileId, FunctionId)>>,
    indexes: FxHashMap<FileId, Rc<Index<'a>>>,
    needed: FxHashSet<FileId>,
}

impl<'a> Reach<'a> {
    fn index(&mut self, file: FileId) -> Rc<Index<'a>> {
        let facts = self.facts(file);
        self.indexes.entry(file).or_insert_with(|| Rc::new(Index::new(facts))).clone()
    }

    fn facts(&self, file: FileId) -> &'a Facts {
        &self.files[file.index()].facts
    }

    fn parsed(&self) -> impl Iterator<Item = (FileId, &'a Facts)> + use<'a> {
        let files = self.files;
        (0..files.len())
            .map(|i| FileId(i as u32))
            .map(move |id| (id, &*files[id.index()].facts))
            .filter(|(_, f)| !f.unread)
    }

    fn activate(&mut self, file: FileId, function: FunctionId) {
        if self.active.insert((file, function)) {
            self.work.push((file, function));
        }
    }

    /// Functions that may launch, kernels, and what is handed to a registrar.
    fn start(&mut self) {
        for (file, facts) in self.parsed() {
            for (id, function) in facts.functions() {
                if launches(facts, id) || !function.decorators.is_empty() {
                    self.activate(file, id);
                }
                for call in &function.body.calls {
                    let callee = match function.body.op(call.callee) {
                        Op::Free(n) | Op::Attr(_, n) => facts.name(n),
                        Op::Function(f) => facts.name(facts.function(f).name),
                        Op::Import(i) => facts.name(facts.imports[i.index()].bound),
                        _ => continue,
                    };
                    if call.decorates.is_none() && ["regist", "impl", "op", "define", "schema"].iter().any(|w| callee.contains(w)) {
                        for arg in &call.args {
                            self.mention(file, id, arg.value);
                        }
                    }
                }
            }
        }
    }

    /// Everything that active functions use, and what that uses in turn.
    fn follow(&mut self) {
        loop {
            while let Some((file, name)) = self.names.pop() {
                self.look_up(file, name);
            }
            let Some((file, id)) = self.work.pop() else { break };
            let facts = self.facts(file);
            let function = facts.function(id);
            for (value, v) in function.body.iter() {
                match v.op {
                    Op::Free(_) | Op::Import(_) | Op::Function(_) | Op::Class(_) => self.mention(file, id, value),
                    Op::Attr(object, name) => {
                        let name = facts.name(name);
                        self.member(file, id, object, name);
                        if self.methods.insert(name) {
                            for (file, method) in self.waiting.remove(name).unwrap_or_default() {
                                self.activate(file, method);
                            }
                        }
                    }
                    _ => {}
                }
            }
            // The signature: what its names are must be known, what they do need not.
            let values = function
                .params
                .iter()
                .flat_map(|p| p.annotation.map(|a| a.value).into_iter().chain(p.default));
            let values: Vec<ValueId> = values.chain(function.returns.map(|a| a.value)).collect();
            for value in values {
                self.signature(file, function.parent, value, 6);
            }
            for decorator in &function.decorators {
                self.signature(file, function.parent, decorator.value, 6);
            }
            if let Some(class) = function.class {
                self.reach_class(file, class.0);
            }
        }
    }

    fn signature(&mut self, file: FileId, at: FunctionId, value: ValueId, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let facts = self.facts(file);
        let body = &facts.function(at).body;
        match body.op(value) {
            Op::Free(_) | Op::Import(_) | Op::Function(_) | Op::Class(_) => self.mention(file, at, value),
            Op::Attr(object, name) => self.member(file, at, object, facts.name(name)),
            Op::Index(a, b) | Op::Binary(_, a, b) => {
                self.signature(file, at, a, depth);
                self.signature(file, at, b, depth);
            }
            Op::Tuple(items) | Op::List(items) => body
                .items(items)
                .to_vec()
                .into_iter()
                .for_each(|i| self.signature(file, at, i, depth)),
            Op::Call(call) => {
                let call = body.call(call);
                self.signature(file, at, call.callee, depth);
                call.args.iter().for_each(|a| self.signature(file, at, a.value, depth));
            }
            _ => {}
        }
    }

    /// A value that names something.
    fn mention(&mut self, file: FileId, at: FunctionId, value: ValueId) {
        let facts = self.facts(file);
        match facts.function(at).body.op(value) {
            Op::Free(name) => self.name(file, name),
            Op::Import(import) => self.import(file, import),
            Op::Function(f) => self.activate(file, f),
            Op::Class(c) => self.reach_class(file, c.0),
            Op::Call(call) => {
                if let Some(f) = facts.function(at).body.call(call).decorates {
                    self.activate(file, f);
                }
            }
            Op::Attr(object, name) => self.member(file, at, object, facts.name(name)),
            _ => {}
        }
    }

    fn name(&mut self, file: FileId, name: Name) {
        if self.seen.insert((file, name)) {
            self.names.push((file, name));
        }
    }

    /// What a name of a file's module stands for.
    fn look_up(&mut self, file: FileId, name: Name) {
        let facts = self.facts(file);
        if let Some(value) = facts.module().binding(name) {
            self.binding(file, value, 8);
        }
        for &id in self.index(file).nested.get(&name).into_iter().flatten() {
            self.activate(file, id);
        }
        for star in &facts.star_imports {
            if let Some(module) = absolute(&self.files[file.index()], star.level, facts.name(star.module)) {
                self.exported(&module, facts.name(name), 4);
            }
        }
    }

    /// What a module-level name is bound to.
    fn binding(&mut self, file: FileId, value: ValueId, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let facts = self.facts(file);
        let body = &facts.module().body;
        match body.op(value) {
            Op::Select(_, a, b) => {
                self.binding(file, a, depth);
                self.binding(file, b, depth);
            }
            Op::Phi(items) | Op::Tuple(items) | Op::List(items) | Op::Dict(items) => {
                body.items(items)
                    .to_vec()
                    .into_iter()
                    .filter(|&i| i < value)
                    .for_each(|i| self.binding(file, i, depth));
            }
            Op::Call(call) => {
                let call = body.call(call);
                match call.decorates {
                    Some(f) => self.activate(file, f),
                    None => {
                        self.binding(file, call.callee, depth);
                        call.args.iter().for_each(|a| self.binding(file, a.value, depth));
                    }
                }
            }
            Op::Annotated(_, inner) => self.binding(file, inner, depth),
            _ => self.mention(file, MODULE, value),
        }
    }

    fn import(&mut self, file: FileId, import: ImportId) {
        let facts = self.facts(file);
        let import = &facts.imports[import.index()];
        let Some(base) = absolute(&self.files[file.index()], import.level, facts.name(import.module)) else {
            return;
        };
        match import.member {
            Some(member) => self.exported(&base, facts.name(member), 6),
            None => self.module(&base),
        }
    }

    fn module(&mut self, name: &str) {
        if let Found::File(file) = self.modules.find(name)
            && self.facts(file).unread
        {
            self.needed.insert(file);
        }
    }

    /// A member of a module: where it is defined.
    fn exported(&mut self, module: &str, member: &str, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else { return };
        self.module(&format!("{module}.{member}"));
        let Found::File(file) = self.modules.find(module) else { return };
        let facts = self.facts(file);
        if facts.unread {
            // A file that does not hold the word cannot define it.
            if self.files[file.index()].source.text.contains(member) || self.files[file.index()].source.text.contains("import *") {
                self.needed.insert(file);
            }
            return;
        }
        let Some(&name) = self.index(file).names.get(member) else {
            for star in &facts.star_imports {
                if let Some(module) = absolute(&self.files[file.index()], star.level, facts.name(star.module)) {
                    self.exported(&module, member, depth);
                }
            }
            return;
        };
        self.name(file, name);
    }

    /// `object.name`: of a module, or of `self`.
    fn member(&mut self, file: FileId, at: FunctionId, object: ValueId, name: &str) {
        let facts = self.facts(file);
        let function = facts.function(at);
        let module = match function.body.op(object) {
            Op::Import(import) => Some(import),
            Op::Free(n) => facts.module().binding(n).and_then(|v| match facts.module().body.op(v) {
                Op::Import(import) => Some(import),
                _ => None,
            }),
            _ => None,
        };
        let Some(import) = module else { return };
        let import = &facts.imports[import.index()];
        let Some(base) = absolute(&self.files[file.index()], import.level, facts.name(import.module)) else {
            return;
        };
        let whole = match import.member {
            Some(member) => format!("{base}.{}", facts.name(member)),
            None => base,
        };
        self.exported(&whole, name, 6);
    }

    fn reach_class(&mut self, file: FileId, class: u32) {
        if !self.classes.insert((file, class)) {
            return;
        }
        self.visit_class(file, class);
        let facts = self.facts(file);
        let info = &facts.classes[class as usize];
        for &base in &info.bases {
            self.signature(file, info.parent, base, 4);
        }
    }

    fn visit_class(&mut self, file: FileId, class: u32) {
        let facts = self.facts(file);
        for &id in self.index(file).methods.get(&class).into_iter().flatten() {
            let name = facts.name(facts.function(id).name);
            if matches!(name, "__init__" | "__call__" | "forward") || self.methods.contains(name) {
                self.activate(file, id);
            } else {
                self.waiting.entry(name).or_default().push((file, id));
            }
        }
    }

    /// Unparsed files that mention a launcher, or a function of the project that calls one.
    fn search(&mut self) {
        let mut names: FxHashSet<&str> = FxHashSet::default();
        for (_, facts) in self.parsed() {
            let own = facts
                .functions()
                .filter(|(id, f)| f.parent == MODULE && f.kind == FunctionKind::Def && launches(facts, *id));
            names.extend(own.map(|(_, f)| facts.name(f.name)));
        }
        for _ in 0..CALLER_STEPS {
            let mut next: FxHashSet<&str> = FxHashSet::default();
            for (_, facts) in self.parsed() {
                let here: FxHashMap<Name, ()> = facts
                    .names
                    .iter()
                    .enumerate()
                    .filter(|(_, n)| names.contains(&***n))
                    .map(|(i, _)| (Name(i as u32), ()))
                    .collect();
                if here.is_empty() {
                    continue;
                }
                for (_, f) in facts.functions().filter(|(_, f)| f.parent == MODULE && f.kind == FunctionKind::Def) {
                    let name = facts.name(f.name);
                    let calls = f
                        .body
                        .values
                        .iter()
                        .any(|v| matches!(v.op, Op::Free(n) | Op::Attr(_, n) if here.contains_key(&n)));
                    if calls && name.len() > 4 && !names.contains(name) {
                        next.insert(name);
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            names.extend(next);
        }
        names.retain(|n| n.len() > 4);
        for (i, file) in self.files.iter().enumerate().filter(|(_, f)| f.facts.unread) {
            if words(&file.source.text).any(|w| names.contains(w)) {
                self.needed.insert(FileId(i as u32));
            }
        }
    }
}

/// A call of something indexed, or of `.run`.
fn launches(facts: &Facts, id: FunctionId) -> bool {
    let body = &facts.function(id).body;
    body.calls.iter().any(|c| match body.op(c.callee) {
        Op::Index(..) => true,
        Op::Attr(_, n) => facts.name(n) == "run",
        _ => false,
    })
}

/// The identifiers of a text, in order.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()))
        .filter(|w| w.len() > 4)
}
