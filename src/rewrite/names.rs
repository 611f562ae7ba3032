//! New names that nothing else has: ops, private functions, the library object.

use crate::facts::Facts;
use crate::knowledge::Knowledge;
use crate::program::{Func, KernelId, Program};
use crate::source::FileId;
use std::collections::{BTreeMap, BTreeSet};

/// Op names of a project: those that exist, and those that its launchers would take.
#[derive(Debug, Default)]
pub(super) struct OpNames {
    /// `ns::name` of registered ops.
    taken: BTreeSet<String>,
    /// Plain name → functions of interest with that plain name. A function that a fix has turned into `_f_impl` counts
    /// as `f`, so that a name is the same in every round.
    wanted: BTreeMap<String, Owners>,
    /// What a kernel is named after → functions that launch it, by their plain names.
    launched: BTreeMap<String, Owners>,
    /// Names that two methods or closures of one file would take.
    doubled: Owners,
}

/// Functions, as file and name.
type Owners = BTreeSet<(FileId, String)>;

/// Names for one launcher.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Chosen {
    /// The op, without the namespace.
    pub(super) op: String,
    /// What private functions are named after.
    pub(super) stem: String,
}

/// What an op can be named after.
pub(super) struct Source<'n> {
    pub(super) file: FileId,
    /// The function's name, with that of its class.
    pub(super) own: &'n str,
    /// The one kernel that it launches.
    pub(super) kernel: Option<&'n str>,
    /// It is a part of a function that may do much more: the kernel's name says better what it does.
    pub(super) part: bool,
}

impl OpNames {
    pub(super) fn new(program: &Program, knowledge: &Knowledge) -> Self {
        let mut names = Self::default();
        names
            .taken
            .extend(program.ops.iter().filter(|op| !op.disabled).map(|op| op.name.clone()));
        let schemas = knowledge.frameworks.iter().flat_map(|f| &f.schemas);
        names
            .taken
            .extend(schemas.map(|s| s.split('(').next().unwrap_or_default().trim().to_string()));
        for func in &program.functions {
            let name = match func.inline {
                None => program.function_name(func.function).to_string(),
                Some(_) => super::outline::stem(program, func),
            };
            let plain = plain(&name).to_string();
            for &kernel in func.launches.iter().flat_map(|l| &l.kernels) {
                let launchers = names.launched.entry(kernel_name(program, kernel)).or_default();
                launchers.insert((func.function.file, plain.clone()));
            }
            let wanted = names.wanted.entry(plain).or_default();
            let own = (func.function.file, name);
            if func.inline.is_some() && !wanted.insert(own.clone()) {
                names.doubled.insert(own);
            } else {
                wanted.insert(own);
            }
        }
        names
    }

    /// Two methods or closures of the file would take this name.
    pub(super) fn is_doubled(&self, file: FileId, name: &str) -> bool {
        self.doubled.contains(&(file, name.to_string()))
    }

    /// The names of a launcher's op.
    pub(super) fn choose(&self, program: &Program, func: &Func, namespace: &str) -> Chosen {
        let kernel = only_kernel(program, func.launches.iter().flat_map(|l| &l.kernels).copied());
        let source = Source {
            file: func.function.file,
            own: program.function_name(func.function),
            kernel: kernel.as_deref(),
            part: false,
        };
        self.choose_for(program, &source, namespace)
    }

    /// The names of an op: the function's or the kernel's where nothing else has it, else with what tells the module from others.
    pub(super) fn choose_for(&self, program: &Program, source: &Source, namespace: &str) -> Chosen {
        let named = |name: &str| Chosen {
            op: name.to_string(),
            stem: name.to_string(),
        };
        let plainly = |name: &String| source.kernel.is_some_and(|kernel| kernel == name);
        let kernel = source
            .kernel
            .and_then(|kernel| self.after_kernel(program, source, kernel, namespace));
        let own = source.own;
        let better = |name: &String| source.part && plainly(name) && !adds_nothing(&words(name), &words(own));
        if let Some(kernel) = kernel.as_ref().filter(|name| better(name)) {
            return named(kernel);
        }
        let rivals = || rivals(&self.wanted, plain(own), (source.file, own));
        let stem = if rivals().any(|f| f == source.file) { own } else { plain(own) }.to_string();
        let others: Vec<FileId> = rivals().filter(|f| *f != source.file).collect();
        // The one that stands highest keeps the plain name.
        if (others.is_empty() || is_highest(program, source.file, &others)) && self.is_free(namespace, &stem) {
            return Chosen { op: stem.clone(), stem };
        }
        if let Some(kernel) = kernel.filter(|name| source.part || plainly(name)) {
            return named(&kernel);
        }
        let distinct = self.distinct(program, source.file, &others, &stem, namespace);
        let op = distinct.unwrap_or_else(|| format!("{stem}_{}", source.file.0));
        Chosen { op, stem }
    }

