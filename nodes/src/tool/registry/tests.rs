use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::message::ToolStatus;
use crate::tool::TypedTool;
use crate::tool::probe::Probe;

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

fn shout(name: &str) -> impl Tool {
    TypedTool::new(name, "Says it louder.", |input: Text| async move {
        if input.text.is_empty() { Err("nothing to shout") } else { Ok(input.text.to_uppercase()) }
    })
}

async fn answer(input: Value, name: &str) -> (ToolStatus, String) {
    let tools = ToolRegistry::new().with(shout("shout")).unwrap().with(shout("cry")).unwrap();
    let message = tools.answer("m", &ToolCall::new("c", name, input)).await;
    assert_eq!((message.tool_call_id.as_str(), message.name.as_str()), ("c", name));
    (message.status, message.content.to_text().into_owned())
}

fn names(tools: &ToolRegistry) -> Vec<String> {
    tools.specs().into_iter().map(|spec| spec.name).collect()
}

#[tokio::test]
async fn a_call_is_answered_with_the_output() {
    assert_eq!(answer(json!({ "text": "hey" }), "shout").await, (ToolStatus::Ok, "HEY".into()));
}

#[tokio::test]
async fn what_goes_wrong_is_reported_to_the_model() {
    let (status, text) = answer(json!({}), "whisper").await;
    assert_eq!(status, ToolStatus::Error);
    assert_eq!(text, "there is no tool named `whisper`; the tools are: cry, shout");

    let (status, text) = answer(json!({ "txet": "hey" }), "shout").await;
    assert_eq!(status, ToolStatus::Error);
    assert!(text.starts_with("the input does not fit the tool `shout`: "), "{text}");

    let (status, text) = answer(json!({ "text": "" }), "shout").await;
    assert_eq!(status, ToolStatus::Error);
    assert_eq!(text, "the tool `shout` failed: nothing to shout");
}

#[cfg(feature = "schema-validation")]
#[tokio::test]
async fn s2_098_the_input_is_checked_against_the_schema() {
    let (_, text) = answer(json!({ "text": 7 }), "shout").await;
    assert_eq!(text, r#"the input does not fit the tool `shout`: at /text: 7 is not of type "string""#);
}

#[test]
fn s2_056_a_description_that_says_little_is_found() {
    let tool = |name: &str, description: String| TypedTool::new(name, description, |_: Value| async { "" });
    let least = ToolRegistry::MIN_DESCRIPTION_CHARS;
    let tools = ToolRegistry::new().with(tool("long", "ä".repeat(least))).unwrap();
    let tools = tools.with(tool("short", "ä".repeat(least - 1))).unwrap();
    assert_eq!(tools.short_descriptions(), ["short"]);
}

#[test]
fn two_tools_of_one_name_are_refused() {
    let mut tools = ToolRegistry::new().with(shout("a")).unwrap();
    assert_eq!(tools.add(Arc::new(shout("a"))), Err(RegistryError::Duplicate { name: "a".into() }));
    assert_eq!(tools.specs().len(), 1);
}

#[test]
fn names_that_providers_refuse_are_refused() {
    for name in ["", "two words", "größe", "a.b", &"x".repeat(65)] {
        let refused = ToolRegistry::new().with(shout(name)).unwrap_err();
        assert_eq!(refused, RegistryError::InvalidName { name: name.to_owned() });
    }
    assert!(ToolRegistry::new().with(shout(&"x".repeat(64))).is_ok());
    assert!(ToolRegistry::new().with(shout("mcp__files-2")).is_ok());
}

#[test]
fn an_input_that_is_no_object_is_refused() {
    let number = TypedTool::new("n", "Takes a number.", |n: u8| async move { n.to_string() });
    let refused = ToolRegistry::new().with(number).unwrap_err().to_string();
    assert!(refused.starts_with("the tool `n` has no usable input schema: the input of a tool is an object"));
}

#[test]
fn specs_are_in_order_of_their_names() {
    let tools = ToolRegistry::new().with(shout("b")).unwrap().with(shout("a")).unwrap();
    assert_eq!(names(&tools), ["a", "b"]);
    assert_eq!(
        tools.specs()[0].input_schema,
        json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] })
    );
}

#[tokio::test]
async fn s2_105_a_tool_that_is_not_enabled_is_not_listed_and_cannot_be_called() {
    let off = Probe { enabled: false, ..Probe::named("off") };
    let tools = ToolRegistry::new().with(off.clone()).unwrap().with(Probe::named("on")).unwrap();
    assert_eq!(names(&tools), ["on"]);
    let answer = tools.answer("m", &ToolCall::new("c", "off", json!({ "n": 1 }))).await;
    assert_eq!(answer.content.to_text(), "there is no tool named `off`; the tools are: on");
    assert_eq!(off.steps(), [""; 0]);
}

#[tokio::test]
async fn tools_of_other_programs_come_last_and_never_replace_an_own_one() {
    let mut tools = ToolRegistry::new();
    tools.add_external(Arc::new(Probe::named("add"))).unwrap();
    tools.add_external(Arc::new(Probe::named("zip"))).unwrap();
    tools.add(Arc::new(shout("sub"))).unwrap();
    tools.add(Arc::new(shout("zip"))).unwrap();
    assert_eq!(names(&tools), ["sub", "zip", "add"]);
    assert_eq!(tools.shadowed(), ["zip"]);
    assert_eq!(tools.get("zip").unwrap().prompt(), "Says it louder.");
    let twice = tools.add_external(Arc::new(Probe::named("add"))).unwrap_err();
    assert_eq!(twice, RegistryError::Duplicate { name: "add".into() });
}

#[test]
fn the_fingerprint_covers_what_a_model_gets() {
    let one = ToolRegistry::new().with(shout("a")).unwrap().with(shout("b")).unwrap();
    let other = ToolRegistry::new().with(shout("b")).unwrap().with(shout("a")).unwrap();
    assert_eq!(one.fingerprint(), other.fingerprint());
    let more = other.with(Probe::named("c")).unwrap();
    assert_ne!(one.fingerprint(), more.fingerprint());
}
