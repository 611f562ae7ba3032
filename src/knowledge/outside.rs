//! What frameworks say of code that runs kernels past the dispatcher, and of what is hot or cold by nature.

use super::frameworks::{Argument, Framework};
use serde::Deserialize;

/// Calls that run kernels past the dispatcher.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Bypass {
    /// Patterns of qualified names, as in [`covers`].
    pub calls: Vec<String>,
    /// Of these, what runs no kernel, or is an op already.
    pub spared: Vec<String>,
    /// What can be done beside wrapping the call.
    pub instead: Option<String>,
}

/// A function that imports something of another module, by name, when it is needed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Lazy {
    /// Its qualified name.
    pub call: String,
    /// The module's name.
    pub module: Argument,
    /// The member's name. Absent: the module itself.
    pub member: Argument,
}

/// Methods that a hot path runs through.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Root {
    /// Qualified name of a class; its subclasses count.
    pub class: String,
    /// Method names; `*` stands for any letters.
    pub methods: Vec<String>,
    /// The engine calls them, never from inside an op.
    pub outermost: bool,
}

/// What is known of a bypassing call.
#[derive(Clone, Copy, Debug)]
pub struct Known<'k> {
    /// The framework file's name.
    pub library: &'k str,
    /// The row.
    pub row: &'k Bypass,
}

/// Whether a pattern covers a qualified name. In a part `*` stands for any letters; the part `**` stands for any number of parts.
pub fn covers(pattern: &str, name: &str) -> bool {
    // Most are told apart by their first letters.
    let first = pattern.bytes().zip(name.bytes()).find(|(p, n)| p != n || *p == b'*');
    if first.is_some_and(|(p, _)| p != b'*') {
        return false;
    }
    match (pattern.split_once('.'), name.split_once('.')) {
        (Some(("**", rest)), _) => covers(rest, name) || name.split_once('.').is_some_and(|(_, after)| covers(pattern, after)),
        (None, _) if pattern == "**" => true,
        (Some((first, rest)), Some((part, after))) => letters(first, part) && covers(rest, after),
        (None, None) => letters(pattern, name),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// The same for one part.
pub fn letters(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut left) = text.strip_prefix(start) else { return false };
    let mut rest = rest;
    while let Some((middle, after)) = rest.split_once('*') {
        let Some(at) = left.find(middle) else { return false };
        left = &left[at + middle.len()..];
        rest = after;
    }
    left.ends_with(rest)
}

/// The framework file that says a call runs kernels past the dispatcher.
pub(super) fn bypass<'k>(frameworks: &'k [Framework], name: &str) -> Option<Known<'k>> {
    let any = |patterns: &[String]| patterns.iter().any(|p| covers(p, name));
    frameworks.iter().find_map(|framework| {
        let row = framework.bypass.iter().find(|row| any(&row.calls) && !any(&row.spared))?;
        Some(Known {
            library: &framework.name,
            row,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{covers, letters};

    #[test]
    fn patterns_cover_names() {
        for (pattern, name) in [
            ("a.**", "a.b"),
            ("a.**", "a.b.c"),
            ("a.**.is_*", "a.is_on"),
            ("a.**.is_*", "a.b.c.is_on"),
            ("a.*.c", "a.b.c"),
            ("a.b", "a.b"),
            ("a.*_b", "a.x_b"),
        ] {
            assert!(covers(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("a.**", "b.c"),
            ("a.**.is_*", "a.b.this_is"),
            ("a.*.c", "a.c"),
            ("a.b", "a.b.c"),
            ("a.b.c", "a.b"),
        ] {
            assert!(!covers(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn letters_may_stand_between() {
        assert!(letters("*warmup*", "run_warmup_all") && letters("load_*", "load_") && letters("a*b*c", "axbyc"));
        assert!(!letters("load_*", "unload_x") && !letters("a*b*c", "axc"));
    }
}
