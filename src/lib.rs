//! Opwright finds kernel launches that bypass PyTorch's dispatcher, infers what they mutate, and registers them.
//!
//! Four verbs pass three nouns along:
//! text → [`extract`] → [`facts`] → [`link`] → [`program`] → [`rules`] → [`finding`] → [`report`] or [`fix`].

pub mod source;
pub mod facts;
pub mod program;
pub mod finding;
pub mod settings;

pub mod extract;
pub mod link;
pub mod rules;
pub mod suppress;
pub mod rewrite;
pub mod fix;
pub mod report;

pub mod knowledge;
pub mod project;
pub mod pipeline;
pub mod cli;
