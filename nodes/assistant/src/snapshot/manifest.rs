//! The files of a snapshot, and the difference between two.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::id::{Digest, SnapshotId};

/// The path of a file below the folder, with `/` between its parts.
pub(super) type Name = Arc<str>;

/// The state of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    Absent,
    Folder,
    /// A file, with its permissions as Unix has them; 0 elsewhere.
    File {
        content: Digest,
        size: u64,
        mode: u32,
    },
    /// A symbolic link, which is not followed.
    Link {
        target: String,
    },
    /// The content is not known. The size and the time of change, in nanoseconds, show that it has changed.
    NotCovered {
        reason: NotCoveredReason,
        size: u64,
        modified: i64,
    },
}

/// A file or folder that a snapshot does not cover: a restore leaves it as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct NotCovered {
    /// The path, relative to the folder; empty for the folder itself.
    pub path: String,
    /// The reason.
    pub reason: NotCoveredReason,
}

/// The reason for which a snapshot does not cover a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NotCoveredReason {
    /// A `.gitignore` excludes it.
    Ignored,
    /// The file is larger than the limit.
    TooLarge,
    /// The folder has more files than the limit.
    TooManyFiles,
    /// The folder is below too many others.
    TooDeep,
    /// It could not be read.
    Unreadable,
    /// The file changed each time that it was read.
    Changing,
    /// It is a pipe, a socket or a device; or it is a link, on a system whose links are not covered.
    Special,
    /// Its name, or the target of the link, is not UTF-8. The path shows U+FFFD for what is not.
    NotText,
    /// It leads out of the folder, or belongs to git or to the store of snapshots.
    OutOfReach,
}

/// A file, a link or a folder that differs between two states.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFile {
    /// The path, relative to the folder. That of a folder ends with `/`.
    pub path: String,
    /// The difference.
    pub kind: ChangeKind,
    /// The size before, in bytes; 0 if there was nothing, or a folder.
    pub size_before: u64,
    /// The size after, in bytes; 0 if there is nothing, or a folder.
    pub size_after: u64,
}

/// The difference between two states of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// Nothing was at the path.
    Created,
    /// The content, the kind or the permissions changed.
    Modified,
    /// Nothing is left at the path.
    Deleted,
}

/// A line of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) entry: Entry,
    /// `true` if the path is covered because it was named, also where a `.gitignore` excludes it.
    pub(super) named: bool,
}

/// The lines by which two manifests differ; `None` for a line that the later one does not have.
pub(super) type Delta = BTreeMap<Name, Option<Line>>;

/// All files of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest(pub(super) BTreeMap<Name, Line>);

impl Entry {
    pub(super) const fn is_covered(&self) -> bool {
        !matches!(self, Self::NotCovered { .. })
    }

    pub(super) const fn is_folder(&self) -> bool {
        matches!(self, Self::Folder)
    }

    pub(super) fn size(&self) -> u64 {
        match self {
            Self::File { size, .. } | Self::NotCovered { size, .. } => *size,
            Self::Link { target } => target.len() as u64,
            Self::Absent | Self::Folder => 0,
        }
    }

    pub(super) const fn not_covered(reason: NotCoveredReason) -> Self {
        Self::NotCovered { reason, size: 0, modified: 0 }
    }
}

impl ChangedFile {
    /// Returns the difference of a path between two states; `None` if they are equal or one is not covered.
    pub(super) fn between(path: &str, before: &Entry, after: &Entry) -> Option<Self> {
        if before == after || !before.is_covered() || !after.is_covered() {
            return None;
        }
        let kind = match (before, after) {
            (Entry::Absent, _) => ChangeKind::Created,
            (_, Entry::Absent) => ChangeKind::Deleted,
            _ => ChangeKind::Modified,
        };
        let shown = if *after == Entry::Absent { before } else { after };
        let path = if shown.is_folder() { format!("{path}/") } else { path.to_owned() };
        Some(Self { path, kind, size_before: before.size(), size_after: after.size() })
    }
}

impl Manifest {
    /// Returns the state of a path. A path below a folder that is not covered is not covered, either.
    pub(super) fn entry(&self, path: &str) -> Entry {
        if let Some(line) = self.0.get(path) {
            return line.entry.clone();
        }
        let above = path.rmatch_indices('/').map(|(end, _)| &path[..end]).chain([""]);
        let mut above = above.filter_map(|path| self.0.get(path)).map(|line| &line.entry);
        above.find(|entry| !entry.is_covered()).cloned().unwrap_or(Entry::Absent)
    }

    /// Returns the lines that lead from this manifest to a later one.
    pub(super) fn delta(&self, later: &Self) -> Delta {
        let mut delta = Delta::new();
        let (mut old, mut new) = (self.0.iter().peekable(), later.0.iter().peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return delta,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((old, _)), Some((new, _))) => old.cmp(new),
            };
            let was = if order.is_le() { old.next() } else { None };
            let is = if order.is_ge() { new.next() } else { None };
            if was.map(|(_, line)| line) != is.map(|(_, line)| line) {
                let name = was.or(is).map(|(name, _)| Name::clone(name));
                delta.extend(name.map(|name| (name, is.map(|(_, line)| line.clone()))));
            }
        }
    }

    /// Sets the state of a path.
    pub(super) fn set(&mut self, name: &Name, entry: &Entry) {
        let named = self.0.get(name).is_some_and(|line| line.named);
        match entry {
            Entry::Absent if !named => drop(self.0.remove(name)),
            entry => drop(self.0.insert(Name::clone(name), Line { entry: entry.clone(), named })),
        }
    }

    /// Makes it the manifest that a delta leads to.
    pub(super) fn apply(&mut self, delta: &Delta) {
        for (name, line) in delta {
            match line {
                Some(line) => drop(self.0.insert(Name::clone(name), line.clone())),
                None => drop(self.0.remove(name)),
            }
        }
    }
}

impl SnapshotId {
    /// Returns the name of the snapshot that a delta leads to.
    pub(super) fn after(parent: Option<Self>, delta: &Delta) -> Self {
        let mut hasher = blake3::Hasher::new();
        let mut field = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        field(parent.as_ref().map_or(&[][..], |parent| parent.as_bytes()));
        for (name, line) in delta {
            field(name.as_bytes());
            let Some(Line { entry, named }) = line else {
                field(b"removed");
                continue;
            };
            field(&[u8::from(*named)]);
            match entry {
                Entry::Absent => field(b"absent"),
                Entry::Folder => field(b"folder"),
                Entry::File { content, mode, .. } => {
                    field(b"file");
                    field(content.as_bytes());
                    field(&mode.to_le_bytes());
                }
                Entry::Link { target } => {
                    field(b"link");
                    field(target.as_bytes());
                }
                Entry::NotCovered { reason, size, modified } => {
                    field(b"not covered");
                    field(&[*reason as u8]);
                    field(&size.to_le_bytes());
                    field(&modified.to_le_bytes());
                }
            }
        }
        let mut name = [0; 16];
        hasher.finalize_xof().fill(&mut name);
        Self::from_bytes(name)
    }
}

#[cfg(test)]
mod tests;
