//! The examples as servers for clients of LangGraph's API.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::{documents, example};

/// The examples that keep their threads in a file, with their graphs.
const SERVED: [(&str, &str); 9] = [
    ("agent_loop", "evaluator"),
    ("agentic", "agentic"),
    ("analyst", "assistant"),
    ("dynamic", "errands"),
    ("flow", "quiz"),
    ("opening_hours", "replies"),
    ("reducers", "census"),
    ("review", "review"),
    ("time_travel", "trip"),
];

/// An example that serves its graph, in a folder of its own.
struct Server {
    program: Child,
    address: String,
    /// The line that it printed.
    said: String,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start(name: &str, before: &[&str]) -> Self {
        Self::of(name, &[before, &["serve"]].concat())
    }

    /// Starts a server with its threads in a database.
    fn on(name: &str, url: &str) -> Self {
        Self::of(name, &["serve", "--store", url])
    }

    fn of(name: &str, words: &[&str]) -> Self {
        let folder = documents();
        let mut program = Command::new(example(name))
            .current_dir(folder.path())
            .env("TMPDIR", folder.path())
            .env("XDG_DATA_HOME", folder.path())
            .env_remove("SUPERSTEP_MODEL")
            .env_remove("SUPERSTEP_TOKEN")
            .args(words)
            .args(["--port", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the example runs");
        let mut said = String::new();
        let stdout = program.stdout.as_mut().expect("it is piped");
        BufReader::new(stdout).read_line(&mut said).expect("it prints its address");
        let address = said.trim().rsplit_once("http://").unwrap_or_else(|| panic!("{name}: {said}")).1;
        let address = address.split('/').next().unwrap_or_default().to_owned();
        Self { program, address, said, _folder: folder }
    }

    /// Sends a request; returns the status and the body.
    fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.send_with("", method, path, body)
    }

    /// Reads a stream to its end.
    fn read(&self, path: &str) -> String {
        let mut server = TcpStream::connect(&self.address).expect("it listens");
        write!(server, "GET {path} HTTP/1.0\r\nhost: {}\r\nlast-event-id: -1\r\n\r\n", self.address)
            .expect("it reads");
        let mut response = String::new();
        server.read_to_string(&mut response).expect("text");
        response
    }

    fn send_with(&self, header: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let mut server = TcpStream::connect(&self.address).expect("it listens");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let kind = "content-type: application/json\r\n";
        // With HTTP/1.0, so that the response is not chunked.
        let head = format!("{method} {path} HTTP/1.0\r\nhost: {}\r\n{header}{kind}", self.address);
        write!(server, "{head}content-length: {}\r\n\r\n{body}", body.len()).expect("it reads");
        let mut response = String::new();
        server.read_to_string(&mut response).expect("text");
        let (head, body) = response.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).expect("a status").parse().expect("a number");
        (status, serde_json::from_str(body).unwrap_or_else(|_| panic!("{response}")))
    }

