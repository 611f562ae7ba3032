//! The fake implementation: the launcher sliced to what the metadata of its results needs.

use super::Calls;
use super::scope::{Kind, Scope, find_function};
use super::slice::{Live, Refused, Slicer};
use super::split::Split;
use super::writer::{Comments, Writer};
use crate::facts::{ArgKind, Call, FunctionId, GuardKind, Op, Statement, StatementId, StatementKind, UnaryOp, ValueId};
use crate::program::{FunctionRef, Registration};

/// A fake implementation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fake {
    /// Its statements, indented; entries may hold several lines.
    pub(super) lines: Vec<String>,
    /// It is no more than `return torch.empty_like(parameter)`.
    pub(super) like: Option<String>,
    /// What could not be seen.
    pub(super) doubts: Vec<String>,
}

/// Slices a function to its results, as `split` leaves them.
pub(super) fn fake(scope: &Scope, calls: &Calls, split: &Split, indent: &str) -> Result<Fake, Refused> {
    let body = scope.body();
    let mut slicer = Slicer::new(scope);
    slicer.returns.clone_from(&split.partial);
    slicer.removed.clone_from(&split.removed);
    let last = body.top.last().and_then(|last| split.partial.get(last));
    for early in repeated_returns(scope) {
        if split.partial.get(&early) == last {
            slicer.returns.insert(early, String::new());
        }
    }
    slicer.block(&body.top, Live::new())?;
    let mut doubts = Vec::new();
    for (i, statement) in body.statements.iter().enumerate() {
        if !slicer.kept[i] || statement.kind == StatementKind::With {
            continue;
        }
        own_reads_no_data(scope, calls, statement, &mut doubts)?;
    }
    let mut lines = Writer::write(&slicer, &body.top, indent, Comments::Dropped)?;
    let kept: Vec<StatementId> = body.top.iter().copied().filter(|s| slicer.kept[s.index()]).collect();
    fold_last(scope, &kept, &mut lines, indent);
    let like = match lines.as_slice() {
        [one] => empty_like(scope, one.trim()),
        _ => None,
    };
    doubts.sort();
    doubts.dedup();
    Ok(Fake { lines, like, doubts })
}

/// `return torch.empty_like(x)` with a parameter `x`.
fn empty_like(scope: &Scope, text: &str) -> Option<String> {
    let name = text.strip_prefix("return torch.empty_like(")?.strip_suffix(')')?;
    let param = scope.function().params.iter().any(|p| scope.name(p.name) == name);
    param.then(|| name.to_string())
}

/// Early returns of the very value that the end of the function returns: they say nothing about metadata.
fn repeated_returns(scope: &Scope) -> Vec<StatementId> {
    let body = scope.body();
    let Some(&last) = body.top.last() else { return Vec::new() };
    let Some(end) = returned(scope, last) else { return Vec::new() };
    let all = body.statements.iter().enumerate().map(|(i, _)| StatementId(i as u32));
    all.filter(|&s| s != last && returned(scope, s).is_some_and(|v| same_value(scope, v, end, 12)))
        .collect()
}

/// The value that a `return` statement returns.
pub(super) fn returned(scope: &Scope, statement: StatementId) -> Option<ValueId> {
    let body = scope.body();
    let statement = &body.statements[statement.index()];
    if statement.kind != StatementKind::Return {
        return None;
    }
    (statement.values.0.0..statement.values.1.0)
        .rev()
        .find_map(|v| match body.op(ValueId(v)) {
            Op::Return(value) => Some(value),
            _ => None,
        })
}

/// Two values whose metadata is the same: made by the same operations from the same things.
fn same_value(scope: &Scope, a: ValueId, b: ValueId, depth: u32) -> bool {
    let body = scope.body();
    let Some(depth) = depth.checked_sub(1) else { return a == b };
    let same = |a, b| same_value(scope, a, b, depth);
    let all = |a: &[ValueId], b: &[ValueId]| a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| same(a, b));
    match (body.op(a), body.op(b)) {
        _ if a == b => true,
        (Op::Tuple(a), Op::Tuple(b)) | (Op::List(a), Op::List(b)) => all(body.items(a), body.items(b)),
        (Op::Const(a), Op::Const(b)) => a == b,
        (Op::Free(a), Op::Free(b)) => a == b,
        (Op::Attr(a, x), Op::Attr(b, y)) => x == y && same(a, b),
        (Op::Index(a, x), Op::Index(b, y)) => same(a, b) && same(x, y),
        (Op::Binary(o, a, x), Op::Binary(p, b, y)) => o == p && same(a, b) && same(x, y),
        (Op::Compare(o, a, x), Op::Compare(p, b, y)) => o == p && same(a, b) && same(x, y),
        (Op::Select(c, a, x), Op::Select(d, b, y)) => same(c, d) && same(a, b) && same(x, y),
        (Op::Call(a), Op::Call(b)) => {
            let (a, b) = (body.call(a), body.call(b));
            let arguments = a.args.iter().zip(&b.args).all(|(a, b)| a.kind == b.kind && same(a.value, b.value));
            same(a.callee, b.callee) && a.args.len() == b.args.len() && arguments
        }
        _ => false,
    }
}

