//! `opwright inventory`: every kernel, launching function and op, as rows.

use super::args::{Inventory as Args, TableFormat};
use super::{Output, Run};
use crate::finding::{Finding, Safety};
use crate::pipeline::{self, Checked};
use crate::program::{Declared, Fake, Func, FunctionRef, Kernel, KernelCall, Op, Program};
use crate::project::{Failure, Request};
use crate::report::html;
use crate::report::inventory::{CallRow, FunctionRow, Inventory, KernelRow, OpRow};
use crate::source::{FileId, Place};
use std::collections::BTreeMap;

pub(super) fn run(args: &Args, out: &mut Output) -> Result<u8, Failure> {
    let request = Request {
        paths: args.paths.clone(),
        root: args.common.root.clone(),
        style: args.style.clone(),
        ..Request::default()
    };
    let run = Run::start(&request, args.common.cache(), args.timings)?;
    let checked = pipeline::check(&run.input());
    let inventory = rows(&checked, &run.names, |file| run.project.files[file.index()].shown);
    match args.output_format {
        TableFormat::Text => out.write(&inventory.text()),
        TableFormat::Json => out.write(&(inventory.json() + "\n")),
        TableFormat::Html => {
            let page = super::inventory_page::page(&inventory, &checked, &run);
            out.write(&html::render(&page));
        }
    }
    run.keep(&checked.program);
    run.finish(out);
    Ok(0)
}

/// The rows of what is shown.
fn rows(checked: &Checked, names: &[String], shown: impl Fn(FileId) -> bool) -> Inventory {
    let program = &checked.program;
    let rows = Rows {
        program,
        names,
        fixes: fixes_by_place(checked),
    };
    let mut inventory = Inventory {
        version: env!("CARGO_PKG_VERSION"),
        ..Inventory::default()
    };
    inventory.kernels = program
        .kernels
        .iter()
        .filter(|k| shown(k.function.file))
        .map(|k| rows.kernel(k))
        .collect();
    inventory.functions = program
        .functions
        .iter()
        .filter(|f| shown(f.function.file))
        .map(|f| rows.function(f))
        .collect();
    inventory.ops = program.ops.iter().filter(|op| shown(op.place.file)).map(|op| rows.op(op)).collect();
    inventory
}

/// Findings that would register something, by the place that they are reported at.
pub(super) fn fixes_by_place(checked: &Checked) -> BTreeMap<Place, Vec<&Finding>> {
    let mut fixes: BTreeMap<Place, Vec<&Finding>> = BTreeMap::new();
    for finding in checked
        .findings
        .iter()
        .chain(checked.ignored.iter().map(|ignored| &ignored.finding))
    {
        fixes.entry(finding.place).or_default().push(finding);
    }
    fixes
}

struct Rows<'a> {
    program: &'a Program,
    names: &'a [String],
    fixes: BTreeMap<Place, Vec<&'a Finding>>,
}

