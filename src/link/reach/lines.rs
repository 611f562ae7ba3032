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
    let (mut classes, mut aliases) = (Vec::new(), Vec::new());
    for at in words_at(text, class) {
        let line = line_before(text, at);
        let behind = &text[at + class.len()..];
        if let Some(renamed) = behind.strip_prefix(" as ")
            && !line.starts_with("except")
        {
            aliases.extend(first_word(renamed));
        } else if let Some(header) = class_header(text, at) {
            classes.extend(first_word(header));
        } else if line.starts_with("return") || line.as_bytes().windows(2).any(|pair| pair == b"->") {
            let def = memmem::rfind(&text.as_bytes()[..at], b"def ");
            holder(def.and_then(|def| first_word(&text[def + 4..])));
        } else if let Some((target, _)) = line.split_once(['=', ':'])
            && (target.contains('.') || !is_local(text, at))
        {
            holder(bound_name(target));
            // `B = A` for a whole module: what derives from `B` derives from the class.
            let start = at - line.len();
            let is_unindented = start == 0 || matches!(text.as_bytes()[start - 1], b'\n' | b'\r');
            if is_unindented && !target.contains('.') && behind.trim_start_matches([' ', '\t']).starts_with(['\n', '\r']) {
                aliases.extend(bound_name(target));
            }
        }
    }
    // Another name of the class is the file's own: only what derives from it here is of interest.
    for alias in aliases.into_iter().filter(|alias| *alias != class) {
        let headers = words_at(text, alias).filter_map(|at| class_header(text, at));
        classes.extend(headers.filter_map(first_word));
    }
    classes.retain(|name| *name != class);
    found.extend(classes.into_iter().map(|name| Speaker::Class(name.to_owned())));
    found
}

/// The text between `class` and a place in the header of a class statement, over several lines too.
fn class_header(text: &str, at: usize) -> Option<&str> {
    let near = at.saturating_sub(LONGEST_HEADER);
    let start = near + memmem::rfind(&text.as_bytes()[near..at], b"class ")?;
    let header = &text[start + "class ".len()..at];
    let opens = line_before(text, start).is_empty() && (!header.contains('\n') || header.contains('('));
    (opens && !header.contains(':')).then_some(header)
}

/// Bytes of the header of a class, in all but odd cases.
const LONGEST_HEADER: usize = 400;

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

/// Where functions and classes of a module begin.
#[derive(Debug)]
pub(crate) struct Opened(Vec<(usize, bool)>);

impl Opened {
    /// By lines that are not indented.
    pub(crate) fn by(text: &str) -> Self {
        let begins = |word: &'static str, is_class: bool| {
            let at_line = |at: &usize| *at == 0 || text.as_bytes()[at - 1] == b'\n';
            memmem::find_iter(text.as_bytes(), word)
                .filter(at_line)
                .map(move |at| (at, is_class))
        };
        let all = begins("class ", true)
            .chain(begins("def ", false))
            .chain(begins("async def ", false));
        let mut all: Vec<_> = all.collect();
        all.sort_unstable();
        Self(all)
    }

    /// Whether a place stands in a class: the last that begins before it is one.
    pub(crate) fn is_class(&self, at: usize) -> bool {
        let before = self.0.partition_point(|(start, _)| *start < at);
        before.checked_sub(1).is_some_and(|last| self.0[last].1)
    }
}

/// Where a word stands in a text.
pub(crate) fn words_at<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    let bytes = text.as_bytes();
    let is_word = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b >= 0x80);
    memmem::find_iter(bytes, word).filter(move |&at| {
        let before = at.checked_sub(1).and_then(|i| bytes.get(i));
        !is_word(before) && !is_word(bytes.get(at + word.len()))
    })
}

/// The line up to a place, without its indentation.
pub(crate) fn line_before(text: &str, at: usize) -> &str {
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
                    def other() -> A:\n    f(A)\nAB = BA\nclass C:\n    v: A\n    def g(\n        self,\n        u: A,\n    ):\n        t = A()\n\
                    from a import A as D\nclass E(\n    F,\n    A,\n):\n    pass\ng = A\nclass H(D): pass\nclass I(g): pass\n";
        let holder = |name: &str| Speaker::Holder(name.into());
        let class = |name: &str| Speaker::Class(name.into());
        let mut wanted = Vec::from(["z", "y", "w", "make", "other", "v", "g"].map(holder));
        wanted.extend(["B", "E", "H", "I"].map(class));
        assert_eq!(speakers(text, "A"), wanted);
    }
}
