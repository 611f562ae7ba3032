//! Op schemas in C++ and CUDA sources: `TORCH_LIBRARY(ns, m) { m.def("name(Tensor! out, …) -> ()"); }` and its kin.
//!
//! No C++ is parsed: strings, comments and brackets are told apart, the rest is searched.

use super::op_schema::OpSchema;
use memchr::memmem;

/// Schemas that a source text defines, as `ns::name(…) -> …`. The namespace is `*` where a macro or a caller gives it.
pub fn schemas(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let mut defs = memmem::find_iter(bytes, ".def").peekable();
    if defs.peek().is_none() {
        return Vec::new();
    }
    let libraries = libraries(text);
    let mut found = Vec::new();
    for at in defs {
        let Some(schema) = defined(&text[at + ".def".len()..]) else {
            continue;
        };
        let Ok(parsed) = OpSchema::parse(&schema) else { continue };
        if !schema.contains("->") || parsed.name.is_empty() {
            continue;
        }
        if !parsed.namespace.is_empty() {
            found.push(schema);
            continue;
        }
        let library = libraries.iter().find(|l| l.from <= at && at < l.to);
        found.push(format!("{}::{schema}", library.map_or("*", |l| l.namespace)));
    }
    found
}

/// A `TORCH_LIBRARY…(ns, m) { … }` block.
struct Library<'t> {
    namespace: &'t str,
    from: usize,
    to: usize,
}

fn libraries(text: &str) -> Vec<Library<'_>> {
    let mut found = Vec::new();
    for at in memmem::find_iter(text.as_bytes(), "TORCH_LIBRARY") {
        let rest = &text[at..];
        let Some(open) = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .filter(|&i| rest[i..].starts_with('('))
        else {
            continue;
        };
        let Some(close) = closing(&rest[open..]).map(|i| open + i) else {
            continue;
        };
        let first = rest[open + 1..close].split(',').next().unwrap_or_default().trim();
        let brace = close + 1 + rest[close + 1..].len() - rest[close + 1..].trim_start().len();
        if !rest[brace..].starts_with('{') {
            continue;
        }
        let Some(end) = closing(&rest[brace..]) else { continue };
        // A name in capitals is a macro, which the build fills in.
        let written = !first.is_empty() && first.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let is_macro = first.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_') && first.len() > 2;
        found.push(Library {
            namespace: if written && !is_macro { first } else { "*" },
            from: at + brace,
            to: at + brace + end,
        });
    }
    found
}

/// The schema text behind `.def`: the literals of its first argument, joined.
fn defined(rest: &str) -> Option<String> {
    let rest = rest.trim_start().strip_prefix('(')?;
    let mut rest = skip_space(rest);
    // `torch::schema("…")`, `TORCH_SELECTIVE_SCHEMA("…")`.
    if !rest.starts_with('"') && !rest.starts_with("R\"") {
        let name = rest.len()
            - rest
                .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':')
                .len();
        rest = skip_space(skip_space(&rest[name..]).strip_prefix('(')?);
    }
    let mut text = String::new();
    let mut any = false;
    while let Some((literal, length)) = literal(rest) {
        text.push_str(&literal);
        rest = skip_space(&rest[length..]);
        any = true;
    }
    // What is joined with something else than a literal is not known whole.
    (any && rest.starts_with([',', ')'])).then_some(text)
}

/// A string literal at the start, with its length in the source.
fn literal(text: &str) -> Option<(String, usize)> {
    if let Some(raw) = text.strip_prefix("R\"") {
        let open = raw.find('(').filter(|&i| i <= 16)?;
        let end = format!("){}\"", &raw[..open]);
        let close = raw[open..].find(&end)? + open;
        return Some((raw[open + 1..close].to_owned(), 2 + close + end.len()));
    }
    let inner = text.strip_prefix('"')?;
    let mut out = String::new();
    let mut chars = inner.char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return Some((out, i + 2)),
            '\\' => match chars.next()?.1 {
                // A line that goes on below.
                '\n' => {}
                'n' => out.push('\n'),
                't' => out.push('\t'),
                other => out.push(other),
            },
            '\n' => return None,
            c => out.push(c),
        }
    }
    None
}

/// Without leading white space and comments.
fn skip_space(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        let end = match text.as_bytes() {
            [b'/', b'/', ..] => text.find('\n'),
            [b'/', b'*', ..] => text.find("*/").map(|i| i + 2),
            _ => return text,
        };
        text = end.map_or("", |end| &text[end..]);
    }
}

/// The offset of the bracket that closes the one at the start.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let c = rest.chars().next()?;
        match c {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            '"' => at += literal(rest)?.1 - 1,
            'R' if rest.starts_with("R\"") => at += literal(rest)?.1 - 1,
            // A character, not the separator of a number's digits.
            '\'' if !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric()) => {
                at += if rest[1..].starts_with('\\') { 2 } else { 1 };
                at += text.get(at..)?.find('\'')?;
            }
            '/' if rest.starts_with("//") || rest.starts_with("/*") => {
                at = text.len() - skip_space(rest).len();
                continue;
            }
            _ => {}
        }
        at += text[at..].chars().next()?.len_utf8();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::schemas;

    #[test]
    fn literals_are_joined_and_blocks_give_the_namespace() {
        let text = r##"
            #include <torch/library.h>
            TORCH_LIBRARY_FRAGMENT(acme, m) {  // m.def("no(Tensor x")
              m.def(
                  "scale_(Tensor! out, "  /* first */
                  "Tensor x) -> ()");
              m.def(R"doc(sum(Tensor x) -> Tensor)doc", &sum);
              m.def("plain", &plain);
              m.impl("sum", [](auto x) { return '}'; });
              m.def(torch::schema("zero_(Tensor(a!) x) -> Tensor(a!)"));
            }
            TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) { ops.def("late(Tensor! x) -> ()"); }
            void more(torch::Library& m) { m.def("other::far(Tensor x) -> Tensor"); m.def(NAME "(Tensor! x) -> ()"); }
            PYBIND11_MODULE(x, m) { m.def("f", &f, "f(x) -> y"); }
        "##;
        assert_eq!(
            schemas(text),
            [
                "acme::scale_(Tensor! out, Tensor x) -> ()",
                "acme::sum(Tensor x) -> Tensor",
                "acme::zero_(Tensor(a!) x) -> Tensor(a!)",
                "*::late(Tensor! x) -> ()",
                "other::far(Tensor x) -> Tensor",
            ]
        );
    }

    #[test]
    fn no_text_is_too_broken() {
        let text = r#"TORCH_LIBRARY(a, m) { m.def("x(Tensor! é) -> ()"); m.def(R"(y) "#;
        for end in (0..=text.len()).filter(|&i| text.is_char_boundary(i)) {
            let _ = schemas(&text[..end]);
        }
    }
}
