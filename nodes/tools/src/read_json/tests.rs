use serde_json::json;

use super::*;
use crate::session::Session;

async fn read(content: &str, input: Value) -> String {
    let session = Session::with(&[("a.json", content), ("a.jsonl", content)]);
    session.done("read_json", input).await
}

#[tokio::test]
async fn a_value_is_read_whole_or_by_a_pointer() {
    let content = r#"{"a": {"b/c": [1, {"d": "x"}]}}"#;
    assert_eq!(
        read(content, json!({ "path": "a.json", "pointer": "/a/b~1c/1" })).await,
        "{\n  \"d\": \"x\"\n}"
    );
    assert_eq!(read("7", json!({ "path": "a.json" })).await, "7");
    let session = Session::with(&[("a.json", content)]);
    let whole = session.call("read_json", json!({ "path": "a.json" })).await;
    assert_eq!(whole.data, Some(serde_json::from_str(content).unwrap()));
    let (_, said) = session.refused("read_json", json!({ "path": "a.json", "pointer": "/a/b/9" })).await;
    assert!(
        said.ends_with(
            "`a.json` has nothing at `/a/b/9`; /a is an object of 1 members: b/c: a list of 2 items"
        ),
        "{said}"
    );
    let (_, said) = session.refused("read_json", json!({ "path": "a.json", "pointer": "a" })).await;
    assert!(said.ends_with("at the top is an object of 1 members: a: an object of 1 members"), "{said}");
}

#[tokio::test]
async fn a_list_is_read_by_items() {
    let list = "[10, 11, 12, 13]";
    let some = read(list, json!({ "path": "a.json", "from": 1, "items": 2 })).await;
    assert_eq!(some, "a.json: items 1 to 2 of 4\n11\n12\n[read on with from 3]\n");
    assert_eq!(read("[]", json!({ "path": "a.json" })).await, "a.json is an empty list.\n");
    let session = Session::with(&[("a.json", list)]);
    let (_, said) = session.refused("read_json", json!({ "path": "a.json", "from": 4 })).await;
    assert!(said.ends_with("the list has only 4 items"), "{said}");
}

#[tokio::test]
async fn lines_of_json_are_a_list() {
    let lines = "{\"a\":1}\n\n{\"a\":2}\n";
    let second = read(lines, json!({ "path": "a.jsonl", "pointer": "/1/a" })).await;
    assert_eq!(second, "2");
    let session = Session::with(&[("a.ndjson", "1\n{\n")]);
    let (_, said) = session.refused("read_json", json!({ "path": "a.ndjson" })).await;
    assert!(said.contains("line 2 of `a.ndjson` is not JSON: "), "{said}");
}

#[tokio::test]
async fn what_is_too_large_is_described() {
    let large = json!({ "text": "x".repeat(50_000), "list": [1, 2], "none": null });
    let said = read(&large.to_string(), json!({ "path": "a.json" })).await;
    assert_eq!(
        said,
        "a.json is too large to be shown. It is an object of 3 members: list: a list of 2 items, none: null, text: a text \
         of 50000 characters"
    );
    let said = read(&json!([large, 1]).to_string(), json!({ "path": "a.json" })).await;
    assert!(
        said.starts_with("a.json: items 0 to 1 of 2\n[too large; read /0] an object of 3 members"),
        "{said}"
    );
    let many: Vec<String> = (0..900).map(|_| "y".repeat(100)).collect();
    let said = read(&json!(many).to_string(), json!({ "path": "a.json", "items": 900 })).await;
    assert!(said.ends_with("[read on with from 388]\n"), "{}", &said[said.len() - 40..]);
}

#[tokio::test]
async fn what_is_no_json_is_refused_and_depth_too() {
    let session = Session::with(&[("a.json", "{"), ("deep.json", &"[".repeat(100_000))]);
    let (_, said) = session.refused("read_json", json!({ "path": "a.json" })).await;
    assert!(said.contains("`a.json` is not JSON: EOF"), "{said}");
    let (_, said) = session.refused("read_json", json!({ "path": "deep.json" })).await;
    assert!(said.contains("recursion limit"), "{said}");
}
