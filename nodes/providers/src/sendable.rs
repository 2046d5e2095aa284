//! Pictures as providers take them.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use superstep_nodes::__private::media_type;
use superstep_nodes::message::{Image, ImageSource};

/// A picture with the type that its bytes have, whatever it is said to be: providers look, and refuse the whole
/// request. Of one that no provider takes, what is said in its place.
pub(super) fn sendable(image: &Image) -> Result<Cow<'_, Image>, String> {
    let ImageSource::Base64 { media_type: said, data } = &image.source else {
        return Ok(Cow::Borrowed(image));
    };
    let found = STANDARD.decode(data).ok().and_then(|bytes| media_type(&bytes));
    match found {
        Some(found) if found == said => Ok(Cow::Borrowed(image)),
        Some(found) => Ok(Cow::Owned(Image::base64(found, data).with_detail(image.detail))),
        None => Err(format!("[a picture of the type {said}, which cannot be shown]")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_sent_as_what_its_bytes_are_or_not_at_all() {
        let gif = STANDARD.encode(b"GIF89a....");
        let right = Image::base64("image/gif", &gif);
        assert_eq!(sendable(&right).unwrap().as_ref(), &right);
        assert_eq!(sendable(&Image::base64("image/png", &gif)).unwrap().as_ref(), &right);
        let said = "[a picture of the type image/png, which cannot be shown]";
        for none in [STANDARD.encode(b"no picture"), String::new(), "not base64!".to_owned()] {
            assert_eq!(sendable(&Image::base64("image/png", none)).unwrap_err(), said);
        }
        let elsewhere = Image::url("https://example.org/a");
        assert_eq!(sendable(&elsewhere).unwrap().as_ref(), &elsewhere);
    }
}
