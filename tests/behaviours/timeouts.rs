//! Timeouts: an attempt that takes too long, or has no heartbeat, is dropped.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::{Calls, Stage, TOO_LONG, failure, on_both_savers, only};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use superstep::checkpoint::{Checkpointer, EffectRecord, StoreError};
use superstep::driver::checkpoint::{Around, EffectWrite};
use superstep::error::{NodeErrorKind, Timeout};
use superstep::id::{CheckpointId, ThreadId};
use superstep::prelude::*;
use superstep::run::NodeFailure;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    v: Vec<String>,
}

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn timeout(failure: &NodeFailure) -> Timeout {
    assert_eq!(failure.error.kind(), NodeErrorKind::TimedOut);
    *failure.error.downcast_ref().expect("a timeout has a source")
}

#[tokio::test(start_paused = true)]
async fn e11_a_timeout_fails_the_node_and_composes_with_retries() {
    let stage = Stage::default();
    let slow = only(|| sleep(secs(1)), &stage, |node| node.timeout(secs(1) / 20));
    let failure = failure(slow.run(Log::update()).await);
    assert_eq!(timeout(&failure), Timeout::Run(secs(1) / 20));
    assert_eq!(failure.to_string(), "node \"node\" failed at step 1: the attempt took longer than 50ms");

    let slow_once = |task: TaskInfo| async move {
        if task.attempt() == 1 {
            sleep(secs(1)).await;
        }
        Log::update().v([task.attempt().to_string()])
    };
    let twice =
        only(slow_once, &stage, |node| node.timeout(secs(1) / 20).retry(Retry::fixed(2, Duration::ZERO)));
    assert_eq!(twice.run(Log::update()).await.expect("the second attempt is fast").state.v, ["2"]);
}

#[tokio::test(start_paused = true)]
async fn silence_ends_an_attempt() {
    let node = |task: TaskInfo| async move {
        task.heartbeat();
        sleep(secs(60)).await;
    };
    let graph = only(node, &Stage::default(), |node| node.idle_timeout(secs(5)).timeout(secs(30)));
    let began = Instant::now();
    let failure = failure(graph.run(Log::update()).await);
    assert_eq!((timeout(&failure), began.elapsed()), (Timeout::Idle(secs(5)), secs(5)));
    assert_eq!(failure.error.to_string(), "the attempt sent no heartbeat for 5s");
}

#[tokio::test(start_paused = true)]
async fn signs_of_life_keep_an_attempt_going() {
    let beats = |task: TaskInfo| async move {
        for _ in 0..10 {
            sleep(secs(4)).await;
            task.heartbeat();
        }
    };
    // Also if no observer is set.
    let emits = |emit: Emit| async move {
        for at in 0..10 {
            sleep(secs(4)).await;
            emit.emit("at", &at);
        }
    };
    let effects = |fx: Effects| async move {
        for _ in 0..10 {
            sleep(secs(4)).await;
            let effect = || async {
                sleep(secs(4)).await;
                Ok::<_, Infallible>(())
            };
            let Ok(()) = fx.run("wait", effect).await;
        }
    };
    let stage = Stage::default();
    for (graph, lasts) in [
        (only(beats, &stage, |node| node.idle_timeout(secs(5))), 40),
        (only(emits, &stage, |node| node.idle_timeout(secs(5))), 40),
        (only(effects, &stage, |node| node.idle_timeout(secs(5))), 80),
    ] {
        let began = Instant::now();
        graph.run(Log::update()).await.expect("no node fails").finished().expect("it is never idle for 5 s");
        assert_eq!(began.elapsed(), secs(lasts));
    }
}

