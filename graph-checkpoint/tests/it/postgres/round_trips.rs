//! The number of times that a call waits for the server.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use superstep_checkpoint::PostgresSaver;
use superstep_core::checkpoint::{
    At, Checkpointer, CheckpointerExt, Claim, Commit, Committed, Recorded, StoreError,
};
use superstep_core::records::life::Ending;
use superstep_core::records::{
    EventRow, Heartbeat, RunClaim, RunRow, RunStatus, ThreadChange, ThreadQuery, ThreadRow, ThreadStatus,
};
use superstep_core::store::{Search, Store};

use super::cluster::Cluster;
use super::proxy::Proxy;
use super::run;
use crate::material::{commit_of, effect, extend, graph, ok, result, set, step, thread};

/// Runs a test with a saver, and a function that returns the number of waits since its last call.
fn counted(schema: &str, test: impl AsyncFnOnce(PostgresSaver, &dyn Fn() -> u64)) {
    let Some(cluster) = Cluster::shared() else { return };
    let proxy = Proxy::to(cluster.folder());
    run(async {
        let saver = PostgresSaver::options().schema(schema).open(proxy.url()).await.expect("it opens");
        let since = || proxy.waits();
        since();
        test(saver, &since).await;
    });
}

#[test]
fn each_call_waits_once() {
    counted("round_trips", async |saver, since| {
        saver.register(&graph()).await.expect("it is registered");
        assert_eq!(since(), 1, "the registration");

        let name = thread("t");
        let input = step(None, [set(0, "[]")]);
        let start = step(Some(&input), [extend(0, "[0]")]);
        let begun = Commit { expected: None, input: Some(Arc::new(input)), ..commit_of("t", &start) };
        assert!(matches!(saver.commit(begun).await, Ok(Committed::New)));
        assert_eq!(since(), 1, "an input with its start");
        let mut last = start;
        for number in 1..200 {
            let next = step(Some(&last), [extend(0, &format!("[{number}]"))]);
            let known = Commit { recorded: Some(Recorded::default()), ..commit_of("t", &next) };
            assert!(matches!(saver.commit(known).await, Ok(Committed::New)));
            assert_eq!(since(), 1, "a superstep");
            last = next;
        }
        let head = saver.read(&name, At::Head).await.expect("it is read").expect("it is there");
        assert_eq!(head.values[0].value.decode::<Vec<u32>>().expect("a list").len(), 200);
        assert_eq!(since(), 1, "a head with a long past");
        assert_eq!(saver.history(&name, At::Head, 100).await.expect("it is read").len(), 100);
        assert_eq!(since(), 1, "a page of the history");
        assert_eq!(saver.steps(&name, At::Head, 100).await.expect("it is read").len(), 100);
        assert_eq!(since(), 1, "a page of the steps");
        saver.begin_effect(&name, last.id, effect(1)).await.expect("it begins");
        saver.end_effect(&name, last.id, &effect(1).id, ok("1")).await.expect("it ends");
        assert_eq!(since(), 2, "an effect");

        let claim =
            Claim { thread: name.clone(), holder: "it".into(), ttl: std::time::Duration::from_secs(60) };
        let lease = saver.acquire(claim).await.expect("it is free");
        assert_eq!(since(), 1, "a lease");
        let superstep_core::checkpoint::Acquired::Now(lease) = lease else { panic!("{lease:?}") };
        let holder = saver.fenced(&lease).expect("it has leases");
        let next = step(Some(&last), []);
        assert!(matches!(holder.commit(commit_of("t", &next)).await, Ok(Committed::New)));
        assert_eq!(since(), 1, "a superstep of the holder of a lease");
        saver.record_result(&name, next.id, result(1, "1")).await.expect("it is stored");
        assert_eq!(since(), 1, "a result");
        saver.record_task(&name, next.id, result(2, "2")).await.expect("it is stored");
        assert_eq!(since(), 1, "the result of an only task");

        let store = Store::new(saver.store());
        store.put(&["a"], "k", "strong coffee").await.expect("it is stored");
        assert_eq!(since(), 1, "a put");
        assert!(store.entry(&["a"], "k").await.expect("it is read").is_some());
        assert_eq!(since(), 1, "a get");
        let words = Search::under(&["a"]).expect("a name").words("coffee").limit(1);
        assert_eq!(store.search(words).await.expect("it is read").len(), 1);
        assert_eq!(since(), 1, "a search");
        assert_eq!(store.namespaces(&[]).await.expect("they are read").len(), 1);
        assert_eq!(since(), 1, "the namespaces");
        assert!(store.delete(&["a"], "k").await.expect("it is deleted"));
        assert_eq!(since(), 1, "a deletion");
        assert_eq!(store.sweep().await.expect("it sweeps"), 0);
        assert_eq!(since(), 1, "a sweep");
    });
}

