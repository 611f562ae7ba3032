//! What earlier runs found out, by the content of texts: words and facts that need not be made again, and reports.
//!
//! Facts and words depend on a text alone (and on whether it is a stub): on no settings, no knowledge, no other file. So what is
//! kept never becomes wrong, only unused; and another version of the program, whose facts may differ, reads none of it
//! ([`FINGERPRINT`]). Where the packs lie, and how they are written, is up to a [`Disk`].

mod pack;
mod report;
#[cfg(test)]
mod tests;

pub use pack::{Bytes, Pack};
pub use report::{Identity, Printed, Report};

use crate::facts::Facts;
use crate::program::ProgramFile;
use crate::source::Source;
use crate::words::Words;
use pack::{Damaged, Part, Writer};
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// Names the version and the code that makes facts: see `build.rs`.
pub const FINGERPRINT: u64 = parse(env!("OPWRIGHT_FORMAT"));

const fn parse(digits: &str) -> u64 {
    let (bytes, mut number, mut at) = (digits.as_bytes(), 0_u64, 0);
    while at < bytes.len() {
        number = number * 10 + (bytes[at] - b'0') as u64;
        at += 1;
    }
    number
}

/// Names a text by its content: equal texts say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(u128);

impl Key {
    /// The key of a text. Stubs are read in another way than modules, so the same text has two.
    pub fn of(source: &Source) -> Self {
        let is_stub = source.path.ends_with(".pyi");
        Self(xxh3_128_with_seed(source.text.as_bytes(), u64::from(is_stub)))
    }
}

/// The packs of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// What most runs need: rewritten rarely.
    Main,
    /// What was found since: small, and rewritten often.
    Recent,
}

/// Where packs are written.
pub trait Disk {
    /// Replaces a pack by what `write` writes: whole, or not at all.
    fn replace(&self, pack: Which, write: &mut dyn FnMut(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()>;
    /// Removes a pack, if it is there.
    fn remove(&self, pack: Which);
}

/// What earlier runs found out.
pub struct Store {
    main: Option<Pack>,
    recent: Option<Pack>,
    /// Something was asked for and not there.
    missed: AtomicBool,
    /// Something was there and cannot be read.
    damaged: AtomicBool,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let texts = |pack: &Option<Pack>| pack.as_ref().map_or(0, |pack| pack.keys().len());
        write!(f, "Store({} and {} texts)", texts(&self.main), texts(&self.recent))
    }
}

/// Files whose facts are turned into bytes at once: what is held in memory on the way to the disk.
const AT_ONCE: usize = 64;
/// The recent pack is merged into the main one when it would be larger than this part of it.
const MERGED_FROM: u64 = 4;

/// A text with the bytes of its words and its facts.
type Known = (Key, [Option<Vec<u8>>; 2]);

impl Store {
    /// What these packs hold.
    pub fn new(main: Option<Pack>, recent: Option<Pack>) -> Self {
        Self {
            main,
            recent,
            missed: AtomicBool::new(false),
            damaged: AtomicBool::new(false),
        }
    }

    /// The words of a text, if they are kept.
    pub fn words(&self, key: Key) -> Option<Words> {
        self.read(key, Part::Words, Words::from_bytes)
    }

    /// The facts of a text, if they are kept.
    pub fn facts(&self, key: Key) -> Option<Facts> {
        self.read(key, Part::Facts, |bytes| postcard::from_bytes(bytes).ok())
    }

    fn read<T>(&self, key: Key, part: Part, decode: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        for pack in self.packs() {
            match pack.read(key, part) {
                None => {}
                Some(Ok(bytes)) => match decode(&bytes) {
                    Some(found) => return Some(found),
                    None => self.damaged.store(true, Ordering::Relaxed),
                },
                Some(Err(Damaged)) => self.damaged.store(true, Ordering::Relaxed),
            }
        }
        self.missed.store(true, Ordering::Relaxed);
        None
    }

    fn packs(&self) -> impl Iterator<Item = &Pack> {
        self.main.iter().chain(&self.recent)
    }

    fn has(&self, key: Key, part: Part) -> bool {
        self.packs().any(|pack| pack.has(key, part))
    }

