//! Results that differ from path to path: an argument here and a new tensor there, fewer results by a flag.
//!
//! The op returns `None` for what is not new on a path, and the public function puts the argument in its place. Where paths
//! return different numbers of results, one that only the longer paths have, and never as `None`, tells them apart.

use super::scope::Scope;
use super::slice::Refused;
use super::split::{Part, Split, classify, expression_texts, is_identifier, items, made_of, may_be_none, part_values, tensors};
use crate::facts::{CompareOp, Const, Op, StatementId, StatementKind, ValueId};
use crate::finding::Edit;
use crate::program::{Func, ReturnPath, ReturnShape};

/// What stands at one place of the results, over all paths that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The op returns it: new, or `None`.
    New,
    /// On some paths this parameter, else new.
    Or(u16),
    /// This parameter.
    Given(u16),
}

/// One way out of the function.
struct Path {
    parts: Vec<Part>,
    values: Option<Vec<ValueId>>,
    tuple: bool,
    /// A statement; the end of the body has none.
    statement: Option<StatementId>,
}

/// Splits a function whose paths return different things.
pub(super) fn split(scope: &Scope, func: &Func, indent: &str) -> Result<Split, Refused> {
    let paths: Vec<Path> = func.returns.iter().map(|path| read(scope, path)).collect::<Result<_, _>>()?;
    let longest = paths.iter().max_by_key(|p| (p.parts.len(), p.tuple)).ok_or("it is empty")?;
    let count = longest.parts.len();
    let places: Vec<Place> = (0..count).map(|i| place(scope, &paths, i)).collect::<Result<_, _>>()?;
    // A `return None` is what the op may return too, where it returns one thing.
    let one_or_none = count == 1 && !longest.tuple;
    let other = |p: &Path| (p.parts.len() != count || p.tuple != longest.tuple) && !(one_or_none && p.parts.is_empty());
    let by_length = paths.iter().any(other);
    let texts = longest
        .statement
        .and_then(|s| expression_texts(scope, s, longest.tuple))
        .filter(|t| t.len() == count)
        .ok_or("a `return` is not written out")?;
    let names: Vec<String> = texts.iter().enumerate().map(|(i, text)| name(scope, &places, i, text)).collect();
    let bound: Vec<usize> = (0..count).filter(|&i| !matches!(places[i], Place::Given(_))).collect();
    if bound.is_empty() || (0..names.len()).any(|i| names[..i].contains(&names[i])) {
        return Err("its results cannot be told apart".to_string());
    }
    let mut split = Split {
        returns: Some(tensors(scope, bound.len(), bound.len() > 1)),
        absent: true,
        ..Split::default()
    };
    let plain = !by_length && places.iter().all(|p| *p == Place::New);
    if !plain {
        split.bind = Some(bound.iter().map(|&i| names[i].clone()).collect::<Vec<_>>().join(", "));
        split.after = after(scope, &paths, &places, &names, (count, longest.tuple), indent)?;
    }
    for path in &paths {
        edit(scope, path, &bound, &mut split)?;
    }
    Ok(split)
}

fn read(scope: &Scope, path: &ReturnPath) -> Result<Path, Refused> {
    let shape = items(&path.shape)?;
    let tuple = matches!(path.shape, ReturnShape::Tuple(_));
    let (parts, values) = match path.value {
        Some(value) if !shape.is_empty() => (classify(scope, value, &shape, tuple)?, part_values(scope, value, tuple)),
        _ => (Vec::new(), None),
    };
    let scalar = |item: &&crate::program::Returned| matches!(item, crate::program::Returned::Scalar);
    if shape.iter().any(scalar) {
        return Err("it returns numbers on some paths only, or besides an argument".to_string());
    }
    let body = scope.body();
    let statement = path.value.and_then(|_| {
        let hit = body
            .statements
            .iter()
            .position(|s| s.kind == StatementKind::Return && s.span == path.span);
        hit.map(|i| StatementId(i as u32))
    });
    if path.value.is_some() && statement.is_none() {
        return Err("a `return` is not written out".to_string());
    }
    Ok(Path {
        parts,
        values,
        tuple,
        statement,
    })
}

fn place(scope: &Scope, paths: &[Path], index: usize) -> Result<Place, Refused> {
    let mut given = None;
    let (mut fresh, mut absent, mut nothing) = (false, false, false);
    for path in paths {
        let Some(part) = path.parts.get(index) else { continue };
        let value = path.values.as_ref().and_then(|v| v.get(index).copied());
        match part {
            Part::Fresh => {
                fresh = true;
                absent |= value.is_none_or(|v| may_be_none(scope, v));
            }
            Part::Nothing => nothing = true,
            Part::Given(p) if given.is_none_or(|g| g == *p) => given = Some(*p),
            Part::GivenOrFresh(p) if given.is_none_or(|g| g == *p) && value.is_some_and(|v| stands_in(scope, v, *p)) => {
                given = Some(*p);
                fresh = true;
            }
            Part::Given(_) | Part::GivenOrFresh(_) => {
                return Err("a result is made of an argument or of what stands in for it".to_string());
            }
            Part::View => return Err("a result is a view of an argument".to_string()),
        }
    }
    match given {
        None => Ok(Place::New),
        Some(_) if absent || nothing => Err("a result is an argument, new or None, by path".to_string()),
        Some(p) if fresh => Ok(Place::Or(p)),
        Some(p) => Ok(Place::Given(p)),
    }
}

