//! Measures the space that each part of a file takes.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde_json::value::RawValue;
use superstep_core::checkpoint::StoreError;
use superstep_core::id::ThreadId;
use superstep_core::state::{FieldId, Schema};

use crate::error::corrupt;
use crate::maintenance::{FieldUsage, ThreadUsage, Usage};
use crate::sqlite::column::text;
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::file::checkpoint_file::CheckpointFile;
use crate::sqlite::history::described::{Key, schema};
use crate::sqlite::history::long_texts::BODY_BYTES;
use crate::sqlite::history::row_texts::REFERRING;
use crate::sqlite::history::rows::CheckpointRow;
use crate::sqlite::history::segment::{SEGMENT, Segment};
use crate::sqlite::records;
use crate::sqlite::sqlite_reader::SqliteReader;
use crate::sqlite::write::delete::{references, segments};

/// Measures the contents of the file at `path`: each thread and its fields, shared texts, and free pages.
///
/// Reads one consistent state of the file, and as much of it as [`verify`](super::verify()) does.
///
/// # Errors
/// Returns [`StoreError::Corrupt`] if a row that refers to others cannot be read, and the errors of opening the file.
pub fn usage(file: impl Into<CheckpointFile>) -> Result<Usage, StoreError> {
    let reader = SqliteReader::open(file)?;
    let mut log = reader.path().as_os_str().to_owned();
    log.push("-wal");
    let log = std::fs::metadata(&log).map_or(0, |log| log.len());
    reader.read(|connection| {
        let mut counting = Counting::default();
        counting.names(connection)?;
        counting.checkpoints(connection)?;
        counting.left(connection)?;
        counting.work(connection)?;
        let unused_segments = counting.segments(connection)?;
        let (shared, unused) = counting.bodies(connection)?;
        let unused = unused + unused_segments;
        let page = number(connection, "PRAGMA page_size")?;
        let size = page * number(connection, "PRAGMA page_count")?;
        let free = page * number(connection, "PRAGMA freelist_count")?;
        let described = number(
            connection,
            "SELECT coalesce((SELECT sum(octet_length(text)) FROM schema), 0) + \
             coalesce((SELECT sum(octet_length(text)) FROM topology), 0)",
        )?;
        let items = items(connection)?;
        let server = server(connection)?;
        let shared = shared + counting.left;
        let threads = counting.finish();
        let of_threads: u64 = threads.iter().map(|thread| thread.bytes).sum();
        let overhead = size.saturating_sub(of_threads + shared + unused + described + items + server + free);
        Ok(Usage {
            size,
            free,
            threads,
            shared,
            unused,
            described,
            items,
            server,
            overhead,
            log,
            tables: Vec::new(),
        })
    })
}

fn number(connection: &Connection, sql: &str) -> Result<u64, StoreError> {
    connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs).map_err(sqlite)
}

/// Returns the bytes that the store's entries take, with the index of their words.
fn items(connection: &Connection) -> Result<u64, StoreError> {
    let there = "SELECT count(*) FROM sqlite_schema WHERE name = 'item'";
    if number(connection, there)? == 0 {
        return Ok(0);
    }
    number(
        connection,
        "SELECT coalesce((SELECT sum(octet_length(key) + octet_length(value)) FROM item), 0) + \
         coalesce((SELECT sum(octet_length(block)) FROM item_words_data), 0)",
    )
}

/// Returns the bytes of the texts of a server's rows, and of the hashes by which threads are found.
fn server(connection: &Connection) -> Result<u64, StoreError> {
    let mut bytes = number(connection, "SELECT coalesce(sum(octet_length(digest)), 0) FROM server_tag")?;
    for table in records::TABLES {
        bytes +=
            number(connection, &format!("SELECT coalesce(sum(octet_length(text)), 0) FROM {}", table.name))?;
    }
    Ok(bytes)
}

/// The part of the file that refers to a long text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum User {
    Field(i64, String),
    Thread(i64),
    Several,
}

impl User {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Field(a, _) | Self::Thread(a), Self::Field(b, _) | Self::Thread(b)) if a == b => {
                Self::Thread(a)
            }
            _ => Self::Several,
        }
    }
}

