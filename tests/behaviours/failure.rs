//! Failures: retries, kept results, and errors for the caller.

use std::io;
use std::time::Duration;

use crate::support::{Broken, Calls, Smashed, Stage, failure, on_both_savers, run_or_resume};
use serde::{Deserialize, Serialize};
use superstep::error::NodeErrorKind;
use superstep::prelude::*;
use tokio::time::{Instant, sleep};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
}

/// Notes that it runs, and fails while it is broken.
async fn step(task: TaskInfo, calls: Dep<Calls>, broken: Dep<Broken>) -> Result<Update<Log>, Smashed> {
    let node = task.node().as_str();
    calls.note(node);
    broken.check(node)?;
    Ok(Log::update().ran([node]))
}

/// A graph of one node that fails with the error that `fail` returns for the attempt.
fn one(retry: Retry, fail: fn(u32) -> Result<(), NodeError>) -> Graph<Log> {
    let mut g = StateGraph::<Log>::new("g");
    let node = g.node("node", move |task: TaskInfo| async move {
        fail(task.attempt())?;
        Ok::<_, NodeError>(Log::update().ran([task.attempt().to_string()]))
    });
    g.policy(node).retry(retry);
    g.edge(START, node);
    g.edge(node, END);
    g.compile().expect("sound")
}

fn odd() -> Retry {
    Retry::fixed(3, Duration::ZERO).on::<Smashed>()
}

#[tokio::test]
async fn errors_are_retried_by_type() {
    let run = one(odd(), |attempt| match attempt {
        1 => Err(Smashed("it".into()).into()),
        2 => Err(io::Error::other("disk").into()),
        _ => Ok(()),
    });
    let run = run.run(Log::update()).await.expect("the third attempt succeeds");
    assert_eq!(run.state.ran, ["3"]);
}

#[tokio::test]
async fn e04_a_retry_starts_clean() {
    let run = one(Retry::fixed(3, Duration::ZERO), |attempt| match attempt {
        3 => Ok(()),
        _ => Err(io::Error::from(io::ErrorKind::ConnectionRefused).into()),
    });
    let run = run.run(Log::update()).await.expect("the third attempt succeeds");
    assert_eq!(run.state.ran, ["3"], "only the last attempt wrote");
}

/// LangGraph retries errors that are not on its list of programming errors; Superstep retries errors on a list of
/// temporary ones.
#[tokio::test]
async fn e05_an_error_is_retried_when_it_is_known_to_be_temporary() {
    type Fails = fn() -> NodeError;
    let cases: [(Fails, bool); 6] = [
        (|| io::Error::from(io::ErrorKind::ConnectionReset).into(), true),
        (|| io::Error::from(io::ErrorKind::NotFound).into(), true),
        (|| NodeError::retryable("any"), true),
        (|| Smashed("it".into()).into(), false),
        (|| "text".into(), false),
        (|| NodeError::terminal(io::Error::other("disk")), false),
    ];
    for (fails, retried) in cases {
        let mut g = StateGraph::<Log>::new("g");
        let node = g.node("node", move || async move { Err::<(), _>(fails()) });
        g.policy(node).retry(Retry::fixed(2, Duration::ZERO));
        g.edge(START, node);
        g.edge(node, END);
        let failure = failure(g.compile().expect("sound").run(Log::update()).await);
        assert_eq!(failure.attempt == 2, retried, "{}", failure.error);
    }
}

#[tokio::test]
async fn k15_a_retry_counts_its_attempts_from_one() {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let node = g.node("node", |task: TaskInfo, calls: Dep<Calls>| async move {
        calls.note(task.attempt().to_string());
        if task.attempt() < 2 {
            return Err(io::Error::other("x"));
        }
        Ok(Log::update().ran(["a"]))
    });
    g.policy(node).retry(Retry::exponential(3).initial(Duration::ZERO).without_jitter());
    g.edge(START, node);
    g.edge(node, END);
    let stage = Stage::default();
    let graph = g.compile().expect("sound").with_context(stage.clone());
    assert_eq!(graph.run(Log::update()).await.expect("it is retried").state.ran, ["a"]);
    assert_eq!(stage.calls.take(), ["1", "2"]);
}

