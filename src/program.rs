//! Noun 2: what the whole project says. Read-only answers that a rule, a fix or a face may ask for.
//!
//! Everything here is computed by `link`; nothing here reads the disk or a syntax tree. Unknown is never rounded to no.

use crate::facts::{CallId, Facts, Function, FunctionId, Name, ValueId};
use crate::source::{FileId, Place, Source, Span};
use crate::words::Words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A function of the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FunctionRef {
    /// Its file.
    pub file: FileId,
    /// Its index there.
    pub function: FunctionId,
}

/// A file of the project with its facts.
#[derive(Clone, Debug)]
pub struct ProgramFile {
    /// Text and path.
    pub source: Arc<Source>,
    /// Its words.
    pub words: Arc<Words>,
    /// What it says.
    pub facts: LazyFacts,
    /// Dotted module name (`vllm.utils`); `__init__` files have their package's name.
    pub module: String,
    /// It is an `__init__` file.
    pub is_package: bool,
    /// A copy of somebody else's code: never changed.
    pub vendored: bool,
    /// Tests, benchmarks, examples.
    pub cold: bool,
    /// To be read whatever it says.
    pub named: bool,
}

/// Facts of a file, made when first asked for: most files of a project are never asked.
#[derive(Clone)]
pub struct LazyFacts(Arc<Lazy>);

struct Lazy {
    made: OnceLock<Facts>,
    make: Box<dyn Fn() -> Facts + Send + Sync>,
}

impl LazyFacts {
    /// Facts that `make` will give.
    pub fn new(make: impl Fn() -> Facts + Send + Sync + 'static) -> Self {
        Self(Arc::new(Lazy {
            made: OnceLock::new(),
            make: Box::new(make),
        }))
    }

    /// The facts, if somebody has asked for them.
    pub fn made(&self) -> Option<&Facts> {
        self.0.made.get()
    }
}

impl From<Facts> for LazyFacts {
    fn from(facts: Facts) -> Self {
        Self(Arc::new(Lazy {
            made: OnceLock::from(facts),
            make: Box::new(Facts::default),
        }))
    }
}

impl Deref for LazyFacts {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        self.0.made.get_or_init(|| (self.0.make)())
    }
}

impl fmt::Debug for LazyFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.made.get().fmt(f)
    }
}

/// The linked project.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Files sorted by path; [`FileId`] is the index.
    pub files: Vec<ProgramFile>,
    /// Kernels sorted by place.
    pub kernels: Vec<Kernel>,
    /// Functions of interest, sorted by place: those that launch, pass a kernel to one that launches it, call a kernel of
    /// another library, or implement an op.
    pub functions: Vec<Func>,
    /// Registered ops, sorted by place, disabled registrations included.
    pub ops: Vec<Op>,
    /// The project's own registrars, sorted by function.
    pub registrars: Vec<Registrar>,
    /// Launches in module or class bodies, which belong to no function.
    pub loose_launches: Vec<Launch>,
    /// Function → index into `functions`.
    pub by_function: BTreeMap<FunctionRef, usize>,
    /// Module name → file.
    pub modules: BTreeMap<String, FileId>,
    /// The frameworks that the project is or uses, by the names of their files (`vllm`, `sglang`, …), main one first.
    pub frameworks: Vec<String>,
    /// Files that `link` had reason to read, sorted: in the others nothing can launch, register or call what does.
    pub read: Vec<FileId>,
}

/// A path of [`Func::mutates_state`] in words: `` `self.buffer` ``, or the memory whose addresses something holds.
pub fn spoken_state(path: &str) -> String {
    match path.strip_prefix('*') {
        Some(holder) => format!("the memory that `{holder}` points to"),
        None => format!("`{path}`"),
    }
}

/// Index into [`Program::kernels`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KernelId(pub u32);

/// Index into [`Program::ops`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId(pub u32);

