#!/usr/bin/env bash
# Neovim, headless, on a fixture project: a diagnostic is shown, its code action is applied, and the result is what `check --fix` writes.
#   editors/neovim/test.sh target/release/opwright
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "${1:?which opwright?}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$here/../../fixtures/serving" "$work/project"
cp -r "$work/project" "$work/fixed"
(cd "$work/fixed" && "$program" check --fix --exit-zero --no-cache --root . serving/cache.py >/dev/null)
export OPWRIGHT="$program" HERE="$here" FIXED="$work/fixed/serving/cache.py" HOME="$work"
cd "$work/project"
timeout 120 nvim --headless -u NONE -i NONE --cmd "set runtimepath^=$here noswapfile" -c "luafile $here/test.lua" serving/cache.py 2>&1
