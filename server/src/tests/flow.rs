//! The life of a thread, over a real socket.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::server;

/// A client of a server that runs as long as this lives.
pub(super) struct Client {
    address: SocketAddr,
    _server: JoinSet<()>,
}

/// A response.
pub(super) struct Answer {
    pub(super) status: u16,
    head: String,
    text: String,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{} {}", self.head, self.text))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .find_map(|line| line.split_once(": ").filter(|(known, _)| *known == name))
            .map(|(_, value)| value)
    }

    /// Returns the names and the data of server-sent events.
    fn events(&self) -> Vec<(String, Value)> {
        let events = self.text.split("\n\n").filter(|event| event.starts_with("event: "));
        let event = |event: &str| {
            let mut lines = event.lines();
            let name = lines.next().unwrap().trim_start_matches("event: ");
            let data = lines.next().unwrap().trim_start_matches("data: ");
            (name.to_owned(), serde_json::from_str(data).unwrap())
        };
        events.map(event).collect()
    }
}

impl Client {
    pub(super) async fn new() -> Self {
        let listening = super::listen(server()).await;
        let address = listening.address();
        let mut tasks = JoinSet::new();
        tasks.spawn(listening.until(std::future::pending()));
        Self { address, _server: tasks }
    }

    pub(super) async fn send(&self, method: &str, path: &str, body: Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (address, length) = (self.address, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let text = match head.contains("transfer-encoding: chunked") {
            true => joined(body),
            false => body.to_owned(),
        };
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_owned(), text }
    }

