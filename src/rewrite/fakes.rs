//! Fixes of fake implementations: a default that is missing, a body that drifted, a fake that is not there.

use super::Rewrite;
use super::fake;
use super::scope::{Scope, module_function};
use super::split::Split;
use super::{imports, names, signature};
use crate::facts::{MODULE, StatementKind};
use crate::finding::{Edit, Fix, Safety};
use crate::knowledge::frameworks::Register;
use crate::program::{FunctionRef, Op, Program};
use crate::source::{Place, Span};

/// Gives parameters of a fake the defaults of the op: pairs of the fake's and the implementation's parameter.
pub fn add_defaults(program: &Program, implementation: FunctionRef, fake: FunctionRef, params: &[(u16, u16)]) -> Option<Fix> {
    let source = &program.file(implementation.file).source;
    let mut edits = Vec::new();
    for &(own, theirs) in params {
        let param = &program.function(fake).params[own as usize];
        let text = source.slice(program.function(implementation).params[theirs as usize].default_span?);
        let plain = text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_' | '"' | '\''));
        let literal = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '"' | '\'' | '.'))
            || matches!(text, "None" | "True" | "False");
        if implementation.file != fake.file && !(plain && literal) {
            return None;
        }
        let sign = if param.annotation.is_some() { " = " } else { "=" };
        edits.push((fake.file, Edit::insert(param.span.end, format!("{sign}{text}"))));
    }
    let names: Vec<&str> = params.iter().map(|&(own, _)| program.param_name(fake, own)).collect();
    Some(Fix {
        title: format!("give `{}` the op's default", names.join("`, `")),
        safety: Safety::Safe,
        reasons: Vec::new(),
        edits,
        claims: vec![(fake.file, program.function(fake).params_span)],
    })
}

impl<'a> Rewrite<'a> {
    /// Writes a fake anew, sliced from the implementation: [`Program::functions`] by index.
    pub fn rewrite_fake(&self, func: usize, fake: FunctionRef) -> Option<Fix> {
        let implementation = self.program.functions[func].function;
        let function = self.program.function(fake);
        let file = self.program.file(fake.file);
        let source = &file.source;
        let line = source.line_start(function.header.start);
        let indent = &source.text[line as usize..function.header.start as usize];
        if implementation.file != fake.file || !indent.trim().is_empty() || function.kind != crate::facts::FunctionKind::Def {
            return None;
        }
        let name = self.program.function_name(fake);
        let text = self.sliced(implementation, name, indent)?;
        let end = function.body_span.end;
        Some(Fix {
            title: format!("write the fake `{name}` as the implementation allocates"),
            safety: if text.1.is_empty() { Safety::Safe } else { Safety::Unsafe },
            reasons: text.1,
            edits: vec![(
                fake.file,
                Edit::replace(
                    Span::new(function.header.start, end),
                    text.0.trim_end().replace('\n', &file.facts.layout.newline),
                ),
            )],
            claims: vec![(fake.file, function.span)],
        })
    }

    /// The text of a fake of that name, and what could not be seen.
    fn sliced(&self, implementation: FunctionRef, name: &str, indent: &str) -> Option<(String, Vec<String>)> {
        let scope = Scope::new(self.program, self.types.knowledge, implementation);
        let inner = format!("{indent}{}", scope.facts().layout.indent);
        let made = fake::fake(&scope, &self.calls, &Split::default(), &inner).ok()?;
        let header = signature::plain_header(&scope, name, None, &[], None, indent);
        let body = if made.lines.is_empty() {
            format!("{inner}return None")
        } else {
            made.lines.join("\n")
        };
        Some((format!("{header}\n{body}\n"), made.doubts))
    }

