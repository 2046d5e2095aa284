//! Benchmarks of a long conversation: the cost of adding a message, and of reading the conversation back.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use superstep::checkpoint::{At, StepRecord};
use superstep::checkpoint::{CheckpointReader, Durability, SqliteReader, SqliteSaver};
use superstep::inspect::Walk;
use superstep::prelude::*;
use tempfile::TempDir;
use twox_hash::XxHash3_64;

use crate::engine::{Next, Wire, next, on_worker};
use crate::floor::{Ledger, Loop};
use crate::fresh;
use crate::report::{Figure, median, round};
use crate::storage::{file_bytes, raw_inserts};

/// The number of messages of the conversation.
const MESSAGES: u64 = 2_000;
/// The number of letters of a message; with its other members it is about 500 bytes of JSON.
const LETTERS: usize = 440;

const ROUNDS: usize = 5;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Message {
    id: String,
    role: String,
    text: String,
}

impl Message {
    pub(crate) fn number(number: u64) -> Self {
        let words = format!("message {number} says something that no other message says; ");
        let text = words.chars().cycle().take(LETTERS).collect();
        Self { id: format!("message-{number}"), role: "assistant".into(), text }
    }
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Chat {
    #[reducer(Append)]
    pub(crate) messages: Vec<Message>,
}

/// The times at which the steps began.
type Times = Arc<Mutex<Vec<Instant>>>;

fn say(times: &Times, chat: &Chat) -> Update<Chat> {
    times.lock().expect("no step panics").push(Instant::now());
    Chat::update().messages([Message::number(chat.messages.len() as u64)])
}

fn chat_graph(times: Times, wire: Wire, messages: u64) -> Graph<Chat> {
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
                std::future::ready((say(&times, &chat), next(chat.messages.len() as u64 + 1, messages)))
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
            let decide = move |chat: &Chat| next(chat.messages.len() as u64, messages);
            g.branch(say, decide, move |next| match next {
                Next::Again => to(say),
                Next::Done => END,
            });
        }
    }
    g.compile().expect("a loop is a sound graph").recursion_limit(messages)
}

/// Writes a conversation of this many messages, and returns the times at which its steps began.
pub(crate) async fn converse(path: &Path, wire: Wire, messages: u64) -> Vec<Instant> {
    let saver = SqliteSaver::options().durability(Durability::Process).open(path).await;
    let times = Times::default();
    let graph = chat_graph(Arc::clone(&times), wire, messages).checkpointer(saver.expect("a new file opens"));
    let run = graph.thread("chat").run(Chat::update()).await.expect("the loop runs");
    assert_eq!(run.state.messages.len() as u64, messages);
    drop(graph);
    std::mem::take(&mut times.lock().expect("no step panics"))
}

/// Returns the bytes of all messages as JSON.
fn raw_bytes() -> u64 {
    (0..MESSAGES).map(|number| json(&Message::number(number)).len() as u64).sum()
}

fn json(message: &Message) -> String {
    serde_json::to_string(message).expect("messages have a JSON form")
}

/// The conversation by hand, with a message and the head in a transaction for each step, in microseconds.
async fn by_hand(path: &Path) -> f64 {
    let ledger = Ledger::create(path, "NORMAL");
    let chat = Loop::new(|chat: &mut Chat, message| chat.messages.push(message)).node(
        |chat: Arc<Chat>| std::future::ready(Ok(vec![Message::number(chat.messages.len() as u64)])),
        |chat| if (chat.messages.len() as u64) < MESSAGES { vec![0] } else { Vec::new() },
    );
    let mut head = None;
    let commit = move |messages: &[Vec<Message>]| {
        ledger.commit(&mut head, &serde_json::to_string(messages).expect("messages have a JSON form"));
    };
    let begun = Instant::now();
    let chat = chat.run(Chat::default(), MESSAGES, commit).await;
    assert_eq!(chat.messages.len() as u64, MESSAGES);
    begun.elapsed().as_secs_f64() * 1_000_000.0 / MESSAGES as f64
}

/// W4: a message a step, against the same by hand, and a raw log of the same bytes.
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
        let mut logs = Vec::new();
        let mut extra = Map::new();
        for _ in 0..ROUNDS {
            let folder = TempDir::new().expect("a folder for the files");
            let path = folder.path().join("chat.db");
            let times = converse(&path, wire, MESSAGES).await;
            let between = |from: usize, to: usize| (times[to] - times[from]).as_secs_f64();
            let last = times.len() - 1;
            values.push(between(0, last) * 1_000_000.0 / last as f64);
            last_over_first.push(between(last - 100, last) / between(0, 100));
            let raw = folder.path().join("raw.db");
            baselines.push(by_hand(&folder.path().join("hand.db")).await);
            logs.push(raw_inserts(&raw, "NORMAL", raw_bytes() / MESSAGES, MESSAGES));
            let bytes = file_bytes(&path);
            let over = |raw: u64| round(bytes as f64 / raw as f64).into();
            extra.insert("file_over_raw_log".into(), over(file_bytes(&raw)));
            extra.insert("file_over_messages".into(), over(raw_bytes()));
            extra.insert("file_bytes".into(), bytes.into());
        }
        extra.insert("last_over_first".into(), round(median(&last_over_first)).into());
        extra.insert("raw_log_us".into(), round(median(&logs)).into());
        let to_log: Vec<f64> = values.iter().zip(&logs).map(|(value, log)| value / log).collect();
        extra.insert("ratio_to_raw_log".into(), round(median(&to_log)).into());
        let target = "a checkpoint and a head by hand, ≤ 1.6; a raw log ≤ 3, file ≤ 1.6 x its file; last over first ≤ 1.2";
        Figure { unit: "µs/step", values, baselines, extra, target }
    })
}

