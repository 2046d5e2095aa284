//! Forks and edits.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;
use superstep::checkpoint::{At, CheckpointReader, CheckpointerExt, SqliteReader};
use superstep::cli::{Exit, Look};
use superstep::id::{CheckpointId, ThreadId};
use superstep::prelude::*;

use crate::program::{Essay, essay, essays, written};
use crate::{Said, golden_writing, said};

#[tokio::test]
async fn forks_and_edits_say_what_they_are_known_to_say() {
    golden_writing("fork", "fork FILE rust@4").await;
    golden_writing("fork_name", "fork FILE rust@4 --name other").await;
    golden_writing("edit", "edit FILE zig --set 'facts[id=\"people\"].text=\"few\"' --set rounds=7").await;
    golden_writing("edit_branch", "edit FILE rust@3 --set 'draft=\"by hand\"'").await;
    golden_writing("edit_dry_run", "edit FILE rust@3 --set rounds=9 --dry-run").await;
    golden_writing("edit_name", "edit FILE rust@3 --set 'token=\"new\"' --name other").await;
}

fn json(said: &Said) -> serde_json::Value {
    assert_eq!(said.exit, Exit::Fine, "{}", said.err);
    serde_json::from_str(&said.out).unwrap()
}

#[tokio::test]
async fn a_branch_is_the_one_that_code_begins() {
    let (by_verb, by_code) = (written().await, written().await);
    let graph = |path| async move { essays(SqliteSaver::open(path).await.unwrap(), 1_000) };
    let branch = json(&said(&by_verb.path, Look::PIPED, "fork FILE rust@3 --json"));
    let rust = graph(by_code.path.clone()).await.thread("rust");
    let past = rust.before_named("review").await.unwrap();
    let older = rust.history().unwrap().collect().await.unwrap();
    let older = older.iter().find(|line| line.step == 3).unwrap().id;
    let past = if past.id() == older { past } else { rust.at(older).await.unwrap() };
    past.branch().await.unwrap();
    let own = graph(by_verb.path.clone()).await.thread("rust");
    let (own, other) = (own.head().await.unwrap(), rust.head().await.unwrap());
    assert_eq!(branch["checkpoint"], own.id().to_string());
    let (mut a, b) = (own.loaded().clone(), other.loaded().clone());
    a.checkpoint.id = b.checkpoint.id;
    assert_eq!(a, b);
}

#[tokio::test]
async fn an_edit_of_the_head_is_the_one_that_code_makes() {
    let (by_verb, by_code) = (written().await, written().await);
    let graph = |path| async move { essays(SqliteSaver::open(path).await.unwrap(), 1_000) };
    let edited = json(&said(&by_verb.path, Look::PIPED, "edit FILE zig --set 'draft=\"mine\"' --json"));
    assert_eq!(edited["branch"], false);
    let zig = graph(by_code.path.clone()).await.thread("zig");
    zig.edit(Essay::update().draft("mine")).await.unwrap();
    let own = graph(by_verb.path.clone()).await.thread("zig");
    let (own, other) = (own.head().await.unwrap(), zig.head().await.unwrap());
    let (mut a, b) = (own.loaded().clone(), other.loaded().clone());
    assert_eq!(a.asks.len(), 1, "its question goes along");
    // Ids of tasks are derived from the checkpoint's id, and those of questions from the tasks' ids.
    (a.checkpoint.id, a.checkpoint.run) = (b.checkpoint.id, b.checkpoint.run);
    (a.asks[0].id, a.asks[0].task) = (b.asks[0].id, b.asks[0].task);
    a.effects.iter_mut().zip(&b.effects).for_each(|(a, b)| a.id.task = b.id.task);
    a.results.iter_mut().zip(&b.results).for_each(|(a, b)| a.task = b.task);
    assert_eq!(a, b);
}

#[tokio::test]
async fn the_program_continues_from_what_was_forked_and_edited() {
    let file = written().await;
    let said = |line: &str| json(&said(&file.path, Look::PIPED, line));
    said(
        "edit FILE rust@2 --set 'topic=\"Ada\"' --set 'facts[2]={\"id\":\"x\",\"text\":\"y\"}' --name ada --json",
    );
    said("edit FILE zig --set 'facts=[]' --json");
    said("fork FILE trouble~ --json");
    said("edit FILE trouble --set 'topic=\"peace\"' --json");
    let essays = essays(SqliteSaver::open(&file.path).await.unwrap(), 1_000);
    let asked = essays.thread("ada").resume().await.unwrap().interrupted().unwrap();
    assert_eq!(asked[0].question::<String>().unwrap(), "Ada in 3 facts");
    // The question was asked before the edit, and is answered after it.
    let zig = essays.thread("zig").answer("good").await.unwrap().finished().unwrap();
    assert_eq!(zig.draft, "Zig in 2 facts");
    let peace = essays.thread("trouble").resume().await.unwrap().interrupted().unwrap();
    assert_eq!(peace[0].question::<String>().unwrap(), "peace in 2 facts");
    assert_eq!(essays.thread("rust").head().await.unwrap().state().topic, "Rust");
}

