//! Code actions: the cure of a finding, another style of it, an ignore comment, and all cures of a file.

use super::client::{Client, Options, fix_all_kind, wants};
use super::convert::{self, span};
use super::diagnostics::{self, address};
use super::engine::Snapshot;
use crate::finding::{Finding, Fix, Safety};
use crate::fix;
use crate::pipeline::{self, Checked, Input, Wanted, style_word};
use crate::settings::Style;
use crate::source::{FileId, Source, Span};
use crate::suppress;
use lsp_types::{
    CodeAction, CodeActionDisabled, CodeActionKind, DocumentChanges, OneOf, OptionalVersionedTextDocumentIdentifier, Range,
    TextDocumentEdit, TextEdit, WorkspaceEdit,
};
use serde_json::json;
use similar::{DiffTag, TextDiff};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Stands where only the user knows the reason.
const REASON: &str = "TODO: say why";

/// What can be done about a range of a file.
pub(super) fn list(
    snapshot: &Snapshot,
    path: &Path,
    range: Range,
    only: Option<&[CodeActionKind]>,
    client: &Client,
    options: &Options,
) -> Vec<CodeAction> {
    let Some(file) = snapshot.file(path) else { return Vec::new() };
    let found = diagnostics::by_file(snapshot).remove(&file).unwrap_or_default();
    let mut actions = Vec::new();
    if wants(only, &CodeActionKind::QUICKFIX) {
        let asked = span(snapshot.source(file), range, client.encoding);
        for finding in found.iter().filter(|finding| finding.place.span.meets(asked)) {
            actions.extend(of_finding(snapshot, finding, client));
        }
    }
    let least = if options.unsafe_fixes { Safety::Unsafe } else { Safety::Safe };
    let fixable = |finding: &&Finding| finding.fix.as_ref().is_some_and(|fix| fix.safety >= least && !fix.edits.is_empty());
    if wants(only, &fix_all_kind()) && found.iter().any(fixable) {
        let mut action = CodeAction {
            title: "Fix all of opwright's findings here that can be fixed".to_string(),
            kind: Some(fix_all_kind()),
            ..CodeAction::default()
        };
        if client.resolves_edits {
            action.data = Some(json!({ "fixAll": path.to_string_lossy() }));
            actions.push(action);
        } else if let Ok(edit) = fix_all(snapshot, path, client, options) {
            action.edit = Some(edit);
            actions.push(action);
        }
    }
    actions
}

/// The edit of an action that was listed without one.
pub(super) fn resolve(snapshot: &Snapshot, mut action: CodeAction, client: &Client, options: &Options) -> Result<CodeAction, String> {
    let data = action.data.clone().unwrap_or_default();
    if let Some(path) = data["fixAll"].as_str() {
        action.edit = Some(fix_all(snapshot, Path::new(path), client, options)?);
    }
    Ok(action)
}

fn of_finding(snapshot: &Snapshot, finding: &Finding, client: &Client) -> Vec<CodeAction> {
    let mut actions: Vec<CodeAction> = Vec::new();
    let action = |title: String, edit: Option<WorkspaceEdit>| CodeAction {
        title,
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![diagnostics::diagnostic(snapshot, finding, client)]),
        edit,
        ..CodeAction::default()
    };
    if let Some(fix) = &finding.fix {
        match edit_of(snapshot, fix, client) {
            Some(edit) => actions.push(CodeAction {
                is_preferred: (fix.safety == Safety::Safe).then_some(true),
                ..action(titled(fix, None), Some(edit))
            }),
            None if client.disabled_actions && !fix.reasons.is_empty() => actions.push(CodeAction {
                disabled: Some(CodeActionDisabled {
                    reason: fix.reasons.join("; "),
                }),
                ..action(titled(fix, None), None)
            }),
            None => {}
        }
        for (style, other) in other_styles(snapshot, finding, fix) {
            let edit = edit_of(snapshot, &other, client);
            actions.extend(edit.map(|edit| action(titled(&other, Some(&style)), Some(edit))));
        }
    }
    if !["syntax-error", suppress::UNUSED].contains(&finding.rule) {
        let file = snapshot.checked.program.file(finding.place.file);
        let edit = suppress::ignore(finding, &file.source, &file.facts, REASON);
        let text = fix::choose(&[&alone(finding.place.file, edit)], &sources(snapshot)).texts;
        let title = format!("Ignore {} here, with a reason", finding.rule);
        actions.push(action(title, Some(workspace_edit(snapshot, &text, client))));
    }
    actions
}

/// The title as a menu shows it: a capital letter, and what a user must know before it is applied.
fn titled(fix: &Fix, style: Option<&str>) -> String {
    let mut letters = fix.title.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let mut title = first + letters.as_str();
    if let Some(style) = style {
        title.push_str(&format!(" in style {style}"));
    }
    if fix.safety == Safety::Unsafe {
        title.push_str(&format!(
            " (unsafe: {})",
            fix.reasons.first().map_or("see its reasons", String::as_str)
        ));
    }
    title
}

fn alone(file: FileId, edit: crate::finding::Edit) -> Fix {
    Fix {
        title: String::new(),
        safety: Safety::Safe,
        reasons: Vec::new(),
        edits: vec![(file, edit)],
        claims: Vec::new(),
    }
}

