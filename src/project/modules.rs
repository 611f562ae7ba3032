//! Which dotted name each file is imported by.

use super::File;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Names every file's module; returns the source roots, relative to the root (`.` is the root itself).
pub fn name(files: &mut [File], root: &Path, configured: &[String]) -> Vec<String> {
    let packages: BTreeSet<String> = files
        .iter()
        .filter(|f| f.is_package)
        .map(|f| folder(&f.source.path).to_string())
        .collect();
    let mut roots: BTreeSet<String> = configured
        .iter()
        .map(|r| r.trim_matches('/').replace("./", ""))
        .map(dot_is_empty)
        .collect();
    if roots.is_empty() {
        roots = found_roots(&packages, files);
    }
    let above = if packages.contains("") { package_above(root) } else { Vec::new() };
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    for (index, file) in files.iter_mut().enumerate() {
        let base = nearest(&roots, folder(&file.source.path));
        let mut module = dotted(&file.source.path, base, &above);
        // One name, one file: a second tree with the same packages is named from the root.
        if taken.contains_key(&module) && !is_stub(&file.source.path) {
            module = dotted(&file.source.path, "", &above);
        }
        taken.entry(module.clone()).or_insert(index);
        file.module = module;
    }
    roots.into_iter().map(|r| if r.is_empty() { ".".to_string() } else { r }).collect()
}

fn dot_is_empty(root: String) -> String {
    if root == "." { String::new() } else { root }
}

/// The root, `src` and `python` where they hold code, and the folders around top packages. Sorted.
fn found_roots(packages: &BTreeSet<String>, files: &[File]) -> BTreeSet<String> {
    let mut roots = BTreeSet::from([String::new()]);
    for usual in ["src", "python", "lib"] {
        let inside = format!("{usual}/");
        if !packages.contains(usual) && files.iter().any(|f| f.source.path.starts_with(&inside)) {
            roots.insert(usual.to_string());
        }
    }
    for package in packages {
        let outer = ancestors(package).any(|up| packages.contains(up));
        if !outer && !package.is_empty() {
            roots.insert(folder(package).to_string());
        }
    }
    roots
}

/// Names of the packages that hold the root, when the root is itself a package.
fn package_above(root: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for up in root.ancestors() {
        let Some(name) = up.file_name().filter(|_| up.join("__init__.py").is_file()) else {
            break;
        };
        names.insert(0, name.to_string_lossy().into_owned());
    }
    names
}

fn nearest<'a>(roots: &'a BTreeSet<String>, of: &str) -> &'a str {
    let hit = std::iter::once(of).chain(ancestors(of)).find_map(|up| roots.get(up));
    hit.map_or("", String::as_str)
}

fn dotted(path: &str, base: &str, above: &[String]) -> String {
    let below = path.strip_prefix(base).unwrap_or(path).trim_start_matches('/');
    let below = below.strip_suffix(".pyi").or_else(|| below.strip_suffix(".py")).unwrap_or(below);
    let mut parts: Vec<&str> = if base.is_empty() {
        above.iter().map(String::as_str).collect()
    } else {
        Vec::new()
    };
    parts.extend(below.split('/'));
    if parts.len() > 1 && parts.last() == Some(&"__init__") {
        parts.pop();
    }
    parts.join(".")
}

fn is_stub(path: &str) -> bool {
    path.ends_with(".pyi")
}

/// The folder of a path; empty for the root.
fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The folders above a folder, nearest first, down to the root (empty).
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors((!path.is_empty()).then(|| folder(path)), |up| (!up.is_empty()).then(|| folder(up)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::decode::Encoding;
    use crate::source::Source;
    use std::path::PathBuf;
    use std::sync::Arc;

    fn modules(paths: &[&str], configured: &[&str]) -> (Vec<String>, Vec<String>) {
        let mut files: Vec<File> = paths
            .iter()
            .map(|path| File {
                source: Arc::new(Source::new(*path, "")),
                path: PathBuf::from(path),
                encoding: Encoding::Utf8,
                unreadable: None,
                module: String::new(),
                is_package: path.contains("__init__"),
                vendored: false,
                cold: false,
                shown: true,
                named: false,
            })
            .collect();
        let configured: Vec<String> = configured.iter().map(|s| s.to_string()).collect();
        let roots = name(&mut files, Path::new("/nowhere"), &configured);
        (files.into_iter().map(|f| f.module).collect(), roots)
    }

    #[test]
    fn packages_are_found_where_they_are() {
        let (names, roots) = modules(&["python/sgl/__init__.py", "python/sgl/a/b.py", "run.py", "src/x.py"], &[]);
        assert_eq!(names, ["sgl", "sgl.a.b", "run", "x"]);
        assert_eq!(roots, [".", "python", "src"]);
    }

    #[test]
    fn a_namespace_folder_inside_a_package_belongs_to_it() {
        let (names, _) = modules(&["pkg/__init__.py", "pkg/space/c.py", "pkg/space/inner/__init__.py"], &[]);
        assert_eq!(names, ["pkg", "pkg.space.c", "pkg.space.inner"]);
    }

    #[test]
    fn two_trees_with_one_name_are_told_apart() {
        let (names, _) = modules(&["a/utils/__init__.py", "b/utils/__init__.py"], &[]);
        assert_eq!(names, ["utils", "b.utils"]);
    }

    #[test]
    fn configured_roots_win() {
        let (names, _) = modules(&["lib/code/m.py", "lib/code/p/__init__.py"], &["lib/code"]);
        assert_eq!(names, ["m", "p"]);
    }
}
