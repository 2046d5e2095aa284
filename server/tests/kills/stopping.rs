//! SIGTERM: the server starts no more runs, ends its streams, and gives unfinished runs back.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::{Response, send};
use crate::server::{Started, effects};

const THREAD: &str = "/threads/01a20bb1-0000-7000-8000-000000000001";

/// A server with a run that pauses after its effect.
struct Paused {
    server: Started,
    file: PathBuf,
    stream: Response,
    /// The path of the run.
    run: String,
    _folder: TempDir,
}

async fn answered(server: &Started, method: &str, path: &str, body: Value) -> Response {
    let port = server.port.expect("the server runs");
    send(port, method, path, None, &body).await.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
}

/// Returns the status and the text of an error.
async fn error(response: Response) -> (u16, String) {
    let status = response.status;
    let body = response.json().await.expect("a document");
    (status, body["detail"].as_str().expect("a text").to_owned())
}

fn request(token: &str, pause: Duration) -> Value {
    let input =
        json!({ "token": token, "pause_ms": u64::try_from(pause.as_millis()).expect("a short time") });
    json!({ "assistant_id": "work", "input": input, "stream_resumable": true, "if_not_exists": "create" })
}

impl Paused {
    /// Starts a server whose supersteps have `grace` seconds at its end, and a run with this pause.
    async fn new(grace: u64, pause: Duration) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("runs.db");
        let server = Started::with_grace(&file, grace);
        let path = format!("{THREAD}/runs/stream");
        let stream = answered(&server, "POST", &path, request("paused", pause)).await;
        let run = format!("{THREAD}/runs/{}", stream.run.as_deref().expect("a run"));
        while !is_recorded(&file).await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Self { server, file, stream, run, _folder: folder }
    }

    /// Reads the stream to its end, and returns the name of the error with which it ends.
    async fn reason(&mut self) -> Value {
        let mut last = Value::Null;
        while let Some(event) = self.stream.event().await.expect("the stream does not break off") {
            last = event.data["error"].clone();
        }
        last
    }

    /// Starts the server again, and checks that it finishes the run without a second effect. Returns the attempts of
    /// the run and the finished nodes, in their order.
    async fn continued(&self) -> String {
        let server = Started::new(&self.file);
        let values = answered(&server, "GET", &format!("{}/join", self.run), Value::Null).await;
        let values = values.json().await.expect("values");
        let effects = std::fs::read_to_string(effects(&self.file)).expect("the effect has happened");
        assert_eq!(values["lines"], json!(["paused first", effects.trim_end(), "paused last"]));
        let path = format!("{}/stream?stream_mode=updates", self.run);
        let port = server.port.expect("the server runs");
        let mut stream = send(port, "GET", &path, Some("-1"), &Value::Null).await.expect("a stream");
        let mut told = Vec::new();
        while let Some(event) = stream.event().await.expect("the stream ends") {
            match &event.data["attempt"] {
                Value::Null => told.extend(event.data.as_object().expect("an update").keys().cloned()),
                attempt => told.push(attempt.to_string()),
            }
        }
        told.join(" ")
    }
}

/// Returns `true` once the effect has happened and its outcome is recorded.
async fn is_recorded(file: &Path) -> bool {
    let has_happened = effects(file).exists();
    if has_happened {
        // The outcome is recorded a moment later, and nothing tells it outside of the server.
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    has_happened
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_server_finishes_its_superstep_and_refuses_runs() {
    let mut paused = Paused::new(30, Duration::from_secs(3)).await;
    paused.server.terminate();
    assert_eq!(paused.reason().await, "ServerStopped");
    let late =
        answered(&paused.server, "POST", &format!("{THREAD}/runs"), request("late", Duration::ZERO)).await;
    let (status, text) = error(late).await;
    assert_eq!((status, text.contains("starts no further run")), (503, true), "{text}");
    let join = answered(&paused.server, "GET", &format!("{}/join", paused.run), Value::Null).await;
    let (status, text) = error(join).await;
    assert_eq!((status, text.contains("join the run")), (503, true), "{text}");
    assert_eq!(paused.server.ended(), Some(0));
    assert_eq!(paused.continued().await, "1 first act 2 last");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_superstep_that_takes_longer_than_the_grace_is_given_back() {
    let mut paused = Paused::new(1, Duration::from_secs(600)).await;
    let begun = Instant::now();
    paused.server.terminate();
    assert_eq!(paused.server.ended(), Some(0));
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(paused.continued().await, "1 first 2 act last");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_stops_at_once_and_the_run_is_continued() {
    let mut paused = Paused::new(600, Duration::from_secs(600)).await;
    paused.server.terminate();
    assert_eq!(paused.reason().await, "ServerStopped");
    let begun = Instant::now();
    paused.server.terminate();
    assert_eq!(paused.server.ended(), Some(1));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(paused.continued().await, "1 first 2 act last");
}
