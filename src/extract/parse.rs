//! The parser's door: the only file that names the parser package.

use super::span;
use crate::facts::SyntaxError;
use crate::source::Span;
use ruff_python_ast::token::{Token, TokenKind};
use ruff_python_ast::{Expr, ModModule, PySourceType, PythonVersion, Stmt};
use ruff_python_parser::{Mode, ParseOptions, Parsed, parse, parse_unchecked};
use ruff_text_size::TextRange;

/// The tree of a file.
pub(super) struct Tree(Parsed<ModModule>);

/// Parses a file, as far as it can be read; `None` when offsets do not fit.
pub(super) fn module(text: &str, stub: bool) -> Option<Tree> {
    if text.len() >= u32::MAX as usize {
        return None;
    }
    let kind = if stub { PySourceType::Stub } else { PySourceType::Python };
    let options = ParseOptions::from(kind).with_target_version(PythonVersion::latest_preview());
    parse_unchecked(text, options).try_into_module().map(Tree)
}

/// Parses the text of a quoted annotation.
pub(super) fn annotation(text: &str) -> Option<Expr> {
    let options = ParseOptions::from(Mode::ParenthesizedExpression).with_target_version(PythonVersion::latest_preview());
    let parsed = parse(text, options).ok()?;
    match parsed.into_syntax() {
        ruff_python_ast::Mod::Expression(expression) => Some(*expression.body),
        ruff_python_ast::Mod::Module(_) => None,
    }
}

impl Tree {
    pub(super) fn statements(&self) -> &[Stmt] {
        &self.0.syntax().body
    }

    fn tokens(&self) -> impl Iterator<Item = &Token> {
        self.0.tokens().iter()
    }

    /// Ranges of the comments, in order.
    pub(super) fn comments(&self) -> impl Iterator<Item = TextRange> {
        self.tokens().filter(|t| t.kind() == TokenKind::Comment).map(|t| t.as_tuple().1)
    }

    /// The first indentation.
    pub(super) fn first_indent(&self) -> Option<TextRange> {
        self.tokens().find(|t| t.kind() == TokenKind::Indent).map(|t| t.as_tuple().1)
    }

    /// Syntax errors, those of the newest Python included, in the order of the parser.
    pub(super) fn errors(&self) -> Vec<SyntaxError> {
        let errors = self.0.errors().iter().map(|e| error(e.location, &e.error.to_string()));
        let unsupported = self.0.unsupported_syntax_errors().iter().map(|e| error(e.range, &e.to_string()));
        errors.chain(unsupported).collect()
    }
}

fn error(range: TextRange, message: &str) -> SyntaxError {
    let mut chars = message.chars();
    let first = chars.next();
    let rest = chars.as_str();
    // `Expected …` is lowered, `IPython …` is not.
    let message = match first {
        Some(c) if !rest.starts_with(char::is_uppercase) => c.to_lowercase().chain(rest.chars()).collect(),
        _ => message.to_owned(),
    };
    let Span { start, end } = span(range);
    SyntaxError {
        span: Span::new(start.min(end), end),
        message: message.trim_end_matches('.').to_owned(),
    }
}

/// Drops a tree. The drop of a deep one recurses deeply and gets a stack for the deepest tree that `text` can hold.
pub(super) fn discard<T: Send + 'static>(tree: T, text: &str, deep: bool) {
    if !deep {
        return;
    }
    // Without such a stack the tree is leaked: better than an overflow.
    let kept = std::sync::Arc::new(std::sync::Mutex::new(Some(tree)));
    let thread = {
        let kept = kept.clone();
        let size = text.len().saturating_mul(DROP_FRAMES).saturating_add(1 << 20);
        std::thread::Builder::new()
            .stack_size(size)
            .spawn(move || drop(kept.lock().map(|mut k| k.take())))
    };
    if !thread.is_ok_and(|t| t.join().is_ok()) {
        std::mem::forget(kept);
    }
}

/// Bytes of stack that the drop of one level takes, at most, per byte of source.
const DROP_FRAMES: usize = 512;
