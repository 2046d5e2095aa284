//! The limits on the size of pictures.

use super::ImageError;

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
