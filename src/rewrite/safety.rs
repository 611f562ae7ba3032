//! What stands in the way of a fix, and what keeps it from being safe (DESIGN §7, *Safe*).

use super::fake::short;
use super::scope::{Kind, Scope, module_function};
use super::signature::{Base, Type};
use super::styles::Route;
use crate::facts::{ArgKind, Body, CompareOp, Const, FunctionKind, Op, ParamKind, Statement, StatementId, StatementKind, ValueId};
use crate::program::{Func, FunctionRef, Inline, RefusalKind, spoken_state};
use std::collections::BTreeSet;

/// Reasons, in two grades.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reasons {
    /// No fix can be made.
    pub(super) blockers: Vec<String>,
    /// A fix can be made, and may change behaviour.
    pub(super) doubts: Vec<String>,
}

/// What holds whatever the style.
pub(super) fn of_function(scope: &Scope, func: &Func) -> Reasons {
    let mut reasons = Reasons::default();
    let function = scope.function();
    let block = &mut reasons.blockers;
    match func.inline {
        Some(Inline::Method) => block.push("it is a method: the launch must be moved into a function of the module".to_string()),
        Some(Inline::Autograd) => {
            block.push("it is part of an `autograd.Function`: the launch must be moved into a function of the module".to_string())
        }
        Some(Inline::Closure) => block.push("it is defined inside a function: it must be moved to the module".to_string()),
        Some(Inline::ModuleBody) => block.push("it runs in the body of a module or class".to_string()),
        None => {}
    }
    if function.kind == FunctionKind::AsyncDef || function.is_generator {
        block.push("it is a generator or coroutine".to_string());
    }
    if !block.is_empty() {
        return reasons;
    }
    block.extend(placement(scope));
    block.extend(registrar_above(scope));
    for path in &func.mutates_state {
        block.push(writes_state(path));
    }
    block.extend(metadata_changes(scope));
    let doubts = &mut reasons.doubts;
    for (param, why) in &func.unresolved {
        doubts.push(format!("`{}`: {why}", scope.program.param_name(func.function, *param)));
    }
    doubts.extend(call_sites(scope, func));
    doubts.extend(late_annotations(scope));
    doubts.extend(attribute_set(scope));
    reasons
}

/// The reason that a path of state is written.
pub(super) fn writes_state(path: &str) -> String {
    format!("it writes {}, which is no argument", spoken_state(path))
}

/// What keeps parts of a function from being ops, whatever they are.
pub(super) fn of_outlined(scope: &Scope) -> Vec<String> {
    registrar_above(scope).into_iter().collect()
}

/// What one style means for a part of a function.
pub(super) fn of_region_route(scope: &Scope, func: &Func, route: &Route, writes: bool) -> Vec<String> {
    let mut doubts = Vec::new();
    if !matches!(route, Route::Library) && !func.without_grad {
        doubts.push("its callers may need gradients around the call, and the op has no autograd formula".to_string());
        if writes {
            doubts.push("the op would advance the version counters of what it writes, which may be saved for backward".to_string());
        }
    }
    if matches!(route, Route::Library) && runs_as_script(scope) {
        doubts.push("the file also runs as a script, and a run that imports it too would define the op twice".to_string());
    }
    doubts
}

/// The schema's refusal of the results, unless their annotation is written anew.
pub(super) fn of_results(func: &Func, returns: bool) -> Vec<String> {
    let Err(refusals) = &func.schema else { return Vec::new() };
    let own = refusals.iter().filter(|r| r.kind == RefusalKind::Return && !returns);
    own.map(|refusal| refusal.reason.clone()).collect()
}

/// What one style asks beyond that.
pub(super) fn of_route(scope: &Scope, func: &Func, route: &Route) -> Reasons {
    let mut reasons = Reasons::default();
    let one_device = match route {
        Route::House(_, style) => style.one_device,
        Route::CustomOp | Route::Library => false,
    };
    if one_device {
        if let Some(place) = cpu_branch(scope, &|_| true) {
            reasons.blockers.push(format!(
                "it has a branch for other devices (`{place}`), and the op would be registered for one"
            ));
        }
        let types = (0..scope.function().params.len()).filter_map(|i| scope.param_type(i as u16));
        if !types.into_iter().any(|ty| ty.is_tensor() && !ty.optional && !ty.list) {
            reasons
                .blockers
                .push("a call may have no tensor argument, and the op would be registered for one device".to_string());
        }
    }
    if !matches!(route, Route::Library) && !func.without_grad {
        reasons
            .doubts
            .push("its callers may need gradients around the call, and the op has no autograd formula".to_string());
        if !func.mutates.is_empty() {
            reasons
                .doubts
                .push("the op would advance the version counters of what it writes, which may be saved for backward".to_string());
        }
    }
    if matches!(route, Route::Library) && runs_as_script(scope) {
        reasons
            .doubts
            .push("the file also runs as a script, and a run that imports it too would define the op twice".to_string());
    }
    reasons
}

