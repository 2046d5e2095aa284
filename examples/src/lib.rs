//! Code that the examples share: output, exit codes, models, and answers from documents.

#![forbid(unsafe_code)]

pub mod answering;
pub mod callback;
mod command_line;
mod course;
#[cfg(feature = "images")]
pub mod critic;
pub mod halt;
#[cfg(feature = "metrics")]
pub mod metrics_page;
pub mod model;
pub mod progress;

pub use command_line::{Example, ended, print, usage};
pub use course::{CourseAgent, CourseSize};

use std::path::Path;

/// Returns the folder of this repository, whose documents the examples answer from.
///
/// # Panics
/// Never: this package is in a folder of the repository.
#[must_use]
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this package is in a folder of the repository")
}
