//! Files that are replaced as a whole.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, OpenOptions, Permissions};

/// The maximum number of names tried for a temporary file.
const MOST_NAMES: u32 = 100;

/// Writes a file atomically: a reader sees the old content or the new. A file that was there keeps its
/// permissions; its owner becomes the user of the program, and other hard links to it keep the old content.
///
/// # Errors
///
/// Fails if the content cannot be written; the file is then as it was.
pub(super) fn replace(dir: &Dir, path: &Path, content: &[u8]) -> io::Result<()> {
    let kept = match dir.metadata(path) {
        Ok(metadata) => {
            // A rename does not check the permissions of the file, and a privileged program may write every file.
            if metadata.permissions().readonly() {
                return Err(io::Error::other("it may not be written"));
            }
            drop(dir.open_with(path, OpenOptions::new().write(true))?);
            Some(metadata.permissions())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let temporary = write_beside(dir, path, content, kept)?;
    dir.rename(&temporary, dir, path).inspect_err(|_| remove(dir, &temporary))
}

/// Writes a file of a name of its own beside `path`.
fn write_beside(dir: &Dir, path: &Path, content: &[u8], kept: Option<Permissions>) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for number in 0..MOST_NAMES {
        let temporary = path.with_file_name(format!(".{name}.{number}.new"));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        if kept.is_some() {
            // Until it has the permissions of the file that it replaces, no other user can read it.
            for_the_owner_only(&mut options);
        }
        let mut file = match dir.open_with(&temporary, &options) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        };
        let written = file
            .write_all(content)
            .and_then(|()| kept.map_or(Ok(()), |kept| file.set_permissions(kept)))
            .and_then(|()| file.sync_all());
        written.inspect_err(|_| remove(dir, &temporary))?;
        return Ok(temporary);
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "files of earlier writes are in the way"))
}

#[cfg(unix)]
fn for_the_owner_only(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt;

    options.mode(0o600);
}

#[cfg(not(unix))]
fn for_the_owner_only(_: &mut OpenOptions) {}

/// Deletes the rest of a write that failed. Only the failure is reported; a rest that stays is the lesser evil.
fn remove(dir: &Dir, temporary: &Path) {
    drop(dir.remove_file(temporary));
}
