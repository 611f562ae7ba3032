//! What stands above a kernel: hooks of `triton.autotune` that write, and `triton.heuristics` that compute parameters.

use super::{GuardedWrite, KernelEffects, Kind, at};
use crate::facts::{ArgKind, Call, CallId, Const, Op, ValueId};
use crate::link::conditions::{Binding, Condition, Term, binding_of};
use crate::link::resolve::{Entity, Resolver, ValueRef};
use crate::program::{FunctionRef, Step};
use crate::source::{Place, Span};

/// How deep configurations are looked for: `configs=f()`, a list, a loop over it.
const DEEPEST: u32 = 6;

/// Adds what the decorators of a kernel do.
pub(super) fn apply(resolver: &Resolver, f: FunctionRef, effects: &mut KernelEffects) {
    let function = resolver.function(f);
    let scope = at(f.file, function.parent);
    for decorator in &function.decorators {
        let Op::Call(call) = resolver.body(scope).op(decorator.value) else {
            continue;
        };
        let call = resolver.body(scope).call(call);
        let name = match resolver.body(scope).op(call.callee) {
            Op::Attr(_, name) | Op::Free(name) => resolver.text(f.file, name),
            _ => continue,
        };
        let hooks = Hooks {
            resolver,
            kernel: f,
            scope,
        };
        if name.ends_with("heuristics") {
            hooks.heuristics(call, effects);
        } else {
            hooks.autotune(call, decorator.span, effects);
        }
    }
    effects.writes.sort_by_key(|w| w.param);
    let writes: Vec<u16> = effects.writes.iter().map(|w| w.param).collect();
    effects.unresolved.retain(|(p, _)| !writes.contains(p));
}

struct Hooks<'r, 'a> {
    resolver: &'r Resolver<'a>,
    kernel: FunctionRef,
    scope: FunctionRef,
}

impl Hooks<'_, '_> {
    fn param(&self, name: &str) -> Option<u16> {
        let facts = self.resolver.facts(self.kernel.file);
        self.resolver
            .function(self.kernel)
            .params
            .iter()
            .position(|p| facts.name(p.name) == name)
            .map(|i| i as u16)
    }

    fn keyword(&self, call: &Call, name: &str) -> Option<ValueId> {
        let named = |a: &&crate::facts::Arg| matches!(a.kind, ArgKind::Keyword(n) if self.resolver.text(self.scope.file, n) == name);
        call.args.iter().find(named).map(|a| a.value)
    }

    /// `reset_to_zero=["x"]`, `restore_value=["y"]`, `pre_hook=f`, and `pre_hook` of the configurations.
    fn autotune(&self, call: &Call, span: Span, effects: &mut KernelEffects) {
        for (keyword, what) in [("reset_to_zero", "set to zero"), ("restore_value", "restored")] {
            for name in self.keyword(call, keyword).map(|v| self.strings(v)).unwrap_or_default() {
                self.written(&name, self.scope.file, span, what, effects);
            }
        }
        if let Some(hook) = self.keyword(call, "pre_hook") {
            self.hook(
                ValueRef {
                    at: self.scope,
                    value: hook,
                },
                effects,
            );
        }
        let configs = self
            .keyword(call, "configs")
            .or_else(|| call.args.first().filter(|a| a.kind == ArgKind::Positional).map(|a| a.value));
        if let Some(configs) = configs {
            self.configs(
                ValueRef {
                    at: self.scope,
                    value: configs,
                },
                DEEPEST,
                effects,
            );
        }
    }

    fn strings(&self, value: ValueId) -> Vec<String> {
        let (Op::List(items) | Op::Tuple(items)) = self.resolver.body(self.scope).op(value) else {
            return self.resolver.texts(ValueRef { at: self.scope, value }).unwrap_or_default();
        };
        let items = self.resolver.body(self.scope).items(items);
        items
            .iter()
            .flat_map(|&value| self.resolver.texts(ValueRef { at: self.scope, value }).unwrap_or_default())
            .collect()
    }

    fn written(&self, name: &str, file: crate::source::FileId, span: Span, what: &str, effects: &mut KernelEffects) {
        let Some(param) = self.param(name) else { return };
        let step = Step {
            place: Place { file, span },
            what: format!("{what} by `triton.autotune`: `{name}`"),
        };
        match effects.writes.iter_mut().find(|w| w.param == param) {
            Some(known) => known.when = Condition::True,
            None => effects.writes.push(GuardedWrite {
                param,
                when: Condition::True,
                chain: vec![step],
            }),
        }
        if effects.kinds[param as usize] == Kind::Unknown {
            effects.kinds[param as usize] = Kind::Pointer;
        }
    }

