//! A picture as a model is sent it.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::message::{Detail, Image};

/// A picture as a model is sent it: a JPEG in RGB.
#[derive(Clone, PartialEq, Eq)]
pub struct PreparedImage {
    pub(super) jpeg: Vec<u8>,
    pub(super) width: u32,
    pub(super) height: u32,
}

impl PreparedImage {
    /// The media type of all of them.
    pub const MEDIA_TYPE: &'static str = "image/jpeg";

    /// Returns the bytes of the JPEG.
    pub fn jpeg(&self) -> &[u8] {
        &self.jpeg
    }

    /// Returns the width and the height, in pixels.
    pub const fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    /// Makes the part of a message, at which a model is to look so closely.
    pub fn to_image(&self, detail: Detail) -> Image {
        Image::base64(Self::MEDIA_TYPE, STANDARD.encode(&self.jpeg)).with_detail(detail)
    }
}

impl fmt::Debug for PreparedImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut image = f.debug_struct("PreparedImage");
        image
            .field("width", &self.width)
            .field("height", &self.height)
            .field("bytes", &self.jpeg.len())
            .finish()
    }
}
