//! Files that a model looks at.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use superstep_nodes::message::{Content, Image, Part};

/// An image with a line that says what it is.
pub(super) fn picture(named: &str, media_type: &str, bytes: &[u8]) -> Content {
    let line = format!("{named}: {media_type}, {} bytes", bytes.len());
    Content::from_iter([Part::text(line), Part::Image(Image::base64(media_type, STANDARD.encode(bytes)))])
}
