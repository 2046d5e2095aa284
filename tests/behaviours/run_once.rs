//! Requests with an idempotency key: an input counts once, however often its request is repeated.

use std::convert::Infallible;
use std::future::IntoFuture;
use std::sync::Arc;

use superstep::checkpoint::{Checkpointer, CheckpointerExt, Source};
use superstep::prelude::*;
use superstep::run::{InputStatus, ThreadError};
use tokio::task::yield_now;

use crate::support::{Stage, on_both_savers, only};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Chat {
    #[reducer(Append)]
    said: Vec<String>,
}

fn said(text: &str) -> Update<Chat> {
    Chat::update().said([text])
}

/// A node that counts its calls, fails while it is broken, and replies to the last message with an effect.
fn replying(stage: &Stage, saver: Arc<dyn Checkpointer>) -> Graph<Chat> {
    let reply = |chat: Snapshot<Chat>, fx: Effects, stage: Dep<Stage>| async move {
        stage.calls.note("reply");
        stage.broken.check("reply")?;
        let send = async || {
            stage.calls.note("send");
            Ok::<_, Infallible>(())
        };
        let Ok(()) = fx.run("send", send).await;
        Ok::<_, NodeError>(said(&format!("re: {}", chat.said.last().expect("there is a message"))))
    };
    only(reply, stage, |node| node).shared_checkpointer(saver)
}

async fn finished(thread: &Thread<Chat>, key: &str, text: &str) -> Vec<String> {
    let run = thread.run_once(key, said(text)).await.expect("nothing fails");
    run.finished().expect("nothing pauses").said
}

/// A request that is stopped before START merges its input.
async fn stored_only(thread: &Thread<Chat>, key: &str, text: &str) {
    let run = thread.run_once(key, said(text)).interrupt_before(START).await.expect("nothing runs");
    assert!(matches!(run.status, Status::Breakpoint { .. }), "{run:?}");
}

/// A client that had not received a reply used to run its message again, and the thread had it twice.
#[tokio::test]
async fn a_repeated_request_returns_its_result_and_runs_nothing() {
    on_both_savers(async |saver| {
        let stage = Stage::default();
        let thread = replying(&stage, saver).thread("t");
        let first = finished(&thread, "1", "a").await;
        assert_eq!(first, ["a", "re: a"]);
        assert_eq!(finished(&thread, "1", "a").await, first);
        // Also when the conversation has continued: the client gets the result of its own request.
        assert_eq!(finished(&thread, "2", "b").await, ["a", "re: a", "b", "re: b"]);
        assert_eq!(finished(&thread, "1", "a").await, first);
        assert_eq!(thread.head().await.expect("it ran").state().said.len(), 4);
        assert_eq!(stage.calls.take(), ["reply", "send", "reply", "send"]);
        // Without a key each call is a request of its own.
        drop(thread.run(said("b")).await.expect("nothing fails"));
        assert_eq!(thread.head().await.expect("it ran").state().said.len(), 6);
    })
    .await;
}

#[tokio::test]
async fn a_repeated_request_continues_what_failed() {
    on_both_savers(async |saver| {
        let stage = Stage::default();
        let thread = replying(&stage, saver).thread("t");
        stage.broken.smash("reply");
        thread.run_once("1", said("a")).await.expect_err("its node fails");
        stage.broken.mend("reply");
        assert_eq!(finished(&thread, "1", "a").await, ["a", "re: a"]);
        // Also when another caller resumed the thread: the steps that follow belong to the request.
        stage.broken.smash("reply");
        thread.run_once("2", said("b")).await.expect_err("its node fails");
        stage.broken.mend("reply");
        drop(thread.resume().await.expect("it is mended"));
        assert_eq!(finished(&thread, "2", "b").await, ["a", "re: a", "b", "re: b"]);
        assert_eq!(stage.calls.of("send"), 2);
    })
    .await;
}

