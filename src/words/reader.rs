//! Reads the words of a text, a block of bytes at a time.

use super::table::Table;
use super::{IS_WORD, Word, attribute, constant, hash, pair};

/// What a byte is to [`Reader::code_word`].
const KIND: [u8; 256] = {
    let mut table = [0; 256];
    table[b'.' as usize] = DOT | ATTRIBUTE;
    table[b'"' as usize] = ATTRIBUTE;
    table[b'\'' as usize] = ATTRIBUTE;
    table[b'=' as usize] = ASSIGNED;
    table[b'\n' as usize] = LINE_END;
    table[b'\r' as usize] = LINE_END;
    let mut digit = b'0';
    while digit <= b'9' {
        table[digit as usize] = DIGIT;
        digit += 1;
    }
    table
};
const DOT: u8 = 1;
const ATTRIBUTE: u8 = 2;
const ASSIGNED: u8 = 4;
const LINE_END: u8 = 8;
const DIGIT: u8 = 16;

/// Whether a word may begin a statement: a line, `:` or `;` ended before it.
#[cold]
fn is_first(bytes: &[u8], start: usize) -> bool {
    let gap = bytes[..start].iter().rev().take_while(|byte| !IS_WORD[**byte as usize]).count();
    let gap = &bytes[start - gap..start];
    let mark = gap.iter().rev().find(|byte| **byte > b' ');
    gap.len() == start || gap.contains(&b'\n') || matches!(mark, Some(b':' | b';'))
}

/// The words of 64 bytes of a text, a bit for each byte, the first one lowest.
struct Block {
    bytes: [u8; 64],
    /// Where words begin, and where they have ended; a word at the very end has not.
    starts: u64,
    ends: u64,
    /// What is neither of a word nor blank.
    marks: u64,
}

impl Block {
    /// The block at an offset. Behind the end of the text lines end.
    #[inline(always)]
    fn at(bytes: &[u8], at: usize) -> Self {
        match bytes.get(at..at + 64).and_then(|some| some.try_into().ok()) {
            Some(all) => Self::of(all),
            None => {
                let mut some = [b'\n'; 64];
                let rest = &bytes[at..];
                some[..rest.len()].copy_from_slice(rest);
                Self::of(&some)
            }
        }
    }

    #[inline(always)]
    fn of(bytes: &[u8; 64]) -> Self {
        // Comparisons rather than a table: they are made for many bytes at once.
        let mut kinds = [0_u8; 64];
        for (kind, &byte) in kinds.iter_mut().zip(bytes) {
            let letter = (byte | 0x20).wrapping_sub(b'a') < 26;
            let word = letter | (byte.wrapping_sub(b'0') < 10) | (byte == b'_') | (byte >= 0x80);
            // Other control characters do not stand in code.
            let blank = byte <= b' ';
            *kind = u8::from(word) | u8::from(!(word | blank)) << 4;
        }
        let (mut words, mut marks) = (0, 0);
        for (index, eight) in kinds.as_chunks::<8>().0.iter().enumerate() {
            let eight = u64::from_le_bytes(*eight);
            // The lowest bits of eight bytes as one byte.
            let bits = |kind: u32| ((eight >> kind & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * index);
            words |= bits(0);
            marks |= bits(4);
        }
        Self {
            bytes: *bytes,
            starts: words & !(words << 1),
            ends: !words & words << 1,
            marks,
        }
    }
}

/// Where the reader is in an import statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Import {
    No,
    /// After `from`: the last part of the module so far; 0 for none.
    From(u32),
    /// After `import`: what is listed comes from this.
    Listed(u32),
}

/// What is known while a text is read.
pub(super) struct Reader<'t> {
    table: &'t mut Table,
    pub(super) renamed: Vec<(Word, Word)>,
    /// What stands before a word since the last one, blanks aside; 0 for nothing.
    before: u8,
    /// The word before.
    last: u32,
    /// The word that `as` renames.
    old: u32,
    /// The name that is assigned to.
    target: u32,
    import: Import,
    in_parentheses: bool,
}

const FROM: u32 = constant(b"from");
const IMPORT: u32 = constant(b"import");
const AS: u32 = constant(b"as");

impl<'t> Reader<'t> {
    pub(super) fn new(table: &'t mut Table) -> Self {
        Self {
            table,
            renamed: Vec::new(),
            before: 0,
            last: 0,
            old: 0,
            target: 0,
            import: Import::No,
            in_parentheses: false,
        }
    }

