//! Servers that hand their runs to Restate.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::checkpoint::MemorySaver;
use superstep::error::NodeError;
use superstep::graph::{END, START, StateGraph};
use superstep::node::Configured;
use superstep::run::{CancellationToken, Graph, Lease, ToAnyGraph};
use superstep_restate::restate;
use superstep_server::serve;
use tokio::task::JoinHandle;

use crate::client::{get, post, post_until};
use crate::cluster::Cluster;
use crate::graphs::{Article, POSTGRES, count, history, lines, open, paid_once_each, review, until};
use crate::here::Here;
use crate::server::{Server, free_ports};
use crate::worker::{LEASE, Worker};

/// A server in this process, or another one, as its clients see it.
struct Serving {
    address: String,
    stop: CancellationToken,
    ended: Option<JoinHandle<()>>,
}

impl Serving {
    /// Starts a server that hands its runs to the ingress, or drives them itself.
    async fn start(graph: &dyn ToAnyGraph, ingress: Option<String>) -> Self {
        let server = serve(&[graph]).lease(LEASE);
        let server = ingress.iter().fold(server, |server, ingress| server.restate(ingress));
        let listening = server.listen("127.0.0.1:0").await.expect("a free port");
        let (address, stop) = (listening.address().to_string(), CancellationToken::new());
        let ended = tokio::spawn(listening.until(stop.clone().cancelled_owned()));
        Self { address, stop, ended: Some(ended) }
    }

    fn of(worker: &Worker) -> Self {
        Self { address: worker.address.clone(), stop: CancellationToken::new(), ended: None }
    }

    /// Stops it as a signal does.
    async fn stop(self) {
        self.stop.cancel();
        self.ended.expect("it is in this process").await.expect("it ends");
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let (status, answer) =
            post(&format!("http://{}{path}", self.address), &body).await.expect("it answers");
        assert!(status < 300, "{path}: {status} {answer}");
        answer
    }

    async fn get(&self, path: &str) -> Value {
        get(&format!("http://{}{path}", self.address)).await.expect("it answers").1
    }

    async fn thread(&self) -> String {
        self.post("/threads", json!({})).await["thread_id"].as_str().expect("an id").to_owned()
    }

    /// Begins a run, and returns its path.
    async fn begin(&self, thread: &str, request: Value) -> String {
        let run = self.post(&format!("/threads/{thread}/runs"), request).await;
        format!("/threads/{thread}/runs/{}", run["run_id"].as_str().expect("an id"))
    }

    /// Runs to the end, and returns the values.
    async fn wait(&self, thread: &str, request: Value) -> Value {
        self.post(&format!("/threads/{thread}/runs/wait"), request).await
    }

    /// Runs to the end, and returns the events of the stream, except the first one, which has the id of the run.
    async fn stream(&self, thread: &str, request: Value) -> Vec<(String, Value)> {
        let text = self.post(&format!("/threads/{thread}/runs/stream"), request).await;
        let text = text.as_str().expect("a stream").replace("\r\n", "\n");
        let event = |event: &str| {
            let line = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            let data = serde_json::from_str(line("data:")?).expect("JSON");
            Some((line("event:")?.to_owned(), data))
        };
        text.split("\n\n").filter_map(event).skip(1).collect()
    }

    async fn status(&self, path: &str) -> Value {
        self.get(path).await["status"].take()
    }
}

