#!/usr/bin/env bash
# Builds opwright with a profile of its own runs: the release build, a tenth to a sixth less CPU time.
#
# usage: scripts/pgo.sh TREE [TREE ...]     trees of Python to learn from, such as those of scripts/fetch_corpus.py
#
# Builds twice, instrumented and for real, and prints where the binary lies. Needs an `llvm-profdata` that reads what this rustc
# writes: `rustup component add llvm-tools`, or a package `llvm-N` with N >= 19; PROFDATA names another one.
set -euo pipefail
[ "$#" -gt 0 ] || { sed -n '4p' "$0" | cut -c 3- >&2; exit 2; }
trees=()
for tree in "$@"; do
    [ -d "$tree" ] || { echo "$tree: no such folder" >&2; exit 2; }
    trees+=("$(realpath "$tree")")
done
cd "$(dirname "$0")/.."
host=$(rustc -vV | sed -n 's/^host: //p')
own=$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata
profdata=${PROFDATA:-}
for tool in "$own" llvm-profdata-{22,21,20,19}; do
    [ -n "$profdata" ] || ! command -v "$tool" >/dev/null || profdata=$tool
done
[ -n "$profdata" ] || { echo "no llvm-profdata of LLVM 19 or newer: rustup component add llvm-tools" >&2; exit 2; }
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT

# With --target, build scripts and procedural macros are built without the flags.
build() { RUSTFLAGS="${RUSTFLAGS:-} $1" CARGO_TARGET_DIR=$target/$2 cargo build --locked --release --target "$host"; }
build "-Cprofile-generate=$raw" pgo-train
for tree in "${trees[@]}"; do
    "$target/pgo-train/$host/release/opwright" check --no-cache --exit-zero "$tree" >/dev/null
done
"$profdata" merge -o "$raw/merged.profdata" "$raw"/*.profraw
build "-Cprofile-use=$raw/merged.profdata" pgo
echo "$target/pgo/$host/release/opwright"
