//! Which files a project has, and their text.

use super::decode::{Encoding, decode};
use super::native::is_source;
use super::root::slashes;
use super::{Failure, File};
use crate::settings::Settings;
use crate::source::Source;
use globset::{Glob, GlobSet, GlobSetBuilder};
use ignore::WalkBuilder;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Folders that never hold a project's own code.
const SKIPPED: &[&str] = &["node_modules", "__pycache__", "venv", "site-packages"];
/// Folders that hold build output, unless they are packages.
const BUILT: &[&str] = &["build", "dist"];

/// The globs of the settings, compiled.
#[derive(Debug)]
pub struct Globs {
    vendored: GlobSet,
    cold: GlobSet,
    excluded: GlobSet,
}

impl Globs {
    /// Compiles the globs; one that cannot be read is a failure that names its key.
    pub fn new(settings: &Settings, exclude: &[String]) -> Result<Self, Failure> {
        Ok(Self {
            vendored: globs("vendored", &settings.vendored)?,
            cold: globs("cold", &settings.cold)?,
            excluded: globs("exclude", exclude)?,
        })
    }

    /// Whether a file is a copy of somebody else's.
    pub fn vendored(&self, path: &str) -> bool {
        self.vendored.is_match(path)
    }

    /// Whether a file is a test, benchmark or example.
    pub fn cold(&self, path: &str) -> bool {
        self.cold.is_match(path)
    }
}

/// A glob set; a plain name without `/` or wildcards matches a folder or file of that name at any depth.
pub(super) fn globs(key: &str, patterns: &[String]) -> Result<GlobSet, Failure> {
    let mut set = GlobSetBuilder::new();
    let mut add = |pattern: &str| match Glob::new(pattern) {
        Ok(glob) => {
            set.add(glob);
            Ok(())
        }
        Err(error) => Err(Failure(format!("{key}: invalid pattern `{pattern}`: {}", error.kind()))),
    };
    for pattern in patterns {
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        add(pattern)?;
        add(&format!("{pattern}/**"))?;
        if !pattern.contains('/') {
            add(&format!("**/{pattern}"))?;
            add(&format!("**/{pattern}/**"))?;
        }
    }
    set.build().map_err(|error| Failure(format!("{key}: {error}")))
}

/// A file before it is read: path relative to the root → (path on disk, whether it is reported).
pub type Found = BTreeMap<String, (PathBuf, bool)>;

/// Finds the project's files: everything under the root that is not ignored, and everything that was named.
/// The second part of the answer: C++ and CUDA sources under the root; the third: remarks for the user.
pub fn find(root: &Path, named: &[PathBuf], globs: &Globs, force_exclude: bool) -> (Found, Vec<PathBuf>, Vec<String>) {
    let mut found = Found::new();
    let mut native = Vec::new();
    let mut remarks = Vec::new();
    let shown = |path: &Path| named.iter().any(|named| path.starts_with(named));
    walk(root, root, globs, &mut |path| {
        if is_python(path) {
            insert(&mut found, root, path, shown(path));
        } else if !globs.vendored(&relative(root, path)) {
            native.push(path.to_path_buf());
        }
    });
    for path in named {
        if path.is_dir() {
            let before = found.len();
            if path != root && !found.values().any(|(file, _)| file.starts_with(path)) {
                walk(root, path, globs, &mut |path| {
                    if is_python(path) {
                        insert(&mut found, root, path, true);
                    }
                });
            }
            if found.len() == before && !found.values().any(|(_, shown)| *shown) {
                remarks.push(format!("no Python files in {}", path.display()));
            }
        } else if !force_exclude {
            insert(&mut found, root, path, true);
        }
    }
    (found, native, remarks)
}

/// Adds the files of the project that are not on disk yet.
pub fn add_new<'a>(found: &mut Found, root: &Path, named: &[PathBuf], globs: &Globs, paths: impl Iterator<Item = &'a PathBuf>) {
    for path in paths.filter(|path| path.starts_with(root) && is_python(path) && !path.exists()) {
        let folders = path.ancestors().skip(1).take_while(|folder| *folder != root);
        let left_out = folders
            .clone()
            .any(|folder| is_skipped(folder) || globs.excluded.is_match(relative(root, folder)));
        if !left_out && !globs.excluded.is_match(relative(root, path)) {
            insert(found, root, path, named.iter().any(|named| path.starts_with(named)));
        }
    }
}

fn insert(found: &mut Found, root: &Path, path: &Path, shown: bool) {
    let mut key = relative(root, path);
    // Two names that differ only in bytes that are no text would share one key.
    while found.get(&key).is_some_and(|(other, _)| other != path) {
        key.push('\u{fffd}');
    }
    found.insert(key, (path.to_path_buf(), shown));
}