/// Returns events without the ids of questions and checkpoints, which differ between threads.
fn alike(mut events: Vec<(String, Value)>) -> Vec<(String, Value)> {
    for (_, data) in &mut events {
        for asked in data["__interrupt__"].as_array_mut().into_iter().flatten() {
            asked["id"].take();
        }
    }
    events
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_handed_over_ends_and_streams_as_a_local_one() {
    let Some(server) = Server::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let articles = review(folder.path()).await;
    let _here = Here::start(&server, restate(&[&articles])).await;
    let handing = Serving::start(&articles, Some(server.ingress())).await;
    let (handed, local) = (handing.thread().await, handing.thread().await);

    let requests = [
        json!({ "input": { "title": "Rust" } }),
        json!({ "command": { "resume": "Revise" } }),
        json!({ "command": { "resume": "Accept" } }),
        json!({ "input": { "title": "Go" }, "interrupt_before": ["review"], "metadata": { "a": 1 } }),
        json!({ "interrupt_after": "*" }),
        json!({ "command": { "update": { "title": "Zig" }, "resume": "Revise" } }),
        json!({ "command": { "resume": "Accept" } }),
    ];
    let requests = requests.map(|mut request| {
        request["assistant_id"] = "review".into();
        request["stream_mode"] = json!(["updates", "values"]);
        request
    });
    let mut told = Vec::new();
    for request in &requests {
        let stream = handing.stream(&handed, request.clone()).await;
        told.push((alike(stream), handing.status(&format!("/threads/{handed}")).await));
    }
    let runs = handing.get(&format!("/threads/{handed}/runs")).await;
    assert!(runs.as_array().expect("a list").iter().all(|run| run["status"] == "success"), "{runs}");
    let calls = server.rows("SELECT id FROM sys_invocation WHERE target_handler_name = 'drive'").await;
    assert_eq!(calls.len(), requests.len());
    handing.stop().await;

    let driving = Serving::start(&articles, None).await;
    for (request, told) in requests.into_iter().zip(told) {
        let stream = driving.stream(&local, request.clone()).await;
        let own = (alike(stream), driving.status(&format!("/threads/{local}")).await);
        assert_eq!(told, own, "{request}");
    }
    driving.stop().await;
    assert_eq!(history(&articles, &handed).await, history(&articles, &local).await);

    // A question of the past is asked again, and answered.
    for thread in [&local, &handed] {
        let ingress = (thread == &handed).then(|| server.ingress());
        let serving = Serving::start(&articles, ingress).await;
        let states = serving.get(&format!("/threads/{thread}/history?limit=100")).await;
        let asked =
            states.as_array().expect("a list").iter().rfind(|state| state["next"] == json!(["review"]));
        let checkpoint = &asked.expect("it has asked")["checkpoint"]["checkpoint_id"];
        let request = json!({ "assistant_id": "review", "checkpoint_id": checkpoint, "command": { "resume": "Accept" } });
        assert_eq!(serving.wait(thread, request).await["drafts"], json!(["Rust: draft 1"]), "{thread}");
        serving.stop().await;
    }
}

/// A node that fails, unless it is configured not to.
fn fragile() -> Graph<Article> {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Settings {
        #[serde(default)]
        passes: bool,
    }
    let mut g = StateGraph::<Article>::new("fragile");
    let node = g.node("node", |settings: Configured<Settings>| async move {
        if settings.passes { Ok(()) } else { Err(NodeError::terminal("the node is broken")) }
    });
    g.edge(START, node);
    g.edge(node, END);
    g.compile().expect("it is complete").checkpointer(MemorySaver::new())
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_limits_and_configurations_are_those_of_local_runs() {
    let Some(server) = Server::start().await else { return };
    let fragile = fragile();
    let _here = Here::start(&server, restate(&[&fragile])).await;
    for ingress in [None, Some(server.ingress())] {
        let serving = Serving::start(&fragile, ingress).await;
        let (thread, request) = (serving.thread().await, json!({ "assistant_id": "fragile", "input": {} }));
        let failed = serving.wait(&thread, request.clone()).await;
        assert_eq!(failed, json!({ "__error__": { "error": "Terminal", "message": "the node is broken" } }));
        assert_eq!(serving.status(&format!("/threads/{thread}")).await, "error");
        let with = |config: Value| {
            let mut request = request.clone();
            request["config"] = config;
            request
        };
        let limited = serving
            .wait(&thread, with(json!({ "recursion_limit": 0, "configurable": { "passes": true } })))
            .await;
        assert_eq!(limited["__error__"]["error"], "GraphRecursionError", "{limited}");
        let passed = serving.wait(&thread, with(json!({ "configurable": { "passes": true } }))).await;
        assert_eq!(passed["drafts"], json!([]), "{passed}");
        serving.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_ends_in_restate_and_its_thread_continues() {
    let Some(server) = Server::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    // The lease belongs to the processes that Restate calls.
    let counts = count(folder.path()).await.lease(Lease::new());
    let _here = Here::start(&server, restate(&[&counts])).await;
    let serving = Serving::start(&counts, Some(server.ingress())).await;
    let thread = serving.thread().await;

    let input = json!({ "assistant_id": "count", "input": { "to": 4, "pays": true, "waits_at": [2] } });
    for (action, next) in [("rollback", json!([])), ("interrupt", json!(["count"]))] {
        std::fs::remove_file(folder.path().join("waiting")).ok();
        let stream = format!("http://{}/threads/{thread}/runs/stream", serving.address);
        let told = post_until(&stream, &input, r#""count":1"#).await;
        told.expect("the first superstep arrives while the second one runs");
        until(|| lines(folder.path(), "waiting") == ["2"]).await;
        let runs = serving.get(&format!("/threads/{thread}/runs")).await;
        let run = format!("/threads/{thread}/runs/{}", runs[0]["run_id"].as_str().expect("an id"));
        serving.post(&format!("{run}/cancel?wait=true&action={action}"), json!({})).await;
        let over = serving.get(&run).await;
        assert!(action == "rollback" || over["status"] == "interrupted", "{over}");
        assert_eq!(serving.get(&format!("/threads/{thread}/state")).await["next"], next, "{action}");
        is_idle(&server).await;
    }
    open(folder.path(), 2);
    let finished = serving.wait(&thread, json!({ "assistant_id": "count" })).await;
    assert_eq!(finished["count"], 4, "{finished}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_run_of_a_server_that_is_gone_is_awaited_by_another_one() {
    let Some(server) = Server::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    awaited(&server, folder.path()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_run_of_a_server_on_a_database_that_is_gone_is_awaited_by_another_one() {
    let Some(server) = Server::start().await else { return };
    let Some(cluster) = Cluster::own() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(POSTGRES), cluster.url("superstep")).expect("a file");
    awaited(&server, folder.path()).await;
}

/// The servers of a run are killed, stopped, and that of Restate crashes.
async fn awaited(server: &Server, folder: &Path) {
    let counts = count(folder).await;
    let _here = Here::start(server, restate(&[&counts])).await;
    let input = json!({ "to": 300, "pays": true, "waits_at": [3, 100, 200] });
    let (thread, run) = abandoned(server, folder, &input, 3).await;
    open(folder, 3);

    // One that is stopped gives the run back.
    let stopped = Serving::start(&counts, Some(server.ingress())).await;
    reached(folder, 100).await;
    while stopped.status(&run).await != "running" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stopped.stop().await;
    open(folder, 100);
    let last = Serving::start(&counts, Some(server.ingress())).await;
    reached(folder, 200).await;
    server.crash().await;
    open(folder, 200);
    assert_eq!(last.get(&format!("{run}/join")).await["count"], 300);
    assert_eq!(last.status(&run).await, "success");
    paid_once_each(folder, 300);
    let drives = server.rows("SELECT id FROM sys_invocation WHERE target_handler_name = 'drive'").await;
    assert_eq!(drives.len(), 1, "the run was handed over twice");
    let plain = counts.erased().thread("plain");
    assert_eq!(plain.run(input).await.expect("it runs").status.name(), "finished");
    assert_eq!(history(&counts, &thread).await, history(&counts, "plain").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_run_of_a_server_that_is_gone_is_cancelled_by_another_one() {
    let Some(server) = Server::start().await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let counts = count(folder).await;
    let _here = Here::start(&server, restate(&[&counts])).await;
    let input = json!({ "to": 4, "pays": true, "waits_at": [2] });
    let (_, run) = abandoned(&server, folder, &input, 2).await;

    let other = Serving::start(&counts, Some(server.ingress())).await;
    other.post(&format!("{run}/cancel?wait=true"), json!({})).await;
    assert_eq!(other.status(&run).await, "interrupted");
    is_idle(&server).await;
    assert_eq!(lines(folder, "paid"), ["1", "2"]);
}

/// Begins a run at a server that is killed while the run waits at this number. Returns its thread and its path.
async fn abandoned(server: &Server, folder: &Path, input: &Value, waits_at: u32) -> (String, String) {
    let killed = Worker::start(folder, &format!("serve-count --port 0 --restate {}", server.ingress()));
    let serving = Serving::of(&killed);
    let thread = serving.thread().await;
    let run = serving.begin(&thread, json!({ "assistant_id": "count", "input": input })).await;
    reached(folder, waits_at).await;
    killed.kill();
    (thread, run)
}

/// Checks that Restate runs nothing.
async fn is_idle(server: &Server) {
    let all = "SELECT id FROM sys_invocation WHERE status <> 'completed'";
    assert_eq!(server.rows(all).await, Vec::<Value>::new());
}

/// Waits until a run waits at this number.
async fn reached(folder: &Path, count: u32) {
    until(|| lines(folder, "waiting").iter().any(|line| *line == count.to_string())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_that_restate_does_not_know_is_named() {
    let Some(server) = Server::start().await else { return };
    let fragile = fragile();
    let serving = Serving::start(&fragile, Some(server.ingress())).await;
    let request = json!({ "assistant_id": "fragile", "input": {} });
    let failed = serving.wait(&serving.thread().await, request).await;
    let expected = json!({ "__error__": {
        "error": "ServiceNotRegistered",
        "message": "Restate does not know the graph fragile: register its endpoint with `work --register` (service \
                    'fragile' not found, make sure to register the service before calling it.)",
    } });
    assert_eq!(failed, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_waits_for_restate_until_it_is_cancelled() {
    let fragile = fragile();
    let ingress = format!("http://127.0.0.1:{}", free_ports(1)[0]);
    let serving = Serving::start(&fragile, Some(ingress)).await;
    let thread = serving.thread().await;
    let run = serving.begin(&thread, json!({ "assistant_id": "fragile", "input": {} })).await;
    while serving.status(&run).await != "running" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    serving.post(&format!("{run}/cancel?wait=true"), json!({})).await;
    assert_eq!(serving.status(&run).await, "interrupted");
}
