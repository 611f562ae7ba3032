//! Where no run of statements can be an op: the launch alone, whose arguments are the op's.
//!
//! What the launch is given is worked out where it was, by whatever that takes; the kernel says what it is.

use super::super::fake::short;
use super::super::scope::Kind;
use super::super::signature::{self, Base, Type};
use super::super::slice::Refused;
use super::super::spread::{elements, entries, spread};
use super::evidence::{self, Role};
use super::live::Range;
use super::region::{Input, Outliner, Region, is_keyword, what_is_written, word};
use super::types::{Typed, is_schema_type};
use super::values;
use crate::facts::{Arg, ArgKind, Body, Call, FunctionId, FunctionKind, Op, ParamKind, StatementKind, ValueId};
use crate::finding::Edit;
use crate::program::KernelId;
use crate::source::Span;
use std::collections::{BTreeMap, BTreeSet};

/// An argument of the op in the making, and which argument of the launch it is or is part of.
struct Handed {
    input: Input,
    value: ValueId,
    through: Option<Span>,
}

/// A region in the making.
struct Making {
    launch: ValueId,
    handed: Vec<Handed>,
    edits: Vec<Edit>,
    doubts: Vec<String>,
    /// Names that the moved statement uses.
    taken: BTreeSet<String>,
    /// Names that are handed over as they are.
    bare: BTreeMap<String, ValueId>,
}

/// An expression as it stands in the launch.
#[derive(Clone, Copy)]
struct Written {
    value: ValueId,
    span: Span,
    /// The argument of the launch that it is or is part of.
    through: Option<Span>,
}

impl Outliner<'_, '_> {
    /// The region of one launch that is given nothing but its arguments.
    pub(super) fn launch_alone(&self, launch: ValueId) -> Result<Region, Refused> {
        let body = self.scope.body();
        let Op::Call(id) = body.op(launch) else {
            return Err("the kernel is unresolved: it is launched without a call".to_string());
        };
        let call = body.call(id);
        let own = self.func.launches.iter().find(|l| l.value == Some(launch));
        let callee = || short(self.scope, call.callee);
        let own = own.ok_or_else(|| format!("opaque callee: `{}` runs kernels, and what it takes is not known", callee()))?;
        let Op::Index(kernel, grid) = body.op(call.callee) else {
            return Err(format!(
                "a callable is handed on: `{}` launches the kernel that it is given",
                callee()
            ));
        };
        if own.kernels.is_empty() || own.via.is_some() || !self.is_of_module(kernel) {
            return Err(format!(
                "the kernel is unresolved: which one `{}` is cannot be told in the op",
                short(self.scope, kernel)
            ));
        }
        let range = self.statement_alone(launch)?;
        let span = self.span(&range);
        let mut making = Making {
            launch,
            handed: Vec::new(),
            edits: Vec::new(),
            doubts: Vec::new(),
            // What is local is handed over; the rest keeps its names.
            taken: names_in(self.scope.text(span)).into_iter().filter(|n| !self.is_local(n)).collect(),
            bare: BTreeMap::new(),
        };
        let written = self.arguments(call);
        for argument in written.iter().filter(|w| is_name(self.scope.text(w.span))) {
            if !self.means_the_same(argument.value) {
                self.hand(*argument, None, "", &mut making)?;
            }
        }
        self.grid(call.callee, grid, &mut making)?;
        for arg in &call.args {
            self.argument(arg, &mut making)?;
        }
        self.mark_written(call, &mut making)?;
        self.writes_by_address(span)?;
        if !making.handed.iter().any(|h| h.input.written) {
            return Err("an op that neither writes nor returns anything would be dropped by the compiler".to_string());
        }
        making.doubts.sort();
        making.doubts.dedup();
        let place = |h: &Handed| (!h.input.ty.is_tensor(), h.through.map(|span| span.start));
        making.handed.sort_by_key(place);
        let inputs = making.handed.into_iter().map(|h| h.input).collect();
        Ok(Region::of_launch(range, inputs, making.edits, making.doubts))
    }

