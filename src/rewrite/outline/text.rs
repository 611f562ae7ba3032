//! The text of an outlined op, and the call in its place.

use super::super::fake::Fake;
use super::super::imports;
use super::super::names::{self, Chosen};
use super::super::op_text::OpText;
use super::super::scope::{self, Scope};
use super::super::signature::{self, Base};
use super::super::slice::{Refused, Slicer, mentions};
use super::super::spelling::Spelling;
use super::super::split::tensors;
use super::super::styles::{self, Route};
use super::super::writer::{Comments, Writer, comment_above};
use super::region::{Input, Region};
use crate::facts::{MODULE, StatementId, StatementKind};
use crate::finding::Edit;
use crate::knowledge::frameworks::Form;
use crate::source::Span;

/// What the ops of one function share.
pub(super) struct Site<'s, 'a> {
    pub(super) scope: &'s Scope<'a>,
    pub(super) route: &'s Route<'s>,
    pub(super) namespace: &'s str,
    /// Oldest torch that the project supports.
    pub(super) torch: (u32, u32),
}

impl<'a> Site<'_, 'a> {
    pub(super) fn outline<'x>(&'x self, names: &'x Chosen, region: &'x Region) -> Outline<'x, 'a> {
        Outline {
            scope: self.scope,
            route: self.route,
            namespace: self.namespace,
            names,
            region,
            torch: self.torch,
        }
    }
}

/// One region on its way to an op.
pub(super) struct Outline<'s, 'a> {
    pub(super) scope: &'s Scope<'a>,
    pub(super) route: &'s Route<'s>,
    pub(super) namespace: &'s str,
    pub(super) names: &'s Chosen,
    pub(super) region: &'s Region,
    /// Oldest torch that the project supports.
    pub(super) torch: (u32, u32),
}

/// The statement of the module in front of which the op goes.
struct Front {
    offset: u32,
    indent: String,
}

impl Outline<'_, '_> {
    /// The edits, in the file's line ends.
    pub(super) fn edits(&self) -> Result<Vec<Edit>, Refused> {
        let front = self.front()?;
        let scope = self.scope;
        let file = scope.program.file(scope.at.file);
        let unit = &scope.facts().layout.indent;
        let inner = format!("{}{unit}", front.indent);
        let (register, mut edits) = styles::registrar(scope, self.route, self.namespace, front.offset);
        let torch = imports::module(file, "torch", front.offset).filter(|_| !edits.iter().any(|e| e.content.contains("import torch")));
        edits.extend(torch);
        let private = names::private(scope.facts(), &self.names.stem, "impl");
        let fake_name = names::private(scope.facts(), &self.names.stem, "fake");
        let (moved, replaced) = self.moved(&inner)?;
        let fake = self.fake(&inner)?;
        let mutated: Vec<String> = self.region.inputs.iter().filter(|i| i.written).map(|i| i.param.clone()).collect();
        let suspected = self.region.inputs.iter().filter(|i| i.suspected);
        let suspected: Vec<String> = suspected.map(|i| i.param.clone()).collect();
        let op = OpText {
            route: self.route,
            namespace: self.namespace,
            op: &self.names.op,
            mutated: &mutated,
            suspected: &suspected,
            implementation: &private,
            fake_name: &fake_name,
            fake: fake.as_ref(),
            nothing: self.region.outputs.is_empty(),
            indent: &front.indent,
            unit,
            width: scope.width(),
        };
        let spelling = Spelling::new(scope, self.torch);
        let types = self.region.inputs.iter().map(|i| spelling.spell(i.ty));
        let annotations: Vec<String> = types.collect::<Option<_>>().ok_or("no schema has the type of what it is given")?;
        edits.extend(
            spelling
                .imports(&annotations)
                .ok_or("a name of the typing module is bound to something else")?,
        );
        let mut body = moved;
        if !self.region.outputs.is_empty() {
            body.push(format!("{inner}return {}", self.outputs_within(&inner, "return ".len())));
        }
        let work = self.function(&private, &annotations, &body, &front.indent);
        let fake = op.needs_fake().then(|| {
            let nothing = vec![format!("{inner}return None")];
            let lines = fake.as_ref().map_or(&nothing, |fake| &fake.lines);
            self.function(&fake_name, &annotations, lines, &front.indent)
        });
        edits.push(Edit::insert_once(
            front.offset,
            self.assemble(&op, &register, &work, fake, &front.indent),
        ));
        let arguments: Vec<String> = self.region.inputs.iter().map(handed).collect();
        edits.push(Edit::replace(replaced, self.call(&private, &arguments, replaced)));
        edits.extend(self.removals()?);
        self.in_the_files_line_ends(&mut edits);
        Ok(edits)
    }

