//! Deep and long input.

use crate::extract::extract;
use crate::facts::Facts;
use crate::source::Source;

/// Runs on the stack that a thread of a pool has; unoptimised code needs most of it.
fn on_small_stack(text: String) -> Facts {
    let run = move || extract(&Source::new("a.py", text));
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap()
}

#[test]
fn long_chains_are_no_nesting() {
    for link in ["+a", ".a", ".a(1)", "[0]", " and a", " < a", "\nif a: a = 1\nelif b: a = 2"] {
        let facts = on_small_stack(format!("x = a{}\n", link.repeat(20_000)));
        assert_eq!(facts.syntax_errors, [], "{link}");
        assert!(facts.functions[0].body.values.len() > 20_000);
    }
    let facts = on_small_stack(format!("if a:\n x = 1\n{}", "elif b:\n x = 2\n".repeat(20_000)));
    assert_eq!(facts.functions[0].body.statements[0].blocks.len(), 20_001);
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    let nestings = [
        ("[", "]"),
        ("(", ",)"),
        ("f(", ")"),
        ("{1:", "}"),
        ("[a for b in ", "]"),
        ("(a:=", ")"),
        ("-", ""),
        ("not ", ""),
        ("lambda:", ""),
        ("a if b else ", ""),
        ("f(lambda: ", ")"),
    ];
    for (open, close) in nestings {
        let facts = on_small_stack(format!("{}a{}\nx = 1\n", open.repeat(20_000), close.repeat(20_000)));
        let message = facts.syntax_errors.first().map(|e| e.message.as_str());
        assert_eq!(message, Some("nested too deeply"), "{open}");
        assert_eq!(facts.functions[0].body.top.len(), 2, "{open}");
    }
    for (open, close) in [("(", ")"), ("(", ""), ("{", ""), ("[", "")] {
        on_small_stack(format!("{}a{}\n", open.repeat(20_000), close.repeat(20_000)));
    }
    on_small_stack(format!("{}a{} = 1\n", "(".repeat(20_000), ",)".repeat(20_000)));
    on_small_stack(format!("x = {}a\n", "* ".repeat(20_000)));
    on_small_stack(format!("match x:\n case {}a{}: pass\n", "[".repeat(20_000), "]".repeat(20_000)));
    on_small_stack(format!("def f(a: '{}a{}'): pass\n", "[".repeat(20_000), "]".repeat(20_000)));
    on_small_stack((0..1000).map(|i| " ".repeat(i) + "if x:\n").collect::<String>() + &" ".repeat(1000) + "pass\n");
}

#[test]
fn moderate_nesting_is_followed() {
    let facts = on_small_stack(format!("x = {}a{}\n", "f(".repeat(190), ")".repeat(190)));
    assert_eq!(facts.syntax_errors, []);
}
