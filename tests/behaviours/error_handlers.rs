//! Error handlers replace a node that has failed after its last retry.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep::error::{BoxError, NodeErrorKind, Timeout};
use superstep::node::Failed;
use superstep::prelude::*;
use superstep::run::{EventKind, Lens};
use tokio::time::sleep;

use crate::support::{Broken, Calls, Smashed, Stage, failure, on_both_savers, run_or_resume};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    v: Vec<String>,
}

#[derive(Route, Serialize, Deserialize)]
enum Next {
    Go,
    Stop,
}

fn wrote(text: impl Into<String>) -> Update<Log> {
    Log::update().v([text.into()])
}

/// Notes that it runs, and fails while it is broken.
async fn step(task: TaskInfo, calls: Dep<Calls>, broken: Dep<Broken>) -> Result<Update<Log>, Smashed> {
    let node = task.node().as_str();
    calls.note(node);
    broken.check(node)?;
    Ok(wrote(node))
}

/// Notes that it runs, returns the error, and fails while it is broken.
async fn rescue(failed: Failed, calls: Dep<Calls>, broken: Dep<Broken>) -> Result<Update<Log>, Smashed> {
    calls.note("rescue");
    broken.check("rescue")?;
    Ok(wrote(format!("{} after {}: {}", failed.node(), failed.attempts(), failed.error())))
}

/// A stage on which these nodes are broken.
fn smashed(nodes: &[&str]) -> Stage {
    let stage = Stage::default();
    nodes.iter().for_each(|node| stage.broken.smash(node));
    stage
}

/// `a`, `b` and `c` side by side, then `end`; `b` has a handler.
fn trio(stage: &Stage) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("trio");
    let [a, b, c, end] = ["a", "b", "c", "end"].map(|name| g.node(name, step));
    g.policy(b).retry(Retry::fixed(3, Duration::ZERO).on::<Smashed>()).on_error(rescue);
    for node in [a, b, c] {
        g.edge(START, node);
    }
    g.join([a, b, c], end);
    g.edge(end, END);
    g.compile().expect("sound").with_context(stage.clone())
}

#[tokio::test]
async fn a_handler_writes_and_leads_on_in_the_place_of_its_node() {
    on_both_savers(|saver| async move {
        let stage = smashed(&["b"]);
        let thread = trio(&stage).shared_checkpointer(saver).thread("t");
        let log = thread.run(Log::update()).await.expect("the error is handled").state;
        assert_eq!(log.v, ["a", "b after 3: b is broken", "c", "end"]);
        assert_eq!(stage.calls.take_sorted(), ["a", "b", "b", "b", "c", "end", "rescue"]);
        let head = thread.head().await.expect("it is stored");
        let parent =
            thread.at(head.loaded().checkpoint.parent.expect("there is one")).await.expect("it is stored");
        let tasks = &parent.loaded().checkpoint.tasks;
        let handled = tasks[1].handled.as_ref().expect("history says what was handled");
        assert_eq!((handled.error.message.as_str(), handled.attempts), ("b is broken", 3));
        assert!(tasks[0].handled.is_none());
    })
    .await;
}

#[tokio::test]
async fn a_node_that_does_not_fail_needs_no_handler() {
    let stage = Stage::default();
    let run = trio(&stage).run(Log::update()).await.expect("no node fails");
    assert_eq!(run.state.v, ["a", "b", "c", "end"]);
    assert_eq!(stage.calls.of("rescue"), 0);
}

/// `work` decides by a route; `rescue` decides as it would, and `detour` by a route of its own.
fn routed(stage: &Stage, detours: bool) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("routed");
    let work = g.node("work", |broken: Dep<Broken>| async move {
        broken.check("work")?;
        Ok::<_, Smashed>((wrote("work"), Next::Stop))
    });
    let [next, other] = ["next", "other"].map(|name| g.node(name, step));
    g.edge(START, work);
    g.route(work, move |next_step| match next_step {
        Next::Go => to(next),
        Next::Stop => END,
    });
    if detours {
        g.policy(work).on_error_route(
            |failed: Failed| async move { (wrote(failed.node().as_str()), Next::Go) },
            move |next_step| match next_step {
                Next::Go => to(other),
                Next::Stop => END,
            },
        );
    } else {
        g.policy(work).on_error(|| async { Next::Go });
        g.edge(next, other);
    }
    if detours {
        g.edge(next, END);
    }
    g.edge(other, END);
    g.compile().expect("sound").with_context(stage.clone())
}

