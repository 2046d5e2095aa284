//! Snippets of `docs/tools.md`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use superstep::nodes::node::{Agent, Tools};
use superstep::nodes::tool::{
    AllowReadOnly, ExecutionPolicy, InvalidInput, Permission, Tool, ToolContext, ToolFailure, ToolOutput,
    ToolRegistry, ToolResult, TypedTool, tool,
};
use superstep::nodes::tools::{self, Bash, HttpRequest, SqlQuery, Workspace};
use superstep::prelude::*;

use superstep::nodes::message::{Message, MessageLog, ToolCall, ToolStatus};
use superstep::nodes::model::{ChatModel, Scripted};
use superstep::nodes::node::AgentNext;

/// Adds two numbers.
#[tool(read_only)]
async fn add(a: i64, b: i64) -> Result<String, &'static str> {
    a.checked_add(b).map(|sum| sum.to_string()).ok_or("the sum is too large")
}

type Prices = BTreeMap<String, u32>;

/// Finds the price of a product.
#[tool(read_only, timeout = Duration::from_secs(5))]
async fn price(
    #[dep] prices: &Prices,
    /// The product, in the singular.
    product: String,
    /// The quantity; one by default.
    #[schemars(range(min = 1))]
    count: Option<u32>,
) -> Result<String, String> {
    let price = prices.get(&product).ok_or_else(|| format!("there is no {product}"))?;
    Ok(format!("{} cents", price * count.unwrap_or(1)))
}

/// Removes a file of the workspace.
struct RemoveFile;

#[async_trait]
impl Tool for RemoveFile {
    fn name(&self) -> &str {
        "remove_file"
    }

    fn prompt(&self) -> String {
        "Removes a file.".to_owned()
    }

    fn input_schema(&self) -> Value {
        json!({ "type": "object", "properties": { "file": { "type": "string" } }, "required": ["file"] })
    }

    async fn validate_input(&self, input: &Value, context: &ToolContext) -> Result<(), InvalidInput> {
        match (context.workspace(), input["file"].as_str()) {
            (Some(_), Some(file)) if !file.contains("..") => Ok(()),
            _ => Err(InvalidInput::new("name a file of the workspace")),
        }
    }

    async fn check_permissions(&self, _: &Value, _: &ToolContext) -> Permission {
        Permission::Ask("it cannot be undone".to_owned())
    }

    async fn call(&self, input: Value, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let folder = context.workspace().ok_or_else(|| ToolFailure::new("there is no workspace"))?;
        std::fs::remove_file(folder.join(input["file"].as_str().unwrap_or_default()))?;
        Ok("Removed.".into())
    }

    fn map_result(&self, result: Result<ToolOutput, ToolFailure>) -> ToolResult {
        ToolResult::of(self.name(), result)
    }
}

#[derive(State, Clone, Default)]
struct Chat {
    #[reducer(KeyedLog)]
    messages: MessageLog,
    visits: u32,
}

fn prices() -> Prices {
    BTreeMap::from([("apple".to_owned(), 25)])
}

#[tokio::test]
async fn functions_are_tools() -> super::Result {
    let tools = ToolRegistry::new().with(add())?.with(price(prices()))?;

    let call = ToolCall::new("c1", "price", json!({ "product": "apple", "count": 2 }));
    assert_eq!(tools.answer("m1", &call).await.content.to_text(), "50 cents");

    let call = ToolCall::new("c2", "price", json!({ "product": "apple", "count": "two" }));
    let answer = tools.answer("m2", &call).await;
    assert_eq!(answer.status, ToolStatus::Error);
    assert!(
        answer
            .content
            .to_text()
            .starts_with("the input does not fit the tool `price`: at /count: \"two\" is not of type")
    );
    Ok(())
}

#[tokio::test]
async fn a_closure_is_a_tool() -> super::Result {
    let count = TypedTool::with_context("count", "Counts its calls.", |_: Value, context| async move {
        let calls = context.shared::<std::sync::Mutex<u32>>();
        let mut calls = calls.lock().expect("nothing panics while it counts");
        *calls += 1;
        calls.to_string()
    });
    let tools = ToolRegistry::new().with(count)?;
    assert_eq!(tools.specs()[0].input_schema["type"], "object");
    Ok(())
}

