//! Noun 3: what a rule says, and the edits that cure it.

use crate::source::{FileId, Place, Span};
use serde::{Deserialize, Serialize};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Worth knowing; shown, never fails a run unless asked.
    Note,
    /// Should be changed.
    Warning,
    /// Wrong numbers, or a failure at import or call.
    Error,
}

/// How sure the analysis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// Proven but for something that could not be seen.
    Likely,
    /// Proven.
    Certain,
}

/// One thing found at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the rule.
    pub rule: &'static str,
    /// How bad.
    pub level: Level,
    /// How sure.
    pub certainty: Certainty,
    /// What is wrong: one line, lower case, names in backticks, no full stop.
    pub message: String,
    /// What to do: a line or two.
    pub help: Option<String>,
    /// Where.
    pub place: Place,
    /// A few words under the primary span.
    pub primary: String,
    /// Why: the places that prove it, in order, at most four.
    pub labels: Vec<Label>,
    /// Further remarks, printed as notes.
    pub notes: Vec<String>,
    /// The cure.
    pub fix: Option<Fix>,
    /// Order of importance within a report: larger first; 0 when nothing is known.
    pub heat: u32,
}

/// A place that proves a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub place: Place,
    /// What happens there.
    pub message: String,
}

/// Whether a fix may be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Safety {
    /// Never applied: something stands in the way; the edits, if any, show what it would be.
    Shown,
    /// Likely right; applied with `--unsafe`.
    Unsafe,
    /// Eager behaviour is the same.
    Safe,
}

/// Edits that belong together: all or nothing, over all their files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What it does, imperative: ``register `f` as `ns::f` ``.
    pub title: String,
    /// Whether it may be applied.
    pub safety: Safety,
    /// Why it is not safe, or not applied.
    pub reasons: Vec<String>,
    /// The edits. Equal insertions of several fixes at one offset merge.
    pub edits: Vec<(FileId, Edit)>,
    /// Spans that no other fix of the round may claim too.
    pub claims: Vec<(FileId, Span)>,
}

/// Replaces a span by a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Edit {
    /// What is replaced; empty for an insertion.
    pub span: Span,
    /// The new text, with the file's line ends.
    pub content: String,
    /// An import or a module-global that several fixes may share: equal ones merge, and it claims nothing.
    pub shared: bool,
    /// Among shared insertions at one offset, smaller ones stand first.
    pub rank: u32,
}

impl Edit {
    /// Replaces a span.
    pub fn replace(span: Span, content: impl Into<String>) -> Self {
        Self {
            span,
            content: content.into(),
            shared: false,
            rank: 0,
        }
    }

    /// Inserts at an offset.
    pub fn insert(offset: u32, content: impl Into<String>) -> Self {
        Self::replace(Span::at(offset), content)
    }

    /// Inserts at an offset; equal insertions of several fixes become one.
    pub fn insert_once(offset: u32, content: impl Into<String>) -> Self {
        Self {
            shared: true,
            ..Self::insert(offset, content)
        }
    }
}
