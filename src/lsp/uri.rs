//! File addresses: `file://` URIs and paths.

use lsp_types::Uri;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The path of a file URI; `None` for what is no file on this machine (an untitled buffer, a notebook cell).
pub(super) fn to_path(uri: &Uri) -> Option<PathBuf> {
    let rest = uri.as_str().strip_prefix("file://")?;
    let path = &rest[rest.find('/')?..];
    let path = path.split(['?', '#']).next().unwrap_or(path);
    let bytes = decoded(path)?;
    Some(crate::project::root::clean(&native(bytes)?))
}

/// The URI of a path; `None` when the path is not absolute.
pub(super) fn of_path(path: &Path) -> Option<Uri> {
    let text = shown(path)?;
    let mut out = String::from("file://");
    if !text.starts_with(b"/") {
        out.push('/');
    }
    for &byte in &text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    Uri::from_str(&out).ok()
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        out.push((digit(bytes.next())? * 16 + digit(bytes.next())?) as u8);
    }
    Some(out)
}

#[cfg(unix)]
fn native(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
}

/// `/c:/x` is `c:/x`.
#[cfg(not(unix))]
fn native(bytes: Vec<u8>) -> Option<PathBuf> {
    let text = String::from_utf8(bytes).ok()?;
    let drive = text.as_bytes().get(2) == Some(&b':');
    Some(PathBuf::from(if drive { &text[1..] } else { &text }))
}

#[cfg(unix)]
fn shown(path: &Path) -> Option<Vec<u8>> {
    use std::os::unix::ffi::OsStrExt;
    path.is_absolute().then(|| path.as_os_str().as_bytes().to_vec())
}

#[cfg(not(unix))]
fn shown(path: &Path) -> Option<Vec<u8>> {
    path.is_absolute().then(|| crate::project::root::slashes(path).into_bytes())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_the_way_there_and_back() {
        for path in ["/a/b.py", "/a b/ü#?%.py", "/a/😀.py"] {
            let uri = of_path(Path::new(path)).unwrap();
            assert_eq!(to_path(&uri).unwrap(), Path::new(path), "{}", uri.as_str());
        }
        assert_eq!(of_path(Path::new("a.py")), None);
    }

    #[test]
    fn what_is_no_file_has_no_path() {
        let path = |text: &str| to_path(&Uri::from_str(text).unwrap());
        assert_eq!(path("untitled:Untitled-1"), None);
        assert_eq!(path("file:///a/../b/c%2Bd.py"), Some(PathBuf::from("/b/c+d.py")));
        assert_eq!(path("file://host/a.py"), Some(PathBuf::from("/a.py")));
    }
}
