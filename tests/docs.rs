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

/// Pages link to files of the tree, as a reader of the repository follows them; `scripts/book.py` checks the book's own layout.
#[test]
fn links_lead_to_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut links = 0;
    for folder in [".", "docs", "rules", "editors/neovim", "editors/vscode"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let page = entry.unwrap().path();
            if page.extension().is_none_or(|ending| ending != "md") {
                continue;
            }
            let text = fs::read_to_string(&page).unwrap();
            for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#', '\n']).next()) {
                if !link.is_empty() && !link.contains("://") && !link.contains([' ', '`', '(', '…', '"']) {
                    links += 1;
                    assert!(page.parent().unwrap().join(link).exists(), "{} links to {link}", page.display());
                }
            }
        }
    }
    assert!(links >= 15, "{links} links");
}

/// The first block of a kind.
fn block<'a>(text: &'a str, open: &str) -> &'a str {
    text.split(open).nth(1).unwrap().split("```").next().unwrap()
}

fn printed(arguments: &[&str]) -> String {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_opwright"))
        .env("OPWRIGHT_CACHE_DIR", "")
        .args(arguments)
        .args(["--no-cache", "--root", "."])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/serving"))
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim_end().lines().flat_map(|line| [line.trim_end(), "\n"]).collect()
}

#[test]
fn the_output_in_the_readme_is_real() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    assert_eq!(block(&readme, "```text\n"), printed(&["check"]));
    assert_eq!(block(&readme, "```diff\n"), printed(&["check", "--diff"]));
    for rule in opwright::rules::ALL {
        assert!(
            readme.contains(&format!("| `{}` | {} |", rule.name, rule.summary)),
            "README.md lists `{}`",
            rule.name
        );
    }
}

/// The configuration is described twice, for people and for editors: both name the keys that the program knows, and no others.
#[test]
fn every_key_is_documented_and_in_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("opwright.toml"), "qqqq = 1\n").unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_opwright"))
        .env("OPWRIGHT_CACHE_DIR", "")
        .args(["config", "--root", "."])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let mut known: Vec<&str> = error
        .split("expected one of")
        .nth(1)
        .unwrap()
        .split('`')
        .skip(1)
        .step_by(2)
        .collect();
    known.sort_unstable();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let schema: serde_json::Value = serde_json::from_str(&fs::read_to_string(root.join("docs/opwright.schema.json")).unwrap()).unwrap();
    let mut keys: Vec<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, known);
    let page = fs::read_to_string(root.join("docs/configuration.md")).unwrap();
    for key in known {
        assert!(page.contains(&format!("| `{key}` |")), "docs/configuration.md lacks {key}");
    }
}

/// Every command of a page runs, in a copy of the project that its block names.
#[test]
fn the_commands_of_the_pages_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut commands = 0;
    let mut pages: Vec<_> = fs::read_dir(root.join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.push(root.join("README.md"));
    pages.sort();
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for part in text.split("\n```sh").skip(1) {
            let (info, code) = part.split_once('\n').unwrap();
            let lines = code
                .split("\n```")
                .next()
                .unwrap()
                .lines()
                .filter(|line| line.starts_with("opwright "));
            let Some(name) = info.split_whitespace().find_map(|word| word.strip_prefix("project=")) else {
                assert_eq!(lines.count(), 0, "{}: a block without a project", page.display());
                continue;
            };
            let folder = copy_of(&root.join("fixtures").join(name));
            if info.contains(" git") {
                in_folder(folder.path(), "git", &["init", "-q"]);
                in_folder(folder.path(), "git", &["add", "."]);
                let who = ["-c", "user.email=t@example.org", "-c", "user.name=t"];
                in_folder(folder.path(), "git", &[&who[..], &["commit", "-qm", "first"]].concat());
            }
            for line in lines {
                let words: Vec<&str> = line.split_whitespace().skip(1).collect();
                let (code, error) = in_folder(folder.path(), env!("CARGO_BIN_EXE_opwright"), &words);
                assert!(matches!(code, Some(0 | 1)), "{}: {line}: {error}", page.display());
                commands += 1;
            }
        }
    }
    assert!(commands > 25, "{commands}");
}

fn in_folder(folder: &Path, program: &str, args: &[&str]) -> (Option<i32>, String) {
    let output = std::process::Command::new(program)
        .args(args)
        .env("OPWRIGHT_CACHE_DIR", "")
        .current_dir(folder)
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn copy_of(project: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in walkdir::WalkDir::new(project).into_iter().map(Result::unwrap) {
        let to = folder.path().join(entry.path().strip_prefix(project).unwrap());
        if entry.file_type().is_dir() {
            fs::create_dir_all(to).unwrap();
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
    folder
}
