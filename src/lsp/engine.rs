//! One project under edit: the stages of the command line over open buffers and disk, one file extracted anew per edit.
//!
//! Equal Facts after an edit mean no relink: the linked program is kept and only the rules look again.

use crate::finding::Finding;
use crate::knowledge::Knowledge;
use crate::pipeline::{self, Checked, InputFile};
use crate::program::ProgramFile;
use crate::project::cache::{Cache, Place};
use crate::project::config::RuleNames;
use crate::project::{self, Project, Request, files};
use crate::rules;
use crate::settings::{Settings, Style};
use crate::source::{FileId, Source};
use crate::store::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What happened to a project.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// A buffer was opened or edited.
    Buffer { path: PathBuf, opened: Opened, text: Arc<str> },
    /// A buffer was closed: the disk counts again.
    Closed(PathBuf),
    /// A file was written, made or removed on disk.
    Disk(PathBuf),
    /// Fixes are to be made in this style.
    Style(Option<String>),
    /// Everything may be different.
    Reload,
}

/// An open buffer's address, as the client writes it, and its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opened {
    pub(super) uri: String,
    pub(super) version: i32,
}

/// Findings by style and rule.
type Restyled = BTreeMap<(String, String), Arc<Vec<Finding>>>;

/// A project as it was after some changes, with what was found. Never changes.
pub(super) struct Snapshot {
    pub(super) checked: Arc<Checked>,
    /// Per file: where it is on disk.
    pub(super) paths: Arc<Vec<PathBuf>>,
    /// Per file: findings in it are shown.
    pub(super) shown: Arc<Vec<bool>>,
    pub(super) by_path: Arc<BTreeMap<PathBuf, FileId>>,
    /// The buffers that stood for files.
    pub(super) buffers: BTreeMap<PathBuf, Opened>,
    pub(super) inputs: Arc<Vec<InputFile>>,
    pub(super) knowledge: Arc<Knowledge>,
    pub(super) settings: Arc<Settings>,
    /// Findings in other styles, made when they are asked for.
    styles: Mutex<Restyled>,
}

impl Snapshot {
    /// What a rule says when fixes are made in another style.
    pub(super) fn in_style(&self, style: &Style, rule: &str) -> Arc<Vec<Finding>> {
        let mut known = self.styles.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (pipeline::style_word(style).to_string(), rule.to_string());
        let make = || {
            Arc::new(pipeline::in_style(
                &self.checked.program,
                &self.knowledge,
                &self.settings,
                style,
                rule,
            ))
        };
        known.entry(key).or_insert_with(make).clone()
    }

    pub(super) fn file(&self, path: &Path) -> Option<FileId> {
        self.by_path.get(path).copied()
    }

    pub(super) fn source(&self, file: FileId) -> &Source {
        &self.checked.program.file(file).source
    }

    pub(super) fn path(&self, file: FileId) -> &Path {
        &self.paths[file.index()]
    }
}

/// A project and its last state.
pub(super) struct Engine {
    request: Request,
    opened: BTreeMap<PathBuf, Opened>,
    state: Option<State>,
    /// Where the facts cache lies, if there is one.
    place: Option<Place>,
    /// The cache, from when everything was read until it was kept.
    cache: Option<Cache>,
}

struct State {
    inputs: Arc<Vec<InputFile>>,
    files: Vec<ProgramFile>,
    checked: Arc<Checked>,
    paths: Arc<Vec<PathBuf>>,
    shown: Arc<Vec<bool>>,
    by_path: Arc<BTreeMap<PathBuf, FileId>>,
    knowledge: Arc<Knowledge>,
    settings: Arc<Settings>,
}

impl Engine {
    /// The project that holds these folders.
    pub(super) fn new(root: PathBuf, folders: Vec<PathBuf>, style: Option<String>, place: Option<Place>) -> Self {
        let request = Request {
            paths: folders,
            root: Some(root),
            style,
            ..Request::default()
        };
        Self {
            request,
            opened: BTreeMap::new(),
            state: None,
            place,
            cache: None,
        }
    }

