//! An op's name that torch's schema parser refuses.

use super::ops::Seen;
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Level};
use crate::program::Op;
use std::collections::BTreeSet;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "invalid-op-name",
    group: "schema",
    summary: "torch cannot parse the name of an op",
    level: Level::Error,
    page: include_str!("../../rules/invalid-op-name.md"),
    check,
};

/// Words that the lexer of schemas keeps for itself.
const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "break", "class", "continue", "def", "del", "elif", "else", "for", "global", "if",
    "import", "in", "is", "not", "or", "pass", "raise", "return", "while", "with",
];

fn check(cx: &mut Context) {
    let mut told = BTreeSet::new();
    for op in &cx.program.ops {
        let Some((name, why)) = problem(op) else { continue };
        if !told.insert((op.place, name.clone())) {
            continue;
        }
        let cold = cx.program.file(op.place.file).cold;
        cx.findings.push(Finding {
            rule: RULE.name,
            level: if cold { Level::Note } else { Seen::capped(op, RULE.level) },
            certainty: Certainty::Certain,
            message: format!("`{name}` is no name for an op: {why}"),
            help: Some(
                "write `namespace::name`, two plain identifiers of ASCII letters, digits and `_`\nthe registration parses the name when the module is imported, and raises".to_string(),
            ),
            place: op.place,
            primary: String::new(),
            labels: Vec::new(),
            notes: Vec::new(),
            fix: None,
            heat: 0,
        });
    }
}

/// The name as it is written, and what is wrong with it.
fn problem(op: &Op) -> Option<(String, String)> {
    if !op.name_known {
        // Only a name without a namespace has such a form under these registrars.
        let needs_namespace = matches!(op.registrar.as_str(), "torch.library.custom_op" | "torch.library.triton_op");
        let bare = op.name.strip_prefix("*::").filter(|name| needs_namespace && !name.contains('*'))?;
        return Some((bare.to_string(), "it has no namespace".to_string()));
    }
    let said = |why: &str| Some((op.name.clone(), why.to_string()));
    let parts: Vec<&str> = op.name.split("::").collect();
    let &[namespace, name] = parts.as_slice() else {
        return said("it has not exactly one `::`");
    };
    if !op.name.is_ascii() {
        return said("it is not ASCII");
    }
    if namespace == "prim" {
        return said("the namespace `prim` is reserved");
    }
    let (base, overload) = match name.split_once('.') {
        Some((base, overload)) => (base, Some(overload)),
        None => (name, None),
    };
    let words = [Some(namespace), Some(base), overload];
    for word in words.into_iter().flatten() {
        if !is_identifier(word) {
            return Some((op.name.clone(), format!("`{word}` is no identifier")));
        }
        if KEYWORDS.contains(&word) {
            return Some((op.name.clone(), format!("`{word}` is a word that schemas keep for themselves")));
        }
    }
    (overload == Some("default")).then(|| (op.name.clone(), "an overload may not be called `default`".to_string()))
}

fn is_identifier(word: &str) -> bool {
    !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()) && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
