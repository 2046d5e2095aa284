//! A graph that reports its steps.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use superstep::checkpoint::MemorySaver;
use superstep::run::RunEvent;
use superstep::testing::TestAmbient;
use tokio::time::Instant;

use superstep::nodes::message::{Message, ToolCall, ToolStatus};
use superstep::nodes::model::{
    ChatModel, ModelError, ModelEvent, ModelReply, ModelRequest, Scripted, StopReason, TokenCounter, Turn,
    Usage,
};
use superstep::nodes::node::{AgentCallbacks, AgentEvent};
use superstep::nodes::tool::{ToolOutput, ToolRegistry, TypedTool};
use superstep_examples::callback::{CallbackConfig, CallbackExit, CallbackState, IterationCost, callback};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
struct Topic {
    topic: String,
}

fn tools() -> ToolRegistry {
    let look_up =
        TypedTool::with_context("look_up", "Looks a topic up.", |Topic { topic }, context| async move {
            context.progress(&json!({ "node_created": topic }));
            match topic.as_str() {
                "nothing" => Err(format!("there is nothing about {topic}")),
                _ => Ok(format!("{topic} is easy")),
            }
        });
    ToolRegistry::new().with(look_up).unwrap()
}

fn call(id: &str, topic: &str) -> ToolCall {
    ToolCall::new(id, "look_up", json!({ "topic": topic }))
}

/// Says something and asks for these.
fn saying(text: &str, calls: &[ToolCall]) -> Turn {
    Turn::Reply(ModelReply::new(Scripted::NAME, text).with_calls(calls.to_vec()))
}

fn two_calls() -> Scripted {
    let asks = saying("I look both up.", &[call("c1", "graphs"), call("c2", "nothing")]);
    Scripted::new().then(asks).say("Graphs are easy.")
}

fn config(model: impl ChatModel) -> CallbackConfig {
    CallbackConfig::new(model, "You are a tutor.").name("tutor").tools(tools())
}

/// The calls of callbacks.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn callbacks(&self) -> AgentCallbacks {
        let [thinking, calls, results] = [(); 3].map(|()| Arc::clone(&self.0));
        AgentCallbacks::new()
            .on_thinking(move |text| thinking.lock().unwrap().push(format!("thinks: {text}")))
            .on_tool_call(move |tool, input| calls.lock().unwrap().push(format!("calls {tool} {input}")))
            .on_tool_result(move |tool, result| results.lock().unwrap().push(format!("{tool}: {result}")))
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

async fn run(config: CallbackConfig, callbacks: AgentCallbacks) -> CallbackState {
    let graph = callback(config).unwrap().observe(callbacks);
    graph.run(CallbackState::ask("Teach me graphs.")).await.unwrap().finished().unwrap()
}

#[tokio::test]
async fn s4_004_to_007_it_thinks_calls_and_gets_results_in_this_order_one_call_after_the_other() {
    let told = Told::default();
    run(config(two_calls()), told.callbacks()).await;
    let expected = [
        "thinks: I look both up.",
        r#"calls look_up {"topic":"graphs"}"#,
        "look_up: graphs is easy",
        r#"calls look_up {"topic":"nothing"}"#,
        "look_up: the tool `look_up` failed: there is nothing about nothing",
        "thinks: Graphs are easy.",
    ];
    assert_eq!(told.all(), expected);
}

#[tokio::test]
async fn s4_036_to_038_a_run_ends_with_the_text_the_calls_and_the_whole_conversation() {
    let state = run(config(two_calls()), AgentCallbacks::new()).await;
    assert_eq!(state.final_text(), "Graphs are easy.");
    assert_eq!(state.exit(), Some(CallbackExit::EndTurn));
    let calls: Vec<_> =
        state.tool_calls().iter().map(|made| (made.call.id.clone(), made.result.status)).collect();
    assert_eq!(calls, [("c1".to_owned(), ToolStatus::Ok), ("c2".to_owned(), ToolStatus::Error)]);
    let history = state.history();
    let kinds: Vec<_> =
        history.iter().map(|message| serde_json::to_value(message).unwrap()["type"].clone()).collect();
    assert_eq!(kinds, ["system", "human", "ai", "tool", "tool", "ai"]);
    assert_eq!(
        (history[0].text(), history[1].text()),
        ("You are a tutor.".into(), "Teach me graphs.".into())
    );
}

