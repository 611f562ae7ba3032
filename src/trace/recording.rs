//! What is kept of a trace: a few words per event, names and shapes once.

use super::event::{Args, Category, Event};
use super::scan::{text, thousandths, whole};
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::BTreeMap;
use std::hash::Hasher;

/// Index into [`Names`].
pub(super) type Name = u32;
/// No index, no id.
pub(super) const NONE: u32 = u32::MAX;

/// One trace as it was read. Times are nanoseconds.
#[derive(Debug, Default)]
pub struct Recording {
    pub(super) names: Names,
    pub(super) shapes: Shapes,
    /// One per thread.
    pub(super) lanes: Vec<Lane>,
    pub(super) calls: Vec<Call>,
    pub(super) kernels: Vec<Kernel>,
    /// Heads and tails of the arrows from forward to backward.
    pub(super) forward: Vec<Flow>,
    pub(super) backward: Vec<Flow>,
    /// Copies and fills on the GPU: how many, and their time.
    pub(super) copies: (u64, i64),
    pub(super) header: BTreeMap<String, serde_json::Value>,
    pub(super) troubles: BTreeMap<Trouble, u64>,
    /// Events read.
    pub events: u64,
    /// Bytes of JSON read.
    pub bytes: u64,
    /// The file ends before the trace does.
    pub is_cut: bool,
    lane_ids: FxHashMap<Box<[u8]>, u32>,
    last_lane: (Vec<u8>, u32),
}

/// A thread.
#[derive(Debug, Default)]
pub(super) struct Lane {
    pub(super) ops: Vec<OpEvent>,
    pub(super) frames: Vec<Frame>,
    /// Durations that do not fit, see [`Short`].
    long: Vec<i64>,
}

/// A duration in 31 bits, or the index of a longer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Short(u32);

const LONG: u32 = 1 << 31;

impl Lane {
    fn short(&mut self, duration: i64) -> Short {
        match u32::try_from(duration) {
            Ok(value) if value < LONG => Short(value),
            _ => {
                self.long.push(duration);
                Short(LONG | (self.long.len() - 1) as u32)
            }
        }
    }

    fn duration(&self, short: Short) -> i64 {
        if short.0 & LONG == 0 {
            i64::from(short.0)
        } else {
            self.long[(short.0 & !LONG) as usize]
        }
    }

    pub(super) fn op_end(&self, op: &OpEvent) -> i64 {
        op.start.saturating_add(self.duration(op.duration))
    }

    pub(super) fn frame_end(&self, frame: &Frame) -> i64 {
        frame.start.saturating_add(self.duration(frame.duration))
    }

    /// By start, the longer first: what encloses stands before what it encloses.
    fn sort(&mut self) {
        let long = std::mem::take(&mut self.long);
        let length = |short: Short| {
            if short.0 & LONG == 0 {
                i64::from(short.0)
            } else {
                long[(short.0 & !LONG) as usize]
            }
        };
        let key = |op: &OpEvent| (op.start, std::cmp::Reverse(length(op.duration)));
        // Stable where everything is equal, so that the file's order decides.
        if !self.ops.is_sorted_by_key(key) {
            self.ops.sort_by_key(key);
        }
        let key = |frame: &Frame| (frame.start, std::cmp::Reverse(length(frame.duration)));
        if !self.frames.is_sorted_by_key(key) {
            self.frames.sort_unstable_by_key(key);
        }
        self.long = long;
    }
}

/// An op's event.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpEvent {
    pub(super) start: i64,
    pub(super) duration: Short,
    pub(super) name: Name,
    /// Index into [`Shapes`].
    pub(super) shape: u32,
    pub(super) external: u32,
    pub(super) sequence: u32,
    /// The profiler's number of the thread that ran the forward; 0 on forward events.
    pub(super) forward_thread: u32,
}

/// A Python frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) start: i64,
    pub(super) duration: Short,
    pub(super) name: Name,
}

/// A call of the GPU's runtime or driver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) correlation: u64,
    pub(super) start: i64,
    pub(super) name: Name,
    pub(super) external: u32,
    pub(super) lane: u32,
    /// The kernel that it launches, where the call says so.
    pub(super) kernel: Name,
    pub(super) config: Name,
}

