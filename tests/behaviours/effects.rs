//! Effects: an action on the outside world is not repeated.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use superstep::checkpoint::Checkpointer;
use superstep::error::NodeErrorKind;
use superstep::prelude::*;
use tokio::time::sleep;

use crate::support::{Broken, Calls, Smashed, Stage, on_both_savers, only, run_or_resume};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    said: Vec<String>,
}

fn said(text: impl Into<String>) -> Update<Log> {
    Log::update().said([text.into()])
}

/// An effect that always succeeds, and notes that it happened.
async fn pay(fx: &Effects, calls: &Calls, name: &str) -> u32 {
    let effect = || async {
        calls.note(name);
        Ok::<_, Infallible>(7)
    };
    let Ok(value) = fx.run(name, effect).await;
    value
}

#[tokio::test]
async fn a_resume_does_not_repeat_what_succeeded() {
    on_both_savers(|saver| async move {
        let node = |fx: Effects, calls: Dep<Calls>, broken: Dep<Broken>| async move {
            let first = pay(&fx, &calls, "first").await;
            broken.check("node")?;
            let second = pay(&fx, &calls, "second").await;
            Ok::<_, Smashed>(said(format!("{first} {second}")))
        };
        let stage = Stage::default();
        stage.broken.smash("node");
        let thread = only(node, &stage, |node| node).shared_checkpointer(saver).thread("t");
        for _ in 0..2 {
            run_or_resume(&thread).await.expect_err("the node is broken");
        }
        stage.broken.mend("node");
        let log = thread.resume().await.expect("all is mended").state;
        assert_eq!(log.said, ["7 7"]);
        assert_eq!(stage.calls.take(), ["first", "second"]);
    })
    .await;
}

#[tokio::test]
async fn a_retry_reuses_what_succeeded() {
    let node = |task: TaskInfo, fx: Effects, calls: Dep<Calls>| async move {
        let paid = pay(&fx, &calls, "pay").await;
        if task.attempt() < 3 {
            return Err(NodeError::retryable("again"));
        }
        Ok(said(paid.to_string()))
    };
    let stage = Stage::default();
    let graph = only(node, &stage, |node| node.retry(Retry::fixed(3, Duration::ZERO)));
    // Without a saver, too: the journal of a task lives as long as the task.
    let run = graph.run(Log::update()).await.expect("the third attempt succeeds");
    assert_eq!((run.state.said.as_slice(), stage.calls.take().len()), (&["7".to_owned()][..], 1));
    let graph = graph.checkpointer(MemorySaver::new());
    let run = graph.run(Log::update()).await.expect("the third attempt succeeds");
    assert_eq!((run.state.said.as_slice(), stage.calls.take().len()), (&["7".to_owned()][..], 1));
}

#[tokio::test]
async fn an_effect_that_failed_runs_again_with_its_node() {
    on_both_savers(|saver| async move {
        let node = |fx: Effects, calls: Dep<Calls>, broken: Dep<Broken>| async move {
            let sent = fx.run("send", || async {
                calls.note("send");
                broken.check("mail").map(|()| "sent".to_owned())
            });
            sent.await.map(said)
        };
        let stage = Stage::default();
        stage.broken.smash("mail");
        let thread = only(node, &stage, |node| node).shared_checkpointer(saver).thread("t");
        let error = thread.run(Log::update()).await.expect_err("the mail is down");
        assert!(error.to_string().ends_with("mail is broken"), "{error}");
        stage.broken.mend("mail");
        let log = thread.resume().await.expect("all is mended").state;
        assert_eq!(log.said, ["sent"]);
        assert_eq!(stage.calls.of("send"), 2);
    })
    .await;
}

#[tokio::test]
async fn names_keys_and_occurrences_tell_effects_apart() {
    on_both_savers(|saver| async move {
        let node = |fx: Effects, calls: Dep<Calls>, broken: Dep<Broken>| async move {
            let mut all = Vec::new();
            for key in ["x", "y", "x"] {
                let effect = || async {
                    calls.note(key);
                    Ok::<_, Infallible>(calls.of(key))
                };
                let Ok(value) = fx.run_keyed("get", key, effect).await;
                all.push(format!("{key}{value}"));
            }
            broken.check("node")?;
            Ok::<_, Smashed>(said(all.join(" ")))
        };
        let stage = Stage::default();
        stage.broken.smash("node");
        let thread = only(node, &stage, |node| node).shared_checkpointer(saver).thread("t");
        thread.run(Log::update()).await.expect_err("the node is broken");
        stage.broken.mend("node");
        let log = thread.resume().await.expect("all is mended").state;
        assert_eq!(log.said, ["x1 y1 x2"], "the second x is another effect");
        assert_eq!(stage.calls.take(), ["x", "y", "x"]);
    })
    .await;
}

