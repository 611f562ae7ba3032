//! SARIF 2.1.0.

use super::{Files, fingerprints, rule_url};
use crate::finding::{Finding, Fix, Level};
use crate::rules;
use crate::source::{FileId, Span};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The findings as one run; `ignored` are findings that a comment covers, with its reason.
pub fn render(findings: &[Finding], ignored: &[(Finding, String)], files: Files) -> String {
    let fired: Vec<&rules::Rule> = rules::ALL
        .iter()
        .copied()
        .filter(|rule| has_fired(rule, findings, ignored))
        .collect();
    let mut results: Vec<Value> = findings
        .iter()
        .zip(fingerprints(findings, files))
        .map(|(f, print)| result(f, print, &fired, files))
        .collect();
    let covered: Vec<Finding> = ignored.iter().map(|(finding, _)| finding.clone()).collect();
    for ((finding, reason), print) in ignored.iter().zip(fingerprints(&covered, files)) {
        let mut row = result(finding, print, &fired, files);
        row["suppressions"] = json!([{ "kind": "inSource", "justification": reason }]);
        results.push(row);
    }
    let driver = json!({
        "name": "opwright",
        "version": env!("CARGO_PKG_VERSION"),
        "informationUri": "https://docs.rs/crate/opwright",
        "rules": fired.iter().map(|rule| descriptor(rule)).collect::<Vec<_>>(),
    });
    let run = json!({ "tool": { "driver": driver }, "columnKind": "unicodeCodePoints", "results": results });
    let log = json!({ "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run] });
    serde_json::to_string_pretty(&log).expect("values have string keys only")
}

fn has_fired(rule: &rules::Rule, findings: &[Finding], ignored: &[(Finding, String)]) -> bool {
    findings
        .iter()
        .chain(ignored.iter().map(|(finding, _)| finding))
        .any(|finding| finding.rule == rule.name)
}

fn descriptor(rule: &rules::Rule) -> Value {
    json!({
        "id": rule.name,
        "shortDescription": { "text": rule.summary },
        "helpUri": rule_url(rule.name),
        "defaultConfiguration": { "level": super::level_word(rule.level) },
        "properties": { "tags": [rule.group] },
    })
}

fn result(finding: &Finding, fingerprint: String, fired: &[&rules::Rule], files: Files) -> Value {
    let text = match &finding.help {
        Some(help) => format!("{}. {help}", finding.message),
        None => finding.message.clone(),
    };
    let related: Vec<Value> = finding
        .labels
        .iter()
        .enumerate()
        .map(|(id, label)| {
            let mut place = location(label.place.file, label.place.span, files);
            place["id"] = json!(id);
            place["message"] = json!({ "text": label.message });
            place
        })
        .collect();
    let mut row = json!({
        "ruleId": finding.rule,
        "level": level(finding.level),
        "message": { "text": text },
        "locations": [location(finding.place.file, finding.place.span, files)],
        "relatedLocations": related,
        "partialFingerprints": { "opwright/v1": fingerprint },
    });
    if let Some(index) = fired.iter().position(|rule| rule.name == finding.rule) {
        row["ruleIndex"] = json!(index);
    }
    if let Some(fix) = finding.fix.as_ref().filter(|fix| !fix.edits.is_empty()) {
        row["fixes"] = json!([changes(fix, files)]);
    }
    row
}

fn level(level: Level) -> &'static str {
    super::level_word(level)
}

fn location(file: FileId, span: Span, files: Files) -> Value {
    json!({ "physicalLocation": { "artifactLocation": artifact(file, files), "region": region(file, span, files) } })
}

fn artifact(file: FileId, files: Files) -> Value {
    json!({ "uri": uri(files.name(file)) })
}

fn region(file: FileId, span: Span, files: Files) -> Value {
    let ((line, column), (end_line, end_column)) = files.positions(file, span);
    json!({ "startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column })
}

fn changes(fix: &Fix, files: Files) -> Value {
    let mut by_file: BTreeMap<FileId, Vec<Value>> = BTreeMap::new();
    for (file, edit) in &fix.edits {
        let replacement = json!({ "deletedRegion": region(*file, edit.span, files), "insertedContent": { "text": edit.content } });
        by_file.entry(*file).or_default().push(replacement);
    }
    let changes: Vec<Value> = by_file
        .into_iter()
        .map(|(file, list)| json!({ "artifactLocation": artifact(file, files), "replacements": list }))
        .collect();
    json!({ "description": { "text": fix.title }, "artifactChanges": changes })
}

/// A path as a relative URI reference.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}
