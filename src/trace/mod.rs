//! Reads profiler traces and tells which kernels have shapes, which have not, why, and where they are launched.
//!
//! [`read`] keeps a few words per event ([`Recording`]), [`Coverage`] ties each kernel to its launch and the ops around it,
//! [`Report`] is what the faces print. Values in, values out: whoever opens files calls this.

mod backward;
mod capture;
pub mod compare;
mod coverage;
mod event;
pub mod frames;
mod read;
mod reasons;
mod recording;
pub mod report;
mod scan;
pub mod shapes;
mod sites;
pub mod source;
pub mod text;

pub use capture::Capture;
pub use coverage::{Class, Coverage, Origin};
pub use read::{Unreadable, read};
pub use recording::Recording;
pub use report::Report;
