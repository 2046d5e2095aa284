//! The result of a server's tool, converted for a model.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, CustomResult, ResourceContents, ServerResult};
use serde_json::Value;
use superstep_nodes::__private::media_type;
use superstep_nodes::message::{Content, Image, Part};
use superstep_nodes::tool::{ToolFailure, ToolOutput};

/// The images that model providers take.
const SHOWN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The maximum number of base64 characters of an image: 3.75 MB.
const MOST_OF_IMAGE: usize = 5_000_000;

/// The maximum number of images in a result.
const MOST_IMAGES: usize = 20;

/// The maximum size of structured content that is kept for programs, in bytes of JSON.
const MOST_OF_DATA: usize = 1 << 20;

/// Makes output of a server's answer to a call.
pub(super) fn read(server: &str, answer: ServerResult) -> Result<ToolOutput, ToolFailure> {
    let no_result = |what: &str| ToolFailure::new(format!("the MCP server `{server}` answered with {what}"));
    match answer {
        ServerResult::CallToolResult(result) => output(result),
        // Some content is of a kind that is not known; the rest is read all the same.
        ServerResult::CustomResult(CustomResult(mut result)) => {
            let Some(blocks) = result.get_mut("content").and_then(Value::as_array_mut) else {
                return Err(no_result("what is no result of a tool"));
            };
            blocks.iter_mut().for_each(make_known);
            output(serde_json::from_value(result).map_err(|_| no_result("what is no result of a tool"))?)
        }
        ServerResult::InputRequiredResult(_) => Err(no_result("a question, and there is no user to ask")),
        ServerResult::CreateTaskResult(_) => Err(no_result("a task, and tasks are not waited for")),
        _ => Err(no_result("what is no result of a tool")),
    }
}

/// Makes a text of content of an unknown kind.
fn make_known(block: &mut Value) {
    if serde_json::from_value::<ContentBlock>(block.clone()).is_err() {
        let kind = block["type"].as_str().unwrap_or("unknown").to_owned();
        *block = serde_json::json!({ "type": "text", "text": format!("[content of the type {kind}]") });
    }
}

fn output(result: CallToolResult) -> Result<ToolOutput, ToolFailure> {
    let mut parts = Parts::default();
    result.content.into_iter().for_each(|block| parts.add(block));
    let mut content: Content = parts.all.into_iter().collect();
    if result.is_error == Some(true) {
        let text = match (content.is_blank(), &result.structured_content) {
            (false, _) => content.to_text().into_owned(),
            (true, Some(data)) => data.to_string(),
            (true, None) => "it did not say why".to_owned(),
        };
        return Err(ToolFailure::new(text));
    }
    let mut data = result.structured_content;
    if let Some(structured) = &data {
        let json = structured.to_string();
        if json.len() > MOST_OF_DATA {
            data = None;
        }
        if content.is_blank() {
            content = Content::text(json);
        }
    }
    if content.is_blank() {
        content = Content::text("[no content]");
    }
    Ok(ToolOutput { content, data })
}

#[derive(Default)]
struct Parts {
    all: Vec<Part>,
    images: usize,
}

impl Parts {
    fn add(&mut self, block: ContentBlock) {
        let part = match block {
            ContentBlock::Text(text) => Part::text(text.text),
            ContentBlock::Image(image) => self.image(&image.mime_type, image.data),
            ContentBlock::Audio(audio) => left_out("a sound", Some(&audio.mime_type), audio.data.len()),
            ContentBlock::Resource(resource) => self.resource(resource.resource),
            ContentBlock::ResourceLink(link) => {
                let described = link.description.map(|text| format!(": {text}")).unwrap_or_default();
                Part::text(format!("[the resource {} at {}{described}]", link.name, link.uri))
            }
            _ => Part::text("[content of an unknown kind]"),
        };
        // Texts are read as one, so each begins a line of its own.
        if let (Some(Part::Text { text: before }), Part::Text { text }) = (self.all.last_mut(), &part) {
            before.push('\n');
            before.push_str(text);
        } else {
            self.all.push(part);
        }
    }

    fn resource(&mut self, resource: ResourceContents) -> Part {
        match resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                Part::text(format!("[{uri}]\n{text}"))
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => match mime_type {
                Some(kind) if SHOWN.contains(&kind.as_str()) => self.image(&kind, blob),
                kind => left_out(&uri, kind.as_deref(), blob.len()),
            },
            _ => Part::text("[a resource of an unknown kind]"),
        }
    }

    fn image(&mut self, kind: &str, data: String) -> Part {
        let fits = SHOWN.contains(&kind) && data.len() <= MOST_OF_IMAGE && self.images < MOST_IMAGES;
        // What its bytes are counts: a server may say something else.
        let found = STANDARD.decode(&data).ok().filter(|_| fits).and_then(|bytes| media_type(&bytes));
        let Some(found) = found else { return left_out("an image", Some(kind), data.len()) };
        self.images += 1;
        Part::Image(Image::base64(found, data))
    }
}