/// A kernel or a device function that kernels call.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Its function.
    pub function: FunctionRef,
    /// `triton`, `gluon`, or the name that a framework file gives (`cute`, `tilelang`, …).
    pub dialect: String,
    /// Parameters that are read, by index.
    pub reads: Vec<u16>,
    /// Parameters that are written, each with its proof. One entry per parameter, sorted.
    pub writes: Vec<Write>,
    /// Parameters holding addresses (pointer tables, integers) through which memory is written.
    pub writes_pointees: Vec<Write>,
    /// Parameters of which it cannot be known, with the reason.
    pub unresolved: Vec<(u16, String)>,
    /// Some launch of it is in view.
    pub launched: bool,
    /// Outermost decorators, inner last: qualified names (`triton.autotune`, `triton.heuristics`, `triton.jit`).
    pub decorators: Vec<String>,
}

/// A proven write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The parameter that is written, by index.
    pub param: u16,
    /// Where the write goes through a value that may be a copy (`contiguous`, `reshape`): on that path the result is lost.
    pub maybe_copy: Option<Place>,
    /// From the store outward: store, helper call, launch, argument.
    pub chain: Vec<Step>,
}

/// A proven write to a tensor that is no parameter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StateWrite {
    /// Dotted path: `self.x`, a global's name.
    pub path: String,
    /// From the store outward, as in [`Write`].
    pub chain: Vec<Step>,
}

/// One link of a proof.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// Where.
    pub place: Place,
    /// What happens there: ``stored through `out_ptr` ``, ``passed to `_kernel` as `out_ptr` ``.
    pub what: String,
}

/// A launch of one or several possible kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The body that holds it.
    pub function: FunctionRef,
    /// The launching call in that body; `None` for a launch without launch syntax (a decorator does it).
    pub call: Option<CallId>,
    /// The call's value in that body, if there is a call.
    pub value: Option<ValueId>,
    /// The whole call (or the decorator).
    pub place: Place,
    /// The kernels it may launch; empty when that cannot be known.
    pub kernels: Vec<KernelId>,
    /// The function that really launches, when the kernel is only handed to it.
    pub via: Option<FunctionRef>,
}

/// A call that runs a kernel past the dispatcher, other than a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelCall {
    /// The call.
    pub call: CallId,
    /// Its value.
    pub value: ValueId,
    /// The whole call.
    pub place: Place,
    /// What is called: `flashinfer.norm.rmsnorm`, or as written where code is built (`module.run`).
    pub callee: String,
    /// Whose kernel: the framework file's name, or the kernel's dialect.
    pub library: String,
    /// What is called is known for sure to be such a kernel, not only to lie in such a library.
    pub certain: bool,
}

/// A function of interest.
#[derive(Clone, Debug, PartialEq)]
pub struct Func {
    /// Which.
    pub function: FunctionRef,
    /// Its launches, in order.
    pub launches: Vec<Launch>,
    /// Its calls into libraries and built code whose kernels go past the dispatcher, in order.
    pub kernel_calls: Vec<KernelCall>,
    /// How it stands to the dispatcher.
    pub registration: Registration,
    /// The op that it implements, or that covers it.
    pub op: Option<OpId>,
    /// Where it lives, when it cannot be registered in place.
    pub inline: Option<Inline>,
    /// Parameters that it mutates: one entry per parameter, sorted.
    pub mutates: Vec<Write>,
    /// Tensors reached through a parameter that is no tensor, or through a global: dotted paths, sorted.
    pub mutates_state: Vec<String>,
    /// The writes behind `mutates_state`: one entry per path, sorted by it.
    pub state_writes: Vec<StateWrite>,
    /// Dotted paths as in `mutates_state`, of tensors of which it cannot be known. Sorted.
    pub unresolved_state: Vec<String>,
    /// Parameters of which it cannot be known, with the reason; disjoint from `mutates`. Sorted.
    pub unresolved: Vec<(u16, String)>,
    /// What it returns.
    pub returns: Vec<ReturnPath>,
    /// Parameters whose storage a result shares, or may share. Sorted.
    pub returns_alias_of: Vec<u16>,
    /// The schema that `infer_schema` would give for the function as it stands, its inferred mutations declared; or why it refuses.
    pub schema: Result<String, Vec<Refusal>>,
    /// Each parameter's type in the schema (`Tensor?`, `SymInt`), also where another parameter is refused; `None`: refused, or not known.
    pub types: Vec<Option<String>>,
    /// Reachable from a hot root.
    pub hot: bool,
    /// How hot: larger the nearer a root is and the more calls it has; 0 where it is not hot.
    pub heat: u32,
    /// Lies in, or is reachable only from, cold code.
    pub cold: bool,
    /// Calls of it in view.
    pub callers: Vec<Caller>,
    /// What runs it without grad, if every caller does (DESIGN §7, Safe 2).
    pub without_grad: bool,
    /// Hot calls of an op's implementation by its own name, from code that runs inside no op.
    pub bypasses: Vec<Bypass>,
    /// Whose memory its values may share, and where it is written: what a part of the function mutates.
    pub memory: Memory,
}

