//! Facts of all files in, [`Program`] out: the only place that sees the whole project.

mod calls;
pub(crate) mod conditions;
mod functions;
mod host;
mod kernels;
mod launches;
mod modules;
mod registry;
mod resolve;
mod schema;
mod types;

use crate::knowledge::Knowledge;
use crate::program::{KernelId, Program, ProgramFile, Registrar};
use host::Host;
use registry::Registry;
use resolve::Resolver;
use rustc_hash::FxHashMap;

/// What `link` must be told of the settings.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Torch version, (major, minor).
    pub torch: (u32, u32),
    /// Further hot roots, dotted.
    pub hot: Vec<String>,
    /// Dotted prefixes of modules, classes or functions that always run without grad; `*` as a part matches any one part.
    pub inference_only: Vec<String>,
    /// Names of folders that hold copies of other projects.
    pub vendored: Vec<String>,
}

/// Links the project. `files` are sorted by path.
pub fn link(files: Vec<ProgramFile>, knowledge: &Knowledge, options: &Options) -> Program {
    let modules = modules::Modules::new(&files, &options.vendored);
    let resolver = Resolver::new(&files, &modules, knowledge);
    let found = kernels::kernels(&resolver, knowledge);
    let effects: FxHashMap<_, _> = found.iter().map(|(k, e)| (k.function, e.clone())).collect();
    let ids: FxHashMap<_, _> = found
        .iter()
        .enumerate()
        .map(|(i, (k, _))| (k.function, KernelId(i as u32)))
        .collect();
    let mut registry = Registry::new(knowledge);
    let mut ops = registry::ops(&resolver, &mut registry);
    registry.learn_ops(knowledge, &ops);
    let host = Host::new(&resolver, knowledge, &effects, &registry);
    let candidates = launches::candidates(&host);
    let linked = functions::assemble(&host, options, &ids, candidates, &ops);
    let mut kernels: Vec<_> = found.into_iter().map(|(k, _)| k).collect();
    for launch in linked.functions.iter().flat_map(|f| &f.launches).chain(&linked.loose) {
        for kernel in &launch.kernels {
            kernels[kernel.0 as usize].launched = true;
        }
    }
    let by_function = linked.functions.iter().enumerate().map(|(i, f)| (f.function, i)).collect();
    for op in &mut ops {
        op.func = op
            .implementation
            .and_then(|f| linked.functions.binary_search_by_key(&f, |x| x.function).ok());
    }
    let frameworks = frameworks(&files, knowledge);
    let registrars = registrars(&registry);
    let imports = modules::import_closure(&modules, &files);
    Program {
        kernels,
        functions: linked.functions,
        ops,
        registrars,
        loose_launches: linked.loose,
        by_function,
        modules: modules.sorted(),
        frameworks,
        imports,
        files,
    }
}

/// The project's own registrars, each once.
fn registrars(registry: &Registry) -> Vec<Registrar> {
    let own = registry.registrars.iter().filter_map(|r| {
        Some(Registrar {
            function: r.function?,
            calls: r.calls.clone(),
        })
    });
    let mut own: Vec<Registrar> = own.collect();
    own.sort_by_key(|r| r.function);
    own.dedup_by_key(|r| r.function);
    own
}

/// The frameworks that the project is, then those that it imports from; by name within each.
fn frameworks(files: &[ProgramFile], knowledge: &Knowledge) -> Vec<String> {
    let top = |module: &str| module.split('.').next().unwrap_or(module).to_owned();
    let own: std::collections::BTreeSet<String> = files.iter().map(|f| top(&f.module)).collect();
    let mut imported: std::collections::BTreeSet<String> = std::collections::BTreeSet::new();
    for file in files {
        for import in file.facts.imports.iter().filter(|i| i.level == 0) {
            let module = file.facts.name(import.module);
            let package = module.split('.').next().unwrap_or(module);
            if !own.contains(package) && !imported.contains(package) {
                imported.insert(package.to_owned());
            }
        }
    }
    let is =
        |set: &std::collections::BTreeSet<String>, f: &crate::knowledge::frameworks::Framework| f.packages.iter().any(|p| set.contains(p));
    let mut names: Vec<String> = knowledge
        .frameworks
        .iter()
        .filter(|f| is(&own, f))
        .map(|f| f.name.clone())
        .collect();
    names.extend(
        knowledge
            .frameworks
            .iter()
            .filter(|f| !is(&own, f) && is(&imported, f))
            .map(|f| f.name.clone()),
    );
    names
}
