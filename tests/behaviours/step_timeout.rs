//! The time limit of a superstep.

use std::time::Duration;

use superstep::prelude::*;
use tokio::time::sleep;

use crate::support::{Calls, Stage, on_both_savers};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
}

const SECOND: Duration = Duration::from_secs(1);

/// `slow` takes the given time, and `quick` less than half a second, side by side.
fn graph(stage: &Stage, long: Duration) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let quick = g.node("quick", |calls: Dep<Calls>| async move {
        sleep(SECOND * 2 / 5).await;
        calls.note("quick");
        Log::update().ran(["quick"])
    });
    let slow = g.node("slow", move |calls: Dep<Calls>| async move {
        // Slow only the first time.
        calls.note("slow");
        if calls.of("slow") == 1 {
            sleep(long).await;
        }
        Log::update().ran(["slow"])
    });
    for node in [quick, slow] {
        g.edge(START, node);
        g.edge(node, END);
    }
    g.compile().expect("sound").with_context(stage.clone())
}

#[tokio::test(start_paused = true)]
async fn b27_a_superstep_that_takes_too_long_names_what_is_not_finished_and_keeps_the_rest() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let graph = graph(&stage, SECOND * 9).shared_checkpointer(saver).step_timeout(SECOND);
        let thread = graph.thread("t");
        let error = thread.run(Log::update()).await.expect_err("slow takes too long");
        let RunError::StepTimedOut { step, timeout, unfinished } = &error else { panic!("{error}") };
        assert_eq!((*step, *timeout), (1, SECOND));
        assert_eq!(*unfinished, ["slow".into()]);
        assert_eq!(error.to_string(), r#"step 1 took longer than 1s; not finished: "slow""#);
        let run = thread.resume().await.expect("slow is slow once");
        assert_eq!(run.state.ran, ["quick", "slow"]);
        assert_eq!((stage.calls.of("quick"), stage.calls.of("slow")), (1, 2));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn every_superstep_has_the_time_for_itself() {
    let mut g = StateGraph::<Log>::new("g");
    let nodes = ["a", "b", "c"].map(|name| {
        g.node(name, move || async move {
            sleep(SECOND * 4 / 5).await;
            Log::update().ran([name])
        })
    });
    g.edge(START, nodes[0]);
    g.edge(nodes[0], nodes[1]);
    g.edge(nodes[1], nodes[2]);
    g.edge(nodes[2], END);
    let graph = g.compile().expect("sound").step_timeout(SECOND);
    let run = graph.run(Log::update()).await.expect("each is quick enough");
    assert_eq!(run.state.ran, ["a", "b", "c"]);
    // A request may set its own limit.
    let error = graph.run(Log::update()).step_timeout(SECOND / 2).await.expect_err("none is that quick");
    assert!(matches!(error, RunError::StepTimedOut { step: 1, .. }), "{error}");
    let run = graph.run(Log::update()).step_timeout(Duration::MAX).await.expect("there is time");
    assert_eq!(run.status, Status::Finished);
}

/// The time also passes while the handle of a streamed run is not polled.
#[tokio::test(start_paused = true)]
async fn b27_a_superstep_whose_consumer_hangs_takes_too_long_as_well() {
    let stage = Stage::default();
    let graph = graph(&stage, SECOND * 9).checkpointer(MemorySaver::new()).step_timeout(SECOND);
    let mut run = graph.thread("t").run(Log::update()).stream();
    let mut finished = Vec::new();
    while let Some(event) = run.next().await {
        if let superstep::run::EventKind::TaskFinished { node, .. } = &event.kind {
            finished.push(node.to_string());
            sleep(SECOND * 5).await;
        }
    }
    assert_eq!(finished, ["__start__", "quick"]);
    let error = run.finish().await.expect_err("slow took too long");
    assert!(matches!(error, RunError::StepTimedOut { .. }), "{error}");
    assert_eq!(graph.thread("t").resume().await.expect("slow is slow once").state.ran, ["quick", "slow"]);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_was_asked_in_time_is_stored() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log>::new("g");
        let asks = g.node("asks", |ask: Ask<String, String>| async move {
            Log::update().ran([ask.ask("who?".into()).await])
        });
        let hangs = g.node("hangs", || async {
            sleep(SECOND * 9).await;
            Log::update().ran(["hangs"])
        });
        for node in [asks, hangs] {
            g.edge(START, node);
            g.edge(node, END);
        }
        let graph = g.compile().expect("sound").shared_checkpointer(saver);
        let thread = graph.thread("t");
        let error = thread.run(Log::update()).step_timeout(SECOND).await.expect_err("it hangs");
        let RunError::StepTimedOut { unfinished, .. } = error else { panic!("{error}") };
        assert_eq!(unfinished, ["hangs".into()]);
        assert_eq!(thread.head().await.expect("it ran").interrupts().len(), 1);
        assert_eq!(thread.answer("me").await.expect("there is time").state.ran, ["me", "hangs"]);
    })
    .await;
}
