//! `--shapes`: every kernel event with the inputs of its op, and how they were obtained; every backward event with its forward op's.

use super::backward::{EVALUATE, Link, Missing, OpRef};
use super::coverage::{Class, Coverage, Origin};
use super::reasons;
use super::report::Micros;
use serde::Serialize;
use serde_json::Value;
use std::io::Result;
use std::io::Write;

#[derive(Serialize)]
struct KernelRow<'a> {
    kernel: &'a str,
    ts: Micros,
    us: Micros,
    class: Class,
    op: Option<&'a str>,
    outer_op: Option<&'a str>,
    kernels_of_op: u32,
    frame: Option<&'a str>,
    /// Where the shapes come from; null: there are none.
    from: Option<Origin>,
    /// The op that has them.
    of: Option<&'a str>,
    shapes: Option<&'a Value>,
    dtypes: Option<&'a Value>,
    strides: Option<&'a Value>,
    why_not: Option<&'a str>,
}

#[derive(Serialize)]
struct BackwardRow<'a> {
    event: &'a str,
    ts: Micros,
    sequence: Option<u32>,
    from: Option<Link>,
    forward: Option<&'a str>,
    forward_ts: Option<Micros>,
    shapes: Option<&'a Value>,
    dtypes: Option<&'a Value>,
    strides: Option<&'a Value>,
    why_not: Option<&'a str>,
}

/// Writes the events of one file as a JSON object, a line each.
pub fn write(out: &mut dyn Write, file: &str, coverage: &Coverage) -> Result<()> {
    write!(out, "{{\"file\": ")?;
    serde_json::to_writer(&mut *out, file)?;
    write!(out, ",\n\"kernels\": [")?;
    let reasons = Reasons::of(coverage);
    for index in 0..coverage.launches.len() as u32 {
        write!(out, "{}", if index == 0 { "\n" } else { ",\n" })?;
        serde_json::to_writer(&mut *out, &kernel_row(coverage, &reasons, index))?;
    }
    write!(out, "],\n\"backward\": [")?;
    let mut first = true;
    for (lane, ops) in coverage.recording.lanes.iter().enumerate() {
        for (index, op) in ops.ops.iter().enumerate() {
            if !coverage.recording.names.text(op.name).starts_with(EVALUATE) {
                continue;
            }
            write!(out, "{}", if first { "\n" } else { ",\n" })?;
            first = false;
            let op = OpRef {
                lane: lane as u32,
                op: index as u32,
            };
            serde_json::to_writer(&mut *out, &backward_row(coverage, op))?;
        }
    }
    writeln!(out, "]}}")
}

/// Reasons of the groups, by (class, op, kernel).
struct Reasons(rustc_hash::FxHashMap<(Class, u32, u32), &'static str>);

impl Reasons {
    fn of(coverage: &Coverage) -> Self {
        let groups = coverage.groups();
        let rows = groups.iter().filter_map(|group| {
            let why = reasons::of(coverage, group)?;
            let reason = group.missing.map_or(why.reason, Missing::words);
            Some(((group.class, group.op, group.kernel), reason))
        });
        Self(rows.collect())
    }
}

fn kernel_row<'a>(coverage: &'a Coverage, reasons: &Reasons, index: u32) -> KernelRow<'a> {
    let recording = coverage.recording;
    let (launch, kernel) = (coverage.launches[index as usize], &recording.kernels[index as usize]);
    let site = coverage.site(launch);
    let told = coverage.told(index);
    let innermost = coverage.innermost(launch);
    let op_name = |op: OpRef| recording.names.text(recording.op(op).name);
    let op = innermost.map_or(super::recording::NONE, |op| recording.op(op).name);
    KernelRow {
        kernel: recording.names.text(kernel.name),
        ts: Micros(kernel.start),
        us: Micros(kernel.duration),
        class: launch.class,
        op: innermost.map(op_name),
        outer_op: coverage.op_ref(launch, site.outer).map(op_name),
        kernels_of_op: innermost.map_or(0, |op| coverage.by_op.get(&op).copied().unwrap_or(0)),
        frame: coverage.text(site.frame),
        from: told.as_ref().map(|told| told.origin),
        of: told.as_ref().map(|told| told.op),
        shapes: told.as_ref().map(|told| &told.shape.dims),
        dtypes: told.as_ref().map(|told| &told.shape.types),
        strides: told.as_ref().map(|told| &told.shape.strides),
        why_not: match told {
            Some(_) => None,
            None => reasons.0.get(&(launch.class, op, kernel.name)).copied(),
        },
    }
}

fn backward_row<'a>(coverage: &'a Coverage, op: OpRef) -> BackwardRow<'a> {
    let recording = coverage.recording;
    let event = recording.op(op);
    let found = coverage.forward.of(op);
    let forward = found.ok().map(|(forward, _)| recording.op(forward));
    let shape = forward.and_then(|forward| recording.shapes.get(forward.shape));
    BackwardRow {
        event: recording.names.text(event.name),
        ts: Micros(event.start),
        sequence: (event.sequence != super::recording::NONE).then_some(event.sequence),
        from: found.ok().map(|(_, link)| link),
        forward: forward.map(|forward| recording.names.text(forward.name)),
        forward_ts: forward.map(|forward| Micros(forward.start)),
        shapes: shape.map(|shape| &shape.dims),
        dtypes: shape.map(|shape| &shape.types),
        strides: shape.map(|shape| &shape.strides),
        why_not: match found {
            Err(missing) => Some(missing.words()),
            Ok(_) if shape.is_none() => Some("the forward op's event has no inputs"),
            Ok(_) => None,
        },
    }
}