/// `custom_op` refuses such a function, `define` takes it.
pub(super) fn has_keyword_only_tensor(scope: &Scope) -> bool {
    let params = scope.function().params.iter().enumerate();
    let mut keyword_only = params.filter(|(_, p)| p.kind == ParamKind::KeywordOnly);
    keyword_only.any(|(i, _)| scope.param_type(i as u16).is_none_or(Type::is_tensor))
}

/// The function must be a plain statement of the module, the only thing of its name.
fn placement(scope: &Scope) -> Option<String> {
    let module = scope.facts().module();
    let function = scope.function();
    let name = scope.name(function.name);
    let statement = module
        .body
        .statements
        .iter()
        .find(|s| s.kind == StatementKind::Def && s.span.contains(function.name_span));
    let Some(statement) = statement else {
        return Some("it is not defined at the top of the module".to_string());
    };
    let mut parent = statement.parent;
    while let Some(id) = parent {
        let outer = &module.body.statements[id.index()];
        if outer.kind != StatementKind::If {
            return Some("it is defined under a compound statement of the module".to_string());
        }
        parent = outer.parent;
    }
    let defined = module.body.statements.iter().filter(|s| s.defines.contains(&function.name)).count();
    let value = module.binding(function.name);
    let own = value.is_some_and(|v| match module.body.op(v) {
        Op::Select(..) | Op::Phi(_) => true,
        _ => module_function(scope.facts(), v) == Some(scope.at.function),
    });
    (defined != 1 || !own).then(|| format!("`{name}` is bound more than once in its module"))
}

/// A registrar among the decorators, though the function counts as unregistered: what it does is not understood.
fn registrar_above(scope: &Scope) -> Option<String> {
    let registers = |name: &str| {
        scope
            .knowledge
            .frameworks
            .iter()
            .flat_map(|f| &f.register)
            .any(|r| r.call.rsplit('.').next() == Some(name))
    };
    let parent = Scope::new(
        scope.program,
        scope.knowledge,
        FunctionRef {
            function: scope.function().parent,
            ..scope.at
        },
    );
    let is_registrar = |function: FunctionRef| {
        let name = format!("{}.{}", scope.program.file(function.file).module, scope.program.qualname(function));
        scope.knowledge.frameworks.iter().flat_map(|f| &f.register).any(|r| r.call == name)
    };
    // A decorator that the project itself defines has been read: it is no registrar, whatever its name.
    let understood = |value: ValueId| {
        let callee = match parent.body().op(value) {
            Op::Call(call) => parent.body().call(call).callee,
            _ => value,
        };
        parent.project_function(callee).is_some_and(|function| !is_registrar(function))
    };
    let hit = scope
        .function()
        .decorators
        .iter()
        .filter(|d| !understood(d.value))
        .map(|d| scope.text(d.span).trim_start_matches('@'))
        .find(|text| {
            let callee = text.split('(').next().unwrap_or_default().trim();
            callee.rsplit('.').next().is_some_and(registers)
        })?;
    let callee = hit.split('(').next().unwrap_or_default().trim();
    Some(format!("`{callee}` stands above it, and it cannot be told what that registers"))
}

/// In-place changes of metadata (`resize_`, `squeeze_`), which no schema can say.
fn metadata_changes(scope: &Scope) -> Vec<String> {
    let body = scope.body();
    let hits = body.calls.iter().filter_map(|call| {
        let Op::Attr(object, method) = body.op(call.callee) else {
            return None;
        };
        let method = scope.name(method);
        let effect = scope.knowledge.torch.method(method)?;
        let changes = effect.metadata && !effect.writes.is_empty() && scope.kind(object) == Kind::Tensor;
        changes.then(|| format!("`{}` changes a tensor's metadata in place", short(scope, call.callee)))
    });
    hits.collect()
}

/// An attribute that is set on an object: on a result it may be lost on the way through the dispatcher.
fn attribute_set(scope: &Scope) -> Option<String> {
    let body = scope.body();
    let sets = |v: ValueId| match body.op(v) {
        Op::SetAttr(object, ..) => (!matches!(body.op(object), Op::Free(_))).then_some(v),
        Op::Call(call) => (scope.dotted(body.call(call).callee).as_deref() == Some("setattr")).then_some(v),
        _ => None,
    };
    let hit = body.iter().find_map(|(v, _)| sets(v))?;
    Some(format!(
        "it sets an attribute of an object (`{}`), which an op's result may lose",
        short(scope, hit)
    ))
}

