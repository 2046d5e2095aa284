//! The rows of a server in an SQLite file: what the suite for all savers cannot test.

use std::fmt::Debug;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Map, Value};
use superstep_checkpoint::maintenance::{self, Form, rekey};
use superstep_checkpoint::{CheckpointFile, Key, KeyRing, SqliteSaver};
use superstep_core::checkpoint::{Checkpointer, StoreError};
use superstep_core::records::life::Ending;
use superstep_core::records::{
    AssistantRow, CancelAction, CronRow, EventRow, Expiry, ExpiryStrategy, Heartbeat, Multitask, Order,
    Records, RunClaim, RunRow, RunStatus, ThreadChange, ThreadQuery, ThreadRow, ThreadStatus,
};
use superstep_core::state::SizeLimits;

use crate::material::*;

pub(crate) const CANARY: &str = "a canary of a server";
const PATIENCE: Duration = Duration::from_secs(300);

fn object(entries: &[(&str, Value)]) -> Map<String, Value> {
    entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn thread_row(name: &str, metadata: Map<String, Value>) -> ThreadRow {
    ThreadRow {
        id: thread(name),
        graph: Some("graph".into()),
        metadata,
        status: ThreadStatus::Idle,
        config: json(&format!("{CANARY:?}")),
        error: Some(json(&format!("{CANARY:?}"))),
        created_ms: 1,
        updated_ms: 1,
        state_updated_ms: 1,
        expiry: Some(Expiry::new(1.0, ExpiryStrategy::Delete, 1)),
    }
}

fn run_row(id: &str, of: &str) -> RunRow {
    RunRow {
        id: id.into(),
        thread: thread(of),
        assistant: "a".into(),
        graph: "graph".into(),
        status: RunStatus::Pending,
        kwargs: json(&format!("[{CANARY:?}]")),
        metadata: Map::new(),
        multitask: Multitask::Enqueue,
        created_ms: 1,
        updated_ms: 1,
        not_before_ms: 0,
        owner: None,
        until_ms: 0,
        attempt: 0,
        lost: 0,
        cancel: None,
        error: None,
        calls: None,
    }
}

fn event(of: &str, seq: u64, run: &str) -> EventRow {
    EventRow { thread: thread(of), seq, run: run.into(), at_ms: 7, text: json(&format!("{CANARY:?}")) }
}

/// Stores rows in each table of a server.
pub(crate) async fn fill(rows: &dyn Records, name: &str) {
    let metadata = object(&[("user", CANARY.into()), ("number", 1.into()), ("list", vec![1].into())]);
    rows.insert_thread(thread_row(name, metadata.clone())).await.expect("a new thread");
    rows.create_run(run_row("failed", name)).await.expect("a new run");
    rows.create_run(run_row("pending", name)).await.expect("a second run");
    let claim =
        RunClaim { owner: "worker".into(), graphs: vec!["graph".into()], left: Vec::new(), until_ms: 99 };
    let held = rows.claim_run(&claim, 5).await.expect("a claim").expect("a pending run");
    rows.reserve_events(&thread(name), 10).await.expect("numbers of events");
    let events = vec![event(name, 1, "failed"), event(name, 2, "failed")];
    assert!(rows.append_events(held.attempt, events).await.expect("events of a run"));
    let error = Some(json(&format!("{CANARY:?}")));
    let ending = Ending::Ended { status: RunStatus::Error, thread: ThreadStatus::Error, error };
    assert!(rows.finish_run("failed", held.attempt, ending, None, 6).await.expect("the end of a run"));
    let assistant = AssistantRow {
        id: "a".into(),
        version: 1,
        graph: "graph".into(),
        name: CANARY.into(),
        description: None,
        config: json("{}"),
        context: json("null"),
        metadata: metadata.clone(),
        created_ms: 1,
        updated_ms: 1,
    };
    rows.put_assistant(assistant).await.expect("a new assistant");
    let cron = CronRow {
        id: "c".into(),
        thread: Some(thread(name)),
        assistant: "a".into(),
        schedule: "@daily".into(),
        timezone: None,
        payload: json(&format!("{CANARY:?}")),
        metadata,
        keeps_thread: true,
        enabled: true,
        next_ms: Some(9),
        end_ms: None,
        created_ms: 1,
        updated_ms: 1,
    };
    rows.put_cron(cron).await.expect("a new schedule");
    // It expires in the far future.
    rows.expire_events(&thread(name), "failed", 1 << 50).await.expect("an expiry");
}

fn refused<T: Debug>(answer: Result<T, StoreError>) -> String {
    answer.expect_err("it is refused").to_string()
}

/// Sends every request that writes the rows of [`fill`], and returns the errors.
pub(crate) async fn refusals(rows: &dyn Records, name: &str) -> Vec<String> {
    let name = thread(name);
    let row = rows.thread(&name).await.expect("it is read").expect("the thread");
    let run = rows.run("pending").await.expect("it is read").expect("the run");
    let assistant = rows.assistant("a").await.expect("it is read").expect("the assistant");
    let cron = rows.cron("c").await.expect("it is read").expect("the schedule");
    let claim =
        RunClaim { owner: "worker".into(), graphs: vec!["graph".into()], left: Vec::new(), until_ms: 99 };
    let heartbeat = Heartbeat { run: "pending".into(), attempt: 1, lost: None };
    vec![
        refused(rows.insert_thread(row).await),
        refused(rows.change_thread(&name, ThreadChange::default(), 9).await),
        refused(rows.delete_thread(&name).await),
        refused(rows.create_run(run).await),
        refused(rows.claim_run(&claim, 9).await),
        refused(rows.beat(&[heartbeat], 9).await),
        refused(rows.finish_run("pending", 1, Ending::GivenBack, None, 9).await),
        refused(rows.cancel_run("pending", CancelAction::Interrupt, 9).await),
        refused(rows.delete_run("failed").await),
        refused(rows.finish_call("failed", 1, None).await),
        refused(rows.put_assistant(assistant).await),
        refused(rows.set_version("a", 1, 9).await),
        refused(rows.delete_assistant("a").await),
        refused(rows.put_cron(cron).await),
        refused(rows.advance_cron("c", 9, None).await),
        refused(rows.delete_cron("c").await),
        refused(rows.reserve_events(&name, 1).await),
        refused(rows.release_events(&name, 1, 2).await),
        refused(rows.append_events(1, vec![event("t", 3, "pending")]).await),
        refused(rows.expire_events(&name, "failed", 9).await),
        refused(rows.sweep(1 << 60, 9).await),
    ]
}

fn canaries(path: &Path) -> usize {
    let bytes = std::fs::read(path).expect("the bytes of the file");
    bytes.windows(CANARY.len()).filter(|window| *window == CANARY.as_bytes()).count()
}

async fn found(rows: &dyn Records, user: &str) -> u64 {
    let query =
        ThreadQuery { metadata: object(&[("user", user.into())]), limit: 9, ..ThreadQuery::default() };
    let found = rows.threads(&query).await.expect("a search");
    assert_eq!(found.rows.len() as u64, found.total);
    found.total
}

#[test]
fn rows_are_encrypted_found_and_decrypted_with_the_file() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = SqliteSaver::open(&path).await.unwrap();
        fill(&*saver.records().unwrap(), "t").await;
        drop(saver);
        assert!(canaries(&path) > 5);
        let keys = || KeyRing::new("key", Key::new([7; 32]));
        let file = || CheckpointFile::at(&path).keys(keys());
        rekey(file(), Form::Encrypted, PATIENCE).unwrap();
        assert_eq!(canaries(&path), 0);
        assert_eq!(maintenance::verify(file()).unwrap().findings, []);
        assert_eq!(maintenance::verify(&path).unwrap().findings, [], "without the keys");
        let saver = SqliteSaver::options().encrypt(keys()).open(&path).await.unwrap();
        let rows = saver.records().unwrap();
        assert_eq!((found(&*rows, CANARY).await, found(&*rows, "another").await), (1, 0));
        assert_eq!(rows.run("pending").await.unwrap(), Some(run_row("pending", "t")));
        rows.insert_thread(thread_row("u", object(&[("user", "another".into())]))).await.unwrap();
        drop((rows, saver));
        rekey(file(), Form::Plain, PATIENCE).unwrap();
        assert!(canaries(&path) > 5);
        assert_eq!(maintenance::verify(&path).unwrap().findings, []);
        let rows = SqliteSaver::open(&path).await.unwrap().records().unwrap();
        assert_eq!((found(&*rows, CANARY).await, found(&*rows, "another").await), (1, 1));
    });
}

