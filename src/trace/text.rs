//! A report for a terminal.

use super::compare::{Change, Comparison};
use super::coverage::{Class, Origin};
use super::report::{ClassRow, Micros, Report, Row};
use std::fmt::Write;

/// Rows that are told in full; the rest is counted.
const MOST_ROWS: usize = 12;
const BAR: usize = 64;

/// Codes of colours; all empty when there are none.
#[derive(Clone, Copy)]
struct Paint(bool);

impl Paint {
    fn in_(self, code: &str, text: &str) -> String {
        if self.0 {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }

    fn bold(self, text: &str) -> String {
        self.in_("1", text)
    }

    fn dim(self, text: &str) -> String {
        self.in_("2", text)
    }

    fn class(self, class: Class, text: &str) -> String {
        self.in_(
            match class {
                Class::Shaped => "32",
                Class::UnshapedOp => "33",
                Class::Bypass => "1;31",
                Class::Graph => "36",
                Class::Orphan => "2",
            },
            text,
        )
    }
}

/// The report of one trace, or of the ranks of one run.
pub fn render(report: &Report, colours: bool) -> String {
    let paint = Paint(colours);
    let mut out = head(report, paint);
    if report.kernels > 0 {
        out += &bar(report, paint);
        out += &classes(report, paint);
    }
    out += &rows(report, paint);
    out += &events(report, paint);
    out += &warnings(&report.warnings, paint);
    out
}

fn head(report: &Report, paint: Paint) -> String {
    let Some(first) = report.files.first() else { return String::new() };
    let mut about = Vec::new();
    about.extend(first.device.clone().or(first.vendor.map(String::from)));
    about.push(format!("{} events", count(report.files.iter().map(|file| file.events).sum())));
    about.push(on("shapes", report.files.iter().all(|file| file.record_shapes)));
    about.push(on("stacks", report.files.iter().all(|file| file.with_stack)));
    let name = match report.files.len() {
        1 => first.file.clone(),
        n => format!("{} and {} more", first.file, n - 1),
    };
    format!("{}\n{}\n", paint.bold(&name), paint.dim(&about.join(" · ")))
}

fn on(what: &str, is_on: bool) -> String {
    format!("{what} {}", if is_on { "on" } else { "off" })
}

/// The coverage in one line: a character for each 64th of the time, and at least one for each class that has any.
fn bar(report: &Report, paint: Paint) -> String {
    let total = report.kernel_us.0.max(1) as f64;
    let mut widths: Vec<(Class, usize)> = Class::ALL
        .iter()
        .map(|&class| (class, report.class(class)))
        .filter(|(_, row)| row.kernels > 0)
        .map(|(class, row)| (class, ((row.us.0 as f64 / total * BAR as f64).round() as usize).max(1)))
        .collect();
    let sum: usize = widths.iter().map(|(_, width)| width).sum();
    if let Some((_, most)) = widths.iter_mut().max_by_key(|(_, width)| *width) {
        *most = (*most + BAR).saturating_sub(sum).max(1);
    }
    let glyph = |class| match class {
        Class::Shaped => "█",
        Class::UnshapedOp => "▓",
        Class::Bypass => "▒",
        Class::Graph => "░",
        Class::Orphan => "·",
    };
    let parts = widths
        .iter()
        .map(|(class, width)| paint.class(*class, &glyph(*class).repeat(*width)));
    let shaped = report.class(Class::Shaped).us.0 as f64 / total;
    format!(
        "\n{}  {} of kernel time has shapes\n",
        parts.collect::<String>(),
        paint.bold(&percent(shaped))
    )
}

fn classes(report: &Report, paint: Paint) -> String {
    let mut out = String::new();
    for class in Class::ALL {
        let row = report.class(class);
        let line = format!(
            "  {:<18} {:>9}  {:>11}  {:>7}",
            class.title(),
            count(row.kernels),
            time(row.us),
            share(row, report)
        );
        let line = if row.kernels == 0 {
            paint.dim(&line)
        } else {
            paint.class(class, &line)
        };
        let _ = writeln!(out, "{line}");
        if class == Class::Graph && report.recovered.kernels > 0 {
            let row = report.recovered;
            let line = format!(
                "    {:<16} {:>9}  {:>11}  {:>7}",
                "from the capture",
                count(row.kernels),
                time(row.us),
                share(row, report)
            );
            let _ = writeln!(out, "{}", paint.dim(&line));
        }
    }
    let line = format!("  {:<18} {:>9}  {:>11}", "all", count(report.kernels), time(report.kernel_us));
    let _ = writeln!(out, "{}", paint.bold(&line));
    out
}

fn rows(report: &Report, paint: Paint) -> String {
    if report.without_shapes.is_empty() {
        return String::new();
    }
    let mut out = format!("\n{}\n", paint.bold("Without shapes, by GPU time"));
    let mut told = Vec::new();
    for (number, row) in report.without_shapes.iter().take(MOST_ROWS).enumerate() {
        out += &one_row(number + 1, row, report, &mut told, paint);
    }
    let rest = &report.without_shapes[MOST_ROWS.min(report.without_shapes.len())..];
    if !rest.is_empty() {
        let us = Micros(rest.iter().map(|row| row.us.0).sum());
        let _ = writeln!(
            out,
            "\n{}",
            paint.dim(&format!(
                "     and {} more, {} (--output-format json lists all)",
                rest.len(),
                time(us)
            ))
        );
    }
    out
}

/// `told`: reasons that stood there before, which are not repeated.
fn one_row(number: usize, row: &Row, report: &Report, told: &mut Vec<&'static str>, paint: Paint) -> String {
    let share = share(
        ClassRow {
            kernels: row.count,
            us: row.us,
        },
        report,
    );
    let figures = format!("{:>10}  {share:>7}  {:>6}×", time(row.us), count(row.count));
    let mut out = format!(
        "\n{number:>4} {figures}  {}  {}\n",
        paint.class(row.class, row.class.title()),
        paint.bold(&shorten(&row.kernel, 90))
    );
    let mut line = |name: &str, text: &str| {
        let _ = writeln!(out, "       {} {}", paint.dim(&format!("{name:<9}")), text);
    };
    if let Some(op) = &row.op {
        let outer = row.outer_op.as_ref().filter(|outer| *outer != op);
        let outer = outer.map_or(String::new(), |outer| format!(", in {outer}"));
        let sharing = if row.kernels_of_op > 1 {
            format!(" (up to {} kernels share one event)", row.kernels_of_op)
        } else {
            String::new()
        };
        line("op", &clean(&format!("{op}{outer}{sharing}")));
    }
    if let Some(frame) = &row.frame {
        line("frame", &clean(frame));
    }
    if let Some(source) = &row.source {
        line(
            "source",
            &format!("{}:{} {}", source.file, source.line, paint.bold(&source.qualname)),
        );
        line("", &paint.dim(&format!("found by {}", source.matched)));
        for other in source.others.iter().take(3) {
            line("", &paint.dim(&format!("or {other}: it fits as well, its line is farther away")));
        }
        line("mutates", &mutates(row));
    } else if let Some(wanted) = &row.not_in_source {
        line("source", &format!("not found: {}", clean(wanted)));
    }
    if let Some(finding) = &row.finding {
        line("finding", &format!("{}: {}", paint.in_("33", &finding.rule), finding.message));
        if let Some(fix) = &finding.fix {
            let how = match fix.safety.as_str() {
                "safe" => "safe: opwright check --fix",
                "unsafe" => "unsafe: opwright check --fix --unsafe",
                _ => "not applied",
            };
            line("fix", &format!("{} ({how})", fix.title));
            for reason in fix.reasons.iter().take(2) {
                line("", &paint.dim(reason));
            }
        }
    }
    let again = row.reason.is_some_and(|reason| told.contains(&reason));
    told.extend(row.reason);
    if let (Some(reason), false) = (row.reason, again) {
        line("why", reason);
    }
    if let Some(missing) = row.no_forward {
        line("", missing);
    }
    for (origin, n) in &row.shapes_from {
        line("shapes", &format!("of {n} from {}", origin_words(*origin)));
    }
    if let (Some(advice), None, false) = (row.advice, &row.finding, again) {
        line("do", advice);
    }
    out
}

/// What the function of a row mutates, for people.
pub fn mutates(row: &Row) -> String {
    let Some(source) = &row.source else { return String::new() };
    let mut parts: Vec<String> = Vec::new();
    let names = |list: &[String]| list.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if !source.mutates.is_empty() {
        parts.push(names(&source.mutates));
    }
    if !source.mutates_state.is_empty() {
        parts.push(format!("state {}", names(&source.mutates_state)));
    }
    if !source.unresolved.is_empty() {
        parts.push(format!("not known: {}", names(&source.unresolved)));
    }
    match (parts.is_empty(), source.registered) {
        (true, None) => "not known: no launch of it is in view there".into(),
        (true, Some(_)) => "nothing".into(),
        (false, _) => parts.join("; "),
    }
}

/// Where shapes come from, for people.
pub fn origin_words(origin: Origin) -> &'static str {
    match origin {
        Origin::Op => "the op",
        Origin::ForwardByFlow => "the forward op, through the profiler's arrow",
        Origin::ForwardBySequence => "the forward op, through Sequence number and thread",
        Origin::OuterOp => "an op farther out",
        Origin::Capture => "the capture's trace",
        Origin::ExternalId => "the op that the kernel names (External id)",
    }
}

