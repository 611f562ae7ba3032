//! Statements: the list that later stages cut code apart by, and the ways control takes.

use super::Extractor;
use super::assign::Binds;
use super::functions::extent;
use super::headers;
use super::scope::End;
use crate::facts::*;
use ruff_python_ast::{self as ast, Stmt};
use ruff_text_size::Ranged;

/// What a compound statement adds to its entry in the list.
#[derive(Default)]
pub(super) struct Compound {
    /// The first value behind the header; `None`: all values are the header's.
    pub(super) header_end: Option<ValueId>,
    pub(super) blocks: Vec<Block>,
}

impl Extractor<'_> {
    /// Lowers a block.
    pub(super) fn block(&mut self, statements: &[Stmt]) -> Vec<StatementId> {
        let mut ids = Vec::with_capacity(statements.len());
        for statement in statements {
            if !self.descend(statement.range()) {
                break;
            }
            ids.push(self.statement(statement));
            self.ascend();
        }
        ids
    }

    fn statement(&mut self, statement: &Stmt) -> StatementId {
        let id = StatementId(self.scope.body.statements.len() as u32);
        let first = self.scope.next();
        let parent = self.scope.statement.replace(id);
        self.scope.body.statements.push(Statement {
            kind: kind(statement),
            span: self.span(statement.range()),
            parent,
            defines: Names::new(),
            uses: Names::new(),
            values: (first, first),
            header_values: (first, first),
            blocks: Vec::new(),
        });
        let (uses, defines) = (self.scope.uses.len(), self.scope.defines.len());
        let compound = self.dispatch(statement);
        self.scope.statement = parent;
        let last = self.scope.next();
        let entry = &mut self.scope.body.statements[id.index()];
        entry.uses = take_names(&mut self.scope.uses, uses);
        entry.defines = take_names(&mut self.scope.defines, defines);
        entry.values = (first, last);
        entry.header_values = (first, compound.header_end.unwrap_or(last));
        entry.blocks = compound.blocks;
        id
    }

    fn dispatch(&mut self, statement: &Stmt) -> Compound {
        match statement {
            Stmt::If(s) => return self.if_statement(s),
            Stmt::For(s) => return self.for_loop(s),
            Stmt::While(s) => return self.while_loop(s),
            Stmt::With(s) => return self.with(s),
            Stmt::Try(s) => return self.try_statement(s),
            Stmt::Match(s) => return self.match_statement(s),
            Stmt::FunctionDef(s) => self.def(s),
            Stmt::ClassDef(s) => self.class(s),
            Stmt::Assign(s) => self.assign(s),
            Stmt::AnnAssign(s) => self.annotated(s),
            Stmt::AugAssign(s) => self.augmented(s),
            Stmt::Delete(s) => self.delete(s),
            Stmt::Expr(s) if s.value.is_string_literal_expr() => {}
            Stmt::Expr(s) => self.evaluate(&s.value),
            Stmt::Return(s) => self.return_statement(s),
            Stmt::Raise(s) => self.raise(s),
            Stmt::Assert(s) => self.assert(s),
            Stmt::Import(s) => self.import(s),
            Stmt::ImportFrom(s) => self.import_from(s),
            Stmt::Break(_) | Stmt::Continue(_) => self.jump(statement),
            Stmt::TypeAlias(s) => self.type_alias(s),
            Stmt::Global(_) | Stmt::Nonlocal(_) | Stmt::Pass(_) | Stmt::IpyEscapeCommand(_) => {}
        }
        Compound::default()
    }

    fn return_statement(&mut self, s: &ast::StmtReturn) {
        if matches!(self.scope.kind, FunctionKind::Module | FunctionKind::Class) {
            self.error(s.range, "`return` outside a function");
        }
        let value = match &s.value {
            Some(value) => self.expr(value),
            None => self.constant(Const::None, s.range),
        };
        let span = self.span(s.range);
        self.scope.emit(Op::Return(value), span);
        self.scope.returns += 1;
        self.scope.ended = true;
    }

    fn raise(&mut self, s: &ast::StmtRaise) {
        for part in s.exc.iter().chain(&s.cause) {
            self.expr(part);
        }
        let span = self.span(s.range);
        self.scope.emit(Op::Raise, span);
        self.scope.ended = true;
    }

    fn assert(&mut self, s: &ast::StmtAssert) {
        let condition = self.expr(&s.test);
        let span = self.span(s.range);
        self.scope.emit(Op::Assert(condition), span);
        if let Some(message) = &s.msg {
            let outer = self.scope.narrow(GuardKind::When(condition, false));
            self.expr(message);
            self.scope.guard = outer;
        }
    }

    fn type_alias(&mut self, s: &ast::StmtTypeAlias) {
        let overlaid = self.type_params(s.type_params.as_deref());
        let value = self.expr(&s.value);
        self.scope.overlay.truncate(overlaid);
        self.target(&s.name, value, Binds::Body);
    }

    fn with(&mut self, s: &ast::StmtWith) -> Compound {
        let mut end = s.range.start().to_u32() + "with".len() as u32;
        for item in &s.items {
            let context = self.expr(&item.context_expr);
            let span = self.span(item.range);
            let entered = self.scope.emit(Op::Enter(context), span);
            if let Some(target) = &item.optional_vars {
                self.target(target, entered, Binds::Body);
            }
            end = item.range.end().to_u32();
        }
        let header_end = Some(self.scope.next());
        let header = headers::until_colon(self.text, s.range.start().to_u32(), end);
        let statements = self.block(&s.body);
        Compound {
            header_end,
            blocks: vec![Block { header, statements }],
        }
    }

    fn try_statement(&mut self, s: &ast::StmtTry) -> Compound {
        let span = self.span(s.range);
        let header_end = Some(self.scope.next());
        let (outer, ended, returns, jumps) = (self.scope.guard, self.scope.ended, self.scope.returns, self.scope.jumps);
        let (mark, given) = (self.scope.mark(), self.scope.given.len());
        let mut blocks = Vec::new();

        let start = s.range.start().to_u32();
        let header = headers::until_colon(self.text, start, start + "try".len() as u32);
        let statements = self.try_body(s);
        blocks.push(Block { header, statements });
        let inside = sorted_given(&self.scope.given[given..]);
        let mut body = End {
            ended: self.scope.ended,
            changes: self.scope.take_branch(mark),
        };
        let mut ends = Vec::with_capacity(1 + s.handlers.len());
        self.handlers(s, outer, ended, &inside, &mut ends, &mut blocks);
        let handled = ends.iter().any(|e| !e.ended);
        if !s.orelse.is_empty() {
            blocks.push(self.try_else(s, outer, &mut body, mark));
        }
        let body_ended = body.ended;
        ends.insert(0, body);

        self.scope.guard = outer;
        self.scope.join(&ends, span);
        let all_ended = ends.iter().all(|e| e.ended);
        self.scope.ended = ended;
        self.finally(s, mark, given, &mut blocks);
        self.scope.ended |= all_ended;
        let left = self.scope.returns > returns || self.scope.jumps > jumps;
        if (body_ended && handled) || left {
            self.scope.narrow(GuardKind::Maybe);
        }
        Compound { header_end, blocks }
    }

    /// The body of a `try`: with handlers, what follows the first statement may be skipped.
    fn try_body(&mut self, s: &ast::StmtTry) -> Vec<StatementId> {
        let Some((first, rest)) = s.body.split_first() else {
            return Vec::new();
        };
        let mut statements = self.block(std::slice::from_ref(first));
        if !rest.is_empty() {
            if !s.handlers.is_empty() {
                self.scope.narrow(GuardKind::Maybe);
            }
            statements.extend(self.block(rest));
        }
        statements
    }

    /// `else` goes on where the body ended.
    fn try_else(&mut self, s: &ast::StmtTry, outer: GuardId, body: &mut End, mark: usize) -> Block {
        body.changes.iter().for_each(|&(slot, value)| self.scope.set(slot, value));
        self.scope.guard = self.scope.guard_under(outer, GuardKind::Maybe);
        self.scope.ended = body.ended;
        let header = headers::keyword(self.text, last_end(&s.handlers, &s.body), "else");
        let statements = self.block(&s.orelse);
        *body = End {
            ended: self.scope.ended,
            changes: self.scope.take_branch(mark),
        };
        Block { header, statements }
    }

    fn handlers(
        &mut self,
        s: &ast::StmtTry,
        outer: GuardId,
        ended: bool,
        inside: &[(u32, ValueId)],
        ends: &mut Vec<End>,
        blocks: &mut Vec<Block>,
    ) {
        if s.handlers.is_empty() {
            return;
        }
        let span = self.span(s.range);
        let before = self.scope.mark();
        self.scope.guard = outer;
        for values in inside.chunk_by(|a, b| a.0 == b.0) {
            let (slot, old) = (values[0].0, self.scope.env[values[0].0 as usize]);
            let value = self.scope.phi([old].into_iter().chain(values.iter().map(|v| v.1)), span);
            self.scope.set(slot, value);
        }
        for handler in s.handlers.iter().filter_map(|h| h.as_except_handler()) {
            let mark = self.scope.mark();
            self.scope.guard = self.scope.guard_under(outer, GuardKind::Maybe);
            self.scope.ended = ended;
            blocks.push(self.handler(handler));
            ends.push(End {
                changes: self.scope.changes(before),
                ended: self.scope.ended,
            });
            self.scope.roll_back(mark);
        }
        self.scope.roll_back(before);
    }

    fn handler(&mut self, handler: &ast::ExceptHandlerExceptHandler) -> Block {
        let start = handler.range.start().to_u32();
        let mut end = start + "except".len() as u32;
        if let Some(kind) = &handler.type_ {
            self.expr(kind);
            end = kind.range().end().to_u32();
        }
        let name = handler.name.as_ref().map(|n| (self.names.intern(&n.id), n.range));
        if let Some((name, range)) = name {
            let span = self.span(range);
            let exception = self.scope.emit(Op::Exception, span);
            self.bind(name, exception, range);
            end = range.end().to_u32();
        }
        let header = headers::until_colon(self.text, start, end);
        let statements = self.block(&handler.body);
        // The name is deleted when the handler ends.
        if let Some((name, _)) = name {
            self.unbind(name);
        }
        Block { header, statements }
    }

    /// `finally` runs whatever happened: inside, a name has any value that it ever had in the statement; afterwards, those of the ends.
    fn finally(&mut self, s: &ast::StmtTry, mark: usize, given: usize, blocks: &mut Vec<Block>) {
        if s.finalbody.is_empty() {
            return;
        }
        let span = self.span(s.range);
        let after = self.scope.take_branch(mark);
        let mut inside = sorted_given(&self.scope.given[given..]);
        inside.extend(&after);
        inside.sort_by_key(|v| v.0);
        let mut restore = Vec::with_capacity(after.len());
        for values in inside.chunk_by(|a, b| a.0 == b.0) {
            let slot = values[0].0;
            let old = self.scope.env[slot as usize];
            let any = self.scope.phi([old].into_iter().chain(values.iter().map(|v| v.1)), span);
            restore.push((slot, any, self.scope.at_end(&after, slot)));
            self.scope.set(slot, any);
        }
        let header = headers::keyword(
            self.text,
            last_end(&s.handlers, if s.orelse.is_empty() { &s.body } else { &s.orelse }),
            "finally",
        );
        let statements = self.block(&s.finalbody);
        blocks.push(Block { header, statements });
        for (slot, any, value) in restore {
            if self.scope.env[slot as usize] == any {
                self.scope.set(slot, value);
            }
        }
    }
}

