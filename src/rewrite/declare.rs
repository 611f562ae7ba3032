//! Writes the list of mutated arguments of a registration right, in the form that it has.

use super::schema_text;
use crate::facts::{Body, Call, Const, MODULE, Op as Code, ValueId};
use crate::finding::Edit;
use crate::program::{FunctionRef, Op, Program, ProgramFile};
use crate::source::{FileId, Place, Source, Span};
use crate::words::Word;

/// Makes a registration declare exactly these arguments; or why that cannot be written.
pub fn declare(program: &Program, op: &Op, names: &[String]) -> Result<Vec<(FileId, Edit)>, String> {
    let written = &op.written;
    if let Some((at, value)) = written.schema {
        let place = place(program, at, value);
        let edits = schema_text::mark(program.slice(place), names, place.span.start)?;
        return Ok(edits.into_iter().map(|edit| (at.file, edit)).collect());
    }
    let writer = |at| Writer { program, at, names };
    let edit = match written.mutated {
        Some((at, value)) => return writer(at).replace(value, written.mutated_span),
        None => writer(written.at).add(op)?,
    };
    Ok(vec![(written.at.file, edit)])
}

fn place(program: &Program, at: FunctionRef, value: ValueId) -> Place {
    Place {
        file: at.file,
        span: program.function(at).body.value(value).span,
    }
}

struct Writer<'a> {
    program: &'a Program,
    at: FunctionRef,
    names: &'a [String],
}

