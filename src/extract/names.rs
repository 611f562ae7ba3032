//! Interned strings, and for each what it is in the body that is in work.

use crate::facts::{FunctionId, Name};
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// What a name is in the body that declared it: a local's slot, or [`OUTER`].
pub(super) type Slot = u32;
/// A name declared `global` or `nonlocal`.
pub(super) const OUTER: Slot = u32::MAX;

/// An open-addressing table from text to [`Name`], so that each text is kept once.
#[derive(Default)]
pub(super) struct Interner {
    texts: Vec<Box<str>>,
    /// Index into `texts` plus one; 0 is free. The length is a power of two.
    table: Vec<u32>,
    /// Per name: the body that binds it, of those in work the innermost, and its slot there.
    owners: Vec<Owner>,
}

/// A name's role in a body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) function: Option<FunctionId>,
    pub(super) slot: Slot,
}

impl Interner {
    pub(super) fn intern(&mut self, text: &str) -> Name {
        if self.texts.len() * 2 >= self.table.len() {
            self.grow();
        }
        let mask = self.table.len() - 1;
        let mut at = hash(text) as usize & mask;
        while let Some(index) = (self.table[at] as usize).checked_sub(1) {
            if *self.texts[index] == *text {
                return Name(index as u32);
            }
            at = (at + 1) & mask;
        }
        self.texts.push(text.into());
        self.owners.push(Owner { function: None, slot: 0 });
        self.table[at] = self.texts.len() as u32;
        Name(self.texts.len() as u32 - 1)
    }

    fn grow(&mut self) {
        let size = (self.table.len() * 2).max(256);
        self.table.clear();
        self.table.resize(size, 0);
        for (index, text) in self.texts.iter().enumerate() {
            let mut at = hash(text) as usize & (size - 1);
            while self.table[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.table[at] = index as u32 + 1;
        }
    }

    pub(super) fn text(&self, name: Name) -> &str {
        &self.texts[name.index()]
    }

    pub(super) fn owner(&self, name: Name) -> Owner {
        self.owners[name.index()]
    }

    pub(super) fn set_owner(&mut self, name: Name, owner: Owner) {
        self.owners[name.index()] = owner;
    }

    pub(super) fn finish(self) -> Vec<Box<str>> {
        let mut texts = self.texts;
        texts.shrink_to_fit();
        texts
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    // The low bits choose the place; Fx mixes best into the high ones.
    hasher.finish().rotate_left(26)
}
