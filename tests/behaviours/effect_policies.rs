//! Effects with an unknown outcome, and effects whose record no longer fits the code.

use std::convert::Infallible;
use std::sync::Arc;

use serde_json::json;
use superstep::checkpoint::Checkpointer;
use superstep::error::{EffectError, NodeErrorKind};
use superstep::prelude::*;
use superstep::run::NodeFailure;

use crate::support::{Broken, Calls, Smashed, Stage, failure, on_both_savers, only, run_or_resume};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    said: Vec<String>,
}

fn said(text: impl Into<String>) -> Update<Log> {
    Log::update().said([text.into()])
}

fn effect_error(failure: &NodeFailure) -> &EffectError {
    assert_eq!(failure.error.kind(), NodeErrorKind::Effect, "{failure}");
    failure.error.downcast_ref().expect("an error of the journal has a source")
}

/// An effect that notes its idempotency key, and hangs forever while "hangs" is broken.
async fn charge(key: String, calls: &Calls, broken: &Broken) -> Result<u32, Smashed> {
    calls.note(key);
    if broken.check("hangs").is_err() {
        broken.smash("under way");
        std::future::pending::<()>().await;
    }
    Ok(7)
}

/// Cancels the run of a thread in the middle of its effect.
async fn cut_off(thread: &Thread<Log>, stage: &Stage) {
    stage.broken.smash("hangs");
    let token = CancellationToken::new();
    let run = match thread.head().await {
        Ok(_) => thread.resume(),
        Err(_) => thread.run(Log::update()),
    };
    let run = run.cancel_on(token.clone()).into_future();
    let cancel = async {
        while stage.broken.check("under way").is_ok() {
            tokio::task::yield_now().await;
        }
        token.cancel();
    };
    let (run, ()) = tokio::join!(run, cancel);
    assert_eq!(run.expect("no node fails").status, Status::Cancelled);
    stage.broken.mend("under way");
    stage.broken.mend("hangs");
}

#[tokio::test]
async fn an_idempotency_key_is_the_same_in_every_attempt_and_run() {
    on_both_savers(|saver| async move {
        let node = |fx: Effects, calls: Dep<Calls>, broken: Dep<Broken>| async move {
            for order in [1, 2] {
                let (calls, broken) = (&calls, &broken);
                let paid = fx.effect("charge").key(order).idempotent();
                paid.run(|key| async move { charge(key.to_string(), calls, broken).await }).await?;
            }
            broken.check("node").map(|()| said("paid"))
        };
        let stage = Stage::default();
        let graph = only(node, &stage, |node| node).shared_checkpointer(saver);
        let thread = graph.thread("t");
        cut_off(&thread, &stage).await;
        cut_off(&thread, &stage).await;
        assert_eq!(thread.resume().await.expect("all is mended").state.said, ["paid"]);
        let keys = stage.calls.take();
        assert_eq!((keys.len(), &keys[0], &keys[1]), (4, &keys[1], &keys[2]), "{keys:?}");
        assert_ne!(keys[2], keys[3], "another key of the effect is another effect");

        // An effect on a fork is a different one, although the task is the same.
        let past = thread.before_named("node").await.expect("it is stored");
        let fork = past.fork("f").await.expect("the name is free");
        fork.resume().await.expect("all is mended").finished().expect("it finishes");
        let forked = stage.calls.take();
        assert_eq!(forked.len(), 2);
        assert!(!keys.contains(&forked[0]), "{forked:?}");
    })
    .await;
}

