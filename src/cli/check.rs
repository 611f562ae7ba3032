//! `opwright check`: report, show or apply fixes.

use super::args::{Check as Args, Format};
use super::kept::Kept;
use super::{Output, Run, surroundings};
use crate::finding::{Finding, Safety};
use crate::fix::diff;
use crate::pipeline::{self, Applied, Checked, Fixed, Wanted};
use crate::project::{BaselineChoice, Failure, Request, changed, write};
use crate::report::{self, Files, plural, text};
use crate::source::{FileId, Source};
use crate::store::Report;
use crate::suppress::Ignored;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Read};
use std::sync::Arc;

pub(super) fn run(args: &Args, out: &mut Output) -> Result<u8, Failure> {
    let request = request(args)?;
    let mut run = Run::start(&request, None, args.timings)?;
    if args.show_files {
        out.write(&surroundings::files(&run));
        return Ok(0);
    }
    if let Some(revision) = &args.since {
        run.since = Some(changed::since(&run.project.root, revision)?);
    }
    let kept = Kept::of(args, &run);
    if let Some(report) = kept.as_ref().and_then(|kept| kept.read(&run)) {
        return Ok(out.again(&report));
    }
    *out.kept.get_mut() = kept.is_some().then(Vec::new);
    run.open_cache(args.common.cache());
    if args.unsafe_fixes && !args.fix && !args.diff {
        out.complain("opwright: warning: --unsafe changes nothing without --fix or --diff");
    }
    let result = match (args.diff, args.fix) {
        (false, false) => report_only(args, &run, out),
        (true, _) => show_diff(args, &run, out),
        (false, true) => apply(args, &run, out),
    };
    run.finish(out);
    if let (Some(kept), Some(printed), Ok(code)) = (kept, out.kept.take(), &result) {
        kept.write(&Report { printed, code: *code }, &run);
    }
    result
}

fn request(args: &Args) -> Result<Request, Failure> {
    let stdin = match &args.stdin_filename {
        None => None,
        Some(name) => {
            let mut bytes = Vec::new();
            std::io::stdin()
                .read_to_end(&mut bytes)
                .map_err(|e| Failure(format!("cannot read standard input: {e}")))?;
            Some((name.clone(), bytes))
        }
    };
    let (paths, root, style, only) = (args.paths.clone(), args.common.root.clone(), args.style.clone(), args.only.clone());
    Ok(Request {
        paths,
        root,
        style,
        only,
        stdin,
        force_exclude: args.force_exclude,
        baseline: args.baseline.clone().map_or(BaselineChoice::Configured, BaselineChoice::File),
        ..Request::default()
    })
}

fn report_only(args: &Args, run: &Run, out: &mut Output) -> Result<u8, Failure> {
    let checked = pipeline::check(&run.input());
    complain_stale(args, &checked, run, out);
    let shown = shown(checked.findings, run);
    print(args, &shown, &checked.ignored, &run.sources(), run, out);
    if args.show_unknown && is_text(args) {
        out.write(&surroundings::unknown(&checked.program, run));
    }
    if is_text(args) {
        out.write(&text::summary(&shown, run.shown_files()));
        let accepted = checked.accepted.iter().filter(|finding| run.is_reported(finding)).count();
        if accepted > 0 {
            out.write(&format!("{} more in the baseline\n", plural(accepted, "finding")));
        }
    }
    run.keep(&checked.program);
    // The process ends here: giving the memory back piece by piece would only take time.
    std::mem::forget(checked.program);
    Ok(exit_code(args, &shown))
}

/// Entries of the baseline that accept nothing any more would let new findings pass unseen.
fn complain_stale(args: &Args, checked: &Checked, run: &Run, out: &Output) {
    let all: u32 = run.project.settings.accepted.values().sum();
    let stale = (all as usize).saturating_sub(checked.accepted.len());
    if stale > 0 && run.project.settings.only.is_empty() && args.stdin_filename.is_none() {
        let what = plural(stale, "finding");
        out.complain(&format!(
            "opwright: warning: {what} in the baseline, but gone (`opwright baseline prune` forgets what is gone)"
        ));
    }
}

