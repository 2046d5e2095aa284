//! The expansion of the attribute `#[tool]`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::message::{ToolCall, ToolMessage, ToolStatus};

/// Adds two numbers.
///
/// Sums that are too large fail.
#[tool(crate = crate, read_only)]
async fn add(
    /// The first number.
    a: i8,
    b: i8,
    #[serde(default, rename = "and")]
    #[schemars(range(max = 3))]
    mut c: Option<i8>,
) -> Result<String, &'static str> {
    let c = c.take().unwrap_or_default();
    let sum = a.checked_add(b).and_then(|sum| sum.checked_add(c));
    sum.map(|sum| sum.to_string()).ok_or("too large")
}

/// Counts.
#[tool(crate = crate, idempotent, concurrent, name = "count-calls", timeout = Duration::from_secs(5), max_result_chars = 3)]
async fn count(context: &ToolContext, #[dep] calls: &AtomicU32, step: u32) -> Value {
    let before = calls.fetch_add(step, Ordering::Relaxed);
    json!({ "call": context.call_id(), "before": before })
}

/// Where to look.
#[derive(Deserialize, JsonSchema)]
struct Query {
    text: String,
}

/// Searches.
#[tool(crate = crate)]
async fn search(#[input] query: Query, #[dep] lines: &Arc<[String]>) -> String {
    lines.iter().filter(|line| line.contains(&query.text)).cloned().collect::<Vec<_>>().join(",")
}

/// Says the type of a thing.
#[tool(crate = crate)]
async fn raw(r#type: String) -> String {
    r#type
}

async fn answer(tool: impl Tool, input: Value) -> ToolMessage {
    let call = ToolCall::new("c", tool.name(), input);
    ToolRegistry::new().with(tool).unwrap().answer("m", &call).await
}

#[tokio::test]
async fn arguments_are_properties() {
    let message = answer(add(), json!({ "a": 2, "b": 3 })).await;
    assert_eq!((message.status, message.content.to_text().as_ref()), (ToolStatus::Ok, "5"));
    assert_eq!(answer(add(), json!({ "a": 2, "b": 3, "and": 1 })).await.content.to_text(), "6");
    let failed = answer(add(), json!({ "a": 100, "b": 100 })).await;
    assert_eq!(failed.content.to_text(), "the tool `add` failed: too large");
    assert_eq!(answer(raw(), json!({ "type": "cat" })).await.content.to_text(), "cat");
}

#[test]
fn doc_comments_describe_the_tool_and_its_properties() {
    let specs = ToolRegistry::new().with(add()).unwrap().specs();
    assert_eq!(specs[0].description, "Adds two numbers.\n\nSums that are too large fail.");
    let schema = &specs[0].input_schema;
    assert_eq!(schema["properties"]["a"]["description"], "The first number.");
    assert_eq!(schema["properties"]["and"]["maximum"], 3);
    assert_eq!(schema["required"], json!(["a", "b"]));
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!((schema.get("title"), schema.get("$schema")), (None, None));
}

#[tokio::test]
async fn a_property_that_the_function_does_not_have_is_refused() {
    let refused = answer(add(), json!({ "a": 2, "b": 3, "c": 4 })).await;
    assert_eq!(refused.status, ToolStatus::Error);
    let unexpected =
        if cfg!(feature = "schema-validation") { "'c' was unexpected" } else { "unknown field `c`" };
    assert!(refused.content.to_text().contains(unexpected), "{refused:?}");
}

#[tokio::test]
async fn a_tool_is_made_with_its_dependencies_and_called_with_its_circumstances() {
    let tool = count(AtomicU32::new(7));
    assert_eq!((tool.name(), tool.max_result_chars()), ("count-calls", 3));
    assert_eq!(tool.timeout(&json!({})), Some(Duration::from_secs(5)));
    assert_eq!(tool.effect(&json!({})), ToolEffect::Idempotent);
    assert!(tool.is_concurrency_safe(&json!({})) && !tool.is_read_only(&json!({})));
    let data = answer(tool, json!({ "step": 1 })).await.data;
    assert_eq!(data, Some(json!({ "call": "c", "before": 7 })));
}

#[tokio::test]
async fn the_input_may_be_one_struct() {
    let lines: Arc<[String]> = ["one", "two", "three"].map(str::to_owned).into();
    let tool = search(lines).with_permissions(|query| match query.text.as_str() {
        "" => Permission::Deny("that is everything".to_owned()),
        _ => Permission::Allow,
    });
    assert_eq!(tool.effect(&json!({})), ToolEffect::Changes);
    let tool = Arc::new(tool);
    let mut tools = ToolRegistry::new();
    tools.add(tool).unwrap();
    let said = async |text: &str| {
        let call = ToolCall::new("c", "search", json!({ "text": text }));
        tools.answer("m", &call).await.content.to_text().into_owned()
    };
    assert_eq!(said("t").await, "two,three");
    assert_eq!(said("").await, "the call of the tool `search` was not permitted: that is everything");
}
