//! A server that only reads: a checkpoint file or a database without the program that wrote it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use futures_util::StreamExt;
use serde_json::{Map, Value, json};
use superstep_checkpoint::{PostgresSaver, ReadOnlySaver, SqliteSaver};
use superstep_core::checkpoint::Checkpointer;
use superstep_core::graph::{END, START, StateGraph};
use superstep_core::run::{AnyGraph, Graph, ToAnyGraph};
use superstep_core::state::State;
use tempfile::TempDir;
use tokio::sync::Notify;

use super::cluster::Cluster;
use super::contract::checked;
use super::sockets::ALONE;
use super::{Story, body, error, request, send, stories};
use crate::api::endpoints;
use crate::{Action, serve};

/// A folder with a file that a program and its server have written.
struct Written {
    folder: TempDir,
    path: PathBuf,
    /// A run that has ended.
    run: String,
}

/// A schema that a program and its server have written, and the run that has ended.
struct InDatabase {
    cluster: Arc<Cluster>,
    schema: &'static str,
    run: String,
}

async fn graph_in(path: &Path) -> Graph<Story> {
    let saver = SqliteSaver::open(path).await.unwrap();
    let store = saver.store().await.unwrap();
    stories().checkpointer(saver).store(store)
}

async fn graph_in_schema(cluster: &Cluster, schema: &str) -> Graph<Story> {
    let options = PostgresSaver::options().schema(schema).connections(4);
    let saver = options.open(cluster.url("superstep")).await.unwrap();
    let store = saver.store();
    stories().checkpointer(saver).store(store)
}

async fn run_alone(graph: &Graph<Story>, thread: &str, topic: &str) {
    graph.thread(thread).run(Story::update().topic(topic)).await.unwrap().interrupted().unwrap();
}

impl Written {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stories.db");
        let run = write(graph_in(&path).await).await;
        Self { folder, path, run }
    }

    /// Returns the names and the bytes of all files.
    fn bytes(&self) -> BTreeMap<String, Vec<u8>> {
        bytes_in(self.folder.path())
    }
}

impl InDatabase {
    /// Writes the schema, which the user `guest` may read; `None` where Postgres is not installed.
    async fn new(schema: &'static str) -> Option<Self> {
        // Where the network is tested, there is no user but root, as whom Postgres refuses to run.
        let cluster = if std::env::var_os(ALONE).is_some() { None } else { Cluster::own() }?;
        let run = write(graph_in_schema(&cluster, schema).await).await;
        cluster.execute(&format!(
            "CREATE ROLE guest LOGIN; GRANT USAGE ON SCHEMA {schema} TO guest; \
             GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO guest"
        ));
        Some(Self { cluster, schema, run })
    }

    /// Opens the schema on a server as a user who only reads.
    async fn reader(&self, on: &Cluster) -> ReadOnlySaver {
        PostgresSaver::options().schema(self.schema).open_read_only(on.url("guest")).await.unwrap()
    }

    /// Returns all rows.
    fn rows(&self) -> String {
        let sql = format!("SELECT schema_to_xml('{}', true, false, '')", self.schema);
        self.cluster.execute(&sql)
    }
}

/// Has a program and its server write threads, a run, an assistant and an item. Returns the run.
async fn write(graph: Graph<Story>) -> String {
    let (router, workers) = serve(&[&graph]).router().unwrap();
    workers.start();
    let metadata = json!({ "note": "served" });
    post(&router, "/threads", json!({ "thread_id": "served", "metadata": metadata })).await;
    let run = json!({ "assistant_id": "stories", "input": { "topic": "Rust" }, "stream_resumable": true });
    post(&router, "/threads/served/runs/wait", run).await;
    let runs = get(&router, "/threads/served/runs").await;
    let run = runs[0]["run_id"].as_str().unwrap().to_owned();
    let assistant = json!({ "graph_id": "stories", "assistant_id": "other", "name": "Other" });
    post(&router, "/assistants", assistant).await;
    let item = json!({ "namespace": ["notes"], "key": "k", "value": { "text": "kept" } });
    assert_eq!(sent(&router, "PUT", "/store/items", item).await.status(), 204);
    workers.shutdown(Duration::from_secs(5)).await;
    drop(router);
    // The server would have given it a row.
    run_alone(&graph, "alone", "Go").await;
    run
}

fn bytes_in(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let named = |file: std::fs::DirEntry| {
        (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap())
    };
    files.map(named).collect()
}

async fn serving(path: &Path) -> Router {
    serving_on(ReadOnlySaver::open(path).await.unwrap()).await
}

