//! Noun 0: which words a text holds. Decides, before anything is parsed, whether a file can matter.
//!
//! A word is a run of letters, digits and underscores, wherever it stands: in code, strings and comments alike. So a name
//! that the code of a file speaks of is always a word of its text, and a file without the word need not be read further.

use memchr::memmem;

/// The words of a text, by hash. Two words may share a hash: `has` may say yes too often, never no wrongly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// Open addressing; 0 is an empty slot. The length is a power of two.
    slots: Box<[u32]>,
    /// Some `]` is followed by `(`: what a launch looks like.
    pub launch_like: bool,
    /// Some word has `kernel` in it, in any case.
    pub kernel_like: bool,
}

/// A word, hashed once and looked for in many texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Word(u32);

const SEED: u64 = 0x51_7c_c1_b7_27_22_0a_95;

fn step(hash: u64, byte: u8) -> u64 {
    (hash.rotate_left(5) ^ u64::from(byte)).wrapping_mul(SEED)
}

fn finish(hash: u64) -> u32 {
    ((hash >> 32) as u32).max(1)
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
        Self(finish(word.bytes().fold(0, step)))
    }
}

impl Words {
    /// Reads a text once.
    pub fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut table = Table::new(bytes.len());
        let mut at = 0;
        while at < bytes.len() {
            if !IS_WORD[bytes[at] as usize] {
                at += 1;
                continue;
            }
            let mut hash = 0;
            let is_number = bytes[at].is_ascii_digit();
            while at < bytes.len() && IS_WORD[bytes[at] as usize] {
                hash = step(hash, bytes[at]);
                at += 1;
            }
            if !is_number {
                table.insert(finish(hash));
            }
        }
        Self {
            slots: table.slots.into_boxed_slice(),
            launch_like: has_launch(bytes),
            kernel_like: [&b"kernel"[..], b"Kernel", b"KERNEL"]
                .iter()
                .any(|k| memmem::find(bytes, k).is_some()),
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

fn has_launch(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b']', bytes).any(|at| {
        let rest = &bytes[at + 1..];
        let blank = rest.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        rest.get(blank) == Some(&b'(')
    })
}

struct Table {
    slots: Vec<u32>,
    used: usize,
}

impl Table {
    /// Room for the words of a text of so many bytes, as texts go.
    fn new(bytes: usize) -> Self {
        Self {
            slots: vec![0; (bytes / 16).next_power_of_two().clamp(64, 4096)],
            used: 0,
        }
    }

    fn insert(&mut self, hash: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != 0 {
            if self.slots[at] == hash {
                return;
            }
            at = (at + 1) & mask;
        }
        self.slots[at] = hash;
        self.used += 1;
        if self.used * 2 > self.slots.len() {
            self.grow();
        }
    }

    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.slots = vec![0; old.len() * 2];
        let mask = self.slots.len() - 1;
        for hash in old.into_iter().filter(|hash| *hash != 0) {
            let mut at = hash as usize & mask;
            while self.slots[at] != 0 {
                at = (at + 1) & mask;
            }
            self.slots[at] = hash;
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
    fn a_text_of_many_words_keeps_all() {
        let all: Vec<String> = (0..20_000).map(|i| format!("name_{i}")).collect();
        let words = Words::of(&all.join(" "));
        assert!(all.iter().all(|w| words.has(Word::of(w))));
        assert!(!words.has(Word::of("name_20000")));
    }

    #[test]
    fn launches_look_like_a_bracket_and_a_parenthesis() {
        assert!(Words::of("k[grid](x)").launch_like && Words::of("k[(1,)] (x)").launch_like);
        assert!(!Words::of("k[grid], (x)").launch_like);
        assert!(Words::of("MyKernels").kernel_like && !Words::of("kern el").kernel_like);
    }

    #[test]
    fn an_empty_text_has_no_word() {
        assert!(!has("", "a") && !Words::default().has(Word::of("a")));
    }
}
