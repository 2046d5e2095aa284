//! `kill -9` before each system call of a migration from an earlier format: afterwards the file has the old or the new
//! format, with all its content.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use superstep::checkpoint::portable::export;
use superstep::checkpoint::{CheckpointReader, SqliteReader, maintenance};

use crate::torture::child::Started;
use crate::torture::dice::Replay;
use crate::torture::kill_syscall::CALLS;
use crate::torture::made;
use crate::torture::order::{Guard, Order, Workload};
use crate::torture::side_by_side::side_by_side;
use crate::torture::strace::{self, Disturbance, When};

/// The earlier released formats; `graph-checkpoint/tests/fixtures` has a file of each.
const FORMATS: [u32; 5] = [1, 2, 3, 4, 5];

fn fixture(format: u32) -> PathBuf {
    let name = format!("graph-checkpoint/tests/fixtures/format-{format}.db");
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The file's format, and all data of its threads.
type Content = (u32, Vec<String>);

fn content(db: &Path) -> Result<Content, String> {
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let verified = maintenance::verify(db).map_err(|error| told(&error))?;
    if !verified.is_sound() {
        return Err(format!("{:?}", verified.findings));
    }
    let reader = SqliteReader::open(db).map_err(|error| told(&error))?;
    let threads = reader.threads().map_err(|error| told(&error))?.into_iter();
    let texts = threads.map(|thread| match export(&reader, &thread.thread) {
        Ok(Some(export)) => Ok(export.to_text()),
        Ok(None) => Err(format!("thread {} is gone", thread.thread)),
        Err(error) => Err(error.to_string()),
    });
    Ok((reader.format(), texts.collect::<Result<_, _>>()?))
}

/// Checks that the file has the old or the new format and all its content.
fn check(db: &Path, old: &Content) -> Result<(), String> {
    let (format, texts) = content(db)?;
    if format != old.0 && format != SqliteReader::FORMAT {
        return Err(format!("it has format {format}, half way"));
    }
    if texts != old.1 {
        return Err(format!("its threads are others in format {format}"));
    }
    Ok(())
}

/// The next program that opens the file finishes the migration, and nothing is missing.
fn finish(db: &Path, old: &Content) -> Result<(), String> {
    maintenance::migrate(db).map_err(|error| error.to_string())?;
    match SqliteReader::open(db).map_err(|error| error.to_string())?.format() {
        SqliteReader::FORMAT => check(db, old),
        format => Err(format!("it still has format {format}")),
    }
}

/// Kills the program before each call of a kind until it makes no more; returns the number of calls. For a mutant, the
/// tables come from the folder.
fn kill_at_each(format: u32, call: &str, guard: Guard, folder: &Path) -> Result<u32, String> {
    let name = format!("{format}-{call}");
    let (db, log) = (folder.join(format!("{name}.db")), folder.join(format!("{name}.log")));
    let order = Order { threads: 0, guard, ..Order::new(Workload::Chain, &db) };
    let begin = fs::read(fixture(format)).expect("the file is there");
    let begin_again = || {
        made::remove(&db);
        fs::write(&db, &begin).expect("it can be written");
    };
    begin_again();
    let old = content(&db)?;
    let lacked = lacked(&db).map_err(|error| error.to_string())?;
    fs::write(pieces(&db), serde_json::to_string(&lacked).expect("texts")).expect("it can be written");
    begin_again();
    for nth in 1.. {
        begin_again();
        let command = strace::disturb(&order, call, When::Only(nth), Disturbance::Kill, &log);
        let ended = Started::new(command).end();
        let point = |what: String| {
            format!(
                "format {format}, killed before {call} number {nth}: {what}\nSUPERSTEP_TORTURE_ORDER='{order}'"
            )
        };
        check(&db, &old).and_then(|()| finish(&db, &old)).map_err(point)?;
        if ended.status.success() {
            made::remove(&db);
            return Ok(nth - 1);
        }
        assert!(ended.was_killed(), "{}", point(ended.status.to_string()));
    }
    unreachable!("a program makes a finite number of calls")
}

fn kill_everywhere(formats: &[u32], guard: Guard) -> Result<u32, String> {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let jobs = formats.iter().flat_map(|format| CALLS.map(|call| (*format, call))).collect();
    let counts = side_by_side(jobs, |(format, call)| kill_at_each(format, call, guard, folder.path()));
    counts.into_iter().sum()
}

#[test]
fn a_migration_that_is_killed_has_happened_or_not() {
    let _replay = Replay("kill_migration::");
    if !strace::is_here() {
        return;
    }
    let points = kill_everywhere(&FORMATS, Guard::Whole).unwrap_or_else(|bad| panic!("{bad}"));
    println!("killed before each of {points} calls");
    assert!(points >= 30, "only {points} calls are traced");
}

/// The mutant runs its statements one by one.
#[test]
fn a_migration_in_pieces_is_found_out() {
    let _replay = Replay("kill_migration::");
    if !strace::is_here() {
        return;
    }
    let bad = kill_everywhere(&[3], Guard::MigratesInPieces).expect_err("it is half way at some point");
    assert!(bad.contains("no such table"), "{bad}");
}

/// The path of the mutant's statements.
fn pieces(db: &Path) -> PathBuf {
    made::beside(db, ".sql")
}

/// The statements that a file lacks, one by one.
fn lacked(db: &Path) -> Result<Vec<String>, rusqlite::Error> {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let new = folder.path().join("new.db");
    fs::write(&new, made::opened()).expect("it can be written");
    let statements = |db: &Path| -> Result<Vec<(String, String)>, rusqlite::Error> {
        let db = Connection::open(db)?;
        let mut all = db.prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")?;
        let all = all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        all.collect()
    };
    let there = statements(db)?;
    let is_new = |(name, _): &(String, String)| there.iter().all(|(held, _)| held != name);
    Ok(statements(&new)?.into_iter().filter(is_new).map(|(_, statement)| statement).collect())
}

/// The mutant: it first sets the version of the format, and then creates the tables.
pub(crate) fn migrate_in_pieces(db: &Path) -> Result<(), rusqlite::Error> {
    let pieces = fs::read_to_string(pieces(db)).expect("who gave the order has written them");
    let pieces: Vec<String> = serde_json::from_str(&pieces).expect("they are a list");
    let db = Connection::open(db)?;
    db.pragma_update(None, "user_version", SqliteReader::FORMAT)?;
    pieces.iter().try_for_each(|piece| db.execute_batch(piece))
}