/// The holder of a lease records results without waiting, and its commit carries those that are not stored yet.
#[test]
fn a_superstep_of_64_tasks_waits_once_with_a_lease() {
    counted("round_trips_of_tasks", async |saver, since| {
        saver.register(&graph()).await.expect("it is registered");
        let name = thread("t");
        let first = step(None, [set(0, "[]")]);
        assert!(matches!(saver.commit(commit_of("t", &first)).await, Ok(Committed::New)));
        let claim =
            Claim { thread: name.clone(), holder: "it".into(), ttl: std::time::Duration::from_secs(60) };
        let lease = saver.acquire(claim).await.expect("it is free");
        let superstep_core::checkpoint::Acquired::Now(lease) = lease else { panic!("{lease:?}") };
        let holder = saver.fenced(&lease).expect("it has leases");
        let results: Vec<_> = (0..64).map(|number| result(number, &number.to_string())).collect();
        let recorded = Some(Recorded::of(&results, &[]));
        since();
        // The runtime sends nothing before the test waits.
        for result in &results {
            let counts = holder.record_result(&name, first.id, result.clone()).await.expect("it is taken");
            assert_eq!(counts, *result);
        }
        let second = step(Some(&first), [set(0, "[64]")]);
        let commit = Commit { recorded, ..commit_of("t", &second) };
        assert!(matches!(holder.commit(commit).await, Ok(Committed::New)));
        // Some results may have been sent meanwhile, in statements for which nothing has waited.
        assert!((1..=4).contains(&since()), "a commit with its results");

        // A result of another program counts, although the holder of the lease had not seen it.
        let other = result(1, "\"other\"");
        saver.record_result(&name, second.id, other.clone()).await.expect("it is stored");
        holder.record_result(&name, second.id, result(1, "1")).await.expect("it is taken");
        holder.record_result(&name, second.id, result(2, "2")).await.expect("it is taken");
        let third = step(Some(&second), []);
        let known = Some(Recorded::of(&[result(1, "1"), result(2, "2")], &[]));
        let outrun = holder.commit(Commit { recorded: known, ..commit_of("t", &third) }).await;
        let Ok(Committed::Outrun(loaded)) = outrun else { panic!("{outrun:?}") };
        assert_eq!(loaded.results, [other.clone(), result(2, "2")]);
        let known = Some(Recorded::of(&[other, result(2, "2")], &[]));
        let commit = Commit { recorded: known, ..commit_of("t", &third) };
        assert!(matches!(holder.commit(commit).await, Ok(Committed::New)));

        // Nothing is lost when the run ends before its commit.
        holder.record_result(&name, third.id, result(3, "3")).await.expect("it is taken");
        holder.flush(&name).await.expect("it is stored");
        let head = saver.read(&name, At::Head).await.expect("it is read").expect("it is there");
        assert_eq!(head.results, [result(3, "3")]);
        saver.break_lease(&name).await.expect("it is broken");
        holder.record_result(&name, third.id, result(4, "4")).await.expect("it is taken");
        let lost = holder.flush(&name).await.expect_err("the lease is lost");
        assert!(matches!(lost, StoreError::LeaseLost { .. }), "{lost}");
    });
}

/// A request that decides reads rows before.
#[test]
fn a_run_of_a_server_waits_twice_for_each_decision() {
    counted("round_trips_of_rows", async |saver, since| {
        let rows = saver.records().expect("it has rows");
        let thread: ThreadRow = row(json!({
            "id": "t", "graph": null, "metadata": { "user": "x" }, "status": "idle", "config": {}, "error": null,
            "created_ms": 1, "updated_ms": 1, "state_updated_ms": 1, "expiry": null,
        }));
        rows.insert_thread(thread.clone()).await.expect("it is stored");
        assert_eq!(since(), 1, "a new thread");
        let run: RunRow = row(json!({
            "id": "r", "thread": "t", "assistant": "a", "graph": "g", "status": "pending", "kwargs": {},
            "metadata": {}, "multitask": "interrupt", "created_ms": 1, "updated_ms": 1, "not_before_ms": 0,
            "owner": null, "until_ms": 0, "attempt": 0, "lost": 0, "cancel": null, "error": null,
        }));
        rows.create_run(run).await.expect("it is stored");
        assert_eq!(since(), 2, "a new run");
        let claim = RunClaim { owner: "it".into(), graphs: vec!["g".into()], left: Vec::new(), until_ms: 9 };
        let claimed = rows.claim_run(&claim, 2).await.expect("it is claimed").expect("it waits");
        assert_eq!(since(), 1, "a claim");
        let heartbeat = Heartbeat { run: "r".into(), attempt: claimed.attempt, lost: None };
        rows.beat(&[heartbeat], 10).await.expect("it is extended");
        assert_eq!(since(), 1, "its extension");
        let first = rows.reserve_events(&thread.id, 10).await.expect("there are numbers");
        assert_eq!(since(), 1, "the numbers of events");
        let event = |seq| row(json!({ "thread": "t", "seq": seq, "run": "r", "at_ms": 3, "text": {} }));
        let events: Vec<EventRow> = (first..first + 9).map(event).collect();
        assert!(rows.append_events(claimed.attempt, events).await.expect("they are stored"));
        assert_eq!(since(), 1, "events");
        assert_eq!(
            rows.events(&thread.id, Some("r"), Some(first), 99).await.expect("they are read").len(),
            8
        );
        assert_eq!(since(), 1, "the events of a run");
        let (status, error) = (RunStatus::Success, None);
        let ending = Ending::Ended { status, thread: ThreadStatus::Idle, error };
        let ended = rows.finish_run("r", claimed.attempt, ending, Some(event(first + 9)), 4).await;
        assert!(ended.expect("it is stored"));
        assert_eq!(since(), 2, "the end of a run");
        let query = ThreadQuery { metadata: thread.metadata.clone(), limit: 9, ..ThreadQuery::default() };
        assert_eq!(rows.threads(&query).await.expect("they are found").total, 1);
        assert_eq!(since(), 1, "a search");
        rows.change_thread(&thread.id, ThreadChange::default(), 5).await.expect("it is changed");
        assert_eq!(since(), 2, "a change of a thread");
        assert!(rows.delete_thread(&thread.id).await.expect("it is deleted"));
        assert_eq!(since(), 1, "a deletion");
    });
}

fn row<T: DeserializeOwned>(document: Value) -> T {
    serde_json::from_value(document).expect("a row")
}
