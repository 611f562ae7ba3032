//! What a range of statements needs from outside: names and paths with their types, as the parameters of an op.

use super::super::origins;
use super::super::signature::{Base, Type};
use super::super::slice::Refused;
use super::live::{Names, Range};
use super::region::{Input, Outliner, is_keyword, word};
use super::types::{Typed, is_schema_type};
use crate::facts::{ALWAYS, CompareOp, Const, GuardKind, Name, Op, StatementId, StatementKind, UnaryOp, ValueId};
use crate::source::Span;
use std::collections::{BTreeMap, BTreeSet};

impl Outliner<'_, '_> {
    /// What the range needs from outside, and the statements in front of it that go with it.
    pub(super) fn inputs(
        &self,
        range: &Range,
        needed: &Names,
        own: ((ValueId, ValueId), Span),
        doubts: &mut Vec<String>,
    ) -> Result<(Vec<Found>, Vec<StatementId>), Refused> {
        let mut found = Vec::new();
        let mut prelude: Vec<StatementId> = Vec::new();
        let mut seen = needed.clone();
        let mut todo: Vec<(Name, (ValueId, ValueId), Span)> = needed.iter().map(|&n| (n, own.0, own.1)).collect();
        while let Some((name, values, span)) = todo.pop() {
            if !self.locals.contains(&name) {
                continue;
            }
            let Err(why) = self.input(name, range, (values, span), &mut found, doubts) else {
                continue;
            };
            let recomputed = self
                .recomputed(name, range, values.0, doubts)
                .filter(|_| prelude.len() < 8)
                .ok_or(why)?;
            for id in recomputed {
                if prelude.contains(&id) {
                    continue;
                }
                let statement = &self.scope.body().statements[id.index()];
                prelude.push(id);
                let (uses, defines) = self.names_of(id);
                // Of an object it may read other attributes than what was seen before.
                let whole = |n: Name, found: &[Found]| found.iter().any(|f| f.input.text == self.scope.name(n));
                let object = |n: Name| self.scope.function().param(n).is_some() && !whole(n, &found);
                let more = uses.into_iter().filter(|n| !defines.contains(n) && (seen.insert(*n) || object(*n)));
                // A function reads names when it is called.
                let (values, span) = if self.is_function(id) {
                    own
                } else {
                    (statement.values, statement.span)
                };
                todo.extend(more.map(|n| (n, values, span)));
            }
        }
        prelude.sort_unstable();
        let at = |f: &Found| self.first_mention(own.1, &f.input.text);
        found.sort_by_cached_key(|f| (at(f), f.input.text.clone()));
        Ok((found, prelude))
    }

    fn first_mention(&self, span: Span, text: &str) -> usize {
        let source = self.scope.text(span);
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let whole = |at: usize| {
            let before = source[..at].chars().next_back();
            let after = source[at + text.len()..].chars().next();
            !before.is_some_and(|c| word(c) || c == '.') && !after.is_some_and(word)
        };
        source
            .match_indices(text)
            .map(|(at, _)| at)
            .find(|at| whole(*at))
            .unwrap_or(usize::MAX)
    }

    fn input(
        &self,
        name: Name,
        range: &Range,
        (values, span): ((ValueId, ValueId), Span),
        found: &mut Vec<Found>,
        doubts: &mut Vec<String>,
    ) -> Result<(), Refused> {
        let text = self.scope.name(name);
        let named = self.bindings.named(name);
        let used = match named.reaching(values.0) {
            Some(reaching) => vec![reaching],
            None => self.used(name, &named.all, values),
        };
        if used.is_empty() {
            return Err(format!("where `{text}` comes from cannot be told"));
        }
        if !super::types::always_bound(self.scope, &used) {
            return Err(format!("`{text}` may be unbound before the launch"));
        }
        let tested = |typed: Typed| match used[..] {
            [one] => self.behind_test(typed, one, values.0),
            _ => typed,
        };
        let told = self.known_tensor(text, range).or_else(|| self.types.join(&used).map(tested));
        if let Some(typed) = told.filter(|t| is_schema_type(t.ty)) {
            let tuple = typed.ty.list && self.as_tuple(text, &used, values)?;
            if !typed.proven {
                doubts.push(format!("nothing proves that `{text}` is {}", word(typed.ty)));
            }
            let ty = self.narrowed(typed.ty, &used, values);
            let mut input = Found::new(text.to_string(), ty, used);
            input.input.tuple = tuple;
            add(found, input);
            return Ok(());
        }
        self.paths(name, &used, values, span, found, doubts)
    }

