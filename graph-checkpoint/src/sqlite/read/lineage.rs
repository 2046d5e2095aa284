//! The checkpoint tree that contains a thread.

use std::collections::{BTreeMap, HashMap, HashSet};

use superstep_core::checkpoint::{Source, StoreError, Summary};
use superstep_core::id::{CheckpointId, ThreadId};
use uuid::Uuid;

use crate::history::decode::Outlines;
use crate::history::rows::{ThreadRow, source_code};
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::history::rows::CheckpointRow;
use crate::sqlite::read::reader::{Names, name};

/// Returns all checkpoints that descend from the first one of a thread, newest first. The rows of those that are `known`,
/// which an earlier call returned, are not read again.
pub(crate) fn lineage(
    connection: &Connection,
    thread: &ThreadId,
    known: &[Summary],
) -> Result<Vec<Summary>, StoreError> {
    let Some(thread) = ThreadRow::find(connection, thread)? else {
        return Ok(Vec::new());
    };
    let members = members(connection, &thread)?;
    let known = known.iter().map(|summary| (summary.seq.0.cast_signed(), summary));
    let mut known: HashMap<i64, &Summary> = known.collect();
    // Where a checkpoint was deleted or pruned, another one may have lost its past.
    let is_unchanged = |(seq, summary): (&i64, &&Summary)| {
        let place = members.binary_search_by_key(seq, |member| member.seq);
        place.is_ok_and(|place| members[place].is_pruned == (summary.source == Source::Pruned))
    };
    if !known.iter().all(is_unchanged) {
        known.clear();
    }
    let mut unread = members.iter().rev().map(|member| member.seq).filter(|seq| !known.contains_key(seq));
    let mut ids: HashMap<i64, CheckpointId> = known.iter().map(|(seq, summary)| (*seq, summary.id)).collect();
    let mut found: HashMap<i64, (Option<i64>, Summary)> = HashMap::new();
    if let Some(newest) = unread.next() {
        let mut names = Names::from([(thread.id, thread.name)]);
        let mut outlines = Outlines::default();
        CheckpointRow::descend(connection, newest, |row, manifest| {
            let name = name(connection, &mut names, row.thread)?;
            ids.insert(row.seq, row.id);
            found.insert(row.seq, (row.parent, row.summary(outlines.of(manifest)?, None, name)?));
            Ok(unread.next())
        })?;
    }
    let linked = members.iter().rev().filter_map(|Member { seq, .. }| match found.remove(seq) {
        Some((parent, summary)) => {
            let parent = parent.and_then(|parent| ids.get(&parent).copied());
            Some(Summary { parent, ..summary })
        }
        None => known.get(seq).map(|known| (*known).clone()),
    });
    Ok(linked.collect())
}

/// Returns the first checkpoint of the past of each thread that can be read.
pub(crate) fn first_checkpoints(
    connection: &Connection,
) -> Result<BTreeMap<ThreadId, CheckpointId>, StoreError> {
    let mut all =
        connection.prepare_cached("SELECT seq, id, parent FROM checkpoint ORDER BY seq").map_err(sqlite)?;
    let mut rows = all.query([]).map_err(sqlite)?;
    let mut firsts: HashMap<i64, CheckpointId> = HashMap::new();
    while let Some(row) = rows.next().map_err(sqlite)? {
        let id = CheckpointId(Uuid::from_bytes(row.get(1).map_err(sqlite)?));
        let parent: Option<i64> = row.get(2).map_err(sqlite)?;
        let first = parent.and_then(|parent| firsts.get(&parent).copied()).unwrap_or(id);
        firsts.insert(row.get(0).map_err(sqlite)?, first);
    }
    let threads = ThreadRow::readable(connection)?.into_iter();
    Ok(threads.filter_map(|row| Some((row.name, *firsts.get(&row.head)?))).collect())
}

/// A checkpoint of a tree, whose row is read and checked afterwards.
struct Member {
    seq: i64,
    is_pruned: bool,
}

/// Returns the checkpoints of the tree, oldest first.
fn members(connection: &Connection, thread: &ThreadRow) -> Result<Vec<Member>, StoreError> {
    let threads = ThreadRow::all(connection)?.into_iter();
    let of_subgraphs: HashSet<i64> =
        threads.filter(|row| row.name.before_deletion().is_below()).map(|row| row.id).collect();
    let mut all = connection
        .prepare_cached("SELECT seq, parent, thread, source FROM checkpoint ORDER BY seq")
        .map_err(sqlite)?;
    let mut rows = all.query([]).map_err(sqlite)?;
    let mut firsts: HashMap<i64, i64> = HashMap::new();
    let mut places = Vec::new();
    while let Some(row) = rows.next().map_err(sqlite)? {
        let seq: i64 = row.get(0).map_err(sqlite)?;
        let parent: Option<i64> = row.get(1).map_err(sqlite)?;
        let first = parent.and_then(|parent| firsts.get(&parent).copied()).unwrap_or(seq);
        firsts.insert(seq, first);
        if !of_subgraphs.contains(&row.get(2).map_err(sqlite)?) {
            let is_pruned = row.get::<_, i16>(3).map_err(sqlite)? == source_code(Source::Pruned);
            places.push((Member { seq, is_pruned }, first));
        }
    }
    let first = firsts.get(&thread.head);
    Ok(places.into_iter().filter(|(_, of)| Some(of) == first).map(|(member, _)| member).collect())
}
