//! JSON, a byte at a time over a window of the file: strings are borrowed, values that nobody asked for are only stepped over.
//!
//! serde_json takes a stream byte by byte, and a slice only whole; here neither speed nor memory is lost. Structure is checked strictly;
//! what stands between quotes, and `NaN` and `Infinity` (which profilers do write), are taken as they are.

/// Why a value was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// The window ends inside it.
    More,
    /// It is no JSON: what was expected, and where in the window.
    Bad(&'static str, usize),
}

pub(super) type Scanned<T> = Result<T, Halt>;

/// Brackets inside one value; deeper ones are refused.
const MOST_DEPTH: usize = 512;

/// A position in a window.
#[derive(Clone, Debug)]
pub(super) struct Scan<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    pub(super) fn bad<T>(&self, expected: &'static str) -> Scanned<T> {
        Err(Halt::Bad(expected, self.at))
    }

    /// The next byte that is not white space, not consumed.
    #[inline]
    pub(super) fn peek(&mut self) -> Scanned<u8> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Ok(byte);
            }
            self.at += 1;
        }
        Err(Halt::More)
    }

    /// Consumes a byte of punctuation.
    #[inline]
    pub(super) fn expect(&mut self, wanted: u8, name: &'static str) -> Scanned<()> {
        if self.peek()? != wanted {
            return self.bad(name);
        }
        self.at += 1;
        Ok(())
    }

    /// What stands between two quotes, escapes as written.
    #[inline]
    pub(super) fn string(&mut self) -> Scanned<&'a [u8]> {
        self.expect(b'"', "a string")?;
        let start = self.at;
        let mut from = start;
        loop {
            let Some(found) = memchr::memchr2(b'"', b'\\', &self.bytes[from..]) else {
                return Err(Halt::More);
            };
            let at = from + found;
            if self.bytes[at] == b'"' {
                self.at = at + 1;
                return Ok(&self.bytes[start..at]);
            }
            from = at + 2;
            if from > self.bytes.len() {
                return Err(Halt::More);
            }
        }
    }

    /// A key and its colon.
    #[inline]
    pub(super) fn key(&mut self) -> Scanned<&'a [u8]> {
        if self.peek()? != b'"' {
            return self.bad("a key in quotes");
        }
        let key = self.string()?;
        self.expect(b':', "`:`")?;
        Ok(key)
    }

    /// Begins an object: whether it has a first key.
    pub(super) fn open_object(&mut self) -> Scanned<bool> {
        self.expect(b'{', "`{`")?;
        let more = self.peek()? != b'}';
        self.at += usize::from(!more);
        Ok(more)
    }

    /// After a member or an item: whether another one follows; consumes the comma or the closing bracket.
    #[inline]
    pub(super) fn next(&mut self, close: u8) -> Scanned<bool> {
        match self.peek()? {
            b',' => {
                self.at += 1;
                Ok(true)
            }
            byte if byte == close => {
                self.at += 1;
                Ok(false)
            }
            _ => self.bad(if close == b'}' { "`,` or `}`" } else { "`,` or `]`" }),
        }
    }

    /// A number, `true`, `null`, …: all bytes up to what ends a value.
    #[inline]
    pub(super) fn scalar(&mut self) -> Scanned<&'a [u8]> {
        self.peek()?;
        let start = self.at;
        let rest = &self.bytes[start..];
        let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t' | b':' | b'"' | b'{' | b'[');
        let Some(length) = rest.iter().position(ends) else {
            return if rest.len() > 400 { self.bad("a value") } else { Err(Halt::More) };
        };
        let token = &rest[..length];
        let is_value = match token.first() {
            Some(b'0'..=b'9') => token.iter().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')),
            Some(_) => {
                let word = token.strip_prefix(b"-").unwrap_or(token);
                matches!(word, b"true" | b"false" | b"null")
                    || matches!(word, b"NaN" | b"nan" | b"Infinity" | b"inf" | b"nan(ind)")
                    || word.first().is_some_and(u8::is_ascii_digit) && word.len() < token.len()
            }
            None => false,
        };
        if !is_value {
            return self.bad("a value");
        }
        self.at += length;
        Ok(token)
    }

    /// Any value, as written.
    #[inline]
    pub(super) fn value(&mut self) -> Scanned<&'a [u8]> {
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'"' => _ = self.string()?,
            b'{' | b'[' => self.brackets()?,
            _ => _ = self.scalar()?,
        }
        Ok(&self.bytes[start..self.at])
    }

    /// Steps over an object or an array.
    fn brackets(&mut self) -> Scanned<()> {
        let mut open = [false; MOST_DEPTH]; // whether each open bracket is an object's
        let mut depth = 0;
        loop {
            match self.peek()? {
                b'"' => _ = self.string()?,
                byte @ (b'{' | b'[') => {
                    if depth == MOST_DEPTH {
                        return self.bad("a value less deep");
                    }
                    let is_object = byte == b'{';
                    self.at += 1;
                    open[depth] = is_object;
                    depth += 1;
                    if self.peek()? != if is_object { b'}' } else { b']' } {
                        if is_object {
                            self.key()?;
                        }
                        continue;
                    }
                    self.at += 1;
                    depth -= 1;
                }
                _ => _ = self.scalar()?,
            }
            loop {
                if depth == 0 {
                    return Ok(());
                }
                let is_object = open[depth - 1];
                if self.next(if is_object { b'}' } else { b']' })? {
                    if is_object {
                        self.key()?;
                    }
                    break;
                }
                depth -= 1;
            }
        }
    }
}

