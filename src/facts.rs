//! Noun 1: what one file says. Owned, comparable, serialisable, no syntax tree; spans anchor edits.
//!
//! Each function, class body and module body is lowered to a small flow IR in gated single static assignment:
//! every expression is a [`Value`], a join of two branches is [`Op::Select`] with its condition, a loop-carried
//! name is [`Op::Phi`], and every value knows the branches that it stands under ([`Guard`]). Effects (stores,
//! calls, returns) are values in program order too. Kernels and host code share this IR; what an operation
//! *means* (a launch, a view, a registration) is decided in `link`, which alone knows what a name refers to.

mod names;

use crate::source::Span;
pub use names::NameTable;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub struct $name(pub u32);
        impl $name {
            /// The index into its list.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index!(/** A string of the file: an index into [`Facts::names`]. */ Name);
index!(/** A function, lambda, class body or the module body: an index into [`Facts::functions`]. */ FunctionId);
index!(/** A class: an index into [`Facts::classes`]. */ ClassId);
index!(/** An import binding: an index into [`Facts::imports`]. */ ImportId);
index!(/** A value of one body: an index into [`Body::values`]. */ ValueId);
index!(/** A call of one body: an index into [`Body::calls`]. */ CallId);
index!(/** A branch context of one body: an index into [`Body::guards`]. */ GuardId);
index!(/** A statement of one body: an index into [`Body::statements`]. */ StatementId);

/// The module body is always the first function of a file.
pub const MODULE: FunctionId = FunctionId(0);
/// The guard of values that every execution of the body reaches.
pub const ALWAYS: GuardId = GuardId(0);

/// All that one file says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Syntax errors, in order. Facts of the readable part are kept.
    pub syntax_errors: Vec<SyntaxError>,
    /// Every name and string that the lists below refer to; no string twice.
    pub names: NameTable,
    /// Functions in the order of their headers; the module body is first, class bodies are among them.
    pub functions: Vec<Function>,
    /// Classes in the order of their headers.
    pub classes: Vec<Class>,
    /// Import bindings in order, at any depth.
    pub imports: Vec<Import>,
    /// `from m import *`, as (level, module).
    pub star_imports: Vec<StarImport>,
    /// `# opwright: …` comments.
    pub directives: Vec<Directive>,
    /// Where new code goes and how the file is written.
    pub layout: Layout,
}

impl Facts {
    /// The text of a name.
    pub fn name(&self, name: Name) -> &str {
        &self.names[name.index()]
    }

    /// A function by its index.
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.index()]
    }

    /// The module body.
    pub fn module(&self) -> &Function {
        &self.functions[0]
    }

    /// All functions with their indices.
    pub fn functions(&self) -> impl Iterator<Item = (FunctionId, &Function)> {
        self.functions.iter().enumerate().map(|(i, f)| (FunctionId(i as u32), f))
    }
}

/// A place where the file does not parse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyntaxError {
    /// Where.
    pub span: Span,
    /// The parser's reason, lower case, no full stop.
    pub message: String,
}

/// `# opwright: ignore[rule, …] reason` or `# opwright: ignore-file[rule, …] reason`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directive {
    /// The comment.
    pub span: Span,
    /// The whole comment line is the comment: it speaks of the statement below.
    pub own_line: bool,
    /// `ignore-file`.
    pub whole_file: bool,
    /// Rule or group names with their spans.
    pub rules: Vec<(String, Span)>,
    /// The text behind the bracket.
    pub reason: String,
    /// Why the comment cannot be read, if so (no brackets, no reason, …).
    pub malformed: Option<String>,
}

/// How the file is written and where new code goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// `\n`, `\r\n` or `\r`: the file's first line end (`\n` when it has none).
    pub newline: String,
    /// One level of indentation, as the file's first indented block has it (four spaces when none does).
    pub indent: String,
    /// Offset just past the module docstring's line and `__future__` imports; 0-based start of code.
    pub after_docstring: u32,
    /// Offset just past the line of the last top-level import of the leading import block
    /// (equal to `after_docstring` when there is none).
    pub after_imports: u32,
    /// `from __future__ import annotations` is in force.
    pub future_annotations: bool,
    /// The names in a literal `__all__`, if there is one.
    pub all: Option<Vec<String>>,
}

