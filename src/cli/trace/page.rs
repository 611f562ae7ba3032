//! A trace's report as a page.

use crate::report::html::{Bar, Cell, ClassOf, Column, Detail, Node, Page, Part, Row, Tone};
use crate::trace::compare::{Change, Comparison, all_rows};
use crate::trace::report::{ClassRow, FindingRow, FixRow, Report, Row as TraceRow, SourceRow};
use crate::trace::text::{count, mutates, origin_words, percent, time};
use crate::trace::{Class, frames};
use std::collections::BTreeMap;

fn classes() -> Vec<ClassOf> {
    let about = |class| match class {
        Class::Shaped => (Tone::Good, "the innermost op around the launch has shapes"),
        Class::UnshapedOp => (Tone::Warn, "an op is around the launch, its event has no shapes"),
        Class::Bypass => (Tone::Bad, "no op is around the launch: it went past the dispatcher"),
        Class::Graph => (Tone::Info, "replayed from a graph: its ops ran at capture"),
        Class::Orphan => (Tone::Mute, "the launching call is not in the trace"),
    };
    let of = |class: Class| ClassOf {
        key: class.word(),
        title: class.title(),
        tone: about(class).0,
        about: about(class).1,
    };
    Class::ALL.into_iter().map(of).collect()
}

fn bar(name: &str, of: impl Fn(Class) -> ClassRow) -> Bar {
    let part = |class: Class| Part {
        class: class.word(),
        value: of(class).us.0 as f64,
        label: time(of(class).us),
        count: format!("{} kernels", count(of(class).kernels)),
    };
    Bar {
        name: name.to_string(),
        parts: Class::ALL.into_iter().map(part).collect(),
    }
}

/// One trace, or the ranks of one run.
pub(super) fn of_report(report: &Report) -> Page {
    let total = report.kernel_us.0.max(1) as f64;
    let first = report.files.first();
    let title = match (first, report.files.len()) {
        (Some(file), 1) => base(&file.file).into(),
        (Some(file), n) => format!("{} and {} more", base(&file.file), n - 1),
        (None, _) => String::new(),
    };
    let mut about: Vec<String> = Vec::new();
    if let Some(file) = first {
        about.extend(file.device.clone().or(file.vendor.map(String::from)));
        about.push(format!("{} events", count(report.files.iter().map(|file| file.events).sum())));
        about.push(if file.record_shapes { "shapes on" } else { "shapes off" }.into());
        about.push(if file.with_stack { "stacks on" } else { "stacks off" }.into());
    }
    about.push(format!("{} kernels, {}", count(report.kernels), time(report.kernel_us)));
    let columns = [
        ("kernel", false),
        ("op or frame", false),
        ("time", true),
        ("share", true),
        ("count", true),
    ];
    let mut notes = report.warnings.clone();
    notes.extend(report.events.iter().filter(|row| row.count > 0).map(|row| {
        let missing = if row.count > row.with_shapes {
            format!(": {}", row.reason)
        } else {
            String::new()
        };
        format!(
            "{}: {} of {} with shapes{missing}",
            row.category,
            count(row.with_shapes),
            count(row.count)
        )
    }));
    let mut rows: Vec<&TraceRow> = all_rows(report).collect();
    // What lacks shapes comes first: that is what the page is for.
    rows.sort_by_key(|row| (row.class == Class::Shaped, -row.us.0));
    Page {
        title,
        subtitle: about.join(" · "),
        headline: (
            percent(report.class(Class::Shaped).us.0 as f64 / total),
            "of kernel time has shapes".into(),
        ),
        classes: classes(),
        bars: vec![bar("", |class| report.class(class))],
        tree: Some(tree(report)),
        table_title: "Kernels".into(),
        columns: columns.map(|(title, number)| Column { title, number }).to_vec(),
        rows: rows.into_iter().map(|row| table_row(row, total)).collect(),
        notes,
    }
}

