//! The forward op of a backward event: through the `fwdbwd` arrow, else through Sequence number and thread.

use super::recording::{Flow, NONE, OpEvent, Recording};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;

/// An op: its lane and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct OpRef {
    pub(super) lane: u32,
    pub(super) op: u32,
}

impl Recording {
    pub(super) fn op(&self, op: OpRef) -> &OpEvent {
        &self.lanes[op.lane as usize].ops[op.op as usize]
    }
}

/// How the forward op was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Link {
    /// The profiler drew an arrow to it.
    Flow,
    /// It has the same Sequence number, on the thread that the backward event names; of several, the last to start.
    Sequence,
}

/// Why no forward op is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Missing {
    /// `AccumulateGrad` and other nodes that no forward op made.
    NoNumber,
    /// The event's thread number cannot be tied to a thread of the trace.
    UnknownThread,
    /// No op of that thread has the number.
    NoForward,
}

impl Missing {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::NoNumber => "the backward node has no Sequence number and no arrow: no forward op made it",
            Self::UnknownThread => "the forward ran on a thread that the trace does not identify, and there is no arrow",
            Self::NoForward => "no forward op in the trace has its Sequence number, and there is no arrow",
        }
    }
}

/// Prefix of the autograd engine's own event around a backward node.
pub(super) const EVALUATE: &str = "autograd::engine::evaluate_function: ";

/// Arrows, and ops at an arrow's end, that are tried for one event.
const MOST_TRIED: usize = 64;

/// Forward events, ready to be looked up.
pub(super) struct Forward<'r> {
    recording: &'r Recording,
    /// (lane, number, inside a backward node, op), sorted.
    numbers: Vec<(u32, u32, bool, u32)>,
    /// The profiler's number of a thread → lane.
    threads: BTreeMap<u32, u32>,
    evaluate: FxHashMap<u32, bool>,
}

pub(super) fn is_backward(op: &OpEvent) -> bool {
    op.forward_thread != NONE && op.forward_thread > 0
}

impl<'r> Forward<'r> {
    pub(super) fn new(recording: &'r Recording) -> Self {
        let mut forward = Self {
            recording,
            numbers: Vec::new(),
            threads: BTreeMap::new(),
            evaluate: FxHashMap::default(),
        };
        for lane in 0..recording.lanes.len() as u32 {
            forward.index(lane);
        }
        forward.numbers.sort_unstable();
        forward.name_threads();
        forward
    }

    fn is_evaluate(&mut self, name: u32) -> bool {
        let names = &self.recording.names;
        *self.evaluate.entry(name).or_insert_with(|| names.text(name).starts_with(EVALUATE))
    }

    fn index(&mut self, lane: u32) {
        let recording = self.recording;
        let ops = &recording.lanes[lane as usize];
        let mut node_end = i64::MIN;
        for (index, op) in ops.ops.iter().enumerate() {
            if self.is_evaluate(op.name) {
                node_end = node_end.max(ops.op_end(op));
            } else if op.sequence != NONE && op.forward_thread == 0 {
                self.numbers.push((lane, op.sequence, op.start <= node_end, index as u32));
            }
        }
    }

    /// Ties the profiler's numbers of threads to lanes: as the arrows say; else the first number to the only thread with forward ops.
    fn name_threads(&mut self) {
        let recording = self.recording;
        let mut votes: BTreeMap<u32, BTreeMap<u32, usize>> = BTreeMap::new();
        let mut wanted: Vec<u32> = Vec::new();
        for (lane, ops) in recording.lanes.iter().enumerate() {
            for (index, op) in ops.ops.iter().enumerate().filter(|(_, op)| is_backward(op)) {
                wanted.push(op.forward_thread);
                let at = OpRef {
                    lane: lane as u32,
                    op: index as u32,
                };
                if let Some(found) = self.by_arrow(at) {
                    *votes.entry(op.forward_thread).or_default().entry(found.lane).or_default() += 1;
                }
            }
        }
        wanted.sort_unstable();
        wanted.dedup();
        for (thread, lanes) in votes {
            // Two lanes for one number: ids of several processes in one file.
            if lanes.len() == 1 {
                self.threads.extend(lanes.keys().map(|&lane| (thread, lane)));
            }
        }
        let mut lanes: Vec<u32> = self.numbers.iter().filter(|row| !row.2).map(|row| row.0).collect();
        lanes.dedup();
        if let ([lane], Some(&first)) = (&lanes[..], wanted.first())
            && !self.threads.values().any(|taken| taken == lane)
        {
            self.threads.entry(first).or_insert(*lane);
        }
    }