    /// The edits where another region's op, which has these names, does the same: `order` says which input is which argument.
    pub(super) fn calls(&self, order: &[usize]) -> Result<Vec<Edit>, Refused> {
        let private = names::private(self.scope.facts(), &self.names.stem, "impl");
        let (_, replaced) = self.moved("")?;
        let arguments: Vec<String> = order.iter().map(|&i| handed(&self.region.inputs[i])).collect();
        let mut edits = vec![Edit::replace(replaced, self.call(&private, &arguments, replaced))];
        edits.extend(self.removals()?);
        self.in_the_files_line_ends(&mut edits);
        Ok(edits)
    }

    fn in_the_files_line_ends(&self, edits: &mut [Edit]) {
        let newline = &self.scope.facts().layout.newline;
        for edit in edits.iter_mut().filter(|_| newline != "\n") {
            edit.content = edit.content.replace("\r\n", "\n").replace('\n', newline);
        }
    }

    /// In front of the class or function that the region lies in, which must be a statement of the module.
    fn front(&self) -> Result<Front, Refused> {
        let module = self.scope.facts().module();
        let inside = self.scope.function().name_span;
        let statements = &module.body.statements;
        let outer = statements
            .iter()
            .rfind(|s| matches!(s.kind, StatementKind::Class | StatementKind::Def) && s.span.contains(inside))
            .ok_or("it does not stand in a class or function of the module")?;
        let mut parent = outer.parent;
        while let Some(id) = parent {
            let statement = &statements[id.index()];
            if statement.kind != StatementKind::If {
                return Err("it is defined under a compound statement of the module".to_string());
            }
            parent = statement.parent;
        }
        let source = self.scope.source();
        let line = source.line_start(outer.span.start);
        let indent = source.text[line as usize..outer.span.start as usize].to_string();
        if !indent.trim().is_empty() {
            return Err("the function shares its line with another statement".to_string());
        }
        Ok(Front {
            offset: banner_above(&source.text, comment_above(source, line)),
            indent,
        })
    }

    fn outputs(&self) -> String {
        let names: Vec<&str> = self.region.outputs.iter().map(|n| self.scope.name(*n)).collect();
        names.join(", ")
    }

    /// The same, one a line in parentheses where they do not fit behind an indentation and what stands around them.
    fn outputs_within(&self, indent: &str, around: usize) -> String {
        let line = self.outputs();
        if indent.len() + around + line.chars().count() <= self.scope.width() {
            return line;
        }
        let unit = &self.scope.facts().layout.indent;
        let names = self
            .region
            .outputs
            .iter()
            .map(|n| format!("{indent}{unit}{},\n", self.scope.name(*n)));
        format!("(\n{}{indent})", names.collect::<String>())
    }

    fn returns(&self, indent: &str) -> String {
        let n = self.region.outputs.len();
        if n == 0 {
            return "None".to_string();
        }
        let line = tensors(self.scope, n, n > 1);
        let one = tensors(self.scope, 1, false);
        if indent.len() + ") -> :".len() + line.len() <= self.scope.width() {
            return line;
        }
        let unit = &self.scope.facts().layout.indent;
        let open = line.split('[').next().unwrap_or_default();
        format!("{open}[\n{}{indent}]", format!("{indent}{unit}{one},\n").repeat(n))
    }

    /// `def name(…) -> …:` with a body.
    fn function(&self, name: &str, annotations: &[String], body: &[String], indent: &str) -> String {
        let params: Vec<String> = self
            .region
            .inputs
            .iter()
            .zip(annotations)
            .map(|(input, annotation)| format!("{}: {annotation}", input.param))
            .collect();
        let returns = self.returns(indent);
        let one = format!("{indent}def {name}({}) -> {returns}:", params.join(", "));
        let header = if one.chars().count() <= self.scope.width() {
            one
        } else {
            let unit = &self.scope.facts().layout.indent;
            let lines: String = params.iter().map(|p| format!("{indent}{unit}{p},\n")).collect();
            format!("{indent}def {name}(\n{lines}{indent}) -> {returns}:")
        };
        format!("{header}\n{}\n", body.join("\n"))
    }

