//! A fake implementation cannot be called as the op is.

use super::registrations::{implementation, level};
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Label, Level};
use crate::program::{Fake, FunctionRef, Op, Program};
use crate::rewrite::{self, SignatureFault};

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "fake-signature-mismatch",
    group: "fake",
    summary: "a fake that cannot be called as its op is",
    level: Level::Error,
    page: include_str!("../../rules/fake-signature-mismatch.md"),
    check,
};

fn check(cx: &mut Context) {
    let program = cx.program;
    for op in program
        .ops
        .iter()
        .filter(|op| !op.disabled && !op.drops_params && op.schema.is_none())
    {
        let (Some(func), Fake::Function(fake)) = (implementation(program, op), &op.fake) else {
            continue;
        };
        let faults = rewrite::signature_faults(program, func.function, *fake);
        if !faults.is_empty() {
            cx.findings.push(finding(program, op, (func.function, *fake), &faults));
        }
    }
}

fn finding(program: &Program, op: &Op, (own, fake): (FunctionRef, FunctionRef), faults: &[SignatureFault]) -> Finding {
    let texts: Vec<&str> = faults.iter().map(|f| f.what.as_str()).collect();
    let pairs: Option<Vec<(u16, u16)>> = faults.iter().map(|f| f.default).collect();
    Finding {
        rule: RULE.name,
        level: level(program, op, RULE.level),
        certainty: Certainty::Certain,
        message: format!("the fake of `{}` {}", op.name, texts.join("; it ")),
        help: Some("give the fake the parameters and defaults of the implementation; other names do no harm".to_string()),
        place: faults[0].place,
        primary: String::new(),
        labels: vec![Label {
            place: program.name_place(own),
            message: "the implementation".to_string(),
        }],
        notes: vec!["it works in eager code, and fails or goes wrong when the op is traced".to_string()],
        fix: pairs.and_then(|pairs| rewrite::add_defaults(program, own, fake, &pairs)),
        heat: 0,
    }
}