/// One name that an import statement binds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// The name bound here: `c` in `import a.b as c` and `from a import b as c`; `a` in `import a.b`.
    pub bound: Name,
    /// Dots before the module of a `from` import; 0 for absolute ones.
    pub level: u32,
    /// Module text: `a.b` in `import a.b [as c]` and `from a.b import x`; empty in `from . import x`.
    pub module: Name,
    /// The imported member of a `from` import.
    pub member: Option<Name>,
    /// `import a.b as c` binds `a.b`; `import a.b` binds `a`.
    pub renamed: bool,
    /// The body it stands in.
    pub function: FunctionId,
    /// Under `if TYPE_CHECKING:`.
    pub type_checking: bool,
    /// The whole statement.
    pub span: Span,
}

/// `from module import *`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StarImport {
    /// Leading dots.
    pub level: u32,
    /// Module text.
    pub module: Name,
    /// The statement.
    pub span: Span,
}

/// A class statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// Its name.
    pub name: Name,
    /// `__qualname__`.
    pub qualname: Name,
    /// The body that holds the statement.
    pub parent: FunctionId,
    /// The body of the class, as a function of kind [`FunctionKind::Class`]; its `bindings` are the attributes.
    pub body: FunctionId,
    /// Base expressions, values of the parent's body.
    pub bases: Vec<ValueId>,
    /// Decorator expressions, values of the parent's body.
    pub decorators: Vec<ValueId>,
    /// From the first decorator to the end.
    pub span: Span,
    /// The name in the header.
    pub name_span: Span,
}

/// What a [`Function`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FunctionKind {
    /// The module body.
    Module,
    /// A class body.
    Class,
    /// `def`.
    Def,
    /// `async def`.
    AsyncDef,
    /// `lambda`.
    Lambda,
}

/// A body of code with its header.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// Its name (`<module>`, `<lambda>`, the class's name).
    pub name: Name,
    /// Python's `__qualname__`, with `<locals>`.
    pub qualname: Name,
    /// What it is.
    pub kind: FunctionKind,
    /// The body that holds the statement; the module body is its own parent.
    pub parent: FunctionId,
    /// The class whose body directly holds a `def`.
    pub class: Option<ClassId>,
    /// Parameters in order of the signature.
    pub params: Vec<Param>,
    /// Decorators from top to bottom.
    pub decorators: Vec<Decorator>,
    /// Return annotation.
    pub returns: Option<Annotation>,
    /// Contains `yield`.
    pub is_generator: bool,
    /// From the first decorator (or `def`) to the end of the last statement.
    pub span: Span,
    /// From `def` or `async` to the colon, colon included.
    pub header: Span,
    /// The name in the header.
    pub name_span: Span,
    /// The parameter list with its parentheses (empty range for lambdas, classes and modules).
    pub params_span: Span,
    /// From the first statement (docstring included) to the end of the last.
    pub body_span: Span,
    /// The docstring's statement.
    pub docstring: Option<Span>,
    /// The code.
    pub body: Body,
    /// Each name bound in the body, with its value when the body ends. Sorted by name.
    pub bindings: Vec<(Name, ValueId)>,
    /// Each name bound in the body, with every value that it is ever given, in order: what a closure may see. Sorted by name.
    pub assigned: Vec<(Name, SmallVec<[ValueId; 4]>)>,
}

impl Function {
    /// The value that a name has when the body ends.
    pub fn binding(&self, name: Name) -> Option<ValueId> {
        self.bindings.binary_search_by_key(&name, |b| b.0).ok().map(|i| self.bindings[i].1)
    }

