//! The styles: which one a launcher gets, and the text that each one writes.

use super::fake::Fake;
use super::imports;
use super::interface::Interface;
use super::names::{self, Chosen};
use super::object::renamed;
use super::op_text::OpText;
use super::safety::has_keyword_only_tensor;
use super::scope::{Scope, absolute_module};
use super::signature;
use super::slice::mentions;
use super::split::Split;
use super::writer::comment_above;
use crate::facts::{Import, MODULE, ValueId};
use crate::finding::Edit;
use crate::knowledge::frameworks::{Form, Framework};
use crate::knowledge::op_style::OpStyle;
use crate::program::{Func, FunctionRef};
use crate::source::Span;

/// The way to register an op.
#[derive(Clone, Debug)]
pub(super) enum Route<'a> {
    /// `torch.library.custom_op`.
    CustomOp,
    /// `torch.library.Library`, `define`, `impl`.
    Library,
    /// A framework's own registrar.
    House(&'a Framework, &'a OpStyle),
}

impl Route<'_> {
    /// The style's name, as `--style` takes it.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::CustomOp => "custom-op",
            Self::Library => "library",
            Self::House(framework, _) => &framework.name,
        }
    }
}

/// Picks the style of a launcher.
pub(super) fn route<'a>(scope: &Scope<'a>, style: &str, func: &Func) -> Result<Route<'a>, String> {
    let (program, knowledge) = (scope.program, scope.knowledge);
    let house = |name: &str| {
        let framework = knowledge.frameworks.iter().find(|f| f.name == name)?;
        Some(Route::House(framework, framework.style.as_ref()?))
    };
    match style {
        "custom-op" => return Ok(Route::CustomOp),
        "library" => return Ok(Route::Library),
        "auto" | "" => {}
        "triton-op" => return Err("fixes are not written in the style `triton-op`".to_string()),
        name => return house(name).ok_or_else(|| format!("there is no style `{name}`")),
    }
    let own = program.frameworks.iter().find_map(|name| {
        let framework = knowledge.frameworks.iter().find(|f| f.name == *name && f.style.is_some())?;
        let is_the_project = program
            .files
            .iter()
            .any(|f| framework.packages.iter().any(|p| f.module.split('.').next() == Some(p)));
        is_the_project.then(|| house(name))?
    });
    if let Some(own) = own {
        return Ok(own);
    }
    let count = |wanted: &dyn Fn(&str) -> bool| program.ops.iter().filter(|op| !op.disabled && wanted(&op.registrar)).count();
    let custom = count(&|r| r.ends_with("custom_op") || r.ends_with("triton_op"));
    let defined = count(&|r| r.starts_with("torch.library") && r.ends_with("define"));
    let habit_is_library = defined > custom;
    let custom_op_is_safe = func.without_grad && !has_keyword_only_tensor(scope);
    Ok(if custom_op_is_safe && !habit_is_library {
        Route::CustomOp
    } else {
        Route::Library
    })
}

/// All that the text of a registration is made of.
pub(super) struct Registration<'s, 'a> {
    pub(super) scope: &'s Scope<'a>,
    pub(super) route: &'s Route<'a>,
    pub(super) namespace: &'s str,
    pub(super) names: &'s Chosen,
    pub(super) mutated: &'s [String],
    pub(super) suspected: &'s [String],
    pub(super) split: &'s Split,
    pub(super) interface: &'s Interface,
    pub(super) fake: Option<&'s Fake>,
}

/// The registrar's name in a module, and the imports that it needs to stand at an offset.
pub(super) fn registrar(scope: &Scope, route: &Route, namespace: &str, at: u32) -> (String, Vec<Edit>) {
    let file = scope.program.file(scope.at.file);
    match route {
        Route::CustomOp => (String::new(), imports::module(file, "torch", at).into_iter().collect()),
        Route::Library => {
            let (library, edit) = library(scope, namespace);
            let torch = imports::module(file, "torch", file.facts.layout.after_imports);
            (library, torch.into_iter().chain(edit).collect())
        }
        Route::House(_, style) => {
            let absolute = |import: &Import| {
                let module = scope.name(import.module);
                absolute_module(scope.program, scope.at.file, import.level, module)
            };
            let (name, edit) = imports::member(file, &style.module, &style.name, at, absolute);
            let calls_torch = style.form != Form::Decorator;
            let torch = imports::module(file, "torch", at).filter(|_| calls_torch);
            (name, torch.into_iter().chain(edit).collect())
        }
    }
}

