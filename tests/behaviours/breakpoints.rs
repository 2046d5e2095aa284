//! Static breakpoints: a run stops at a barrier, and a resume passes it.

use std::sync::Arc;

use crate::support::{Calls, Stage, on_both_savers};
use superstep::checkpoint::Checkpointer;
use superstep::driver::graph::EveryNode;
use superstep::prelude::*;
use superstep::run::{EventKind, RunEvent, ThreadError};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
}

fn input(text: &str) -> Update<Log> {
    Log::update().ran([text])
}

async fn mark(task: TaskInfo, calls: Dep<Calls>) -> Update<Log> {
    calls.note(task.node().as_str());
    Log::update().ran([task.node().as_str()])
}

/// `a`, then `b`, then `c`; `stop` sets the breakpoints.
fn abc(
    saver: Arc<dyn Checkpointer>,
    stop: impl FnOnce(&mut StateGraph<Log, Stage>, [Node; 3]),
) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("abc");
    let nodes = ["a", "b", "c"].map(|name| g.node(name, mark));
    let [a, b, c] = nodes;
    g.edge(START, a);
    g.edge(a, b);
    g.edge(b, c);
    g.edge(c, END);
    stop(&mut g, nodes);
    g.compile().expect("sound").with_context(Stage::default()).shared_checkpointer(saver)
}

type Node = superstep::graph::NodeRef<superstep::node::NoInput, ()>;

/// The breakpoint of a run, and the nodes that ran.
fn stop(run: Result<Run<Log>, RunError>) -> String {
    let run = run.expect("no node fails");
    let ran = run.state.ran.join(" ");
    match run.status {
        Status::Breakpoint { before, after } => format!("{ran} | before {before:?} after {after:?}"),
        status => format!("{ran} | {status:?}"),
    }
}

