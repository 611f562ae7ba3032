//! A trace file in one pass, through a window of constant size.

use super::event::Event;
use super::recording::{Recording, Trouble};
use super::scan::{Halt, Scan, Scanned, text};
use std::io::ErrorKind;
use std::io::Read;

/// The window, as long as no single value is longer.
const WINDOW: usize = 1 << 18;
/// The longest value that is read.
const MOST_VALUE: usize = 1 << 26;
/// The longest value beside `traceEvents` that is kept.
const MOST_HEADER: usize = 1 << 20;

/// Why a file cannot be read: one line for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable(pub String);

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads a trace. `watch` is told how many bytes of JSON were read, after each window.
pub fn read(input: &mut dyn Read, watch: &mut dyn FnMut(u64)) -> Result<Recording, Unreadable> {
    let mut reader = Reader {
        window: Window {
            input,
            bytes: vec![0; WINDOW],
            at: 0,
            filled: 0,
            before: 0,
            ended: false,
        },
        recording: Recording::default(),
        watch,
    };
    let ended = reader.trace()?;
    let mut recording = reader.recording;
    recording.is_cut = !ended;
    recording.bytes = reader.window.before + reader.window.at as u64;
    recording.finish();
    Ok(recording)
}

struct Window<'i> {
    input: &'i mut dyn Read,
    bytes: Vec<u8>,
    /// What was consumed, and what was read.
    at: usize,
    filled: usize,
    /// Bytes of the file that left the window.
    before: u64,
    ended: bool,
}

impl Window<'_> {
    /// Reads on, keeping what was not consumed. Whether there is more.
    fn fill(&mut self) -> Result<bool, Unreadable> {
        if self.ended {
            return Ok(false);
        }
        self.bytes.copy_within(self.at..self.filled, 0);
        self.before += self.at as u64;
        self.filled -= self.at;
        self.at = 0;
        if self.filled == self.bytes.len() {
            if self.filled >= MOST_VALUE {
                return Err(self.fault("a value shorter than 64 MiB", 0));
            }
            self.bytes.resize(self.filled * 2, 0);
        }
        loop {
            match self.input.read(&mut self.bytes[self.filled..]) {
                Ok(0) => {
                    self.ended = true;
                    return Ok(false);
                }
                Ok(count) => {
                    self.filled += count;
                    return Ok(true);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A compressed file that was cut off: what came out of it is right.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    self.ended = true;
                    return Ok(false);
                }
                Err(error) => {
                    let at = self.before + self.filled as u64;
                    return Err(Unreadable(format!("cannot be read after {at} bytes of JSON: {error}")));
                }
            }
        }
    }

    fn fault(&self, expected: &str, at: usize) -> Unreadable {
        let start = at.saturating_sub(30);
        let around = &self.bytes[start..self.filled.min(at + 30)];
        let around = String::from_utf8_lossy(around).replace(['\n', '\r', '\t'], " ");
        Unreadable(format!(
            "not valid JSON at byte {}: expected {expected}, near `{around}`",
            self.before + at as u64
        ))
    }
}

struct Reader<'i> {
    window: Window<'i>,
    recording: Recording,
    watch: &'i mut dyn FnMut(u64),
}

/// What stands at the top of the file.
enum Top {
    Object,
    Events,
}

/// What a step came to: what it read, or that the file ended in it.
type Step<T> = Result<Option<T>, Unreadable>;

