//! Calls of methods through an object of which only a base class is known, or nothing.

use super::calls::{Edge, Sure};
use super::reach;
use super::receivers::{self, Object};
use super::resolve::{ClassRef, Entity, Resolver};
use crate::facts::{ArgKind, Name, Op, ParamKind, ValueId};
use crate::knowledge::Knowledge;
use crate::program::{Caller, FunctionRef, ProgramFile};
use crate::source::{FileId, Place};
use crate::words::{Sought, Word, Words};
use memchr::memmem;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// A method name that more files than this call is not looked for: anything may call the method then.
const MOST_FILES: usize = 160;

/// A method that is asked for.
struct Method {
    function: FunctionRef,
    class: ClassRef,
    lineage: Vec<ClassRef>,
}

/// The methods among the functions that are asked for, and where they may be spoken of.
pub(crate) struct Methods<'m> {
    names: Vec<(&'m str, Vec<Method>)>,
    /// Those that not too many files may call.
    sought: FxHashSet<FunctionRef>,
    /// For each file the names that it may call.
    files: Vec<Vec<u32>>,
    /// Methods that too many files may call: of a name that many use, or of one that tensors have.
    pub(crate) open: Vec<FunctionRef>,
    /// Methods that some file speaks of without a call.
    passed_on: FxHashSet<FunctionRef>,
    /// Files that do.
    passing: Vec<bool>,
}

impl<'m> Methods<'m> {
    pub(crate) fn new(resolver: &Resolver<'m>, knowledge: &Knowledge, wanted: &FxHashSet<FunctionRef>) -> Self {
        let mut by_name: BTreeMap<&str, Vec<Method>> = BTreeMap::new();
        let mut sorted: Vec<FunctionRef> = wanted.iter().copied().collect();
        sorted.sort_unstable();
        for f in sorted {
            let function = resolver.function(f);
            let Some(class) = function.class else { continue };
            let class = ClassRef { file: f.file, class };
            by_name.entry(resolver.text(f.file, function.name)).or_default().push(Method {
                function: f,
                class,
                lineage: resolver.lineage(class),
            });
        }
        reach::read_of(resolver, by_name.values().flatten().map(|method| resolver.class_name(method.class)));
        let names: Vec<(&str, Vec<Method>)> = by_name.into_iter().collect();
        // What tensors have is called on tensors everywhere.
        let is_of_tensors = |name: &str| knowledge.torch.method(name).is_some();
        let asked: Vec<Asked> = names
            .par_iter()
            .map(|(name, methods)| Asked::new(resolver, name, methods))
            .collect();
        let mut by_word: FxHashMap<Word, Vec<u32>> = FxHashMap::default();
        for (i, (name, _)) in names.iter().enumerate().filter(|(_, (name, _))| !is_of_tensors(name)) {
            by_word.entry(Word::of(name).as_attribute()).or_default().push(i as u32);
        }
        let words = Sought::new(by_word);
        let spoken = |(i, file): (usize, &ProgramFile)| {
            let file = Text {
                id: FileId(i as u32),
                text: &file.source.text,
                words: &file.words,
            };
            let mut these: Vec<(u32, Spoken)> = words
                .in_text(file.words)
                .flatten()
                .map(|&i| (i, asked[i as usize].spoken_in(&file)))
                .collect();
            these.sort_unstable_by_key(|(i, _)| *i);
            these
        };
        let found: Vec<Vec<(u32, Spoken)>> = resolver.files.par_iter().enumerate().map(spoken).collect();
        let mut files: Vec<Vec<u32>> = found.iter().map(|names| with(names, |spoken| spoken.called)).collect();
        let mut counts = vec![0; asked.len()];
        files.iter().flatten().for_each(|&i| counts[i as usize] += 1);
        files
            .iter_mut()
            .for_each(|names| names.retain(|&i| counts[i as usize] <= MOST_FILES));
        let (mut open, mut sought) = (Vec::new(), FxHashSet::default());
        for ((name, methods), count) in names.iter().zip(&counts) {
            let methods = methods.iter().map(|m| m.function);
            if *count > MOST_FILES || is_of_tensors(name) {
                open.extend(methods);
            } else {
                sought.extend(methods);
            }
        }
        let mentions: Vec<Vec<u32>> = found.iter().map(|names| with(names, |spoken| spoken.passed_on)).collect();
        let passed_on = mentions
            .iter()
            .flatten()
            .flat_map(|&i| names[i as usize].1.iter().map(|m| m.function));
        let passed_on = passed_on.collect();
        let passing = mentions.iter().map(|names| !names.is_empty()).collect();
        Self {
            names,
            sought,
            files,
            open,
            passed_on,
            passing,
        }
    }

