//! "Memory" of `docs/tutorial.md`.

use std::error::Error;
use std::io::{self, Write};
use std::sync::Arc;

use serde_json::json;
use superstep::nodes::message::{Message, MessageLog};
use superstep::nodes::model::{ChatModel, ModelEvent, Scripted};
use superstep::nodes::node::{Agent, AgentNext, ModelChunk, Tools};
use superstep::nodes::tool::{ToolRegistry, tool};
use superstep::prelude::*;
use superstep::run::{RunRequest, View};
use superstep::store::AccessError;

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

/// Remembers a fact about the user for later conversations.
#[tool(idempotent)]
async fn remember(#[dep] memory: &Store, fact: String) -> Result<&'static str, AccessError> {
    memory.put(&["facts"], &fact, &true).await?;
    Ok("remembered")
}

/// Tells the model all that was remembered.
async fn recall(memory: Store) -> Result<Update<Chat>, AccessError> {
    let facts: Vec<String> = memory.list(&["facts"]).await?.into_iter().map(|entry| entry.key).collect();
    let text = format!("Known facts about the user: {facts:?}");
    Ok(Chat::update().messages([Message::system("memory", text)]))
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
        Scripted::new()
            .call("c1", "remember", json!({ "fact": "Her name is Ada and she likes pears." }))
            .say("Nice to meet you, Ada.")
            .call("c2", "price", json!({ "fruit": "pear" }))
            .say("Buy a pear, Ada: it costs 40 cents."),
    );
    let saver = SqliteSaver::open("assistant.db").await?;
    let memory = Store::new(saver.store().await?);
    let tools = ToolRegistry::new().with(price())?.with(remember(memory.clone()))?;

    let mut g = StateGraph::<Chat>::new("assistant");
    let recall = g.node("recall", recall);
    let agent = Agent::new(model, Chat::MESSAGES, Chat::VISITS).task(Chat::QUESTION).tools(&tools);
    let agent = g.node("agent", agent);
    let tools = g.node("tools", Tools::new(tools, Chat::MESSAGES));
    g.edge(START, recall);
    g.edge(recall, agent);
    g.route(agent, move |next| match next {
        AgentNext::RunTools => to(tools),
        AgentNext::Respond => END,
    });
    g.edge(tools, agent);
    let assistant = g.compile()?.checkpointer(saver).store(memory);

    let monday = assistant.thread("monday");
    let tuesday = assistant.thread("tuesday");
    let told = Chat::update().question("My name is Ada. I like pears.").visits(0);
    show(monday.run(told)).await?.finished()?;
    let asked = Chat::update().question("What fruit shall I buy?").visits(0);
    let chat = show(tuesday.run(asked)).await?.finished()?;
    println!("--- tuesday");
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
