//! Objects whose fields are read, and dicts whose keys are: the op takes the fields, the public function reads them.

use super::evidence;
use super::names::unused;
use super::scope::Scope;
use super::signature::{Base, Type};
use super::types::Types;
use crate::facts::{ALWAYS, Const, FunctionKind, MODULE, Name, Op, Param, ValueId};
use crate::finding::Edit;
use crate::program::FunctionRef;
use crate::source::Span;
use std::rc::Rc;

/// A field that the op takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// As the body reads it: `config.width`, `config["width"]`.
    pub(super) text: String,
    /// The field, for paths of state: `config.width`.
    pub(super) path: String,
    /// The op's parameter: `config_width`.
    pub(super) name: String,
    pub(super) ty: Type,
    /// The class declares it with this type, or its use proves the type.
    pub(super) proven: bool,
    /// Its places in the body.
    pub(super) edits: Vec<Edit>,
}

/// The fields of a parameter, when nothing else is done with it.
pub(super) fn fields(scope: &Scope, types: &Rc<Types>, param: &Param) -> Option<Vec<Field>> {
    if param.default.is_some() {
        return None;
    }
    let bodies = evidence::inside(scope);
    let mut fields: Vec<(Field, Name, bool)> = Vec::new();
    let mut spans: Vec<Span> = Vec::new();
    for at in bodies {
        let inner = Scope::new(scope.program, scope.knowledge, at);
        let body = inner.body();
        let is_object = |v: ValueId| match body.op(v) {
            Op::Param(p) => at == scope.at && scope.function().params[p as usize].name == param.name,
            Op::Free(n) => at != scope.at && n == param.name,
            _ => false,
        };
        for (v, value) in body.iter() {
            let (field, key) = match value.op {
                Op::Attr(o, name) if is_object(o) => (name, false),
                Op::Index(o, i) if is_object(o) => match body.op(i) {
                    Op::Const(Const::Str(name)) => (name, true),
                    _ => return None,
                },
                _ => continue,
            };
            let called = body.calls.iter().any(|c| c.callee == v);
            let maybe = at != scope.at || value.guard != ALWAYS;
            if called || (key && maybe) {
                return None;
            }
            spans.push(value.span);
            let text = scope.text(value.span).to_string();
            let edit = Edit::replace(value.span, "");
            match fields.iter_mut().find(|(f, ..)| f.text == text) {
                Some((f, ..)) if !f.edits.contains(&edit) => f.edits.push(edit),
                Some(_) => {}
                None => {
                    let word = scope.name(field);
                    let name = format!("{}_{word}", scope.name(param.name));
                    if !word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') || unused(scope.facts(), &name) != name {
                        return None;
                    }
                    let field_of = Field {
                        path: format!("{}.{word}", scope.name(param.name)),
                        text,
                        name: name.clone(),
                        ty: NOTHING,
                        proven: !maybe,
                        edits: vec![edit],
                    };
                    fields.push((field_of, field, key));
                }
            }
        }
    }
    spans.sort_unstable();
    spans.dedup();
    if fields.is_empty() || mentions(scope, param) != spans.len() {
        return None;
    }
    let declared = Declared::find(scope, param);
    let items = param.annotation.and_then(|a| of_items(scope.text(a.span)));
    let mut found = Vec::new();
    for (mut field, name, key) in fields {
        let said = declared.as_ref().and_then(|d| d.field(scope.name(name)));
        let known = match said.filter(|_| !key).or(items.filter(|_| key)) {
            Some(ty) => Some((ty, !key || field.proven)),
            None => {
                let used = types.field(scope.at, param.name, name, key)?;
                Some((used.ty, field.proven && used.proven))
            }
        };
        (field.ty, field.proven) = known?;
        if field.ty.base == Base::Other || found.iter().any(|f: &Field| f.name == field.name) {
            return None;
        }
        for edit in &mut field.edits {
            edit.content.clone_from(&field.name);
        }
        found.push(field);
    }
    Some(found)
}

