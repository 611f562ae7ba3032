//! Candidate regions: statements around launches, with what goes in and what comes out.

use super::super::Calls;
use super::super::fake::{own_reads_no_data, short};
use super::super::origins;
use super::super::scope::{Kind, Scope};
use super::super::signature::{Base, Type};
use super::super::slice::{Refused, Slicer};
use super::inputs::{Found, name_params};
use super::live::{Liveness, Names, Range, captured};
use super::repeat::Definitions;
use super::types::Types;
use super::values::{self, Bindings, ids};
use crate::facts::{Name, Op, StatementId, StatementKind, ValueId};
use crate::finding::Edit;
use crate::program::{Func, Piece, WriteAt};
use crate::source::Span;
use std::cell::Cell;
use std::collections::BTreeSet;

/// All that the outlining of one function asks.
pub(super) struct Outliner<'s, 'a> {
    pub(super) scope: &'s Scope<'a>,
    pub(super) calls: &'s Calls<'a>,
    pub(super) func: &'s Func,
    pub(super) types: Types<'s, 'a>,
    pub(super) liveness: Liveness<'s>,
    pub(super) bindings: Bindings<'s>,
    pub(super) locals: Names,
    /// Names that functions inside it read.
    pub(super) nested: Names,
    /// Tuples may be made again of the lists that arrive: where nothing else helps.
    pub(super) tuples: Cell<bool>,
    /// The op would be registered for one device.
    pub(super) one_device: bool,
    pub(super) definitions: Definitions,
}

/// Something that the op is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Input {
    /// What is passed, and what the moved code calls it: a name or a dotted path.
    pub(super) text: String,
    /// The parameter.
    pub(super) param: String,
    pub(super) ty: Type,
    pub(super) written: bool,
    /// Only suspected: nothing shows that it is written.
    pub(super) suspected: bool,
    /// It arrives as a list, and is used as the tuple that it was.
    pub(super) tuple: bool,
    /// It is an argument of a launch that is moved alone: the moved text names the parameter already.
    pub(super) handed: bool,
}

impl Input {
    pub(super) fn write(&mut self, suspected: bool) {
        self.suspected = suspected && (!self.written || self.suspected);
        self.written = true;
    }

    /// Something that is read from an object.
    pub(super) fn is_path(&self) -> bool {
        !self.handed && self.text.contains(['.', '['])
    }
}

/// A part of a function that can be an op.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub(super) range: Range,
    pub(super) inputs: Vec<Input>,
    /// Names of new tensors that are needed behind it.
    pub(super) outputs: Vec<Name>,
    /// Statements in front of the range that go with it, and whether they stay where they are too.
    pub(super) prelude: Vec<(StatementId, bool)>,
    /// What keeps it from being safe.
    pub(super) doubts: Vec<String>,
    /// Changes of the moved text: what a launch that is moved alone is given, by the name of the parameter.
    pub(super) handed: Vec<Edit>,
    cost: usize,
}

impl Region {
    /// The region of a launch that is moved alone.
    pub(super) fn of_launch(range: Range, inputs: Vec<Input>, prelude: Vec<StatementId>, handed: Vec<Edit>, doubts: Vec<String>) -> Self {
        Self {
            range,
            inputs,
            outputs: Vec::new(),
            prelude: prelude.into_iter().map(|id| (id, true)).collect(),
            doubts,
            handed,
            cost: 0,
        }
    }
}

