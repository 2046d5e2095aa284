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

/// The error of a cassette that cannot be used, or that was not used completely.
///
/// Its `Debug` form is its message, because tests print the errors that they return in this form.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// The file does not exist. Record it first: see
    /// [`Cassette::record_or_replay`](super::Cassette::record_or_replay).
    #[error(
        "there is no cassette {path}; record it with Cassette::record_or_replay where live runs are allowed"
    )]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// The file does not exist or should be recorded again, but `CI` is set, where nothing is recorded. Run the
    /// test on your machine and commit the file.
    #[error(
        "cassette {path} has to be recorded, which is disabled if the variable CI is set; run the test locally and commit the file"
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
        /// The reason.
        source: io::Error,
    },
    /// The text is not a cassette. Look for a mistake if it was edited by hand.
    #[error("{what} is not a cassette: {reason}")]
    NoCassette {
        /// The path, or a description of the text.
        what: String,
        /// The reason.
        reason: String,
    },
    /// The cassette is, or would be, too large. Raise the limits: see
    /// [`Cassette::load_within`](super::Cassette::load_within) and
    /// [`Cassette::size_limits`](super::Cassette::size_limits).
    #[error("{what} has {}", .excess.allowed_by(.raised_by))]
    TooLarge {
        /// The path, or a description of the text.
        what: String,
        /// The limit that it exceeds.
        excess: Excess,
        /// The method that raises the limits.
        raised_by: &'static str,
    },
    /// The cassette was written by a newer version of the library.
    #[error("{what} is a cassette of version {found}, and this library reads version {known}")]
    Version {
        /// The path, or a description of the text.
        what: String,
        /// The version of the cassette.
        found: u32,
        /// The version that this library reads.
        known: u32,
    },
    /// The cassette lacks a recording that the run needs. If the run is right, record the cassette again.
    #[error("{}", .reports.join("\n"))]
    Missed {
        /// The missing recordings, each with the nearest one.
        reports: Vec<String>,
    },
    /// Some of the recordings were not used. If the run is right, record the cassette again.
    #[error("{}", Unused(.recordings))]
    Unused {
        /// The unused recordings, each with its place.
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

/// The error of a turn that differs from what a test expects.
///
/// Its `Debug` form is its message.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// A node failed, or the run could not continue.
    #[error("{error}")]
    Run {
        /// The error of the run.
        error: Box<RunError>,
    },
    /// The turn ended before the expected number of supersteps.
    #[error("it has taken {taken} of {supersteps} supersteps: {}", EndedBy(.status))]
    Short {
        /// The expected number of supersteps.
        supersteps: u64,
        /// The number of supersteps that it took.
        taken: u64,
        /// The status at the end.
        status: Box<Status>,
    },
    /// The final state differs from the expected one.
    #[error("the state differs:\n  {}", .differences.join("\n  "))]
    Differs {
        /// The differences, each with its path.
        differences: Vec<String>,
    },
    /// The next nodes differ from the expected ones.
    #[error("expected [{}] to be next, but found [{}]", .expected.join(", "), .led.join(", "))]
    LeadsElsewhere {
        /// The expected next nodes.
        expected: Vec<String>,
        /// The actual next nodes.
        led: Vec<String>,
    },
    /// The cassette lacked a recording, or was not used completely.
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    /// The state no longer has this field. Generate the test again, or rename the field in it.
    #[error("{state} has no field {field:?}; it has {fields}")]
    NoField {
        /// The field.
        field: String,
        /// The state.
        state: String,
        /// The fields of the state.
        fields: String,
    },
    /// There is no such operation.
    #[error("the input writes {field:?} by {op:?}, which is not an operation")]
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
        /// The reason.
        reason: String,
    },
}

impl fmt::Debug for TurnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
