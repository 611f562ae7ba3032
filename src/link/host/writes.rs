//! Writes in the body itself, and the record of all writes.

use super::super::conditions::{Condition, contradicts};
use super::super::types::Kind;
use super::arguments::Passed;
use super::body::Run;
use super::kept::Touched;
use super::{Abs, Alias, Effect, Key, Root};
use crate::facts::{Const, Name, Op, ValueId};
use crate::program::Step;
use crate::source::{Place, Span};
use std::sync::Arc;

impl Run<'_, '_> {
    pub(super) fn set_attribute(&mut self, v: ValueId, object: ValueId, name: Name, value: ValueId) -> Abs {
        let name: Arc<str> = self.text(name).into();
        let assigned = self.abs(value).clone();
        for alias in &self.abs(object).aliases.clone() {
            let tensor = matches!(alias.root, Root::Param(i) if self.kinds[i as usize] == Kind::Tensor);
            if &*name == "data" && (tensor || !matches!(alias.root, Root::Param(_))) {
                self.write_here(alias, v, "its `data` is replaced here");
                continue;
            }
            self.store(alias.root.clone(), Key::Name(name.clone()), assigned.clone());
        }
        Abs::default()
    }

    pub(super) fn set_index(&mut self, v: ValueId, object: ValueId, index: ValueId, value: ValueId) -> Abs {
        let assigned = self.abs(value).clone();
        let key = match self.body.op(index) {
            Op::Const(Const::Str(name)) => Key::Name(self.text(name).into()),
            Op::Const(Const::Int(i)) => u32::try_from(i).map_or(Key::Any, Key::Index),
            _ => Key::Any,
        };
        let tensor_like = self.is_tensor_index(index);
        for alias in &self.abs(object).aliases.clone() {
            let of_dict = matches!(key, Key::Name(_))
                || matches!(alias.root, Root::Param(i) if matches!(self.kinds[i as usize], Kind::Tensors | Kind::Object(_) | Kind::Foreign));
            // `_CACHE[key] = value`: a dict or list as often as a tensor.
            let uncertain_state = matches!(alias.root, Root::State(_) | Root::Capture(_)) && !self.has_slice(index);
            if self.is_container(&alias.root) || uncertain_state || of_dict && !tensor_like {
                self.store(alias.root.clone(), key.clone(), assigned.clone());
                continue;
            }
            // A table of addresses.
            if !assigned.pointees.is_empty() {
                self.store(alias.root.clone(), Key::Any, Abs::addresses([&assigned]));
            }
            self.write_here(alias, v, "assigned into here");
        }
        Abs::default()
    }

    /// No dict takes such an index, and no list one of several parts.
    fn has_slice(&self, index: ValueId) -> bool {
        let slices = |v: ValueId| matches!(self.body.op(v), Op::Slice(..) | Op::Const(Const::Ellipsis));
        match self.body.op(index) {
            Op::Tuple(items) => self.body.items(items).iter().any(|&v| slices(v)),
            _ => slices(index),
        }
    }

    /// An index that tensors take and lists do not.
    fn is_tensor_index(&self, index: ValueId) -> bool {
        let written = matches!(
            self.body.op(index),
            Op::Slice(..) | Op::Tuple(_) | Op::Const(Const::Ellipsis | Const::None)
        );
        written || !self.abs(index).aliases.is_empty()
    }

    pub(super) fn augment(&mut self, v: ValueId, target: ValueId, value: ValueId) -> Abs {
        let old = self.abs(target).clone();
        if old.aliases.is_empty() {
            return self.arithmetic(v, &[target, value]);
        }
        let assigned = self.abs(value).clone();
        let mut result = Abs {
            parts: None,
            ..old.clone()
        };
        // `tensors += (x,)`: a longer tuple, no tensor is touched.
        let is_sequence = old.parts.is_some() || assigned.parts.is_some();
        if is_sequence {
            result.add_all(&Abs {
                parts: None,
                ..assigned.clone()
            });
        }
        for alias in &old.aliases {
            if self.is_container(&alias.root) {
                self.store(alias.root.clone(), Key::Any, assigned.clone());
                continue;
            }
            let unsure = match alias.root {
                Root::Param(i) => self.kinds[i as usize] != Kind::Tensor,
                // `self.count += 1`: a number as often as a tensor. What is read from a tensor by index is one.
                Root::State(_) | Root::Capture(_) => !matches!(self.body.op(target), Op::Index(_, i) if self.has_slice(i)),
                Root::Part(..) => !matches!(self.body.op(target), Op::Index(..)),
                Root::Fresh(..) => false,
            };
            if unsure || is_sequence {
                continue;
            }
            self.write_here(alias, v, "changed in place here");
        }
        result.add_pointees(&assigned);
        result
    }

