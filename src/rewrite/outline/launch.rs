//! Where no run of statements can be an op: the launch alone, whose arguments are the op's.
//!
//! What the launch is given is worked out where it was, by whatever that takes; the kernel says what it is.

mod code;
mod grid;
mod kinds;

use super::super::fake::short;
use super::super::slice::Refused;
use super::super::spread::{elements, entries};
use super::live::Range;
use super::region::{Input, Outliner, Region, is_keyword, what_is_written, word};
use super::types::{Typed, is_schema_type};
use super::values;
use crate::facts::{Arg, ArgKind, Call, Name, Op, Statement, StatementId, StatementKind, ValueId};
use crate::finding::Edit;
use crate::program::KernelId;
use crate::source::Span;
use code::{is_name, is_path, last_name, names_in, one_line};
pub(super) use kinds::is_descriptor;
use std::collections::{BTreeMap, BTreeSet};

/// An argument of the op in the making, and which argument of the launch it is or is part of.
#[derive(Clone)]
struct Handed {
    input: Input,
    value: ValueId,
    through: Option<Span>,
}

/// A region in the making.
#[derive(Clone)]
struct Making {
    launch: ValueId,
    range: Range,
    handed: Vec<Handed>,
    edits: Vec<Edit>,
    doubts: Vec<String>,
    /// Names that the moved statement uses.
    taken: BTreeSet<String>,
    /// Names that are handed over as they are.
    bare: BTreeMap<String, ValueId>,
    /// Names of constants that go along.
    constants: BTreeSet<String>,
    /// What goes along with the launch.
    prelude: Vec<StatementId>,
}