    /// The statement that is the launch, and nothing else.
    fn statement_alone(&self, launch: ValueId) -> Result<Range, Refused> {
        let body = self.scope.body();
        let range = self
            .around(&[launch])?
            .into_iter()
            .next()
            .ok_or("a launch stands in no statement")?;
        let statement = &body.statements[range.block[range.first].index()];
        if statement.kind != StatementKind::Expression || statement.span != body.value(launch).span {
            return Err("what the launch hands back is used".to_string());
        }
        self.stays(statement.values)?;
        Ok(range)
    }

    /// Arguments without stars, where they stand.
    fn arguments(&self, call: &Call) -> Vec<Written> {
        let plain = call
            .args
            .iter()
            .filter(|a| matches!(a.kind, ArgKind::Positional | ArgKind::Keyword(_)));
        plain.map(|a| self.written(a)).collect()
    }

    fn written(&self, arg: &Arg) -> Written {
        let text = self.scope.text(arg.span);
        let start = match arg.kind {
            ArgKind::Keyword(_) => text.find('=').map_or(0, |at| {
                let rest = &text[at + 1..];
                at + 1 + rest.len() - rest.trim_start().len()
            }),
            ArgKind::Positional | ArgKind::Star | ArgKind::StarStar => 0,
        };
        Written {
            value: arg.value,
            span: Span::new(arg.span.start + start as u32, arg.span.end),
            through: Some(arg.span),
        }
    }

    /// A name of the module, or something that one holds.
    fn is_of_module(&self, value: ValueId) -> bool {
        match self.scope.body().op(value) {
            Op::Free(name) => !self.locals.contains(&name),
            Op::Attr(object, _) => self.is_of_module(object),
            _ => false,
        }
    }

    fn is_local(&self, name: &str) -> bool {
        let facts = self.scope.facts();
        self.locals.iter().any(|n| facts.name(*n) == name)
    }

    /// A dict of options that the module holds: no tensor is in it.
    fn holds_constants(&self, value: ValueId) -> bool {
        let Op::Free(name) = self.scope.body().op(value) else {
            return false;
        };
        let module = &self.scope.facts().module().body;
        let constant = |v: ValueId| matches!(module.op(v), Op::Const(_));
        let options = |v: ValueId| match module.op(v) {
            Op::Dict(items) => module.items(items).iter().all(|&v| constant(v)),
            Op::Call(call) => {
                let call = module.call(call);
                matches!(module.op(call.callee), Op::Free(n) if self.scope.name(n) == "dict") && call.args.iter().all(|a| constant(a.value))
            }
            _ => false,
        };
        let bound = self.scope.facts().module().binding(name).filter(|_| self.is_of_module(value));
        bound.is_some_and(|v| match module.op(v) {
            Op::Select(_, yes, no) => options(yes) && options(no),
            _ => options(v),
        })
    }

    /// A constant, or something of the module.
    fn means_the_same(&self, value: ValueId) -> bool {
        match self.scope.body().op(value) {
            Op::Const(_) => true,
            Op::Unary(_, a) => self.means_the_same(a),
            _ => self.is_of_module(value),
        }
    }

    /// `K[grid]`: its parts are integers, or it is a lambda, whose names are handed over.
    fn grid(&self, callee: ValueId, grid: ValueId, making: &mut Making) -> Result<(), Refused> {
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
            let text = self.scope.text(span);
            let trimmed = text.trim();
            let inner = trimmed
                .strip_prefix(['(', '['])
                .and_then(|t| t.strip_suffix([')', ']']))
                .unwrap_or(trimmed);
            let parts = signature::split(inner, ',');
            let items = body.items(items);
            if parts.len() != items.len() {
                return Err(format!("`{}` is a grid that cannot be read", short(self.scope, grid)));
            }
            for (i, (part, &value)) in parts.iter().zip(items).enumerate() {
                let part = part.trim();
                if matches!(body.op(value), Op::Star(_)) {
                    return Err(format!("`{part}` is of unknown length: how many parts the grid has is not known"));
                }
                let start = span.start + (part.as_ptr() as usize - text.as_ptr() as usize) as u32;
                let written = Written {
                    value,
                    span: Span::new(start, start + part.len() as u32),
                    through: None,
                };
                self.hand(written, Some(Typed::of(Base::Int)), &format!("grid_{i}"), making)?;
            }
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
        self.hand(written, Some(typed), "grid", making)?;
        // Launchers add to a grid as to a tuple.
        if let Some(handed) = making.handed.iter_mut().find(|h| h.value == grid && typed.ty.list) {
            handed.input.tuple = true;
        }
        Ok(())
    }

