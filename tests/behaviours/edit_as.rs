//! Edits as a node: the caller gives the outcome, and the node's routes, branches and edges decide what follows.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep::checkpoint::{Checkpointer, Source};
use superstep::graph::NodeRef;
use superstep::node::NoInput;
use superstep::prelude::*;
use superstep::run::ThreadError;

use crate::support::{Calls, Stage, on_both_savers};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
    verdict: String,
}

type Node = NodeRef<NoInput, ()>;

fn ran(text: &str) -> Update<Log> {
    Log::update().ran([text])
}

async fn mark(task: TaskInfo, calls: Dep<Calls>) -> Update<Log> {
    calls.note(task.node().as_str());
    ran(task.node().as_str())
}

/// A graph of these nodes, wired by `wire`.
fn wired<const N: usize>(
    names: [&str; N],
    saver: &Arc<dyn Checkpointer>,
    wire: impl FnOnce(&mut StateGraph<Log, Stage>, [Node; N]),
) -> (Graph<Log>, [Node; N]) {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let nodes = names.map(|name| g.node(name, mark));
    wire(&mut g, nodes);
    let graph = g.compile().expect("sound").with_context(Stage::default());
    (graph.shared_checkpointer(saver.clone()), nodes)
}

/// `a`, then `b`, then `c`.
fn abc(saver: &Arc<dyn Checkpointer>) -> (Graph<Log>, [Node; 3]) {
    wired(["a", "b", "c"], saver, |g, [a, b, c]| {
        g.edge(START, a);
        g.edge(a, b);
        g.edge(b, c);
        g.edge(c, END);
    })
}

/// `a` and `b` side by side, then `c` after `a`.
fn pair(saver: &Arc<dyn Checkpointer>) -> (Graph<Log>, [Node; 3]) {
    wired(["a", "b", "c"], saver, |g, [a, b, c]| {
        g.edge(START, a);
        g.edge(START, b);
        g.edge(a, c);
        g.edge(b, END);
        g.edge(c, END);
    })
}

/// The unfinished and the finished tasks of a thread.
async fn now(thread: &Thread<Log>) -> String {
    let state = thread.state().await.expect("it ran");
    let next: Vec<_> = state.next.iter().map(|node| node.as_str()).collect();
    format!("{} | {}", state.values.ran.join(" "), next.join(" "))
}

async fn resumed(thread: &Thread<Log>) -> String {
    let run = thread.resume().await.expect("no node fails");
    run.finished().expect("it does not pause").ran.join(" ")
}

/// LangGraph drops `b`, which was next beside `a`.
#[tokio::test]
async fn o12_an_edit_as_one_of_two_pending_nodes_leaves_the_other_pending() {
    on_both_savers(|saver| async move {
        let (graph, [a, b, _]) = pair(&saver);
        let thread = graph.thread("t");
        let run = thread.run(Log::update()).interrupt_before([a, b]).await.expect("no node fails");
        assert!(matches!(run.status, Status::Breakpoint { .. }));
        assert_eq!(now(&thread).await, " | a b");
        thread.edit_as(a, ran("A!")).await.expect("there is no other writer");
        assert_eq!(now(&thread).await, "A! | b");
        let head = thread.head().await.expect("it ran");
        assert_eq!((head.source(), head.next()), (Source::Update, vec!["a".into(), "b".into()]));
        assert_eq!(head.state().ran, [""; 0], "the barrier is yet to merge it");
        assert_eq!(resumed(&thread).await, "A! b c");
    })
    .await;
}

