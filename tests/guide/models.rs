//! Snippets of `docs/models.md`. The provider is a mock server on loopback.

#![cfg(all(feature = "providers", feature = "testkit"))]

use superstep::nodes::ModelName;
use superstep::nodes::graphs::{self, EvaluatorConfig};
use superstep::nodes::message::Message;
use superstep::nodes::model::{ChatModel, Extractive, Ledger, ModelRequest, Price, Prices, Purpose};
use superstep::nodes::provider::{Anthropic, Thinking};
use superstep::nodes::testkit::{MockServer, Reply};

use superstep::checkpoint::MemorySaver;
use superstep::nodes::graphs::AgentState;

#[tokio::test]
async fn a_client_is_asked_directly() -> super::Result {
    let server = MockServer::start().await?;
    server.reply(Reply::text("One round of tasks."));
    let (url, key) = (server.url(), MockServer::KEY);

    let model = Anthropic::new("claude-sonnet-4-5", key)?.base_url(url)?.thinking(Thinking::Adaptive);
    let question = [Message::human("m1", "What is a superstep?")];
    let reply = model.complete(ModelRequest::new(Purpose::Agent, question)).await?;
    assert_eq!(reply.text(), "One round of tasks.");

    let prices = Prices::none().with("claude-sonnet", Price::per_million(3.0, 15.0));
    let ledger = Ledger::of(Purpose::Agent, &reply, 850);
    let cost = ledger.cost(&prices);
    println!("{} tokens, {} millionths of a dollar", ledger.total().usage.total(), cost.micro_usd);
    assert!(server.refusals().is_empty());
    Ok(())
}

#[tokio::test]
async fn a_model_is_named() -> super::Result {
    let name = "extractive";
    let model = name.parse::<ModelName>()?.open()?;
    let agent = graphs::evaluator(EvaluatorConfig::new(model).judge(Extractive))?;
    let thread = agent.checkpointer(MemorySaver::new()).thread("t");
    let state = thread.run(AgentState::ask("What is a superstep?")).await?.finished()?;
    assert!(state.response.is_some());
    Ok(())
}
