//! One entry of `traceEvents`, its wanted fields borrowed from the window.

use super::scan::{Scan, Scanned};

/// What an event is about, as far as that matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Category {
    /// An op, as the dispatcher or `RecordFunction` tells it.
    Op,
    /// A Python frame.
    Frame,
    /// A call of the GPU's runtime or driver.
    Call,
    /// A kernel on the GPU.
    Kernel,
    /// The arrow from a forward op to its backward node.
    Backward,
    /// A copy or a fill on the GPU.
    Copy,
    /// Anything else, or not said yet.
    #[default]
    Other,
}

impl Category {
    fn of(name: &[u8]) -> Self {
        match name {
            b"cpu_op" => Self::Op,
            b"python_function" => Self::Frame,
            b"kernel" => Self::Kernel,
            b"fwdbwd" => Self::Backward,
            b"gpu_memcpy" | b"gpu_memset" => Self::Copy,
            _ if name.ends_with(b"_runtime") || name.ends_with(b"_driver") => Self::Call,
            _ => Self::Other,
        }
    }
}

/// Fields as they are written; an empty slice is an absent field.
#[derive(Clone, Debug, Default)]
pub(super) struct Event<'a> {
    pub(super) phase: u8,
    pub(super) category: Category,
    /// Inside the quotes.
    pub(super) name: Option<&'a [u8]>,
    pub(super) pid: &'a [u8],
    pub(super) tid: &'a [u8],
    pub(super) ts: &'a [u8],
    pub(super) dur: &'a [u8],
    pub(super) id: &'a [u8],
    pub(super) args: Args<'a>,
    /// A field has a type that it never has: it was left out.
    pub(super) wrong_type: bool,
}

/// Wanted members of `args`.
#[derive(Clone, Debug, Default)]
pub(super) struct Args<'a> {
    pub(super) correlation: &'a [u8],
    pub(super) external: &'a [u8],
    pub(super) sequence: &'a [u8],
    pub(super) forward_thread: &'a [u8],
    pub(super) dims: &'a [u8],
    pub(super) types: &'a [u8],
    pub(super) strides: &'a [u8],
    /// The kernel's name on a launching call (AMD).
    pub(super) kernel: Option<&'a [u8]>,
    pub(super) grid: &'a [u8],
    pub(super) block: &'a [u8],
}

impl<'a> Event<'a> {
    /// Reads one event; the scan stands at its `{`.
    pub(super) fn read(scan: &mut Scan<'a>) -> Scanned<Self> {
        let mut event = Self::default();
        let mut more = scan.open_object()?;
        while more {
            let key = scan.key()?;
            event.field(key, scan)?;
            more = scan.next(b'}')?;
        }
        Ok(event)
    }

    #[inline]
    fn field(&mut self, key: &[u8], scan: &mut Scan<'a>) -> Scanned<()> {
        match key {
            b"ph" => self.phase = self.word(scan)?.and_then(|word| word.first().copied()).unwrap_or(0),
            b"cat" => self.category = self.word(scan)?.map_or(Category::Other, Category::of),
            b"name" => self.name = self.word(scan)?,
            b"pid" => self.pid = scan.value()?,
            b"tid" => self.tid = scan.value()?,
            b"ts" => self.ts = scan.value()?,
            b"dur" => self.dur = scan.value()?,
            b"id" => self.id = scan.value()?,
            b"args" if self.category != Category::Frame => {
                if scan.peek()? == b'{' {
                    self.args = Args::read(scan)?;
                } else {
                    let value = scan.value()?;
                    self.wrong_type |= value != b"null";
                }
            }
            _ => _ = scan.value()?,
        }
        Ok(())
    }

    /// A string; another value is stepped over and counted.
    #[inline]
    fn word(&mut self, scan: &mut Scan<'a>) -> Scanned<Option<&'a [u8]>> {
        if scan.peek()? == b'"' {
            return scan.string().map(Some);
        }
        self.wrong_type |= scan.value()? != b"null";
        Ok(None)
    }
}

impl<'a> Args<'a> {
    fn read(scan: &mut Scan<'a>) -> Scanned<Self> {
        let mut args = Self::default();
        let mut more = scan.open_object()?;
        while more {
            let key = scan.key()?;
            let place = match key {
                b"correlation" => &mut args.correlation,
                b"External id" | b"external id" => &mut args.external,
                b"Sequence number" => &mut args.sequence,
                b"Fwd thread id" => &mut args.forward_thread,
                b"Input Dims" => &mut args.dims,
                b"Input type" => &mut args.types,
                b"Input Strides" => &mut args.strides,
                b"grid" => &mut args.grid,
                b"block" => &mut args.block,
                b"kernel" if scan.peek()? == b'"' => {
                    args.kernel = Some(scan.string()?);
                    more = scan.next(b'}')?;
                    continue;
                }
                _ => {
                    scan.value()?;
                    more = scan.next(b'}')?;
                    continue;
                }
            };
            *place = scan.value()?;
            more = scan.next(b'}')?;
        }
        Ok(args)
    }
}