    /// Everything that goes in front of the class or function.
    fn assemble(&self, op: &OpText, register: &str, work: &str, fake: Option<String>, indent: &str) -> String {
        let gap = if indent.is_empty() { "\n\n" } else { "\n" };
        let decorator = op.decorator(register, false).unwrap_or_default();
        let in_place = matches!(self.route, Route::House(_, style) if style.form == Form::Decorator);
        let mut parts = Vec::new();
        let fake = fake.filter(|_| !op.fake_is_like());
        if in_place {
            parts.extend(fake);
            parts.push(format!("{decorator}{work}"));
        } else {
            parts.push(format!("{decorator}{work}"));
            let register_fake = match self.route {
                Route::CustomOp => format!("{indent}@{}.register_fake\n", op.implementation),
                Route::Library | Route::House(..) => String::new(),
            };
            parts.extend(fake.map(|fake| format!("{register_fake}{fake}")));
            parts.extend(op.statements(register));
        }
        parts.iter().map(|part| format!("{part}{gap}")).collect()
    }

    /// The call that stands where the statements stood.
    fn call(&self, private: &str, arguments: &[String], replaced: Span) -> String {
        let source = self.scope.source();
        let first = self.first();
        let indent = &source.text[source.line_start(first) as usize..first as usize];
        let prefix = match self.region.outputs.as_slice() {
            [] => String::new(),
            _ if self.returned().is_some() => "return ".to_string(),
            _ => format!("{} = ", self.outputs_within(indent, " = (".len())),
        };
        let in_place = matches!(self.route, Route::House(_, style) if style.form == Form::Decorator);
        let callee = if in_place {
            private.to_string()
        } else {
            format!("torch.ops.{}.{}", self.namespace, self.names.op)
        };
        let unit = self.scope.facts().layout.indent.as_str();
        let (above, prefix) = match prefix.rsplit_once('\n') {
            Some((above, last)) => (format!("{indent}{above}\n"), last.trim_start()),
            None => (String::new(), prefix.as_str()),
        };
        let call = above + &signature::call_within(self.scope.width(), prefix, &callee, arguments, (indent, unit));
        let newline = source.slice(replaced).ends_with(['\n', '\r']);
        if newline { call + "\n" } else { call }
    }

    /// Right behind the region stands `return` with what it makes, and nothing else: where its line ends.
    fn returned(&self) -> Option<u32> {
        let (source, body) = (self.scope.source(), self.scope.body());
        let range = &self.region.range;
        let mut outer = range.parent.map(|id| &body.statements[id.index()]);
        while let Some(statement) = outer {
            if statement.kind == StatementKind::Try {
                return None;
            }
            outer = statement.parent.map(|id| &body.statements[id.index()]);
        }
        let last = body.statements[range.block[range.last].index()].span.end;
        let next = &body.statements[range.block.get(range.last + 1)?.index()];
        let end = source.line_end(next.span.end);
        let between = &source.text[last as usize..next.span.start as usize];
        let behind = &source.text[next.span.end as usize..end as usize];
        let written = next.kind == StatementKind::Return && self.scope.text(next.span) == format!("return {}", self.outputs());
        (written && between.trim().is_empty() && behind.trim().is_empty()).then_some(end)
    }

    fn first(&self) -> u32 {
        let range = &self.region.range;
        self.scope.body().statements[range.block[range.first].index()].span.start
    }

    /// The moved statements, and the lines that they stood on.
    pub(super) fn moved(&self, indent: &str) -> Result<(Vec<String>, Span), Refused> {
        let range = &self.region.range;
        let last = self.scope.body().statements[range.block[range.last].index()].span.end;
        let mut lines = Vec::new();
        for (id, _) in &self.region.prelude {
            let statement = &self.scope.body().statements[id.index()];
            lines.extend(self.lines(statement.span.start, statement.span.end, indent)?.0);
            lines.extend((statement.kind == StatementKind::Def).then(String::new));
        }
        let (own, span) = self.lines(self.first(), last, indent)?;
        lines.extend(own);
        self.made_again(indent, &mut lines)?;
        Ok((lines, self.returned().map_or(span, |end| Span::new(span.start, end))))
    }

