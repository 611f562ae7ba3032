//! Ops around the calls of a launcher that stays as it is: a decorator launches what the function describes, and the
//! project asks the decorated object for more than its calls (warm-up, caches). The op calls it, and calls of it in view
//! call the op.

use super::fake::Fake;
use super::imports;
use super::interface::{default_fits, default_is_none, list_will_do, reason};
use super::names;
use super::op_text::OpText;
use super::scope::{Kind, Scope};
use super::signature::{self, Base, Type};
use super::spelling::Spelling;
use super::split::tensors;
use super::styles::{self, Route};
use super::{Rewrite, outline, safety};
use crate::facts::{ArgKind, Call, CallId, Const, Op, ParamKind, Statement, StatementKind, ValueId};
use crate::finding::Edit;
use crate::knowledge::frameworks::Form;
use crate::program::{Caller, Func, FunctionRef, Inline, ProgramFile};
use crate::source::{FileId, Span};

/// An op around calls, decided and written.
#[derive(Debug)]
pub(super) struct Called {
    pub(super) style: String,
    pub(super) op: String,
    pub(super) mutates: Vec<String>,
    pub(super) doubts: Vec<String>,
    pub(super) edits: Vec<(FileId, Edit)>,
    pub(super) claims: Vec<(FileId, Span)>,
}

/// A decorator launches it: what it returns describes the launch.
pub(super) fn concerns(func: &Func) -> bool {
    func.launches.iter().any(|l| l.value.is_none())
}

/// A parameter of the op.
struct Param {
    /// As it stands in the header.
    text: String,
    /// What the launcher is given.
    argument: String,
    /// A tensor or a number: absent where the number is meant.
    number: Option<u16>,
}

/// What the launcher hands back: new tensors, each like a parameter.
struct Results {
    like: Vec<String>,
    tuple: bool,
    /// Parameters that stand for the results, which no call passes.
    unpassed: Vec<String>,
}

/// The result of a launcher that describes its launch: the third part of what it returns, made in it unless it is given.
fn results(scope: &Scope, func: &Func) -> Option<Results> {
    let body = scope.body();
    let mut returns = body.iter().filter_map(|(_, v)| match v.op {
        Op::Return(result) => Some(result),
        _ => None,
    });
    let Op::Tuple(parts) = body.op(returns.next()?) else { return None };
    let &[_, _, result] = body.items(parts) else { return None };
    if returns.next().is_some() {
        return None;
    }
    let (mut made, mut unpassed, mut todo) = (Vec::new(), Vec::new(), vec![result]);
    while let Some(value) = todo.pop() {
        match body.op(value) {
            Op::Select(_, yes, no) => todo.extend([yes, no]),
            Op::Param(index) => {
                let param = &scope.function().params[index as usize];
                if !default_is_none(scope, param) || is_passed(scope, func, index) {
                    return None;
                }
                unpassed.push(scope.name(param.name).to_string());
            }
            _ => made.push(value),
        }
    }
    let &[made] = made.as_slice() else { return None };
    let (items, tuple) = match body.op(made) {
        Op::Tuple(items) => (body.items(items).to_vec(), true),
        _ => (vec![made], false),
    };
    let like = items.into_iter().map(|value| {
        let Op::Call(call) = body.op(value) else { return None };
        let call = body.call(call);
        let [one] = call.args.as_slice() else { return None };
        let Op::Param(index) = body.op(one.value) else { return None };
        let tensor = scope.param_type(index).is_some_and(|ty| ty.is_tensor() && !ty.list && !ty.optional);
        (tensor && scope.dotted(call.callee).as_deref() == Some("torch.empty_like"))
            .then(|| scope.program.param_name(scope.at, index).to_string())
    });
    Some(Results {
        like: like.collect::<Option<_>>()?,
        tuple,
        unpassed,
    })
}

/// Some call in view gives the parameter something, or may do so.
fn is_passed(scope: &Scope, func: &Func, param: u16) -> bool {
    func.callers.iter().any(|caller| {
        let Some(call) = caller.call else { return true };
        let outer = Scope::new(scope.program, scope.knowledge, caller.function);
        let call = outer.body().call(call);
        (0..call.args.len()).any(|i| match call.args[i].kind {
            ArgKind::Star | ArgKind::StarStar => true,
            _ => argument_of(scope, func, &outer, call, i) == Some(param),
        })
    })
}

