//! `opwright explain`, `opwright knowledge`, `opwright config`: what the tool knows and how it is set.

use super::args;
use super::{Output, Run};
use crate::pipeline::style_word;
use crate::project::config::nearest;
use crate::project::{Failure, Request};
use crate::rules;
use crate::settings::Level;
use std::fmt::Write;

/// Prints a rule's page, a group's rules, or all rules.
pub(super) fn rule(args: &args::Explain, out: &mut Output) -> Result<u8, Failure> {
    let Some(name) = &args.rule else {
        out.write(&list(|_| true));
        return Ok(0);
    };
    if let Some(rule) = rules::ALL.iter().find(|rule| rule.name == name) {
        out.write(rule.page);
        return Ok(0);
    }
    if rules::ALL.iter().any(|rule| rule.group == name) {
        out.write(&list(|rule| rule.group == name));
        return Ok(0);
    }
    let hint = nearest(name, rules::names())
        .map(|n| format!("; did you mean `{n}`?"))
        .unwrap_or_default();
    Err(Failure(format!("unknown rule `{name}`{hint}")))
}

fn list(keep: impl Fn(&rules::Rule) -> bool) -> String {
    let rules: Vec<_> = rules::ALL.iter().filter(|rule| keep(rule)).collect();
    let width = rules.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
    rules
        .iter()
        .map(|rule| format!("{:<12} {:<width$}  {}\n", rule.group, rule.name, rule.summary))
        .collect()
}

/// Prints what is believed of a name.
pub(super) fn knowledge(args: &args::Knowledge, out: &mut Output) -> Result<u8, Failure> {
    let run = Run::start(&request(&args.common), None, false)?;
    match run.project.knowledge.describe(&args.name) {
        Some(text) => out.write(&(text + "\n")),
        None => return Err(Failure(format!("nothing is known of `{}`", args.name))),
    }
    Ok(0)
}

/// Prints the resolved settings, each with where it comes from.
pub(super) fn config(args: &args::Config, out: &mut Output) -> Result<u8, Failure> {
    if args.schema {
        out.write(include_str!("../../docs/opwright.schema.json"));
        return Ok(0);
    }
    let run = Run::start(&request(&args.common), None, false)?;
    let (settings, project) = (&run.project.settings, &run.project);
    let mut text = format!("root = {:?}\nfiles = {}\n", project.root.display().to_string(), project.files.len());
    for (key, origin) in &project.origins {
        let value = match *key {
            "style" => quoted(style_word(&settings.style)),
            "namespace" => quoted(&settings.namespace),
            "torch" => quoted(&format!("{}.{}", settings.torch.0, settings.torch.1)),
            "levels" => levels(&settings.levels),
            "only" => list_of(&settings.only),
            "vendored" => list_of(&settings.vendored),
            "cold" => list_of(&settings.cold),
            "inference-only" => list_of(&settings.inference_only),
            "hot" => list_of(&settings.hot),
            "source-roots" => list_of(&project.source_roots),
            "exclude" => list_of(&project.exclude),
            "knowledge" => list_of(&project.overlays.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()),
            "baseline" => quoted(project.baseline.as_deref().unwrap_or_default()),
            "per-path" => format!("\"{} files\"", settings.path_levels.len()),
            _ => continue,
        };
        let _ = writeln!(text, "{key} = {value}  # {origin}");
    }
    out.write(&text);
    Ok(0)
}

fn request(common: &args::Common) -> Request {
    Request {
        root: common.root.clone(),
        ..Request::default()
    }
}

fn levels(levels: &std::collections::BTreeMap<String, Option<Level>>) -> String {
    let word = |level: &Option<Level>| level.map_or("off", crate::report::level_word);
    let rows: Vec<String> = levels
        .iter()
        .map(|(name, level)| format!("{name} = {}", quoted(word(level))))
        .collect();
    if rows.is_empty() {
        "{}".into()
    } else {
        format!("{{ {} }}", rows.join(", "))
    }
}

fn list_of(items: &[String]) -> String {
    format!("[{}]", items.iter().map(|item| quoted(item)).collect::<Vec<_>>().join(", "))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
