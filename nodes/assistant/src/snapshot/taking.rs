//! Taking a snapshot: a walk, and the contents that it finds new.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::id::SnapshotId;
use super::manifest::{Delta, Entry, Line, Manifest, Name};
use super::place::{Places, Root, Sight};
use super::plan::Item;
use super::stat::{CacheUpdate, StatCache};
use super::store::{self, Store};
use super::tree::walk;
use super::{ChangedFile, NotCovered, NotCoveredReason, SnapshotError, Swept};

/// A snapshot that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Taken {
    /// The snapshot.
    pub id: SnapshotId,
    /// The snapshot before, as it was given.
    pub before: Option<SnapshotId>,
    /// The files that have changed since the snapshot before, by path; none if no snapshot before was given.
    pub changed: Vec<ChangedFile>,
    /// The files and folders that are not covered, by path. Those that a `.gitignore` excludes are not listed.
    pub not_covered: Vec<NotCovered>,
}

/// A call of a session, as the snapshots right before and right after it.
///
/// The changes of a session are part of its state: they say which changes of files are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The snapshot right before the call.
    pub before: SnapshotId,
    /// The snapshot right after the call.
    pub after: SnapshotId,
}

impl Taken {
    /// Returns the change of the call between the two snapshots; `None` if it changed nothing.
    pub fn change(&self) -> Option<Change> {
        let before = self.before.filter(|before| *before != self.id)?;
        Some(Change { before, after: self.id })
    }
}

/// A request for a snapshot.
#[derive(Default)]
pub(super) struct Take<'t> {
    pub(super) before: Option<SnapshotId>,
    pub(super) names: BTreeSet<String>,
    /// The time in nanoseconds, before any file is looked at.
    pub(super) now: i64,
    /// The files of a plan. One that is in its target state counts as not restored yet.
    pub(super) restoring: &'t [Item],
}

/// A folder, its store, and what is known of both.
pub(super) struct State {
    pub(super) root: Root,
    pub(super) store: Store,
    max_files: usize,
    cache: Option<StatCache>,
    /// The last snapshot, with its manifest.
    last: Option<(SnapshotId, Arc<Manifest>)>,
}

impl State {
    pub(super) fn new(root: Root, store: Store, max_files: usize) -> Self {
        Self { root, store, max_files, cache: None, last: None }
    }

    pub(super) fn take(&mut self, take: &Take<'_>) -> Result<Taken, SnapshotError> {
        // A manifest is small as the difference from any other one of the folder.
        let base = take.before.map_or_else(|| self.store.newest(), |before| Ok(Some(before)))?;
        let old = base.map_or_else(|| Ok(Arc::default()), |base| self.manifest(base))?;
        let cache = match self.cache.take() {
            Some(cache) => self.cache.insert(cache),
            None => self.cache.insert(StatCache::load(&self.store, &self.root.path)?),
        };
        let mut found = Found::look(&self.root, &old, take, self.max_files, cache);
        let mut update = CacheUpdate::default();
        found.vanished.iter().for_each(|name| update.note(cache, name, None, take.now));
        let mut id = base;
        let mut delta = Delta::new();
        // A snapshot that another session took is made younger, so that a collection spares it.
        if !found.is_same(&old) || take.before.is_none() || !take.restoring.is_empty() || !update.is_empty() {
            let change = self.store.change()?;
            found.read(&self.root, &change, cache, &mut update, take.now)?;
            found.pretend(take.restoring);
            delta = found.delta(&old, &self.root, &change)?;
            id = match base.filter(|_| delta.is_empty()) {
                Some(base) if change.touch(base, take.now)? => Some(base),
                Some(base) => return Err(SnapshotError::Unknown(base)),
                None => Some(change.insert(base, &delta, take.now)?),
            };
            update.write(&change)?;
            change.commit()?;
        }
        update.apply(cache);
        let id = id.expect("a snapshot without one before it is inserted");
        let Found { mut now, unnamed, .. } = found;
        now.apply(&delta);
        let now = if delta.is_empty() { Arc::clone(&old) } else { Arc::new(now) };
        let changed = |name: &Name| ChangedFile::between(name, &old.entry(name), &now.entry(name));
        let changed = take.before.map_or_else(Vec::new, |_| delta.keys().filter_map(changed).collect());
        let not_covered = not_covered(&now, unnamed);
        self.last = Some((id, now));
        Ok(Taken { id, before: take.before, changed, not_covered })
    }

    /// Inserts the snapshot that differs from the last one in these states only.
    pub(super) fn follow(
        &mut self,
        states: &BTreeMap<Name, Entry>,
        now: i64,
    ) -> Result<SnapshotId, SnapshotError> {
        let (parent, last) = self.last.as_ref().expect("a snapshot was taken before");
        let mut next = Manifest::clone(last);
        states.iter().for_each(|(name, entry)| next.set(name, entry));
        let delta = last.delta(&next);
        if delta.is_empty() {
            return Ok(*parent);
        }
        let change = self.store.change()?;
        let id = change.insert(Some(*parent), &delta, now)?;
        change.commit()?;
        self.last = Some((id, Arc::new(next)));
        Ok(id)
    }

    pub(super) fn manifest(&self, id: SnapshotId) -> Result<Arc<Manifest>, SnapshotError> {
        match &self.last {
            Some((last, manifest)) if *last == id => Ok(Arc::clone(manifest)),
            _ => Ok(Arc::new(self.store.manifest(id)?)),
        }
    }

