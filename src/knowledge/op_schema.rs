//! The schema grammar of operators: `ns::name.overload(Tensor(a!) x, int[2] y=[0, 1], *, Tensor? z=None) -> (Tensor(a!), Tensor)`.
//!
//! What `define("…")`, C++ `m.def("…")` and the framework files hold. `Tensor!` is the short form of `Tensor(a!)`.

use std::fmt;

/// An operator's schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpSchema {
    /// Namespace, or empty when the text has none.
    pub namespace: String,
    /// Name, or empty when the text starts with its parameters.
    pub name: String,
    /// Overload name, or empty.
    pub overload: String,
    /// Parameters in order.
    pub params: Vec<SchemaArg>,
    /// `...` behind the parameters.
    pub variadic: bool,
    /// Results; none for `()`.
    pub returns: Vec<SchemaResult>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaArg {
    /// Its type.
    pub ty: SchemaType,
    /// Its name.
    pub name: String,
    /// Its default, as written.
    pub default: Option<String>,
    /// It stands behind `*`.
    pub keyword_only: bool,
}

/// A result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaResult {
    /// Its type.
    pub ty: SchemaType,
    /// Its name, if it has one.
    pub name: Option<String>,
}

/// A type with what it says of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaType {
    /// The type without alias annotations: `Tensor?[]`, `int[2]`, `Dict(str, Tensor)`.
    pub text: String,
    /// Alias sets (`a` of `Tensor(a!)`); `*` is the wildcard.
    pub aliases: Vec<String>,
    /// It is written (`!`).
    pub written: bool,
}

impl SchemaType {
    /// A tensor or a collection of tensors.
    pub fn is_tensor(&self) -> bool {
        self.text.starts_with("Tensor")
    }
}

/// A text that is no schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    /// Byte offset in the text.
    pub offset: usize,
    /// What was expected there.
    pub message: String,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at offset {}: {}", self.offset, self.message)
    }
}

impl std::error::Error for SchemaError {}

/// Types nest this deep at most.
const MAX_DEPTH: u32 = 32;

impl OpSchema {
    /// Parses a schema, or a name alone (`ns::name`), which has no parameters.
    pub fn parse(text: &str) -> Result<Self, SchemaError> {
        let mut parser = Parser { text, at: 0 };
        let schema = parser.schema()?;
        parser.space();
        if parser.at < text.len() {
            return Err(parser.error("expected the end"));
        }
        Ok(schema)
    }

    /// `ns::name`, without the overload.
    pub fn qualified(&self) -> String {
        if self.namespace.is_empty() {
            self.name.clone()
        } else {
            format!("{}::{}", self.namespace, self.name)
        }
    }

    /// Indices of the parameters that are written.
    pub fn writes(&self) -> impl Iterator<Item = u16> {
        (0u16..).zip(&self.params).filter(|(_, p)| p.ty.written).map(|(i, _)| i)
    }

