//! The configuration: options as written in `opwright.toml` or `[tool.opwright]`, resolved into [`Settings`].

use super::files::{globs, reason};
use super::requirement::{self, Range};
use super::root::slashes;
use super::{Failure, Request};
use crate::knowledge::Knowledge;
use crate::settings::{Level, Settings, Style, TorchVersion};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Options as written; what is absent has its default in [`Settings`].
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Options {
    style: Option<String>,
    namespace: Option<String>,
    torch: Option<String>,
    levels: BTreeMap<String, LevelWord>,
    only: Option<Vec<String>>,
    vendored: Option<Vec<String>>,
    cold: Option<Vec<String>>,
    exclude: Vec<String>,
    inference_only: Vec<String>,
    hot: Vec<String>,
    source_roots: Vec<String>,
    knowledge: Vec<String>,
    baseline: Option<String>,
    per_path: Vec<PerPath>,
}

/// Levels of some files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PerPath {
    paths: Vec<String>,
    levels: BTreeMap<String, LevelWord>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LevelWord {
    Off,
    Note,
    Warning,
    Error,
}

/// A project's configuration as it was found.
#[derive(Clone, Debug, Default)]
pub struct Configured {
    /// The file that holds it, as it is named in messages; `None` without one.
    file: Option<String>,
    options: Options,
}

/// File → rule or group → level.
pub type PathLevels = BTreeMap<String, BTreeMap<String, Option<Level>>>;

