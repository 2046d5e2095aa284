//! Two concurrent runs of one thread: an effect of one of them is not repeated by the other.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use superstep::prelude::*;
use tokio::sync::Barrier;
use tokio::time::sleep;

use crate::support::{Calls, Stage, on_both_savers, only};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    said: Vec<String>,
}

/// Charges when both runs have arrived; `slowly`, so that the other one reaches the effect meanwhile.
fn charging(stage: &Stage, both: &Arc<Barrier>, fails_first: bool) -> Graph<Log> {
    let both = Arc::clone(both);
    let charge = move |fx: Effects, ask: Ask<String, bool>, calls: Dep<Calls>| {
        let both = Arc::clone(&both);
        async move {
            ask.ask("go on?".into()).await;
            both.wait().await;
            let charge = async || {
                calls.note("charge");
                sleep(Duration::from_millis(5)).await;
                match fails_first && calls.of("charge") == 1 {
                    true => Err(NodeError::terminal("declined")),
                    false => Ok(calls.of("charge")),
                }
            };
            let receipt = fx.run("charge", charge).await?;
            Ok::<_, NodeError>(Log::update().said([format!("receipt {receipt}")]))
        }
    };
    only(charge, stage, |node| node)
}

#[tokio::test]
async fn an_effect_of_two_runs_happens_once_and_both_have_its_value() {
    for round in 0..10 {
        on_both_savers(async |saver| {
            let (stage, both) = (Stage::default(), Arc::new(Barrier::new(2)));
            let graph = charging(&stage, &both, false).shared_checkpointer(saver);
            let thread = graph.thread(format!("t{round}"));
            let asked =
                thread.run(Log::default()).await.expect("it asks").interrupted().expect("one question");
            let other = graph.thread(format!("t{round}"));
            let (first, second) = tokio::join!(thread.answer_to(asked[0].id, &true).into_future(), async {
                // The other run finds the answer and continues, too.
                while other.head().await.expect("it ran").interrupts().len() == 1 {
                    tokio::task::yield_now().await;
                }
                other.resume().await
            });
            assert_eq!(stage.calls.take(), ["charge"]);
            for run in [first, second] {
                match run {
                    Ok(run) => assert_eq!(run.finished().expect("to the end").said, ["receipt 1"]),
                    Err(error) => assert!(matches!(error, RunError::Superseded { .. }), "{error}"),
                }
            }
            assert_eq!(thread.head().await.expect("it ran").state().said, ["receipt 1"]);
        })
        .await;
    }
}

#[tokio::test]
async fn an_effect_that_failed_in_one_run_is_tried_by_the_other() {
    on_both_savers(async |saver| {
        let (stage, both) = (Stage::default(), Arc::new(Barrier::new(2)));
        let graph = charging(&stage, &both, true).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let asked = thread.run(Log::default()).await.expect("it asks").interrupted().expect("one question");
        let other = graph.thread("t");
        let (first, second) = tokio::join!(thread.answer_to(asked[0].id, &true).into_future(), async {
            while other.head().await.expect("it ran").interrupts().len() == 1 {
                tokio::task::yield_now().await;
            }
            other.resume().await
        });
        assert_eq!(stage.calls.take(), ["charge", "charge"]);
        let ended = [first, second].map(|run| run.is_ok());
        assert_eq!(ended.iter().filter(|ok| **ok).count(), 1, "one was declined, and one was not");
        assert_eq!(thread.head().await.expect("it ran").state().said, ["receipt 2"]);
    })
    .await;
}

