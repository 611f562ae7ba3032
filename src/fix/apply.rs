//! Chooses the fixes of a round and applies them in memory.
//!
//! A fix lands whole or not at all. Fixes whose claims overlap or touch never land in one round; the later one waits.

use crate::finding::{Edit, Fix};
use crate::source::{FileId, Source, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The fixes of a round and the texts that they lead to.
#[derive(Debug, Default)]
pub struct Round {
    /// Indices into the candidates.
    pub chosen: Vec<usize>,
    /// Candidates that could not land because of another one: they wait.
    pub waiting: Vec<usize>,
    /// Candidates whose edits make no sense: out of the text, inside a character, or over each other.
    pub broken: Vec<usize>,
    /// New texts of the files that change.
    pub texts: BTreeMap<FileId, String>,
}

/// Chooses, in order, the fixes that can land together, and applies them.
pub fn choose(candidates: &[&Fix], sources: &[Arc<Source>]) -> Round {
    let mut round = Round::default();
    let mut taken = Taken::default();
    for (index, fix) in candidates.iter().enumerate() {
        if !makes_sense(fix, sources) {
            round.broken.push(index);
        } else if taken.admits(fix) {
            taken.add(fix);
            round.chosen.push(index);
        } else {
            round.waiting.push(index);
        }
    }
    for (file, edits) in taken.edits {
        let before = &sources[file.index()].text;
        let after = applied(before, &edits);
        if after != **before {
            round.texts.insert(file, after);
        }
    }
    round
}

/// What the fixes chosen so far claim and change.
#[derive(Default)]
struct Taken {
    claims: BTreeMap<FileId, Vec<Span>>,
    edits: BTreeMap<FileId, BTreeSet<Ordered>>,
}

impl Taken {
    fn admits(&self, fix: &Fix) -> bool {
        let free = |file: &FileId, span: Span| !self.claims.get(file).into_iter().flatten().any(|claim| claim.meets(span));
        claims(fix).all(|(file, span)| free(&file, span)) && fix.edits.iter().all(|(file, edit)| self.has_room(*file, edit))
    }

    /// What is shared claims nothing, but it cannot land inside a text that another fix replaces, nor the other way round.
    fn has_room(&self, file: FileId, edit: &Edit) -> bool {
        let mut there = self.edits.get(&file).into_iter().flatten().map(|other| &other.0);
        there.all(|other| other == edit || !(edit.shared || other.shared) || !crosses(other.span, edit.span))
    }

    fn add(&mut self, fix: &Fix) {
        for (file, span) in claims(fix) {
            self.claims.entry(file).or_default().push(span);
        }
        for (file, edit) in &fix.edits {
            self.edits.entry(*file).or_default().insert(Ordered(edit.clone()));
        }
    }
}

/// Whether two spans share a byte, or one is a place strictly inside the other.
fn crosses(a: Span, b: Span) -> bool {
    let inside = |place: u32, span: Span| span.start < place && place < span.end;
    match (a.start == a.end, b.start == b.end) {
        (true, true) => false,
        (true, false) => inside(a.start, b),
        (false, true) => inside(b.start, a),
        (false, false) => a.start < b.end && b.start < a.end,
    }
}

/// The spans that a fix keeps for itself: what it claims, and what its own edits change.
fn claims(fix: &Fix) -> impl Iterator<Item = (FileId, Span)> {
    let edited = fix
        .edits
        .iter()
        .filter(|(_, edit)| !edit.shared)
        .map(|(file, edit)| (*file, edit.span));
    fix.claims.iter().copied().chain(edited)
}

/// An edit in the order of application: by place, insertions before a replacement, shared ones first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ordered(Edit);

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |edit: &Edit| (edit.span.start, edit.span.end, !edit.shared, edit.rank);
        key(&self.0).cmp(&key(&other.0)).then_with(|| self.0.content.cmp(&other.0.content))
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Whether a fix's own edits lie in the text, at characters, and not over each other.
fn makes_sense(fix: &Fix, sources: &[Arc<Source>]) -> bool {
    let mut by_file: BTreeMap<FileId, BTreeSet<Ordered>> = BTreeMap::new();
    for (file, edit) in &fix.edits {
        let Some(source) = sources.get(file.index()) else { return false };
        if edit.span.start > edit.span.end || source.text.get(edit.span.range()).is_none() {
            return false;
        }
        by_file.entry(*file).or_default().insert(Ordered(edit.clone()));
    }
    let apart = |edits: &BTreeSet<Ordered>| edits.iter().zip(edits.iter().skip(1)).all(|(a, b)| a.0.span.end <= b.0.span.start);
    !by_file.is_empty() && by_file.values().all(apart)
}

fn applied(text: &str, edits: &BTreeSet<Ordered>) -> String {
    let added: usize = edits.iter().map(|edit| edit.0.content.len()).sum();
    let mut out = String::with_capacity(text.len() + added);
    let mut at = 0;
    for Ordered(edit) in edits {
        out.push_str(&text[at..edit.span.start as usize]);
        out.push_str(&edit.content);
        at = edit.span.end as usize;
    }
    out.push_str(&text[at..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Safety;

    fn fix(edits: &[Edit]) -> Fix {
        Fix {
            title: "change".into(),
            safety: Safety::Safe,
            reasons: Vec::new(),
            edits: edits.iter().map(|edit| (FileId(0), edit.clone())).collect(),
            claims: Vec::new(),
        }
    }

    fn run(text: &str, fixes: &[Fix]) -> (String, Round) {
        let fixes: Vec<&Fix> = fixes.iter().collect();
        let round = choose(&fixes, &[Arc::new(Source::new("a.py", text))]);
        (round.texts.get(&FileId(0)).cloned().unwrap_or_else(|| text.to_string()), round)
    }

    #[test]
    fn equal_shared_insertions_become_one_and_lie_first() {
        let one = fix(&[Edit::insert_once(0, "import t\n"), Edit::replace(Span::new(0, 1), "A")]);
        let two = fix(&[Edit::insert_once(0, "import t\n"), Edit::replace(Span::new(4, 5), "B")]);
        let (text, round) = run("a = b", &[one, two]);
        assert_eq!(text, "import t\nA = B");
        assert_eq!(round.chosen, [0, 1]);
    }

    #[test]
    fn touching_claims_wait() {
        let (text, round) = run(
            "abcd",
            &[
                fix(&[Edit::replace(Span::new(0, 2), "x")]),
                fix(&[Edit::replace(Span::new(2, 3), "y")]),
            ],
        );
        assert_eq!((text.as_str(), round.waiting), ("xcd", vec![1]));
        let mut wide = fix(&[Edit::insert(0, "x")]);
        wide.claims.push((FileId(0), Span::new(0, 4)));
        let (text, round) = run("abcd", &[wide, fix(&[Edit::replace(Span::new(3, 4), "y")])]);
        assert_eq!((text.as_str(), round.waiting), ("xabcd", vec![1]));
    }

    #[test]
    fn a_shared_insertion_inside_a_replaced_text_waits() {
        let replace = fix(&[Edit::replace(Span::new(0, 4), "x")]);
        let (text, round) = run("abcd", &[replace.clone(), fix(&[Edit::insert_once(2, "!")])]);
        assert_eq!((text.as_str(), round.waiting), ("x", vec![1]));
        let (text, round) = run("abcd", &[fix(&[Edit::insert_once(2, "!")]), replace.clone()]);
        assert_eq!((text.as_str(), round.waiting), ("ab!cd", vec![1]));
        let (text, _) = run("abcd", &[fix(&[Edit::insert_once(0, "!")]), replace]);
        assert_eq!(text, "!x");
    }

    #[test]
    fn a_fix_lands_whole_or_not_at_all() {
        let first = fix(&[Edit::replace(Span::new(3, 4), "z")]);
        let both = fix(&[Edit::replace(Span::new(0, 1), "x"), Edit::replace(Span::new(3, 4), "y")]);
        assert_eq!(run("abcd", &[first, both]).0, "abcz");
    }

    #[test]
    fn edits_that_make_no_sense_are_refused() {
        let broken = [
            fix(&[Edit::insert(9, "x")]),
            fix(&[Edit::insert(1, "x")]),
            fix(&[Edit::replace(Span::new(0, 3), "x"), Edit::replace(Span::new(2, 3), "y")]),
            fix(&[]),
        ];
        let (text, round) = run("üa", &broken);
        assert_eq!((text.as_str(), round.broken), ("üa", vec![0, 1, 2, 3]));
    }
}