/// The parameter that an argument of a call becomes. What is called as `object(…)` gets the object first.
fn argument_of(scope: &Scope, func: &Func, outer: &Scope, call: &Call, position: usize) -> Option<u16> {
    let shift = usize::from(is_method(func));
    match call.args[position].kind {
        ArgKind::Positional => Some((position + shift) as u16),
        ArgKind::Keyword(name) => {
            let text = outer.name(name);
            let params = &scope.function().params;
            params.iter().position(|p| scope.name(p.name) == text).map(|at| at as u16)
        }
        ArgKind::Star | ArgKind::StarStar => None,
    }
}

/// `Tensor | int`
fn is_tensor_or_number(text: &str) -> bool {
    let parts: Vec<Type> = signature::split(text, '|').into_iter().map(Type::read).collect();
    let is = |base: Base| parts.iter().any(|ty| ty.base == base && !ty.list && !ty.optional);
    parts.len() == 2 && is(Base::Tensor) && is(Base::Int)
}

/// The one number that the calls in view give where they give no tensor.
fn only_number(scope: &Scope, func: &Func, param: u16) -> Option<i32> {
    let mut found = Vec::new();
    for caller in &func.callers {
        let outer = Scope::new(scope.program, scope.knowledge, caller.function);
        let call = outer.body().call(caller.call?);
        if call.args.iter().any(|a| matches!(a.kind, ArgKind::Star | ArgKind::StarStar)) {
            return None;
        }
        let at = (0..call.args.len()).find(|&i| argument_of(scope, func, &outer, call, i) == Some(param))?;
        for (value, span) in leaves(&outer, call.args[at].value) {
            match outer.body().op(value) {
                Op::Const(Const::Int(number)) if call.args[at].span.contains(span) => found.push(number),
                Op::Const(_) => return None,
                _ if matches!(outer.kind(value), Kind::Int | Kind::Float | Kind::Bool) => return None,
                _ => {}
            }
        }
    }
    found.dedup();
    match found.as_slice() {
        [one] => Some(*one),
        _ => None,
    }
}

/// The values that a conditional expression may have, each with its place.
fn leaves(scope: &Scope, value: ValueId) -> Vec<(ValueId, Span)> {
    let (mut found, mut todo) = (Vec::new(), vec![value]);
    while let Some(value) = todo.pop() {
        match scope.body().op(value) {
            Op::Select(_, yes, no) => todo.extend([yes, no]),
            _ => found.push((value, scope.body().value(value).span)),
        }
    }
    found
}

/// Where a call gives a number for a parameter.
fn numbers_given(scope: &Scope, site: &Site, param: u16) -> Vec<Span> {
    let outer = Scope::new(scope.program, scope.knowledge, site.caller);
    let call = outer.body().call(site.call);
    let func = scope.program.func(scope.at);
    let at = func.and_then(|func| (0..call.args.len()).find(|&i| argument_of(scope, func, &outer, call, i) == Some(param)));
    let numbers = at.into_iter().flat_map(|at| leaves(&outer, call.args[at].value));
    let constant = |(value, span): (ValueId, Span)| matches!(outer.body().op(value), Op::Const(Const::Int(_))).then_some(span);
    numbers.filter_map(constant).collect()
}

