//! `if out is None: out = …`, `y = … if out is None else out`: the allocation moves into the public function, and the op takes a
//! tensor.

use super::Calls;
use super::fake::own_reads_no_data;
use super::paths::stands_in;
use super::scope::{Kind, Scope};
use super::slice::{Refused, Slicer};
use super::split::Split;
use super::writer::{Comments, Writer, remove_below};
use crate::facts::{Block, Name, Op, Statement, StatementKind, ValueId};
use crate::finding::Edit;
use crate::source::Span;

/// Moves what fills optional arguments into the public function. `absent`: parameters, and the names by which they are returned.
pub(super) fn allocate_outside(
    scope: &Scope,
    calls: &Calls,
    absent: &[(u16, &str)],
    split: &mut Split,
    indent: &str,
) -> Result<(), Refused> {
    let function = scope.function();
    let body = scope.body();
    let mut names: Vec<Name> = Vec::new();
    let mut end = 0;
    for &(param, local) in absent {
        let own = function.params[param as usize].name;
        let (at, name) = if scope.name(own) == local {
            (allocation(scope, param)?, own)
        } else {
            stand_in(scope, param, local)?
        };
        names.push(name);
        split.renames |= name != own;
        end = end.max(at + 1);
        let statement = &body.statements[body.top[at].index()];
        let edit = match statement.blocks.get(1) {
            _ if name != own => Edit::replace(statement.span, format!("{local} = {}", scope.name(own))),
            None => remove_below(scope, statement, &split.edits),
            Some(block) => only_asserts(scope, statement, block)?,
        };
        split.edits.push(edit);
        split.required.insert(param, local.to_string());
    }
    let refused = || format!("`{}` is returned, and how it is allocated cannot be moved out", absent[0].1);
    let mut slicer = Slicer::new(scope);
    slicer.block(&body.top[..end], names.iter().copied().collect())?;
    let mut doubts = Vec::new();
    for (_, kept) in body.statements.iter().enumerate().filter(|(i, _)| slicer.kept[*i]) {
        let rebinds = kept.defines.iter().any(|n| !names.contains(n) && function.param(*n).is_some());
        if rebinds || matches!(kept.kind, StatementKind::Return | StatementKind::With) {
            return Err(refused());
        }
        own_reads_no_data(scope, calls, kept, &mut doubts)?;
    }
    if !doubts.is_empty() {
        return Err(refused());
    }
    split.before = Writer::write(&slicer, &body.top[..end], indent, Comments::Kept)?;
    Ok(())
}

/// The index among the top statements of `y = … if out is None else out`, or of an `if` that says so, when nothing else reads `out`
/// or gives either another value; and the name of `y`.
fn stand_in(scope: &Scope, param: u16, local: &str) -> Result<(usize, Name), Refused> {
    let body = scope.body();
    let own = scope.function().params[param as usize].name;
    let given = scope.name(own);
    let refused = || format!("`{given}` is returned as `{local}`, and where that is allocated cannot be moved out");
    let defines = |s: &Statement| s.defines.iter().any(|n| scope.name(*n) == local);
    let within = |outer: &Statement| body.statements.iter().any(|s| defines(s) && outer.span.contains(s.span));
    let at = body
        .top
        .iter()
        .position(|s| within(&body.statements[s.index()]))
        .ok_or_else(refused)?;
    let statement = &body.statements[body.top[at].index()];
    let written = |s: &Statement| {
        let value = scope.text(s.span).strip_prefix(local)?.trim_start().strip_prefix('=')?;
        Some(bare(value.trim()))
    };
    let inner: Vec<Vec<&Statement>> = statement
        .blocks
        .iter()
        .map(|b| b.statements.iter().map(|s| &body.statements[s.index()]).collect())
        .collect();
    let chosen = match (statement.kind, inner.as_slice()) {
        (StatementKind::Assign, []) => (statement.values.0.0..statement.values.1.0)
            .map(ValueId)
            .any(|v| stands_in(scope, v, param) && written(statement) == Some(bare(scope.text(body.value(v).span)))),
        (StatementKind::If, [first, second]) => {
            let header = scope.text(statement.blocks[0].header).trim_start_matches("if ").trim();
            let (absent, present) = match header.strip_prefix(given) {
                Some(" is None:") => (first, second),
                Some(" is not None:") => (second, first),
                _ => return Err(refused()),
            };
            let otherwise = scope.text(statement.blocks[1].header).trim() == "else:";
            let only = |s: &&Statement| s.kind == StatementKind::Assign && s.defines.len() == 1 && defines(s);
            let takes = matches!(present.as_slice(), [one] if written(one) == Some(given));
            otherwise && takes && !absent.is_empty() && absent.iter().all(|s| only(s) && !s.uses.contains(&own))
        }
        _ => false,
    };
    let elsewhere = body.statements.iter().any(|s| {
        let outside = !statement.span.contains(s.span);
        let around = !s.blocks.is_empty() && s.span.contains(statement.span);
        outside && !around && (defines(s) || s.uses.contains(&own) || s.defines.contains(&own))
    });
    let name = statement
        .defines
        .first()
        .copied()
        .or_else(|| inner.first()?.first()?.defines.first().copied());
    match name {
        Some(name) if chosen && !elsewhere => Ok((at, name)),
        _ => Err(refused()),
    }
}

