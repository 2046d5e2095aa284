//! The rows that a deletion leaves in the file, and its effects on other users of the file.

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use superstep_checkpoint::SqliteSaver;
use superstep_core::checkpoint::{At, CheckpointerExt, Commit, Committed, Emitted, StoreError};

use crate::material::*;

async fn open(path: &Path) -> Saver {
    registered(Arc::new(SqliteSaver::open(path).await.unwrap())).await
}

async fn delete(saver: &Saver, name: &str) {
    saver.delete(&"graph".into(), &thread(name)).await.unwrap();
}

/// Returns the number of rows in each table that holds what threads wrote, except for the row that takes the deletion's
/// place.
fn rows(path: &Path) -> [i64; 7] {
    let file = Connection::open(path).unwrap();
    ["thread", "checkpoint WHERE thread > 0", "locator", "body", "pending", "ask", "emitted"].map(|table| {
        let sql = format!("SELECT count(*) FROM {table}");
        file.query_row(&sql, [], |row| row.get(0)).unwrap()
    })
}

#[test]
fn long_texts_go_with_the_last_checkpoint_that_holds_them() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = open(&path).await;
        let long = |letter: &str| format!("\"{}\"", letter.repeat(5000));
        let first = step(None, [set(0, &long("a")), set(1, &long("b"))]);
        let said = Emitted { dropped: 1, events: Vec::new() };
        let commit = Commit { emitted: vec![(0, said)], ..commit_of("t", &first) };
        assert!(matches!(saver.commit(commit).await.unwrap(), Committed::New));
        let mut last = first.clone();
        for _ in 0..130 {
            last = advance(&saver, "t", Some(&last), [set(1, "1")]).await;
        }
        saver.record_result(&thread("t"), last.id, result(1, "1")).await.unwrap();
        advance(&saver, "u", None, [set(0, &long("b"))]).await;
        saver.flush(&thread("t")).await.unwrap();
        assert_eq!(rows(&path), [2, 132, 128, 2, 1, 0, 1]);
        delete(&saver, "t").await;
        assert_eq!(rows(&path), [1, 1, 0, 1, 0, 0, 0]);
        assert_eq!(values(&head(&saver, "u").await), [(0, long("b"))]);
        delete(&saver, "u").await;
        assert_eq!(rows(&path), [0; 7]);
    });
}

/// Sequence numbers show whether another program has written: a deletion that reused some would be overlooked.
#[test]
fn a_deletion_is_noticed_by_other_users_of_the_file() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let (one, two) = (open(&path).await, open(&path).await);
        let other = advance(&two, "u", None, [set(0, "[1]")]).await;
        let first = advance(&two, "t", None, [set(0, "[1]")]).await;
        let before = head(&one, "t").await.seq;
        delete(&one, "t").await;
        advance(&one, "v", None, []).await;
        // Both belong to the cache of `two`.
        let lost = two.commit(commit_of("t", &step(Some(&first), []))).await.unwrap();
        assert!(matches!(lost, Committed::Conflict { head: None }), "{lost:?}");
        let late = two.ask(&thread("t"), first.id, Vec::new()).await;
        assert!(matches!(late, Err(StoreError::Superseded { .. })), "{late:?}");
        advance(&two, "u", Some(&other), [extend(0, "[2]")]).await;
        assert_eq!(values(&head(&one, "u").await), [(0, "[1,2]".into())]);
        assert!(head(&one, "v").await.seq.0 > before.0 + 1);
        assert!(two.read(&thread("t"), At::Head).await.unwrap().is_none());
    });
}

/// A program that had not written for a while used to take the next number that it knew of, which others had used and
/// deleted: its checkpoint was ordered before older checkpoints of others.
#[test]
fn a_number_that_was_deleted_is_not_given_again() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let (one, two) = (open(&path).await, open(&path).await);
        let first = advance(&two, "u", None, []).await;
        let mut last = advance(&one, "t", None, []).await;
        for _ in 0..5 {
            last = advance(&one, "t", Some(&last), []).await;
        }
        delete(&one, "t").await;
        advance(&one, "v", None, []).await;
        let newest = head(&one, "v").await.seq;
        advance(&two, "u", Some(&first), []).await;
        assert!(head(&two, "u").await.seq > newest);
    });
}
