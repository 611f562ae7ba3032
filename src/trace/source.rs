//! From a Python frame to a function of the project: installed prefixes stripped, lines drifted, code moved.

use super::frames::Framed;
use crate::finding::Finding;
use crate::program::{Func, FunctionRef, Launch, Program};
use crate::source::{FileId, Place};
use std::collections::{BTreeMap, BTreeSet};

/// A function that was found, and how surely. The order is that of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Matched {
    /// Its file and name are the frame's, and it launches the kernel.
    Launcher,
    /// The frame's file, another function that launches the kernel: the launch was moved there.
    File,
    /// The frame's name in another file, and it launches the kernel: the file was moved.
    Function,
    /// The only function that launches the kernel.
    Kernel,
    /// Its file and name are the frame's.
    Frame,
    /// The frame's name, alone in the project, in another file of the same name.
    Moved,
}

impl Matched {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Launcher => "file, function and kernel",
            Self::File => "file and kernel (the launch has moved to another function)",
            Self::Function => "function and kernel (the file has moved)",
            Self::Kernel => "the only launcher of the kernel",
            Self::Frame => "file and function",
            Self::Moved => "function (the file has moved)",
        }
    }
}

/// Where a kernel is launched.
#[derive(Clone, Debug)]
pub struct Located {
    /// The function.
    pub function: FunctionRef,
    /// The launch, else the function's name.
    pub place: Place,
    /// How it was found.
    pub matched: Matched,
    /// Functions that fit as well, but whose lines are farther from the frame's.
    pub others: Vec<FunctionRef>,
}

/// A project, ready to be asked.
pub struct Locator<'a> {
    program: &'a Program,
    /// File name → files.
    files: BTreeMap<&'a str, Vec<FileId>>,
    /// Plain name of a kernel → its launches.
    launches: BTreeMap<&'a str, Vec<(FunctionRef, &'a Launch)>>,
    /// Plain name → functions.
    functions: BTreeMap<&'a str, Vec<FunctionRef>>,
}

impl<'a> Locator<'a> {
    /// Indexes a project.
    pub fn new(program: &'a Program) -> Self {
        let mut locator = Self {
            program,
            files: BTreeMap::new(),
            launches: BTreeMap::new(),
            functions: BTreeMap::new(),
        };
        for (index, file) in program.files.iter().enumerate() {
            let id = FileId(index as u32);
            locator.files.entry(base(&file.source.path)).or_default().push(id);
            for (function, _) in file.facts.functions() {
                let function = FunctionRef { file: id, function };
                locator.functions.entry(program.function_name(function)).or_default().push(function);
            }
        }
        for launch in program.functions.iter().flat_map(|func: &Func| &func.launches) {
            for kernel in &launch.kernels {
                let name = program.function_name(program.kernel(*kernel).function);
                let launches = locator.launches.entry(name).or_default();
                launches.push((launch.function, launch));
                if let Some(via) = launch.via {
                    launches.push((via, launch));
                }
            }
        }
        locator
    }

    /// The function that launched a kernel, from the frames around the launch, innermost first (torch's and Triton's left out).
    pub fn locate(&self, frames: &[Framed], kernel: &str) -> Option<Located> {
        let launches = self.launches_of(kernel);
        let found = |(function, launch, others): (FunctionRef, &Launch, Vec<FunctionRef>), matched| Located {
            function,
            place: if launch.function == function {
                launch.place
            } else {
                self.program.name_place(function)
            },
            matched,
            others,
        };
        let by = |frame: &Framed, fits: &dyn Fn(FunctionRef) -> bool| {
            let fitting: Vec<_> = launches.iter().filter(|(function, _)| fits(*function)).collect();
            let nearest = fitting
                .iter()
                .min_by_key(|(function, _)| (self.distance(*function, frame.line), *function));
            nearest.map(|&&(function, launch)| {
                let others = fitting.iter().filter(|(other, at)| *other != function && at.place != launch.place);
                let others: BTreeSet<FunctionRef> = others.map(|row| row.0).collect();
                (function, launch, others.into_iter().collect())
            })
        };
        let files: Vec<Vec<FileId>> = frames.iter().map(|frame| self.files_of(frame.path)).collect();
        let named = |frame: &Framed, function: FunctionRef| self.program.function_name(function) == frame.function;
        for (frame, files) in frames.iter().zip(&files) {
            if let Some(launcher) = by(frame, &|f| files.contains(&f.file) && named(frame, f)) {
                return Some(found(launcher, Matched::Launcher));
            }
        }
        for (frame, files) in frames.iter().zip(&files) {
            if let Some(launcher) = by(frame, &|f| files.contains(&f.file)) {
                return Some(found(launcher, Matched::File));
            }
        }
        for frame in frames.iter().filter(|frame| frame.function != "<lambda>") {
            if let Some(launcher) = by(frame, &|f| named(frame, f)) {
                return Some(found(launcher, Matched::Function));
            }
        }
        if let [(function, launch)] = launches[..] {
            return Some(found((function, launch, Vec::new()), Matched::Kernel));
        }
        let frame = frames.first()?;
        self.by_frame(frame, &files[0])
    }