/// A kernel on the GPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel {
    pub(super) start: i64,
    pub(super) duration: i64,
    pub(super) correlation: Option<u64>,
    pub(super) name: Name,
    pub(super) external: u32,
    /// Grid and block, as written.
    pub(super) config: Name,
}

/// One end of an arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Flow {
    pub(super) lane: u32,
    pub(super) start: i64,
    pub(super) id: u32,
}

/// What was wrong with events, each with the words for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trouble {
    KernelTime,
    OpTime,
    CallTime,
    FrameTime,
    BeginEnd,
    NoObject,
    WrongType,
    NoName,
    Correlation,
    Shape,
    Number,
}

impl Trouble {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::KernelTime => "kernel events without a readable duration: in no figure",
            Self::OpTime => "op events without readable times: left out, so that their kernels may count as another class",
            Self::CallTime => "runtime calls without a readable time: left out, so that their kernels count as orphans",
            Self::FrameTime => "Python frames without readable times: left out",
            Self::BeginEnd => "events of the begin and end kind: left out",
            Self::NoObject => "entries of `traceEvents` that are no objects: left out",
            Self::WrongType => "events with a field of a type that it never has: the field was left out",
            Self::NoName => "kernel, op or call events without a name",
            Self::Correlation => "kernels and calls with a `correlation` that is no whole number: taken as absent",
            Self::Shape => "op events whose `Input Dims` is no list: taken as absent",
            Self::Number => "events with an id that is no whole number: taken as absent",
        }
    }
}

impl Recording {
    /// Keeps what matters of an event.
    pub(super) fn take(&mut self, event: &Event) {
        self.events += 1;
        if event.wrong_type {
            self.trouble(Trouble::WrongType);
        }
        match (event.phase, event.category) {
            (b'X', Category::Frame) => self.take_frame(event),
            (b'X', Category::Op) => self.take_op(event),
            (b'X', Category::Call) => self.take_call(event),
            (b'X', Category::Kernel) => self.take_kernel(event),
            (b'X', Category::Copy) => {
                self.copies.0 += 1;
                self.copies.1 = self.copies.1.saturating_add(duration(event).unwrap_or(0));
            }
            (b's' | b'f', Category::Backward) => self.take_flow(event),
            (b'B' | b'E', Category::Op | Category::Frame | Category::Call | Category::Kernel) => self.trouble(Trouble::BeginEnd),
            _ => {}
        }
    }

    pub(super) fn trouble(&mut self, trouble: Trouble) {
        *self.troubles.entry(trouble).or_default() += 1;
    }

    fn take_frame(&mut self, event: &Event) {
        let (Some(start), Some(duration)) = (thousandths(event.ts), duration(event)) else {
            return self.trouble(Trouble::FrameTime);
        };
        let name = self.names.frame(event.name.unwrap_or_default());
        let lane = self.lane(event);
        let lane = &mut self.lanes[lane as usize];
        let duration = lane.short(duration);
        lane.frames.push(Frame { start, duration, name });
    }

    fn take_op(&mut self, event: &Event) {
        let (Some(start), Some(duration)) = (thousandths(event.ts), duration(event)) else {
            return self.trouble(Trouble::OpTime);
        };
        let name = self.name(event);
        let shape = self.shape(&event.args);
        let (external, sequence) = (self.id(event.args.external), self.id(event.args.sequence));
        let forward_thread = self.id(event.args.forward_thread);
        let lane = self.lane(event);
        let lane = &mut self.lanes[lane as usize];
        let duration = lane.short(duration);
        lane.ops.push(OpEvent {
            start,
            duration,
            name,
            shape,
            external,
            sequence,
            forward_thread,
        });
    }

    fn take_call(&mut self, event: &Event) {
        // A call without an id launches nothing that could be found.
        let Some(correlation) = self.correlation(event) else { return };
        let Some(start) = thousandths(event.ts) else {
            return self.trouble(Trouble::CallTime);
        };
        let name = self.name(event);
        let kernel = event.args.kernel.map_or(NONE, |kernel| self.names.add(kernel));
        let config = if kernel == NONE { NONE } else { self.config(&event.args) };
        let external = self.id(event.args.external);
        let lane = self.lane(event);
        self.calls.push(Call {
            correlation,
            start,
            name,
            external,
            lane,
            kernel,
            config,
        });
    }

