//! Reads case files and rule pages: Markdown whose code blocks are small projects.
//!
//! A heading opens a case. Its ```` ```py path=a/b.py ```` blocks are files, a `toml` block is the configuration, a
//! `diff` block is what `--fix` changes (`diff unsafe`: what `--fix --unsafe` changes). `text` blocks are prose.
//! `# error: [rule]` marks the line where a finding's primary span starts; the mark is cut off before the file is read.

use std::fs;
use std::path::Path;

/// A Markdown file with its cases.
pub(crate) struct CaseFile {
    /// The whole text.
    pub(crate) text: String,
    /// Its cases, in order.
    pub(crate) cases: Vec<Case>,
}

/// One heading with code.
#[derive(Default)]
pub(crate) struct Case {
    /// Headings from the outermost, joined by ` > `.
    pub(crate) title: String,
    /// The innermost heading.
    pub(crate) heading: String,
    /// Line of the heading, from 1.
    pub(crate) line: usize,
    /// The project.
    pub(crate) files: Vec<ProjectFile>,
    /// Text of the configuration.
    pub(crate) settings: Option<String>,
    /// The expected change.
    pub(crate) diff: Option<ExpectedDiff>,
}

/// One file of a case.
pub(crate) struct ProjectFile {
    /// Path in the project.
    pub(crate) path: String,
    /// Its text, without marks.
    pub(crate) text: String,
    /// Its marks.
    pub(crate) marks: Vec<Mark>,
}

/// What stands in a mark.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    /// Line in the project file, from 1.
    pub(crate) line: u32,
    /// The word: a level, `missed` or `false`.
    pub(crate) word: String,
    /// The rule.
    pub(crate) rule: String,
}

/// What a fix should change.
pub(crate) struct ExpectedDiff {
    /// The diff's text.
    pub(crate) text: String,
    /// With `--unsafe`.
    pub(crate) with_unsafe: bool,
    /// Lines of the block's content in the Markdown file: a half-open range of indices.
    pub(crate) lines: (usize, usize),
}

/// Words that a mark may begin with.
const WORDS: &[&str] = &["error", "warning", "note", "missed", "false"];

/// Reads one Markdown file; `path` is relative to the crate.
pub(crate) fn read(path: &str) -> CaseFile {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    parse(path, text)
}

/// Every `.md` file of a folder, by name.
pub(crate) fn in_folder(folder: &str) -> Vec<String> {
    let mut found: Vec<String> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))
        .unwrap_or_else(|e| panic!("{folder}: {e}"))
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".md"))
        .map(|name| format!("{folder}/{name}"))
        .collect();
    found.sort();
    found
}

/// Splits a text into cases. Mistakes in the Markdown panic with their line.
pub(crate) fn parse(path: &str, text: String) -> CaseFile {
    let mut cases = Vec::new();
    let mut headings: Vec<String> = Vec::new();
    let mut case = Case::default();
    let lines: Vec<&str> = text.lines().collect();
    let mut i = 0;
    while i < lines.len() {
        let line = lines[i];
        let depth = line.bytes().take_while(|&b| b == b'#').count();
        if depth > 0 && line[depth..].starts_with(' ') {
            keep(&mut cases, std::mem::take(&mut case));
            headings.truncate(depth - 1);
            headings.push(line[depth..].trim().to_owned());
            case.title = headings.join(" > ");
            case.heading = headings[headings.len() - 1].clone();
            case.line = i + 1;
        } else if let Some(info) = line.strip_prefix("```") {
            let start = i + 1;
            let length = lines[start..].iter().position(|l| l.trim_end() == "```");
            let end = start + length.unwrap_or_else(|| panic!("{path}:{start}: the block does not end"));
            add_block(&mut case, path, info, &lines, (start, end));
            i = end;
        }
        i += 1;
    }
    keep(&mut cases, case);
    CaseFile { text, cases }
}

fn keep(cases: &mut Vec<Case>, case: Case) {
    if !case.files.is_empty() {
        cases.push(case);
    }
}

