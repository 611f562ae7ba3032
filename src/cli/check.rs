//! `opwright check`.

use super::args::{Check as Args, Format};
use super::{Output, Run};
use crate::finding::Finding;
use crate::pipeline;
use crate::project::{Failure, Request};
use crate::report;

pub(super) fn run(args: &Args, out: &mut Output) -> Result<u8, Failure> {
    let request = Request {
        paths: args.paths.clone(),
        root: args.common.root.clone(),
        style: args.style.clone(),
        only: args.only.clone(),
        stdin: None,
    };
    let run = Run::start(&request, args.timings)?;
    let checked = pipeline::check(&run.input());
    let shown: Vec<Finding> = checked
        .findings
        .into_iter()
        .filter(|f| run.project.files[f.place.file.index()].shown)
        .collect();
    let sources = run.sources();
    let files = report::Files {
        sources: &sources,
        names: &run.names,
    };
    match args.output_format {
        _ => out.write(&(report::json::render(&shown, files) + "\n")),
    }
    let _ = Format::Json;
    run.finish(out);
    let fails = shown.iter().any(|finding| finding.level >= args.fail_on.level());
    Ok(u8::from(fails && !args.exit_zero))
}
