//! A server with a run that pauses after its effect.

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cluster::Cluster;
use crate::http::{Response, send};
use crate::place::Place;
use crate::server::Started;

pub(crate) const THREAD: &str = "/threads/01a20bb1-0000-7000-8000-000000000001";

/// The server and its run.
pub(crate) struct Paused {
    pub(crate) server: Started,
    pub(crate) place: Place,
    pub(crate) stream: Response,
    /// The path of the run.
    pub(crate) run: String,
    _folder: TempDir,
}

pub(crate) async fn answered(server: &Started, method: &str, path: &str, body: Value) -> Response {
    let port = server.port.expect("the server runs");
    send(port, method, path, None, &body).await.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
}

/// Returns the status and the text of an error.
pub(crate) async fn error(response: Response) -> (u16, String) {
    let status = response.status;
    let body = response.json().await.expect("a document");
    (status, body["detail"].as_str().expect("a text").to_owned())
}

pub(crate) fn request(token: &str, pause: Duration) -> Value {
    let input =
        json!({ "token": token, "pause_ms": u64::try_from(pause.as_millis()).expect("a short time") });
    json!({ "assistant_id": "work", "input": input, "stream_resumable": true, "if_not_exists": "create" })
}

impl Paused {
    /// Starts a server whose supersteps have `grace` seconds at its end, and a run with this pause.
    pub(crate) async fn new(grace: u64, pause: Duration) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let place = Place::file(folder.path());
        Self::at(place, folder, grace, pause).await
    }

    /// Starts a server on a database.
    pub(crate) async fn on_postgres(cluster: &Cluster, grace: u64, pause: Duration) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let place = Place::postgres(folder.path(), cluster);
        Self::at(place, folder, grace, pause).await
    }

    async fn at(place: Place, folder: TempDir, grace: u64, pause: Duration) -> Self {
        let server = Started::with_grace(&place, grace);
        let path = format!("{THREAD}/runs/stream");
        let stream = answered(&server, "POST", &path, request("paused", pause)).await;
        let run = format!("{THREAD}/runs/{}", stream.run.as_deref().expect("a run"));
        recorded(&place, 1).await;
        Self { server, place, stream, run, _folder: folder }
    }

    /// Reads the stream to its end, and returns the name of the error with which it ends.
    pub(crate) async fn reason(&mut self) -> Value {
        let mut last = Value::Null;
        while let Some(event) = self.stream.event().await.expect("the stream does not break off") {
            last = event.data["error"].clone();
        }
        last
    }

    /// Starts the server again, and checks that it finishes the run without a second effect. Returns the attempts of
    /// the run and the finished nodes, in their order.
    pub(crate) async fn continued(&self) -> String {
        let server = Started::new(&self.place);
        let values = answered(&server, "GET", &format!("{}/join", self.run), Value::Null).await;
        let values = values.json().await.expect("values");
        let effects = std::fs::read_to_string(self.place.effects()).expect("the effect has happened");
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

/// Waits until so many effects have happened and the outcome of the last one is recorded.
pub(crate) async fn recorded(place: &Place, count: usize) {
    while std::fs::read_to_string(place.effects()).unwrap_or_default().lines().count() < count {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // The outcome is recorded a moment later, and nothing tells it outside of the server.
    tokio::time::sleep(Duration::from_millis(500)).await;
}
