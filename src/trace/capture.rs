//! Shapes of replayed kernels, from a trace of the run that captured the graph.
//!
//! A replay has no ops, yet it launches what was captured, in the same order. A launch of the capture is known by its kernel's name and
//! grid: from the launching call (AMD), or from the kernel event of the same code when it ran before the capture (warm-up).

use super::coverage::{Class, Launch, Origin, Told};
use super::recording::{NONE, Name, Recording, Shape};
use super::sites::Sites;
use rustc_hash::FxHashMap;

/// The launches of a capture, in order.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    steps: Vec<Step>,
    ops: Vec<(Box<str>, Shape)>,
    /// Kernel of the replay → index into `ops`.
    joined: FxHashMap<u32, u32>,
}

/// A launch of the capture.
#[derive(Clone, Debug)]
struct Step {
    kernel: Box<str>,
    config: Box<str>,
    /// Index into `ops`; `NONE` when the launch had no shape.
    op: u32,
}

impl Capture {
    /// Reads the launches of a capture's trace.
    pub fn new(recording: &Recording) -> Self {
        let mut launched: Vec<(i64, u32, Name, Name)> = Vec::new();
        let mut kernels: FxHashMap<u64, (Name, Name)> = FxHashMap::default();
        for kernel in &recording.kernels {
            if let Some(id) = kernel.correlation {
                kernels.insert(id, (kernel.name, kernel.config));
            }
        }
        for (index, call) in recording.calls.iter().enumerate() {
            let of_event = kernels.get(&call.correlation).copied();
            let of_call = (call.kernel != NONE).then_some((call.kernel, call.config));
            if super::coverage::is_graph(recording.names.text(call.name)) {
                continue;
            }
            if let Some((kernel, config)) = of_event.or(of_call) {
                launched.push((call.start, index as u32, kernel, config));
            }
        }
        launched.sort_unstable();
        let sites = Sites::find(recording, launched.iter().map(|row| row.1));
        let mut capture = Self::default();
        let mut ops: FxHashMap<(Name, u32), u32> = FxHashMap::default();
        for (_, call, kernel, config) in launched {
            let lane = &recording.lanes[recording.calls[call as usize].lane as usize];
            let event = lane.ops.get(sites.of(call).op as usize);
            let shape = event.and_then(|event| recording.shapes.get(event.shape).filter(|shape| shape.is_shaped));
            let op = match (event, shape) {
                (Some(event), Some(shape)) => *ops.entry((event.name, event.shape)).or_insert_with(|| {
                    capture.ops.push((recording.names.text(event.name).into(), shape.clone()));
                    capture.ops.len() as u32 - 1
                }),
                _ => NONE,
            };
            let text = |name: Name| if name == NONE { "" } else { recording.names.text(name) };
            capture.steps.push(Step {
                kernel: text(kernel).into(),
                config: text(config).into(),
                op,
            });
        }
        capture
    }

    /// Whether it launches anything.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub(super) fn told(&self, kernel: u32) -> Option<Told<'_>> {
        let (op, shape) = &self.ops[*self.joined.get(&kernel)? as usize];
        Some(Told {
            origin: Origin::Capture,
            op,
            shape,
        })
    }

    /// Joins each replay with the part of the capture that launches the same kernels in the same order; where there is none, each
    /// kernel with the launches of the same kernel and grid, if these all have one shape.
    pub(super) fn join(&mut self, recording: &Recording, launches: &[Launch]) {
        let mut replays: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (index, launch) in launches.iter().enumerate().filter(|(_, launch)| launch.class == Class::Graph) {
            replays.entry(launch.call).or_default().push(index as u32);
        }
        let mut replays: Vec<Vec<u32>> = replays.into_values().collect();
        replays.sort_unstable();
        let mut ids: FxHashMap<(&str, &str), u32> = FxHashMap::default();
        for step in &self.steps {
            let next = ids.len() as u32;
            ids.entry((&step.kernel, &step.config)).or_insert(next);
        }
        let steps: Vec<u32> = self.steps.iter().map(|step| ids[&(&*step.kernel, &*step.config)]).collect();
        let text = |name: Name| if name == NONE { "" } else { recording.names.text(name) };
        let mut joined = FxHashMap::default();
        let mut known: FxHashMap<Vec<u32>, Vec<u32>> = FxHashMap::default();
        for replay in &mut replays {
            replay.sort_unstable_by_key(|&index| (recording.kernels[index as usize].start, index));
            let wanted = replay.iter().map(|&index| {
                let kernel = &recording.kernels[index as usize];
                ids.get(&(text(kernel.name), text(kernel.config))).copied().unwrap_or(NONE)
            });
            let wanted: Vec<u32> = wanted.collect();
            let told = known.entry(wanted).or_insert_with_key(|wanted| self.ops_of(wanted, &steps));
            for (&index, &op) in replay.iter().zip(told.iter()).filter(|(_, op)| **op != NONE) {
                joined.insert(index, op);
            }
        }
        self.joined = joined;
    }

    /// For each kernel of a replay its op; `NONE` where it is not known, or not the same everywhere.
    fn ops_of(&self, wanted: &[u32], steps: &[u32]) -> Vec<u32> {
        let mut ops: Option<Vec<u32>> = None;
        for start in occurrences(wanted, steps) {
            let here = self.steps[start..start + wanted.len()].iter().map(|step| step.op);
            match &mut ops {
                None => ops = Some(here.collect()),
                Some(ops) => ops.iter_mut().zip(here).for_each(|(op, here)| {
                    if *op != here {
                        *op = NONE;
                    }
                }),
            }
        }
        ops.unwrap_or_else(|| {
            let mut one: FxHashMap<u32, u32> = FxHashMap::default();
            for (id, step) in steps.iter().zip(&self.steps) {
                let op = one.entry(*id).or_insert(step.op);
                if *op != step.op {
                    *op = NONE;
                }
            }
            wanted.iter().map(|id| one.get(id).copied().unwrap_or(NONE)).collect()
        })
    }
}

/// Where one list stands in another.
fn occurrences(wanted: &[u32], list: &[u32]) -> Vec<usize> {
    if wanted.is_empty() || wanted.contains(&NONE) {
        return Vec::new();
    }
    // Knuth, Morris and Pratt: `back[i]` is the longest border of the first i + 1.
    let mut back = vec![0_usize; wanted.len()];
    let mut length = 0;
    for i in 1..wanted.len() {
        while length > 0 && wanted[i] != wanted[length] {
            length = back[length - 1];
        }
        length += usize::from(wanted[i] == wanted[length]);
        back[i] = length;
    }
    let (mut found, mut length) = (Vec::new(), 0);
    for (at, id) in list.iter().enumerate() {
        while length > 0 && (length == wanted.len() || *id != wanted[length]) {
            length = back[length - 1];
        }
        length += usize::from(*id == wanted[length]);
        if length == wanted.len() {
            found.push(at + 1 - length);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_occurrence_is_found() {
        assert_eq!(occurrences(&[1, 1], &[1, 1, 1, 2, 1, 1]), [0, 1, 4]);
        assert_eq!(occurrences(&[1, 2, 1], &[1, 2, 1, 2, 1]), [0, 2]);
        assert_eq!(occurrences(&[1], &[]), Vec::<usize>::new());
        assert_eq!(occurrences(&[1], &[1, 1]), [0, 1]);
        assert_eq!(occurrences(&[NONE], &[NONE]), Vec::<usize>::new());
    }
}
