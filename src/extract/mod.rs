//! One file in, its [`Facts`] out: pure, never fails, keeps no syntax tree.
//!
//! Each body is lowered in one walk over its statements ([`flow`]) and expressions ([`lower`]). The environment of
//! a body is one list, name → value, with a log of old values: a branch is undone by rolling the log back, and what
//! it changed is joined afterwards. So a branch costs what it changes, not what the body knows.

mod assign;
mod bound;
mod branches;
mod comments;
mod comprehensions;
mod flow;
mod functions;
mod headers;
mod imports;
mod layout;
mod lower;
mod names;
mod parse;
mod patterns;
mod repeats;
mod scope;
mod strings;
#[cfg(test)]
mod tests;

use crate::facts::{Class, Facts, Function, FunctionKind, Import, MODULE, Name, StarImport, SyntaxError};
use crate::source::{Source, Span};
use names::Interner;
use ruff_python_ast::Stmt;
use ruff_text_size::TextRange;
use scope::Scope;

/// Levels of nesting that are followed; CPython's own tokenizer stops at 200 brackets and 100 indentations.
const DEEPEST: u32 = 200;
/// Left-nested chains (`a + a + …`, `a.b().c()…`) are followed by a loop; from this length on the tree is dropped on a stack of its own.
const LONG_CHAIN: usize = 500;

/// What a file says. A file that does not parse yields its syntax errors and the facts of what could be read.
pub fn extract(source: &Source) -> Facts {
    let text: &str = &source.text;
    let Some(tree) = parse::module(text, source.path.ends_with(".pyi")) else {
        let message = "the file is too large or nested too deeply".to_owned();
        return Facts {
            syntax_errors: vec![SyntaxError {
                span: Span::at(0),
                message,
            }],
            ..Facts::default()
        };
    };
    let mut extractor = Extractor::new(text);
    extractor.errors = tree.errors();
    extractor.deep = tree.deep;
    extractor.module(tree.statements());
    let layout = layout::layout(source, &tree);
    let directives = comments::directives(text, &tree);
    parse::discard(tree, text, extractor.deep);
    extractor.finish(layout, directives)
}

/// The state of one file's extraction.
struct Extractor<'t> {
    text: &'t str,
    /// Inside a quoted annotation.
    quoted: Option<Quoted>,
    names: Interner,
    functions: Vec<Function>,
    classes: Vec<Class>,
    imports: Vec<Import>,
    star_imports: Vec<StarImport>,
    errors: Vec<SyntaxError>,
    /// The body in work.
    scope: Scope,
    /// Scopes that are done with, kept for their buffers.
    spare: Vec<Scope>,
    depth: u32,
    /// The tree is deeper than the stack may be: see [`parse::discard`].
    deep: bool,
    /// Something was left out for its depth.
    too_deep: bool,
    has_walrus: bool,
    /// Under `if TYPE_CHECKING:`.
    type_checking: bool,
}

/// A quoted annotation: ranges of its tree point into its text, and all its values get the span of the string.
struct Quoted {
    span: Span,
    text: Box<str>,
}

impl<'t> Extractor<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            quoted: None,
            names: Interner::default(),
            functions: Vec::new(),
            classes: Vec::new(),
            imports: Vec::new(),
            star_imports: Vec::new(),
            errors: Vec::new(),
            scope: Scope::new(),
            spare: Vec::new(),
            depth: 0,
            deep: false,
            too_deep: false,
            has_walrus: memchr::memmem::find(text.as_bytes(), b":=").is_some(),
            type_checking: false,
        }
    }

    fn module(&mut self, statements: &[Stmt]) {
        let name = self.names.intern("<module>");
        self.functions.push(functions::blank(name, FunctionKind::Module, MODULE));
        let whole = Span::new(0, self.text.len() as u32);
        let done = self.nested(MODULE, FunctionKind::Module, name, |cx| {
            cx.enter_locals(statements, &[]);
            cx.scope.body.top = cx.block(statements);
        });
        let function = &mut self.functions[0];
        function.span = whole;
        function.body_span = functions::extent(statements);
        function.docstring = functions::docstring(statements);
        done.fill(function);
    }

    fn finish(mut self, layout: crate::facts::Layout, directives: Vec<crate::facts::Directive>) -> Facts {
        self.errors.sort_by_key(|e| (e.span.start, e.span.end));
        self.errors.dedup_by_key(|e| e.span);
        Facts {
            syntax_errors: self.errors,
            names: self.names.finish(),
            functions: self.functions,
            classes: self.classes,
            imports: self.imports,
            star_imports: self.star_imports,
            directives,
            layout,
        }
    }

    /// The span of a node.
    fn span(&self, range: TextRange) -> Span {
        self.quoted.as_ref().map_or_else(|| span(range), |q| q.span)
    }

    /// The source text of a node.
    fn written(&self, range: TextRange) -> &str {
        let text = self.quoted.as_ref().map_or(self.text, |q| &q.text);
        text.get(range.to_std_range()).unwrap_or_default()
    }

    /// Goes one level down unless that is too deep, which is then a syntax error. Each success is followed by [`Self::ascend`].
    fn descend(&mut self, range: TextRange) -> bool {
        if self.depth < DEEPEST {
            self.depth += 1;
            return true;
        }
        if !self.too_deep {
            self.error(range, "nested too deeply");
        }
        (self.deep, self.too_deep) = (true, true);
        false
    }

    fn ascend(&mut self) {
        self.depth -= 1;
    }

    fn error(&mut self, range: TextRange, message: &str) {
        let span = self.span(range);
        self.errors.push(SyntaxError {
            span,
            message: message.to_owned(),
        });
    }

    fn intern(&mut self, text: &str) -> Name {
        self.names.intern(text)
    }
}

/// The span of a range of the file.
fn span(range: TextRange) -> Span {
    Span::new(range.start().to_u32(), range.end().to_u32())
}
