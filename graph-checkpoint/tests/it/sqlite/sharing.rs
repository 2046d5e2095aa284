//! Several users of one file.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use superstep_checkpoint::{Durability, SqliteSaver};
use superstep_core::checkpoint::{At, CheckpointerExt, Committed, StoreError};
use superstep_core::id::RunId;
use uuid::Uuid;

use crate::material::*;

async fn open(path: &Path, durability: Durability) -> Saver {
    registered(Arc::new(SqliteSaver::options().durability(durability).open(path).await.unwrap())).await
}

/// Appends to the thread `t` until `steps` commits were its own; counts the conflicts.
async fn compete(saver: &Saver, steps: usize) {
    let mut mine = 0;
    let run = RunId(Uuid::now_v7());
    while mine < steps {
        let last = head(saver, "t").await.checkpoint;
        let mut next = step(Some(&last), [extend(0, "[1]")]);
        next.run = run;
        match saver.commit(commit_of("t", &next)).await.unwrap() {
            Committed::New => mine += 1,
            Committed::Conflict { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

async fn check_chain(saver: &Saver, length: usize) {
    let lines = saver.history(&thread("t"), At::Head, usize::MAX).await.unwrap();
    assert_eq!(lines.len(), length + 1);
    assert!(lines.windows(2).all(|pair| pair[0].parent == Some(pair[1].id)));
    let items: Vec<u8> = head(saver, "t").await.values[0].value.decode().unwrap();
    assert_eq!(items.len(), length);
}

#[test]
fn connections_in_one_program_build_one_chain() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let durabilities = [Durability::Power, Durability::Process, Durability::Power, Durability::Process];
        advance(&open(&path, Durability::Power).await, "t", None, [set(0, "[]")]).await;
        let mut rivals = Vec::new();
        for durability in durabilities {
            let saver = open(&path, durability).await;
            rivals.push(tokio::spawn(async move { compete(&saver, 25).await }));
        }
        for rival in rivals {
            rival.await.unwrap();
        }
        check_chain(&open(&path, Durability::Power).await, 100).await;
    });
}

/// A program that opened a file while another one created its tables used to read a part of the old and a part of the
/// new header, and took the file for something else.
#[test]
fn a_new_file_is_opened_by_many_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..60 {
        let path = folder.path().join(format!("{round}.db"));
        let start = std::sync::Barrier::new(6);
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    start.wait();
                    let options = SqliteSaver::options().durability(Durability::Process);
                    run(async { options.open(&path).await.map(drop).unwrap() });
                });
            }
        });
    }
}

#[test]
fn threads_that_commit_at_once_share_a_transaction() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let commits = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counter = commits.clone();
        let options = SqliteSaver::options().observe_commits(move |_| {
            counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        });
        let saver = registered(Arc::new(options.open(&path).await.unwrap())).await;
        let writers: Vec<_> = (0..40)
            .map(|number| {
                let saver = saver.clone();
                tokio::spawn(async move {
                    let name = number.to_string();
                    let mut last = advance(&saver, &name, None, [set(0, "[]")]).await;
                    for _ in 0..10 {
                        last = advance(&saver, &name, Some(&last), [extend(0, &format!("[{number}]"))]).await;
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
        for number in 0..40 {
            let items: Vec<i32> = head(&saver, &number.to_string()).await.values[0].value.decode().unwrap();
            assert_eq!(items, [number; 10]);
        }
        let transactions = commits.load(std::sync::atomic::Ordering::Relaxed) / 2;
        assert!(transactions < 440, "{transactions} transactions for 440 steps");
    });
}

#[test]
fn one_refusal_does_not_fail_its_neighbours() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let saver = open(&folder.path().join("t.db"), Durability::Power).await;
        let first = advance(&saver, "t", None, [set(0, "1")]).await;
        let all: Vec<_> = (0..30)
            .map(|number| {
                let (saver, first) = (saver.clone(), first.clone());
                tokio::spawn(async move {
                    if number % 3 == 0 {
                        let foreign = superstep_core::checkpoint::Commit {
                            graph: "other".into(),
                            ..commit_of("t", &step(Some(&first), []))
                        };
                        assert!(matches!(saver.commit(foreign).await, Err(StoreError::WrongGraph { .. })));
                    } else {
                        advance(&saver, &number.to_string(), None, [set(0, "1")]).await;
                    }
                })
            })
            .collect();
        for task in all {
            task.await.unwrap();
        }
        assert_eq!(saver.threads().await.unwrap().len(), 21);
    });
}

#[test]
fn a_result_that_was_not_the_first_cannot_be_committed() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let one = open(&path, Durability::Process).await;
        let two = open(&path, Durability::Process).await;
        let first = advance(&one, "t", None, []).await;
        let name = thread("t");
        // Both see no result yet, and each records its own.
        one.record_result(&name, first.id, result(9, "0")).await.unwrap();
        two.record_result(&name, first.id, result(8, "0")).await.unwrap();
        one.record_result(&name, first.id, result(1, "\"one\"")).await.unwrap();
        one.flush(&name).await.unwrap();
        let counted = two.record_result(&name, first.id, result(1, "\"two\"")).await.unwrap();
        let committed = two.commit(commit_of("t", &step(Some(&first), []))).await;
        // Either it gets an error at once, or its commit is refused.
        assert!(
            counted == result(1, "\"one\"") || matches!(committed, Err(StoreError::Superseded { .. })),
            "{committed:?}"
        );
        // It resumes from the recorded results.
        let loaded = head(&two, "t").await;
        assert!(loaded.results.contains(&result(1, "\"one\"")));
        advance(&two, "t", Some(&first), []).await;
    });
}

/// The first result of a superstep used to read the file on the runtime's thread, which blocked the rest of the
/// program.
#[test]
fn what_is_stored_of_a_superstep_is_read_away_from_the_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let (saver, first) = tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let saver = open(&folder.path().join("t.db"), Durability::Power).await;
        let first = advance(&saver, "t", None, []).await;
        (saver, first)
    });
    let threads = Arc::new(AtomicUsize::new(0));
    let begun = Arc::clone(&threads);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .on_thread_start(move || {
            begun.fetch_add(1, Ordering::SeqCst);
        })
        .build()
        .unwrap();
    for number in 1..3 {
        runtime.block_on(saver.record_result(&thread("t"), first.id, result(number, "1"))).unwrap();
        assert_eq!(threads.load(Ordering::SeqCst), 1, "the file is read once, on a thread of its own");
    }
}

const FILE: &str = "SUPERSTEP_TEST_SHARED_FILE";

#[test]
fn processes_build_one_chain_and_never_see_a_lock() {
    if let Some(path) = std::env::var_os(FILE) {
        let path = PathBuf::from(path);
        run(async { compete(&open(&path, Durability::Process).await, 50).await });
        return;
    }
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = open(&path, Durability::Process).await;
        advance(&saver, "t", None, [set(0, "[]")]).await;
        let rivals: Vec<_> = (0..3)
            .map(|_| {
                Command::new(std::env::current_exe().unwrap())
                    .args(["--exact", "sqlite::sharing::processes_build_one_chain_and_never_see_a_lock"])
                    .env(FILE, &path)
                    .stdout(Stdio::null())
                    .spawn()
                    .unwrap()
            })
            .collect();
        compete(&saver, 50).await;
        for mut rival in rivals {
            assert!(rival.wait().unwrap().success());
        }
        check_chain(&saver, 200).await;
    });
}
