//! Which files a question concerns, told by their words alone, so that the others are never parsed.
//!
//! Every look at "all files" goes through here. The rule that keeps it sound: what the look would find in a file, that file
//! cannot say without one of the words asked for. Names may travel (an alias, a container, a function that hands a kernel
//! back), so the words grow with what is found, over at most [`HANDS`] steps; lines that bind a class or an instance are read
//! as text. What travels further, from a file with none of these words, is not seen.

use super::modules::absolute;
use super::resolve::{ClassRef, Entity, Resolver};
use crate::facts::{FunctionKind, MODULE, Op, ValueId};
use crate::program::FunctionRef;
use crate::source::FileId;
use crate::words::{Word, Words};
use memchr::memmem;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

/// Files that some question concerned.
#[derive(Debug)]
pub(crate) struct Read(Vec<AtomicBool>);

impl Read {
    pub(crate) fn new(files: usize) -> Self {
        Self((0..files).map(|_| AtomicBool::new(false)).collect())
    }

    /// These files, sorted.
    pub(crate) fn files(&self) -> Vec<FileId> {
        let read = self.0.iter().enumerate().filter(|(_, read)| read.load(Ordering::Relaxed));
        read.map(|(i, _)| FileId(i as u32)).collect()
    }
}

impl Resolver<'_> {
    /// Files that pass a test, sorted. Their facts are made, in parallel, the largest first.
    pub(crate) fn files_where(&self, test: impl Fn(FileId, &Words) -> bool + Sync) -> Vec<FileId> {
        let all = self.files.par_iter().enumerate();
        let found: Vec<FileId> = all
            .map(|(i, file)| (FileId(i as u32), file))
            .filter(|(id, file)| test(*id, &file.words))
            .map(|(id, _)| id)
            .collect();
        let mut order: Vec<FileId> = found
            .iter()
            .copied()
            .filter(|id| !self.read.0[id.index()].load(Ordering::Relaxed))
            .collect();
        order.sort_by_key(|id| std::cmp::Reverse(self.files[id.index()].source.text.len()));
        order.into_par_iter().with_max_len(1).for_each(|id| {
            self.read.0[id.index()].store(true, Ordering::Relaxed);
            let _ = self.facts(id).functions.len();
        });
        found
    }

    /// Files that hold one of the words, sorted.
    pub(crate) fn files_with(&self, words: &FxHashSet<Word>) -> Vec<FileId> {
        self.files_where(|_, has| has.has_any(words))
    }
}

/// The parts of a dotted name.
pub(crate) fn parts(dotted: &str) -> Vec<Word> {
    dotted.split('.').map(Word::of).collect()
}

/// Names at module level that stand for one of the dotted names, or for a module on the way to it, under another name:
/// `import triton as tr`, `jit = triton.jit`. A file may then speak of the thing without its own words.
pub(crate) fn carriers(resolver: &Resolver, file: FileId, leads: &dyn Fn(&str) -> bool, own: &dyn Fn(&str) -> bool) -> Vec<Word> {
    let facts = resolver.facts(file);
    let at = FunctionRef { file, function: MODULE };
    let mut found = Vec::new();
    for &(name, value) in &facts.module().bindings {
        let text = facts.name(name);
        let carries = match facts.module().body.op(value) {
            Op::Import(id) => {
                let import = &facts.imports[id.index()];
                let base = absolute(&resolver.files[file.index()], import.level, facts.name(import.module)).unwrap_or_default();
                match import.member {
                    Some(member) => leads(&format!("{base}.{}", facts.name(member))),
                    None => import.renamed && leads(&base),
                }
            }
            Op::Attr(..) | Op::Call(_) | Op::Select(..) | Op::Phi(_) => resolver.entities(at, value).iter().any(|e| match e {
                Entity::External(path) | Entity::Made(path, _) => leads(path.trim_end_matches("()")),
                _ => false,
            }),
            _ => false,
        };
        if carries && !own(text) {
            found.push(Word::of(text));
        }
    }
    found
}

