//! Tests of the whole server: requests in, responses out.

pub(crate) mod canary;
#[expect(dead_code, reason = "the tests of the Postgres saver use the rest")]
#[path = "../../../graph-checkpoint/tests/it/postgres/cluster.rs"]
mod cluster;
mod contract;
mod errors;
mod flow;
mod fuzz;
mod guard;
mod mcp;
mod read_only;
#[cfg(feature = "webhooks")]
pub(crate) mod receiver;
mod sockets;
mod stores;
mod tenants;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_core::checkpoint::MemorySaver;
use superstep_core::graph::{END, START, StateGraph};
use superstep_core::node::{Ask, Snapshot};
use superstep_core::reducer::Append;
use superstep_core::run::Graph;
use superstep_core::state::State;
use superstep_core::store::MemoryStore;
use tower::ServiceExt;

use crate::{Listening, Server, serve};

#[derive(State, Clone, Default, Serialize, Deserialize)]
struct Story {
    topic: String,
    #[reducer(Append)]
    lines: Vec<String>,
}

/// A graph that writes a line, asks if it is good, and writes the answer.
fn stories() -> Graph<Story> {
    let mut g = StateGraph::<Story>::new("stories");
    let write = g.node("write", |story: Snapshot<Story>| async move {
        Story::update().lines([format!("about {}", story.topic)])
    });
    let review = g.node("review", async |ask: Ask<String, String>| {
        let verdict = ask.ask("Is it good?".to_owned()).await;
        Story::update().lines([verdict])
    });
    g.edge(START, write);
    g.edge(write, review);
    g.edge(review, END);
    g.compile().unwrap().checkpointer(MemorySaver::new()).store(MemoryStore::new())
}

fn server() -> Server {
    serve(&[&stories()])
}

fn router(server: Server) -> Router {
    contract::checked(server.router().unwrap().0)
}

/// Binds a server whose responses are checked.
async fn listen(server: Server) -> Listening {
    let mut listening = server.listen("127.0.0.1:0").await.unwrap();
    listening.router = contract::checked(listening.router);
    listening
}

/// A request from this machine.
fn request(method: &str, path: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri(path).header("host", "localhost:2024")
}

async fn send(router: &Router, request: Request<Body>) -> Response {
    router.clone().oneshot(request).await.unwrap()
}

async fn body(response: Response) -> Value {
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned().into())
}

/// Returns the status and the text of an error.
async fn error(response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    let body = body(response).await;
    (status, body["detail"].as_str().unwrap_or_default().to_owned())
}
