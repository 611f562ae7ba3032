//! Slicing: the statements of a function that some of its names, or its results, depend on.
//!
//! A backward walk over the statements keeps what defines a live name. Everything is done by name, as Python itself
//! would look the names up, so the kept text can be run as it is.

use super::scope::Scope;
use crate::facts::{Block, Name, Op, Statement, StatementId, StatementKind, ValueId};
use std::collections::{BTreeMap, BTreeSet};

/// Names that are needed at some place.
pub(super) type Live = BTreeSet<Name>;

/// A slice in the making.
pub(super) struct Slicer<'s, 'a> {
    pub(super) scope: &'s Scope<'a>,
    /// By statement: it is part of the slice. Compound statements are when anything in them is.
    pub(super) kept: Vec<bool>,
    /// Returns whose expression is replaced by a part of it; the empty text drops the statement.
    pub(super) returns: BTreeMap<StatementId, String>,
    /// Statements that are no longer there.
    pub(super) removed: BTreeSet<StatementId>,
    keep_raise: bool,
    jumps: bool,
}

/// Why a slice cannot be cut out.
pub(super) type Refused = String;

impl<'s, 'a> Slicer<'s, 'a> {
    pub(super) fn new(scope: &'s Scope<'a>) -> Self {
        let kept = vec![false; scope.body().statements.len()];
        Self {
            scope,
            kept,
            returns: BTreeMap::new(),
            removed: BTreeSet::new(),
            keep_raise: false,
            jumps: false,
        }
    }

