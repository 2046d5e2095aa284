//! How many tokens an image takes.

#[cfg(feature = "tokens")]
use crate::message::ImageSource;
use crate::message::{Detail, Image};

/// Returns how many tokens an image takes of this width and height in pixels; of one whose size is not known, that of a
/// square of 1,024.
///
/// The rule is that of OpenAI's models that read images in tiles: 85 for a small copy. Looked at closely, the image is
/// fitted into a square of 2,048, its shorter side then to 768, and each tile of 512 by 512 takes 170 more. Other models
/// have other rules, which come to the same order of magnitude.
///
/// ```
/// use superstep_nodes::message::Detail;
/// use superstep_nodes::model::image_tokens;
///
/// assert_eq!(image_tokens(Detail::Low, Some((4_096, 8_192))), 85);
/// assert_eq!(image_tokens(Detail::High, Some((1_024, 1_024))), 765);
/// assert_eq!(image_tokens(Detail::High, Some((2_048, 4_096))), 1_105);
/// ```
pub fn image_tokens(detail: Detail, size: Option<(u32, u32)>) -> u64 {
    if detail == Detail::Low {
        return BASE;
    }
    let (width, height) = size.unwrap_or((1_024, 1_024));
    let (width, height) = (f64::from(width.max(1)), f64::from(height.max(1)));
    let fitted = (2_048.0 / width.max(height)).min(1.0);
    let shortened = fitted * (768.0 / (width.min(height) * fitted)).min(1.0);
    let tiles = |side: f64| (side * shortened / 512.0 - 1e-9).ceil().max(1.0) as u64;
    BASE + tiles(width) * tiles(height) * 170
}

/// The width and height of an image in pixels, where its bytes are in the message and begin as those of an image do.
#[cfg(feature = "tokens")]
pub(super) fn size(image: &Image) -> Option<(u32, u32)> {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD_NO_PAD;

    let ImageSource::Base64 { data, .. } = &image.source else {
        return None;
    };
    let head = data.get(..data.len().min(HEAD)).unwrap_or_default().trim_end_matches('=');
    let size = imagesize::blob_size(&STANDARD_NO_PAD.decode(head).ok()?).ok()?;
    Some((u32::try_from(size.width).ok()?, u32::try_from(size.height).ok()?))
}

/// Without the feature `tokens` nobody looks into images.
#[cfg(not(feature = "tokens"))]
pub(super) fn size(_image: &Image) -> Option<(u32, u32)> {
    None
}

/// How much of an image's base64 is looked at: its size is near the beginning. A multiple of four.
#[cfg(feature = "tokens")]
const HEAD: usize = 1 << 17;

/// What every image takes.
const BASE: u64 = 85;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_image_is_one_tile_and_is_not_enlarged() {
        assert_eq!(image_tokens(Detail::High, Some((512, 512))), 255);
        assert_eq!(image_tokens(Detail::Auto, Some((0, 1))), 255);
    }

    #[test]
    fn a_long_image_is_as_many_tiles_as_it_is_long() {
        assert_eq!(image_tokens(Detail::High, Some((8_192, 100))), 85 + 4 * 170);
    }

    #[cfg(feature = "tokens")]
    #[test]
    fn the_size_of_an_image_is_read_from_its_head() {
        // A GIF's head: its signature, then width and height, the lower byte first.
        let gif = Image::base64("image/gif", "R0lGODlhAAgAAfAAAAAAAAAAACH5BAAAAAAALAAAAAAACAABAAA=");
        assert_eq!(size(&gif), Some((2_048, 256)));
        assert_eq!(size(&Image::base64("image/gif", "????")), None);
        assert_eq!(size(&Image::url("https://example.org/a.gif")), None);
    }
}
