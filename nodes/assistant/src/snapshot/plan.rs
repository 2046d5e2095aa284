//! Plans to take changes back.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::manifest::{Entry, Manifest, Name};
use super::place::{Root, open_folder};
use super::taking::State;
use super::{Change, ChangedFile, NotCovered, SnapshotError, SnapshotId};

/// A plan to take changes back. It can be shown and stored before it is carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restore {
    pub(super) from: SnapshotId,
    /// The files to restore, by path.
    pub(super) items: Vec<Item>,
    foreign: Vec<Item>,
    not_covered: Vec<NotCovered>,
}

/// A path that is to return to an earlier state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Item {
    pub(super) path: String,
    /// The state when the plan was made. In any other one the path is left.
    pub(super) expected: Entry,
    pub(super) target: Entry,
}

impl Restore {
    /// Returns the files that the plan changes, by path.
    pub fn changes(&self) -> impl Iterator<Item = ChangedFile> {
        self.items.iter().filter_map(Item::shown)
    }

    /// Returns the files that the plan leaves because others have changed them, too, by path: each with the change that it
    /// would take to restore it.
    pub fn foreign(&self) -> impl Iterator<Item = ChangedFile> {
        self.foreign.iter().filter_map(Item::shown)
    }

    /// Returns the files of the session's changes that the plan leaves because they are not covered, by path.
    pub fn not_covered(&self) -> &[NotCovered] {
        &self.not_covered
    }

    /// Returns `true` if the plan changes nothing.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Restores the foreign files that a function selects, also. Changes of others in them are lost, and are in the
    /// snapshot that is taken before.
    #[must_use]
    pub fn include_foreign(mut self, mut select: impl FnMut(&ChangedFile) -> bool) -> Self {
        let selected = |item: &mut Item| item.shown().is_some_and(|file| select(&file));
        self.items.extend(self.foreign.extract_if(.., selected));
        self.items.sort_by(|a, b| a.path.cmp(&b.path));
        self
    }
}

impl Item {
    pub(super) fn shown(&self) -> Option<ChangedFile> {
        ChangedFile::between(&self.path, &self.expected, &self.target)
    }

    /// Returns `true` if something has to go before the target can be made.
    pub(super) fn clears(&self) -> bool {
        self.target == Entry::Absent || self.expected.is_folder() != self.target.is_folder()
    }
}

/// The own changes of a path, on the line of the session's snapshots.
struct Traced {
    /// The state before the first one.
    first: Entry,
    /// The state after the last one.
    left: Entry,
    /// `true` if the state before a change is not that after the one before it.
    is_foreign: bool,
}

/// The own changes of paths on other lines of snapshots: each as the states before and after it.
#[derive(Default)]
struct Beside(BTreeMap<Name, Vec<(Entry, Entry)>>);

impl Beside {
    fn of(&self, name: &str) -> &[(Entry, Entry)] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns `true` if the changes of a path lead from one state to another.
    fn leads(&self, name: &str, from: &Entry, to: &Entry) -> bool {
        let (changes, mut reached) = (self.of(name), vec![from]);
        let mut next = 0;
        while let Some(at) = reached.get(next).copied() {
            if at == to {
                return true;
            }
            for (before, after) in changes {
                if before == at && !reached.contains(&after) {
                    reached.push(after);
                }
            }
            next += 1;
        }
        false
    }

    /// Returns the paths that were changed after they had these states, or that others changed meanwhile.
    fn since<'b>(&'b self, then: &'b Manifest) -> impl Iterator<Item = (&'b Name, Entry)> {
        self.0.iter().filter_map(|(name, changes)| {
            let begin = then.entry(name);
            let is_before = changes.iter().any(|(before, _)| *before == begin);
            let is_after = changes.iter().any(|(_, after)| *after == begin);
            (is_before || !is_after).then_some((name, begin))
        })
    }
}

impl State {
    pub(super) fn plan(
        &mut self,
        from: SnapshotId,
        to: SnapshotId,
        own: &[Change],
    ) -> Result<Restore, SnapshotError> {
        let mut plan = Restore { from, items: Vec::new(), foreign: Vec::new(), not_covered: Vec::new() };
        let beside = self.beside(from, own)?;
        for (name, traced) in self.trace(from, to, own, &beside)? {
            let now = self.root.entry(&name)?;
            let path = name.to_string();
            let unknown = [&traced.first, &traced.left].into_iter().find_map(|entry| match entry {
                Entry::NotCovered { reason, .. } => Some(*reason),
                _ => None,
            });
            if now == traced.first {
                continue;
            }
            match (unknown, &now) {
                (Some(reason), _) => plan.not_covered.push(NotCovered { path, reason }),
                (None, Entry::NotCovered { reason, .. }) => {
                    plan.not_covered.push(NotCovered { path, reason: *reason });
                }
                (None, _) => {
                    let is_foreign = traced.is_foreign || !beside.leads(&path, &traced.left, &now);
                    let item = Item { path, expected: now, target: traced.first };
                    if is_foreign { &mut plan.foreign } else { &mut plan.items }.push(item);
                }
            }
        }
        plan.keep_folders(&self.root);
        Ok(plan)
    }

