//! Malicious files: damaged at random, and with code that SQLite would run.
//!
//! A reader, a writing saver and all maintenance functions open each of them. Nothing may crash, nothing in the file
//! may run, and unreadable data is a typed error. The gate uses 250 files, `SUPERSTEP_TORTURE=N` a multiple;
//! `SUPERSTEP_SEED=S` replays one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use superstep_checkpoint::{CheckpointReader, SqliteReader, SqliteSaver, maintenance, portable};
use superstep_core::checkpoint::{At, CheckpointerExt, StoreError};

use crate::material::*;

/// A fixed sequence of numbers for each seed.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).unwrap()
    }
}

const TABLES: [&str; 11] = [
    "thread",
    "checkpoint",
    "locator",
    "schema",
    "topology",
    "body",
    "pending",
    "ask",
    "effect",
    "emitted",
    "seal",
];

/// Statements that add to a sound file what SQLite would run or believe. `T` is a table, and `C` one of its columns.
const TRICKS: [&str; 18] = [
    "CREATE TABLE marker(x); CREATE TRIGGER t1 AFTER INSERT ON T BEGIN INSERT INTO marker VALUES(1); END;
     CREATE TRIGGER t2 AFTER UPDATE ON T BEGIN INSERT INTO marker VALUES(2); END;
     CREATE TRIGGER t3 BEFORE DELETE ON T BEGIN INSERT INTO marker VALUES(3); END;",
    "ALTER TABLE T RENAME TO hidden; CREATE VIEW T AS SELECT * FROM hidden;",
    "ALTER TABLE T RENAME TO hidden; CREATE VIEW T AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
     SELECT hidden.* FROM hidden, c;",
    "CREATE TABLE marker(x); ALTER TABLE T RENAME TO hidden; CREATE VIEW T AS SELECT * FROM hidden;
     CREATE TRIGGER t1 INSTEAD OF INSERT ON T BEGIN INSERT INTO marker VALUES(1); END;
     CREATE TRIGGER t2 INSTEAD OF UPDATE ON T BEGIN INSERT INTO marker VALUES(2); END;",
    "DROP TABLE T; CREATE VIRTUAL TABLE T USING fts5(C);",
    "DROP TABLE T; CREATE VIRTUAL TABLE T USING rtree(id, a, b);",
    "DROP TABLE T; CREATE TABLE T(id INTEGER PRIMARY KEY, seq, C GENERATED ALWAYS AS (hex(randomblob(90000000))) VIRTUAL);
     INSERT INTO T(id) VALUES(1), (2), (3);",
    "ALTER TABLE T ADD COLUMN made TEXT GENERATED ALWAYS AS (hex(randomblob(90000000))) VIRTUAL;",
    "CREATE TABLE copy AS SELECT * FROM T; DROP TABLE T; ALTER TABLE copy RENAME TO T; UPDATE T SET C = x'ff00ff';",
    "CREATE TABLE copy AS SELECT * FROM T; DROP TABLE T; ALTER TABLE copy RENAME TO T; UPDATE T SET C = 1.5e300;",
    "CREATE TABLE copy AS SELECT * FROM T; DROP TABLE T; ALTER TABLE copy RENAME TO T; UPDATE T SET C = NULL;",
    "CREATE TABLE copy AS SELECT * FROM T; DROP TABLE T; ALTER TABLE copy RENAME TO T;
     UPDATE T SET C = CAST(zeroblob(3000000) AS TEXT);",
    "CREATE TABLE copy AS SELECT * FROM T; DROP TABLE T; ALTER TABLE copy RENAME TO T; INSERT INTO T SELECT * FROM T;",
    "DROP TABLE T;",
    "UPDATE checkpoint SET parent = seq;",
    "UPDATE checkpoint SET parent = seq + 1;",
    "UPDATE checkpoint SET parent = 9223372036854775807, thread = -1; UPDATE thread SET head = -9223372036854775808;",
    "CREATE INDEX strange ON T(C COLLATE NOCASE) WHERE length(hex(C)) > 3; PRAGMA user_version = 4;",
];

fn column(table: &str) -> &'static str {
    match table {
        "checkpoint" => "manifest",
        "thread" => "name",
        "locator" => "seq",
        "effect" => "key",
        "seal" => "proof",
        _ => "text",
    }
}

async fn sound(path: &Path) {
    let saver = registered(Arc::new(SqliteSaver::open(path).await.unwrap())).await;
    let long = format!("[\"{}\"]", "x".repeat(5000));
    let mut last = advance(&saver, "t", None, [set(0, &long), set(1, "1")]).await;
    for number in 0..8 {
        last = advance(&saver, "t", Some(&last), [extend(0, &format!("[{number}]"))]).await;
    }
    saver.record_result(&thread("t"), last.id, result(1, "1")).await.unwrap();
    saver.ask(&thread("t"), last.id, vec![super::file::asked()]).await.unwrap();
    saver.flush(&thread("t")).await.unwrap();
}

