//! What the rules about registered ops share: ops whose body is in view, and how their findings are put.

use super::unregistered_launcher::chain;
use crate::finding::{Edit, Fix, Label, Level, Safety};
use crate::program::{Declared, Func, FunctionRef, Op, Program, ReturnShape, Write};
use crate::rewrite;
use crate::source::{FileId, Place};
use std::collections::BTreeSet;

/// A registration with the bodies that run for it.
pub(super) struct Seen<'a> {
    pub(super) program: &'a Program,
    pub(super) op: &'a Op,
    /// What is known of its implementations in view; never empty.
    pub(super) funcs: Vec<&'a Func>,
    /// Other ops, with other bodies, are made by the same piece of code.
    pub(super) shares_code: bool,
}

/// Registrations with a body in view; one for each place and body, however many names it makes.
pub(super) fn seen(program: &Program) -> Vec<Seen<'_>> {
    let mut known: BTreeSet<(Place, Option<FunctionRef>)> = BTreeSet::new();
    let mut found = Vec::new();
    for op in &program.ops {
        if !known.insert((op.place, op.implementation)) {
            continue;
        }
        let bodies = op.implementation.into_iter().chain(op.further.iter().copied());
        let funcs: Vec<&Func> = bodies.filter_map(|f| program.func(f)).collect();
        if funcs.is_empty() {
            continue;
        }
        let shares_code = program
            .ops
            .iter()
            .any(|other| other.place == op.place && other.implementation != op.implementation);
        found.push(Seen {
            program,
            op,
            funcs,
            shares_code,
        });
    }
    found
}

/// What an op should declare.
pub(super) struct Right {
    /// The arguments, in order of the signature.
    pub(super) names: Vec<String>,
    /// Every one of them is written for sure, and no other can be.
    pub(super) proven: bool,
}

