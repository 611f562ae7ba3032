//! Imports, layout, comments, line ends, syntax errors.

use super::facts;

#[test]
fn imports_of_all_shapes() {
    let text = "
import a.b, c.d as e
from ..f import g as h, i
from . import j
from k import *
if typing.TYPE_CHECKING:
    import l
else:
    import m
def n():
    import o
";
    let facts = facts(text);
    let shown: Vec<String> = facts
        .imports
        .iter()
        .map(|i| {
            let member = i.member.map_or("-", |m| facts.name(m));
            let flags = (i.renamed, i.type_checking, i.function.0);
            format!("{} = {} {} {member} {flags:?}", facts.name(i.bound), i.level, facts.name(i.module))
        })
        .collect();
    let expected = [
        "a = 0 a.b - (false, false, 0)",
        "e = 0 c.d - (true, false, 0)",
        "h = 2 f g (true, false, 0)",
        "i = 2 f i (false, false, 0)",
        "j = 1  j (false, false, 0)",
        "l = 0 l - (false, true, 0)",
        "m = 0 m - (false, false, 0)",
        "o = 0 o - (false, false, 1)",
    ];
    assert_eq!(shown, expected);
    assert_eq!(facts.star_imports.len(), 1);
}

#[test]
fn layout_says_where_code_goes() {
    let after = |text: &str| {
        let layout = facts(text).layout;
        (
            text[..layout.after_docstring as usize].to_owned(),
            text[layout.after_docstring as usize..layout.after_imports as usize].to_owned(),
        )
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(
        after("'''D.'''  # c\nfrom __future__ import annotations\n\nimport a\n\nx = 1\nimport b\n").1,
        "\nimport a\n"
    );
    assert_eq!(after("# SPDX\n# more\n\nimport a\n"), pair("# SPDX\n# more\n", "\nimport a\n"));
    assert_eq!(after("# about f\ndef f(): pass\n"), pair("", ""));
    assert_eq!(after("#!/usr/bin/python\nx = 1\n"), pair("#!/usr/bin/python\n", ""));
    let mixed = "import a\ntry:\n    import b\nexcept ImportError:\n    b = None\nfrom c import (\n    d,\n)  # e\nif TYPE_CHECKING:\n    import f\nx = 1\n";
    assert_eq!(after(mixed).1, mixed.split_inclusive("# e\n").next().unwrap());
    assert_eq!(after("import a; x = [\n 1]\ny = 2\n").1, "import a; x = [\n 1]\n");
    assert_eq!(after("import a").1, "import a");
    let written = facts("\u{feff}import a\r\nif a:\r\n\tb\r\n__all__ = ['x', \"y\"]\r\n__all__ += ('z',)\r\n").layout;
    assert_eq!((written.newline.as_str(), written.indent.as_str()), ("\r\n", "\t"));
    assert_eq!(written.all, Some(vec!["x".into(), "y".into(), "z".into()]));
    assert_eq!(facts("__all__ = [*a]\n").layout.all, None);
    assert!(facts("'d'\nfrom __future__ import annotations\n").layout.future_annotations);
}

#[test]
fn directives_are_comments() {
    let text = "\
x = '# opwright: ignore[a] b'
y = 1  # opwright: ignore[a, b-c] because
    # opwright: ignore-file[mutation] generated
z = 1  # noqa  # opwright:ignore [a] why
# opwright: ignore
# opwright: ignore[a]
# opwright: ignore[] why
# opwright: ignore[a,] why
# opwright: skip[a] why
# opwright: ignore[a why
# about opwright
";
    let shown: Vec<String> = facts(text)
        .directives
        .iter()
        .map(|d| {
            let rules: Vec<&str> = d.rules.iter().map(|r| &text[r.1.range()]).collect();
            assert!(d.rules.iter().all(|r| r.0 == text[r.1.range()]));
            let why = d.malformed.as_deref().unwrap_or("fine");
            format!("{} {} {} | {} | {why}", d.own_line, d.whole_file, rules.join("+"), d.reason)
        })
        .collect();
    let expected = [
        "false false a+b-c | because | fine",
        "true true mutation | generated | fine",
        "false false a | why | fine",
        "true false  |  | expected the names of rules in brackets",
        "true false a |  | expected a reason after the brackets",
        "true false  | why | expected the name of a rule in the brackets",
        "true false a | why | expected the name of a rule between the commas",
        "true false  |  | expected `ignore[rule]` or `ignore-file[rule]`",
        "true false  |  | expected `]` after the names of rules",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn line_ends_byte_order_marks_and_form_feeds_keep_offsets() {
    for text in [
        "\u{feff}def f(ü):\r\n\treturn ü\r\n",
        "\x0cdef f(ü):\r\treturn ü\r",
        "\u{feff}\x0c\ndef f(ü):\n\treturn ü",
    ] {
        let facts = facts(text);
        assert_eq!(facts.syntax_errors, []);
        let f = &facts.functions[1];
        assert_eq!(&text[f.header.range()], "def f(ü):");
        assert_eq!(&text[f.body_span.range()], "return ü");
    }
}

#[test]
fn syntax_errors_leave_the_rest() {
    let facts = facts("def f(a:\n    return a\n\ndef g(b):\n    return b +\n\nreturn 1\nbreak\nyield\n");
    let names: Vec<&str> = facts.functions.iter().map(|f| facts.name(f.qualname)).collect();
    assert_eq!(names, ["<module>", "f", "g"]);
    assert!(facts.syntax_errors.is_sorted_by_key(|e| e.span.start));
    let messages: Vec<&str> = facts.syntax_errors.iter().map(|e| e.message.as_str()).collect();
    assert!(messages.contains(&"expected an expression"), "{messages:?}");
    assert!(
        messages.contains(&"`return` outside a function") && messages.contains(&"`break` outside a loop"),
        "{messages:?}"
    );
}