    pub(super) async fn get(&self, path: &str) -> Value {
        let answer = self.send("GET", path, Value::Null).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> Value {
        let answer = self.send("POST", path, body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    }
}

/// Joins the chunks of a body.
fn joined(mut body: &str) -> String {
    let mut text = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        text.push_str(&rest[..length]);
        body = rest[length..].trim_start_matches("\r\n");
    }
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_is_created_asked_answered_read_and_forked() {
    let client = Client::new().await;
    let thread = client.post("/threads", json!({})).await["thread_id"].as_str().unwrap().to_owned();
    let at = |path: &str| format!("/threads/{thread}{path}");

    let run = json!({
        "assistant_id": "stories", "input": { "topic": "Rust" }, "stream_mode": "updates", "stream_resumable": true,
    });
    let streamed = client.send("POST", &at("/runs/stream"), run).await;
    assert_eq!(streamed.header("content-type"), Some("text/event-stream; charset=utf-8"));
    let place = streamed.header("content-location").unwrap();
    assert!(place.starts_with(&at("/runs/")));
    assert_eq!(streamed.header("location"), Some(format!("{place}/stream").as_str()));
    let events = streamed.events();
    assert_eq!(events[0].0, "metadata", "{}", streamed.text);
    assert_eq!(events[1].1, json!({ "write": { "lines": ["about Rust"] } }));
    assert_eq!(events[2].1["__interrupt__"][0]["value"], "Is it good?");
    let again = client.send("GET", &format!("{place}/stream"), Value::Null).await;
    assert_eq!(again.events(), [], "a run that has ended sends nothing new");
    assert_eq!(client.get(&at("")).await["status"], "interrupted");

    let resume = json!({ "assistant_id": "stories", "command": { "resume": "very" } });
    let waited = client.send("POST", &at("/runs/wait"), resume).await;
    assert!(waited.header("location").unwrap().ends_with("/join"));
    assert_eq!(waited.json()["lines"], json!(["about Rust", "very"]));
    assert_eq!(client.get(&at("/state")).await["next"], json!([]));

    let history = client.post(&at("/history"), json!({ "limit": 10 })).await;
    let history = history.as_array().unwrap();
    let written = history.iter().find(|state| state["next"] == json!(["review"])).unwrap();
    let fork = json!({
        "assistant_id": "stories",
        "checkpoint_id": written["checkpoint"]["checkpoint_id"],
        "command": { "resume": "no" },
    });
    let forked = client.post(&at("/runs/wait"), fork).await;
    assert_eq!(forked["lines"], json!(["about Rust", "no"]), "{forked}");

    let runs = client.get(&at("/runs")).await;
    let statuses: Vec<&Value> = runs.as_array().unwrap().iter().map(|run| &run["status"]).collect();
    assert_eq!(statuses, ["success"; 3]);
    let found =
        client.send("POST", "/threads/search", json!({ "metadata": { "graph_id": "stories" } })).await;
    assert_eq!(found.header("x-pagination-total"), Some("1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_thread_protocol_starts_a_run_and_tells_its_events() {
    let client = Client::new().await;
    let start = json!({ "id": 1, "method": "run.start", "params": { "assistant_id": "stories", "input": { "topic": "Go" } } });
    let started = client.post("/threads/t1/commands", start).await;
    assert_eq!(started["type"], "success", "{started}");
    let run = started["result"]["run_id"].as_str().unwrap();
    let values = client.get(&format!("/threads/t1/runs/{run}/join")).await;
    assert_eq!(values["lines"], json!(["about Go"]));
    let subscribe =
        json!({ "id": 2, "method": "subscription.subscribe", "params": { "channels": ["values"] } });
    let subscribed = client.post("/threads/t1/commands", subscribe).await;
    assert_eq!(subscribed["result"]["subscription_id"].as_str().map(str::len), Some(36), "{subscribed}");
    let malformed = client.send("POST", "/threads/t1/commands", json!({ "hello": 1 })).await;
    assert_eq!((malformed.status, &malformed.json()["error"]), (400, &json!("invalid_argument")));
    let channels = client.send("POST", "/threads/t1/stream/events", json!({ "channels": ["nope"] })).await;
    assert_eq!(channels.status, 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_different_owners_do_not_see_each_others_threads() {
    let router = super::router(super::server().auth(super::guard::Users));
    let sent = async |method: &str, path: &str, key: &str, body: Value| {
        let request =
            super::request(method, path).header("x-api-key", key).header("content-type", "application/json");
        super::send(&router, request.body(axum::body::Body::from(body.to_string())).unwrap()).await
    };
    let created = sent("POST", "/threads", "ada", json!({ "metadata": { "owner": "bob" } })).await;
    let thread = super::body(created).await;
    assert_eq!(thread["metadata"]["owner"], "ada");
    let thread = thread["thread_id"].as_str().unwrap();
    let run = json!({ "assistant_id": "stories", "input": {} });
    for (method, path, body) in [
        ("GET", "", json!({})),
        ("PATCH", "", json!({ "metadata": { "owner": "bob" } })),
        ("GET", "/state", json!({})),
        ("POST", "/state", json!({ "values": {} })),
        ("POST", "/state/checkpoint", json!({ "checkpoint": {} })),
        ("POST", "/history", json!({})),
        ("GET", "/history", json!({})),
        ("GET", "/runs", json!({})),
        ("POST", "/runs", run.clone()),
        ("POST", "/runs/wait", run.clone()),
        ("POST", "/runs/stream", run),
        ("GET", "/runs/r", json!({})),
        ("POST", "/runs/r/cancel", json!({})),
        ("GET", "/runs/r/join", json!({})),
        ("GET", "/runs/r/stream", json!({})),
        ("DELETE", "/runs/r", json!({})),
        ("GET", "/stream", json!({})),
        ("POST", "/stream/events", json!({ "channels": ["values"] })),
        ("POST", "/copy", json!({})),
    ] {
        let response = sent(method, &format!("/threads/{thread}{path}"), "bob", body).await;
        let may_delete = (method, path) == ("DELETE", "/runs/r");
        assert_eq!(response.status(), if may_delete { 403 } else { 404 }, "{method} {path}");
    }
    let found =
        super::body(sent("POST", "/threads/search", "bob", json!({ "metadata": { "owner": "ada" } })).await)
            .await;
    assert_eq!(found, json!([]));
    let found = super::body(sent("POST", "/threads/search", "ada", json!({})).await).await;
    assert_eq!(found.as_array().unwrap().len(), 1);
    let assistants = super::body(sent("POST", "/assistants/search", "bob", json!({})).await).await;
    assert_eq!(assistants[0]["graph_id"], "stories", "all clients have the default assistants");
}