/// A crash between the input's checkpoint and START's: the input is stored, and in no state yet.
#[tokio::test]
async fn an_input_that_is_stored_and_not_merged_is_merged_once() {
    on_both_savers(async |saver| {
        let stage = Stage::default();
        let thread = replying(&stage, saver).thread("t");
        stored_only(&thread, "1", "a").await;
        let head = thread.head().await.expect("it ran");
        assert_eq!((head.source(), head.state().said.len()), (Source::Input, 0));
        // After an edit it still waits.
        thread.edit(said("edited")).await.expect("no other edit is made");
        assert_eq!(finished(&thread, "1", "a").await, ["edited", "a", "re: a"]);

        // Another input replaces a waiting one, and the request adds it again.
        stored_only(&thread, "2", "b").await;
        assert_eq!(finished(&thread, "3", "c").await, ["edited", "a", "re: a", "c", "re: c"]);
        let all = ["edited", "a", "re: a", "c", "re: c", "b", "re: b"];
        assert_eq!(finished(&thread, "2", "b").await, all);

        // So does `discard_pending`, which drops it.
        stored_only(&thread, "4", "d").await;
        thread.discard_pending().await.expect("no other edit is made");
        assert_eq!(finished(&thread, "4", "d").await[all.len()..], ["d", "re: d"]);
    })
    .await;
}

#[tokio::test]
async fn a_run_that_is_dropped_anywhere_is_continued_by_the_next_request() {
    let saver = || Arc::new(MemorySaver::new());
    let stage = Stage::default();
    let thread = replying(&stage, saver()).thread("t");
    drop(thread.run_once("1", said("a")).into_future());
    assert!(matches!(thread.head().await, Err(ThreadError::NeverRan(_))), "nothing had begun");
    assert_eq!(finished(&thread, "1", "a").await, ["a", "re: a"]);
    let waiting = only(
        async |stage: Dep<Stage>| {
            stage.calls.note("at it");
            while stage.calls.of("go on") == 0 {
                yield_now().await;
            }
            said("done")
        },
        &stage,
        |node| node,
    );
    let thread = waiting.shared_checkpointer(saver()).thread("t");
    let mut run = Box::pin(thread.run_once("1", said("a")).into_future());
    tokio::select! {
        biased;
        _ = &mut run => panic!("it waits"),
        () = async { while stage.calls.of("at it") == 0 { yield_now().await; } } => {}
    }
    drop(run);
    stage.calls.note("go on");
    assert_eq!(finished(&thread, "1", "a").await, ["a", "done"]);
}

