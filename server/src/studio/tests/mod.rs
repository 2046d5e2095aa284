//! Tests of the studio: requests in, responses out, on real files.

mod assets;
mod command;
mod documents;
mod events;
mod forged;
mod read_only;
mod writes;

use std::io::Error;
use std::path::{Path, PathBuf};

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep_checkpoint::{CheckpointFile, SqliteSaver};
use superstep_cli::{Documents, Look, Screen};
use superstep_core::graph::{END, START, StateGraph};
use superstep_core::node::{Ask, Effects, Snapshot};
use superstep_core::reducer::Append;
use superstep_core::run::{AnyGraph, Graph, Lens};
use superstep_core::state::{State, Update};
use tempfile::TempDir;
use tower::ServiceExt;

use super::{Program, pages};
use crate::Token;
use crate::serve::Workers;
use crate::service::{Service, ServiceOptions};

const TOKEN: &str = "s3cret";

/// Names with values: the parameters of a query, or headers.
type Pairs<'a> = &'a [(&'a str, &'a str)];

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Essay {
    topic: String,
    #[reducer(Append)]
    facts: Vec<String>,
    draft: String,
    rounds: u32,
    #[state(secret)]
    token: String,
}

#[derive(State, Clone, Default, Serialize, Deserialize)]
struct Search {
    query: String,
    #[reducer(Append)]
    found: Vec<String>,
}

/// Returns the outcome of a model call.
fn reply(text: &str) -> Value {
    let usage = json!({ "input_tokens": 12, "output_tokens": 3, "cache_read_tokens": 4 });
    json!({ "content": text, "model": "quill-1", "usage": usage, "elapsed_ms": 7 })
}

/// A graph with a subgraph that calls a model, a node that fails on the topic `trouble` and never ends on `slow`, and a
/// question.
fn essays(saver: SqliteSaver) -> Graph<Essay> {
    let mut g = StateGraph::<Search>::new("search");
    let find = g.node("find", async |search: Snapshot<Search>, fx: Effects| {
        let query = search.query.clone();
        let said = fx.run("model", || async move { Ok::<_, Error>(reply(&query)) }).await?;
        Ok::<_, Error>(Search::update().found([format!("all about {}", said["content"])]))
    });
    g.edge(START, find);
    g.edge(find, END);
    let search = g.compile().unwrap();

    let mut g = StateGraph::<Essay>::new("essay");
    let lens = Lens::new().give(Essay::TOPIC, Search::QUERY).share(Essay::FACTS, Search::FOUND);
    let research = g.subgraph("research", search, lens);
    let write = g.node("write", write);
    let review = g.node("review", async |essay: Snapshot<Essay>, editor: Ask<String, String>| {
        let verdict = editor.ask(essay.draft.clone()).await;
        Essay::update().facts([verdict])
    });
    g.edge(START, research);
    g.edge(research, write);
    g.edge(write, review);
    g.edge(review, END);
    g.compile().unwrap().checkpointer(saver)
}

async fn write(essay: Snapshot<Essay>, fx: Effects) -> Result<Update<Essay>, Error> {
    match essay.topic.as_str() {
        "trouble" => return Err(Error::other("the pen is broken")),
        "slow" => std::future::pending().await,
        _ => {}
    }
    let said = fx.run("model", || async { Ok::<_, Error>(reply("a draft")) }).await?;
    let text = said["content"].as_str().unwrap_or_default();
    Ok(Essay::update().draft(format!("{text} on {}", essay.topic)).rounds(essay.rounds + 1))
}

fn essay(topic: &str) -> Essay {
    Essay { topic: topic.into(), token: "sesame street".into(), ..Essay::default() }
}

/// A file with the threads `rust`, which was answered; `zig`, a fork of it with another topic, which waits; and
/// `trouble`, which has failed. `rust@3` is named.
struct Written {
    path: PathBuf,
    folder: TempDir,
}

async fn written() -> Written {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("essays.db");
    let essays = essays(SqliteSaver::open(&path).await.unwrap());
    let rust = essays.thread("rust");
    rust.run(essay("Rust")).await.unwrap().interrupted().unwrap();
    rust.answer("good").await.unwrap().finished().unwrap();
    let zig = rust.before_named("write").await.unwrap().fork("zig").await.unwrap();
    zig.edit(Essay::update().topic("Zig")).await.unwrap();
    zig.resume().await.unwrap().interrupted().unwrap();
    essays.thread("trouble").run(essay("trouble")).await.unwrap_err();
    drop((rust, zig, essays));
    Written { path, folder }
}

/// Returns the document that the program `superstep` prints.
fn printed(words: &[&str]) -> Value {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let screen = Screen { out: &mut out, err: &mut err, look: Look::PIPED };
    superstep_cli::run(["superstep"].iter().chain(words).chain(&["--json"]), &[], screen);
    assert!(err.is_empty(), "{words:?}: {}", String::from_utf8_lossy(&err));
    serde_json::from_slice(&out).unwrap()
}

/// A client of a studio.
struct Page(Router);

impl Page {
    /// Serves a file that is only read.
    fn of(path: &Path) -> Self {
        let documents = Documents::open(CheckpointFile::at(path)).unwrap();
        Self(pages(documents, None, Token::new(TOKEN).unwrap()).unwrap().0)
    }

    /// Serves the file of a program's graphs.
    fn lent(graphs: &[AnyGraph]) -> (Self, Workers) {
        let documents = Documents::of_graphs(graphs).unwrap();
        let service = Service::new(graphs.to_vec(), ServiceOptions::default()).unwrap();
        let workers = Workers { service: service.clone() };
        workers.start();
        let program = Program { graphs: graphs.to_vec(), service };
        (Self(pages(documents, Some(program), Token::new(TOKEN).unwrap()).unwrap().0), workers)
    }

    async fn send(&self, request: Request<Body>) -> Response {
        self.0.clone().oneshot(request).await.unwrap()
    }

    /// Asks a route that reads, whose query has these parameters.
    async fn get(&self, route: &str, query: Pairs<'_>) -> (u16, Value) {
        let request = request("GET", &address(route, query)).body(Body::empty()).unwrap();
        told(self.send(request).await).await
    }

    /// Returns a document.
    async fn read(&self, route: &str, query: Pairs<'_>) -> Value {
        let (status, document) = self.get(route, query).await;
        assert_eq!(status, 200, "{route} {query:?}: {document}");
        document
    }

    async fn post(&self, route: &str, body: Value) -> (u16, Value) {
        let request = request("POST", &format!("/studio/api/{route}"));
        let request = request.header("content-type", "application/json");
        told(self.send(request.body(Body::from(body.to_string())).unwrap()).await).await
    }
}

fn address(route: &str, query: Pairs<'_>) -> String {
    let coded = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let query = query.iter().map(|(name, value)| format!("{name}={}", coded(value)));
    format!("/studio/api/{route}?{}", query.collect::<Vec<_>>().join("&"))
}

/// A request of the page.
fn request(method: &str, path: &str) -> axum::http::request::Builder {
    let request = Request::builder().method(method).uri(path).header("host", "localhost:2025");
    request.header("authorization", format!("Bearer {TOKEN}"))
}

async fn told(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into()))
}