    /// The kernel's name, where it says what the op does: plain where only this function launches the kernel.
    fn after_kernel(&self, program: &Program, source: &Source, kernel: &str, namespace: &str) -> Option<String> {
        let module = path_parts(program, source.file).last().copied();
        let wanted = rivals(&self.wanted, kernel, (source.file, source.own)).next().is_some();
        if wanted || !tells(kernel, source.own, module) {
            return None;
        }
        let others: Vec<FileId> = rivals(&self.launched, kernel, (source.file, plain(source.own))).collect();
        if (others.is_empty() || is_highest(program, source.file, &others)) && self.is_free(namespace, kernel) {
            return Some(kernel.to_string());
        }
        let elsewhere = !others.is_empty() && !others.contains(&source.file);
        let stutters = |name: &String| {
            let words: BTreeSet<&str> = name.split('_').collect();
            words.len() + 1 < name.split('_').count()
        };
        elsewhere
            .then(|| self.distinct(program, source.file, &others, kernel, namespace))
            .flatten()
            .filter(|name| !stutters(name))
    }

    /// The name with what the path of its module has and no other has.
    fn distinct(&self, program: &Program, file: FileId, others: &[FileId], stem: &str, namespace: &str) -> Option<String> {
        let own = path_parts(program, file);
        let theirs: BTreeSet<String> = others
            .iter()
            .flat_map(|f| runs(&path_parts(program, *f)))
            .map(|run| derived(&run, stem))
            .collect();
        let mut runs = runs(&own);
        // Few parts; words that the name has, and folders that every project has, say little; nearest to the function.
        runs.reverse();
        runs.sort_by_key(|run| (run.len(), says_little(run, stem)));
        let mut found = runs.iter().map(|run| derived(run, stem));
        found.find(|long| long != stem && !theirs.contains(long) && !self.wanted.contains_key(long) && self.is_free(namespace, long))
    }

    /// The names of one of several ops that a launcher is taken apart into: after its kernel, or after what tells it from the others.
    pub(super) fn part(&self, program: &Program, source: &Source, whole: &Chosen, part: &str, namespace: &str, taken: &[Chosen]) -> Chosen {
        let kernel = source
            .kernel
            .and_then(|kernel| self.after_kernel(program, source, kernel, namespace));
        let (op, stem) = match &kernel {
            Some(kernel) => (kernel.clone(), kernel.clone()),
            None => (joined(&whole.op, part, namespace), joined(&whole.stem, part, namespace)),
        };
        let own = |name: &str| name == whole.op || kernel.as_deref() == Some(name) || !self.wanted.contains_key(name);
        let free = |name: &str| !taken.iter().any(|t| t.op == name) && own(name) && self.is_free(namespace, name);
        if free(&op) {
            return Chosen { op, stem };
        }
        let number = (2..)
            .find(|i| free(&format!("{op}_{i}")))
            .expect("there are fewer ops than numbers");
        Chosen {
            op: format!("{op}_{number}"),
            stem: format!("{stem}_{number}"),
        }
    }

    fn is_free(&self, namespace: &str, name: &str) -> bool {
        !matches!(name, "name" | "default" | "") && !self.taken.contains(&format!("{namespace}::{name}"))
    }
}

