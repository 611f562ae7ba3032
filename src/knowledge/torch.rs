//! What PyTorch's functions and methods write, and what their results share with their arguments.
//!
//! `torch.toml` maps an effect, written as a signature, to the names that have it:
//! `"(input!, inplace?) -> fresh; view input" = "nn.functional.relu …"`. [`Effect::read`] has the grammar.

use super::error::Error;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;
use std::collections::BTreeMap;

/// `torch.toml`, read.
#[derive(Clone, Debug, Default)]
pub struct Torch {
    effects: Vec<Effect>,
    functions: FxHashMap<Box<str>, u32>,
    methods: FxHashMap<Box<str>, u32>,
    aten: FxHashMap<Box<str>, u32>,
    ops: FxHashMap<Box<str>, u32>,
    attributes: FxHashMap<Box<str>, Attribute>,
    in_place: Option<InPlace>,
}

/// What a call does. Overloads are united: a may-property.
///
/// Parameters on which nothing depends may be left out (`torch.add` has `out` only): further arguments are read and no more.
/// A parameter that a call does not pass, or passes as `None`, is neither written nor shared: `View([out])` is then new memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// Parameter names in order; for methods the first is `self`.
    pub params: Vec<Box<str>>,
    /// Index of the first keyword-only parameter (equal to `params.len()` when there is none).
    pub keyword_only: u16,
    /// The last positional parameter takes all further positional arguments (`torch.atleast_1d(a, b)`).
    pub variadic: bool,
    /// Indices of the parameters whose memory (or metadata) may be written.
    pub writes: Vec<u16>,
    /// The write is one of metadata only (`t_`, `squeeze_`, `resize_`).
    pub metadata: bool,
    /// The results: one entry for a single result, several for a tuple of known length, none for `None`.
    pub results: Vec<Shares>,
    /// A parameter that changes the effect when it is passed and is neither `None` nor `False` (`inplace` of `relu`, `dim` of `max`).
    pub flag: Option<u16>,
    /// The results when that flag is set; equal to `results` when there is no flag.
    pub flagged: Vec<Shares>,
    /// Those of `writes` that happen only when the flag is set.
    pub conditional: Vec<u16>,
    /// A parameter that, when passed and true, makes the result a copy (`copy` of `to`).
    pub copies: Option<u16>,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attribute {
    /// Shares memory (`T`, `data`, `mT`, `real`).
    View,
    /// A number, shape, dtype, device: no tensor.
    Scalar,
    /// Another tensor that belongs to it (`grad`).
    Other,
}

/// Effects of names that end in one underscore.
#[derive(Clone, Debug)]
struct InPlace {
    method: Effect,
    metadata: Effect,
    function: Effect,
    foreach: Effect,
    metadata_names: FxHashSet<Box<str>>,
}

/// The file as written. Tables map an effect to its names, separated by white space.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Tables {
    checked: super::frameworks::Checked,
    /// Methods of `torch.Tensor`.
    tensor: BTreeMap<String, String>,
    /// Functions, without `torch.` in front.
    torch: BTreeMap<String, String>,
    /// `torch.ops.aten` where it differs from both, or has no other name.
    aten: BTreeMap<String, String>,
    /// Other namespaces of `torch.ops`: `namespace.name`.
    ops: BTreeMap<String, String>,
    /// Attributes of `torch.Tensor`.
    attribute: BTreeMap<Attribute, String>,
    /// A trailing underscore means in place; these change metadata only.
    in_place_metadata: String,
}

impl Attribute {
    /// The word of the file.
    pub fn text(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Scalar => "scalar",
            Self::Other => "other",
        }
    }
}

impl Torch {
    /// Reads a file with the layout of `torch.toml`.
    pub(super) fn read(file: &str, text: &str) -> Result<Self, Error> {
        let tables: Tables = toml::from_str(text).map_err(|e| Error::toml(file, text, &e))?;
        let mut torch = Self::default();
        let effects = &mut torch.effects;
        torch.methods = read_table(file, "tensor", &tables.tensor, effects)?;
        torch.functions = read_table(file, "torch", &tables.torch, effects)?;
        torch.aten = read_table(file, "aten", &tables.aten, effects)?;
        torch.ops = read_table(file, "ops", &tables.ops, effects)?;
        for (attribute, names) in &tables.attribute {
            torch.attributes.extend(names.split_whitespace().map(|n| (n.into(), *attribute)));
        }
        let pattern = |text: &str| Effect::read(text).map_err(|m| Error::new(file, "in-place-metadata", &m));
        torch.in_place = Some(InPlace {
            method: pattern("(self!) -> view self")?,
            metadata: pattern("(self~) -> view self")?,
            function: pattern("(input!) -> view input")?,
            foreach: pattern("(self!) -> ()")?,
            metadata_names: tables.in_place_metadata.split_whitespace().map(Box::from).collect(),
        });
        Ok(torch)
    }

