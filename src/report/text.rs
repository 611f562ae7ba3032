//! Findings for people: with the source and the places that prove them, or one line each.

use super::{Files, counts, level_word, plural};
use crate::finding::{Certainty, Finding, Fix, Level, Safety};
use crate::source::{FileId, Span};
use codespan_reporting::diagnostic::{Diagnostic, Label, Severity};
use codespan_reporting::files::{Error, Files as CodespanFiles};
use codespan_reporting::term::{self, Config, termcolor::Buffer};
use std::fmt::Write;
use std::ops::Range;

/// Findings with their sources, one block each.
pub fn full(findings: &[Finding], files: Files, colours: bool) -> String {
    let config = Config {
        tab_width: 4,
        ..Config::default()
    };
    let sources = Sources(files);
    let mut out = if colours { Buffer::ansi() } else { Buffer::no_color() };
    for finding in findings {
        let diagnostic = diagnostic(finding, files);
        if term::emit_to_write_style(&mut out, &config, &sources, &diagnostic).is_err() {
            // A finding is never lost to its picture.
            let _ = std::io::Write::write_all(&mut out, one_line(finding, files).as_bytes());
        }
    }
    String::from_utf8_lossy(out.as_slice()).into_owned()
}

/// The same text with each rule's page behind the words that name it, for terminals that show links.
pub fn linked(text: &str, findings: &[Finding]) -> String {
    let rules: std::collections::BTreeSet<&str> = findings.iter().map(|finding| finding.rule).collect();
    let link = |text: String, rule: &&str| {
        let words = format!("opwright explain {rule}\n");
        let (words, url) = (words.as_str(), super::rule_url(rule));
        text.replace(words, &format!("\x1b]8;;{url}\x1b\\{}\x1b]8;;\x1b\\\n", words.trim_end()))
    };
    rules.iter().fold(text.to_string(), link)
}

/// Findings, one line each: `file:line:column: level[rule] message`.
pub fn concise(findings: &[Finding], files: Files) -> String {
    findings.iter().map(|finding| one_line(finding, files)).collect()
}

fn one_line(finding: &Finding, files: Files) -> String {
    let ((line, column), _) = files.positions(finding.place.file, finding.place.span);
    let fixable = finding.fix.as_ref().map_or("", |fix| match fix.safety {
        Safety::Safe => " [fix: safe]",
        Safety::Unsafe => " [fix: unsafe]",
        Safety::Shown => "",
    });
    let (name, level) = (files.name(finding.place.file), level_word(finding.level));
    format!(
        "{name}:{line}:{column}: {level}[{}] {}{fixable}\n",
        finding.rule,
        finding.message.replace('\n', " ")
    )
}

fn diagnostic(finding: &Finding, files: Files) -> Diagnostic<FileId> {
    let severity = match finding.level {
        Level::Note => Severity::Note,
        Level::Warning => Severity::Warning,
        Level::Error => Severity::Error,
    };
    let place = finding.place;
    let mut labels = vec![Label::primary(place.file, range(files, place.file, place.span)).with_message(&finding.primary)];
    for label in &finding.labels {
        let range = range(files, label.place.file, label.place.span);
        labels.push(Label::secondary(label.place.file, range).with_message(&label.message));
    }
    Diagnostic::new(severity)
        .with_code(finding.rule)
        .with_message(&finding.message)
        .with_labels(labels)
        .with_notes(notes(finding))
}

/// What to do, what is not certain, what a fix would do, where to read on.
fn notes(finding: &Finding) -> Vec<String> {
    let mut notes: Vec<String> = finding.help.iter().map(|help| format!("help: {}", indented(help))).collect();
    notes.extend(finding.notes.iter().map(|note| indented(note)));
    if finding.certainty == Certainty::Likely {
        notes.push("likely, not certain: something could not be seen".into());
    }
    let is_said = |fix: &Fix| {
        fix.edits.is_empty()
            && fix
                .reasons
                .iter()
                .all(|reason| finding.notes.iter().any(|note| note.contains(reason)))
    };
    if let Some(fix) = finding.fix.as_ref().filter(|fix| !is_said(fix)) {
        let how = match fix.safety {
            Safety::Safe => "fix (safe, --fix applies it)",
            Safety::Unsafe => "fix (unsafe, --fix --unsafe applies it)",
            Safety::Shown => "fix (not applied)",
        };
        let new = fix
            .reasons
            .iter()
            .filter(|reason| !finding.notes.iter().any(|note| note.contains(*reason)));
        let reasons: String = new.map(|reason| format!("\n  - {}", indented(reason))).collect();
        notes.push(format!("{how}: {}{reasons}", fix.title));
    }
    notes.push(format!("read on: opwright explain {}", finding.rule));
    notes
}

