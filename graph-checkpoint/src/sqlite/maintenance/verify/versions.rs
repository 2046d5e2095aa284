//! Checks the versions of fields: that each refers to its previous version, that the map of each checkpoint is right,
//! and that all versions fold to values.

use std::collections::{BTreeSet, HashMap, HashSet};

use superstep_core::state::FieldId;

use super::checkpoints::{Referred, Texts};
use super::known::{Known, SegmentState};
use super::{Check, problem};
use crate::sqlite::connection::Connection;
use crate::sqlite::history::changes::{Fields, Part, Version};
use crate::sqlite::history::versions::{self, Rows};

/// A version as a key: the row of its checkpoint, and the field.
type Key = (i64, FieldId);

/// The versions that were read so far, from older checkpoints to newer ones.
pub(super) struct Versions {
    there: HashSet<Key>,
    /// Versions that no valid version continues: folding them folds all.
    last: BTreeSet<Key>,
    /// For each segment, its newest valid version: folding it folds those before it.
    newest: HashMap<i64, (usize, Key)>,
    /// Versions that cannot be folded, for a reason that was already reported.
    broken: HashSet<Key>,
    /// Rows whose versions cannot be read.
    unreadable: HashSet<i64>,
    /// The map at each checkpoint that has children which were not read yet.
    maps: HashMap<i64, (Fields, usize)>,
    children: HashMap<i64, usize>,
}

fn key(version: Version) -> Key {
    (version.seq, version.field)
}

