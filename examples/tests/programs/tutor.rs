//! The example `tutor`: its reports on the terminal and in a browser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::nodes::testkit::{MockServer, Reply};

use crate::{documents, example};

fn tutor() -> Command {
    let mut tutor = Command::new(example("tutor"));
    tutor.env_remove("SUPERSTEP_MODEL").env("NO_PROXY", "127.0.0.1");
    tutor
}

#[test]
fn it_tells_on_the_terminal_what_it_does() {
    let folder = documents();
    let output =
        tutor().current_dir(folder.path()).args(["--docs", "docs"]).output().expect("the example runs");
    let told = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let begins = [
        "I look up what the documents say.",
        "  ▶ search_docs {",
        "  ◀ [1] forks.md:3-3 (Forks) A fork copies no bytes",
        "That is worth a note.",
        "  ▶ note {",
        "  · {\"event\":\"note_created\"",
        "  ◀ noted: Forks",
        "A fork copies nothing:",
    ];
    assert_eq!(told.lines().count(), begins.len(), "{told}");
    for (line, begin) in told.lines().zip(begins) {
        assert!(line.starts_with(begin), "{line:?} does not begin with {begin:?}");
    }
}

/// The example as a server.
struct Server {
    program: Child,
    address: String,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        let mut tutor = tutor();
        let mut program = tutor
            .args(["--sse", "0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the example runs");
        let mut line = String::new();
        let stdout = program.stdout.as_mut().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("it says where it is");
        let address = line.trim().strip_prefix("http://").expect("an address").to_owned();
        Self { program, address }
    }

    /// Sends a request; returns a reader of the response without its head.
    fn get(&self, path: &str, header: &str) -> (String, BufReader<TcpStream>) {
        let mut server = TcpStream::connect(&self.address).expect("it listens");
        server.set_read_timeout(Some(Duration::from_secs(300))).expect("a timeout");
        // With HTTP/1.0, so that the response is not chunked.
        write!(server, "GET {path} HTTP/1.0\r\nhost: {}\r\n{header}\r\n", self.address).expect("it reads");
        let mut answer = BufReader::new(server);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(answer.read_line(&mut head).expect("a head"), 0, "{head}");
        }
        (head, answer)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// Reads one frame: its name and its data.
fn frame(events: &mut BufReader<TcpStream>) -> Option<(String, Value)> {
    let mut lines = [String::new(), String::new(), String::new()];
    for line in &mut lines {
        events.read_line(line).expect("a line within a minute");
    }
    let [name, data, end] = &lines;
    if name.is_empty() {
        return None;
    }
    assert_eq!(end, "\n");
    let name = name.trim_end().strip_prefix("event: ").expect("the name comes first");
    let data = data.trim_end().strip_prefix("data: ").expect("the data comes second");
    Some((name.to_owned(), serde_json::from_str(data).expect("JSON")))
}

#[test]
fn a_browser_gets_a_page_and_what_the_tutor_does() {
    let server = Server::start(&[]);
    let (head, mut page) = server.get("/", "");
    assert!(head.starts_with("HTTP/1.0 200 OK") && head.contains("text/html"), "{head}");
    let mut text = String::new();
    page.read_to_string(&mut text).expect("a page");
    assert!(text.contains("new EventSource('/events?'"));

    let (head, mut events) = server.get("/events?question=What+does+a+fork+copy%3F", "");
    assert!(head.contains("content-type: text/event-stream"), "{head}");
    let frames: Vec<_> = std::iter::from_fn(|| frame(&mut events)).collect();
    let names: Vec<_> = frames.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "agent_reasoning",
        "tool_call",
        "tool_result",
        "agent_reasoning",
        "tool_call",
        "note_created",
        "tool_result",
        "answer",
    ];
    assert_eq!(names, expected);
    assert_eq!(frames[0].1, json!({ "agent": "tutor", "text": "I look up what the documents say." }));
    assert_eq!(frames[7].1["exit"], "end_turn");
    // It used to appear twice on the page: as the last reasoning, and as the answer.
    let answer = frames[7].1["text"].as_str().expect("a text");
    let times = frames.iter().filter(|(_, data)| data["text"] == answer).count();
    assert_eq!(times, 1, "{frames:?}");
}

#[test]
fn pages_of_others_and_other_paths_are_refused() {
    let server = Server::start(&[]);
    let status = |path, header| server.get(path, header).0.lines().next().unwrap_or_default().to_owned();
    assert_eq!(status("/events?question=x", "sec-fetch-site: cross-site\r\n"), "HTTP/1.0 403 Forbidden");
    assert_eq!(status("/events?question=x", "sec-fetch-site: same-origin\r\n"), "HTTP/1.0 200 OK");
    assert_eq!(status("/none", ""), "HTTP/1.0 404 Not Found");
}

#[test]
fn s4_057_a_frame_is_sent_when_it_happens_not_at_the_end() {
    let (go_on, waits) = mpsc::channel::<()>();
    let waits = Mutex::new(waits);
    let provider = MockServer::builder().any_key().start_in_thread().expect("loopback");
    provider.answer_with(move |request| {
        let last = request.json()["messages"].as_array().and_then(|messages| messages.last());
        if last.is_none_or(|last| last["role"] != "tool") {
            let note = json!({ "title": "Forks", "text": "They copy nothing." });
            return Reply::text("I note it.").tool_call("c1", "note", note);
        }
        waits.lock().expect("no holder of the lock panics").recv().expect("the test lets it go on");
        Reply::text("A fork copies nothing.")
    });
    let model = format!("openai-compatible:test@{}", provider.openai_url());
    let server = Server::start(&["--model", &model]);
    let (_, mut events) = server.get("/events?question=x", "");
    // The model does not continue before these have arrived.
    for expected in ["agent_reasoning", "tool_call", "note_created", "tool_result"] {
        assert_eq!(frame(&mut events).expect("a frame").0, expected);
    }
    go_on.send(()).expect("the model waits");
    let (name, data) = frame(&mut events).expect("a frame");
    assert_eq!((name.as_str(), &data["text"]), ("answer", &"A fork copies nothing.".into()));
    assert_eq!(frame(&mut events), None);
}
