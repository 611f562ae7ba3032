//! Noun 0: which words a text holds. Decides, before anything is parsed, whether a file can matter.
//!
//! A word is a run of letters, digits and underscores, wherever it stands: in code, strings and comments alike. So a name
//! that the code of a file speaks of is always a word of its text, and a file without the word need not be read further.
//! Words that stand together are kept as pairs: `a.b`, and `a` with `b` in `from a import b`.

mod bytes;
mod imports;

pub use imports::{ImportedName, imports};
use memchr::memmem;
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// The words of a text, by hash. Two words may share a hash: `has` may say yes too often, never no wrongly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// Open addressing; 0 is an empty slot. The length is a power of two.
    slots: Box<[u32]>,
    /// Something subscripted is called: what a launch looks like.
    pub launch_like: bool,
    /// It says `import *`.
    pub star_like: bool,
    /// Words with other names that they get: `a` and `b` of `import a as b` and of `b = c.a`, but of `except a as b` too.
    pub renamed: Box<[(Word, Word)]>,
    /// Some word has `kernel` in it, in any case.
    pub kernel_like: bool,
    /// Such a word stands before a `[`: what is taken from a table of kernels may be launched later.
    pub kernel_indexed: bool,
}

/// A word, hashed once and looked for in many texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Word(u32);

const SEED: u64 = 0x51_7c_c1_b7_27_22_0a_95;

/// Takes eight bytes into a hash, the first one lowest.
const fn step(hash: u64, eight: u64) -> u64 {
    (hash.rotate_left(5) ^ eight).wrapping_mul(SEED)
}

/// The hash of the bytes from `start` to `end`.
fn hash(bytes: &[u8], start: usize, end: usize) -> u32 {
    let (mut hash, mut at) = (0, start);
    while at + 8 <= end {
        hash = step(hash, eight(bytes, at));
        at += 8;
    }
    if at < end {
        let mask = (1 << (8 * (end - at))) - 1;
        hash = step(hash, eight(bytes, at) & mask);
    }
    finish(hash)
}

/// Eight bytes, zeros beyond the end.
fn eight(bytes: &[u8], at: usize) -> u64 {
    if let Some(all) = bytes.get(at..at + 8).and_then(|some| some.try_into().ok()) {
        return u64::from_le_bytes(all);
    }
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().rev().fold(0, |eight, byte| eight << 8 | u64::from(*byte))
}

const fn finish(hash: u64) -> u32 {
    let high = (hash >> 32) as u32;
    if high == 0 { 1 } else { high }
}

/// Letters, digits, underscore, and every byte of a character beyond ASCII.
const IS_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        table[byte] = b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80;
        byte += 1;
    }
    table
};

impl Word {
    /// The word of a text without separators.
    pub fn of(word: &str) -> Self {
        Self(constant(word.as_bytes()))
    }

    /// The same word after a dot or a quote: as an attribute, or as a string that may name one.
    pub fn as_attribute(self) -> Self {
        Self(attribute(self.0))
    }

    /// This word of another: `owner.word`, or `from owner import word`.
    pub fn of_owner(self, owner: Self) -> Self {
        Self(pair(owner.0, self.0))
    }

    /// This word in `from . import word`.
    pub fn of_package(self) -> Self {
        Self(pair(0, self.0))
    }
}

thread_local! {
    static TABLE: RefCell<Table> = RefCell::default();
}

fn pair(owner: u32, word: u32) -> u32 {
    ((owner ^ 0x5bd1_e995).rotate_left(16).wrapping_mul(0x85eb_ca6b) ^ word).max(1)
}

fn attribute(hash: u32) -> u32 {
    (hash ^ 0x9e37_79b9).max(1)
}

impl Words {
    /// Reads a text once.
    pub fn of(text: &str) -> Self {
        TABLE.with_borrow_mut(|table| Self::gathered(text.as_bytes(), table))
    }

