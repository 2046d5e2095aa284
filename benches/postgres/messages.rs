//! A long conversation: the size of its rows, and the time to read it.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::Map;
use superstep::prelude::*;

use crate::cluster::Cluster;
use crate::database::{block_on, connect, ms_since, saver};
use crate::raw::Raw;
use crate::report::{Figure, median, round};

const ROUNDS: usize = 5;
const MESSAGES: u64 = 2_000;
/// The number of letters of a message; with its other members it is about 500 bytes of JSON.
const LETTERS: usize = 440;

/// The bytes of the tables with the steps, with their indexes.
const BYTES: &str = "SELECT sum(pg_total_relation_size('@.' || name))::bigint
    FROM unnest(ARRAY['checkpoint', 'change', 'thread']) AS name";

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Message {
    id: String,
    role: String,
    text: String,
}

impl Message {
    fn number(number: usize) -> Self {
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

fn graph(times: Times) -> Graph<Chat> {
    let mut g = StateGraph::<Chat>::new("chat");
    let say = g.node("say", move |chat: Snapshot<Chat>| {
        times.lock().expect("no step panics").push(Instant::now());
        std::future::ready(Chat::update().messages([Message::number(chat.messages.len())]))
    });
    g.edge(START, say);
    g.edge(say, say);
    g.edge(say, END);
    g.compile().expect("a loop is a sound graph").recursion_limit(MESSAGES)
}

/// D6: a message of some 500 bytes a step, 2,000 steps.
pub(crate) fn messages(cluster: Arc<Cluster>) -> Figure {
    let url = cluster.url("superstep");
    block_on(async move {
        let raw_bytes: usize = (0..MESSAGES as usize)
            .map(|number| serde_json::to_string(&Message::number(number)).expect("it has a JSON form").len())
            .sum();
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        let (mut growth, mut heads, mut openings, mut bytes) = (Vec::new(), Vec::new(), Vec::new(), 0);
        let client = connect(&url).await;
        for round in 0..ROUNDS {
            let schema = format!("messages_{round}");
            let times = Times::default();
            let chat = graph(Arc::clone(&times)).checkpointer(saver(&url, &schema, 16).await);
            let run = chat.thread("chat").run(Chat::update()).await.expect("the loop runs");
            assert_eq!(run.state.messages.len() as u64, MESSAGES);
            let times = std::mem::take(&mut *times.lock().expect("no step panics"));
            let between = |from: usize, to: usize| (times[to] - times[from]).as_secs_f64() * 1e3;
            let last = times.len() - 1;
            values.push(between(0, last) / last as f64);
            growth.push(between(last - 100, last) / between(0, 100));
            let query = BYTES.replace('@', &schema);
            bytes = client.query_one(&query, &[]).await.expect("a sound query").get::<_, i64>(0);
            let mut raw = Raw::open(&url, 1, raw_bytes / MESSAGES as usize + 50).await.pop().expect("one");
            baselines.push(raw.steps(MESSAGES).await / MESSAGES as f64);
            let begun = Instant::now();
            let cold = graph(Times::default()).checkpointer(saver(&url, &schema, 16).await);
            openings.push(ms_since(begun));
            let begun = Instant::now();
            let head = cold.thread("chat").head().await.expect("it ran");
            heads.push(ms_since(begun));
            assert_eq!(head.state().messages.len() as u64, MESSAGES);
        }
        let mut extra = Map::new();
        extra.insert("cold_head_ms".into(), round(median(&heads)).into());
        extra.insert("opening_ms".into(), round(median(&openings)).into());
        extra.insert("bytes_over_messages".into(), round(bytes as f64 / raw_bytes as f64).into());
        extra.insert("last_over_first".into(), round(median(&growth)).into());
        let target = "the raw statement with the message; tables ≤ 3 x the messages, last over first ≤ 1.2, head ≤ 10 ms";
        Figure { unit: "ms/step", values, baselines, extra, target }
    })
}
