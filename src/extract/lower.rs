//! Expressions. Each becomes one value; what is left-nested (`a.b(c)[d] + e + …`) is followed by a loop.

use super::{Extractor, LONG_CHAIN};
use crate::facts::*;
use crate::source::Span;
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange};

impl Extractor<'_> {
    /// The value of an expression.
    pub(super) fn expr(&mut self, expr: &Expr) -> ValueId {
        match expr {
            Expr::Name(e) => {
                let name = self.names.intern(&e.id);
                self.read(name, e.range)
            }
            Expr::NoneLiteral(e) => self.constant(Const::None, e.range),
            Expr::BooleanLiteral(e) => self.constant(Const::Bool(e.value), e.range),
            Expr::EllipsisLiteral(e) => self.constant(Const::Ellipsis, e.range),
            Expr::BytesLiteral(e) => self.constant(Const::Bytes, e.range),
            Expr::NumberLiteral(e) => self.number(e),
            Expr::StringLiteral(e) => {
                let name = self.intern(e.value.to_str());
                self.constant(Const::Str(name), e.range)
            }
            _ => self.nested_expr(expr),
        }
    }

    /// Lowers an expression for what it does.
    pub(super) fn evaluate(&mut self, expr: &Expr) {
        self.expr(expr);
    }

    fn nested_expr(&mut self, expr: &Expr) -> ValueId {
        if !self.descend(expr.range()) {
            let span = self.span(expr.range());
            return self.scope.emit(Op::Undefined, span);
        }
        let value = match left(expr) {
            Some(_) => self.chain(expr),
            None => self.compound_expr(expr),
        };
        self.ascend();
        value
    }

    /// An expression whose left part may nest without end.
    fn chain(&mut self, expr: &Expr) -> ValueId {
        let mut short = [expr; 8];
        let mut long: Vec<&Expr> = Vec::new();
        let (mut count, mut base) = (0, expr);
        while let Some(next) = left(base) {
            match short.get_mut(count) {
                Some(place) => *place = base,
                None => long.push(base),
            }
            count += 1;
            base = next;
        }
        self.deep |= count > LONG_CHAIN;
        let mut value = self.expr(base);
        for link in long.into_iter().rev().chain(short[..count.min(8)].iter().rev().copied()) {
            value = self.link(link, value);
        }
        value
    }

    /// One link of a chain, whose left part has the value `base`.
    fn link(&mut self, expr: &Expr, base: ValueId) -> ValueId {
        let op = match expr {
            Expr::Attribute(e) => Op::Attr(base, self.names.intern(&e.attr.id)),
            Expr::Subscript(e) => Op::Index(base, self.expr(&e.slice)),
            Expr::BinOp(e) => Op::Binary(binary(e.op), base, self.expr(&e.right)),
            Expr::Call(e) => {
                let args = self.arguments(&e.arguments);
                return self.call(base, args, None, e.range());
            }
            _ => return base,
        };
        let span = self.span(expr.range());
        self.scope.emit(op, span)
    }

    fn compound_expr(&mut self, expr: &Expr) -> ValueId {
        let op = match expr {
            Expr::UnaryOp(e) => Op::Unary(unary(e.op), self.expr(&e.operand)),
            Expr::Tuple(e) => Op::Tuple(self.list(&e.elts)),
            Expr::List(e) => Op::List(self.list(&e.elts)),
            Expr::Set(e) => Op::Set(self.list(&e.elts)),
            Expr::Dict(e) => Op::Dict(self.dict(&e.items)),
            Expr::Starred(e) => Op::Star(self.expr(&e.value)),
            Expr::Slice(e) => self.slice(e),
            Expr::Await(e) => Op::Suspend(self.expr(&e.value)),
            Expr::Yield(e) => {
                self.yields(e.range);
                match &e.value {
                    Some(value) => Op::Suspend(self.expr(value)),
                    None => Op::Suspend(self.constant(Const::None, e.range)),
                }
            }
            Expr::YieldFrom(e) => {
                self.yields(e.range);
                Op::Suspend(self.expr(&e.value))
            }
            Expr::Named(e) => {
                let value = self.expr(&e.value);
                if let Expr::Name(target) = &*e.target {
                    let name = self.names.intern(&target.id);
                    self.bind(name, value, target.range);
                }
                return value;
            }
            Expr::BoolOp(e) => return self.bool_op(e),
            Expr::Compare(e) => return self.compare(e),
            Expr::If(e) => return self.conditional(e),
            Expr::FString(e) => return self.f_string(e),
            Expr::TString(e) => return self.t_string(e),
            Expr::Lambda(e) => return self.lambda(e),
            Expr::ListComp(e) => return self.comprehension(Collection::List, &e.generators, None, &e.elt, e.range),
            Expr::SetComp(e) => return self.comprehension(Collection::Set, &e.generators, None, &e.elt, e.range),
            Expr::Generator(e) => return self.comprehension(Collection::Generator, &e.generators, None, &e.elt, e.range),
            Expr::DictComp(e) => return self.comprehension(Collection::Dict, &e.generators, e.key.as_deref(), &e.value, e.range),
            // The rest are chains, literals and names, which `expr` and `nested_expr` take, and shell escapes, which are no Python.
            _ => Op::Undefined,
        };
        let span = self.span(expr.range());
        self.scope.emit(op, span)
    }

    fn yields(&mut self, range: TextRange) {
        self.scope.is_generator = true;
        if matches!(self.scope.kind, FunctionKind::Module | FunctionKind::Class) {
            self.error(range, "`yield` outside a function");
        }
    }

    /// Reads a name.
    pub(super) fn read(&mut self, name: Name, range: TextRange) -> ValueId {
        if let Some(&(_, value)) = self.scope.overlay.iter().rev().find(|o| o.0 == name) {
            return value;
        }
        self.scope.uses.push(name);
        let span = self.span(range);
        if let Some(&value) = self.slot(name).and_then(|slot| self.scope.env.get(slot as usize)) {
            if value != super::scope::UNBOUND {
                return value;
            }
            // A module or class body finds the builtin or the outer name before its own is bound.
            if !matches!(self.scope.kind, FunctionKind::Module | FunctionKind::Class) {
                return self.scope.emit(Op::Undefined, span);
            }
        }
        self.scope.frees.push(name);
        self.scope.emit(Op::Free(name), span)
    }

    pub(super) fn constant(&mut self, constant: Const, range: TextRange) -> ValueId {
        let span = self.span(range);
        self.scope.emit(Op::Const(constant), span)
    }

    fn number(&mut self, e: &ast::ExprNumberLiteral) -> ValueId {
        let small = match &e.value {
            ast::Number::Int(int) => int.as_i32(),
            ast::Number::Float(_) | ast::Number::Complex { .. } => None,
        };
        if let Some(small) = small {
            return self.constant(Const::Int(small), e.range);
        }
        let text = self.written(e.range).to_owned();
        let text = self.intern(&text);
        let constant = if matches!(e.value, ast::Number::Float(_)) {
            Const::Float(text)
        } else {
            Const::BigNumber(text)
        };
        self.constant(constant, e.range)
    }

    fn list(&mut self, elements: &[Expr]) -> Items {
        let mark = self.scope.operands.len();
        for element in elements {
            let value = self.expr(element);
            self.scope.operands.push(value);
        }
        self.scope.items(mark)
    }

    fn dict(&mut self, items: &[ast::DictItem]) -> Items {
        let mark = self.scope.operands.len();
        for item in items {
            let key = match &item.key {
                Some(key) => self.expr(key),
                None => self.scope.undefined(),
            };
            let value = self.expr(&item.value);
            self.scope.operands.extend([key, value]);
        }
        self.scope.items(mark)
    }

    fn slice(&mut self, e: &ast::ExprSlice) -> Op {
        let mut none = None;
        let mut part = |cx: &mut Self, part: &Option<Box<Expr>>| match part {
            Some(part) => cx.expr(part),
            None => *none.get_or_insert_with(|| cx.constant(Const::None, e.range)),
        };
        let lower = part(self, &e.lower);
        let upper = part(self, &e.upper);
        Op::Slice(lower, upper, part(self, &e.step))
    }

    /// The arguments of a call, in order of the source.
    pub(super) fn arguments(&mut self, arguments: &ast::Arguments) -> Args {
        let mut args = Args::with_capacity(arguments.len());
        for argument in arguments.iter_source_order() {
            let (kind, value) = match argument {
                ast::ArgOrKeyword::Arg(Expr::Starred(star)) => (ArgKind::Star, self.expr(&star.value)),
                ast::ArgOrKeyword::Arg(value) => (ArgKind::Positional, self.expr(value)),
                ast::ArgOrKeyword::Keyword(keyword) => match &keyword.arg {
                    Some(name) => (ArgKind::Keyword(self.names.intern(&name.id)), self.expr(&keyword.value)),
                    None => (ArgKind::StarStar, self.expr(&keyword.value)),
                },
            };
            args.push(Arg {
                kind,
                value,
                span: self.span(argument.range()),
            });
        }
        args
    }

    pub(super) fn call(&mut self, callee: ValueId, args: Args, decorates: Option<FunctionId>, range: TextRange) -> ValueId {
        let span = self.span(range);
        self.scope.body.calls.push(Call { callee, args, decorates });
        let id = CallId(self.scope.body.calls.len() as u32 - 1);
        self.scope.emit(Op::Call(id), span)
    }

    /// `and`, `or`: each operand runs when the one before lets it.
    fn bool_op(&mut self, e: &ast::ExprBoolOp) -> ValueId {
        let and = e.op == ast::BoolOp::And;
        let span = self.span(e.range);
        let items = self.guarded(e.values.iter(), and, span, |cx, _, operand| cx.expr(operand));
        self.scope.emit(if and { Op::And(items) } else { Op::Or(items) }, span)
    }

    fn compare(&mut self, e: &ast::ExprCompare) -> ValueId {
        let span = self.span(e.range);
        let mut lhs = self.expr(&e.left);
        if let ([op], [right]) = (&*e.ops, &*e.comparators) {
            let rhs = self.expr(right);
            return self.scope.emit(Op::Compare(compare_op(*op), lhs, rhs), span);
        }
        let items = self.guarded(e.comparators.iter(), true, span, |cx, i, right| {
            let rhs = cx.expr(right);
            let op = e.ops.get(i).map_or(CompareOp::Eq, |op| compare_op(*op));
            cx.scope.emit(Op::Compare(op, std::mem::replace(&mut lhs, rhs), rhs), span)
        });
        self.scope.emit(Op::And(items), span)
    }

    /// Operands of which each runs only when the one before was `polarity`.
    fn guarded<'e>(
        &mut self,
        operands: impl Iterator<Item = &'e Expr>,
        polarity: bool,
        span: Span,
        mut lower: impl FnMut(&mut Self, usize, &'e Expr) -> ValueId,
    ) -> Items {
        let outer = self.scope.guard;
        let first = self.scope.operands.len();
        let (mut mark, mut given) = (self.scope.mark(), self.scope.given.len());
        for (i, operand) in operands.enumerate() {
            if i == 1 {
                (mark, given) = (self.scope.mark(), self.scope.given.len());
            }
            if i > 0 {
                let before = self.scope.operands[first + i - 1];
                self.scope.narrow(GuardKind::When(before, polarity));
            }
            let value = lower(self, i, operand);
            self.scope.operands.push(value);
        }
        self.scope.guard = outer;
        if self.scope.operands.len() > first + 1 {
            self.scope.blur(mark, given, span);
        }
        self.scope.items(first)
    }

    /// `yes if condition else no`
    fn conditional(&mut self, e: &ast::ExprIf) -> ValueId {
        let span = self.span(e.range);
        let condition = self.expr(&e.test);
        let (mark, given) = (self.scope.mark(), self.scope.given.len());
        let outer = self.scope.narrow(GuardKind::When(condition, true));
        let yes = self.expr(&e.body);
        self.scope.guard = outer;
        self.scope.blur(mark, given, span);
        self.scope.narrow(GuardKind::When(condition, false));
        let (mark, given) = (self.scope.mark(), self.scope.given.len());
        let no = self.expr(&e.orelse);
        self.scope.guard = outer;
        self.scope.blur(mark, given, span);
        self.scope.emit(Op::Select(condition, yes, no), span)
    }
}

