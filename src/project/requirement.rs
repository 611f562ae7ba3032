//! Which torch a project asks for: the oldest and the newest version that its requirements allow.

use crate::settings::{CURRENT_TORCH, TorchVersion};
use std::path::Path;

/// The versions that a requirement allows; none where it has no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// Lower bound.
    pub oldest: Option<TorchVersion>,
    /// Upper bound.
    pub newest: Option<TorchVersion>,
}

/// A single version is the oldest.
impl From<TorchVersion> for Range {
    fn from(version: TorchVersion) -> Self {
        Self {
            oldest: Some(version),
            newest: None,
        }
    }
}

/// The versions of torch that the project's own files allow, and the file that says so.
pub fn torch_versions(root: &Path) -> Option<(Range, String)> {
    candidates(root).into_iter().find_map(|(name, path)| {
        let text = std::fs::read(path).ok()?;
        let text = String::from_utf8_lossy(&text);
        let version = if name == "pyproject.toml" {
            from_pyproject(&text)
        } else {
            from_lines(&text)
        };
        version.map(|version| (version, name))
    })
}

/// The length of lines that the project's formatter is told: ruff's, else black's.
pub fn line_length(root: &Path) -> Option<usize> {
    let read = |name: &str| -> Option<toml::Table> { std::fs::read_to_string(root.join(name)).ok()?.parse().ok() };
    let length = |table: &toml::Table| usize::try_from(table.get("line-length")?.as_integer()?).ok();
    let own = [".ruff.toml", "ruff.toml"].into_iter().find_map(|name| length(&read(name)?));
    let in_pyproject = || {
        let table = read("pyproject.toml")?;
        let tools = table.get("tool")?.as_table()?.clone();
        ["ruff", "black"].into_iter().find_map(|tool| length(tools.get(tool)?.as_table()?))
    };
    own.or_else(in_pyproject).filter(|length| (40..=320).contains(length))
}

/// Files that may name the requirement, the most binding first.
fn candidates(root: &Path) -> Vec<(String, std::path::PathBuf)> {
    let mut found: Vec<(String, std::path::PathBuf)> = ["pyproject.toml", "setup.cfg", "setup.py"]
        .map(|name| (name.to_string(), root.join(name)))
        .to_vec();
    for folder in [".", "requirements"] {
        found.extend(listed(&root.join(folder), |name| {
            name.starts_with("requirements") || (folder != "." && name.ends_with(".txt"))
        }));
    }
    for (name, path) in listed(root, |name| name.ends_with(".dist-info") || name.ends_with(".egg-info")) {
        found.push((format!("{name}/METADATA"), path.join("METADATA")));
        found.push((format!("{name}/requires.txt"), path.join("requires.txt")));
    }
    found
}

fn listed(folder: &Path, keep: impl Fn(&str) -> bool) -> Vec<(String, std::path::PathBuf)> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<_> = entries
        .flatten()
        .map(|e| (e.file_name().to_string_lossy().into_owned(), e.path()))
        .collect();
    names.retain(|(name, _)| keep(name));
    names.sort();
    names
}

fn from_pyproject(text: &str) -> Option<Range> {
    let table: toml::Table = text.parse().ok()?;
    let project = table.get("project")?;
    let mut requirements: Vec<&toml::Value> = project
        .get("dependencies")
        .and_then(|d| d.as_array())
        .into_iter()
        .flatten()
        .collect();
    let optional = project.get("optional-dependencies").and_then(|d| d.as_table());
    requirements.extend(optional.into_iter().flatten().filter_map(|(_, list)| list.as_array()).flatten());
    requirements.iter().filter_map(|r| r.as_str()).find_map(requirement)
}

fn from_lines(text: &str) -> Option<Range> {
    text.lines().find_map(|line| {
        let line = line
            .trim()
            .trim_start_matches("Requires-Dist:")
            .trim_start_matches(['"', '\'', ' ']);
        requirement(line)
    })
}