    /// The forward op of a backward event.
    pub(super) fn of(&self, backward: OpRef) -> Result<(OpRef, Link), Missing> {
        if let Some(forward) = self.by_arrow(backward) {
            return Ok((forward, Link::Flow));
        }
        let event = self.recording.op(backward);
        if event.sequence == NONE {
            return Err(Missing::NoNumber);
        }
        let Some(&lane) = self.threads.get(&event.forward_thread) else {
            return Err(Missing::UnknownThread);
        };
        // A node of second order has its forward inside another backward node.
        for inside in [false, true] {
            let key = (lane, event.sequence, inside);
            let from = self.numbers.partition_point(|row| (row.0, row.1, row.2) < key);
            let to = self.numbers.partition_point(|row| (row.0, row.1, row.2) <= key);
            // In the order of their starts: the last that starts before the backward does.
            let ops = &self.recording.lanes[lane as usize].ops;
            let same = &self.numbers[from..to];
            let before = same.partition_point(|row| ops[row.3 as usize].start < event.start);
            if let Some(row) = same[..before].last() {
                return Ok((OpRef { lane, op: row.3 }, Link::Sequence));
            }
        }
        Err(Missing::NoForward)
    }

    /// The arrow ends at an op of the backward node that starts just there.
    fn by_arrow(&self, backward: OpRef) -> Option<OpRef> {
        let recording = self.recording;
        let lane = &recording.lanes[backward.lane as usize];
        let event = &lane.ops[backward.op as usize];
        if event.sequence == NONE {
            return None;
        }
        let end = lane.op_end(event);
        let from = recording
            .backward
            .partition_point(|flow| (flow.lane, flow.start) < (backward.lane, event.start));
        let arrows = recording.backward[from..]
            .iter()
            .take_while(|flow| flow.lane == backward.lane && flow.start <= end)
            .take(MOST_TRIED);
        for arrow in arrows {
            // The op at the arrow's end is the node itself or its child, and has its number.
            let at = lane.ops.partition_point(|op| op.start < arrow.start);
            let mut there = lane.ops[at..].iter().take_while(|op| op.start == arrow.start).take(MOST_TRIED);
            if there.any(|op| op.sequence == event.sequence && op.forward_thread == event.forward_thread) {
                return self.tail(arrow);
            }
            // The first arrow inside that belongs to another node ends the search: nodes do not share arrows.
            if arrow.start > event.start && lane.ops[at..].first().is_some_and(|op| op.start == arrow.start && is_backward(op)) {
                return None;
            }
        }
        None
    }

    /// The innermost op at the other end of an arrow, if just one arrow has its id.
    fn tail(&self, arrow: &Flow) -> Option<OpRef> {
        let flows = &self.recording.forward;
        let from = flows.partition_point(|flow| flow.id < arrow.id);
        let same: Vec<&Flow> = flows[from..].iter().take(2).take_while(|flow| flow.id == arrow.id).collect();
        let [tail] = same[..] else { return None };
        let ops = &self.recording.lanes[tail.lane as usize].ops;
        let after = ops.partition_point(|op| op.start <= tail.start);
        let last = after.checked_sub(1)?;
        (ops[last].start == tail.start).then_some(OpRef {
            lane: tail.lane,
            op: last as u32,
        })
    }
}
