//! The parser's door: the only file that names the parser package.

use super::span;
use crate::facts::SyntaxError;
use crate::source::Span;
use ruff_python_ast::token::{Token, TokenKind};
use ruff_python_ast::{Expr, ModModule, PySourceType, PythonVersion, Stmt};
use ruff_python_parser::{Mode, ParseOptions, Parsed, parse, parse_unchecked};
use ruff_text_size::TextRange;
use std::sync::Mutex;

/// The tree of a file.
pub(super) struct Tree {
    parsed: Parsed<ModModule>,
    /// Too deep to be dropped on a usual stack.
    pub(super) deep: bool,
}

/// Parses a file, as far as it can be read; `None` when offsets do not fit.
pub(super) fn module(text: &str, stub: bool) -> Option<Tree> {
    if text.len() >= u32::MAX as usize {
        return None;
    }
    let kind = if stub { PySourceType::Stub } else { PySourceType::Python };
    let options = ParseOptions::from(kind).with_target_version(PythonVersion::latest_preview());
    let deep = is_deep(text);
    let parsed = if deep {
        on_large_stack(text, || parse_unchecked(text, options))?
    } else {
        parse_unchecked(text, options)
    };
    Some(Tree {
        parsed: parsed.try_into_module()?,
        deep,
    })
}

/// Parses the text of a quoted annotation.
pub(super) fn annotation(text: &str) -> Option<Expr> {
    let options = ParseOptions::from(Mode::ParenthesizedExpression).with_target_version(PythonVersion::latest_preview());
    if is_deep(text) {
        return None;
    }
    let parsed = parse(text, options).ok()?;
    match parsed.into_syntax() {
        ruff_python_ast::Mod::Expression(expression) => Some(*expression.body),
        ruff_python_ast::Mod::Module(_) => None,
    }
}

impl Tree {
    pub(super) fn statements(&self) -> &[Stmt] {
        &self.parsed.syntax().body
    }

    fn tokens(&self) -> impl Iterator<Item = &Token> {
        self.parsed.tokens().iter()
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
        let errors = self.parsed.errors().iter().map(|e| error(e.location, &e.error.to_string()));
        let unsupported = self
            .parsed
            .unsupported_syntax_errors()
            .iter()
            .map(|e| error(e.range, &e.to_string()));
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

/// Drops a tree. The drop of a deep one recurses as deeply; where there is no stack for that, the tree is leaked.
pub(super) fn discard<T: Send>(tree: T, text: &str, deep: bool) {
    if !deep {
        return;
    }
    let cell = Mutex::new(Some(tree));
    on_large_stack(text, || drop(cell.lock().map(|mut cell| cell.take())));
    std::mem::forget(cell);
}

/// Runs something that may recurse once for each byte of `text`; `None` where there is no such stack.
fn on_large_stack<R: Send>(text: &str, run: impl FnOnce() -> R + Send) -> Option<R> {
    let size = text.len().saturating_mul(BYTES_PER_LEVEL).saturating_add(1 << 21);
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(size)
            .spawn_scoped(scope, run)
            .ok()?
            .join()
            .ok()
    })
}

/// Stack that one level takes, at most.
const BYTES_PER_LEVEL: usize = 512;

/// Whether brackets or stars nest so deeply that the parser, which grows its stack but not everywhere, needs a large one.
/// Brackets in strings count too: then a harmless file is parsed on a large stack.
fn is_deep(text: &str) -> bool {
    const LIMIT: i32 = 500;
    let (mut depth, mut deepest) = (0, 0);
    // This runs over every byte of every file, so brackets are counted by blocks. In none the depth is more than when all that
    // open stand in front, and behind none more than when all that close did: it is never less than it should be.
    for block in text.as_bytes().chunks(128) {
        let count = |[a, b, c]: [u8; 3]| {
            block
                .iter()
                .map(|&x| u8::from(x == a) + u8::from(x == b) + u8::from(x == c))
                .sum::<u8>()
        };
        let (opened, closed) = (i32::from(count(*b"([{")), i32::from(count(*b")]}")));
        deepest = deepest.max(depth + opened);
        depth = (depth - closed).max(0) + opened;
    }
    let (mut stars, mut last) = (0, 0);
    for at in memchr::memchr_iter(b'*', text.as_bytes()) {
        let in_a_row = text.as_bytes()[last..at].iter().all(|&b| matches!(b, b'*' | b' '));
        stars = if in_a_row { stars + 1 } else { 0 };
        if stars > LIMIT {
            return true;
        }
        last = at;
    }
    deepest > LIMIT
}
