//! Deletes old rows, the oldest first, and replaces them with the data that newer checkpoints need.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use rusqlite::params;
use superstep_core::checkpoint::{Source, StoreError};
use superstep_core::id::{CheckpointId, RunId};
use superstep_core::state::{Change, FieldId, Op};
use uuid::Uuid;

use super::Pruned;
use super::past::{Past, changes, read};
use crate::error::corrupt;
use crate::history::encode::Encoder;
use crate::history::rows::ThreadRow;
use crate::limited::too_large;
use crate::maintenance::MaintenanceError;
use crate::retention::{Policy, merge, now_ms, select};
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::history::branch::End;
use crate::sqlite::history::changes::Version;
use crate::sqlite::history::long_texts::BodyTable;
use crate::sqlite::history::rows::CheckpointRow;
use crate::sqlite::history::segment::{Segment, Segments};
use crate::sqlite::maintenance::writing::{begin, failed};
use crate::sqlite::read::named;
use crate::sqlite::write::delete::{THREAD, WORK_AT, execute, leave, take_place};

/// The maximum number of rows in one transaction.
const AT_A_TIME: usize = 256;

/// The remaining part of a pruning.
pub(super) struct Cut {
    past: Past,
    doomed: BTreeSet<i64>,
    dead: HashMap<i64, ThreadRow>,
}

/// A row that replaces a deleted one.
struct Left {
    row: CheckpointRow,
    changes: String,
    map: Option<String>,
}

impl Cut {
    pub(super) fn plan(connection: &Connection, policy: &Policy) -> Result<Self, StoreError> {
        let mut past = Past::read(connection)?;
        let (threads, named) = (ThreadRow::all(connection)?, named::places(connection, |_| true)?);
        let selected = select(&past.take_standings(), threads, named, policy, now_ms());
        let staying = selected.rows;
        let referred: BTreeSet<i64> = staying
            .iter()
            .filter_map(|seq| past.rows.get(seq))
            .flat_map(|row| row.refers())
            .map(|version| version.seq)
            .collect();
        let goes = |seq: &i64| {
            let is_holder = !past.rows[seq].is_checkpoint();
            !(staying.contains(seq) || is_holder && referred.contains(seq))
        };
        let doomed = past.rows.keys().copied().filter(goes).collect();
        Ok(Self { past, doomed, dead: selected.dead })
    }

