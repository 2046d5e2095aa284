//! Limits: supersteps in a run, tasks at once, how long a retry waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep::prelude::*;

use crate::support::{Smashed, failure, on_both_savers};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
}

/// Writes its name and the number of remaining supersteps.
async fn mark(task: TaskInfo) -> Update<Log> {
    Log::update().ran([format!("{}{}", task.node(), task.remaining_steps())])
}

fn chain() -> Graph<Log> {
    let mut g = StateGraph::<Log>::new("g");
    let [a, b, c] = ["a", "b", "c"].map(|name| g.node(name, mark));
    g.edge(START, a);
    g.edge(a, b);
    g.edge(b, c);
    g.edge(c, END);
    g.compile().expect("sound")
}

#[tokio::test]
async fn b01_a_chain_of_three_needs_three_supersteps() {
    let run = chain().recursion_limit(3).run(Log::update()).await;
    let run = run.expect("no node fails");
    assert_eq!((run.status, run.step), (Status::Finished, 3));
    assert_eq!(run.state.ran, ["a2", "b1", "c0"]);
    let run = chain().recursion_limit(2).run(Log::update()).await;
    let run = run.expect("a limit is no error");
    assert_eq!(run.status, Status::LimitReached { limit: 2 });
    assert_eq!(run.state.ran, ["a1", "b0"], "what was done is not lost");
}

/// The status used to name the graph's limit, and not that of the request.
#[tokio::test]
async fn the_limit_of_a_request_is_the_one_that_is_reached() {
    let graph = chain().recursion_limit(100);
    let run = graph.run(Log::update()).recursion_limit(1).await;
    let run = run.expect("a limit is no error");
    assert_eq!(run.status, Status::LimitReached { limit: 1 });
    let unfinished = run.finished().expect_err("it reached its limit");
    assert!(unfinished.to_string().ends_with("it reached its limit of 1 supersteps"));
}

#[tokio::test]
async fn a_resumed_run_takes_as_many_supersteps_again() {
    on_both_savers(|saver| async move {
        let graph = chain().recursion_limit(1).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let mut steps = Vec::new();
        let mut run = thread.run(Log::update()).await.expect("no node fails");
        while run.status != Status::Finished {
            assert_eq!(run.status, Status::LimitReached { limit: 1 });
            steps.push(run.step);
            run = thread.resume().await.expect("no node fails");
        }
        assert_eq!((steps, run.step), (vec![1, 2], 3));
        assert_eq!(run.state.ran, ["a0", "b0", "c0"]);
        let again = thread.resume().await.expect("no node fails");
        assert_eq!((again.status, again.state), (Status::Finished, run.state));
    })
    .await;
}

#[tokio::test]
async fn no_superstep_at_all_still_takes_the_input() {
    let graph = chain().checkpointer(MemorySaver::new());
    let thread = graph.thread("t");
    let run = thread.run(Log::update().ran(["in"])).recursion_limit(0).await;
    let run = run.expect("a limit is no error");
    assert_eq!((run.status, run.step), (Status::LimitReached { limit: 0 }, 0));
    assert_eq!(run.state.ran, ["in"]);
}

/// LangGraph's default is 10,007, which ends a runaway run very late.
#[tokio::test]
async fn m10_the_limit_is_a_thousand_unless_said_otherwise() {
    let mut g = StateGraph::<Log>::new("g");
    let node = g.node("node", || async { Fan::Out(Vec::new()) });
    let end = g.node("end", mark);
    g.edge(START, node);
    g.route(node, move |Fan::Out(items)| if items.is_empty() { to(node) } else { END }).may_reach(end);
    g.edge(end, END);
    let run = g.compile().expect("sound").run(Log::update()).await.expect("a limit is no error");
    assert_eq!((run.status, run.step), (Status::LimitReached { limit: 1_000 }, 1_000));
}

#[derive(Route, Serialize, Deserialize)]
enum Fan {
    Out(Vec<u32>),
}

#[tokio::test]
async fn k08_no_more_tasks_run_at_once_than_allowed() {
    for (width, allowed, retries) in
        [(10, 3, false), (10, 1, false), (2, 5, false), (1, 1, true), (9, 4, true)]
    {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let seen = Arc::clone(&most);
        let mut g = StateGraph::<Log>::new("g");
        let split = g.node("split", move || async move { Fan::Out((0..width).collect()) });
        let work = g.node("work", move |item: Input<u32>, task: TaskInfo| {
            let (now, most) = (Arc::clone(&now), Arc::clone(&most));
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                for _ in 0..=*item % 3 {
                    tokio::task::yield_now().await;
                }
                now.fetch_sub(1, Ordering::SeqCst);
                if retries && task.attempt() == 1 {
                    return Err(NodeError::retryable("again"));
                }
                Ok(Log::update().ran([item.to_string()]))
            }
        });
        g.policy(work).retry(Retry::fixed(2, Duration::ZERO));
        g.edge(START, split);
        g.route(split, move |Fan::Out(items)| each(work, items));
        g.edge(work, END);
        let graph = g.compile().expect("sound").max_concurrency(allowed);
        let run = graph.run(Log::update()).await.expect("no task fails for good");
        let expected: Vec<_> = (0..width).map(|item| item.to_string()).collect();
        assert_eq!(run.state.ran, expected);
        let most = seen.load(Ordering::SeqCst);
        assert!(most <= allowed, "{most} of {allowed} tasks at once");
        assert_eq!(most, allowed.min(width as usize), "and no fewer than there is room for");
    }
}

/// A server with `retry-after: 86400` used to suspend a run for a day.
#[tokio::test(start_paused = true)]
async fn a_longer_wait_than_the_policy_allows_is_an_error_at_once() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log>::new("g");
        let node = g.node("node", async || {
            Err::<(), _>(NodeError::retryable(Smashed("it".into())).after(Duration::from_secs(86_400)))
        });
        g.policy(node).retry(Retry::exponential(3).max(Duration::from_secs(60)));
        g.edge(START, node);
        g.edge(node, END);
        let began = tokio::time::Instant::now();
        let thread = g.compile().expect("sound").shared_checkpointer(saver).thread("t");
        let failure = failure(thread.run(Log::update()).await);
        assert_eq!((failure.attempt, began.elapsed()), (1, Duration::ZERO));
        assert_eq!(failure.error.downcast_ref(), Some(&Smashed("it".into())), "it is the node's error still");
        let told = "node \"node\" failed at step 1: it is broken; the error asks for a retry after 86400s, but the \
            node's policy waits 60s at most: resume the thread later, or raise the limit with Retry::max";
        assert_eq!(failure.to_string(), told);
        let head = thread.head().await.expect("it ran");
        assert!(told.ends_with(&head.loaded().failures[0].error.message), "and it is stored so");
    })
    .await;
}
