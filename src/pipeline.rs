//! The verbs in order.
