//! "A human approval" of `docs/tutorial.md`.

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

/// Orders fruit for the user.
#[tool]
async fn order(fruit: String, count: u32) -> String {
    format!("ordered: {count} of {fruit}")
}

/// Tells the model all that was remembered.
async fn recall(memory: Store) -> Result<Update<Chat>, AccessError> {
    let facts: Vec<String> = memory.list(&["facts"]).await?.into_iter().map(|entry| entry.key).collect();
    let text = format!("Known facts about the user: {facts:?}");
    Ok(Chat::update().messages([Message::system("memory", text)]))
}

/// Asks a person before anything is ordered. A refused call is answered here, so the tools node does not run it.
async fn approve(chat: Snapshot<Chat>, person: Ask<String, bool>, task: TaskInfo) -> Update<Chat> {
    let mut refused = Vec::new();
    let calls = chat.messages.last().map_or(&[][..], Message::tool_calls);
    for (position, call) in calls.iter().enumerate().filter(|(_, call)| call.name == "order") {
        if !person.ask(format!("May I order {}?", call.input)).await {
            let id = format!("{}.{position}", task.place());
            refused.push(Message::tool_error(id, call, "The user did not approve this."));
        }
    }
    Chat::update().messages(refused)
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
            .call("c1", "order", json!({ "fruit": "pear", "count": 2 }))
            .say("Can I do anything else for you?"),
    );
    let saver = SqliteSaver::open("assistant.db").await?;
    let memory = Store::new(saver.store().await?);
    let tools = ToolRegistry::new().with(price())?.with(remember(memory.clone()))?.with(order())?;

    let mut g = StateGraph::<Chat>::new("assistant");
    let recall = g.node("recall", recall);
    let agent = Agent::new(model, Chat::MESSAGES, Chat::VISITS).task(Chat::QUESTION).tools(&tools);
    let agent = g.node("agent", agent);
    let approve = g.node("approve", approve);
    let tools = g.node("tools", Tools::new(tools, Chat::MESSAGES));
    g.edge(START, recall);
    g.edge(recall, agent);
    g.route(agent, move |next| match next {
        AgentNext::RunTools => to(approve),
        AgentNext::Respond => END,
    });
    g.edge(approve, tools);
    g.edge(tools, agent);
    let assistant = g.compile()?.checkpointer(saver).store(memory);

    let thread = assistant.thread("shopping");
    let mut run = show(thread.run(Chat::update().question("Order two pears, please.").visits(0))).await?;
    while let Status::Interrupted { interrupts } = &run.status {
        println!("{} (y/n)", interrupts[0].question::<String>()?);
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        let is_approved = answer.trim() == "y";
        run = show(thread.answer_to(interrupts[0].id, &is_approved)).await?;
    }
    println!("--- shopping");
    for message in &run.finished()?.messages {
        println!("{message}");
    }
    Ok(())
}

#[test]
#[ignore = "a program, which another test runs in a process of its own"]
fn program() {
    main().unwrap();
}