/// The first policy that covers an error applies, and the attempts are counted over all policies.
#[tokio::test(start_paused = true)]
async fn a_node_may_have_several_retry_policies() {
    let graph = |fail: fn(u32) -> NodeError| {
        let mut g = StateGraph::<Log>::new("g");
        let node = g.node("node", move |task: TaskInfo| async move { Err::<(), _>(fail(task.attempt())) });
        g.policy(node)
            .retry(Retry::fixed(4, Duration::from_secs(10)).only_on::<Smashed>())
            .retry(Retry::fixed(3, Duration::from_secs(1)));
        g.edge(START, node);
        g.edge(node, END);
        g.compile().expect("sound")
    };
    fn smashed(_: u32) -> NodeError {
        Smashed("it".into()).into()
    }
    fn busy(_: u32) -> NodeError {
        NodeError::retryable("busy")
    }
    type Fails = fn(u32) -> NodeError;
    let cases: [(Fails, u32, u64); 4] = [
        (smashed, 4, 30),
        (busy, 3, 2),
        // The first policy allows the fourth attempt, although the second one would not.
        (|attempt| if attempt == 3 { smashed(attempt) } else { busy(attempt) }, 4, 12),
        (|attempt| if attempt == 3 { busy(attempt) } else { smashed(attempt) }, 3, 20),
    ];
    for (fail, attempts, seconds) in cases {
        let began = Instant::now();
        let failure = failure(graph(fail).run(Log::update()).await);
        assert_eq!((failure.attempt, began.elapsed().as_secs()), (attempts, seconds));
    }
}

#[tokio::test]
async fn an_error_of_no_named_type_is_final() {
    let graph = one(Retry::fixed(3, Duration::ZERO), |_| Err(Smashed("it".into()).into()));
    let failure = failure(graph.run(Log::update()).await);
    assert_eq!((failure.attempt, failure.error.kind()), (1, NodeErrorKind::Failed));
}

#[tokio::test]
async fn the_node_may_decide_whether_it_is_retried() {
    let graph = one(odd(), |_| Err(NodeError::terminal(Smashed("it".into()))));
    let terminal = failure(graph.run(Log::update()).await);
    assert_eq!((terminal.attempt, terminal.error.kind()), (1, NodeErrorKind::Terminal));
    let graph = one(Retry::fixed(2, Duration::ZERO), |_| Err(NodeError::retryable("busy")));
    let retryable = failure(graph.run(Log::update()).await);
    assert_eq!(retryable.attempt, 2);
    assert_eq!(retryable.to_string(), "node \"node\" failed at step 1 after 2 attempts: busy");
}

#[tokio::test(start_paused = true)]
async fn waits_between_attempts_grow() {
    let graph = one(Retry::exponential(4).without_jitter(), |attempt| match attempt {
        4 => Ok(()),
        _ => Err(NodeError::retryable("busy")),
    });
    let began = Instant::now();
    let run = graph.run(Log::update()).await.expect("the fourth attempt succeeds");
    assert_eq!(run.state.ran, ["4"]);
    assert_eq!(began.elapsed().as_millis(), 500 + 1_000 + 2_000);
}

#[tokio::test(start_paused = true)]
async fn an_error_may_ask_for_a_longer_wait() {
    let graph = one(odd(), |attempt| match attempt {
        1 => Err(NodeError::retryable("slow down").after(Duration::from_secs(9))),
        _ => Ok(()),
    });
    let began = Instant::now();
    let run = graph.run(Log::update()).await.expect("the second attempt succeeds");
    assert_eq!(run.state.ran, ["2"]);
    assert_eq!(began.elapsed().as_secs(), 9);
}

#[tokio::test]
async fn a_node_knows_which_attempt_is_its_last() {
    for (retries, expected) in [(0, &["true"][..]), (3, &["false", "false", "true"])] {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let node = g.node("node", |task: TaskInfo, calls: Dep<Calls>| async move {
            calls.note(task.is_last_attempt().to_string());
            Err::<(), _>(NodeError::retryable("busy"))
        });
        if retries > 0 {
            g.policy(node).retry(Retry::fixed(retries, Duration::ZERO));
        }
        g.edge(START, node);
        g.edge(node, END);
        let stage = Stage::default();
        let graph = g.compile().expect("sound").with_context(stage.clone());
        failure(graph.run(Log::update()).await);
        assert_eq!(stage.calls.take(), expected);
    }
}

