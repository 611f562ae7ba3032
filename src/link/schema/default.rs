//! Defaults as values, and how schemas write them.

use crate::facts::{BinaryOp, Const, FunctionKind, Op, UnaryOp, ValueId};
use crate::link::resolve::{Entity, Resolver, ValueRef};

/// Constant expressions are folded this deep.
const MAX_DEPTH: u32 = 16;

/// What a default evaluates to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Default {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(String),
    Dtype(&'static str),
    Device(String),
    /// A value without a schema form: its class.
    Unsupported(&'static str),
    Unknown,
}

impl Default {
    /// Evaluates a default expression.
    pub(super) fn read(resolver: &Resolver<'_>, v: ValueRef) -> Self {
        evaluate(resolver, v, MAX_DEPTH)
    }

    /// How a schema writes the default of a parameter of this type; the reason of `infer_schema` or `define` to refuse it, or
    /// nothing when the value is not known.
    pub(super) fn text(&self, ty: &str) -> Result<String, Option<String>> {
        let text = match self {
            Self::None => "None".into(),
            Self::Bool(true) => "True".into(),
            Self::Bool(false) => "False".into(),
            Self::Int(i) => i.to_string(),
            Self::Float(f) => float_repr(*f),
            Self::Str(s) | Self::Device(s) => format!("\"{s}\""),
            Self::Dtype(name) => (*name).into(),
            Self::Unsupported(class) => return Err(Some(format!("unsupported default value type `{class}`"))),
            Self::Unknown => return Err(None),
        };
        match self.defined(ty) {
            Ok(()) => Ok(text),
            Err(why) => Err(Some(format!("{why} (default `{text}` of type `{ty}`)"))),
        }
    }

    /// Whether `define` takes the default, else the parser's words.
    fn defined(&self, ty: &str) -> Result<(), &'static str> {
        if ty.ends_with("[]") {
            return Err("expected [ for the default of a list");
        }
        match (ty, self) {
            ("Tensor", Self::None) => {}
            ("Tensor", _) => return Err("expected None for the default of a tensor"),
            ("Device", Self::Str(_) | Self::Device(_)) => {}
            ("Device", _) => return Err("expected a string for the default of a device"),
            _ if ty.contains('.') => return Err("an object has no default in a schema"),
            _ => {}
        }
        match self {
            Self::Float(f) if !f.is_finite() => Err("invalid numeric default value"),
            Self::Int(i) if i64::try_from(*i).is_err() && matches!(ty.trim_end_matches('?'), "SymInt" | "Scalar") => {
                Err("an integer of more than 64 bits")
            }
            Self::Dtype(_) if !ty.starts_with("ScalarType") => Err("invalid numeric default value"),
            Self::Str(s) | Self::Device(s) if s.contains(['"', '\n', '\r']) => Err("a string with quotes or line breaks"),
            _ => Ok(()),
        }
    }
}

