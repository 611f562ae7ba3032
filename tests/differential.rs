//! A second opinion: another parser must see the same functions and decorators in every file that its older grammar accepts.

use opwright::extract::extract;
use opwright::facts::{Facts, FunctionId, FunctionKind, MODULE};
use opwright::source::Source;
use opwright::words::imports;
use rustpython_parser::ast::{self, Ranged, Stmt};
use rustpython_parser::{Mode, parse};
use std::path::{Path, PathBuf};

/// Name and decorators of a function or class.
type Seen = (String, Vec<String>);

fn fixtures() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(root).sort_by_file_name() {
        let path = entry.expect("the fixtures can be read").into_path();
        if path.extension().is_some_and(|e| e == "py" || e == "pyi")
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            files.push((path, text));
        }
    }
    files
}

fn ours(text: &str, facts: &Facts) -> Vec<Seen> {
    let named = |k: FunctionKind| matches!(k, FunctionKind::Def | FunctionKind::AsyncDef | FunctionKind::Class);
    let functions = facts.functions.iter().filter(|f| named(f.kind));
    functions
        .map(|f| {
            let decorators = f
                .decorators
                .iter()
                .map(|d| text[d.span.range()].trim_start_matches('@').trim().to_owned());
            (facts.name(f.qualname).to_owned(), decorators.collect())
        })
        .collect()
}

/// Walks the other parser's tree.
fn theirs(text: &str, body: &[Stmt], prefix: &str, seen: &mut Vec<Seen>) {
    for statement in body {
        match statement {
            Stmt::FunctionDef(s) => named(text, (&s.name, &s.decorator_list, &s.body), prefix, ".<locals>.", seen),
            Stmt::AsyncFunctionDef(s) => named(text, (&s.name, &s.decorator_list, &s.body), prefix, ".<locals>.", seen),
            Stmt::ClassDef(s) => named(text, (&s.name, &s.decorator_list, &s.body), prefix, ".", seen),
            Stmt::For(s) => blocks(text, &[&s.body, &s.orelse], prefix, seen),
            Stmt::AsyncFor(s) => blocks(text, &[&s.body, &s.orelse], prefix, seen),
            Stmt::While(s) => blocks(text, &[&s.body, &s.orelse], prefix, seen),
            Stmt::If(s) => blocks(text, &[&s.body, &s.orelse], prefix, seen),
            Stmt::With(s) => theirs(text, &s.body, prefix, seen),
            Stmt::AsyncWith(s) => theirs(text, &s.body, prefix, seen),
            Stmt::Match(s) => s.cases.iter().for_each(|c| theirs(text, &c.body, prefix, seen)),
            Stmt::Try(s) => tried(text, (&s.body, &s.handlers, &s.orelse, &s.finalbody), prefix, seen),
            Stmt::TryStar(s) => tried(text, (&s.body, &s.handlers, &s.orelse, &s.finalbody), prefix, seen),
            _ => {}
        }
    }
}

type Named<'a> = (&'a ast::Identifier, &'a [ast::Expr], &'a [Stmt]);
type Tried<'a> = (&'a [Stmt], &'a [ast::ExceptHandler], &'a [Stmt], &'a [Stmt]);

fn named(text: &str, (name, decorators, body): Named, prefix: &str, separator: &str, seen: &mut Vec<Seen>) {
    let qualname = format!("{prefix}{name}");
    let decorators = decorators
        .iter()
        .map(|d| text[d.start().to_usize()..d.end().to_usize()].to_owned())
        .collect();
    seen.push((qualname.clone(), decorators));
    theirs(text, body, &(qualname + separator), seen);
}

fn tried(text: &str, (body, handlers, orelse, finalbody): Tried, prefix: &str, seen: &mut Vec<Seen>) {
    theirs(text, body, prefix, seen);
    for ast::ExceptHandler::ExceptHandler(handler) in handlers {
        theirs(text, &handler.body, prefix, seen);
    }
    blocks(text, &[orelse, finalbody], prefix, seen);
}

fn blocks(text: &str, blocks: &[&[Stmt]], prefix: &str, seen: &mut Vec<Seen>) {
    blocks.iter().for_each(|block| theirs(text, block, prefix, seen));
}

#[test]
fn two_parsers_see_the_same_functions() {
    let mut compared = 0;
    for (path, text) in fixtures() {
        let Ok(ast::Mod::Module(module)) = parse(&text, Mode::Module, "f") else {
            continue;
        };
        let facts = extract(&Source::new("f.py", text.as_str()));
        assert_eq!(facts.syntax_errors, [], "{}", path.display());
        let mut seen = Vec::new();
        theirs(&text, &module.body, "", &mut seen);
        assert_eq!(ours(&text, &facts), seen, "{}", path.display());
        compared += 1;
    }
    assert!(compared >= 2, "the older grammar accepts too few fixtures");
}

#[test]
fn the_syntax_fixtures_are_valid() {
    for name in ["statements", "expressions", "newest"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("fixtures/syntax")
            .join(name)
            .with_extension("py");
        let facts = extract(&Source::new("f.py", std::fs::read_to_string(path).unwrap()));
        assert_eq!(facts.syntax_errors, [], "{name}");
        assert!(facts.functions.len() > 5);
    }
}

#[test]
fn imports_read_off_a_text_are_those_of_its_tree() {
    let mut compared = 0;
    for (path, text) in fixtures() {
        let source = Source::new(path.to_string_lossy(), text.clone());
        let facts = extract(&source);
        if !facts.syntax_errors.is_empty() {
            continue;
        }
        let runs = |f: FunctionId| f == MODULE || facts.function(f).kind == FunctionKind::Class;
        let own = facts.imports.iter().filter(|i| runs(i.function));
        let mut parsed: Vec<_> = own
            .map(|i| {
                let renamed = i.renamed || i.member.is_some_and(|member| member != i.bound);
                let renamed = renamed.then(|| facts.name(i.bound));
                (
                    i.level,
                    facts.name(i.module),
                    i.member.map(|m| facts.name(m)),
                    renamed,
                    i.type_checking,
                )
            })
            .collect();
        parsed.extend(
            facts
                .star_imports
                .iter()
                .map(|i| (i.level, facts.name(i.module), Some("*"), None, false)),
        );
        let mut read: Vec<_> = imports(&text)
            .into_iter()
            .map(|i| {
                (
                    i.level,
                    i.module,
                    i.member,
                    i.renamed.filter(|name| i.member != Some(name)),
                    i.type_checking,
                )
            })
            .collect();
        parsed.sort_unstable();
        read.sort_unstable();
        assert_eq!(read, parsed, "{}", path.display());
        compared += read.len();
    }
    assert!(compared > 100, "{compared}");
}