/// The same cure in other styles, where it can be applied and is another one.
fn other_styles(snapshot: &Snapshot, finding: &Finding, fix: &Fix) -> Vec<(String, Fix)> {
    if fix.edits.is_empty() && fix.reasons.is_empty() || !finding.rule.ends_with("launch") && !finding.rule.ends_with("launcher") {
        return Vec::new();
    }
    let mut seen: BTreeSet<Vec<(FileId, crate::finding::Edit)>> = BTreeSet::from([fix.edits.clone()]);
    let mut styles = vec![Style::CustomOp, Style::Library, Style::TritonOp];
    let known = |name: &&String| snapshot.knowledge.frameworks.iter().any(|f| f.name == **name && f.style.is_some());
    let own = snapshot.checked.program.frameworks.iter().filter(known);
    styles.extend(own.cloned().map(Style::Framework));
    let mut found = Vec::new();
    for style in styles.into_iter().filter(|style| *style != snapshot.settings.style) {
        let findings = snapshot.in_style(&style, finding.rule);
        let same = findings
            .iter()
            .find(|other| other.place == finding.place && other.rule == finding.rule);
        let other = same.and_then(|other| other.fix.clone());
        if let Some(other) = other.filter(|other| seen.insert(other.edits.clone())) {
            found.push((style_word(&style).to_string(), other));
        }
    }
    found
}

/// The edit that a fix makes; `None` when it may not be applied.
fn edit_of(snapshot: &Snapshot, fix: &Fix, client: &Client) -> Option<WorkspaceEdit> {
    if fix.safety == Safety::Shown || fix.edits.is_empty() {
        return None;
    }
    let round = fix::choose(&[fix], &sources(snapshot));
    (!round.texts.is_empty()).then(|| workspace_edit(snapshot, &round.texts, client))
}

fn sources(snapshot: &Snapshot) -> Vec<Arc<Source>> {
    snapshot.checked.program.files.iter().map(|file| file.source.clone()).collect()
}

/// What `check --fix` would do to a file, and to others for its sake.
fn fix_all(snapshot: &Snapshot, path: &Path, client: &Client, options: &Options) -> Result<WorkspaceEdit, String> {
    let file = snapshot.file(path).ok_or("the file is no part of a project")?;
    let input = Input {
        files: snapshot.inputs.to_vec(),
        knowledge: &snapshot.knowledge,
        settings: &snapshot.settings,
        watch: &(),
        store: None,
    };
    let wanted = Wanted {
        unsafe_too: options.unsafe_fixes,
        reported: &|other| other == file,
        writable: &|other| snapshot.inputs[other.index()].unreadable.is_none(),
    };
    let fixed = pipeline::fix_checked(Checked::clone(&snapshot.checked), &input, &wanted);
    if !fixed.stable {
        return Err("the fixes do not come to an end; please report it".into());
    }
    let texts = fixed.texts.into_iter().map(|(file, source)| (file, source.text.to_string()));
    Ok(workspace_edit(snapshot, &texts.collect(), client))
}

/// New texts of files as one edit.
#[allow(clippy::mutable_key_type)] // the protocol's own type for edits without versions
fn workspace_edit(snapshot: &Snapshot, texts: &BTreeMap<FileId, String>, client: &Client) -> WorkspaceEdit {
    let edits = texts.iter().filter_map(|(file, after)| {
        let before = snapshot.source(*file);
        Some((*file, address(snapshot, *file)?, changes(before, after, client.encoding)))
    });
    if !client.versioned_edits {
        return WorkspaceEdit {
            changes: Some(edits.map(|(_, uri, edits)| (uri, edits)).collect()),
            ..WorkspaceEdit::default()
        };
    }
    let edits = edits.map(|(file, uri, edits)| TextDocumentEdit {
        text_document: OptionalVersionedTextDocumentIdentifier {
            uri,
            version: snapshot.buffers.get(snapshot.path(file)).map(|opened| opened.version),
        },
        edits: edits.into_iter().map(OneOf::Left).collect(),
    });
    WorkspaceEdit {
        document_changes: Some(DocumentChanges::Edits(edits.collect())),
        ..WorkspaceEdit::default()
    }
}

/// The changed lines of a text: edits that lie apart, in order.
fn changes(before: &Source, after: &str, encoding: convert::Encoding) -> Vec<TextEdit> {
    let diff = TextDiff::from_lines(&*before.text, after);
    let old = starts(&before.text, diff.old_len(), |i| diff.old_slice(i).map_or(0, str::len));
    let new = starts(after, diff.new_len(), |i| diff.new_slice(i).map_or(0, str::len));
    let changed = diff.ops().iter().filter(|op| op.tag() != DiffTag::Equal);
    changed
        .map(|op| {
            let (from, to) = (op.old_range(), op.new_range());
            let text = &after[new[to.start]..new[to.end]];
            let text = if from.start == 0 {
                text.trim_start_matches('\u{feff}')
            } else {
                text
            };
            TextEdit {
                range: convert::range(before, Span::new(old[from.start] as u32, old[from.end] as u32), encoding),
                new_text: text.to_string(),
            }
        })
        .collect()
}

/// Where each line of a text begins, and its end.
fn starts(text: &str, lines: usize, len: impl Fn(usize) -> usize) -> Vec<usize> {
    let mut at = 0;
    let mut starts = vec![0];
    for line in 0..lines {
        at += len(line);
        starts.push(at);
    }
    debug_assert_eq!(at, text.len());
    starts
}
