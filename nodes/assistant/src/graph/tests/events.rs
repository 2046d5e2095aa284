//! The events that front ends read, and the stream that they come from.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::FutureExt;
use superstep_core::id::RunId;
use superstep_core::run::{
    Ambient, CancellationToken, EventKind, Observer, PathSegment, RunEvent, RunStream, System,
};
use superstep_core::state::Json;
use superstep_nodes::model::Ledger;
use superstep_nodes::node::ModelChunk;
use superstep_nodes::tool::ToolOutcome;
use tokio::sync::Notify;

use super::agents::{ByTask, reader, session};
use super::*;
use crate::AssistantEvent;
use crate::permission::{PermissionAnswer, PermissionQuestion};

/// A front end: it keeps the events that it gets, in its own form.
struct Sink<T> {
    form: fn(&AssistantEvent) -> Option<T>,
    seen: Mutex<Vec<T>>,
}

impl<T: Send + 'static> Sink<T> {
    fn new(form: fn(&AssistantEvent) -> Option<T>) -> Arc<Self> {
        Arc::new(Self { form, seen: Mutex::default() })
    }

    fn observer(self: &Arc<Self>) -> impl Observer + use<T> {
        let sink = Arc::clone(self);
        move |event: &RunEvent| {
            sink.seen.lock().unwrap().extend(AssistantEvent::of(event).iter().filter_map(sink.form));
        }
    }

    fn take(&self) -> Vec<T> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

fn every(event: &AssistantEvent) -> Option<AssistantEvent> {
    Some(event.clone())
}

/// Runs a session of one message, and returns its events.
async fn events_of(config: AssistantConfig) -> Vec<AssistantEvent> {
    let sink = Sink::new(every);
    let graph = assistant(config).unwrap().checkpointer(MemorySaver::new()).observe(sink.observer());
    graph.thread("session").run(AssistantState::ask("Do it.")).await.unwrap().finished().unwrap();
    sink.take()
}

/// Returns the names of events, without those of pieces of text and of model calls.
fn names(events: &[AssistantEvent]) -> Vec<String> {
    let name =
        |event: &AssistantEvent| serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned();
    events.iter().map(name).filter(|name| name != "text" && name != "budget").collect()
}

fn text(events: &[AssistantEvent]) -> String {
    let piece = |event: &AssistantEvent| match event {
        AssistantEvent::Text { text, .. } => Some(text.clone()),
        _ => None,
    };
    events.iter().filter_map(piece).collect()
}

#[tokio::test]
async fn s2_027_the_same_run_serves_a_terminal_and_a_program_and_does_not_depend_on_them() {
    let terminal = Sink::new(|event| match event {
        AssistantEvent::Text { text, .. } => Some(text.clone()),
        AssistantEvent::Call { tool, .. } => Some(format!("[{tool}]")),
        _ => None,
    });
    let program = Sink::new(|event| serde_json::to_string(event).ok());
    let script = || Scripted::new().then(call("c1")).say("It is three.");
    let observed = assistant(config(script()).tools(tools())).unwrap();
    let observed = observed.observe(terminal.observer()).observe(program.observer());
    let alone = assistant(config(script()).tools(tools())).unwrap();
    let [observed, alone] = [observed, alone].map(|graph| graph.checkpointer(MemorySaver::new()));
    let run = async |graph: &Graph<AssistantState>| {
        let run = graph.thread("session").run(AssistantState::ask("Do it.")).await.unwrap();
        // The ledger has durations.
        AssistantState { ledger: Ledger::default(), ..run.finished().unwrap() }
    };
    assert_eq!(run(&observed).await, run(&alone).await, "who watches changes nothing");

    assert_eq!(terminal.take().concat(), "[add]It is three.");
    let read = |line: &String| serde_json::from_str(line).unwrap();
    let events: Vec<AssistantEvent> = program.take().iter().map(read).collect();
    assert_eq!(names(&events), ["message", "call", "result", "exited"]);
    assert_eq!(text(&events), "It is three.");
    assert_eq!(events.last(), Some(&AssistantEvent::Exited { exit: Exit::Completed, reason: None }));
    let calls = events.iter().filter(|event| matches!(event, AssistantEvent::Budget(call) if !call.recorded));
    assert_eq!(calls.count(), 2, "both model calls are counted");
}

