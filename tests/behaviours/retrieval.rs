//! Typical graphs for retrieval: with a long and a short path, and with an item per source.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use superstep::node::Cache;
use superstep::prelude::*;
use superstep::run::{EventKind, View};

use crate::support::{Calls, Stage, on_both_savers};

#[derive(Route, Serialize, Deserialize)]
enum Always {
    Here,
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Found {
    query: String,
    #[reducer(Union)]
    docs: BTreeSet<String>,
    answer: String,
}

/// rewrite → analyse → first retriever, and the second retriever beside them; both are joined before the answer.
fn search(by_branch: bool) -> Graph<Found> {
    let mut g = StateGraph::<Found>::new("search");
    let rewrite = g.node("rewrite", async |found: Snapshot<Found>| {
        Found::update().query(format!("query: {}", found.query))
    });
    let analyse = g.node("analyse", async |found: Snapshot<Found>| {
        Found::update().query(format!("analyzed: {}", found.query))
    });
    let first = g.node("first", async || Found::update().docs(["doc1", "doc2"].map(String::from)));
    let second = g.node("second", async || {
        tokio::task::yield_now().await;
        Found::update().docs(["doc3", "doc4"].map(String::from))
    });
    let answer = g.node("answer", async |found: Snapshot<Found>| {
        Found::update().answer(found.docs.iter().cloned().collect::<Vec<_>>().join(","))
    });
    if by_branch {
        g.branch(START, |_| Always::Here, move |_| to(rewrite));
    } else {
        g.edge(START, rewrite);
    }
    g.edge(rewrite, analyse);
    g.edge(rewrite, second);
    g.edge(analyse, first);
    g.edge(first, END);
    g.edge(second, END);
    g.join([first, second], answer);
    g.edge(answer, END);
    g.compile().expect("a sound graph")
}

#[tokio::test]
async fn b06_b07_a_join_of_a_long_and_a_short_way_answers_once() {
    for by_branch in [false, true] {
        on_both_savers(async |saver| {
            let thread = search(by_branch).shared_checkpointer(saver).thread("1");
            let run = thread.run(Found::update().query("what is weather in sf")).await.unwrap();
            assert_eq!(run.step, 4);
            let found = run.finished().unwrap();
            assert_eq!(found.query, "analyzed: query: what is weather in sf");
            assert_eq!(found.answer, "doc1,doc2,doc3,doc4");
        })
        .await;
    }
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Weather {
    #[reducer(Append)]
    locations: Vec<String>,
    #[reducer(Append)]
    results: Vec<String>,
}

#[tokio::test]
async fn b14_a_branch_of_start_sends_an_item_per_entry_of_the_input() {
    #[derive(Route, Serialize, Deserialize)]
    enum Places {
        Each(Vec<String>),
    }
    let mut g = StateGraph::<Weather>::new("weather");
    let weather = g.node("weather", async |place: Input<String>| {
        let sky = if place.len() > 2 { "sunny" } else { "cloudy" };
        Weather::update().results([format!("It's {sky} in {}", *place)])
    });
    g.branch(
        START,
        |weather: &Weather| Places::Each(weather.locations.clone()),
        move |Places::Each(places)| each(weather, places),
    );
    g.edge(weather, END);
    let run = g.compile().unwrap().run(Weather::update().locations(["sf", "nyc"])).await.unwrap();
    let weather = run.finished().unwrap();
    assert_eq!(weather.results, ["It's cloudy in sf", "It's sunny in nyc"]);
    assert_eq!(weather.locations, ["sf", "nyc"]);
}

/// Keeps its entries sorted, with duplicates.
struct Sorted;

impl superstep::reducer::Reducer<Vec<String>> for Sorted {
    type Write = Vec<String>;

    fn reduce(current: &mut Vec<String>, write: Vec<String>) {
        current.extend(write);
        current.sort();
    }
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Twice {
    query: String,
    #[reducer(Sorted)]
    docs: Vec<String>,
    answer: String,
}

#[derive(Route, Serialize, Deserialize)]
enum Enough {
    Yes,
    No,
}

fn docs(names: [&str; 2]) -> Update<Twice> {
    Twice::update().docs(names.map(String::from).to_vec())
}

/// The same search, until the query was analyzed twice; `rewrite` has a cache.
fn search_twice(by_branch: bool, stage: &Stage) -> Graph<Twice> {
    let mut g = StateGraph::<Twice, Stage>::new("twice");
    let rewrite = g.node("rewrite", async |found: Snapshot<Twice>, calls: Dep<Calls>| {
        calls.note("rewrite");
        Twice::update().query(format!("query: {}", found.query))
    });
    g.policy(rewrite).cache(Cache::new().key(|found: &Twice| found.query.clone()));
    let analyse = g.node("analyse", async |found: Snapshot<Twice>| {
        Twice::update().query(format!("analyzed: {}", found.query))
    });
    let first = g.node("first", async || docs(["doc1", "doc2"]));
    let second = g.node("second", async || {
        for _ in 0..9 {
            tokio::task::yield_now().await;
        }
        docs(["doc3", "doc4"])
    });
    let decide = g.node("decide", async || ());
    let answer =
        g.node("answer", async |found: Snapshot<Twice>| Twice::update().answer(found.docs.join(",")));
    g.edge(START, rewrite);
    if by_branch {
        g.branch(rewrite, |_| Always::Here, move |_| to(analyse).and(to(second)));
    } else {
        g.edge(rewrite, analyse);
        g.edge(rewrite, second);
    }
    g.edge(analyse, first);
    g.edge(first, END);
    g.edge(second, END);
    g.join([first, second], decide);
    let enough = |found: &Twice| match found.query.matches("analyzed").count() {
        0 | 1 => Enough::No,
        _ => Enough::Yes,
    };
    g.branch(decide, enough, move |enough| match enough {
        Enough::Yes => to(answer),
        Enough::No => to(rewrite),
    });
    g.edge(answer, END);
    g.compile().expect("a sound graph").with_context(stage.clone())
}

/// The nodes in the order in which they finish; cached results are marked.
async fn finished(graph: &Graph<Twice>) -> (Vec<String>, Twice) {
    let mut stream = graph.run(Twice::update().query("what is weather in sf")).stream().view(View::Tasks);
    let mut nodes = Vec::new();
    while let Some(event) = stream.next().await {
        if let EventKind::TaskFinished { node, cached, .. } = &event.kind
            && node.as_str() != "__start__"
        {
            nodes.push(if *cached { format!("({node})") } else { node.to_string() });
        }
    }
    let run = stream.finish().await.expect("no node fails");
    (nodes, run.finished().expect("nothing stops it"))
}

#[tokio::test]
async fn b09_b10_a_join_in_a_loop_is_reset_and_a_cached_node_is_not_run_again() {
    for by_branch in [false, true] {
        let stage = Stage::default();
        let graph = search_twice(by_branch, &stage);
        let round = |rewrite| [rewrite, "analyse", "second", "first", "decide"];
        for (rewrite, calls) in [("rewrite", 2), ("(rewrite)", 2), ("rewrite", 4)] {
            if calls == 4 {
                graph.clear_cache().await.expect("it is in memory");
            }
            let (nodes, found) = finished(&graph).await;
            assert_eq!(nodes, [&round(rewrite)[..], &round(rewrite), &["answer"]].concat());
            assert_eq!(found.query, "analyzed: query: analyzed: query: what is weather in sf");
            assert_eq!(found.answer, "doc1,doc1,doc2,doc2,doc3,doc3,doc4,doc4");
            assert_eq!(stage.calls.of("rewrite"), calls);
        }
    }
}
