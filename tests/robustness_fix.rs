//! Whatever the text, the pipeline answers: no panic, and a fix never adds a syntax error.

#![allow(clippy::unwrap_used)] // a panic is a failed test

#[path = "support/project.rs"]
mod project;

use opwright::pipeline;
use project::TestProject;
use std::path::Path;

/// Numbers that look random and are the same in every run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

fn fixtures() -> Vec<TestProject> {
    ["e2e", "mini_vllm", "mini_sglang"]
        .map(|name| TestProject::at(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name), "library"))
        .into()
}

fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Checks and fixes the project with one text replaced; a fix must not add a syntax error.
fn survives(project: &TestProject, index: usize, text: &str) {
    let files = project.with_text(index, text);
    let before: usize = pipeline::check(&project.input(files.clone()))
        .program
        .files
        .iter()
        .map(|f| f.facts.syntax_errors.len())
        .sum();
    let fixed = project.fix(files, true);
    let after: usize = fixed.checked.program.files.iter().map(|f| f.facts.syntax_errors.len()).sum();
    assert!(after <= before, "a fix added a syntax error to\n{text}");
}

#[test]
fn files_cut_at_every_line() {
    for project in fixtures() {
        for (index, (_, text)) in project.texts().into_iter().enumerate() {
            for (line, (at, _)) in text.match_indices('\n').enumerate() {
                // Every cut is checked; a fix of each would take minutes, so every seventh is.
                if line % 7 == 0 {
                    survives(&project, index, &text[..at]);
                } else {
                    pipeline::check(&project.input(project.with_text(index, &text[..at])));
                }
            }
        }
    }
}

#[test]
fn files_cut_at_random_bytes() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for project in fixtures() {
        for (index, (_, text)) in project.texts().into_iter().enumerate().filter(|(_, (_, text))| !text.is_empty()) {
            for _ in 0..2 {
                let from = boundary(&text, numbers.below(text.len()));
                let to = boundary(&text, from + numbers.below(text.len() - from));
                survives(&project, index, &text[..from]);
                survives(&project, index, &text[from..]);
                survives(&project, index, &format!("{}{}", &text[..from], &text[to..]));
            }
        }
    }
}

#[test]
fn random_bytes_and_characters() {
    let mut numbers = Numbers(7);
    let alphabet: Vec<char> =
        "()[]{}:,.=@#\\\"'\n\r\t  *+-/<>!%^&|~`$?;_aàλ💥0123def lambda class if else for import \u{0}\u{feff}\u{2028}"
            .chars()
            .collect();
    let project = TestProject::of([("ops/x.py", "x = 1\n"), ("ops/y.py", "from .x import x\n")], None);
    for round in 0..150 {
        let length = 1 + round % 200;
        let text: String = (0..length).map(|_| alphabet[numbers.below(alphabet.len())]).collect();
        survives(&project, 0, &text);
    }
}

#[test]
fn bytes_that_are_no_text_are_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.py"), b"x = '\xff\xfe\x00'\n").unwrap();
    std::fs::write(folder.path().join("good.py"), b"x = 1\n").unwrap();
    let found = project::rows(&TestProject::at(folder.path(), "auto").check());
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (found[0].path.as_str(), found[0].rule.as_str(), found[0].level),
        ("bad.py", "syntax-error", "error")
    );
}