/// An edit moves the task to another checkpoint, and used to lose its idempotency keys.
#[tokio::test]
async fn an_edit_leaves_idempotency_keys_as_they_are() {
    on_both_savers(|saver| async move {
        let node = |fx: Effects, calls: Dep<Calls>, broken: Dep<Broken>| async move {
            let (calls, broken) = (&calls, &broken);
            fx.effect("charge").idempotent().run(|key| charge(key.to_string(), calls, broken)).await?;
            Ok::<_, Smashed>(said("paid"))
        };
        let stage = Stage::default();
        let thread = only(node, &stage, |node| node).shared_checkpointer(saver).thread("t");
        cut_off(&thread, &stage).await;
        thread.edit(said("edited")).await.expect("it is stored");
        assert_eq!(thread.resume().await.expect("all is mended").state.said, ["edited", "paid"]);
        let keys = stage.calls.take();
        assert_eq!((keys.len(), &keys[0]), (2, &keys[1]));
    })
    .await;
}

#[tokio::test]
async fn an_unknown_outcome_can_be_found_out() {
    on_both_savers(|saver| async move {
        let node = |fx: Effects, calls: Dep<Calls>, broken: Dep<Broken>| async move {
            let (calls, broken) = (&calls, &broken);
            let find = |_| async move {
                calls.note("find");
                broken.check("find")?;
                Ok(broken.check("charged").is_err().then_some(9))
            };
            let paid = fx.effect("charge").reconcile(find).run(|_| charge("charge".into(), calls, broken));
            Ok::<_, Smashed>(said(paid.await?.to_string()))
        };
        for (smashed, paid, calls) in [
            ("charged", "9", ["charge", "find", "find"].as_slice()),
            ("not", "7", &["charge", "find", "find", "charge"]),
        ] {
            let stage = Stage::default();
            let graph = only(node, &stage, |node| node).shared_checkpointer(saver.clone());
            let thread = graph.thread(smashed);
            cut_off(&thread, &stage).await;
            stage.broken.smash(smashed);
            stage.broken.smash("find");
            let failed = failure(thread.resume().await);
            assert_eq!(failed.error.downcast_ref(), Some(&Smashed("find".into())));
            stage.broken.mend("find");
            assert_eq!(thread.resume().await.expect("it is found out").state.said, [paid]);
            assert_eq!(stage.calls.take(), calls);
        }
    })
    .await;
}

/// A node with an effect about which a person is asked.
fn asks(stage: &Stage, saver: Arc<dyn Checkpointer>) -> Thread<Log> {
    let node = |fx: Effects, calls: Dep<Calls>, broken: Dep<Broken>, _other: Ask<String, u32>| async move {
        let (calls, broken) = (&calls, &broken);
        let paid = fx.effect("charge").key("k").run(|_| charge("charge".into(), calls, broken)).await?;
        Ok::<_, Smashed>(said(paid.to_string()))
    };
    let graph = only(node, stage, |node| node.on_unknown(OnUnknown::Ask));
    graph.shared_checkpointer(saver).thread("t")
}

#[tokio::test]
async fn a_person_may_say_that_it_happened() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = asks(&stage, saver);
        cut_off(&thread, &stage).await;
        let asked = thread.resume().await.expect("it asks").interrupted().expect("it asks");
        let question: serde_json::Value = asked[0].question.decode().expect("a question is JSON");
        assert_eq!(
            (&question["effect"], &question["key"], &question["starts"]),
            (&json!("charge"), &json!("k"), &json!(1))
        );
        let wrong = thread.answer(&json!("perhaps")).await.expect_err("it is no answer");
        assert!(matches!(wrong, RunError::WrongAnswer { .. }), "{wrong}");
        // A value of another type is asked for again.
        let again = thread.answer(&json!({ "happened": "yes" })).await.expect("it asks again");
        assert_eq!(again.interrupted().expect("it asks again").len(), 1);
        let log = thread.answer(&json!({ "happened": 9 })).await.expect("it is known now").into_state();
        assert_eq!((log.said, stage.calls.take().len()), (vec!["9".to_owned()], 1));
    })
    .await;
}