#[tokio::test]
async fn o13_b74_an_edit_as_both_pending_nodes_ends_the_superstep() {
    on_both_savers(|saver| async move {
        let (graph, [a, b, _]) = pair(&saver);
        let thread = graph.thread("t");
        thread.input(Log::update()).await.expect("it is stored");
        thread.edit_as(START, ()).await.expect("START is next");
        assert_eq!(now(&thread).await, " | a b");
        thread.edit_as(a, ran("A!")).and_as(b, ran("B!")).await.expect("there is no other writer");
        assert_eq!(now(&thread).await, "A! B! | c");
        let head = thread.head().await.expect("it ran");
        assert_eq!((head.step(), head.source()), (1, Source::Update));
        let names: Vec<_> = head.tasks().iter().map(|task| task.node.as_str()).collect();
        assert_eq!(names, ["a", "b"], "it is recorded as what they did");
        assert_eq!(resumed(&thread).await, "A! B! c");
    })
    .await;
}

/// LangGraph merges the updates in the order of the call.
#[tokio::test]
async fn m12_several_edits_of_a_superstep_merge_in_the_order_of_its_tasks() {
    on_both_savers(|saver| async move {
        let (graph, [a, b, _]) = pair(&saver);
        let thread = graph.thread("t");
        thread.input(ran("i")).await.expect("it is stored");
        thread.edit_as(START, ran("i")).await.expect("START is next");
        thread.edit_as(b, ran("B")).and_as(a, ran("A")).await.expect("there is no other writer");
        assert_eq!(now(&thread).await, "i A B | c");
    })
    .await;
}

