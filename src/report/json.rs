//! The JSON contract of `check`.

use super::{Files, rule_url};
use crate::finding::{Certainty, Finding, Fix, Level, Safety};
use crate::source::{FileId, Span};
use serde::Serialize;
use std::collections::BTreeMap;

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

/// How often a rule fired at a level.
#[derive(Debug, Serialize)]
pub struct StatisticsRow {
    /// The rule.
    pub rule: &'static str,
    /// The level.
    pub level: Level,
    /// How often.
    pub count: usize,
    /// How many of these a `--fix` cures.
    pub safe_fixes: usize,
    /// How many more a `--fix --unsafe` cures.
    pub unsafe_fixes: usize,
}

/// How often each rule fired at each level, most frequent first.
pub fn statistics_rows(findings: &[Finding]) -> Vec<StatisticsRow> {
    let mut rows: BTreeMap<(&'static str, Level), StatisticsRow> = BTreeMap::new();
    for finding in findings {
        let key = (finding.rule, finding.level);
        let new = StatisticsRow {
            rule: finding.rule,
            level: finding.level,
            count: 0,
            safe_fixes: 0,
            unsafe_fixes: 0,
        };
        let row = rows.entry(key).or_insert(new);
        row.count += 1;
        let safety = finding.fix.as_ref().filter(|fix| !fix.edits.is_empty()).map(|fix| fix.safety);
        row.safe_fixes += usize::from(safety == Some(Safety::Safe));
        row.unsafe_fixes += usize::from(safety == Some(Safety::Unsafe));
    }
    let mut rows: Vec<StatisticsRow> = rows.into_values().collect();
    rows.sort_by(|a, b| b.count.cmp(&a.count).then(a.rule.cmp(b.rule)).then(b.level.cmp(&a.level)));
    rows
}

/// The statistics as a JSON list.
pub fn statistics(findings: &[Finding]) -> String {
    serde_json::to_string_pretty(&statistics_rows(findings)).expect("rows have string keys only")
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
