//! Whole small projects with their expected report, inventory and change. `INSTA_UPDATE=always` rewrites all golden files.

#![allow(clippy::unwrap_used)] // a panic is a failed test

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Runs the program in a folder; returns what it printed, and its exit code at the end.
fn run(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_opwright"))
        .args(arguments)
        .args(["--no-cache", "--root", "."])
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "140")
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    format!("{stdout}{stderr}\nexit code {}\n", output.status.code().unwrap())
}

/// Compares with `fixtures/expected/<name>.snap`.
fn expect(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../fixtures/expected");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

fn project(name: &str) {
    let folder = root().join("fixtures").join(name);
    expect(&format!("{name}.report"), &run(&folder, &["check"]));
    expect(&format!("{name}.inventory"), &run(&folder, &["inventory"]));
    expect(&format!("{name}.diff"), &run(&folder, &["check", "--diff"]));
}

#[test]
fn mini_vllm() {
    project("mini_vllm");
}

#[test]
fn mini_sglang() {
    project("mini_sglang");
}

#[test]
fn fix_writes_what_diff_shows_and_then_rests() {
    for name in ["mini_vllm", "mini_sglang"] {
        let scratch = tempfile::tempdir().unwrap();
        let before = root().join("fixtures").join(name);
        let after = scratch.path().join(name);
        copy(&before, &after);
        let shown = run(&after, &["check", "--diff"]);
        run(&after, &["check", "--fix"]);
        let changed: Vec<String> = files(&before)
            .into_iter()
            .filter(|path| std::fs::read(before.join(path)).unwrap() != std::fs::read(after.join(path)).unwrap())
            .collect();
        assert!(!changed.is_empty(), "{name}: nothing was fixed");
        let in_diff: Vec<String> = files(&before)
            .into_iter()
            .filter(|path| shown.contains(&format!("+++ b/{path}\n")))
            .collect();
        assert_eq!(changed, in_diff, "{name}: files written against files in the diff");
        assert_eq!(files(&before), files(&after), "{name}: no file comes or goes");

        let once: Vec<Vec<u8>> = files(&after).iter().map(|path| std::fs::read(after.join(path)).unwrap()).collect();
        run(&after, &["check", "--fix"]);
        let twice: Vec<Vec<u8>> = files(&after).iter().map(|path| std::fs::read(after.join(path)).unwrap()).collect();
        assert!(once == twice, "{name}: a second fix changes something");
    }
}

fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.unwrap();
        if entry.file_type().is_file() {
            found.push(entry.path().strip_prefix(folder).unwrap().to_str().unwrap().replace('\\', "/"));
        }
    }
    found
}

fn copy(from: &Path, to: &Path) {
    for path in files(from) {
        let target = to.join(&path);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(from.join(&path), target).unwrap();
    }
}
