//! Encrypts a schema, decrypts it, or changes its keys.
//!
//! A schema is encrypted or decrypted in one transaction that locks it; at its end the constraints of the function `protect`
//! check every text. Keys are changed row by row, in short transactions, while programs use the schema.

use std::sync::Arc;

use superstep_core::checkpoint::{EffectOutcome, EffectRecord, KeyProblem, Recorded, StoreError};
use superstep_core::id::{CheckpointId, IdempotencyKey, InterruptId, TaskId, ThreadId};
use superstep_core::records::ThreadRow;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::super::call::Call;
use super::super::database::{Database, Repeat};
use super::super::encryption::Encryption;
use super::super::error::Fault;
use super::super::options::PostgresOptions;
use super::super::records::{tags, thread_of};
use super::super::session::Session;
use super::super::stored::{self, Texts};
use super::collect::collect;
use super::past::{columns, get};
use super::set_lock_timeout;
use crate::encryption::Cell;
use crate::error::{corrupt, keys};
use crate::maintenance::{Form, Rekeyed};
use crate::pending::Pending;

/// The largest number of rows that are rewritten at once.
const ROWS: usize = 256;

/// A table with encrypted texts.
struct Table {
    name: &'static str,
    /// The query for the place of its rows `w`, and for the columns that `convert` reads.
    rows: &'static str,
    /// The columns that are rewritten, each with the value of its text `u.NAME`.
    set: &'static [(&'static str, &'static str)],
    convert: fn(&Texts, &Texts, &Row) -> Result<Values, Fault>,
}

/// The new values of the rewritten columns.
type Values = Vec<Option<String>>;

const TEXT: &[(&str, &str)] = &[("text", "u.text")];