/// Names travel over at most so many hands: a kernel in a table, the table in an attribute, a function that hands that out.
const HANDS: usize = 4;

/// The names of kernels, and of whatever may hold one: a container, an attribute, a function that hands one back.
pub(crate) fn holders(resolver: &Resolver, kernels: &FxHashSet<FunctionRef>) -> FxHashSet<Word> {
    let names = kernels.iter().map(|k| resolver.text(k.file, resolver.function(*k).name));
    let mut new: FxHashSet<&str> = names.collect();
    let mut all: FxHashSet<&str> = new.clone();
    let mut held: FxHashSet<FunctionRef> = kernels.clone();
    for _ in 0..HANDS {
        let words: FxHashSet<Word> = new.iter().map(|n| Word::of(n)).collect();
        let known = Known { names: &new, held: &held };
        let found: Vec<(&str, Option<FunctionRef>)> = resolver
            .files_with(&words)
            .into_par_iter()
            .flat_map_iter(|file| holders_in(resolver, file, &known, kernels))
            .collect();
        held.extend(found.iter().filter_map(|(_, function)| *function));
        new = found.into_iter().map(|(name, _)| name).filter(|name| all.insert(name)).collect();
        if new.is_empty() {
            break;
        }
    }
    all.iter().map(|n| Word::of(n)).collect()
}

/// What the last look found.
struct Known<'k, 'a> {
    names: &'k FxHashSet<&'a str>,
    /// Kernels, and functions that hand one back.
    held: &'k FxHashSet<FunctionRef>,
}

fn holders_in<'a>(
    resolver: &Resolver<'a>,
    file: FileId,
    known: &Known,
    kernels: &FxHashSet<FunctionRef>,
) -> Vec<(&'a str, Option<FunctionRef>)> {
    let facts = resolver.facts(file);
    let here: Vec<bool> = facts.names.iter().map(|n| known.names.contains(&**n)).collect();
    let mut found = Vec::new();
    for (id, function) in facts.functions() {
        let at = FunctionRef { file, function: id };
        if kernels.contains(&at) {
            continue;
        }
        let look = Mentions {
            resolver,
            at,
            here: &here,
            held: known.held,
        };
        if matches!(function.kind, FunctionKind::Module | FunctionKind::Class) {
            let holds = |values: &[ValueId]| values.iter().any(|&v| look.mentions(v, 6));
            let named = function.assigned.iter().filter(|(_, values)| holds(values));
            found.extend(named.map(|(n, _)| (facts.name(*n), None)));
        }
        for (_, value) in function.body.iter() {
            match value.op {
                Op::SetAttr(_, name, v) | Op::SetOuter(name, v) if look.mentions(v, 6) => found.push((facts.name(name), None)),
                Op::Return(v) if look.mentions(v, 6) => found.push((facts.name(function.name), Some(at))),
                _ => {}
            }
        }
    }
    found
}

struct Mentions<'k, 'a> {
    resolver: &'k Resolver<'a>,
    at: FunctionRef,
    here: &'k [bool],
    held: &'k FxHashSet<FunctionRef>,
}

