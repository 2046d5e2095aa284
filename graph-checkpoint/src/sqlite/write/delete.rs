//! Deletes a thread with all data that no other thread needs.
//!
//! A deletion takes a sequence number in the store's order, like a commit, so that every cache of the file detects it,
//! and no number is used twice. The row with that number is empty, belongs to no thread, and is removed by the next
//! deletion.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use rusqlite::{Params, Row};
use superstep_core::checkpoint::{Seq, Source, StoreError, still_needed};
use superstep_core::id::{CheckpointId, NodeName, RunId, ThreadId};
use uuid::Uuid;

use crate::history::decode;
use crate::history::rows::ThreadRow;
use crate::sqlite::column::{optional_text, text};
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::history::branch;
use crate::sqlite::history::changes::{Fields, StoredChange, parse_changes, parse_fields};
use crate::sqlite::history::row_texts::REFERRING;
use crate::sqlite::history::rows::CheckpointRow;
use crate::sqlite::history::segment::{SEGMENT, Segment};
use crate::sqlite::pending;
use crate::sqlite::pending::key::WorkKey;
use crate::sqlite::read::named;
use crate::sqlite::records;
use crate::sqlite::write::cache::WriteCache;
use crate::sqlite::write::lease;

/// The thread id of the empty rows of deletions.
const NO_THREAD: i64 = 0;

impl WriteCache {
    pub(crate) fn delete(&mut self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError> {
        let Some(row) = ThreadRow::find(&self.connection, thread)? else {
            return records::delete_thread(&self.connection, thread).map(drop);
        };
        if row.graph != graph.as_str() {
            return Err(StoreError::WrongGraph {
                thread: thread.clone(),
                expected: graph.to_string(),
                found: row.graph,
            });
        }
        lease::take(&self.connection, thread)?;
        let plan = Plan::of(&self.connection, thread)?;
        plan.carry_out(&self.connection)?;
        records::delete_thread(&self.connection, thread)?;
        self.forget();
        Ok(())
    }
}

/// The rows to delete, and the remains that other threads need.
struct Plan {
    /// The threads to delete, by their rows.
    threads: HashMap<i64, ThreadRow>,
    /// Their checkpoints to delete, with their threads, newest first.
    going: Vec<(i64, i64)>,
    /// For each thread with checkpoints that remain, the newest of those.
    heads: HashMap<i64, i64>,
    /// The latest sequence number.
    last: i64,
}

impl Plan {
    /// Reads threads and parents without their checksums: if those are damaged, the data could not be read anyway.
    fn of(connection: &Connection, thread: &ThreadId) -> Result<Self, StoreError> {
        let all = ThreadRow::all(connection)?;
        let names: HashSet<ThreadId> = all.iter().map(|row| row.name.clone()).collect();
        let is_there = |root: &ThreadId| root != thread && names.contains(root);
        let (threads, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|row| row.name.goes_with(thread, is_there));
        let mut threads: HashMap<i64, ThreadRow> = threads.into_iter().map(|row| (row.id, row)).collect();

        // Rows are visited from newer to older; `built_on` contains rows that are still to be visited.
        let mut built_on: HashSet<i64> = others.iter().map(|row| row.head).collect();
        built_on.extend(named::places(connection, |thread| !threads.contains_key(&thread))?);
        let mut owners = BTreeMap::new();
        let mut doomed = BTreeMap::new();
        let mut needed = Vec::new();
        let mut last = 0;
        let mut all = connection
            .prepare_cached(
                "SELECT seq, parent, thread FROM checkpoint \
                 WHERE thread <> 0 OR changes = '[]' ORDER BY seq DESC",
            )
            .map_err(sqlite)?;
        let mut rows = all.query([]).map_err(sqlite)?;
        while let Some(row) = rows.next().map_err(sqlite)? {
            let seq: i64 = row.get(0).map_err(sqlite)?;
            let parent: Option<i64> = row.get(1).map_err(sqlite)?;
            let owner: i64 = row.get(2).map_err(sqlite)?;
            last = last.max(seq);
            let is_needed = built_on.remove(&seq);
            if owner == NO_THREAD || threads.contains_key(&owner) {
                owners.insert(seq, owner);
                doomed.insert(place(seq), parent.map(place));
                needed.extend(is_needed.then_some(place(seq)));
            } else {
                built_on.extend(parent);
            }
        }

        let mut named = Vec::new();
        let staying = still_needed(&doomed, needed, |seq| kept(connection, seq, &mut named))?;
        // Threads from which a subgraph continues keep their names, and the past of their heads.
        threads.retain(|id, _| !named.contains(id));
        let (staying, going): (Vec<_>, Vec<_>) =
            owners.into_iter().rev().partition(|(seq, _)| staying.contains(&place(*seq)));
        let mut heads = HashMap::new();
        for (seq, owner) in staying {
            heads.entry(owner).or_insert(seq);
        }
        Ok(Self { threads, going, heads, last })
    }

