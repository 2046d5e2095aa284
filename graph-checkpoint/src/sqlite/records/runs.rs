//! The tables `server_run`, with the requests of runs, and `server_queue`, with the state of their execution.
//!
//! A claim, a beat and an end change only the row of the queue. The rows of a run have the same number, and the numbers
//! grow in the order in which the runs were created.

use rusqlite::OptionalExtension;
use rusqlite::types::Value;
use serde_json::Value as Document;
use superstep_core::checkpoint::StoreError;
use superstep_core::id::NodeName;
use superstep_core::records::life::{self, Admitted, Beat, Cancelled, Decision, Ending, RunChange};
use superstep_core::records::{
    Calls, CancelAction, Found, Heartbeat, Multitask, RunClaim, RunQuery, RunRow, RunStatus,
};
use superstep_core::state::Json;

use super::table::{Stored, Table, optional, stored, text, values};
use super::threads::Held as Thread;
use super::{events, execute, threads};
use crate::error::corrupt;
use crate::records::encode;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;

pub(super) const RUNS: Table = Table { name: "server_run", plain: &["name", "thread"], thread: Some(1) };

pub(super) const QUEUE: Table = Table {
    name: "server_queue",
    plain: &[
        "thread",
        "graph",
        "status",
        "not_before",
        "until",
        "attempt",
        "lost",
        "updated",
        "owner",
        "cancel",
        "next_call",
        "calls",
    ],
    thread: Some(0),
};

/// The SQL condition for the row of the queue of a run.
const OF_NAME: &str = "id = (SELECT id FROM server_run WHERE name = ?)";

/// The SQL condition for rows of the queue whose runs have not ended.
const ACTIVE: &str = "status IN ('pending', 'running')";

/// The number of the run that [`life::next`] selects of each thread, the oldest first. It is written here once more,
/// because the queue may be long. The parameters are the time, the names of the graphs, and those of the runs that are left.
const NEXT: &str = "SELECT q.id FROM server_queue q WHERE q.status IN ('pending', 'running')
    AND (q.status = 'pending' AND (q.attempt > 0 OR q.not_before <= ?1) OR q.status = 'running' AND q.until <= ?1)
    AND q.graph IN (SELECT value FROM json_each(?2))
    AND q.id NOT IN (SELECT id FROM server_run WHERE name IN (SELECT value FROM json_each(?3)))
    AND NOT EXISTS (
        SELECT 1 FROM server_queue o WHERE o.thread = q.thread AND o.status IN ('pending', 'running') AND o.id <> q.id
        AND (o.status = 'running' OR q.status = 'pending' AND (
            (o.attempt > 0) > (q.attempt > 0)
            OR (o.attempt > 0) = (q.attempt > 0) AND o.id < q.id AND (o.attempt > 0 OR o.not_before <= ?1)
        ))
    )
    ORDER BY q.id LIMIT 1";

/// The number of the run whose webhook is called next. The parameters are the time and the names of the graphs.
const NEXT_CALL: &str = "SELECT id FROM server_queue
    WHERE status NOT IN ('pending', 'running') AND next_call <= ?1
    AND graph IN (SELECT value FROM json_each(?2))
    ORDER BY next_call, id LIMIT 1";

/// A run with the numbers of its rows.
struct Held {
    id: i64,
    thread: i64,
    run: RunRow,
}