/// Where each choice was made: key, then file, option or `default`.
pub type Origins = Vec<(&'static str, String)>;

/// The names that rules may be selected by, told by whoever knows the rules.
#[derive(Clone, Copy, Debug, Default)]
pub struct RuleNames<'a>(pub &'a [&'a str]);

/// Reads the configuration of a root. Both files at once, an unknown key or a wrong value are failures.
pub fn read(root: &Path) -> Result<Configured, Failure> {
    let own = root.join("opwright.toml");
    let shared = root.join("pyproject.toml");
    let in_shared = has_table(&shared);
    if own.is_file() {
        if in_shared {
            return Err(Failure(format!(
                "two configurations: opwright.toml and [tool.opwright] in pyproject.toml, both in {}",
                slashes(root)
            )));
        }
        let text = text_of(&own)?;
        let options = toml::from_str(&text).map_err(|e| Failure(explain("opwright.toml", &text, &e)))?;
        return Ok(Configured {
            file: Some("opwright.toml".into()),
            options,
        });
    }
    if !in_shared {
        return Ok(Configured::default());
    }
    let text = text_of(&shared)?;
    let whole: Shared = toml::from_str(&text).map_err(|e| Failure(explain("pyproject.toml", &text, &e)))?;
    Ok(Configured {
        file: Some("pyproject.toml".into()),
        options: whole.tool.opwright,
    })
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Shared {
    tool: Tool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tool {
    opwright: Options,
}

/// Whether a `pyproject.toml` has our table. One that cannot be parsed but mentions it counts, so that its error is told.
pub fn has_table(path: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(path) else { return false };
    match text.parse::<toml::Table>() {
        Ok(table) => table.get("tool").and_then(|tool| tool.get("opwright")).is_some(),
        Err(_) => text.contains("[tool.opwright"),
    }
}

fn text_of(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|e| Failure(format!("{}: {}", slashes(path), reason(&e))))
}

/// `file:line: key: message; did you mean …?`
fn explain(file: &str, text: &str, error: &toml::de::Error) -> String {
    let start = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = 1 + text[..start].matches('\n').count();
    let message = error
        .message()
        .trim()
        .replace("unknown field", "unknown key")
        .replace("unknown variant", "unknown value");
    let key = text
        .lines()
        .nth(line - 1)
        .and_then(|line| line.split_once('='))
        .map_or("", |(key, _)| key.trim());
    let key = if key.is_empty() || message.starts_with("unknown key") {
        String::new()
    } else {
        format!("{key}: ")
    };
    match suggestion_in(&message) {
        Some(name) => {
            let short = message.split(", expected ").next().unwrap_or(&message);
            format!("{file}:{line}: {key}{short}; did you mean `{name}`?")
        }
        None => format!("{file}:{line}: {key}{message}"),
    }
}

/// The expected word nearest to the unknown one, out of a message of serde's.
fn suggestion_in(message: &str) -> Option<String> {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = quoted.next()?;
    nearest(unknown, quoted)
}

/// The known word that a misspelt one was probably meant to be.
pub fn nearest<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let scored = known
        .into_iter()
        .map(|word| (strsim::jaro_winkler(&unknown.replace('_', "-"), word), word));
    scored
        .filter(|(score, _)| *score > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, word)| word.to_string())
}

impl Configured {
    /// The configuration file's name in messages.
    pub fn display(&self) -> &str {
        self.file.as_deref().unwrap_or("configuration")
    }

    /// Knowledge overlays, relative to the root.
    pub fn knowledge(&self) -> Vec<String> {
        self.options.knowledge.clone()
    }

    /// Globs of files that are not read.
    pub fn exclude(&self) -> Vec<String> {
        self.options.exclude.clone()
    }

    /// The baseline's file, relative to the root.
    pub fn baseline(&self) -> Option<&str> {
        self.options.baseline.as_deref()
    }

    /// Levels of single files; later tables win over earlier ones.
    pub fn path_levels(&self, paths: &[&str], rules: RuleNames) -> Result<PathLevels, Failure> {
        let mut found = PathLevels::new();
        for table in &self.options.per_path {
            rules
                .check(table.levels.keys())
                .map_err(|e| Failure(format!("{}: per-path: {e}", self.display())))?;
            let globs = globs("per-path", &table.paths)?;
            for path in paths.iter().filter(|path| globs.is_match(path)) {
                let levels = table.levels.iter().map(|(name, word)| (name.clone(), word.level()));
                found.entry((*path).to_string()).or_default().extend(levels);
            }
        }
        Ok(found)
    }

    /// All choices, each with where it was made: an option, the configuration, the project's requirements, or `default`.
    pub fn resolve(&self, request: &Request, root: &Path, knowledge: &Knowledge, rules: RuleNames) -> Result<(Settings, Origins), Failure> {
        let (options, mut settings, mut from) = (&self.options, Settings::default(), Vec::new());
        let file = self.display();
        let (style, origin) = pick(&request.style, "--style", &options.style, file);
        if let Some(style) = style {
            settings.style = style_named(&style, knowledge).map_err(|e| Failure(format!("{}: {e}", place(&origin, "style"))))?;
        }
        from.push(("style", origin));
        let only = (!request.only.is_empty()).then(|| request.only.clone());
        let (only, origin) = pick(&only, "--only", &options.only, file);
        settings.only = only.unwrap_or_default();
        rules
            .check(settings.only.iter())
            .map_err(|e| Failure(format!("{}: {e}", place(&origin, "only"))))?;
        from.push(("only", origin));
        rules
            .check(options.levels.keys())
            .map_err(|e| Failure(format!("{file}: levels: {e}")))?;
        settings.levels = options.levels.iter().map(|(name, word)| (name.clone(), word.level())).collect();
        from.push(("levels", origin_of(!options.levels.is_empty(), file)));
        let (torch, origin) = self.torch(root)?;
        settings.newest_torch = torch.newest.unwrap_or(settings.newest_torch);
        settings.torch = torch.oldest.unwrap_or(settings.torch.min(settings.newest_torch));
        settings.newest_torch = settings.newest_torch.max(settings.torch);
        from.push(("torch", origin));
        settings.line_length = requirement::line_length(root).unwrap_or(settings.line_length);
        take(&mut settings.namespace, &options.namespace, "namespace", file, &mut from);
        take(&mut settings.vendored, &options.vendored, "vendored", file, &mut from);
        take(&mut settings.cold, &options.cold, "cold", file, &mut from);
        for (target, value, key) in [
            (&mut settings.inference_only, &options.inference_only, "inference-only"),
            (&mut settings.hot, &options.hot, "hot"),
            (&mut settings.source_roots, &options.source_roots, "source-roots"),
        ] {
            target.clone_from(value);
            from.push((key, origin_of(!value.is_empty(), file)));
        }
        from.push(("exclude", origin_of(!options.exclude.is_empty(), file)));
        from.push(("knowledge", origin_of(!options.knowledge.is_empty(), file)));
        from.push(("baseline", origin_of(options.baseline.is_some(), file)));
        from.push(("per-path", origin_of(!options.per_path.is_empty(), file)));
        Ok((settings, from))
    }

    fn torch(&self, root: &Path) -> Result<(Range, String), Failure> {
        if let Some(text) = &self.options.torch {
            let file = self.display();
            let range = version(text).map(Range::from).or_else(|| requirement::range(text));
            let range = range.ok_or_else(|| Failure(format!("{file}: torch: `{text}` is no version like `2.6` or `>=2.6,<2.14`")))?;
            return Ok((range, file.to_string()));
        }
        Ok(match requirement::torch_versions(root) {
            Some((range, file)) => (range, format!("requirement in {file}")),
            None => (Range::default(), "default".into()),
        })
    }
}

impl LevelWord {
    fn level(self) -> Option<Level> {
        match self {
            Self::Off => None,
            Self::Note => Some(Level::Note),
            Self::Warning => Some(Level::Warning),
            Self::Error => Some(Level::Error),
        }
    }
}

impl RuleNames<'_> {
    /// Refuses a name that is neither a rule nor a group.
    pub fn check<'b>(self, names: impl Iterator<Item = &'b String>) -> Result<(), String> {
        for name in names {
            if !self.0.contains(&name.as_str()) {
                let hint = nearest(name, self.0.iter().copied())
                    .map(|n| format!("; did you mean `{n}`?"))
                    .unwrap_or_default();
                return Err(format!("unknown rule `{name}`{hint}"));
            }
        }
        Ok(())
    }
}