    fn gathered(bytes: &[u8], table: &mut Table) -> Self {
        table.start(bytes.len());
        let mut reader = Reader::new(table);
        let (mut at, mut kernel_indexed) = (0, false);
        while at < bytes.len() {
            let byte = bytes[at];
            if byte == b' ' {
                at += 1;
                continue;
            }
            if !IS_WORD[byte as usize] {
                at += reader.mark(byte, &bytes[at..]);
                continue;
            }
            let start = at;
            at = word_end(bytes, start);
            let next = bytes.get(at).copied();
            kernel_indexed |= next == Some(b'[') && is_table_of_kernels(&bytes[start..at]);
            reader.word(hash(bytes, start, at), bytes[start].is_ascii_digit(), next);
        }
        let renamed = reader.renamed.into_boxed_slice();
        Self {
            slots: table.packed(),
            renamed,
            star_like: memmem::find(bytes, b"import *").is_some(),
            launch_like: has_launch(bytes),
            kernel_like: is_kernel_like(bytes),
            kernel_indexed,
        }
    }

    /// Whether the text holds a word.
    pub fn has(&self, word: Word) -> bool {
        if self.slots.is_empty() {
            return false;
        }
        let mask = self.slots.len() - 1;
        let mut at = word.0 as usize & mask;
        loop {
            match self.slots[at] {
                0 => return false,
                found if found == word.0 => return true,
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Whether the text holds one of the words.
    pub fn has_any<'w>(&self, words: impl IntoIterator<Item = &'w Word>) -> bool {
        words.into_iter().any(|word| self.has(*word))
    }

    /// Whether the text holds all of the words.
    pub fn has_all(&self, words: &[Word]) -> bool {
        words.iter().all(|word| self.has(*word))
    }
}

/// Words that are looked for together, each with what it stands for: a text is asked once for all of them.
#[derive(Clone, Debug)]
pub struct Sought<T> {
    all: Vec<(Word, T)>,
    /// Where each is in the list.
    places: FxHashMap<Word, usize>,
    /// A bit for the low part of each: most words of a text are none of them.
    bits: Box<[u64; SOUGHT_BITS / 64]>,
}

/// Bits of [`Sought`]; a power of two, small enough for the innermost cache.
const SOUGHT_BITS: usize = 1 << 16;

impl<T> Sought<T> {
    /// These words.
    pub fn new(wanted: FxHashMap<Word, T>) -> Self {
        let all: Vec<(Word, T)> = wanted.into_iter().collect();
        let places = all.iter().enumerate().map(|(i, (word, _))| (*word, i)).collect();
        let mut bits = Box::new([0; SOUGHT_BITS / 64]);
        for (word, _) in &all {
            let at = word.0 as usize % SOUGHT_BITS;
            bits[at / 64] |= 1 << (at % 64);
        }
        Self { all, places, bits }
    }

    /// What those of the words stand for that a text holds, in no order.
    pub fn in_text<'s>(&'s self, words: &'s Words) -> InText<'s, T> {
        InText {
            sought: self,
            words,
            at: 0,
            // The fewer are gone through.
            by_word: self.all.len() * 8 < words.slots.len(),
        }
    }

    fn may_be(&self, slot: u32) -> bool {
        let at = slot as usize % SOUGHT_BITS;
        self.bits[at / 64] >> (at % 64) & 1 == 1
    }
}

/// What some of the words stand for: see [`Sought::in_text`].
#[derive(Debug)]
pub struct InText<'s, T> {
    sought: &'s Sought<T>,
    words: &'s Words,
    /// The next word or slot.
    at: usize,
    by_word: bool,
}

impl<'s, T> Iterator for InText<'s, T> {
    type Item = &'s T;