    /// A tensor whose attributes are read wherever the range runs is there.
    fn narrowed(&self, ty: Type, used: &[ValueId], values: (ValueId, ValueId)) -> Type {
        let body = self.scope.body();
        let asked = |v: ValueId| matches!(body.op(v), Op::Attr(object, _) | Op::Index(object, _) if used.contains(&object));
        let reads: Vec<ValueId> = used
            .iter()
            .flat_map(|&v| self.bindings.users(v, values))
            .filter(|v| asked(*v))
            .collect();
        let optional = ty.optional && !(ty.is_tensor() && !ty.list && self.always_read(&reads, values));
        Type { optional, ..ty }
    }

    /// A type without `None`, where a place is reached only if the value is something: behind `if x is None: return`.
    pub(super) fn behind_test(&self, typed: Typed, value: ValueId, at: ValueId) -> Typed {
        let body = self.scope.body();
        let mut guard = body.value(at).guard;
        while typed.ty.optional && guard != ALWAYS {
            let own = body.guards[guard.index()];
            if matches!(own.kind, GuardKind::When(condition, holds) if self.says_present(condition, holds, value, 6)) {
                return Typed {
                    ty: Type {
                        optional: false,
                        ..typed.ty
                    },
                    ..typed
                };
            }
            guard = own.parent;
        }
        typed
    }

    /// A condition with this outcome says that a value is not `None`.
    fn says_present(&self, condition: ValueId, holds: bool, value: ValueId, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let body = self.scope.body();
        let none = |v: ValueId| body.op(v) == Op::Const(Const::None);
        match body.op(condition) {
            Op::Compare(CompareOp::Is, a, b) => !holds && a == value && none(b),
            Op::Compare(CompareOp::IsNot, a, b) => holds && a == value && none(b),
            Op::Unary(UnaryOp::Not, inner) => self.says_present(inner, !holds, value, depth),
            Op::And(items) if holds => body.items(items).iter().any(|&v| self.says_present(v, true, value, depth)),
            Op::Or(items) if !holds => body.items(items).iter().any(|&v| self.says_present(v, false, value, depth)),
            _ => false,
        }
    }

    /// The range stands where `isinstance` has told that a name is a tensor.
    fn known_tensor(&self, name: &str, range: &Range) -> Option<Typed> {
        let body = self.scope.body();
        let asked = format!("isinstance({name}, torch.Tensor)");
        let mut inner = range.block.first().copied();
        let mut at = range.parent;
        while let Some(id) = at {
            let statement = &body.statements[id.index()];
            let block = statement
                .blocks
                .first()
                .filter(|b| inner.is_some_and(|i| b.statements.contains(&i)));
            let header = block.map_or("", |b| self.scope.text(b.header));
            let told = header.strip_prefix("if").map(|h| h.trim().trim_end_matches(':').trim()) == Some(asked.as_str());
            if told && statement.kind == StatementKind::If && self.scope.function().assigned.iter().all(|a| self.scope.name(a.0) != name) {
                return Some(Typed::of(Base::Tensor));
            }
            inner = Some(id);
            at = statement.parent;
        }
        None
    }

    /// Of the values that a name stands for those that the range takes.
    fn used(&self, name: Name, all: &BTreeSet<ValueId>, values: (ValueId, ValueId)) -> Vec<ValueId> {
        let taken: Vec<ValueId> = all.iter().copied().filter(|&v| self.bindings.is_taken(v, values)).collect();
        if !taken.is_empty() {
            return taken;
        }
        // Only functions in the range read it, when they are called; or it is a name of an enclosing function.
        let before = |v: &ValueId| *v < values.0 || self.scope.body().op(*v) == Op::Free(name);
        let mut used: Vec<ValueId> = all.iter().copied().filter(before).collect();
        used.extend(self.bindings.free(name, values));
        used.sort_unstable();
        used.dedup();
        used
    }

