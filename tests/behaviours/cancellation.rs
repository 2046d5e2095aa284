//! Cancellation: it reaches tasks at once, and always leaves a thread that can be resumed.

use std::convert::Infallible;
use std::time::Duration;

use superstep::prelude::*;
use tokio::time::{Instant, sleep};

use crate::support::{Calls, Stage, on_both_savers};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
}

/// Runs until it is called a second time.
async fn wait_once(task: TaskInfo, calls: Dep<Calls>) -> Update<Log> {
    let node = task.node().as_str();
    calls.note(node);
    if calls.of(node) == 1 {
        std::future::pending::<()>().await;
    }
    Log::update().ran([node])
}

async fn mark(task: TaskInfo, calls: Dep<Calls>) -> Update<Log> {
    calls.note(task.node().as_str());
    Log::update().ran([task.node().as_str()])
}

/// `first`, then `quick` beside `slow`, then `last`.
fn graph(stage: &Stage) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let [first, quick, last] = ["first", "quick", "last"].map(|name| g.node(name, mark));
    let slow = g.node("slow", wait_once);
    g.edge(START, first);
    g.edge(first, quick);
    g.edge(first, slow);
    g.edge(quick, last);
    g.edge(slow, last);
    g.edge(last, END);
    g.compile().expect("sound").with_context(stage.clone())
}

/// Cancels `token` as soon as `slow` runs.
async fn cancel_when_slow(stage: Stage, token: CancellationToken) {
    while stage.calls.of("slow") == 0 {
        tokio::task::yield_now().await;
    }
    token.cancel();
}

#[tokio::test]
async fn n03_a_cancelled_run_is_resumed_where_it_was() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = graph(&stage).shared_checkpointer(saver).thread("t");
        let token = CancellationToken::new();
        let run = thread.run(Log::update()).cancel_on(token.clone());
        let (run, ()) = tokio::join!(run.into_future(), cancel_when_slow(stage.clone(), token));
        let run = run.expect("a cancellation is no error");
        assert_eq!((run.status, run.step), (Status::Cancelled, 1));
        assert_eq!(run.state.ran, ["first"]);
        let live = thread.state().await.expect("it ran");
        assert_eq!(
            (live.values.ran.join(" ").as_str(), &live.next[..]),
            ("first quick", &["slow".into()][..])
        );
        assert!(live.tasks.iter().all(|task| task.failure.is_none()), "a cancellation is no failure");

        let log = thread.resume().await.expect("no node fails").state;
        assert_eq!(log.ran, ["first", "quick", "slow", "last"]);
        assert_eq!(stage.calls.of("quick"), 1, "it had finished");
        assert_eq!(stage.calls.of("slow"), 2);
    })
    .await;
}

#[tokio::test]
async fn a_token_cancelled_before_the_run_keeps_the_input() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = graph(&stage).shared_checkpointer(saver).thread("t");
        let token = CancellationToken::new();
        token.cancel();
        let run = thread.run(Log::update().ran(["in"])).cancel_on(token).await;
        assert_eq!(run.expect("no error").status, Status::Cancelled);
        assert_eq!(stage.calls.take(), [] as [&str; 0]);
        stage.calls.note("slow");
        let log = thread.resume().await.expect("no node fails").state;
        assert_eq!(log.ran, ["in", "first", "quick", "slow", "last"]);
    })
    .await;
}

#[tokio::test]
async fn a_token_cancelled_after_the_end_changes_nothing() {
    let stage = Stage::default();
    stage.calls.note("slow");
    let token = CancellationToken::new();
    let run = graph(&stage).run(Log::update()).cancel_on(token.clone()).await;
    token.cancel();
    assert_eq!(run.expect("no node fails").status, Status::Finished);
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_waits_is_cancelled_too() {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let node = g.node("node", |calls: Dep<Calls>| async move {
        calls.note("node");
        if calls.of("node") == 1 {
            return Err(NodeError::retryable("busy"));
        }
        Ok(Log::update().ran(["node"]))
    });
    g.policy(node).retry(Retry::fixed(2, Duration::from_secs(60)));
    g.edge(START, node);
    g.edge(node, END);
    let stage = Stage::default();
    let graph = g.compile().expect("sound").with_context(stage.clone());
    let thread = graph.checkpointer(MemorySaver::new()).thread("t");
    let token = CancellationToken::new();
    let began = Instant::now();
    let cancel = async {
        sleep(Duration::from_secs(1)).await;
        token.cancel();
    };
    let run = thread.run(Log::update()).cancel_on(token.clone()).into_future();
    let (run, ()) = tokio::join!(run, cancel);
    assert_eq!(run.expect("no error").status, Status::Cancelled);
    assert_eq!(began.elapsed().as_secs(), 1);
    let log = thread.resume().await.expect("the second call succeeds").state;
    assert_eq!(log.ran, ["node"]);
    assert_eq!(began.elapsed().as_secs(), 1, "a resume does not wait for the old retry");
}

#[tokio::test]
async fn dropping_the_handle_of_a_run_cancels_it() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = graph(&stage).shared_checkpointer(saver).thread("t");
        let mut stream = thread.run(Log::update()).stream();
        while stage.calls.of("slow") == 0 {
            stream.next().await.expect("the run goes on");
        }
        drop(stream);
        let log = thread.resume().await.expect("no node fails").state;
        assert_eq!(log.ran, ["first", "quick", "slow", "last"]);
        assert_eq!(stage.calls.of("first"), 1);
    })
    .await;
}

