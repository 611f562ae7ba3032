//! GitLab's code quality report.

use super::{Files, fingerprints};
use crate::finding::{Finding, Level};
use serde::Serialize;

#[derive(Serialize)]
struct Row<'a> {
    description: &'a str,
    check_name: &'a str,
    fingerprint: String,
    severity: &'static str,
    location: Location<'a>,
}

#[derive(Serialize)]
struct Location<'a> {
    path: &'a str,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u32,
    end: u32,
}

/// The findings as a JSON list.
pub fn render(findings: &[Finding], files: Files) -> String {
    let rows: Vec<Row> = findings
        .iter()
        .zip(fingerprints(findings, files))
        .map(|(f, print)| row(f, print, files))
        .collect();
    serde_json::to_string_pretty(&rows).expect("rows have string keys only")
}

fn row<'a>(finding: &'a Finding, fingerprint: String, files: Files<'a>) -> Row<'a> {
    let ((begin, _), (end, _)) = files.positions(finding.place.file, finding.place.span);
    let severity = match finding.level {
        Level::Note => "info",
        Level::Warning => "minor",
        Level::Error => "major",
    };
    let location = Location {
        path: files.name(finding.place.file),
        lines: Lines { begin, end },
    };
    Row {
        description: &finding.message,
        check_name: finding.rule,
        fingerprint,
        severity,
        location,
    }
}
