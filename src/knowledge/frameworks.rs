//! What frameworks add: registrars, launchers, decorators, callees. One TOML file each in `rules/frameworks/`.

use super::error::Error;
use super::op_style::OpStyle;
use super::outside::{Bypass, Lazy, Root};
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::path::Path;

/// One framework file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Framework {
    /// The file's stem.
    #[serde(skip)]
    pub name: String,
    /// The file, as its owner named it.
    #[serde(skip)]
    pub file: String,
    /// What the file was checked against.
    pub checked: Checked,
    /// Top packages whose code is this framework's own. The project *is* the framework when it holds one of them.
    pub packages: Vec<String>,
    /// Registrars.
    pub register: Vec<Register>,
    /// Launches without launch syntax.
    pub launcher: Vec<Launcher>,
    /// Decorators of host functions.
    pub decorator: Vec<Decorator>,
    /// Functions with known effects.
    pub call: Vec<Callee>,
    /// Functions that only read their arguments; what they give is new, or no tensor. Names as in [`Callee::name`].
    pub pure: Vec<String>,
    /// Functions that only read their arguments and never give a tensor.
    pub scalar: Vec<String>,
    /// Functions that write nothing and may give back any of their arguments, alone or in a container.
    pub passes_on: Vec<String>,
    /// Functions that write nothing and may give back views of their arguments.
    pub maybe_views: Vec<String>,
    /// Calls that hand back the function that they get, perhaps wrapped; `top.**.last` stands for any path between.
    pub keeps_function: Vec<String>,
    /// Method names that write nothing, whatever the object is (`info` of a logger).
    pub harmless_methods: Vec<String>,
    /// Decorators that make kernels of other dialects.
    pub kernel: Vec<KernelDecorator>,
    /// Op schemas that are defined outside Python: `ns::name(Tensor! out, …) -> ()`.
    pub schemas: Vec<String>,
    /// Dotted names (modules, classes, functions; `*` as a part matches any one part) that always run without grad.
    pub inference_only: Vec<String>,
    /// Dotted names of hot roots.
    pub hot: Vec<String>,
    /// Dotted names that are cold by nature.
    pub cold: Vec<String>,
    /// Names of functions and methods that are cold by nature, wherever they stand; `*` stands for any letters.
    pub cold_names: Vec<String>,
    /// Methods that a hot path runs through.
    pub root: Vec<Root>,
    /// Calls that run kernels past the dispatcher.
    pub bypass: Vec<Bypass>,
    /// Calls that build native code: what they give, or a member of it, runs a kernel when it is called.
    pub builders: Vec<String>,
    /// Functions that import something when it is needed.
    pub lazy: Vec<Lazy>,
    /// How its own people register an op.
    pub style: Option<OpStyle>,
}

/// What a file was checked against.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Checked {
    /// Package.
    pub package: String,
    /// Its version.
    pub version: String,
    /// Day, `YYYY-MM-DD`.
    pub on: String,
}

/// Where an argument of a call stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Argument {
    /// Position, from 0.
    pub arg: Option<u16>,
    /// Keyword.
    pub keyword: Option<String>,
}

/// How a registrar is applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// `register(name, fn, …)`.
    #[default]
    Call,
    /// `@register(name, …)`, or `register(name, …)(fn)`; the implementation is the decorated function.
    Decorator,
    /// Either: a decorator when the implementation argument is absent. Also covers a bare `@register`.
    Both,
}

/// What an absent mutates argument means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// Nothing is mutated.
    #[default]
    None,
    /// Every tensor is.
    All,
    /// It cannot be known here.
    Unknown,
}

/// Which part of a registration a call does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Defines and implements the op.
    #[default]
    Op,
    /// Defines it only (`Library.define`): the schema stands in the text.
    Define,
    /// Implements a defined op (`Library.impl`).
    Implement,
    /// Registers the fake implementation.
    Fake,
    /// Registers a kernel for a device type, an autograd formula, …: the op stays as it is.
    Extend,
}

/// What the name of a decorated function is bound to afterwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Yields {
    /// The op: calling it goes through the dispatcher.
    #[default]
    Op,
    /// The plain function: calls bypass the op.
    Function,
    /// Nothing useful.
    Nothing,
}

