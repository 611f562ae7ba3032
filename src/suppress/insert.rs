//! Writes an ignore comment for a finding.

use super::{Comment, header_lines, headers, lines_of};
use crate::facts::{Facts, Function, FunctionKind};
use crate::finding::{Edit, Finding};
use crate::source::{Source, Span};

/// The edit that makes a comment cover a finding: a name in a comment that is there already, else a new line above the statement,
/// or the end of its line where no line can stand above.
pub fn ignore(finding: &Finding, source: &Source, facts: &Facts, reason: &str) -> Edit {
    let lines = lines_of(finding, source, facts);
    let there = facts
        .directives
        .iter()
        .filter(|d| d.malformed.is_none() && !d.whole_file && !d.rules.is_empty());
    if let Some(comment) = there.map(|d| Comment::new(d, source, facts)).find(|c| lines.contains(&c.line)) {
        let last = comment.directive.rules[comment.directive.rules.len() - 1].1;
        return Edit::insert(last.end, format!(", {}", finding.rule));
    }
    let comment = format!("# opwright: ignore[{}] {reason}", finding.rule);
    let start = statement_start(finding.place.span, source, facts);
    let line = source.line_start(start);
    if in_the_middle(line, facts) {
        let end = line_content_end(source, finding.place.span.start);
        return Edit::insert(end, format!("  {comment}"));
    }
    let text = &source.text[line as usize..];
    let indent: String = text.chars().take_while(|c| matches!(c, ' ' | '\t')).collect();
    let mark = if text.starts_with('\u{feff}') {
        '\u{feff}'.len_utf8() as u32
    } else {
        0
    };
    Edit::insert(line + mark, format!("{indent}{comment}{}", facts.layout.newline))
}

/// Where the statement begins that the finding is about: its function with its decorators, when it is about that.
fn statement_start(span: Span, source: &Source, facts: &Facts) -> u32 {
    let line = source.line(span.start);
    let function = headers(facts).find(|f| {
        let (first, last) = header_lines(f, source);
        first <= line && line <= last
    });
    if let Some(function) = function {
        return function.span.start;
    }
    let around = |f: &&Function| f.kind == FunctionKind::Module || f.span.contains(span);
    let statements = facts.functions.iter().filter(around).flat_map(|f| &f.body.statements);
    let inner = statements
        .filter(|s| s.span.contains(span))
        .min_by_key(|s| s.span.end - s.span.start);
    inner.map_or(span.start, |s| s.span.start)
}

/// Whether a line begins inside of a simple statement, such as a string over several lines.
fn in_the_middle(line: u32, facts: &Facts) -> bool {
    let statements = facts.functions.iter().flat_map(|f| &f.body.statements);
    statements
        .filter(|s| s.blocks.is_empty() && !matches!(s.kind, crate::facts::StatementKind::Def | crate::facts::StatementKind::Class))
        .any(|s| s.span.start < line && line < s.span.end)
}

/// The end of a line, without its line end.
fn line_content_end(source: &Source, offset: u32) -> u32 {
    let (start, end) = (source.line_start(offset), source.line_end(offset));
    start + source.text[start as usize..end as usize].trim_end_matches(['\r', '\n']).len() as u32
}
