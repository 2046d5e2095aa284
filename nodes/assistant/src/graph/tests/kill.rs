//! `kill -9` of a session of more than 60 supersteps: at each commit, in each model call, around each call of a tool,
//! and inside a command. Each time the program is started again on the same files. In the end it has the files, the
//! messages and all counters of a session that was not disturbed.
//!
//! The program is this test itself, started again with an [`Order`] in its environment.
#![cfg(target_os = "linux")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_checkpoint::SqliteSaver;
use superstep_core::run::{EventKind, RunError, RunEvent, Status, Thread};
use superstep_nodes::message::unanswered_tool_calls;
use superstep_nodes::model::Usage;
use superstep_tools::{Bash, Sandbox, Workspace};

use super::*;
use crate::snapshot::tests::{Files, read, scratch};
use crate::snapshot::{SnapshotOptions, Snapshots};
use crate::{CutOffAnswer, CutOffCall};

/// Holds the order, as JSON.
const ORDER: &str = "SUPERSTEP_KILL_ORDER";

/// The number of turns with tools.
const ROUNDS: usize = 14;

/// The turn whose reply is cut off twice by its output limit.
const CUT_OFF: usize = 6;

/// The order for the program: work on the session to its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Order {
    dir: PathBuf,
    kill: Kill,
    journal: Journal,
}

/// The points at which the program kills itself, each time that it reaches a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kill {
    Never,
    /// After a commit.
    Commit,
    /// While a model answers.
    Model,
    /// When a tool begins, and when it has ended and its result is not recorded yet.
    Tool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Journal {
    Kept,
    /// A mutant: a program that starts knows nothing of effects.
    Lost,
}

impl Order {
    fn folder(&self) -> PathBuf {
        self.dir.join("folder")
    }

    fn data(&self, name: &str) -> PathBuf {
        self.dir.join("data").join(name)
    }

    fn lines(&self, name: &str) -> Vec<String> {
        fs::read_to_string(self.data(name)).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn note(&self, name: &str, line: &str) {
        let mut file = OpenOptions::new().append(true).create(true).open(self.data(name)).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Ends the program at a point, the first time that it is reached.
    fn reach(&self, kind: Kill, point: impl std::fmt::Display) {
        let point = point.to_string();
        if self.kill == kind && !self.lines("reached").contains(&point) {
            self.note("reached", &point);
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
            std::thread::park();
        }
    }
}

/// A model whose replies depend on the request only.
struct Script(Order);

impl Script {
    fn reply(&self, request: &ModelRequest) -> ModelReply {
        let asked = |message: &&Message| !message.tool_calls().is_empty();
        let round = request.messages.iter().filter(asked).count();
        let resumes =
            request.messages.last().is_some_and(|last| last.text().starts_with("Your reply was cut off"));
        if round == CUT_OFF && !resumes {
            return ModelReply { stop: StopReason::MaxTokens, ..ModelReply::new("m", "a part") };
        }
        let calls = calls(round)
            .into_iter()
            .enumerate()
            .map(|(at, (tool, input))| ToolCall::new(format!("c{round}.{at}"), tool, input));
        let text = if round < ROUNDS { "Next." } else { "Done." };
        ModelReply::new("m", text).with_calls(calls.collect()).with_usage(Usage::of(100, 10))
    }
}

/// Returns the calls of a turn.
fn calls(round: usize) -> Vec<(&'static str, Value)> {
    let path = format!("{}.txt", round / 4);
    match round % 4 {
        _ if round >= ROUNDS => vec![],
        0 => vec![("write_file", json!({ "path": path, "content": "one\ntwo\nthree\n" }))],
        1 => vec![("read_file", json!({ "path": path })), ("glob", json!({ "pattern": "*.txt" }))],
        2 => vec![
            ("edit_file", json!({ "path": path, "old": "one", "new": "1" })),
            ("edit_file", json!({ "path": path, "old": "three", "new": "3" })),
        ],
        _ => {
            let waits = "if [ -p gate ]; then read line < gate; fi";
            let command = format!("echo begin {round} >> ran; {waits}; echo end {round} >> ran");
            vec![("bash", json!({ "command": command })), ("read_file", json!({ "path": path }))]
        }
    }
}

impl ChatModel for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        if !unanswered_tool_calls(&request.messages).is_empty() {
            return stream::iter([Err(ModelError::InvalidRequest { reason: reason() })]).boxed();
        }
        let (order, point) = (self.0.clone(), format!("{:?} {}", request.settings, request.messages.len()));
        let events = self.reply(&request).to_events().into_iter().map(Ok);
        stream::iter(events)
            .inspect(move |event| {
                if matches!(event, Ok(ModelEvent::TextDelta { .. })) {
                    order.reach(Kill::Model, &point);
                }
            })
            .boxed()
    }
}

