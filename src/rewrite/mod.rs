//! Builds a finding's fix from [`Program`](crate::program::Program) and [`Facts`](crate::facts::Facts).

/// How fixes are made.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Style: `auto`, `custom-op`, `triton-op`, `library`, or a framework's name.
    pub style: String,
    /// Namespace of new ops; empty: the framework's, else the top package.
    pub namespace: String,
    /// Oldest torch that the project supports.
    pub torch: (u32, u32),
}
