//! How files speak of things outside the project.

use crate::facts::{ArgKind, MODULE, Op, ValueId};
use crate::link::resolve::{Entity, Resolver, ValueRef};
use crate::program::FunctionRef;
use crate::source::FileId;
use crate::words::{Word, Words};

/// How files speak of something outside by its dotted name: by its last two parts together, or by the last one of another name
/// for the part before it (`import triton as tr`).
pub(crate) struct Spoken {
    pairs: Vec<Word>,
    /// The two parts; `from a import *` does not put them together.
    parts: [Word; 2],
}

impl Spoken {
    pub(crate) fn new(resolver: &Resolver, dotted: &str) -> Self {
        let mut parts = dotted.rsplit('.').map(Word::of);
        let last = parts.next().unwrap_or_else(|| Word::of(""));
        let owner = parts.next().unwrap_or(last);
        let owners = resolver.renamed(owner).iter().chain([&owner]);
        Self {
            pairs: owners.map(|owner| last.of_owner(*owner)).collect(),
            parts: [owner, last],
        }
    }

    pub(crate) fn is_in(&self, words: &Words) -> bool {
        words.has_any(&self.pairs) || words.star_like && words.has_all(&self.parts)
    }
}

/// Names at module level that stand for one of the wanted things: `jit = triton.jit`, `jit = partial(triton.jit, …)`. A file may
/// then speak of the thing without its own words.
pub(crate) fn carriers(resolver: &Resolver, file: FileId, wanted: &dyn Fn(&str) -> bool) -> Vec<Word> {
    let facts = resolver.facts(file);
    let at = FunctionRef { file, function: MODULE };
    let body = &facts.module().body;
    let is_wanted = |value: ValueId| {
        resolver.entities(at, value).iter().any(|e| match e {
            Entity::External(path) => wanted(path),
            // What a call that was given a function made is no longer a maker.
            Entity::Made(path, made) => wanted(path.trim_end_matches("()")) && !is_given(resolver, *made),
            _ => false,
        })
    };
    let carries = |value: ValueId| match body.op(value) {
        Op::Import(id) => {
            let import = &facts.imports[id.index()];
            import.member.is_some_and(|member| member != import.bound) && is_wanted(value)
        }
        Op::Call(call) => is_wanted(value) || body.call(call).args.first().is_some_and(|first| is_wanted(first.value)),
        Op::Attr(..) | Op::Select(..) | Op::Phi(_) => is_wanted(value),
        _ => false,
    };
    let bound = facts.module().bindings.iter().filter(|(_, value)| carries(*value));
    bound.map(|(name, _)| Word::of(facts.name(*name))).collect()
}

/// Whether a call has a first positional argument.
fn is_given(resolver: &Resolver, made: ValueRef) -> bool {
    let body = resolver.body(made.at);
    matches!(body.op(made.value), Op::Call(call) if body.call(call).args.first().is_some_and(|a| a.kind == ArgKind::Positional))
}
