//! Who may import whom, and where parser and machine may be named.

#![allow(clippy::unwrap_used)] // a panic is a failed test

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// Module → modules of ours that it may name. A module may always name its own parts.
const ARROWS: &[(&str, &[&str])] = &[
    ("source", &[]),
    ("facts", &["source"]),
    ("words", &[]),
    ("program", &["facts", "source", "words"]),
    ("finding", &["source"]),
    ("settings", &["finding"]),
    ("knowledge", &[]),
    // Facts are kept by the text that they were made of: what makes them sees no settings, no knowledge, no other file.
    ("extract", &["facts", "source"]),
    ("store", &["facts", "program", "source", "words"]),
    ("link", &["program", "facts", "knowledge", "source", "words"]),
    ("rules", &["program", "rewrite", "knowledge", "finding", "source"]),
    ("suppress", &["facts", "finding", "settings", "source"]),
    ("rewrite", &["program", "facts", "knowledge", "finding", "source", "words"]),
    ("fix", &["finding", "source"]),
    ("trace", &["program", "finding", "source"]),
    ("report", &["finding", "source", "rules"]),
    ("project", &["knowledge", "program", "settings", "source", "store"]),
    (
        "pipeline",
        &[
            "source",
            "words",
            "facts",
            "program",
            "finding",
            "settings",
            "knowledge",
            "extract",
            "link",
            "rules",
            "suppress",
            "rewrite",
            "fix",
            "trace",
            "store",
        ],
    ),
    (
        "cli",
        &[
            "source",
            "facts",
            "program",
            "finding",
            "settings",
            "knowledge",
            "extract",
            "link",
            "rules",
            "suppress",
            "rewrite",
            "fix",
            "trace",
            "report",
            "project",
            "pipeline",
            "store",
        ],
    ),
    (
        "lsp",
        &[
            "source",
            "facts",
            "program",
            "finding",
            "settings",
            "knowledge",
            "extract",
            "link",
            "rules",
            "suppress",
            "rewrite",
            "fix",
            "trace",
            "report",
            "project",
            "pipeline",
            "store",
        ],
    ),
    ("main", &["cli", "lsp"]),
];

/// Faces between the core and the machine: the only places for disk, environment, clock and printing.
const SHELL: &[&str] = &["project", "cli", "lsp", "main"];

/// Words that reach the machine.
const MACHINE: &[&str] = &[
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "std::time",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "println!",
    "eprintln!",
    "print!",
    "eprint!",
    "File::open",
    "walkdir::",
    "ignore::",
    "tempfile::",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file under `src` that is no test, as (path relative to `src`, code without comments, strings and test modules).
fn sources() -> BTreeMap<String, String> {
    let src = root().join("src");
    let mut found = BTreeMap::new();
    let mut folders = vec![src.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.file_stem().is_some_and(|stem| stem == "tests") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let name = path.strip_prefix(&src).unwrap().to_str().unwrap().replace('\\', "/");
                found.insert(name, without_tests(&code_of(&fs::read_to_string(&path).unwrap())));
            }
        }
    }
    found
}

/// The code alone: comments and the insides of string and character literals are blanked.
fn code_of(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::new();
    let mut i = 0;
    while i < chars.len() {
        let rest = &chars[i..];
        if rest.starts_with(&['/', '/']) {
            while i < chars.len() && chars[i] != '\n' {
                i += 1;
            }
        } else if rest.starts_with(&['/', '*']) {
            let mut depth = 0;
            while i < chars.len() {
                if chars[i..].starts_with(&['/', '*']) {
                    depth += 1;
                    i += 2;
                } else if chars[i..].starts_with(&['*', '/']) {
                    depth -= 1;
                    i += 2;
                    if depth == 0 {
                        break;
                    }
                } else {
                    i += 1;
                }
            }
        } else if let Some(length) = string_literal(&chars, i) {
            out.push_str("\"\"");
            i += length;
        } else {
            out.push(chars[i]);
            i += 1;
        }
    }
    out
}

