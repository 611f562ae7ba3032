//! What a module imports when it runs, read off its text without parsing.

use memchr::memmem;
use std::ops::Range;

/// A name that an import statement outside of functions binds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImportedName<'t> {
    /// Dots before the module of a `from` import; 0 for absolute ones.
    pub level: u32,
    /// `a.b` in `import a.b` and `from a.b import c`; empty in `from . import c`.
    pub module: &'t str,
    /// What is taken from the module: `c` in `from a.b import c`, `*` for everything.
    pub member: Option<&'t str>,
    /// The name behind `as`.
    pub renamed: Option<&'t str>,
    /// Under `if TYPE_CHECKING:`.
    pub type_checking: bool,
}

/// The imports of a text that run with its module, in order. What stands in a string may be taken for code.
pub fn imports(text: &str) -> Vec<ImportedName<'_>> {
    let mut found = Vec::new();
    let mut texts = long_strings(text).peekable();
    for at in memmem::find_iter(text.as_bytes(), b"import") {
        while texts.next_if(|string| string.end <= at).is_some() {}
        if texts.peek().is_some_and(|string| string.start < at) {
            continue;
        }
        let Some(statement) = Statement::around(text, at) else { continue };
        let around = Around::of(text, statement.start);
        if around.in_function {
            continue;
        }
        found.extend(statement.names.map(|(name, renamed)| match statement.from {
            Some((level, module)) => ImportedName {
                level,
                module,
                member: Some(name),
                renamed,
                type_checking: around.type_checking,
            },
            None => ImportedName {
                level: 0,
                module: name,
                member: None,
                renamed,
                type_checking: around.type_checking,
            },
        }));
    }
    found
}

/// Strings between three quotes, as far as no other string or comment has three.
fn long_strings(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + memchr::memchr2(b'"', b'\'', &bytes[from..])?;
            let quotes = bytes.get(at..at + 3)?;
            if quotes != [bytes[at]; 3] || line_before(text, at).contains('#') {
                from = at + 1;
                continue;
            }
            let end = memmem::find(&bytes[at + 3..], quotes).map_or(bytes.len(), |end| at + 3 + end + 3);
            from = end;
            return Some(at..end);
        }
    })
}

/// The line up to a place.
fn line_before(text: &str, at: usize) -> &str {
    &text[memchr::memrchr2(b'\n', b'\r', &text.as_bytes()[..at]).map_or(0, |i| i + 1)..at]
}

/// An import statement.
struct Statement<'t, N> {
    /// Offset of its first word.
    start: usize,
    /// Dots and module of a `from` import.
    from: Option<(u32, &'t str)>,
    names: N,
}

impl<'t> Statement<'t, ()> {
    /// The statement whose word `import` is at an offset.
    fn around(text: &'t str, at: usize) -> Option<Statement<'t, impl Iterator<Item = (&'t str, Option<&'t str>)>>> {
        let list = text[at + "import".len()..].strip_prefix([' ', '\t', '(', '*', '\\'])?;
        let list = &text[text.len() - list.len() - 1..];
        let line = memchr::memrchr2(b'\n', b'\r', &text.as_bytes()[..at]).map_or(0, |i| i + 1);
        let mut before = text[line..at].trim_end();
        if before.trim_start().is_empty() && text[..line].trim_end_matches(['\n', '\r']).ends_with('\\') {
            // `from module \` on the line above
            let above = text[..line].trim_end_matches(['\n', '\r', '\\']);
            before = above[above.rfind(['\n', '\r']).map_or(0, |i| i + 1)..].trim_end();
        }
        let offset = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
        let mut start = at;
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let mut froms = before.match_indices("from");
        let from = froms.find(|(at, _)| !before[..*at].ends_with(is_word) && !before[at + "from".len()..].starts_with(is_word));
        let from = match from {
            Some((from, _)) => {
                start = offset(before) + from;
                let module = before[from + "from".len()..].strip_prefix([' ', '\t', '.', '\\'])?;
                let module = before[before.len() - module.len() - 1..].trim_matches([' ', '\t', '\\']);
                let name = module.trim_start_matches(['.', ' ']);
                if name.contains([' ', '#']) {
                    return None;
                }
                let dots = module[..module.len() - name.len()].bytes().filter(|b| *b == b'.').count();
                before = &before[..from];
                Some((dots as u32, name))
            }
            None => None,
        };
        let head = before.trim_end();
        let opens = head.trim_start().is_empty() || head.ends_with([':', ';']) && !head.contains(['#', '"', '\'']);
        opens.then(|| Statement {
            start,
            from,
            names: names(list),
        })
    }
}

/// Names of a list with those that they get.
fn names(list: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let list = list.trim_start_matches([' ', '\t', '\\', '\n', '\r']);
    let (list, is_open) = match list.strip_prefix('(') {
        Some(list) => (list, true),
        None => (&list[..line_end(list)], false),
    };
    let mut is_closed = false;
    let code = list.lines().map(|line| line.split(['#', ';']).next().unwrap_or_default());
    let lines = code.map_while(move |line| {
        let before = std::mem::replace(&mut is_closed, is_open && line.contains(')'));
        (!before).then(|| line.split(')').next().unwrap_or_default())
    });
    lines.flat_map(|line| line.split(',')).filter_map(|name| {
        let mut words = name.split([' ', '\t', '\\', '\x0c']).filter(|word| !word.is_empty());
        let name = words.next()?;
        let renamed = words.next().filter(|word| *word == "as").and_then(|_| words.next());
        Some((name, renamed))
    })
}

/// Where a line ends that backslashes may continue.
fn line_end(text: &str) -> usize {
    let mut ends = memchr::memchr2_iter(b'\n', b'\r', text.as_bytes()).filter(|&end| !text[..end].ends_with(['\\', '\r']));
    ends.next().unwrap_or(text.len())
}

/// What a place stands in, as indentation tells.
#[derive(Default)]
struct Around {
    in_function: bool,
    type_checking: bool,
}

impl Around {
    fn of(text: &str, at: usize) -> Self {
        let mut around = Self::default();
        let mut start = memchr::memrchr2(b'\n', b'\r', &text.as_bytes()[..at]).map_or(0, |i| i + 1);
        let own = &text[start..at];
        let mut least = indentation(own);
        around.open(own.trim_start());
        while start > 0 && least > 0 {
            let end = start - 1;
            start = memchr::memrchr2(b'\n', b'\r', &text.as_bytes()[..end]).map_or(0, |i| i + 1);
            let line = &text[start..end];
            let code = line.trim_start();
            // The last line of a signature stands where its `def` does.
            if code.is_empty() || code.starts_with(['#', ')', ']', '}']) || indentation(line) >= least {
                continue;
            }
            least = indentation(line);
            around.open(code);
        }
        around
    }

