//! The command line as its users meet it: each folder of `tests/cli/` is a project (`in/`), commands (`cmd`), and everything
//! that they print, exit with and change (`out`). `INSTA_UPDATE=always` writes the `out` files anew.

#![allow(clippy::unwrap_used)] // a panic is a failed test

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli")
}

#[test]
fn commands_print_exit_and_change_as_recorded() {
    let mut wrong = Vec::new();
    let mut folders: Vec<PathBuf> = fs::read_dir(cases()).unwrap().map(|e| e.unwrap().path()).collect();
    folders.sort();
    assert!(!folders.is_empty());
    for folder in folders {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let got = run_case(&folder);
        let path = folder.join("out");
        if std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always") {
            fs::write(&path, &got).unwrap();
        }
        let want = fs::read_to_string(&path).unwrap_or_default();
        if got != want {
            let diff = similar::TextDiff::from_lines(&want, &got);
            wrong.push(format!("{name}:\n{}", diff.unified_diff().header("recorded", "now")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Runs the commands of a case one after another in one copy of its project.
fn run_case(folder: &Path) -> String {
    let project = tempfile::tempdir().unwrap();
    copy(&folder.join("in"), project.path());
    let mut before = tree(project.path());
    let mut out = String::new();
    for line in fs::read_to_string(folder.join("cmd"))
        .unwrap()
        .lines()
        .filter(|line| !line.trim().is_empty())
    {
        let _ = writeln!(out, "$ {line}");
        let output = run_line(line, project.path());
        out.push_str(&cleaned(&output.stdout, project.path()));
        for line in cleaned(&output.stderr, project.path()).lines() {
            let _ = writeln!(out, "! {line}");
        }
        let _ = writeln!(
            out,
            "= exit {}",
            output.status.code().map_or("by signal".into(), |code| code.to_string())
        );
        let after = tree(project.path());
        for (path, text) in &after {
            if before.get(path) != Some(text) {
                let _ = writeln!(out, "= changed {path}\n{}", String::from_utf8_lossy(text).trim_end());
            }
        }
        assert!(before.keys().all(|path| after.contains_key(path)), "{line}: a file is gone");
        before = after;
        out.push('\n');
    }
    out
}

/// `[cd FOLDER &&] opwright ARGS [< FILE]`
fn run_line(line: &str, project: &Path) -> Output {
    let (folder, line) = match line.strip_prefix("cd ").and_then(|rest| rest.split_once(" && ")) {
        Some((folder, line)) => (project.join(folder), line),
        None => (project.to_path_buf(), line),
    };
    let (line, input) = line
        .split_once(" < ")
        .map_or((line, None), |(line, file)| (line, Some(fs::read(folder.join(file)).unwrap())));
    let args: Vec<&str> = line.strip_prefix("opwright").unwrap().split_whitespace().collect();
    run(&folder, &args, input.as_deref())
}

fn run(folder: &Path, args: &[&str], input: Option<&[u8]>) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_opwright"))
        .env("OPWRIGHT_CACHE_DIR", "")
        .args(args)
        .current_dir(folder)
        .env_remove("NO_COLOR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.unwrap_or_default()).unwrap();
    child.wait_with_output().unwrap()
}

fn cleaned(bytes: &[u8], project: &Path) -> String {
    let real = project.canonicalize().unwrap();
    let text = String::from_utf8_lossy(bytes).replace(&real.display().to_string(), "[PROJECT]");
    text.replace(&project.display().to_string(), "[PROJECT]")
        .replace(env!("CARGO_PKG_VERSION"), "[VERSION]")
}

fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in walkdir::WalkDir::new(folder)
        .into_iter()
        .map(Result::unwrap)
        .filter(|e| e.file_type().is_file())
    {
        let name = entry.path().strip_prefix(folder).unwrap().to_string_lossy().into_owned();
        found.insert(name, fs::read(entry.path()).unwrap());
    }
    found
}

fn copy(from: &Path, to: &Path) {
    for (name, text) in tree(from) {
        let path = to.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// A scratch project of these files.
fn project(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn check_json(folder: &Path, args: &[&str]) -> (Option<i32>, serde_json::Value) {
    let output = run(folder, &[&["check", "--output-format", "json"], args].concat(), None);
    let text = String::from_utf8(output.stdout).unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    (
        output.status.code(),
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}{error}")),
    )
}

fn reported(json: &serde_json::Value) -> Vec<String> {
    json.as_array()
        .unwrap()
        .iter()
        .map(|f| format!("{}: {}", f["file"].as_str().unwrap(), f["rule"].as_str().unwrap()))
        .collect()
}

#[test]
fn files_that_have_no_text_are_findings_and_the_run_goes_on() {
    let folder = project(&[
        ("latin.py", b"# -*- coding: latin-1 -*-\nx = '\xfc'\n"),
        ("mark.py", b"\xef\xbb\xbfx = 1\n"),
        ("null.py", b"x = 1\0"),
        ("other.py", b"# coding: utf-7\nx = '\xfc'\n"),
        ("undecodable.py", b"x = '\xff'\n"),
        ("zz.py", b"def f(:  # triton\n"),
    ]);
    fs::create_dir(folder.path().join("folder.py")).unwrap();
    let (code, json) = check_json(folder.path(), &[]);
    assert_eq!(code, Some(1));
    let want = ["null.py", "other.py", "undecodable.py", "zz.py"].map(|name| format!("{name}: syntax-error"));
    assert_eq!(reported(&json), want);
}

#[test]
fn folders_that_hold_no_project_code_are_passed_over() {
    let broken: &[u8] = b"def f(:  # triton\n";
    let folder = project(&[
        (".gitignore", b"generated/\n"),
        (".hidden/a.py", broken),
        (".venv/a.py", broken),
        ("__pycache__/a.py", broken),
        ("build/a.py", broken),
        ("dist/a.py", broken),
        ("generated/a.py", broken),
        ("node_modules/a.py", broken),
        ("notes.txt", broken),
        ("pkg/build/__init__.py", broken),
        ("shown.py", broken),
    ]);
    let (_, json) = check_json(folder.path(), &[]);
    assert_eq!(reported(&json), ["pkg/build/__init__.py: syntax-error", "shown.py: syntax-error"]);
    let (_, json) = check_json(folder.path(), &["generated/a.py", "notes.txt"]);
    assert_eq!(reported(&json), ["generated/a.py: syntax-error", "notes.txt: syntax-error"]);
    let (_, json) = check_json(folder.path(), &["generated"]);
    assert_eq!(reported(&json), ["generated/a.py: syntax-error"]);
}

#[cfg(unix)]
#[test]
fn odd_names_links_and_locked_files_do_no_harm() {
    use std::os::unix::ffi::OsStrExt;
    let folder = project(&[
        ("a.py", b"x = 1  # opwright: ignore[syntax-error] nothing here\n"),
        ("locked/b.py", b"x = 1\n"),
    ]);
    let outside = project(&[("c.py", b"def f(:  # triton\n")]);
    let odd = folder.path().join(std::ffi::OsStr::from_bytes(b"odd\xff\n.py"));
    // Some file systems refuse such names.
    let has_odd = fs::write(&odd, b"def f(:  # triton\n").is_ok();
    std::os::unix::fs::symlink(outside.path(), folder.path().join("linked")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("c.py"), folder.path().join("link.py")).unwrap();
    std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).unwrap();
    std::os::unix::fs::symlink("nowhere.py", folder.path().join("dangling.py")).unwrap();
    let (code, json) = check_json(folder.path(), &[]);
    assert_eq!(
        (code, json.as_array().unwrap().len()),
        (Some(1), 1 + usize::from(has_odd)),
        "{json}"
    );
    let output = run(folder.path(), &["check", "--fix", "--exit-zero"], None);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read(folder.path().join("a.py")).unwrap(), b"x = 1\n");
    assert_eq!(fs::read(outside.path().join("c.py")).unwrap(), b"def f(:  # triton\n");
}

#[test]
fn only_what_changed_files_cause_is_reported_since_a_revision() {
    const KERNEL: &[u8] = b"import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(x):\n    tl.store(x, 1)\n";
    let folder = project(&[
        ("kernels.py", KERNEL),
        ("a.py", b"from kernels import k\n\ndef a(x):\n    k[(1,)](x)\n"),
        (
            "b.py",
            b"import triton\n\n@triton.jit\ndef own(x):\n    pass\n\ndef b(x):\n    own[(1,)](x)\n",
        ),
    ]);
    let git = |args: &[&str]| {
        let who = [
            "-c",
            "user.email=t@example.org",
            "-c",
            "user.name=t",
            "-c",
            "init.defaultBranch=main",
        ];
        let output = Command::new("git")
            .current_dir(folder.path())
            .args(who)
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "first"]);
    let since = |revision: &str| reported(&check_json(folder.path(), &["--since", revision]).1);
    assert_eq!(since("HEAD"), [""; 0]);
    // A kernel that changes shows its launcher, which did not.
    fs::write(folder.path().join("kernels.py"), [KERNEL, b"# more\n"].concat()).unwrap();
    assert_eq!(since("HEAD"), ["a.py: unregistered-launcher"]);
    fs::write(folder.path().join("new.py"), "def f(:  # triton\n").unwrap();
    assert_eq!(since("HEAD"), ["a.py: unregistered-launcher", "new.py: syntax-error"]);
    let output = run(folder.path(), &["check", "--since", "nonsense"], None);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--since: git:"));
}

#[test]
fn completions_and_pages_name_every_command() {
    let folder = project(&[]);
    for args in [
        &["completions", "bash"][..],
        &["completions", "zsh"],
        &["completions", "fish"],
        &["man"],
    ] {
        let output = run(folder.path(), args, None);
        let text = String::from_utf8_lossy(&output.stdout);
        for command in ["check", "baseline", "inventory", "server"] {
            assert!(text.contains(command), "{args:?} lacks {command}");
        }
    }
    let page = run(folder.path(), &["man", "check"], None).stdout;
    assert!(String::from_utf8_lossy(&page).contains("stdin\\-filename"));
}

/// Nobody reads the output: that is no failure.
#[cfg(unix)]
#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let folder = project(&[("a.py", b"x = 1\n")]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_opwright"))
        .env("OPWRIGHT_CACHE_DIR", "")
        .args(["check", "--output-format", "json"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

/// Cut and scrambled files: never a crash, always JSON.
#[test]
fn damaged_files_never_end_a_run() {
    let mut texts: Vec<Vec<u8>> = Vec::new();
    for entry in walkdir::WalkDir::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"))
        .into_iter()
        .flatten()
    {
        if entry.path().extension().is_some_and(|e| e == "py") {
            texts.push(fs::read(entry.path()).unwrap());
        }
    }
    texts.push(b"import triton\n@triton.jit\ndef k(x, n: tl.constexpr):\n    tl.store(x, 1)\n\ndef f(x):\n    k[(1,)](x, n=1)\n".to_vec());
    let folder = tempfile::tempdir().unwrap();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below.max(1) as u64) as usize
    };
    for (number, text) in texts.iter().enumerate() {
        for cut in 0..8 {
            let at = next(text.len());
            let mut damaged = if cut % 2 == 0 { text[..at].to_vec() } else { text.clone() };
            for _ in 0..next(6) {
                let place = next(damaged.len());
                if let Some(byte) = damaged.get_mut(place) {
                    *byte = next(256) as u8;
                }
            }
            fs::write(folder.path().join(format!("f{number}_{cut}.py")), damaged).unwrap();
        }
    }
    fs::write(
        folder.path().join("deep.py"),
        format!("x = {}{}\n", "(".repeat(3000), ")".repeat(3000)),
    )
    .unwrap();
    fs::write(folder.path().join("long.py"), format!("x = {}1\n", "1 + ".repeat(20_000))).unwrap();
    let before = tree(folder.path());
    for args in [
        &["check", "--output-format", "json"][..],
        &["check"],
        &["inventory", "--output-format", "json"],
        &["check", "--diff", "--unsafe"],
    ] {
        let output = run(folder.path(), args, None);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{args:?}: {error}");
        assert!(!error.contains("panicked"), "{error}");
    }
    assert_eq!(before, tree(folder.path()));
}
