//! What may be wrong with a cassette.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::string::String;
use std::vec::Vec;

/// Why a cassette cannot be used, or was not used up.
///
/// It is shown to people also where it is printed for programmers, as tests do with the errors that they return.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// There is no such file. Record it first: see [`Cassette::record_or_replay`](super::Cassette::record_or_replay).
    #[error(
        "there is no cassette {path}; record it with Cassette::record_or_replay where a live run may happen"
    )]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// There is no such file, or it is to be recorded anew, and recordings are not made where `CI` is set. Run the
    /// test on your machine and commit the file.
    #[error(
        "cassette {path} would have to be recorded, which never happens where CI is set; run the test locally and commit the file"
    )]
    NotHere {
        /// The path.
        path: PathBuf,
    },
    /// The file cannot be read or written.
    #[error("cassette {path}: {source}")]
    File {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The text is no cassette. One that was edited by hand has a slip in it.
    #[error("{what} is no cassette: {reason}")]
    NoCassette {
        /// The path, or what else it was.
        what: String,
        /// Why.
        reason: String,
    },
    /// A newer version of the library wrote it.
    #[error("{what} is a cassette of version {found}, and this library reads version {known}")]
    Version {
        /// The path, or what else it was.
        what: String,
        /// Its version.
        found: u32,
        /// The version that is read.
        known: u32,
    },
    /// The run came to something that is not on the cassette. Record it anew where that is what should happen.
    #[error("{}", .reports.join("\n"))]
    Missed {
        /// Each with the recording that is nearest.
        reports: Vec<String>,
    },
    /// Nobody came to some of the recordings. Record it anew where that is what should happen.
    #[error("{}", Unused(.recordings))]
    Unused {
        /// Each with its place.
        recordings: Vec<String>,
    },
}

impl fmt::Debug for CassetteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

struct Unused<'r>(&'r [String]);

impl fmt::Display for Unused<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => f.write_str("a recording of the cassette was not used:")?,
            count => write!(f, "{count} recordings of the cassette were not used:")?,
        }
        self.0.iter().try_for_each(|recording| write!(f, "\n  {recording}"))
    }
}
