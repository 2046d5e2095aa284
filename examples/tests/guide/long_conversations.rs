//! Snippets of `docs/long-conversations.md`.

use std::sync::Arc;

use superstep::nodes::compaction::{Compaction, ContextManager};
use superstep::nodes::message::MessageLog;
use superstep::nodes::node::{Agent, Compact};
use superstep::prelude::*;
use superstep::reducer::LogWrite;

use superstep::graph::BuildError;
use superstep::nodes::message::Message;
use superstep::nodes::model::{ChatModel, Purpose, Scripted};
use superstep::nodes::node::AgentNext;

#[derive(State, Clone, Default)]
struct Chat {
    question: String,
    #[reducer(KeyedLog)]
    messages: MessageLog,
    visits: u32,
    #[reducer(KeyedLog)]
    compactions: Vec<Compaction>,
}

fn is_task(message: &Message) -> bool {
    message.text().starts_with("Task:")
}

fn graph(model: Arc<dyn ChatModel>) -> Result<Graph<Chat>, BuildError> {
    let manager = ContextManager::new().threshold(8_000).target(4_000).recent(5).pin(is_task);
    let compact = Compact::new(Arc::clone(&model), manager, Chat::MESSAGES, Chat::COMPACTIONS);
    let agent =
        Agent::new(model, Chat::MESSAGES, Chat::VISITS).task(Chat::QUESTION).compacted(Chat::COMPACTIONS);

    let mut g = StateGraph::<Chat>::new("chat");
    let (compact, agent) = (g.node("compact", compact), g.node("agent", agent));
    g.edge(START, compact);
    g.edge(compact, agent);
    g.route(agent, move |next| match next {
        AgentNext::RunTools | AgentNext::Respond => END,
    });
    g.compile()
}

#[tokio::test]
async fn a_long_conversation_is_shown_in_short() -> super::Result {
    let summaries = ["They talk.", "They go on."];
    let model = Arc::new(
        (0..8).fold(Scripted::new(), |model, _| model.say("I see.")).on(Purpose::Summarizer, summaries),
    );
    let graph = graph(Arc::clone(&model) as Arc<dyn ChatModel>)?.checkpointer(MemorySaver::new());
    for question in ["Task: remember.", "a", "b", "c", "d", "e", "f", "g"] {
        let question = format!("{question} {}", "word ".repeat(1_200));
        graph.thread("t").run(Chat::update().question(question).visits(0)).await?.finished()?;
    }
    let compactions = graph.thread("t").state().await?.values.compactions;
    let requests = model.requests();
    let shown = &requests[requests.len() - 1].messages;
    assert!(shown[0].text().starts_with("Task: remember."));
    assert!(shown[1].text().contains("earlier messages, which are not shown]\nThey"));

    for Compaction { id, .. } in compactions {
        graph.thread("t").edit(Chat::update().compactions(LogWrite::remove([id]))).await?;
    }
    assert!(graph.thread("t").state().await?.values.compactions.is_empty());
    Ok(())
}
