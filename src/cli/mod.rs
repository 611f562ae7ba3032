//! The command line: arguments, one file per subcommand, printing, exit codes.

mod args;
mod baseline;
mod check;
mod clean;
mod explain;
mod inventory;
mod inventory_page;
mod kept;
mod pages;
mod surroundings;
mod trace;

use crate::finding::Finding;
use crate::pipeline::{Input, InputFile, Stage, Watch};
use crate::program::Program;
use crate::project::cache::{Cache, Place};
use crate::project::config::RuleNames;
use crate::project::{self, Failure, Project, Request, root};
use crate::rules;
use crate::source::{FileId, Source};
use crate::store::{Printed, Report};
use args::{Cli, Color, Command};
use clap::Parser;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

const FAILED: u8 = 2;

/// Runs the command line; returns the exit code (0 clean, 1 findings, 2 could not do the job).
/// `serve` serves an editor and returns the exit code.
pub fn run(args: impl IntoIterator<Item = std::ffi::OsString>, serve: fn() -> u8) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { FAILED } else { 0 };
            // A reader that has gone away has seen enough.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let mut out = Output::default();
    let result = match &cli.command {
        Command::Check(args) => check::run(args, &mut out),
        Command::Inventory(args) => inventory::run(args, &mut out),
        Command::Trace(args) => trace::run(args, &mut out),
        Command::Explain(args) => explain::rule(args, &mut out),
        Command::Knowledge(args) => explain::knowledge(args, &mut out),
        Command::Config(args) => explain::config(args, &mut out),
        Command::Baseline(args) => baseline::run(args, &mut out),
        Command::Clean(args) => clean::run(args, &mut out),
        Command::Completions(args) => pages::completions(args, &mut out),
        Command::Man(args) => pages::man(args, &mut out),
        Command::Server(_) => return ExitCode::from(serve()),
    };
    match result {
        Ok(code) => out.end(code),
        Err(failure) => {
            out.complain(&format!("opwright: error: {failure}"));
            ExitCode::from(FAILED)
        }
    }
}

/// Where a command prints. A broken pipe is no failure: the reader has seen enough.
#[derive(Debug, Default)]
pub(crate) struct Output {
    failed: Option<std::io::Error>,
    /// What was printed, where that is to be kept.
    kept: RefCell<Option<Vec<Printed>>>,
}

impl Output {
    fn write(&mut self, text: &str) {
        if let Some(kept) = self.kept.get_mut() {
            kept.push(Printed::Output(text.to_string()));
        }
        if self.failed.is_some() {
            return;
        }
        let mut stdout = std::io::stdout().lock();
        if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            self.failed = Some(error);
        }
    }

    fn complain(&self, text: &str) {
        if let Some(kept) = &mut *self.kept.borrow_mut() {
            kept.push(Printed::Complaint(text.to_string()));
        }
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }

    /// Prints what an earlier run has printed; returns its exit code.
    fn again(&mut self, report: &Report) -> u8 {
        for printed in &report.printed {
            match printed {
                Printed::Output(text) => self.write(text),
                Printed::Complaint(text) => self.complain(text),
            }
        }
        report.code
    }

    fn end(self, code: u8) -> ExitCode {
        match &self.failed {
            Some(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                self.complain(&format!("opwright: error: cannot write the output: {error}"));
                ExitCode::from(FAILED)
            }
            Some(_) | None => ExitCode::from(code),
        }
    }
}

/// A project with what printing needs.
struct Run {
    project: Project,
    /// Paths relative to the working directory, by file.
    names: Vec<String>,
    /// The file whose text came from standard input.
    stdin_path: Option<PathBuf>,
    /// With `--since`: the files that changed.
    since: Option<BTreeSet<PathBuf>>,
    cache: Option<Cache>,
    clock: Clock,
}

