//! Changes of keys, and decryption, at any moment.

use std::time::Duration;

use superstep_checkpoint::maintenance::{self, Form, MaintenanceError, rekey};
use superstep_checkpoint::portable::export;
use superstep_core::checkpoint::{CheckpointerExt, KeyProblem, StoreError};

use super::*;

const PATIENCE: Duration = Duration::from_secs(300);

fn canaries(path: &Path) -> usize {
    let bytes = std::fs::read(path).unwrap();
    bytes.windows(CANARY.len()).filter(|window| *window == CANARY.as_bytes()).count()
}

#[test]
fn keys_are_exchanged_while_a_program_writes() {
    run(async {
        let (_folder, path) = written(sealed()).await;
        let before = read(file(&path, first_key())).unwrap();
        let saver: Saver = Arc::new(SqliteSaver::options().encrypt(both_keys()).open(&path).await.unwrap());
        let told = rekey(file(&path, both_keys()), Form::Encrypted, PATIENCE).unwrap();
        assert_eq!((told.retired, told.in_use), (vec!["first".to_owned()], Vec::<String>::new()));
        assert!(told.rows > 140, "{} rows", told.rows);
        assert_eq!(read(file(&path, second_key())).unwrap(), before);
        // The program continues its own work.
        let head = head(&saver, "t").await;
        let effect = before.heads[0].effects[0].clone();
        let held = saver.begin_effect(&thread("t"), head.checkpoint.id, effect.clone()).await.unwrap();
        assert_eq!(held.map(|held| held.outcome), Some(effect.outcome));
        advance(&saver, "t", Some(&head.checkpoint), [set(1, "1")]).await;
        drop(saver);
        assert!(maintenance::verify(file(&path, second_key())).unwrap().is_sound());
        let error = read(file(&path, first_key())).unwrap_err();
        assert!(matches!(error, StoreError::Keys { problem: KeyProblem::Lacking { .. }, .. }), "{error}");
    });
}

#[test]
fn a_program_that_writes_with_the_old_key_keeps_it_in_use() {
    run(async {
        let (_folder, path) = written(sealed()).await;
        let told = rekey(file(&path, both_keys()), Form::Encrypted, PATIENCE).unwrap();
        assert_eq!(told.retired, ["first"]);
        // It still has the old key as the current one, and the new one to read.
        let old = KeyRing::new("first", Key::new([1; 32])).and("second", Key::new([2; 32]));
        let saver: Saver = Arc::new(SqliteSaver::options().encrypt(old).open(&path).await.unwrap());
        let head = head(&saver, "t").await.checkpoint;
        advance(&saver, "t", Some(&head), [set(1, "1")]).await;
        drop(saver);
        let read = read(file(&path, both_keys())).unwrap();
        assert_eq!(read.heads[0].checkpoint.parent, Some(head.id));
    });
}

#[test]
fn a_plain_file_is_encrypted_and_decrypted_and_nothing_of_what_was_is_left() {
    run(async {
        let (_folder, path) = written(SqliteSaver::options()).await;
        let before = read(CheckpointFile::at(&path)).unwrap();
        assert!(canaries(&path) > 0);
        let told = rekey(file(&path, first_key()), Form::Encrypted, PATIENCE).unwrap();
        assert!(told.purged);
        assert_eq!(canaries(&path), 0);
        assert_eq!(read(file(&path, first_key())).unwrap(), before);
        assert!(maintenance::verify(file(&path, first_key())).unwrap().is_sound());

        rekey(file(&path, first_key()), Form::Plain, PATIENCE).unwrap();
        assert!(canaries(&path) > 0);
        assert_eq!(read(CheckpointFile::at(&path)).unwrap(), before);
        assert!(maintenance::verify(&path).unwrap().is_sound());
        let again = rekey(&path, Form::Plain, PATIENCE).unwrap_err();
        let plain = KeyProblem::NotEncrypted;
        assert!(
            matches!(&again, MaintenanceError::Store(StoreError::Keys { problem, .. }) if *problem == plain),
            "{again}"
        );
    });
}

