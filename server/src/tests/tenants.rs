//! Clients of different owners: a table of all routes, made from the router's own table.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::http::request::Parts;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{WebSocketStream, client_async};

use super::contract::{Contract, checked_by};
use super::{body, listen, request, router, send, server};
use crate::api::{Endpoint, endpoints};
use crate::{Auth, AuthError, Identity, Resource, Server, Workers};

/// A text in everything that Ada has.
const NOTE: &str = "a note of Ada's";

/// A schedule that starts no run during a test.
const YEARLY: &str = "0 0 1 1 *";

/// Authenticates each client by its key. Each has its own threads, schedules and items.
pub(super) struct Owners;

#[async_trait]
impl Auth for Owners {
    async fn authenticate(&self, parts: &Parts) -> Result<Identity, AuthError> {
        match parts.headers.get("x-api-key").and_then(|key| key.to_str().ok()) {
            Some(key) => Ok(Identity::new(key)),
            None => Err(AuthError::Unauthenticated { reason: "no key".into() }),
        }
    }
}

/// A server on which Ada has one of everything.
pub(super) struct World {
    pub(super) router: Router,
    workers: Workers,
    /// The ids of Ada's objects, by the names of parameters.
    ids: Vec<(&'static str, String)>,
    /// A run of Ada's that has not begun, and its thread.
    pending: (String, String),
}

/// A response that was read, but for a stream of events.
pub(super) struct Got {
    pub(super) status: u16,
    place: String,
    pub(super) body: Value,
}

impl World {
    async fn new(contract: &Arc<Contract>) -> Self {
        Self::of(server(), contract).await
    }

    pub(super) async fn of(server: Server, contract: &Arc<Contract>) -> Self {
        let (router, workers) = server.auth(Owners).router().unwrap();
        workers.start();
        let router = checked_by(router, contract);
        let mut world = Self { router, workers, ids: Vec::new(), pending: Default::default() };
        let metadata = json!({ "note": NOTE });
        world.ada("POST", "/threads", json!({ "thread_id": "of-ada", "metadata": metadata })).await;
        let run = json!({ "assistant_id": "stories", "input": { "topic": NOTE }, "metadata": metadata });
        let run = world.ada("POST", "/threads/of-ada/runs/wait", run).await;
        let run = run.place.rsplit('/').next().unwrap().to_owned();
        let later = json!({ "assistant_id": "stories", "after_seconds": 3_600, "metadata": metadata });
        let later = world.ada("POST", "/runs", later).await.body;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        world.pending = (text(&later["thread_id"]), text(&later["run_id"]));
        let assistant = json!({
            "assistant_id": "assistant-of-ada", "graph_id": "stories", "name": NOTE, "metadata": metadata,
        });
        world.ada("POST", "/assistants", assistant).await;
        let item = json!({ "namespace": ["notes"], "key": "k", "value": { "note": NOTE } });
        world.ada("PUT", "/store/items", item).await;
        let mut cron = String::from("none");
        if cfg!(feature = "crons") {
            let new = json!({ "assistant_id": "stories", "schedule": YEARLY, "metadata": metadata });
            cron = text(&world.ada("POST", "/runs/crons", new).await.body["cron_id"]);
        }
        let state = world.ada("GET", "/threads/of-ada/state", Value::Null).await.body;
        world.ids = vec![
            ("thread_id", "of-ada".into()),
            ("run_id", run),
            ("assistant_id", "assistant-of-ada".into()),
            ("cron_id", cron),
            ("checkpoint_id", text(&state["checkpoint"]["checkpoint_id"])),
        ];
        world
    }

    pub(super) async fn sent(&self, client: &str, method: &str, path: &str, body: Value) -> Got {
        let request =
            request(method, path).header("x-api-key", client).header("content-type", "application/json");
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let response = send(&self.router, request.body(Body::from(text)).unwrap()).await;
        let header = |name| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        let (status, place) = (response.status().as_u16(), header("content-location").unwrap_or_default());
        let is_stream = header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        let body = if is_stream { Value::Null } else { self::body(response).await };
        Got { status, place, body }
    }

