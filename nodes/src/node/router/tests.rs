use serde::Deserialize;
use superstep_core::checkpoint::MemorySaver;
use superstep_core::graph::{END, START, StateGraph, to};
use superstep_core::reducer::{KeyedLog, Sum};
use superstep_core::run::{EventKind, Graph, RunEvent};

use super::*;
use crate::message::{Message, MessageLog};
use crate::model::{Ledger, ModelError, Purpose, Scripted};
use crate::prompt::material;
use crate::tool::TypedTool;

#[derive(State, Clone, Debug, Default)]
struct Desk {
    request: String,
    #[reducer(KeyedLog)]
    messages: MessageLog,
    action: Option<NextAction>,
    confidence: Option<f64>,
    reasoning: Option<String>,
    #[reducer(Sum)]
    ledger: Ledger,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Nothing {}

fn weather() -> ToolRegistry {
    let tool = TypedTool::new("weather_report", "Tells the weather.", |Nothing {}| async {
        Ok::<_, std::convert::Infallible>("rain")
    });
    ToolRegistry::new().with(tool).unwrap()
}

fn graph(model: &Arc<Scripted>, tools: &ToolRegistry) -> Graph<Desk> {
    let model: Arc<dyn ChatModel> = Arc::clone(model) as _;
    let mut graph = StateGraph::<Desk>::new("desk");
    let router = Router::new(model, Desk::REQUEST, Desk::MESSAGES)
        .tools(tools)
        .decision(Desk::ACTION, Desk::CONFIDENCE, Desk::REASONING)
        .count(Desk::LEDGER);
    let router = graph.node("router", router);
    let tools = graph.node("use_tools", async || {});
    graph.edge(START, router);
    graph.edge(tools, END);
    graph.route(router, move |next| match next {
        NextAction::UseTools => to(tools),
        NextAction::Respond => END,
    });
    graph.compile().unwrap().checkpointer(MemorySaver::new())
}

async fn route(model: Scripted, tools: &ToolRegistry, request: &str) -> (Desk, Arc<Scripted>) {
    let model = Arc::new(model);
    let run = graph(&model, tools).run(Desk::update().request(request.to_owned()));
    (run.await.unwrap().finished().unwrap(), model)
}

fn says(reply: &str) -> Scripted {
    Scripted::new().on(Purpose::Router, [reply])
}

#[tokio::test]
async fn s0_024_a_decision_has_an_action_a_confidence_and_a_reason() {
    let reply = r#"{ "action": "use_tools", "confidence": 0.8, "reasoning": "It is about the weather." }"#;
    let (state, model) = route(says(reply), &weather(), "Will it rain?").await;
    assert_eq!((state.action, state.confidence), (Some(NextAction::UseTools), Some(0.8)));
    assert_eq!(state.reasoning.as_deref(), Some("It is about the weather."));
    assert_eq!(state.ledger.purpose(Purpose::Router).calls, 1);
    let asked: RouterPrompt = material(&model.requests()[0]).unwrap();
    assert_eq!((asked.request.as_str(), asked.tools[0].name.as_str()), ("Will it rain?", "weather_report"));
    assert!(asked.conversation.is_empty(), "the request is not shown twice: {asked:?}");
}

#[tokio::test]
async fn s0_025_another_action_is_never_passed_on() {
    for reply in [r#"{ "action": "delete", "confidence": 1, "reasoning": "r" }"#, "use_tools", ""] {
        let (state, _) = route(says(reply), &weather(), "Hello!").await;
        assert_eq!((state.action, state.confidence), (Some(NextAction::Respond), Some(0.5)), "{reply}");
    }
}

#[tokio::test]
async fn s0_028_where_there_is_no_decision_words_decide() {
    let down = || Scripted::new();
    for (request, action) in [
        ("Searching for forks", NextAction::UseTools),
        ("Any reports?", NextAction::UseTools),
        ("Good morning, how are you?", NextAction::Respond),
    ] {
        let (state, _) = route(down(), &weather(), request).await;
        assert_eq!((state.action, state.confidence), (Some(action), Some(0.5)), "{request}");
        let reasoning = state.reasoning.unwrap();
        assert!(
            reasoning.starts_with("By its words, as the model gave no decision (the script has"),
            "{reasoning}"
        );
    }
    let used_up = Scripted::new().fail(ModelError::OutOfCredit { reason: "0.00".into() });
    let (state, _) = route(used_up, &weather(), "Hello!").await;
    assert_eq!(state.ledger.total().calls, 0);
}

#[tokio::test]
async fn without_tools_no_model_is_asked() {
    let (state, model) = route(Scripted::new(), &ToolRegistry::new(), "Search for forks!").await;
    assert_eq!((state.action, state.confidence), (Some(NextAction::Respond), Some(1.0)));
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn a_turn_begins_with_its_request_once() {
    let reply = r#"{ "action": "respond", "confidence": 1, "reasoning": "r" }"#;
    let model = Arc::new(Scripted::new().on(Purpose::Router, [reply; 3]));
    let thread = graph(&model, &weather());
    let ask = |text: &str| Desk::update().request(text.to_owned());
    thread.thread("t").run(ask("One?")).await.unwrap().finished().unwrap();
    let given = ask("Two?").messages([Message::human("mine", "Two?")]);
    thread.thread("t").run(given).await.unwrap().finished().unwrap();
    let state = thread.thread("t").run(ask("Three?")).await.unwrap().finished().unwrap();
    let said: Vec<_> =
        state.messages.iter().map(|message| (message.id().to_string(), message.text())).collect();
    assert_eq!(said[0], ("router.1.task".into(), "One?".into()));
    assert_eq!(said[1], ("mine".into(), "Two?".into()));
    assert_eq!((said[2].1.as_ref(), said.len()), ("Three?", 3));
    let asked: RouterPrompt = material(&model.requests()[2]).unwrap();
    let before: Vec<_> = asked.conversation.iter().map(|said| said.text.as_str()).collect();
    assert_eq!(before, ["One?", "Two?"]);
}

#[tokio::test]
async fn observers_learn_who_decided() {
    let model = Arc::new(says("no"));
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let hears = Arc::clone(&told);
    let watched = graph(&model, &weather()).run(Desk::update().request("Hello!".to_owned()));
    let watched = watched.observe(move |event: &RunEvent| {
        if let EventKind::Custom { name, data, .. } = &event.kind
            && name == Router::<Desk>::EVENT
        {
            hears.lock().unwrap().push(data.decode::<Routing>().unwrap());
        }
    });
    watched.await.unwrap().finished().unwrap();
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].by, told[0].decision.action), (RoutedBy::Keywords, NextAction::Respond));
}