/// All threads of a file as documents.
fn exports(file: CheckpointFile) -> Vec<String> {
    let reader = SqliteReader::open(file).unwrap();
    let threads = reader.threads().unwrap().into_iter();
    threads.map(|thread| export(&reader, &thread.thread).unwrap().unwrap().to_text()).collect()
}

/// Format 4 had encrypted long texts in the column for texts.
#[test]
fn long_texts_that_format_4_encrypted_are_read_and_become_bytes_when_they_are_encrypted_again() {
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format-4-sealed.db");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    std::fs::copy(original, &path).unwrap();
    let old = || KeyRing::new("2026", Key::new([7; 32]));
    let new = || KeyRing::new("2027", Key::new([8; 32]));
    let as_bytes = || -> (i64, i64) {
        let sql = "SELECT count(*), count(sealed) FROM body WHERE (sealed IS NULL) = (text <> '')";
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    };
    let before = exports(file(&path, old()));
    assert_eq!(before.len(), 11);
    assert!(maintenance::verify(file(&path, old())).unwrap().is_sound());
    maintenance::migrate(file(&path, old())).unwrap();
    assert_eq!(exports(file(&path, old())), before);
    let (bodies, bytes) = as_bytes();
    assert_eq!((bodies, bytes), (2, 0));
    let told = rekey(file(&path, new().and("2026", Key::new([7; 32]))), Form::Encrypted, PATIENCE).unwrap();
    assert_eq!((told.retired, told.in_use), (vec!["2026".to_owned()], Vec::<String>::new()));
    assert_eq!(as_bytes(), (bodies, bodies));
    assert_eq!(exports(file(&path, new())), before);
    assert!(maintenance::verify(file(&path, new())).unwrap().is_sound());
}

#[test]
fn a_file_that_a_program_has_open_is_not_encrypted_as_a_whole() {
    run(async {
        let (_folder, path) = written(SqliteSaver::options()).await;
        let saver = SqliteSaver::open(&path).await.unwrap();
        let error = rekey(file(&path, first_key()), Form::Encrypted, Duration::from_millis(50)).unwrap_err();
        assert!(matches!(error, MaintenanceError::Busy(_)), "{error}");
        drop(saver);
        assert!(read(CheckpointFile::at(&path)).is_ok());
        rekey(file(&path, first_key()), Form::Encrypted, PATIENCE).unwrap();
    });
}

