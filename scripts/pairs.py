#!/usr/bin/env python3
"""Times whole runs of `opwright check` beside `ruff check` on the same trees, in turns, and prints medians as ratios.

usage: pairs.py OPWRIGHT RUFF TREE [TREE ...] [--runs 5]

Per tree: CPU seconds (user and system, all threads) and peak memory of
  cold  opwright check --no-cache              beside  ruff check --no-cache --isolated --select E9,F
  warm  opwright check, after one run          beside  ruff check --isolated --select E9,F, after one run
Both parse with the same parser, so ruff is the floor that a reader can relate to; seconds alone say little about another machine.
Exit status: 0, or 2 when a run fails.
"""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile

RUFF = ["check", "--isolated", "--select", "E9,F", "--quiet", "--exit-zero"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("opwright", type=pathlib.Path)
    parser.add_argument("ruff", type=pathlib.Path)
    parser.add_argument("trees", nargs="+", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    ours, theirs = str(args.opwright.resolve()), str(args.ruff)
    print("tree              run   opwright      ruff  ratio    memory  ratio")
    for tree in args.trees:
        with tempfile.TemporaryDirectory() as cache:
            place = {"OPWRIGHT_CACHE_DIR": cache, "RUFF_CACHE_DIR": os.path.join(cache, "ruff")}
            check = [ours, "check", "--exit-zero", "."]
            cold = [check + ["--no-cache"], [theirs, *RUFF, "--no-cache", "."]]
            warm = [check, [theirs, *RUFF, "."]]
            for command in warm:
                run(command, tree, place)
            report(tree, "cold", cold, place, args.runs)
            report(tree, "warm", warm, place, args.runs)


def report(tree, name, commands, place, runs):
    """Runs the commands in turns, so that both meet the same machine."""
    seen = [[], []]
    for _ in range(runs):
        for command, results in zip(commands, seen):
            results.append(run(command, tree, place))
    (ours, theirs), (our_peak, their_peak) = (
        [pick(value) for value in seen]
        for pick in (lambda v: statistics.median(cpu for cpu, _ in v), lambda v: max(peak for _, peak in v))
    )
    print(
        f"{tree.resolve().name[:16]:16}  {name}  {ours:7.2f} s {theirs:7.2f} s  {ours / theirs:5.2f}"
        f"  {our_peak:5.0f} MB  {our_peak / their_peak:5.1f}"
    )


def run(command, tree, place):
    """CPU seconds and peak megabytes of one process."""
    child = os.fork()
    if child == 0:
        os.chdir(tree)
        os.environ.update(place)
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.execv(command[0], command)
    _, status, used = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{' '.join(command)}: exit status {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


if __name__ == "__main__":
    main()
