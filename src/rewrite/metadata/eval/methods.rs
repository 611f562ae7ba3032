//! Torch functions and methods whose results' metadata can be told.

use super::{Arguments, Dtype, Fun, Meta, Piece, Poly, Val, canonical, dtype_of, is_dtype, numel, rank_of, size_at, sizes, transposed};

/// A method of a tensor.
pub(in crate::rewrite::metadata) fn method(meta: &Meta, name: &str, args: &Arguments) -> Val {
    let same = || Val::Tensor(meta.clone());
    let unknown = || Val::Unknown;
    let of_dtype = |dtypes: Vec<Dtype>| {
        Val::Tensor(Meta {
            shape: meta.shape.clone(),
            dtypes,
        })
    };
    match name {
        "contiguous" | "clone" | "detach" | "cuda" | "cpu" | "requires_grad_" => same(),
        "size" => match args.at(0, "dim") {
            None => meta.shape.clone().map_or(Val::Unknown, Val::Shape),
            Some(Val::Int(n)) => match (&meta.shape, n.as_number()) {
                (Some(shape), Some(n)) => size_at(shape, n),
                _ => unknown(),
            },
            Some(_) => unknown(),
        },
        "dim" | "ndimension" => rank_of(meta),
        "numel" | "nelement" => meta.shape.as_ref().map_or(Val::Unknown, |s| numel(s)),
        "float" | "half" | "double" | "long" | "int" | "short" | "bool" | "bfloat16" => {
            of_dtype(vec![Dtype::Named(canonical(name).to_string())])
        }
        "to" | "type" => match args.at(0, "dtype").map(|v| dtypes(&v)) {
            Some(found) if !found.is_empty() => of_dtype(found),
            _ => match args.at(9, "dtype").map(|v| dtypes(&v)) {
                Some(found) => of_dtype(found),
                // A device, or another tensor.
                None if matches!(args.at(0, "device"), Some(Val::Other) | None) => same(),
                None => of_dtype(Vec::new()),
            },
        },
        "new_empty" | "new_zeros" | "new_ones" | "new_full" => {
            let full = name == "new_full";
            let shape = shape_argument(args, full);
            let own = match args.at(99, "dtype") {
                Some(given) => dtypes(&given),
                None => meta.dtypes.clone(),
            };
            Val::Tensor(Meta { shape, dtypes: own })
        }
        "view" | "reshape" => reshaped(meta, name, args),
        "t" => transposed(meta, &[Val::Int(Poly::number(0)), Val::Int(Poly::number(1))]),
        "transpose" => transposed(
            meta,
            &[
                args.at(0, "dim0").unwrap_or(Val::Unknown),
                args.at(1, "dim1").unwrap_or(Val::Unknown),
            ],
        ),
        "unsqueeze" => match (&meta.shape, args.at(0, "dim")) {
            (Some(shape), Some(Val::Int(n))) => unsqueezed(meta, shape, n.as_number()),
            _ => without_shape(meta),
        },
        "fill_" | "zero_" | "copy_" | "mul_" | "add_" | "sub_" | "div_" | "clamp_" | "uniform_" | "normal_" => same(),
        "squeeze" | "permute" | "flatten" | "expand" | "narrow" | "select" | "expand_as" | "view_as" | "reshape_as" | "repeat" => {
            without_shape(meta)
        }
        _ => unknown(),
    }
}