/// A change of keys, and the rows that it processes.
struct Change {
    original: PathBuf,
    /// The keys that the file is read with, before and after.
    before: Option<KeyRing>,
    after: Option<KeyRing>,
    keys: KeyRing,
    form: Form,
    /// A beginning of texts, and `true` if the texts in their new form have it.
    begins: (&'static str, bool),
}

fn with(path: &Path, keys: Option<&KeyRing>) -> CheckpointFile {
    match keys {
        Some(keys) => file(path, keys.clone()),
        None => CheckpointFile::at(path),
    }
}

/// Rows in every table. The gate looks at one of each; `SUPERSTEP_TORTURE` is set for three.
fn places(path: &Path) -> Vec<(&'static str, &'static str, i64)> {
    let connection = rusqlite::Connection::open(path).unwrap();
    let mut places = Vec::new();
    for (table, column) in [
        ("checkpoint", "manifest"),
        ("body", "coalesce(sealed, text)"),
        ("pending", "text"),
        ("ask", "text"),
        ("effect", "key"),
        ("emitted", "text"),
    ] {
        let sql = format!("SELECT min(rowid), max(rowid) FROM {table} WHERE {column} IS NOT NULL");
        let (first, last): (i64, i64) =
            connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let rows = match std::env::var_os("SUPERSTEP_TORTURE") {
            Some(_) => vec![first, i64::midpoint(first, last), last],
            None => vec![last],
        };
        places.extend(rows.into_iter().map(|row| (table, column, row)));
    }
    places.dedup();
    places
}

/// A constraint in the file fails the transaction with a given row, like a crash.
#[test]
fn a_change_of_keys_continues_after_an_interruption_at_any_table() {
    run(async {
        let (_folder, encrypted) = written(sealed()).await;
        let (_folder, plain) = written(SqliteSaver::options()).await;
        let changes = [
            Change {
                original: encrypted.clone(),
                before: Some(first_key()),
                after: Some(second_key()),
                keys: both_keys(),
                form: Form::Encrypted,
                begins: ("~2", true),
            },
            Change {
                original: plain,
                before: None,
                after: Some(first_key()),
                keys: first_key(),
                form: Form::Encrypted,
                begins: ("~", true),
            },
            Change {
                original: encrypted,
                before: Some(first_key()),
                after: None,
                keys: first_key(),
                form: Form::Plain,
                begins: ("~", false),
            },
        ];
        for change in changes {
            let whole = read(with(&change.original, change.before.as_ref())).unwrap();
            for (table, column, row) in places(&change.original) {
                interrupted(&change, &whole, table, column, row);
            }
        }
    });
}

fn interrupted(change: &Change, whole: &All, table: &str, column: &str, row: i64) {
    let at = format!("{:?} interrupted at {table} {row}", change.form);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    std::fs::copy(&change.original, &path).unwrap();
    let (mark, is_so) = change.begins;
    let id = if table == "checkpoint" { "seq" } else { "id" };
    let differs = if is_so { "<>" } else { "=" };
    let sql = |sql: &str| rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    sql(&format!(
        "ALTER TABLE {table} ADD COLUMN stop INTEGER \
         CHECK({column} IS NULL OR {id} <> {row} OR CAST(substr({column}, 1, {}) AS TEXT) {differs} '{mark}')",
        mark.len()
    ));
    let stopped = rekey(file(&path, change.keys.clone()), change.form, PATIENCE);
    assert!(stopped.is_err(), "{at}: it was not");
    let found = maintenance::verify(CheckpointFile::at(&path)).unwrap();
    assert!(found.is_sound(), "{at}: what is done in part is not damaged: {:?}", found.findings);
    // A program that opens it now reads a whole state, or gets an error about the interruption.
    for keys in [change.before.as_ref(), Some(&change.keys)] {
        match read(with(&path, keys)) {
            Ok(read) => assert!(read == *whole, "{at}: something else is read"),
            Err(StoreError::Keys { .. }) => {}
            Err(other) => panic!("{at}: {other}"),
        }
    }
    sql(&format!("ALTER TABLE {table} DROP COLUMN stop"));
    rekey(file(&path, change.keys.clone()), change.form, PATIENCE)
        .unwrap_or_else(|error| panic!("{at}: {error}"));
    let then = || with(&path, change.after.as_ref());
    assert!(read(then()).unwrap() == *whole, "{at}: something else is read in the end");
    let found = maintenance::verify(then()).unwrap();
    assert!(found.is_sound(), "{at}: {:?}", found.findings);
    assert_eq!(canaries(&path) == 0, change.form == Form::Encrypted, "{at}");
}

/// It would stop halfway at each repetition.
#[test]
fn a_damaged_file_is_neither_encrypted_nor_decrypted() {
    run(async {
        let (_folder, encrypted) = written(sealed()).await;
        let (_folder, plain) = written(SqliteSaver::options()).await;
        for (original, form) in [(plain, Form::Encrypted), (encrypted, Form::Plain)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t.db");
            std::fs::copy(&original, &path).unwrap();
            let connection = rusqlite::Connection::open(&path).unwrap();
            let keys = || -> Vec<(i64, i64)> {
                let mut seals = connection.prepare("SELECT id, phase FROM seal ORDER BY id").unwrap();
                let seals = seals.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
                seals.unwrap().map(Result::unwrap).collect()
            };
            let before = keys();
            let spoiled = connection.execute("UPDATE effect SET attempt = attempt + 1", []).unwrap();
            assert!(spoiled > 0, "it has effects");
            let refused = rekey(file(&path, first_key()), form, PATIENCE).unwrap_err();
            assert!(
                matches!(refused, MaintenanceError::Store(StoreError::Corrupt { .. })),
                "{form:?}: {refused}"
            );
            assert_eq!(keys(), before, "{form:?}: nothing was begun");
        }
    });
}
