//! An ignore comment that ignores nothing, names no rule, or cannot be read.

use super::{Context, Rule};
use crate::finding::Level;

/// The rule. Its findings are made where ignore comments are applied, after all rules have looked.
pub(super) static RULE: Rule = Rule {
    name: "unused-ignore",
    group: "meta",
    summary: "an ignore comment ignores nothing, or cannot be read",
    level: Level::Warning,
    page: include_str!("../../rules/unused-ignore.md"),
    check: after_all_rules,
};

fn after_all_rules(_: &mut Context) {}