    async fn ada(&self, method: &str, path: &str, body: Value) -> Got {
        let got = self.sent("ada", method, path, body).await;
        assert!(got.status < 300, "{method} {path}: {} {}", got.status, got.body);
        got
    }

    /// Returns the path of an endpoint with Ada's objects.
    pub(super) fn path(&self, endpoint: &Endpoint) -> String {
        let mut path = endpoint.path.to_owned();
        if path.ends_with("/cancel") {
            path = path.replace("{thread_id}", &self.pending.0).replace("{run_id}", &self.pending.1);
        }
        self.ids.iter().fold(path, |path, (name, id)| path.replace(&format!("{{{name}}}"), id))
    }

    /// Returns a request body of each schema, which names Ada's objects.
    pub(super) fn body(&self, schema: &str) -> Value {
        let id = |name| self.ids.iter().find(|(known, _)| *known == name).unwrap().1.clone();
        let run = json!({ "assistant_id": "stories", "input": {}, "if_not_exists": "create" });
        match schema {
            "AssistantCreate" => json!({
                "assistant_id": id("assistant_id"), "graph_id": "stories", "if_exists": "do_nothing",
            }),
            "AssistantPatch" => json!({ "name": "other", "metadata": { "owner": "bob" } }),
            "AssistantVersion" => json!({ "version": 1 }),
            "AssistantSearch" | "VersionSearch" | "CronSearch" | "HistoryRequest" => json!({}),
            "ThreadCreate" => json!({ "thread_id": id("thread_id"), "if_exists": "raise" }),
            "ThreadPatch" => json!({ "metadata": { "owner": "bob" } }),
            "ThreadSearch" => json!({ "ids": [id("thread_id")] }),
            "ThreadPrune" => json!({ "thread_ids": [id("thread_id")] }),
            "StateAt" => json!({ "checkpoint": { "checkpoint_id": id("checkpoint_id") } }),
            "StateUpdate" => json!({ "values": { "topic": "other" } }),
            "RunCreate" => run,
            "RunBatch" => json!([{ "assistant_id": "stories", "input": {} }]),
            "CancelMany" => json!({ "run_ids": [self.pending.1] }),
            "Command" => json!({ "id": 1, "method": "run.start", "params": run }),
            "Subscription" => json!({ "channels": ["values"] }),
            "ItemPut" => json!({ "namespace": ["notes"], "key": "k", "value": {} }),
            "ItemKey" => json!({ "namespace": ["notes"], "key": "k" }),
            "ItemSearch" => json!({ "namespace_prefix": [] }),
            "NamespaceSearch" => json!({ "prefix": [] }),
            "CronCreate" => json!({ "assistant_id": "stories", "schedule": YEARLY }),
            "McpMessage" => {
                let arguments = json!({ "thread": id("thread_id"), "answer": "very" });
                let params = json!({ "name": "resume_run", "arguments": arguments });
                json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
            }
            "CronPatch" => json!({ "enabled": false }),
            other => panic!("write a body of {other} that names Ada's objects"),
        }
    }

