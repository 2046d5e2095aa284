//! The configuration of a run, which its nodes take as a type of their own.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::support::on_both_savers;
use superstep::node::Configured;
use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    said: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Style {
    #[serde(default = "plain")]
    tone: String,
}

fn plain() -> String {
    "plain".into()
}

#[derive(Deserialize, JsonSchema)]
struct Length {
    #[serde(default)]
    words: u32,
}

async fn speak(style: Configured<Style>) -> Update<Log> {
    Log::update().said([style.tone.clone()])
}

async fn count(length: Configured<Length>, ask: Ask<String, String>) -> Update<Log> {
    let more = if length.words > 9 { ask.ask("so many?".into()).await } else { String::new() };
    Log::update().said([format!("{}{more}", length.words)])
}

fn configuration(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).expect("an object")
}

/// `speak` in the graph, `count` in its subgraph.
fn graph() -> Graph<Log> {
    let mut inner = StateGraph::<Log>::new("inner");
    let count = inner.node("count", count);
    inner.edge(START, count);
    inner.edge(count, END);
    let inner = inner.compile().expect("it is whole");
    let mut g = StateGraph::<Log>::new("outer");
    let speak = g.node("speak", speak);
    let inner = g.subgraph("inner", inner, Lens::new().share(Log::SAID, Log::SAID));
    g.edge(START, speak);
    g.edge(speak, inner);
    g.edge(inner, END);
    g.compile().expect("it is whole")
}

#[tokio::test]
async fn nodes_take_the_configuration_of_their_run_also_in_subgraphs() {
    let graph = graph();
    let set = configuration(json!({ "tone": "solemn", "words": 3, "unknown": [] }));
    let run = graph.run(Log::update()).configure(set).await.expect("it fits");
    assert_eq!(run.state.said, ["solemn", "3"]);
    let run = graph.run(Log::update()).await.expect("every member has a default");
    assert_eq!(run.state.said, ["plain", "0"]);
}

#[tokio::test]
async fn a_configuration_that_does_not_fit_names_its_member_before_anything_runs() {
    on_both_savers(|saver| async move {
        let graph = graph().shared_checkpointer(saver);
        let thread = graph.thread("t");
        let set = configuration(json!({ "words": "many" }));
        let error = thread.run(Log::update()).configure(set).await.expect_err("a text is no number");
        let told = error.to_string();
        assert!(
            told.contains("node \"count\"") && told.contains("Length") && told.contains("words"),
            "{told}"
        );
        assert!(matches!(error, RunError::Configuration { .. }), "{error:?}");
        assert!(graph.threads().await.expect("it reads").is_empty(), "nothing was stored");
    })
    .await;
}

#[tokio::test]
async fn a_run_that_continues_has_the_configuration_of_the_run_before_it() {
    on_both_savers(|saver| async move {
        let graph = graph().shared_checkpointer(saver);
        let thread = graph.thread("t");
        let set = configuration(json!({ "tone": "solemn", "words": 10 }));
        let run = thread.run(Log::update()).configure(set).await.expect("it fits");
        run.interrupted().expect("it asks");
        let run = thread.answer("yes").await.expect("it continues");
        assert_eq!(run.state.said, ["solemn", "10yes"]);
        let run = thread.run(Log::update()).await.expect("a new input has none");
        assert_eq!(run.state.said[2..], ["plain", "0"]);
    })
    .await;
}

#[test]
fn the_schema_of_the_configuration_has_the_types_of_all_nodes() {
    let config = graph().erased().json_schemas().config.expect("two nodes take one");
    let [style, length] = &config["allOf"].as_array().expect("two types")[..] else { panic!("{config}") };
    assert_eq!(style["properties"]["tone"]["default"], "plain");
    assert_eq!(length["properties"]["words"]["type"], "integer");
    let mut plain = StateGraph::<Log>::new("plain");
    let node = plain.node("node", async || Log::update().said(["x".to_owned()]));
    plain.edge(START, node);
    plain.edge(node, END);
    assert_eq!(plain.compile().expect("it is whole").erased().json_schemas().config, None);
}
