//! Bytes of a Python file to text and back: UTF-8 with or without a byte order mark, and declared single-byte encodings.

/// How a file's bytes became text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8; a byte order mark is part of the text.
    Utf8,
    /// ISO 8859-1: every byte is the character of that number.
    Latin1,
    /// Only bytes below 128.
    Ascii,
}

impl Encoding {
    /// The bytes of a text; `None` when the encoding has no way to write a character of it.
    pub fn encode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Utf8 => Some(text.as_bytes().to_vec()),
            Self::Latin1 => text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect(),
            Self::Ascii => text.is_ascii().then(|| text.as_bytes().to_vec()),
        }
    }
}

const MARK: &[u8] = b"\xef\xbb\xbf";

/// The text of a Python file, as Python itself would decode it; or why it has none.
pub fn decode(bytes: Vec<u8>) -> Result<(String, Encoding), String> {
    if u32::try_from(bytes.len()).is_err() {
        return Err("the file is larger than 4 GiB".into());
    }
    if let Some(at) = memchr::memchr(0, &bytes) {
        return Err(format!("the file contains a null byte at offset {at}"));
    }
    let declared = declared_encoding(&bytes);
    let name = declared.as_deref().map(normalise);
    match name.as_deref() {
        None | Some("utf-8" | "utf8" | "utf-8-sig" | "u8") => utf8(bytes),
        Some("latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "l1" | "8859") if bytes.starts_with(MARK) => Err(format!(
            "the file has a UTF-8 byte order mark but declares `{}`",
            declared.unwrap_or_default()
        )),
        Some("latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "l1" | "8859") => {
            Ok((bytes.iter().map(|&b| char::from(b)).collect(), Encoding::Latin1))
        }
        Some("ascii" | "us-ascii" | "646") => match bytes.iter().position(|b| !b.is_ascii()) {
            Some(at) => Err(format!("the file declares ASCII but has another byte at offset {at}")),
            None => utf8(bytes).map(|(text, _)| (text, Encoding::Ascii)),
        },
        // Pure ASCII reads the same in every encoding that extends it.
        Some(_) if bytes.is_ascii() => utf8(bytes).map(|(text, _)| (text, Encoding::Ascii)),
        Some(_) => Err(format!("cannot decode the declared encoding `{}`", declared.unwrap_or_default())),
    }
}

fn utf8(bytes: Vec<u8>) -> Result<(String, Encoding), String> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok((text, Encoding::Utf8)),
        Err(error) => Err(format!(
            "the file is not valid UTF-8 at offset {}",
            error.utf8_error().valid_up_to()
        )),
    }
}

fn normalise(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

/// The name in a `coding:` comment on one of the first two lines (PEP 263).
fn declared_encoding(bytes: &[u8]) -> Option<String> {
    let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
    for line in bytes.split(|&b| b == b'\n' || b == b'\r').take(2) {
        let text = line.trim_ascii_start();
        if text.is_empty() {
            continue;
        }
        if text[0] != b'#' {
            return None;
        }
        if let Some(name) = coding_name(text) {
            return Some(name);
        }
    }
    None
}

fn coding_name(comment: &[u8]) -> Option<String> {
    memchr::memmem::find_iter(comment, b"coding").find_map(|at| {
        let rest = &comment[at + b"coding".len()..];
        let rest = rest.strip_prefix(b":").or_else(|| rest.strip_prefix(b"="))?.trim_ascii_start();
        let end = rest
            .iter()
            .position(|b| !(b.is_ascii_alphanumeric() || b"-_.".contains(b)))
            .unwrap_or(rest.len());
        (end > 0).then(|| String::from_utf8_lossy(&rest[..end]).into_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Result<String, String> {
        decode(bytes.to_vec()).map(|(text, _)| text)
    }

    #[test]
    fn utf8_is_the_default_and_keeps_its_mark() {
        assert_eq!(text("x = 'ü'".as_bytes()).unwrap(), "x = 'ü'");
        assert_eq!(text(b"\xef\xbb\xbfx").unwrap(), "\u{feff}x");
        assert_eq!(text(b"a\xff").unwrap_err(), "the file is not valid UTF-8 at offset 1");
    }

    #[test]
    fn declared_encodings_are_used_and_kept() {
        let bytes = b"#!/usr/bin/python\n# -*- coding: latin-1 -*-\nx = '\xfc'\n";
        let (text, encoding) = decode(bytes.to_vec()).unwrap();
        assert!(text.ends_with("'ü'\n"));
        assert_eq!(encoding.encode(&text).unwrap(), bytes);
        assert_eq!(encoding.encode("€"), None);
        assert_eq!(
            decode(b"# coding=ascii\n\xfc".to_vec()).unwrap_err(),
            "the file declares ASCII but has another byte at offset 15"
        );
        assert!(
            decode(b"# vim: set fileencoding=koi8-r :\n\xfc".to_vec())
                .unwrap_err()
                .contains("`koi8-r`")
        );
        assert_eq!(decode(b"# coding: koi8-r\nx".to_vec()).unwrap().1, Encoding::Ascii);
    }

    #[test]
    fn only_a_comment_on_the_first_two_lines_declares() {
        assert!(decode(b"x = 1\n# coding: koi8-r\n'\xc3\xbc'".to_vec()).is_ok());
        assert!(decode(b"\n\n# coding: koi8-r\n'\xc3\xbc'".to_vec()).is_ok());
    }

    #[test]
    fn null_bytes_are_refused() {
        assert!(text(b"a\0b").unwrap_err().contains("null byte"));
    }
}
