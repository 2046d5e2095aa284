//! Generated images: the answer is always the same picture of one pixel.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::HttpError;
use super::embeddings::tokens;
use super::endpoint::Vendor;
use super::image::openai_fault;
use super::request_value::RequestValue;

const MOST_PROMPT: usize = 32_000;
const MOST_IMAGES: usize = 16;

/// The members of both kinds of requests, for the image models that return images.
const MEMBERS: [&str; 9] =
    ["background", "model", "moderation", "n", "output_format", "prompt", "quality", "size", "user"];

/// Checks the body of a request to `/v1/images/generations`.
///
/// # Errors
///
/// Fails with the answer of OpenAI if it would not take the request.
pub fn check(body: &Value) -> Result<(), HttpError> {
    let request = RequestValue::body(body, Vendor::OpenAi)?;
    request.only(&MEMBERS)?;
    check_common(&request)
}

/// Checks the body of a request to `/v1/images/edits`, as JSON.
///
/// # Errors
///
/// Fails with the answer of OpenAI if it would not take the request.
pub fn check_edit(body: &Value) -> Result<(), HttpError> {
    let request = RequestValue::body(body, Vendor::OpenAi)?;
    request.only(&[&MEMBERS[..], &["images", "input_fidelity", "mask"]].concat())?;
    check_common(&request)?;
    let images = request.need("images")?;
    images.items_up_to(MOST_IMAGES)?;
    for image in images.items_of_some()? {
        image.only(&["file_id", "image_url"])?;
        let url = image.need("image_url")?;
        if let Some((code, message)) = openai_fault(url.text()?, url.path()) {
            return Err(HttpError::invalid(message).at(url.path()).coded(code));
        }
    }
    Ok(())
}

fn check_common(request: &RequestValue<'_>) -> Result<(), HttpError> {
    request.need("prompt")?.text_up_to(MOST_PROMPT)?;
    request.get_nullable("model").map(|model| model.text_up_to(256)).transpose()?;
    request.get_nullable("n").map(|number| number.whole(1)).transpose()?;
    let sizes = ["1024x1024", "1024x1536", "1536x1024", "auto"];
    request.get_nullable("size").map(|size| size.one_of(&sizes)).transpose()?;
    Ok(())
}

/// The answer to a request that is right.
pub(super) fn answer(request: &Value) -> Value {
    let input = tokens(&request["prompt"]);
    json!({
        "created": 1_700_000_000,
        "data": [{"b64_json": STANDARD.encode(PIXEL)}],
        "usage": {"input_tokens": input, "output_tokens": 272, "total_tokens": input + 272},
    })
}

/// A PNG of one black pixel.
const PIXEL: [u8; 67] = [
    0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0,
    0, 1, 8, 0, 0, 0, 0, 0x3a, 0x7e, 0x9b, 0x55, 0, 0, 0, 10, b'I', b'D', b'A', b'T', 0x78, 0xda, 0x63, 0x60,
    0, 0, 0, 2, 0, 1, 0xe5, 0x27, 0xde, 0xfc, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_openai_would_refuse_are_refused() {
        let image = |url: &str| json!({"image_url": url});
        let pixel = image(&format!("data:image/png;base64,{}", STANDARD.encode(PIXEL)));
        assert_eq!(check(&json!({"model": "gpt-image-1", "prompt": "a fox", "size": "auto"})), Ok(()));
        assert_eq!(check_edit(&json!({"prompt": "at night", "images": [pixel.clone()]})), Ok(()));
        for body in [
            json!({"model": "gpt-image-1"}),
            json!({"prompt": ""}),
            json!({"prompt": "a fox", "size": "3x4"}),
            json!({"prompt": "a fox", "images": [pixel.clone()]}),
        ] {
            assert!(check(&body).is_err(), "{body}");
        }
        for images in [json!([]), json!([image("nothing")]), json!(["x"]), json!(vec![pixel; 17])] {
            assert!(check_edit(&json!({"prompt": "at night", "images": images})).is_err(), "{images}");
        }
    }
}
