#!/usr/bin/env python3
"""Judge numbers of a run against bounds; for CI.

usage: judge.py files < check.json          fails when a file did not parse or could not be read
       judge.py NAME>=BOUND ... < figures    the last line of the input is a JSON object: each bound must hold (>=, <=)
"""

import collections
import json
import re
import sys


def files(findings):
    broken = [f"{f['file']}:{f['start']['line']}: {f['message']}" for f in findings if f["rule"] == "syntax-error"]
    rules = collections.Counter((f["rule"], f["level"]) for f in findings)
    print("   " + "; ".join(f"{rule} ({level}) {count}" for (rule, level), count in sorted(rules.items())))
    return broken


def bounds(figures, wanted):
    failed = []
    for text in wanted:
        name, relation, bound = re.fullmatch(r"([\w.]+)([<>]=)([\d.]+)", text).groups()
        value = figures
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        holds = value is not None and (value >= float(bound) if relation == ">=" else value <= float(bound))
        print(f"   {'ok  ' if holds else 'FAIL'} {name} = {value} ({relation} {bound})")
        if not holds:
            failed.append(text)
    return failed


def main(arguments):
    text = sys.stdin.read()
    if not text.strip():
        print("   FAIL nothing to judge: the program before printed nothing")
        return 1
    if arguments == ["files"]:
        failed = files(json.loads(text))
    elif arguments:
        failed = bounds(json.loads(text.strip().splitlines()[-1]), arguments)
    else:
        sys.exit(__doc__)
    for line in failed:
        print(f"   {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