/// An expression without parentheses around it.
fn bare(text: &str) -> &str {
    let inner = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')).map(str::trim);
    inner.filter(|t| !t.contains(')') || t.find('(') < t.find(')')).unwrap_or(text)
}

/// What is asserted of an argument that is given stays, and holds of every other, too.
fn only_asserts(scope: &Scope, statement: &Statement, block: &Block) -> Result<Edit, Refused> {
    let source = scope.source();
    let all = || block.statements.iter().map(|s| scope.body().statements[s.index()].span);
    let (first, last) = all().next().zip(all().last()).ok_or("an `else` is empty")?;
    let start = source.line_start(first.start);
    let span = Span::new(source.line_start(statement.span.start), source.line_end(last.end));
    let own = &source.text[span.start as usize..statement.span.start as usize];
    let inner = &source.text[start as usize..first.start as usize];
    let text = source.slice(Span::new(start, span.end));
    if text.contains("\"\"\"") || text.contains("'''") || !inner.trim().is_empty() {
        return Err("a string over several lines stands in its way".to_string());
    }
    let deeper = inner.strip_prefix(own).unwrap_or_default();
    let lines = text.split_inclusive('\n').map(|line| match line.strip_prefix(inner) {
        Some(rest) => format!("{own}{rest}"),
        None => line.strip_prefix(deeper).unwrap_or(line).to_string(),
    });
    Ok(Edit::replace(span, lines.collect::<String>()))
}

/// The index among the top statements of `if out is None: out = …`, when nothing else asks for `out` or gives it another value.
fn allocation(scope: &Scope, param: u16) -> Result<usize, Refused> {
    let body = scope.body();
    let name = scope.function().params[param as usize].name;
    let text = scope.name(name);
    let refused = || format!("`{text}` is returned, and where it is allocated cannot be moved out");
    let top = body.top.iter().position(|s| {
        let statement = &body.statements[s.index()];
        let asserts = |b: &Block| {
            let all = b.statements.iter().map(|s| body.statements[s.index()].kind);
            scope.text(b.header).trim() == "else:" && all.clone().all(|kind| kind == StatementKind::Assert)
        };
        let rest = statement.blocks.get(1..).unwrap_or_default();
        let is_block = statement.kind == StatementKind::If && rest.len() < 2 && rest.iter().all(asserts);
        is_block && scope.text(statement.blocks[0].header).trim_start_matches("if ").trim() == format!("{text} is None:")
    });
    let at = top.ok_or_else(refused)?;
    let statement = &body.statements[body.top[at].index()];
    let inner: Vec<&Statement> = statement.blocks[0].statements.iter().map(|s| &body.statements[s.index()]).collect();
    let only_allocates = inner.iter().all(|s| s.kind == StatementKind::Assign && s.defines[..] == [name]);
    let elsewhere = body.statements.iter().filter(|s| s.defines.contains(&name)).count() > inner.len();
    let is_param = |v: ValueId| matches!(body.op(v), Op::Param(p) if p == param);
    // `if out is not None: assert …` holds of what is allocated, too.
    let only_asserted = |v: ValueId| {
        let asks = |s: &&Statement| s.kind == StatementKind::If && s.header_values.0 <= v && v < s.header_values.1;
        let asserts = |s: &Statement| {
            let mut all = s.blocks.iter().flat_map(|b| &b.statements);
            all.all(|id| body.statements[id.index()].kind == StatementKind::Assert)
        };
        body.statements.iter().find(asks).is_some_and(asserts)
    };
    let asked = body.iter().any(|(v, value)| {
        let outside = v < statement.values.0 || v >= statement.values.1;
        outside && !only_asserted(v) && matches!(value.op, Op::Compare(_, a, b) if is_param(a) && scope.kind(b) == Kind::None)
    });
    if inner.is_empty() || !only_allocates || elsewhere || asked {
        Err(refused())
    } else {
        Ok(at)
    }
}
