//! Two servers on one SQLite file, as two processes.

use superstep_checkpoint::SqliteSaver;
use superstep_core::records::CancelAction;

use super::*;

/// Opens servers on the file, each with a saver of its own.
async fn rig(file: &std::path::Path) -> Rig {
    let saver = SqliteSaver::open(file).await.expect("the file opens");
    Rig { saver: Arc::new(saver), ..Rig::new() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_in_a_file_is_rolled_back_by_another_process_and_streamed_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let (one, two) = (rig(&file).await, rig(&file).await);
    let (driver, other) = (one.service(), two.stopped());
    let thread = driver.test_thread().await;
    let body = json!({ "assistant_id": "holds", "input": { "words": ["in"] }, "stream_resumable": true });
    one.gate.add_permits(1);
    let first = driver.test_run(&thread, body.clone()).await.unwrap();
    let frames = all_frames(&driver, &first, Resume::Start).await;
    let (state, history) = (driver.test_state(&thread).await, driver.test_history(&thread).await);

    let second = driver.test_run(&thread, body).await.unwrap();
    driver.test_held(&second).await;
    other.cancel(&scope(), &second, CancelAction::Rollback).await.unwrap();
    assert_eq!(other.test_status(&second).await, None);
    assert_eq!((other.test_state(&thread).await, other.test_history(&thread).await), (state, history));
    driver.shutdown(Duration::from_secs(5)).await;
    drop((driver, other, one, two));

    let again = rig(&file).await.stopped();
    assert_eq!(all_frames(&again, &first, Resume::All).await, frames);
    let cut = frames.len() / 2;
    let rest = all_frames(&again, &first, Resume::After(number(&frames[cut]))).await;
    assert_eq!(rest, frames[cut + 1..]);
}
