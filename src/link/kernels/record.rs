//! What a function touches: each call's effect on the bases of its arguments.

use super::bind::{Argument, Source};
use super::callee::Callee;
use super::flow::Flow;
use super::kinds::{self, Kind};
use super::summary::{Access, Deferred, Doubt, Summary};
use super::value::{Abstract, Alternative, Base};
use crate::facts::{Call, Const, Op, ValueId};
use crate::knowledge::triton::{Derived, Effect};
use crate::link::conditions::{Binding, Condition};
use crate::program::{FunctionRef, Step};
use crate::source::{Place, Span};
use std::rc::Rc;
use std::sync::Arc;

const LONGEST_CHAIN: usize = 6;

/// What happens to memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Touch {
    Read,
    Write,
}

impl<'a, 'k> Flow<'_, 'a, 'k> {
    /// Reads the function.
    pub(super) fn read(mut self) -> Summary {
        self.run();
        let mut summary = Summary {
            kinds: self.kinds.clone(),
            ..Summary::default()
        };
        let body = self.body;
        for (id, value) in body.iter() {
            match value.op {
                Op::Call(call) => self.record_call(id, body.call(call), value.span, &mut summary),
                Op::Return(result) => {
                    if let Some(&class) = self.classes.get(&result) {
                        summary.class = Some(class);
                    }
                    if !self.value(result).is_empty() {
                        let returned = self.value(result).clone().when(&self.guard(id));
                        summary.returns = std::mem::take(&mut summary.returns).join(&returned);
                    }
                }
                _ => {}
            }
        }
        summary
    }

    /// What `__init__` assigns to fields of its object.
    pub(super) fn assigned_fields(mut self) -> Vec<(Arc<str>, Abstract)> {
        self.run();
        let mut fields: Vec<(Arc<str>, Abstract)> = Vec::new();
        for (_, value) in self.body.iter() {
            let Op::SetAttr(object, name, assigned) = value.op else { continue };
            if self.body.op(object) != Op::Param(0) {
                continue;
            }
            let (name, assigned) = (self.text(name), self.value(assigned));
            match fields.iter_mut().find(|(n, _)| **n == *name) {
                Some((_, old)) => *old = std::mem::take(old).join(assigned),
                None => fields.push((name.into(), assigned.clone())),
            }
        }
        fields
    }

    fn record_call(&mut self, id: ValueId, call: &'a Call, span: Span, out: &mut Summary) {
        let callees = self.callees(id, call);
        for callee in callees.iter() {
            match callee {
                Callee::Numbers | Callee::Pure | Callee::Class(_) => {}
                Callee::Known(effect) => self.record_known(effect, call, None, id, span, out),
                Callee::Method(effect, object) => self.record_known(effect, call, Some(*object), id, span, out),
                Callee::Project(f, object) => {
                    let arguments = self.bind(*f, call, *object);
                    let when = self.guard(id);
                    self.record_helper(*f, &arguments, &when, self.place(span), out);
                }
                Callee::Parameter(param) => {
                    let arguments: Vec<Abstract> = call.args.iter().map(|a| self.value(a.value).clone()).collect();
                    if arguments.iter().any(|a| !self.addresses(a).is_empty()) {
                        out.deferred.push(Deferred {
                            param: *param,
                            arguments,
                            when: self.guard(id),
                            place: self.place(span),
                        });
                    }
                }
                Callee::Unknown(name) => {
                    let reason = format!("passed to `{name}`, which is not known");
                    self.record_doubts(id, call.args.iter().map(|a| a.value), &reason, out);
                }
                Callee::UnknownMethod(object, name) => {
                    let reason = format!("the method `{name}` is not known");
                    self.record_doubts(id, call.args.iter().map(|a| a.value).chain([*object]), &reason, out);
                }
            }
        }
    }

    fn record_doubts(&mut self, at: ValueId, values: impl Iterator<Item = ValueId>, reason: &str, out: &mut Summary) {
        let found: Vec<Base> = values.flat_map(|v| self.addresses(self.value(v))).collect();
        if !found.is_empty() {
            let when = self.guard(at);
            found.into_iter().for_each(|base| doubt(out, base, &when, reason));
        }
    }

    fn record_known(&mut self, effect: &Effect, call: &'a Call, object: Option<ValueId>, id: ValueId, span: Span, out: &mut Summary) {
        if effect.reads.is_empty() && effect.writes.is_empty() && effect.calls.is_empty() && effect.result != Derived::Assembly {
            return;
        }
        let arguments = self.bind_known(effect, call, object);
        let when = self.guard(id);
        if when == Condition::False {
            return;
        }
        for &(param, value) in &arguments.named {
            let address = self.value(value).clone();
            if effect.reads.contains(&param) {
                self.touch(&address, Touch::Read, &when, &[], Some(span), out);
            }
            if effect.writes.contains(&param) {
                self.touch(&address, Touch::Write, &when, &[], Some(span), out);
            }
        }
        if effect.result == Derived::Assembly {
            self.record_assembly(&arguments, &when, span, out);
        }
        if !effect.calls.is_empty() {
            self.record_callbacks(effect, call, &arguments, id, span, out);
        }
    }

    /// `reduce(x, axis, combine)`, `warp_specialize([(f, (a, b)), …])`.
    fn record_callbacks(
        &mut self,
        effect: &Effect,
        call: &Call,
        arguments: &super::bind::Arguments,
        id: ValueId,
        span: Span,
        out: &mut Summary,
    ) {
        let all: Vec<ValueId> = call.args.iter().map(|a| a.value).collect();
        if all.iter().all(|&v| self.addresses(self.value(v)).is_empty()) {
            return;
        }
        let when = self.guard(id);
        let callbacks: Vec<ValueId> = effect.calls.iter().flat_map(|&p| arguments.get(p)).collect();
        for callback in callbacks {
            if let Op::List(items) | Op::Tuple(items) = self.body.op(callback) {
                let pairs: Vec<ValueId> = self.body.items(items).to_vec();
                for pair in pairs {
                    let Op::Tuple(pair) = self.body.op(pair) else { continue };
                    let [f, values] = *self.body.items(pair) else { continue };
                    let values = self.value(values).items().unwrap_or_default();
                    self.record_applied(f, &values, &when, self.place(span), out);
                }
            } else {
                let values: Vec<Abstract> = all.iter().filter(|&&v| v != callback).map(|&v| self.value(v).clone()).collect();
                self.record_applied(callback, &values, &when, self.place(span), out);
            }
        }
    }

    /// A function value that is called with these arguments.
    fn record_applied(&mut self, function: ValueId, values: &[Abstract], when: &Condition, place: Place, out: &mut Summary) {
        if let Op::Param(param) = self.body.op(function) {
            out.deferred.push(Deferred {
                param,
                arguments: values.to_vec(),
                when: when.clone(),
                place,
            });
            return;
        }
        let entities = self.resolver().entities(self.f, function);
        let callees = self.analysis.meanings(entities, &"a function that cannot be followed".into());
        self.apply(&callees, values, when, place, out);
    }

    fn apply(&mut self, callees: &[Callee<'k>], values: &[Abstract], when: &Condition, place: Place, out: &mut Summary) {
        for callee in callees {
            match callee {
                Callee::Project(f, _) => {
                    let count = self.resolver().function(*f).params.len();
                    let arguments: Vec<Argument> = (0..count)
                        .map(|i| Argument {
                            value: values.get(i).cloned().unwrap_or_default(),
                            source: Source::Unknown,
                        })
                        .collect();
                    self.record_helper(*f, &arguments, when, place, out);
                }
                Callee::Known(effect) | Callee::Method(effect, _) => {
                    for (i, value) in values.iter().enumerate() {
                        if effect.writes.contains(&(i as u16)) {
                            self.touch(value, Touch::Write, when, &[], Some(place.span), out);
                        }
                    }
                }
                Callee::Numbers | Callee::Pure | Callee::Class(_) => {}
                Callee::Parameter(_) | Callee::Unknown(_) | Callee::UnknownMethod(..) => {
                    let found: Vec<Base> = values.iter().flat_map(|v| self.addresses(v)).collect();
                    found
                        .into_iter()
                        .for_each(|base| doubt(out, base, when, "passed to a function that is not known"));
                }
            }
        }
    }

    fn record_helper(&mut self, f: FunctionRef, arguments: &[Argument], when: &Condition, place: Place, out: &mut Summary) {
        if *when == Condition::False {
            return;
        }
        let summary = self.analysis.summary(f);
        self.vote(f, arguments);
        if summary.reads.is_empty() && summary.writes.is_empty() && summary.doubts.is_empty() && summary.deferred.is_empty() {
            return;
        }
        let bindings: Vec<Binding> = arguments.iter().map(|a| self.binding_for(a)).collect();
        let binding = |p: u16| bindings.get(p as usize).cloned().unwrap_or(Binding::Unknown);
        let callee = self.resolver().text(f.file, self.resolver().function(f).name);
        let names: Vec<&str> = self
            .resolver()
            .function(f)
            .params
            .iter()
            .map(|p| self.resolver().text(f.file, p.name))
            .collect();
        for (touch, accesses) in [(Touch::Read, &summary.reads), (Touch::Write, &summary.writes)] {
            for access in accesses {
                let when = when.clone().and(access.when.substitute(&binding));
                if when == Condition::False {
                    continue;
                }
                let address = self.base_in_caller(&access.base, arguments);
                let mut chain = access.chain.clone();
                if touch == Touch::Write && chain.len() < LONGEST_CHAIN {
                    let name = names.get(access.base.param() as usize).copied().unwrap_or_default();
                    chain.push(Step {
                        place,
                        what: format!("passed to `{callee}` as `{name}`"),
                    });
                }
                self.touch(&address, touch, &when, &chain, None, out);
            }
        }
        for open in &summary.doubts {
            let when = when.clone().and(open.when.substitute(&binding));
            let address = self.base_in_caller(&open.base, arguments);
            for base in self.addresses(&address) {
                doubt(out, base, &when, &open.reason);
            }
        }
        for call in &summary.deferred {
            let when = when.clone().and(call.when.substitute(&binding));
            self.record_deferred(&summary, call, arguments, &when, out);
        }
    }

    fn record_deferred(&mut self, summary: &Rc<Summary>, call: &Deferred, arguments: &[Argument], when: &Condition, out: &mut Summary) {
        let values: Vec<Abstract> = call.arguments.iter().map(|a| self.substitute(summary, a, arguments)).collect();
        match arguments.get(call.param as usize).map(|a| a.source) {
            Some(Source::Value(function)) => self.record_applied(function, &values, when, call.place, out),
            Some(Source::Default(v)) => {
                let entities = self.resolver().entities(v.at, v.value);
                let callees = self.analysis.meanings(entities, &"a default".into());
                self.apply(&callees, &values, when, call.place, out);
            }
            Some(Source::Unknown) | None => self.apply(&[Callee::Unknown("".into())], &values, when, call.place, out),
        }
    }

    /// What this call says of the kinds of a helper's parameters.
    fn vote(&mut self, f: FunctionRef, arguments: &[Argument]) {
        let mut votes = self
            .analysis
            .votes
            .remove(&f)
            .unwrap_or_else(|| vec![Default::default(); arguments.len()]);
        for (vote, argument) in votes.iter_mut().zip(arguments) {
            if matches!(argument.source, Source::Default(_)) || argument.value.parts.is_some() {
                continue;
            }
            for alternative in &argument.value.clone().reduced(&self.kinds).alternatives {
                match alternative.addends.as_slice() {
                    [Base::Param(p, path)] if path.is_empty() && self.kinds[*p as usize] == Kind::Pointer => vote.pointer = true,
                    [Base::Pointee(_)] => vote.pointer = true,
                    [Base::Param(p, path)] if path.is_empty() && !vote.from.contains(&(self.f, *p)) => vote.from.push((self.f, *p)),
                    [Base::Param(_, path)] if path.is_empty() => {}
                    bases if bases.iter().all(|b| matches!(b, Base::Loaded(_) | Base::Number(_))) => vote.scalar = true,
                    _ => vote.unknown = true,
                }
            }
            let is_none = matches!(argument.source, Source::Value(v) if self.body.op(v) == Op::Const(Const::None));
            vote.scalar |= argument.value.clone().reduced(&self.kinds).is_empty() && !is_none;
        }
        self.analysis.votes.insert(f, votes);
    }

    /// Records what happens through an address. `stored`: the storing call, when it is in this function.
    pub(super) fn touch(
        &mut self,
        address: &Abstract,
        touch: Touch,
        when: &Condition,
        chain: &[Step],
        stored: Option<Span>,
        out: &mut Summary,
    ) {
        for alternative in &address.flat().alternatives {
            let when = when.clone().and(alternative.when.clone());
            let reduced = alternative.reduced(&self.kinds);
            let Some((base, others)) = self.choose(&reduced).or_else(|| integer_address(alternative)) else {
                continue;
            };
            if when == Condition::False {
                continue;
            }
            out.ambiguous |= reduced.addends.len() > 1;
            if touch == Touch::Write {
                others
                    .into_iter()
                    .for_each(|other| doubt(out, other, &when, "it may be the base of an address that is written"));
            }
            let base = match base {
                Base::Loaded(p) | Base::Number(p) => Base::Pointee(p),
                Base::Param(..) | Base::Pointee(_) => base,
            };
            let chain = match stored {
                Some(span) => {
                    let name = self.param_name(base.param());
                    let what = match base {
                        Base::Param(..) => format!("stored through `{name}`"),
                        Base::Loaded(_) | Base::Pointee(_) | Base::Number(_) => format!("stored through an address from `{name}`"),
                    };
                    vec![Step {
                        place: self.place(span),
                        what,
                    }]
                }
                None => chain.to_vec(),
            };
            match touch {
                Touch::Read if matches!(base, Base::Pointee(_)) => {}
                Touch::Read => access(&mut out.reads, base, when, Vec::new()),
                Touch::Write => access(&mut out.writes, base, when, chain),
            }
        }
    }

    /// The base of an address, and the other addends that might be it: names say which is likelier, and no more.
    fn choose(&self, reduced: &Alternative) -> Option<(Base, Vec<Base>)> {
        let [first, rest @ ..] = reduced.addends.as_slice() else {
            return None;
        };
        if rest.is_empty() {
            return Some((first.clone(), Vec::new()));
        }
        let named = |b: &Base| match b {
            Base::Param(p, path) if path.is_empty() => kinds::by_name(self.param_name(*p)),
            Base::Param(..) | Base::Loaded(_) | Base::Pointee(_) | Base::Number(_) => Kind::Unknown,
        };
        let by_kind = |kind| reduced.addends.iter().find(|b| named(b) == kind);
        let base = by_kind(Kind::Pointer).or_else(|| by_kind(Kind::Unknown)).unwrap_or(first);
        Some((base.clone(), reduced.addends.iter().filter(|b| *b != base).cloned().collect()))
    }

    /// The bases in a value that may be addresses: what a callee that is not known may write through.
    pub(super) fn addresses(&self, value: &Abstract) -> Vec<Base> {
        let mut found = Vec::new();
        for alternative in value.flat().alternatives {
            let reduced = alternative.reduced(&self.kinds);
            for base in reduced.addends {
                let is_address = match &base {
                    Base::Param(p, path) if path.is_empty() => match self.kinds[*p as usize] {
                        Kind::Pointer => true,
                        Kind::Scalar => false,
                        Kind::Unknown => kinds::by_name(self.param_name(*p)) != Kind::Scalar,
                    },
                    Base::Param(..) | Base::Pointee(_) => true,
                    Base::Loaded(_) | Base::Number(_) => false,
                };
                if is_address && !found.contains(&base) {
                    found.push(base);
                }
            }
        }
        found
    }
}

/// Memory is touched through what is only ever a number: an integer that holds an address.
fn integer_address(alternative: &Alternative) -> Option<(Base, Vec<Base>)> {
    alternative.addends.first().map(|b| (Base::Pointee(b.param()), Vec::new()))
}

fn access(accesses: &mut Vec<Access>, base: Base, when: Condition, chain: Vec<Step>) {
    match accesses.iter_mut().find(|a| a.base == base) {
        Some(same) => same.when = std::mem::replace(&mut same.when, Condition::True).or(when),
        None => accesses.push(Access { base, when, chain }),
    }
}

pub(super) fn doubt(out: &mut Summary, base: Base, when: &Condition, reason: &str) {
    let base = match base {
        Base::Loaded(p) | Base::Number(p) => Base::Pointee(p),
        Base::Param(..) | Base::Pointee(_) => base,
    };
    if *when != Condition::False && !out.doubts.iter().any(|d| d.base == base) {
        out.doubts.push(Doubt {
            base,
            when: when.clone(),
            reason: reason.into(),
        });
    }
}
