//! The grid of a launch that moves alone.

use super::super::super::origins;
use super::super::super::signature;
use super::super::super::signature::Base;
use super::super::super::slice::Refused;
use super::super::region::Outliner;
use super::super::types::{Typed, is_schema_type};
use super::code::{is_name, is_path, names_in};
use super::{Making, Written};
use crate::facts::{Body, FunctionId, Name, Op, Statement, StatementId, StatementKind, ValueId};
use crate::source::Span;
use std::collections::BTreeSet;

impl Outliner<'_, '_> {
    /// `K[grid]`: its parts are integers, or it is a lambda, whose names are handed over.
    pub(super) fn grid(&self, callee: ValueId, grid: ValueId, making: &mut Making) -> Result<(), Refused> {
        let body = self.scope.body();
        let whole = body.value(callee).span;
        let text = self.scope.text(whole);
        let open = text
            .find('[')
            .filter(|_| text.ends_with(']'))
            .ok_or("where its grid stands cannot be told")?;
        let span = Span::new(whole.start + open as u32 + 1, whole.end - 1);
        if let Op::Function(id) = body.op(grid) {
            return self.grid_function(id, span, making);
        }
        if let (Op::Tuple(items) | Op::List(items), true) = (body.op(grid), whole.contains(body.value(grid).span)) {
            return self.grid_display(body.items(items), span, making);
        }
        if let Some((statement, items, display)) = self.grid_made_before(grid, span, making) {
            self.grid_display(&items, display, making)?;
            making.taken.extend(names_in(self.scope.text(span)));
            making.prelude.push(statement);
            return Ok(());
        }
        let written = Written {
            value: grid,
            span,
            through: None,
        };
        let told = self.types.join(&[grid]).filter(|t| t.ty.base == Base::Int && !t.ty.optional);
        let mut ints = Typed::of(Base::Int);
        ints.ty.list = true;
        let typed = told
            .or(self.is_tuple(grid).then_some(ints))
            .ok_or_else(|| self.unread_grid(grid, span))?;
        self.hand(written, Some(typed), "grid", making)
    }

    /// The parts of a grid, where they are written.
    fn grid_display(&self, items: &[ValueId], span: Span, making: &mut Making) -> Result<(), Refused> {
        let text = self.scope.text(span);
        let trimmed = text.trim();
        let inner = trimmed
            .strip_prefix(['(', '['])
            .and_then(|t| t.strip_suffix([')', ']']))
            .unwrap_or(trimmed);
        let parts = signature::split(inner, ',');
        if parts.len() != items.len() {
            return Err(format!("`{trimmed}` is a grid that cannot be read"));
        }
        for (i, (part, &value)) in parts.iter().zip(items).enumerate() {
            let part = part.trim();
            if matches!(self.scope.body().op(value), Op::Star(_)) {
                return Err(format!("`{part}` is of unknown length: how many parts the grid has is not known"));
            }
            let start = span.start + (part.as_ptr() as usize - text.as_ptr() as usize) as u32;
            let written = Written {
                value,
                span: Span::new(start, start + part.len() as u32),
                through: None,
            };
            if !self.hand_leaves(written, making) {
                let name = self.name_among_arguments(part, making).unwrap_or_else(|| format!("grid_{i}"));
                self.hand(written, Some(Typed::of(Base::Int)), &name, making)?;
            }
        }
        Ok(())
    }

    /// What the kernel calls an argument that is written like this.
    fn name_among_arguments(&self, text: &str, making: &Making) -> Option<String> {
        let Op::Call(call) = self.scope.body().op(making.launch) else {
            return None;
        };
        let call = self.scope.body().call(call);
        let same = |w: &Written| self.scope.text(w.span) == text;
        let found = self.arguments(call).into_iter().find(same)?;
        self.param_name(making.launch, found.value)
    }

    /// `grid = (…)` in front of the launch, made of names that mean the same at the launch: the statement, and the display.
    fn grid_made_before(&self, grid: ValueId, span: Span, making: &Making) -> Option<(StatementId, Vec<ValueId>, Span)> {
        let body = self.scope.body();
        let Op::Tuple(items) = body.op(grid) else { return None };
        let name = self.scope.text(span).trim();
        let at = body.statements.iter().position(|s| {
            let own = s.kind == StatementKind::Assign && s.defines.len() == 1;
            own && self.scope.name(s.defines[0]) == name && s.span.contains(body.value(grid).span)
        })?;
        let statement = &body.statements[at];
        let display = body.value(grid).span;
        let text = self.scope.text(statement.span);
        let alone = text.strip_prefix(name)?.trim_start().strip_prefix('=')?.trim_start();
        let start = body.statement_of(making.launch).map(|s| body.statements[s.index()].values.0)?;
        let steady = |n: &Name| {
            let named = self.bindings.named(*n);
            let here = named.reaching(statement.values.0);
            !self.locals.contains(n) || here.is_some() && here == named.reaching(start)
        };
        let whole = alone.trim_matches(['(', ')']) == self.scope.text(display).trim_matches(['(', ')']);
        let near = self.encloses(statement.parent, &making.range);
        (whole && near && is_name(name) && statement.uses.iter().all(steady))
            .then(|| (StatementId(at as u32), body.items(items).to_vec(), display))
    }