#[tokio::test]
async fn a_person_may_have_it_run_again_and_is_asked_each_time() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = asks(&stage, saver);
        cut_off(&thread, &stage).await;
        let asked = thread.resume().await.expect("it asks").interrupted().expect("it asks");
        // The repetition is interrupted, too: permission for one repetition does not cover a second one.
        stage.broken.smash("hangs");
        let token = CancellationToken::new();
        let run = thread.answer(&json!("run_again")).cancel_on(token.clone()).into_future();
        let cancel = async {
            while stage.broken.check("under way").is_ok() {
                tokio::task::yield_now().await;
            }
            token.cancel();
        };
        assert_eq!(tokio::join!(run, cancel).0.expect("no node fails").status, Status::Cancelled);
        stage.broken.mend("hangs");
        let again = thread.resume().await.expect("it asks").interrupted().expect("it asks");
        assert_ne!(again[0].id, asked[0].id);
        let log = thread.answer(&json!("run_again")).await.expect("it runs").into_state();
        assert_eq!((log.said, stage.calls.take().len()), (vec!["7".to_owned()], 3));
    })
    .await;
}

#[tokio::test]
async fn a_person_may_give_it_up() {
    let stage = Stage::default();
    let thread = asks(&stage, Arc::new(MemorySaver::new()));
    cut_off(&thread, &stage).await;
    thread.resume().await.expect("it asks").interrupted().expect("it asks");
    let failed = failure(thread.answer(&json!("fail")).await);
    assert_eq!(effect_error(&failed), &EffectError::GivenUp { effect: "charge".into() });
}

#[tokio::test]
async fn time_ids_and_chance_are_drawn_once() {
    on_both_savers(|saver| async move {
        let node = |fx: Effects, calls: Dep<Calls>, broken: Dep<Broken>| async move {
            let at = fx.now().await.duration_since(std::time::UNIX_EPOCH).expect("it is past 1970");
            let drawn = [at.as_nanos().to_string(), fx.uuid().await.to_string(), fx.uuid().await.to_string()];
            let drawn = format!("{} {}", drawn.join(" "), fx.random().await);
            calls.note(&drawn);
            // Nothing that depends on a drawn value is stored without it.
            let Ok(()) = fx.run("use", || async { Ok::<_, Infallible>(()) }).await;
            broken.check("node").map(|()| said(drawn))
        };
        let stage = Stage::default();
        stage.broken.smash("node");
        let graph = only(node, &stage, |node| node).shared_checkpointer(saver);
        let thread = graph.thread("t");
        failure(run_or_resume(&thread).await);
        failure(run_or_resume(&thread).await);
        stage.broken.mend("node");
        let log = thread.resume().await.expect("all is mended").state;
        let drawn = stage.calls.take();
        assert!(drawn.iter().all(|drawn| *drawn == log.said[0]), "{drawn:?}");
        let ids: Vec<&str> = log.said[0].split(' ').collect();
        assert_ne!(ids[1], ids[2], "each call draws its own");
        graph.thread("u").run(Log::update()).await.expect("no node fails").finished().expect("it finishes");
        assert_ne!(stage.calls.take()[0], log.said[0]);
    })
    .await;
}

/// An effect inside another one used to count like an effect beside it: once the outer one was recorded, the next
/// effect with the same name got the inner one's value.
#[tokio::test]
async fn what_an_effect_starts_belongs_to_it() {
    on_both_savers(|saver| async move {
        let node = |fx: Effects, calls: Dep<Calls>, broken: Dep<Broken>| async move {
            let (fx, calls) = (&fx, &calls);
            let get = |what: &'static str| async move {
                fx.run("get", || async move {
                    calls.note(what);
                    Ok::<_, Infallible>(what.to_owned())
                })
                .await
            };
            let Ok(inner) = fx.run("outer", || get("inner")).await;
            let Ok(beside) = get("beside").await;
            broken.check("node").map(|()| said(format!("{inner} {beside}")))
        };
        let stage = Stage::default();
        stage.broken.smash("node");
        let thread = only(node, &stage, |node| node).shared_checkpointer(saver).thread("t");
        failure(thread.run(Log::update()).await);
        stage.broken.mend("node");
        assert_eq!(thread.resume().await.expect("all is mended").state.said, ["inner beside"]);
        assert_eq!(stage.calls.take(), ["inner", "beside"]);
    })
    .await;
}

