//! Lists of threads, and of their open questions.

use std::ops::ControlFlow;

use superstep_core::checkpoint::{AskRecord, StoreError, ThreadScan, ThreadSummary};
use superstep_core::id::{NodeName, ThreadId};

use crate::checkpoint_reader::ThreadList;
use crate::history::decode::Outline;
use crate::history::rows::ThreadRow;
use crate::pending::Seen;
use crate::sqlite::connection::Connection;
use crate::sqlite::history::rows::CheckpointRow;
use crate::sqlite::pending::ask;
use crate::sqlite::read::reader::{Names, name};

/// Returns the threads that a scan asks for, by name. Reads nothing more of the others.
pub(crate) fn threads(connection: &Connection, scan: &ThreadScan) -> Result<Vec<ThreadSummary>, StoreError> {
    let limit = scan.limit.unwrap_or(usize::MAX);
    let is_wanted = |head: &Outline| !scan.unfinished || head.leads_on();
    let mut names = Names::new();
    let mut threads = Vec::new();
    if limit == 0 {
        return Ok(threads);
    }
    CheckpointRow::heads(connection, scan.after.as_ref(), |thread, head| {
        let thread = thread?;
        names.insert(thread.id, thread.name.before_deletion());
        let is_of_graph = scan.graph.as_ref().is_none_or(|graph| thread.graph == graph.as_str());
        if is_of_graph && !thread.name.is_below() {
            threads.extend(summary(connection, &mut names, thread, head, &is_wanted)?);
        }
        Ok(if threads.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(threads)
}

/// Returns all threads, with the damaged ones listed separately.
pub(crate) fn list(connection: &Connection) -> Result<ThreadList, StoreError> {
    let mut names = Names::new();
    let (mut threads, mut damaged) = (Vec::new(), Vec::new());
    CheckpointRow::heads(connection, None, |thread, head| {
        let (name, found) = match thread {
            Ok(thread) if thread.name.is_below() => return Ok(ControlFlow::Continue(())),
            Ok(thread) => {
                let name = thread.name.clone();
                names.insert(thread.id, name.before_deletion());
                (Some(name), summary(connection, &mut names, thread, head, &|_| true))
            }
            Err(error) => (None, Err(error)),
        };
        match found {
            Ok(found) => threads.extend(found),
            Err(error @ (StoreError::Corrupt { .. } | StoreError::TooLarge { .. })) => {
                damaged.push((name, error));
            }
            Err(error) => return Err(error),
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(ThreadList { threads, damaged })
}

/// Returns the list entry of a thread, if it is `wanted`.
fn summary(
    connection: &Connection,
    names: &mut Names,
    thread: ThreadRow,
    head: &dyn Fn(i64) -> Result<(CheckpointRow, Outline), StoreError>,
    wanted: &impl Fn(&Outline) -> bool,
) -> Result<Option<ThreadSummary>, StoreError> {
    let (row, outline) = head(thread.head)?;
    if !wanted(&outline) {
        return Ok(None);
    }
    let parent = match row.parent {
        None => None,
        Some(parent) => Some(CheckpointRow::visit(connection, parent, |row, _| Ok(row.id))?),
    };
    let writer = name(connection, names, row.thread)?;
    let place = Seen { seq: thread.head, worker: thread.id, head: true };
    let asks = ask::on(connection, place)?.into_iter();
    Ok(Some(ThreadSummary {
        thread: thread.name,
        graph: thread.graph,
        head: row.summary(&outline, parent, writer)?,
        open_asks: asks.filter(AskRecord::is_open).collect(),
    }))
}

/// Returns the open questions of a graph's threads.
pub(crate) fn open_asks(
    connection: &Connection,
    graph: &NodeName,
) -> Result<Vec<(ThreadId, AskRecord)>, StoreError> {
    let mut open = Vec::new();
    for (thread, place) in ask::open(connection, graph, ask::Open::All)? {
        let asks = ask::on(connection, Seen { seq: place.base, worker: place.thread, head: true })?;
        open.extend(asks.into_iter().filter(AskRecord::is_open).map(|ask| (thread.clone(), ask)));
    }
    Ok(open)
}
