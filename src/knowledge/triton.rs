//! What the names of `triton.language` mean.

/// `triton.toml`, read.
#[derive(Debug, Default)]
pub struct Triton {}