const TABLES: [Table; 11] = [
    Table {
        name: "checkpoint",
        rows: "SELECT w.ctid::text, w.manifest, w.id, w.run, w.step, w.source, s.fingerprint, g.fingerprint
            FROM @.checkpoint w LEFT JOIN @.described_state s ON s.id = w.state
            LEFT JOIN @.described_graph g ON g.id = w.graph WHERE w.source <> 4",
        set: &[("manifest", "u.manifest")],
        convert: |from, to, row| {
            let columns = columns(row, CheckpointId(get(row, 2)?), [3, 4, 5, 6, 7])?;
            let manifest = columns.open(from, get(row, 1)?, format_args!("checkpoint {}", columns.id))?;
            Ok(vec![Some(columns.store(to, &manifest)?)])
        },
    },
    Table {
        name: "change",
        rows: "SELECT w.ctid::text, w.text, w.id, w.field FROM @.change w WHERE true",
        set: TEXT,
        convert: |from, to, row| {
            let cell = stored::change(CheckpointId(get(row, 2)?), get::<i32>(row, 3)?.into());
            again(from, to, &cell, row)
        },
    },
    Table {
        name: "emitted",
        rows: "SELECT w.ctid::text, w.text, c.id, w.task FROM @.emitted w
            LEFT JOIN @.checkpoint c ON c.seq = w.checkpoint WHERE true",
        set: TEXT,
        convert: |from, to, row| {
            again(from, to, &stored::emitted(CheckpointId(get(row, 2)?), get(row, 3)?), row)
        },
    },
    Table {
        name: "pending",
        rows: "SELECT w.ctid::text, w.text, w.task FROM @.pending w WHERE true",
        set: &[("text", "u.text"), ("recorded", "u.recorded::numeric")],
        convert: |from, to, row| {
            let cell = stored::pending(TaskId::from_bytes(id(row, 2)?));
            let text = from.open(&cell, get(row, 1)?, cell.place())?;
            let number = match Pending::parse(&text).map_err(|error| corrupt(cell.place(), error))? {
                Pending::Finished(result) => Some(to.number(Recorded::of(&[result], &[]))?),
                Pending::Failed(_) => None,
            };
            Ok(vec![Some(to.store(&cell, &text)?), number])
        },
    },
    Table {
        name: "ask",
        rows: "SELECT w.ctid::text, w.text, w.fallback, w.answer, w.interrupt, w.deadline::text FROM @.ask w WHERE true",
        set: &[("text", "u.text"), ("fallback", "u.fallback"), ("answer", "u.answer")],
        convert: |from, to, row| {
            let interrupt = InterruptId::from_bytes(id(row, 4)?);
            let (ask, answer) = (stored::ask(interrupt, get(row, 5)?), stored::answer(interrupt));
            let cells = [(1, &ask), (2, &answer), (3, &answer)];
            cells.map(|(at, cell)| text_again(from, to, cell, get(row, at)?)).into_iter().collect()
        },
    },
    Table {
        name: "effect",
        rows: "SELECT w.ctid::text, w.text, w.outcome, w.attempt, w.starts, w.token, w.slot FROM @.effect w WHERE true",
        set: &[
            ("text", "u.text"),
            ("outcome", "u.outcome"),
            ("slot", "decode(u.slot, 'hex')"),
            ("recorded", "u.recorded::numeric"),
        ],
        convert: effect,
    },
    Table {
        name: "server_thread",
        rows: "SELECT w.ctid::text, w.text, w.name FROM @.server_thread w WHERE true",
        set: TEXT,
        convert: |from, to, row| {
            row_again(from, to, &stored::row("server_thread", get(row, 2)?), get(row, 1)?)
        },
    },
    Table {
        name: "server_run",
        rows: "SELECT w.ctid::text, w.text, w.error, w.name FROM @.server_run w WHERE true",
        set: &[("text", "u.text"), ("error", "u.error")],
        convert: |from, to, row| {
            let mut values = row_again(from, to, &stored::row("server_run", get(row, 3)?), get(row, 1)?)?;
            values.extend(row_again(from, to, &stored::run_error(get(row, 3)?), get(row, 2)?)?);
            Ok(values)
        },
    },
    Table {
        name: "server_assistant",
        rows: "SELECT w.ctid::text, w.text, w.name FROM @.server_assistant w WHERE true",
        set: TEXT,
        convert: |from, to, row| {
            row_again(from, to, &stored::row("server_assistant", get(row, 2)?), get(row, 1)?)
        },
    },
    Table {
        name: "server_cron",
        rows: "SELECT w.ctid::text, w.text, w.name FROM @.server_cron w WHERE true",
        set: TEXT,
        convert: |from, to, row| row_again(from, to, &stored::row("server_cron", get(row, 2)?), get(row, 1)?),
    },
    Table {
        name: "server_event",
        rows: "SELECT w.ctid::text, w.text, t.name, w.seq, w.run FROM @.server_event w
            LEFT JOIN @.server_thread t ON t.id = w.thread WHERE true",
        set: TEXT,
        convert: |from, to, row| {
            let thread: ThreadId = String::from_utf8_lossy(get(row, 2)?).into_owned().into();
            row_again(from, to, &stored::event(&thread, get(row, 3)?, get(row, 4)?), get(row, 1)?)
        },
    },
];

fn id(row: &Row, column: usize) -> Result<[u8; 16], Fault> {
    let bytes: &[u8] = get(row, column)?;
    Ok(bytes.try_into().map_err(|_| corrupt("an id", "it has another length"))?)
}

fn text_again(from: &Texts, to: &Texts, cell: &Cell, text: Option<&str>) -> Result<Option<String>, Fault> {
    let Some(text) = text else { return Ok(None) };
    Ok(Some(to.store(cell, &from.open(cell, text, cell.place())?)?))
}

fn again(from: &Texts, to: &Texts, cell: &Cell, row: &Row) -> Result<Values, Fault> {
    Ok(vec![text_again(from, to, cell, get(row, 1)?)?])
}

fn row_again(from: &Texts, to: &Texts, cell: &Cell, text: Option<&str>) -> Result<Values, Fault> {
    let Some(text) = text else { return Ok(vec![None]) };
    Ok(vec![Some(to.store_row(cell, from.open_row(cell, text)?.into_owned())?)])
}