/// The program: it executes the order in its environment, and does nothing without one.
#[test]
fn the_program() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let order: Order = serde_json::from_str(&order).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(obey(order));
}

async fn obey(order: Order) {
    let options = SnapshotOptions::new(order.data("snapshots.sqlite"));
    let snapshots = Snapshots::open(&order.folder(), options).unwrap();
    let workspace = Workspace::of_session();
    let bash = Bash::new(workspace.clone()).sandbox(Sandbox::WhereThereIsOne);
    let config = AssistantConfig::new(Script(order.clone()))
        .tools(superstep_tools::workspace(workspace).with(bash).unwrap())
        .permissions(allowing(["bash", "write_file", "edit_file"]))
        .workspace(order.folder())
        .snapshots(snapshots.clone());
    if order.journal == Journal::Lost && order.data("session.sqlite").exists() {
        let file = rusqlite::Connection::open(order.data("session.sqlite")).unwrap();
        file.execute("delete from effect", []).unwrap();
    }
    let saver = SqliteSaver::options().durability(superstep_checkpoint::Durability::Process);
    let saver = saver.open(order.data("session.sqlite")).await.unwrap();
    let graph = assistant(config).unwrap().checkpointer(saver);
    let points = order.clone();
    let graph = graph.observe(move |event: &RunEvent| match &event.kind {
        EventKind::CheckpointSaved { step, .. } => points.reach(Kill::Commit, step),
        EventKind::Custom { name, data, .. } if name == "tool" => points.reach(Kill::Tool, data),
        _ => {}
    });
    let session = graph.thread("session");
    let mut run = match session.resume().await {
        Err(RunError::NothingToResume { .. }) => session.run(AssistantState::ask("Do it.")).await.unwrap(),
        resumed => resumed.unwrap(),
    };
    while let Status::Interrupted { interrupts } = &run.status {
        let shown = CutOffCall::of(&session, &interrupts[0], Some(&snapshots)).await.unwrap().unwrap();
        order.note("asked", &shown.call.id);
        let ran = fs::read_to_string(order.folder().join("ran")).unwrap_or_default();
        let begun = shown.call.input["command"].as_str().unwrap().split(['o', '>']).nth(1).unwrap();
        let answer = match ran.contains(begun.trim()) {
            true => CutOffAnswer::Happened { note: String::new() },
            false => CutOffAnswer::RunAgain,
        };
        assert_eq!(shown.changed.as_ref().unwrap().is_empty(), answer == CutOffAnswer::RunAgain);
        run = session.answer_to(interrupts[0].id, shown.answer(&answer)).await.unwrap();
    }
    assert_eq!(run.status, Status::Finished);
    fs::write(order.data("end"), serde_json::to_vec(&states(&session).await).unwrap()).unwrap();
}

/// Returns the state after each superstep.
async fn states(session: &Thread<AssistantState>) -> Vec<Value> {
    let mut states = Vec::new();
    for summary in session.history().unwrap().collect().await.unwrap() {
        let past = session.at(summary.id).await.unwrap();
        states.push(serde_json::to_value(past.state()).unwrap());
    }
    states.reverse();
    states
}

/// A session that has come to its end.
struct Lived {
    starts: usize,
    asked: Vec<String>,
    states: Vec<Value>,
    files: Files,
}

fn order(dir: &Path, kill: Kill, journal: Journal) -> Order {
    fs::create_dir(dir.join("folder")).unwrap();
    fs::create_dir(dir.join("data")).unwrap();
    Order { dir: dir.to_owned(), kill, journal }
}

fn program(order: &Order) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let name = concat!(module_path!(), "::the_program").split_once("::").unwrap().1;
    command.args(["--exact", name, "--nocapture"]).env(ORDER, serde_json::to_string(order).unwrap());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts the program again and again until it ends by itself.