    fn carry_out(&self, connection: &Connection) -> Result<(), StoreError> {
        let mut referred = Referred::default();
        // Threads that keep their names lose branches.
        let mut lessened = HashSet::new();
        for (seq, owner) in &self.going {
            take_out(connection, *seq, &mut referred)?;
            if !self.goes(*owner) {
                execute(connection, &WORK_AT, [*owner, *seq])?;
                execute(connection, &[BRANCHES], [*owner])?;
                lessened.insert(*owner);
            }
        }
        for row in self.threads.values() {
            match self.heads.get(&row.id) {
                Some(head) => leave(connection, row, *head)?,
                None => execute(connection, &THREAD, [row.id])?,
            }
        }
        lessened.retain(|thread| *thread != NO_THREAD && !self.threads.contains_key(thread));
        if !lessened.is_empty() {
            branch::find(connection, 0, |thread| lessened.contains(&thread))?;
        }
        for seq in holders_of_nothing(connection)? {
            take_out(connection, seq, &mut referred)?;
        }
        take_place(connection, self.last + 1)?;
        referred.drop_unused(connection)
    }

    /// Returns `true` if the thread is deleted completely.
    fn goes(&self, thread: i64) -> bool {
        self.threads.contains_key(&thread) && !self.heads.contains_key(&thread)
    }
}

pub(crate) fn place(seq: i64) -> Seq {
    Seq(seq.cast_unsigned())
}

/// Returns the positions from which the subgraphs continue whose state a checkpoint keeps, and adds their threads to
/// `named`.
pub(crate) fn kept(connection: &Connection, at: Seq, named: &mut Vec<i64>) -> Result<Vec<Seq>, StoreError> {
    let kept = CheckpointRow::visit(connection, at.0.cast_signed(), |_, manifest| decode::kept(manifest))?;
    let mut places = Vec::new();
    for kept in kept {
        places.extend(CheckpointRow::seq_of(connection, kept.checkpoint)?.map(place));
        if let Some(row) = ThreadRow::find(connection, &kept.thread)? {
            places.push(place(row.head));
            named.push(row.id);
        }
    }
    Ok(places)
}

/// The statements that delete a thread's work on top of a checkpoint.
pub(crate) const WORK_AT: [&str; 3] = [
    "DELETE FROM pending WHERE thread = ? AND base = ?",
    "DELETE FROM ask WHERE thread = ? AND base = ?",
    "DELETE FROM effect WHERE thread = ? AND base = ?",
];

const BRANCHES: &str = "DELETE FROM branch WHERE thread = ?";

/// The statements that delete a thread with its names, its branches and its work.
pub(crate) const THREAD: [&str; 6] = [
    "DELETE FROM named WHERE thread = ?",
    BRANCHES,
    "DELETE FROM pending WHERE thread = ?",
    "DELETE FROM ask WHERE thread = ?",
    "DELETE FROM effect WHERE thread = ?",
    "DELETE FROM thread WHERE id = ?",
];

pub(crate) fn execute(
    connection: &Connection,
    statements: &[&str],
    values: impl Params + Copy,
) -> Result<(), StoreError> {
    statements.iter().try_for_each(|sql| {
        let done = connection.prepare_cached(sql).and_then(|mut statement| statement.execute(values));
        done.map(drop).map_err(sqlite)
    })
}

/// Deletes the row at `seq`, and records the data to which it referred.
fn take_out(connection: &Connection, seq: i64, referred: &mut Referred) -> Result<(), StoreError> {
    let mut delete = connection
        .prepare_cached(&format!("DELETE FROM checkpoint WHERE seq = ? RETURNING {REFERRING}"))
        .map_err(sqlite)?;
    let mut rows = delete.query([seq]).map_err(sqlite)?;
    while let Some(row) = rows.next().map_err(sqlite)? {
        let [changes, manifest] = CheckpointRow::unchecked(connection, row)?;
        referred.segments.extend(segments(&changes));
        referred.bodies.extend(references(&changes).chain(references(&manifest)));
        let id: [u8; 16] = row.get(1).map_err(sqlite)?;
        execute(connection, &["DELETE FROM locator WHERE id = ?"], [id])?;
    }
    execute(connection, &["DELETE FROM emitted WHERE checkpoint = ?"], [seq])?;
    Ok(())
}

/// Keeps the part of a deleted thread that others share, up to `head`, under a name that no caller uses.
pub(crate) fn leave(connection: &Connection, row: &ThreadRow, head: i64) -> Result<(), StoreError> {
    if row.head == head {
        pending::settle(connection, WorkKey { thread: row.id, base: head })?;
    }
    execute(connection, &THREAD[..2], [row.id])?;
    let name = row.name.before_deletion().remnant(head.cast_unsigned());
    row.rename(connection, &name, head)
}

/// Takes a sequence number in the store's order with an empty row.
pub(crate) fn take_place(connection: &Connection, seq: i64) -> Result<(), StoreError> {
    let row = CheckpointRow {
        seq,
        id: CheckpointId(Uuid::nil()),
        parent: None,
        thread: NO_THREAD,
        run: RunId(Uuid::nil()),
        step: 0,
        source: Source::Update,
        schema: 0,
        topology: 0,
    };
    row.insert(connection, &row.store(connection, "[]", None, "{}")?).map_err(sqlite)?;
    CheckpointRow::locate(connection, seq)
}

/// Returns rows of no thread that pruning kept for versions that no longer exist.
fn holders_of_nothing(connection: &Connection) -> Result<Vec<i64>, StoreError> {
    let number = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let read = |sql: &str| -> Result<HashMap<i64, Option<i64>>, StoreError> {
        let mut all = connection.prepare_cached(sql).map_err(sqlite)?;
        let rows = all.query_map([], number).map_err(sqlite)?;
        rows.collect::<Result<_, _>>().map_err(sqlite)
    };
    let mut holders = read("SELECT seq, NULL FROM checkpoint WHERE thread = 0 AND changes <> '[]'")?;
    if holders.is_empty() {
        return Ok(Vec::new());
    }
    let before_segments = read("SELECT id, prev FROM segment")?;
    let sql = format!("SELECT {REFERRING}, fields FROM checkpoint ORDER BY seq DESC");
    let mut all = connection.prepare_cached(&sql).map_err(sqlite)?;
    let mut rows = all.query([]).map_err(sqlite)?;
    let mut referred = HashSet::new();
    let mut of_nothing = Vec::new();
    // Rows are visited from newer to older, so a row is visited after those that refer to it.
    while let Some(row) = rows.next().map_err(sqlite)? {
        let seq: i64 = row.get(0).map_err(sqlite)?;
        if holders.remove(&seq).is_some() && !referred.contains(&seq) {
            of_nothing.push(seq);
            continue;
        }
        let parsed = versions_of(connection, row, seq);
        // The needs of a damaged row are unknown, so all rows are kept.
        let Ok((changes, fields)) = parsed else { return Ok(Vec::new()) };
        referred.extend(fields.into_iter().flatten().map(|version| version.seq));
        for change in changes {
            let before_segment = change.part().and_then(|part| *before_segments.get(&part.segment)?);
            referred.extend(change.prev().map(|version| version.seq).or(before_segment));
        }
    }
    Ok(of_nothing)
}

/// Returns the changes and the map of a row of [`REFERRING`] with its map, unchecked.
fn versions_of(
    connection: &Connection,
    row: &Row<'_>,
    seq: i64,
) -> Result<(Vec<StoredChange>, Fields), StoreError> {
    let header = CheckpointRow::header(row, seq)?;
    let texts = header.open(connection, text(row, 9)?, optional_text(row, 11)?, text(row, 10)?)?;
    let fields = texts.fields.map_or(Ok(Fields::new()), |fields| parse_fields(&fields))?;
    Ok((parse_changes(&texts.changes)?, fields))
}

/// The long texts and segments to which deleted rows referred.
#[derive(Default)]
struct Referred {
    bodies: BTreeSet<i64>,
    segments: BTreeSet<i64>,
}

impl Referred {
    /// Deletes those to which nothing refers any longer.
    fn drop_unused(mut self, connection: &Connection) -> Result<(), StoreError> {
        let checkpoints = format!("SELECT {REFERRING} FROM checkpoint");
        spare(connection, &checkpoints, CheckpointRow::unchecked, &mut self.segments, |texts, used| {
            used.extend(segments(&texts[0]));
        })?;
        let mut delete = connection
            .prepare_cached(&format!("DELETE FROM segment WHERE id = ? RETURNING {SEGMENT}"))
            .map_err(sqlite)?;
        for segment in self.segments {
            let mut gone = delete.query([segment]).map_err(sqlite)?;
            while let Some(row) = gone.next().map_err(sqlite)? {
                for text in Segment::unchecked(connection, row)? {
                    self.bodies.extend(references(&text));
                }
            }
        }
        let refers = |texts: &[Cow<'_, str>; 2], used: &mut Vec<i64>| {
            used.extend(texts.iter().flat_map(|text| references(text)));
        };
        spare(connection, &checkpoints, CheckpointRow::unchecked, &mut self.bodies, refers)?;
        let segments = format!("SELECT {SEGMENT} FROM segment");
        spare(connection, &segments, Segment::unchecked, &mut self.bodies, refers)?;
        let mut delete = connection.prepare_cached("DELETE FROM body WHERE id = ?").map_err(sqlite)?;
        self.bodies.into_iter().try_for_each(|body| delete.execute([body]).map(drop).map_err(sqlite))
    }
}

/// Reads the texts of a row that may refer to others.
type Read = for<'r> fn(&Connection, &'r Row<'_>) -> Result<[Cow<'r, str>; 2], StoreError>;

