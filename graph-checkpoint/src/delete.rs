//! Deleting a thread, with everything that nobody else needs.
//!
//! A deletion takes a place in the store's order, like a commit: so whoever remembers the file notices it, and no
//! sequence number is given twice. The row that takes it is empty, belongs to no thread, and goes with the next
//! deletion.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use rusqlite::Params;
use superstep_core::checkpoint::{Seq, Source, StoreError, still_needed};
use superstep_core::id::{CheckpointId, NodeName, RunId, ThreadId};
use uuid::Uuid;

use crate::connection::Connection;
use crate::decode;
use crate::fault::sqlite;
use crate::lease;
use crate::live::Live;
use crate::named;
use crate::place::Place;
use crate::rows::{CheckpointRow, ThreadRow};
use crate::texts::REFERRING;
use crate::work;

/// The thread of the rows that take the places of deletions.
const NO_THREAD: i64 = 0;

impl Live {
    pub(crate) fn delete(&mut self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError> {
        let Some(row) = ThreadRow::find(&self.connection, thread)? else {
            return Ok(());
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
        self.forget();
        Ok(())
    }
}

/// What goes, and what stays of it for others.
struct Plan {
    /// The threads that go, by their rows.
    threads: HashMap<i64, ThreadRow>,
    /// Their checkpoints that go with them, with their threads, newest first.
    going: Vec<(i64, i64)>,
    /// Of each thread of which checkpoints stay, the newest of those.
    heads: HashMap<i64, i64>,
    /// The latest place in the store's order.
    last: i64,
}

impl Plan {
    /// Reads threads and parents without their checksums: where those are damaged, nobody can read what is lost.
    fn of(connection: &Connection, thread: &ThreadId) -> Result<Self, StoreError> {
        let all = ThreadRow::all(connection)?;
        let names: HashSet<ThreadId> = all.iter().map(|row| row.name.clone()).collect();
        let is_there = |root: &ThreadId| root != thread && names.contains(root);
        let (threads, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|row| row.name.goes_with(thread, is_there));
        let mut threads: HashMap<i64, ThreadRow> = threads.into_iter().map(|row| (row.id, row)).collect();

        // From newer to older, `built_on` holds those whose turn is to come.
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
        // Threads that a subgraph goes on from keep their names, and all that leads to their heads.
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
        let mut bodies = BTreeSet::new();
        for (seq, owner) in &self.going {
            take_out(connection, *seq, &mut bodies)?;
            if !self.goes(*owner) {
                execute(connection, &WORK_AT, [*owner, *seq])?;
            }
        }
        for row in self.threads.values() {
            match self.heads.get(&row.id) {
                Some(head) => leave(connection, row, *head)?,
                None => execute(connection, &THREAD, [row.id])?,
            }
        }
        take_place(connection, self.last + 1)?;
        drop_unused(connection, bodies)
    }

    /// Whether the thread goes as a whole.
    fn goes(&self, thread: i64) -> bool {
        self.threads.contains_key(&thread) && !self.heads.contains_key(&thread)
    }
}

pub(crate) fn place(seq: i64) -> Seq {
    Seq(seq.cast_unsigned())
}

/// Where the subgraphs that a checkpoint keeps go on from; their threads are added to `named`.
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

/// All that a thread has on top of a checkpoint.
pub(crate) const WORK_AT: [&str; 3] = [
    "DELETE FROM pending WHERE thread = ? AND base = ?",
    "DELETE FROM ask WHERE thread = ? AND base = ?",
    "DELETE FROM effect WHERE thread = ? AND base = ?",
];

/// A thread, with its names and its work.
pub(crate) const THREAD: [&str; 5] = [
    "DELETE FROM named WHERE thread = ?",
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

/// Deletes the row at `seq`, and notes the long texts that it refers to.
fn take_out(connection: &Connection, seq: i64, bodies: &mut BTreeSet<i64>) -> Result<(), StoreError> {
    let mut delete = connection
        .prepare_cached(&format!("DELETE FROM checkpoint WHERE seq = ? RETURNING {REFERRING}"))
        .map_err(sqlite)?;
    let mut rows = delete.query([seq]).map_err(sqlite)?;
    while let Some(row) = rows.next().map_err(sqlite)? {
        for text in CheckpointRow::unchecked(connection, row)? {
            bodies.extend(references(&text));
        }
        let id: [u8; 16] = row.get(1).map_err(sqlite)?;
        execute(connection, &["DELETE FROM locator WHERE id = ?"], [id])?;
    }
    execute(connection, &["DELETE FROM emitted WHERE checkpoint = ?"], [seq])?;
    Ok(())
}

/// Leaves of a deleted thread what others share with it, up to `head`, under a name that no caller uses.
pub(crate) fn leave(connection: &Connection, row: &ThreadRow, head: i64) -> Result<(), StoreError> {
    if row.head == head {
        work::settle(connection, Place { thread: row.id, base: head })?;
    }
    execute(connection, &["DELETE FROM named WHERE thread = ?"], [row.id])?;
    let name = row.name.before_deletion().remnant(head.cast_unsigned());
    row.rename(connection, &name, head)
}

/// Takes a place in the store's order with a row that says nothing.
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

/// Deletes those of these long texts that no checkpoint refers to any more.
fn drop_unused(connection: &Connection, mut bodies: BTreeSet<i64>) -> Result<(), StoreError> {
    if bodies.is_empty() {
        return Ok(());
    }
    let mut all =
        connection.prepare_cached(&format!("SELECT {REFERRING} FROM checkpoint")).map_err(sqlite)?;
    let mut rows = all.query([]).map_err(sqlite)?;
    while let Some(row) = rows.next().map_err(sqlite)? {
        for text in CheckpointRow::unchecked(connection, row)? {
            for body in references(&text) {
                bodies.remove(&body);
            }
        }
        if bodies.is_empty() {
            return Ok(());
        }
    }
    let mut delete = connection.prepare_cached("DELETE FROM body WHERE id = ?").map_err(sqlite)?;
    bodies.into_iter().try_for_each(|body| delete.execute([body]).map(drop).map_err(sqlite))
}

/// The long texts that a stored text refers to: the numbers after `_body":`. A user's key may end so as well; what it
/// names then stays for nothing.
pub(crate) fn references(text: &str) -> impl Iterator<Item = i64> {
    text.split("_body\":").skip(1).filter_map(|rest| {
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
    }
}
