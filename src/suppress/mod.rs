//! `# opwright: ignore[rule] reason`: findings that somebody has judged already, and comments that no longer ignore anything.

pub mod baseline;
mod insert;

pub use insert::ignore;

use crate::facts::{Directive, Facts, Function, FunctionKind};
use crate::finding::{Certainty, Edit, Finding, Fix, Level, Safety};
use crate::source::{FileId, Place, Source, Span};
use std::collections::BTreeMap;

/// The rule that reports comments which ignore nothing or cannot be read.
pub const UNUSED: &str = "unused-ignore";

/// A rule as comments name it.
#[derive(Clone, Copy, Debug)]
pub struct RuleName<'a> {
    /// The rule.
    pub name: &'a str,
    /// Its group.
    pub group: &'a str,
    /// It ran: a comment that names it and ignores nothing is unused.
    pub ran: bool,
}

/// A finding that a comment covers.
#[derive(Clone, Debug)]
pub struct Ignored {
    /// The finding.
    pub finding: Finding,
    /// The comment's reason.
    pub reason: String,
}

/// Findings, split by what comments say.
#[derive(Debug, Default)]
pub struct Sorted {
    /// To be reported, sorted by place.
    pub findings: Vec<Finding>,
    /// Covered by a comment.
    pub ignored: Vec<Ignored>,
}

/// Text and facts of a file, asked for when needed.
pub type FileOf<'f, 'a> = &'f dyn Fn(FileId) -> (&'a Source, &'a Facts);

/// Splits the findings. With `report_unused`, comments that cover nothing become findings.
///
/// `speaking` are the files that may hold such comments, sorted; only of these and of files with findings is `file` asked.
pub fn apply<'a>(found: Vec<Finding>, file: FileOf<'_, 'a>, speaking: &[FileId], rules: &[RuleName], report_unused: bool) -> Sorted {
    let mut sorted = Sorted::default();
    let comments_of = |id: FileId| {
        let (source, facts) = file(id);
        facts.directives.iter().map(|d| Comment::new(d, source, facts)).collect()
    };
    let mut comments: BTreeMap<FileId, Vec<Comment>> = speaking.iter().map(|&id| (id, comments_of(id))).collect();
    for finding in found {
        let Some(comments) = comments.get_mut(&finding.place.file).filter(|c| !c.is_empty()) else {
            sorted.findings.push(finding);
            continue;
        };
        let (source, facts) = file(finding.place.file);
        let group = rules.iter().find(|rule| rule.name == finding.rule).map_or("", |rule| rule.group);
        let lines = lines_of(&finding, source, facts);
        let mut hit = None;
        for comment in comments {
            if let Some(index) = comment.covers(finding.rule, group, &lines) {
                comment.used[index] = true;
                hit = hit.or(Some(comment.directive.reason.clone()));
            }
        }
        match hit {
            Some(reason) => sorted.ignored.push(Ignored { finding, reason }),
            None => sorted.findings.push(finding),
        }
    }
    if report_unused {
        for (&id, comments) in &comments {
            let (source, _) = file(id);
            let found: Vec<Finding> = comments.iter().flat_map(|comment| comment.complaints(id, source, rules)).collect();
            // An `ignore-file[unused-ignore]` speaks of these too.
            let silenced = comments
                .iter()
                .any(|c| c.directive.malformed.is_none() && c.directive.whole_file && c.names(UNUSED, "meta"));
            sorted.findings.extend(found.into_iter().filter(|_| !silenced));
        }
        sorted
            .findings
            .sort_by(|a, b| (a.place, a.rule, &a.message).cmp(&(b.place, b.rule, &b.message)));
    }
    sorted
}

/// A directive and what it reaches.
struct Comment<'a> {
    directive: &'a Directive,
    /// The line that it speaks of; 0 for the whole file.
    line: u32,
    /// Per rule name: it covered something.
    used: Vec<bool>,
}

impl<'a> Comment<'a> {
    fn new(directive: &'a Directive, source: &Source, facts: &Facts) -> Self {
        let line = match (directive.whole_file, directive.own_line) {
            (true, _) => 0,
            (false, true) => next_code_line(source, directive.span.end),
            (false, false) => source.line(directive.span.start),
        };
        let line = if line == 0 { 0 } else { header_line(line, source, facts) };
        Self {
            directive,
            line,
            used: vec![false; directive.rules.len()],
        }
    }

    fn names(&self, rule: &str, group: &str) -> bool {
        self.directive.rules.iter().any(|(name, _)| name == rule || name == group)
    }

    /// The index of the name that covers a finding.
    fn covers(&self, rule: &str, group: &str, lines: &[u32]) -> Option<usize> {
        if self.directive.malformed.is_some() || !(self.line == 0 || lines.contains(&self.line)) {
            return None;
        }
        self.directive.rules.iter().position(|(name, _)| name == rule || name == group)
    }

