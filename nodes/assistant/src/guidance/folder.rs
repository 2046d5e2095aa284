//! Files below a folder, which no link leads out of.

use std::io::{self, Read};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

/// A folder that is open. Paths are relative to it.
pub(crate) struct Folder(Dir);

/// The text of a file.
pub(crate) struct FileText {
    pub(crate) text: String,
    /// `true` if the file is longer than the text.
    pub(crate) is_cut: bool,
}

impl Folder {
    /// Opens a folder; `None` if there is none.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        present(Dir::open_ambient_dir(path, ambient_authority())).map(|dir| dir.map(Self))
    }

    /// Reads a text, up to so many bytes; `None` if there is none. A link that leads out of the folder is an error, and
    /// so is what is no file, such as a pipe.
    pub(crate) fn text(&self, path: &str, most: usize) -> io::Result<Option<FileText>> {
        let Some(mut bytes) = self.bytes(path, most + 1)? else { return Ok(None) };
        let is_cut = bytes.len() > most;
        bytes.truncate(most);
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if is_cut {
            // The cut may be inside of a character.
            text.truncate(text.trim_end_matches(char::REPLACEMENT_CHARACTER).len());
        }
        Ok(Some(FileText { text, is_cut }))
    }

    /// Reads a file as [`text`](Self::text) does, as bytes.
    pub(crate) fn bytes(&self, path: &str, most: usize) -> io::Result<Option<Vec<u8>>> {
        // Opening a pipe without a writer would block.
        let Some(metadata) = present(self.0.metadata(path))? else { return Ok(None) };
        if !metadata.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        let Some(file) = present(self.0.open(path))? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(most as u64).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Returns the names in a folder, in order; none if there is no such folder.
    pub(crate) fn names(&self, path: &str) -> io::Result<Vec<String>> {
        let Some(entries) = present(self.0.read_dir(path))? else { return Ok(Vec::new()) };
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        let mut names: Vec<_> = names.collect::<io::Result<_>>()?;
        names.sort_unstable();
        Ok(names)
    }

    /// Writes a file, and makes its folder.
    pub(crate) fn write(&self, folder: &str, name: &str, text: &str) -> io::Result<()> {
        self.0.create_dir_all(folder)?;
        self.0.write(Path::new(folder).join(name), text)
    }
}

/// Returns `None` for what is not there.
fn present<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
