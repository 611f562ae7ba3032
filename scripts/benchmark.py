#!/usr/bin/env python3
"""Time opwright's stages on a tree, and its CPU time against that of another linter.

usage: benchmark.py OPWRIGHT TREE [--runs N] [--against "COMMAND"]

Runs ``OPWRIGHT check`` on TREE, N times (default 5), and prints the median of each stage's wall time, of the CPU time and the
peak memory. With --against, a command such as "ruff check --no-cache --isolated --select E9,F" runs in turn with
opwright, in the same tree; the last line gives the ratio of the CPU times.
"""

import argparse
import json
import os
import pathlib
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("opwright", type=pathlib.Path)
    parser.add_argument("tree", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--against", type=shlex.split, default=[])
    options = parser.parse_args()
    ours = [str(options.opwright.resolve()), "check", "--no-cache", "--exit-zero", "--timings", "--output-format", "json", "--root", ".", "."]
    mine, theirs, stages = [], [], {}
    for _ in range(options.runs):
        run = measure(ours, options.tree)
        mine.append(run)
        for line in run["stderr"].splitlines():
            words = line.split()
            if len(words) == 3 and words[2] == "ms":
                stages.setdefault(words[0], []).append(float(words[1]))
        if options.against:
            theirs.append(measure([*options.against, "."], options.tree))
    for name, times in stages.items():
        print(f"{name:<10} {statistics.median(times):9.1f} ms")
    report("opwright", mine)
    if theirs:
        report(options.against[0], theirs)
        print(f"ratio of CPU time {median(mine, 'cpu') / median(theirs, 'cpu'):.2f}")


def measure(command, folder):
    """Runs a command in a process of its own, whose children are all its: CPU seconds, wall seconds, peak memory."""
    child = subprocess.run([sys.executable, __file__, "--child", *command], cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(child.stdout)


def be_child(command):
    with tempfile.TemporaryFile("w+") as stderr:
        start = os.times().elapsed
        code = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=stderr).returncode
        wall = os.times().elapsed - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        stderr.seek(0)
        text = stderr.read()
    if code not in (0, 1):
        sys.exit(f"benchmark.py: {command[0]} ended with {code}\n{text}")
    print(json.dumps({"cpu": used.ru_utime + used.ru_stime, "wall": wall, "memory": used.ru_maxrss / 1024, "stderr": text}))


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def report(name, runs):
    cpu = sorted(run["cpu"] for run in runs)
    print(f"{name:<10} CPU {median(runs, 'cpu'):.2f} s ({cpu[0]:.2f} to {cpu[-1]:.2f}), wall {median(runs, 'wall'):.2f} s, {median(runs, 'memory'):.0f} MB")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        be_child(sys.argv[2:])
    else:
        main()
