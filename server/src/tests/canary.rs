//! A secret in a state, an error, an effect and a header is in no response and in no log.

use std::fmt::Write;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep_core::checkpoint::MemorySaver;
use superstep_core::error::NodeError;
use superstep_core::graph::{END, START, StateGraph};
use superstep_core::node::{Ask, Effects, Snapshot};
use superstep_core::reducer::Append;
use superstep_core::run::Graph;
use superstep_core::state::{State, Update};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

#[cfg(feature = "webhooks")]
use super::receiver::Receiver;
use super::{request, send};
use crate::{Token, serve};

/// A secret of the state.
const KEY: &str = "canary-of-the-state";

/// The token of the clients.
const TOKEN: &str = "canary-of-the-header";

#[derive(State, Clone, Default, Serialize, Deserialize)]
struct Vault {
    #[state(secret)]
    key: String,
    #[reducer(Append)]
    lines: Vec<String>,
}

/// A graph whose nodes use the secret in an effect and in an error. What a node puts into events and questions is
/// shown as it is.
fn vault() -> Graph<Vault> {
    let mut g = StateGraph::<Vault>::new("vault");
    let fetch = g.node("fetch", |vault: Snapshot<Vault>, fx: Effects| async move {
        let used = fx.run("fetch", || async { Ok::<_, NodeError>(format!("used {}", vault.key)) }).await?;
        Ok::<_, NodeError>(Vault::update().lines(["fetched"]).key(used))
    });
    let review = g.node("review", |ask: Ask<String, String>| async move {
        let answer = ask.ask("Is it good?".to_owned()).await;
        Vault::update().lines([answer])
    });
    let fail = g.node("fail", |vault: Snapshot<Vault>| async move {
        Err::<Update<Vault>, _>(NodeError::terminal(format!("{} is wrong", vault.key)))
    });
    g.edge(START, fetch);
    g.edge(fetch, review);
    g.edge(review, fail);
    g.edge(fail, END);
    g.compile().unwrap().checkpointer(MemorySaver::new())
}

/// Everything that is logged down to a level, as text.
#[derive(Clone)]
pub(crate) struct Logged(Arc<Mutex<String>>, Level);

impl Logged {
    pub(crate) fn at(level: Level) -> Self {
        Self(Arc::default(), level)
    }

    pub(crate) fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

impl Visit for Logged {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0.lock().unwrap(), "{field}={value:?} ").unwrap();
    }
}