/// The `Library` object of a namespace in the module, and its definition if there is none.
fn library(scope: &Scope, namespace: &str) -> (String, Option<Edit>) {
    let file = scope.program.file(scope.at.file);
    let at = FunctionRef {
        file: scope.at.file,
        function: MODULE,
    };
    let module = Scope::new(scope.program, scope.knowledge, at);
    let is_library = |callee: ValueId| module.dotted(callee).as_deref() == Some("torch.library.Library");
    if let Some(name) = imports::library(file, namespace, is_library) {
        return (name, None);
    }
    let name = names::unused(&file.facts, "_lib");
    let line = format!("{name} = torch.library.Library(\"{namespace}\", \"FRAGMENT\")");
    (name, Some(imports::global(file, &line)))
}

/// The names of the private functions.
struct Private {
    implementation: String,
    fake: String,
}

impl Registration<'_, '_> {
    /// Indentation of the `def`.
    fn indent(&self) -> &str {
        let source = self.scope.source();
        let start = self.scope.function().header.start;
        &source.text[source.line_start(start) as usize..start as usize]
    }

    /// Indentation of statements in the body.
    fn inner(&self) -> String {
        format!("{}{}", self.indent(), self.scope.facts().layout.indent)
    }

    /// Blank lines between functions.
    fn gap(&self) -> &str {
        if self.indent().is_empty() { "\n\n" } else { "\n" }
    }

    fn private(&self) -> Private {
        let facts = self.scope.facts();
        let short = self.names.stem.trim_end_matches('_');
        let taken = facts.functions.iter().any(|f| f.parent == MODULE && facts.name(f.name) == short);
        let stem = if taken || short.is_empty() { &self.names.stem } else { short };
        Private {
            implementation: names::private(facts, stem, "impl"),
            fake: names::private(facts, stem, "fake"),
        }
    }

    /// The edits of the fix, in the file's line ends.
    pub(super) fn edits(&self) -> Vec<Edit> {
        let in_place = matches!(self.route, Route::House(_, style) if style.form == Form::Decorator);
        let mut edits = self.changes();
        edits.extend(self.interface.imports.iter().cloned());
        let (register, imports) = registrar(self.scope, self.route, self.namespace, self.scope.function().span.start);
        edits.extend(imports);
        // A public function keeps what it says that it returns, and is given nothing that is not so.
        let returns = self.split.returns.is_some() && self.scope.function().returns.is_some() || self.split.absent;
        if in_place && !returns && !self.interface.converts && self.split.before.is_empty() && self.split.after.is_empty() {
            self.decorate_in_place(&register, &mut edits);
        } else {
            self.rename(&register, in_place, &mut edits);
        }
        self.annotate_returns(&mut edits);
        let newline = &self.scope.facts().layout.newline;
        for edit in &mut edits {
            if newline != "\n" && !edit.content.is_empty() {
                edit.content = edit.content.replace("\r\n", "\n").replace('\n', newline);
            }
        }
        edits.sort();
        edits
    }

    /// What changes inside the old function, which becomes the op.
    fn changes(&self) -> Vec<Edit> {
        let fields = &self.interface.fields;
        let mut edits = self.split.edits.clone();
        for edit in &mut edits {
            edit.content = renamed(&edit.content, fields);
        }
        let reads = fields.iter().flat_map(|f| &f.edits);
        let rewritten = |span: Span| self.split.edits.iter().any(|e| e.span.contains(span));
        edits.extend(reads.filter(|e| !rewritten(e.span)).cloned());
        edits.extend(self.preamble());
        let (function, unit) = (self.scope.function(), &self.scope.facts().layout.indent);
        if let Some(params) = &self.interface.params {
            let list = signature::parameters(params, self.indent(), unit);
            edits.push(Edit::replace(function.params_span, list));
            return edits;
        }
        let header = self.scope.text(function.header);
        if !self.interface.edits.is_empty() && !header.contains('#') && self.header_width() > self.scope.width() {
            let params = signature::each_parameter(self.scope, &self.interface.edits);
            edits.push(Edit::replace(
                function.params_span,
                signature::parameters(&params, self.indent(), unit),
            ));
        } else {
            edits.extend(self.interface.edits.iter().cloned());
        }
        edits
    }

