//! Traces: hostile, cut off and contradictory ones, and a second opinion on the totals.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // a panic is a failed test; a skipped part is told

use opwright::trace::{Capture, Coverage, Recording, Report, read, shapes};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/trace/in/traces").join(name)
}

fn read_bytes(mut bytes: &[u8]) -> Result<Recording, String> {
    read(&mut bytes, &mut |_| ()).map_err(|error| error.to_string())
}

fn report(bytes: &[u8]) -> Result<Report, String> {
    let recording = read_bytes(bytes)?;
    let mut report = Report::new();
    report.add("trace", &Coverage::new(&recording, None));
    Ok(report)
}

/// Kernels and nanoseconds of each class that has any: `bypass 1/2000`.
fn classes(report: &Report) -> String {
    let rows = report.classes.iter().filter(|(_, row)| row.kernels > 0);
    let words: Vec<String> = rows.map(|(name, row)| format!("{name} {}/{}", row.kernels, row.us.0)).collect();
    words.join(", ")
}

/// A call with its kernel of 2 µs.
fn launched(correlation: Value, ts: Value) -> Vec<Value> {
    vec![
        json!({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": ts, "dur": 1,
               "args": {"correlation": correlation}}),
        json!({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 50, "dur": 2, "args": {"correlation": correlation}}),
    ]
}