    /// Deletes everything; returns `false` if another program has changed the data for which the plan was made.
    pub(super) fn carry_out(
        &mut self,
        connection: &Connection,
        pruned: &mut Pruned,
        patience: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<bool, MaintenanceError> {
        // Rows that an earlier transaction left because rows that are deleted in this one needed them.
        let mut passing: BTreeSet<i64> = BTreeSet::new();
        while !self.doomed.is_empty() && !stop() {
            let transaction = begin(connection, patience)?;
            let Some(last) = self.caught_up(connection)? else { return Ok(false) };
            let some: Vec<i64> = self.doomed.iter().copied().take(AT_A_TIME).collect();
            let gone: BTreeSet<i64> = some.iter().copied().chain(std::mem::take(&mut passing)).collect();
            let left = self.left(connection, &gone)?;
            let told = self.replace(connection, &gone, &left)?;
            // The new position makes the change visible to others, and no two programs prune at once.
            take_place(connection, last + 1)?;
            // The latest position prevents its number from being used again; the earlier ones are not needed.
            for place in self.past.places.drain(..) {
                execute(connection, &["DELETE FROM checkpoint WHERE seq = ? AND thread = 0"], [place])?;
            }
            self.past.places.push(last + 1);
            transaction.commit().map_err(|error| failed(error, patience))?;
            self.past.last = last + 1;
            self.doomed.retain(|seq| !gone.contains(seq));
            passing.extend(left.keys());
            pruned.add(told);
            for seq in gone {
                self.past.rows.remove(&seq);
                if left.contains_key(&seq) {
                    self.past.rows.insert(seq, read(connection, seq, &mut Segments::default())?);
                }
            }
        }
        Ok(true)
    }

    /// Returns the number of remaining rows.
    pub(super) fn len(&self) -> u64 {
        self.past.rows.len() as u64
    }

    /// Returns the latest position in the store's order; `None` if another program has continued from a row to be
    /// deleted, or has pruned or deleted since. Otherwise, rows written in the meantime refer to no deleted row: all
    /// data that they can refer to is kept.
    fn caught_up(&self, connection: &Connection) -> Result<Option<i64>, StoreError> {
        let stands = |head: i64, thread: i64| self.doomed.contains(&head) && !self.dead.contains_key(&thread);
        if ThreadRow::all(connection)?.iter().any(|thread| stands(thread.head, thread.id)) {
            return Ok(None);
        }
        if !named::places(connection, |_| true)?.is_disjoint(&self.doomed) {
            return Ok(None);
        }
        let mut newer = connection
            .prepare_cached("SELECT seq, parent, thread FROM checkpoint WHERE seq > ? ORDER BY seq")
            .map_err(sqlite)?;
        let mut rows = newer.query([self.past.last]).map_err(sqlite)?;
        let mut last = self.past.last;
        while let Some(row) = rows.next().map_err(sqlite)? {
            last = row.get(0).map_err(sqlite)?;
            let parent: Option<i64> = row.get(1).map_err(sqlite)?;
            let is_place = row.get::<_, i64>(2).map_err(sqlite)? == 0;
            if is_place || parent.is_some_and(|parent| self.doomed.contains(&parent)) {
                return Ok(None);
            }
        }
        Ok(Some(last))
    }

    /// Returns the rows that replace those in `gone` which other rows still need.
    fn left(&self, connection: &Connection, gone: &BTreeSet<i64>) -> Result<BTreeMap<i64, Left>, StoreError> {
        let mut needed = Needed::default();
        let mut need = |version: Version| {
            if gone.contains(&version.seq) {
                needed.versions.entry(version.seq).or_default().insert(version.field);
            }
        };
        let mut segments = BTreeSet::new();
        let mut stood_on = BTreeSet::new();
        for (_, row) in self.past.rows.iter().filter(|(seq, _)| !gone.contains(seq)) {
            row.refers().for_each(&mut need);
            segments.extend(row.segments());
            stood_on.extend(row.row.parent.filter(|parent| row.is_checkpoint() && gone.contains(parent)));
        }
        for seq in &stood_on {
            self.past.map_at(*seq).into_iter().flatten().for_each(&mut need);
        }
        // A running program may have moved versions to a segment since the plan was made.
        newer_segments(connection, self.past.last_segment)?.into_iter().for_each(&mut need);
        needed.segments = segments;
        let mut left = BTreeMap::new();
        let mut before = i64::MAX;
        // Rows are visited from newer to older, because the rest of a version may need an older one.
        while let Some(seq) = needed.below(before).max(stood_on.range(..before).next_back().copied()) {
            before = seq;
            let bodies = &BodyTable(connection);
            let (mut changes, mut map) = (String::from("["), None);
            let fields: Vec<FieldId> = needed.versions.get(&seq).into_iter().flatten().copied().collect();
            for (position, field) in fields.into_iter().enumerate() {
                let version = Version { seq, field };
                let mut encoder = Encoder { bodies, out: &mut changes };
                match self.past.version(version).and_then(|version| version.part) {
                    Some(part) if needed.segments.contains(&part.segment) => {
                        encoder.stored_change(position, field, None, Some(part), &[]);
                    }
                    _ => {
                        let (change, older) = self.collapsed(connection, version, gone, &mut needed)?;
                        encoder.change(position, &change, older)?;
                    }
                }
            }
            changes.push(']');
            let limits = connection.limits().of_record();
            limits
                .check(&changes)
                .map_err(|excess| too_large(format_args!("what is left of checkpoint row {seq}"), excess))?;
            let row = if stood_on.contains(&seq) {
                let out = map.insert(String::new());
                Encoder { bodies, out }.fields(&self.past.map_at(seq));
                let row = self.past.rows[&seq].row;
                CheckpointRow { parent: self.stands_on(seq, gone, &stood_on), source: Source::Pruned, ..row }
            } else {
                holder(seq)
            };
            left.insert(seq, Left { row, changes, map });
        }
        Ok(left)
    }

    /// Returns the newest checkpoint before `seq` that is at least partly kept.
    fn stands_on(&self, seq: i64, gone: &BTreeSet<i64>, stood_on: &BTreeSet<i64>) -> Option<i64> {
        let parent = |seq: &i64| self.past.rows.get(seq)?.row.parent;
        std::iter::successors(parent(&seq), parent).find(|seq| !gone.contains(seq) || stood_on.contains(seq))
    }

    /// Returns a version with the operations of the deleted versions before it, and the version from which it then
    /// continues.
    fn collapsed(
        &self,
        connection: &Connection,
        version: Version,
        gone: &BTreeSet<i64>,
        needed: &mut Needed,
    ) -> Result<(Change, Option<Version>), StoreError> {
        let held = |version| self.past.version(version);
        let mut chain = vec![version];
        let mut older = held(version).and_then(|held| held.before);
        while let Some(before) = older {
            if needed.has(before) || !gone.contains(&before.seq) {
                break;
            }
            let version = held(before);
            if version
                .and_then(|version| version.part)
                .is_some_and(|part| needed.segments.contains(&part.segment))
            {
                // Other versions need it, so it stays.
                needed.versions.entry(before.seq).or_default().insert(before.field);
                break;
            }
            chain.push(before);
            older = version.and_then(|version| version.before);
        }
        let mut ops = Vec::new();
        for version in chain.iter().rev() {
            ops.extend(self.ops(connection, *version)?);
        }
        if merge(&mut ops, older.is_some(), connection.limits())? {
            older = None;
        }
        Ok((Change { field: version.field, ops: ops.into_iter().collect() }, older))
    }

    /// Returns the operations of a deleted version, with those of the versions before it in its segment.
    fn ops(&self, connection: &Connection, version: Version) -> Result<Vec<Op>, StoreError> {
        let bodies = &BodyTable(connection);
        let stored = match self.past.version(version).and_then(|version| version.part) {
            Some(part) => Segment::find(connection, part.segment)?.up_to(part)?,
            None => {
                // The version may have been moved to a segment since it was read.
                let (changes, _) = changes(connection, version.seq)?;
                let change = changes.iter().find(|change| change.field == version.field);
                let lost = || corrupt(format_args!("checkpoint row {}", version.seq), "a version is missing");
                return Ok(change
                    .ok_or_else(lost)?
                    .resolve(connection, &mut Segments::default(), bodies)?
                    .ops);
            }
        };
        stored.iter().map(|op| op.resolve(bodies)).collect()
    }

    /// Deletes the rows in `gone` and inserts their replacements.
    fn replace(
        &self,
        connection: &Connection,
        gone: &BTreeSet<i64>,
        left: &BTreeMap<i64, Left>,
    ) -> Result<Pruned, StoreError> {
        let mut told = Pruned::default();
        let mut workers: HashMap<i64, BTreeSet<i64>> = HashMap::new();
        for row in self.past.rows.values().filter(|row| row.is_checkpoint()) {
            for on in row.row.parent.into_iter().chain([row.row.seq]).filter(|on| gone.contains(on)) {
                workers.entry(on).or_default().insert(row.row.thread);
            }
        }
        let stays = |seq| !gone.contains(&seq) || left.get(&seq).is_some_and(|left| left.row.thread != 0);
        for seq in gone {
            let held = &self.past.rows[seq];
            told.checkpoints += u64::from(held.is_checkpoint() && !held.is_pruned());
            told.bytes += size(connection, *seq)?;
            execute(connection, &["DELETE FROM checkpoint WHERE seq = ?"], [*seq])?;
            execute(connection, &["DELETE FROM emitted WHERE checkpoint = ?"], [*seq])?;
            if !stays(*seq) {
                execute(
                    connection,
                    &["DELETE FROM locator WHERE id = ?"],
                    params![held.row.id.0.as_bytes()],
                )?;
                // Work on a checkpoint that newer ones continue belongs to them.
                for worker in workers.get(seq).into_iter().flatten() {
                    execute(connection, &WORK_AT, [*worker, *seq])?;
                }
                self.move_end(connection, End { thread: held.row.thread, seq: *seq }, stays)?;
            }
            if let Some(Left { row, changes, map }) = left.get(seq) {
                let texts = row.store(connection, changes, map.as_deref(), "{}")?;
                row.insert(connection, &texts).map_err(sqlite)?;
                told.bytes -= size(connection, *seq)?;
            }
        }
        for thread in self.dead.values().filter(|thread| gone.contains(&thread.head)) {
            told.threads += 1;
            let rest =
                self.past.rows.iter().rev().find(|(seq, row)| row.row.thread == thread.id && stays(**seq));
            match rest {
                Some((newest, _)) => leave(connection, thread, *newest)?,
                None => execute(connection, &THREAD, [thread.id])?,
            }
        }
        Ok(told)
    }
}

impl Cut {
    /// Moves the end of a branch if it is deleted: the rest of the branch ends at an older checkpoint.
    fn move_end(
        &self,
        connection: &Connection,
        end: End,
        stays: impl Fn(i64) -> bool,
    ) -> Result<(), StoreError> {
        if !end.remove(connection)? {
            return Ok(());
        }
        let row = |seq: i64| self.past.rows.get(&seq).map(|row| &row.row);
        let older = std::iter::successors(row(end.seq), |held| row(held.parent?));
        let mut own = older.take_while(|held| held.thread == end.thread);
        own.find(|held| stays(held.seq)).map_or(Ok(()), |held| End { seq: held.seq, ..end }.keep(connection))
    }
}

/// The versions and segments of deleted rows that the remaining rows need.
#[derive(Default)]
struct Needed {
    /// Versions in deleted rows, by row.
    versions: BTreeMap<i64, BTreeSet<FieldId>>,
    /// Segments.
    segments: BTreeSet<i64>,
}

impl Needed {
    fn has(&self, version: Version) -> bool {
        self.versions.get(&version.seq).is_some_and(|fields| fields.contains(&version.field))
    }