    /// Stops the server as a service manager does.
    fn stop(mut self) {
        let signal = Command::new("kill").args(["-TERM", &self.program.id().to_string()]).status();
        assert!(signal.expect("kill runs").success());
        assert!(self.program.wait().expect("it ends").success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// Three of them used to print their usage instead.
#[test]
fn examples_with_a_file_serve_their_graphs() {
    for (name, graph) in SERVED {
        let server = Server::start(name, &[]);
        assert_eq!(server.said, format!("Serving {graph} at http://{}\n", server.address), "{name}");
        assert_eq!(server.send("GET", "/ok", &Value::Null), (200, json!({ "ok": true, "services": {} })));
        server.stop();
    }
}

#[test]
fn examples_with_a_file_have_a_studio_that_runs_their_graphs() {
    for (name, graph) in SERVED {
        let studio = Server::of(name, &["debug", "studio", "--no-open", "--json"]);
        let said: Value = serde_json::from_str(&studio.said).expect("JSON");
        let (_, token) =
            said["address"].as_str().and_then(|page| page.split_once("#token=")).expect("a token");
        let token = format!("authorization: Bearer {token}\r\n");
        let (status, session) = studio.send_with(&token, "GET", "/studio/api/session", &Value::Null);
        assert_eq!((status, &session["graphs"]), (200, &json!([graph])), "{name}");
        assert_eq!(session["program"], true, "{name}");
        studio.stop();
    }
}

#[test]
fn the_agent_answers_a_client_from_its_documents() {
    let server = Server::start("agent_loop", &["--docs", "docs", "--db", "agent.db"]);
    assert_eq!(server.send("GET", "/ok", &Value::Null), (200, json!({ "ok": true, "services": {} })));
    let input = json!({ "task": "How many bytes does a fork copy?", "turn": 1 });
    let run = json!({ "assistant_id": "evaluator", "input": input });
    let (status, values) = server.send("POST", "/runs/wait", &run);
    assert_eq!(status, 200, "{values}");
    let response = values["response"].as_str().unwrap_or_else(|| panic!("{values}"));
    assert!(response.contains("> A fork copies no bytes: it shares its past with the trunk."), "{response}");
    assert_eq!(values["messages"][0]["content"], input["task"]);
    server.stop();
}

/// Two processes of an example share a database: a run that is created at one is streamed at the other, which also answers
/// its question.
#[test]
fn examples_share_their_runs_in_a_database() {
    let Some(cluster) = Cluster::shared() else { return };
    let url = format!("{} schema=review", cluster.url("superstep"));
    let (one, other) = (Server::on("review", &url), Server::on("review", &url));
    let (_, thread) = one.send("POST", "/threads", &json!({}));
    let thread = format!("/threads/{}", thread["thread_id"].as_str().expect("an id"));
    let modes = json!(["updates", "values"]);
    let request = json!({
        "assistant_id": "review", "input": { "title": "Rust" }, "stream_mode": modes, "stream_resumable": true,
    });
    let (status, run) = one.send("POST", &format!("{thread}/runs"), &request);
    assert_eq!(status, 200, "{run}");
    let stream = other.read(&format!("{thread}/runs/{}/stream", run["run_id"].as_str().expect("an id")));
    let part = |name| stream.contains(&format!("event: {name}\n"));
    assert!(part("metadata") && part("updates") && stream.contains("Rust: draft 1"), "{stream}");
    let answer = json!({ "assistant_id": "review", "command": { "resume": "Accept" } });
    let (status, values) = other.send("POST", &format!("{thread}/runs/wait"), &answer);
    assert_eq!((status, &values["drafts"]), (200, &json!(["Rust: draft 1"])));
    let (_, states) = one.send("POST", &format!("{thread}/history"), &json!({}));
    assert!(states.as_array().is_some_and(|states| states.len() > 3), "{states}");
    one.stop();
    other.stop();
}

#[test]
fn a_database_that_cannot_be_used_is_an_error_in_words() {
    for (url, complaint) in [
        ("essays.db", "the database of --store cannot be used: "),
        ("postgres://nobody@127.0.0.1:1/essays", "the database of --store cannot be used: "),
    ] {
        let mut command = Command::new(example("review"));
        let output = command.args(["serve", "--port", "0", "--store", url]).output().expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{url}");
        let said = String::from_utf8(output.stderr).expect("text");
        assert!(said.contains(complaint), "{url}: {said}");
    }
}

#[test]
fn a_server_takes_no_question() {
    for (name, arguments) in [("agent_loop", ["How?", "serve"]), ("agentic", ["--resume", "serve"])] {
        let mut command = Command::new(example(name));
        let output = command.args(["--thread", "t"]).args(arguments).output().expect("the example runs");
        assert_eq!(output.status.code(), Some(2));
        let complaint = String::from_utf8(output.stderr).expect("text");
        assert!(complaint.contains("`debug` and `serve` take no question"), "{complaint}");
    }
}
