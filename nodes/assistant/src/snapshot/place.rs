//! The folder whose files are covered, and the places in it. No link is followed on the way to a place.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use super::id::Digest;
use super::manifest::{Entry, NotCoveredReason};
use super::stat::{Seen, Stat};
use super::{SnapshotError, SnapshotOptions};

/// The folder whose files are covered.
pub(super) struct Root {
    pub(super) dir: Dir,
    /// Its path without links.
    pub(super) path: PathBuf,
    /// The folder of the store, if it is below the covered folder.
    store: Option<String>,
    most_bytes: u64,
    pub(super) points: Points,
}

/// Takes a content that was read.
type Keep<'k> = dyn FnMut(&Digest, &[u8]) -> Result<(), SnapshotError> + 'k;

#[cfg(test)]
type Hook = Box<dyn FnMut(&str) + Send>;

/// The points in the work with files at which tests change files or end the work.
#[derive(Default)]
pub(super) struct Points {
    #[cfg(test)]
    hook: std::cell::RefCell<Option<Hook>>,
}

/// A name in a folder, which may be that of nothing.
pub(super) struct Place {
    pub(super) dir: Dir,
    pub(super) name: String,
}

/// A place at first sight.
#[derive(Debug)]
pub(super) enum Sight {
    Known(Entry),
    /// A file whose content was not read.
    File {
        stat: Stat,
        mode: u32,
    },
}

/// The beginning of the names of temporary files. They are not covered.
pub(super) const TEMPORARY: &str = ".superstep-restore-";

/// The number of times that a file is read which changes meanwhile.
const MOST_READS: u32 = 3;

