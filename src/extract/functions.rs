//! Functions, lambdas and classes: headers in the body around them, bodies on their own.

use super::headers;
use super::names::OUTER;
use super::parse;
use super::scope::{Scope, UNBOUND};
use super::{Extractor, Quoted, span};
use crate::facts::*;
use crate::source::Span;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};
use smallvec::{SmallVec, smallvec};

/// What lowering a body gives.
pub(super) struct Lowered {
    body: Body,
    bindings: Vec<(Name, ValueId)>,
    assigned: Vec<(Name, SmallVec<[ValueId; 4]>)>,
    is_generator: bool,
}

impl Lowered {
    pub(super) fn fill(self, function: &mut Function) {
        function.body = self.body;
        function.bindings = self.bindings;
        function.assigned = self.assigned;
        function.is_generator = self.is_generator;
    }
}

impl Extractor<'_> {
    pub(super) fn def(&mut self, f: &ast::StmtFunctionDef) {
        let decorators = self.decorators(&f.decorator_list);
        let name = self.names.intern(&f.name.id);
        let kind = if f.is_async { FunctionKind::AsyncDef } else { FunctionKind::Def };
        let id = FunctionId(self.functions.len() as u32);
        self.functions.push(blank(name, kind, self.scope.function));
        let qualname = self.qualname(name);

        let overlaid = self.type_params(f.type_params.as_deref());
        let params = self.params(&f.parameters);
        let returns = f.returns.as_deref().map(|r| self.annotation(r));
        self.scope.overlay.truncate(overlaid);
        let header_start = header_start(self.text, f.range.start().to_u32(), &f.decorator_list);
        let header_end = f.returns.as_deref().map_or(f.parameters.range.end(), |r| r.range().end()).to_u32();
        let header = headers::until_colon(self.text, header_start, header_end);
        let value = self.scope.emit(Op::Function(id), header);
        let decorated = self.decorate(value, &decorators, Some(id), span(f.name.range));
        self.bind(name, decorated, f.name.range);

        let class = self.scope.class;
        let names: Vec<Name> = params.iter().map(|p| p.name).collect();
        let done = self.nested(id, kind, qualname, |cx| {
            cx.enter_locals(&f.body, &names);
            cx.bind_params(&params);
            cx.scope.body.top = cx.block(&f.body);
        });
        let function = &mut self.functions[id.index()];
        (function.qualname, function.class, function.params) = (qualname, class, params);
        (function.decorators, function.returns) = (decorators, returns);
        (function.span, function.header, function.name_span) = (span(f.range), header, span(f.name.range));
        (function.params_span, function.body_span) = (span(f.parameters.range), extent(&f.body));
        function.docstring = docstring(&f.body);
        done.fill(function);
    }

    pub(super) fn lambda(&mut self, e: &ast::ExprLambda) -> ValueId {
        let name = self.intern("<lambda>");
        let id = FunctionId(self.functions.len() as u32);
        self.functions.push(blank(name, FunctionKind::Lambda, self.scope.function));
        let qualname = self.qualname(name);
        let params = e.parameters.as_deref().map_or_else(Vec::new, |p| self.params(p));
        let at = self.span(e.range);
        let value = self.scope.emit(Op::Function(id), at);
        let names: Vec<Name> = params.iter().map(|p| p.name).collect();
        let body_span = self.span(e.body.range());
        let done = self.nested(id, FunctionKind::Lambda, qualname, |cx| {
            cx.enter_locals(&[], &names);
            cx.bind_params(&params);
            let result = cx.expr(&e.body);
            cx.scope.emit(Op::Return(result), body_span);
        });
        let header_end = e
            .parameters
            .as_ref()
            .map_or(at.start + "lambda".len() as u32, |p| p.range.end().to_u32());
        let function = &mut self.functions[id.index()];
        (function.qualname, function.params, function.span, function.body_span) = (qualname, params, at, body_span);
        function.name_span = Span::at(at.start);
        function.params_span = Span::at(header_end);
        function.header = match &self.quoted {
            Some(quoted) => quoted.span,
            None => headers::until_colon(self.text, at.start, header_end),
        };
        done.fill(function);
        value
    }

    pub(super) fn class(&mut self, c: &ast::StmtClassDef) {
        let decorators = self.decorators(&c.decorator_list);
        let name = self.names.intern(&c.name.id);
        let (id, body) = (ClassId(self.classes.len() as u32), FunctionId(self.functions.len() as u32));
        let (qualname, parent) = (self.qualname(name), self.scope.function);
        self.classes.push(Class {
            name,
            qualname,
            parent,
            body,
            bases: Vec::new(),
            decorators: decorators.iter().map(|d| d.value).collect(),
            span: span(c.range),
            name_span: span(c.name.range),
        });
        self.functions.push(blank(name, FunctionKind::Class, parent));

        let overlaid = self.type_params(c.type_params.as_deref());
        let args = c.arguments.as_deref().map_or_else(Args::new, |a| self.arguments(a));
        self.scope.overlay.truncate(overlaid);
        let bases = args
            .iter()
            .filter(|a| matches!(a.kind, ArgKind::Positional | ArgKind::Star))
            .map(|a| a.value)
            .collect();
        let header_start = header_start(self.text, c.range.start().to_u32(), &c.decorator_list);
        let header_end = match (&c.arguments, &c.type_params) {
            (Some(arguments), _) => arguments.range.end(),
            (None, Some(params)) => params.range.end(),
            (None, None) => c.name.range.end(),
        };
        let header = headers::until_colon(self.text, header_start, header_end.to_u32());
        let value = self.scope.emit(Op::Class(id), header);
        let decorated = self.decorate(value, &decorators, None, span(c.name.range));
        self.bind(name, decorated, c.name.range);

        let done = self.nested(body, FunctionKind::Class, qualname, |cx| {
            cx.scope.class = Some(id);
            cx.enter_locals(&c.body, &[]);
            cx.scope.body.top = cx.block(&c.body);
        });
        self.classes[id.index()].bases = bases;
        let function = &mut self.functions[body.index()];
        (function.qualname, function.decorators) = (qualname, decorators);
        (function.span, function.header, function.name_span) = (span(c.range), header, span(c.name.range));
        (function.params_span, function.body_span) = (Span::at(header.end), extent(&c.body));
        function.docstring = docstring(&c.body);
        done.fill(function);
    }

    /// Lowers a body of its own while the one in work waits.
    pub(super) fn nested(&mut self, id: FunctionId, kind: FunctionKind, qualname: Name, lower: impl FnOnce(&mut Self)) -> Lowered {
        let mut scope = self.spare.pop().unwrap_or_else(Scope::new);
        scope.reset(id, kind, qualname);
        let outer = std::mem::replace(&mut self.scope, scope);
        lower(self);
        let (bindings, assigned) = (self.bindings(), self.assigned());
        let mut inner = std::mem::replace(&mut self.scope, outer);
        for &(name, owner) in inner.shadowed.iter().rev() {
            self.names.set_owner(name, owner);
        }
        inner.frees.sort_unstable();
        inner.frees.dedup();
        if id != MODULE {
            inner.frees.iter().for_each(|&name| self.nested_free(name));
        }
        let body = Body {
            values: inner.body.values.as_slice().to_vec(),
            pool: inner.body.pool.as_slice().to_vec(),
            calls: inner.body.calls.drain(..).collect(),
            guards: inner.body.guards.as_slice().to_vec(),
            statements: inner.body.statements.drain(..).collect(),
            top: std::mem::take(&mut inner.body.top),
        };
        let is_generator = inner.is_generator;
        self.spare.push(inner);
        Lowered {
            body,
            bindings,
            assigned,
            is_generator,
        }
    }

    /// A nested body reads a name that it does not bind.
    fn nested_free(&mut self, name: Name) {
        if let Some(&captured) = self.scope.overlay.iter().rev().find(|o| o.0 == name) {
            return self.scope.captured.push(captured);
        }
        self.scope.uses.push(name);
        // The scope of a class is not seen from the functions in it.
        if self.scope.kind == FunctionKind::Class || self.slot(name).is_none_or(|slot| slot == OUTER) {
            self.scope.frees.push(name);
        }
    }

    fn bindings(&mut self) -> Vec<(Name, ValueId)> {
        let mut is_bound = vec![false; self.scope.locals.len()];
        self.scope.given.iter().for_each(|g| is_bound[g.0 as usize] = true);
        let mut bindings = Vec::with_capacity(self.scope.locals.len());
        for (slot, _) in is_bound.iter().enumerate().filter(|b| *b.1) {
            let value = self.scope.known(self.scope.env[slot]);
            bindings.push((self.scope.locals[slot], value));
        }
        bindings.sort_unstable();
        bindings
    }

    fn assigned(&mut self) -> Vec<(Name, SmallVec<[ValueId; 4]>)> {
        let Scope {
            given, locals, captured, ..
        } = &self.scope;
        let mut all: Vec<(Name, ValueId)> = Vec::with_capacity(given.len() + captured.len());
        all.extend(
            given
                .iter()
                .filter(|g| g.1 != UNBOUND)
                .map(|&(slot, value)| (locals[slot as usize], value)),
        );
        all.extend(captured);
        all.sort_unstable();
        all.dedup();
        all.chunk_by(|a, b| a.0 == b.0)
            .map(|same| (same[0].0, same.iter().map(|s| s.1).collect()))
            .collect()
    }

    fn bind_params(&mut self, params: &[Param]) {
        for (i, param) in params.iter().enumerate() {
            let value = self.scope.emit(Op::Param(i.min(u16::MAX as usize) as u16), param.name_span);
            let slot = self.local(param.name);
            if slot != OUTER {
                self.scope.assign(slot, value);
            }
        }
    }

    /// Python's `__qualname__` of something defined in the body in work.
    fn qualname(&mut self, name: Name) -> Name {
        let prefix = match self.scope.kind {
            FunctionKind::Module => return name,
            // `global f` makes `def f` a function of the module.
            _ if self.slot(name) == Some(OUTER) => return name,
            FunctionKind::Class => ".",
            FunctionKind::Def | FunctionKind::AsyncDef | FunctionKind::Lambda => ".<locals>.",
        };
        let text = [self.names.text(self.scope.qualname), prefix, self.names.text(name)].concat();
        self.names.intern(&text)
    }

    fn decorators(&mut self, decorators: &[ast::Decorator]) -> Vec<Decorator> {
        decorators
            .iter()
            .map(|d| Decorator {
                value: self.expr(&d.expression),
                span: span(d.range),
            })
            .collect()
    }

    /// Applies decorators, the innermost first.
    fn decorate(&mut self, value: ValueId, decorators: &[Decorator], function: Option<FunctionId>, name: Span) -> ValueId {
        let mut decorated = value;
        for decorator in decorators.iter().rev() {
            let args = smallvec![Arg {
                kind: ArgKind::Positional,
                value: decorated,
                span: name,
            }];
            self.scope.body.calls.push(Call {
                callee: decorator.value,
                args,
                decorates: function,
            });
            let call = CallId(self.scope.body.calls.len() as u32 - 1);
            decorated = self.scope.emit(Op::Call(call), decorator.span);
        }
        decorated
    }

    fn params(&mut self, p: &ast::Parameters) -> Vec<Param> {
        let mut params = Vec::with_capacity(p.len());
        for param in &p.posonlyargs {
            params.push(self.param(param.range, &param.parameter, param.default.as_deref(), ParamKind::PositionalOnly));
        }
        for param in &p.args {
            params.push(self.param(param.range, &param.parameter, param.default.as_deref(), ParamKind::Positional));
        }
        params.extend(
            p.vararg
                .as_deref()
                .map(|param| self.param(param.range, param, None, ParamKind::Star)),
        );
        for param in &p.kwonlyargs {
            params.push(self.param(param.range, &param.parameter, param.default.as_deref(), ParamKind::KeywordOnly));
        }
        params.extend(
            p.kwarg
                .as_deref()
                .map(|param| self.param(param.range, param, None, ParamKind::StarStar)),
        );
        params
    }

    fn param(&mut self, range: TextRange, p: &ast::Parameter, default: Option<&Expr>, kind: ParamKind) -> Param {
        let annotation = p.annotation.as_deref().map(|a| self.annotation(a));
        let default_span = default.map(|d| self.span(d.range()));
        let default = default.map(|d| self.expr(d));
        let name = self.names.intern(&p.name.id);
        Param {
            name,
            kind,
            annotation,
            default,
            default_span,
            span: self.span(range),
            name_span: self.span(p.name.range),
        }
    }

    /// An annotation; one in quotes is parsed.
    pub(super) fn annotation(&mut self, annotation: &Expr) -> Annotation {
        let at = self.span(annotation.range());
        let Expr::StringLiteral(string) = annotation else {
            return Annotation {
                value: self.expr(annotation),
                span: at,
                quoted: false,
            };
        };
        let text = string.value.to_str();
        let parsed = if self.quoted.is_none() { parse::annotation(text) } else { None };
        let Some(tree) = parsed else {
            return Annotation {
                value: self.expr(annotation),
                span: at,
                quoted: true,
            };
        };
        self.quoted = Some(Quoted {
            span: at,
            text: text.into(),
        });
        let value = self.expr(&tree);
        self.quoted = None;
        parse::discard(tree, text, self.deep);
        Annotation {
            value,
            span: at,
            quoted: true,
        }
    }

    /// The names of type parameters: known, but not what they are. Returns where the overlay was.
    pub(super) fn type_params(&mut self, params: Option<&ast::TypeParams>) -> usize {
        let overlaid = self.scope.overlay.len();
        for param in params.into_iter().flatten() {
            let (name, bound, default) = match param {
                ast::TypeParam::TypeVar(p) => (&p.name, p.bound.as_deref(), p.default.as_deref()),
                ast::TypeParam::TypeVarTuple(p) => (&p.name, None, p.default.as_deref()),
                ast::TypeParam::ParamSpec(p) => (&p.name, None, p.default.as_deref()),
            };
            let (id, at) = (self.names.intern(&name.id), self.span(name.range));
            let value = self.scope.emit(Op::Undefined, at);
            self.scope.overlay.push((id, value));
            for part in bound.into_iter().chain(default) {
                self.expr(part);
            }
        }
        overlaid
    }
}

