//! Two runs on one thread: one of them is told that it lost, and nothing is lost.

use std::convert::Infallible;
use std::sync::Arc;

use superstep::checkpoint::Checkpointer;
use superstep::prelude::*;
use superstep::run::ThreadError;
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

/// Which of two runs won, with what it gave; the other one must have been superseded.
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

#[tokio::test]
async fn two_inputs_at_once_lose_no_turn() {
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
            let run = |text: &str| thread.run(Log::update().ran([text])).into_future();
            let (x, y) = tokio::join!(run("x"), run("y"));
            let lost = [x.is_err(), y.is_err()];
            let won = if lost[0] { "y" } else { "x" };
            assert_eq!(one_won([x, y]).ran.iter().rev().take(2).collect::<Vec<_>>(), ["node", won]);
            // The turn that lost is run again by its caller, and is then there too.
            let again = if lost[0] { run("x") } else { run("y") }.await;
            let log = again.expect("nobody else runs").state;
            assert!(["x", "y"].iter().all(|turn| log.ran.iter().any(|ran| ran == turn)), "{log:?}");
        }
    })
    .await;
}

/// The loser of a race used to be told that an effect had failed.
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

/// A run that found other results than its own used to load the thread anew and, where the other run had
/// moved on meanwhile, to go on with that one's work.
#[tokio::test]
async fn results_of_another_run_count_and_a_run_that_is_behind_ends() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let end = g.node("end", |calls: Dep<Calls>| async move {
            calls.note("end");
            Log::update().ran(["end"])
        });
        for name in ["a", "b"] {
            // Each call of the node gives another result.
            let node = g.node(name, move |calls: Dep<Calls>| async move {
                calls.note(name);
                let call = calls.of(name);
                while call == 1 && name == "b" && calls.of("go") == 0 {
                    tokio::task::yield_now().await;
                }
                Log::update().ran([format!("{name}{call}")])
            });
            g.edge(START, node);
            g.edge(node, end);
        }
        g.edge(end, END);
        let stage = Stage::default();
        let graph = g.compile().expect("sound").with_context(stage.clone());
        let thread = graph.shared_checkpointer(saver).thread("t");
        let overtake = async {
            while stage.calls.of("b") == 0 {
                tokio::task::yield_now().await;
            }
            let run = thread.resume().await;
            stage.calls.note("go");
            run
        };
        let slow = thread.run(Log::update()).into_future();
        let runs = tokio::join!(slow, overtake);
        assert_eq!(one_won([runs.0, runs.1]).ran, ["a1", "b2", "end"], "a1 was recorded first");
        assert_eq!(stage.calls.of("end"), 1);
    })
    .await;
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
        edit.expect("nobody else edits");
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
            // Each loaded the head before the other wrote, or after.
            (Ok(_), Ok(_)) => assert_eq!(log.ran.len(), 2),
            (Ok(_), Err(ThreadError::Superseded(_))) => assert_eq!(log.ran, ["x"]),
            (Err(ThreadError::Superseded(_)), Ok(_)) => assert_eq!(log.ran, ["y"]),
            other => panic!("{other:?}"),
        }
    })
    .await;
}