#[tokio::test]
async fn attempts_count_from_one_again_after_a_resume() {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let node = g.node("node", |task: TaskInfo, calls: Dep<Calls>, broken: Dep<Broken>| async move {
        calls.note(task.attempt().to_string());
        broken.check("node")
    });
    g.policy(node).retry(odd());
    g.edge(START, node);
    g.edge(node, END);
    let stage = Stage::default();
    stage.broken.smash("node");
    let graph = g.compile().expect("sound").with_context(stage.clone());
    let thread = graph.checkpointer(MemorySaver::new()).thread("t");
    assert_eq!(failure(thread.run(Log::update()).await).attempt, 3);
    assert_eq!(failure(thread.resume().await).attempt, 3);
    assert_eq!(stage.calls.take(), ["1", "2", "3", "1", "2", "3"]);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_takes_too_long_is_given_up_and_retried() {
    let mut g = StateGraph::<Log>::new("g");
    let node = g.node("node", |task: TaskInfo| async move {
        if task.attempt() < 3 {
            sleep(Duration::from_secs(60)).await;
        }
        Log::update().ran([task.attempt().to_string()])
    });
    g.policy(node).timeout(Duration::from_secs(5)).retry(Retry::fixed(3, Duration::from_secs(1)));
    g.edge(START, node);
    g.edge(node, END);
    let began = Instant::now();
    let run = g.compile().expect("sound").run(Log::update()).await;
    assert_eq!(run.expect("the third attempt is fast").state.ran, ["3"]);
    assert_eq!(began.elapsed().as_secs(), 5 + 1 + 5 + 1, "each attempt has its time");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_distinguished_from_other_errors() {
    let mut g = StateGraph::<Log>::new("g");
    let node = g.node("node", || async { sleep(Duration::from_secs(60)).await });
    g.policy(node).timeout(Duration::from_secs(5));
    g.edge(START, node);
    g.edge(node, END);
    let failure = failure(g.compile().expect("sound").run(Log::update()).await);
    assert_eq!(failure.error.kind(), NodeErrorKind::TimedOut);
    assert_eq!(failure.error.to_string(), "the attempt took longer than 5s");
}

#[tokio::test]
async fn a_panic_fails_its_task_and_nothing_else() {
    let mut g = StateGraph::<Log>::new("g");
    let at_once = g.node("at_once", || -> std::future::Ready<()> { panic!("before it began") });
    g.edge(START, at_once);
    g.edge(at_once, END);
    let failure_at_once = failure(g.compile().expect("sound").run(Log::update()).await);
    assert_eq!(failure_at_once.error.kind(), NodeErrorKind::Panicked);
    assert_eq!(failure_at_once.error.to_string(), "before it began");

    let mut g = StateGraph::<Log>::new("g");
    async fn in_the_middle() {
        tokio::task::yield_now().await;
        panic!("in the {}", "middle");
    }
    let later = g.node("later", in_the_middle);
    g.policy(later).retry(Retry::fixed(3, Duration::ZERO));
    g.edge(START, later);
    g.edge(later, END);
    let failure_later = failure(g.compile().expect("sound").run(Log::update()).await);
    assert_eq!(failure_later.error.to_string(), "in the middle");
    assert_eq!(failure_later.attempt, 1, "a bug is not retried");
}

#[tokio::test]
async fn the_source_of_an_error_can_be_downcast() {
    let graph = one(odd(), |_| Err(Smashed("it".into()).into()));
    let error = graph.run(Log::update()).await.expect_err("it is broken");
    let source = std::error::Error::source(&error).expect("the node's own error");
    assert_eq!(source.downcast_ref(), Some(&Smashed("it".into())));
    let failure = failure::<Log>(Err(error));
    assert_eq!(failure.error.downcast_ref(), Some(&Smashed("it".into())));
}

#[tokio::test(start_paused = true)]
async fn e02_b25_the_first_task_to_fail_is_the_callers_error_and_its_siblings_are_cancelled() {
    let calls = Calls::default();
    let mut g = StateGraph::<Log, Stage>::new("g");
    for (name, seconds) in [("a", 3), ("b", 1), ("c", 2)] {
        let node = g.node(name, move |calls: Dep<Calls>| async move {
            sleep(Duration::from_secs(seconds)).await;
            calls.note(name);
            Err::<(), _>(Smashed(name.to_owned()))
        });
        g.edge(START, node);
        g.edge(node, END);
    }
    let stage = Stage { calls: calls.clone(), ..Stage::default() };
    let graph = g.compile().expect("sound").with_context(stage);
    let failure = failure(graph.run(Log::update()).await);
    assert_eq!(failure.node.as_str(), "b");
    sleep(Duration::from_secs(60)).await;
    assert_eq!(calls.take(), ["b"]);
}

/// Side by side: `a`, `b` and `c`, then `end`.
fn trio(stage: &Stage) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("trio");
    let end = g.node("end", step);
    for name in ["a", "b", "c"] {
        let node = g.node(name, step);
        g.edge(START, node);
        g.edge(node, end);
    }
    g.edge(end, END);
    g.compile().expect("sound").with_context(stage.clone())
}

/// All three tasks end in one poll of the runtime. Results that had arrived when the failure was seen, but had not been
/// read, used to be dropped, and their tasks ran again.
#[tokio::test]
async fn e01_what_siblings_finished_is_kept_and_only_the_rest_runs_again() {
    for broken in ["a", "b", "c"] {
        on_both_savers(|saver| async move {
            let stage = Stage::default();
            stage.broken.smash(broken);
            let thread = trio(&stage).shared_checkpointer(saver).thread("t");
            let failure = failure(thread.run(Log::update().ran(["in"])).await);
            assert_eq!(failure.node.as_str(), broken);
            let head = thread.head().await.expect("the start is stored");
            assert_eq!(head.state().ran, ["in"], "no barrier, no write");
            let live = thread.state().await.expect("it ran");
            let finished = ["a", "b", "c"].into_iter().filter(|node| *node != broken);
            assert_eq!(live.values.ran, ["in"].into_iter().chain(finished).collect::<Vec<_>>());
            assert_eq!(live.next, [broken.into()]);
            let failed = live.tasks.iter().filter(|task| task.failure.is_some());
            assert_eq!(failed.map(|task| task.node.as_str()).collect::<Vec<_>>(), [broken]);
            assert_eq!(stage.calls.take_sorted(), ["a", "b", "c"]);

            stage.broken.mend(broken);
            let log = thread.resume().await.expect("all is mended").state;
            assert_eq!(log.ran, ["in", "a", "b", "c", "end"]);
            assert_eq!(stage.calls.take(), [broken, "end"]);
            let history = thread.history().expect("a store").collect().await.expect("it reads");
            assert_eq!(history.iter().map(|line| line.step).collect::<Vec<_>>(), [2, 1, 0, -1]);
        })
        .await;
    }
}

#[derive(Route, Serialize, Deserialize)]
enum Next {
    Go,
}

/// `a` beside `b`, whose routing fails while "routing" is broken.
fn routed(stage: &Stage) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("routed");
    let [a, end] = ["a", "end"].map(|name| g.node(name, step));
    let b = g.node("b", |calls: Dep<Calls>| async move {
        calls.note("b");
        (Log::update().ran(["b"]), Next::Go)
    });
    g.edge(START, a);
    g.edge(START, b);
    g.edge(a, end);
    let broken = stage.broken.clone();
    g.route(b, move |Next::Go| broken.check("routing").map(|()| to(end)));
    g.edge(end, END);
    g.compile().expect("sound").with_context(stage.clone())
}

