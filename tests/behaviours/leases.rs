//! Leases: one run at a time holds a thread, and a run that has lost its lease cannot write.

use std::convert::Infallible;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use superstep::checkpoint::{Checkpointer, CheckpointerExt};
use superstep::prelude::*;
use superstep::run::EventKind;
use tokio::sync::Semaphore;
use tokio::task::yield_now;

use crate::support::{Calls, Stage, on_both_savers, only};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    said: Vec<String>,
}

/// A node that notes that it runs, waits until a test lets it continue, and then pays.
fn paying(stage: &Stage, gate: &Arc<Semaphore>) -> Graph<Log> {
    let gate = Arc::clone(gate);
    let pay = move |fx: Effects, calls: Dep<Calls>| {
        let gate = Arc::clone(&gate);
        async move {
            calls.note("at it");
            gate.acquire().await.expect("it is not closed").forget();
            let paid = fx.run("pay", async || {
                calls.note("pay");
                Ok::<_, Infallible>(1)
            });
            paid.await.map(|_| Log::update().said(["paid"]))
        }
    };
    only(pay, stage, |node| node)
}

/// Polls a run until its node runs.
async fn until_at_it<T>(run: &mut (impl Future<Output = T> + Unpin), calls: &Calls, times: usize) {
    tokio::select! {
        _ = run => panic!("it waits at the gate"),
        () = async { while calls.of("at it") < times { yield_now().await; } } => {}
    }
}

fn lease() -> Lease {
    Lease::new().holder("the first")
}

#[tokio::test]
async fn a_second_run_is_refused_and_told_who_has_the_thread() {
    on_both_savers(async |saver| {
        let (stage, gate) = (Stage::default(), Arc::new(Semaphore::new(0)));
        let graph = paying(&stage, &gate).shared_checkpointer(saver.clone()).lease(lease());
        let thread = graph.thread("t");
        let mut first = thread.run(Log::default()).into_future();
        until_at_it(&mut first, &stage.calls, 1).await;
        let [held] = saver.leases().await.expect("it reads").try_into().expect("one lease");
        for second in [thread.run(Log::update()), thread.resume()] {
            let refused = second.await.expect_err("it has a lease");
            let RunError::Leased { thread, holder, until_ms } = &refused else { panic!("{refused}") };
            assert_eq!((thread.as_str(), holder.as_str()), ("t", "the first"));
            assert_eq!(*until_ms, held.until_ms());
            let told =
                format!("thread t is run by the first until {}", superstep::checkpoint::rfc3339(*until_ms));
            assert_eq!(refused.to_string(), told);
        }
        // Other threads are free.
        gate.add_permits(2);
        graph.thread("u").run(Log::default()).await.expect("it has no lease").finished().expect("to the end");
        assert_eq!(first.await.expect("it had the thread").finished().expect("to the end").said, ["paid"]);
        gate.add_permits(1);
        let again = thread.run(Log::update()).await.expect("the first has given it back");
        assert_eq!(again.state.said, ["paid", "paid"]);
        assert!(saver.leases().await.expect("it reads").is_empty());
    })
    .await;
}

/// The purpose of the lease: without it both run.
#[tokio::test]
async fn without_a_lease_two_run_at_once() {
    on_both_savers(async |saver| {
        let (stage, gate) = (Stage::default(), Arc::new(Semaphore::new(0)));
        let thread = paying(&stage, &gate).shared_checkpointer(saver).thread("t");
        let mut first = thread.run(Log::default()).into_future();
        until_at_it(&mut first, &stage.calls, 1).await;
        let mut second = thread.resume().into_future();
        until_at_it(&mut second, &stage.calls, 2).await;
    })
    .await;
}

