//! Snippets of `docs/agent-loop.md`.

use std::convert::Infallible;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use superstep::nodes::docs::{DocIndex, IndexOptions, SearchDocs};
use superstep::nodes::graphs::{self, AgentState, EvaluatorConfig};
use superstep::nodes::model::Extractive;
use superstep::nodes::tool::{ToolEffect, ToolRegistry, TypedTool};
use superstep::prelude::*;

#[derive(Deserialize, JsonSchema)]
struct Sum {
    a: i64,
    b: i64,
}

#[tokio::test]
async fn the_graph_answers_from_a_folder() -> super::Result {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/docs");

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
