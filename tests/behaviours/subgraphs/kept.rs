//! Subgraphs that keep their state from run to run of their node.

use super::*;

/// Counts its runs.
fn counting_graph() -> Graph<Inner, Stage> {
    let mut g = StateGraph::<Inner, Stage>::new("counting");
    let count = g.node("count", async |inner: Snapshot<Inner>| {
        inner_said(format!("{} {}", inner.query, inner.said.len() + 1))
            .answer(format!("{}", inner.said.len() + 1))
    });
    g.edge(START, count);
    g.edge(count, END);
    g.compile().expect("sound")
}

pub(super) fn counting_twice(lens: impl Fn() -> Lens<Outer, Inner>) -> Graph<Outer> {
    let mut g = StateGraph::<Outer, Stage>::new("outer");
    let first = g.subgraph("first", counting_graph(), lens());
    let second = g.subgraph("second", counting_graph(), lens());
    g.edge(START, first);
    g.edge(first, second);
    g.edge(second, END);
    g.compile().expect("sound").with_context(Stage::default())
}

#[tokio::test]
async fn a_subgraph_starts_over_unless_it_keeps_its_state() {
    on_both_savers(|saver| async move {
        let forgetful = || Lens::new().take(Inner::ANSWER, Outer::RESULT);
        let thread = counting_twice(forgetful).shared_checkpointer(saver).thread("t");
        for _ in 0..2 {
            let state = thread.run(Outer::update()).await.expect("it runs").finished().expect("it finishes");
            assert_eq!(state.result, "1");
        }
    })
    .await;
}

#[tokio::test]
async fn k01_kept_state_has_an_explicit_key_and_belongs_to_its_branch() {
    on_both_savers(|saver| async move {
        let keeping = || Lens::new().keep("count").take(Inner::ANSWER, Outer::RESULT);
        let graph = counting_twice(keeping).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let run = thread.run(Outer::update()).await.expect("it runs");
        assert_eq!(run.state.result, "2", "two nodes use one state");
        let early = run.checkpoint.expect("it has a store");
        for expected in ["4", "6"] {
            let state = thread.run(Outer::update()).await.expect("it runs").finished();
            assert_eq!(state.expect("it finishes").result, expected);
        }
        let fork = thread.at(early).await.expect("it is there").fork("f").await.expect("a new name");
        assert_eq!(fork.run(Outer::update()).await.expect("it runs").state.result, "4");
        assert_eq!(thread.run(Outer::update()).await.expect("it runs").state.result, "8");
        let other = graph.thread("other").run(Outer::update()).await.expect("it runs");
        assert_eq!(other.state.result, "2", "another thread has its own");
    })
    .await;
}

#[tokio::test]
async fn a_key_may_depend_on_the_state() {
    on_both_savers(|saver| async move {
        let keyed =
            || Lens::new().keep_by(|outer: &Outer| outer.topic.clone()).take(Inner::ANSWER, Outer::RESULT);
        let thread = counting_twice(keyed).shared_checkpointer(saver).thread("t");
        let mut results = Vec::new();
        for topic in ["a", "b", "a"] {
            let run = thread.run(Outer::update().topic(topic)).await.expect("it runs");
            results.push(run.into_state().result);
        }
        assert_eq!(results, ["2", "2", "4"]);
    })
    .await;
}

#[tokio::test]
async fn two_runs_of_one_kept_state_in_a_superstep_are_an_error() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Outer, Stage>::new("outer");
        for name in ["a", "b"] {
            let sub = g.subgraph(name, counting_graph(), Lens::new().keep("count"));
            g.edge(START, sub);
            g.edge(sub, END);
        }
        let graph = g.compile().expect("sound").with_context(Stage::default()).shared_checkpointer(saver);
        let error = graph.thread("t").run(Outer::update()).await.expect_err("they collide");
        assert!(matches!(error, RunError::KeptTwice { step: 1, .. }), "{error}");
    })
    .await;
}

