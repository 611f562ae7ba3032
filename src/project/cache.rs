//! The cache on disk: where it lies, how packs and reports are read and replaced, how it is cleaned.
//!
//! Each project has two packs, named by its root and by the version that writes them. A pack is replaced whole (temporary file,
//! then rename): of two runs at once the last one wins, and each reads the pack that it opened. A cache that cannot be read or
//! written is no failure: the run goes without. Reports lie beside the packs, each in a file that is replaced whole too.

use crate::program::ProgramFile;
use crate::store::{Bytes, Disk, FINGERPRINT, Identity, Pack, Report, Store, Which};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use xxhash_rust::xxh3::xxh3_64;

/// The variable that says where the cache lies; empty for no cache at all.
pub const VARIABLE: &str = "OPWRIGHT_CACHE_DIR";
/// Packs that nobody has used for so long are removed.
const KEPT: Duration = Duration::from_secs(30 * DAY);
/// A pack in use is marked as used once in so long, and temporary files that a run has left are removed after it.
const MARKED: Duration = Duration::from_secs(DAY);
const DAY: u64 = 24 * 60 * 60;
const TEMPORARY: &str = ".opwright-";
/// Tells backup programs that the folder can be made again.
const TAG: &str =
    "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is the facts cache of opwright; `opwright clean` removes it.\n";

/// The folder that holds the caches of all projects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place(PathBuf);

impl Place {
    /// The folder that the environment names, else the user's; `None` for no cache.
    pub fn of_user() -> Option<Self> {
        let folder = folder_of(|name| std::env::var_os(name))?;
        Some(Self(std::path::absolute(folder).ok()?))
    }

    /// This folder.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The report that runs of this identity print, if it is kept. Runs with the same arguments share a place.
    pub fn report(&self, root: &Path, arguments: &str, of: Identity) -> Option<Report> {
        let project = project_name(root);
        let path = self.0.join(report_name(&project, arguments));
        let report = Report::from_bytes(&fs::read(&path).ok()?, of)?;
        // The packs are used by the next run that finds a change.
        if mark(&path) {
            let packs = [Which::Main, Which::Recent].map(|which| self.0.join(file_name(&project, which)));
            packs.iter().for_each(|pack| _ = mark(pack));
            sweep(&self.0, SystemTime::now());
        }
        Some(report)
    }

    /// Keeps a report, if the disk takes it.
    pub fn keep_report(&self, root: &Path, arguments: &str, of: Identity, report: &Report) {
        if let Some(bytes) = report.to_bytes(of) {
            let name = report_name(&project_name(root), arguments);
            let _ = replace(&self.0, &name, &mut |out| out.write_all(&bytes));
        }
    }
}

fn folder_of(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(folder) = variable(VARIABLE) {
        return (!folder.is_empty()).then(|| folder.into());
    }
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || Some(absolute("HOME")?.join(".cache"));
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("LOCALAPPDATA")).or_else(home)?;
    Some(base.join("opwright"))
}

/// The cache of one project, open.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    /// How the names of the project's packs begin.
    project: String,
    store: Arc<Store>,
}

impl Cache {
    /// Opens the cache of the project with this root. What is not there, or damaged, is as if nothing were known.
    pub fn open(place: &Place, root: &Path) -> Self {
        let folder = place.0.clone();
        let project = project_name(root);
        let open = |which| open_pack(&folder.join(file_name(&project, which)));
        let (main, recent) = (open(Which::Main), open(Which::Recent));
        if main.as_ref().or(recent.as_ref()).is_some_and(|(_, marked)| *marked) {
            sweep(&folder, SystemTime::now());
        }
        let pack = |found: Option<(Pack, bool)>| found.map(|(pack, _)| pack);
        let store = Arc::new(Store::new(pack(main), pack(recent)));
        Self { folder, project, store }
    }

    /// What earlier runs found out.
    pub fn store(&self) -> Arc<Store> {
        self.store.clone()
    }

