use serde_json::json;
use superstep_nodes::tool::ToolOutcome;

use super::*;
use crate::session::Session;
#[cfg(unix)]
use crate::session::link;
use crate::{ReadFile, WriteFile};

/// Asserts that every tool that names a file refuses a path, for the reason `why`.
async fn assert_no_way(session: &Session, path: &str, why: &str) {
    for (tool, input) in [
        ("read_file", json!({ "path": path })),
        ("write_file", json!({ "path": path, "content": "x" })),
        ("edit_file", json!({ "path": path, "old": "secret", "new": "x" })),
        ("grep", json!({ "path": path, "pattern": "secret" })),
        ("glob", json!({ "path": path, "pattern": "*" })),
    ] {
        let (_, said) = session.refused(tool, input).await;
        assert!(said.contains(why), "{tool} {path}: {said}");
        assert!(!said.contains("a secret"), "{tool} {path}: {said}");
    }
}

#[tokio::test]
async fn no_path_leads_out_of_the_workspace() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("key"), "a secret").unwrap();
    let name = outside.path().file_name().unwrap().to_str().unwrap();
    let session = Session::with(&[("src/a.txt", "a")]);
    let absolute = outside.path().join("key");
    assert_no_way(&session, absolute.to_str().unwrap(), "is not relative to the workspace").await;
    assert_no_way(&session, &format!("../{name}/key"), "leads out of the workspace").await;
    assert_no_way(&session, &format!("src/../../{name}/key"), "leads out of the workspace").await;
    assert_no_way(&session, "..", "leads out of the workspace").await;
    assert_eq!(std::fs::read_to_string(absolute).unwrap(), "a secret");
}

#[cfg(unix)]
#[tokio::test]
async fn no_link_leads_out_of_the_workspace() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("key"), "a secret").unwrap();
    let session = Session::with(&[("src/a.txt", "a")]);
    link(outside.path().join("key"), &session.path("file"));
    link(outside.path(), &session.path("folder"));
    link("../..", &session.path("src/up"));
    for path in ["file", "folder/key", "folder", "src/up/key"] {
        assert_no_way(&session, path, "leads out of the workspace").await;
    }
    link(outside.path().join("new"), &session.path("dangling"));
    let (_, said) = session.refused("write_file", json!({ "path": "dangling", "content": "x" })).await;
    assert!(said.contains("leads out of the workspace"), "{said}");
    let (_, said) = session.refused("write_file", json!({ "path": "folder/new", "content": "x" })).await;
    assert!(said.contains("leads out of the workspace"), "{said}");
    let (_, said) = session.refused("write_file", json!({ "path": "folder/a/b", "content": "x" })).await;
    assert!(said.contains("leads out of the workspace"), "{said}");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    assert_eq!(std::fs::read_to_string(outside.path().join("key")).unwrap(), "a secret");
    let found = session.done("grep", json!({ "pattern": "secret" })).await;
    assert_eq!(found, "No line fits.\n");
}