fn indented(text: &str) -> String {
    text.trim().replace('\n', "\n  ")
}

/// A span that is sure to lie in the text, at characters. Of several lines the first is enough to find it.
fn range(files: Files, file: FileId, span: Span) -> Range<usize> {
    let text = &files.source(file).text;
    let floor = |at: u32| {
        (0..=(at as usize).min(text.len()))
            .rev()
            .find(|&at| text.is_char_boundary(at))
            .unwrap_or(0)
    };
    let (start, end) = (floor(span.start), floor(span.end));
    let end = end.max(start);
    let line = text[start..end].find(['\n', '\r']).map_or(end, |length| start + length);
    start..line
}

/// The last line of a report that changed nothing.
pub fn summary(findings: &[Finding], files_checked: usize) -> String {
    if findings.is_empty() {
        return format!("no findings in {}\n", plural(files_checked, "file"));
    }
    let mut out = format!("{} in {}", counts(findings), plural(files_checked, "file"));
    out.push_str(&fixable(findings));
    out.push('\n');
    out
}

/// Which flags would fix something: `; 3 fixes with --fix, 2 more with --fix --unsafe`.
fn fixable(findings: &[Finding]) -> String {
    let (safe, risky) = (with_fix(findings, Safety::Safe), with_fix(findings, Safety::Unsafe));
    match (safe, risky) {
        (0, 0) => String::new(),
        (safe, 0) => format!("; {} with --fix", plural(safe, "fix")),
        (0, risky) => format!("; {} with --fix --unsafe", plural(risky, "fix")),
        (safe, risky) => format!("; {} with --fix, {risky} more with --fix --unsafe", plural(safe, "fix")),
    }
}

/// How many findings carry a fix of this safety that has edits.
pub fn with_fix(findings: &[Finding], safety: Safety) -> usize {
    findings
        .iter()
        .filter_map(|f| f.fix.as_ref())
        .filter(|fix| fix.safety == safety && !fix.edits.is_empty())
        .count()
}

/// A table of how often each rule fired, most frequent first.
pub fn statistics(findings: &[Finding]) -> String {
    let mut out = String::new();
    let rows = super::json::statistics_rows(findings);
    let width = rows.iter().map(|row| row.count.to_string().len()).max().unwrap_or(1);
    for row in rows {
        let fixes = match (row.safe_fixes, row.unsafe_fixes) {
            (0, 0) => String::new(),
            (safe, risky) => format!("  ({safe} safe, {risky} unsafe fixes)"),
        };
        let _ = writeln!(out, "{:>width$}  {:<8} {}{fixes}", row.count, level_word(row.level), row.rule);
    }
    out
}

/// The sources as the renderer wants them.
struct Sources<'a>(Files<'a>);

impl<'a> CodespanFiles<'a> for Sources<'a> {
    type FileId = FileId;
    type Name = &'a str;
    type Source = &'a str;

    fn name(&'a self, id: FileId) -> Result<&'a str, Error> {
        Ok(self.0.name(id))
    }

    fn source(&'a self, id: FileId) -> Result<&'a str, Error> {
        Ok(&self.0.source(id).text)
    }

    fn line_index(&'a self, id: FileId, byte_index: usize) -> Result<usize, Error> {
        Ok(self.0.source(id).line(byte_index as u32) as usize - 1)
    }

    fn column_number(&'a self, id: FileId, _: usize, byte_index: usize) -> Result<usize, Error> {
        Ok(self.0.source(id).position(byte_index as u32).1 as usize)
    }

    fn line_range(&'a self, id: FileId, line_index: usize) -> Result<Range<usize>, Error> {
        let source = self.0.source(id);
        let start = source.lines().start_of(line_index as u32 + 1);
        let start = start.ok_or(Error::LineTooLarge {
            given: line_index,
            max: source.line(u32::MAX) as usize,
        })?;
        Ok(start as usize..source.line_end(start) as usize)
    }
}