    /// Calls of a method are looked for wherever [`Self::concern`] says.
    pub(crate) fn are_sought(&self, f: FunctionRef) -> bool {
        self.sought.contains(&f)
    }

    /// The file may call one of the methods.
    pub(crate) fn concern(&self, file: FileId) -> bool {
        !self.files[file.index()].is_empty()
    }

    /// Whether a file may speak of one of the methods without calling it.
    pub(crate) fn passed_on<'r>(&'r self, resolver: &Resolver<'_>) -> impl Fn(FileId, &Words) -> bool + Sync + use<'r, 'm> {
        let mentioned = reach::Mentioned::of_methods(resolver, &self.passed_on);
        move |file, words| self.passing[file.index()] && mentioned(file, words)
    }

    /// Calls that may be one of a method, though the callee does not resolve to it; each list in order of the place.
    pub(crate) fn calls(&self, resolver: &Resolver<'_>) -> FxHashMap<FunctionRef, Vec<Edge>> {
        let per_file: Vec<Vec<(FunctionRef, Edge)>> = resolver
            .files_where(|id, _| self.concern(id))
            .into_par_iter()
            .map(|file| {
                let names = self.files[file.index()].iter().map(|&i| &self.names[i as usize]);
                let some: Vec<(&str, &[Method])> = names.map(|(name, methods)| (*name, methods.as_slice())).collect();
                in_file(resolver, file, &some)
            })
            .collect();
        let mut through: FxHashMap<FunctionRef, Vec<Edge>> = FxHashMap::default();
        for (f, edge) in per_file.into_iter().flatten() {
            through.entry(f).or_default().push(edge);
        }
        through
    }
}

/// How a text speaks of an attribute.
#[derive(Clone, Copy, Default)]
struct Spoken {
    /// It calls what may be one of the methods.
    called: bool,
    /// It speaks of the attribute without a call.
    passed_on: bool,
}

fn with(names: &[(u32, Spoken)], is: impl Fn(&Spoken) -> bool) -> Vec<u32> {
    names.iter().filter(|(_, spoken)| is(spoken)).map(|(i, _)| *i).collect()
}

/// A file before it is parsed.
struct Text<'t> {
    id: FileId,
    text: &'t str,
    words: &'t Words,
}

/// How calls of a name look in a text.
struct Asked {
    member: String,
    least: usize,
    most: usize,
    /// The methods' classes and those under them.
    classes: FxHashSet<Word>,
    /// Where their classes and those above them are.
    above: FxHashSet<FileId>,
}

impl Asked {
    fn new(resolver: &Resolver<'_>, name: &str, methods: &[Method]) -> Self {
        let mut asked = Self {
            member: format!(".{name}"),
            least: usize::MAX,
            most: 0,
            classes: FxHashSet::default(),
            above: FxHashSet::default(),
        };
        for method in methods {
            let (few, many) = arguments(resolver, method.function);
            asked.least = asked.least.min(few);
            asked.most = asked.most.max(many);
            asked.above.extend(method.lineage.iter().map(|class| class.file));
            asked
                .classes
                .extend(&reach::speakers_of(resolver, resolver.class_name(method.class)).classes);
        }
        asked
    }

    fn spoken_in(&self, file: &Text) -> Spoken {
        let mut spoken = Spoken::default();
        let mut related = None;
        let opened = OnceCell::new();
        for at in memmem::find_iter(file.text.as_bytes(), self.member.as_bytes()) {
            let rest = &file.text[at + self.member.len()..];
            match rest.bytes().next() {
                Some(b'(') if spoken.called => {}
                Some(b'(') => {
                    let fits = written_arguments(&rest[1..]).is_none_or(|n| self.least <= n && n <= self.most);
                    spoken.called = fits && self.may_be(file, receiver(file.text, at, &opened), &mut related);
                }
                Some(b) => spoken.passed_on |= !(b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80),
                None => spoken.passed_on = true,
            }
        }
        spoken
    }

