//! Facts about other people's APIs, read from the TOML files in `rules/`, which are part of the program.

pub mod cpp_ops;
pub mod error;
pub mod frameworks;
pub mod op_schema;
pub mod op_style;
pub mod outside;
pub mod torch;
pub mod triton;

pub use error::Error;
use frameworks::Framework;
use rustc_hash::FxHashSet;

/// The framework files, as (stem, text), sorted by stem.
const FRAMEWORKS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/frameworks.rs"));
const TORCH: &str = include_str!("../../rules/knowledge/torch.toml");
const TRITON: &str = include_str!("../../rules/knowledge/triton.toml");
const EMBEDDED: &str = "embedded knowledge is valid: a test reads it";

/// All that is known of other people's APIs.
#[derive(Debug)]
pub struct Knowledge {
    /// PyTorch's functions, methods and attributes.
    pub torch: torch::Torch,
    /// `triton.language`.
    pub triton: triton::Triton,
    /// Frameworks, sorted by name; `torch` itself is one (its registrars).
    pub frameworks: Vec<Framework>,
    /// Calls that hand back the function that they get.
    keeps_function: KeepsFunction,
}

impl Knowledge {
    /// What the program itself knows.
    pub fn embedded() -> Self {
        Self::with_overlays(&[]).expect(EMBEDDED)
    }

    /// What the program knows, and the framework files of a project's configuration, as (file name, text).
    /// An overlay whose stem is that of an embedded file adds to it.
    pub fn with_overlays(overlays: &[(&str, &str)]) -> Result<Self, Error> {
        let mut frameworks = Vec::with_capacity(FRAMEWORKS.len() + overlays.len());
        for (name, text) in FRAMEWORKS {
            frameworks.push(Framework::read(&format!("rules/frameworks/{name}.toml"), text)?);
        }
        for (file, text) in overlays {
            let overlay = Framework::read(file, text)?;
            match frameworks.iter_mut().find(|f| f.name == overlay.name) {
                Some(framework) => framework.extend(overlay),
                None => frameworks.push(overlay),
            }
        }
        frameworks.sort_by(|a, b| a.name.cmp(&b.name));
        let torch = torch::Torch::read("rules/knowledge/torch.toml", TORCH)?;
        Ok(Self {
            keeps_function: KeepsFunction::new(&frameworks),
            torch,
            triton: triton::Triton::read("rules/knowledge/triton.toml", TRITON)?,
            frameworks,
        })
    }

    /// Adds ops that the project's own C++ sources define.
    pub fn add_native(&mut self, schemas: Vec<String>) {
        if !schemas.is_empty() {
            self.frameworks.push(Framework {
                name: "native".into(),
                file: "the project's C++ sources".into(),
                schemas,
                ..Framework::default()
            });
        }
    }

    /// Whether a call hands back the function that it gets, perhaps wrapped (`torch.compile(f)`).
    pub fn keeps_function(&self, call: &str) -> bool {
        self.keeps_function.holds(call)
    }

    /// What a framework file says of a call that runs kernels past the dispatcher.
    pub fn bypass(&self, call: &str) -> Option<outside::Known<'_>> {
        outside::bypass(&self.frameworks, call)
    }

    /// A framework by the stem of its file.
    pub fn framework(&self, name: &str) -> Option<&Framework> {
        self.frameworks.iter().find(|f| f.name == name)
    }

    /// What is believed of a qualified name, and which file says so; `None` when nothing is.
    pub fn describe(&self, name: &str) -> Option<String> {
        let mut lines = Vec::new();
        if let Some(effect) = self.torch.function(name) {
            lines.push(format!("{name}{}\n  rules/knowledge/torch.toml", effect.text()));
        }
        if let Some(attribute) = name.strip_prefix("torch.Tensor.").and_then(|n| self.torch.attribute(n)) {
            lines.push(format!("{name}: {}\n  rules/knowledge/torch.toml", attribute.text()));
        }
        if let Some(effect) = self.triton.function(name) {
            lines.push(format!("{name}{}\n  rules/knowledge/triton.toml", effect.text()));
        }
        for framework in &self.frameworks {
            lines.extend(
                framework
                    .describe(name)
                    .into_iter()
                    .map(|line| format!("{line}\n  {}", framework.file)),
            );
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// Names of calls: whole, or `top.**.last` for any path between.
#[derive(Debug, Default)]
struct KeepsFunction {
    whole: FxHashSet<Box<str>>,
    between: Vec<(Box<str>, Box<str>)>,
}

impl KeepsFunction {
    fn new(frameworks: &[Framework]) -> Self {
        let mut names = Self::default();
        for name in frameworks.iter().flat_map(|f| &f.keeps_function) {
            match name.split_once(".**.") {
                Some((top, last)) => names.between.push((top.into(), last.into())),
                None => {
                    names.whole.insert(name.as_str().into());
                }
            }
        }
        names
    }

    fn holds(&self, name: &str) -> bool {
        let ends = || name.split_once('.').zip(name.rsplit_once('.'));
        self.whole.contains(name)
            || ends().is_some_and(|((top, _), (_, last))| self.between.iter().any(|(t, l)| **t == *top && **l == *last))
    }
}

#[cfg(test)]
mod tests;
