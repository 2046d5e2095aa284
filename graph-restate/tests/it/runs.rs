//! Runs, questions, answers and cancellation.

use std::path::Path;

use serde_json::{Value, json};
use superstep::run::{CancellationToken, Graph, ToAnyGraph};
use superstep::state::State;
use superstep_restate::{Endpoint, restate};
use tokio::task::JoinHandle;

use crate::graphs::{Article, count, lines, review, until};
use crate::server::Server;

/// An endpoint in this process.
struct Here {
    stop: CancellationToken,
    ended: JoinHandle<()>,
}

impl Here {
    /// Starts an endpoint, and registers it.
    async fn start(server: &Server, endpoint: Endpoint) -> Self {
        let listening = endpoint.listen("127.0.0.1:0").await.expect("a free port");
        let registered = listening.register(&server.admin(), None);
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let ended = tokio::spawn(listening.until(async move { stopped.cancelled().await }));
        registered.await.expect("the server takes it");
        Self { stop, ended }
    }

    async fn stop(self) {
        self.stop.cancel();
        self.ended.await.expect("it ends");
    }
}

/// Returns the history of a thread, without what differs between runs.
async fn history(graph: &Graph<impl State>, thread: &str) -> Vec<Value> {
    let history = graph.thread(thread).history().expect("it has a store");
    let all = history.collect().await.expect("it reads");
    all.iter().map(|past| json!([past.step, past.source, past.ran, past.next])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_with_questions_has_the_history_of_an_undisturbed_one() {
    let Some(server) = Server::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let articles = review(folder.path()).await;
    let here = Here::start(&server, restate(&[&articles])).await;

    let (status, asked) = server.call("review/rust/run", &json!({ "title": "Rust" })).await;
    eprintln!("{asked:#}");
    assert_eq!(status, 200, "{asked}");
    assert_eq!(asked["status"], "interrupted");
    assert_eq!(asked["interrupts"][0]["question"], "Rust: draft 1");
    let (_, asked) = server.call("review/rust/answer", &json!("Revise")).await;
    assert_eq!(asked["interrupts"][0]["question"], "Rust: draft 2", "{asked}");
    let id = asked["interrupts"][0]["id"].as_str().expect("an id");
    let (_, finished) = server.call("review/rust/answers", &json!({ id: "Accept" })).await;
    assert_eq!(finished["status"], "finished", "{finished}");
    assert_eq!(finished["values"]["drafts"], json!(["Rust: draft 1", "Rust: draft 2"]));
    here.stop().await;
}