/// `torch>=2.6`, `torch (==2.7.1)`, `torch ~= 2.6 ; …`; `None` for another package or no bound.
fn requirement(text: &str) -> Option<Range> {
    let rest = text.trim().strip_prefix("torch")?;
    let rest = rest.split([';', '#', '"', '\'']).next().unwrap_or_default();
    range(rest.trim_start().trim_start_matches(['(', ' ']))
}

/// `>=2.6,<2.14`; `None` where no bound can be read.
pub fn range(text: &str) -> Option<Range> {
    let mut range = Range::default();
    for part in text.split(',').map(str::trim) {
        let signs = [">=", "==", "~=", "<=", "!=", ">", "<"];
        let Some((sign, number)) = signs.iter().find_map(|sign| Some((*sign, part.strip_prefix(sign)?))) else {
            continue;
        };
        let Some(version) = version(number) else { continue };
        // `~=2.6.0` allows 2.6 only, `~=2.6` all of 2.
        let patched = number.split('.').count() > 2;
        if matches!(sign, ">=" | "==" | "~=" | ">") {
            range.oldest.get_or_insert(version);
        }
        range.newest = match sign {
            "==" | "<=" => Some(version),
            "~=" if patched => Some(version),
            "<" if patched && !number.trim().ends_with(".0") => Some(version),
            "<" => before(version),
            _ => range.newest,
        };
    }
    (range != Range::default()).then_some(range)
}

fn version(number: &str) -> Option<TorchVersion> {
    let mut parts = number.trim().split(|c: char| !c.is_ascii_digit());
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next().and_then(|minor| minor.parse().ok()).unwrap_or(0);
    Some((major, minor))
}

/// The last version before one; none where that is not out yet.
fn before((major, minor): TorchVersion) -> Option<TorchVersion> {
    match minor.checked_sub(1) {
        Some(minor) => Some((major, minor)).filter(|v| *v < CURRENT_TORCH),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_bounds_are_read_in_every_spelling() {
        let oldest = |text: &str| requirement(text).and_then(|range| range.oldest);
        assert_eq!(oldest("torch>=2.6"), Some((2, 6)));
        assert_eq!(oldest("torch ==2.7.1"), Some((2, 7)));
        assert_eq!(oldest("torch (>=2.4,<3)"), Some((2, 4)));
        assert_eq!(oldest("torch~=2.10.0; sys_platform == 'linux'"), Some((2, 10)));
        assert_eq!(oldest("torch<3, >=2.5"), Some((2, 5)));
        assert_eq!(oldest("torch==2.11.0+cu130"), Some((2, 11)));
        assert_eq!(requirement("torchvision>=0.20"), None);
        assert_eq!(requirement("torch"), None);
        let listed = from_lines("Requires-Dist: numpy\nRequires-Dist: torch==2.9");
        assert_eq!(listed.and_then(|range| range.oldest), Some((2, 9)));
        let open = from_pyproject("[project]\ndependencies = ['numpy', 'torch>=2.6']");
        assert_eq!(open.and_then(|range| range.oldest), Some((2, 6)));
    }

    #[test]
    fn upper_bounds_are_those_that_leave_a_version_out() {
        let newest = |text: &str| requirement(text).and_then(|range| range.newest);
        assert_eq!(newest("torch==2.11.0"), Some((2, 11)));
        assert_eq!(newest("torch>=2.4,<2.9"), Some((2, 8)));
        assert_eq!(newest("torch>=2.4,<2.9.1"), Some((2, 9)));
        assert_eq!(newest("torch<=2.9"), Some((2, 9)));
        assert_eq!(newest("torch~=2.9.0"), Some((2, 9)));
        assert_eq!(newest("torch~=2.9"), None);
        assert_eq!(newest("torch>=2.4,<3"), None);
        assert_eq!(newest("torch>=2.4"), None);
    }
}
