//! Messages, between the form of states and the form of clients.
//!
//! A message of a state is an object whose `type` is `human`, `ai`, `tool` or `system`, with an `id` and `content`.
//! A message of a client has a `role` or a `type`, and `content`; it need not have an id.

use serde_json::{Map, Value, json};

use super::content;

/// The kinds of messages, with the other names that clients use for them.
const KINDS: [(&str, &[&str]); 4] = [
    ("human", &["user", "HumanMessage", "HumanMessageChunk"]),
    ("ai", &["assistant", "AIMessage", "AIMessageChunk"]),
    ("tool", &["function", "ToolMessage", "ToolMessageChunk"]),
    ("system", &["developer", "SystemMessage", "SystemMessageChunk"]),
];

/// The members that clients add to every message, and that mean nothing if they are empty.
const EMPTY_MEMBERS: [&str; 7] = [
    "additional_kwargs",
    "response_metadata",
    "invalid_tool_calls",
    "tool_call_chunks",
    "chunk_position",
    "usage_metadata",
    "name",
];

/// Returns a message of a state in the form of clients; `None` if the value is no message.
pub(crate) fn outgoing(value: &Value) -> Option<Value> {
    let message = value.as_object()?;
    let kind = message.get("type")?.as_str().filter(|kind| KINDS.iter().any(|(known, _)| known == kind))?;
    message.get("id").filter(|id| id.is_string())?;
    let of_state = message.get("content")?;
    let mut shown = message.clone();
    let calls = calls_of(message);
    shown.insert("content".into(), content::outgoing(of_state, &calls));
    let mut default = |name: &str, value: Value| {
        shown.entry(name).or_insert(value);
    };
    default("additional_kwargs", json!({}));
    default("response_metadata", json!({}));
    default("name", Value::Null);
    match kind {
        "ai" => {
            default("invalid_tool_calls", json!([]));
            default("usage_metadata", Value::Null);
            shown.insert("tool_calls".into(), calls.into());
        }
        "tool" => {
            let artifact = shown.remove("data").unwrap_or(Value::Null);
            shown.entry("artifact").or_insert(artifact);
            let failed = shown.get("status").is_some_and(|status| status == "error");
            shown.insert("status".into(), if failed { "error" } else { "success" }.into());
        }
        _ => {}
    }
    Some(shown.into())
}

/// Returns the tool calls of a message in the form of clients.
fn calls_of(message: &Map<String, Value>) -> Vec<Value> {
    let calls = message.get("tool_calls").and_then(Value::as_array);
    calls.into_iter().flatten().filter_map(Value::as_object).map(call_outgoing).collect()
}

fn call_outgoing(call: &Map<String, Value>) -> Value {
    let member = |name| call.get(name).cloned().unwrap_or(Value::Null);
    let args = call.get("args").or_else(|| call.get("input")).cloned().unwrap_or_else(|| json!({}));
    json!({ "name": member("name"), "args": args, "id": member("id"), "type": "tool_call" })
}

/// Returns a message of a client in the form of states; `None` if the value is no message. `new_id` creates an id for
/// a message without one.
pub(crate) fn incoming(value: &Value, new_id: impl FnOnce() -> String) -> Option<Value> {
    let given = value.as_object()?;
    let (message, name) = match constructed(given) {
        Some(constructed) => constructed,
        None => (given, given.get("role").or_else(|| given.get("type"))?.as_str()?),
    };
    let kind = KINDS.iter().find(|(kind, names)| *kind == name || names.contains(&name))?.0;
    let of_client = message.get("content")?;
    let mut stored = message.clone();
    stored.remove("role");
    stored.insert("type".into(), kind.into());
    if stored.get("id").is_none_or(Value::is_null) {
        stored.insert("id".into(), new_id().into());
    }
    for member in EMPTY_MEMBERS {
        if stored.get(member).is_some_and(is_empty) {
            stored.remove(member);
        }
    }
    let calls = stored.remove("tool_calls").filter(|_| kind == "ai");
    let calls: Vec<Value> = match calls {
        Some(Value::Array(calls)) => calls.iter().map(call_incoming).collect(),
        _ => Vec::new(),
    };
    stored.insert("content".into(), content::incoming(of_client, &calls));
    if !calls.is_empty() {
        stored.insert("tool_calls".into(), calls.into());
    }
    if kind == "tool" {
        tool_members(&mut stored);
    }
    Some(stored.into())
}