/// A folder that is, again and again, exchanged for a link that leads out, while files below it are read and written.
#[cfg(unix)]
#[tokio::test]
async fn a_link_that_is_put_in_the_way_meanwhile_leads_nowhere() {
    use std::sync::atomic::{AtomicBool, Ordering};

    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("key"), "a secret").unwrap();
    let session = Session::with(&[("real/key", "inside")]);
    link(outside.path(), &session.path("link"));
    let (real, away, link_path) = (session.path("folder"), session.path("real"), session.path("link"));
    std::fs::rename(&away, &real).unwrap();
    // While there is no folder of that name a write makes one, which is taken away.
    let place = |from: &Path, to: &Path| {
        while std::fs::rename(from, to).is_err() {
            drop(std::fs::remove_dir_all(to));
        }
    };
    let over = AtomicBool::new(false);
    let texts = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                place(&real, &away);
                place(&link_path, &real);
                place(&real, &link_path);
                place(&away, &real);
            }
        });
        let read = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            let texts = runtime.block_on(async {
                let mut texts = Vec::new();
                for number in 0..600 {
                    let (read, search) =
                        (json!({ "path": "folder/key" }), json!({ "path": "folder", "pattern": "." }));
                    let mut calls = vec![("read_file", read), ("grep", search)];
                    if number % 6 == 0 {
                        let path = format!("folder/{number}");
                        calls.push(("write_file", json!({ "path": path, "content": number.to_string() })));
                    }
                    for (tool, input) in calls {
                        texts.push(session.call(tool, input).await.content.to_text().into_owned());
                    }
                }
                texts
            });
            over.store(true, Ordering::Relaxed);
            texts
        });
        read.join().unwrap()
    });
    assert!(texts.iter().any(|text| text.contains("inside")), "the folder was never there");
    assert!(
        texts.iter().any(|text| !text.contains("inside") && !text.contains("written")),
        "the link was never there"
    );
    assert!(!texts.iter().any(|text| text.contains("a secret")));
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn links_and_steps_up_within_the_workspace_are_followed() {
    let session = Session::with(&[("src/a.txt", "inside")]);
    link("src/a.txt", &session.path("link"));
    for path in ["link", "./src/../link", "src/./a.txt"] {
        assert_eq!(session.done("read_file", json!({ "path": path })).await, "     1\tinside\n");
    }
    session.done("write_file", json!({ "path": "link", "content": "changed" })).await;
    assert!(session.path("link").is_symlink());
    assert_eq!(session.get("src/a.txt"), "changed");
}

#[tokio::test]
async fn an_absolute_path_into_the_workspace_is_answered_with_its_relative_form() {
    let session = Session::with(&[("src/a.txt", "a")]);
    let path = session.path("src/a.txt").canonicalize().unwrap();
    let (outcome, said) = session.refused("read_file", json!({ "path": path })).await;
    assert_eq!(outcome, ToolOutcome::Error);
    assert!(said.ends_with("is not relative to the workspace; write `src/a.txt`"), "{said}");
}

#[cfg(unix)]
#[tokio::test]
async fn what_is_neither_file_nor_folder_is_not_opened() {
    let session = Session::with(&[]);
    let pipe = session.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (_, said) = session.refused("read_file", json!({ "path": "pipe" })).await;
    assert!(said.ends_with("`pipe` is no file"), "{said}");
    let (_, said) = session.refused("write_file", json!({ "path": "pipe", "content": "x" })).await;
    assert!(said.ends_with("`pipe` is no file"), "{said}");
    assert_eq!(session.done("grep", json!({ "pattern": "." })).await, "No line fits.\n");
}

#[tokio::test]
async fn the_workspace_is_the_sessions_or_one_that_is_named() {
    let nowhere =
        superstep_nodes::tool::ToolRegistry::new().with(ReadFile::new(Workspace::of_session())).unwrap();
    let call = superstep_nodes::message::ToolCall::new("c", "read_file", json!({ "path": "a" }));
    let said = nowhere.answer("m", &call).await.content.to_text().into_owned();
    assert_eq!(said, "the tool `read_file` failed: there is no workspace to work in");

    let named = tempfile::tempdir().unwrap();
    let tools =
        superstep_nodes::tool::ToolRegistry::new().with(WriteFile::new(Workspace::at(named.path()).unwrap()));
    let session = Session::of(tools.unwrap(), &[]);
    session.done("write_file", json!({ "path": "a", "content": "x" })).await;
    assert_eq!(std::fs::read_to_string(named.path().join("a")).unwrap(), "x");
    assert_eq!(session.list("."), [""; 0]);

    let missing = Workspace::at(named.path().join("none")).unwrap_err().to_string();
    assert!(missing.starts_with("the workspace ") && missing.contains("cannot be opened: "), "{missing}");
}