    /// Indices of the parameters that a result may share memory with.
    pub fn sources(&self, result: &SchemaResult) -> Vec<u16> {
        let shares = |p: &SchemaArg| p.ty.aliases.iter().any(|a| a == "*" || result.ty.aliases.contains(a));
        (0u16..).zip(&self.params).filter(|(_, p)| shares(p)).map(|(i, _)| i).collect()
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn error(&self, message: &str) -> SchemaError {
        SchemaError {
            offset: self.at,
            message: message.to_owned(),
        }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Skips white space and takes `token` if it is next.
    fn take(&mut self, token: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), SchemaError> {
        if self.take(token) {
            Ok(())
        } else {
            Err(self.error(&format!("expected `{token}`")))
        }
    }

    fn identifier(&mut self) -> Result<&'t str, SchemaError> {
        self.space();
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        if end == 0 || rest.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.error("expected a name"));
        }
        self.at += end;
        Ok(&rest[..end])
    }

    fn schema(&mut self) -> Result<OpSchema, SchemaError> {
        let mut schema = OpSchema::default();
        self.space();
        if !self.rest().starts_with('(') {
            self.name(&mut schema)?;
            self.space();
            if self.rest().is_empty() {
                return Ok(schema);
            }
        }
        self.expect("(")?;
        self.params(&mut schema)?;
        self.expect("->")?;
        self.returns(&mut schema)?;
        Ok(schema)
    }

    fn name(&mut self, schema: &mut OpSchema) -> Result<(), SchemaError> {
        schema.name = self.identifier()?.to_owned();
        if self.rest().starts_with("::") {
            self.at += 2;
            schema.namespace = std::mem::replace(&mut schema.name, self.identifier()?.to_owned());
        }
        if self.rest().starts_with('.') {
            self.at += 1;
            schema.overload = self.identifier()?.to_owned();
        }
        Ok(())
    }

    fn params(&mut self, schema: &mut OpSchema) -> Result<(), SchemaError> {
        let mut keyword_only = false;
        if self.take(")") {
            return Ok(());
        }
        loop {
            if self.take("...") {
                schema.variadic = true;
            } else if self.take("*") {
                keyword_only = true;
            } else {
                let ty = self.ty(MAX_DEPTH)?;
                let name = self.identifier()?.to_owned();
                // `int[4] stride` may be written `int stride[4]`.
                let ty = self.sized_name(ty)?;
                let default = if self.take("=") { Some(self.literal()?) } else { None };
                schema.params.push(SchemaArg {
                    ty,
                    name,
                    default,
                    keyword_only,
                });
            }
            if self.take(")") {
                return Ok(());
            }
            self.expect(",")?;
        }
    }

    fn sized_name(&mut self, mut ty: SchemaType) -> Result<SchemaType, SchemaError> {
        if self.rest().starts_with('[') {
            self.suffixes(&mut ty)?;
        }
        Ok(ty)
    }

    fn returns(&mut self, schema: &mut OpSchema) -> Result<(), SchemaError> {
        if self.take("...") {
            schema.variadic = true;
            return Ok(());
        }
        if !self.take("(") {
            schema.returns.push(SchemaResult {
                ty: self.ty(MAX_DEPTH)?,
                name: None,
            });
            return Ok(());
        }
        if self.take(")") {
            return Ok(());
        }
        loop {
            if self.take("...") {
                schema.variadic = true;
            } else {
                let ty = self.ty(MAX_DEPTH)?;
                self.space();
                let named = self.rest().starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
                let name = if named { Some(self.identifier()?.to_owned()) } else { None };
                schema.returns.push(SchemaResult { ty, name });
            }
            if self.take(")") {
                return Ok(());
            }
            self.expect(",")?;
        }
    }

    fn ty(&mut self, depth: u32) -> Result<SchemaType, SchemaError> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(self.error("types nest too deep"));
        };
        let mut ty = SchemaType::default();
        if self.take("(") {
            ty.text = format!("({})", self.types(depth, &mut ty)?);
        } else {
            ty.text = self.identifier()?.to_owned();
            while self.rest().starts_with('.') {
                self.at += 1;
                ty.text = format!("{}.{}", ty.text, self.identifier()?);
            }
            if matches!(&*ty.text, "Dict" | "Future" | "RRef" | "Await" | "Union") && self.take("(") {
                let inner = self.types(depth, &mut ty)?;
                ty.text = format!("{}({inner})", ty.text);
            }
        }
        self.suffixes(&mut ty)?;
        Ok(ty)
    }

    /// Types up to the closing parenthesis. What they say of memory goes to the whole.
    fn types(&mut self, depth: u32, whole: &mut SchemaType) -> Result<String, SchemaError> {
        let mut texts = Vec::new();
        while !self.take(")") {
            if !texts.is_empty() {
                self.expect(",")?;
            }
            let inner = self.ty(depth)?;
            whole.aliases.extend(inner.aliases);
            whole.written |= inner.written;
            texts.push(inner.text);
        }
        Ok(texts.join(", "))
    }

    /// Alias annotations, `[]`, `[2]` and `?`, in any order.
    fn suffixes(&mut self, ty: &mut SchemaType) -> Result<(), SchemaError> {
        loop {
            if self.take("(") {
                self.alias(ty)?;
            } else if self.take("!") {
                ty.written = true;
            } else if self.take("?") {
                ty.text.push('?');
            } else if self.take("[") {
                self.space();
                let digits = self.rest().len() - self.rest().trim_start_matches(|c: char| c.is_ascii_digit()).len();
                let size = &self.rest()[..digits];
                self.at += digits;
                ty.text = format!("{}[{size}]", ty.text);
                self.expect("]")?;
            } else {
                return Ok(());
            }
        }
    }

    /// `a`, `a!`, `a|b`, `a -> *`, behind the opening parenthesis.
    fn alias(&mut self, ty: &mut SchemaType) -> Result<(), SchemaError> {
        let mut behind_arrow = false;
        loop {
            if self.take(")") {
                return Ok(());
            }
            if self.take("!") {
                ty.written = true;
            } else if self.take("->") {
                behind_arrow = true;
            } else if self.take("|") {
                continue;
            } else if self.take("*") {
                // `a -> *`: the elements of the list may come to share anything; the list itself has set `a`.
                if !behind_arrow {
                    ty.aliases.push("*".into());
                }
            } else {
                let set = self.identifier()?.to_owned();
                if !behind_arrow {
                    ty.aliases.push(set);
                }
            }
        }
    }

    /// A default, as written: a number, a word, a string or a list of these.
    fn literal(&mut self) -> Result<String, SchemaError> {
        self.space();
        let start = self.at;
        let mut open = 0u32;
        let mut chars = self.rest().char_indices();
        while let Some((offset, c)) = chars.next() {
            let at = start + offset;
            match c {
                '"' | '\'' => {
                    let mut escaped = false;
                    let closed = chars.by_ref().any(|(_, s)| {
                        let closes = s == c && !escaped;
                        escaped = s == '\\' && !escaped;
                        closes
                    });
                    if !closed {
                        return Err(self.error("expected the end of a string"));
                    }
                }
                '[' | '(' => open += 1,
                ']' | ')' if open > 0 => open -= 1,
                ',' | ')' if open == 0 => {
                    self.at = at;
                    break;
                }
                ']' => return Err(self.error("expected a default")),
                _ => {}
            }
        }
        if self.at == start {
            return Err(self.error(if open == 0 && self.rest().starts_with([',', ')']) {
                "expected a default"
            } else {
                "expected `)`"
            }));
        }
        Ok(self.text[start..self.at].trim().to_owned())
    }
}