    /// Length of the implementation's header, if it stands on one line.
    fn header_width(&self) -> usize {
        let function = self.scope.function();
        let name = self.private().implementation;
        let returns = self.split.returns.as_deref().map(str::len);
        let old = function.returns.map_or(0, |a| (a.span.end - a.span.start) as usize + " -> ".len());
        let params: usize = signature::each_parameter(self.scope, &self.interface.edits)
            .iter()
            .map(|p| p.chars().count() + 2)
            .sum();
        if self.scope.text(function.header).contains('\n') {
            let text = signature::edited(self.scope, function.params_span, &self.interface.edits);
            let first = name.len() + "def ".len();
            return text
                .lines()
                .enumerate()
                .map(|(i, l)| l.chars().count() + if i == 0 { first } else { 0 })
                .max()
                .unwrap_or(0);
        }
        self.indent().len() + "def ():".len() + name.len() + params + returns.map_or(old, |r| r + " -> ".len())
    }

    /// Statements in front of the implementation's own.
    fn preamble(&self) -> Option<Edit> {
        let body = self.scope.body();
        let function = self.scope.function();
        let statements = body.top.iter().map(|s| body.statements[s.index()].span);
        let first = statements.into_iter().find(|s| Some(*s) != function.docstring)?;
        let inner = self.inner();
        let lines = self.interface.preamble.iter().chain(&self.split.preamble);
        let text: String = lines.map(|line| format!("{inner}{line}\n")).collect();
        (!text.is_empty()).then(|| Edit::insert(self.above(first.start), text))
    }

    fn op_text<'t>(&'t self, private: &'t Private) -> OpText<'t> {
        OpText {
            route: self.route,
            namespace: self.namespace,
            op: &self.names.op,
            mutated: self.mutated,
            suspected: self.suspected,
            implementation: &private.implementation,
            fake_name: &private.fake,
            fake: self.fake,
            nothing: self.split.nothing,
            indent: self.indent(),
            unit: &self.scope.facts().layout.indent,
            width: self.scope.width(),
        }
    }

    /// The fake implementation as a function.
    fn fake_function(&self, private: &Private) -> Option<String> {
        if !self.op_text(private).needs_fake() {
            return None;
        }
        let name = &private.fake;
        let (indent, inner) = (self.indent(), self.inner());
        let returns = self.split.returns.as_deref();
        let params = self.interface.params.as_deref();
        let header = signature::plain_header(self.scope, name, returns, &self.interface.edits, params, indent);
        let body = match self.fake {
            Some(fake) if !self.split.nothing => {
                let text = renamed(&fake.lines.join("\n"), &self.interface.fields);
                let used = |line: &&String| mentions(&text, line.split(' ').next().unwrap_or_default());
                let lines = self.interface.preamble.iter().chain(&self.split.preamble);
                let preamble: String = lines.filter(used).map(|line| format!("{inner}{line}\n")).collect();
                preamble + &text
            }
            _ => format!("{inner}return None"),
        };
        Some(format!("{indent}{header}\n{body}\n"))
    }

    /// Decorates the function where it stands: the registrar gives back a plain function.
    fn decorate_in_place(&self, register: &str, edits: &mut Vec<Edit>) {
        let function = self.scope.function();
        let private = self.private();
        let named = self.names.op == self.scope.name(function.name);
        let like = self.op_text(&private).fake_is_like();
        let decorator = self.op_text(&private).decorator(register, named).unwrap_or_default();
        let def = self.scope.source().line_start(function.header.start);
        let fake = if like { None } else { self.fake_function(&private) };
        let above = self.above(function.span.start);
        match fake.map(|fake| format!("{fake}{}", self.gap())) {
            Some(fake) if above == def => edits.push(Edit::insert(def, format!("{fake}{decorator}"))),
            Some(fake) => edits.extend([Edit::insert(above, fake), Edit::insert(def, decorator)]),
            None => edits.push(Edit::insert(def, decorator)),
        }
    }

    /// Where something goes that stands in front of a function: above the comments that touch it.
    fn above(&self, offset: u32) -> u32 {
        let source = self.scope.source();
        comment_above(source, source.line_start(offset))
    }