fn live(order: &Order) -> Lived {
    for starts in 1.. {
        let Output { status, stdout, stderr } = program(order).output().unwrap();
        if status.signal() == Some(9) {
            continue;
        }
        let printed = || [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(status.success(), "{status}: {}", printed());
        let states = fs::read(order.data("end")).unwrap();
        return Lived {
            starts,
            asked: order.lines("asked"),
            states: serde_json::from_slice(&states).unwrap(),
            files: read(&order.folder()),
        };
    }
    unreachable!("it ends at some time")
}

fn session(kill: Kill, journal: Journal) -> Lived {
    let dir = scratch();
    live(&order(dir.path(), kill, journal))
}

/// Leaves out of states what may differ: durations, and the answers to calls about which was asked.
fn comparable(value: &Value, asked: &[String]) -> Value {
    match value {
        Value::Object(fields) => {
            let is_asked = fields.get("tool_call_id").is_some_and(|id| asked.iter().any(|asked| id == asked));
            // A file that was written before the kill had its content already.
            let is_write = fields.get("name").is_some_and(|name| name == "write_file");
            let kept = |key: &str| match key {
                "elapsed_ms" => false,
                "content" | "data" => !is_asked && !is_write,
                "status" => !is_asked,
                _ => true,
            };
            let fields = fields.iter().filter(|(key, _)| kept(key));
            Value::Object(fields.map(|(key, value)| (key.clone(), comparable(value, asked))).collect())
        }
        Value::Array(items) => items.iter().map(|item| comparable(item, asked)).collect(),
        value => value.clone(),
    }
}

impl Lived {
    /// Compares with a session that was not disturbed; returns the first difference.
    fn check(&self, whole: &Self) -> Result<(), String> {
        if self.files != whole.files {
            return Err(format!("files: {:?} instead of {:?}", self.files, whole.files));
        }
        for (step, (state, expected)) in self.states.iter().zip(&whole.states).enumerate() {
            let (state, expected) = (comparable(state, &self.asked), comparable(expected, &self.asked));
            let fields = expected.as_object().unwrap().iter();
            if let Some((field, expected)) =
                fields.into_iter().find(|(field, value)| state[field.as_str()] != **value)
            {
                return Err(format!("step {step}, {field}: {} instead of {expected}", state[field.as_str()]));
            }
        }
        let (steps, expected) = (self.states.len(), whole.states.len());
        if steps == expected { Ok(()) } else { Err(format!("{steps} supersteps instead of {expected}")) }
    }
}

#[test]
fn s2_023_162_a_session_that_is_killed_at_every_commit_and_in_every_model_call_has_all_counters_in_the_end() {
    let whole = session(Kill::Never, Journal::Kept);
    assert!(whole.states.len() > 60, "{}", whole.states.len());
    let end = whole.states.last().unwrap();
    assert_eq!((&end["exit"], &end["turn_count"]), (&json!("completed"), &json!(ROUNDS + 1)));
    assert!(whole.states.iter().any(|state| state["recovery"]["resumed"] == 1));
    for (kill, least) in [(Kill::Commit, 60), (Kill::Model, ROUNDS)] {
        let lived = session(kill, Journal::Kept);
        assert!(lived.starts > least && lived.asked.is_empty(), "{kill:?}: {} starts", lived.starts);
        lived.check(&whole).unwrap_or_else(|difference| panic!("{kill:?}: {difference}"));
    }
}

#[test]
fn a_session_that_is_killed_around_every_tool_repeats_no_command_and_asks_about_each() {
    let whole = session(Kill::Never, Journal::Kept);
    let lived = session(Kill::Tool, Journal::Kept);
    let commands = (0..ROUNDS).filter(|round| round % 4 == 3).map(|round| format!("c{round}.0"));
    let twice: Vec<_> = commands.flat_map(|call| [call.clone(), call]).collect();
    assert_eq!(lived.asked, twice, "when it began, and when it had ended");
    assert!(lived.starts > 2 * ROUNDS, "{}", lived.starts);
    lived.check(&whole).unwrap_or_else(|difference| panic!("{difference}"));
}

/// The mutant loses its effects: commands run twice.
#[test]
fn a_session_without_a_journal_is_found_out() {
    let whole = session(Kill::Never, Journal::Kept);
    let difference = session(Kill::Tool, Journal::Lost).check(&whole).unwrap_err();
    assert!(difference.starts_with("files: "), "{difference}");
}

#[test]
fn a_session_that_is_killed_inside_a_command_asks_and_does_not_run_it_again() {
    let dir = scratch();
    let order = order(dir.path(), Kill::Never, Journal::Kept);
    let gate = order.folder().join("gate");
    assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let mut child = program(&order).spawn().unwrap();
    // It opens once the command reads from it.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let opened = loop {
        assert!(child.try_wait().unwrap().is_none(), "it ended before its command began");
        match OpenOptions::new().write(true).custom_flags(flags).open(&gate) {
            Ok(opened) => break opened,
            Err(_) => std::thread::yield_now(),
        }
    };
    child.kill().unwrap();
    child.wait().unwrap();
    drop(opened);
    fs::remove_file(&gate).unwrap();
    let lived = live(&order);
    assert_eq!(lived.asked, ["c3.0"]);
    let ran = fs::read_to_string(order.folder().join("ran")).unwrap();
    assert_eq!(ran.lines().filter(|line| *line == "begin 3").count(), 1, "{ran}");
    assert_eq!(lived.states.last().unwrap()["exit"], "completed");
}