    /// Hands over what a number is made of, where the op can then work it out.
    fn hand_leaves(&self, written: Written, making: &mut Making) -> bool {
        let text = self.scope.text(written.span);
        if is_path(text) {
            return false;
        }
        let before = making.clone();
        let done = self.hand_made_of(written, making).is_some() && self.derived(written, making).is_some();
        if done {
            // It adds nothing that was not there: only paths in it are written anew.
            let handed = self.hand(written, Some(Typed::of(Base::Int)), "", making);
            debug_assert!(handed.is_ok());
        } else {
            *making = before;
        }
        done
    }

    fn hand_made_of(&self, written: Written, making: &mut Making) -> Option<()> {
        let body = self.scope.body();
        let start = body.statement_of(making.launch).map(|s| body.statements[s.index()].values.0)?;
        let names = names_in(self.scope.text(written.span));
        for name in names.iter().filter(|n| self.is_local(n)) {
            if making.bare.contains_key(name) || making.constants.contains(name) {
                continue;
            }
            let id = self.locals.iter().copied().find(|n| self.scope.name(*n) == name.as_str())?;
            let value = self.bindings.named(id).reaching(start)?;
            if self.means_the_same(value) {
                self.constant(name, value, making).then_some(())?;
                continue;
            }
            let within = |v: &ValueId| written.span.contains(body.value(*v).span);
            let all = body.iter().map(|(v, _)| v).filter(within);
            let read: Vec<ValueId> = all
                .filter(|v| matches!(body.op(*v), Op::Attr(object, _) if object == value))
                .collect();
            match self.typed(making.launch, value, name) {
                Ok(typed) if typed.proven && matches!(typed.ty.base, Base::Int | Base::Tensor) && !typed.ty.list => {
                    self.push(making, name.clone(), name, typed, (value, None));
                    making.bare.insert(name.clone(), value);
                }
                _ if read.is_empty() => return None,
                _ => {
                    for v in read {
                        let span = body.value(v).span;
                        let path = Written {
                            value: v,
                            span,
                            through: None,
                        };
                        let typed = self.typed(making.launch, v, self.scope.text(span)).ok()?;
                        (typed.proven && typed.ty.base == Base::Int && !typed.ty.list).then_some(())?;
                        self.hand(path, Some(typed), "", making).ok()?;
                    }
                }
            }
        }
        Some(())
    }

    /// Why a grid cannot be handed over.
    pub(super) fn unread_grid(&self, grid: ValueId, span: Span) -> Refused {
        let text = self.scope.text(span);
        let outer = match self.scope.body().op(grid) {
            Op::Free(name) => self.types.enclosing(name).map(|outer| (self.scope.program.function(outer), name)),
            _ => None,
        };
        let made = outer.and_then(|(outer, name)| Some((outer, outer.assigned.iter().find(|a| a.0 == name)?)));
        if made.is_some_and(|(outer, (_, values))| values.iter().all(|&v| matches!(outer.body.op(v), Op::Function(_)))) {
            return format!("a callable would be handed over: `{text}` makes the grid");
        }
        format!("it cannot be told what the grid `{text}` is")
    }