fn effect(from: &Texts, to: &Texts, row: &Row) -> Result<Values, Fault> {
    let bad = |error: serde_json::Error| corrupt("an effect", error);
    let (attempt, starts): (i64, i64) = (get(row, 3)?, get(row, 4)?);
    let cell = stored::effect(attempt, starts, get(row, 5)?, get(row, 6)?);
    let text = from.open(&cell, get(row, 1)?, cell.place())?;
    let outcome_cell = stored::outcome(&text);
    let stored: Option<&str> = get(row, 2)?;
    let outcome = stored.map(|stored| from.open(&outcome_cell, stored, outcome_cell.place())).transpose()?;
    let parsed = outcome.as_deref().map(serde_json::from_str::<EffectOutcome>).transpose().map_err(bad)?;
    let record = EffectRecord {
        id: serde_json::from_str(&text).map_err(bad)?,
        attempt: 1,
        starts: 1,
        token: IdempotencyKey::from_bytes([0; 16]),
        outcome: parsed,
    };
    let slot = to.slot(&record.id)?;
    let cell = stored::effect(attempt, starts, get(row, 5)?, &slot);
    let slot: String = slot.iter().map(|byte| format!("{byte:02x}")).collect();
    let outcome = outcome.map(|outcome| to.store(&outcome_cell, &outcome)).transpose()?;
    Ok(vec![Some(to.store(&cell, &text)?), outcome, Some(slot), to.success(&record)?])
}

impl PostgresOptions {
    /// Gives all texts of the schema at `url` this form: encrypts it, encrypts the texts of an encrypted one with the current
    /// key of [`encrypt`](Self::encrypt), or decrypts it.
    ///
    /// To change keys, first give both keys to all programs, with the new one as the current key, and start them again; then
    /// call this, while they run; then remove the old key. After an interruption, call this again. A schema is encrypted or
    /// decrypted in one transaction, for which programs wait, and after which those that have the schema open fail: end them
    /// first. Its tables are rewritten afterwards, so that they contain no older text. The server's log of changes, its
    /// replicas and its backups may still contain some.
    ///
    /// # Errors
    /// Returns [`StoreError::Keys`] if there are no keys or wrong ones, if a [store](super::super::PostgresStore) is in the
    /// schema, or if a plain one is to be decrypted; [`StoreError::Corrupt`] if a row is damaged; and the errors of
    /// [`open`](Self::open).
    pub async fn rekey(self, url: impl AsRef<str>, form: Form) -> Result<Rekeyed, StoreError> {
        let (config, options) = self.at(url.as_ref())?;
        let options = options.no_migrate();
        let mut plain = options.clone();
        plain.keys = None;
        let mut rekeyed = Rekeyed { purged: true, ..Rekeyed::default() };
        match (Session::open(config.clone(), options.clone()).await, form) {
            (Ok(session), Form::Encrypted) if session.texts().encryption.is_some() => {
                session.add_current_key().await?;
                exchange(&session, &mut rekeyed).await?;
            }
            (Ok(session), Form::Plain) if session.texts().encryption.is_some() => {
                let to = Texts { encryption: None, ..session.texts().clone() };
                convert(&session, &to, &mut rekeyed).await?;
            }
            (Ok(session), _) => return Err(keys(&session.database().name(), KeyProblem::NotEncrypted)),
            (Err(StoreError::Keys { problem: KeyProblem::NotEncrypted, .. }), Form::Encrypted) => {
                let session = Session::open(config, plain).await?;
                let given = options.keys.as_ref().expect("without keys there is no such error");
                let encryption = Arc::new(Encryption::new(session.database(), given)?);
                let to = Texts { encryption: Some(encryption), ..session.texts().clone() };
                convert(&session, &to, &mut rekeyed).await?;
            }
            (Err(error), _) => return Err(error),
        }
        Ok(rekeyed)
    }
}