/// Returns a number of attempts.
fn small(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl Held {
    /// Reads the rows of a run, given that of the queue.
    fn of(connection: &Connection, queue: &Stored) -> Result<Self, StoreError> {
        let missing = || corrupt(format_args!("server_queue row {}", queue.id), "its run is missing");
        let run = RUNS.find(connection, "id = ?", [queue.id])?.ok_or_else(missing)?;
        let run: RunRow = run.decode()?;
        let error: Option<Json> = queue.decode()?;
        let calls = match queue.optional_int(10) {
            Some(_) => Some(Calls { next_ms: queue.count(10)?, started: small(queue.count(11)?) }),
            None => None,
        };
        let cancel = queue.optional_text(9).map(|_| queue.named(9, CancelAction::from_name)).transpose()?;
        let run = RunRow {
            status: queue.named(2, RunStatus::from_name)?,
            not_before_ms: queue.count(3)?,
            until_ms: queue.count(4)?,
            attempt: small(queue.count(5)?),
            lost: small(queue.count(6)?),
            updated_ms: queue.count(7)?,
            owner: queue.optional_text(8).map(str::to_owned),
            cancel,
            error,
            calls,
            ..run
        };
        Ok(Self { id: queue.id, thread: queue.int(0)?, run })
    }

    fn find(connection: &Connection, run: &str) -> Result<Option<Self>, StoreError> {
        let queue = QUEUE.find(connection, OF_NAME, [run])?;
        queue.map(|queue| Self::of(connection, &queue)).transpose()
    }

    /// Returns the runs of a thread that have not ended, oldest first.
    fn active(connection: &Connection, thread: i64) -> Result<Vec<Self>, StoreError> {
        let mut active = Vec::new();
        let rest = format!("WHERE thread = ? AND {ACTIVE} ORDER BY id");
        QUEUE.each(connection, &rest, [thread], |_, queue| {
            active.push(Self::of(connection, &queue?)?);
            Ok(())
        })?;
        Ok(active)
    }

    fn store_state(&self, connection: &Connection) -> Result<(), StoreError> {
        let Self { id, thread, run } = self;
        let error = encode(connection.limits(), &run.error)?;
        let plain = vec![
            Value::Integer(*thread),
            text(run.graph.as_str()),
            text(run.status.as_str()),
            stored(run.not_before_ms),
            stored(run.until_ms),
            stored(run.attempt.into()),
            stored(run.lost.into()),
            stored(run.updated_ms),
            optional(run.owner.as_deref()),
            optional(run.cancel.map(CancelAction::as_str)),
            run.calls.map_or(Value::Null, |calls| stored(calls.next_ms)),
            stored(run.calls.map_or(0, |calls| calls.started.into())),
        ];
        QUEUE.put(connection, *id, plain, &error)
    }

    fn delete(&self, connection: &Connection) -> Result<(), StoreError> {
        RUNS.delete(connection, self.id)?;
        QUEUE.delete(connection, self.id)
    }
}

pub(super) fn has_active(connection: &Connection, thread: i64) -> Result<bool, StoreError> {
    let sql = format!("SELECT 1 FROM server_queue WHERE thread = ? AND {ACTIVE}");
    connection.prepare_cached(&sql).and_then(|mut find| find.exists([thread])).map_err(sqlite)
}

pub(super) fn create(connection: &Connection, run: &RunRow) -> Result<Admitted, StoreError> {
    let thread = Thread::needed(connection, &run.thread)?;
    let exists = connection
        .prepare_cached("SELECT 1 FROM server_run WHERE name = ?")
        .and_then(|mut find| find.exists([&run.id]))
        .map_err(sqlite)?;
    if exists {
        return Ok(Admitted::Exists);
    }
    // A run that waits changes no other one, and the queue of its thread may be long.
    let active = match run.multitask {
        Multitask::Enqueue => Vec::new(),
        Multitask::Reject | Multitask::Interrupt | Multitask::Rollback => {
            Held::active(connection, thread.id)?
        }
    };
    let rows: Vec<RunRow> = active.iter().map(|held| held.run.clone()).collect();
    let decision = life::admit(run, &rows, run.created_ms);
    if matches!(decision.answer, Admitted::Stored { .. }) {
        let new = Held { id: RUNS.next_id(connection)?, thread: thread.id, run: life::pending(run.clone()) };
        let request = encode(connection.limits(), &new.run)?;
        RUNS.put(connection, new.id, vec![text(&run.id), Value::Integer(thread.id)], &request)?;
        new.store_state(connection)?;
    }
    carry_out(connection, &active, thread, decision, run.created_ms)
}

/// Stores a decision about runs of a thread, and returns its answer.
fn carry_out<T>(
    connection: &Connection,
    runs: &[Held],
    thread: Thread,
    decision: Decision<T>,
    now_ms: u64,
) -> Result<T, StoreError> {
    for change in decision.runs {
        let of = |name: &str| runs.iter().find(|held| held.run.id == name);
        match change {
            RunChange::Store(run) => {
                if let Some(Held { id, thread, .. }) = of(&run.id) {
                    Held { id: *id, thread: *thread, run }.store_state(connection)?;
                }
            }
            RunChange::Delete(name) => {
                if let Some(held) = of(&name) {
                    held.delete(connection)?;
                }
            }
        }
    }
    if let Some(change) = decision.thread {
        thread.change(connection, change, now_ms)?;
    }
    Ok(decision.answer)
}

pub(super) fn find(connection: &Connection, run: &str) -> Result<Option<RunRow>, StoreError> {
    Ok(Held::find(connection, run)?.map(|held| held.run))
}

pub(super) fn list(connection: &Connection, query: &RunQuery) -> Result<Found<RunRow>, StoreError> {
    let mut conditions = Vec::new();
    let mut given = Vec::new();
    if let Some(thread) = &query.thread {
        let Some(thread) = threads::id_of(connection, thread)? else {
            return Ok(Found { rows: Vec::new(), total: 0 });
        };
        conditions.push("thread = ?".to_owned());
        given.push(Value::Integer(thread));
    }
    if !query.statuses.is_empty() {
        let names: Vec<Document> = query.statuses.iter().map(|status| status.as_str().into()).collect();
        conditions.push("status IN (SELECT value FROM json_each(?))".to_owned());
        given.push(Value::Text(Document::from(names).to_string()));
        // Lets SQLite use the index of the queue.
        if !query.statuses.iter().any(|status| status.is_terminal()) {
            conditions.push(ACTIVE.to_owned());
        }
    }
    let conditions = if conditions.is_empty() { "1".into() } else { conditions.join(" AND ") };
    let count = format!("SELECT count(*) FROM server_queue WHERE {conditions}");
    let total = connection
        .prepare_cached(&count)
        .and_then(|mut count| count.query_row(values(&given), |row| row.get::<_, i64>(0)))
        .map_err(sqlite)?
        .unsigned_abs();
    given.extend([stored(query.limit as u64), stored(query.offset as u64)]);
    let mut rows = Vec::new();
    let rest = format!("WHERE {conditions} ORDER BY id DESC LIMIT ? OFFSET ?");
    QUEUE.each(connection, &rest, values(&given), |_, queue| {
        rows.push(Held::of(connection, &queue?)?.run);
        Ok(())
    })?;
    Ok(Found { rows, total })
}

/// Returns names as a parameter.
fn list_of<'n>(names: impl Iterator<Item = &'n str>) -> Value {
    Value::Text(Document::from_iter(names).to_string())
}

