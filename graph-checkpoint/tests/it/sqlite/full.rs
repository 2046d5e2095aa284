//! A disk that is full.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use superstep_checkpoint::{Durability, SqliteSaver};
use superstep_core::checkpoint::{CheckpointerExt, EffectId, EffectOutcome, EffectRecord};

use crate::material::*;

/// A text that does not fit into the file's limit.
fn too_long() -> String {
    format!("\"{}\"", "x".repeat(1 << 20))
}

/// Fails if `test` hangs.
fn ends(test: impl FnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    let test = std::thread::spawn(move || {
        test();
        done.send(()).unwrap();
    });
    if let Err(mpsc::RecvTimeoutError::Timeout) = ended.recv_timeout(Duration::from_secs(600)) {
        panic!("it hangs");
    }
    test.join().unwrap();
}

/// A result that could not be written used to be retried without a pause, forever and before everything else: the
/// writer thread used a whole CPU, every other thread of the file failed, and dropping the saver never ended.
#[test]
fn what_cannot_be_written_is_given_up_and_fails_its_own_thread_only() {
    for durability in [Durability::Power, Durability::Process, Durability::Exit] {
        ends(move || {
            run(async {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("t.db");
                let options = SqliteSaver::options().durability(durability).max_pages(80);
                let saver = registered(Arc::new(options.open(&path).await.unwrap())).await;
                let first = advance(&saver, "t", None, [set(0, "1")]).await;
                let other = advance(&saver, "other", None, [set(0, "1")]).await;
                saver.flush(&thread("other")).await.unwrap();
                saver.record_result(&thread("t"), first.id, result(1, &too_long())).await.unwrap();
                saver.record_result(&thread("t"), first.id, result(2, "2")).await.unwrap();
                if durability != Durability::Exit {
                    advance(&saver, "other", Some(&other), [set(0, "2")]).await;
                }
                let error = saver.flush(&thread("t")).await.expect_err(&format!("{durability:?}"));
                assert_eq!(error.to_string(), "the store failed: database or disk is full");
                // A caller that got the error can continue.
                advance(&saver, "t", Some(&first), [set(0, "2")]).await;
                drop(saver);
            });
        });
    }
}

/// The same without a waiting caller.
#[test]
fn a_saver_that_cannot_write_is_dropped_all_the_same() {
    ends(|| {
        run(async {
            let folder = tempfile::tempdir().unwrap();
            let options = SqliteSaver::options().max_pages(80);
            let saver = registered(Arc::new(options.open(folder.path().join("t.db")).await.unwrap())).await;
            let first = advance(&saver, "t", None, []).await;
            for number in 0..20 {
                let id =
                    EffectId { task: task(number), name: "call".into(), key: String::new(), occurrence: 0 };
                let drawn = EffectRecord {
                    id,
                    attempt: 1,
                    starts: 1,
                    token: superstep_core::id::IdempotencyKey::from_bytes([3; 16]),
                    outcome: Some(EffectOutcome::Ok(json(&too_long()))),
                };
                saver.note_effect(&thread("t"), first.id, drawn).await.unwrap();
            }
            drop(saver);
        });
    });
}

/// The error of a dropped run used to be returned to the next, unrelated input.
#[test]
fn an_input_is_not_told_what_failed_before_it() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteSaver::options().max_pages(80);
        let saver = registered(Arc::new(options.open(folder.path().join("t.db")).await.unwrap())).await;
        let first = advance(&saver, "t", None, []).await;
        saver.record_result(&thread("t"), first.id, result(1, &too_long())).await.unwrap();
        let mut input = step(Some(&first), []);
        input.source = superstep_core::checkpoint::Source::Input;
        put(&saver, "t", &input).await;
        saver.flush(&thread("t")).await.unwrap();
    });
}
