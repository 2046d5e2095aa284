//! Snippets of `docs/testing.md`.

use std::sync::Arc;
use std::time::Duration;

use superstep::prelude::*;
use superstep::run::{EventKind, RunEvent};
use superstep::testing::{self, Cassette, TestAmbient, Trace};

use std::collections::BTreeSet;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::story::{Story, Verdict, stories};

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
    draft: String,
}

/// The state of essays.
#[derive(Clone, FromRef)]
struct Model {
    is_there: bool,
}

impl Model {
    /// A model that must not be called.
    fn absent() -> Self {
        Self { is_there: false }
    }

    async fn about(&self, topic: &str) -> Result<String, String> {
        assert!(self.is_there, "a live call");
        Ok(format!("All about {topic}."))
    }
}

#[derive(Clone, FromRef)]
struct Deps {
    model: Model,
}

async fn write(essay: Snapshot<Essay>, model: Dep<Model>, fx: Effects) -> Result<Update<Essay>, String> {
    let draft = fx.run_keyed("draft", &essay.topic, || model.about(&essay.topic)).await?;
    Ok(Essay::update().draft(draft))
}

async fn review(essay: Snapshot<Essay>, editor: Ask<String, String>) -> Done {
    let editor = editor.within(Duration::from_secs(86_400), "good".to_owned());
    match editor.ask(essay.draft.clone()).await.as_str() {
        "good" => Done::Yes,
        _ => Done::No,
    }
}

fn essays(model: &Model) -> Graph<Essay> {
    let mut g = StateGraph::<Essay, Deps>::new("essay");
    let write = g.node("write", write);
    let review = g.node("review", review);
    g.edge(START, write);
    g.edge(write, review);
    g.route(review, move |done| match done {
        Done::Yes => END,
        Done::No => to(write),
    });
    g.compile().expect("sound").with_context(Deps { model: model.clone() }).checkpointer(MemorySaver::new())
}

#[tokio::test]
async fn a_run_is_put_on_a_cassette_and_runs_without_the_model() -> super::Result {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("rust.json");
    let model = Model { is_there: true };

    let thread = essays(&model).thread("rust");
    thread.run(Essay::update().topic("Rust")).await?.interrupted()?;
    thread.answer("good").await?.finished()?;
    Cassette::of(&thread).await?.save(&path)?;

    let cassette = Cassette::load(&path)?;
    let essays = essays(&Model::absent()).with_cassette(&cassette);
    let essay = essays.run(Essay::update().topic("Rust")).await?.finished()?;
    assert_eq!(essay.draft, "All about Rust.");
    cassette.finish()?;

    let cassette = Cassette::load(&path)?;
    let essays = essays.with_cassette(&cassette);
    let missed = essays.run(Essay::update().topic("Zig")).await.err().ok_or("it is a miss")?.to_string();
    let shown = include_str!("../../../docs/testing.md");
    let report = missed.split_once("the cassette").ok_or("it is a miss")?.1;
    assert!(shown.contains(report), "{missed}");
    Ok(())
}

