//! Benchmarks of the assistant's sessions: the cost of a turn, of opening an old session, of a list, and of a long
//! result.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures_util::stream::{self, BoxStream, StreamExt};
use rusqlite::Connection;
use serde_json::{Map, Value, json};
use superstep::checkpoint::{Durability, SqliteSaver};
use superstep::nodes::assistant::permission::{
    Decision, Layer, Permissions, RuleKind, RulePlace, RuleSource, Verdict,
};
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
const OLD: usize = 10_000;
/// Turns of that session that are written at once.
const AT_ONCE: usize = 20;
const SESSIONS: u32 = 1_000;
const ROUNDS: usize = 3;
/// The number of letters of a message.
const LETTERS: usize = 440;

/// A model that answers at once, after one call of a tool where the message of the user asks for it. It notes when it
/// was asked first.
#[derive(Clone)]
pub(crate) struct Instantly {
    asked: Arc<Mutex<Option<Instant>>>,
    call: ToolCall,
}

impl Instantly {
    pub(crate) fn calling(tool: &str, input: Value) -> Self {
        Self { asked: Arc::default(), call: ToolCall::new("c", tool, input) }
    }
}

impl Default for Instantly {
    fn default() -> Self {
        Self::calling("look", json!({}))
    }
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
            true => ModelReply::new("instantly", "").with_calls(vec![self.call.clone()]),
            false => ModelReply::new("instantly", text("answer")),
        };
        stream::iter(reply.to_events().into_iter().map(Ok)).boxed()
    }
}

fn text(kind: &str) -> String {
    format!("{kind} that says something; ").chars().cycle().take(LETTERS).collect()
}

/// Opens the file with an assistant whose tool answers at once.
pub(crate) async fn graph(path: &Path, model: Instantly) -> Graph<AssistantState> {
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

/// Adds the messages and decisions of turns with a tool to a session, and takes a turn.
async fn add_turns(thread: &Thread<AssistantState>, turns: std::ops::Range<usize>) {
    let messages = turns.clone().flat_map(|n| {
        let call = ToolCall::new(format!("c{n}"), "look", json!({}));
        [
            Message::human(format!("q{n}"), format!("look at {n}: {}", text("question"))),
            Message::ai_with_calls(format!("w{n}"), "", vec![call.clone()]),
            Message::tool(format!("t{n}"), &call, text("result")),
            Message::ai(format!("a{n}"), text("answer")),
        ]
    });
    let decisions = turns.map(|n| Decision {
        call: format!("c{n}"),
        tool: "look".to_owned(),
        layer: Layer::Rules,
        rules: vec![RulePlace::new("look".parse().expect("a sound rule"), RuleSource::User)],
        verdict: Verdict::Allow,
        reason: "allowed by look".to_owned(),
    });
    let update = AssistantState::ask("look at it").messages(messages.collect::<Vec<_>>());
    let update = update.decisions(decisions.collect::<Vec<_>>());
    let _stored = thread.input(update).await.expect("it is stored");
    let run = thread.resume().await.expect("the turn runs");
    assert!(run.state.exit.is_some(), "it has ended");
}

/// W18: a session of 10,000 turns with tools is opened in a new process, up to its first request to the model.
pub(crate) fn old_session() -> Figure {
    let folder = TempDir::new().expect("a folder for the file");
    let path = folder.path().join("sessions.db");
    let file = path.clone();
    on_worker(async move {
        let graph = graph(&file, Instantly::default()).await;
        let thread = graph.thread("session");
        for n in (0..OLD).step_by(AT_ONCE) {
            add_turns(&thread, n..n + AT_ONCE).await;
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

/// The bytes that the command of W18m prints.
#[cfg(all(feature = "tools-shell", unix))]
const OUTPUT: usize = 100_000_000;

/// W18m: a command that prints 100 MB, in a process of its own, against one that prints nothing.
#[cfg(all(feature = "tools-shell", unix))]
pub(crate) fn long_result() -> Figure {
    let (mut values, mut baselines, mut extra) = (Vec::new(), Vec::new(), Map::new());
    for _ in 0..ROUNDS {
        let folder = TempDir::new().expect("a folder for the files");
        baselines.push(fresh::number(&fresh::measure("no result", folder.path()), "grown_mb"));
        let folder = TempDir::new().expect("a folder for the files");
        extra = fresh::measure("long result", folder.path());
        values.push(fresh::number(&extra, "grown_mb"));
    }
    let target = "growth without output; ≤ 50 MB";
    Figure { unit: "MB", values, baselines, extra, target }
}

/// Runs a command that prints 100 MB, and reads its output from the workspace.
#[cfg(all(feature = "tools-shell", unix))]
pub(crate) fn run_long(folder: &Path) -> Map<String, Value> {
    let mut figures = run_command(folder, &format!("yes line | head -c {OUTPUT}"));
    let stored = std::fs::read_dir(folder.join(".superstep/blobs")).expect("the folder for long results");
    let text = |file: &Path| file.extension().is_some_and(|extension| extension == "txt");
    let mut files = stored.map(|entry| entry.expect("it reads").path()).filter(|path| text(path));
    let file = files.next().expect("the output is stored");
    let whole = std::fs::read(file).expect("it reads");
    assert!(whole.len() == OUTPUT && whole.chunks(5).all(|line| line == b"line\n"), "all of it is stored");
    figures.insert("stored_bytes".into(), whole.len().into());
    figures
}

/// Runs a command that prints nothing.
#[cfg(all(feature = "tools-shell", unix))]
pub(crate) fn run_silent(folder: &Path) -> Map<String, Value> {
    run_command(folder, "true")
}

/// Takes a turn with a command, and returns the growth of the resident memory in MB: of its maximum since the turn.
#[cfg(all(feature = "tools-shell", unix))]
fn run_command(folder: &Path, command: &str) -> Map<String, Value> {
    use superstep::nodes::tools::{Bash, Workspace};
    let (folder, input) = (folder.to_owned(), json!({ "command": command }));
    on_worker(async move {
        let bash = Bash::new(Workspace::at(&folder).expect("a folder"));
        let allow = RulePlace::new("bash".parse().expect("a sound rule"), RuleSource::User);
        let config = AssistantConfig::new(Instantly::calling("bash", input))
            .tools(ToolRegistry::new().with(bash).expect("a sound tool"))
            .workspace(&folder)
            .permissions(Permissions::new().rule(RuleKind::Allow, allow));
        let saver = SqliteSaver::open(folder.join("sessions.db")).await.expect("the file opens");
        let graph = assistant(config).expect("a sound graph").checkpointer(saver);
        let before = fresh::kib("VmRSS");
        let run = graph.thread("session").run(AssistantState::ask("look at it")).await.expect("it runs");
        let grown = (fresh::kib("VmHWM") - before) / 1024.0;
        let is_ok = |message: &Message| match message {
            Message::Tool(answer) => answer.status == superstep::nodes::message::ToolStatus::Ok,
            _ => false,
        };
        assert!(run.state.messages.iter().any(is_ok), "{:?}", run.state.messages);
        Map::from_iter([("grown_mb".to_owned(), round(grown).into())])
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
