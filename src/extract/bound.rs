//! Which names a body binds, and where: known before the body is lowered, since a name that is assigned anywhere is local.

use super::names::{Interner, OUTER, Owner};
use super::scope::{Scope, UNBOUND};
use super::{DEEPEST, Extractor};
use crate::facts::{FunctionKind, Name};
use crate::source::Span;
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, Pattern, Stmt};
use ruff_text_size::{Ranged, TextRange};

impl Extractor<'_> {
    /// Finds the locals of the body that begins, `params` first.
    pub(super) fn enter_locals(&mut self, statements: &[Stmt], params: &[Name]) {
        let mut finder = Finder {
            names: &mut self.names,
            bound: std::mem::take(&mut self.scope.bound),
            outer: Vec::new(),
        };
        finder.blocks(statements);
        let (mut bound, outer) = (finder.bound, finder.outer);
        if self.has_walrus {
            let mut walruses = Walruses {
                names: &mut self.names,
                bound: &mut bound,
                depth: 0,
            };
            walruses.visit_body(statements);
        }
        bound.sort_unstable();
        if self.scope.kind != FunctionKind::Module {
            for name in outer {
                self.own(name, OUTER);
            }
        }
        for &name in params.iter().chain(bound.iter().map(|(_, name)| name)) {
            self.local(name);
        }
        self.scope.bound = bound;
    }

    /// The slot of a name in the body in work, a new one if it has none.
    pub(super) fn local(&mut self, name: Name) -> u32 {
        let owner = self.names.owner(name);
        if owner.function == Some(self.scope.function) {
            return owner.slot;
        }
        let slot = self.scope.locals.len() as u32;
        self.scope.locals.push(name);
        self.scope.env.push(UNBOUND);
        self.own(name, slot);
        slot
    }

    fn own(&mut self, name: Name, slot: u32) {
        self.scope.shadowed.push((name, self.names.owner(name)));
        self.names.set_owner(
            name,
            Owner {
                function: Some(self.scope.function),
                slot,
            },
        );
    }

    /// What a name is in the body in work: a slot, [`OUTER`], or nothing.
    pub(super) fn slot(&self, name: Name) -> Option<u32> {
        let owner = self.names.owner(name);
        (owner.function == Some(self.scope.function)).then_some(owner.slot)
    }

    /// Slots of the names that the body binds inside a span, sorted.
    pub(super) fn bound_in(&self, span: Span) -> Vec<u32> {
        let Scope { bound, .. } = &self.scope;
        let from = bound.partition_point(|b| b.0 < span.start);
        let to = bound.partition_point(|b| b.0 < span.end);
        let mut slots: Vec<u32> = bound[from..to.max(from)]
            .iter()
            .filter_map(|b| self.slot(b.1))
            .filter(|&s| s != OUTER)
            .collect();
        slots.sort_unstable();
        slots.dedup();
        slots
    }
}

/// Collects what statements bind, without looking into expressions.
struct Finder<'n> {
    names: &'n mut Interner,
    bound: Vec<(u32, Name)>,
    outer: Vec<Name>,
}