impl Writer<'_> {
    fn body(&self) -> &Body {
        &self.program.function(self.at).body
    }

    fn source(&self) -> &Source {
        &self.program.file(self.at.file).source
    }

    fn text(&self, span: Span) -> &str {
        self.source().slice(span)
    }

    /// Writes over the list in an argument's place.
    fn replace(&self, value: ValueId, argument: Option<Span>) -> Result<Vec<(FileId, Edit)>, String> {
        let own = self.body().value(value).span;
        let argument = argument.unwrap_or(own);
        let edit = match self.body().op(value) {
            _ if !argument.contains(own) => return self.named(value, argument),
            Code::Tuple(_) | Code::List(_) | Code::Set(_) | Code::Dict(_) => Edit::replace(own, self.display(value)?),
            Code::Const(Const::Str(_)) => Edit::replace(own, self.instead_of_string(own)),
            Code::Free(name) => {
                let facts = &self.program.file(self.at.file).facts;
                match facts.module().binding(name) {
                    Some(value) => return self.in_module().named(value, argument),
                    None => Edit::replace(argument, self.fresh('[')),
                }
            }
            _ => Edit::replace(argument, self.fresh('[')),
        };
        Ok(vec![(self.at.file, edit)])
    }

    fn in_module(&self) -> Self {
        let at = FunctionRef {
            function: MODULE,
            ..self.at
        };
        Self { at, ..*self }
    }

    /// A constant of the module that nothing else reads is changed where it stands, else the list is written out.
    fn named(&self, value: ValueId, argument: Span) -> Result<Vec<(FileId, Edit)>, String> {
        let own = self.body().value(value).span;
        let is_display = matches!(self.body().op(value), Code::Tuple(_) | Code::List(_) | Code::Set(_) | Code::Dict(_));
        let edit = if is_display && self.at.function == MODULE && self.is_read_once(self.text(argument)) {
            Edit::replace(own, self.display(value)?)
        } else {
            Edit::replace(argument, self.fresh('['))
        };
        Ok(vec![(self.at.file, edit)])
    }

    fn is_read_once(&self, name: &str) -> bool {
        let facts = &self.program.file(self.at.file).facts;
        let reads = |s: &&crate::facts::Statement| s.uses.iter().any(|&n| facts.name(n) == name);
        let here = facts.functions().flat_map(|(_, f)| f.body.statements.iter()).filter(reads).count();
        let word = Word::of(name);
        let imported = |file: &ProgramFile| {
            file.words.has(word)
                && file
                    .facts
                    .imports
                    .iter()
                    .any(|i| i.member.is_some_and(|m| file.facts.name(m) == name))
        };
        let exported = facts.layout.all.as_ref().is_some_and(|all| all.iter().any(|n| n == name));
        here == 1 && !exported && !self.program.files.iter().any(imported)
    }

    /// A list, tuple, set or dict with its items, those that stay as they are written.
    fn display(&self, value: ValueId) -> Result<String, String> {
        let body = self.body();
        let (items, open) = match body.op(value) {
            Code::Tuple(items) => (body.items(items).to_vec(), '('),
            Code::List(items) => (body.items(items).to_vec(), '['),
            Code::Set(items) => (body.items(items).to_vec(), '{'),
            // A dict gives its keys; an empty one is written like an empty set.
            Code::Dict(items) => (
                body.items(items).iter().copied().step_by(2).collect(),
                if items.len == 0 { '{' } else { '[' },
            ),
            _ => return Ok(self.fresh('[')),
        };
        let text = self.text(body.value(value).span);
        if text.contains('#') {
            return Err("there are comments in the list of mutated arguments".to_string());
        }
        let quote = quote(text).unwrap_or_else(|| self.quote());
        let spelled = |name: &str| {
            let same =
                |item: &&ValueId| matches!(body.op(**item), Code::Const(Const::Str(n)) if self.program.name(self.at.file, n) == name);
            let there = items.iter().find(same).map(|&item| self.text(body.value(item).span).to_string());
            there.unwrap_or_else(|| format!("{quote}{name}{quote}"))
        };
        let position = |name: &String| {
            let same = |item: &ValueId| matches!(body.op(*item), Code::Const(Const::Str(n)) if self.program.name(self.at.file, n) == name);
            items.iter().position(same).unwrap_or(usize::MAX)
        };
        let mut names: Vec<&String> = self.names.iter().collect();
        names.sort_by_key(|name| position(name));
        let parts: Vec<String> = names.into_iter().map(|name| spelled(name)).collect();
        let bare = !text.starts_with(['(', '[', '{']);
        if text.contains('\n') && !parts.is_empty() && !bare {
            return Ok(on_lines(text, open, &parts));
        }
        let joined = joined(open, &parts);
        Ok(if bare {
            format!("({})", joined.trim_matches(['(', ')']))
        } else {
            joined
        })
    }

    /// A list from nothing, quoted as the call quotes.
    fn fresh(&self, open: char) -> String {
        let quote = self.quote();
        let parts: Vec<String> = self.names.iter().map(|name| format!("{quote}{name}{quote}")).collect();
        joined(open, &parts)
    }

    /// `("x")` becomes `("x",)`, `"x"` becomes `["x"]`.
    fn instead_of_string(&self, span: Span) -> String {
        let (before, after) = (&self.source().text[..span.start as usize], &self.source().text[span.end as usize..]);
        let inside =
            before.trim_end().strip_suffix('(').is_some_and(|b| b.trim_end().ends_with('=')) && after.trim_start().starts_with(')');
        let list = self.fresh(if inside { '(' } else { '[' });
        match list.strip_prefix('(').and_then(|l| l.strip_suffix(')')) {
            Some(items) if inside => items.to_string(),
            _ => list,
        }
    }

    /// The quote of the file's strings near the place.
    fn quote(&self) -> char {
        let whole = self.program.function(self.at).span;
        let text = &self.source().text;
        let text = text.get(whole.range()).unwrap_or(text);
        let (single, double) = (text.matches('\'').count(), text.matches('"').count());
        if single > double { '\'' } else { '"' }
    }

    /// Adds the argument to a registering call that has none.
    fn add(&self, op: &Op) -> Result<Edit, String> {
        if !op.written.takes_mutates_args {
            return Err("the registrar takes no list of mutated arguments".to_string());
        }
        let call = self.body().call(op.written.call);
        let argument = format!("mutates_args={}", self.fresh('['));
        if op.written.bare {
            let end = self.body().value(call.callee).span.end;
            return Ok(Edit::insert(end, format!("({argument})")));
        }
        let whole = self.span_of(call).ok_or("its call is not written out")?;
        let close = whole.end - 1;
        let Some(last) = call.args.iter().map(|a| a.span).max_by_key(|s| s.end) else {
            return Ok(Edit::insert(close, argument));
        };
        let gap = &self.source().text[last.end as usize..close as usize];
        let comma = gap.split('#').next().and_then(|code| code.find(','));
        let line = self.source().line_start(last.start);
        let indent = &self.source().text[line as usize..last.start as usize];
        let own_line = indent.trim().is_empty() && self.source().line(last.end) != self.source().line(close);
        let newline = &self.program.file(self.at.file).facts.layout.newline;
        Ok(match (own_line, comma) {
            (true, Some(comma)) => Edit::insert(last.end + comma as u32 + 1, format!("{newline}{indent}{argument},")),
            (true, None) => Edit::insert(last.end, format!(",{newline}{indent}{argument}")),
            (false, Some(comma)) => Edit::insert(last.end + comma as u32 + 1, format!(" {argument}")),
            (false, None) => Edit::insert(last.end, format!(", {argument}")),
        })
    }

    fn span_of(&self, call: &Call) -> Option<Span> {
        let body = self.body();
        let value = body
            .values
            .iter()
            .find(|v| matches!(v.op, Code::Call(id) if std::ptr::eq(body.call(id), call)))?;
        self.text(value.span).ends_with(')').then_some(value.span)
    }
}

fn quote(text: &str) -> Option<char> {
    text.chars().find(|c| matches!(c, '\'' | '"'))
}

fn close(open: char) -> char {
    match open {
        '(' => ')',
        '{' => '}',
        _ => ']',
    }
}

fn joined(open: char, parts: &[String]) -> String {
    let inner = parts.join(", ");
    match (open, parts.len()) {
        ('(', 1) => format!("({inner},)"),
        // `{}` is an empty dict, which gives no names either.
        _ => format!("{open}{inner}{}", close(open)),
    }
}

/// One item a line, as the list was written.
fn on_lines(text: &str, open: char, parts: &[String]) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut lines = text.lines().skip(1);
    let inner: String = lines.next().unwrap_or_default().chars().take_while(|c| c.is_whitespace()).collect();
    let outer: String = text
        .lines()
        .last()
        .unwrap_or_default()
        .chars()
        .take_while(|c| c.is_whitespace())
        .collect();
    let items: String = parts.iter().map(|part| format!("{inner}{part},{newline}")).collect();
    format!("{open}{newline}{items}{outer}{}", close(open))
}