/// Makes the file of a seed from a sound one; returns a description.
fn harmed(sound: &[u8], path: &Path, seed: u64) -> String {
    let mut numbers = Numbers(seed);
    std::fs::write(path, sound).unwrap();
    let mut bytes = sound.to_vec();
    let page = 4096;
    let pages = bytes.len() / page;
    let how = match seed % 8 {
        0..4 => {
            let trick = TRICKS[numbers.below(TRICKS.len())];
            let table = TABLES[numbers.below(TABLES.len())];
            let sql = trick.replace("ON T", &format!("ON {table}"));
            let sql: Vec<String> = sql
                .split_inclusive(|letter: char| !letter.is_alphanumeric())
                .map(|word| match word.trim_end_matches(|letter: char| !letter.is_alphanumeric()) {
                    "T" => word.replacen('T', table, 1),
                    "C" => word.replacen('C', column(table), 1),
                    _ => word.to_owned(),
                })
                .collect();
            let sql = sql.concat();
            // Statements that this SQLite does not know do no harm.
            let done = Connection::open(path).unwrap().execute_batch(&sql);
            return format!("{sql} ({done:?})");
        }
        4 => {
            for _ in 0..=numbers.below(20) {
                let at = numbers.below(page);
                bytes[at] ^= 1 << numbers.below(8);
            }
            "bits of the first page"
        }
        5 => {
            for _ in 0..=numbers.below(40) {
                let at = page + numbers.below(bytes.len() - page);
                bytes[at] = u8::try_from(numbers.below(256)).unwrap();
            }
            "bytes of other pages"
        }
        6 => {
            let (from, to) = (numbers.below(pages) * page, numbers.below(pages) * page);
            let copied = bytes[from..from + page].to_vec();
            bytes[to..to + page].copy_from_slice(&copied);
            "a page in the place of another"
        }
        _ => {
            bytes.truncate(numbers.below(bytes.len()));
            "the end is missing"
        }
    };
    std::fs::write(path, bytes).unwrap();
    how.to_owned()
}

/// Runs all operations on a file. Returns the errors.
fn use_it(path: &Path) -> Vec<StoreError> {
    let mut errors = Vec::new();
    let name = thread("t");
    match SqliteReader::open(path) {
        Err(error) => errors.push(error),
        Ok(reader) => {
            errors.extend(reader.threads().err());
            errors.extend(reader.sizes().err());
            errors.extend(reader.history(&name, &At::Head, 99).err());
            errors.extend(reader.lineage(&name).err());
            errors.extend(reader.steps(&name, &At::Head, 99).err());
            errors.extend(reader.load(&name, &At::Head).err());
            errors.extend(reader.topology(&name, &At::Head).err());
            errors.extend(reader.locate("0", 9).err());
            errors.extend(portable::export(&reader, &name).err());
        }
    }
    errors.extend(maintenance::verify(path).err());
    errors.extend(maintenance::usage(path).err());
    let care = |error: maintenance::MaintenanceError, errors: &mut Vec<StoreError>| {
        if let maintenance::MaintenanceError::Store(error) = error {
            errors.push(error);
        }
    };
    let patience = Duration::from_millis(20);
    let retention = maintenance::Retention::new().keep_last(2);
    for error in [
        maintenance::collectable(path).err(),
        maintenance::prunable(path, &retention).err(),
        maintenance::prune(path, &retention, patience).err(),
        maintenance::collect(path, patience).err(),
        maintenance::vacuum(path, patience).err(),
    ] {
        error.into_iter().for_each(|error| care(error, &mut errors));
    }
    run(async {
        match SqliteSaver::open(path).await {
            Err(error) => errors.push(error),
            Ok(saver) => {
                let saver: Saver = Arc::new(saver);
                errors.extend(saver.register(&graph()).await.err());
                let loaded = saver.read(&name, At::Head).await;
                if let Ok(Some(loaded)) = &loaded {
                    let next = step(Some(&loaded.checkpoint), [set(1, "2")]);
                    errors.extend(saver.commit(commit_of("t", &next)).await.err());
                }
                errors.extend(loaded.err());
                let first = step(None, [set(1, "1")]);
                errors.extend(saver.commit(commit_of("new", &first)).await.err());
                errors.extend(saver.delete(&"graph".into(), &name).await.err());
            }
        }
    });
    errors
}

/// Returns `true` if an error names its cause: a statement that does not fit the file's tables is damage, and must be
/// reported as such.
fn is_told(error: &StoreError) -> bool {
    let StoreError::Io(cause) = error else { return true };
    !cause.to_string().starts_with("no such ")
}

/// Returns the number of things in the file that were run.
fn ran(path: &Path) -> i64 {
    let Ok(connection) = Connection::open(path) else { return 0 };
    connection.query_row("SELECT count(*) FROM marker", [], |row| row.get(0)).unwrap_or(0)
}

#[test]
fn hostile_files_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sound.db");
    run(sound(&path));
    let bytes = std::fs::read(&path).unwrap();
    assert!(use_it(&path).is_empty(), "a sound file is not");

    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = 250 * number("SUPERSTEP_TORTURE").unwrap_or(1);
    let seeds = number("SUPERSTEP_SEED").map_or(0..count, |seed| seed..seed + 1);
    let mut refused = 0;
    for seed in seeds.clone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let how = harmed(&bytes, &path, seed);
        let replay =
            format!("seed {seed}: {how}\nSUPERSTEP_SEED={seed} cargo test -p superstep-checkpoint hostile");
        let begun = std::time::Instant::now();
        let errors = catch_unwind(AssertUnwindSafe(|| use_it(&path)));
        let errors = errors.unwrap_or_else(|_| panic!("it panicked: {replay}"));
        assert_eq!(ran(&path), 0, "something in the file ran: {replay}");
        assert!(begun.elapsed() < Duration::from_secs(600), "it took {:?}: {replay}", begun.elapsed());
        for error in &errors {
            assert!(is_told(error), "{error}: {error:?}: {replay}");
        }
        refused += usize::from(!errors.is_empty());
    }
    assert!(seeds.end - seeds.start == 1 || refused > 100, "only {refused} files were refused");
}

/// Without the guards a file's trigger runs, which the marker shows.
#[test]
fn a_connection_without_guards_runs_what_is_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    run(sound(&path));
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(&TRICKS[0].replace(" T ", " thread ")).unwrap();
    connection.execute("UPDATE thread SET head = head", []).unwrap();
    assert_eq!(ran(&path), 1);
}