    /// Whether what is written before the dot may have one of the methods.
    fn may_be(&self, file: &Text, receiver: Receiver, related: &mut Option<bool>) -> bool {
        // A class of the file is one of the methods' classes, or under one: then the file has its name; or it is above one.
        let mut related = || *related.get_or_insert_with(|| file.words.has_any(&self.classes));
        match receiver {
            Receiver::Super => related(),
            Receiver::Own => related() || self.above.contains(&file.id),
            Receiver::Root(root) => !is_module(file.text, root),
            Receiver::Other => true,
        }
    }
}

/// What is written before the dot of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receiver<'t> {
    /// `super().name`
    Super,
    /// `self.name` in a class.
    Own,
    /// `root.name`, `root.more.name`
    Root(&'t str),
    Other,
}

fn receiver<'t>(text: &'t str, dot: usize, opened: &OnceCell<reach::Opened>) -> Receiver<'t> {
    let before = text[..dot].trim_end();
    if before.ends_with("super()") {
        return Receiver::Super;
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let start = before.trim_end_matches(is_part).len();
    let (chain, before) = (&before[start..], &before[..start]);
    if chain.is_empty() || chain.starts_with('.') || before.ends_with([')', ']', '"', '\'']) {
        return Receiver::Other;
    }
    match chain {
        "self" if opened.get_or_init(|| reach::Opened::by(text)).is_class(dot) => Receiver::Own,
        "self" => Receiver::Other,
        _ => Receiver::Root(chain.split('.').next().unwrap_or(chain)),
    }
}

/// Whether a name can only be a module in a text: it is imported as one, and wherever else it stands, a dot follows.
fn is_module(text: &str, name: &str) -> bool {
    let mut imported = false;
    for at in reach::words_at(text, name) {
        let line = reach::line_before(text, at);
        if line.starts_with("import ") {
            imported = true;
        } else if text.as_bytes().get(at + name.len()) != Some(&b'.') && line != "from " {
            return false;
        }
    }
    imported
}

/// The least and the most arguments that a method takes, without its object.
fn arguments(resolver: &Resolver<'_>, f: FunctionRef) -> (usize, usize) {
    let params = resolver.function(f).params.iter().skip(1);
    let (mut least, mut most) = (0, 0usize);
    for param in params {
        match param.kind {
            ParamKind::Star | ParamKind::StarStar => most = usize::MAX,
            ParamKind::Positional | ParamKind::PositionalOnly | ParamKind::KeywordOnly => {
                least += usize::from(param.default.is_none());
                most = most.saturating_add(1);
            }
        }
    }
    (least, most)
}

/// How many arguments stand up to the closing parenthesis, as far as commas tell. `None`: there are starred ones, or it is too long.
fn written_arguments(text: &str) -> Option<usize> {
    let (mut depth, mut commas, mut empty, mut trailing) = (0usize, 0usize, true, false);
    let mut quote = None;
    for c in text.chars().take(2000) {
        if let Some(open) = quote {
            quote = (c != open).then_some(open);
            continue;
        }
        match c {
            ')' | ']' | '}' if depth == 0 => {
                return Some(if empty { 0 } else { commas + usize::from(!trailing) });
            }
            ')' | ']' | '}' => depth -= 1,
            '(' | '[' | '{' => {
                depth += 1;
                (empty, trailing) = (false, false);
            }
            ',' if depth == 0 => {
                commas += 1;
                trailing = true;
            }
            '*' if depth == 0 && (empty || trailing) => return None,
            '#' => return None,
            '"' | '\'' => {
                quote = Some(c);
                (empty, trailing) = (false, false);
            }
            c if c.is_whitespace() => {}
            _ => (empty, trailing) = (false, false),
        }
    }
    None
}