    pub(super) fn collect(&mut self, keep: &HashSet<SnapshotId>, since: i64) -> Result<Swept, SnapshotError> {
        self.last = None;
        self.store.collect(keep, since)
    }
}

/// Returns what a snapshot does not cover, without what is ignored.
pub(super) fn not_covered(manifest: &Manifest, mut unnamed: Vec<NotCovered>) -> Vec<NotCovered> {
    unnamed.extend(manifest.0.iter().filter_map(|(name, line)| match line.entry {
        Entry::NotCovered { reason, .. } if reason != NotCoveredReason::Ignored => {
            Some(NotCovered { path: name.to_string(), reason })
        }
        _ => None,
    }));
    unnamed.sort();
    unnamed
}

/// The files that a walk found.
struct Found {
    now: Manifest,
    /// The files that have to be read.
    unread: Vec<(Name, bool)>,
    /// The files of the stat cache that were not found.
    vanished: Vec<Name>,
    unnamed: Vec<NotCovered>,
}

impl Found {
    fn look(root: &Root, old: &Manifest, take: &Take<'_>, max_files: usize, cache: &StatCache) -> Self {
        let mut walked = walk(root, max_files);
        let mut named: BTreeSet<Name> =
            old.0.iter().filter(|(_, line)| line.named).map(|(name, _)| Name::clone(name)).collect();
        for name in &take.names {
            match root.reachable(name) {
                Some(name) => drop(named.insert(Name::from(name))),
                None => {
                    let reason = NotCoveredReason::OutOfReach;
                    walked.unnamed.push(NotCovered { path: name.clone(), reason });
                }
            }
        }
        let mut missing = named.clone();
        missing.extend(take.restoring.iter().map(|item| Name::from(&*item.path)));
        let is_covered = |sight: &Sight| !matches!(sight, Sight::Known(entry) if !entry.is_covered());
        for (name, _) in walked.found.iter().filter(|(_, sight)| is_covered(sight)) {
            missing.remove(name);
        }
        let missing = missing.into_iter().map(|name| (Name::clone(&name), root.look(&name)));
        // A named folder covers nothing in it, so it stays excluded. A later line of a name replaces an earlier one.
        walked.found.extend(missing.filter(|(_, sight)| !matches!(sight, Sight::Known(Entry::Folder))));
        let (mut unread, mut cached) = (Vec::new(), 0);
        let lines = walked.found.into_iter().filter_map(|(name, sight)| {
            let is_named = named.contains(&name);
            let entry = match sight {
                Sight::Known(entry) => entry,
                Sight::File { stat, mode } => {
                    let seen = cache.get(&name);
                    cached += usize::from(seen.is_some());
                    match seen.filter(|seen| seen.stat == stat) {
                        Some(seen) => Entry::File { content: seen.digest, size: stat.size, mode },
                        None => {
                            unread.push((name, is_named));
                            return None;
                        }
                    }
                }
            };
            (entry != Entry::Absent || is_named).then_some((name, Line { entry, named: is_named }))
        });
        let now = Manifest(lines.collect());
        let is_unread: HashSet<&Name> = unread.iter().map(|(name, _)| name).collect();
        let vanished = cache.vanished(cached, |name| {
            let is_file = now.0.get(name).is_some_and(|line| matches!(line.entry, Entry::File { .. }));
            is_file || is_unread.contains(name)
        });
        Self { now, unread, vanished, unnamed: walked.unnamed }
    }

    fn is_same(&self, old: &Manifest) -> bool {
        self.unread.is_empty() && self.now == *old
    }

    /// Reads the files that are not read yet, and keeps their contents.
    fn read(
        &mut self,
        root: &Root,
        change: &store::Change<'_>,
        cache: &StatCache,
        update: &mut CacheUpdate,
        time: i64,
    ) -> Result<(), SnapshotError> {
        let mut places = Places::default();
        for (name, named) in self.unread.drain(..) {
            let place = places.next(root, &name);
            let (mut entry, seen) = root.read_at(place, &mut |digest, bytes| change.put(digest, bytes))?;
            update.note(cache, &name, seen, time);
            if entry.is_folder() {
                // The walk did not go through it.
                entry = Entry::not_covered(NotCoveredReason::Changing);
            }
            if entry != Entry::Absent || named {
                self.now.0.insert(name, Line { entry, named });
            }
        }
        Ok(())
    }

    /// Takes the files that a plan has restored already as those that they were before.
    fn pretend(&mut self, restoring: &[Item]) {
        for item in restoring {
            let now = self.now.entry(&item.path);
            if now == item.target || (item.clears() && now == Entry::Absent) {
                self.now.set(&Name::from(&*item.path), &item.expected);
            }
        }
    }

    /// Returns the difference. The contents of all its files are in the store, also of those that only the cache knows:
    /// a snapshot that had them may be deleted.
    fn delta(
        &mut self,
        old: &Manifest,
        root: &Root,
        change: &store::Change<'_>,
    ) -> Result<Delta, SnapshotError> {
        let mut delta = old.delta(&self.now);
        for (name, line) in &mut delta {
            let Some(line) = line else { continue };
            if let Entry::File { content, .. } = &line.entry
                && !change.has(content)?
            {
                line.entry = root.read(name, &mut |digest, bytes| change.put(digest, bytes))?.0;
            }
        }
        Ok(delta)
    }
}
