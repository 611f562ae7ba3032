//! Annotations as types, and the types that schemas have.

use super::Torch;
use crate::facts::{Annotation, BinaryOp, Const, MODULE, Name, Op, ValueId};
use crate::link::resolve::{Entity, Resolver, ValueRef};
use crate::program::FunctionRef;
use crate::source::FileId;

/// Types nest this deep at most; deeper ones have no schema form anyway.
const MAX_DEPTH: u32 = 16;

/// What an annotation evaluates to, as far as `infer_schema` tells types apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Type {
    Tensor,
    Int,
    Float,
    Bool,
    Str,
    Dtype,
    Device,
    None,
    Enum,
    /// `torch.distributed.distributed_c10d.GroupName`.
    GroupName,
    /// A class that is passed as an object, by the name that the schema gives it.
    Opaque(&'static str),
    /// At least two, flat, sorted, no two equal.
    Union(Vec<Type>),
    /// `List[T]`; `sequence`: `Sequence[T]`; `builtin`: `list[T]`, `collections.abc.Sequence[T]`.
    List {
        item: Box<Type>,
        sequence: bool,
        builtin: bool,
    },
    /// `Tuple[…]`, `tuple[…]`; `typing.Tuple` alone is empty.
    Tuple(Vec<Type>),
    /// Anything else that is known.
    Other,
    /// A name that is not defined where the annotation is evaluated.
    Missing(String),
    /// It cannot be known.
    Unknown,
}

/// Why a type has no schema form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Unsupported,
    Tuple,
    Missing(String),
    Unknown,
}

/// The schema's type of a parameter.
pub(super) fn param_type(ty: &Type, torch: Torch) -> Result<String, Why> {
    find_hole(ty)?;
    let unsupported = Err(Why::Unsupported);
    if let Some(base) = base(ty, torch) {
        return Ok(base.into());
    }
    match ty {
        Type::Enum if torch >= (2, 12) => Ok("enum.Enum".into()),
        Type::Opaque(name) if torch >= (2, 12) => Ok((*name).into()),
        Type::Tuple(_) => Err(Why::Tuple),
        Type::List { .. } => list(ty, torch).map_or(unsupported, Ok),
        Type::Union(members) => {
            let Some(inner) = optional(members) else { return unsupported };
            if let Some(base) = base(&inner, torch) {
                return Ok(format!("{base}?"));
            }
            match list(&inner, torch).as_deref() {
                Some(list @ ("SymInt[]" | "float[]" | "bool[]")) => Ok(format!("{list}?")),
                Some(list @ ("Tensor[]" | "Tensor?[]")) if torch >= (2, 15) => Ok(format!("{list}?")),
                _ => unsupported,
            }
        }
        _ => unsupported,
    }
}

/// The schema's text behind the arrow.
pub(super) fn return_type(ty: &Type, torch: Torch) -> Result<String, Why> {
    find_hole(ty)?;
    match ty {
        Type::None => Ok("()".into()),
        Type::Opaque(name) if torch >= (2, 12) => Ok((*name).into()),
        Type::Tuple(items) => {
            let items: Option<Vec<&str>> = items.iter().map(|item| returned(item, torch)).collect();
            let items = items.ok_or(Why::Unsupported)?;
            let inner = items.join(", ");
            Ok(if items.len() == 1 && torch >= (2, 8) {
                format!("(({inner}))")
            } else {
                format!("({inner})")
            })
        }
        other => returned(other, torch).map(String::from).ok_or(Why::Unsupported),
    }
}

fn returned(ty: &Type, torch: Torch) -> Option<&'static str> {
    match ty {
        Type::Tensor => Some("Tensor"),
        Type::Int => Some("SymInt"),
        Type::Float => Some("float"),
        Type::Bool => Some("bool"),
        Type::List {
            item,
            builtin,
            sequence: false,
        } if **item == Type::Tensor && (!builtin || torch >= (2, 7)) => Some("Tensor[]"),
        Type::Union(_) if is_number(ty) => Some("Scalar"),
        _ => None,
    }
}

fn base(ty: &Type, torch: Torch) -> Option<&'static str> {
    match ty {
        Type::Tensor => Some("Tensor"),
        Type::Int => Some("SymInt"),
        Type::Float => Some("float"),
        Type::Bool => Some("bool"),
        Type::Str => Some("str"),
        Type::Dtype => Some("ScalarType"),
        Type::Device => Some("Device"),
        Type::GroupName if torch >= (2, 10) => Some("str"),
        Type::Union(_) if is_number(ty) => Some("Scalar"),
        _ => None,
    }
}

