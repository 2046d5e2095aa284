//! Sessions of 2,000 turns with everything that may happen in them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::value::RawValue;
use superstep_assistant::context::{ContextSettings, ResultLimits};
use superstep_assistant::exit::Exit;
use superstep_assistant::{AssistantState, Interrupts, assistant};
use superstep_core::checkpoint::MemorySaver;
use superstep_core::run::Graph;
use superstep_nodes::model::ChatModel;
use superstep_testkit::{MockServer, Pacing, Quirk, Received, Reply, Stop, Usage};

use super::{PROTOCOLS, Watch, config, number};
use crate::tests::clients::Way;

/// The number of turns of all sessions together.
const TURNS: usize = 2_000;

/// The turn of a session from which its first vendor is overloaded.
const SWITCH: usize = 400;

/// The server's side of a session.
#[derive(Default)]
struct Script {
    /// The requests for the next step of the work.
    asked: AtomicUsize,
    summaries: AtomicUsize,
    is_stalled: AtomicBool,
    /// The requests, each with the endpoint.
    sent: Mutex<Vec<(String, Sent)>>,
    /// The facts that each request has to have, and the requests that had not.
    facts: Mutex<Vec<String>>,
    missing: Mutex<Vec<String>>,
}

/// A request in the bytes that a cache compares: the part before the messages, and the messages.
#[derive(PartialEq)]
struct Sent {
    head: Vec<String>,
    pieces: Vec<String>,
}

type Raw = Box<RawValue>;

impl Sent {
    fn of(received: &Received) -> Self {
        let body: BTreeMap<String, Raw> = serde_json::from_slice(received.bytes()).unwrap();
        let head =
            ["tools", "system", "instructions"].map(|name| body.get(name).map(|it| it.get().to_owned()));
        let list = body.get("messages").or_else(|| body.get("input")).unwrap();
        let list: Vec<Raw> = serde_json::from_str(list.get()).unwrap();
        Self {
            head: head.into_iter().flatten().collect(),
            pieces: list.iter().flat_map(|it| pieces(it)).collect(),
        }
    }

    fn begins_with(&self, before: &Self) -> bool {
        self.head == before.head && self.pieces.starts_with(&before.pieces)
    }
}

/// Returns the blocks of a message of Anthropic, without the marks of its cache, which move; any other message as it is.
fn pieces(message: &RawValue) -> Vec<String> {
    let parts: BTreeMap<String, Raw> = serde_json::from_str(message.get()).unwrap_or_default();
    let blocks = parts.get("content").and_then(|it| serde_json::from_str::<Vec<Raw>>(it.get()).ok());
    let (Some(blocks), true) = (blocks, parts.len() == 2) else { return vec![message.get().to_owned()] };
    let mark = r#""cache_control":{"type":"ephemeral"}"#;
    let bare = |block: &Raw| {
        let text = block.get().replace(&format!("{mark},"), "").replace(&format!(",{mark}"), "");
        format!("{} {text}", parts["role"].get())
    };
    blocks.iter().map(bare).collect()
}

impl Script {
    fn answer(&self, received: &Received, first: Way) -> Reply {
        let text = String::from_utf8_lossy(received.bytes()).into_owned();
        let usage = Usage::new(text.len() as u64 / 4, 50);
        if received.json().get("tools").is_none() {
            self.summaries.fetch_add(1, Ordering::Relaxed);
            return Reply::text("They looked at numbers, one after the other.").usage(usage);
        }
        let turn = self.asked.fetch_add(1, Ordering::Relaxed);
        self.sent.lock().unwrap().push((received.path().to_owned(), Sent::of(received)));
        let missing = self
            .facts
            .lock()
            .unwrap()
            .iter()
            .filter(|fact| !text.contains(*fact))
            .cloned()
            .collect::<Vec<_>>();
        self.missing.lock().unwrap().extend(missing.into_iter().map(|fact| format!("{fact} in {turn}")));
        if turn >= SWITCH && path(first) == received.path() {
            return Reply::overloaded();
        }
        if self.is_stalled.load(Ordering::Relaxed) {
            return asking(turn).usage(usage).pacing(Pacing::new().stall_after_events(9));
        }
        match turn {
            _ if turn % 61 == 13 => Reply::context_overflow(20_000, 16_000),
            _ if turn % 47 == 29 => Reply::text("A part of").stop(Stop::MaxTokens).usage(usage),
            _ if turn % 53 == 31 => Reply::server_error(),
            _ if turn % 59 == 37 => asking(turn).pacing(Pacing::new().cut_after_events(7)),
            _ if turn % 8 == 7 => Reply::new().thinking("Good.").say(format!("Done {turn}.")).usage(usage),
            _ => asking(turn).usage(usage),
        }
    }
}

fn asking(turn: usize) -> Reply {
    Reply::new()
        .signed_thinking(format!("I need to look at {turn}."), format!("c2ln{turn:04}"))
        .say("Let me look.")
        .tool_call(format!("call_{turn}_a"), "look", number(turn))
        .tool_call(
            format!("call_{turn}_b"),
            if turn.is_multiple_of(2) { "act" } else { "look" },
            number(turn + 1),
        )
        .letters_per_event(400)
        .quirk(Quirk::ReasoningContent)
}

fn path(way: Way) -> &'static str {
    match way {
        Way::Messages | Way::MessagesWithBudget => "/v1/messages",
        Way::Chat | Way::Compatible => "/v1/chat/completions",
        Way::Responses => "/v1/responses",
    }
}

