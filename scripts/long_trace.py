#!/usr/bin/env python3
"""A long trace, made of a real one repeated with new ids and later times.

    long_trace.py SOURCE OUT.json MEGABYTES

Every copy has own correlation ids, External ids, flow ids, Sequence numbers and Python ids, and begins after the one before ended.
"""
import gzip
import json
import pathlib
import sys


def main():
    source, out, size = sys.argv[1], sys.argv[2], int(sys.argv[3]) * 1_000_000
    raw = pathlib.Path(source).read_bytes()
    trace = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    events = trace.pop("traceEvents")
    times = [e["ts"] for e in events if "ts" in e]
    length = max(times) - min(times) + max(e.get("dur", 0) for e in events) + 10
    keys = ("correlation", "External id", "Sequence number", "Python id", "Python parent id", "Ev Idx")
    step = 1 + max([e["args"].get(k) or 0 for e in events if "args" in e for k in keys] + [e["id"] for e in events if "id" in e])
    written = 0
    with open(out, "w", encoding="utf-8") as file:
        written += file.write(json.dumps(trace)[:-1] + ', "traceEvents": [\n')
        copy = 0
        while written < size:
            rows = []
            for event in events:
                event = dict(event)
                if "ts" in event:
                    event["ts"] = round(event["ts"] + copy * length, 3)
                if "id" in event:
                    event["id"] += copy * step
                if "args" in event:
                    args = event["args"] = dict(event["args"])
                    for key in keys:
                        if args.get(key) is not None:
                            args[key] += copy * step
                rows.append(json.dumps(event))
            written += file.write((",\n" if copy else "") + ",\n".join(rows))
            copy += 1
        file.write("\n]}\n")
    print(f"{copy} copies, {copy * len(events)} events, {written} bytes")


if __name__ == "__main__":
    main()
