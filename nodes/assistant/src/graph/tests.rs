//! The loop as a whole: each exit, each transition, and the number of calls that recovery makes.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use serde_json::json;
use superstep_core::checkpoint::MemorySaver;
use superstep_nodes::compaction::ContextManager;
use superstep_nodes::message::{Content, Image, Message, Part, ToolCall, ToolStatus};
use superstep_nodes::model::{
    ChatModel, ModelError, ModelEvent, ModelReply, ModelRequest, Purpose, Scripted, StopReason, Turn,
};
use superstep_nodes::tool::{ToolRegistry, TypedTool};

use super::{AssistantConfig, AssistantState, Graph, assistant};
use crate::context::{ContextSettings, ContextWindow, ContextWindows};
use crate::exit::{Exit, Transition};
use crate::interrupts::Interrupts;
use crate::permission::{Permissions, RuleKind, RulePlace, RuleSource};

mod agents;
mod background;
mod events;
mod fields;
mod guidance;
mod hooks;
mod inbox;
mod kill;
mod limits;
mod sessions;
mod spending;
mod tiers;
mod tools;

/// A model that gives the same answer to every request, and counts the requests.
struct Always {
    answer: Result<ModelReply, ModelError>,
    requests: std::sync::Mutex<Vec<ModelRequest>>,
}

impl Always {
    fn new(answer: Result<ModelReply, ModelError>) -> Arc<Self> {
        Arc::new(Self { answer, requests: std::sync::Mutex::default() })
    }

    fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap().clone()
    }
}

impl ChatModel for Always {
    fn name(&self) -> &str {
        "always"
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        self.requests.lock().unwrap().push(request);
        match &self.answer {
            Ok(reply) => stream::iter(reply.to_events().into_iter().map(Ok)).boxed(),
            Err(error) => stream::iter([Err(error.clone())]).boxed(),
        }
    }
}

fn cut_off() -> ModelReply {
    ModelReply { stop: StopReason::MaxTokens, ..ModelReply::new("m", "a part") }
}

fn overloaded() -> ModelError {
    ModelError::Overloaded { reason: "busy".into(), retry_after: None }
}

fn too_long() -> ModelError {
    ModelError::RequestTooLong { reason: "prompt is too long".into(), tokens: None, limit: None }
}

fn reason() -> String {
    "no".to_owned()
}

/// Returns a configuration that allows all tools of these tests.
fn config(model: impl ChatModel) -> AssistantConfig {
    AssistantConfig::new(model).permissions(allowing(["add", "wait"]))
}

fn allowing<const N: usize>(tools: [&str; N]) -> Permissions {
    let rule = |tool: &str| RulePlace::new(tool.parse().unwrap(), RuleSource::User);
    tools
        .into_iter()
        .fold(Permissions::new(), |permissions, tool| permissions.rule(RuleKind::Allow, rule(tool)))
}

/// Runs a session of one message to its end.
async fn run(config: AssistantConfig) -> AssistantState {
    run_with(config, AssistantState::ask("Do it.")).await
}

async fn run_with(config: AssistantConfig, input: crate::AssistantStateUpdate) -> AssistantState {
    let graph = assistant(config).unwrap().checkpointer(MemorySaver::new());
    graph.thread("session").run(input).await.unwrap().finished().unwrap()
}

/// Returns the tools `add`, and `wait`, which takes an hour.
fn tools() -> ToolRegistry {
    let add = TypedTool::new(
        "add",
        "Adds two whole numbers. Says their sum.",
        |input: serde_json::Value| async move {
            Ok::<_, std::convert::Infallible>(format!(
                "{}",
                input["a"].as_i64().unwrap_or(0) + input["b"].as_i64().unwrap_or(0)
            ))
        },
    );
    ToolRegistry::new().with(add).unwrap()
}

fn call(id: &str) -> ToolCall {
    ToolCall::new(id, "add", json!({ "a": 1, "b": 2 }))
}

/// Returns the window of a scripted model that takes 2,000 tokens.
fn small_window() -> ContextWindows {
    ContextWindows::none().with(Scripted::NAME, ContextWindow::new(2_000, 500))
}

fn long_conversation() -> Vec<Message> {
    (0..30).map(|n| Message::human(format!("m{n}"), "word ".repeat(100))).collect()
}

