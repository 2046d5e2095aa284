//! The order of tasks, and of merged writes.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use superstep::driver::graph::Targets;
use superstep::graph::NodeRef;
use superstep::node::NoInput;
use superstep::prelude::*;

use crate::support::on_both_savers;

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    v: Vec<String>,
}

type Plain = NodeRef<NoInput, ()>;

async fn mark(task: TaskInfo) -> Update<Log> {
    Log::update().v([task.node().as_str()])
}

/// A worker that writes the number that is its item.
async fn work(item: Input<u32>) -> Update<Log> {
    Log::update().v([format!("w{}", *item)])
}

fn marks<const N: usize>(g: &mut StateGraph<Log>, names: [&str; N]) -> [Plain; N] {
    names.map(|name| g.node(name, mark))
}

/// A branch that always leads to the same targets.
#[derive(Route, Serialize, Deserialize)]
enum Always {
    Here,
}

/// Lets `from` lead to these targets, in a branch.
fn lead<In, Out>(
    g: &mut StateGraph<Log>,
    from: NodeRef<In, Out>,
    targets: impl Fn() -> Targets + Send + Sync + 'static,
) {
    g.branch(from, |_| Always::Here, move |_| targets());
}

async fn ran(g: StateGraph<Log>, input: &[&str]) -> Vec<String> {
    let input: Vec<String> = input.iter().map(ToString::to_string).collect();
    let run = g.compile().expect("a sound graph").run(Log::update().v(input)).await.expect("no node fails");
    run.finished().expect("nothing stops it").v
}

#[tokio::test]
async fn a01_a_chain_has_a_checkpoint_for_the_input_the_start_and_each_superstep() {
    on_both_savers(async |saver| {
        let mut g = StateGraph::<Log>::new("chain");
        let [a, b] = marks(&mut g, ["a", "b"]);
        g.edge(START, a);
        g.edge(a, b);
        g.edge(b, END);
        let thread = g.compile().unwrap().shared_checkpointer(saver).thread("1");
        let done = thread.run(Log::update().v(["x"])).await.unwrap().finished().unwrap();
        assert_eq!(done.v, ["x", "a", "b"]);
        let mut lines = Vec::new();
        for summary in thread.history().unwrap().collect().await.unwrap() {
            let past = thread.at(summary.id).await.unwrap();
            let view = past.view();
            lines.push((view.metadata.source, past.step(), view.next.join(","), past.state().v.join(",")));
        }
        let line = |source: &str, step, next: &str, v: &str| (source.into(), step, next.into(), v.into());
        let expected: [(String, i64, String, String); 4] = [
            line("loop", 2, "", "x,a,b"),
            line("loop", 1, "b", "x,a"),
            line("loop", 0, "a", "x"),
            line("input", -1, "__start__", ""),
        ];
        assert_eq!(lines, expected);
    })
    .await;
}

#[tokio::test]
async fn a02_parallel_writes_merge_by_name_not_by_completion() {
    let mut g = StateGraph::<Log>::new("names");
    for (name, turns) in [("a10", 0), ("a2", 2), ("b", 0), ("A", 3)] {
        let node = g.node(name, move |task: TaskInfo| async move {
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
            mark(task).await
        });
        g.edge(START, node);
        g.edge(node, END);
    }
    assert_eq!(ran(g, &[]).await, ["A", "a10", "a2", "b"]);
}

#[tokio::test]
async fn a03_nodes_come_before_items_and_items_in_their_order() {
    let mut g = StateGraph::<Log>::new("items");
    let [z] = marks(&mut g, ["z"]);
    let w = g.node("w", work);
    g.edge(z, END);
    g.edge(w, END);
    lead(&mut g, START, move || each(w, [2]).and(to(z)).and(each(w, [1])));
    assert_eq!(ran(g, &[]).await, ["z", "w2", "w1"]);
}

#[tokio::test]
async fn a04_items_of_two_producers_come_by_producer_then_by_index() {
    let mut g = StateGraph::<Log>::new("producers");
    let [p1, p2] = marks(&mut g, ["p1", "p2"]);
    let w = g.node("w", work);
    g.edge(START, p1);
    g.edge(START, p2);
    g.edge(w, END);
    lead(&mut g, p2, move || each(w, [3, 4]));
    lead(&mut g, p1, move || each(w, [1, 2]));
    assert_eq!(ran(g, &[]).await, ["p1", "p2", "w1", "w2", "w3", "w4"]);
}

