//! The inventory as a page: launching functions by folder, by how they stand to the dispatcher.

use super::Run;
use super::inventory::fixes_by_place;
use super::trace::page::{of_finding, of_fix, of_source};
use super::trace::sources::Teller;
use crate::pipeline::Checked;
use crate::program::Func;
use crate::report::html::{Bar, Cell, ClassOf, Column, Detail, Node, Page, Part, Row, Tone};
use crate::report::inventory::{FunctionRow, Inventory};
use std::collections::BTreeMap;

const CLASSES: [(&str, &str, Tone, &str); 5] = [
    ("yes", "registered", Tone::Good, "it implements an op"),
    ("covered", "covered", Tone::Good, "every known caller runs inside a registered op"),
    (
        "recorded",
        "recorded",
        Tone::Info,
        "it runs only inside an autograd.Function, which leaves an event",
    ),
    ("disabled", "disabled", Tone::Warn, "its registrar does nothing"),
    (
        "no",
        "not registered",
        Tone::Bad,
        "it launches past the dispatcher: no shapes in a trace",
    ),
];

/// The page of an inventory.
pub(super) fn page(inventory: &Inventory, checked: &Checked, run: &Run) -> Page {
    let functions = &inventory.functions;
    let of = |class: &str| functions.iter().filter(|row| row.registered == class).count();
    let seen = functions.len() - of("no") - of("disabled");
    let columns = [
        ("function", false),
        ("file", false),
        ("launches", false),
        ("mutates", false),
        ("fix", false),
    ];
    let class = |(key, title, tone, about)| ClassOf { key, title, tone, about };
    let part = |(key, _, _, _): (&'static str, _, _, _)| Part {
        class: key,
        value: of(key) as f64,
        label: of(key).to_string(),
        count: "functions".into(),
    };
    Page {
        title: project_name(run),
        subtitle: format!(
            "{} kernels · {} functions that launch or implement an op · {} ops",
            inventory.kernels.len(),
            functions.len(),
            inventory.ops.len()
        ),
        headline: (
            format!("{:.1} %", seen as f64 * 100.0 / functions.len().max(1) as f64),
            "of launching functions pass the dispatcher".into(),
        ),
        classes: CLASSES.map(class).to_vec(),
        bars: vec![Bar {
            name: String::new(),
            parts: CLASSES.map(part).to_vec(),
        }],
        tree: Some(tree(functions)),
        table_title: "Functions".into(),
        columns: columns.map(|(title, number)| Column { title, number }).to_vec(),
        rows: rows(inventory, checked, run),
        notes: run.project.remarks.clone(),
    }
}

fn project_name(run: &Run) -> String {
    run.project.root.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Rows of what is shown, what is not registered first. The inventory's rows are in the order of `Program::functions`.
fn rows(inventory: &Inventory, checked: &Checked, run: &Run) -> Vec<Row> {
    let teller = Teller::new(run, &checked.program);
    let findings = fixes_by_place(checked);
    let outside = outside(&inventory.functions);
    let shown = checked.program.functions.iter().filter(|func| run.is_shown(func.function.file));
    let mut rows: Vec<Row> = inventory
        .functions
        .iter()
        .zip(shown)
        .map(|(row, func)| {
            let of_function = findings.get(&checked.program.name_place(func.function)).into_iter().flatten();
            let best = of_function.max_by_key(|finding| (finding.fix.is_some(), finding.level));
            let finding = best.map(|finding| teller.finding(finding));
            let mut details = sentences(row, finding.is_some());
            if let Some(finding) = &finding {
                details.extend(of_finding(finding));
            }
            if row.registered == "no" || row.registered == "disabled" {
                details.push(of_source(&teller.source(func.function, place(func, checked), "")));
            }
            details.extend(finding.and_then(|finding| of_fix(finding.fix.as_ref()?)));
            Row {
                class: row.registered,
                cells: cells(row, outside),
                details,
            }
        })
        .collect();
    let order = |row: &Row| CLASSES.iter().rev().position(|class| class.0 == row.class);
    rows.sort_by_key(order);
    rows
}

/// The first launch in it, else its name.
fn place(func: &Func, checked: &Checked) -> crate::source::Place {
    let own = func.launches.iter().find(|launch| launch.function == func.function);
    own.map_or_else(|| checked.program.name_place(func.function), |launch| launch.place)
}

/// Bytes of the folders that all files share, where these lie outside the working directory: in a narrow column they hide the rest.
fn outside(functions: &[FunctionRow]) -> usize {
    let Some(first) = functions.first().map(|row| row.file.as_bytes()) else {
        return 0;
    };
    if !first.starts_with(b"../") && !first.starts_with(b"/") {
        return 0;
    }
    functions.iter().fold(first.len(), |shared, row| {
        let same = first
            .iter()
            .zip(row.file.as_bytes())
            .take(shared)
            .take_while(|(a, b)| a == b)
            .count();
        first[..same].iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1)
    })
}