/// Length of the string or character literal that begins at `i`, if one does.
fn string_literal(chars: &[char], i: usize) -> Option<usize> {
    let before = i.checked_sub(1).map(|b| chars[b]);
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut at = i;
    if matches!(chars[at], 'b' | 'c') && !in_word && matches!(chars.get(at + 1), Some('"' | 'r' | '\'')) {
        at += 1;
    }
    if chars[at] == 'r' && (at > i || !in_word) {
        let hashes = chars[at + 1..].iter().take_while(|&&c| c == '#').count();
        if chars.get(at + 1 + hashes) == Some(&'"') {
            let mut close = vec!['"'];
            close.extend(std::iter::repeat_n('#', hashes));
            let body = at + 2 + hashes;
            let length = chars[body..].windows(close.len()).position(|w| w == close)?;
            return Some(body + length + close.len() - i);
        }
    }
    match chars[at] {
        '"' => {
            let mut end = at + 1;
            while end < chars.len() && chars[end] != '"' {
                end += if chars[end] == '\\' { 2 } else { 1 };
            }
            Some(end + 1 - i)
        }
        '\'' if chars.get(at + 1) == Some(&'\\') => {
            let length = chars[at + 3..].iter().position(|&c| c == '\'')?;
            Some(at + 3 + length + 1 - i)
        }
        '\'' if chars.get(at + 2) == Some(&'\'') => Some(at + 3 - i),
        _ => None,
    }
}

/// Cuts items under `#[cfg(test)]`: tests may call whatever they need.
fn without_tests(code: &str) -> String {
    let mut out = String::new();
    let mut rest = code;
    while let Some(start) = rest.find("#[cfg(test)]") {
        out.push_str(&rest[..start]);
        let item = &rest[start..];
        let open = item.find('{').unwrap_or(item.len());
        let semicolon = item.find(';').unwrap_or(item.len());
        let mut end = semicolon.min(item.len().saturating_sub(1)) + 1;
        if open < semicolon {
            let mut depth = 0;
            for (at, c) in item.char_indices().skip_while(|&(at, _)| at < open) {
                depth += match c {
                    '{' => 1,
                    '}' => -1,
                    _ => 0,
                };
                if depth == 0 {
                    end = at + 1;
                    break;
                }
            }
        }
        rest = &item[end..];
    }
    out.push_str(rest);
    out
}

/// The top module of a file: `link` for `link/calls.rs`, `facts` for `facts.rs`.
fn module_of(file: &str) -> &str {
    file.split('/').next().unwrap().trim_end_matches(".rs")
}

/// How many modules deep a file's own module is: `lib.rs` 0, `link/mod.rs` 1, `link/calls.rs` 2.
fn depth_of(file: &str) -> usize {
    match file {
        "lib.rs" | "main.rs" => 0,
        _ => file.split('/').filter(|&part| part != "mod.rs").count(),
    }
}

/// Top modules that a file names, through `crate::`, `super::…` up to the root, or `opwright::` in the binary.
fn named_modules(file: &str, code: &str) -> BTreeSet<String> {
    let own = if file == "main.rs" {
        "opwright".to_owned()
    } else {
        "crate".to_owned()
    };
    let up = vec!["super"; depth_of(file).max(1)].join("::");
    let mut found = BTreeSet::new();
    for prefix in [own, up] {
        for (at, _) in code.match_indices(&format!("{prefix}::")) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            heads(code[at + prefix.len() + 2..].trim_start(), &mut found);
        }
    }
    found
}

/// The first names of a path's tail: one, or each of a `{…}` group.
fn heads(tail: &str, found: &mut BTreeSet<String>) {
    if !tail.starts_with('{') {
        found.insert(tail.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        return;
    }
    let mut depth = 0;
    let mut part = String::new();
    for c in tail.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 1 && (c == ',' || c == '{') || depth == 0 {
            let name: String = part.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if !name.is_empty() {
                found.insert(name);
            }
            part.clear();
            if depth == 0 {
                return;
            }
        } else {
            part.push(c);
        }
    }
}