#[tokio::test]
async fn l09_a_failed_routing_runs_again_without_its_node() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let graph = routed(&stage).shared_checkpointer(saver);
        stage.broken.smash("routing");
        let thread = graph.thread("t");
        for _ in 0..2 {
            let failure = failure(run_or_resume(&thread).await);
            assert_eq!(failure.error.kind(), NodeErrorKind::Routing);
            assert_eq!(failure.error.downcast_ref(), Some(&Smashed("routing".into())));
        }
        stage.broken.mend("routing");
        let log = thread.resume().await.expect("all is mended").state;
        assert_eq!(log.ran, ["a", "b", "end"]);
        assert_eq!(stage.calls.take_sorted(), ["a", "b", "end"], "each node ran once");
    })
    .await;
}

#[tokio::test]
async fn m01_a_failed_routing_of_start_runs_again() {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let a = g.node("a", step);
    let stage = Stage::default();
    let broken = stage.broken.clone();
    g.branch(START, |_| Next::Go, move |Next::Go| broken.check("routing").map(|()| to(a)));
    g.edge(a, END);
    let graph = g.compile().expect("sound").with_context(stage.clone());
    let thread = graph.checkpointer(MemorySaver::new()).thread("t");
    stage.broken.smash("routing");
    failure(thread.run(Log::update().ran(["in"])).await);
    stage.broken.mend("routing");
    let log = thread.resume().await.expect("all is mended").state;
    assert_eq!(log.ran, ["in", "a"], "the input was kept");
}

