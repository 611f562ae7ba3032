//! Fixes of registrations that are there: keep a library, call the op, rename it, let its calls be recorded.

use super::scope::{Scope, module_function};
use super::{called::callee_of, fake::short, imports, names, signature};
use crate::facts::{ALWAYS, ArgKind, MODULE, Op as Code, ParamKind, StatementKind, ValueId};
use crate::finding::{Edit, Fix, Safety};
use crate::knowledge::Knowledge;
use crate::program::{Bypass, Declared, Func, FunctionRef, Launch, Op, Program, ReturnShape, Returned};
use crate::source::{Place, Span};

/// Whether the kernel of a launch is wrapped by `wrap_triton`; `None` when that cannot be told.
pub(super) fn is_wrapped(program: &Program, knowledge: &Knowledge, launch: &Launch) -> Option<bool> {
    let scope = Scope::new(program, knowledge, launch.function);
    let body = scope.body();
    match body.op(body.call(launch.call?).callee) {
        Code::Index(kernel, _) | Code::Attr(kernel, _) => wrapped(&scope, kernel, 4),
        _ => None,
    }
}

fn wrapped(scope: &Scope, value: ValueId, depth: u32) -> Option<bool> {
    let depth = depth.checked_sub(1)?;
    let body = scope.body();
    let agree = |items: &[ValueId]| {
        let mut all = items.iter().map(|&v| wrapped(scope, v, depth));
        let first = all.next()??;
        all.all(|other| other == Some(first)).then_some(first)
    };
    match body.op(value) {
        Code::Call(call) if body.call(call).decorates.is_none() => {
            let name = scope.dotted(body.call(call).callee)?;
            matches!(name.rsplit('.').next(), Some("wrap_triton" | "capture_triton")).then_some(true)
        }
        Code::Select(_, a, b) => agree(&[a, b]),
        Code::Phi(items) => agree(body.items(items)),
        Code::Free(name) if scope.at.function != MODULE => {
            let bound = scope.facts().module().binding(name)?;
            let module = Scope::new(
                scope.program,
                scope.knowledge,
                FunctionRef {
                    file: scope.at.file,
                    function: MODULE,
                },
            );
            wrapped(&module, bound, depth)
        }
        Code::Function(_) | Code::Call(_) | Code::Import(_) | Code::Attr(..) => scope.project_function(value).map(|_| false),
        _ => None,
    }
}

/// Keeps the `Library` at a place alive in a global of its module. `once`: all that registers through it runs at import.
pub fn keep_library(program: &Program, place: Place, once: bool) -> Option<Fix> {
    let file = program.file(place.file);
    let facts = &file.facts;
    let inside = |f: &&crate::facts::Function| f.body.statements.iter().any(|s| s.span.contains(place.span));
    let function = facts.functions.iter().filter(inside).min_by_key(|f| f.span.end - f.span.start)?;
    let statements = function.body.statements.iter();
    let statement = statements
        .filter(|s| s.kind == StatementKind::Assign && s.span.contains(place.span))
        .min_by_key(|s| s.span.end - s.span.start)?;
    let [name] = statement.defines.as_slice() else { return None };
    let source = &file.source;
    let (start, end) = (source.line_start(statement.span.start), source.line_end(statement.span.end));
    let indent = &source.text[start as usize..statement.span.start as usize];
    let rest = source.slice(Span::new(statement.span.end, end)).trim();
    if !indent.trim().is_empty() || !(rest.is_empty() || rest.starts_with('#')) || facts.functions[0].span == function.span {
        return None;
    }
    let libraries = names::unused(facts, "_libraries");
    let newline = &facts.layout.newline;
    let keep = format!("{indent}{libraries}.append({}){newline}", facts.name(*name));
    let reasons = if once {
        Vec::new()
    } else {
        vec!["the function may run more than once, and would then define the same op again".to_string()]
    };
    Some(Fix {
        title: format!("keep `{}` in a global", facts.name(*name)),
        safety: if reasons.is_empty() { Safety::Safe } else { Safety::Unsafe },
        reasons,
        edits: vec![
            (place.file, imports::global(file, &format!("{libraries} = []"))),
            (place.file, Edit::insert(end, keep)),
        ],
        claims: vec![(place.file, statement.span)],
    })
}

