//! The stat cache: which files need not be read again.

use std::collections::HashMap;
use std::path::Path;
use std::time::SystemTime;

use cap_std::fs::Metadata;
use foldhash::fast::RandomState;

use super::SnapshotError;
use super::id::Digest;
use super::manifest::Name;
use super::store::{Change, Store};

/// The metadata of a file that changes whenever its content does. Times are in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) size: u64,
    pub(super) modified: i64,
    /// The time of the last change of the metadata, which programs cannot set.
    pub(super) changed: i64,
    pub(super) inode: u64,
    pub(super) device: u64,
}

/// The content of a file, and its metadata when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) stat: Stat,
    pub(super) digest: Digest,
}

/// A file that changed so shortly before it was read may change again with the same times: file systems have clocks
/// of up to two seconds.
const COARSEST: i64 = 2_000_000_000;

impl Stat {
    #[cfg(unix)]
    pub(super) fn of(metadata: &Metadata) -> Self {
        use cap_std::fs::MetadataExt;

        let nanoseconds =
            |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            size: metadata.len(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            device: metadata.dev(),
        }
    }

    #[cfg(not(unix))]
    pub(super) fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().map_or(i64::MAX, |time| nanoseconds(time.into_std()));
        Self { size: metadata.len(), modified, changed: modified, inode: 0, device: 0 }
    }

    /// Returns `true` if a later change shows in the metadata.
    pub(super) fn is_settled(&self, now: i64) -> bool {
        self.modified.max(self.changed).saturating_add(COARSEST) < now
    }
}

/// Returns a time in nanoseconds since 1970.
pub(super) fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |before| -before),
    }
}

/// The files that were read, each with the metadata of that time. It has settled files only, so all others are read
/// again.
pub(super) struct StatCache(HashMap<Name, Seen, RandomState>);

impl StatCache {
    pub(super) fn load(store: &Store, folder: &Path) -> Result<Self, SnapshotError> {
        let seen: HashMap<_, _, _> = store.seen(folder)?.into_iter().collect();
        if seen.is_empty() {
            let change = store.change()?;
            change.forget_all(folder)?;
            change.commit()?;
        }
        Ok(Self(seen))
    }

    /// Returns the content of a file and its metadata when it was read.
    pub(super) fn get(&self, name: &str) -> Option<&Seen> {
        self.0.get(name)
    }

    /// Returns the cached names that are not among the files of the folder, of which so many are cached.
    pub(super) fn vanished(&self, cached: usize, is_file: impl Fn(&Name) -> bool) -> Vec<Name> {
        // Almost always none has.
        if cached == self.0.len() {
            return Vec::new();
        }
        self.0.keys().filter(|name| !is_file(name)).cloned().collect()
    }
}

/// Lines of the cache that have changed. They are in the store before they are in memory.
#[derive(Default)]
pub(super) struct CacheUpdate {
    /// `None` for a file that has to be read each time.
    lines: Vec<(Name, Option<Seen>)>,
}

impl CacheUpdate {
    pub(super) const fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Notes a file that was read. The time is that before the file was looked at.
    pub(super) fn note(&mut self, cache: &StatCache, name: &Name, seen: Option<Seen>, now: i64) {
        let seen = seen.filter(|seen| seen.stat.is_settled(now));
        if seen.is_some() || cache.0.contains_key(name) {
            self.lines.push((Name::clone(name), seen));
        }
    }

    pub(super) fn write(&self, change: &Change<'_>) -> Result<(), SnapshotError> {
        self.lines.iter().try_for_each(|(name, seen)| match seen {
            Some(seen) => change.see(name, seen),
            None => change.forget(name),
        })
    }

    pub(super) fn apply(self, cache: &mut StatCache) {
        for (name, seen) in self.lines {
            match seen {
                Some(seen) => drop(cache.0.insert(name, seen)),
                None => drop(cache.0.remove(&name)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_settled_once_its_times_are_older_than_the_coarsest_clock() {
        let stat = |modified, changed| Stat { size: 0, modified, changed, inode: 0, device: 0 };
        assert!(!stat(5, 5).is_settled(5));
        assert!(!stat(5, 5).is_settled(5 + COARSEST));
        assert!(stat(5, 5).is_settled(6 + COARSEST));
        // A program can set the time of the content, and not that of the metadata.
        assert!(!stat(5, 6).is_settled(6 + COARSEST));
        assert!(!stat(i64::MAX, 6).is_settled(i64::MAX));
    }
}
