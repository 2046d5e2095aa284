//! Snippets of `docs/testing.md`.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep::prelude::*;
use superstep::run::{EventKind, RunEvent};

use super::story::{Story, Verdict, stories};

#[derive(State, Clone, Default)]
struct Order {
    items: Vec<String>,
    price: u32,
}

#[derive(Clone, FromRef)]
struct Shop {
    prices: Prices,
}

/// Where prices come from: the shop's service, or a test's own.
#[derive(Clone)]
struct Prices(Arc<dyn Fn(&str) -> u32 + Send + Sync>);

async fn price(order: Snapshot<Order>, prices: Dep<Prices>) -> Update<Order> {
    Order::update().price(order.items.iter().map(|item| (prices.0.0)(item)).sum::<u32>())
}

/// Runs one node on a state, with a shop of the test's own.
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
    g.route(wait, move |Done::Yes| END);
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
