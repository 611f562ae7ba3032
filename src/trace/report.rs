//! A trace's figures as plain data: what the JSON contract, the text and the page are made of.

use super::coverage::{Class, Coverage, Group, Origin, Sum};
use super::frames;
use super::reasons;
use super::recording::{NONE, Recording, Trouble};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Microseconds, from nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(pub i64);

impl Serialize for Micros {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / 1000.0)
    }
}

/// One trace, or several ranks of one run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Version of opwright.
    pub version: &'static str,
    /// The files.
    pub files: Vec<FileRow>,
    /// Kernel events.
    pub kernels: u64,
    /// Their time.
    pub kernel_us: Micros,
    /// By class: all five, in any case.
    pub classes: BTreeMap<&'static str, ClassRow>,
    /// Replayed kernels whose shapes a capture told.
    pub recovered: ClassRow,
    /// Kernels without shapes, most time first.
    pub without_shapes: Vec<Row>,
    /// Kernels with shapes, by op.
    #[serde(skip)]
    pub with_shapes: Vec<Row>,
    /// Kinds of events, and why some have no shapes.
    pub events: Vec<EventRow>,
    /// What was left out, and how often.
    pub warnings: Vec<String>,
}

/// One file.
#[derive(Clone, Debug, Serialize)]
pub struct FileRow {
    /// Its name as given.
    pub file: String,
    /// Rank, if the trace says it.
    pub rank: Option<u64>,
    /// Events and bytes read.
    pub events: u64,
    /// Bytes of JSON.
    pub bytes: u64,
    /// The file ends before the trace does.
    pub cut: bool,
    /// What was recorded.
    pub record_shapes: bool,
    /// Python frames are there.
    pub with_stack: bool,
    /// `NVIDIA`, `AMD`, if it can be told.
    pub vendor: Option<&'static str>,
    /// The first device's name.
    pub device: Option<String>,
    /// By class.
    pub classes: BTreeMap<&'static str, ClassRow>,
}

/// A class's figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClassRow {
    /// Kernel events.
    pub kernels: u64,
    /// Their time.
    pub us: Micros,
}

impl From<Sum> for ClassRow {
    fn from(sum: Sum) -> Self {
        Self {
            kernels: sum.kernels,
            us: Micros(sum.ns),
        }
    }
}

impl ClassRow {
    /// Adds another row.
    pub fn join(&mut self, other: Self) {
        self.kernels += other.kernels;
        self.us.0 = self.us.0.saturating_add(other.us.0);
    }
}

/// Kernels that look the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Their class.
    pub class: Class,
    /// The innermost op, of an op without shapes.
    pub op: Option<String>,
    /// The frame that launched.
    pub frame: Option<String>,
    /// The kernel.
    pub kernel: String,
    /// Their time.
    pub us: Micros,
    /// How many.
    pub count: u64,
    /// Where that frame's function is.
    pub source: Option<SourceRow>,
    /// The sources were searched in vain: for what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_in_source: Option<String>,
    /// What opwright says of that function.
    pub finding: Option<FindingRow>,
    /// The outermost op around the launch.
    pub outer_op: Option<String>,
    /// The call that launched.
    pub call: Option<String>,
    /// The most kernels that one event of the op launched: these share its record.
    pub kernels_of_op: u32,
    /// Why there are no shapes.
    pub reason: Option<&'static str>,
    /// What to do.
    pub advice: Option<&'static str>,
    /// How many have shapes from elsewhere, by where.
    pub shapes_from: BTreeMap<Origin, u64>,
    /// Why backward events have none.
    pub no_forward: Option<&'static str>,
    /// Frames, innermost first.
    #[serde(skip)]
    pub stack: Vec<String>,
}

/// A function of the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceRow {
    /// Path relative to the working directory.
    pub file: String,
    /// The launch's line, or that of `def`.
    pub line: u32,
    /// `__qualname__`.
    pub qualname: String,
    /// How it was found.
    pub matched: &'static str,
    /// Functions that fit as well: the one with the nearest line was taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// Parameters that it mutates.
    pub mutates: Vec<String>,
    /// State that it mutates.
    pub mutates_state: Vec<String>,
    /// Parameters that cannot be judged.
    pub unresolved: Vec<String>,
    /// How it stands to the dispatcher; null when it does not launch.
    pub registered: Option<&'static str>,
    /// Lines around the launch, the first line's number before them.
    #[serde(skip)]
    pub snippet: (u32, String),
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FindingRow {
    /// The rule.
    pub rule: String,
    /// The level.
    pub level: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// Path relative to the working directory.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// The cure.
    pub fix: Option<FixRow>,
}