fn evaluate(resolver: &Resolver<'_>, v: ValueRef, depth: u32) -> Default {
    let Some(depth) = depth.checked_sub(1) else {
        return Default::Unknown;
    };
    let body = resolver.body(v.at);
    let inner = |value: ValueId| evaluate(resolver, ValueRef { at: v.at, value }, depth);
    match body.op(v.value) {
        Op::Const(constant) => of_const(resolver, v, constant),
        Op::Unary(op, operand) => of_unary(op, inner(operand)),
        Op::Binary(op, a, b) => of_binary(op, inner(a), inner(b)),
        Op::Format(_) => match resolver.texts(v).as_deref() {
            Some([text]) => Default::Str(text.clone()),
            _ => Default::Unknown,
        },
        Op::List(_) => Default::Unsupported("list"),
        Op::Tuple(_) => Default::Unsupported("tuple"),
        Op::Dict(_) => Default::Unsupported("dict"),
        Op::Set(_) => Default::Unsupported("set"),
        _ => {
            let mut values: Vec<Default> = Vec::new();
            for entity in resolver.entities(v.at, v.value) {
                let value = of_entity(resolver, v, &entity, depth);
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            match values.len() {
                1 => values.swap_remove(0),
                _ => Default::Unknown,
            }
        }
    }
}

fn of_const(resolver: &Resolver<'_>, v: ValueRef, constant: Const) -> Default {
    let text = |name| resolver.text(v.at.file, name);
    match constant {
        Const::None => Default::None,
        Const::Bool(b) => Default::Bool(b),
        Const::Int(i) => Default::Int(i.into()),
        Const::Float(name) => text(name).replace('_', "").parse().map_or(Default::Unknown, Default::Float),
        Const::BigNumber(name) => big_number(text(name)),
        Const::Str(name) => Default::Str(text(name).to_owned()),
        Const::Bytes => Default::Unsupported("bytes"),
        Const::Ellipsis => Default::Unsupported("ellipsis"),
    }
}

/// An integer that does not fit 32 bits, or a complex number.
fn big_number(text: &str) -> Default {
    let text = text.replace('_', "").to_ascii_lowercase();
    if text.ends_with('j') {
        return Default::Unsupported("complex");
    }
    let parsed = match text.get(..2) {
        Some("0x") => i128::from_str_radix(&text[2..], 16),
        Some("0o") => i128::from_str_radix(&text[2..], 8),
        Some("0b") => i128::from_str_radix(&text[2..], 2),
        _ => text.parse(),
    };
    parsed.map_or(Default::Unknown, Default::Int)
}

fn of_unary(op: UnaryOp, operand: Default) -> Default {
    match (op, operand) {
        (UnaryOp::Minus, Default::Int(i)) => Default::Int(-i),
        (UnaryOp::Minus, Default::Float(f)) => Default::Float(-f),
        (UnaryOp::Plus, value @ (Default::Int(_) | Default::Float(_))) => value,
        (UnaryOp::Invert, Default::Int(i)) => Default::Int(!i),
        (UnaryOp::Not, Default::Bool(b)) => Default::Bool(!b),
        (UnaryOp::Not, Default::Int(i)) => Default::Bool(i == 0),
        (UnaryOp::Not | UnaryOp::Minus | UnaryOp::Plus | UnaryOp::Invert, _) => Default::Unknown,
    }
}

fn of_binary(op: BinaryOp, a: Default, b: Default) -> Default {
    match (a, b) {
        (Default::Int(a), Default::Int(b)) => of_integers(op, a, b),
        (Default::Int(a), Default::Float(b)) => of_floats(op, a as f64, b),
        (Default::Float(a), Default::Int(b)) => of_floats(op, a, b as f64),
        (Default::Float(a), Default::Float(b)) => of_floats(op, a, b),
        (Default::Str(a), Default::Str(b)) if op == BinaryOp::Add => Default::Str(a + &b),
        _ => Default::Unknown,
    }
}

fn of_integers(op: BinaryOp, a: i128, b: i128) -> Default {
    let small = u32::try_from(b).ok().filter(|b| *b < 100);
    let result = match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::FloorDiv if b != 0 => a
            .checked_div_euclid(b)
            .map(|q| if b < 0 && a.rem_euclid(b) != 0 { q - 1 } else { q }),
        BinaryOp::Mod if b > 0 => a.checked_rem_euclid(b),
        BinaryOp::Pow => small.and_then(|b| a.checked_pow(b)),
        BinaryOp::LShift => small.and_then(|b| a.checked_mul(1i128.checked_shl(b)?)),
        BinaryOp::RShift => small.map(|b| a >> b),
        BinaryOp::BitOr => Some(a | b),
        BinaryOp::BitXor => Some(a ^ b),
        BinaryOp::BitAnd => Some(a & b),
        BinaryOp::Div if b != 0 => return Default::Float(a as f64 / b as f64),
        BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod | BinaryOp::MatMul => None,
    };
    result.map_or(Default::Unknown, Default::Int)
}

