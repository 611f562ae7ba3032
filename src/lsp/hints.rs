//! Between and above the lines: what a launch writes, what a launcher mutates, how often a kernel is launched.

use super::client::Client;
use super::convert::{position, range, span};
use super::diagnostics::{address, location};
use super::engine::Snapshot;
use crate::facts::{ArgKind, Call};
use crate::program::{FunctionRef, KernelId, Launch, Program};
use crate::source::{FileId, Span};
use lsp_types::{CodeLens, Command, InlayHint, InlayHintLabel, InlayHintTooltip, Range};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The hints in a range of a file.
pub(super) fn inlay(snapshot: &Snapshot, path: &Path, asked: Range, client: &Client) -> Vec<InlayHint> {
    let Some(file) = snapshot.file(path) else { return Vec::new() };
    let source = snapshot.source(file);
    let (program, asked) = (&snapshot.checked.program, span(source, asked, client.encoding));
    let mut hints: BTreeMap<u32, (String, String)> = BTreeMap::new();
    for launch in launches(program).filter(|launch| launch.place.file == file) {
        for (at, why) in written_arguments(program, launch) {
            hints.insert(at, (" → written".to_string(), why));
        }
    }
    for func in program
        .functions
        .iter()
        .filter(|func| func.function.file == file && !func.launches.is_empty())
    {
        let names = func.mutates.iter().map(|write| program.param_name(func.function, write.param));
        let names: Vec<&str> = names.collect();
        let unknown = func.unresolved.iter().map(|(param, _)| program.param_name(func.function, *param));
        let unknown: Vec<String> = unknown.map(|name| format!("{name}?")).collect();
        let all: Vec<String> = names.iter().map(ToString::to_string).chain(unknown).collect();
        let label = if all.is_empty() {
            " mutates nothing".to_string()
        } else {
            format!(" mutates {}", all.join(", "))
        };
        let why = "what an op of this function must declare in mutates_args".to_string();
        hints.insert(program.function(func.function).params_span.end, (label, why));
    }
    let inside = hints.into_iter().filter(|(at, _)| asked.contains(Span::at(*at)));
    inside
        .map(|(at, (label, why))| InlayHint {
            position: position(source, at, client.encoding),
            label: InlayHintLabel::String(label),
            kind: None,
            text_edits: None,
            tooltip: Some(InlayHintTooltip::String(why)),
            padding_left: None,
            padding_right: None,
            data: None,
        })
        .collect()
}

fn launches(program: &Program) -> impl Iterator<Item = &Launch> {
    program
        .functions
        .iter()
        .flat_map(|func| &func.launches)
        .chain(&program.loose_launches)
}

/// The ends of the arguments of a launch that some kernel of it writes, each with the reason.
fn written_arguments(program: &Program, launch: &Launch) -> Vec<(u32, String)> {
    let Some(call) = launch.call.filter(|_| launch.via.is_none()) else {
        return Vec::new();
    };
    let call = program.function(launch.function).body.call(call);
    let mut found = Vec::new();
    for &id in &launch.kernels {
        let kernel = program.kernel(id);
        for write in &kernel.writes {
            if let Some(span) = argument(program, launch.function, call, kernel.function, write.param) {
                let steps: Vec<&str> = write.chain.iter().map(|step| step.what.as_str()).collect();
                let name = program.function_name(kernel.function);
                found.push((span.end, format!("{name}: {}", steps.join(", "))));
            }
        }
    }
    found
}

/// The argument that a parameter of a kernel gets; `None` when stars stand in the way.
fn argument(program: &Program, caller: FunctionRef, call: &Call, kernel: FunctionRef, param: u16) -> Option<Span> {
    let name = program.param_name(kernel, param);
    let named = |kind: ArgKind| matches!(kind, ArgKind::Keyword(keyword) if program.name(caller.file, keyword) == name);
    if let Some(arg) = call.args.iter().find(|arg| named(arg.kind)) {
        return Some(arg.span);
    }
    let positional = call.args.iter().take_while(|arg| arg.kind == ArgKind::Positional);
    positional.map(|arg| arg.span).nth(param as usize)
}

/// Above each kernel of a file that is launched: from how many places.
pub(super) fn lenses(snapshot: &Snapshot, path: &Path, client: &Client) -> Vec<CodeLens> {
    let Some(file) = snapshot.file(path) else { return Vec::new() };
    let program = &snapshot.checked.program;
    let mut places: BTreeMap<KernelId, BTreeSet<crate::source::Place>> = BTreeMap::new();
    for launch in launches(program) {
        for kernel in &launch.kernels {
            places.entry(*kernel).or_default().insert(launch.place);
        }
    }
    let here = places.into_iter().filter(|(id, _)| program.kernel(*id).function.file == file);
    here.map(|(id, places)| lens(snapshot, file, program.kernel(id).function, &places, client))
        .collect()
}

fn lens(snapshot: &Snapshot, file: FileId, kernel: FunctionRef, places: &BTreeSet<crate::source::Place>, client: &Client) -> CodeLens {
    let range = range(
        snapshot.source(file),
        snapshot.checked.program.function(kernel).name_span,
        client.encoding,
    );
    let locations: Vec<_> = places.iter().filter_map(|place| location(snapshot, *place, client)).collect();
    let command = Command {
        title: crate::report::plural(places.len(), "launch"),
        command: "opwright.showLaunches".to_string(),
        arguments: Some(vec![json!(address(snapshot, file)), json!(range.start), json!(locations)]),
    };
    CodeLens {
        range,
        command: Some(command),
        data: None,
    }
}