    /// Index of a parameter by name.
    pub fn param(&self, name: Name) -> Option<u16> {
        self.params.iter().position(|p| p.name == name).map(|i| i as u16)
    }
}

/// Kind of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ParamKind {
    /// Before `/`.
    PositionalOnly,
    /// Plain.
    Positional,
    /// `*args`.
    Star,
    /// After `*`.
    KeywordOnly,
    /// `**kwargs`.
    StarStar,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Param {
    /// Its name, without stars.
    pub name: Name,
    /// Its kind.
    pub kind: ParamKind,
    /// Its annotation.
    pub annotation: Option<Annotation>,
    /// Its default, a value of the *parent's* body.
    pub default: Option<ValueId>,
    /// The default's text.
    pub default_span: Option<Span>,
    /// From the first star or the name to the end of annotation or default.
    pub span: Span,
    /// The name alone.
    pub name_span: Span,
}

/// An annotation. A string annotation is parsed: `value` is that of the expression inside the quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    /// A value of the *parent's* body (for lambdas and variables: of the same body).
    pub value: ValueId,
    /// Its text, quotes included.
    pub span: Span,
    /// The whole annotation is quoted.
    pub quoted: bool,
}

/// A decorator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decorator {
    /// The decorator expression, a value of the *parent's* body. The call that applies it is in that body too: the
    /// function's name is bound to `Call(decorator, [function])`, outermost last, with [`Call::decorates`] set.
    pub value: ValueId,
    /// From `@` to the end of the expression.
    pub span: Span,
}

/// The code of one function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// Values in program order. Operands stand before their users, except the back edges of loop [`Op::Phi`]s.
    pub values: Vec<Value>,
    /// Operand lists, addressed by [`Items`].
    pub pool: Vec<ValueId>,
    /// Calls, addressed by [`Op::Call`].
    pub calls: Vec<Call>,
    /// Branch contexts; the first is [`ALWAYS`].
    pub guards: Vec<Guard>,
    /// Statements, outer before inner, in program order.
    pub statements: Vec<Statement>,
    /// Indices into `statements` of the top-level statements.
    pub top: Vec<StatementId>,
}

impl Body {
    /// A value.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.index()]
    }

    /// The operation of a value.
    pub fn op(&self, id: ValueId) -> Op {
        self.values[id.index()].op
    }

    /// The operands of a list.
    pub fn items(&self, items: Items) -> &[ValueId] {
        &self.pool[items.start as usize..(items.start + items.len) as usize]
    }

    /// The call of an [`Op::Call`].
    pub fn call(&self, id: CallId) -> &Call {
        &self.calls[id.index()]
    }

    /// Values in program order with their indices.
    pub fn iter(&self) -> impl Iterator<Item = (ValueId, &Value)> {
        self.values.iter().enumerate().map(|(i, v)| (ValueId(i as u32), v))
    }

    /// The innermost statement whose values include `value`.
    pub fn statement_of(&self, value: ValueId) -> Option<StatementId> {
        let hit = self
            .statements
            .iter()
            .enumerate()
            .rev()
            .find(|(_, s)| s.values.0 <= value && value < s.values.1)?;
        Some(StatementId(hit.0 as u32))
    }
}

/// One operation with its place and branch context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    /// What it does.
    pub op: Op,
    /// Where it is written. Joins have the span of the statement that joins.
    pub span: Span,
    /// The branches that it stands under.
    pub guard: GuardId,
}

/// A list of operands: a range of [`Body::pool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Items {
    /// First index.
    pub start: u32,
    /// Count.
    pub len: u32,
}

