//! Facts of all files in, [`Program`] out: the only place that sees the whole project.

mod calls;
pub(crate) mod conditions;
mod dispatch;
mod functions;
mod host;
mod kernels;
mod launches;
mod modules;
mod outside;
mod reach;
mod receivers;
mod registry;
mod resolve;
mod schema;
mod standing;
mod types;

use crate::knowledge::Knowledge;
use crate::knowledge::frameworks::Framework;
use crate::program::{KernelId, Program, ProgramFile, Registrar};
use crate::words::Word;
use host::Host;
use registry::Registry;
use resolve::Resolver;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

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
    // Read whatever else they say: their syntax errors are told.
    let speak = [Word::of("opwright"), Word::of("triton")];
    resolver.files_where(|id, words| files[id.index()].named || words.has_any(&speak));
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
    let mut candidates = launches::candidates(&host);
    let outside = outside::calls(&host, &found);
    candidates.add(outside.iter().map(|(f, _)| *f));
    let linked = functions::assemble(&host, options, &ids, candidates, outside, &ops);
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
    let frameworks = frameworks(&resolver, knowledge);
    let registrars = registrars(&registry);
    let read = resolver.read.files();
    Program {
        kernels,
        functions: linked.functions,
        ops,
        registrars,
        loose_launches: linked.loose,
        by_function,
        modules: modules.sorted(),
        frameworks,
        read,
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
fn frameworks(resolver: &Resolver, knowledge: &Knowledge) -> Vec<String> {
    let top = |module: &str| module.split('.').next().unwrap_or(module).to_owned();
    let own: BTreeSet<String> = resolver.files.iter().map(|f| top(&f.module)).collect();
    let is = |f: &&Framework| f.packages.iter().any(|p| own.contains(p));
    let imported = |f: &&Framework| f.packages.iter().any(|p| is_imported(resolver, p));
    let own_first = knowledge.frameworks.iter().filter(is);
    let then = knowledge.frameworks.iter().filter(|f| !is(f)).filter(imported);
    own_first.chain(then).map(|f| f.name.clone()).collect()
}

/// Whether some file imports from a package. A text with `import package` or `from package` is asked for its facts.
fn is_imported(resolver: &Resolver, package: &str) -> bool {
    let word = Word::of(package);
    let phrases = [format!("import {package}"), format!("from {package}")];
    let may = |file: &&ProgramFile| {
        file.words.has(word)
            && phrases
                .iter()
                .any(|p| memchr::memmem::find(file.source.text.as_bytes(), p.as_bytes()).is_some())
    };
    resolver.files.iter().filter(may).any(|file| {
        let of = |module: &str| module.split('.').next() == Some(package);
        file.facts.imports.iter().any(|i| i.level == 0 && of(file.facts.name(i.module)))
    })
}
