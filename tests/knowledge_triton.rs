//! `rules/knowledge/triton.toml` and the public names of the checked Triton name the same things.

use opwright::knowledge::Knowledge;
use opwright::knowledge::triton::{Derived, Effect};
use std::collections::BTreeSet;

const LIST: &str = include_str!("data/triton_public_names.txt");
const TOML: &str = include_str!("../rules/knowledge/triton.toml");
const LANGUAGE: &str = "triton.language.";
const GLUON: &str = "triton.experimental.gluon.language.";
const VALUES: &[&str] = &[
    "tensor",
    "tensor_descriptor",
    "tensor_descriptor_im2col",
    "shared_memory_descriptor",
    "tensor_memory_descriptor",
    "clc_result",
    "tuple",
];

fn listed() -> impl Iterator<Item = &'static str> {
    LIST.lines().filter(|l| !l.starts_with('#') && !l.is_empty())
}

/// `triton.language.tensor.store` → `store`
fn method(name: &str) -> Option<&str> {
    let (owner, member) = name.rsplit_once('.')?;
    VALUES.contains(&owner.rsplit('.').next()?).then_some(member)
}

#[test]
fn every_public_name_is_classified() {
    let triton = Knowledge::embedded().triton;
    let unknown: Vec<&str> = listed()
        .filter(|name| match method(name) {
            Some(member) => triton.method(member).is_none(),
            None => triton.function(name).is_none(),
        })
        .collect();
    assert!(listed().count() > 500);
    assert_eq!(unknown, Vec::<&str>::new());
}

#[test]
fn every_classified_name_is_public() {
    let triton = Knowledge::embedded().triton;
    let toml: toml::Table = TOML.parse().unwrap();
    let methods: BTreeSet<&str> = listed().filter_map(method).collect();
    let others: BTreeSet<&str> = listed().filter(|n| method(n).is_none()).collect();
    let elsewhere = |table: &str, name: &str| toml[table]["other_versions"].as_table().unwrap().contains_key(name);
    let is_public = |table: &str, name: &str| match table {
        "language" => others.contains(format!("{LANGUAGE}{name}").as_str()),
        "gluon" => others
            .iter()
            .any(|n| n.strip_prefix(GLUON).is_some_and(|n| n == name || n.ends_with(&format!(".{name}")))),
        _ => methods.contains(name),
    };
    let names = triton.names();
    let unknown: Vec<_> = names
        .iter()
        .filter(|(table, name)| !is_public(table, name) && !elsewhere(table, name))
        .collect();
    assert_eq!(unknown, Vec::<&(&str, &str)>::new());
    let needless: Vec<_> = names
        .iter()
        .filter(|(table, name)| is_public(table, name) && elsewhere(table, name))
        .collect();
    assert_eq!(needless, Vec::<&(&str, &str)>::new());
}

#[test]
fn effects_say_what_happens_to_addresses() {
    let triton = Knowledge::embedded().triton;
    let effect = |name: &str| triton.function(name).unwrap();
    assert_eq!(effect("triton.language.store").writes, [0]);
    assert_eq!(effect("triton.language.core.store").writes, [0]);
    assert_eq!(
        (
            effect("triton.language.atomic_add").reads.len(),
            effect("triton.language.atomic_add").writes.len()
        ),
        (1, 1)
    );
    assert_eq!(effect("triton.language.where").result, Derived::From(vec![1, 2]));
    assert_eq!(
        effect("triton.language.make_tensor_descriptor").result,
        Derived::Descriptor(vec![0])
    );
    assert_eq!(*effect("triton.language.extra.cuda.libdevice.rsqrt"), Effect::default());
    assert_eq!(
        effect("triton.experimental.gluon.language.nvidia.hopper.tma.async_store").param("tensor_desc"),
        Some(0)
    );
    assert_eq!(
        effect("triton.experimental.gluon.language.nvidia.hopper.async_store").param("dst"),
        Some(0)
    );
    assert_eq!(effect("triton.experimental.gluon.language.amd.cdna4.buffer_store").writes, [1]);
    assert_eq!(triton.method("scatter").unwrap().writes, [0]);
    assert!(triton.function("triton.language.no_such_name").is_none());
    assert!(triton.makes_descriptor("make_tensor_descriptor").is_some());
    assert!(triton.makes_descriptor("store").is_none());
}

#[test]
fn effects_are_told_as_the_file_writes_them() {
    let knowledge = Knowledge::embedded();
    let told = |name: &str| knowledge.describe(name).unwrap().lines().next().unwrap().to_owned();
    assert_eq!(told("triton.language.atomic_add"), "triton.language.atomic_add(pointer?!)");
    assert_eq!(told("triton.language.where"), "triton.language.where(condition, x, y) -> x, y");
    assert_eq!(
        told("triton.language.make_block_ptr"),
        "triton.language.make_block_ptr(base) -> descriptor base"
    );
    assert_eq!(told("triton.language.reduce"), "triton.language.reduce(input, axis, combine_fn())");
    assert!(told("triton.language.exp").ends_with("no address is read, written or handed on"));
}
