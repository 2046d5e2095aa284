//! Reading files of other programs.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use superstep_checkpoint::{CheckpointReader, Located, SqliteReader, SqliteSaver};
use superstep_core::checkpoint::{At, Checkpoint, CheckpointerExt, Commit, Committed, StoreError, Summary};

use super::file::{BACK_TO_1, BACK_TO_2, BACK_TO_3, BACK_TO_4, BACK_TO_5};
use crate::material::*;

async fn open(path: &Path) -> Saver {
    registered(Arc::new(SqliteSaver::open(path).await.unwrap())).await
}

fn beside(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn head_of(reader: &SqliteReader) -> Checkpoint {
    reader.load(&thread("t"), &At::Head).unwrap().unwrap().checkpoint
}

#[test]
fn a_file_is_read_while_it_is_written() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = open(&path).await;
        let first = advance(&saver, "t", None, [set(0, "1")]).await;
        let reader = SqliteReader::open(&path).unwrap();
        assert_eq!(head_of(&reader), first);
        let second = advance(&saver, "t", Some(&first), [set(0, "2")]).await;
        assert_eq!(head_of(&reader), second, "each read sees the latest");

        // A writer in the middle of a transaction does not block readers, and readers do not block it.
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert_eq!(head_of(&SqliteReader::open(&path).unwrap()), second);
        other.execute_batch("ROLLBACK").unwrap();
    });
}

#[test]
fn a_file_that_is_not_open_is_read_and_nothing_is_left_beside_it() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a 100% é?.db");
        let saver = open(&path).await;
        let first = advance(&saver, "t", None, [set(0, "1")]).await;
        drop(saver);
        let reader = SqliteReader::open(&path).unwrap();
        assert_eq!(head_of(&reader), first);
        assert_eq!(beside(&path), ["a 100% é?.db"]);

        let saver = open(&path).await;
        let second = advance(&saver, "t", Some(&first), [set(0, "2")]).await;
        assert_eq!(head_of(&reader), second, "a writer has begun to write to it");
        let third = advance(&saver, "t", Some(&second), []).await;
        drop((reader, saver));
        assert_eq!(head_of(&SqliteReader::open(&path).unwrap()), third);
    });
}

#[test]
fn the_file_of_a_crashed_program_is_read_with_its_log() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = open(&path).await;
        let first = advance(&saver, "t", None, [set(0, "1")]).await;
        // As on the disk after the program was killed.
        let crashed = folder.path().join("crashed.db");
        fs::copy(&path, &crashed).unwrap();
        fs::copy(folder.path().join("t.db-wal"), folder.path().join("crashed.db-wal")).unwrap();
        assert_eq!(head_of(&SqliteReader::open(&crashed).unwrap()), first);
    });
}

#[test]
fn a_file_of_an_older_format_is_read_as_it_is() {
    let older = [
        (5, BACK_TO_5.to_owned()),
        (4, [BACK_TO_5, BACK_TO_4].concat()),
        (3, [BACK_TO_5, BACK_TO_4, BACK_TO_3].concat()),
        (2, [BACK_TO_5, BACK_TO_4, BACK_TO_3, BACK_TO_2].concat()),
        (1, [BACK_TO_5, BACK_TO_4, BACK_TO_3, BACK_TO_2, BACK_TO_1].concat()),
    ];
    for (format, back) in older {
        run(async move {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t.db");
            let saver = open(&path).await;
            let first = advance(&saver, "t", None, [set(0, "1")]).await;
            saver.ask(&thread("t"), first.id, vec![super::file::asked()]).await.unwrap();
            drop(saver);
            Connection::open(&path).unwrap().execute_batch(&back).unwrap();
            let before = fs::read(&path).unwrap();

            let reader = SqliteReader::open(&path).unwrap();
            assert_eq!(reader.format(), format);
            let loaded = reader.load(&thread("t"), &At::Head).unwrap().unwrap();
            assert_eq!((loaded.checkpoint, loaded.asks), (first, vec![super::file::asked()]));
            assert_eq!(reader.steps(&thread("t"), &At::Head, 9).unwrap()[0].emitted, []);
            assert_eq!(reader.threads().unwrap()[0].open_asks.len(), 1);
            assert_eq!(fs::read(&path).unwrap(), before);
        });
    }
}

/// A process that closes any handle of a file releases all its locks on it. Another program that closes the file would
/// then assume that it is the last one, and delete the log that the saver writes.
#[cfg(target_os = "linux")]
#[test]
fn a_reader_leaves_the_locks_of_a_saver_of_the_same_process_alone() {
    use std::os::unix::fs::MetadataExt;

    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = open(&path).await;
        advance(&saver, "t", None, []).await;
        let place = format!(":{} ", fs::metadata(&path).unwrap().ino());
        let locks = || {
            let all = fs::read_to_string("/proc/locks").unwrap();
            all.lines().filter(|line| line.contains(&place)).count()
        };
        let held = locks();
        assert!(held > 0, "a saver has the file locked while it is open");
        for _ in 0..2 {
            let reader = SqliteReader::open(&path).unwrap();
            assert_eq!((reader.threads().unwrap().len(), locks()), (1, held));
        }
        assert_eq!(locks(), held);
    });
}