/// Files of other functions of a name.
fn rivals<'s>(of: &'s BTreeMap<String, Owners>, name: &str, own: (FileId, &'s str)) -> impl Iterator<Item = FileId> + use<'s> {
    let all = of.get(name).into_iter().flatten();
    all.filter(move |(file, name)| (*file, name.as_str()) != own).map(|(file, _)| *file)
}

/// Folders that tell nothing of what is in them.
const FOLDERS: [&str; 8] = ["ops", "kernels", "layers", "modules", "utils", "common", "backends", "runtime"];

/// Words that tell how a kernel runs, not what it does.
const MANNERS: [&str; 8] = ["fwd", "bwd", "forward", "backward", "fused", "triton", "launch", "main"];

/// Words of a name that tell what it is about.
fn words(name: &str) -> Vec<&str> {
    name.split('_').filter(|w| w.len() > 1 && !MANNERS.contains(w)).collect()
}

/// A kernel's name says what it does, and no less than the function's: words of its own, besides one that the function or
/// the module has, or three.
fn tells(kernel: &str, own: &str, module: Option<&str>) -> bool {
    let (kernel, own) = (words(kernel), words(own));
    let shared = kernel
        .iter()
        .any(|w| own.contains(w) || words(module.unwrap_or_default()).contains(w));
    let less = adds_nothing(&kernel, &own) && !own.iter().all(|w| kernel.contains(w));
    kernel.len() > 1 && !less && (kernel.len() > 2 || shared)
}

fn adds_nothing(words: &[&str], to: &[&str]) -> bool {
    words.iter().all(|w| to.contains(w))
}

/// A kernel's name has words that a function's has not.
pub(super) fn adds_to(kernel: &str, own: &str) -> bool {
    !adds_nothing(&words(kernel), &words(own))
}

/// What an op is named after, when it is named after a kernel.
pub(super) fn kernel_name(program: &Program, kernel: KernelId) -> String {
    without_kernel(program.function_name(program.kernel(kernel).function))
}

fn without_kernel(name: &str) -> String {
    let name = plain(name);
    let words: Vec<&str> = name.split('_').filter(|w| !w.is_empty() && *w != "kernel").collect();
    if words.is_empty() { name.to_string() } else { words.join("_") }
}

/// What the one kernel among these gives as a name.
pub(super) fn only_kernel(program: &Program, kernels: impl Iterator<Item = KernelId>) -> Option<String> {
    let mut names: Vec<String> = kernels.map(|k| kernel_name(program, k)).collect();
    names.sort();
    names.dedup();
    names.pop().filter(|_| names.is_empty())
}

/// A name with what tells a part from others: words that it or the namespace has already are not said again.
fn joined(name: &str, part: &str, namespace: &str) -> String {
    if part == name || part.strip_prefix(name).is_some_and(|rest| rest.starts_with('_')) {
        return part.to_string();
    }
    let said: Vec<&str> = name.split('_').chain(namespace.split('_').filter(|w| *w != "kernel")).collect();
    let new: Vec<&str> = part.split('_').filter(|w| !said.contains(w)).collect();
    if new.is_empty() {
        return name.to_string();
    }
    let long = format!("{name}_{}", new.join("_"));
    let telling: Vec<&str> = new.iter().copied().filter(|w| !MANNERS.contains(w)).collect();
    match telling.as_slice() {
        [.., a, b] if long.len() > LONG => format!("{name}_{a}_{b}"),
        _ => long,
    }
}

/// Letters of a name that is hard to read; no name is cut for that alone.
const LONG: usize = 48;

/// The path of a file is shorter than all others.
fn is_highest(program: &Program, file: FileId, others: &[FileId]) -> bool {
    let length = |file: FileId| path_parts(program, file).len();
    others.iter().all(|&other| length(other) > length(file))
}

fn path_parts(program: &Program, file: FileId) -> Vec<&str> {
    let parts = program.file(file).module.split('.').map(|part| part.trim_matches('_'));
    parts.filter(|part| !part.is_empty()).collect()
}

/// Neighbouring parts of a path.
fn runs<'p>(parts: &[&'p str]) -> Vec<Vec<&'p str>> {
    let from = |start: usize| (start + 1..=parts.len()).map(move |end| parts[start..end].to_vec());
    (0..parts.len()).flat_map(from).collect()
}

/// How little parts of a path add to a name: words that it has, or none but those of common folders.
fn says_little(parts: &[&str], name: &str) -> usize {
    let path = parts.join("_");
    let goes_on = path.strip_prefix(name).is_some_and(|rest| rest.starts_with('_'));
    let repeated = if goes_on { 0 } else { repeated(&path, name) };
    2 * repeated + 3 * usize::from(parts.iter().all(|part| FOLDERS.contains(part)))
}

/// Words of a path that a name has too.
fn repeated(path: &str, name: &str) -> usize {
    path.split('_').filter(|w| name.split('_').any(|n| n == *w)).count()
}