/// Adds `user` to the users of each of these.
fn add(users: &mut HashMap<i64, User>, referred: impl Iterator<Item = i64>, user: &User) {
    for id in referred {
        let known = users.remove(&id);
        let now = known.map_or_else(|| user.clone(), |known| known.and(user.clone()));
        users.insert(id, now);
    }
}

#[derive(Default)]
struct Counting {
    threads: BTreeMap<i64, ThreadUsage>,
    fields: BTreeMap<(i64, String), FieldUsage>,
    users: HashMap<i64, User>,
    segment_users: HashMap<i64, User>,
    /// The size of versions that remain of pruned checkpoints.
    left: u64,
}

impl Counting {
    fn names(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let mut all = connection.prepare("SELECT id, name FROM thread").map_err(sqlite)?;
        let mut rows = all.query([]).map_err(sqlite)?;
        while let Some(row) = rows.next().map_err(sqlite)? {
            let thread = ThreadId::from(text(row, 1)?).before_deletion();
            self.threads.insert(row.get(0).map_err(sqlite)?, ThreadUsage::of(thread));
        }
        Ok(())
    }

    fn checkpoints(&mut self, connection: &Connection) -> Result<(), StoreError> {
        #[derive(Deserialize)]
        struct Field {
            field: FieldId,
        }
        let mut schemas: HashMap<i64, Schema> = HashMap::new();
        let sql = format!(
            "SELECT {REFERRING}, coalesce(octet_length(fields), 0) FROM checkpoint WHERE thread <> 0"
        );
        let mut all = connection.prepare(&sql).map_err(sqlite)?;
        let mut rows = all.query([]).map_err(sqlite)?;
        while let Some(row) = rows.next().map_err(sqlite)? {
            let seq: i64 = row.get(0).map_err(sqlite)?;
            let thread: i64 = row.get(3).map_err(sqlite)?;
            let key: i64 = row.get(7).map_err(sqlite)?;
            let schema = match schemas.entry(key) {
                std::collections::hash_map::Entry::Occupied(held) => held.into_mut(),
                std::collections::hash_map::Entry::Vacant(free) => {
                    let found = schema(connection, Key::Row(key))?;
                    let missing = || corrupt(format_args!("checkpoint row {seq}"), "its schema is missing");
                    free.insert(found.ok_or_else(missing)?.2)
                }
            };
            let [changes, manifest] = CheckpointRow::unchecked(connection, row)?;
            let damaged = |error| corrupt(format_args!("changes of checkpoint row {seq}"), error);
            let parsed: Vec<&RawValue> = serde_json::from_str(&changes).map_err(damaged)?;
            let mut of_fields = 0;
            for change in parsed {
                let Field { field } = serde_json::from_str(change.get()).map_err(damaged)?;
                let name = schema.fields.get(field.index());
                let name = name.map_or_else(|| field.0.to_string(), |field| field.name.clone());
                self.refer(change.get(), &User::Field(thread, name.clone()));
                let usage = self.fields.entry((thread, name)).or_default();
                usage.changes += change.get().len() as u64;
                of_fields += change.get().len();
            }
            self.refer(&manifest, &User::Thread(thread));
            let maps: i64 = row.get(11).map_err(sqlite)?;
            let usage = self.thread(thread);
            usage.checkpoints += 1;
            let others = changes.len() - of_fields + manifest.len();
            usage.manifests += others as u64 + maps.unsigned_abs();
        }
        Ok(())
    }

    /// Adds versions that remain of pruned checkpoints. They belong to all threads that need them.
    fn left(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let sql = format!("SELECT {REFERRING} FROM checkpoint WHERE thread = 0 AND changes <> '[]'");
        let mut all = connection.prepare(&sql).map_err(sqlite)?;
        let mut rows = all.query([]).map_err(sqlite)?;
        while let Some(row) = rows.next().map_err(sqlite)? {
            let [changes, _] = CheckpointRow::unchecked(connection, row)?;
            self.left += changes.len() as u64;
            self.refer(&changes, &User::Several);
        }
        Ok(())
    }

    fn refer(&mut self, text: &str, user: &User) {
        add(&mut self.users, references(text), user);
        add(&mut self.segment_users, segments(text), user);
    }

    fn thread(&mut self, row: i64) -> &mut ThreadUsage {
        self.threads.entry(row).or_insert_with(|| ThreadUsage::of("".into()))
    }

