//! An agent with a tool that tells the time, for tests of what is shown of conversations.

use std::sync::Arc;

use superstep::nodes::message::MessageLog;
use superstep::nodes::model::{Ledger, Scripted};
use superstep::nodes::node::{Agent, AgentNext, Tools};
use superstep::nodes::tool::{ToolRegistry, tool};
use superstep::prelude::*;

#[derive(State, Clone, Default)]
pub(crate) struct Chat {
    question: String,
    #[reducer(KeyedLog)]
    messages: MessageLog,
    visits: u32,
    #[reducer(Sum)]
    ledger: Ledger,
}

impl Chat {
    pub(crate) fn ask(question: &str) -> Update<Self> {
        Self::update().question(question).visits(0u32)
    }
}

/// Tells the time.
#[tool]
async fn now() -> String {
    "noon".to_owned()
}

pub(crate) fn agent(model: Scripted) -> Graph<Chat> {
    let tools = ToolRegistry::new().with(now()).unwrap();
    let mut g = StateGraph::<Chat>::new("chat");
    let agent = Agent::new(Arc::new(model), Chat::MESSAGES, Chat::VISITS).tools(&tools);
    let agent = g.node("agent", agent.task(Chat::QUESTION).count(Chat::LEDGER));
    let tools = g.node("tools", Tools::new(tools, Chat::MESSAGES));
    g.edge(START, agent);
    g.route(agent, move |next| match next {
        AgentNext::RunTools => to(tools),
        AgentNext::Respond => END,
    });
    g.edge(tools, agent);
    g.compile().unwrap()
}