    fn take_kernel(&mut self, event: &Event) {
        let Some(duration) = duration(event) else {
            return self.trouble(Trouble::KernelTime);
        };
        let correlation = self.correlation(event);
        let (name, config, external) = (self.name(event), self.config(&event.args), self.id(event.args.external));
        self.kernels.push(Kernel {
            start: thousandths(event.ts).unwrap_or(0),
            duration,
            correlation,
            name,
            external,
            config,
        });
    }

    fn take_flow(&mut self, event: &Event) {
        let (Some(start), id) = (thousandths(event.ts), self.id(event.id)) else {
            return;
        };
        if id == NONE {
            return;
        }
        let flow = Flow {
            lane: self.lane(event),
            start,
            id,
        };
        if event.phase == b's' {
            &mut self.forward
        } else {
            &mut self.backward
        }
        .push(flow);
    }

    fn name(&mut self, event: &Event) -> Name {
        match event.name {
            Some(name) => self.names.add(name),
            None => {
                self.trouble(Trouble::NoName);
                self.names.add(b"(no name)")
            }
        }
    }

    fn correlation(&mut self, event: &Event) -> Option<u64> {
        let token = event.args.correlation;
        let id = whole(token);
        if id.is_none() && !token.is_empty() {
            self.trouble(Trouble::Correlation);
        }
        id
    }

    fn id(&mut self, token: &[u8]) -> u32 {
        match whole(token) {
            Some(id) if id < u64::from(NONE) => id as u32,
            // A number that no profiler gives in a trace of this length: nothing is joined by it.
            Some(_) => NONE,
            None => {
                if !token.is_empty() && token[0] != b'-' && token != b"null" {
                    self.trouble(Trouble::Number);
                }
                NONE
            }
        }
    }

    fn config(&mut self, args: &Args) -> Name {
        if args.grid.is_empty() {
            return NONE;
        }
        let mut key: Vec<u8> = [args.grid, b"x", args.block].concat();
        key.retain(|byte| !byte.is_ascii_whitespace());
        self.names.add(&key)
    }

    fn shape(&mut self, args: &Args) -> u32 {
        if args.dims.is_empty() {
            return NONE;
        }
        let id = self.shapes.add(args);
        if id == NONE {
            self.trouble(Trouble::Shape);
        }
        id
    }

    fn lane(&mut self, event: &Event) -> u32 {
        let (pid, tid) = (event.pid, event.tid);
        let last = &self.last_lane.0;
        let same = last.len() == pid.len() + tid.len() + 1 && last.starts_with(pid) && last.ends_with(tid) && last[pid.len()] == b'/';
        if same && !self.lanes.is_empty() {
            return self.last_lane.1;
        }
        let key = [pid, b"/", tid].concat();
        let next = self.lanes.len() as u32;
        let id = *self.lane_ids.entry(key.clone().into_boxed_slice()).or_insert(next);
        if id == next {
            self.lanes.push(Lane::default());
        }
        self.last_lane = (key, id);
        id
    }

    /// After the last event.
    pub(super) fn finish(&mut self) {
        self.lanes.iter_mut().for_each(Lane::sort);
        self.calls.sort_by_key(|call| (call.correlation, call.start));
        self.forward.sort_unstable_by_key(|flow| (flow.id, flow.lane, flow.start));
        self.backward.sort_unstable();
    }

    /// An option of the profiler that the trace names.
    pub(super) fn option(&self, key: &str) -> bool {
        self.header
            .get(key)
            .is_some_and(|value| value.as_f64() == Some(1.0) || value.as_bool() == Some(true))
    }

    /// Whether shapes were recorded.
    pub(super) fn has_shapes(&self) -> bool {
        self.option("record_shapes") || !self.shapes.list.is_empty()
    }

    /// Whether Python frames were recorded.
    pub(super) fn has_frames(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.frames.is_empty())
    }
}

