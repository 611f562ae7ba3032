//! What the names of `triton.language` do to the addresses that they are given.
//!
//! `triton.toml` maps an effect, written as a signature, to the names that have it: `"(pointer!)" = "store"`. Its head has the grammar.

use super::error::Error;
use super::frameworks::Checked;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::collections::BTreeMap;

const LANGUAGE: &str = "triton.language.";
const GLUON: &str = "triton.experimental.gluon.language.";

/// `triton.toml`, read.
#[derive(Clone, Debug, Default)]
pub struct Triton {
    effects: Vec<Effect>,
    language: Table,
    gluon: Table,
    methods: Table,
    elsewhere: Table,
    /// (what stands before a name, what it stands for)
    same: Vec<(Box<str>, Box<str>)>,
    pure_prefixes: Vec<Box<str>>,
}

/// Name → index into the effects.
type Table = FxHashMap<Box<str>, u32>;

/// What a call does to the addresses in its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// Parameter names in order, up to the last that matters; for methods the first is `self`.
    pub params: Vec<Box<str>>,
    /// The last parameter takes all further positional (`*args`) arguments.
    pub variadic: bool,
    /// The last parameter takes all further keyword (`**changes`) arguments.
    pub keywords: bool,
    /// Indices of the parameters whose memory is read.
    pub reads: Vec<u16>,
    /// Indices of the parameters whose memory is written.
    pub writes: Vec<u16>,
    /// Indices of the parameters that are called with what the others hold.
    pub calls: Vec<u16>,
    /// The result.
    pub result: Derived,
}

/// What the result of a call is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Derived {
    /// No address of an argument.
    #[default]
    Value,
    /// It may be an address derived from these parameters.
    From(Vec<u16>),
    /// A descriptor or block pointer over these parameters.
    Descriptor(Vec<u16>),
    /// What assembly text computes.
    Assembly,
}

impl Effect {
    /// Index of a parameter by name.
    pub fn param(&self, name: &str) -> Option<u16> {
        self.params.iter().position(|p| **p == *name).map(|i| i as u16)
    }

    /// The effect as a signature, as the file has it.
    pub fn text(&self) -> String {
        let param = |(i, name): (usize, &str)| {
            let (index, last) = (i as u16, i + 1 == self.params.len());
            let stars = if last && self.keywords {
                "**"
            } else if last && self.variadic {
                "*"
            } else {
                ""
            };
            let mark = |marked: &[u16], mark| if marked.contains(&index) { mark } else { "" };
            format!(
                "{stars}{name}{}{}{}",
                mark(&self.reads, "?"),
                mark(&self.writes, "!"),
                mark(&self.calls, "()")
            )
        };
        let params: Vec<String> = self.params.iter().map(|p| &**p).enumerate().map(param).collect();
        let names = |sources: &[u16]| sources.iter().map(|&i| &*self.params[i as usize]).collect::<Vec<_>>().join(", ");
        let result = match &self.result {
            Derived::Value if self.params.is_empty() => return "(…): no address is read, written or handed on".into(),
            Derived::Value => String::new(),
            Derived::From(sources) => format!(" -> {}", names(sources)),
            Derived::Descriptor(sources) => format!(" -> descriptor {}", names(sources)),
            Derived::Assembly => " -> assembly".into(),
        };
        format!("({}){result}", params.join(", "))
    }

    fn read(text: &str) -> Result<Self, String> {
        let (params, result) = match text.split_once("->") {
            Some((params, result)) => (params.trim(), result.trim()),
            None => (text, ""),
        };
        let inner = params
            .strip_prefix('(')
            .and_then(|p| p.strip_suffix(')'))
            .ok_or("an effect begins with parameters in brackets")?;
        let mut effect = Self::default();
        for (i, word) in inner.split(',').map(str::trim).filter(|w| !w.is_empty()).enumerate() {
            let index = i as u16;
            let name = word.trim_end_matches(['?', '!', '(', ')']);
            let marks = &word[name.len()..];
            if marks.contains('?') {
                effect.reads.push(index);
            }
            if marks.contains('!') {
                effect.writes.push(index);
            }
            if marks.contains("()") {
                effect.calls.push(index);
            }
            effect.keywords |= name.starts_with("**");
            effect.variadic |= name.starts_with('*') && !name.starts_with("**");
            effect.params.push(name.trim_start_matches('*').into());
        }
        effect.result = effect.derived(result)?;
        Ok(effect)
    }

    fn derived(&self, text: &str) -> Result<Derived, String> {
        if text.is_empty() {
            return Ok(Derived::Value);
        }
        if text == "assembly" {
            return Ok(Derived::Assembly);
        }
        let (descriptor, names) = match text.strip_prefix("descriptor ") {
            Some(names) => (true, names),
            None => (false, text),
        };
        let sources = names
            .split(',')
            .map(str::trim)
            .map(|n| self.param(n).ok_or_else(|| format!("`{n}` is no parameter")));
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        Ok(if descriptor {
            Derived::Descriptor(sources)
        } else {
            Derived::From(sources)
        })
    }
}