    /// Keeps what was found out about these files, if anything is new and the disk takes it.
    pub fn save(&self, files: &[ProgramFile]) {
        // A full or read-only disk: the next run works anew.
        let _ = self.store.save(files, self);
    }
}

impl Disk for Cache {
    fn replace(&self, pack: Which, write: &mut dyn FnMut(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
        replace(&self.folder, &file_name(&self.project, pack), write)
    }

    fn remove(&self, pack: Which) {
        // It may never have been there.
        let _ = fs::remove_file(self.folder.join(file_name(&self.project, pack)));
    }
}

/// Replaces a file of the folder: whole, or not at all.
fn replace(folder: &Path, name: &str, write: &mut dyn FnMut(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
    make_folder(folder)?;
    let temporary = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(folder)?;
    let mut out = io::BufWriter::with_capacity(1 << 18, temporary.as_file());
    write(&mut out)?;
    io::Write::flush(&mut out)?;
    drop(out);
    temporary.persist(folder.join(name))?;
    sweep(folder, SystemTime::now());
    Ok(())
}

/// Makes the folder; one that is new is marked as a cache, for backup programs and git.
fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    fs::write(folder.join("CACHEDIR.TAG"), TAG)?;
    fs::write(folder.join(".gitignore"), "*\n")
}

fn project_name(root: &Path) -> String {
    format!("{:016x}", xxh3_64(root.as_os_str().as_encoded_bytes()))
}

fn file_name(project: &str, pack: Which) -> String {
    let end = match pack {
        Which::Main => "main",
        Which::Recent => "recent",
    };
    format!("{project}-{FINGERPRINT:016x}.{end}")
}

/// Reports of a project that are kept at once.
const REPORTS: u64 = 8;

/// The file of the reports with these arguments. Few are kept: hooks name other files each time.
fn report_name(project: &str, arguments: &str) -> String {
    let number = xxh3_64(arguments.as_bytes()) % REPORTS;
    format!("{project}-{number:016x}.report")
}

/// The project of one of our files, by its name; empty for a temporary one, `None` for a file of somebody else.
fn owner(name: &str) -> Option<&str> {
    if name.starts_with(TEMPORARY) {
        return Some("");
    }
    let (stem, end) = name.split_once('.')?;
    let (project, version) = stem.split_once('-')?;
    let is_number = |text: &str| text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (matches!(end, "main" | "recent" | "report") && is_number(project) && is_number(version)).then_some(project)
}

/// Opens a pack; whether it was marked as used just now.
fn open_pack(path: &Path) -> Option<(Pack, bool)> {
    let file = File::open(path).ok()?;
    let meta = file.metadata().ok()?;
    let marked = mark(path);
    let bytes = PackFile::new(file, meta.len());
    Some((Pack::open(Box::new(bytes), FINGERPRINT)?, marked))
}

/// Marks a file as used, unless it was not long ago; whether it did.
fn mark(path: &Path) -> bool {
    let age = fs::metadata(path)
        .and_then(|meta| meta.modified())
        .ok()
        .and_then(|then| then.elapsed().ok());
    let now = || File::options().append(true).open(path)?.set_modified(SystemTime::now());
    age.is_some_and(|age| age > MARKED) && now().is_ok()
}

/// Removes what nobody uses any more.
fn sweep(folder: &Path, now: SystemTime) {
    for (path, name, meta) in entries(folder) {
        let longest = match owner(&name) {
            None => continue,
            Some("") => MARKED,
            Some(_) => KEPT,
        };
        let age = meta.modified().ok().and_then(|then| now.duration_since(then).ok());
        if age.is_some_and(|age| age > longest) {
            // Another run may have removed it.
            let _ = fs::remove_file(path);
        }
    }
}

/// The plain files of a folder.
fn entries(folder: &Path) -> impl Iterator<Item = (PathBuf, String, fs::Metadata)> {
    fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| {
        let meta = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some((entry.path(), entry.file_name().into_string().ok()?, meta))
    })
}

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Packs and temporary files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// Removes the caches of all projects, or of the one with this root. Files of others in the folder stay.
pub fn clean(place: &Place, root: Option<&Path>) -> io::Result<Removed> {
    let project = root.map(project_name);
    let mut removed = Removed::default();
    for (path, name, meta) in entries(&place.0) {
        let Some(owner) = owner(&name) else { continue };
        if project.as_deref().is_none_or(|project| project == owner) {
            fs::remove_file(path)?;
            removed.files += 1;
            removed.bytes += meta.len();
        }
    }
    if project.is_none() && fs::read_to_string(place.0.join("CACHEDIR.TAG")).is_ok_and(|tag| tag == TAG) {
        for name in ["CACHEDIR.TAG", ".gitignore"] {
            fs::remove_file(place.0.join(name))?;
        }
        // What somebody else has put there keeps the folder.
        let _ = fs::remove_dir(&place.0);
    }
    Ok(removed)
}

