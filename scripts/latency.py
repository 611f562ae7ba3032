#!/usr/bin/env python3
"""Time from an edit to the diagnostics that know of it, and resident memory, for language servers on one file of a project.

    scripts/latency.py PROJECT FILE [--edits N] NAME='COMMAND' ...

Each command is a language server over standard input and output. All get the same edits in one run: a character typed into a comment and taken
away again, then a statement in the middle of the file.
"""

import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import time


class Server:
    def __init__(self, command, root, file):
        self.process = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.next, self.version, self.uri = 0, 1, file.as_uri()
        capabilities = {
            "general": {"positionEncodings": ["utf-16"]},
            "workspace": {"diagnostics": {"refreshSupport": True}},
            "textDocument": {"diagnostic": {}},
        }
        folders = [{"uri": root.as_uri(), "name": root.name}]
        self.ask("initialize", {"processId": None, "rootUri": root.as_uri(), "capabilities": capabilities, "workspaceFolders": folders})
        self.tell("initialized", {})
        self.text = file.read_text()
        self.tell("textDocument/didOpen", {"textDocument": {"uri": self.uri, "languageId": "python", "version": 1, "text": self.text}})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def tell(self, method, params):
        self.send({"method": method, "params": params})

    def ask(self, method, params):
        self.next += 1
        self.send({"id": self.next, "method": method, "params": params})
        while True:
            message = self.receive()
            if message.get("id") == self.next and "method" not in message:
                return message.get("result")
            if "method" in message and "id" in message:
                self.send({"id": message["id"], "result": None})

    def receive(self):
        length = 0
        while (line := self.process.stdout.readline().strip()) != b"":
            name, value = line.split(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return json.loads(self.process.stdout.read(length))

    def diagnostics(self):
        return self.ask("textDocument/diagnostic", {"textDocument": {"uri": self.uri}})

    def edit(self, line, column, end, text):
        """Milliseconds until the diagnostics know of an edit."""
        self.version += 1
        spot = {"start": {"line": line, "character": column}, "end": {"line": line, "character": end}}
        document = {"uri": self.uri, "version": self.version}
        start = time.perf_counter()
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [{"range": spot, "text": text}]})
        self.diagnostics()
        return (time.perf_counter() - start) * 1000

    def resident(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def end(self):
        self.ask("shutdown", None)
        self.tell("exit", None)
        self.process.wait(20)


def percentile(times, share):
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("project", type=pathlib.Path)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("servers", nargs="+", metavar="NAME=COMMAND")
    parser.add_argument("--edits", type=int, default=40)
    args = parser.parse_args()
    root, file = args.project.resolve(), args.file.resolve()
    lines = file.read_text().split("\n")
    middle = next(i for i, line in enumerate(lines) if i > len(lines) // 2 and line.startswith("    ") and " = " in line)
    comment = next(i for i, line in enumerate(lines) if line.lstrip().startswith("#"))
    print(f"{file.relative_to(root)}: {len(lines)} lines; {args.edits} edits of each kind")
    for server in args.servers:
        name, command = server.split("=", 1)
        start = time.perf_counter()
        server = Server(command, root, file)
        server.diagnostics()
        print(f"{name:10} first diagnostics {(time.perf_counter() - start) * 1000:8.0f} ms")
        for what, line, text in [("comment", comment, "x"), ("statement", middle, "; y = 1")]:
            times, column = [], len(lines[line].encode("utf-16-le")) // 2
            for number in range(args.edits):
                insert = number % 2 == 0
                times.append(server.edit(line, column, column if insert else column + len(text), text if insert else ""))
                time.sleep(0.05)
            print(f"{name:10} {what:10} median {statistics.median(times):8.1f} ms   p95 {percentile(times, 0.95):8.1f} ms")
        print(f"{name:10} resident {server.resident():8.0f} MiB")
        server.end()


if __name__ == "__main__":
    main()