#[tokio::test]
async fn a_policy_decides_what_no_tool_does() -> super::Result {
    let planning = ToolRegistry::new().with(add())?.with(RemoveFile)?.permissions(AllowReadOnly);
    let answer = planning.answer("m1", &ToolCall::new("c1", "add", json!({ "a": 2, "b": 3 }))).await;
    assert_eq!(answer.content.to_text(), "5");
    Ok(())
}

#[tokio::test]
async fn the_node_runs_what_a_message_asks_for() -> super::Result {
    let tools = ToolRegistry::new().with(add())?.with(RemoveFile)?;
    let mut g = StateGraph::<Chat>::new("chat");
    let node = Tools::new(tools, Chat::MESSAGES).policy(ExecutionPolicy::Sequential).workspace("/srv/files");
    let tools = g.node("tools", node);
    g.edge(START, tools);
    g.edge(tools, END);

    let calls = vec![
        ToolCall::new("c1", "add", json!({ "a": 2, "b": 3 })),
        ToolCall::new("c2", "remove_file", json!({ "file": "a.txt" })),
    ];
    let asked = Message::ai_with_calls("m1", "", calls);
    let graph = g.compile()?.checkpointer(MemorySaver::new());
    let state = graph.run(Chat::update().messages([asked])).await?.finished()?;
    assert_eq!(state.messages[1].text(), "5");
    assert!(state.messages[2].text().contains("was not permitted: it needs consent"));
    Ok(())
}

#[tokio::test]
async fn built_in_tools_come_in_sets_and_one_by_one() -> super::Result {
    let folder = tempfile::tempdir()?;
    let database = folder.path().join("prices.db");
    rusqlite::Connection::open(&database)?.execute_batch("CREATE TABLE prices (cents INTEGER)")?;
    let folder = folder.path().to_owned();

    let reading = tools::read_only(Workspace::at(&folder)?).with(SqlQuery::new(&database))?;
    let writing = tools::workspace(Workspace::of_session());

    let working = tools::workspace(Workspace::at(&folder)?)
        .with(Bash::new(Workspace::at(&folder)?).readable("/opt/toolchain"))?
        .with(HttpRequest::new().only_host("docs.rs")?)?;

    let call = ToolCall::new("c1", "sql_query", json!({ "sql": "SELECT count(*) AS n FROM prices" }));
    assert_eq!(reading.answer("m1", &call).await.content.to_text(), "[\"n\"]\n[0]\n[1 row]\n");
    let call = ToolCall::new("c2", "bash", json!({ "command": "echo hello" }));
    assert_eq!(working.answer("m2", &call).await.content.to_text(), "hello\n");
    assert!(reading.get("write_file").is_none() && writing.get("write_file").is_some());
    Ok(())
}

#[tokio::test]
async fn tools_run_while_the_model_speaks() -> super::Result {
    let tools = ToolRegistry::new().with(add())?;
    let script = Scripted::new().call("c1", "add", json!({ "a": 2, "b": 3 })).say("It is 5.");
    let model: Arc<dyn ChatModel> = Arc::new(script);

    let node = Tools::new(tools, Chat::MESSAGES);
    let agent = Agent::new(model, Chat::MESSAGES, Chat::VISITS).stream_tools(&node);

    let mut g = StateGraph::<Chat>::new("chat");
    let (agent, tools) = (g.node("agent", agent), g.node("tools", node));
    g.edge(START, agent);
    g.route(agent, move |next| match next {
        AgentNext::RunTools => to(tools),
        AgentNext::Respond => END,
    });
    g.edge(tools, agent);
    let graph = g.compile()?.checkpointer(MemorySaver::new());
    let question = Message::human("m1", "What is 2 + 3?");
    let state = graph.run(Chat::update().messages([question])).await?.finished()?;
    let texts: Vec<_> = state.messages.iter().map(|message| message.text().into_owned()).collect();
    assert_eq!(texts, ["What is 2 + 3?", "", "5", "It is 5."]);
    Ok(())
}
