//! Expressions as they are written.

use super::super::super::slice::Refused;
use std::collections::BTreeSet;

/// An expression on one line.
pub(super) fn one_line(text: &str) -> Result<String, Refused> {
    let text = text.trim();
    if !text.contains('\n') {
        return Ok(text.to_string());
    }
    if ["#", "\"\"\"", "'''", "\\"].iter().any(|c| text.contains(c)) {
        let first = text.lines().next().unwrap_or_default();
        return Err(format!("`{first}…` is written over several lines, with more than code in them"));
    }
    let mut joined = String::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        // The comma in front of a closing one stays: it may make a tuple.
        let closes = line.starts_with([')', ']', '}']);
        if !closes && !joined.is_empty() && !joined.ends_with(['(', '[', '{']) {
            joined.push(' ');
        }
        joined.push_str(line);
    }
    Ok(joined)
}

pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_') && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// `seq_lens` or `batch.seq_lens`, and nothing else.
pub(super) fn is_path(text: &str) -> bool {
    text.split('.').all(is_name)
}

/// Names that code reads: no attributes, no keywords of calls.
pub(super) fn names_in(text: &str) -> BTreeSet<String> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = BTreeSet::new();
    let mut rest = text;
    let mut before = None;
    while let Some(at) = rest.find(word) {
        before = rest[..at].chars().rfind(|c| !c.is_whitespace()).or(before);
        let from = &rest[at..];
        let end = from.find(|c| !word(c)).unwrap_or(from.len());
        let after = from[end..].trim_start();
        let keyword = after.starts_with('=') && !after.starts_with("==");
        if before != Some('.') && !keyword && is_name(&from[..end]) {
            found.insert(from[..end].to_string());
        }
        before = from[..end].chars().next_back();
        rest = &from[end..];
    }
    found
}

/// `seq_lens` of `cam.seq_lens`.
pub(super) fn last_name(text: &str) -> Option<String> {
    let path = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    let last = text.rsplit('.').next()?.trim_matches('_');
    (path && is_name(last)).then(|| last.to_string())
}

#[cfg(test)]
mod tests {
    use super::{last_name, names_in, one_line};

    #[test]
    fn code_over_several_lines_stands_on_one() {
        let text = "f(\n    a,\n    \"b c\",\n)[\n    0\n]";
        assert_eq!(one_line(text).as_deref(), Ok("f(a, \"b c\",)[0]"));
        assert!(one_line("f(\n    a,  # why\n)").is_err());
    }

    #[test]
    fn a_path_is_named_by_its_end() {
        assert_eq!(last_name("cam.seq_lens").as_deref(), Some("seq_lens"));
        assert_eq!(last_name("self._stride").as_deref(), Some("stride"));
        assert_eq!(last_name("x[0]"), None);
        assert_eq!(last_name("f(x)"), None);
    }

    #[test]
    fn names_are_neither_attributes_nor_keywords() {
        let names: Vec<String> = names_in("k[(n, m.size(0))](a.b, c, BLOCK=d, x==y)").into_iter().collect();
        assert_eq!(names, ["a", "c", "d", "k", "m", "n", "x", "y"]);
    }
}
