//! The strings of a file, each once, and where each is.

use super::Name;
use rustc_hash::FxHasher;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::hash::Hasher;
use std::ops::Deref;

/// The strings of a file, by [`Name`].
#[derive(Clone, Default)]
pub struct NameTable {
    texts: Vec<Box<str>>,
    /// Open addressing by hash: index into `texts` plus one; 0 is free. The length is a power of two.
    places: Vec<u32>,
}

impl NameTable {
    /// The name with a text, if the file has it.
    pub fn find(&self, text: &str) -> Option<Name> {
        self.place(text).ok()
    }

    /// The name with a text; a new one if there is none.
    pub fn intern(&mut self, text: &str) -> Name {
        if self.texts.len() * 2 >= self.places.len() {
            self.place_all(size(self.texts.len() + 1));
        }
        match self.place(text) {
            Ok(name) => name,
            Err(free) => {
                self.texts.push(text.into());
                self.places[free] = self.texts.len() as u32;
                Name(self.texts.len() as u32 - 1)
            }
        }
    }

    /// Gives back memory that was kept for more.
    pub fn shrink(&mut self) {
        self.texts.shrink_to_fit();
    }

    /// The name with a text, or the free place where it would be.
    fn place(&self, text: &str) -> Result<Name, usize> {
        let Some(mask) = self.places.len().checked_sub(1) else {
            return Err(0);
        };
        let mut at = hash(text) as usize & mask;
        while let Some(index) = (self.places[at] as usize).checked_sub(1) {
            if *self.texts[index] == *text {
                return Ok(Name(index as u32));
            }
            at = (at + 1) & mask;
        }
        Err(at)
    }

    fn place_all(&mut self, size: usize) {
        self.places.clear();
        self.places.resize(size, 0);
        for (index, text) in self.texts.iter().enumerate() {
            let mut at = hash(text) as usize & (size - 1);
            while self.places[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.places[at] = index as u32 + 1;
        }
    }
}

/// Places for so many names, half of them free or more.
fn size(names: usize) -> usize {
    (names * 2 + 1).next_power_of_two().max(256)
}

fn hash(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    // The low bits choose the place; Fx mixes best into the high ones.
    hasher.finish().rotate_left(26)
}

impl Deref for NameTable {
    type Target = [Box<str>];

    fn deref(&self) -> &[Box<str>] {
        &self.texts
    }
}

impl PartialEq for NameTable {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts
    }
}

impl fmt::Debug for NameTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.texts.fmt(f)
    }
}

impl Serialize for NameTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.texts.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for NameTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut names = Self {
            texts: Vec::deserialize(deserializer)?,
            places: Vec::new(),
        };
        names.place_all(size(names.texts.len()));
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_kept_once_and_found_again() {
        let mut names = NameTable::default();
        assert_eq!(names.find("a"), None);
        let texts: Vec<String> = (0..1000).map(|i| format!("name_{i}")).collect();
        let made: Vec<Name> = texts.iter().map(|text| names.intern(text)).collect();
        let again: Vec<Name> = texts.iter().map(|text| names.intern(text)).collect();
        assert_eq!((made, names.len()), (again, 1000));
        let read: NameTable = postcard::from_bytes(&postcard::to_stdvec(&names).unwrap()).unwrap();
        for names in [names, read] {
            assert!(texts.iter().enumerate().all(|(i, text)| names.find(text) == Some(Name(i as u32))));
            assert_eq!(names.find("name_1000"), None);
        }
    }
}