/// A registrar.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Register {
    /// Qualified name; `Class.method` for methods (`torch.library.Library.define`).
    pub call: String,
    /// What it does.
    pub role: Role,
    /// How it is applied.
    pub form: Form,
    /// The op's name (or the schema text with the name in front, for `define`). Absent: the function's name.
    pub op: Argument,
    /// Namespace of names without `::`. For methods of a `Library` object, the object's own namespace.
    pub namespace: Option<String>,
    /// The `Library` object, when it is an argument.
    pub library: Argument,
    /// The implementation; absent in decorator form.
    pub implementation: Argument,
    /// The mutated arguments.
    pub mutated: Argument,
    /// What their absence means.
    pub missing: Missing,
    /// The schema, when it is an argument.
    pub schema: Argument,
    /// The fake implementation.
    pub fake: Argument,
    /// Keywords whose presence makes a fake implementation (`out_shape`).
    pub fake_from: Vec<String>,
    /// A fake implementation is always made.
    pub fake_generated: bool,
    /// The dispatch key argument.
    pub dispatch_key: Argument,
    /// It returns its function unchanged and registers nothing.
    pub disabled: bool,
    /// For a disabled one: why it was switched off, as a clause.
    pub why: Option<String>,
    /// For a disabled one: what can be done today.
    pub instead: Option<String>,
    /// What the decorated name becomes.
    pub yields: Yields,
    /// A name that is taken is kept, silently: the second registration does nothing.
    pub guarded: bool,
    /// A dict whose keys name parameters that are no part of the schema (`computed_args`).
    pub dropped: Argument,
    /// Cut from the front of the function's name when that names the op.
    pub strip_prefix: Option<String>,
    /// The dispatch key where the argument is absent.
    pub default_key: Option<String>,
    /// The decorated body does not run: native code does, and cannot be seen.
    pub native: bool,
    /// It makes the schema in its own way, not with torch's `infer_schema`.
    pub own_schema: bool,
}

/// How a launch without launch syntax hands its arguments over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Passes {
    /// A call: further keyword arguments are the kernel's (`launch_autotuned(kernel, grid, **kwargs)`).
    #[default]
    Keywords,
    /// A decorated function returns `(grid, dict)`: the dict's keys are the kernel's parameters; kernel parameters that
    /// are missing there are the function's own parameters of the same name.
    GridAndDict,
    /// A decorated method returns `(kernel arguments, launch arguments[, keywords])` for a kernel held by its class.
    Tuples,
}

/// A launch without launch syntax.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Launcher {
    /// Qualified name of the function or decorator.
    pub call: String,
    /// It is a decorator.
    pub decorator: bool,
    /// The kernel argument.
    pub kernel: Argument,
    /// The class attribute or base-class argument that holds the kernel, for methods (`kernel`).
    pub class_attribute: Option<String>,
    /// How arguments are handed over.
    pub passes: Passes,
    /// For [`Passes::GridAndDict`]: how the function's own parameters name kernel parameters, first fit first. `{}` is the
    /// parameter's name, `{upper}` the name in capitals. Empty: by the same name only.
    pub names: Vec<String>,
    /// A key of the returned dict that holds another kernel instead.
    pub kernel_key: Option<String>,
}

/// What a decorator does to the function under it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decorates {
    /// Calls go to the function with the same arguments.
    #[default]
    Transparent,
    /// Tensor arguments may be replaced by contiguous copies first.
    CopiesArguments,
    /// Runs without grad.
    NoGrad,
    /// Registers in a table that is no dispatcher (`liger.register_op`): transparent.
    Registry,
    /// Anything may happen.
    Opaque,
}

/// A decorator of host functions.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Decorator {
    /// Qualified name; `*` and `**` as in [`Callee::name`].
    pub name: String,
    /// What it does.
    pub does: Decorates,
    /// For [`Decorates::CopiesArguments`]: an argument that names parameters left alone (`True`: all of them).
    pub skips: Argument,
}