fn of_floats(op: BinaryOp, a: f64, b: f64) -> Default {
    match op {
        BinaryOp::Add => Default::Float(a + b),
        BinaryOp::Sub => Default::Float(a - b),
        BinaryOp::Mul => Default::Float(a * b),
        BinaryOp::Div if b != 0.0 => Default::Float(a / b),
        BinaryOp::Pow => Default::Float(a.powf(b)),
        BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod | BinaryOp::MatMul => Default::Unknown,
        BinaryOp::LShift | BinaryOp::RShift | BinaryOp::BitOr | BinaryOp::BitXor | BinaryOp::BitAnd => Default::Unknown,
    }
}

fn of_entity(resolver: &Resolver<'_>, origin: ValueRef, entity: &Entity, depth: u32) -> Default {
    match entity {
        Entity::External(name) => of_external(name),
        Entity::Made(name, made) => of_call(resolver, name, *made, depth),
        Entity::Value(v) => match enum_base(resolver, *v) {
            Some(EnumBase::Plain) => Default::Unsupported("Enum"),
            Some(EnumBase::Unknown) => Default::Unknown,
            Some(EnumBase::Mixed) => evaluate(resolver, *v, depth),
            None if *v == origin => Default::Unknown,
            None => evaluate(resolver, *v, depth),
        },
        Entity::Function(_) | Entity::Bound(_) => Default::Unsupported("function"),
        Entity::Class(_) => Default::Unsupported("type"),
        Entity::Module(_) | Entity::Namespace(_) => Default::Unsupported("module"),
        Entity::Instance(_) => Default::Unknown,
    }
}

enum EnumBase {
    Plain,
    /// `IntEnum`, `StrEnum`, `IntFlag`: members are numbers or strings.
    Mixed,
    Unknown,
}

/// The enum that a value in a class body is a member of.
fn enum_base(resolver: &Resolver<'_>, v: ValueRef) -> Option<EnumBase> {
    let facts = resolver.facts(v.at.file);
    if facts.function(v.at.function).kind != FunctionKind::Class {
        return None;
    }
    let class = facts.classes.iter().position(|c| c.body == v.at.function)?;
    let class = crate::link::resolve::ClassRef {
        file: v.at.file,
        class: crate::facts::ClassId(class as u32),
    };
    if resolver.derives_from(class, |b| matches!(b, "enum.IntEnum" | "enum.IntFlag" | "enum.StrEnum")) {
        return Some(EnumBase::Mixed);
    }
    let mixes = resolver.derives_from(class, |b| matches!(b, "builtins.int" | "builtins.str"));
    match resolver.derives_from(class, |b| b.starts_with("enum.")) {
        true if mixes => Some(EnumBase::Unknown),
        true => Some(EnumBase::Plain),
        false => None,
    }
}

fn of_external(name: &str) -> Default {
    if let Some(dtype) = name.strip_prefix("torch.").and_then(dtype) {
        return Default::Dtype(dtype);
    }
    match name {
        "math.inf" | "torch.inf" | "numpy.inf" => Default::Float(f64::INFINITY),
        "math.nan" | "torch.nan" | "numpy.nan" => Default::Float(f64::NAN),
        "math.pi" | "torch.pi" | "numpy.pi" => Default::Float(std::f64::consts::PI),
        "math.e" | "torch.e" | "numpy.e" => Default::Float(std::f64::consts::E),
        "math.tau" => Default::Float(std::f64::consts::TAU),
        "sys.maxsize" => Default::Int(i64::MAX.into()),
        _ => match name.strip_prefix("builtins.") {
            Some("int" | "float" | "bool" | "str" | "list" | "tuple" | "dict" | "type" | "object") => Default::Unsupported("type"),
            Some("print" | "len" | "min" | "max" | "abs" | "sum") => Default::Unsupported("builtin_function_or_method"),
            _ => Default::Unknown,
        },
    }
}

