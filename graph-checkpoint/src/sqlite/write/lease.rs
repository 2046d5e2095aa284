//! Leases: the table `lease`, one row per thread with a holder.
//!
//! Its key is the fence. It is never used twice, even after rows were deleted, so a holder has lost its lease if its
//! row does not exist.

use rusqlite::{OptionalExtension, Row, params};
use superstep_core::checkpoint::{Claim, LeaseRecord, LeaseReply, Standing, StoreError};
use superstep_core::id::ThreadId;

use crate::checksum::Checksum;
use crate::error::mismatch;
use crate::sqlite::column::text;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::options::LeaseClock;

const COLUMNS: &str = "fence, thread, holder, ttl, renewed, sum";

/// Returns the time of the database's clock, in milliseconds since the Unix epoch.
pub(crate) fn now(connection: &Connection, clock: Option<&LeaseClock>) -> Result<u64, StoreError> {
    if let Some(clock) = clock {
        return Ok(clock());
    }
    let mut now =
        connection.prepare_cached("SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)").map_err(sqlite)?;
    now.query_row([], |row| row.get::<_, i64>(0)).map(|now| u64::try_from(now).unwrap_or(0)).map_err(sqlite)
}

/// Gives the lease of a thread to a claim, unless there is another holder.
pub(crate) fn acquire(connection: &Connection, claim: &Claim, now_ms: u64) -> Result<LeaseReply, StoreError> {
    if let Some(held) = find(connection, &claim.thread)? {
        match held.standing(now_ms) {
            Standing::Held => return Ok(LeaseReply::HeldByAnother(held)),
            Standing::Ahead => {
                let held = LeaseRecord { renewed_ms: now_ms, ..held };
                store(connection, &held)?;
                return Ok(LeaseReply::HeldByAnother(held));
            }
            Standing::Over => take(connection, &claim.thread)?,
        }
    }
    let mut last = connection
        .prepare_cached("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'lease'")
        .map_err(sqlite)?;
    let last: i64 = last.query_row([], |row| row.get(0)).map_err(sqlite)?;
    let lease = LeaseRecord::of(claim.clone(), last.cast_unsigned() + 1, now_ms);
    store(connection, &lease)?;
    Ok(LeaseReply::Held(lease))
}

/// Extends a lease from the current time, if it was not lost.
pub(crate) fn renew(
    connection: &Connection,
    lease: &LeaseRecord,
    now_ms: u64,
) -> Result<LeaseRecord, StoreError> {
    check(connection, lease)?;
    let renewed = LeaseRecord { renewed_ms: now_ms, ..lease.clone() };
    store(connection, &renewed)?;
    Ok(renewed)
}

/// Releases a lease, if it was not lost.
pub(crate) fn release(connection: &Connection, lease: &LeaseRecord) -> Result<(), StoreError> {
    check(connection, lease)?;
    take(connection, &lease.thread)
}

/// Deletes a thread's lease, regardless of its holder, and even if it is damaged.
pub(crate) fn take(connection: &Connection, thread: &ThreadId) -> Result<(), StoreError> {
    connection
        .prepare_cached("DELETE FROM lease WHERE thread = ?")
        .and_then(|mut delete| delete.execute([thread.as_str()]))
        .map(drop)
        .map_err(sqlite)
}

/// Returns an error if the lease was lost.
pub(crate) fn check(connection: &Connection, lease: &LeaseRecord) -> Result<(), StoreError> {
    let mut find_it =
        connection.prepare_cached("SELECT 1 FROM lease WHERE fence = ? AND thread = ?").map_err(sqlite)?;
    let mine = params![lease.fence.cast_signed(), lease.thread.as_str()];
    if find_it.exists(mine).map_err(sqlite)? {
        return Ok(());
    }
    let to = find(connection, &lease.thread)?.map(|held| held.holder);
    Err(StoreError::LeaseLost { thread: lease.thread.clone(), to })
}

/// Returns the lease of a thread.
pub(crate) fn find(connection: &Connection, thread: &ThreadId) -> Result<Option<LeaseRecord>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM lease WHERE thread = ?");
    let mut find = connection.prepare_cached(&sql).map_err(sqlite)?;
    let found = find.query_row([thread.as_str()], |row| Ok(read(row))).optional().map_err(sqlite)?;
    found.transpose()
}

/// Returns all leases, by thread.
pub(crate) fn all(connection: &Connection) -> Result<Vec<LeaseRecord>, StoreError> {
    let mut leases = Vec::new();
    visit(connection, |_, lease| lease.map(|lease| leases.push(lease)))?;
    Ok(leases)
}

/// Reads every row: `told` receives its fence and its lease.
pub(crate) fn visit(
    connection: &Connection,
    mut told: impl FnMut(i64, Result<LeaseRecord, StoreError>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut all =
        connection.prepare_cached(&format!("SELECT {COLUMNS} FROM lease ORDER BY thread")).map_err(sqlite)?;
    let mut rows = all.query([]).map_err(sqlite)?;
    while let Some(row) = rows.next().map_err(sqlite)? {
        told(row.get(0).map_err(sqlite)?, read(row))?;
    }
    Ok(())
}

fn read(row: &Row<'_>) -> Result<LeaseRecord, StoreError> {
    let int = |column| row.get::<_, i64>(column).map(i64::cast_unsigned).map_err(sqlite);
    let lease = LeaseRecord {
        fence: int(0)?,
        thread: text(row, 1)?.into(),
        holder: text(row, 2)?.to_owned(),
        ttl_ms: int(3)?,
        renewed_ms: int(4)?,
    };
    if row.get::<_, i64>(5).map_err(sqlite)? != sum_of(&lease) {
        return Err(mismatch(format_args!("lease {}", lease.fence)));
    }
    Ok(lease)
}

fn store(connection: &Connection, lease: &LeaseRecord) -> Result<(), StoreError> {
    let sql = format!(
        "INSERT INTO lease({COLUMNS}) VALUES(?, ?, ?, ?, ?, ?) \
         ON CONFLICT(fence) DO UPDATE SET renewed = excluded.renewed, sum = excluded.sum"
    );
    connection
        .prepare_cached(&sql)
        .and_then(|mut insert| {
            insert.execute(params![
                lease.fence.cast_signed(),
                lease.thread.as_str(),
                lease.holder,
                lease.ttl_ms.cast_signed(),
                lease.renewed_ms.cast_signed(),
                sum_of(lease),
            ])
        })
        .map(drop)
        .map_err(sqlite)
}

fn sum_of(lease: &LeaseRecord) -> i64 {
    let sum = Checksum::of("lease").int(lease.fence.cast_signed()).text(lease.thread.as_str());
    let sum = sum.text(&lease.holder).int(lease.ttl_ms.cast_signed());
    sum.int(lease.renewed_ms.cast_signed()).finish()
}