fn table_row(row: &TraceRow, total: f64) -> Row {
    let us = row.us.0 as f64;
    let place = row.source.as_ref().map(|source| source.qualname.clone());
    let frame = || row.frame.as_deref().map(frames::short);
    let place = row.op.clone().or(place).or_else(frame).or_else(|| row.call.clone());
    Row {
        class: row.class.word(),
        cells: vec![
            Cell::text(row.kernel.clone()),
            Cell::text(place.unwrap_or_default()),
            Cell::number(time(row.us), us),
            Cell::number(percent(us / total), us),
            Cell::number(count(row.count), row.count as f64),
        ],
        details: details(row),
    }
}

fn details(row: &TraceRow) -> Vec<Detail> {
    let mut details = Vec::new();
    let mut say = |title: &str, text: Option<&str>| details.extend(text.map(|text| Detail::text(title, text)));
    say("why", row.reason);
    say("backward", row.no_forward);
    if row.finding.is_none() {
        say("what to do", row.advice);
    }
    let outer = row.outer_op.as_deref().filter(|outer| row.op.as_deref() != Some(outer));
    say("outermost op", outer);
    if row.kernels_of_op > 1 {
        say(
            "shared",
            Some(&format!("up to {} kernels share one event of the op", row.kernels_of_op)),
        );
    }
    for (origin, n) in &row.shapes_from {
        say(
            "shapes",
            Some(&format!("{} of {} from {}", count(*n), count(row.count), origin_words(*origin))),
        );
    }
    say("frame", row.frame.as_deref());
    say("call", row.call.as_deref());
    if let Some(source) = &row.source {
        say("source", Some(&format!("{}:{} {}", source.file, source.line, source.qualname)));
        say("found by", Some(source.matched));
        let others = source.others.join(", ");
        say("or", Some(others.as_str()).filter(|others| !others.is_empty()));
        say("mutates", Some(&mutates(row)));
    }
    say("source not found", row.not_in_source.as_deref());
    if let Some(finding) = &row.finding {
        details.extend(of_finding(finding));
    }
    details.extend(row.source.as_ref().map(of_source));
    if let Some(fix) = row.finding.as_ref().and_then(|finding| finding.fix.as_ref()) {
        details.extend(of_fix(fix));
    }
    details
}

/// A finding's sentences.
pub(in crate::cli) fn of_finding(finding: &FindingRow) -> Vec<Detail> {
    let mut details = vec![Detail::text(
        "finding",
        format!("{} ({}): {}", finding.rule, finding.level, finding.message),
    )];
    details.extend(finding.help.as_ref().map(|help| Detail::text("help", help.clone())));
    if let Some(fix) = &finding.fix {
        details.push(Detail::text("fix", format!("{} ({})", fix.title, fix.safety)));
        details.extend(fix.reasons.iter().map(|reason| Detail::text("", reason.clone())));
    }
    details
}

/// The lines around a launch.
pub(in crate::cli) fn of_source(source: &SourceRow) -> Detail {
    Detail::Code {
        title: format!("{}:{}", source.file, source.line),
        first: source.snippet.0,
        mark: source.line,
        text: source.snippet.1.clone(),
    }
}

/// What a fix changes.
pub(in crate::cli) fn of_fix(fix: &FixRow) -> Option<Detail> {
    (!fix.diff.is_empty()).then(|| Detail::Diff {
        title: format!("{} ({})", fix.title, fix.safety),
        text: fix.diff.clone(),
    })
}

/// All → class → op, function or frame → kernel.
fn tree(report: &Report) -> Node {
    let mut classes: BTreeMap<Class, BTreeMap<String, BTreeMap<&str, i64>>> = BTreeMap::new();
    for row in all_rows(report) {
        let place = row
            .op
            .clone()
            .or_else(|| row.source.as_ref().map(|source| source.qualname.clone()))
            .or_else(|| row.frame.as_deref().map(frames::short))
            .or_else(|| row.call.clone())
            .unwrap_or_else(|| "unknown".into());
        let kernels = classes.entry(row.class).or_default().entry(place).or_default();
        *kernels.entry(&row.kernel).or_default() += row.us.0;
    }
    let mut parts: Vec<Node> = Vec::new();
    for (class, places) in classes {
        let of_place = |(place, kernels): (String, BTreeMap<&str, i64>)| {
            let leaf = |(kernel, ns): (&str, i64)| node(kernel, class.word(), ns as f64, Vec::new());
            sum(&place, class.word(), kernels.into_iter().map(leaf).collect())
        };
        parts.push(sum(class.title(), class.word(), places.into_iter().map(of_place).collect()));
    }
    sum("all kernel time", "", parts)
}