    /// Returns everything that Ada has.
    async fn possessions(&self) -> Vec<Value> {
        let run = &self.ids[1].1;
        let pending = format!("/threads/{}/runs/{}", self.pending.0, self.pending.1);
        let mut paths = vec![
            "/threads/of-ada".to_owned(),
            "/threads/of-ada/state".to_owned(),
            "/threads/of-ada/history".to_owned(),
            "/threads/of-ada/runs".to_owned(),
            format!("/threads/of-ada/runs/{run}"),
            pending,
            "/assistants/assistant-of-ada".to_owned(),
            "/store/items?namespace=notes&key=k".to_owned(),
        ];
        if cfg!(feature = "crons") {
            paths.push(format!("/runs/crons/{}", self.ids[3].1));
        }
        let mut all = Vec::new();
        for path in paths {
            all.push(self.ada("GET", &path, Value::Null).await.body);
        }
        all
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_route_reads_or_writes_what_another_client_has() {
    let (mut refused, contract) = (0, Contract::new());
    for endpoint in endpoints() {
        if endpoint.resource == Resource::Crons && !cfg!(feature = "crons") {
            continue;
        }
        let world = World::new(&contract).await;
        let before = world.possessions().await;
        let mut path = world.path(&endpoint);
        if endpoint.path == "/store/items" && endpoint.method == "get" {
            path += "?namespace=notes&key=k";
        }
        let method = endpoint.method.to_uppercase();
        let name = format!("{method} {path}");
        let body = endpoint.takes.map_or(Value::Null, |schema| world.body(schema));

        let got = world.sent("bob", &method, &path, body.clone()).await;
        let is_shared = endpoint.resource == Resource::Assistants && endpoint.action == crate::Action::Read;
        let needs_socket = endpoint.gives == crate::api::Gives::Nothing(101);
        let expected = match endpoint.path.contains('{') {
            _ if needs_socket => 400,
            true if endpoint.path.ends_with("/commands") => 200,
            true if !is_shared => 404,
            _ => got.status,
        };
        assert_eq!(got.status, expected, "{name}: {}", got.body);
        if !is_shared {
            assert!(!got.body.to_string().contains(NOTE), "{name}: {}", got.body);
        }
        refused += u32::from(got.status == 404);
        assert_eq!(world.possessions().await, before, "{name} of Bob's changed Ada's objects");

        // Ada may make the same request, but cannot create a thread again.
        let got = world.sent("ada", &method, &path, body).await;
        let expected = match endpoint.path {
            _ if needs_socket => 400,
            "/threads" => 409,
            _ => 200,
        };
        let status = if got.status < 300 { 200 } else { got.status };
        assert_eq!(status, expected, "{name}: {}", got.body);
        world.workers.shutdown(Duration::ZERO).await;
    }
    assert!(refused >= 20, "{refused}");
}

/// A client may open a stream before its thread exists. It must not get the events of a thread that another client
/// creates with this id.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_of_a_thread_that_another_client_creates_ends_without_events() {
    let world = World::new(&Contract::new()).await;
    let opened = [
        ("GET", "/threads/later/stream", Value::Null),
        ("POST", "/threads/later/stream/events", json!({ "channels": ["values", "lifecycle"] })),
    ];
    let mut streams = Vec::new();
    for (method, path, body) in opened {
        let request =
            request(method, path).header("x-api-key", "bob").header("content-type", "application/json");
        let text = if body.is_null() { String::new() } else { body.to_string() };
        streams.push(send(&world.router, request.body(Body::from(text)).unwrap()).await);
    }
    world.ada("POST", "/threads", json!({ "thread_id": "later" })).await;
    let run = json!({ "assistant_id": "stories", "input": { "topic": NOTE } });
    world.ada("POST", "/threads/later/runs/wait", run).await;
    for stream in streams {
        let text = axum::body::to_bytes(stream.into_body(), usize::MAX);
        let text =
            tokio::time::timeout(Duration::from_secs(4), text).await.expect("the stream ends").unwrap();
        assert_eq!(String::from_utf8_lossy(&text), "");
    }
}

pub(super) type Socket = WebSocketStream<TcpStream>;

pub(super) async fn connected(address: std::net::SocketAddr, client: &str, thread: &str) -> Socket {
    let url = format!("ws://{address}/threads/{thread}/stream/events");
    let mut request = url.into_client_request().unwrap();
    request.headers_mut().insert("x-api-key", client.parse().unwrap());
    let stream = TcpStream::connect(address).await.unwrap();
    client_async(request, stream).await.unwrap().0
}

/// Sends a command; returns the messages up to its response.
pub(super) async fn command(socket: &mut Socket, command: Value) -> Value {
    let id = command["id"].clone();
    socket.send(Message::Text(command.to_string().into())).await.unwrap();
    loop {
        let message = next(socket).await;
        if message["id"] == id {
            return message;
        }
    }
}

async fn next(socket: &mut Socket) -> Value {
    loop {
        let message = tokio::time::timeout(Duration::from_secs(4), socket.next()).await;
        if let Message::Text(text) = message.expect("a message").unwrap().unwrap() {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_shows_and_changes_only_threads_of_its_client() {
    let listening = listen(server().auth(Owners)).await;
    let address = listening.address();
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(listening.until(std::future::pending()));
    let subscribe =
        json!({ "id": 1, "method": "subscription.subscribe", "params": { "channels": ["values"] } });
    let start = json!({
        "id": 2, "method": "run.start", "params": { "assistant_id": "stories", "input": { "topic": NOTE } },
    });
    let mut ada = connected(address, "ada", "t").await;
    assert_eq!(command(&mut ada, subscribe.clone()).await["type"], "success");
    assert_eq!(command(&mut ada, start.clone()).await["type"], "success");
    let mut event = next(&mut ada).await;
    while event["method"] != "values" {
        event = next(&mut ada).await;
    }
    assert!(event.to_string().contains(NOTE), "{event}");

    let mut bob = connected(address, "bob", "t").await;
    for refused in [
        subscribe,
        start,
        json!({ "id": 3, "method": "state.get", "params": {} }),
        json!({ "id": 4, "method": "state.listCheckpoints", "params": {} }),
        json!({ "id": 5, "method": "agent.getTree", "params": {} }),
        json!({ "id": 6, "method": "input.respond", "params": { "interrupt_id": "x", "response": "y" } }),
    ] {
        let response = command(&mut bob, refused).await;
        assert_eq!(response["type"], "error", "{response}");
        assert!(!response.to_string().contains(NOTE), "{response}");
    }
}

#[tokio::test]
async fn every_client_has_its_own_store() {
    let router = router(server().auth(Owners));
    let sent = async |client: &str, method: &str, path: &str, body: Value| {
        let request =
            request(method, path).header("x-api-key", client).header("content-type", "application/json");
        let text = if body.is_null() { String::new() } else { body.to_string() };
        super::body(send(&router, request.body(Body::from(text)).unwrap()).await).await
    };
    let put = |note: &str| json!({ "namespace": ["notes"], "key": "k", "value": { "note": note } });
    sent("ada", "PUT", "/store/items", put("Ada's")).await;
    sent("bob", "PUT", "/store/items", put("Bob's")).await;
    for (client, note) in [("ada", "Ada's"), ("bob", "Bob's")] {
        let item = sent(client, "GET", "/store/items?namespace=notes&key=k", Value::Null).await;
        assert_eq!((&item["value"]["note"], &item["namespace"]), (&json!(note), &json!(["notes"])));
        for prefix in [json!([]), json!(["notes"])] {
            let found =
                sent(client, "POST", "/store/items/search", json!({ "namespace_prefix": prefix })).await;
            let notes: Vec<_> =
                found["items"].as_array().unwrap().iter().map(|item| &item["value"]).collect();
            assert_eq!(notes, [&json!({ "note": note })], "{client}");
        }
        let namespaces = sent(client, "POST", "/store/namespaces", json!({})).await;
        assert_eq!(namespaces, json!({ "namespaces": [["notes"]] }));
    }
    let other = sent("bob", "POST", "/store/items/search", json!({ "namespace_prefix": ["ada"] })).await;
    assert_eq!(other, json!({ "items": [] }));
    sent("bob", "DELETE", "/store/items", json!({ "namespace": ["notes"], "key": "k" })).await;
    let item = sent("ada", "GET", "/store/items?namespace=notes&key=k", Value::Null).await;
    assert_eq!(item["value"]["note"], "Ada's");
}