#[tokio::test]
async fn s4_037_the_calls_of_all_iterations_are_there_in_order_with_their_inputs_and_results() {
    // Some models give every call the same id.
    let model = Scripted::new()
        .then(saying("", &[call("c", "graphs"), call("c", "nothing")]))
        .then(saying("And one more.", &[call("c", "trees")]))
        .say("Easy.");
    let state = run(config(model), AgentCallbacks::new()).await;
    let made: Vec<_> = state
        .tool_calls()
        .iter()
        .map(|made| (made.call.input["topic"].as_str().unwrap(), made.result.content.to_text().into_owned()))
        .collect();
    let failed = "the tool `look_up` failed: there is nothing about nothing";
    assert_eq!(
        made,
        [
            ("graphs", "graphs is easy".to_owned()),
            ("nothing", failed.to_owned()),
            ("trees", "trees is easy".to_owned()),
        ]
    );
}

/// There is no agent without a system prompt: this does not compile if it can be left out. It comes with every request.
#[tokio::test]
async fn s4_029_the_system_prompt_is_required_and_in_every_request() {
    let new: fn(Shared, String) -> CallbackConfig = CallbackConfig::new;
    let model = Arc::new(two_calls());
    run(new(Shared(Arc::clone(&model)), "You are strict.".to_owned()).tools(tools()), AgentCallbacks::new())
        .await;
    let systems: Vec<_> = model.requests().into_iter().map(|request| request.system).collect();
    assert_eq!(systems, [Some("You are strict.".to_owned()), Some("You are strict.".to_owned())]);
}

#[tokio::test]
async fn s4_050_the_model_sees_the_error_of_a_tool_and_the_loop_continues() {
    let panics = TypedTool::new("panics", "Panics.", |Nothing {}| async {
        if true {
            panic!("out of chalk");
        }
        Ok::<_, String>("chalk")
    });
    let calls = [call("c1", "nothing"), ToolCall::new("c2", "panics", json!({}))];
    let model = Arc::new(Scripted::new().then(saying("", &calls)).say("Then without."));
    let config = CallbackConfig::new(Shared(Arc::clone(&model)), "You are a tutor.");
    let state = run(config.tools(tools().with(panics).unwrap()), AgentCallbacks::new()).await;
    let seen = model.requests()[1].messages.to_vec();
    let errors: Vec<_> = seen
        .iter()
        .filter_map(|message| match message {
            Message::Tool(result) => {
                Some((result.tool_call_id.as_str(), result.status, result.content.to_text()))
            }
            _ => None,
        })
        .collect();
    let [failed, panicked] = &errors[..] else { panic!("{errors:?}") };
    assert_eq!(
        (failed.0, failed.1, panicked.0, panicked.1),
        ("c1", ToolStatus::Error, "c2", ToolStatus::Error)
    );
    assert!(failed.2.contains("there is nothing about nothing"), "{errors:?}");
    assert!(panicked.2.contains("panics"), "{errors:?}");
    assert_eq!((state.final_text().as_str(), state.exit()), ("Then without.", Some(CallbackExit::EndTurn)));
}

#[tokio::test]
async fn a_second_run_of_a_thread_has_a_text_and_calls_of_its_own() {
    let model = Scripted::new()
        .then(saying("", &[call("c1", "graphs")]))
        .say("Easy.")
        .then(saying("", &[call("c1", "trees")]))
        .say("Easier.");
    let graph = callback(config(model)).unwrap().checkpointer(MemorySaver::new());
    let thread = graph.thread("t");
    thread.run(CallbackState::ask("Teach me graphs.")).await.unwrap().finished().unwrap();
    let state = thread.run(CallbackState::ask("And trees.")).await.unwrap().finished().unwrap();
    assert_eq!((state.final_text(), state.iteration), ("Easier.".to_owned(), 2));
    assert_eq!(state.tool_calls().len(), 1);
    assert_eq!(state.tool_calls()[0].call.input, json!({ "topic": "trees" }));
    assert_eq!(state.history().len(), 9);
}