/// Replaces a call of an op's implementation by a call of the op.
pub fn call_op(program: &Program, knowledge: &Knowledge, op: &Op, bypass: &Bypass) -> Option<Fix> {
    let (namespace, name) = op.name.split_once("::").filter(|(_, n)| op.name_known && !n.contains('.'))?;
    let func = &program.functions[op.func?];
    let at = bypass.caller.function;
    let body = &program.function(at).body;
    let call = body.call(bypass.caller.call?);
    let span = callee_of(program.file(at.file), bypass.caller.place.span, body.value(call.callee).span)?;
    let scope = Scope::new(program, knowledge, func.function);
    let mut reasons = Vec::new();
    if call.args.iter().any(|a| matches!(a.kind, ArgKind::Star | ArgKind::StarStar)) {
        reasons.push("the call passes starred arguments".to_string());
    }
    if !bypass.without_grad {
        reasons.push("the caller may need gradients around the call, which the op does not give".to_string());
    }
    if func.schema.is_err() {
        reasons.push("the op's schema is not known".to_string());
    }
    for (param, why) in &func.unresolved {
        reasons.push(format!("`{}`: {why}", program.param_name(func.function, *param)));
    }
    if let Some(name) = undeclared(program, op, func) {
        reasons.push(format!("the op does not declare that it writes `{name}`"));
    }
    if !func.returns_alias_of.is_empty() {
        reasons.push("a result shares memory with an argument".to_string());
    }
    if program.function(op.call.0).body.value(op.call.1).guard != ALWAYS || op.call.0.function != MODULE {
        reasons.push("the op is registered under a condition".to_string());
    }
    if func.launches.is_empty() {
        reasons.push("the op may be registered for one device only".to_string());
    }
    reasons.extend(super::safety::call_sites(&scope, func));
    let file = program.file(at.file);
    let mut edits = vec![(at.file, Edit::replace(span, format!("torch.ops.{namespace}.{name}")))];
    let start = top_statement(program, at);
    edits.extend(imports::module(file, "torch", start).map(|edit| (at.file, edit)));
    edits.extend(imports::kept(file, file.source.slice(span), span, |_| 1).map(|edit| (at.file, edit)));
    Some(Fix {
        title: format!("call `torch.ops.{namespace}.{name}`"),
        safety: if reasons.is_empty() { Safety::Safe } else { Safety::Unsafe },
        reasons,
        edits,
        claims: vec![(at.file, bypass.caller.place.span)],
    })
}

/// Where the statement of the module begins that holds a function.
fn top_statement(program: &Program, at: FunctionRef) -> u32 {
    let module = program.file(at.file).facts.module();
    let span = program.function(at).span;
    let top = module.body.top.iter().map(|s| module.body.statements[s.index()].span);
    top.into_iter().find(|s| s.contains(span)).map_or(span.start, |s| s.start)
}

fn undeclared<'a>(program: &'a Program, op: &Op, func: &Func) -> Option<&'a str> {
    let mut names = func.mutates.iter().map(|w| program.param_name(func.function, w.param));
    match &op.declared {
        Declared::Names(declared) => names.find(|n| !declared.iter().any(|d| d == n)),
        Declared::All => None,
        Declared::Malformed(_) | Declared::Unknown => names.next(),
    }
}