impl Func {
    /// It launches, or calls a kernel that is no op.
    pub fn runs_kernels(&self) -> bool {
        !self.launches.is_empty() || !self.kernel_calls.is_empty()
    }
}

/// A hot call of an op's implementation that goes past the op.
#[derive(Clone, Debug, PartialEq)]
pub struct Bypass {
    /// The call.
    pub caller: Caller,
    /// The calling function always runs without grad.
    pub without_grad: bool,
}

/// Memory as one body sees it. Kept for functions that launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// Pieces of memory: what [`Share`] and [`WriteAt`] name by index.
    pub pieces: Vec<Piece>,
    /// Values that may share memory, sorted by value. A value that is not here holds no tensor.
    pub shares: Vec<(ValueId, Vec<Share>)>,
    /// Writes, in program order.
    pub writes: Vec<WriteAt>,
}

impl Memory {
    /// The memory that a value may share.
    pub fn shared_by(&self, value: ValueId) -> &[Share] {
        match self.shares.binary_search_by_key(&value, |s| s.0) {
            Ok(at) => &self.shares[at].1,
            Err(_) => &[],
        }
    }
}

/// A piece of memory, named by where the body gets it from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Piece {
    /// What a parameter held at entry.
    Param(u16),
    /// Reached through an object or a global: a dotted path.
    State(String),
    /// A variable of an enclosing function.
    Capture(Name),
    /// Made in the body, at this value; the number tells the results of one call apart.
    Fresh(ValueId, u16),
}

/// A value may share a piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Index into [`Memory::pieces`].
    pub piece: u32,
    /// The value may be a copy instead.
    pub maybe: bool,
    /// False: something that is not in view may have handed it on.
    pub known: bool,
}

/// A write, or what may be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteAt {
    /// The value that writes: a launch, a call, an assignment.
    pub at: ValueId,
    /// Index into [`Memory::pieces`].
    pub piece: u32,
    /// The argument that is written through, as written, where it is one.
    pub through: Option<Span>,
    /// Why it cannot be known, if so.
    pub unknown: Option<String>,
}

/// A call of a function in view.
#[derive(Clone, Debug, PartialEq)]
pub struct Caller {
    /// The function that calls.
    pub function: FunctionRef,
    /// The call there; `None` when the function is only mentioned (passed on, stored): anything may call it.
    pub call: Option<CallId>,
    /// The call or the mention.
    pub place: Place,
}

/// How a function stands to the dispatcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Registration {
    /// It bypasses the dispatcher.
    #[default]
    No,
    /// It implements an op.
    Yes,
    /// A registrar that does nothing was applied.
    Disabled,
    /// Every known caller runs inside a registered op.
    Covered,
    /// It runs only inside an `autograd.Function`.
    Recorded,
}

impl Registration {
    /// The word of the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Yes => "yes",
            Self::Disabled => "disabled",
            Self::Covered => "covered",
            Self::Recorded => "recorded",
        }
    }
}

/// Why a launcher cannot be registered where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Inline {
    /// A method (of a plain class or an `nn.Module`).
    Method,
    /// `forward` or `backward` of an `autograd.Function`.
    Autograd,
    /// Defined inside another function.
    Closure,
    /// Module or class body.
    ModuleBody,
}