/// Removes from `unused` everything to which the rows of the query `sql` refer.
fn spare(
    connection: &Connection,
    sql: &str,
    read: Read,
    unused: &mut BTreeSet<i64>,
    refers: impl Fn(&[Cow<'_, str>; 2], &mut Vec<i64>),
) -> Result<(), StoreError> {
    if unused.is_empty() {
        return Ok(());
    }
    let mut all = connection.prepare_cached(sql).map_err(sqlite)?;
    let mut rows = all.query([]).map_err(sqlite)?;
    let mut used = Vec::new();
    while let Some(row) = rows.next().map_err(sqlite)? {
        refers(&read(connection, row)?, &mut used);
        for id in used.drain(..) {
            unused.remove(&id);
        }
        if unused.is_empty() {
            break;
        }
    }
    Ok(())
}

/// Returns the long texts to which a stored text refers: the numbers after `_body":`. A key of a user may have the same
/// ending; data with that number is then kept without need.
pub(crate) fn references(text: &str) -> impl Iterator<Item = i64> {
    numbers_after("_body\":", text)
}

/// Returns the segments to which stored changes refer, and numbers after users' keys, as above.
pub(crate) fn segments(changes: &str) -> impl Iterator<Item = i64> {
    numbers_after("\"segment\":[", changes)
}

fn numbers_after(mark: &'static str, text: &str) -> impl Iterator<Item = i64> {
    text.split(mark).skip(1).filter_map(|rest| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        rest[..digits].parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_found_and_quotations_are_not() {
        let text = r#"[{"op":{"set_body":12}},{"input_body":3,"x":"\"set_body\":4"}]"#;
        assert_eq!(references(text).collect::<Vec<_>>(), [12, 3]);
        let changes = r#"[{"field":0,"segment":[7,3]},{"field":1,"ops":[{"set":"\"segment\":[8"}]}]"#;
        assert_eq!(segments(changes).collect::<Vec<_>>(), [7]);
    }
}