    /// A line that opens a block around the place.
    fn open(&mut self, code: &str) {
        self.in_function |= code.starts_with("def ") || code.starts_with("async def ");
        let test = code.strip_prefix("if ").map(str::trim_start);
        self.type_checking |= test.is_some_and(|test| {
            let test = test.split(':').next().unwrap_or(test).trim().trim_matches(['(', ')']);
            test.rsplit('.').next() == Some("TYPE_CHECKING")
        });
    }
}

/// Width of what a line begins with: a tab counts as one.
fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t', '\x0c']).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let show = |i: &ImportedName| {
            let dots = ".".repeat(i.level as usize);
            let member = i.member.map(|m| format!(" {m}")).unwrap_or_default();
            let renamed = i.renamed.map(|r| format!(" as {r}")).unwrap_or_default();
            let typing = if i.type_checking { " (types)" } else { "" };
            format!("{dots}{}{member}{renamed}{typing}", i.module)
        };
        imports(text).iter().map(show).collect()
    }

    #[test]
    fn statements_are_read_in_all_their_forms() {
        for (text, wanted) in [
            ("import a.b, c as d\n", &["a.b", "c as d"] as &[&str]),
            ("from a.b import c, d as e # f\n", &["a.b c", "a.b d as e"]),
            ("from . import a\nfrom ..b import c", &[". a", "..b c"]),
            ("from a import (  # b\n    c,  # d, e\n    f as g,\n)\nh", &["a c", "a f as g"]),
            ("from a import *\n", &["a *"]),
            ("from a import \\\n    b, \\\n    c\nd", &["a b", "a c"]),
            ("from a \\\n    import b\n", &["a b"]),
            ("try: import a\nexcept ImportError: from b import c; d = 1\n", &["a", "b c"]),
            ("import a; import b\n", &["a", "b"]),
            ("import a\r\nfrom b import c\r\n", &["a", "b c"]),
            ("from a import (\n    b,  # (c)\n    d,\n)\ne, f\n", &["a b", "a d"]),
            ("\"\"\"Reads:\n\nimport a\n\"\"\"\nx = '\"'\nimport b\n", &["b"]),
            ("from a_from_b import c_from_d\n", &["a_from_b c_from_d"]),
            ("important = 1\nx.import_me()\n# import a\ny = 'import b'\n", &[]),
        ] {
            assert_eq!(read(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_runs_with_the_module_is_told_by_indentation() {
        let text = "try:\n    import a\nexcept ImportError:\n    b = None\n\n    import c\n\
                    def f(\n    x,\n) -> None:\n    import d\n    if x:\n        import e\n\
                    class C:\n    import g\n    def h(self):\n        from i import j\n\
                    if TYPE_CHECKING:\n    import k\nelse:\n    import l\nif t.TYPE_CHECKING: import m\nif not TYPE_CHECKING:\n    import n\n";
        assert_eq!(read(text), ["a", "c", "g", "k (types)", "l", "m (types)", "n"]);
    }
}
