//! Findings as diagnostics.

use super::client::Client;
use super::convert::range;
use super::engine::Snapshot;
use super::uri;
use crate::finding::{Finding, Level};
use crate::report::rule_url;
use crate::source::{FileId, Place};
use lsp_types::{
    CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, Location, NumberOrString, Uri,
};
use std::collections::BTreeMap;
use std::str::FromStr;

/// The findings that are shown, by file.
pub(super) fn by_file(snapshot: &Snapshot) -> BTreeMap<FileId, Vec<&Finding>> {
    let mut found: BTreeMap<FileId, Vec<&Finding>> = BTreeMap::new();
    for finding in &snapshot.checked.findings {
        if snapshot.shown[finding.place.file.index()] {
            found.entry(finding.place.file).or_default().push(finding);
        }
    }
    found
}

/// The findings in one file, as the editor shows them.
pub(super) fn of_file(snapshot: &Snapshot, file: FileId, client: &Client) -> Vec<Diagnostic> {
    let shown = snapshot.shown[file.index()];
    let here = |finding: &&Finding| shown && finding.place.file == file;
    let found = snapshot.checked.findings.iter().filter(here);
    found.map(|finding| diagnostic(snapshot, finding, client)).collect()
}

/// One finding, as the editor shows it.
pub(super) fn diagnostic(snapshot: &Snapshot, finding: &Finding, client: &Client) -> Diagnostic {
    let source = snapshot.source(finding.place.file);
    let related: Vec<DiagnosticRelatedInformation> = finding
        .labels
        .iter()
        .filter_map(|label| {
            Some(DiagnosticRelatedInformation {
                location: location(snapshot, label.place, client)?,
                message: label.message.clone(),
            })
        })
        .collect();
    Diagnostic {
        range: range(source, finding.place.span, client.encoding),
        severity: Some(severity(finding.level)),
        code: Some(NumberOrString::String(finding.rule.to_string())),
        code_description: Uri::from_str(&rule_url(finding.rule))
            .ok()
            .filter(|_| client.code_description)
            .map(|href| CodeDescription { href }),
        source: Some("opwright".to_string()),
        message: message(finding),
        related_information: (client.related_information && !related.is_empty()).then_some(related),
        tags: (finding.rule == crate::suppress::UNUSED).then(|| vec![DiagnosticTag::UNNECESSARY]),
        data: None,
    }
}

/// Where a place is, as the editor names it.
pub(super) fn location(snapshot: &Snapshot, place: Place, client: &Client) -> Option<Location> {
    Some(Location {
        uri: address(snapshot, place.file)?,
        range: range(snapshot.source(place.file), place.span, client.encoding),
    })
}

/// The address of a file: the client's own spelling where it has the file open.
pub(super) fn address(snapshot: &Snapshot, file: FileId) -> Option<Uri> {
    let path = snapshot.path(file);
    match snapshot.buffers.get(path) {
        Some(opened) => Uri::from_str(&opened.uri).ok(),
        None => uri::of_path(path),
    }
}

fn severity(level: Level) -> DiagnosticSeverity {
    match level {
        Level::Error => DiagnosticSeverity::ERROR,
        Level::Warning => DiagnosticSeverity::WARNING,
        Level::Note => DiagnosticSeverity::INFORMATION,
    }
}

/// What is wrong, and what to do. Editors have no flags: what the help says of them is left out.
fn message(finding: &Finding) -> String {
    let mut text = finding.message.clone();
    if !finding.primary.is_empty() {
        text.push_str(&format!("\n{}", finding.primary));
    }
    if let Some(help) = &finding.help {
        let help = help.split(": `--fix").next().unwrap_or(help);
        text.push_str(&format!("\nhelp: {help}"));
    }
    for note in &finding.notes {
        text.push_str(&format!("\nnote: {note}"));
    }
    text
}
