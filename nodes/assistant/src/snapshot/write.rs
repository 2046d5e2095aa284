//! Writing at places: a reader sees what was there before or what is there after.

use std::io::{self, Write};

use cap_std::fs::{Dir, File, OpenOptions};

use super::SnapshotError;
use super::id::Digest;
use super::manifest::{Entry, Name};
use super::place::{Place, Root, TEMPORARY};
use super::store::Store;

/// What is to be at a place.
pub(super) enum Content<'e> {
    /// A folder. Its permissions are the usual ones.
    Folder,
    /// A file with its permissions.
    File { bytes: Vec<u8>, mode: u32 },
    /// A link and its target.
    Link(&'e str),
}

impl<'e> Content<'e> {
    /// Returns the content of a state; `None` if there is none, or if it is missing or damaged in the store.
    pub(super) fn of(entry: &'e Entry, store: &Store) -> Result<Option<Self>, SnapshotError> {
        Ok(match entry {
            Entry::Folder => Some(Self::Folder),
            Entry::File { content, mode, .. } => {
                store.content(content)?.map(|bytes| Self::File { bytes, mode: *mode })
            }
            Entry::Link { target } => Some(Self::Link(target)),
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
                    place.create(self, &Content::Folder)?;
                    made.push(Name::from(above));
                }
            }
        }
        self.place(path)?.ok_or_else(|| io::ErrorKind::NotADirectory.into())
    }
}

impl Place {
    /// Removes what is in the given state: an empty folder, a file or a link.
    pub(super) fn remove(&self, root: &Root, entry: &Entry) -> io::Result<()> {
        root.points.pass(&self.name);
        match entry {
            Entry::Folder => self.dir.remove_dir(&self.name),
            _ => self.dir.remove_file(&self.name),
        }
    }

    /// Makes what is not there. A file is not whole at once.
    pub(super) fn create(&self, root: &Root, content: &Content<'_>) -> io::Result<()> {
        root.points.pass(&self.name);
        match content {
            Content::Folder => self.dir.create_dir(&self.name),
            Content::File { bytes, mode } => create_file(&self.dir, &self.name, bytes, *mode),
            Content::Link(target) => make_link(&self.dir, &self.name, target),
        }
    }

    /// Puts a content in the place of a file or a link, or of nothing. The file's owner becomes the user of the program,
    /// and other hard links to it keep the old content.
    pub(super) fn replace(&self, root: &Root, content: &Content<'_>) -> io::Result<()> {
        if let Content::Folder = content {
            return self.create(root, content);
        }
        let temporary = Self { dir: self.dir.try_clone()?, name: self.temporary() };
        // Of a restore that was cut off.
        match temporary.dir.remove_file(&temporary.name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let write = || {
            temporary.create(root, content)?;
            root.points.pass(&self.name);
            temporary.dir.rename(&temporary.name, &self.dir, &self.name)
        };
        // Only the failure is reported; the rest of a write is the lesser evil.
        write().inspect_err(|_| drop(temporary.dir.remove_file(&temporary.name)))
    }

    /// The same for each attempt, so that the next one removes what the last one has left.
    fn temporary(&self) -> String {
        let digest = Digest::of(self.name.as_bytes()).to_string();
        format!("{TEMPORARY}{}", &digest[..16])
    }
}

/// Makes a file. Until it has its permissions, no other user can read it.
fn create_file(dir: &Dir, name: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = dir.open_with(name, &options)?;
    file.write_all(bytes)?;
    set_mode(&file, mode)
}

#[cfg(unix)]
fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    let permissions = cap_std::fs::PermissionsExt::from_mode(mode & 0o777);
    file.set_permissions(permissions)
}

#[cfg(not(unix))]
fn set_mode(_: &File, _: u32) -> io::Result<()> {
    Ok(())
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