fn list(ty: &Type, torch: Torch) -> Option<String> {
    let Type::List { item, builtin, .. } = ty else { return None };
    if *builtin && torch < (2, 7) {
        return None;
    }
    match &**item {
        Type::Union(members) if optional(members) == Some(Type::Tensor) => Some("Tensor?[]".into()),
        item => match base(item, torch)? {
            base @ ("Tensor" | "SymInt" | "float" | "bool" | "Scalar") => Some(format!("{base}[]")),
            _ => None,
        },
    }
}

fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Union(members) if members.as_slice() == [Type::Int, Type::Float, Type::Bool])
}

/// What is left of a union when `None` is taken out of it.
fn optional(members: &[Type]) -> Option<Type> {
    if !members.contains(&Type::None) {
        return None;
    }
    Some(union(members.iter().filter(|m| **m != Type::None).cloned().collect()))
}

fn union(members: Vec<Type>) -> Type {
    let mut flat: Vec<Type> = Vec::new();
    for member in members {
        match member {
            Type::Union(inner) => flat.extend(inner),
            other => flat.push(other),
        }
    }
    flat.sort();
    flat.dedup();
    match flat.len() {
        1 => flat.swap_remove(0),
        _ => Type::Union(flat),
    }
}

/// A part that is not known, or not defined, decides over the whole.
fn find_hole(ty: &Type) -> Result<(), Why> {
    match ty {
        Type::Unknown => Err(Why::Unknown),
        Type::Missing(name) => Err(Why::Missing(name.clone())),
        Type::List { item, .. } => find_hole(item),
        Type::Union(items) | Type::Tuple(items) => items.iter().try_for_each(find_hole),
        _ => Ok(()),
    }
}

/// Reads annotations of one function.
pub(super) struct Annotations<'r, 'a> {
    resolver: &'r Resolver<'a>,
    torch: Torch,
    annotation: Annotation,
}

/// Where a name of an annotation is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Evaluated with the `def`.
    Definition,
    /// A string that is evaluated in the function's module when the schema is inferred.
    Globals,
    /// A string that old versions evaluate in a module of their own.
    InferSchema,
}

impl<'r, 'a> Annotations<'r, 'a> {
    pub(super) fn new(resolver: &'r Resolver<'a>, torch: Torch, annotation: Annotation) -> Self {
        Self {
            resolver,
            torch,
            annotation,
        }
    }

    /// The type of the annotation, whose value is one of this body.
    pub(super) fn read(&self, at: FunctionRef) -> Type {
        let at = ValueRef {
            at,
            value: self.annotation.value,
        };
        let stringified = self.annotation.quoted || self.resolver.facts(at.at.file).layout.future_annotations;
        let scope = match stringified {
            false => Scope::Definition,
            true if self.torch >= (2, 7) => Scope::Globals,
            true => Scope::InferSchema,
        };
        self.expression(at, scope, MAX_DEPTH)
    }

    fn expression(&self, v: ValueRef, scope: Scope, depth: u32) -> Type {
        let Some(depth) = depth.checked_sub(1) else { return Type::Unknown };
        let body = self.resolver.body(v.at);
        let inner = |value: ValueId| self.expression(ValueRef { at: v.at, value }, scope, depth);
        if scope != Scope::Definition && !self.is_written_here(v) {
            return self.name(v, scope, depth);
        }
        match body.op(v.value) {
            Op::Const(Const::None) => Type::None,
            Op::Const(_) => Type::Other,
            Op::Binary(BinaryOp::BitOr, a, b) => union(vec![inner(a), inner(b)]),
            Op::Index(head, index) => self.subscript(v, head, index, scope, depth),
            _ => self.name(v, scope, depth),
        }
    }

