//! The language server over connected channels: what no well-behaved client sends, and that edits lead where a check from scratch does.

#![allow(clippy::unwrap_used)] // a panic is a failed test

#[path = "support/project.rs"]
mod project;

use lsp_server::{Connection, Message, Notification, Request, RequestId, Response};
use opwright::pipeline;
use opwright::project::cache::Place;
use project::TestProject;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const KERNEL: &str = "import triton
import triton.language as tl

@triton.jit
def scale_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)
";
const LAUNCHER: &str = "import torch
from kernels import scale_kernel


def scale(x: torch.Tensor, out: torch.Tensor) -> None:
    '''Doubles 😀.'''
    scale_kernel[(1,)](x, out, x.numel(), BLOCK=128)


def twice(x: torch.Tensor, out: torch.Tensor) -> None:
\tscale(x, out); scale(out, out)
";

/// A client, and the server on a thread of its own.
struct Session {
    client: Connection,
    server: std::thread::JoinHandle<bool>,
    folder: tempfile::TempDir,
    cache: tempfile::TempDir,
    next: i32,
}

impl Session {
    fn start(files: &[(&str, &str)], capabilities: Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("opwright.toml"), "").unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let (server, client) = Connection::memory();
        let cache = tempfile::tempdir().unwrap();
        let place = Place::at(cache.path());
        let server = std::thread::spawn(move || opwright::lsp::run(server, Some(place)));
        let mut session = Self {
            client,
            server,
            folder,
            cache,
            next: 0,
        };
        let root = session.uri("");
        let params = json!({ "processId": null, "capabilities": capabilities, "workspaceFolders": [{ "uri": root, "name": "p" }] });
        let result = session.ask("initialize", params).unwrap();
        assert_eq!(result["serverInfo"]["name"], "opwright");
        session.tell("initialized", json!({}));
        session
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn uri(&self, name: &str) -> String {
        format!("file://{}", self.path(name).display()).trim_end_matches('/').to_string()
    }

    fn tell(&self, method: &str, params: Value) {
        let method = method.to_string();
        self.client
            .sender
            .send(Message::Notification(Notification { method, params }))
            .unwrap();
    }

    fn send(&mut self, method: &str, params: Value) -> RequestId {
        self.next += 1;
        let (id, method) = (RequestId::from(self.next), method.to_string());
        let request = Request {
            id: id.clone(),
            method,
            params,
        };
        self.client.sender.send(Message::Request(request)).unwrap();
        id
    }

    fn receive(&self) -> Message {
        self.client
            .receiver
            .recv_timeout(Duration::from_secs(120))
            .expect("the server is alive")
    }