    fn next(&mut self) -> Option<&'s T> {
        let sought = self.sought;
        if self.by_word {
            let rest = &sought.all[self.at..];
            let found = rest.iter().position(|(word, _)| self.words.has(*word))?;
            self.at += found + 1;
            return Some(&rest[found].1);
        }
        loop {
            let rest = &self.words.slots[self.at..];
            let next = rest.iter().position(|slot| sought.may_be(*slot))?;
            self.at += next + 1;
            // An empty slot is no word.
            if let Some(place) = sought.places.get(&Word(rest[next])).filter(|_| rest[next] != 0) {
                return Some(&sought.all[*place].1);
            }
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
struct Reader<'t> {
    table: &'t mut Table,
    renamed: Vec<(Word, Word)>,
    /// What stands before a word since the last one, blanks aside; 0 for nothing.
    before: u8,
    /// The word before.
    last: u32,
    /// The word that `as` renames.
    old: u32,
    /// The name that is assigned to.
    target: u32,
    import: Import,
    /// A line ended since the last word.
    new_line: bool,
    in_parentheses: bool,
}

const FROM: u32 = constant(b"from");
const IMPORT: u32 = constant(b"import");
const AS: u32 = constant(b"as");

/// The hash of a word alone.
const fn constant(word: &[u8]) -> u32 {
    let (mut hash, mut eight, mut i) = (0, 0, 0);
    while i < word.len() {
        eight |= (word[i] as u64) << (8 * (i % 8));
        i += 1;
        if i % 8 == 0 || i == word.len() {
            hash = step(hash, eight);
            eight = 0;
        }
    }
    finish(hash)
}

impl<'t> Reader<'t> {
    fn new(table: &'t mut Table) -> Self {
        Self {
            table,
            renamed: Vec::new(),
            before: 0,
            last: 0,
            old: 0,
            target: 0,
            import: Import::No,
            new_line: true,
            in_parentheses: false,
        }
    }

    /// A byte between words, and what follows. Returns how many bytes are read.
    fn mark(&mut self, byte: u8, rest: &[u8]) -> usize {
        match byte {
            b'\t' | b'\r' | b'\x0c' => {}
            b'\n' => {
                self.new_line = true;
                if !self.in_parentheses {
                    self.import = Import::No;
                }
            }
            b'#' if self.import != Import::No => return memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
            b'\\' if self.import != Import::No && rest.get(1) == Some(&b'\n') => return 2,
            _ => {
                self.before = byte;
                match byte {
                    b'(' => self.in_parentheses = self.import != Import::No,
                    b')' | b';' => {
                        self.in_parentheses = false;
                        self.import = Import::No;
                    }
                    _ => {}
                }
            }
        }
        1
    }

    fn word(&mut self, hash: u32, is_number: bool, next: Option<u8>) {
        let is_first = self.new_line || matches!(self.before, b';' | b':');
        let (before, old) = (std::mem::take(&mut self.before), std::mem::take(&mut self.old));
        if old != 0 && before == 0 {
            self.renamed.push((Word(old), Word(hash)));
        }
        match before {
            b'=' => self.target = self.last,
            b'.' => {}
            _ => self.target = 0,
        }
        if self.target != 0 && matches!(next, None | Some(b'\n' | b'\r')) {
            self.renamed.push((Word(hash), Word(self.target)));
        }
        if !is_number {
            self.table.insert(hash);
        }
        if matches!(before, b'.' | b'"' | b'\'') {
            self.table.insert(attribute(hash));
        }
        match self.import {
            Import::No if before == b'.' => self.table.insert(pair(self.last, hash)),
            Import::No if hash == FROM && is_first => self.import = Import::From(0),
            Import::No => {}
            Import::From(module) if hash == IMPORT => self.import = Import::Listed(module),
            Import::From(_) => self.import = Import::From(hash),
            Import::Listed(module) if hash != AS && old == 0 => self.table.insert(pair(module, hash)),
            Import::Listed(_) => {}
        }
        if hash == AS && before == 0 {
            self.old = self.last;
        }
        self.last = hash;
        self.new_line = false;
    }
}

/// Where the word ends that begins at an offset. Apart from what uses it, for a loop over bytes that keeps nothing else at hand.
#[inline(never)]
fn word_end(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start..];
    start + rest.iter().position(|byte| !IS_WORD[*byte as usize]).unwrap_or(rest.len())
}

/// `kernels[…]`, but not the extent of a convolution: `kernel_size[0]`.
fn is_table_of_kernels(word: &[u8]) -> bool {
    is_kernel_like(word) && !word.ends_with(b"size") && !word.ends_with(b"sizes")
}

fn is_kernel_like(text: &[u8]) -> bool {
    let kernel = |at: usize| at > 0 && matches!(text[at - 1], b'k' | b'K');
    memmem::find_iter(text, b"ernel").any(kernel) || memmem::find(text, b"KERNEL").is_some()
}

/// Something subscripted is called as a launch is: `name[…](`, but for types (`dict[str, int](`) and items (`layers[0](`).
fn has_launch(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b']', bytes).any(|at| {
        let rest = &bytes[at + 1..];
        let blank = rest.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        rest.get(blank) == Some(&b'(') && is_launch(bytes, at)
    })
}

