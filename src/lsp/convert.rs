//! Places and positions: byte offsets here, lines and code units of the negotiated encoding there.

use crate::source::{LineIndex, Source, Span};
use lsp_types::{Position, PositionEncodingKind, Range};

/// The unit that columns are counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Bytes.
    Utf8,
    /// What every client understands.
    #[default]
    Utf16,
    /// Unicode scalar values.
    Utf32,
}

impl Encoding {
    /// The first of the client's encodings that is known here.
    pub(super) fn chosen(offered: &[PositionEncodingKind]) -> Self {
        let known = |kind: &PositionEncodingKind| match kind.as_str() {
            "utf-8" => Some(Self::Utf8),
            "utf-16" => Some(Self::Utf16),
            "utf-32" => Some(Self::Utf32),
            _ => None,
        };
        offered.iter().find_map(known).unwrap_or_default()
    }

    pub(super) fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
            Self::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    fn units(self, c: char) -> u32 {
        match self {
            Self::Utf8 => c.len_utf8() as u32,
            Self::Utf16 => c.len_utf16() as u32,
            Self::Utf32 => 1,
        }
    }
}

/// The position of an offset. A byte order mark is in no column: editors take it away when they read a file.
pub(super) fn position(source: &Source, offset: u32, encoding: Encoding) -> Position {
    let line = source.line(offset);
    let start = source.line_start(offset) as usize;
    let end = (offset as usize).min(source.text.len());
    let before = source.text.get(start..end).unwrap_or_default();
    let before = if start == 0 {
        before.trim_start_matches('\u{feff}')
    } else {
        before
    };
    Position {
        line: line - 1,
        character: before.chars().map(|c| encoding.units(c)).sum(),
    }
}

/// The range of a span.
pub(super) fn range(source: &Source, span: Span, encoding: Encoding) -> Range {
    Range {
        start: position(source, span.start, encoding),
        end: position(source, span.end, encoding),
    }
}

/// The offset of a position; one past the end of its line or of the text is the end of that.
pub(super) fn offset(text: &str, lines: &LineIndex, position: Position, encoding: Encoding) -> u32 {
    let Some(start) = lines.start_of(position.line.saturating_add(1)) else {
        return text.len() as u32;
    };
    let end = lines.start_of(position.line.saturating_add(2)).unwrap_or(text.len() as u32);
    let (mut at, mut left) = (start, position.character);
    for c in text[start as usize..end as usize].chars() {
        if left < encoding.units(c) || matches!(c, '\n' | '\r') {
            break;
        }
        left -= encoding.units(c);
        at += c.len_utf8() as u32;
    }
    at
}

/// The span of a range.
pub(super) fn span(source: &Source, range: Range, encoding: Encoding) -> Span {
    let at = |position| offset(&source.text, source.lines(), position, encoding);
    let (start, end) = (at(range.start), at(range.end));
    Span::new(start, end.max(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_in_the_encoding() {
        let source = Source::new("a.py", "x = 1\n\tlabel = '😀é'; f()\r\nz");
        let f = source.text.find("f()").unwrap() as u32;
        for (encoding, column) in [(Encoding::Utf8, 19), (Encoding::Utf16, 16), (Encoding::Utf32, 15)] {
            let there = position(&source, f, encoding);
            assert_eq!(
                there,
                Position {
                    line: 1,
                    character: column
                }
            );
            assert_eq!(offset(&source.text, source.lines(), there, encoding), f);
        }
    }

    #[test]
    fn positions_outside_are_clamped() {
        let source = Source::new("a.py", "ab\r\n😀");
        let at = |line, character| offset(&source.text, source.lines(), Position { line, character }, Encoding::Utf16);
        assert_eq!((at(0, 9), at(1, 1), at(1, 2), at(7, 0)), (2, 4, 8, 8));
        assert_eq!(at(u32::MAX, u32::MAX), 8);
    }

    #[test]
    fn the_clients_first_known_encoding_is_taken() {
        let offered = [
            PositionEncodingKind::new("ebcdic"),
            PositionEncodingKind::UTF32,
            PositionEncodingKind::UTF8,
        ];
        assert_eq!(Encoding::chosen(&offered), Encoding::Utf32);
        assert_eq!(Encoding::chosen(&[]), Encoding::Utf16);
    }
}