fn node(name: &str, class: &'static str, ns: f64, parts: Vec<Node>) -> Node {
    Node {
        name: name.to_string(),
        class,
        value: ns,
        label: time(crate::trace::report::Micros(ns as i64)),
        parts,
    }
}

fn sum(name: &str, class: &'static str, mut parts: Vec<Node>) -> Node {
    parts.sort_by(|a, b| b.value.total_cmp(&a.value).then_with(|| a.name.cmp(&b.name)));
    let value = parts.iter().map(|part| part.value).sum();
    node(name, class, value, parts)
}

/// A file's name without its folders.
fn base(file: &str) -> &str {
    file.rsplit(['/', '\\']).next().unwrap_or(file)
}

/// Names of two files; with their folders where these alone tell them apart.
fn title(before: &str, after: &str) -> String {
    let names = (base(before), base(after));
    let (before, after) = if names.0 == names.1 { (before, after) } else { names };
    format!("{before} → {after}")
}

/// Two traces.
pub(super) fn of_comparison(comparison: &Comparison) -> Page {
    let of = |class: Class| comparison.classes.iter().find(|row| row.class == class);
    let shaped = of(Class::Shaped);
    let change = shaped.map_or(0.0, |row| (row.share_after - row.share_before) * 100.0);
    let tone = |key, title, tone, about| ClassOf { key, title, tone, about };
    let mut all = classes();
    all.push(tone("gained", "gained", Tone::Good, "more of its time has shapes"));
    all.push(tone("lost", "lost", Tone::Bad, "less of its time has shapes"));
    all.push(tone("before", "only before", Tone::Mute, "only in the first trace"));
    all.push(tone("after", "only after", Tone::Info, "only in the second trace"));
    let lists = [
        ("lost", &comparison.lost),
        ("gained", &comparison.gained),
        ("before", &comparison.only_before),
        ("after", &comparison.only_after),
    ];
    let columns = [
        ("kernel", false),
        ("op or frame", false),
        ("shaped before", true),
        ("shaped after", true),
        ("time before", true),
        ("time after", true),
    ];
    Page {
        title: title(&comparison.before, &comparison.after),
        subtitle: "share of kernel time by class, before and after".into(),
        headline: (format!("{change:+.2} pt"), "of kernel time with shapes".into()),
        classes: all,
        bars: vec![
            bar("before", |class| of(class).map(|row| row.before).unwrap_or_default()),
            bar("after", |class| of(class).map(|row| row.after).unwrap_or_default()),
        ],
        tree: None,
        table_title: "What changed".into(),
        columns: columns.map(|(title, number)| Column { title, number }).to_vec(),
        rows: lists
            .into_iter()
            .flat_map(|(class, list)| list.iter().map(move |change| change_row(class, change)))
            .collect(),
        notes: comparison.warnings.clone(),
    }
}

fn change_row(class: &'static str, change: &Change) -> Row {
    let part = |part: Option<f64>| Cell::number(part.map_or("–".into(), percent), part.unwrap_or(-1.0));
    let frame = || change.frame.as_deref().map(frames::short);
    let op = change
        .op_after
        .clone()
        .or_else(|| change.op_before.clone().filter(|_| change.shaped_after.is_none()));
    let place = op.or_else(frame).unwrap_or_default();
    Row {
        class,
        cells: vec![
            Cell::text(change.kernel.clone()),
            Cell::text(place),
            part(change.shaped_before),
            part(change.shaped_after),
            Cell::number(time(change.us_before), change.us_before.0 as f64),
            Cell::number(time(change.us_after), change.us_after.0 as f64),
        ],
        details: Vec::new(),
    }
}
