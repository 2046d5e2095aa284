//! "Streamed tokens" of `docs/tutorial.md`.

use std::error::Error;
use std::io::{self, Write};
use std::sync::Arc;

use serde_json::json;
use superstep::nodes::message::MessageLog;
use superstep::nodes::model::{ChatModel, ModelEvent, Scripted};
use superstep::nodes::node::{Agent, AgentNext, ModelChunk, Tools};
use superstep::nodes::tool::{ToolRegistry, tool};
use superstep::prelude::*;
use superstep::run::{RunRequest, View};

#[derive(State, Clone, Default)]
struct Chat {
    question: String,
    #[reducer(KeyedLog)]
    messages: MessageLog,
    visits: u32,
}

/// Returns the price of a fruit in cents.
#[tool(read_only)]
async fn price(
    /// The name of the fruit, in the singular.
    fruit: String,
) -> Result<String, String> {
    match fruit.as_str() {
        "apple" => Ok("25".to_owned()),
        "pear" => Ok("40".to_owned()),
        _ => Err(format!("we do not sell {fruit}")),
    }
}

/// Prints the model's words as they come, and returns how the run ended.
async fn show(request: RunRequest<Chat>) -> Result<Run<Chat>, Box<dyn Error>> {
    let mut run = request.stream().view(View::Messages);
    while let Some(event) = run.next().await {
        match ModelChunk::of(&event).map(|chunk| chunk.event) {
            Some(ModelEvent::TextDelta { text }) => print!("{text}"),
            Some(ModelEvent::ToolCallStart { name, .. }) => print!("[{name}]"),
            Some(ModelEvent::Stop { .. }) => println!(),
            _ => {}
        }
        io::stdout().flush()?;
    }
    Ok(run.finish().await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let model: Arc<dyn ChatModel> = Arc::new(
        Scripted::new().call("c1", "price", json!({ "fruit": "pear" })).say("A pear costs 40 cents."),
    );
    let tools = ToolRegistry::new().with(price())?;

    let mut g = StateGraph::<Chat>::new("assistant");
    let agent = Agent::new(model, Chat::MESSAGES, Chat::VISITS).task(Chat::QUESTION).tools(&tools);
    let agent = g.node("agent", agent);
    let tools = g.node("tools", Tools::new(tools, Chat::MESSAGES));
    g.edge(START, agent);
    g.route(agent, move |next| match next {
        AgentNext::RunTools => to(tools),
        AgentNext::Respond => END,
    });
    g.edge(tools, agent);
    let assistant = g.compile()?;

    let chat = show(assistant.run(Chat::update().question("What does a pear cost?"))).await?.finished()?;
    println!("The conversation has {} messages.", chat.messages.len());
    Ok(())
}

#[test]
#[ignore = "a program, which another test runs in a process of its own"]
fn program() {
    main().unwrap();
}
