//! Benchmarks of the assistant's sessions: the cost of a turn, of opening an old session, and of a list.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures_util::stream::{self, BoxStream, StreamExt};
use rusqlite::Connection;
use serde_json::{Map, Value, json};
use superstep::checkpoint::{Durability, SqliteSaver};
use superstep::nodes::assistant::permission::{Permissions, RuleKind, RulePlace, RuleSource};
use superstep::nodes::assistant::{AssistantConfig, AssistantState, Session, SessionSummary, assistant};
use superstep::nodes::message::{Message, ToolCall};
use superstep::nodes::model::{ChatModel, ModelError, ModelEvent, ModelReply, ModelRequest};
use superstep::nodes::tool::{ToolRegistry, TypedTool};
use superstep::prelude::*;
use tempfile::TempDir;

use crate::engine::on_worker;
use crate::fresh;
use crate::report::{Figure, median, round};

/// Turns that are measured on each length.
const TURNS: usize = 200;
/// Turns of the old session of W18.
const OLD: u32 = 10_000;
const SESSIONS: u32 = 1_000;
const ROUNDS: usize = 3;
/// The number of letters of a message.
const LETTERS: usize = 440;

/// A model that answers at once, after one call of a tool where the message of the user asks for it. It notes when it
/// was asked first.
#[derive(Clone, Default)]
struct Instantly {
    asked: Arc<Mutex<Option<Instant>>>,
}

impl ChatModel for Instantly {
    fn name(&self) -> &str {
        "instantly"
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        self.asked.lock().expect("no call panics").get_or_insert_with(Instant::now);
        let wants_tool = match request.messages.last() {
            Some(Message::Human(message)) => message.content.to_text().starts_with("look"),
            _ => false,
        };
        let reply = match wants_tool {
            true => ModelReply::new("instantly", "").with_calls(vec![ToolCall::new("c", "look", json!({}))]),
            false => ModelReply::new("instantly", text("answer")),
        };
        stream::iter(reply.to_events().into_iter().map(Ok)).boxed()
    }
}

fn text(kind: &str) -> String {
    format!("{kind} that says something; ").chars().cycle().take(LETTERS).collect()
}

/// Opens the file with an assistant whose tool answers at once.
async fn graph(path: &Path, model: Instantly) -> Graph<AssistantState> {
    let look =
        TypedTool::new("look", "Looks at something. Says what it is.", |_: Value| async { text("result") });
    let allow = RulePlace::new("look".parse().expect("a sound rule"), RuleSource::User);
    let config = AssistantConfig::new(model)
        .tools(ToolRegistry::new().with(look).expect("a sound tool"))
        .permissions(Permissions::new().rule(RuleKind::Allow, allow));
    let saver = SqliteSaver::options().durability(Durability::Process).open(path).await;
    assistant(config).expect("a sound graph").checkpointer(saver.expect("the file opens"))
}

/// Takes a turn, and returns its time in microseconds.
async fn turn(thread: &Thread<AssistantState>, message: &str) -> f64 {
    let begun = Instant::now();
    let run = thread.run(AssistantState::ask(message)).await.expect("the turn runs");
    let taken = begun.elapsed().as_secs_f64() * 1e6;
    assert!(run.state.exit.is_some(), "it has ended");
    taken
}

/// Returns the times of turns on a session that has this many messages already, without and with a tool.
async fn turns(messages: u32) -> [Vec<f64>; 2] {
    let folder = TempDir::new().expect("a folder for the file");
    let graph = graph(&folder.path().join("sessions.db"), Instantly::default()).await;
    let thread = graph.thread("session");
    let talk = (0..messages).map(|n| match n % 2 {
        0 => Message::human(format!("m{n}"), text("question")),
        _ => Message::ai(format!("m{n}"), text("answer")),
    });
    thread
        .input(AssistantState::ask("Begin.").messages(talk.collect::<Vec<_>>()))
        .await
        .expect("it is stored");
    let _begun = thread.resume().await.expect("the first turn runs");
    let (mut plain, mut with_tool) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        plain.push(turn(&thread, "say something").await);
        with_tool.push(turn(&thread, "look at it").await);
    }
    [plain, with_tool]
}

