//! Deferred nodes run when no other node is left to run, and only once.

use serde::{Deserialize, Serialize};
use superstep::driver::checkpoint::Cause;
use superstep::graph::Problem;
use superstep::prelude::*;

use crate::support::{Broken, Smashed, Stage, on_both_savers};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
}

async fn mark(task: TaskInfo, broken: Dep<Broken>) -> Result<Update<Log>, Smashed> {
    broken.check(task.node().as_str())?;
    Ok(Log::update().ran([task.node().as_str()]))
}

/// A graph of nodes that mark, wired by name; those whose name begins with `z` or `y` are deferred.
fn wired(stage: &Stage, nodes: &[&str], edges: &[(&str, &str)]) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let handles: Vec<_> = nodes.iter().map(|name| g.node(*name, mark)).collect();
    let node = |name: &str| handles[nodes.iter().position(|node| *node == name).expect("a node")];
    for name in nodes {
        if name.starts_with(['y', 'z']) {
            g.policy(node(name)).defer();
        }
        if !edges.iter().any(|(from, _)| from == name) {
            g.edge(node(name), END);
        }
    }
    for (from, target) in edges {
        match *from {
            "START" => g.edge(START, node(target)),
            from => g.edge(node(from), node(target)),
        }
    }
    g.compile().expect("sound").with_context(stage.clone())
}

async fn ran(nodes: &[&str], edges: &[(&str, &str)]) -> Vec<String> {
    let run = wired(&Stage::default(), nodes, edges).run(Log::update()).await;
    run.expect("no node fails").finished().expect("nothing asks").ran
}

#[tokio::test]
async fn a10_a_deferred_node_runs_last_and_once() {
    let edges = [("START", "a"), ("START", "b"), ("b", "c"), ("a", "z"), ("c", "z")];
    assert_eq!(ran(&["a", "b", "c", "z"], &edges).await, ["a", "b", "c", "z"]);
}

#[tokio::test]
async fn a_deferred_node_that_is_all_there_is_runs_at_once() {
    assert_eq!(ran(&["z"], &[("START", "z")]).await, ["z"]);
    assert_eq!(ran(&["a", "z"], &[("START", "a"), ("a", "z")]).await, ["a", "z"]);
}

#[derive(Route, Serialize, Deserialize)]
enum Fan {
    Out(Vec<u32>),
}

#[tokio::test]
async fn o01_a_deferred_node_runs_once_after_the_items_of_each() {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let a = g.node("a", mark);
    let w = g.node("w", |item: Input<u32>| async move { Log::update().ran([format!("w{}", *item)]) });
    let z = g.node("z", mark);
    g.policy(z).defer();
    g.edge(START, a);
    g.edge(a, z);
    g.branch(a, |_: &Log| Fan::Out(vec![1, 2]), move |Fan::Out(items)| each(w, items));
    g.edge(w, z);
    g.edge(z, END);
    let graph = g.compile().expect("sound").with_context(Stage::default());
    let run = graph.run(Log::update()).await.expect("no node fails");
    assert_eq!(run.state.ran, ["a", "w1", "w2", "z"]);
}

#[tokio::test]
async fn o02_a_chain_of_deferred_nodes_runs_once_each_and_in_its_order() {
    let edges = [("START", "a"), ("a", "b"), ("a", "y"), ("a", "z"), ("b", "z"), ("y", "z")];
    assert_eq!(ran(&["a", "b", "y", "z"], &edges).await, ["a", "b", "y", "z"]);
    // The same with the names in the other order: the wires count, not the names.
    let edges = [("START", "a"), ("a", "b"), ("a", "z"), ("a", "y"), ("b", "y"), ("z", "y")];
    assert_eq!(ran(&["a", "b", "y", "z"], &edges).await, ["a", "b", "z", "y"]);
}

#[tokio::test]
async fn deferred_nodes_that_do_not_lead_to_each_other_run_together() {
    let edges = [("START", "a"), ("START", "y"), ("a", "b"), ("a", "z")];
    let graph = wired(&Stage::default(), &["a", "b", "y", "z"], &edges);
    let run = graph.run(Log::update()).await.expect("no node fails");
    assert_eq!((run.step, &run.state.ran), (3, &["a", "b", "y", "z"].map(String::from).to_vec()));
}

#[derive(Route, Serialize, Deserialize)]
enum Then {
    Again,
    Stop,
}

