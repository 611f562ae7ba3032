//! The verbs in order: extract, link, rules, suppress; and fixes in rounds until nothing changes.
//!
//! Values in, values out: whoever reads the disk or holds open buffers calls this.

use crate::extract::extract;
use crate::facts::SyntaxError;
use crate::finding::{Finding, Fix, Safety};
use crate::fix;

use crate::knowledge::Knowledge;
use crate::link;
use crate::program::{LazyFacts, Program, ProgramFile};
use crate::rewrite;
use crate::rules::{self, Rule};
use crate::settings::{Level, Settings, Style};
use crate::source::{FileId, Source, Span};
use crate::store::{Key, Store};
use crate::suppress;
use crate::words::{Word, Words};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

use std::sync::Arc;

/// A file as it goes in.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// It was named itself, not only a folder that holds it: it is read whatever it says.
    pub named: bool,
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
    /// What earlier runs found out. It changes how long a check takes and nothing else.
    pub store: Option<Arc<Store>>,
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
#[derive(Clone, Debug)]
pub struct Checked {
    /// The linked project.
    pub program: Program,
    /// Findings that no ignore comment covers, sorted by place.
    pub findings: Vec<Finding>,
    /// Findings that an ignore comment covers.
    pub ignored: Vec<suppress::Ignored>,
    /// Findings that the baseline accepts.
    pub accepted: Vec<Finding>,
}

/// Extracts, links and checks.
pub fn check(input: &Input) -> Checked {
    let files = extract_all(&input.files, input.store.as_ref());
    input.watch.ended(Stage::Extract);
    check_files(files, input)
}

/// Links files that are extracted already.
pub fn link_extracted(files: Vec<ProgramFile>, knowledge: &Knowledge, settings: &Settings) -> Program {
    link::link(files, knowledge, &link_options(settings))
}

/// What one rule says when fixes are made in another style than the configured one.
pub fn in_style(program: &Program, knowledge: &Knowledge, settings: &Settings, style: &Style, rule: &str) -> Vec<Finding> {
    let options = rewrite::Options {
        style: style_word(style).to_string(),
        ..rewrite_options(settings)
    };
    let mut found = rules::run(program, knowledge, &options, |other| other.name == rule, |_| false);
    for fix in found.iter_mut().filter_map(|finding| finding.fix.as_mut()) {
        spare_vendored(fix, program);
    }
    found
}

/// Extracts and links only.
pub fn link_only(input: &Input) -> Program {
    let files = extract_all(&input.files, input.store.as_ref());
    input.watch.ended(Stage::Extract);
    let program = link::link(files, input.knowledge, &link_options(input.settings));
    input.watch.ended(Stage::Link);
    program
}

/// Which fixes may land.
pub struct Wanted<'a> {
    /// Unsafe ones too.
    pub unsafe_too: bool,
    /// Whether findings in this file are to be fixed. Their fixes may change other files.
    pub reported: &'a dyn Fn(FileId) -> bool,
    /// Whether this file may be changed.
    pub writable: &'a dyn Fn(FileId) -> bool,
}

/// What fixing led to.
#[derive(Debug)]
pub struct Fixed {
    /// What is left, over the new texts.
    pub checked: Checked,
    /// New texts of the files that changed.
    pub texts: BTreeMap<FileId, Arc<Source>>,
    /// What was done, in order.
    pub applied: Vec<Applied>,
    /// What was undone because it would have damaged a file.
    pub undone: Vec<Applied>,
    /// Nothing more was to be done when it ended. When false the result must not be written.
    pub stable: bool,
}

/// A fix that landed, or was undone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Applied {
    /// The file of the finding.
    pub file: FileId,
    /// The rule.
    pub rule: &'static str,
    /// What the fix does.
    pub title: String,
    /// The files that it changes.
    pub files: BTreeSet<FileId>,
}

const MOST_ROUNDS: usize = 10;

/// Checks and fixes in rounds until nothing changes. Works in memory only.
pub fn fix_until_stable(input: &Input, wanted: &Wanted) -> Fixed {
    fix_checked(check(input), input, wanted)
}

