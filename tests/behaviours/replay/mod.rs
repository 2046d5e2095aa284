//! Replay: a recorded run is repeated from its journal, byte for byte, and divergences are reported.

use std::sync::Arc;
use std::time::Duration;

use superstep::checkpoint::Checkpointer;
use superstep::prelude::*;
use superstep::run::{Difference, Divergence, Replay};
use superstep::state::StateForm;

use crate::support::{Broken, Calls, Smashed, Stage, on_both_savers};

mod branches;
mod divergences;
mod subgraphs;
mod taken;

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
    topic: String,
}

fn ran(text: impl Into<String>) -> Update<Log> {
    Log::update().ran([text.into()])
}

/// Runs an effect, which notes that it happened.
async fn step(task: TaskInfo, calls: Dep<Calls>, fx: Effects) -> Result<Update<Log>, Smashed> {
    let node = task.node().as_str();
    let done = fx.run_keyed("work", node, || async {
        calls.note(node);
        Ok::<_, Smashed>(format!("{node}!"))
    });
    Ok(ran(done.await?))
}

/// A thread's replay. Nothing may happen in it.
async fn replay<S: StateForm>(thread: &Thread<S>, calls: &Calls) -> Replay {
    calls.take();
    let before = texts(thread).await;
    let replay = thread.replay().await.expect("it ran");
    assert_eq!(calls.take(), <[String; 0]>::default(), "nothing happens in a replay");
    assert_eq!(texts(thread).await, before, "nothing is written by a replay");
    replay
}

/// Asserts a replay without a divergence; returns its number of supersteps.
async fn equal<S: StateForm>(thread: &Thread<S>, calls: &Calls) -> u64 {
    let replay = replay(thread, calls).await.agrees().expect("the code is that of the recording");
    assert_eq!((replay.divergent, replay.unverified.as_slice()), (0, [].as_slice()));
    assert!(!replay.other_topology);
    replay.supersteps
}

/// The first divergence.
async fn first<S: StateForm>(thread: &Thread<S>, calls: &Calls) -> Divergence {
    *replay(thread, calls).await.agrees().expect_err("the code is another one")
}

/// The checkpoints of a thread, as they are stored.
async fn texts<S: StateForm>(thread: &Thread<S>) -> Vec<String> {
    let history = thread.history().expect("a store").collect().await.expect("it reads");
    let mut texts = Vec::new();
    for line in history {
        let past = thread.at(line.id).await.expect("it is in the history");
        texts.push(serde_json::to_string(&past.loaded().checkpoint).expect("it is stored as JSON"));
        let work = past.loaded();
        texts.push(format!("{:?} {:?} {:?} {:?}", work.results, work.failures, work.asks, work.effects));
    }
    texts
}

#[derive(Route, serde::Serialize, serde::Deserialize)]
enum Plan {
    Each(Vec<u32>),
    Stop,
}

/// plan sends two items to work; wait is deferred; a and b join in both.
fn wide(stage: &Stage, saver: Arc<dyn Checkpointer>) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("wide");
    let plan = g.node(
        "plan",
        async |log: Snapshot<Log>| {
            if log.topic == "stop" { Plan::Stop } else { Plan::Each(vec![7, 8]) }
        },
    );
    let work = g.node("work", async |item: Input<u32>, calls: Dep<Calls>, fx: Effects| {
        let done = fx.run_keyed("do", *item, || async {
            calls.note("do");
            Ok::<_, Smashed>(format!("did {}", *item))
        });
        done.await.map(ran)
    });
    let [a, b, both, wait] = ["a", "b", "both", "wait"].map(|name| g.node(name, step));
    g.policy(wait).defer();
    g.edge(START, plan);
    g.route(plan, move |plan| match plan {
        Plan::Each(items) => each(work, items).and(to(a)).and(to(wait)),
        Plan::Stop => END,
    });
    g.edge(work, b);
    g.join([a, b], both);
    g.edge(both, END);
    g.edge(wait, END);
    g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver)
}

