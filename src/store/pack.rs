//! A pack: many texts' facts and words in one file, each part with its place and a checksum.
//!
//! `opwright`, fingerprint · the parts · the index: (key, words, facts) for each text · how many, checksum. A part is read when
//! it is asked for. Whatever was cut, changed or written by another version is not there, as if it had never been kept.

use super::Key;
use rustc_hash::FxHashMap;
use std::io;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const MAGIC: &[u8; 8] = b"opwright";
/// Key, and two parts of place, length and checksum.
const ENTRY: usize = 16 + 2 * 24;
/// Count and checksum of the index.
const END: usize = 16;

/// What is kept of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Its words.
    Words,
    /// Its facts.
    Facts,
}

/// Bytes that are read a piece at a time.
pub trait Bytes: Send + Sync {
    /// How many there are.
    fn size(&self) -> u64;
    /// So many of them from a place on; `None` if they are not there.
    fn read(&self, at: u64, length: usize) -> Option<Vec<u8>>;
}

/// Where a part stands; nothing is kept when it has no length.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    at: u64,
    length: u64,
    sum: u64,
}

type Entry = [Piece; 2];

/// A pack that is open for reading.
pub struct Pack {
    bytes: Box<dyn Bytes>,
    index: FxHashMap<Key, Entry>,
}

impl Pack {
    /// The pack in these bytes, if they are one that this version has written.
    pub fn open(bytes: Box<dyn Bytes>, fingerprint: u64) -> Option<Self> {
        let head = bytes.read(0, 16)?;
        if head != [*MAGIC, fingerprint.to_le_bytes()].concat() {
            return None;
        }
        let end_at = bytes.size().checked_sub(END as u64)?;
        let [count, sum] = numbers(&bytes.read(end_at, END)?)?;
        let length = usize::try_from(count).ok()?.checked_mul(ENTRY)?;
        let index = bytes.read(end_at.checked_sub(length as u64)?, length)?;
        if xxh3_64_with_seed(&index, fingerprint) != sum {
            return None;
        }
        let index = index.as_chunks::<ENTRY>().0.iter().map(read_entry);
        let index = index.collect::<Option<_>>()?;
        Some(Self { bytes, index })
    }

    /// Whether a part of a text is kept.
    pub fn has(&self, key: Key, part: Part) -> bool {
        self.piece(key, part).is_some()
    }

    /// The bytes of a part; `Some(Err)` when they are damaged.
    pub fn read(&self, key: Key, part: Part) -> Option<Result<Vec<u8>, Damaged>> {
        let piece = self.piece(key, part)?;
        let bytes = usize::try_from(piece.length)
            .ok()
            .and_then(|length| self.bytes.read(piece.at, length));
        Some(bytes.filter(|bytes| xxh3_64(bytes) == piece.sum).ok_or(Damaged))
    }

    /// The texts of which something is kept, sorted.
    pub fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = self.index.keys().copied().collect();
        keys.sort_unstable();
        keys
    }

    /// How many bytes it has.
    pub fn size(&self) -> u64 {
        self.bytes.size()
    }

    fn piece(&self, key: Key, part: Part) -> Option<Piece> {
        let piece = self.index.get(&key)?[part as usize];
        (piece.length > 0).then_some(piece)
    }
}

/// What was kept has changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

fn numbers<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let (eights, rest) = bytes.as_chunks::<8>();
    let mut numbers = [0; N];
    if eights.len() != N || !rest.is_empty() {
        return None;
    }
    for (number, eight) in numbers.iter_mut().zip(eights) {
        *number = u64::from_le_bytes(*eight);
    }
    Some(numbers)
}

fn read_entry(entry: &[u8; ENTRY]) -> Option<(Key, Entry)> {
    let (key, pieces) = entry.split_first_chunk()?;
    let pieces: [u64; 6] = numbers(pieces)?;
    let piece = |of: usize| Piece {
        at: pieces[of],
        length: pieces[of + 1],
        sum: pieces[of + 2],
    };
    Some((Key(u128::from_le_bytes(*key)), [piece(0), piece(3)]))
}

/// Writes a pack from its beginning to its end.
pub(super) struct Writer<'w> {
    out: &'w mut dyn io::Write,
    fingerprint: u64,
    at: u64,
    index: Vec<(Key, Entry)>,
}

impl<'w> Writer<'w> {
    /// Begins a pack.
    pub(super) fn new(out: &'w mut dyn io::Write, fingerprint: u64) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        out.write_all(&fingerprint.to_le_bytes())?;
        Ok(Self {
            out,
            fingerprint,
            at: 16,
            index: Vec::new(),
        })
    }

    /// Adds a text with its words and facts, as far as they are known. No text may be added twice.
    pub(super) fn add(&mut self, key: Key, [words, facts]: &[Option<Vec<u8>>; 2]) -> io::Result<()> {
        let entry = [self.part(words.as_deref())?, self.part(facts.as_deref())?];
        self.index.push((key, entry));
        Ok(())
    }

    fn part(&mut self, bytes: Option<&[u8]>) -> io::Result<Piece> {
        let Some(bytes) = bytes else {
            return Ok(Piece::default());
        };
        self.out.write_all(bytes)?;
        let at = self.at;
        self.at += bytes.len() as u64;
        Ok(Piece {
            at,
            length: bytes.len() as u64,
            sum: xxh3_64(bytes),
        })
    }

    /// Ends the pack: without this, nothing in it is found.
    pub(super) fn finish(self) -> io::Result<()> {
        let mut index = Vec::with_capacity(self.index.len() * ENTRY);
        for (key, entry) in &self.index {
            index.extend(key.0.to_le_bytes());
            for piece in entry {
                index.extend([piece.at, piece.length, piece.sum].into_iter().flat_map(u64::to_le_bytes));
            }
        }
        self.out.write_all(&index)?;
        self.out.write_all(&(self.index.len() as u64).to_le_bytes())?;
        self.out.write_all(&xxh3_64_with_seed(&index, self.fingerprint).to_le_bytes())
    }
}