/// W16a: a turn of an assistant on a session of 10,000 messages, against one on a session of 100.
pub(crate) fn turn_of_assistant() -> Figure {
    on_worker(async {
        let (mut values, mut baselines, mut tools) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
        for _ in 0..ROUNDS {
            let [short, short_tool] = turns(100).await;
            let [long, long_tool] = turns(10_000).await;
            baselines.push(median(&short));
            values.push(median(&long));
            tools[0].push(median(&short_tool));
            tools[1].push(median(&long_tool));
        }
        let mut extra = Map::new();
        extra.insert("us_with_tool_at_100".into(), round(median(&tools[0])).into());
        extra.insert("us_with_tool_at_10000".into(), round(median(&tools[1])).into());
        Figure {
            unit: "µs/turn",
            values,
            baselines,
            extra,
            target: "turns on 100 messages, ≤ 1.3; ≤ 1,000 µs",
        }
    })
}

/// W18: a session of 10,000 turns with tools is opened in a new process, up to its first request to the model.
pub(crate) fn old_session() -> Figure {
    let folder = TempDir::new().expect("a folder for the file");
    let path = folder.path().join("sessions.db");
    let file = path.clone();
    on_worker(async move {
        let graph = graph(&file, Instantly::default()).await;
        let mut session = Session::open(&graph, "session").await.expect("it opens");
        for n in 0..OLD {
            let message = format!("look at {n}: {}", text("question"));
            let _run = session.ask(message).await.expect("the turn runs");
        }
    });
    let (mut values, mut baselines, mut extra) = (Vec::new(), Vec::new(), Map::new());
    for _ in 0..ROUNDS {
        let figures = fresh::measure("session", &path);
        values.push(fresh::number(&figures, "ms"));
        baselines.push(fresh::number(&figures, "decoding_ms"));
        extra = figures;
    }
    let target = "decoding the state, ≤ 3; ≤ 150 ms, ≤ 200 MB";
    Figure { unit: "ms", values, baselines, extra, target }
}

/// Opens the session of W18 in this process, and asks its model.
pub(crate) fn open_old(path: &Path) -> Map<String, Value> {
    let path = path.to_owned();
    on_worker(async move {
        let model = Instantly::default();
        let begun = Instant::now();
        let graph = graph(&path, model.clone()).await;
        let mut session = Session::open(&graph, "session").await.expect("it opens");
        let run = session.ask("say something").await.expect("the turn runs");
        let asked = model.asked.lock().expect("no call panics").expect("the model was asked");
        let resident = fresh::kib("VmHWM");
        let json = serde_json::to_vec(&*run.state).expect("a state has a JSON form");
        let decoding = Instant::now();
        let decoded: AssistantState = serde_json::from_slice(&json).expect("it is one");
        let decoding = decoding.elapsed();
        let mut figures = Map::new();
        figures.insert("ms".into(), (asked.duration_since(begun).as_secs_f64() * 1e3).into());
        figures.insert("decoding_ms".into(), (decoding.as_secs_f64() * 1e3).into());
        figures.insert("resident_mb".into(), round(resident / 1024.0).into());
        figures.insert("messages".into(), decoded.messages.len().into());
        figures
    })
}

/// W18l: a list of 1,000 sessions, against reading the rows of their heads.
pub(crate) fn list() -> Figure {
    on_worker(async {
        let folder = TempDir::new().expect("a folder for the file");
        let path = folder.path().join("sessions.db");
        let made = graph(&path, Instantly::default()).await;
        for n in 0..SESSIONS {
            let mut session = Session::open(&made, format!("session-{n}")).await.expect("it opens");
            let _run = session.ask(format!("Request {n} of many.")).await.expect("the turn runs");
        }
        drop(made);
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let graph = graph(&path, Instantly::default()).await;
            let begun = Instant::now();
            let listed = SessionSummary::list(&graph).await.expect("it reads");
            values.push(begun.elapsed().as_secs_f64() * 1e3);
            assert_eq!(listed.len(), SESSIONS as usize);
            assert!(listed.iter().all(|session| session.title.is_some() && session.is_finished));
            drop(graph);
            baselines.push(heads(&path));
        }
        Figure {
            unit: "ms", values, baselines, extra: Map::new(), target: "the rows of the heads; ≤ 20 ms"
        }
    })
}

/// Reads the rows of all threads' heads, in milliseconds.
fn heads(path: &Path) -> f64 {
    let connection = Connection::open(path).expect("the file opens");
    let begun = Instant::now();
    let mut rows = connection
        .prepare("SELECT thread.*, checkpoint.* FROM thread JOIN checkpoint ON checkpoint.seq = thread.head")
        .expect("the tables are there");
    let mut rows = rows.query([]).expect("it reads");
    let mut count = 0;
    while rows.next().expect("it reads").is_some() {
        count += 1;
    }
    assert!(count >= SESSIONS);
    begun.elapsed().as_secs_f64() * 1e3
}
