//! Edits on texts: which fixes go together, and what the files are afterwards. Knows nothing of ops.

pub mod apply;
pub mod diff;

pub use apply::{Round, choose};
