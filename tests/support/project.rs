//! A project in a scratch folder, read as the command line reads it.

#![allow(dead_code, unreachable_pub)] // each test crate uses its part

use opwright::finding::{Finding, Level};
use opwright::pipeline::{self, Checked, Fixed, Input, InputFile, Stage, Wanted, Watch};
use opwright::project::config::RuleNames;
use opwright::project::{self, Request};
use opwright::rules;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// A project, read.
pub struct TestProject {
    read: project::Project,
}

/// One finding, as tests compare it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    pub path: String,
    pub line: u32,
    pub level: &'static str,
    pub rule: String,
    pub message: String,
}

struct Silent;

impl Watch for Silent {
    fn ended(&self, _stage: Stage) {}
}

impl TestProject {
    /// Reads a project of texts. The files are written in the given order, which must not matter.
    pub fn of<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>, settings: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::write(folder.path().join("opwright.toml"), settings.unwrap_or_default()).unwrap();
        Self::at(folder.path(), "auto")
    }

    /// Reads the project in a folder.
    pub fn at(root: &Path, style: &str) -> Self {
        let mut names: Vec<&str> = rules::ALL.iter().flat_map(|rule| [rule.name, rule.group]).collect();
        names.sort_unstable();
        names.dedup();
        let style = (style != "auto").then(|| style.to_owned());
        let request = Request {
            root: Some(root.to_owned()),
            style,
            ..Request::default()
        };
        let read = project::read(&request, root, RuleNames(&names)).unwrap_or_else(|failure| panic!("{failure}"));
        Self { read }
    }

    /// Paths and texts, sorted by path.
    pub fn texts(&self) -> Vec<(String, Box<str>)> {
        self.read
            .files
            .iter()
            .map(|f| (f.source.path.clone(), f.source.text.clone()))
            .collect()
    }

    /// The same project with another text in one file.
    pub fn with_text(&self, index: usize, text: &str) -> Vec<InputFile> {
        let mut files = self.files();
        files[index].source = Arc::new(opwright::source::Source::new(files[index].source.path.clone(), text));
        files
    }

    /// The files as the pipeline takes them.
    pub fn files(&self) -> Vec<InputFile> {
        let input = |f: &project::File| InputFile {
            source: f.source.clone(),
            unreadable: f.unreadable.clone(),
            module: f.module.clone(),
            is_package: f.is_package,
            vendored: f.vendored,
            cold: f.cold,
            named: f.named,
        };
        self.read.files.iter().map(input).collect()
    }

    /// What goes into the pipeline.
    pub fn input(&self, files: Vec<InputFile>) -> Input<'_> {
        Input {
            files,
            knowledge: &self.read.knowledge,
            settings: &self.read.settings,
            watch: &Silent,
            store: None,
        }
    }

    /// Fixes the project in memory, from these files on.
    pub fn fix(&self, files: Vec<InputFile>, unsafe_too: bool) -> Fixed {
        let wanted = Wanted {
            unsafe_too,
            reported: &|_| true,
            writable: &|_| true,
        };
        pipeline::fix_until_stable(&self.input(files), &wanted)
    }

    /// The files with the new texts of a fix.
    pub fn files_after(&self, fixed: &Fixed) -> Vec<InputFile> {
        let mut files = self.files();
        for (id, source) in &fixed.texts {
            files[id.index()].source = source.clone();
        }
        files
    }

    /// Checks the project.
    pub fn check(&self) -> Checked {
        pipeline::check(&self.input(self.files()))
    }
}

/// The findings of a check, sorted.
pub fn rows(checked: &Checked) -> Vec<Row> {
    let mut rows: Vec<Row> = checked.findings.iter().map(|finding| row(checked, finding)).collect();
    rows.sort();
    rows
}

/// One finding of a check.
pub fn row(checked: &Checked, finding: &Finding) -> Row {
    let source = &checked.program.file(finding.place.file).source;
    Row {
        path: source.path.clone(),
        line: source.line(finding.place.span.start),
        level: word(finding.level),
        rule: finding.rule.to_owned(),
        message: finding.message.clone(),
    }
}

/// The word for a level in marks.
pub fn word(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "note",
    }
}