/// One `return`, or the end of the body.
#[derive(Clone, Debug, PartialEq)]
pub struct ReturnPath {
    /// The statement; the end of the body is an empty span there.
    pub span: Span,
    /// The returned value in the function's body; `None` at the end of the body.
    pub value: Option<ValueId>,
    /// What is returned.
    pub shape: ReturnShape,
    /// Two of the things returned are the same memory, for sure. Equal numbers of [`Returned::Fresh`] alone say only that they may be:
    /// the items of a list that a callee makes have one number.
    pub shared: bool,
    /// The value, or on another condition a `clone()` of it: the author keeps aliases apart, by what is not followed here.
    pub or_clone: bool,
}

/// What a path returns.
#[derive(Clone, Debug, PartialEq)]
pub enum ReturnShape {
    /// Nothing.
    None,
    /// One thing.
    One(Returned),
    /// A tuple (or list display) of known length.
    Tuple(Vec<Returned>),
    /// Anything.
    Unknown,
}

/// One returned thing.
#[derive(Clone, Debug, PartialEq)]
pub enum Returned {
    /// A tensor allocated in the call that nothing else holds. The number tells storages apart: two results with one number share memory.
    Fresh(u32),
    /// A tensor that shares storage, or may share it, with these parameters (indices); `Fresh` storage too when `or_fresh`.
    Alias {
        /// The parameters.
        params: Vec<u16>,
        /// On some path it is fresh.
        or_fresh: bool,
        /// It may be a copy (`contiguous`).
        maybe: bool,
    },
    /// A tensor held elsewhere: `self.x`, a global.
    State(String),
    /// A number, string, shape: no tensor.
    Scalar,
    /// `None`
    None,
    /// A list of tensors, or something else whose parts are not known.
    Unknown,
}

/// Why `infer_schema` or `define` would refuse a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The parameter, or `None` for the return annotation or the whole signature.
    pub param: Option<u16>,
    /// What kind.
    pub kind: RefusalKind,
    /// Torch's reason, in short.
    pub reason: String,
    /// False: what stands there cannot be known here, so torch may accept it.
    pub certain: bool,
}

/// Kinds of refusals: one rule each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// A parameter has no annotation.
    Unannotated,
    /// Its annotation has no schema type.
    Annotation,
    /// Its default has no schema form.
    Default,
    /// The return annotation is missing or has no schema type.
    Return,
    /// Positional-only, `*args`, `**kwargs`, a keyword-only tensor for `custom_op`.
    Kind,
}

/// A registered op, or an attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// `ns::name`; parts that cannot be known are `*`.
    pub name: String,
    /// The name is known whole.
    pub name_known: bool,
    /// The registering call or decorator; for define/impl the `define`.
    pub place: Place,
    /// The registrar, as the framework files name it (`torch.library.custom_op`, `vllm.direct_register_custom_op`).
    pub registrar: String,
    /// The implementation, if it is in view.
    pub implementation: Option<FunctionRef>,
    /// Name of an implementation that is not in view, as written.
    pub implementation_text: Option<String>,
    /// What is declared.
    pub declared: Declared,
    /// The literal that names it, in the registering call.
    pub name_place: Option<Place>,
    /// Place of the mutates argument, if one is written.
    pub declared_place: Option<Place>,
    /// What is known of the implementation's mutation: index into [`Program::functions`].
    pub func: Option<usize>,
    /// The fake implementation.
    pub fake: Fake,
    /// The registrar does nothing.
    pub disabled: bool,
    /// `CompositeExplicitAutograd`, …: the dispatch key, where one is written or known.
    pub dispatch_key: Option<String>,
    /// The place of the `Library` object when it does not outlive the function that makes it.
    pub dying_library: Option<Place>,
    /// The schema string, where the project writes one.
    pub schema: Option<String>,
    /// The parameters of that string, in order.
    pub schema_params: Vec<String>,
    /// The schema is inferred from the implementation's annotations, as torch's `infer_schema` does.
    pub inferred: bool,
    /// Further implementations in view: of other dispatch keys or devices. Sorted.
    pub further: Vec<FunctionRef>,
    /// There are implementations that are not in view, besides the one in `implementation_text`.
    pub unseen: bool,
    /// It has an autograd formula, which torch refuses for an op that mutates.
    pub autograd: bool,
    /// It is tagged as an op that returns its argument (`torch.Tag.inplace`, `torch.Tag.out`).
    pub returns_argument: bool,
    /// How the registration is written, for edits.
    pub written: Written,
    /// The registering call, and the body that holds it.
    pub call: (FunctionRef, ValueId),
    /// What registers it in the end: torch's own registrar under a project's or framework's.
    pub base: Option<String>,
    /// A name that is taken is kept, silently: this registration does nothing then.
    pub guarded: bool,
    /// The decorated name, or the implementation's, stays a plain function: calls by that name bypass the op.
    pub plain: bool,
    /// Its registrar leaves parameters of the implementation out of the schema.
    pub drops_params: bool,
}

