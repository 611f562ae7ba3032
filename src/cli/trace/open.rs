//! Trace files on disk: a file, or a folder of ranks; gzipped or not; with a progress bar on a terminal.

use crate::project::Failure;
use crate::project::files::reason;
use crate::trace::{self, Recording};
use flate2::read::MultiGzDecoder;
use std::cell::Cell;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The traces that a path names, sorted.
pub(super) fn traces(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let about = |error: std::io::Error| Failure(format!("{}: {}", path.display(), reason(&error)));
    if !std::fs::metadata(path).map_err(about)?.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(about)? {
        let file = entry.map_err(about)?.path();
        let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if file.is_file() && (name.ends_with(".json") || name.ends_with(".json.gz")) {
            found.push(file);
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(Failure(format!("{}: the folder holds no .json or .json.gz", path.display())));
    }
    Ok(found)
}

/// Reads one trace.
pub(super) fn read(path: &Path) -> Result<Recording, Failure> {
    let fail = |why: String| Failure(format!("{}: {why}", path.display()));
    let about = |error: std::io::Error| fail(reason(&error));
    let meta = std::fs::metadata(path).map_err(about)?;
    if meta.is_dir() {
        return Err(fail("a folder, where one trace is wanted".into()));
    }
    let consumed = Rc::new(Cell::new(0));
    let counted = Counted {
        file: File::open(path).map_err(about)?,
        consumed: consumed.clone(),
    };
    let mut input = BufReader::with_capacity(1 << 17, counted);
    let gzipped = input.fill_buf().map_err(about)?.starts_with(b"\x1f\x8b");
    let mut progress = Progress::new(path, meta.len());
    let mut watch = |_: u64| progress.show(consumed.get());
    let read = if gzipped {
        trace::read(&mut Whole(MultiGzDecoder::new(input)), &mut watch)
    } else {
        trace::read(&mut input, &mut watch)
    };
    progress.clear();
    read.map_err(|error| fail(error.to_string()))
}

/// A gzip stream whose faults are told apart: cut off (as far as it goes) from damaged (no figure of it can be trusted).
struct Whole<R>(R);

impl<R: Read> Read for Whole<R> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::Interrupted => error,
            kind => std::io::Error::new(kind, format!("the gzip data is damaged ({error})")),
        })
    }
}

/// Counts the bytes of the file as it stands on disk.
struct Counted {
    file: File,
    consumed: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(bytes)?;
        self.consumed.set(self.consumed.get() + count as u64);
        Ok(count)
    }
}

/// A bar on standard error, if that is a terminal, once reading has taken a moment.
struct Progress {
    name: String,
    total: u64,
    start: Instant,
    last: Option<Instant>,
    wanted: bool,
}

impl Progress {
    fn new(path: &Path, total: u64) -> Self {
        Self {
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            total: total.max(1),
            start: Instant::now(),
            last: None,
            wanted: std::io::stderr().is_terminal(),
        }
    }

    fn show(&mut self, consumed: u64) {
        const WIDTH: usize = 32;
        let now = Instant::now();
        let soon = now - self.start < Duration::from_millis(400);
        let again = self.last.is_some_and(|last| now - last < Duration::from_millis(100));
        if !self.wanted || soon || again {
            return;
        }
        self.last = Some(now);
        let part = (consumed as f64 / self.total as f64).min(1.0);
        let full = (part * WIDTH as f64) as usize;
        let left = (now - self.start).as_secs_f64() * (1.0 - part) / part.max(1e-6);
        let bar = "█".repeat(full) + &"░".repeat(WIDTH - full);
        let mega = |bytes: u64| bytes / 1_000_000;
        let line = format!(
            "\r{bar} {:3.0} %  {}/{} MB  {left:.0} s left  {}\x1b[K",
            part * 100.0,
            mega(consumed),
            mega(self.total),
            self.name
        );
        let mut stderr = std::io::stderr().lock();
        let _ = stderr.write_all(line.as_bytes()).and_then(|()| stderr.flush());
    }

    fn clear(&self) {
        if self.last.is_some() {
            let _ = std::io::stderr().lock().write_all(b"\r\x1b[K");
        }
    }
}
