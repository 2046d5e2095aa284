use serde_json::json;
use superstep_nodes::message::{ImageSource, Part};
use superstep_nodes::tool::{Tool, ToolOutcome};

use super::*;
use crate::session::Session;

#[tokio::test]
async fn a_text_comes_with_numbered_lines() {
    let session = Session::with(&[("a.txt", "one\r\ntwo\n\nfour")]);
    let result = session.call("read_file", json!({ "path": "a.txt" })).await;
    assert_eq!(result.content.to_text(), "     1\tone\n     2\ttwo\n     3\t\n     4\tfour\n");
    assert_eq!(result.data, Some(json!({ "path": "a.txt", "from_line": 1, "to_line": 4, "lines": 4 })));
}

#[tokio::test]
async fn lines_are_read_that_are_asked_for() {
    let session = Session::with(&[("a.txt", "one\ntwo\nthree\nfour\n"), ("empty", "")]);
    let read = session.done("read_file", json!({ "path": "a.txt", "from_line": 2, "lines": 2 })).await;
    assert_eq!(read, "     2\ttwo\n     3\tthree\n[lines 2 to 3 of 4; read on with from_line 4]");
    let read = session.done("read_file", json!({ "path": "a.txt", "from_line": 4 })).await;
    assert_eq!(read, "     4\tfour\n[lines 4 to 4 of 4]");
    let (_, said) = session.refused("read_file", json!({ "path": "a.txt", "from_line": 5 })).await;
    assert!(said.ends_with("`a.txt` has only 4 lines"), "{said}");
    assert_eq!(session.done("read_file", json!({ "path": "empty" })).await, "empty is empty.");
}

#[tokio::test]
async fn a_long_text_ends_at_a_line_and_says_where_to_read_on() {
    let line = "x".repeat(999);
    let session = Session::with(&[("a.txt", &format!("{line}\n").repeat(100))]);
    let read = session.done("read_file", json!({ "path": "a.txt" })).await;
    assert!(
        read.ends_with("\n[lines 1 to 39 of 100; read on with from_line 40]"),
        "{}",
        &read[read.len() - 90..]
    );
    assert!(read.chars().count() < superstep_nodes::tool::DEFAULT_MAX_RESULT_CHARS);
    session.put("wide.txt", "y".repeat(5_000));
    let read = session.done("read_file", json!({ "path": "wide.txt" })).await;
    assert!(read.ends_with("y [… 3000 characters more]\n"), "{}", &read[read.len() - 60..]);
}

#[tokio::test]
async fn s2_058_of_a_large_file_the_requested_lines_are_read() {
    let tool = ReadFile::new(Workspace::of_session()).with_max_file_bytes(10);
    let tools = crate::workspace(Workspace::of_session()).without("read_file").with(tool).unwrap();
    let long = format!("{}ä\nlast", "x".repeat((1 << 20) - 1));
    let session = Session::of(tools, &[("large", "one\r\ntwo\n\nfour"), ("long", &long)]);
    let read = session.done("read_file", json!({ "path": "large" })).await;
    assert_eq!(read, "     1\tone\n     2\ttwo\n     3\t\n     4\tfour\n");
    let read = session.done("read_file", json!({ "path": "large", "from_line": 2, "lines": 1 })).await;
    assert_eq!(read, "     2\ttwo\n[lines 2 to 2 of 4; read on with from_line 3]");
    // A line that ends the buffer in the middle of a letter.
    let read = session.done("read_file", json!({ "path": "long", "from_line": 2 })).await;
    assert_eq!(read, "     2\tlast\n[lines 2 to 2 of 2]");
    let (_, said) = session.refused("edit_file", json!({ "path": "large", "old": "one", "new": "1" })).await;
    assert!(said.contains("was not read yet"), "{said}");
    session.put("binary", b"\x7fELF\0 and a long tail");
    let (_, said) = session.refused("read_file", json!({ "path": "binary" })).await;
    assert!(said.ends_with("`binary` is not text in UTF-8"), "{said}");
}

#[tokio::test]
async fn what_is_no_text_is_refused() {
    let session = Session::with(&[]);
    session.put("binary", b"\x7fELF\0");
    let (outcome, said) = session.refused("read_file", json!({ "path": "binary" })).await;
    assert_eq!(outcome, ToolOutcome::Error);
    assert!(said.ends_with("`binary` is not text in UTF-8; it has 5 bytes"), "{said}");
    let (_, said) = session.refused("read_file", json!({ "path": "." })).await;
    assert!(said.ends_with("is a folder"), "{said}");
    let (_, said) = session.refused("read_file", json!({ "path": "none" })).await;
    assert!(said.ends_with("there is no `none` in the workspace"), "{said}");
}

#[tokio::test]
async fn an_image_is_shown() {
    let session = Session::with(&[]);
    session.put("a.bin", b"\x89PNG\r\n\x1a\n\0\0");
    let result = session.call("read_file", json!({ "path": "a.bin" })).await;
    assert_eq!(result.content.to_text(), "a.bin: image/png, 10 bytes");
    let Part::Image(image) = &result.content.parts()[1] else { panic!("{result:?}") };
    let source = ImageSource::Base64 { media_type: "image/png".into(), data: "iVBORw0KGgoAAA==".into() };
    assert_eq!(image.source, source);
    session.put("b.png", [&b"\x89PNG\r\n\x1a\n"[..], &vec![0; ReadFile::MAX_IMAGE_BYTES]].concat());
    let (_, said) = session.refused("read_file", json!({ "path": "b.png" })).await;
    assert!(said.contains("is an image of 3750008 bytes"), "{said}");
}

#[tokio::test]
async fn an_input_that_does_not_fit_says_why() {
    let session = Session::with(&[]);
    for input in [json!({}), json!({ "path": "a", "from_line": 0 }), json!({ "path": "a", "line": 1 })] {
        let (outcome, said) = session.refused("read_file", input).await;
        assert_eq!(outcome, ToolOutcome::Invalid, "{said}");
    }
}

#[test]
fn reading_changes_nothing_and_runs_beside_other_calls() {
    let tool = ReadFile::new(Workspace::of_session());
    let input = json!({ "path": "src/a.rs" });
    assert!(tool.is_read_only(&input) && tool.is_concurrency_safe(&input) && !tool.is_destructive(&input));
    assert_eq!(tool.effect(&input), ToolEffect::ReadOnly);
    assert!(tool.permission_matcher(&input).unwrap().matches("src/**"));
    assert_eq!(tool.classifier_input(&input).unwrap(), "read the file src/a.rs");
    assert_eq!(
        tool.effect(&json!({ "path": 1 })),
        ToolEffect::Changes,
        "what is no input is taken for the worst"
    );
}
