//! Opwright finds kernel launches that bypass PyTorch's dispatcher, infers what they mutate, and registers them.
//!
//! Four verbs pass three nouns along:
//! text → [`extract`] → [`facts`] → [`link`] → [`program`] → [`rules`] → [`finding`] → [`report`] or [`fix`].

pub mod facts;
pub mod finding;
pub mod program;
pub mod settings;
pub mod source;
pub mod words;

pub mod extract;
pub mod fix;
pub mod link;
pub mod report;
pub mod rewrite;
pub mod rules;
pub mod suppress;
pub mod trace;

pub mod cli;
pub mod knowledge;
pub mod lsp;
pub mod pipeline;
pub mod project;
pub mod store;
