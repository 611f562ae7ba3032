//! The rules: one file each, one page each.

mod bypassed_op;
mod disabled_registration;
mod duplicate_op;
mod fake_output_mismatch;
mod fake_reads_data;
mod fake_signature_mismatch;
mod hidden_mutation;
mod inline_launch;
mod invalid_op_name;
mod library_lifetime;
mod malformed_mutates_args;
mod missing_fake;
mod missing_mutates_arg;
mod ops;
mod registrations;
mod returns_alias;
mod schema;
mod spurious_mutates_arg;
mod swallowed_registration;
mod syntax_error;
mod unannotated_parameter;
mod unrecorded_op;
mod unregistered_kernel_call;
mod unregistered_launcher;
mod unsupported_annotation;
mod unsupported_default;
mod unsupported_return;
mod unused_ignore;
mod unwrapped_kernel_in_triton_op;
mod write_to_maybe_copy;

use crate::finding::{Finding, Level};
use crate::knowledge::Knowledge;
use crate::program::Program;
use crate::rewrite::{self, Rewrite};
use std::rc::Rc;

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
    /// Makes fixes: what one of them finds out serves the others.
    pub fixer: Rc<Rewrite<'a>>,
    /// Rules that were asked for by their own names.
    pub selected: Vec<&'static str>,
    /// What was found.
    pub findings: Vec<Finding>,
}

impl Context<'_> {
    /// The rule was asked for by its own name.
    pub fn is_selected(&self, rule: &Rule) -> bool {
        self.selected.contains(&rule.name)
    }
}

/// Every rule, in the order of the documentation.
pub static ALL: &[&Rule] = &[
    // registration
    &unregistered_launcher::RULE,
    &unregistered_kernel_call::RULE,
    &inline_launch::RULE,
    &disabled_registration::RULE,
    &unrecorded_op::RULE,
    &bypassed_op::RULE,
    &duplicate_op::RULE,
    &library_lifetime::RULE,
    &swallowed_registration::RULE,
    &unwrapped_kernel_in_triton_op::RULE,
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
    // fake
    &missing_fake::RULE,
    &fake_signature_mismatch::RULE,
    &fake_output_mismatch::RULE,
    &fake_reads_data::RULE,
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

/// Runs the rules for which `enabled` holds; findings are sorted by (file, start, rule). `selected`: it was asked for by its own name.
pub fn run(
    program: &Program,
    knowledge: &Knowledge,
    rewrite: &rewrite::Options,
    enabled: impl Fn(&Rule) -> bool,
    selected: impl Fn(&Rule) -> bool,
) -> Vec<Finding> {
    let mut cx = Context {
        program,
        knowledge,
        rewrite,
        fixer: Rc::new(Rewrite::new(program, knowledge, rewrite)),
        selected: ALL.iter().filter(|rule| selected(rule)).map(|rule| rule.name).collect(),
        findings: Vec::new(),
    };
    for rule in ALL.iter().filter(|rule| enabled(rule)) {
        (rule.check)(&mut cx);
    }
    cx.findings
        .sort_by(|a, b| (a.place, a.rule, &a.message).cmp(&(b.place, b.rule, &b.message)));
    cx.findings
}
