//! A function launches a kernel and is neither registered as an op nor covered by one.

use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Fix, Label, Level, Safety};
use crate::program::{Func, Launch, OpId, Program, Registration, Step, Write, spoken_state};
use crate::rewrite::{Assessment, Rewrite};
use std::rc::Rc;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "unregistered-launcher",
    group: "registration",
    summary: "a function launches a kernel outside the dispatcher",
    level: Level::Warning,
    page: include_str!("../../rules/unregistered-launcher.md"),
    check,
};

fn check(cx: &mut Context) {
    let rewrite = Rc::clone(&cx.fixer);
    for (i, func) in cx.program.functions.iter().enumerate() {
        if func.inline.is_none() && bypasses(func) {
            let name = cx.program.qualname(func.function);
            let message = format!("`{name}` {} outside the dispatcher", launches(cx.program, func));
            cx.findings.push(finding(&RULE, cx.program, func, &rewrite, i, message));
        }
    }
    covered(cx, &RULE, |func| func.inline.is_none());
}

/// What runs inside of an op only: a note, for those who ask for the rule by its name.
pub(super) fn covered(cx: &mut Context, rule: &'static Rule, concerns: impl Fn(&Func) -> bool) {
    if !cx.is_selected(rule) {
        return;
    }
    let program = cx.program;
    for func in &program.functions {
        if let (Registration::Covered, Some(op), false) = (func.registration, func.op, func.launches.is_empty())
            && concerns(func)
        {
            cx.findings.push(Finding {
                rule: rule.name,
                level: Level::Note,
                certainty: Certainty::Likely,
                message: format!(
                    "`{}` {} inside of the op `{}`",
                    program.qualname(func.function),
                    launches(program, func),
                    program.ops[op.0 as usize].name
                ),
                help: None,
                place: program.name_place(func.function),
                primary: "its calls are recorded as that op".to_string(),
                labels: labels(program, func),
                notes: shared_record(program, op).into_iter().collect(),
                fix: None,
                heat: 0,
            });
        }
    }
}

/// Several launches under one op have one record of shapes between them.
fn shared_record(program: &Program, op: OpId) -> Option<String> {
    let under = program.functions.iter().filter(|f| f.op == Some(op));
    let launches: usize = under.map(|f| f.launches.len() + f.kernel_calls.len()).sum();
    let name = &program.ops[op.0 as usize].name;
    (launches > 1).then(|| format!("`{name}` covers {launches} launches: they share its one record of shapes"))
}

/// It launches, and its calls leave no op behind.
pub(super) fn bypasses(func: &Func) -> bool {
    match func.registration {
        Registration::No | Registration::Recorded => !func.launches.is_empty(),
        Registration::Yes | Registration::Disabled | Registration::Covered => false,
    }
}

/// What a launching function gets told.
pub(super) fn finding(rule: &'static Rule, program: &Program, func: &Func, rewrite: &Rewrite, index: usize, message: String) -> Finding {
    let known = func.launches.iter().any(|launch| !launch.kernels.is_empty());
    let (assessment, fix) = rewrite.register(index);
    Finding {
        rule: rule.name,
        level: if func.cold || func.registration == Registration::Recorded {
            Level::Note
        } else {
            rule.level
        },
        certainty: if known { Certainty::Certain } else { Certainty::Likely },
        message,
        help: help(program, func, &assessment),
        place: program.name_place(func.function),
        primary: writes(program, func),
        labels: labels(program, func),
        notes: notes(func, &fix, &assessment.part),
        fix: Some(fix),
        heat: heat(program, func),
    }
}

/// A hot function's own heat, and more where others of its file are ops already.
pub(super) fn heat(program: &Program, func: &Func) -> u32 {
    let file = func.function.file;
    let registered = |f: &&Func| f.function.file == file && f.registration == Registration::Yes && !f.launches.is_empty();
    match func.heat {
        0 => 0,
        heat => heat + 5 * u32::from(program.functions.iter().any(|f| registered(&f))),
    }
}

/// ``launches `a` ``, or all that it launches.
pub(super) fn launches(program: &Program, func: &Func) -> String {
    let mut kernels: Vec<&str> = func
        .launches
        .iter()
        .flat_map(|l| &l.kernels)
        .map(|&k| program.function_name(program.kernel(k).function))
        .collect();
    kernels.sort_unstable();
    kernels.dedup();
    match kernels.as_slice() {
        [] => "launches a kernel".to_string(),
        [one] => format!("launches `{one}`"),
        [a, b] => format!("launches `{a}` and `{b}`"),
        [a, rest @ ..] => format!("launches `{a}` and {} more kernels", rest.len()),
    }
}

