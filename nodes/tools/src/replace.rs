//! Files that are replaced as a whole.

use std::fs::{File, TryLockError};
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
    let (temporary, _lock) = write_beside(dir, path, content, kept)?;
    dir.rename(&temporary, dir, path).inspect_err(|_| remove(dir, &temporary))
}

/// Writes a file of a name of its own beside `path`. It is locked as long as the handle is open: one that is not is the
/// rest of a program that was killed, and is deleted.
fn write_beside(
    dir: &Dir,
    path: &Path,
    content: &[u8],
    kept: Option<Permissions>,
) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for number in 0..MOST_NAMES {
        let temporary = path.with_file_name(format!(".{name}.superstep-{number}"));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        if kept.is_some() {
            // Until it has the permissions of the file that it replaces, no other user can read it.
            for_the_owner_only(&mut options);
        }
        let mut opened = dir.open_with(&temporary, &options);
        if opened.as_ref().is_err_and(is_there) && is_left(dir, &temporary) {
            remove(dir, &temporary);
            opened = dir.open_with(&temporary, &options);
        }
        let mut file = match opened {
            Ok(file) => file,
            Err(error) if is_there(&error) => continue,
            Err(error) => return Err(error),
        };
        let Ok(lock) = file.try_clone().map(cap_std::fs::File::into_std) else { continue };
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            // Another program has just taken it for a rest.
            continue;
        }
        let written = file
            .write_all(content)
            .and_then(|()| kept.map_or(Ok(()), |kept| file.set_permissions(kept)))
            .and_then(|()| file.sync_all());
        written.inspect_err(|_| remove(dir, &temporary))?;
        return Ok((temporary, lock));
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "files of earlier writes are in the way"))
}

fn is_there(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AlreadyExists
}

/// Returns `true` for the rest of a write whose program was killed: a file that no program has locked.
#[cfg(unix)]
fn is_left(dir: &Dir, temporary: &Path) -> bool {
    use cap_std::fs::MetadataExt;

    // A link is none, and a pipe would block.
    let Ok(found) = dir.symlink_metadata(temporary) else { return false };
    if !found.is_file() {
        return false;
    }
    let Ok(file) = dir.open(temporary) else { return false };
    let Ok(opened) = file.metadata() else { return false };
    let file = file.into_std();
    // Renamed meanwhile, it is the file itself.
    let is_same = |now: &cap_std::fs::Metadata| (now.dev(), now.ino()) == (opened.dev(), opened.ino());
    file.try_lock().is_ok() && dir.symlink_metadata(temporary).is_ok_and(|now| is_same(&now))
}

#[cfg(not(unix))]
fn is_left(_: &Dir, _: &Path) -> bool {
    false
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

#[cfg(all(test, unix))]
mod tests {
    use cap_std::ambient_authority;

    use super::*;

    /// A write that `kill -9` ended left its temporary file in the workspace for ever.
    #[test]
    fn the_rest_of_a_write_that_was_killed_is_deleted_and_that_of_another_program_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        let rest = folder.path().join(".a.txt.superstep-0");
        std::fs::write(&rest, "half").unwrap();
        replace(&dir, Path::new("a.txt"), b"whole").unwrap();
        assert_eq!(std::fs::read_to_string(folder.path().join("a.txt")).unwrap(), "whole");
        assert!(!rest.exists());

        let other = File::create(&rest).unwrap();
        other.lock().unwrap();
        replace(&dir, Path::new("a.txt"), b"again").unwrap();
        assert_eq!(std::fs::read_to_string(folder.path().join("a.txt")).unwrap(), "again");
        assert!(rest.exists());
    }
}