    fn complaints(&self, file: FileId, source: &Source, rules: &[RuleName]) -> Vec<Finding> {
        if let Some(why) = &self.directive.malformed {
            let help = "write `# opwright: ignore[rule] reason`";
            return vec![complaint(
                file,
                self.directive.span,
                format!("this ignore comment has no effect: {why}"),
                Some(help.into()),
            )];
        }
        let mut found = Vec::new();
        let mut unused = Vec::new();
        for (index, (name, span)) in self.directive.rules.iter().enumerate() {
            let known: Vec<&RuleName> = rules.iter().filter(|rule| rule.name == name || rule.group == name).collect();
            if known.is_empty() {
                let help = suggestion(name, rules).map(|n| format!("did you mean `{n}`?"));
                found.push(complaint(file, *span, format!("unknown rule `{name}` in an ignore comment"), help));
            } else if !self.used[index] && name != UNUSED && known.iter().all(|rule| rule.ran) {
                unused.push(index);
            }
        }
        if let Some(first) = unused.first() {
            let names: Vec<String> = unused.iter().map(|&index| format!("`{}`", self.directive.rules[index].0)).collect();
            let message = format!("nothing to ignore for {}", names.join(", "));
            let mut finding = complaint(file, self.directive.rules[*first].1, message, None);
            finding.fix = removal(self.directive, &unused, source).map(|edit| Fix {
                title: "remove what ignores nothing".into(),
                safety: Safety::Safe,
                reasons: Vec::new(),
                claims: vec![(file, edit.span)],
                edits: vec![(file, edit)],
            });
            finding.help = finding
                .fix
                .is_none()
                .then(|| "remove the comment, or the name from its list".into());
            found.push(finding);
        }
        found
    }
}

/// Takes names out of a comment, or the comment out of the file when no name is left. A comment that says more is left alone.
fn removal(directive: &Directive, unused: &[usize], source: &Source) -> Option<Edit> {
    let rules = &directive.rules;
    let kept: Vec<&str> = (0..rules.len())
        .filter(|index| !unused.contains(index))
        .map(|index| rules[index].0.as_str())
        .collect();
    if !kept.is_empty() {
        let (first, last) = (rules.first()?.1, rules.last()?.1);
        return Some(Edit::replace(first.to(last), kept.join(", ")));
    }
    let written = source.slice(directive.span);
    if directive.reason.contains('#') || !written.trim_start_matches(['#', ' ', '\t']).starts_with("opwright") {
        return None;
    }
    if directive.own_line {
        return Some(Edit::replace(
            Span::new(source.line_start(directive.span.start), source.line_end(directive.span.start)),
            "",
        ));
    }
    let before = &source.text[source.line_start(directive.span.start) as usize..directive.span.start as usize];
    let blank = before.len() - before.trim_end().len();
    Some(Edit::replace(
        Span::new(directive.span.start - blank as u32, directive.span.end),
        "",
    ))
}

fn complaint(file: FileId, span: Span, message: String, help: Option<String>) -> Finding {
    Finding {
        rule: UNUSED,
        level: Level::Warning,
        certainty: Certainty::Certain,
        message,
        help,
        place: Place { file, span },
        primary: String::new(),
        labels: Vec::new(),
        notes: Vec::new(),
        fix: None,
        heat: 0,
    }
}

fn suggestion(unknown: &str, rules: &[RuleName]) -> Option<String> {
    let known = rules.iter().flat_map(|rule| [rule.name, rule.group]);
    let scored = known.map(|word| (strsim::jaro_winkler(unknown, word), word));
    scored
        .filter(|(score, _)| *score > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, word)| word.to_string())
}

/// The line of the first code below a comment line: blank lines and further comments are passed over; 0 at the end of the file
/// would mean the whole file, so the end is a line that no finding has.
fn next_code_line(source: &Source, after: u32) -> u32 {
    let mut line = source.line(after) + 1;
    while let Some(start) = source.lines().start_of(line) {
        let text = &source.text[start as usize..source.line_end(start) as usize];
        let text = text.trim();
        if !text.is_empty() && !text.starts_with('#') {
            return line;
        }
        line += 1;
    }
    u32::MAX
}

/// The first line of the function whose decorators or `def` stand on `line`; `line` itself elsewhere.
fn header_line(line: u32, source: &Source, facts: &Facts) -> u32 {
    let hit = headers(facts).find(|f| {
        let (first, last) = header_lines(f, source);
        first <= line && line <= last
    });
    hit.map_or(line, |f| header_lines(f, source).0)
}

/// Lines on which a comment covers a finding: where it is, where its statement begins, and where its function's header begins
/// when the finding is about the function.
fn lines_of(finding: &Finding, source: &Source, facts: &Facts) -> Vec<u32> {
    let line = source.line(finding.place.span.start);
    let mut lines = vec![line, header_line(line, source, facts), source.line(finding.place.span.end)];
    lines.extend(statement_line(finding.place.span, source, facts));
    lines
}

fn headers(facts: &Facts) -> impl Iterator<Item = &Function> {
    facts
        .functions
        .iter()
        .filter(|f| matches!(f.kind, FunctionKind::Def | FunctionKind::AsyncDef))
}

/// The first and last line of a function's decorators and header.
fn header_lines(f: &Function, source: &Source) -> (u32, u32) {
    (source.line(f.span.start), source.line(f.header.end))
}

/// The first line of the innermost statement around a span.
fn statement_line(span: Span, source: &Source, facts: &Facts) -> Option<u32> {
    let around = |f: &&Function| f.kind == FunctionKind::Module || f.span.contains(span);
    let statements = facts.functions.iter().filter(around).flat_map(|f| &f.body.statements);
    let inner = statements
        .filter(|s| s.span.contains(span))
        .min_by_key(|s| s.span.end - s.span.start)?;
    Some(source.line(inner.span.start))
}
