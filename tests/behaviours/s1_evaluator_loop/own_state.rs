//! The nodes over a state of the user's own.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep::nodes::graphs::{AgentState, EvaluatorConfig, EvaluatorGraph};
use superstep::nodes::message::{Message, MessageLog};
use superstep::nodes::model::{ChatModel, Ledger, Purpose, Scripted};
use superstep::nodes::node::{Agent, AgentNext, Decider, DeciderNext, Tools};
use superstep::prelude::*;

use super::support::*;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Chat {
    #[reducer(KeyedLog)]
    messages: MessageLog,
    visits: u32,
    #[reducer(Sum)]
    ledger: Ledger,
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Desk {
    #[state(flatten)]
    chat: Chat,
    answer: Option<String>,
}

#[tokio::test]
async fn an_agent_with_tools_needs_two_fields() {
    let model: Arc<dyn ChatModel> = model([add(["c1"]), say(SHORT)], &[]);
    let mut g = StateGraph::<Chat>::new("chat");
    let agent =
        g.node("agent", Agent::new(model, Chat::MESSAGES, Chat::VISITS).tools(&tools()).count(Chat::LEDGER));
    let tools = g.node("tools", Tools::new(tools(), Chat::MESSAGES));
    g.edge(START, agent);
    g.route(agent, move |next| match next {
        AgentNext::RunTools => to(tools),
        AgentNext::Respond => END,
    });
    g.edge(tools, agent);
    let input = Chat::update().messages([Message::human("q", "What is 2 + 3?")]);
    let state = g.compile().unwrap().run(input).await.unwrap().finished().unwrap();
    assert_eq!(kinds(&state.messages), ["human", "ai", "tool", "ai"]);
    assert_eq!(state.visits, 2);
    assert_eq!(state.ledger.purpose(Purpose::Agent).calls, 2);
    assert_eq!(state.ledger.accounts().map(|(_, model, _)| model).collect::<Vec<_>>(), ["scripted"]);
}

#[tokio::test]
async fn a_decider_without_a_limit_and_a_model_is_logic_only_and_reaches_into_embedded_states() {
    let scripted = Arc::new(Scripted::new().on(Purpose::Agent, [say(SHORT), say(WHOLE)]));
    let model: Arc<dyn ChatModel> = scripted.clone();
    let messages = || Chat::MESSAGES.within(Desk::CHAT);
    let mut g = StateGraph::<Desk>::new("desk");
    let agent = g.node("agent", Agent::new(model, messages(), Chat::VISITS.within(Desk::CHAT)));
    let decider = g.node("decider", Decider::new(messages(), Desk::ANSWER));
    g.edge(START, agent);
    g.route(agent, move |_: AgentNext| to(decider));
    g.route(decider, move |next| match next {
        DeciderNext::Finish => END,
        DeciderNext::Iterate => to(agent),
    });
    let input = Desk::update().chat(Chat::update().messages([Message::human("q", "?")]));
    let state = g.compile().unwrap().run(input).await.unwrap().finished().unwrap();
    assert_eq!(state.answer.as_deref(), Some(WHOLE));
    assert_eq!((state.chat.visits, scripted.requests().len()), (2, 2));
}

#[tokio::test]
async fn the_evaluator_graph_can_be_extended_before_it_is_compiled() {
    #[derive(Clone)]
    struct Desk(Arc<str>);

    async fn sign(desk: Dep<Desk>, state: Snapshot<AgentState>) -> Update<AgentState> {
        let response = state.response.as_deref().unwrap_or_default();
        AgentState::update().set_response(Some(format!("{response} — {}", desk.0.0)))
    }

    impl FromRef<Desk> for Desk {
        fn from_ref(desk: &Desk) -> Self {
            desk.clone()
        }
    }

    #[derive(Route, Serialize, Deserialize)]
    enum Signed {
        Yes,
        No,
    }

    let EvaluatorGraph { mut graph, decider, .. } =
        EvaluatorGraph::<Desk>::new(EvaluatorConfig::new(model([say(WHOLE)], &[1])));
    let sign = graph.node("sign", sign);
    let answered = |state: &AgentState| match state.response {
        Some(_) => Signed::Yes,
        None => Signed::No,
    };
    graph.branch(decider, answered, move |signed| match signed {
        Signed::Yes => to(sign),
        Signed::No => END,
    });
    graph.edge(sign, END);
    let graph = graph.compile().unwrap().with_context(Desk("the desk".into()));
    let state = graph.run(AgentState::ask("?")).await.unwrap().finished().unwrap();
    assert_eq!(state.response, Some(format!("{WHOLE} — the desk")));
}
