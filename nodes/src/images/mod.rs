//! Pictures made ready for models that see. With the feature `images`.
//!
//! ```text
//! file ──▶ decoded, upright ──▶ RGB ──▶ at most so many pixels a side ──▶ JPEG ──▶ message::Image
//! ```
//!
//! A model is sent only the picture that it looks at: large pictures are made smaller, and a camera's notes beside the
//! picture, such as the place where it was taken, are left out.

mod limits;
mod preparation;

pub use limits::{ImageError, ImageFileError, ImageLimits};
pub use preparation::{ImagePreparation, PreparedImage};
