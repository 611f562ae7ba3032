//! Statements, spans, names.

use super::facts;
use crate::facts::*;

/// The statements of a function: kind, text of the header or first line, names bound and read.
fn statements(text: &str, qualname: &str) -> Vec<String> {
    let facts = facts(text);
    let function = facts.functions.iter().find(|f| facts.name(f.qualname) == qualname).unwrap();
    let names = |names: &[Name]| {
        let mut names: Vec<&str> = names.iter().map(|&n| facts.name(n)).collect();
        names.sort_unstable();
        names.join(" ")
    };
    let mut lines = Vec::new();
    for statement in &function.body.statements {
        let blocks: Vec<String> = statement
            .blocks
            .iter()
            .map(|b| format!("<{}>{}", &text[b.header.range()], b.statements.len()))
            .collect();
        let (defines, uses) = (names(&statement.defines), names(&statement.uses));
        let parent = statement.parent.map_or(String::new(), |p| format!(" in {}", p.0));
        lines.push(
            format!("{:?}{parent}: {defines} <- {uses} {}", statement.kind, blocks.concat())
                .trim_end()
                .to_owned(),
        );
    }
    lines
}

#[test]
fn statements_say_what_they_bind_and_read() {
    let text = "
def f(a, n):
    '''Doc.'''
    if a:
        b = n
    elif (c := n):
        pass
    else:  # no
        b: int = 2
    for i, a.x in n: b += i
    else :
        g(lambda t: t + b)
    with a as d, (n): x, y = d
    try:
        import p.q, r as s
    except (E, F) as e: raise e
    except: pass
    else: a[i] = 1
    finally: del b
    def h(z=n): return z + d
    match a:
        case [u] if u: return u
    while not b: break
";
    let expected = [
        "Text:  <-",
        "If: c <- a n <if a:>1<elif (c := n):>1<else:>1",
        "Assign in 1: b <- n",
        "Pass in 1:  <-",
        "Assign in 1: b <- int",
        "For: i <- a n <for i, a.x in n:>1<else :>1",
        "Augment in 5: b <- b i",
        "Expression in 5:  <- b g",
        "With: d <- a n <with a as d, (n):>1",
        "Assign in 8: x y <- d",
        "Try: e <- E F <try:>1<except (E, F) as e:>1<except:>1<else:>1<finally:>1",
        "Import in 10: p s <-",
        "Raise in 10:  <- e",
        "Pass in 10:  <-",
        "Assign in 10:  <- a i",
        "Delete in 10:  <- b",
        "Def: h <- d n",
        "Match: u <- a u <case [u] if u:>1",
        "Return in 17:  <- u",
        "While:  <- b <while not b:>1",
        "Break in 19:  <-",
    ];
    assert_eq!(statements(text, "f"), expected);
}

#[test]
fn value_ranges_of_statements_nest() {
    let facts = facts("def f(a):\n    for i in a:\n        if i:\n            g(i)\n    return a\n");
    let body = &facts.functions[1].body;
    assert_eq!(body.top.len(), 2);
    for statement in &body.statements {
        assert!(statement.values.0 <= statement.header_values.1 && statement.header_values.1 <= statement.values.1);
        if let Some(parent) = statement.parent {
            let parent = &body.statements[parent.index()];
            assert!(parent.header_values.1 <= statement.values.0 && statement.values.1 <= parent.values.1);
            assert!(parent.span.contains(statement.span));
        }
    }
    let call = body.iter().find(|(_, v)| matches!(v.op, Op::Call(_))).unwrap().0;
    assert_eq!(body.statement_of(call), Some(StatementId(2)));
}

#[test]
fn spans_of_a_function() {
    let text = "@a\n@b(1)  # why\nasync def f[T](x, /, y: int = (1), *z, k=2, **w) -> (T):  # c\n    'doc'\n    return x  # end\n";
    let facts = facts(text);
    let f = &facts.functions[1];
    let slice = |span: crate::source::Span| &text[span.range()];
    assert_eq!(slice(f.span), text[..text.len() - 8].trim_end());
    assert_eq!(slice(f.header), "async def f[T](x, /, y: int = (1), *z, k=2, **w) -> (T):");
    assert_eq!(slice(f.params_span), "(x, /, y: int = (1), *z, k=2, **w)");
    assert_eq!(slice(f.body_span), "'doc'\n    return x");
    assert_eq!(f.docstring.map(slice), Some("'doc'"));
    assert_eq!(f.decorators.iter().map(|d| slice(d.span)).collect::<Vec<_>>(), ["@a", "@b(1)"]);
    let params: Vec<(&str, ParamKind)> = f.params.iter().map(|p| (slice(p.span), p.kind)).collect();
    let expected = [
        ("x", ParamKind::PositionalOnly),
        ("y: int = (1)", ParamKind::Positional),
        ("*z", ParamKind::Star),
        ("k=2", ParamKind::KeywordOnly),
        ("**w", ParamKind::StarStar),
    ];
    assert_eq!(params, expected);
    assert_eq!(f.kind, FunctionKind::AsyncDef);
}

#[test]
fn functions_stand_in_order_of_their_headers() {
    let facts = facts(
        "class A:\n    def m(self, key=lambda: 0):\n        def g(): yield\n        class B: pass\n        global h\n        def h(): pass\n    async def n(self): pass\n",
    );
    let names: Vec<&str> = facts.functions.iter().map(|f| facts.name(f.qualname)).collect();
    let expected = ["<module>", "A", "A.m", "A.<lambda>", "A.m.<locals>.g", "A.m.<locals>.B", "h", "A.n"];
    assert_eq!(names, expected);
    assert_eq!(facts.functions[2].class, Some(ClassId(0)));
    assert_eq!(facts.functions[2].parent, FunctionId(1));
    assert!(facts.functions[4].is_generator && !facts.functions[2].is_generator);
    assert_eq!(facts.classes[1].parent, FunctionId(2));
}

#[test]
fn a_closure_sees_every_value_that_a_name_is_given() {
    let facts = facts("def f(x):\n    y = 1\n    if x: y = 2\n    g = [lambda: i for i in x]\n    return lambda: y\n");
    let f = &facts.functions[1];
    let given = |name: &str| f.assigned.iter().find(|a| facts.name(a.0) == name).map(|a| a.1.len());
    assert_eq!((given("y"), given("x"), given("i")), (Some(2), Some(1), Some(1)));
    assert!(f.bindings.iter().all(|b| facts.name(b.0) != "i"));
    assert!(f.assigned.is_sorted_by_key(|a| a.0) && f.bindings.is_sorted_by_key(|b| b.0));
}