    /// A function by its qualified name: `torch.add`, `torch.nn.functional.silu`, `torch.ops.aten.add.Tensor`, `torch.Tensor.add`.
    pub fn function(&self, name: &str) -> Option<&Effect> {
        let name = name.strip_prefix("torch.")?;
        let name = name.strip_prefix("functional.").unwrap_or(name);
        if let Some(method) = name.strip_prefix("Tensor.") {
            return self.method(method);
        }
        if let Some(op) = name.strip_prefix("ops.") {
            return self.op(op);
        }
        if let Some(&effect) = self.functions.get(name) {
            return self.effects.get(effect as usize);
        }
        let in_place = self.in_place_function(name.rsplit('.').next().unwrap_or(name));
        in_place.or_else(|| self.of_device_module(name))
    }

    /// Other devices' modules are made after `torch.cuda`.
    fn of_device_module(&self, name: &str) -> Option<&Effect> {
        let (module, member) = name.split_once('.')?;
        let like_cuda = matches!(module, "npu" | "musa" | "hpu" | "mlu" | "xpu" | "mtia");
        let effect = self.functions.get(&*format!("cuda.{member}")).filter(|_| like_cuda)?;
        self.effects.get(*effect as usize)
    }

    /// A method of `torch.Tensor` by its plain name.
    pub fn method(&self, name: &str) -> Option<&Effect> {
        if let Some(&effect) = self.methods.get(name) {
            return self.effects.get(effect as usize);
        }
        let in_place = self.in_place.as_ref().filter(|_| is_in_place(name))?;
        Some(if in_place.metadata_names.contains(name) {
            &in_place.metadata
        } else {
            &in_place.method
        })
    }

    /// An attribute of `torch.Tensor`.
    pub fn attribute(&self, name: &str) -> Option<Attribute> {
        self.attributes.get(name).copied()
    }

    /// `namespace.name[.overload]` of `torch.ops`.
    fn op(&self, op: &str) -> Option<&Effect> {
        let (namespace, rest) = op.split_once('.')?;
        let name = rest.split('.').next().unwrap_or(rest);
        if namespace != "aten" {
            let effect = self.ops.get(&op[..namespace.len() + 1 + name.len()])?;
            return self.effects.get(*effect as usize);
        }
        let tables = [&self.aten, &self.functions, &self.methods];
        match tables.iter().find_map(|t| t.get(name)) {
            Some(&effect) => self.effects.get(effect as usize),
            None => self.in_place_function(name).map(|e| self.metadata_or(name, e)),
        }
    }

    fn metadata_or<'a>(&'a self, name: &str, effect: &'a Effect) -> &'a Effect {
        let metadata = self.in_place.as_ref().filter(|p| p.metadata_names.contains(name));
        metadata.map_or(effect, |p| &p.metadata)
    }

    fn in_place_function(&self, name: &str) -> Option<&Effect> {
        let in_place = self.in_place.as_ref().filter(|_| is_in_place(name))?;
        Some(if name.starts_with("_foreach_") {
            &in_place.foreach
        } else {
            &in_place.function
        })
    }
}

/// The naming convention: `add_` works in place; `__len__`, `_` and `and__` do not follow it.
fn is_in_place(name: &str) -> bool {
    name.ends_with('_') && !name.ends_with("__") && name.len() > 1
}

fn read_table(
    file: &str,
    table: &str,
    rows: &BTreeMap<String, String>,
    effects: &mut Vec<Effect>,
) -> Result<FxHashMap<Box<str>, u32>, Error> {
    let mut names: FxHashMap<Box<str>, u32> = FxHashMap::default();
    for (signature, members) in rows {
        let effect = Effect::read(signature).map_err(|m| Error::new(file, &format!("{table}.\"{signature}\""), &m))?;
        let index = effects.len() as u32;
        effects.push(effect);
        for name in members.split_whitespace() {
            if names.insert(name.into(), index).is_some() {
                return Err(Error::new(
                    file,
                    &format!("{table}.\"{signature}\""),
                    &format!("`{name}` has two effects"),
                ));
            }
        }
    }
    Ok(names)
}

