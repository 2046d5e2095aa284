//! The verb `serve`, which serves a checkpoint file or a database.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rusqlite::Connection;
use serde_json::Value;
use superstep::checkpoint::{Checkpointer, Key, KeyRing};
use superstep::prelude::*;
use tempfile::TempDir;

#[derive(State, Clone, Default)]
struct Note {
    text: String,
}

/// Writes a thread.
async fn written(saver: impl Checkpointer) {
    let mut g = StateGraph::<Note>::new("notes");
    let write = g.node("write", async || Note::update().text("Rust"));
    g.edge(START, write);
    g.edge(write, END);
    let notes = g.compile().unwrap().checkpointer(saver);
    notes.thread("rust").run(Note::update()).await.unwrap().finished().unwrap();
}

async fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    written(SqliteSaver::open(folder.path().join("notes.db")).await.unwrap()).await;
    folder
}

fn serve(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_superstep"));
    command.arg("serve").args(arguments).args(["--port", "0"]).current_dir(folder);
    command.env_remove("SUPERSTEP_KEY_FILE").env_remove("SUPERSTEP_TOKEN");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A server that runs, and its address.
struct Running(Child, String);

fn start(folder: &Path, arguments: &[&str]) -> Running {
    let mut child = serve(folder, arguments).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim_end().strip_prefix("Serving notes at http://");
    let address = address.and_then(|rest| rest.strip_suffix(", read-only"));
    Running(child, address.unwrap_or_else(|| panic!("{line:?}")).to_owned())
}

impl Running {
    fn request(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.1).unwrap();
        let (host, length) = (&self.1, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap())
    }

    /// Stops the server with SIGTERM.
    fn stop(mut self) {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").arg(id).status().unwrap().success());
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended unless its test failed.
        let _ended = self.0.kill();
    }
}

#[tokio::test]
async fn a_file_is_served_until_a_signal() {
    let folder = folder().await;
    let before = fs::read(folder.path().join("notes.db")).unwrap();
    let server = start(folder.path(), &["notes.db"]);
    let (status, threads) = server.request("POST", "/threads/search", "{}");
    assert_eq!((status, &threads[0]["values"]["text"]), (200, &"Rust".into()));
    let (status, refused) = server.request("POST", "/threads", "{}");
    assert_eq!(status, 403);
    assert!(refused["detail"].as_str().unwrap().starts_with("Create a thread: refused"), "{refused}");
    server.stop();
    assert_eq!(fs::read(folder.path().join("notes.db")).unwrap(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// The user has no right to write.
#[cfg(feature = "postgres")]
#[tokio::test]
async fn a_database_is_served_until_a_signal() {
    use superstep::checkpoint::PostgresSaver;

    let Some(cluster) = crate::cluster::Cluster::shared() else { return };
    let (folder, host) = (tempfile::tempdir().unwrap(), cluster.folder().display());
    let url = |user: &str| format!("postgres://{user}:secret@/postgres?host={host}&schema=notes");
    let shown = format!("postgres://guest@/postgres?host={host}&schema=notes");
    let saver = PostgresSaver::open(url("superstep")).await.unwrap();
    cluster.execute(
        "CREATE ROLE guest LOGIN; GRANT USAGE ON SCHEMA notes TO guest; \
         GRANT SELECT ON ALL TABLES IN SCHEMA notes TO guest",
    );
    let output = serve(folder.path(), &[&url("guest")]).output().unwrap();
    let expected = format!("error: {shown} has no thread that can be read, so there is nothing to serve\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
    written(saver).await;
    let server = start(folder.path(), &[&url("guest")]);
    let (status, threads) = server.request("POST", "/threads/search", "{}");
    assert_eq!((status, &threads[0]["values"]["text"]), (200, &"Rust".into()));
    assert_eq!(server.request("POST", "/threads", "{}").0, 403);
    server.stop();
    let missing = url("guest").replace("notes", "none");
    let output = serve(folder.path(), &[&missing]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("has no checkpoints in the schema none") && !said.contains("secret"), "{said}");
    assert_eq!(output.status.code(), Some(2));
}

#[tokio::test]
async fn a_file_that_cannot_be_served_is_reported_with_the_reason() {
    let folder = folder().await;
    let path = |name: &str| folder.path().join(name);
    fs::copy(path("notes.db"), path("damaged.db")).unwrap();
    let damage = "UPDATE checkpoint SET manifest = manifest || ' '";
    Connection::open(path("damaged.db")).unwrap().execute_batch(damage).unwrap();
    drop(SqliteSaver::open(path("none.db")).await.unwrap());
    fs::copy(path("notes.db"), path("newer.db")).unwrap();
    Connection::open(path("newer.db")).unwrap().pragma_update(None, "user_version", 99).unwrap();
    fs::write(path("text.db"), "not a database").unwrap();
    for (file, code, expected) in [
        ("unknown.db", 2, "error: there is no file unknown.db\n"),
        ("text.db", 2, "error: text.db is not a checkpoint file\n"),
        ("damaged.db", 2, "error: damaged.db has no thread that can be read, so there is nothing to serve\n"),
        ("none.db", 2, "error: none.db has no thread that can be read, so there is nothing to serve\n"),
    ] {
        let output = serve(folder.path(), &[file]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
        assert_eq!(output.status.code(), Some(code), "{file}");
    }
    let output = serve(folder.path(), &["newer.db"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("99") && text.ends_with("use a newer version of it\n"), "{text}");
}

#[tokio::test]
async fn an_encrypted_file_is_served_with_its_keys() {
    let folder = tempfile::tempdir().unwrap();
    let (path, keys) = (folder.path().join("notes.db"), folder.path().join("keys.txt"));
    let key = "c2f4a1f0b1d0e6a7a3f3e1c65d0f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b";
    let ring = KeyRing::new("first", Key::from_hex(key).unwrap());
    written(SqliteSaver::options().encrypt(ring).open(&path).await.unwrap()).await;
    let other = "0b1c2d3e4f5061728394a5b6c7d8e9fa0b1c2d3e4f5061728394a5b6c7d8e9fa";
    for (text, expected) in [
        (None, "is encrypted with the key first: open it with its keys\n"),
        (Some(format!("second {other}\n")), "first"),
    ] {
        let mut arguments = vec!["notes.db"];
        if let Some(text) = text {
            fs::write(&keys, text).unwrap();
            arguments.extend(["--key-file", "keys.txt"]);
        }
        let output = serve(folder.path(), &arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.starts_with("error: ") && text.contains(expected), "{text}");
        assert_eq!(output.status.code(), Some(2));
    }
    fs::write(&keys, format!("first {key}\n")).unwrap();
    let server = start(folder.path(), &["notes.db", "--key-file", "keys.txt"]);
    assert_eq!(server.request("GET", "/threads/rust/state", "").1["values"]["text"], "Rust");
    assert_eq!(server.request("POST", "/store/items/search", r#"{"namespace_prefix":[]}"#).0, 200);
    server.stop();
}
