//! The baseline: findings that were there when the tool came, accepted until somebody touches them.

use super::FileOf;
use crate::facts::{Facts, Function, FunctionKind};
use crate::finding::Finding;
use crate::settings::Accepted;
use crate::source::Span;
use std::collections::BTreeMap;

/// A file that does not parse hides everything else in it: never accepted.
const NEVER: &str = "syntax-error";

/// Findings, split by what the baseline says.
#[derive(Debug, Default)]
pub struct Split {
    /// New ones.
    pub left: Vec<Finding>,
    /// Accepted ones.
    pub accepted: Vec<Finding>,
}

/// Splits findings. Of equal ones, as many as the baseline counts are accepted, from the top.
pub fn split<'f>(found: Vec<Finding>, baseline: &BTreeMap<Accepted, u32>, file: FileOf<'_, 'f>) -> Split {
    let mut split = Split::default();
    if baseline.is_empty() {
        split.left = found;
        return split;
    }
    let mut room = baseline.clone();
    for finding in found {
        match key(&finding, file).and_then(|key| room.get_mut(&key)).filter(|count| **count > 0) {
            Some(count) => {
                *count -= 1;
                split.accepted.push(finding);
            }
            None => split.left.push(finding),
        }
    }
    split
}

/// The baseline that accepts these findings.
pub fn of<'a, 'f>(findings: impl IntoIterator<Item = &'a Finding>, file: FileOf<'_, 'f>) -> BTreeMap<Accepted, u32> {
    let mut baseline = BTreeMap::new();
    for key in findings.into_iter().filter_map(|finding| key(finding, file)) {
        *baseline.entry(key).or_default() += 1;
    }
    baseline
}

fn key<'f>(finding: &Finding, file: FileOf<'_, 'f>) -> Option<Accepted> {
    let (source, facts) = file(finding.place.file);
    let text = source.slice(finding.place.span).split_whitespace().collect::<Vec<_>>().join(" ");
    (finding.rule != NEVER).then(|| Accepted {
        file: source.path.clone(),
        rule: finding.rule.to_string(),
        function: function_around(finding.place.span, facts),
        text,
    })
}

fn function_around(span: Span, facts: &Facts) -> String {
    let around = |f: &&Function| matches!(f.kind, FunctionKind::Def | FunctionKind::AsyncDef) && f.span.contains(span);
    let innermost = facts.functions.iter().filter(around).min_by_key(|f| f.span.end - f.span.start);
    innermost.map_or("<module>", |f| facts.name(f.qualname)).to_string()
}