#[test]
fn rows_of_a_missing_thread_are_found() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = SqliteSaver::open(&path).await.unwrap();
        fill(&*saver.records().unwrap(), "t").await;
        drop(saver);
        assert_eq!(maintenance::verify(&path).unwrap().findings, []);
        let other = Connection::open(&path).unwrap();
        other.execute_batch("DELETE FROM server_thread; DELETE FROM server_run WHERE id = 2").unwrap();
        let findings = maintenance::verify(&path).unwrap().findings;
        let tables: Vec<&str> = findings.iter().map(|finding| finding.table).collect();
        let expected = [
            "server_run",
            "server_queue",
            "server_queue",
            "server_cron",
            "server_event",
            "server_event",
            "server_queue",
            "server_tag",
            "server_expiring",
        ];
        assert_eq!(tables, expected, "{findings:?}");
    });
}

#[test]
fn rows_go_with_backups_and_their_space_is_measured() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let (path, copy) = (folder.path().join("t.db"), folder.path().join("copy.db"));
        let saver = SqliteSaver::open(&path).await.unwrap();
        fill(&*saver.records().unwrap(), "t").await;
        maintenance::backup(&path, &copy, maintenance::Existing::Refuse).unwrap();
        let usage = maintenance::usage(&copy).unwrap();
        assert!(usage.server > 1_000 && usage.server < usage.size, "{usage:?}");
        let rows = SqliteSaver::open(&copy).await.unwrap().records().unwrap();
        let original = saver.records().unwrap();
        assert_eq!(rows.thread(&thread("t")).await.unwrap(), original.thread(&thread("t")).await.unwrap());
        assert_eq!(rows.reserve_events(&thread("t"), 1).await.unwrap(), 11);
    });
}

