//! Outlining: the statements around a launch become an op of the module, and the function calls it in their place.
//!
//! For methods, closures and everything else that cannot be an op as it stands. What the statements need is handed over
//! as parameters (`self.x` too); what they allocate is returned where all of it is new, else it is allocated before.

mod evidence;
mod inputs;
mod launch;
mod live;
mod prelude;
mod region;
mod repeat;
mod share;
mod text;
mod types;
mod values;

use super::names::{self, Chosen, Source};
use super::scope::{Kind, Scope};
use super::signature::Base;
use super::slice::Refused;
use super::styles::{self, Route};
use super::{Calls, Rewrite, safety};
use crate::facts::{Call, MODULE, Op, ValueId};
use crate::finding::Edit;
use crate::knowledge::torch::{Effect, Shares};
use crate::program::{Func, Inline, KernelId, Program};
use crate::source::Span;
use evidence::Evidence;
use live::Liveness;
use region::{Outliner, Region};
use share::{Shape, Shared};
use std::cell::Cell;
use types::Types;
pub(super) use types::is_method_of;

/// An outlining, decided and written.
#[derive(Debug)]
pub(super) struct Outlined {
    pub(super) style: String,
    /// Qualified names of the new ops.
    pub(super) ops: Vec<String>,
    /// Parameters that the ops declare as mutated.
    pub(super) mutates: Vec<String>,
    pub(super) doubts: Vec<String>,
    /// Why the function cannot be an op as a whole.
    pub(super) part: Vec<String>,
    pub(super) edits: Vec<Edit>,
}

/// Moves the launches of a function into ops of the module.
pub(super) fn outline(rewrite: &Rewrite, func: &Func) -> Result<Outlined, Vec<String>> {
    let one = |why: String| vec![why];
    let scope = Scope::typed(&rewrite.types, func.function);
    let blockers = safety::of_outlined(&scope);
    if !blockers.is_empty() {
        return Err(blockers);
    }
    let route = styles::route(&scope, &rewrite.options.style, func).map_err(one)?;
    if let Route::House(_, style) = route
        && rewrite.loading.closes_cycle(func.function.file, &style.module)
    {
        return Err(one(format!("importing `{}` here would close a circle of imports", style.module)));
    }
    let launches = launches(func).map_err(one)?;
    let is_one_device = matches!(&route, Route::House(_, style) if style.one_device);
    let mut regions = regions(&scope, &rewrite.calls, func, &launches, is_one_device).map_err(one)?;
    let namespace = rewrite.namespace(&scope, &route);
    let mut outlined = Outlined {
        style: route.name().to_string(),
        ops: Vec::new(),
        mutates: Vec::new(),
        doubts: safety::of_region_route(&scope, func, &route, regions.iter().any(|r| r.inputs.iter().any(|i| i.written))),
        part: Vec::new(),
        edits: Vec::new(),
    };
    let own = stem(rewrite.program, func);
    if rewrite.names.is_doubled(func.function.file, &own) {
        return Err(one("another function of the file would give its op the same name".to_string()));
    }
    let site = text::Site {
        scope: &scope,
        route: &route,
        namespace: &namespace,
        torch: rewrite.options.torch,
    };
    let unnamed = Chosen::default();
    let shapes: Vec<Option<Shape>> = regions.iter().map(|region| Shape::of(&site.outline(&unnamed, region))).collect();
    let shared = share::shared(&shapes, &mut regions);
    let own_op: Vec<usize> = (0..regions.len()).filter(|&i| shared[i].is_none()).collect();
    let kernels: Vec<Vec<KernelId>> = regions.iter().map(|region| kernels_of(&scope, func, region)).collect();
    let only: Vec<Option<String>> = kernels
        .iter()
        .map(|k| names::only_kernel(rewrite.program, k.iter().copied()))
        .collect();
    let inner = matches!(func.inline, Some(Inline::Method | Inline::Closure));
    let source = |kernel| Source {
        file: func.function.file,
        own: &own,
        kernel,
        part: inner,
    };
    let kernel = only[0].as_deref().filter(|_| own_op.len() == 1);
    let whole = rewrite.names.choose_for(rewrite.program, &source(kernel), &namespace);
    let partial = own_op.len() > 1 || !inner && kernel.is_some() && does_more(&scope, &rewrite.calls, &regions[0]);
    let mut taken: Vec<Chosen> = Vec::new();
    for (i, region) in regions.iter().enumerate() {
        if is_one_device {
            one_device(&scope, region).map_err(one)?;
        }
        outlined.doubts.extend(region.doubts.iter().cloned());
        if let Some(Shared { owner, arguments }) = &shared[i] {
            let names = own_op.iter().position(|o| o == owner).map(|at| &taken[at]);
            let edits = names
                .map(|names| site.outline(names, region).calls(arguments))
                .transpose()
                .map_err(one)?;
            outlined.edits.extend(edits.into_iter().flatten());
            continue;
        }
        let first = kernels[i].first().map(|&k| names::kernel_name(rewrite.program, k));
        let part = match first.as_deref().unwrap_or("launch") {
            part if own_op.len() > 1 || names::adds_to(part, &own) => part,
            _ => "kernel",
        };
        let names = if partial {
            rewrite
                .names
                .part(rewrite.program, &source(only[i].as_deref()), &whole, part, &namespace, &taken)
        } else {
            whole.clone()
        };
        outlined.edits.extend(site.outline(&names, region).edits().map_err(one)?);
        outlined.ops.push(format!("{namespace}::{}", names.op));
        outlined
            .mutates
            .extend(region.inputs.iter().filter(|i| i.written).map(|i| i.param.clone()));
        taken.push(names);
    }
    // Ops at one place stand in the order of their launches.
    outlined.edits.sort_by_key(|edit| edit.span);
    let all = std::mem::take(&mut outlined.edits);
    for edit in all {
        if !outlined.edits.contains(&edit) {
            outlined.edits.push(edit);
        }
    }
    text::close_gaps(&scope.source().text, &mut outlined.edits);
    outlined.doubts.sort();
    outlined.doubts.dedup();
    Ok(outlined)
}

