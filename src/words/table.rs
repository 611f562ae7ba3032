//! Hashes in slots.

/// Where words are gathered; used again for text after text.
#[derive(Default)]
pub(super) struct Table {
    /// What was inserted last of the hashes that share a place: most words of a text were there before.
    recent: Vec<u32>,
    /// What is not found there; some hashes more than once.
    found: Vec<u32>,
    length: usize,
}

impl Table {
    /// Makes room for the words of a text of so many bytes, as texts go.
    pub(super) fn start(&mut self, bytes: usize) {
        self.recent.clear();
        self.recent.resize((bytes / 8).next_power_of_two().clamp(64, 8192), 0);
        self.length = 0;
    }

    pub(super) fn insert(&mut self, hash: u32) {
        self.insert_each([(hash, true)]);
    }

    /// Inserts hashes, each under a condition, without a branch.
    #[inline(always)]
    pub(super) fn insert_each<const N: usize>(&mut self, hashes: [(u32, bool); N]) {
        if self.length + N > self.found.len() {
            self.grow();
        }
        let mask = self.recent.len() - 1;
        let room = &mut self.found[self.length..self.length + N];
        let mut count = 0;
        for (hash, wanted) in hashes {
            let recent = &mut self.recent[hash as usize & mask];
            let is_new = wanted & (*recent != hash);
            *recent = if wanted { hash } else { *recent };
            room[count % N] = hash;
            count += usize::from(is_new);
        }
        self.length += count;
    }

    #[cold]
    fn grow(&mut self) {
        self.found.resize((self.found.len() * 2).max(1024), 0);
    }

    /// What was gathered, in as little room as finds it quickly.
    pub(super) fn packed(&self) -> Box<[u32]> {
        let found = &self.found[..self.length];
        let (packed, count) = packed(found, found.len());
        // Hashes that take turns in a place are found again and again.
        if room(count) < packed.len() {
            self::packed(found, count).0
        } else {
            packed
        }
    }
}

/// Hashes in slots that have room for so many, and how many there are.
fn packed(found: &[u32], many: usize) -> (Box<[u32]>, usize) {
    let mut slots = vec![0; room(many)].into_boxed_slice();
    let count = found.iter().filter(|hash| place(&mut slots, **hash)).count();
    (slots, count)
}

/// Slots for so many hashes.
fn room(many: usize) -> usize {
    (many * 4 / 3 + 1).next_power_of_two()
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
