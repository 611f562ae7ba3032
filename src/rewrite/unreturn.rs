//! Lets an op return nothing instead of the arguments that it wrote; a plain function around it returns them as before.

use crate::facts::{Facts, MODULE, Name, Op as Code, Param, ParamKind, StatementId, StatementKind, ValueId};
use crate::finding::Edit;
use crate::program::{Declared, Fake, Func, FunctionRef, Op, Program};
use crate::source::{FileId, Source, Span};

/// The edits, and the name that the op's function gets; or why it is not done.
pub fn return_nothing(program: &Program, op: &Op, func: &Func) -> Result<(String, Vec<(FileId, Edit)>), String> {
    let work = Work::new(program, op, func)?;
    let name = work.private_name();
    let mut edits = work.body_edits(&name)?;
    edits.extend(work.wrapper(&name)?);
    Ok((name, edits.into_iter().map(|edit| (func.function.file, edit)).collect()))
}

struct Work<'a> {
    program: &'a Program,
    f: FunctionRef,
    facts: &'a Facts,
    source: &'a Source,
    /// The fake implementation in the same file, which an op without results does not need.
    fake: Option<Span>,
    returns: Vec<StatementId>,
    /// What is returned, as it is written.
    returned: &'a str,
}

impl<'a> Work<'a> {
    fn new(program: &'a Program, op: &Op, func: &Func) -> Result<Self, String> {
        let f = func.function;
        let file = program.file(f.file);
        let (facts, source) = (&*file.facts, &*file.source);
        let function = program.function(f);
        let under_op = function.decorators.len() == 1 && function.decorators[0].span == op.place.span && op.place.file == f.file;
        if function.parent != MODULE || !under_op {
            return Err("the op's own name is called for the result".to_string());
        }
        let Declared::Names(declared) = &op.declared else {
            return Err("it is not known what the op declares as mutated".to_string());
        };
        let body = &function.body;
        let is_return = |(i, s): (usize, &crate::facts::Statement)| (s.kind == StatementKind::Return).then_some(StatementId(i as u32));
        let returns: Vec<StatementId> = body.statements.iter().enumerate().filter_map(is_return).collect();
        let mut texts: Vec<&str> = Vec::new();
        for path in &func.returns {
            let value = path.value.ok_or("a path returns nothing")?;
            let params = given(body, value).ok_or("it returns more than its arguments as they came in")?;
            let undeclared = params.iter().find(|&&p| !declared.iter().any(|d| d == program.param_name(f, p)));
            if let Some(&p) = undeclared {
                return Err(format!("`{}` is not declared as mutated", program.param_name(f, p)));
            }
            texts.push(source.slice(body.value(value).span));
        }
        texts.dedup();
        let &[returned] = texts.as_slice() else {
            return Err("it does not return the same on every path".to_string());
        };
        let fake = match &op.fake {
            Fake::Missing => None,
            Fake::Function(fake) if fake.file == f.file && fake.function != f.function => Some(program.function(*fake).span),
            Fake::Function(_) | Fake::Text(_) | Fake::Generated | Fake::Unknown => {
                return Err("its fake implementation stands elsewhere".to_string());
            }
        };
        let work = Self {
            program,
            f,
            facts,
            source,
            fake,
            returns,
            returned,
        };
        work.only_called(function.name)?;
        Ok(work)
    }

    /// Nothing but the fake's registration asks the op object for a member.
    fn only_called(&self, name: Name) -> Result<(), String> {
        let in_fake = |span: Span| self.fake.is_some_and(|fake| fake.contains(span));
        for (_, function) in self.facts.functions() {
            for (_, value) in function.body.iter() {
                let Code::Attr(object, _) = value.op else { continue };
                let is_op = match function.body.op(object) {
                    Code::Free(n) => n == name,
                    _ => self.source.slice(function.body.value(object).span) == self.facts.name(name),
                };
                if is_op && !in_fake(value.span) {
                    return Err(format!("`{}` stands there for the op object", self.source.slice(value.span)));
                }
            }
        }
        Ok(())
    }

    fn private_name(&self) -> String {
        let plain = self.program.function_name(self.f);
        let taken = |name: &str| self.facts.names.iter().any(|n| &**n == name);
        let mut name = format!("_{plain}");
        while taken(&name) {
            name.push_str("_op");
        }
        name
    }

    fn body_edits(&self, name: &str) -> Result<Vec<Edit>, String> {
        let function = self.program.function(self.f);
        let annotation = function.returns.ok_or("it has no return annotation")?;
        let mut edits = vec![Edit::replace(function.name_span, name), Edit::replace(annotation.span, "None")];
        let last = function.body.top.last();
        for &id in &self.returns {
            let span = function.body.statements[id.index()].span;
            let line = Span::new(self.source.line_start(span.start), self.source.line_end(span.end));
            let alone = self.source.slice(line).trim() == self.source.slice(span);
            if Some(&id) == last && alone && function.body.top.len() > 1 {
                edits.push(Edit::replace(line, ""));
            } else {
                edits.push(Edit::replace(span, "return"));
            }
        }
        if let Some(docstring) = function.docstring {
            edits.push(Edit::replace(
                Span::new(self.source.line_start(docstring.start), self.source.line_end(docstring.end)),
                "",
            ));
        }
        Ok(edits)
    }

    /// The plain function, in the place of the fake.
    fn wrapper(&self, name: &str) -> Result<Vec<Edit>, String> {
        let function = self.program.function(self.f);
        let layout = &self.facts.layout;
        let (newline, indent) = (&layout.newline, &layout.indent);
        let arguments: Option<Vec<String>> = function.params.iter().map(|p| self.argument(p)).collect();
        let arguments = arguments.ok_or("it takes `*args` or `**kwargs`")?.join(", ");
        let header = self.source.slice(function.header);
        let docstring = match function.docstring {
            Some(span) => format!("{indent}{}{newline}", self.source.slice(span)),
            None => String::new(),
        };
        let text = format!(
            "{newline}{newline}{header}{newline}{docstring}{indent}{name}({arguments}){newline}{indent}return {}{newline}",
            self.returned
        );
        let end = self.source.line_end(function.span.end);
        let Some(fake) = self.fake else {
            return Ok(vec![Edit::insert(end, text)]);
        };
        let fake_end = self.source.line_end(fake.end);
        let before = self.source.text[..fake.start as usize].trim_end();
        let start = self.source.line_end(before.len() as u32);
        if start <= end {
            return Ok(vec![Edit::replace(Span::new(end, fake_end), text)]);
        }
        Ok(vec![Edit::insert(end, text), Edit::replace(Span::new(start, fake_end), "")])
    }

    fn argument(&self, param: &Param) -> Option<String> {
        let name = self.facts.name(param.name);
        match param.kind {
            ParamKind::PositionalOnly | ParamKind::Positional => Some(name.to_string()),
            ParamKind::KeywordOnly => Some(format!("{name}={name}")),
            ParamKind::Star | ParamKind::StarStar => None,
        }
    }
}

/// The parameters that a value is made of, each as it came in.
fn given(body: &crate::facts::Body, value: ValueId) -> Option<Vec<u16>> {
    let one = |v: ValueId| match body.op(v) {
        Code::Param(p) => Some(p),
        _ => None,
    };
    match body.op(value) {
        Code::Tuple(items) if items.len > 0 => body.items(items).iter().map(|&v| one(v)).collect(),
        _ => one(value).map(|p| vec![p]),
    }
}
