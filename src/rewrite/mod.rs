//! Builds a finding's fix from [`Program`](crate::program::Program) and [`Facts`](crate::facts::Facts).
//!
//! The public name stays a plain function with its signature, docstring and decorators. Its body moves, unchanged, into
//! a private function that is registered as an op, and the public function calls the op (DESIGN §7).

mod allocation;
mod annotate;
mod around;
mod called;
mod declare;
mod evidence;
mod fake;
mod fake_signature;
mod fakes;
mod hoist;
mod imports;
mod interface;
mod kernel_use;
mod loading;
mod metadata;
mod names;
mod object;
mod op_text;
mod ops;
mod origins;
mod outline;
mod paths;
mod runtime_import;
mod safety;
mod schema_text;
mod scope;
mod signature;
mod slice;
mod spelling;
mod split;
mod spread;
mod styles;
mod types;
mod unreturn;
mod writer;

pub use annotate::annotate;
pub use declare::declare;
pub use runtime_import::{Imported, import_at_runtime};
pub use unreturn::return_nothing;
mod traced;

pub use around::{at_import, exclusive, hidden_by};
pub use fake_signature::{SignatureFault, signature_faults, takes_stars};
pub use fakes::add_defaults;
pub use metadata::{Difference, differences};
pub use ops::{call_op, keep_library, reads, record_op, rename_op, returns_something};
pub use traced::{Untraceable, untraceable};

use crate::facts::{CallId, Op, ValueId};
use crate::finding::{Fix, Safety};
use crate::knowledge::Knowledge;
use crate::program::{Func, FunctionRef, Program};
use crate::source::FileId;
use rustc_hash::FxHashMap;
use safety::Reasons;
use scope::Scope;
use split::Split;
use std::rc::Rc;
use styles::Route;

/// How fixes are made.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Style: `auto`, `custom-op`, `triton-op`, `library`, or a framework's name.
    pub style: String,
    /// Namespace of new ops; empty: the framework's, else the top package.
    pub namespace: String,
    /// Oldest torch that the project supports.
    pub torch: (u32, u32),
    /// Newest torch that the project runs on.
    pub newest_torch: (u32, u32),
    /// Length of lines in new code; 0: that of formatters by default.
    pub width: usize,
}

/// What a fix of a launcher would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// Whether it may be applied; [`Safety::Shown`] when something stands in the way.
    pub safety: Safety,
    /// Why it is not safe, or what stands in the way.
    pub reasons: Vec<String>,
    /// The style, as `--style` takes it; empty when none was chosen.
    pub style: String,
    /// The op's qualified name; empty when none was chosen.
    pub op: String,
    /// Arguments that the op declares as mutated, in order of the signature.
    pub mutates: Vec<String>,
    /// Why only a part of the function becomes an op; empty where the whole function does.
    pub part: Vec<String>,
}

impl Assessment {
    fn blocked(reasons: Vec<String>) -> Self {
        Self {
            safety: Safety::Shown,
            reasons,
            style: String::new(),
            op: String::new(),
            mutates: Vec::new(),
            part: Vec::new(),
        }
    }
}

/// What several fixes of one project share.
pub struct Rewrite<'a> {
    program: &'a Program,
    options: &'a Options,
    names: names::OpNames,
    calls: Calls<'a>,
    loading: loading::Loading<'a>,
    types: Rc<types::Types<'a>>,
}

/// The launches and the calls of launchers, by place.
pub(crate) struct Calls<'a> {
    program: &'a Program,
    launches: FxHashMap<(FunctionRef, ValueId), ()>,
    launchers: FxHashMap<(FunctionRef, CallId), usize>,
}

