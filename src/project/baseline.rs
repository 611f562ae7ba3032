//! The baseline's file.

use super::Failure;
use super::files::reason;
use super::root::slashes;
use crate::settings::Accepted;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Where a baseline is written when no file is configured.
pub const DEFAULT: &str = "opwright-baseline.json";

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    findings: Vec<Row>,
}

#[derive(Deserialize, Serialize)]
struct Row {
    #[serde(flatten)]
    key: Accepted,
    count: u32,
}

const VERSION: u32 = 1;

/// Reads a baseline.
pub fn read(path: &Path) -> Result<BTreeMap<Accepted, u32>, Failure> {
    let fail = |why: String| Failure(format!("baseline: {}: {why}", slashes(path)));
    let hint = |error: &std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => "; `opwright baseline write` makes it",
        _ => "",
    };
    let text = std::fs::read_to_string(path).map_err(|error| fail(reason(&error) + hint(&error)))?;
    let stored: Stored = serde_json::from_str(&text).map_err(|error| fail(error.to_string()))?;
    if stored.version != VERSION {
        return Err(fail(format!("version {} is not known here", stored.version)));
    }
    let mut baseline = BTreeMap::new();
    for row in stored.findings {
        *baseline.entry(row.key).or_default() += row.count;
    }
    Ok(baseline)
}

/// Writes a baseline: sorted, one finding per line, so that merges are easy.
pub fn write(path: &Path, baseline: &BTreeMap<Accepted, u32>) -> Result<(), Failure> {
    let rows: Vec<String> = baseline
        .iter()
        .map(|(key, count)| Row {
            key: key.clone(),
            count: *count,
        })
        .map(|row| format!("    {}", serde_json::to_string(&row).expect("a row has string keys only")))
        .collect();
    let list = if rows.is_empty() {
        String::new()
    } else {
        format!("\n{}\n  ", rows.join(",\n"))
    };
    let text = format!("{{\n  \"version\": {VERSION},\n  \"findings\": [{list}]\n}}\n");
    std::fs::write(path, text).map_err(|error| Failure(format!("baseline: {}: not written: {}", slashes(path), reason(&error))))
}
