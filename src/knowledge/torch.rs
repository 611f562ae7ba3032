//! What PyTorch's functions and methods write, and what their results share with their arguments.

use rustc_hash::FxHashMap;

/// `torch.toml`, read.
#[derive(Debug, Default)]
pub struct Torch {
    functions: FxHashMap<Box<str>, Effect>,
    methods: FxHashMap<Box<str>, Effect>,
    attributes: FxHashMap<Box<str>, Attribute>,
}

/// What a call does. Overloads are united: a may-property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// Parameter names in order; for methods the first is `self`.
    pub params: Vec<Box<str>>,
    /// Indices of the first keyword-only parameter (equal to `params.len()` when there is none).
    pub keyword_only: u16,
    /// The last positional parameter takes all further positional arguments (`x.view(2, 3)`, `torch.add_n`'s list spread).
    pub variadic: bool,
    /// Indices of the parameters whose memory (or metadata) may be written.
    pub writes: Vec<u16>,
    /// The write is one of metadata only (`t_`, `squeeze_`, `resize_`).
    pub metadata: bool,
    /// The results: one entry for a single result, several for a tuple of known length, none for `None`.
    pub results: Vec<Shares>,
}

/// What a result shares with the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shares {
    /// New memory.
    Fresh,
    /// The memory of these parameters (a view, or the parameter itself).
    View(Vec<u16>),
    /// The memory of these parameters, or a copy of it (`contiguous`, `reshape`, `to`).
    Maybe(Vec<u16>),
    /// A list or tuple of unknown length of views of these parameters (`split`, `unbind`).
    Views(Vec<u16>),
    /// A list of new tensors.
    FreshList,
    /// No tensor.
    Scalar,
}

/// What an attribute of a tensor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// Shares memory (`T`, `data`, `mT`, `real`).
    View,
    /// A number, shape, dtype, device: no tensor.
    Scalar,
    /// Another tensor that belongs to it (`grad`).
    Other,
}

impl Torch {
    /// A function by its qualified name: `torch.add`, `torch.nn.functional.silu`, `torch.ops.aten.add`.
    pub fn function(&self, name: &str) -> Option<&Effect> {
        self.functions.get(name)
    }

    /// A method of `torch.Tensor` by its plain name.
    pub fn method(&self, name: &str) -> Option<&Effect> {
        self.methods.get(name)
    }

    /// An attribute of `torch.Tensor`.
    pub fn attribute(&self, name: &str) -> Option<Attribute> {
        self.attributes.get(name).copied()
    }
}