    /// Whether it must be made a tuple again. A list can only be read.
    fn as_tuple(&self, text: &str, used: &[ValueId], values: (ValueId, ValueId)) -> Result<bool, Refused> {
        let Err(why) = self.list_is_only_read(text, used, values) else {
            return Ok(false);
        };
        if !self.tuples.get() {
            return Err(why);
        }
        let tuple = |v: ValueId| match self.scope.body().op(v) {
            Op::Free(name) => self.types.is_captured_tuple(name),
            _ => !origins::may_be(self.scope.body(), v, &|op| !matches!(op, Op::Tuple(_))),
        };
        if used.iter().all(|&v| tuple(v)) { Ok(true) } else { Err(why) }
    }

    /// A list that is taken through an op arrives as a copy, and as a list.
    fn list_is_only_read(&self, text: &str, used: &[ValueId], values: (ValueId, ValueId)) -> Result<(), Refused> {
        let body = self.scope.body();
        let own = |v: ValueId| used.contains(&v);
        for v in used.iter().flat_map(|&v| self.bindings.users(v, values)) {
            let bad = match body.op(v) {
                Op::Binary(_, a, b) | Op::Augment(_, a, b) | Op::Compare(_, a, b) => own(a) || own(b),
                Op::SetIndex(object, ..) | Op::Delete(object) => own(object),
                Op::Attr(object, _) => own(object),
                // A grid: launchers add to it as to a tuple.
                Op::Index(_, index) => own(index),
                _ => false,
            };
            if bad {
                return Err(format!("`{text}` is a tuple or list, and is used as one"));
            }
        }
        Ok(())
    }

    /// An object whose attributes are read: each attribute with a schema type is an input.
    fn paths(
        &self,
        name: Name,
        used: &[ValueId],
        values: (ValueId, ValueId),
        span: Span,
        found: &mut Vec<Found>,
        doubts: &mut Vec<String>,
    ) -> Result<(), Refused> {
        let text = self.scope.name(name);
        let untyped = || format!("it cannot be told what `{text}` is");
        let body = self.scope.body();
        if self.nested.contains(&name) && self.nested_in(span, name) {
            return Err(format!("a function next to the launch uses `{text}`"));
        }
        let mut todo: Vec<(String, Vec<ValueId>)> = vec![(text.to_string(), used.to_vec())];
        while let Some((prefix, objects)) = todo.pop() {
            let mut parts: BTreeMap<(String, Option<Name>), Vec<ValueId>> = BTreeMap::new();
            let mut users: Vec<ValueId> = objects.iter().flat_map(|&v| self.bindings.users(v, values)).collect();
            users.sort_unstable();
            users.dedup();
            for v in users {
                match body.op(v) {
                    Op::Attr(object, attribute) if objects.contains(&object) => {
                        let path = format!("{prefix}.{}", self.scope.name(attribute));
                        parts.entry((path, Some(attribute))).or_default().push(v);
                    }
                    Op::Index(object, key) if objects.contains(&object) && self.is_item(&prefix, v, key) => {
                        let path = self.scope.text(body.value(v).span).to_string();
                        parts.entry((path, None)).or_default().push(v);
                    }
                    _ => return Err(format!("it cannot be told what `{prefix}` is")),
                }
            }
            if parts.is_empty() {
                return Err(untyped());
            }
            for ((path, attribute), reads) in parts {
                match self.types.join(&reads).filter(|t| is_schema_type(t.ty)) {
                    Some(typed) => {
                        let tuple = typed.ty.list && self.as_tuple(&path, &reads, values)?;
                        if !typed.proven {
                            doubts.push(format!("nothing proves that `{path}` is {}", word(typed.ty)));
                        }
                        if !self.always_read(&reads, values) && !attribute.is_some_and(|a| self.is_set(a)) {
                            doubts.push(format!("`{path}` would be read where it may not exist"));
                        }
                        let mut ty = self.narrowed(typed.ty, &reads, values);
                        // What is read under a condition alone may be missing without it.
                        ty.optional |= ty.base == Base::Tensor && !ty.list && !self.always_read(&reads, values);
                        let mut input = Found::new(path, ty, reads);
                        input.input.tuple = tuple;
                        add(found, input);
                    }
                    None if attribute.is_some() && prefix.matches('.').count() < 4 => todo.push((path, reads)),
                    None => return Err(format!("it cannot be told what `{path}` is")),
                }
            }
        }
        Ok(())
    }