    /// Keeps what was found out about these files, if anything is new. An error leaves what was kept before.
    pub fn save(&self, files: &[ProgramFile], disk: &dyn Disk) -> io::Result<()> {
        let damaged = self.damaged.load(Ordering::Relaxed);
        if !damaged && !self.missed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let (Some(main), false) = (&self.main, damaged) else {
            return self.save_all(files, disk);
        };
        let known: Vec<Known> = self.texts(files).par_iter().filter_map(|text| self.news(text)).collect();
        if known.is_empty() {
            return Ok(());
        }
        let new: usize = known.iter().flat_map(|(_, parts)| parts.iter().flatten()).map(Vec::len).sum();
        let recent = self.recent.as_ref().map_or(0, Pack::size);
        if (recent + new as u64) * MERGED_FROM > main.size() {
            self.save_all(files, disk)
        } else {
            self.save_recent(known, disk)
        }
    }

    /// The files by their texts, in order, no text twice. A file that cannot be read has no text.
    fn texts<'f>(&self, files: &'f [ProgramFile]) -> Vec<(Key, &'f ProgramFile)> {
        let mut keys: Vec<(Key, &ProgramFile)> = files
            .par_iter()
            .filter(|file| !file.source.text.is_empty())
            .map(|file| (Key::of(&file.source), file))
            .collect();
        let mut seen = FxHashSet::default();
        keys.retain(|(key, _)| seen.insert(*key));
        keys
    }

    /// What is not kept of a text.
    fn news(&self, &(key, file): &(Key, &ProgramFile)) -> Option<Known> {
        let words = (!self.has(key, Part::Words)).then(|| file.words.to_bytes());
        let facts = file.facts.made().filter(|_| !self.has(key, Part::Facts)).and_then(bytes_of);
        (words.is_some() || facts.is_some()).then_some((key, [words, facts]))
    }

    /// Writes the main pack anew: what is known of these files, and nothing of others.
    fn save_all(&self, files: &[ProgramFile], disk: &dyn Disk) -> io::Result<()> {
        let texts = self.texts(files);
        disk.replace(Which::Main, &mut |out| {
            let mut writer = Writer::new(out, FINGERPRINT)?;
            for some in texts.chunks(AT_ONCE) {
                let known: Vec<Known> = some.par_iter().map(|text| self.known(text)).collect();
                known.iter().try_for_each(|(key, parts)| writer.add(*key, parts))?;
            }
            writer.finish()
        })?;
        disk.remove(Which::Recent);
        Ok(())
    }

    /// All that is known of a text. What was damaged is made of what is in memory.
    fn known(&self, &(key, file): &(Key, &ProgramFile)) -> Known {
        let fresh = self.damaged.load(Ordering::Relaxed);
        let kept = |part: Part| self.packs().find_map(|pack| pack.read(key, part)?.ok());
        let words = if fresh { None } else { kept(Part::Words) };
        let facts = match file.facts.made() {
            Some(made) if fresh => bytes_of(made),
            Some(made) => kept(Part::Facts).or_else(|| bytes_of(made)),
            None => kept(Part::Facts),
        };
        (key, [Some(words.unwrap_or_else(|| file.words.to_bytes())), facts])
    }

    /// Writes the recent pack anew: what it had, and what is new.
    fn save_recent(&self, known: Vec<Known>, disk: &dyn Disk) -> io::Result<()> {
        let mut all: BTreeMap<Key, [Option<Vec<u8>>; 2]> = known.into_iter().collect();
        for (pack, key) in self
            .recent
            .iter()
            .flat_map(|pack| pack.keys().into_iter().map(move |key| (pack, key)))
        {
            let parts = all.entry(key).or_default();
            for (have, part) in parts.iter_mut().zip([Part::Words, Part::Facts]) {
                if have.is_none() {
                    *have = pack.read(key, part).and_then(Result::ok);
                }
            }
        }
        disk.replace(Which::Recent, &mut |out| {
            let mut writer = Writer::new(out, FINGERPRINT)?;
            all.iter().try_for_each(|(key, parts)| writer.add(*key, parts))?;
            writer.finish()
        })
    }
}

fn bytes_of(facts: &Facts) -> Option<Vec<u8>> {
    postcard::to_stdvec(facts).ok()
}