#[tokio::test]
async fn a_handler_decides_as_its_node_would() {
    let run = routed(&smashed(&["work"]), false).run(Log::update()).await;
    assert_eq!(run.expect("the error is handled").state.v, ["next", "other"]);
    let run = routed(&Stage::default(), false).run(Log::update()).await;
    assert_eq!(run.expect("no node fails").state.v, ["work"]);
}

#[tokio::test]
async fn b29_a_handler_may_lead_elsewhere() {
    let run = routed(&smashed(&["work"]), true).run(Log::update()).await;
    assert_eq!(run.expect("the error is handled").state.v, ["work", "other"]);
}

/// `a` leads to `next` by an edge and, with `b`, to `joined`; its handler leads to `other`, and nowhere else.
/// `slow` holds the superstep up, so that it can be resumed after the handler has ended.
fn detour(stage: &Stage) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("detour");
    let [a, b, next, joined, other, slow] =
        ["a", "b", "next", "joined", "other", "slow"].map(|name| g.node(name, step));
    for node in [a, b, slow] {
        g.edge(START, node);
    }
    g.edge(a, next);
    g.join([a, b], joined);
    g.policy(a).on_error_route(
        |failed: Failed, calls: Dep<Calls>| async move {
            calls.note("rescue");
            (wrote(failed.error().to_string()), Next::Go)
        },
        move |_: Next| to(other),
    );
    for node in [next, joined, other, slow] {
        g.edge(node, END);
    }
    g.compile().expect("sound").with_context(stage.clone())
}

#[tokio::test]
async fn a_handlers_own_route_stands_in_the_place_of_edges_and_joins() {
    on_both_savers(|saver| async move {
        let thread = detour(&smashed(&["a"])).shared_checkpointer(saver).thread("t");
        let log = thread.run(Log::update()).await.expect("the error is handled").state;
        assert_eq!(log.v, ["a is broken", "b", "slow", "other"]);
    })
    .await;
}

#[tokio::test]
async fn where_a_handler_led_is_kept_over_a_resume() {
    on_both_savers(|saver| async move {
        let stage = smashed(&["a", "slow"]);
        let thread = detour(&stage).max_concurrency(1).shared_checkpointer(saver).thread("t");
        assert_eq!(failure(thread.run(Log::update()).await).node.as_str(), "slow");
        stage.broken.mend("slow");
        stage.calls.take();
        let log = thread.resume().await.expect("all is mended").state;
        assert_eq!(log.v, ["a is broken", "b", "slow", "other"]);
        assert_eq!(stage.calls.take(), ["slow", "other"], "the handler had ended");
    })
    .await;
}

#[tokio::test]
async fn b29_b34_a_handler_that_fails_fails_the_run_and_a_resume_runs_it_alone() {
    on_both_savers(|saver| async move {
        let stage = smashed(&["b", "rescue"]);
        let thread = trio(&stage).shared_checkpointer(saver).thread("t");
        for _ in 0..2 {
            let failure = failure(run_or_resume(&thread).await);
            assert_eq!(failure.error.downcast_ref(), Some(&Smashed("rescue".into())));
            assert_eq!(
                failure.to_string(),
                "the error handler of node \"b\" failed at step 1: rescue is broken (handling: b is broken)"
            );
        }
        stage.broken.mend("rescue");
        let log = thread.resume().await.expect("the handler is mended").state;
        assert_eq!(log.v, ["a", "b after 3: b is broken", "c", "end"]);
        assert_eq!((stage.calls.of("b"), stage.calls.of("rescue")), (3, 3));
    })
    .await;
}