impl Root {
    pub(super) fn open(path: &Path, options: &SnapshotOptions) -> Result<Self, SnapshotError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| SnapshotError::Folder { path, source }
        };
        let whole = path.canonicalize().map_err(failed(path))?;
        let dir = Dir::open_ambient_dir(&whole, ambient_authority()).map_err(failed(path))?;
        let store = options.file.parent().filter(|parent| !parent.as_os_str().is_empty());
        let store = store.unwrap_or_else(|| Path::new("."));
        let store = store.canonicalize().map_err(failed(store))?;
        let store = match store.strip_prefix(&whole) {
            Ok(inside) if inside.as_os_str().is_empty() => {
                return Err(SnapshotError::StoreInFolder { path: whole });
            }
            Ok(inside) => Some(inside.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")),
            Err(_) => None,
        };
        Ok(Self { dir, path: whole, store, most_bytes: options.max_file_bytes, points: Points::default() })
    }

    /// Makes a folder to write into, if it is not there.
    pub(super) fn make(path: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        let path = path.canonicalize()?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority())?;
        Ok(Self { dir, path, store: None, most_bytes: u64::MAX, points: Points::default() })
    }

    /// Returns `true` for names that are never read nor written: those of git, and temporary files.
    pub(super) fn is_out_of_reach(&self, path: &str, name: &str) -> bool {
        name.eq_ignore_ascii_case(".git")
            || name.starts_with(TEMPORARY)
            || self.store.as_deref() == Some(path)
    }

    /// Returns a path as text without `.` and `..`; `None` if it is out of reach.
    pub(super) fn reachable(&self, path: &str) -> Option<String> {
        let mut whole = String::new();
        for part in path.split(['/', std::path::MAIN_SEPARATOR]) {
            match part {
                "" if whole.is_empty() => return None,
                "" | "." => continue,
                ".." => whole.truncate(whole.rfind('/').or((!whole.is_empty()).then_some(0))?),
                part => {
                    let end = if whole.is_empty() { "" } else { "/" };
                    whole.extend([end, part]);
                    if part.contains('\0') || self.is_out_of_reach(&whole, part) {
                        return None;
                    }
                }
            }
        }
        (!whole.is_empty()).then_some(whole)
    }

    /// Returns a place; `None` if the folder that it would be in is not there, or is a file or a link.
    pub(super) fn place(&self, path: &str) -> io::Result<Option<Place>> {
        if self.reachable(path).as_deref() != Some(path) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the path is out of reach"));
        }
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut dir = self.dir.try_clone()?;
        for part in above.split('/').filter(|part| !part.is_empty()) {
            dir = match open_folder(&dir, part) {
                Ok(inside) => inside,
                Err(error) => match dir.symlink_metadata(part) {
                    Ok(metadata) if !metadata.is_dir() => return Ok(None),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                    _ => return Err(error),
                },
            };
        }
        Ok(Some(Place { dir, name: name.to_owned() }))
    }

    /// Returns the state of a path without its content, if it is a file.
    pub(super) fn look(&self, path: &str) -> Sight {
        match self.place(path) {
            Ok(Some(place)) => place.look(self),
            Ok(None) => Sight::Known(Entry::Absent),
            Err(_) => Sight::Known(Entry::not_covered(NotCoveredReason::Unreadable)),
        }
    }

    /// Returns the state of a path, and for a file its metadata. A content that was read is passed on.
    pub(super) fn read(
        &self,
        path: &str,
        keep: &mut Keep<'_>,
    ) -> Result<(Entry, Option<Seen>), SnapshotError> {
        self.read_at(self.place(path), keep)
    }

    /// Returns the state of a place that was opened, and for a file its metadata.
    pub(super) fn read_at(
        &self,
        place: io::Result<Option<Place>>,
        keep: &mut Keep<'_>,
    ) -> Result<(Entry, Option<Seen>), SnapshotError> {
        let place = match place {
            Ok(Some(place)) => place,
            Ok(None) => return Ok((Entry::Absent, None)),
            Err(_) => return Ok((Entry::not_covered(NotCoveredReason::Unreadable), None)),
        };
        for _ in 0..MOST_READS {
            if let Sight::Known(entry) = place.look(self) {
                return Ok((entry, None));
            }
            match place.read_once(self) {
                Ok(Some((stat, mode, bytes))) => {
                    let digest = Digest::of(&bytes);
                    keep(&digest, &bytes)?;
                    let entry = Entry::File { content: digest, size: stat.size, mode };
                    return Ok((entry, Some(Seen { stat, digest })));
                }
                // It is not what it was: look again.
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return Ok((Entry::not_covered(NotCoveredReason::Unreadable), None)),
            }
        }
        Ok((Entry::not_covered(NotCoveredReason::Changing), None))
    }

    /// Returns the state of a path, with the digest of its content.
    pub(super) fn entry(&self, path: &str) -> Result<Entry, SnapshotError> {
        Ok(self.read(path, &mut |_, _| Ok(()))?.0)
    }

    /// Returns what metadata say about a place.
    pub(super) fn sight(&self, dir: &Dir, name: &str, metadata: &Metadata) -> Sight {
        let stat = Stat::of(metadata);
        let not_covered =
            |reason| Sight::Known(Entry::NotCovered { reason, size: stat.size, modified: stat.modified });
        let kind = metadata.file_type();
        if kind.is_dir() {
            Sight::Known(Entry::Folder)
        } else if kind.is_symlink() {
            link(dir, name)
        } else if !kind.is_file() {
            Sight::Known(Entry::not_covered(NotCoveredReason::Special))
        } else if stat.size > self.most_bytes {
            not_covered(NotCoveredReason::TooLarge)
        } else {
            Sight::File { stat, mode: mode(metadata) }
        }
    }
}

/// Opens the places of a walk, whose files come folder by folder.
#[derive(Default)]
pub(super) struct Places(Option<(String, Dir)>);

impl Places {
    pub(super) fn next(&mut self, root: &Root, path: &str) -> io::Result<Option<Place>> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        match &self.0 {
            Some((last, dir)) if last == above => {
                Ok(Some(Place { dir: dir.try_clone()?, name: name.to_owned() }))
            }
            _ => {
                let place = root.place(path)?;
                let dir = place.as_ref().map(|place| place.dir.try_clone()).transpose()?;
                self.0 = dir.map(|dir| (above.to_owned(), dir));
                Ok(place)
            }
        }
    }
}