#[tokio::test]
async fn two_effects_in_flight_need_different_keys() {
    let node = |fx: Effects| async move {
        let one = || fx.run("get", || async { Ok::<_, Infallible>(1) });
        let (Ok(a), Ok(b)) = tokio::join!(one(), one());
        said((a + b).to_string())
    };
    let graph = only(node, &Stage::default(), |node| node);
    let run = graph.run(Log::update()).await;
    // Without a saver neither effect waits for the journal, so one ends before the other begins.
    assert_eq!(run.expect("one after the other").state.said, ["2"]);

    let slow = |fx: Effects| async move {
        let one = || {
            fx.run("get", || async {
                tokio::task::yield_now().await;
                Ok::<_, Infallible>(1)
            })
        };
        let (Ok(a), Ok(b)) = tokio::join!(one(), one());
        said((a + b).to_string())
    };
    let graph = only(slow, &Stage::default(), |node| node);
    let error = graph.run(Log::update()).await.expect_err("both at once");
    let RunError::Node(failure) = error else { panic!("{error}") };
    assert_eq!(failure.error.kind(), NodeErrorKind::Effect);
    assert_eq!(
        failure.error.to_string(),
        "effect `get` was started while another of the same name and key was in flight; tell them apart with \
         run_keyed"
    );

    let keyed = |fx: Effects| async move {
        let one = |key: u32| {
            fx.run_keyed("get", key, move || async move {
                tokio::task::yield_now().await;
                Ok::<_, Infallible>(key)
            })
        };
        let (Ok(a), Ok(b)) = tokio::join!(one(1), one(2));
        said((a + b).to_string())
    };
    let graph = only(keyed, &Stage::default(), |node| node);
    let run = graph.run(Log::update()).await.expect("two keys");
    assert_eq!(run.state.said, ["3"]);
}

/// A node that returned in the same poll in which its journal failed used to succeed.
#[tokio::test]
async fn a_failure_of_the_journal_cannot_be_swallowed() {
    let node = |fx: Effects| async move {
        let one = || {
            fx.run("get", || async {
                tokio::task::yield_now().await;
                Ok::<_, Infallible>(1)
            })
        };
        let first = one();
        tokio::pin!(first);
        tokio::select! {
            biased;
            _ = &mut first => {}
            _ = one() => {}
            () = std::future::ready(()) => {}
        }
        said("all is well")
    };
    let graph = only(node, &Stage::default(), |node| node);
    let error = graph.run(Log::update()).await.expect_err("both at once");
    assert!(error.to_string().contains("in flight"), "{error}");
}

/// A node whose effect is interrupted by a failing sibling.
fn cut_off(stage: &Stage, saver: Arc<dyn Checkpointer>, on_unknown: OnUnknown) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let pays = g.node("pays", |fx: Effects, calls: Dep<Calls>, broken: Dep<Broken>| async move {
        let effect = || async {
            calls.note("paid");
            if broken.check("fails").is_err() {
                broken.smash("now");
                std::future::pending::<()>().await;
            }
            Ok::<_, Infallible>("paid".to_owned())
        };
        let Ok(text) = fx.run("pay", effect).await;
        said(text)
    });
    // Fails once the effect is under way.
    let fails = g.node("fails", |broken: Dep<Broken>| async move {
        while broken.check("fails").is_err() && broken.check("now").is_ok() {
            tokio::task::yield_now().await;
        }
        broken.check("fails")
    });
    g.policy(pays).on_unknown(on_unknown);
    for node in [pays, fails] {
        g.edge(START, node);
        g.edge(node, END);
    }
    let graph = g.compile().expect("sound").with_context(stage.clone());
    graph.shared_checkpointer(saver)
}

#[tokio::test]
async fn an_effect_of_unknown_outcome_is_not_repeated_silently() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("fails");
        let thread = cut_off(&stage, saver, OnUnknown::Fail).thread("t");
        thread.run(Log::update()).await.expect_err("a sibling fails");
        assert_eq!(stage.calls.of("paid"), 1);
        stage.broken.mend("fails");
        for _ in 0..2 {
            let error = thread.resume().await.expect_err("the outcome of the payment is unknown");
            assert_eq!(
                error.to_string(),
                "node \"pays\" failed at step 1: effect `pay` was started before, and its outcome is unknown; if it \
                 may run again, declare on_unknown(OnUnknown::Retry); to ask a person, declare \
                 on_unknown(OnUnknown::Ask)"
            );
        }
        assert_eq!(stage.calls.of("paid"), 1);
    })
    .await;
}