/// A fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FixRow {
    /// `safe`, `unsafe` or `shown`.
    pub safety: String,
    /// What it does.
    pub title: String,
    /// Why it is not safe.
    pub reasons: Vec<String>,
    /// What it changes.
    pub diff: String,
}

/// A kind of event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EventRow {
    /// `cpu_op`, `python_function`, …
    pub category: &'static str,
    /// How many.
    pub count: u64,
    /// How many have shapes.
    pub with_shapes: u64,
    /// Why the others have none.
    pub reason: &'static str,
}

impl Report {
    /// An empty report: every class is there.
    pub fn new() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            classes: Class::ALL.iter().map(|class| (class.word(), ClassRow::default())).collect(),
            ..Self::default()
        }
    }

    /// Adds a file.
    pub fn add(&mut self, file: &str, coverage: &Coverage) {
        let recording = coverage.recording;
        let row = FileRow {
            file: file.to_string(),
            rank: recording.header.get("distributedInfo").and_then(|info| info.get("rank")?.as_u64()),
            events: recording.events,
            bytes: recording.bytes,
            cut: recording.is_cut,
            record_shapes: recording.has_shapes(),
            with_stack: recording.has_frames(),
            vendor: vendor(recording),
            device: device(recording),
            classes: Class::ALL
                .iter()
                .zip(coverage.classes)
                .map(|(class, sum)| (class.word(), sum.into()))
                .collect(),
        };
        for (class, sum) in &row.classes {
            self.classes.entry(class).or_default().join(*sum);
        }
        self.kernels += coverage.total().kernels;
        self.kernel_us.0 = self.kernel_us.0.saturating_add(coverage.total().ns);
        self.recovered.join(coverage.recovered.into());
        self.files.push(row);
        self.add_rows(coverage);
        self.add_events(coverage);
        self.add_warnings(file, coverage);
    }

    fn add_rows(&mut self, coverage: &Coverage) {
        let mut sharing: BTreeMap<(Class, &str), u32> = BTreeMap::new();
        for launch in &coverage.launches {
            if let Some(op) = coverage.innermost(*launch) {
                let name = coverage.recording.names.text(coverage.recording.op(op).name);
                let most = sharing.entry((launch.class, name)).or_default();
                *most = (*most).max(coverage.by_op.get(&op).copied().unwrap_or(0));
            }
        }
        let key = |row: &Row| (row.class, row.op.clone(), row.frame.clone(), row.kernel.clone());
        let mut earlier = BTreeMap::new();
        for rows in [&self.with_shapes, &self.without_shapes] {
            earlier.extend(rows.iter().enumerate().map(|(at, row)| (key(row), at)));
        }
        for group in coverage.groups() {
            let op = coverage.text(group.op);
            let why = reasons::of(coverage, &group);
            let site = coverage.site(coverage.launches[group.sample as usize]);
            let stack = coverage.sites.stack(site).iter();
            let row = Row {
                class: group.class,
                op: op.map(String::from),
                frame: coverage.text(group.frame).map(String::from),
                kernel: coverage.recording.names.text(group.kernel).to_string(),
                us: Micros(group.sum.ns),
                count: group.sum.kernels,
                source: None,
                not_in_source: None,
                finding: None,
                outer_op: coverage.text(group.outer).map(String::from),
                call: coverage.text(group.call).map(String::from),
                kernels_of_op: op.map_or(0, |op| sharing.get(&(group.class, op)).copied().unwrap_or(0)),
                reason: why.map(|why| why.reason),
                advice: why.and_then(|why| why.advice).filter(|_| !recovered(&group)),
                shapes_from: group.origins.clone(),
                no_forward: group.missing.map(super::backward::Missing::words),
                stack: stack.map(|name| coverage.recording.names.text(*name).to_string()).collect(),
            };
            // Rows of an earlier rank.
            let rows = if group.class == Class::Shaped {
                &mut self.with_shapes
            } else {
                &mut self.without_shapes
            };
            match earlier.get(&key(&row)) {
                Some(&at) => rows[at].join(&row),
                None => rows.push(row),
            }
        }
        for rows in [&mut self.without_shapes, &mut self.with_shapes] {
            rows.sort_by(|a, b| {
                b.us.cmp(&a.us)
                    .then_with(|| (a.class, &a.kernel, &a.op, &a.frame).cmp(&(b.class, &b.kernel, &b.op, &b.frame)))
            });
        }
    }

    fn add_events(&mut self, coverage: &Coverage) {
        for row in event_rows(coverage.recording) {
            match self.events.iter_mut().find(|old| old.category == row.category) {
                Some(old) => {
                    old.count += row.count;
                    old.with_shapes += row.with_shapes;
                }
                None => self.events.push(row),
            }
        }
    }

    fn add_warnings(&mut self, file: &str, coverage: &Coverage) {
        let mut warn = |text: String| self.warnings.push(format!("{file}: {text}"));
        let recording = coverage.recording;
        if recording.is_cut {
            warn(format!(
                "the file is cut off after {} events: what follows is in no figure, and kernels whose call is missing count as orphans",
                recording.events
            ));
        }
        for (trouble, count) in &recording.troubles {
            warn(format!("{count} {}", trouble.words()));
        }
        if coverage.ambiguous > 0 {
            warn(format!(
                "{} kernels have a correlation id that several calls share, in different places: counted as orphans",
                coverage.ambiguous
            ));
        }
        if recording.kernels.is_empty() && !recording.troubles.contains_key(&Trouble::KernelTime) {
            warn("no kernel events: recorded without a GPU, or without `ProfilerActivity.CUDA`".into());
        }
        if let Some(capture) = &coverage.capture
            && capture.is_empty()
        {
            warn("the capture's trace launches no kernel that could be joined".into());
        } else if coverage.capture.is_some()
            && coverage.recovered.kernels == 0
            && coverage.launches.iter().any(|launch| launch.class == Class::Graph)
        {
            warn("the capture's trace has the shapes of none of the replayed kernels: names or grids differ, or one kernel has several shapes there".into());
        }
    }

    /// As JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("rows have string keys only")
    }

    /// The figures of a class.
    pub fn class(&self, class: Class) -> ClassRow {
        self.classes.get(class.word()).copied().unwrap_or_default()
    }
}

