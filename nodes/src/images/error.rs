//! The errors of preparing a picture.

use std::io;
use std::path::PathBuf;

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