#[tokio::test]
async fn s2_189_a_failure_is_no_event_until_it_ends_the_run_and_then_it_is_one() {
    // The model recovers.
    let model = Scripted::new().fail(too_long()).then(Turn::Reply(cut_off())).say("Done.");
    let small = Scripted::new().say("They talked.");
    let graph = config(model).small_model(small).compaction(ContextManager::new().target(800));
    let sink = Sink::new(every);
    let graph = assistant(graph).unwrap().checkpointer(MemorySaver::new()).observe(sink.observer());
    let input = AssistantState::ask("Do it.").messages(long_conversation());
    graph.thread("session").run(input).await.unwrap().finished().unwrap();
    let events = sink.take();
    assert_eq!(names(&events), ["message", "recovered", "compacted", "recovered", "exited"]);
    let told = serde_json::to_string(&events).unwrap();
    for failure in ["too long", "limit of output", "max_tokens", "error", "fail"] {
        assert!(!told.contains(failure), "{failure}: {told}");
    }

    // It does not.
    let surfaced = |events: Vec<AssistantEvent>| -> Vec<Option<String>> {
        let reason = |event| match event {
            AssistantEvent::Exited { reason, .. } => Some(reason),
            _ => None,
        };
        assert!(matches!(events.last(), Some(AssistantEvent::Exited { .. })), "{events:?}");
        events.into_iter().filter_map(reason).collect()
    };
    let too_long = config(Always::new(Err(too_long()))).small_model(Scripted::new());
    let reasons = surfaced(events_of(too_long).await);
    assert!(matches!(&reasons[..], [Some(reason)] if reason.contains("too long")), "{reasons:?}");
    let reasons = surfaced(events_of(config(Always::new(Ok(cut_off())))).await);
    assert!(matches!(&reasons[..], [Some(reason)] if reason.contains("output tokens")), "{reasons:?}");
}

#[tokio::test]
async fn a_question_and_a_denied_call_are_events() {
    let sink = Sink::new(every);
    let model = Scripted::new().then(call("c1")).say("I cannot.");
    let graph = assistant(AssistantConfig::new(model).tools(tools())).unwrap();
    let graph = graph.checkpointer(MemorySaver::new()).observe(sink.observer());
    let thread = graph.thread("session");
    let asked = thread.run(AssistantState::ask("Do it.")).await.unwrap().interrupted().unwrap();
    let events = sink.take();
    let Some(AssistantEvent::Asked { id, node, question }) = events.last() else { panic!("{events:?}") };
    assert_eq!((*id, node.as_str()), (asked[0].id, "authorize"));
    assert_eq!(question.decode::<PermissionQuestion>().unwrap().call.name, "add");

    let answer = PermissionAnswer::Deny { reason: "Not today.".into() };
    thread.answer_to(*id, &answer).await.unwrap().finished().unwrap();
    let events = sink.take();
    assert_eq!(names(&events), ["result", "exited"]);
    let AssistantEvent::Result { call, outcome, text, .. } = &events[0] else { panic!("{events:?}") };
    assert_eq!((call.as_str(), *outcome), ("c1", ToolOutcome::Denied));
    assert!(text.contains("Not today."), "{text}");
}