#[test]
fn expired_events_and_those_of_deleted_runs_are_collected() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.db");
        let saver = SqliteSaver::open(&path).await.unwrap();
        let rows = saver.records().unwrap();
        fill(&*rows, "t").await;
        assert!(maintenance::collectable(&path).unwrap().is_empty());
        rows.expire_events(&thread("t"), "failed", 1).await.unwrap();
        rows.cancel_run("pending", superstep_core::records::CancelAction::Rollback, 9).await.unwrap();
        rows.create_run(run_row("gone", "t")).await.unwrap();
        let claim =
            RunClaim { owner: "worker".into(), graphs: vec!["graph".into()], left: Vec::new(), until_ms: 99 };
        let held = rows.claim_run(&claim, 9).await.unwrap().unwrap();
        assert!(rows.append_events(held.attempt, vec![event("t", 3, "gone")]).await.unwrap());
        let ending = Ending::RolledBack { thread: ThreadStatus::Idle };
        assert!(rows.finish_run("gone", held.attempt, ending, None, 9).await.unwrap());
        let told = maintenance::collectable(&path).unwrap();
        assert_eq!((told.work, told.remains), (3, 1), "{told:?}");
        assert_eq!(maintenance::collect(&path, PATIENCE).unwrap(), told);
        assert_eq!(rows.events(&thread("t"), None, None, 9).await.unwrap(), []);
        assert!(maintenance::collectable(&path).unwrap().is_empty());
    });
}

#[test]
fn rows_beyond_the_limits_are_refused_and_change_nothing() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let limits = SizeLimits::default().values(1_000);
        let saver =
            SqliteSaver::options().size_limits(limits).open(folder.path().join("t.db")).await.unwrap();
        let rows = saver.records().unwrap();
        fill(&*rows, "t").await;
        let before = rows.thread(&thread("t")).await.unwrap();
        let large = || Value::from(vec![0; 9_000]);
        let metadata = Some(object(&[("large", large())]));
        let change = ThreadChange { metadata: metadata.clone(), ..ThreadChange::default() };
        let refused = rows.change_thread(&thread("t"), change, 9).await;
        assert!(matches!(refused, Err(StoreError::TooLarge { .. })), "{refused:?}");
        let run = RunRow { kwargs: json(&large().to_string()), ..run_row("large", "t") };
        let refused = rows.create_run(run).await;
        assert!(matches!(refused, Err(StoreError::TooLarge { .. })), "{refused:?}");
        let text = json(&large().to_string());
        let event = EventRow { thread: thread("t"), seq: 9, run: "pending".into(), at_ms: 1, text };
        let refused = rows.append_events(1, vec![event]).await;
        assert!(matches!(refused, Err(StoreError::TooLarge { .. })), "{refused:?}");
        assert_eq!(rows.thread(&thread("t")).await.unwrap(), before);
        assert_eq!(rows.run("large").await.unwrap(), None);
        assert_eq!(rows.events(&thread("t"), None, None, 9).await.unwrap().len(), 2);
    });
}

/// Measures searches over 100,000 threads: `cargo test --release -- --ignored --nocapture searches`.
#[test]
#[ignore = "a measurement"]
fn searches_over_many_threads_are_measured() {
    run(async {
        let saver = SqliteSaver::in_memory().await.unwrap();
        let rows = saver.records().unwrap();
        for number in 0..100_000u64 {
            let user = format!("user {}", number % 1_000);
            let metadata =
                object(&[("graph_id", "agent".into()), ("user", user.into()), ("n", number.into())]);
            let row = ThreadRow { created_ms: number, ..thread_row(&format!("t{number}"), metadata) };
            rows.insert_thread(row).await.unwrap();
        }
        let queries: [(&str, &[(&str, Value)]); 4] = [
            ("all", &[]),
            ("all of a graph", &[("graph_id", "agent".into())]),
            ("one in 1,000", &[("user", "user 7".into())]),
            ("both", &[("graph_id", "agent".into()), ("user", "user 7".into())]),
        ];
        for (name, metadata) in queries {
            let mut times = Vec::new();
            for _ in 0..100 {
                let query = ThreadQuery {
                    metadata: object(metadata),
                    order: Order::default(),
                    limit: 10,
                    ..ThreadQuery::default()
                };
                let begun = std::time::Instant::now();
                rows.threads(&query).await.unwrap();
                times.push(begun.elapsed());
            }
            times.sort();
            println!("{name}: p50 {:?}, p99 {:?}", times[50], times[98]);
        }
    });
}
