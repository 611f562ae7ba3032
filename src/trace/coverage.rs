//! Kernel time by class: each kernel to the call that launched it, the call to the ops around it.

use super::backward::{EVALUATE, Forward, Link, Missing, OpRef, is_backward};
use super::capture::Capture;
use super::recording::{Call, Kernel, NONE, Name, Recording};
use super::sites::{Site, Sites};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use std::collections::BTreeMap;

/// What is known of a kernel's launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The innermost op around the launch has shapes.
    Shaped,
    /// It has none.
    UnshapedOp,
    /// No op is around the launch.
    Bypass,
    /// A graph was launched, and the kernel with it.
    Graph,
    /// The call that launched it is not in the trace.
    Orphan,
}

impl Class {
    /// All, in the order of reports.
    pub const ALL: [Self; 5] = [Self::Shaped, Self::UnshapedOp, Self::Bypass, Self::Graph, Self::Orphan];

    /// The word of the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            Self::Shaped => "shaped",
            Self::UnshapedOp => "unshaped_op",
            Self::Bypass => "bypass",
            Self::Graph => "graph",
            Self::Orphan => "orphan",
        }
    }

    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Shaped => "shaped",
            Self::UnshapedOp => "op without shapes",
            Self::Bypass => "bypass",
            Self::Graph => "graph replay",
            Self::Orphan => "orphan",
        }
    }

    pub(super) fn index(self) -> usize {
        Self::ALL.iter().position(|&class| class == self).expect("ALL holds every class")
    }
}

/// How many kernels, and their time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Kernel events.
    pub kernels: u64,
    /// Their time.
    pub ns: i64,
}

impl Sum {
    pub(super) fn add(&mut self, ns: i64) {
        self.kernels += 1;
        self.ns = self.ns.saturating_add(ns);
    }

    /// Adds another sum.
    pub fn join(&mut self, other: Self) {
        self.kernels += other.kernels;
        self.ns = self.ns.saturating_add(other.ns);
    }
}

/// The launch of one kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launch {
    pub(super) class: Class,
    /// The call, or `NONE`.
    pub(super) call: u32,
}

/// A trace, every kernel with its class.
pub struct Coverage<'r> {
    pub(super) recording: &'r Recording,
    /// One per kernel.
    pub(super) launches: Vec<Launch>,
    pub(super) sites: Sites,
    pub(super) forward: Forward<'r>,
    pub(super) capture: Option<Capture>,
    by_external: FxHashMap<u32, OpRef>,
    /// How many kernels each innermost op launched.
    pub(super) by_op: FxHashMap<OpRef, u32>,
    /// Kernels whose correlation id several calls share, of different classes.
    pub ambiguous: u64,
    /// By class, in the order of [`Class::ALL`].
    pub classes: [Sum; 5],
    /// Of the replayed kernels, those whose shapes the capture tells.
    pub recovered: Sum,
}

/// Where the shapes of a kernel come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The innermost op.
    Op,
    /// The forward op of its backward node, through the arrow.
    ForwardByFlow,
    /// The same, through Sequence number and thread.
    ForwardBySequence,
    /// An op farther out.
    OuterOp,
    /// The op of the same launch in the capture.
    Capture,
    /// The op that the kernel itself names.
    ExternalId,
}

/// The op whose inputs stand for a kernel's.
pub(super) struct Told<'a> {
    pub(super) origin: Origin,
    pub(super) op: &'a str,
    pub(super) shape: &'a super::recording::Shape,
}

/// Kernels that look the same in a report.
#[derive(Clone, Debug)]
pub struct Group {
    /// Their class.
    pub class: Class,
    /// The innermost op.
    pub(super) op: Name,
    /// The outermost op.
    pub(super) outer: Name,
    /// The frame that launched.
    pub(super) frame: Name,
    /// The kernel.
    pub(super) kernel: Name,
    /// The launching call.
    pub(super) call: Name,
    /// How many, and their time.
    pub sum: Sum,
    /// One launch of them: its kernel's index.
    pub(super) sample: u32,
    /// How many have shapes from elsewhere, by where.
    pub origins: BTreeMap<Origin, u64>,
    /// Why the backward ones have none.
    pub(super) missing: Option<Missing>,
}

impl<'r> Coverage<'r> {
    /// Classes of all kernels.
    pub fn new(recording: &'r Recording, capture: Option<Capture>) -> Self {
        let by_correlation = ByCorrelation(&recording.calls);
        let candidates = |kernel: &Kernel| kernel.correlation.map_or(0..0, |id| by_correlation.range(id));
        let few = |calls: &std::ops::Range<u32>| calls.len() <= MOST_CALLS;
        let calls: FxHashSet<u32> = recording.kernels.iter().map(candidates).filter(few).flatten().collect();
        let mut calls: Vec<u32> = calls.into_iter().collect();
        calls.sort_unstable();
        let mut coverage = Self {
            recording,
            launches: Vec::with_capacity(recording.kernels.len()),
            sites: Sites::find(recording, calls),
            forward: Forward::new(recording),
            capture,
            by_external: FxHashMap::default(),
            by_op: FxHashMap::default(),
            ambiguous: 0,
            classes: [Sum::default(); 5],
            recovered: Sum::default(),
        };
        for kernel in &recording.kernels {
            let launch = coverage.launch(kernel, candidates(kernel));
            coverage.classes[launch.class.index()].add(kernel.duration);
            coverage.launches.push(launch);
            if let Some(op) = coverage.innermost(launch) {
                *coverage.by_op.entry(op).or_default() += 1;
            }
        }
        coverage.name_orphans();
        coverage.recover();
        coverage
    }