fn events(report: &Report, paint: Paint) -> String {
    let mut out = format!("\n{}\n", paint.bold("Events"));
    for row in report.events.iter().filter(|row| row.count > 0) {
        let left = row.count - row.with_shapes;
        let why = if left == 0 { "" } else { row.reason };
        let of = format!("{} of {}", count(row.with_shapes), count(row.count));
        let _ = writeln!(out, "  {:<26} {of:>22} with shapes  {}", row.category, paint.dim(why));
    }
    out
}

fn warnings(warnings: &[String], paint: Paint) -> String {
    warnings
        .iter()
        .map(|warning| format!("\n{} {warning}", paint.in_("33", "warning:")))
        .collect::<String>()
        + if warnings.is_empty() { "" } else { "\n" }
}

/// Two reports side by side.
pub fn compare(comparison: &Comparison, colours: bool) -> String {
    let paint = Paint(colours);
    let mut out = format!(
        "{}\n\n  {:<18} {:>13} {:>13} {:>13}\n",
        paint.bold(&format!("{} → {}", comparison.before, comparison.after)),
        "share of time",
        "before",
        "after",
        "change"
    );
    for row in &comparison.classes {
        let line = format!(
            "  {:<18} {:>13} {:>13} {:>+11.2} pt",
            row.class.title(),
            percent(row.share_before),
            percent(row.share_after),
            (row.share_after - row.share_before) * 100.0
        );
        let _ = writeln!(out, "{}", paint.class(row.class, &line));
    }
    out += &changes("Gained shapes", "32", &comparison.gained, paint);
    out += &changes("Lost shapes", "1;31", &comparison.lost, paint);
    if comparison.gained.is_empty() && comparison.lost.is_empty() {
        out += "\nNo kernel gained or lost shapes\n";
    }
    let only = |list: &[Change], what: &str| match list.len() {
        0 => String::new(),
        n => format!("{}\n", paint.dim(&format!("{n} kernels are only in the trace {what}"))),
    };
    out + "\n" + &only(&comparison.only_before, "before") + &only(&comparison.only_after, "after") + &warnings(&comparison.warnings, paint)
}