#[test]
fn imports_follow_the_arrows() {
    let known: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut wrong = Vec::new();
    for (file, code) in sources() {
        if file == "lib.rs" {
            continue;
        }
        let module = module_of(&file);
        let Some(allowed) = known.get(module) else {
            wrong.push(format!("src/{file}: module `{module}` has no row in ARROWS"));
            continue;
        };
        for named in named_modules(&file, &code) {
            if named != module && known.contains_key(named.as_str()) && !allowed.contains(&named.as_str()) {
                wrong.push(format!("src/{file}: `{module}` may not name `{named}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn arrows_have_no_cycle() {
    let known: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    while done.len() < known.len() {
        let next: Vec<&str> = known
            .iter()
            .filter(|(module, to)| !done.contains(*module) && to.iter().all(|t| done.contains(t)))
            .map(|(m, _)| *m)
            .collect();
        assert!(!next.is_empty(), "ARROWS has a cycle, or names a module without a row");
        done.extend(next);
    }
}

#[test]
fn the_parser_has_one_door() {
    for (file, code) in sources() {
        assert!(
            file == "extract/parse.rs" || !code.contains("ruff_python_parser"),
            "src/{file}: only extract/parse.rs names the parser"
        );
        assert!(
            file.starts_with("extract/") || !code.contains("ruff_python_ast"),
            "src/{file}: only extract/ sees the syntax tree"
        );
        assert!(
            file.starts_with("extract/") || !code.contains("ruff_text_size"),
            "src/{file}: places outside extract/ are `Span`s"
        );
    }
}

#[test]
fn the_core_maps_values_to_values() {
    let mut wrong = Vec::new();
    for (file, code) in sources() {
        if SHELL.contains(&module_of(&file)) {
            continue;
        }
        for word in MACHINE {
            let named = code.match_indices(word).any(|(at, _)| {
                let before = code[..at].chars().next_back();
                !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
            });
            if named {
                wrong.push(format!("src/{file} names `{word}`"));
            }
        }
        for group in ["use std::{", "use std::io::{"] {
            if code.contains(group) {
                wrong.push(format!(
                    "src/{file}: import from `std` one module a line, so that this test can read it"
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "disk, environment, clock and printing live in {SHELL:?}:\n{}",
        wrong.join("\n")
    );
}

mod reader {
    //! The reader of imports is trusted by the tests above, so it is tested itself.
    use super::*;

    fn named(file: &str, code: &str) -> Vec<String> {
        named_modules(file, &without_tests(&code_of(code))).into_iter().collect()
    }

    #[test]
    fn sees_groups_paths_and_super() {
        assert_eq!(
            named(
                "fix/apply.rs",
                "use crate::{finding::{Edit, Fix}, source};\nlet x = crate::link::link();"
            ),
            ["finding", "link", "source"]
        );
        assert_eq!(named("fix/apply.rs", "use super::super::link::x; use super::diff;"), ["link"]);
        assert_eq!(named("fix/mod.rs", "use super::link;"), ["link"]);
        assert_eq!(named("main.rs", "opwright::cli::run()"), ["cli"]);
    }

    #[test]
    fn ignores_comments_strings_and_tests() {
        let code = "// crate::link\n/* crate::a /* crate::b */ */ let s = \"crate::c\"; let r = r#\"crate::d \"q\"\"#; let c = '\"'; crate::e::f();";
        assert_eq!(named("fix/apply.rs", code), ["e"]);
        assert_eq!(
            named(
                "fix/apply.rs",
                "#[cfg(test)]\nmod tests { use crate::link; fn f() { '{'; } }\nuse crate::finding;"
            ),
            ["finding"]
        );
        assert_eq!(
            named("fix/apply.rs", "#[cfg(test)]\nuse crate::link;\nuse crate::finding;"),
            ["finding"]
        );
    }
}
