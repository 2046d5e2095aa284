//! The checks of vendors for images.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The media types of images that all vendors take.
pub(super) const MEDIA_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// The bytes of a text in base64, unless it is none or empty.
pub(super) fn decode(data: &str) -> Option<Vec<u8>> {
    STANDARD.decode(data).ok().filter(|bytes| !bytes.is_empty())
}

/// The media type that the first bytes of a file show.
pub(super) fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Returns the error of OpenAI for the URL of an image: the code and the message; `None` if the URL is valid.
pub(super) fn openai_fault(url: &str, path: &str) -> Option<(&'static str, String)> {
    if url.starts_with("https://") || url.starts_with("http://") {
        return None;
    }
    let expected = "Expected a base64-encoded data URL with an image MIME type (e.g. \
                    'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got";
    let invalid = |found: &str| Some(("invalid_value", format!("Invalid '{path}'. {expected} {found}.")));
    let Some(rest) = url.strip_prefix("data:") else {
        return invalid("a value that is no URL");
    };
    let Some((kind, data)) = rest.split_once(";base64,") else {
        return invalid("a data URL without base64");
    };
    if !kind.starts_with("image/") {
        return Some((
            "invalid_image_format",
            "Invalid MIME type. Only image types are supported.".to_owned(),
        ));
    }
    let Some(bytes) = decode(data) else {
        return invalid("a value without valid base64-encoded data");
    };
    let is_known = MEDIA_TYPES.contains(&kind);
    if !is_known || media_type(&bytes).is_none_or(|found| found != kind) {
        return Some((
            "invalid_image_format",
            "You uploaded an unsupported image. Please make sure your image has of one the following formats: \
             ['png', 'jpeg', 'gif', 'webp']."
                .to_owned(),
        ));
    }
    None
}
