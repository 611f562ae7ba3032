//! What the client can do, and what its user chose.

use super::convert::Encoding;
use lsp_types::{CodeActionKind, InitializeParams, MarkupKind};
use serde::Deserialize;
use serde_json::Value;

/// Abilities of the client that change what it is sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Client {
    pub(super) encoding: Encoding,
    /// It asks for diagnostics, and can be told to ask again.
    pub(super) pulls: bool,
    /// Edits may carry versions of their files.
    pub(super) versioned_edits: bool,
    /// The edit of a code action may come later.
    pub(super) resolves_edits: bool,
    /// Code actions may be shown as not available.
    pub(super) disabled_actions: bool,
    pub(super) related_information: bool,
    pub(super) code_description: bool,
    pub(super) markdown: bool,
    pub(super) progress: bool,
    pub(super) configuration: bool,
    pub(super) watches: bool,
    pub(super) refreshes_hints: bool,
    pub(super) refreshes_lenses: bool,
}

impl Client {
    /// `raw` is what `params` was read from: the types lack what the protocol calls `workspace.diagnostics`.
    pub(super) fn new(params: &InitializeParams, raw: &Value) -> Self {
        let all = &params.capabilities;
        let text = all.text_document.clone().unwrap_or_default();
        let workspace = all.workspace.clone().unwrap_or_default();
        let window = all.window.clone().unwrap_or_default();
        let general = all.general.clone().unwrap_or_default();
        let action = text.code_action.unwrap_or_default();
        let published = text.publish_diagnostics.unwrap_or_default();
        let resolves = action
            .resolve_support
            .is_some_and(|support| support.properties.iter().any(|name| name == "edit"));
        let literal = action.code_action_literal_support.is_some();
        let formats = text.hover.and_then(|hover| hover.content_format).unwrap_or_default();
        let refreshes = raw.pointer("/capabilities/workspace/diagnostics/refreshSupport") == Some(&Value::Bool(true));
        Self {
            encoding: Encoding::chosen(&general.position_encodings.unwrap_or_default()),
            pulls: text.diagnostic.is_some() && refreshes,
            versioned_edits: workspace.workspace_edit.and_then(|edit| edit.document_changes) == Some(true),
            resolves_edits: literal && resolves && action.data_support == Some(true),
            disabled_actions: action.disabled_support == Some(true),
            related_information: published.related_information == Some(true),
            code_description: published.code_description_support == Some(true) || text.diagnostic.is_some(),
            markdown: formats.first().is_none_or(|first| *first == MarkupKind::Markdown),
            progress: window.work_done_progress == Some(true),
            configuration: workspace.configuration == Some(true),
            watches: workspace.did_change_watched_files.and_then(|files| files.dynamic_registration) == Some(true),
            refreshes_hints: workspace.inlay_hint.and_then(|hint| hint.refresh_support) == Some(true),
            refreshes_lenses: workspace.code_lens.and_then(|lens| lens.refresh_support) == Some(true),
        }
    }
}

/// The user's choices in the editor: `opwright.*`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Options {
    /// Show what launches write, and what launchers mutate, between the lines.
    pub(super) inlay_hints: bool,
    /// Show how often a kernel is launched above it.
    pub(super) code_lens: bool,
    /// Fix all applies unsafe fixes too.
    pub(super) unsafe_fixes: bool,
    /// Style of fixes, instead of the configured one.
    pub(super) style: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            inlay_hints: false,
            code_lens: true,
            unsafe_fixes: false,
            style: None,
        }
    }
}

impl Options {
    /// Reads settings as editors send them: alone, or under `opwright` or `settings`. What cannot be read keeps its default.
    pub(super) fn read(value: &Value) -> Self {
        let inner = ["settings", "opwright"]
            .iter()
            .fold(value, |value, key| value.get(key).unwrap_or(value));
        Self::deserialize(inner).unwrap_or_default()
    }
}

/// `source.fixAll.opwright`: what an editor asks for on save.
pub(super) fn fix_all_kind() -> CodeActionKind {
    CodeActionKind::new("source.fixAll.opwright")
}

/// Whether a wanted kind is this kind or one above it.
pub(super) fn wants(only: Option<&[CodeActionKind]>, kind: &CodeActionKind) -> bool {
    let above = |wanted: &CodeActionKind| {
        let rest = kind.as_str().strip_prefix(wanted.as_str());
        rest.is_some_and(|rest| rest.is_empty() || wanted.as_str().is_empty() || rest.starts_with('.'))
    };
    only.is_none_or(|only| only.iter().any(above))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_are_read_however_they_are_wrapped() {
        for value in [
            json!({ "inlayHints": true }),
            json!({ "opwright": { "inlayHints": true } }),
            json!({ "settings": { "opwright": { "inlayHints": true, "new": 1 } } }),
        ] {
            assert!(Options::read(&value).inlay_hints, "{value}");
        }
        assert_eq!(Options::read(&json!({ "inlayHints": "yes" })), Options::default());
        assert_eq!(Options::read(&Value::Null), Options::default());
    }

    #[test]
    fn a_wanted_kind_covers_the_kinds_below_it() {
        let only = |kind: &'static str| [CodeActionKind::new(kind)];
        let all = fix_all_kind();
        for kind in ["source", "source.fixAll", "source.fixAll.opwright", ""] {
            assert!(wants(Some(&only(kind)), &all), "{kind}");
        }
        for kind in ["source.fixAll.other", "source.fix", "quickfix"] {
            assert!(!wants(Some(&only(kind)), &all), "{kind}");
        }
        assert!(wants(None, &CodeActionKind::QUICKFIX));
    }
}