/// The pieces of a registering call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The body that holds the call.
    pub at: FunctionRef,
    /// The call; of a bare decorator the one that applies it.
    pub call: CallId,
    /// A decorator without a call: `@register`.
    pub bare: bool,
    /// The mutates argument, if one is written.
    pub mutated: Option<(FunctionRef, ValueId)>,
    /// The expression in that argument's place, which may be a name for the value.
    pub mutated_span: Option<Span>,
    /// The schema text, if one is written.
    pub schema: Option<(FunctionRef, ValueId)>,
    /// Whether the mutates argument may be added by the keyword `mutates_args`.
    pub takes_mutates_args: bool,
}

/// A function of the project that registers what its caller hands over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registrar {
    /// The function.
    pub function: FunctionRef,
    /// The registering calls inside of it.
    pub calls: Vec<(FunctionRef, ValueId)>,
}

/// Declared mutation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declared {
    /// These names.
    Names(Vec<String>),
    /// The string `"unknown"`: every tensor.
    All,
    /// Another bare string.
    Malformed(String),
    /// It is computed, or stands in code that is not in view.
    Unknown,
}

/// A fake implementation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fake {
    /// None is registered.
    Missing,
    /// This function.
    Function(FunctionRef),
    /// Something that is registered but not in view, as written.
    Text(String),
    /// The registrar makes one (`out_shape=`, `triton_op`).
    Generated,
    /// Cannot be known.
    Unknown,
}

impl Program {
    /// A file.
    pub fn file(&self, id: FileId) -> &ProgramFile {
        &self.files[id.index()]
    }

    /// Facts of a function.
    pub fn function(&self, f: FunctionRef) -> &Function {
        self.files[f.file.index()].facts.function(f.function)
    }

    /// Text of a name of a file.
    pub fn name(&self, file: FileId, name: Name) -> &str {
        self.files[file.index()].facts.name(name)
    }

    /// Python's `__qualname__` of a function.
    pub fn qualname(&self, f: FunctionRef) -> &str {
        self.name(f.file, self.function(f).qualname)
    }

    /// Plain name of a function.
    pub fn function_name(&self, f: FunctionRef) -> &str {
        self.name(f.file, self.function(f).name)
    }

    /// Name of a parameter.
    pub fn param_name(&self, f: FunctionRef, param: u16) -> &str {
        self.name(f.file, self.function(f).params[param as usize].name)
    }

    /// Whether a parameter stands behind `*`.
    pub fn is_keyword_only(&self, f: FunctionRef, param: usize) -> bool {
        self.function(f).params[param].kind == crate::facts::ParamKind::KeywordOnly
    }

    /// Text of a span.
    pub fn slice(&self, place: Place) -> &str {
        self.file(place.file).source.slice(place.span)
    }

    /// Place of a value of a body.
    pub fn value_place(&self, (at, value): (FunctionRef, ValueId)) -> Place {
        Place {
            file: at.file,
            span: self.function(at).body.value(value).span,
        }
    }

    /// What is known of a function of interest.
    pub fn func(&self, f: FunctionRef) -> Option<&Func> {
        self.by_function.get(&f).map(|&i| &self.functions[i])
    }

    /// A kernel.
    pub fn kernel(&self, id: KernelId) -> &Kernel {
        &self.kernels[id.0 as usize]
    }

    /// Place of a function's name.
    pub fn name_place(&self, f: FunctionRef) -> Place {
        Place {
            file: f.file,
            span: self.function(f).name_span,
        }
    }
}
