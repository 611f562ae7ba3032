//! Splitting a launcher whose results share memory with its arguments: the op mutates and returns only what is fresh,
//! the public function allocates what is absent, calls the op and returns what it always returned.

use super::Calls;
use super::allocation::allocate_outside;
use super::fake::{own_reads_no_data, returned, short};
use super::paths;
use super::scope::{Kind, Scope};
use super::signature::{Base, Promise, Type, split as parts};
use super::slice::{Live, Refused, Slicer};
use super::writer::{Comments, Writer};
use crate::facts::{Const, Op, Statement, StatementId, StatementKind, ValueId};
use crate::finding::Edit;
use crate::knowledge::torch::Shares;
use crate::program::{Func, RefusalKind, ReturnPath, ReturnShape, Returned};
use crate::source::Span;
use std::collections::{BTreeMap, BTreeSet};

/// How the work is shared between the op and the public function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Split {
    /// Statements of the public function before the call, as lines.
    pub(super) before: Vec<String>,
    /// Name or names that the op's result is bound to; `None`: the call is returned, or stands alone.
    pub(super) bind: Option<String>,
    /// Statements of the public function behind the call.
    pub(super) after: Vec<String>,
    /// The return annotation of the op, when it is not the function's own.
    pub(super) returns: Option<String>,
    /// One of its results may be None, which no return annotation of an op can say.
    pub(super) absent: bool,
    /// It takes under a parameter's name what the function calls by another: a part of it would not have to.
    pub(super) renames: bool,
    /// The op returns nothing.
    pub(super) nothing: bool,
    /// Changes inside of the old function, which becomes the op.
    pub(super) edits: Vec<Edit>,
    /// What `return` statements of the op return instead; empty: nothing.
    pub(super) partial: BTreeMap<StatementId, String>,
    /// Optional parameters that the op requires, and what the public function passes for them.
    pub(super) required: BTreeMap<u16, String>,
    /// Statements that the op no longer has.
    pub(super) removed: BTreeSet<StatementId>,
    /// Statements in front of the implementation and of its fake, without indentation.
    pub(super) preamble: Vec<String>,
}

/// One place of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The op returns it.
    Fresh,
    /// A parameter as it came in.
    Given(u16),
    /// A parameter, or, when that is absent, a tensor that takes its name.
    GivenOrFresh(u16),
    /// A view of parameters.
    View,
    /// `None`, on every path.
    Nothing,
}

/// Decides who returns what.
pub(super) fn split(scope: &Scope, calls: &Calls, func: &Func, indent: &str) -> Result<Split, Refused> {
    let shapes: Vec<Vec<&Returned>> = func.returns.iter().map(|path| items(&path.shape)).collect::<Result<_, _>>()?;
    if shapes.iter().all(Vec::is_empty) {
        return nothing(scope);
    }
    let tuple = |path: &ReturnPath| matches!(path.shape, ReturnShape::Tuple(_));
    let first = &shapes[0];
    let same = |(path, shape): (&ReturnPath, &Vec<&Returned>)| shape.len() == first.len() && tuple(path) == tuple(&func.returns[0]);
    if !func.returns.iter().zip(&shapes).all(same) {
        return paths::split(scope, func, indent);
    }
    let tuple = tuple(&func.returns[0]);
    let mut paths = Vec::new();
    for (path, shape) in func.returns.iter().zip(&shapes) {
        let value = path.value.ok_or("it returns nothing on a path")?;
        paths.push(classify(scope, value, shape, tuple)?);
    }
    let parts = paths.swap_remove(0);
    if paths.iter().any(|p| *p != parts) {
        return paths::split(scope, func, indent);
    }
    if parts.iter().all(|p| *p == Part::Fresh) {
        return all_fresh(scope, func, first, tuple);
    }
    if parts.contains(&Part::View) {
        return views(scope, calls, func, &parts, indent);
    }
    match named(scope, calls, func, &parts, tuple, indent) {
        Err(why) => paths::split(scope, func, indent).map_err(|_| why),
        split => split,
    }
}

