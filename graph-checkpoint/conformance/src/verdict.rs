//! The outcome of an item, and its text.

use std::fmt::{self, Debug, Display};
use std::panic::Location;

use superstep_core::checkpoint::StoreError;
use superstep_core::error::BoxError;

/// The outcome of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The store has the required behaviour.
    Passed,
    /// The store does not have the required behaviour.
    Failed(Failure),
    /// The item does not apply to this kind of store, for this reason.
    NotApplicable(&'static str),
}

/// A difference between what a store did and what it must do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The place of the failed check: a file and a line of this crate.
    pub place: String,
    /// The subject of the check.
    pub what: String,
    /// The expected result.
    pub expected: String,
    /// The actual result.
    pub found: String,
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, what, expected, found } = self;
        write!(f, "{what}\n    expected  {expected}\n    found     {found}\n    at        {place}")
    }
}

/// The reason why an item ends early.
#[derive(Debug)]
pub(super) enum Stop {
    Failed(Failure),
    NotApplicable(&'static str),
}

pub(super) type Verdict = Result<(), Stop>;

impl From<Verdict> for Outcome {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Ok(()) => Self::Passed,
            Err(Stop::Failed(failure)) => Self::Failed(failure),
            Err(Stop::NotApplicable(why)) => Self::NotApplicable(why),
        }
    }
}

impl From<StoreError> for Stop {
    #[track_caller]
    fn from(error: StoreError) -> Self {
        failed("a call", "it succeeds", shown(&error))
    }
}

/// Ends an item that failed.
#[track_caller]
pub(super) fn failed(what: impl Display, expected: impl Display, found: impl Display) -> Stop {
    Stop::Failed(Failure {
        place: Location::caller().to_string(),
        what: what.to_string(),
        expected: brief(expected.to_string()),
        found: brief(found.to_string()),
    })
}

/// Ends an item for which no store could be opened.
#[track_caller]
pub(super) fn unopened(error: &BoxError) -> Stop {
    failed("opening the store", "it succeeds", error)
}

/// Expects `found` to equal `expected`.
#[track_caller]
pub(super) fn equal<F: PartialEq<E> + Debug, E: Debug>(what: impl Display, found: F, expected: E) -> Verdict {
    match found == expected {
        true => Ok(()),
        false => Err(failed(what, format_args!("{expected:?}"), format_args!("{found:?}"))),
    }
}

/// Expects the condition that `what` describes to be true.
#[track_caller]
pub(super) fn holds(what: impl Display, is_so: bool) -> Verdict {
    match is_so {
        true => Ok(()),
        false => Err(failed(what, "it holds", "it does not")),
    }
}

/// Expects a value that matches a pattern.
macro_rules! is {
    ($what:expr, $found:expr, $($pattern:tt)+) => {
        match $found {
            $($pattern)+ => {}
            other => {
                let expected = stringify!($($pattern)+);
                return Err($crate::verdict::failed($what, expected, format_args!("{other:?}")));
            }
        }
    };
}
pub(super) use is;

fn shown(error: &StoreError) -> String {
    format!("{error:?}: {error}")
}

/// Shortens a text for a report. Some of the values are megabytes.
fn brief(text: String) -> String {
    const LONGEST: usize = 1_000;
    match text.char_indices().nth(LONGEST) {
        None => text,
        Some((end, _)) => format!("{} … ({} bytes in all)", &text[..end], text.len()),
    }
}
