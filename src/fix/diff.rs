//! Unified diffs.

use similar::TextDiff;
use std::fmt::Write;

/// The change of a file as a unified diff with `a/` and `b/` headers; empty when nothing changes.
pub fn unified(name: &str, before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    diff.unified_diff()
        .context_radius(3)
        .header(&format!("a/{name}"), &format!("b/{name}"))
        .to_string()
}

/// A unified diff with terminal colours.
pub fn coloured(diff: &str) -> String {
    let mut out = String::with_capacity(diff.len() * 2);
    for line in diff.split_inclusive('\n') {
        let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
        let colour = match text.as_bytes() {
            [b'-', b'-', b'-', ..] | [b'+', b'+', b'+', ..] => "1",
            [b'-', ..] => "31",
            [b'+', ..] => "32",
            [b'@', ..] => "36",
            _ => {
                out.push_str(line);
                continue;
            }
        };
        let _ = write!(out, "\x1b[{colour}m{text}\x1b[0m{end}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diffs_have_headers_and_context() {
        let diff = unified("p/a.py", "a\nb\nc\n", "a\nB\nc\n");
        assert_eq!(diff, "--- a/p/a.py\n+++ b/p/a.py\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
        assert_eq!(unified("a.py", "a\n", "a\n"), "");
        assert!(coloured(&diff).contains("\x1b[31m-b\x1b[0m\n"));
    }
}