/// Returns the members and the class of a message in the serialized form of LangChain's classes:
/// `{"lc":1,"type":"constructor","id":[..,"HumanMessage"],"kwargs":{..}}`.
fn constructed(given: &Map<String, Value>) -> Option<(&Map<String, Value>, &str)> {
    given.get("lc")?;
    Some((given.get("kwargs")?.as_object()?, given.get("id")?.as_array()?.last()?.as_str()?))
}

fn tool_members(stored: &mut Map<String, Value>) {
    if let Some(artifact) = stored.remove("artifact").filter(|artifact| !artifact.is_null()) {
        stored.insert("data".into(), artifact);
    }
    let failed = stored.get("status").is_some_and(|status| status == "error");
    stored.insert("status".into(), if failed { "error" } else { "ok" }.into());
    stored.entry("name").or_insert_with(|| "".into());
}

/// Returns a tool call in the form of states. Clients send `{name, args, id}`, or the form of OpenAI with `function`.
fn call_incoming(call: &Value) -> Value {
    let Some(call) = call.as_object() else { return call.clone() };
    let function = call.get("function").and_then(Value::as_object);
    let (name, input) = match function {
        Some(function) => {
            let arguments = function.get("arguments").and_then(Value::as_str).unwrap_or("{}");
            let input = serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into());
            (function.get("name"), Some(input))
        }
        None => (call.get("name"), call.get("args").or_else(|| call.get("input")).cloned()),
    };
    let id = call.get("id").filter(|id| !id.is_null()).cloned().unwrap_or_else(|| "".into());
    json!({ "id": id, "name": name, "input": input.unwrap_or_else(|| json!({})) })
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use superstep_nodes::message::{Message, ToolCall};

    use super::*;

    fn stored(message: &Message) -> Value {
        serde_json::to_value(message).unwrap()
    }

    fn read(value: &Value) -> Value {
        incoming(value, || "new".into()).unwrap()
    }

    #[test]
    fn a_call_and_its_answer_have_the_members_of_clients() {
        let call = ToolCall::new("call_1", "add", json!({ "a": 2 }));
        let asked = outgoing(&stored(&Message::ai_with_calls("m2", "", vec![call.clone()]))).unwrap();
        assert_eq!(
            asked,
            json!({
                "content": "", "additional_kwargs": {}, "response_metadata": {}, "type": "ai", "name": null, "id": "m2",
                "tool_calls": [{ "name": "add", "args": { "a": 2 }, "id": "call_1", "type": "tool_call" }],
                "invalid_tool_calls": [], "usage_metadata": null,
            })
        );
        let answered = outgoing(&stored(&Message::tool("m3", &call, "5"))).unwrap();
        assert_eq!(
            answered,
            json!({
                "content": "5", "additional_kwargs": {}, "response_metadata": {}, "type": "tool", "name": "add", "id": "m3",
                "tool_call_id": "call_1", "artifact": null, "status": "success",
            })
        );
    }

    #[test]
    fn messages_of_clients_are_read_in_all_their_forms() {
        let hi = json!({ "type": "human", "content": "hi", "id": "new" });
        assert_eq!(read(&json!({ "role": "user", "content": "hi" })), hi);
        assert_eq!(read(&json!({ "type": "HumanMessage", "content": "hi", "id": null, "name": null })), hi);
        let class = json!({ "lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "HumanMessage"],
            "kwargs": { "content": "hi", "additional_kwargs": {}, "response_metadata": {} } });
        assert_eq!(read(&class), hi);
        let openai = json!({ "role": "assistant", "content": null, "tool_calls": [
            { "id": "c", "type": "function", "function": { "name": "add", "arguments": "{\"a\":2}" } }] });
        let calls = json!([{ "id": "c", "name": "add", "input": { "a": 2 } }]);
        assert_eq!(read(&openai), json!({ "type": "ai", "content": "", "id": "new", "tool_calls": calls }));
        for no_message in
            [json!({ "role": "judge", "content": "x" }), json!({ "type": "human" }), json!("hi")]
        {
            assert_eq!(incoming(&no_message, || "new".into()), None, "{no_message}");
        }
    }

    #[test]
    fn every_kind_of_message_survives_a_round_trip() {
        let call = ToolCall::new("call_1", "add", json!({ "a": 2 }));
        let all = [
            Message::system("m0", "Be brief."),
            Message::human("m1", "hi"),
            Message::ai_with_calls("m2", "adding", vec![call.clone()]),
            Message::tool("m3", &call, "5"),
            Message::tool_error("m4", &call, "no"),
        ];
        for message in all {
            let back = read(&outgoing(&stored(&message)).unwrap());
            assert_eq!(serde_json::from_value::<Message>(back).unwrap(), message);
        }
    }
}