fn version(text: &str) -> Option<TorchVersion> {
    let mut parts = text.trim().split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

fn style_named(name: &str, knowledge: &Knowledge) -> Result<Style, String> {
    let frameworks = knowledge.frameworks.iter().map(|f| f.name.as_str());
    Ok(match name {
        "auto" => Style::Auto,
        "custom-op" => Style::CustomOp,
        "triton-op" => Style::TritonOp,
        "library" => Style::Library,
        other if frameworks.clone().any(|f| f == other) => Style::Framework(other.to_string()),
        other => {
            let known = ["auto", "custom-op", "triton-op", "library"].into_iter().chain(frameworks);
            let hint = nearest(other, known).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
            return Err(format!("unknown style `{other}`{hint}"));
        }
    })
}

/// The option's value, else the file's; and which.
fn pick<T: Clone>(option: &Option<T>, flag: &str, written: &Option<T>, file: &str) -> (Option<T>, String) {
    match (option, written) {
        (Some(value), _) => (Some(value.clone()), flag.to_string()),
        (None, Some(value)) => (Some(value.clone()), file.to_string()),
        (None, None) => (None, "default".into()),
    }
}

fn take<T: Clone>(target: &mut T, written: &Option<T>, key: &'static str, file: &str, from: &mut Origins) {
    if let Some(value) = written {
        target.clone_from(value);
    }
    from.push((key, origin_of(written.is_some(), file)));
}

fn origin_of(written: bool, file: &str) -> String {
    if written { file.to_string() } else { "default".into() }
}

/// `--style` alone, `opwright.toml: style` with its key.
fn place(origin: &str, key: &str) -> String {
    if origin.starts_with("--") {
        origin.to_string()
    } else {
        format!("{origin}: {key}")
    }
}
