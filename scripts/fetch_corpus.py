#!/usr/bin/env python3
"""Fetch real projects to run opwright on, from the Python package index, at pinned versions.

usage: fetch_corpus.py [--dir DIR] [NAME ...]     (default DIR: ~/.cache/opwright/corpus; default NAME: the small ones)

Prints one folder per project. Of each wheel only the Python sources and the metadata are unpacked; a project that is
there already is left alone. Needs pip, and for vllm about 1 GB of free disk while unpacking.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

PINNED = {"liger-kernel": "0.8.5", "fla-core": "0.6.0", "vllm": "0.33.0"}
SMALL = ["liger-kernel", "fla-core"]
KEPT = (".py", "/METADATA")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("~/.cache/opwright/corpus").expanduser())
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PINNED))
    options = parser.parse_args()
    for name in options.names or SMALL:
        if name not in PINNED:
            parser.error(f"unknown project {name}; there are {', '.join(PINNED)}")
        print(fetch(name, options.dir), flush=True)


def fetch(name, folder):
    target = folder / f"{name}-{PINNED[name]}"
    if target.is_dir():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]
        wanted = ["--no-deps", "--only-binary=:all:", "--dest", scratch, f"{name}=={PINNED[name]}"]
        if subprocess.run([*pip, *wanted], stdout=sys.stderr).returncode:
            sys.exit(f"fetch_corpus.py: pip could not download {name}=={PINNED[name]}")
        (wheel,) = pathlib.Path(scratch).glob("*.whl")
        unpacked = pathlib.Path(scratch) / "unpacked"
        unpack(wheel, unpacked)
        try:
            os.rename(unpacked, target)  # whole or not at all
        except OSError:
            if not target.is_dir():  # another run was quicker
                raise
    return target


def unpack(wheel, to):
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            path = to / entry.filename
            if not entry.filename.endswith(KEPT) or not path.resolve().is_relative_to(to.resolve()):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, open(path, "wb") as sink:
                shutil.copyfileobj(source, sink)


if __name__ == "__main__":
    main()
