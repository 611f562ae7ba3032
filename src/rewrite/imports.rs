//! Where an import goes, if one is needed: sorted among its neighbours, merged into a statement that is there.

use crate::facts::{Facts, Import, MODULE, Op};
use crate::finding::Edit;
use crate::program::ProgramFile;
use crate::source::{Source, Span};

/// Makes `import torch` hold at an offset of the module. `None`: it does already.
pub(super) fn module(file: &ProgramFile, name: &str, at: u32) -> Option<Edit> {
    let facts = &file.facts;
    let there = before(facts, at).any(|i| i.member.is_none() && !i.renamed && facts.name(i.bound) == name);
    if there {
        return None;
    }
    let top = |i: &&Import| i.member.is_none() && facts.name(i.module) > name;
    let text = format!("import {name}");
    let third_party = leading(facts).filter(|i| i.member.is_none() && is_kernel_package(facts.name(i.module)));
    let before = third_party
        .clone()
        .find(top)
        .or_else(|| leading(facts).find(|i| is_kernel_package(facts.name(i.module))));
    Some(match before {
        Some(next) => insert_above(file, next, &text),
        None => at_end(file, &text),
    })
}

fn is_kernel_package(module: &str) -> bool {
    matches!(module.split('.').next(), Some("torch" | "triton"))
}

/// The import of a name at a call, where no other use of the name is left: it must stay, since it is what registers the op.
/// `replaced` uses of the name go, in the function or module that holds the import.
pub(super) fn kept(file: &ProgramFile, name: &str, call: Span, replaced: impl Fn(Span) -> usize) -> Option<Edit> {
    let (facts, source) = (&file.facts, &file.source);
    let reach = |i: &Import| match i.function {
        MODULE => Span::new(0, source.text.len() as u32),
        inner => facts.function(inner).span,
    };
    let named = |i: &&Import| facts.name(i.bound) == name && !i.type_checking && reach(i).contains(call);
    let import = facts.imports.iter().filter(named).min_by_key(|i| reach(i).end - reach(i).start)?;
    let within = reach(import);
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let count = |span: Span| {
        let text = source.slice(span);
        let whole = |at: usize| !text[..at].ends_with(word) && !text[at + name.len()..].starts_with(word);
        text.match_indices(name)
            .filter(|(at, _)| whole(*at))
            .map(|(at, _)| at)
            .collect::<Vec<_>>()
    };
    let own = count(import.span);
    if count(within).len() != own.len() + replaced(within) {
        return None;
    }
    let at = import.span.start + *own.last()? as u32;
    let (start, end) = (source.line_start(at), source.line_end(at));
    let line = &source.text[start as usize..end as usize];
    let code = line.trim_end();
    let end = end - (line.len() - code.len()) as u32;
    (!code.contains('#')).then(|| Edit::insert_once(end, "  # noqa: F401  registers the op"))
}

/// Makes `from module import name` hold at an offset of the module: the name that it is bound to, and the edit if one is needed.
pub(super) fn member(
    file: &ProgramFile,
    module: &str,
    name: &str,
    at: u32,
    absolute: impl Fn(&Import) -> String,
) -> (String, Option<Edit>) {
    let facts = &file.facts;
    let source = &file.source;
    let from = |i: &&Import| i.member.is_some() && absolute(i) == module;
    let same: Vec<&Import> = before(facts, at).filter(from).collect();
    if let Some(bound) = same.iter().find(|i| i.member.is_some_and(|m| facts.name(m) == name)) {
        return (facts.name(bound.bound).to_string(), None);
    }
    if let Some(first) = same.first()
        && let Some(edit) = extend(source, facts, first.span, &same, name)
    {
        return (name.to_string(), Some(edit));
    }
    let text = format!("from {module} import {name}");
    if module == "typing" {
        return (name.to_string(), Some(standard(file, &text)));
    }
    let package = module.split('.').next().unwrap_or(module);
    let of_package = |i: &&Import| absolute(i).split('.').next() == Some(package);
    let ours: Vec<&Import> = leading(facts).filter(|i| i.level == 0).filter(of_package).collect();
    let next = ours.iter().find(|i| i.member.is_some() && absolute(i).as_str() > module);
    // Relative imports are a block of their own, below.
    let relative = leading(facts).find(|i| i.level > 0);
    let edit = match (next, ours.last(), relative) {
        (Some(next), ..) => insert_above(file, next, &text),
        (None, Some(last), _) => insert_below(file, last.span, &text),
        (None, None, Some(next)) => insert_above(file, next, &format!("{text}{}", facts.layout.newline)),
        (None, None, None) => at_end(file, &format!("\n{text}")),
    };
    (name.to_string(), Some(edit))
}

