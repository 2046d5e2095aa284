//! Output on a terminal: columns that fit, optional colours, transcripts, and completions.

use std::path::PathBuf;

use serde_json::{Value, json};
use superstep::cli::{Exit, Look};
use superstep::nodes::message::ToolCall;
use superstep::nodes::model::{ModelReply, Scripted, Turn};
use superstep::prelude::*;
use tempfile::TempDir;

use crate::agent::{Chat, agent};
use crate::program::written;
use crate::said;

/// At 80 columns `changed` used to be cut, while ids kept more digits than needed.
#[tokio::test]
async fn at_eighty_columns_what_ran_and_what_changed_is_there() {
    let file = written().await;
    for line in ["log FILE rust", "log FILE rust --graph"] {
        let log = said(&file.path, Look { width: Some(80), color: false }, line).out;
        for text in ["ran ", "changed", "research ×2", "draft, rounds", "began", "took", "1.0 s"] {
            assert!(log.contains(text), "{text}: {log}");
        }
        assert!(log.lines().all(|line| line.chars().count() <= 80), "{log}");
    }
    // The shortened id works like the whole id.
    let log = said(&file.path, Look { width: Some(80), color: false }, "log FILE rust").out;
    let id = log.lines().nth(1).unwrap().split_whitespace().nth(1).unwrap().to_owned();
    assert_eq!(id.len(), 4, "{log}");
    let shown = said(&file.path, Look::PIPED, &format!("show FILE {id} --json"));
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(shown["step"], 6);
}

#[tokio::test]
async fn colors_are_as_they_are_asked_for() {
    let file = written().await;
    let colored = |look, line: &str| said(&file.path, look, line).out.contains('\u{1b}');
    assert!(colored(Look::terminal(80), "threads FILE"));
    assert!(colored(Look::terminal(80), "threads FILE --color auto"));
    assert!(!colored(Look::PIPED, "threads FILE --color auto"));
    assert!(colored(Look::PIPED, "threads FILE --color always"));
    assert!(!colored(Look::terminal(80), "--color never threads FILE"));
    let mut program = crate::debugger::Program::new().await;
    assert!(!program.says(Look::terminal(80), "threads --color never").await.out.contains('\u{1b}'));
}

#[test]
fn each_shell_gets_its_completions() {
    for (shell, mark) in
        [("bash", "complete -F _superstep"), ("zsh", "#compdef superstep"), ("fish", "complete -c superstep")]
    {
        let script = said(&PathBuf::from("nowhere"), Look::PIPED, &format!("completions {shell}"));
        assert_eq!(script.exit, Exit::Fine);
        assert!(script.out.contains(mark) && script.out.contains("bisect"), "{shell}");
    }
    assert_eq!(said(&PathBuf::from("nowhere"), Look::PIPED, "completions tcsh").exit, Exit::Unusable);
}

/// A thread whose agent asked a tool for the time.
async fn day() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("days.db");
    let calls = vec![ToolCall::new("c1", "now", json!({}))];
    let asking = ModelReply { tool_calls: calls, ..ModelReply::new("claude-x", "Let me look.") };
    let model = Scripted::new()
        .then(Turn::Reply(asking))
        .then(Turn::Reply(ModelReply::new("claude-x", "It is noon.")));
    let graph = agent(model).checkpointer(SqliteSaver::open(&path).await.unwrap());
    let run = graph.thread("day").run(Chat::ask("What time is it?")).await.unwrap();
    run.finished().unwrap();
    (folder, path)
}

#[tokio::test]
async fn a_conversation_is_read_as_a_transcript() {
    let (_folder, path) = day().await;
    let told = said(&path, Look::PIPED, "show FILE day --messages");
    assert_eq!(
        told.out,
        "human\n  What time is it?\n\nai\n  Let me look.\n  → now {} as c1\n\ntool now answers c1\n  noon\n\nai\n  \
         It is noon.\n",
        "{}",
        told.err
    );
    let told: Value =
        serde_json::from_str(&said(&path, Look::PIPED, "show FILE day --messages --json").out).unwrap();
    let messages = &told["conversations"][0]["messages"];
    assert_eq!(messages[1]["tool_calls"], json!([{"id": "c1", "name": "now", "input": {}}]));
    assert_eq!(messages[2]["tool"], "now");

    let threads = said(&path, Look::PIPED, "threads FILE").out;
    assert!(threads.contains("What time is it?"), "the first input: {threads}");

    let file = written().await;
    let none = said(&file.path, Look::PIPED, "show FILE rust --messages");
    assert_eq!(none.exit, Exit::No);
    let expected = "error: there is no list of messages in the state of checkpoint ";
    assert!(none.err.starts_with(expected), "{}", none.err);
    let none = said(&file.path, Look::PIPED, "show FILE rust facts --messages");
    assert!(
        none.err.starts_with("error: there is no list of messages in facts of checkpoint "),
        "{}",
        none.err
    );
}
