//! Files that earlier releases wrote: read as they are, brought to today's format, and gone on with.
#![expect(clippy::unwrap_used, reason = "a test may fail at any line")]

mod files;
mod program;
mod read;
mod resumed;
