//! The number of tokens of an image.

#[cfg(feature = "tokens")]
use crate::message::ImageSource;
use crate::message::{Detail, Image};

/// A model's method of counting the tokens of an image. The count is an estimate: models change, and the usage that one
/// reports is right.
///
/// ```
/// use superstep_nodes::message::Detail;
/// use superstep_nodes::model::ImageTokens;
///
/// let photo = Some((2_048, 1_365));
/// assert_eq!(ImageTokens::of_model("gpt-4.1").count(Detail::Low, photo), 85);
/// assert_eq!(ImageTokens::of_model("gpt-4.1").count(Detail::High, photo), 1_105);
/// assert_eq!(ImageTokens::of_model("gpt-4o-mini").count(Detail::High, photo), 36_835);
/// assert_eq!(ImageTokens::of_model("gpt-4.1-mini").count(Detail::High, Some((1_800, 2_400))), 2_353);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageTokens {
    /// By tiles of 512 by 512 pixels. For a close look, the image is fitted into a square of 2,048, and then its
    /// shorter side to 768; the tiles that it then covers, also in part, are counted.
    Tiles {
        /// The tokens of every image; a small copy takes no more.
        base: u64,
        /// The tokens of each tile.
        tile: u64,
    },
    /// By patches of 32 by 32 pixels, for which the image is made smaller until it has no more than 1,536.
    Patches {
        /// The tokens of a hundred patches.
        hundred: u64,
    },
    /// By its pixels, 750 for a token, where its longer side is made no longer than 1,568.
    Area,
}

/// The counting methods, by the beginning of the model's name; the longest beginning counts. The numbers are those of
/// the vendors' documents.
const MODELS: [(&str, ImageTokens); 13] = [
    ("claude", ImageTokens::Area),
    ("computer-use-preview", ImageTokens::Tiles { base: 65, tile: 129 }),
    ("gpt-4.1", ImageTokens::Tiles { base: 85, tile: 170 }),
    ("gpt-4.1-mini", ImageTokens::Patches { hundred: 162 }),
    ("gpt-4.1-nano", ImageTokens::Patches { hundred: 246 }),
    ("gpt-4o", ImageTokens::Tiles { base: 85, tile: 170 }),
    ("gpt-4o-mini", ImageTokens::Tiles { base: 2_833, tile: 5_667 }),
    ("gpt-5", ImageTokens::Tiles { base: 70, tile: 140 }),
    ("gpt-5-mini", ImageTokens::Patches { hundred: 162 }),
    ("gpt-5-nano", ImageTokens::Patches { hundred: 246 }),
    ("o1", ImageTokens::Tiles { base: 75, tile: 150 }),
    ("o3", ImageTokens::Tiles { base: 75, tile: 150 }),
    ("o4-mini", ImageTokens::Patches { hundred: 172 }),
];

impl Default for ImageTokens {
    /// Returns the method of `gpt-4o` and `gpt-4.1`.
    fn default() -> Self {
        Self::Tiles { base: 85, tile: 170 }
    }
}

impl ImageTokens {
    /// Returns how a model counts; one that is not known as the [default](Self::default) does.
    pub fn of_model(model: &str) -> Self {
        let known = MODELS.iter().filter(|(begins, _)| model.starts_with(begins));
        known.max_by_key(|(begins, _)| begins.len()).map_or_else(Self::default, |(_, rule)| *rule)
    }

    /// Returns the number of tokens of an image of this width and height in pixels; if the size is not known, that of a
    /// square of 1,024.
    pub fn count(&self, detail: Detail, size: Option<(u32, u32)>) -> u64 {
        let (width, height) = size.unwrap_or((1_024, 1_024));
        let size = (f64::from(width.max(1)), f64::from(height.max(1)));
        match *self {
            Self::Tiles { base, .. } if detail == Detail::Low => base,
            Self::Tiles { base, tile } => base + tiles(size) * tile,
            Self::Patches { hundred } => (patches(size) * hundred).div_ceil(100),
            Self::Area => {
                let fitted = (1_568.0 / size.0.max(size.1)).min(1.0);
                (size.0 * fitted * size.1 * fitted / 750.0).ceil() as u64
            }
        }
    }
}

