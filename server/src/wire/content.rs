//! The parts of messages, between the form of states and the content blocks of clients.

use serde_json::{Map, Value, json};

/// Returns content of a state as text or content blocks. `calls` are the tool calls of the message, for clients.
pub(super) fn outgoing(content: &Value, calls: &[Value]) -> Value {
    match content {
        Value::Array(parts) if parts.is_empty() => "".into(),
        Value::Array(parts) => parts.iter().map(|part| block(part, calls)).collect(),
        other => other.clone(),
    }
}

fn block(part: &Value, calls: &[Value]) -> Value {
    let Some(members) = part.as_object() else { return part.clone() };
    let member = |name: &str| members.get(name).cloned().unwrap_or(Value::Null);
    let origin = || json!({ "provider": member("provider"), "model": member("model") });
    match members.get("type").and_then(Value::as_str) {
        Some("image") => image_block(members),
        Some("thinking") => {
            let mut extras = origin();
            extras["raw"] = member("raw");
            let text = members.get("text").cloned().unwrap_or_else(|| "".into());
            json!({ "type": "reasoning", "reasoning": text, "extras": extras })
        }
        Some("native") => json!({ "type": "non_standard", "value": member("raw"), "extras": origin() }),
        Some("tool_call") => {
            let index = members.get("index").and_then(Value::as_u64).unwrap_or(0);
            let call = usize::try_from(index).ok().and_then(|index| calls.get(index));
            let mut block = call.cloned().unwrap_or_else(|| json!({ "type": "tool_call" }));
            block["index"] = index.into();
            block
        }
        _ => part.clone(),
    }
}

/// Returns an image as the block that most clients show: an address, or a data URI.
fn image_block(image: &Map<String, Value>) -> Value {
    let text = |name: &str| image.get(name).and_then(Value::as_str);
    let url = match (text("url"), text("media_type"), text("data")) {
        (Some(url), _, _) => url.to_owned(),
        (None, media_type, data) => {
            format!("data:{};base64,{}", media_type.unwrap_or_default(), data.unwrap_or_default())
        }
    };
    match text("detail").filter(|detail| *detail != "auto") {
        Some(detail) => json!({ "type": "image_url", "image_url": { "url": url, "detail": detail } }),
        None => json!({ "type": "image_url", "image_url": { "url": url } }),
    }
}

/// Returns content of a client as text or parts of a state. `calls` are the tool calls of the message, for states.
///
/// Blocks that only repeat a tool call are left out. So is thinking of unknown origin, which no model accepts.
pub(super) fn incoming(content: &Value, calls: &[Value]) -> Value {
    match content {
        Value::Null => "".into(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| part(block, calls)).collect(),
        other => other.clone(),
    }
}

fn part(block: &Value, calls: &[Value]) -> Option<Value> {
    if let Value::String(text) = block {
        return Some(json!({ "type": "text", "text": text }));
    }
    let Some(members) = block.as_object() else { return Some(block.clone()) };
    let origin = |name: &str| members.get("extras").and_then(|extras| extras.get(name)).cloned();
    match members.get("type").and_then(Value::as_str) {
        Some("text") => Some(json!({ "type": "text", "text": members.get("text") })),
        Some("image_url" | "image") => image_part(members).or_else(|| Some(block.clone())),
        Some("reasoning") => Some(json!({
            "type": "thinking", "text": members.get("reasoning"),
            "provider": origin("provider")?, "model": origin("model")?, "raw": origin("raw")?,
        })),
        Some("non_standard") => Some(json!({
            "type": "native", "raw": members.get("value"),
            "provider": origin("provider")?, "model": origin("model")?,
        })),
        Some("tool_call" | "tool_use") => {
            let id = members.get("id")?;
            let index = calls.iter().position(|call| call.get("id") == Some(id))?;
            members.contains_key("index").then(|| json!({ "type": "tool_call", "index": index }))
        }
        _ => Some(block.clone()),
    }
}

/// Returns an image from the blocks of OpenAI, Anthropic and LangChain; `None` if it has no source.
fn image_part(block: &Map<String, Value>) -> Option<Value> {
    let inner = block.get("image_url").or_else(|| block.get("source"));
    let members = inner.and_then(Value::as_object).unwrap_or(block);
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let url = inner.and_then(Value::as_str).or_else(|| text("url"));
    let detail = text("detail").unwrap_or("auto");
    if let Some((media_type, data)) = url.and_then(data_uri) {
        return Some(json!({ "type": "image", "media_type": media_type, "data": data, "detail": detail }));
    }
    if let Some(url) = url {
        return Some(json!({ "type": "image", "url": url, "detail": detail }));
    }
    let data = text("data").or_else(|| text("base64"))?;
    let media_type = ["media_type", "mime_type", "mimeType"].into_iter().find_map(text)?;
    Some(json!({ "type": "image", "media_type": media_type, "data": data, "detail": detail }))
}

fn data_uri(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}

#[cfg(test)]
mod tests {
    use superstep_nodes::message::{Content, Image, Native, Origin, Part, Thinking};

    use super::*;

    #[test]
    fn every_part_survives_a_round_trip() {
        let origin = Origin::new("anthropic", "claude");
        let parts = [
            Part::text("look"),
            Part::Image(Image::base64("image/png", "AAAA")),
            Part::Image(Image::url("https://example.com/a.png")),
            Part::Thinking(Thinking {
                text: "hm".into(),
                origin: origin.clone(),
                raw: json!({ "signature": "s" }),
            }),
            Part::Native(Native { origin, raw: json!({ "x": 1 }) }),
            Part::ToolCall { index: 0 },
            Part::text("done"),
        ];
        let content = Content::from_iter(parts);
        let theirs = [json!({ "name": "add", "args": {}, "id": "c", "type": "tool_call" })];
        let shown = outgoing(&serde_json::to_value(&content).unwrap(), &theirs);
        assert_eq!(
            shown[1],
            json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } })
        );
        assert_eq!(shown[3]["reasoning"], "hm");
        let back = incoming(&shown, &[json!({ "id": "c", "name": "add", "input": {} })]);
        assert_eq!(serde_json::from_value::<Content>(back).unwrap(), content);
    }

    #[test]
    fn images_of_all_clients_are_read() {
        let expected =
            json!([{ "type": "image", "media_type": "image/png", "data": "AAAA", "detail": "auto" }]);
        for block in [
            json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } }),
            json!({ "type": "image_url", "image_url": "data:image/png;base64,AAAA" }),
            json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } }),
            json!({ "type": "image", "source_type": "base64", "mime_type": "image/png", "data": "AAAA" }),
            json!({ "type": "image", "mimeType": "image/png", "data": "AAAA", "metadata": {} }),
            json!({ "type": "image", "mime_type": "image/png", "base64": "AAAA" }),
        ] {
            assert_eq!(incoming(&json!([block]), &[]), expected, "{block}");
        }
    }
}
