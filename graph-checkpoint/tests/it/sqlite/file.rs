//! Opening of files, and their content.

use std::sync::Arc;

use rusqlite::Connection;
use superstep_checkpoint::{Durability, SqliteReader, SqliteSaver, SqliteStore, maintenance};
use superstep_core::checkpoint::{
    AnsweredBy, AskRecord, At, Checkpointer, CheckpointerExt, Commit, Committed, Emitted, StoreError,
};
use superstep_core::id::InterruptId;

use crate::material::*;

#[test]
fn what_was_committed_is_there_after_a_reopen() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        for durability in [Durability::Power, Durability::Process, Durability::Exit] {
            let open = || SqliteSaver::options().durability(durability).open(&path);
            let name = format!("{durability:?}");
            let saver = registered(Arc::new(open().await.unwrap())).await;
            let first = advance(&saver, &name, None, [set(0, "1")]).await;
            let second = advance(&saver, &name, Some(&first), [set(0, "2")]).await;
            saver.record_result(&thread(&name), second.id, result(1, "1")).await.unwrap();
            drop(saver);

            let saver: Saver = Arc::new(open().await.unwrap());
            let loaded = head(&saver, &name).await;
            assert_eq!(loaded.checkpoint, second);
            assert_eq!(loaded.results, [result(1, "1")]);
            advance(&saver, &name, Some(&second), [set(0, "3")]).await;
            assert_eq!(saver.history(&thread(&name), At::Head, 9).await.unwrap().len(), 3);
        }
    });
}

/// Reading connections that outlived the writer used to leave the log beside the file, larger than the file itself.
#[test]
fn a_closed_file_stands_alone() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = registered(Arc::new(SqliteSaver::open(&path).await.unwrap())).await;
        let first = advance(&saver, "t", None, [set(0, "1")]).await;
        assert_eq!(head(&saver, "t").await.checkpoint, first);
        drop(saver);
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 1, "no log stays behind");
    });
}

#[test]
fn exit_saves_at_a_flush_and_not_before() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let exit = SqliteSaver::options().durability(Durability::Exit).open(&path).await.unwrap();
        let saver = registered(Arc::new(exit)).await;
        let first = advance(&saver, "t", None, [set(0, "1")]).await;
        let other = SqliteSaver::open(&path);
        assert_eq!(head(&saver, "t").await.checkpoint, first);
        saver.flush(&thread("t")).await.unwrap();
        let other = other.await.unwrap();
        assert!(other.read(&thread("t"), At::Head).await.unwrap().is_some());
        advance(&saver, "t", Some(&first), [set(0, "2")]).await;
        assert_eq!(other.read(&thread("t"), At::Head).await.unwrap().unwrap().checkpoint, first);
    });
}

/// Removes the additions of format 6.
pub(crate) const BACK_TO_5: &str = "
DROP TABLE server_thread;
DROP TABLE server_tag;
DROP TABLE server_run;
DROP TABLE server_queue;
DROP TABLE server_assistant;
DROP TABLE server_cron;
DROP TABLE server_event;
DROP TABLE server_expiring;
PRAGMA user_version = 5;
";

/// Removes the additions of format 5.
pub(crate) const BACK_TO_4: &str = "
ALTER TABLE body DROP COLUMN sealed;
PRAGMA user_version = 4;
";

/// Removes the additions of format 4 from a file without segments.
pub(crate) const BACK_TO_3: &str = "
DROP TABLE lease;
DROP TABLE seal;
DROP TABLE branch;
DROP TABLE named;
DROP TABLE segment;
PRAGMA user_version = 3;
";

/// Removes the additions of format 3.
pub(crate) const BACK_TO_2: &str = "
DROP TABLE emitted;
PRAGMA user_version = 2;
";

/// Removes the additions of format 2. The checksums of rows that do not use them are those of format 1.
pub(crate) const BACK_TO_1: &str = "
DROP INDEX ask_open;
ALTER TABLE ask DROP COLUMN deadline;
ALTER TABLE ask DROP COLUMN fallback;
ALTER TABLE ask DROP COLUMN by_deadline;
ALTER TABLE effect DROP COLUMN starts;
ALTER TABLE effect DROP COLUMN token;
PRAGMA user_version = 1;
";