#[tokio::test]
async fn parallel_effects_are_matched_whatever_their_order() {
    on_both_savers(|saver| async move {
        let node = |fx: Effects, calls: Dep<Calls>, broken: Dep<Broken>| async move {
            let (fx, calls) = (&fx, &calls);
            let get = |key: u32| async move {
                fx.run_keyed("get", key, || async move {
                    tokio::task::yield_now().await;
                    calls.note(key.to_string());
                    Ok::<_, Infallible>(key)
                })
                .await
            };
            let (Ok(a), Ok(b)) = match broken.check("node") {
                Err(_) => tokio::join!(get(1), get(2)),
                Ok(()) => {
                    let (b, a) = tokio::join!(get(2), get(1));
                    (a, b)
                }
            };
            broken.check("node").map(|()| said(format!("{a} {b}")))
        };
        let stage = Stage::default();
        stage.broken.smash("node");
        let thread = only(node, &stage, |node| node).shared_checkpointer(saver).thread("t");
        failure(thread.run(Log::update()).await);
        stage.broken.mend("node");
        assert_eq!(thread.resume().await.expect("all is mended").state.said, ["1 2"]);
        assert_eq!(stage.calls.take_sorted(), ["1", "2"]);
    })
    .await;
}

/// The earlier program, whose node fails after its effect.
async fn before<T: serde::Serialize + serde::de::DeserializeOwned + Send + 'static>(
    saver: Arc<dyn Checkpointer>,
    value: fn() -> T,
) {
    let node = move |fx: Effects| async move {
        let Ok(_) = fx.run("old", || async { Ok::<_, Infallible>(value()) }).await;
        Err::<(), _>(Smashed("node".into()))
    };
    let graph = only(node, &Stage::default(), |node| node).shared_checkpointer(saver);
    failure(graph.thread("t").run(Log::update()).await);
}

#[tokio::test]
async fn a_record_that_does_not_decode_fails_the_task_unless_it_may_run_again() {
    on_both_savers(|saver| async move {
        before(saver.clone(), || "text".to_owned()).await;
        let node = |fx: Effects, calls: Dep<Calls>| async move {
            let effect = || async {
                calls.note("old");
                Ok::<_, Infallible>(3_u32)
            };
            let Ok(number) = fx.run("old", effect).await;
            said(number.to_string())
        };
        let stage = Stage::default();
        let graph = only(node, &stage, |node| node).shared_checkpointer(saver.clone());
        let failed = failure(graph.thread("t").resume().await);
        assert!(matches!(effect_error(&failed), EffectError::Undecodable { effect, .. } if effect == "old"));
        assert_eq!(stage.calls.take().len(), 0);
        let graph = only(node, &stage, |node| node.on_mismatch(OnMismatch::RunAgain));
        let thread = graph.shared_checkpointer(saver).thread("t");
        assert_eq!(thread.resume().await.expect("it runs again").state.said, ["3"]);
    })
    .await;
}

#[tokio::test]
async fn a_record_whose_place_is_gone_fails_the_task_unless_it_may_be_forgotten() {
    on_both_savers(|saver| async move {
        before(saver.clone(), || 1).await;
        let node = |fx: Effects| async move {
            let Ok(number) = fx.run("new", || async { Ok::<_, Infallible>(3_u32) }).await;
            said(number.to_string())
        };
        let graph = only(node, &Stage::default(), |node| node).shared_checkpointer(saver.clone());
        let failed = failure(graph.thread("t").resume().await);
        assert_eq!(effect_error(&failed), &EffectError::Gone { effect: "old".into() });
        let graph = only(node, &Stage::default(), |node| node.on_mismatch(OnMismatch::RunAgain));
        let thread = graph.shared_checkpointer(saver).thread("t");
        assert_eq!(thread.resume().await.expect("it is forgotten").state.said, ["3"]);
    })
    .await;
}

