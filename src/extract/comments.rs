//! `# opwright: ignore[rule] reason` and `# opwright: ignore-file[rule] reason`.

use super::parse::Tree;
use super::span;
use crate::facts::Directive;
use crate::source::Span;

/// The directives of a file, in order.
pub(super) fn directives(text: &str, tree: &Tree) -> Vec<Directive> {
    if memchr::memmem::find(text.as_bytes(), MARK.as_bytes()).is_none() {
        return Vec::new();
    }
    tree.comments().filter_map(|range| directive(text, span(range))).collect()
}

const MARK: &str = "opwright";

fn directive(text: &str, comment: Span) -> Option<Directive> {
    let written = text.get(comment.range())?;
    let start = comment.start as usize + find(written)?;
    let end = comment.end as usize;
    let mut directive = Directive {
        span: comment,
        own_line: is_alone(text, comment.start as usize),
        whole_file: false,
        rules: Vec::new(),
        reason: String::new(),
        malformed: None,
    };
    if let Err(why) = read(&text[..end], start, &mut directive) {
        directive.malformed = Some(why.to_owned());
    }
    Some(directive)
}

/// Where the text behind `# opwright:` begins, also when the comment says something else before.
fn find(comment: &str) -> Option<usize> {
    comment.match_indices('#').find_map(|(at, _)| {
        let rest = comment[at + 1..].trim_start().strip_prefix(MARK)?.trim_start().strip_prefix(':')?;
        Some(comment.len() - rest.len())
    })
}

fn is_alone(text: &str, start: usize) -> bool {
    let line = text[..start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
    text[line..start].trim_start_matches('\u{feff}').trim().is_empty()
}

/// Reads what follows the colon at `start`; `text` ends with the comment.
fn read(text: &str, start: usize, directive: &mut Directive) -> Result<(), &'static str> {
    let rest = text[start..].trim_start();
    let word = rest
        .find(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'))
        .unwrap_or(rest.len());
    directive.whole_file = match &rest[..word] {
        "ignore" => false,
        "ignore-file" => true,
        _ => return Err("expected `ignore[rule]` or `ignore-file[rule]`"),
    };
    let Some(list) = rest[word..].trim_start().strip_prefix('[') else {
        return Err("expected the names of rules in brackets");
    };
    let Some((list, reason)) = list.split_once(']') else {
        return Err("expected `]` after the names of rules");
    };
    let mut at = text.len() - reason.len() - "]".len() - list.len();
    let mut empty = false;
    for part in list.split(',') {
        let name = part.trim();
        let from = (at + part.len() - part.trim_start().len()) as u32;
        at += part.len() + ",".len();
        empty |= name.is_empty();
        if !name.is_empty() {
            directive.rules.push((name.to_owned(), Span::new(from, from + name.len() as u32)));
        }
    }
    directive.reason = reason.trim().to_owned();
    match (directive.rules.is_empty(), empty, directive.reason.is_empty()) {
        (true, ..) => Err("expected the name of a rule in the brackets"),
        (_, true, _) => Err("expected the name of a rule between the commas"),
        (.., true) => Err("expected a reason after the brackets"),
        _ => Ok(()),
    }
}
