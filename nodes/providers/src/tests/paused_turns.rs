//! Turns that a provider pauses while it runs tools of its own.

use superstep_core::graph::{END, START, StateGraph};
use superstep_core::reducer::KeyedLog;
use superstep_core::state::State;
use superstep_nodes::message::MessageLog;
use superstep_nodes::node::Agent;
use superstep_testkit::{MockServer, Reply};

use super::clients::Way;

#[derive(State, Clone, Debug, Default)]
struct Chat {
    question: String,
    #[reducer(KeyedLog)]
    messages: MessageLog,
    visits: u32,
}

/// The text before the pause was the whole response, and what the provider's search would have found was lost.
#[tokio::test]
async fn an_agent_continues_a_paused_turn_with_what_was_said_as_it_stands() {
    let server = MockServer::start().await.expect("a port on loopback");
    server.reply(Reply::sse(include_str!("../../src/transcripts/anthropic_pause_turn.sse")));
    server.reply(Reply::text("A superstep is a round of tasks."));
    let agent = Agent::new(Way::Messages.client(&server), Chat::MESSAGES, Chat::VISITS).task(Chat::QUESTION);
    let mut graph = StateGraph::<Chat>::new("chat");
    let agent = graph.node("agent", agent);
    graph.edge(START, agent);
    graph.route(agent, |_| END);
    let graph = graph.compile().expect("one node is a sound graph");
    let input = Chat::update().question("What is a superstep?".to_owned());
    let state = graph.run(input).await.expect("the server answers").finished().expect("it ends");

    assert_eq!(server.errors(), []);
    let [_, continued] = &server.received()[..] else { panic!("two requests") };
    let messages = continued.json()["messages"].as_array().expect("a list");
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[1]["role"], "assistant");
    assert_eq!(messages[1]["content"][1]["type"], "server_tool_use");
    assert_eq!(messages[1]["content"][1]["input"]["query"], "supersteps");
    assert_eq!(state.messages.len(), 2, "the question and one response");
    assert_eq!(state.messages[1].text(), "Let me search. A superstep is a round of tasks.");
    assert_eq!(state.visits, 1);
}