#[tokio::test]
async fn a_run_with_routes_items_joins_and_deferred_nodes_comes_out_byte_for_byte() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = wide(&stage, saver).thread("t");
        let run = thread.run(Log::update()).await.expect("no node fails").finished().expect("no pause");
        assert_eq!(run.ran, ["a!", "did 7", "did 8", "b!", "both!", "wait!"]);
        assert_eq!(equal(&thread, &stage.calls).await, 6);
        // Another turn, and a replay of the steps after the first one.
        let turn = thread.head().await.expect("it ran").id();
        thread.run(Log::update().topic("stop")).await.map(drop).expect("no node fails");
        assert_eq!(equal(&thread, &stage.calls).await, 8);
        let later = thread.replay().after(turn).await.expect("it ran").agrees().expect("it is the same code");
        assert_eq!(later.supersteps, 2);
        let early = thread.before_named("both").await.expect("it ran").replay().await.expect("it ran");
        assert_eq!((early.supersteps, early.is_equal()), (4, true));
    })
    .await;
}

/// Runs nested effects, one that fails and is handled, and one that fails at first.
async fn careful(calls: Dep<Calls>, broken: Dep<Broken>, fx: Effects) -> Result<Update<Log>, NodeError> {
    let note = |what: &'static str| {
        let calls = calls.clone();
        move || async move {
            calls.note(what);
            Ok::<_, NodeError>(what.to_owned())
        }
    };
    let inner = fx.clone();
    let outer = fx.run("outer", || async move { inner.run("inner", note("inner")).await }).await?;
    let plan_b = match fx.run("plan a", || async { Err::<String, _>(String::from("it rains")) }).await {
        Ok(value) => value,
        Err(reason) => format!("plan b, as {reason}"),
    };
    let flaky = fx.run("flaky", || async {
        calls.note("flaky");
        broken.check("flaky").map_err(NodeError::retryable)?;
        Ok::<_, NodeError>("flaky".to_owned())
    });
    let flaky = flaky.await.inspect_err(|_| broken.mend("flaky"))?;
    let drawn = (fx.random().await, fx.uuid().await, fx.now().await);
    Ok(ran(format!("{outer} {plan_b} {flaky} {drawn:?}")))
}

#[tokio::test(start_paused = true)]
async fn effects_have_their_recorded_outcomes_also_those_that_failed() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("flaky");
        let mut g = StateGraph::<Log, Stage>::new("effects");
        let node = g.node("node", careful);
        g.policy(node).retry(Retry::fixed(3, Duration::from_secs(3_600)));
        g.edge(START, node);
        g.edge(node, END);
        let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let run = thread.run(Log::update()).await.expect("the second attempt does it");
        assert!(run.state.ran[0].starts_with("inner plan b, as it rains flaky (0."), "{:?}", run.state.ran);
        assert_eq!(stage.calls.of("flaky"), 2);
        assert_eq!(equal(&thread, &stage.calls).await, 2);
    })
    .await;
}

#[tokio::test]
async fn questions_have_the_answers_that_they_had() {
    on_both_savers(|saver| async move {
        let calls = Calls::default();
        let mut g = StateGraph::<Log>::new("asks");
        let ask = g.node("ask", async |may: Ask<String, bool>, why: Ask<String, String>| {
            let may = may.within(Duration::ZERO, false).ask("may I?".into()).await;
            ran(format!("{may} {}", why.ask(format!("why {may}?")).await))
        });
        g.edge(START, ask);
        g.edge(ask, END);
        let thread = g.compile().expect("sound").shared_checkpointer(saver).thread("t");
        thread.run(Log::update()).await.expect("it asks").interrupted().map(drop).expect("it asks");
        // The first question was not answered in time.
        thread.resume().await.expect("it asks").interrupted().map(drop).expect("it asks");
        let run = thread.answer("so").await.expect("it goes on").finished().expect("it finishes");
        assert_eq!(run.ran, ["false so"]);
        assert_eq!(equal(&thread, &calls).await, 2);
    })
    .await;
}