#[test]
fn a_file_of_an_older_format_is_upgraded_with_everything_in_it() {
    let back = [BACK_TO_5, BACK_TO_4, BACK_TO_3, BACK_TO_2, BACK_TO_1];
    for steps in 1..=back.len() {
        upgrade(&back[..steps]);
    }
}

pub(crate) fn asked() -> AskRecord {
    AskRecord {
        id: InterruptId::from_bytes([3; 16]),
        task: task(1),
        node: "n".into(),
        path: Vec::new(),
        key: "0".into(),
        argument: None,
        question: json("1"),
        deadline: None,
        answer: None,
        answered_by: AnsweredBy::Caller,
    }
}

fn upgrade(back: &[&str]) {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = registered(Arc::new(SqliteSaver::open(&path).await.unwrap())).await;
        let first = advance(&saver, "t", None, [set(0, "1")]).await;
        let asked = asked();
        saver.ask(&thread("t"), first.id, vec![asked.clone()]).await.unwrap();
        drop(saver);
        Connection::open(&path).unwrap().execute_batch(&back.concat()).unwrap();

        let saver = SqliteSaver::open(&path).await.unwrap();
        let loaded = saver.read(&thread("t"), At::Head).await.unwrap().unwrap();
        assert_eq!((&loaded.checkpoint, &loaded.asks), (&first, &vec![asked.clone()]));
        saver.answer_all(&thread("t"), vec![(asked.id, json("2"))]).await.unwrap();
        let answered = saver.read(&thread("t"), At::Head).await.unwrap().unwrap().asks;
        assert_eq!(answered[0].answer, Some(json("2")));
        let said = Emitted { dropped: 1, events: Vec::new() };
        let next = step(Some(&first), []);
        let commit = Commit { emitted: vec![(0, said.clone())], ..commit_of("t", &next) };
        assert!(matches!(saver.commit(commit).await.unwrap(), Committed::New));
        let steps = saver.steps(&thread("t"), At::Head, 2).await.unwrap();
        assert_eq!((&steps[0].emitted, &steps[1].emitted), (&vec![(0, said)], &Vec::new()));
    });
}

#[test]
fn a_newer_format_is_refused() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        drop(SqliteSaver::open(&path).await.unwrap());
        Connection::open(&path).unwrap().pragma_update(None, "user_version", 9).unwrap();
        let error = SqliteSaver::open(&path).await.unwrap_err();
        assert!(matches!(error, StoreError::NewerFormat { found: 9, supported: 6 }), "{error}");
    });
}

#[test]
fn what_is_not_a_checkpoint_file_is_left_alone() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("notes.txt");
        std::fs::write(&text, "dear diary, ".repeat(1000)).unwrap();
        let foreign = folder.path().join("foreign.db");
        Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE checkpoint(x)").unwrap();
        for path in [text, foreign] {
            let before = std::fs::read(&path).unwrap();
            let error = SqliteSaver::open(&path).await.unwrap_err();
            assert!(matches!(error, StoreError::NotACheckpointFile(_)), "{error}");
            assert_eq!(std::fs::read(&path).unwrap(), before);
            assert_eq!(error.to_string(), format!("{} is not a checkpoint file", path.display()));
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    });
}

#[test]
fn an_empty_file_becomes_a_checkpoint_file() {
    run(async {
        let file = tempfile::NamedTempFile::new().unwrap();
        SqliteSaver::open(file.path()).await.unwrap();
        SqliteSaver::open(file.path()).await.unwrap();
    });
}