/// The input is in the state, and another input discarded the work: a turn from START, without the input.
#[tokio::test]
async fn a_request_whose_work_was_discarded_runs_once_more_without_its_input() {
    on_both_savers(async |saver| {
        let stage = Stage::default();
        let thread = replying(&stage, saver).thread("t");
        stage.broken.smash("reply");
        thread.run_once("1", said("a")).await.expect_err("its node fails");
        thread.run_once("2", said("b")).await.expect_err("its node fails");
        stage.broken.mend("reply");
        assert_eq!(finished(&thread, "1", "a").await, ["a", "b", "re: b"]);
        assert_eq!(finished(&thread, "1", "a").await, ["a", "b", "re: b"], "and that is its result");
        assert_eq!(finished(&thread, "2", "b").await, ["a", "b", "re: b", "re: re: b"]);
        // A request whose new turn is discarded before START does not count as never merged.
        stage.broken.smash("reply");
        thread.run_once("3", said("c")).await.expect_err("its node fails");
        thread.run_once("4", said("d")).await.expect_err("its node fails");
        stored_only(&thread, "3", "c").await;
        stage.broken.mend("reply");
        finished(&thread, "4", "d").await;
        finished(&thread, "3", "c").await;
        let state = thread.head().await.expect("it ran").into_state();
        for text in ["a", "b", "c", "d"] {
            assert_eq!(state.said.iter().filter(|said| *said == text).count(), 1, "{state:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_edit_a_fork_and_a_rerun_belong_to_the_request_that_they_are_based_on() {
    on_both_savers(async |saver| {
        let stage = Stage::default();
        let thread = replying(&stage, saver).thread("t");
        finished(&thread, "1", "a").await;
        stage.broken.smash("reply");
        thread.run_once("2", said("b")).await.expect_err("its node fails");
        stage.broken.mend("reply");
        let fork = thread.head().await.expect("it ran").fork("before").await.expect("a new name");
        thread.edit(said("edited")).await.expect("no other edit is made");
        assert_eq!(finished(&thread, "2", "b").await, ["a", "re: a", "b", "edited", "re: edited"]);
        assert_eq!(finished(&fork, "2", "b").await, ["a", "re: a", "b", "re: b"], "its past has the input");

        // A branch from before the input does not have it.
        let mut past = thread.history().expect("it has a store").collect().await.expect("it reads");
        let end_of_first = past.swap_remove(
            past.iter()
                .position(|line| line.next.is_empty() && line.step == 1)
                .expect("the first request has ended"),
        );
        let old = thread.at(end_of_first.id).await.expect("it is there");
        old.branch().await.expect("no other edit is made");
        assert_eq!(finished(&thread, "2", "b").await, ["a", "re: a", "b", "re: b"]);
        let rerun = thread.before_named("node").await.expect("it ran").rerun().await.expect("nothing fails");
        assert_eq!(rerun.finished().expect("nothing pauses").said, ["a", "re: a", "b", "re: b"]);
        assert_eq!(finished(&thread, "2", "b").await, ["a", "re: a", "b", "re: b"]);
    })
    .await;
}

#[tokio::test]
async fn a_repeated_request_with_an_open_question_shows_it_again() {
    on_both_savers(async |saver| {
        let node = async |ask: Ask<String, String>| said(&ask.ask("sure?".into()).await);
        let thread = only(node, &Stage::default(), |node| node).shared_checkpointer(saver).thread("t");
        let run = || thread.run_once("1", said("a")).into_future();
        let asked = run().await.expect("nothing fails").interrupted().expect("it asks");
        assert_eq!(run().await.expect("nothing fails").interrupted().expect("it still asks"), asked);
        let done = thread.answer("yes").await.expect("nothing fails").finished().expect("it ends");
        assert_eq!(done.said, ["a", "yes"]);
        assert_eq!(run().await.expect("nothing fails").finished().expect("it has ended"), done);
    })
    .await;
}

#[tokio::test]
async fn two_of_a_request_at_once_store_its_input_once() {
    on_both_savers(async |saver| {
        let thread = replying(&Stage::default(), saver).thread("t");
        let run = || thread.run_once("1", said("a")).into_future();
        for run in <[_; 2]>::from(tokio::join!(run(), run())) {
            match run {
                Ok(run) => assert_eq!(run.finished().expect("nothing pauses").said, ["a", "re: a"]),
                Err(RunError::Superseded { input, .. }) => {
                    assert!(matches!(input, InputStatus::Waiting | InputStatus::Merged), "{input:?}");
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(finished(&thread, "1", "a").await, ["a", "re: a"]);
    })
    .await;
}

#[tokio::test]
async fn a_request_with_a_lease_is_continued_under_the_next_one() {
    on_both_savers(async |saver| {
        let stage = Stage::default();
        let thread = replying(&stage, saver.clone()).lease(Lease::new()).thread("t");
        stage.broken.smash("reply");
        thread.run_once("1", said("a")).await.expect_err("its node fails");
        stage.broken.mend("reply");
        assert_eq!(finished(&thread, "1", "a").await, ["a", "re: a"]);
        assert!(saver.leases().await.expect("it reads").is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_key_that_cannot_count_is_refused() {
    let graph = only(async || said("done"), &Stage::default(), |node| node);
    let refused = graph.thread("t").run_once("1", said("a")).await.expect_err("nothing is kept");
    assert!(matches!(refused, RunError::Thread(ThreadError::NoCheckpointer)), "{refused}");
    let thread = graph.checkpointer(MemorySaver::new()).thread("t");
    let refused = thread.run_once("", said("a")).await.expect_err("all requests would have it");
    let told = "a request on thread t has an empty idempotency key; give each request a key of its own";
    assert_eq!(refused.to_string(), told);
    // The user's own entry of the metadata is not taken for a key.
    drop(thread.run(said("a")).metadata("idempotency_key", "1").await.expect("nothing fails"));
    assert_eq!(finished(&thread, "1", "b").await, ["a", "done", "b", "done"]);
}
