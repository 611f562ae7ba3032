#!/usr/bin/env python3
"""Validates the reports for machines: `scripts/check_formats.py OPWRIGHT [--sarif-schema FILE]`.

SARIF is held against its published schema (for instance the one in the npm package `@microsoft/jest-sarif`), GitLab's and JUnit's reports
against what their specifications ask for.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent

POSITIVE = {"type": "integer", "minimum": 1}
GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^[^/.][^\\\\]*$"},
                    "lines": {"type": "object", "required": ["begin"], "properties": {"begin": POSITIVE, "end": POSITIVE}},
                },
            },
        },
    },
}
# Element → attributes that it must have, attributes that it may have, children that it may have.
JUNIT = {
    "testsuites": ({"name", "tests", "failures", "errors"}, {"time"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors"}, {"time", "timestamp", "hostname"}, {"testcase"}),
    "testcase": ({"name", "classname"}, {"file", "line", "time"}, {"failure", "error", "skipped"}),
    "failure": ({"message", "type"}, set(), set()),
}


def check_junit(element, errors):
    must, may, children = JUNIT[element.tag]
    given = set(element.attrib)
    if must - given or given - must - may:
        errors.append(f"<{element.tag}>: attributes {sorted(given)}")
    for child in element:
        if child.tag not in children:
            errors.append(f"<{child.tag}> in <{element.tag}>")
        else:
            check_junit(child, errors)
    if element.tag in ("testsuites", "testsuite"):
        for attribute, what in (("tests", "testcase"), ("failures", "failure")):
            if int(element.get(attribute)) != len(list(element.iter(what))):
                errors.append(f"<{element.tag}>: {attribute} is {element.get(attribute)}")


def report(program, folder, form):
    run = [program, "check", "--no-cache", "--exit-zero", "--root", ".", "--output-format", form]
    return subprocess.run(run, cwd=folder, check=True, capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("opwright")
    parser.add_argument("--sarif-schema", type=pathlib.Path)
    args = parser.parse_args()
    program = str(pathlib.Path(args.opwright).resolve())
    try:
        import jsonschema
    except ImportError:
        sys.exit("needs the package jsonschema")
    errors, results = [], 0

    def validate(value, schema, what):
        validator = jsonschema.validators.validator_for(schema)(schema)
        errors.extend(f"{what}: {error.json_path}: {error.message[:200]}" for error in validator.iter_errors(value))

    with tempfile.TemporaryDirectory() as scratch:
        odd = pathlib.Path(scratch) / "odd"
        odd.mkdir()
        kernel = "import triton\n\n@triton.jit\ndef k(x):\n    pass\n\n"
        ignore = "def g(x):  # opwright: ignore[registration] it's <wanted> & \"fine\"\n    k[(1,)](x)\n"
        (odd / "a b & ü😀.py").write_text(kernel + "def f(x):\n    k[(1,)](x)\n\n" + ignore)
        (odd / "broken.py").write_text("def f(:\n\x0c\n")
        (odd / "empty").mkdir()
        folders = [ROOT / "fixtures" / name for name in ("serving", "mini_vllm", "mini_sglang")] + [odd, odd / "empty"]
        for folder in folders:
            sarif = json.loads(report(program, folder, "sarif"))
            results += len(sarif["runs"][0]["results"])
            if args.sarif_schema:
                validate(sarif, json.loads(args.sarif_schema.read_text()), f"sarif of {folder.name}")
            validate(json.loads(report(program, folder, "gitlab")), GITLAB, f"gitlab of {folder.name}")
            prints = [row["fingerprint"] for row in json.loads(report(program, folder, "gitlab"))]
            if len(set(prints)) < len(prints):
                errors.append(f"gitlab of {folder.name}: a fingerprint stands twice")
            junit = []
            check_junit(ElementTree.fromstring(report(program, folder, "junit")), junit)
            errors.extend(f"junit of {folder.name}: {error}" for error in junit)
    if errors:
        sys.exit("\n".join(errors))
    sarif = "SARIF, " if args.sarif_schema else ""
    print(f"{sarif}GitLab and JUnit reports of {len(folders)} projects are valid ({results} results)")


if __name__ == "__main__":
    main()