    fn write_here(&mut self, alias: &Alias, v: ValueId, what: &str) {
        let target = Abs {
            aliases: vec![alias.clone()].into(),
            ..Abs::default()
        };
        let place = self.place(v);
        self.write(&target, v, &Condition::True, &Trail::at(place, &|| what.to_owned()), None);
    }

    /// Where an argument stands.
    pub(super) fn passed_at(&self, passed: &Passed) -> Place {
        Place {
            file: self.f.file,
            span: passed.span,
        }
    }

    /// Records that all that a value may share is (or may be) written at `v`.
    pub(super) fn write(&mut self, target: &Abs, v: ValueId, when: &Condition, trail: &Trail, unknown: Option<&Arc<str>>) {
        if target.aliases.is_empty() {
            return;
        }
        let all = self.reach(target);
        let through = trail.end().filter(|place| place.file == self.f.file).map(|place| place.span);
        for alias in all.aliases.iter().filter(|a| matches!(a.root, Root::Fresh(..))) {
            self.touch(v, &alias.root, through, unknown.cloned());
        }
        let outside = all.aliases.iter().any(|a| !matches!(a.root, Root::Fresh(..)));
        if !outside {
            return;
        }
        let guard = self.guard(v);
        if *when != Condition::True && contradicts(&[&guard, when]) {
            return;
        }
        for alias in &all.aliases {
            if matches!(alias.root, Root::Fresh(..)) {
                continue;
            }
            if alias.when != Condition::True && contradicts(&[&guard, &alias.when, when]) {
                continue;
            }
            let why = unknown
                .cloned()
                .or_else(|| (!alias.known).then(|| "a callee that is not in view may have handed it on".into()));
            self.touch(v, &alias.root, through, why.clone());
            let when = match alias.root.is_argument() {
                true => Condition::all([guard.clone(), alias.when.clone(), when.clone()]).at_most(super::values::MOST_PARTS),
                false => Condition::Unknown,
            };
            self.effect(&alias.root, when, alias.maybe, why, trail);
        }
    }

    fn touch(&mut self, at: ValueId, root: &Root, through: Option<Span>, unknown: Option<Arc<str>>) {
        let root = root.clone();
        self.touched.push(Touched {
            at,
            root,
            through,
            unknown,
        });
    }

    pub(super) fn effect(&mut self, root: &Root, when: Condition, maybe: Option<Place>, unknown: Option<Arc<str>>, trail: &Trail) {
        let same = |e: &Effect| e.unknown.is_some() == unknown.is_some() && e.maybe.is_some() == maybe.is_some() && e.root == *root;
        if let Some(old) = self.effects.iter_mut().find(|e| same(e)) {
            if old.when != when {
                old.when = old.when.clone().or(when).at_most(super::values::MOST_PARTS);
            }
            return;
        }
        self.effects.push(Effect {
            root: root.clone(),
            when,
            maybe,
            unknown,
            chain: trail.steps(),
        });
    }
}

/// How a write is told, from the store outward. Most writes are known already: the words are made for those that are not.
pub(super) struct Trail<'t> {
    before: &'t [Step],
    last: Option<(Place, &'t dyn Fn() -> String)>,
}

impl<'t> Trail<'t> {
    /// A step in this body.
    pub(super) fn at(place: Place, what: &'t dyn Fn() -> String) -> Self {
        Self::after(&[]).then(place, what)
    }

    /// Steps in a callee.
    pub(super) fn after(before: &'t [Step]) -> Self {
        Self { before, last: None }
    }

    /// A further step in this body.
    pub(super) fn then(self, place: Place, what: &'t dyn Fn() -> String) -> Self {
        Self {
            last: Some((place, what)),
            ..self
        }
    }

    fn end(&self) -> Option<Place> {
        let last = self.last.map(|(place, _)| place);
        last.or_else(|| self.before.last().map(|step| step.place))
    }

    fn steps(&self) -> Vec<Step> {
        let last = self.last.map(|(place, what)| Step { place, what: what() });
        self.before.iter().cloned().chain(last).collect()
    }
}
