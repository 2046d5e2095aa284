//! The store: values that outlive threads.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep::prelude::*;
use superstep::run::{Ambient, Lens};
use superstep::store::{AccessError, Clock, Entry, MemoryStore, Search, SqliteStore, Store};
use uuid::Uuid;

use crate::support::{Broken, Smashed, Stage};

/// A clock that is set by hand, in milliseconds.
#[derive(Clone, Default)]
struct Hand(Arc<AtomicU64>);

impl Hand {
    fn set(&self, time: u64) {
        self.0.store(time, Ordering::SeqCst);
    }
}

impl Clock for Hand {
    fn now(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }
}

impl Ambient for Hand {
    fn id(&self) -> Uuid {
        Uuid::now_v7()
    }

    fn now(&self) -> Duration {
        Clock::now(self)
    }

    fn roll(&self) -> f64 {
        0.5
    }
}

/// Runs a test on every store that ships.
async fn on_every_store<F, Fut>(test: F)
where
    F: Fn(Store, Hand) -> Fut,
    Fut: Future<Output = ()>,
{
    let hand = Hand::default();
    test(Store::with_clock(MemoryStore::new(), hand.clone()), hand).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let backend = SqliteStore::open(folder.path().join("test.db")).await.expect("a new file opens");
    let hand = Hand::default();
    test(Store::with_clock(backend, hand.clone()), hand).await;
    #[cfg(feature = "postgres")]
    if let Some(cluster) = crate::cluster::Cluster::shared() {
        static SCHEMAS: AtomicU64 = AtomicU64::new(0);
        let schema = format!("store_{}", SCHEMAS.fetch_add(1, Ordering::Relaxed));
        let options = superstep::checkpoint::PostgresSaver::options().schema(schema);
        let saver = options.open(cluster.url("superstep")).await.expect("it opens");
        let hand = Hand::default();
        test(Store::with_clock(saver.store(), hand.clone()), hand).await;
    }
}

/// The places of entries, as texts.
fn places(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| format!("{}{}", entry.namespace.path(), entry.key)).collect()
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Counter {
    #[reducer(Sum)]
    count: u32,
}

#[derive(Route, Serialize, Deserialize)]
enum Fan {
    Out(Vec<u32>),
}

/// Behaviour 79: 51 nodes at once, each of which counts and writes the same key.
#[tokio::test]
async fn b79_many_nodes_at_once_write_one_entry() {
    on_every_store(|store, _| async move {
        let mut g = StateGraph::<Counter>::new("g");
        let split = g.node("split", || async { Fan::Out((0..51).collect()) });
        let count =
            g.node("count", |_item: Input<u32>, counter: Snapshot<Counter>, store: Store| async move {
                store.put(&["foo", "bar"], "doc", &json!({ "some_val": counter.count })).await?;
                Ok::<_, AccessError>(Counter::update().count(1))
            });
        g.edge(START, split);
        g.route(split, move |Fan::Out(items)| each(count, items));
        g.edge(count, END);
        let graph = g.compile().expect("sound").checkpointer(MemorySaver::new()).store(store.clone());
        for (thread, counted, seen) in [("1", 51, 0), ("1", 102, 51), ("2", 51, 0)] {
            let run = graph.thread(thread).run(Counter::update()).await.expect("the store works");
            assert_eq!(run.state.count, counted);
            let entries = store.list(&["foo", "bar"]).await.expect("the store works");
            assert_eq!(places(&entries), ["foo/bar/doc"]);
            assert_eq!(entries[0].decode::<serde_json::Value>().expect("JSON"), json!({ "some_val": seen }));
        }
    })
    .await;
}

