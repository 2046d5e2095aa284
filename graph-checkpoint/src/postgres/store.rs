//! The Postgres store.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::TryStreamExt;
use superstep_core::checkpoint::StoreError;
use superstep_core::state::Json;
use superstep_core::store::{AccessError, Entry, Namespace, Put, Search, StoreBackend, words_in};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};

use super::call::Call;
use super::database::{Database, Repeat};
use super::error::{Fault, PostgresError};
use super::saver::PostgresSaver;
use super::session::scalar;
use super::stored;
use crate::error::access_error;

/// Stores entries in a Postgres database, with an index of their words.
///
/// They are in a table of the schema in which a [`PostgresSaver`] stores checkpoints, so the
/// [options](PostgresSaver::options) are those of the saver: `PostgresSaver::options().schema("notes").open(url).await?.store()`.
/// Cheap to clone: clones share their connections. Use a store only in the Tokio runtime in which it was opened.
#[derive(Clone)]
pub struct PostgresStore {
    database: Arc<Database>,
}

impl PostgresStore {
    /// Opens the database at `url` with the default options.
    ///
    /// # Errors
    /// Returns the errors of [`PostgresOptions::open`](super::PostgresOptions::open).
    pub async fn open(url: impl AsRef<str>) -> Result<Self, StoreError> {
        Ok(PostgresSaver::open(url).await?.store())
    }

    pub(crate) fn on(database: Arc<Database>) -> Self {
        Self { database }
    }

    async fn call(&self, call: Call<'_>, repeat: Repeat) -> Result<Vec<Row>, AccessError> {
        self.database.call(&call, repeat).await.map_err(failed)
    }

    /// Finds entries until there are enough of them.
    async fn found(&self, search: &Search, call: &Call<'_>, now: u64) -> Result<Vec<Entry>, Fault> {
        let enough = search.enough().unwrap_or(usize::MAX);
        let connection = self.database.connection().await?;
        let mut rows = pin!(self.database.stream(&connection, call).await?);
        let mut found = Vec::new();
        while found.len() < enough
            && let Some(row) = rows.try_next().await.map_err(|error| Fault::of(&error))?
        {
            let entry = entry(&row).map_err(|error| Fault::Store(StoreError::Io(Box::new(error))))?;
            if entry.is_alive(now) && search.finds(&entry) {
                found.push(entry);
            }
        }
        Ok(found)
    }
}

#[async_trait]
impl StoreBackend for PostgresStore {
    async fn get(&self, namespace: &Namespace, key: &str, now: u64) -> Result<Option<Entry>, AccessError> {
        let path = namespace.path();
        let rows = self.call(Call::of("get_item").name(&path).name(key), Repeat::Always).await?;
        let entry = rows.first().map(entry).transpose()?;
        Ok(entry.filter(|entry| entry.is_alive(now)))
    }

    async fn put(&self, put: Put, now: u64) -> Result<(), AccessError> {
        let path = put.namespace.path();
        let words: Vec<String> = words_in(&put.value).into_iter().map(indexed).collect();
        let call = Call::of("put_item")
            .name(&path)
            .name(&put.key)
            .text(stored::with_checksum(&stored::item(&path, &put.key), put.value.as_str()));
        let call = call.argument(words, Type::TEXT_ARRAY).int(millis(now)).int(put.expires_ms.map(millis));
        self.call(call, Repeat::Always).await.map(drop)
    }

    async fn delete(&self, namespace: &Namespace, key: &str, now: u64) -> Result<bool, AccessError> {
        let path = namespace.path();
        let call = Call::of("delete_item").name(&path).name(key).int(millis(now));
        // A second attempt would not find the entry.
        let rows = self.call(call, Repeat::IfNothingWasStored).await?;
        rows.first().map_or(Ok(false), |row| get(row, 0))
    }