    /// The function that makes the grid goes along, and the names that it reads are handed over.
    pub(super) fn grid_function(&self, id: FunctionId, span: Span, making: &mut Making) -> Result<(), Refused> {
        let facts = self.scope.facts();
        let body = self.scope.body();
        let function = facts.function(id);
        let named = self.scope.text(span).trim();
        let callable = || format!("a callable would be handed over: `{named}` makes the grid");
        if function.params.iter().any(|p| p.default.is_some()) || !function.decorators.is_empty() {
            return Err(callable());
        }
        let start = body.statement_of(making.launch).map(|s| body.statements[s.index()].values.0);
        let names = self.read_inside(id);
        let called = |name: &&Name| {
            self.bindings
                .named(**name)
                .all
                .iter()
                .any(|&v| matches!(body.op(v), Op::Function(_)))
        };
        if let Some(name) = names.iter().find(called) {
            let text = self.scope.name(*name);
            return Err(format!("a callable would be handed over: what makes the grid calls `{text}`"));
        }
        for name in names {
            let text = self.scope.name(name);
            if making.bare.contains_key(text) {
                continue;
            }
            let bound = self.bindings.named(name);
            let value = start.and_then(|start| bound.reaching(start));
            let (value, typed) = match value {
                Some(value) => (value, self.typed(making.launch, value, text)?),
                None => self.whatever_it_is(&bound.all, text)?,
            };
            self.push(making, text.to_string(), text, typed, (value, None));
            making.bare.insert(text.to_string(), value);
        }
        if is_name(named) {
            let whole = |s: &Statement| matches!(s.kind, StatementKind::Def | StatementKind::Assign) && s.span.contains(function.span);
            let made = body.statements.iter().position(|s| whole(s) && s.defines.len() == 1);
            let made = made.filter(|&at| self.scope.name(body.statements[at].defines[0]) == named);
            let made = made.ok_or_else(callable)?;
            making.taken.extend(names_in(self.scope.text(body.statements[made].span)));
            making.prelude.push(StatementId(made as u32));
        }
        Ok(())
    }

    /// What a name is, whichever of its values it has.
    fn whatever_it_is(&self, all: &BTreeSet<ValueId>, text: &str) -> Result<(ValueId, Typed), Refused> {
        let unknown = || format!("where `{text}` comes from cannot be told");
        let given: Vec<ValueId> = all.iter().copied().collect();
        let typed = self.types.join(&given).filter(|t| is_schema_type(t.ty) && !t.ty.is_tensor());
        Ok((*given.first().ok_or_else(unknown)?, typed.ok_or_else(unknown)?))
    }

    /// Local names that a function or one inside it reads.
    pub(super) fn read_inside(&self, id: FunctionId) -> BTreeSet<Name> {
        let facts = self.scope.facts();
        let mut inside = vec![id];
        for (inner, function) in facts.functions() {
            if inner != id && inside.contains(&function.parent) {
                inside.push(inner);
            }
        }
        let binds = |name: Name| {
            let own =
                |f: &&FunctionId| facts.function(**f).param(name).is_some() || facts.function(**f).assigned.iter().any(|a| a.0 == name);
            inside.iter().any(|f| own(&f))
        };
        let all = inside.iter().flat_map(|f| &facts.function(*f).body.values);
        let read = all.filter_map(|v| match v.op {
            Op::Free(name) if self.locals.contains(&name) && !binds(name) => Some(name),
            _ => None,
        });
        read.collect()
    }

    /// On every path a tuple of known length.
    pub(super) fn is_tuple(&self, value: ValueId) -> bool {
        let body = self.scope.body();
        let whole = |body: &Body, op: Op| match op {
            Op::Tuple(items) => body.items(items).iter().all(|&v| !matches!(body.op(v), Op::Star(_))),
            _ => false,
        };
        // `grid, block = config(n)`
        let handed_out = |call: ValueId, index: u16| {
            let Op::Call(call) = body.op(call) else { return false };
            let function = self.scope.project_function(body.call(call).callee);
            function.is_some_and(|f| {
                let inner = &self.scope.program.function(f).body;
                let results: Vec<ValueId> = inner
                    .iter()
                    .filter_map(|(_, v)| match v.op {
                        Op::Return(result) => Some(result),
                        _ => None,
                    })
                    .collect();
                let part = |result: ValueId| match inner.op(result) {
                    Op::Tuple(items) => inner.items(items).get(index as usize).copied(),
                    _ => None,
                };
                let is_grid = |v: ValueId| !origins::may_be(inner, v, &|op| !whole(inner, op));
                !results.is_empty() && results.iter().all(|&v| part(v).is_some_and(is_grid))
            })
        };
        let made = |op: Op| match op {
            Op::Unpack { value, index, rest: false } => handed_out(value, index),
            Op::Call(call) => self.scope.project_function(body.call(call).callee).is_some_and(|f| {
                let inner = &self.scope.program.function(f).body;
                let mut results = inner.iter().filter_map(|(_, v)| match v.op {
                    Op::Return(result) => Some(result),
                    _ => None,
                });
                let mut results = results.by_ref().peekable();
                results.peek().is_some() && results.all(|v| whole(inner, inner.op(v)))
            }),
            op => whole(body, op),
        };
        !origins::may_be(body, value, &|op| !made(op))
    }
}
