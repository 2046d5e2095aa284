//! Fan-out: one task per item, in parallel, merged in item order.

use serde::{Deserialize, Serialize};
use superstep::prelude::*;

use crate::support::{Calls, Stage, on_both_savers};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
}

#[derive(Route, Serialize, Deserialize)]
enum Send {
    Items(Vec<u32>),
    ItemsAndNode(Vec<u32>),
    Done,
}

async fn mark(task: TaskInfo) -> Update<Log> {
    Log::update().ran([task.node().to_string()])
}

async fn work(task: TaskInfo, item: Input<u32>) -> Update<Log> {
    Log::update().ran([format!("{}{}", task.node(), *item)])
}

async fn run(g: StateGraph<Log>) -> Vec<String> {
    let run = g.compile().expect("sound").run(Log::update()).await;
    run.expect("no node fails").finished().expect("no pause").ran
}

#[tokio::test(start_paused = true)]
async fn items_merge_in_their_order_whatever_finishes_first() {
    let mut g = StateGraph::<Log>::new("g");
    let split = g.node("split", || async { Send::Items(vec![3, 1, 2]) });
    let work = g.node("w", |item: Input<u32>| async move {
        tokio::time::sleep(std::time::Duration::from_secs(u64::from(*item))).await;
        Log::update().ran([format!("w{}", *item)])
    });
    let join = g.node("join", mark);
    g.edge(START, split);
    g.route(split, move |send| match send {
        Send::Items(items) | Send::ItemsAndNode(items) => each(work, items),
        Send::Done => END,
    });
    g.edge(work, join);
    g.edge(join, END);
    assert_eq!(run(g).await, ["w3", "w1", "w2", "join"], "and the join runs once");
}

#[tokio::test]
async fn a_node_beside_its_items_comes_first() {
    let mut g = StateGraph::<Log>::new("g");
    let split = g.node("split", || async { Send::ItemsAndNode(vec![2, 1]) });
    let work = g.node("a_worker", work);
    let node = g.node("z", mark);
    g.edge(START, split);
    g.route(split, move |send| match send {
        Send::Items(items) => each(work, items),
        Send::ItemsAndNode(items) => each(work, items).and(to(node)),
        Send::Done => END,
    });
    g.edge(work, END);
    g.edge(node, END);
    assert_eq!(run(g).await, ["z", "a_worker2", "a_worker1"]);
}

#[tokio::test]
async fn items_of_two_producers_come_in_the_order_of_the_producers() {
    let mut g = StateGraph::<Log>::new("g");
    let second = g.node("p2", || async { Send::Items(vec![3, 4]) });
    let first = g.node("p1", || async { Send::Items(vec![1, 2]) });
    let work = g.node("w", work);
    for producer in [first, second] {
        g.edge(START, producer);
        g.route(producer, move |send| match send {
            Send::Items(items) | Send::ItemsAndNode(items) => each(work, items),
            Send::Done => END,
        });
    }
    g.edge(work, END);
    assert_eq!(run(g).await, ["w1", "w2", "w3", "w4"]);
}

#[tokio::test]
async fn an_empty_each_runs_nothing() {
    let mut g = StateGraph::<Log>::new("g");
    let split = g.node("split", || async { (Log::update().ran(["split"]), Send::Items(Vec::new())) });
    let work = g.node("w", work);
    g.edge(START, split);
    g.route(split, move |send| match send {
        Send::Items(items) | Send::ItemsAndNode(items) => each(work, items),
        Send::Done => END,
    });
    g.edge(work, END);
    assert_eq!(run(g).await, ["split"]);
}

#[tokio::test]
async fn items_may_fan_out_again() {
    let mut g = StateGraph::<Log>::new("g");
    let split = g.node("split", || async { Send::Items(vec![1, 2]) });
    let again =
        g.node("again", |item: Input<u32>| async move { Send::Items(vec![*item * 10, *item * 10 + 1]) });
    let work = g.node("w", work);
    let end = g.node("end", mark);
    g.edge(START, split);
    g.route(split, move |send| match send {
        Send::Items(items) | Send::ItemsAndNode(items) => each(again, items),
        Send::Done => END,
    });
    g.route(again, move |send| match send {
        Send::Items(items) | Send::ItemsAndNode(items) => each(work, items),
        Send::Done => END,
    });
    g.edge(work, end);
    g.edge(end, END);
    assert_eq!(run(g).await, ["w10", "w11", "w20", "w21", "end"]);
}

#[tokio::test]
async fn routes_of_several_items_into_one_node_run_it_once() {
    let mut g = StateGraph::<Log>::new("g");
    let split = g.node("split", || async { Send::Items(vec![1, 2, 3]) });
    let work =
        g.node(
            "w",
            |item: Input<u32>| async move { (Log::update().ran([format!("w{}", *item)]), Send::Done) },
        );
    let end = g.node("end", mark);
    g.edge(START, split);
    g.route(split, move |send| match send {
        Send::Items(items) | Send::ItemsAndNode(items) => each(work, items),
        Send::Done => END,
    });
    g.route(work, move |_| to(end));
    g.edge(end, END);
    assert_eq!(run(g).await, ["w1", "w2", "w3", "end"]);
}

