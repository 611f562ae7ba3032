//! Facts about other people's APIs, read from the TOML files in `rules/`, which are part of the program.

pub mod error;
pub mod frameworks;
pub mod op_schema;
pub mod op_style;
pub mod torch;
pub mod triton;

pub use error::Error;
use frameworks::Framework;

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
            torch,
            triton: triton::Triton::read("rules/knowledge/triton.toml", TRITON)?,
            frameworks,
        })
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

#[cfg(test)]
mod tests;
