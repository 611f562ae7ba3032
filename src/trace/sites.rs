//! Where launches stand: for each call the ops and Python frames around it, by thread and time.

use super::frames;
use super::recording::{Lane, NONE, Name, Names, Recording};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Frames of one stack that are kept, innermost first.
const MOST_FRAMES: usize = 48;
/// Enclosing ops that are asked for shapes.
const MOST_OPS: usize = 64;

/// What is around a call. Ops are indices into the lane of the call; `NONE` where there is nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    /// The innermost op.
    pub(super) op: u32,
    /// The outermost op.
    pub(super) outer: u32,
    /// The innermost op that has a shape, if the innermost has none.
    pub(super) shaped: u32,
    /// The innermost op that is part of a backward node, if the innermost has no shape.
    pub(super) node: u32,
    /// The innermost Python frame that is neither torch's nor Triton's.
    pub(super) frame: Name,
    /// Index into [`Sites::stacks`], if the innermost op has no shape.
    pub(super) stack: u32,
}

const NOWHERE: Site = Site {
    op: NONE,
    outer: NONE,
    shaped: NONE,
    node: NONE,
    frame: NONE,
    stack: NONE,
};

/// Sites of calls.
#[derive(Debug, Default)]
pub(super) struct Sites {
    by_call: FxHashMap<u32, Site>,
    /// Frames, innermost first; each stack once.
    pub(super) stacks: Vec<Box<[Name]>>,
}

impl Sites {
    /// Sites of these calls (indices into [`Recording::calls`]).
    pub(super) fn find(recording: &Recording, calls: impl IntoIterator<Item = u32>) -> Self {
        let mut by_lane: Vec<Vec<u32>> = vec![Vec::new(); recording.lanes.len()];
        for call in calls {
            by_lane[recording.calls[call as usize].lane as usize].push(call);
        }
        let mut sites = Self::default();
        let mut stacks = FxHashMap::default();
        let mut user = UserFrames::default();
        for (lane, mut calls) in recording.lanes.iter().zip(by_lane) {
            calls.sort_unstable_by_key(|&call| (recording.calls[call as usize].start, call));
            calls.dedup();
            let mut around = Around::new(lane);
            for call in calls {
                around.move_to(recording.calls[call as usize].start);
                let site = around.site(recording, &mut user, &mut |names| {
                    let next = sites.stacks.len() as u32;
                    *stacks.entry(names.to_vec()).or_insert_with(|| {
                        sites.stacks.push(names.into());
                        next
                    })
                });
                sites.by_call.insert(call, site);
            }
        }
        sites
    }

    pub(super) fn of(&self, call: u32) -> Site {
        self.by_call.get(&call).copied().unwrap_or(NOWHERE)
    }

    pub(super) fn stack(&self, site: Site) -> &[Name] {
        self.stacks.get(site.stack as usize).map_or(&[], |stack| stack)
    }
}

/// The events of a lane that hold a moment; the moment only moves on.
struct Around<'a> {
    lane: &'a Lane,
    now: i64,
    next_op: usize,
    next_frame: usize,
    /// Open or ended, in order of their starts; ended ones leave when they come to an end of the queue.
    ops: VecDeque<u32>,
    frames: Vec<u32>,
}

impl<'a> Around<'a> {
    fn new(lane: &'a Lane) -> Self {
        Self {
            lane,
            now: i64::MIN,
            next_op: 0,
            next_frame: 0,
            ops: VecDeque::new(),
            frames: Vec::new(),
        }
    }

    fn op_ended(&self, op: u32) -> bool {
        self.lane.op_end(&self.lane.ops[op as usize]) < self.now
    }

    fn frame_ended(&self, frame: u32) -> bool {
        self.lane.frame_end(&self.lane.frames[frame as usize]) < self.now
    }

    fn move_to(&mut self, now: i64) {
        // What ended before the next event starts is dropped on the way, so that the queues stay as long as the nesting is deep.
        while let Some(op) = self.lane.ops.get(self.next_op).filter(|op| op.start <= now) {
            self.now = op.start;
            while self.ops.back().is_some_and(|&last| self.op_ended(last)) {
                self.ops.pop_back();
            }
            self.ops.push_back(self.next_op as u32);
            self.next_op += 1;
        }
        while let Some(frame) = self.lane.frames.get(self.next_frame).filter(|frame| frame.start <= now) {
            self.now = frame.start;
            while self.frames.last().is_some_and(|&last| self.frame_ended(last)) {
                self.frames.pop();
            }
            self.frames.push(self.next_frame as u32);
            self.next_frame += 1;
        }
        self.now = now;
        while self.ops.back().is_some_and(|&last| self.op_ended(last)) {
            self.ops.pop_back();
        }
        while self.ops.front().is_some_and(|&first| self.op_ended(first)) {
            self.ops.pop_front();
        }
        while self.frames.last().is_some_and(|&last| self.frame_ended(last)) {
            self.frames.pop();
        }
    }

    fn site(&self, recording: &Recording, user: &mut UserFrames, intern: &mut dyn FnMut(&[Name]) -> u32) -> Site {
        let op = self.ops.back().copied().unwrap_or(NONE);
        let mut site = Site {
            op,
            outer: self.ops.front().copied().unwrap_or(NONE),
            ..NOWHERE
        };
        let is_shaped = |op: u32| recording.shapes.is_shaped(self.lane.ops[op as usize].shape);
        let open = self
            .frames
            .iter()
            .rev()
            .take(MOST_FRAMES * 4)
            .filter(|&&frame| !self.frame_ended(frame));
        let names = open.take(MOST_FRAMES).map(|&frame| self.lane.frames[frame as usize].name);
        if op != NONE && is_shaped(op) {
            site.frame = user.first(&recording.names, names);
            return site;
        }
        let names: Vec<Name> = names.collect();
        site.frame = user.first(&recording.names, names.iter().copied());
        if !names.is_empty() {
            site.stack = intern(&names);
        }
        for &op in self.ops.iter().rev().take(MOST_OPS).filter(|&&op| !self.op_ended(op)) {
            let event = &self.lane.ops[op as usize];
            if site.shaped == NONE && is_shaped(op) {
                site.shaped = op;
            }
            let in_backward = event.sequence != NONE && event.forward_thread != NONE && event.forward_thread > 0;
            if site.node == NONE && in_backward {
                site.node = op;
            }
        }
        site
    }
}

/// Which names are frames of the user's own files, asked once each.
#[derive(Default)]
struct UserFrames {
    known: Vec<Option<bool>>,
}

impl UserFrames {
    fn first(&mut self, names: &Names, stack: impl Iterator<Item = Name>) -> Name {
        self.known.resize(names.len(), None);
        for name in stack {
            let known = &mut self.known[name as usize];
            let is_user = *known.get_or_insert_with(|| frames::parse(names.text(name)).is_some_and(|frame| !frames::is_passing(&frame)));
            if is_user {
                return name;
            }
        }
        NONE
    }
}