/// A session, and how its requests fared.
struct Session {
    server: MockServer,
    script: Arc<Script>,
    clients: [Arc<dyn ChatModel>; 2],
    saver: MemorySaver,
    interrupts: Interrupts,
    watch: Watch,
    folder: tempfile::TempDir,
}

impl Session {
    async fn start(ways: [Way; 2]) -> Self {
        let (server, script) = (MockServer::start().await.unwrap(), Arc::new(Script::default()));
        let (answers, asked) = (Arc::clone(&script), Arc::clone(&script));
        server.answer_with(move |received| answers.answer(received, ways[0]));
        let watch = Watch::default();
        let requests = Box::new(move || asked.asked.load(Ordering::Relaxed));
        *watch.0.requests.lock().unwrap() = Some(requests);
        let folder = tempfile::tempdir().unwrap();
        let clients = ways.map(|way| way.client(&server));
        let (saver, interrupts) = (MemorySaver::new(), Interrupts::new());
        Self { server, script, clients, saver, interrupts, watch, folder }
    }

    /// Returns the graph in a new process: only what is stored is the same.
    fn process(&self) -> Graph<AssistantState> {
        let [first, second] = self.clients.clone();
        let context = ContextSettings {
            horizon: 100,
            results: ResultLimits { per_result: 1_000, ..ResultLimits::default() },
            ..ContextSettings::default()
        };
        let config = config(first, self.folder.path()).fallback(second).context(context);
        let graph = assistant(config.interrupts(self.interrupts.clone())).unwrap();
        graph.checkpointer(self.saver.clone()).observe(self.watch.clone())
    }

    /// Works on the nth message of the user. Some are stopped, and some are cut off and resumed by another process.
    async fn work(&self, nth: usize) -> AssistantState {
        let graph = self.process();
        let thread = graph.thread("session");
        let fact = format!("FACT {}", nth / 40);
        let is_fact = nth.is_multiple_of(40);
        let message = if is_fact { format!("Remember {fact}. Do {nth}.") } else { format!("Do {nth}.") };
        let input = AssistantState::ask(message);
        let before = self.server.received().len();
        let state = match nth % 7 {
            2 => {
                self.script.is_stalled.store(true, Ordering::Relaxed);
                let run = async { thread.run(input).await.unwrap().finished().unwrap() };
                let stopping = async {
                    for more in 1.. {
                        self.server.requests(before + more).await;
                        self.script.is_stalled.store(false, Ordering::Relaxed);
                        while !self.interrupts.stop(&"session".into()) {
                            tokio::task::yield_now().await;
                        }
                    }
                };
                tokio::select! { state = run => state, () = stopping => unreachable!("it goes on for ever") }
            }
            4 => {
                let cut = async { thread.run(input).await };
                tokio::select! {
                    _ = cut => {}
                    _ = self.server.requests(before + 3) => {}
                }
                drop(graph);
                let again = self.process();
                again.thread("session").resume().await.unwrap().finished().unwrap()
            }
            _ => thread.run(input).await.unwrap().finished().unwrap(),
        };
        if is_fact {
            self.script.facts.lock().unwrap().push(fact);
        }
        state
    }

    /// Checks that each request begins with the one before, unless something was recorded between them.
    fn check_prefixes(&self) -> usize {
        let recorded = self.watch.0.recorded.lock().unwrap();
        // What `turn` records is in the request that it has sent; what other nodes record is in the next one.
        let requests = recorded.iter().map(|(node, asked)| if node == "turn" { asked - 1 } else { *asked });
        let may_differ: BTreeSet<usize> = requests.collect();
        let sent = self.script.sent.lock().unwrap();
        let mut stable = 0;
        for (at, pair) in sent.windows(2).enumerate() {
            let [(before_path, before), (path, now)] = pair else { unreachable!() };
            if path == before_path && !may_differ.contains(&(at + 1)) {
                assert!(now.begins_with(before), "request {}", at + 1);
                stable += 1;
            }
        }
        stable
    }
}

#[tokio::test]
async fn s2_057_084_193_no_request_of_2000_turns_is_refused_and_prefixes_are_stable() {
    let mut turns = 0;
    for (at, first) in PROTOCOLS.into_iter().enumerate() {
        let session = Session::start([first, PROTOCOLS[(at + 1) % PROTOCOLS.len()]]).await;
        let (mut exits, mut longest, mut last) = (BTreeMap::new(), 0, AssistantState::default());
        for nth in 0.. {
            last = session.work(nth).await;
            *exits.entry(format!("{:?}", last.exit)).or_insert(0) += 1;
            longest = longest.max(last.messages.len());
            if session.script.asked.load(Ordering::Relaxed) > TURNS / 3 {
                break;
            }
        }
        turns += session.script.asked.load(Ordering::Relaxed);
        assert_eq!(session.server.errors(), [], "{first:?}");
        assert_eq!(session.watch.errors(), Vec::<String>::new());
        assert_eq!(*session.script.missing.lock().unwrap(), Vec::<String>::new());
        let stable = session.check_prefixes();
        let sent = session.script.sent.lock().unwrap().len();
        let summaries = session.script.summaries.load(Ordering::Relaxed);
        println!(
            "{first:?} {exits:?} longest {longest}, {stable} of {sent}, {summaries} summaries, {} compactions",
            last.compactions.len()
        );
        assert!(stable > sent / 2 && longest < 200, "{stable} of {sent}, {longest}");
        assert!(summaries > 3 && last.recovery.switched_model);
        for exit in [Exit::Completed, Exit::AbortedStreaming] {
            assert!(exits.contains_key(&format!("{:?}", Some(exit))), "{exits:?}");
        }
    }
    assert!(turns >= TURNS, "{turns}");
}