/// The same from a check that was made already, over the same texts.
pub fn fix_checked(mut checked: Checked, input: &Input, wanted: &Wanted) -> Fixed {
    let (mut texts, mut applied, mut undone) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
    let mut rounds = 0;
    loop {
        let candidates = candidates(&checked, wanted, &undone);
        if candidates.is_empty() || rounds == MOST_ROUNDS {
            let stable = candidates.is_empty();
            return Fixed {
                checked,
                texts,
                applied,
                undone: undone.into_iter().collect(),
                stable,
            };
        }
        let step = land(&checked.program, &candidates, input);
        applied.extend(step.applied);
        undone.extend(step.undone);
        let mut files = checked.program.files;
        for (id, file) in step.files {
            texts.insert(id, file.source.clone());
            files[id.index()] = file;
        }
        input.watch.ended(Stage::Fix);
        rounds += 1;
        checked = check_files(files, input);
    }
}

/// Fixes that may land, in the order of their findings.
fn candidates<'a>(checked: &'a Checked, wanted: &Wanted, undone: &BTreeSet<Applied>) -> Vec<(Applied, &'a Fix)> {
    let least = if wanted.unsafe_too { Safety::Unsafe } else { Safety::Safe };
    let may = |fix: &Fix| fix.safety >= least && !fix.edits.is_empty() && fix.edits.iter().all(|(file, _)| (wanted.writable)(*file));
    let found = checked.findings.iter().filter(|finding| (wanted.reported)(finding.place.file));
    found
        .filter_map(|finding| {
            let fix = finding.fix.as_ref().filter(|fix| may(fix))?;
            let files = fix.edits.iter().map(|(file, _)| *file).collect();
            let name = Applied {
                file: finding.place.file,
                rule: finding.rule,
                title: fix.title.clone(),
                files,
            };
            (!undone.contains(&name)).then_some((name, fix))
        })
        .collect()
}

/// What a round leads to.
#[derive(Default)]
struct Step {
    files: Vec<(FileId, ProgramFile)>,
    applied: Vec<Applied>,
    undone: Vec<Applied>,
}

/// Lands what can land together. If that adds a syntax error to a file, nothing lands and the fixes to blame are undone for good.
fn land(program: &Program, candidates: &[(Applied, &Fix)], input: &Input) -> Step {
    let sources: Vec<Arc<Source>> = program.files.iter().map(|file| file.source.clone()).collect();
    let fixes: Vec<&Fix> = candidates.iter().map(|(_, fix)| *fix).collect();
    let round = fix::choose(&fixes, &sources);
    let name = |index: &usize| candidates[*index].0.clone();
    let files = extract_changed(round.texts, program, input);
    let damaged: BTreeSet<FileId> = files
        .iter()
        .filter(|(id, file)| is_damaged(program, *id, file))
        .map(|(id, _)| *id)
        .collect();
    let mut undone: Vec<usize> = round.broken;
    if damaged.is_empty() {
        let undone = undone.iter().map(name).collect();
        return Step {
            files,
            applied: round.chosen.iter().map(name).collect(),
            undone,
        };
    }
    let suspects: Vec<usize> = round
        .chosen
        .into_iter()
        .filter(|&index| fixes[index].edits.iter().any(|(file, _)| damaged.contains(file)))
        .collect();
    let alone = |&index: &usize| {
        let texts = fix::choose(&[fixes[index]], &sources).texts;
        extract_changed(texts, program, input)
            .iter()
            .any(|(id, file)| is_damaged(program, *id, file))
    };
    let guilty: Vec<usize> = suspects.iter().copied().filter(alone).collect();
    undone.extend(if guilty.is_empty() { suspects } else { guilty });
    Step {
        undone: undone.iter().map(name).collect(),
        ..Step::default()
    }
}

fn extract_changed(texts: BTreeMap<FileId, String>, program: &Program, input: &Input) -> Vec<(FileId, ProgramFile)> {
    let texts: Vec<_> = texts.into_iter().collect();
    let (inputs, store) = (&input.files, input.store.as_ref());
    texts
        .into_par_iter()
        .map(|(id, text)| {
            let source = Arc::new(Source::new(program.file(id).source.path.clone(), text));
            let file = InputFile {
                source,
                unreadable: None,
                ..inputs[id.index()].clone()
            };
            (id, extract_one(&file, store))
        })
        .collect()
}

fn is_damaged(program: &Program, id: FileId, after: &ProgramFile) -> bool {
    after.facts.syntax_errors.len() > program.file(id).facts.syntax_errors.len()
}