/// What a [`Value`] is or does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Op {
    /// A name that is unbound on this path (after `del`, or before any assignment).
    Undefined,
    /// A parameter of this function, as it came in.
    Param(u16),
    /// A name that this body does not bind: of an enclosing function, the module, a star import or a builtin.
    Free(Name),
    /// A literal.
    Const(Const),
    /// An f-string or implicit concatenation with parts that are not literal, in order.
    Format(Items),
    /// `object.name`.
    Attr(ValueId, Name),
    /// `object[index]`, read.
    Index(ValueId, ValueId),
    /// `lower:upper:step` inside an index; absent parts are `Const(None)`.
    Slice(ValueId, ValueId, ValueId),
    /// `(a, b)`; starred items are [`Op::Star`].
    Tuple(Items),
    /// `[a, b]`.
    List(Items),
    /// `{a, b}`.
    Set(Items),
    /// `{k: v, **m}` as k, v, …; the key of `**m` is [`Op::Undefined`].
    Dict(Items),
    /// A comprehension: a collection of this element (for dicts, a [`Op::Tuple`] of key and value).
    Collect(Collection, ValueId),
    /// `*x` in a display or call.
    Star(ValueId),
    /// `-x`, `not x`, ….
    Unary(UnaryOp, ValueId),
    /// `a + b`, ….
    Binary(BinaryOp, ValueId, ValueId),
    /// `a < b`, …; chains are joined by [`Op::And`].
    Compare(CompareOp, ValueId, ValueId),
    /// `a and b and …`.
    And(Items),
    /// `a or b or …`.
    Or(Items),
    /// `yes if condition else no`, and a name after an `if` statement: condition, yes, no.
    Select(ValueId, ValueId, ValueId),
    /// A name where control flow joins in another way: at the head of a loop (first operand: before the loop),
    /// after it, after `try`.
    Phi(Items),
    /// A call.
    Call(CallId),
    /// One element of an iterable: the target of `for`, a comprehension's variable.
    Iterate(ValueId),
    /// Part `index` of an unpacked value; `rest` for the starred target.
    Unpack {
        /// The unpacked value.
        value: ValueId,
        /// Position of the target from the left.
        index: u16,
        /// Its target is starred.
        rest: bool,
    },
    /// A `def` or lambda as an object, before its decorators.
    Function(FunctionId),
    /// A class as an object, before its decorators.
    Class(ClassId),
    /// An import binding.
    Import(ImportId),
    /// `with context as name`.
    Enter(ValueId),
    /// `except E as name`.
    Exception,
    /// `await x`, `yield x`, `yield from x`: the value handed over.
    Suspend(ValueId),
    /// `object.name = value`.
    SetAttr(ValueId, Name, ValueId),
    /// `object[index] = value`.
    SetIndex(ValueId, ValueId, ValueId),
    /// `target op= value`: the new value of the target. For `x.a op= v` and `x[i] op= v`, a [`Op::SetAttr`] or
    /// [`Op::SetIndex`] with this value follows.
    Augment(BinaryOp, ValueId, ValueId),
    /// An assignment to a name declared `global` or `nonlocal`.
    SetOuter(Name, ValueId),
    /// `del x.a`, `del x[i]`: the object.
    Delete(ValueId),
    /// `return x`; a bare `return` returns `Const(None)`. The end of the body has none.
    Return(ValueId),
    /// `raise`.
    Raise,
    /// `assert condition`.
    Assert(ValueId),
    /// A variable annotation `x: T = v`: (annotation, value). The value of the name is this one.
    Annotated(ValueId, ValueId),
}

/// A literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Const {
    /// `None`
    None,
    /// `True`, `False`
    Bool(bool),
    /// An integer that fits.
    Int(i32),
    /// A larger integer, a complex number: its source text.
    BigNumber(Name),
    /// A float: its source text.
    Float(Name),
    /// A string, adjacent literals joined, decoded.
    Str(Name),
    /// `b"…"`
    Bytes,
    /// `...`
    Ellipsis,
}

/// Kind of a comprehension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Collection {
    /// `[… for …]`
    List,
    /// `{… for …}`
    Set,
    /// `{k: v for …}`
    Dict,
    /// `(… for …)`
    Generator,
}

/// Unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum UnaryOp {
    /// `not`
    Not,
    /// `-`
    Minus,
    /// `+`
    Plus,
    /// `~`
    Invert,
}

/// Binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `@`
    MatMul,
    /// `/`
    Div,
    /// `//`
    FloorDiv,
    /// `%`
    Mod,
    /// `**`
    Pow,
    /// `<<`
    LShift,
    /// `>>`
    RShift,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `&`
    BitAnd,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CompareOp {
    /// `==`
    Eq,
    /// `!=`
    NotEq,
    /// `<`
    Lt,
    /// `<=`
    LtE,
    /// `>`
    Gt,
    /// `>=`
    GtE,
    /// `is`
    Is,
    /// `is not`
    IsNot,
    /// `in`
    In,
    /// `not in`
    NotIn,
}

/// Names of a statement; most have few.
pub type Names = SmallVec<[Name; 4]>;
/// Arguments of a call; most have few.
pub type Args = SmallVec<[Arg; 2]>;

/// A call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// What is called.
    pub callee: ValueId,
    /// Arguments in order of the source.
    pub args: Args,
    /// The call applies a decorator to this function.
    pub decorates: Option<FunctionId>,
}

/// An argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arg {
    /// How it is passed.
    pub kind: ArgKind,
    /// Its value.
    pub value: ValueId,
    /// Its text, keyword or stars included.
    pub span: Span,
}

/// How an argument is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ArgKind {
    /// By position.
    Positional,
    /// `*x`
    Star,
    /// `name=x`
    Keyword(Name),
    /// `**x`
    StarStar,
}

/// A branch context: the parent's conditions and one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Guard {
    /// The enclosing context ([`ALWAYS`] is its own parent).
    pub parent: GuardId,
    /// What is added.
    pub kind: GuardKind,
}

/// What a branch context adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GuardKind {
    /// Nothing: the root.
    Always,
    /// The condition is true (`true`) or false. Also holds after `if c: return` (with `false`).
    When(ValueId, bool),
    /// May run any number of times, also never: a loop body, a comprehension.
    Repeats,
    /// May run or not: an `except` handler, a `match` case, what follows a call that may raise inside `try`.
    Maybe,
}

/// What a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StatementKind {
    /// `x = …`, `x: T = …`
    Assign,
    /// `x += …`
    Augment,
    /// An expression.
    Expression,
    /// A docstring or other string statement.
    Text,
    /// `if`/`elif`/`else`
    If,
    /// `for`
    For,
    /// `while`
    While,
    /// `with`
    With,
    /// `try`
    Try,
    /// `match`
    Match,
    /// `return`
    Return,
    /// `raise`
    Raise,
    /// `assert`
    Assert,
    /// `import`, `from … import`
    Import,
    /// `def`
    Def,
    /// `class`
    Class,
    /// `del`
    Delete,
    /// `global`, `nonlocal`
    Scope,
    /// `pass`
    Pass,
    /// `break`
    Break,
    /// `continue`
    Continue,
    /// `type X = …`
    Type,
}

/// A statement: enough to cut code apart without a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// What it is.
    pub kind: StatementKind,
    /// The whole statement, decorators included, without a trailing comment.
    pub span: Span,
    /// The enclosing statement, if any.
    pub parent: Option<StatementId>,
    /// Names bound by the statement itself (targets, `for` targets, `with … as`, imports, `def`), not by its blocks.
    pub defines: Names,
    /// Names read by the statement itself (for compound ones: by its header), free names of nested functions included.
    pub uses: Names,
    /// Values made by the statement with its blocks: a half-open range of [`Body::values`].
    pub values: (ValueId, ValueId),
    /// Values made by the header alone: a half-open range (equal to `values` for simple statements).
    pub header_values: (ValueId, ValueId),
    /// The blocks of a compound statement, in order.
    pub blocks: Vec<Block>,
}

/// A block of a compound statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The header that opens the block (`if …:`, `elif …:`, `else:`, `for …:`), colon included.
    pub header: Span,
    /// The statements inside, in order.
    pub statements: Vec<StatementId>,
}
