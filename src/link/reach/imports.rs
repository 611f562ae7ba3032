//! What a module imports by name, read off its text without parsing.

use super::lines::line_before;
use crate::source::FileId;
use crate::words::Word;
use memchr::memmem;

/// `from module import member as bound` at module level; without a member, `from module import *`.
pub(super) struct Imported {
    pub(super) file: FileId,
    /// The last part of the module's name; none in `from . import member`.
    pub(super) module: Option<Word>,
    pub(super) member: Option<(Word, Word)>,
}

/// What a file imports at module level. What stands in a string may be taken for code.
pub(super) fn imported(file: FileId, text: &str) -> Vec<Imported> {
    let mut found = Vec::new();
    for (module, members) in statements(text) {
        let module = module.rsplit('.').next().filter(|last| !last.is_empty()).map(Word::of);
        found.extend(names(members).map(|member| Imported { file, module, member }));
    }
    found
}

/// Modules and lists of members of `from` statements at module level.
fn statements(text: &str) -> impl Iterator<Item = (&str, &str)> {
    memmem::find_iter(text.as_bytes(), b"from").filter_map(|at| {
        if !line_before(text, at).is_empty() || is_in_function(text, at) {
            return None;
        }
        let rest = text[at + "from".len()..].strip_prefix([' ', '\t', '.'])?;
        let rest = rest.trim_start_matches(['.', ' ', '\t']);
        let (module, rest) = match rest.strip_prefix("import") {
            Some(rest) => ("", rest),
            None => {
                let (module, rest) = rest.split_once([' ', '\t'])?;
                (module, rest.trim_start().strip_prefix("import")?)
            }
        };
        let list = rest.trim_start_matches([' ', '\t', '\\', '\n', '\r']);
        let end = match list.strip_prefix('(') {
            Some(_) => memchr::memchr(b')', list.as_bytes())?,
            None => line_end(list),
        };
        Some((module, list[..end].trim_start_matches('(')))
    })
}

/// Where a line ends that a backslash may continue.
fn line_end(text: &str) -> usize {
    let ends = memchr::memchr2_iter(b'\n', b'\r', text.as_bytes());
    let mut ends = ends.filter(|&end| !text[..end].ends_with(['\\', '\r']) && !text[..end].ends_with("\\\r"));
    ends.next().unwrap_or(text.len())
}

/// Members of a list with the names that they get; none for `*`.
fn names(list: &str) -> impl Iterator<Item = Option<(Word, Word)>> {
    let lines = list.lines().map(|line| line.split('#').next().unwrap_or_default());
    lines.flat_map(|line| line.split([',', ';'])).filter_map(|name| {
        let mut words = name.split([' ', '\t', '\\']).filter(|word| !word.is_empty());
        let member = words.next()?;
        if member == "*" {
            return Some(None);
        }
        let bound = if words.next() == Some("as") { words.next() } else { None };
        Some(Some((Word::of(member), Word::of(bound.unwrap_or(member)))))
    })
}

/// Whether an indented line stands in a function or class: what the last line opens that is not indented.
fn is_in_function(text: &str, at: usize) -> bool {
    let is_blank = |b: Option<&u8>| matches!(b, Some(b' ' | b'\t' | b'\x0c'));
    let bytes = text.as_bytes();
    let mut start = memchr::memrchr2(b'\n', b'\r', &bytes[..at]).map_or(0, |i| i + 1);
    if !is_blank(bytes.get(start)) {
        return false;
    }
    while start > 0 {
        start = memchr::memrchr2(b'\n', b'\r', &bytes[..start - 1]).map_or(0, |i| i + 1);
        let line = &text[start..];
        // The last line of a signature stands where its `def` does.
        if !line.starts_with([' ', '\t', '\x0c', '\n', '\r', '#', ')', ']']) {
            return ["def ", "class ", "async "].iter().any(|word| line.starts_with(word));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::extract;
    use crate::facts::MODULE;
    use crate::source::Source;

    #[test]
    fn imports_read_off_a_text_are_those_of_the_module() {
        let text = "from a.b import c, d as e\nfrom . import f\nfrom ..g import (  # one\n    h,  # two\n    i as j,\n)\nfrom k import *\n\
                    try:\n    from l import m\nexcept ImportError:\n    from n import \\\n        o\n\
                    def p(\n    q,\n) -> None:\n    from r import s\n\nclass T:\n    from u import v\nif w:\n    pass\n    from . x import y ; z = 1\n";
        let source = Source::new("a.py", text);
        let facts = extract(&source);
        let last = |module: &str| module.rsplit('.').next().filter(|last| !last.is_empty()).map(Word::of);
        let word = |name| Word::of(facts.name(name));
        let own = facts.imports.iter().filter(|import| import.function == MODULE);
        let mut wanted: Vec<_> = own
            .map(|i| (last(facts.name(i.module)), i.member.map(|member| (word(member), word(i.bound)))))
            .collect();
        wanted.extend(facts.star_imports.iter().map(|i| (last(facts.name(i.module)), None)));
        let found: Vec<_> = imported(FileId(0), text).into_iter().map(|i| (i.module, i.member)).collect();
        assert_eq!(wanted.len(), 9);
        assert!(wanted.iter().all(|import| found.contains(import)));
        let more = found.iter().filter(|import| !wanted.contains(import)).count();
        assert_eq!(more, 1, "what follows `;` only");
    }
}
