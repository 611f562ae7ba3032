//! Signatures: what annotations say, and the pieces that new headers and calls are made of.

use super::scope::Scope;
use crate::facts::{Param, ParamKind};
use crate::finding::Edit;
use crate::source::Span;

/// What an annotation is about, modules left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Tensor,
    Int,
    Float,
    Bool,
    Number,
    Text,
    Dtype,
    Device,
    None,
    Other,
}

/// An annotation of a parameter, read from its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Type {
    pub(super) base: Base,
    pub(super) list: bool,
    pub(super) optional: bool,
}

impl Type {
    const OTHER: Self = Self {
        base: Base::Other,
        list: false,
        optional: false,
    };

    /// Reads an annotation. What is not understood is [`Base::Other`].
    pub(super) fn read(text: &str) -> Self {
        let text = text.trim().trim_matches(['"', '\'']).trim();
        let parts = split(text, '|');
        if parts.len() > 1 {
            return Self::union(&parts);
        }
        let (head, inside) = match text.split_once('[') {
            Some((head, rest)) => (last(head), rest.trim_end().strip_suffix(']')),
            None => (last(text), None),
        };
        match (head, inside) {
            ("Optional", Some(inside)) => Self {
                optional: true,
                ..Self::read(inside)
            },
            ("Union", Some(inside)) => Self::union(&split(inside, ',')),
            ("List" | "list" | "Sequence", Some(inside)) => match Self::read(inside) {
                Self { list: false, base, .. } => Self {
                    base,
                    list: true,
                    optional: false,
                },
                _ => Self::OTHER,
            },
            (_, Some(_)) => Self::OTHER,
            (name, None) => Self {
                base: base(name),
                list: false,
                optional: false,
            },
        }
    }

    fn union(parts: &[&str]) -> Self {
        let rest: Vec<&&str> = parts.iter().filter(|p| p.trim() != "None").collect();
        let optional = rest.len() < parts.len();
        match rest.as_slice() {
            [one] => Self {
                optional,
                ..Self::read(one)
            },
            _ => Self { optional, ..Self::OTHER },
        }
    }

    /// It holds tensors.
    pub(super) fn is_tensor(self) -> bool {
        self.base == Base::Tensor
    }
}

fn base(name: &str) -> Base {
    match name {
        "Tensor" => Base::Tensor,
        "int" => Base::Int,
        "float" => Base::Float,
        "bool" => Base::Bool,
        "Number" => Base::Number,
        "str" => Base::Text,
        "dtype" => Base::Dtype,
        "device" => Base::Device,
        "None" => Base::None,
        _ => Base::Other,
    }
}

fn last(name: &str) -> &str {
    name.trim().rsplit('.').next().unwrap_or_default()
}

/// The parts between separators outside of brackets.
pub(super) fn split(text: &str, separator: char) -> Vec<&str> {
    let mut depth = 0i32;
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            c if c == separator && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        parts.push(&text[start..]);
    }
    parts
}

/// What a return annotation promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    Nothing,
    One(Type),
    Tuple(Vec<Type>),
    Other,
}

impl Promise {
    /// Reads a return annotation.
    pub(super) fn read(text: &str) -> Self {
        let text = text.trim().trim_matches(['"', '\'']).trim();
        if text == "None" {
            return Self::Nothing;
        }
        if let Some((head, rest)) = text.split_once('[')
            && matches!(last(head), "Tuple" | "tuple")
            && let Some(inside) = rest.trim_end().strip_suffix(']')
        {
            return Self::Tuple(split(inside, ',').into_iter().map(Type::read).collect());
        }
        match Type::read(text) {
            Type { base: Base::Other, .. } => Self::Other,
            ty => Self::One(ty),
        }
    }
}

/// The arguments that hand every parameter on, in order.
pub(super) fn arguments(scope: &Scope) -> Vec<String> {
    scope.function().params.iter().map(|p| argument(scope, p)).collect()
}

