//! What a run saw of memory, by value: the part of it that outlives the analysis.

use super::body::Run;
use super::{Context, Root};
use crate::facts::ValueId;
use crate::program::{Memory, Piece, Share, WriteAt};
use crate::source::Span;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A write to a piece of memory, the body's own included.
#[derive(Clone, Debug)]
pub(super) struct Touched {
    pub(super) at: ValueId,
    pub(super) root: Root,
    /// The argument that is written through.
    pub(super) through: Option<Span>,
    pub(super) unknown: Option<Arc<str>>,
}

impl Run<'_, '_> {
    /// Keeps what the run saw of memory, for functions that launch.
    pub(super) fn keep_memory(&self) {
        if *self.context != Context::default() || self.launches.is_empty() {
            return;
        }
        let mut memory = Memory::default();
        let mut known = FxHashMap::default();
        for (i, abs) in self.values.iter().enumerate().filter(|(_, abs)| !abs.aliases.is_empty()) {
            let share = |alias: &super::Alias| Share {
                piece: number(&mut memory.pieces, &mut known, &alias.root),
                maybe: alias.maybe.is_some(),
                known: alias.known,
            };
            let shares = self.reach(abs).aliases.iter().map(share).collect();
            memory.shares.push((ValueId(i as u32), shares));
        }
        for touched in &self.touched {
            memory.writes.push(WriteAt {
                at: touched.at,
                piece: number(&mut memory.pieces, &mut known, &touched.root),
                through: touched.through,
                unknown: touched.unknown.as_ref().map(|why| why.to_string()),
            });
        }
        self.host.keep_memory(self.f, memory);
    }
}

fn number(pieces: &mut Vec<Piece>, known: &mut FxHashMap<Root, u32>, root: &Root) -> u32 {
    *known.entry(root.clone()).or_insert_with(|| {
        pieces.push(match root {
            Root::Param(p) | Root::Part(p, _) => Piece::Param(*p),
            Root::State(path) => Piece::State(path.to_string()),
            Root::Capture(name) => Piece::Capture(*name),
            Root::Fresh(value, n) => Piece::Fresh(*value, *n),
        });
        pieces.len() as u32 - 1
    })
}
