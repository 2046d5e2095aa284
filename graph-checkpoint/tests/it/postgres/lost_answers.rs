//! Requests that the server has carried out, and whose answers are lost.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json as document};

use superstep_checkpoint::PostgresSaver;
use superstep_core::checkpoint::{
    Acquired, At, CheckpointName, Checkpointer, CheckpointerExt, Claim, Committed, LeaseRequest, Naming,
    StoreError,
};
use superstep_core::records::life::{Admitted, Ending};
use superstep_core::records::{CancelAction, RunClaim, RunRow, RunStatus, ThreadRow, ThreadStatus};
use superstep_core::store::{Namespace, Put, StoreBackend};

use super::cluster::Cluster;
use super::proxy::Proxy;
use super::run;
use crate::material::{GRAPH, ask, commit_of, effect, ended, graph, json, ok, result, set, step, thread};

/// Returns a saver in this schema, and the proxy in front of it.
async fn open(cluster: &Cluster, schema: &str) -> (PostgresSaver, Proxy) {
    let proxy = Proxy::to(cluster.folder());
    let options = PostgresSaver::options().schema(schema).busy_limit(Duration::from_secs(10));
    let saver = options.open(proxy.url()).await.expect("it opens");
    saver.register(&graph()).await.expect("it is registered");
    (saver, proxy)
}

/// Each request succeeds, and is carried out once.
#[test]
fn a_request_is_carried_out_once() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let (saver, proxy) = open(&cluster, "lost_answers").await;
        let lose = || {
            assert!(!proxy.is_losing(), "the answer was lost");
            proxy.lose_the_next_answer();
        };
        let name = thread("t");
        let first = step(None, [set(0, "[]")]);
        lose();
        let committed = saver.commit(commit_of("t", &first)).await;
        assert!(matches!(committed, Ok(Committed::Already)), "{committed:?}");

        let begun = effect(1);
        lose();
        assert_eq!(saver.begin_effect(&name, first.id, begun.clone()).await.expect("it begins"), None);
        // The same record of another run is another request.
        let held = saver.begin_effect(&name, first.id, begun.clone()).await.expect("it is read");
        assert_eq!(held, Some(begun.clone()));
        lose();
        saver.end_effect(&name, first.id, &begun.id, ok("1")).await.expect("it ends");
        let held = saver.begin_effect(&name, first.id, begun.clone()).await.expect("it is read");
        assert_eq!(held, Some(ended(begun, "1")));

        lose();
        let counts = saver.record_result(&name, first.id, result(2, "2")).await.expect("it is stored");
        assert_eq!(counts, result(2, "2"));
        lose();
        saver.ask(&name, first.id, vec![ask(1), ask(2)]).await.expect("they are stored");
        lose();
        let answers = vec![(ask(1).id, json("1")), (ask(2).id, json("2"))];
        let (head, work) = saver.answer_all(&name, answers.clone()).await.expect("they are answered");
        let given: Vec<_> = work.asks.into_iter().map(|ask| ask.answer).collect();
        assert_eq!((head, given), (first.id, vec![Some(json("1")), Some(json("2"))]));
        let again = saver.answer_all(&name, answers).await;
        assert!(matches!(again, Err(StoreError::AlreadyAnswered(_))), "{again:?}");

        let label = |text: &str| text.parse::<CheckpointName>().expect("a name");
        lose();
        let give = Naming::Give { name: label("a"), checkpoint: first.id };
        saver.name(&name, give).await.expect("it is named");
        let rename = || Naming::Rename { from: label("a"), to: label("b") };
        lose();
        saver.name(&name, rename()).await.expect("it is renamed");
        let again = saver.name(&name, rename()).await;
        assert!(matches!(again, Err(StoreError::NoCheckpoint { .. })), "{again:?}");
        let remove = || Naming::Remove { name: label("b") };
        lose();
        saver.name(&name, remove()).await.expect("it is removed");
        let again = saver.name(&name, remove()).await;
        assert!(matches!(again, Err(StoreError::NoCheckpoint { .. })), "{again:?}");

        lose();
        saver.fork(&name, first.id, &thread("fork")).await.expect("it is forked");
        let again = saver.fork(&name, first.id, &thread("fork")).await;
        assert!(matches!(again, Err(StoreError::ThreadExists(_))), "{again:?}");

        let claim = || Claim { thread: name.clone(), holder: "me".into(), ttl: Duration::from_secs(60) };
        lose();
        let acquired = saver.acquire(claim()).await.expect("it is free");
        let Acquired::Now(lease) = acquired else { panic!("{acquired:?}") };
        let again = saver.acquire(claim()).await.expect("it is read");
        assert!(!matches!(again, Acquired::Now(_)), "{again:?}");
        lose();
        saver.release(&lease).await.expect("it is released");
        let again = saver.release(&lease).await;
        assert!(matches!(again, Err(StoreError::LeaseLost { .. })), "{again:?}");

        let namespace = Namespace::new(&["n"]).expect("a name");
        let put = Put { namespace: namespace.clone(), key: "k".into(), value: json("1"), expires_ms: None };
        lose();
        saver.store().put(put, 0).await.expect("it is stored");
        assert!(saver.store().get(&namespace, "k", 0).await.expect("it is read").is_some());

        lose();
        saver.delete(&GRAPH.into(), &thread("fork")).await.expect("it is deleted");
        assert!(saver.read(&thread("fork"), At::Head).await.expect("it is read").is_none());
        assert!(!proxy.is_losing());
    });
}