impl Finder<'_> {
    /// Walks over a body by a list of blocks to do, so that no nesting is too deep.
    fn blocks<'a>(&mut self, statements: &'a [Stmt]) {
        let mut todo: Vec<&'a [Stmt]> = vec![statements];
        while let Some(block) = todo.pop() {
            block.iter().for_each(|s| self.statement(s, &mut todo));
        }
    }

    fn statement<'a>(&mut self, statement: &'a Stmt, todo: &mut Vec<&'a [Stmt]>) {
        match statement {
            Stmt::Assign(s) => s.targets.iter().for_each(|t| self.target(t)),
            Stmt::AugAssign(s) => self.target(&s.target),
            Stmt::AnnAssign(s) => self.target(&s.target),
            Stmt::TypeAlias(s) => self.target(&s.name),
            Stmt::Delete(s) => s.targets.iter().for_each(|t| self.target(t)),
            Stmt::FunctionDef(s) => self.bind(&s.name.id, s.name.range),
            Stmt::ClassDef(s) => self.bind(&s.name.id, s.name.range),
            Stmt::For(s) => {
                self.target(&s.target);
                todo.extend([&s.body[..], &s.orelse[..]]);
            }
            Stmt::While(s) => todo.extend([&s.body[..], &s.orelse[..]]),
            Stmt::If(s) => {
                todo.push(&s.body);
                todo.extend(s.elif_else_clauses.iter().map(|c| &c.body[..]));
            }
            Stmt::With(s) => {
                s.items
                    .iter()
                    .filter_map(|i| i.optional_vars.as_deref())
                    .for_each(|t| self.target(t));
                todo.push(&s.body);
            }
            Stmt::Try(s) => {
                todo.extend([&s.body[..], &s.orelse[..], &s.finalbody[..]]);
                for handler in s.handlers.iter().filter_map(|h| h.as_except_handler()) {
                    if let Some(name) = &handler.name {
                        self.bind(&name.id, name.range);
                    }
                    todo.push(&handler.body);
                }
            }
            Stmt::Match(s) => {
                for case in &s.cases {
                    self.pattern(&case.pattern);
                    todo.push(&case.body);
                }
            }
            Stmt::Import(s) => s.names.iter().for_each(|alias| match &alias.asname {
                Some(name) => self.bind(&name.id, alias.range),
                None => self.bind(alias.name.id.split('.').next().unwrap_or_default(), alias.range),
            }),
            Stmt::ImportFrom(s) => {
                for alias in s.names.iter().filter(|a| &a.name.id != "*") {
                    self.bind(&alias.asname.as_ref().unwrap_or(&alias.name).id, alias.range);
                }
            }
            Stmt::Global(s) => s.names.iter().for_each(|n| self.outer.push(self.names.intern(&n.id))),
            Stmt::Nonlocal(s) => s.names.iter().for_each(|n| self.outer.push(self.names.intern(&n.id))),
            Stmt::Return(_) | Stmt::Raise(_) | Stmt::Assert(_) | Stmt::Expr(_) | Stmt::Pass(_) => {}
            Stmt::Break(_) | Stmt::Continue(_) | Stmt::IpyEscapeCommand(_) => {}
        }
    }

    fn bind(&mut self, name: &str, range: TextRange) {
        self.bound.push((range.start().to_u32(), self.names.intern(name)));
    }

    fn target(&mut self, target: &Expr) {
        if let Expr::Name(name) = target {
            return self.bind(&name.id, name.range);
        }
        let mut todo = vec![target];
        while let Some(target) = todo.pop() {
            match target {
                Expr::Name(name) => self.bind(&name.id, name.range),
                Expr::Tuple(t) => todo.extend(&t.elts),
                Expr::List(t) => todo.extend(&t.elts),
                Expr::Starred(t) => todo.push(&t.value),
                _ => {}
            }
        }
    }

    fn pattern(&mut self, pattern: &Pattern) {
        let mut todo = vec![pattern];
        while let Some(pattern) = todo.pop() {
            let name = match pattern {
                Pattern::MatchAs(p) => {
                    todo.extend(p.pattern.as_deref());
                    &p.name
                }
                Pattern::MatchStar(p) => &p.name,
                Pattern::MatchMapping(p) => {
                    todo.extend(&p.patterns);
                    &p.rest
                }
                Pattern::MatchSequence(p) => {
                    todo.extend(&p.patterns);
                    &None
                }
                Pattern::MatchOr(p) => {
                    todo.extend(&p.patterns);
                    &None
                }
                Pattern::MatchClass(p) => {
                    todo.extend(&p.arguments.patterns);
                    todo.extend(p.arguments.keywords.iter().map(|k| &k.pattern));
                    &None
                }
                Pattern::MatchValue(_) | Pattern::MatchSingleton(_) => &None,
            };
            if let Some(name) = name {
                self.bind(&name.id, pattern.range());
            }
        }
    }
}

/// Collects `name := value`, which binds in the body around any comprehension.
struct Walruses<'n> {
    names: &'n mut Interner,
    bound: &'n mut Vec<(u32, Name)>,
    depth: u32,
}

impl<'a> Visitor<'a> for Walruses<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(f) => {
                f.decorator_list.iter().for_each(|d| self.visit_decorator(d));
                f.parameters
                    .iter_non_variadic_params()
                    .filter_map(|p| p.default.as_deref())
                    .for_each(|d| self.visit_expr(d));
            }
            Stmt::ClassDef(c) => {
                c.decorator_list.iter().for_each(|d| self.visit_decorator(d));
                c.arguments.iter().for_each(|a| self.visit_arguments(a));
            }
            _ if self.depth < DEEPEST => {
                self.depth += 1;
                walk_stmt(self, statement);
                self.depth -= 1;
            }
            _ => {}
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Lambda(_) => return,
            Expr::Named(named) => {
                if let Expr::Name(name) = &*named.target {
                    self.bound.push((name.range.start().to_u32(), self.names.intern(&name.id)));
                }
            }
            _ => {}
        }
        if self.depth < DEEPEST {
            self.depth += 1;
            walk_expr(self, expression);
            self.depth -= 1;
        }
    }
}
