//! Kernels: which parameters of each kernel and device function are read and written, and when.
//!
//! Each function is read once into a [`summary::Summary`] over its own parameters; calls substitute what they pass. An address is
//! known by its base, the parameter that pointer arithmetic started from, never by its offsets.

mod assembly;
mod bind;
mod callee;
mod find;
mod flow;
mod hooks;
mod kinds;
mod launched;
mod record;
mod summary;
mod terms;
#[cfg(test)]
mod tests;
mod value;

use super::conditions::{Binding, Condition};
use super::resolve::Resolver;
use crate::facts::FunctionId;
use crate::knowledge::Knowledge;
use crate::program::{FunctionRef, Kernel, Step, Write};
use crate::source::FileId;
pub(crate) use kinds::Kind;
use summary::Analysis;

/// What one kernel does to its parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct KernelEffects {
    /// Parameters that are read. Sorted.
    pub(crate) reads: Vec<u16>,
    /// Parameters that are written: one entry each, sorted.
    pub(crate) writes: Vec<GuardedWrite>,
    /// Parameters that hold addresses through which memory is written.
    pub(crate) pointees: Vec<GuardedWrite>,
    /// Parameters of which it cannot be known, with the reason. Disjoint from `writes`; sorted.
    pub(crate) unresolved: Vec<(u16, String)>,
    /// Parameters that `triton.heuristics` computes from the others. A launch does not pass them.
    pub(crate) heuristics: Vec<(u16, Binding)>,
    /// What each parameter is.
    pub(crate) kinds: Vec<Kind>,
    /// Its language is not read.
    pub(crate) opaque: bool,
}

/// A write and when it happens, over the kernel's parameters as they come in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GuardedWrite {
    /// The parameter.
    pub(crate) param: u16,
    /// It happens only under this condition.
    pub(crate) when: Condition,
    /// From the store outward.
    pub(crate) chain: Vec<Step>,
}

/// All kernels and device functions with their effects, sorted by place.
pub(crate) fn kernels(resolver: &Resolver, knowledge: &Knowledge) -> Vec<(Kernel, KernelEffects)> {
    let found = find::kernels(resolver, knowledge);
    let mut analysis = Analysis::new(resolver, &knowledge.triton, found.iter().map(|k| k.function));
    for kernel in found.iter().filter(|k| k.readable) {
        analysis.summary(kernel.function);
    }
    analysis.settle_kinds();
    found
        .into_iter()
        .map(|kernel| {
            let mut effects = if kernel.readable {
                analysis.effects(kernel.function)
            } else {
                opaque(resolver, &kernel)
            };
            hooks::apply(resolver, kernel.function, &mut effects);
            (finished(kernel, &effects), effects)
        })
        .collect()
}

fn finished(found: find::Found, effects: &KernelEffects) -> Kernel {
    let write = |w: &GuardedWrite| Write {
        param: w.param,
        maybe_copy: None,
        chain: w.chain.clone(),
    };
    Kernel {
        function: found.function,
        dialect: found.dialect,
        reads: effects.reads.clone(),
        writes: effects.writes.iter().map(write).collect(),
        writes_pointees: effects.pointees.iter().map(write).collect(),
        unresolved: effects.unresolved.clone(),
        launched: false,
        decorators: found.decorators,
    }
}

/// A kernel whose language is not read: each parameter that is no plain number may be written.
fn opaque(resolver: &Resolver, kernel: &find::Found) -> KernelEffects {
    let params = &resolver.function(kernel.function).params;
    let mut kinds = vec![Kind::Unknown; params.len()];
    let mut unresolved = Vec::new();
    for (i, kind) in kinds.iter_mut().enumerate() {
        *kind = kinds::declared(resolver, kernel.function, i as u16);
        let is_self = i == 0 && resolver.function(kernel.function).class.is_some();
        if *kind != Kind::Scalar && !is_self {
            unresolved.push((i as u16, format!("a {} kernel is not read", kernel.dialect)));
        }
    }
    KernelEffects {
        unresolved,
        kinds,
        opaque: true,
        ..KernelEffects::default()
    }
}

/// The function of a file's index.
fn at(file: FileId, function: FunctionId) -> FunctionRef {
    FunctionRef { file, function }
}