impl Run {
    fn start(request: &Request, cache: Option<Place>, timings: bool) -> Result<Self, Failure> {
        let clock = Clock::new(timings);
        let cwd = std::env::current_dir().map_err(|e| Failure(format!("no working directory: {e}")))?;
        let names = rules::names();
        let project = project::read(request, &cwd, RuleNames(&names))?;
        clock.lap("read");
        let names = project
            .files
            .iter()
            .map(|f| root::shown_path(&project.root, &cwd, &f.source.path))
            .collect();
        let mut run = Self {
            cache: None,
            project,
            names,
            stdin_path: request.stdin.as_ref().map(|(path, _)| root::clean(&cwd.join(path))),
            since: None,
            clock,
        };
        run.open_cache(cache);
        Ok(run)
    }

    fn open_cache(&mut self, place: Option<Place>) {
        self.cache = place.map(|place| Cache::open(&place, &self.project.root));
    }

    fn input(&self) -> Input<'_> {
        let files = self.project.files.iter().map(|f| InputFile {
            source: f.source.clone(),
            unreadable: f.unreadable.clone(),
            module: f.module.clone(),
            is_package: f.is_package,
            vendored: f.vendored,
            cold: f.cold,
            named: f.named,
        });
        Input {
            files: files.collect(),
            knowledge: &self.project.knowledge,
            settings: &self.project.settings,
            watch: self,
            store: self.cache.as_ref().map(Cache::store),
        }
    }

    /// Keeps what was found out for the next run. The user has the answer already.
    fn keep(&self, program: &Program) {
        if let Some(cache) = &self.cache {
            cache.save(&program.files);
            self.clock.lap("cache");
        }
    }

    fn sources(&self) -> Vec<Arc<Source>> {
        self.project.files.iter().map(|f| f.source.clone()).collect()
    }

    /// Whether findings in a file are reported.
    fn is_shown(&self, file: FileId) -> bool {
        self.project.files[file.index()].shown
    }

    /// Whether a file is one that changed; without `--since` every file is.
    fn has_changed(&self, file: FileId) -> bool {
        self.since
            .as_ref()
            .is_none_or(|since| since.contains(&self.project.files[file.index()].path))
    }

    /// Whether a finding is reported: it lies in what was named, and a file that changed has a part in it.
    fn is_reported(&self, finding: &Finding) -> bool {
        let mut files = std::iter::once(finding.place.file).chain(finding.labels.iter().map(|label| label.place.file));
        self.is_shown(finding.place.file) && files.any(|file| self.has_changed(file))
    }

    fn shown_files(&self) -> usize {
        self.project.files.iter().filter(|file| file.shown).count()
    }

    /// Whether to print colours.
    fn colours(&self, asked: Color) -> bool {
        colours(asked)
    }

    fn finish(&self, out: &Output) {
        for remark in &self.project.remarks {
            out.complain(&format!("opwright: warning: {remark}"));
        }
        for line in self.clock.lines() {
            out.complain(&line);
        }
    }
}

impl Watch for Run {
    fn ended(&self, stage: Stage) {
        self.clock.lap(match stage {
            Stage::Extract => "extract",
            Stage::Link => "link",
            Stage::Rules => "rules",
            Stage::Fix => "fix",
        });
    }
}

/// Whether to print colours: as asked, else on a terminal unless `NO_COLOR` is set.
fn colours(asked: Color) -> bool {
    let unwanted = || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match asked {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => std::io::stdout().is_terminal() && !unwanted(),
    }
}

/// How long the stages took, in the order in which they ended.
struct Clock {
    last: Cell<Instant>,
    laps: RefCell<Vec<(&'static str, Duration)>>,
    wanted: bool,
}

impl Clock {
    fn new(wanted: bool) -> Self {
        Self {
            last: Cell::new(Instant::now()),
            laps: RefCell::default(),
            wanted,
        }
    }

    fn lap(&self, name: &'static str) {
        let now = Instant::now();
        self.laps.borrow_mut().push((name, now - self.last.replace(now)));
    }

    fn lines(&self) -> Vec<String> {
        let laps = self.laps.borrow();
        let line = |name: &str, time: Duration| format!("{name:<8} {:>9.1} ms", time.as_secs_f64() * 1e3);
        let mut lines: Vec<String> = laps.iter().map(|(name, time)| line(name, *time)).collect();
        lines.push(line("total", laps.iter().map(|(_, time)| *time).sum()));
        if self.wanted { lines } else { Vec::new() }
    }
}