    /// Takes in changes and checks again; a message for the user when the project cannot be read.
    pub(super) fn update(&mut self, changes: Vec<Change>) -> Result<(), String> {
        let mut dirty = BTreeSet::new();
        let mut reload = self.state.is_none();
        let mut configured = reload;
        for change in changes {
            match change {
                Change::Reload => (reload, configured) = (true, true),
                Change::Style(style) => {
                    self.request.style = style;
                    (reload, configured) = (true, true);
                }
                Change::Buffer { path, opened, text } => {
                    self.opened.insert(path.clone(), opened);
                    let is_new = self.request.buffers.insert(path.clone(), text).is_none();
                    reload |= !self.mark(&path, &mut dirty) && is_new && !path.exists();
                }
                Change::Closed(path) => {
                    self.opened.remove(&path);
                    self.request.buffers.remove(&path);
                    reload |= self.mark(&path, &mut dirty) && !path.exists();
                }
                Change::Disk(path) if is_configuration(&path) => (reload, configured) = (true, true),
                Change::Disk(path) => {
                    let known = self.mark(&path, &mut dirty);
                    reload |= known != path.exists();
                }
            }
        }
        let result = if reload { self.reload(configured) } else { Ok(()) };
        // A project that cannot be read goes on as it was, with the new texts.
        if !reload || result.is_err() {
            self.refresh(&dirty);
        }
        result
    }

    /// Forgets all but the buffers: the next update reads everything again.
    pub(super) fn forget(&mut self) {
        self.state = None;
    }

    /// Keeps what was found out when everything was read, for the next server or run. Edits are kept by neither.
    pub(super) fn keep(&mut self) {
        if let (Some(cache), Some(state)) = (self.cache.take(), &self.state) {
            cache.save(&state.files);
        }
    }

    /// Notes a file of the project to be read again; false when the project has no such file.
    fn mark(&self, path: &Path, dirty: &mut BTreeSet<FileId>) -> bool {
        let file = self.state.as_ref().and_then(|state| state.by_path.get(path));
        dirty.extend(file);
        file.is_some()
    }

    /// Reads the whole project; files whose text is as before keep their facts.
    fn reload(&mut self, configured: bool) -> Result<(), String> {
        let names = rules::names();
        let root = self.request.root.clone().unwrap_or_default();
        let project = project::read(&self.request, &root, RuleNames(&names)).map_err(|failure| failure.to_string())?;
        let inputs: Vec<InputFile> = project.files.iter().map(input).collect();
        let mut known: BTreeMap<String, ProgramFile> = BTreeMap::new();
        if let Some(state) = self.state.as_ref().filter(|_| !configured) {
            if *state.inputs == inputs {
                return Ok(());
            }
            known.extend(state.files.iter().map(|file| (file.source.path.clone(), file.clone())));
        }
        self.cache = self
            .place
            .as_ref()
            .filter(|_| configured)
            .map(|place| Cache::open(place, &project.root));
        let store = self.cache.as_ref().map(Cache::store);
        let files = extracted(&inputs, known, store.as_ref());
        let checked = Arc::new(check(files.clone(), &project.knowledge, &project.settings));
        self.state = Some(State::new(project, inputs, files, checked));
        Ok(())
    }

    /// Reads some files again.
    fn refresh(&mut self, dirty: &BTreeSet<FileId>) {
        let Some(state) = &mut self.state else { return };
        let (mut changed, mut relink) = (false, false);
        for file in dirty {
            let index = file.index();
            let path = &state.paths[index];
            let (text, unreadable) = match self.request.buffers.get(path) {
                Some(text) => (text.clone(), None),
                None => {
                    let (text, _, unreadable) = files::read_one(path);
                    (text.into(), unreadable)
                }
            };
            let before = &state.files[index];
            if *before.source.text == *text && state.inputs[index].unreadable == unreadable {
                continue;
            }
            changed = true;
            let input = &mut Arc::make_mut(&mut state.inputs)[index];
            input.source = Arc::new(Source::new(input.source.path.clone(), &*text));
            input.unreadable = unreadable;
            let mut after = pipeline::extract_one(input, None);
            // Words in comments change nothing but which broken files are worth a word.
            let same_words = after.words == before.words || after.facts.syntax_errors.is_empty();
            if same_words && *after.facts == *before.facts {
                after.facts = before.facts.clone();
            } else {
                relink = true;
            }
            state.files[index] = after;
        }
        if changed {
            state.check_again(relink);
        }
    }