#[tokio::test]
async fn a_run_may_wait_for_the_thread() {
    on_both_savers(async |saver| {
        let (stage, gate) = (Stage::default(), Arc::new(Semaphore::new(0)));
        let graph = paying(&stage, &gate).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let mut first = thread.run(Log::default()).lease(lease()).into_future();
        until_at_it(&mut first, &stage.calls, 1).await;
        gate.add_permits(2);
        let waiting = thread.run(Log::update()).lease(Lease::new().wait(Duration::from_secs(600)));
        let (first, second) = tokio::join!(first, waiting);
        assert!(first.is_ok());
        let said = second.expect("it has waited").finished().expect("to the end").said;
        assert_eq!(said, ["paid", "paid"], "one after the other");
    })
    .await;
}

#[tokio::test]
async fn a_run_that_is_dropped_gives_the_thread_back() {
    on_both_savers(async |saver| {
        let (stage, gate) = (Stage::default(), Arc::new(Semaphore::new(0)));
        let graph = paying(&stage, &gate).shared_checkpointer(saver);
        let graph = graph.lease(lease().wait(Duration::from_secs(600)).ttl(Duration::from_secs(6000)));
        let thread = graph.thread("t");
        let mut first = thread.run(Log::default()).into_future();
        until_at_it(&mut first, &stage.calls, 1).await;
        drop(first);
        gate.add_permits(1);
        let log = thread.resume().await.expect("it need not wait until the lease is over").finished();
        assert_eq!(log.expect("to the end").said, ["paid"]);
    })
    .await;
}

/// Takes the thread away from its holder, like another process for which the lease has expired.
async fn take_over(saver: &Arc<dyn Checkpointer>) {
    saver.break_lease(&"t".into()).await.expect("it writes").expect("it has a lease");
}

#[tokio::test]
async fn no_effect_of_a_run_starts_that_has_lost_its_thread() {
    on_both_savers(async |saver| {
        let (stage, gate) = (Stage::default(), Arc::new(Semaphore::new(0)));
        let graph = paying(&stage, &gate).shared_checkpointer(saver.clone()).lease(lease());
        let thread = graph.thread("t");
        let mut first = thread.run(Log::default()).into_future();
        until_at_it(&mut first, &stage.calls, 1).await;
        let head = thread.head().await.expect("it has begun").id();
        take_over(&saver).await;
        let mut second = thread.resume().lease(lease().holder("the second")).into_future();
        until_at_it(&mut second, &stage.calls, 2).await;
        gate.add_permits(1);
        let lost = first.await.expect_err("it is out");
        let RunError::LeaseLost { thread: of, to } = &lost else { panic!("{lost}") };
        assert_eq!((of.as_str(), to.as_deref()), ("t", Some("the second")));
        assert_eq!(
            lost.to_string(),
            "this run has lost thread t to the second; nothing of it was stored since"
        );
        assert_eq!(stage.calls.of("pay"), 0, "it did not start");
        assert_eq!(thread.head().await.expect("as before").id(), head);
        gate.add_permits(1);
        second.await.expect("it has the thread").finished().expect("to the end");
        assert_eq!(stage.calls.of("pay"), 1);
    })
    .await;
}

