//! Signatures: what annotations say, and the pieces that new headers and calls are made of.

use super::scope::Scope;
use crate::facts::ParamKind;
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
    /// A dtype of Triton: its name goes through the schema.
    TritonDtype,
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
            ("Tuple" | "tuple", Some(inside)) => Self::tuple(inside),
            ("Literal", Some(inside)) => Self::literal(inside),
            // `Float[Tensor, "n"]` of jaxtyping.
            (_, Some(inside)) if inside.starts_with("Tensor,") || inside.starts_with("torch.Tensor,") => Self {
                base: Base::Tensor,
                list: false,
                optional: false,
            },
            (_, Some(_)) => Self::OTHER,
            ("dtype", None) if text.starts_with("tl.") || text.starts_with("triton.") => Self::OTHER,
            ("Size", None) => Self {
                base: Base::Int,
                list: true,
                optional: false,
            },
            (name, None) => Self {
                base: base(name),
                list: false,
                optional: false,
            },
        }
    }

    /// `tuple[int, int]`, `tuple[Tensor, ...]`: a list, where all are the same.
    fn tuple(inside: &str) -> Self {
        let parts = split(inside, ',');
        let mut types = parts.iter().filter(|p| p.trim() != "...").map(|p| Self::read(p));
        let Some(first) = types.next() else { return Self::OTHER };
        if first.list || first.optional || types.any(|ty| ty != first) {
            return Self::OTHER;
        }
        Self { list: true, ..first }
    }

    /// `Literal["a", "b"]`.
    fn literal(inside: &str) -> Self {
        let parts = split(inside, ',');
        let (none, rest): (Vec<&str>, Vec<&str>) = parts.iter().map(|p| p.trim()).partition(|p| *p == "None");
        let base = if rest.iter().all(|p| p.starts_with(['"', '\''])) {
            Base::Text
        } else if rest.iter().all(|p| p.trim_start_matches('-').chars().all(|c| c.is_ascii_digit())) {
            Base::Int
        } else {
            return Self::OTHER;
        };
        Self {
            base,
            list: false,
            optional: !none.is_empty(),
        }
    }

    fn union(parts: &[&str]) -> Self {
        let rest: Vec<&&str> = parts.iter().filter(|p| p.trim() != "None").collect();
        let optional = rest.len() < parts.len();
        match rest.as_slice() {
            [] => Self::OTHER,
            [one, others @ ..] => {
                // `list[int] | tuple[int, ...]`, `int | float`
                let types: Vec<Self> = std::iter::once(one).chain(others).map(|p| Self::read(p)).collect();
                let numbers = types
                    .iter()
                    .all(|ty| !ty.list && matches!(ty.base, Base::Int | Base::Float | Base::Bool | Base::Number));
                let optional = optional || types.iter().any(|ty| ty.optional);
                if types.iter().all(|ty| (ty.base, ty.list) == (types[0].base, types[0].list)) {
                    Self { optional, ..types[0] }
                } else if numbers {
                    Self {
                        base: Base::Number,
                        list: false,
                        optional,
                    }
                } else {
                    Self { optional, ..Self::OTHER }
                }
            }
        }
    }

    /// It holds tensors.
    pub(super) fn is_tensor(self) -> bool {
        self.base == Base::Tensor
    }
}

fn base(name: &str) -> Base {
    match name {
        "Tensor" | "Parameter" | "LongTensor" | "IntTensor" | "BoolTensor" | "FloatTensor" | "HalfTensor" | "BFloat16Tensor"
        | "ByteTensor" | "DoubleTensor" | "ShortTensor" | "CharTensor" => Base::Tensor,
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

/// `def name(params) -> returns:` with the parameters as they are written, without comments, or with a list of new ones.
pub(super) fn plain_header(
    scope: &Scope,
    name: &str,
    returns: Option<&str>,
    changes: &[Edit],
    params: Option<&[String]>,
    indent: &str,
) -> String {
    let function = scope.function();
    let returns = returns
        .map(str::to_string)
        .or_else(|| function.returns.map(|r| scope.text(r.span).to_string()));
    let arrow = returns.map_or(String::new(), |r| format!(" -> {r}"));
    let unit = &scope.facts().layout.indent;
    if let Some(params) = params {
        return format!("def {name}{}{arrow}:", parameters(params, indent, unit));
    }
    let written = scope.text(function.header);
    if !written.contains('#') {
        let mut changes = changes.to_vec();
        changes.push(Edit::replace(function.name_span, name));
        let line = edited(scope, Span::new(function.header.start, function.params_span.end), &changes) + &arrow + ":";
        let fits = |line: &str| indent.len() + line.chars().count() <= scope.width();
        let grown = line.lines().any(|line| !fits(line)) && written.lines().all(fits);
        if line.contains('\n') && !grown || fits(&line) || function.params.is_empty() {
            return line;
        }
    }
    let params = each_parameter(scope, changes);
    format!("def {name}{}{arrow}:", parameters(&params, indent, unit))
}

/// The parameters one by one, with the changes that lie in them.
pub(super) fn each_parameter(scope: &Scope, changes: &[Edit]) -> Vec<String> {
    let mut params = Vec::new();
    let mut keyword_only = false;
    for param in &scope.function().params {
        if param.kind == ParamKind::KeywordOnly && !keyword_only {
            keyword_only = true;
            params.push("*".to_string());
        }
        params.push(edited(scope, param.span, changes));
    }
    params
}

/// A list of parameters with its parentheses, one a line.
pub(super) fn parameters(params: &[String], indent: &str, unit: &str) -> String {
    if params.is_empty() {
        return "()".to_string();
    }
    let lines: String = params.iter().map(|p| format!("{indent}{unit}{p},\n")).collect();
    format!("(\n{lines}{indent})")
}

/// A piece of the source with the changes that lie in it.
pub(super) fn edited(scope: &Scope, span: Span, changes: &[Edit]) -> String {
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
pub(super) fn call_within(width: usize, prefix: &str, callee: &str, arguments: &[String], (indent, unit): (&str, &str)) -> String {
    let one = format!("{indent}{prefix}{callee}({})", arguments.join(", "));
    if one.chars().count() <= width {
        return one;
    }
    if !prefix.is_empty() && format!("{indent}{prefix}{callee}(").chars().count() > width {
        let inside = call_within(width, "", callee, arguments, (&format!("{indent}{unit}"), unit));
        return format!("{indent}{prefix}(\n{inside}\n{indent})");
    }
    let inner = format!("{indent}{unit}{}", arguments.join(", "));
    if inner.chars().count() <= width {
        return format!("{indent}{prefix}{callee}(\n{inner}\n{indent})");
    }
    exploded(prefix, callee, arguments, indent, unit)
}

/// One argument a line.
pub(super) fn exploded(prefix: &str, callee: &str, arguments: &[String], indent: &str, unit: &str) -> String {
    let lines: String = arguments.iter().map(|a| format!("{indent}{unit}{a},\n")).collect();
    format!("{indent}{prefix}{callee}(\n{lines}{indent})")
}

/// Length of lines in new code where the project has no formatter that says so.
pub(super) const WIDTH: usize = 88;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_calls_are_broken() {
        let arguments = ["first".to_string(), "second".to_string()];
        let call = |width| call_within(width, "a, b = ", "torch.ops.ns.name", &arguments, ("", "    "));
        assert_eq!(call(80), "a, b = torch.ops.ns.name(first, second)");
        assert_eq!(call(30), "a, b = torch.ops.ns.name(\n    first, second\n)");
        assert_eq!(call(24), "a, b = (\n    torch.ops.ns.name(\n        first, second\n    )\n)");
    }

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