    /// Reads a text.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            at = self.read_code(bytes, at);
            at = self.read_import(bytes, at);
        }
    }

    /// Reads on to behind the word `from` that begins an import statement, a block at a time. A block begins where a word ended.
    fn read_code(&mut self, bytes: &[u8], mut at: usize) -> usize {
        loop {
            let block = Block::at(bytes, at);
            let (mut starts, mut ends, mut marks) = (block.starts, block.ends, block.marks);
            if ends == 0 {
                // Nothing but a long word, or none.
                let Some(end) = self.read_far_word(bytes, at) else {
                    return bytes.len();
                };
                at = end;
                if self.import != Import::No {
                    return at;
                }
                continue;
            }
            let mut end = 0;
            while ends != 0 {
                let start = starts.trailing_zeros() as usize;
                end = ends.trailing_zeros() as usize;
                let before = marks & ((1 << (start % 64)) - 1);
                marks ^= before;
                (starts, ends) = (starts & starts.wrapping_sub(1), ends & (ends - 1));
                let mark = block.bytes[63 - (before | 1).leading_zeros() as usize];
                let mark = if before == 0 { 0 } else { mark };
                let kind = KIND[block.bytes[start % 64] as usize];
                self.code_word(bytes, at + start, at + end, mark, kind & DIGIT != 0, block.bytes[end % 64]);
                if self.import != Import::No {
                    return at + end;
                }
            }
            at += end;
        }
    }

    /// The next word that is not whole in a block.
    #[cold]
    fn read_far_word(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        let gap = bytes[at..].iter().position(|byte| IS_WORD[*byte as usize])?;
        let (start, end) = (at + gap, word_end(bytes, at + gap));
        let mark = bytes[at..start].iter().rev().find(|byte| **byte > b' ').copied().unwrap_or(0);
        self.code_word(
            bytes,
            start,
            end,
            mark,
            bytes[start].is_ascii_digit(),
            bytes.get(end).copied().unwrap_or(b'\n'),
        );
        Some(end)
    }

    /// A word outside of import statements: what stands before it, blanks aside, and what follows at once. No branch depends on what is common:
    /// a processor would guess wrong every other time.
    #[inline(always)]
    fn code_word(&mut self, bytes: &[u8], start: usize, end: usize, before: u8, is_number: bool, next: u8) {
        let hash = hash(bytes, start, end);
        let kind = KIND[before as usize];
        let is_dotted = kind & DOT != 0;
        self.table.insert_each([
            (hash, !is_number),
            (attribute(hash), kind & ATTRIBUTE != 0),
            (pair(self.last, hash), is_dotted),
        ]);
        let target = self.target & 0_u32.wrapping_sub(u32::from(is_dotted));
        self.target = if kind & ASSIGNED != 0 { self.last } else { target };
        if (self.target != 0) & (KIND[next as usize] & LINE_END != 0) {
            self.renamed.push((Word(hash), Word(self.target)));
        }
        if (self.old != 0) & (before == 0) {
            self.renamed.push((Word(self.old), Word(hash)));
        }
        self.old = if (hash == AS) & (before == 0) { self.last } else { 0 };
        self.last = hash;
        if hash == FROM && is_first(bytes, start) {
            self.import = Import::From(0);
            self.before = 0;
        }
    }

    /// Reads on to where an import statement ends, byte by byte.
    fn read_import(&mut self, bytes: &[u8], mut at: usize) -> usize {
        while self.import != Import::No && at < bytes.len() {
            let byte = bytes[at];
            if byte == b' ' {
                at += 1;
            } else if IS_WORD[byte as usize] {
                let start = at;
                at = word_end(bytes, start);
                self.import_word(hash(bytes, start, at), bytes[start].is_ascii_digit());
            } else {
                at += self.mark(byte, &bytes[at..]);
            }
        }
        at
    }

    /// A byte of an import statement between words, and what follows. Returns how many bytes are read.
    fn mark(&mut self, byte: u8, rest: &[u8]) -> usize {
        match byte {
            b'\t' | b'\r' | b'\x0c' => {}
            b'\n' if self.in_parentheses => {}
            b'\n' => self.import = Import::No,
            b'#' => return memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
            b'\\' if rest.get(1) == Some(&b'\n') => return 2,
            b'(' => (self.before, self.in_parentheses) = (byte, true),
            b')' | b';' => (self.import, self.in_parentheses) = (Import::No, false),
            _ => self.before = byte,
        }
        1
    }

    /// A word of an import statement.
    fn import_word(&mut self, hash: u32, is_number: bool) {
        let (before, old) = (std::mem::take(&mut self.before), std::mem::take(&mut self.old));
        if old != 0 && before == 0 {
            self.renamed.push((Word(old), Word(hash)));
        }
        if !is_number {
            self.table.insert(hash);
        }
        if KIND[before as usize] & ATTRIBUTE != 0 {
            self.table.insert(attribute(hash));
        }
        match self.import {
            Import::From(module) if hash == IMPORT => self.import = Import::Listed(module),
            Import::From(_) => self.import = Import::From(hash),
            Import::Listed(module) if hash != AS && old == 0 => self.table.insert(pair(module, hash)),
            Import::Listed(_) | Import::No => {}
        }
        if hash == AS && before == 0 {
            self.old = self.last;
        }
        self.target = 0;
        self.last = hash;
    }
}

/// Where the word ends that begins at an offset. Apart from what uses it, for a loop over bytes that keeps nothing else at hand.
#[inline(never)]
fn word_end(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start..];
    start + rest.iter().position(|byte| !IS_WORD[*byte as usize]).unwrap_or(rest.len())
}
