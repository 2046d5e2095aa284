//! Single tasks of a superstep, run one by one: their results are recorded, and a resume commits them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use superstep::checkpoint::{Checkpointer, Source};
use superstep::prelude::*;
use superstep::run::ThreadError;
use tokio::sync::Notify;

use crate::support::{Broken, Calls, Smashed, Stage, failure, on_both_savers};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
}

async fn work(
    item: Input<u32>,
    calls: Dep<Calls>,
    broken: Dep<Broken>,
    fx: Effects,
) -> Result<Update<Log>, Smashed> {
    let paid = fx.run("pay", || async {
        calls.note(format!("pay {}", *item));
        Ok::<_, Smashed>(*item * 10)
    });
    let paid = paid.await?;
    calls.note(format!("work {}", *item));
    broken.check("work")?;
    Ok(Log::update().ran([format!("{}: {paid}", *item)]))
}

/// `plan` leads to `work` for each of 1, 2 and 3, and then to `sum`.
fn fan_out(saver: &Arc<dyn Checkpointer>, stage: &Stage) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("fan out");
    let plan = g.node("plan", async || Log::update());
    let work = g.node("work", work);
    let sum = g.node("sum", async |calls: Dep<Calls>| {
        calls.note("sum");
        Log::update().ran(["sum"])
    });
    g.edge(START, plan);
    g.branch(plan, |_: &Log| Always::Here, move |Always::Here| each(work, [1, 2, 3]));
    g.edge(work, sum);
    g.edge(sum, END);
    g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver.clone())
}

#[derive(Route, serde::Serialize, serde::Deserialize)]
enum Always {
    Here,
}

/// A thread on which the three tasks of `work` are next.
async fn planned(graph: &Graph<Log>) -> Thread<Log> {
    let thread = graph.thread("t");
    let run = thread.run(Log::update()).recursion_limit(1).await.expect("plan runs");
    assert_eq!(run.status.name(), "limit_reached");
    thread
}

#[tokio::test]
async fn tasks_run_by_three_handles_are_committed_by_a_resume_that_runs_none_of_them() {
    on_both_savers(async |saver| {
        let stage = Stage::default();
        let thread = planned(&fan_out(&saver, &stage)).await;
        let before = thread.head().await.expect("it ran").id();
        let tasks = thread.tasks().await.expect("it ran");
        assert_eq!(tasks.iter().map(|task| task.node.as_str()).collect::<Vec<_>>(), ["work"; 3]);
        for task in tasks.iter().rev() {
            let elsewhere = fan_out(&saver, &stage);
            let run = elsewhere.thread("t").run_task(task.id).await.expect("it is pending");
            assert_eq!((run.status, run.checkpoint, run.step), (Status::TaskRecorded, Some(before), 1));
            assert_eq!(*run.state, Log::default(), "what it wrote waits for the others");
        }
        assert!(thread.tasks().await.expect("it ran").iter().all(superstep::run::TaskState::is_finished));
        assert_eq!(thread.head().await.expect("it ran").id(), before, "nothing was committed");
        assert_eq!(stage.calls.take(), ["pay 3", "work 3", "pay 2", "work 2", "pay 1", "work 1"]);

        let log = thread.resume().await.expect("the rest runs").finished().expect("nothing asks");
        assert_eq!(log.ran, ["1: 10", "2: 20", "3: 30", "sum"]);
        assert_eq!(stage.calls.take(), ["sum"]);
        let sources: Vec<Source> =
            thread.history().unwrap().collect().await.unwrap().iter().map(|line| line.source).collect();
        assert_eq!(sources, [Source::Loop, Source::Loop, Source::Loop, Source::Loop, Source::Input]);
    })
    .await;
}

#[tokio::test]
async fn a_resume_runs_only_the_tasks_that_are_left() {
    on_both_savers(async |saver| {
        let stage = Stage::default();
        let thread = planned(&fan_out(&saver, &stage)).await;
        let second = thread.tasks().await.expect("it ran")[1].id;
        thread.run_task(second).await.map(drop).expect("it is pending");
        assert_eq!(stage.calls.take(), ["pay 2", "work 2"]);
        let log = thread.resume().await.expect("the rest runs").finished().expect("nothing asks");
        assert_eq!(log.ran, ["1: 10", "2: 20", "3: 30", "sum"]);
        assert_eq!((stage.calls.of("work 1"), stage.calls.of("work 2"), stage.calls.of("work 3")), (1, 0, 1));
    })
    .await;
}

