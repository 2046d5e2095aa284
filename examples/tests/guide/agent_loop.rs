//! Snippets of `docs/agent-loop.md`.

use std::convert::Infallible;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use superstep::nodes::docs::{DocIndex, IndexOptions, SearchDocs};
use superstep::nodes::graphs::{self, AgentState, CallbackConfig, CallbackState, Callbacks, EvaluatorConfig};
use superstep::nodes::model::{Extractive, Scripted};
use superstep::nodes::tool::{ToolEffect, ToolRegistry, TypedTool};
use superstep::prelude::*;

use superstep::nodes::graphs::CallbackExit;

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
async fn an_agent_tells_what_it_does() -> super::Result {
    let add =
        TypedTool::new("add", "Adds two numbers.", |sum: Sum| async move { (sum.a + sum.b).to_string() });
    let tools = ToolRegistry::new().with(add)?;
    let model = Scripted::new().call("c1", "add", serde_json::json!({ "a": 2, "b": 3 })).say("2 + 3 is 5.");

    let callbacks = Callbacks::new()
        .on_thinking(|text| println!("{text}"))
        .on_tool_call(|tool, input| println!("{tool} {input}"))
        .on_tool_result(|tool, result| println!("{tool}: {result}"));
    let config = CallbackConfig::new(model, "You are a patient tutor.").tools(tools);
    let tutor = graphs::callback(config)?.observe(callbacks);

    let state = tutor.run(CallbackState::ask("Teach me sums.")).await?.finished()?;
    println!("{}, after {} calls, {:?}", state.final_text(), state.tool_calls().len(), state.exit());
    assert_eq!((state.final_text().as_str(), state.exit()), ("2 + 3 is 5.", Some(CallbackExit::EndTurn)));
    Ok(())
}
