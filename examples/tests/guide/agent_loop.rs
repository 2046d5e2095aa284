//! Snippets of `docs/agent-loop.md`.

use std::convert::Infallible;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use superstep::nodes::docs::{DocIndex, IndexOptions, SearchDocs};
use superstep::nodes::graphs::{self, AgentState, EvaluatorConfig};
use superstep::nodes::model::{Extractive, Scripted};
use superstep::nodes::node::AgentCallbacks;
use superstep::nodes::tool::{ToolEffect, ToolRegistry, TypedTool};
use superstep::prelude::*;

use superstep::nodes::model::Purpose;

#[derive(Deserialize, JsonSchema)]
struct Sum {
    a: i64,
    b: i64,
}

#[tokio::test]
async fn the_graph_answers_from_a_folder() -> super::Result {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");

    let index = DocIndex::build(folder, &IndexOptions::default())?;
    let tools = ToolRegistry::new().with(SearchDocs::new(Arc::new(index)))?;
    let config = EvaluatorConfig::new(Extractive).tools(tools);
    let agent = graphs::evaluator(config)?.checkpointer(MemorySaver::new());

    let question = AgentState::ask("How do I fork a checkpoint?");
    let state = agent.thread("questions").run(question).await?.finished()?;
    println!("{}", state.response.unwrap_or_default());
    assert_eq!(state.llm_calls.total(), 4);
    Ok(())
}

#[test]
fn a_function_is_a_tool() -> super::Result {
    let add = TypedTool::new("add", "Adds two numbers.", |sum: Sum| async move {
        Ok::<_, Infallible>((sum.a + sum.b).to_string())
    });
    let tools = ToolRegistry::new().with(add.with_effect(ToolEffect::ReadOnly))?;
    assert_eq!(tools.specs().len(), 1);
    Ok(())
}

#[tokio::test]
async fn callbacks_are_called_with_the_calls_of_an_agent() -> super::Result {
    let add =
        TypedTool::new("add", "Adds two numbers.", |sum: Sum| async move { (sum.a + sum.b).to_string() });
    let tools = ToolRegistry::new().with(add)?;
    let model = Scripted::new()
        .call("c1", "add", serde_json::json!({ "a": 2, "b": 3 }))
        .say("2 + 3 is 5, as it always was.")
        .on(Purpose::Evaluator, [r#"{ "iteration": 2, "score": 1.0, "complete": true, "feedback": "" }"#])
        .on(Purpose::Ranker, [r#"{ "iteration": 2, "order": [2], "best": 2, "reason": "the only one" }"#]);

    let callbacks = AgentCallbacks::new()
        .on_tool_call(|tool, input| println!("{tool} {input}"))
        .on_tool_result(|tool, result| println!("{tool}: {result}"));
    let agent = graphs::evaluator(EvaluatorConfig::new(model).tools(tools))?.observe(callbacks);

    let state = agent.run(AgentState::ask("What is 2 + 3?")).await?.finished()?;
    assert_eq!(state.response.as_deref(), Some("2 + 3 is 5, as it always was."));
    Ok(())
}