/// Messages in a row of the file written by hand.
const ROW: usize = 64;

/// Writes the messages into rows of their own, with checksums.
fn write_rows(path: &Path) {
    let file = Connection::open(path).expect("a new file opens");
    file.pragma_update(None, "journal_mode", "WAL").expect("WAL is available");
    file.execute_batch("CREATE TABLE row(id INTEGER PRIMARY KEY, sum INTEGER, text TEXT)")
        .expect("a new table");
    let numbers: Vec<u64> = (0..MESSAGES).collect();
    for row in numbers.chunks(ROW) {
        let messages: Vec<String> = row.iter().map(|number| json(&Message::number(*number))).collect();
        let text = messages.join(",");
        let sum = XxHash3_64::oneshot(text.as_bytes()).cast_signed();
        file.execute("INSERT INTO row(sum, text) VALUES(?1, ?2)", params![sum, text]).expect("it inserts");
    }
}

/// Reads them by hand: the rows, their checksums, one copy, decoding.
pub(crate) fn first_head_by_hand(path: &Path) -> Map<String, Value> {
    let file = Connection::open(path).expect("the file opens");
    let begun = Instant::now();
    let mut text = String::from("[");
    let mut query = file.prepare("SELECT sum, text FROM row ORDER BY id").expect("a sound query");
    let mut rows = query.query([]).expect("it runs");
    while let Some(row) = rows.next().expect("it reads") {
        let part = row.get_ref(1).expect("a column").as_str().expect("a text");
        let sum: i64 = row.get(0).expect("a column");
        assert_eq!(sum, XxHash3_64::oneshot(part.as_bytes()).cast_signed(), "the row is what was written");
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(part);
    }
    text.push(']');
    let chat = Chat { messages: serde_json::from_str(&text).expect("it was encoded") };
    let taken = begun.elapsed().as_secs_f64() * 1_000.0;
    assert_eq!(chat.messages.len() as u64, MESSAGES);
    Map::from_iter([("ms".to_owned(), taken.into())])
}

/// Loads the head of the conversation, as the first thing that is done with the file.
pub(crate) fn first_head(path: &Path) -> Map<String, Value> {
    let path = path.to_owned();
    on_worker(async move {
        let begun = Instant::now();
        let saver = SqliteSaver::open(&path).await.expect("the file opens");
        let graph = chat_graph(Times::default(), Wire::Edge, MESSAGES).checkpointer(saver);
        let opened = begun.elapsed().as_secs_f64() * 1_000.0;
        let begun = Instant::now();
        let head = graph.thread("chat").head().await.expect("it ran");
        let taken = begun.elapsed().as_secs_f64() * 1_000.0;
        assert_eq!(head.state().messages.len() as u64, MESSAGES);
        Map::from_iter([("ms".to_owned(), taken.into()), ("open_ms".to_owned(), opened.into())])
    })
}

/// W7: loading the head of the conversation in a new process, against the same by hand.
pub(crate) fn read_back() -> Figure {
    on_worker(async {
        let folder = TempDir::new().expect("a folder for the file");
        let path = folder.path().join("chat.db");
        converse(&path, Wire::Edge, MESSAGES).await;
        let by_hand = folder.path().join("hand.db");
        write_rows(&by_hand);
        let saver = SqliteSaver::open(&path).await.expect("the file opens");
        let graph = chat_graph(Times::default(), Wire::Edge, MESSAGES).checkpointer(saver);
        let thread = graph.thread("chat");
        let text = serde_json::to_string(thread.head().await.expect("it ran").state()).expect("JSON");
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        let (mut heads, mut decodes) = (Vec::new(), Vec::new());
        let (mut lists, mut selects, mut walks) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..9 {
            baselines.push(fresh::number(&fresh::measure("head by hand", &by_hand), "ms"));
            values.push(fresh::number(&fresh::measure("head", &path), "ms"));
            let begun = Instant::now();
            let decoded: Chat = serde_json::from_str(&text).expect("it was encoded");
            decodes.push(begun.elapsed().as_secs_f64() * 1_000.0);
            assert_eq!(decoded.messages.len() as u64, MESSAGES);
            let begun = Instant::now();
            let head = thread.head().await.expect("it ran");
            heads.push(begun.elapsed().as_secs_f64() * 1_000.0);
            assert_eq!(head.state().messages.len() as u64, MESSAGES);
            let begun = Instant::now();
            let lines = thread.history().expect("it has a saver").collect().await.expect("it reads").len();
            lists.push(begun.elapsed().as_secs_f64() * 1_000.0);
            assert_eq!(lines as u64, MESSAGES + 2);
            selects.push(selected(&path));
            walks.push(walked(&path));
        }
        let mut extra = Map::new();
        extra.insert("head_again_ms".into(), round(median(&heads)).into());
        extra.insert("decode_ms".into(), round(median(&decodes)).into());
        extra.insert("list_ms".into(), round(median(&lists)).into());
        let to_select: Vec<f64> = lists.iter().zip(&selects).map(|(list, select)| list / select).collect();
        extra.insert("list_over_select".into(), round(median(&to_select)).into());
        extra.insert("select_ms".into(), round(median(&selects)).into());
        extra.insert("walk_ms".into(), round(median(&walks)).into());
        let target =
            "rows, checksums, a copy and decoding by hand, ≤ 1.7; list ≤ 2 x the SELECT, walk ≤ 100 ms";
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