    fn subscript(&self, v: ValueRef, head: ValueId, index: ValueId, scope: Scope, depth: u32) -> Type {
        let body = self.resolver.body(v.at);
        let items: Vec<ValueId> = match body.op(index) {
            Op::Tuple(items) => body.items(items).to_vec(),
            _ => vec![index],
        };
        let heads = self.entities(ValueRef { at: v.at, value: head }, scope);
        let heads = match heads {
            Ok(heads) => heads,
            Err(missing) => return Type::Missing(missing),
        };
        let Some(name) = external(&heads) else {
            return if heads.is_empty() {
                Type::Unknown
            } else {
                self.of_entities(&heads, depth, true)
            };
        };
        let item = |value: ValueId, builtin: bool| self.item(ValueRef { at: v.at, value }, builtin, scope, depth);
        match plain_name(name) {
            "typing.Optional" => union(vec![item(index, false), Type::None]),
            "typing.Union" => union(items.iter().map(|&i| item(i, false)).collect()),
            "typing.List" => list_of(item(index, false), false, false),
            "typing.Sequence" => list_of(item(index, false), true, false),
            "builtins.list" => list_of(item(index, true), false, true),
            "collections.abc.Sequence" => list_of(item(index, true), true, true),
            "typing.Tuple" => Type::Tuple(items.iter().map(|&i| item(i, false)).collect()),
            "builtins.tuple" => Type::Tuple(items.iter().map(|&i| item(i, true)).collect()),
            other if is_known_outside(other) => Type::Other,
            _ => Type::Unknown,
        }
    }

    /// An argument of a generic. A string there is evaluated for builtin generics only, and only when the whole is no string.
    fn item(&self, v: ValueRef, builtin: bool, scope: Scope, depth: u32) -> Type {
        let Op::Const(Const::Str(text)) = self.resolver.body(v.at).op(v.value) else {
            return self.expression(v, scope, depth);
        };
        if !builtin || scope != Scope::Definition || self.torch < (2, 7) {
            return Type::Other;
        }
        self.dotted(v.at.file, self.resolver.text(v.at.file, text), depth)
    }

    /// A dotted name in a string, evaluated in the module.
    fn dotted(&self, file: FileId, text: &str, depth: u32) -> Type {
        let mut parts = text.trim().split('.');
        let head = parts.next().unwrap_or_default();
        let rest: Vec<&str> = parts.collect();
        let is_name = |s: &str| !s.is_empty() && s.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !is_name(head) || !rest.iter().all(|p| is_name(p)) {
            return Type::Unknown;
        }
        let mut entities = match self.global(file, head) {
            Ok(entities) => entities,
            Err(missing) => return Type::Missing(missing),
        };
        for part in rest {
            entities = entities.iter().flat_map(|e| self.member(e, part)).collect();
        }
        self.of_entities(&entities, depth, false)
    }

    fn member(&self, entity: &Entity, name: &str) -> Vec<Entity> {
        match entity {
            Entity::External(path) => vec![Entity::External(format!("{path}.{name}").into())],
            Entity::Module(file) => self.resolver.export(*file, name).to_vec(),
            Entity::Class(class) => self.resolver.members(*class, name, false),
            Entity::Made(..) | Entity::Namespace(_) | Entity::Function(_) | Entity::Bound(_) | Entity::Instance(_) | Entity::Value(_) => {
                Vec::new()
            }
        }
    }

    fn name(&self, v: ValueRef, scope: Scope, depth: u32) -> Type {
        match self.entities(v, scope) {
            Ok(entities) => self.of_entities(&entities, depth, false),
            Err(missing) => Type::Missing(missing),
        }
    }

    /// What a name or dotted name refers to in a scope; the name that is missing there.
    fn entities(&self, v: ValueRef, scope: Scope) -> Result<Vec<Entity>, String> {
        if scope == Scope::Definition {
            return Ok(self.resolver.entities(v.at, v.value));
        }
        let body = self.resolver.body(v.at);
        if let (Op::Attr(object, name), true) = (body.op(v.value), self.is_written_here(v)) {
            let objects = self.entities(ValueRef { at: v.at, value: object }, scope)?;
            let name = self.resolver.text(v.at.file, name);
            return Ok(objects.iter().flat_map(|e| self.member(e, name)).collect());
        }
        let Some(name) = self.spelled(v) else {
            return Ok(self.resolver.entities(v.at, v.value));
        };
        match scope {
            Scope::Definition | Scope::Globals => self.global(v.at.file, name),
            Scope::InferSchema => infer_schema_name(name).map(|e| vec![e]).ok_or_else(|| name.to_owned()),
        }
    }

