//! What fields begin with, how long their values live, and in which form they are stored.

use std::sync::{Arc, Mutex};

use superstep::prelude::*;

use crate::support::{on_both_savers, run_or_resume};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    v: Vec<String>,
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Fields {
    #[reducer(Ephemeral)]
    e: Option<u32>,
    #[state(transient)]
    u: Option<u32>,
    #[reducer(Append)]
    v: Vec<u32>,
    #[reducer(Sum)]
    n: u32,
    x: u32,
    y: u32,
}

#[tokio::test]
async fn a18_a_field_begins_with_its_default_and_the_input_goes_through_the_reducer() {
    let mut g = StateGraph::<Fields>::new("initial");
    let a = g.node("a", async || Fields::update().n(2));
    g.edge(START, a);
    g.edge(a, END);
    let graph = g.compile().unwrap();
    assert_eq!(graph.run(Fields::update().x(1)).await.unwrap().finished().unwrap().n, 2);
    assert_eq!(graph.run(Fields::update().n(5)).await.unwrap().finished().unwrap().n, 7);
}

#[tokio::test]
async fn j03_values_for_one_superstep_and_values_that_are_not_stored() {
    on_both_savers(async |saver| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut g = StateGraph::<Fields>::new("kinds");
        let a = g.node("a", async || Fields::update().e(1).set_u(2));
        let [b, c] = [("b", 1), ("c", 2)].map(|(name, number)| {
            let seen = Arc::clone(&seen);
            g.node(name, move |fields: Snapshot<Fields>| {
                seen.lock().expect("no test panics with the lock").push((fields.e, fields.u));
                async move { Fields::update().v([number]) }
            })
        });
        g.edge(START, a);
        g.edge(a, b);
        g.edge(b, c);
        g.edge(c, END);
        let thread = g.compile().unwrap().shared_checkpointer(saver).thread("1");
        let done = thread.run(Fields::update()).await.unwrap().finished().unwrap();
        assert_eq!((done.u, done.v), (Some(2), vec![1, 2]));
        assert_eq!(*seen.lock().unwrap(), [(Some(1), Some(2)), (None, Some(2))]);
        let stored = thread.head().await.unwrap().into_state();
        assert_eq!((stored.u, stored.v), (None, vec![1, 2]));
    })
    .await;
}

#[tokio::test]
async fn l15_a_node_sees_the_defaults_of_fields_that_nobody_wrote() {
    let mut g = StateGraph::<Fields>::new("missing");
    let a = g.node("a", async |fields: Snapshot<Fields>| Fields::update().y(fields.x + fields.y));
    g.edge(START, a);
    g.edge(a, END);
    let done = g.compile().unwrap().run(Fields::update().x(1)).await.unwrap().finished().unwrap();
    assert_eq!((done.x, done.y), (1, 1));
}

#[tokio::test]
async fn j06_a_growing_list_is_stored_as_what_was_added() {
    on_both_savers(async |saver| {
        let mut g = StateGraph::<Log>::new("delta");
        let a = g.node("a", async |log: Snapshot<Log>| Log::update().v([format!("n{}", log.v.len())]));
        g.edge(START, a);
        g.edge(a, END);
        let thread = g.compile().unwrap().shared_checkpointer(saver).thread("1");
        for turn in ["u0", "u1", "u2"] {
            thread.run(Log::update().v([turn])).await.unwrap().finished().unwrap();
        }
        assert_eq!(run_or_resume(&thread).await.unwrap().state.v, ["u0", "n1", "u1", "n3", "u2", "n5"]);
        let mut logged = Vec::new();
        for summary in thread.history().unwrap().collect().await.unwrap().iter().rev() {
            let past = thread.at(summary.id).await.unwrap();
            let changes = past.loaded().checkpoint.changes.iter().flat_map(|change| &change.ops);
            logged.extend(changes.map(|op| format!("{} {}", op.name(), op.operand())));
        }
        let added = ["u0", "n1", "u1", "n3", "u2", "n5"].map(|item| format!("extend [\"{item}\"]"));
        assert_eq!(logged, added);
    })
    .await;
}
