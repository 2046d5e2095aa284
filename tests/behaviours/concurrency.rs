//! Two runs on one thread: one of them gets an error, and no input is lost.

use std::convert::Infallible;
use std::sync::Arc;

use superstep::checkpoint::Checkpointer;
use superstep::prelude::*;
use superstep::run::{EventKind, RunEvent, ThreadError};
use tokio::sync::Barrier;

use crate::support::{Calls, Stage, on_both_savers};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
}

/// A graph whose node waits until two runs are in it.
fn meeting(saver: Arc<dyn Checkpointer>) -> Graph<Log> {
    let mut g = StateGraph::<Log>::new("g");
    let here = Arc::new(Barrier::new(2));
    let node = g.node("node", move || {
        let here = Arc::clone(&here);
        async move {
            here.wait().await;
            Log::update().ran(["node"])
        }
    });
    g.edge(START, node);
    g.edge(node, END);
    g.compile().expect("sound").shared_checkpointer(saver)
}

/// The winner of two runs, with its result; the other run must have been superseded.
fn one_won(runs: [Result<Run<Log>, RunError>; 2]) -> Log {
    let [first, second] = runs;
    match (first, second) {
        (Ok(run), Err(RunError::Superseded { .. })) | (Err(RunError::Superseded { .. }), Ok(run)) => {
            run.finished().expect("nothing pauses")
        }
        other => panic!("one was to win and one to be superseded: {other:?}"),
    }
}

#[tokio::test]
async fn two_runs_of_a_superstep_store_it_once() {
    on_both_savers(|saver| async move {
        let graph = meeting(saver);
        let thread = graph.thread("t");
        let run = thread.run(Log::update().ran(["in"])).recursion_limit(0).await;
        assert_eq!(run.expect("no node fails").step, 0);
        let (first, second) = tokio::join!(thread.resume().into_future(), thread.resume().into_future());
        assert_eq!(one_won([first, second]).ran, ["in", "node"]);
        let head = thread.head().await.expect("it ran");
        assert_eq!((head.step(), head.state().ran.len()), (1, 2));
    })
    .await;
}

/// The first of two runs that begin one after the other used to get an error that nothing of it was stored, although
/// its message was in the state; when it was run again, the message was there twice.
#[tokio::test]
async fn m02_two_inputs_at_once_lose_no_turn() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log>::new("g");
        let node = g.node("node", || async {
            tokio::task::yield_now().await;
            Log::update().ran(["node"])
        });
        g.edge(START, node);
        g.edge(node, END);
        let graph = g.compile().expect("sound").shared_checkpointer(saver);
        for thread in ["new", "old"] {
            let thread = graph.thread(thread);
            if thread.id().as_str() == "old" {
                let run = thread.run(Log::update()).await.expect("no node fails");
                assert_eq!(run.status, Status::Finished);
            }
            let run = |text: &'static str| {
                let request = thread.run_once(text, Log::update().ran([text])).into_future();
                async move { (text, request.await) }
            };
            for (text, ended) in <[_; 2]>::from(tokio::join!(run("x"), run("y"))) {
                // A run that loads the thread after the other one has ended continues it. A turn that lost is run
                // again.
                if let Err(lost) = ended {
                    assert!(matches!(lost, RunError::Superseded { .. }), "{lost}");
                    drop(run(text).await.1.expect("there is no other run"));
                }
            }
            let log = thread.head().await.expect("it ran").into_state();
            for text in ["x", "y"] {
                assert_eq!(log.ran.iter().filter(|ran| *ran == text).count(), 1, "{log:?}");
            }
        }
    })
    .await;
}

