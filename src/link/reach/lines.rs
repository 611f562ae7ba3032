//! What single lines of a text bind, read without parsing.

use memchr::memmem;

/// What a line that names a class binds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    /// A class under it.
    Class(String),
    /// A name for an instance, or a function that returns one.
    Holder(String),
}

/// Names that a text binds to a class, its subclasses or its instances for others to see, as far as single lines tell.
pub(super) fn speakers(text: &str, class: &str) -> Vec<Speaker> {
    let mut found = Vec::new();
    let mut holder = |name: Option<&str>| found.extend(name.map(|name| Speaker::Holder(name.to_owned())));
    let mut classes = Vec::new();
    for at in words_at(text, class) {
        let line = line_before(text, at);
        if let Some(rest) = line.strip_prefix("class ") {
            classes.extend(
                first_word(rest)
                    .filter(|name| *name != class)
                    .map(|name| Speaker::Class(name.to_owned())),
            );
        } else if line.starts_with("return") || line.as_bytes().windows(2).any(|pair| pair == b"->") {
            let def = memmem::rfind(&text.as_bytes()[..at], b"def ");
            holder(def.and_then(|def| first_word(&text[def + 4..])));
        } else if let Some((target, _)) = line.split_once(['=', ':'])
            && (target.contains('.') || !is_local(text, at))
        {
            holder(bound_name(target));
        }
    }
    found.extend(classes);
    found
}

/// Whether a line stands in a function's signature or body: the nearest `def` or `class` above that is indented less.
pub(super) fn is_local(text: &str, at: usize) -> bool {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let start = memchr::memrchr(b'\n', &text.as_bytes()[..at]).map_or(0, |i| i + 1);
    let mut least = indent(&text[start..at]);
    for line in text[..start].lines().rev() {
        if least == 0 {
            return false;
        }
        let code = line.trim_start();
        if code.is_empty() || code.starts_with('#') || indent(line) >= least {
            continue;
        }
        if code.starts_with("class ") {
            return false;
        }
        if code.starts_with("def ") || code.starts_with("async ") {
            return true;
        }
        // The end of a signature over several lines stands where its `def` stands.
        least = indent(line) + usize::from(code.starts_with(')'));
    }
    false
}

/// Where a word stands in a text.
pub(super) fn words_at<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    let bytes = text.as_bytes();
    let is_word = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b >= 0x80);
    memmem::find_iter(bytes, word).filter(move |&at| {
        let before = at.checked_sub(1).and_then(|i| bytes.get(i));
        !is_word(before) && !is_word(bytes.get(at + word.len()))
    })
}

/// The line up to a place, without its indentation.
pub(super) fn line_before(text: &str, at: usize) -> &str {
    let start = memchr::memrchr(b'\n', &text.as_bytes()[..at]).map_or(0, |i| i + 1);
    text[start..at].trim_start()
}

pub(super) fn first_word(text: &str) -> Option<&str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).find(|w| !w.is_empty())
}

/// `name` of `name`, `self.name`, `name: Type` left of a `=`.
pub(super) fn bound_name(target: &str) -> Option<&str> {
    if target.contains('(') {
        return None;
    }
    let name = target.split(':').next().unwrap_or(target).trim();
    first_word(name.rsplit('.').next().unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use super::{Speaker, speakers};

    #[test]
    fn lines_that_name_a_class_name_what_holds_it() {
        let text = "class B(A):\n    z = A()\n    def f(self):\n        x = A()\n        self.y: T = A(1)\nw = A()\ndef make():\n    return A()\n\
                    def other() -> A:\n    f(A)\nAB = BA\nclass C:\n    v: A\n    def g(\n        self,\n        u: A,\n    ):\n        t = A()\n";
        let holder = |name: &str| Speaker::Holder(name.into());
        let wanted = ["z", "y", "w", "make", "other", "v"].map(holder);
        let mut found = speakers(text, "A");
        assert_eq!(found.pop(), Some(Speaker::Class("B".into())));
        assert_eq!(found, wanted);
    }
}