/// A function with known effects.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Callee {
    /// Qualified name; a last part of `*` matches every member, `**` all that lies below at any depth.
    pub name: String,
    /// Parameter names in order, where positions matter.
    pub params: Vec<String>,
    /// Parameters that are written.
    pub writes: Vec<String>,
    /// Parameters whose memory the result shares; `*` stands for all.
    pub view_of: Vec<String>,
    /// Parameters whose memory the result may share; `*` stands for all.
    pub maybe_view_of: Vec<String>,
    /// Nothing is written and the result is new, or no tensor.
    pub pure: bool,
    /// Nothing is written and the result is no tensor.
    pub scalar: bool,
}

/// A decorator that makes a kernel.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct KernelDecorator {
    /// Qualified name.
    pub name: String,
    /// Dialect.
    pub dialect: String,
    /// The kernel language is `triton.language`, so its effects can be read.
    pub triton: bool,
    /// The host calls such a kernel like a function, or calls what it gives.
    pub called: bool,
}

impl Framework {
    /// Reads a framework file. Its name is the stem of `file`.
    pub(super) fn read(file: &str, text: &str) -> Result<Self, Error> {
        let mut framework: Self = toml::from_str(text).map_err(|e| Error::toml(file, text, &e))?;
        framework.name = Path::new(file).file_stem().and_then(|s| s.to_str()).unwrap_or(file).to_string();
        framework.file = file.to_string();
        Ok(framework)
    }

    /// Adds the rows of an overlay. They stand first: what a project says of its own use wins.
    pub(super) fn extend(&mut self, overlay: Self) {
        fn prepend<T>(to: &mut Vec<T>, mut rows: Vec<T>) {
            rows.append(to);
            *to = rows;
        }
        self.style = overlay.style.or(self.style.take());
        prepend(&mut self.packages, overlay.packages);
        prepend(&mut self.register, overlay.register);
        prepend(&mut self.launcher, overlay.launcher);
        prepend(&mut self.decorator, overlay.decorator);
        prepend(&mut self.call, overlay.call);
        prepend(&mut self.pure, overlay.pure);
        prepend(&mut self.scalar, overlay.scalar);
        prepend(&mut self.passes_on, overlay.passes_on);
        prepend(&mut self.maybe_views, overlay.maybe_views);
        prepend(&mut self.keeps_function, overlay.keeps_function);
        prepend(&mut self.harmless_methods, overlay.harmless_methods);
        prepend(&mut self.kernel, overlay.kernel);
        prepend(&mut self.schemas, overlay.schemas);
        prepend(&mut self.inference_only, overlay.inference_only);
        prepend(&mut self.hot, overlay.hot);
        prepend(&mut self.cold, overlay.cold);
        prepend(&mut self.cold_names, overlay.cold_names);
        prepend(&mut self.root, overlay.root);
        prepend(&mut self.bypass, overlay.bypass);
        prepend(&mut self.builders, overlay.builders);
        prepend(&mut self.lazy, overlay.lazy);
    }