/// Makes an op of the calls of a launcher; else, what stands in the way.
pub(super) fn wrap(rewrite: &Rewrite, func: &Func) -> Result<Called, Vec<String>> {
    let one = |why: String| vec![why];
    let scope = Scope::typed(&rewrite.types, func.function);
    let route = styles::route(&scope, &rewrite.options.style, func).map_err(one)?;
    let mut blockers: Vec<String> = func.mutates_state.iter().map(|path| safety::writes_state(path)).collect();
    blockers.extend(safety::of_route(&scope, func, &route).blockers);
    if let Route::House(_, style) = route
        && rewrite.loading.closes_cycle(func.function.file, &style.module)
    {
        blockers.push(format!("importing `{}` here would close a circle of imports", style.module));
    }
    let results = results(&scope, func);
    let unpassed = results.as_ref().map_or(&[][..], |r| r.unpassed.as_slice());
    let mut mutates = rewrite.mutated(&scope, func);
    mutates.retain(|name| !unpassed.contains(name));
    if mutates.is_empty() && results.is_none() {
        blockers.push("an op that neither writes nor returns anything would be dropped by the compiler".to_string());
    }
    let spelling = Spelling::new(&scope, rewrite.options.torch);
    let mut doubts = Vec::new();
    let params = params(rewrite, &scope, func, &spelling, &route, unpassed, &mut doubts).unwrap_or_else(|why| {
        blockers.extend(why);
        Vec::new()
    });
    let (name, sites) = match sites(&scope, func, results.is_some()) {
        Ok(found) if blockers.is_empty() => found,
        Ok(_) => return Err(blockers),
        Err(why) => {
            blockers.push(why);
            return Err(blockers);
        }
    };
    for (param, why) in &func.unresolved {
        doubts.push(format!("`{}`: {why}", scope.program.param_name(func.function, *param)));
    }
    doubts.extend(safety::call_sites(&scope, func));
    doubts.extend(safety::of_region_route(&scope, func, &route, true));
    doubts.sort();
    doubts.dedup();
    let namespace = rewrite.namespace(&scope, &route);
    let stem = outline::stem(scope.program, func);
    let source = names::Source {
        file: func.function.file,
        own: &stem,
        kernel: None,
        part: false,
    };
    let chosen = rewrite.names.choose_for(scope.program, &source, &namespace);
    let texts: Vec<String> = params.iter().map(|p| p.text.clone()).collect();
    let mut own = spelling
        .imports(&texts)
        .ok_or_else(|| one("a name of the typing module is bound to something else".to_string()))?;
    let suspected: Vec<String> = rewrite.suspected(func).into_iter().filter(|p| mutates.contains(p)).collect();
    let wrapped = Wrapped {
        launcher: &name,
        params: &params,
        mutates: &mutates,
        suspected: &suspected,
        results: results.as_ref(),
    };
    own.extend(op(&scope, &route, &namespace, &chosen, &wrapped).map_err(one)?);
    let mut edits: Vec<(FileId, Edit)> = own.into_iter().map(|edit| (func.function.file, edit)).collect();
    let mut claims = vec![(func.function.file, scope.function().span)];
    let places: Vec<(FileId, Span)> = sites.iter().map(|s| (s.file, s.callee)).collect();
    for site in sites {
        edits.push((
            site.file,
            Edit::replace(site.callee, format!("torch.ops.{namespace}.{}", chosen.op)),
        ));
        let absent = params
            .iter()
            .filter_map(|p| p.number)
            .flat_map(|index| numbers_given(&scope, &site, index));
        edits.extend(absent.map(|span| (site.file, Edit::replace(span, "None"))));
        let file = scope.program.file(site.file);
        let torch = imports::module(file, "torch", site.statement.start);
        edits.extend(torch.map(|edit| (site.file, edit)));
        let calls = |within: Span| places.iter().filter(|p| p.0 == site.file && within.contains(p.1)).count();
        let own = file.source.slice(site.callee);
        let kept = (site.file != func.function.file)
            .then(|| imports::kept(file, own, site.callee, calls))
            .flatten();
        edits.extend(kept.map(|edit| (site.file, edit)));
        claims.push((site.file, site.statement));
    }
    edits.sort();
    edits.dedup();
    Ok(Called {
        style: route.name().to_string(),
        op: format!("{namespace}::{}", chosen.op),
        mutates,
        doubts,
        edits,
        claims,
    })
}

