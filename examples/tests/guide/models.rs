//! Snippets of `docs/models.md`. The provider is a mock server on loopback.

use schemars::JsonSchema;
use serde::Deserialize;
use superstep::nodes::ModelName;
use superstep::nodes::graphs::{self, EvaluatorConfig};
use superstep::nodes::message::Message;
use superstep::nodes::model::{
    ChatModel, ChatModelExt, Extractive, Ledger, ModelRequest, Price, Prices, Purpose,
};
use superstep::nodes::provider::{Anthropic, OpenAiChat, Thinking};
use superstep::nodes::testkit::{MockServer, Reply};

use superstep::checkpoint::MemorySaver;
use superstep::nodes::graphs::AgentState;
use superstep::nodes::model::Scripted;

#[tokio::test]
async fn a_client_is_asked_directly() -> super::Result {
    let server = MockServer::start().await?;
    server.reply(Reply::text("One round of tasks."));
    let (url, key) = (server.url(), MockServer::KEY);

    let model = Anthropic::new("claude-sonnet-4-5", key)?.base_url(url)?.thinking(Thinking::Adaptive);
    let question = [Message::human("m1", "What is a superstep?")];
    let reply = model.complete(ModelRequest::new(Purpose::Agent, question)).await?;
    assert_eq!(reply.text(), "One round of tasks.");

    let prices = Prices::none().with("claude-sonnet-4-5", Price::per_million(3.0, 15.0));
    let ledger = Ledger::of(Purpose::Agent, &reply, 850);
    let cost = ledger.cost(&prices);
    println!("{} tokens, {} millionths of a dollar", ledger.total().usage.total(), cost.micro_usd);
    assert!(server.errors().is_empty());
    Ok(())
}

#[tokio::test]
async fn an_address_of_azure_has_a_version() -> super::Result {
    let server = MockServer::builder().any_key().start().await?;
    server.reply(Reply::text("One round of tasks."));
    let (url, key) = (format!("{}?api-version=2024-10-21", server.openai_url()), "secret");

    let model = OpenAiChat::compatible("gpt-4o", url)?.header("api-key", key)?;
    let question = [Message::human("m1", "What is a superstep?")];
    model.complete(ModelRequest::new(Purpose::Agent, question)).await?;
    let received = server.received();
    assert_eq!(received[0].query(), Some("api-version=2024-10-21"));
    assert_eq!(received[0].header("api-key"), Some("secret"));
    Ok(())
}

#[derive(Deserialize, JsonSchema)]
struct City {
    name: String,
    /// The number of people who live there.
    inhabitants: u64,
}

#[tokio::test]
async fn a_model_gives_a_value_of_a_type() -> super::Result {
    let model = Scripted::new()
        .say("It is Paris.")
        .say(r#"{ "name": "Paris", "inhabitants": 0 }"#)
        .say(r#"{ "name": "Paris", "inhabitants": 2102650 }"#);

    let question = [Message::human("m1", "What is the largest city of France?")];
    let city = model
        .structured::<City>(ModelRequest::new(Purpose::Agent, question))
        .check(|city| if city.inhabitants > 0 { Ok(()) } else { Err("a city has inhabitants".to_owned()) })
        .attempts(3)
        .await?
        .value;
    println!("{}: {}", city.name, city.inhabitants);
    assert_eq!((city.name.as_str(), city.inhabitants), ("Paris", 2_102_650));
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