/// The saver used to continue committing to a file that no longer existed: later steps were acknowledged and lost.
#[test]
#[cfg(unix)]
fn a_file_that_is_removed_or_replaced_is_noticed_at_the_next_commit() {
    for durability in [Durability::Power, Durability::Process] {
        run(async {
            let folder = tempfile::tempdir().unwrap();
            let [path, aside] = ["t.db", "aside.db"].map(|name| folder.path().join(name));
            let saver = SqliteSaver::options().durability(durability).open(&path).await.unwrap();
            let saver = registered(Arc::new(saver)).await;
            let first = advance(&saver, "t", None, [set(0, "1")]).await;
            let next = step(Some(&first), [set(0, "2")]);
            let expected = format!(
                "the store failed: {} was removed or replaced while it was open, and later writes are lost: \
                 put the file back, or open the saver again",
                path.display()
            );

            std::fs::rename(&path, &aside).unwrap();
            let removed = saver.commit(commit_of("t", &next)).await.unwrap_err();
            assert_eq!(removed.to_string(), expected);
            assert!(!path.exists(), "no new file begins by itself");

            std::fs::write(&path, "another file").unwrap();
            let replaced = saver.commit(commit_of("t", &next)).await.unwrap_err();
            assert_eq!(replaced.to_string(), expected);
            assert_eq!(std::fs::read(&path).unwrap(), b"another file");

            std::fs::rename(&aside, &path).unwrap();
            let back = saver.commit(commit_of("t", &next)).await.unwrap();
            assert!(matches!(back, Committed::New | Committed::Already), "{back:?}");
            assert_eq!(head(&saver, "t").await.checkpoint, next);
        });
    }
}

/// SQLite deletes the log beside an empty file: the latest steps used to be lost, and the file was treated as new.
#[test]
fn an_empty_file_beside_its_log_is_damage_and_keeps_the_log() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let [path, log] = ["t.db", "t.db-wal"].map(|name| folder.path().join(name));
        std::fs::write(&log, "steps").unwrap();
        for there in [true, false] {
            if there {
                std::fs::write(&path, "").unwrap();
                let read = SqliteReader::open(&path).unwrap_err();
                assert!(matches!(read, StoreError::Corrupt { .. }), "{read}");
            } else {
                std::fs::remove_file(&path).unwrap();
            }
            let opened = SqliteSaver::open(&path).await.unwrap_err();
            assert!(matches!(opened, StoreError::Corrupt { .. }), "{opened}");
            let expected = format!(
                "{path} is damaged: the file is {lacks}, and its log {path}-wal is not: restore both from a backup, or \
                 remove the log to begin with a new file",
                path = path.display(),
                lacks = if there { "empty" } else { "missing" },
            );
            assert_eq!(opened.to_string(), expected);
            assert_eq!(std::fs::read(&log).unwrap(), b"steps");
        }
        std::fs::remove_file(&log).unwrap();
        SqliteSaver::open(&path).await.unwrap();
    });
}

/// Opening a pipe used to wait forever for a writer.
#[test]
#[cfg(unix)]
fn a_pipe_or_a_device_is_no_checkpoint_file() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe.db");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [pipe, "/dev/null".into(), "/dev/zero".into(), folder.path().to_owned()] {
            let what = if path.is_dir() {
                "a folder: name a file in it"
            } else {
                "a pipe, a socket or a device: name a file"
            };
            let expected = format!("the store failed: {} is {what}", path.display());
            assert_eq!(SqliteSaver::open(&path).await.unwrap_err().to_string(), expected);
            assert_eq!(SqliteStore::open(&path).await.map(drop).unwrap_err().to_string(), expected);
            assert_eq!(SqliteReader::open(&path).unwrap_err().to_string(), expected);
            assert_eq!(maintenance::verify(&path).unwrap_err().to_string(), expected);
        }
    });
}

#[test]
fn a_missing_folder_is_named() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let error = SqliteSaver::open(missing.join("t.db")).await.unwrap_err();
        let expected =
            format!("the store failed: the folder {} does not exist: create it first", missing.display());
        assert_eq!(error.to_string(), expected);
    });
}

#[test]
fn a_long_text_is_stored_once() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = registered(Arc::new(SqliteSaver::open(&path).await.unwrap())).await;
        let long = format!("\"{}\"", "x".repeat(100_000));
        let mut last = advance(&saver, "t", None, [set(0, &long), set(1, &long)]).await;
        for _ in 0..10 {
            last = advance(&saver, "t", Some(&last), [set(2, &long)]).await;
        }
        assert_eq!(values(&head(&saver, "t").await)[2].1, long);
        drop(saver);
        assert!(std::fs::metadata(&path).unwrap().len() < 400_000);
    });
}