#[tokio::test]
async fn an_error_handler_is_given_the_recorded_failure() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("node");
        let mut g = StateGraph::<Log, Stage>::new("handled");
        let node = g.node("node", async |calls: Dep<Calls>, broken: Dep<Broken>| {
            calls.note("node");
            broken.check("node")?;
            Ok::<_, Smashed>(ran("node"))
        });
        let rescue = async |failed: Failed, fx: Effects, calls: Dep<Calls>| {
            let noted = fx.run("rescue", || async {
                calls.note("rescue");
                Ok::<_, Smashed>(failed.attempts())
            });
            noted.await.map(|attempts| ran(format!("{} after {attempts}", failed.error())))
        };
        g.policy(node).retry(Retry::fixed(2, Duration::ZERO).on::<Smashed>()).on_error(rescue);
        g.edge(START, node);
        g.edge(node, END);
        let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let run = thread.run(Log::update()).await.expect("it is handled").finished().expect("no pause");
        assert_eq!(run.ran, ["node is broken after 2"]);
        // The node is no longer broken, which does not change the recorded run.
        stage.broken.mend("node");
        assert_eq!(equal(&thread, &stage.calls).await, 2);
    })
    .await;
}

#[tokio::test]
async fn work_that_is_unfinished_is_not_replayed() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("b");
        let mut g = StateGraph::<Log, Stage>::new("failing");
        let a = g.node("a", step);
        let b = g.node("b", async |broken: Dep<Broken>, calls: Dep<Calls>| {
            calls.note("b");
            broken.check("b").map(|()| ran("b"))
        });
        g.edge(START, a);
        g.edge(a, b);
        g.edge(b, END);
        let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        assert!(thread.run(Log::update()).await.is_err());
        assert_eq!(equal(&thread, &stage.calls).await, 2);
        stage.broken.mend("b");
        thread.resume().await.map(drop).expect("it is mended");
        let replay = thread.replay().await.expect("it ran").agrees().expect("the same code");
        assert_eq!((replay.supersteps, stage.calls.take()), (3, vec!["b".to_owned(), "b".to_owned()]));
        let never = graph.thread("never").replay().await;
        assert!(matches!(never, Err(superstep::run::ThreadError::NeverRan(_))), "{never:?}");
    })
    .await;
}

#[tokio::test]
async fn flows_are_replayed_as_the_graphs_that_they_are() {
    on_both_savers(|saver| async move {
        let calls = Calls::default();
        let noting = calls.clone();
        let double = flow("double", move |cx: Cx<i64>| {
            let calls = noting.clone();
            async move {
                let doubled = cx.run("double", || async {
                    calls.note("double");
                    Ok::<_, Smashed>(cx.input() * 2)
                });
                let doubled = doubled.await?;
                let more: i64 = cx.ask("how many more?").await?;
                Ok::<_, NodeError>(doubled + more)
            }
        });
        let thread = double.shared_checkpointer(saver).thread("t");
        thread.run(&3).await.expect("it asks").interrupted().map(drop).expect("it asks");
        assert_eq!(thread.answer(&4).await.expect("it goes on").finished().expect("it finishes"), 10);
        assert_eq!(equal(&thread, &calls).await, 2);
    })
    .await;
}

#[tokio::test]
async fn graphs_from_data_are_replayed() {
    use serde_json::json;
    use superstep::graph::{Description, Registry};
    use superstep::node::JsonOutcome;
    use superstep::state::JsonUpdate;

    on_both_savers(|saver| async move {
        let calls = Calls::default();
        let plan = async || JsonOutcome::update(json!({ "queue": [1, 2] })).route("both");
        let work = async |item: Input<u32>| json!({ "v": [format!("w{}", *item)] });
        let description = json!({
            "graph": "each", "start": "plan",
            "state": {
                "v": { "type": "array", "items": { "type": "string" }, "reducer": "append" },
                "queue": { "type": "array", "items": { "type": "integer" } },
            },
            "nodes": {
                "plan": { "cases": { "both": { "each": "w", "items": "queue" }, "none": "END" } },
                "w": { "run": "work", "to": "END" },
            },
        });
        let registry = Registry::<()>::new().node("plan", plan).node("work", work);
        let graph = registry.build(&Description::from_value(description)).compile().expect("sound");
        let thread = graph.shared_checkpointer(saver).thread("t");
        let run =
            thread.run(JsonUpdate::default()).await.expect("no node fails").finished().expect("no pause");
        assert_eq!(run.read::<Vec<String>>("v").expect("texts"), ["w1", "w2"]);
        assert_eq!(equal(&thread, &calls).await, 3);
    })
    .await;
}