    async fn search(&self, search: &Search, now: u64) -> Result<Vec<Entry>, AccessError> {
        let words = search.wanted_words().map(|words| words.iter().cloned().map(indexed).collect::<Vec<_>>());
        if words.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let path = search.namespace().path();
        let end = end_of(&path);
        // Conditions on fields are checked here.
        let limit = search.enough().filter(|_| !search.has_conditions());
        let limit = limit.map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
        let call = Call::of("search_items").name(&path).bytes(end.as_deref());
        let call = call.argument(words, Type::TEXT_ARRAY).int(millis(now)).int(limit);
        let mut attempts = self.database.attempts();
        loop {
            match self.found(search, &call, now).await {
                Ok(found) => return Ok(search.page(found.into_iter())),
                Err(fault) => attempts.after(fault, Repeat::Always).await.map_err(failed)?,
            }
        }
    }

    async fn namespaces(&self, under: &Namespace, now: u64) -> Result<Vec<Namespace>, AccessError> {
        let path = under.path();
        let end = end_of(&path);
        let call = Call::of("item_namespaces").name(&path).bytes(end.as_deref()).int(millis(now));
        let rows = self.call(call, Repeat::Always).await?;
        rows.iter().map(|row| namespace_of(get(row, 0)?)).collect()
    }

    async fn sweep(&self, now: u64) -> Result<u64, AccessError> {
        let rows = self.call(Call::of("sweep_items").int(millis(now)), Repeat::Always).await?;
        let removed: i64 = scalar(&rows).map_err(access_error)?;
        Ok(removed.unsigned_abs())
    }
}

/// The largest number of bytes of a word that is indexed as it is.
const LONG_WORD: usize = 200;

/// Returns a word as the index has it: a longer one has no room there, so its hash is used. No word contains the mark before it.
fn indexed(word: String) -> String {
    match word.len() {
        ..=LONG_WORD => word,
        _ => format!("#{}", blake3::hash(word.as_bytes()).to_hex()),
    }
}

/// Returns the end of the range of paths that begin with `path`; `None` at the root. A path ends with a slash, and the
/// next character after a slash is 0.
fn end_of(path: &str) -> Option<Vec<u8>> {
    path.strip_suffix('/').map(|path| format!("{path}0").into_bytes())
}

fn millis(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

/// Reads a row with the columns of an entry.
fn entry(row: &Row) -> Result<Entry, AccessError> {
    let (path, key): (&[u8], &[u8]) = (get(row, 0)?, get(row, 1)?);
    let damaged = |reason: String| {
        let (path, key) = (String::from_utf8_lossy(path), String::from_utf8_lossy(key));
        AccessError::Damaged { place: format!("the entry {key:?} at {path:?}"), reason }
    };
    let time = |time: i64| time.max(0).unsigned_abs();
    let text: &str = get(row, 5)?;
    let place = stored::item(&String::from_utf8_lossy(path), &String::from_utf8_lossy(key));
    let text =
        stored::checked(&place, text, "").map_err(|_| damaged("its checksum does not match".to_owned()))?;
    Ok(Entry {
        namespace: namespace_of(path)?,
        key: std::str::from_utf8(key).map_err(|error| damaged(error.to_string()))?.to_owned(),
        created_ms: time(get(row, 2)?),
        updated_ms: time(get(row, 3)?),
        expires_ms: get::<Option<i64>>(row, 4)?.map(time),
        value: Json::parse(text).map_err(|error| damaged(error.to_string()))?,
    })
}

fn namespace_of(path: &[u8]) -> Result<Namespace, AccessError> {
    let namespace = std::str::from_utf8(path).ok().and_then(Namespace::from_path);
    namespace.ok_or_else(|| AccessError::Damaged {
        place: format!("the namespace {:?}", String::from_utf8_lossy(path)),
        reason: "it is not a path".to_owned(),
    })
}

fn get<'r, T: FromSql<'r>>(row: &'r Row, column: usize) -> Result<T, AccessError> {
    row.try_get(column).map_err(|error| access_error(PostgresError::Answer(error.to_string()).into()))
}

fn failed(fault: Fault) -> AccessError {
    match fault.plain() {
        // The error of an entry.
        StoreError::Io(error) => match error.downcast::<AccessError>() {
            Ok(error) => *error,
            Err(error) => AccessError::Failed(error),
        },
        error => access_error(error),
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("database", &self.database.place())
            .field("schema", &self.database.schema)
            .finish_non_exhaustive()
    }
}