#[tokio::test]
async fn s4_035_the_request_has_the_limit_the_system_prompt_the_messages_and_the_tools() {
    let model = Arc::new(two_calls());
    run(config(Shared(Arc::clone(&model))), AgentCallbacks::new()).await;
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    for request in &requests {
        assert_eq!(request.settings.max_output_tokens, Some(8_000));
        assert_eq!(request.system.as_deref(), Some("You are a tutor."));
        assert_eq!(request.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["look_up"]);
    }
    assert_eq!((requests[0].messages.len(), requests[1].messages.len()), (1, 4));
}

#[tokio::test]
async fn s4_028_at_the_limit_it_ends_with_what_there_is() {
    let forever = (0..20).fold(Scripted::new(), |model, n| {
        model.then(saying(&format!("Step {n}."), &[call(&format!("c{n}"), "graphs")]))
    });
    let state = run(config(forever), AgentCallbacks::new()).await;
    assert_eq!((state.iteration, state.exit()), (15, Some(CallbackExit::MaxTurns)));
    assert_eq!(state.final_text(), "Step 14.");
    let calls = state.tool_calls();
    assert_eq!(calls.len(), 15);
    assert!(calls[14].result.content.to_text().starts_with("Not run: the limit of 15 iterations"));

    let asks = saying("Step 1.", &[call("c1", "graphs")]);
    let state = run(config(Scripted::new().then(asks)).max_iterations(1), AgentCallbacks::new()).await;
    assert_eq!((state.iteration, state.exit()), (1, Some(CallbackExit::MaxTurns)));
}

#[tokio::test]
async fn an_answer_that_was_cut_off_does_not_pass_for_a_whole_one() {
    let mut reply = ModelReply::new(Scripted::NAME, "I write the");
    reply.stop = StopReason::MaxTokens;
    let state = run(config(Scripted::new().then(Turn::Reply(reply))), AgentCallbacks::new()).await;
    assert_eq!((state.final_text().as_str(), state.exit()), ("I write the", Some(CallbackExit::CutShort)));
    assert_eq!(state.stop, Some(StopReason::MaxTokens));
}

#[tokio::test]
async fn a_run_that_failed_before_its_first_answer_has_none_of_the_run_before() {
    let graph = callback(config(Scripted::new().say("Easy."))).unwrap().checkpointer(MemorySaver::new());
    let thread = graph.thread("t");
    thread.run(CallbackState::ask("Teach me graphs.")).await.unwrap().finished().unwrap();
    thread.run(CallbackState::ask("And trees.")).await.unwrap_err();
    let head = thread.head().await.unwrap();
    let state = head.state();
    assert_eq!((state.exit(), state.final_text()), (None, String::new()));
}

/// A tool that takes a second, on a paused clock.
fn slow() -> ToolRegistry {
    let tool = TypedTool::new("look_up", "Looks a topic up.", |Topic { topic }| async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok::<_, String>(topic)
    });
    ToolRegistry::new().with(tool).unwrap()
}

/// A model that thinks for two seconds.
struct Thinking(Scripted);

