//! Which files git says have changed since a revision.

use super::Failure;
use super::root::clean;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files under the root that differ from a revision, new ones that are not tracked included.
pub fn since(root: &Path, revision: &str) -> Result<BTreeSet<PathBuf>, Failure> {
    if revision.starts_with('-') {
        return Err(Failure(format!("--since: `{revision}` is no revision")));
    }
    let mut changed = git(root, &["diff", "--name-only", "-z", "--relative", revision, "--"])?;
    changed.extend(git(root, &["ls-files", "-z", "--others", "--exclude-standard"])?);
    Ok(changed)
}

fn git(root: &Path, args: &[&str]) -> Result<BTreeSet<PathBuf>, Failure> {
    let output = Command::new("git").arg("-C").arg(root).args(args).output();
    let output = output.map_err(|error| Failure(format!("--since: cannot run git: {error}")))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(Failure(format!("--since: git: {}", why.lines().next().unwrap_or("it failed"))));
    }
    let names = output.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    Ok(names
        .map(|name| clean(&root.join(String::from_utf8_lossy(name).as_ref())))
        .collect())
}