fn writes(program: &Program, func: &Func) -> String {
    let name = |param: u16| format!("`{}`", program.param_name(func.function, param));
    let written: Vec<String> = func
        .mutates
        .iter()
        .map(|w| name(w.param))
        .chain(func.mutates_state.iter().map(|path| spoken_state(path)))
        .collect();
    let unknown: Vec<String> = func.unresolved.iter().map(|u| name(u.0)).collect();
    match (written.is_empty(), unknown.is_empty()) {
        (true, true) => "writes none of its arguments".to_string(),
        (true, false) => format!("may write {}", unknown.join(", ")),
        (false, true) => format!("writes {}", written.join(", ")),
        (false, false) => format!("writes {}, and may write {}", written.join(", "), unknown.join(", ")),
    }
}

/// The chain of the first write, or the launch and its kernel.
pub(super) fn labels(program: &Program, func: &Func) -> Vec<Label> {
    if let Some(write) = func.mutates.first().filter(|w| !w.chain.is_empty()) {
        return chain(write);
    }
    let Some(launch) = func.launches.first() else { return Vec::new() };
    let kernel = launch.kernels.first().map(|&k| program.kernel(k).function);
    let here = Label {
        place: launch.place,
        message: launched(program, launch),
    };
    let there = kernel.map(|kernel| Label {
        place: program.name_place(kernel),
        message: "the kernel".to_string(),
    });
    std::iter::once(here).chain(there).collect()
}

fn launched(program: &Program, launch: &Launch) -> String {
    match launch.via {
        Some(via) => format!("handed to `{}`, which launches it", program.function_name(via)),
        None => "launched here".to_string(),
    }
}

/// At most four steps of a proof: the first, and the last three.
pub(super) fn chain(write: &Write) -> Vec<Label> {
    steps(&write.chain)
}

/// At most four steps: the first, and the last three.
pub(super) fn steps(steps: &[Step]) -> Vec<Label> {
    let label = |step: &Step| Label {
        place: step.place,
        message: step.what.clone(),
    };
    if steps.len() <= 4 {
        return steps.iter().map(label).collect();
    }
    steps[..1].iter().chain(&steps[steps.len() - 3..]).map(label).collect()
}

pub(super) fn help(program: &Program, func: &Func, assessment: &Assessment) -> Option<String> {
    if assessment.op.is_empty() {
        return None;
    }
    let is_known = |name: &String| func.mutates.iter().any(|w| program.param_name(func.function, w.param) == *name);
    let is_open = |name: &&String| !is_known(name) && func.unresolved.iter().any(|(p, _)| program.param_name(func.function, *p) == **name);
    let (open, known): (Vec<&String>, Vec<&String>) = assessment.mutates.iter().partition(is_open);
    let names = |names: &[&String]| names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    let mutates = match (known.as_slice(), open.as_slice()) {
        ([], []) => "which mutates nothing".to_string(),
        (known, []) => format!("which mutates {}", names(known)),
        ([], open) => format!("which is taken to mutate {}", names(open)),
        (known, open) => format!("which mutates {} and is taken to mutate {}", names(known), names(open)),
    };
    let how = match assessment.safety {
        Safety::Safe => ": `--fix` does it",
        Safety::Unsafe => ": `--fix --unsafe` does it",
        Safety::Shown => "",
    };
    Some(format!(
        "register it as the op `{}`, {mutates} (style `{}`){how}",
        assessment.op, assessment.style
    ))
}

fn notes(func: &Func, fix: &Fix, part: &[String]) -> Vec<String> {
    let mut notes = Vec::new();
    if func.inline.is_none() && !part.is_empty() {
        notes.push(format!("only a part of it can be an op: {}", part.join("; ")));
    }
    if func.registration == Registration::Recorded {
        notes.push("it runs inside of an `autograd.Function`, whose `apply` leaves an event with shapes".to_string());
    }
    notes.extend(fix_notes(fix));
    notes
}

/// Why a fix is not safe, or why there is none.
pub(super) fn fix_notes(fix: &Fix) -> Vec<String> {
    let word = match fix.safety {
        Safety::Safe => return Vec::new(),
        Safety::Unsafe => "the fix is unsafe",
        Safety::Shown => "no automatic fix",
    };
    fix.reasons.iter().map(|reason| format!("{word}: {reason}")).collect()
}