#[tokio::test]
async fn b31_a_handler_may_ask_and_still_knows_the_error_afterwards() {
    on_both_savers(|saver| async move {
        let graph = |stage: &Stage| {
            let mut g = StateGraph::<Log, Stage>::new("g");
            // Both ask with the same key; the answer to one does not answer the other.
            let node = g.node(
                "node",
                |person: Ask<String, u32>, calls: Dep<Calls>, broken: Dep<Broken>| async move {
                    let number = person.ask("how many?".into()).await;
                    calls.note("node");
                    broken.check("node")?;
                    Ok::<_, Smashed>(wrote(number.to_string()))
                },
            );
            g.policy(node).on_error(
                |person: Ask<String, String>, failed: Failed, calls: Dep<Calls>| async move {
                    let answer = person.ask("how many?".into()).await;
                    calls.note("handled");
                    wrote(format!("{answer}: {}", failed.error()))
                },
            );
            g.edge(START, node);
            g.edge(node, END);
            g.compile().expect("sound").with_context(stage.clone())
        };
        let stage = smashed(&["node"]);
        let thread = graph(&stage).shared_checkpointer(saver.clone()).thread("t");
        thread.run(Log::update()).await.expect("it asks").interrupted().expect("it asks");
        let asked = thread.answer(&3).await.expect("the handler asks").interrupted().expect("it asks");
        let [asked] = &asked[..] else { panic!("{asked:?}") };
        let answers = asked.answer_schema.as_ref().expect("the handler is there");
        assert_eq!(answers.decode::<serde_json::Value>().expect("a schema")["type"], "string");
        // As in another process.
        let thread = graph(&stage).shared_checkpointer(saver).thread("t");
        let wrong = thread.answer(&7).await.expect_err("the handler wants a text");
        assert!(matches!(wrong, RunError::WrongAnswer { .. }), "{wrong}");
        let log = thread.answer("none").await.expect("the error is handled").state;
        assert_eq!(log.v, ["none: node is broken"]);
        assert_eq!(stage.calls.take(), ["node", "handled"], "the node ran to its end once");
    })
    .await;
}

#[tokio::test]
async fn effects_of_a_handler_are_not_those_of_its_node() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        async fn pay(fx: &Effects, calls: &Calls, what: &str) -> String {
            let effect = || async {
                calls.note(what);
                Ok::<_, Smashed>(what.to_owned())
            };
            fx.run("pay", effect).await.expect("it succeeds")
        }
        let node = g.node("node", |fx: Effects, calls: Dep<Calls>| async move {
            pay(&fx, &calls, "charge").await;
            Err::<(), _>(Smashed("node".into()))
        });
        g.policy(node).on_error(|fx: Effects, calls: Dep<Calls>, broken: Dep<Broken>| async move {
            let paid = pay(&fx, &calls, "refund").await;
            broken.check("rescue")?;
            Ok::<_, Smashed>(wrote(paid))
        });
        g.edge(START, node);
        g.edge(node, END);
        let stage = smashed(&["rescue"]);
        let graph = g.compile().expect("sound").with_context(stage.clone());
        let thread = graph.shared_checkpointer(saver).thread("t");
        failure(thread.run(Log::update()).await);
        stage.broken.mend("rescue");
        assert_eq!(thread.resume().await.expect("all is mended").state.v, ["refund"]);
        assert_eq!(stage.calls.take(), ["charge", "refund"]);
    })
    .await;
}

/// Two nodes that fail, one with a handler of its own, and a third whose error is not handled.
fn defaults(stage: &Stage, own: bool, default: bool) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("defaults");
    let [a, b] = ["a", "b"].map(|name| g.node(name, step));
    g.edge(START, a);
    g.edge(a, b);
    g.edge(b, END);
    if own {
        g.policy(a).on_error(|| async { wrote("own") });
    }
    if default {
        g.on_error(rescue);
    }
    g.compile().expect("sound").with_context(stage.clone())
}

#[tokio::test]
async fn b33_a_default_handler_is_that_of_the_nodes_without_one() {
    let stage = smashed(&["a", "b"]);
    let run = defaults(&stage, true, true).run(Log::update()).await.expect("all is handled");
    assert_eq!(run.state.v, ["own", "b after 1: b is broken"]);
    let run = defaults(&stage, false, true).run(Log::update()).await.expect("all is handled");
    assert_eq!(run.state.v, ["a after 1: a is broken", "b after 1: b is broken"]);
    let failed = failure(defaults(&stage, true, false).run(Log::update()).await);
    assert_eq!((failed.node.as_str(), failed.handling), ("b", None));
    stage.broken.smash("rescue");
    let failed = failure(defaults(&stage, true, true).run(Log::update()).await);
    assert_eq!((failed.node.as_str(), failed.error.to_string().as_str()), ("b", "rescue is broken"));
}

