//! The launch sits in a method, closure or module body, where it cannot become an op as it stands.

use super::unregistered_launcher::{bypasses, covered, finding, launches};
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Level};
use crate::program::{Inline, Launch, Program};
use std::rc::Rc;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "inline-launch",
    group: "registration",
    summary: "a launch in a method, closure or module body",
    level: Level::Warning,
    page: include_str!("../../rules/inline-launch.md"),
    check,
};

fn check(cx: &mut Context) {
    let rewrite = Rc::clone(&cx.fixer);
    for (i, func) in cx.program.functions.iter().enumerate() {
        let Some(inline) = func.inline.filter(|_| bypasses(func)) else {
            continue;
        };
        let name = cx.program.qualname(func.function);
        let message = format!("`{name}` {} in {}", launches(cx.program, func), place_of(inline));
        let mut finding = finding(&RULE, cx.program, func, &rewrite, i, message);
        let fixable = finding.fix.as_ref().is_some_and(|fix| !fix.edits.is_empty());
        finding.help = match finding.help.filter(|_| fixable) {
            Some(help) => Some(format!("move the launch into a function of the module and {help}")),
            None => Some("move the launch into a function of the module, which can be registered as an op".to_string()),
        };
        cx.findings.push(finding);
    }
    for launch in &cx.program.loose_launches {
        cx.findings.push(loose(cx.program, launch));
    }
    covered(cx, &RULE, |func| func.inline.is_some());
}

fn place_of(inline: Inline) -> &'static str {
    match inline {
        Inline::Method => "a method",
        Inline::Autograd => "an `autograd.Function`",
        Inline::Closure => "a nested function",
        Inline::ModuleBody => "the body of a module or class",
    }
}

/// A launch that runs when the module is imported.
fn loose(program: &Program, launch: &Launch) -> Finding {
    let kernels = launch
        .kernels
        .iter()
        .map(|&k| format!("`{}`", program.function_name(program.kernel(k).function)));
    let kernels: Vec<String> = kernels.collect();
    let what = if kernels.is_empty() {
        "a kernel".to_string()
    } else {
        kernels.join(", ")
    };
    Finding {
        rule: RULE.name,
        level: if program.file(launch.place.file).cold {
            Level::Note
        } else {
            RULE.level
        },
        certainty: if launch.kernels.is_empty() {
            Certainty::Likely
        } else {
            Certainty::Certain
        },
        message: format!("{what} is launched in the body of a module or class"),
        help: Some("move the launch into a function, which can be registered as an op".to_string()),
        place: launch.place,
        primary: "runs when the module is imported".to_string(),
        labels: Vec::new(),
        notes: Vec::new(),
        fix: None,
        heat: 0,
    }
}