fn relative(root: &Path, path: &Path) -> String {
    slashes(path.strip_prefix(root).unwrap_or(path))
}

fn walk(root: &Path, start: &Path, globs: &Globs, each: &mut dyn FnMut(&Path)) {
    let in_repository = root.ancestors().any(|folder| folder.join(".git").exists());
    let (top, first) = (root.to_path_buf(), start.to_path_buf());
    let excluded = globs.excluded.clone();
    let mut builder = WalkBuilder::new(start);
    // Links are not followed: what they name inside the project is read under its own path.
    builder
        .require_git(false)
        .parents(in_repository)
        .git_global(false)
        .follow_links(false);
    builder.filter_entry(move |entry| {
        if entry.path() == first {
            return true;
        }
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let left_out = is_folder && is_skipped(entry.path()) || excluded.is_match(relative(&top, entry.path()));
        !left_out
    });
    for entry in builder.build().flatten() {
        if entry.file_type().is_some_and(|kind| kind.is_file()) && (is_python(entry.path()) || is_source(entry.path())) {
            each(entry.path());
        }
    }
}

fn is_skipped(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    SKIPPED.contains(&&*name) || (BUILT.contains(&&*name) && !folder.join("__init__.py").exists())
}

fn is_python(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "py" || extension == "pyi")
}

/// Python files and folders under the root that are no part of the project, each with the reason, sorted.
pub fn left_out(root: &Path, globs: &Globs, project: &[File]) -> Vec<(String, &'static str)> {
    let known: std::collections::BTreeSet<&Path> = project.iter().map(|file| file.path.as_path()).collect();
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type());
            let (is_folder, is_link) = kind.map_or((false, false), |kind| (kind.is_dir(), kind.is_symlink()));
            if entry.file_name() == ".git" || known.contains(path.as_path()) || !(is_folder || is_python(&path)) {
                continue;
            }
            let name = relative(root, &path);
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            let reason = if globs.excluded.is_match(&name) {
                "excluded by the configuration"
            } else if hidden {
                "hidden"
            } else if is_folder && is_skipped(&path) {
                "a folder of this name holds no code of the project's own"
            } else if is_link {
                "a link: what it names is read under its own path"
            } else if is_folder {
                folders.push(path);
                continue;
            } else {
                "ignored by .gitignore"
            };
            found.push((if is_folder { name + "/" } else { name }, reason));
        }
    }
    found.sort();
    found
}

/// Reads and decodes the files, in parallel.
pub fn read_all(found: Found, stdin: Option<(PathBuf, &[u8])>, buffers: &BTreeMap<PathBuf, Arc<str>>) -> Vec<File> {
    let found: Vec<_> = found.into_iter().collect();
    found
        .into_par_iter()
        .map(|(name, (path, shown))| {
            let (text, encoding, unreadable) = match (&stdin, buffers.get(&path)) {
                (Some((of, bytes)), _) if *of == path => text_of(Ok(bytes.to_vec())),
                (_, Some(text)) => (text.to_string(), Encoding::Utf8, None),
                (_, None) => read_one(&path),
            };
            let source = Arc::new(Source::new(name, text));
            let is_package = path.file_stem().is_some_and(|stem| stem == "__init__");
            File {
                source,
                path,
                encoding,
                unreadable,
                module: String::new(),
                is_package,
                vendored: false,
                cold: false,
                shown,
                named: false,
            }
        })
        .collect()
}

/// The text of one file as it is on disk now; or why there is none.
pub fn read_one(path: &Path) -> (String, Encoding, Option<String>) {
    text_of(read_bytes(path))
}

fn text_of(bytes: Result<Vec<u8>, String>) -> (String, Encoding, Option<String>) {
    match bytes.and_then(decode) {
        Ok((text, encoding)) => (text, encoding, None),
        Err(why) => (String::new(), Encoding::Utf8, Some(why)),
    }
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, String> {
    let meta = std::fs::metadata(path).map_err(|error| format!("cannot read the file: {}", reason(&error)))?;
    if !meta.is_file() {
        return Err("not a regular file".into());
    }
    std::fs::read(path).map_err(|error| format!("cannot read the file: {}", reason(&error)))
}

/// An error of the operating system in words that do not depend on it.
pub fn reason(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound => "no such file".into(),
        ErrorKind::PermissionDenied => "permission denied".into(),
        ErrorKind::IsADirectory => "it is a folder".into(),
        ErrorKind::InvalidData => "it is not valid UTF-8".into(),
        _ => error.to_string(),
    }
}
