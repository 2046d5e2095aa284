//! Stores that fail: a file that another program has locked, a damaged one, and a full one.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use rusqlite::Connection;
use serde_json::{Value, json};
use superstep_checkpoint::SqliteSaver;
use superstep_core::checkpoint::StoreError;
use superstep_core::graph::{END, START, StateGraph};
use tokio::sync::Semaphore;
use tracing::Level;

use super::canary::Logged;
use super::contract::Contract;
use super::tenants::World;
use super::*;
use crate::Resource;
use crate::api::endpoints;
use crate::wire::Failure;

const TEXT: &str = "the store cannot be used at the moment; try again";

/// Opens a file whose calls wait a moment for other programs. The default is 30 seconds, `SqliteOptions::busy_limit`.
async fn impatient(file: &Path) -> SqliteSaver {
    SqliteSaver::options().busy_limit(Duration::from_millis(50)).open(file).await.unwrap()
}

/// Locks a file for writing, as another program does, until this is dropped.
fn locked(file: &Path) -> Connection {
    let connection = Connection::open(file).unwrap();
    connection.execute_batch("BEGIN EXCLUSIVE").unwrap();
    connection
}

async fn sent(router: &Router, method: &str, path: &str, body: &Value) -> Response {
    let request = request(method, path).header("content-type", "application/json");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    send(router, request.body(body.into()).unwrap()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_file_is_503_for_requests_that_write_and_others_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("locked.db");
    let (router, workers) = serve(&[&stories().checkpointer(impatient(&file).await)]).router().unwrap();
    workers.start();
    let router = contract::checked(router);
    let run = json!({ "assistant_id": "stories", "input": { "topic": "Rust" } });
    assert_eq!(sent(&router, "POST", "/threads", &json!({ "thread_id": "t" })).await.status(), 200);
    assert_eq!(sent(&router, "POST", "/threads/t/runs/wait", &run).await.status(), 200);
    let answer = json!({ "assistant_id": "stories", "command": { "resume": "yes" } });
    let writes = [
        ("POST", "/threads", json!({})),
        ("PATCH", "/threads/t", json!({ "metadata": { "a": 1 } })),
        ("POST", "/threads/t/state", json!({ "values": { "topic": "Go" } })),
        ("POST", "/threads/t/runs", run.clone()),
        ("POST", "/threads/t/runs/wait", answer.clone()),
        ("POST", "/threads/t/runs/stream", answer.clone()),
        ("POST", "/runs/wait", run),
        ("POST", "/assistants", json!({ "graph_id": "stories" })),
        ("DELETE", "/threads/t", Value::Null),
    ];
    let lock = locked(&file);
    for (method, path, body) in &writes {
        let response = sent(&router, method, path, body).await;
        assert_eq!(response.headers()["retry-after"], "1", "{method} {path}");
        assert_eq!(error(response).await, (503, TEXT.to_owned()), "{method} {path}");
    }
    for path in ["/threads/t", "/threads/t/state", "/threads/t/history", "/threads/t/runs"] {
        assert_eq!(sent(&router, "GET", path, &Value::Null).await.status(), 200, "{path}");
    }
    drop(lock);
    let runs = body(sent(&router, "GET", "/threads/t/runs", &Value::Null).await).await;
    assert_eq!(runs.as_array().unwrap().len(), 1, "a refused run does not exist");
    let values = body(sent(&router, "POST", "/threads/t/runs/wait", &answer).await).await;
    assert_eq!(values["lines"], json!(["about Rust", "yes"]), "the question was still open");
}

/// A run that cannot be stored ends as an error, once its end can be stored.
#[tokio::test]
async fn a_run_whose_store_is_locked_ends_as_an_error_and_its_thread_continues() {
    let logged = Logged::at(Level::WARN);
    let _guard = tracing::subscriber::set_default(logged.clone());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("locked.db");
    let gate = Arc::new(Semaphore::new(0));
    let waits = {
        let gate = Arc::clone(&gate);
        let mut g = StateGraph::<Story>::new("waits");
        let wait = g.node("wait", move || {
            let gate = Arc::clone(&gate);
            async move {
                gate.acquire().await.unwrap().forget();
                Story::update().lines(["waited"])
            }
        });
        g.edge(START, wait);
        g.edge(wait, END);
        g.compile().unwrap().checkpointer(impatient(&file).await)
    };
    let (router, workers) = serve(&[&waits]).router().unwrap();
    workers.start();
    let router = contract::checked(router);
    assert_eq!(sent(&router, "POST", "/threads", &json!({ "thread_id": "t" })).await.status(), 200);
    let run = json!({ "assistant_id": "waits", "input": { "topic": "Rust" }, "stream_resumable": true });
    let mut stream =
        sent(&router, "POST", "/threads/t/runs/stream", &run).await.into_body().into_data_stream();
    let mut text = String::new();
    while !text.contains("event: values") {
        text += std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap();
    }
    let lock = locked(&file);
    gate.add_permits(1);
    while !logged.text().contains("the end of a run could not be stored") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(lock);
    while let Some(part) = stream.next().await {
        text += std::str::from_utf8(&part.unwrap()).unwrap();
    }
    let runs = body(sent(&router, "GET", "/threads/t/runs", &Value::Null).await).await;
    let thread = body(sent(&router, "GET", "/threads/t", &Value::Null).await).await;
    assert_eq!((&runs[0]["status"], &thread["status"]), (&json!("error"), &json!("error")), "{text}");
    let failed = json!({ "error": "StoreError", "message": thread["error"]["message"] });
    assert!(text.contains(&format!("event: error\ndata: {failed}\n")), "{text}");
    assert_eq!(thread["error"], failed);
    let joined = format!("/threads/t/runs/{}/join", runs[0]["run_id"].as_str().unwrap());
    let joined = body(sent(&router, "GET", &joined, &Value::Null).await).await;
    assert_eq!(joined, json!({ "__error__": failed }));
    gate.add_permits(1);
    let again = json!({ "assistant_id": "waits", "input": null });
    let values = body(sent(&router, "POST", "/threads/t/runs/wait", &again).await).await;
    assert_eq!(values["lines"], json!(["waited"]));
}

/// Removes all tables of a file.
fn damage(file: &Path) {
    let connection = Connection::open(file).unwrap();
    let named = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let mut statement = connection.prepare(named).unwrap();
    let names = statement.query_map([], |row| row.get(0)).unwrap();
    let names: Vec<String> = names.collect::<Result<_, _>>().unwrap();
    for name in names {
        // The index of words has tables of its own, which go with it.
        connection.execute_batch(&format!("DROP TABLE IF EXISTS {name}")).unwrap();
    }
}

/// The endpoints that do not use the store.
const STORELESS: [&str; 5] = ["/", "/ok", "/info", "/openapi.json", "/docs"];

/// A store that failed used to look like a run or a thread that does not exist.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_of_a_damaged_store_is_503_and_shows_nothing_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("damaged.db");
    let saver = SqliteSaver::open(&file).await.unwrap();
    let store = saver.store().await.unwrap();
    let stories = stories().checkpointer(saver).store(store);
    let world = World::of(serve(&[&stories]), &Contract::new()).await;
    damage(&file);
    let mut wrong = Vec::new();
    for endpoint in endpoints() {
        let is_missing = endpoint.resource == Resource::Crons && !cfg!(feature = "crons");
        if is_missing || endpoint.gives == crate::api::Gives::Nothing(101) {
            continue;
        }
        let mut path = world.path(&endpoint);
        path += match (endpoint.path, endpoint.method) {
            ("/store/items", "get") => "?namespace=notes&key=k",
            ("/ok" | "/", _) => "?check_db=1",
            _ => "",
        };
        let body = endpoint.takes.map_or(Value::Null, |schema| world.body(schema));
        let got = world.sent("ada", &endpoint.method.to_uppercase(), &path, body).await;
        let text = got.body["detail"].as_str().or(got.body["message"].as_str()).unwrap_or_default();
        let expected = match endpoint.path {
            path if path.ends_with("/commands") => (200, TEXT),
            "/ok" | "/" => (503, TEXT),
            path if STORELESS.contains(&path) => (200, text),
            _ => (503, TEXT),
        };
        if (got.status, text) != expected {
            wrong.push(format!("{} {path}: {} {}", endpoint.method, got.status, got.body));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_whose_store_fails_ends_with_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("damaged.db");
    let stories = stories().checkpointer(SqliteSaver::open(&file).await.unwrap());
    let router = router(serve(&[&stories]));
    assert_eq!(sent(&router, "POST", "/threads", &json!({ "thread_id": "t" })).await.status(), 200);
    let open = sent(&router, "GET", "/threads/t/stream", &Value::Null).await;
    assert_eq!(open.status(), 200);
    damage(&file);
    let text = axum::body::to_bytes(open.into_body(), usize::MAX).await.unwrap();
    let failed = json!({
        "error": "StoreError", "message": "the log cannot be read at the moment; connect again to continue",
    });
    assert_eq!(String::from_utf8_lossy(&text), format!("event: error\ndata: {failed}\n\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_store_is_503_and_the_client_may_try_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("full.db");
    drop(SqliteSaver::open(&file).await.unwrap());
    let pages = u32::try_from(file.metadata().unwrap().len() / 4096).unwrap() + 24;
    let saver = SqliteSaver::options().max_pages(pages).open(&file).await.unwrap();
    let stories = stories().checkpointer(saver);
    let router = router(serve(&[&stories]));
    for _ in 0..2000 {
        let body = json!({ "metadata": { "text": "x".repeat(3000) } });
        let response = sent(&router, "POST", "/threads", &body).await;
        if response.status() != 200 {
            assert_eq!(response.headers()["retry-after"], "1");
            assert_eq!(error(response).await, (503, TEXT.to_owned()));
            let found = sent(&router, "POST", "/threads/search", &json!({})).await;
            assert_eq!(found.status(), 200, "reading still works");
            return;
        }
    }
    panic!("the store was never full");
}

/// Locked and read-only files: the errors that savers return for them.
#[test]
fn a_store_that_is_locked_or_cannot_be_written_is_503() {
    for error in [StoreError::Busy, StoreError::Io("attempt to write a readonly database".into())] {
        let failure = Failure::from(error);
        assert_eq!((failure.status, failure.retry_after), (503, Some(1)));
        assert!(!failure.detail.contains("readonly"), "clients do not see the store's own text");
    }
}