#[tokio::test]
async fn f05_who_wrote_an_edit_is_inferred_only_when_it_is_clear() {
    on_both_savers(|saver| async move {
        let (graph, _) = wired(["a", "b"], &saver, |g, [a, b]| {
            g.edge(START, a);
            g.edge(START, b);
            g.edge(a, END);
            g.edge(b, END);
        });
        let thread = graph.thread("t");
        thread.run(Log::update()).await.expect("no node fails").finished().expect("it finishes");
        let unclear = thread.edit_as_last(ran("X")).await.expect_err("two nodes ran last");
        assert_eq!(
            unclear.to_string(),
            r#"the node that wrote the edit is ambiguous: one of "a", "b"; name it with `edit_as`"#
        );
        let nope = thread.edit_as_named("nope", ran("X")).await.expect_err("no such node");
        assert_eq!(nope.to_string(), r#"graph "g" has no node "nope""#);
        // An edit from outside belongs to no node.
        thread.edit(ran("X")).await.expect("there is no other writer");
        assert_eq!(now(&thread).await, "a b X | ");
        let never = graph.thread("new").edit_as_last(ran("X")).await.expect_err("nothing ran");
        assert!(matches!(never, RunError::Thread(ThreadError::NeverRan(_))));
    })
    .await;
}

#[tokio::test]
async fn f06_what_is_pending_can_be_dropped() {
    on_both_savers(|saver| async move {
        let (graph, _) = abc(&saver);
        let thread = graph.thread("t");
        thread.run(Log::update()).interrupt_before("b").await.map(drop).expect("no node fails");
        assert_eq!(now(&thread).await, "a | b");
        thread.discard_pending().await.expect("there is no other writer");
        let head = thread.head().await.expect("it ran");
        assert_eq!((head.source(), head.next()), (Source::Update, Vec::new()));
        assert_eq!(now(&thread).await, "a | ");
        assert!(graph.unfinished().await.expect("the store reads").is_empty());
        assert_eq!(resumed(&thread).await, "a");
    })
    .await;
}

#[tokio::test]
async fn f07_an_input_is_stored_without_running_it() {
    on_both_savers(|saver| async move {
        let (graph, _) = abc(&saver);
        let thread = graph.thread("2");
        let id = thread.input(ran("in")).await.expect("it is stored");
        let head = thread.head().await.expect("it is there");
        assert_eq!((head.id(), head.source(), head.step()), (id, Source::Input, -1));
        assert_eq!(head.next(), ["__start__".into()]);
        assert_eq!(graph.unfinished().await.expect("the store reads").len(), 1);
        assert_eq!(resumed(&thread).await, "in a b c");
        // And a checkpoint is copied unchanged, beside the original.
        let before = thread.before_named("b").await.expect("it ran");
        let copy =
            thread.at(before.branch().await.expect("there is no other writer")).await.expect("it is there");
        assert_eq!((copy.source(), copy.next()), (Source::Fork, vec!["b".into()]));
        assert_eq!(copy.loaded().checkpoint.parent, before.loaded().checkpoint.parent);
    })
    .await;
}

#[tokio::test]
async fn f08_a_thread_may_begin_as_if_a_node_had_run() {
    on_both_savers(|saver| async move {
        let (graph, [_, b, _]) = abc(&saver);
        let thread = graph.thread("m");
        thread.edit_as(b, ran("X")).await.expect("the thread is new");
        let head = thread.head().await.expect("it is there");
        assert_eq!((head.step(), head.next()), (0, vec!["c".into()]));
        assert_eq!(resumed(&thread).await, "X c");
        let nothing = graph.thread("n").edit(ran("X")).await.expect_err("there is nothing to edit");
        assert!(matches!(nothing, ThreadError::NeverRan(_)));
    })
    .await;
}

/// A run made of edits has the history of a real run.
#[tokio::test]
async fn f09_a_run_is_written_down_edit_by_edit() {
    on_both_savers(|saver| async move {
        let (graph, [a, ..]) = abc(&saver);
        let thread = graph.thread("t");
        thread.input(ran("in")).await.expect("it is stored");
        thread.edit_as(START, ran("in")).await.expect("START is next");
        thread.edit_as(a, ran("A1")).and_as(a, ran("A2")).await.expect("a is next");
        let mut lines = Vec::new();
        for line in thread.history().expect("a store").collect().await.expect("it reads") {
            let past = thread.at(line.id).await.expect("it is there");
            lines.push(format!(
                "{:?} {} {:?} {}",
                line.source,
                line.step,
                line.next,
                past.state().ran.join(" ")
            ));
        }
        assert_eq!(
            lines,
            [r#"Update 1 ["b"] in A1 A2"#, r#"Update 0 ["a"] in"#, r#"Input -1 ["__start__"] "#,]
        );
    })
    .await;
}

#[derive(Route, Clone, Debug, Serialize, Deserialize)]
enum Verdict {
    Accept,
    Revise,
}

/// `review` decides by a route; `count` decides by a branch on the state.
fn deciding(saver: &Arc<dyn Checkpointer>) -> (Graph<Log>, NodeRef<NoInput, Verdict>) {
    #[derive(Route, Serialize, Deserialize)]
    enum Size {
        Small,
        Large,
    }
    let mut g = StateGraph::<Log, Stage>::new("g");
    let review = g.node("review", async |calls: Dep<Calls>| {
        calls.note("review");
        (ran("review"), Verdict::Accept)
    });
    let [write, count, more] = ["write", "count", "more"].map(|name| g.node(name, mark));
    g.edge(START, review);
    g.route(review, move |verdict| match verdict {
        Verdict::Accept => to(count),
        Verdict::Revise => to(write),
    });
    g.edge(write, END);
    let size = |log: &Log| if log.ran.len() > 3 { Size::Large } else { Size::Small };
    g.branch(count, size, move |size| match size {
        Size::Small => to(more),
        Size::Large => END,
    });
    g.edge(more, END);
    let graph = g.compile().expect("sound").with_context(Stage::default());
    (graph.shared_checkpointer(saver.clone()), review)
}

#[tokio::test]
async fn an_edit_as_a_deciding_node_takes_its_decision() {
    on_both_savers(|saver| async move {
        let (graph, review) = deciding(&saver);
        let thread = graph.thread("t");
        thread.input(Log::update()).await.expect("it is stored");
        let early = thread.edit_as(review, Verdict::Revise).await.expect_err("START has led nowhere yet");
        assert_eq!(
            early.to_string(),
            "an edit as \"review\" would drop next tasks that other nodes led to: \"__start__\"; edit as those \
             nodes too, or drop the tasks first with `discard_pending`"
        );
        thread.edit_as(START, ()).await.expect("START is next");
        let wrong = thread.edit_as_named("review", ran("X")).await.expect_err("it decides");
        assert!(matches!(wrong, RunError::Thread(ThreadError::WrongDecision { .. })), "{wrong}");
        thread.edit_as(review, (ran("by hand"), Verdict::Revise)).await.expect("it is next");
        assert_eq!(now(&thread).await, "by hand | write");
        let head = thread.head().await.expect("it ran");
        let route = head.tasks()[0].route.as_ref().expect("its decision is recorded");
        assert_eq!(route.case, "Revise");
        // The decision was wrong: an edit as the same node replaces the nodes that it led to.
        thread.edit_as_named("review", Verdict::Accept).await.expect("nothing else is next");
        assert_eq!(now(&thread).await, "by hand | count");
        assert_eq!(resumed(&thread).await, "by hand count more");
    })
    .await;
}

#[tokio::test]
async fn an_edit_as_the_last_node_decides_its_branches_again_and_repeats_its_route() {
    on_both_savers(|saver| async move {
        let (graph, _) = deciding(&saver);
        let thread = graph.thread("t");
        let stop = |run: Result<Run<Log>, RunError>| {
            assert!(matches!(run.expect("runs").status, Status::Breakpoint { .. }))
        };
        stop(thread.run(Log::update()).interrupt_after("review").await);
        thread.edit_as_last(ran("one")).await.expect("review ran last");
        assert_eq!(now(&thread).await, "review one | count");
        stop(thread.resume().interrupt_before("more").await);
        assert_eq!(now(&thread).await, "review one count | more");
        // After an edit from outside it is still the last node that ran.
        thread.edit(Log::update().verdict("fine")).await.expect("there is no other writer");
        thread.edit_as_last(ran("two")).await.expect("count ran last");
        assert_eq!(now(&thread).await, "review one count two | ", "it is large now");
    })
    .await;
}

#[tokio::test]
async fn an_edit_as_a_node_does_not_silently_drop_what_others_led_to() {
    on_both_savers(|saver| async move {
        let (graph, [a, b, _]) = pair(&saver);
        let thread = graph.thread("t");
        thread.run(Log::update()).interrupt_before("c").await.map(drop).expect("no node fails");
        let drops = thread.edit_as(b, ran("B")).await.expect_err("a has led to c");
        let RunError::Thread(ThreadError::WouldDrop { nodes, next }) = &drops else { panic!("{drops}") };
        assert_eq!((&nodes[..], &next[..]), (&["b".into()][..], &["c".into()][..]));
        assert_eq!(now(&thread).await, "a b | c", "nothing was stored");
        thread.edit_as(a, ran("A")).await.expect("the nodes after a are next again");
        assert_eq!(now(&thread).await, "a b A | c");
        thread.discard_pending().await.expect("there is no other writer");
        thread.edit_as(b, ran("B")).await.expect("nothing is left to drop");
        assert_eq!(now(&thread).await, "a b A B | ");
    })
    .await;
}

/// The join has already fired: another edit as its source completes it again.
#[tokio::test]
async fn an_edit_as_a_source_of_a_join_completes_it_again() {
    on_both_savers(|saver| async move {
        let (graph, [a, ..]) = wired(["a", "b", "b2", "d"], &saver, |g, [a, b, b2, d]| {
            g.edge(START, a);
            g.edge(START, b);
            g.edge(b, b2);
            g.join([a, b2], d);
            g.edge(d, END);
        });
        let thread = graph.thread("t");
        thread.run(Log::update()).interrupt_before("d").await.map(drop).expect("no node fails");
        thread.edit_as_last(ran("b2!")).await.expect("b2 ran last");
        assert_eq!(now(&thread).await, "a b b2 b2! | d");
        let head = thread.head().await.expect("it ran");
        assert!(head.loaded().checkpoint.frontier.joins.is_empty(), "nothing waits");
        assert_eq!(resumed(&thread).await, "a b b2 b2! d");

        let waits = graph.thread("waits");
        waits.input(Log::update()).await.expect("it is stored");
        waits.edit_as(START, ()).await.expect("START is next");
        waits.edit_as(a, ran("A")).await.expect("a is next");
        assert_eq!(resumed(&waits).await, "A b b2 d");
    })
    .await;
}

#[tokio::test]
async fn b54_results_of_siblings_survive_an_edit_as_the_node_before_them() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let mut g = StateGraph::<Log, Stage>::new("g");
        let a = g.node("a", mark);
        let done = g.node("done", mark);
        let asks = g.node("asks", async |ask: Ask<String, String>| ran(&ask.ask("?".into()).await));
        g.edge(START, a);
        g.edge(a, done);
        g.edge(a, asks);
        g.edge(done, END);
        g.edge(asks, END);
        let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let open = thread.run(Log::update()).await.expect("no node fails").interrupted().expect("it asks");
        assert_eq!(open.len(), 1);
        assert_eq!(now(&thread).await, "a done | asks");
        thread.edit_as_last(ran("a!")).await.expect("a ran last");
        assert_eq!(now(&thread).await, "a a! done | asks");
        // The question is the same, and can be answered at once; or an edit replaces the node that asks.
        assert_eq!(thread.state().await.expect("it ran").interrupts().count(), 1);
        thread.edit_as(asks, ran("played")).await.expect("it is next");
        assert_eq!(now(&thread).await, "a a! played done | ");
        assert_eq!(stage.calls.take(), ["a", "done"]);
        assert!(graph.interrupts().await.expect("the store reads").is_empty());
    })
    .await;
}