/// A capture has told the shapes of all of these.
fn recovered(group: &Group) -> bool {
    group.origins.get(&Origin::Capture) == Some(&group.sum.kernels)
}

impl Row {
    fn join(&mut self, other: &Self) {
        self.us.0 = self.us.0.saturating_add(other.us.0);
        self.count += other.count;
        self.kernels_of_op = self.kernels_of_op.max(other.kernels_of_op);
        for (origin, count) in &other.shapes_from {
            *self.shapes_from.entry(*origin).or_default() += count;
        }
    }

    /// Frames that say who launched, innermost first.
    pub fn frames(&self) -> impl Iterator<Item = frames::Framed<'_>> {
        self.stack
            .iter()
            .filter_map(|name| frames::parse(name))
            .filter(|frame| !frames::is_passing(frame))
    }
}

fn vendor(recording: &Recording) -> Option<&'static str> {
    let has = |part: &str| recording.header.keys().any(|key| key.starts_with(part));
    if has("roctracer") || has("rocprofiler") || has("hip_") {
        Some("AMD")
    } else if has("cupti") || has("cuda_") {
        Some("NVIDIA")
    } else {
        None
    }
}

fn device(recording: &Recording) -> Option<String> {
    let first = recording.header.get("deviceProperties")?.as_array()?.first()?;
    first.get("name")?.as_str().filter(|name| !name.is_empty()).map(String::from)
}

fn event_rows(recording: &Recording) -> Vec<EventRow> {
    let (mut ops, mut shaped, mut engine, mut frames) = (0, 0, 0, 0);
    let mut is_engine: Vec<Option<bool>> = vec![None; recording.names.len()];
    for lane in &recording.lanes {
        frames += lane.frames.len() as u64;
        for op in &lane.ops {
            let engine_event =
                is_engine[op.name as usize].get_or_insert_with(|| recording.names.text(op.name).starts_with(super::backward::EVALUATE));
            if *engine_event {
                engine += 1;
            } else {
                ops += 1;
                shaped += u64::from(op.shape != NONE);
            }
        }
    }
    let off = !recording.has_shapes();
    let row = |category, count, with_shapes, reason| EventRow {
        category,
        count,
        with_shapes,
        reason,
    };
    let of_ops = if off {
        "`record_shapes` was off"
    } else {
        "recorded without inputs"
    };
    vec![
        row("cpu_op", ops, shaped, of_ops),
        row(
            "cpu_op evaluate_function",
            engine,
            0,
            "the autograd engine passes no inputs: joined with the forward op",
        ),
        row("python_function", frames, 0, "plain Python does not pass the dispatcher"),
        row(
            "cuda_runtime, cuda_driver",
            recording.calls.len() as u64,
            0,
            "a call of the runtime: joined with the op around it",
        ),
        row(
            "kernel",
            recording.kernels.len() as u64,
            0,
            "an event of the GPU: joined with its call by the correlation id",
        ),
        row("gpu_memcpy, gpu_memset", recording.copies.0, 0, "no kernel: in no figure"),
    ]
}
