//! One qualified op name is registered twice: the second registration fails, is lost, or replaces the first.

use super::registrations::{implementation, level};
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Label, Level};
use crate::program::{Op, Program};
use crate::rewrite;
use crate::source::FileId;
use std::collections::BTreeMap;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "duplicate-op",
    group: "registration",
    summary: "one op name is registered twice",
    level: Level::Error,
    page: include_str!("../../rules/duplicate-op.md"),
    check,
};

fn check(cx: &mut Context) {
    let program = cx.program;
    let mut by_name: BTreeMap<&str, Vec<&Op>> = BTreeMap::new();
    // A registration inside a function runs when somebody calls it: whether both run cannot be known.
    let counted = |op: &&Op| op.name_known && !op.disabled && rewrite::at_import(program, op);
    for op in program.ops.iter().filter(counted) {
        by_name.entry(&op.name).or_default().push(op);
    }
    for ops in by_name.into_values() {
        for (i, op) in ops.iter().enumerate() {
            let earlier = ops[..i].iter().find(|first| is_second(program, first, op));
            if let Some(first) = earlier {
                let (first, second) = in_order(cx, first, op);
                cx.findings.push(finding(cx, first, second));
            }
        }
    }
}

/// Both may run, and not for one function that a guarded registrar meets again.
fn is_second(program: &Program, first: &Op, op: &Op) -> bool {
    let same = first.implementation.is_some() && first.implementation == op.implementation;
    first.call != op.call && !(same && first.guarded && op.guarded) && !rewrite::exclusive(program, first, op)
}

/// The module that is imported by the other runs first.
fn in_order<'a>(cx: &Context, a: &'a Op, b: &'a Op) -> (&'a Op, &'a Op) {
    if imports(cx, a, b.call.0.file) && !imports(cx, b, a.call.0.file) {
        (b, a)
    } else {
        (a, b)
    }
}

fn imports(cx: &Context, op: &Op, file: FileId) -> bool {
    cx.fixer.runs_at_import(op.call.0.file, file)
}

fn finding(cx: &Context, first: &Op, second: &Op) -> Finding {
    let program = cx.program;
    let (a, b) = (text(program, first), text(program, second));
    let same_text = a.is_some() && a == b;
    let one_file = first.call.0.file == second.call.0.file;
    let effect = effect(second);
    let own = |op: &Op| op.implementation.map(|f| program.qualname(f).to_string());
    let runs = match (own(first), own(second)) {
        (Some(first), Some(_)) if second.guarded || kept_by_registrar(program, second) => {
            format!("calls of the second run `{first}`")
        }
        _ => effect.to_string(),
    };
    let milder = if same_text { Level::Note } else { RULE.level };
    Finding {
        rule: RULE.name,
        level: level(program, second, milder),
        certainty: if one_file || imports(cx, second, first.call.0.file) {
            Certainty::Certain
        } else {
            Certainty::Likely
        },
        message: format!("`{}` is registered twice: {runs}", second.name),
        help: Some("give each implementation a name of its own".to_string()),
        place: second.place,
        primary: "the second registration".to_string(),
        labels: vec![Label {
            place: first.place,
            message: "the first".to_string(),
        }],
        notes: same_text
            .then(|| "both implementations have the same text".to_string())
            .into_iter()
            .collect(),
        fix: rewrite::rename_op(program, second),
        heat: 0,
    }
}

fn effect(second: &Op) -> &'static str {
    match second.base.as_deref() {
        Some("torch.library.custom_op" | "torch.library.triton_op") => "the second replaces the first without a word",
        _ if second.guarded => "the second does nothing",
        _ => "the second fails",
    }
}

/// The project's registrar asks first whether the name is taken.
fn kept_by_registrar(program: &Program, op: &Op) -> bool {
    let name = op.registrar.rsplit('.').next().unwrap_or(&op.registrar);
    program.registrars.iter().any(|r| {
        let text = program.file(r.function.file).source.slice(program.function(r.function).span);
        program.function_name(r.function) == name && text.contains("hasattr(torch.ops")
    })
}

/// The implementation's text, without its layout.
fn text(program: &Program, op: &Op) -> Option<String> {
    let f = implementation(program, op)?.function;
    let text = program.file(f.file).source.slice(program.function(f).body_span);
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}