    /// Hooks of the `triton.Config` objects that a value is made of.
    fn configs(&self, v: ValueRef, depth: u32, effects: &mut KernelEffects) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let body = self.resolver.body(v.at);
        let each = |items: &[ValueId], effects: &mut KernelEffects| {
            items
                .iter()
                .for_each(|&value| self.configs(ValueRef { at: v.at, value }, depth, effects));
        };
        match body.op(v.value) {
            Op::List(items) | Op::Tuple(items) | Op::Phi(items) | Op::Or(items) => each(body.items(items), effects),
            Op::Select(_, a, b) | Op::Binary(_, a, b) => each(&[a, b], effects),
            Op::Collect(_, a) | Op::Star(a) | Op::Annotated(_, a) => each(&[a], effects),
            Op::Call(call) => self.config_call(v.at, call, depth, effects),
            _ => {
                for entity in self.resolver.entities(v.at, v.value) {
                    match entity {
                        Entity::Value(other) if other != v => self.configs(other, depth, effects),
                        Entity::Function(f) => self.config_function(f, effects),
                        _ => {}
                    }
                }
            }
        }
    }

    fn config_call(&self, scope: FunctionRef, call: CallId, depth: u32, effects: &mut KernelEffects) {
        let call = self.resolver.body(scope).call(call);
        for arg in &call.args {
            match arg.kind {
                ArgKind::Keyword(name) if self.resolver.text(scope.file, name) == "pre_hook" => {
                    self.hook(
                        ValueRef {
                            at: scope,
                            value: arg.value,
                        },
                        effects,
                    );
                }
                ArgKind::Positional | ArgKind::Star => self.configs(
                    ValueRef {
                        at: scope,
                        value: arg.value,
                    },
                    depth,
                    effects,
                ),
                ArgKind::Keyword(_) | ArgKind::StarStar => {}
            }
        }
        for f in self.resolver.functions(scope, call.callee) {
            self.config_function(f, effects);
        }
    }

    /// A function that makes configurations: every `pre_hook=` in it.
    fn config_function(&self, f: FunctionRef, effects: &mut KernelEffects) {
        for call in &self.resolver.body(f).calls {
            for arg in &call.args {
                if matches!(arg.kind, ArgKind::Keyword(n) if self.resolver.text(f.file, n) == "pre_hook") {
                    self.hook(ValueRef { at: f, value: arg.value }, effects);
                }
            }
        }
    }

    /// `def hook(nargs): nargs["x"].zero_()`
    fn hook(&self, v: ValueRef, effects: &mut KernelEffects) {
        for f in self.resolver.functions(v.at, v.value) {
            let body = self.resolver.body(f);
            for (_, value) in body.iter() {
                let written = match value.op {
                    Op::Call(call) => match body.op(body.call(call).callee) {
                        Op::Attr(object, method) => {
                            let method = self.resolver.text(f.file, method);
                            (method.ends_with('_') && !method.starts_with("__")).then_some(object)
                        }
                        _ => None,
                    },
                    Op::SetIndex(object, ..) => Some(object),
                    _ => None,
                };
                if let Some(name) = written.and_then(|object| self.keyed(f, object)) {
                    self.written(&name, f.file, value.span, "written by a hook", effects);
                }
            }
        }
    }

    /// `nargs["x"]` → `x`
    fn keyed(&self, f: FunctionRef, value: ValueId) -> Option<String> {
        let body = self.resolver.body(f);
        let Op::Index(object, key) = body.op(value) else { return None };
        match (body.op(object), body.op(key)) {
            (Op::Param(_), Op::Const(Const::Str(name))) => Some(self.resolver.text(f.file, name).to_string()),
            _ => None,
        }
    }

    /// `{"HAS_BIAS": lambda args: args["bias"] is not None}`
    fn heuristics(&self, call: &Call, effects: &mut KernelEffects) {
        let values = self.keyword(call, "values").or_else(|| call.args.first().map(|a| a.value));
        for v in values
            .map(|v| self.displays(ValueRef { at: self.scope, value: v }))
            .unwrap_or_default()
        {
            let body = self.resolver.body(v.at);
            let Op::Dict(items) = body.op(v.value) else { continue };
            for pair in body.items(items).chunks_exact(2) {
                let Op::Const(Const::Str(name)) = body.op(pair[0]) else { continue };
                let Some(param) = self.param(self.resolver.text(v.at.file, name)) else {
                    continue;
                };
                let binding = match self.resolver.functions(v.at, pair[1]).as_slice() {
                    [f] => self.heuristic(*f),
                    _ => Binding::Unknown,
                };
                effects.heuristics.push((param, binding));
            }
        }
    }

    fn displays(&self, v: ValueRef) -> Vec<ValueRef> {
        if matches!(self.resolver.body(v.at).op(v.value), Op::Dict(_)) {
            return vec![v];
        }
        let entities = self.resolver.entities(v.at, v.value);
        entities
            .into_iter()
            .filter_map(|e| if let Entity::Value(v) = e { Some(v) } else { None })
            .collect()
    }

    fn heuristic(&self, f: FunctionRef) -> Binding {
        let (facts, body) = (self.resolver.facts(f.file), self.resolver.body(f));
        let mut results = body
            .iter()
            .filter_map(|(_, v)| if let Op::Return(result) = v.op { Some(result) } else { None });
        let (Some(result), None) = (results.next(), results.next()) else {
            return Binding::Unknown;
        };
        let leaf = |value| match self.keyed(f, value).and_then(|name| self.param(&name)) {
            Some(param) => Binding::Term(Term::Param(param)),
            None => Binding::Unknown,
        };
        binding_of(facts, body, result, &leaf)
    }
}
