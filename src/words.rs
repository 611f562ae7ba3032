//! Noun 0: which words a text holds. Decides, before anything is parsed, whether a file can matter.
//!
//! A word is a run of letters, digits and underscores, wherever it stands: in code, strings and comments alike. So a name
//! that the code of a file speaks of is always a word of its text, and a file without the word need not be read further.
//! Words that stand together are kept as pairs: `a.b`, and `a` with `b` in `from a import b`.

mod bytes;
mod imports;
mod launch;
mod reader;
mod table;

pub use imports::{ImportedName, imports};
use launch::{has_launch, has_table_of_kernels, is_kernel_like};
use memchr::memmem;
use reader::Reader;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use table::Table;

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

/// The hash of the bytes from `start` to `end`, which lies behind.
#[inline(always)]
fn hash(bytes: &[u8], start: usize, end: usize) -> u32 {
    let length = end - start;
    if length > 16 {
        return hash_long(bytes, start, end);
    }
    // Without a branch: half of all words are longer than eight bytes.
    let mask = |missing: usize| u64::MAX >> (8 * missing);
    let first = step(0, eight(bytes, start) & mask(8_usize.saturating_sub(length)));
    let second = step(first, eight(bytes, start + 8) & mask((16 - length) % 8));
    finish(if length > 8 { second } else { first })
}

fn hash_long(bytes: &[u8], start: usize, end: usize) -> u32 {
    let (mut hash, mut at) = (0, start);
    while at + 8 < end {
        hash = step(hash, eight(bytes, at));
        at += 8;
    }
    finish(step(hash, eight(bytes, at) & (u64::MAX >> (64 - 8 * (end - at)))))
}

/// Eight bytes, zeros beyond the end.
fn eight(bytes: &[u8], at: usize) -> u64 {
    if let Some(all) = bytes.get(at..at + 8).and_then(|some| some.try_into().ok()) {
        return u64::from_le_bytes(all);
    }
    eight_at_end(bytes.get(at..).unwrap_or_default())
}

#[cold]
fn eight_at_end(rest: &[u8]) -> u64 {
    rest.iter().rev().fold(0, |eight, byte| eight << 8 | u64::from(*byte))
}

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
        reader.read(bytes);
        let renamed = reader.renamed.into_boxed_slice();
        let kernel_like = is_kernel_like(bytes);
        Self {
            slots: table.packed(),
            renamed,
            star_like: memmem::find(bytes, b"import *").is_some(),
            launch_like: has_launch(bytes),
            kernel_like,
            kernel_indexed: kernel_like && has_table_of_kernels(bytes),
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
    fn an_import_below_prose_is_one() {
        let words = Words::of("# Only here.\nfrom a import b\n# from c through d.\ne = 1\n");
        assert!(words.has(Word::of("b").of_owner(Word::of("a"))) && !words.has(Word::of("e").as_attribute()));
    }

    #[test]
    fn words_are_the_same_wherever_blocks_end() {
        let (long, far) = ("long_".repeat(30), " ".repeat(90));
        let text = format!(
            "x = a.b.c\nfrom m.n import f as g  # i\nd = {long}.e\n'{far}h'.{far}j = k.{long}\nl{far}as{far}o\nqué.r = 12.5e3 {long}"
        );
        let words = Words::of(&text);
        let word = Word::of;
        for wanted in [
            word("qué"),
            word("e").of_owner(word(&long)),
            word("h").as_attribute(),
            word("j").of_owner(word("h")),
        ] {
            assert!(words.has(wanted));
        }
        let renamed = [("c", "x"), ("f", "g"), ("e", "d"), (&long, "j"), ("l", "o")];
        assert_eq!(*words.renamed, renamed.map(|(old, new)| (word(old), word(new))));
        for shift in 1..200 {
            assert_eq!(Words::of(&format!("{}{text}", " ".repeat(shift))), words, "{shift}");
            assert_eq!(Words::of(&format!("{text}{}", "\n".repeat(shift))), words, "{shift}");
        }
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