/// Findings in what was named, the important ones first.
fn shown(findings: Vec<Finding>, run: &Run) -> Vec<Finding> {
    let mut shown: Vec<Finding> = findings.into_iter().filter(|f| run.is_reported(f)).collect();
    shown.sort_by(|a, b| {
        b.heat
            .cmp(&a.heat)
            .then((a.place, a.rule, &a.message).cmp(&(b.place, b.rule, &b.message)))
    });
    shown
}

fn print(args: &Args, findings: &[Finding], ignored: &[Ignored], sources: &[Arc<Source>], run: &Run, out: &mut Output) {
    let files = Files {
        sources,
        names: &run.names,
    };
    let colours = run.colours(args.common.color);
    let text = match (args.statistics, args.output_format) {
        (true, Format::Json) => report::json::statistics(findings) + "\n",
        (true, _) => text::statistics(findings),
        (false, Format::Full) if colours && std::io::stdout().is_terminal() => text::linked(&text::full(findings, files, true), findings),
        (false, Format::Full) => text::full(findings, files, colours),
        (false, Format::Concise) => text::concise(findings, files),
        (false, Format::Json) => report::json::render(findings, files) + "\n",
        (false, Format::Sarif) => report::sarif::render(findings, &covered(ignored, run), files) + "\n",
        (false, Format::Github) => report::github::render(findings, files),
        (false, Format::Gitlab) => report::gitlab::render(findings, files) + "\n",
        (false, Format::Junit) => report::junit::render(findings, files),
    };
    out.write(&text);
}

/// Findings in what was named that a comment covers, each with the comment's reason.
fn covered(ignored: &[Ignored], run: &Run) -> Vec<(Finding, String)> {
    let shown = ignored.iter().filter(|ignored| run.is_reported(&ignored.finding));
    shown.map(|ignored| (ignored.finding.clone(), ignored.reason.clone())).collect()
}

fn is_text(args: &Args) -> bool {
    matches!(args.output_format, Format::Full | Format::Concise)
}

fn exit_code(args: &Args, findings: &[Finding]) -> u8 {
    let fails = findings.iter().any(|finding| finding.level >= args.fail_on.level());
    u8::from(fails && !args.exit_zero)
}

/// Fixes in memory. With a text from standard input only that file may change.
fn fix(args: &Args, run: &Run) -> Result<Fixed, Failure> {
    let only = run
        .project
        .files
        .iter()
        .position(|file| run.stdin_path.as_deref() == Some(&*file.path))
        .map(|i| FileId(i as u32));
    let writable = |file: FileId| only.is_none_or(|only| only == file) && run.project.files[file.index()].unreadable.is_none();
    let wanted = Wanted {
        unsafe_too: args.unsafe_fixes,
        reported: &|file| run.is_shown(file) && run.has_changed(file),
        writable: &writable,
    };
    let fixed = pipeline::fix_until_stable(&run.input(), &wanted);
    if !fixed.stable {
        return Err(Failure(
            "the fixes do not come to an end; nothing was changed. This is a fault of opwright: please report it".into(),
        ));
    }
    Ok(fixed)
}

fn show_diff(args: &Args, run: &Run, out: &mut Output) -> Result<u8, Failure> {
    let fixed = fix(args, run)?;
    for (file, after) in &fixed.texts {
        let diff = diff::unified(&run.names[file.index()], &run.project.files[file.index()].source.text, &after.text);
        out.write(&if run.colours(args.common.color) {
            diff::coloured(&diff)
        } else {
            diff
        });
    }
    complain_undone(&fixed.undone, run, out);
    let left = shown(fixed.checked.findings, run);
    out.complain(&done("would fix", &fixed.applied, fixed.texts.len(), &left, args));
    run.keep(&fixed.checked.program);
    let changes = !fixed.applied.is_empty() && !args.exit_zero;
    Ok(exit_code(args, &left).max(u8::from(changes)))
}

fn apply(args: &Args, run: &Run, out: &mut Output) -> Result<u8, Failure> {
    let fixed = fix(args, run)?;
    let mut sources = run.sources();
    for (file, source) in &fixed.texts {
        sources[file.index()] = source.clone();
    }
    let written = if run.stdin_path.is_some() {
        Ok(())
    } else {
        write_all(&fixed, run, out)
    };
    complain_undone(&fixed.undone, run, out);
    let left = shown(fixed.checked.findings, run);
    let summary = done("fixed", &fixed.applied, fixed.texts.len(), &left, args);
    if let Some(path) = &run.stdin_path {
        let text = run
            .project
            .files
            .iter()
            .zip(&sources)
            .find(|(file, _)| file.path == *path)
            .map(|(_, source)| source.text.clone());
        out.write(&text.unwrap_or_default());
        out.complain(&summary);
    } else {
        print(args, &left, &fixed.checked.ignored, &sources, run, out);
        if is_text(args) {
            out.write(&(summary + "\n"));
        } else {
            out.complain(&summary);
        }
    }
    run.keep(&fixed.checked.program);
    written?;
    let changed = args.exit_non_zero_on_fix && !fixed.applied.is_empty();
    Ok(exit_code(args, &left).max(u8::from(changed)))
}

