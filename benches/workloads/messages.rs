//! Benchmarks of a long conversation: the cost of adding a message, and of reading the conversation back.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::Map;
use superstep::checkpoint::{At, StepRecord};
use superstep::checkpoint::{CheckpointReader, Durability, SqliteReader, SqliteSaver};
use superstep::inspect::Walk;
use superstep::prelude::*;
use tempfile::TempDir;

use crate::engine::on_worker;
use crate::report::{Figure, median, round};
use crate::storage::{file_bytes, raw_inserts};

/// The number of messages of the conversation.
const MESSAGES: u64 = 2_000;
/// The number of letters of a message; with its other members it is about 500 bytes of JSON.
const LETTERS: usize = 440;

const ROUNDS: usize = 5;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Message {
    id: String,
    role: String,
    text: String,
}

impl Message {
    fn number(number: u64) -> Self {
        let words = format!("message {number} says something that no other message says; ");
        let text = words.chars().cycle().take(LETTERS).collect();
        Self { id: format!("message-{number}"), role: "assistant".into(), text }
    }
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Chat {
    #[reducer(Append)]
    messages: Vec<Message>,
}

/// The times at which the steps began.
type Times = Arc<Mutex<Vec<Instant>>>;

/// The wire that leads to the next message.
#[derive(Clone, Copy)]
enum Wire {
    Edge,
    Route,
    Branch,
}

#[derive(Route, Serialize, Deserialize)]
enum Next {
    Again,
    Done,
}

fn say(times: &Times, chat: &Chat) -> Update<Chat> {
    times.lock().expect("no step panics").push(Instant::now());
    Chat::update().messages([Message::number(chat.messages.len() as u64)])
}

fn chat_graph(times: Times, wire: Wire) -> Graph<Chat> {
    let mut g = StateGraph::<Chat>::new("chat");
    let name = "say";
    match wire {
        Wire::Edge => {
            let say = g.node(name, move |chat: Snapshot<Chat>| std::future::ready(say(&times, &chat)));
            g.edge(START, say);
            g.edge(say, say);
            g.edge(say, END);
        }
        Wire::Route => {
            let say = g.node(name, move |chat: Snapshot<Chat>| {
                std::future::ready((say(&times, &chat), next(chat.messages.len() as u64 + 1)))
            });
            g.edge(START, say);
            g.route(say, move |next| match next {
                Next::Again => to(say),
                Next::Done => END,
            });
        }
        Wire::Branch => {
            let say = g.node(name, move |chat: Snapshot<Chat>| std::future::ready(say(&times, &chat)));
            g.edge(START, say);
            let decide = |chat: &Chat| next(chat.messages.len() as u64);
            g.branch(say, decide, move |next| match next {
                Next::Again => to(say),
                Next::Done => END,
            });
        }
    }
    g.compile().expect("a loop is a sound graph").recursion_limit(MESSAGES)
}

/// Returns the decision after this many messages.
fn next(messages: u64) -> Next {
    if messages < MESSAGES { Next::Again } else { Next::Done }
}

/// Writes the conversation, and returns the times at which its steps began.
async fn converse(path: &Path, wire: Wire) -> Vec<Instant> {
    let saver = SqliteSaver::options().durability(Durability::Process).open(path).await;
    let times = Times::default();
    let graph = chat_graph(Arc::clone(&times), wire).checkpointer(saver.expect("a new file opens"));
    let run = graph.thread("chat").run(Chat::update()).await.expect("the loop runs");
    assert_eq!(run.state.messages.len() as u64, MESSAGES);
    drop(graph);
    std::mem::take(&mut times.lock().expect("no step panics"))
}

/// Returns the bytes of all messages as JSON.
fn raw_bytes() -> u64 {
    let length =
        |number| serde_json::to_string(&Message::number(number)).expect("messages have a JSON form").len();
    (0..MESSAGES).map(|number| length(number) as u64).sum()
}

/// W4: one message per step, against a raw log of the same bytes.
pub(crate) fn by_edge() -> Figure {
    appended(Wire::Edge)
}

/// W4r: W4 with a node that decides on the next step.
pub(crate) fn by_route() -> Figure {
    appended(Wire::Route)
}

/// W4b: W4 with a branch that decides on the state.
pub(crate) fn by_branch() -> Figure {
    appended(Wire::Branch)
}

fn appended(wire: Wire) -> Figure {
    on_worker(async move {
        let (mut values, mut baselines, mut last_over_first) = (Vec::new(), Vec::new(), Vec::new());
        let mut extra = Map::new();
        for _ in 0..ROUNDS {
            let folder = TempDir::new().expect("a folder for the files");
            let path = folder.path().join("chat.db");
            let times = converse(&path, wire).await;
            let between = |from: usize, to: usize| (times[to] - times[from]).as_secs_f64();
            let last = times.len() - 1;
            values.push(between(0, last) * 1_000_000.0 / last as f64);
            last_over_first.push(between(last - 100, last) / between(0, 100));
            let raw = folder.path().join("raw.db");
            baselines.push(raw_inserts(&raw, "NORMAL", raw_bytes() / MESSAGES, MESSAGES));
            let bytes = file_bytes(&path);
            let over = |raw: u64| round(bytes as f64 / raw as f64).into();
            extra.insert("file_over_raw_log".into(), over(file_bytes(&raw)));
            extra.insert("file_over_messages".into(), over(raw_bytes()));
            extra.insert("file_bytes".into(), bytes.into());
        }
        extra.insert("last_over_first".into(), round(median(&last_over_first)).into());
        let target =
            "a raw log of the same bytes, WAL NORMAL, ≤ 3; file ≤ 1.6 x its file; last over first ≤ 1.2";
        Figure { unit: "µs/step", values, baselines, extra, target }
    })
}

/// W7: loading the latest checkpoint of the conversation, against decoding the same bytes.
pub(crate) fn read_back() -> Figure {
    on_worker(async {
        let folder = TempDir::new().expect("a folder for the file");
        let path = folder.path().join("chat.db");
        converse(&path, Wire::Edge).await;
        let saver = SqliteSaver::open(&path).await.expect("the file opens");
        let graph = chat_graph(Times::default(), Wire::Edge).checkpointer(saver);
        let thread = graph.thread("chat");
        let text = serde_json::to_string(thread.head().await.expect("it ran").state()).expect("JSON");
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        let (mut lists, mut selects, mut walks) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..9 {
            let begun = Instant::now();
            let decoded: Chat = serde_json::from_str(&text).expect("it was encoded");
            baselines.push(begun.elapsed().as_secs_f64() * 1_000.0);
            assert_eq!(decoded.messages.len() as u64, MESSAGES);
            let begun = Instant::now();
            let head = thread.head().await.expect("it ran");
            values.push(begun.elapsed().as_secs_f64() * 1_000.0);
            assert_eq!(head.state().messages.len() as u64, MESSAGES);
            let begun = Instant::now();
            let lines = thread.history().expect("it has a saver").collect().await.expect("it reads").len();
            lists.push(begun.elapsed().as_secs_f64() * 1_000.0);
            assert_eq!(lines as u64, MESSAGES + 2);
            selects.push(selected(&path));
            walks.push(walked(&path));
        }
        let mut extra = Map::new();
        extra.insert("list_ms".into(), round(median(&lists)).into());
        extra.insert("select_ms".into(), round(median(&selects)).into());
        extra.insert("walk_ms".into(), round(median(&walks)).into());
        let target = "decoding the same bytes, ≤ 2; list ≤ 3 ms, walk ≤ 100 ms";
        Figure { unit: "ms", values, baselines, extra, target }
    })
}

/// Returns the time of a bare query for the rows of all checkpoints, in milliseconds.
fn selected(path: &Path) -> f64 {
    let file = Connection::open(path).expect("the file opens");
    let begun = Instant::now();
    let mut rows =
        file.prepare("SELECT seq, id, manifest FROM checkpoint ORDER BY seq DESC").expect("a query");
    let rows = rows.query_map([], |row| row.get::<_, String>(2)).expect("it runs");
    assert_eq!(rows.filter_map(Result::ok).count() as u64, MESSAGES + 2);
    begun.elapsed().as_secs_f64() * 1_000.0
}

/// Returns the time of reading all states in turn, in milliseconds.
fn walked(path: &Path) -> f64 {
    let reader = SqliteReader::open(path).expect("the file opens");
    let begun = Instant::now();
    let steps: Vec<StepRecord> = reader.steps(&"chat".into(), &At::Head, usize::MAX).expect("it reads");
    let mut walk = Walk::under(Arc::clone(&steps[0].schema));
    for step in steps.iter().rev() {
        walk.step(step).expect("what is stored fits");
    }
    assert_eq!(walk.state()["messages"].as_array().map(Vec::len), Some(MESSAGES as usize));
    begun.elapsed().as_secs_f64() * 1_000.0
}