/// Values given to slots, grouped by slot, in order within each.
fn sorted_given(given: &[(u32, ValueId)]) -> Vec<(u32, ValueId)> {
    let mut given = given.to_vec();
    given.sort_by_key(|g| g.0);
    given
}

/// Where the last of a body and the handlers behind it ends.
fn last_end(handlers: &[ast::ExceptHandler], body: &[Stmt]) -> u32 {
    let handlers = handlers.last().map_or(0, |h| h.range().end().to_u32());
    extent(body).end.max(handlers)
}

/// The names pushed since `mark`, sorted, each once.
fn take_names(names: &mut Vec<Name>, mark: usize) -> Names {
    names[mark..].sort_unstable();
    let distinct = names[mark..].chunk_by(|a, b| a == b).count();
    let mut taken = Names::with_capacity(distinct);
    taken.extend(names[mark..].chunk_by(|a, b| a == b).map(|same| same[0]));
    names.truncate(mark);
    taken
}

fn kind(statement: &Stmt) -> StatementKind {
    match statement {
        Stmt::Assign(_) | Stmt::AnnAssign(_) => StatementKind::Assign,
        Stmt::AugAssign(_) => StatementKind::Augment,
        Stmt::Expr(s) if s.value.is_string_literal_expr() => StatementKind::Text,
        Stmt::Expr(_) | Stmt::IpyEscapeCommand(_) => StatementKind::Expression,
        Stmt::If(_) => StatementKind::If,
        Stmt::For(_) => StatementKind::For,
        Stmt::While(_) => StatementKind::While,
        Stmt::With(_) => StatementKind::With,
        Stmt::Try(_) => StatementKind::Try,
        Stmt::Match(_) => StatementKind::Match,
        Stmt::Return(_) => StatementKind::Return,
        Stmt::Raise(_) => StatementKind::Raise,
        Stmt::Assert(_) => StatementKind::Assert,
        Stmt::Import(_) | Stmt::ImportFrom(_) => StatementKind::Import,
        Stmt::FunctionDef(_) => StatementKind::Def,
        Stmt::ClassDef(_) => StatementKind::Class,
        Stmt::Delete(_) => StatementKind::Delete,
        Stmt::Global(_) | Stmt::Nonlocal(_) => StatementKind::Scope,
        Stmt::Pass(_) => StatementKind::Pass,
        Stmt::Break(_) => StatementKind::Break,
        Stmt::Continue(_) => StatementKind::Continue,
        Stmt::TypeAlias(_) => StatementKind::Type,
    }
}
