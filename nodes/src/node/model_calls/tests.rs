use superstep_core::checkpoint::MemorySaver;
use superstep_core::graph::{END, START, StateGraph};
use superstep_core::node::Retry;
use superstep_core::reducer::{KeyedLog, Sum};
use superstep_core::run::Graph;

use super::*;
use crate::message::MessageLog;
use crate::model::{Scripted, StopReason, Turn};
use crate::node::Agent;

#[derive(State, Clone, Default)]
struct Chat {
    question: String,
    #[reducer(KeyedLog)]
    messages: MessageLog,
    visits: u32,
    stop: Option<StopReason>,
    #[reducer(Sum)]
    ledger: Ledger,
}

fn graph(model: &Arc<Scripted>) -> Graph<Chat> {
    let agent = Agent::new(Arc::new(Arc::clone(model)), Chat::MESSAGES, Chat::VISITS)
        .task(Chat::QUESTION)
        .stop(Chat::STOP)
        .count(Chat::LEDGER);
    let mut g = StateGraph::<Chat>::new("chat");
    let agent = g.node("agent", agent);
    g.policy(agent).retry(Retry::fixed(2, Duration::ZERO));
    g.edge(START, agent);
    g.route(agent, |_| END);
    g.compile().unwrap().checkpointer(MemorySaver::new())
}

async fn answer(model: &Arc<Scripted>) -> Chat {
    let asked = Chat::update().question("Hi".to_owned());
    graph(model).thread("t").run(asked).await.unwrap().finished().unwrap()
}

fn paused(text: &str) -> Turn {
    let mut reply = ModelReply::new("m", text).with_usage(Usage::of(30, 4));
    reply.stop = StopReason::Pause;
    Turn::Reply(reply)
}

/// The text of a model before a pause was taken for the response.
#[tokio::test]
async fn a_paused_reply_is_continued_and_is_one_message() {
    let overloaded = ModelError::Overloaded { reason: "busy".into(), retry_after: None };
    let script = Scripted::new().then(paused("One, ")).then(paused("two, ")).fail(overloaded).say("three.");
    let model = Arc::new(script);
    let state = answer(&model).await;
    assert_eq!(state.messages.len(), 2);
    assert_eq!(state.messages[1].text(), "One, two, three.");
    assert_eq!((state.visits, state.stop), (1, Some(StopReason::EndTurn)));
    let said: Vec<_> =
        model.requests().iter().map(|request| (request.continues, request.messages.len())).collect();
    // The attempt after the failure has what came before it from the record.
    assert_eq!(said, [(false, 1), (true, 2), (true, 2), (true, 2)]);
    assert_eq!(model.requests()[3].messages[1].text(), "One, two, ");
    assert_eq!(state.ledger.total().calls, 3, "each continuation counts");
}

#[tokio::test]
async fn a_model_that_only_pauses_is_left_after_some_continuations() {
    let model = Arc::new((0..20).fold(Scripted::new(), |model, _| model.then(paused("hm "))));
    let state = answer(&model).await;
    assert_eq!(model.requests().len(), 1 + CONTINUATIONS as usize);
    assert_eq!(state.stop, Some(StopReason::Pause));
    assert_eq!(state.messages[1].text(), "hm ".repeat(9));
}