/// Returns the roles of a conversation, one letter for each message.
fn roles(state: &AssistantState) -> String {
    let role = |message: &Message| match message {
        Message::Human(_) => 'h',
        Message::Ai(_) => 'a',
        Message::Tool(_) => 't',
        Message::System(_) => 's',
    };
    state.messages.iter().map(role).collect()
}

#[tokio::test]
async fn s2_001_007_008_064_a_message_is_worked_on_until_the_model_asks_for_no_tools() {
    let model = Scripted::new()
        .call("c1", "add", json!({ "a": 1, "b": 2 }))
        .call("c2", "add", json!({}))
        .say("Three.");
    let state = run(config(model).tools(tools())).await;
    assert_eq!(state.exit, Some(Exit::Completed));
    assert_eq!((roles(&state).as_str(), state.turn_count), ("hatata", 3));
    assert_eq!(state.transition, Some(Transition::Tools));
    assert_eq!(state.response(), "Three.");
}

#[tokio::test]
async fn s2_003_the_next_message_continues_the_session() {
    let model = Arc::new(Scripted::new().say("One.").say("Two."));
    let graph = assistant(config(Arc::clone(&model))).unwrap().checkpointer(MemorySaver::new());
    let thread = graph.thread("session");
    for request in ["first", "second"] {
        thread.run(AssistantState::ask(request)).await.unwrap().finished().unwrap();
    }
    let texts = |request: &ModelRequest| -> Vec<String> {
        request.messages.iter().map(|message| message.text().into_owned()).collect()
    };
    assert_eq!(texts(&model.requests()[1]), ["first", "One.", "second"]);
}

#[tokio::test]
async fn s2_009_066_the_limit_of_turns_ends_the_run() {
    let calls = ModelReply::new("m", "").with_calls(vec![call("c")]);
    let model = Always::new(Ok(calls));
    let config = config(Arc::clone(&model)).tools(tools()).max_turns(NonZeroU32::new(3).unwrap());
    let state = run(config).await;
    assert_eq!((state.exit, state.turn_count, model.requests().len()), (Some(Exit::MaxTurns), 3, 3));
    assert_eq!(roles(&state), "hatatat", "every call has its answer");
}

#[tokio::test]
async fn s2_092_an_always_truncating_model_is_called_five_times() {
    let model = Always::new(Ok(cut_off()));
    let state = run(config(Arc::clone(&model))).await;
    let limits: Vec<_> = model.requests().iter().map(|request| request.settings.max_output_tokens).collect();
    assert_eq!(limits, [None, Some(64_000), Some(64_000), Some(64_000), Some(64_000)]);
    assert_eq!(state.exit, Some(Exit::ModelError));
    // Nothing of the first attempt stays; what came later is continued, and the last part is kept.
    assert_eq!(roles(&state), "hahahaha");
    assert_eq!(state.transition, Some(Transition::Resumed));
}

#[tokio::test]
async fn s2_089_more_room_is_enough_where_the_reply_then_ends() {
    let whole = ModelReply::new("m", "all of it");
    let model = Arc::new(Scripted::new().then(Turn::Reply(cut_off())).then(Turn::Reply(whole)));
    let state = run(config(Arc::clone(&model))).await;
    assert_eq!((state.exit, state.transition), (Some(Exit::Completed), Some(Transition::Escalated)));
    assert_eq!((roles(&state).as_str(), state.response().as_str()), ("ha", "all of it"));
    assert_eq!(state.recovery, crate::recovery::Recovery::default(), "a whole reply resets the counters");
}

#[tokio::test(start_paused = true)]
async fn s2_095_an_always_overloaded_model_is_called_four_times_before_the_fallback() {
    let (busy, other) = (Always::new(Err(overloaded())), Always::new(Ok(ModelReply::new("m2", "Done."))));
    let config = config(Arc::clone(&busy)).fallback(Arc::clone(&other));
    let began = tokio::time::Instant::now();
    let state = run(config).await;
    assert_eq!((busy.requests().len(), other.requests().len()), (4, 1));
    assert_eq!(began.elapsed().as_secs(), 7, "waits of 1, 2 and 4 seconds");
    assert_eq!((state.exit, state.transition), (Some(Exit::Completed), Some(Transition::SwitchedModel)));
    assert!(state.recovery.switched_model, "the switch stays");
}

