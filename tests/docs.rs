//! What the documentation shows is accepted by the program.

#![allow(clippy::unwrap_used)] // a panic is a failed test

#[path = "support/project.rs"]
mod project;

use project::TestProject;
use std::fs;
use std::path::Path;

fn toml_blocks(path: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let blocks: Vec<String> = text
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect();
    assert!(!blocks.is_empty(), "{path} shows no TOML");
    blocks
}

#[test]
fn configuration_examples_load() {
    for block in toml_blocks("docs/configuration.md") {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("pyproject.toml"), block).unwrap();
        TestProject::at(folder.path(), "auto");
    }
}

#[test]
fn framework_examples_load() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("acme.toml"), toml_blocks("docs/frameworks.md").concat()).unwrap();
    fs::write(folder.path().join("opwright.toml"), "knowledge = [\"acme.toml\"]\n").unwrap();
    TestProject::at(folder.path(), "auto");
}
