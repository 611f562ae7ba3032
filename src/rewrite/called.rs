//! Ops around the calls of a launcher that stays as it is: a decorator launches what the function describes, and the
//! project asks the decorated object for more than its calls (warm-up, caches). The op calls it, and calls of it in view
//! call the op.

use super::imports;
use super::interface::{default_fits, default_is_none, list_will_do, reason};
use super::names;
use super::op_text::OpText;
use super::scope::Scope;
use super::signature::{self, Type};
use super::spelling::Spelling;
use super::styles::{self, Route};
use super::{Rewrite, outline, safety};
use crate::facts::{CallId, Op, ParamKind, Statement, StatementKind};
use crate::finding::Edit;
use crate::knowledge::frameworks::Form;
use crate::program::{Caller, Func, Inline};
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
    let mutates = rewrite.mutated(&scope, func);
    if mutates.is_empty() {
        blockers.push("an op that neither writes nor returns anything would be dropped by the compiler".to_string());
    }
    let spelling = Spelling::new(&scope, rewrite.options.torch);
    let mut doubts = Vec::new();
    let params = params(rewrite, &scope, func, &spelling, &route, &mut doubts).unwrap_or_else(|why| {
        blockers.extend(why);
        Vec::new()
    });
    let (name, sites) = match sites(&scope, func) {
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
    own.extend(op(&scope, &route, &namespace, &chosen, &name, &params, &mutates).map_err(one)?);
    let mut edits: Vec<(FileId, Edit)> = own.into_iter().map(|edit| (func.function.file, edit)).collect();
    let mut claims = vec![(func.function.file, scope.function().span)];
    for site in sites {
        edits.push((
            site.file,
            Edit::replace(site.callee, format!("torch.ops.{namespace}.{}", chosen.op)),
        ));
        let file = scope.program.file(site.file);
        let torch = imports::module(file, "torch", site.statement.start);
        edits.extend(torch.map(|edit| (site.file, edit)));
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
    doubts: &mut Vec<String>,
) -> Result<Vec<Param>, Vec<String>> {
    let function = scope.function();
    let (mut params, mut blockers) = (Vec::new(), Vec::new());
    let mut starred = false;
    for (index, param) in (0u16..).zip(&function.params).skip(usize::from(is_method(func))) {
        let name = scope.name(param.name);
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
        let Some(annotation) = as_written.map(|a| scope.text(a.span).to_string()).or_else(spelled) else {
            let refusals = func.schema.as_ref().err();
            let refusal = refusals.and_then(|all| all.iter().find(|r| r.param == Some(index)));
            blockers.push(reason(scope, param, refusal));
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
        });
    }
    if blockers.is_empty() { Ok(params) } else { Err(blockers) }
}

fn is_method(func: &Func) -> bool {
    func.inline == Some(Inline::Method)
}

/// A call of the launcher in view.
struct Site {
    file: FileId,
    callee: Span,
    statement: Span,
}

/// The name of the module that the launcher is called by, and its calls.
fn sites(scope: &Scope, func: &Func) -> Result<(String, Vec<Site>), String> {
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
        sites.push(site(&outer, caller, call).ok_or_else(|| format!("its result is used at {}", place()))?);
    }
    let name = name.ok_or("no call of it is in view, and only calls can become an op: a decorator launches it")?;
    Ok((name, sites))
}

/// The call is a statement of its own.
fn site(outer: &Scope, caller: &Caller, call: CallId) -> Option<Site> {
    let body = outer.body();
    let span = caller.place.span;
    let statement = body
        .statements
        .iter()
        .rfind(|s| s.kind == StatementKind::Expression && s.span.contains(span))?;
    (statement.span == span).then_some(Site {
        file: caller.function.file,
        callee: body.value(body.call(call).callee).span,
        statement: statement.span,
    })
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

/// The op that calls the launcher by its name.
fn op(
    scope: &Scope,
    route: &Route,
    namespace: &str,
    chosen: &names::Chosen,
    launcher: &str,
    params: &[Param],
    mutates: &[String],
) -> Result<Vec<Edit>, String> {
    let home = home(scope)?;
    let (register, mut edits) = styles::registrar(scope, route, namespace, home.offset);
    let file = scope.program.file(scope.at.file);
    edits.extend(imports::module(file, "torch", home.offset));
    let unit = &scope.facts().layout.indent;
    let (indent, inner) = (home.indent.as_str(), format!("{}{unit}", home.indent));
    let private = names::private(scope.facts(), &chosen.stem, "impl");
    let fake_name = names::private(scope.facts(), &chosen.stem, "fake");
    let op = OpText {
        route,
        namespace,
        op: &chosen.op,
        mutated: mutates,
        implementation: &private,
        fake_name: &fake_name,
        fake: None,
        nothing: true,
        indent,
        unit,
        width: scope.width(),
    };
    let function = |name: &str, body: &str| {
        let texts: Vec<String> = params.iter().map(|p| p.text.clone()).collect();
        let one = format!("{indent}def {name}({}) -> None:", texts.join(", "));
        let header = if one.chars().count() <= scope.width() {
            one
        } else {
            format!("{indent}def {name}{} -> None:", signature::parameters(&texts, indent, unit))
        };
        format!("{header}\n{body}\n")
    };
    let arguments: Vec<String> = params.iter().map(|p| p.argument.clone()).filter(|a| !a.is_empty()).collect();
    let call = signature::call_within(scope.width(), "", launcher, &arguments, (&inner, unit));
    let work = function(&private, &call);
    let fake = op.needs_fake().then(|| function(&fake_name, &format!("{inner}return None")));
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
