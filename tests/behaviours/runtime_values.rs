//! Information about the run that a node can read.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use superstep::prelude::*;

use crate::support::{Calls, Stage, on_both_savers};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
}

#[derive(Route, Serialize, Deserialize)]
enum Then {
    Again,
    Stop,
}

#[tokio::test]
async fn b03_a_node_knows_how_many_steps_are_left_and_which_is_the_last() {
    let mut g = StateGraph::<Log>::new("g");
    let a = g.node("a", |task: TaskInfo| async move {
        let then = if task.is_last_step() { Then::Stop } else { Then::Again };
        (Log::update().ran([task.remaining_steps().to_string()]), then)
    });
    g.edge(START, a);
    g.route(a, move |then| match then {
        Then::Again => to(a),
        Then::Stop => END,
    });
    let run = g.compile().expect("sound").run(Log::update()).recursion_limit(3).await;
    let run = run.expect("no node fails");
    assert_eq!(
        (&run.status, &run.state.ran),
        (&Status::Finished, &["2", "1", "0"].map(String::from).to_vec())
    );
}

#[tokio::test]
async fn j05_a_node_takes_its_context_and_knows_its_attempt() {
    #[derive(Clone, FromRef)]
    struct Who(String);
    let mut g = StateGraph::<Log, Who>::new("g");
    let a = g.node("a", |who: Dep<String>, task: TaskInfo| async move {
        Log::update().ran([format!("{} {}", *who, task.attempt())])
    });
    g.edge(START, a);
    g.edge(a, END);
    let graph = g.compile().expect("sound").with_context(Who("me".into()));
    assert_eq!(graph.run(Log::update()).await.expect("no node fails").state.ran, ["me 1"]);
}

#[tokio::test]
async fn k06_metadata_of_the_run_is_in_every_checkpoint_and_visible_to_nodes() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log>::new("g");
        let a = g.node("a", |task: TaskInfo| async move {
            let who: Option<String> = task.metadata("who").and_then(|who| who.decode().ok());
            Log::update().ran([format!("{who:?} {:?}", task.metadata("other"))])
        });
        g.edge(START, a);
        g.edge(a, END);
        let thread = g.compile().expect("sound").shared_checkpointer(saver).thread("t");
        let run = thread.run(Log::update()).metadata("who", "me").await.expect("no node fails");
        assert_eq!(run.state.ran, [r#"Some("me") None"#]);
        let history = thread.history().expect("it is stored").collect().await.expect("it reads");
        assert_eq!(history.len(), 3);
        for line in history {
            assert_eq!((line.run, line.metadata["who"].as_str()), (run.run, r#""me""#));
        }
    })
    .await;
}

/// A task sees the same ids as others.
#[tokio::test]
async fn a_task_knows_the_ids_by_which_it_is_stored() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log>::new("g");
        let seen: Arc<Mutex<Option<TaskInfo>>> = Arc::default();
        let keep = Arc::clone(&seen);
        let a = g.node("a", move |task: TaskInfo| {
            *keep.lock().expect("nothing panics") = Some(task);
            async { Err::<Update<Log>, _>(NodeError::terminal("no")) }
        });
        g.edge(START, a);
        g.edge(a, END);
        let thread = g.compile().expect("sound").shared_checkpointer(saver).thread("t");
        thread.run(Log::update()).await.expect_err("it fails");
        let head = thread.head().await.expect("it ran");
        let task = seen.lock().expect("nothing panics").take().expect("the node ran");
        let checkpoint = &head.loaded().checkpoint;
        assert_eq!(task.checkpoint(), Some(checkpoint.id));
        assert_eq!(task.task_id(), Some(checkpoint.frontier.tasks[0].id(checkpoint.id, checkpoint.step)));
        assert_eq!((task.run(), task.step(), task.thread().as_str()), (checkpoint.run, 1, "t"));
    })
    .await;
}

/// Spawns a task that waits for the cancellation of the node.
async fn beside(task: TaskInfo, calls: Dep<Calls>) {
    let Dep(calls) = calls;
    tokio::spawn(async move {
        calls.note("waits");
        task.cancelled().await;
        calls.note(format!("attempt {} was given up", task.attempt()));
    });
}

#[tokio::test]
async fn what_a_node_started_beside_itself_learns_of_the_end() {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let node = g.node("node", |task: TaskInfo, calls: Dep<Calls>| async move {
        let Dep(noted) = calls.clone();
        beside(task.clone(), calls).await;
        while noted.of("waits") < task.attempt() as usize {
            tokio::task::yield_now().await;
        }
        match task.attempt() {
            1 => Err(NodeError::retryable("again")),
            _ => Ok(()),
        }
    });
    g.policy(node).retry(Retry::fixed(2, std::time::Duration::ZERO));
    g.edge(START, node);
    g.edge(node, END);
    let stage = Stage::default();
    let graph = g.compile().expect("sound").with_context(stage.clone());
    let run = graph.run(Log::update()).await.expect("the second attempt succeeds");
    assert_eq!(run.status, Status::Finished);
    while stage.calls.of("attempt 2 was given up") == 0 {
        tokio::task::yield_now().await;
    }
    let told = stage.calls.take_sorted();
    assert_eq!(told, ["attempt 1 was given up", "attempt 2 was given up", "waits", "waits"]);
}

/// Resolves at once when it is awaited after the end.
#[tokio::test]
async fn a_finished_run_reports_that_it_is_cancelled() {
    let mut g = StateGraph::<Log>::new("g");
    let seen: Arc<Mutex<Option<TaskInfo>>> = Arc::default();
    let keep = Arc::clone(&seen);
    let node = g.node("node", move |task: TaskInfo| {
        *keep.lock().expect("nothing panics") = Some(task);
        async { Ok::<_, Infallible>(()) }
    });
    g.edge(START, node);
    g.edge(node, END);
    let run = g.compile().expect("sound").run(Log::update()).await.expect("no node fails");
    assert_eq!(run.status, Status::Finished);
    let task = seen.lock().expect("nothing panics").take().expect("the node ran");
    task.cancelled().await;
    assert!(task.is_cancelled());
}

/// LangGraph treats an input whose metadata names the previous run as part of that run, and ignores it.
#[tokio::test]
async fn o04_an_input_counts_whatever_its_metadata_says() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log>::new("g");
        let a = g.node("a", || async { Log::update().ran(["a"]) });
        g.edge(START, a);
        g.edge(a, END);
        let thread = g.compile().expect("sound").shared_checkpointer(saver).thread("t");
        let mut last = Vec::new();
        for (input, run) in [("1", "r1"), ("2", "r1"), ("3", "r2")] {
            let run = thread.run(Log::update().ran([input])).metadata("run_id", run).await;
            last = run.expect("no node fails").into_state().ran;
        }
        assert_eq!(last, ["1", "a", "2", "a", "3", "a"]);
    })
    .await;
}