pub(super) fn items(shape: &ReturnShape) -> Result<Vec<&Returned>, Refused> {
    match shape {
        ReturnShape::None => Ok(Vec::new()),
        ReturnShape::One(one) => Ok(vec![one]),
        ReturnShape::Tuple(items) => Ok(items.iter().collect()),
        ReturnShape::Unknown => Err("what it returns cannot be told".to_string()),
    }
}

/// Values of the parts of a returned value.
pub(super) fn part_values(scope: &Scope, value: ValueId, tuple: bool) -> Option<Vec<ValueId>> {
    match scope.body().op(value) {
        Op::Tuple(items) if tuple => Some(scope.body().items(items).to_vec()),
        _ if tuple || may_be(scope, value, &|op| matches!(op, Op::Tuple(_) | Op::List(_)), 24) => None,
        _ => Some(vec![value]),
    }
}

/// On some path the value is made by an operation of this kind. What cannot be followed is not.
pub(super) fn may_be(scope: &Scope, value: ValueId, wanted: &dyn Fn(Op) -> bool, depth: u32) -> bool {
    let body = scope.body();
    let Some(depth) = depth.checked_sub(1) else { return true };
    match body.op(value) {
        Op::Select(_, yes, no) => may_be(scope, yes, wanted, depth) || may_be(scope, no, wanted, depth),
        Op::Phi(items) | Op::Or(items) | Op::And(items) => body.items(items).iter().any(|&v| v < value && may_be(scope, v, wanted, depth)),
        Op::Annotated(_, value) => may_be(scope, value, wanted, depth),
        op => wanted(op),
    }
}

/// On some path the value is `None`.
pub(super) fn may_be_none(scope: &Scope, value: ValueId) -> bool {
    may_be(scope, value, &|op| matches!(op, Op::Const(Const::None)), 24)
}

pub(super) fn classify(scope: &Scope, value: ValueId, shape: &[&Returned], tuple: bool) -> Result<Vec<Part>, Refused> {
    let values = part_values(scope, value, tuple);
    let mut storages = Vec::new();
    let mut out = Vec::new();
    if values.is_none() && !matches!(scope.body().op(value), Op::Call(_)) {
        return Err("what it returns depends on a condition".to_string());
    }
    for (i, item) in shape.iter().enumerate() {
        let own = values.as_ref().and_then(|v| v.get(i).copied());
        // A schema's `Tensor` result may be None, as those of torch's own backward functions are.
        if own.is_some_and(|v| !matches!(item, Returned::None | Returned::Fresh(_)) && may_be_none(scope, v)) {
            return Err("one of its results is None on a path".to_string());
        }
        out.push(match item {
            Returned::Fresh(storage) if storages.contains(storage) => {
                return Err("two of its results share memory".to_string());
            }
            Returned::Fresh(storage) => {
                storages.push(*storage);
                Part::Fresh
            }
            Returned::Scalar => Part::Fresh,
            Returned::None => Part::Nothing,
            Returned::State(path) => return Err(format!("it returns `{path}`, which is held elsewhere")),
            Returned::Unknown => return Err("it cannot be told whether a result is new".to_string()),
            Returned::Alias { maybe: true, .. } => return Err("a result may be a copy of an argument or the argument itself".to_string()),
            Returned::Alias { params, or_fresh, .. } => {
                let own = own.ok_or("its results cannot be told apart")?;
                match (scope.body().op(own), params.as_slice(), or_fresh) {
                    (Op::Param(p), _, _) => Part::Given(p),
                    (_, &[p], true) => Part::GivenOrFresh(p),
                    (_, _, false) => Part::View,
                    _ => return Err("a result is one of several arguments, or new".to_string()),
                }
            }
        });
    }
    Ok(out)
}

fn nothing(scope: &Scope) -> Result<Split, Refused> {
    let says_none = scope
        .function()
        .returns
        .is_some_and(|a| Promise::read(scope.text(a.span)) == Promise::Nothing);
    let returns = (!says_none).then(|| "None".to_string());
    Ok(Split {
        returns,
        nothing: true,
        ..Split::default()
    })
}