impl ChatModel for Thinking {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let reply = self.0.stream(request);
        stream::once(tokio::time::sleep(Duration::from_secs(2)))
            .flat_map(move |()| stream::empty())
            .chain(reply)
            .boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn s4_053_to_056_each_iteration_has_its_tokens_and_the_time_of_the_model_and_of_the_tools() {
    let asks = ModelReply::new("m", "I look both up.")
        .with_calls(vec![call("c1", "graphs"), call("c2", "trees")])
        .with_usage(Usage::of(1_000, 50));
    let answers = ModelReply::new("m", "Graphs are easy.").with_usage(Usage::of(1_200, 10));
    let model =
        Scripted::new().then(Turn::Reply(asks)).then(Turn::Reply(answers.clone())).then(Turn::Reply(answers));
    let config = CallbackConfig::new(Thinking(model), "You are a tutor.").tools(slow());
    let ambient = TestAmbient::seeded(1).on_paused_time();
    let graph = callback(config).unwrap().checkpointer(MemorySaver::new()).ambient(ambient);
    let thread = graph.thread("t");
    let state = thread.run(CallbackState::ask("Teach me graphs.")).await.unwrap().finished().unwrap();

    let iterations = state.iterations(&Words);
    let took: Vec<_> = iterations.iter().map(|one| (one.usage.total(), one.model_ms, one.tools_ms)).collect();
    assert_eq!(took, [(1_050, 2_000, 2_000), (1_210, 2_000, 0)]);
    let added = iterations.iter().map(|IterationCost { added, .. }| {
        [added.system, added.message, added.reasoning, added.tool_calls, added.tool_results]
    });
    // Each call is its name and its input, each result a word.
    assert_eq!(added.collect::<Vec<_>>(), [[4, 3, 4, 4, 2], [0, 0, 3, 0, 0]]);
    let run: IterationCost = iterations.into_iter().sum();
    assert_eq!((run.usage, run.model_ms + run.tools_ms), (Usage::of(2_200, 60), 6_000));

    let again = thread.run(CallbackState::ask("Again!")).await.unwrap().finished().unwrap();
    assert_eq!(again.iterations(&Words).len(), 1);
    assert_eq!((again.calls.len(), again.ledger.total().usage), (5, Usage::of(3_400, 70)));
}

/// Counts words.
struct Words;

impl TokenCounter for Words {
    fn text(&self, text: &str) -> u64 {
        text.split_whitespace().count() as u64
    }
}

#[tokio::test]
async fn s4_040_to_043_each_result_is_found_by_the_id_of_its_call_and_follows_what_the_model_said() {
    let make = TypedTool::new("make", "Makes a node.", |Topic { topic }| async move {
        ToolOutput::json(&json!({ "id": 7, "name": topic }))
    });
    let tools = tools().with(make).unwrap();
    let asks = saying("", &[call("c1", "graphs"), ToolCall::new("c2", "make", json!({ "topic": "trees" }))]);
    let state =
        run(config(Scripted::new().then(asks).say("Done.")).tools(tools), AgentCallbacks::new()).await;
    let kinds = |message: &Message| matches!(message, Message::Ai(_) | Message::Tool(_));
    let said: Vec<_> = state.messages.iter().filter(|message| kinds(message)).collect();
    assert!(
        matches!(said[..], [Message::Ai(_), Message::Tool(_), Message::Tool(_), Message::Ai(_)]),
        "{said:?}"
    );
    let results: Vec<_> = state.tool_calls().into_iter().map(|made| made.result).collect();
    let told: Vec<_> =
        results.iter().map(|result| (result.tool_call_id.as_str(), result.name.as_str())).collect();
    assert_eq!(told, [("c1", "look_up"), ("c2", "make")]);
    let made: serde_json::Value = serde_json::from_str(&results[1].content.to_text()).unwrap();
    assert_eq!(made, json!({ "id": 7, "name": "trees" }));
}

#[tokio::test]
async fn s4_052_an_unknown_tool_is_reported_and_the_loop_continues() {
    let told = Told::default();
    let unknown = ToolCall::new("c1", "google", json!({ "q": "graphs" }));
    let model = Scripted::new().then(saying("", &[unknown])).say("I know it anyway.");
    let state = run(config(model), told.callbacks()).await;
    assert_eq!(state.final_text(), "I know it anyway.");
    let told = told.all();
    assert_eq!(told[0], r#"calls google {"q":"graphs"}"#);
    assert!(told[1].starts_with("google: there is no tool named `google`"), "{told:?}");
}

#[tokio::test]
async fn s4_034_a_callback_that_panics_breaks_nothing_and_is_called_again() {
    let calls = Arc::new(Mutex::new(0));
    let count = Arc::clone(&calls);
    let callbacks = AgentCallbacks::new().on_tool_result(move |_, _| {
        *count.lock().unwrap() += 1;
        panic!("a mistake of the user's");
    });
    // The count's lock is free again when the callback panics.
    let state = run(config(two_calls()), callbacks).await;
    assert_eq!((state.final_text().as_str(), *calls.lock().unwrap()), ("Graphs are easy.", 2));
}

#[tokio::test]
async fn s4_010_to_012_watchers_get_frames_when_things_happen() {
    let frames = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&frames);
    let observer = move |event: &RunEvent| {
        let told = AgentEvent::of(event);
        sink.lock().unwrap().extend(told.iter().map(AgentEvent::to_sse));
    };
    let asks = saying("I look it up.", &[call("c1", "graphs")]);
    let graph = callback(config(Scripted::new().then(asks).say("Easy."))).unwrap().observe(observer);
    graph.run(CallbackState::ask("Teach me.")).await.unwrap().finished().unwrap();
    let expected = [
        "event: agent_reasoning\ndata: {\"agent\":\"tutor\",\"text\":\"I look it up.\"}\n\n",
        "event: tool_call\ndata: {\"input\":{\"topic\":\"graphs\"},\"tool\":\"look_up\"}\n\n",
        "event: tool_progress\ndata: {\"data\":{\"node_created\":\"graphs\"},\"tool\":\"look_up\"}\n\n",
        "event: tool_result\ndata: {\"summary\":\"graphs is easy\",\"tool\":\"look_up\"}\n\n",
        "event: agent_reasoning\ndata: {\"agent\":\"tutor\",\"text\":\"Easy.\"}\n\n",
    ];
    assert_eq!(*frames.lock().unwrap(), expected);
}

/// A model that tests keep.
struct Shared(Arc<Scripted>);

impl ChatModel for Shared {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        self.0.stream(request)
    }
}

