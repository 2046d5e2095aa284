use serde_json::json;
use superstep_core::run::CancellationToken;
use superstep_nodes::message::ToolCall;
use superstep_nodes::tool::{Tool, ToolOutcome, ToolSession};

use super::*;
use crate::session::Session;

fn session() -> Session {
    Session::with(&[
        ("a.rs", "fn one() {}\n\nfn two() {}\r\n"),
        ("src/b.rs", "1\n2\n3 one\n4\n5\n6\n7 one\n8 one\n"),
        ("src/c.md", "One\n"),
        ("target/d.rs", "one\n"),
        (".github/e.yml", "one\n"),
        (".gitignore", "target\n"),
    ])
}

#[tokio::test]
async fn lines_are_found_with_their_numbers() {
    let session = session();
    let found = session.done("grep", json!({ "pattern": "one" })).await;
    assert_eq!(found, "a.rs\n1:fn one() {}\nsrc/b.rs\n3:3 one\n7:7 one\n8:8 one\n");
    let found = session.done("grep", json!({ "pattern": r"^fn \w+\(\) \{\}$" })).await;
    assert_eq!(found, "a.rs\n1:fn one() {}\n3:fn two() {}\n");
    let found = session.done("grep", json!({ "pattern": "^$" })).await;
    assert_eq!(found, "a.rs\n2:\n", "what follows the last line is none");
    assert_eq!(session.done("grep", json!({ "pattern": "three" })).await, "No line fits.\n");
}

#[tokio::test]
async fn a_search_is_narrowed_and_widened() {
    let session = session();
    let found = session.done("grep", json!({ "pattern": "one", "files": "*.md", "ignore_case": true })).await;
    assert_eq!(found, "src/c.md\n1:One\n");
    let found = session.done("grep", json!({ "pattern": "one", "path": "src/b.rs", "context": 1 })).await;
    assert_eq!(found, "src/b.rs\n2-2\n3:3 one\n4-4\n--\n6-6\n7:7 one\n8:8 one\n");
    let found = session.done("grep", json!({ "pattern": "one", "hidden": true, "output": "files" })).await;
    assert_eq!(found, ".github/e.yml: 1\na.rs: 1\nsrc/b.rs: 3\n");
}

#[tokio::test]
async fn a_search_that_is_cut_off_says_so() {
    let session = session();
    let result = session.call("grep", json!({ "pattern": "one", "limit": 3 })).await;
    assert_eq!(
        result.content.to_text(),
        "a.rs\n1:fn one() {}\nsrc/b.rs\n3:3 one\n7:7 one\n[there are more: search in a folder, or for something rarer]\n"
    );
    let data = json!({ "lines": 3, "files": 2, "skipped": 0, "complete": false });
    assert_eq!(result.data, Some(data));
    let exactly = session.call("grep", json!({ "pattern": "one", "limit": 4 })).await;
    assert_eq!(exactly.data.unwrap()["complete"], true);
    let files = session.done("grep", json!({ "pattern": "one", "limit": 1, "output": "files" })).await;
    assert_eq!(files, "a.rs: 1\n[there are more: search in a folder, or for something rarer]\n");
    session.put("wide", format!("{}one\n", "x".repeat(90)).repeat(900));
    let wide = session.done("grep", json!({ "pattern": "one", "path": "wide", "limit": 1_000 })).await;
    assert!(wide.len() < 41_000 && wide.contains("[there are more"), "{}", wide.len());
}

#[tokio::test]
async fn files_that_are_no_text_or_too_large_are_counted() {
    let tools = superstep_nodes::tool::ToolRegistry::new();
    let tools = tools.with(Grep::new(Workspace::of_session()).with_max_file_bytes(20)).unwrap();
    let session = Session::of(tools, &[("large", "one one one one one one"), ("small", "one")]);
    session.put("binary", b"one\0");
    session.put("latin1", b"one \xe9\n");
    let found = session.done("grep", json!({ "pattern": "one" })).await;
    assert_eq!(
        found,
        "latin1\n1:one \u{fffd}\nsmall\n1:one\n[2 files were too large, no text or not readable]\n"
    );
}

#[tokio::test]
async fn an_expression_that_is_none_is_not_valid() {
    for pattern in ["(", "(?=a)", r"\w{1000}{1000}"] {
        let (outcome, said) = session().refused("grep", json!({ "pattern": pattern })).await;
        assert_eq!(outcome, ToolOutcome::Invalid);
        assert!(said.contains("is no regular expression: "), "{said}");
    }
}

#[tokio::test]
async fn an_abandoned_search_ends() {
    let session = session();
    let gone = CancellationToken::new();
    gone.cancel();
    let call = ToolCall::new("c", "grep", json!({ "pattern": "one" }));
    let context = ToolContext::new(&call, ToolSession::in_workspace(session.path("."))).cancel_on(&gone);
    let tool = Grep::new(Workspace::of_session());
    assert_eq!(tool.call(call.input.clone(), &context).await.unwrap_err().to_string(), "stopped");
    assert!(tool.is_read_only(&call.input) && tool.is_concurrency_safe(&call.input));
}