    fn launch(&mut self, kernel: &Kernel, mut candidates: std::ops::Range<u32>) -> Launch {
        let lost = Launch {
            class: Class::Orphan,
            call: NONE,
        };
        if candidates.len() > MOST_CALLS {
            self.ambiguous += 1;
            return lost;
        }
        let Some(first) = candidates.next() else { return lost };
        let known = |call| Launch {
            class: self.class_of(call),
            call,
        };
        if candidates.is_empty() {
            return known(first);
        }
        let all: Vec<u32> = std::iter::once(first).chain(candidates).collect();
        let calls = &self.recording.calls;
        let mut left = all.clone();
        narrow(&mut left, |call| calls[call as usize].external == kernel.external);
        narrow(&mut left, |call| calls[call as usize].kernel == kernel.name);
        let agree = |a: u32, b: u32| {
            let (one, two) = (self.sites.of(a), self.sites.of(b));
            self.class_of(a) == self.class_of(b) && one.op == two.op && calls[a as usize].lane == calls[b as usize].lane
        };
        if left.iter().all(|&call| agree(call, left[0])) {
            return known(left[0]);
        }
        self.ambiguous += 1;
        lost
    }

    fn class_of(&self, call: u32) -> Class {
        let event = &self.recording.calls[call as usize];
        if is_graph(self.recording.names.text(event.name)) {
            return Class::Graph;
        }
        let site = self.sites.of(call);
        if site.op == NONE {
            return Class::Bypass;
        }
        let op = &self.recording.lanes[event.lane as usize].ops[site.op as usize];
        if self.recording.shapes.is_shaped(op.shape) {
            Class::Shaped
        } else {
            Class::UnshapedOp
        }
    }

    /// Ops that orphans name by their External id.
    fn name_orphans(&mut self) {
        let orphans = self.launches.iter().zip(&self.recording.kernels);
        let wanted: FxHashSet<u32> = orphans
            .filter(|(launch, kernel)| launch.class == Class::Orphan && kernel.external != NONE)
            .map(|(_, kernel)| kernel.external)
            .collect();
        if wanted.is_empty() {
            return;
        }
        for (lane, ops) in self.recording.lanes.iter().enumerate() {
            for (index, op) in ops.ops.iter().enumerate().filter(|(_, op)| wanted.contains(&op.external)) {
                let found = OpRef {
                    lane: lane as u32,
                    op: index as u32,
                };
                // An id that two ops have names none.
                let twice = self.by_external.insert(op.external, found).is_some();
                if twice {
                    self.by_external.insert(op.external, OpRef { lane: NONE, op: NONE });
                }
            }
        }
        self.by_external.retain(|_, op| op.lane != NONE);
    }

    fn recover(&mut self) {
        let Some(mut capture) = self.capture.take() else { return };
        capture.join(self.recording, &self.launches);
        for (index, kernel) in self.recording.kernels.iter().enumerate() {
            if self.launches[index].class == Class::Graph && capture.told(index as u32).is_some() {
                self.recovered.add(kernel.duration);
            }
        }
        self.capture = Some(capture);
    }

    /// All kernels.
    pub fn total(&self) -> Sum {
        let mut total = Sum::default();
        self.classes.iter().for_each(|sum| total.join(*sum));
        total
    }

    pub(super) fn call(&self, launch: Launch) -> Option<&Call> {
        self.recording.calls.get(launch.call as usize)
    }

    pub(super) fn site(&self, launch: Launch) -> Site {
        self.sites.of(launch.call)
    }

    /// The op of a kernel's lane, by its index there.
    pub(super) fn op_ref(&self, launch: Launch, op: u32) -> Option<OpRef> {
        let call = self.call(launch)?;
        (op != NONE).then_some(OpRef { lane: call.lane, op })
    }

    /// The innermost op of a kernel that was launched in one.
    pub(super) fn innermost(&self, launch: Launch) -> Option<OpRef> {
        match launch.class {
            Class::Shaped | Class::UnshapedOp => self.op_ref(launch, self.site(launch).op),
            Class::Bypass | Class::Graph | Class::Orphan => None,
        }
    }