fn tiles((width, height): (f64, f64)) -> u64 {
    let fitted = (2_048.0 / width.max(height)).min(1.0);
    let shortened = fitted * (768.0 / (width.min(height) * fitted)).min(1.0);
    covering(width * shortened, 512.0) * covering(height * shortened, 512.0)
}

fn patches((width, height): (f64, f64)) -> u64 {
    const MOST: f64 = 1_536.0;
    let all = covering(width, 32.0) * covering(height, 32.0);
    if all as f64 <= MOST {
        return all;
    }
    let shrunk = (MOST * 32.0 * 32.0 / (width * height)).sqrt().min(1.0);
    // So much smaller again that one side is whole patches, if it has one.
    let whole = |side: f64| match side * shrunk / 32.0 {
        patches if patches < 1.0 => 1.0,
        patches => patches.floor() / patches,
    };
    let shrunk = shrunk * whole(width).min(whole(height));
    covering(width * shrunk, 32.0).saturating_mul(covering(height * shrunk, 32.0)).min(MOST as u64)
}

/// Returns the number of squares that cover a side; one at least.
fn covering(side: f64, square: f64) -> u64 {
    (side / square - 1e-9).ceil().max(1.0) as u64
}

/// Returns how many tokens an image takes of this width and height in pixels, as [`ImageTokens::default`] counts.
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
    ImageTokens::default().count(detail, size)
}

/// Returns the width and height of an image in pixels, if its bytes are in the message and begin like those of an
/// image.
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

/// Without the feature `tokens`, images are not inspected.
#[cfg(not(feature = "tokens"))]
pub(super) fn size(_image: &Image) -> Option<(u32, u32)> {
    None
}

/// The length of the beginning of an image's base64 that is searched for its size. A multiple of four.
#[cfg(feature = "tokens")]
const HEAD: usize = 1 << 17;

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

    #[test]
    fn s3_025_a_small_copy_takes_the_same_of_any_image() {
        for size in [None, Some((1, 1)), Some((640, 427)), Some((20_000, 20_000))] {
            assert_eq!(ImageTokens::of_model("gpt-4.1").count(Detail::Low, size), 85);
            assert_eq!(ImageTokens::of_model("gpt-4.1-2025-04-14").count(Detail::Low, size), 85);
        }
        assert_eq!(ImageTokens::of_model("gpt-4o-mini").count(Detail::Low, None), 2_833);
        assert_eq!(ImageTokens::of_model("gpt-5").count(Detail::Low, None), 70);
    }

    #[test]
    fn s3_026_looked_at_closely_an_image_takes_more_the_more_there_is_of_it() {
        let of = |model: &str, size| ImageTokens::of_model(model).count(Detail::High, Some(size));
        let counts = [(512, 512), (768, 768), (2_048, 768), (2_048, 512)].map(|size| of("gpt-4.1", size));
        assert_eq!(counts, [255, 765, 1_445, 765]);
        assert_eq!(of("gpt-4o-mini", (2_048, 768)), 2_833 + 8 * 5_667);
        assert_eq!(of("o3", (512, 512)), 225);
    }

    #[test]
    fn models_that_see_patches_or_pixels_count_those() {
        let of = |model: &str, size| ImageTokens::of_model(model).count(Detail::High, Some(size));
        assert_eq!(of("gpt-4.1-nano", (1_024, 1_024)), 2_520);
        // 57 by 75 patches are too many; 33 by 44 are left.
        assert_eq!(of("gpt-4.1-mini", (1_800, 2_400)), (33 * 44 * 162_u64).div_ceil(100));
        assert_eq!(of("o4-mini", (1, 100_000)), (1_536_u64 * 172).div_ceil(100));
        assert_eq!(of("claude-sonnet-4-5", (1_000, 1_000)), 1_334);
        assert_eq!(of("claude-sonnet-4-5", (3_136, 3_136)), 3_279);
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
