//! "An agent with tools" of `docs/tutorial.md`.

use std::error::Error;
use std::sync::Arc;

use serde_json::json;
use superstep::nodes::message::MessageLog;
use superstep::nodes::model::{ChatModel, Scripted};
use superstep::nodes::node::{Agent, AgentNext, Tools};
use superstep::nodes::tool::{ToolRegistry, tool};
use superstep::prelude::*;

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

    let chat = assistant.run(Chat::update().question("What does a pear cost?")).await?.finished()?;
    for message in &chat.messages {
        println!("{message}");
    }
    Ok(())
}

#[test]
#[ignore = "a program, which another test runs in a process of its own"]
fn program() {
    main().unwrap();
}
