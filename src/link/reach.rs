//! Which files a question concerns, told by their words alone, so that the others are never parsed.
//!
//! Every look at "all files" goes through here. The rule that keeps it sound: what the look would find in a file, that file
//! cannot say without one of the words asked for. Names may travel (an alias, a container, a function that hands a kernel
//! back), so the words grow with what is found, over at most [`HANDS`] steps; lines that bind a class or an instance are read
//! as text. What travels further, from a file with none of these words, is not seen; nor is a function of a module that is
//! looked up by a string (`getattr(module, "f")`): a function is asked for by its name next to that of a module.

mod holders;
mod lines;
mod mentioned;
mod outside;
mod sought;
mod speakers;

use super::resolve::Resolver;
use crate::source::FileId;
use crate::words::{Word, Words};
pub(crate) use holders::holders;
pub(crate) use lines::{Opened, line_before, words_at};
pub(crate) use mentioned::{Item, Mentioned};
pub(crate) use outside::{Spoken, carriers};
use rayon::prelude::*;
use rustc_hash::FxHashSet;
pub(crate) use sought::SoughtNames;
pub(crate) use speakers::{Said, Speakers, read_of, speakers_of};
use std::sync::atomic::{AtomicBool, Ordering};

/// Names travel over at most so many hands: a kernel in a table, the table in an attribute, a function that hands that out.
const HANDS: usize = 4;

/// Files that some question concerned.
#[derive(Debug)]
pub(crate) struct Read(Vec<AtomicBool>);

impl Read {
    pub(crate) fn new(files: usize) -> Self {
        Self((0..files).map(|_| AtomicBool::new(false)).collect())
    }

    /// These files, sorted.
    pub(crate) fn files(&self) -> Vec<FileId> {
        let read = self.0.iter().enumerate().filter(|(_, read)| read.load(Ordering::Relaxed));
        read.map(|(i, _)| FileId(i as u32)).collect()
    }
}

impl Resolver<'_> {
    /// Files that pass a test, sorted. Their facts are made, in parallel, the largest first.
    pub(crate) fn files_where(&self, test: impl Fn(FileId, &Words) -> bool + Sync) -> Vec<FileId> {
        let all = self.files.par_iter().enumerate();
        let found: Vec<FileId> = all
            .map(|(i, file)| (FileId(i as u32), file))
            .filter(|(id, file)| test(*id, &file.words))
            .map(|(id, _)| id)
            .collect();
        let mut order: Vec<FileId> = found
            .iter()
            .copied()
            .filter(|id| !self.read.0[id.index()].load(Ordering::Relaxed))
            .collect();
        order.sort_by_key(|id| std::cmp::Reverse(self.files[id.index()].source.text.len()));
        order.into_par_iter().with_max_len(1).for_each(|id| {
            self.read.0[id.index()].store(true, Ordering::Relaxed);
            let _ = self.facts(id).functions.len();
        });
        found
    }

    /// Files that hold one of the words, sorted.
    pub(crate) fn files_with(&self, words: &FxHashSet<Word>) -> Vec<FileId> {
        self.files_where(|_, has| has.has_any(words))
    }
}