    /// The present state; `None` before the project could be read.
    pub(super) fn snapshot(&self) -> Option<Snapshot> {
        let state = self.state.as_ref()?;
        Some(Snapshot {
            checked: state.checked.clone(),
            paths: state.paths.clone(),
            shown: state.shown.clone(),
            by_path: state.by_path.clone(),
            buffers: self.opened.clone(),
            inputs: state.inputs.clone(),
            knowledge: state.knowledge.clone(),
            settings: state.settings.clone(),
            styles: Mutex::default(),
        })
    }
}

impl State {
    fn new(project: Project, inputs: Vec<InputFile>, files: Vec<ProgramFile>, checked: Arc<Checked>) -> Self {
        let paths: Vec<PathBuf> = project.files.iter().map(|file| file.path.clone()).collect();
        let by_path = paths.iter().enumerate().map(|(index, path)| (path.clone(), FileId(index as u32)));
        Self {
            inputs: Arc::new(inputs),
            files,
            checked,
            by_path: Arc::new(by_path.collect()),
            paths: Arc::new(paths),
            shown: Arc::new(project.files.iter().map(|file| file.shown).collect()),
            knowledge: Arc::new(project.knowledge),
            settings: Arc::new(project.settings),
        }
    }

    fn check_again(&mut self, relink: bool) {
        if relink {
            self.checked = Arc::new(check(self.files.clone(), &self.knowledge, &self.settings));
            return;
        }
        let mut program = self.checked.program.clone();
        program.files.clone_from(&self.files);
        self.checked = Arc::new(pipeline::judge(program, &self.knowledge, &self.settings));
    }
}

fn check(files: Vec<ProgramFile>, knowledge: &Knowledge, settings: &Settings) -> Checked {
    let program = pipeline::link_extracted(files, knowledge, settings);
    pipeline::judge(program, knowledge, settings)
}

/// Facts of all files: the known ones where path and text are as before.
fn extracted(inputs: &[InputFile], mut known: BTreeMap<String, ProgramFile>, store: Option<&Arc<Store>>) -> Vec<ProgramFile> {
    let mut kept: Vec<Option<ProgramFile>> = inputs.iter().map(|input| keep(input, &mut known)).collect();
    let missing: Vec<usize> = (0..inputs.len()).filter(|&index| kept[index].is_none()).collect();
    let new: Vec<InputFile> = missing.iter().map(|&index| inputs[index].clone()).collect();
    for (index, file) in missing.into_iter().zip(pipeline::extract_all(&new, store)) {
        kept[index] = Some(file);
    }
    kept.into_iter().flatten().collect()
}

fn keep(input: &InputFile, known: &mut BTreeMap<String, ProgramFile>) -> Option<ProgramFile> {
    let before = known.remove(&input.source.path)?;
    let same = before.source.text == input.source.text && input.unreadable.is_none() && !before.source.text.is_empty();
    same.then(|| ProgramFile {
        source: input.source.clone(),
        words: before.words,
        facts: before.facts,
        module: input.module.clone(),
        is_package: input.is_package,
        vendored: input.vendored,
        cold: input.cold,
        named: input.named,
    })
}

fn input(file: &project::File) -> InputFile {
    InputFile {
        source: file.source.clone(),
        unreadable: file.unreadable.clone(),
        module: file.module.clone(),
        is_package: file.is_package,
        vendored: file.vendored,
        cold: file.cold,
        named: file.named,
    }
}

/// A file that decides what the project is, or how it is checked.
fn is_configuration(path: &Path) -> bool {
    path.extension().is_none_or(|extension| extension != "py" && extension != "pyi")
}
