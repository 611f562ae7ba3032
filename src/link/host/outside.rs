//! Calls of what is not the project's: torch, registered ops, functions that framework files describe.

use super::super::conditions::Condition;
use super::super::registry::Target;
use super::super::resolve::Entity;
use super::super::types::Kind;
use super::arguments::{Arguments, Passed};
use super::body::Run;
use super::calls::is_tensorless;
use super::writes::Trail;
use super::{Abs, Key, Root};
use crate::facts::{Call, CallId, Const, Op, ValueId};
use crate::knowledge::frameworks::Callee;
use crate::knowledge::torch::{Effect as TorchEffect, Shares};
use std::sync::Arc;

impl Run<'_, '_> {
    /// `None`: nothing is known of it, and it is looked up as a method.
    pub(super) fn call_external(&mut self, v: ValueId, id: CallId, call: &Call, name: &str, args: &Arguments) -> Option<Abs> {
        let host = self.host;
        if let Some(row) = host.registry.callee(name) {
            return Some(self.call_row(v, row, None, args));
        }
        if let Some(op) = name.strip_prefix("torch.ops.") {
            if let Some(effect) = host.knowledge.torch.function(name) {
                return Some(self.call_torch(v, effect, name, args, None));
            }
            return Some(self.call_op(v, id, op, args));
        }
        if let Some(effect) = host.knowledge.torch.function(name) {
            return Some(self.call_torch(v, effect, name, args, None));
        }
        if name.starts_with("torch.") {
            let last = name.rsplit('.').next().unwrap_or(name);
            if last == "apply"
                && let Op::Attr(object, _) = self.body.op(call.callee)
                && let Some(result) = self.call_autograd(v, object, args)
            {
                return Some(result);
            }
            // `torch.empty_like(x).view(-1)`, `torch.stack([a, b]).to(c)`: a method of what a function made.
            let made = name
                .rsplit_once('.')
                .is_some_and(|(object, _)| host.knowledge.torch.function(object).is_some());
            let by_name = |object: ValueId| matches!(self.body.op(object), Op::Attr(..) | Op::Free(_) | Op::Import(_));
            if made && matches!(self.body.op(call.callee), Op::Attr(object, _) if !by_name(object)) {
                return None;
            }
            if is_tensorless(args) {
                return Some(Abs::default());
            }
            return Some(self.unknown_call(v, None, args, "torch's schemas do not name it"));
        }
        if let Some(plain) = name.strip_prefix("builtins.") {
            return Some(self.call_builtin(v, plain, args));
        }
        if is_tensorless(args) {
            return Some(Abs::default());
        }
        Some(self.unknown_call(v, None, args, "its source is not in view"))
    }

    /// `F.apply(…)` of an `autograd.Function` of the project.
    pub(super) fn call_autograd(&mut self, v: ValueId, object: ValueId, args: &Arguments) -> Option<Abs> {
        let classes = self.host.resolver.entities(self.f, object);
        let class = classes
            .into_iter()
            .find_map(|e| if let Entity::Class(c) = e { Some(c) } else { None })?;
        let members = self.host.resolver.members(class, "forward", false);
        let forward = members.into_iter().find_map(|e| match e {
            Entity::Function(f) | Entity::Bound(f) => Some(f),
            _ => None,
        })?;
        let context = Passed {
            abs: Abs::of(self.make_container(v, 1)),
            value: None,
            span: self.body.value(object).span,
        };
        Some(self.call_function(v, None, forward, Some(context), args))
    }

    /// A registered op, by what follows `torch.ops.`.
    pub(super) fn call_op(&mut self, v: ValueId, id: CallId, path: &str, args: &Arguments) -> Abs {
        let mut parts = path.split('.');
        let (Some(namespace), Some(op)) = (parts.next(), parts.next()) else {
            return Abs::default();
        };
        let host = self.host;
        match host.registry.target(namespace, op) {
            Some(Target::Implementation(f)) => self.call_function(v, Some(id), *f, None, args),
            Some(Target::Schema(schema)) => self.call_row(v, schema, None, args),
            None => self.unknown_call(v, None, args, "the op's registration is not in view"),
        }
    }

