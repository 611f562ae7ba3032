//! Names that many files are asked for at once.

use crate::facts::Name;
use crate::link::resolve::Resolver;
use crate::source::FileId;
use crate::words::{Sought, Word};
use rustc_hash::FxHashMap;

/// Names to look for: a file's words tell which of them it may have, so that not each name of the file is compared.
pub(crate) struct SoughtNames<'n> {
    words: Sought<Vec<&'n str>>,
    /// What is no word: `<lambda>`.
    odd: Vec<&'n str>,
}

impl<'n> FromIterator<&'n str> for SoughtNames<'n> {
    fn from_iter<I: IntoIterator<Item = &'n str>>(names: I) -> Self {
        let is_word = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let (words, odd): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| is_word(name));
        let mut by_word: FxHashMap<Word, Vec<&str>> = FxHashMap::default();
        for name in words {
            by_word.entry(Word::of(name)).or_default().push(name);
        }
        let words = Sought::new(by_word);
        Self { words, odd }
    }
}

impl SoughtNames<'_> {
    /// Those that a file has, in no order.
    pub(crate) fn of_file<'s>(&'s self, resolver: &'s Resolver<'_>, file: FileId) -> impl Iterator<Item = Name> + 's {
        let names = &resolver.facts(file).names;
        let words = self.words.in_text(&resolver.files[file.index()].words).flatten();
        words.chain(&self.odd).filter_map(|name| names.find(name))
    }

    /// For each name of a file, whether it is one of them.
    pub(crate) fn flags(&self, resolver: &Resolver<'_>, file: FileId) -> Vec<bool> {
        let mut flags = vec![false; resolver.facts(file).names.len()];
        self.of_file(resolver, file).for_each(|name| flags[name.index()] = true);
        flags
    }
}