impl Subscriber for Logged {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // The libraries below show the bytes of requests at this level, for their own developers.
        metadata.target().starts_with("superstep") && *metadata.level() <= self.1
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
        self.0.lock().unwrap().push('\n');
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// A client that looks at all it gets.
struct Client {
    router: Router,
    seen: String,
}

impl Client {
    async fn send(&mut self, method: &str, path: &str, body: Value) -> Value {
        let request = request(method, path)
            .header("x-api-key", TOKEN)
            .header("x-request-id", "mine")
            .header("content-type", "application/json");
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let response = send(&self.router, request.body(Body::from(text)).unwrap()).await;
        let (parts, body) = response.into_parts();
        let text = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let text = String::from_utf8_lossy(&text).into_owned();
        let shown = format!("{method} {path}: {:?} {text}", parts.headers);
        assert!(!shown.contains("canary"), "{shown}");
        self.seen.push_str(&shown);
        serde_json::from_str(&text).unwrap_or_default()
    }
}

const MODES: [&str; 9] =
    ["values", "updates", "messages", "messages-tuple", "custom", "tasks", "checkpoints", "debug", "events"];

#[tokio::test]
async fn a_secret_is_in_no_response_and_in_no_log() {
    let logged = Logged::at(Level::TRACE);
    let _guard = tracing::subscriber::set_default(logged.clone());
    let server = serve(&[&vault()]).auth(Token::new(TOKEN).unwrap());
    #[cfg(feature = "webhooks")]
    let (server, mut receiver) = (server.allow_webhook_host("127.0.0.1"), Receiver::new(&[]).await);
    let (router, workers) = server.router().unwrap();
    workers.start();
    let mut client = Client { router: super::contract::checked(router), seen: String::new() };

    client.send("POST", "/threads", json!({ "thread_id": "t" })).await;
    let run = |more: Value| {
        let mut run = json!({
            "assistant_id": "vault", "stream_mode": MODES, "stream_resumable": true, "stream_subgraphs": true,
        });
        run.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        #[cfg(feature = "webhooks")]
        run.as_object_mut().unwrap().insert("webhook".to_owned(), receiver.url().into());
        run
    };
    let input = run(json!({ "input": { "key": KEY } }));
    client.send("POST", "/threads/t/runs/stream", input).await;
    assert!(client.seen.contains("<secret>"), "{}", client.seen);
    assert!(client.seen.contains("__interrupt__"), "{}", client.seen);
    read_all(&mut client).await;
    client.send("POST", "/threads/t/runs/stream", run(json!({ "command": { "resume": "good" } }))).await;
    assert!(client.seen.contains("is wrong"), "{}", client.seen);
    read_all(&mut client).await;

    // Requests that fail, with the secret in them.
    let misfit = run(json!({ "input": { "key": [KEY] } }));
    client.send("POST", "/threads/t/runs/wait", misfit).await;
    client.send("POST", "/threads/t/state", json!({ "values": { "key": { KEY: 1 } } })).await;
    client.send("POST", "/threads/t/state", json!({ "values": { "key": KEY } })).await;
    let goto = json!({ "command": { "update": { "key": KEY }, "goto": "review" } });
    client.send("POST", "/threads/t/runs/wait", run(goto)).await;
    if cfg!(feature = "crons") {
        let cron = run(json!({ "input": { "key": KEY }, "schedule": "0 0 1 1 *" }));
        client.send("POST", "/threads/t/runs/crons", cron).await;
        client.send("POST", "/runs/crons/search", json!({})).await;
    }
    read_all(&mut client).await;
    let start = json!({ "id": 1, "method": "state.get", "params": {} });
    client.send("POST", "/threads/t/commands", start).await;
    for path in [
        "/openapi.json",
        "/docs",
        "/metrics",
        "/info",
        "/assistants/vault/schemas",
        "/assistants/vault/graph",
    ] {
        client.send("GET", path, Value::Null).await;
    }
    #[cfg(feature = "webhooks")]
    for status in ["success", "error", "error"] {
        let body = receiver.next().await.body;
        assert_eq!(body["status"], status, "{body}");
        let text = body.to_string();
        assert!(text.contains("<secret>") && !text.contains("canary"), "{text}");
    }
    let logged = logged.text();
    assert!(!logged.contains("canary"), "{logged}");
}

/// Reads the thread and its runs in every form.
async fn read_all(client: &mut Client) {
    for path in ["/threads/t", "/threads/t/state?subgraphs=true", "/threads/t/history", "/threads/t/runs"] {
        client.send("GET", path, Value::Null).await;
    }
    client.send("POST", "/threads/search", json!({})).await;
    let runs = client.send("GET", "/threads/t/runs", Value::Null).await;
    for run in runs.as_array().unwrap() {
        let id = run["run_id"].as_str().unwrap();
        client.send("GET", &format!("/threads/t/runs/{id}"), Value::Null).await;
        client.send("GET", &format!("/threads/t/runs/{id}/join"), Value::Null).await;
        client.replayed(id).await;
    }
}

impl Client {
    /// Reads the stored events of a run.
    async fn replayed(&mut self, run: &str) {
        let request = request("GET", &format!("/threads/t/runs/{run}/stream"))
            .header("x-api-key", TOKEN)
            .header("last-event-id", "-1");
        let response = send(&self.router, request.body(Body::empty()).unwrap()).await;
        let text = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let text = String::from_utf8_lossy(&text);
        assert!(!text.contains("canary"), "{text}");
    }
}
