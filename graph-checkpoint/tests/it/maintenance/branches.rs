//! The ends of branches: a whole thread is found without reading other threads.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use superstep_checkpoint::maintenance::{self, Retention};
use superstep_checkpoint::portable::{Export, export, import};
use superstep_checkpoint::{SqliteReader, SqliteSaver};
use superstep_core::checkpoint::{Checkpoint, CheckpointerExt, Commit, Committed};

use super::written::open;
use crate::material::*;

const PATIENCE: Duration = Duration::from_secs(300);

/// A step after `parent` on a thread whose head is `head`.
async fn branch(saver: &Saver, parent: &Checkpoint, head: &Checkpoint) -> Checkpoint {
    let next = step(Some(parent), [extend(0, "[0]")]);
    let commit = Commit { expected: Some(head.id), ..commit_of("t", &next) };
    assert!(matches!(saver.commit(commit).await.unwrap(), Committed::New));
    next
}

/// Thread `t` with three branches, of which one ends where `u` begins: 1 ◄─ 2 ◄─ 3, 1 ◄─ 4, 2 ◄─ 5; and 3 ◄─ 6 of `u`.
async fn written(path: &Path) {
    let saver = open(path).await;
    let first = advance(&saver, "t", None, [set(0, "[1]")]).await;
    let second = advance(&saver, "t", Some(&first), [extend(0, "[2]")]).await;
    let third = advance(&saver, "t", Some(&second), [extend(0, "[3]")]).await;
    let fourth = branch(&saver, &first, &third).await;
    branch(&saver, &second, &fourth).await;
    saver.fork(&thread("t"), third.id, &thread("u")).await.unwrap();
    advance(&saver, "u", Some(&third), [extend(0, "[6]")]).await;
}

fn exported(path: &Path) -> Export {
    export(&SqliteReader::open(path).unwrap(), &thread("t")).unwrap().unwrap()
}

fn ends(path: &Path) -> Vec<i64> {
    let connection = Connection::open(path).unwrap();
    let mut ends = connection.prepare("SELECT checkpoint FROM branch ORDER BY checkpoint").unwrap();
    ends.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn execute(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn an_end_is_noted_when_the_head_leaves_it_and_no_longer_than_it_is_one() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        written(&path).await;
        assert_eq!(ends(&path), [3, 4]);
        assert_eq!(exported(&path).checkpoints(), 5);
        let saver = open(&path).await;
        let (fifth, third) = (head(&saver, "t").await.checkpoint, ids(&path)[2]);
        let third = saver.read(&thread("t"), superstep_core::checkpoint::At::Id(third)).await;
        branch(&saver, &third.unwrap().unwrap().checkpoint, &fifth).await;
        drop(saver);
        assert_eq!(ends(&path), [4, 5], "the branch goes on");
        assert_eq!(maintenance::verify(&path).unwrap().findings, []);
    });
}

fn ids(path: &Path) -> Vec<superstep_core::id::CheckpointId> {
    let connection = Connection::open(path).unwrap();
    let mut ids = connection.prepare("SELECT id FROM checkpoint ORDER BY seq").unwrap();
    let ids = ids.query_map([], |row| row.get(0).map(uuid::Uuid::from_bytes)).unwrap();
    ids.map(|id| superstep_core::id::CheckpointId(id.unwrap())).collect()
}

#[test]
fn a_file_of_an_older_format_is_exported_as_before_and_its_ends_are_found_when_it_is_migrated() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        written(&path).await;
        let whole = exported(&path).to_text();
        execute(
            &path,
            "DROP TABLE server_thread; DROP TABLE server_tag; DROP TABLE server_run; DROP TABLE server_queue; DROP TABLE server_assistant; DROP TABLE server_cron; DROP TABLE server_event; DROP TABLE server_expiring; \
             ALTER TABLE body DROP COLUMN sealed; DROP TABLE lease; DROP TABLE segment; DROP TABLE seal; DROP TABLE named; DROP TABLE branch; \
             PRAGMA user_version = 3; PRAGMA wal_checkpoint(TRUNCATE)",
        );
        assert_eq!(exported(&path).to_text(), whole);
        maintenance::migrate(&path).unwrap();
        assert_eq!(ends(&path), [3, 4]);
        assert_eq!(exported(&path).to_text(), whole);
        assert_eq!(maintenance::verify(&path).unwrap().findings, []);
    });
}

/// Thread `t` has 1 ◄─ 2 ◄─ 3 ◄─ 4 and 1 ◄─ 5, and `u` continues from 3: when 4 is pruned, the branch of `t` ends with
/// 3.
#[test]
fn a_branch_whose_end_is_pruned_ends_with_what_stays_of_it() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = open(&path).await;
        let mut line = vec![advance(&saver, "t", None, [set(0, "[1]")]).await];
        for _ in 2..=4 {
            line.push(advance(&saver, "t", line.last(), [extend(0, "[2]")]).await);
        }
        let fifth = branch(&saver, &line[0], &line[3]).await;
        saver.fork(&thread("t"), line[2].id, &thread("u")).await.unwrap();
        advance(&saver, "u", Some(&line[2]), [extend(0, "[6]")]).await;
        drop(saver);
        assert_eq!(ends(&path), [4]);
        let pruned = maintenance::prune(&path, &Retention::new().keep_last(0), PATIENCE).unwrap();
        assert!(pruned.checkpoints > 0, "{pruned:?}");
        let whole = exported(&path).to_text();
        let is_there = |checkpoint: &Checkpoint| whole.contains(&checkpoint.id.to_string());
        assert_eq!(
            [is_there(&line[2]), is_there(&line[3]), is_there(&fifth)],
            [true, false, true],
            "{whole}"
        );
        assert_eq!(ends(&path), [3]);
        assert_eq!(maintenance::verify(&path).unwrap().findings, []);
    });
}

#[test]
fn an_import_has_the_same_ends() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from.db"), folder.path().join("to.db"));
        written(&from).await;
        let whole = exported(&from);
        import(&SqliteSaver::open(&to).await.unwrap(), whole.clone(), &thread("t")).await.unwrap();
        assert_eq!(ends(&to), [3, 4]);
        assert_eq!(exported(&to).to_text(), whole.to_text());
        assert_eq!(maintenance::verify(&to).unwrap().findings, []);
    });
}

#[test]
fn a_lost_end_and_a_lost_note_of_it_are_found() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let (path, copy) = (folder.path().join("t.db"), folder.path().join("copy.db"));
        written(&path).await;
        let cases = [
            ("DELETE FROM checkpoint WHERE seq = 4", "it names checkpoint row 4, which is missing"),
            (
                "DELETE FROM branch WHERE checkpoint = 4",
                "nothing leads to it: a newer checkpoint or a row of branch is missing",
            ),
            ("UPDATE branch SET checkpoint = 5 WHERE checkpoint = 4", "its checksum does not match"),
            ("DELETE FROM thread WHERE name = 't'", "it belongs to thread row 1, which is missing"),
        ];
        for (damage, expected) in cases {
            std::fs::copy(&path, &copy).unwrap();
            execute(&copy, damage);
            let found = maintenance::verify(&copy).unwrap().findings;
            assert!(found.iter().any(|found| found.problem == expected), "{damage}: {found:?}");
        }
    });
}

#[test]
fn a_deleted_thread_leaves_no_ends() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        written(&path).await;
        let saver = open(&path).await;
        saver.delete(&"graph".into(), &thread("t")).await.unwrap();
        drop(saver);
        assert_eq!(ends(&path), [] as [i64; 0]);
        assert_eq!(maintenance::verify(&path).unwrap().findings, []);
    });
}
