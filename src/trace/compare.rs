//! Two traces: which kernels gained shapes, which lost them.

use super::coverage::Class;
use super::report::{ClassRow, Micros, Report, Row};
use serde::Serialize;
use std::collections::BTreeMap;

/// What changed between two reports.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Comparison {
    /// Version of opwright.
    pub version: &'static str,
    /// The first trace.
    pub before: String,
    /// The second.
    pub after: String,
    /// By class.
    pub classes: Vec<ClassChange>,
    /// Kernels of whose time a greater part has shapes now; most time first.
    pub gained: Vec<Change>,
    /// Kernels of whose time a smaller part has.
    pub lost: Vec<Change>,
    /// Kernels that are only in the first trace.
    pub only_before: Vec<Change>,
    /// Kernels that are only in the second.
    pub only_after: Vec<Change>,
    /// Warnings of both.
    pub warnings: Vec<String>,
}

/// A class, before and after.
#[derive(Clone, Debug, Serialize)]
pub struct ClassChange {
    /// Which.
    pub class: Class,
    /// Figures of the first trace.
    pub before: ClassRow,
    /// Figures of the second.
    pub after: ClassRow,
    /// Part of the kernel time, from 0 to 1.
    pub share_before: f64,
    /// Part of the kernel time, from 0 to 1.
    pub share_after: f64,
}

/// A kernel, before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Its name.
    pub kernel: String,
    /// Part of its time that has shapes; null: it is not there.
    pub shaped_before: Option<f64>,
    /// The same, after.
    pub shaped_after: Option<f64>,
    /// Its time, before.
    pub us_before: Micros,
    /// Its time, after.
    pub us_after: Micros,
    /// Its classes, before.
    pub classes_before: Vec<Class>,
    /// Its classes, after.
    pub classes_after: Vec<Class>,
    /// The op that told its shapes, before.
    #[serde(skip)]
    pub op_before: Option<String>,
    /// The op that tells its shapes, after.
    pub op_after: Option<String>,
    /// The frame that launched it past the dispatcher, where it has no shapes.
    pub frame: Option<String>,
}

/// A kernel's figures in one report.
#[derive(Default)]
struct Side<'a> {
    total: i64,
    count: u64,
    shaped: i64,
    shaped_count: u64,
    classes: Vec<Class>,
    op: Option<&'a str>,
    frame: Option<&'a str>,
}

impl Side<'_> {
    /// By time; by count where the time is zero.
    fn part(&self) -> f64 {
        if self.total > 0 {
            self.shaped as f64 / self.total as f64
        } else {
            self.shaped_count as f64 / self.count.max(1) as f64
        }
    }
}

/// Compares two reports.
pub fn compare(before: &Report, after: &Report) -> Comparison {
    let (one, two) = (sides(before), sides(after));
    let mut comparison = Comparison {
        version: env!("CARGO_PKG_VERSION"),
        before: name(before),
        after: name(after),
        classes: Class::ALL.iter().map(|&class| class_change(class, before, after)).collect(),
        warnings: [&before.warnings[..], &after.warnings[..]].concat(),
        ..Comparison::default()
    };
    let names: std::collections::BTreeSet<&str> = one.keys().chain(two.keys()).copied().collect();
    for kernel in names {
        let (old, new) = (one.get(kernel), two.get(kernel));
        let change = change(kernel, old, new);
        match (change.shaped_before, change.shaped_after) {
            (Some(_), None) => comparison.only_before.push(change),
            (None, _) => comparison.only_after.push(change),
            // A kernel may be launched from several places, so that its mixture varies a little from step to step.
            (Some(a), Some(b)) if b > a + 0.001 => comparison.gained.push(change),
            (Some(a), Some(b)) if b < a - 0.001 => comparison.lost.push(change),
            (Some(_), Some(_)) => {}
        }
    }
    for list in [
        &mut comparison.gained,
        &mut comparison.lost,
        &mut comparison.only_before,
        &mut comparison.only_after,
    ] {
        list.sort_by(|a, b| (b.us_after.max(b.us_before), &a.kernel).cmp(&(a.us_after.max(a.us_before), &b.kernel)));
    }
    comparison
}

fn name(report: &Report) -> String {
    report.files.first().map(|file| file.file.clone()).unwrap_or_default()
}

fn sides(report: &Report) -> BTreeMap<&str, Side<'_>> {
    let mut sides: BTreeMap<&str, Side> = BTreeMap::new();
    for row in report.with_shapes.iter().chain(&report.without_shapes) {
        let side = sides.entry(&row.kernel).or_default();
        side.total = side.total.saturating_add(row.us.0);
        side.count += row.count;
        if !side.classes.contains(&row.class) {
            side.classes.push(row.class);
        }
        if row.class == Class::Shaped {
            side.shaped = side.shaped.saturating_add(row.us.0);
            side.shaped_count += row.count;
            side.op = side.op.or(row.op.as_deref());
        } else {
            side.frame = side.frame.or(row.frame.as_deref());
        }
    }
    sides.values_mut().for_each(|side| side.classes.sort_unstable());
    sides
}

fn change(kernel: &str, old: Option<&Side>, new: Option<&Side>) -> Change {
    Change {
        kernel: kernel.to_string(),
        shaped_before: old.map(Side::part),
        shaped_after: new.map(Side::part),
        us_before: Micros(old.map_or(0, |side| side.total)),
        us_after: Micros(new.map_or(0, |side| side.total)),
        classes_before: old.map(|side| side.classes.clone()).unwrap_or_default(),
        classes_after: new.map(|side| side.classes.clone()).unwrap_or_default(),
        op_before: old.and_then(|side| side.op).map(String::from),
        op_after: new.and_then(|side| side.op).map(String::from),
        frame: new.or(old).and_then(|side| side.frame).map(String::from),
    }
}

fn class_change(class: Class, before: &Report, after: &Report) -> ClassChange {
    let part = |report: &Report| report.class(class).us.0 as f64 / report.kernel_us.0.max(1) as f64;
    ClassChange {
        class,
        before: before.class(class),
        after: after.class(class),
        share_before: part(before),
        share_after: part(after),
    }
}

impl Comparison {
    /// As JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("rows have string keys only")
    }
}

/// Rows of a report, those with shapes too.
pub fn all_rows(report: &Report) -> impl Iterator<Item = &Row> {
    report.without_shapes.iter().chain(&report.with_shapes)
}
