//! Supersteps: one snapshot for all tasks, writes merged in task order, conflicts named.

use serde::{Deserialize, Serialize};
use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
    topic: String,
    #[reducer(Sum)]
    cost: u64,
    #[state(transient)]
    scratch: u32,
}

/// Writes its own name.
async fn mark(task: TaskInfo) -> Update<Log> {
    Log::update().ran([task.node().to_string()])
}

/// Writes its own name and the state that it saw.
async fn look(task: TaskInfo, log: Snapshot<Log>) -> Update<Log> {
    Log::update().ran([format!("{}{:?}", task.node(), log.ran)])
}

async fn ran(graph: Graph<Log>) -> Vec<String> {
    let run = graph.run(Log::update()).await.expect("no node fails");
    run.finished().expect("nothing pauses").ran
}

#[tokio::test]
async fn every_task_sees_the_state_of_the_last_barrier() {
    let mut g = StateGraph::<Log>::new("g");
    let [a, b, c] = ["a", "b", "c"].map(|name| g.node(name, look));
    g.edge(START, a);
    g.edge(START, b);
    g.edge(a, c);
    g.edge(b, END);
    g.edge(c, END);
    let ran = ran(g.compile().expect("sound")).await;
    assert_eq!(ran, ["a[]", "b[]", r#"c["a[]", "b[]"]"#]);
}

#[tokio::test(start_paused = true)]
async fn writes_merge_in_the_order_of_names_whatever_finishes_first() {
    let mut g = StateGraph::<Log>::new("g");
    for (name, seconds) in [("a2", 1), ("b", 0), ("A", 3), ("a10", 2)] {
        let node = g.node(name, move |task: TaskInfo| async move {
            tokio::time::sleep(std::time::Duration::from_secs(seconds)).await;
            Log::update().ran([task.node().to_string()])
        });
        g.edge(START, node);
        g.edge(node, END);
    }
    assert_eq!(ran(g.compile().expect("sound")).await, ["A", "a10", "a2", "b"]);
}

#[tokio::test]
async fn two_edges_into_a_node_run_it_once_per_arriving_step() {
    let mut g = StateGraph::<Log>::new("g");
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| g.node(name, mark));
    g.edge(START, a);
    g.edge(START, b);
    g.edge(b, c);
    g.edge(a, d);
    g.edge(c, d);
    g.edge(d, END);
    assert_eq!(ran(g.compile().expect("sound")).await, ["a", "b", "c", "d", "d"]);
}

#[tokio::test]
async fn two_edges_that_arrive_together_run_a_node_once() {
    let mut g = StateGraph::<Log>::new("g");
    let [a, b, c] = ["a", "b", "c"].map(|name| g.node(name, mark));
    g.edge(START, a);
    g.edge(START, b);
    g.edge(a, c);
    g.edge(b, c);
    g.edge(c, END);
    assert_eq!(ran(g.compile().expect("sound")).await, ["a", "b", "c"]);
}

#[tokio::test]
async fn a_join_waits_for_the_slowest_of_its_sources() {
    let mut g = StateGraph::<Log>::new("g");
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| g.node(name, mark));
    g.edge(START, a);
    g.edge(START, b);
    g.edge(b, c);
    g.join([a, c], d);
    g.edge(d, END);
    assert_eq!(ran(g.compile().expect("sound")).await, ["a", "b", "c", "d"]);
}

#[derive(Route, Serialize, Deserialize)]
enum Again {
    Yes,
    No,
}

#[tokio::test]
async fn a_join_in_a_loop_fires_once_per_round() {
    let mut g = StateGraph::<Log>::new("g");
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| g.node(name, mark));
    g.edge(START, a);
    g.edge(START, b);
    g.edge(b, c);
    g.join([a, c], d);
    let rounds = |log: &Log| {
        let round = log.ran.iter().filter(|node| *node == "d").count();
        if round < 2 { Again::Yes } else { Again::No }
    };
    g.branch(d, rounds, move |again| match again {
        Again::Yes => to(a).and(to(b)),
        Again::No => END,
    });
    let ran = ran(g.compile().expect("sound")).await;
    assert_eq!(ran, ["a", "b", "c", "d", "a", "b", "c", "d"]);
}