/// The part of a chain's link that comes first and may be a link itself.
fn left(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Attribute(e) => Some(&e.value),
        Expr::Subscript(e) => Some(&e.value),
        Expr::BinOp(e) => Some(&e.left),
        Expr::Call(e) => Some(&e.func),
        _ => None,
    }
}

pub(super) fn binary(op: ast::Operator) -> BinaryOp {
    match op {
        ast::Operator::Add => BinaryOp::Add,
        ast::Operator::Sub => BinaryOp::Sub,
        ast::Operator::Mult => BinaryOp::Mul,
        ast::Operator::MatMult => BinaryOp::MatMul,
        ast::Operator::Div => BinaryOp::Div,
        ast::Operator::FloorDiv => BinaryOp::FloorDiv,
        ast::Operator::Mod => BinaryOp::Mod,
        ast::Operator::Pow => BinaryOp::Pow,
        ast::Operator::LShift => BinaryOp::LShift,
        ast::Operator::RShift => BinaryOp::RShift,
        ast::Operator::BitOr => BinaryOp::BitOr,
        ast::Operator::BitXor => BinaryOp::BitXor,
        ast::Operator::BitAnd => BinaryOp::BitAnd,
    }
}

fn unary(op: ast::UnaryOp) -> UnaryOp {
    match op {
        ast::UnaryOp::Not => UnaryOp::Not,
        ast::UnaryOp::USub => UnaryOp::Minus,
        ast::UnaryOp::UAdd => UnaryOp::Plus,
        ast::UnaryOp::Invert => UnaryOp::Invert,
    }
}

fn compare_op(op: ast::CmpOp) -> CompareOp {
    match op {
        ast::CmpOp::Eq => CompareOp::Eq,
        ast::CmpOp::NotEq => CompareOp::NotEq,
        ast::CmpOp::Lt => CompareOp::Lt,
        ast::CmpOp::LtE => CompareOp::LtE,
        ast::CmpOp::Gt => CompareOp::Gt,
        ast::CmpOp::GtE => CompareOp::GtE,
        ast::CmpOp::Is => CompareOp::Is,
        ast::CmpOp::IsNot => CompareOp::IsNot,
        ast::CmpOp::In => CompareOp::In,
        ast::CmpOp::NotIn => CompareOp::NotIn,
    }
}
