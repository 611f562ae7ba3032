//! The project on disk: its root, files, configuration, modules, and how changed files are written back.

pub mod baseline;
pub mod cache;
pub mod changed;
pub mod config;
pub mod decode;
pub mod files;
pub mod modules;
pub mod native;
pub mod requirement;
pub mod root;
pub mod write;

use crate::knowledge::Knowledge;
use crate::settings::Settings;
use crate::source::Source;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the user asked for on the command line, as far as it decides what is read and how.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Named files and folders; empty: the working directory.
    pub paths: Vec<PathBuf>,
    /// `--root`.
    pub root: Option<PathBuf>,
    /// `--style`.
    pub style: Option<String>,
    /// `--only`.
    pub only: Vec<String>,
    /// A file whose text comes from standard input instead of the disk: its path and bytes.
    pub stdin: Option<(PathBuf, Vec<u8>)>,
    /// Open buffers of an editor: their text stands for what is on disk. A path that is not on disk yet is a new file.
    pub buffers: BTreeMap<PathBuf, Arc<str>>,
    /// Named files that the configuration excludes stay out.
    pub force_exclude: bool,
    /// Which findings are accepted.
    pub baseline: BaselineChoice,
}

/// Which findings are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BaselineChoice {
    /// Those of the configured file, if one is configured.
    #[default]
    Configured,
    /// Those of this file, relative to the working directory.
    File(PathBuf),
    /// None.
    Ignored,
}

/// A project as it was read.
#[derive(Debug)]
pub struct Project {
    /// Its root, absolute.
    pub root: PathBuf,
    /// Its files, sorted by path.
    pub files: Vec<File>,
    /// The choices of this run.
    pub settings: Settings,
    /// Where each choice was made: key → file, option or `default`.
    pub origins: config::Origins,
    /// Other people's APIs, the project's overlays among them.
    pub knowledge: Knowledge,
    /// Folders that modules are imported from, relative to the root.
    pub source_roots: Vec<String>,
    /// Globs of files that are not read.
    pub exclude: Vec<String>,
    /// Knowledge overlays: path relative to the root, and text.
    pub overlays: Vec<(String, String)>,
    /// The configured baseline, relative to the root.
    pub baseline: Option<String>,
    /// The globs of the configuration.
    pub globs: files::Globs,
    /// Remarks for the user, one line each: what was skipped although it was named.
    pub remarks: Vec<String>,
}

/// A file of the project.
#[derive(Clone, Debug)]
pub struct File {
    /// Path and text; the text is empty when the file cannot be read.
    pub source: Arc<Source>,
    /// Where it is on disk.
    pub path: PathBuf,
    /// How its bytes were decoded.
    pub encoding: decode::Encoding,
    /// Why there is no text.
    pub unreadable: Option<String>,
    /// Dotted module name.
    pub module: String,
    /// It is an `__init__` file.
    pub is_package: bool,
    /// Somebody else's code.
    pub vendored: bool,
    /// Tests, benchmarks, examples.
    pub cold: bool,
    /// It was named, or lies in a folder that was: findings in it are reported.
    pub shown: bool,
    /// It was named itself.
    pub named: bool,
}

/// Why the run cannot start: one message, ready for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(pub String);

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads a project: finds the root and its configuration, walks, decodes, names modules.
pub fn read(request: &Request, cwd: &Path, rules: config::RuleNames) -> Result<Project, Failure> {
    let named = root::named_paths(request, cwd)?;
    let root = root::find(request.root.as_deref(), &named, cwd)?;
    let configured = config::read(&root)?;
    let (mut knowledge, overlays) = load_knowledge(&configured, &root)?;
    let (mut settings, origins) = configured.resolve(request, &root, &knowledge, rules)?;
    let globs = files::Globs::new(&settings, &configured.exclude())?;
    let stdin = request
        .stdin
        .as_ref()
        .map(|(path, bytes)| (root::clean(&cwd.join(path)), bytes.as_slice()));
    let (mut found, native, remarks) = files::find(&root, &named, &globs, request.force_exclude);
    knowledge.add_native(native::schemas(native));
    files::add_new(&mut found, &root, &named, &globs, request.buffers.keys());
    let mut files = files::read_all(found, stdin, &request.buffers);
    let source_roots = modules::name(&mut files, &root, &settings.source_roots);
    for file in &mut files {
        file.vendored = globs.vendored(&file.source.path);
        file.cold = globs.cold(&file.source.path);
        file.named = named.contains(&file.path);
    }
    let paths: Vec<&str> = files.iter().map(|file| file.source.path.as_str()).collect();
    settings.path_levels = configured.path_levels(&paths, rules)?;
    let baseline = match &request.baseline {
        BaselineChoice::Configured => configured.baseline().map(|name| root.join(name)),
        BaselineChoice::File(path) => Some(cwd.join(path)),
        BaselineChoice::Ignored => None,
    };
    if let Some(path) = baseline {
        settings.accepted = baseline::read(&path)?;
    }
    Ok(Project {
        root,
        files,
        settings,
        origins,
        knowledge,
        source_roots,
        exclude: configured.exclude(),
        overlays,
        baseline: configured.baseline().map(String::from),
        globs,
        remarks,
    })
}

fn load_knowledge(configured: &config::Configured, root: &Path) -> Result<(Knowledge, Vec<(String, String)>), Failure> {
    let mut overlays = Vec::new();
    for name in configured.knowledge() {
        let path = root.join(&name);
        let text = std::fs::read_to_string(&path).map_err(|e| {
            Failure(format!(
                "{}: knowledge: cannot read `{name}`: {}",
                configured.display(),
                files::reason(&e)
            ))
        })?;
        overlays.push((name, text));
    }
    let texts: Vec<(&str, &str)> = overlays.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let knowledge = Knowledge::with_overlays(&texts).map_err(|e| Failure(e.to_string()))?;
    Ok((knowledge, overlays))
}
