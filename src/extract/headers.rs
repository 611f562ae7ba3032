//! Where the headers of compound statements end: the tree does not say, the text does.

use crate::source::Span;

/// The span from `start` to the colon that follows `after`, over closing brackets, comments and line ends.
pub(super) fn until_colon(text: &str, start: u32, after: u32) -> Span {
    let colon = skip(text, after, |b| matches!(b, b')' | b','));
    let end = if text.as_bytes().get(colon as usize) == Some(&b':') {
        colon + 1
    } else {
        after
    };
    Span::new(start, end.max(start))
}

/// The header that begins with `word`, next after `from`: `else:`, `finally:`.
pub(super) fn keyword(text: &str, from: u32, word: &str) -> Span {
    let start = skip(text, from, |b| b == b';');
    match text.get(start as usize..).is_some_and(|rest| rest.starts_with(word)) {
        true => until_colon(text, start, start + word.len() as u32),
        false => Span::at(from),
    }
}

/// The first offset from `from` on that is no blank, comment or line end, nor `also`.
pub(super) fn skip(text: &str, from: u32, also: impl Fn(u8) -> bool) -> u32 {
    let bytes = text.as_bytes();
    let mut at = from as usize;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b' ' | b'\t' | b'\x0c' | b'\n' | b'\r' | b'\\' => at += 1,
            b'#' => at += memchr::memchr2(b'\n', b'\r', &bytes[at..]).unwrap_or(bytes.len() - at),
            _ if also(byte) => at += 1,
            _ => break,
        }
    }
    at as u32
}
