//! The limits on the size of pictures, and the errors of preparing one.

use std::io;
use std::path::PathBuf;

/// The limits on the size of a decoded picture: a small file may declare more pixels than fit into memory.
///
/// They are checked before a pixel is decoded. Whatever they are, a decoder gets 512 MiB at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageLimits {
    /// The maximum size of a file, in bytes.
    pub max_bytes: u64,
    /// The maximum width and height, in pixels.
    pub max_side: u32,
    /// The maximum number of pixels.
    pub max_pixels: u64,
}

impl Default for ImageLimits {
    /// 64 MiB, 20,000 pixels a side, and 100 million of them: what large cameras make.
    fn default() -> Self {
        Self { max_bytes: 64 << 20, max_side: 20_000, max_pixels: 100_000_000 }
    }
}

impl ImageLimits {
    pub(super) fn check_bytes(&self, bytes: u64) -> Result<(), ImageError> {
        match bytes > self.max_bytes {
            true => Err(ImageError::TooLarge { what: format!("it has more than {} bytes", self.max_bytes) }),
            false => Ok(()),
        }
    }

    pub(super) fn check_size(&self, (width, height): (u32, u32)) -> Result<(), ImageError> {
        let pixels = u64::from(width) * u64::from(height);
        let allowed = if width.max(height) > self.max_side {
            format!("{} a side", self.max_side)
        } else if pixels > self.max_pixels {
            format!("{} of them", self.max_pixels)
        } else {
            return Ok(());
        };
        let what = format!("it has {width} by {height} pixels, and {allowed} are allowed");
        Err(ImageError::TooLarge { what })
    }
}

/// An error of preparing a picture for a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// It is none of a kind that can be read. Convert it.
    #[error("it is not a JPEG, PNG, GIF or WebP image")]
    NotAnImage,
    /// The data begins like an image, but cannot be decoded.
    #[error("it cannot be decoded: {reason}")]
    Broken {
        /// A description of the error.
        reason: String,
    },
    /// It is larger than the [limits](super::ImageLimits) allow; nothing of it was decoded. Make it smaller, or allow
    /// more.
    #[error("it is too large: {what}")]
    TooLarge {
        /// The size that is too large, and the limit.
        what: String,
    },
}

/// An error of preparing the picture in a file for a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageFileError {
    /// There is no such file.
    #[error("there is no image `{}`", path.display())]
    NotFound {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("the image `{}` cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The content of the file cannot be used.
    #[error("the image `{}` cannot be used: {source}", path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: ImageError,
    },
}