/// Every result is new: the function is the op as it stands.
fn all_fresh(scope: &Scope, func: &Func, items: &[&Returned], tuple: bool) -> Result<Split, Refused> {
    for path in &func.returns {
        let list = path.value.is_some_and(|v| matches!(scope.body().op(v), Op::List(_)));
        if list {
            return Err("it returns a list, and an op would return a tuple".to_string());
        }
    }
    let promise = scope.function().returns.map(|a| Promise::read(scope.text(a.span)));
    if let Some(object) = object(scope, func, promise.as_ref(), items.len(), tuple) {
        return Err(format!("it returns `{object}`, which is no tensor"));
    }
    let tensor: Vec<bool> = (0..items.len())
        .map(|i| matches!(items[i], Returned::Fresh(_)) && !is_number(scope, func, promise.as_ref(), i, tuple))
        .collect();
    let own = || -> Result<Split, Refused> {
        let parts = func
            .returns
            .iter()
            .flat_map(|path| path.value.and_then(|v| part_values(scope, v, tuple)));
        Ok(Split {
            returns: Some(annotated(scope, func, promise.as_ref(), &tensor, tuple)?),
            absent: parts.flatten().any(|v| scope.may_be_none(v)),
            ..Split::default()
        })
    };
    let (Some(annotation), Some(promise)) = (scope.function().returns, &promise) else {
        return own();
    };
    let holds = match promise {
        Promise::One(ty) => !tuple && !ty.list && !ty.optional && ty.is_tensor() == tensor[0],
        Promise::Tuple(types) => {
            let same = |(ty, &tensor): (&Type, &bool)| !ty.list && !ty.optional && ty.base != Base::Other && ty.is_tensor() == tensor;
            tuple && types.len() == items.len() && types.len() > 1 && types.iter().zip(&tensor).all(same)
        }
        Promise::Nothing | Promise::Other => false,
    };
    let refused = func.schema.as_ref().is_err_and(|r| r.iter().any(|r| r.kind == RefusalKind::Return));
    if holds && !refused {
        let mut values = func
            .returns
            .iter()
            .filter_map(|path| path.value.and_then(|v| part_values(scope, v, tuple)));
        return Ok(Split {
            absent: values.any(|all| all.iter().any(|&v| scope.may_be_none(v))),
            ..Split::default()
        });
    }
    own().map_err(|_| format!("it does not return what its annotation `{}` says", scope.text(annotation.span)))
}

/// What the annotation says of one of the results.
fn said(promise: Option<&Promise>, i: usize, tuple: bool) -> Option<Type> {
    match promise? {
        Promise::One(ty) if !tuple => Some(*ty),
        Promise::Tuple(all) if tuple => all.get(i).copied(),
        _ => None,
    }
}

/// A result that is an object of some class, as it is made or as the annotation calls it.
fn object(scope: &Scope, func: &Func, promise: Option<&Promise>, count: usize, tuple: bool) -> Option<String> {
    let made = func
        .returns
        .iter()
        .flat_map(|path| path.value.and_then(|v| part_values(scope, v, tuple)).unwrap_or_default());
    if let Some(v) = made.into_iter().find(|v| may_be_object(scope, *v, 8)) {
        return Some(short(scope, v));
    }
    let named = |i: usize| said(promise, i, tuple).is_some_and(|ty| ty.base == Base::Other);
    let unclear = (0..count).any(|i| named(i) && kind_of_result(scope, func, i, tuple) == Kind::Unknown);
    scope.function().returns.filter(|_| unclear).map(|a| scope.text(a.span).to_string())
}

