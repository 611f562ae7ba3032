//! Text and places in it: the one currency that every stage shares.
//!
//! A span is a half-open range of byte offsets until a printer turns it into lines and columns.

use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// A file of the project: an index into the list of files, sorted by path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileId(pub u32);

impl FileId {
    /// The index into the list of files.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A half-open range of byte offsets in one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range from `start` up to, not including, `end`.
    pub fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// An empty range at `offset`: where something is inserted.
    pub fn at(offset: u32) -> Self {
        Self {
            start: offset,
            end: offset,
        }
    }

    /// The smallest range that holds both.
    pub fn to(self, other: Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// Whether `other` lies inside this range.
    pub fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Whether the ranges share a byte, or touch.
    pub fn meets(self, other: Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    /// The range as indices of a `str`.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A span in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The file.
    pub file: FileId,
    /// The range in it.
    pub span: Span,
}

/// One file as it was read.
#[derive(Clone, Debug)]
pub struct Source {
    /// Path relative to the project's root, `/` separated, without a leading `./`.
    pub path: String,
    /// The decoded text. A byte order mark, if any, is part of it.
    pub text: Box<str>,
    /// Made when a position is first asked for.
    lines: OnceLock<LineIndex>,
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.text == other.text
    }
}

impl Eq for Source {}

impl Source {
    /// A source with its line index.
    pub fn new(path: impl Into<String>, text: impl Into<Box<str>>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
            lines: OnceLock::new(),
        }
    }

    /// Where each line begins; the first entry is 0. Lines end with `\n`, `\r\n` or a lone `\r`.
    pub fn lines(&self) -> &LineIndex {
        self.lines.get_or_init(|| LineIndex::new(&self.text))
    }

    /// The text of a span.
    pub fn slice(&self, span: Span) -> &str {
        &self.text[span.range()]
    }

    /// Line and column of an offset, both from 1; the column counts Unicode scalar values.
    pub fn position(&self, offset: u32) -> (u32, u32) {
        self.lines().position(&self.text, offset)
    }

    /// The line (from 1) of an offset.
    pub fn line(&self, offset: u32) -> u32 {
        self.lines().line(offset)
    }

    /// Offset of the first byte of the line that holds `offset`.
    pub fn line_start(&self, offset: u32) -> u32 {
        self.lines().starts[self.lines().line(offset) as usize - 1]
    }

    /// Offset just past the line that holds `offset`, its line end included.
    pub fn line_end(&self, offset: u32) -> u32 {
        self.lines()
            .starts
            .get(self.lines().line(offset) as usize)
            .copied()
            .unwrap_or(self.text.len() as u32)
    }
}

/// Where the lines of a text begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// Indexes a text.
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            if bytes[at] == b'\n' || bytes.get(at + 1) != Some(&b'\n') {
                starts.push(at as u32 + 1);
            }
        }
        Self { starts }
    }

    /// The line (from 1) of an offset.
    pub fn line(&self, offset: u32) -> u32 {
        self.starts.partition_point(|&start| start <= offset) as u32
    }

    /// Line and column of an offset, both from 1; the column counts Unicode scalar values.
    pub fn position(&self, text: &str, offset: u32) -> (u32, u32) {
        let line = self.line(offset);
        let start = self.starts[line as usize - 1] as usize;
        let end = (offset as usize).min(text.len());
        // A byte order mark is in the text, yet in no column.
        let column = text
            .get(start..end)
            .map_or(end - start, |s| s.trim_start_matches('\u{feff}').chars().count());
        (line, column as u32 + 1)
    }

    /// Offset of the first byte of a line (from 1), if the file has that line.
    pub fn start_of(&self, line: u32) -> Option<u32> {
        self.starts.get((line as usize).checked_sub(1)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_with_any_of_the_three_line_ends() {
        let source = Source::new("a.py", "a\r\nb\rc\nü x");
        assert_eq!(source.position(0), (1, 1));
        assert_eq!(source.position(3), (2, 1));
        assert_eq!(source.position(5), (3, 1));
        let x = source.text.find('x').unwrap() as u32;
        assert_eq!(source.position(x), (4, 3));
    }
}