    /// A callee that a framework file describes.
    pub(super) fn call_row(&mut self, v: ValueId, row: &Callee, receiver: Option<&Passed>, args: &Arguments) -> Abs {
        let find = |param: &str| -> Option<Passed> {
            if param == "self" {
                return receiver.cloned();
            }
            if let Some((_, passed)) = args.keyword.iter().find(|(k, _)| &**k == param) {
                return Some(passed.clone());
            }
            let at = row.params.iter().position(|p| p == param)?;
            args.positional.get(at).cloned()
        };
        for param in &row.writes {
            if let Some(passed) = find(param) {
                let name = row.name.rsplit('.').next().unwrap_or(&row.name);
                let what = || format!("`{name}` writes its `{param}`");
                self.write(&passed.abs, v, &Condition::True, &Trail::at(self.passed_at(&passed), &what), None);
            }
        }
        for passed in args.positional.iter().chain(args.keyword.iter().map(|(_, p)| p)) {
            if passed.value.is_some_and(|value| matches!(self.body.op(value), Op::Function(_))) {
                self.run_callback(v, passed);
            }
        }
        if row.scalar {
            // `int(x.data_ptr())` is an address still.
            return Abs::addresses(args.positional.iter().map(|p| &p.abs));
        }
        let of = |run: &Self, params: &[String]| {
            let mut all = Abs::default();
            for param in params {
                match find(param) {
                    Some(passed) => all.add_all(&passed.abs),
                    None if param == "*" => all.add_all(&run.everything(args)),
                    None => {}
                }
            }
            all
        };
        let mut result = of(self, &row.view_of);
        let maybe = of(self, &row.maybe_view_of);
        if !maybe.aliases.is_empty() {
            result.add_all(&maybe.maybe(self.place(v)));
        }
        if result.aliases.is_empty() && !is_tensorless(args) {
            return Abs::of(Root::Fresh(v, 0));
        }
        result
    }

    /// A function or method of torch.
    pub(super) fn call_torch(&mut self, v: ValueId, effect: &TorchEffect, name: &str, args: &Arguments, receiver: Option<&Passed>) -> Abs {
        let bound = bind_torch(effect, args, receiver);
        let last = name.rsplit('.').next().unwrap_or(name);
        let several = effect.variadic && is_several(args, effect.keyword_only);
        let flag = match effect.flag {
            Some(flag) => bound[flag as usize].as_ref().map_or(Condition::False, |passed| self.is_set(passed)),
            None => Condition::False,
        };
        for &param in &effect.writes {
            let Some(passed) = &bound[param as usize] else { continue };
            let when = if effect.conditional.contains(&param) {
                flag.clone()
            } else {
                Condition::True
            };
            if when.value() == Some(false) {
                continue;
            }
            let param = effect.params[param as usize].as_ref();
            let place = match param {
                "self" => self.place(v),
                _ => self.passed_at(passed),
            };
            let what = || match param {
                "self" | "input" => format!("changed in place by `{last}`"),
                _ => format!("written by `{last}` as `{param}`"),
            };
            self.write(&passed.abs, v, &when, &Trail::at(place, &what), None);
        }
        let results = |run: &mut Self, shares: &[Shares]| -> Vec<Abs> {
            let each = shares.iter().enumerate();
            each.map(|(i, shares)| run.shared(v, i as u16, shares, &bound, several)).collect()
        };
        let mut parts = match flag.value() {
            Some(true) => results(self, &effect.flagged),
            Some(false) => results(self, &effect.results),
            None => {
                let (plain, flagged) = (results(self, &effect.results), results(self, &effect.flagged));
                if plain.len() == flagged.len() {
                    let pairs = plain.into_iter().zip(flagged);
                    pairs.map(|(a, b)| a.join(&b.when(&flag))).collect()
                } else {
                    let mut all = Abs::default();
                    plain.iter().chain(&flagged).for_each(|p| all.add_all(p));
                    vec![all]
                }
            }
        };
        let copied = effect.copies.and_then(|c| bound[c as usize].as_ref()).and_then(|p| p.value);
        if let Some(value) = copied
            && matches!(self.body.op(value), Op::Const(Const::Bool(true)))
        {
            return Abs::of(Root::Fresh(v, 0));
        }
        // `x.data_ptr()` and `torch.tensor([x.data_ptr()])` name no parameter: their schemas take nothing from memory.
        let named = args.keyword.iter().map(|(_, p)| p);
        let given = || args.positional.iter().chain(named.clone()).chain(receiver).map(|p| &p.abs);
        let mut all = Abs::addresses(given());
        for alias in given().flat_map(|abs| &abs.aliases).filter(|alias| self.is_container(&alias.root)) {
            all.add_pointees(&self.reach(&Abs::of(alias.root.clone())));
        }
        let mut pointees = all.pointees;
        // `torch.tensor(rows)`: what is made of a parameter that is no tensor holds the addresses that it holds.
        if effect.params.is_empty()
            && let Some(value) = args.positional.first().and_then(|data| data.value)
            && let Op::Param(i) = self.body.op(value)
            && !matches!(self.kinds[i as usize], Kind::Tensor | Kind::Tensors)
        {
            pointees.extend(Abs::of(Root::Param(i)).aliases.iter().cloned());
        }
        if matches!(last, "data_ptr" | "const_data_ptr" | "mutable_data_ptr" | "untyped_storage") {
            for alias in given().flat_map(|abs| &abs.aliases) {
                if !pointees.iter().any(|p| p.root == alias.root) {
                    pointees.push(alias.clone());
                }
            }
        }
        if last == "copy_" || last == "fill_" {
            let addresses = Abs {
                pointees: pointees.clone(),
                ..Abs::default()
            };
            for alias in bound.first().into_iter().flatten().flat_map(|p| &p.abs.aliases) {
                self.store(alias.root.clone(), Key::Any, addresses.clone());
            }
        }
        let mut result = match parts.len() {
            0 => Abs::default(),
            1 => parts.remove(0),
            _ => {
                let mut all = Abs::default();
                parts.iter().for_each(|p| all.add_all(p));
                Abs {
                    parts: Some(Arc::new(parts)),
                    ..all
                }
            }
        };
        result.pointees = pointees;
        result
    }