#[tokio::test]
async fn a_deferred_node_may_begin_the_next_round() {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let [a, b] = ["a", "b"].map(|name| g.node(name, mark));
    let z = g.node("z", |log: Snapshot<Log>| async move {
        let next = if log.ran.len() < 4 { Then::Again } else { Then::Stop };
        (Log::update().ran(["z"]), next)
    });
    g.policy(z).defer();
    g.edge(START, a);
    g.edge(a, b);
    g.edge(a, z);
    g.edge(b, z);
    g.route(z, move |then| match then {
        Then::Again => to(a),
        Then::Stop => END,
    });
    let graph = g.compile().expect("sound").with_context(Stage::default());
    let run = graph.run(Log::update()).await.expect("no node fails");
    assert_eq!(run.state.ran, ["a", "b", "z", "a", "b", "z"]);
}

/// `a` leads to the deferred `z` and to `b`, which leads to it too, by an edge or by a join of both.
fn late(stage: &Stage, joined: bool) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let [a, b, c, z] = ["a", "b", "c", "z"].map(|name| g.node(name, mark));
    g.policy(z).defer();
    g.edge(START, a);
    g.edge(a, b);
    g.edge(b, c);
    g.edge(c, END);
    if joined {
        g.join([a, b], z);
    } else {
        g.edge(a, z);
        g.edge(b, z);
    }
    g.edge(z, END);
    g.compile().expect("sound").with_context(stage.clone())
}

#[tokio::test]
async fn b11_a_deferred_join_waits_for_its_sources_and_then_for_the_rest() {
    for joined in [false, true] {
        let run = late(&Stage::default(), joined).run(Log::update()).await.expect("no node fails");
        assert_eq!(run.state.ran, ["a", "b", "c", "z"]);
    }
}

#[tokio::test]
async fn what_is_deferred_survives_a_failure_and_a_resume() {
    for joined in [false, true] {
        on_both_savers(|saver| async move {
            let stage = Stage::default();
            let graph = late(&stage, joined).shared_checkpointer(saver);
            let thread = graph.thread("t");
            for broken in ["b", "c"] {
                stage.broken.smash(broken);
            }
            thread.run(Log::update()).await.expect_err("b is broken");
            stage.broken.mend("b");
            thread.resume().await.expect_err("c is broken");
            let head = thread.head().await.expect("it ran");
            assert_eq!(head.loaded().checkpoint.frontier.deferred[0].node.as_str(), "z");
            stage.broken.mend("c");
            let run = thread.resume().await.expect("all is mended");
            assert_eq!(run.state.ran, ["a", "b", "c", "z"]);
            let before = thread.before_named("z").await.expect("z was next");
            let next = &before.loaded().checkpoint.frontier.tasks[0];
            let by = if joined { vec!["b".into()] } else { vec!["a".into(), "b".into()] };
            assert_eq!(next.cause, Cause::Deferred(by));
        })
        .await;
    }
}

#[tokio::test]
async fn a_new_input_forgets_what_was_deferred() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        stage.broken.smash("b");
        let edges = [("START", "a"), ("a", "b"), ("a", "z")];
        let thread = wired(&stage, &["a", "b", "z"], &edges).shared_checkpointer(saver).thread("t");
        thread.run(Log::update()).await.expect_err("b is broken");
        let run = thread.run(Log::update()).recursion_limit(0).await.expect("a limit is no error");
        assert_eq!(run.status, Status::LimitReached { limit: 0 });
        let head = thread.head().await.expect("it ran");
        assert_eq!(head.loaded().checkpoint.frontier.deferred, []);
    })
    .await;
}

#[test]
fn a_node_that_takes_items_cannot_be_deferred() {
    let mut g = StateGraph::<Log>::new("g");
    let split = g.node("split", || async { Fan::Out(vec![1]) });
    let work = g.node("work", |item: Input<u32>| async move { Log::update().ran([item.to_string()]) });
    g.policy(work).defer();
    g.edge(START, split);
    g.route(split, move |Fan::Out(items)| each(work, items));
    g.edge(work, END);
    let error = g.compile().expect_err("items run as they come");
    assert_eq!(error.problems, [Problem::DeferredTakesItems { node: "work".into() }]);
}

/// Both write the same field, but they never share a superstep.
#[test]
fn a_deferred_sibling_is_no_certain_conflict() {
    #[derive(State, Clone, Debug, Default)]
    struct One {
        word: String,
    }
    async fn write() -> Update<One> {
        One::update().word("x")
    }
    let mut g = StateGraph::<One>::new("g");
    let [a, z] = ["a", "z"].map(|name| g.node(name, write));
    g.policy(z).defer();
    for node in [a, z] {
        g.edge(START, node);
        g.edge(node, END);
    }
    g.compile().expect("they never share a superstep");
}
