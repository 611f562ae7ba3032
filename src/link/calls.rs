//! Who calls a function: every mention of it in the project, resolved.

use super::dispatch::Methods;
use super::host::Host;
use super::reach;
use crate::facts::{Op, ValueId};
use crate::program::{Caller, FunctionRef};
use crate::source::{FileId, Place};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// Who may call what.
#[derive(Default)]
pub(crate) struct Callers {
    /// Calls and mentions that resolve to a function. Each list is sorted by place.
    pub(crate) direct: FxHashMap<FunctionRef, Vec<Caller>>,
    /// Calls of methods through objects of which less is known.
    pub(crate) through: FxHashMap<FunctionRef, Vec<Edge>>,
    /// Methods of a name that is called everywhere: not looked for.
    pub(crate) open: FxHashSet<FunctionRef>,
}

/// A call of a method through an object.
pub(crate) struct Edge {
    /// The call.
    pub(crate) caller: Caller,
    /// How sure it is that it may be one.
    pub(crate) sure: Sure,
}

/// How sure a call of a method is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sure {
    /// The object is known to be of the method's class, or of one above it.
    Known,
    /// Nothing is known of the object; the arguments fit.
    Fits,
    /// Nothing is known of the object, and the arguments are handed on with stars: anything may be meant.
    Passing,
}

impl Callers {
    /// Whether somebody asked for the callers of a function.
    pub(crate) fn knows(&self, f: FunctionRef) -> bool {
        self.direct.contains_key(&f)
    }

    /// Finds calls and mentions of functions that nobody asked for yet.
    pub(crate) fn ask(&mut self, host: &Host<'_>, functions: &FxHashSet<FunctionRef>) {
        let methods = Methods::new(host.resolver, functions);
        let mut found = mentions(host, functions, &methods);
        let through = methods.calls(host.resolver);
        functions.iter().for_each(|f| {
            let mut callers = found.remove(f).unwrap_or_default();
            callers.sort_by_key(|c| (c.place, c.function));
            self.direct.insert(*f, callers);
        });
        self.through.extend(through);
        self.open.extend(methods.open);
    }
}

fn mentions(host: &Host<'_>, wanted: &FxHashSet<FunctionRef>, methods: &Methods) -> FxHashMap<FunctionRef, Vec<Caller>> {
    let resolver = host.resolver;
    let names: FxHashSet<&str> = wanted.iter().map(|f| resolver.text(f.file, resolver.function(*f).name)).collect();
    // Methods are asked for by their names as attributes, but for those of common names.
    let plain = wanted.iter().filter(|f| resolver.function(**f).class.is_none());
    let plain: FxHashSet<FunctionRef> = plain.chain(&methods.open).copied().collect();
    let mentioned = reach::Mentioned::new(resolver, &plain);
    let per_file: Vec<Vec<(FunctionRef, Caller)>> = resolver
        .files_where(|id, words| methods.concern(id) || mentioned.is_in(id, words))
        .into_par_iter()
        .map(|file| in_file(host, file, &names, wanted))
        .collect();
    let mut found: FxHashMap<FunctionRef, Vec<Caller>> = FxHashMap::default();
    for (f, caller) in per_file.into_iter().flatten() {
        found.entry(f).or_default().push(caller);
    }
    found
}

fn in_file(host: &Host<'_>, file: FileId, names: &FxHashSet<&str>, wanted: &FxHashSet<FunctionRef>) -> Vec<(FunctionRef, Caller)> {
    let facts = host.resolver.facts(file);
    let here: Vec<bool> = facts.names.iter().map(|n| names.contains(&**n)).collect();
    let mut out = Vec::new();
    let mut free = here.clone();
    for import in facts.imports.iter().filter(|i| i.member.is_some_and(|m| here[m.index()])) {
        free[import.bound.index()] = true;
    }
    for (id, function) in facts.functions() {
        let at = FunctionRef { file, function: id };
        let body = &function.body;
        let named = |v: ValueId| match body.op(v) {
            Op::Free(n) => free[n.index()],
            Op::Attr(_, n) => here[n.index()],
            Op::Import(i) => facts.imports[i.index()].member.is_some_and(|m| here[m.index()]),
            Op::Function(f) => here[facts.function(f).name.index()],
            Op::Call(c) => body.call(c).decorates.is_some_and(|f| here[facts.function(f).name.index()]),
            _ => false,
        };
        let targets = |v: ValueId| -> Vec<FunctionRef> {
            let mut found = host.resolver.functions(at, v);
            found.retain(|f| wanted.contains(f));
            found
        };
        let mut called: FxHashSet<ValueId> = FxHashSet::default();
        for (value, v) in body.iter() {
            let Op::Call(call_id) = v.op else { continue };
            let call = body.call(call_id);
            if call.decorates.is_some() {
                called.extend(call.args.iter().map(|a| a.value));
                continue;
            }
            let place = Place {
                file,
                span: body.value(value).span,
            };
            if named(call.callee) {
                called.insert(call.callee);
                for f in targets(call.callee) {
                    out.push((
                        f,
                        Caller {
                            function: at,
                            call: Some(call_id),
                            place,
                        },
                    ));
                }
            }
            let mut registers = None;
            for arg in call.args.iter().filter(|a| named(a.value)) {
                let registers = *registers.get_or_insert_with(|| is_registrar(host, at, call.callee));
                called.insert(arg.value);
                if !registers {
                    let place = Place { file, span: arg.span };
                    out.extend(targets(arg.value).into_iter().map(|f| {
                        (
                            f,
                            Caller {
                                function: at,
                                call: None,
                                place,
                            },
                        )
                    }));
                }
            }
        }
        for (value, v) in body.iter() {
            if matches!(v.op, Op::Free(_) | Op::Attr(..)) && !called.contains(&value) && named(value) {
                let place = Place { file, span: v.span };
                out.extend(targets(value).into_iter().map(|f| {
                    (
                        f,
                        Caller {
                            function: at,
                            call: None,
                            place,
                        },
                    )
                }));
            }
        }
    }
    out
}

fn is_registrar(host: &Host<'_>, at: FunctionRef, callee: ValueId) -> bool {
    let mut names = host.resolver.dotted(at, callee);
    // `op.register_fake(f)`, and a decorator factory applied by hand.
    if let Op::Call(inner) = host.resolver.body(at).op(callee) {
        names.extend(host.resolver.dotted(at, host.resolver.body(at).call(inner).callee));
    }
    names.iter().any(|n| host.registry.is_registrar(n) || n.ends_with("infer_schema"))
        || matches!(host.resolver.body(at).op(callee), Op::Attr(_, n) if host.resolver.text(at.file, n).starts_with("register_"))
}