impl Mentions<'_, '_> {
    /// Whether one of the names is spoken of in what a value is made of. A launch's result holds no kernel.
    fn mentions(&self, value: ValueId, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let facts = self.resolver.facts(self.at.file);
        let body = self.resolver.body(self.at);
        match body.op(value) {
            Op::Free(name) => self.here[name.index()] && self.is_held(value),
            Op::Attr(object, name) => self.here[name.index()] && self.is_held(value) || self.mentions(object, depth),
            Op::Import(id) => {
                let import = &facts.imports[id.index()];
                self.here[import.member.unwrap_or(import.bound).index()] && self.is_held(value)
            }
            Op::Function(f) => self.here[facts.function(f).name.index()] && self.is_held(value),
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
    fn is_held(&self, value: ValueId) -> bool {
        self.resolver.entities(self.at, value).iter().any(|e| match e {
            Entity::Function(f) | Entity::Bound(f) => self.held.contains(f),
            Entity::Value(v) => {
                let op = self.resolver.body(v.at).op(v.value);
                matches!(
                    op,
                    Op::Dict(_) | Op::List(_) | Op::Tuple(_) | Op::Set(_) | Op::Collect(..) | Op::Call(_) | Op::Index(..)
                )
            }
            Entity::Made(..) | Entity::Instance(_) => true,
            Entity::External(_) | Entity::Module(_) | Entity::Namespace(_) | Entity::Class(_) => false,
        })
    }
}

/// Names by which instances of a class may be spoken of: its own, those of classes under it, and of what holds or returns one.
///
/// Read off the lines that name the class, without parsing: `class B(A)`, `x = A(…)`, `return A(…)`, `def f() -> A`.
pub(crate) fn instances(resolver: &Resolver, class: ClassRef) -> FxHashSet<Word> {
    speakers_of(
        resolver,
        resolver.text(class.file, resolver.facts(class.file).classes[class.class.index()].name),
    )
}

/// The same for a class known by name only.
pub(crate) fn speakers_of(resolver: &Resolver, own: &str) -> FxHashSet<Word> {
    let mut classes: BTreeSet<String> = BTreeSet::from([own.to_owned()]);
    let mut holders: FxHashSet<Word> = FxHashSet::default();
    let mut todo = vec![own.to_owned()];
    while let Some(name) = todo.pop() {
        let word = Word::of(&name);
        for file in resolver.files.iter().filter(|f| f.words.has(word)) {
            for speaker in speakers(&file.source.text, &name) {
                match speaker {
                    Speaker::Class(class) if classes.insert(class.clone()) => todo.push(class),
                    Speaker::Class(_) => {}
                    Speaker::Holder(name) => {
                        holders.insert(Word::of(&name));
                    }
                }
            }
        }
    }
    holders.extend(classes.iter().map(|n| Word::of(n)));
    holders
}

/// What a line that names a class binds.
#[derive(Debug, PartialEq, Eq)]
enum Speaker {
    /// A class under it.
    Class(String),
    /// A name for an instance, or a function that returns one.
    Holder(String),
}

/// Names that a text binds to a class, its subclasses or its instances, as far as single lines tell.
fn speakers(text: &str, class: &str) -> Vec<Speaker> {
    let bytes = text.as_bytes();
    let is_word = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b >= 0x80);
    let mut found = Vec::new();
    for at in memmem::find_iter(bytes, class) {
        let before = at.checked_sub(1).and_then(|i| bytes.get(i));
        if is_word(before) || is_word(bytes.get(at + class.len())) {
            continue;
        }
        let start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |i| i + 1);
        let line = text[start..at].trim_start();
        let first_word = |s: &str| {
            s.split(|c: char| !(c.is_alphanumeric() || c == '_'))
                .find(|w| !w.is_empty())
                .map(str::to_owned)
        };
        if let Some(rest) = line.strip_prefix("class ") {
            found.extend(first_word(rest).filter(|name| name != class).map(Speaker::Class));
        } else if line.starts_with("return") || line.contains("->") {
            let def = memmem::rfind(&bytes[..at], b"def ");
            found.extend(def.and_then(|def| first_word(&text[def + 4..])).map(Speaker::Holder));
        } else if let Some((target, _)) = line.split_once('=')
            && !target.contains('(')
        {
            let name = target.split(':').next().unwrap_or(target).trim().rsplit('.').next().unwrap_or("");
            found.extend(first_word(name).map(Speaker::Holder));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Speaker, speakers};

    #[test]
    fn lines_that_name_a_class_name_what_holds_it() {
        let text = "class B(A):\n    x = A()\n    self.y: T = A(1)\ndef make():\n    return A()\ndef other() -> A:\n    f(A)\nAB = BA\n";
        let holder = |name: &str| Speaker::Holder(name.into());
        let wanted = [
            Speaker::Class("B".into()),
            holder("x"),
            holder("y"),
            holder("make"),
            holder("other"),
        ];
        assert_eq!(speakers(text, "A"), wanted);
    }
}