/// The op's parameters: those of the launcher, without the object that it is a method of.
fn params(
    rewrite: &Rewrite,
    scope: &Scope,
    func: &Func,
    spelling: &Spelling,
    route: &Route,
    unpassed: &[String],
    doubts: &mut Vec<String>,
) -> Result<Vec<Param>, Vec<String>> {
    let function = scope.function();
    let (mut params, mut blockers) = (Vec::new(), Vec::new());
    let mut starred = false;
    for (index, param) in (0u16..).zip(&function.params).skip(usize::from(is_method(func))) {
        let name = scope.name(param.name);
        if unpassed.iter().any(|u| u == name) {
            continue;
        }
        let keyword = match param.kind {
            ParamKind::Positional | ParamKind::PositionalOnly => false,
            ParamKind::KeywordOnly => true,
            ParamKind::Star | ParamKind::StarStar => {
                blockers.push(format!("`{name}` is a parameter of unknown length"));
                continue;
            }
        };
        if keyword && !starred {
            starred = true;
            params.push(Param {
                text: "*".to_string(),
                argument: String::new(),
                number: None,
            });
        }
        let known = rewrite.types.param(scope.at, index);
        let as_written = param
            .annotation
            .filter(|_| func.types.get(index as usize).is_some_and(Option::is_some));
        let spelled = || {
            let known = known.filter(|k| !k.unused)?;
            spelling.spell(Type {
                optional: known.ty.optional || default_is_none(scope, param),
                ..known.ty
            })
        };
        let union = param
            .annotation
            .filter(|a| as_written.is_none() && is_tensor_or_number(scope.text(a.span)));
        if let Some(number) = union.and_then(|_| only_number(scope, func, index)) {
            let tensor = Type {
                base: Base::Tensor,
                list: false,
                optional: true,
            };
            let spelled = spelling.spell(tensor).unwrap_or_default();
            let value = format!("{number} if {name} is None else {name}");
            params.push(Param {
                text: format!("{name}: {spelled}"),
                argument: if keyword { format!("{name}={value}") } else { value },
                number: Some(index),
            });
            doubts.push(format!("`{name}` is a tensor or {number}, for all that calls in view show"));
            continue;
        }
        let Some(annotation) = as_written.map(|a| scope.text(a.span).to_string()).or_else(spelled) else {
            let refusals = func.schema.as_ref().err();
            let refusal = refusals.and_then(|all| all.iter().find(|r| r.param == Some(index)));
            blockers.push(spread_or_called(scope, func, index).unwrap_or_else(|| reason(scope, param, refusal)));
            continue;
        };
        if as_written.is_none() && known.is_some_and(|k| !k.proven) {
            doubts.push(format!("the type of `{name}` is what its callers in view pass"));
        }
        if keyword && matches!(route, Route::CustomOp) && known.is_none_or(|k| k.ty.is_tensor()) {
            blockers.push(format!("`{name}` is a keyword-only tensor, which `custom_op` refuses"));
        }
        if param.default_span.is_some() && !default_fits(scope, param) {
            blockers.push(format!("the default of `{name}` cannot stand in a schema"));
        }
        let tuple = known.is_some_and(|k| k.ty.list) && !list_will_do(scope, index);
        let value = if tuple { format!("tuple({name})") } else { name.to_string() };
        let default = param.default_span.map_or(String::new(), |d| format!(" = {}", scope.text(d)));
        params.push(Param {
            text: format!("{name}: {annotation}{default}"),
            argument: if keyword { format!("{name}={value}") } else { value },
            number: None,
        });
    }
    if blockers.is_empty() { Ok(params) } else { Err(blockers) }
}

/// What really stands in the way of a parameter: its entries become arguments of the launch, or a method of it launches.
fn spread_or_called(scope: &Scope, func: &Func, param: u16) -> Option<String> {
    let body = scope.body();
    let own = |value: ValueId| match body.op(value) {
        Op::Or(items) => body.items(items).iter().any(|&v| body.op(v) == Op::Param(param)),
        op => op == Op::Param(param),
    };
    let mut args = body.calls.iter().flat_map(|call| &call.args);
    if let Some(arg) = args.find(|a| a.kind == ArgKind::StarStar && own(a.value)) {
        return Some(format!(
            "`{}` is of unknown length: which arguments it hands over is not known",
            scope.text(arg.span)
        ));
    }
    let attributes = body.iter().filter_map(|(_, v)| match v.op {
        Op::Attr(object, name) if own(object) => Some(scope.name(name)),
        _ => None,
    });
    let mut callables = attributes.filter(|name| {
        func.callers.iter().any(|caller| {
            let Some(call) = caller.call else { return false };
            let outer = Scope::new(scope.program, scope.knowledge, caller.function);
            let call = outer.body().call(call);
            let at = (0..call.args.len()).find(|&i| argument_of(scope, func, &outer, call, i) == Some(param));
            at.is_some_and(|at| outline::is_method_of(&outer, call.args[at].value, name))
        })
    });
    let name = scope.program.param_name(scope.at, param);
    callables
        .next()
        .map(|method| format!("a callable would be handed over: `{name}.{method}`"))
}