#[tokio::test]
async fn a06_k12_tasks_of_a_superstep_see_the_state_before_it() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut g = StateGraph::<Log>::new("isolated");
    let [a, b, c] = ["a", "b", "c"].map(|name| {
        let seen = Arc::clone(&seen);
        g.node(name, move |log: Snapshot<Log>| {
            seen.lock().expect("no test panics with the lock").push(format!("{name} {}", log.v.join(",")));
            async move { Log::update().v([name]) }
        })
    });
    g.edge(START, a);
    g.edge(START, b);
    g.edge(a, c);
    g.edge(b, END);
    g.edge(c, END);
    assert_eq!(ran(g, &["i"]).await, ["i", "a", "b", "c"]);
    let mut seen = seen.lock().unwrap().clone();
    seen.sort();
    assert_eq!(seen, ["a i", "b i", "c i,a,b"]);
}

/// `a` and `b` begin, `c` follows `b`, and `d` comes after both ways.
fn two_ways(g: &mut StateGraph<Log>, joined: bool) {
    let [a, b, c, d] = marks(g, ["a", "b", "c", "d"]);
    g.edge(START, a);
    g.edge(START, b);
    g.edge(b, c);
    g.edge(d, END);
    if joined {
        g.edge(a, END);
        g.edge(c, END);
        g.join([a, c], d);
    } else {
        g.edge(a, d);
        g.edge(c, d);
    }
}

