//! Every rule is complete, its page's examples are true, and its cases hold.
//!
//! A case passes when each mark has its finding and each finding its mark. Beyond that every case must survive what any
//! user may do: fix it, fix it again, hand the files over in another order. `INSTA_UPDATE=always` rewrites the `diff` blocks.

#![allow(clippy::unwrap_used)] // a panic is a failed test

#[path = "support/cases.rs"]
mod cases;
#[path = "support/project.rs"]
mod project;

use cases::Case;
use opwright::finding::Fix;
use opwright::fix::diff::unified;
use opwright::pipeline::Checked;
use opwright::rules;
use project::{Row, TestProject, row, rows};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The headings of every rule page, in order.
const HEADINGS: &[&str] = &[
    "What it does",
    "Why it matters",
    "Example",
    "Use instead",
    "Fix safety",
    "When it stays silent",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_rule_file_is_listed_and_every_listed_rule_has_a_file() {
    let listed: BTreeSet<String> = rules::ALL.iter().map(|rule| rule.name.to_owned()).collect();
    assert_eq!(listed.len(), rules::ALL.len(), "rule names are unique");
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(root().join("src/rules")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && fs::read_to_string(&path).unwrap().contains("static RULE: Rule") {
            files.insert(path.file_stem().unwrap().to_str().unwrap().replace('_', "-"));
        }
    }
    assert!(!listed.is_empty());
    assert_eq!(listed, files, "rules::ALL against the files of src/rules that hold a rule");
}

#[test]
fn every_rule_has_identity_page_and_cases() {
    for rule in rules::ALL {
        let name = rule.name;
        let parts_are_words = name
            .split('-')
            .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase()));
        assert!(parts_are_words, "{name}: a rule's name is kebab-case");
        let summary = rule.summary;
        assert!(
            !summary.is_empty() && summary.len() <= 80 && !summary.contains('\n'),
            "{name}: one line of at most 80: {summary:?}"
        );
        assert!(
            !summary.ends_with('.') && !summary.starts_with(char::is_uppercase),
            "{name}: lower case, no full stop: {summary:?}"
        );
        assert!(
            !rule.group.is_empty() && rules::ALL.iter().all(|other| other.name != rule.group),
            "{name}: group {:?}",
            rule.group
        );
        let page = cases::read(&format!("rules/{name}.md")).text;
        assert_eq!(page, rule.page, "{name} embeds another page than rules/{name}.md");
        assert_eq!(
            page.lines().next(),
            Some(format!("# {name}").as_str()),
            "rules/{name}.md begins with its name"
        );
        assert_eq!(headings(&page), HEADINGS, "the headings of rules/{name}.md");
        assert!(
            root().join(format!("tests/rules/{name}.md")).is_file(),
            "tests/rules/{name}.md: every rule has a case file"
        );
    }
}

#[test]
fn every_page_and_case_file_belongs_to_a_rule() {
    for path in cases::in_folder("rules").into_iter().chain(cases::in_folder("tests/rules")) {
        let stem = Path::new(&path).file_stem().unwrap().to_str().unwrap();
        assert!(rules::ALL.iter().any(|rule| rule.name == stem), "{path}: there is no such rule");
    }
}

/// The `##` headings of a page, outside code blocks.
fn headings(page: &str) -> Vec<&str> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in page.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if !fenced && let Some(heading) = line.strip_prefix("## ") {
            found.push(heading.trim());
        }
    }
    found
}

#[test]
fn examples_of_pages_report_their_rule_and_cures_do_not() {
    for rule in rules::ALL {
        let page = cases::read(&format!("rules/{}.md", rule.name));
        let (mut bad, mut good) = (0, 0);
        for case in &page.cases {
            let expected = match case.heading.as_str() {
                "Example" => true,
                "Use instead" => false,
                _ => continue,
            };
            for file in &case.files {
                let alone = TestProject::of([(file.path.as_str(), file.text.as_str())], case.settings.as_deref());
                let found = rows(&alone.check());
                let reported = found.iter().any(|row| row.rule == rule.name);
                assert_eq!(
                    reported, expected,
                    "rules/{}.md, {}, reports:\n{found:#?}\n{}",
                    rule.name, case.heading, file.text
                );
                *if expected { &mut bad } else { &mut good } += 1;
            }
        }
        assert!(
            bad > 0 && good > 0,
            "rules/{}.md has an example and a cure, in `py` blocks",
            rule.name
        );
    }
}