#[tokio::test]
async fn a_run_that_was_dropped_in_an_effect_leaves_it_unknown_to_the_other() {
    on_both_savers(async |saver| {
        let stage = Stage::default();
        let pay = async |fx: Effects, calls: Dep<Calls>| {
            let pay = async || {
                calls.note("pay");
                std::future::pending::<Result<u32, Infallible>>().await
            };
            fx.run("pay", pay).await.map(|_| Log::update())
        };
        let graph = only(pay, &stage, |node| node).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let mut first = thread.run(Log::default()).into_future();
        tokio::select! {
            _ = &mut first => panic!("it never ends"),
            () = async { while stage.calls.of("pay") == 0 { tokio::task::yield_now().await; } } => {}
        }
        // Another run continues the thread, and waits for the effect that the first run has in flight.
        let (dropped, error) = tokio::join!(
            async {
                sleep(Duration::from_millis(5)).await;
                drop(first);
            },
            async { graph.thread("t").resume().await.expect_err("its outcome is unknown") }
        );
        let () = dropped;
        assert!(error.to_string().contains("its outcome is unknown"), "{error}");
        assert_eq!(stage.calls.take(), ["pay"]);
    })
    .await;
}

/// Two people answer two questions of one thread at the same moment, and each continues it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_answers_at_once_do_everything_once() {
    on_both_savers(async |saver| {
        let stage = Stage::default();
        let mut g = StateGraph::<Log, Stage>::new("g");
        for name in ["left", "right"] {
            let node = g.node(
                name,
                async |fx: Effects, ask: Ask<String, bool>, task: TaskInfo, calls: Dep<Calls>| {
                    ask.ask("go on?".into()).await;
                    let name = task.node().to_string();
                    let pay = async || {
                        calls.note(&name);
                        sleep(Duration::from_millis(1)).await;
                        Ok::<_, Infallible>(())
                    };
                    fx.run("pay", pay).await?;
                    Ok::<_, Infallible>(Log::update().said([name.clone()]))
                },
            );
            g.policy(node)
                .on_error(async |failed: Failed| Log::update().said([format!("handled {}", failed.error())]));
            g.edge(START, node);
            g.edge(node, END);
        }
        let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
        for round in 0..20 {
            let thread = graph.thread(format!("t{round}"));
            let asked =
                thread.run(Log::default()).await.expect("it asks").interrupted().expect("two questions");
            let answers = asked.iter().map(|ask| tokio::spawn(thread.answer_to(ask.id, &true).into_future()));
            for answer in answers.collect::<Vec<_>>() {
                match answer.await.expect("no panic") {
                    Ok(_) | Err(RunError::Superseded { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            let run = thread.resume().await.expect("it goes on, or is finished");
            assert_eq!(run.finished().expect("to the end").said, ["left", "right"]);
            assert_eq!(stage.calls.take_sorted(), ["left", "right"]);
        }
    })
    .await;
}

/// Two runs used to draw two values for one task: the journal kept the first, and the checkpoint contained results of
/// the run that was faster afterwards.
#[tokio::test]
async fn a_value_that_two_runs_draw_is_one_value() {
    on_both_savers(async |saver| {
        let stage = Stage::default();
        let draw = async |fx: Effects, calls: Dep<Calls>| {
            calls.note("here");
            let is_first = calls.of("here") == 1;
            while calls.of("here") < 2 || !is_first && calls.of("drawn") < 1 {
                tokio::task::yield_now().await;
            }
            let value = fx.random().await;
            calls.note("drawn");
            if is_first {
                // The run that drew second has time to be faster now.
                sleep(Duration::from_millis(20)).await;
            }
            Log::update().said([value.to_string()])
        };
        let thread = only(draw, &stage, |node| node).shared_checkpointer(saver).thread("t");
        let run = thread.run(Log::default()).recursion_limit(0).await.expect("it only begins");
        assert_eq!(run.step, 0);
        let (first, second) = tokio::join!(thread.resume().into_future(), thread.resume().into_future());
        let ended = match (first, second) {
            (Ok(run), Err(RunError::Superseded { .. })) | (Err(RunError::Superseded { .. }), Ok(run)) => run,
            other => panic!("one was to draw, and the other to be superseded: {other:?}"),
        };
        let said = ended.finished().expect("to the end").said;
        assert_eq!(thread.head().await.expect("it ran").state().said, said);
        let replay = thread.replay().await.expect("it can be replayed");
        assert!(replay.is_equal(), "{replay:?}");
    })
    .await;
}