impl<'a> Calls<'a> {
    fn new(program: &'a Program) -> Self {
        let mut launches = FxHashMap::default();
        let mut launchers = FxHashMap::default();
        for (i, func) in program.functions.iter().enumerate() {
            for launch in &func.launches {
                launches.extend(launch.value.map(|v| ((launch.function, v), ())));
            }
            launches.extend(func.kernel_calls.iter().map(|c| ((func.function, c.value), ())));
            launchers.extend(func.callers.iter().filter_map(|c| Some(((c.function, c.call?), i))));
        }
        Self {
            program,
            launches,
            launchers,
        }
    }

    /// The value is a launch.
    fn launches(&self, at: FunctionRef, value: ValueId) -> bool {
        self.launches.contains_key(&(at, value))
    }

    /// The function of interest that the value is a call of, if it launches.
    fn launcher_called(&self, at: FunctionRef, value: ValueId) -> Option<&'a Func> {
        let Op::Call(call) = self.program.function(at).body.op(value) else {
            return None;
        };
        let func = &self.program.functions[*self.launchers.get(&(at, call))?];
        func.runs_kernels().then_some(func)
    }

    /// The function launches, and no op stands in between.
    fn launches_itself(&self, function: FunctionRef) -> bool {
        let bare = |func: &Func| func.runs_kernels() && func.registration != crate::program::Registration::Yes;
        self.program.func(function).is_some_and(bare)
    }
}

/// A fix of one launcher, decided but not written.
struct Plan<'a> {
    scope: Scope<'a>,
    route: Route<'a>,
    namespace: String,
    names: names::Chosen,
    mutated: Vec<String>,
    /// Those of them that are only suspected.
    suspected: Vec<String>,
    split: Split,
    interface: interface::Interface,
    fake: Option<fake::Fake>,
    reasons: Reasons,
}

/// What becomes the op.
enum Way<'a> {
    Whole(Box<Plan<'a>>),
    Part(outline::Outlined),
}

impl<'a> Rewrite<'a> {
    /// Prepares fixes of a project.
    pub fn new(program: &'a Program, knowledge: &'a Knowledge, options: &'a Options) -> Self {
        let names = names::OpNames::new(program, knowledge);
        Self {
            program,
            options,
            names,
            calls: Calls::new(program),
            loading: loading::Loading::new(program),
            types: types::Types::new(program, knowledge, options.width),
        }
    }

    /// Whether importing one file runs another, directly or not.
    pub fn runs_at_import(&self, from: FileId, file: FileId) -> bool {
        from != file && self.loading.loads(from, file)
    }

    /// What a fix of a launcher would be: [`Program::functions`] by index.
    pub fn assess(&self, func: usize) -> Assessment {
        if let Some(called) = self.called(func) {
            return match called {
                Ok(called) => self.called_assessment(func, &called),
                Err(reasons) => Assessment::blocked(reasons),
            };
        }
        match self.decide(func) {
            Err(reasons) => Assessment::blocked(reasons),
            Ok(Way::Part(outlined)) => self.outlined_assessment(func, &outlined),
            Ok(Way::Whole(plan)) => self.assessment(&plan),
        }
    }

