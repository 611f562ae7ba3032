//! What the decorators above a host function do to its calls.

use super::Registry;
use crate::facts::{ArgKind, FunctionKind, Op, ParamKind, ValueId};
use crate::knowledge::frameworks::Decorates;
use crate::link::resolve::{Entity, Resolver};
use crate::program::FunctionRef;

/// All decorators together: the worst of them counts.
pub(super) fn of_function(registry: &Registry, resolver: &Resolver<'_>, f: FunctionRef) -> Decorates {
    let parent = resolver.parent(f);
    let mut worst = Decorates::Transparent;
    for decorator in &resolver.function(f).decorators {
        match of_decorator(registry, resolver, parent, decorator.value) {
            Decorates::Opaque => return Decorates::Opaque,
            Decorates::CopiesArguments => worst = Decorates::CopiesArguments,
            Decorates::Transparent | Decorates::NoGrad | Decorates::Registry => {}
        }
    }
    worst
}

/// One decorator expression.
pub(super) fn of_decorator(registry: &Registry, resolver: &Resolver<'_>, at: FunctionRef, value: ValueId) -> Decorates {
    let callee = match resolver.body(at).op(value) {
        Op::Call(call) => resolver.body(at).call(call).callee,
        _ => value,
    };
    let called = callee != value;
    let mut worst = None;
    for entity in resolver.entities(at, callee) {
        let does = match entity {
            Entity::External(name) => of_external(registry, &name),
            Entity::Function(f) | Entity::Bound(f) => {
                let name = resolver.qualified(f);
                match registry.decorator(&name) {
                    Some(does) => does,
                    None if registry.is_registrar(&name) || registry.launcher_named(&name, true).is_some() => Decorates::Transparent,
                    None => of_project(resolver, f, called),
                }
            }
            Entity::Class(_) | Entity::Made(..) | Entity::Module(_) | Entity::Namespace(_) | Entity::Instance(_) | Entity::Value(_) => {
                // `@op.register_fake`, `@prop.setter`: the attribute of an object that the file made.
                match resolver.body(at).op(callee) {
                    Op::Attr(..) => Decorates::Transparent,
                    _ => Decorates::Opaque,
                }
            }
        };
        worst = match (worst, does) {
            (Some(Decorates::Opaque), _) | (_, Decorates::Opaque) => Some(Decorates::Opaque),
            (Some(Decorates::CopiesArguments), _) | (_, Decorates::CopiesArguments) => Some(Decorates::CopiesArguments),
            (_, does) => Some(does),
        };
    }
    worst.unwrap_or(Decorates::Opaque)
}

fn of_external(registry: &Registry, name: &str) -> Decorates {
    if let Some(does) = registry.decorator(name) {
        return does;
    }
    if registry.is_registrar(name) || registry.launcher_named(name, true).is_some() {
        return Decorates::Transparent;
    }
    Decorates::Opaque
}

/// A decorator of the project: transparent when its wrapper hands `*args, **kwargs` to the function as they came.
fn of_project(resolver: &Resolver<'_>, decorator: FunctionRef, called: bool) -> Decorates {
    // `def deco(option): def inner(fn): …; return inner` is applied by a call; its inner function is the decorator.
    let applied: Vec<FunctionRef> = if called {
        let inner = returned_functions(resolver, decorator);
        if inner.is_empty() { vec![decorator] } else { inner }
    } else {
        vec![decorator]
    };
    let mut worst = Decorates::Transparent;
    for f in applied {
        match of_applied(resolver, f) {
            Decorates::Opaque => return Decorates::Opaque,
            Decorates::CopiesArguments => worst = Decorates::CopiesArguments,
            Decorates::Transparent | Decorates::NoGrad | Decorates::Registry => {}
        }
    }
    worst
}

fn returned_functions(resolver: &Resolver<'_>, f: FunctionRef) -> Vec<FunctionRef> {
    let body = resolver.body(f);
    let mut found = Vec::new();
    for (_, value) in body.iter() {
        if let Op::Return(result) = value.op {
            found.extend(resolver.functions(f, result).into_iter().filter(|r| resolver.parent(*r) == f));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn of_applied(resolver: &Resolver<'_>, decorator: FunctionRef) -> Decorates {
    let body = resolver.body(decorator);
    let wrappers = returned_functions(resolver, decorator);
    if wrappers.is_empty() {
        // `return fn`, perhaps after noting it somewhere.
        let returns_param = body
            .iter()
            .any(|(_, v)| matches!(v.op, Op::Return(r) if matches!(body.op(r), Op::Param(_))));
        let only = body
            .iter()
            .all(|(_, v)| !matches!(v.op, Op::Return(r) if !matches!(body.op(r), Op::Param(_))));
        return if returns_param && only {
            Decorates::Transparent
        } else {
            Decorates::Opaque
        };
    }
    let mut worst = Decorates::Transparent;
    for wrapper in wrappers {
        match of_wrapper(resolver, wrapper) {
            Decorates::Opaque => return Decorates::Opaque,
            Decorates::CopiesArguments => worst = Decorates::CopiesArguments,
            Decorates::Transparent | Decorates::NoGrad | Decorates::Registry => {}
        }
    }
    worst
}

fn of_wrapper(resolver: &Resolver<'_>, wrapper: FunctionRef) -> Decorates {
    let function = resolver.function(wrapper);
    if function.kind == FunctionKind::Lambda || function.is_generator {
        return Decorates::Opaque;
    }
    let body = &function.body;
    let star = function.params.iter().position(|p| p.kind == ParamKind::Star);
    let kwargs = function.params.iter().position(|p| p.kind == ParamKind::StarStar);
    let (Some(star), Some(kwargs)) = (star, kwargs) else {
        return Decorates::Opaque;
    };
    let mut passes = false;
    let mut copies = false;
    for (_, value) in body.iter() {
        let Op::Call(call) = value.op else { continue };
        let call = body.call(call);
        // A call of the decorated function: a captured name with stars.
        if !matches!(body.op(call.callee), Op::Free(_)) || !call.args.iter().any(|a| a.kind == ArgKind::Star) {
            continue;
        }
        let same = call.args.iter().all(|a| match a.kind {
            ArgKind::Star => body.op(a.value) == Op::Param(star as u16),
            ArgKind::StarStar => body.op(a.value) == Op::Param(kwargs as u16),
            ArgKind::Positional => matches!(body.op(a.value), Op::Param(_)),
            ArgKind::Keyword(_) => false,
        });
        passes = true;
        copies |= !same;
    }
    let contiguous = body
        .iter()
        .any(|(_, v)| matches!(v.op, Op::Attr(_, n) if resolver.text(wrapper.file, n) == "contiguous"));
    match (passes, copies) {
        (true, false) => Decorates::Transparent,
        (true, true) if contiguous => Decorates::CopiesArguments,
        _ => Decorates::Opaque,
    }
}