#[test]
fn deep_nesting() {
    let deep = 3_000;
    let kernel = "import triton, torch\nimport triton.language as tl\n@triton.jit\ndef k(p):\n    tl.store(p, 1)\n";
    let texts = [
        format!("{kernel}x = {}1{}\n", "(".repeat(deep), ")".repeat(deep)),
        format!("{kernel}x = {}\n", "(".repeat(deep)),
        format!("{kernel}x = {}1{}\n", "[".repeat(deep), "]".repeat(deep)),
        format!("{kernel}x = {}1\n", "-".repeat(deep)),
        format!("{kernel}x = {}1\n", "not ".repeat(deep)),
        format!("{kernel}x = {}1\n", "1 + ".repeat(deep)),
        format!("{kernel}x = {}1\n", "1 ** ".repeat(deep)),
        format!("{kernel}x = y{}\n", ".a".repeat(deep)),
        format!("{kernel}x = y{}\n", "()".repeat(deep)),
        format!("{kernel}x = y{}\n", "[0]".repeat(deep)),
        format!("{kernel}x = {}1\n", "lambda: ".repeat(deep)),
        format!("{kernel}x = {}1\n", "1 if y else ".repeat(deep)),
        format!("{kernel}if y:\n    pass\n{}", "elif y:\n    k[(1,)](x)\n".repeat(deep)),
        format!(
            "{kernel}{}",
            (0..300).map(|n| format!("{}if y:\n", " ".repeat(n))).collect::<String>()
        ),
        format!(
            "{kernel}{}",
            (0..300).map(|n| format!("{}def f(p):\n", " ".repeat(n))).collect::<String>()
        ),
        format!(
            "{kernel}def f(x):\n{}    k[(1,)](x)\n",
            (0..600).map(|n| format!("    x{n} = x{}\n", n.max(1) - 1)).collect::<String>()
        ),
    ];
    let project = TestProject::of([("ops/deep.py", "x = 1\n")], None);
    for text in texts {
        survives(&project, 0, &text);
    }
}

#[test]
fn long_chains_of_calls() {
    let launcher = "import triton, torch\nimport triton.language as tl\n@triton.jit\ndef k(p):\n    tl.store(p, 1)\ndef f0(x: torch.Tensor) -> None:\n    k[(1,)](x)\n";
    let chain: String = (1..3000)
        .map(|n| format!("def f{n}(x: torch.Tensor) -> None:\n    f{}(x)\n", n - 1))
        .collect();
    let ring = "def a(x):\n    b(x)\n    k[(1,)](x)\ndef b(x):\n    c(x)\ndef c(x):\n    a(x)\n";
    let project = TestProject::of([("ops/chain.py", "x = 1\n")], None);
    survives(&project, 0, &format!("{launcher}{chain}"));
    survives(&project, 0, &format!("{launcher}{ring}"));
}

/// What two names may be doubles with each exchange, if each join is looked into anew.
#[test]
fn joins_of_joins() {
    let kernel = "import triton, torch\nimport triton.language as tl\n@triton.jit\ndef k(p):\n    tl.store(p, 1)\n";
    let swaps = "    if c:\n        a, b = b, a\n".repeat(60);
    let uses = "    out = a.new_empty(4)\n    k[(1,)](b)\n    return out\n";
    let project = TestProject::of([("ops/joins.py", "x = 1\n")], None);
    survives(
        &project,
        0,
        &format!("{kernel}def f(a: torch.Tensor, b: torch.Tensor, c: bool) -> torch.Tensor:\n{swaps}{uses}"),
    );
    survives(&project, 0, &format!("{kernel}def f(a, b, c):\n{swaps}{uses}"));
}

#[test]
fn mixed_line_ends_are_kept() {
    let project = fixtures().remove(0);
    let index = project.texts().iter().position(|(path, _)| path.ends_with("pointwise.py")).unwrap();
    let text = project.texts()[index].1.clone();
    for newline in ["\r\n", "\r"] {
        let text = text.replace('\n', newline);
        survives(&project, index, &text);
        let fixed = project.fix(project.with_text(index, &text), false);
        let after: Box<str> = fixed.checked.program.files[index].source.text.clone();
        assert!(*after != *text, "nothing was fixed under {newline:?}");
        assert!(
            !after.replace(newline, "").contains(['\n', '\r']),
            "a foreign line end under {newline:?}:\n{after:?}"
        );
    }
    let mut numbers = Numbers(3);
    let mixed: String = text
        .split('\n')
        .flat_map(|line| [line, ["\n", "\r\n", "\r"][numbers.below(3)]])
        .collect();
    survives(&project, index, &mixed);
}