/// Modules of the standard library that stand in one block with `typing`.
const STANDARD: [&str; 24] = [
    "abc",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "enum",
    "functools",
    "importlib",
    "inspect",
    "io",
    "itertools",
    "json",
    "logging",
    "math",
    "operator",
    "os",
    "pathlib",
    "random",
    "re",
    "sys",
    "time",
    "types",
    "typing",
    "warnings",
];

/// An import of the standard library: in its block, or above the others.
fn standard(file: &ProgramFile, text: &str) -> Edit {
    let facts = &file.facts;
    let is_standard = |i: &&Import| i.level == 0 && STANDARD.contains(&facts.name(i.module).split('.').next().unwrap_or_default());
    if let Some(last) = leading(facts).filter(is_standard).last() {
        return insert_below(file, last.span, text);
    }
    match leading(facts).next() {
        Some(first) => insert_above(file, first, &format!("{text}{}", facts.layout.newline)),
        None => at_end(file, text),
    }
}

/// Import bindings at module level, outside of every `if` and `try`, in the leading block of imports.
pub(super) fn leading(facts: &Facts) -> impl Iterator<Item = &Import> + Clone {
    before(facts, facts.layout.after_imports)
}

/// Import bindings at module level, outside of every `if` and `try`, that end before an offset.
fn before(facts: &Facts, at: u32) -> impl Iterator<Item = &Import> + Clone {
    // Nothing may stand above `from __future__ import …`.
    let ordinary = |i: &Import| !i.type_checking && facts.name(i.module) != "__future__";
    facts
        .imports
        .iter()
        .filter(move |i| i.function == MODULE && ordinary(i) && i.span.end <= at && is_top(facts, i.span))
}

fn is_top(facts: &Facts, span: Span) -> bool {
    let body = &facts.module().body;
    body.top.iter().any(|&s| body.statements[s.index()].span == span)
}

/// Adds a name to `from m import a, c`, in its place if the names are sorted.
fn extend(source: &Source, facts: &Facts, span: Span, same: &[&Import], name: &str) -> Option<Edit> {
    let text = source.slice(span);
    if text.contains('#') || text.contains('\\') {
        return None;
    }
    let members: Vec<&str> = same
        .iter()
        .filter(|i| i.span == span)
        .filter_map(|i| i.member)
        .map(|m| facts.name(m))
        .collect();
    let by_kind = members.is_sorted_by_key(|m| (kind(m), m.to_lowercase()));
    let next = members.iter().find(|m| match by_kind {
        true => (kind(m), m.to_lowercase()) > (kind(name), name.to_lowercase()),
        false => m.to_lowercase() > name.to_lowercase(),
    });
    let names = text.find("import")? + "import".len();
    let find = |word: &str| {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let hits = text[names..].match_indices(word);
        hits.map(|(at, _)| names + at)
            .find(|&at| !text[..at].ends_with(is_word) && !text[at + word.len()..].starts_with(is_word))
    };
    let many_lines = text.contains('\n');
    if !many_lines && text.chars().count() + ", ".len() + name.len() > 88 {
        let at = next
            .and_then(|next| members.iter().position(|m| m == next))
            .unwrap_or(members.len());
        return wrapped(span, text, names, (at, name), facts);
    }
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    if let Some(next) = next {
        let at = find(next)?;
        let gap = match text[..at].rfind('\n') {
            Some(line) if many_lines => format!(",{newline}{}", &text[line + 1..at]),
            _ => ", ".to_string(),
        };
        return Some(Edit::insert_once(span.start + at as u32, format!("{name}{gap}")));
    }
    let last = members.last()?;
    if same
        .iter()
        .any(|i| i.span == span && i.member.is_some_and(|m| facts.name(m) != facts.name(i.bound)))
    {
        return None;
    }
    let end = find(last)? + last.len();
    let gap = match text[..end].rfind('\n') {
        Some(line) if many_lines => {
            let indent: String = text[line + 1..].chars().take_while(|c| c.is_whitespace()).collect();
            format!(",{newline}{indent}")
        }
        _ => ", ".to_string(),
    };
    Some(Edit::insert_once(span.start + end as u32, format!("{gap}{name}")))
}

