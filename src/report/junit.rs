//! JUnit XML: a test suite per file, a failed test per finding.

use super::{Files, level_word};
use crate::finding::{Finding, Level};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The findings as a JUnit report. Notes are tests that pass.
pub fn render(findings: &[Finding], files: Files) -> String {
    let mut by_file: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        by_file.entry(files.name(finding.place.file)).or_default().push(finding);
    }
    let failures = |list: &[&Finding]| list.iter().filter(|f| f.level > Level::Note).count();
    let all: Vec<&Finding> = findings.iter().collect();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuites name=\"opwright\" tests=\"{}\" failures=\"{}\" errors=\"0\">",
        all.len(),
        failures(&all)
    );
    for (file, found) in &by_file {
        let (name, tests, failed) = (escaped(file), found.len(), failures(found));
        let _ = writeln!(
            out,
            "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failed}\" errors=\"0\">"
        );
        found.iter().for_each(|finding| out.push_str(&test(finding, files)));
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn test(finding: &Finding, files: Files) -> String {
    let file = files.name(finding.place.file);
    let ((line, column), _) = files.positions(finding.place.file, finding.place.span);
    let case = format!("name=\"{}:{line}:{column}\" classname=\"{}\"", finding.rule, escaped(file));
    if finding.level == Level::Note {
        return format!("    <testcase {case} file=\"{}\" line=\"{line}\"/>\n", escaped(file));
    }
    let help = finding.help.as_ref().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    let body = escaped(&format!("{file}:{line}:{column}: {}{help}", finding.message));
    let (message, level) = (escaped(&finding.message), level_word(finding.level));
    format!(
        "    <testcase {case} file=\"{}\" line=\"{line}\">\n      <failure message=\"{message}\" type=\"{level}\">{body}</failure>\n    </testcase>\n",
        escaped(file)
    )
}

/// XML text; characters that XML cannot hold are replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push(c),
            c if c.is_control() || c == '\u{fffe}' || c == '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
