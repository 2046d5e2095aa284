//! The files of the page of Superstep's studio.
//!
//! They are built from the folder `page` of the repository, which is not a part of this crate: `npm ci && npm run build`
//! there writes `dist`, which is committed. The page is a client of the routes below `/studio/api`; a server serves the
//! files below `/studio`.

#![forbid(unsafe_code)]

/// A file of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asset {
    /// The name under which the page asks for it, such as `index.html` or `studio.js`.
    pub name: &'static str,
    /// The value of its header `content-type`.
    pub content_type: &'static str,
    /// The bytes of the file.
    pub bytes: &'static [u8],
}

/// All files of the page, beginning with the one to open.
pub const ASSETS: [Asset; 3] = [
    Asset::new("index.html", HTML, include_bytes!("../dist/index.html")),
    Asset::new("studio.js", SCRIPT, include_bytes!("../dist/studio.js")),
    Asset::new("studio.css", STYLE, include_bytes!("../dist/studio.css")),
];

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// The licences of the libraries that the page contains.
pub const LICENCES: &str = include_str!("../dist/licences.txt");

/// The digests of the files, in the format of `sha256sum`.
const DIGESTS: &str = include_str!("../dist/SHA256SUMS");

impl Asset {
    const fn new(name: &'static str, content_type: &'static str, bytes: &'static [u8]) -> Self {
        Self { name, content_type, bytes }
    }

    /// Returns the file with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        const ALL: &[Asset] = &ASSETS;
        ALL.iter().find(|asset| asset.name == name)
    }

    /// Returns the SHA-256 digest of the file in hexadecimal, for an entity tag.
    ///
    /// # Panics
    /// Never: the tests of this crate look for the digest of each file.
    #[must_use]
    pub fn digest(&self) -> &'static str {
        let digests = DIGESTS.lines().filter_map(|line| line.split_once("  "));
        let mut of_it = digests.filter(|(_, name)| *name == self.name).map(|(digest, _)| digest);
        of_it.next().expect("the build of the page writes a digest for each file")
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use sha2::{Digest, Sha256};

    use super::*;

    /// The largest size of all files, compressed.
    const LARGEST: usize = 83 * 1024;

    fn compressed(bytes: &[u8]) -> usize {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap().len()
    }

    fn text(name: &str) -> &'static str {
        std::str::from_utf8(Asset::named(name).unwrap().bytes).unwrap()
    }

    /// A published crate once embedded a placeholder, because its build had not run.
    #[test]
    fn every_file_is_the_built_one() {
        let page = text("index.html");
        for asset in &ASSETS[1..] {
            assert!(
                page.contains(&format!("\"/studio/{}\"", asset.name)),
                "the page does not load {}",
                asset.name
            );
        }
        assert!(page.starts_with("<!doctype html>") && page.contains("id=\"studio\""));
        assert!(text("studio.js").len() > 60_000);
        assert!(text("studio.css").len() > 5_000 && text("studio.css").contains("prefers-reduced-motion"));
        for library in ["preact ", "@preact/signals ", "@preact/signals-core "] {
            assert!(LICENCES.contains(&format!("\n{library}")), "the licence of {library}is missing");
        }
    }

    #[test]
    fn the_digests_are_those_of_the_files() {
        for asset in &ASSETS {
            let mut digest = String::new();
            for byte in Sha256::digest(asset.bytes) {
                write!(digest, "{byte:02x}").unwrap();
            }
            assert_eq!(asset.digest(), digest, "build the page again: {} was changed by hand", asset.name);
        }
        assert_eq!(Asset::named("../Cargo.toml"), None);
    }

    #[test]
    fn the_files_are_small() {
        let sizes = ASSETS.map(|asset| (asset.name, compressed(asset.bytes)));
        assert!(sizes.iter().map(|(_, size)| size).sum::<usize>() <= LARGEST, "{sizes:?}");
    }

    /// The server forbids both with its `Content-Security-Policy`, so the page would not work.
    #[test]
    fn the_page_has_no_inline_code_and_no_foreign_address() {
        let page = text("index.html");
        for forbidden in ["<style", "style=", " onload=", "http:", "https:", "javascript:"] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        assert_eq!(page.matches("<script").count(), 1);
        let loaded = text("studio.css").split("url(").skip(1);
        for address in loaded.map(|rest| rest.trim_start_matches('"')) {
            assert!(address.starts_with("data:"), "the style sheet loads {}", &address[..40]);
        }
        assert!(!text("studio.css").contains("@import"));
    }
}