#[tokio::test]
async fn an_effect_of_unknown_outcome_is_repeated_where_that_is_declared() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("fails");
        let thread = cut_off(&stage, saver, OnUnknown::Retry).thread("t");
        thread.run(Log::update()).await.expect_err("a sibling fails");
        stage.broken.mend("fails");
        let log = thread.resume().await.expect("all is mended").into_state();
        assert_eq!((log.said, stage.calls.of("paid")), (vec!["paid".to_owned()], 2));
    })
    .await;
}

/// A retry in the same process used to repeat an effect that a timeout had interrupted, without a question, while a
/// resume in another process refused.
#[tokio::test(start_paused = true)]
async fn a_retry_after_a_timeout_does_not_repeat_an_effect_silently() {
    let node = |fx: Effects, calls: Dep<Calls>| async move {
        let effect = || async {
            calls.note("paid");
            if calls.of("paid") == 1 {
                sleep(Duration::from_secs(60)).await;
            }
            Ok::<_, Infallible>("paid".to_owned())
        };
        let Ok(text) = fx.run("pay", effect).await;
        said(text)
    };
    let stage = Stage::default();
    let graph = only(node, &stage, |node| {
        node.timeout(Duration::from_secs(1)).retry(Retry::fixed(3, Duration::ZERO))
    });
    for graph in [graph.clone(), graph.checkpointer(MemorySaver::new())] {
        let error = graph.run(Log::update()).await.expect_err("the outcome is unknown");
        assert!(error.to_string().contains("its outcome is unknown"), "{error}");
        assert_eq!(stage.calls.take(), ["paid"]);
    }
    let graph = only(node, &stage, |node| {
        node.timeout(Duration::from_secs(1))
            .retry(Retry::fixed(3, Duration::ZERO))
            .on_unknown(OnUnknown::Retry)
    });
    let run = graph.run(Log::update()).await.expect("the second attempt is fast");
    assert_eq!((run.into_state().said, stage.calls.take().len()), (vec!["paid".to_owned()], 2));
}

#[tokio::test(start_paused = true)]
async fn an_effect_whose_future_is_dropped_is_no_longer_in_flight() {
    let node = |fx: Effects, ask: Ask<String, u32>| async move {
        let effect = || {
            fx.run("slow", || async {
                sleep(Duration::from_secs(60)).await;
                Ok::<_, Infallible>(1)
            })
        };
        let dropped = tokio::time::timeout(Duration::from_secs(1), effect()).await;
        assert!(dropped.is_err(), "the effect takes longer");
        // If it were still in flight, a second one would be an error, and the question would not pause.
        let dropped = tokio::time::timeout(Duration::from_secs(1), effect()).await;
        assert!(dropped.is_err(), "this one too");
        said(ask.ask("go on?".into()).await.to_string())
    };
    let graph = only(node, &Stage::default(), |node| node.on_unknown(OnUnknown::Retry));
    let thread = graph.checkpointer(MemorySaver::new()).thread("t");
    let run = thread.run(Log::update()).await.expect("no node fails");
    assert_eq!(run.interrupted().expect("it asks").len(), 1);
    assert_eq!(thread.answer(&7).await.expect("no node fails").state.said, ["7"]);
}

#[tokio::test]
async fn effects_of_the_superstep_before_are_no_effects_of_this_one() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let [a, b] = ["a", "b"].map(|name| {
            g.node(name, |fx: Effects, calls: Dep<Calls>| async move {
                said(pay(&fx, &calls, "pay").await.to_string())
            })
        });
        g.edge(START, a);
        g.edge(a, b);
        g.edge(b, END);
        let stage = Stage::default();
        let graph = g.compile().expect("sound").with_context(stage.clone());
        let thread = graph.shared_checkpointer(saver).thread("t");
        for turn in [2, 4] {
            let log = thread.run(Log::update()).await.expect("no node fails").state;
            assert_eq!((log.said.len(), stage.calls.of("pay")), (turn, turn));
        }
    })
    .await;
}

#[tokio::test]
async fn a_question_inside_an_effect_is_an_error() {
    on_both_savers(async |saver| {
        let asking = async |fx: Effects, ask: Ask<String, u32>| {
            let ask = &ask;
            let inside = async move || Ok::<_, Infallible>(ask.ask("how much?".into()).await);
            fx.run("pay", inside).await.map(|paid| said(paid.to_string()))
        };
        let graph = only(asking, &Stage::default(), |node| node).shared_checkpointer(saver);
        let error = graph.thread("t").run(Log::default()).await.expect_err("it would wait for ever");
        assert_eq!(
            error.to_string(),
            "node \"node\" failed at step 1: a question was asked inside effect `pay`; ask before the effect, or after it"
        );
    })
    .await;
}