/// What the values of a mapping with strings for keys are: `Mapping[str, int]`.
pub(super) fn of_items(annotation: &str) -> Option<Type> {
    let inside = annotation.trim().trim_matches(['"', '\'']).strip_suffix(']')?;
    let (name, items) = inside.split_once('[')?;
    let name = name.rsplit('.').next()?;
    let item = items.strip_prefix("str")?.trim_start().strip_prefix(',')?;
    let ty = Type::read(item.trim());
    (matches!(name, "dict" | "Dict" | "Mapping" | "MutableMapping") && ty.base != Base::Other).then_some(ty)
}

const NOTHING: Type = Type {
    base: Base::Other,
    list: false,
    optional: false,
};

/// How often the body has the parameter's name as a word, comments included.
fn mentions(scope: &Scope, param: &Param) -> usize {
    let function = scope.function();
    let name = scope.name(param.name);
    let start = function.docstring.map_or(function.body_span.start, |d| d.end);
    let text = scope.text(Span::new(start.min(function.body_span.end), function.body_span.end));
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let hits = text.match_indices(name).filter(|(at, _)| {
        let before = text[..*at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(|c| is_word(c) || c == '.') && !after.is_some_and(is_word)
    });
    hits.count()
}

/// The fields that a class of the project declares.
struct Declared<'a> {
    scope: Scope<'a>,
}

impl<'a> Declared<'a> {
    fn find(scope: &Scope<'a>, param: &Param) -> Option<Self> {
        let text = scope.text(param.annotation?.span).trim_matches(['"', '\'']);
        let (program, facts) = (scope.program, scope.facts());
        let value = facts.module().bindings.iter().find(|(n, _)| facts.name(*n) == text)?.1;
        let module = FunctionRef {
            file: scope.at.file,
            function: MODULE,
        };
        let (file, class) = match facts.module().body.op(value) {
            Op::Import(_) => {
                let dotted = Scope::new(program, scope.knowledge, module).dotted(value)?;
                let (module, class) = dotted.rsplit_once('.')?;
                (*program.modules.get(module)?, class.to_string())
            }
            _ => (scope.at.file, text.to_string()),
        };
        let facts = &program.file(file).facts;
        let class = facts.classes.iter().find(|c| facts.name(c.qualname) == class)?;
        let at = FunctionRef {
            file,
            function: class.body,
        };
        Some(Self {
            scope: Scope::new(program, scope.knowledge, at),
        })
    }

    /// The type of a declared field.
    fn field(&self, name: &str) -> Option<Type> {
        let body = self.scope.body();
        let statement = body.statements.iter().find(|s| {
            let text = self.scope.text(s.span);
            s.parent.is_none() && text.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with(':'))
        })?;
        let text = self.scope.text(statement.span);
        let annotation = text[name.len()..].trim_start().trim_start_matches(':');
        let annotation = super::signature::split(annotation, '=').first().copied()?;
        let ty = Type::read(annotation.split('#').next()?);
        debug_assert!(matches!(self.scope.function().kind, FunctionKind::Class));
        (ty.base != Base::Other).then_some(ty)
    }
}

/// Replaces the fields' texts in code that is written anew.
pub(super) fn renamed(text: &str, fields: &[Field]) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = text.to_string();
    let mut longest: Vec<&Field> = fields.iter().collect();
    longest.sort_by_key(|f| std::cmp::Reverse(f.text.len()));
    for field in longest {
        let mut from = 0;
        while let Some(at) = out[from..].find(&field.text).map(|at| from + at) {
            let end = at + field.text.len();
            let before = out[..at].chars().next_back();
            let after = out[end..].chars().next();
            if before.is_some_and(|c| is_word(c) || c == '.') || after.is_some_and(is_word) {
                from = end;
                continue;
            }
            out.replace_range(at..end, &field.name);
            from = at + field.name.len();
        }
    }
    out
}
