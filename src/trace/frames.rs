//! Names of Python frames: `path/file.py(12): function`.

/// A frame of a Python file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framed<'a> {
    /// The path, as the profiler wrote it.
    pub path: &'a str,
    /// The line of `def` (of the first decorator, if there is one).
    pub line: u32,
    /// The function's plain name.
    pub function: &'a str,
}

/// Reads a frame's name; `None` for `<built-in …>`, `nn.Module: …` and the like.
pub fn parse(name: &str) -> Option<Framed<'_>> {
    let (place, function) = name.rsplit_once("): ")?;
    let (path, line) = place.rsplit_once('(')?;
    let line = line.parse().ok()?;
    let is_file = !path.is_empty() && !path.starts_with('<');
    is_file.then_some(Framed { path, line, function })
}

/// A frame's name where room is scarce: its file with the last folder only.
pub fn short(name: &str) -> String {
    let Some(frame) = parse(name) else { return name.to_string() };
    let folders = frame.path.rmatch_indices(['/', '\\']).nth(1);
    let path = folders.map_or(frame.path, |(at, _)| &frame.path[at + 1..]);
    format!("{path}({}): {}", frame.line, frame.function)
}

/// Parts of torch and Triton that only pass a call on. A frame in one of them tells nothing of who launched.
const PASSING: &[&str] = &[
    "triton/runtime/",
    "triton/backends/",
    "triton/compiler/",
    "triton/knobs.py",
    "triton/testing.py",
    "contextlib.py",
    "functools.py",
    "threading.py",
    "runpy.py",
    "multiprocessing/",
    "concurrent/futures/",
    "importlib/",
];

/// Whether a frame belongs to torch, Triton or Python itself.
pub fn is_passing(frame: &Framed) -> bool {
    let path = frame.path;
    let torch = path.starts_with("torch/") || path.contains("-packages/torch/") || path.contains("/torch/nn/modules/");
    torch || PASSING.iter().any(|part| at_folder(path, part).is_some())
}

/// Where `part` stands in a path, at the beginning or behind a slash.
pub fn at_folder(path: &str, part: &str) -> Option<usize> {
    path.match_indices(part)
        .map(|(at, _)| at)
        .find(|&at| at == 0 || path.as_bytes()[at - 1] == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_files_are_told_from_others() {
        let frame = parse("/a (b)/c.py(12): f").unwrap();
        assert_eq!((frame.path, frame.line, frame.function), ("/a (b)/c.py", 12, "f"));
        assert_eq!(parse("t.py(1): <lambda>").unwrap().function, "<lambda>");
        for other in [
            "<built-in function launch>",
            "nn.Module: Linear_0",
            "<string>(1): f",
            "a.py(x): f",
            "",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_short_frame_keeps_its_file_and_function() {
        assert_eq!(short("/srv/a/b/c.py(12): f"), "b/c.py(12): f");
        assert_eq!(short("b/c.py(12): f"), "b/c.py(12): f");
        assert_eq!(short("C:\\x\\y\\c.py(1): <lambda>"), "y\\c.py(1): <lambda>");
        assert_eq!(short("<built-in function launch>"), "<built-in function launch>");
    }

    #[test]
    fn torch_and_triton_only_pass_a_call_on() {
        let passing = |name: &str| is_passing(&parse(name).unwrap());
        assert!(passing("triton/runtime/jit.py(419): <lambda>"));
        assert!(passing("/opt/x/python/triton/backends/amd/driver.py(831): __call__"));
        assert!(passing("torch/_ops.py(1): __call__") && passing("/usr/lib/python3/dist-packages/torch/a.py(1): f"));
        assert!(!passing("sglang/srt/layers/triton/a.py(1): f"));
        assert!(!passing("/tmp/torchinductor_me/ab/cab.py(1): call"));
    }
}
