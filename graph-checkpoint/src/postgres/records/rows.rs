//! Rows as the functions take and return them.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use superstep_core::checkpoint::StoreError;
use superstep_core::id::{NodeName, ThreadId};
use superstep_core::records::{Calls, CancelAction, CronRow, EventRow, RunRow, RunStatus, ThreadRow};
use superstep_core::state::Json;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};

use super::super::call::Call;
use super::super::error::PostgresError;
use crate::error::corrupt;
use crate::records::{Tag, tag_with};

/// Returns a time or a count as Postgres stores it.
pub(super) fn stored(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(super) fn count(value: i64) -> u64 {
    value.max(0).unsigned_abs()
}

fn small(value: i64) -> u32 {
    u32::try_from(value.max(0)).unwrap_or(u32::MAX)
}

pub(super) fn get<'r, T: FromSql<'r>>(row: &'r Row, column: &str) -> Result<T, StoreError> {
    row.try_get(column).map_err(|error| PostgresError::Answer(error.to_string()).into())
}

pub(super) fn decode<T: DeserializeOwned>(table: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| corrupt(format_args!("a row of {table}"), error))
}

fn name(table: &str, bytes: &[u8]) -> Result<String, StoreError> {
    let text = std::str::from_utf8(bytes);
    text.map(str::to_owned).map_err(|error| corrupt(format_args!("a name in {table}"), error))
}

/// Returns the value with a name that a row has.
pub(super) fn named<T>(
    table: &str,
    name: &str,
    from_name: impl FnOnce(&str) -> Option<T>,
) -> Result<T, StoreError> {
    from_name(name)
        .ok_or_else(|| corrupt(format_args!("a row of {table}"), format_args!("{name:?} is unknown")))
}

pub(super) fn thread(text: &str) -> Result<ThreadRow, StoreError> {
    decode("server_thread", text)
}

/// Reads the column `text` of `server_thread`.
pub(super) fn thread_of(row: &Row) -> Result<ThreadRow, StoreError> {
    thread(get(row, "text")?)
}

/// Reads the columns of `server_run`.
pub(super) fn run(row: &Row) -> Result<RunRow, StoreError> {
    const TABLE: &str = "server_run";
    let request: RunRow = decode(TABLE, get(row, "text")?)?;
    let number = |column| get::<i64>(row, column);
    let started = small(number("calls")?);
    let calls = get::<Option<i64>>(row, "next_call")?;
    let cancel: Option<&str> = get(row, "cancel")?;
    let error: Option<&str> = get(row, "error")?;
    let damaged = |error| corrupt(format_args!("a row of {TABLE}"), error);
    Ok(RunRow {
        status: named(TABLE, get(row, "status")?, RunStatus::from_name)?,
        not_before_ms: count(number("not_before")?),
        until_ms: count(number("until")?),
        attempt: small(number("attempt")?),
        lost: small(number("lost")?),
        updated_ms: count(number("updated")?),
        owner: get::<Option<&[u8]>>(row, "owner")?.map(|owner| name(TABLE, owner)).transpose()?,
        cancel: cancel.map(|cancel| named(TABLE, cancel, CancelAction::from_name)).transpose()?,
        error: error.map(|error| Json::parse(error).map_err(damaged)).transpose()?,
        calls: calls.map(|next| Calls { next_ms: count(next), started }),
        ..request
    })
}

pub(super) fn cron(row: &Row) -> Result<CronRow, StoreError> {
    let cron: CronRow = decode("server_cron", get(row, "text")?)?;
    Ok(CronRow { next_ms: get::<Option<i64>>(row, "next")?.map(count), ..cron })
}

pub(super) fn event(row: &Row, thread: &ThreadId) -> Result<EventRow, StoreError> {
    let damaged = |error| corrupt("a row of server_event", error);
    Ok(EventRow {
        thread: thread.clone(),
        seq: count(get(row, "seq")?),
        run: name("server_event", get(row, "run")?)?,
        at_ms: count(get(row, "at")?),
        text: Json::parse(get::<&str>(row, "text")?).map_err(damaged)?,
    })
}

/// Returns the hashes of the entries of a thread's metadata.
pub(super) fn tags(metadata: &Map<String, Value>) -> Vec<Vec<u8>> {
    let tags = metadata.iter().filter_map(|(name, value)| tag(name, value));
    tags.map(Vec::from).collect()
}

pub(super) fn tag(name: &str, value: &Value) -> Option<Tag> {
    tag_with(name, value, |text| blake3::hash(text.as_bytes()))
}

impl<'c> Call<'c> {
    /// Adds an array of the bytes of names.
    pub(super) fn names(self, names: impl Iterator<Item = &'c str>) -> Self {
        self.argument(names.map(str::as_bytes).collect::<Vec<_>>(), Type::BYTEA_ARRAY)
    }

    pub(super) fn graphs(self, graphs: &'c [NodeName]) -> Self {
        self.names(graphs.iter().map(NodeName::as_str))
    }

    pub(super) fn optional_name(self, name: Option<&'c str>) -> Self {
        self.bytes(name.map(str::as_bytes))
    }

    pub(super) fn time(self, ms: u64) -> Self {
        self.int(stored(ms))
    }

    pub(super) fn ints(self, values: impl Iterator<Item = i64>) -> Self {
        self.argument(values.collect::<Vec<_>>(), Type::INT8_ARRAY)
    }

    /// Adds the numbers, runs, times and texts of events.
    pub(super) fn events(self, events: &'c [EventRow]) -> Self {
        let call = self.ints(events.iter().map(|event| stored(event.seq)));
        let call = call.names(events.iter().map(|event| &*event.run));
        let call = call.ints(events.iter().map(|event| stored(event.at_ms)));
        let texts: Vec<&str> = events.iter().map(|event| event.text.as_str()).collect();
        call.argument(texts, Type::TEXT_ARRAY)
    }
}