    /// Inputs that stand for a kernel's, from the nearest place that tells them.
    pub(super) fn told(&self, kernel: u32) -> Option<Told<'_>> {
        let launch = self.launches[kernel as usize];
        match launch.class {
            Class::Shaped => {
                let op = self.op_ref(launch, self.site(launch).op)?;
                self.told_by(op, Origin::Op)
            }
            Class::UnshapedOp => self.told_around(launch),
            Class::Bypass => None,
            Class::Graph => self.capture.as_ref()?.told(kernel),
            Class::Orphan => {
                let op = self.by_external.get(&self.recording.kernels[kernel as usize].external)?;
                self.told_by(*op, Origin::ExternalId)
            }
        }
    }

    fn told_by(&self, op: OpRef, origin: Origin) -> Option<Told<'_>> {
        let event = self.recording.op(op);
        let shape = self.recording.shapes.get(event.shape).filter(|shape| shape.is_shaped)?;
        Some(Told {
            origin,
            op: self.recording.names.text(event.name),
            shape,
        })
    }

    /// Of an op without shapes: its forward op's where it is a backward node, else those of an op around it.
    fn told_around(&self, launch: Launch) -> Option<Told<'_>> {
        let site = self.site(launch);
        let op = self.op_ref(launch, site.op)?;
        if is_backward(self.recording.op(op)) {
            if let Ok((forward, link)) = self.forward.of(op) {
                let origin = match link {
                    Link::Flow => Origin::ForwardByFlow,
                    Link::Sequence => Origin::ForwardBySequence,
                };
                return self.told_by(forward, origin);
            }
            return None;
        }
        // The op has inputs of its own, of no dimension: no other op's stand for them.
        let own = self.recording.shapes.get(self.recording.op(op).shape);
        if own.is_some_and(|own| own.has_tensor) {
            return None;
        }
        self.told_by(self.op_ref(launch, site.shaped)?, Origin::OuterOp)
    }

    /// Kernels by class, op, frame and kernel; most time first.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups: FxHashMap<(Class, Name, Name, Name), Group> = FxHashMap::default();
        for (index, (launch, kernel)) in self.launches.iter().zip(&self.recording.kernels).enumerate() {
            let site = self.site(*launch);
            let op_name = |op: u32| self.op_ref(*launch, op).map_or(NONE, |op| self.recording.op(op).name);
            let in_op = matches!(launch.class, Class::Shaped | Class::UnshapedOp);
            let op = if in_op { op_name(site.op) } else { NONE };
            let frame = if launch.class == Class::Shaped { NONE } else { site.frame };
            let group = groups.entry((launch.class, op, frame, kernel.name)).or_insert_with(|| Group {
                class: launch.class,
                op,
                outer: op_name(site.outer),
                frame,
                kernel: kernel.name,
                call: self.call(*launch).map_or(NONE, |call| call.name),
                sum: Sum::default(),
                sample: index as u32,
                origins: BTreeMap::new(),
                missing: self
                    .op_ref(*launch, site.op)
                    .filter(|&op| is_backward(self.recording.op(op)) || op_is_node(self.recording, op))
                    .and_then(|op| self.forward.of(op).err()),
            });
            group.sum.add(kernel.duration);
            if launch.class != Class::Shaped
                && let Some(told) = self.told(index as u32)
            {
                *group.origins.entry(told.origin).or_default() += 1;
            }
        }
        let mut groups: Vec<Group> = groups.into_values().collect();
        let text = |name: Name| if name == NONE { "" } else { self.recording.names.text(name) };
        groups.sort_by(|a, b| {
            let names = |g: &Group| (g.class, [text(g.kernel), text(g.op), text(g.frame)]);
            b.sum.ns.cmp(&a.sum.ns).then_with(|| names(a).cmp(&names(b)))
        });
        groups
    }

    /// The text of a name, unless there is none.
    pub(super) fn text(&self, name: Name) -> Option<&'r str> {
        (name != NONE).then(|| self.recording.names.text(name))
    }
}

/// Calls of one correlation id that are looked at.
const MOST_CALLS: usize = 64;

/// Whether an op is the engine's event around a backward node.
fn op_is_node(recording: &Recording, op: OpRef) -> bool {
    recording.names.text(recording.op(op).name).starts_with(EVALUATE)
}

/// Keeps what fits, unless nothing does.
fn narrow(calls: &mut Vec<u32>, fits: impl Fn(u32) -> bool) {
    let fitting: Vec<u32> = calls.iter().copied().filter(|&call| fits(call)).collect();
    if !fitting.is_empty() {
        *calls = fitting;
    }
}

/// Whether a call launches a graph.
pub(super) fn is_graph(call: &str) -> bool {
    call.to_ascii_lowercase().contains("graphlaunch")
}

/// Calls sorted by their correlation id.
struct ByCorrelation<'r>(&'r [Call]);

impl ByCorrelation<'_> {
    fn range(&self, id: u64) -> std::ops::Range<u32> {
        let from = self.0.partition_point(|call| call.correlation < id);
        let to = self.0.partition_point(|call| call.correlation <= id);
        from as u32..to as u32
    }
}