fn is_method(func: &Func) -> bool {
    func.inline == Some(Inline::Method)
}

/// A call of the launcher in view.
struct Site {
    file: FileId,
    caller: FunctionRef,
    call: CallId,
    callee: Span,
    statement: Span,
}

/// The name of the module that the launcher is called by, and its calls.
fn sites(scope: &Scope, func: &Func, returns: bool) -> Result<(String, Vec<Site>), String> {
    let module = &scope.program.file(scope.at.file).module;
    let (mut name, mut sites) = (None, Vec::new());
    for caller in &func.callers {
        let file = scope.program.file(caller.function.file);
        let place = || format!("{}:{}", file.source.path, file.source.line(caller.place.span.start));
        let Some(call) = caller.call else {
            return Err(format!("it is handed on at {}, where calls of it would go past the op", place()));
        };
        let outer = Scope::new(scope.program, scope.knowledge, caller.function);
        let callee = outer.body().call(call).callee;
        let dotted = outer.dotted(callee).and_then(|dotted| {
            let name = dotted.strip_prefix(module.as_str())?.strip_prefix('.')?;
            (!name.contains('.')).then(|| name.to_string())
        });
        let global = dotted.or_else(|| match outer.body().op(callee) {
            Op::Free(name) if caller.function.file == func.function.file => Some(outer.name(name).to_string()),
            _ => None,
        });
        let Some(global) = global.filter(|g| bound_once(scope, g)) else {
            return Err(format!(
                "`{}` at {} is no object that the module holds",
                outer.text(outer.body().value(callee).span),
                place()
            ));
        };
        if name.get_or_insert_with(|| global.clone()) != &global {
            return Err(format!("it is called by several names (`{global}` at {})", place()));
        }
        if file.vendored {
            return Err(format!("a copy of somebody else's code calls it at {}", place()));
        }
        sites.push(site(&outer, caller, call, returns).ok_or_else(|| format!("its result is used at {}", place()))?);
    }
    let name = name.ok_or("no call of it is in view, and only calls can become an op: a decorator launches it")?;
    Ok((name, sites))
}

/// The call is a statement of its own, or what it hands back may be used.
fn site(outer: &Scope, caller: &Caller, call: CallId, returns: bool) -> Option<Site> {
    let body = outer.body();
    let span = caller.place.span;
    let statement = body
        .statements
        .iter()
        .rfind(|s| (returns || s.kind == StatementKind::Expression) && s.span.contains(span))?;
    (returns || statement.span == span).then_some(Site {
        file: caller.function.file,
        caller: caller.function,
        call,
        callee: callee_of(
            outer.program.file(caller.function.file),
            span,
            body.value(body.call(call).callee).span,
        )?,
        statement: statement.span,
    })
}

/// Where the callee stands in a call: what an import inside of the function binds has its place there.
pub(super) fn callee_of(file: &ProgramFile, call: Span, value: Span) -> Option<Span> {
    if call.contains(value) {
        return Some(value);
    }
    let text = file.source.slice(call);
    let name = &text[..text.find('(')?];
    let plain = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    plain.then(|| Span::new(call.start, call.start + name.len() as u32))
}

/// The module binds the name once, at its top.
fn bound_once(scope: &Scope, name: &str) -> bool {
    let facts = scope.facts();
    let statements = facts.module().body.statements.iter();
    let binding = statements.filter(|s| s.defines.iter().any(|n| facts.name(*n) == name));
    binding.count() == 1
}

/// Where the op goes: behind the statement of the module that holds the launcher.
struct Home {
    offset: u32,
    indent: String,
}

