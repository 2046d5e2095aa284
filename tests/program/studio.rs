//! The verb `studio`, which serves a page until Ctrl-C.

use std::io::{BufRead, BufReader, Error, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use superstep::checkpoint::KeyRing;
use superstep::prelude::*;
use tempfile::TempDir;

#[derive(State, Clone, Default)]
struct Note {
    text: String,
}

fn notes(saver: SqliteSaver) -> Graph<Note> {
    let mut g = StateGraph::<Note>::new("note");
    let write = g.node("write", async || Note::update().text("Rust"));
    g.edge(START, write);
    g.edge(write, END);
    g.compile().unwrap().checkpointer(saver)
}

/// The program without a desktop, with these arguments.
fn superstep(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_superstep"));
    command.args(arguments).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    command.env_remove("SUPERSTEP_KEY_FILE").env_remove("SUPERSTEP_PRICES");
    command
}

/// A running studio, and what it has printed.
struct Studio {
    child: Child,
    said: Value,
}

impl Studio {
    fn of(arguments: &[&str]) -> Self {
        let words = [&["studio", "--json"], arguments].concat();
        let mut child = superstep(&words).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, said: serde_json::from_str(&line).unwrap() }
    }

    /// Serves a file to other clients, too.
    fn served(file: &str) -> Self {
        let mut command = superstep(&["serve", file, "--port", "0", "--studio"]);
        command.env_remove("SUPERSTEP_TOKEN");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let lines: Vec<String> = lines.take(2).map(Result::unwrap).collect();
        let address = lines[1].strip_prefix("The studio is at ").unwrap();
        Self { child, said: serde_json::json!({ "file": file, "address": address }) }
    }

    /// Returns the response of a route, whose status is 200.
    fn get(&self, path: &str) -> String {
        let page = self.said["address"].as_str().unwrap().strip_prefix("http://").unwrap();
        let (address, token) = page.split_once("/studio#token=").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n");
        stream.write_all(format!("{head}connection: close\r\n\r\n").as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        assert!(response.starts_with("HTTP/1.1 200"), "{path}: {response}");
        response.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    fn document(&self, path: &str) -> Value {
        serde_json::from_str(&self.get(path)).unwrap()
    }

    /// Ends it with Ctrl-C while a stream is open.
    fn end(mut self) {
        let page = self.said["address"].as_str().unwrap().strip_prefix("http://").unwrap();
        let (address, token) = page.split_once("/studio#token=").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!(
            "GET /studio/api/events HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        let signal = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(signal.unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }
}

/// A file with a thread, which no program has open.
async fn written(folder: &TempDir) -> String {
    let path = folder.path().join("notes.db");
    let notes = notes(SqliteSaver::open(&path).await.unwrap());
    notes.thread("rust").run(Note::update()).await.unwrap().finished().unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_page_is_in_the_binary_and_ctrl_c_ends_it_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(&folder).await;
    let studio = Studio::of(&[&file, "--port", "0"]);
    assert_eq!((&studio.said["file"], &studio.said["program"]), (&Value::from(&*file), &Value::from(false)));
    let page = studio.get("/studio");
    for asset in page.split('"').filter(|part| part.starts_with("/studio/")) {
        assert!(studio.get(asset).len() > 1_000, "{asset}");
    }
    assert_eq!(studio.document("/studio/api/session")["graphs"], serde_json::json!(["note"]));
    let log = studio.document("/studio/api/log?thread=rust&graph=true");
    let printed = superstep(&["log", &file, "rust", "--graph", "--json"]).output().unwrap();
    assert_eq!(log, serde_json::from_slice::<Value>(&printed.stdout).unwrap());
    // The port of the first is taken.
    let port = studio.said["address"].as_str().unwrap().split(['/', ':']).nth(4).unwrap().to_owned();
    let second = Studio::of(&[&file, "--port", &port]);
    assert_ne!(second.said["address"], studio.said["address"]);
    second.end();
    studio.end();
}

#[tokio::test]
async fn a_file_that_is_served_has_a_studio_that_only_reads() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(&folder).await;
    let before = std::fs::read(&file).unwrap();
    let studio = Studio::served(&file);
    let session = studio.document("/studio/api/session");
    assert_eq!((&session["program"], &session["file"]), (&Value::from(false), &Value::from(&*file)));
    assert_eq!(studio.document("/studio/api/threads")["total"], 1);
    studio.end();
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

/// Returns the error of a studio that does not begin.
fn refused(arguments: &[&str]) -> String {
    let Output { status, stderr, .. } = superstep(&[&["studio"], arguments].concat()).output().unwrap();
    assert_eq!(status.code(), Some(2), "{arguments:?}");
    String::from_utf8(stderr).unwrap()
}

#[tokio::test]
async fn a_file_that_cannot_be_shown_has_its_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let none = path("none.db");
    assert_eq!(refused(&[&none]), format!("error: there is no file {none}\n"));
    std::fs::write(path("empty.db"), []).unwrap();
    assert!(refused(&[&path("empty.db")]).contains("empty"));
    std::fs::write(path("text.db"), "a text, and no database\n".repeat(100)).unwrap();
    assert!(refused(&[&path("text.db")]).contains(&path("text.db")));
    assert!(refused(&[]).contains("<FILE>"));

    let sealed = path("sealed.db");
    let key = |name: &str, digit: &str| {
        std::fs::write(path(name), format!("2026 {}", digit.repeat(64))).unwrap();
        path(name)
    };
    let (right, wrong) = (key("right.keys", "a"), key("wrong.keys", "b"));
    let saver = SqliteSaver::options().encrypt(KeyRing::read(&right).unwrap()).open(&sealed).await.unwrap();
    notes(saver).thread("rust").run(Note::update()).await.unwrap().finished().unwrap();
    let locked = refused(&[&sealed]);
    assert!(locked.contains("encrypted"), "{locked}");
    let other = refused(&[&sealed, "--key-file", &wrong]);
    assert!(other.contains("key") && other != locked, "{other}");
    let studio = Studio::of(&[&sealed, "--port", "0", "--key-file", &right]);
    assert_eq!(studio.document("/studio/api/threads")["total"], 1);
    studio.end();
}

/// A file with a thread that called a model.
async fn called(folder: &TempDir) -> String {
    let path = folder.path().join("calls.db").to_str().unwrap().to_owned();
    let mut g = StateGraph::<Note>::new("note");
    let write = g.node("write", async |fx: Effects| {
        let usage =
            serde_json::json!({ "input_tokens": 1_000, "output_tokens": 200, "cache_read_tokens": 400, "cache_write_tokens": null });
        let reply = serde_json::json!({ "model": "quill-20260101", "usage": usage });
        fx.run("model", || async { Ok::<_, Error>(reply) }).await?;
        Ok::<_, Error>(Note::update().text("Rust"))
    });
    g.edge(START, write);
    g.edge(write, END);
    let graph = g.compile().unwrap().checkpointer(SqliteSaver::open(&path).await.unwrap());
    graph.thread("rust").run(Note::default()).await.unwrap().finished().unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn model_calls_cost_what_the_price_table_says() {
    let folder = tempfile::tempdir().unwrap();
    let file = called(&folder).await;
    let prices = folder.path().join("prices.json");
    let run = |arguments: &[&str]| {
        let Output { status, stdout, stderr } =
            superstep(arguments).env("SUPERSTEP_PRICES", &prices).output().unwrap();
        (status.code(), String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap())
    };
    let (code, text) = run(&["calls", &file, "rust"]);
    assert!(code == Some(2) && text.contains("prices.json, which cannot be read"), "{text}");
    std::fs::write(&prices, r#"{"quill": {"input": 3.0, "output": 10.0, "cache_read": 0.5}}"#).unwrap();
    // 600 × 3 + 400 × 0.5 + 200 × 10 = 4,000 millionths
    let (code, text) = run(&["calls", &file, "rust"]);
    assert!(code == Some(0) && text.contains("200 written, 0.0 s, $0.004000"), "{text}");
    let (_, text) = run(&["threads", &file, "--tokens"]);
    assert!(text.contains("$0.004000"), "{text}");
    let (_, text) = run(&["log", &file, "rust", "--json"]);
    let history: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(history["checkpoints"][0]["used"]["cost"], 0.004);
    std::fs::write(&prices, r#"{"another": {"input": 3.0, "output": 10.0}}"#).unwrap();
    let (_, text) = run(&["calls", &file, "rust", "--json"]);
    assert!(!text.contains("cost"), "{text}");
}

#[test]
fn the_licences_are_in_the_binary() {
    let Output { status, stdout, .. } = superstep(&["studio", "--licences"]).output().unwrap();
    let licences = String::from_utf8(stdout).unwrap();
    assert!(
        status.success() && licences.contains("preact ") && licences.contains("Permission"),
        "{licences}"
    );
}
