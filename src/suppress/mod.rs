//! See DESIGN.