#[tokio::test]
async fn a_default_handler_may_lead_elsewhere() {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let decides =
        g.node("decides", |broken: Dep<Broken>| async move { broken.check("decides").map(|()| Next::Stop) });
    let [plain, last] = ["plain", "last"].map(|name| g.node(name, step));
    g.edge(START, decides);
    g.route(decides, move |next| match next {
        Next::Go => to(plain),
        Next::Stop => END,
    });
    g.edge(plain, END);
    g.edge(last, END);
    g.on_error_route(
        |failed: Failed| async move { (wrote(failed.node().as_str()), Next::Go) },
        move |_: Next| to(last),
    );
    let graph = g.compile().expect("sound").with_context(smashed(&["decides"]));
    assert_eq!(graph.run(Log::update()).await.expect("it is handled").state.v, ["decides", "last"]);
    assert!(graph.mermaid().contains("n2 -.->|on error: Go| n4"), "{}", graph.mermaid());
}

#[tokio::test]
async fn every_kind_of_failure_of_a_node_is_handled() {
    let told =
        |failed: Failed| async move { wrote(format!("{:?}: {}", failed.error().kind, failed.error())) };
    let mut g = StateGraph::<Log>::new("g");
    let panics = g.node("panics", || -> std::future::Ready<()> { panic!("a bug") });
    let slow = g.node("slow", || sleep(Duration::from_secs(60)));
    let terminal = g.node("terminal", || async { Err::<(), _>(NodeError::terminal("final")) });
    g.policy(panics).on_error(told);
    g.policy(slow).timeout(Duration::from_millis(1)).on_error(told);
    g.policy(terminal).on_error(told);
    g.edge(START, panics);
    g.edge(panics, slow);
    g.edge(slow, terminal);
    g.edge(terminal, END);
    let run = g.compile().expect("sound").run(Log::update()).await.expect("all is handled");
    let late = format!("TimedOut: {}", Timeout::Run(Duration::from_millis(1)));
    assert_eq!(run.state.v, ["Panicked: a bug", &late, "Terminal: final"]);
}

#[tokio::test]
async fn a_failed_route_is_not_handed_to_the_handler() {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let node = g.node("node", || async { Next::Go });
    let stage = Stage::default();
    let broken = stage.broken.clone();
    g.edge(START, node);
    g.route(node, move |_| broken.check("routing").map(|()| END));
    g.policy(node).on_error(|| async { Next::Stop });
    let graph = g.compile().expect("sound").with_context(stage.clone());
    stage.broken.smash("routing");
    assert_eq!(failure(graph.run(Log::update()).await).error.kind(), NodeErrorKind::Routing);
}

#[tokio::test]
async fn a_handler_gets_the_item_of_its_node() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let item = g.node("item", |n: Input<u32>| async move {
            match *n {
                2 => Err(Smashed("two".into())),
                n => Ok(wrote(n.to_string())),
            }
        });
        g.policy(item).on_error(|n: Input<u32>, failed: Failed| async move {
            assert_eq!(failed.input().map(|json| json.as_str()), Some("2"));
            wrote(format!("handled {}", *n))
        });
        g.branch(START, |_| Next::Go, move |_| each(item, [1, 2, 3]));
        g.edge(item, END);
        let graph = g.compile().expect("sound").with_context(Stage::default());
        let thread = graph.shared_checkpointer(saver).thread("t");
        let log = thread.run(Log::update()).await.expect("the error is handled").state;
        assert_eq!(log.v, ["1", "handled 2", "3"]);
    })
    .await;
}

