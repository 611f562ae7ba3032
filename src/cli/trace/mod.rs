//! `opwright trace`: which kernels of a profiler trace have shapes, which have not, why, and where they are launched.

mod open;
pub(super) mod page;
pub(super) mod sources;

use super::Output;
use super::args::{Trace as Args, TraceFormat};
use crate::project::Failure;
use crate::report::html;
use crate::trace::{Capture, Coverage, Report, compare, shapes, text};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

pub(super) fn run(args: &Args, out: &mut Output) -> Result<u8, Failure> {
    let mut report = report(&args.file, args)?;
    let colours = super::colours(args.common.color);
    let Some(after) = &args.after else {
        if !args.source.is_empty() {
            sources::fill(&mut report, &sources::check(args)?);
        }
        out.write(&match args.output_format {
            TraceFormat::Text => text::render(&report, colours),
            TraceFormat::Json => report.json() + "\n",
            TraceFormat::Html => html::render(&page::of_report(&report)),
        });
        return Ok(0);
    };
    let comparison = compare::compare(&report, &self::report(after, args)?);
    out.write(&match args.output_format {
        TraceFormat::Text => text::compare(&comparison, colours),
        TraceFormat::Json => comparison.json() + "\n",
        TraceFormat::Html => html::render(&page::of_comparison(&comparison)),
    });
    Ok(0)
}

/// Reads the traces that a path names, one after the other: one is in memory at a time.
fn report(path: &Path, args: &Args) -> Result<Report, Failure> {
    let mut report = Report::new();
    let capture = capture(args)?;
    let mut shapes = args.shapes.as_deref().map(ShapesFile::create).transpose()?;
    let files = open::traces(path)?;
    let mut failures = Vec::new();
    for file in &files {
        let name = file.display().to_string();
        let recording = match open::read(file) {
            Ok(recording) => recording,
            // Of a folder the other ranks are told, and what is missing.
            Err(failure) if path.is_dir() => {
                failures.push(failure.0);
                continue;
            }
            Err(failure) => return Err(failure),
        };
        let coverage = Coverage::new(&recording, capture.clone());
        report.add(&name, &coverage);
        if let Some(shapes) = &mut shapes {
            shapes.add(&name, &coverage)?;
        }
    }
    if failures.len() == files.len() {
        return Err(Failure(failures.join("\nopwright: error: ")));
    }
    report
        .warnings
        .extend(failures.into_iter().map(|why| format!("{why}: the file is in no figure")));
    if let Some(shapes) = shapes {
        shapes.finish()?;
    }
    Ok(report)
}

fn capture(args: &Args) -> Result<Option<Capture>, Failure> {
    args.capture.as_deref().map(|path| Ok(Capture::new(&open::read(path)?))).transpose()
}

/// The file of `--shapes`: an object, or a list of them where there are several traces.
struct ShapesFile<'a> {
    path: &'a Path,
    out: BufWriter<File>,
    parts: usize,
}

impl<'a> ShapesFile<'a> {
    fn create(path: &'a Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| Failure(format!("{}: cannot write: {error}", path.display())))?;
        Ok(Self {
            path,
            out: BufWriter::new(file),
            parts: 0,
        })
    }

    fn fail(&self, error: std::io::Error) -> Failure {
        Failure(format!("{}: cannot write: {error}", self.path.display()))
    }

    fn add(&mut self, name: &str, coverage: &Coverage) -> Result<(), Failure> {
        let head = if self.parts == 0 { "[" } else { ",\n" };
        self.parts += 1;
        let wrote = self
            .out
            .write_all(head.as_bytes())
            .and_then(|()| shapes::write(&mut self.out, name, coverage));
        wrote.map_err(|error| self.fail(error))
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.out
            .write_all(b"]\n")
            .and_then(|()| self.out.flush())
            .map_err(|error| self.fail(error))
    }
}
