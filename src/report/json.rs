//! The JSON contract of `check`.

use super::{Files, rule_url};
use crate::finding::{Certainty, Finding, Fix, Level, Safety};
use crate::source::{FileId, Span};
use serde::Serialize;

#[derive(Serialize)]
struct Row<'a> {
    rule: &'a str,
    level: Level,
    certainty: Certainty,
    message: &'a str,
    help: Option<&'a str>,
    url: String,
    file: &'a str,
    start: Position,
    end: Position,
    related: Vec<Related<'a>>,
    fix: Option<FixRow<'a>>,
}

#[derive(Serialize)]
pub(super) struct Position {
    pub(super) line: u32,
    pub(super) column: u32,
}

#[derive(Serialize)]
struct Related<'a> {
    file: &'a str,
    start: Position,
    end: Position,
    message: &'a str,
}

#[derive(Serialize)]
struct FixRow<'a> {
    safety: Safety,
    title: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    reasons: &'a [String],
    edits: Vec<EditRow<'a>>,
}

#[derive(Serialize)]
struct EditRow<'a> {
    file: &'a str,
    start: Position,
    end: Position,
    content: &'a str,
}

/// The findings as a JSON list.
pub fn render(findings: &[Finding], files: Files) -> String {
    let rows: Vec<Row> = findings.iter().map(|finding| row(finding, files)).collect();
    serde_json::to_string_pretty(&rows).expect("rows have string keys only")
}

fn row<'a>(finding: &'a Finding, files: Files<'a>) -> Row<'a> {
    let (start, end) = ends(files, finding.place.file, finding.place.span);
    Row {
        rule: finding.rule,
        level: finding.level,
        certainty: finding.certainty,
        message: &finding.message,
        help: finding.help.as_deref(),
        url: rule_url(finding.rule),
        file: files.name(finding.place.file),
        start,
        end,
        related: finding.labels.iter().map(|label| related(label, files)).collect(),
        fix: finding.fix.as_ref().map(|fix| fix_row(fix, files)),
    }
}

fn related<'a>(label: &'a crate::finding::Label, files: Files<'a>) -> Related<'a> {
    let (start, end) = ends(files, label.place.file, label.place.span);
    Related {
        file: files.name(label.place.file),
        start,
        end,
        message: &label.message,
    }
}

fn fix_row<'a>(fix: &'a Fix, files: Files<'a>) -> FixRow<'a> {
    let edits = fix.edits.iter().map(|(file, edit)| {
        let (start, end) = ends(files, *file, edit.span);
        EditRow {
            file: files.name(*file),
            start,
            end,
            content: &edit.content,
        }
    });
    FixRow {
        safety: fix.safety,
        title: &fix.title,
        reasons: &fix.reasons,
        edits: edits.collect(),
    }
}

fn ends(files: Files, file: FileId, span: Span) -> (Position, Position) {
    let ((line, column), (end_line, end_column)) = files.positions(file, span);
    (
        Position { line, column },
        Position {
            line: end_line,
            column: end_column,
        },
    )
}