impl Making {
    fn edit(&mut self, edit: Edit) {
        if !self.edits.contains(&edit) {
            self.edits.push(edit);
        }
    }
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
        let alias = self.alias_of_module(kernel);
        if own.kernels.is_empty() || own.via.is_some() || !self.is_of_module(kernel) && alias.is_none() {
            return Err(format!(
                "the kernel is unresolved: which one `{}` is cannot be told in the op",
                short(self.scope, kernel)
            ));
        }
        let range = self.statement_alone(launch)?;
        let span = self.span(&range);
        self.writes_by_address(span)?;
        let mut making = Making {
            launch,
            range: range.clone(),
            handed: Vec::new(),
            edits: Vec::new(),
            doubts: Vec::new(),
            // What is local is handed over; the rest keeps its names.
            taken: names_in(self.scope.text(span)).into_iter().filter(|n| !self.is_local(n)).collect(),
            bare: BTreeMap::new(),
            constants: BTreeSet::new(),
            prelude: alias.into_iter().collect(),
        };
        // What is behind a star of unknown length cannot be told either.
        for arg in call.args.iter().filter(|a| matches!(a.kind, ArgKind::Star | ArgKind::StarStar)) {
            self.is_spread(arg)?;
        }
        let written = self.arguments(call);
        // Names, the grid, then what objects hold: all else may be made of these.
        for argument in written.iter().filter(|w| is_name(self.scope.text(w.span))) {
            if !self.moves_descriptor(*argument, &mut making)? {
                self.hand(*argument, None, "", &mut making)?;
            }
        }
        self.grid(call.callee, grid, &mut making)?;
        let path = |text: &str| is_path(text) && !is_name(text);
        let mut paths: Vec<&Written> = written.iter().filter(|w| path(self.scope.text(w.span))).collect();
        paths.sort_by_key(|w| self.scope.text(w.span).matches('.').count());
        self.hand_whole(paths.into_iter(), &mut making)?;
        for arg in &call.args {
            self.argument(arg, &mut making)?;
        }
        self.mark_written(call, &mut making)?;
        if !making.handed.iter().any(|h| h.input.written) {
            if !own.kernels.iter().all(|&kernel| self.writes_nothing(kernel)) {
                return Err("an op that neither writes nor returns anything would be dropped by the compiler".to_string());
            }
            making
                .doubts
                .push("the kernel writes nothing, so the compiler drops the op, as it drops the launch".to_string());
        }
        making.doubts.sort();
        making.doubts.dedup();
        let place = |h: &Handed| (!h.input.ty.is_tensor(), h.through.map(|span| span.start));
        making.handed.sort_by_key(place);
        making.prelude.sort_unstable();
        let inputs = making.handed.into_iter().map(|h| h.input).collect();
        making.prelude.sort_unstable();
        making.prelude.dedup();
        Ok(Region::of_launch(range, inputs, making.prelude, making.edits, making.doubts))
    }

    /// The statement that gives a kernel of the module a name of the function: `kernel: Any = _kernel`.
    fn alias_of_module(&self, kernel: ValueId) -> Option<StatementId> {
        let body = self.scope.body();
        let Op::Annotated(_, inner) = body.op(kernel) else { return None };
        let id = body.statement_of(kernel).filter(|_| self.is_of_module(inner))?;
        let defined = body.statements[id.index()].defines.first()?;
        self.is_steady(id, self.scope.name(*defined)).then_some(id)
    }

    /// For all that is known, the kernel is launched for something else: an assertion, a message, time.
    fn writes_nothing(&self, kernel: KernelId) -> bool {
        let kernel = self.scope.program.kernel(kernel);
        kernel.writes.is_empty() && kernel.writes_pointees.is_empty() && kernel.unresolved.is_empty()
    }

    fn hand_whole<'w>(&self, mut all: impl Iterator<Item = &'w Written>, making: &mut Making) -> Result<(), Refused> {
        all.try_for_each(|argument| self.hand(*argument, None, "", making))
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

    fn unknown_length(&self, arg: &Arg) -> Refused {
        let text = one_line(self.scope.text(arg.span)).unwrap_or_else(|_| "*".to_string());
        format!("`{text}` is of unknown length: which arguments it hands over is not known")
    }

    /// A list that can be handed over as it is.
    fn told_list(&self, arg: &Arg) -> Option<Typed> {
        let told = self.types.join(&[arg.value])?;
        (told.ty.list && is_schema_type(told.ty) && !told.ty.is_tensor() && !self.is_collection(arg.value)).then_some(told)
    }

    /// What the star of an argument spreads can be told.
    fn is_spread(&self, arg: &Arg) -> Result<(), Refused> {
        let told = match arg.kind {
            ArgKind::Star => self.told_list(arg).is_some() || elements(self.scope.body(), arg.value).is_some(),
            _ => self.is_of_module(arg.value) || entries(self.scope, arg.value).is_some(),
        };
        if told { Ok(()) } else { Err(self.unknown_length(arg)) }
    }

    fn argument(&self, arg: &Arg, making: &mut Making) -> Result<(), Refused> {
        let unknown = || self.unknown_length(arg);
        match arg.kind {
            ArgKind::Positional | ArgKind::Keyword(_) if self.is_moved(self.scope.text(self.written(arg).span), making) => Ok(()),
            ArgKind::Positional | ArgKind::Keyword(_) => {
                let name = match arg.kind {
                    ArgKind::Keyword(name) => self.scope.name(name).to_string(),
                    _ => self.param_name(making.launch, arg.value).unwrap_or_default(),
                };
                self.hand(self.written(arg), None, &name, making)
            }
            ArgKind::Star => {
                let told = self.told_list(arg);
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

    /// Hands an expression over, unless the op can work it out as well.
    fn hand(&self, written: Written, typed: Option<Typed>, name: &str, making: &mut Making) -> Result<(), Refused> {
        let text = self.scope.text(written.span);
        if self.means_the_same(written.value) {
            if is_name(text) && self.is_local(text) && !self.constant(text, written.value, making) {
                let made = self.scope.text(self.scope.body().value(written.value).span);
                making.edit(Edit::replace(written.span, one_line(made)?));
            }
            return Ok(());
        }
        let known = |making: &Making, text: &str| making.handed.iter().find(|h| h.input.text == text).map(|h| h.input.param.clone());
        if !is_name(text)
            && known(making, text).is_none()
            && let Some(edits) = self.derived(written, making)
        {
            edits.into_iter().for_each(|edit| making.edit(edit));
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
        let param = match known(making, &text) {
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
        making.edit(Edit::replace(written.span, param));
        Ok(())
    }

    /// The statement that makes a tensor descriptor goes along, and what it is made of is handed over.
    fn moves_descriptor(&self, argument: Written, making: &mut Making) -> Result<bool, Refused> {
        let body = self.scope.body();
        let text = self.scope.text(argument.span);
        let Op::Call(call) = body.op(argument.value) else {
            return Ok(false);
        };
        let made = self.scope.dotted(body.call(call).callee).is_some_and(|name| is_descriptor(&name));
        if !made || self.is_moved(text, making) {
            return Ok(made);
        }
        let Some(id) = body.statement_of(argument.value).filter(|&id| self.is_steady(id, text)) else {
            return Ok(false);
        };
        let statement = &body.statements[id.index()];
        let launch = body.statement_of(making.launch).map(|s| body.statements[s.index()].values.0);
        for &name in statement.uses.iter().filter(|n| self.locals.contains(n)) {
            let text = self.scope.name(name);
            let named = self.bindings.named(name);
            let value = named.reaching(statement.values.0);
            let value = value.filter(|_| launch.is_some_and(|at| named.reaching(at) == value));
            let value = value.ok_or_else(|| format!("where `{text}` comes from cannot be told"))?;
            self.hand_name(name, value, argument.through, making)?;
        }
        making.prelude.push(id);
        making.taken.insert(text.to_string());
        Ok(true)
    }

    /// A name that the statement in front of the launch reads.
    fn hand_name(&self, name: Name, value: ValueId, through: Option<Span>, making: &mut Making) -> Result<(), Refused> {
        let body = self.scope.body();
        let text = self.scope.name(name);
        let display = match body.op(value) {
            Op::List(items) | Op::Tuple(items) => body.items(items).iter().all(|&v| matches!(body.op(v), Op::Const(_))),
            _ => false,
        };
        let made = body.statement_of(value).filter(|&id| display && self.is_steady(id, text));
        if self.is_moved(text, making) {
            return Ok(());
        }
        if let Some(id) = made {
            making.prelude.push(id);
            making.taken.insert(text.to_string());
            return Ok(());
        }
        let typed = self.typed(making.launch, value, text)?;
        if making.bare.insert(text.to_string(), value).is_none() {
            self.push(making, text.to_string(), text, typed, (value, through));
        } else {
            self.again(making, typed, (value, through));
        }
        Ok(())
    }

    /// The statement gives one name a value that nothing changes, and stands on lines of its own.
    fn is_steady(&self, id: StatementId, text: &str) -> bool {
        let body = self.scope.body();
        let statement = &body.statements[id.index()];
        let whole =
            statement.kind == StatementKind::Assign && statement.defines.len() == 1 && self.scope.name(statement.defines[0]) == text;
        let own = values::ids(statement.values).last();
        let everywhere = (ValueId(0), ValueId(u32::MAX));
        let changes = |v: ValueId| {
            let mut users = self.bindings.users(v, everywhere);
            users.any(
                |u| matches!(body.op(u), Op::SetAttr(object, ..) | Op::SetIndex(object, ..) | Op::Augment(_, object, _) if object == v),
            )
        };
        whole && own.is_some_and(|v| !changes(v) && !self.is_filled(v))
    }

    /// A statement that goes along makes it.
    fn is_moved(&self, text: &str, making: &Making) -> bool {
        let statements = &self.scope.body().statements;
        let mut along = making.prelude.iter().flat_map(|id| &statements[id.index()].defines);
        along.any(|&name| self.scope.name(name) == text)
    }

    /// A local name of something that means the same in the module: the statement that makes it goes along, if it can.
    fn constant(&self, name: &str, value: ValueId, making: &mut Making) -> bool {
        let body = self.scope.body();
        if making.constants.contains(name) {
            return true;
        }
        let made = body.value(value).span;
        let text = self.scope.text(made);
        let alone = |s: &Statement| {
            let here = s.kind == StatementKind::Assign && s.defines.len() == 1 && self.encloses(s.parent, &making.range);
            here && self.scope.text(s.span) == format!("{name} = {text}")
        };
        let mut all = body
            .statements
            .iter()
            .enumerate()
            .filter(|(_, s)| s.span.contains(made) && alone(s));
        let constant = self
            .locals
            .iter()
            .copied()
            .find(|n| self.scope.name(*n) == name)
            .is_some_and(|n| self.is_constant(n));
        let found = all.next().filter(|_| constant).map(|(at, _)| StatementId(at as u32));
        if let Some(id) = found {
            making.constants.insert(name.to_string());
            making.taken.insert(name.to_string());
            making.prelude.push(id);
        }
        found.is_some()
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
            suspected: false,
            // Kernels take tuples, and what goes through an op arrives as a list.
            tuple: typed.ty.list,
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
            suspected: false,
            tuple: false,
            handed: true,
        };
        making.handed.push(Handed { input, value, through });
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
            handed.input.write(write.unknown.is_some());
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