/// A pack's file.
struct PackFile {
    #[cfg(unix)]
    file: File,
    #[cfg(not(unix))]
    file: std::sync::Mutex<File>,
    length: u64,
}

impl PackFile {
    #[cfg(unix)]
    fn new(file: File, length: u64) -> Self {
        Self { file, length }
    }

    #[cfg(not(unix))]
    fn new(file: File, length: u64) -> Self {
        let file = std::sync::Mutex::new(file);
        Self { file, length }
    }

    #[cfg(unix)]
    fn read_into(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, at)
    }

    #[cfg(not(unix))]
    fn read_into(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        use std::io::{Read, Seek, SeekFrom};
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(bytes)
    }
}

impl Bytes for PackFile {
    fn size(&self) -> u64 {
        self.length
    }

    fn read(&self, at: u64, length: usize) -> Option<Vec<u8>> {
        if at.checked_add(length as u64)? > self.length {
            return None;
        }
        let mut bytes = vec![0; length];
        self.read_into(at, &mut bytes).ok()?;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_wins_and_empty_means_none() {
        let of = |set: &[(&str, &str)]| {
            let found = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into());
            folder_of(found).map(|path| path.to_string_lossy().into_owned())
        };
        let home = ("HOME", "/home/a");
        assert_eq!(of(&[home]).as_deref(), Some("/home/a/.cache/opwright"));
        assert_eq!(of(&[home, ("XDG_CACHE_HOME", "/c")]).as_deref(), Some("/c/opwright"));
        assert_eq!(of(&[home, ("XDG_CACHE_HOME", "c")]).as_deref(), Some("/home/a/.cache/opwright"));
        assert_eq!(of(&[home, (VARIABLE, "d")]).as_deref(), Some("d"));
        assert_eq!(of(&[home, (VARIABLE, "")]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn only_old_files_of_ours_are_swept_and_only_ours_are_cleaned() {
        let folder = tempfile::tempdir().unwrap();
        let ours = file_name(&project_name(Path::new("/a")), Which::Main);
        let other_version = format!("{}-{:016x}.recent", project_name(Path::new("/b")), 7);
        let names = [ours.as_str(), &other_version, ".opwright-x", "notes.txt", "a-b.main"];
        for name in names {
            fs::write(folder.path().join(name), "12345").unwrap();
        }
        let left = || {
            let mut left: Vec<String> = entries(folder.path()).map(|(_, name, _)| name).collect();
            left.sort();
            left
        };
        let in_days = |days: u64| SystemTime::now() + Duration::from_secs(days * DAY + 60);
        sweep(folder.path(), SystemTime::now());
        assert_eq!(left().len(), 5);
        sweep(folder.path(), in_days(29));
        assert!(left().len() == 4 && !left().contains(&".opwright-x".to_string()));
        let place = Place::at(folder.path());
        let removed = clean(&place, Some(Path::new("/a"))).unwrap();
        assert_eq!((removed, left().len()), (Removed { files: 1, bytes: 5 }, 3));
        sweep(folder.path(), in_days(30));
        assert_eq!(left(), ["a-b.main", "notes.txt"]);
        assert_eq!(clean(&place, None).unwrap(), Removed::default());
        assert_eq!(left(), ["a-b.main", "notes.txt"]);
    }
}