#[tokio::test]
async fn d04_static_before_after() {
    on_both_savers(|saver| async move {
        let both = |g: &mut StateGraph<Log, Stage>, [_, b, _]: [Node; 3]| {
            g.policy(b).interrupt_before().interrupt_after();
        };
        let thread = abc(saver, both).thread("t");
        assert_eq!(stop(thread.run(input("in")).await), r#"in a | before ["b"] after []"#);
        let head = thread.head().await.expect("it ran");
        assert_eq!((head.step(), head.next()), (1, vec!["b".into()]), "nothing but the checkpoint is stored");
        let nothing = thread.answer("b").await.expect_err("a breakpoint asks nothing");
        assert!(matches!(nothing, RunError::NothingAsked { .. }));
        assert_eq!(stop(thread.resume().await), r#"in a b | before [] after ["b"]"#);
        assert_eq!(stop(thread.resume().await), "in a b c | Finished");
        assert_eq!(stop(thread.resume().await), "in a b c | Finished");
    })
    .await;
}

/// The last node may have both, too: after it nothing is next.
#[tokio::test]
async fn d04_static_before_and_after_the_last_node() {
    on_both_savers(|saver| async move {
        let both = |g: &mut StateGraph<Log, Stage>, [_, _, c]: [Node; 3]| {
            g.policy(c).interrupt_before().interrupt_after();
        };
        let thread = abc(saver, both).thread("t");
        let next = async || thread.head().await.expect("it ran").next().len();
        assert_eq!(stop(thread.run(Log::update()).await), r#"a b | before ["c"] after []"#);
        assert_eq!(next().await, 1);
        for _ in 0..2 {
            assert!(stop(thread.resume().await).starts_with("a b c | "));
            assert_eq!(next().await, 0);
        }
    })
    .await;
}

#[tokio::test]
async fn f02_a_breakpoint_is_passed_once_and_by_another_program() {
    on_both_savers(|saver| async move {
        let before = |g: &mut StateGraph<Log, Stage>, [_, b, c]: [Node; 3]| {
            g.policy(b).interrupt_before();
            g.policy(c).interrupt_before();
        };
        let stopped = abc(saver.clone(), before).thread("t").run(input("in")).await;
        assert_eq!(stop(stopped), r#"in a | before ["b"] after []"#);
        let elsewhere = abc(saver, before).thread("t");
        assert_eq!(stop(elsewhere.resume().await), r#"in a b | before ["c"] after []"#);
        assert_eq!(stop(elsewhere.resume().await), "in a b c | Finished");
        // The next turn stops there again.
        assert_eq!(stop(elsewhere.run(input("more")).await), r#"in a b c more a | before ["b"] after []"#);
    })
    .await;
}

#[tokio::test]
async fn a_request_has_breakpoints_of_its_own() {
    on_both_savers(|saver| async move {
        let mut handles = None;
        let graph = abc(saver, |_, nodes| handles = Some(nodes));
        let [a, b, _] = handles.expect("it was called");
        let run = |id: &str| graph.thread(id).run(input("in"));
        assert_eq!(stop(run("1").interrupt_before(b).await), r#"in a | before ["b"] after []"#);
        assert_eq!(stop(run("2").interrupt_after([a, b]).await), r#"in a | before [] after ["a"]"#);
        let unknown =
            run("3").interrupt_before("c").interrupt_before("nope").await.expect_err("no such node");
        assert_eq!(unknown.to_string(), r#"graph "abc" has no node "nope""#);
        let both = run("4").interrupt_before(["b"]).interrupt_after("a");
        assert_eq!(stop(both.await), r#"in a | before ["b"] after ["a"]"#);
        // Breakpoints of one run do not apply to the next.
        assert_eq!(stop(graph.thread("1").resume().await), "in a b c | Finished");

        let other = abc(Arc::new(MemorySaver::new()), |_, nodes| handles = Some(nodes));
        let foreign = graph.thread("5").run(input("in")).interrupt_before(handles.expect("it was called")[0]);
        let error = foreign.await.expect_err("another graph's handle");
        assert!(matches!(error, RunError::Thread(ThreadError::NoSuchNode { .. })), "{error} in {other:?}");
    })
    .await;
}

#[tokio::test]
async fn a_thread_is_stepped_through_node_by_node() {
    on_both_savers(|saver| async move {
        let thread = abc(saver, |_, _| {}).thread("t");
        let mut run = thread.run(input("in")).interrupt_before(EveryNode).await;
        let mut stops = Vec::new();
        while matches!(&run, Ok(Run { status: Status::Breakpoint { .. }, .. })) {
            stops.push(stop(run));
            run = thread.resume().interrupt_before(EveryNode).await;
        }
        stops.push(stop(run));
        assert_eq!(
            stops,
            [
                r#"in | before ["a"] after []"#,
                r#"in a | before ["b"] after []"#,
                r#"in a b | before ["c"] after []"#,
                "in a b c | Finished",
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn k07_a_breakpoint_and_then_a_question() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let a = g.node("a", mark);
        let q = g.node("q", |ask: Ask<String, String>| async move { input(&ask.ask("?".into()).await) });
        g.edge(START, a);
        g.edge(a, q);
        g.edge(q, END);
        g.policy(q).interrupt_before();
        let graph = g.compile().expect("sound").with_context(Stage::default()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let mut stream = thread.run(Log::update()).stream();
        let mut events = Vec::new();
        while let Some(RunEvent { kind, .. }) = stream.next().await {
            events.push(kind);
        }
        let [.., reached, EventKind::RunFinished { status }] = &events[..] else { panic!("{events:?}") };
        assert_eq!(*reached, EventKind::BreakpointReached { before: vec!["q".into()], after: Vec::new() });
        assert!(matches!(status, Status::Breakpoint { .. }));
        // The resume passes the breakpoint, and then the node asks; its answer does not stop at the breakpoint.
        let asked = thread.resume().await.expect("no node fails").interrupted().expect("it asks");
        assert_eq!(asked[0].question::<String>().expect("a text"), "?");
        assert_eq!(stop(thread.answer("yes").await), "a yes | Finished");
    })
    .await;
}

#[tokio::test]
async fn o07_static_interrupt_before_sends() {
    #[derive(Route, serde::Serialize, serde::Deserialize)]
    enum Fan {
        Out(Vec<u32>),
    }
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let w = g.node("w", |item: Input<u32>| async move { input(&item.to_string()) });
        g.branch(START, |_| Fan::Out(vec![1, 2]), move |Fan::Out(items)| each(w, items));
        g.edge(w, END);
        g.policy(w).interrupt_before();
        let graph = g.compile().expect("sound").with_context(Stage::default()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        assert_eq!(stop(thread.run(Log::update()).await), r#" | before ["w"] after []"#);
        let next = thread.head().await.expect("it ran").next();
        assert_eq!(next, ["w".into(), "w".into()]);
        assert_eq!(stop(thread.resume().await), "1 2 | Finished");
    })
    .await;
}

/// `plan`, then `a` and `b` side by side, then `b2` after `b`; a join of `a` and `b2` leads to `qa`.
#[tokio::test]
async fn a_breakpoint_after_a_source_of_a_join_and_before_its_target() {
    on_both_savers(|saver| async move {
        let graph = |name: &str, stop: fn(&mut StateGraph<Log, Stage>, Node, Node)| {
            let mut g = StateGraph::<Log, Stage>::new(name);
            let [plan, a, b, b2, qa] = ["plan", "a", "b", "b2", "qa"].map(|name| g.node(name, mark));
            g.edge(START, plan);
            g.edge(plan, a);
            g.edge(plan, b);
            g.edge(b, b2);
            g.join([a, b2], qa);
            g.edge(qa, END);
            stop(&mut g, b2, qa);
            let graph = g.compile().expect("sound").with_context(Stage::default());
            graph.shared_checkpointer(saver.clone()).thread("t-".to_owned() + name)
        };
        let after = graph("after", |g, b2, _| {
            g.policy(b2).interrupt_after();
        });
        assert_eq!(stop(after.run(Log::update()).await), r#"plan a b b2 | before [] after ["b2"]"#);
        assert_eq!(stop(after.resume().await), "plan a b b2 qa | Finished");

        let before = graph("before", |g, _, qa| {
            g.policy(qa).interrupt_before();
        });
        assert_eq!(stop(before.run(Log::update()).await), r#"plan a b b2 | before ["qa"] after []"#);
        before.edit(input("edited")).await.expect("there is no other writer");
        let head = before.head().await.expect("it ran");
        assert_eq!((head.step(), head.next()), (4, vec!["qa".into()]));
        assert_eq!(stop(before.resume().await), "plan a b b2 edited qa | Finished");
    })
    .await;
}

/// LangGraph runs the targets of a caller's `Command(goto=..)` beside the next nodes: `abc node-1 node-2 node-2`.
#[tokio::test]
async fn b41_b42_a_node_that_is_next_is_played_not_joined_by_another() {
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let [one, two] = ["node-1", "node-2"].map(|name| g.node(name, mark));
        g.edge(START, one);
        g.edge(one, two);
        g.edge(two, END);
        g.policy(one).interrupt_before();
        let graph = g.compile().expect("sound").with_context(Stage::default()).shared_checkpointer(saver);
        let at_breakpoint = async |name: &str| {
            let thread = graph.thread(name);
            assert_eq!(stop(thread.run(input("abc")).await), r#"abc | before ["node-1"] after []"#);
            thread
        };
        let thread = at_breakpoint("as it is").await;
        let nothing = thread.answer("node-1").await.expect_err("a breakpoint asks nothing");
        assert!(matches!(nothing, RunError::NothingAsked { .. }));
        assert_eq!(stop(thread.resume().await), "abc node-1 node-2 | Finished");
        let thread = at_breakpoint("played").await;
        thread.edit_as(one, input("by hand")).await.expect("there is no other writer");
        assert_eq!(stop(thread.resume().await), "abc by hand node-2 | Finished");
    })
    .await;
}