/// The node itself is not polled while another tokio task does its work: the attempt must notice heartbeats from there
/// at once.
#[tokio::test(start_paused = true)]
async fn signs_of_life_may_come_from_a_task_that_the_node_spawned() {
    let node = |task: TaskInfo| async move {
        let worker = tokio::spawn(async move {
            for _ in 0..3 {
                sleep(secs(4)).await;
                task.heartbeat();
            }
            std::future::pending::<()>().await;
        });
        worker.await.expect("it never ends");
    };
    let graph = only(node, &Stage::default(), |node| node.idle_timeout(secs(5)));
    let began = Instant::now();
    let failure = failure(graph.run(Log::update()).await);
    assert_eq!((timeout(&failure), began.elapsed()), (Timeout::Idle(secs(5)), secs(3 * 4 + 5)));
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_does_not_stretch_the_whole_time() {
    async fn lively(task: TaskInfo) {
        loop {
            sleep(secs(1)).await;
            task.heartbeat();
        }
    }
    let graph = only(lively, &Stage::default(), |node| node.idle_timeout(secs(5)).timeout(secs(30)));
    assert_eq!(timeout(&failure(graph.run(Log::update()).await)), Timeout::Run(secs(30)));
}

#[tokio::test(start_paused = true)]
async fn a_dead_attempt_gives_no_sign_of_life() {
    let node = |task: TaskInfo| async move {
        if task.attempt() == 1 {
            tokio::spawn(async move {
                loop {
                    sleep(secs(1)).await;
                    if task.is_cancelled() {
                        task.heartbeat();
                    }
                }
            });
        }
        std::future::pending::<()>().await;
    };
    let graph = only(node, &Stage::default(), |node| {
        node.idle_timeout(secs(5)).retry(Retry::fixed(2, Duration::ZERO))
    });
    let began = Instant::now();
    let failure = failure(graph.run(Log::update()).await);
    assert_eq!((failure.attempt, began.elapsed()), (2, secs(10)));
}

/// A node that used up tokio's cooperative budget in each poll used to prevent its timeout from being checked, and ran
/// forever.
#[tokio::test(start_paused = true)]
async fn b35_a_busy_node_cannot_keep_its_timeout_away() {
    async fn busy() {
        loop {
            tokio::time::advance(secs(1)).await;
            for _ in 0..1_000 {
                tokio::task::coop::consume_budget().await;
            }
        }
    }
    let stage = Stage::default();
    for graph in [
        only(busy, &stage, |node| node.timeout(secs(30))),
        only(busy, &stage, |node| node.idle_timeout(secs(30))),
    ] {
        timeout(&failure(graph.run(Log::update()).await));
    }
}

#[tokio::test(start_paused = true)]
async fn b35_what_a_timed_out_attempt_did_is_discarded() {
    let node = |task: TaskInfo, calls: Dep<Calls>, emit: Emit| async move {
        let attempt = task.attempt();
        if attempt == 1 {
            let (task, calls, emit) = (task.clone(), calls.clone(), emit.clone());
            // Outlives its attempt.
            tokio::spawn(async move {
                sleep(secs(20)).await;
                calls.note(format!("cancelled {}", task.is_cancelled()));
                emit.emit("stale", &());
            });
            sleep(secs(60)).await;
        }
        sleep(secs(8)).await;
        Log::update().v([attempt.to_string()])
    };
    let stage = Stage::default();
    let graph = only(node, &stage, |node| node.timeout(secs(10)).retry(Retry::fixed(2, secs(5))));
    let mut run = graph.thread("t").run(Log::update()).stream();
    let mut customs = 0;
    while let Some(event) = run.next().await {
        customs += usize::from(matches!(event.kind, superstep::run::EventKind::Custom { .. }));
    }
    let run = run.finish().await.expect("the second attempt is fast");
    assert_eq!((run.into_state().v, customs), (vec!["2".to_owned()], 0));
    assert_eq!(stage.calls.take(), ["cancelled true"]);
}

/// In LangGraph an item may have a timeout that replaces that of its node.
#[tokio::test(start_paused = true)]
async fn b37_items_that_need_another_timeout_go_to_a_node_of_their_own() {
    #[derive(Route, Serialize, Deserialize)]
    enum Always {
        Here,
    }
    async fn work(task: TaskInfo, item: Input<u64>) -> Update<Log> {
        sleep(secs(*item)).await;
        Log::update().v([format!("{} {}", task.node(), *item)])
    }
    let graph = |long: u64| {
        let mut g = StateGraph::<Log>::new("g");
        let quick = g.node("quick", work);
        let patient = g.node("patient", work);
        g.policy(quick).timeout(secs(2));
        g.policy(patient).timeout(secs(20));
        g.branch(START, |_| Always::Here, move |_| each(quick, [1]).and(each(patient, [long])));
        g.edge(quick, END);
        g.edge(patient, END);
        g.compile().expect("sound")
    };
    let run = graph(10).run(Log::update()).await.expect("each has the time that it needs");
    assert_eq!(run.state.v, ["quick 1", "patient 10"]);
    let failure = failure(graph(30).run(Log::update()).await);
    assert_eq!((failure.node.as_str(), timeout(&failure)), ("patient", Timeout::Run(secs(20))));
}

#[tokio::test]
async fn the_longest_times_there_are_never_end() {
    let stage = Stage::default();
    let beating = async |task: TaskInfo| {
        for _ in 0..3 {
            task.heartbeat();
            tokio::task::yield_now().await;
        }
    };
    let graph =
        only::<Log, _, _>(beating, &stage, |node| node.timeout(Duration::MAX).idle_timeout(Duration::MAX));
    let run = graph.run(Log::update()).step_timeout(Duration::MAX).await;
    run.expect("no time is over").finished().expect("to the end");
}

/// Stores intents and outcomes; the call that stores the first one waits for a signal.
struct Slow {
    saver: Arc<dyn Checkpointer>,
    slow: Entry,
    /// `true` if it waits before it stores the entry, `false` for after.
    before: bool,
    was_asked: AtomicBool,
    go_on: Arc<Notify>,
}

/// An entry of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Intent,
    Outcome,
}