fn changes(title: &str, code: &str, list: &[Change], paint: Paint) -> String {
    if list.is_empty() {
        return String::new();
    }
    let mut out = format!("\n{}\n", paint.in_(code, title));
    for change in list.iter().take(MOST_ROWS * 2) {
        let _ = writeln!(
            out,
            "  {:>8} → {:>8}  {:>10}  {}",
            percent(change.shaped_before.unwrap_or(0.0)),
            percent(change.shaped_after.unwrap_or(0.0)),
            time(change.us_after),
            paint.bold(&shorten(&change.kernel, 90))
        );
        if let Some(op) = &change.op_after {
            let _ = writeln!(
                out,
                "  {:>8}   {:>8}  {:>10}  {}",
                "",
                "",
                "",
                paint.dim(&clean(&format!("now in {op}")))
            );
        }
    }
    if list.len() > MOST_ROWS * 2 {
        let _ = writeln!(out, "  and {} more", list.len() - MOST_ROWS * 2);
    }
    out
}

fn share(row: ClassRow, report: &Report) -> String {
    percent(row.us.0 as f64 / report.kernel_us.0.max(1) as f64)
}

/// `99.95 %`; what is there is never told as nothing, what is missing never as all.
pub fn percent(part: f64) -> String {
    let value = part * 100.0;
    if value > 0.0 && value < 0.005 {
        "<0.01 %".into()
    } else if (99.995..100.0).contains(&value) {
        ">99.99 %".into()
    } else {
        format!("{value:.2} %")
    }
}

/// A time in the unit that suits it.
pub fn time(us: Micros) -> String {
    let ns = us.0 as f64;
    if ns >= 1e9 {
        format!("{:.2} s", ns / 1e9)
    } else if ns >= 1e6 {
        format!("{:.2} ms", ns / 1e6)
    } else {
        format!("{:.1} µs", ns / 1e3)
    }
}

/// A count with thin groups: `12 345`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// A text of the trace without what a terminal would obey.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The name of a kernel on one line: template arguments go first.
pub fn shorten(name: &str, most: usize) -> String {
    let flat = clean(name);
    if flat.chars().count() <= most {
        return flat;
    }
    let cut: String = flat.chars().take(most - 1).collect();
    cut + "…"
}
