//! The cache: it changes how long a run takes, and nothing else.

#![allow(clippy::unwrap_used)] // a panic is a failed test

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

/// A copy of a fixture, and a folder that a cache may be made in.
struct Bench {
    project: tempfile::TempDir,
    cache: tempfile::TempDir,
}

const CHECK: &[&str] = &["check", "--output-format", "json"];
const RUINED: &[u8] = b"no pack";
const INVENTORY: &[&str] = &["inventory", "--output-format", "json"];

impl Bench {
    fn new() -> Self {
        let project = tempfile::tempdir().unwrap();
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/serving");
        for entry in walkdir::WalkDir::new(&fixture).into_iter().map(Result::unwrap) {
            let to = project.path().join(entry.path().strip_prefix(&fixture).unwrap());
            if entry.file_type().is_dir() {
                fs::create_dir_all(to).unwrap();
            } else {
                fs::copy(entry.path(), to).unwrap();
            }
        }
        Self {
            project,
            cache: tempfile::tempdir().unwrap(),
        }
    }

    fn folder(&self) -> PathBuf {
        self.cache.path().join("opwright")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_opwright"));
        command
            .args(args)
            .current_dir(self.project.path())
            .env("OPWRIGHT_CACHE_DIR", self.folder());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// What a command prints.
    fn run(&self, args: &[&str]) -> String {
        told(&self.command(args).output().unwrap())
    }

    /// What it prints without the cache.
    fn fresh(&self, args: &[&str]) -> String {
        self.run(&[args, &["--no-cache"]].concat())
    }

    /// The packs, by name.
    fn packs(&self) -> Vec<PathBuf> {
        self.kept(&["main", "recent"])
    }

    /// Files of the cache with these endings, by name.
    fn kept(&self, ends: &[&str]) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder()).into_iter().flatten().map(|entry| entry.unwrap().path());
        let mut kept: Vec<PathBuf> = entries
            .filter(|path| path.extension().is_some_and(|end| ends.iter().any(|wanted| end == *wanted)))
            .collect();
        kept.sort();
        kept
    }

    /// Leaves no pack to be read. One that is there afterwards was made by an analysis.
    fn ruin_pack(&self) {
        fs::write(self.main_pack(), RUINED).unwrap();
    }

    fn is_analysed(&self) -> bool {
        fs::read(self.main_pack()).unwrap() != RUINED
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.project.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn main_pack(&self) -> PathBuf {
        self.packs()
            .into_iter()
            .find(|path| path.extension().is_some_and(|end| end == "main"))
            .unwrap()
    }
}

fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{:?}\n{}\n{}", output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_warm_run_says_what_a_cold_one_says_and_writes_nothing() {
    let bench = Bench::new();
    for args in [CHECK, INVENTORY, &["check"], &["check", "--diff"], &["check", "--only", "schema"]] {
        let fresh = bench.fresh(args);
        assert!(fresh.len() > 20, "{fresh}");
        assert_eq!(bench.run(args), fresh, "{args:?}, cold");
        let times = || -> Vec<_> {
            let kept = bench.kept(&["main", "recent", "report"]);
            kept.iter().map(|path| fs::metadata(path).unwrap().modified().unwrap()).collect()
        };
        let before = times();
        assert!(!before.is_empty());
        assert_eq!(bench.run(args), fresh, "{args:?}, warm");
        assert_eq!(before, times(), "{args:?}");
    }
}