impl<'a> Seen<'a> {
    /// The implementation that stands in the registration.
    pub(super) fn func(&self) -> &'a Func {
        self.funcs[0]
    }

    /// Every body that may run for the op is in view.
    pub(super) fn all_in_view(&self) -> bool {
        let bodies = usize::from(self.op.implementation.is_some()) + self.op.further.len();
        self.op.implementation_text.is_none() && !self.op.unseen && bodies == self.funcs.len()
    }

    /// The op's name of a parameter of a body.
    pub(super) fn name_of(&self, func: &Func, param: u16) -> Option<&'a str> {
        let own = self.program.param_name(func.function, param);
        let schema = &self.op.schema_params;
        if schema.is_empty() || schema.iter().any(|name| name == own) {
            return Some(own);
        }
        schema.get(usize::from(param)).map(String::as_str)
    }

    /// The parameter of a body that an argument of the op goes to.
    pub(super) fn param_of(&self, func: &Func, name: &str) -> Option<u16> {
        let params = self.program.function(func.function).params.len();
        let own = (0..params as u16).find(|&p| self.program.param_name(func.function, p) == name);
        own.or_else(|| {
            let position = self.op.schema_params.iter().position(|n| n == name)?;
            (position < params).then_some(position as u16)
        })
    }

    /// The op's arguments, in order.
    pub(super) fn arguments(&self) -> Vec<String> {
        if !self.op.schema_params.is_empty() {
            return self.op.schema_params.clone();
        }
        let function = self.func().function;
        let params = self.program.function(function).params.len() as u16;
        (0..params).map(|p| self.program.param_name(function, p).to_string()).collect()
    }

    /// Writes of arguments, each with its name in the op: the first proof of each.
    pub(super) fn writes(&self) -> Vec<(&'a str, &'a Write)> {
        let mut found: Vec<(&str, &Write)> = Vec::new();
        for func in &self.funcs {
            for write in &func.mutates {
                let Some(name) = self.name_of(func, write.param) else { continue };
                match found.iter_mut().find(|(n, _)| *n == name) {
                    Some(first) if first.1.maybe_copy.is_some() && write.maybe_copy.is_none() => first.1 = write,
                    Some(_) => {}
                    None => found.push((name, write)),
                }
            }
        }
        found
    }

    /// The argument may hold a tensor, and no body that may run can write it.
    pub(super) fn is_never_written(&self, name: &str) -> bool {
        let proven = |func: &&Func| {
            let Some(param) = self.param_of(func, name) else { return false };
            let untouched = !func.mutates.iter().any(|w| w.param == param) && !func.unresolved.iter().any(|(p, _)| *p == param);
            // A body that never returns is a placeholder.
            untouched && self.may_be_tensor(func, param) && !func.returns.is_empty()
        };
        self.all_in_view() && self.funcs.iter().all(proven)
    }

    /// It is annotated as a tensor, or as nothing.
    pub(super) fn may_be_tensor(&self, func: &Func, param: u16) -> bool {
        let annotated = self.program.function(func.function).params[usize::from(param)].annotation.is_some();
        match func.types.get(usize::from(param)) {
            Some(Some(ty)) => ty.starts_with("Tensor"),
            _ => !annotated,
        }
    }

    /// What the registration should declare, as far as it is known: what is written, and of what is declared all that may be.
    pub(super) fn right(&self) -> Right {
        let writes = self.writes();
        let is_declared = |name: &str| match &self.op.declared {
            Declared::Names(names) => names.iter().any(|n| n == name),
            Declared::All => self.is_tensor(name),
            Declared::Malformed(text) => words(text).any(|word| word == name),
            Declared::Unknown => false,
        };
        let mut proven = true;
        let mut names = Vec::new();
        for name in self.arguments() {
            let certain = writes.iter().any(|(n, w)| *n == name && w.maybe_copy.is_none());
            let likely = writes.iter().any(|(n, _)| *n == name);
            let kept = is_declared(&name) && !self.is_never_written(&name) && self.is_tensor(&name);
            if certain || likely || kept {
                proven &= certain;
                names.push(name);
            }
        }
        Right { names, proven }
    }

    fn is_tensor(&self, name: &str) -> bool {
        self.funcs
            .iter()
            .any(|func| self.param_of(func, name).is_some_and(|p| self.may_be_tensor(func, p)))
    }

    /// No path returns anything.
    pub(super) fn returns_nothing(&self) -> bool {
        let nothing = |func: &&Func| func.returns.iter().all(|path| path.shape == ReturnShape::None);
        self.funcs.iter().all(nothing)
    }

    /// Milder in tests and benchmarks too.
    pub(super) fn level(&self, full: Level) -> Level {
        if self.func().cold {
            return Level::Note;
        }
        Self::capped(self.op, full)
    }

    /// For a registrar that does nothing, what would be wrong from the day it does is worth a note.
    pub(super) fn capped(op: &Op, full: Level) -> Level {
        if op.disabled { Level::Note } else { full }
    }

    /// The op's name for messages; the function's where that cannot be known.
    pub(super) fn title(&self) -> &'a str {
        if self.op.name_known {
            &self.op.name
        } else {
            self.program.qualname(self.func().function)
        }
    }

    /// Where the list of mutated arguments stands, or should.
    pub(super) fn declaration(&self) -> Place {
        self.op
            .declared_place
            .filter(|p| p.file == self.op.place.file)
            .unwrap_or(self.op.place)
    }

    /// The registration, for findings that stand elsewhere.
    pub(super) fn registered_here(&self) -> Label {
        Label {
            place: self.op.place,
            message: format!("registered as an op by `{}`", self.op.registrar),
        }
    }

    /// A remark for registrars that do nothing.
    pub(super) fn remarks(&self) -> Vec<String> {
        let off = self.op.disabled.then(|| {
            format!(
                "`{}` registers nothing today: the declaration is wrong from the day it does",
                self.op.registrar
            )
        });
        off.into_iter().collect()
    }

    /// Corrects the list of mutated arguments; `None` where there is nothing to correct it to.
    pub(super) fn declare(&self) -> Option<Fix> {
        let Right { names, .. } = self.right();
        if names.is_empty() && self.returns_nothing() {
            return None;
        }
        let title = match names.as_slice() {
            [] => "declare that it writes none of its arguments".to_string(),
            names => format!("declare that it writes {}", listed(names)),
        };
        let (edits, why_not) = match self.edits(&names) {
            Ok(edits) => (edits, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        let doubts = self.doubts(&names);
        Some(Fix {
            title,
            safety: match (&why_not, doubts.is_empty()) {
                (Some(_), _) => Safety::Shown,
                (None, true) => Safety::Safe,
                (None, false) => Safety::Unsafe,
            },
            reasons: why_not.into_iter().chain(doubts).collect(),
            claims: Vec::new(),
            edits,
        })
    }

    fn edits(&self, names: &[String]) -> Result<Vec<(FileId, Edit)>, String> {
        if self.shares_code {
            return Err("the same piece of code registers several ops".to_string());
        }
        if self.op.autograd && !names.is_empty() {
            return Err("the op has an autograd formula, which torch refuses for an op that mutates".to_string());
        }
        rewrite::declare(self.program, self.op, names)
    }

    fn doubts(&self, names: &[String]) -> Vec<String> {
        let mut doubts = Vec::new();
        let likely: Vec<String> = self
            .writes()
            .iter()
            .filter(|(_, w)| w.maybe_copy.is_some())
            .map(|(n, _)| (*n).to_string())
            .collect();
        if !likely.is_empty() {
            doubts.push(format!("what is written of {} may be a copy", listed(&likely)));
        }
        let func = self.func();
        let returned = |name: &&String| self.param_of(func, name).is_some_and(|p| func.returns_alias_of.contains(&p));
        let returned: Vec<String> = names.iter().filter(returned).cloned().collect();
        if !returned.is_empty() {
            doubts.push(format!("the op returns {} too, which it may not", listed(&returned)));
        }
        doubts
    }
}

/// The words of a string that was meant as a list.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// `` `a`, `b` and `c` ``.
pub(super) fn listed<S: AsRef<str>>(names: &[S]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{}`", name.as_ref())).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// The proof of the first write; each further one at the place that says most: in the body, where its argument is handed on.
pub(super) fn proofs(program: &Program, writes: &[(&str, &Write)]) -> (Vec<Label>, Vec<String>) {
    let Some((first, rest)) = writes.split_first() else {
        return (Vec::new(), Vec::new());
    };
    let notes = rest.iter().filter_map(|(name, write)| {
        let step = write.chain.last()?;
        let source = &program.file(step.place.file).source;
        let line = source.line(step.place.span.start);
        Some(format!("`{name}`: {} ({}:{line})", step.what, source.path))
    });
    (chain(first.1), notes.collect())
}