/// Gives the second registration of a name a name of its own.
pub fn rename_op(program: &Program, op: &Op) -> Option<Fix> {
    let place = op.name_place?;
    let (namespace, old) = op.name.split_once("::")?;
    let plain = names::plain(program.function_name(op.implementation?)).to_string();
    let taken = |name: &str| program.ops.iter().any(|o| o.name == format!("{namespace}::{name}"));
    let stem = if plain == old { format!("{old}_2") } else { plain };
    let new = if taken(&stem) {
        (2..).map(|n| format!("{stem}_{n}")).find(|n| !taken(n))?
    } else {
        stem
    };
    let literal = program.slice(place);
    let inside = match literal.split_once("::") {
        Some((before, _)) => before.len() + 2,
        None => 0,
    };
    let at = inside + literal[inside..].find(old)?;
    let span = Span::new(place.span.start + at as u32, place.span.start + (at + old.len()) as u32);
    Some(Fix {
        title: format!("call it `{namespace}::{new}`"),
        safety: Safety::Unsafe,
        reasons: vec![format!(
            "who calls `{}` gets one of the two today, and each such call must be looked at",
            op.name
        )],
        edits: vec![(place.file, Edit::replace(span, new))],
        claims: vec![(place.file, program.function(op.call.0).body.value(op.call.1).span)],
    })
}

/// Puts a plain function in front of an op whose calls by name are not recorded.
pub fn record_op(program: &Program, knowledge: &Knowledge, op: &Op, func: &Func) -> Option<Fix> {
    let (namespace, op_name) = op.name.split_once("::").filter(|_| op.name_known)?;
    let at = func.function;
    let scope = Scope::new(program, knowledge, at);
    let (function, facts, source) = (scope.function(), scope.facts(), scope.source());
    let module = facts.module();
    let name = scope.name(function.name);
    let bound = module.binding(function.name).filter(|_| func.inline.is_none())?;
    if module_function(facts, bound) != Some(at.function) || !stands_alone(&module.body, function.name_span) {
        return None;
    }
    let private = names::private(facts, name.trim_matches('_'), "impl");
    let mut edits = vec![Edit::replace(function.name_span, private.clone())];
    let mut end = function.span.end;
    for (value, v) in module.body.iter() {
        let Code::Attr(object, _) = v.op else { continue };
        let of_op = object == bound && source.slice(v.span).starts_with(&format!("{name}."));
        if of_op {
            edits.push(Edit::replace(
                Span::new(v.span.start, v.span.start + name.len() as u32),
                private.clone(),
            ));
            let mut statement = module.body.statement_of(value)?;
            while let Some(outer) = module.body.statements[statement.index()].parent {
                statement = outer;
            }
            end = end.max(module.body.statements[statement.index()].span.end);
        }
    }
    let mut reasons = vec!["code that is not in view may use it as the `CustomOpDef` that it is".to_string()];
    if let Some(mention) = func.callers.iter().find(|c| c.call.is_none()) {
        let file = program.file(mention.place.file);
        reasons.push(format!(
            "it is passed on at {}:{}",
            file.source.path,
            file.source.line(mention.place.span.start)
        ));
    }
    let inner = &facts.layout.indent;
    let nothing = func.returns.iter().all(|r| r.shape == ReturnShape::None);
    let prefix = if nothing { "" } else { "return " };
    let callee = format!("torch.ops.{namespace}.{op_name}");
    let params = function.params.iter().map(|p| match (p.kind, scope.name(p.name)) {
        (ParamKind::KeywordOnly, name) => format!("{name}={name}"),
        (_, name) => name.to_string(),
    });
    let arguments: Vec<String> = params.collect();
    let one = format!("{inner}{prefix}{callee}({})", arguments.join(", "));
    let call = if one.chars().count() <= signature::WIDTH {
        one
    } else {
        signature::exploded(prefix, &callee, &arguments, inner, inner)
    };
    let header = scope.text(function.header);
    let text = format!("\n\n{header}\n{call}\n").replace('\n', &facts.layout.newline);
    edits.push(Edit::insert(source.line_end(end.saturating_sub(1)), text));
    edits.extend(imports::module(program.file(at.file), "torch", function.span.start));
    Some(Fix {
        title: format!("let a plain function `{name}` call `{}`", op.name),
        safety: Safety::Unsafe,
        reasons,
        edits: edits.into_iter().map(|edit| (at.file, edit)).collect(),
        claims: vec![(at.file, Span::new(function.span.start, end))],
    })
}