fn add_block(case: &mut Case, path: &str, info: &str, lines: &[&str], (start, end): (usize, usize)) {
    let content = || lines[start..end].iter().flat_map(|line| [line, "\n"]).collect::<String>();
    let mut words = info.split_whitespace();
    match words.next() {
        Some("py") => {
            let mut file_path = format!(
                "example{}.py",
                if case.files.is_empty() {
                    String::new()
                } else {
                    case.files.len().to_string()
                }
            );
            let mut newline = "\n";
            for word in words {
                match word.split_once('=') {
                    Some(("path", given)) => file_path = given.to_owned(),
                    Some(("newline", "crlf")) => newline = "\r\n",
                    _ => panic!("{path}:{start}: unknown word {word:?} after `py`"),
                }
            }
            assert!(
                case.files.iter().all(|f| f.path != file_path),
                "{path}:{start}: two files are {file_path}"
            );
            let mut marks = Vec::new();
            let mut text = String::new();
            for (number, line) in lines[start..end].iter().enumerate() {
                text.push_str(cut_marks(line, number as u32 + 1, &mut marks));
                text.push_str(newline);
            }
            case.files.push(ProjectFile {
                path: file_path,
                text,
                marks,
            });
        }
        Some("toml") => assert!(case.settings.replace(content()).is_none(), "{path}:{start}: a second `toml` block"),
        Some("diff") => {
            let with_unsafe = match words.next() {
                None => false,
                Some("unsafe") => true,
                Some(word) => panic!("{path}:{start}: unknown word {word:?} after `diff`"),
            };
            let diff = ExpectedDiff {
                text: content(),
                with_unsafe,
                lines: (start, end),
            };
            assert!(case.diff.replace(diff).is_none(), "{path}:{start}: a second `diff` block");
        }
        Some("text" | "sh") => {}
        other => panic!("{path}:{start}: blocks are py, toml, diff, text or sh, not {other:?}"),
    }
}

/// Takes the marks from the end of a line; returns what is left.
fn cut_marks<'a>(line: &'a str, number: u32, marks: &mut Vec<Mark>) -> &'a str {
    let mut rest = line;
    while let Some((before, mark)) = last_mark(rest, number) {
        marks.push(mark);
        rest = before.trim_end();
    }
    rest
}

fn last_mark(line: &str, number: u32) -> Option<(&str, Mark)> {
    let start = line.rfind("# ")?;
    let (word, tail) = line[start + 2..].split_once(": [")?;
    let rule = tail.trim_end().strip_suffix(']')?;
    let is_rule = rule.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    let mark = Mark {
        line: number,
        word: word.to_owned(),
        rule: rule.to_owned(),
    };
    (WORDS.contains(&word) && is_rule).then_some((&line[..start], mark))
}

mod tests {
    use super::*;

    #[test]
    fn marks_are_cut_and_counted() {
        let text = "# t\n\nprose\n\n## one\n\n```py path=a.py\nx = 1  # error: [a-b]  # note: [c]\n# plain: [no]\n```\n\n```toml\nstyle = \"auto\"\n```\n";
        let file = parse("x.md", text.to_owned());
        assert_eq!(file.cases.len(), 1);
        let case = &file.cases[0];
        assert_eq!((case.title.as_str(), case.heading.as_str(), case.line), ("t > one", "one", 5));
        assert_eq!(case.files[0].text, "x = 1\n# plain: [no]\n");
        assert_eq!(case.files[0].marks.len(), 2);
        assert_eq!(case.settings.as_deref(), Some("style = \"auto\"\n"));
    }

    #[test]
    #[should_panic(expected = "does not end")]
    fn an_open_block_is_an_error() {
        parse("x.md", "# t\n```py\nx\n".to_owned());
    }

    #[test]
    #[should_panic(expected = "blocks are py")]
    fn an_unknown_block_is_an_error() {
        parse("x.md", "# t\n```python\nx\n```\n".to_owned());
    }
}
