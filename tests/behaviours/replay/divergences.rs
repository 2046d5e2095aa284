//! Reports of replays by a program that differs from the recorded one.

use super::*;

/// The difference between a program and the recorded one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    Nothing,
    Write,
    Route,
    Effect,
    Key,
    NoEffect,
    NewEffect,
    Question,
    Failure,
    Secret,
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Story {
    #[reducer(Append)]
    said: Vec<String>,
    #[state(secret)]
    token: String,
}

#[derive(Route, serde::Serialize, serde::Deserialize)]
enum Next {
    Left,
    Right,
}

/// first, decide, then left or right, which asks.
fn program(change: Change, calls: &Calls, saver: Arc<dyn Checkpointer>) -> Graph<Story> {
    let stage = Stage { calls: calls.clone(), ..Stage::default() };
    let mut g = StateGraph::<Story, Stage>::new("story");
    let first = g.node("first", move |calls: Dep<Calls>, fx: Effects| async move {
        let effect = |name: &'static str, key: &'static str| {
            let (fx, calls) = (fx.clone(), calls.clone());
            async move {
                let run = fx.run_keyed(name, key, || async {
                    calls.note("live");
                    Ok::<_, Smashed>(1)
                });
                run.await
            }
        };
        match change {
            Change::Effect => drop(effect("renamed", "a").await?),
            Change::Key => drop(effect("count", "b").await?),
            Change::NoEffect => {}
            Change::NewEffect => {
                effect("count", "a").await?;
                effect("more", "").await?;
            }
            Change::Failure => return Err(Smashed("first".into())),
            _ => drop(effect("count", "a").await?),
        }
        let text = if change == Change::Write { "once upon" } else { "once" };
        let token = if change == Change::Secret { "t0ken" } else { "token" };
        Ok(Story::update().said([text]).token(token))
    });
    let decide =
        g.node(
            "decide",
            move || async move { if change == Change::Route { Next::Left } else { Next::Right } },
        );
    let left = g.node("left", async || Story::update().said(["left"]));
    let right = g.node("right", move |ask: Ask<String, String>| async move {
        let question = if change == Change::Question { "how?" } else { "why?" };
        Story::update().said([ask.ask(question.into()).await])
    });
    g.edge(START, first);
    g.edge(first, decide);
    g.route(decide, move |next| match next {
        Next::Left => to(left),
        Next::Right => to(right),
    });
    g.edge(left, END);
    g.edge(right, END);
    g.compile().expect("sound").with_context(stage).shared_checkpointer(saver)
}

/// Records a run, and returns the divergence of a replay by another program.
async fn changed(change: Change, saver: Arc<dyn Checkpointer>) -> (Replay, Divergence) {
    let calls = Calls::default();
    let recorded = program(Change::Nothing, &calls, Arc::clone(&saver)).thread("t");
    recorded.run(Story::update()).await.expect("it asks").interrupted().map(drop).expect("it asks");
    recorded.answer("so").await.expect("it goes on").finished().map(drop).expect("it finishes");
    assert_eq!(equal(&recorded, &calls).await, 4);
    let thread = program(change, &calls, saver).thread("t");
    let replay = replay(&thread, &calls).await;
    let first = first(&thread, &calls).await;
    assert_eq!(replay.first.as_deref(), Some(&first));
    (replay, first)
}

/// The number of supersteps that differ, and the first divergence, without the checkpoint's id.
async fn found(change: Change, saver: Arc<dyn Checkpointer>) -> String {
    let (replay, first) = changed(change, saver).await;
    assert_eq!(replay.supersteps + replay.divergent, 4, "what follows a difference is still verified");
    let text = first.to_string();
    let (text, id) = text.split_once(" (checkpoint ").expect("it names the checkpoint");
    assert_eq!(id, format!("{})", first.checkpoint));
    format!("{}: {text}", replay.divergent)
}

#[tokio::test]
async fn the_first_divergence_is_named_by_step_node_and_what_differs() {
    for (change, expected) in [
        (
            Change::Write,
            "1: step 1, node first: tasks[0].writes[0].write.op.extend[0] (field said) is recorded as \"once\", and \
             came out as \"once upon\"",
        ),
        (
            Change::Route,
            "1: step 2, node decide: tasks[0].route.case is recorded as \"Right\", and came out as \"Left\"",
        ),
        (Change::Effect, "1: step 1, node first: effect \"renamed\" with key \"a\" is not recorded"),
        (
            Change::Key,
            "1: step 1, node first: effect \"count\" with key \"b\" is recorded as \"count\" with key \"a\"",
        ),
        (
            Change::NoEffect,
            "1: step 1, node first: effect \"count\" with key \"a\" is recorded, and the code never came to it",
        ),
        (Change::NewEffect, "1: step 1, node first: effect \"more\" is not recorded"),
        (Change::Question, "1: step 3, node right: question \"how?\" with key \"0\" has no recorded answer"),
        (Change::Failure, "1: step 1, node first: it failed: first is broken"),
        (
            Change::Secret,
            "1: step 1, node first: tasks[0].writes[1].write.op.set (field token) is recorded as \"<secret>\", and \
             came out as \"<secret>\"",
        ),
    ] {
        on_both_savers(|saver| async move { assert_eq!(found(change, saver).await, expected) }).await;
    }
}

#[tokio::test]
async fn a_difference_is_data_too() {
    on_both_savers(|saver| async move {
        let (_, first) = changed(Change::Key, saver).await;
        let document = serde_json::to_value(&first).expect("it has a JSON form");
        let of_effect = serde_json::json!({
            "kind": "effect_not_recorded", "effect": "count", "key": "b", "recorded_key": "a",
        });
        assert_eq!((&document["node"], &document["difference"]), (&"first".into(), &of_effect));
    })
    .await;
}

#[tokio::test]
async fn another_topology_is_reported_and_is_no_divergence() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = wide(&stage, Arc::clone(&saver)).thread("t");
        thread.run(Log::update().topic("stop")).await.map(drop).expect("no node fails");
        let mut g = StateGraph::<Log, Stage>::new("wide");
        let plan = g.node("plan", async || Plan::Stop);
        let other = g.node("other", step);
        g.edge(START, plan);
        g.route(plan, move |plan| match plan {
            Plan::Each(_) => to(other),
            Plan::Stop => END,
        });
        g.edge(other, END);
        let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
        let replay = replay(&graph.thread("t"), &stage.calls).await.agrees().expect("it stops as it did");
        assert_eq!((replay.supersteps, replay.other_topology), (2, true));
    })
    .await;
}

#[tokio::test]
async fn a_node_that_is_gone_and_another_state_are_named() {
    on_both_savers(|saver| async move {
        let calls = Calls::default();
        let recorded = program(Change::Nothing, &calls, Arc::clone(&saver)).thread("t");
        recorded.run(Story::update()).await.expect("it asks").interrupted().map(drop).expect("it asks");
        let mut g = StateGraph::<Story>::new("story");
        let first = g.node("first", async || Story::update().said(["once"]).token("token"));
        g.edge(START, first);
        g.edge(first, END);
        let thread = g.compile().expect("sound").shared_checkpointer(Arc::clone(&saver)).thread("t");
        let replay = replay(&thread, &calls).await;
        assert_eq!((replay.supersteps, replay.divergent), (1, 2));
        let mut g = StateGraph::<Log>::new("story");
        let first = g.node("first", async || ran("once"));
        g.edge(START, first);
        g.edge(first, END);
        let thread = g.compile().expect("sound").shared_checkpointer(saver).thread("t");
        assert_eq!(super::first(&thread, &calls).await.difference, Difference::Schema);
    })
    .await;
}
