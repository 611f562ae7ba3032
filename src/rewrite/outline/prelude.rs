//! Cheap definitions that go with the launch: a grid, a dict of options, a function of `meta`.

use super::live::Range;
use super::region::{Outliner, Region};
use super::values::ids;
use crate::facts::{Name, Op, StatementId, StatementKind, ValueId};

impl Outliner<'_, '_> {
    /// The one statement that defines a name, if it can as well stand right before the launch.
    pub(super) fn recomputed(&self, name: Name, range: &Range, start: ValueId) -> Option<StatementId> {
        let function = self.scope.function();
        let body = &function.body;
        if !self.is_constant(name) || function.param(name).is_some() {
            return None;
        }
        let at = body.statements.iter().position(|s| s.defines == [name])?;
        let statement = &body.statements[at];
        let simple = match statement.kind {
            StatementKind::Assign => ids(statement.values).all(|v| self.is_cheap(v)),
            StatementKind::Def => self.scope.text(statement.span).starts_with("def "),
            _ => false,
        };
        let before = statement.values.1 <= start && self.encloses(statement.parent, range);
        let steady = statement.uses.iter().all(|n| !self.locals.contains(n) || self.is_constant(*n));
        let value = function.assigned.iter().find(|a| a.0 == name)?.1.first().copied()?;
        (simple && before && steady && !self.is_filled(value)).then_some(StatementId(at as u32))
    }

    /// Says of the statements that go with regions whether they are needed where they stand, too.
    pub(super) fn settle(&self, regions: &mut [Region]) {
        let body = self.scope.body();
        let statements = |r: &Region| {
            r.range
                .statements()
                .iter()
                .copied()
                .chain(r.prelude.iter().map(|p| p.0))
                .collect::<Vec<_>>()
        };
        let moved: Vec<StatementId> = regions.iter().flat_map(statements).collect();
        for (id, stays) in regions.iter_mut().flat_map(|r| &mut r.prelude) {
            let mut names = body.statements[id.index()].defines.iter();
            *stays = names.any(|n| self.is_read_elsewhere(*n, &moved));
        }
    }

    /// Some statement that is not moved along reads the name.
    fn is_read_elsewhere(&self, name: Name, moved: &[StatementId]) -> bool {
        let body = self.scope.body();
        let inside = |mut id: StatementId| loop {
            if moved.contains(&id) {
                return true;
            }
            match body.statements[id.index()].parent {
                Some(parent) => id = parent,
                None => return false,
            }
        };
        let all = body.statements.iter().enumerate().map(|(i, s)| (StatementId(i as u32), s));
        all.filter(|(_, s)| s.uses.contains(&name)).any(|(id, _)| !inside(id))
    }

    /// The name has one value wherever it has one.
    fn is_constant(&self, name: Name) -> bool {
        let function = self.scope.function();
        let assigned = function.assigned.iter().find(|a| a.0 == name).map_or(0, |a| a.1.len());
        let times = assigned + usize::from(function.param(name).is_some());
        times == 1 || times == 0
    }

    /// The block of a statement holds a range, at any depth.
    fn encloses(&self, parent: Option<StatementId>, range: &Range) -> bool {
        let mut at = range.parent;
        loop {
            if at == parent {
                return true;
            }
            match at {
                Some(id) => at = self.scope.body().statements[id.index()].parent,
                None => return false,
            }
        }
    }

    /// Costs nothing, changes nothing, and gives the same wherever it stands.
    fn is_cheap(&self, value: ValueId) -> bool {
        let body = self.scope.body();
        match body.op(value) {
            Op::Param(_)
            | Op::Free(_)
            | Op::Const(_)
            | Op::Tuple(_)
            | Op::Dict(_)
            | Op::Star(_)
            | Op::Unary(..)
            | Op::Binary(..)
            | Op::Compare(..)
            | Op::And(_)
            | Op::Or(_)
            | Op::Select(..)
            | Op::Function(_)
            | Op::Import(_)
            | Op::Undefined => true,
            // What an object holds may change in between; what a tensor or module says of itself does not.
            Op::Attr(object, _) | Op::Index(object, _) => {
                matches!(body.op(object), Op::Free(_) | Op::Import(_) | Op::Attr(..)) && self.scope.dotted(object).is_some()
                    || !matches!(self.scope.kind(object), super::super::scope::Kind::Unknown)
            }
            Op::Call(call) => {
                let name = self.scope.dotted(body.call(call).callee).unwrap_or_default();
                matches!(
                    name.as_str(),
                    "dict" | "min" | "max" | "len" | "int" | "bool" | "tuple" | "triton.cdiv" | "triton.next_power_of_2"
                )
            }
            _ => false,
        }
    }

    /// Something is put into the value after it is made.
    pub(super) fn is_filled(&self, value: ValueId) -> bool {
        let body = self.scope.body();
        let changes = ["update", "pop", "setdefault", "clear", "append", "extend"];
        body.iter().any(|(_, v)| match v.op {
            Op::SetIndex(object, ..) | Op::Delete(object) => object == value,
            Op::Attr(object, name) => object == value && changes.contains(&self.scope.name(name)),
            _ => false,
        })
    }
}
