//! How long each stage takes on a given tree, beside the floor that no analysis can go below: reading, and one walk over all tokens.
//!
//! `cargo bench --bench stages -- PATH [RUNS]`

#![expect(clippy::print_stdout, reason = "it prints its figures")]

use opwright::pipeline::{self, Input, InputFile, Stage, Watch};
use opwright::project::config::RuleNames;
use opwright::project::{self, Project, Request};
use ruff_python_parser::parse_module;
use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant};

/// One named time after another.
#[derive(Default)]
struct Times(RefCell<Vec<(&'static str, Instant)>>);

impl Times {
    fn mark(&self, name: &'static str) {
        self.0.borrow_mut().push((name, Instant::now()));
    }

    fn laps(&self) -> Vec<(&'static str, Duration)> {
        let marks = self.0.borrow();
        marks.windows(2).map(|pair| (pair[1].0, pair[1].1 - pair[0].1)).collect()
    }
}

impl Watch for Times {
    fn ended(&self, stage: Stage) {
        self.mark(match stage {
            Stage::Extract => "extract",
            Stage::Link => "link",
            Stage::Rules => "rules",
            Stage::Fix => "fix",
        });
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let Some(path) = args.first() else {
        println!("usage: cargo bench --bench stages -- PATH [RUNS]");
        return;
    };
    let runs = args.get(1).and_then(|text| text.parse().ok()).unwrap_or(5);
    let all: Vec<Vec<(&'static str, Duration)>> = (0..runs).map(|_| once(Path::new(path))).collect();
    println!(
        "{:<14} {:>10} {:>10}   ms, {runs} runs, {} threads",
        "stage",
        "best",
        "median",
        rayon::current_num_threads()
    );
    for (index, (name, _)) in all[0].iter().enumerate() {
        let mut times: Vec<f64> = all.iter().map(|run| run[index].1.as_secs_f64() * 1e3).collect();
        times.sort_by(f64::total_cmp);
        println!("{name:<14} {:>10.1} {:>10.1}", times[0], times[times.len() / 2]);
    }
}

fn once(path: &Path) -> Vec<(&'static str, Duration)> {
    let times = Times::default();
    times.mark("start");
    let request = Request {
        paths: vec![path.to_path_buf()],
        ..Request::default()
    };
    let cwd = std::env::current_dir().expect("a working directory");
    let project = project::read(&request, &cwd, RuleNames(&[])).unwrap_or_else(|failure| panic!("{failure}"));
    times.mark("read");
    let checked = pipeline::check(&Input {
        files: inputs(&project),
        knowledge: &project.knowledge,
        settings: &project.settings,
        watch: &times,
        store: None,
    });
    drop(checked);
    times.mark("free");
    parse_only(&project, |_| true);
    times.mark("parse all");
    parse_only(&project, |text| text.contains("triton"));
    times.mark("parse kernels");
    times.laps()
}

fn inputs(project: &Project) -> Vec<InputFile> {
    let file = |f: &project::File| InputFile {
        source: f.source.clone(),
        unreadable: f.unreadable.clone(),
        module: f.module.clone(),
        is_package: f.is_package,
        vendored: f.vendored,
        cold: f.cold,
        named: f.named,
    };
    project.files.iter().map(file).collect()
}

/// Parses the files for which `keep` holds, and drops the trees.
fn parse_only(project: &Project, keep: impl Fn(&str) -> bool + Sync) {
    use rayon::prelude::*;
    project
        .files
        .par_iter()
        .filter(|f| keep(&f.source.text))
        .for_each(|f| drop(parse_module(&f.source.text)));
}
