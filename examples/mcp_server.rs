//! An agent as the tool of an MCP server: a client asks the documents of a folder, and the agent answers from them.
//!
//! ```text
//! cargo run --features mcp --bin mcp_server -- ask "How do I fork a checkpoint?"   # a client, which starts the server
//! cargo run --features mcp --bin mcp_server                                        # the server, on the standard streams
//! ```
//!
//! For another client the command is the second one. The documents are those of the folder that it is started in. The
//! model quotes them, without a network or a key, unless `--model` names another, such as
//! `anthropic:claude-sonnet-4-5`, or the variable `SUPERSTEP_MODEL` does, and the example is built with `--features
//! mcp,providers`. Threads are kept in memory: a client may continue one as long as the server runs.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::nodes::ModelName;
use superstep::nodes::docs::{DocIndex, IndexOptions, SearchDocs};
use superstep::nodes::graphs::{self, AgentState, EvaluatorConfig};
use superstep::nodes::mcp::{GraphTool, McpCommand, McpOptions, McpServer, McpService};
use superstep::nodes::message::ToolCall;
use superstep::nodes::tool::ToolRegistry;
use superstep::prelude::*;
use superstep_examples::{Example, ended, model, print, usage};

const EXAMPLE: Example = Example { name: "mcp_server", features: &["mcp"] };

/// The input of the tool.
#[derive(Deserialize, JsonSchema)]
struct Question {
    /// The question, in a sentence.
    question: String,
}

/// The output of the tool.
#[derive(Serialize, JsonSchema)]
struct Answer {
    /// The answer, with its sources.
    answer: Option<String>,
    /// The number of attempts of the agent.
    iterations: u32,
}

#[tokio::main]
async fn main() -> ExitCode {
    ended(run().await)
}

async fn run() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (named, rest) = match words.as_slice() {
        ["--model", model, rest @ ..] => (Some(model.parse()?), rest),
        rest => (None, rest),
    };
    let model = model::chosen(named.as_ref())?.unwrap_or_default();
    match rest {
        [] => serve(&model).await?,
        ["ask", question] => ask(question, &model).await?,
        _ => return usage(&arguments, "mcp_server [--model NAME] [ask QUESTION]"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Serves the agent to the client that started the program.
async fn serve(model: &ModelName) -> Result<(), Box<dyn Error>> {
    let index = DocIndex::build(Path::new("."), &IndexOptions::default())?;
    let tools = ToolRegistry::new().with(SearchDocs::new(Arc::new(index)))?;
    let agent =
        graphs::evaluator(EvaluatorConfig::new(model::open::<Box<dyn Error>>(model, EXAMPLE)?).tools(tools))?;
    let tool = GraphTool::new(
        "ask_docs",
        "Answers a question from documents, and says where it stands.",
        agent.checkpointer(MemorySaver::new()),
        |input: Question| AgentState::ask(&input.question),
        |state: AgentState| Answer { answer: state.response, iterations: state.iteration },
    );
    let service = McpService::new("documents", env!("CARGO_PKG_VERSION")).with(tool)?;
    Ok(service.serve_stdio().await?)
}

/// Starts this program as a server and calls its tool, as an agent with this tool would.
async fn ask(question: &str, model: &ModelName) -> Result<(), Box<dyn Error>> {
    let options = McpOptions::new().allow_tool("ask_docs");
    // The server is this same program, so it may have the keys of models.
    let command = McpCommand::new(std::env::current_exe()?).args(["--model", &model.to_string()]);
    let server = McpServer::connect("docs", command.inherit_environment(), options).await?;
    let mut tools = ToolRegistry::new();
    server.tools().add_to(&mut tools)?;

    let call = ToolCall::new("c1", "docs__ask_docs", serde_json::json!({ "question": question }));
    let said = tools.answer("m1", &call).await;
    match said.data {
        Some(data) => print(data["output"]["answer"].as_str().unwrap_or("there is no answer"))?,
        None => return Err(said.content.to_text().into_owned().into()),
    }
    server.close().await;
    Ok(())
}