fn op(name: &str, ts: Value, dur: Value, args: Value) -> Value {
    json!({"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args})
}

fn of(events: Vec<Value>) -> Vec<u8> {
    json!({"record_shapes": 1, "traceEvents": events}).to_string().into_bytes()
}

fn with(events: impl IntoIterator<Item = Value>) -> Vec<u8> {
    of(events.into_iter().chain(launched(json!(5), json!(10))).collect())
}

fn shaped_op() -> Value {
    op(
        "aten::mm",
        json!(5),
        json!(20),
        json!({"Input Dims": [[2, 2]], "Input type": ["float"]}),
    )
}

/// What was tried, and what comes out: totals and, behind `|`, a word of each warning; or an error.
#[test]
fn hostile_traces_are_refused_or_counted() {
    let call = &launched(json!(5), json!(10))[0];
    let mut other_thread = call.clone();
    other_thread["tid"] = json!(2);
    let other_thread = || other_thread.clone();
    let kernel_as = |key: &str, value: Value| {
        let mut events = launched(json!(5), json!(10));
        events[1][key] = value;
        of(events.into_iter().chain([shaped_op()]).collect())
    };
    let raw = |text: &str| text.as_bytes().to_vec();
    let table: Vec<(&str, Vec<u8>, &str)> = vec![
        ("an op around", with([shaped_op()]), "shaped 1/2000"),
        ("no op around", with([]), "bypass 1/2000"),
        ("empty file", raw(""), "error: the file is empty"),
        ("white space only", raw(" \n "), "error: the file is empty"),
        ("text", raw("hello"), "error: not valid JSON at byte 0"),
        ("a number", raw("5"), "error: not valid JSON"),
        ("binary", vec![0, 1, 2, 255], "error: not JSON"),
        ("a byte order mark", [b"\xef\xbb\xbf".to_vec(), with([])].concat(), "bypass 1/2000"),
        ("UTF-16", vec![0xff, 0xfe, b'{', 0], "error: not JSON"),
        ("no traceEvents", raw(r#"{"a": 1}"#), "error: no profiler trace"),
        (
            "traceEvents is an object",
            raw(r#"{"traceEvents": {}}"#),
            "error: not valid JSON at byte 16: expected the list",
        ),
        (
            "traceEvents twice",
            raw(r#"{"traceEvents": [], "traceEvents": []}"#),
            "error: `traceEvents` stands there twice",
        ),
        ("no events", raw(r#"{"traceEvents": []}"#), " | no kernel events"),
        (
            "a bare list",
            serde_json::to_vec(&launched(json!(5), json!(10))).unwrap(),
            "bypass 1/2000",
        ),
        ("text after the end", [with([]), b"x".to_vec()].concat(), "error: not valid JSON"),
        (
            "a missing comma",
            raw(r#"{"traceEvents": [{"ph": "X" "cat": "kernel"}]}"#),
            "expected `,` or `}`",
        ),
        ("a trailing comma", raw(r#"{"traceEvents": [{"ph": "X"},]}"#), "expected a value"),
        (
            "a key without quotes",
            raw(r#"{"traceEvents": [{ph: "X"}]}"#),
            "expected a key in quotes",
        ),
        (
            "brackets crossed",
            raw(r#"{"traceEvents": [{"args": {"a": [1}]}]}"#),
            "expected `,` or `]`",
        ),
        (
            "brackets without end",
            raw(&format!("{{\"traceEvents\": [{}", "[".repeat(100_000))),
            "expected a value less deep",
        ),
        (
            "entries that are no objects",
            with([json!(1), json!("x"), json!([1, {"a": 2}]), json!(null)]),
            "bypass 1/2000 | 4 entries",
        ),
        (
            "NaN and Infinity",
            raw(r#"{"x": NaN, "traceEvents": [{"ph": "X", "args": {"bw": -Infinity, "y": inf}}]}"#),
            " | no kernel events",
        ),
        (
            "a kernel without duration",
            kernel_as("dur", json!(null)),
            " | 1 kernel events without a readable duration: in no figure",
        ),
        (
            "a kernel with a text as duration",
            kernel_as("dur", json!("2")),
            " | 1 kernel events without a readable duration: in no figure",
        ),
        (
            "a kernel with a negative duration",
            kernel_as("dur", json!(-2)),
            " | 1 kernel events without a readable duration: in no figure",
        ),
        (
            "a kernel of 10^300 µs",
            kernel_as("dur", json!(1e300)),
            " | 1 kernel events without a readable duration: in no figure",
        ),
        ("a kernel without args", kernel_as("args", json!(null)), "orphan 1/2000"),
        (
            "a kernel whose args are a list",
            kernel_as("args", json!([5])),
            "orphan 1/2000 | 1 events with a field",
        ),
        (
            "a kernel whose name is a number",
            kernel_as("name", json!(7)),
            "shaped 1/2000 | 1 events with a field, 1 kernel, op or call events without a name",
        ),
        ("a kernel without a time", kernel_as("ts", json!("soon")), "shaped 1/2000"),
        (
            "a correlation id that is text",
            kernel_as("args", json!({"correlation": "5"})),
            "orphan 1/2000 | 1 kernels and calls",
        ),
        (
            "a correlation id that is negative",
            kernel_as("args", json!({"correlation": -5})),
            "orphan 1/2000 | 1 kernels and calls",
        ),
        (
            "a call without a time",
            of(launched(json!(5), json!(null)).into_iter().chain([shaped_op()]).collect()),
            "orphan 1/2000 | 1 runtime calls",
        ),
        (
            "an op without a time",
            with([op("a", json!("x"), json!(9), json!({}))]),
            "bypass 1/2000 | 1 op events without readable times",
        ),
        (
            "an op of negative length",
            with([op("a", json!(9), json!(-9), json!({}))]),
            "bypass 1/2000 | 1 op events without readable times",
        ),
        (
            "Input Dims that is no list",
            with([op("a", json!(9), json!(9), json!({"Input Dims": 3}))]),
            "unshaped_op 1/2000 | 1 op events whose `Input Dims` is no list",
        ),
        (
            "Input Dims of all kinds",
            with([op("a", json!(9), json!(9), json!({"Input Dims": [1, "x", null, {}, []]}))]),
            "unshaped_op 1/2000",
        ),
        (
            "a scalar only",
            with([op(
                "a",
                json!(9),
                json!(9),
                json!({"Input Dims": [[], []], "Input type": ["Scalar", ""]}),
            )]),
            "unshaped_op 1/2000",
        ),
        (
            "a list of tensors",
            with([op(
                "a",
                json!(9),
                json!(9),
                json!({"Input Dims": [[[2], [3]]], "Input type": ["TensorList"]}),
            )]),
            "shaped 1/2000",
        ),
        (
            "an op on another thread",
            with([{
                let mut op = shaped_op();
                op["tid"] = json!(2);
                op
            }]),
            "bypass 1/2000",
        ),
        (
            "an op that ended just before",
            with([op("a", json!(5), json!(4.999), json!({"Input Dims": [[2]]}))]),
            "bypass 1/2000",
        ),
        (
            "an op that ends with the call's start",
            with([op("a", json!(5), json!(5), json!({"Input Dims": [[2]]}))]),
            "shaped 1/2000",
        ),
        (
            "the inner op counts",
            with([shaped_op(), op("in", json!(8), json!(9), json!({}))]),
            "unshaped_op 1/2000",
        ),
        (
            "an inner op that is over does not",
            with([shaped_op(), op("in", json!(6), json!(1), json!({}))]),
            "shaped 1/2000",
        ),
        (
            "ops that cross",
            with([
                op("a", json!(1), json!(8), json!({})),
                op("b", json!(5), json!(50), json!({"Input Dims": [[2]]})),
                op("c", json!(6), json!(2), json!({})),
            ]),
            "shaped 1/2000",
        ),
        ("the same call twice", with([call.clone(), shaped_op()]), "shaped 1/2000"),
        (
            "two calls of one id that disagree",
            with([other_thread(), shaped_op()]),
            "orphan 1/2000 | 1 kernels have a correlation id that several calls share",
        ),
        (
            "begin and end events",
            with([json!({"ph": "B", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1})]),
            "bypass 1/2000 | 1 events of the begin",
        ),
        (
            "a graph",
            of(vec![
                json!({"ph": "X", "cat": "cuda_driver", "name": "cuGraphLaunch", "pid": 1, "tid": 1, "ts": 10, "args": {"correlation": 5}}),
                launched(json!(5), json!(10))[1].clone(),
                shaped_op(),
            ]),
            "graph 1/2000",
        ),
        (
            "thread ids of both kinds",
            with([{
                let mut op = shaped_op();
                op["tid"] = json!("1");
                op
            }]),
            "bypass 1/2000",
        ),
        (
            "ids beyond 64 bits",
            with([op(
                "a",
                json!(9),
                json!(9),
                json!({"External id": 1e30, "Sequence number": 123456789012345678901234567890_f64}),
            )]),
            "unshaped_op 1/2000 | 2 events with an id",
        ),
    ];
    let mut wrong = Vec::new();
    for (name, bytes, want) in table {
        let got = match report(&bytes) {
            Err(error) => format!("error: {error}"),
            Ok(report) => {
                let warnings: Vec<String> = report.warnings.iter().map(|text| text.replace("trace: ", "")).collect();
                format!("{} | {}", classes(&report), warnings.join(", "))
            }
        };
        let fits = match want.split_once(" | ") {
            _ if got.starts_with("error: ") => got.contains(want),
            Some((totals, warnings)) => {
                let (got_totals, got_warnings) = got.split_once(" | ").unwrap();
                let all = warnings.split(", ").all(|part| got_warnings.contains(part));
                got_totals == totals && all
            }
            None => got == format!("{want} | "),
        };
        if !fits {
            wrong.push(format!("{name}:\n  want {want}\n  got  {got}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_trace_that_is_cut_anywhere_is_told_as_far_as_it_goes() {
    let whole = std::fs::read(fixture("before.json")).unwrap();
    let most = report(&whole).unwrap();
    assert!(!most.files[0].cut && most.kernels == 12, "{}", most.kernels);
    let mut last = 0;
    for cut in 0..whole.len() - 1 {
        match report(&whole[..cut]) {
            Err(error) => assert!(error.contains("empty") || error.contains("ends before"), "{cut}: {error}"),
            Ok(part) => {
                assert!(part.files[0].cut || whole[cut..].trim_ascii().is_empty(), "{cut}");
                assert!(part.kernels >= last && part.kernels <= most.kernels, "{cut}");
                assert!(
                    !part.files[0].cut || part.warnings.iter().any(|warning| warning.contains("cut off")),
                    "{cut}"
                );
                last = part.kernels;
            }
        }
    }
    assert_eq!(last, most.kernels);
}

#[test]
fn bytes_that_change_never_panic() {
    let whole = std::fs::read(fixture("before.json")).unwrap();
    let mut state = 7_u64;
    for _ in 0..4000 {
        let mut bytes = whole.clone();
        for _ in 0..3 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (state >> 33) as usize % bytes.len();
            bytes[at] = b"\"\\{}[],:0-9e.xnt\x00\xff"[(state >> 20) as usize % 18];
        }
        if let Ok(report) = report(&bytes) {
            let sum: u64 = report.classes.values().map(|row| row.kernels).sum();
            assert_eq!(sum, report.kernels);
            let ns: i64 = report.classes.values().map(|row| row.us.0).sum();
            assert_eq!(ns, report.kernel_us.0);
        }
    }
}

#[test]
fn order_of_keys_and_events_and_the_window_do_not_matter() {
    let whole = std::fs::read(fixture("before.json")).unwrap();
    let want = report(&whole).unwrap().json();
    let mut trace: Value = serde_json::from_slice(&whole).unwrap();
    // serde_json sorts keys: `args` stands before `cat` and `ph` then.
    let bytes = |trace: &Value| serde_json::to_vec(trace).unwrap();
    let same = |bytes: &[u8]| {
        let size = |text: &str| {
            text.lines()
                .filter(|line| !line.contains("\"bytes\""))
                .map(str::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(size(&report(bytes).unwrap().json()), size(&want));
    };
    same(&bytes(&trace));
    trace["traceEvents"].as_array_mut().unwrap().reverse();
    same(&bytes(&trace));

    struct Slow<'a>(&'a [u8]);
    impl std::io::Read for Slow<'_> {
        fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
            let count = bytes.len().min(self.0.len()).min(7);
            bytes[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }
    let recording = read(&mut Slow(&whole), &mut |_| ()).unwrap();
    let mut slow = Report::new();
    slow.add("trace", &Coverage::new(&recording, None));
    assert_eq!(slow.json(), want);
}

/// Rows of `--shapes`.
fn shapes_of(bytes: &[u8], capture: Option<&[u8]>) -> Value {
    let recording = read_bytes(bytes).unwrap();
    let capture = capture.map(|bytes| Capture::new(&read_bytes(bytes).unwrap()));
    let mut out = Vec::new();
    shapes::write(&mut out, "trace", &Coverage::new(&recording, capture)).unwrap();
    serde_json::from_slice(&out).unwrap()
}

fn numbered(name: &str, tid: u32, ts: u32, sequence: u32, thread: u32, rows: u32) -> Value {
    json!({"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": 8,
           "args": {"Sequence number": sequence, "Fwd thread id": thread, "Input Dims": [[rows, 2]], "Input type": ["float"]}})
}

fn node(name: &str, tid: u32, ts: u32, sequence: u32, thread: u32) -> Value {
    json!({"ph": "X", "cat": "cpu_op", "name": format!("autograd::engine::evaluate_function: {name}"), "pid": 1, "tid": tid, "ts": ts, "dur": 8,
           "args": {"Sequence number": sequence, "Fwd thread id": thread}})
}

fn arrow(id: u32, from: (u32, u32), to: (u32, u32)) -> [Value; 2] {
    let end =
        |ph: &str, (tid, ts): (u32, u32)| json!({"ph": ph, "id": id, "pid": 1, "tid": tid, "ts": ts, "cat": "fwdbwd", "name": "fwdbwd"});
    [end("s", from), end("f", to)]
}

#[test]
fn backward_events_have_their_forward_shapes_or_none() {
    let rows = |events: Vec<Value>| -> Vec<String> {
        let mut rows = shapes_of(&of(events), None)["backward"].as_array().unwrap().clone();
        rows.sort_by_key(|row| row["ts"].as_f64().unwrap() as i64);
        let word = |row: &Value| match row["from"].as_str() {
            Some(from) => format!("{from} {}", row["shapes"]),
            None => row["why_not"].as_str().unwrap().split(':').next().unwrap().to_string(),
        };
        rows.iter().map(word).collect()
    };
    // Of ops with one number the last to start is right; the arrow says which where it is there.
    let forward = [numbered("aten::linear", 1, 10, 3, 0, 4), numbered("aten::addmm", 1, 12, 3, 0, 5)];
    let backward = [node("AddmmBackward0", 2, 100, 3, 1), numbered("AddmmBackward0", 2, 101, 3, 1, 9)];
    let both = || forward.iter().chain(&backward).cloned().collect::<Vec<_>>();
    assert_eq!(rows(both()), ["sequence [[5,2]]"]);
    assert_eq!(rows([both(), arrow(1, (1, 10), (2, 101)).to_vec()].concat()), ["flow [[4,2]]"]);
    // Two arrows of one id lead nowhere.
    let twice = [arrow(1, (1, 10), (2, 101)), arrow(1, (1, 12), (7, 7))].concat();
    assert_eq!(rows([both(), twice].concat()), ["sequence [[5,2]]"]);
    // A forward of the next step has a later start than the backward.
    assert_eq!(
        rows([both(), vec![numbered("aten::mm", 1, 500, 3, 0, 7)]].concat()),
        ["sequence [[5,2]]"]
    );
    // Another thread's forward is not in the trace: its numbers are its own.
    let other = vec![node("MulBackward0", 2, 200, 3, 2)];
    assert_eq!(
        rows([both(), other].concat()),
        [
            "sequence [[5,2]]",
            "the forward ran on a thread that the trace does not identify, and there is no arrow"
        ]
    );
    // No forward has the number; no number at all.
    let mut none = node("torch::autograd::AccumulateGrad", 2, 300, 0, 0);
    none["args"] = json!({});
    assert_eq!(
        rows([both(), vec![node("CopySlices", 2, 200, 77, 1), none]].concat())[1..],
        [
            "no forward op in the trace has its Sequence number, and there is no arrow".to_string(),
            "the backward node has no Sequence number and no arrow".to_string()
        ]
    );
    // A node of second order: its forward lies inside a backward node.
    let mut outer = node("MulBackward0", 1, 40, 8, 1);
    outer["dur"] = json!(30);
    let second = vec![
        numbered("aten::mul", 1, 20, 8, 0, 2),
        outer,
        numbered("aten::mul", 1, 50, 9, 0, 6),
        node("MulBackward0", 1, 100, 9, 1),
    ];
    assert_eq!(rows(second), ["sequence [[2,2]]", "sequence [[6,2]]"]);
}

#[test]
fn replayed_kernels_take_shapes_from_the_capture_if_it_is_clear_which() {
    let capture = std::fs::read(fixture("capture.json")).unwrap();
    let told = shapes_of(&std::fs::read(fixture("before.json")).unwrap(), Some(&capture));
    let graph = told["kernels"].as_array().unwrap().iter().filter(|row| row["class"] == "graph");
    let words: Vec<String> = graph
        .map(|row| format!("{} {} {}", row["kernel"], row["from"], row["of"]))
        .collect();
    assert_eq!(
        words,
        [
            r#""gemm_kernel" "capture" "aten::addmm""#,
            r#""bias_kernel" "capture" "aten::addmm""#,
            r#""_scale_kernel" "capture" "demo::scale""#
        ]
    );
    // Alone, `gemm_kernel` was captured with two shapes: neither is taken.
    let replay = of(vec![
        json!({"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 1, "tid": 1, "ts": 1, "args": {"correlation": 1}}),
        json!({"ph": "X", "cat": "kernel", "name": "gemm_kernel", "pid": 0, "tid": 7, "ts": 2, "dur": 2,
               "args": {"correlation": 1, "grid": [8, 1, 1], "block": [128, 1, 1]}}),
    ]);
    assert_eq!(shapes_of(&replay, Some(&capture))["kernels"][0]["from"], Value::Null);
    // That is said.
    let recording = read_bytes(&replay).unwrap();
    let mut report = Report::new();
    report.add(
        "trace",
        &Coverage::new(&recording, Some(Capture::new(&read_bytes(&capture).unwrap()))),
    );
    assert!(
        report.warnings[0].contains("the shapes of none of the replayed kernels"),
        "{:?}",
        report.warnings
    );
}

fn opwright(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_opwright"))
        .env("OPWRIGHT_CACHE_DIR", "")
        .args(args)
        .output()
        .unwrap()
}

#[test]
fn gzip_that_is_cut_is_told_and_gzip_that_is_damaged_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(fixture("before.json")).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&whole).unwrap();
    let packed = encoder.finish().unwrap();
    let run = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let out = opwright(&["trace", path.to_str().unwrap(), "--output-format", "json"]);
        let report: Value = serde_json::from_slice(&out.stdout).unwrap_or(Value::Null);
        (out.status.code(), report, String::from_utf8_lossy(&out.stderr).into_owned())
    };
    let (code, want, _) = run("whole.json.gz", &packed);
    assert_eq!((code, want["kernels"].as_u64()), (Some(0), Some(12)));
    // The name does not matter, nor that the parts were packed one by one.
    assert_eq!(run("whole.trace", &packed).1["classes"], want["classes"]);
    let mut cuts = 0;
    for cut in (20..packed.len()).step_by(packed.len() / 12) {
        let (code, report, errors) = run("cut.json.gz", &packed[..cut]);
        match code {
            Some(0) => {
                cuts += 1;
                assert!(report["files"][0]["cut"] == true && report["kernels"].as_u64() <= Some(12));
            }
            _ => assert!(errors.contains("ends before") || errors.contains("empty"), "{errors}"),
        }
    }
    assert!(cuts > 3);
    for at in (30..packed.len()).step_by(packed.len() / 16) {
        let mut damaged = packed.clone();
        damaged[at] ^= 0x55;
        let (code, report, errors) = run("damaged.json.gz", &damaged);
        let cut = report["files"][0]["cut"] == true;
        assert!(
            code == Some(2) && !errors.is_empty() || cut || report["classes"] == want["classes"],
            "{at}: {code:?} {errors}"
        );
    }
}

#[test]
fn pages_are_whole_and_fetch_nothing() {
    let (before, after) = (fixture("before.json"), fixture("after.json"));
    let (before, after) = (before.to_str().unwrap(), after.to_str().unwrap());
    let source = fixture("..");
    for args in [
        vec!["trace", before, "--source", source.to_str().unwrap(), "--output-format", "html"],
        vec!["trace", before, after, "--output-format", "html"],
        vec!["inventory", source.to_str().unwrap(), "--output-format", "html"],
    ] {
        let out = opwright(&args);
        let page = String::from_utf8(out.stdout).unwrap();
        assert_eq!(out.status.code(), Some(0));
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
        assert!(!page.contains("{{") && !page.contains("http://") && !page.contains("src="));
        assert!(page.contains("_scale_kernel"));
    }
}

/// `scripts/trace_coverage.py` computes the classes in another way. It needs Python; further traces are taken from the folder that
/// `OPWRIGHT_TRACES` names.
#[test]
fn totals_equal_an_independent_computation() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/trace_coverage.py");
    if !Command::new("python3")
        .arg("--version")
        .output()
        .is_ok_and(|out| out.status.success())
    {
        eprintln!("skipped: no python3 on this machine");
        return;
    }
    let mut files = vec![fixture("before.json"), fixture("after.json")];
    match std::env::var_os("OPWRIGHT_TRACES") {
        None => eprintln!("only the project's own traces: OPWRIGHT_TRACES names no folder with others"),
        Some(folder) => {
            let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            let mut more: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().ends_with(".json.gz")).collect();
            more.sort();
            files.append(&mut more);
        }
    }
    let mut command = Command::new("python3");
    command.arg(script).arg("--check").arg(env!("CARGO_BIN_EXE_opwright")).args(&files);
    let out = command.output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(
        out.status.success() && text.matches("equal").count() == files.len(),
        "{text}{}",
        String::from_utf8_lossy(&out.stderr)
    );
}