/// Parts of the module path in front of a name; words that end the path and begin the name stand once, as do most of those that
/// both have elsewhere.
fn derived(parts: &[&str], name: &str) -> String {
    let path = parts.join("_");
    if path.strip_prefix(name).is_some_and(|rest| rest.starts_with('_')) {
        return path;
    }
    let ends = |start: &str| path == start || path.strip_suffix(start).is_some_and(|rest| rest.ends_with('_'));
    let starts = name.match_indices('_').map(|(at, _)| at).chain([name.len()]);
    let shared = starts.filter(|&at| ends(&name[..at])).max().unwrap_or(0);
    if shared == 0 && repeated(&path, name) > 1 {
        let new = path.split('_').filter(|w| w.len() > 1 && !name.split('_').any(|n| n == *w));
        let new: Vec<&str> = new.chain([name]).collect();
        if new.len() > 1 {
            return new.join("_");
        }
    }
    match name[shared..].trim_start_matches('_') {
        "" => path,
        rest => format!("{path}_{rest}"),
    }
}

/// A function's name without what marks it as private.
pub(super) fn plain(name: &str) -> &str {
    let trimmed = name.trim_start_matches('_');
    let base = trimmed.strip_suffix("_impl").filter(|_| name.starts_with('_')).unwrap_or(trimmed);
    if base.is_empty() { name } else { base }
}

/// A private name that occurs nowhere in the file: `_{name}_{role}`, if need be with a number.
pub(super) fn private(facts: &Facts, name: &str, role: &str) -> String {
    unused(facts, &format!("_{name}_{role}"))
}

/// The name itself, or with the first free number, such that it occurs nowhere in the file.
pub(super) fn unused(facts: &Facts, name: &str) -> String {
    let used = |name: &str| facts.names.iter().any(|n| &**n == name);
    if !used(name) {
        return name.to_string();
    }
    let numbered = (2..).map(|i| format!("{name}_{i}")).find(|n| !used(n));
    numbered.expect("a file has fewer names than there are numbers")
}

/// A text as a namespace of ops.
pub(super) fn identifier(text: &str) -> String {
    let mut name: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || matches!(name.as_str(), "prim" | "aten") {
        name.insert_str(0, "ops_");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_names_an_op_where_it_says_more() {
        assert!(tells("fill_short_context_topk_indices", "deepseek_v4_indexer_forward", None));
        assert!(tells("ring_slot_mapping", "compressor_metadata_builder_build", None));
        assert!(tells("parallel_based_fwd", "parallel_based_forward", None));
        assert!(!tells("gelu", "quick_gelu", None));
        assert!(!tells("rms_norm", "fused_add_rms_norm", None));
        assert!(!tells("copy_input", "chunk_attention_forward", None));
        assert!(tells("copy_input", "forward", Some("input_copies")));
        assert_eq!(without_kernel("_swiglu_forward_kernel_tiled"), "swiglu_forward_tiled");
        assert_eq!(without_kernel("_kernel"), "kernel");
    }

    #[test]
    fn a_fixed_function_keeps_its_plain_name() {
        assert_eq!(plain("_scale_impl"), "scale");
        assert_eq!(plain("_scale"), "scale");
        assert_eq!(plain("attention_impl"), "attention_impl");
        assert_eq!(derived(&["norm"], "rms"), "norm_rms");
        assert_eq!(derived(&["temp", "sgemm_lora_a"], "sgemm_lora_a_fwd"), "temp_sgemm_lora_a_fwd");
        assert_eq!(derived(&["chunk_h_split"], "chunk_fwd_h"), "split_chunk_fwd_h");
        assert_eq!(derived(&["act_quant_triton"], "act_quant"), "act_quant_triton");
        assert!(says_little(&["mla_buffer"], "set_mla_kv_buffer") > says_little(&["kvcache"], "set_mla_kv_buffer"));
        let joined = |name, part| joined(name, part, "my_kernel");
        assert_eq!(joined("jsd_forward", "kernel"), "jsd_forward_kernel");
        assert_eq!(joined("swiglu_forward", "swiglu_forward_tiled"), "swiglu_forward_tiled");
        assert_eq!(joined("attention_forward", "attention_qk"), "attention_forward_qk");
        assert_eq!(joined("scale", "scale"), "scale");
        assert_eq!(joined("forward", "add"), "forward_add");
        assert_eq!(joined("conv_bwd_gluon", "conv_bwd"), "conv_bwd_gluon");
        assert_eq!(joined("cross_entropy", "my_cross_entropy_forward"), "cross_entropy_forward");
        let long = joined("attention_backend_init_forward_metadata", "create_paged_kv_indices_triton");
        assert_eq!(long, "attention_backend_init_forward_metadata_kv_indices");
        assert_eq!(derived(&["ops", "rms"], "rms"), "ops_rms");
    }
}
