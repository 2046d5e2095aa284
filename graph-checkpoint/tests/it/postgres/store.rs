//! The Postgres store. The tests of all stores, in `tests/behaviours/store.rs`, run on it, too.

use superstep_checkpoint::{PostgresSaver, PostgresStore};
use superstep_core::state::Json;
use superstep_core::store::{Entry, MemoryStore, Namespace, Put, Search, StoreBackend};

use super::cluster::Cluster;
use super::run;

async fn open(cluster: &Cluster, schema: &str) -> PostgresStore {
    let options = PostgresSaver::options().schema(schema).connections(4);
    options.open(cluster.url("superstep")).await.expect("it opens").store()
}

/// Numbers that look random, the same in each run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).expect("an index")].clone()
    }
}

/// Names of namespaces and keys: some are longer than an index allows, and differ only at their ends.
fn names() -> Vec<String> {
    let long = "é".repeat(3_000);
    let short = ["a", "ab", "a/b", "b", "\u{0}", "\u{1}", "~", "\u{10FFFF}"].map(str::to_owned);
    short.into_iter().chain([long.clone(), format!("{long}x"), format!("{long}y")]).collect()
}

fn texts() -> Vec<String> {
    let long = "w".repeat(100_000);
    [
        r#"{"text":"tea or COFFEE","n":1}"#,
        r#"{"text":"coffee","n":2.0}"#,
        r#"["\u0000 Öl","tea"]"#,
        "1e2",
        "-0.0",
    ]
    .map(str::to_owned)
    .into_iter()
    .chain([format!("\"{long}\""), format!("\"{long}x tea\"")])
    .collect()
}

/// The same requests have the same answers as in memory.
#[test]
fn it_answers_as_the_store_in_memory_does() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let (store, memory) = (open(&cluster, "store_as_memory").await, MemoryStore::new());
        let (names, texts) = (names(), texts());
        let mut draw = Draw(7);
        for now in 0..1_500 {
            let depth = draw.below(3);
            let path: Vec<String> = (0..depth).map(|_| draw.of(&names)).collect();
            let namespace = Namespace::new(&path).expect("no name is empty");
            let key = draw.of(&names);
            match draw.below(6) {
                0 | 1 => {
                    let expires_ms = (draw.below(3) == 0).then(|| now + draw.below(40));
                    let value = Json::parse(draw.of(&texts)).expect("JSON");
                    let put = Put { namespace, key, value, expires_ms };
                    store.put(put.clone(), now).await.expect("it is stored");
                    memory.put(put, now).await.expect("it is stored");
                }
                2 => {
                    let stored = store.get(&namespace, &key, now).await.expect("it is read");
                    assert_eq!(stored, memory.get(&namespace, &key, now).await.expect("it is read"));
                }
                3 => {
                    let stored = store.delete(&namespace, &key, now).await.expect("it is deleted");
                    assert_eq!(stored, memory.delete(&namespace, &key, now).await.expect("it is deleted"));
                }
                4 => {
                    let path: Vec<&str> = path.iter().map(String::as_str).collect();
                    let mut search = Search::under(&path).expect("no name is empty");
                    if draw.below(2) == 0 {
                        let long = "w".repeat(100_000);
                        search = search.words(draw.of(&[
                            "tea",
                            "Coffee tea",
                            "öl",
                            "w",
                            &long,
                            &format!("{long}X"),
                        ]));
                    }
                    if draw.below(3) == 0 {
                        search = search.equal("n", &draw.of(&[1, 2]));
                    }
                    if draw.below(2) == 0 {
                        let (skip, limit) = (draw.below(3), draw.below(5));
                        search = search
                            .skip(skip.try_into().expect("small"))
                            .limit(limit.try_into().expect("small"));
                    }
                    let stored = store.search(&search, now).await.expect("it is read");
                    assert_eq!(stored, memory.search(&search, now).await.expect("it is read"), "{search:?}");
                }
                _ => {
                    let stored = store.namespaces(&namespace, now).await.expect("they are read");
                    assert_eq!(stored, memory.namespaces(&namespace, now).await.expect("they are read"));
                }
            }
        }
        assert_eq!(
            store.sweep(2_000).await.expect("it sweeps"),
            memory.sweep(2_000).await.expect("it sweeps")
        );
        let all = Search::under(&[]).expect("the root");
        assert_eq!(
            store.search(&all, 0).await.expect("it is read"),
            memory.search(&all, 0).await.expect("it is read")
        );
    });
}

fn put(key: &str, value: &str) -> Put {
    let value = Json::encode(value).expect("JSON");
    Put { namespace: Namespace::new(&["n"]).expect("a name"), key: key.to_owned(), value, expires_ms: None }
}

/// Programs on several machines use the same entries, and writes of one key at once leave one entry.
#[test]
fn stores_of_one_schema_share_their_entries() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let (one, other) = (open(&cluster, "store_shared").await, open(&cluster, "store_shared").await);
        let mut writers = tokio::task::JoinSet::new();
        for number in 0..40 {
            let store = if number % 2 == 0 { one.clone() } else { other.clone() };
            writers.spawn(async move { store.put(put("k", &number.to_string()), number).await });
        }
        for ended in writers.join_all().await {
            ended.expect("it is stored");
        }
        let namespace = Namespace::new(&["n"]).expect("a name");
        let read: Entry = one.get(&namespace, "k", 0).await.expect("it is read").expect("it is there");
        assert_eq!(other.get(&namespace, "k", 0).await.expect("it is read"), Some(read.clone()));
        assert_eq!(read.decode::<String>().expect("a text"), read.updated_ms.to_string());
        assert_eq!(one.search(&Search::under(&[]).expect("the root"), 0).await.expect("it is read").len(), 1);
    });
}

/// A search finds its entries with the indexes, also those of one namespace among many.
#[test]
fn searches_use_the_indexes() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let _store = open(&cluster, "store_plans").await;
        let fill = "INSERT INTO store_plans.item SELECT sha256(n::text::bytea), convert_to('n' || n % 1000 || '/', 'UTF8'), \
                    convert_to(n::text, 'UTF8'), 0, 0, NULL, '1', ARRAY['w' || n] FROM generate_series(1, 50000) n; \
                    ANALYZE store_plans.item";
        cluster.execute(fill);
        for (arguments, index) in [
            ("'n7/', 'n70', NULL, 0, NULL", "item_order"),
            ("'', NULL, NULL, 0, 10", "item_order"),
            ("'', NULL, ARRAY['w7'], 0, NULL", "item_words"),
        ] {
            let plan =
                cluster.execute(&format!("EXPLAIN SELECT * FROM store_plans.search_items({arguments})"));
            assert!(plan.contains(index) && !plan.contains("Seq Scan"), "{arguments}: {plan}");
        }
    });
}