#[tokio::test]
async fn kept_state_needs_a_store() {
    let keeping = || Lens::new().keep("count");
    let error = counting_twice(keeping).run(Outer::update()).await.expect_err("nothing is kept");
    assert!(error.to_string().contains("needs a checkpointer"), "{error}");
}

#[tokio::test]
async fn a_kept_state_that_waits_for_an_answer_continues_with_it() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Outer, Stage>::new("outer");
        let lens =
            Lens::new().keep("asking").give(Outer::TOPIC, Inner::QUERY).take(Inner::ANSWER, Outer::RESULT);
        let sub =
            g.subgraph("sub", asking_graph(), lens.take_with(|inner| outer_said(inner.said.join(", "))));
        g.edge(START, sub);
        g.edge(sub, END);
        let graph = g.compile().expect("sound").with_context(Stage::default()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        for topic in ["a", "b"] {
            drop(open(thread.run(Outer::update().topic(topic)).await));
            drop(open(thread.answer(&format!("{topic}1")).await));
            drop(
                thread
                    .answer(&format!("{topic}2"))
                    .await
                    .expect("it goes on")
                    .finished()
                    .expect("it finishes"),
            );
        }
        let state = thread.head().await.expect("it ran").into_state();
        assert_eq!(state.said, ["read a, a1 a2", "read a, a1 a2, read b, b1 b2"]);
    })
    .await;
}

#[tokio::test]
async fn b69_a_branch_continues_with_the_state_that_was_kept_where_it_begins() {
    on_both_savers(|saver| async move {
        let keeping = || Lens::new().keep("count").take(Inner::ANSWER, Outer::RESULT);
        let thread = counting_twice(keeping).shared_checkpointer(saver).thread("t");
        for _ in 0..2 {
            drop(thread.run(Outer::update()).await.expect("it runs"));
        }
        assert_eq!(thread.head().await.expect("it ran").state().result, "4");
        for (before, expected) in [("first", "4"), ("second", "4")] {
            let past = thread.before_named(before).await.expect("it was next");
            let fork = past.fork(before).await.expect("a new name");
            let state = fork.resume().await.expect("it runs").finished().expect("it finishes");
            assert_eq!(state.result, expected, "from before {before}");
        }
    })
    .await;
}

/// A number of levels that keep their state, around the counting graph.
pub(super) fn keeping_levels(levels: u32) -> Graph<Inner, Stage> {
    if levels == 0 {
        return counting_graph();
    }
    let mut g = StateGraph::<Inner, Stage>::new(format!("level {levels}"));
    let lens = Lens::new().keep("below").take_with(|inner: &Inner| {
        inner_said(format!("below {}", inner.answer)).answer(inner.answer.clone())
    });
    let below = g.subgraph("below", keeping_levels(levels - 1), lens);
    g.edge(START, below);
    g.edge(below, END);
    g.compile().expect("sound")
}

#[tokio::test]
async fn b70_every_level_keeps_its_own_state_and_a_branch_has_all_of_them() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Outer, Stage>::new("outer");
        let lens =
            Lens::new().keep("top").take_with(|inner: &Inner| Outer::update().result(inner.said.join(", ")));
        let sub = g.subgraph("sub", keeping_levels(2), lens);
        g.edge(START, sub);
        g.edge(sub, END);
        let graph = g.compile().expect("sound").with_context(Stage::default()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let first = thread.run(Outer::update()).await.expect("it runs");
        assert_eq!(first.state.result, "below 1");
        for expected in ["below 1, below 2", "below 1, below 2, below 3"] {
            assert_eq!(thread.run(Outer::update()).await.expect("it runs").state.result, expected);
        }
        let past = thread.at(first.checkpoint.expect("it has a store")).await.expect("it is there");
        let fork = past.fork("f").await.expect("a new name");
        assert_eq!(fork.run(Outer::update()).await.expect("it runs").state.result, "below 1, below 2");
    })
    .await;
}
