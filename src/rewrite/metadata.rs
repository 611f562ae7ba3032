//! What a function returns, as far as metadata goes: how many results, their shapes and dtypes as expressions of its parameters.
//!
//! Everything is "known" or absent. Two functions are compared by evaluating both expressions for several sizes, so that
//! `(n + 7) // 8` and `cdiv(n, 8)` are the same, whatever they are written as.

mod compare;
mod eval;
mod poly;

pub use compare::{Difference, differences};