/// The statement of a function stands at the top of the module, under no condition.
fn stands_alone(body: &crate::facts::Body, name: Span) -> bool {
    let top = body.top.iter().map(|s| &body.statements[s.index()]);
    top.into_iter().any(|s| s.kind == StatementKind::Def && s.span.contains(name))
}

/// Whether a function certainly returns something.
pub fn returns_something(func: &Func) -> bool {
    let is = |returned: &Returned| *returned != Returned::None;
    func.returns.iter().any(|r| match &r.shape {
        ReturnShape::None | ReturnShape::Unknown => false,
        ReturnShape::One(one) => is(one),
        ReturnShape::Tuple(_) => true,
    })
}

/// Where a fake reads what a tensor holds, and what it does there.
pub fn reads(program: &Program, knowledge: &Knowledge, fake: FunctionRef) -> Vec<(Place, String)> {
    use super::scope::Kind;
    use crate::facts::{GuardKind, UnaryOp};
    let scope = Scope::new(program, knowledge, fake);
    let body = scope.body();
    let mut found: Vec<(Place, String)> = Vec::new();
    let place = |v: ValueId| Place {
        file: fake.file,
        span: body.value(v).span,
    };
    let tensor = |v: ValueId| scope.kind(v) == Kind::Tensor;
    for guard in &body.guards {
        if let GuardKind::When(condition, _) = guard.kind
            && tensor(condition)
        {
            found.push((place(condition), format!("branches on `{}`", short(&scope, condition))));
        }
    }
    for (v, value) in body.iter() {
        let Code::Call(call) = value.op else {
            if let Code::Unary(UnaryOp::Not, a) = value.op
                && tensor(a)
            {
                found.push((place(v), format!("branches on `{}`", short(&scope, a))));
            }
            continue;
        };
        let call = body.call(call);
        if let Code::Attr(object, method) = body.op(call.callee)
            && matches!(scope.name(method), "item" | "tolist" | "numpy" | "data_ptr")
            && (tensor(object) || from_params(&scope, object, 16))
            && scope.kind(object) != Kind::Shape
        {
            found.push((place(v), format!("reads `{}`", short(&scope, v))));
        }
        let converts = || matches!(scope.dotted(call.callee).as_deref(), Some("int" | "float" | "bool"));
        if call.args.first().is_some_and(|a| tensor(a.value)) && converts() {
            found.push((place(v), format!("reads `{}`", short(&scope, v))));
        }
        if let Some(callee) = scope.project_function(call.callee)
            && callee != fake
            && program.func(callee).is_some_and(launches_itself)
        {
            found.push((place(v), format!("calls `{}`, which launches a kernel", short(&scope, call.callee))));
        }
    }
    if let Some(func) = program.func(fake) {
        found.extend(
            func.launches
                .iter()
                .filter(|l| l.via.is_none())
                .map(|l| (l.place, "launches a kernel".to_string())),
        );
    }
    found.sort();
    found.dedup_by_key(|f| f.0);
    found
}

fn launches_itself(func: &Func) -> bool {
    !func.launches.is_empty() && func.registration != crate::program::Registration::Yes
}

/// The value is a parameter without annotation, or made from one by methods, attributes and indices.
fn from_params(scope: &Scope, value: ValueId, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let body = scope.body();
    match body.op(value) {
        Code::Param(p) => scope.function().params[p as usize].annotation.is_none(),
        Code::Index(object, _) => from_params(scope, object, depth),
        Code::Call(call) => match body.op(body.call(call).callee) {
            Code::Attr(object, _) => from_params(scope, object, depth),
            _ => false,
        },
        _ => false,
    }
}