    /// Returns the newest row before `seq` with such versions.
    fn below(&self, seq: i64) -> Option<i64> {
        self.versions.range(..seq).next_back().map(|(seq, _)| *seq)
    }
}

/// Returns the versions that segments newer than `last` continue from.
fn newer_segments(connection: &Connection, last: i64) -> Result<Vec<Version>, StoreError> {
    let sql = "SELECT prev, prev_field FROM segment WHERE id > ? AND prev NOT NULL";
    let mut newer = connection.prepare_cached(sql).map_err(sqlite)?;
    let read = |row: &rusqlite::Row<'_>| Ok(Version { seq: row.get(0)?, field: FieldId(row.get(1)?) });
    let rows = newer.query_map([last], read).map_err(sqlite)?;
    rows.map(|row| row.map_err(sqlite)).collect()
}

/// Returns a row that belongs to no thread.
fn holder(seq: i64) -> CheckpointRow {
    CheckpointRow {
        seq,
        id: CheckpointId(Uuid::nil()),
        parent: None,
        thread: 0,
        run: RunId(Uuid::nil()),
        step: 0,
        source: Source::Update,
        schema: 0,
        topology: 0,
    }
}

/// Returns the bytes of a checkpoint's texts, including emitted events.
fn size(connection: &Connection, seq: i64) -> Result<i64, StoreError> {
    let sql = "SELECT octet_length(changes) + octet_length(manifest) + coalesce(octet_length(fields), 0) + \
               coalesce((SELECT sum(octet_length(text)) FROM emitted WHERE checkpoint = seq), 0) \
               FROM checkpoint WHERE seq = ?";
    let mut find = connection.prepare_cached(sql).map_err(sqlite)?;
    find.query_row([seq], |row| row.get(0)).map_err(sqlite)
}
