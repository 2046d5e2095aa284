use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::{GrayImage, ImageFormat, Luma, Rgb, Rgba, RgbaImage};

use super::*;
use crate::message::{Detail, ImageSource};

/// The bytes of a picture as a file of this kind.
fn encoded(picture: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.into().write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// A picture whose left half is red, and whose right half is blue.
fn halves(width: u32, height: u32) -> RgbImage {
    let colour = |x, _| if x < width / 2 { Rgb([255, 0, 0]) } else { Rgb([0, 0, 255]) };
    RgbImage::from_fn(width, height, colour)
}

fn prepared(bytes: &[u8]) -> RgbImage {
    let prepared = ImagePreparation::new().prepare(bytes).unwrap();
    let decoded = image::load_from_memory_with_format(prepared.jpeg(), ImageFormat::Jpeg).unwrap();
    assert_eq!((decoded.width(), decoded.height()), prepared.size());
    let DynamicImage::ImageRgb8(decoded) = decoded else { panic!("it is not in RGB: {decoded:?}") };
    decoded
}

/// Asserts that two colours look the same: a JPEG does not keep them to the bit.
#[track_caller]
fn assert_like(found: &Rgb<u8>, expected: [u8; 3]) {
    let far = found.0.iter().zip(expected).any(|(found, expected)| found.abs_diff(expected) > 6);
    assert!(!far, "{found:?} is not like {expected:?}");
}

#[test]
fn s3_011_and_016_a_picture_becomes_a_data_uri_of_a_valid_jpeg() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("photo.png");
    std::fs::write(&file, encoded(halves(300, 200), ImageFormat::Png)).unwrap();
    let image = ImagePreparation::new().read(&file).unwrap().to_image(Detail::High);
    assert_eq!(image.detail, Detail::High);
    let ImageSource::Base64 { media_type, data } = &image.source else { panic!("{image:?}") };
    assert_eq!(media_type, "image/jpeg");
    assert_eq!(image.to_url(), format!("data:image/jpeg;base64,{data}"));
    let jpeg = STANDARD.decode(data).unwrap();
    let decoded = image::load_from_memory_with_format(&jpeg, ImageFormat::Jpeg).unwrap();
    assert_eq!((decoded.width(), decoded.height()), (300, 200));
}

#[test]
fn s3_012_pictures_of_other_colours_become_rgb() {
    let see_through = RgbaImage::from_fn(64, 64, |x, _| Rgba([0, 0, 0, if x < 32 { 0 } else { 255 }]));
    let see_through = prepared(&encoded(see_through, ImageFormat::Png));
    assert_like(see_through.get_pixel(8, 8), [255, 255, 255]);
    assert_like(see_through.get_pixel(56, 8), [0, 0, 0]);

    let palette = encoded(DynamicImage::ImageRgb8(halves(64, 64)).into_rgba8(), ImageFormat::Gif);
    let palette = prepared(&palette);
    assert_like(palette.get_pixel(8, 8), [255, 0, 0]);
    assert_like(palette.get_pixel(56, 8), [0, 0, 255]);

    let grey = prepared(&encoded(GrayImage::from_pixel(64, 64, Luma([90])), ImageFormat::Png));
    assert_like(grey.get_pixel(8, 8), [90, 90, 90]);

    let deep = image::ImageBuffer::<Luma<u16>, _>::from_pixel(64, 64, Luma([0x8080]));
    let deep = prepared(&encoded(DynamicImage::ImageLuma16(deep), ImageFormat::Png));
    assert_like(deep.get_pixel(8, 8), [128, 128, 128]);

    let web = prepared(&encoded(halves(64, 64), ImageFormat::WebP));
    assert_like(web.get_pixel(8, 8), [255, 0, 0]);
}

#[test]
fn s3_013_a_large_picture_is_made_smaller_and_keeps_its_aspect_ratio() {
    let wide = encoded(halves(4_096, 1_024), ImageFormat::Jpeg);
    let preparation = ImagePreparation::new();
    assert_eq!(preparation.prepare(&wide).unwrap().size(), (2_048, 512));
    assert_eq!(preparation.max_size(100).prepare(&wide).unwrap().size(), (100, 25));
    let thin = encoded(halves(10, 3_000), ImageFormat::Png);
    assert_eq!(preparation.max_size(100).prepare(&thin).unwrap().size(), (1, 100));
    assert_eq!(preparation.max_size(0).prepare(&thin).unwrap().size(), (1, 1));
}

#[test]
fn s3_014_a_picture_that_is_not_too_large_keeps_its_size() {
    for (width, height) in [(2_048, 16), (16, 2_048), (3, 2)] {
        let picture = encoded(halves(width, height), ImageFormat::Png);
        assert_eq!(ImagePreparation::new().prepare(&picture).unwrap().size(), (width, height));
    }
}