    /// Turns the function into the op's implementation and writes a public function of the old name behind it.
    fn rename(&self, register: &str, in_place: bool, edits: &mut Vec<Edit>) {
        let function = self.scope.function();
        let source = self.scope.source();
        let private = self.private();
        let def = source.line_start(function.header.start);
        let decorators = source.line_start(function.span.start).min(def);
        let decorator = self.op_text(&private).decorator(register, false).unwrap_or_default();
        let like = in_place && matches!(self.fake, Some(Fake { like: Some(_), .. }));
        let fake = if like { None } else { self.fake_function(&private) };
        let before = fake
            .as_ref()
            .filter(|_| in_place)
            .map(|fake| format!("{fake}{}", self.gap()))
            .unwrap_or_default();
        let above = self.above(decorators);
        if above < decorators && !before.is_empty() {
            edits.push(Edit::insert(above, before));
            edits.push(Edit::replace(Span::new(decorators, def), decorator));
        } else {
            edits.push(Edit::replace(Span::new(decorators, def), format!("{before}{decorator}")));
        }
        edits.push(Edit::replace(function.name_span, private.implementation.clone()));
        edits.extend(self.move_docstring());
        let end = source.line_end(
            function
                .span
                .end
                .max(function.body_span.end)
                .saturating_sub(1)
                .max(function.span.start),
        );
        let mut text = String::new();
        if !source.text[..end as usize].ends_with(['\n', '\r']) {
            text.push('\n');
        }
        if !in_place && let Some(fake) = fake {
            let register = match self.route {
                Route::CustomOp => format!("{}@{}.register_fake\n", self.indent(), private.implementation),
                Route::Library | Route::House(..) => String::new(),
            };
            text.push_str(&format!("{}{register}{fake}", self.gap()));
        }
        if let Some(statements) = self.op_text(&private).statements(register) {
            text.push_str(&format!("{}{statements}", self.gap()));
        }
        text.push_str(&format!("{}{}", self.gap(), self.public(in_place, &private)));
        edits.push(Edit::insert(end, text));
    }

    /// The docstring belongs to the public function.
    fn move_docstring(&self) -> Option<Edit> {
        let function = self.scope.function();
        let source = self.scope.source();
        let docstring = function.docstring?;
        let alone = function.body.top.len() > 1
            && source.text[source.line_start(docstring.start) as usize..docstring.start as usize]
                .trim()
                .is_empty();
        let start = source.line_start(docstring.start);
        let mut end = source.line_end(docstring.end);
        let rest = source.text[docstring.end as usize..end as usize].trim();
        if !alone || !(rest.is_empty() || rest.starts_with('#')) {
            return None;
        }
        while (end as usize) < source.text.len() {
            let next = source.line_end(end);
            if !source.slice(Span::new(end, next)).trim().is_empty() {
                break;
            }
            end = next;
        }
        Some(Edit::replace(Span::new(start, end), ""))
    }

    /// The public function: the old header and docstring around a call of the op.
    fn public(&self, in_place: bool, private: &Private) -> String {
        let function = self.scope.function();
        let source = self.scope.source();
        let (indent, inner, unit) = (self.indent(), self.inner(), &self.scope.facts().layout.indent);
        let def = source.line_start(function.header.start);
        let decorators = source.line_start(function.span.start).min(def);
        let mut text = source.slice(Span::new(decorators, def)).to_string();
        text.push_str(&format!("{indent}{}\n", self.scope.text(function.header)));
        if let Some(docstring) = function.docstring {
            text.push_str(&format!("{inner}{}\n", self.scope.text(docstring)));
        }
        for line in &self.split.before {
            text.push_str(&format!("{line}\n"));
        }
        let prefix = match &self.split.bind {
            Some(names) => format!("{names} = "),
            None if self.split.nothing => String::new(),
            None => "return ".to_string(),
        };
        let callee = if in_place {
            private.implementation.clone()
        } else {
            format!("torch.ops.{}.{}", self.namespace, self.names.op)
        };
        text.push_str(&signature::call_within(
            self.scope.width(),
            &prefix,
            &callee,
            &self.interface.arguments,
            (&inner, unit),
        ));
        text.push('\n');
        for line in &self.split.after {
            text.push_str(&format!("{line}\n"));
        }
        text
    }

    /// Writes the return annotation that the op needs into its header.
    fn annotate_returns(&self, edits: &mut Vec<Edit>) {
        let function = self.scope.function();
        let Some(returns) = &self.split.returns else { return };
        edits.push(match function.returns {
            Some(annotation) => Edit::replace(annotation.span, returns.clone()),
            None => Edit::insert(function.params_span.end, format!(" -> {returns}")),
        });
    }
}
