//! New names that nothing else has: ops, private functions, the library object.

use crate::facts::Facts;
use crate::knowledge::Knowledge;
use crate::program::{Func, Program};
use crate::source::FileId;
use std::collections::{BTreeMap, BTreeSet};

/// Op names of a project: those that exist, and those that its launchers would take.
#[derive(Debug, Default)]
pub(super) struct OpNames {
    /// `ns::name` of registered ops.
    taken: BTreeSet<String>,
    /// Plain name → functions of interest with that plain name, as file and name. A function that a fix has turned
    /// into `_f_impl` counts as `f`, so that a name is the same in every round.
    wanted: BTreeMap<String, BTreeSet<(FileId, String)>>,
}

/// Names for one launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    /// The op, without the namespace.
    pub(super) op: String,
    /// What private functions are named after.
    pub(super) stem: String,
}

impl OpNames {
    pub(super) fn new(program: &Program, knowledge: &Knowledge) -> Self {
        let mut names = Self::default();
        names
            .taken
            .extend(program.ops.iter().filter(|op| !op.disabled).map(|op| op.name.clone()));
        let schemas = knowledge.frameworks.iter().flat_map(|f| &f.schemas);
        names
            .taken
            .extend(schemas.map(|s| s.split('(').next().unwrap_or_default().trim().to_string()));
        for func in program.functions.iter().filter(|f| f.inline.is_none()) {
            let name = program.function_name(func.function);
            names
                .wanted
                .entry(plain(name).to_string())
                .or_default()
                .insert((func.function.file, name.to_string()));
        }
        names
    }

    /// The names of a launcher's op.
    pub(super) fn choose(&self, program: &Program, func: &Func, namespace: &str) -> Chosen {
        let file = func.function.file;
        let own = program.function_name(func.function);
        let rivals = || {
            self.wanted
                .get(plain(own))
                .into_iter()
                .flatten()
                .filter(|(f, name)| (*f, name.as_str()) != (file, own))
        };
        let stem = if rivals().any(|(f, _)| *f == file) { own } else { plain(own) }.to_string();
        if rivals().all(|(f, _)| *f == file) && self.is_free(namespace, &stem) {
            return Chosen { op: stem.clone(), stem };
        }
        let parts = path_parts(program, file);
        let distinct = (1..=parts.len())
            .map(|count| (count, derived(&parts, count, &stem)))
            .find(|(count, long)| {
                let shared = rivals().any(|(f, name)| *f != file && derived(&path_parts(program, *f), *count, plain(name)) == *long);
                let wanted = *long != stem && self.wanted.contains_key(long);
                !shared && !wanted && self.is_free(namespace, long)
            });
        let op = distinct.map_or_else(|| format!("{}_{}", derived(&parts, parts.len(), &stem), file.0), |(_, long)| long);
        Chosen { op, stem }
    }

    fn is_free(&self, namespace: &str, name: &str) -> bool {
        !matches!(name, "name" | "default" | "") && !self.taken.contains(&format!("{namespace}::{name}"))
    }
}

fn path_parts(program: &Program, file: FileId) -> Vec<&str> {
    program.file(file).module.split('.').filter(|part| !part.is_empty()).collect()
}

/// The last parts of the module path in front of a name; a part that the name begins with says nothing new.
fn derived(parts: &[&str], count: usize, name: &str) -> String {
    let from = parts.len().saturating_sub(count);
    let mut all: Vec<&str> = parts[from..]
        .iter()
        .map(|p| p.trim_matches('_'))
        .filter(|p| !p.is_empty())
        .collect();
    if all.last() == Some(&name) {
        all.pop();
    }
    all.push(name);
    all.join("_")
}

/// A function's name without what marks it as private.
pub(super) fn plain(name: &str) -> &str {
    let trimmed = name.trim_start_matches('_');
    let base = trimmed.strip_suffix("_impl").filter(|_| name.starts_with('_')).unwrap_or(trimmed);
    if base.is_empty() { name } else { base }
}

/// A private name that occurs nowhere in the file: `_{name}_{role}`, if need be with a number.
pub(super) fn private(facts: &Facts, name: &str, role: &str) -> String {
    unused(facts, &format!("_{name}_{role}"))
}

/// The name itself, or with the first free number, such that it occurs nowhere in the file.
pub(super) fn unused(facts: &Facts, name: &str) -> String {
    let used = |name: &str| facts.names.iter().any(|n| &**n == name);
    if !used(name) {
        return name.to_string();
    }
    let numbered = (2..).map(|i| format!("{name}_{i}")).find(|n| !used(n));
    numbered.expect("a file has fewer names than there are numbers")
}

/// A text as a namespace of ops.
pub(super) fn identifier(text: &str) -> String {
    let mut name: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || matches!(name.as_str(), "prim" | "aten") {
        name.insert_str(0, "ops_");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_function_keeps_its_plain_name() {
        assert_eq!(plain("_scale_impl"), "scale");
        assert_eq!(plain("_scale"), "scale");
        assert_eq!(plain("attention_impl"), "attention_impl");
        assert_eq!(derived(&["pkg", "ops", "norm"], 1, "rms"), "norm_rms");
        assert_eq!(derived(&["pkg", "ops", "rms"], 2, "rms"), "ops_rms");
    }
}