#[tokio::test]
async fn b13_the_input_goes_through_the_reducers() {
    let mut g = StateGraph::<Log>::new("g");
    let a = g.node("a", look);
    g.edge(START, a);
    g.edge(a, END);
    let graph = g.compile().expect("sound").checkpointer(MemorySaver::new());
    let thread = graph.thread("t");
    let first = thread.run(Log::update().ran(["in"]).cost(1u64)).await;
    assert_eq!(first.expect("no node fails").state.ran, ["in", r#"a["in"]"#]);
    let second = thread.run(Log::update().ran(["again"]).cost(3u64)).await;
    let log = second.expect("no node fails").state;
    assert_eq!((log.cost, log.ran.len()), (4, 4), "the second turn adds to the first");
}

/// A graph of `a` and `b`, side by side, with the given writes.
fn side_by_side(a: fn() -> Update<Log>, b: fn() -> Update<Log>) -> Graph<Log> {
    let mut g = StateGraph::<Log>::new("g");
    for (name, update) in [("a", a), ("b", b)] {
        let node = g.node(name, move || async move { update() });
        g.edge(START, node);
        g.edge(node, END);
    }
    g.compile().expect("sound")
}

#[tokio::test]
async fn two_writers_of_one_value_are_an_error_that_names_both() {
    let graph = side_by_side(|| Log::update().topic("x"), || Log::update().topic("x"));
    let error = graph.run(Log::update()).await.expect_err("a conflict");
    assert_eq!(
        error.to_string(),
        "step 1: nodes \"a\" and \"b\" both write field \"topic\" in one superstep; \
         give it a reducer that takes several writers"
    );
    let RunError::Conflict { first, second, .. } = error else { panic!("{error}") };
    assert_eq!((first.as_str(), second.as_str()), ("a", "b"));
}

#[tokio::test]
async fn a_conflict_stores_nothing_of_the_superstep() {
    let graph = side_by_side(|| Log::update().topic("x"), || Log::update().topic("x"));
    let graph = graph.checkpointer(MemorySaver::new());
    let thread = graph.thread("t");
    thread.run(Log::update().topic("in")).await.expect_err("a conflict");
    let head = thread.head().await.expect("the start is stored");
    assert_eq!((head.step(), head.state().topic.as_str()), (0, "in"));
    assert_eq!(head.next().len(), 2);
}

#[tokio::test]
async fn an_overwrite_beats_what_a_sibling_reduced() {
    let graph = side_by_side(
        || Log::update().ran(["gone"]).cost(1u64),
        || Log::update().set_ran(["only".to_owned()]).ran(["and this"]),
    );
    let run = graph.run(Log::update().ran(["in"])).await.expect("no conflict");
    assert_eq!(run.state.ran, ["only", "and this"]);
    assert_eq!(run.state.cost, 1);
}

#[tokio::test]
async fn two_overwrites_of_one_field_are_an_error() {
    let graph = side_by_side(|| Log::update().set_cost(1u64), || Log::update().set_cost(1u64));
    let error = graph.run(Log::update()).await.expect_err("a conflict");
    assert_eq!(
        error.to_string(),
        "step 1: nodes \"a\" and \"b\" both overwrite field \"cost\" in one superstep; \
         let only one of them use `set_`"
    );
}

#[tokio::test]
async fn a_branch_sees_the_writes_of_its_own_node_and_of_no_sibling() {
    let mut g = StateGraph::<Log>::new("g");
    let [a, b, alone, together] = ["a", "b", "alone", "together"].map(|name| g.node(name, mark));
    g.edge(START, a);
    g.edge(START, b);
    g.edge(b, END);
    g.branch(
        a,
        |log: &Log| {
            if log.ran == ["in", "a"] { Again::Yes } else { Again::No }
        },
        move |own| match own {
            Again::Yes => to(alone),
            Again::No => to(together),
        },
    );
    g.edge(alone, END);
    g.edge(together, END);
    let graph = g.compile().expect("sound");
    let run = graph.run(Log::update().ran(["in"])).await.expect("no node fails");
    assert_eq!(run.state.ran, ["in", "a", "b", "alone"]);
}

/// Own writes used to be copied through their stored form, which a transient field does not have.
#[tokio::test]
async fn a_branch_sees_its_nodes_writes_to_fields_that_are_not_stored() {
    let mut g = StateGraph::<Log>::new("g");
    let a = g.node("a", || async { Log::update().scratch(7u32).ran(["a"]) });
    let b = g.node("b", mark);
    g.edge(START, a);
    g.branch(
        a,
        |log: &Log| if log.scratch == 7 { Again::Yes } else { Again::No },
        move |seen| match seen {
            Again::Yes => to(b),
            Again::No => END,
        },
    );
    g.edge(b, END);
    assert_eq!(ran(g.compile().expect("sound")).await, ["a", "b"]);
}

#[tokio::test]
async fn a_branch_may_leave_start() {
    let mut g = StateGraph::<Log>::new("g");
    let [a, b] = ["a", "b"].map(|name| g.node(name, mark));
    g.branch(
        START,
        |log: &Log| if log.topic == "x" { Again::Yes } else { Again::No },
        move |again| match again {
            Again::Yes => to(a),
            Again::No => to(b),
        },
    );
    g.edge(a, END);
    g.edge(b, END);
    let graph = g.compile().expect("sound");
    for (topic, expected) in [("x", "a"), ("y", "b")] {
        let run = graph.run(Log::update().topic(topic)).await.expect("no node fails");
        assert_eq!(run.state.ran, [expected], "the branch sees the input");
    }
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Bell {
    #[reducer(Ephemeral)]
    rings: bool,
    #[reducer(Append)]
    heard: Vec<bool>,
}

async fn listen(bell: Snapshot<Bell>) -> Update<Bell> {
    Bell::update().heard([bell.rings])
}

fn bells() -> Graph<Bell> {
    let mut g = StateGraph::<Bell>::new("bells");
    let first = g.node("first", listen);
    let ring = g.node("ring", || async { Bell::update().rings(true) });
    let [second, third] = ["second", "third"].map(|name| g.node(name, listen));
    g.edge(START, first);
    g.edge(first, ring);
    g.edge(ring, second);
    g.edge(second, third);
    g.edge(third, END);
    g.compile().expect("sound")
}

#[tokio::test]
async fn a_value_for_one_superstep_is_seen_by_the_next_only() {
    let run = bells().run(Bell::update()).await.expect("no node fails");
    assert_eq!(run.state.heard, [false, true, false]);
    let run = bells().run(Bell::update().rings(true)).await.expect("no node fails");
    assert_eq!(run.state.heard, [true, true, false]);
}

/// The reset of the field depended on the writes of the last superstep: an edit in between used to prevent it.
#[tokio::test]
async fn a_value_for_one_superstep_goes_out_after_a_resume_and_after_an_edit() {
    crate::support::on_both_savers(|saver| async move {
        let graph = bells().shared_checkpointer(saver);
        for (name, edited) in [("resumed", false), ("edited", true)] {
            let thread = graph.thread(name);
            let run = thread.run(Bell::update()).recursion_limit(2).await;
            assert!(run.expect("no node fails").state.rings);
            if edited {
                let update = Bell::update().heard([true]);
                thread.edit(update).await.expect("there is no other writer");
            }
            let bell = thread.resume().await.expect("no node fails").into_state();
            assert!(!bell.rings, "{name}");
            let heard = bell.heard;
            assert_eq!(heard[heard.len() - 2..], [true, false], "{name}: {heard:?}");
        }
    })
    .await;
}
