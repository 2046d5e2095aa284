//! A turn that is broken off, wherever that is: the thread goes on with requests that no provider refuses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep_core::checkpoint::MemorySaver;
use superstep_core::graph::{END, START, StateGraph, to};
use superstep_core::reducer::KeyedLog;
use superstep_core::run::{CancellationToken, Graph, RunError, Thread};
use superstep_core::state::State;
use superstep_nodes::message::{Message, MessageLog};
use superstep_nodes::model::ChatModel;
use superstep_nodes::node::{Agent, AgentNext, Tools};
use superstep_nodes::tool::{ToolEffect, ToolRegistry, TypedTool};
use superstep_testkit::{MockServer, Pacing, Reply};

use super::clients::Way;

/// One of each protocol.
const WAYS: [Way; 3] = [Way::Messages, Way::Chat, Way::Responses];

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Chat {
    question: String,
    #[reducer(KeyedLog)]
    messages: MessageLog,
    visits: u32,
}

impl Chat {
    fn ask(question: &str) -> ChatUpdate {
        Self::update().question(question.to_owned()).visits(0)
    }
}

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

/// A tool that looks, and one that changes something, which may be done again.
fn tools() -> ToolRegistry {
    let tool = |name, effect| {
        let tool = TypedTool::with_context(name, "Asks about a city.", |City { city }, context| async move {
            context.progress(&city);
            tokio::task::yield_now().await;
            Ok::<_, String>(format!("rain in {city}"))
        });
        tool.with_effect(effect)
    };
    let tools = ToolRegistry::new().with(tool("look", ToolEffect::ReadOnly)).expect("the first one");
    tools.with(tool("write", ToolEffect::Idempotent)).expect("another name")
}

/// A model that asks for three tools.
fn asking() -> Reply {
    Reply::new()
        .signed_thinking("I need to look.", "c2ln")
        .say("Let me look.")
        .tool_call("call_a", "look", json!({ "city": "Paris" }))
        .tool_call("call_b", "look", json!({ "city": "Rome" }))
        .tool_call("call_c", "write", json!({ "city": "Paris" }))
}

/// An agent with tools, which may take so long for a visit; with `streams` tools begin while the model speaks.
fn graph(
    model: Arc<dyn ChatModel>,
    tools: ToolRegistry,
    streams: bool,
    limit: Option<Duration>,
) -> Graph<Chat> {
    let node = Tools::new(tools.clone(), Chat::MESSAGES);
    let agent = Agent::new(model, Chat::MESSAGES, Chat::VISITS).task(Chat::QUESTION);
    let agent = if streams { agent.stream_tools(&node) } else { agent.tools(&tools) };
    let mut graph = StateGraph::<Chat>::new("chat");
    let (agent, tools) = (graph.node("agent", agent), graph.node("tools", node));
    if let Some(limit) = limit {
        graph.policy(agent).timeout(limit);
        graph.policy(tools).timeout(limit);
    }
    graph.edge(START, agent);
    graph.route(agent, move |next| match next {
        AgentNext::RunTools => to(tools),
        AgentNext::Respond => END,
    });
    graph.edge(tools, agent);
    graph.compile().expect("a loop is a sound graph")
}

/// The ways in which a turn breaks off.
#[derive(Clone, Copy, Debug)]
enum Break {
    /// It is cancelled.
    Cancel,
    /// It is no longer driven, as after `kill -9`.
    Kill,
}

/// The next step.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// The turn goes on where it was.
    Resume,
    /// Another question is asked.
    Ask,
}

/// A server whose model asks for tools first and then answers.
struct World {
    server: MockServer,
    asked: Arc<AtomicUsize>,
    /// True if its first reply arrives slowly.
    is_slow: Arc<AtomicBool>,
}

impl World {
    /// Starts a server whose first reply has this pacing.
    async fn start(pacing: Pacing) -> Self {
        let server = MockServer::start().await.expect("loopback");
        let asked = Arc::new(AtomicUsize::new(0));
        let is_slow = Arc::new(AtomicBool::new(true));
        let (count, slow) = (Arc::clone(&asked), Arc::clone(&is_slow));
        server.answer_with(move |_| {
            match (count.fetch_add(1, Ordering::Relaxed), slow.load(Ordering::Relaxed)) {
                (0, true) => asking().pacing(pacing.clone()),
                (0, false) => asking(),
                _ => Reply::text("It rains."),
            }
        });
        Self { server, asked, is_slow }
    }

    /// A thread that nothing has happened on, with a model that has said nothing yet.
    fn thread(&self, graph: &Graph<Chat>, name: String) -> Thread<Chat> {
        self.asked.store(0, Ordering::Relaxed);
        graph.thread(name)
    }
}

/// Breaks a turn off at its `nth` event; whether it came so far.
async fn is_broken(thread: &Thread<Chat>, how: Break, nth: usize) -> bool {
    let stop = CancellationToken::new();
    let mut turn = thread.run(Chat::ask("What is the weather?")).cancel_on(stop.clone()).stream();
    for _ in 0..nth {
        if turn.next().await.is_none() {
            return false;
        }
    }
    match how {
        Break::Kill => drop(turn),
        Break::Cancel => {
            stop.cancel();
            drop(turn.finish().await);
        }
    }
    true
}

