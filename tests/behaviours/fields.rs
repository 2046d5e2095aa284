//! Initial values of fields, their lifetimes, and their stored form.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use superstep::checkpoint::{At, CheckpointerExt};
use superstep::driver::state::{Lifetime, Writers};
use superstep::prelude::*;
use superstep::reducer::Reducer;
use superstep::run::{EventKind, View};

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
async fn l15_a_node_sees_the_defaults_of_unwritten_fields() {
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

/// Values of a topic exist for one superstep, for any number of writers: a custom reducer.
struct Topic;

impl Reducer<Vec<u32>> for Topic {
    type Write = u32;
    const WRITERS: Writers = Writers::Many;
    const LIFETIME: Lifetime = Lifetime::OneStep;

    fn reduce(current: &mut Vec<u32>, write: u32) {
        current.push(write);
    }
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Post {
    number: u32,
    #[reducer(Topic)]
    inbox: Vec<u32>,
    seen: Vec<u32>,
    sum: u32,
}

#[tokio::test]
async fn b05_both_writes_to_a_topic_are_seen_by_the_next_node_and_by_no_later_one() {
    on_both_savers(async |saver| {
        let mut g = StateGraph::<Post>::new("topic");
        let add = async |post: Snapshot<Post>| Post::update().inbox(post.number + 1);
        let [one, two] = ["one", "two"].map(|name| g.node(name, add));
        let three = g.node("three", async |post: Snapshot<Post>| {
            Post::update().seen(post.inbox.clone()).sum(post.inbox.iter().sum::<u32>())
        });
        for node in [one, two] {
            g.edge(START, node);
            g.edge(node, three);
        }
        g.edge(three, END);
        let thread = g.compile().unwrap().shared_checkpointer(Arc::clone(&saver)).thread("1");
        for _ in 0..3 {
            let post = thread.run(Post::update().number(2)).await.unwrap().finished().unwrap();
            assert_eq!((post.seen, post.sum, post.inbox), (vec![3, 3], 6, vec![]));
        }
        for step in saver.steps(&"1".into(), At::Head, usize::MAX).await.unwrap() {
            let fields = step.checkpoint.changes.iter().map(|change| change.field);
            assert!(fields.is_sorted_by(|one, next| one < next), "each field is changed once");
        }
    })
    .await;
}

/// Joins texts, with commas or without.
struct Joined<const COMMA: bool>;

impl<const COMMA: bool> Reducer<String> for Joined<COMMA> {
    type Write = String;

    fn reduce(current: &mut String, write: String) {
        if COMMA && !current.is_empty() {
            current.push_str(", ");
        }
        current.push_str(&write);
    }
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Foo {
    #[reducer(Joined<true>)]
    listed: String,
    #[reducer(Joined<false>)]
    joined: String,
}

/// The writes of nodes, as in the events, and the end of the run.
async fn updates(thread: &Thread<Foo>, input: Update<Foo>) -> (Vec<String>, Foo) {
    let mut stream = thread.run(input).stream().view(View::Updates);
    let mut lines = Vec::new();
    while let Some(event) = stream.next().await {
        if let EventKind::Update { node, writes, .. } = &event.kind {
            let writes: Vec<_> =
                writes.iter().map(|write| format!("{} {}", write.field, write.value)).collect();
            lines.push(format!("{node}: {}", writes.join(", ")));
        }
    }
    let run = stream.finish().await.expect("no node fails");
    (lines, run.finished().expect("nothing stops it"))
}

#[tokio::test]
async fn b15_several_writes_of_one_node_come_one_after_the_other() {
    on_both_savers(async |saver| {
        let mut g = StateGraph::<Foo>::new("several");
        let a = g.node("node_a", async || Foo::update().joined("a1").joined("a2"));
        let b = g.node("node_b", async || Foo::update().joined("b"));
        g.edge(START, a);
        g.edge(a, b);
        g.edge(b, END);
        let thread = g.compile().unwrap().shared_checkpointer(saver).thread("1");
        let (updates, foo) = updates(&thread, Foo::update()).await;
        assert_eq!(updates, [r#"node_a: joined "a1", joined "a2""#, r#"node_b: joined "b""#]);
        assert_eq!(foo.joined, "a1a2b");
    })
    .await;
}

#[tokio::test]
async fn b19_several_writes_of_one_node_to_one_field_are_reported_one_by_one() {
    on_both_savers(async |saver| {
        let mut g = StateGraph::<Foo>::new("several");
        let one = g.node("one", async || Foo::update().listed("one.0").listed("one.1"));
        let two = g.node("two", async || Foo::update().listed("two"));
        g.edge(START, one);
        g.edge(one, two);
        g.edge(two, END);
        let thread = g.compile().unwrap().shared_checkpointer(saver).thread("1");
        let (updates, _) = updates(&thread, Foo::update().listed("input")).await;
        assert_eq!(updates, [r#"one: listed "one.0", listed "one.1""#, r#"two: listed "two""#]);
        let mut past = Vec::new();
        for summary in thread.history().unwrap().collect().await.unwrap() {
            let past_here = thread.at(summary.id).await.unwrap();
            let wrote: Vec<_> = past_here.tasks().iter().map(|task| task.writes.len()).collect();
            past.push((past_here.state().listed.clone(), wrote));
        }
        let line = |listed: &str, wrote: &[usize]| (listed.to_owned(), wrote.to_vec());
        let expected = [
            line("input, one.0, one.1, two", &[1]),
            line("input, one.0, one.1", &[2]),
            line("input", &[1]),
            line("", &[]),
        ];
        assert_eq!(past, expected);
    })
    .await;
}

/// In LangGraph an item is often the state itself, and its untracked values are not stored.
#[tokio::test]
async fn b18_a_task_of_each_sees_a_value_that_is_not_stored_beside_its_item() {
    #[derive(Route, Serialize, Deserialize)]
    enum Each {
        Of(Vec<u32>),
    }
    on_both_savers(async |saver| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let seeing = Arc::clone(&seen);
        let mut g = StateGraph::<Fields>::new("untracked");
        let a = g.node("a", async || (Fields::update().set_u(1_234_567_890), Each::Of(vec![1, 2])));
        let w = g.node("w", move |item: Input<u32>, fields: Snapshot<Fields>, ask: Ask<String, u32>| {
            let seen = Arc::clone(&seeing);
            async move {
                seen.lock().expect("no test panics with the lock").push((*item, fields.u));
                if *item == 2 {
                    ask.ask("?".into()).await;
                }
                Fields::update().v([*item])
            }
        });
        g.edge(START, a);
        g.route(a, move |Each::Of(items)| each(w, items));
        g.edge(w, END);
        let thread = g.compile().unwrap().shared_checkpointer(saver).thread("1");
        thread.run(Fields::update()).await.unwrap().interrupted().unwrap();
        let mut first = std::mem::take(&mut *seen.lock().unwrap());
        first.sort_unstable();
        assert_eq!(first, [(1, Some(1_234_567_890)), (2, Some(1_234_567_890))]);
        let stored = thread.head().await.unwrap();
        let inputs = &stored.loaded().checkpoint.frontier.tasks;
        let inputs: Vec<_> = inputs.iter().map(|task| task.input.as_ref().unwrap().as_str()).collect();
        assert_eq!(inputs, ["1", "2"]);
        assert!(!format!("{:?}", stored.loaded()).contains("1234567890"), "it is in nothing that is stored");
        assert_eq!(thread.answer(&0).await.unwrap().finished().unwrap().v, [1, 2]);
        assert_eq!(*seen.lock().unwrap(), [(2, None)], "and so it is gone after a pause");
    })
    .await;
}

/// In LangGraph a private value is a channel in the next node's schema.
#[tokio::test]
async fn j04_a_value_for_the_next_node_only_is_its_item() {
    #[derive(Default, Serialize, Deserialize)]
    struct Private {
        secret: String,
    }
    #[derive(Route, Serialize, Deserialize)]
    enum To {
        B(Private),
    }
    let mut g = StateGraph::<Log>::new("private");
    let a = g.node("a", async || To::B(Private { secret: "x".into() }));
    let b = g.node("b", async |given: Input<Private>| {
        let json = serde_json::to_value(&*given).expect("it has a JSON form");
        let keys = json.as_object().expect("it is an object").keys().cloned().collect::<Vec<_>>();
        Log::update().v([given.secret.clone(), keys.join(",")])
    });
    g.edge(START, a);
    g.route(a, move |To::B(given)| each(b, [given]));
    g.edge(b, END);
    let done = g.compile().unwrap().run(Log::update()).await.unwrap().finished().unwrap();
    assert_eq!(done.v, ["x", "secret"]);
}

/// In LangGraph a graph has schemas for its input and output; here the lens of a subgraph has that role.
#[tokio::test]
async fn l10_a_lens_says_what_goes_in_and_what_comes_out() {
    #[derive(State, Clone, Debug, Default, PartialEq)]
    struct Outside {
        q: String,
        a: String,
    }
    #[derive(State, Clone, Debug, Default, PartialEq)]
    struct All {
        q: String,
        a: String,
        x: u32,
    }
    on_both_savers(async |saver| {
        let mut inner = StateGraph::<All>::new("inner");
        let n =
            inner.node("n", async |all: Snapshot<All>| All::update().a(format!("{}!", all.q)).x(all.x + 1));
        inner.edge(START, n);
        inner.edge(n, END);
        let mut g = StateGraph::<Outside>::new("outer");
        let lens = Lens::new().give(Outside::Q, All::Q).take(All::A, Outside::A);
        let sub = g.subgraph("sub", inner.compile().unwrap(), lens);
        g.edge(START, sub);
        g.edge(sub, END);
        let thread = g.compile().unwrap().shared_checkpointer(saver).thread("1");
        let done = thread.run(Outside::update().q("hi")).await.unwrap().finished().unwrap();
        assert_eq!(done, Outside { q: "hi".into(), a: "hi!".into() });
        let before = thread.before_named("sub").await.unwrap();
        let [inside] = &before.subgraphs().await.unwrap()[..] else { panic!("there is one") };
        assert_eq!(
            serde_json::to_value(&inside.view.values).unwrap(),
            serde_json::json!({ "q": "hi", "a": "hi!", "x": 1 })
        );
    })
    .await;
}