/// The loser of a race used to get the error that an effect had failed.
#[tokio::test]
async fn a_run_that_lost_is_superseded_also_at_its_next_effect_or_question() {
    for asks in [false, true] {
        on_both_savers(|saver| async move {
            let mut g = StateGraph::<Log, Stage>::new("g");
            let node =
                g.node("node", move |fx: Effects, ask: Ask<String, String>, calls: Dep<Calls>| async move {
                    calls.note("node");
                    if calls.of("node") == 1 {
                        while calls.of("overtaken") == 0 {
                            tokio::task::yield_now().await;
                        }
                        if asks {
                            ask.ask("who?".into()).await;
                        }
                        let Ok(()) = fx.run("late", || async { Ok::<_, Infallible>(()) }).await;
                        calls.note("effect");
                    }
                    Log::update().ran(["node"])
                });
            g.edge(START, node);
            g.edge(node, END);
            let stage = Stage::default();
            let graph = g.compile().expect("sound").with_context(stage.clone());
            let thread = graph.shared_checkpointer(saver).thread("t");
            let overtake = async {
                while stage.calls.of("node") == 0 {
                    tokio::task::yield_now().await;
                }
                let run = thread.resume().await;
                stage.calls.note("overtaken");
                run
            };
            let slow = thread.run(Log::update()).into_future();
            let log = tokio::join!(slow, overtake);
            assert_eq!(one_won([log.0, log.1]).ran, ["node"]);
            assert_eq!(stage.calls.of("effect"), 0);
            let head = thread.head().await.expect("it ran");
            assert_eq!(head.interrupts(), []);
        })
        .await;
    }
}

/// `a` and `b`, then `end`. Every call of `a` and `b` returns another result, after its own cue was noted: `a1` for the
/// first call of `a`.
fn on_cue(stage: &Stage, saver: Arc<dyn Checkpointer>) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let end = g.node("end", |calls: Dep<Calls>| async move {
        calls.note("end");
        Log::update().ran(["end"])
    });
    for name in ["a", "b"] {
        let node = g.node(name, move |calls: Dep<Calls>| async move {
            calls.note(name);
            let call = format!("{name}{}", calls.of(name));
            wait_for(&calls, &call).await;
            Log::update().ran([call])
        });
        g.edge(START, node);
        g.edge(node, end);
    }
    g.edge(end, END);
    let graph = g.compile().expect("sound").with_context(stage.clone());
    graph.shared_checkpointer(saver)
}

async fn wait_for(calls: &Calls, what: &str) {
    while calls.of(what) == 0 {
        tokio::task::yield_now().await;
    }
}

/// Waits until this many results are recorded on the head.
async fn recorded(thread: &Thread<Log>, results: usize) {
    while thread.head().await.expect("it ran").loaded().results.len() < results {
        tokio::task::yield_now().await;
    }
}

/// The last finished and unrecorded result of a run used to be lost when it adopted the results of another run: the
/// task ran again.
#[tokio::test]
async fn the_result_that_was_recorded_first_is_the_one_that_counts() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = on_cue(&stage, saver).thread("t");
        let overtake = async {
            wait_for(&stage.calls, "b").await;
            let calls = stage.calls.clone();
            let run = thread.resume().observe(move |event: &RunEvent| {
                if let EventKind::TaskFinished { node, .. } = &event.kind {
                    calls.note(format!("fast finished {node}"));
                }
            });
            let run = run.into_future();
            let cues = async {
                while stage.calls.of("a") < 2 || stage.calls.of("b") < 2 {
                    tokio::task::yield_now().await;
                }
                stage.calls.note("a1");
                recorded(&thread, 1).await;
                // The last task to finish is not recorded: its result goes into the checkpoint. That is to be b.
                stage.calls.note("a2");
                wait_for(&stage.calls, "fast finished a").await;
                stage.calls.note("b2");
            };
            let (run, ()) = tokio::join!(run, cues);
            stage.calls.note("b1");
            run
        };
        let slow = thread.run(Log::update()).into_future();
        let (slow, fast) = tokio::join!(slow, overtake);
        assert!(matches!(slow, Err(RunError::Superseded { .. })), "{slow:?}");
        assert_eq!(fast.expect("it was first").state.ran, ["a1", "b2", "end"]);
        let ran = ["a", "b", "end"].map(|node| stage.calls.of(node));
        assert_eq!(ran, [2, 2, 1]);
    })
    .await;
}