    /// The name of the variable that a value outside the annotation is held by.
    fn variable(&self, v: ValueRef) -> Option<&'a str> {
        let function = self.resolver.function(v.at);
        let mut held = vec![v.value];
        match function.body.op(v.value) {
            Op::Select(_, yes, no) => held.extend([yes, no]),
            Op::Phi(items) => held.extend(function.body.items(items)),
            _ => {}
        }
        let bound = function
            .assigned
            .iter()
            .find(|(_, values)| values.iter().any(|value| held.contains(value)));
        bound.map(|(name, _)| self.resolver.text(v.at.file, *name))
    }

    fn is_written_here(&self, v: ValueRef) -> bool {
        let span = self.resolver.body(v.at).value(v.value).span;
        self.annotation.span.start <= span.start && span.end <= self.annotation.span.end
    }

    /// The identifier that a part of the annotation was written as.
    fn spelled(&self, v: ValueRef) -> Option<&'a str> {
        let function = self.resolver.function(v.at);
        let facts = self.resolver.facts(v.at.file);
        if !self.is_written_here(v) {
            return self.variable(v);
        }
        let name: Name = match function.body.op(v.value) {
            Op::Free(name) => name,
            Op::Import(import) => facts.imports[import.index()].bound,
            Op::Function(function) => facts.function(function).name,
            Op::Class(class) => facts.classes[class.index()].name,
            _ => {
                let span = function.body.value(v.value).span;
                let text = self.resolver.files[v.at.file.index()]
                    .source
                    .slice(span)
                    .trim_matches(['"', '\'', ' ']);
                return is_identifier(text).then_some(text);
            }
        };
        Some(facts.name(name))
    }

    /// A name of a module when it has run.
    fn global(&self, file: FileId, name: &str) -> Result<Vec<Entity>, String> {
        if self.only_for_type_checking(file, name) {
            return Err(name.to_owned());
        }
        let found = self.resolver.export(file, name);
        if !found.is_empty() {
            return Ok(found.to_vec());
        }
        if is_builtin(name) {
            return Ok(vec![Entity::External(format!("builtins.{name}").into())]);
        }
        Err(name.to_owned())
    }

    /// Every binding of the name in the module is an import under `if TYPE_CHECKING:`.
    fn only_for_type_checking(&self, file: FileId, name: &str) -> bool {
        let facts = self.resolver.facts(file);
        let Some(name) = self.resolver.find_name(file, name) else {
            return false;
        };
        let mut imports = facts.imports.iter().filter(|i| i.bound == name && i.function == MODULE).peekable();
        if imports.peek().is_none() || !imports.all(|i| i.type_checking) {
            return false;
        }
        let assigned = facts.module().assigned.iter().find(|a| a.0 == name);
        assigned.is_none_or(|(_, values)| {
            values.iter().all(|&v| {
                matches!(
                    facts.module().body.op(v),
                    Op::Import(_) | Op::Undefined | Op::Select(..) | Op::Phi(_)
                )
            })
        })
    }

    fn of_entities(&self, entities: &[Entity], depth: u32, subscripted: bool) -> Type {
        let mut types: Vec<Type> = entities.iter().map(|e| self.of_entity(e, depth, subscripted)).collect();
        types.sort();
        types.dedup();
        // `except ImportError: Tensor = None`
        if types.len() == 2 && types.contains(&Type::None) {
            types.retain(|t| *t != Type::None);
        }
        match types.len() {
            1 => types.swap_remove(0),
            _ => Type::Unknown,
        }
    }

    fn of_entity(&self, entity: &Entity, depth: u32, subscripted: bool) -> Type {
        match entity {
            Entity::External(name) => of_external(name),
            Entity::Class(class) if subscripted => {
                let _ = class;
                Type::Other
            }
            Entity::Class(class) if self.resolver.derives_from(*class, |b| b.starts_with("enum.")) => Type::Enum,
            Entity::Class(class) => {
                let opaque = self.resolver.bases(*class).iter().any(|b| match b {
                    Entity::External(name) => !is_known_outside(name),
                    Entity::Value(_) => true,
                    Entity::Made(..) | Entity::Module(_) | Entity::Namespace(_) | Entity::Function(_) => false,
                    Entity::Bound(_) | Entity::Class(_) | Entity::Instance(_) => false,
                });
                if opaque { Type::Unknown } else { Type::Other }
            }
            Entity::Made(name, _) if is_known_outside(name) => Type::Other,
            Entity::Value(v) => match self.resolver.body(v.at).op(v.value) {
                Op::Const(_) | Op::Index(..) | Op::Binary(..) => self.expression(*v, Scope::Definition, depth),
                _ => Type::Unknown,
            },
            Entity::Function(_) | Entity::Module(_) => Type::Other,
            Entity::Made(..) | Entity::Namespace(_) | Entity::Bound(_) | Entity::Instance(_) => Type::Unknown,
        }
    }
}

