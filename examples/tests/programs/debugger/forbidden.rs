//! A replay calls nothing live: the outside world is removed, or panics when it is called.

use std::fs;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use serde_json::Value;
use superstep::cli::{Exit, Look, Screen};
use superstep::nodes::graphs::{self, AgentState, EvaluatorConfig};
use superstep::nodes::model::{ChatModel, ModelError, ModelEvent, ModelRequest};
use superstep::nodes::tool::{
    InvalidInput, Permission, Tool, ToolContext, ToolFailure, ToolOutput, ToolRegistry, ToolResult,
};
use superstep::prelude::*;

use super::Recorded;

/// A model and a tool that must not be called.
struct Forbidden;

impl ChatModel for Forbidden {
    fn name(&self) -> &str {
        "forbidden"
    }

    fn stream(&self, _: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        panic!("the model was called")
    }
}

#[async_trait]
impl Tool for Forbidden {
    fn name(&self) -> &str {
        "search_docs"
    }

    fn prompt(&self) -> String {
        "Nobody may search.".to_owned()
    }

    fn input_schema(&self) -> Value {
        serde_json::json!({ "type": "object" })
    }

    async fn validate_input(&self, _: &Value, _: &ToolContext) -> Result<(), InvalidInput> {
        panic!("the tool was called")
    }

    async fn check_permissions(&self, _: &Value, _: &ToolContext) -> Permission {
        panic!("the tool was called")
    }

    async fn call(&self, _: Value, _: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        panic!("the tool was called")
    }

    fn map_result(&self, _: Result<ToolOutput, ToolFailure>) -> ToolResult {
        panic!("the tool was called")
    }

    fn is_read_only(&self, _: &Value) -> bool {
        true
    }
}

/// The graph of the example agent_loop with such a model, on its file.
async fn agent(recorded: &Recorded) -> Graph<AgentState> {
    let tools = ToolRegistry::new().with(Forbidden).unwrap();
    let config = EvaluatorConfig::new(Forbidden).tools(tools);
    graphs::evaluator(config).unwrap().checkpointer(SqliteSaver::open(&recorded.file).await.unwrap())
}

async fn replay(graph: &Graph<AgentState>) -> (Exit, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let screen = Screen { out: &mut out, err: &mut err, look: Look::PIPED };
    let exit = superstep::debugger(&[graph]).run_on(["replay", "t"], screen).await;
    assert_eq!(err, b"");
    (exit, String::from_utf8(out).unwrap())
}

#[tokio::test]
async fn the_agent_is_replayed_without_its_model_and_its_tools() {
    let recorded = Recorded::agent_loop();
    let graph = agent(&recorded).await;
    let told = replay(&graph).await;
    assert_eq!(told, (Exit::Fine, "equal: 7 supersteps came out as recorded\n".into()));
    let replay = graph.thread("t").replay().await.unwrap();
    assert!(replay.is_equal() && replay.unverified.is_empty(), "{replay:?}");
}

#[tokio::test]
async fn the_others_are_replayed_without_what_they_have_read() {
    for recorded in [
        Recorded::dynamic(),
        Recorded::flow(),
        Recorded::reducers(),
        Recorded::review(),
        Recorded::time_travel(),
    ] {
        let copy = fs::read(&recorded.file).unwrap();
        for entry in fs::read_dir(recorded.folder.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "txt" || extension == "md") {
                fs::remove_file(path).unwrap();
            }
        }
        for thread in recorded.threads() {
            let replay = recorded.debug(&["replay", &thread, "--json"]);
            assert_eq!((replay.code, &*replay.err), (0, ""), "{}", recorded.name);
            let replay = replay.json();
            assert!(replay["supersteps"].as_u64() > Some(1), "{replay}");
            assert_eq!((&replay["divergent"], &replay["unverified"]), (&0.into(), &Value::Array(Vec::new())));
        }
        assert!(fs::read(&recorded.file).unwrap() == copy, "{}: nothing was written", recorded.name);
    }
}