/// `out = …; return out` becomes `return …`.
fn fold_last(scope: &Scope, kept: &[StatementId], lines: &mut Vec<String>, indent: &str) {
    let body = scope.body();
    let [.., assign, end] = kept else { return };
    let (assign, end) = (&body.statements[assign.index()], &body.statements[end.index()]);
    let [name] = assign.defines.as_slice() else { return };
    let (Some(line), Some(assigned)) = (lines.last().cloned(), lines.len().checked_sub(2).map(|i| lines[i].clone())) else {
        return;
    };
    let name = scope.name(*name);
    let simple = assign.kind == StatementKind::Assign && end.kind == StatementKind::Return;
    let rest = assigned.strip_prefix(&format!("{indent}{name} = "));
    if let (true, true, Some(rest)) = (simple, line == format!("{indent}return {name}"), rest) {
        lines.pop();
        lines.pop();
        lines.push(on_one_line(format!("{indent}return {rest}"), scope.width()));
    }
}

/// Joins a call over three lines that fits into one, as formatters do where there is no trailing comma.
fn on_one_line(text: String, width: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let [first, inner, last] = lines.as_slice() else { return text };
    let plain = first.ends_with('(') && last.trim() == ")" && !inner.trim_end().ends_with(',') && !text.contains(['#', '"', '\'']);
    let joined = format!("{first}{}{}", inner.trim(), last.trim());
    if plain && joined.chars().count() <= width { joined } else { text }
}

/// Methods whose result, or its size, depends on what a tensor holds.
const READ_METHODS: [&str; 11] = [
    "item",
    "tolist",
    "numpy",
    "nonzero",
    "masked_select",
    "unique",
    "unique_consecutive",
    "data_ptr",
    "argwhere",
    "bincount",
    "equal",
];

/// The same, as functions.
const READ_FUNCTIONS: [&str; 9] = [
    "torch.nonzero",
    "torch.masked_select",
    "torch.unique",
    "torch.unique_consecutive",
    "torch.argwhere",
    "torch.bincount",
    "torch.equal",
    "torch.allclose",
    "torch.histc",
];

/// The same as [`reads_no_data`] for a statement without those in its blocks: an `elif` is asked as an `if` is.
pub(super) fn own_reads_no_data(scope: &Scope, calls: &Calls, statement: &Statement, doubts: &mut Vec<String>) -> Result<(), Refused> {
    let body = scope.body();
    let mut from = statement.values.0;
    for inner in statement.blocks.iter().flat_map(|block| &block.statements) {
        let (start, end) = body.statements[inner.index()].values;
        reads_no_data(scope, calls, (from, start), doubts)?;
        from = end;
    }
    reads_no_data(scope, calls, (from, statement.values.1), doubts)
}

/// Checks that values of a range can be computed without reading what a tensor holds, and without a launch.
pub(super) fn reads_no_data(scope: &Scope, calls: &Calls, range: (ValueId, ValueId), doubts: &mut Vec<String>) -> Result<(), Refused> {
    let body = scope.body();
    let tensor = |v: ValueId| scope.kind(v) == Kind::Tensor;
    let read = |v: ValueId| Err(format!("the shape of its result depends on the values of `{}`", short(scope, v)));
    for guard in &body.guards {
        if let GuardKind::When(condition, _) = guard.kind
            && range.0 <= condition
            && condition < range.1
            && tensor(condition)
        {
            return read(condition);
        }
    }
    for v in (range.0.0..range.1.0).map(ValueId) {
        match body.op(v) {
            Op::Call(call) => check_call(scope, calls, v, body.call(call), doubts)?,
            Op::Select(condition, ..) if tensor(condition) => return read(condition),
            Op::And(items) | Op::Or(items) => {
                if let Some(&v) = body.items(items).iter().find(|&&v| tensor(v)) {
                    return read(v);
                }
            }
            Op::Unary(UnaryOp::Not, a) if tensor(a) => return read(a),
            Op::Index(object, index) if tensor(object) => match body.op(index) {
                Op::Compare(..) | Op::Unary(UnaryOp::Invert, _) => return read(index),
                _ if tensor(index) => doubts.push(format!("`{}` may be a mask", short(scope, index))),
                _ => {}
            },
            Op::Function(function) => nested_reads_no_data(scope, function)?,
            _ => {}
        }
        if calls.launches(scope.at, v) {
            return Err("its result is made by the launch itself".to_string());
        }
    }
    Ok(())
}