#[test]
fn what_cannot_be_read_is_said() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let open = |name: &str| SqliteReader::open(folder.path().join(name)).unwrap_err();
        let missing = open("none.db").to_string();
        assert!(missing.starts_with("the store failed: there is no file ") && missing.ends_with("none.db"));
        fs::write(folder.path().join("empty.db"), "").unwrap();
        assert!(open("empty.db").to_string().ends_with("empty.db is empty: nothing was stored in it yet"));
        fs::write(folder.path().join("text.db"), "no database, but longer than a header of one".repeat(40))
            .unwrap();
        assert!(matches!(open("text.db"), StoreError::NotACheckpointFile(_)));
        assert!(open(".").to_string().ends_with("is a folder: name a file in it"));
        let other = Connection::open(folder.path().join("other.db")).unwrap();
        other.execute_batch("CREATE TABLE t(a)").unwrap();
        assert!(matches!(open("other.db"), StoreError::NotACheckpointFile(_)));
        drop(SqliteSaver::open(folder.path().join("newer.db")).await.unwrap());
        let newer = Connection::open(folder.path().join("newer.db")).unwrap();
        newer.pragma_update(None, "user_version", 99).unwrap();
        drop(newer);
        assert!(matches!(open("newer.db"), StoreError::NewerFormat { found: 99, .. }));
        assert_eq!(beside(&folder.path().join("x")).len(), 4, "none was created");
    });
}

#[test]
fn checkpoints_are_found_by_either_end_of_their_ids() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = open(&path).await;
        let first = advance(&saver, "t", None, []).await;
        saver.fork(&thread("t"), first.id, &thread("fork")).await.unwrap();
        let second = advance(&saver, "fork", Some(&first), []).await;
        let reader = SqliteReader::open(&path).unwrap();
        let found = |digits: &str| reader.locate(digits, 9).unwrap();
        let (a, b) = (
            Located { id: first.id, thread: thread("t") },
            Located { id: second.id, thread: thread("fork") },
        );
        let text = first.id.to_string();
        assert_eq!(found(&text), std::slice::from_ref(&a));
        assert_eq!(found(&text.to_uppercase()[14..]), std::slice::from_ref(&a));
        let shown = &text[text.len() - 8..];
        assert_eq!(found(&shown[..6]), std::slice::from_ref(&a));
        assert_eq!(found(&shown[1..7]), [], "that is neither end");
        assert_eq!(found(&text[..3]), [a, b]);
        assert_eq!(reader.locate(&text[..3], 1).unwrap().len(), 1);
        assert_eq!(found("zz"), []);
    });
}

#[test]
fn a_thread_counts_what_it_has_of_its_own() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = open(&path).await;
        let first = advance(&saver, "t", None, [set(0, "\"some text\"")]).await;
        let second = advance(&saver, "t", Some(&first), []).await;
        let branch = step(Some(&first), []);
        let moved = Commit { expected: Some(second.id), ..commit_of("t", &branch) };
        assert!(matches!(saver.commit(moved).await.unwrap(), Committed::New));
        saver.fork(&thread("t"), first.id, &thread("fork")).await.unwrap();
        let reader = SqliteReader::open(&path).unwrap();
        let sizes = reader.sizes().unwrap();
        let size = sizes[&thread("t")];
        assert_eq!((size.checkpoints, size.branches), (3, 2));
        assert!(size.bytes > 11, "{size:?}");
        assert_eq!(sizes[&thread("fork")].checkpoints, 0);
        assert_eq!(reader.topology(&thread("t"), &At::Head).unwrap(), Some(graph().topology));
        assert_eq!(reader.topology(&thread("none"), &At::Head).unwrap(), None);
    });
}

#[test]
fn a_tree_is_read_on_from_an_earlier_one() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = open(&path).await;
        let first = advance(&saver, "t", None, [set(0, "1")]).await;
        let second = advance(&saver, "t", Some(&first), []).await;
        let third = advance(&saver, "t", Some(&second), []).await;
        advance(&saver, "elsewhere", None, []).await;
        let reader = SqliteReader::open(&path).unwrap();
        let read_on = |known: &mut Vec<Summary>| {
            let whole = reader.lineage(&thread("t")).unwrap();
            assert_eq!(reader.lineage_after(&thread("t"), known).unwrap(), whole);
            *known = whole;
        };
        let mut known = Vec::new();
        read_on(&mut known);
        assert_eq!(known.len(), 3);
        read_on(&mut known);

        advance(&saver, "t", Some(&third), []).await;
        saver.fork(&thread("t"), second.id, &thread("fork")).await.unwrap();
        advance(&saver, "fork", Some(&second), []).await;
        read_on(&mut known);
        assert_eq!(known.len(), 5);
        // What an earlier tree has is not read again.
        let mut renamed = known.clone();
        renamed[0].step = 99;
        assert_eq!(reader.lineage_after(&thread("t"), &renamed).unwrap(), renamed);

        saver.delete(&"graph".into(), &thread("fork")).await.unwrap();
        read_on(&mut known);
        assert_eq!(known.len(), 4);
        // Of another tree nothing is used.
        assert_eq!(reader.lineage_after(&thread("elsewhere"), &known).unwrap().len(), 1);
    });
}
