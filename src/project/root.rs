//! Which folder is the project.

use super::{Failure, Request};
use std::path::{Component, Path, PathBuf};

/// The paths of the request, absolute and without `.` and `..`; the working directory when there are none.
pub fn named_paths(request: &Request, cwd: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut named: Vec<PathBuf> = Vec::new();
    for path in &request.paths {
        let full = clean(&cwd.join(path));
        if !full.exists() {
            return Err(Failure(format!("no such file or folder: {}", path.display())));
        }
        named.push(full);
    }
    if let Some((path, _)) = &request.stdin {
        named = vec![clean(&cwd.join(path))];
    }
    if named.is_empty() {
        let asked = request.root.as_ref().map(|root| clean(&cwd.join(root)));
        named.push(
            asked
                .filter(|root| root.is_dir() && !clean(cwd).starts_with(root))
                .unwrap_or_else(|| clean(cwd)),
        );
    }
    named.sort();
    named.dedup();
    Ok(named)
}

/// The root: the one that was asked for, else the nearest folder upward from the named paths that holds a configuration
/// or a repository, else the folder that holds their package, or them all.
pub fn find(asked: Option<&Path>, named: &[PathBuf], cwd: &Path) -> Result<PathBuf, Failure> {
    if let Some(asked) = asked {
        let root = clean(&cwd.join(asked));
        if !root.is_dir() {
            return Err(Failure(format!("--root: not a folder: {}", asked.display())));
        }
        return match named.iter().find(|path| !path.starts_with(&root)) {
            Some(outside) => Err(Failure(format!("{} is not inside the root {}", outside.display(), root.display()))),
            None => Ok(root),
        };
    }
    let common = common_folder(named);
    let marked = common.ancestors().find(|folder| is_marked(folder));
    Ok(marked.unwrap_or_else(|| outside_package(&common)).to_path_buf())
}

/// The folder that holds the package that a folder is part of; the folder itself where it is part of none.
fn outside_package(folder: &Path) -> &Path {
    let package = folder.ancestors().take_while(|f| f.join("__init__.py").is_file()).last();
    package.and_then(Path::parent).unwrap_or(folder)
}

/// Whether a folder says that it is a project.
fn is_marked(folder: &Path) -> bool {
    folder.join("opwright.toml").is_file() || folder.join(".git").exists() || super::config::has_table(&folder.join("pyproject.toml"))
}

/// The deepest folder that holds all the paths.
fn common_folder(named: &[PathBuf]) -> PathBuf {
    let folder = |path: &Path| {
        if path.is_dir() {
            path.to_path_buf()
        } else {
            path.parent().unwrap_or(path).to_path_buf()
        }
    };
    let mut common = named.first().map(|path| folder(path)).unwrap_or_default();
    for path in named {
        while !path.starts_with(&common) && common.pop() {}
    }
    common
}

/// A path without `.` and `..` parts; links are kept as they are named.
pub fn clean(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    out
}

/// How a file of the project is shown: relative to the working directory, `/` separated, without a leading `./`.
pub fn shown_path(root: &Path, cwd: &Path, path: &str) -> String {
    if root == cwd {
        return path.to_string();
    }
    if let Ok(below) = root.strip_prefix(cwd) {
        return format!("{}/{path}", slashes(below));
    }
    let full = root.join(path);
    if let Ok(below) = full.strip_prefix(cwd) {
        return slashes(below);
    }
    let mut up = String::new();
    for folder in cwd.ancestors().skip(1) {
        up.push_str("../");
        if let Ok(below) = full.strip_prefix(folder) {
            return format!("{up}{}", slashes(below));
        }
    }
    slashes(&full)
}

/// A path as text with `/` between its parts.
pub fn slashes(path: &Path) -> String {
    let text = path.to_string_lossy();
    if std::path::MAIN_SEPARATOR == '/' {
        text.into_owned()
    } else {
        text.replace(std::path::MAIN_SEPARATOR, "/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_relative_to_the_working_directory() {
        let shown = |root: &str, cwd: &str, path: &str| shown_path(Path::new(root), Path::new(cwd), path);
        assert_eq!(shown("/p", "/p", "a/b.py"), "a/b.py");
        assert_eq!(shown("/p", "/", "a/b.py"), "p/a/b.py");
        assert_eq!(shown("/p", "/p/a", "a/b.py"), "b.py");
        assert_eq!(shown("/p", "/p/a/c", "a/b.py"), "../b.py");
        assert_eq!(shown("/p", "/q", "a/b.py"), "../p/a/b.py");
    }

    #[test]
    fn without_a_mark_the_root_is_what_holds_the_package() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("pkg/sub");
        std::fs::create_dir_all(&inner).expect("folders");
        for init in ["pkg/__init__.py", "pkg/sub/__init__.py", "pkg/sub/a.py", "loose.py"] {
            std::fs::write(folder.path().join(init), "").expect("a file");
        }
        let root = |path: &str| find(None, &[folder.path().join(path)], folder.path()).expect("found");
        assert_eq!(root("pkg/sub/a.py"), folder.path());
        assert_eq!(root("pkg"), folder.path());
        assert_eq!(root("loose.py"), folder.path());
    }

    #[test]
    fn clean_paths_have_no_dots() {
        assert_eq!(clean(Path::new("/a/./b/../c/.")), PathBuf::from("/a/c"));
        assert_eq!(clean(Path::new("/../a")), PathBuf::from("/a"));
    }
}