#[tokio::test]
async fn a_sub_agent_is_seen_from_its_task_to_its_answer() {
    let calls = ["c1", "c2"].map(|id| ToolCall::new(id, "agent", json!({ "kind": "explore", "task": id })));
    let model = ByTask::new(session(calls.into()));
    let events = events_of(config(model).permissions(allowing(["agent"])).agents([reader()])).await;
    let within = |position: u32| -> Vec<AssistantEvent> {
        let inner = |event: &AssistantEvent| match event {
            AssistantEvent::Agent { kind, task, event, .. } if kind == "explore" && *task == position => {
                Some((**event).clone())
            }
            _ => None,
        };
        events.iter().filter_map(inner).collect()
    };
    for (position, task) in [(0, "c1"), (1, "c2")] {
        let inner = within(position);
        assert_eq!(names(&inner), ["message", "exited"], "{inner:?}");
        assert_eq!(text(&inner), format!("did {task}"));
    }
    let answered = |event: &AssistantEvent| match event {
        AssistantEvent::Result { call, tool, outcome: ToolOutcome::Ok, text } if tool == "agent" => {
            Some((call.clone(), text.clone()))
        }
        _ => None,
    };
    let answers: Vec<_> = events.iter().filter_map(answered).collect();
    assert_eq!(
        answers,
        [("c1", "did c1"), ("c2", "did c2")].map(|(id, text)| (id.to_owned(), text.to_owned()))
    );
    assert_eq!(text(&events), "Done.", "the words of an agent are not those of the session");
}

#[test]
fn an_event_of_a_sub_agent_names_the_agents_from_the_outermost() {
    let segment = |node: &str, step, task| PathSegment { node: node.into(), step, task, attempt: 1 };
    let delta = ModelEvent::TextDelta { text: "Hello".into() };
    let chunk = |purpose| ModelChunk { message: "m".into(), purpose, event: delta.clone() };
    let event = |purpose| RunEvent {
        seq: 0,
        at_ms: 0,
        run: RunId(System.id()),
        path: vec![segment("agent.planner", 5, 0), segment("agent.explorer", 9, 2)],
        kind: EventKind::MessageChunk {
            step: 1,
            task: 0,
            node: "turn".into(),
            chunk: Json::encode(&chunk(purpose)).unwrap(),
        },
    };
    let text = AssistantEvent::Text { message: "m".into(), text: "Hello".into() };
    let within = |kind: &str, step, task, event| AssistantEvent::Agent {
        kind: kind.into(),
        step,
        task,
        event: Box::new(event),
    };
    let expected = within("planner", 5, 0, within("explorer", 9, 2, text));
    assert_eq!(AssistantEvent::of(&event(Purpose::Agent)), [expected]);
    assert_eq!(AssistantEvent::of(&event(Purpose::Summarizer)), [], "a summary is not said to the user");
}

/// A model that gives many pieces, and waits after the first one until it may continue.
struct Slow {
    pieces: usize,
    given: Arc<AtomicUsize>,
    may_continue: Arc<Notify>,
}

impl ChatModel for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    fn stream(&self, _: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let (given, may_continue) = (Arc::clone(&self.given), Arc::clone(&self.may_continue));
        let pieces = stream::iter(0..self.pieces).then(move |piece| {
            let (given, may_continue) = (Arc::clone(&given), Arc::clone(&may_continue));
            async move {
                match piece {
                    1 => may_continue.notified().await,
                    // As over a network, each piece is waited for.
                    _ => tokio::task::yield_now().await,
                }
                given.fetch_add(1, Ordering::Relaxed);
                Ok(ModelEvent::TextDelta { text: "word ".into() })
            }
        });
        let end = ModelEvent::Stop { reason: StopReason::EndTurn };
        pieces.chain(stream::iter([Ok(end)])).boxed()
    }
}

/// Begins a session whose model gives so many pieces. Returns its stream, and the number of pieces so far.
fn slow(pieces: usize) -> (RunStream<AssistantState>, Arc<AtomicUsize>, Arc<Notify>) {
    let (given, may_continue) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let model = Slow { pieces, given: Arc::clone(&given), may_continue: Arc::clone(&may_continue) };
    let graph = assistant(config(model)).unwrap().checkpointer(MemorySaver::new());
    (graph.thread("session").run(AssistantState::ask("Do it.")).stream(), given, may_continue)
}

/// Reads events up to the next piece of text.
async fn next_text(run: &mut RunStream<AssistantState>) -> Option<String> {
    while let Some(event) = run.next().await {
        let text = text(&AssistantEvent::of(&event));
        if !text.is_empty() {
            return Some(text);
        }
    }
    None
}