#[tokio::test]
async fn a07_a_join_waits_for_all() {
    let mut g = StateGraph::new("join");
    two_ways(&mut g, true);
    assert_eq!(ran(g, &[]).await, ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn a08_two_plain_edges_run_a_node_once_per_arriving_step() {
    let mut g = StateGraph::new("or");
    two_ways(&mut g, false);
    assert_eq!(ran(g, &[]).await, ["a", "b", "c", "d", "d"]);
}

#[tokio::test]
async fn a09_two_edges_of_one_step_run_a_node_once() {
    let mut g = StateGraph::<Log>::new("once");
    let [a, b, c] = marks(&mut g, ["a", "b", "c"]);
    for node in [a, b] {
        g.edge(START, node);
        g.edge(node, c);
    }
    g.edge(c, END);
    assert_eq!(ran(g, &[]).await, ["a", "b", "c"]);
}

#[tokio::test]
async fn a12_a_branch_sees_its_own_nodes_write_and_no_siblings() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let seeing = Arc::clone(&seen);
    let mut g = StateGraph::<Log>::new("own");
    let [a, b] = marks(&mut g, ["a", "b"]);
    g.edge(START, a);
    g.edge(START, b);
    g.edge(b, END);
    let look = move |log: &Log| {
        seeing.lock().expect("no test panics with the lock").push(log.v.join(","));
        Always::Here
    };
    g.branch(a, look, |_| END);
    ran(g, &["i"]).await;
    assert_eq!(*seen.lock().unwrap(), ["i,a"]);
}

#[derive(Route, Serialize, Deserialize)]
enum Round {
    Again,
    Done,
}

#[tokio::test]
async fn a13_a_join_is_reset_when_it_fires() {
    let mut g = StateGraph::<Log>::new("rounds");
    let [a, b] = marks(&mut g, ["a", "b"]);
    let d = g.node("d", async |log: Snapshot<Log>| {
        let round = 1 + log.v.iter().filter(|name| name.starts_with('d')).count();
        let next = if round < 2 { Round::Again } else { Round::Done };
        (Log::update().v([format!("d{round}")]), next)
    });
    for node in [a, b] {
        g.edge(START, node);
        g.edge(node, END);
    }
    g.join([a, b], d);
    g.route(d, move |round| match round {
        Round::Again => to(a).and(to(b)),
        Round::Done => END,
    });
    assert_eq!(ran(g, &[]).await, ["a", "b", "d1", "a", "b", "d2"]);
}

/// Goes to `a` or to `b`, depending on the last entry; `d` waits for both.
fn half_a_join() -> Graph<Log> {
    let mut g = StateGraph::<Log>::new("half");
    let [a, b, d] = marks(&mut g, ["a", "b", "d"]);
    let decide =
        |log: &Log| if log.v.last().is_some_and(|last| last == "go_a") { Round::Again } else { Round::Done };
    g.branch(START, decide, move |way| match way {
        Round::Again => to(a),
        Round::Done => to(b),
    });
    for node in [a, b, d] {
        g.edge(node, END);
    }
    g.join([a, b], d);
    g.compile().expect("each source can be reached")
}

/// In LangGraph a source that arrived in one turn counts in the next.
#[tokio::test]
async fn a14_a_join_that_was_left_half_complete_is_reset_with_the_next_turn() {
    on_both_savers(async |saver| {
        let thread = half_a_join().shared_checkpointer(saver).thread("1");
        let turn =
            async |input: &str| thread.run(Log::update().v([input])).await.unwrap().finished().unwrap().v;
        assert_eq!(turn("go_a").await, ["go_a", "a"]);
        assert_eq!(turn("go_b").await, ["go_a", "a", "go_b", "b"]);
    })
    .await;
}

#[tokio::test]
async fn o10_a_join_with_a_source_that_was_not_chosen_does_not_fire_and_says_so() {
    let unjoined = Arc::new(Mutex::new(Vec::new()));
    let noting = Arc::clone(&unjoined);
    let watch = move |event: &superstep::run::RunEvent| {
        if let superstep::run::EventKind::JoinUnfinished { target, .. } = &event.kind {
            noting.lock().expect("no test panics with the lock").push(target.to_string());
        }
    };
    let run = half_a_join().run(Log::update().v(["go_a"])).observe(watch).await.unwrap();
    assert_eq!(run.finished().unwrap().v, ["go_a", "a"]);
    assert_eq!(*unjoined.lock().unwrap(), ["d"]);
}

#[tokio::test]
async fn a17_an_empty_input_runs_and_none_at_all_is_an_error() {
    let mut g = StateGraph::<Log>::new("empty");
    let [a] = marks(&mut g, ["a"]);
    g.edge(START, a);
    g.edge(a, END);
    let graph = g.compile().unwrap().checkpointer(MemorySaver::new());
    assert_eq!(graph.run(Log::update()).await.unwrap().finished().unwrap().v, ["a"]);
    assert!(matches!(graph.thread("new").resume().await, Err(RunError::NothingToResume { .. })));
}

#[tokio::test]
async fn c01_a_decision_and_a_plain_way_both_lead_on() {
    let mut g = StateGraph::<Log>::new("both");
    let a = g.node("a", async || (Log::update().v(["a"]), Always::Here));
    let [b, c] = marks(&mut g, ["b", "c"]);
    g.edge(START, a);
    g.route(a, move |_| to(c));
    lead(&mut g, a, move || to(b));
    g.edge(b, END);
    g.edge(c, END);
    assert_eq!(ran(g, &[]).await, ["a", "b", "c"]);
}

#[tokio::test]
async fn c03_a_decision_may_lead_to_items_a_node_and_end_together() {
    let mut g = StateGraph::<Log>::new("mixed");
    let a = g.node("a", async || Always::Here);
    let [c] = marks(&mut g, ["c"]);
    let w = g.node("w", work);
    g.edge(START, a);
    g.route(a, move |_| each(w, [1]).and(to(c)).and(END));
    g.edge(c, END);
    g.edge(w, END);
    assert_eq!(ran(g, &[]).await, ["c", "w1"]);
}

#[tokio::test]
async fn b01_items_that_all_lead_to_one_node_run_it_once() {
    let mut g = StateGraph::<Log>::new("together");
    let [one, three] = marks(&mut g, ["1", "3"]);
    let two = g.node("2", async |_item: Input<u32>| (Log::update().v(["2"]), Always::Here));
    g.edge(START, one);
    lead(&mut g, one, move || each(two, [0, 0]));
    g.route(two, move |_| to(three));
    g.edge(three, END);
    assert_eq!(ran(g, &["0"]).await, ["0", "1", "2", "2", "3"]);
}

#[tokio::test]
async fn b02_a_node_beside_items_of_two_producers_comes_first() {
    let mut g = StateGraph::<Log>::new("concurrent");
    let [one, one_one, three, three_one] = marks(&mut g, ["1", "1.1", "3", "3.1"]);
    let two = g.node("2", async |item: Input<u32>| (Log::update().v([format!("2|{}", *item)]), Always::Here));
    g.edge(START, one);
    g.edge(START, one_one);
    lead(&mut g, one, move || each(two, [1, 2]).and(to(three_one)));
    lead(&mut g, one_one, move || each(two, [3, 4]));
    g.route(two, move |_| to(three));
    g.edge(three, END);
    g.edge(three_one, END);
    let expected = ["0", "1", "1.1", "3.1", "2|1", "2|2", "2|3", "2|4", "3"];
    assert_eq!(ran(g, &["0"]).await, expected);
}

#[tokio::test]
async fn b03_items_that_send_items_continue_beside_the_node_they_lead_to() {
    #[derive(Route, Serialize, Deserialize)]
    enum Sent {
        On(u32),
        Done,
    }
    let mut g = StateGraph::<Log>::new("sequences");
    let [one, three, three_one] = marks(&mut g, ["1", "3", "3.1"]);
    let two = g.node("2", async |item: Input<(u32, bool)>| {
        let (number, sends) = *item;
        let said = if sends { format!("2|send {number}") } else { format!("2|{number}") };
        (Log::update().v([said]), if sends { Sent::On(number) } else { Sent::Done })
    });
    g.edge(START, one);
    lead(&mut g, one, move || each(two, [(3, true), (4, true)]).and(to(three_one)));
    g.route(two, move |sent| match sent {
        Sent::On(number) => each(two, [(number, false)]).and(to(three)),
        Sent::Done => to(three),
    });
    g.edge(three, END);
    g.edge(three_one, END);
    let expected = ["0", "1", "3.1", "2|send 3", "2|send 4", "3", "2|3", "2|4", "3"];
    assert_eq!(ran(g, &["0"]).await, expected);
}

#[tokio::test]
async fn b17_o03_an_overwrite_replaces_what_was_there_and_what_a_sibling_adds() {
    let mut g = StateGraph::<Log>::new("sequential");
    let [a] = marks(&mut g, ["a"]);
    let b = g.node("b", async || Log::update().set_v(["b"].map(String::from)));
    g.edge(START, a);
    g.edge(a, b);
    g.edge(b, END);
    assert_eq!(ran(g, &["START"]).await, ["b"]);

    let mut g = StateGraph::<Log>::new("parallel");
    let [a, c, d] = marks(&mut g, ["a", "c", "d"]);
    let b = g.node("b", async || Log::update().set_v(["b"].map(String::from)));
    g.edge(START, a);
    g.edge(a, b);
    g.edge(a, c);
    g.edge(b, d);
    g.edge(c, d);
    g.edge(d, END);
    assert_eq!(ran(g, &["START"]).await, ["b", "d"]);
}

#[tokio::test]
async fn l13_a_node_is_reached_by_a_route_and_by_the_items_of_the_same_route() {
    let mut g = StateGraph::<Log>::new("mixed");
    let a = g.node("a", async || Always::Here);
    let pull = g.node("pull", mark);
    let push = g.node("push", work);
    g.edge(START, a);
    g.route(a, move |_| each(push, [1]).and(to(pull)));
    g.edge(pull, END);
    g.edge(push, END);
    assert_eq!(ran(g, &[]).await, ["pull", "w1"]);
}

#[tokio::test]
async fn l17_fifty_items_keep_their_order() {
    let mut g = StateGraph::<Log>::new("wide");
    let w = g.node("w", async |item: Input<u32>| {
        for _ in 0..(*item * 7) % 5 {
            tokio::task::yield_now().await;
        }
        Log::update().v([item.to_string()])
    });
    lead(&mut g, START, move || each(w, 0..50));
    g.edge(w, END);
    let expected: Vec<String> = (0..50).map(|number| number.to_string()).collect();
    assert_eq!(ran(g, &[]).await, expected);
}

#[tokio::test]
async fn o06_a_task_of_each_has_its_item_apart_from_the_state() {
    let mut g = StateGraph::<Log>::new("apart");
    let w = g.node("w", async |item: Input<u32>, log: Snapshot<Log>| {
        Log::update().v([format!("{} of {}", *item, log.v.len())])
    });
    lead(&mut g, START, move || each(w, [1]));
    g.edge(w, END);
    assert_eq!(ran(g, &["i"]).await, ["i", "1 of 1"]);
}

#[tokio::test]
async fn a_join_is_reset_when_a_branch_behind_it_leads_back() {
    let mut g = StateGraph::<Log>::new("rounds");
    let [rewrite, one, two, decider, qa] = marks(&mut g, ["rewrite", "r1", "r2", "decider", "qa"]);
    g.edge(START, rewrite);
    for retriever in [one, two] {
        g.edge(rewrite, retriever);
    }
    g.join([one, two], decider);
    let decide = |log: &Log| {
        let rounds = log.v.iter().filter(|name| *name == "decider").count();
        if rounds < 2 { Round::Again } else { Round::Done }
    };
    g.branch(decider, decide, move |round| match round {
        Round::Again => to(rewrite),
        Round::Done => to(qa),
    });
    g.edge(qa, END);
    let round = ["rewrite", "r1", "r2", "decider"];
    assert_eq!(ran(g, &[]).await, [&round[..], &round, &["qa"]].concat());
}
