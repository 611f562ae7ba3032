//! Lists `rules/frameworks/*.toml`, so that a new framework is a new file there and no Rust; and names the code that makes facts,
//! so that a cache is read by no other: facts, and whole reports.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let folder = Path::new(&root).join("rules/frameworks");
    println!("cargo::rerun-if-changed=rules/frameworks");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("rules/frameworks is a folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".toml").map(String::from))
        .collect();
    names.sort();
    let mut list = String::from("&[\n");
    for name in &names {
        let path = folder.join(format!("{name}.toml"));
        writeln!(list, "    ({name:?}, include_str!({path:?})),").expect("a string takes all");
    }
    list.push(']');
    let out = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("frameworks.rs"), list).expect("cargo made the folder");
    println!("cargo::rustc-env=OPWRIGHT_FORMAT={}", number_of(Path::new(&root), MAKES_FACTS));
    println!("cargo::rustc-env=OPWRIGHT_CODE={}", number_of(Path::new(&root), MAKES_REPORTS));
}

/// All that decides which facts and words a text has, and how they are written.
const MAKES_FACTS: &[&str] = &[
    "src/extract",
    "src/facts",
    "src/facts.rs",
    "src/source.rs",
    "src/store",
    "src/words",
    "src/words.rs",
    "Cargo.lock",
];

/// All that decides what a report says.
const MAKES_REPORTS: &[&str] = &["src", "rules", "build.rs", "Cargo.lock", "Cargo.toml"];

/// A number that is another when the version or these files are others.
fn number_of(root: &Path, names: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut take = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3); // FNV-1a
        }
    };
    take(env::var("CARGO_PKG_VERSION").expect("cargo sets it").as_bytes());
    for name in names {
        println!("cargo::rerun-if-changed={name}");
        for file in files(root.join(name)) {
            take(&fs::read(file).unwrap_or_default());
        }
    }
    hash
}

/// The files in a folder at any depth, or a file itself, sorted.
fn files(path: PathBuf) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(&path) else {
        return vec![path];
    };
    let mut inside: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    inside.sort();
    inside.into_iter().flat_map(files).collect()
}
