//! Which modules a module loads when it is imported: what a new import might lead back to.

use super::scope::absolute_module;
use crate::program::Program;
use crate::source::FileId;
use crate::words::imports;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::rc::Rc;

/// Which modules load which when they are imported, looked up once.
pub(super) struct Loading<'a> {
    program: &'a Program,
    direct: RefCell<FxHashMap<FileId, Rc<[FileId]>>>,
    reached: RefCell<FxHashMap<FileId, Rc<FxHashSet<FileId>>>>,
}

impl<'a> Loading<'a> {
    pub(super) fn new(program: &'a Program) -> Self {
        Self {
            program,
            direct: RefCell::default(),
            reached: RefCell::default(),
        }
    }

    /// Whether what the registrar's module loads leads back to `from`: then `from` may be run while that is half loaded,
    /// and the registration, which runs with it, would fail. A circle that is there already is as bad as a new one.
    pub(super) fn closes_cycle(&self, from: FileId, target: &str) -> bool {
        let own = &self.program.file(from).module;
        let mut at = Some(target);
        while let Some(module) = at {
            let parent_of_own = *own == module || own.starts_with(&format!("{module}."));
            let start = self.program.modules.get(module).filter(|_| !parent_of_own);
            if module == own || start.is_some_and(|&start| self.loads(start, from)) {
                return true;
            }
            at = module.rsplit_once('.').map(|(parent, _)| parent);
        }
        false
    }

    /// Importing `start` loads `file`. Every file loads itself.
    pub(super) fn loads(&self, start: FileId, file: FileId) -> bool {
        self.reached(start).contains(&file)
    }

    /// All modules that importing `start` loads.
    fn reached(&self, start: FileId) -> Rc<FxHashSet<FileId>> {
        if let Some(known) = self.reached.borrow().get(&start) {
            return Rc::clone(known);
        }
        let mut seen = FxHashSet::from_iter([start]);
        let mut todo = vec![start];
        while let Some(file) = todo.pop() {
            todo.extend(self.direct(file).iter().filter(|&&next| seen.insert(next)));
        }
        let seen = Rc::new(seen);
        self.reached.borrow_mut().insert(start, Rc::clone(&seen));
        seen
    }

    fn direct(&self, file: FileId) -> Rc<[FileId]> {
        let mut known = self.direct.borrow_mut();
        Rc::clone(known.entry(file).or_insert_with(|| direct(self.program, file).into()))
    }
}

/// Modules that a module's own top-level statements load. Its parent packages are loaded before it runs, and do not count.
fn direct(program: &Program, file: FileId) -> Vec<FileId> {
    let own = program.file(file);
    let mut found = Vec::new();
    let mut add = |name: &str| {
        let mut at = name;
        loop {
            if let Some(&module) = program.modules.get(at) {
                let below = own.module.strip_prefix(at);
                let is_parent = below.is_some_and(|below| below.is_empty() || below.starts_with('.'));
                if !is_parent {
                    found.push(module);
                }
            }
            match at.rsplit_once('.') {
                Some((parent, _)) => at = parent,
                None => break,
            }
        }
    };
    for import in imports(&own.source.text) {
        let is_star = import.member == Some("*");
        if import.type_checking && !is_star {
            continue;
        }
        let module = absolute_module(program, file, import.level, import.module);
        add(&module);
        if let Some(member) = import.member.filter(|_| !is_star) {
            add(&format!("{module}.{member}"));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}