impl Reader<'_> {
    /// Whether the file is whole.
    fn trace(&mut self) -> Result<bool, Unreadable> {
        if self.is_binary()? {
            return Err(Unreadable("not JSON".into()));
        }
        let top = self.step(|scan| match scan.peek()? {
            b'{' => {
                scan.at += 1;
                Ok(Top::Object)
            }
            b'[' => {
                scan.at += 1;
                Ok(Top::Events)
            }
            _ => scan.bad("`{` or `[`"),
        })?;
        match top {
            None => Err(Unreadable("the file is empty".into())),
            Some(Top::Events) => Ok(self.events()? && self.nothing_follows()?),
            Some(Top::Object) => self.object(),
        }
    }

    fn is_binary(&mut self) -> Result<bool, Unreadable> {
        while self.window.filled < 3 && self.window.fill()? {}
        let start = &self.window.bytes[..self.window.filled.min(3)];
        if start == b"\xef\xbb\xbf" {
            self.window.at = 3;
            return Ok(false);
        }
        Ok(start.first().is_some_and(|&byte| byte >= 0x7f || byte == 0))
    }

    fn object(&mut self) -> Result<bool, Unreadable> {
        let mut found = false;
        let whole = self.members(&mut found)?;
        if !found {
            let why = if whole {
                "no profiler trace: it has no `traceEvents`"
            } else {
                "the file ends before `traceEvents`"
            };
            return Err(Unreadable(why.into()));
        }
        Ok(whole && self.nothing_follows()?)
    }

    fn members(&mut self, found: &mut bool) -> Result<bool, Unreadable> {
        let Some(mut more) = self.step(|scan| {
            let more = scan.peek()? != b'}';
            scan.at += usize::from(!more);
            Ok(more)
        })?
        else {
            return Ok(false);
        };
        while more {
            let Some(key) = self.step(|scan| {
                let key = text(scan.key()?);
                scan.peek()?;
                Ok(key)
            })?
            else {
                return Ok(false);
            };
            let whole = if key == "traceEvents" {
                if *found {
                    return Err(Unreadable("`traceEvents` stands there twice".into()));
                }
                *found = true;
                self.step(|scan| scan.expect(b'[', "the list of `traceEvents`"))?.is_some() && self.events()?
            } else {
                self.header(key)?
            };
            if !whole {
                return Ok(false);
            }
            match self.step(|scan| scan.next(b'}'))? {
                Some(next) => more = next,
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    fn header(&mut self, key: String) -> Result<bool, Unreadable> {
        let Some(value) = self.step(|scan| {
            let raw = scan.value()?;
            Ok(if raw.len() < MOST_HEADER {
                serde_json::from_slice(raw).ok()
            } else {
                None
            })
        })?
        else {
            return Ok(false);
        };
        if let Some(value) = value {
            self.recording.header.insert(key, value);
        }
        Ok(true)
    }

    /// The events up to the closing bracket; the opening one is consumed.
    fn events(&mut self) -> Result<bool, Unreadable> {
        let Some(mut more) = self.step(|scan| {
            let more = scan.peek()? != b']';
            scan.at += usize::from(!more);
            Ok(more)
        })?
        else {
            return Ok(false);
        };
        while more {
            match self.window_of_events()? {
                Some(next) => more = next,
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Reads all events that are whole in the window, then one more by reading on. Whether another one follows.
    fn window_of_events(&mut self) -> Step<bool> {
        loop {
            let window = &mut self.window;
            let mut scan = Scan::new(&window.bytes[..window.filled], window.at);
            let halt = loop {
                match one_event(&mut scan, &mut self.recording) {
                    Ok(true) => window.at = scan.at,
                    Ok(false) => {
                        window.at = scan.at;
                        return Ok(Some(false));
                    }
                    Err(halt) => break halt,
                }
            };
            if !self.read_on(halt)? {
                self.last_event();
                return Ok(None);
            }
        }
    }

    /// Of a file that was cut off: the event that is whole, though nothing follows it.
    fn last_event(&mut self) {
        let mut scan = Scan::new(&self.window.bytes[..self.window.filled], self.window.at);
        if scan.peek() == Ok(b'{')
            && let Ok(event) = Event::read(&mut scan)
        {
            self.window.at = scan.at;
            self.recording.take(&event);
        }
    }

    fn nothing_follows(&mut self) -> Result<bool, Unreadable> {
        loop {
            let mut scan = Scan::new(&self.window.bytes[..self.window.filled], self.window.at);
            if scan.peek().is_ok() {
                return Err(self.window.fault("the end of the file", scan.at));
            }
            self.window.at = self.window.filled;
            if !self.window.fill()? {
                return Ok(true);
            }
        }
    }

    /// One reading step over the window, repeated with a longer one while it ends too early. `None`: the file ends in it.
    fn step<T>(&mut self, mut read: impl FnMut(&mut Scan) -> Scanned<T>) -> Step<T> {
        loop {
            let mut scan = Scan::new(&self.window.bytes[..self.window.filled], self.window.at);
            match read(&mut scan) {
                Ok(value) => {
                    self.window.at = scan.at;
                    return Ok(Some(value));
                }
                Err(halt) => {
                    if !self.read_on(halt)? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn read_on(&mut self, halt: Halt) -> Result<bool, Unreadable> {
        match halt {
            Halt::Bad(expected, at) => Err(self.window.fault(expected, at)),
            Halt::More => {
                let more = self.window.fill()?;
                (self.watch)(self.window.before + self.window.filled as u64);
                Ok(more)
            }
        }
    }
}

/// Reads one entry and keeps it; whether another one follows.
fn one_event(scan: &mut Scan, recording: &mut Recording) -> Scanned<bool> {
    if scan.peek()? != b'{' {
        scan.value()?;
        let more = scan.next(b']')?;
        recording.events += 1;
        recording.trouble(Trouble::NoObject);
        return Ok(more);
    }
    let event = Event::read(scan)?;
    // Only with the comma or bracket behind it is it known to be whole and not to be read again.
    let more = scan.next(b']')?;
    recording.take(&event);
    Ok(more)
}