    /// Whether an argument is neither `None` nor `False`.
    pub(super) fn is_set(&self, passed: &Passed) -> Condition {
        match passed.value.map(|value| (value, self.body.op(value))) {
            Some((_, Op::Const(Const::None | Const::Bool(false)))) => Condition::False,
            Some((_, Op::Const(_) | Op::Tuple(_) | Op::List(_))) => Condition::True,
            Some((value, _)) => self.binding(value).truthy(),
            None => Condition::Unknown,
        }
    }

    pub(super) fn shared(&mut self, v: ValueId, n: u16, shares: &Shares, bound: &[Option<Passed>], several: bool) -> Abs {
        let of = |params: &[u16]| {
            let mut all = Abs::default();
            for &p in params {
                if let Some(Some(passed)) = bound.get(p as usize)
                    && !passed.abs.none
                {
                    all.add_all(&passed.abs);
                }
            }
            all
        };
        let fresh = Abs::of(Root::Fresh(v, n));
        match shares {
            Shares::Fresh => fresh,
            Shares::Scalar => Abs::default(),
            Shares::FreshList => {
                self.make_container(v, n);
                fresh
            }
            Shares::View(params) | Shares::Views(params) => {
                let all = self.reach(&of(params));
                if all.aliases.is_empty() { fresh } else { all }
            }
            // `einsum("ij,jk->ik", a, b)`: one operand may come back, of several something new is made.
            Shares::Maybe(_) if several => fresh,
            Shares::Maybe(params) => {
                let all = self.reach(&of(params));
                if all.aliases.is_empty() { fresh } else { all.maybe(self.place(v)) }
            }
        }
    }
}

/// Whether a function whose last positional parameter takes all further arguments surely gets more than one for it.
fn is_several(args: &Arguments, positional: u16) -> bool {
    let before = usize::from(positional).saturating_sub(1);
    match args.positional.get(before..) {
        Some([one]) => one.abs.parts.as_ref().is_some_and(|parts| parts.len() > 1),
        Some(given) => given.len() > 1,
        None => false,
    }
}

pub(super) fn bind_torch(effect: &TorchEffect, args: &Arguments, receiver: Option<&Passed>) -> Vec<Option<Passed>> {
    let mut bound: Vec<Option<Passed>> = vec![None; effect.params.len()];
    let mut next = 0;
    if let Some(receiver) = receiver {
        if let Some(slot) = bound.first_mut() {
            *slot = Some(receiver.clone());
        }
        next = 1;
    }
    for passed in &args.positional {
        if next < effect.keyword_only as usize {
            bound[next] = Some(passed.clone());
            if !(effect.variadic && next + 1 == effect.keyword_only as usize) {
                next += 1;
            } else if let Some(Some(all)) = bound.get_mut(next) {
                all.abs.add_all(&passed.abs);
            }
        }
    }
    for (_, star) in &args.open_stars {
        for slot in bound.iter_mut().take(effect.keyword_only as usize).skip(next) {
            slot.get_or_insert_with(|| star.clone());
        }
    }
    for (name, passed) in &args.keyword {
        let name = if &**name == "self" { "input" } else { &**name };
        if let Some(i) = effect.params.iter().position(|p| &**p == name) {
            bound[i] = Some(passed.clone());
        }
    }
    bound
}
