//! What is known of the kernel, launch or function under the cursor.

use super::client::Client;
use super::convert::{self, range};
use super::engine::Snapshot;
use crate::facts::CallId;
use crate::finding::Finding;
use crate::program::{Func, FunctionRef, Kernel, Program, Registration, Write, spoken_state};
use crate::rules;
use crate::source::{FileId, Span};
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind, Position};
use std::path::Path;

/// The text for a position, if anything is known there.
pub(super) fn hover(snapshot: &Snapshot, path: &Path, position: Position, client: &Client) -> Option<Hover> {
    let file = snapshot.file(path)?;
    let source = snapshot.source(file);
    let at = convert::offset(&source.text, source.lines(), position, client.encoding);
    let program = &snapshot.checked.program;
    let mut parts = Vec::new();
    let mut spans = Vec::new();
    if let Some((span, text)) = what_is_at(program, file, at) {
        parts.push(text);
        spans.push(span);
    }
    let here = |finding: &&Finding| finding.place.file == file && holds(finding.place.span, at);
    for finding in snapshot.checked.findings.iter().filter(here) {
        parts.extend(page(finding));
        spans.push(finding.place.span);
    }
    let span = spans.into_iter().min_by_key(|span| span.end - span.start)?;
    let text = parts.join("\n\n---\n\n");
    let (kind, value) = if client.markdown {
        (MarkupKind::Markdown, text)
    } else {
        (MarkupKind::PlainText, text.replace("**", "").replace('`', ""))
    };
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent { kind, value }),
        range: Some(range(source, span, client.encoding)),
    })
}

fn holds(span: Span, at: u32) -> bool {
    span.start <= at && at <= span.end
}

fn what_is_at(program: &Program, file: FileId, at: u32) -> Option<(Span, String)> {
    let named = |f: FunctionRef| f.file == file && holds(program.function(f).name_span, at);
    if let Some(kernel) = program.kernels.iter().find(|kernel| named(kernel.function)) {
        return Some((program.function(kernel.function).name_span, kernel_text(program, kernel)));
    }
    if let Some(func) = program.functions.iter().find(|func| named(func.function)) {
        return Some((program.function(func.function).name_span, func_text(program, func)));
    }
    let launches = program
        .functions
        .iter()
        .flat_map(|func| &func.launches)
        .chain(&program.loose_launches);
    for launch in launches.filter(|launch| launch.place.file == file && holds(launch.place.span, at)) {
        let span = launch.call.map_or(launch.place.span, |call| callee(program, launch.function, call));
        if holds(span, at) && !launch.kernels.is_empty() {
            let texts: Vec<String> = launch.kernels.iter().map(|&id| kernel_text(program, program.kernel(id))).collect();
            return Some((span, texts.join("\n\n")));
        }
    }
    for func in &program.functions {
        for caller in func
            .callers
            .iter()
            .filter(|caller| caller.place.file == file && holds(caller.place.span, at))
        {
            let span = caller.call.map_or(caller.place.span, |call| callee(program, caller.function, call));
            if holds(span, at) {
                return Some((span, func_text(program, func)));
            }
        }
    }
    None
}

/// Where the callee of a call is written.
fn callee(program: &Program, f: FunctionRef, call: CallId) -> Span {
    let body = &program.function(f).body;
    body.value(body.call(call).callee).span
}

fn kernel_text(program: &Program, kernel: &Kernel) -> String {
    let f = kernel.function;
    let mut lines = vec![format!("**kernel** `{}` ({})", program.qualname(f), kernel.dialect)];
    lines.extend(names("reads", kernel.reads.iter().map(|&param| program.param_name(f, param))));
    lines.extend(kernel.writes.iter().map(|write| written(program, f, write, "writes")));
    lines.extend(
        kernel
            .writes_pointees
            .iter()
            .map(|write| written(program, f, write, "writes through")),
    );
    if kernel.writes.is_empty() && kernel.writes_pointees.is_empty() && kernel.unresolved.is_empty() {
        lines.push("- writes none of its arguments".to_string());
    }
    lines.extend(unknown(program, f, &kernel.unresolved));
    lines.join("\n")
}

fn func_text(program: &Program, func: &Func) -> String {
    let f = func.function;
    let what = if func.launches.is_empty() { "function" } else { "launcher" };
    let mut lines = vec![format!("**{what}** `{}`", program.qualname(f))];
    lines.extend(func.mutates.iter().map(|write| written(program, f, write, "writes")));
    lines.extend(func.mutates_state.iter().map(|path| format!("- writes {}", spoken_state(path))));
    if func.mutates.is_empty() && func.mutates_state.is_empty() && func.unresolved.is_empty() {
        lines.push("- writes none of its arguments".to_string());
    }
    lines.extend(unknown(program, f, &func.unresolved));
    lines.extend(names(
        "returns memory of",
        func.returns_alias_of.iter().map(|&param| program.param_name(f, param)),
    ));
    lines.push(format!("- {}", registration(program, func)));
    match &func.schema {
        Ok(schema) => lines.push(format!("- schema: `{schema}`")),
        Err(refusals) => lines.extend(refusals.iter().map(|refusal| format!("- no schema: {}", refusal.reason))),
    }
    lines.join("\n")
}

fn registration(program: &Program, func: &Func) -> String {
    let op = func.op.map(|id| program.ops[id.0 as usize].name.as_str()).unwrap_or("an op");
    match func.registration {
        Registration::No => "bypasses the dispatcher".to_string(),
        Registration::Yes => format!("registered as `{op}`"),
        Registration::Disabled => format!("the registration of `{op}` does nothing"),
        Registration::Covered => match func.op {
            Some(_) => format!("covered: runs only inside of `{op}`"),
            None => "covered: runs only inside of registered ops".to_string(),
        },
        Registration::Recorded => "recorded: runs only inside of an `autograd.Function`".to_string(),
    }
}

/// `- writes `x`: stored through … (line 3), passed to … (cache.py:8)`
fn written(program: &Program, f: FunctionRef, write: &Write, verb: &str) -> String {
    let steps: Vec<String> = write
        .chain
        .iter()
        .map(|step| {
            let source = &program.file(step.place.file).source;
            let line = source.line(step.place.span.start);
            if step.place.file == f.file {
                format!("{} (line {line})", step.what)
            } else {
                format!("{} ({}:{line})", step.what, source.path)
            }
        })
        .collect();
    let name = program.param_name(f, write.param);
    let copy = if write.maybe_copy.is_some() {
        ", perhaps only a copy of it"
    } else {
        ""
    };
    if steps.is_empty() {
        return format!("- {verb} `{name}`{copy}");
    }
    format!("- {verb} `{name}`{copy}: {}", steps.join(", "))
}

fn unknown(program: &Program, f: FunctionRef, list: &[(u16, String)]) -> Vec<String> {
    list.iter()
        .map(|(param, why)| format!("- unresolved `{}`: {why}", program.param_name(f, *param)))
        .collect()
}

fn names<'a>(verb: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| format!("- {verb} {}", names.join(", ")))
}

/// The first sections of a rule's page: what it does and why it matters.
fn page(finding: &Finding) -> Option<String> {
    let rule = rules::ALL.iter().find(|rule| rule.name == finding.rule)?;
    let end = rule.page.find("\n## Example").unwrap_or(rule.page.len());
    let text = rule.page[..end].trim();
    let text = text.replace("\n## ", "\n### ");
    let link = crate::report::rule_url(rule.name);
    Some(format!("{text}\n\n[More]({link})"))
}
