//! The module graph: which file a dotted name is, and what a module exports.

use crate::program::ProgramFile;
use crate::source::FileId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Dotted names of the project's modules.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    by_name: FxHashMap<String, FileId>,
    /// Every package that holds a module, `__init__` file or not (namespace packages).
    packages: FxHashSet<String>,
    /// Copies of other projects by the names that these have at home: `triton_kernels.topk` of `a.third_party.triton_kernels.topk`.
    vendored: FxHashMap<String, FileId>,
    /// Names of folders that hold copies of other projects.
    folders: Vec<String>,
}

/// What a dotted module name is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A file of the project.
    File(FileId),
    /// A package of the project without an `__init__` file.
    Namespace,
    /// Something outside the project.
    Outside,
}

impl Modules {
    /// Indexes the files. A name that two files share goes to the first; stub files (`.pyi`) yield to code.
    pub(crate) fn new(files: &[ProgramFile], vendored: &[String]) -> Self {
        let mut modules = Self {
            folders: vendored.to_vec(),
            ..Self::default()
        };
        for stubs in [false, true] {
            for (i, file) in files.iter().enumerate() {
                if file.source.path.ends_with(".pyi") != stubs || file.module.is_empty() {
                    continue;
                }
                modules.by_name.entry(file.module.clone()).or_insert(FileId(i as u32));
                if let Some((_, own)) = modules.vendored(file) {
                    let own = own.to_owned();
                    modules.vendored.entry(own).or_insert(FileId(i as u32));
                }
                let mut name = file.module.as_str();
                while let Some((parent, _)) = name.rsplit_once('.') {
                    if !modules.packages.insert(parent.to_owned()) {
                        break;
                    }
                    name = parent;
                }
            }
        }
        modules
    }

    /// The file of a module.
    pub(crate) fn file(&self, name: &str) -> Option<FileId> {
        self.by_name.get(name).or_else(|| self.vendored.get(name)).copied()
    }

    /// What a dotted name is.
    pub(crate) fn find(&self, name: &str) -> Found {
        match self.by_name.get(name) {
            Some(&file) => Found::File(file),
            None if self.packages.contains(name) => Found::Namespace,
            None => self.vendored.get(name).map_or(Found::Outside, |&file| Found::File(file)),
        }
    }

    /// The folder of a vendored module (dotted), and the name that the module has at home.
    pub(crate) fn vendored<'f>(&self, file: &'f ProgramFile) -> Option<(&'f str, &'f str)> {
        if !file.vendored {
            return None;
        }
        let mut end = 0;
        let mut found = None;
        for part in file.module.split('.') {
            end += part.len();
            if self.folders.iter().any(|folder| folder == part) {
                found = file.module.get(end + 1..).map(|home| (&file.module[..end], home));
            }
            end += 1;
        }
        found
    }

    /// All names, sorted.
    pub(crate) fn sorted(&self) -> BTreeMap<String, FileId> {
        self.by_name.iter().map(|(name, &file)| (name.clone(), file)).collect()
    }
}

/// The absolute dotted name that an import speaks of, given the module that holds it. `None`: it leaves the top package.
pub(crate) fn absolute(file: &ProgramFile, level: u32, module: &str) -> Option<String> {
    if level == 0 {
        return Some(module.to_owned());
    }
    let mut base = file.module.as_str();
    let up = if file.is_package { level - 1 } else { level };
    for _ in 0..up {
        base = match base.rsplit_once('.') {
            Some((parent, _)) => parent,
            None if !base.is_empty() => "",
            None => return None,
        };
    }
    Some(match (base.is_empty(), module.is_empty()) {
        (true, _) => module.to_owned(),
        (false, true) => base.to_owned(),
        (false, false) => format!("{base}.{module}"),
    })
}
