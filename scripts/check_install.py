#!/usr/bin/env python3
"""Tries the wheel as its users do: `scripts/check_install.py WHEEL [--check PROJECT] [--pre-commit PRE_COMMIT]`.

A fresh virtual environment gets the wheel and checks a project; the real pre-commit runs both hooks in a scratch repository, first failing, then fixing,
then passing. pre-commit installs the hooks from a mirror that depends on the wheel, so nothing is compiled.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(*command, cwd=None, code=0):
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    if code is not None and done.returncode != code:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    return done


def repository(folder):
    run("git", "init", "-q", cwd=folder)
    run("git", "add", ".", cwd=folder)
    run("git", "-c", "user.email=t@example.org", "-c", "user.name=t", "commit", "-qm", "first", cwd=folder)


def hooks(pre_commit, wheel, scratch):
    mirror, work = scratch / "mirror", scratch / "work"
    mirror.mkdir()
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", mirror)
    (mirror / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        f'[project]\nname = "mirror"\nversion = "1"\ndependencies = ["opwright @ {wheel.as_uri()}"]\n[tool.setuptools]\npy-modules = []\n'
    )
    repository(mirror)
    shutil.copytree(ROOT / "fixtures/serving", work)
    with open(work / "opwright.toml", "a") as configuration:
        configuration.write('exclude = ["templates"]\n')
    (work / "templates").mkdir()
    shutil.copy(work / "serving/cache.py", work / "templates")
    repository(work)

    def hook(name, code):
        done = run(pre_commit, "try-repo", mirror, name, "--all-files", "--verbose", cwd=work, code=code)
        return done.stdout

    found = hook("opwright", 1)
    assert "unregistered-launcher" in found and "templates" not in found, found
    fixed = hook("opwright-fix", 1)
    assert "files were modified by this hook" in fixed, fixed
    run("git", "add", ".", cwd=work)
    changed = run("git", "diff", "--name-only", "HEAD", cwd=work).stdout.split()
    assert changed == ["serving/cache.py"], changed
    passed = hook("opwright", 0)
    assert "Passed" in passed and "Passed" in hook("opwright-fix", 0), passed
    print("pre-commit: failing, fixing, passing")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--check", type=pathlib.Path)
    parser.add_argument("--pre-commit", type=pathlib.Path)
    args = parser.parse_args()
    wheel = args.wheel.resolve()
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        environment = scratch / "venv"
        venv.create(environment, with_pip=True)
        python = environment / "bin/python"
        run(python, "-m", "pip", "install", "--quiet", "--no-index", wheel)
        version = run(environment / "bin/opwright", "--version").stdout.strip()
        assert run(python, "-m", "opwright", "--version").stdout.strip() == version
        assert f"-{version.split()[1]}-" in wheel.name, (version, wheel.name)
        print(f"pip: {version}")
        if args.check:
            done = run(python, "-m", "opwright", "check", "--statistics", "--no-cache", "--root", ".", cwd=args.check, code=None)
            if done.returncode not in (0, 1):
                sys.exit(done.stderr)
            print(f"check of {args.check.name}: {done.stdout.strip().splitlines()[-1]}")
        if args.pre_commit:
            hooks(args.pre_commit.absolute(), wheel, scratch)


if __name__ == "__main__":
    main()
