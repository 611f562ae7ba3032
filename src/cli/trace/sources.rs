//! `--source`: the projects whose code launched, checked as `opwright check` does.

use super::super::Run;
use super::super::args::Trace as Args;
use crate::finding::{Finding, Fix, Safety};
use crate::fix::{self, diff};
use crate::pipeline::{self, Checked};
use crate::program::{FunctionRef, Program};
use crate::project::{Failure, Request};
use crate::report::level_word;
use crate::source::{Place, Source};
use crate::trace::Class;
use crate::trace::report::{FindingRow, FixRow, Report, Row, SourceRow};
use crate::trace::source::{Locator, finding_of};
use std::path::PathBuf;
use std::sync::Arc;

/// A checked project.
pub(super) struct Project {
    run: Run,
    checked: Checked,
    findings: Vec<Finding>,
}

/// Checks the projects.
pub(super) fn check(args: &Args) -> Result<Vec<Project>, Failure> {
    let check = |folder: &PathBuf| {
        if !folder.is_dir() {
            return Err(Failure(format!("--source {}: no such folder", folder.display())));
        }
        let request = Request {
            paths: vec![folder.clone()],
            root: args.common.root.clone(),
            style: args.style.clone(),
            ..Request::default()
        };
        let run = Run::start(&request, args.common.cache(), false)?;
        let mut checked = pipeline::check(&run.input());
        let mut findings = std::mem::take(&mut checked.findings);
        run.keep(&checked.program);
        findings.extend(checked.ignored.iter().map(|ignored| ignored.finding.clone()));
        Ok(Project { run, checked, findings })
    };
    args.source.iter().map(check).collect()
}

/// Fills in where the kernels without shapes are launched, and what is to be said of that.
pub(super) fn fill(report: &mut Report, projects: &[Project]) {
    let locators: Vec<Locator> = projects.iter().map(|project| Locator::new(&project.checked.program)).collect();
    let tellers: Vec<Teller> = projects
        .iter()
        .map(|project| Teller::new(&project.run, &project.checked.program))
        .collect();
    for row in &mut report.without_shapes {
        if matches!(row.class, Class::Graph | Class::Orphan) {
            continue;
        }
        let frames: Vec<_> = row.frames().collect();
        let found = locators
            .iter()
            .zip(projects)
            .zip(&tellers)
            .filter_map(|((locator, project), teller)| {
                let located = locator.locate(&frames, &row.kernel)?;
                Some((located, project, teller))
            });
        let best = found.min_by_key(|(located, ..)| located.matched);
        let Some((located, project, teller)) = best else {
            row.not_in_source = (row.class == Class::Bypass).then(|| wanted(row));
            continue;
        };
        let mut source = teller.source(located.function, located.place, located.matched.words());
        source.others = located.others.iter().map(|&other| teller.name(other)).collect();
        let finding = finding_of(&project.checked.program, &project.findings, &located);
        (row.source, row.finding) = (Some(source), finding.map(|finding| teller.finding(finding)));
    }
}

/// What a bypass was searched by.
fn wanted(row: &Row) -> String {
    match row.frames().next() {
        Some(frame) => {
            let file = frame.path.rsplit(['/', '\\']).next().unwrap_or(frame.path);
            format!(
                "the sources have neither `{}` in a file {file} nor a launch of this kernel",
                frame.function
            )
        }
        None => "the sources have no launch of this kernel, or several, and the trace has no frame to choose by".into(),
    }
}

/// Tells functions and findings of a project as rows.
pub(in crate::cli) struct Teller<'a> {
    run: &'a Run,
    program: &'a Program,
    sources: Vec<Arc<Source>>,
}

impl<'a> Teller<'a> {
    pub(in crate::cli) fn new(run: &'a Run, program: &'a Program) -> Self {
        let sources = run.sources();
        Self { run, program, sources }
    }

    /// A function's name and line.
    fn name(&self, function: FunctionRef) -> String {
        let place = self.program.name_place(function);
        let line = self.program.file(place.file).source.line(place.span.start);
        format!(
            "{} ({}:{line})",
            self.program.qualname(function),
            self.run.names[place.file.index()]
        )
    }

    /// A function, with the lines around a place in it.
    pub(in crate::cli) fn source(&self, function: FunctionRef, place: Place, matched: &'static str) -> SourceRow {
        let program = self.program;
        let func = program.func(function);
        let params = |list: Vec<u16>| {
            list.into_iter()
                .map(|param| program.param_name(function, param).to_string())
                .collect()
        };
        let source = &program.file(place.file).source;
        SourceRow {
            file: self.run.names[place.file.index()].clone(),
            line: source.line(place.span.start),
            qualname: program.qualname(function).to_string(),
            matched,
            others: Vec::new(),
            mutates: params(
                func.map(|f| f.mutates.iter().map(|write| write.param).collect())
                    .unwrap_or_default(),
            ),
            mutates_state: func.map(|f| f.mutates_state.clone()).unwrap_or_default(),
            unresolved: params(
                func.map(|f| f.unresolved.iter().map(|(param, _)| *param).collect())
                    .unwrap_or_default(),
            ),
            registered: func.map(|f| f.registration.word()),
            snippet: snippet(source, place.span.start, place.span.end),
        }
    }

    pub(in crate::cli) fn finding(&self, finding: &Finding) -> FindingRow {
        let file = finding.place.file;
        FindingRow {
            rule: finding.rule.to_string(),
            level: level_word(finding.level).to_string(),
            message: finding.message.clone(),
            help: finding.help.clone(),
            file: self.run.names[file.index()].clone(),
            line: self.program.file(file).source.line(finding.place.span.start),
            fix: finding.fix.as_ref().map(|fix| FixRow {
                safety: safety_word(fix.safety).to_string(),
                title: fix.title.clone(),
                reasons: fix.reasons.clone(),
                diff: self.diff(fix),
            }),
        }
    }

    /// What a fix alone changes.
    fn diff(&self, fix: &Fix) -> String {
        let changed = fix::choose(&[fix], &self.sources).texts;
        let parts = changed.iter().map(|(file, text)| {
            let name = &self.run.names[file.index()];
            diff::unified(name, &self.sources[file.index()].text, text)
        });
        parts.collect()
    }
}

fn safety_word(safety: Safety) -> &'static str {
    match safety {
        Safety::Safe => "safe",
        Safety::Unsafe => "unsafe",
        Safety::Shown => "shown",
    }
}

/// Some lines around a place, with the number of the first.
fn snippet(source: &Source, start: u32, end: u32) -> (u32, String) {
    const AROUND: u32 = 3;
    const MOST: u32 = 14;
    let (line, last) = (source.line(start), source.line(end));
    let first = line.saturating_sub(AROUND).max(1);
    let last = last.min(first + MOST) + AROUND;
    let from = source.lines().start_of(first).unwrap_or(0) as usize;
    let to = source.lines().start_of(last + 1).map_or(source.text.len(), |to| to as usize);
    (first, source.text.get(from..to).unwrap_or_default().trim_end().to_string())
}