/// On some path it is made as a dict, a set, a collection of unknown length or an object of a class of the project.
fn may_be_object(scope: &Scope, value: ValueId, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let body = scope.body();
    match body.op(value) {
        Op::Dict(_) | Op::Set(_) | Op::Collect(..) => true,
        Op::Call(call) => {
            let callee = body.call(call).callee;
            let collects = ["dict", "list", "set", "tuple", "sorted", "zip", "map"];
            scope.is_project_class(callee) || scope.dotted(callee).is_some_and(|name| collects.contains(&name.as_str()))
        }
        Op::Select(_, a, b) => may_be_object(scope, a, depth) || may_be_object(scope, b, depth),
        Op::Phi(items) | Op::Or(items) => body.items(items).iter().any(|&v| v < value && may_be_object(scope, v, depth)),
        _ => false,
    }
}

/// What one of the results is on every path.
fn kind_of_result(scope: &Scope, func: &Func, i: usize, tuple: bool) -> Kind {
    let mut kinds = func.returns.iter().map(|path| {
        let values = path.value.and_then(|v| part_values(scope, v, tuple));
        values.and_then(|v| v.get(i).copied()).map_or(Kind::Unknown, |v| scope.kind(v))
    });
    let first = kinds.next().unwrap_or(Kind::Unknown);
    if kinds.all(|k| k == first) { first } else { Kind::Unknown }
}

/// A result that came from a call is a number, as its use or its annotation says.
fn is_number(scope: &Scope, func: &Func, promise: Option<&Promise>, i: usize, tuple: bool) -> bool {
    match kind_of_result(scope, func, i, tuple) {
        Kind::Int | Kind::Float | Kind::Bool => true,
        Kind::Unknown => said(promise, i, tuple).is_some_and(|ty| matches!(ty.base, Base::Int | Base::Float | Base::Bool)),
        _ => false,
    }
}

/// The annotation of new results: tensors, and numbers whose types are known.
fn annotated(scope: &Scope, func: &Func, promise: Option<&Promise>, tensor: &[bool], tuple: bool) -> Result<String, Refused> {
    if tensor.iter().all(|&tensor| tensor) {
        return Ok(tensors(scope, tensor.len(), tuple));
    }
    let mut types = Vec::new();
    for (i, &tensor) in tensor.iter().enumerate() {
        if tensor {
            types.push(tensors(scope, 1, false));
            continue;
        }
        let said = said(promise, i, tuple);
        let base = match (kind_of_result(scope, func, i, tuple), said) {
            (_, Some(ty)) if ty.list || ty.optional => None,
            (Kind::Int, _) => Some("int"),
            (Kind::Float, _) => Some("float"),
            (Kind::Bool, _) => Some("bool"),
            (Kind::Unknown, Some(ty)) => match ty.base {
                Base::Int => Some("int"),
                Base::Float => Some("float"),
                Base::Bool => Some("bool"),
                _ => None,
            },
            _ => None,
        };
        types.push(base.ok_or("the types of its results are not annotated")?.to_string());
    }
    Ok(if tuple {
        format!("tuple[{}]", types.join(", "))
    } else {
        types.join(", ")
    })
}

/// The annotation of some tensors, spelled as the signature spells them.
pub(super) fn tensors(scope: &Scope, count: usize, tuple: bool) -> String {
    let short = super::spelling::is_short(scope);
    let one = if short { "Tensor" } else { "torch.Tensor" };
    if tuple {
        format!("tuple[{}]", vec![one; count].join(", "))
    } else {
        one.to_string()
    }
}