/// An import that has become too long for one line, a name a line.
fn wrapped(span: Span, text: &str, names: usize, (at, name): (usize, &str), facts: &Facts) -> Option<Edit> {
    let mut all: Vec<&str> = text[names..].split(',').map(str::trim).collect();
    if text.contains(['(', ';']) || at > all.len() {
        return None;
    }
    all.insert(at, name);
    let (unit, newline) = (&facts.layout.indent, &facts.layout.newline);
    let lines: String = all.iter().map(|name| format!("{unit}{name},{newline}")).collect();
    Some(Edit::replace(span, format!("{} ({newline}{lines})", &text[..names])))
}

/// Sorters of imports put constants in front of classes, and these in front of functions.
fn kind(name: &str) -> u8 {
    let any = |f: fn(char) -> bool| name.chars().any(f);
    match name.chars().next() {
        _ if name.len() > 1 && any(char::is_uppercase) && !any(char::is_lowercase) => 0,
        Some(first) if first.is_uppercase() => 1,
        _ => 2,
    }
}

fn insert_above(file: &ProgramFile, next: &Import, text: &str) -> Edit {
    let newline = &file.facts.layout.newline;
    Edit::insert_once(file.source.line_start(next.span.start), format!("{text}{newline}"))
}

fn insert_below(file: &ProgramFile, last: Span, text: &str) -> Edit {
    let newline = &file.facts.layout.newline;
    Edit::insert_once(file.source.line_end(last.end), format!("{text}{newline}"))
}

fn at_end(file: &ProgramFile, text: &str) -> Edit {
    let newline = &file.facts.layout.newline;
    Edit::insert_once(file.facts.layout.after_imports, format!("{}{newline}", text.replace('\n', newline)))
}

/// A module-global line behind the imports, shared by all fixes of the file.
pub(super) fn global(file: &ProgramFile, line: &str) -> Edit {
    let newline = &file.facts.layout.newline;
    Edit::insert_once(file.facts.layout.after_imports, format!("{newline}{line}{newline}"))
}

/// A module-level name that holds `torch.library.Library(namespace, …)` from the top of the module on.
pub(super) fn library(file: &ProgramFile, namespace: &str, is_library: impl Fn(crate::facts::ValueId) -> bool) -> Option<String> {
    let facts = &file.facts;
    let body = &facts.module().body;
    facts.module().bindings.iter().find_map(|&(name, value)| {
        let Op::Call(call) = body.op(value) else { return None };
        let call = body.call(call);
        let Op::Const(crate::facts::Const::Str(first)) = body.op(call.args.first()?.value) else {
            return None;
        };
        let statement = body.statement_of(value)?;
        let top = body.top.contains(&statement);
        (top && facts.name(first) == namespace && is_library(call.callee)).then(|| facts.name(name).to_string())
    })
}
