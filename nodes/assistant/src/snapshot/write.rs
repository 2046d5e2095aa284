//! Writing at places: a reader sees what was there before or what is there after.

use std::io::{self, Write};

use cap_std::fs::{Dir, OpenOptions, Permissions};

use super::id::Digest;
use super::manifest::{Entry, Name};
use super::place::{Place, Root, TEMPORARY};
use super::store::Store;
use super::{SnapshotError, point};

/// What is to be at a place.
pub(super) enum Content<'e> {
    Folder,
    File { bytes: Vec<u8>, executable: bool },
    Link { target: &'e str },
}

impl<'e> Content<'e> {
    /// Returns the content of a state; `None` if there is none, or if it is missing or damaged in the store.
    pub(super) fn of(entry: &'e Entry, store: &Store) -> Result<Option<Self>, SnapshotError> {
        Ok(match entry {
            Entry::Folder => Some(Self::Folder),
            Entry::File { content, executable, .. } => {
                store.content(content)?.map(|bytes| Self::File { bytes, executable: *executable })
            }
            Entry::Link { target } => Some(Self::Link { target }),
            Entry::Absent | Entry::NotCovered { .. } => None,
        })
    }
}

impl Root {
    /// Returns a place, and makes the folders that it is in. Those that were made are added to a list.
    pub(super) fn make_place(&self, path: &str, made: &mut Vec<Name>) -> io::Result<Place> {
        if let Some(place) = self.place(path)? {
            return Ok(place);
        }
        for (end, _) in path.match_indices('/') {
            let above = &path[..end];
            let place = self.place(above)?.ok_or(io::ErrorKind::NotADirectory)?;
            match place.dir.symlink_metadata(&place.name) {
                Ok(metadata) if metadata.is_dir() => {}
                Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
                Err(_) => {
                    place.create(&Content::Folder)?;
                    made.push(Name::from(above));
                }
            }
        }
        self.place(path)?.ok_or_else(|| io::ErrorKind::NotADirectory.into())
    }
}

impl Place {
    /// Removes what is in the given state: an empty folder, a file or a link.
    pub(super) fn remove(&self, entry: &Entry) -> io::Result<()> {
        point(&self.name);
        match entry {
            Entry::Folder => self.dir.remove_dir(&self.name),
            _ => self.dir.remove_file(&self.name),
        }
    }

    /// Makes what is not there. A file is not atomic, and is not written to the disk at once.
    pub(super) fn create(&self, content: &Content<'_>) -> io::Result<()> {
        point(&self.name);
        match content {
            Content::Folder => self.dir.create_dir(&self.name),
            Content::File { bytes, executable } => {
                write(&self.dir, &self.name, bytes, mode_of(*executable)).map(drop)
            }
            Content::Link { target } => make_link(&self.dir, &self.name, target),
        }
    }

    /// Puts a content in the place of a file or a link, or of nothing. A file keeps its permissions, except those to
    /// execute it; its owner becomes the user of the program, and other hard links to it keep the old content.
    pub(super) fn replace(&self, content: &Content<'_>) -> io::Result<()> {
        if let Content::Folder = content {
            return self.create(content);
        }
        let temporary = Self { dir: self.dir.try_clone()?, name: self.temporary() };
        // Of a restore that was cut off.
        match temporary.dir.remove_file(&temporary.name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let written = temporary.write_beside(self, content).and_then(|()| {
            point(&self.name);
            self.dir.rename(&temporary.name, &self.dir, &self.name)
        });
        // Only the failure is reported; the rest of a write is the lesser evil.
        written.inspect_err(|_| drop(temporary.dir.remove_file(&temporary.name)))
    }

    fn write_beside(&self, replaced: &Self, content: &Content<'_>) -> io::Result<()> {
        let Content::File { bytes, executable } = content else { return self.create(content) };
        let kept = replaced.dir.symlink_metadata(&replaced.name).ok().filter(|metadata| metadata.is_file());
        point(&self.name);
        // Until it has the permissions of the file that it replaces, no other user can read it.
        let mode = if kept.is_some() { 0o600 } else { mode_of(*executable) };
        let file = write(&self.dir, &self.name, bytes, mode)?;
        if let Some(kept) = kept {
            file.set_permissions(with_execution(kept.permissions(), *executable))?;
        }
        point(&self.name);
        file.sync_all()
    }

    /// The same for each attempt, so that the next one removes what the last one has left.
    fn temporary(&self) -> String {
        let digest = Digest::of(self.name.as_bytes()).to_string();
        format!("{TEMPORARY}{}", &digest[..16])
    }
}

fn write(dir: &Dir, name: &str, bytes: &[u8], mode: u32) -> io::Result<cap_std::fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    set_mode(&mut options, mode);
    let mut file = dir.open_with(name, &options)?;
    file.write_all(bytes)?;
    Ok(file)
}

const fn mode_of(executable: bool) -> u32 {
    if executable { 0o777 } else { 0o666 }
}

#[cfg(unix)]
fn set_mode(options: &mut OpenOptions, mode: u32) {
    use cap_std::fs::OpenOptionsExt;

    options.mode(mode);
}

#[cfg(not(unix))]
fn set_mode(_: &mut OpenOptions, _: u32) {}

/// Permits execution to all that may read, or to none.
#[cfg(unix)]
fn with_execution(mut permissions: Permissions, executable: bool) -> Permissions {
    use cap_std::fs::PermissionsExt;

    let mode = permissions.mode();
    let is_executable = mode & 0o100 != 0;
    if is_executable != executable {
        permissions.set_mode(if executable { mode | (mode & 0o444) >> 2 } else { mode & !0o111 });
    }
    permissions
}

#[cfg(not(unix))]
fn with_execution(permissions: Permissions, _: bool) -> Permissions {
    permissions
}

/// Makes a link. Its target may be anything, as it is not followed.
#[cfg(unix)]
fn make_link(dir: &Dir, name: &str, target: &str) -> io::Result<()> {
    dir.symlink_contents(target, name)
}

#[cfg(not(unix))]
fn make_link(_: &Dir, _: &str, _: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
