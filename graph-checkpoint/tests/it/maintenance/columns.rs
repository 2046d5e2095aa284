//! A changed byte in any column of any table is detected.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use superstep_checkpoint::{CheckpointFile, Key, KeyRing, SqliteSaver, maintenance};
use superstep_core::checkpoint::{Commit, Committed, Naming};

use super::written::{Written, open, written};
use crate::material::*;
use crate::records::fill;

/// Row numbers without meaning: nothing refers to them, and rows are found by other columns.
const MEANINGLESS: [(&str, &str); 6] =
    [("pending", "id"), ("ask", "id"), ("effect", "id"), ("emitted", "id"), ("named", "id"), ("item", "id")];

/// The number of damaged rows per table, from the first to the last.
const ROWS: usize = 4;

/// A file with something in every table that files have when they are not encrypted.
async fn full() -> Written {
    let file = written().await;
    let saver = open(&file.path).await;
    add_branch(&saver, "u").await;
    fill(&*saver.records().unwrap(), "t").await;
    file
}

/// Gives a thread a branch, and a name to its first checkpoint.
async fn add_branch(saver: &Saver, name: &str) {
    let loaded = head(saver, name).await;
    let (last, parent) = (loaded.checkpoint.id, loaded.checkpoint.parent.unwrap());
    let from = at(saver, name, parent).await.checkpoint;
    let naming = Naming::Give { name: "early".parse().unwrap(), checkpoint: from.id };
    saver.name(&thread(name), naming).await.unwrap();
    let next = step(Some(&from), [extend(0, "[71]")]);
    let commit = Commit { expected: Some(last), ..commit_of(name, &next) };
    assert!(matches!(saver.commit(commit).await.unwrap(), Committed::New));
}

/// One with keys, in every table that such a file has.
async fn sealed(path: &Path, keys: &KeyRing) {
    let saver = SqliteSaver::options().encrypt(keys.clone()).open(path).await.unwrap();
    let saver = registered(Arc::new(saver)).await;
    let mut last = advance(&saver, "t", None, [set(0, "[1]"), set(1, &super::written::long("b"))]).await;
    for number in 0..3 {
        last = advance(&saver, "t", Some(&last), [extend(0, &format!("[{number}]"))]).await;
    }
    add_branch(&saver, "t").await;
    fill(&*saver.records().unwrap(), "t").await;
}

/// The tables of a file, and the columns of each; the words of a store's entries are an index.
fn tables(connection: &Connection) -> BTreeMap<String, Vec<String>> {
    let sql = "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
               WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.name NOT LIKE 'item_words%'";
    let mut all = connection.prepare(sql).unwrap();
    let rows = all.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
    rows.map(Result::unwrap).for_each(|(table, column)| tables.entry(table).or_default().push(column));
    tables
}

/// The value with one byte changed.
fn changed(value: &Value) -> Value {
    match value {
        Value::Null => Value::Integer(1),
        Value::Integer(number) => Value::Integer(number ^ 1),
        Value::Real(number) => Value::Real(-number),
        Value::Text(text) => {
            let middle = text.chars().count() / 2;
            let swapped = text.chars().enumerate().map(|(at, letter)| match at == middle {
                true if letter == '7' => '8',
                true => '7',
                false => letter,
            });
            Value::Text(if text.is_empty() { "7".into() } else { swapped.collect() })
        }
        Value::Blob(bytes) => {
            let mut bytes = bytes.clone();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x10;
            Value::Blob(bytes)
        }
    }
}

/// Damages each column of some rows of each table; returns the tables that had rows, and the undetected damages.
fn damage_all(path: &Path, file: impl Fn() -> CheckpointFile) -> (BTreeSet<String>, Vec<String>) {
    assert_eq!(maintenance::verify(file()).unwrap().findings, []);
    let connection = Connection::open(path).unwrap();
    let (mut with_rows, mut unnoticed) = (BTreeSet::new(), Vec::new());
    for (table, columns) in tables(&connection) {
        let mut all = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let values = |row: &rusqlite::Row<'_>| {
            (0..columns.len()).map(|at| row.get(at)).collect::<Result<Vec<Value>, _>>()
        };
        let rows: Vec<Vec<Value>> = all.query_map([], values).unwrap().map(Result::unwrap).collect();
        let some = rows.iter().step_by(rows.len().div_ceil(ROWS).max(1)).chain(rows.last());
        for row in some {
            with_rows.insert(table.clone());
            let same: Vec<String> =
                columns.iter().enumerate().map(|(at, name)| format!("{name} IS ?{}", at + 1)).collect();
            for (at, column) in columns.iter().enumerate() {
                if MEANINGLESS.contains(&(table.as_str(), column.as_str())) {
                    continue;
                }
                let mut damaged = row.clone();
                damaged[at] = changed(&row[at]);
                let update = |to: &Value, held: &[Value]| {
                    let sql = format!(
                        "UPDATE {table} SET {column} = ?{} WHERE {}",
                        columns.len() + 1,
                        same.join(" AND ")
                    );
                    connection.execute(&sql, params_from_iter(held.iter().chain([to])))
                };
                // A value of another row cannot be there twice.
                if !matches!(update(&damaged[at], row), Ok(1)) {
                    continue;
                }
                if maintenance::verify(file()).is_ok_and(|verified| verified.is_sound()) {
                    unnoticed.push(format!("{table}.{column}: {:?} for {:?}", damaged[at], row[at]));
                }
                assert_eq!(update(&row[at], &damaged), Ok(1));
            }
        }
    }
    (with_rows, unnoticed)
}

#[test]
fn a_changed_byte_in_any_column_of_any_table_is_found() {
    run(async {
        let file = full().await;
        let (with_rows, unnoticed) = damage_all(&file.path, || file.path.clone().into());
        assert_eq!(unnoticed, [] as [String; 0]);
        let empty: Vec<String> = tables(&Connection::open(&file.path).unwrap()).into_keys().collect();
        let empty: Vec<&String> = empty.iter().filter(|table| !with_rows.contains(*table)).collect();
        assert_eq!(empty, ["seal"], "nothing is in these");
    });
}

#[test]
fn a_changed_byte_in_any_column_of_an_encrypted_file_is_found() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let keys = KeyRing::new("2026", Key::new([7; 32]));
        sealed(&path, &keys).await;
        let (with_rows, unnoticed) = damage_all(&path, || CheckpointFile::from(&path).keys(keys.clone()));
        assert_eq!(unnoticed, [] as [String; 0]);
        assert!(with_rows.contains("seal"), "{with_rows:?}");
    });
}
