//! Half-written files: facts of whatever is left, no panic, all places inside the text.

use opwright::extract::extract;
use opwright::facts::{Body, Facts, Op};
use opwright::source::{Source, Span};
use std::path::Path;

fn fixtures() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let files = walkdir::WalkDir::new(root).sort_by_file_name().into_iter().filter_map(Result::ok);
    let files = files.filter(|e| e.path().extension().is_some_and(|e| e == "py" || e == "pyi"));
    files.filter_map(|e| std::fs::read_to_string(e.path()).ok()).collect()
}

/// Cuts of a text at character boundaries, at most `count`, evenly spread.
fn cuts(text: &str, count: usize) -> impl Iterator<Item = usize> + '_ {
    let step = (text.len() / count).max(1);
    (0..text.len()).step_by(step).filter(|&at| text.is_char_boundary(at))
}

fn check(text: &str) {
    let facts = extract(&Source::new("f.py", text));
    let inside = |span: Span| assert!(text.get(span.range()).is_some(), "{span:?} of {text:?}");
    facts.syntax_errors.iter().for_each(|e| inside(e.span));
    for function in &facts.functions {
        let spans = [
            function.span,
            function.header,
            function.name_span,
            function.params_span,
            function.body_span,
        ];
        spans.into_iter().for_each(inside);
        function.params.iter().for_each(|p| inside(p.span));
        function.decorators.iter().for_each(|d| inside(d.span));
        body(&function.body, inside);
    }
    names_are_sorted(&facts);
}

/// Operands stand before their users but for loops, and every list is whole.
fn body(body: &Body, inside: impl Fn(Span)) {
    for (id, value) in body.iter() {
        inside(value.span);
        match value.op {
            Op::Attr(a, _) | Op::Star(a) | Op::Return(a) | Op::Unary(_, a) => assert!(a < id),
            Op::Binary(_, a, b) | Op::Index(a, b) | Op::Compare(_, a, b) | Op::Augment(_, a, b) => assert!(a < id && b < id),
            Op::Select(a, b, c) | Op::SetIndex(a, b, c) | Op::Slice(a, b, c) => assert!(a < id && b < id && c < id),
            Op::Tuple(items) | Op::List(items) | Op::And(items) => assert!(body.items(items).iter().all(|&i| i < id)),
            Op::Phi(items) => {
                assert!(!body.items(items).is_empty());
                assert!(body.items(items)[0] < id && body.items(items).iter().all(|&i| i.index() < body.values.len()));
            }
            Op::Call(call) => assert!(body.call(call).callee < id && body.call(call).args.iter().all(|a| a.value < id)),
            _ => {}
        }
    }
    for statement in &body.statements {
        inside(statement.span);
        statement.blocks.iter().for_each(|b| inside(b.header));
        assert!(statement.values.1.index() <= body.values.len());
    }
}

fn names_are_sorted(facts: &Facts) {
    for function in &facts.functions {
        assert!(function.bindings.is_sorted_by_key(|b| b.0) && function.assigned.is_sorted_by_key(|a| a.0));
    }
}

#[test]
fn files_that_end_anywhere() {
    for text in fixtures() {
        cuts(&text, 400).for_each(|at| check(&text[..at]));
    }
}

#[test]
fn files_that_begin_anywhere() {
    for text in fixtures() {
        cuts(&text, 100).for_each(|at| check(&text[at..]));
    }
}

#[test]
fn files_with_a_hole() {
    for text in fixtures() {
        for at in cuts(&text, 200) {
            let end = (at + 7..text.len()).find(|&end| text.is_char_boundary(end)).unwrap_or(text.len());
            check(&[&text[..at], &text[end..]].concat());
        }
    }
}
