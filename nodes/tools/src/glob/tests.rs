use serde_json::json;
use superstep_nodes::tool::ToolOutcome;

use crate::session::Session;

fn session() -> Session {
    Session::with(&[
        ("a.rs", ""),
        ("src/b.rs", ""),
        ("src/deep/c.rs", ""),
        ("src/d.md", ""),
        (".hidden/e.rs", ""),
        (".git/f.rs", ""),
        ("target/g.rs", ""),
        (".gitignore", "target/\n"),
    ])
}

async fn files(session: &Session, input: serde_json::Value) -> String {
    session.done("glob", input).await
}

#[tokio::test]
async fn files_are_listed_that_fit_and_that_nothing_excludes() {
    let session = session();
    assert_eq!(files(&session, json!({ "pattern": "*.rs" })).await, "a.rs\nsrc/b.rs\nsrc/deep/c.rs");
    assert_eq!(files(&session, json!({ "pattern": "./*.rs" })).await, "a.rs\nsrc/b.rs\nsrc/deep/c.rs");
    assert_eq!(files(&session, json!({ "pattern": "src/*.{rs,md}" })).await, "src/b.rs\nsrc/d.md");
    assert_eq!(files(&session, json!({ "pattern": "src/**" })).await, "src/b.rs\nsrc/d.md\nsrc/deep/c.rs");
    assert_eq!(files(&session, json!({ "pattern": "deep/*", "path": "src" })).await, "src/deep/c.rs");
    assert_eq!(files(&session, json!({ "pattern": "e.rs", "hidden": true })).await, ".hidden/e.rs");
    assert_eq!(files(&session, json!({ "pattern": "f.rs", "hidden": true })).await, "No file fits.");
    assert_eq!(files(&session, json!({ "pattern": "*.rs", "path": "a.rs" })).await, "a.rs");
}

#[tokio::test]
async fn a_list_that_is_cut_off_says_so() {
    let result = session().call("glob", json!({ "pattern": "*.rs", "limit": 2 })).await;
    assert_eq!(result.content.to_text(), "a.rs\nsrc/b.rs\n[these are the first 2; there are more]");
    assert_eq!(result.data, Some(json!({ "files": ["a.rs", "src/b.rs"], "complete": false })));
}

#[tokio::test]
async fn a_pattern_that_is_none_is_not_valid() {
    let (outcome, said) = session().refused("glob", json!({ "pattern": "a[" })).await;
    assert_eq!(outcome, ToolOutcome::Invalid);
    assert!(said.contains("`a[` is no pattern: "), "{said}");
    let (_, said) = session().refused("glob", json!({ "pattern": "*", "path": "none" })).await;
    assert!(said.ends_with("there is no `none` in the workspace"), "{said}");
}
