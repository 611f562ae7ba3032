//! The project's C++ and CUDA sources: which ops they define.

use crate::knowledge::cpp_ops;
use memchr::memmem;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// Larger files are generated, not written.
const MOST_BYTES: u64 = 1 << 20;

/// Whether a file may define ops in C++.
pub fn is_source(path: &Path) -> bool {
    path.extension()
        .and_then(|e| e.to_str())
        .is_some_and(|e| matches!(e, "cpp" | "cc" | "cxx" | "cu" | "cuh" | "h" | "hpp" | "mm"))
}

/// The schemas that the files define, in the order of their paths.
pub fn schemas(mut paths: Vec<PathBuf>) -> Vec<String> {
    paths.sort_unstable();
    let per_file: Vec<Vec<String>> = paths.par_iter().map(|path| in_file(path)).collect();
    let mut all: Vec<String> = per_file.into_iter().flatten().collect();
    let mut seen = rustc_hash::FxHashSet::default();
    all.retain(|schema| seen.insert(schema.clone()));
    all
}

fn in_file(path: &Path) -> Vec<String> {
    let fits = std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= MOST_BYTES);
    let bytes = if fits {
        std::fs::read(path).unwrap_or_default()
    } else {
        Vec::new()
    };
    let is_library = |word: &str| memmem::find(&bytes, word.as_bytes()).is_some();
    if !is_library("TORCH_LIBRARY") && !is_library("torch::Library") {
        return Vec::new();
    }
    cpp_ops::schemas(&String::from_utf8_lossy(&bytes))
}