/// `outside`: bytes of the path that are left out.
fn cells(row: &FunctionRow, outside: usize) -> Vec<Cell> {
    let plain = |name: &String| name.rsplit('.').next().unwrap_or(name).to_string();
    let launches: Vec<String> = row.launches.iter().map(plain).collect();
    let mut mutates = row.mutates.clone();
    mutates.extend(row.mutates_state.iter().cloned());
    mutates.extend(row.unresolved.iter().map(|name| format!("{name}?")));
    vec![
        Cell::text(row.qualname.clone()),
        Cell::text(format!("{}:{}", &row.file[outside..], row.line)),
        Cell::text(launches.join(", ")),
        Cell::text(mutates.join(", ")),
        Cell::text(if row.registered == "no" { row.fix } else { "" }),
    ]
}

fn sentences(row: &FunctionRow, has_finding: bool) -> Vec<Detail> {
    let mut details = Vec::new();
    let mut say = |title: &str, text: String| {
        if !text.is_empty() {
            details.push(Detail::text(title, text));
        }
    };
    say("op", row.op.clone().unwrap_or_default());
    say("registrar", row.registrar.clone().unwrap_or_default());
    say("launches", row.launches.join(", "));
    say("mutates", row.mutates.join(", "));
    say("mutates state", row.mutates_state.join(", "));
    say("not known", row.unresolved.join(", "));
    say("declares", row.declared_mutates.clone().unwrap_or_default().join(", "));
    say("schema", row.schema.clone().unwrap_or_default());
    say("fake", row.fake.clone().unwrap_or_default());
    say(
        "hot",
        if row.hot {
            "reachable from a hot root".into()
        } else {
            String::new()
        },
    );
    if row.registered == "no" && !has_finding {
        say("in the way", row.blockers.join("; "));
    }
    details
}

/// Folders, files, functions; chains of folders with one part are one node.
fn tree(functions: &[FunctionRow]) -> Node {
    let mut root = Folder::default();
    for row in functions {
        let mut folder = &mut root;
        for part in row.file.split('/').filter(|part| *part != "..") {
            folder = folder.parts.entry(part.to_string()).or_default();
        }
        folder.functions.push((row.qualname.clone(), row.registered));
    }
    root.node("all launching functions".into(), 0).0
}

#[derive(Default)]
struct Folder {
    parts: BTreeMap<String, Folder>,
    functions: Vec<(String, &'static str)>,
}

/// Levels that are drawn; what lies deeper belongs to the last.
const LEVELS: usize = 7;

impl Folder {
    /// The folder, and how many of its functions are of each class.
    fn node(self, mut name: String, level: usize) -> (Node, Counts) {
        let mut here = self;
        while here.functions.is_empty() && here.parts.len() == 1 && level > 0 {
            let Some((part, folder)) = here.parts.pop_first() else { break };
            name = format!("{name}/{part}");
            here = folder;
        }
        let mut counts = Counts::default();
        here.functions.iter().for_each(|(_, class)| *counts.entry(class).or_default() += 1);
        let mut parts: Vec<Node> = here.functions.into_iter().map(|(name, class)| leaf(name, class)).collect();
        for (name, folder) in here.parts {
            let (node, of_it) = folder.node(name, level + 1);
            of_it
                .into_iter()
                .for_each(|(class, count)| *counts.entry(class).or_default() += count);
            parts.push(node);
        }
        parts.sort_by(|a, b| {
            b.value
                .total_cmp(&a.value)
                .then_with(|| (a.class, &a.name).cmp(&(b.class, &b.name)))
        });
        let value: f64 = parts.iter().map(|part| part.value).sum();
        let missing = of(&counts, "no") + of(&counts, "disabled");
        let class = class_of(&counts);
        if level + 1 >= LEVELS {
            parts.clear();
        }
        let label = format!("{value} functions, {missing} not registered");
        let node = Node {
            name,
            class,
            value,
            label,
            parts,
        };
        (node, counts)
    }
}

/// Functions by class.
type Counts = BTreeMap<&'static str, usize>;

fn of(counts: &Counts, class: &str) -> usize {
    counts.get(class).copied().unwrap_or(0)
}

/// A folder takes the colour of what most of its functions are; of equals the worst.
fn class_of(counts: &Counts) -> &'static str {
    let keys = CLASSES.iter().map(|class| class.0);
    keys.max_by_key(|key| of(counts, key)).expect("there are classes")
}

fn leaf(name: String, class: &'static str) -> Node {
    let title = CLASSES.iter().find(|row| row.0 == class).map_or(class, |row| row.1);
    Node {
        name,
        class,
        value: 1.0,
        label: title.to_string(),
        parts: Vec::new(),
    }
}
