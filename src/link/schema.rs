//! The schema that `torch.library.infer_schema` gives for a function, or its reason to refuse, for a version of torch.
//!
//! Compared with the real function over the table in `tests/data/schemas.json`. Refusals of `define` are told too: a schema that
//! cannot be defined is of no use. What cannot be known is refused with `certain` false.

mod annotation;
mod default;
#[cfg(test)]
mod tests;

use super::resolve::{Resolver, ValueRef};
use crate::facts::{Param, ParamKind};
use crate::program::{FunctionRef, Refusal, RefusalKind};
use annotation::{Annotations, Type};
use default::Default;

/// (major, minor) of torch.
pub(crate) type Torch = (u32, u32);

/// A schema without its op's name and mutations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Schema {
    /// Parameters in order.
    pub(crate) params: Vec<SchemaParam>,
    /// What stands behind the arrow.
    pub(crate) returns: String,
}

/// A parameter of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SchemaParam {
    /// Its name.
    pub(crate) name: String,
    /// Its type: `Tensor?`, `SymInt[]`.
    pub(crate) ty: String,
    /// Its default, as the schema writes it.
    pub(crate) default: Option<String>,
    /// It stands behind `*`.
    pub(crate) keyword_only: bool,
}

impl Schema {
    /// The text that `infer_schema` gives with these arguments mutated: `(Tensor(a0!) x, SymInt n) -> ()`.
    pub(crate) fn text(&self, mutates: &[&str]) -> String {
        self.text_where(|param| mutates.contains(&&*param.name))
    }

    /// The text with every tensor mutated: `mutates_args="unknown"`.
    #[cfg(test)]
    pub(super) fn text_all_mutated(&self) -> String {
        self.text_where(|param| param.ty.starts_with("Tensor"))
    }

    fn text_where(&self, mutated: impl Fn(&SchemaParam) -> bool) -> String {
        let mut parts: Vec<String> = Vec::with_capacity(self.params.len() + 1);
        let mut starred = false;
        for (index, param) in self.params.iter().enumerate() {
            if param.keyword_only && !starred {
                parts.push("*".into());
                starred = true;
            }
            let ty = match param.ty.strip_prefix("Tensor") {
                Some(rest) if mutated(param) => format!("Tensor(a{index}!){rest}"),
                _ => param.ty.clone(),
            };
            let default = param.default.as_ref().map(|d| format!("={d}")).unwrap_or_default();
            parts.push(format!("{ty} {}{default}", param.name));
        }
        format!("({}) -> {}", parts.join(", "), self.returns)
    }
}

/// Infers the schema of a function, and the type of each of its parameters alone.
pub(crate) fn infer_each(resolver: &Resolver<'_>, f: FunctionRef, torch: Torch) -> (Vec<Option<String>>, Result<Schema, Vec<Refusal>>) {
    let function = resolver.function(f);
    let mut refusals = Vec::new();
    let mut params = Vec::new();
    let mut types = Vec::new();
    for (index, param) in (0u16..).zip(&function.params) {
        match infer_param(resolver, f, param, torch) {
            Ok(inferred) => {
                types.push(Some(inferred.ty.clone()));
                params.push(inferred);
            }
            Err(refused) => {
                types.push(refused.ty.clone());
                refusals.push(refused.of(Some(index)));
            }
        }
    }
    let returns = match function.returns {
        None => Err(Refused::new(RefusalKind::Return, "no return type annotation was provided")),
        Some(annotation) => {
            let text = resolver.files[f.file.index()].source.slice(annotation.span);
            let ty = Annotations::new(resolver, torch, annotation).read(resolver.parent(f));
            annotation::return_type(&ty, torch).map_err(|why| Refused::annotation(RefusalKind::Return, why, text))
        }
    };
    let schema = match returns {
        Ok(returns) if refusals.is_empty() => Ok(Schema { params, returns }),
        Ok(_) => Err(refusals),
        Err(refused) => {
            refusals.push(refused.of(None));
            Err(refusals)
        }
    };
    (types, schema)
}

/// A refusal without its parameter.
struct Refused {
    kind: RefusalKind,
    reason: String,
    certain: bool,
    /// The annotation's schema type, where only the default is refused.
    ty: Option<String>,
}

impl Refused {
    fn new(kind: RefusalKind, reason: impl Into<String>) -> Self {
        Self {
            kind,
            reason: reason.into(),
            certain: true,
            ty: None,
        }
    }

    fn annotation(kind: RefusalKind, why: annotation::Why, text: &str) -> Self {
        let (reason, certain) = match why {
            annotation::Why::Unsupported => (format!("unsupported type `{text}`"), true),
            annotation::Why::Tuple => (format!("unsupported type `{text}`: tuples are not supported, use a list"), true),
            annotation::Why::Missing(name) => (
                format!("`{text}` is not a type: name `{name}` is not defined at module scope"),
                true,
            ),
            annotation::Why::Unknown => (format!("it cannot be known here what `{text}` is"), false),
        };
        Self {
            kind,
            reason,
            certain,
            ty: None,
        }
    }

    fn of(self, param: Option<u16>) -> Refusal {
        Refusal {
            param,
            kind: self.kind,
            reason: self.reason,
            certain: self.certain,
        }
    }
}

fn infer_param(resolver: &Resolver<'_>, f: FunctionRef, param: &Param, torch: Torch) -> Result<SchemaParam, Refused> {
    let source = &resolver.files[f.file.index()].source;
    match param.kind {
        ParamKind::Positional | ParamKind::KeywordOnly => {}
        ParamKind::PositionalOnly => return Err(Refused::new(RefusalKind::Kind, "positional-only parameters are not supported")),
        ParamKind::Star => return Err(Refused::new(RefusalKind::Kind, "`*args` is not supported")),
        ParamKind::StarStar => return Err(Refused::new(RefusalKind::Kind, "`**kwargs` is not supported")),
    }
    let name = resolver.text(f.file, param.name).to_owned();
    let Some(annotation) = param.annotation else {
        return Err(Refused::new(
            RefusalKind::Unannotated,
            format!("parameter `{name}` must have a type annotation"),
        ));
    };
    let at = resolver.parent(f);
    let read: Type = Annotations::new(resolver, torch, annotation).read(at);
    let text = source.slice(annotation.span);
    let ty = annotation::param_type(&read, torch).map_err(|why| Refused::annotation(RefusalKind::Annotation, why, text))?;
    let default = match param.default {
        None => None,
        Some(value) => {
            let text = param.default_span.map_or("", |span| source.slice(span));
            let default = Default::read(resolver, ValueRef { at, value });
            Some(default.text(&ty).map_err(|why| Refused {
                kind: RefusalKind::Default,
                certain: why.is_some(),
                reason: why.unwrap_or_else(|| format!("it cannot be known here what the default `{text}` is")),
                ty: Some(ty.clone()),
            })?)
        }
    };
    Ok(SchemaParam {
        name,
        ty,
        default,
        keyword_only: param.kind == ParamKind::KeywordOnly,
    })
}