    /// The function of a frame, whatever it launches.
    fn by_frame(&self, frame: &Framed, files: &[FileId]) -> Option<Located> {
        let of_name = self.functions.get(frame.function)?;
        let there = of_name.iter().filter(|function| files.contains(&function.file));
        let there: Vec<FunctionRef> = there.copied().collect();
        let nearest = there
            .iter()
            .min_by_key(|function| (self.distance(**function, frame.line), **function));
        let moved = || match of_name[..] {
            [only] if base(&self.program.file(only.file).source.path) == base(frame.path) && !frame.function.starts_with('<') => Some(only),
            _ => None,
        };
        let (function, matched) = match nearest {
            Some(&function) => (function, Matched::Frame),
            None => (moved()?, Matched::Moved),
        };
        Some(Located {
            function,
            place: self.program.name_place(function),
            matched,
            others: there.into_iter().filter(|other| *other != function).collect(),
        })
    }

    /// Launches of a kernel by its name in a trace, which may end in what it was specialised for (`_0d1d2de`).
    fn launches_of(&self, kernel: &str) -> &[(FunctionRef, &'a Launch)] {
        if let Some(launches) = self.launches.get(kernel) {
            return launches;
        }
        let plain = kernel.rsplit_once('_').filter(|(_, end)| {
            end.starts_with(|c: char| c.is_ascii_digit()) && end.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'd' | b'c' | b'e'))
        });
        plain.and_then(|(name, _)| self.launches.get(name)).map_or(&[], |launches| launches)
    }

    /// Files that end like a path does: those with the most folders in common, at least one (or all they have).
    fn files_of(&self, path: &str) -> Vec<FileId> {
        let candidates = self.files.get(base(path)).map_or(&[][..], |files| files);
        let common = |file: &FileId| {
            let own = self.program.file(*file).source.path.rsplit('/');
            own.zip(path.rsplit(['/', '\\'])).take_while(|(a, b)| a == b).count()
        };
        let most = candidates.iter().map(common).max().unwrap_or(0);
        let fitting = candidates.iter().filter(|file| {
            let whole = self
                .program
                .file(**file)
                .source
                .path
                .split('/')
                .count()
                .min(path.split(['/', '\\']).count());
            common(file) == most && (most >= 2 || most == whole)
        });
        fitting.copied().collect()
    }

    /// How far a function's header is from a line of the trace.
    fn distance(&self, function: FunctionRef, line: u32) -> u32 {
        let header = self.program.function(function).header.start;
        self.program.file(function.file).source.line(header).abs_diff(line)
    }
}

fn base(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Rules that speak of how a function stands to the dispatcher, the most telling first.
const TELLING: &[&str] = &[
    "unregistered-launcher",
    "inline-launch",
    "disabled-registration",
    "unrecorded-op",
    "bypassed-op",
    "unregistered-kernel-call",
    "swallowed-registration",
    "library-lifetime",
];

/// The finding about a function: one inside it, at its launch or its name; of several the most telling.
pub fn finding_of<'f>(program: &Program, findings: &'f [Finding], located: &Located) -> Option<&'f Finding> {
    let (file, span) = (located.function.file, program.function(located.function).span);
    let inside = findings
        .iter()
        .filter(|finding| finding.place.file == file && span.contains(finding.place.span));
    let rank = |finding: &Finding| TELLING.iter().position(|rule| *rule == finding.rule).unwrap_or(TELLING.len());
    let at_launch = |finding: &Finding| {
        !finding.place.span.meets(located.place.span) && !finding.labels.iter().any(|label| label.place == located.place)
    };
    let of_function = |finding: &Finding| finding.place != program.name_place(located.function);
    inside
        .filter(|finding| rank(finding) < TELLING.len())
        .min_by_key(|finding| (at_launch(finding) && of_function(finding), rank(finding), finding.place))
}