#[tokio::test]
async fn edits_that_cannot_be_merged_store_nothing() {
    on_both_savers(|saver| async move {
        let (graph, [a, b, _]) = pair(&saver);
        let thread = graph.thread("t");
        thread.input(Log::update()).await.expect("it is stored");
        thread.edit_as(START, ()).await.expect("START is next");
        let both = thread.edit_as(a, Log::update().verdict("x")).and_as(b, Log::update().verdict("y"));
        assert!(matches!(both.await.expect_err("one may write it"), RunError::Conflict { .. }));
        assert_eq!(now(&thread).await, " | a b");
        assert_eq!(resumed(&thread).await, "a b c");
    })
    .await;
}

#[tokio::test]
async fn b73_each_task_of_a_node_is_played_by_itself() {
    #[derive(Route, Serialize, Deserialize)]
    enum Fan {
        Out(Vec<u32>),
    }
    on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log, Stage>::new("g");
        let w = g.node("w", async |item: Input<u32>| ran(&item.to_string()));
        let end = g.node("z", mark);
        g.branch(START, |_| Fan::Out(vec![1, 2, 3]), move |Fan::Out(items)| each(w, items));
        g.edge(w, end);
        g.edge(end, END);
        let graph = g.compile().expect("sound").with_context(Stage::default()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        thread.input(Log::update()).await.expect("it is stored");
        thread.edit_as(START, ()).await.expect("START is next");
        assert_eq!(now(&thread).await, " | w w w");
        thread.edit_as(w, ran("one")).and_as(w, ran("two")).await.expect("they are next");
        assert_eq!(now(&thread).await, "one two | w");
        assert_eq!(resumed(&thread).await, "one two 3 z");
    })
    .await;
}

/// Edits are stored under a reserved name, so a node with that name would look like an edit.
#[test]
fn no_node_is_called_like_an_edit() {
    let mut g = StateGraph::<Log, Stage>::new("g");
    let node = g.node("__edit__", mark);
    g.edge(START, node);
    g.edge(node, END);
    let error = g.compile().map(drop).expect_err("the name is reserved").to_string();
    assert!(error.contains("a node cannot be called \"__edit__\": the name is reserved"), "{error}");
}