fn of_call(resolver: &Resolver<'_>, callee: &str, made: ValueRef, depth: u32) -> Default {
    let body = resolver.body(made.at);
    let Op::Call(call) = body.op(made.value) else {
        return Default::Unknown;
    };
    let args: Vec<Default> = body
        .call(call)
        .args
        .iter()
        .map(|a| {
            evaluate(
                resolver,
                ValueRef {
                    at: made.at,
                    value: a.value,
                },
                depth,
            )
        })
        .collect();
    match (callee, args.as_slice()) {
        ("builtins.float", [Default::Str(text)]) => python_float(text).map_or(Default::Unknown, Default::Float),
        ("builtins.float" | "numpy.float64", [Default::Float(f)]) => Default::Float(*f),
        ("builtins.float" | "numpy.float64", [Default::Int(i)]) => Default::Float(*i as f64),
        ("builtins.int", [Default::Int(i)]) => Default::Int(*i),
        ("builtins.int", [Default::Float(f)]) if f.abs() < 1e18 => Default::Int(f.trunc() as i128),
        ("builtins.bool", [Default::Bool(b)]) => Default::Bool(*b),
        ("torch.device", [Default::Str(kind)]) => Default::Device(kind.clone()),
        ("torch.device", [Default::Str(kind), Default::Int(index)]) => Default::Device(format!("{kind}:{index}")),
        _ => of_other_call(callee),
    }
}

fn of_other_call(callee: &str) -> Default {
    let last = callee.rsplit('.').next().unwrap_or(callee);
    match callee {
        "builtins.list" | "builtins.dict" | "builtins.set" | "builtins.tuple" | "builtins.object" => Default::Unsupported("object"),
        _ if callee.starts_with("numpy.") && (last.starts_with("int") || last.starts_with("uint") || last == "float32") => {
            Default::Unsupported("numpy scalar")
        }
        "torch.zeros" | "torch.ones" | "torch.empty" | "torch.tensor" | "torch.full" | "torch.arange" => Default::Unsupported("Tensor"),
        _ => Default::Unknown,
    }
}

fn python_float(text: &str) -> Option<f64> {
    match text.trim().to_ascii_lowercase().as_str() {
        "inf" | "+inf" | "infinity" => Some(f64::INFINITY),
        "-inf" | "-infinity" => Some(f64::NEG_INFINITY),
        "nan" => Some(f64::NAN),
        other => other.parse().ok(),
    }
}

/// The name under which torch shows a dtype.
fn dtype(name: &str) -> Option<&'static str> {
    const PLAIN: [&str; 40] = [
        "bfloat16",
        "bit",
        "bits16",
        "bits1x8",
        "bits2x4",
        "bits4x2",
        "bits8",
        "bool",
        "complex128",
        "complex32",
        "complex64",
        "float16",
        "float32",
        "float4_e2m1fn_x2",
        "float64",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
        "int1",
        "int16",
        "int2",
        "int3",
        "int32",
        "int4",
        "int5",
        "int6",
        "int64",
        "int7",
        "int8",
        "qint32",
        "qint8",
        "quint4x2",
        "quint8",
        "uint16",
        "uint32",
        "uint4",
        "uint64",
        "uint8",
    ];
    const ALIASES: [(&str, &str); 9] = [
        ("half", "float16"),
        ("float", "float32"),
        ("double", "float64"),
        ("short", "int16"),
        ("int", "int32"),
        ("long", "int64"),
        ("chalf", "complex32"),
        ("cfloat", "complex64"),
        ("cdouble", "complex128"),
    ];
    let plain = PLAIN.iter().find(|p| **p == name);
    plain.copied().or_else(|| ALIASES.iter().find(|a| a.0 == name).map(|a| a.1))
}

/// Python's `repr` of a float.
pub(super) fn float_repr(f: f64) -> String {
    if f.is_nan() {
        return "nan".into();
    }
    if f.is_infinite() {
        return if f > 0.0 { "inf".into() } else { "-inf".into() };
    }
    let scientific = format!("{f:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = format!("{f}");
        return if plain.contains('.') { plain } else { format!("{plain}.0") };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