/// Call sites in view that pass what the schema does not take.
pub(super) fn call_sites(scope: &Scope, func: &Func) -> Vec<String> {
    let mut found = BTreeSet::new();
    // What is called as `object(…)` or `object.method(…)` gets the object first.
    let skip = u16::from(func.inline == Some(Inline::Method));
    for caller in &func.callers {
        let Some(id) = caller.call else { continue };
        let outer = Scope::new(scope.program, scope.knowledge, caller.function);
        let call = outer.body().call(id);
        for (position, arg) in call.args.iter().enumerate() {
            let param = match arg.kind {
                ArgKind::Positional => Some(position as u16 + skip),
                ArgKind::Keyword(name) => scope
                    .function()
                    .params
                    .iter()
                    .position(|p| scope.name(p.name) == outer.name(name))
                    .map(|p| p as u16),
                ArgKind::Star | ArgKind::StarStar => break,
            };
            let Some((param, ty)) = param.and_then(|p| Some((p, scope.param_type(p)?))) else {
                continue;
            };
            if let Some(what) = contradiction(&ty, outer.kind(arg.value)) {
                let source = outer.source();
                let name = scope.program.param_name(func.function, param);
                found.insert(format!(
                    "`{name}` is given {what} at {}:{}",
                    source.path,
                    source.line(arg.span.start)
                ));
            }
        }
    }
    found.into_iter().collect()
}

fn contradiction(ty: &Type, kind: Kind) -> Option<&'static str> {
    match (ty.base, kind) {
        _ if ty.list => None,
        (Base::Int, Kind::Float) => Some("a float, which an op refuses for an int"),
        (Base::Int | Base::Float | Base::Bool, Kind::Tensor) => Some("a tensor, which an op would read on the host"),
        (Base::Int | Base::Float | Base::Bool | Base::Text | Base::Tensor, Kind::None) if !ty.optional => {
            Some("None, which its annotation does not take")
        }
        (Base::Tensor, Kind::Int | Kind::Float | Kind::Bool | Kind::Text) => Some("no tensor"),
        _ => None,
    }
}

/// Annotations that are evaluated when the op is made, and name what does not exist by then.
fn late_annotations(scope: &Scope) -> Vec<String> {
    let function = scope.function();
    let facts = scope.facts();
    let all = function.params.iter().filter_map(|p| p.annotation).chain(function.returns);
    let lazy = all.filter(|a| a.quoted || facts.layout.future_annotations);
    let mut late = BTreeSet::new();
    for annotation in lazy {
        let text = scope.text(annotation.span);
        for (name, values) in &facts.module().assigned {
            let word = facts.name(*name);
            let later = |v: &ValueId| facts.module().body.value(*v).span.start > function.span.start;
            if values.iter().all(later) && super::slice::mentions(text, word) {
                late.insert(format!("the annotation `{text}` names `{word}`, which is defined later"));
            }
        }
    }
    late.into_iter().collect()
}

/// A test of the device that is no assertion, as written.
pub(super) fn cpu_branch(scope: &Scope, inside: &dyn Fn(ValueId) -> bool) -> Option<String> {
    let body = scope.body();
    let asserted = |v: ValueId| {
        let statement = body.statement_of(v).map(|s| &body.statements[s.index()]);
        statement.is_some_and(|s| {
            let only_raises = s.kind == StatementKind::If
                && s.blocks.len() == 1
                && s.blocks[0]
                    .statements
                    .iter()
                    .all(|i| body.statements[i.index()].kind == StatementKind::Raise);
            s.kind == StatementKind::Assert || only_raises || only_chooses(body, s)
        })
    };
    // `platform.is_cuda()` asks what the process runs on, and the op is registered for that.
    let called = |v: ValueId| body.calls.iter().any(|call| call.callee == v);
    let tests = |v: ValueId| match body.op(v) {
        Op::Attr(_, name) => !called(v) && matches!(scope.name(name), "is_cuda" | "is_cpu" | "is_xpu"),
        Op::Compare(CompareOp::Eq | CompareOp::NotEq | CompareOp::In | CompareOp::NotIn, a, b) => [a, b].iter().any(|&v| {
            let cpu = matches!(body.op(v), Op::Const(Const::Str(s)) if scope.name(s) == "cpu");
            cpu || matches!(body.op(v), Op::Call(c) if scope.text(body.value(body.call(c).callee).span) == "torch.device")
        }),
        _ => false,
    };
    let hit = body.iter().map(|(v, _)| v).find(|&v| inside(v) && tests(v) && !asserted(v))?;
    Some(short(scope, hit))
}

/// Every branch gives names numbers and the like, and all go on to the same launch.
fn only_chooses(body: &Body, statement: &Statement) -> bool {
    let plain = |id: &StatementId| {
        let inner = &body.statements[id.index()];
        let mut values = (inner.values.0.0..inner.values.1.0).map(|v| body.op(ValueId(v)));
        inner.kind == StatementKind::Assign && values.all(|op| matches!(op, Op::Const(_) | Op::Tuple(_) | Op::Unpack { .. }))
    };
    statement.kind == StatementKind::If && statement.blocks.iter().all(|block| block.statements.iter().all(plain))
}

/// The module has an `if __name__ == "__main__"`.
fn runs_as_script(scope: &Scope) -> bool {
    let facts = scope.facts();
    facts
        .module()
        .body
        .values
        .iter()
        .any(|v| matches!(v.op, Op::Free(name) if facts.name(name) == "__name__"))
        && scope.source().text.contains("__main__")
}