    /// What arrives as something else is made what it was, where these lines use it: a tuple where the launch takes it, if it can be.
    fn made_again(&self, indent: &str, lines: &mut Vec<String>) -> Result<(), Refused> {
        let mut made = Vec::new();
        for input in &self.region.inputs {
            let name = &input.param;
            let uses = |lines: &[String]| lines.iter().any(|line| mentions(line, name));
            if input.ty.base == Base::TritonDtype && uses(lines) {
                let language = triton_language(self.scope).ok_or("no name of its file is `triton.language`")?;
                made.push(format!("{indent}{name} = {language}.dtype({name})"));
            }
            if !input.tuple || !uses(lines) {
                continue;
            }
            let grid = format!("[{name}](");
            let bare: Vec<String> = lines.iter().map(|line| line.replace(&grid, "")).collect();
            if uses(&bare) {
                made.push(format!("{indent}{name} = tuple({name})"));
            } else {
                let tuple = format!("[tuple({name})](");
                lines.iter_mut().for_each(|line| *line = line.replace(&grid, &tuple));
            }
        }
        lines.splice(0..0, made);
        Ok(())
    }

    /// Removes the statements that only the moved ones need.
    fn removals(&self) -> Result<Vec<Edit>, Refused> {
        let gone = self.region.prelude.iter().filter(|(_, stays)| !stays);
        gone.map(|(id, _)| {
            let span = self.scope.body().statements[id.index()].span;
            Ok(Edit::replace(self.lines(span.start, span.end, "")?.1, ""))
        })
        .collect()
    }

    /// Whole lines of code with the comment above them, indented anew, and where they stand.
    fn lines(&self, first: u32, last: u32, indent: &str) -> Result<(Vec<String>, Span), Refused> {
        let source = self.scope.source();
        let line = source.line_start(first);
        let own = &source.text[line as usize..first as usize];
        let rest = source.text[last as usize..source.line_end(last) as usize].trim();
        if !own.trim().is_empty() || !(rest.is_empty() || rest.starts_with('#')) {
            return Err("the launch shares its line with another statement".to_string());
        }
        let span = Span::new(comment_above(source, line), source.line_end(last));
        let text = &signature::edited(self.scope, span, &self.region.handed);
        if own != indent && (text.contains("\"\"\"") || text.contains("'''")) {
            return Err("a string over several lines stands in its way".to_string());
        }
        let mut lines = Vec::new();
        for written in text.lines() {
            let moved = match written.strip_prefix(own) {
                _ if written.trim().is_empty() => String::new(),
                Some(rest) => format!("{indent}{rest}"),
                None if written.trim_start().starts_with('#') => format!("{indent}{}", written.trim_start()),
                None => written.to_string(),
            };
            lines.push(self.with_params(&moved)?);
        }
        Ok((lines, span))
    }

    /// A line of moved code, with attributes of objects read from parameters instead.
    fn with_params(&self, line: &str) -> Result<String, Refused> {
        let mut paths: Vec<&Input> = self.region.inputs.iter().filter(|i| i.is_path()).collect();
        paths.sort_by_key(|i| std::cmp::Reverse(i.text.len()));
        let mut line = line.to_string();
        for input in &paths {
            line = replaced(&line, &input.text, &input.param);
        }
        let code = line.split('#').next().unwrap_or_default();
        for input in &paths {
            let root = input.text.split(['.', '[']).next().unwrap_or_default();
            let is_input = self.region.inputs.iter().any(|i| i.param == root);
            if !is_input && mentions(code, root) {
                return Err(format!("`{root}` is used in a way that cannot be moved"));
            }
        }
        Ok(line)
    }

    /// The fake: the statements that make the metadata of the outputs.
    fn fake(&self, indent: &str) -> Result<Option<Fake>, Refused> {
        let outputs = &self.region.outputs;
        if outputs.is_empty() {
            return Ok(None);
        }
        let prelude = self.region.prelude.iter().map(|p| p.0);
        let statements: Vec<StatementId> = prelude.chain(self.region.range.statements().iter().copied()).collect();
        let mut slicer = Slicer::new(self.scope);
        slicer.block(&statements, outputs.iter().copied().collect())?;
        let mut lines = Vec::new();
        for line in Writer::write(&slicer, &statements, indent, Comments::Dropped)? {
            for line in line.lines() {
                lines.push(self.with_params(line)?);
            }
        }
        let result = self.outputs();
        let start = format!("{indent}{result} = ");
        let only = lines
            .iter()
            .rposition(|l| !l.starts_with(&format!("{indent} ")) && l.starts_with(&start));
        let simple = outputs.len() == 1 && only.is_some_and(|at| lines[at + 1..].iter().all(|l| continues(l, indent)));
        match only.filter(|_| simple) {
            Some(at) => lines[at] = format!("{indent}return {}", &lines[at][start.len()..]),
            None => lines.push(format!("{indent}return {}", self.outputs_within(indent, "return ".len()))),
        }
        self.made_again(indent, &mut lines)?;
        let like = match lines.as_slice() {
            [one] => self.like(one.trim()),
            _ => None,
        };
        Ok(Some(Fake {
            lines,
            like,
            doubts: Vec::new(),
        }))
    }