#[tokio::test]
async fn s2_020_053_text_is_an_event_before_the_model_has_finished() {
    let (mut run, given, may_continue) = slow(3);
    assert_eq!(next_text(&mut run).await.as_deref(), Some("word "));
    assert_eq!(given.load(Ordering::Relaxed), 1, "the model waits with the rest");
    may_continue.notify_one();
    for _ in 0..2 {
        assert_eq!(next_text(&mut run).await.as_deref(), Some("word "), "piece by piece");
    }
    let state = run.finish().await.unwrap().finished().unwrap();
    assert_eq!(state.response(), "word word word ");
}

#[tokio::test]
async fn s2_185_a_run_waits_for_its_reader() {
    let (mut run, given, may_continue) = slow(20_000);
    may_continue.notify_one();
    tokio::task::yield_now().await;
    assert_eq!(given.load(Ordering::Relaxed), 0, "nothing runs until an event is asked for");
    next_text(&mut run).await.unwrap();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let ahead = given.load(Ordering::Relaxed);
    assert!(ahead < 600, "{ahead} pieces are ahead of a reader of one");
    next_text(&mut run).await.unwrap();
    let state = run.finish().await.unwrap().finished().unwrap();
    assert_eq!(state.response().len(), 5 * 20_000, "nothing is lost");
}

/// Tells when it is dropped.
struct OnDrop(Arc<AtomicBool>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn s2_186_dropping_the_stream_stops_the_run_and_cancels_its_tools() {
    let is_dropped = Arc::new(AtomicBool::new(false));
    let token: Arc<Mutex<Option<CancellationToken>>> = Arc::default();
    let (dropped, cancelled) = (Arc::clone(&is_dropped), Arc::clone(&token));
    let wait = TypedTool::with_context(
        "wait",
        "Waits for an hour. Says nothing.",
        move |_: serde_json::Value, context| {
            *cancelled.lock().unwrap() = Some(context.cancellation().clone());
            let guard = OnDrop(Arc::clone(&dropped));
            async move {
                let _guard = guard;
                std::future::pending::<Result<String, std::convert::Infallible>>().await
            }
        },
    );
    let model = Arc::new(Scripted::new().call("c1", "wait", json!({})).say("Done."));
    let graph = assistant(config(Arc::clone(&model)).tools(ToolRegistry::new().with(wait).unwrap())).unwrap();
    let graph = graph.checkpointer(MemorySaver::new());
    let mut run = graph.thread("session").run(AssistantState::ask("Do it.")).stream();
    loop {
        let event = run.next().await.expect("the tool waits");
        if matches!(AssistantEvent::of(&event)[..], [AssistantEvent::Call { .. }]) {
            break;
        }
    }
    // The call has begun once the stream waits for the tool.
    assert!(run.next().now_or_never().is_none());
    drop(run);
    assert!(is_dropped.load(Ordering::Relaxed), "the tool does not run on");
    assert!(token.lock().unwrap().as_ref().unwrap().is_cancelled(), "the tool was cancelled");
    assert_eq!(model.requests().len(), 1);
    let state = graph.thread("session").head().await.unwrap().into_state();
    assert_eq!((state.exit, roles(&state).as_str()), (None, "ha"), "the call is open, and can be resumed");
}

#[tokio::test]
async fn s2_004_005_a_round_passes_the_same_nodes_until_the_model_asks_for_no_tools() {
    let model = Scripted::new().then(call("c1")).then(call("c2")).say("Done.");
    let graph = assistant(config(model).tools(tools())).unwrap();
    let mut run = graph.run(AssistantState::ask("Do it.")).stream();
    let mut nodes = Vec::new();
    while let Some(event) = run.next().await {
        if let EventKind::TaskFinished { node, .. } = &event.kind {
            nodes.push(node.to_string());
        }
    }
    // The input of the run is the task of a node, too.
    nodes.retain(|node| node != "__start__");
    let round = ["gate", "turn", "authorize", "tools"];
    assert_eq!(nodes, [&round[..], &round[..], &["gate", "turn", "finish"]].concat());
}