/// Returns a note that content cannot be shown.
fn left_out(what: &str, kind: Option<&str>, base64: usize) -> Part {
    let kind = kind.map(|kind| format!(" of the type {kind}")).unwrap_or_default();
    Part::text(format!("[{what}{kind}, {} bytes, which cannot be shown]", base64 / 4 * 3))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_json(result: Value) -> Result<ToolOutput, ToolFailure> {
        read("s", serde_json::from_value(result).unwrap())
    }

    fn text(result: Value) -> String {
        read_json(result).unwrap().content.to_text().into_owned()
    }

    #[test]
    fn every_kind_of_content_is_read() {
        let png = STANDARD.encode(b"\x89PNG\r\n\x1a\n..........");
        let output = read_json(json!({ "content": [
            { "type": "text", "text": "one" },
            { "type": "text", "text": "two" },
            { "type": "image", "data": png, "mimeType": "image/png" },
            { "type": "audio", "data": png, "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "file:///a", "text": "three" } },
            { "type": "resource", "resource": { "uri": "file:///b", "blob": png, "mimeType": "image/png" } },
            { "type": "resource", "resource": { "uri": "file:///c", "blob": png } },
            { "type": "resource_link", "uri": "file:///d", "name": "d", "description": "the fourth" },
        ] }))
        .unwrap();
        let parts = output.content.parts();
        assert_eq!(parts[0], Part::text("one\ntwo"));
        assert_eq!(parts[1], Part::Image(Image::base64("image/png", &png)));
        let sound = "[a sound of the type audio/wav, 18 bytes, which cannot be shown]";
        assert_eq!(parts[2], Part::text(format!("{sound}\n[file:///a]\nthree")));
        assert_eq!(parts[3], Part::Image(Image::base64("image/png", &png)));
        let rest = "[file:///c, 18 bytes, which cannot be shown]\n[the resource d at file:///d: the fourth]";
        assert_eq!(parts[4], Part::text(rest));
        assert_eq!(output.data, None);
    }

    #[test]
    fn content_of_an_unknown_kind_does_not_spoil_the_rest() {
        let blocks = json!([{ "type": "hologram", "rays": 7 }, { "type": "text", "text": "here" }]);
        assert_eq!(text(json!({ "content": blocks })), "[content of the type hologram]\nhere");
    }

    #[test]
    fn structured_content_is_for_programs_and_for_models_if_there_is_no_other() {
        let both = read_json(
            json!({ "content": [{ "type": "text", "text": "t" }], "structuredContent": { "a": 1 } }),
        );
        let both = both.unwrap();
        assert_eq!((&*both.content.to_text(), both.data), ("t", Some(json!({ "a": 1 }))));
        assert_eq!(text(json!({ "structuredContent": { "a": 1 } })), r#"{"a":1}"#);
        assert_eq!(text(json!({ "content": [] })), "[no content]");
    }

    #[test]
    fn structured_content_that_is_too_long_is_not_kept_for_programs() {
        let output = read_json(json!({ "structuredContent": { "a": "x".repeat(MOST_OF_DATA) } })).unwrap();
        assert_eq!(output.data, None);
        assert!(output.content.to_text().starts_with(r#"{"a":"xxx"#));
    }

    #[test]
    fn an_error_is_a_failure_that_says_why() {
        let failed = |result| read_json(result).unwrap_err().to_string();
        assert_eq!(failed(json!({ "content": [{ "type": "text", "text": "no" }], "isError": true })), "no");
        assert_eq!(failed(json!({ "content": [], "isError": true })), "it did not say why");
        assert_eq!(failed(json!({ "structuredContent": { "code": 7 }, "isError": true })), r#"{"code":7}"#);
        assert!(failed(json!({ "contents": [] })).contains("no result of a tool"));
    }

    #[test]
    fn images_that_no_provider_takes_are_named_only() {
        for (kind, data) in [("image/svg+xml", "PHN2Zz4="), ("image/png", "not base64"), ("image/png", "")] {
            let said = text(json!({ "content": [{ "type": "image", "data": data, "mimeType": kind }] }));
            assert!(said.starts_with(&format!("[an image of the type {kind}, ")), "{said}");
        }
        let many = vec![
            json!({ "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" });
            MOST_IMAGES + 3
        ];
        let output = read_json(json!({ "content": many })).unwrap();
        let images = output.content.parts().iter().filter(|part| matches!(part, Part::Image(_))).count();
        assert_eq!(images, MOST_IMAGES);
        let large = "A".repeat(MOST_OF_IMAGE + 4);
        let said = text(json!({ "content": [{ "type": "image", "data": large, "mimeType": "image/png" }] }));
        assert_eq!(said, "[an image of the type image/png, 3750003 bytes, which cannot be shown]");
    }
}
