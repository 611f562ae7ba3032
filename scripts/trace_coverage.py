#!/usr/bin/env python3
"""Kernel time by class of a profiler trace, computed a second way, to compare with `opwright trace`.

    trace_coverage.py FILE…                       prints the classes of each trace
    trace_coverage.py --check BINARY FILE…        compares them with what the binary says; exit 1 on a difference

It shares nothing with the tool: the whole file is loaded, and each launch looks at every op of its thread. Integers of nanoseconds
are summed, so that totals must be equal, not close. It does not guess about traces that contradict themselves (two calls of one
correlation id): the tool's own tests cover those.
"""
import argparse
import bisect
import collections
import decimal
import gzip
import json
import pathlib
import subprocess
import sys

CLASSES = ("shaped", "unshaped_op", "bypass", "graph", "orphan")


def load(path):
    raw = pathlib.Path(path).read_bytes()
    text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    trace = json.loads(text, parse_float=decimal.Decimal)
    return trace if isinstance(trace, list) else trace["traceEvents"]


def nanoseconds(number):
    return int(decimal.Decimal(number) * 1000)


def spans(events, category):
    """Per thread: (start, end, event), by start, the longer one first."""
    found = collections.defaultdict(list)
    for event in events:
        if event.get("ph") == "X" and event.get("cat") == category:
            start = nanoseconds(event["ts"])
            found[event["pid"], event["tid"]].append((start, start + nanoseconds(event["dur"]), event))
    for rows in found.values():
        rows.sort(key=lambda row: (row[0], -row[1]))
    return found


def innermost(rows, at):
    """The last row to start whose time holds `at`, looking at all that start before."""
    for i in range(bisect.bisect_right(rows, at, key=lambda row: row[0]) - 1, -1, -1):
        if rows[i][1] >= at:
            return rows[i][2]
    return None


def classify(kernel, calls, ops):
    call = calls.get(kernel.get("args", {}).get("correlation"))
    if call is None:
        return "orphan", None, None
    if "graphlaunch" in call["name"].lower():
        return "graph", call, None
    op = innermost(ops.get((call["pid"], call["tid"]), []), nanoseconds(call["ts"]))
    if op is None:
        return "bypass", call, None
    dims = op.get("args", {}).get("Input Dims") or []
    return ("shaped" if any(len(entry) > 0 for entry in dims if isinstance(entry, list)) else "unshaped_op"), call, op


def coverage(events):
    ops = spans(events, "cpu_op")
    calls = {}
    for event in events:
        if event.get("ph") == "X" and event.get("cat") in ("cuda_runtime", "cuda_driver"):
            correlation = event.get("args", {}).get("correlation")
            if correlation in calls:
                print(f"warning: correlation {correlation} twice", file=sys.stderr)
            calls[correlation] = event
    totals = {name: [0, 0] for name in CLASSES}
    rows = collections.Counter()
    for event in events:
        if event.get("ph") != "X" or event.get("cat") != "kernel":
            continue
        name, _, op = classify(event, calls, ops)
        time = nanoseconds(event["dur"])
        totals[name][0] += 1
        totals[name][1] += time
        if name != "shaped":
            rows[name, op and op["name"], event["name"]] += time
    return totals, rows


def told(binary, path):
    out = subprocess.run([binary, "trace", str(path), "--output-format", "json"], check=True, capture_output=True, text=True)
    report = json.loads(out.stdout, parse_float=decimal.Decimal)
    totals = {name: [report["classes"][name]["kernels"], nanoseconds(report["classes"][name]["us"])] for name in CLASSES}
    assert report["kernels"] == sum(t[0] for t in totals.values()), "kernels is not the sum of its classes"
    assert nanoseconds(report["kernel_us"]) == sum(t[1] for t in totals.values()), "kernel_us is not the sum of its classes"
    rows = collections.Counter()
    for row in report["without_shapes"]:
        rows[row["class"], row["op"], row["kernel"]] += nanoseconds(row["us"])
    return totals, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", metavar="BINARY")
    parser.add_argument("--rows", action="store_true", help="print the kernels without shapes")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    wrong = 0
    for path in args.files:
        totals, rows = coverage(load(path))
        line = "  ".join(f"{name} {n}/{us / 1000:.3f}" for name, (n, us) in totals.items())
        verdict = ""
        if args.check:
            same = told(args.check, path) == (totals, rows)
            wrong += not same
            verdict = "equal  " if same else "DIFFERS  "
        print(f"{pathlib.Path(path).name}: {verdict}{line}")
        if args.rows:
            for (name, op, kernel), us in rows.most_common():
                print(f"    {name:12} {us / 1000:12.3f}  {op}  {kernel[:90]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
