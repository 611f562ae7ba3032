import assert from "node:assert/strict";
import { test } from "node:test";
import { launches, program, Surroundings } from "../src/server";

function around(changes: Partial<Surroundings>, files: string[] = []): Surroundings {
  return { configured: "", folders: [], home: "/home/me", windows: false, isFile: (path) => files.includes(path), ...changes };
}

test("the configured program wins, its variables filled in", () => {
  const files = ["/home/me/project/.venv/bin/opwright"];
  assert.equal(program(around({ configured: "/opt/opwright", folders: ["/home/me/project"] }, files)), "/opt/opwright");
  assert.equal(program(around({ configured: "~/bin/opwright" })), "/home/me/bin/opwright");
  assert.equal(program(around({ configured: "${workspaceFolder}/bin/o", folders: ["/home/me/project"] })), "/home/me/project/bin/o");
});

test("then that of a virtual environment of the workspace, then that on the path", () => {
  const folders = ["/one", "/two"];
  assert.equal(program(around({ folders }, ["/two/venv/bin/opwright"])), "/two/venv/bin/opwright");
  assert.equal(program(around({ folders })), "opwright");
  const windows = around({ folders: ["C:\\x"], windows: true }, ["C:\\x\\.venv\\Scripts\\opwright.exe"]);
  assert.equal(program(windows), "C:\\x\\.venv\\Scripts\\opwright.exe");
});

test("only a code lens of the server is taken", () => {
  const at = { line: 1, character: 2 };
  const place = { uri: "file:///a.py", range: { start: at, end: at } };
  assert.deepEqual(launches(["file:///k.py", at, [place]]), { uri: "file:///k.py", position: at, places: [place] });
  assert.equal(launches([]), undefined);
  assert.equal(launches(["file:///k.py", at, [{ uri: 3 }]]), undefined);
  assert.equal(launches(["file:///k.py", { line: "1" }, []]), undefined);
});
