//! Changed files back to disk: only over the bytes that were read, whole or not at all.

use super::File;
use super::files::reason;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A new text that lies in a temporary file beside its target.
pub struct Prepared {
    name: String,
    target: PathBuf,
    temporary: tempfile::NamedTempFile,
}

/// Writes the new text of a file beside it; says why when the file may not be replaced.
pub fn prepare(root: &Path, file: &File, text: &str) -> Result<Prepared, String> {
    let name = &file.source.path;
    let fail = |why: String| format!("{name}: not written: {why}");
    let target = real_path(root, &file.path).map_err(fail)?;
    let before = std::fs::read(&target).map_err(|e| fail(reason(&e)))?;
    if file.encoding.encode(&file.source.text).as_deref() != Some(&before[..]) {
        return Err(fail("the file has changed since it was read".into()));
    }
    let Some(after) = file.encoding.encode(text) else {
        return Err(fail("the file's declared encoding has no way to write the new text".into()));
    };
    let temporary = write_beside(&target, &after).map_err(|e| fail(reason(&e)))?;
    Ok(Prepared {
        name: name.clone(),
        target,
        temporary,
    })
}

impl Prepared {
    /// Puts the new text in the place of the old one.
    pub fn write(self) -> Result<(), String> {
        let Self { name, target, temporary } = self;
        temporary
            .persist(target)
            .map(|_| ())
            .map_err(|e| format!("{name}: not written: {}", reason(&e.error)))
    }
}

/// The file behind a link, if it is inside the root.
fn real_path(root: &Path, path: &Path) -> Result<std::path::PathBuf, String> {
    let real = path.canonicalize().map_err(|e| reason(&e))?;
    let root = root.canonicalize().map_err(|e| reason(&e))?;
    if real.starts_with(&root) {
        Ok(real)
    } else {
        Err("it is a link to a file outside the project".into())
    }
}

fn write_beside(target: &Path, bytes: &[u8]) -> std::io::Result<tempfile::NamedTempFile> {
    let permissions = std::fs::metadata(target)?.permissions();
    let folder = target.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new().prefix(".opwright-").tempfile_in(folder)?;
    temporary.write_all(bytes)?;
    temporary.as_file().set_permissions(permissions)?;
    temporary.as_file().sync_all()?;
    Ok(temporary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::decode::decode;
    use crate::source::Source;
    use std::sync::Arc;

    fn file(path: &Path) -> File {
        let (text, encoding) = decode(std::fs::read(path).unwrap()).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        File {
            source: Arc::new(Source::new(name, text)),
            path: path.to_path_buf(),
            encoding,
            unreadable: None,
            module: "a".into(),
            is_package: false,
            vendored: false,
            cold: false,
            shown: true,
            named: false,
        }
    }

    fn replace(root: &Path, file: &File, text: &str) -> Result<(), String> {
        prepare(root, file, text)?.write()
    }

    #[test]
    fn only_bytes_as_read_are_replaced_and_permissions_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.py");
        std::fs::write(&path, "x = 1\r\n").unwrap();
        let mut permissions = std::fs::metadata(&path).unwrap().permissions();
        #[cfg(unix)]
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o754);
        std::fs::set_permissions(&path, permissions).unwrap();
        let permissions = std::fs::metadata(&path).unwrap().permissions();
        let read = file(&path);
        replace(folder.path(), &read, "x = 2\r\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"x = 2\r\n");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions(), permissions);
        assert!(replace(folder.path(), &read, "x = 3").unwrap_err().contains("has changed"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_project_are_refused() {
        let outside = tempfile::tempdir().unwrap();
        let inside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("a.py"), "x = 1\n").unwrap();
        let link = inside.path().join("a.py");
        std::os::unix::fs::symlink(outside.path().join("a.py"), &link).unwrap();
        assert!(
            replace(inside.path(), &file(&link), "y")
                .unwrap_err()
                .contains("outside the project")
        );
    }

    #[test]
    fn declared_encodings_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("l.py");
        std::fs::write(&path, b"# coding: latin-1\nx = '\xfc'\n").unwrap();
        let read = file(&path);
        replace(folder.path(), &read, &read.source.text.replace("x =", "y =")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"# coding: latin-1\ny = '\xfc'\n");
        assert!(replace(folder.path(), &file(&path), "€").unwrap_err().contains("encoding"));
    }
}
