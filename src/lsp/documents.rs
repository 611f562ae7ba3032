//! Open buffers: what the editor shows stands for what is on disk.

use super::convert::{self, Encoding};
use crate::source::LineIndex;
use lsp_types::{TextDocumentContentChangeEvent, Uri};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// An open buffer.
#[derive(Clone, Debug)]
pub(super) struct Document {
    /// As the client writes it.
    pub(super) uri: Uri,
    pub(super) version: i32,
    pub(super) text: String,
}

/// All open buffers, by path.
#[derive(Debug, Default)]
pub(super) struct Documents(pub(super) BTreeMap<PathBuf, Document>);

impl Documents {
    pub(super) fn get(&self, path: &Path) -> Option<&Document> {
        self.0.get(path)
    }

    /// Applies changes in their order; `None` for a buffer that is not open.
    pub(super) fn change(
        &mut self,
        path: &Path,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
        encoding: Encoding,
    ) -> Option<&Document> {
        let document = self.0.get_mut(path)?;
        document.version = version;
        for change in changes {
            apply(&mut document.text, change, encoding);
        }
        Some(document)
    }
}

fn apply(text: &mut String, change: TextDocumentContentChangeEvent, encoding: Encoding) {
    let Some(range) = change.range else {
        *text = change.text;
        return;
    };
    let lines = LineIndex::new(text);
    let start = convert::offset(text, &lines, range.start, encoding) as usize;
    let end = convert::offset(text, &lines, range.end, encoding) as usize;
    text.replace_range(start..end.max(start), &change.text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use lsp_types::{Position, Range};

    #[test]
    fn changes_are_applied_in_order() {
        let mut text = String::from("a = '😀'\r\nb");
        let at = |line, character| Position { line, character };
        let mut change = |start, end, new: &str| {
            let event = TextDocumentContentChangeEvent {
                range: Some(Range { start, end }),
                range_length: None,
                text: new.into(),
            };
            apply(&mut text, event, Encoding::Utf16);
            text.clone()
        };
        assert_eq!(change(at(0, 5), at(0, 7), "é"), "a = 'é'\r\nb");
        assert_eq!(change(at(0, 99), at(1, 0), "\n"), "a = 'é'\nb");
        assert_eq!(change(at(9, 0), at(9, 0), "!"), "a = 'é'\nb!");
        assert_eq!(change(at(1, 1), at(0, 0), "?"), "a = 'é'\nb?!");
    }
}
