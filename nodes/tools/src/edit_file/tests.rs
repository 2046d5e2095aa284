use serde_json::json;
use superstep_nodes::tool::{Tool, ToolOutcome};

use super::*;
use crate::session::Session;

/// A session in which the file was read.
async fn read(content: &str) -> Session {
    let session = Session::with(&[("a.txt", content)]);
    session.done("read_file", json!({ "path": "a.txt" })).await;
    session
}

fn edit(old: &str, new: &str) -> serde_json::Value {
    json!({ "path": "a.txt", "old": old, "new": new })
}

#[tokio::test]
async fn a_text_that_is_there_once_is_replaced() {
    let session = read("one\ntwo\nthree\nfour\nfive\nsix\n").await;
    let result = session.call("edit_file", edit("four", "4\nand a half")).await;
    assert_eq!(
        result.content.to_text(),
        "a.txt was edited: replaced once. It now reads:\n     1\tone\n     2\ttwo\n     3\tthree\n     4\t4\n     5\tand a \
         half\n     6\tfive\n     7\tsix\n"
    );
    assert_eq!(result.data, Some(json!({ "path": "a.txt", "replaced": 1 })));
    assert_eq!(session.get("a.txt"), "one\ntwo\nthree\n4\nand a half\nfive\nsix\n");
    // The tool knows what it has written.
    session.done("edit_file", edit("and a half\n", "")).await;
    assert_eq!(session.get("a.txt"), "one\ntwo\nthree\n4\nfive\nsix\n");
}

#[tokio::test]
async fn a_text_that_is_there_more_than_once_has_to_be_told_apart() {
    let session = read("a\nb\na\naaa\n").await;
    let (outcome, said) = session.refused("edit_file", edit("a\n", "x\n")).await;
    assert_eq!(outcome, ToolOutcome::Invalid);
    assert!(said.contains("is in `a.txt` more than once, on lines 1, 3, 4: "), "{said}");
    session.refused("edit_file", edit("aa", "x")).await;
    assert_eq!(session.get("a.txt"), "a\nb\na\naaa\n");
    let all = json!({ "path": "a.txt", "old": "a\n", "new": "x\n", "all": true });
    let said = session.done("edit_file", all).await;
    assert!(said.starts_with("a.txt was edited: replaced 3 times."), "{said}");
    assert_eq!(session.get("a.txt"), "x\nb\nx\naax\n");
}

#[tokio::test]
async fn a_text_that_is_not_there_says_what_may_be_wrong() {
    let session = read("fn main() {\n    run();\n}\n").await;
    let (_, said) = session.refused("edit_file", edit("fn main() {\n  run();", "x")).await;
    assert!(said.ends_with("there is such a text with other white space"), "{said}");
    let (_, said) = session.refused("edit_file", edit("     2\t    run();", "x")).await;
    assert!(said.ends_with("copy it from the file, without the line numbers"), "{said}");
    let (_, said) = session.refused("edit_file", edit("run", "run")).await;
    assert!(said.ends_with("`old` and `new` are the same"), "{said}");
    session.refused("edit_file", edit("", "x")).await;
}

#[tokio::test]
async fn s2_113_114_only_a_file_that_is_as_it_was_read_is_edited() {
    let mut session = Session::with(&[("a.txt", "old text")]);
    let (outcome, said) = session.refused("edit_file", edit("old", "new")).await;
    assert_eq!(outcome, ToolOutcome::Invalid);
    assert!(said.ends_with("`a.txt` was not read yet: read it first"), "{said}");

    session.done("read_file", json!({ "path": "a.txt" })).await;
    session.put("a.txt", "old word");
    let (_, said) = session.refused("edit_file", edit("old", "new")).await;
    assert!(said.ends_with("`a.txt` has changed since it was read: read it again"), "{said}");
    assert_eq!(session.get("a.txt"), "old word");

    // The same content, written again, is no change, whatever its time.
    session.put("a.txt", "old text");
    session.done("edit_file", edit("old", "new")).await;
    session.forget();
    session.refused("edit_file", edit("new", "old")).await;
    assert_eq!(session.get("a.txt"), "new text");
}