/// Results are new, or go by the name of a parameter.
fn named(scope: &Scope, calls: &Calls, func: &Func, parts: &[Part], tuple: bool, indent: &str) -> Result<Split, Refused> {
    let mut split = Split {
        nothing: !parts.contains(&Part::Fresh),
        ..Split::default()
    };
    let texts = final_texts(scope, tuple)?;
    if texts.len() != parts.len() {
        return Err("its results cannot be told apart".to_string());
    }
    let mut results = Vec::new();
    let mut bound = Vec::new();
    let mut absent = Vec::new();
    for (i, (part, text)) in parts.iter().zip(&texts).enumerate() {
        match part {
            Part::Given(p) => results.push(scope.name(scope.function().params[*p as usize].name).to_string()),
            Part::GivenOrFresh(p) => {
                let name = scope.name(scope.function().params[*p as usize].name);
                if !is_identifier(text) || name != *text && scope.function().params.iter().any(|p| scope.name(p.name) == *text) {
                    return Err("a result is made of an argument or of what stands in for it".to_string());
                }
                absent.push((*p, *text));
                results.push((*text).to_string());
            }
            Part::Nothing => results.push("None".to_string()),
            Part::Fresh => {
                let name = if is_identifier(text) {
                    (*text).to_string()
                } else {
                    let own = made_of(scope, text).filter(|name| !bound.iter().any(|b| b == name) && !texts.contains(name));
                    own.map_or_else(|| format!("result{}", i + 1), str::to_string)
                };
                bound.push(name.clone());
                results.push(name);
            }
            Part::View => return Err("a result is a view of an argument".to_string()),
        }
    }
    if !absent.is_empty() {
        allocate_outside(scope, calls, &absent, &mut split, indent)?;
    }
    let fresh = bound.len();
    if results
        .iter()
        .enumerate()
        .any(|(i, name)| parts[i] != Part::Fresh && bound.contains(name))
    {
        return Err("a new result goes by the name of an argument that it returns too".to_string());
    }
    split.returns = Some(if fresh == 0 {
        "None".to_string()
    } else {
        tensors(scope, fresh, fresh > 1)
    });
    if fresh > 0 {
        if func
            .returns
            .iter()
            .any(|p| items(&p.shape).is_ok_and(|i| i.contains(&&Returned::Scalar)))
        {
            return Err("it returns numbers besides an argument".to_string());
        }
        split.bind = Some(bound.join(", "));
    }
    let results = results.join(", ");
    split.after = vec![format!("{indent}return {results}")];
    drop_results(scope, parts, &texts, tuple, &mut split)?;
    Ok(split)
}

/// The texts of the parts of what the last statement returns.
fn final_texts<'a>(scope: &Scope<'a>, tuple: bool) -> Result<Vec<&'a str>, Refused> {
    let last = scope.body().top.last().copied().ok_or("it is empty")?;
    expression_texts(scope, last, tuple).ok_or_else(|| "it does not end with a `return`".to_string())
}

pub(super) fn expression_texts<'a>(scope: &Scope<'a>, statement: StatementId, tuple: bool) -> Option<Vec<&'a str>> {
    let statement = &scope.body().statements[statement.index()];
    if statement.kind != StatementKind::Return {
        return None;
    }
    let text = scope.text(statement.span).strip_prefix("return")?.trim();
    if text.contains('#') {
        return None;
    }
    if !tuple {
        return Some(vec![text]);
    }
    let inside = text
        .strip_prefix('(')
        .and_then(|t| t.strip_suffix(')'))
        .filter(|t| !t.contains(['(', ')']));
    Some(parts(inside.unwrap_or(text), ',').into_iter().map(str::trim).collect())
}

pub(super) fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The local name that an expression begins with: `y` of `y.view(shape)`.
pub(super) fn made_of<'t>(scope: &Scope, text: &'t str) -> Option<&'t str> {
    let (name, _) = text.split_once('.')?;
    let function = scope.function();
    let local = function.assigned.iter().any(|a| scope.name(a.0) == name) && !function.params.iter().any(|p| scope.name(p.name) == name);
    (local && is_identifier(name)).then_some(name)
}

