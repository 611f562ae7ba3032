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
    /// Names that two methods or closures of one file would take.
    doubled: BTreeSet<(FileId, String)>,
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
        for func in &program.functions {
            let name = match func.inline {
                None => program.function_name(func.function).to_string(),
                Some(_) => super::outline::stem(program, func),
            };
            let wanted = names.wanted.entry(plain(&name).to_string()).or_default();
            let own = (func.function.file, name);
            if func.inline.is_some() && !wanted.insert(own.clone()) {
                names.doubled.insert(own);
            } else {
                wanted.insert(own);
            }
        }
        names
    }

    /// Two methods or closures of the file would take this name.
    pub(super) fn is_doubled(&self, file: FileId, name: &str) -> bool {
        self.doubled.contains(&(file, name.to_string()))
    }

    /// The names of a launcher's op.
    pub(super) fn choose(&self, program: &Program, func: &Func, namespace: &str) -> Chosen {
        self.choose_as(program, func.function.file, program.function_name(func.function), namespace)
    }

    /// The names of an op that is named after something in a file.
    pub(super) fn choose_as(&self, program: &Program, file: FileId, own: &str, namespace: &str) -> Chosen {
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
        let group: Vec<(FileId, &str)> = rivals().map(|(f, name)| (*f, plain(name))).filter(|(f, _)| *f != file).collect();
        let paths: Vec<Vec<&str>> = group
            .iter()
            .map(|(f, _)| path_parts(program, *f))
            .chain([path_parts(program, file)])
            .collect();
        let own = paths.len() - 1;
        // The one that stands highest keeps the plain name.
        let highest = highest(&paths);
        if highest == Some(own) && self.is_free(namespace, &stem) {
            return Chosen { op: stem.clone(), stem };
        }
        let distinct = (0..=paths[own].len())
            .filter_map(|length| longer(&paths, own, length, &stem))
            .find(|long| {
                let takes =
                    |i: usize, name: &str| (0..=paths[i].len()).any(|length| longer(&paths, i, length, name).as_ref() == Some(long));
                let shared = group.iter().enumerate().any(|(i, (_, name))| takes(i, name));
                let wanted = *long != stem && self.wanted.contains_key(long);
                let plain = highest.is_some() && *long == stem;
                !shared && !wanted && !plain && self.is_free(namespace, long)
            });
        let op = distinct.unwrap_or_else(|| format!("{}_{}", derived(&paths[own], &stem), file.0));
        Chosen { op, stem }
    }

    /// The names of one of several ops that a launcher is taken apart into: after what tells it from the others.
    pub(super) fn part(&self, whole: &Chosen, part: &str, namespace: &str, taken: &[String]) -> Chosen {
        let joined = |name: &str| joined(name, part);
        let (op, stem) = (joined(&whole.op), joined(&whole.stem));
        let own = |name: &str| name == whole.op || !self.wanted.contains_key(name);
        let free = |name: &str| !taken.iter().any(|t| t == name) && own(name) && self.is_free(namespace, name);
        if free(&op) {
            return Chosen { op, stem };
        }
        let number = (2..)
            .find(|i| free(&format!("{op}_{i}")))
            .expect("there are fewer ops than numbers");
        Chosen {
            op: format!("{op}_{number}"),
            stem: format!("{stem}_{number}"),
        }
    }

    fn is_free(&self, namespace: &str, name: &str) -> bool {
        !matches!(name, "name" | "default" | "") && !self.taken.contains(&format!("{namespace}::{name}"))
    }
}

/// A name with what tells a part from others: words that both begin with stand once.
fn joined(name: &str, part: &str) -> String {
    if part == name || part.strip_prefix(name).is_some_and(|rest| rest.starts_with('_')) {
        return part.to_string();
    }
    let same = name.split('_').zip(part.split('_')).take_while(|(a, b)| a == b).count();
    let rest: Vec<&str> = part.split('_').skip(same).collect();
    if rest.is_empty() {
        return format!("{name}_{part}");
    }
    format!("{name}_{}", rest.join("_"))
}

/// The path that is shorter than all others.
fn highest(paths: &[Vec<&str>]) -> Option<usize> {
    let shortest = paths.iter().map(Vec::len).min()?;
    let mut all = paths.iter().enumerate().filter(|(_, path)| path.len() == shortest);
    let (first, _) = all.next()?;
    all.next().is_none().then_some(first)
}

fn path_parts(program: &Program, file: FileId) -> Vec<&str> {
    program.file(file).module.split('.').filter(|part| !part.is_empty()).collect()
}

/// A longer name for one of several modules: with what tells it from the others (length 0), or with its last parts.
fn longer(paths: &[Vec<&str>], own: usize, length: usize, name: &str) -> Option<String> {
    let parts = &paths[own];
    if length > 0 {
        return Some(derived(&parts[parts.len() - length..], name));
    }
    let others = || {
        paths
            .iter()
            .enumerate()
            .filter(|(i, path)| *i != own && path.len() == parts.len())
            .map(|(_, path)| path)
    };
    if others().count() + 1 != paths.len() || paths.len() == 1 {
        return None;
    }
    let start = others()
        .map(|other| parts.iter().zip(other).take_while(|(a, b)| a == b).count())
        .min()?;
    let end = others()
        .map(|other| parts.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count())
        .min()?;
    (start + end < parts.len()).then(|| derived(&parts[start..parts.len() - end], name))
}

/// Parts of the module path in front of a name; a part that the name begins with says nothing new.
fn derived(parts: &[&str], name: &str) -> String {
    let mut all: Vec<&str> = parts.iter().map(|p| p.trim_matches('_')).filter(|p| !p.is_empty()).collect();
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
        assert_eq!(derived(&["norm"], "rms"), "norm_rms");
        assert_eq!(joined("swiglu_forward", "swiglu_forward_tiled"), "swiglu_forward_tiled");
        assert_eq!(joined("attention_forward", "attention_qk"), "attention_forward_qk");
        assert_eq!(joined("scale", "scale"), "scale");
        assert_eq!(joined("forward", "add"), "forward_add");
        assert_eq!(derived(&["ops", "rms"], "rms"), "ops_rms");
    }
}