/// Goes on, and asks one more question; what the conversation is in the end.
async fn go_on(thread: &Thread<Chat>, next: Next) -> Result<MessageLog, RunError> {
    if matches!(next, Next::Resume) {
        // Before its first checkpoint a thread has nothing to go on with.
        if thread.state().await.is_ok() {
            let _ = thread.resume().await?;
        }
    }
    let run = thread.run(Chat::ask("And tomorrow?")).await?;
    Ok(run.into_state().messages)
}

fn answers(conversation: &MessageLog) -> usize {
    conversation
        .iter()
        .filter(|message| matches!(message, Message::Ai(_)) && message.text() == "It rains.")
        .count()
}

#[tokio::test]
async fn a_turn_that_is_cancelled_or_killed_at_any_point_continues_with_valid_requests() {
    for way in WAYS {
        for streams in [false, true] {
            let world = World::start(Pacing::new()).await;
            let graph =
                graph(way.client(&world.server), tools(), streams, None).checkpointer(MemorySaver::new());
            let mut points = 0;
            for nth in 0.. {
                let mut is_over = true;
                for (how, next) in [
                    (Break::Cancel, Next::Resume),
                    (Break::Cancel, Next::Ask),
                    (Break::Kill, Next::Resume),
                    (Break::Kill, Next::Ask),
                ] {
                    let at = format!("{way:?} {streams} {nth} {how:?} {next:?}");
                    let thread = world.thread(&graph, at.clone());
                    is_over &= !is_broken(&thread, how, nth).await;
                    let conversation =
                        go_on(&thread, next).await.unwrap_or_else(|error| panic!("{at}: {error}"));
                    assert_eq!(world.server.errors(), [], "{at}");
                    assert!(answers(&conversation) > 0, "{at}: {conversation:?}");
                }
                if is_over {
                    break;
                }
                points += 1;
            }
            assert!(points > 30, "{way:?}: a turn has {points} points only");
        }
    }
}

/// The maximum time of a delayed visit. On a busy machine any visit may take as long; then it is continued, too.
const LIMIT: Duration = Duration::from_millis(400);

/// Nothing takes as long as this, on a busy machine either.
const HANGS: Duration = Duration::from_secs(300);

/// Runs a turn that is to time out and goes on where nothing does; whether it timed out.
async fn is_timed_out(
    way: Way,
    streams: bool,
    tools: ToolRegistry,
    world: &World,
    next: Next,
    limit: Duration,
) -> bool {
    let (saver, model) = (MemorySaver::new(), way.client(&world.server));
    let limited = graph(Arc::clone(&model), tools, streams, Some(limit)).checkpointer(saver.clone());
    let turn = limited.thread("t").run(Chat::ask("What is the weather?")).await;
    world.is_slow.store(false, Ordering::Relaxed);
    let patient = graph(model, self::tools(), streams, None).checkpointer(saver);
    let conversation = go_on(&patient.thread("t"), next).await;
    let conversation = conversation.unwrap_or_else(|error| panic!("{way:?} {streams} {next:?}: {error}"));
    assert_eq!(world.server.errors(), [], "{way:?} {streams} {next:?}");
    assert!(answers(&conversation) > 0, "{way:?} {streams} {next:?}: {conversation:?}");
    turn.is_err()
}

#[tokio::test]
async fn a_turn_whose_model_stops_speaking_anywhere_continues_with_valid_requests() {
    for way in WAYS {
        for streams in [false, true] {
            let events = (0..60).map(|events| async move {
                let world = World::start(Pacing::new().stall_after_events(events)).await;
                let next = if events % 2 == 0 { Next::Resume } else { Next::Ask };
                // No turn has so many events: the last one is not held up.
                let limit = if events == 59 { HANGS } else { LIMIT };
                is_timed_out(way, streams, tools(), &world, next, limit).await
            });
            let broken: Vec<_> = stream::iter(events).buffered(20).collect().await;
            let points = broken.iter().filter(|broken| **broken).count();
            assert!(points > 10 && !broken[59], "{way:?}: {broken:?}");
        }
    }
}

#[tokio::test]
async fn a_turn_whose_tools_take_too_long_continues_with_valid_requests() {
    for way in WAYS {
        for (streams, stuck) in [(false, 1), (false, 2), (true, 1), (true, 2)] {
            for next in [Next::Resume, Next::Ask] {
                let calls = Arc::new(AtomicUsize::new(0));
                let stuck_at = move |nth| {
                    TypedTool::new("look", "Asks about a city.", move |City { city }| {
                        let call = calls.fetch_add(1, Ordering::Relaxed) + 1;
                        async move {
                            if call == nth {
                                std::future::pending::<()>().await;
                            }
                            Ok::<_, String>(format!("rain in {city}"))
                        }
                    })
                };
                let tools =
                    ToolRegistry::new().with(stuck_at(stuck).with_effect(ToolEffect::ReadOnly)).unwrap();
                let world = World::start(Pacing::new()).await;
                let timed_out = is_timed_out(way, streams, tools, &world, next, LIMIT).await;
                assert!(timed_out, "{way:?} {streams} {stuck}");
            }
        }
    }
}