#[tokio::test]
async fn the_log_says_that_a_failure_is_handled() {
    let stage = smashed(&["b"]);
    let graph = trio(&stage);
    let mut stream = graph.thread("t").run(Log::update()).stream();
    let mut failures = Vec::new();
    while let Some(event) = stream.next().await {
        if let EventKind::TaskFailed { node, attempt, retry_in_ms, handled, .. } = event.kind {
            failures.push((node.to_string(), attempt, retry_in_ms, handled));
        }
    }
    let b = |attempt, retry, handled| ("b".to_owned(), attempt, retry, handled);
    assert_eq!(failures, [b(1, Some(0), false), b(2, Some(0), false), b(3, None, true)]);
}

#[test]
fn mistakes_with_handlers_are_found_at_compile() {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let plain = g.node("plain", |_: Failed| async {});
    let decides = g.node("decides", || async { Next::Go });
    g.edge(START, plain);
    g.edge(plain, decides);
    g.route(decides, |_| END);
    g.on_error(rescue);
    assert_eq!(
        g.compile().expect_err("two mistakes").to_string(),
        "graph \"g\" has 2 problems\n  - node \"plain\" takes `Failed`, which only error handlers receive; wire it \
         with on_error(..)\n  - node \"decides\" returns a route, which the graph's error handler does not; give the \
         node a handler of its own, or the graph one with on_error_route(..)"
    );
}

#[tokio::test]
async fn b30_a_handler_catches_what_fails_inside_its_subgraph() {
    on_both_savers(|saver| async move {
        let mut inner = StateGraph::<Log, Stage>::new("inner");
        let [first, second] = ["first", "second"].map(|name| inner.node(name, step));
        inner.edge(START, first);
        inner.edge(first, second);
        inner.edge(second, END);
        let inner = inner.compile().expect("sound");

        let mut g = StateGraph::<Log, Stage>::new("outer");
        let sub = g.subgraph("sub", inner, Lens::new().share(Log::V, Log::V));
        let end = g.node("end", step);
        g.policy(sub).on_error(rescue);
        g.edge(START, sub);
        g.edge(sub, end);
        g.edge(end, END);
        let stage = smashed(&["second", "rescue"]);
        let graph = g.compile().expect("sound").with_context(stage.clone());
        let thread = graph.shared_checkpointer(saver).thread("t");
        assert_eq!(failure(thread.run(Log::update()).await).node.as_str(), "sub");
        stage.broken.mend("rescue");
        let log = thread.resume().await.expect("the error is handled").state;
        assert_eq!((log.v.len(), log.v[1].as_str()), (2, "end"));
        assert!(log.v[0].starts_with("sub after 1: "), "{}", log.v[0]);
        assert!(log.v[0].contains("second is broken"), "{}", log.v[0]);
        assert_eq!(stage.calls.take(), ["first", "second", "rescue", "rescue", "end"]);
    })
    .await;
}

/// Names of a handler's effects and questions are stored with a prefix; names of a node's may begin with the same text.
#[tokio::test]
async fn names_of_a_node_that_begin_like_its_handlers_are_its_own() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let node = g.node("node", async |fx: Effects, calls: Dep<Calls>, broken: Dep<Broken>| {
            for name in ["on_error/pay", "~on_error/pay"] {
                let pay = || async {
                    calls.note(name);
                    Ok::<_, Smashed>(())
                };
                fx.run(name, pay).await.map_err(NodeError::terminal)?;
            }
            broken.check("node").map_err(NodeError::terminal)
        });
        let handler = async |fx: Effects, calls: Dep<Calls>, ask: Ask<String, String>| {
            let pay = || async {
                calls.note("pay");
                Ok::<_, Smashed>(())
            };
            fx.run("pay", pay).await?;
            Ok::<_, BoxError>(wrote(ask.ask("and now?".into()).await))
        };
        g.policy(node).on_error(handler);
        g.edge(START, node);
        g.edge(node, END);
        let stage = smashed(&["node"]);
        let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
        let asked = graph.thread("t").run(Log::update()).await.expect("it is handled").interrupted();
        assert_eq!(asked.expect("the handler asks")[0].question.as_str(), "\"and now?\"");
        let done = graph.thread("t").answer("on").await.expect("it is handled").finished().expect("it ends");
        assert_eq!(done.v, ["on"]);
        assert_eq!(
            stage.calls.take(),
            ["on_error/pay", "~on_error/pay", "pay"],
            "each once, and none for another"
        );
    })
    .await;
}