    /// Why a grid cannot be handed over.
    fn unread_grid(&self, grid: ValueId, span: Span) -> Refused {
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

    fn grid_function(&self, id: FunctionId, span: Span, making: &mut Making) -> Result<(), Refused> {
        let facts = self.scope.facts();
        let function = facts.function(id);
        let named = self.scope.text(span).trim();
        let written = self.as_lambda(id);
        let written = written.ok_or_else(|| format!("a callable would be handed over: `{named}` makes the grid"))?;
        let own = |name| function.param(name).is_some();
        let read = function.body.values.iter().filter_map(|v| match v.op {
            Op::Free(name) if !own(name) && self.locals.contains(&name) => Some(name),
            _ => None,
        });
        let names: BTreeSet<_> = read.collect();
        for name in names {
            let text = self.scope.name(name);
            if making.bare.contains_key(text) {
                continue;
            }
            let start = self
                .scope
                .body()
                .statement_of(making.launch)
                .map(|s| self.scope.body().statements[s.index()].values.0);
            let value = start.and_then(|start| self.bindings.named(name).reaching(start));
            let value = value.ok_or_else(|| format!("where `{text}` comes from cannot be told"))?;
            let typed = self.typed(making.launch, value, text)?;
            self.push(making, text.to_string(), text, typed, (value, None));
            making.bare.insert(text.to_string(), value);
        }
        if is_name(named) {
            making.taken.extend(names_in(&written));
            making.edits.push(Edit::replace(span, one_line(&written)?));
        }
        Ok(())
    }

    /// A lambda as it is written, or a function that only returns an expression as one.
    fn as_lambda(&self, id: FunctionId) -> Option<String> {
        let facts = self.scope.facts();
        let function = facts.function(id);
        // What is nested reads names of its own.
        if facts.functions().any(|(_, f)| f.parent == id) {
            return None;
        }
        if function.kind == FunctionKind::Lambda {
            return Some(self.scope.text(function.span).to_string());
        }
        let plain = function.kind == FunctionKind::Def && function.decorators.is_empty() && function.docstring.is_none();
        let [only] = function.body.top.as_slice() else { return None };
        let statement = &function.body.statements[only.index()];
        let params: Vec<&str> = function.params.iter().map(|p| self.scope.name(p.name)).collect();
        let bare = function
            .params
            .iter()
            .all(|p| p.default.is_none() && p.kind == ParamKind::Positional);
        let value = self.scope.text(statement.span).strip_prefix("return")?.trim();
        (plain && bare && statement.kind == StatementKind::Return).then(|| format!("lambda {}: {value}", params.join(", ")))
    }

    /// On every path a tuple of known length.
    fn is_tuple(&self, value: ValueId) -> bool {
        let body = self.scope.body();
        let whole = |body: &Body, op: Op| match op {
            Op::Tuple(items) => body.items(items).iter().all(|&v| !matches!(body.op(v), Op::Star(_))),
            _ => false,
        };
        let made = |op: Op| match op {
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
        !values::may_be(body, value, &|op| !made(op))
    }

    fn argument(&self, arg: &Arg, making: &mut Making) -> Result<(), Refused> {
        let unknown = || {
            format!(
                "`{}` is of unknown length: which arguments it hands over is not known",
                self.scope.text(arg.span)
            )
        };
        match arg.kind {
            ArgKind::Positional | ArgKind::Keyword(_) => {
                let name = match arg.kind {
                    ArgKind::Keyword(name) => self.scope.name(name).to_string(),
                    _ => self.param_name(making.launch, arg.value).unwrap_or_default(),
                };
                self.hand(self.written(arg), None, &name, making)
            }
            ArgKind::Star => {
                let told = self
                    .types
                    .join(&[arg.value])
                    .filter(|t| t.ty.list && is_schema_type(t.ty) && !t.ty.is_tensor());
                let inner = Span::new(arg.span.start + 1, arg.span.end);
                if let Some(typed) = told {
                    let written = Written {
                        value: arg.value,
                        span: inner,
                        through: Some(arg.span),
                    };
                    return self.hand(written, Some(typed), "values", making);
                }
                let parts = elements(self.scope.body(), arg.value).ok_or_else(unknown)?;
                let all = parts
                    .into_iter()
                    .enumerate()
                    .map(|(i, value)| (None, value, format!("[{i}]")))
                    .collect();
                self.each(arg, all, making).ok_or_else(unknown)?
            }
            ArgKind::StarStar if self.is_of_module(arg.value) => Ok(()),
            ArgKind::StarStar => {
                let entries = entries(self.scope, arg.value).ok_or_else(unknown)?;
                let keyed = entries.into_iter().map(|(kind, value)| match kind {
                    ArgKind::Keyword(key) => {
                        let key = self.scope.name(key);
                        Some((Some(key.to_string()), value, format!("[\"{key}\"]")))
                    }
                    _ => None,
                });
                let all = keyed.collect::<Option<Vec<_>>>().ok_or_else(unknown)?;
                self.each(arg, all, making).ok_or_else(unknown)?
            }
        }
    }

    /// What stars spread, one by one: by a name that it has, else out of what holds it.
    fn each(&self, arg: &Arg, parts: Vec<(Option<String>, ValueId, String)>, making: &mut Making) -> Option<Result<(), Refused>> {
        let holder = self.scope.text(arg.span).trim_start_matches('*').trim();
        if !is_name(holder) {
            return None;
        }
        let mut written = Vec::new();
        for (key, value, index) in parts {
            let text = match self.name_of(making.launch, value) {
                _ if self.means_the_same(value) => {
                    let constant = self.scope.text(self.scope.body().value(value).span).to_string();
                    written.push(key.map_or(constant.clone(), |key| format!("{key}={constant}")));
                    continue;
                }
                Some(name) => name,
                None => format!("{holder}{index}"),
            };
            let typed = match self.typed(making.launch, value, &text) {
                Ok(typed) => typed,
                Err(why) => return Some(Err(why)),
            };
            let known = making.handed.iter().find(|h| h.input.text == text).map(|h| h.input.param.clone());
            let param = known.clone().unwrap_or_else(|| match is_name(&text) {
                true => text.clone(),
                false => {
                    let wanted = key.clone().or_else(|| self.param_name(making.launch, value));
                    free_name(&wanted.unwrap_or_default(), making)
                }
            });
            if known.is_none() {
                self.push(making, text, &param, typed, (value, Some(arg.span)));
            } else {
                self.again(making, typed, (value, Some(arg.span)));
            }
            written.push(key.map_or(param.clone(), |key| format!("{key}={param}")));
        }
        making.edits.push(Edit::replace(arg.span, written.join(", ")));
        Some(Ok(()))
    }

    /// A local name that stands for a value where the launch stands.
    fn name_of(&self, launch: ValueId, value: ValueId) -> Option<String> {
        let body = self.scope.body();
        let start = body.statements[body.statement_of(launch)?.index()].values.0;
        let function = self.scope.function();
        let names = function.params.iter().map(|p| p.name).chain(function.assigned.iter().map(|a| a.0));
        let mut own = names.filter(|n| self.bindings.named(*n).reaching(start) == Some(value));
        own.next().map(|n| self.scope.name(n).to_string())
    }

    /// What the kernel calls an argument.
    fn param_name(&self, launch: ValueId, value: ValueId) -> Option<String> {
        let bound = self.bound(launch)?;
        let &(kernel, param, _) = bound.iter().find(|b| b.2 == value)?;
        let at = self.scope.program.kernel(kernel).function;
        let name = self.scope.program.param_name(at, param).to_lowercase();
        let name = name.strip_suffix("_ptr").unwrap_or(&name).trim_matches('_').to_string();
        (!name.is_empty()).then_some(name)
    }

    /// Hands an expression over, unless the op can work it out as well.
    fn hand(&self, written: Written, typed: Option<Typed>, name: &str, making: &mut Making) -> Result<(), Refused> {
        let text = self.scope.text(written.span);
        if self.means_the_same(written.value) || !is_name(text) && self.is_derived(written, making) {
            return Ok(());
        }
        let typed = match typed {
            Some(typed) => typed,
            None => self.typed(making.launch, written.value, text)?,
        };
        let place = (written.value, written.through);
        if is_name(text) {
            if making.bare.insert(text.to_string(), written.value).is_none() {
                self.push(making, text.to_string(), text, typed, place);
            } else {
                self.again(making, typed, place);
            }
            return Ok(());
        }
        let text = one_line(text)?;
        let known = making.handed.iter().find(|h| h.input.text == text).map(|h| h.input.param.clone());
        let param = match known {
            Some(param) => {
                self.again(making, typed, place);
                param
            }
            None => {
                let wanted = last_name(&text).unwrap_or_else(|| name.to_lowercase());
                let param = free_name(&wanted, making);
                self.push(making, text, &param, typed, place);
                param
            }
        };
        making.edits.push(Edit::replace(written.span, param));
        Ok(())
    }

    /// Made of names that are handed over, by what a tensor says of itself and by numbers.
    fn is_derived(&self, written: Written, making: &Making) -> bool {
        let names = names_in(self.scope.text(written.span));
        names.iter().filter(|n| self.is_local(n)).all(|n| making.bare.contains_key(n))
            && self.is_plain(written.value, written.span, making, 12)
    }

    fn is_plain(&self, value: ValueId, span: Span, making: &Making, depth: u32) -> bool {
        const ASKS: [&str; 5] = ["stride", "size", "numel", "element_size", "dim"];
        let Some(depth) = depth.checked_sub(1) else { return false };
        let body = self.scope.body();
        if !span.contains(body.value(value).span) {
            return making.bare.values().any(|v| *v == value);
        }
        let plain = |v: ValueId| self.is_plain(v, span, making, depth);
        match body.op(value) {
            Op::Const(_) => true,
            Op::Unary(_, a) => plain(a),
            Op::Binary(_, a, b) | Op::Compare(_, a, b) => plain(a) && plain(b),
            Op::Attr(object, name) => {
                self.is_of_module(value)
                    || self.scope.kind(object) == Kind::Tensor
                        && matches!(self.scope.name(name), "shape" | "dtype" | "ndim")
                        && plain(object)
            }
            Op::Index(object, at) => self.scope.kind(object) == Kind::Shape && plain(object) && plain(at),
            Op::Free(_) => self.is_of_module(value),
            Op::Call(call) => {
                let call = body.call(call);
                let asks = match body.op(call.callee) {
                    Op::Attr(object, name) => {
                        self.scope.kind(object) == Kind::Tensor && ASKS.contains(&self.scope.name(name)) && plain(object)
                    }
                    _ => false,
                };
                let counts = matches!(
                    self.scope.dotted(call.callee).as_deref(),
                    Some("triton.cdiv" | "triton.next_power_of_2" | "min" | "max" | "len" | "int" | "bool")
                );
                (asks || counts)
                    && call
                        .args
                        .iter()
                        .all(|a| !matches!(a.kind, ArgKind::Star | ArgKind::StarStar) && plain(a.value))
            }
            _ => false,
        }
    }

    fn push(&self, making: &mut Making, text: String, param: &str, typed: Typed, (value, through): (ValueId, Option<Span>)) {
        if !typed.proven {
            making.doubts.push(format!("nothing proves that `{text}` is {}", word(typed.ty)));
        }
        making.taken.insert(param.to_string());
        let input = Input {
            text,
            param: param.to_string(),
            ty: typed.ty,
            written: false,
            tuple: false,
            handed: true,
        };
        making.handed.push(Handed { input, value, through });
    }

    /// The same expression once more: no parameter of its own, but the launch may write through this one.
    fn again(&self, making: &mut Making, typed: Typed, (value, through): (ValueId, Option<Span>)) {
        let input = Input {
            text: String::new(),
            param: String::new(),
            ty: typed.ty,
            written: false,
            tuple: false,
            handed: true,
        };
        making.handed.push(Handed { input, value, through });
    }

    /// `triton.cdiv(…)`, `len(…)`: whatever it is made of.
    fn is_count(&self, value: ValueId) -> bool {
        let body = self.scope.body();
        let Op::Call(call) = body.op(value) else { return false };
        let name = self.scope.dotted(body.call(call).callee);
        matches!(name.as_deref(), Some("triton.cdiv" | "triton.next_power_of_2" | "len" | "int"))
    }

    /// Every kernel takes it for a number.
    fn number(&self, launch: ValueId, value: ValueId) -> Option<Base> {
        let bound = self.bound(launch)?;
        let own = bound.iter().filter(|b| b.2 == value);
        let kinds: Option<Vec<Base>> = own.map(|&(kernel, param, _)| evidence::number(self.scope, kernel, param)).collect();
        let kinds = kinds.filter(|kinds| !kinds.is_empty())?;
        let whole = kinds.iter().all(|base| *base == Base::Int);
        Some(if whole { Base::Int } else { Base::Number })
    }

    /// Why an argument has no type.
    fn untyped(&self, launch: ValueId, value: ValueId, text: &str) -> Refused {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let bound = self.bound(launch).unwrap_or_default();
        let called = |&(kernel, param, _): &(KernelId, u16, ValueId)| evidence::is_called(self.scope, kernel, param, 3);
        if bound.iter().filter(|b| b.2 == value).any(called) {
            return format!("a callable would be handed over: the kernel calls `{text}`");
        }
        format!("it cannot be told what `{text}` is")
    }

    /// Which parameter of which kernel each argument becomes.
    fn bound(&self, launch: ValueId) -> Option<Vec<(KernelId, u16, ValueId)>> {
        let body = self.scope.body();
        let Op::Call(call) = body.op(launch) else { return None };
        let own = self.func.launches.iter().find(|l| l.value == Some(launch))?;
        let spread = spread(self.scope, body.call(call));
        let mut all = Vec::new();
        for &kernel in &own.kernels {
            let bound = evidence::bind(self.scope, &spread, kernel);
            all.extend(bound.into_iter().map(|(param, value)| (kernel, param, value)));
        }
        Some(all)
    }

    /// What an argument is: by itself, else by what the kernels do with it.
    fn typed(&self, launch: ValueId, value: ValueId, text: &str) -> Result<Typed, Refused> {
        let own = self.types.join(&[value]).filter(|t| is_schema_type(t.ty));
        if let Some(typed) = own {
            return Ok(typed);
        }
        let base = match self.types.evidence.role(value) {
            Some(Role::Pointer) => Base::Tensor,
            Some(Role::Int) => Base::Int,
            Some(Role::Number) => Base::Number,
            Some(Role::Real) => Base::Float,
            Some(Role::Text) => Base::Text,
            Some(Role::Flag) => Base::Bool,
            None if self.is_count(value) => Base::Int,
            None => self.number(launch, value).ok_or_else(|| self.untyped(launch, value, text))?,
        };
        let ty = Type {
            base,
            list: false,
            optional: self.scope.may_be_none(value),
        };
        Ok(Typed { ty, proven: false })
    }

    /// Marks what the launch writes.
    fn mark_written(&self, call: &Call, making: &mut Making) -> Result<(), Refused> {
        let memory = &self.func.memory;
        let spreads_constants = |span: Span| {
            let own = |a: &&Arg| a.span == span && a.kind == ArgKind::StarStar;
            call.args.iter().find(own).is_some_and(|a| self.holds_constants(a.value))
        };
        let writes = memory.writes.iter().filter(|w| w.at == making.launch);
        for write in writes.filter(|w| !w.through.is_some_and(spreads_constants)) {
            let through = write.through.filter(|span| call.args.iter().any(|a| a.span == *span));
            let hit = making.handed.iter().position(|h| {
                let meant = through.is_none_or(|span| h.through == Some(span));
                h.input.ty.is_tensor() && meant && memory.shared_by(h.value).iter().any(|s| s.piece == write.piece)
            });
            let Some(hit) = hit else {
                return Err(what_is_written(self.scope, self.func, write));
            };
            // The same expression twice is one parameter.
            let value = making.handed[hit].value;
            let named = making.handed.iter().position(|h| !h.input.text.is_empty() && h.value == value);
            let handed = &mut making.handed[named.unwrap_or(hit)];
            handed.input.written = true;
            if let Some(why) = &write.unknown {
                making.doubts.push(format!("`{}`: {why}", handed.input.text));
            }
        }
        making.handed.retain(|h| !h.input.text.is_empty());
        match making.handed.iter().find(|h| h.input.written && h.input.ty.list) {
            Some(h) => Err(format!("it writes tensors of the list `{}`", h.input.text)),
            None => Ok(()),
        }
    }
}

/// An expression on one line.
fn one_line(text: &str) -> Result<String, Refused> {
    let text = text.trim();
    if !text.contains('\n') {
        return Ok(text.to_string());
    }
    if ["#", "\"\"\"", "'''", "\\"].iter().any(|c| text.contains(c)) {
        let first = text.lines().next().unwrap_or_default();
        return Err(format!("`{first}…` is written over several lines, with more than code in them"));
    }
    let mut joined = String::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        // The comma in front of a closing one stays: it may make a tuple.
        let closes = line.starts_with([')', ']', '}']);
        if !closes && !joined.is_empty() && !joined.ends_with(['(', '[', '{']) {
            joined.push(' ');
        }
        joined.push_str(line);
    }
    Ok(joined)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_') && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// Names that code reads: no attributes, no keywords of calls.
fn names_in(text: &str) -> BTreeSet<String> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = BTreeSet::new();
    let mut rest = text;
    let mut before = None;
    while let Some(at) = rest.find(word) {
        before = rest[..at].chars().rfind(|c| !c.is_whitespace()).or(before);
        let from = &rest[at..];
        let end = from.find(|c| !word(c)).unwrap_or(from.len());
        let after = from[end..].trim_start();
        let keyword = after.starts_with('=') && !after.starts_with("==");
        if before != Some('.') && !keyword && is_name(&from[..end]) {
            found.insert(from[..end].to_string());
        }
        before = from[..end].chars().next_back();
        rest = &from[end..];
    }
    found
}

/// A name that the moved statement does not use.
fn free_name(wanted: &str, making: &Making) -> String {
    let plain = wanted.trim_matches('_');
    let wanted = if plain.is_empty() || is_keyword(plain) || !is_name(plain) {
        "value"
    } else {
        plain
    };
    if !making.taken.contains(wanted) {
        return wanted.to_string();
    }
    let mut numbered = (2..).map(|i| format!("{wanted}_{i}"));
    numbered.find(|n| !making.taken.contains(n)).unwrap_or_default()
}

/// `seq_lens` of `cam.seq_lens`.
fn last_name(text: &str) -> Option<String> {
    let path = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    let last = text.rsplit('.').next()?.trim_matches('_');
    (path && is_name(last)).then(|| last.to_string())
}

#[cfg(test)]
mod tests {
    use super::{last_name, names_in, one_line};

    #[test]
    fn code_over_several_lines_stands_on_one() {
        let text = "f(\n    a,\n    \"b c\",\n)[\n    0\n]";
        assert_eq!(one_line(text).as_deref(), Ok("f(a, \"b c\",)[0]"));
        assert!(one_line("f(\n    a,  # why\n)").is_err());
    }

    #[test]
    fn a_path_is_named_by_its_end() {
        assert_eq!(last_name("cam.seq_lens").as_deref(), Some("seq_lens"));
        assert_eq!(last_name("self._stride").as_deref(), Some("stride"));
        assert_eq!(last_name("x[0]"), None);
        assert_eq!(last_name("f(x)"), None);
    }

    #[test]
    fn names_are_neither_attributes_nor_keywords() {
        let names: Vec<String> = names_in("k[(n, m.size(0))](a.b, c, BLOCK=d, x==y)").into_iter().collect();
        assert_eq!(names, ["a", "c", "d", "k", "m", "n", "x", "y"]);
    }
}