impl Slow {
    /// Stores an entry, slowly if it is the first of the slow kind.
    async fn slowly<T>(&self, entry: Entry, stored: impl Future<Output = T>) -> T {
        let is_slow = entry == self.slow && !self.was_asked.swap(true, Ordering::SeqCst);
        if is_slow && self.before {
            self.go_on.notified().await;
        }
        let stored = stored.await;
        if is_slow && !self.before {
            self.go_on.notified().await;
        }
        stored
    }
}

#[async_trait]
impl Around for Slow {
    fn inner(&self) -> &dyn Checkpointer {
        &*self.saver
    }

    async fn effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        write: EffectWrite,
    ) -> Result<Option<EffectRecord>, StoreError> {
        let entry = match write {
            EffectWrite::Begin(_) => Entry::Intent,
            EffectWrite::End { .. } => Entry::Outcome,
            EffectWrite::Note(_) => return self.saver.effect(thread, base, write).await,
        };
        self.slowly(entry, self.saver.effect(thread, base, write)).await
    }
}

/// A timeout used to end an attempt while its intent was being stored. The next attempt found the intent, took it for
/// that of another run, and failed the whole run. A timeout may also end an attempt while its outcome is being stored:
/// the next attempt uses its value.
#[tokio::test]
async fn an_attempt_continues_from_the_journal_of_one_that_was_given_up() {
    let cases = [Entry::Intent, Entry::Outcome].into_iter().flat_map(|slow| [(slow, true), (slow, false)]);
    for (slow, before) in cases {
        on_both_savers(async |saver| {
            for limit in TOO_LONG {
                if goes_on_from_the_journal(Arc::clone(&saver), slow, before, limit).await {
                    return;
                }
            }
            panic!("the second attempt does not go on; {slow:?}, before: {before}");
        })
        .await;
    }
}

/// Lets an attempt time out while it stores an entry of the journal. Returns whether the next attempt continues from
/// there; on a busy machine that attempt may time out as well.
async fn goes_on_from_the_journal(
    saver: Arc<dyn Checkpointer>,
    slow: Entry,
    before: bool,
    limit: Duration,
) -> bool {
    let (stage, go_on) = (Stage::default(), Arc::new(Notify::new()));
    let told = Arc::clone(&go_on);
    let charge = move |fx: Effects, task: TaskInfo, calls: Dep<Calls>| {
        let told = Arc::clone(&told);
        async move {
            if task.attempt() > 1 {
                told.notify_one();
            }
            let charge = async || {
                calls.note("charge");
                Ok::<_, Infallible>(7)
            };
            let Ok(receipt) = fx.run("charge", charge).await;
            Log::update().v([format!("{receipt} in attempt {}", task.attempt())])
        }
    };
    let saver = Slow { saver, slow, before, was_asked: AtomicBool::new(false), go_on };
    let graph = only(charge, &stage, |node| node.timeout(limit).retry(Retry::fixed(2, Duration::ZERO)));
    let thread = graph.shared_checkpointer(Arc::new(saver)).thread(format!("{limit:?}"));
    let Ok(run) = thread.run(Log::update()).await else { return false };
    assert_eq!(run.finished().expect("to the end").v, ["7 in attempt 2"], "{slow:?}, before: {before}");
    assert_eq!(stage.calls.take(), ["charge"], "{slow:?}, before: {before}: it happened once");
    true
}
