//! The code around a registering call: what hides its failure, whether it runs at import, which other call it excludes.

use crate::facts::{ALWAYS, Block, Body, FunctionKind, GuardKind, Op as Code, StatementId, StatementKind, ValueId};
use crate::program::{FunctionRef, Op, Program};
use crate::source::{Place, Span};

/// The registration runs when its module is imported.
pub fn at_import(program: &Program, op: &Op) -> bool {
    matches!(program.function(op.call.0).kind, FunctionKind::Module | FunctionKind::Class)
}

/// Never do both run: they stand in different branches of one statement.
pub fn exclusive(program: &Program, a: &Op, b: &Op) -> bool {
    if a.call.0 != b.call.0 {
        return false;
    }
    let body = &program.function(a.call.0).body;
    let conditions = |value: ValueId| {
        let mut guard = body.value(value).guard;
        let mut found = Vec::new();
        while guard != ALWAYS {
            found.push(body.guards[guard.index()].kind);
            guard = body.guards[guard.index()].parent;
        }
        found
    };
    let (first, second) = (conditions(a.call.1), conditions(b.call.1));
    let opposite = |kind: &GuardKind| match kind {
        GuardKind::When(value, is) => second.contains(&GuardKind::When(*value, !is)),
        GuardKind::Always | GuardKind::Repeats | GuardKind::Maybe => false,
    };
    first.iter().any(opposite) || in_other_block(body, a.call.1, b.call.1)
}

/// Two blocks of one `if`, `try` or `match`.
fn in_other_block(body: &Body, a: ValueId, b: ValueId) -> bool {
    let path = |value: ValueId| {
        let mut found = Vec::new();
        let mut inner = body.statement_of(value);
        while let Some(id) = inner {
            let outer = body.statements[id.index()].parent;
            if let Some(outer) = outer {
                let block = body.statements[outer.index()]
                    .blocks
                    .iter()
                    .position(|b| b.statements.contains(&id));
                found.push((outer, block));
            }
            inner = outer;
        }
        found
    };
    let (first, second) = (path(a), path(b));
    first.iter().any(|(outer, block)| {
        let branches = matches!(
            body.statements[outer.index()].kind,
            StatementKind::If | StatementKind::Try | StatementKind::Match
        );
        branches && second.iter().any(|(other, in_block)| other == outer && in_block != block)
    })
}

/// Errors that a failing registration raises.
const FAILURES: [&str; 8] = [
    "Exception",
    "BaseException",
    "RuntimeError",
    "ValueError",
    "AttributeError",
    "TypeError",
    "NotImplementedError",
    "IndexError",
];

/// The header of the `except` clause, or of `with suppress(…)`, that hides the failure of a registering call.
pub fn hidden_by(program: &Program, (at, value): (FunctionRef, ValueId)) -> Option<Place> {
    let body = &program.function(at).body;
    let mut inner = body.statement_of(value)?;
    while let Some(outer) = body.statements[inner.index()].parent {
        let statement = &body.statements[outer.index()];
        let place = |span: Span| Place { file: at.file, span };
        match statement.kind {
            StatementKind::Try => {
                let tried = statement.blocks.first().is_some_and(|b| b.statements.contains(&inner));
                let is_import = |s: &StatementId| body.statements[s.index()].kind == StatementKind::Import;
                let imports = statement.blocks.first().is_some_and(|b| b.statements.iter().any(is_import));
                let hides = |block: &&Block| {
                    let header = program.slice(place(block.header));
                    catches(header) && !(imports && is_missing(header)) && !tells(program, at, body, &block.statements)
                };
                if let Some(block) = statement.blocks.iter().skip(1).find(hides).filter(|_| tried) {
                    return Some(place(block.header));
                }
            }
            StatementKind::With => {
                let header = statement.blocks.first()?.header;
                let text = program.slice(place(header));
                if text.contains("suppress(") && FAILURES.iter().any(|f| has_word(text, f)) {
                    return Some(place(header));
                }
            }
            _ => {}
        }
        inner = outer;
    }
    None
}

/// `except:`, or one that names an error of a failing registration.
fn catches(header: &str) -> bool {
    let Some(rest) = header.trim_start().strip_prefix("except") else {
        return false;
    };
    let types = rest.trim_start_matches('*').trim_end().trim_end_matches(':');
    let types = types.split(" as ").next().unwrap_or_default().trim();
    types.is_empty() || FAILURES.iter().any(|failure| has_word(types, failure))
}

/// `except (ImportError, AttributeError)`: a module, or a name in it, is not there.
fn is_missing(header: &str) -> bool {
    let imports = ["ImportError", "ModuleNotFoundError"];
    let other = |failure: &&str| **failure != *"AttributeError" && has_word(header, failure);
    imports.iter().any(|error| has_word(header, error)) && !FAILURES.iter().any(other)
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == word)
}

/// Calls that show a failure to somebody.
const TELLS: [&str; 9] = [
    "warn",
    "warning",
    "warning_once",
    "error",
    "exception",
    "critical",
    "fatal",
    "print",
    "print_exc",
];

/// The handler raises on some path, or says that something failed.
fn tells(program: &Program, at: FunctionRef, body: &Body, statements: &[StatementId]) -> bool {
    let name = |v: ValueId| match body.op(v) {
        Code::Free(name) | Code::Attr(_, name) => program.name(at.file, name),
        _ => "",
    };
    statements.iter().any(|&id| {
        let (start, end) = body.statements[id.index()].values;
        let nested = (start.0..end.0).map(ValueId).any(|v| match body.op(v) {
            Code::Raise => true,
            Code::Call(call) => TELLS.contains(&name(body.call(call).callee)),
            _ => false,
        });
        nested || raises(body, id)
    })
}

/// A `raise` in a statement or in its blocks.
fn raises(body: &Body, id: StatementId) -> bool {
    let mut next = vec![id];
    while let Some(id) = next.pop() {
        let statement = &body.statements[id.index()];
        if statement.kind == StatementKind::Raise {
            return true;
        }
        next.extend(statement.blocks.iter().flat_map(|b| &b.statements));
    }
    false
}