/// A model that fails, and notes when it was asked.
struct Failing(ModelError, Arc<Mutex<Vec<Instant>>>);

impl ChatModel for Failing {
    fn name(&self) -> &str {
        "failing"
    }

    fn stream(&self, _: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        self.1.lock().unwrap().push(Instant::now());
        stream::iter([Err(self.0.clone())]).boxed()
    }
}

/// After how many seconds a model that fails like this is asked.
async fn asked_at(error: ModelError) -> Vec<u64> {
    let asked = Arc::default();
    let graph = callback(config(Failing(error.clone(), Arc::clone(&asked)))).unwrap();
    let begun = Instant::now();
    let failed = graph.run(CallbackState::ask("Teach me.")).await.unwrap_err();
    assert!(format!("{failed:?}").contains(&format!("{error:?}")), "{failed:?}");
    let asked = asked.lock().unwrap();
    asked.iter().map(|at| at.duration_since(begun).as_secs()).collect()
}

fn limited(retry_after: Option<Duration>) -> ModelError {
    ModelError::RateLimited { retry_after, reason: "slow down".into() }
}

#[tokio::test(start_paused = true)]
async fn s4_015_to_019_a_limited_rate_is_waited_for_three_times_and_then_the_error_of_the_run() {
    assert_eq!(asked_at(limited(None)).await, [0, 2, 6, 14]);
}

#[tokio::test(start_paused = true)]
async fn s4_020_other_errors_are_not_waited_for() {
    assert_eq!(asked_at(ModelError::Overloaded { reason: "busy".into(), retry_after: None }).await, [0]);
    assert_eq!(asked_at(ModelError::Unreachable { reason: "no route".into() }).await, [0]);
}

#[tokio::test(start_paused = true)]
async fn s4_021_a_longer_wait_that_the_model_asks_for_is_kept() {
    assert_eq!(asked_at(limited(Some(Duration::from_secs(5)))).await, [0, 5, 10, 18]);
}
