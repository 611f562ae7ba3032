//! Findings for readers: people, editors, continuous integration. Each writer takes the same sorted list.

pub mod github;
pub mod gitlab;
pub mod html;
pub mod inventory;
pub mod json;
pub mod junit;
pub mod sarif;
pub mod text;

use crate::finding::{Finding, Level};
use crate::source::{FileId, Source, Span};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where the findings' files are: their text, and their names as the reader knows them.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// Texts, by [`FileId`].
    pub sources: &'a [Arc<Source>],
    /// Paths relative to the working directory, by [`FileId`].
    pub names: &'a [String],
}

impl<'a> Files<'a> {
    /// The text of a file.
    pub fn source(&self, file: FileId) -> &'a Source {
        &self.sources[file.index()]
    }

    /// The name of a file.
    pub fn name(&self, file: FileId) -> &'a str {
        &self.names[file.index()]
    }

    /// Line and column of both ends of a span, from 1.
    pub fn positions(&self, file: FileId, span: Span) -> ((u32, u32), (u32, u32)) {
        let source = self.source(file);
        (source.position(span.start), source.position(span.end))
    }
}

/// The word for a level.
pub fn level_word(level: Level) -> &'static str {
    match level {
        Level::Note => "note",
        Level::Warning => "warning",
        Level::Error => "error",
    }
}

/// The address of a rule's page, which is part of the published package.
pub fn rule_url(rule: &str) -> String {
    format!(
        "https://docs.rs/crate/opwright/{}/source/rules/{rule}.md",
        env!("CARGO_PKG_VERSION")
    )
}

/// How many findings there are of each level, worst first: `2 errors, 1 warning`.
pub fn counts(findings: &[Finding]) -> String {
    let count = |level| findings.iter().filter(|f| f.level == level).count();
    let parts: Vec<String> = [(Level::Error, "error"), (Level::Warning, "warning"), (Level::Note, "note")]
        .into_iter()
        .map(|(level, word)| (count(level), word))
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| plural(n, word))
        .collect();
    parts.join(", ")
}

/// `1 error`, `2 errors`.
pub fn plural(n: usize, word: &str) -> String {
    let es = word.ends_with(['x', 's']) || word.ends_with("ch");
    format!(
        "{n} {word}{}",
        if n == 1 {
            ""
        } else if es {
            "es"
        } else {
            "s"
        }
    )
}

/// A print of each finding that stays the same when lines move: made of the file, the rule, the message and how often these were
/// seen before.
fn fingerprints(findings: &[Finding], files: Files) -> Vec<String> {
    let mut seen: BTreeMap<(&str, &str, &str), u64> = BTreeMap::new();
    findings
        .iter()
        .map(|finding| {
            let key = (files.name(finding.place.file), finding.rule, finding.message.as_str());
            let count = seen.entry(key).or_default();
            *count += 1;
            hash(&[key.0, key.1, key.2, &count.to_string()])
        })
        .collect()
}

/// FNV-1a over the parts, in 64 bits: the same on every machine and in every release.
pub(crate) fn hash(parts: &[&str]) -> String {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for byte in parts.iter().flat_map(|part| part.bytes().chain([0])) {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    format!("{state:016x}")
}