fn in_file<'m>(resolver: &Resolver<'_>, file: FileId, wanted: &[(&str, &'m [Method])]) -> Vec<(FunctionRef, Edge)> {
    let facts = resolver.facts(file);
    let named = |(name, methods): &(&str, &'m [Method])| facts.names.find(name).map(|name| (name, *methods));
    let here: FxHashMap<Name, &[Method]> = wanted.iter().filter_map(named).collect();
    let mut out = Vec::new();
    for (id, function) in facts.functions() {
        let at = FunctionRef { file, function: id };
        for (_, v) in function.body.iter() {
            let Op::Call(call_id) = v.op else { continue };
            let call = function.body.call(call_id);
            let Op::Attr(object, name) = function.body.op(call.callee) else {
                continue;
            };
            let Some(methods) = here.get(&name) else { continue };
            let mut fitting = methods
                .iter()
                .filter(|m| receivers::fits(resolver, at, call, m.function, true))
                .peekable();
            if fitting.peek().is_none() {
                continue;
            }
            let direct = resolver.functions(at, call.callee);
            let above = of_super(resolver, at, object);
            let objects = match above {
                Some(_) => receivers::Objects::default(),
                None => receivers::objects(resolver, at, object),
            };
            for method in fitting.filter(|m| !direct.contains(&m.function)) {
                let known = above.iter().flatten().any(|class| inherits(resolver, *class, method))
                    || objects.known.iter().any(|o| match o {
                        Object::Instance(class) | Object::Class(class) => {
                            method.lineage.contains(class) || inherits(resolver, *class, method)
                        }
                        Object::Outside(_) | Object::Other => false,
                    });
                if known || objects.open {
                    let starred = call.args.iter().any(|a| matches!(a.kind, ArgKind::Star | ArgKind::StarStar));
                    let sure = match (known, starred) {
                        (true, _) => Sure::Known,
                        (false, false) => Sure::Fits,
                        (false, true) => Sure::Passing,
                    };
                    let caller = Caller {
                        function: at,
                        call: Some(call_id),
                        place: Place { file, span: v.span },
                    };
                    out.push((method.function, Edge { caller, sure }));
                }
            }
        }
    }
    out
}

/// Looked up on a class, the name is the method.
fn inherits(resolver: &Resolver<'_>, class: ClassRef, method: &Method) -> bool {
    let name = resolver.text(method.function.file, resolver.function(method.function).name);
    let members = resolver.members(class, name, true);
    members
        .iter()
        .any(|e| matches!(e, Entity::Bound(f) | Entity::Function(f) if *f == method.function))
}

/// The bases of the class that holds the call, if the object is `super()`.
fn of_super(resolver: &Resolver<'_>, at: FunctionRef, object: ValueId) -> Option<Vec<ClassRef>> {
    let body = resolver.body(at);
    let Op::Call(call) = body.op(object) else { return None };
    let Op::Free(name) = body.op(body.call(call).callee) else {
        return None;
    };
    if resolver.text(at.file, name) != "super" {
        return None;
    }
    let class = resolver.function(at).class.map(|class| ClassRef { file: at.file, class });
    let bases = class.map(|c| resolver.bases(c)).unwrap_or_default().into_iter();
    Some(
        bases
            .filter_map(|b| if let Entity::Class(c) = b { Some(c) } else { None })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::{OnceCell, Receiver, is_module, receiver, written_arguments};

    #[test]
    fn what_stands_before_the_dot_is_read_from_the_text() {
        let receiver_in = |text: &str| format!("{:?}", receiver(text, text.find(".m(").unwrap(), &OnceCell::new()));
        for (text, wanted) in [
            ("class A:\n    def f(self):\n        super().m()\n", "Super"),
            ("class A:\n    def f(self):\n        self.m()\n", "Own"),
            ("def f(self):\n    self.m()\n", "Other"),
            ("self.a.b.m()", "Root(\"self\")"),
            ("torch.m()", "Root(\"torch\")"),
            ("f(x).m()", "Other"),
            ("f(x).y.m()", "Other"),
            ("x[0].m()", "Other"),
            ("'text'.m()", "Other"),
            ("a\n    .m()", "Root(\"a\")"),
        ] {
            assert_eq!(receiver_in(text), wanted, "{text}");
        }
        assert_eq!(receiver(".m()", 0, &OnceCell::new()), Receiver::Other);
    }

    #[test]
    fn a_module_is_imported_and_never_bound_otherwise() {
        assert!(is_module(
            "import torch\nfrom torch import nn\nfrom torch.x import y\ntorch.sum(z)\n",
            "torch"
        ));
        assert!(is_module("import a.b as c\nc.f()\n", "c"));
        assert!(!is_module("import c\ndef f(c):\n    c.m()\n", "c"));
        assert!(!is_module("from a import c\nc.m()\n", "c"));
    }

    #[test]
    fn arguments_are_counted_by_commas() {
        for (text, count) in [
            (")", Some(0)),
            ("a)", Some(1)),
            ("a, b=c(1, 2), )", Some(2)),
            ("'a,b', [1, 2])", Some(2)),
            ("*a)", None),
            ("a, **k)", None),
            ("a * b)", Some(1)),
        ] {
            assert_eq!(written_arguments(text), count, "{text}");
        }
    }
}
