//! What fills an optional argument by reading values moves into the public function: the op then takes it filled, and its fake
//! reads nothing. `if indices is None: indices = make_indices(lengths)`.

use super::Calls;
use super::fake::{own_reads_no_data, reads_no_data};
use super::scope::Scope;
use super::slice::{Refused, Slicer};
use super::split::Split;
use super::writer::{Comments, Writer, remove_below};
use crate::facts::{Name, Op, Statement, StatementId, StatementKind, ValueId};
use std::collections::BTreeSet;

/// Moves such statements. `false`: there is none.
pub(super) fn hoist(scope: &Scope, calls: &Calls, split: &mut Split, indent: &str) -> Result<bool, Refused> {
    let body = scope.body();
    if !split.before.is_empty() {
        return Ok(false);
    }
    let mut found: Vec<(usize, Name)> = Vec::new();
    for (at, &id) in body.top.iter().enumerate() {
        let statement = &body.statements[id.index()];
        if launches(scope, calls, statement) {
            break;
        }
        let reads = reads_no_data(scope, calls, statement.values, &mut Vec::new()).is_err();
        if let (true, Some(name)) = (reads, fills(scope, statement)) {
            found.push((at, name));
        }
    }
    let Some(&(last, _)) = found.last() else { return Ok(false) };
    let names: BTreeSet<Name> = found.iter().map(|(_, name)| *name).collect();
    let mut slicer = Slicer::new(scope);
    slicer.block(&body.top[..=last], names.clone())?;
    for (i, kept) in body.statements.iter().enumerate().filter(|(i, _)| slicer.kept[*i]) {
        let params = kept
            .defines
            .iter()
            .any(|n| !names.contains(n) && scope.function().param(*n).is_some());
        let moved = found.iter().any(|(at, _)| inside(scope, body.top[*at], StatementId(i as u32)));
        if params || matches!(kept.kind, StatementKind::Return | StatementKind::With | StatementKind::Raise) {
            return Ok(false);
        }
        if !moved && own_reads_no_data(scope, calls, kept, &mut Vec::new()).is_err() {
            return Ok(false);
        }
    }
    for &name in &names {
        // The name must mean the same in all that stays behind.
        let elsewhere = body.statements.iter().enumerate().any(|(i, s)| {
            let here = found
                .iter()
                .any(|(at, n)| *n == name && inside(scope, body.top[*at], StatementId(i as u32)));
            s.defines.contains(&name) && !here
        });
        let asked = found
            .iter()
            .filter(|(_, n)| *n == name)
            .map(|(at, _)| *at)
            .max()
            .is_some_and(|end| asked_before(scope, name, end));
        if elsewhere || asked {
            return Ok(false);
        }
    }
    split.before = Writer::write(&slicer, &body.top[..=last], indent, Comments::Kept)?;
    for (at, _) in &found {
        let id = body.top[*at];
        let edit = remove_below(scope, &body.statements[id.index()], &split.edits);
        split.edits.push(edit);
        split.removed.insert(id);
    }
    Ok(true)
}

fn launches(scope: &Scope, calls: &Calls, statement: &Statement) -> bool {
    let values = statement.values.0.0..statement.values.1.0;
    values
        .map(ValueId)
        .any(|v| calls.launches(scope.at, v) || calls.launcher_called(scope.at, v).is_some())
}

/// The optional parameter that a statement gives a value, and nothing else.
fn fills(scope: &Scope, statement: &Statement) -> Option<Name> {
    let body = scope.body();
    let inner: Vec<&Statement> = match statement.kind {
        StatementKind::Assign => vec![statement],
        StatementKind::If => {
            let inner = statement.blocks.iter().flat_map(|b| &b.statements);
            inner.map(|s| &body.statements[s.index()]).collect()
        }
        _ => return None,
    };
    let [name] = inner.first()?.defines.as_slice() else { return None };
    let all = inner.iter().all(|s| s.kind == StatementKind::Assign && s.defines[..] == [*name]);
    (all && scope.function().param(*name).is_some()).then_some(*name)
}

fn inside(scope: &Scope, outer: StatementId, statement: StatementId) -> bool {
    let statements = &scope.body().statements;
    statements[outer.index()].span.contains(statements[statement.index()].span)
}

/// A statement up to the moved one, which stays, reads the name as it came in.
fn asked_before(scope: &Scope, name: Name, end: usize) -> bool {
    let body = scope.body();
    let param = scope.function().param(name);
    let is_param = |v: ValueId| matches!(body.op(v), Op::Param(p) if Some(p) == param);
    let moved = |s: &Statement| fills(scope, s) == Some(name);
    body.top[..=end]
        .iter()
        .map(|s| &body.statements[s.index()])
        .filter(|s| !moved(s))
        .any(|s| {
            let values = s.values.0.0..s.values.1.0;
            values.map(ValueId).any(|v| match body.op(v) {
                Op::Compare(_, a, b) => is_param(a) || is_param(b),
                Op::Attr(a, _) | Op::Index(a, _) => is_param(a),
                Op::Call(call) => body.call(call).args.iter().any(|a| is_param(a.value)),
                _ => false,
            })
        })
}