    /// Adds the work on top of checkpoints, and emitted events.
    fn work(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let mut each = |sql: &str, add: fn(&mut ThreadUsage) -> &mut u64| {
            let mut all = connection.prepare(sql).map_err(sqlite)?;
            let mut rows = all.query([]).map_err(sqlite)?;
            while let Some(row) = rows.next().map_err(sqlite)? {
                let bytes: i64 = row.get(1).map_err(sqlite)?;
                *add(self.thread(row.get(0).map_err(sqlite)?)) += bytes.unsigned_abs();
            }
            Ok::<(), StoreError>(())
        };
        each("SELECT thread, sum(octet_length(text)) FROM pending GROUP BY thread", |usage| {
            &mut usage.pending
        })?;
        each(
            "SELECT thread, sum(octet_length(text) + coalesce(octet_length(fallback), 0) + \
             coalesce(octet_length(answer), 0)) FROM ask GROUP BY thread",
            |usage| &mut usage.journal,
        )?;
        each(
            "SELECT thread, sum(octet_length(name) + octet_length(key) + coalesce(octet_length(outcome), 0)) \
             FROM effect GROUP BY thread",
            |usage| &mut usage.journal,
        )?;
        each(
            "SELECT c.thread, sum(octet_length(e.text)) FROM emitted e JOIN checkpoint c ON c.seq = e.checkpoint \
             GROUP BY c.thread",
            |usage| &mut usage.emitted,
        )
    }

    /// Adds the operations in segments to their fields; returns the size of segments without a field.
    fn segments(&mut self, connection: &Connection) -> Result<u64, StoreError> {
        let sql = format!(
            "SELECT {SEGMENT}, octet_length(ends) + octet_length(text) + coalesce(octet_length(whole), 0) \
             FROM segment"
        );
        let mut all = connection.prepare(&sql).map_err(sqlite)?;
        let mut rows = all.query([]).map_err(sqlite)?;
        let mut unused = 0;
        while let Some(row) = rows.next().map_err(sqlite)? {
            let bytes = row.get::<_, i64>(11).map_err(sqlite)?.unsigned_abs();
            let Some(user) = self.segment_users.remove(&row.get(0).map_err(sqlite)?) else {
                unused += bytes;
                continue;
            };
            let texts = Segment::unchecked(connection, row)?;
            add(&mut self.users, texts.iter().flat_map(|text| references(text)), &user);
            match user {
                User::Field(thread, field) => {
                    self.fields.entry((thread, field)).or_default().changes += bytes;
                }
                User::Thread(thread) => self.thread(thread).manifests += bytes,
                User::Several => self.left += bytes,
            }
        }
        Ok(unused)
    }

    /// Adds the long texts to their users; returns the sizes of shared ones and of unused ones.
    fn bodies(&mut self, connection: &Connection) -> Result<(u64, u64), StoreError> {
        let mut all = connection.prepare(BODY_BYTES).map_err(sqlite)?;
        let mut rows = all.query([]).map_err(sqlite)?;
        let (mut shared, mut unused) = (0, 0);
        while let Some(row) = rows.next().map_err(sqlite)? {
            let id: i64 = row.get(0).map_err(sqlite)?;
            let bytes = row.get::<_, i64>(1).map_err(sqlite)?.unsigned_abs();
            match self.users.remove(&id) {
                Some(User::Field(thread, field)) => {
                    self.fields.entry((thread, field)).or_default().bodies += bytes;
                }
                Some(User::Thread(thread)) => self.thread(thread).bodies += bytes,
                Some(User::Several) => shared += bytes,
                None => unused += bytes,
            }
        }
        Ok((shared, unused))
    }

    fn finish(mut self) -> Vec<ThreadUsage> {
        for ((thread, field), usage) in std::mem::take(&mut self.fields) {
            self.thread(thread).fields.push(FieldUsage { field, ..usage });
        }
        let mut threads: Vec<ThreadUsage> = self.threads.into_values().collect();
        for thread in &mut threads {
            let fields: u64 = thread.fields.iter().map(|field| field.changes + field.bodies).sum();
            let work = thread.journal + thread.pending + thread.emitted;
            thread.bytes = fields + thread.manifests + work + thread.bodies;
        }
        threads.sort_by(|a, b| a.thread.cmp(&b.thread));
        threads
    }
}
