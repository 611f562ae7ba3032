use super::*;
use crate::pipeline::{InputFile, extract_all};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

/// Packs in memory, and how often one was replaced.
#[derive(Default)]
struct Memory {
    packs: Mutex<[Option<Vec<u8>>; 2]>,
    replaced: AtomicUsize,
    full: bool,
}

impl Memory {
    fn pack(&self, which: Which) -> Option<Vec<u8>> {
        self.packs.lock().unwrap()[which as usize].clone()
    }

    fn set(&self, which: Which, bytes: Vec<u8>) {
        self.packs.lock().unwrap()[which as usize] = Some(bytes);
    }

    fn store(&self) -> Arc<Store> {
        let open = |which| Pack::open(Box::new(self.pack(which)?), FINGERPRINT);
        Arc::new(Store::new(open(Which::Main), open(Which::Recent)))
    }

    fn replaced(&self) -> usize {
        self.replaced.load(Ordering::Relaxed)
    }
}

impl Disk for Memory {
    fn replace(&self, pack: Which, write: &mut dyn FnMut(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
        let mut bytes = Vec::new();
        write(&mut bytes)?;
        if self.full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.set(pack, bytes);
        self.replaced.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn remove(&self, pack: Which) {
        self.packs.lock().unwrap()[pack as usize] = None;
    }
}

impl Bytes for Vec<u8> {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, at: u64, length: usize) -> Option<Vec<u8>> {
        let at = usize::try_from(at).ok()?;
        Some(self.get(at..at.checked_add(length)?)?.to_vec())
    }
}

fn input(path: &str, text: &str) -> InputFile {
    InputFile {
        source: Arc::new(Source::new(path, text)),
        unreadable: None,
        module: String::new(),
        is_package: false,
        vendored: false,
        cold: false,
        named: false,
    }
}

/// Ten texts, each of some size.
fn inputs() -> Vec<InputFile> {
    let text = |i: usize| {
        let bodies = (0..20).map(|j| format!("def f{j}(a, b=None):\n    c{i} = a[{j}](b, k='größe')\n    return c{i} + {i}\n"));
        format!("import m{i} as n\n{}", bodies.collect::<String>())
    };
    (0..10).map(|i| input(&format!("a{i}.py"), &text(i))).collect()
}

/// Files with their facts asked for.
fn asked(inputs: &[InputFile], store: &Arc<Store>) -> Vec<ProgramFile> {
    let files = extract_all(inputs, Some(store));
    assert!(files.iter().all(|file| !file.facts.names.is_empty()));
    files
}

fn same(files: &[ProgramFile], others: &[ProgramFile]) -> bool {
    let same = |(a, b): (&ProgramFile, &ProgramFile)| a.words == b.words && *a.facts == *b.facts;
    files.len() == others.len() && files.iter().zip(others).all(same)
}

fn kept(inputs: &[InputFile]) -> (Memory, Vec<ProgramFile>) {
    let disk = Memory::default();
    let store = disk.store();
    let files = asked(inputs, &store);
    store.save(&files, &disk).unwrap();
    (disk, files)
}

#[test]
fn what_is_kept_comes_back_and_nothing_is_written_twice() {
    let (disk, files) = kept(&inputs());
    let store = disk.store();
    for file in &files {
        let key = Key::of(&file.source);
        assert_eq!(store.words(key).as_ref(), Some(&*file.words));
        assert_eq!(store.facts(key).as_ref(), Some(&*file.facts));
    }
    store.save(&files, &disk).unwrap();
    assert_eq!(disk.replaced(), 1);
}

#[test]
fn only_what_was_asked_for_is_made_and_kept() {
    let (inputs, disk) = (inputs(), Memory::default());
    let store = disk.store();
    let files = extract_all(&inputs, Some(&store));
    store.save(&files, &disk).unwrap();
    let store = disk.store();
    let key = Key::of(&inputs[3].source);
    assert!(store.words(key).is_some() && store.facts(key).is_none());
    let files = extract_all(&inputs, Some(&store));
    assert!(!files[3].facts.names.is_empty());
    store.save(&files, &disk).unwrap();
    let store = disk.store();
    assert!(store.facts(key).is_some() && !store.has(Key::of(&inputs[4].source), Part::Facts));
}

#[test]
fn a_changed_text_is_kept_apart_until_there_are_many() {
    let (mut inputs, (disk, _)) = (inputs(), kept(&inputs()));
    let main = disk.pack(Which::Main);
    inputs[2] = input("a2.py", "import other\n");
    let store = disk.store();
    store.save(&asked(&inputs, &store), &disk).unwrap();
    assert!(disk.pack(Which::Main) == main && disk.pack(Which::Recent).is_some());
    let first = Key::of(&inputs[2].source);
    inputs[2] = input("a2.py", "import another\n");
    let store = disk.store();
    store.save(&asked(&inputs, &store), &disk).unwrap();
    let store = disk.store();
    assert!(disk.pack(Which::Main) == main && store.facts(first).is_some() && store.facts(Key::of(&inputs[2].source)).is_some());
    for (i, input) in inputs.iter_mut().enumerate().take(8) {
        input.source = Arc::new(Source::new(input.source.path.clone(), format!("x{i} = 1\n{}", input.source.text)));
    }
    let store = disk.store();
    let files = asked(&inputs, &store);
    store.save(&files, &disk).unwrap();
    let store = disk.store();
    assert!(disk.pack(Which::Recent).is_none() && store.facts(first).is_none() && same(&asked(&inputs, &store), &files));
    store.save(&files, &disk).unwrap();
    assert_eq!(disk.replaced(), 4);
}

#[test]
fn a_stub_is_another_text_and_an_unreadable_file_is_none() {
    let text = "def f(x): ...\n";
    let mut broken = input("c.py", "");
    broken.unreadable = Some("permission denied".into());
    let inputs = [input("a.py", text), input("a.pyi", text), broken, input("d.py", "")];
    let (disk, files) = kept(&[]);
    assert!(files.is_empty() && disk.replaced() == 0);
    for _ in 0..2 {
        let store = disk.store();
        let files = extract_all(&inputs, Some(&store));
        assert_eq!(files[2].facts.syntax_errors[0].message, "permission denied");
        assert!(files[3].facts.syntax_errors.is_empty() && !files[0].facts.names.is_empty() && !files[1].facts.names.is_empty());
        store.save(&files, &disk).unwrap();
    }
    assert_ne!(Key::of(&inputs[0].source), Key::of(&inputs[1].source));
    assert_eq!(disk.store().main.as_ref().unwrap().keys().len(), 2);
}

/// The n-th number of a fixed series without order.
fn scattered(n: usize) -> usize {
    let mut number = (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    number = (number ^ number >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (number >> 20) as usize
}

#[test]
fn damage_changes_nothing_and_is_mended() {
    let inputs = inputs();
    let (disk, files) = kept(&inputs);
    let whole = disk.pack(Which::Main).unwrap();
    for n in 0..300 {
        let mut bytes = whole.clone();
        let at = scattered(n) % bytes.len();
        match n % 4 {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << (n / 4 % 8),
            2 => bytes[at..].fill(0),
            _ => _ = bytes.remove(at),
        }
        disk.set(Which::Main, bytes);
        let store = disk.store();
        let found = asked(&inputs, &store);
        assert!(same(&found, &files), "damage {n}");
        store.save(&found, &disk).unwrap();
        assert!(disk.pack(Which::Main).as_ref() == Some(&whole), "damage {n}");
    }
}

#[test]
fn another_version_reads_nothing() {
    let (disk, _) = kept(&inputs());
    let bytes = disk.pack(Which::Main).unwrap();
    assert!(Pack::open(Box::new(bytes.clone()), FINGERPRINT).is_some());
    assert!(Pack::open(Box::new(bytes.clone()), FINGERPRINT ^ 1).is_none());
    // Not even under another version's head.
    let mut other = bytes;
    other[8..16].copy_from_slice(&(FINGERPRINT ^ 1).to_le_bytes());
    assert!(Pack::open(Box::new(other), FINGERPRINT ^ 1).is_none());
    for nothing in [&b""[..], b"opwright", &[0; 64]] {
        assert!(Pack::open(Box::new(nothing.to_vec()), 0).is_none());
    }
}

#[test]
fn a_full_disk_leaves_what_was_kept() {
    let (mut disk, _) = kept(&inputs());
    let before = disk.pack(Which::Main);
    disk.full = true;
    let store = disk.store();
    let files = asked(&[input("b.py", "x = 1\n")], &store);
    assert!(store.save(&files, &disk).is_err());
    assert_eq!(disk.pack(Which::Main), before);
}