/// The value is the parameter where that is not `None`, and new where it is.
pub(super) fn stands_in(scope: &Scope, value: ValueId, param: u16) -> bool {
    let body = scope.body();
    let is_param = |v: ValueId| matches!(body.op(v), Op::Param(p) if p == param);
    let Op::Select(condition, yes, no) = body.op(value) else {
        return false;
    };
    let Op::Compare(op, a, b) = body.op(condition) else { return false };
    let asks = is_param(a) && matches!(body.op(b), Op::Const(Const::None));
    let (present, absent) = match op {
        CompareOp::Is => (no, yes),
        CompareOp::IsNot => (yes, no),
        _ => return false,
    };
    asks && is_param(present) && !is_param(absent) && !may_be_none(scope, absent)
}

fn name(scope: &Scope, places: &[Place], index: usize, text: &str) -> String {
    let params = &scope.function().params;
    match places[index] {
        Place::Given(p) => scope.name(params[p as usize].name).to_string(),
        Place::New | Place::Or(_) => {
            let is_param = params.iter().any(|p| scope.name(p.name) == text);
            if is_identifier(text) && !is_param && !text.starts_with(|c: char| c.is_ascii_digit()) && text != "None" {
                text.to_string()
            } else if let (1, Some(own)) = (places.len(), made_of(scope, text)) {
                own.to_string()
            } else if places.len() == 1 {
                "result".to_string()
            } else {
                format!("result{}", index + 1)
            }
        }
    }
}

/// What the public function does with the op's results.
fn after(
    scope: &Scope,
    paths: &[Path],
    places: &[Place],
    names: &[String],
    (count, tuple): (usize, bool),
    indent: &str,
) -> Result<Vec<String>, Refused> {
    let unit = &scope.facts().layout.indent;
    let result = |length: usize, tuple: bool| -> String {
        let parts: Vec<String> = (0..length)
            .map(|i| match places[i] {
                Place::Or(p) => {
                    let param = scope.name(scope.function().params[p as usize].name);
                    let name = &names[i];
                    format!("{param} if {name} is None else {name}")
                }
                Place::New | Place::Given(_) => names[i].clone(),
            })
            .collect();
        match (length, tuple) {
            (0, _) => "None".to_string(),
            (1, true) => format!("({},)", parts[0]),
            (_, true) if parts.iter().any(|p| p.contains(' ')) => format!("({})", parts.join(", ")),
            _ => parts.join(", "),
        }
    };
    let mut shorter: Vec<(usize, bool)> = paths
        .iter()
        .map(|p| (p.parts.len(), p.tuple))
        .filter(|p| *p != (count, tuple))
        .collect();
    shorter.sort_unstable();
    shorter.dedup();
    let mut lines = Vec::new();
    let mut known = 0;
    for (length, of_tuple) in shorter {
        if length < known || length == count {
            return Err("it returns a tuple on one path and a single result on another".to_string());
        }
        known = length + 1;
        let longer = || paths.iter().filter(|p| p.parts.len() > length);
        let always = |i: usize| {
            places[i] == Place::New
                && longer().all(|p| {
                    let value = p.values.as_ref().and_then(|v| v.get(i).copied());
                    p.parts.get(i) == Some(&Part::Fresh) && value.is_some_and(|v| !may_be_none(scope, v))
                })
        };
        let key = (length..count).find(|&i| always(i));
        let key = key.ok_or_else(|| format!("it returns {count} results on one path and {length} on another"))?;
        lines.push(format!("{indent}if {} is None:", names[key]));
        lines.push(format!("{indent}{unit}return {}", result(length, of_tuple)));
    }
    lines.push(format!("{indent}return {}", result(count, tuple)));
    Ok(lines)
}

/// What a `return` of the op returns.
fn edit(scope: &Scope, path: &Path, bound: &[usize], split: &mut Split) -> Result<(), Refused> {
    let Some(statement) = path.statement else {
        // The end of the body gives `None`, which stands for one result only.
        return if bound.len() == 1 {
            Ok(())
        } else {
            Err("it returns nothing on a path".to_string())
        };
    };
    let length = path.parts.len();
    let texts = if length == 0 {
        Some(Vec::new())
    } else {
        expression_texts(scope, statement, path.tuple)
    };
    let texts = texts.filter(|t| t.len() == length).ok_or("a `return` is not written out")?;
    let mut new = Vec::new();
    for &i in bound {
        new.push(match path.parts.get(i) {
            Some(Part::Fresh) => texts[i].to_string(),
            Some(Part::GivenOrFresh(p)) => {
                let param = scope.name(scope.function().params[*p as usize].name);
                if rebound(scope, *p) {
                    let flag = format!("{param}_is_given");
                    if scope.facts().names.iter().any(|n| **n == *flag) {
                        return Err("a result is made of an argument or of what stands in for it".to_string());
                    }
                    let line = format!("{flag} = {param} is not None");
                    if !split.preamble.contains(&line) {
                        split.preamble.push(line);
                    }
                    format!("None if {flag} else {}", texts[i])
                } else {
                    format!("{} if {param} is None else None", texts[i])
                }
            }
            Some(Part::Given(_) | Part::Nothing | Part::View) | None => "None".to_string(),
        });
    }
    let text = match new.as_slice() {
        [one] => one.clone(),
        many if many.iter().any(|t| t.contains(" if ")) => format!("({})", many.join(", ")),
        many => many.join(", "),
    };
    let old = scope.text(scope.body().statements[statement.index()].span);
    let old = old.strip_prefix("return").map_or("", str::trim);
    if old != text && !(old.is_empty() && text == "None") {
        let span = scope.body().statements[statement.index()].span;
        split.edits.push(Edit::replace(span, format!("return {text}")));
        split.partial.insert(statement, text);
    }
    Ok(())
}

/// The parameter's name is given another value in the body.
fn rebound(scope: &Scope, param: u16) -> bool {
    let name = scope.function().params[param as usize].name;
    scope.body().statements.iter().any(|s| s.defines.contains(&name))
}