/// Returns the run that a statement selects.
fn next(connection: &Connection, statement: &str, given: &[Value]) -> Result<Option<Held>, StoreError> {
    let next = connection
        .prepare_cached(statement)
        .and_then(|mut next| next.query_row(values(given), |row| row.get::<_, i64>(0)).optional())
        .map_err(sqlite)?;
    let queue = next.map(|id| QUEUE.find(connection, "id = ?", [id])).transpose()?.flatten();
    queue.map(|queue| Held::of(connection, &queue)).transpose()
}

pub(super) fn claim(
    connection: &Connection,
    claim: &RunClaim,
    now_ms: u64,
) -> Result<Option<RunRow>, StoreError> {
    let (graphs, left) = (claim.graphs.iter().map(NodeName::as_str), claim.left.iter().map(String::as_str));
    let given = [stored(now_ms), list_of(graphs), list_of(left)];
    let Some(held) = next(connection, NEXT, &given)? else { return Ok(None) };
    let claimed = Held { run: life::claim(held.run, claim, now_ms), ..held };
    claimed.store_state(connection)?;
    Ok(Some(claimed.run))
}

fn next_call(connection: &Connection, graphs: &[NodeName], now_ms: u64) -> Result<Option<Held>, StoreError> {
    let given = [stored(now_ms), list_of(graphs.iter().map(NodeName::as_str))];
    next(connection, NEXT_CALL, &given)
}