impl Versions {
    pub(super) fn new(known: &Known) -> Self {
        let mut children: HashMap<i64, usize> = HashMap::new();
        for parent in known.checkpoints.values().filter_map(|known| known.parent) {
            *children.entry(parent).or_default() += 1;
        }
        Self {
            there: HashSet::new(),
            last: BTreeSet::new(),
            newest: HashMap::new(),
            broken: HashSet::new(),
            unreadable: HashSet::new(),
            maps: HashMap::new(),
            children,
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.there.len() as u64
    }

    /// Records that the row at `seq` is damaged, so that rows that depend on it are not reported again.
    pub(super) fn unreadable(&mut self, seq: i64) {
        self.unreadable.insert(seq);
    }

    /// Checks the checkpoint at `seq`; returns the problems of its versions.
    pub(super) fn take(&mut self, check: &mut Check<'_>, seq: i64, texts: &Texts) -> Vec<String> {
        let mut wrong = Vec::new();
        let schema = check.known.schemas.get(&check.known.checkpoints[&seq].schema);
        let name = |field: FieldId| match schema.and_then(|schema| schema.fields.get(field.index())) {
            Some(field) => field.name.clone(),
            None => field.0.to_string(),
        };
        let bodies = Referred { there: &check.known.bodies, used: (&mut check.used).into() };
        for change in &texts.changes {
            let version = (seq, change.field);
            let mut sound = true;
            for op in &change.ops {
                if let Err(error) = op.resolve(&bodies) {
                    wrong.push(format!("field {}: {}", name(change.field), problem(error)));
                    sound = false;
                }
            }
            let before = match change.part() {
                None => change.prev(),
                Some(part) => match check.known.segments.get_mut(&part.segment) {
                    None => {
                        let field = name(change.field);
                        let row = part.segment;
                        wrong.push(format!(
                            "field {field}: segment row {row}, which it refers to, is missing"
                        ));
                        // It is reported only once.
                        check.known.segments.insert(row, SegmentState::default());
                        sound = false;
                        None
                    }
                    Some(segment) => {
                        segment.is_used = true;
                        sound &= segment.is_sound;
                        match segment.is_sound.then(|| check.read.lookup(check.connection, part)) {
                            None => None,
                            Some(Ok(before)) => before,
                            Some(Err(error)) => {
                                wrong.push(format!("field {}: {}", name(change.field), problem(error)));
                                sound = false;
                                None
                            }
                        }
                    }
                },
            };
            if before.is_some_and(|before| before.seq >= seq) {
                wrong.push(format!("field {}: the version before it is not older", name(change.field)));
                sound = false;
            }
            if let Some(before) = before.map(key) {
                match self.there.contains(&before) {
                    true if !self.broken.contains(&before) => drop(self.last.remove(&before)),
                    true => sound = false,
                    false => {
                        if !self.unreadable.contains(&before.0) {
                            let lost = format!(
                                "field {}: its version at row {} is missing",
                                name(change.field),
                                before.0
                            );
                            wrong.push(lost);
                        }
                        sound = false;
                    }
                }
            }
            self.there.insert(version);
            match sound {
                true => self.is_last(version, change.part()),
                false => drop(self.broken.insert(version)),
            }
        }
        let (map, told) = self.map(&check.known, seq, texts);
        wrong.extend(told);
        let Some(map) = map else { return wrong };
        for (position, version) in map.iter().enumerate() {
            let Some(version) = version else { continue };
            let field = FieldId(u16::try_from(position).unwrap_or(u16::MAX));
            if schema.is_some_and(|schema| position >= schema.fields.len()) {
                wrong.push(format!("it has a value for field {position}, which its schema does not have"));
            }
            // Problems of a map that was inherited from the parent were reported there.
            let own = texts.fields.is_some();
            if own && !self.there.contains(&key(*version)) && !self.unreadable.contains(&version.seq) {
                wrong.push(format!("field {}: its version at row {} is missing", name(field), version.seq));
            }
        }
        if let Some(children) = self.children.get(&seq) {
            self.maps.insert(seq, (map, *children));
        }
        wrong
    }

    /// Records a valid version that no other version continues so far.
    fn is_last(&mut self, version: Key, part: Option<Part>) {
        if let Some(Part { segment, version: position }) = part {
            match self.newest.get(&segment) {
                Some((newer, _)) if *newer > position => return,
                Some((_, older)) => drop(self.last.remove(older)),
                None => {}
            }
            self.newest.insert(segment, (position, version));
        }
        self.last.insert(version);
    }

    /// Returns the map from field to version at `seq`, if it is known, and the problem of the stored one.
    fn map(&mut self, known: &Known, seq: i64, texts: &Texts) -> (Option<Fields>, Option<String>) {
        let row = &known.checkpoints[&seq];
        let before = match row.parent {
            // For a pruned checkpoint, only the map is left.
            _ if row.pruned => None,
            None => Some(Fields::new()),
            Some(parent) => {
                let same = known.checkpoints.get(&parent).is_some_and(|parent| parent.schema == row.schema);
                self.inherited(parent).filter(|_| same)
            }
        };
        let built = before.map(|mut map| {
            for change in &texts.changes {
                let index = change.field.index();
                map.resize(map.len().max(index + 1), None);
                map[index] = Some(Version { seq, field: change.field });
            }
            map
        });
        match (&texts.fields, built) {
            (None, built) => (built, None),
            (Some(stored), Some(built)) if !same(stored, &built) => {
                let wrong = "its map of fields is not that of its parent with its changes";
                (Some(stored.clone()), Some(wrong.to_owned()))
            }
            (Some(stored), _) => (Some(stored.clone()), None),
        }
    }

    /// Returns the map at a parent, and drops it with the parent's last child.
    fn inherited(&mut self, parent: i64) -> Option<Fields> {
        let (map, children) = self.maps.get_mut(&parent)?;
        *children -= 1;
        match children {
            0 => self.maps.remove(&parent).map(|(map, _)| map),
            _ => Some(map.clone()),
        }
    }

    /// Folds all versions; returns the problems of those that do not fold, each with the checkpoint of the last one.
    pub(super) fn fold(self, connection: &Connection, known: &Known) -> Vec<(i64, String)> {
        let mut wrong = Vec::new();
        for (seq, field) in self.last {
            let Err(error) = versions::value(connection, Version { seq, field }, &mut Rows::default()) else {
                continue;
            };
            let schema = known.checkpoints.get(&seq).and_then(|row| known.schemas.get(&row.schema));
            let name = schema.and_then(|schema| schema.fields.get(field.index()));
            let name = name.map_or_else(|| field.0.to_string(), |field| field.name.clone());
            wrong.push((seq, format!("field {name}: {}", problem(error))));
        }
        wrong
    }
}

/// Returns `true` if two maps have the same versions; a field beyond the end of the shorter one has no version there.
fn same(a: &Fields, b: &Fields) -> bool {
    let longest = a.len().max(b.len());
    let at = |map: &Fields, index: usize| map.get(index).copied().flatten();
    (0..longest).all(|index| at(a, index) == at(b, index))
}
