//! What an annotation says of a parameter, as far as memory is concerned.

use super::resolve::{ClassRef, Entity, Resolver, ValueRef};
use crate::facts::{Const, Op};
use crate::program::FunctionRef;

/// What a parameter may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A tensor, or `None`.
    Tensor,
    /// A list, tuple or dict of tensors, or `None`.
    Tensors,
    /// Nothing that holds a tensor: numbers, strings, dtypes, devices, shapes, enums, callables.
    Scalar,
    /// An object of a class of the project.
    Object(ClassRef),
    /// An object of a class from elsewhere, which may hold tensors.
    Foreign,
    /// Nothing is known.
    Unknown,
}

impl Kind {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Scalar, x) | (x, Self::Scalar) => x,
            (Self::Tensor, Self::Tensors) | (Self::Tensors, Self::Tensor) => Self::Tensors,
            (Self::Tensor | Self::Tensors, _) => self,
            (_, Self::Tensor | Self::Tensors) => other,
            _ => Self::Unknown,
        }
    }
}

/// The kind that the parameter's annotation gives.
pub(crate) fn param_kind(resolver: &Resolver<'_>, f: FunctionRef, param: u16) -> Kind {
    let function = resolver.function(f);
    let Some(p) = function.params.get(param as usize) else {
        return Kind::Unknown;
    };
    if param == 0
        && let Some(class) = function.class
        && !resolver.has_plain_decorator(f, "staticmethod")
    {
        return Kind::Object(ClassRef { file: f.file, class });
    }
    let kind = match p.annotation {
        Some(annotation) => annotation_kind(
            resolver,
            ValueRef {
                at: resolver.parent(f),
                value: annotation.value,
            },
            12,
        ),
        None => Kind::Unknown,
    };
    if kind == Kind::Unknown
        && let Some(default) = p.default
        && matches!(
            resolver.body(resolver.parent(f)).op(default),
            Op::Const(Const::Bool(_) | Const::Int(_) | Const::Float(_) | Const::Str(_))
        )
    {
        return Kind::Scalar;
    }
    kind
}

/// The kind that an annotation expression gives.
pub(crate) fn annotation_kind(resolver: &Resolver<'_>, v: ValueRef, depth: u32) -> Kind {
    let Some(depth) = depth.checked_sub(1) else { return Kind::Unknown };
    let body = resolver.body(v.at);
    let here = |value| annotation_kind(resolver, ValueRef { at: v.at, value }, depth);
    match body.op(v.value) {
        Op::Const(Const::None | Const::Ellipsis) => Kind::Scalar,
        Op::Const(Const::Str(name)) => quoted_kind(resolver.text(v.at.file, name)),
        Op::Binary(crate::facts::BinaryOp::BitOr, a, b) => here(a).join(here(b)),
        Op::Tuple(items) | Op::List(items) => body
            .items(items)
            .iter()
            .map(|&i| here(i))
            .reduce(Kind::join)
            .unwrap_or(Kind::Scalar),
        Op::Index(object, index) => {
            let head = resolver.external(v.at, object);
            let last = head.as_deref().and_then(|h| h.rsplit('.').next()).unwrap_or("");
            match last {
                "Optional" | "Union" | "Final" | "ClassVar" => here(index),
                "Annotated" => match body.op(index) {
                    Op::Tuple(items) => body.items(items).first().map_or(Kind::Unknown, |&i| here(i)),
                    _ => here(index),
                },
                "Literal" | "Callable" | "Type" | "type" => Kind::Scalar,
                "List" | "list" | "Tuple" | "tuple" | "Sequence" | "Iterable" | "Dict" | "dict" | "Mapping" | "Set" | "set"
                | "MutableMapping" => match here(index) {
                    Kind::Tensor => Kind::Tensors,
                    other => other,
                },
                // `Float[Tensor, "b n"]` of jaxtyping, `Tensor["n"]`: the first argument or the head says it.
                _ => match here(object) {
                    Kind::Tensor => Kind::Tensor,
                    Kind::Object(c) => Kind::Object(c),
                    _ => Kind::Unknown,
                },
            }
        }
        _ => resolver
            .entities(v.at, v.value)
            .into_iter()
            .map(|entity| match entity {
                Entity::External(name) => external_kind(&name),
                Entity::Class(class) => class_kind(resolver, class),
                Entity::Value(other) if other != v => annotation_kind(resolver, other, depth),
                _ => Kind::Unknown,
            })
            .reduce(Kind::join)
            .unwrap_or(Kind::Unknown),
    }
}

fn class_kind(resolver: &Resolver<'_>, class: ClassRef) -> Kind {
    if resolver.derives_from(class, |b| b == "torch.Tensor" || b == "torch.nn.Parameter") {
        return Kind::Tensor;
    }
    if resolver.derives_from(class, |b| b.starts_with("enum.")) {
        return Kind::Scalar;
    }
    Kind::Object(class)
}

fn external_kind(name: &str) -> Kind {
    if let Some(plain) = name.strip_prefix("builtins.") {
        return match plain {
            "int" | "float" | "bool" | "str" | "bytes" | "complex" | "type" => Kind::Scalar,
            _ => Kind::Unknown,
        };
    }
    if let Some(of_torch) = name.strip_prefix("torch.") {
        let last = of_torch.rsplit('.').next().unwrap_or(of_torch);
        return match last {
            "Tensor" | "Parameter" | "Buffer" => Kind::Tensor,
            t if t.ends_with("Tensor") => Kind::Tensor,
            "dtype" | "device" | "Size" | "Generator" | "Stream" | "Event" | "ProcessGroup" | "SymInt" | "layout" | "memory_format"
            | "Number" => Kind::Scalar,
            _ => Kind::Foreign,
        };
    }
    match name {
        "typing.Any" | "typing.TypeVar" => Kind::Unknown,
        "typing.Callable" | "collections.abc.Callable" | "numbers.Number" => Kind::Scalar,
        "typing.List" | "typing.Sequence" | "typing.Tuple" | "typing.Dict" | "typing.Iterable" => Kind::Unknown,
        n if n.starts_with("triton.") || n.starts_with("enum.") => Kind::Scalar,
        _ => Kind::Foreign,
    }
}

fn quoted_kind(text: &str) -> Kind {
    if text.contains("Tensor") { Kind::Tensor } else { Kind::Unknown }
}