/// The function computes more than what moves: its name would promise too much.
fn does_more(scope: &Scope, calls: &Calls, region: &Region) -> bool {
    let body = scope.body();
    let own = region.range.statements().iter().chain(region.prelude.iter().map(|(id, _)| id));
    let moved: Vec<(ValueId, ValueId)> = own.map(|id| body.statements[id.index()].values).collect();
    let torch = &scope.knowledge.torch;
    let computes = |value: ValueId, call: &Call| {
        let fresh = |name: &str, effect: Option<&Effect>| {
            let allocates = name.ends_with("_like") || name.starts_with("new_") || name == "clone";
            let made = |e: &Effect, r: &Shares| match r {
                Shares::View(of) | Shares::Maybe(of) | Shares::Views(of) => of.iter().all(|&p| &*e.params[p as usize] == "out"),
                Shares::Fresh | Shares::FreshList => true,
                Shares::Scalar => false,
            };
            !allocates && effect.is_some_and(|e| !e.results.is_empty() && e.results.iter().all(|r| made(e, r)))
        };
        match body.op(call.callee) {
            Op::Attr(object, name) if scope.kind(object) == Kind::Tensor => fresh(scope.name(name), torch.method(scope.name(name))),
            _ => {
                let name = scope.dotted(call.callee).unwrap_or_default();
                let given = call.args.iter().any(|a| scope.kind(a.value) == Kind::Tensor);
                let last = name.rsplit('.').next().unwrap_or_default();
                calls.launcher_called(scope.at, value).is_some() || given && fresh(last, torch.function(&name))
            }
        }
    };
    let work = body.iter().filter(|(id, value)| match value.op {
        Op::Call(call) => !moved.iter().any(|range| range.0 <= *id && *id < range.1) && computes(*id, body.call(call)),
        _ => false,
    });
    work.count() > 1
}

/// The values of a function's launches and calls of kernels.
fn launches(func: &Func) -> Result<Vec<ValueId>, Refused> {
    let values: Option<Vec<ValueId>> = func.launches.iter().map(|l| l.value).collect();
    let mut values = values.ok_or("a decorator launches it")?;
    values.extend(func.kernel_calls.iter().map(|c| c.value));
    values.sort_unstable();
    values.dedup();
    if values.is_empty() {
        return Err("it launches nothing itself".to_string());
    }
    Ok(values)
}

fn regions(scope: &Scope, calls: &Calls, func: &Func, launches: &[ValueId], one_device: bool) -> Result<Vec<Region>, Refused> {
    let evidence = Evidence::gather(scope, func);
    let types = Types {
        scope,
        evidence: &evidence,
    };
    for (value, op) in scope.body().iter().map(|(id, v)| (id, v.op)) {
        // What the module calls by the name of a captured variable is something else.
        if let Op::Free(name) = op
            && types.enclosing(name).is_some()
        {
            let kind = types
                .join(&[value])
                .map_or(Kind::Unknown, |typed| match (typed.ty.base, typed.ty.list) {
                    (Base::Tensor, false) => Kind::Tensor,
                    (Base::Int, false) => Kind::Int,
                    (Base::Float, false) => Kind::Float,
                    (Base::Bool, false) => Kind::Bool,
                    _ => Kind::Unknown,
                });
            scope.assume(value, kind);
        }
    }
    let outliner = Outliner {
        scope,
        calls,
        func,
        types,
        liveness: Liveness::new(scope.source(), scope.function()),
        bindings: values::Bindings::new(scope.function()),
        nested: live::captured(scope.facts(), scope.at.function, Span::at(0)),
        locals: values::locals(scope.facts(), scope.function()),
        tuples: Cell::default(),
        one_device,
        definitions: repeat::Definitions::default(),
    };
    let mut regions = outliner.regions(launches)?;
    outliner.settle(&mut regions);
    Ok(regions)
}

