//! The projects of the workspace: one per root, each with its thread and its last snapshot.

use super::engine::{Engine, Snapshot};
use super::publish::Published;
use super::worker::{Report, Worker};
use crate::project::cache::Place;
use crate::project::root;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A project of the workspace.
pub(super) struct Handle {
    pub(super) root: PathBuf,
    /// The workspace's folders in it: findings elsewhere are not shown.
    pub(super) folders: Vec<PathBuf>,
    pub(super) worker: Worker,
    pub(super) latest: Option<Arc<Snapshot>>,
    /// Number of the last change that was checked.
    pub(super) done: u64,
    pub(super) published: Published,
    /// Progress is shown under this name.
    pub(super) progress: Option<String>,
}

/// All projects, by a number that is never used twice.
pub(super) struct Projects {
    handles: BTreeMap<usize, Handle>,
    next: usize,
    /// Where the facts cache lies, if there is one.
    cache: Option<Place>,
}

impl Projects {
    /// No projects yet.
    pub(super) fn new(cache: Option<Place>) -> Self {
        Self {
            handles: BTreeMap::new(),
            next: 0,
            cache,
        }
    }

    pub(super) fn get(&self, id: usize) -> Option<&Handle> {
        self.handles.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: usize) -> Option<&mut Handle> {
        self.handles.get_mut(&id)
    }

    pub(super) fn ids(&self) -> Vec<usize> {
        self.handles.keys().copied().collect()
    }

    /// The project of a file: the one with the deepest root.
    pub(super) fn of(&self, path: &Path) -> Option<usize> {
        let around = self.handles.iter().filter(|(_, handle)| path.starts_with(&handle.root));
        around.max_by_key(|(_, handle)| handle.root.components().count()).map(|(id, _)| *id)
    }

    /// Every project that a file may belong to.
    pub(super) fn around(&self, path: &Path) -> Vec<usize> {
        let around = self.handles.iter().filter(|(_, handle)| path.starts_with(&handle.root));
        around.map(|(id, _)| *id).collect()
    }

    /// Opens a project; returns its number.
    pub(super) fn open(&mut self, group: Group, style: Option<String>, done: impl Fn(Report) + Send + 'static) -> usize {
        let id = self.next;
        self.next += 1;
        let engine = Engine::new(group.root.clone(), group.folders.clone(), style, self.cache.clone());
        let handle = Handle {
            root: group.root,
            folders: group.folders,
            worker: Worker::start(id, engine, done),
            latest: None,
            done: 0,
            published: Published::default(),
            progress: None,
        };
        self.handles.insert(id, handle);
        id
    }

    /// Closes a project.
    pub(super) fn close(&mut self, id: usize) -> Option<Handle> {
        self.handles.remove(&id)
    }

    pub(super) fn are_done(&self, needs: &[(usize, u64)]) -> bool {
        needs
            .iter()
            .all(|(id, generation)| self.get(*id).is_none_or(|handle| handle.done >= *generation))
    }

    pub(super) fn snapshots(&self, needs: &[(usize, u64)]) -> Vec<Arc<Snapshot>> {
        needs.iter().filter_map(|(id, _)| self.get(*id)?.latest.clone()).collect()
    }
}

/// Folders of the workspace that lie in one project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) root: PathBuf,
    pub(super) folders: Vec<PathBuf>,
}

/// The folders by the project that the command line would find for each.
pub(super) fn groups(folders: &[PathBuf]) -> Vec<Group> {
    let mut groups: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        if let Ok(root) = root::find(None, std::slice::from_ref(folder), folder) {
            groups.entry(root).or_default().push(folder.clone());
        }
    }
    let group = |(root, folders)| Group { root, folders };
    groups.into_iter().map(group).collect()
}
