//! What is wrong with a knowledge file: which file, which key, and what was probably meant.

use std::fmt;

/// A knowledge file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The file, as its owner named it.
    pub file: String,
    /// The key or the place (`line 3, column 1`).
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// The known word that is nearest to an unknown one.
    pub suggestion: Option<String>,
}

impl Error {
    pub(super) fn new(file: &str, key: &str, message: &str) -> Self {
        Self {
            file: file.into(),
            key: key.into(),
            message: message.into(),
            suggestion: None,
        }
    }

    /// An error of the TOML reader, syntax or unknown key.
    pub(super) fn toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let message = error.message().trim().to_string();
        let place = error.span().map(|s| place_of(text, s.start)).unwrap_or_default();
        Self {
            suggestion: nearest_known(&message),
            ..Self::new(file, &place, &message)
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.file, self.key, self.message)?;
        match &self.suggestion {
            Some(name) => write!(f, "; did you mean `{name}`?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

fn place_of(text: &str, offset: usize) -> String {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
    format!("line {line}, column {column}")
}

/// From ``unknown field `writs`, expected one of `params`, `writes` ``, the nearest of the expected words.
fn nearest_known(message: &str) -> Option<String> {
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut words = message.split('`').skip(1).step_by(2);
    let unknown = words.next()?;
    words
        .map(|word| (strsim::damerau_levenshtein(unknown, word), word))
        .min()
        .filter(|(distance, word)| *distance <= 1 + word.len() / 3)
        .map(|(_, word)| word.to_string())
}