/// A run is admitted and ends once, and its end is told to its worker.
#[test]
fn a_run_is_created_and_ends_once() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let (saver, proxy) = open(&cluster, "lost_runs").await;
        let rows = saver.records().expect("it has rows");
        let lose = || {
            assert!(!proxy.is_losing(), "the answer was lost");
            proxy.lose_the_answer_of(".decide(");
        };
        let of = thread("t");
        let held: ThreadRow = row(document!({
            "id": "t", "graph": null, "metadata": {}, "status": "idle", "config": {}, "error": null, "created_ms": 1,
            "updated_ms": 1, "state_updated_ms": 1, "expiry": null,
        }));
        rows.insert_thread(held).await.expect("it is stored");
        let new = |id: &str| -> RunRow {
            row(document!({
                "id": id, "thread": "t", "assistant": "a", "graph": "g", "status": "pending", "kwargs": {},
                "metadata": {}, "multitask": "interrupt", "created_ms": 1, "updated_ms": 1, "not_before_ms": 0,
                "owner": null, "until_ms": 0, "attempt": 0, "lost": 0, "cancel": null, "error": null,
            }))
        };
        let stored = |ended: &[&str]| Admitted::Stored {
            ended: ended.iter().map(|id| ((*id).to_owned(), CancelAction::Interrupt)).collect(),
            asked: Vec::new(),
        };
        lose();
        assert_eq!(rows.create_run(new("1")).await.expect("it is stored"), stored(&[]));
        // The same run is another request.
        assert_eq!(rows.create_run(new("1")).await.expect("it is read"), Admitted::Exists);
        lose();
        assert_eq!(rows.create_run(new("2")).await.expect("it is stored"), stored(&["1"]));
        let claim = RunClaim { owner: "it".into(), graphs: vec!["g".into()], left: Vec::new(), until_ms: 9 };
        let held = rows.claim_run(&claim, 2).await.expect("it is claimed").expect("it waits");
        let event = row(document!({ "thread": "t", "seq": 1, "run": "2", "at_ms": 3, "text": {} }));
        let ending = Ending::Ended { status: RunStatus::Success, thread: ThreadStatus::Idle, error: None };
        lose();
        let ended = rows.finish_run("2", held.attempt, ending.clone(), Some(event), 4).await;
        assert!(ended.expect("it is stored"), "the end is this worker's");
        let again = rows.finish_run("2", held.attempt, ending, None, 5).await.expect("it is read");
        assert!(!again, "the same end is another request");
        assert_eq!(rows.run("2").await.expect("it is read").map(|run| run.updated_ms), Some(4));
        assert_eq!(rows.events(&of, None, None, 9).await.expect("they are read").len(), 1);
        assert!(!proxy.is_losing());
    });
}

/// The answer to a question counts, even if another run has used it when the request is sent again.
#[test]
fn an_answer_counts_after_its_head_has_moved() {
    let Some(cluster) = Cluster::own() else { return };
    run(async {
        let (saver, proxy) = open(&cluster, "moved").await;
        let other =
            PostgresSaver::options().schema("moved").open(cluster.url("superstep")).await.expect("it opens");
        let name = thread("t");
        let first = step(None, [set(0, "[]")]);
        saver.commit(commit_of("t", &first)).await.expect("it is stored");
        saver.ask(&name, first.id, vec![ask(1)]).await.expect("it is stored");
        proxy.lose_the_next_answer();
        proxy.hold_new_connections(true);
        let answering = tokio::spawn({
            let (saver, name) = (saver.clone(), name.clone());
            async move { saver.answer_all(&name, vec![(ask(1).id, json("1"))]).await }
        });
        let next = step(Some(&first), []);
        while other.read(&name, At::Head).await.expect("it is read").expect("it is there").asks[0]
            .answer
            .is_none()
        {
            tokio::task::yield_now().await;
        }
        other.commit(commit_of("t", &next)).await.expect("it is stored");
        proxy.hold_new_connections(false);
        let (head, work) = answering.await.expect("no panic").expect("it is answered");
        assert_eq!((head, work.asks), (next.id, Vec::new()));
    });
}

/// The requests without an id return an error that says what is unknown.
#[test]
fn other_requests_say_that_it_is_unknown() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let (saver, proxy) = open(&cluster, "unknown").await;
        // The answer to a new connection would be lost instead.
        let lose = async || {
            saver.read(&thread("t"), At::Head).await.expect("it connects");
            proxy.lose_the_next_answer();
        };
        let unknown = "the store failed: the connection was lost before the database replied, so it is unknown if the request \
                       was carried out: connection closed";
        lose().await;
        let broken = saver.lease(LeaseRequest::Break(thread("t"))).await;
        assert_eq!(broken.expect_err("its answer was lost").to_string(), unknown);
        lose().await;
        let namespace = Namespace::new(&["n"]).expect("a name");
        let deleted = saver.store().delete(&namespace, "k", 0).await;
        assert_eq!(deleted.expect_err("its answer was lost").to_string(), unknown);
        lose().await;
        let expired = saver.expire(&GRAPH.into(), None, 1).await;
        assert_eq!(expired.expect_err("its answer was lost").to_string(), unknown);
    });
}

fn row<T: DeserializeOwned>(document: Value) -> T {
    serde_json::from_value(document).expect("a row")
}