/// Serves a file or a database as the program `superstep` does.
async fn serving_on(opened: ReadOnlySaver) -> Router {
    let saver: Arc<dyn Checkpointer> = Arc::new(opened.clone());
    let stored =
        |description| AnyGraph::stored(description, Arc::clone(&saver)).unwrap().store(opened.clone());
    let graphs: Vec<AnyGraph> = opened.graphs().await.unwrap().iter().map(stored).collect();
    let graphs: Vec<&dyn ToAnyGraph> = graphs.iter().map(|graph| graph as _).collect();
    let (router, workers) = serve(&graphs).read_only().router().unwrap();
    workers.start();
    checked(router)
}

async fn sent(router: &Router, method: &str, path: &str, body: Value) -> axum::response::Response {
    let request = request(method, path).header("content-type", "application/json");
    let text = if body.is_null() { String::new() } else { body.to_string() };
    send(router, request.body(Body::from(text)).unwrap()).await
}

async fn get(router: &Router, path: &str) -> Value {
    let response = sent(router, "GET", path, Value::Null).await;
    assert_eq!(response.status(), 200, "{path}");
    body(response).await
}

async fn post(router: &Router, path: &str, sent_body: Value) -> Value {
    let response = sent(router, "POST", path, sent_body).await;
    assert_eq!(response.status(), 200, "{path}");
    body(response).await
}

/// The endpoints that are not read with GET and yet only read.
const READING: [&str; 13] = [
    "/assistants/count",
    "/assistants/search",
    "/assistants/{assistant_id}/versions",
    "/runs/crons/count",
    "/runs/crons/search",
    "/store/items/search",
    "/store/namespaces",
    "/threads/count",
    "/threads/search",
    "/threads/{thread_id}/history",
    "/threads/{thread_id}/state/checkpoint",
    "/threads/{thread_id}/stream",
    "/threads/{thread_id}/stream/events",
];