fn list_of(item: Type, sequence: bool, builtin: bool) -> Type {
    Type::List {
        item: Box::new(item),
        sequence,
        builtin,
    }
}

fn external(entities: &[Entity]) -> Option<&str> {
    match entities {
        [Entity::External(name)] => Some(name),
        _ => None,
    }
}

fn plain_name(name: &str) -> &str {
    match name.strip_prefix("typing_extensions.") {
        Some("Optional") => "typing.Optional",
        Some("Union") => "typing.Union",
        Some("List") => "typing.List",
        Some("Sequence") => "typing.Sequence",
        Some("Tuple") => "typing.Tuple",
        _ => name,
    }
}

fn of_external(name: &str) -> Type {
    match name {
        "torch.Tensor" | "torch._tensor.Tensor" | "torch.types.Tensor" | "torch.functional.Tensor" => Type::Tensor,
        "builtins.int" => Type::Int,
        "builtins.float" => Type::Float,
        "builtins.bool" => Type::Bool,
        "builtins.str" | "typing.Text" => Type::Str,
        "torch.dtype" | "torch.types._dtype" => Type::Dtype,
        "torch.device" | "torch.types._device" => Type::Device,
        "torch.types._int" => Type::Int,
        "torch.types._float" => Type::Float,
        "torch.types._bool" => Type::Bool,
        "torch.types.Number" => union(vec![Type::Int, Type::Float, Type::Bool]),
        "torch.Generator" | "torch._C.Generator" => Type::Opaque("torch._C.Generator"),
        "torch.distributed.ProcessGroup" | "torch.distributed.distributed_c10d.ProcessGroup" => {
            Type::Opaque("torch.distributed.distributed_c10d.ProcessGroup")
        }
        "torch.distributed.distributed_c10d.GroupName" => Type::GroupName,
        "typing.Tuple" => Type::Tuple(Vec::new()),
        _ => match name.strip_prefix("builtins.") {
            Some(plain) if !is_builtin(plain) => Type::Missing(plain.to_owned()),
            _ if is_known_outside(name) => Type::Other,
            _ => Type::Unknown,
        },
    }
}

/// Packages of which every name that matters is listed above.
fn is_known_outside(name: &str) -> bool {
    let top = name.split('.').next().unwrap_or(name);
    matches!(
        top,
        "torch"
            | "typing"
            | "typing_extensions"
            | "builtins"
            | "collections"
            | "numpy"
            | "enum"
            | "numbers"
            | "types"
            | "dataclasses"
            | "abc"
            | "functools"
            | "triton"
            | "pathlib"
            | "fractions"
            | "decimal"
            | "contextlib"
            | "ctypes"
    )
}

/// What the module of old `infer_schema` itself has under a name.
fn infer_schema_name(name: &str) -> Option<Entity> {
    let path = match name {
        "Tensor" | "device" | "dtype" | "types" => format!("torch.{name}"),
        "Optional" | "List" | "Sequence" | "Union" => format!("typing.{name}"),
        "torch" | "typing" | "inspect" => name.to_owned(),
        _ if is_builtin(name) => format!("builtins.{name}"),
        _ => return None,
    };
    Some(Entity::External(path.into()))
}

fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(|c| c.is_alphanumeric() || c == '_')
}

fn is_builtin(name: &str) -> bool {
    matches!(
        name,
        "int"
            | "float"
            | "bool"
            | "str"
            | "bytes"
            | "bytearray"
            | "complex"
            | "list"
            | "tuple"
            | "dict"
            | "set"
            | "frozenset"
            | "object"
            | "type"
            | "memoryview"
            | "range"
            | "slice"
            | "property"
            | "staticmethod"
            | "classmethod"
            | "super"
            | "Exception"
            | "BaseException"
            | "callable"
            | "print"
            | "len"
            | "min"
            | "max"
            | "abs"
            | "sum"
            | "any"
            | "all"
            | "iter"
            | "enumerate"
            | "zip"
            | "map"
            | "filter"
            | "sorted"
            | "reversed"
            | "id"
            | "hash"
            | "repr"
            | "round"
            | "pow"
            | "divmod"
            | "isinstance"
            | "issubclass"
            | "getattr"
            | "hasattr"
            | "setattr"
            | "delattr"
            | "vars"
            | "open"
            | "input"
            | "chr"
            | "ord"
            | "hex"
            | "oct"
            | "bin"
            | "format"
            | "eval"
            | "exec"
            | "NotImplemented"
            | "Ellipsis"
    )
}
