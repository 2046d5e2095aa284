//! Graphs without their types: every verb, on JSON.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::graph::{Description, Registry};
use superstep::node::JsonOutcome;
use superstep::prelude::*;
use superstep::run::{AnyGraph, AnyState, ToAnyGraph};

use crate::support::on_both_savers;

#[derive(State, Clone, Debug, Default, PartialEq, JsonSchema)]
struct Essay {
    topic: String,
    #[reducer(Append)]
    facts: Vec<String>,
    draft: Option<String>,
    #[state(secret)]
    token: String,
}

#[derive(Route, Serialize, Deserialize)]
enum Verdict {
    Accept,
    Revise,
}

fn essays() -> Graph<Essay> {
    let mut g = StateGraph::<Essay>::new("essay");
    let write =
        g.node("write", async |essay: Snapshot<Essay>| Essay::update().draft(format!("On {}.", essay.topic)));
    let review = g.node("review", async |ask: Ask<String, bool>| match ask.ask("Good?".to_owned()).await {
        true => Verdict::Accept,
        false => Verdict::Revise,
    });
    g.edge(START, write);
    g.edge(write, review);
    g.route(review, move |verdict| match verdict {
        Verdict::Accept => END,
        Verdict::Revise => to(write),
    });
    g.compile().expect("sound")
}

fn finished(run: Run<AnyState>) -> Value {
    run.finished().expect("nothing is left").to_json()
}

#[tokio::test]
async fn a_thread_is_run_answered_edited_and_forked_without_its_types() {
    on_both_savers(async |saver| {
        let graph: AnyGraph = essays().shared_checkpointer(saver).erased();
        assert_eq!((graph.name().as_str(), graph.description().name.as_str()), ("essay", "essay"));
        let thread = graph.thread("rust");
        let asked = thread.run(json!({ "topic": "Rust", "facts": ["typed"] })).await.expect("it asks");
        assert_eq!(asked.interrupted().expect("it asks")[0].node.as_str(), "review");
        thread.edit(json!({ "facts": ["fast"] })).await.map(drop).expect("there is no other writer");
        let state = thread.state().await.expect("it ran").values.to_json();
        assert_eq!(
            state,
            json!({ "topic": "Rust", "facts": ["typed", "fast"], "draft": "On Rust.", "token": "<secret>" })
        );

        let fork = thread.head().await.expect("it ran").fork("other").await.expect("the name is free");
        let outcome = JsonOutcome::update(json!({ "topic": "Go" })).route("Revise");
        fork.edit_as_named("review", outcome).await.map(drop).expect("it is next");
        assert_eq!(fork.head().await.expect("it ran").next()[0].as_str(), "write");
        assert_eq!(fork.resume().await.expect("it asks again").state.to_json()["draft"], "On Go.");

        assert_eq!(finished(thread.answer(true).await.expect("it is open"))["draft"], "On Rust.");
        assert_eq!(thread.history().unwrap().collect().await.unwrap().len(), 5);
        assert!(thread.replay().await.expect("it is recorded").first.is_none());
        let again = thread.before_named("write").await.expect("it ran").rerun().await;
        assert_eq!(again.expect("it asks again").status.name(), "interrupted");
        thread.delete().await.expect("it is this graph's");
        assert_eq!(graph.threads().await.expect("there is a store").len(), 1);
    })
    .await;
}

