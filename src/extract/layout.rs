//! How a file is written, and where new imports and definitions go.

use super::parse::Tree;
use super::span;
use crate::facts::Layout;
use crate::source::Source;
use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::Ranged;

/// The layout of a file.
pub(super) fn layout(source: &Source, tree: &Tree) -> Layout {
    let text = &*source.text;
    let statements = tree.statements();
    let prologue = statements
        .iter()
        .enumerate()
        .take_while(|(i, s)| (*i == 0 && is_text(s)) || is_future(s))
        .count();
    let after_docstring = match prologue.checked_sub(1) {
        Some(last) => past_line(source, statements, last),
        None => past_comments(text),
    };
    let imports = statements
        .iter()
        .enumerate()
        .skip(prologue)
        .take_while(|(_, s)| may_stand_among_imports(s));
    let last_import = imports.filter(|(_, s)| is_import(s)).last();
    let indent = tree.first_indent().and_then(|range| text.get(span(range).range()));
    Layout {
        newline: newline(text).to_owned(),
        indent: indent.filter(|i| !i.is_empty()).unwrap_or("    ").to_owned(),
        after_docstring,
        after_imports: last_import.map_or(after_docstring, |(i, _)| past_line(source, statements, i)),
        future_annotations: statements[..prologue].iter().any(has_annotations),
        all: exported(statements),
    }
}

fn newline(text: &str) -> &'static str {
    match memchr::memchr2(b'\n', b'\r', text.as_bytes()) {
        Some(at) if text[at..].starts_with("\r\n") => "\r\n",
        Some(at) if text[at..].starts_with('\r') => "\r",
        _ => "\n",
    }
}

/// Past the line on which a statement ends, and past those that begin on it.
fn past_line(source: &Source, statements: &[Stmt], mut index: usize) -> u32 {
    loop {
        let last = span(statements[index].range()).end;
        let end = source.line_end(last);
        match statements.get(index + 1) {
            Some(next) if next.range().start().to_u32() < end => index += 1,
            _ => return end,
        }
    }
}

/// Past the comments at the top that speak of the file: up to the last one that a blank line follows, the first line of a script included.
fn past_comments(text: &str) -> u32 {
    let start = text.len() - text.trim_start_matches('\u{feff}').len();
    let (mut at, mut result) = (start, start);
    let mut in_comments = false;
    for line in text[start..].split_inclusive('\n') {
        let content = line.trim();
        if content.starts_with('#') {
            in_comments = true;
        } else if content.is_empty() && in_comments {
            result = at;
            in_comments = false;
        } else if !content.is_empty() {
            break;
        }
        at += line.len();
        if content.starts_with("#!") || (content.starts_with('#') && content.contains("coding")) {
            result = at;
        }
    }
    // A file of comments only.
    if at == text.len() && in_comments {
        at as u32
    } else {
        result as u32
    }
}

fn is_text(statement: &Stmt) -> bool {
    statement.as_expr_stmt().is_some_and(|s| s.value.is_string_literal_expr())
}

fn is_import(statement: &Stmt) -> bool {
    matches!(statement, Stmt::Import(_) | Stmt::ImportFrom(_))
}

fn is_future(statement: &Stmt) -> bool {
    statement
        .as_import_from_stmt()
        .is_some_and(|s| s.module.as_ref().is_some_and(|m| &m.id == "__future__"))
}

fn has_annotations(statement: &Stmt) -> bool {
    statement
        .as_import_from_stmt()
        .is_some_and(|s| s.names.iter().any(|n| &n.name.id == "annotations"))
}

/// An import, or a `try` or `if` that holds nothing but imports and flags for what was found.
fn may_stand_among_imports(statement: &Stmt) -> bool {
    let flags = |body: &[Stmt]| {
        body.iter()
            .all(|s| is_import(s) || matches!(s, Stmt::Assign(_) | Stmt::AnnAssign(_) | Stmt::Pass(_)))
    };
    match statement {
        Stmt::Import(_) | Stmt::ImportFrom(_) => true,
        Stmt::Try(s) => {
            let handlers = s.handlers.iter().filter_map(|h| h.as_except_handler());
            s.body.iter().any(is_import) && flags(&s.body) && flags(&s.orelse) && handlers.into_iter().all(|h| flags(&h.body))
        }
        Stmt::If(s) => s.body.iter().any(is_import) && flags(&s.body) && s.elif_else_clauses.iter().all(|clause| flags(&clause.body)),
        _ => false,
    }
}

/// The names of a literal `__all__`, with what is added to it; `None` when any part of it is computed.
fn exported(statements: &[Stmt]) -> Option<Vec<String>> {
    let mut all = None;
    for statement in statements {
        match statement {
            Stmt::Assign(s) if s.targets.iter().any(is_all) => all = Some(strings(&s.value)?),
            Stmt::AnnAssign(s) if is_all(&s.target) => all = Some(strings(s.value.as_deref()?)?),
            Stmt::AugAssign(s) if is_all(&s.target) => all.get_or_insert_default().extend(strings(&s.value)?),
            _ => {}
        }
    }
    all
}

fn is_all(target: &Expr) -> bool {
    target.as_name_expr().is_some_and(|n| &n.id == "__all__")
}

fn strings(value: &Expr) -> Option<Vec<String>> {
    let elements = match value {
        Expr::List(list) => &list.elts,
        Expr::Tuple(tuple) => &tuple.elts,
        _ => return None,
    };
    elements
        .iter()
        .map(|e| e.as_string_literal_expr().map(|s| s.value.to_str().to_owned()))
        .collect()
}
