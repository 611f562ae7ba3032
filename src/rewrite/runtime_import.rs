//! Moves an import that only type checkers see to where the program sees it too.

use crate::facts::{Facts, Import, MODULE, StatementKind};
use crate::finding::Edit;
use crate::program::Program;
use crate::source::{FileId, Source, Span};

/// Modules that every project can import without closing a circle.
const HARMLESS: &[&str] = &["collections", "typing", "typing_extensions", "torch", "numbers", "enum", "triton"];

/// The edits, and why they may be wrong, if they may.
pub type Imported = (Vec<(FileId, Edit)>, Option<String>);

/// The edits that make these names exist at run time, and why that may be wrong, if it may. `None`: they are not imported for type checkers.
pub fn import_at_runtime(program: &Program, file: FileId, names: &[&str]) -> Option<Imported> {
    let place = program.file(file);
    let (facts, source) = (&*place.facts, &*place.source);
    let mut edits = Vec::new();
    let mut doubt = None;
    for name in names {
        let import = facts
            .imports
            .iter()
            .find(|i| i.type_checking && i.function == MODULE && facts.name(i.bound) == *name)?;
        let module = facts.name(import.module);
        let top = module.split('.').next().unwrap_or(module);
        if import.level > 0 || !HARMLESS.contains(&top) {
            doubt = Some(format!(
                "importing `{}{module}` when the module runs may close a circle of imports",
                ".".repeat(import.level as usize)
            ));
        }
        let newline = &facts.layout.newline;
        let line = format!("{}{newline}", statement(facts, import));
        edits.push((file, Edit::insert_once(facts.layout.after_imports, line)));
        edits.extend(removal(facts, source, import).map(|edit| (file, edit)));
    }
    Some((edits, doubt))
}

fn statement(facts: &Facts, import: &Import) -> String {
    let bound = facts.name(import.bound);
    let module = format!("{}{}", ".".repeat(import.level as usize), facts.name(import.module));
    match import.member.map(|m| facts.name(m)) {
        Some(member) if member == bound => format!("from {module} import {member}"),
        Some(member) => format!("from {module} import {member} as {bound}"),
        None if import.renamed => format!("import {module} as {bound}"),
        None => format!("import {module}"),
    }
}

/// Takes the statement away where it binds nothing else: with its `if`, where that holds nothing else.
fn removal(facts: &Facts, source: &Source, import: &Import) -> Option<Edit> {
    if facts.imports.iter().filter(|i| i.span == import.span).count() != 1 {
        return None;
    }
    let body = &facts.module().body;
    let own = body.statements.iter().find(|s| s.span == import.span)?;
    let outer = &body.statements[own.parent?.index()];
    let lines = |span: Span| Span::new(source.line_start(span.start), source.line_end(span.end));
    let alone = outer.kind == StatementKind::If && outer.blocks.len() == 1 && outer.blocks[0].statements.len() == 1;
    if !alone {
        return (outer.blocks.iter().all(|b| b.statements.len() > 1)).then(|| Edit::replace(lines(import.span), ""));
    }
    let mut whole = lines(outer.span);
    let before = source.text[..whole.start as usize].trim_end_matches(['\n', '\r', ' ']);
    whole.start = source.line_end(before.len() as u32);
    Some(Edit::replace(whole, ""))
}
