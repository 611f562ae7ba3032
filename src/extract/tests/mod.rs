//! Bodies as text: one line per value, with the conditions that it stands under.

mod bodies;
mod hostile;
mod places;
mod statements;

use super::extract;
use crate::facts::*;
use crate::source::Source;
use std::fmt::Write;

fn facts(text: &str) -> Facts {
    extract(&Source::new("a.py", text))
}

/// A body as text. Constants stand where they are used.
fn dump(facts: &Facts, function: &Function) -> String {
    let mut out = String::new();
    for (id, value) in function.body.iter() {
        if matches!(value.op, Op::Const(_)) {
            continue;
        }
        let guards = guards(facts, &function.body, value.guard);
        writeln!(out, "%{} = {}{guards}", id.0, show(facts, &function.body, value.op)).unwrap();
    }
    for &(name, value) in &function.bindings {
        writeln!(out, "{}: {}", facts.name(name), operand(facts, &function.body, value)).unwrap();
    }
    out
}

fn operand(facts: &Facts, body: &Body, id: ValueId) -> String {
    match body.op(id) {
        Op::Const(Const::None) => "None".into(),
        Op::Const(Const::Bool(b)) => if b { "True" } else { "False" }.into(),
        Op::Const(Const::Int(i)) => i.to_string(),
        Op::Const(Const::Str(s)) => format!("{:?}", facts.name(s)),
        Op::Const(Const::Float(s) | Const::BigNumber(s)) => facts.name(s).into(),
        Op::Const(Const::Bytes) => "bytes".into(),
        Op::Const(Const::Ellipsis) => "...".into(),
        _ => format!("%{}", id.0),
    }
}

fn guards(facts: &Facts, body: &Body, mut guard: GuardId) -> String {
    let mut shown = Vec::new();
    while guard != ALWAYS {
        shown.push(match body.guards[guard.index()].kind {
            GuardKind::Always => "always".into(),
            GuardKind::When(v, true) => operand(facts, body, v),
            GuardKind::When(v, false) => format!("not {}", operand(facts, body, v)),
            GuardKind::Repeats => "repeats".into(),
            GuardKind::Maybe => "maybe".into(),
        });
        guard = body.guards[guard.index()].parent;
    }
    shown.reverse();
    if shown.is_empty() {
        String::new()
    } else {
        format!("  @ {}", shown.join(", "))
    }
}

fn show(facts: &Facts, body: &Body, op: Op) -> String {
    let v = |id| operand(facts, body, id);
    let list = |items| body.items(items).iter().map(|&i| v(i)).collect::<Vec<_>>().join(", ");
    let n = |name| facts.name(name);
    match op {
        Op::Undefined => "undefined".into(),
        Op::Param(i) => format!("param {i}"),
        Op::Free(name) => format!("free {}", n(name)),
        Op::Const(_) => "const".into(),
        Op::Format(items) => format!("format {}", list(items)),
        Op::Attr(a, name) => format!("{}.{}", v(a), n(name)),
        Op::Index(a, b) => format!("{}[{}]", v(a), v(b)),
        Op::Slice(a, b, c) => format!("slice {}:{}:{}", v(a), v(b), v(c)),
        Op::Tuple(items) => format!("tuple {}", list(items)),
        Op::List(items) => format!("list {}", list(items)),
        Op::Set(items) => format!("set {}", list(items)),
        Op::Dict(items) => format!("dict {}", list(items)),
        Op::Collect(kind, a) => format!("collect {kind:?} {}", v(a)),
        Op::Star(a) => format!("*{}", v(a)),
        Op::Unary(op, a) => format!("{op:?} {}", v(a)),
        Op::Binary(op, a, b) => format!("{} {op:?} {}", v(a), v(b)),
        Op::Compare(op, a, b) => format!("{} {op:?} {}", v(a), v(b)),
        Op::And(items) => format!("and {}", list(items)),
        Op::Or(items) => format!("or {}", list(items)),
        Op::Select(c, a, b) => format!("select {} ? {} : {}", v(c), v(a), v(b)),
        Op::Phi(items) => format!("phi {}", list(items)),
        Op::Call(id) => {
            let call = body.call(id);
            let args: Vec<String> = call
                .args
                .iter()
                .map(|a| match a.kind {
                    ArgKind::Positional => v(a.value),
                    ArgKind::Star => format!("*{}", v(a.value)),
                    ArgKind::Keyword(name) => format!("{}={}", n(name), v(a.value)),
                    ArgKind::StarStar => format!("**{}", v(a.value)),
                })
                .collect();
            let decorates = call
                .decorates
                .map_or(String::new(), |f| format!(" decorates {}", n(facts.function(f).qualname)));
            format!("call {}({}){decorates}", v(call.callee), args.join(", "))
        }
        Op::Iterate(a) => format!("iterate {}", v(a)),
        Op::Unpack { value, index, rest } => format!("unpack {} {index}{}", v(value), if rest { " rest" } else { "" }),
        Op::Function(f) => format!("function {}", n(facts.function(f).qualname)),
        Op::Class(c) => format!("class {}", n(facts.classes[c.index()].qualname)),
        Op::Import(i) => {
            let import = &facts.imports[i.index()];
            let member = import.member.map_or(String::new(), |m| format!(" {}", n(m)));
            format!("import {}{}{member}", ".".repeat(import.level as usize), n(import.module))
        }
        Op::Enter(a) => format!("enter {}", v(a)),
        Op::Exception => "exception".into(),
        Op::Suspend(a) => format!("suspend {}", v(a)),
        Op::SetAttr(a, name, b) => format!("{}.{} = {}", v(a), n(name), v(b)),
        Op::SetIndex(a, b, c) => format!("{}[{}] = {}", v(a), v(b), v(c)),
        Op::Augment(op, a, b) => format!("{} {op:?}= {}", v(a), v(b)),
        Op::SetOuter(name, a) => format!("outer {} = {}", n(name), v(a)),
        Op::Delete(a) => format!("delete {}", v(a)),
        Op::Return(a) => format!("return {}", v(a)),
        Op::Raise => "raise".into(),
        Op::Assert(a) => format!("assert {}", v(a)),
        Op::Annotated(a, b) => format!("annotated {} {}", v(a), v(b)),
    }
}

/// Checks the dump of one function; both texts are written with an indentation of their own.
fn check(text: &str, qualname: &str, expected: &str) {
    let dump = body(text, qualname);
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(dump.lines().collect::<Vec<_>>(), expected, "got:\n{dump}");
}

/// The dump of one function.
fn body(text: &str, qualname: &str) -> String {
    let facts = facts(text);
    let function = facts.functions.iter().find(|f| facts.name(f.qualname) == qualname).unwrap();
    dump(&facts, function)
}

#[test]
fn a_value_is_28_bytes() {
    assert_eq!(std::mem::size_of::<Value>(), 28);
}