#[test]
fn a_changed_file_is_read_again_whatever_its_time_says() {
    let bench = Bench::new();
    bench.run(CHECK);
    let path = bench.project.path().join("serving/cache.py");
    let (text, time) = (fs::read_to_string(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
    let changed = text.replace("cache_ptr", "cashe_ptr");
    assert!(changed != text && changed.len() == text.len());
    fs::write(&path, changed).unwrap();
    fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
    let fresh = bench.fresh(CHECK);
    assert!(fresh.contains("cashe_ptr"));
    assert_eq!(bench.run(CHECK), fresh);
    assert_eq!(bench.run(CHECK), fresh);
}

#[test]
fn damaged_packs_are_ignored_and_written_again() {
    let bench = Bench::new();
    let fresh = bench.fresh(INVENTORY);
    bench.run(INVENTORY);
    let pack = bench.main_pack();
    let whole = fs::read(&pack).unwrap();
    for n in 0..12_usize {
        let at = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize) % whole.len();
        let mut bytes = whole.clone();
        match n % 3 {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 0x10,
            _ => bytes[at..].fill(0xff),
        }
        fs::write(&pack, bytes).unwrap();
        assert_eq!(bench.run(INVENTORY), fresh, "damage {n}");
        assert!(fs::read(&pack).unwrap() == whole, "damage {n}");
    }
    fs::write(&pack, "somebody else's").unwrap();
    assert_eq!(bench.run(INVENTORY), fresh);
    assert!(fs::read(&pack).unwrap() == whole);
}

#[test]
fn a_pack_of_another_version_is_not_read() {
    let bench = Bench::new();
    let fresh = bench.fresh(INVENTORY);
    bench.run(INVENTORY);
    let pack = bench.main_pack();
    let whole = fs::read(&pack).unwrap();
    let mut other = whole.clone();
    other[8] ^= 1;
    fs::write(&pack, &other).unwrap();
    assert_eq!(bench.run(INVENTORY), fresh);
    assert!(fs::read(&pack).unwrap() == whole);
    // Another version's own pack lies beside it and stays.
    let theirs = bench.folder().join("0123456789abcdef-0123456789abcdef.main");
    fs::write(&theirs, &other).unwrap();
    assert_eq!(bench.run(INVENTORY), fresh);
    assert!(fs::read(theirs).unwrap() == other);
}

#[test]
fn runs_at_once_do_not_disturb_each_other() {
    let bench = Bench::new();
    let fresh = [bench.fresh(CHECK), bench.fresh(INVENTORY)];
    for _ in 0..3 {
        let start = |i: usize| (i, bench.command([CHECK, INVENTORY][i % 2]).spawn().unwrap());
        let running: Vec<_> = (0..6).map(start).collect();
        for (i, child) in running {
            assert_eq!(told(&child.wait_with_output().unwrap()), fresh[i % 2]);
        }
        let temporary = fs::read_dir(bench.folder()).unwrap().filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().starts_with(".opwright-")
        });
        assert_eq!(temporary.count(), 0);
        assert_eq!(bench.run(CHECK), fresh[0]);
        bench.run(&["clean"]);
    }
}

#[test]
fn without_a_place_a_run_goes_without() {
    let bench = Bench::new();
    let fresh = bench.fresh(CHECK);
    assert!(!bench.folder().exists());
    fs::write(bench.folder(), "a file, no folder").unwrap();
    assert_eq!(bench.run(CHECK), fresh);
    assert_eq!(fs::read_to_string(bench.folder()).unwrap(), "a file, no folder");
    fs::remove_file(bench.folder()).unwrap();
    let mut command = bench.command(CHECK);
    command.env("OPWRIGHT_CACHE_DIR", "").env("XDG_CACHE_HOME", bench.cache.path());
    assert_eq!(told(&command.output().unwrap()), fresh);
    assert!(!bench.folder().exists());
    command.env_remove("OPWRIGHT_CACHE_DIR");
    assert_eq!(told(&command.output().unwrap()), fresh);
    assert!(bench.folder().exists());
}

