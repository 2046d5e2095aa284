//! The example `mcp_server`: as a client that starts it, and as a server that another client starts.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::{documents, example};

#[test]
fn it_asks_itself() {
    let folder = documents();
    let output = Command::new(example("mcp_server"))
        .current_dir(folder.path())
        .args(["ask", "What does a fork share?"])
        .output()
        .expect("the example runs");
    let told = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("it shares its past with the trunk") && told.contains("docs/forks.md"), "{told}");
}

#[test]
fn another_client_reads_lines_and_nothing_else() {
    let folder = documents();
    let mut server = Command::new(example("mcp_server"))
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the example runs");
    let mut input = server.stdin.take().expect("it is a pipe");
    let mut lines = BufReader::new(server.stdout.take().expect("it is a pipe")).lines();
    let mut ask = |message: Value| {
        writeln!(input, "{message}").expect("the server listens");
        match message.get("id") {
            Some(id) => loop {
                let line = lines.next().expect("the server answers").expect("a line");
                let answer: Value = serde_json::from_str(&line).expect("JSON");
                if answer["id"] == *id {
                    break answer["result"].clone();
                }
            },
            None => Value::Null,
        }
    };
    let client = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let hello = ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }));
    assert_eq!(hello["serverInfo"]["name"], "documents");
    ask(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let tools = ask(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }));
    assert_eq!(tools["tools"][0]["name"], "ask_docs");
    let arguments = json!({ "question": "What does a checkpoint hold?" });
    let call = json!({ "name": "ask_docs", "arguments": arguments });
    let answer = ask(json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call }));
    assert_eq!(answer["structuredContent"]["status"], "finished", "{answer:#}");
    // When its input ends, it has no client to serve.
    drop(input);
    assert!(server.wait().expect("it ends").success());
}

#[test]
fn an_unknown_model_name_is_reported_by_the_server_and_by_the_client() {
    for arguments in [&["--model", "parrot"][..], &["--model", "parrot", "ask", "What?"]] {
        let output = Command::new(example("mcp_server")).args(arguments).output().expect("the example runs");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.starts_with("error: unknown model `parrot`; the models are extractive, "), "{told}");
    }
    let unknown = Command::new(example("mcp_server")).arg("sing").output().expect("the example runs");
    assert_eq!(unknown.status.code(), Some(2));
}