/// A fix never changes somebody else's code: there it is only shown.
fn spare_vendored(fix: &mut Fix, program: &Program) {
    let Some((file, _)) = fix.edits.iter().find(|(file, _)| program.file(*file).vendored) else {
        return;
    };
    if fix.safety > Safety::Shown {
        fix.safety = Safety::Shown;
        fix.reasons
            .push(format!("`{}` is a copy of somebody else's code", program.file(*file).source.path));
    }
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
    let mut found = rules::run(
        &program,
        knowledge,
        &rewrite_options(settings),
        |rule| is_enabled(rule, settings),
        |rule| is_selected(rule, settings),
    );
    for finding in &mut found {
        let Some(rule) = rule_named(finding.rule) else { continue };
        if let Some(Some(level)) = level_in(rule, &program.file(finding.place.file).source.path, settings) {
            // A finding that is milder than its rule, for being cold or uncertain, is not raised above that.
            finding.level = if finding.level < rule.level {
                level.min(finding.level)
            } else {
                level
            };
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
    let speaks = Word::of("opwright");
    let speaking = (0..program.files.len()).filter(|&i| program.files[i].words.has(speaks));
    let speaking: Vec<FileId> = speaking.map(|i| FileId(i as u32)).collect();
    let file = |id: FileId| (&*program.file(id).source, &*program.file(id).facts);
    let mut sorted = suppress::apply(found, &file, &speaking, &names, unused);
    let is_on = |finding: &Finding| {
        let path = &program.file(finding.place.file).source.path;
        rule_named(finding.rule).is_none_or(|rule| level_in(rule, path, settings) != Some(None))
    };
    if !settings.path_levels.is_empty() {
        sorted.findings.retain(is_on);
    }
    let split = suppress::baseline::split(sorted.findings, &settings.accepted, &file);
    sorted.findings = split.left;
    for finding in &mut sorted.findings {
        if let Some(fix) = &mut finding.fix {
            spare_vendored(fix, &program);
        }
    }
    Checked {
        program,
        findings: sorted.findings,
        ignored: sorted.ignored,
        accepted: split.accepted,
    }
}

fn rule_named(name: &str) -> Option<&'static Rule> {
    rules::ALL.iter().copied().find(|rule| rule.name == name)
}

/// The configured level of a rule: its own before its group's; `Some(None)` is off.
fn configured_level(rule: &Rule, settings: &Settings) -> Option<Option<Level>> {
    settings.levels.get(rule.name).or_else(|| settings.levels.get(rule.group)).copied()
}

/// The level of a rule in a file: what is configured for the file wins; `Some(None)` is off.
fn level_in(rule: &Rule, path: &str, settings: &Settings) -> Option<Option<Level>> {
    let own = settings.path_levels.get(path);
    let own = own.and_then(|levels| levels.get(rule.name).or_else(|| levels.get(rule.group)).copied());
    own.or_else(|| configured_level(rule, settings))
}

fn is_enabled(rule: &Rule, settings: &Settings) -> bool {
    if !settings.only.is_empty() {
        return settings.only.iter().any(|name| name == rule.name || name == rule.group);
    }
    let somewhere = |levels: &BTreeMap<String, Option<Level>>| {
        [rule.name, rule.group]
            .iter()
            .any(|name| levels.get(*name).is_some_and(Option::is_some))
    };
    configured_level(rule, settings) != Some(None) || settings.path_levels.values().any(somewhere)
}

/// The rule itself is named, on the command line or in the configuration.
fn is_selected(rule: &Rule, settings: &Settings) -> bool {
    settings.only.iter().any(|name| name == rule.name) || settings.levels.contains_key(rule.name)
}

fn link_options(settings: &Settings) -> link::Options {
    link::Options {
        torch: settings.torch,
        hot: settings.hot.clone(),
        inference_only: settings.inference_only.clone(),
        vendored: settings
            .vendored
            .iter()
            .filter(|v| !v.contains(['/', '*', '?', '[']))
            .cloned()
            .collect(),
    }
}

/// A style as `--style` takes it.
pub fn style_word(style: &Style) -> &str {
    match style {
        Style::Auto => "auto",
        Style::CustomOp => "custom-op",
        Style::TritonOp => "triton-op",
        Style::Library => "library",
        Style::Framework(name) => name,
    }
}

fn rewrite_options(settings: &Settings) -> rewrite::Options {
    rewrite::Options {
        style: style_word(&settings.style).to_string(),
        namespace: settings.namespace.clone(),
        torch: settings.torch,
        newest_torch: settings.newest_torch,
        width: settings.line_length,
    }
}

/// The words of all files, in parallel; their facts wait until somebody asks.
pub fn extract_all(files: &[InputFile], store: Option<&Arc<Store>>) -> Vec<ProgramFile> {
    files.par_iter().map(|file| extract_one(file, store)).collect()
}

/// One file, its facts to be made, or found, when asked for; a file without text has one syntax error that says why.
pub fn extract_one(file: &InputFile, store: Option<&Arc<Store>>) -> ProgramFile {
    let (source, unreadable) = (file.source.clone(), file.unreadable.clone());
    let kept = store
        .filter(|_| !source.text.is_empty())
        .map(|store| (store.clone(), Key::of(&source)));
    let words = kept.as_ref().and_then(|(store, key)| store.words(*key));
    let words = words.unwrap_or_else(|| Words::of(&source.text));
    let make = move || {
        let found = kept.as_ref().and_then(|(store, key)| store.facts(*key));
        let mut facts = found.unwrap_or_else(|| extract(&source));
        if let Some(why) = &unreadable {
            facts.syntax_errors.insert(
                0,
                SyntaxError {
                    span: Span::at(0),
                    message: why.clone(),
                },
            );
        }
        facts
    };
    ProgramFile {
        source: file.source.clone(),
        words: Arc::new(words),
        facts: LazyFacts::new(make),
        module: file.module.clone(),
        is_package: file.is_package,
        vendored: file.vendored,
        cold: file.cold,
        named: file.named || file.unreadable.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Edit;

    fn program(texts: &[&str]) -> (Program, Vec<InputFile>) {
        let file = |(index, text): (usize, &&str)| InputFile {
            source: Arc::new(Source::new(format!("f{index}.py"), *text)),
            unreadable: None,
            module: format!("f{index}"),
            is_package: false,
            vendored: false,
            cold: false,
            named: false,
        };
        let inputs: Vec<InputFile> = texts.iter().enumerate().map(file).collect();
        (
            Program {
                files: extract_all(&inputs, None),
                ..Program::default()
            },
            inputs,
        )
    }

    fn fix(edits: &[(u32, Edit)]) -> Fix {
        let edits = edits.iter().map(|(file, edit)| (FileId(*file), edit.clone())).collect();
        Fix {
            title: "change".into(),
            safety: Safety::Safe,
            reasons: Vec::new(),
            edits,
            claims: Vec::new(),
        }
    }

    fn named(rule: &'static str) -> Applied {
        Applied {
            file: FileId(0),
            rule,
            title: "change".into(),
            files: BTreeSet::new(),
        }
    }

    #[test]
    fn a_fix_that_breaks_a_file_is_undone_and_named_and_the_round_with_it() {
        let (program, inputs) = program(&["x = 1\n", "y = 1\n"]);
        let (knowledge, settings) = (Knowledge::embedded(), Settings::default());
        let input = Input {
            files: inputs,
            knowledge: &knowledge,
            settings: &settings,
            watch: &(),
            store: None,
        };
        let good = fix(&[(0, Edit::insert(0, "import os\n"))]);
        let bad = fix(&[(0, Edit::insert(6, "z = 2\n")), (1, Edit::insert(4, "("))]);
        let step = land(&program, &[(named("good"), &good), (named("bad"), &bad)], &input);
        assert_eq!((step.applied.len(), step.files.len(), step.undone), (0, 0, vec![named("bad")]));
        let step = land(&program, &[(named("good"), &good)], &input);
        assert_eq!(&*step.files[0].1.source.text, "import os\nx = 1\n");
        assert_eq!((step.applied, step.undone), (vec![named("good")], vec![]));
    }

    #[test]
    fn two_fixes_that_only_together_break_a_file_are_both_undone() {
        let (program, inputs) = program(&["x = (1)\n"]);
        let (knowledge, settings) = (Knowledge::embedded(), Settings::default());
        let input = Input {
            files: inputs,
            knowledge: &knowledge,
            settings: &settings,
            watch: &(),
            store: None,
        };
        let one = fix(&[(0, Edit::replace(Span::new(0, 1), "if x:\n  x"))]);
        let two = fix(&[(0, Edit::insert(8, "\n x\n"))]);
        let step = land(&program, &[(named("one"), &one), (named("two"), &two)], &input);
        assert!(step.applied.is_empty() && !step.undone.is_empty());
    }

    #[test]
    fn copies_of_somebody_elses_code_are_never_changed() {
        let (mut program, _) = program(&["x = 1\n"]);
        program.files[0].vendored = true;
        let mut fix = fix(&[(0, Edit::insert(0, "y"))]);
        spare_vendored(&mut fix, &program);
        assert_eq!((fix.safety, fix.reasons.len()), (Safety::Shown, 1));
    }
}