/// The same for the bracket that closes at an offset.
fn is_launch(bytes: &[u8], close: usize) -> bool {
    // What is longer than that is no item and no type.
    let Some(open) = opening(bytes, close) else { return true };
    let before = &bytes[..open];
    let base = before.trim_ascii_end();
    let is_apart = base.len() < before.len();
    let word = base.iter().rev().take_while(|b| IS_WORD[**b as usize]).count();
    let word = &base[base.len() - word..];
    let Some(first) = word.first() else {
        return !is_apart && matches!(base.last(), Some(b')' | b']'));
    };
    // Prose: "of shape [rows, columns] (or fewer)".
    if is_apart && !is_kernel_like(word) {
        return false;
    }
    let inside = bytes[open + 1..close].trim_ascii();
    let is_item = !inside.is_empty() && inside.iter().all(u8::is_ascii_digit);
    let is_camel = first.is_ascii_uppercase() && word.iter().any(u8::is_ascii_lowercase);
    let is_type = is_camel
        || matches!(
            word,
            b"dict" | b"list" | b"set" | b"tuple" | b"frozenset" | b"deque" | b"defaultdict"
        );
    !is_item && (!is_type || is_kernel_like(word))
}

/// The bracket that belongs to the closing one at an offset, if it is near. Brackets in strings may lead astray: then there is none.
fn opening(bytes: &[u8], close: usize) -> Option<usize> {
    let mut depth = 0;
    for at in (close.saturating_sub(FAR)..=close).rev() {
        match bytes[at] {
            b']' | b')' | b'}' => depth += 1,
            b'[' | b'(' | b'{' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (bytes[at] == b'[').then_some(at);
        }
    }
    None
}

/// Bytes between two brackets that belong together, in all but the longest grids.
const FAR: usize = 400;

/// Where words are gathered; used again for text after text.
#[derive(Default)]
struct Table {
    slots: Vec<u32>,
    used: usize,
}

impl Table {
    /// Makes room for the words of a text of so many bytes, as texts go.
    fn start(&mut self, bytes: usize) {
        self.slots.clear();
        self.slots.resize((bytes / 16).next_power_of_two().clamp(64, 4096), 0);
        self.used = 0;
    }

    fn insert(&mut self, hash: u32) {
        if place(&mut self.slots, hash) {
            self.used += 1;
            if self.used * 2 > self.slots.len() {
                let mut larger = vec![0; self.slots.len() * 2];
                self.move_to(&mut larger);
                self.slots = larger;
            }
        }
    }

    fn move_to(&self, other: &mut [u32]) {
        for hash in self.slots.iter().filter(|hash| **hash != 0) {
            place(other, *hash);
        }
    }

    /// What was gathered, in as little room as finds it quickly.
    fn packed(&self) -> Box<[u32]> {
        let mut packed = vec![0; (self.used * 4 / 3 + 1).next_power_of_two()].into_boxed_slice();
        self.move_to(&mut packed);
        packed
    }
}

