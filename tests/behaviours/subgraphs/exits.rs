//! Subgraphs whose routes decide for the outer graph.

use super::*;

#[derive(Route, Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
enum Handoff {
    Human(String),
    Retry,
}

#[derive(Route, serde::Serialize, serde::Deserialize)]
enum Found {
    Enough,
    Strange,
}

/// look leaves the graph if the topic is strange; otherwise more is written.
fn leaving_graph() -> Graph<Inner, Stage> {
    let mut g = StateGraph::<Inner, Stage>::new("leaving");
    let look = g.node("look", async |inner: Snapshot<Inner>| {
        let found = if inner.query == "strange" { Found::Strange } else { Found::Enough };
        (inner_said("looked"), found)
    });
    let more = g.node("more", async |calls: Dep<Calls>| {
        calls.note("more");
        inner_said("more")
    });
    let out = g.exit::<Handoff>();
    g.edge(START, look);
    g.route(look, move |found| match found {
        Found::Enough => to(more),
        Found::Strange => to(more).and(out.with(Handoff::Human("help".into()))),
    });
    g.edge(more, END);
    g.compile().expect("sound")
}

fn around_leaving(broken: &'static str) -> Graph<Outer, Stage> {
    let mut g = StateGraph::<Outer, Stage>::new("outer");
    let lens = Lens::new().give(Outer::TOPIC, Inner::QUERY).share(Outer::SAID, Inner::SAID);
    let sub = g.subgraph("sub", leaving_graph(), lens.exits::<Handoff>());
    let beside = g.node("beside", move |stage: Dep<Stage>| async move {
        stage.broken.check(broken)?;
        Ok::<_, Smashed>(outer_said("beside"))
    });
    let human = g.node("human", async || outer_said("human"));
    let done = g.node("done", async || outer_said("done"));
    g.edge(START, sub);
    g.edge(START, beside);
    g.edge(beside, END);
    g.route(sub, move |exited| match exited {
        Exited::Finished => to(done),
        Exited::With(Handoff::Human(_)) => to(human),
        Exited::With(Handoff::Retry) => END,
    });
    g.edge(human, END);
    g.edge(done, END);
    g.compile().expect("sound")
}

#[tokio::test]
async fn n04_b77_a_route_of_a_subgraph_may_decide_for_the_graph_around_and_its_own_delta_counts() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let graph = around_leaving("beside").with_context(stage.clone()).shared_checkpointer(saver);
        let run = graph.thread("a").run(Outer::update().topic("plain")).await.expect("it runs");
        assert_eq!(run.finished().expect("it finishes").said, ["beside", "looked", "more", "done"]);
        let run = graph.thread("b").run(Outer::update().topic("strange")).await.expect("it runs");
        assert_eq!(run.finished().expect("it finishes").said, ["beside", "looked", "human"]);
        assert_eq!(stage.calls.take(), ["more"], "an exit takes everything with it");
    })
    .await;
}

#[tokio::test]
async fn the_decision_with_which_it_was_left_survives_a_failure_beside_it() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("beside");
        let graph = around_leaving("beside").with_context(stage.clone()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        drop(thread.run(Outer::update().topic("strange")).await.expect_err("beside is broken"));
        stage.broken.mend("beside");
        let state = thread.resume().await.expect("it is mended").finished().expect("it finishes");
        assert_eq!(state.said, ["beside", "looked", "human"]);
    })
    .await;
}

#[tokio::test]
async fn c06_a_graph_with_an_exit_also_runs_by_itself() {
    on_both_savers(|saver| async move {
        let graph = leaving_graph().with_context(Stage::default()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let run = thread.run(Inner::update().query("strange")).await.expect("it runs");
        assert_eq!(run.finished().expect("it finishes").said, ["looked"]);
        assert!(thread.head().await.expect("it ran").next().is_empty());
        assert!(graph.unfinished().await.expect("it has a store").is_empty());
        assert!(thread.resume().await.expect("nothing is left").finished().is_ok());
    })
    .await;
}

#[test]
fn what_does_not_fit_between_a_graph_and_its_subgraph_is_said_at_compile() {
    #[derive(State, Clone, Debug, Default)]
    struct Other {
        said: Vec<String>,
    }
    let mut g = StateGraph::<Other>::new("other");
    let node = g.node("node", async || Other::update().said(vec![]));
    g.edge(START, node);
    g.edge(node, END);
    let other = g.compile().expect("sound");

    let mut g = StateGraph::<Outer, Stage>::new("outer");
    let leaving = g.subgraph("leaving", leaving_graph(), Lens::new());
    let inner = g.subgraph("inner", inner_graph(), Lens::new().exits::<Handoff>());
    let shared = g.subgraph("shared", other.with_own_context(), Lens::new().share(Outer::SAID, Other::SAID));
    g.edge(START, leaving);
    g.edge(leaving, inner);
    g.route(inner, move |_| to(shared));
    g.edge(shared, END);
    let error = g.compile().expect_err("three things are wrong").to_string();
    for part in [
        "\"leaving\" exits with a Handoff, and its lens declares none; add .exits::<..>() to it",
        "\"inner\" has no exit, and its lens expects a Handoff",
        "shares \"said\", which is reduced by Append, and \"said\", which is reduced by LastValue",
    ] {
        assert!(error.contains(part), "{part} is not in {error}");
    }
}