/// Encrypts or decrypts a whole schema.
async fn convert(session: &Session, to: &Texts, rekeyed: &mut Rekeyed) -> Result<(), StoreError> {
    let mut attempts = session.database().attempts();
    loop {
        match attempt_conversion(session, to).await {
            Err(fault) => attempts.after(fault, Repeat::IfNothingWasStored).await.map_err(Fault::plain)?,
            Ok(done) => {
                (rekeyed.rows, rekeyed.bytes) = done;
                break;
            }
        }
    }
    vacuum(session.database(), "VACUUM (FULL)").await.map_err(Fault::plain)
}

async fn attempt_conversion(session: &Session, to: &Texts) -> Result<(u64, u64), Fault> {
    let (database, from) = (session.database(), session.texts());
    let mut connection = database.connection().await?;
    let failed = |error: tokio_postgres::Error| Fault::of(&error);
    let transaction = connection.transaction().await.map_err(failed)?;
    let client = transaction.client();
    set_lock_timeout(database, client).await?;
    let tables: Vec<String> =
        TABLES.iter().map(|table| format!("{}.{}", database.schema, table.name)).collect();
    let lock =
        format!("LOCK TABLE {0}.thread, {1}, {0}.item, {0}.encryption", database.schema, tables.join(", "));
    client.batch_execute(&lock).await.map_err(failed)?;
    // Rows to which nothing refers have no identity.
    collect(database, client).await?;
    protect(database, client, None).await?;
    let mut done = (0, 0);
    for table in &TABLES {
        let cursor = format!("DECLARE rows NO SCROLL CURSOR FOR {}", table.rows);
        database.on(client, &Call::query(cursor)).await?;
        loop {
            let rows = database.on(client, &Call::query(format!("FETCH {ROWS} FROM rows"))).await?;
            if rows.is_empty() {
                break;
            }
            rewrite(database, client, table, [from, to], &rows, &mut done).await?;
        }
        database.on(client, &Call::query("CLOSE rows")).await?;
    }
    let threads = "SELECT t.id, t.name, t.text FROM @.server_thread t";
    for row in &database.on(client, &Call::query(threads)).await? {
        let thread: ThreadRow = thread_of(to, row)?;
        let call = Call::of("put_tags").int(get::<i64>(row, 0)?);
        database.on(client, &call.argument(tags(to, &thread.metadata), Type::BYTEA_ARRAY)).await?;
    }
    match &to.encryption {
        Some(encryption) => encryption.add_current(database, client).await?,
        None => drop(database.on(client, &Call::query("DELETE FROM @.encryption")).await?),
    }
    protect(database, client, Some(to.encryption.is_some())).await?;
    transaction.commit().await.map_err(failed)?;
    Ok(done)
}

async fn protect(database: &Database, client: &Client, form: Option<bool>) -> Result<(), Fault> {
    database.on(client, &Call::of("protect").argument(form, Type::BOOL)).await.map(drop)
}

/// Writes these rows again, and adds their number and the bytes of their texts.
async fn rewrite(
    database: &Database,
    client: &Client,
    table: &Table,
    [from, to]: [&Texts; 2],
    rows: &[Row],
    done: &mut (u64, u64),
) -> Result<(), Fault> {
    let places: Vec<&str> = rows.iter().map(|row| get(row, 0)).collect::<Result<_, _>>()?;
    let mut values: Vec<Values> = table.set.iter().map(|_| Vec::new()).collect();
    for row in rows {
        for (column, value) in values.iter_mut().zip((table.convert)(from, to, row)?) {
            done.1 += value.as_ref().map_or(0, |value| value.len() as u64);
            column.push(value);
        }
    }
    done.0 += rows.len() as u64;
    let set: Vec<String> = table.set.iter().map(|(column, value)| format!("{column} = {value}")).collect();
    let names: Vec<&str> = table.set.iter().map(|(column, _)| *column).collect();
    let arrays: Vec<String> = (2..2 + names.len()).map(|place| format!("${place}")).collect();
    let sql = format!(
        "UPDATE @.{} w SET {} FROM unnest($1::tid[], {}) AS u(place, {}) WHERE w.ctid = u.place",
        table.name,
        set.join(", "),
        arrays.join(", "),
        names.join(", "),
    );
    let mut call = Call::query(sql).argument(places, Type::TEXT_ARRAY);
    for column in values {
        call = call.argument(column, Type::TEXT_ARRAY);
    }
    database.on(client, &call).await.map(drop)
}