    fn answer(&self, id: &RequestId) -> Result<Value, (i32, String)> {
        loop {
            if let Message::Response(Response { id: of, response_result }) = self.receive()
                && of == *id
            {
                return response_result.map_err(|error| (error.code, error.message));
            }
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<Value, (i32, String)> {
        let id = self.send(method, params);
        self.answer(&id)
    }

    fn open(&self, name: &str, text: &str) {
        let document = json!({ "uri": self.uri(name), "languageId": "python", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }

    fn edit(&self, name: &str, version: i32, changes: Value) {
        let document = json!({ "uri": self.uri(name), "version": version });
        self.tell(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": changes }),
        );
    }

    fn end(mut self) {
        assert_eq!(self.ask("shutdown", Value::Null), Ok(Value::Null));
        self.tell("exit", Value::Null);
        assert!(self.server.join().unwrap());
    }
}

fn pulling(encoding: &str) -> Value {
    json!({
        "general": { "positionEncodings": [encoding] },
        "workspace": { "diagnostics": { "refreshSupport": true } },
        "textDocument": { "diagnostic": {} },
    })
}

#[test]
fn server_and_command_line_share_the_cache() {
    let session = Session::start(&[("kernels.py", KERNEL), ("scale.py", LAUNCHER)], json!({}));
    session.open("scale.py", LAUNCHER);
    let packs = || -> Vec<(PathBuf, Vec<u8>)> {
        let paths = std::fs::read_dir(session.cache.path()).unwrap().map(|entry| entry.unwrap().path());
        let packs = paths.filter(|path| path.extension().is_some_and(|end| end == "main" || end == "recent"));
        packs.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
    };
    // It is written after the first answer.
    let mut waits = 0..600;
    while packs().is_empty() && waits.next().is_some() {
        std::thread::sleep(Duration::from_millis(100));
    }
    let kept = packs();
    assert_eq!(kept.len(), 1);
    let check = std::process::Command::new(env!("CARGO_BIN_EXE_opwright"))
        .args(["check", "--output-format", "concise", "--root", "."])
        .current_dir(session.folder.path())
        .env("OPWRIGHT_CACHE_DIR", session.cache.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(said.contains("unregistered-launcher"), "{said}");
    assert!(packs() == kept);
    session.end();
}

#[test]
fn nonsense_is_refused_and_ends_nothing() {
    let mut session = Session::start(&[("kernels.py", KERNEL), ("scale.py", LAUNCHER)], json!({}));
    session.tell("textDocument/didOpen", json!({ "nonsense": true }));
    session.tell("textDocument/didChange", json!([1, 2]));
    session.tell("$/unheardOf", Value::Null);
    session.edit("never_opened.py", 7, json!([{ "text": "x" }]));
    session.open("scale.py", LAUNCHER);
    let outside = json!({ "start": { "line": 900, "character": 900 }, "end": { "line": 3, "character": 99999 } });
    session.edit("scale.py", 2, json!([{ "range": outside, "text": "\n# end\n" }]));
    let code = |result: Result<Value, (i32, String)>| result.unwrap_err().0;
    assert_eq!(code(session.ask("textDocument/hover", json!({ "nonsense": true }))), -32602);
    assert_eq!(code(session.ask("textDocument/rename", json!({}))), -32601);
    assert_eq!(code(session.ask("$/unheardOf", Value::Null)), -32601);
    let at = json!({ "textDocument": { "uri": "untitled:Untitled-1" }, "position": { "line": 0, "character": 0 } });
    assert_eq!(session.ask("textDocument/hover", at), Ok(Value::Null));
    let at = json!({ "textDocument": { "uri": session.uri("scale.py") }, "position": { "line": 4, "character": 5 } });
    let hover = session.ask("textDocument/hover", at).unwrap();
    assert!(hover["contents"]["value"].as_str().unwrap().contains("writes `out`"), "{hover}");
    session.end();
}

#[test]
fn a_request_that_waits_can_be_canceled() {
    let mut session = Session::start(&[("kernels.py", KERNEL), ("scale.py", LAUNCHER)], json!({}));
    session.open("scale.py", LAUNCHER);
    let at = json!({ "textDocument": { "uri": session.uri("scale.py") }, "position": { "line": 4, "character": 5 } });
    let id = session.send("textDocument/hover", at);
    session.tell("$/cancelRequest", json!({ "id": 2 }));
    assert_eq!(session.answer(&id).unwrap_err().0, -32800);
    session.end();
}

#[test]
fn reading_a_project_shows_progress_that_ends() {
    let session = Session::start(&[("scale.py", LAUNCHER)], json!({ "window": { "workDoneProgress": true } }));
    session.open("scale.py", LAUNCHER);
    let mut kinds = Vec::new();
    while kinds.last().is_none_or(|kind| kind != "end") {
        if let Message::Notification(told) = session.receive()
            && told.method == "$/progress"
        {
            kinds.push(told.params["value"]["kind"].as_str().unwrap().to_string());
        }
    }
    assert_eq!(kinds, ["begin", "end"]);
    session.end();
}

#[test]
fn a_client_that_leaves_without_a_word_is_no_orderly_end() {
    let session = Session::start(&[("kernels.py", KERNEL)], json!({}));
    drop(session.client);
    assert!(!session.server.join().unwrap());
}

/// `xorshift`: the same edits in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

const PIECES: &[&str] = &[
    "",
    "",
    "",
    "\n",
    "    ",
    "#",
    "# a remark\n",
    "'",
    "'''",
    "(",
    ")",
    "x",
    "out",
    "😀",
    "\t",
    ":",
    "@triton.jit\n",
    "return x\n",
    "scale_kernel[(1,)](x, out, 1, BLOCK=4)\n",
    "def f(x):\n",
    "if x:\n    ",
    "    tl.store(x_ptr, 1)\n",
    "# opwright: ignore[unregistered-launcher] no\n",
];

fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

fn position(text: &str, at: usize) -> Value {
    let before = &text[..at];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    json!({ "line": before.matches('\n').count(), "character": before[start..].encode_utf16().count() })
}

/// After each of many random edits the editor shows what a check from scratch finds.
#[test]
fn random_edits_equal_a_check_from_scratch() {
    let edits: i32 = std::env::var("OPWRIGHT_EDITS").map_or(200, |value| value.parse().unwrap());
    let originals = [("kernels.py", KERNEL), ("scale.py", LAUNCHER)];
    let mut texts = originals.map(|(_, text)| text.to_string());
    let mut session = Session::start(&originals, pulling("utf-16"));
    let scratch = TestProject::at(session.folder.path(), "auto");
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    originals.iter().for_each(|(name, text)| session.open(name, text));
    for number in 0..edits {
        let which = random.below(2);
        let text = &texts[which];
        let change = if number % 25 == 0 {
            texts[which] = originals[which].1.to_string();
            json!({ "text": texts[which] })
        } else {
            let start = boundary(text, random.below(text.len() + 1));
            let end = boundary(text, (start + [0, 0, 1, 1, 6, 30][random.below(6)]).min(text.len()));
            let piece = PIECES[random.below(PIECES.len())];
            let range = json!({ "start": position(text, start), "end": position(text, end) });
            texts[which].replace_range(start..end, piece);
            json!({ "range": range, "text": piece })
        };
        session.edit(originals[which].0, number + 2, json!([change]));
        let shown = session.ask("workspace/diagnostic", json!({ "previousResultIds": [] })).unwrap();
        assert_eq!(told(&shown), found(&scratch, &texts), "edit {number}: {texts:#?}");
    }
    session.end();
}

type Row = (String, String, u64, u64, String);

fn told(shown: &Value) -> Vec<Row> {
    let mut rows = Vec::new();
    for item in shown["items"].as_array().unwrap() {
        let name = Path::new(item["uri"].as_str().unwrap())
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned();
        for d in item["items"].as_array().unwrap() {
            let rule = d["code"].as_str().unwrap().to_string();
            let message = d["message"].as_str().unwrap().lines().next().unwrap().to_string();
            let start = &d["range"]["start"];
            rows.push((
                name.clone(),
                rule,
                start["line"].as_u64().unwrap(),
                start["character"].as_u64().unwrap(),
                message,
            ));
        }
    }
    rows.sort();
    rows
}

fn found(project: &TestProject, texts: &[String]) -> Vec<Row> {
    let mut files = project.files();
    for (file, text) in files.iter_mut().zip(texts) {
        file.source = Arc::new(opwright::source::Source::new(file.source.path.clone(), text.as_str()));
    }
    let checked = pipeline::check(&project.input(files));
    let row = |finding: &opwright::finding::Finding| {
        let source = &checked.program.file(finding.place.file).source;
        let (line, start) = (source.line(finding.place.span.start), source.line_start(finding.place.span.start));
        let column = source.text[start as usize..finding.place.span.start as usize]
            .encode_utf16()
            .count();
        let (name, rule) = (source.path.clone(), finding.rule.to_string());
        (
            name,
            rule,
            u64::from(line - 1),
            column as u64,
            finding.message.lines().next().unwrap().to_string(),
        )
    };
    let mut rows: Vec<Row> = checked.findings.iter().map(row).collect();
    rows.sort();
    rows
}
