//! The errors of a cassette, and of a turn.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::string::String;
use std::vec::Vec;

use alloc::boxed::Box;

use super::turn::EndedBy;
use crate::run::{RunError, Status};
use crate::state::Excess;

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
    /// There is no such file, or it is to be recorded again, and recordings are not made where `CI` is set. Run the
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
    /// It is larger than a cassette may be, or would be. Give larger limits: see
    /// [`Cassette::load_within`](super::Cassette::load_within) and
    /// [`Cassette::size_limits`](super::Cassette::size_limits).
    #[error("{what} has {}", .excess.allowed_by(.raised_by))]
    TooLarge {
        /// The path, or what else it was.
        what: String,
        /// The limit that it exceeds.
        excess: Excess,
        /// The method that raises the limits.
        raised_by: &'static str,
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
    /// The cassette lacks a recording that the run needs. If the run is right, record the cassette again.
    #[error("{}", .reports.join("\n"))]
    Missed {
        /// Each with the recording that is nearest.
        reports: Vec<String>,
    },
    /// Some of the recordings were not used. If the run is right, record the cassette again.
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

/// Why a turn is not what a test expects.
///
/// It is shown to people also where it is printed for programmers.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// A node failed, or the run could not continue.
    #[error("{error}")]
    Run {
        /// Why.
        error: Box<RunError>,
    },
    /// It ended before the expected number of supersteps.
    #[error("it has taken {taken} of {supersteps} supersteps: {}", EndedBy(.status))]
    Short {
        /// The expected number of supersteps.
        supersteps: u64,
        /// The number of supersteps that it took.
        taken: u64,
        /// The status at its end.
        status: Box<Status>,
    },
    /// Its state differs from the expected one.
    #[error("the state is another one:\n  {}", .differences.join("\n  "))]
    Differs {
        /// The differences, each with its path.
        differences: Vec<String>,
    },
    /// Other nodes are next.
    #[error("it was to lead to [{}], and it leads to [{}]", .expected.join(", "), .led.join(", "))]
    LeadsElsewhere {
        /// Those that were expected.
        expected: Vec<String>,
        /// Those that are next.
        led: Vec<String>,
    },
    /// The cassette missed something, or was not used up.
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    /// The state has no such field any more. Write the test again, or rename the field in it.
    #[error("{state} has no field {field:?}; it has {fields}")]
    NoField {
        /// The field.
        field: String,
        /// The state.
        state: String,
        /// The fields that it has.
        fields: String,
    },
    /// There is no such operation of a write.
    #[error("the input writes {field:?} by {op:?}, which is no operation")]
    NoOp {
        /// The field.
        field: String,
        /// The operation.
        op: String,
    },
    /// A part of the test cannot be read.
    #[error("{what} cannot be read: {reason}")]
    Unreadable {
        /// The name of the part.
        what: String,
        /// Why.
        reason: String,
    },
}

impl fmt::Debug for TurnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
