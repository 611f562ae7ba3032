//! Facts of all files in, [`Program`] out: the only place that sees the whole project.

pub(crate) mod conditions;
mod kernels;
mod modules;
mod resolve;

use crate::knowledge::Knowledge;
use crate::program::{Program, ProgramFile};

/// What `link` must be told of the settings.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Torch version, (major, minor).
    pub torch: (u32, u32),
    /// Further hot roots, dotted.
    pub hot: Vec<String>,
    /// Globs of files, or dotted prefixes, that always run without grad.
    pub inference_only: Vec<String>,
}

/// Links the project. `files` are sorted by path.
pub fn link(files: Vec<ProgramFile>, knowledge: &Knowledge, options: &Options) -> Program {
    let _ = options;
    let modules = modules::Modules::new(&files);
    let kernels = kernels::kernels(&resolve::Resolver::new(&files, &modules), knowledge);
    Program {
        kernels: kernels.into_iter().map(|(kernel, _)| kernel).collect(),
        files,
        ..Program::default()
    }
}