#[test]
fn findings_are_as_marked() {
    let mut failed = Vec::new();
    for path in cases::in_folder("tests/rules") {
        let file = cases::read(&path);
        assert!(!file.cases.is_empty(), "{path}: no case");
        for case in &file.cases {
            let found = rows(&project_of(case).check());
            for problem in differences(case, &found) {
                failed.push(format!("{path}:{}: {}: {problem}", case.line, case.title));
            }
        }
    }
    assert!(failed.is_empty(), "{} wrong:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn every_rule_has_a_firing_and_a_silent_case() {
    for rule in rules::ALL {
        let file = cases::read(&format!("tests/rules/{}.md", rule.name));
        let fires = |case: &&Case| {
            case.files
                .iter()
                .flat_map(|f| &f.marks)
                .any(|mark| mark.rule == rule.name && mark.word != "missed")
        };
        let firing = file.cases.iter().filter(fires).count();
        assert!(firing > 0, "tests/rules/{}.md never fires", rule.name);
        assert!(firing < file.cases.len(), "tests/rules/{}.md has no silent near miss", rule.name);
    }
}

#[test]
fn the_order_of_files_does_not_matter() {
    for path in cases::in_folder("tests/rules") {
        for case in cases::read(&path).cases.iter().filter(|case| case.files.len() > 1) {
            let backwards = case.files.iter().rev().map(|f| (f.path.as_str(), f.text.as_str()));
            let other = TestProject::of(backwards, case.settings.as_deref());
            assert_eq!(rows(&other.check()), rows(&project_of(case).check()), "{path}: {}", case.title);
        }
    }
}

#[test]
fn fixes_converge_cure_and_rest() {
    for path in cases::in_folder("tests/rules") {
        for case in &cases::read(&path).cases {
            for unsafe_too in [false, true] {
                let what = format!("{path}:{}: {}, unsafe: {unsafe_too}", case.line, case.title);
                let project = project_of(case);
                let before = project.check();
                let fixed = project.fix(project.files(), unsafe_too);
                assert!(fixed.stable, "{what}: fixes do not come to rest");
                assert!(fixed.undone.is_empty(), "{what}: undone: {:?}", fixed.undone);
                assert_eq!(syntax_errors(&fixed.checked), syntax_errors(&before), "{what}: syntax errors");
                let left = rows(&fixed.checked);
                for (finding, row) in before.findings.iter().zip(in_order(&before)) {
                    let landed = |fix: &Fix| {
                        fixed
                            .applied
                            .iter()
                            .any(|a| a.file == finding.place.file && a.rule == finding.rule && a.title == fix.title)
                    };
                    if finding.fix.as_ref().is_some_and(landed) {
                        let same = |l: &&Row| (&l.path, &l.rule, &l.message) == (&row.path, &row.rule, &row.message);
                        assert!(!left.iter().any(|l| same(&l)), "{what}: fixed and still there: {row:?}");
                    }
                }
                // A finding may move with the code into the new function, so only the numbers are compared.
                let kinds = |rows: &mut dyn Iterator<Item = Row>| {
                    let mut count = BTreeMap::new();
                    rows.for_each(|row| *count.entry((row.path, row.rule)).or_insert(0) += 1);
                    count
                };
                let old = kinds(&mut in_order(&before));
                for (kind, count) in kinds(&mut left.iter().cloned()) {
                    assert!(
                        count <= old.get(&kind).copied().unwrap_or(0),
                        "{what}: a fix brought {kind:?}: {left:#?}"
                    );
                }
                let again = project.fix(project.files_after(&fixed), unsafe_too);
                assert!(again.texts.is_empty(), "{what}: a second run changes more");
            }
        }
    }
}

#[test]
fn fixes_are_as_expected() {
    let mut failed = Vec::new();
    for path in cases::in_folder("tests/rules") {
        let file = cases::read(&path);
        let mut lines: Vec<String> = file.text.lines().map(String::from).collect();
        let before = lines.clone();
        for case in file.cases.iter().rev() {
            let Some(expected) = &case.diff else { continue };
            let project = project_of(case);
            let fixed = project.fix(project.files(), expected.with_unsafe);
            let diff: String = fixed
                .texts
                .iter()
                .map(|(id, after)| unified(&after.path, &project.files()[id.index()].source.text, &after.text))
                .collect();
            if diff != expected.text {
                failed.push(format!("{path}:{}: {}:\n{diff}", case.line, case.title));
                lines.splice(expected.lines.0..expected.lines.1, diff.lines().map(String::from));
            }
        }
        if updating() && lines != before {
            fs::write(root().join(&path), lines.join("\n") + "\n").unwrap();
        }
    }
    assert!(
        failed.is_empty() || updating(),
        "{} differ (INSTA_UPDATE=always accepts):\n{}",
        failed.len(),
        failed.join("\n")
    );
}

/// The one switch that rewrites golden files of all kinds.
fn updating() -> bool {
    std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always")
}

/// Rows in the order of the findings.
fn in_order(checked: &Checked) -> impl Iterator<Item = Row> {
    checked.findings.iter().map(|finding| row(checked, finding))
}

fn syntax_errors(checked: &Checked) -> usize {
    checked.program.files.iter().map(|file| file.facts.syntax_errors.len()).sum()
}

fn project_of(case: &Case) -> TestProject {
    TestProject::of(
        case.files.iter().map(|f| (f.path.as_str(), f.text.as_str())),
        case.settings.as_deref(),
    )
}

/// Marks without their finding, findings without a mark, and known wrong answers that have become right.
fn differences(case: &Case, found: &[Row]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut rest: Vec<&Row> = found.iter().collect();
    for file in &case.files {
        for mark in &file.marks {
            let place = format!("{}:{}", file.path, mark.line);
            let same = |row: &&Row| row.path == file.path && row.line == mark.line && row.rule == mark.rule;
            let hit = rest.iter().position(same);
            match (mark.word.as_str(), hit) {
                ("missed", None) => {}
                ("missed", Some(_)) => problems.push(format!("{place}: `{}` is found now: mark its level", mark.rule)),
                ("false", None) => problems.push(format!("{place}: `{}` is gone: take the mark away", mark.rule)),
                (_, None) => problems.push(format!("{place}: no `{}`", mark.rule)),
                ("false", Some(_)) => {}
                (word, Some(index)) if rest[index].level != word => {
                    problems.push(format!(
                        "{place}: `{}` is marked {word}, reported as {}",
                        mark.rule, rest[index].level
                    ));
                }
                (_, Some(_)) => {}
            }
            if let Some(index) = hit {
                rest.remove(index);
            }
        }
    }
    problems.extend(
        rest.iter()
            .map(|row| format!("{}:{}: unmarked {}: [{}] {}", row.path, row.line, row.level, row.rule, row.message)),
    );
    problems
}
