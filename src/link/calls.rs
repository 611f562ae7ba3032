//! Who calls a function: every mention of it in the project, resolved.

use super::dispatch::Methods;
use super::host::Host;
use super::reach;
use super::resolve::{ClassRef, Entity};
use crate::facts::{MODULE, Op, ValueId};
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

    /// Finds calls and mentions of functions that nobody asked for yet. For those that `ends`, it does not matter who else may
    /// call them through an object of which less is known.
    pub(crate) fn ask(&mut self, host: &Host<'_>, functions: &FxHashSet<FunctionRef>, ends: impl Fn(FunctionRef) -> bool) {
        let through = functions.iter().copied().filter(|f| !ends(*f));
        let methods = Methods::new(host.resolver, host.knowledge, &through.collect());
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
    // Calls of methods are asked for by their names as attributes, but for those of common names.
    let plain: FxHashSet<FunctionRef> = wanted.iter().copied().filter(|f| !methods.are_sought(*f)).collect();
    let mut mentioned = reach::Mentioned::new(resolver, &plain);
    let instances = instances(host, wanted);
    let items = instances.iter().map(|(file, name)| reach::Item::Global(*file, name));
    if !instances.is_empty() {
        mentioned.add(resolver, items);
    }
    let names = wanted.iter().map(|f| resolver.text(f.file, resolver.function(*f).name));
    let names = names.chain(instances.iter().map(|(_, name)| *name));
    let names = Names {
        sought: names.collect(),
        instances: instances.iter().map(|(_, name)| *name).collect(),
        launched: wanted.iter().copied().filter(|f| is_launched(host, *f)).collect(),
    };
    let passed_on = methods.passed_on(resolver);
    let per_file: Vec<Vec<(FunctionRef, Caller)>> = resolver
        .files_where(|id, words| methods.concern(id) || mentioned.is_in(id, words) || passed_on(id, words))
        .into_par_iter()
        .map(|file| in_file(host, file, &names, wanted))
        .collect();
    let mut found: FxHashMap<FunctionRef, Vec<Caller>> = FxHashMap::default();
    for (f, caller) in per_file.into_iter().flatten() {
        found.entry(f).or_default().push(caller);
    }
    found
}

/// What functions are spoken of by.
struct Names<'a> {
    sought: reach::SoughtNames<'a>,
    /// Names of objects whose `__call__` is asked for.
    instances: FxHashSet<&'a str>,
    /// Functions that a launcher of a framework decorates.
    launched: FxHashSet<FunctionRef>,
}

/// Names that modules have for the one object of a class, where its `__call__` is asked for: `KERNEL = Kernel()`.
fn instances<'m>(host: &Host<'m>, wanted: &FxHashSet<FunctionRef>) -> Vec<(FileId, &'m str)> {
    let resolver = host.resolver;
    let class_of = |f: &FunctionRef| {
        let function = resolver.function(*f);
        let class = function.class.filter(|_| resolver.text(f.file, function.name) == "__call__")?;
        Some(ClassRef { file: f.file, class })
    };
    let mut classes: Vec<ClassRef> = wanted.iter().filter_map(class_of).collect();
    classes.sort_unstable();
    let mut found = Vec::new();
    for class in classes {
        let own = Entity::Class(class);
        let at = FunctionRef {
            file: class.file,
            function: MODULE,
        };
        let module = resolver.function(at);
        let made = |v: ValueId| match module.body.op(v) {
            Op::Call(call) => resolver.entities(at, module.body.call(call).callee).contains(&own),
            _ => false,
        };
        let named = module.bindings.iter().filter(|(_, v)| made(*v));
        found.extend(named.map(|(n, _)| (class.file, resolver.text(class.file, *n))));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// A decorator of the function launches what it describes, and gives back an object that does more than to be called.
fn is_launched(host: &Host<'_>, f: FunctionRef) -> bool {
    let resolver = host.resolver;
    let parent = resolver.parent(f);
    resolver.function(f).decorators.iter().any(|d| {
        let callee = match resolver.body(parent).op(d.value) {
            Op::Call(call) => resolver.body(parent).call(call).callee,
            _ => d.value,
        };
        host.registry.launcher(resolver, parent, callee, true).is_some()
    })
}

fn in_file(host: &Host<'_>, file: FileId, names: &Names<'_>, wanted: &FxHashSet<FunctionRef>) -> Vec<(FunctionRef, Caller)> {
    let facts = host.resolver.facts(file);
    let here = names.sought.flags(host.resolver, file);
    let mut out = Vec::new();
    if !here.contains(&true) {
        return out;
    }
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
        if !body.iter().any(|(value, _)| named(value)) {
            continue;
        }
        let targets = |v: ValueId| -> Vec<FunctionRef> {
            let mut found = Vec::new();
            for entity in host.resolver.entities(at, v) {
                match entity {
                    Entity::Function(f) | Entity::Bound(f) => found.push(f),
                    Entity::Instance(class) if !names.instances.is_empty() => found.extend(called_as(host, class)),
                    _ => {}
                }
            }
            found.retain(|f| wanted.contains(f));
            found
        };
        // `f.register_warmup()` asks something of the object that `f` is, and does not call it.
        let asked = |value: ValueId| body.iter().any(|(_, v)| matches!(v.op, Op::Attr(object, _) if object == value));
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
                let only_asked = |f: &FunctionRef| (names.launched.contains(f) || is_call_method(host, *f)) && asked(value);
                let handed_on = targets(value).into_iter().filter(|f| !only_asked(f));
                out.extend(handed_on.map(|f| {
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

/// The `__call__` of a class.
fn called_as(host: &Host<'_>, class: ClassRef) -> Vec<FunctionRef> {
    let members = host.resolver.members(class, "__call__", true).into_iter();
    let bound = members.filter_map(|e| if let Entity::Bound(f) = e { Some(f) } else { None });
    bound.collect()
}

/// What is meant by the object's name is the object, not the method.
fn is_call_method(host: &Host<'_>, f: FunctionRef) -> bool {
    let function = host.resolver.function(f);
    function.class.is_some() && host.resolver.text(f.file, function.name) == "__call__"
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
