//! A tutor that searches documents, takes notes, and reports each step: on the terminal, or in a browser.
//!
//! ```text
//! cargo run --features web --bin tutor -- "What does a fork copy?"
//! cargo run --features web --bin tutor -- --sse 8080
//! ```
//!
//! The lesson is scripted, and the tools are real. `--model` takes a real model, such as `anthropic:claude-sonnet-4-5`,
//! with its key in the environment, if the example is built with `--features web,providers`.

mod lesson;
mod server;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use superstep::nodes::ModelName;
use superstep::nodes::docs::{DocIndex, IndexOptions, SearchDocs};
use superstep::nodes::node::AgentEvent;
use superstep::nodes::tool::{ToolContext, ToolRegistry, tool};
use superstep::prelude::*;
use superstep_examples::callback::{CallbackConfig, CallbackState, callback};
use superstep_examples::{Example, ended, model, print, repository};

const EXAMPLE: Example = Example { name: "tutor", features: &["web"] };

/// Teaches a topic from a folder of documents, and reports its progress.
#[derive(Debug, Parser)]
#[command(name = "tutor")]
struct Arguments {
    /// The topic to teach.
    #[arg(default_value = lesson::QUESTION)]
    question: String,

    /// Serve a page on this port of 127.0.0.1, which receives server-sent events; 0 for any port.
    #[arg(long, value_name = "PORT", conflicts_with = "question")]
    sse: Option<u16>,

    /// The folder of documents [default: this repository's own].
    #[arg(long, value_name = "DIR")]
    docs: Option<PathBuf>,

    /// The model, such as anthropic:claude-sonnet-4-5, with its key in the environment [default: SUPERSTEP_MODEL, or a
    /// scripted lesson].
    #[arg(long, value_name = "NAME")]
    model: Option<ModelName>,
}

/// Makes a graph for each lesson.
#[derive(Clone)]
struct Tutor {
    model: Option<ModelName>,
    tools: ToolRegistry,
}

const INSTRUCTIONS: &str = "You are a patient tutor. Say in a sentence what you are about to do before you use a tool. Look up \
    what the documents say, note each thing that is worth keeping, and then teach it in a few sentences.";

/// Notes something that is worth keeping.
#[tool(idempotent)]
async fn note(
    context: &ToolContext,
    /// The topic, in a few words.
    title: String,
    /// The note itself.
    text: String,
) -> Result<String, &'static str> {
    if title.trim().is_empty() {
        return Err("a note needs a title");
    }
    context.progress(&serde_json::json!({ "event": "note_created", "title": title, "text": text }));
    Ok(format!("noted: {title}"))
}

impl Tutor {
    fn new(arguments: &Arguments) -> Result<Self, Box<dyn Error>> {
        let folder = arguments.docs.clone().unwrap_or_else(|| repository().join("docs"));
        let index = DocIndex::build(folder, &IndexOptions::default())?;
        let tools = ToolRegistry::new().with(SearchDocs::new(Arc::new(index)))?.with(note())?;
        Ok(Self { model: model::chosen(arguments.model.as_ref())?, tools })
    }

    fn graph(&self) -> Result<Graph<CallbackState>, Box<dyn Error + Send + Sync>> {
        let config = match &self.model {
            Some(model) => CallbackConfig::new(
                model::open::<Box<dyn Error + Send + Sync>>(model, EXAMPLE)?,
                INSTRUCTIONS,
            ),
            None => CallbackConfig::new(lesson::model(), INSTRUCTIONS),
        };
        // A lesson is short: at most five model calls.
        Ok(callback(config.name("tutor").tools(self.tools.clone()).max_iterations(5))?)
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    ended(run(Arguments::parse()).await)
}

async fn run(arguments: Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let tutor = Tutor::new(&arguments)?;
    if let Some(port) = arguments.sse {
        server::serve(port, tutor).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let graph = tutor.graph().map_err(|error| error as Box<dyn Error>)?;
    let mut lesson = graph.run(CallbackState::ask(arguments.question)).stream();
    while let Some(event) = lesson.next().await {
        for told in AgentEvent::of(&event) {
            print(line(&told))?;
        }
    }
    lesson.finish().await?.finished()?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the line of an event on the terminal. The last text of the tutor is its answer.
fn line(event: &AgentEvent) -> String {
    match event {
        AgentEvent::AgentReasoning { text, .. } => text.clone(),
        AgentEvent::ToolCall { tool, input } => format!("  ▶ {tool} {input}"),
        AgentEvent::ToolProgress { data, .. } => format!("  · {data}"),
        AgentEvent::ToolResult { summary, .. } => format!("  ◀ {}", summary.replace('\n', " ")),
        other => format!("  {}", other.name()),
    }
}