/// A decimal number times 1000, cut to a whole number: microseconds as nanoseconds, exactly. `None` when it is no number, or too large.
pub(super) fn thousandths(token: &[u8]) -> Option<i64> {
    let (negative, digits) = match token {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut value: i64 = 0;
    let mut decimals: Option<u32> = None;
    for (at, &byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' if decimals.is_none_or(|n| n < 3) => {
                value = value.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
                decimals = decimals.map(|n| n + 1);
            }
            b'0'..=b'9' => {}
            b'.' if decimals.is_none() && at > 0 => decimals = Some(0),
            b'e' | b'E' if at > 0 => return exponential(token),
            _ => return None,
        }
    }
    if digits.is_empty() {
        return None;
    }
    let value = value.checked_mul(10_i64.pow(3 - decimals.unwrap_or(0)))?;
    Some(if negative { -value } else { value })
}

fn exponential(token: &[u8]) -> Option<i64> {
    let value = std::str::from_utf8(token).ok()?.parse::<f64>().ok()? * 1e3;
    (value.abs() < 9e18).then_some(value as i64)
}

/// A whole number that is not negative.
pub(super) fn whole(token: &[u8]) -> Option<u64> {
    if token.is_empty() || token.len() > 20 {
        return None;
    }
    token.iter().try_fold(0_u64, |value, byte| match byte {
        b'0'..=b'9' => value.checked_mul(10)?.checked_add(u64::from(byte - b'0')),
        _ => None,
    })
}

/// The text of a string that was read as written.
pub(super) fn text(raw: &[u8]) -> String {
    if memchr::memchr(b'\\', raw).is_some() {
        let quoted = [b"\"", raw, b"\""].concat();
        if let Ok(text) = serde_json::from_slice(&quoted) {
            return text;
        }
    }
    String::from_utf8_lossy(raw).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact() {
        assert_eq!(thousandths(b"6520618853487.683"), Some(6_520_618_853_487_683));
        assert_eq!(thousandths(b"1"), Some(1000));
        assert_eq!(thousandths(b"0.0019"), Some(1));
        assert_eq!(thousandths(b"-2.5"), Some(-2500));
        assert_eq!(thousandths(b"1.5e3"), Some(1_500_000));
        for wrong in ["", "-", ".5", "1.2.3", "1x", "99999999999999999999", "NaN", "1e99", "true"] {
            assert_eq!(thousandths(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(whole(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!((whole(b"18446744073709551616"), whole(b"-1"), whole(b"1.0")), (None, None, None));
    }

    #[test]
    fn values_are_stepped_over_whole_or_not_at_all() {
        let good = r#"{"a": [1, -2.5e3, {"b": "x\"}\\"}], "c": {}, "d": [[], null, NaN]} "#;
        for cut in 0..good.len() - 1 {
            assert_eq!(Scan::new(&good.as_bytes()[..cut], 0).value(), Err(Halt::More), "{cut}");
        }
        assert_eq!(Scan::new(good.as_bytes(), 0).value().unwrap().len(), good.len() - 1);
        for wrong in [
            "[1 2]",
            "[1,]",
            "{\"a\" 1}",
            "{a: 1}",
            "{\"a\":1,}",
            "[}",
            "{\"a\":]",
            "[nope]",
            "[+1]",
            "[1:2]",
            "[--1]",
            "{1:2}",
        ] {
            let padded = format!("{wrong}   ");
            assert!(matches!(Scan::new(padded.as_bytes(), 0).value(), Err(Halt::Bad(..))), "{wrong}");
        }
        let deep = "[".repeat(100_000);
        assert!(matches!(Scan::new(deep.as_bytes(), 0).value(), Err(Halt::Bad(..))));
    }

    #[test]
    fn texts_are_unescaped_and_never_refused() {
        assert_eq!(text(br"a\u00e9\n"), "aé\n");
        assert_eq!(text(br"C:\qux"), r"C:\qux");
        assert_eq!(text(b"a\xffb"), "a\u{fffd}b");
    }
}
