//! Reports that are kept: a run that would print what an earlier one has printed prints that, and analyses nothing.
//!
//! What a report follows from is compared by content, never by times: the code, the arguments, the terminal, and all that
//! [`project::read`](crate::project::read) hands over, which is all that the analysis sees of the disk.

use super::args::Check as Args;
use super::{Run, colours};
use crate::project::cache::Place;
use crate::project::{File, Project};
use crate::store::{Identity, Key, Report};
use rayon::prelude::*;
use std::fmt::Write;
use std::io::IsTerminal;

/// Where the report of a run is kept, and what it is known by.
pub(super) struct Kept {
    place: Place,
    arguments: String,
    identity: Identity,
}

impl Kept {
    /// `None` where nothing is kept: without a cache, and for runs that write files or tell how long they took.
    pub(super) fn of(args: &Args, run: &Run) -> Option<Self> {
        if args.fix || args.diff || args.timings || args.stdin_filename.is_some() {
            return None;
        }
        let arguments = format!("{args:?}");
        Some(Self {
            place: args.common.cache()?,
            identity: Identity::of(&description(args, run)),
            arguments,
        })
    }

    /// The report of an earlier run.
    pub(super) fn read(&self, run: &Run) -> Option<Report> {
        self.place.report(&run.project.root, &self.arguments, self.identity)
    }

    /// Keeps the report of this run.
    pub(super) fn write(&self, report: &Report, run: &Run) {
        self.place.keep_report(&run.project.root, &self.arguments, self.identity, report);
    }
}

/// All that a report follows from, in words that tell any two apart. A part that is new has to be named here.
fn description(args: &Args, run: &Run) -> String {
    let Run {
        project,
        names,
        stdin_path: _,
        since,
        cache: _,
        clock: _,
    } = run;
    let Project {
        root,
        files,
        settings,
        origins: _,
        knowledge,
        source_roots,
        exclude,
        overlays,
        baseline,
        globs: _,
        remarks,
    } = project;
    let terminal = (colours(args.common.color), std::io::stdout().is_terminal());
    let native: Vec<&[String]> = knowledge.frameworks.iter().map(|framework| &*framework.schemas).collect();
    let mut all = format!(
        "{args:?} {terminal:?} {root:?} {since:?} {settings:?} {source_roots:?} {exclude:?} {overlays:?} {native:?} {baseline:?} {remarks:?}\n"
    );
    let texts: Vec<Key> = files.par_iter().map(|file| Key::of(&file.source)).collect();
    for ((file, name), text) in files.iter().zip(names).zip(texts) {
        let File {
            source,
            path,
            encoding,
            unreadable,
            module,
            is_package,
            vendored,
            cold,
            shown,
            named,
        } = file;
        let flags = [is_package, vendored, cold, shown, named];
        let path = (path, &source.path, name);
        // Writing to a string cannot fail.
        let _ = writeln!(all, "{path:?} {module:?} {flags:?} {encoding:?} {unreadable:?} {text:?}");
    }
    all
}
