//! `opwright clean`: removes the cache.

use super::Output;
use super::args::Clean as Args;
use crate::project::cache::{self, Place, VARIABLE};
use crate::project::files::reason;
use crate::project::{Failure, root};
use crate::report::plural;

pub(super) fn run(args: &Args, out: &mut Output) -> Result<u8, Failure> {
    let Some(place) = Place::of_user() else {
        out.write(&format!("there is no cache: {VARIABLE} is empty, or there is no home folder\n"));
        return Ok(0);
    };
    let cwd = std::env::current_dir().map_err(|error| Failure(format!("no working directory: {error}")))?;
    let project = args
        .common
        .root
        .as_deref()
        .map(|given| root::find(Some(given), &[], &cwd))
        .transpose()?;
    let path = place.path().display();
    let removed = cache::clean(&place, project.as_deref()).map_err(|error| Failure(format!("cannot clean {path}: {}", reason(&error))))?;
    out.write(&match removed.files {
        0 => format!("nothing to remove in {path}\n"),
        files => format!("removed {} ({}) from {path}\n", plural(files, "file"), size(removed.bytes)),
    });
    Ok(0)
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