fn check_call(scope: &Scope, calls: &Calls, value: ValueId, call: &Call, doubts: &mut Vec<String>) -> Result<(), Refused> {
    let body = scope.body();
    let text = short(scope, call.callee);
    if let Some(func) = calls.launcher_called(scope.at, value)
        && func.registration != Registration::Yes
    {
        return Err(format!("its result comes from `{text}`, which launches a kernel itself"));
    }
    let tensor_arg = call.args.iter().find(|a| scope.kind(a.value) == Kind::Tensor);
    if let Op::Attr(object, method) = body.op(call.callee) {
        let method = scope.name(method);
        let kind = scope.kind(object);
        if READ_METHODS.contains(&method) && matches!(kind, Kind::Tensor | Kind::Unknown) {
            return Err(format!(
                "the shape of its result depends on the values of `{}`",
                short(scope, object)
            ));
        }
        if kind == Kind::Tensor {
            if method == "repeat_interleave" && repeats_by_value(scope, call, 0) {
                return Err(format!("the shape of its result depends on values (`{text}`)"));
            }
            if method.starts_with("new_")
                && method != "new_tensor"
                && let Some(arg) = call.args.iter().find(|a| may_hold_tensor(scope, a.value, 8))
            {
                return Err(format!(
                    "the shape of its result depends on the values of `{}`",
                    short(scope, arg.value)
                ));
            }
            return Ok(());
        }
    }
    let Some(name) = scope.dotted(call.callee) else {
        if let Some(arg) = tensor_arg {
            doubts.push(format!("`{text}`, which is given `{}`, is not in view", short(scope, arg.value)));
        }
        return Ok(());
    };
    let sizes = matches!(
        name.as_str(),
        "torch.empty" | "torch.zeros" | "torch.ones" | "torch.full" | "torch.empty_strided" | "torch.arange"
    );
    let number = matches!(name.as_str(), "int" | "float" | "bool" | "range" | "str");
    let positional = call
        .args
        .iter()
        .find(|a| a.kind == ArgKind::Positional && may_hold_tensor(scope, a.value, 8));
    if let (true, Some(arg)) = (sizes || number, positional) {
        return Err(format!(
            "the shape of its result depends on the values of `{}`",
            short(scope, arg.value)
        ));
    }
    if name == "torch.repeat_interleave" && repeats_by_value(scope, call, 1) {
        return Err(format!("the shape of its result depends on values (`{name}`)"));
    }
    if READ_FUNCTIONS.contains(&name.as_str()) {
        return Err(format!("the shape of its result depends on values (`{name}`)"));
    }
    if let Some(function) = find_function(scope.program, &name, 8) {
        if tensor_arg.is_some() && keeps_results(scope, function) {
            return Err(format!("its result comes from `{text}`, which keeps tensors from call to call"));
        }
        // A size that torch traces is no key of a dict.
        let size = |a: &crate::facts::Arg| {
            matches!(scope.kind(a.value), Kind::Int | Kind::Shape | Kind::Unknown) && !matches!(body.op(a.value), Op::Const(_))
        };
        if call.args.iter().any(size) && keeps_results(scope, function) {
            return Err(format!("its result comes from `{text}`, which looks sizes up in a cache"));
        }
        return helper_reads_no_data(scope, calls, function, &text, 3);
    }
    let known = name.starts_with("torch.") || name.starts_with("triton.") || name.starts_with("math.") || !name.contains('.');
    if let (false, Some(arg)) = (known, tensor_arg) {
        doubts.push(format!("`{text}`, which is given `{}`, is not in view", short(scope, arg.value)));
    }
    Ok(())
}