/// Between validation and the edit the user may be asked, which may take hours.
#[tokio::test]
async fn a_file_that_changes_while_the_user_is_asked_is_not_edited() {
    use superstep_nodes::tool::{PermissionDecision, PermissionPolicy, PermissionRequest, ToolRegistry};

    use crate::ReadFile;

    struct Slow;

    #[async_trait]
    impl PermissionPolicy for Slow {
        async fn decide(&self, request: PermissionRequest<'_>) -> PermissionDecision {
            if !request.tool.is_read_only(request.input) {
                let path = request.context.workspace().unwrap().join("a.txt");
                std::fs::write(path, "old and theirs").unwrap();
            }
            PermissionDecision::Allow
        }
    }

    let tools = ToolRegistry::new().with(EditFile::new(Workspace::of_session())).unwrap();
    let tools = tools.with(ReadFile::new(Workspace::of_session())).unwrap().permissions(Slow);
    let session = Session::of(tools, &[("a.txt", "old")]);
    session.done("read_file", json!({ "path": "a.txt" })).await;
    let (outcome, said) = session.refused("edit_file", edit("old", "new")).await;
    assert_eq!(outcome, ToolOutcome::Error);
    assert!(said.ends_with("has changed since it was read: read it again"), "{said}");
    assert_eq!(session.get("a.txt"), "old and theirs");
}

#[tokio::test]
async fn the_ends_of_lines_and_the_mark_stay() {
    let session = read("\u{feff}one\r\ntwo\r\n").await;
    session.done("edit_file", edit("one\ntwo", "1\n2")).await;
    assert_eq!(session.get("a.txt"), "\u{feff}1\r\n2\r\n");
}

#[tokio::test]
async fn nothing_of_git_is_edited() {
    let session = Session::with(&[(".git/config", "x = y")]);
    session.done("read_file", json!({ "path": ".git/config" })).await;
    let input = json!({ "path": ".git/config", "old": "y", "new": "z" });
    let (_, said) = session.refused("edit_file", input).await;
    assert!(said.ends_with("`.git/config` belongs to git and is not written"), "{said}");
}

#[test]
fn an_edit_may_be_made_again_and_changes_something() {
    let tool = EditFile::new(Workspace::of_session());
    assert_eq!(tool.effect(&edit("a", "aa")), ToolEffect::Idempotent);
    assert!(!tool.is_concurrency_safe(&edit("a", "aa")) && tool.is_destructive(&edit("a", "aa")));
}

/// A call that was cut off after its edit is made again, in a session that knows the file as it was read.
#[tokio::test]
async fn an_edit_that_was_made_already_is_found_by_looking() {
    let cases = [
        ("one\ntwo\ntwo\n", "one", "two", false, "two\ntwo\ntwo\n", 1),
        ("one\ntwo\nthree\n", "two\n", "", false, "one\nthree\n", 1),
        ("a\r\nb\r\n", "a\n", "x\ny\n", false, "x\r\ny\r\nb\r\n", 1),
        ("\u{feff}a b a", "a", "c", true, "\u{feff}c b c", 2),
    ];
    for (read_as, old, new, all, edited, times) in cases {
        let session = read(read_as).await;
        session.put("a.txt", edited);
        let mut input = edit(old, new);
        input["all"] = all.into();
        let result = session.call("edit_file", input.clone()).await;
        assert_eq!(result.outcome(), ToolOutcome::Ok, "{}", result.content.to_text());
        assert_eq!(
            (session.get("a.txt").as_str(), &result.data.unwrap()["replaced"]),
            (edited, &json!(times))
        );
        // It was noted: the same call of a model once more is another edit, which does not fit.
        if !edited.contains(old) {
            session.refused("edit_file", input).await;
        }

        let session = read(read_as).await;
        session.put("a.txt", format!("{edited}!"));
        let mut input = edit(old, new);
        input["all"] = all.into();
        let (_, said) = session.refused("edit_file", input).await;
        assert!(said.ends_with("has changed since it was read: read it again"), "{said}");
    }
}