#[cfg(unix)]
#[test]
fn a_cache_that_may_only_be_read_is_used_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    bench.run(CHECK);
    fs::write(bench.project.path().join("new.py"), "import triton\n").unwrap();
    let fresh = bench.fresh(CHECK);
    fs::set_permissions(bench.folder(), fs::Permissions::from_mode(0o555)).unwrap();
    assert_eq!(bench.run(CHECK), fresh);
    fs::set_permissions(bench.folder(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn no_cache_neither_reads_nor_writes() {
    let bench = Bench::new();
    bench.run(CHECK);
    let pack = bench.main_pack();
    let days = |days: u64| SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
    fs::File::options().append(true).open(&pack).unwrap().set_modified(days(2)).unwrap();
    let age = || fs::metadata(&pack).unwrap().modified().unwrap().elapsed().unwrap();
    fs::write(bench.project.path().join("new.py"), "import triton\n").unwrap();
    bench.fresh(CHECK);
    assert!(age() > Duration::from_secs(24 * 60 * 60) && bench.packs().len() == 1);
    // A pack that is read is marked as used, and old ones go.
    let old = bench.folder().join("0123456789abcdef-0123456789abcdef.main");
    fs::write(&old, "x").unwrap();
    fs::File::options().append(true).open(&old).unwrap().set_modified(days(31)).unwrap();
    bench.run(CHECK);
    assert!(age() < Duration::from_secs(60 * 60) && !old.exists());
}

#[test]
fn fixes_and_standard_input_are_as_without_the_cache() {
    let (one, two) = (Bench::new(), Bench::new());
    for args in [CHECK, &["check", "--fix"], CHECK] {
        assert_eq!(one.run(args), two.fresh(args), "{args:?}");
    }
    assert_eq!(one.run(CHECK), one.fresh(CHECK));
    let name = "serving/cache.py";
    let text = fs::read_to_string(one.project.path().join(name)).unwrap() + "\n\ndef later():\n    pass\n";
    let of_input = |bench: &Bench, more: &[&str]| {
        let args = [CHECK, &["--stdin-filename", name], more].concat();
        let mut child = bench.command(&args).stdin(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
        told(&child.wait_with_output().unwrap())
    };
    let fresh = of_input(&one, &["--no-cache"]);
    assert_eq!(of_input(&one, &[]), fresh);
    assert_eq!(of_input(&one, &[]), fresh);
}

#[test]
fn clean_says_how_much_and_leaves_the_files_of_others() {
    let (one, two) = (Bench::new(), Bench::new());
    one.run(CHECK);
    let mut command = two.command(CHECK);
    command.env("OPWRIGHT_CACHE_DIR", one.folder()).output().unwrap();
    assert_eq!(one.packs().len(), 2);
    let size = fs::metadata(one.main_pack()).unwrap().len();
    assert!(one.run(&["clean", "--root", "."]).contains("removed 2 files ("));
    assert_eq!(one.packs().len(), 1);
    let said = one.run(&["clean"]);
    assert!(said.contains("removed 2 files (") && size > 0, "{said}");
    assert!(!one.folder().exists());
    assert!(one.run(&["clean"]).contains("nothing to remove"));
    fs::create_dir_all(one.folder()).unwrap();
    fs::write(one.folder().join("notes.txt"), "mine").unwrap();
    one.run(CHECK);
    one.run(&["clean"]);
    assert!(one.packs().is_empty() && one.folder().join("notes.txt").exists());
}

#[test]
fn an_unchanged_project_is_not_analysed_again() {
    let bench = Bench::new();
    bench.run(&["baseline", "write"]);
    let accepted = &["check", "--baseline", "opwright-baseline.json"];
    let formats = ["full", "concise", "json", "sarif", "github", "gitlab", "junit"];
    let mut commands: Vec<Vec<&str>> = formats.map(|format| vec!["check", "--output-format", format]).to_vec();
    commands.extend([
        accepted.to_vec(),
        [accepted, &["--only", "schema"] as &[&str]].concat(),
        vec!["check", "--fail-on", "error"],
        vec!["check", "--exit-zero", "--color", "always"],
        vec!["check", "--statistics"],
        vec!["check", "--show-unknown", "serving/cache.py"],
        vec!["check", "--unsafe"],
        vec!["check", "empty"],
    ]);
    fs::create_dir(bench.project.path().join("empty")).unwrap();
    for args in &commands {
        let fresh = bench.fresh(args);
        assert_eq!(bench.run(args), fresh, "{args:?}, first");
        bench.ruin_pack();
        assert_eq!(bench.run(args), fresh, "{args:?}, again");
        assert!(!bench.is_analysed(), "{args:?}");
    }
    assert!(bench.kept(&["report"]).len() <= 8);
    let path = bench.project.path().join("serving/cache.py");
    let later = SystemTime::now() + Duration::from_secs(60);
    fs::File::options().append(true).open(path).unwrap().set_modified(later).unwrap();
    bench.run(commands.last().unwrap());
    assert!(!bench.is_analysed(), "only a time has changed");
}

/// What is changed, and how.
type Step<'a> = (&'a str, &'a dyn Fn(&Path));

#[test]
fn whatever_a_report_follows_from_makes_it_anew() {
    let bench = Bench::new();
    bench.write("opwright.toml", "knowledge = [\"more.toml\"]\nbaseline = \"accepted.json\"\n");
    bench.write("more.toml", "packages = [\"more\"]\n");
    bench.write("accepted.json", "{\"version\": 1, \"findings\": []}");
    let native = "#include <torch/library.h>\nTORCH_LIBRARY(serving, m) { m.def(\"rotate(Tensor x) -> Tensor\"); }\n";
    let cache_text = fs::read_to_string(bench.project.path().join("serving/cache.py")).unwrap();
    let same_size = cache_text.replace("cache_ptr", "cashe_ptr");
    let configured = "knowledge = [\"more.toml\"]\nbaseline = \"accepted.json\"\n[levels]\nunregistered-launcher = \"note\"\n";
    let steps: &[Step] = &[
        ("nothing", &|_| ()),
        ("a text of the same size", &|_| bench.write("serving/cache.py", &same_size)),
        ("a new file", &|_| bench.write("serving/new.py", &cache_text)),
        ("a file by another name", &|root| {
            fs::rename(root.join("serving/new.py"), root.join("serving/renamed.py")).unwrap();
        }),
        ("no file", &|root| fs::remove_file(root.join("serving/renamed.py")).unwrap()),
        ("a module that an import names", &|_| {
            bench.write("torch/__init__.py", "empty = None\n")
        }),
        ("a file that git ignores", &|_| bench.write(".gitignore", "torch/\n")),
        ("a level", &|_| bench.write("opwright.toml", configured)),
        ("a requirement", &|_| bench.write("requirements.txt", "torch==2.4.0\n")),
        ("a metadata file", &|root| {
            fs::remove_file(root.join("requirements.txt")).unwrap();
            bench.write("serving.egg-info/requires.txt", "torch==2.5.0\n");
        }),
        ("the length of lines", &|_| bench.write("ruff.toml", "line-length = 60\n")),
        ("knowledge", &|_| bench.write("more.toml", "packages = [\"more\", \"most\"]\n")),
        ("a C++ source", &|_| bench.write("csrc/ops.cpp", native)),
        ("a schema in it", &|_| {
            bench.write("csrc/ops.cpp", &native.replace("Tensor x", "Tensor(a!) x"))
        }),
        ("a baseline", &|_| {
            bench.run(&["baseline", "write"]);
        }),
    ];
    for (what, change) in steps {
        change(bench.project.path());
        let fresh = bench.fresh(CHECK);
        if !bench.packs().is_empty() {
            bench.ruin_pack();
        }
        assert_eq!(bench.run(CHECK), fresh, "{what}");
        assert!(bench.is_analysed(), "{what}");
        bench.ruin_pack();
        assert_eq!(bench.run(CHECK), fresh, "{what}, again");
        assert!(!bench.is_analysed(), "{what}");
    }
    let inside = |args: &[&str]| {
        told(
            &bench
                .command(args)
                .current_dir(bench.project.path().join("serving"))
                .output()
                .unwrap(),
        )
    };
    assert_eq!(inside(&["check"]), inside(&["check", "--no-cache"]));
}

#[test]
fn a_damaged_report_is_made_anew() {
    let bench = Bench::new();
    let fresh = bench.fresh(CHECK);
    bench.run(CHECK);
    let report = bench.kept(&["report"]).pop().unwrap();
    let whole = fs::read(&report).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    let mut other_code = whole.clone();
    other_code[8] ^= 1;
    for bytes in [&changed, &other_code, &whole[..whole.len() - 1].to_vec(), &Vec::new()] {
        fs::write(&report, bytes).unwrap();
        assert_eq!(bench.run(CHECK), fresh);
        assert!(fs::read(&report).unwrap() == whole);
    }
}
