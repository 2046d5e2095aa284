//! Pictures made ready for models that see. With the feature `images`.
//!
//! ```text
//! file ──▶ decoded, upright ──▶ RGB ──▶ at most so many pixels a side ──▶ JPEG ──▶ message::Image
//! ```
//!
//! A model is sent what it looks at and no more: large pictures are made smaller, and what a camera notes beside the
//! picture, such as where it was taken, is left out.

mod error;
mod limits;
mod preparation;
mod prepared;

pub use error::{ImageError, ImageFileError};
pub use limits::ImageLimits;
pub use preparation::ImagePreparation;
pub use prepared::PreparedImage;
