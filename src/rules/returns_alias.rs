//! An op returns an input, a view of one, or the same memory twice.

use super::ops::{Seen, listed, seen};
use super::registrations::of_torch;
use super::{Context, Rule};
use crate::finding::{Certainty, Finding, Fix, Label, Level, Safety};
use crate::knowledge::Knowledge;
use crate::knowledge::torch::{Effect, Shares};
use crate::program::{Func, Op, ReturnPath, ReturnShape, Returned};
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
        let granted = Granted::of(cx.knowledge, op);
        // A body that stands in several registrations is at fault once.
        let found = seen
            .funcs
            .iter()
            .find_map(|func| of_body(&seen, func, &granted))
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

/// For an implementation of one of torch's own ops, the arguments that torch's schema lets it return.
struct Granted<'a> {
    effect: Option<&'a Effect>,
    /// The op is torch's: an `out` is what its `.out` overload returns, and its other overloads do not get one.
    of_torch: bool,
}

impl<'a> Granted<'a> {
    fn of(knowledge: &'a Knowledge, op: &Op) -> Self {
        let path = op.name.replacen("::", ".", 1);
        Self {
            effect: knowledge.torch.function(&format!("torch.ops.{path}")).filter(|_| op.name_known),
            of_torch: of_torch(op),
        }
    }

    fn has(&self, name: &str, param: u16) -> bool {
        let shared = |effect: &&Effect| {
            let results = effect.results.iter().chain(&effect.flagged);
            let mut params = results.flat_map(|shares| match shares {
                Shares::View(params) | Shares::Views(params) | Shares::Maybe(params) => params.as_slice(),
                Shares::Fresh | Shares::FreshList | Shares::Scalar => &[],
            });
            params.any(|&p| match &*effect.params[usize::from(p)] {
                // The schema's word for it; people name it as they like.
                "input" | "self" => param == 0,
                known => known == name,
            })
        };
        self.of_torch && name == "out" || self.effect.as_ref().is_some_and(shared)
    }
}

fn of_body(seen: &Seen, func: &Func, granted: &Granted) -> Option<Finding> {
    let is_granted = |p: u16| granted.has(seen.program.param_name(func.function, p), p);
    let paths = func.returns.iter().filter(|path| !path.or_clone);
    let breaks: Vec<Break> = paths.filter_map(|path| broken(path, &is_granted)).collect();
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

fn broken<'a>(path: &'a ReturnPath, is_granted: &dyn Fn(u16) -> bool) -> Option<Break<'a>> {
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
            let params: Vec<u16> = params.iter().copied().filter(|&p| !is_granted(p)).collect();
            if params.is_empty() {
                continue;
            }
            found.params.extend(params);
            found.certain |= !maybe;
            found.sometimes &= *or_fresh || *maybe;
        }
    }
    (path.shared || !found.params.is_empty()).then_some(found)
}
