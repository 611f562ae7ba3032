//! Lists `rules/frameworks/*.toml`, so that a new framework is a new file there and no Rust.

use std::fmt::Write;
use std::path::Path;
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
}