#[tokio::test(start_paused = true)]
async fn s2_093_a_wait_is_enough_where_the_model_is_back() {
    let model = Arc::new(Scripted::new().fail(overloaded()).say("Back."));
    let state = run(config(model)).await;
    assert_eq!((state.exit, state.transition), (Some(Exit::Completed), Some(Transition::Waited)));
}

#[tokio::test]
async fn s2_161_a_request_that_stays_too_long_ends_after_one_compaction() {
    let model = Always::new(Err(too_long()));
    let state = run(config(Arc::clone(&model)).small_model(Scripted::new())).await;
    assert_eq!(state.exit, Some(Exit::PromptTooLong));
    let asked = model.requests().iter().filter(|request| request.purpose == Purpose::Agent).count();
    assert_eq!(asked, 2, "once, and once more after the compaction");
}

#[tokio::test]
async fn s2_068_086_a_request_that_is_too_long_is_compacted_and_sent_again() {
    let model = Arc::new(Scripted::new().fail(too_long()).say("Done."));
    let small = Arc::new(Scripted::new().say("They talked."));
    let earlier = long_conversation();
    let input = AssistantState::ask("Do it.").messages(earlier);
    let config = config(Arc::clone(&model)).small_model(Arc::clone(&small));
    let state = run_with(config.compaction(ContextManager::new().target(800)), input).await;
    assert_eq!((state.exit, state.transition), (Some(Exit::Completed), Some(Transition::Compacted)));
    assert_eq!((state.compactions.len(), small.requests().len()), (1, 1));
    let sent: Vec<usize> = model.requests().iter().map(|request| request.messages.len()).collect();
    assert!(sent[1] < sent[0], "{sent:?}");
}

#[tokio::test]
async fn s2_079_a_long_conversation_is_compacted_before_the_call() {
    let model = Arc::new(Scripted::new().say("Done."));
    let earlier = long_conversation();
    let config = config(Arc::clone(&model))
        .small_model(Scripted::new().say("They talked."))
        .windows(small_window())
        .compaction(ContextManager::new().target(600));
    let state = run_with(config, AssistantState::ask("Do it.").messages(earlier)).await;
    assert_eq!((state.exit, state.compactions.len()), (Some(Exit::Completed), 1));
    assert!(model.requests()[0].messages.len() < 31);
}

#[tokio::test]
async fn s2_063_no_request_is_sent_where_the_window_is_full_and_nothing_may_be_compacted() {
    let model = Arc::new(Scripted::new());
    let config = config(Arc::clone(&model)).windows(small_window()).context(ContextSettings {
        auto: Vec::new(),
        blocking_headroom: 100,
        ..ContextSettings::default()
    });
    let state = run_with(config, AssistantState::ask("Do it.").messages(long_conversation())).await;
    assert_eq!((state.exit, model.requests().len()), (Some(Exit::BlockingLimit), 0));
}

#[tokio::test]
async fn s2_135_145_a_compaction_that_fails_is_attempted_three_times_in_the_session() {
    let calls = ["c1", "c2", "c3", "c4", "c5"].into_iter();
    let script = calls.fold(Scripted::new(), |script, id| script.then(call(id)));
    let small = Always::new(Err(ModelError::InvalidRequest { reason: reason() }));
    let config = config(script.say("Done."))
        .small_model(Arc::clone(&small))
        .tools(tools())
        .windows(ContextWindows::none().with(Scripted::NAME, ContextWindow::new(6_000, 500)))
        .context(ContextSettings { blocking_headroom: 100, ..ContextSettings::default() });
    let earlier: Vec<_> = (0..40).map(|n| Message::human(format!("m{n}"), "word ".repeat(100))).collect();
    let state = run_with(config, AssistantState::ask("Do it.").messages(earlier)).await;
    assert_eq!((state.exit, small.requests().len()), (Some(Exit::Completed), 3));
    assert_eq!((state.compactions.len(), state.auto_compact.consecutive_failures), (0, 3));
}