/// Returns `true` if [`claim_call`] has something to claim.
pub(super) fn is_call_due(
    connection: &Connection,
    graphs: &[NodeName],
    now_ms: u64,
) -> Result<bool, StoreError> {
    Ok(next_call(connection, graphs, now_ms)?.is_some())
}

pub(super) fn claim_call(
    connection: &Connection,
    graphs: &[NodeName],
    until_ms: u64,
    now_ms: u64,
) -> Result<Option<RunRow>, StoreError> {
    let Some(held) = next_call(connection, graphs, now_ms)? else { return Ok(None) };
    let claimed = Held { run: life::claim_call(held.run, until_ms), ..held };
    claimed.store_state(connection)?;
    Ok(Some(claimed.run))
}

pub(super) fn finish_call(
    connection: &Connection,
    run: &str,
    call: u32,
    next_ms: Option<u64>,
) -> Result<bool, StoreError> {
    let Some(held) = Held::find(connection, run)? else { return Ok(false) };
    let Some(run) = life::finish_call(&held.run, call, next_ms) else { return Ok(false) };
    Held { run, ..held }.store_state(connection)?;
    Ok(true)
}

pub(super) fn beat(
    connection: &Connection,
    heartbeat: &Heartbeat,
    until_ms: u64,
) -> Result<Beat, StoreError> {
    let Some(held) = Held::find(connection, &heartbeat.run)? else { return Ok(Beat::Lost) };
    let answer = life::beat(Some(&held.run), heartbeat.attempt);
    if answer != Beat::Lost {
        Held { run: life::extended(held.run, heartbeat, until_ms), ..held }.store_state(connection)?;
    }
    Ok(answer)
}

/// Carries out a decision about one run.
fn decide<T>(
    connection: &Connection,
    run: &str,
    now_ms: u64,
    decision: impl FnOnce(Option<&RunRow>) -> Decision<T>,
) -> Result<T, StoreError> {
    let Some(held) = Held::find(connection, run)? else { return Ok(decision(None).answer) };
    let thread = Thread::needed(connection, &held.run.thread)?;
    let decision = decision(Some(&held.run));
    carry_out(connection, &[held], thread, decision, now_ms)
}

/// Returns `true` if this attempt [holds](life::is_held) the run, without reading the request of the run.
pub(super) fn is_held(connection: &Connection, run: &str, attempt: u32) -> Result<bool, StoreError> {
    let Some(queue) = QUEUE.find(connection, OF_NAME, [run])? else { return Ok(false) };
    let status = queue.named(2, RunStatus::from_name)?;
    Ok(status == RunStatus::Running && small(queue.count(5)?) == attempt)
}

pub(super) fn finish(
    connection: &Connection,
    run: &str,
    attempt: u32,
    ending: Ending,
    now_ms: u64,
) -> Result<bool, StoreError> {
    decide(connection, run, now_ms, |run| life::finish(run, attempt, ending, now_ms))
}

pub(super) fn cancel(
    connection: &Connection,
    run: &str,
    action: CancelAction,
    now_ms: u64,
) -> Result<Cancelled, StoreError> {
    decide(connection, run, now_ms, |run| life::cancel(run, action, now_ms))
}

/// Deletes a run that has ended, with its events.
pub(super) fn delete(connection: &Connection, run: &str) -> Result<bool, StoreError> {
    let held = Held::find(connection, run)?.filter(|held| held.run.status.is_terminal());
    let Some(held) = held else { return Ok(false) };
    held.delete(connection)?;
    events::delete_of_run(connection, held.thread, run)?;
    execute(
        connection,
        "DELETE FROM server_expiring WHERE thread = ? AND run = ?",
        rusqlite::params![held.thread, run],
    )?;
    Ok(true)
}