#[tokio::test]
async fn a_panic_in_a_map_is_a_failed_routing() {
    let mut g = StateGraph::<Log>::new("g");
    let a = g.node("a", || async { Next::Go });
    g.edge(START, a);
    let compiling = std::sync::atomic::AtomicBool::new(true);
    g.route(a, move |Next::Go| {
        let first = compiling.swap(false, std::sync::atomic::Ordering::Relaxed);
        assert!(first, "the second call fails");
        END
    });
    let failure = failure(g.compile().expect("sound").run(Log::update()).await);
    assert_eq!(failure.error.kind(), NodeErrorKind::Routing);
    assert_eq!(failure.error.to_string(), "the second call fails");
}

#[tokio::test]
async fn n08_a_failure_is_stored_as_data_beside_what_its_sibling_wrote() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("bad");
        let mut g = StateGraph::<Log, Stage>::new("g");
        for name in ["ok", "bad"] {
            let node = g.node(name, step);
            g.edge(START, node);
            g.edge(node, END);
        }
        let graph = g.compile().expect("sound").with_context(stage.clone());
        let thread = graph.shared_checkpointer(saver).thread("t");
        for tries in 1..3 {
            failure(run_or_resume(&thread).await);
            let head = thread.head().await.expect("the start is stored");
            let [stored] = &head.loaded().failures[..] else { panic!("one task failed") };
            assert_eq!((stored.node.as_str(), stored.attempts), ("bad", 1));
            assert_eq!(
                (stored.error.kind, stored.error.message.as_str()),
                (NodeErrorKind::Failed, "bad is broken")
            );
            assert_eq!(stage.calls.of("bad"), tries);
        }
        stage.broken.mend("bad");
        assert_eq!(thread.resume().await.expect("all is mended").state.ran, ["bad", "ok"]);
        assert_eq!(thread.head().await.expect("it is stored").loaded().failures, []);
    })
    .await;
}

#[tokio::test]
async fn o05_a_failure_in_one_of_several_items_keeps_the_others() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("2");
        let mut g = StateGraph::<Log, Stage>::new("g");
        let item = g.node("w", |n: Input<u32>, calls: Dep<Calls>, broken: Dep<Broken>| async move {
            calls.note(n.to_string());
            broken.check(&n.to_string())?;
            Ok::<_, Smashed>(Log::update().ran([n.to_string()]))
        });
        g.branch(START, |_| Next::Go, move |Next::Go| each(item, [1, 2, 3]));
        g.edge(item, END);
        let graph = g.compile().expect("sound").with_context(stage.clone());
        let thread = graph.shared_checkpointer(saver).thread("t");
        failure(thread.run(Log::update()).await);
        assert_eq!(stage.calls.take_sorted(), ["1", "2", "3"]);
        let head = thread.head().await.expect("the start is stored");
        assert_eq!((head.loaded().results.len(), head.loaded().failures.len()), (2, 1));
        let live = thread.state().await.expect("it ran");
        assert_eq!((live.values.ran, live.next), (vec!["1".to_owned(), "3".into()], vec!["w".into()]));
        stage.broken.mend("2");
        assert_eq!(thread.resume().await.expect("all is mended").state.ran, ["1", "2", "3"]);
        assert_eq!(stage.calls.take(), ["2"]);
    })
    .await;
}
