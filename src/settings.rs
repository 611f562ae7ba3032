//! Resolved choices: every field has a value; what was left out in the configuration has its default here.

pub use crate::finding::Level;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All choices of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Style of fixes.
    pub style: Style,
    /// Namespace of new ops; empty: the framework's, else the top package.
    pub namespace: String,
    /// Oldest torch that the project runs on, as (major, minor).
    pub torch: TorchVersion,
    /// Newest torch that the project runs on, of those that are out.
    pub newest_torch: TorchVersion,
    /// Length of lines in new code, as the project's formatter has it.
    pub line_length: usize,
    /// Rule or group name → level; `None` turns it off.
    pub levels: BTreeMap<String, Option<Level>>,
    /// Rules or groups to run; empty: all.
    pub only: Vec<String>,
    /// Folder names or globs whose code is a copy of somebody else's: reported, shown, never changed.
    pub vendored: Vec<String>,
    /// Globs of cold code: tests, benchmarks, examples.
    pub cold: Vec<String>,
    /// Globs of files, or dotted module prefixes, that always run without grad.
    pub inference_only: Vec<String>,
    /// Dotted names of further hot roots.
    pub hot: Vec<String>,
    /// Folders that modules are imported from, relative to the root (`.`, `python`, `src`); empty: found by looking.
    pub source_roots: Vec<String>,
    /// File → rule or group name → level, for files that have their own: these win over `levels`.
    pub path_levels: BTreeMap<String, BTreeMap<String, Option<Level>>>,
    /// Findings that the baseline accepts, each with how often.
    pub accepted: BTreeMap<Accepted, u32>,
}

/// What a finding is known by in a baseline: no line numbers, so that code may move.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// Path relative to the root.
    pub file: String,
    /// The rule.
    pub rule: String,
    /// `__qualname__` of the innermost function around it; `<module>` outside of functions.
    pub function: String,
    /// The source text, in one line.
    pub text: String,
}

/// (major, minor) of torch.
pub type TorchVersion = (u32, u32);

/// The torch version that is assumed when the project does not say.
pub const CURRENT_TORCH: TorchVersion = (2, 15);

/// How a launcher becomes an op (DESIGN §7).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Style {
    /// The framework's own, else what the project does, else `custom-op` where safe, else `library`.
    Auto,
    /// `torch.library.custom_op` and `register_fake`.
    CustomOp,
    /// `torch.library.triton_op`.
    TritonOp,
    /// `Library(…, "FRAGMENT")`, `define`, `impl`.
    Library,
    /// A framework's helper, by the framework file's name (`vllm`, `sglang`).
    Framework(String),
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            style: Style::Auto,
            namespace: String::new(),
            torch: CURRENT_TORCH,
            newest_torch: CURRENT_TORCH,
            line_length: 88,
            levels: BTreeMap::new(),
            only: Vec::new(),
            vendored: ["third_party", "vendor", "vendored", "_vendor", "3rdparty"]
                .map(String::from)
                .to_vec(),
            cold: [
                "tests/**",
                "**/tests/**",
                "**/test/**",
                "**/test_*.py",
                "**/*_test.py",
                "**/conftest.py",
                "benchmarks/**",
                "**/benchmarks/**",
                "**/benchmark/**",
                "**/bench_*.py",
                "**/benchmark_*.py",
                "examples/**",
                "**/examples/**",
            ]
            .map(String::from)
            .to_vec(),
            inference_only: Vec::new(),
            hot: Vec::new(),
            source_roots: Vec::new(),
            path_levels: BTreeMap::new(),
            accepted: BTreeMap::new(),
        }
    }
}