/// A fork that went back to before its beginning once could not read what it shared.
#[tokio::test]
async fn a_branch_that_a_fork_has_left_is_read_with_its_whole_past() {
    let file = written().await;
    let said = |line: &str| said(&file.path, Look::PIPED, line);
    said("fork FILE rust@2 --name side");
    let edited = json(&said("edit FILE side --set 'topic=\"Ada\"' --json"));
    let left = edited["checkpoint"].as_str().unwrap().to_owned();
    said("fork FILE side@0");
    for line in [
        format!("diff FILE {left}"),
        format!("show FILE {left}~"),
        format!("log FILE {left} --skip 1"),
        format!("log FILE {left} --strip 40"),
        format!("bisect FILE {left} --path topic --is '= \"Ada\"'"),
        format!("bisect FILE {left} --path topic --is '= \"Ada\"' --linear"),
        format!("blame FILE {left} topic"),
        format!("compare FILE {left} rust"),
    ] {
        assert_eq!(said(&line).err, "", "{line}");
    }
    assert!(said(&format!("diff FILE {left}")).out.contains("\"Ada\""));
}

#[tokio::test]
async fn secrets_are_set_and_never_told() {
    let file = written().await;
    for line in ["edit FILE zig --set 'token=\"hush\"'", "edit FILE zig --set 'token=\"hush2\"' --json"] {
        let told = said(&file.path, Look::PIPED, line);
        assert!(told.exit == Exit::Fine && told.out.contains("<secret>"), "{told:?}");
        assert!(!told.out.contains("hush") && !told.out.contains("other"), "{told:?}");
    }
    let wrong = said(&file.path, Look::PIPED, "edit FILE zig --set token=hush");
    assert_eq!(
        wrong.err,
        "error: the value of token is not JSON: a text needs quotes, as in --set 'token=\"…\"'\n"
    );
    let essays = essays(SqliteSaver::open(&file.path).await.unwrap(), 1_000);
    let update = essays.thread("zig").head().await.unwrap().loaded().values.clone();
    assert!(update.iter().any(|held| held.value.as_str() == "\"hush2\""));
}

/// Every row of a table, by its columns.
fn rows(connection: &Connection, table: &str) -> Vec<Vec<Value>> {
    let mut all = connection.prepare(&format!("SELECT * FROM {table} ORDER BY 1")).unwrap();
    let columns = all.column_count();
    let rows = all.query_map([], |row| (0..columns).map(|at| row.get(at)).collect()).unwrap();
    rows.map(Result::unwrap).collect()
}

/// The rows of a file that are never changed.
fn immutable(path: &Path) -> BTreeMap<&'static str, Vec<Vec<Value>>> {
    let connection = Connection::open(path).unwrap();
    let tables = ["checkpoint", "body", "schema", "topology", "emitted"];
    tables.map(|table| (table, rows(&connection, table))).into()
}

/// Each checkpoint with its values, as loaded by every thread.
fn loaded(path: &Path) -> BTreeMap<(CheckpointId, ThreadId), String> {
    let reader = SqliteReader::open(path).unwrap();
    let mut loaded = BTreeMap::new();
    for thread in reader.threads().unwrap() {
        for line in reader.history(&thread.thread, &At::Head, usize::MAX).unwrap() {
            let held = reader.load(&thread.thread, &At::Id(line.id)).unwrap().unwrap();
            loaded.insert((line.id, line.thread), format!("{:?} {:?}", held.checkpoint, held.values));
        }
    }
    loaded
}

#[tokio::test]
async fn forks_and_edits_never_change_what_is_there() {
    let file = written().await;
    let all = loaded(&file.path);
    let mut before = immutable(&file.path);
    for (number, (id, _)) in all.keys().enumerate() {
        for line in [
            format!("fork FILE {id}"),
            format!("fork FILE {id} --name fork{number}"),
            format!("edit FILE {id} --set rounds=1{number:03}"),
            format!("edit FILE {id} --set 'draft=\"{}\"' --name edit{number}", "long".repeat(1_100)),
        ] {
            let told = said(&file.path, Look::PIPED, &line);
            assert_eq!(told.exit, Exit::Fine, "{line}: {}", told.err);
            let after = immutable(&file.path);
            for (table, rows) in &before {
                assert_eq!(after[table][..rows.len()], **rows, "{line}: {table}");
            }
            before = after;
        }
    }
    let saver = SqliteSaver::open(&file.path).await.unwrap();
    for ((id, thread), content) in all {
        let held = saver.read(&thread, At::Id(id)).await.unwrap().unwrap();
        assert_eq!(format!("{:?} {:?}", held.checkpoint, held.values), content);
    }
}

