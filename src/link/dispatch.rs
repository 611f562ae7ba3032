//! Calls of methods through an object of which only a base class is known, or nothing.

use super::calls::{Edge, Sure};
use super::receivers::{self, Object};
use super::resolve::{ClassRef, Entity, Resolver};
use crate::facts::{ArgKind, Op, ParamKind, ValueId};
use crate::program::{Caller, FunctionRef, ProgramFile};
use crate::source::{FileId, Place};
use crate::words::{Sought, Word};
use memchr::memmem;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// A method name that more files than this call is not looked for: anything may call the method then.
const MOST_FILES: usize = 160;

/// A method that is asked for.
struct Method {
    function: FunctionRef,
    lineage: Vec<ClassRef>,
}

/// The methods among the functions that are asked for, and where they may be spoken of.
pub(crate) struct Methods<'m> {
    names: Vec<(&'m str, Vec<Method>)>,
    /// For each file the names that it may call or mention.
    files: Vec<Vec<u32>>,
    /// Methods that too many files may call.
    pub(crate) open: Vec<FunctionRef>,
}

impl<'m> Methods<'m> {
    pub(crate) fn new(resolver: &Resolver<'m>, wanted: &FxHashSet<FunctionRef>) -> Self {
        let mut by_name: BTreeMap<&str, Vec<Method>> = BTreeMap::new();
        let mut sorted: Vec<FunctionRef> = wanted.iter().copied().collect();
        sorted.sort_unstable();
        for f in sorted {
            let function = resolver.function(f);
            let Some(class) = function.class else { continue };
            by_name.entry(resolver.text(f.file, function.name)).or_default().push(Method {
                function: f,
                lineage: resolver.lineage(ClassRef { file: f.file, class }),
            });
        }
        let names: Vec<(&str, Vec<Method>)> = by_name.into_iter().collect();
        let asked: Vec<Asked> = names.iter().map(|(name, methods)| Asked::new(resolver, name, methods)).collect();
        let mut by_word: FxHashMap<Word, Vec<u32>> = FxHashMap::default();
        for (i, (name, _)) in names.iter().enumerate() {
            by_word.entry(Word::of(name).as_attribute()).or_default().push(i as u32);
        }
        let sought = Sought::new(by_word);
        let concerned = |file: &ProgramFile| {
            let named = sought.in_text(&file.words).flatten().copied();
            let mut these: Vec<u32> = named.filter(|&i| asked[i as usize].concerns(&file.source.text)).collect();
            these.sort_unstable();
            these
        };
        let mut files: Vec<Vec<u32>> = resolver.files.par_iter().map(concerned).collect();
        let mut counts = vec![0; asked.len()];
        files.iter().flatten().for_each(|&i| counts[i as usize] += 1);
        files
            .par_iter_mut()
            .for_each(|names| names.retain(|&i| counts[i as usize] <= MOST_FILES));
        let common = names.iter().enumerate().filter(|(i, _)| counts[*i] > MOST_FILES);
        let open = common.flat_map(|(_, (_, methods))| methods.iter().map(|m| m.function)).collect();
        Self { names, files, open }
    }

    /// The file may call or mention one of the methods.
    pub(crate) fn concern(&self, file: FileId) -> bool {
        !self.files[file.index()].is_empty()
    }

    /// Calls that may be one of a method, though the callee does not resolve to it; each list in order of the place.
    pub(crate) fn calls(&self, resolver: &Resolver<'_>) -> FxHashMap<FunctionRef, Vec<Edge>> {
        let per_file: Vec<Vec<(FunctionRef, Edge)>> = resolver
            .files_where(|id, _| self.concern(id))
            .into_par_iter()
            .map(|file| {
                let names = self.files[file.index()].iter().map(|&i| &self.names[i as usize]);
                let some: FxHashMap<&str, &[Method]> = names.map(|(name, methods)| (*name, methods.as_slice())).collect();
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

/// How calls of a name look in a text.
struct Asked {
    member: String,
    least: usize,
    most: usize,
}

impl Asked {
    fn new(resolver: &Resolver<'_>, name: &str, methods: &[Method]) -> Self {
        let (mut least, mut most) = (usize::MAX, 0);
        for method in methods {
            let (few, many) = arguments(resolver, method.function);
            least = least.min(few);
            most = most.max(many);
        }
        Self {
            member: format!(".{name}"),
            least,
            most,
        }
    }

    /// Where the text calls the attribute, it does so with a fitting number of arguments; or it speaks of it without a call.
    fn concerns(&self, text: &str) -> bool {
        memmem::find_iter(text.as_bytes(), self.member.as_bytes()).any(|at| {
            let rest = &text[at + self.member.len()..];
            match rest.bytes().next() {
                Some(b'(') => written_arguments(&rest[1..]).is_none_or(|n| self.least <= n && n <= self.most),
                Some(b) => !(b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80),
                None => true,
            }
        })
    }
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

fn in_file(resolver: &Resolver<'_>, file: FileId, wanted: &FxHashMap<&str, &[Method]>) -> Vec<(FunctionRef, Edge)> {
    let facts = resolver.facts(file);
    let here: Vec<Option<&[Method]>> = facts.names.iter().map(|n| wanted.get(&**n).copied()).collect();
    let mut out = Vec::new();
    for (id, function) in facts.functions() {
        let at = FunctionRef { file, function: id };
        for (_, v) in function.body.iter() {
            let Op::Call(call_id) = v.op else { continue };
            let call = function.body.call(call_id);
            let Op::Attr(object, name) = function.body.op(call.callee) else {
                continue;
            };
            let Some(methods) = here[name.index()] else { continue };
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
    use super::written_arguments;

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
