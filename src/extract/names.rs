//! Names, and for each what it is in the body that is in work.

use crate::facts::{FunctionId, Name, NameTable};

/// What a name is in the body that declared it: a local's slot, or [`OUTER`].
pub(super) type Slot = u32;
/// A name declared `global` or `nonlocal`.
pub(super) const OUTER: Slot = u32::MAX;

/// The names of a file, with what each stands for just now.
#[derive(Default)]
pub(super) struct Interner {
    names: NameTable,
    /// Per name: the body that binds it, of those in work the innermost, and its slot there.
    owners: Vec<Owner>,
}

/// A name's role in a body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) function: Option<FunctionId>,
    pub(super) slot: Slot,
}

impl Interner {
    pub(super) fn intern(&mut self, text: &str) -> Name {
        let name = self.names.intern(text);
        if name.index() == self.owners.len() {
            self.owners.push(Owner { function: None, slot: 0 });
        }
        name
    }

    pub(super) fn text(&self, name: Name) -> &str {
        &self.names[name.index()]
    }

    pub(super) fn owner(&self, name: Name) -> Owner {
        self.owners[name.index()]
    }

    pub(super) fn set_owner(&mut self, name: Name, owner: Owner) {
        self.owners[name.index()] = owner;
    }

    pub(super) fn finish(self) -> NameTable {
        let mut names = self.names;
        names.shrink();
        names
    }
}