    /// `config["key"]`, written like that.
    fn is_item(&self, prefix: &str, value: ValueId, key: ValueId) -> bool {
        let body = self.scope.body();
        let Op::Const(crate::facts::Const::Str(key)) = body.op(key) else {
            return false;
        };
        let key = self.scope.name(key);
        let text = self.scope.text(body.value(value).span);
        let written = [format!("{prefix}[\"{key}\"]"), format!("{prefix}['{key}']")];
        written.iter().any(|w| w == text)
            && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !key.starts_with(|c: char| c.is_ascii_digit())
    }

    /// A function that is defined in the range reads a name.
    fn nested_in(&self, span: Span, name: Name) -> bool {
        let facts = self.scope.facts();
        let inside = |f: &crate::facts::Function| span.contains(f.span) && f.span != self.scope.function().span;
        facts
            .functions()
            .filter(|(_, f)| inside(f))
            .any(|(_, f)| f.body.values.iter().any(|v| v.op == Op::Free(name)))
    }

    /// Some read stands where the whole range stands.
    fn always_read(&self, reads: &[ValueId], values: (ValueId, ValueId)) -> bool {
        let body = self.scope.body();
        let guard = body.value(values.0).guard;
        reads.iter().any(|&v| body.value(v).guard == guard)
    }

    /// The class sets the attribute in `__init__` or in its body.
    fn is_set(&self, attribute: Name) -> bool {
        let facts = self.scope.facts();
        let Some(class) = self.scope.function().class else { return false };
        let body = facts.classes[class.index()].body;
        let in_init = |f: &crate::facts::Function| {
            f.parent == body
                && facts.name(f.name) == "__init__"
                && f.body
                    .values
                    .iter()
                    .any(|v| matches!(v.op, Op::SetAttr(_, name, _) if name == attribute) && v.guard == crate::facts::ALWAYS)
        };
        facts.function(body).binding(attribute).is_some() || facts.functions().any(|(_, f)| in_init(f))
    }
}

/// An input with the values that it stands for.
pub(super) struct Found {
    pub(super) input: Input,
    pub(super) values: Vec<ValueId>,
}

impl Found {
    fn new(text: String, ty: Type, values: Vec<ValueId>) -> Self {
        let param = String::new();
        Self {
            input: Input {
                text,
                param,
                ty,
                written: false,
                suspected: false,
                tuple: false,
                handed: false,
            },
            values,
        }
    }
}

/// The same name or path once more is no input of its own.
fn add(found: &mut Vec<Found>, input: Found) {
    match found.iter_mut().find(|f| f.input.text == input.input.text) {
        Some(known) => known.values.extend(input.values),
        None => found.push(input),
    }
}

/// Names the parameters: names stay, `self.x` becomes `x` where that is free.
pub(super) fn name_params(inputs: &mut [Input], mut taken: BTreeSet<String>) {
    taken.extend(inputs.iter().filter(|i| !i.is_path()).map(|i| i.text.clone()));
    for input in inputs {
        if !input.is_path() {
            input.param.clone_from(&input.text);
            continue;
        }
        let parts: Vec<&str> = input.text.split(['.', '[']).collect();
        let tail = |n: usize| {
            let word = |p: &&str| p.trim_matches(|c: char| matches!(c, '_' | '"' | '\'' | ']')).to_string();
            let parts: Vec<String> = parts[parts.len() - n..].iter().map(word).collect();
            parts.join("_")
        };
        // Where a tensor lies says nothing of what it is: `total_len.gpu`.
        let tells = |name: &String| parts.len() < 3 || !matches!(name.as_str(), "gpu" | "cpu" | "data" | "tensor");
        let free = |name: &String| !name.is_empty() && !taken.contains(name) && !is_keyword(name) && tells(name);
        let name = (1..=parts.len()).map(tail).find(free);
        let numbered = || (2..).map(|i| format!("{}_{i}", tail(parts.len()))).find(free);
        let name = name.or_else(numbered).unwrap_or_else(|| tail(parts.len()));
        taken.insert(name.clone());
        input.param = name;
    }
}