#[tokio::test]
async fn a_program_that_has_the_file_open_sees_what_was_added() {
    let file = written().await;
    let essays = essays(SqliteSaver::open(&file.path).await.unwrap(), 1_000);
    let zig = essays.thread("zig");
    assert_eq!(zig.head().await.unwrap().state().rounds, 2);
    for (number, line) in ["edit FILE zig --set rounds=5", "edit FILE zig --set rounds=6"].iter().enumerate()
    {
        assert_eq!(said(&file.path, Look::PIPED, line).exit, Exit::Fine);
        assert_eq!(zig.head().await.unwrap().state().rounds, 5 + u32::try_from(number).unwrap());
    }
    assert_eq!(said(&file.path, Look::PIPED, "fork FILE zig@2 --name free").exit, Exit::Fine);
    essays.thread("free").run(essay_update()).await.unwrap().interrupted().unwrap();
    assert_eq!(said(&file.path, Look::PIPED, "fork FILE zig@3").exit, Exit::Fine);
    let again = zig.resume().await.unwrap().interrupted().unwrap();
    assert_eq!(again[0].question::<String>().unwrap(), "Rust in 2 facts");
    essays.thread("new").run(essay("quick")).await.unwrap().finished().unwrap();
}

fn essay_update() -> <Essay as State>::Update {
    Essay::update().topic("free")
}

#[tokio::test]
async fn an_impossible_fork_or_edit_is_an_error() {
    let file = written().await;
    let error = |line: &str| {
        let told = said(&file.path, Look::PIPED, line);
        assert_eq!(told.out, "", "{line}");
        (told.exit as u8, told.err.lines().next().unwrap_or_default().to_owned())
    };
    let before = fs::read(&file.path).unwrap();
    for (line, code, text) in [
        ("fork FILE rst", 1, "there is no thread or checkpoint rst; did you mean rust?"),
        ("fork FILE rust --name zig", 2, "thread zig already exists: choose another name"),
        (
            "fork FILE rust --name '\u{1f}'",
            2,
            "a thread's name has at least one letter and no control characters",
        ),
        ("edit FILE rust --set rounds", 2, "\"rounds\" is not of the form PATH=JSON"),
        ("edit FILE rust --set a..b=1", 2, "\"a..b\" is not a path: a key is expected at character 2"),
        ("edit FILE rust --set .=1", 2, ". names no field: a path begins with one"),
        (
            "edit FILE rust --set draft=new",
            2,
            "\"new\" is not JSON: a text needs quotes, as in --set 'draft=\"new\"'",
        ),
        (
            "edit FILE rust --set round=1",
            1,
            "the state has no field round; its fields are topic, facts, draft, rounds, token",
        ),
        (
            "edit FILE rust --set facts[3].text=1",
            1,
            "facts[3].text leads nowhere: facts is a list of 2 items",
        ),
        ("edit FILE rust --set draft.a=1", 1, "draft.a leads nowhere: draft is a text"),
        ("edit FILE rust --set rounds=2", 1, "nothing was written: the state has these values already"),
        (
            "edit FILE rust --set 'rounds=\"2\"'",
            2,
            "rounds is a number and would become a text, which its program may not be able to read; add --force to do \
             it all the same",
        ),
    ] {
        assert_eq!(error(line), (code, format!("error: {text}")), "{line}");
    }
    assert_eq!(fs::read(&file.path).unwrap(), before, "nothing was written");
    for line in ["edit FILE rust --set rounds=null", "edit FILE rust~ --set 'rounds=\"2\"' --force"] {
        assert_eq!(said(&file.path, Look::PIPED, line).exit, Exit::Fine, "{line}");
    }
}

#[tokio::test]
async fn old_and_damaged_files_are_not_written_to() {
    let file = written().await;
    let old = file.folder.path().join("old.db");
    fs::copy(&file.path, &old).unwrap();
    Connection::open(&old)
        .unwrap()
        .execute_batch("ALTER TABLE body DROP COLUMN sealed; DROP TABLE emitted; DROP TABLE lease; DROP TABLE segment; DROP TABLE seal; DROP TABLE branch; PRAGMA user_version = 2")
        .unwrap();
    let damage = "UPDATE checkpoint SET manifest = manifest || ' ' WHERE seq = 3";
    Connection::open(&file.path).unwrap().execute_batch(damage).unwrap();
    for line in ["fork FILE rust@3", "fork FILE rust@3 --name b", "edit FILE rust --set rounds=9"] {
        let before = fs::read(&old).unwrap();
        let told = said(&old, Look::PIPED, line);
        assert_eq!(told.exit, Exit::Unusable);
        assert!(
            told.err.ends_with("which is only read; `superstep migrate` upgrades it to 6\n"),
            "{}",
            told.err
        );
        assert_eq!(fs::read(&old).unwrap(), before);
    }
    let told = said(&file.path, Look::PIPED, "fork FILE rust@-1");
    assert_eq!(told.exit, Exit::No);
    assert_eq!(told.err, "error: checkpoint row 3 is damaged: its checksum does not match\n");
    assert_eq!(said(&file.path, Look::PIPED, "edit FILE rust --set rounds=9").exit, Exit::Fine);
    assert_eq!(said(&file.path, Look::PIPED, "fork FILE nothing.db").exit, Exit::No);
}
