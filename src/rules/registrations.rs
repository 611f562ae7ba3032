//! What the rules on registrations share: names and levels.

use crate::finding::Level;
use crate::program::{Func, Op, Program};

/// What is known of the op's implementation.
pub(super) fn implementation<'a>(program: &'a Program, op: &Op) -> Option<&'a Func> {
    op.func.map(|i| &program.functions[i])
}

/// The op's name, or that of its implementation where the name cannot be known.
pub(super) fn title<'a>(program: &'a Program, op: &'a Op) -> &'a str {
    match op.implementation {
        Some(f) if !op.name_known => program.qualname(f),
        _ => &op.name,
    }
}

/// One of torch's own ops: what is registered stands in for it on some devices or in some modes.
pub(super) fn of_torch(op: &Op) -> bool {
    op.name.starts_with("aten::")
}

/// A note where the op lies in cold code.
pub(super) fn level(program: &Program, op: &Op, level: Level) -> Level {
    let cold = program.file(op.place.file).cold || implementation(program, op).is_some_and(|f| f.cold);
    if cold { Level::Note } else { level }
}

/// `a`, `b` and 3 more.
pub(super) fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => format!("`{one}`"),
        [a, b] => format!("`{a}` and `{b}`"),
        [a, b, rest @ ..] => format!("`{a}`, `{b}` and {} more", rest.len()),
    }
}