impl Outliner<'_, '_> {
    /// Regions that hold all of these launches: one if that can be, else one for each part.
    pub(super) fn regions(&self, launches: &[ValueId]) -> Result<Vec<Region>, Refused> {
        let ranges = self.around(launches)?;
        for tuples in [false, true] {
            self.tuples.set(tuples);
            if let Some(best) = self.cheapest(&ranges, launches) {
                return Ok(vec![best]);
            }
        }
        let Some(core) = ranges.first().filter(|_| launches.len() > 1) else {
            return self.each_alone(launches);
        };
        let branches: Vec<(ValueId, ValueId)> = match core.statements() {
            [one] => {
                let blocks = &self.scope.body().statements[one.index()].blocks;
                blocks.iter().map(|block| self.values(&block.statements)).collect()
            }
            several => several.iter().map(|&one| self.values(&[one])).collect(),
        };
        let inside = |range: &(ValueId, ValueId)| -> Vec<ValueId> {
            let own = launches.iter().copied().filter(|v| range.0 <= *v && *v < range.1);
            own.collect()
        };
        let groups: Vec<Vec<ValueId>> = branches.iter().map(inside).filter(|group| !group.is_empty()).collect();
        if groups.iter().map(Vec::len).sum::<usize>() != launches.len() || groups.len() < 2 {
            return self.each_alone(launches);
        }
        let regions = groups.iter().map(|group| self.regions(group));
        Ok(regions.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Each launch as a region of its own.
    fn each_alone(&self, launches: &[ValueId]) -> Result<Vec<Region>, Refused> {
        launches.iter().map(|&launch| self.launch_alone(launch)).collect()
    }

    fn cheapest(&self, ranges: &[Range], launches: &[ValueId]) -> Option<Region> {
        let mut best: Option<Region> = None;
        for core in ranges {
            let mut needed = self.liveness.before(&core.statements()[1..], &Names::new());
            for first in (0..=core.first).rev() {
                let range = Range { first, ..core.clone() };
                needed = self.liveness.before(&core.block[first..=first], &needed);
                if let Ok(region) = self.evaluate(range, launches, &needed)
                    && best.as_ref().is_none_or(|b| region.cost < b.cost)
                {
                    best = Some(region);
                }
                if first > 0 && self.leaves(&core.block[first - 1..first]) {
                    break;
                }
            }
        }
        best
    }

    /// The blocks that hold all launches, innermost first, each cut to the statements with launches.
    pub(super) fn around(&self, launches: &[ValueId]) -> Result<Vec<Range>, Refused> {
        let body = self.scope.body();
        let chain = |v: ValueId| {
            let mut chain = Vec::new();
            let mut at = body.statement_of(v);
            while let Some(id) = at {
                chain.push(id);
                at = body.statements[id.index()].parent;
            }
            chain.reverse();
            chain
        };
        let chains: Vec<Vec<StatementId>> = launches.iter().map(|&v| chain(v)).collect();
        let shortest = chains.iter().map(Vec::len).min().filter(|&n| n > 0);
        let shortest = shortest.ok_or("a launch stands in no statement")?;
        let mut ranges = Vec::new();
        for depth in 0..shortest {
            let parent = (depth > 0).then(|| chains[0][depth - 1]);
            if depth > 0 && chains.iter().any(|c| c[depth - 1] != chains[0][depth - 1]) {
                break;
            }
            let blocks: Vec<&Vec<StatementId>> = match parent {
                None => vec![&body.top],
                Some(parent) => body.statements[parent.index()].blocks.iter().map(|b| &b.statements).collect(),
            };
            let Some(block) = blocks.into_iter().find(|b| chains.iter().all(|c| b.contains(&c[depth]))) else {
                break;
            };
            let at = |c: &Vec<StatementId>| block.iter().position(|s| *s == c[depth]).unwrap_or_default();
            ranges.push(Range {
                parent,
                block: block.clone(),
                first: chains.iter().map(at).min().unwrap_or_default(),
                last: chains.iter().map(at).max().unwrap_or_default(),
            });
        }
        ranges.reverse();
        Ok(ranges)
    }

    pub(super) fn values(&self, statements: &[StatementId]) -> (ValueId, ValueId) {
        let all = &self.scope.body().statements;
        let first = statements.first().map(|s| all[s.index()].values.0);
        let last = statements.last().map(|s| all[s.index()].values.1);
        (first.unwrap_or(ValueId(0)), last.unwrap_or(ValueId(0)))
    }

    /// Control may go from inside these statements to somewhere else than right behind them.
    fn leaves(&self, statements: &[StatementId]) -> bool {
        statements.iter().any(|&id| {
            let statement = &self.scope.body().statements[id.index()];
            let loops = matches!(statement.kind, StatementKind::For | StatementKind::While);
            match statement.kind {
                StatementKind::Return | StatementKind::Break | StatementKind::Continue | StatementKind::Scope => true,
                _ if loops => statement.blocks.iter().any(|b| self.returns(&b.statements)),
                _ => statement.blocks.iter().any(|b| self.leaves(&b.statements)),
            }
        })
    }

    fn returns(&self, statements: &[StatementId]) -> bool {
        statements.iter().any(|&id| {
            let statement = &self.scope.body().statements[id.index()];
            matches!(statement.kind, StatementKind::Return | StatementKind::Scope)
                || statement.blocks.iter().any(|b| self.returns(&b.statements))
        })
    }

    /// Judges one range. `needed`: names that it reads.
    fn evaluate(&self, range: Range, launches: &[ValueId], needed: &Names) -> Result<Region, Refused> {
        let values = self.values(range.statements());
        let inside = |v: ValueId| values.0 <= v && v < values.1 && !launches.contains(&v);
        let own = self.func.launches.iter().filter_map(|l| l.value);
        if own.chain(self.func.kernel_calls.iter().map(|c| c.value)).any(inside) {
            return Err("another launch stands in between".to_string());
        }
        if self.leaves(range.statements()) {
            return Err("the launch stands among statements that leave the function".to_string());
        }
        self.stays(values)?;
        self.fetches_no_tensor(values)?;
        let span = self.span(&range);
        let mut doubts = Vec::new();
        let (mut inputs, prelude) = self.inputs(&range, needed, (values, span), &mut doubts)?;
        let outputs = self.outputs(&range, values, span)?;
        self.writes_by_address(span)?;
        let local = self.writes(values, &prelude, &mut inputs, &mut doubts)?;
        let writes_nothing = !inputs.iter().any(|i| i.input.written);
        if outputs.is_empty() && writes_nothing {
            return Err("an op that neither writes nor returns anything would be dropped by the compiler".to_string());
        }
        let count = range.statements().len();
        let mut inputs: Vec<Input> = inputs.into_iter().map(|found| found.input).collect();
        let needed = prelude.len();
        let more = self.repeat(&range, &mut inputs, &prelude);
        let repeated = more.len();
        let mut prelude = prelude;
        prelude.extend(more);
        prelude.sort_unstable();
        if !outputs.is_empty() {
            self.can_be_faked(&range, &outputs, &prelude, &mut doubts)?;
        }
        // What the function is given keeps its order, then what it makes: tensors first.
        inputs.sort_by_key(|i| {
            let params = &self.scope.function().params;
            let root = i.text.split(['.', '[']).next().unwrap_or_default();
            let object = matches!(root, "self" | "cls" | "ctx");
            let at = params.iter().position(|p| self.scope.name(p.name) == root && !object);
            (at.unwrap_or(params.len()), !i.ty.is_tensor())
        });
        name_params(&mut inputs, self.taken_names(&range, &prelude));
        doubts.sort();
        doubts.dedup();
        let region = Region {
            cost: 100 * (inputs.len() + 3 * local + usize::from(!outputs.is_empty()) + 8 * doubts.len() + 2 * needed)
                + 30 * repeated
                + count,
            prelude: prelude.into_iter().map(|id| (id, true)).collect(),
            range,
            inputs,
            outputs,
            doubts,
            handed: Vec::new(),
        };
        if self.one_device {
            super::one_device(self.scope, &region)?;
        }
        Ok(region)
    }

    pub(super) fn span(&self, range: &Range) -> Span {
        let statement = |id: StatementId| self.scope.body().statements[id.index()].span;
        statement(range.block[range.first]).to(statement(range.block[range.last]))
    }

    /// Names that the moved code uses for something else than its inputs.
    fn taken_names(&self, range: &Range, prelude: &[StatementId]) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let mut todo: Vec<StatementId> = range.statements().iter().chain(prelude).copied().collect();
        while let Some(id) = todo.pop() {
            let statement = &self.scope.body().statements[id.index()];
            names.extend(
                statement
                    .uses
                    .iter()
                    .chain(&statement.defines)
                    .map(|n| self.scope.name(*n).to_string()),
            );
            todo.extend(statement.blocks.iter().flat_map(|b| b.statements.iter().copied()));
        }
        names
    }

    /// Nothing in the range speaks of the function that it stands in.
    pub(super) fn stays(&self, values: (ValueId, ValueId)) -> Result<(), Refused> {
        let body = self.scope.body();
        for v in ids(values) {
            match body.op(v) {
                Op::Suspend(_) | Op::SetOuter(..) => {
                    return Err("the launch stands among statements of a generator or coroutine".to_string());
                }
                Op::Free(name) if matches!(self.scope.name(name), "super" | "__class__" | "locals" | "vars" | "eval" | "exec") => {
                    return Err(format!("`{}` stands next to the launch", self.scope.name(name)));
                }
                Op::SetAttr(object, name, _) if object < values.0 && !matches!(body.op(object), Op::Const(_)) => {
                    return Err(format!(
                        "`{}.{}` is set next to the launch",
                        short(self.scope, object),
                        self.scope.name(name)
                    ));
                }
                Op::Call(call) => {
                    let callee = body.call(call).callee;
                    if let Op::Attr(object, method) = body.op(callee)
                        && self.scope.kind(object) == Kind::Tensor
                        && self
                            .scope
                            .knowledge
                            .torch
                            .method(self.scope.name(method))
                            .is_some_and(|e| e.metadata && !e.writes.is_empty())
                    {
                        return Err(format!("`{}` changes a tensor's metadata in place", short(self.scope, callee)));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A tensor that a call of the process finds is handed over: who calls the op must see what it reads.
    fn fetches_no_tensor(&self, values: (ValueId, ValueId)) -> Result<(), Refused> {
        let body = self.scope.body();
        for v in ids(values).filter(|&v| self.types.evidence.role(v) == Some(super::evidence::Role::Pointer)) {
            let mut root = v;
            while let Op::Attr(object, _) = body.op(root) {
                root = object;
            }
            let asks = |call: &crate::facts::Call| call.args.is_empty() && self.scope.dotted(call.callee).is_some();
            if let Op::Call(call) = body.op(root)
                && root != v
                && asks(body.call(call))
            {
                return Err(format!(
                    "`{}` would be read inside of the op, which is not given it",
                    short(self.scope, v)
                ));
            }
        }
        Ok(())
    }

    /// New tensors that are needed behind the range.
    fn outputs(&self, range: &Range, values: (ValueId, ValueId), span: Span) -> Result<Vec<Name>, Refused> {
        let body = self.scope.body();
        let mut needed = self.liveness.after(range);
        needed.extend(captured(self.scope.facts(), self.scope.at.function, span));
        let mut defined: Vec<Name> = Vec::new();
        let mut todo: Vec<StatementId> = range.statements().iter().rev().copied().collect();
        while let Some(id) = todo.pop() {
            let statement = &body.statements[id.index()];
            for name in statement.defines.iter().filter(|n| needed.contains(n)) {
                if !defined.contains(name) {
                    defined.push(*name);
                }
            }
            todo.extend(statement.blocks.iter().flat_map(|b| b.statements.iter().copied()).rev());
        }
        let mut pieces = BTreeSet::new();
        for &name in &defined {
            let text = self.scope.name(name);
            let named = self.bindings.named(name);
            let last = named.all.iter().copied().rfind(|v| values.0 <= *v && *v < values.1);
            let last = last.ok_or_else(|| format!("`{text}` cannot be followed"))?;
            let typed = self.types.join(&[last]);
            if !typed.is_some_and(|t| t.ty.base == Base::Tensor && !t.ty.list && !t.ty.optional) {
                return Err(format!("`{text}`, which is no new tensor, is needed behind the launch"));
            }
            if origins::may_lack(body, last, Op::Undefined) || origins::may_be_none(body, last) {
                return Err(format!("`{text}` may be None or unbound behind the launch"));
            }
            let shares = self.func.memory.shared_by(last);
            let fresh = |share: &crate::program::Share| match self.func.memory.pieces[share.piece as usize] {
                Piece::Fresh(v, _) => share.known && !share.maybe && values.0 <= v && v < values.1,
                Piece::Param(_) | Piece::State(_) | Piece::Capture(_) => false,
            };
            if shares.is_empty() || !shares.iter().all(fresh) {
                return Err(format!(
                    "`{text}`, which is needed behind the launch, may share memory with what is given"
                ));
            }
            if shares.iter().any(|s| !pieces.insert(s.piece)) {
                return Err(format!("`{text}` shares memory with another result of the launch"));
            }
        }
        Ok(defined)
    }

    /// Marks the inputs that the range writes; gives the number of those that the function itself allocates.
    fn writes(
        &self,
        values: (ValueId, ValueId),
        prelude: &[StatementId],
        inputs: &mut [Found],
        doubts: &mut Vec<String>,
    ) -> Result<usize, Refused> {
        let along: Vec<(ValueId, ValueId)> = prelude.iter().map(|&id| self.values(&[id])).collect();
        let memory = &self.func.memory;
        let mut local = BTreeSet::new();
        for write in memory.writes.iter().filter(|w| values.0 <= w.at && w.at < values.1) {
            let piece = &memory.pieces[write.piece as usize];
            if let Piece::Fresh(v, _) = piece {
                if values.0 <= *v && *v < values.1 {
                    continue;
                }
                local.insert(write.piece);
            }
            let mut passed = false;
            let origins = self.origins(write, values, &along);
            if let Some(dict) = origins
                .iter()
                .find(|v| values.0 <= **v && matches!(self.scope.body().op(**v), Op::Dict(_)) && self.is_filled(**v))
            {
                doubts.push(format!(
                    "what the launch is given goes through the dict `{}`",
                    short(self.scope, *dict)
                ));
            }
            for found in inputs.iter_mut().filter(|f| f.input.ty.is_tensor()) {
                let shares = found.values.iter().flat_map(|&v| memory.shared_by(v));
                let leads = found.values.iter().any(|v| origins.contains(v));
                if leads && shares.clone().any(|s| s.piece == write.piece) {
                    passed = true;
                    found.input.write(write.unknown.is_some());
                    if let Some(why) = &write.unknown {
                        doubts.push(format!("`{}`: {why}", found.input.text));
                    }
                }
            }
            if !passed {
                return Err(what_is_written(self.scope, self.func, write));
            }
        }
        Ok(local.len())
    }

    /// Memory that is written by an address has no argument that could be declared.
    pub(super) fn writes_by_address(&self, span: Span) -> Result<(), Refused> {
        let (file, body) = (self.func.function.file, self.scope.function().span);
        for write in self.func.state_writes.iter().filter(|write| write.path.starts_with('*')) {
            let own = |within: Span| {
                write
                    .chain
                    .iter()
                    .any(|step| step.place.file == file && within.contains(step.place.span))
            };
            if own(span) || !own(body) {
                return Err(super::super::safety::writes_state(&write.path));
            }
        }
        Ok(())
    }

    /// The values from outside that what is written through is made of: of two inputs that share memory, the one that is meant.
    fn origins(&self, write: &WriteAt, values: (ValueId, ValueId), along: &[(ValueId, ValueId)]) -> BTreeSet<ValueId> {
        let body = self.scope.body();
        let argument = |call| body.call(call).args.iter().find(|a| Some(a.span) == write.through).map(|a| a.value);
        let start = match body.op(write.at) {
            Op::Call(call) => argument(call).unwrap_or(write.at),
            _ => write.at,
        };
        let mut seen = BTreeSet::new();
        let mut todo = vec![start];
        while let Some(v) = todo.pop() {
            let moved = std::iter::once(&values).chain(along).any(|range| range.0 <= v && v < range.1);
            if seen.insert(v) && moved {
                todo.extend(values::operands(body, body.op(v)));
            }
        }
        seen
    }

    /// The metadata of the outputs can be computed without a launch.
    fn can_be_faked(&self, range: &Range, outputs: &[Name], prelude: &[StatementId], doubts: &mut Vec<String>) -> Result<(), Refused> {
        let body = self.scope.body();
        let mut slicer = Slicer::new(self.scope);
        let statements: Vec<StatementId> = prelude.iter().chain(range.statements()).copied().collect();
        slicer.block(&statements, outputs.iter().copied().collect())?;
        for (_, statement) in body.statements.iter().enumerate().filter(|(i, _)| slicer.kept[*i]) {
            if statement.kind == StatementKind::With {
                continue;
            }
            own_reads_no_data(self.scope, self.calls, statement, doubts)?;
        }
        Ok(())
    }
}

/// Why a write stands in the way: the op would not be given what is written.
pub(super) fn what_is_written(scope: &Scope, func: &Func, write: &WriteAt) -> Refused {
    let what = match &func.memory.pieces[write.piece as usize] {
        Piece::Param(p) => scope.name(scope.function().params[*p as usize].name).to_string(),
        Piece::State(path) => path.clone(),
        Piece::Capture(name) => scope.name(*name).to_string(),
        Piece::Fresh(v, _) => short(scope, *v),
    };
    match &write.unknown {
        None if by_address(scope, func, write) => {
            format!("it writes `{what}` through integer addresses, and the op would be given these alone")
        }
        None => format!("it writes `{what}`, which the op would not be given"),
        Some(why) => format!("it may write `{what}`, which the op would not be given: {why}"),
    }
}

/// The argument that is written through shares no memory with what is written: it holds its address.
fn by_address(scope: &Scope, func: &Func, write: &WriteAt) -> bool {
    let body = scope.body();
    let Op::Call(call) = body.op(write.at) else { return false };
    let mut args = body.call(call).args.iter().filter(|a| Some(a.span) == write.through);
    args.any(|a| func.memory.shared_by(a.value).iter().all(|share| share.piece != write.piece))
}

pub(super) fn is_keyword(name: &str) -> bool {
    const KEYWORDS: [&str; 12] = [
        "lambda", "from", "import", "in", "is", "not", "and", "or", "if", "else", "for", "def",
    ];
    KEYWORDS.contains(&name)
}

pub(super) fn word(ty: Type) -> &'static str {
    match (ty.base, ty.list) {
        (Base::Tensor, false) => "a tensor",
        (Base::Int, false) => "an int",
        (Base::Float, false) => "a float",
        (Base::Bool, false) => "a bool",
        (Base::Number, false) => "a number",
        (Base::Text, false) => "a string",
        (Base::Dtype, false) => "a dtype",
        (Base::Device, false) => "a device",
        (Base::TritonDtype, false) => "a dtype of Triton",
        (Base::Tensor, true) => "a list of tensors",
        (Base::Int, true) => "a list of ints",
        (Base::Float, true) => "a list of floats",
        (Base::Bool, true) => "a list of bools",
        _ => "a value of a schema type",
    }
}