impl Rows<'_> {
    fn file(&self, file: FileId) -> String {
        self.names[file.index()].clone()
    }

    /// The line of `def`.
    fn def_line(&self, f: FunctionRef) -> u32 {
        self.program.file(f.file).source.line(self.program.function(f).header.start)
    }

    fn params(&self, f: FunctionRef, params: impl IntoIterator<Item = u16>) -> Vec<String> {
        params
            .into_iter()
            .map(|param| self.program.param_name(f, param).to_string())
            .collect()
    }

    fn kernel(&self, kernel: &Kernel) -> KernelRow {
        let f = kernel.function;
        KernelRow {
            file: self.file(f.file),
            line: self.def_line(f),
            qualname: self.program.qualname(f).to_string(),
            dialect: kernel.dialect.clone(),
            params: self.params(f, 0..self.program.function(f).params.len() as u16),
            reads: self.params(f, kernel.reads.iter().copied()),
            writes: self.params(f, kernel.writes.iter().map(|w| w.param)),
            writes_pointees: self.params(f, kernel.writes_pointees.iter().map(|w| w.param)),
            unresolved: self.params(f, kernel.unresolved.iter().map(|(param, _)| *param)),
        }
    }

    fn function(&self, func: &Func) -> FunctionRow {
        let f = func.function;
        let op = func.op.map(|id| &self.program.ops[id.0 as usize]);
        let (fix, blockers) = self.fix(func);
        FunctionRow {
            file: self.file(f.file),
            line: self.def_line(f),
            qualname: self.program.qualname(f).to_string(),
            launches: self.launches(func),
            launches_unknown: func.launches.iter().any(|l| l.kernels.is_empty()),
            calls: func.kernel_calls.iter().map(|call| self.call(call)).collect(),
            registered: func.registration.word(),
            op: op.map(|op| op.name.clone()),
            registrar: op.map(|op| op.registrar.clone()),
            declared_mutates: op.and_then(|op| self.declared(op)),
            mutates: self.params(f, func.mutates.iter().map(|w| w.param)),
            mutates_state: func.mutates_state.clone(),
            unresolved: self.params(f, func.unresolved.iter().map(|(param, _)| *param)),
            returns_alias_of: self.params(f, func.returns_alias_of.iter().copied()),
            schema: func.schema.as_ref().ok().cloned(),
            fake: op.and_then(|op| self.fake(op)),
            hot: func.hot,
            heat: func.heat,
            fix,
            blockers,
        }
    }

    fn call(&self, call: &KernelCall) -> CallRow {
        CallRow {
            line: self.program.file(call.place.file).source.line(call.place.span.start),
            callee: call.callee.clone(),
            library: call.library.clone(),
        }
    }

    /// `module.kernel` for each kernel that may be launched, once, in order of the launches.
    fn launches(&self, func: &Func) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for kernel in func.launches.iter().flat_map(|launch| &launch.kernels) {
            let f = self.program.kernel(*kernel).function;
            let name = format!("{}.{}", self.program.file(f.file).module, self.program.qualname(f));
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Which fix a finding about the function carries, and what stands in its way.
    fn fix(&self, func: &Func) -> (&'static str, Vec<String>) {
        let findings = self.fixes.get(&self.program.name_place(func.function)).into_iter().flatten();
        let Some(fix) = findings.filter_map(|finding| finding.fix.as_ref()).max_by_key(|fix| fix.safety) else {
            let refusals = func.schema.as_ref().err().into_iter().flatten();
            return ("none", refusals.map(|refusal| refusal.reason.clone()).collect());
        };
        let word = match fix.safety {
            Safety::Safe => "safe",
            Safety::Unsafe => "unsafe",
            Safety::Shown => "none",
        };
        (word, fix.reasons.clone())
    }

    fn op(&self, op: &Op) -> OpRow {
        let func = op.func.map(|index| &self.program.functions[index]);
        let params = |list: Vec<u16>| func.map(|func| self.params(func.function, list)).unwrap_or_default();
        let known = func.filter(|_| op.implementation.is_some());
        OpRow {
            op: op.name.clone(),
            file: self.file(op.place.file),
            line: self.program.file(op.place.file).source.line(op.place.span.start),
            registrar: op.registrar.clone(),
            implementation: op
                .implementation
                .map(|f| self.program.qualname(f).to_string())
                .or_else(|| op.implementation_text.clone()),
            declared_mutates: self.declared(op),
            mutates: known.map(|func| self.params(func.function, func.mutates.iter().map(|w| w.param))),
            unresolved: params(
                func.map(|f| f.unresolved.iter().map(|(param, _)| *param).collect())
                    .unwrap_or_default(),
            ),
            returns_alias_of: params(func.map(|f| f.returns_alias_of.clone()).unwrap_or_default()),
            fake: self.fake(op),
        }
    }

    /// Declared names; `"unknown"` declares every parameter; null where it cannot be known.
    fn declared(&self, op: &Op) -> Option<Vec<String>> {
        match &op.declared {
            Declared::Names(names) => Some(names.clone()),
            Declared::All => op
                .implementation
                .map(|f| self.params(f, 0..self.program.function(f).params.len() as u16)),
            Declared::Malformed(text) => Some(vec![text.clone()]),
            Declared::Unknown => None,
        }
    }

    fn fake(&self, op: &Op) -> Option<String> {
        match &op.fake {
            Fake::Function(f) => Some(self.program.qualname(*f).to_string()),
            Fake::Text(text) => Some(text.clone()),
            Fake::Generated => Some("<generated>".into()),
            Fake::Missing | Fake::Unknown => None,
        }
    }
}