#[tokio::test]
async fn a_window_that_the_provider_states_is_remembered() {
    let stated = ModelError::RequestTooLong { reason: reason(), tokens: Some(9_000), limit: Some(8_000) };
    let model = Arc::new(Scripted::new().fail(stated).say("Done."));
    let config = config(model).small_model(Scripted::new().say("They talked."));
    let config = config.compaction(ContextManager::new().target(800));
    let state = run_with(config, AssistantState::ask("Do it.").messages(long_conversation())).await;
    assert_eq!(state.windows.of(Scripted::NAME).map(|window| window.tokens), Some(8_000));
}

#[tokio::test]
async fn s2_128_a_session_of_many_messages_keeps_a_bounded_state() {
    let model = Arc::new(Scripted::new().say("Done."));
    let config =
        config(Arc::clone(&model)).context(ContextSettings { horizon: 100, ..ContextSettings::default() });
    let config = config.compaction(ContextManager::new().pin(|message| message.id().as_str() == "m3"));
    let earlier: Vec<_> = (0..150).map(|n| Message::human(format!("m{n}"), "hello")).collect();
    let state = run_with(config, AssistantState::ask("Do it.").messages(earlier)).await;
    assert_eq!(
        (state.exit, state.messages.len() <= 60),
        (Some(Exit::Completed), true),
        "{}",
        state.messages.len()
    );
    let shown = &model.requests()[0].messages;
    assert_eq!(shown.last().unwrap().text(), "Do it.");
    assert!(shown.iter().any(|message| message.id().as_str() == "m3"), "it is pinned");
}

#[tokio::test]
async fn a_refused_picture_is_left_out_once() {
    let refused = || ModelError::ImageRefused { reason: reason() };
    let picture = Content::from_iter([Part::Image(Image::base64("image/png", "AAAA")), Part::text("See?")]);
    let input = || AssistantState::ask("Do it.").messages([Message::human("m0", picture.clone())]);
    let has_picture = |request: &ModelRequest| {
        request
            .messages
            .iter()
            .flat_map(|message| message.content().parts())
            .any(|part| matches!(part, Part::Image(_)))
    };

    let model = Arc::new(Scripted::new().fail(refused()).say("I do not see it."));
    let state = run_with(config(Arc::clone(&model)), input()).await;
    assert_eq!((state.exit, state.transition), (Some(Exit::Completed), Some(Transition::StrippedMedia)));
    assert_eq!(model.requests().iter().map(has_picture).collect::<Vec<_>>(), [true, false]);

    let model = Always::new(Err(refused()));
    let state = run_with(config(Arc::clone(&model)), input()).await;
    assert_eq!((state.exit, model.requests().len()), (Some(Exit::ImageError), 2));
}

#[tokio::test]
async fn a_failure_that_nothing_helps_against_ends_the_run_and_is_told_in_the_state() {
    let unauthorized = ModelError::Unauthorized { reason: reason() };
    let state = run(config(Always::new(Err(unauthorized.clone())))).await;
    assert_eq!(state.exit, Some(Exit::ModelError));
    assert_eq!(state.failure, Some(crate::TurnFailure::Failed(unauthorized)));
}

#[tokio::test]
async fn a_reply_that_stays_paused_is_continued_in_another_turn() {
    let paused = || ModelReply { stop: StopReason::Pause, ..ModelReply::new("m", "still ") };
    let script = (0..9).fold(Scripted::new(), |script, _| script.then(Turn::Reply(paused())));
    let model = Arc::new(script.say("done"));
    let state = run(config(Arc::clone(&model))).await;
    assert_eq!((state.exit, state.transition), (Some(Exit::Completed), Some(Transition::Paused)));
    assert!(model.requests().last().unwrap().continues);
}

/// A model that says a word and then nothing more.
struct Stuck;

impl ChatModel for Stuck {
    fn name(&self) -> &str {
        "stuck"
    }

    fn stream(&self, _: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let begun = [
            ModelEvent::TextDelta { text: "I begin".into() },
            ModelEvent::ToolCallStart { index: 0, id: "c1".into(), name: "add".into() },
            ModelEvent::ToolCallEnd { index: 0 },
        ];
        stream::iter(begun.map(Ok)).chain(stream::pending()).boxed()
    }
}

