//! Two servers on one SQLite file, as two processes.

use superstep_checkpoint::{SqliteReader, SqliteSaver, maintenance, portable};
use superstep_core::records::CancelAction;

use super::*;
use crate::wire::thread::{Prune, ThreadSearch};

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

#[tokio::test]
async fn a_thread_is_pruned_to_its_latest_state_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let rig = rig(&folder.path().join("runs.db")).await;
    let service = rig.service();
    let (thread, other) = (service.test_thread().await, service.test_thread().await);
    rig.gate.add_permits(3);
    for thread in [&thread, &other] {
        let body = json!({ "assistant_id": "holds", "input": { "words": ["in"] } });
        let run = service.test_run(thread, body).await.unwrap();
        service.join(&scope(), &run).await.unwrap();
    }
    let (state, whole) = (service.test_state(&thread).await, service.test_history(&other).await);
    let prune = json!({ "thread_ids": [thread, "nowhere"], "strategy": "keep_latest" });
    assert_eq!(service.prune_threads(&scope(), Prune::read(&prune).unwrap()).await.unwrap(), 1);
    assert_eq!(service.test_state(&thread).await["values"], state["values"]);
    let history = service.test_history(&thread).await;
    assert_eq!(history.iter().map(|state| &state["next"]).collect::<Vec<_>>(), [&json!([])]);
    assert_eq!(service.test_history(&other).await, whole);
    let body = json!({ "assistant_id": "holds", "input": { "words": ["more"] } });
    let run = service.test_run(&thread, body).await.unwrap();
    assert_eq!(service.join(&scope(), &run).await.unwrap()["words"][0], json!("in"));
}

#[tokio::test]
async fn a_store_that_does_not_prune_says_so() {
    let service = Rig::new().service();
    let prune = json!({ "thread_ids": [service.test_thread().await], "strategy": "keep_latest" });
    let refused = service.prune_threads(&scope(), Prune::read(&prune).unwrap()).await.unwrap_err();
    assert_eq!((refused.status, refused.detail.contains("keep_latest")), (422, true));
}

#[tokio::test]
async fn a_file_from_before_there_were_servers_is_upgraded_and_its_threads_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("old.db");
    let program = rig(&file).await;
    let asks = program.stopped().graph("asks").unwrap().clone();
    drop(asks.thread("old").run(json!({})).await.unwrap());
    drop((asks, program));
    let connection = rusqlite::Connection::open(&file).unwrap();
    for table in ["thread", "tag", "run", "queue", "assistant", "cron", "event", "expiring"] {
        connection.execute_batch(&format!("DROP TABLE server_{table}")).unwrap();
    }
    connection.execute_batch("PRAGMA user_version = 5").unwrap();
    drop(connection);
    assert_eq!(maintenance::migration(&file).unwrap().from, 5);

    let service = rig(&file).await.service();
    service.adopt_all().await.unwrap();
    let search = ThreadSearch::read(&json!({ "status": "interrupted" })).unwrap();
    let (found, _) = service.search_threads(&scope(), search).await.unwrap();
    assert_eq!(found[0]["thread_id"], "old");
    let answer = json!({ "assistant_id": "asks", "command": { "resume": "new" } });
    let run = service.test_run("old", answer).await.unwrap();
    assert_eq!(service.join(&scope(), &run).await.unwrap()["words"], json!(["new"]));
    let verified = maintenance::verify(&file).unwrap();
    assert_eq!((verified.format, verified.findings), (SqliteReader::FORMAT, Vec::new()));
}

#[tokio::test]
async fn an_exported_thread_has_no_rows_and_is_served_from_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let (file, other) = (folder.path().join("one.db"), folder.path().join("other.db"));
    let one = rig(&file).await;
    let service = one.service();
    let thread = service.test_thread().await;
    one.gate.add_permits(1);
    let body = json!({
        "assistant_id": "holds", "input": { "words": ["in"] }, "stream_resumable": true, "stream_mode": "debug",
    });
    let run = service.test_run(&thread, body).await.unwrap();
    service.join(&scope(), &run).await.unwrap();
    let export = portable::export(&SqliteReader::open(&file).unwrap(), &thread.as_str().into()).unwrap();
    let export = export.expect("the thread has checkpoints");
    assert!(!export.to_text().contains("stream_resumable"), "the request of the run is a row");
    let saver = SqliteSaver::open(&other).await.unwrap();
    portable::import(&saver, export, &"imported".into()).await.unwrap();
    drop(saver);

    let again = rig(&other).await.stopped();
    assert_eq!(again.test_state("imported").await["values"], service.test_state(&thread).await["values"]);
    assert_eq!(again.test_history("imported").await.len(), service.test_history(&thread).await.len());
    for file in [file, other] {
        assert_eq!(maintenance::verify(file).unwrap().findings, []);
    }
}
