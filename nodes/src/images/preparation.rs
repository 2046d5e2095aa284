//! The preparation of pictures for models.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder, ImageReader, Limits, RgbImage};

use super::{ImageError, ImageFileError, ImageLimits};
use crate::message::{Detail, Image};

/// The preparation of a picture for a model: turned as its camera was held, in RGB, not larger than is of use, and as a
/// JPEG.
///
/// ```
/// use superstep_nodes::images::ImagePreparation;
/// use superstep_nodes::message::{Content, Detail, Part};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let file = folder.path().join("photo.png");
/// # image::RgbImage::new(1_200, 800).save(&file).unwrap();
/// let photo = ImagePreparation::new().max_size(600).read(&file)?;
/// assert_eq!(photo.size(), (600, 400));
///
/// let image = photo.to_image(Detail::Low);
/// assert!(image.to_url().starts_with("data:image/jpeg;base64,"));
/// let asked = Content::from_iter([Part::text("What is on it?"), Part::Image(image)]);
/// # Ok::<(), superstep_nodes::images::ImageFileError>(())
/// ```
///
/// Transparent parts are laid on white. Of an animation the first picture is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImagePreparation {
    max_size: u32,
    quality: u8,
    limits: ImageLimits,
}

/// The maximum number of bytes that a decoder may allocate.
const MAX_ALLOC: u64 = 512 << 20;

impl Default for ImagePreparation {
    fn default() -> Self {
        Self::new()
    }
}

impl ImagePreparation {
    /// The default for the maximum number of pixels of a side.
    pub const DEFAULT_MAX_SIZE: u32 = 2_048;

    /// The default for the quality of the JPEG.
    pub const DEFAULT_QUALITY: u8 = 85;

    /// Takes the defaults: 2,048 pixels a side, a JPEG of quality 85, and the usual [`ImageLimits`].
    pub fn new() -> Self {
        Self {
            max_size: Self::DEFAULT_MAX_SIZE,
            quality: Self::DEFAULT_QUALITY,
            limits: ImageLimits::default(),
        }
    }

    /// Makes larger pictures so small that neither side has more pixels; at least one. A small picture is not enlarged.
    #[must_use]
    pub fn max_size(mut self, pixels: u32) -> Self {
        self.max_size = pixels.max(1);
        self
    }

    /// Makes a JPEG of this quality, from 1 to 100.
    #[must_use]
    pub fn quality(mut self, quality: u8) -> Self {
        self.quality = quality.clamp(1, 100);
        self
    }

    /// Refuses pictures that are larger than this.
    #[must_use]
    pub fn limits(mut self, limits: ImageLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Makes the picture of a file ready. It takes some tenths of a second for a large one: in async code it belongs on
    /// a thread of its own.
    ///
    /// # Errors
    /// When there is no such file, it is a folder, a pipe or a device, it cannot be read, or [`prepare`](Self::prepare)
    /// fails.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<PreparedImage, ImageFileError> {
        let path = path.as_ref();
        let bytes = self.bytes(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => ImageFileError::NotFound { path: path.to_owned() },
            _ => ImageFileError::Unreadable { path: path.to_owned(), source },
        })?;
        self.prepare(&bytes).map_err(|source| ImageFileError::Image { path: path.to_owned(), source })
    }

    /// Makes the picture of these bytes ready.
    ///
    /// # Errors
    /// When they are no picture, or one that is broken or larger than the limits.
    pub fn prepare(&self, bytes: &[u8]) -> Result<PreparedImage, ImageError> {
        self.limits.check_bytes(bytes.len() as u64)?;
        let picture = self.decode(bytes)?;
        let picture = match picture.width().max(picture.height()) > self.max_size {
            true => picture.resize(self.max_size, self.max_size, FilterType::Lanczos3),
            false => picture,
        };
        let rgb = rgb(picture);
        let mut jpeg = Vec::new();
        JpegEncoder::new_with_quality(&mut jpeg, self.quality).encode_image(&rgb).map_err(fault)?;
        Ok(PreparedImage { jpeg, width: rgb.width(), height: rgb.height() })
    }

    /// The bytes of a file, and no more than one too many.
    fn bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        // Opening a pipe without a writer would block.
        let what = fs::metadata(path)?;
        if what.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        if !what.is_file() {
            return Err(io::Error::other("it is a pipe or a device, and no file"));
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(self.limits.max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Decodes the picture, in its upright orientation.
    fn decode(&self, bytes: &[u8]) -> Result<DynamicImage, ImageError> {
        let format = image::guess_format(bytes).map_err(|_| ImageError::NotAnImage)?;
        let mut decoder =
            ImageReader::with_format(Cursor::new(bytes), format).into_decoder().map_err(fault)?;
        self.limits.check_size(decoder.dimensions())?;
        let mut limits = Limits::no_limits();
        limits.max_alloc = Some(MAX_ALLOC);
        limits.reserve(decoder.total_bytes()).map_err(fault)?;
        decoder.set_limits(limits).map_err(fault)?;
        let orientation = decoder.orientation().map_err(fault)?;
        let mut picture = DynamicImage::from_decoder(decoder).map_err(fault)?;
        picture.apply_orientation(orientation);
        Ok(picture)
    }
}

/// Converts the picture to eight bits of red, green and blue; transparent parts let white through.
fn rgb(picture: DynamicImage) -> RgbImage {
    if !picture.color().has_alpha() {
        return picture.into_rgb8();
    }
    let picture = picture.into_rgba8();
    RgbImage::from_fn(picture.width(), picture.height(), |x, y| {
        let [red, green, blue, alpha] = picture.get_pixel(x, y).0;
        let alpha = u16::from(alpha);
        let over_white = |colour: u8| ((u16::from(colour) * alpha + 255 * (255 - alpha) + 127) / 255) as u8;
        image::Rgb([red, green, blue].map(over_white))
    })
}

fn fault(error: image::ImageError) -> ImageError {
    match error {
        image::ImageError::Limits(_) => {
            ImageError::TooLarge { what: format!("to decode it takes more than {} MiB", MAX_ALLOC >> 20) }
        }
        image::ImageError::Unsupported(_) => ImageError::NotAnImage,
        error => ImageError::Broken { reason: error.to_string() },
    }
}

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

#[cfg(test)]
mod tests;