fn argument(scope: &Scope, param: &Param) -> String {
    let name = scope.name(param.name);
    match param.kind {
        ParamKind::KeywordOnly => format!("{name}={name}"),
        ParamKind::PositionalOnly | ParamKind::Positional | ParamKind::Star | ParamKind::StarStar => name.to_string(),
    }
}

/// `def name(params) -> returns:` with the parameters as they are written, without comments.
pub(super) fn plain_header(scope: &Scope, name: &str, returns: Option<&str>, changes: &[Edit], indent: &str) -> String {
    let function = scope.function();
    let returns = returns
        .map(str::to_string)
        .or_else(|| function.returns.map(|r| scope.text(r.span).to_string()));
    let arrow = returns.map_or(String::new(), |r| format!(" -> {r}"));
    let written = scope.text(function.header);
    if !written.contains('#') {
        let mut changes = changes.to_vec();
        changes.push(Edit::replace(function.name_span, name));
        let line = edited(scope, Span::new(function.header.start, function.params_span.end), &changes) + &arrow + ":";
        if line.contains('\n') || indent.len() + line.chars().count() <= WIDTH || function.params.is_empty() {
            return line;
        }
    }
    let unit = &scope.facts().layout.indent;
    let mut params = String::new();
    let mut keyword_only = false;
    for param in &function.params {
        if param.kind == ParamKind::KeywordOnly && !keyword_only {
            keyword_only = true;
            params.push_str(&format!("{indent}{unit}*,\n"));
        }
        params.push_str(&format!("{indent}{unit}{},\n", edited(scope, param.span, changes)));
    }
    format!("def {name}(\n{params}{indent}){arrow}:")
}

/// A piece of the source with the changes that lie in it.
fn edited(scope: &Scope, span: Span, changes: &[Edit]) -> String {
    let mut inside: Vec<&Edit> = changes.iter().filter(|e| span.contains(e.span)).collect();
    inside.sort();
    let mut text = String::new();
    let mut at = span.start;
    for change in inside {
        text.push_str(scope.text(Span::new(at, change.span.start)));
        text.push_str(&change.content);
        at = change.span.end;
    }
    text + scope.text(Span::new(at, span.end))
}

/// `prefix callee(arguments)`, broken the way formatters break it when it is too long.
pub(super) fn call(prefix: &str, callee: &str, arguments: &[String], indent: &str, unit: &str) -> String {
    let one = format!("{indent}{prefix}{callee}({})", arguments.join(", "));
    if one.chars().count() <= WIDTH {
        return one;
    }
    let inner = format!("{indent}{unit}{}", arguments.join(", "));
    if inner.chars().count() <= WIDTH {
        return format!("{indent}{prefix}{callee}(\n{inner}\n{indent})");
    }
    exploded(prefix, callee, arguments, indent, unit)
}

/// One argument a line.
pub(super) fn exploded(prefix: &str, callee: &str, arguments: &[String], indent: &str, unit: &str) -> String {
    let lines: String = arguments.iter().map(|a| format!("{indent}{unit}{a},\n")).collect();
    format!("{indent}{prefix}{callee}(\n{lines}{indent})")
}

/// Lines of new code are at most this long where that can be helped.
pub(super) const WIDTH: usize = 88;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_read() {
        let tensor = Type {
            base: Base::Tensor,
            list: false,
            optional: false,
        };
        assert_eq!(Type::read("torch.Tensor"), tensor);
        assert_eq!(Type::read("\"Tensor | None\""), Type { optional: true, ..tensor });
        assert_eq!(Type::read("Optional[torch.Tensor]"), Type { optional: true, ..tensor });
        assert_eq!(
            Type::read("typing.List[int]"),
            Type {
                base: Base::Int,
                list: true,
                optional: false
            }
        );
        assert_eq!(Type::read("dict[str, int]").base, Base::Other);
        assert_eq!(Promise::read("tuple[Tensor, Tensor]"), Promise::Tuple(vec![tensor, tensor]));
        assert_eq!(Promise::read("None"), Promise::Nothing);
    }
}
