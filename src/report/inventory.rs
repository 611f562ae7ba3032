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
    /// It launches something that cannot be known.
    #[serde(skip)]
    pub launches_unknown: bool,
    /// Calls into libraries and built code that go past the dispatcher.
    pub calls: Vec<CallRow>,
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
    /// How hot.
    #[serde(skip)]
    pub heat: u32,
    /// Whether a fix exists, and which kind.
    pub fix: &'static str,
    /// What stands in the way of a safe fix.
    pub blockers: Vec<String>,
}

/// A call that goes past the dispatcher.
#[derive(Debug, Serialize)]
pub struct CallRow {
    /// Line of the call.
    pub line: u32,
    /// What is called.
    pub callee: String,
    /// Whose kernel it runs.
    pub library: String,
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

    /// As a table: one line for each package, then one for each folder in it, then what other libraries are called.
    pub fn text(&self) -> String {
        let mut folders: BTreeMap<&str, Counts> = BTreeMap::new();
        for kernel in &self.kernels {
            folders.entry(folder(&kernel.file)).or_default().kernels += 1;
        }
        for function in &self.functions {
            folders.entry(folder(&function.file)).or_default().add(function);
        }
        for op in &self.ops {
            folders.entry(folder(&op.file)).or_default().ops += 1;
        }
        let mut packages: BTreeMap<&str, Vec<(&str, Counts)>> = BTreeMap::new();
        for (folder, counts) in folders {
            packages
                .entry(folder.split('/').next().unwrap_or(folder))
                .or_default()
                .push((folder, counts));
        }
        let mut lines: Vec<(String, Counts)> = Vec::new();
        let mut all = Counts::default();
        for (package, folders) in packages {
            let total = folders.iter().fold(Counts::default(), |sum, (_, counts)| sum.plus(counts));
            all = all.plus(&total);
            lines.push((package.to_owned(), total));
            let inner = folders.into_iter().filter(|(folder, _)| *folder != package);
            lines.extend(inner.map(|(folder, counts)| (format!("  {folder}"), counts)));
        }
        lines.push(("total".to_owned(), all));
        let width = lines
            .iter()
            .map(|(name, _)| name.chars().count())
            .max()
            .unwrap_or(0)
            .max("package".len());
        let mut out = format!("{:<width$}", "package");
        HEADS.iter().for_each(|head| {
            let _ = write!(out, "  {head}");
        });
        for (name, counts) in &lines {
            let _ = write!(out, "\n{name:<width$}");
            for (cell, head) in counts.cells().iter().zip(HEADS) {
                let _ = write!(out, "  {cell:>w$}", w = head.len());
            }
        }
        out.push('\n');
        self.libraries(&mut out);
        self.hottest(&mut out);
        out
    }

    /// The hottest functions whose calls leave no event.
    fn hottest(&self, out: &mut String) {
        let outside = self
            .functions
            .iter()
            .filter(|f| f.heat > 0 && matches!(f.registered, "no" | "disabled"));
        let mut hot: Vec<&FunctionRow> = outside.collect();
        hot.sort_by_key(|f| (std::cmp::Reverse(f.heat), &f.file, f.line));
        if !hot.is_empty() {
            out.push_str("\nhottest, outside of ops\n");
        }
        for function in hot.iter().take(10) {
            let _ = writeln!(out, "{}:{} {}", function.file, function.line, function.qualname);
        }
    }

    /// How many calls go past the dispatcher, by whose kernel they run.
    fn libraries(&self, out: &mut String) {
        let mut libraries: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for function in &self.functions {
            for call in &function.calls {
                let (all, hot) = libraries.entry(&call.library).or_default();
                *all += 1;
                *hot += usize::from(function.hot && function.registered == "no");
            }
        }
        if libraries.is_empty() {
            return;
        }
        let width = libraries.keys().map(|l| l.chars().count()).max().unwrap_or(0).max("library".len());
        let _ = writeln!(out, "\n{:<width$}  calls  hot, outside of ops", "library");
        for (library, (all, hot)) in libraries {
            let _ = writeln!(out, "{library:<width$}  {all:>5}  {hot:>19}");
        }
    }
}

const HEADS: [&str; 9] = [
    "kernels",
    "launchers",
    "registered",
    "covered",
    "recorded",
    "bypassing",
    "hot",
    "ops",
    "coverage",
];

/// What a folder holds.
#[derive(Clone, Default)]
struct Counts {
    kernels: usize,
    /// Functions that launch, or call a kernel of another library.
    launchers: usize,
    registered: usize,
    covered: usize,
    recorded: usize,
    /// Those that leave no event.
    bypassing: usize,
    /// The hot ones of these.
    hot: usize,
    ops: usize,
}

impl Counts {
    fn add(&mut self, function: &FunctionRow) {
        if function.launches.is_empty() && function.calls.is_empty() && !function.launches_unknown {
            return;
        }
        self.launchers += 1;
        match function.registered {
            "yes" => self.registered += 1,
            "covered" => self.covered += 1,
            "recorded" => self.recorded += 1,
            _ => {
                self.bypassing += 1;
                self.hot += usize::from(function.hot);
            }
        }
    }

    fn plus(&self, other: &Self) -> Self {
        Self {
            kernels: self.kernels + other.kernels,
            launchers: self.launchers + other.launchers,
            registered: self.registered + other.registered,
            covered: self.covered + other.covered,
            recorded: self.recorded + other.recorded,
            bypassing: self.bypassing + other.bypassing,
            hot: self.hot + other.hot,
            ops: self.ops + other.ops,
        }
    }

    /// The share of launchers whose calls leave an event: registered, covered or recorded.
    fn coverage(&self) -> String {
        match self.launchers {
            0 => "-".to_owned(),
            all => format!("{} %", (all - self.bypassing) * 100 / all),
        }
    }

    fn cells(&self) -> [String; 9] {
        let n = |n: usize| n.to_string();
        [
            n(self.kernels),
            n(self.launchers),
            n(self.registered),
            n(self.covered),
            n(self.recorded),
            n(self.bypassing),
            n(self.hot),
            n(self.ops),
            self.coverage(),
        ]
    }
}

fn folder(file: &str) -> &str {
    file.rsplit_once('/').map_or(".", |(folder, _)| folder)
}