fn home(scope: &Scope) -> Result<Home, String> {
    let module = scope.facts().module();
    let inside = scope.function().name_span;
    let statements = &module.body.statements;
    let holds = |s: &&Statement| matches!(s.kind, StatementKind::Class | StatementKind::Def) && s.span.contains(inside);
    let outer = statements.iter().find(holds).ok_or("it is not defined at the top of the module")?;
    let mut parent = outer.parent;
    while let Some(id) = parent {
        let statement = &statements[id.index()];
        if statement.kind != StatementKind::If {
            return Err("it is defined under a compound statement of the module".to_string());
        }
        parent = statement.parent;
    }
    let source = scope.source();
    let line = source.line_start(outer.span.start);
    Ok(Home {
        offset: source.line_end(outer.span.end.saturating_sub(1)),
        indent: source.text[line as usize..outer.span.start as usize].to_string(),
    })
}

/// What the op around a launcher is made of.
struct Wrapped<'w> {
    /// The name that the module calls the launcher by.
    launcher: &'w str,
    params: &'w [Param],
    mutates: &'w [String],
    /// Those of them that are only suspected.
    suspected: &'w [String],
    results: Option<&'w Results>,
}

/// The op that calls the launcher by its name.
fn op(scope: &Scope, route: &Route, namespace: &str, chosen: &names::Chosen, wrapped: &Wrapped) -> Result<Vec<Edit>, String> {
    let Wrapped {
        launcher,
        params,
        mutates,
        suspected,
        results,
    } = *wrapped;
    let home = home(scope)?;
    let (register, mut edits) = styles::registrar(scope, route, namespace, home.offset);
    let file = scope.program.file(scope.at.file);
    edits.extend(imports::module(file, "torch", home.offset));
    let unit = &scope.facts().layout.indent;
    let (indent, inner) = (home.indent.as_str(), format!("{}{unit}", home.indent));
    let private = names::private(scope.facts(), &chosen.stem, "impl");
    let fake_name = names::private(scope.facts(), &chosen.stem, "fake");
    let returns = results.map_or("None".to_string(), |r| tensors(scope, r.like.len(), r.tuple));
    let made = results.map(|r| {
        let made: Vec<String> = r.like.iter().map(|param| format!("torch.empty_like({param})")).collect();
        format!("{inner}return {}", made.join(", "))
    });
    let fake = made.as_ref().map(|line| Fake {
        lines: vec![line.clone()],
        like: results.and_then(|r| r.like.first().filter(|_| r.like.len() == 1 && !r.tuple).cloned()),
        doubts: Vec::new(),
    });
    let op = OpText {
        route,
        namespace,
        op: &chosen.op,
        mutated: mutates,
        suspected,
        implementation: &private,
        fake_name: &fake_name,
        fake: fake.as_ref(),
        nothing: results.is_none(),
        indent,
        unit,
        width: scope.width(),
    };
    let function = |name: &str, body: &str| {
        let texts: Vec<String> = params.iter().map(|p| p.text.clone()).collect();
        let one = format!("{indent}def {name}({}) -> {returns}:", texts.join(", "));
        let header = if one.chars().count() <= scope.width() {
            one
        } else {
            format!("{indent}def {name}{} -> {returns}:", signature::parameters(&texts, indent, unit))
        };
        format!("{header}\n{body}\n")
    };
    let arguments: Vec<String> = params.iter().map(|p| p.argument.clone()).filter(|a| !a.is_empty()).collect();
    let prefix = if results.is_some() { "return " } else { "" };
    let call = signature::call_within(scope.width(), prefix, launcher, &arguments, (&inner, unit));
    let work = function(&private, &call);
    let fake = op.needs_fake() && !op.fake_is_like();
    let fake = fake.then(|| function(&fake_name, &made.unwrap_or_else(|| format!("{inner}return None"))));
    let decorator = op.decorator(&register, false).unwrap_or_default();
    let in_place = matches!(route, Route::House(_, style) if style.form == Form::Decorator);
    let mut parts = vec![format!("{decorator}{work}")];
    match fake {
        Some(fake) if in_place => parts.insert(0, fake),
        fake => parts.extend(fake),
    }
    parts.extend(op.statements(&register));
    let gap = if indent.is_empty() { "\n\n" } else { "\n" };
    let text: String = parts.iter().map(|part| format!("{gap}{part}")).collect();
    edits.push(Edit::insert(home.offset, text));
    let newline = &scope.facts().layout.newline;
    for edit in edits.iter_mut().filter(|_| newline != "\n") {
        edit.content = edit.content.replace("\r\n", "\n").replace('\n', newline);
    }
    Ok(edits)
}
