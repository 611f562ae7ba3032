//! What stands around a report: which files were read and why others were not, and what could not be known.

use super::Run;
use crate::program::{FunctionRef, Program};
use crate::project::files;
use std::fmt::Write;

/// One line per file: checked, or why not.
pub(super) fn files(run: &Run) -> String {
    let mut out = String::new();
    let root = &run.project.root;
    for (index, file) in run.project.files.iter().enumerate() {
        let what = match (&file.unreadable, file.shown) {
            (Some(why), _) => why,
            (None, true) => "checked",
            (None, false) => "read, not reported: it was not named",
        };
        let _ = writeln!(out, "{}: {what}", run.names[index]);
    }
    let cwd = std::env::current_dir().unwrap_or_default();
    for (path, why) in files::left_out(root, &run.project.globs, &run.project.files) {
        let _ = writeln!(out, "{}: not read: {why}", crate::project::root::shown_path(root, &cwd, &path));
    }
    out
}

/// One line per parameter of which it could not be known whether it is written.
pub(super) fn unknown(program: &Program, run: &Run) -> String {
    let kernels = program.kernels.iter().map(|kernel| (kernel.function, &kernel.unresolved));
    let functions = program.functions.iter().map(|func| (func.function, &func.unresolved));
    let mut rows: Vec<(FunctionRef, u16, &str)> = Vec::new();
    for (function, unresolved) in kernels.chain(functions).filter(|(function, _)| run.is_shown(function.file)) {
        rows.extend(unresolved.iter().map(|(param, why)| (function, *param, why.as_str())));
    }
    rows.sort();
    rows.dedup();
    let mut out = String::new();
    for (function, param, why) in rows {
        let place = program.name_place(function);
        let (line, column) = program.file(place.file).source.position(place.span.start);
        let (name, param) = (&run.names[place.file.index()], program.param_name(function, param));
        let _ = writeln!(
            out,
            "{name}:{line}:{column}: unknown whether `{}` writes `{param}`: {why}",
            program.qualname(function)
        );
    }
    out
}