    /// `return torch.empty_like(x)` with a parameter `x`.
    fn like(&self, text: &str) -> Option<String> {
        let name = text.strip_prefix("return torch.empty_like(")?.strip_suffix(')')?;
        self.region.inputs.iter().any(|i| i.param == name).then(|| name.to_string())
    }
}

/// What is passed for an input.
fn handed(input: &Input) -> String {
    let text = &input.text;
    // Outside of brackets names and dots alone: an attribute can be read behind it.
    let mut depth = 0i32;
    let whole = text.chars().all(|c| {
        depth += i32::from(matches!(c, '(' | '[')) - i32::from(matches!(c, ')' | ']'));
        depth > 0 || c.is_alphanumeric() || matches!(c, '_' | '.' | ')' | ']')
    });
    match input.ty.base {
        Base::TritonDtype if whole => format!("{text}.name"),
        Base::TritonDtype => format!("({text}).name"),
        _ => text.clone(),
    }
}

/// What the module calls `triton.language`: `tl`, as a rule.
fn triton_language(scope: &Scope) -> Option<String> {
    let facts = scope.facts();
    let own = facts.imports.iter().filter(|i| i.function == MODULE && !i.type_checking);
    let mut named = own.filter(|i| {
        let dotted = scope::imported(scope.program, scope.at.file, i);
        dotted == "triton.language" || dotted.ends_with(".tl")
    });
    named.next().map(|i| facts.name(i.bound).to_string())
}

/// Where the comment begins that heads the part of the file below it (`# ------`), if nothing but blank lines stands in between.
fn banner_above(text: &str, at: u32) -> u32 {
    let head = text[..at as usize].trim_end();
    let mut start = head.len();
    for line in head.rsplit('\n').take_while(|line| line.starts_with('#')) {
        start = (line.as_ptr() as usize) - (text.as_ptr() as usize);
    }
    let rule = |line: &str| {
        let line = line.trim_end();
        ['-', '=', '#', '*'].iter().any(|c| line.ends_with(&c.to_string().repeat(8)))
    };
    let heads = head[start..].lines().any(rule);
    if heads { start as u32 } else { at }
}

/// Of two blank lines around lines that go, one goes too. `edits` are sorted.
pub(super) fn close_gaps(text: &str, edits: &mut Vec<Edit>) {
    let goes = |edit: &Edit| edit.content.is_empty() && text[..edit.span.end as usize].ends_with('\n');
    let mut closed: Vec<Edit> = Vec::new();
    for edit in edits.drain(..) {
        match closed
            .last_mut()
            .filter(|last| last.span.end == edit.span.start && goes(last) && goes(&edit))
        {
            Some(last) => last.span.end = edit.span.end,
            None => closed.push(edit),
        }
    }
    let blank = |line: &str| line.trim().is_empty();
    for edit in closed.iter_mut().filter(|edit| goes(edit)) {
        let above = text[..edit.span.start as usize].lines().next_back();
        let below = text[edit.span.end as usize..].split_inclusive('\n').next();
        if let Some(below) = below.filter(|below| blank(below) && above.is_some_and(blank)) {
            edit.span.end += below.len() as u32;
        }
    }
    *edits = closed;
}

/// A line that belongs to the statement above it.
fn continues(line: &str, indent: &str) -> bool {
    line.strip_prefix(indent)
        .is_none_or(|rest| rest.starts_with([' ', '\t', ')', ']', '}']))
}

/// A text with every whole occurrence of a path replaced.
fn replaced(text: &str, path: &str, by: &str) -> String {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::new();
    let mut at = 0;
    for (hit, _) in text.match_indices(path) {
        let before = text[..hit].chars().next_back();
        let after = text[hit + path.len()..].chars().next();
        let inside = after.is_some_and(word) && !path.ends_with(']');
        if hit < at || before.is_some_and(|c| word(c) || c == '.') || inside {
            continue;
        }
        out.push_str(&text[at..hit]);
        out.push_str(by);
        at = hit + path.len();
    }
    out + &text[at..]
}