#[tokio::test]
async fn what_does_not_fit_is_refused_with_its_reason() {
    let graph = essays().checkpointer(MemorySaver::new()).erased();
    let thread = graph.thread("t");
    let told = |error: RunError| error.to_string();
    let unknown = told(thread.run(json!({ "topik": 1 })).await.unwrap_err());
    assert_eq!(unknown, "the input does not fit: the state has no field \"topik\"; did you mean \"topic\"?");
    assert!(thread.head().await.is_err(), "nothing was stored");
    drop(thread.run(json!({})).await.expect("it asks"));
    let misfit = thread.edit(json!({ "facts": 1 })).await.unwrap_err().to_string();
    assert!(misfit.starts_with("the edit does not fit: field \"facts\": "), "{misfit}");
    let cases = [
        (JsonOutcome::routed("Accpt"), "the edit does not fit: unknown variant `Accpt`"),
        (JsonOutcome::update(json!({})), "the edit as node \"review\" needs a decision"),
        (
            JsonOutcome::update(json!({ "x": 1 })).route("Accept"),
            "the edit does not fit: the state has no field \"x\"",
        ),
    ];
    for (outcome, expected) in cases {
        let error = told(thread.edit_as_named("review", outcome).await.unwrap_err());
        assert!(error.starts_with(expected), "{error}");
    }
    let overwritten = JsonOutcome::update(json!({})).overwrite(json!({ "facts": ["only"] })).route("Accept");
    thread.edit_as_named("review", overwritten).await.map(drop).expect("it is next");
    assert_eq!(thread.head().await.expect("it ran").state().to_json()["facts"], json!(["only"]));
}

#[tokio::test]
async fn a_state_is_taken_back_as_its_own_type() {
    let thread = essays().checkpointer(MemorySaver::new()).erased().thread("t");
    let state = thread.run(json!({ "topic": "Rust", "token": "t" })).await.expect("it asks").into_state();
    let essay: Essay = state.clone().downcast().expect("it is an essay");
    assert_eq!((&*essay.topic, &*essay.token), ("Rust", "t"));
    #[derive(State, Clone, Default)]
    struct Other {
        topic: String,
    }
    assert!(state.downcast::<Other>().is_err_and(|state| state.to_json()["topic"] == "Rust"));
}

#[tokio::test]
async fn a_flow_is_a_graph_that_takes_its_input() {
    let double = flow("double", async |cx: Cx<u32>| Ok::<_, NodeError>(cx.input() * 2));
    let graphs: [&dyn ToAnyGraph; 2] = [&double, &essays()];
    let [double, essays] = graphs.map(ToAnyGraph::to_any_graph);
    assert_eq!(finished(double.run(json!(21)).await.expect("it ends"))["returned"], json!(42));
    let error = double.run(json!("x")).await.unwrap_err().to_string();
    assert_eq!(error, "the input does not fit: invalid type: string \"x\", expected u32");
    assert_eq!((double.json_schemas().input, essays.name().as_str()), (None, "essay"));
}

#[tokio::test]
async fn schemas_are_those_of_the_state_where_it_has_one() {
    let schemas = essays().erased().json_schemas();
    let (state, input) = (schemas.state.expect("it derives one"), schemas.input.expect("it derives one"));
    assert_eq!(state["required"], json!(["draft", "facts", "token", "topic"]));
    assert_eq!(input["properties"]["facts"], json!({ "type": "array", "items": { "type": "string" } }));
    assert_eq!((&input["additionalProperties"], input.get("required")), (&json!(false), None));
    assert_eq!(schemas.output, Some(state));

    #[derive(State, Clone, Default, Serialize, Deserialize)]
    struct Plain {
        topic: String,
    }
    let mut g = StateGraph::<Plain>::new("plain");
    let node = g.node("node", async || {});
    g.edge(START, node);
    g.edge(node, END);
    let plain = g.compile().expect("sound");
    assert_eq!(plain.json_schemas(), superstep::run::JsonSchemas::default());
    let told = plain.with_json_schemas::<u32, String>().json_schemas();
    assert_eq!((told.state, told.input.unwrap()["type"].clone()), (None, json!("integer")));
    assert_eq!(told.output.unwrap()["type"], "string");
}

#[tokio::test]
async fn schemas_of_a_described_graph_are_in_its_description() {
    let facts = json!({ "type": "array", "items": { "type": "string" }, "reducer": "append" });
    let description = json!({
        "graph": "plan",
        "state": { "topic": { "type": "string" }, "facts": facts },
        "start": "write",
        "nodes": { "write": { "run": "write", "to": "END" } },
    });
    let registry = Registry::<()>::new().node("write", async || json!({ "topic": "x" }));
    let graph = registry.build(&Description::from_value(description)).compile().expect("sound");
    let schema = graph.json_schemas().input.expect("it is described");
    assert_eq!(schema["properties"]["facts"]["items"], json!({ "type": "string" }));
}