/// A run that found results other than its own used to load the thread again. If the other run had moved on meanwhile,
/// it continued that run's work.
#[tokio::test]
async fn a_run_that_is_behind_does_not_continue_with_the_work_of_the_one_ahead() {
    let stage = Stage::default();
    let thread = on_cue(&stage, Arc::new(MemorySaver::new())).thread("t");
    let calls = stage.calls.clone();
    let slow = thread.run(Log::update()).observe(move |event: &RunEvent| {
        if let EventKind::TaskFinished { node, .. } = &event.kind {
            calls.note(format!("slow finished {node}"));
        }
    });
    let overtake = async {
        wait_for(&stage.calls, "b").await;
        let run = thread.resume().recursion_limit(1).into_future();
        let cues = async {
            while stage.calls.of("a") < 2 || stage.calls.of("b") < 2 {
                tokio::task::yield_now().await;
            }
            stage.calls.note("a2");
            recorded(&thread, 1).await;
            stage.calls.note("a1");
            wait_for(&stage.calls, "slow finished a").await;
            // The result of the slow run does not count.
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            stage.calls.note("b2");
        };
        let (run, ()) = tokio::join!(run, cues);
        stage.calls.note("b1");
        run
    };
    let (slow, fast) = tokio::join!(slow.into_future(), overtake);
    assert!(matches!(slow, Err(RunError::Superseded { .. })), "{slow:?}");
    let fast = fast.expect("it was first");
    assert_eq!(fast.state.ran, ["a2", "b2"]);
    assert_eq!(stage.calls.of("end"), 0, "that is for the run that resumes the thread");
}

#[tokio::test]
async fn an_edit_beside_a_run_supersedes_it_or_is_superseded() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let node = g.node("node", |calls: Dep<Calls>| async move {
            calls.note("node");
            while calls.of("node") == 1 && calls.of("edited") == 0 {
                tokio::task::yield_now().await;
            }
            Log::update().ran(["node"])
        });
        g.edge(START, node);
        g.edge(node, END);
        let stage = Stage::default();
        let graph = g.compile().expect("sound").with_context(stage.clone());
        let thread = graph.shared_checkpointer(saver).thread("t");
        let edit = async {
            while stage.calls.of("node") == 0 {
                tokio::task::yield_now().await;
            }
            let id = thread.edit(Log::update().ran(["edit"])).await;
            stage.calls.note("edited");
            id
        };
        let (run, edit) = tokio::join!(thread.run(Log::update()).into_future(), edit);
        assert!(matches!(run, Err(RunError::Superseded { .. })), "{run:?}");
        edit.expect("there is no other writer");
        let log = thread.resume().await.expect("no node fails").state;
        assert_eq!(log.ran, ["edit", "node"]);
    })
    .await;
}

#[tokio::test]
async fn two_edits_at_once_are_not_merged() {
    on_both_savers(|saver| async move {
        let graph = meeting(saver);
        let thread = graph.thread("t");
        let run = thread.run(Log::update()).recursion_limit(0).await;
        assert_eq!(run.expect("no node fails").step, 0);
        let edit = |text: &str| thread.edit(Log::update().ran([text]));
        let (x, y) = tokio::join!(edit("x"), edit("y"));
        let log = thread.head().await.expect("it ran").into_state();
        match (x, y) {
            // Each run loaded the head before or after the other one wrote.
            (Ok(_), Ok(_)) => assert_eq!(log.ran.len(), 2),
            (Ok(_), Err(ThreadError::Superseded(_))) => assert_eq!(log.ran, ["x"]),
            (Err(ThreadError::Superseded(_)), Ok(_)) => assert_eq!(log.ran, ["y"]),
            other => panic!("{other:?}"),
        }
    })
    .await;
}