/// A task that a node spawns and leaves behind: it waits for "go" and tries an effect.
async fn leave_behind(fx: Effects, task: TaskInfo, calls: Dep<Calls>) {
    let Dep(calls) = calls;
    tokio::spawn(async move {
        while calls.of("go") == 0 {
            tokio::task::yield_now().await;
        }
        calls.note(format!("cancelled: {}", task.is_cancelled()));
        let effect = || async {
            calls.note("effect");
            Ok::<_, Infallible>(())
        };
        fx.run("late", effect).await
    });
}

#[tokio::test]
async fn no_effect_starts_after_the_run_has_returned() {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let node = g.node("node", leave_behind);
    g.edge(START, node);
    g.edge(node, END);
    let stage = Stage::default();
    let graph = g.compile().expect("sound").with_context(stage.clone());
    for graph in [graph.clone(), graph.checkpointer(MemorySaver::new())] {
        let run = graph.run(Log::update()).await.expect("no node fails");
        assert_eq!(run.status, Status::Finished);
        stage.calls.note("go");
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        assert_eq!(stage.calls.take(), ["go", "cancelled: true"]);
    }
}

#[tokio::test]
async fn j01_a_drain_finishes_the_superstep_and_leaves_the_rest() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log>::new("g");
        let token = CancellationToken::new();
        let asked = token.clone();
        let first = g.node("first", move || {
            let asked = asked.clone();
            async move {
                asked.cancel();
                tokio::task::yield_now().await;
                Log::update().ran(["first"])
            }
        });
        let second = g.node("second", || async { Log::update().ran(["second"]) });
        g.edge(START, first);
        g.edge(first, second);
        g.edge(second, END);
        let graph = g.compile().expect("sound").shared_checkpointer(saver);

        let run = graph.thread("t").run(Log::update()).drain_on(token).await.expect("a drain is no error");
        assert_eq!((run.status, run.step, run.state.ran.len()), (Status::Drained, 1, 1));
        let run = graph.thread("t").resume().await.expect("the rest runs");
        assert_eq!(run.finished().expect("to the end").ran, ["first", "second"]);
    })
    .await;
}

/// `first` requests a drain, followed by `second` if there is one.
fn draining(token: &CancellationToken, second: bool) -> Graph<Log> {
    let mut g = StateGraph::<Log>::new("g");
    let asked = token.clone();
    let first = g.node("first", move || {
        let asked = asked.clone();
        async move {
            asked.cancel();
            Log::update().ran(["first"])
        }
    });
    g.edge(START, first);
    if second {
        let second = g.node("second", || async { Log::update().ran(["second"]) });
        g.edge(first, second);
        g.edge(second, END);
    } else {
        g.edge(first, END);
    }
    g.compile().expect("sound")
}

#[tokio::test]
async fn b38_a_drain_in_the_last_superstep_lets_the_run_finish() {
    let token = CancellationToken::new();
    let graph = draining(&token, false);
    let run = graph.run(Log::update()).drain_on(token).await.expect("a drain is no error");
    assert_eq!((&run.status, &run.state.ran), (&Status::Finished, &vec!["first".to_owned()]));
}

/// With the durability that saves at the end, a drain saves.
#[tokio::test]
async fn b38_a_drained_run_is_saved_also_when_only_the_end_is() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("test.db");
    let saver = SqliteSaver::options().durability(Durability::Exit).open(&path).await.expect("it opens");
    let token = CancellationToken::new();
    let graph = draining(&token, true).checkpointer(saver);
    let run = graph.thread("t").run(Log::update()).drain_on(token.clone()).await;
    assert_eq!(run.expect("a drain is no error").status, Status::Drained);

    // Another program sees it while this one still has the file open.
    let other = SqliteSaver::open(&path).await.expect("it opens");
    let thread = draining(&token, true).checkpointer(other).thread("t");
    assert_eq!(thread.head().await.expect("it was saved").next(), ["second".into()]);
    drop(graph);
    let run = thread.resume().await.expect("the rest runs");
    assert_eq!(run.finished().expect("to the end").ran, ["first", "second"]);
}
