//! The JSON contract and the table of `inventory`.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// All rows, each list sorted by file and line.
#[derive(Debug, Default, Serialize)]
pub struct Inventory {
    /// Version of opwright.
    pub version: &'static str,
    /// Kernels and device functions.
    pub kernels: Vec<KernelRow>,
    /// Functions that launch, and implementations of ops.
    pub functions: Vec<FunctionRow>,
    /// Registered ops.
    pub ops: Vec<OpRow>,
}

/// A kernel.
#[derive(Debug, Serialize)]
pub struct KernelRow {
    /// Path relative to the working directory.
    pub file: String,
    /// Line of `def`.
    pub line: u32,
    /// `__qualname__`.
    pub qualname: String,
    /// `triton`, `gluon`, …
    pub dialect: String,
    /// Parameter names.
    pub params: Vec<String>,
    /// Parameters that are read.
    pub reads: Vec<String>,
    /// Parameters that are written.
    pub writes: Vec<String>,
    /// Parameters that hold addresses of what is written.
    pub writes_pointees: Vec<String>,
    /// Parameters that cannot be judged.
    pub unresolved: Vec<String>,
}

/// A function of interest.
#[derive(Debug, Serialize)]
pub struct FunctionRow {
    /// Path relative to the working directory.
    pub file: String,
    /// Line of `def`.
    pub line: u32,
    /// `__qualname__`.
    pub qualname: String,
    /// Kernels that it launches, as `module.kernel`.
    pub launches: Vec<String>,
    /// How it stands to the dispatcher.
    pub registered: &'static str,
    /// Its op.
    pub op: Option<String>,
    /// What registers it.
    pub registrar: Option<String>,
    /// What the op declares.
    pub declared_mutates: Option<Vec<String>>,
    /// Parameters that it mutates.
    pub mutates: Vec<String>,
    /// State that it mutates.
    pub mutates_state: Vec<String>,
    /// Parameters that cannot be judged.
    pub unresolved: Vec<String>,
    /// Parameters whose memory a result shares.
    pub returns_alias_of: Vec<String>,
    /// The schema, with the inferred mutation.
    pub schema: Option<String>,
    /// The fake implementation.
    pub fake: Option<String>,
    /// Reachable from a hot root.
    pub hot: bool,
    /// Whether a fix exists, and which kind.
    pub fix: &'static str,
    /// What stands in the way of a safe fix.
    pub blockers: Vec<String>,
}

/// An op.
#[derive(Debug, Serialize)]
pub struct OpRow {
    /// `ns::name`.
    pub op: String,
    /// Path relative to the working directory.
    pub file: String,
    /// Line of the registration.
    pub line: u32,
    /// What registers it.
    pub registrar: String,
    /// Its implementation.
    #[serde(rename = "impl")]
    pub implementation: Option<String>,
    /// What it declares.
    pub declared_mutates: Option<Vec<String>>,
    /// What its implementation mutates.
    pub mutates: Option<Vec<String>>,
    /// Parameters that cannot be judged.
    pub unresolved: Vec<String>,
    /// Parameters whose memory a result shares.
    pub returns_alias_of: Vec<String>,
    /// The fake implementation.
    pub fake: Option<String>,
}

impl Inventory {
    /// As JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("rows have string keys only")
    }

    /// As a table: one line per folder, then one per launching function that is not registered.
    pub fn text(&self) -> String {
        let mut folders: BTreeMap<&str, [usize; 7]> = BTreeMap::new();
        for kernel in &self.kernels {
            folders.entry(folder(&kernel.file)).or_default()[0] += 1;
        }
        for function in &self.functions {
            let row = folders.entry(folder(&function.file)).or_default();
            row[1] += usize::from(!function.launches.is_empty());
            row[2] += usize::from(function.registered == "no");
            row[3] += usize::from(function.registered == "no" && function.fix == "safe");
            row[4] += usize::from(function.registered == "no" && function.fix == "unsafe");
            row[5] += usize::from(!function.unresolved.is_empty());
        }
        for op in &self.ops {
            folders.entry(folder(&op.file)).or_default()[6] += 1;
        }
        let mut total = [0; 7];
        for row in folders.values() {
            total.iter_mut().zip(row).for_each(|(sum, n)| *sum += n);
        }
        let width = folders
            .keys()
            .map(|name| name.chars().count())
            .max()
            .unwrap_or(0)
            .max("folder".len());
        let head = [
            "kernels",
            "launching",
            "unregistered",
            "safe fix",
            "unsafe fix",
            "unresolved",
            "ops",
        ];
        let mut out = format!("{:<width$}", "folder");
        head.iter().for_each(|name| {
            let _ = write!(out, "  {name:>}");
        });
        let mut line = |name: &str, row: &[usize; 7]| {
            let _ = write!(out, "\n{name:<width$}");
            for (n, title) in row.iter().zip(head) {
                let _ = write!(out, "  {n:>w$}", w = title.len());
            }
        };
        folders.iter().for_each(|(name, row)| line(name, row));
        line("total", &total);
        out.push('\n');
        out
    }
}

fn folder(file: &str) -> &str {
    file.rsplit_once('/').map_or(".", |(folder, _)| folder)
}
