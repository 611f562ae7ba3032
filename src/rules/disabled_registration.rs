//! A registrar gives its function back and registers nothing.

use super::registrations::{level, title};
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Label, Level};
use crate::knowledge::Knowledge;
use crate::knowledge::frameworks::Register;
use crate::program::{Op, Program};

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "disabled-registration",
    group: "registration",
    summary: "a registrar that does nothing: the op does not exist",
    level: Level::Warning,
    page: include_str!("../../rules/disabled-registration.md"),
    check,
};

fn check(cx: &mut Context) {
    for op in cx.program.ops.iter().filter(|op| op.disabled) {
        let fact = fact(cx.knowledge, &op.registrar);
        let why = fact.and_then(|f| f.why.as_ref()).map(|why| format!(" ({why})")).unwrap_or_default();
        let function = op.implementation.map(|f| cx.program.qualname(f));
        let effect = match function {
            Some(f) => format!("`{f}` stays a plain function"),
            None => format!("there is no op `{}`", title(cx.program, op)),
        };
        cx.findings.push(Finding {
            rule: RULE.name,
            level: level(cx.program, op, RULE.level),
            certainty: Certainty::Certain,
            message: format!("`{}` registers nothing{why}: {effect}", last(&op.registrar)),
            help: Some(match fact.and_then(|f| f.instead.clone()) {
                Some(instead) => instead,
                None => "switch the registrar on, or register the op with `torch.library` itself".to_string(),
            }),
            place: op.place,
            primary: format!("`{}` does not exist", op.name),
            labels: registrar(cx.program, op).into_iter().collect(),
            notes: Vec::new(),
            fix: None,
            heat: 0,
        });
    }
}

fn last(registrar: &str) -> &str {
    registrar.rsplit('.').next().unwrap_or(registrar)
}

/// What a framework file says of a registrar, by the name that is shown.
fn fact<'a>(knowledge: &'a Knowledge, shown: &str) -> Option<&'a Register> {
    let (framework, name) = shown.rsplit_once('.')?;
    let framework = knowledge.frameworks.iter().find(|f| f.name == framework)?;
    framework.register.iter().find(|r| r.disabled && last(&r.call) == name)
}

/// The registrar's own definition, if it is in view.
fn registrar(program: &Program, op: &Op) -> Option<Label> {
    let name = last(&op.registrar);
    let mut named = program.registrars.iter().filter(|r| program.function_name(r.function) == name);
    let (only, None) = (named.next()?, named.next()) else { return None };
    Some(Label {
        place: program.name_place(only.function),
        message: "gives its function back as it came".to_string(),
    })
}