/// A function by its qualified name; `None`: it is not one of torch's.
pub(in crate::rewrite::metadata) fn function(name: &str, args: &Arguments) -> Option<Val> {
    let last = name.rsplit('.').next().unwrap_or(name);
    let first = || args.at(0, "input").or_else(|| args.at(0, "self")).unwrap_or(Val::Unknown);
    let val = match name {
        "torch.empty" | "torch.zeros" | "torch.ones" | "torch.rand" | "torch.randn" => {
            let dtypes = match args.at(99, "dtype") {
                Some(Val::None) | None => vec![Dtype::Named("float32".to_string())],
                Some(given) => dtypes(&given),
            };
            Val::Tensor(Meta {
                shape: shape_argument(args, false),
                dtypes,
            })
        }
        "torch.full" | "torch.empty_strided" => Val::Tensor(Meta {
            shape: args.at(0, "size").as_ref().and_then(sizes),
            dtypes: match (args.at(99, "dtype"), name) {
                (Some(given), _) => dtypes(&given),
                (None, "torch.empty_strided") => vec![Dtype::Named("float32".to_string())],
                (None, _) => Vec::new(),
            },
        }),
        "torch.empty_like" | "torch.zeros_like" | "torch.ones_like" | "torch.rand_like" | "torch.randn_like" | "torch.full_like" => {
            match first() {
                Val::Tensor(meta) => {
                    let dtypes = match args.at(99, "dtype") {
                        Some(Val::None) | None => meta.dtypes,
                        Some(given) => dtypes(&given),
                    };
                    Val::Tensor(Meta { shape: meta.shape, dtypes })
                }
                _ => Val::Tensor(Meta {
                    shape: None,
                    dtypes: args.at(99, "dtype").map(|d| dtypes(&d)).unwrap_or_default(),
                }),
            }
        }
        "torch.clone" | "torch.detach" => match first() {
            Val::Tensor(meta) => Val::Tensor(meta),
            _ => Val::Unknown,
        },
        "math.prod" => match args.at(0, "iterable").as_ref().and_then(sizes) {
            Some(pieces) => numel(&pieces),
            None => Val::Unknown,
        },
        "len" => match args.at(0, "") {
            Some(Val::Items(items)) => Val::Int(Poly::number(items.len() as i64)),
            Some(Val::Tensor(meta)) => meta.shape.map_or(Val::Unknown, |s| size_at(&s, 0)),
            Some(Val::Shape(pieces)) => rank_of(&Meta {
                shape: Some(pieces),
                dtypes: Vec::new(),
            }),
            _ => Val::Unknown,
        },
        "int" | "list" | "tuple" | "torch.Size" => args.at(0, "").unwrap_or(Val::Unknown),
        "min" | "max" => {
            let numbers: Option<Vec<Poly>> = args
                .positional
                .iter()
                .map(|v| if let Val::Int(n) = v { Some(n.clone()) } else { None })
                .collect();
            match numbers {
                Some(numbers) if numbers.len() > 1 && !args.starred => {
                    Val::Int(Poly::of(if name == "min" { Fun::Min } else { Fun::Max }, numbers))
                }
                _ => Val::Unknown,
            }
        }
        _ if name.starts_with("triton.") && matches!(last, "cdiv" | "next_power_of_2") => match (args.at(0, "x"), args.at(1, "y")) {
            (Some(Val::Int(a)), Some(Val::Int(b))) if last == "cdiv" => cdiv(&a, &b).map_or(Val::Unknown, Val::Int),
            (Some(Val::Int(a)), _) if last == "next_power_of_2" => Val::Int(Poly::of(Fun::PowerOfTwo, vec![a])),
            _ => Val::Unknown,
        },
        _ if name.starts_with("torch.") => match torch_dtype_call(name) {
            Some(dtype) => Val::Dtype(dtype),
            None => Val::Unknown,
        },
        _ => return None,
    };
    Some(val)
}

fn torch_dtype_call(name: &str) -> Option<Dtype> {
    let dtype = name.strip_prefix("torch.")?;
    is_dtype(dtype).then(|| Dtype::Named(canonical(dtype).to_string()))
}

fn cdiv(a: &Poly, b: &Poly) -> Option<Poly> {
    let raised = a.add(b, 1)?.add(&Poly::number(1), -1)?;
    Some(Poly::of(Fun::FloorDiv, vec![raised, b.clone()]))
}

/// The dtypes that a value may be; empty when not known.
fn dtypes(val: &Val) -> Vec<Dtype> {
    match val {
        Val::Dtype(dtype) => vec![dtype.clone()],
        Val::OneOf(vals) => {
            let each: Vec<Vec<Dtype>> = vals.iter().filter(|v| **v != Val::None).map(dtypes).collect();
            if each.iter().any(Vec::is_empty) {
                Vec::new()
            } else {
                each.concat()
            }
        }
        Val::Tensor(meta) => match dtype_of(meta) {
            Val::Dtype(dtype) => vec![dtype],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// `empty(a, b)`, `empty((a, b))`, `empty(size=…)`, `new_full(size, value)`.
fn shape_argument(args: &Arguments, one: bool) -> Option<Vec<Piece>> {
    if args.starred {
        return None;
    }
    let first = args.at(0, "size")?;
    if let Some(pieces) = sizes(&first) {
        return Some(pieces);
    }
    if one || !matches!(first, Val::Int(_) | Val::Unknown) {
        return None;
    }
    // A single unknown may be a whole shape.
    if args.positional.len() == 1 && first == Val::Unknown {
        return None;
    }
    sizes(&Val::Items(args.positional.clone()))
}

fn without_shape(meta: &Meta) -> Val {
    Val::Tensor(Meta {
        shape: None,
        dtypes: meta.dtypes.clone(),
    })
}

fn unsqueezed(meta: &Meta, shape: &[Piece], at: Option<i64>) -> Val {
    let mut shape = shape.to_vec();
    match at {
        Some(0) => shape.insert(0, Piece::One(Some(Poly::number(1)))),
        Some(-1) => shape.push(Piece::One(Some(Poly::number(1)))),
        _ => return without_shape(meta),
    }
    Val::Tensor(Meta {
        shape: Some(shape),
        dtypes: meta.dtypes.clone(),
    })
}

fn reshaped(meta: &Meta, name: &str, args: &Arguments) -> Val {
    if name == "view" && args.positional.len() == 1 {
        let found = dtypes(&args.positional[0]);
        let is_dtype = matches!(&args.positional[0], Val::Dtype(_))
            || matches!(&args.positional[0], Val::OneOf(v) if v.iter().any(|v| matches!(v, Val::Dtype(_))));
        if is_dtype {
            return Val::Tensor(Meta {
                shape: None,
                dtypes: found,
            });
        }
    }
    let Some(pieces) = shape_argument(args, false) else {
        return without_shape(meta);
    };
    let minus = Poly::number(-1);
    let pieces = pieces
        .into_iter()
        .map(|piece| match piece {
            Piece::One(Some(n)) if n == minus => Piece::One(None),
            piece => piece,
        })
        .collect();
    Val::Tensor(Meta {
        shape: Some(pieces),
        dtypes: meta.dtypes.clone(),
    })
}
