//! Rows as the functions take and return them.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use superstep_core::checkpoint::StoreError;
use superstep_core::id::{NodeName, ThreadId};
use superstep_core::records::{
    AssistantRow, Calls, CancelAction, CronRow, EventRow, RunRow, RunStatus, ThreadRow,
};
use superstep_core::state::Json;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};

use super::super::call::Call;
use super::super::error::PostgresError;
use super::super::stored::{self, Texts};
use crate::error::corrupt;
use crate::records::{self, Tag, tag_with};

/// Returns a time or a count as Postgres stores it.
pub(super) fn number(value: u64) -> i64 {
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

/// Decodes the text of the row of a table with this name.
pub(super) fn decode<T: DeserializeOwned>(
    texts: &Texts,
    table: &'static str,
    name: &[u8],
    stored: &str,
) -> Result<T, StoreError> {
    let text = texts.open_row(&stored::row(table, name), stored)?;
    serde_json::from_str(&text).map_err(|error| corrupt(format_args!("a row of {table}"), error))
}

/// Encodes the text of the row of a table with this name.
pub(super) fn encode(
    texts: &Texts,
    table: &'static str,
    name: &str,
    row: &impl Serialize,
) -> Result<String, StoreError> {
    texts.store_row(&stored::row(table, name.as_bytes()), records::encode(texts.limits, row)?)
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

pub(super) fn thread(texts: &Texts, name: &[u8], text: &str) -> Result<ThreadRow, StoreError> {
    decode(texts, "server_thread", name, text)
}

/// Reads the columns `name` and `text` of `server_thread`.
pub(crate) fn thread_of(texts: &Texts, row: &Row) -> Result<ThreadRow, StoreError> {
    thread(texts, get(row, "name")?, get(row, "text")?)
}

/// Reads the columns `name` and `text` of `server_assistant`.
pub(super) fn assistant(texts: &Texts, row: &Row) -> Result<AssistantRow, StoreError> {
    decode(texts, "server_assistant", get(row, "name")?, get(row, "text")?)
}

/// Reads the columns of `server_run`.
pub(super) fn run(texts: &Texts, row: &Row) -> Result<RunRow, StoreError> {
    const TABLE: &str = "server_run";
    let id: &[u8] = get(row, "name")?;
    let request: RunRow = decode(texts, TABLE, id, get(row, "text")?)?;
    let int = |column| get::<i64>(row, column);
    let started = small(int("calls")?);
    let calls = get::<Option<i64>>(row, "next_call")?;
    let cancel: Option<&str> = get(row, "cancel")?;
    let error: Option<&str> = get(row, "error")?;
    let error = error.map(|error| texts.open_row(&stored::run_error(id), error)).transpose()?;
    let damaged = |error| corrupt(format_args!("a row of {TABLE}"), error);
    Ok(RunRow {
        status: named(TABLE, get(row, "status")?, RunStatus::from_name)?,
        not_before_ms: count(int("not_before")?),
        until_ms: count(int("until")?),
        attempt: small(int("attempt")?),
        lost: small(int("lost")?),
        updated_ms: count(int("updated")?),
        owner: get::<Option<&[u8]>>(row, "owner")?.map(|owner| name(TABLE, owner)).transpose()?,
        cancel: cancel.map(|cancel| named(TABLE, cancel, CancelAction::from_name)).transpose()?,
        error: error.map(|error| Json::parse(error).map_err(damaged)).transpose()?,
        calls: calls.map(|next| Calls { next_ms: count(next), started }),
        ..request
    })
}

pub(super) fn cron(texts: &Texts, row: &Row) -> Result<CronRow, StoreError> {
    let cron: CronRow = decode(texts, "server_cron", get(row, "name")?, get(row, "text")?)?;
    Ok(CronRow { next_ms: get::<Option<i64>>(row, "next")?.map(count), ..cron })
}

pub(super) fn event(texts: &Texts, row: &Row, thread: &ThreadId) -> Result<EventRow, StoreError> {
    let damaged = |error| corrupt("a row of server_event", error);
    let (seq, run): (i64, &[u8]) = (get(row, "seq")?, get(row, "run")?);
    let text = texts.open_row(&stored::event(thread, seq, run), get(row, "text")?)?;
    Ok(EventRow {
        thread: thread.clone(),
        seq: count(seq),
        run: name("server_event", run)?,
        at_ms: count(get(row, "at")?),
        text: Json::parse(text).map_err(damaged)?,
    })
}

/// Returns the hashes of the entries of a thread's metadata.
pub(crate) fn tags(texts: &Texts, metadata: &Map<String, Value>) -> Vec<Vec<u8>> {
    let tags = metadata.iter().filter_map(|(name, value)| tag(texts, name, value));
    tags.map(Vec::from).collect()
}

pub(super) fn tag(texts: &Texts, name: &str, value: &Value) -> Option<Tag> {
    tag_with(name, value, |text| texts.digest(text))
}

/// A table of a server with texts, and the function that reads a row of `rows`.
pub(crate) struct ServerTable {
    pub(crate) name: &'static str,
    pub(crate) rows: &'static str,
    pub(crate) read: fn(&Texts, &Row) -> Result<(), StoreError>,
}

pub(crate) const SERVER_TABLES: [ServerTable; 5] = [
    ServerTable {
        name: "server_thread",
        rows: "SELECT r.* FROM @.server_thread r",
        read: |texts, row| thread_of(texts, row).map(drop),
    },
    ServerTable {
        name: "server_run",
        rows: "SELECT r.* FROM @.server_run r",
        read: |texts, row| run(texts, row).map(drop),
    },
    ServerTable {
        name: "server_assistant",
        rows: "SELECT r.* FROM @.server_assistant r",
        read: |texts, row| assistant(texts, row).map(drop),
    },
    ServerTable {
        name: "server_cron",
        rows: "SELECT r.* FROM @.server_cron r",
        read: |texts, row| cron(texts, row).map(drop),
    },
    ServerTable {
        name: "server_event",
        rows: "SELECT t.name, r.* FROM @.server_event r JOIN @.server_thread t ON t.id = r.thread",
        read: |texts, row| {
            let thread = String::from_utf8_lossy(get(row, "name")?).into_owned().into();
            event(texts, row, &thread).map(drop)
        },
    },
];

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
        self.int(number(ms))
    }

    pub(super) fn ints(self, values: impl Iterator<Item = i64>) -> Self {
        self.argument(values.collect::<Vec<_>>(), Type::INT8_ARRAY)
    }

    /// Adds the numbers, runs, times and texts of events.
    pub(super) fn events(self, texts: &Texts, events: &'c [EventRow]) -> Result<Self, StoreError> {
        let call = self.ints(events.iter().map(|event| number(event.seq)));
        let call = call.names(events.iter().map(|event| &*event.run));
        let call = call.ints(events.iter().map(|event| number(event.at_ms)));
        let stored = events.iter().map(|event| {
            let cell = stored::event(&event.thread, number(event.seq), event.run.as_bytes());
            texts.store_row(&cell, event.text.as_str().to_owned())
        });
        Ok(call.argument(stored.collect::<Result<Vec<_>, _>>()?, Type::TEXT_ARRAY))
    }
}