#[tokio::test]
async fn a_task_counts_once() {
    on_both_savers(async |saver| {
        let stage = Stage::default();
        let thread = planned(&fan_out(&saver, &stage)).await;
        let task = thread.tasks().await.expect("it ran")[0].id;
        let (one, other) = (fan_out(&saver, &stage).thread("t"), fan_out(&saver, &stage).thread("t"));
        let (first, second) = tokio::join!(one.run_task(task), other.run_task(task));
        let told = |run: &Result<Run<Log>, RunError>| match run {
            Ok(run) => run.status.name(),
            Err(RunError::Thread(ThreadError::TaskRecorded { .. })) => "recorded already",
            Err(error) => panic!("{error}"),
        };
        // Equal results are one result.
        assert!(told(&first) == "task_recorded" || told(&second) == "task_recorded");
        assert_eq!(stage.calls.of("pay 1"), 1, "an effect happens once");

        let error = thread.run_task(task).await.unwrap_err();
        assert_eq!(error.to_string(), format!("the result of task {task} of thread t is recorded already"));
        let log = thread.resume().await.expect("the rest runs").finished().expect("nothing asks");
        assert_eq!(log.ran, ["1: 10", "2: 20", "3: 30", "sum"]);
        let error = thread.run_task(task).await.unwrap_err();
        assert_eq!(error.to_string(), format!("thread t has no pending task {task}"));
        assert!(thread.tasks().await.expect("it ran").is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_task_that_fails_is_reported_and_runs_again() {
    on_both_savers(async |saver| {
        let stage = Stage::default();
        let thread = planned(&fan_out(&saver, &stage)).await;
        let task = thread.tasks().await.expect("it ran")[0].id;
        stage.broken.smash("work");
        assert_eq!(failure(thread.run_task(task).await).node.as_str(), "work");
        let told = thread.tasks().await.expect("it ran");
        assert!(told[0].failure.is_some() && told[1].failure.is_none());
        stage.broken.mend("work");
        assert_eq!(thread.run_task(task).await.expect("it is mended").status, Status::TaskRecorded);
        assert_eq!(stage.calls.of("pay 1"), 1, "its effect is in the journal");
    })
    .await;
}

#[tokio::test]
async fn a_task_that_asks_waits_for_its_answer() {
    on_both_savers(async |saver| {
        let mut g = StateGraph::<Log>::new("asks");
        let asks =
            g.node("asks", async |ask: Ask<String, String>| Log::update().ran([ask.ask("?".into()).await]));
        let other = g.node("other", async || Log::update().ran(["other"]));
        g.edge(START, asks);
        g.edge(START, other);
        g.edge(asks, END);
        g.edge(other, END);
        let thread = g.compile().expect("sound").shared_checkpointer(saver).thread("t");
        thread.input(Log::update()).await.map(drop).expect("a new thread");
        assert!(thread.tasks().await.expect("it has an input").is_empty(), "START is no task of a node");
        let run = thread.run(Log::update()).interrupt_before([asks, other]).await;
        assert_eq!(run.expect("it stops").status.name(), "breakpoint");
        let tasks = thread.tasks().await.expect("it ran");
        let asked = thread.run_task(tasks[0].id).await.expect("it asks").interrupted().expect("it asks");
        assert_eq!(asked[0].question::<String>().expect("a text"), "?");
        let log = thread.answer("yes").await.expect("it is open").finished().expect("nothing is left");
        assert_eq!(log.ran, ["yes", "other"]);
    })
    .await;
}

#[tokio::test]
async fn a_result_that_comes_after_its_superstep_was_committed_is_superseded() {
    on_both_savers(async |saver| {
        let (first, go_on) = (Arc::new(AtomicBool::new(true)), Arc::new(Notify::new()));
        let (is_first, waits) = (first.clone(), go_on.clone());
        let mut g = StateGraph::<Log>::new("slow");
        let slow = g.node("slow", move || {
            let (is_first, waits) = (is_first.swap(false, Ordering::Relaxed), waits.clone());
            async move {
                if is_first {
                    waits.notified().await;
                }
                Log::update().ran(["slow"])
            }
        });
        g.edge(START, slow);
        g.edge(slow, END);
        let thread = g.compile().expect("sound").shared_checkpointer(saver).thread("t");
        let run = thread.run(Log::update()).interrupt_before(slow).await;
        assert_eq!(run.expect("it stops").status.name(), "breakpoint");
        let task = thread.tasks().await.expect("it ran")[0].id;
        let late = tokio::spawn(thread.run_task(task).into_future());
        while first.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        let log = thread.resume().await.expect("it waits for nothing").finished().expect("it ends");
        assert_eq!(log.ran, ["slow"]);
        go_on.notify_one();
        let ended = late.await.expect("it does not panic");
        assert!(matches!(ended, Err(RunError::Superseded { .. })), "{ended:?}");
        assert_eq!(thread.head().await.expect("it ran").state().ran, ["slow"]);
    })
    .await;
}