/// A function of which only the place in the list is known.
pub(super) fn blank(name: Name, kind: FunctionKind, parent: FunctionId) -> Function {
    Function {
        name,
        qualname: name,
        kind,
        parent,
        class: None,
        params: Vec::new(),
        decorators: Vec::new(),
        returns: None,
        is_generator: false,
        span: Span::default(),
        header: Span::default(),
        name_span: Span::default(),
        params_span: Span::default(),
        body_span: Span::default(),
        docstring: None,
        body: Body::default(),
        bindings: Vec::new(),
        assigned: Vec::new(),
    }
}

/// From the first statement to the end of the last.
pub(super) fn extent(statements: &[Stmt]) -> Span {
    match (statements.first(), statements.last()) {
        (Some(first), Some(last)) => Span::new(first.range().start().to_u32(), last.range().end().to_u32()),
        _ => Span::default(),
    }
}

/// The docstring's statement.
pub(super) fn docstring(statements: &[Stmt]) -> Option<Span> {
    let first = statements.first()?.as_expr_stmt()?;
    first.value.is_string_literal_expr().then(|| span(first.range))
}

/// Where `def`, `async` or `class` stands.
fn header_start(text: &str, start: u32, decorators: &[ast::Decorator]) -> u32 {
    decorators
        .last()
        .map_or(start, |d| headers::skip(text, d.range.end().to_u32(), |b| b == b')'))
}
