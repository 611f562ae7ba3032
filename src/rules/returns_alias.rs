//! An op returns an input, a view of one, or the same memory twice.

use super::ops::{Seen, listed, seen};
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Fix, Label, Level, Safety};
use crate::program::{Func, ReturnPath, ReturnShape, Returned};
use crate::rewrite;
use crate::source::Place;
use std::collections::BTreeSet;

/// The rule.
pub(super) static RULE: Rule = Rule {
    name: "returns-alias",
    group: "mutation",
    summary: "an op returns an input, a view of one, or the same memory twice",
    level: Level::Error,
    page: include_str!("../../rules/returns-alias.md"),
    check,
};

fn check(cx: &mut Context) {
    let mut told = BTreeSet::new();
    for seen in seen(cx.program) {
        let op = seen.op;
        // Under a composite implicit key the op is its body; a tag or a schema may say what is returned.
        let composite = op.dispatch_key.as_deref() == Some("CompositeImplicitAutograd");
        if composite || op.returns_argument || schema_says_it(&seen) {
            continue;
        }
        // A body that stands in several registrations is at fault once.
        let found = seen
            .funcs
            .iter()
            .find_map(|func| of_body(&seen, func))
            .filter(|finding| told.insert(finding.place));
        cx.findings.extend(found);
    }
}

/// `-> Tensor(a!)`
fn schema_says_it(seen: &Seen) -> bool {
    let returns = seen.op.schema.as_deref().and_then(|text| text.rsplit_once("->")).map(|(_, r)| r);
    returns.is_some_and(|returns| returns.contains("Tensor("))
}

/// How a path breaks the rule.
struct Break<'a> {
    path: &'a ReturnPath,
    params: Vec<u16>,
    /// It is no matter of a possible copy.
    certain: bool,
    /// On some path another value is returned there.
    sometimes: bool,
}

fn of_body(seen: &Seen, func: &Func) -> Option<Finding> {
    let breaks: Vec<Break> = func.returns.iter().filter(|path| !path.or_clone).filter_map(broken).collect();
    let first = breaks.iter().min_by_key(|b| (!b.certain, b.sometimes))?;
    let mut params: Vec<u16> = breaks.iter().flat_map(|b| b.params.iter().copied()).collect();
    params.sort_unstable();
    params.dedup();
    let names: Vec<&str> = params.iter().filter_map(|&p| seen.name_of(func, p)).collect();
    let written: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| seen.writes().iter().any(|(n, _)| n == name))
        .collect();
    let certain = first.certain;
    let may = if first.sometimes { "may return" } else { "returns" };
    let what = match names.as_slice() {
        [] => "the same memory twice".to_string(),
        names => format!("its argument {}, or a view of it", listed(names)),
    };
    let place = |path: &ReturnPath| Place {
        file: func.function.file,
        span: path.span,
    };
    let mut labels: Vec<Label> = breaks
        .iter()
        .filter(|b| b.path.span != first.path.span)
        .take(3)
        .map(|b| Label {
            place: place(b.path),
            message: "and here".to_string(),
        })
        .collect();
    labels.insert(0, seen.registered_here());
    Some(Finding {
        rule: RULE.name,
        level: seen.level(RULE.level),
        certainty: if certain && !first.sometimes {
            Certainty::Certain
        } else {
            Certainty::Likely
        },
        message: format!("`{}` {may} {what}", seen.title()),
        help: Some(format!("{}\n{}", help(&names, &written), why(seen))),
        place: place(first.path),
        primary: match names.as_slice() {
            [] => "two results share memory".to_string(),
            names => format!("shares memory with {}", listed(names)),
        },
        labels,
        notes: seen.remarks(),
        fix: if written.is_empty() { None } else { fix(seen, func, &written) },
        heat: u32::from(func.hot),
    })
}

/// Returns nothing; who uses the op's result by its qualified name gets None then.
fn fix(seen: &Seen, func: &Func, written: &[&str]) -> Option<Fix> {
    let function = seen.program.function_name(func.function);
    let title = format!(
        "return nothing from the op, and {} from a plain function `{function}` around it",
        listed(written)
    );
    let (safety, reasons, edits) = match rewrite::return_nothing(seen.program, seen.op, func) {
        Ok((_, edits)) => {
            let doubt = format!("who calls `{}` by its qualified name gets None instead of a tensor", seen.title());
            (Safety::Unsafe, vec![doubt], edits)
        }
        Err(why) => (Safety::Shown, vec![why], Vec::new()),
    };
    Some(Fix {
        title,
        safety,
        reasons,
        claims: vec![(func.function.file, seen.program.function(func.function).span)],
        edits,
    })
}

fn help(names: &[&str], written: &[&str]) -> String {
    match (names, written) {
        ([], _) => "return each piece of memory once: clone one, or cut the pieces up in the caller".to_string(),
        (_, []) => "return a copy (`clone()`), or leave the argument to the caller, who has it".to_string(),
        (_, written) => format!(
            "return nothing: the caller has {}; a plain function around the op may return it",
            listed(written)
        ),
    }
}

fn why(seen: &Seen) -> &'static str {
    if matches!(seen.op.registrar.as_str(), "torch.library.custom_op" | "torch.library.triton_op") {
        "torch checks each result: such a call raises an error"
    } else {
        "a compiler takes every result for fresh memory, and gives wrong numbers where it is not"
    }
}

fn broken(path: &ReturnPath) -> Option<Break<'_>> {
    let items: Vec<&Returned> = match &path.shape {
        ReturnShape::One(one) => vec![one],
        ReturnShape::Tuple(items) => items.iter().collect(),
        ReturnShape::None | ReturnShape::Unknown => return None,
    };
    let mut found = Break {
        path,
        params: Vec::new(),
        certain: path.shared,
        sometimes: !path.shared,
    };
    for item in items {
        if let Returned::Alias { params, or_fresh, maybe } = item {
            found.params.extend(params.iter().copied());
            found.certain |= !maybe;
            found.sometimes &= *or_fresh || *maybe;
        }
    }
    (path.shared || !found.params.is_empty()).then_some(found)
}