/// A write is not part of the superstep: it is visible at once, it stays when its node fails, and a node that runs
/// again writes it again, which changes nothing.
#[tokio::test]
async fn a_write_is_there_at_once_and_stays_when_its_node_fails() {
    on_every_store(|store, _| async move {
        let mut g = StateGraph::<Counter, Stage>::new("g");
        let node = g.node("node", |store: Store, broken: Dep<Broken>| async move {
            store.put(&["a"], "k", "written").await?;
            let seen: Option<String> = store.get(&["a"], "k").await?;
            assert_eq!(seen.as_deref(), Some("written"));
            broken.check("node")?;
            Ok::<_, NodeError>(Counter::update().count(1))
        });
        g.edge(START, node);
        g.edge(node, END);
        let stage = Stage::default();
        stage.broken.smash("node");
        let graph = g.compile().expect("sound").with_context(stage.clone()).store(store.clone());
        let thread = graph.checkpointer(MemorySaver::new()).thread("t");
        let error = thread.run(Counter::update()).await.expect_err("it is broken");
        assert!(error.to_string().contains(&Smashed("node".into()).to_string()));
        assert_eq!(store.get(&["a"], "k").await.expect("it works"), Some("written".to_owned()));
        stage.broken.mend("node");
        assert_eq!(thread.resume().await.expect("it is mended").state.count, 1);
        assert_eq!(places(&store.list(&[]).await.expect("it works")), ["a/k"]);
    })
    .await;
}

#[tokio::test]
async fn a_graph_without_a_store_says_so() {
    let mut g = StateGraph::<Counter>::new("g");
    let node = g.node("node", |store: Store| async move { store.put(&["a"], "k", &1).await });
    g.edge(START, node);
    g.edge(node, END);
    let error = g.compile().expect("sound").run(Counter::update()).await.expect_err("there is no store");
    let text = r#"node "node" failed at step 1: the graph has no store; give it one with `.store(..)`"#;
    assert_eq!(error.to_string(), text);
}

#[tokio::test]
async fn a_subgraph_uses_the_store_around_it_unless_it_has_its_own() {
    for own in [false, true] {
        let mut inner = StateGraph::<Counter>::new("inner");
        let node = inner.node("node", |store: Store| async move { store.put(&["a"], "k", &1).await });
        inner.edge(START, node);
        inner.edge(node, END);
        let inner = inner.compile().expect("sound");
        let (around, below) = (MemoryStore::new(), MemoryStore::new());
        let inner = if own { inner.store(below.clone()) } else { inner };
        let mut outer = StateGraph::<Counter>::new("outer");
        let node = outer.subgraph("node", inner, Lens::new());
        outer.edge(START, node);
        outer.edge(node, END);
        let graph = outer.compile().expect("sound").store(around.clone());
        let run = graph.run(Counter::update()).await.expect("there is a store");
        assert_eq!(run.status, Status::Finished);
        for (store, written) in [(around, !own), (below, own)] {
            let entries = Store::new(store).list(&[]).await.expect("the store works");
            assert_eq!(entries.len(), usize::from(written));
        }
    }
}