    fn statement(&self, id: StatementId) -> &'a Statement {
        &self.scope.body().statements[id.index()]
    }

    /// Slices statements so that `live` names are right behind them; gives the names that must be right before them.
    pub(super) fn block(&mut self, statements: &[StatementId], mut live: Live) -> Result<Live, Refused> {
        for &id in statements.iter().rev() {
            live = self.one(id, live)?;
        }
        Ok(live)
    }

    fn one(&mut self, id: StatementId, mut live: Live) -> Result<Live, Refused> {
        if self.removed.contains(&id) {
            return Ok(live);
        }
        let statement = self.statement(id);
        let defines_live = statement.defines.iter().any(|name| live.contains(name));
        match statement.kind {
            StatementKind::Assign | StatementKind::Augment | StatementKind::Import | StatementKind::Def | StatementKind::Class => {
                if defines_live {
                    if statement.kind != StatementKind::Augment {
                        live.retain(|name| !statement.defines.contains(name));
                    }
                } else if !self.fills_live(statement, &live) {
                    return Ok(live);
                }
                self.kept[id.index()] = true;
                live.extend(&statement.uses);
            }
            StatementKind::Expression => {
                if self.fills_live(statement, &live) {
                    self.kept[id.index()] = true;
                    live.extend(&statement.uses);
                }
            }
            StatementKind::Return => match self.returns.get(&id) {
                Some(text) if text.is_empty() => {}
                Some(text) => {
                    self.kept[id.index()] = true;
                    live = statement
                        .uses
                        .iter()
                        .copied()
                        .filter(|&n| mentions(text, self.scope.name(n)))
                        .collect();
                }
                None => {
                    self.kept[id.index()] = true;
                    live = statement.uses.iter().copied().collect();
                }
            },
            StatementKind::Raise => {
                live.clear();
                if self.keep_raise {
                    self.kept[id.index()] = true;
                    live.extend(&statement.uses);
                }
            }
            StatementKind::Break | StatementKind::Continue => self.jumps = true,
            StatementKind::If => return self.branches(id, statement, live),
            StatementKind::For | StatementKind::While => return self.repeated(id, statement, live, defines_live),
            StatementKind::With => return self.within(id, statement, live, defines_live),
            StatementKind::Try | StatementKind::Match => {
                for block in &statement.blocks {
                    self.block(&block.statements, live.clone())?;
                    if self.any(block) {
                        let word = if statement.kind == StatementKind::Try { "try" } else { "match" };
                        return Err(format!("its result is made under `{word}`"));
                    }
                }
            }
            StatementKind::Scope => {
                if statement.defines.iter().chain(&statement.uses).any(|name| live.contains(name)) {
                    return Err("its result depends on a global that it sets".to_string());
                }
            }
            StatementKind::Text | StatementKind::Assert | StatementKind::Delete | StatementKind::Pass | StatementKind::Type => {}
        }
        Ok(live)
    }

    fn any(&self, block: &Block) -> bool {
        block.statements.iter().any(|s| self.kept[s.index()])
    }

    fn branches(&mut self, id: StatementId, statement: &Statement, after: Live) -> Result<Live, Refused> {
        let mut before = Live::new();
        for block in &statement.blocks {
            before.extend(self.block(&block.statements, after.clone())?);
        }
        if !statement.blocks.iter().any(|block| self.any(block)) {
            return Ok(after);
        }
        self.kept[id.index()] = true;
        for block in &statement.blocks {
            let raises = block
                .statements
                .last()
                .is_some_and(|&s| self.statement(s).kind == StatementKind::Raise);
            if raises && !self.any(block) {
                let keep_raise = std::mem::replace(&mut self.keep_raise, true);
                before.extend(self.block(&block.statements, after.clone())?);
                self.keep_raise = keep_raise;
            }
        }
        let has_else = statement
            .blocks
            .last()
            .is_some_and(|b| self.scope.text(b.header).starts_with("else"));
        if !has_else {
            before.extend(&after);
        }
        before.extend(&statement.uses);
        Ok(before)
    }

    fn repeated(&mut self, id: StatementId, statement: &Statement, after: Live, defines_live: bool) -> Result<Live, Refused> {
        let jumps = std::mem::replace(&mut self.jumps, false);
        let mut live = after;
        if defines_live {
            live.extend(&statement.uses);
        }
        loop {
            let mut before = live.clone();
            for block in &statement.blocks {
                before.extend(self.block(&block.statements, live.clone())?);
            }
            if before.len() == live.len() {
                break;
            }
            live = before;
        }
        let jumps = std::mem::replace(&mut self.jumps, jumps);
        if !defines_live && !statement.blocks.iter().any(|block| self.any(block)) {
            return Ok(live);
        }
        if jumps {
            return Err("its result is made in a loop that is left early".to_string());
        }
        self.kept[id.index()] = true;
        live.extend(&statement.uses);
        // The targets are bound before the body runs; nothing before the loop has to.
        if statement.kind == StatementKind::For && !defines_live {
            live.retain(|name| !statement.defines.contains(name));
        }
        Ok(live)
    }

    fn within(&mut self, id: StatementId, statement: &Statement, live: Live, defines_live: bool) -> Result<Live, Refused> {
        let mut live = match statement.blocks.first() {
            Some(block) => self.block(&block.statements, live)?,
            None => live,
        };
        if defines_live || statement.blocks.iter().any(|block| self.any(block)) {
            self.kept[id.index()] = true;
            if defines_live || !self.is_device_guard(statement) {
                return Err("its result is made under a `with` statement".to_string());
            }
            live.retain(|name| !statement.defines.contains(name));
        }
        Ok(live)
    }

    /// A `with` that only chooses a device, a stream or the grad mode: metadata does not depend on it.
    fn is_device_guard(&self, statement: &Statement) -> bool {
        let body = self.scope.body();
        let (start, end) = statement.header_values;
        let mut contexts = (start.0..end.0).map(ValueId).filter_map(|v| match body.op(v) {
            Op::Call(call) => {
                let callee = body.call(call).callee;
                Some(
                    self.scope
                        .dotted(callee)
                        .unwrap_or_else(|| self.scope.text(body.value(callee).span).to_string()),
                )
            }
            _ => None,
        });
        let known = [
            "device",
            "device_of",
            "stream",
            "nullcontext",
            "no_grad",
            "inference_mode",
            "cuda_device",
            "device_guard",
        ];
        let outer = contexts.next_back().or_else(|| {
            let header = self.scope.text(statement.blocks.first()?.header);
            Some(header.trim_start_matches("with").trim_end_matches(':').trim().to_string())
        });
        outer.is_some_and(|name| {
            let last = name.rsplit('.').next().unwrap_or_default();
            name != "torch.device" && known.contains(&last)
        })
    }

    /// The statement changes a list or dict that a live name holds: `sizes.append(n)`, `options["x"] = y`.
    fn fills_live(&self, statement: &Statement, live: &Live) -> bool {
        let body = self.scope.body();
        let (start, end) = statement.values;
        (start.0..end.0).map(ValueId).any(|v| {
            let object = match body.op(v) {
                Op::SetIndex(object, ..) => object,
                Op::Call(call) => match body.op(body.call(call).callee) {
                    Op::Attr(object, method) if FILLS.contains(&self.scope.name(method)) => object,
                    _ => return false,
                },
                _ => return false,
            };
            let holds = |v: ValueId| matches!(body.op(v), Op::List(_) | Op::Dict(_) | Op::Set(_) | Op::Collect(..));
            let container = match body.op(object) {
                Op::Phi(items) => body.items(items).iter().any(|&v| holds(v)),
                Op::Call(call) => matches!(self.scope.dotted(body.call(call).callee).as_deref(), Some("list" | "dict" | "set")),
                _ => holds(object),
            };
            container
                && live
                    .iter()
                    .any(|&name| statement.uses.contains(&name) && self.touches(statement, name))
        })
    }

    fn touches(&self, statement: &Statement, name: Name) -> bool {
        let text = self.scope.text(statement.span);
        let rest = text.strip_prefix(self.scope.name(name));
        rest.is_some_and(|rest| rest.trim_start().starts_with(['.', '[']))
    }
}

const FILLS: [&str; 10] = [
    "append",
    "extend",
    "insert",
    "pop",
    "remove",
    "reverse",
    "sort",
    "update",
    "setdefault",
    "add",
];

/// Whether a text has a name as a word of its own.
pub(super) fn mentions(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(|c| is_word(c) || c == '.') && !after.is_some_and(is_word)
    })
}