#[tokio::test]
async fn a_turn_comes_to_what_it_came_to() -> super::Result {
    let cassette = |draft: &str| {
        let text = format!(
            r#"{{"version": 1, "recordings": [
                {{"node": "write", "step": 1, "effect": "draft", "key": "Zig", "ok": {draft:?}}}
            ]}}"#
        );
        Cassette::parse(&text)
    };
    let graph = essays(&Model::absent());
    let cassette_of_then = cassette("All about Zig.")?;
    let cassette_of_now = cassette("All about Ada.")?;
    let turn = async |cassette: Cassette| {
        testing::turn(&graph)
            .state(r#"{"topic": "Rust", "draft": "All about Rust."}"#)
            .input(r#"[{"field": "topic", "op": "set", "value": "Zig"}]"#)
            .cassette(&cassette)
            .supersteps(2)
            .comes_to(r#"{"topic": "Zig", "draft": "All about Zig."}"#)
            .leads_to(["review"])
            .await?;
        Ok::<_, testing::TurnError>(())
    };
    turn(cassette_of_then).await?;
    let said = turn(cassette_of_now).await.err().ok_or("the draft is another one")?.to_string();
    assert!(include_str!("../../../docs/testing.md").contains(&said), "{said}");
    Ok(())
}

#[tokio::test]
async fn a_node_runs_alone() -> super::Result {
    let ran = testing::node(&essays(&Model::absent()), "write")
        .state(Essay { topic: "Rust".into(), ..Essay::default() })
        .effect_keyed("draft", "Rust", "All about Rust.")
        .await?
        .finished();
    assert_eq!(ran.state.draft, "All about Rust.");
    assert_eq!(ran.next_nodes(), ["review"]);
    Ok(())
}

#[tokio::test]
async fn claims_are_made_about_a_trace() -> super::Result {
    let thread = essays(&Model { is_there: true }).thread("rust");
    thread.run(Essay::update().topic("Rust")).await?.interrupted()?;
    thread.answer("bad").await?.interrupted()?;
    thread.answer("good").await?.finished()?;

    let trace = Trace::of(&thread).await?;
    trace
        .ran(["write", "review", "write", "review"])
        .ran_before("write", "review")
        .ran_times("write", 2)
        .took("review", "No")
        .wrote("write", "draft");

    let claim = std::panic::AssertUnwindSafe(|| _ = trace.ran_times("write", 1));
    let panic = std::panic::catch_unwind(claim).err().ok_or("it ran twice")?;
    let said = panic.downcast_ref::<String>().ok_or("a claim says why")?;
    assert!(include_str!("../../../docs/testing.md").contains(said), "{said}");
    Ok(())
}

#[tokio::test]
async fn a_test_records_its_own_cassette() -> super::Result {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("rust.json");
    let model = Model { is_there: true };
    // The page describes the behaviour outside of CI.
    if std::env::var_os("CI").is_some() {
        assert!(Cassette::record_or_replay(&path).is_err());
        return Ok(());
    }
    let cassette = Cassette::record_or_replay(&path)?;
    let essays = essays(&model).checkpointer(MemorySaver::new()).with_cassette(&cassette);
    let thread = essays.thread("rust");
    thread.run(Essay::update().topic("Rust")).await?.interrupted()?;
    thread.answer("good").await?.finished()?;
    cassette.finish()?;
    assert!(path.exists());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_day_passes_at_once() -> super::Result {
    let model = Model { is_there: true };
    let ambient = TestAmbient::seeded(7).on_paused_time();
    let essays = essays(&model).ambient(ambient.clone());
    let thread = essays.thread("rust");
    thread.run(Essay::update().topic("Rust")).await?.interrupted()?;
    ambient.advance(Duration::from_secs(86_400));
    assert_eq!(essays.tick().await?.len(), 1);
    Ok(())
}

#[derive(State, Clone, Default)]
struct Order {
    items: Vec<String>,
    price: u32,
}

#[derive(Clone, FromRef)]
struct Shop {
    prices: Prices,
}

/// The source of prices: the shop's service, or the test.
#[derive(Clone)]
struct Prices(Arc<dyn Fn(&str) -> u32 + Send + Sync>);

async fn price(order: Snapshot<Order>, prices: Dep<Prices>) -> Update<Order> {
    Order::update().price(order.items.iter().map(|item| (prices.0.0)(item)).sum::<u32>())
}

/// Runs one node on a state, with a shop of the test.
async fn priced(items: &[&str]) -> Result<u32, Box<dyn std::error::Error>> {
    let mut g = StateGraph::<Order, Shop>::new("price");
    let price = g.node("price", price);
    g.edge(START, price);
    g.edge(price, END);
    let shop = Shop { prices: Prices(Arc::new(|item| item.len() as u32)) };
    let graph = g.compile()?.with_context(shop);

    let items = items.iter().map(|item| item.to_string()).collect::<Vec<_>>();
    let order = graph.run(Order { items, price: 0 }).await?.finished()?;
    Ok(order.price)
}

#[tokio::test]
async fn a_node_is_tested_as_a_graph_of_one() -> super::Result {
    assert_eq!(priced(&["tea", "cups"]).await?, 7);
    Ok(())
}

#[tokio::test]
async fn questions_are_answered_by_the_test() -> super::Result {
    let (stories, _) = stories();
    let thread = stories.thread("t");

    let asked = thread.run(Story::update().topic("Rust")).await?.interrupted()?;
    assert_eq!(asked[0].question::<String>()?, "Rust: Rust begins, Rust ends");
    let story = thread.answer(&Verdict::Accept).await?.finished()?;
    assert_eq!(story.topic, "Rust");
    Ok(())
}

#[tokio::test]
async fn the_log_says_what_ran() -> super::Result {
    let (stories, _) = stories();
    let ran = Arc::new(Mutex::new(Vec::new()));
    let nodes = Arc::clone(&ran);
    let stories = stories.observe(move |event: &RunEvent| {
        if let EventKind::TaskStarted { node, .. } = &event.kind {
            nodes.lock().expect("no test panics in here").push(node.to_string());
        }
    });
    let _paused = stories.thread("t").run(Story::update().topic("Rust")).await?;
    assert_eq!(*ran.lock().expect("as above"), ["__start__", "outline", "write", "review"]);
    Ok(())
}

#[derive(Route, Serialize, Deserialize)]
enum Done {
    Yes,
    No,
}

async fn wait() -> Done {
    tokio::time::sleep(Duration::from_secs(3600)).await;
    Done::Yes
}

#[tokio::test(start_paused = true)]
async fn an_hour_takes_no_time() -> super::Result {
    let mut g = StateGraph::<Order>::new("wait");
    let wait = g.node("wait", wait);
    g.edge(START, wait);
    g.route(wait, move |done| match done {
        Done::Yes => END,
        Done::No => to(wait),
    });
    let _order = g.compile()?.run(Order::update()).await?.finished()?;
    Ok(())
}

#[tokio::test]
async fn the_wiring_can_be_looked_at() {
    let (stories, _) = stories();
    let nodes: BTreeSet<_> = stories.nodes().map(|node| node.to_string()).collect();
    assert!(nodes.contains("review"));
    assert!(stories.mermaid().contains("review"));
}