/// A duration that is there and not negative.
fn duration(event: &Event) -> Option<i64> {
    thousandths(event.dur).filter(|&duration| duration >= 0)
}

/// Every text once.
#[derive(Debug, Default)]
pub(super) struct Names {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    by_hash: FxHashMap<u64, Name>,
}

impl Names {
    pub(super) fn text(&self, name: Name) -> &str {
        let start = (name as usize).checked_sub(1).map_or(0, |before| self.ends[before]);
        std::str::from_utf8(&self.bytes[start..self.ends[name as usize]]).unwrap_or_default()
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The name of a string as it is written.
    pub(super) fn add(&mut self, raw: &[u8]) -> Name {
        if memchr::memchr(b'\\', raw).is_some() {
            return self.put(text(raw).as_bytes());
        }
        self.put(raw)
    }

    /// The name of a frame, without the address of the object: thousands of objects have one method.
    fn frame(&mut self, raw: &[u8]) -> Name {
        const AT: &[u8] = b" at 0x";
        if raw.first() == Some(&b'<')
            && raw.last() == Some(&b'>')
            && let Some(at) = memchr::memmem::rfind(raw, AT)
        {
            return self.add(&[&raw[..at], b">"].concat());
        }
        self.add(raw)
    }

    fn put(&mut self, raw: &[u8]) -> Name {
        let mut hasher = FxHasher::default();
        hasher.write(raw);
        let mut hash = hasher.finish();
        loop {
            match self.by_hash.get(&hash) {
                None => break,
                Some(&name) if self.text(name).as_bytes() == raw => return name,
                Some(_) => hash = hash.wrapping_add(1),
            }
        }
        match std::str::from_utf8(raw) {
            Ok(_) => self.bytes.extend_from_slice(raw),
            Err(_) => self.bytes.extend_from_slice(String::from_utf8_lossy(raw).as_bytes()),
        }
        let name = self.ends.len() as Name;
        self.ends.push(self.bytes.len());
        self.by_hash.insert(hash, name);
        name
    }
}

/// Inputs of ops, each combination once.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    pub(super) list: Vec<Shape>,
    by_text: FxHashMap<Box<[u8]>, u32>,
    key: Vec<u8>,
}

/// Inputs of an op.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) dims: serde_json::Value,
    pub(super) types: serde_json::Value,
    pub(super) strides: serde_json::Value,
    /// Some entry is not empty: the event has the shape of a tensor.
    pub(super) is_shaped: bool,
    /// Some input is a tensor, if only of no dimension.
    pub(super) has_tensor: bool,
}

impl Shapes {
    /// `NONE` when the dimensions are no list.
    fn add(&mut self, args: &Args) -> u32 {
        self.key.clear();
        for part in [args.dims, b"\0", args.types, b"\0", args.strides] {
            self.key.extend_from_slice(part);
        }
        if let Some(&id) = self.by_text.get(&*self.key) {
            return id;
        }
        let value = |raw: &[u8]| serde_json::from_slice(raw).unwrap_or(serde_json::Value::Null);
        let (dims, types, strides) = (value(args.dims), value(args.types), value(args.strides));
        let Some(entries) = dims.as_array() else { return NONE };
        let is_shaped = entries.iter().any(|entry| entry.as_array().is_some_and(|entry| !entry.is_empty()));
        let is_tensor = |kind: &serde_json::Value| kind.as_str().is_some_and(|kind| !matches!(kind, "" | "Scalar" | "ScalarList"));
        let has_tensor = is_shaped || types.as_array().is_some_and(|types| types.iter().any(is_tensor));
        let id = self.list.len() as u32;
        self.list.push(Shape {
            dims,
            types,
            strides,
            is_shaped,
            has_tensor,
        });
        self.by_text.insert(self.key.clone().into_boxed_slice(), id);
        id
    }

    pub(super) fn get(&self, id: u32) -> Option<&Shape> {
        self.list.get(id as usize)
    }

    pub(super) fn is_shaped(&self, id: u32) -> bool {
        self.get(id).is_some_and(|shape| shape.is_shaped)
    }
}