/// Runs a session, and stops its turn as soon as it waits for something.
async fn stopped(config: AssistantConfig) -> (AssistantState, Graph<AssistantState>) {
    let interrupts = Interrupts::new();
    let graph = assistant(config.interrupts(interrupts.clone())).unwrap().checkpointer(MemorySaver::new());
    let thread = graph.thread("session");
    let running = async { thread.run(AssistantState::ask("Do it.")).await };
    let stopping = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(interrupts.stop(&"session".into()), "the turn runs");
    };
    let (run, ()) = tokio::join!(running, stopping);
    (run.unwrap().finished().unwrap(), graph)
}

#[tokio::test(start_paused = true)]
async fn s2_011_065_148_a_turn_that_is_stopped_while_the_model_answers_keeps_what_came() {
    let (state, graph) = stopped(config(Stuck).tools(tools())).await;
    assert_eq!(
        (state.exit, state.stop.clone()),
        (Some(Exit::AbortedStreaming), Some(StopReason::Interrupted))
    );
    assert_eq!((roles(&state).as_str(), state.messages[1].text().as_ref()), ("hat", "I begin"));
    assert!(matches!(&state.messages[2], Message::Tool(answer) if answer.status == ToolStatus::Error));
    // The stop is recorded: the replay asks no model and ends in the same way.
    graph.thread("session").replay().await.unwrap();
}

/// A model that asks for a tool and is stopped as soon as its reply is complete.
struct StoppedBehind(Interrupts);

impl ChatModel for StoppedBehind {
    fn name(&self) -> &str {
        "stopped"
    }

    fn stream(&self, _: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let interrupts = self.0.clone();
        let events = ModelReply::new("m", "").with_calls(vec![call("c1")]).to_events();
        let stop = move |event: &ModelEvent| {
            if matches!(event, ModelEvent::Stop { .. }) {
                assert!(interrupts.stop(&"session".into()), "the turn runs");
                assert!(!interrupts.stop(&"session".into()), "it is stopped");
            }
        };
        stream::iter(events.into_iter().inspect(stop).map(Ok)).boxed()
    }
}

#[tokio::test]
async fn s2_011_065_a_stop_between_two_nodes_is_seen_by_the_next_one() {
    let interrupts = Interrupts::new();
    let model = StoppedBehind(interrupts.clone());
    let state = run(config(model).tools(tools()).interrupts(interrupts.clone())).await;
    assert_eq!((state.exit, roles(&state).as_str()), (Some(Exit::AbortedTools), "hat"));
    assert!(matches!(&state.messages[2], Message::Tool(answer) if answer.status == ToolStatus::Error));
    assert!(!interrupts.stop(&"session".into()), "no turn runs");
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_wait_for_a_busy_model() {
    let busy = ModelError::Overloaded { reason: "busy".into(), retry_after: Some(Duration::from_secs(30)) };
    let begun = tokio::time::Instant::now();
    let (state, _) = stopped(config(Always::new(Err(busy)))).await;
    assert_eq!(state.exit, Some(Exit::AbortedStreaming));
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn s2_065_148_tools_that_are_stopped_are_answered() {
    let wait = TypedTool::new("wait", "Waits for an hour. Says that it has.", |_: serde_json::Value| async {
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        Ok::<_, std::convert::Infallible>("waited".to_owned())
    });
    let tools = ToolRegistry::new().with(wait).unwrap();
    let calls = ["c1", "c2"].map(|id| ToolCall::new(id, "wait", json!({}))).to_vec();
    let model = Scripted::new().then(Turn::Reply(ModelReply::new("m", "").with_calls(calls)));
    let (state, _) = stopped(config(model).tools(tools)).await;
    assert_eq!((state.exit, roles(&state).as_str()), (Some(Exit::AbortedTools), "hatt"));
}

#[test]
fn s2_046_the_wiring_of_the_loop_is_at_most_100_lines() {
    let source = include_str!("../graph.rs");
    let wiring = source.split("pub fn new(config: AssistantConfig)").nth(1).unwrap();
    let lines = wiring.split("\n    }\n").next().unwrap().lines().count();
    assert!(lines <= 100, "{lines}");
}

#[tokio::test]
async fn a_run_without_a_message_is_refused() {
    let graph = assistant(config(Scripted::new())).unwrap();
    let error = graph.run(AssistantState::update()).await.unwrap_err();
    assert!(error.to_string().contains("AssistantState::ask"), "{error}");
}