/// A tensor, or a number that is one on some path, or a display with such a part.
fn may_hold_tensor(scope: &Scope, value: ValueId, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let body = scope.body();
    let held = |v: ValueId| may_hold_tensor(scope, v, depth);
    match body.op(value) {
        _ if scope.kind(value) == Kind::Tensor => true,
        Op::Select(_, a, b) | Op::Binary(_, a, b) => held(a) || held(b),
        Op::Unary(_, a) => held(a),
        Op::Tuple(items) | Op::List(items) | Op::Phi(items) | Op::Or(items) => body.items(items).iter().any(|&v| v < value && held(v)),
        _ => false,
    }
}

/// A helper that the fake would call: no launch and no value is read in it, as far as it is looked into.
fn helper_reads_no_data(scope: &Scope, calls: &Calls, helper: FunctionRef, text: &str, depth: u32) -> Result<(), Refused> {
    if calls.launches_itself(helper) {
        return Err(format!("its result comes from `{text}`, which launches a kernel itself"));
    }
    let inner = Scope::new(scope.program, scope.knowledge, helper);
    for call in &inner.body().calls {
        let reads = match inner.body().op(call.callee) {
            Op::Attr(object, method) => {
                let method = inner.name(method);
                let by_value = method == "repeat_interleave" && inner.kind(object) == Kind::Tensor && repeats_by_value(&inner, call, 0);
                by_value || ["item", "tolist", "data_ptr", "numpy", "nonzero", "masked_select", "unique"].contains(&method)
            }
            _ => false,
        };
        let name = inner.dotted(call.callee);
        let by_value = name.as_deref() == Some("torch.repeat_interleave") && repeats_by_value(&inner, call, 1);
        let number = matches!(name.as_deref(), Some("int" | "float" | "bool"));
        let of_tensor = number && call.args.iter().any(|a| inner.kind(a.value) == Kind::Tensor);
        if reads || by_value || of_tensor || name.is_some_and(|n| READ_FUNCTIONS.contains(&n.as_str())) {
            return Err(format!("its result comes from `{text}`, which reads values"));
        }
        if depth > 0
            && call.decorates.is_none()
            && let Some(next) = inner.project_function(call.callee)
            && next != helper
        {
            helper_reads_no_data(&inner, calls, next, text, depth - 1)?;
        }
    }
    Ok(())
}

/// `repeat_interleave(counts)`: the size of the result is the sum of the counts, unless it is told or the count is a number.
fn repeats_by_value(scope: &Scope, call: &Call, position: usize) -> bool {
    let told = call
        .args
        .iter()
        .any(|a| matches!(a.kind, ArgKind::Keyword(n) if scope.name(n) == "output_size"));
    let count = call.args.iter().enumerate().find(|(i, a)| match a.kind {
        ArgKind::Positional => *i == position,
        ArgKind::Keyword(n) => scope.name(n) == "repeats",
        ArgKind::Star | ArgKind::StarStar => false,
    });
    !told && count.is_none_or(|(_, a)| scope.kind(a.value) != Kind::Int)
}

/// A decorator keeps the function's results: fake tensors must not get in there.
fn keeps_results(scope: &Scope, function: FunctionRef) -> bool {
    let decorators = &scope.program.function(function).decorators;
    let source = &scope.program.file(function.file).source;
    decorators.iter().any(|d| {
        let text = source.slice(d.span);
        text.split('(').next().unwrap_or_default().contains("cache")
    })
}

fn nested_reads_no_data(scope: &Scope, function: FunctionId) -> Result<(), Refused> {
    let inner = Scope::new(
        scope.program,
        scope.knowledge,
        FunctionRef {
            file: scope.at.file,
            function,
        },
    );
    let reads = inner.body().calls.iter().any(|call| match inner.body().op(call.callee) {
        Op::Attr(_, method) => READ_METHODS.contains(&inner.name(method)),
        _ => false,
    });
    if reads {
        Err("a nested function that its result needs reads values".to_string())
    } else {
        Ok(())
    }
}

/// The text of a value, for a message.
pub(super) fn short(scope: &Scope, value: ValueId) -> String {
    let text = scope.text(scope.body().value(value).span);
    let text: Vec<&str> = text.split_whitespace().collect();
    let text = text.join(" ");
    if text.chars().count() <= 40 {
        text
    } else {
        format!("{}…", text.chars().take(39).collect::<String>())
    }
}
