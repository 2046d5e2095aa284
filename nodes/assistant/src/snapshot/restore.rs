//! Carrying out a plan, one file at a time.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::manifest::{Entry, Name, NotCovered};
use super::place::Root;
use super::plan::Item;
use super::store::Store;
use super::taking::{State, Take, not_covered};
use super::write::Content;
use super::{Change, ChangedFile, Restore, SnapshotError, SnapshotId};

/// The result of a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Restored {
    /// The snapshot right before.
    pub before: SnapshotId,
    /// The snapshot right after.
    pub after: SnapshotId,
    /// The files that were restored, by path.
    pub restored: Vec<ChangedFile>,
    /// The files of the plan that were left, by path.
    pub left: Vec<Left>,
}

/// A file that a restore left as it was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Left {
    /// The path, relative to the folder.
    pub path: String,
    /// The reason.
    pub reason: LeftReason,
}

/// The reason for which a restore left a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LeftReason {
    /// It has changed since the plan was made.
    Changed,
    /// It is a folder with files that are not part of the plan.
    NotEmpty,
    /// Its content is missing in the store, or damaged there.
    Damaged,
    /// The operating system reported this error.
    Failed(String),
}

impl Restored {
    /// Returns the change that the restore made. To redo what it took back, plan with it, from the snapshot
    /// [after](Self::after) the restore to the one [before](Self::before) it.
    pub const fn change(&self) -> Change {
        Change { before: self.before, after: self.after }
    }
}

impl State {
    pub(super) fn restore(&mut self, plan: &Restore, now: i64) -> Result<Restored, SnapshotError> {
        let take = Take { before: Some(plan.from), now, restoring: &plan.items, ..Take::default() };
        let before = self.take(&take)?.id;
        // Files are not synced one by one. If the power fails, the store has all contents.
        self.store.sync()?;
        let mut work =
            Work { root: &self.root, store: &self.store, states: BTreeMap::new(), left: Vec::new() };
        // What is in a folder comes after it, so it goes before it.
        let mut waiting = Vec::new();
        for item in plan.items.iter().rev() {
            if !item.clears() || work.clear(item)? {
                waiting.push(item);
            }
        }
        for item in waiting.into_iter().rev() {
            work.make(item)?;
        }
        let Work { states, mut left, .. } = work;
        left.sort();
        let after = self.follow(&states, now)?;
        let restored = plan.items.iter().filter(|item| left.iter().all(|left| left.path != item.path));
        Ok(Restored { before, after, restored: restored.filter_map(Item::shown).collect(), left })
    }

    pub(super) fn materialise(
        &mut self,
        id: SnapshotId,
        folder: &Path,
    ) -> Result<Vec<NotCovered>, SnapshotError> {
        let manifest = self.manifest(id)?;
        let failed = |source| SnapshotError::Folder { path: folder.to_owned(), source };
        let root = Root::make(folder).map_err(failed)?;
        if root.dir.entries().map_err(failed)?.next().is_some() {
            return Err(SnapshotError::NotEmpty { path: folder.to_owned() });
        }
        let covered = |entry: &Entry| *entry != Entry::Absent && entry.is_covered();
        for (name, line) in manifest.0.iter().filter(|(_, line)| covered(&line.entry)) {
            let damaged = || SnapshotError::Damaged { path: name.to_string() };
            let content = Content::of(&line.entry, &self.store)?.ok_or_else(damaged)?;
            let place = root.make_place(name, &mut Vec::new());
            place.and_then(|place| place.create(&root, &content)).map_err(failed)?;
        }
        Ok(not_covered(&manifest, Vec::new()))
    }
}

/// A restore in progress.
struct Work<'w> {
    root: &'w Root,
    store: &'w Store,
    /// The states of the paths that are restored.
    states: BTreeMap<Name, Entry>,
    left: Vec<Left>,
}

impl Work<'_> {
    /// Removes what is in the way of the target. Returns `false` if the path is left.
    fn clear(&mut self, item: &Item) -> Result<bool, SnapshotError> {
        let now = self.root.entry(&item.path)?;
        if now == item.target || now == Entry::Absent {
            return Ok(true);
        }
        if now != item.expected {
            return Ok(self.leave(item, LeftReason::Changed));
        }
        let removed = match self.root.place(&item.path) {
            Ok(Some(place)) => place.remove(self.root, &now),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        Ok(match removed {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                self.leave(item, LeftReason::NotEmpty)
            }
            Err(error) => self.leave(item, LeftReason::Failed(error.to_string())),
        })
    }

    /// Makes the target. What was in its way is gone.
    fn make(&mut self, item: &Item) -> Result<(), SnapshotError> {
        let now = self.root.entry(&item.path)?;
        if now != item.target {
            if now != item.expected && !(item.clears() && now == Entry::Absent) {
                self.leave(item, LeftReason::Changed);
                return Ok(());
            }
            let Some(content) = Content::of(&item.target, self.store)? else {
                self.leave(item, LeftReason::Damaged);
                return Ok(());
            };
            let mut made = Vec::new();
            let place = self.root.make_place(&item.path, &mut made);
            self.states.extend(made.into_iter().map(|name| (name, Entry::Folder)));
            if let Err(error) = place.and_then(|place| place.replace(self.root, &content)) {
                self.leave(item, LeftReason::Failed(error.to_string()));
                return Ok(());
            }
        }
        self.states.insert(Name::from(&*item.path), item.target.clone());
        Ok(())
    }

    fn leave(&mut self, item: &Item, reason: LeftReason) -> bool {
        self.left.push(Left { path: item.path.clone(), reason });
        false
    }
}
