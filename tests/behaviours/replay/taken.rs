//! Parts that a replay takes from the record: edits, and outcomes that cannot be verified.

use superstep::node::Cache;
use superstep::run::{Unverified, WhyUnverified};

use super::*;

fn why(replay: &Replay) -> Vec<(i64, &str, &WhyUnverified)> {
    replay.unverified.iter().map(|Unverified { step, node, why, .. }| (*step, node.as_str(), why)).collect()
}

/// a and b side by side, then c.
fn diamond(stage: &Stage, saver: Arc<dyn Checkpointer>) -> Graph<Log> {
    let mut g = StateGraph::<Log, Stage>::new("diamond");
    let [a, b, c] = ["a", "b", "c"].map(|name| g.node(name, step));
    g.edge(START, a);
    g.edge(START, b);
    g.join([a, b], c);
    g.edge(c, END);
    g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver)
}

#[tokio::test]
async fn edits_and_branches_are_taken_as_they_are_recorded() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = diamond(&stage, saver).thread("t");
        thread.input(Log::update()).await.map(drop).expect("there is no other writer");
        thread.run(Log::update().topic("in")).await.map(drop).expect("no node fails");
        thread.edit(Log::update().topic("edited")).await.map(drop).expect("there is no other writer");
        thread.edit_as_named("c", ran("by hand")).await.map(drop).expect("nothing is next");
        thread
            .before_named("c")
            .await
            .expect("it ran")
            .branch()
            .await
            .map(drop)
            .expect("there is no other writer");
        thread.resume().await.map(drop).expect("no node fails");
        // START's, and that of `c` on the branch.
        assert_eq!(equal(&thread, &stage.calls).await, 2);
    })
    .await;
}

#[tokio::test]
async fn an_outcome_that_an_edit_has_played_is_taken_and_named() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let thread = diamond(&stage, saver).thread("t");
        let paused = thread.run(Log::update()).interrupt_before(["a"]).await.expect("it stops");
        assert_eq!(paused.step, 0);
        thread.edit_as_named("b", ran("by hand")).await.map(drop).expect("it is next");
        thread.resume().await.map(drop).expect("no node fails");
        let replay = replay(&thread, &stage.calls).await;
        assert_eq!(why(&replay), [(2, "b", &WhyUnverified::Edited)]);
        assert_eq!(replay.agrees().expect("the rest is verified").supersteps, 3);
    })
    .await;
}

#[tokio::test]
async fn what_came_from_the_cache_is_taken_where_its_node_cannot_run() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let mut g = StateGraph::<Log, Stage>::new("cached");
        let node = g.node("node", step);
        g.policy(node).cache(Cache::new().key(|log: &Log| log.topic.clone()));
        g.edge(START, node);
        g.edge(node, END);
        let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        for _ in 0..2 {
            thread.run(Log::update().topic("a")).await.map(drop).expect("no node fails");
        }
        assert_eq!(stage.calls.take(), ["node"]);
        let replay = replay(&thread, &stage.calls).await;
        assert_eq!(why(&replay), [(4, "node", &WhyUnverified::Cached)]);
        assert_eq!(replay.agrees().expect("the rest is verified").supersteps, 4);
        // A rerun does not use the cache.
        thread.before_named("node").await.expect("it ran").rerun().await.map(drop).expect("no node fails");
        assert_eq!(stage.calls.take(), ["node"]);
    })
    .await;
}

#[tokio::test]
async fn an_error_that_is_more_than_its_text_is_not_made_up() {
    on_both_savers(|saver| async move {
        let stage = Stage::default();
        let mut g = StateGraph::<Log, Stage>::new("own error");
        let node = g.node("node", async |fx: Effects, calls: Dep<Calls>| {
            let failed = fx.run("fail", || async {
                calls.note("fail");
                Err::<u32, _>(Smashed("x".into()))
            });
            ran(match failed.await {
                Ok(_) => "ok".to_owned(),
                Err(Smashed(what)) => what,
            })
        });
        g.edge(START, node);
        g.edge(node, END);
        let graph = g.compile().expect("sound").with_context(stage.clone()).shared_checkpointer(saver);
        let thread = graph.thread("t");
        thread.run(Log::update()).await.map(drop).expect("the node makes up for it");
        let replay = replay(&thread, &stage.calls).await;
        assert_eq!(why(&replay), [(1, "node", &WhyUnverified::Error { effect: "fail".into() })]);
        assert!(replay.is_equal());
    })
    .await;
}

#[tokio::test]
async fn the_graphs_store_is_read_and_not_written() {
    use superstep::store::{AccessError, MemoryStore, Store};

    on_both_savers(|saver| async move {
        let store = Store::new(MemoryStore::new());
        let mut g = StateGraph::<Log>::new("stores");
        let node = g.node("node", async |store: Store| {
            store.put(&["turns"], "last", "here").await?;
            let read: Option<String> = store.get(&["turns"], "last").await?;
            Ok::<_, AccessError>(ran(read.unwrap_or_default()))
        });
        g.edge(START, node);
        g.edge(node, END);
        let graph = g.compile().expect("sound").shared_checkpointer(saver).store(store.clone());
        let thread = graph.thread("t");
        thread.run(Log::update()).await.map(drop).expect("the store works");
        store.put(&["turns"], "last", "elsewhere").await.expect("it works");
        let first = first(&thread, &Calls::default()).await;
        assert!(first.to_string().contains("\"here\", and came out as \"elsewhere\""), "{first}");
        assert_eq!(store.get(&["turns"], "last").await.expect("it works"), Some("elsewhere".to_owned()));
    })
    .await;
}