/// The tasks of the items used to arrive again after the join had fired, and the run ended with a waiting join.
#[tokio::test]
async fn a_join_of_items_with_a_node_leaves_nothing_behind() {
    use std::sync::{Arc, Mutex};
    use superstep::run::{EventKind, RunEvent};

    let mut g = StateGraph::<Log>::new("g");
    let split = g.node("split", || async { Send::ItemsAndNode(vec![1, 2, 3]) });
    let work = g.node("w", work);
    let [node, end] = ["node", "end"].map(|name| g.node(name, mark));
    g.edge(START, split);
    g.route(split, move |send| match send {
        Send::Items(items) => each(work, items),
        Send::ItemsAndNode(items) => each(work, items).and(to(node)),
        Send::Done => END,
    });
    g.join((work, node), end);
    g.edge(end, END);
    let waiting = Arc::new(Mutex::new(0));
    let count = Arc::clone(&waiting);
    let graph = g.compile().expect("sound").observe(move |event: &RunEvent| {
        if let EventKind::JoinUnfinished { .. } = event.kind {
            *count.lock().expect("nothing panics") += 1;
        }
    });
    let run = graph.run(Log::update()).await.expect("no node fails");
    assert_eq!(run.state.ran, ["node", "w1", "w2", "w3", "end"]);
    assert_eq!(*waiting.lock().expect("nothing panics"), 0);
}

#[tokio::test]
async fn items_are_stored_and_survive_a_stop() {
    crate::support::on_both_savers(|saver| async move {
        let mut g = StateGraph::<Log>::new("g");
        let split = g.node("split", || async { Send::Items(vec![1, 2]) });
        let work = g.node("w", work);
        g.edge(START, split);
        g.route(split, move |send| match send {
            Send::Items(items) | Send::ItemsAndNode(items) => each(work, items),
            Send::Done => END,
        });
        g.edge(work, END);
        let graph = g.compile().expect("sound").shared_checkpointer(saver);
        let thread = graph.thread("t");
        let stopped = thread.run(Log::update()).recursion_limit(1).await;
        assert!(stopped.expect("no node fails").finished().is_err());
        let view = thread.head().await.expect("it ran").view();
        let inputs: Vec<_> = view.tasks.iter().map(|task| task.input.clone()).collect();
        assert_eq!(inputs, [Some(1.into()), Some(2.into())]);
        let log = thread.resume().await.expect("no node fails").state;
        assert_eq!(log.ran, ["w1", "w2"]);
    })
    .await;
}

/// The targets of an item of `2`.
#[derive(Route, Clone, Debug, Serialize, Deserialize)]
enum Onward {
    Two(u32),
    Flaky(u32),
    Nowhere,
}

#[tokio::test]
async fn b51_items_that_finished_before_a_pause_do_not_run_again() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let mut g = StateGraph::<Log, Stage>::new("g");
        let [one, three, three_one] = ["1", "3", "3.1"].map(|name| g.node(name, mark));
        let two = g.node("2", async |given: Input<(u32, Onward)>, calls: Dep<Calls>| {
            calls.note("2");
            let (number, onward) = given.clone();
            let said = match &onward {
                Onward::Nowhere => format!("2|{number}"),
                onward => format!("2|{onward:?}"),
            };
            (Log::update().ran([said]), onward)
        });
        let flaky = g.node("flaky", async |item: Input<u32>, ask: Ask<String, ()>, calls: Dep<Calls>| {
            calls.note("flaky");
            ask.ask("again?".into()).await;
            Log::update().ran([format!("flaky|{}", *item)])
        });
        g.edge(START, one);
        let items = || [(0, Onward::Two(3)), (0, Onward::Flaky(4))];
        g.branch(one, |_| Send::Done, move |_| each(two, items()).and(to(three_one)));
        g.route(two, move |onward| match onward {
            Onward::Two(item) => each(two, [(item, Onward::Nowhere)]).and(to(three)),
            Onward::Flaky(item) => each(flaky, [item]).and(to(three)),
            Onward::Nowhere => to(three),
        });
        g.edge(flaky, three);
        g.edge(three, END);
        g.edge(three_one, END);
        let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        let run = thread.run(Log::update().ran(["0"])).await.expect("no node fails");
        assert_eq!(run.interrupted().expect("it asks").len(), 1);
        let before = ["0", "1", "3.1", "2|Two(3)", "2|Flaky(4)", "3", "2|3"];
        let live = thread.state().await.expect("it ran");
        assert_eq!(
            (&live.values.ran[..], &live.next[..]),
            (&before.map(String::from)[..], &["flaky".into()][..])
        );
        assert_eq!((stage.calls.of("2"), stage.calls.of("flaky")), (3, 1));
        assert_eq!(thread.history().expect("a store").collect().await.expect("it reads").len(), 4);
        let log = thread.answer(&()).await.expect("no node fails").finished().expect("it finishes");
        assert_eq!(log.ran, [&before[..], &["flaky|4", "3"]].concat());
        assert_eq!((stage.calls.of("2"), stage.calls.of("flaky")), (3, 2));
        assert_eq!(thread.history().expect("a store").collect().await.expect("it reads").len(), 6);
    })
    .await;
}