    /// Writes the fake that an op lacks.
    pub fn add_fake(&self, op: &Op) -> Option<Fix> {
        let func = &self.program.functions[op.func?];
        let at = func.function;
        let file = self.program.file(at.file);
        let (facts, source) = (&file.facts, &file.source);
        let function = self.program.function(at);
        let module = facts.module();
        let bound = module.binding(function.name)?;
        let top = |span: Span| {
            let top = module.body.top.iter().map(|s| &module.body.statements[s.index()]);
            top.into_iter().find(|s| s.span.contains(span))
        };
        let own = top(function.name_span).filter(|s| s.kind == StatementKind::Def)?;
        if module_function(facts, bound) != Some(at.function) || func.inline.is_some() {
            return None;
        }
        let plain = names::plain(self.program.function_name(at));
        let name = names::private(facts, plain, "fake");
        let (text, reasons) = self.sliced(at, &name, "")?;
        let decorated = op.base.as_deref() == Some("torch.library.custom_op") && !op.plain;
        let mut edits = Vec::new();
        let newline = &facts.layout.newline;
        let after = |end: u32| source.line_end(end.saturating_sub(1).max(own.span.start));
        if decorated {
            let register = format!("@{}.register_fake\n", self.program.function_name(at));
            let text = format!("\n\n{register}{text}").replace('\n', newline);
            edits.push(Edit::insert(after(own.span.end), text));
        } else if let Some((row, call)) = self.house_call(op) {
            let keyword = row.fake.keyword.as_ref()?;
            edits.push(Edit::insert(after(own.span.end), format!("\n\n{text}").replace('\n', newline)));
            edits.push(argument(source, call, &format!("{keyword}={name}"))?);
        } else if op.base.as_deref() == Some("torch.library.Library.define") || op.base.as_deref() == Some("torch.library.define") {
            if op.call.0.function != MODULE || op.call.0.file != at.file || !op.name_known {
                return None;
            }
            let last = top(op.place.span)?.span.end.max(own.span.end);
            let register = format!("@torch.library.register_fake(\"{}\")\n", op.name);
            let text = format!("\n\n{register}{text}").replace('\n', newline);
            edits.push(Edit::insert(after(last), text));
            edits.extend(imports::module(file, "torch", own.span.start));
        } else {
            return None;
        }
        Some(Fix {
            title: format!("write a fake for `{}`", op.name),
            safety: if reasons.is_empty() { Safety::Safe } else { Safety::Unsafe },
            reasons,
            edits: edits.into_iter().map(|edit| (at.file, edit)).collect(),
            claims: vec![(at.file, function.span), (op.place.file, op.place.span)],
        })
    }

    /// The call of a framework's registrar that takes the fake as a keyword, in the implementation's file behind it.
    fn house_call(&self, op: &Op) -> Option<(&'a Register, Place)> {
        let (framework, last) = op.registrar.rsplit_once('.')?;
        let framework = self.types.knowledge.frameworks.iter().find(|f| f.name == framework)?;
        let row = framework
            .register
            .iter()
            .find(|r| r.call.rsplit('.').next() == Some(last) && r.fake.keyword.is_some())?;
        let after = op.implementation.is_some_and(|f| {
            f.file == op.call.0.file && self.program.function(f).span.end <= op.place.span.start && op.call.0.function == MODULE
        });
        after.then_some((row, op.place))
    }
}

/// Adds an argument at the end of a call.
fn argument(source: &crate::source::Source, call: Place, text: &str) -> Option<Edit> {
    let whole = source.slice(call.span);
    let inside = whole.strip_suffix(')')?;
    let trimmed = inside.trim_end();
    let at = call.span.start + trimmed.len() as u32;
    if trimmed.ends_with('(') || trimmed.contains('#') {
        return None;
    }
    // One argument on each line: the new one gets a line of its own.
    let last = trimmed.rfind('\n').map(|line| &trimmed[line + 1..]);
    Some(match last {
        Some(line) if inside.len() > trimmed.len() => {
            let indent: String = line.chars().take_while(|c| c.is_whitespace()).collect();
            let comma = if trimmed.ends_with(',') { "" } else { "," };
            let end = if trimmed.ends_with(',') { "," } else { "" };
            Edit::insert(at, format!("{comma}\n{indent}{text}{end}"))
        }
        _ if trimmed.ends_with(',') => Edit::insert(at, format!(" {text}")),
        _ => Edit::insert(at, format!(", {text}")),
    })
}