    /// Follows all own changes between two snapshots.
    fn trace(
        &self,
        from: SnapshotId,
        to: SnapshotId,
        own: &[Change],
        beside: &Beside,
    ) -> Result<BTreeMap<Name, Traced>, SnapshotError> {
        let own: HashSet<&Change> = own.iter().collect();
        let mut traced: BTreeMap<Name, Traced> = BTreeMap::new();
        let links = self.store.links(to, from)?;
        let begin = self.manifest(to)?;
        let mut then = Manifest::clone(&begin);
        for link in links {
            let is_own = own.contains(&Change { before: link.parent, after: link.id });
            let names = if is_own { link.delta.keys().cloned().collect() } else { Vec::new() };
            let before: Vec<_> = names.iter().map(|name| then.entry(name)).collect();
            then.apply(&link.delta);
            for (name, before) in names.into_iter().zip(before) {
                let after = then.entry(&name);
                if before == after {
                    continue;
                }
                let path = traced.entry(Name::clone(&name)).or_insert_with(|| {
                    let begin = Some(begin.entry(&name)).filter(|begin| beside.leads(&name, begin, &before));
                    Traced::at(begin.unwrap_or_else(|| before.clone()))
                });
                path.is_foreign |= !beside.leads(&name, &path.left, &before);
                path.left = after;
            }
        }
        for (name, begin) in beside.since(&begin) {
            traced.entry(Name::clone(name)).or_insert_with(|| Traced::at(begin));
        }
        Ok(traced)
    }

    /// Reads the own changes that did not lead to a snapshot. Those whose snapshots were deleted are left out.
    fn beside(&self, from: SnapshotId, own: &[Change]) -> Result<Beside, SnapshotError> {
        let mut beside = Beside::default();
        if own.is_empty() {
            return Ok(beside);
        }
        let line = self.store.line(from)?;
        let mut at: Option<(SnapshotId, Manifest)> = None;
        for change in own.iter().filter(|change| !line.contains(&change.after)) {
            let links = match self.store.links(change.before, change.after) {
                Err(SnapshotError::Unknown(_)) => continue,
                links => links?,
            };
            let mut then = match at.take() {
                Some((id, manifest)) if id == change.before => manifest,
                _ => Manifest::clone(&*self.manifest(change.before)?),
            };
            for link in links {
                let before: Vec<_> = link.delta.keys().map(|name| then.entry(name)).collect();
                then.apply(&link.delta);
                for (name, before) in link.delta.keys().zip(before) {
                    beside.0.entry(Name::clone(name)).or_default().push((before, then.entry(name)));
                }
            }
            at = Some((change.after, then));
        }
        Ok(beside)
    }
}

impl Traced {
    fn at(state: Entry) -> Self {
        Self { first: state.clone(), left: state, is_foreign: false }
    }
}

impl Restore {
    /// Takes those folders out of the plan that would not be empty: something of others is in them.
    fn keep_folders(&mut self, root: &Root) {
        let items = std::mem::take(&mut self.items);
        let mut going = HashSet::new();
        // What is in a folder comes after it.
        for item in items.into_iter().rev() {
            let is_going = item.target == Entry::Absent;
            let clears_folder = item.expected.is_folder() && item.clears();
            if !clears_folder || is_left_empty(root, &item.path, &going) {
                if is_going {
                    going.insert(item.path.clone());
                }
                self.items.push(item);
            } else if !is_going {
                self.foreign.push(item);
            }
        }
        self.items.reverse();
        self.foreign.sort_by(|a, b| a.path.cmp(&b.path));
    }
}

fn is_left_empty(root: &Root, path: &str, going: &HashSet<String>) -> bool {
    let entries = || {
        let place = root.place(path).ok()??;
        open_folder(&place.dir, &place.name).ok()?.entries().ok()
    };
    let Some(mut entries) = entries() else { return false };
    entries.all(|entry| {
        let name = entry.ok().and_then(|entry| entry.file_name().into_string().ok());
        name.is_some_and(|name| going.contains(&format!("{path}/{name}")))
    })
}
