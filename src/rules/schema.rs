//! What the rules about signatures share: the reasons for which torch refuses to make a schema of a function.

use super::ops::{Seen, listed, seen};
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Fix, Label};
use crate::knowledge::Knowledge;
use crate::program::{Func, Refusal, RefusalKind};
use crate::rewrite;
use crate::source::Place;

/// What one rule says of its kind of refusals.
pub(super) struct Wording {
    /// Behind the op's name: ``has no annotation for``.
    pub(super) message: fn(&[&Refusal], &[&str]) -> String,
    /// What to do.
    pub(super) help: fn(&[&Refusal]) -> String,
    /// The cure.
    pub(super) fix: fn(Tools, &Seen, &[&Refusal]) -> Option<Fix>,
}

/// What a cure may be made with.
pub(super) type Tools<'a> = (&'a Knowledge, &'a rewrite::Options);

/// Reports the refusals of some kinds, one finding for each function that an op is made of.
pub(super) fn report(cx: &mut Context, rule: &'static Rule, kinds: &[RefusalKind], wording: &Wording) {
    let mut told = Vec::new();
    for seen in seen(cx.program).iter().filter(|seen| seen.op.inferred) {
        let func = seen.func();
        let refusals = refusals(seen, func);
        let ours: Vec<&Refusal> = refusals.iter().filter(|r| r.certain && kinds.contains(&r.kind)).collect();
        if !ours.is_empty() && !told.contains(&func.function) {
            told.push(func.function);
            let mut found = finding(rule, seen, &ours, wording);
            found.fix = (wording.fix)((cx.knowledge, cx.rewrite), seen, &ours);
            cx.findings.push(found);
        }
    }
}

/// What `infer_schema` or `define` refuses, and what `custom_op` refuses besides.
fn refusals(seen: &Seen, func: &Func) -> Vec<Refusal> {
    let mut refusals = func.schema.as_ref().err().cloned().unwrap_or_default();
    if matches!(seen.op.registrar.as_str(), "torch.library.custom_op" | "torch.library.triton_op") {
        let params = &seen.program.function(func.function).params;
        let is_keyword_only = |p: usize| seen.program.is_keyword_only(func.function, p);
        let tensor = |p: usize| {
            func.types
                .get(p)
                .and_then(Option::as_deref)
                .is_some_and(|ty| ty.starts_with("Tensor"))
        };
        refusals.extend((0..params.len()).filter(|&p| is_keyword_only(p) && tensor(p)).map(|p| Refusal {
            param: Some(p as u16),
            kind: RefusalKind::Kind,
            reason: "keyword-only tensors are not supported".to_string(),
            certain: true,
        }));
    }
    refusals
}

fn finding(rule: &'static Rule, seen: &Seen, refusals: &[&Refusal], wording: &Wording) -> Finding {
    let f = seen.func().function;
    let names: Vec<&str> = refusals.iter().filter_map(|r| Some(seen.program.param_name(f, r.param?))).collect();
    let mut labels: Vec<Label> = refusals[1..]
        .iter()
        .take(3)
        .map(|r| Label {
            place: place(seen, r),
            message: r.reason.clone(),
        })
        .collect();
    labels.push(seen.registered_here());
    Finding {
        rule: rule.name,
        level: seen.level(rule.level),
        certainty: Certainty::Certain,
        message: format!("`{}` {}", seen.title(), (wording.message)(refusals, &names)),
        help: Some((wording.help)(refusals)),
        place: place(seen, refusals[0]),
        primary: refusals[0].reason.clone(),
        labels,
        notes: seen.remarks(),
        fix: None,
        heat: 0,
    }
}

/// The annotation, the default, the parameter, or the function's name.
fn place(seen: &Seen, refusal: &Refusal) -> Place {
    let f = seen.func().function;
    let function = seen.program.function(f);
    let span = match refusal.param {
        Some(p) => {
            let param = &function.params[usize::from(p)];
            match refusal.kind {
                RefusalKind::Annotation => param.annotation.map(|a| a.span),
                RefusalKind::Default => param.default_span,
                RefusalKind::Unannotated | RefusalKind::Return | RefusalKind::Kind => None,
            }
            .unwrap_or(param.name_span)
        }
        None => function.returns.map_or(function.name_span, |a| a.span),
    };
    Place { file: f.file, span }
}

/// `` `a` and `b` ``, behind a word that fits their number.
pub(super) fn parameters(names: &[&str]) -> String {
    let word = if names.len() == 1 { "parameter" } else { "parameters" };
    format!("{word} {}", listed(names))
}

/// No cure.
pub(super) fn no_fix(_: Tools, _: &Seen, _: &[&Refusal]) -> Option<Fix> {
    None
}
