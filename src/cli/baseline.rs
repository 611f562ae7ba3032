//! `opwright baseline`: accepts the findings of today, forgets those that are gone.

use super::args::{Baseline as Args, BaselineAction};
use super::{Output, Run};
use crate::pipeline;
use crate::project::{BaselineChoice, Failure, Request, baseline};
use crate::report::plural;
use crate::settings::Accepted;
use crate::source::FileId;
use crate::suppress;
use std::collections::BTreeMap;
use std::path::Path;

pub(super) fn run(args: &Args, out: &mut Output) -> Result<u8, Failure> {
    let request = Request {
        root: args.common.root.clone(),
        baseline: BaselineChoice::Ignored,
        ..Request::default()
    };
    let run = Run::start(&request, args.common.cache(), false)?;
    let path = match (&args.baseline, &run.project.baseline) {
        (Some(file), _) => file.clone(),
        (None, configured) => run.project.root.join(configured.as_deref().unwrap_or(baseline::DEFAULT)),
    };
    let checked = pipeline::check(&run.input());
    let program = &checked.program;
    let file = |id: FileId| (&*program.file(id).source, &*program.file(id).facts);
    let now = suppress::baseline::of(&checked.findings, &file);
    match args.action {
        BaselineAction::Write => write(&path, &now, out)?,
        BaselineAction::Prune => prune(&path, &now, out)?,
    }
    let hint = || {
        format!(
            "opwright: note: set `baseline = \"{}\"` in the configuration, so that it is used",
            baseline::DEFAULT
        )
    };
    run.keep(program);
    if args.baseline.is_none() && run.project.baseline.is_none() {
        out.complain(&hint());
    }
    Ok(0)
}

fn write(path: &Path, now: &BTreeMap<Accepted, u32>, out: &mut Output) -> Result<(), Failure> {
    baseline::write(path, now)?;
    let count: u32 = now.values().sum();
    out.write(&format!("{} accepted in {}\n", plural(count as usize, "finding"), path.display()));
    Ok(())
}

fn prune(path: &Path, now: &BTreeMap<Accepted, u32>, out: &mut Output) -> Result<(), Failure> {
    let before = baseline::read(path)?;
    let left = |(key, count): (&Accepted, &u32)| {
        let left = now.get(key).copied().unwrap_or(0).min(*count);
        (left > 0).then(|| (key.clone(), left))
    };
    let after: BTreeMap<Accepted, u32> = before.iter().filter_map(left).collect();
    let (had, has): (u32, u32) = (before.values().sum(), after.values().sum());
    if after != before {
        baseline::write(path, &after)?;
    }
    out.write(&format!(
        "{} forgotten, {} left in {}\n",
        plural((had - has) as usize, "finding"),
        has,
        path.display()
    ));
    Ok(())
}