/// Puts a hash into slots that are not full; false when it is there already.
fn place(slots: &mut [u32], hash: u32) -> bool {
    let mask = slots.len() - 1;
    let mut at = hash as usize & mask;
    while slots[at] != 0 {
        if slots[at] == hash {
            return false;
        }
        at = (at + 1) & mask;
    }
    slots[at] = hash;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(text: &str, word: &str) -> bool {
        Words::of(text).has(Word::of(word))
    }

    #[test]
    fn a_word_is_the_same_alone_and_in_a_text() {
        for length in 1..40 {
            let word = &"abcdefghijklmnopqrstuvwxyzabcdefghijklmnop"[..length];
            assert!(has(word, word) && has(&format!("({word})"), word) && !has(&word[1..], word));
        }
    }

    #[test]
    fn words_are_whole_and_found_wherever_they_stand() {
        let text = "import a.b_c as d  # größe\nx = 'in_text' + 1e5 + f(_1)\n";
        for word in ["import", "a", "b_c", "as", "d", "größe", "x", "in_text", "f", "_1"] {
            assert!(has(text, word), "{word}");
        }
        for word in ["b", "c", "in", "text", "1e5", ""] {
            assert!(!has(text, word), "{word}");
        }
    }

    #[test]
    fn a_word_after_a_dot_or_a_quote_may_be_an_attribute() {
        let words = Words::of("a.b(c)\n(d\n    . e)\ngetattr(f, 'g')");
        let is_attribute = |word: &str| words.has(Word::of(word).as_attribute());
        assert!(["b", "e", "g"].into_iter().all(is_attribute));
        assert!(!["a", "c", "d", "getattr", "f"].into_iter().any(is_attribute));
    }

    #[test]
    fn pairs_are_attributes_of_names_and_members_of_modules() {
        let text = "x = a.b.c\nd . e\nfrom m.n import f, g as h  # i)\nfrom o import (  # p)\n    q,\n    r as s,\n)\nt\n\
                    if u: from v import w\nfrom . import y\nfrom .z import \\\n    aa\nf(b).c";
        let words = Words::of(text);
        let has = |owner: &str, word: &str| words.has(Word::of(word).of_owner(Word::of(owner)));
        for (owner, word) in [
            ("a", "b"),
            ("b", "c"),
            ("d", "e"),
            ("n", "f"),
            ("n", "g"),
            ("o", "q"),
            ("o", "r"),
            ("v", "w"),
            ("z", "aa"),
        ] {
            assert!(has(owner, word), "{owner}.{word}");
        }
        for (owner, word) in [
            ("a", "c"),
            ("n", "h"),
            ("m", "f"),
            ("o", "s"),
            ("o", "t"),
            ("o", "p"),
            ("n", "i"),
            ("u", "v"),
        ] {
            assert!(!has(owner, word), "{owner}.{word}");
        }
        assert!(words.has(Word::of("y").of_package()) && !words.has(Word::of("f").of_package()));
    }

    #[test]
    fn names_of_names_are_kept() {
        let words = Words::of("import a.b as c\nfrom d import (\n    e as f)\ng = h\nself.i = j.k\nl = m()\nn == o\n");
        let renamed: Vec<(Word, Word)> = words.renamed.to_vec();
        let pairs = [("b", "c"), ("e", "f"), ("h", "g"), ("k", "i"), ("o", "n")];
        assert_eq!(renamed, pairs.map(|(old, new)| (Word::of(old), Word::of(new))));
    }

    #[test]
    fn a_text_of_many_words_keeps_all() {
        let all: Vec<String> = (0..20_000).map(|i| format!("name_{i}")).collect();
        let words = Words::of(&all.join(" "));
        assert!(all.iter().all(|w| words.has(Word::of(w))));
        assert!(!words.has(Word::of("name_20000")));
    }

    #[test]
    fn many_words_are_sought_at_once() {
        let words = Words::of("a b0 b1 b500 c");
        for most in [2, 1000] {
            let names = (0..most).map(|i| (Word::of(&format!("b{i}")), i)).collect();
            let mut found: Vec<i32> = Sought::new(names).in_text(&words).copied().collect();
            found.sort_unstable();
            let expected: Vec<i32> = [0, 1, 500].into_iter().filter(|i| *i < most).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn launches_look_like_a_bracket_and_a_parenthesis() {
        assert!(Words::of("k[grid](x)").launch_like && Words::of("k[(1,)] (x)").launch_like);
        for launch in [
            "self.k[lambda meta: (cdiv(n, meta['B']),)](x)",
            "make()[grid](x)",
            "t[i][g](x)",
            "my_kernel [g](x)",
            "K[grid](x)",
            "TileKernel[g](x)",
        ] {
            assert!(Words::of(launch).launch_like, "{launch}");
        }
        for other in [
            "k[grid], (x)",
            "dict[str, int]()",
            "Queue[bytes](8)",
            "self.conv[0](x)",
            "# [rows, K] (or fewer)",
            "a shape [1] (one)",
        ] {
            assert!(!Words::of(other).launch_like, "{other}");
        }
        assert!(Words::of("MyKernels").kernel_like && !Words::of("kern el").kernel_like);
        assert!(Words::of("k = self.kernels[i]").kernel_indexed && !Words::of("kernels(k[i]); kernel_size[0]").kernel_indexed);
    }

    #[test]
    fn an_empty_text_has_no_word() {
        assert!(!has("", "a") && !Words::default().has(Word::of("a")));
    }
}