#[tokio::test]
async fn what_is_put_is_read_replaced_and_deleted() {
    on_every_store(|store, hand| async move {
        let works = "the store works";
        hand.set(5);
        store.put(&["users", "ada"], "city", "London").await.expect(works);
        hand.set(7);
        store.put(&["users", "ada"], "city", "Turin").await.expect(works);
        let entry = store.entry(&["users", "ada"], "city").await.expect(works).expect("it is there");
        assert_eq!((entry.created_ms, entry.updated_ms, entry.expires_ms), (5, 7, None));
        assert_eq!(entry.decode::<String>().expect("a text"), "Turin");
        assert_eq!(store.get::<String>(&["users"], "city").await.expect(works), None);
        assert_eq!(store.get::<String>(&["users", "ada"], "town").await.expect(works), None);
        let error = store.get::<u32>(&["users", "ada"], "city").await.expect_err("it is a text");
        assert!(error.to_string().starts_with(r#"the value of "city" in ["users", "ada"]: "#), "{error}");
        assert!(store.delete(&["users", "ada"], "city").await.expect(works));
        assert!(!store.delete(&["users", "ada"], "city").await.expect(works));
        assert_eq!(places(&store.list(&[]).await.expect(works)), Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn names_may_hold_anything_but_nothing() {
    on_every_store(|store, _| async move {
        let works = "the store works";
        let odd = ["a/b", "a%2Fb", "a", "%", "'; DROP TABLE item; --", "\u{0}", "Ö \"*\" \u{1F980}", ".."];
        for name in odd {
            store.put(&["odd", name], name, name).await.expect(works);
            store.put(&[name], "k", name).await.expect(works);
        }
        for name in odd {
            assert_eq!(store.get(&["odd", name], name).await.expect(works), Some(name.to_owned()));
            let below = store.list(&[name]).await.expect(works);
            assert_eq!((below.len(), below[0].namespace.names()), (1, &[name.to_owned()][..]));
        }
        assert_eq!(store.list(&["odd"]).await.expect(works).len(), odd.len());
        for error in [
            store.put(&["users", ""], "k", &1).await.expect_err("a name is empty"),
            store.put(&["users"], "", &1).await.expect_err("the key is empty"),
            store.list(&[""]).await.expect_err("a name is empty"),
        ] {
            assert!(matches!(error, AccessError::Empty(_)), "{error}");
        }
        let error = store.put(&["n"], "k", &f64::NAN).await.expect_err("it has no JSON form");
        assert!(matches!(error, AccessError::Value { .. }), "{error}");
    })
    .await;
}

#[tokio::test]
async fn namespaces_are_paths() {
    on_every_store(|store, _| async move {
        let works = "the store works";
        for (namespace, key) in [
            (&["b"][..], "1"),
            (&["a", "x"], "2"),
            (&["a"], "2"),
            (&["a", "x"], "1"),
            (&["ab"], "1"),
            (&[], "0"),
        ] {
            store.put(namespace, key, &()).await.expect(works);
        }
        let list = |namespace: &'static [&'static str]| {
            let store = store.clone();
            async move { places(&store.list(namespace).await.expect(works)) }
        };
        assert_eq!(list(&["a"]).await, ["a/2", "a/x/1", "a/x/2"]);
        assert_eq!(list(&["a", "x"]).await, ["a/x/1", "a/x/2"]);
        assert_eq!(list(&[]).await, ["0", "a/2", "a/x/1", "a/x/2", "ab/1", "b/1"]);
        let namespaces = store.namespaces(&["a"]).await.expect(works);
        assert_eq!(namespaces.iter().map(|namespace| namespace.path()).collect::<Vec<_>>(), ["a/", "a/x/"]);
        assert_eq!(store.namespaces(&[]).await.expect(works).len(), 5);
    })
    .await;
}

#[tokio::test]
async fn an_entry_is_gone_when_its_time_has_come() {
    on_every_store(|store, hand| async move {
        let works = "the store works";
        let second = Duration::from_secs(1);
        hand.set(1_000);
        store.put_for(&["codes"], "a", "x", second).await.expect(works);
        store.put(&["codes"], "b", "x").await.expect(works);
        store.put_for(&["codes"], "c", "x", Duration::MAX).await.expect(works);
        hand.set(1_999);
        assert_eq!(store.list(&[]).await.expect(works).len(), 3);
        hand.set(2_000);
        assert_eq!(store.get::<String>(&["codes"], "a").await.expect(works), None);
        assert_eq!(places(&store.list(&[]).await.expect(works)), ["codes/b", "codes/c"]);
        let found = store.search(Search::under(&[]).expect("the root").words("x")).await.expect(works);
        assert_eq!(found.len(), 2);
        assert!(!store.delete(&["codes"], "a").await.expect(works), "it was not there");
        // A later entry is new, not an update of the old one.
        store.put_for(&["codes"], "d", "x", second).await.expect(works);
        hand.set(9_000);
        store.put(&["codes"], "d", "x").await.expect(works);
        let entry = store.entry(&["codes"], "d").await.expect(works).expect("it is there");
        assert_eq!((entry.created_ms, entry.expires_ms), (9_000, None));
        store.put_for(&["only"], "e", "x", second).await.expect(works);
        hand.set(10_000);
        assert_eq!(store.namespaces(&[]).await.expect(works).len(), 1);
        assert_eq!((store.sweep().await.expect(works), store.sweep().await.expect(works)), (1, 0));
        assert_eq!(store.list(&[]).await.expect(works).len(), 3);
    })
    .await;
}

/// Nodes see the time of the graph, not of the system.
#[tokio::test]
async fn entries_expire_by_the_clock_of_the_graph() {
    let hand = Hand::default();
    let mut g = StateGraph::<Counter>::new("g");
    let node = g.node("node", |store: Store| async move {
        let held: Option<u32> = store.get(&["a"], "k").await?;
        if held.is_none() {
            store.put_for(&["a"], "k", &1, Duration::from_millis(10)).await?;
        }
        Ok::<_, AccessError>(Counter::update().count(u32::from(held.is_some())))
    });
    g.edge(START, node);
    g.edge(node, END);
    let graph = g.compile().expect("sound").store(MemoryStore::new()).ambient(hand.clone());
    for (time, found) in [(0, 0), (9, 1), (10, 0), (19, 1)] {
        hand.set(time);
        assert_eq!(graph.run(Counter::update()).await.expect("it works").state.count, found, "at {time}");
    }
}

#[tokio::test]
async fn all_stores_find_the_same() {
    on_every_store(|store, _| async move {
        let works = "the store works";
        let notes = [
            ("ada", "1", json!({ "text": "Likes strong COFFEE", "kind": "note", "score": 3 })),
            ("ada", "2", json!({ "text": "coffee, tea & Öl", "kind": "fact", "score": 1.5 })),
            (
                "bob",
                "1",
                json!({ "text": "hates coffee", "kind": "note", "score": 2, "at": { "city": "Rome" } }),
            ),
            ("bob", "2", json!({ "coffee": 1, "kind": "note" })),
            ("bob", "3", json!("coffee")),
            ("bob", "4", json!(["a", ["coffee NOT tea"]])),
        ];
        for (user, key, note) in &notes {
            store.put(&["users", user], key, note).await.expect(works);
        }
        let users = || Search::under(&["users"]).expect("no name is empty");
        let bob = || Search::under(&["users", "bob"]).expect("no name is empty");
        let cases = [
            (users().words("coffee"), vec!["ada/1", "ada/2", "bob/1", "bob/3", "bob/4"]),
            (users().words("coffee likes"), vec!["ada/1"]),
            (users().words("öl"), vec!["ada/2"]),
            (users().words("coff"), vec![]),
            (users().words(""), vec![]),
            (bob().words("Coffee").equal("kind", "note"), vec!["bob/1"]),
            (users().equal("kind", "note").at_least("score", &2), vec!["ada/1", "bob/1"]),
            (users().not_equal("kind", "note"), vec!["ada/2", "bob/3", "bob/4"]),
            (users().equal("/at/city", "Rome"), vec!["bob/1"]),
            (users().skip(1).limit(2), vec!["ada/2", "bob/1"]),
            (users().words("coffee").skip(3).limit(9), vec!["bob/3", "bob/4"]),
            (users().limit(0), vec![]),
        ];
        for (search, expected) in cases {
            let shown = format!("{search:?}");
            let found = places(&store.search(search).await.expect(works));
            let expected: Vec<_> = expected.into_iter().map(|place| format!("users/{place}")).collect();
            assert_eq!(found, expected, "{shown}");
        }
        // A rewritten entry is found by its new words only, and a deleted one by none.
        store.put(&["users", "ada"], "1", "tea").await.expect(works);
        store.delete(&["users", "bob"], "3").await.expect(works);
        let found = store.search(users().words("coffee")).await.expect(works);
        assert_eq!(places(&found), ["users/ada/2", "users/bob/1", "users/bob/4"]);
    })
    .await;
}

/// The index treats everything in a query as words.
#[tokio::test]
async fn hostile_searches_are_words_like_others() {
    on_every_store(|store, _| async move {
        let works = "the store works";
        store.put(&["a"], "k", "near and or not column words x").await.expect(works);
        let many = (0..5_000).map(|number| format!("w{number}")).collect::<Vec<_>>().join(" ");
        store.put(&["a"], "many", &many).await.expect(works);
        let under = || Search::under(&[]).expect("the root");
        for (text, found) in [
            ("NEAR(x and)", vec!["a/k"]),
            ("words:x", vec!["a/k"]),
            ("\"x\" OR NOT *", vec!["a/k"]),
            ("x\" OR \"1\"=\"1", vec![]),
            ("'; DROP TABLE item; --", vec![]),
            ("^x {column}: -", vec!["a/k"]),
            ("((((((((", vec![]),
            ("\u{0}x\u{0}", vec!["a/k"]),
        ] {
            let entries = store.search(under().words(text)).await;
            assert_eq!(places(&entries.unwrap_or_else(|error| panic!("{text}: {error}"))), found, "{text}");
        }
        assert_eq!(places(&store.search(under().words(&many)).await.expect(works)), ["a/many"]);
        let more = format!("{many} missing");
        assert_eq!(store.search(under().words(&more)).await.expect(works), []);
    })
    .await;
}

#[tokio::test]
async fn a_store_in_a_file_is_there_for_the_next_program_beside_its_checkpoints() {
    let works = "the store works";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("both.db");
    let graph = |saver: SqliteSaver, store: SqliteStore| {
        let mut g = StateGraph::<Counter>::new("g");
        let node = g.node("node", |store: Store| async move {
            let runs: u32 = store.get(&["a"], "runs").await?.unwrap_or(0);
            store.put(&["a"], "runs", &(runs + 1)).await?;
            Ok::<_, AccessError>(Counter::update().count(1))
        });
        g.edge(START, node);
        g.edge(node, END);
        g.compile().expect("sound").checkpointer(saver).store(store)
    };
    for runs in 1..=3_u32 {
        let saver = SqliteSaver::open(&path).await.expect("it opens");
        let store = saver.store().await.expect("it opens");
        let run = graph(saver, store.clone()).thread("t").run(Counter::update()).await.expect(works);
        assert_eq!(run.state.count, runs);
        let other = Store::new(SqliteStore::open(&path).await.expect("it opens"));
        assert_eq!(other.get(&["a"], "runs").await.expect(works), Some(runs));
    }
    // A row that another program changed is damaged, and is not returned.
    let file = rusqlite::Connection::open(&path).expect("it is a database");
    file.execute("UPDATE item SET value = '7'", []).expect("it is not locked");
    let store = Store::new(SqliteStore::open(&path).await.expect("it opens"));
    let error = store.get::<u32>(&["a"], "runs").await.expect_err("it is damaged");
    let text = r#"the entry "runs" at "a/" is damaged: its checksum does not fit"#;
    assert_eq!(error.to_string(), text);
    store.list(&[]).await.expect_err("it is damaged");
    store.put(&["a"], "runs", &1).await.expect("a new value needs no old one");
    assert_eq!(store.get(&["a"], "runs").await.expect(works), Some(1));
}

#[tokio::test]
async fn two_stores_on_one_file_see_each_other() {
    let works = "the store works";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("shared.db");
    let [one, other] = [
        Store::new(SqliteStore::open(&path).await.expect("it opens")),
        Store::new(SqliteStore::open(&path).await.expect("it opens")),
    ];
    let write = |store: Store, who: &'static str| {
        tokio::spawn(async move {
            for number in 0..20 {
                store.put(&[who], &number.to_string(), &number).await.expect("they take turns");
            }
        })
    };
    let (first, second) = (write(one.clone(), "one"), write(other.clone(), "other"));
    first.await.expect("no panic");
    second.await.expect("no panic");
    let seen: BTreeSet<String> = places(&one.list(&[]).await.expect(works)).into_iter().collect();
    assert_eq!(seen.len(), 40);
    assert_eq!(places(&other.list(&[]).await.expect(works)).len(), 40);
}