/// Writes the changed files. A file that cannot be written is told, and with it no other file of the same fix is written.
fn write_all(fixed: &Fixed, run: &Run, out: &Output) -> Result<(), Failure> {
    let (mut ready, mut failed) = (BTreeMap::new(), BTreeSet::new());
    for (&file, source) in &fixed.texts {
        match write::prepare(&run.project.root, &run.project.files[file.index()], &source.text) {
            Ok(prepared) => _ = ready.insert(file, prepared),
            Err(why) => {
                out.complain(&format!("opwright: error: {why}"));
                failed.insert(file);
            }
        }
    }
    spread(&mut failed, &fixed.applied);
    for (file, prepared) in ready {
        if failed.contains(&file) {
            let name = &run.names[file.index()];
            out.complain(&format!(
                "opwright: error: {name}: not written: a fix of it changes another file too, which cannot be written"
            ));
        } else if let Err(why) = prepared.write() {
            out.complain(&format!("opwright: error: {why}"));
            failed.insert(file);
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure(format!("{} not written", plural(failed.len(), "file"))))
    }
}

/// Adds every file that a fix changes together with one that failed.
fn spread(failed: &mut BTreeSet<FileId>, applied: &[Applied]) {
    loop {
        let before = failed.len();
        for fix in applied.iter().filter(|fix| !fix.files.is_disjoint(failed)).collect::<Vec<_>>() {
            failed.extend(&fix.files);
        }
        if failed.len() == before {
            return;
        }
    }
}

fn complain_undone(undone: &[Applied], run: &Run, out: &Output) {
    for fix in undone {
        let name = &run.names[fix.file.index()];
        out.complain(&format!(
            "opwright: error: {name}: the fix of {} (\"{}\") would have damaged the file and was undone: please report it",
            fix.rule, fix.title
        ));
    }
}

/// What was done, what is left, how many fixes were held back, and which flag frees them.
fn done(verb: &str, applied: &[Applied], files: usize, left: &[Finding], args: &Args) -> String {
    let mut parts = vec![match applied.len() {
        0 => "nothing to fix".to_string(),
        n => format!("{verb} {} in {}", plural(n, "finding"), plural(files, "file")),
    }];
    parts.push(if left.is_empty() {
        "no findings left".into()
    } else {
        format!("{} left", report::counts(left))
    });
    let held = text::with_fix(left, Safety::Unsafe);
    if held > 0 && !args.unsafe_fixes {
        parts.push(format!("{} held back as unsafe (--unsafe applies them)", plural(held, "fix")));
    }
    let mut text = parts.join("; ");
    for (count, reason) in not_automatic(left) {
        text.push_str(&format!("\n{count:>6}  not automatic: {reason}"));
    }
    text
}

/// Why findings have no fix, and how many for each reason: names left out, most frequent first, at most ten.
fn not_automatic(left: &[Finding]) -> Vec<(usize, String)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let shown = left.iter().filter_map(|f| f.fix.as_ref()).filter(|fix| fix.safety == Safety::Shown);
    for fix in shown {
        // Where not even a part can be an op, that is what stands in the way.
        let part = fix
            .reasons
            .last()
            .and_then(|last| last.strip_prefix("nor can a part of it be an op: "));
        let Some(reason) = part.or(fix.reasons.first().map(String::as_str)) else {
            continue;
        };
        let general: String = reason
            .split('`')
            .enumerate()
            .map(|(i, part)| if i % 2 == 1 { "…" } else { part })
            .collect();
        *counts.entry(general).or_default() += 1;
    }
    let mut rows: Vec<(usize, String)> = counts.into_iter().map(|(reason, count)| (count, reason)).collect();
    rows.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    rows.truncate(10);
    rows
}