/// Takes what the public function returns itself out of the op's `return` statements.
fn drop_results(scope: &Scope, parts: &[Part], names: &[&str], tuple: bool, split: &mut Split) -> Result<(), Refused> {
    let body = scope.body();
    for (i, statement) in body.statements.iter().enumerate() {
        let id = StatementId(i as u32);
        if statement.kind != StatementKind::Return {
            continue;
        }
        let texts = expression_texts(scope, id, tuple).filter(|t| t.len() == parts.len());
        let texts = texts.ok_or("a `return` is not written out")?;
        let same = parts.iter().zip(names).zip(&texts);
        if same
            .into_iter()
            .any(|((part, name), text)| matches!(part, Part::GivenOrFresh(_)) && name != text)
        {
            return Err("a result goes by another name on a path".to_string());
        }
        let fresh: Vec<&str> = parts
            .iter()
            .zip(texts)
            .filter(|(p, _)| **p == Part::Fresh)
            .map(|(_, t)| t)
            .collect();
        if !fresh.is_empty() {
            let text = fresh.join(", ");
            split.edits.push(Edit::replace(statement.span, format!("return {text}")));
            split.partial.insert(id, text);
        } else if body.top.last() == Some(&id) {
            split.edits.push(remove_lines(scope, statement));
        } else {
            split.edits.push(Edit::replace(statement.span, "return"));
        }
    }
    Ok(())
}

/// Removes a statement with its line, the comment behind it and the blank lines above it.
pub(super) fn remove_lines(scope: &Scope, statement: &Statement) -> Edit {
    let source = scope.source();
    let mut start = source.line_start(statement.span.start);
    if !source.text[start as usize..statement.span.start as usize].trim().is_empty() {
        return Edit::replace(statement.span, "pass");
    }
    while start > 0 {
        let above = source.line_start(start - 1);
        if !source.text[above as usize..start as usize].trim().is_empty() {
            break;
        }
        start = above;
    }
    Edit::replace(Span::new(start, source.line_end(statement.span.end)), "")
}

/// Results are views of parameters that the public function can make again.
fn views(scope: &Scope, calls: &Calls, func: &Func, parts: &[Part], indent: &str) -> Result<Split, Refused> {
    let body = scope.body();
    let single = body.statements.iter().filter(|s| s.kind == StatementKind::Return).count() == 1;
    let Some(&last) = body.top.last() else {
        return Err("it is empty".to_string());
    };
    if !single || parts.contains(&Part::Fresh) || func.returns.len() != 1 || returned(scope, last).is_none() {
        return Err("it returns a view of an argument".to_string());
    }
    let mut slicer = Slicer::new(scope);
    slicer.block(&body.top, Live::new())?;
    let mut doubts = Vec::new();
    for (_, kept) in body.statements.iter().enumerate().filter(|(i, _)| slicer.kept[*i]) {
        let values = if kept.blocks.is_empty() { kept.values } else { kept.header_values };
        own_reads_no_data(scope, calls, kept, &mut doubts)?;
        for v in (values.0.0..values.1.0).map(ValueId) {
            only_views(scope, v)?;
        }
    }
    if !doubts.is_empty() {
        return Err("it returns a view of an argument".to_string());
    }
    let mut split = Split {
        nothing: true,
        returns: Some("None".to_string()),
        ..Split::default()
    };
    split.after = Writer::write(&slicer, &body.top, indent, Comments::Dropped)?;
    split.edits.push(remove_lines(scope, &body.statements[last.index()]));
    Ok(split)
}

/// A call in a recomputed view may make a view or a number, and nothing new.
fn only_views(scope: &Scope, value: ValueId) -> Result<(), Refused> {
    let Op::Call(call) = scope.body().op(value) else { return Ok(()) };
    let callee = scope.body().call(call).callee;
    let torch = &scope.knowledge.torch;
    let effect = match scope.body().op(callee) {
        Op::Attr(object, method) if scope.kind(object) == Kind::Tensor => torch.method(scope.name(method)),
        _ => scope.dotted(callee).and_then(|name| torch.function(&name)),
    };
    let shares = |s: &Shares| matches!(s, Shares::View(_) | Shares::Scalar);
    let number = matches!(scope.kind(value), Kind::Int | Kind::Shape | Kind::Bool);
    match effect {
        Some(effect) if effect.writes.is_empty() && effect.results.iter().all(shares) => Ok(()),
        _ if number => Ok(()),
        _ => Err(format!("it returns a view of an argument, through `{}`", short(scope, callee))),
    }
}