    /// All functions with known effects: the rows, then the names that stand in lists.
    pub fn callees(&self) -> impl Iterator<Item = Callee> + '_ {
        let every = || vec!["*".to_owned()];
        let named = |name: &String| Callee {
            name: name.clone(),
            ..Callee::default()
        };
        let pure = self.pure.iter().map(move |name| Callee { pure: true, ..named(name) });
        let scalar = self.scalar.iter().map(move |name| Callee {
            scalar: true,
            ..named(name)
        });
        let passes_on = self.passes_on.iter().map(move |name| Callee {
            view_of: every(),
            ..named(name)
        });
        let views = self.maybe_views.iter().map(move |name| Callee {
            maybe_view_of: every(),
            ..named(name)
        });
        self.call.iter().cloned().chain(scalar).chain(pure).chain(passes_on).chain(views)
    }

    /// One line for each row about a qualified name.
    pub(super) fn describe(&self, name: &str) -> Vec<String> {
        let mut lines = Vec::new();
        for row in self.register.iter().filter(|r| r.call == name) {
            let disabled = if row.disabled { ", disabled" } else { "" };
            lines.push(format!("{name}: registrar ({:?}, {:?}{disabled})", row.role, row.form).to_lowercase());
        }
        for row in self.launcher.iter().filter(|l| l.call == name) {
            lines.push(format!("{name}: launches a kernel ({:?})", row.passes));
        }
        for row in self.decorator.iter().filter(|d| d.name == name) {
            lines.push(format!("{name}: decorator ({:?})", row.does));
        }
        for row in self.callees().filter(|c| matches(&c.name, name)) {
            lines.push(row.describe(name));
        }
        let any = |patterns: &[String]| patterns.iter().any(|p| super::outside::covers(p, name));
        for row in self.bypass.iter().filter(|b| any(&b.calls)) {
            let spared = if any(&row.spared) {
                "runs no kernel, or is an op"
            } else {
                "runs kernels past the dispatcher"
            };
            lines.push(format!("{name}: {spared}"));
        }
        if any(&self.builders) {
            lines.push(format!("{name}: builds native code, whose calls go past the dispatcher"));
        }
        for _ in self.lazy.iter().filter(|l| l.call == name) {
            lines.push(format!("{name}: imports when needed"));
        }
        for row in self.kernel.iter().filter(|k| k.name == name) {
            lines.push(format!("{name}: makes a kernel of dialect {}", row.dialect));
        }
        let op = name.strip_prefix("torch.ops.").map(|op| op.replacen('.', "::", 1));
        let op = op.as_deref().unwrap_or(name);
        lines.extend(self.schemas.iter().filter(|s| s.split('(').next() == Some(op)).cloned());
        lines
    }
}

impl Callee {
    fn describe(&self, name: &str) -> String {
        let part = |word: &str, params: &[String]| match params {
            [] => String::new(),
            params => format!(" {word} {}", params.join(", ")),
        };
        let pure = match (self.pure, self.scalar) {
            (_, true) => " pure, gives no tensor",
            (true, false) => " pure",
            (false, false) => "",
        };
        let parts = [
            part("writes", &self.writes),
            part("view of", &self.view_of),
            part("maybe view of", &self.maybe_view_of),
        ];
        format!("{name}:{}{pure}", parts.concat())
    }
}

/// A row's name covers a qualified name: equal, or its last part is `*` and the rest is equal, or `**` and the rest begins it.
pub fn matches(row: &str, name: &str) -> bool {
    if let Some(prefix) = row.strip_suffix(".**") {
        return name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.'));
    }
    match row.strip_suffix(".*") {
        Some(prefix) => name.rsplit_once('.').is_some_and(|(parent, _)| parent == prefix),
        None => row == name,
    }
}

/// Rows by name, for look-up: whole names before `*`, `*` before `**`, longer prefixes before shorter.
#[derive(Clone, Debug)]
pub struct ByName<T> {
    whole: FxHashMap<Box<str>, T>,
    members: FxHashMap<Box<str>, T>,
    below: FxHashMap<Box<str>, T>,
}

impl<T> Default for ByName<T> {
    fn default() -> Self {
        Self {
            whole: FxHashMap::default(),
            members: FxHashMap::default(),
            below: FxHashMap::default(),
        }
    }
}

impl<T> ByName<T> {
    /// Adds a row; of one name the first stays.
    pub fn add(&mut self, name: &str, row: T) {
        let (map, key) = match (name.strip_suffix(".**"), name.strip_suffix(".*")) {
            (Some(prefix), _) => (&mut self.below, prefix),
            (None, Some(prefix)) => (&mut self.members, prefix),
            (None, None) => (&mut self.whole, name),
        };
        map.entry(key.into()).or_insert(row);
    }

    /// The row that covers a qualified name.
    pub fn get(&self, name: &str) -> Option<&T> {
        if let Some(row) = self.whole.get(name) {
            return Some(row);
        }
        let (mut prefix, _) = name.rsplit_once('.')?;
        if let Some(row) = self.members.get(prefix) {
            return Some(row);
        }
        loop {
            if let Some(row) = self.below.get(prefix) {
                return Some(row);
            }
            (prefix, _) = prefix.rsplit_once('.')?;
        }
    }
}