    /// Chooses between the whole function and a part of it.
    fn decide(&self, func: usize) -> Result<Way<'a>, Vec<String>> {
        let plan = match self.plan(func) {
            Ok(plan) => plan,
            Err(reasons) => return self.outline(func, reasons).map(Way::Part),
        };
        let why = match &plan.split {
            split if split.absent => Some("a result may be None, and an op returns tensors"),
            split if split.renames => Some("it allocates what it may be given"),
            _ => None,
        };
        if let Some(why) = why {
            let part = self.outline(func, vec![why.to_string()]).ok();
            if let Some(part) = part.filter(|part| part.doubts.len() <= plan.reasons.doubts.len()) {
                return Ok(Way::Part(part));
            }
        }
        Ok(Way::Whole(Box::new(plan)))
    }

    /// Moves a part of a function that cannot be an op as a whole; else, why neither can be.
    fn outline(&self, func: usize, mut reasons: Vec<String>) -> Result<outline::Outlined, Vec<String>> {
        let func = &self.program.functions[func];
        match outline::outline(self, func) {
            Ok(outlined) => Ok(outline::Outlined { part: reasons, ..outlined }),
            Err(why) if func.inline.is_some() => Err(why),
            Err(why) => {
                let new: Vec<String> = why.into_iter().filter(|why| !reasons.contains(why)).collect();
                reasons.extend(new.into_iter().map(|why| format!("nor can a part of it be an op: {why}")));
                Err(reasons)
            }
        }
    }

    /// Makes an op of the calls of a launcher that must stay as it is.
    fn called(&self, func: usize) -> Option<Result<called::Called, Vec<String>>> {
        let func = &self.program.functions[func];
        called::concerns(func).then(|| called::wrap(self, func))
    }

    fn called_assessment(&self, func: usize, called: &called::Called) -> Assessment {
        let (safety, reasons) = self.judged(func, &called.doubts);
        Assessment {
            safety,
            reasons,
            style: called.style.clone(),
            op: called.op.clone(),
            mutates: called.mutates.clone(),
            part: Vec::new(),
        }
    }

    fn called_fix(&self, func: usize, called: called::Called) -> (Assessment, Fix) {
        let assessment = self.called_assessment(func, &called);
        let fix = Fix {
            title: format!(
                "register the calls of `{}` as `{}`",
                self.program.function_name(self.program.functions[func].function),
                assessment.op
            ),
            safety: assessment.safety,
            reasons: assessment.reasons.clone(),
            edits: called.edits,
            claims: called.claims,
        };
        (assessment, fix)
    }

    /// What doubts make of a fix, and all that is said of it.
    fn judged(&self, func: usize, doubts: &[String]) -> (Safety, Vec<String>) {
        let vendored = self.program.file(self.program.functions[func].function.file).vendored;
        let copy = vendored.then(|| "the file is a copy of somebody else's code".to_string());
        let safety = match (vendored, doubts.is_empty()) {
            (true, _) => Safety::Shown,
            (false, true) => Safety::Safe,
            (false, false) => Safety::Unsafe,
        };
        (safety, copy.into_iter().chain(doubts.iter().cloned()).collect())
    }

    fn outlined_assessment(&self, func: usize, outlined: &outline::Outlined) -> Assessment {
        let (safety, reasons) = self.judged(func, &outlined.doubts);
        Assessment {
            safety,
            reasons,
            style: outlined.style.clone(),
            op: outlined.ops.join("`, `"),
            mutates: outlined.mutates.clone(),
            part: outlined.part.clone(),
        }
    }

    fn outlined_fix(&self, func: usize, outlined: outline::Outlined) -> (Assessment, Fix) {
        let function = self.program.functions[func].function;
        let assessment = self.outlined_assessment(func, &outlined);
        let fix = Fix {
            title: format!(
                "outline the launch of `{}` as `{}`",
                self.program.function_name(function),
                assessment.op
            ),
            safety: assessment.safety,
            reasons: assessment.reasons.clone(),
            edits: outlined.edits.into_iter().map(|edit| (function.file, edit)).collect(),
            claims: vec![(function.file, self.program.function(function).span)],
        };
        (assessment, fix)
    }

    /// Registers a launcher as an op: [`Program::functions`] by index.
    pub fn register(&self, func: usize) -> (Assessment, Fix) {
        let function = self.program.functions[func].function;
        let name = self.program.function_name(function);
        let blocked = |reasons: Vec<String>| {
            let fix = Fix {
                title: format!("register `{name}` as an op"),
                safety: Safety::Shown,
                reasons: reasons.clone(),
                edits: Vec::new(),
                claims: Vec::new(),
            };
            (Assessment::blocked(reasons), fix)
        };
        match self.called(func) {
            Some(Ok(called)) => return self.called_fix(func, called),
            Some(Err(reasons)) => return blocked(reasons),
            None => {}
        }
        let plan = match self.decide(func) {
            Ok(Way::Whole(plan)) => plan,
            Ok(Way::Part(outlined)) => return self.outlined_fix(func, outlined),
            Err(reasons) => {
                return blocked(reasons);
            }
        };
        let registration = styles::Registration {
            scope: &plan.scope,
            route: &plan.route,
            namespace: &plan.namespace,
            names: &plan.names,
            mutated: &plan.mutated,
            suspected: &plan.suspected,
            split: &plan.split,
            interface: &plan.interface,
            fake: plan.fake.as_ref(),
        };
        let assessment = self.assessment(&plan);
        let fix = Fix {
            title: format!("register `{name}` as `{}`", assessment.op),
            safety: assessment.safety,
            reasons: assessment.reasons.clone(),
            edits: registration.edits().into_iter().map(|edit| (function.file, edit)).collect(),
            claims: vec![(function.file, self.program.function(function).span)],
        };
        (assessment, fix)
    }

    fn assessment(&self, plan: &Plan) -> Assessment {
        Assessment {
            safety: self.safety(plan),
            reasons: self.reasons(plan),
            style: plan.route.name().to_string(),
            op: format!("{}::{}", plan.namespace, plan.names.op),
            mutates: plan.mutated.clone(),
            part: Vec::new(),
        }
    }

    fn safety(&self, plan: &Plan) -> Safety {
        if self.program.file(plan.scope.at.file).vendored {
            Safety::Shown
        } else if plan.reasons.doubts.is_empty() {
            Safety::Safe
        } else {
            Safety::Unsafe
        }
    }

    fn reasons(&self, plan: &Plan) -> Vec<String> {
        let vendored = self.program.file(plan.scope.at.file).vendored;
        let copy = vendored.then(|| "the file is a copy of somebody else's code".to_string());
        copy.into_iter().chain(plan.reasons.doubts.iter().cloned()).collect()
    }

    /// Decides a fix, or says what stands in the way.
    fn plan(&self, index: usize) -> Result<Plan<'a>, Vec<String>> {
        let func = &self.program.functions[index];
        let scope = Scope::typed(&self.types, func.function);
        let mut reasons = safety::of_function(&scope, func);
        if func.inline.is_some() {
            return Err(reasons.blockers);
        }
        let route = styles::route(&scope, &self.options.style, func).map_err(|why| vec![why])?;
        let own = safety::of_route(&scope, func, &route);
        reasons.blockers.extend(own.blockers);
        reasons.doubts.extend(own.doubts);

        let indent = self.inner_indent(&scope);
        let split = split::split(&scope, &self.calls, func, &indent);
        let returns = split.as_ref().is_ok_and(|s| s.returns.is_some());
        reasons.blockers.extend(safety::of_results(func, returns || split.is_err()));
        let mut split = match split {
            Ok(split) => split,
            Err(why) => {
                reasons.blockers.push(why);
                return Err(reasons.blockers);
            }
        };
        let interface = interface::interface(&scope, &self.types, func, &route, self.options.torch, &split.required);
        let written = |why: &String| {
            let path = |f: &object::Field| *why == safety::writes_state(&f.path);
            interface.fields.iter().any(path)
        };
        reasons.blockers.retain(|why| !written(why));
        reasons.blockers.extend(interface.blockers.iter().cloned());
        reasons.doubts.extend(interface.doubts.iter().cloned());
        let mut mutated = self.mutated(&scope, func);
        let may_write = |field: &object::Field| {
            let inside = |path: &String| {
                path.strip_prefix(&field.path)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            };
            func.mutates_state.contains(&field.path) || field.ty.is_tensor() && func.unresolved_state.iter().any(inside)
        };
        let mut suspected = self.suspected(func);
        for field in interface.fields.iter().filter(|f| may_write(f)) {
            mutated.push(field.name.clone());
            if !func.mutates_state.contains(&field.path) {
                suspected.push(field.name.clone());
            }
        }
        suspected.retain(|name| mutated.contains(name));
        if mutated.is_empty() && split.nothing {
            reasons
                .blockers
                .push("an op that neither writes nor returns anything would be dropped by the compiler".to_string());
        }
        let fake = if split.nothing {
            None
        } else {
            self.fake(&scope, &mut split, &indent, &mut reasons)
        };
        let namespace = self.namespace(&scope, &route);
        let names = self.names.choose(self.program, func, &namespace);
        if let Route::House(_, style) = route
            && self.loading.closes_cycle(func.function.file, &style.module)
        {
            reasons
                .blockers
                .push(format!("importing `{}` here would close a circle of imports", style.module));
        }
        if reasons.blockers.is_empty() {
            Ok(Plan {
                scope,
                route,
                namespace,
                names,
                mutated,
                suspected,
                split,
                interface,
                fake,
                reasons,
            })
        } else {
            Err(reasons.blockers)
        }
    }

    fn fake(&self, scope: &Scope<'a>, split: &mut Split, indent: &str, reasons: &mut Reasons) -> Option<fake::Fake> {
        let made = fake::fake(scope, &self.calls, split, indent).or_else(|why| {
            let mut hoisted = split.clone();
            match hoist::hoist(scope, &self.calls, &mut hoisted, indent) {
                Ok(true) => {
                    let made = fake::fake(scope, &self.calls, &hoisted, indent)?;
                    *split = hoisted;
                    Ok(made)
                }
                Ok(false) | Err(_) => Err(why),
            }
        });
        match made {
            Ok(fake) => {
                reasons.doubts.extend(fake.doubts.iter().cloned());
                Some(fake)
            }
            Err(why) => {
                reasons.blockers.push(why);
                None
            }
        }
    }

    fn inner_indent(&self, scope: &Scope) -> String {
        let (source, function) = (scope.source(), scope.function());
        let start = function.header.start;
        let outer = &source.text[source.line_start(start) as usize..start as usize];
        format!("{outer}{}", scope.facts().layout.indent)
    }

    /// What is written, as far as it is known, and what may be: the narrowest list that is right.
    fn mutated(&self, scope: &Scope, func: &Func) -> Vec<String> {
        let unresolved = func.unresolved.iter().map(|(param, _)| *param);
        let tensors = unresolved.filter(|&p| scope.param_type(p).is_some_and(signature::Type::is_tensor));
        let mut params: Vec<u16> = func.mutates.iter().map(|w| w.param).chain(tensors).collect();
        params.sort_unstable();
        params.dedup();
        params
            .into_iter()
            .map(|p| self.program.param_name(func.function, p).to_string())
            .collect()
    }

    /// Parameters that may be written, where nothing shows it.
    fn suspected(&self, func: &Func) -> Vec<String> {
        let shown = |p: u16| func.mutates.iter().any(|w| w.param == p);
        let open = func.unresolved.iter().map(|(param, _)| *param).filter(|&p| !shown(p));
        open.map(|p| self.program.param_name(func.function, p).to_string()).collect()
    }

    fn namespace(&self, scope: &Scope, route: &Route) -> String {
        if let Route::House(_, style) = route {
            return style.namespace.clone();
        }
        if !self.options.namespace.is_empty() {
            return self.options.namespace.clone();
        }
        let module = &self.program.file(scope.at.file).module;
        names::identifier(module.split('.').next().unwrap_or_default())
    }
}

/// What a fix of one launcher would be. For several, share a [`Rewrite`].
pub fn assess(program: &Program, knowledge: &Knowledge, options: &Options, func: usize) -> Assessment {
    Rewrite::new(program, knowledge, options).assess(func)
}

/// The fix of one launcher. For several, share a [`Rewrite`].
pub fn register(program: &Program, knowledge: &Knowledge, options: &Options, func: usize) -> Fix {
    Rewrite::new(program, knowledge, options).register(func).1
}