/// The table of the router says which routes write. Whoever adds one adds it to the table with its action.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_reads_or_is_refused_and_no_byte_of_the_folder_changes() {
    let written = Written::new().await;
    let before = written.bytes();
    assert_eq!(before.keys().collect::<Vec<_>>(), ["stories.db"]);
    every_route_reads_or_is_refused(serving(&written.path).await, &written.run).await;
    assert_eq!(written.bytes(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_on_a_database_reads_or_is_refused_for_a_user_who_only_reads() {
    let Some(written) = InDatabase::new("routes").await else { return };
    let before = written.rows();
    assert!(before.contains("served"), "{before}");
    every_route_reads_or_is_refused(serving_on(written.reader(&written.cluster).await).await, &written.run)
        .await;
    assert_eq!(written.rows(), before);
}

async fn every_route_reads_or_is_refused(router: Router, run: &str) {
    let state = get(&router, "/threads/served/state").await;
    let checkpoint = state["checkpoint"]["checkpoint_id"].as_str().unwrap();
    let mut reading = Vec::new();
    for endpoint in endpoints() {
        let path = endpoint
            .path
            .replace("{thread_id}", "served")
            .replace("{run_id}", run)
            .replace("{checkpoint_id}", checkpoint)
            .replace("{assistant_id}", "stories");
        let method = endpoint.method.to_uppercase();
        let response = sent(&router, &method, &path, json!({ "channels": ["values"] })).await;
        let name = format!("{method} {path}");
        let status = response.status().as_u16();
        if endpoint.action == Action::Read {
            assert!(status != 403 && status < 500, "{name}: {status}");
            if method != "GET" {
                reading.push(endpoint.path);
            }
        } else {
            let (status, text) = error(response).await;
            assert_eq!(status, 403, "{name}: {text}");
            let refused = ": refused, because this server only reads; to do it, serve the graphs with the program \
                           that has their code";
            assert_eq!(text, format!("{}{refused}", endpoint.summary), "{name}");
        }
    }
    reading.sort_unstable();
    assert_eq!(reading, READING);
    // A client that goes away cancels no run.
    let join = format!("/threads/served/runs/{run}/stream?cancel_on_disconnect=true");
    assert_eq!(sent(&router, "GET", &join, Value::Null).await.status(), 200);
}

/// Returns a response without what only the code of a graph knows.
fn without_schemas(mut value: Value) -> Value {
    match &mut value {
        Value::Array(items) => items.iter_mut().for_each(|item| *item = without_schemas(item.take())),
        Value::Object(members) => {
            members.remove("response_schema");
            members.values_mut().for_each(|member| *member = without_schemas(member.take()));
        }
        _ => {}
    }
    value
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_read_what_the_server_of_the_program_shows() {
    let written = Written::new().await;
    let own = own(&graph_in(&written.path).await).await;
    clients_read_the_same(&serving(&written.path).await, &own, &written.run).await;
}

/// Also on a replica.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_read_of_a_database_what_the_server_of_the_program_shows() {
    let Some(written) = InDatabase::new("clients").await else { return };
    let own = own(&graph_in_schema(&written.cluster, written.schema).await).await;
    let replica = written.cluster.standby();
    for server in [&written.cluster, &replica] {
        let read_only = serving_on(written.reader(server).await).await;
        clients_read_the_same(&read_only, &own, &written.run).await;
    }
}

/// Returns the server of the program.
async fn own(graph: &Graph<Story>) -> Router {
    let own = checked(serve(&[graph]).router().unwrap().0);
    // It stores a row for this thread now.
    get(&own, "/threads/alone").await;
    own
}

async fn clients_read_the_same(read_only: &Router, own: &Router, run: &str) {
    let run = format!("/threads/served/runs/{run}");
    let stream = format!("{run}/stream");
    for path in [
        "/threads/served",
        "/threads/alone",
        "/threads/served/state",
        "/threads/alone/state?subgraphs=true",
        "/threads/served/runs",
        &run,
        "/assistants/other",
        "/assistants/other/graph",
        "/store/items?namespace=notes&key=k",
    ] {
        let shown = without_schemas(get(read_only, path).await);
        assert_eq!(shown, without_schemas(get(own, path).await), "{path}");
    }
    for (path, body) in [
        ("/threads/search", json!({})),
        ("/threads/search", json!({ "values": { "topic": "Go" } })),
        ("/threads/count", json!({ "metadata": { "note": "served" } })),
        ("/threads/served/history", json!({})),
        ("/threads/alone/history", json!({ "limit": 2 })),
        ("/assistants/search", json!({ "name": "other" })),
        ("/assistants/count", json!({})),
        ("/assistants/other/versions", json!({})),
        ("/store/items/search", json!({ "namespace_prefix": ["notes"] })),
        ("/store/namespaces", json!({})),
    ] {
        let shown = without_schemas(post(read_only, path, body.clone()).await);
        assert_eq!(shown, without_schemas(post(own, path, body).await), "{path}");
    }
    let mut streams = Vec::new();
    for router in [read_only, own] {
        let request = request("GET", &stream).header("last-event-id", "-1");
        streams.push(body(send(router, request.body(Body::empty()).unwrap()).await).await);
    }
    assert!(streams[0].as_str().unwrap().contains("event: values"), "{}", streams[0]);
    assert_eq!(streams[0], streams[1]);
    let schemas = get(read_only, "/assistants/stories/schemas").await;
    assert_eq!((&schemas["graph_id"], &schemas["state_schema"]), (&json!("stories"), &Value::Null));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_of_programs_without_a_server_are_found_like_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stories.db");
    let graph = graph_in(&path).await;
    for name in ["b", "a", "c"] {
        run_alone(&graph, name, name).await;
    }
    let _done = graph.thread("b").answer("yes").await.unwrap().finished().unwrap();
    let router = serving(&path).await;
    let names = |found: &Value| {
        let named = |thread: &Value| thread["thread_id"].as_str().unwrap().to_owned();
        found.as_array().unwrap().iter().map(named).collect::<Vec<_>>().join(" ")
    };
    for (search, expected) in [
        (json!({}), "b c a"),
        (json!({ "sort_by": "thread_id", "sort_order": "asc" }), "a b c"),
        (json!({ "sort_by": "thread_id", "sort_order": "asc", "limit": 1, "offset": 1 }), "b"),
        (json!({ "status": "interrupted" }), "c a"),
        (json!({ "status": "idle", "metadata": { "graph_id": "stories" } }), "b"),
        (json!({ "metadata": { "graph_id": "others" } }), ""),
        (json!({ "ids": ["c", "nobody"] }), "c"),
        (json!({ "values": { "topic": "a" } }), "a"),
    ] {
        let found = post(&router, "/threads/search", search.clone()).await;
        assert_eq!(names(&found), expected, "{search}");
    }
    assert_eq!(post(&router, "/threads/count", json!({})).await, 3);
    // Another program goes on.
    run_alone(&graph, "d", "d").await;
    assert_eq!(names(&post(&router, "/threads/search", json!({})).await), "d b c a");
    assert_eq!(get(&router, "/threads/d/state").await["values"]["topic"], "d");
    let (status, text) = error(sent(&router, "GET", "/threads/nobody", Value::Null).await).await;
    assert_eq!((status, &*text), (404, "Thread with ID nobody not found"));
}

/// The log of the file has what was written last. It stays as it is, also if its program crashed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_read_while_its_program_writes_and_after_it_crashed() {
    let written = Written::new().await;
    let graph = graph_in(&written.path).await;
    run_alone(&graph, "late", "Zig").await;
    let of_writer = |folder: &Path| {
        let mut bytes = bytes_in(folder);
        // Readers mark their places in the index of the log.
        let index = bytes.remove("stories.db-shm").is_some();
        (bytes, index)
    };
    let crashed = tempfile::tempdir().unwrap();
    for name in ["stories.db", "stories.db-wal"] {
        std::fs::copy(written.folder.path().join(name), crashed.path().join(name)).unwrap();
    }
    let before = of_writer(written.folder.path());
    let log = std::fs::read(crashed.path().join("stories.db-wal")).unwrap();
    assert!(before.1 && !log.is_empty());
    for folder in [written.folder.path(), crashed.path()] {
        let router = serving(&folder.join("stories.db")).await;
        assert_eq!(get(&router, "/threads/late/state").await["values"]["topic"], "Zig");
        let found = post(&router, "/threads/search", json!({})).await;
        assert_eq!(found.as_array().unwrap().len(), 3);
    }
    assert_eq!(of_writer(written.folder.path()), before);
    assert_eq!(of_writer(crashed.path()).0, before.0);
}

/// While a reader has the file open, the last program that closes it cannot move its log into it.
#[tokio::test(start_paused = true)]
async fn a_reader_without_requests_does_not_keep_the_file_open() {
    let written = Written::new().await;
    let graph = graph_in(&written.path).await;
    run_alone(&graph, "late", "Zig").await;
    let router = serving(&written.path).await;
    get(&router, "/threads/late").await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    drop(graph);
    assert_eq!(written.bytes().keys().collect::<Vec<_>>(), ["stories.db"]);
    get(&router, "/threads/late").await;
}

#[derive(State, Clone, Default)]
struct Count {
    steps: u32,
}

/// The events of a resumable run are stored, and each state is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_another_program_is_followed_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counts.db");
    let gate = Arc::new(Notify::new());
    let mut g = StateGraph::<Count>::new("counts");
    let first = g.node("first", async || Count::update().steps(1u32));
    let inside = Arc::clone(&gate);
    let second = g.node("second", move || {
        let gate = Arc::clone(&inside);
        async move {
            gate.notified().await;
            Count::update().steps(2u32)
        }
    });
    g.edge(START, first);
    g.edge(first, second);
    g.edge(second, END);
    let graph = g.compile().unwrap().checkpointer(SqliteSaver::open(&path).await.unwrap());
    let (own, workers) = serve(&[&graph]).router().unwrap();
    workers.start();
    let run = json!({
        "assistant_id": "counts", "input": {}, "stream_resumable": true, "stream_mode": "values", "if_not_exists": "create",
    });
    let run = post(&own, "/threads/t/runs", run).await;
    while get(&own, "/threads/t/state").await["values"]["steps"] != 1 {
        tokio::task::yield_now().await;
    }
    let read_only = serving(&path).await;
    let request = request("GET", &format!("/threads/t/runs/{}/stream", run["run_id"].as_str().unwrap()));
    let request = request.header("last-event-id", "-1").body(Body::empty()).unwrap();
    let mut stream = send(&read_only, request).await.into_body().into_data_stream();
    let mut text = String::new();
    while let Some(part) = stream.next().await {
        text += std::str::from_utf8(&part.unwrap()).unwrap();
        if text.contains("\"steps\":1") {
            gate.notify_one();
        }
    }
    assert!(text.contains("\"steps\":2"), "{text}");
    assert_eq!(get(&read_only, "/threads/t").await["status"], "idle");
    workers.shutdown(Duration::ZERO).await;
}

/// A program may have a server of its graphs that only reads.
#[tokio::test]
async fn a_program_serves_its_own_graphs_for_reading() {
    let graph = stories();
    run_alone(&graph, "alone", "Go").await;
    let (router, workers) = serve(&[&graph]).read_only().router().unwrap();
    workers.start();
    let rows = graph.saver().unwrap().records().unwrap();
    assert_eq!(get(&router, "/threads/alone").await["values"]["topic"], "Go");
    let found = post(&router, "/assistants/search", json!({})).await;
    assert_eq!(found.as_array().unwrap().len(), 1);
    let all = superstep_core::records::ThreadQuery { metadata: Map::new(), ..Default::default() };
    assert_eq!(rows.threads(&all).await.unwrap().total, 0, "no row is stored");
    assert_eq!(rows.assistants(&Default::default()).await.unwrap().total, 0);
    // A stop waits for nothing.
    tokio::time::timeout(Duration::from_secs(5), workers.shutdown(Duration::from_secs(60))).await.unwrap();
}
