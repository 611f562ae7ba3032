//! What a run printed, for a later one that would print the same.
//!
//! `opwright`, the code that made it, its [`Identity`], a checksum, the report. Whatever was cut, changed, written by other code or for
//! another identity is not there.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Names the version and all of its code: see `build.rs`.
const CODE: u64 = super::parse(env!("OPWRIGHT_CODE"));
const MAGIC: &[u8; 8] = b"opwright";
const HEAD: usize = 8 + 8 + 16 + 8;

/// All that a report follows from, as one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity(u128);

impl Identity {
    /// The identity of what is described, every part of it.
    pub fn of(description: &str) -> Self {
        Self(xxh3_128(description.as_bytes()))
    }
}

/// What a run printed, and its exit code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// In the order in which it was printed.
    pub printed: Vec<Printed>,
    /// The exit code.
    pub code: u8,
}

/// A piece of what was printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Printed {
    /// To standard output, as it stands.
    Output(String),
    /// A line to standard error.
    Complaint(String),
}

impl Report {
    /// The report as bytes, for the runs of this identity.
    pub fn to_bytes(&self, of: Identity) -> Option<Vec<u8>> {
        let body = postcard::to_stdvec(self).ok()?;
        let mut bytes = head(of, &body);
        bytes.extend(body);
        Some(bytes)
    }

    /// The report that these bytes hold for the runs of this identity.
    pub fn from_bytes(bytes: &[u8], of: Identity) -> Option<Self> {
        let (start, body) = bytes.split_at_checked(HEAD)?;
        (*start == *head(of, body)).then(|| postcard::from_bytes(body).ok())?
    }
}

fn head(of: Identity, body: &[u8]) -> Vec<u8> {
    let mut head = MAGIC.to_vec();
    head.extend(CODE.to_le_bytes());
    head.extend(of.0.to_le_bytes());
    head.extend(xxh3_64(body).to_le_bytes());
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_comes_back_for_its_own_identity_only_and_whole() {
        let report = Report {
            printed: vec![Printed::Output("a\n".into()), Printed::Complaint("b".into())],
            code: 1,
        };
        let (own, other) = (Identity::of("a"), Identity::of("b"));
        let bytes = report.to_bytes(own).unwrap();
        assert_eq!(Report::from_bytes(&bytes, own), Some(report));
        assert_eq!(Report::from_bytes(&bytes, other), None);
        for at in 0..bytes.len() {
            assert_eq!(Report::from_bytes(&bytes[..at], own), None, "{at}");
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert_eq!(Report::from_bytes(&damaged, own), None, "{at}");
        }
    }
}
