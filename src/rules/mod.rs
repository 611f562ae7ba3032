//! The rules: one file each, one page each.

mod hidden_mutation;
mod inline_launch;
mod invalid_op_name;
mod malformed_mutates_args;
mod missing_mutates_arg;
mod ops;
mod returns_alias;
mod schema;
mod spurious_mutates_arg;
mod syntax_error;
mod unannotated_parameter;
mod unregistered_launcher;
mod unsupported_annotation;
mod unsupported_default;
mod unsupported_return;
mod unused_ignore;
mod write_to_maybe_copy;

use crate::finding::{Finding, Level};
use crate::knowledge::Knowledge;
use crate::program::Program;
use crate::rewrite;

/// Identity and check of a rule.
pub struct Rule {
    /// Kebab-case name: identity, page and file stem.
    pub name: &'static str,
    /// The group that it can be selected by.
    pub group: &'static str,
    /// One line, lower case.
    pub summary: &'static str,
    /// The level of its ordinary findings.
    pub level: Level,
    /// Its page.
    pub page: &'static str,
    /// Looks for it.
    pub check: fn(&mut Context),
}

/// What a rule sees, and where it reports.
pub struct Context<'a> {
    /// The linked project.
    pub program: &'a Program,
    /// Other people's APIs.
    pub knowledge: &'a Knowledge,
    /// How fixes are made.
    pub rewrite: &'a rewrite::Options,
    /// What was found.
    pub findings: Vec<Finding>,
}

/// Every rule, in the order of the documentation.
pub static ALL: &[&Rule] = &[
    // registration
    &unregistered_launcher::RULE,
    &inline_launch::RULE,
    // mutation
    &missing_mutates_arg::RULE,
    &spurious_mutates_arg::RULE,
    &malformed_mutates_args::RULE,
    &returns_alias::RULE,
    &write_to_maybe_copy::RULE,
    &hidden_mutation::RULE,
    // schema
    &unannotated_parameter::RULE,
    &unsupported_annotation::RULE,
    &unsupported_default::RULE,
    &unsupported_return::RULE,
    &invalid_op_name::RULE,
    // meta
    &syntax_error::RULE,
    &unused_ignore::RULE,
];

/// Every rule and group name, sorted.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = ALL.iter().flat_map(|rule| [rule.name, rule.group]).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Runs the rules for which `enabled` holds; findings are sorted by (file, start, rule).
pub fn run(program: &Program, knowledge: &Knowledge, rewrite: &rewrite::Options, enabled: impl Fn(&Rule) -> bool) -> Vec<Finding> {
    let mut cx = Context {
        program,
        knowledge,
        rewrite,
        findings: Vec::new(),
    };
    for rule in ALL.iter().filter(|rule| enabled(rule)) {
        (rule.check)(&mut cx);
    }
    cx.findings
        .sort_by(|a, b| (a.place, a.rule, &a.message).cmp(&(b.place, b.rule, &b.message)));
    cx.findings
}