#[test]
fn s3_015_the_jpeg_is_of_quality_85_by_default() {
    // What a noisy picture comes to differs with every step of quality.
    let noise = RgbImage::from_fn(64, 64, |x, y| {
        let mixed = (x * 7_919 + y * 104_729).wrapping_mul(2_654_435_761);
        Rgb([mixed as u8, (mixed >> 8) as u8, (mixed >> 16) as u8])
    });
    let picture = encoded(noise.clone(), ImageFormat::Png);
    let of = |quality| {
        let mut jpeg = Vec::new();
        JpegEncoder::new_with_quality(&mut jpeg, quality).encode_image(&noise).unwrap();
        jpeg
    };
    let preparation = ImagePreparation::new();
    assert_eq!(preparation.prepare(&picture).unwrap().jpeg(), of(85));
    assert_ne!(of(85), of(84));
    assert_eq!(preparation.quality(30).prepare(&picture).unwrap().jpeg(), of(30));
}

/// A JPEG with a note of its camera.
fn held(orientation: u8) -> Vec<u8> {
    let jpeg = encoded(halves(64, 32), ImageFormat::Jpeg);
    let mut exif = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".to_vec();
    exif.extend([orientation, 0, 0, 0, 0, 0, 0]);
    let length = u16::try_from(exif.len() + 2).unwrap().to_be_bytes();
    [&jpeg[..2], &[0xff, 0xe1], &length, &exif, &jpeg[2..]].concat()
}

#[test]
fn a_photograph_is_turned_as_its_camera_was_held_and_says_nothing_more_of_it() {
    let upright = prepared(&held(1));
    assert_eq!(upright.dimensions(), (64, 32));
    assert_like(upright.get_pixel(8, 16), [255, 0, 0]);
    // By a quarter to the right: what was left is at the top.
    let turned = prepared(&held(6));
    assert_eq!(turned.dimensions(), (32, 64));
    assert_like(turned.get_pixel(16, 8), [255, 0, 0]);
    assert_like(turned.get_pixel(16, 56), [0, 0, 255]);
    let sent = ImagePreparation::new().prepare(&held(6)).unwrap();
    assert!(!sent.jpeg().windows(4).any(|bytes| bytes == b"Exif"));
}

#[test]
fn s3_017_a_file_that_is_not_there_is_named() {
    let error = ImagePreparation::new().read("nowhere/photo.jpg").unwrap_err();
    assert!(matches!(error, ImageFileError::NotFound { .. }), "{error:?}");
    assert_eq!(error.to_string(), "there is no image `nowhere/photo.jpg`");
}

#[test]
fn what_is_no_picture_is_distinguished_from_one_that_is_broken() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.jpg");
    std::fs::write(&file, "Leading lines draw the eye.").unwrap();
    let error = ImagePreparation::new().read(&file).unwrap_err();
    let expected =
        format!("the image `{}` cannot be used: it is not a JPEG, PNG, GIF or WebP image", file.display());
    assert_eq!(error.to_string(), expected);

    let folder_itself = ImagePreparation::new().read(folder.path()).unwrap_err();
    assert!(matches!(folder_itself, ImageFileError::Unreadable { .. }), "{folder_itself:?}");

    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
        let whole = encoded(halves(64, 64), format);
        let error = ImagePreparation::new().prepare(&whole[..20]).unwrap_err();
        assert!(matches!(error, ImageError::Broken { .. }), "{format:?}: {error:?}");
    }
    // An image of a kind that is not read.
    assert_eq!(ImagePreparation::new().prepare(b"BM      ").unwrap_err(), ImageError::NotAnImage);
}

#[test]
fn a_small_file_of_many_pixels_is_refused_before_a_pixel_is_decoded() {
    // A GIF that says its size, the lower byte first, and two colours; and then what is left of it is a sign that a
    // picture comes.
    let gif = |width: u16, height: u16| {
        let size = [width.to_le_bytes(), height.to_le_bytes()].concat();
        [b"GIF89a", &size[..], &[0xf0, 0, 0], &[0; 6], &[0x2c, 0, 0, 0, 0], &size, &[0, 2]].concat()
    };
    let refused = |bytes: &[u8]| match ImagePreparation::new().prepare(bytes).unwrap_err() {
        ImageError::TooLarge { what } => what,
        other => panic!("{other:?}"),
    };
    let what = refused(&gif(20_001, 1));
    assert_eq!(what, "it has 20001 by 1 pixels, and 20000 a side are allowed");
    assert!(refused(&gif(20_000, 5_001)).ends_with("100000000 of them are allowed"));
}

#[test]
fn a_file_of_too_many_bytes_is_not_read_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("photo.png");
    let picture = encoded(halves(64, 64), ImageFormat::Png);
    std::fs::write(&file, &picture).unwrap();
    let limits = ImageLimits { max_bytes: picture.len() as u64 - 1, ..ImageLimits::default() };
    let error = ImagePreparation::new().limits(limits).read(&file).unwrap_err();
    assert!(error.to_string().contains("it is too large: it has more than"), "{error}");
    let enough = ImageLimits { max_bytes: picture.len() as u64, ..limits };
    assert_eq!(ImagePreparation::new().limits(enough).read(&file).unwrap().size(), (64, 64));
}

#[cfg(unix)]
#[test]
fn a_pipe_or_a_device_is_refused_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("photo.png");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.as_path(), Path::new("/dev/zero")] {
        let error = ImagePreparation::new().read(path).unwrap_err();
        let expected =
            format!("the image `{}` cannot be read: it is a pipe or a device, and no file", path.display());
        assert_eq!(error.to_string(), expected);
    }
}
