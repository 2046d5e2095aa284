//! The server that is measured: its graphs, and its process.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
use superstep::checkpoint::{Checkpointer, SqliteSaver};
use superstep::prelude::*;

use crate::client::ms_since;

/// The first argument of the server's process.
pub(crate) const WORD: &str = "--serve";

/// The chunks that a node of the graph `chunks` emits, and the time between two of them.
pub(crate) const CHUNKS: u64 = 100;
const BETWEEN: Duration = Duration::from_millis(20);

/// The state of most graphs.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counter {
    pub(crate) count: u64,
}

/// A message of some 100 bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Message {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    content: String,
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Chat {
    #[reducer(Append)]
    pub(crate) messages: Vec<Message>,
}

async fn add(counter: Snapshot<Counter>) -> Update<Counter> {
    Counter::update().count(counter.count + 1)
}

/// A graph of three nodes in a row.
pub(crate) fn three() -> Graph<Counter> {
    let mut g = StateGraph::<Counter>::new("three");
    let (first, second, third) = (g.node("first", add), g.node("second", add), g.node("third", add));
    g.edge(START, first);
    g.edge(first, second);
    g.edge(second, third);
    g.edge(third, END);
    g.compile().expect("a chain is a sound graph")
}

/// Returns the time since the epoch, in microseconds.
pub(crate) fn now_us() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("the clock is right");
    u64::try_from(now.as_micros()).expect("a time of this age")
}

/// A graph whose node emits the time, often.
pub(crate) fn chunks() -> Graph<Counter> {
    let mut g = StateGraph::<Counter>::new("chunks");
    let emit = g.node("emit", async |emit: Emit| {
        let mut tick = tokio::time::interval(BETWEEN);
        for _ in 0..CHUNKS {
            tick.tick().await;
            emit.emit("at", &now_us());
        }
        Counter::update()
    });
    g.edge(START, emit);
    g.edge(emit, END);
    g.compile().expect("a graph of one node is sound")
}

/// A graph that adds a message.
pub(crate) fn chat() -> Graph<Chat> {
    let mut g = StateGraph::<Chat>::new("chat");
    let say =
        g.node("say", async |chat: Snapshot<Chat>| Chat::update().messages([message(chat.messages.len())]));
    g.edge(START, say);
    g.edge(say, END);
    g.compile().expect("a graph of one node is sound")
}

pub(crate) fn message(number: usize) -> Message {
    let content = format!("message {number} of a conversation about the things that people write about");
    Message { id: format!("m{number}"), kind: "human".into(), content }
}

/// Runs a future on a runtime like that of the server.
pub(crate) fn block_on<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime starts");
    runtime.block_on(async move { tokio::spawn(work).await.expect("a workload does not panic") })
}

/// Serves the graphs with a file until standard input ends.
pub(crate) fn serve(path: &Path) {
    let path = path.to_owned();
    block_on(async move {
        let saver: Arc<dyn Checkpointer> = Arc::new(SqliteSaver::open(&path).await.expect("the file opens"));
        let (three, chunks, chat) = (
            three().shared_checkpointer(saver.clone()),
            chunks().shared_checkpointer(saver.clone()),
            chat().shared_checkpointer(saver),
        );
        let server = superstep::serve(&[&three, &chunks, &chat]);
        let server =
            server.workers(128).limits(|limits| (limits.connections, limits.streams) = (10_000, 10_000));
        let listening = server.listen("127.0.0.1:0").await.expect("a free port");
        println!("{}", listening.address());
        let stop = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
        listening.until(async move { drop(stop.await) }).await;
    });
}

/// A server's process. It ends with this value.
pub(crate) struct Served {
    process: Child,
    pub(crate) address: SocketAddr,
    /// The time from the start of the process until it listened, in milliseconds.
    pub(crate) start_ms: f64,
}

impl Served {
    /// Starts a server with a file.
    pub(crate) fn start(path: &Path) -> Self {
        let begun = Instant::now();
        let program = std::env::current_exe().expect("a program has a path");
        let mut command = Command::new(program);
        let command = command.arg(WORD).arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the server starts");
        let mut line = String::new();
        let output = process.stdout.as_mut().expect("it is piped");
        BufReader::new(output).read_line(&mut line).expect("it prints its address");
        let start_ms = ms_since(begun);
        let address = line.trim().parse().expect("an address");
        Self { process, address, start_ms }
    }

    /// Returns a figure of its memory, in KiB: `VmRSS` is what is resident, `VmHWM` the most that ever was.
    pub(crate) fn kib(&self, figure: &str) -> f64 {
        kib(self.process.id(), figure)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        drop(self.process.wait());
    }
}

/// Returns a figure of a process, in KiB.
pub(crate) fn kib(process: u32, figure: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let value = status.lines().find_map(|line| line.strip_prefix(figure)?.strip_prefix(':'));
    value.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse().ok()).unwrap_or(f64::NAN)
}
