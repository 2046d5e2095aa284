//! Snippets of `docs/dynamic-graphs.md`.

use serde_json::{Value, json};
use superstep::graph::{Description, Registry};
use superstep::node::JsonOutcome;
use superstep::prelude::*;
use superstep::state::{JsonError, JsonState};

const ESSAY: &str = r#"
    graph = "essay"
    start = "plan"

    [state]
    topic = { type = "string" }
    facts = { type = "array", items = { type = "string" }, reducer = "append" }
    draft = { type = "string" }

    [nodes.plan.cases]
    research = { each = "research" }
    write = "write"

    [nodes.research]
    to = "write"
    retry = { attempts = 3 }

    [nodes.write]
    to = "END"
"#;

async fn plan(state: Snapshot<JsonState>) -> JsonOutcome {
    match state["topic"].as_str() {
        Some("Rust") => JsonOutcome::routed("research").items(["types", "graphs"]),
        _ => JsonOutcome::routed("write"),
    }
}

async fn research(query: Input<String>) -> Value {
    json!({ "facts": [format!("{} are checked", *query)] })
}

async fn write(state: Snapshot<JsonState>) -> Result<Value, JsonError> {
    let facts: Vec<String> = state.read("facts")?;
    Ok(json!({ "draft": facts.join("; ") }))
}

#[tokio::test]
async fn a_description_over_registered_functions_is_a_graph() -> super::Result {
    let registry = Registry::<()>::new().node("plan", plan).node("research", research).node("write", write);
    let essays = registry.build(&Description::from_toml(ESSAY)?).compile()?.checkpointer(MemorySaver::new());

    let input = essays.update(&json!({ "topic": "Rust" }))?;
    let essay = essays.thread("rust").run(input).await?.finished()?;
    assert_eq!(essay["draft"], "types are checked; graphs are checked");

    essays.thread("rust").edit_as_named("plan", JsonOutcome::routed("write")).await?;
    assert_eq!(essays.thread("rust").head().await?.next(), ["write".into()]);
    Ok(())
}

#[test]
fn mistakes_are_said_with_their_paths() -> super::Result {
    let wrong = ESSAY.replace("\"append\"", "\"apend\"").replace("write = \"write\"", "write = \"wirte\"");
    let registry = Registry::<()>::new().node("plan", plan).node("research", research).node("write", write);
    let error =
        registry.build(&Description::from_toml(&wrong)?).compile().err().map(|error| error.to_string());
    let said = "graph \"essay\" has 2 problems\n  \
        - state.facts.reducer: there is no reducer \"apend\"; did you mean \"append\"?\n  \
        - nodes.plan.cases.write: there is no node \"wirte\"; did you mean \"write\"?";
    assert_eq!(error.as_deref(), Some(said));
    Ok(())
}
