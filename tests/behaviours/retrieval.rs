//! Graphs as people write them for retrieval: a long and a short way, and an item per place.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use superstep::prelude::*;

use crate::support::on_both_savers;

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
async fn b1_06_and_07_a_join_of_a_long_and_a_short_way_answers_once() {
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
async fn b1_14_a_branch_of_start_sends_an_item_per_entry_of_the_input() {
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
