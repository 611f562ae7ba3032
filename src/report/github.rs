//! Workflow commands of GitHub Actions: annotations in the changed files.

use super::Files;
use crate::finding::{Finding, Level};

/// One command per finding.
pub fn render(findings: &[Finding], files: Files) -> String {
    findings.iter().map(|finding| command(finding, files)).collect()
}

fn command(finding: &Finding, files: Files) -> String {
    let kind = match finding.level {
        Level::Note => "notice",
        Level::Warning => "warning",
        Level::Error => "error",
    };
    let ((line, column), (end_line, end_column)) = files.positions(finding.place.file, finding.place.span);
    let file = property(files.name(finding.place.file));
    let mut text = finding.message.clone();
    if let Some(help) = &finding.help {
        text.push_str(&format!("\nhelp: {help}"));
    }
    // Columns may be given only when both ends are on one line.
    let columns = if line == end_line {
        format!(",col={column},endColumn={end_column}")
    } else {
        String::new()
    };
    let title = property(&format!("opwright: {}", finding.rule));
    format!(
        "::{kind} file={file},line={line},endLine={end_line}{columns},title={title}::{}\n",
        data(&text)
    )
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