/// Encrypts texts of other keys with the current one.
async fn exchange(session: &Session, rekeyed: &mut Rekeyed) -> Result<(), StoreError> {
    let database = session.database();
    let Some(encryption) = &session.texts().encryption else { return Ok(()) };
    let prefix = encryption.current_prefix();
    let mut done = (0, 0);
    for table in &TABLES {
        let mut attempts = database.attempts();
        loop {
            match exchange_rows(session, table, &prefix, &mut done).await {
                Ok(true) => attempts = database.attempts(),
                Ok(false) => break,
                Err(fault) => attempts.after(fault, Repeat::Always).await.map_err(Fault::plain)?,
            }
        }
    }
    (rekeyed.rows, rekeyed.bytes) = done;
    let names = Call::query("SELECT e.key FROM @.encryption e ORDER BY e.added, e.key");
    for row in database.call(&names, Repeat::Always).await.map_err(Fault::plain)? {
        let key = String::from_utf8_lossy(get::<&[u8]>(&row, 0).map_err(Fault::plain)?).into_owned();
        if key == encryption.current().as_str() {
            continue;
        }
        let used = TABLES.iter().flat_map(|table| {
            table.texts().map(|text| {
                format!("EXISTS (SELECT 1 FROM @.{} w WHERE left({text}, length($2)) = $2)", table.name)
            })
        });
        let used = used.collect::<Vec<_>>().join(" OR ");
        let sql = format!("DELETE FROM @.encryption e WHERE e.key = $1 AND NOT ({used}) RETURNING 1");
        let call = Call::query(sql).argument(key.as_bytes().to_vec(), Type::BYTEA).text(format!("~{key}."));
        let retired = database.call(&call, Repeat::Always).await.map_err(Fault::plain)?;
        if retired.is_empty() { &mut rekeyed.in_use } else { &mut rekeyed.retired }.push(key);
    }
    vacuum(database, "VACUUM").await.map_err(Fault::plain)
}

/// Encrypts some texts of a table again; returns `false` if there are none.
async fn exchange_rows(
    session: &Session,
    table: &Table,
    prefix: &str,
    done: &mut (u64, u64),
) -> Result<bool, Fault> {
    let (database, texts) = (session.database(), session.texts());
    let mut connection = database.connection().await?;
    let transaction = connection.transaction().await.map_err(|error| Fault::of(&error))?;
    let client = transaction.client();
    let older: Vec<String> = table.texts().map(|text| format!("left({text}, length($1)) <> $1")).collect();
    let sql = format!("{} AND ({}) LIMIT {ROWS} FOR UPDATE OF w", table.rows, older.join(" OR "));
    let rows = database.on(client, &Call::query(sql).text(prefix)).await?;
    if rows.is_empty() {
        return Ok(false);
    }
    let mut now = *done;
    rewrite(database, client, table, [texts, texts], &rows, &mut now).await?;
    transaction.commit().await.map_err(|error| Fault::of(&error))?;
    *done = now;
    Ok(true)
}

impl Table {
    /// Returns its encrypted columns.
    fn texts(&self) -> impl Iterator<Item = String> {
        let columns = self.set.iter().filter(|(column, _)| !["slot", "recorded"].contains(column));
        columns.map(|(column, _)| format!("w.{column}"))
    }
}

/// Runs a command on the tables, so that they contain no older texts.
async fn vacuum(database: &Database, command: &str) -> Result<(), Fault> {
    let connection = database.connection().await?;
    for table in &TABLES {
        let sql = format!("{command} {}.{}", database.schema, table.name);
        connection.batch_execute(&sql).await.map_err(|error| Fault::of(&error))?;
    }
    Ok(())
}