/// An op that is registered for one device needs a tensor in every call, and no branch for another device.
fn one_device(scope: &Scope, region: &Region) -> Result<(), Refused> {
    let body = scope.body();
    let statements = region.range.statements();
    let all = || statements.iter().map(|s| &body.statements[s.index()].values);
    let inside = |v: ValueId| all().any(|range| range.0 <= v && v < range.1);
    if let Some(place) = safety::cpu_branch(scope, &inside) {
        return Err(format!(
            "it has a branch for other devices (`{place}`), and the op would be registered for one"
        ));
    }
    if !region.inputs.iter().any(|i| i.ty.is_tensor() && !i.ty.optional && !i.ty.list) {
        return Err("a call may have no tensor argument, and the op would be registered for one device".to_string());
    }
    Ok(())
}

/// The kernels that a region may launch, in order.
fn kernels_of(scope: &Scope, func: &Func, region: &Region) -> Vec<KernelId> {
    let body = scope.body();
    let spans = region.range.statements().iter().map(|s| body.statements[s.index()].span);
    let span = spans.reduce(|a, b| a.to(b));
    let own = func
        .launches
        .iter()
        .filter(|l| span.is_some_and(|span| span.contains(l.place.span)));
    own.flat_map(|l| &l.kernels).copied().collect()
}

/// What the op of a function is named after, before clashes are looked for: methods carry the name of their class.
pub(super) fn stem(program: &Program, func: &Func) -> String {
    let function = program.function(func.function);
    let name = program.function_name(func.function);
    let facts = &program.file(func.function.file).facts;
    let Some(class) = function.class else {
        if function.parent == MODULE {
            return name.to_string();
        }
        let parts: Vec<&str> = facts.name(function.qualname).split('.').filter(|p| *p != "<locals>").collect();
        let is_class = |p: &&&str| facts.classes.iter().any(|c| facts.name(c.name) == **p);
        let parts: Vec<String> = parts
            .iter()
            .map(|p| Some(p).filter(is_class).map_or_else(|| snake(p), |p| short(&snake(p)).to_string()))
            .collect();
        return parts.join("_");
    };
    let class = snake(facts.name(facts.classes[class.index()].name));
    let class = short(&class);
    match name.trim_matches('_') {
        "call" if name == "__call__" => class.to_string(),
        method if method.starts_with(class) => method.to_string(),
        method => format!("{class}_{method}"),
    }
}

/// A class without what says that it is a function.
fn short(class: &str) -> &str {
    let short = ["_function", "_func", "_fn"].iter().find_map(|end| class.strip_suffix(end));
    short.filter(|s| !s.is_empty()).unwrap_or(class)
}

/// `FusedRMSNorm` as `fused_rms_norm`.
fn snake(name: &str) -> String {
    let chars: Vec<char> = name.trim_matches('_').chars().collect();
    let mut out = String::new();
    for (i, &c) in chars.iter().enumerate() {
        let before = i.checked_sub(1).map(|b| chars[b]);
        let next = chars.get(i + 1);
        let starts = c.is_uppercase()
            && !ends_acronym(&chars, i)
            && before.is_some_and(|b| b != '_' && (!b.is_uppercase() || next.is_some_and(|n| n.is_lowercase() && i + 1 < chars.len())));
        if starts && !out.ends_with('_') {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// The `E` of `MoE`, the `P` of `RoPE`: two letters, then capitals to the end of the word.
fn ends_acronym(chars: &[char], at: usize) -> bool {
    let word = at >= 2 && chars[at - 2].is_uppercase() && chars[at - 1].is_lowercase() && (at < 3 || !chars[at - 3].is_uppercase());
    let word = word
        && !matches!(
            (chars[at - 2], chars[at - 1]),
            ('T', 'o') | ('O', 'f') | ('I' | 'O', 'n') | ('B', 'y')
        );
    let capitals = chars[at..].iter().take_while(|c| c.is_uppercase()).count();
    let next = chars.get(at + capitals);
    // `LoRAExpert`: the last capital begins the next word.
    let capitals = if next.is_some_and(|c| c.is_lowercase()) {
        capitals - 1
    } else {
        capitals
    };
    word && (1..=2).contains(&capitals)
}

#[cfg(test)]
mod tests {
    use super::snake;

    #[test]
    fn class_names_become_names_of_ops() {
        assert_eq!(snake("FusedRMSNorm"), "fused_rms_norm");
        assert_eq!(snake("LigerRMSNormFunction"), "liger_rms_norm_function");
        assert_eq!(snake("_attention"), "attention");
        assert_eq!(snake("MLA2Fn"), "mla2_fn");
        assert_eq!(snake("LigerFusedMoEFunction"), "liger_fused_moe_function");
        assert_eq!(snake("TrtLlmLoRAExpertsBase"), "trt_llm_lora_experts_base");
        assert_eq!(snake("ApplyRoPE"), "apply_rope");
        assert_eq!(snake("QkNorm"), "qk_norm");
        assert_eq!(snake("TokenToKVPool"), "token_to_kv_pool");
    }
}
