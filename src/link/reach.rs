//! Which files can matter: the prefilter. The others are read, searched for words, and never parsed.
//!
//! A file matters when it speaks of kernels or registrations, or when it mentions a function that launches, or one through
//! which an op may reach a launch. What a file left out would say is unknown to `link`, and unknown is never rounded to no.

use crate::facts::{Facts, FunctionId, FunctionKind, MODULE, Name, Op};
use crate::program::ProgramFile;
use crate::source::FileId;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// Words one of which a file must hold to matter by itself. Those of the framework files are added by the caller.
pub const WORDS: &[&str] = &[
    "triton",
    "gluon",
    "torch.library",
    "custom_op",
    "register_fake",
    "infer_schema",
    "mutates_args",
    "Library(",
    "opwright:",
];

/// Callers of callers are searched for this many steps out.
const CALLER_STEPS: usize = 3;
/// Shorter names are too common to tell anything.
const SHORTEST: usize = 5;

/// Files that have not been parsed and mention what those that have launch with. Sorted. Names in `searched` have been
/// looked for already; the new ones are added.
pub fn needed(files: &[ProgramFile], searched: &mut BTreeSet<String>) -> Vec<FileId> {
    let new: FxHashSet<&str> = names(files).into_iter().filter(|n| !searched.contains(*n)).collect();
    if new.is_empty() {
        return Vec::new();
    }
    let wanted = Wanted::new(&new);
    let unread = |i: &usize| files[*i].facts.unread;
    let hits = (0..files.len())
        .into_par_iter()
        .filter(unread)
        .filter(|&i| wanted.in_text(files[i].source.text.as_bytes()));
    let hits = hits.map(|i| FileId(i as u32)).collect();
    searched.extend(new.into_iter().map(str::to_owned));
    hits
}

/// Whole words to find in texts.
struct Wanted<'a> {
    names: &'a FxHashSet<&'a str>,
    /// By first byte, the lengths that occur: bit `n` for length `n`, bit 63 for longer ones. Most words are told apart by this.
    lengths: [u64; 256],
}

impl<'a> Wanted<'a> {
    fn new(names: &'a FxHashSet<&'a str>) -> Self {
        let mut lengths = [0; 256];
        for name in names {
            if let Some(&first) = name.as_bytes().first() {
                lengths[first as usize] |= 1 << name.len().min(63);
            }
        }
        Self { names, lengths }
    }

    fn in_text(&self, text: &[u8]) -> bool {
        let part_of_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80;
        let mut at = 0;
        while at < text.len() {
            if !part_of_word(text[at]) {
                at += 1;
                continue;
            }
            let start = at;
            while at < text.len() && part_of_word(text[at]) {
                at += 1;
            }
            let word = &text[start..at];
            let fits = self.lengths[word[0] as usize] >> word.len().min(63) & 1 == 1;
            if fits && std::str::from_utf8(word).is_ok_and(|w| self.names.contains(w)) {
                return true;
            }
        }
        false
    }
}

/// Names of launchers, and of functions through which an op may reach one: whether these are covered hangs on all their callers.
fn names(files: &[ProgramFile]) -> FxHashSet<&str> {
    let parsed: Vec<&Facts> = files.iter().map(|f| &*f.facts).filter(|f| !f.unread).collect();
    let mut names: FxHashSet<&str> = FxHashSet::default();
    for facts in &parsed {
        names.extend(module_functions(facts).filter(|(id, _)| launches(facts, *id)).map(|(_, name)| name));
    }
    let registering = parsed.iter().filter(|f| f.names.iter().any(|n| &**n == "mutates_args"));
    let near_ops: FxHashSet<&str> = registering.flat_map(|f| f.names.iter().map(|n| &**n)).collect();
    for _ in 0..CALLER_STEPS {
        let mut next: Vec<&str> = Vec::new();
        for facts in &parsed {
            let here: FxHashSet<Name> = facts
                .names
                .iter()
                .enumerate()
                .filter(|(_, n)| names.contains(&***n))
                .map(|(i, _)| Name(i as u32))
                .collect();
            let calls = |id: FunctionId| {
                facts
                    .function(id)
                    .body
                    .values
                    .iter()
                    .any(|v| matches!(v.op, Op::Free(n) | Op::Attr(_, n) if here.contains(&n)))
            };
            if !here.is_empty() {
                next.extend(
                    module_functions(facts)
                        .filter(|(id, name)| near_ops.contains(name) && !names.contains(name) && calls(*id))
                        .map(|(_, name)| name),
                );
            }
        }
        if next.is_empty() {
            break;
        }
        names.extend(next);
    }
    names
}

fn module_functions(facts: &Facts) -> impl Iterator<Item = (FunctionId, &str)> {
    let plain = facts.functions().filter(|(_, f)| f.parent == MODULE && f.kind == FunctionKind::Def);
    plain
        .map(|(id, f)| (id, facts.name(f.name)))
        .filter(|(_, name)| name.len() >= SHORTEST)
}

/// A call of something indexed, or of the `run` of a kernel.
fn launches(facts: &Facts, id: FunctionId) -> bool {
    let body = &facts.function(id).body;
    body.calls.iter().any(|c| match body.op(c.callee) {
        Op::Index(..) => true,
        Op::Attr(object, n) if facts.name(n) == "run" => match body.op(object) {
            Op::Free(n) | Op::Attr(_, n) => facts.name(n).to_ascii_lowercase().contains("kernel"),
            _ => false,
        },
        _ => false,
    })
}