/// A node that waits for the outside world would notice only at its end. The renewal of the lease notices it earlier.
#[tokio::test(start_paused = true)]
async fn a_run_that_has_lost_its_thread_is_stopped() {
    on_both_savers(async |saver| {
        let (stage, gate) = (Stage::default(), Arc::new(Semaphore::new(0)));
        let graph = paying(&stage, &gate).shared_checkpointer(saver.clone()).lease(lease());
        let thread = graph.thread("t");
        let mut run = thread.run(Log::default()).stream();
        while stage.calls.of("at it") == 0 {
            run.next().await.expect("it runs");
        }
        take_over(&saver).await;
        let mut last = None;
        while let Some(event) = run.next().await {
            last = Some(event.kind);
        }
        let Some(EventKind::RunFailed { message }) = last else { panic!("{last:?}") };
        assert_eq!(message, "this run has lost thread t; nothing of it was stored since");
        let lost = run.finish().await.expect_err("it is out");
        assert!(matches!(lost, RunError::LeaseLost { to: None, .. }), "{lost}");
        gate.add_permits(1);
        thread.resume().await.expect("it has no lease").finished().expect("to the end");
        assert_eq!(stage.calls.of("pay"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_renewed_while_a_node_takes_its_time() {
    on_both_savers(async |saver| {
        let slow = async || {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            Log::update().said(["slept"])
        };
        let graph = only(slow, &Stage::default(), |node| node).shared_checkpointer(saver.clone());
        let mut run = graph.thread("t").run(Log::default()).lease(lease()).into_future();
        let first = tokio::select! {
            _ = &mut run => panic!("it sleeps"),
            first = async {
                loop {
                    match saver.leases().await.expect("it reads").pop() {
                        Some(lease) => break lease,
                        None => yield_now().await,
                    }
                }
            } => first,
        };
        // The clock of the store is the system's, and advances a little with each of the 360 renewals.
        let renewed = tokio::select! {
            ended = &mut run => panic!("{ended:?}"),
            renewed = async {
                loop {
                    tokio::time::sleep(Duration::from_secs(30)).await;
                    let lease = saver.leases().await.expect("it reads").pop().expect("it is held");
                    if lease.renewed_ms > first.renewed_ms {
                        break lease;
                    }
                }
            } => renewed,
        };
        assert_eq!(renewed.fence, first.fence);
        run.await.expect("it had the thread all the time").finished().expect("to the end");
    })
    .await;
}

#[tokio::test]
async fn the_threads_of_subgraphs_are_lost_with_the_thread() {
    on_both_savers(async |saver| {
        let (stage, gate) = (Stage::default(), Arc::new(Semaphore::new(0)));
        let mut g = StateGraph::<Log>::new("outer");
        let inner = g.subgraph("inner", paying(&stage, &gate), Lens::new().share(Log::SAID, Log::SAID));
        g.edge(START, inner);
        g.edge(inner, END);
        let graph = g.compile().expect("sound").shared_checkpointer(saver.clone()).lease(lease());
        let thread = graph.thread("t");
        let mut first = thread.run(Log::default()).into_future();
        until_at_it(&mut first, &stage.calls, 1).await;
        take_over(&saver).await;
        gate.add_permits(1);
        let lost = first.await.expect_err("it is out");
        assert!(matches!(lost, RunError::LeaseLost { .. }), "{lost}");
        assert_eq!(stage.calls.of("pay"), 0);
        gate.add_permits(1);
        let log = thread.resume().await.expect("it has no lease").finished().expect("to the end");
        assert_eq!(log.said, ["paid"]);
    })
    .await;
}

#[tokio::test]
async fn an_answer_is_not_taken_from_who_may_not_run() {
    on_both_savers(async |saver| {
        let stage = Stage::default();
        let node =
            async |ask: Ask<String, bool>| Log::update().said([ask.ask("go on?".into()).await.to_string()]);
        let graph = only(node, &stage, |node| node).shared_checkpointer(saver.clone()).lease(lease());
        let thread = graph.thread("t");
        thread.run(Log::default()).await.expect("it asks").interrupted().expect("one question");
        let claim = superstep::driver::checkpoint::Claim {
            thread: "t".into(),
            holder: "another".into(),
            ttl: Duration::from_secs(600),
        };
        saver.acquire(claim).await.expect("it has no lease");
        let refused = thread.answer(&true).await.expect_err("another one has it");
        assert!(matches!(refused, RunError::Leased { .. }), "{refused}");
        assert_eq!(thread.head().await.expect("it asked").interrupts().len(), 1, "the question is open");
        take_over(&saver).await;
        thread.answer(&true).await.expect("it has no lease").finished().expect("to the end");
    })
    .await;
}

#[tokio::test]
async fn a_lease_needs_something_to_keep_it() {
    let graph = only(async || Log::update(), &Stage::default(), |node| node).lease(lease());
    let refused = graph.run(Log::default()).await.expect_err("it has no checkpointer");
    assert_eq!(refused.to_string(), "the graph has no checkpointer");
}
