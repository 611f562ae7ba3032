//! The verbs in order: extract, link, rules, suppress; and fixes in rounds until nothing changes.
//!
//! Values in, values out: whoever reads the disk or holds open buffers calls this.

use crate::extract::extract;
use crate::facts::SyntaxError;
use crate::finding::Finding;

use crate::knowledge::Knowledge;
use crate::link;
use crate::program::{Program, ProgramFile};
use crate::rewrite;
use crate::rules::{self, Rule};
use crate::settings::{Level, Settings, Style};
use crate::source::{Source, Span};
use crate::suppress;
use rayon::prelude::*;

use std::sync::Arc;

/// A file as it goes in.
#[derive(Clone, Debug)]
pub struct InputFile {
    /// Path and text.
    pub source: Arc<Source>,
    /// Why there is no text, if so.
    pub unreadable: Option<String>,
    /// Dotted module name.
    pub module: String,
    /// It is an `__init__` file.
    pub is_package: bool,
    /// Somebody else's code.
    pub vendored: bool,
    /// Tests, benchmarks, examples.
    pub cold: bool,
}

/// All that a check depends on. `files` are sorted by path.
pub struct Input<'a> {
    /// The project's files.
    pub files: Vec<InputFile>,
    /// Other people's APIs.
    pub knowledge: &'a Knowledge,
    /// Choices.
    pub settings: &'a Settings,
    /// Told when a stage ends; the caller holds the clock.
    pub watch: &'a dyn Watch,
}

/// Who wants to know when a stage ends.
pub trait Watch {
    /// A stage has ended.
    fn ended(&self, stage: Stage);
}

impl Watch for () {
    fn ended(&self, _: Stage) {}
}

/// A part of a run, for timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Facts of all files are there.
    Extract,
    /// The program is linked.
    Link,
    /// Rules have looked, ignores are applied.
    Rules,
    /// Fixes of a round are chosen and applied in memory.
    Fix,
}

/// What a check found.
#[derive(Debug)]
pub struct Checked {
    /// The linked project.
    pub program: Program,
    /// Findings that no ignore comment covers, sorted by place.
    pub findings: Vec<Finding>,
    /// Findings that an ignore comment covers.
    pub ignored: Vec<suppress::Ignored>,
}

/// Extracts, links and checks.
pub fn check(input: &Input) -> Checked {
    let files = extract_all(&input.files);
    input.watch.ended(Stage::Extract);
    check_files(files, input)
}

/// Extracts and links only.
pub fn link_only(input: &Input) -> Program {
    let files = extract_all(&input.files);
    input.watch.ended(Stage::Extract);
    let program = link::link(files, input.knowledge, &link_options(input.settings));
    input.watch.ended(Stage::Link);
    program
}

fn check_files(files: Vec<ProgramFile>, input: &Input) -> Checked {
    let program = link::link(files, input.knowledge, &link_options(input.settings));
    input.watch.ended(Stage::Link);
    let checked = judge(program, input.knowledge, input.settings);
    input.watch.ended(Stage::Rules);
    checked
}

/// Runs the rules over a linked program, sets levels, applies ignore comments.
pub fn judge(program: Program, knowledge: &Knowledge, settings: &Settings) -> Checked {
    let mut found = rules::run(&program, knowledge, &rewrite_options(settings), |rule| is_enabled(rule, settings));
    for finding in &mut found {
        if let Some(Some(level)) = rule_named(finding.rule).and_then(|rule| configured_level(rule, settings)) {
            finding.level = level;
        }
    }
    let unused = rules::ALL
        .iter()
        .any(|rule| rule.name == suppress::UNUSED && is_enabled(rule, settings));
    let names: Vec<suppress::RuleName> = rules::ALL
        .iter()
        .map(|rule| suppress::RuleName {
            name: rule.name,
            group: rule.group,
            ran: is_enabled(rule, settings),
        })
        .collect();
    let files: Vec<_> = program.files.iter().map(|file| (&*file.source, &*file.facts)).collect();
    let sorted = suppress::apply(found, &files, &names, unused);
    Checked {
        program,
        findings: sorted.findings,
        ignored: sorted.ignored,
    }
}

fn rule_named(name: &str) -> Option<&'static Rule> {
    rules::ALL.iter().copied().find(|rule| rule.name == name)
}

/// The configured level of a rule: its own before its group's; `Some(None)` is off.
fn configured_level(rule: &Rule, settings: &Settings) -> Option<Option<Level>> {
    settings.levels.get(rule.name).or_else(|| settings.levels.get(rule.group)).copied()
}

fn is_enabled(rule: &Rule, settings: &Settings) -> bool {
    if !settings.only.is_empty() {
        return settings.only.iter().any(|name| name == rule.name || name == rule.group);
    }
    configured_level(rule, settings) != Some(None)
}

fn link_options(settings: &Settings) -> link::Options {
    link::Options {
        torch: settings.torch,
        hot: settings.hot.clone(),
        inference_only: settings.inference_only.clone(),
    }
}

fn rewrite_options(settings: &Settings) -> rewrite::Options {
    let style = match &settings.style {
        Style::Auto => "auto",
        Style::CustomOp => "custom-op",
        Style::TritonOp => "triton-op",
        Style::Library => "library",
        Style::Framework(name) => name,
    };
    rewrite::Options {
        style: style.to_string(),
        namespace: settings.namespace.clone(),
        torch: settings.torch,
    }
}

/// Facts of all files, in parallel, the largest files first so that no thread is left with one at the end.
fn extract_all(files: &[InputFile]) -> Vec<ProgramFile> {
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(files[index].source.text.len()));
    let mut facts: Vec<(usize, ProgramFile)> = order
        .into_par_iter()
        .with_max_len(1)
        .map(|index| (index, extract_one(&files[index])))
        .collect();
    facts.sort_by_key(|(index, _)| *index);
    facts.into_iter().map(|(_, file)| file).collect()
}

/// Facts of one file; a file without text has one syntax error that says why.
pub fn extract_one(file: &InputFile) -> ProgramFile {
    let mut facts = extract(&file.source);
    if let Some(why) = &file.unreadable {
        facts.syntax_errors.insert(
            0,
            SyntaxError {
                span: Span::at(0),
                message: why.clone(),
            },
        );
    }
    ProgramFile {
        source: file.source.clone(),
        facts: Arc::new(facts),
        module: file.module.clone(),
        is_package: file.is_package,
        vendored: file.vendored,
        cold: file.cold,
    }
}