impl Triton {
    /// Reads `triton.toml`.
    pub(super) fn read(file: &str, text: &str) -> Result<Self, Error> {
        let written: Written = toml::from_str(text).map_err(|e| Error::toml(file, text, &e))?;
        let mut triton = Self {
            effects: vec![Effect::default()],
            ..Self::default()
        };
        triton.same = written.same.into_iter().collect();
        triton.pure_prefixes = written.pure_prefixes;
        triton.language = triton.table(file, "language", &written.language)?;
        triton.gluon = triton.table(file, "gluon", &written.gluon)?;
        triton.methods = triton.table(file, "method", &written.method)?;
        triton.elsewhere = triton.table(file, "elsewhere", &written.elsewhere)?;
        Ok(triton)
    }

    fn table(&mut self, file: &str, key: &str, section: &Section) -> Result<Table, Error> {
        let mut table = Table::default();
        let listed = [&section.pure, &section.types, &section.modules];
        for name in listed.into_iter().flat_map(|names| names.split_whitespace()) {
            if table.insert(name.into(), 0).is_some() {
                return Err(Error::new(file, key, &format!("`{name}` stands twice")));
            }
        }
        for (signature, names) in &section.effects {
            let effect = Effect::read(signature).map_err(|e| Error::new(file, &format!("{key}.effects.\"{signature}\""), &e))?;
            let index = self.effects.len() as u32;
            self.effects.push(effect);
            for name in names.split_whitespace() {
                if table.insert(name.into(), index).is_some() {
                    return Err(Error::new(file, key, &format!("`{name}` stands twice")));
                }
            }
        }
        for name in section.other_versions.keys() {
            if !table.contains_key(&**name) {
                return Err(Error::new(
                    file,
                    &format!("{key}.other_versions"),
                    &format!("`{name}` has no effect"),
                ));
            }
        }
        Ok(table)
    }

    /// What a function does, by its full dotted name. `None`: it is not known.
    pub fn function(&self, name: &str) -> Option<&Effect> {
        for (prefix, stands_for) in &self.same {
            if let Some(rest) = name.strip_prefix(&**prefix)
                && let Some(effect) = self.listed(&format!("{stands_for}{rest}"))
            {
                return Some(effect);
            }
        }
        let pure = || self.pure_prefixes.iter().any(|p| name.starts_with(&**p)).then(|| &self.effects[0]);
        self.listed(name).or_else(pure)
    }

    fn listed(&self, name: &str) -> Option<&Effect> {
        let index = if let Some(name) = name.strip_prefix(LANGUAGE) {
            self.language.get(name)
        } else if let Some(mut tail) = name.strip_prefix(GLUON) {
            loop {
                match (self.gluon.get(tail), tail.split_once('.')) {
                    (Some(index), _) => break Some(index),
                    (None, Some((_, shorter))) => tail = shorter,
                    (None, None) => break None,
                }
            }
        } else {
            self.elsewhere.get(name)
        };
        index.map(|&i| &self.effects[i as usize])
    }

    /// What a method or attribute does, by its plain name; `self` is the first parameter.
    pub fn method(&self, name: &str) -> Option<&Effect> {
        self.methods.get(name).map(|&i| &self.effects[i as usize])
    }

    /// Whether a plain name is that of a function which makes descriptors or block pointers.
    pub fn makes_descriptor(&self, name: &str) -> Option<&Effect> {
        let effect = |table: &Table| table.get(name).map(|&i| i as usize);
        let found = effect(&self.language).or_else(|| effect(&self.gluon))?;
        Some(&self.effects[found]).filter(|e| matches!(e.result, Derived::Descriptor(_)))
    }

    /// Names of all tables as (table, name), sorted: what a test holds against the checked version.
    pub fn names(&self) -> Vec<(&'static str, &str)> {
        let tables = [("language", &self.language), ("gluon", &self.gluon), ("method", &self.methods)];
        let mut names: Vec<_> = tables
            .into_iter()
            .flat_map(|(table, names)| names.keys().map(move |n| (table, &**n)))
            .collect();
        names.sort_unstable();
        names
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(rename = "checked")]
    _checked: Checked,
    pure_prefixes: Vec<Box<str>>,
    same: BTreeMap<Box<str>, Box<str>>,
    language: Section,
    gluon: Section,
    method: Section,
    elsewhere: Section,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Section {
    effects: BTreeMap<String, String>,
    pure: String,
    types: String,
    modules: String,
    other_versions: BTreeMap<String, String>,
}
