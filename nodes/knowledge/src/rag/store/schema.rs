//! The tables of a knowledge base.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::rag::KnowledgeError;

/// The application id in the header of a SQLite file that marks it as a knowledge base: `SSkb`.
const APPLICATION: i64 = 0x5353_6b62;

/// The format of the tables that this version writes.
pub(super) const FORMAT: i64 = 1;

/// The time to wait for a writer of another process.
const BUSY: Duration = Duration::from_secs(10);

/// Embeddings are apart from the texts, as a search reads all of the one and few of the other. The full-text index
/// holds words only, and what it finds is looked up.
const TABLES: &str = "
create table collection (
    id integer primary key,
    name text not null unique,
    embedder text not null
) strict;
create table document (
    id integer primary key,
    collection integer not null references collection on delete cascade,
    source text not null,
    digest blob not null,
    unique (collection, source)
) strict;
create table chunk (
    id integer primary key,
    document integer not null references document on delete cascade,
    heading text not null,
    line_start integer not null,
    line_end integer not null,
    text text not null
) strict;
create index chunk_of_document on chunk (document);
create table embedding (
    collection integer not null references collection on delete cascade,
    chunk integer not null references chunk on delete cascade,
    numbers blob not null,
    primary key (collection, chunk)
) strict, without rowid;
create index embedding_of_chunk on embedding (chunk);
create virtual table words using fts5(
    heading, text, content = 'chunk', content_rowid = 'id', tokenize = 'porter unicode61'
);
create trigger chunk_added after insert on chunk begin
    insert into words (rowid, heading, text) values (new.id, new.heading, new.text);
end;
create trigger chunk_removed after delete on chunk begin
    insert into words (words, rowid, heading, text) values ('delete', old.id, old.heading, old.text);
end;
";

/// Opens the file, and makes it if it is not there.
pub(super) fn open(path: &Path) -> Result<Connection, KnowledgeError> {
    let mut db = Connection::open(path)?;
    prepare(&db)?;
    if format(&db, path)?.is_none() {
        // Another process may be at it.
        let change = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        if format(&change, path)?.is_none() {
            change.execute_batch(TABLES)?;
            change.pragma_update(None, "application_id", APPLICATION)?;
            change.pragma_update(None, "user_version", FORMAT)?;
        }
        change.commit()?;
    }
    // While others use the file its mode does not change, and the next program to open it tries again.
    match db.pragma_update(None, "journal_mode", "wal") {
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => {}
        changed => changed?,
    }
    Ok(db)
}

/// Opens the file if it is there and is a knowledge base.
pub(super) fn open_existing(path: &Path) -> Result<Option<Connection>, KnowledgeError> {
    if !path.is_file() {
        return Ok(None);
    }
    let db =
        Connection::open_with_flags(path, OpenFlags::default().difference(OpenFlags::SQLITE_OPEN_CREATE))?;
    prepare(&db)?;
    Ok(format(&db, path)?.map(|()| db))
}

fn prepare(db: &Connection) -> Result<(), KnowledgeError> {
    db.busy_timeout(BUSY)?;
    db.pragma_update(None, "foreign_keys", true)?;
    Ok(())
}

/// Checks that the file is a knowledge base of a format that is known; `None` if it is empty.
fn format(db: &Connection, path: &Path) -> Result<Option<()>, KnowledgeError> {
    let foreign = || KnowledgeError::Foreign { path: path.to_owned() };
    let number = |pragma: &str| db.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let application = match number("application_id") {
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => {
            return Err(foreign());
        }
        application => application?,
    };
    match (application, number("user_version")?) {
        (0, 0) if number("schema_version")? == 0 => Ok(None),
        (APPLICATION, FORMAT) => Ok(Some(())),
        (APPLICATION, format) => Err(KnowledgeError::Newer { path: path.to_owned(), format, known: FORMAT }),
        _ => Err(foreign()),
    }
}
