use serde_json::json;
use superstep_nodes::tool::{Tool, ToolOutcome};

use super::*;
use crate::session::Session;

#[tokio::test]
async fn a_new_file_is_written_with_the_folders_above_it() {
    let session = Session::with(&[]);
    let result = session.call("write_file", json!({ "path": "a/b/c.txt", "content": "hello" })).await;
    assert_eq!(result.content.to_text(), "a/b/c.txt was written: 5 bytes.");
    assert_eq!(result.data, Some(json!({ "path": "a/b/c.txt", "bytes": 5, "new": true })));
    assert_eq!(session.get("a/b/c.txt"), "hello");
    assert_eq!(session.list("a/b"), ["c.txt"]);
    // What the tool wrote, it knows.
    session.done("write_file", json!({ "path": "a/b/c.txt", "content": "again" })).await;
    assert_eq!(session.get("a/b/c.txt"), "again");
}

#[tokio::test]
async fn s2_114_a_file_that_was_not_read_is_not_overwritten() {
    let mut session = Session::with(&[("a.txt", "old")]);
    let (outcome, said) = session.refused("write_file", json!({ "path": "a.txt", "content": "new" })).await;
    assert_eq!(outcome, ToolOutcome::Invalid);
    assert!(said.ends_with("`a.txt` was not read yet: read it first"), "{said}");
    session.done("read_file", json!({ "path": "a.txt" })).await;
    session.forget();
    session.refused("write_file", json!({ "path": "a.txt", "content": "new" })).await;
    assert_eq!(session.get("a.txt"), "old");
    session.done("read_file", json!({ "path": "a.txt" })).await;
    let said = session.done("write_file", json!({ "path": "a.txt", "content": "new" })).await;
    assert_eq!((said.as_str(), session.get("a.txt").as_str()), ("a.txt was replaced: 3 bytes.", "new"));
}

#[tokio::test]
async fn s2_113_a_file_that_changed_since_it_was_read_is_not_overwritten() {
    let session = Session::with(&[("a.txt", "old")]);
    session.done("read_file", json!({ "path": "a.txt" })).await;
    session.put("a.txt", "their");
    let (outcome, said) = session.refused("write_file", json!({ "path": "a.txt", "content": "new" })).await;
    assert_eq!(outcome, ToolOutcome::Invalid);
    assert!(said.ends_with("`a.txt` has changed since it was read: read it again"), "{said}");
    assert_eq!(session.get("a.txt"), "their");
}

/// A call that a crash cut short is made again, in a session that knows of no file.
#[tokio::test]
async fn the_same_content_again_is_no_change() {
    let mut session = Session::with(&[]);
    let input = json!({ "path": "a.txt", "content": "new" });
    session.done("write_file", input.clone()).await;
    session.forget();
    assert_eq!(session.done("write_file", input.clone()).await, "a.txt had this content already: 3 bytes.");
    assert_eq!(WriteFile::new(Workspace::of_session()).effect(&input), ToolEffect::Idempotent);
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_keeps_its_permissions_and_one_that_is_read_only_its_content() {
    use std::os::unix::fs::PermissionsExt;
    let session = Session::with(&[("run.sh", "old")]);
    let set = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(session.path("run.sh"), permissions).unwrap();
    };
    set(0o750);
    session.done("read_file", json!({ "path": "run.sh" })).await;
    session.done("write_file", json!({ "path": "run.sh", "content": "new" })).await;
    let mode = session.path("run.sh").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o750);
    set(0o440);
    let (_, said) = session.refused("write_file", json!({ "path": "run.sh", "content": "x" })).await;
    assert!(said.contains("`run.sh`: it may not be written"), "{said}");
    assert_eq!((session.get("run.sh").as_str(), session.list(".")), ("new", vec!["run.sh".to_owned()]));
}

#[tokio::test]
async fn a_reader_of_a_file_sees_the_old_content_or_the_new() {
    let session = Session::with(&[]);
    let content = |letter: &str| letter.repeat(200_000);
    session.done("write_file", json!({ "path": "a.txt", "content": content("a") })).await;
    let path = session.path("a.txt");
    let reader = std::thread::spawn(move || {
        let mut seen = std::collections::BTreeSet::new();
        while !seen.contains(&b'z') {
            let bytes = std::fs::read(&path).unwrap();
            assert!(
                bytes.len() == 200_000 && bytes.iter().all(|byte| *byte == bytes[0]),
                "half of a file was seen"
            );
            seen.insert(bytes[0]);
        }
        seen.len()
    });
    for letter in 'b'..='z' {
        session.done("write_file", json!({ "path": "a.txt", "content": content(&letter.to_string()) })).await;
    }
    assert!(reader.join().unwrap() > 1);
}

/// A temporary file left by a crash during a write does not block later writes, and is never taken for the file.
#[tokio::test]
async fn a_name_that_is_taken_is_not_used_for_what_is_temporary() {
    let session = Session::with(&[(".a.txt.superstep-0/a", "theirs")]);
    session.done("write_file", json!({ "path": "a.txt", "content": "mine" })).await;
    assert_eq!((session.get(".a.txt.superstep-0/a"), session.get("a.txt")), ("theirs".into(), "mine".into()));
    assert_eq!(session.list(".").len(), 2);
}

#[tokio::test]
async fn nothing_of_git_is_written() {
    let session = Session::with(&[(".git/config", "x"), ("sub/.GIT/hooks/a", "x")]);
    for path in [".git/hooks/pre-commit", ".git/config", "sub/.GIT/hooks/a", "a/../.git/x"] {
        session.put("a/b", "");
        let (_, said) = session.refused("write_file", json!({ "path": path, "content": "y" })).await;
        assert!(said.ends_with("belongs to git and is not written"), "{said}");
    }
    session.done("write_file", json!({ "path": ".gitignore", "content": "target" })).await;
}

#[tokio::test]
async fn what_is_no_file_is_not_written() {
    let session = Session::with(&[("folder/a", "x")]);
    for (path, why) in [
        ("folder", "is a folder"),
        (".", "is a folder"),
        ("new/", "names no file"),
        ("folder/a/b", "folder/a"),
        ("none/../../x", "`none/../../x`"),
    ] {
        let (_, said) = session.refused("write_file", json!({ "path": path, "content": "y" })).await;
        assert!(said.contains(why), "{path}: {said}");
    }
    assert_eq!(session.list("."), ["folder"]);
}

#[tokio::test]
async fn an_abandoned_call_writes_nothing() {
    let session = Session::with(&[]);
    let tool = WriteFile::new(Workspace::at(session.path(".")).unwrap());
    let call =
        superstep_nodes::message::ToolCall::new("c", "write_file", json!({ "path": "a", "content": "x" }));
    let gone = superstep_core::run::CancellationToken::new();
    gone.cancel();
    let context = ToolContext::new(&call, superstep_nodes::tool::ToolSession::new()).cancel_on(&gone);
    let said = tool.call(call.input.clone(), &context).await.unwrap_err().to_string();
    assert_eq!((said.as_str(), session.list(".").len()), ("stopped before anything was written", 0));
}

#[test]
fn writing_is_said_to_change_something() {
    let tool = WriteFile::new(Workspace::of_session());
    let input = json!({ "path": "a", "content": "xyz" });
    assert!(!tool.is_read_only(&input) && !tool.is_concurrency_safe(&input) && tool.is_destructive(&input));
    assert_eq!(tool.classifier_input(&input).unwrap(), "write 3 bytes to the file a");
}