impl Points {
    #[cfg(not(test))]
    pub(super) fn pass(&self, _: &str) {}

    #[cfg(test)]
    pub(super) fn pass(&self, name: &str) {
        let hook = self.hook.take();
        if let Some(mut hook) = hook {
            hook(name);
            self.hook.replace(Some(hook));
        }
    }

    #[cfg(test)]
    pub(super) fn set(&self, hook: Option<Hook>) {
        self.hook.replace(hook);
    }
}

impl Place {
    fn look(&self, root: &Root) -> Sight {
        match self.dir.symlink_metadata(&self.name) {
            Ok(metadata) => root.sight(&self.dir, &self.name, &metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Sight::Known(Entry::Absent),
            Err(_) => Sight::Known(Entry::not_covered(NotCoveredReason::Unreadable)),
        }
    }

    /// Reads a file; `None` if it changed meanwhile.
    fn read_once(&self, root: &Root) -> io::Result<Option<(Stat, u32, Vec<u8>)>> {
        let most_bytes = root.most_bytes;
        let mut file = open_file(&self.dir, &self.name)?;
        let before = file.metadata()?;
        if !before.is_file() {
            return Ok(None);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(before.len().min(most_bytes)).unwrap_or(0));
        file.by_ref().take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        root.points.pass(&self.name);
        let after = file.metadata()?;
        let (mode, before, after) = (mode(&after), Stat::of(&before), Stat::of(&after));
        Ok((before == after && bytes.len() as u64 == after.size).then_some((after, mode, bytes)))
    }
}

#[cfg(unix)]
fn open_with(dir: &Dir, name: &str, flags: rustix::fs::OFlags) -> io::Result<File> {
    use cap_std::fs::OpenOptionsExt;

    let flags = (flags | rustix::fs::OFlags::NOFOLLOW).bits().cast_signed();
    dir.open_with(name, OpenOptions::new().read(true).custom_flags(flags))
}

/// Opens a folder, and no link to one.
#[cfg(unix)]
pub(super) fn open_folder(dir: &Dir, name: &str) -> io::Result<Dir> {
    let file = open_with(dir, name, rustix::fs::OFlags::DIRECTORY)?;
    Ok(Dir::from_std_file(file.into_std()))
}

#[cfg(not(unix))]
pub(super) fn open_folder(dir: &Dir, name: &str) -> io::Result<Dir> {
    if !dir.symlink_metadata(name)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    dir.open_dir(name)
}

/// Opens a file, and no link to one. A pipe in its place does not block.
#[cfg(unix)]
pub(super) fn open_file(dir: &Dir, name: &str) -> io::Result<File> {
    open_with(dir, name, rustix::fs::OFlags::NONBLOCK)
}

#[cfg(not(unix))]
pub(super) fn open_file(dir: &Dir, name: &str) -> io::Result<File> {
    if !dir.symlink_metadata(name)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    dir.open_with(name, OpenOptions::new().read(true))
}

#[cfg(unix)]
fn link(dir: &Dir, name: &str) -> Sight {
    Sight::Known(match dir.read_link_contents(name).map(|target| target.into_os_string().into_string()) {
        Ok(Ok(target)) => Entry::Link { target },
        Ok(Err(_)) => Entry::not_covered(NotCoveredReason::NotText),
        Err(_) => Entry::not_covered(NotCoveredReason::Unreadable),
    })
}

#[cfg(not(unix))]
fn link(_: &Dir, _: &str) -> Sight {
    Sight::Known(Entry::not_covered(NotCoveredReason::Special))
}

#[cfg(unix)]
fn mode(metadata: &Metadata) -> u32 {
    use cap_std::fs::MetadataExt;

    metadata.mode() & 0o777
}

#[cfg(not(unix))]
fn mode(_: &Metadata) -> u32 {
    0
}