impl Effect {
    /// Reads `(PARAMS) -> RESULTS[; RESULTS when the flag is true]`.
    ///
    /// `PARAMS`: names separated by commas, `*` before the first keyword-only one, `*name` for one that takes all further
    /// arguments. Marks behind a name: `!` written, `~` metadata written, `!?` written when the flag is set, `?` the flag, `^` makes
    /// the result a copy.
    /// `RESULTS`: `()` or, separated by commas, `fresh`, `list` (of new tensors), `scalar`, `view NAME…`, `maybe NAME…`, `views NAME…`.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let inside = text.strip_prefix('(').ok_or("an effect starts with `(`")?;
        let (params, results) = inside.split_once(") -> ").ok_or("an effect has `) -> ` before its results")?;
        let mut effect = Effect::default();
        let mut keyword_only = None;
        for param in params.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            if param == "*" {
                keyword_only = Some(effect.params.len() as u16);
            } else {
                effect.read_param(param)?;
                if param.starts_with('*') {
                    keyword_only = Some(effect.params.len() as u16);
                }
            }
        }
        effect.keyword_only = keyword_only.unwrap_or(effect.params.len() as u16);
        let (results, flagged) = results.split_once("; ").unwrap_or((results, ""));
        effect.results = effect.read_results(results)?;
        effect.flagged = if flagged.is_empty() {
            effect.results.clone()
        } else {
            effect.read_results(flagged)?
        };
        Ok(effect)
    }

    fn read_param(&mut self, text: &str) -> Result<(), String> {
        let index = self.params.len() as u16;
        let name = text.trim_end_matches(['!', '~', '?', '^']);
        match &text[name.len()..] {
            "" => {}
            "?" => self.flag = Some(index),
            "^" => self.copies = Some(index),
            mark @ ("!" | "~" | "!?") => {
                self.writes.push(index);
                self.metadata |= mark == "~";
                if mark == "!?" {
                    self.conditional.push(index);
                }
            }
            mark => return Err(format!("`{mark}` behind `{name}` is no mark")),
        }
        let plain = name.strip_prefix('*').unwrap_or(name);
        self.variadic |= plain.len() < name.len();
        if plain.is_empty() || !plain.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return Err(format!("`{text}` is no parameter"));
        }
        self.params.push(plain.into());
        Ok(())
    }

    fn read_results(&self, text: &str) -> Result<Vec<Shares>, String> {
        if text == "()" {
            return Ok(Vec::new());
        }
        text.split(", ").map(|result| self.read_result(result)).collect()
    }

    fn read_result(&self, text: &str) -> Result<Shares, String> {
        let mut words = text.split(' ');
        let kind = words.next().unwrap_or_default();
        let params: Vec<u16> = words.map(|word| self.index_of(word)).collect::<Result<_, _>>()?;
        match (kind, params.is_empty()) {
            ("fresh", true) => Ok(Shares::Fresh),
            ("list", true) => Ok(Shares::FreshList),
            ("scalar", true) => Ok(Shares::Scalar),
            ("view", false) => Ok(Shares::View(params)),
            ("maybe", false) => Ok(Shares::Maybe(params)),
            ("views", false) => Ok(Shares::Views(params)),
            _ => Err(format!(
                "`{text}` is no result: fresh, list, scalar, or view, maybe, views with parameters"
            )),
        }
    }

    fn index_of(&self, name: &str) -> Result<u16, String> {
        let found = self.params.iter().position(|p| &**p == name);
        found
            .map(|i| i as u16)
            .ok_or_else(|| format!("`{name}` is no parameter of this effect"))
    }

    /// The effect as [`Effect::read`] takes it.
    pub fn text(&self) -> String {
        let mut params: Vec<String> = Vec::new();
        for (index, name) in (0u16..).zip(&self.params) {
            let last_positional = index + 1 == self.keyword_only;
            if index == self.keyword_only && !self.variadic {
                params.push("*".into());
            }
            let star = if self.variadic && last_positional { "*" } else { "" };
            let mark = match () {
                () if self.conditional.contains(&index) => "!?",
                () if self.writes.contains(&index) && self.metadata => "~",
                () if self.writes.contains(&index) => "!",
                () if self.flag == Some(index) => "?",
                () if self.copies == Some(index) => "^",
                () => "",
            };
            params.push(format!("{star}{name}{mark}"));
        }
        let flagged = if self.flagged == self.results {
            String::new()
        } else {
            format!("; {}", self.results_text(&self.flagged))
        };
        format!("({}) -> {}{flagged}", params.join(", "), self.results_text(&self.results))
    }

    fn results_text(&self, results: &[Shares]) -> String {
        let names = |kind: &str, params: &[u16]| {
            let names: Vec<&str> = params.iter().filter_map(|&p| self.params.get(p as usize)).map(|p| &**p).collect();
            format!("{kind} {}", names.join(" "))
        };
        let texts: Vec<String> = results
            .iter()
            .map(|result| match result {
                Shares::Fresh => "fresh".into(),
                Shares::FreshList => "list".into(),
                Shares::Scalar => "scalar".into(),
                Shares::View(params) => names("view", params),
                Shares::Maybe(params) => names("maybe", params),
                Shares::Views(params) => names("views", params),
            })
            .collect();
        if texts.is_empty() { "()".into() } else { texts.join(", ") }
    }
}