/// An effect that a node runs because of an error is no sign of changed code.
#[tokio::test]
async fn code_that_goes_another_way_after_an_error_is_no_mismatch() {
    let node = |fx: Effects, broken: Dep<Broken>| async move {
        let charged = fx.run("charge", || async { broken.check("charge") }).await;
        if charged.is_err() {
            let Ok(()) = fx.run("alert", || async { Ok::<_, Infallible>(()) }).await;
        }
        charged.map(|()| said("charged"))
    };
    let stage = Stage::default();
    stage.broken.smash("charge");
    let thread = only(node, &stage, |node| node).checkpointer(MemorySaver::new()).thread("t");
    failure(thread.run(Log::update()).await);
    stage.broken.mend("charge");
    assert_eq!(thread.resume().await.expect("all is mended").state.said, ["charged"]);
}

#[tokio::test]
async fn i01_tasks_are_not_run_again_on_a_resume() {
    on_both_savers(|saver| async move {
        let node = |fx: Effects, person: Ask<String, u32>, calls: Dep<Calls>| async move {
            let (fx, calls) = (&fx, &calls);
            let double = |x: u32| async move {
                fx.run_keyed("t", x, || async move {
                    calls.note("t");
                    Ok::<_, Infallible>(x * 2)
                })
                .await
            };
            let Ok(a) = double(3).await;
            let Ok(b) = double(person.ask("q".into()).await).await;
            Log::update().said([a.to_string(), b.to_string()])
        };
        let stage = Stage::default();
        let thread = only(node, &stage, |node| node).shared_checkpointer(saver).thread("t");
        thread.run(Log::update()).await.expect("it asks").interrupted().expect("it asks");
        assert_eq!(thread.answer(&10_u32).await.expect("no node fails").state.said, ["6", "20"]);
        assert_eq!(stage.calls.take().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn i03_an_error_of_a_task_reaches_the_caller_and_what_its_sibling_did_is_kept() {
    on_both_savers(|saver| async move {
        let node = |fx: Effects, calls: Dep<Calls>, broken: Dep<Broken>| async move {
            let ok = || async {
                calls.note("ok");
                Ok::<_, Smashed>(1)
            };
            let a: i32 = fx.run("ok", ok).await?;
            let b = fx.run("bad", || async { broken.check("bad").map(|()| -1) }).await?;
            Ok::<_, Smashed>(Log::update().said([a.to_string(), b.to_string()]))
        };
        let stage = Stage::default();
        stage.broken.smash("bad");
        let thread = only(node, &stage, |node| node).shared_checkpointer(saver).thread("t");
        let failed = failure(thread.run(Log::update()).await);
        assert_eq!(failed.error.downcast_ref(), Some(&Smashed("bad".into())));
        stage.broken.mend("bad");
        assert_eq!(thread.resume().await.expect("all is mended").state.said, ["1", "-1"]);
        assert_eq!(stage.calls.take(), ["ok"]);
    })
    .await;
}

#[tokio::test]
async fn l06_a_task_in_a_node_that_pauses_runs_once() {
    let node = |fx: Effects, person: Ask<String, String>, calls: Dep<Calls>| async move {
        let task = || async {
            calls.note("t");
            Ok::<_, Infallible>(2)
        };
        let Ok(r) = fx.run("t", task).await;
        Log::update().said([r.to_string(), person.ask("q".into()).await])
    };
    let stage = Stage::default();
    let thread = only(node, &stage, |node| node).checkpointer(MemorySaver::new()).thread("t");
    thread.run(Log::update()).await.expect("it asks").interrupted().expect("it asks");
    assert_eq!(thread.answer("R").await.expect("no node fails").state.said, ["2", "R"]);
    assert_eq!(stage.calls.take(), ["t"]);
}
